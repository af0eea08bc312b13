// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * UB controllers: channels of RTP, which are set up in band.
 *
 * A part has one channel to each node, which all its rows that lead there share.
 */
#include <linux/delay.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>

#include "ub_engine.h"

#define CHANNEL_ACTIVE	2
#define CHANNEL_SETUP	1
#define CONNECT_MS	15000

struct ub_channel {
	struct list_head list;
	unsigned int users;	/* rows, and who waits for it; under the lock of all */
	struct ub_place place;
	bool rested;		/* nobody needed it meanwhile; under the same */
	struct mutex lock;	/* tpn; one sets it up, others wait */
	u32 tpn;		/* 0: there is none */
	u32 mtu;		/* that both ends agreed upon */
};

static int channel_state(struct ub_dests *t, u32 tpn, u32 *mtu)
{
	struct ub_cmd cmd;
	int err;

	ub_cmd_init(&cmd, tpn, 0);
	err = ub_cmd_run(t->core, UBQ_OP_CHANNEL_QUERY, &cmd);
	*mtu = ub_get16(&cmd, UBQ_CH_MTU);
	return err ? err : cmd.b[UBQ_CH_STATE];
}

static void channel_destroy(struct ub_dests *t, u32 tpn)
{
	struct ub_cmd cmd;

	ub_cmd_init(&cmd, tpn, 0);
	ub_cmd_run(t->core, UBQ_OP_CHANNEL_DESTROY, &cmd);
}

static int channel_connect(struct ub_dests *t, struct ub_channel *c)
{
	unsigned long end = jiffies + msecs_to_jiffies(CONNECT_MS);
	struct ub_cmd cmd;
	int state, err;
	u32 tpn, mtu;

	ub_cmd_init(&cmd, UBQ_NEW, 0);
	ub_put_way(&cmd, UBQ_CH_WAY, c->place.ip_cfg ?: UB_CFG_CNA24, &c->place);
	ub_put16(&cmd, UBQ_CH_MTU, ub_own_mtu(t->core));
	ub_put32(&cmd, UBQ_CH_TX_PSN, UBQ_NEW);
	ub_put32(&cmd, UBQ_CH_RX_PSN, UBQ_NEW);
	/* The static time-outs are of hosts that keep microseconds: a second without an
	 * answer would be the end of it. */
	ub_put16(&cmd, UBQ_CH_FLAGS, UBQ_CH_FAST | UBQ_CH_RTO_DYNAMIC);
	err = ub_cmd_run(t->core, UBQ_OP_CHANNEL_CREATE, &cmd);
	if (err)
		return err;
	tpn = ub_cmd_object(&cmd);
	ub_cmd_init(&cmd, tpn, 0);
	err = ub_cmd_run(t->core, UBQ_OP_CHANNEL_CONNECT, &cmd);
	while (!err) {
		state = channel_state(t, tpn, &mtu);
		if (state == CHANNEL_ACTIVE) {
			c->tpn = tpn;
			c->mtu = mtu;
			return 0;
		}
		if (state != CHANNEL_SETUP || time_after(jiffies, end))
			err = -EHOSTUNREACH;
		else if (READ_ONCE(t->ending))
			err = -EIO;
		else if (fatal_signal_pending(current))
			err = -EINTR;
		else
			usleep_range(200, 2000);
	}
	channel_destroy(t, tpn);
	return err;
}

/* Rows lead to the channel as it is now; nowhere, if there is none: its number
 * may become another's. */
static int channel_rows(struct ub_dests *t, struct ub_channel *c)
{
	struct ub_dest *d;
	int err = 0;

	mutex_lock(&t->lock);
	list_for_each_entry(d, &t->list, list) {
		if (err || d->channel != c)
			continue;
		if (c->tpn)
			err = ub_dest_set(t, d);
		else
			ub_dest_clear(t, d);
	}
	mutex_unlock(&t->lock);
	return err;
}

static bool channel_rested(struct ub_dests *t, struct ub_channel *c)
{
	bool rested;

	mutex_lock(&t->lock);
	rested = c->rested;
	c->rested = false;
	mutex_unlock(&t->lock);
	return rested;
}

/* With its lock.  One that broke is made anew, and so is one at rest: nothing told us
 * if the peer was reset meanwhile, and then nobody there knows of it. */
static int channel_ready(struct ub_dests *t, struct ub_channel *c)
{
	bool rested = channel_rested(t, c);
	u32 old = c->tpn, mtu;
	int err;

	if (old && !rested && channel_state(t, old, &mtu) == CHANNEL_ACTIVE)
		return 0;
	if (old) {
		c->tpn = 0;
		channel_rows(t, c);
		channel_destroy(t, old);
	}
	err = channel_connect(t, c);
	return err ? err : channel_rows(t, c);
}

/* With the lock of all. */
static struct ub_channel *channel_find(struct ub_dests *t,
				       const struct ub_place *place)
{
	struct ub_channel *c;

	list_for_each_entry(c, &t->channels, list)
		if (!memcmp(&c->place, place, sizeof(*place)))
			return c;
	c = kzalloc(sizeof(*c), GFP_KERNEL_ACCOUNT);
	if (c) {
		c->place = *place;
		mutex_init(&c->lock);
		list_add(&c->list, &t->channels);
	}
	return c;
}

struct ub_channel *ub_channel_get(struct ub_dests *t,
				  const struct ub_place *place)
{
	struct ub_channel *c;
	int err;

	mutex_lock(&t->lock);
	c = channel_find(t, place);
	if (c)
		c->users++;
	mutex_unlock(&t->lock);
	if (!c)
		return ERR_PTR(-ENOMEM);
	err = mutex_lock_killable(&c->lock);
	if (!err) {
		err = channel_ready(t, c);
		mutex_unlock(&c->lock);
	}
	if (!err)
		return c;
	mutex_lock(&t->lock);
	ub_channel_put(c);
	mutex_unlock(&t->lock);
	return ERR_PTR(err);
}
EXPORT_SYMBOL_GPL(ub_channel_get);

/* What never was set up goes. */
void ub_channel_put(struct ub_channel *c)
{
	if (!c || --c->users)
		return;
	c->rested = true;
	if (!c->tpn) {
		list_del(&c->list);
		kfree(c);
	}
}
EXPORT_SYMBOL_GPL(ub_channel_put);

u32 ub_channel_tpn(const struct ub_channel *c)
{
	return c->tpn;
}

u32 ub_channel_mtu(const struct ub_channel *c)
{
	return c->mtu;
}

void ub_channels_stop(struct ub_dests *t)
{
	struct ub_channel *c, *next;

	mutex_lock(&t->lock);
	list_for_each_entry_safe(c, next, &t->channels, list) {
		list_del(&c->list);
		kfree(c);
	}
	mutex_unlock(&t->lock);
}
EXPORT_SYMBOL_GPL(ub_channels_stop);
