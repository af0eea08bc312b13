// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The bus "ub": Entities of other nodes that the UBFM lends to us and takes back
 * (UB 2.0 §10.4.5, §10.4.3.3).  Each of its messages is answered once.
 */
#include <linux/slab.h>

#include "bus.h"
#include "ub/cfg_regs.h"

#define REGISTER	0
#define REGISTER_PDU	92
#define DEREGISTER_PDU	20

#define READ_TRIES	5

/* Status of an answer */
#define OK		0x00
#define BAD_LENGTH	0x04
#define NO_RESOURCE	0x20
#define EXISTS		0x24
#define ABSENT		0x25
#define BAD_PARAMETER	0x26
#define EXECUTION	0x27

static void get_id(u32 *id, const u8 *p)
{
	unsigned int i;

	for (i = 0; i < 4; i++)
		id[i] = get_unaligned_be32(p + 4 * i);
}

/* What is lent to us with an EID, which is that of one Entity at a time. */
static struct ub_entity *find_lent(struct ub_fabric *fabric, const u32 *eid)
{
	struct ub_entity *e;

	list_for_each_entry(e, &fabric->entities, list)
		if (e->lent && !memcmp(e->info.eid, eid, sizeof(e->info.eid)))
			return e;
	return NULL;
}

int ub_lent_cna(struct ub_core *core, const u8 eid[16], u32 *cna)
{
	struct ub_fabric *fabric = READ_ONCE(core->fabric);
	struct ub_entity *e;
	unsigned int i;
	int err = 0;
	u32 id[4];

	if (!fabric)
		return -ENOENT;
	for (i = 0; i < 4; i++)
		id[i] = get_unaligned_be32(eid + 12 - 4 * i);
	mutex_lock(&fabric->lock);
	e = find_lent(fabric, id);
	if (e)
		*cna = e->info.cna;
	else if (fabric->coming && !memcmp(fabric->coming->eid, id, sizeof(id)))
		*cna = fabric->coming->cna;
	else
		err = -ENOENT;
	mutex_unlock(&fabric->lock);
	return err;
}

/* Who asks for an EID while the Entity that has it is replaced is told of the new
 * one: what it stands for answers already.
 */
static void set_coming(struct ub_fabric *fabric,
		       const struct ub_entity_info *info)
{
	mutex_lock(&fabric->lock);
	fabric->coming = info;
	mutex_unlock(&fabric->lock);
}

/* It names us, and is in the partition that our messages are in. */
static bool for_us(struct ub_core *core, const u32 *ueid, u16 upi)
{
	unsigned int i;

	for (i = 0; i < 4; i++)
		if (ueid[i] != ub_config_read(core, UB_CFG0_EID + i))
			return false;
	return upi && upi == (ub_config_read(core, UB_CFG0_UPI) & 0x7fff);
}

/* A register of what is about to be ours; not all packets arrive. */
static int read_lent(struct ub_fabric *fabric, const struct ub_entity_info *info,
		     u32 dw, u32 *value)
{
	unsigned int tries;
	int err = -ETIMEDOUT;

	for (tries = 0; err == -ETIMEDOUT && tries < READ_TRIES; tries++)
		err = ub_scan_lent(fabric, info, dw, false, 0xf, value);
	return err;
}

/* The Entity answers to its name and to us, and is what it is said to be. */
static u8 confirm(struct ub_fabric *fabric, struct ub_entity_info *info)
{
	u32 guid[4], class_code;
	unsigned int i;

	for (i = 0; i < 4; i++)
		if (read_lent(fabric, info, UB_CFG0_GUID + i, &guid[i]))
			return EXECUTION;
	if (memcmp(guid, info->guid, sizeof(guid)))
		return BAD_PARAMETER;
	if (read_lent(fabric, info, UB_CFG1_BASE + UB_CFG1_CLASS_CODE,
		      &class_code))
		return EXECUTION;
	info->class_code = class_code;
	return OK;
}

static u8 replace_lent(struct ub_fabric *fabric,
		       const struct ub_entity_info *info)
{
	/* A manager's own scans may have found it before. */
	struct ub_entity *e = ub_entity_find(fabric, info->guid, info->index);

	if (e)
		ub_entity_drop(e);
	e = ub_entity_new(fabric, info);
	if (!e)
		return NO_RESOURCE;
	e->lent = true;
	return ub_entity_add(e) ? NO_RESOURCE : OK;
}

static u8 take_registration(struct ub_fabric *fabric, const u8 *pdu)
{
	struct ub_entity_info info = {
		.upi = get_unaligned_be16(pdu) & 0x7fff,
		.index = get_unaligned_be16(pdu + 2),
		.cna = get_unaligned_be32(pdu + 36) & 0xffffff,
	};
	struct ub_entity *e;
	u32 ueid[4];
	u8 status;

	get_id(info.eid, pdu + 4);
	get_id(info.guid, pdu + 20);
	get_id(ueid, pdu + 40);
	/* Entity 0 is its node's. */
	if (!info.index || !info.cna || info.cna > U16_MAX ||
	    !(info.eid[0] & 0xfffff) || !for_us(fabric->core, ueid, info.upi))
		return BAD_PARAMETER;
	e = find_lent(fabric, info.eid);
	if (e && e->info.cna == info.cna && e->info.index == info.index &&
	    !memcmp(e->info.guid, info.guid, sizeof(info.guid)))
		return EXISTS;
	status = confirm(fabric, &info);
	if (status)
		return status;
	/* The name of one that is replaced, and that we were not told of; nobody
	 * takes its place who does not answer.
	 */
	set_coming(fabric, &info);
	if (e)
		ub_entity_drop(e);
	status = replace_lent(fabric, &info);
	set_coming(fabric, NULL);
	return status;
}

static u8 take_deregistration(struct ub_fabric *fabric, const u8 *pdu)
{
	struct ub_entity *e;
	u32 eid[4];

	get_id(eid, pdu);
	e = find_lent(fabric, eid);
	if (!e)
		return ABSENT;
	/* Its driver has let go of it when this returns. */
	ub_entity_drop(e);
	/* A manager sees it again, as another one's. */
	ub_fabric_look(fabric);
	return OK;
}

static u8 work_on(struct ub_fabric *fabric, const struct ub_msg_item *item)
{
	bool add = item->data[0] >> 4 == REGISTER;
	u8 status;

	/* The device lets through what the UBFM sends. */
	if (item->msg.len != 4 + (add ? REGISTER_PDU : DEREGISTER_PDU))
		return BAD_LENGTH;
	mutex_lock(&fabric->change);
	status = add ? take_registration(fabric, item->data + 4)
		     : take_deregistration(fabric, item->data + 4);
	mutex_unlock(&fabric->change);
	return status;
}

/* If it is lost, the UBFM asks again. */
static void answer(struct ub_fabric *fabric, const struct ub_msg_item *item,
		   u8 status)
{
	u8 etah[4] = { item->data[0] | 1, status };
	struct ub_msg back = ub_msg_back(&item->msg);

	back.len = sizeof(etah);
	ub_msg_send(fabric->pool, &back, etah);
}

static bool same_request(const struct ub_msg_item *a,
			 const struct ub_msg_item *b)
{
	return a->msg.len == b->msg.len && a->msg.scna == b->msg.scna &&
	       !memcmp(a->data, b->data, a->msg.len);
}

static void ub_pool_work(struct work_struct *work)
{
	struct ub_fabric *fabric = container_of(work, struct ub_fabric,
						pool_work);
	struct ub_msg_item *item = ub_msg_take(fabric->pool), *next;

	while (item) {
		u8 status = work_on(fabric, item);

		answer(fabric, item, status);
		/* What the UBFM asked again while that took its time. */
		while ((next = ub_msg_take(fabric->pool)) &&
		       same_request(item, next)) {
			answer(fabric, next, status);
			kfree(next);
		}
		kfree(item);
		item = next;
	}
}

bool ub_pool_take(struct ub_core *core, const struct ub_msg *msg,
		  const u8 *data)
{
	struct ub_fabric *fabric = READ_ONCE(core->fabric);

	if (!fabric || fabric->pool->backlog >= UB_MSG_BACKLOG)
		return false;
	ub_msg_give(fabric->pool, msg, data, false);
	queue_work(system_long_wq, &fabric->pool_work);
	return true;
}

int ub_pool_init(struct ub_fabric *fabric)
{
	INIT_WORK(&fabric->pool_work, ub_pool_work);
	fabric->pool = ub_msg_open(fabric->core->msgs);
	return fabric->pool ? 0 : -ENOMEM;
}

void ub_pool_exit(struct ub_fabric *fabric)
{
	cancel_work_sync(&fabric->pool_work);
	ub_msg_close(fabric->pool);
}
