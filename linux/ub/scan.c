// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The bus "ub": the nodes of a fabric, by scans, and their registers, by
 * configuration messages (UB 2.0 §10.4.3).
 */
#include <linux/slab.h>

#include "bus.h"
#include "ub/cfg_regs.h"

/* Scan Header, Scan PDU */
#define SCAN_R		BIT(20)
#define SCAN_TYPE8	(1 << 16)	/* a byte for each port of a path */
#define PDU_VERSION	1
#define PDU_SIZE	24
#define CMD_TOPOLOGY	0
#define CMD_NA_QUERY	2
#define OP_TOPOLOGY	1
#define OP_PRIMARY	2

/* TLVs of a topology */
#define TLV_SLICE	0
#define TLV_PORTS	1
#define TLV_PORT	2
#define TLV_CAP		4

#define MAX_NODES	1024
#define MAX_SILENT	64		/* that do not answer, before a scan ends */
#define MAX_PORTS	256		/* that a path of bytes can name */
#define GUID_TYPE(w)	((w)[2] >> 24 & 0xf)
#define UPI_MANAGER	0x7fff

/* ---- Registers ---- */

/* @msg has the headers but its length. */
static int access_config(struct ub_fabric *fabric, struct ub_msg *msg,
			 unsigned int entity, u32 dw, bool write, u8 bytes,
			 u32 *value)
{
	bool cfg1 = dw >= UB_CFG1_BASE && dw < UB_CFG_PORT_BASE(0);
	u8 data[UB_MSG_MAX];
	int err;

	msg->len = 20;
	put_unaligned_be32((2 * cfg1 + write) << 28 | 2 << 25 | 16, data);
	put_unaligned_be32(entity << 16 | bytes << 4, data + 4);
	put_unaligned_be32(dw, data + 8);
	put_unaligned_be32(0, data + 12);
	put_unaligned_be32(write ? *value : 0, data + 16);
	err = ub_msg_call(fabric->client, msg, data);
	if (err)
		return err;
	if (data[1])
		return -EIO;
	if (!write && msg->len < 8)
		return -EPROTO;
	if (!write)
		*value = get_unaligned_be32(data + 4);
	return 0;
}

int ub_scan_config(struct ub_fabric *fabric, u32 cna, unsigned int entity,
		   u32 dw, bool write, u8 bytes, u32 *value)
{
	struct ub_msg msg = {
		.flags = UB_MSG_MGMT | (cna ? 0 : UB_MSG_LOCAL),
		.upi = UPI_MANAGER, .dcna = cna,
	};

	return access_config(fabric, &msg, entity, dw, write, bytes, value);
}

int ub_scan_lent(struct ub_fabric *fabric, const struct ub_entity_info *info,
		 u32 dw, bool write, u8 bytes, u32 *value)
{
	struct ub_msg msg = { .dcna = info->cna, .deid = info->eid[0] };

	return access_config(fabric, &msg, info->index, dw, write, bytes,
			     value);
}

/* ---- Scans ---- */

static void put_guid(u8 *p, const u32 *guid)
{
	unsigned int i;

	for (i = 0; i < 4; i++)
		put_unaligned_be32(guid[i], p + 4 * i);
}

static void get_guid(u32 *guid, const u8 *p)
{
	unsigned int i;

	for (i = 0; i < 4; i++)
		guid[i] = get_unaligned_be32(p + 4 * i);
}

/* A path's first port is in the last byte of its first word. */
static void put_path(u8 *p, const u8 *ports, unsigned int hops)
{
	unsigned int i;

	for (i = 0; i < hops; i++)
		p[i ^ 3] = ports[i];
}

/* Ask a node; the Scan PDU of the answer from *@pdu on.  Its bytes, or an error. */
static int ask(struct ub_fabric *fabric, const struct ub_node *n, u8 cmd,
	       u8 opcode, u8 slice, u8 *data, u8 **pdu)
{
	unsigned int path = ALIGN(n->hops, 4), size = PDU_SIZE;
	struct ub_msg msg = { .kind = UB_MSG_SCAN, .flags = UB_MSG_MGMT,
			      .upi = UPI_MANAGER };
	int err;

	if (cmd == CMD_NA_QUERY)
		size += 4;
	memset(data, 0, 4 + 2 * path + size);
	put_unaligned_be32(SCAN_R | SCAN_TYPE8 | n->hops << 8, data);
	put_path(data + 4, n->forward, n->hops);
	put_path(data + 4 + path, n->back, n->hops);
	*pdu = data + 4 + 2 * path;
	put_unaligned_be32(PDU_VERSION << 24 | cmd << 16 | opcode << 8 | slice,
			   *pdu);
	put_unaligned_be32(size / 4 << 16, *pdu + 4);
	put_guid(*pdu + 8, n->info.guid);
	msg.len = 4 + 2 * path + size;
	err = ub_msg_call(fabric->client, &msg, data);
	if (err)
		return err;
	/* There is no way back in it any more. */
	*pdu = data + 4 + path;
	if (msg.len < 4 + path + PDU_SIZE || data[2] != n->hops)
		return -EPROTO;
	return (*pdu)[3] ? -EIO : msg.len - 4 - path;
}

static int take_tlv(struct ub_node *n, const u8 *p, unsigned int len,
		    unsigned int *slices)
{
	unsigned int ports, index;

	switch (p[0]) {
	case TLV_SLICE:
		*slices = p[2];
		break;
	case TLV_PORTS:
		ports = get_unaligned_be16(p + 2);
		if (len < 8 || ports > MAX_PORTS)
			return -EPROTO;
		/* Each slice says it; what there is room for stays. */
		if (n->link)
			return ports == n->info.ports ? 0 : -EPROTO;
		n->link = kcalloc(ports + 1, sizeof(*n->link), GFP_KERNEL);
		if (!n->link)
			return -ENOMEM;
		n->info.ports = ports;
		break;
	case TLV_PORT:
		if (len < 28)
			return -EPROTO;
		index = get_unaligned_be16(p + 4);
		if (!n->link || index >= n->info.ports)
			return -EPROTO;
		n->link[index].up = p[2] & 1;
		n->link[index].boundary = p[2] & 2;
		n->link[index].peer_port = get_unaligned_be16(p + 6);
		get_guid(n->link[index].peer_guid, p + 12);
		break;
	case TLV_CAP:
		if (len < 8)
			return -EPROTO;
		n->info.class_code = get_unaligned_be16(p + 6);
		break;
	}
	return 0;
}

/* All that a node says of itself. */
static int ask_node(struct ub_fabric *fabric, struct ub_node *n)
{
	unsigned int slice, slices = 1;
	u8 *data = kmalloc(UB_MSG_MAX, GFP_KERNEL), *pdu;
	int len = data ? 0 : -ENOMEM, at, size;

	for (slice = 0; len >= 0 && slice < slices; slice++) {
		len = ask(fabric, n, CMD_TOPOLOGY, OP_TOPOLOGY, slice, data,
			  &pdu);
		if (len >= 0)
			get_guid(n->info.guid, pdu + 8);
		for (at = PDU_SIZE; at + 4 <= len; at += size) {
			size = pdu[at + 1];
			if (size < 4 || at + size > len ||
			    take_tlv(n, pdu + at, size, &slices)) {
				len = -EPROTO;
				break;
			}
		}
	}
	if (len >= 0 && !n->link)
		len = -EPROTO;
	if (len >= 0 && ask(fabric, n, CMD_NA_QUERY, OP_PRIMARY, 0, data,
			    &pdu) >= PDU_SIZE + 4)
		n->info.cna = get_unaligned_be32(pdu + 24) & 0xffffff;
	kfree(data);
	return len < 0 ? len : 0;
}

/* What its registers add, where they can be reached. */
static void ask_registers(struct ub_fabric *fabric, struct ub_node *n)
{
	u32 cna = n->hops ? n->info.cna : 0, value;
	unsigned int i;

	n->info.entities = 1;
	if (n->hops && !cna)
		return;
	if (ub_scan_config(fabric, cna, 0, UB_CFG0_TOTAL_NUMBER_OF_ENTITIES,
			   false, 0xf, &value))
		return;
	n->info.entities = clamp(value >> 16, 1u, 256u);
	for (i = 0; i < 4; i++)
		if (ub_scan_config(fabric, cna, 0, UB_CFG0_EID + i, false, 0xf,
				   &n->info.eid[i]))
			return;
	if (!ub_scan_config(fabric, cna, 0, UB_CFG0_UPI, false, 0xf, &value))
		n->info.upi = value & 0x7fff;
}

static void free_node(struct ub_node *n)
{
	kfree(n->link);
	kfree(n);
}

static bool is_known(struct list_head *nodes, const u32 *guid)
{
	struct ub_node *n;

	list_for_each_entry(n, nodes, list)
		if (!memcmp(n->info.guid, guid, sizeof(n->info.guid)))
			return true;
	return false;
}

/* The node behind a port of @from. */
static int add_node(struct ub_fabric *fabric, struct list_head *nodes,
		    const struct ub_node *from, unsigned int port)
{
	struct ub_node *n = kzalloc(sizeof(*n), GFP_KERNEL);
	int err;

	if (!n)
		return -ENOMEM;
	if (from) {
		const struct ub_link *l = &from->link[port];

		n->hops = from->hops + 1;
		memcpy(n->forward, from->forward, from->hops);
		n->forward[from->hops] = port;
		memcpy(n->back + 1, from->back, from->hops);
		n->back[0] = l->peer_port;
		memcpy(n->info.guid, l->peer_guid, sizeof(l->peer_guid));
	}
	err = ask_node(fabric, n);
	if (err) {
		free_node(n);
		return err;
	}
	list_add_tail(&n->list, nodes);
	return 0;
}

/* Our own controller by its registers: scans are the manager's. */
static int add_own(struct ub_fabric *fabric, struct list_head *nodes)
{
	struct ub_node *n = kzalloc(sizeof(*n), GFP_KERNEL);
	struct ub_core *core = fabric->core;
	unsigned int i, port;

	if (!n)
		return -ENOMEM;
	n->link = kcalloc(core->ports, sizeof(*n->link), GFP_KERNEL);
	if (!n->link) {
		kfree(n);
		return -ENOMEM;
	}
	n->info.ports = core->ports;
	n->info.cna = ub_config_read(core, UB_CFG0_PRIMARY_CNA) & 0xffffff;
	n->info.class_code = ub_config_read(core, UB_CFG1_BASE +
					    UB_CFG1_CLASS_CODE);
	for (i = 0; i < 4; i++)
		n->info.guid[i] = ub_config_read(core, UB_CFG0_GUID + i);
	for (port = 0; port < core->ports; port++) {
		struct ub_link *l = &n->link[port];
		u32 base = UB_CFG_PORT_BASE(port);

		l->up = ub_rd(core->bar, UBC_PORT(port) + UBC_PORT_STATUS) &
			UBC_PORT_STATUS_DLL_UP;
		l->peer_port = ub_config_read(core, base +
					      UB_PORT_NEIGHBOR_PORT_INFO);
		for (i = 0; i < 4; i++)
			l->peer_guid[i] = ub_config_read(
				core, base + UB_PORT_NEIGHBOR_PORT_GUID + i);
	}
	list_add_tail(&n->list, nodes);
	return 0;
}

int ub_scan_nodes(struct ub_fabric *fabric, struct list_head *nodes)
{
	struct ub_node *n;
	unsigned int port, count = 1, silent = 0;
	int err = add_node(fabric, nodes, NULL, 0);

	if (err == -ETIMEDOUT)
		err = add_own(fabric, nodes);
	if (err)
		return err;
	/* Those that are found are looked at in their turn. */
	list_for_each_entry(n, nodes, list) {
		unsigned int type = GUID_TYPE(n->info.guid);

		ask_registers(fabric, n);
		/* Only switches send scans on: types 3 and 4. */
		if ((n->hops && type != 3 && type != 4) ||
		    n->hops == UB_MAX_HOPS)
			continue;
		for (port = 0; port < n->info.ports; port++) {
			const struct ub_link *l = &n->link[port];

			if (!l->up || l->boundary || l->peer_port >= MAX_PORTS ||
			    count == MAX_NODES || silent == MAX_SILENT ||
			    is_known(nodes, l->peer_guid))
				continue;
			err = add_node(fabric, nodes, n, port);
			if (err == -ENODEV || err == -ENETDOWN)
				return err;
			count += !err;
			silent += !!err;
		}
	}
	return 0;
}

void ub_scan_free(struct list_head *nodes)
{
	struct ub_node *n, *next;

	list_for_each_entry_safe(n, next, nodes, list)
		free_node(n);
	INIT_LIST_HEAD(nodes);
}
