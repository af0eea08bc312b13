// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * URMA: peers, as rows of the engine's table of destinations.
 *
 * A row says how an EID is reached: by CTP, or by RTP on a channel that is set
 * up in band.  Rows and channels are shared by all contexts; what a row leads to
 * is guarded by the peer's tokens.
 */
#include <linux/delay.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>

#include "ub_urma.h"

#define CHANNEL_ACTIVE	2
#define CHANNEL_SETUP	1
#define CONNECT_MS	15000

struct urma_channel {
	struct list_head list;
	unsigned int users;	/* rows, and who waits for it; under dests.lock */
	struct ub_place place;
	bool rested;		/* nobody needed it meanwhile; under dests.lock */
	struct mutex lock;	/* tpn; one sets it up, others wait */
	u32 tpn;		/* 0: there is none */
	u32 mtu;		/* that both ends agreed upon */
};

/* ---- channels ---- */

static int channel_state(struct urma_dev *dev, u32 tpn, u32 *mtu)
{
	struct ub_cmd cmd;
	int err;

	ub_cmd_init(&cmd, tpn, 0);
	err = urma_cmd_run(dev, UBQ_OP_CHANNEL_QUERY, &cmd);
	*mtu = ub_get16(&cmd, UBQ_CH_MTU);
	return err ? err : cmd.b[UBQ_CH_STATE];
}

static void channel_destroy(struct urma_dev *dev, u32 tpn)
{
	struct ub_cmd cmd;

	ub_cmd_init(&cmd, tpn, 0);
	urma_cmd_run(dev, UBQ_OP_CHANNEL_DESTROY, &cmd);
}

static int channel_connect(struct urma_dev *dev, struct urma_channel *c)
{
	unsigned long end = jiffies + msecs_to_jiffies(CONNECT_MS);
	struct ub_cmd cmd;
	int state, err;
	u32 tpn, mtu;

	ub_cmd_init(&cmd, UBQ_NEW, 0);
	ub_put_way(&cmd, UBQ_CH_WAY, c->place.ip_cfg ?: UB_CFG_CNA24, &c->place);
	ub_put16(&cmd, UBQ_CH_MTU, ub_own_mtu(dev->core));
	ub_put32(&cmd, UBQ_CH_TX_PSN, UBQ_NEW);
	ub_put32(&cmd, UBQ_CH_RX_PSN, UBQ_NEW);
	ub_put16(&cmd, UBQ_CH_FLAGS, UBQ_CH_FAST);
	err = urma_cmd_run(dev, UBQ_OP_CHANNEL_CREATE, &cmd);
	if (err)
		return err;
	tpn = ub_cmd_object(&cmd);
	ub_cmd_init(&cmd, tpn, 0);
	err = urma_cmd_run(dev, UBQ_OP_CHANNEL_CONNECT, &cmd);
	while (!err) {
		state = channel_state(dev, tpn, &mtu);
		if (state == CHANNEL_ACTIVE) {
			c->tpn = tpn;
			c->mtu = mtu;
			return 0;
		}
		if (state != CHANNEL_SETUP || time_after(jiffies, end))
			err = -EHOSTUNREACH;
		else if (READ_ONCE(dev->ending))
			err = -EIO;
		else if (fatal_signal_pending(current))
			err = -EINTR;
		else
			usleep_range(200, 2000);
	}
	channel_destroy(dev, tpn);
	return err;
}

/* Rows lead to the channel as it is now; nowhere, if there is none: its number
 * may become another's. */
static int channel_rows(struct urma_dev *dev, struct urma_channel *c)
{
	struct urma_dest *d;
	int err = 0;

	mutex_lock(&dev->dests.lock);
	list_for_each_entry(d, &dev->dests.list, way.list) {
		if (err || d->channel != c)
			continue;
		d->way.mtu = c->mtu;
		if (c->tpn)
			err = ub_dest_set(&dev->dests, &d->way, c->tpn);
		else
			ub_dest_clear(&dev->dests, &d->way);
	}
	mutex_unlock(&dev->dests.lock);
	return err;
}

static bool channel_rested(struct urma_dev *dev, struct urma_channel *c)
{
	bool rested;

	mutex_lock(&dev->dests.lock);
	rested = c->rested;
	c->rested = false;
	mutex_unlock(&dev->dests.lock);
	return rested;
}

/* With its lock.  One that broke is made anew, and so is one at rest: nothing told us
 * if the peer was reset meanwhile, and then nobody there knows of it. */
static int channel_ready(struct urma_dev *dev, struct urma_channel *c)
{
	bool rested = channel_rested(dev, c);
	u32 old = c->tpn, mtu;
	int err;

	if (old && !rested && channel_state(dev, old, &mtu) == CHANNEL_ACTIVE)
		return 0;
	if (old) {
		c->tpn = 0;
		channel_rows(dev, c);
		channel_destroy(dev, old);
	}
	err = channel_connect(dev, c);
	return err ? err : channel_rows(dev, c);
}

/* With dests.lock: one less needs it; what never was set up goes. */
static void channel_put(struct urma_channel *c)
{
	if (!c || --c->users)
		return;
	c->rested = true;
	if (!c->tpn) {
		list_del(&c->list);
		kfree(c);
	}
}

static struct urma_channel *channel_find(struct urma_dev *dev,
					 const struct ub_place *place)
{
	struct urma_channel *c;

	list_for_each_entry(c, &dev->channels, list)
		if (!memcmp(&c->place, place, sizeof(*place)))
			return c;
	c = kzalloc(sizeof(*c), GFP_KERNEL_ACCOUNT);
	if (c) {
		c->place = *place;
		mutex_init(&c->lock);
		list_add(&c->list, &dev->channels);
	}
	return c;
}

/* Set up, and with one more user.  Who wants others does not wait for it. */
static struct urma_channel *channel_get(struct urma_dev *dev,
					const struct ub_place *place)
{
	struct urma_channel *c;
	int err;

	mutex_lock(&dev->dests.lock);
	c = channel_find(dev, place);
	if (c)
		c->users++;
	mutex_unlock(&dev->dests.lock);
	if (!c)
		return ERR_PTR(-ENOMEM);
	err = mutex_lock_killable(&c->lock);
	if (!err) {
		err = channel_ready(dev, c);
		mutex_unlock(&c->lock);
	}
	if (!err)
		return c;
	mutex_lock(&dev->dests.lock);
	channel_put(c);
	mutex_unlock(&dev->dests.lock);
	return ERR_PTR(err);
}

/* ---- destinations ---- */

static void dest_put(struct urma_dev *dev, struct urma_dest *d)
{
	mutex_lock(&dev->dests.lock);
	if (ub_dest_put(&dev->dests, &d->way)) {
		channel_put(d->channel);
		kfree(d);
	}
	mutex_unlock(&dev->dests.lock);
}

static struct urma_dest *dest_new(struct urma_dev *dev, const u8 eid[16],
				  u32 carrier, const struct ub_place *place,
				  struct urma_channel *channel)
{
	struct urma_dest *d = kzalloc(sizeof(*d), GFP_KERNEL_ACCOUNT);
	int err;

	if (!d)
		return ERR_PTR(-ENOMEM);
	d->way.carrier = carrier;
	d->way.place = *place;
	memcpy(d->way.eid, eid, sizeof(d->way.eid));
	d->channel = channel;
	if (channel)
		d->way.mtu = channel->mtu;
	err = ub_dest_add(&dev->dests, &d->way, channel ? channel->tpn : 0);
	if (!err)
		return d;
	kfree(d);
	return ERR_PTR(err);
}

/* By CTP: by UTP, which is of IP paths as CTP is of CNA paths (UB 2.0 §7.3.3), where
 * UTP can bring it (UM). */
static int carrier_at(const struct ub_place *place, u32 carrier, u32 trans_mode)
{
	if (!place->ip_cfg || carrier == UB_RTP)
		return carrier;
	return trans_mode == URMA_UM ? UB_UTP : -EINVAL;
}

static struct urma_dest *dest_get(struct urma_dev *dev, const u8 eid[16],
				  u32 asked, u32 trans_mode)
{
	struct urma_channel *channel = NULL;
	struct urma_dest *d;
	struct ub_dest *way;
	struct ub_place place;
	int err, carrier;

	err = ub_eid_place(dev->core, eid, &place);
	if (err)
		return ERR_PTR(err);
	carrier = carrier_at(&place, asked, trans_mode);
	if (carrier < 0)
		return ERR_PTR(carrier);
	if (place.ip_cfg)
		urma_own_ip(dev);
	if (carrier == UB_RTP)
		channel = channel_get(dev, &place);
	if (IS_ERR(channel))
		return ERR_CAST(channel);
	mutex_lock(&dev->dests.lock);
	way = ub_dest_get(&dev->dests, eid, carrier, &place);
	d = way ? container_of(way, struct urma_dest, way)
		: dest_new(dev, eid, carrier, &place, channel);
	/* A row that was there has it already. */
	if (way || IS_ERR(d))
		channel_put(channel);
	mutex_unlock(&dev->dests.lock);
	return d;
}

/* ---- our address on IP paths ---- */

static int ip_command(struct urma_dev *dev, unsigned int opcode,
		      const struct ub_place *ip)
{
	struct ub_cmd cmd;

	ub_cmd_init(&cmd, UBQ_NEW, 0);
	ub_put8(&cmd, UBQ_IP_CFG, ip->ip_cfg);
	memcpy(cmd.b + UBQ_IP_ADDR, ip->ip, sizeof(ip->ip));
	return urma_cmd_run(dev, opcode, &cmd);
}

/* With dests.lock: the engine hears at this one alone of ours. */
static void ip_set(struct urma_dev *dev, const struct ub_place *ip)
{
	if (!memcmp(&dev->ip, ip, sizeof(*ip)))
		return;
	if (dev->ip.ip_cfg)
		ip_command(dev, UBQ_OP_IP_REMOVE, &dev->ip);
	memset(&dev->ip, 0, sizeof(dev->ip));
	if (ip->ip_cfg && !ip_command(dev, UBQ_OP_IP_ADD, ip))
		dev->ip = *ip;
}

bool urma_ip_paths(struct urma_dev *dev, struct ub_place *ip)
{
	u8 eid[16];

	ub_own_eid(dev->core, eid);
	if (!ub_eid_place(dev->core, eid, ip) && ip->ip_cfg)
		return true;
	memset(ip, 0, sizeof(*ip));
	return false;
}

void urma_own_ip(struct urma_dev *dev)
{
	struct ub_place ip;

	mutex_lock(&dev->dests.lock);
	urma_ip_paths(dev, &ip);
	ip_set(dev, &ip);
	mutex_unlock(&dev->dests.lock);
}

void urma_paths_stop(struct urma_dev *dev)
{
	static const struct ub_place none;
	struct urma_channel *c, *next;

	mutex_lock(&dev->dests.lock);
	ip_set(dev, &none);
	list_for_each_entry_safe(c, next, &dev->channels, list) {
		list_del(&c->list);
		kfree(c);
	}
	mutex_unlock(&dev->dests.lock);
}

/* ---- targets ---- */

/* UM has no RTP; which of CTP and UTP the path says. */
static int carrier_of(u32 trans_mode, u32 tp_type)
{
	if (trans_mode == URMA_UM)
		return tp_type == URMA_CTP || tp_type == URMA_UTP ? URMA_CTP
								  : -EINVAL;
	if (trans_mode != URMA_RM && trans_mode != URMA_RC)
		return -EINVAL;
	return tp_type == URMA_RTP || tp_type == URMA_CTP ? (int)tp_type
							  : -EINVAL;
}

void urma_target_end(struct urma_file *f, struct urma_target *t)
{
	dest_put(f->dev, t->dest);
	kfree(t);
}

static int import(struct urma_file *f, struct urma_target_cmd *a)
{
	int carrier = carrier_of(a->trans_mode, a->tp_type), err;
	struct urma_target_private mine = { };
	struct urma_target *t;

	if (carrier < 0)
		return carrier;
	if (a->type > URMA_TARGET_GROUP ||
	    (a->type == URMA_TARGET_GROUP && a->trans_mode == URMA_RC))
		return -EINVAL;
	t = kzalloc(sizeof(*t), GFP_KERNEL_ACCOUNT);
	if (!t)
		return -ENOMEM;
	t->dest = dest_get(f->dev, a->eid, carrier, a->trans_mode);
	if (IS_ERR(t->dest)) {
		err = PTR_ERR(t->dest);
		kfree(t);
		return err;
	}
	t->id = a->id;
	t->trans_mode = a->trans_mode;
	memcpy(t->eid, a->eid, 16);
	mine.row = t->dest->way.row;
	err = urma_obj_add(f, &t->obj, URMA_TARGET, 0);
	if (err) {
		urma_target_end(f, t);
		return err;
	}
	urma_private_put(a, &a->udata, &mine, sizeof(mine));
	a->tpn = URMA_NO_TPN;
	a->handle = t->obj.handle;
	return 0;
}

int urma_import_jfr(struct urma_file *f, void *args)
{
	struct urma_target_cmd *a = args;

	a->type = URMA_TARGET_JFR;
	return import(f, a);
}

int urma_import_jetty(struct urma_file *f, void *args)
{
	return import(f, args);
}

int urma_unimport(struct urma_file *f, void *args)
{
	struct urma_handle_cmd *a = args;
	struct urma_target *t = urma_obj_get(f, a->handle, URMA_TARGET);
	int err;

	if (!t)
		return -EINVAL;
	err = urma_obj_take(f, &t->obj);
	if (!err)
		urma_target_end(f, t);
	return err;
}

/* ---- RC ---- */

static int bound_set(struct urma_dev *dev, struct urma_queue *q,
		     const struct urma_target *t)
{
	struct ub_cmd cmd;

	ub_cmd_init(&cmd, q->id, UBQ_QM_BOUND);
	if (t) {
		ub_put32(&cmd, UBQ_Q_FLAGS, UBQ_Q_BOUND);
		ub_put32(&cmd, UBQ_Q_REMOTE, t->id);
		memcpy(cmd.b + UBQ_Q_REMOTE_EID, t->eid, 16);
	}
	return urma_cmd_run(dev, UBQ_OP_QUEUE_MODIFY, &cmd);
}

int urma_bind_jetty(struct urma_file *f, void *args)
{
	struct urma_bind_cmd *a = args;
	struct urma_queue *q = urma_obj_get(f, a->jetty, URMA_JETTY);
	struct urma_target *t = urma_obj_get(f, a->target, URMA_TARGET);
	int err;

	if (!q || !t || q->cfg.trans_mode != URMA_RC ||
	    t->trans_mode != URMA_RC)
		return -EINVAL;
	if (q->bound)
		return -EEXIST;
	err = bound_set(f->dev, q, t);
	if (err)
		return err;
	q->bound = t;
	t->obj.users++;
	a->tpn = URMA_NO_TPN;
	return 0;
}

int urma_unbind_jetty(struct urma_file *f, void *args)
{
	struct urma_bind_cmd *a = args;
	struct urma_queue *q = urma_obj_get(f, a->jetty, URMA_JETTY);
	int err;

	if (!q || !q->bound)
		return -EINVAL;
	err = bound_set(f->dev, q, NULL);
	if (err)
		return err;
	q->bound->obj.users--;
	q->bound = NULL;
	return 0;
}
