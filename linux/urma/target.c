// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * URMA: peers, as rows of the engine's table of destinations.
 *
 * A row says how an EID is reached: by CTP, or by RTP on a channel that is set
 * up in band.  Rows and channels are shared by all contexts; what a row leads to
 * is guarded by the peer's tokens.
 */
#include <linux/slab.h>

#include "ub_urma.h"

/* ---- destinations ---- */

static void dest_put(struct urma_dev *dev, struct urma_dest *d)
{
	mutex_lock(&dev->dests.lock);
	if (ub_dest_put(&dev->dests, &d->way))
		kfree(d);
	mutex_unlock(&dev->dests.lock);
}

static struct urma_dest *dest_new(struct urma_dev *dev, const u8 eid[16],
				  u32 carrier, const struct ub_place *place,
				  struct ub_channel *channel)
{
	struct urma_dest *d = kzalloc(sizeof(*d), GFP_KERNEL_ACCOUNT);
	int err;

	if (!d)
		return ERR_PTR(-ENOMEM);
	d->way.carrier = carrier;
	d->way.place = *place;
	memcpy(d->way.eid, eid, sizeof(d->way.eid));
	d->way.channel = channel;
	err = ub_dest_add(&dev->dests, &d->way);
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
	struct ub_channel *channel = NULL;
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
		channel = ub_channel_get(&dev->dests, &place);
	if (IS_ERR(channel))
		return ERR_CAST(channel);
	mutex_lock(&dev->dests.lock);
	way = ub_dest_get(&dev->dests, eid, carrier, &place);
	d = way ? container_of(way, struct urma_dest, way)
		: dest_new(dev, eid, carrier, &place, channel);
	/* A row that was there has it already. */
	if (way || IS_ERR(d))
		ub_channel_put(channel);
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

	mutex_lock(&dev->dests.lock);
	ip_set(dev, &none);
	mutex_unlock(&dev->dests.lock);
	ub_channels_stop(&dev->dests);
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
