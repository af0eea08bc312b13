// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * URMA: what a device can do.
 */
#include <linux/bitfield.h>
#include <linux/log2.h>

#include "ub_urma.h"
#include "ub/cfg_regs.h"

#define LOG2_MAX	15
#define MSG_MAX		0x7fffffffu
#define MTU_CODE_0	7	/* 256 bytes are code 1, and so on */
#define PORT_DOWN	1
#define PORT_ACTIVE	4
#define ATOMIC_MAX	64
#define ORDERS_RM	0x3	/* OT, OI */
#define ORDERS_RC	0x5	/* OT, OL */
#define CARRIERS_RM	0x3	/* RTP, CTP */
#define CARRIERS_UM	0x2	/* CTP; who asks for UTP gets that, too */
#define CARRIERS_IP	0x1	/* the same on IP paths: RTP, */
#define CARRIERS_IP_UM	0x4	/* UTP; who asks for CTP gets that, too */
#define JETTY_GRP	(1u << 11)
#define FEATURES	(1u << 12 | 1u << 18)	/* error_suspend, ctp_en */

/* By the library's codes: Mb/s of a lane. */
static const u32 speeds[] = {
	10, 100, 1000, 2500, 5000, 10000, 14000, 25000, 40000, 50000, 100000,
	200000, 400000, 800000
};

/* The fastest that a lane reaches. */
static u32 speed_code(u32 mbps)
{
	u32 code = ARRAY_SIZE(speeds) - 1;

	while (code && speeds[code] > mbps)
		code--;
	return code;
}

static u32 mtu_code(u32 bytes)
{
	return ilog2(bytes) - MTU_CODE_0;
}

static void port_fill(struct urma_dev *dev, unsigned int i,
		      struct urma_port *p)
{
	u32 status = ub_rd(dev->core->bar, UBC_PORT(i) + UBC_PORT_STATUS);
	u32 features = ub_config_read(dev->core, UB_CFG0_SUPPORTED_FEATURE);
	u32 mbps;

	p->max_mtu = mtu_code(ub_mtu_bytes(
		FIELD_GET(UB_CFG0_SUPPORTED_FEATURE__MTU_SUPPORTED, features)));
	p->active_mtu = mtu_code(ub_own_mtu(dev->core));
	p->state = status & UBC_PORT_STATUS_DLL_UP ? PORT_ACTIVE : PORT_DOWN;
	ub_core_link(dev->core, i, &mbps, &p->active_width);
	p->active_speed = speed_code(mbps);
}

/* The name stays what the caller asked by. */
void urma_dev_attr_fill(struct urma_dev *dev, struct urma_dev_attr *a)
{
	const struct urma_caps *caps = &dev->caps;
	struct ub_place own;
	bool ip = urma_ip_paths(dev, &own);
	u32 rm = ip ? CARRIERS_IP : CARRIERS_RM;
	u32 um = ip ? CARRIERS_IP_UM : CARRIERS_UM;
	u32 length = min_t(u64, caps->length, MSG_MAX);
	unsigned int i;

	urma_guid(dev, a->guid);
	a->feature = FEATURES | (caps->groups ? JETTY_GRP : 0);
	a->max_jfc = caps->cqs;
	a->max_jfs = a->max_jfr = a->max_jetty = caps->queues;
	a->max_jetty_grp = caps->groups;
	a->max_jetty_in_jetty_grp = caps->members;
	a->max_jfc_depth = a->max_jfr_depth = 1 << LOG2_MAX;
	/* An entry has two blocks at least. */
	a->max_jfs_depth = 1 << (LOG2_MAX - 1);
	a->max_inline = caps->inline_max;
	a->max_jfs_sge = caps->elements;
	/* As many as here, of which the first counts, and a notification's. */
	a->max_jfs_rsge = caps->elements + 1;
	a->max_jfr_sge = caps->recv_elements;
	a->max_msg_size = length;
	a->max_read_size = a->max_write_size = length;
	a->max_cas_size = a->max_swap_size = ATOMIC_MAX;
	a->max_add_size = a->max_sub_size = ATOMIC_MAX;
	a->max_and_size = a->max_or_size = a->max_xor_size = ATOMIC_MAX;
	a->atomic_feat = 0x7f;
	a->trans_mode = URMA_RM | URMA_RC | URMA_UM;
	a->ceq_cnt = 1;
	a->max_eid_cnt = 1;
	a->page_size_cap = PAGE_SIZE;
	a->port_cnt = dev->core->ports;
	for (i = 0; i < dev->core->ports; i++)
		port_fill(dev, i, &a->port[i]);
	a->reserved_jetty_max = URMA_WELL_KNOWN_MAX;
	a->rm_order_cap = ORDERS_RM;
	a->rc_order_cap = ORDERS_RC;
	a->rm_tp_cap = a->rc_tp_cap = rm;
	a->um_tp_cap = um;
	/*
	 * Any priority goes by any carrier.  Programs look for the first one
	 * whose set is just what they want, and show a set of two as invalid.
	 */
	for (i = 0; i < ARRAY_SIZE(a->priority); i++)
		a->priority[i].tp_type =
			i < ARRAY_SIZE(a->priority) / 2 ? 1 << URMA_RTP : um;
}
