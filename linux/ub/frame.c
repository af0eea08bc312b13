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
#define UBC_NPI_DEFAULT	1

static u32 npi;
module_param(npi, uint, 0644);
MODULE_PARM_DESC(npi, "network partition of IP packets, 25 bits (default 0: the controller's where it knows it, else 1)");

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

/* The partition; 0: the controller puts its own in, and has looked at what comes. */
static u32 ubc_npi(const struct ubc_port *port)
{
	u32 own = READ_ONCE(npi) & UBC_NPI;

	return own || port->guarded ? own : UBC_NPI_DEFAULT;
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
	/* No congestion mark yet; the partition when it is sent. */
	memset(p + UBC_FRAME_CFG, 0, UBC_HLEN);
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

bool ubc_frame_send(const struct ubc_port *port, struct sk_buff *skb)
{
	u8 *p = skb->data;

	if (!skb->len || !ubc_frame_protocol(p[0]) ||
	    skb->len < ubc_kinds[p[0]].least)
		return false;
	if (p[0] != UBC_CFG_CONTROL)
		*(__be32 *)(p + 3) = cpu_to_be32(ubc_npi(port));
	return true;
}

/* Whether an IP packet is of our partition, and of its version. */
static bool ubc_is_ours(const struct ubc_port *port, const u8 *p,
			unsigned int cfg)
{
	u32 from = be32_to_cpu(*(const __be32 *)(p + 2)), own = ubc_npi(port);

	return !(own && (from ^ own) & UBC_NPI_ID) &&
	       p[UBC_HLEN] >> 4 == (cfg == UBC_CFG_IPV4 ? 4 : 6);
}

bool ubc_frame_receive(const struct ubc_port *port, struct sk_buff *skb,
		       unsigned int cfg)
{
	bool control = cfg == UBC_CFG_CONTROL;

	if (!ubc_frame_protocol(cfg) ||
	    skb->len + UBC_FRAME_CFG < ubc_kinds[cfg].least)
		return false;
	if (!control && !ubc_is_ours(port, skb->data, cfg))
		return false;
	*(u8 *)skb_push(skb, UBC_FRAME_CFG) = cfg;
	skb_reset_mac_header(skb);
	if (!control)
		skb_pull(skb, UBC_FRAME_HLEN);
	skb_reset_network_header(skb);
	skb->protocol = htons(ubc_frame_protocol(cfg));
	return true;
}
