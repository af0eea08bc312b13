/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * RC Link driver: what its files share.
 */
#ifndef RCLINK_DRV_H
#define RCLINK_DRV_H

#include <linux/etherdevice.h>
#include <linux/if_vlan.h>
#include <linux/io-64-nonatomic-lo-hi.h>
#include <linux/miscdevice.h>
#include <linux/netdevice.h>
#include <linux/pci.h>
#include <linux/wait.h>

#include "rclink/rclink_hw.h"

#define RCLINK_NAME	"rclink"

enum {
	RCLINK_MDS = 256,	/* of each direction */
	/* Holds every frame that an RC Link can send; longer ones have several. */
	RCLINK_BUF = RCL_TX_FRAME_MAX,
	RCLINK_TELL = RCLINK_MDS / 4,	/* given back before the port knows */
	RCLINK_COPY = 256,	/* frames up to this length are copied */
	RCLINK_LOOK = HZ,	/* how often a full queue is looked at */
	RCLINK_STALL = 10 * HZ,	/* for so long nothing went that might have */
	RCLINK_MTU_MAX = RCL_TX_FRAME_MAX - ETH_HLEN - VLAN_HLEN,
};

/* Faults after which a direction has stopped, or a descriptor will never say that it
 * was filled: bits of DMA_INTR_ST1. */
#define RCLINK_STOPPED	(BIT(RCL_ST1_MD_WRITE) | BIT(RCL_ST1_MD_READ) | \
			 BIT(RCL_ST1_TWO_SOP) | BIT(RCL_ST1_TWO_EOP) | \
			 BIT(RCL_ST1_TX_OVERSIZE) | BIT(RCL_ST1_RX_OVERSIZE) | \
			 BIT(RCL_ST1_TX_ZERO) | BIT(RCL_ST1_RX_ZERO))

/* A descriptor as it lies in memory. */
struct rclink_md {
	__le64 word;
	__le64 addr;
};

struct rclink_rx_buf {
	struct page *page;
	dma_addr_t addr;
};

struct rclink {
	struct pci_dev *pdev;
	struct net_device *ndev;
	void __iomem *bar;

	/* TYPE3 sends from pages of its own: a frame is free when it is copied. */
	struct rclink_md *tx_md;
	dma_addr_t tx_md_addr;
	void *tx_buf[RCLINK_MDS];
	dma_addr_t tx_addr[RCLINK_MDS];
	u16 tx_head, tx_tail;	/* tail: as last read */

	struct napi_struct napi;
	struct rclink_md *rx_md;
	dma_addr_t rx_md_addr;
	struct rclink_rx_buf rx_buf[RCLINK_MDS];
	u16 rx_head, rx_tail, rx_told;	/* told: head, as the port knows it */
	struct sk_buff *rx_skb;	/* what has come of a frame over several */
	bool rx_bad;		/* the rest of which is dropped */
	spinlock_t link_lock;	/* carrier is what the link is */
	bool started;		/* not halted; under RTNL */
	struct delayed_work restart;	/* after a transmit timeout, a fault */
	u64 restarts;
	struct delayed_work look;	/* while the transmit queue is full */
	u64 held;		/* looks that found it held by flow control */

	struct rclink_cdev *cdev;	/* TYPE1 and TYPE2: for programs */
};

static inline u64 rclink_get(struct rclink *rc, u32 reg)
{
	return readq(rc->bar + reg);
}

static inline void rclink_set(struct rclink *rc, u32 reg, u64 val)
{
	writeq(val, rc->bar + reg);
}

/* netdev.c */
int rclink_netdev_init(struct rclink *rc);
void rclink_netdev_exit(struct rclink *rc);
/* Around a reset of the function. */
void rclink_netdev_detach(struct rclink *rc);
void rclink_netdev_attach(struct rclink *rc);
void rclink_link_changed(struct rclink *rc);
irqreturn_t rclink_nonr_irq(int irq, void *data);
irqreturn_t rclink_fault_irq(int irq, void *data);
/* ethtool.c */
extern const struct ethtool_ops rclink_ethtool_ops;
/* cdev.c */
int rclink_cdev_init(struct rclink *rc);
void rclink_cdev_exit(struct rclink *rc);
/* The port is about to be reset: who has it open is told, nobody opens it; or may. */
void rclink_cdev_away(struct rclink *rc, bool away);

#endif
