/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * UB ports as network devices: what the files of ub_net share.
 */
#ifndef UB_NET_H
#define UB_NET_H

#include <linux/if_arp.h>
#include <linux/netdevice.h>
#include <linux/timer.h>
#include <linux/workqueue.h>

#include "ub_core.h"

#define UBC_GUID_LEN	16
#define UBC_HLEN	6	/* CCI and NPI, before the IP header */
#define UBC_RING_LOG2	8
#define UBC_SLOTS	BIT(UBC_RING_LOG2)
#define UBC_CFG_IPV4	3	/* LPH.CFG */
#define UBC_CFG_IPV6	4
#define UBC_CFG_CONTROL	5
/* A frame as sockets have it: its CFG in a byte of its own, then what is on the
 * link.  Of IP that begins with CCI and NPI, of control frames (UB 2.0 appendix
 * F) with Protocol, DGUID and SGUID. */
#define UBC_FRAME_CFG	1
#define UBC_FRAME_HLEN	(UBC_FRAME_CFG + UBC_HLEN)
#define UBC_CONTROL_LEN	(2 + 2 * UBC_GUID_LEN)

/* Numbers that Linux does not have yet. */
#ifndef ARPHRD_UB
#define ARPHRD_UB	38
#endif
#ifndef ETH_P_UB
#define ETH_P_UB	0x0100
#endif

struct ubc_desc {
	__le64 addr;
	__le32 len;
	__le16 flags;
	__le16 status;
};

struct ubc_slot {
	struct sk_buff *skb;
	dma_addr_t dma;
	unsigned int len;
};

/* One descriptor ring; counts run freely, as the device's do. */
struct ubc_ring {
	void __iomem *regs;
	struct device *dev;
	struct ubc_desc *desc;
	dma_addr_t dma;
	struct ubc_slot slot[UBC_SLOTS];
	u16 head;	/* next descriptor to give to the device */
	u16 tail;	/* next one to take back */
};

struct ubc_stats {
	struct u64_stats_sync sync;
	u64_stats_t packets;
	u64_stats_t bytes;
};

/* The handler of a source: with few vectors they share one. */
struct ubc_irq {
	struct ubc_port *port;
	char name[IFNAMSIZ + 8];
};

struct ubc_port {
	struct ub_core *core;
	struct net_device *netdev;
	void __iomem *regs;
	void __iomem *pair;
	unsigned int index;
	struct napi_struct napi;
	struct ubc_ring tx;
	struct ubc_ring rx;
	unsigned int rx_room;	/* bytes of a receive buffer */
	struct timer_list refill;	/* no memory for any buffer: try again */
	struct delayed_work check;	/* the link after an error */
	struct work_struct restart;	/* after a transmit timeout */
	struct work_struct notify;	/* our addresses, to the neighbour */
	spinlock_t link_lock;		/* carrier is what the link is */
	bool running;			/* its events count */
	bool started;			/* not halted; under RTNL */
	bool guarded;			/* the controller knows its NPI */
	u16 stalled_at;			/* tail at the last timeout */
	bool stalled;
	struct ubc_stats tx_stats;
	struct ubc_stats rx_stats;
	u64 rx_foreign;		/* wrong NPI, CFG or IP version */
	struct ubc_irq irq[UB_PORT_SOURCES];
};

/* netdev.c */
extern const struct net_device_ops ubc_netdev_ops;
void ubc_port_link(struct ubc_port *port);

/* ring.c */
int ubc_ring_alloc(struct ubc_ring *ring, struct device *dev,
		   void __iomem *regs);
void ubc_ring_free(struct ubc_ring *ring);
void ubc_ring_start(struct ubc_ring *ring);
void ubc_ring_stop(struct ubc_ring *ring);
bool ubc_tx_room(const struct ubc_ring *tx);
netdev_tx_t ubc_xmit(struct sk_buff *skb, struct net_device *netdev);
int ubc_poll(struct napi_struct *napi, int budget);
void ubc_rx_refill(struct ubc_port *port, gfp_t gfp);
void ubc_tx_drop_all(struct ubc_port *port);
void ubc_rx_drop_all(struct ubc_port *port);

/* notify.c */
void ubc_notify(struct work_struct *work);
int ubc_notify_init(void);
void ubc_notify_exit(void);

/* frame.c */
extern const struct header_ops ubc_header_ops;
/* Whether a frame may be sent; one of IP has our partition then. */
bool ubc_frame_send(const struct ubc_port *port, struct sk_buff *skb);
/* A packet of the link becomes a frame; false: it is not for us. */
bool ubc_frame_receive(const struct ubc_port *port, struct sk_buff *skb,
		       unsigned int cfg);

/* ethtool.c */
extern const struct ethtool_ops ubc_ethtool_ops;

#endif
