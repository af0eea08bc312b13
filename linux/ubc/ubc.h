/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * UB controller driver: one point-to-point network device per port.
 */
#ifndef UBC_H
#define UBC_H

#include <linux/io.h>
#include <linux/netdevice.h>
#include <linux/pci.h>

#include "ub/ubc_hw.h"

#define UBC_GUID_LEN	16
#define UBC_HLEN	6	/* CCI and NPI, before the IP header */
#define UBC_RING_LOG2	8
#define UBC_SLOTS	BIT(UBC_RING_LOG2)
#define UBC_CFG_IPV4	3	/* LPH.CFG */
#define UBC_CFG_IPV6	4

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

struct ubc_port {
	struct ubc_dev *ubc;
	struct net_device *netdev;
	void __iomem *regs;
	unsigned int index;
	struct napi_struct napi;
	struct ubc_ring tx;
	struct ubc_ring rx;
	unsigned int rx_room;	/* bytes of a receive buffer */
	struct ubc_stats tx_stats;
	struct ubc_stats rx_stats;
	u64 rx_foreign;		/* wrong NPI, CFG or IP version */
};

struct ubc_dev {
	struct pci_dev *pdev;
	void __iomem *bar;
	unsigned int ports;
	unsigned int vectors;
	struct ubc_port *port[UBC_MAX_PORTS];
};

static inline u32 ubc_rd(void __iomem *regs, u32 reg)
{
	return ioread32(regs + reg);
}

static inline void ubc_wr(void __iomem *regs, u32 reg, u32 value)
{
	iowrite32(value, regs + reg);
}

/* A dword of the configuration space, by its address in dwords. */
static inline u32 ubc_cfg_rd(struct ubc_dev *ubc, u32 dw)
{
	return ubc_rd(ubc->bar, UBC_CFG_WINDOW + 4 * dw);
}

/* main.c */
int ubc_vector(struct ubc_dev *ubc, unsigned int which);

/* netdev.c */
int ubc_port_add(struct ubc_dev *ubc, unsigned int index);
void ubc_port_del(struct ubc_port *port);
void ubc_port_event(struct ubc_port *port);
void ubc_port_link(struct ubc_port *port);

/* ring.c */
int ubc_ring_alloc(struct ubc_ring *ring, struct device *dev,
		   void __iomem *regs);
void ubc_ring_free(struct ubc_ring *ring);
void ubc_ring_start(struct ubc_ring *ring);
void ubc_ring_stop(struct ubc_ring *ring);
netdev_tx_t ubc_xmit(struct sk_buff *skb, struct net_device *netdev);
int ubc_poll(struct napi_struct *napi, int budget);
void ubc_rx_refill(struct ubc_port *port, gfp_t gfp);
void ubc_tx_drop_all(struct ubc_port *port);
void ubc_rx_drop_all(struct ubc_port *port);

/* ethtool.c */
extern const struct ethtool_ops ubc_ethtool_ops;

/* cfgfile.c */
extern const struct attribute_group ubc_cfg_group;

#endif
