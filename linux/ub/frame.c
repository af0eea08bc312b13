// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * UB ports as network devices: the frames that sockets see.
 *
 * A packet socket has the CFG of a frame in its first byte, which the link has
 * not; what follows is what the link carries.  The programs for DHCP and LLDP
 * over UB read and write control frames (CFG 5) so.
 */
#include <linux/if_ether.h>
#include <linux/moduleparam.h>

#include "ub_net.h"

#define UBC_NPI_ID	0xffffff
#define UBC_NPI		0x1ffffff

static u32 npi = 1;
module_param(npi, uint, 0644);
MODULE_PARM_DESC(npi, "network partition of IP packets, 25 bits (default 1)");

/* By CFG: the protocol, and the shortest frame. */
static const struct {
	u16 protocol;
	u16 least;
} ubc_kinds[] = {
	[UBC_CFG_IPV4] = { ETH_P_IP, UBC_FRAME_HLEN + 20 },
	[UBC_CFG_IPV6] = { ETH_P_IPV6, UBC_FRAME_HLEN + 40 },
	[UBC_CFG_CONTROL] = { ETH_P_UB, UBC_FRAME_CFG + UBC_CONTROL_LEN },
};

static u16 ubc_frame_protocol(u8 cfg)
{
	return cfg < ARRAY_SIZE(ubc_kinds) ? ubc_kinds[cfg].protocol : 0;
}

/* No congestion mark yet, and the partition. */
static void ubc_put_extension(u8 *p)
{
	memset(p, 0, 2);
	*(__be32 *)(p + 2) = cpu_to_be32(READ_ONCE(npi) & UBC_NPI);
}

static int ubc_header_create(struct sk_buff *skb, struct net_device *netdev,
			     unsigned short type, const void *daddr,
			     const void *saddr, unsigned int len)
{
	u8 *p;

	/* Of control frames the sender writes all. */
	if (type != ETH_P_IP && type != ETH_P_IPV6)
		return -EPROTONOSUPPORT;
	p = skb_push(skb, UBC_FRAME_HLEN);
	p[0] = type == ETH_P_IP ? UBC_CFG_IPV4 : UBC_CFG_IPV6;
	ubc_put_extension(p + UBC_FRAME_CFG);
	return UBC_FRAME_HLEN;
}

static __be16 ubc_header_protocol(const struct sk_buff *skb)
{
	return htons(ubc_frame_protocol(*skb_mac_header(skb)));
}

const struct header_ops ubc_header_ops = {
	.create = ubc_header_create,
	.parse_protocol = ubc_header_protocol,
};

bool ubc_frame_send(struct sk_buff *skb)
{
	u8 *p = skb->data;

	if (!skb->len || !ubc_frame_protocol(p[0]) ||
	    skb->len < ubc_kinds[p[0]].least)
		return false;
	if (p[0] != UBC_CFG_CONTROL)
		*(__be32 *)(p + 3) = cpu_to_be32(READ_ONCE(npi) & UBC_NPI);
	return true;
}

bool ubc_frame_receive(struct sk_buff *skb, unsigned int cfg)
{
	bool control = cfg == UBC_CFG_CONTROL;
	u8 *p = skb->data;

	if (!ubc_frame_protocol(cfg) ||
	    skb->len + UBC_FRAME_CFG < ubc_kinds[cfg].least)
		return false;
	if (!control &&
	    (((be32_to_cpu(*(__be32 *)(p + 2)) ^ READ_ONCE(npi)) &
	      UBC_NPI_ID) || p[UBC_HLEN] >> 4 != (cfg == UBC_CFG_IPV4 ? 4 : 6)))
		return false;
	*(u8 *)skb_push(skb, UBC_FRAME_CFG) = cfg;
	skb_reset_mac_header(skb);
	if (!control)
		skb_pull(skb, UBC_FRAME_HLEN);
	skb_reset_network_header(skb);
	skb->protocol = htons(ubc_frame_protocol(cfg));
	return true;
}
