// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * UB controllers: rows of the engine's table of destinations.
 *
 * A row says how an EID is reached, by one carrier; all who go there share it.
 */
#include "ub_engine.h"

#define FORM_NONE	0
#define FORM_WIDE	1

void ub_dests_init(struct ub_dests *t, struct ub_core *core)
{
	t->core = core;
	mutex_init(&t->lock);
	INIT_LIST_HEAD(&t->list);
	INIT_LIST_HEAD(&t->channels);
}
EXPORT_SYMBOL_GPL(ub_dests_init);

static u32 cfg_of(const struct ub_dest *d)
{
	if (d->carrier == UB_BYPASS)
		return UB_CFG_BYPASS;
	if (d->place.ip_cfg)
		return d->place.ip_cfg;
	return d->carrier == UB_RTP || d->place.cna > U16_MAX ? UB_CFG_CNA24
							      : UB_CFG_CNA16;
}

int ub_dest_set(struct ub_dests *t, const struct ub_dest *d)
{
	u32 mtu = d->channel ? ub_channel_mtu(d->channel) : 0;
	struct ub_cmd cmd;

	ub_cmd_init(&cmd, d->row, 0);
	ub_put_way(&cmd, UBQ_DST_WAY, cfg_of(d), &d->place);
	ub_put8(&cmd, UBQ_DST_CARRIER, d->carrier);
	ub_put8(&cmd, UBQ_DST_FORM,
		d->carrier == UB_BYPASS ? FORM_NONE : FORM_WIDE);
	ub_put16(&cmd, UBQ_DST_MTU, mtu ? mtu : ub_own_mtu(t->core));
	ub_put32(&cmd, UBQ_DST_CHANNEL,
		 d->channel ? ub_channel_tpn(d->channel) : 0);
	ub_put32(&cmd, UBQ_DST_UPI, ub_own_upi(t->core));
	memcpy(cmd.b + UBQ_DST_DEID, d->eid, sizeof(d->eid));
	return ub_cmd_run(t->core, UBQ_OP_DEST_SET, &cmd);
}
EXPORT_SYMBOL_GPL(ub_dest_set);

void ub_dest_clear(struct ub_dests *t, const struct ub_dest *d)
{
	struct ub_cmd cmd;

	ub_cmd_init(&cmd, d->row, 0);
	ub_cmd_run(t->core, UBQ_OP_DEST_CLEAR, &cmd);
}
EXPORT_SYMBOL_GPL(ub_dest_clear);

struct ub_dest *ub_dest_get(struct ub_dests *t, const u8 eid[16], u32 carrier,
			    const struct ub_place *place)
{
	struct ub_dest *d;

	list_for_each_entry(d, &t->list, list)
		if (d->carrier == carrier &&
		    !memcmp(&d->place, place, sizeof(*place)) &&
		    !memcmp(d->eid, eid, 16)) {
			d->users++;
			return d;
		}
	return NULL;
}
EXPORT_SYMBOL_GPL(ub_dest_get);

int ub_dest_add(struct ub_dests *t, struct ub_dest *d)
{
	int row = ida_alloc_range(&t->core->cmdq->rows, 1,
				  ub_share(UB_ROW_MAX), GFP_KERNEL_ACCOUNT);
	int err;

	if (row < 0)
		return row;
	d->row = row;
	err = ub_dest_set(t, d);
	if (err) {
		ida_free(&t->core->cmdq->rows, d->row);
		return err;
	}
	d->users = 1;
	list_add(&d->list, &t->list);
	return 0;
}
EXPORT_SYMBOL_GPL(ub_dest_add);

bool ub_dest_put(struct ub_dests *t, struct ub_dest *d)
{
	if (--d->users)
		return false;
	ub_dest_clear(t, d);
	list_del(&d->list);
	ida_free(&t->core->cmdq->rows, d->row);
	ub_channel_put(d->channel);
	return true;
}
EXPORT_SYMBOL_GPL(ub_dest_put);
