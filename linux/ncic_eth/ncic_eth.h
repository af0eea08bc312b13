/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * NCIC NIC Ethernet driver: what its files share.
 *
 * Terms follow the hardware: "head" is the producer and "tail" the consumer of
 * a ring, both free-running 16-bit counters.  A queue pair is one transmit and
 * one receive ring with a completion (CPL) ring each, served by one NAPI
 * context.
 */
#ifndef NCIC_ETH_H
#define NCIC_ETH_H

#include <linux/dma-mapping.h>
#include <linux/etherdevice.h>
#include <linux/ethtool.h>
#include <linux/if_vlan.h>
#include <linux/io.h>
#include <linux/netdevice.h>
#include <linux/pci.h>
#include <linux/u64_stats_sync.h>
#include <linux/workqueue.h>
#include "compat.h"
#include "ncic/ncic_hw.h"

#define NCIC_DRV_NAME		"ncic_eth"

#define NCIC_RING_MIN		128
#define NCIC_RING_MAX		8192
#define NCIC_RING_DEFAULT	512

/*
 * The hardware reads one contiguous buffer per frame.  Frames that are not
 * contiguous, short ones, and segments cut from a large send are gathered in a
 * per-queue area that is mapped once and used as a FIFO: completions come in
 * order.
 */
#define NCIC_FIFO_SIZE		SZ_512K
#define NCIC_FIFO_ALIGN		64
#define NCIC_COPYBREAK		256
#define NCIC_TSO_MAX_SEGS	64
/* Most FIFO bytes and descriptors one skb may take; below, the queue stops. */
#define NCIC_FIFO_RESERVE	SZ_256K
#define NCIC_DESC_RESERVE	NCIC_TSO_MAX_SEGS

#define NCIC_RX_HEADROOM	(NET_SKB_PAD + NET_IP_ALIGN)
/* Receive buffers are given to the device in groups: one doorbell each. */
#define NCIC_RX_REFILL		32
/* With large frames the ring is not filled beyond this many bytes. */
#define NCIC_RX_MEMORY		SZ_8M

struct ncic_priv;
struct ncic_qp;

/* What queues are made to: chosen before they are, and kept beside them. */
struct ncic_sizes {
	u16 num_qps;
	u16 tx_ring;			/* entries */
	u16 rx_ring;
	u16 rx_fill;			/* buffers the device may hold */
	u32 rx_buf_size;		/* of one buffer, with skb overhead */
	u32 rx_frame_size;		/* bytes the device may store in it */
	unsigned int rx_order;
};

/* A descriptor ring with its completion ring: what the hardware knows of it. */
struct ncic_ring {
	u8 __iomem *regs;		/* NCIC_Q_* of the descriptor ring */
	u8 __iomem *cpl_regs;		/* NCIC_Q_CPL_* (offsets as NCIC_Q_*) */
	struct ncic_desc *desc;
	struct ncic_cpl *cpl;
	u16 index;			/* of the queue */
	u16 mask;
	u16 cpl_mask;
	u16 cpl_tail;			/* next completion to look at */
	u16 cpl_tail_hw;		/* what the device was told */
	u16 vector;
	dma_addr_t desc_dma;
	dma_addr_t cpl_dma;
};

struct ncic_tx_buf {
	struct sk_buff *skb;		/* mapped in place; freed on completion */
	DEFINE_DMA_UNMAP_ADDR(dma);
	DEFINE_DMA_UNMAP_LEN(len);
	u32 fifo;			/* bytes taken from the FIFO */
	u32 bytes;			/* bytes on the wire, for BQL */
};

struct ncic_tx_stats {
	u64 packets;
	u64 bytes;
	u64 copied;			/* gathered in the FIFO */
	u64 tso;			/* large sends cut by the driver */
	u64 csum_sw;			/* checksum out of the hardware's reach */
	u64 stopped;
	u64 doorbells;
	u64 dropped;
};

struct ncic_tx_queue {
	struct ncic_ring r;
	struct ncic_tx_buf *buf;
	struct netdev_queue *txq;

	/* all below under the transmit lock */
	u16 head;
	u16 head_hw;
	u16 tail;
	u16 mapped;			/* skbs the device has in place */
	u32 fifo_head;
	u32 fifo_tail;
	u8 *fifo;
	dma_addr_t fifo_dma;
	struct u64_stats_sync syncp;
	struct ncic_tx_stats stats;
};

struct ncic_rx_stats {
	u64 packets;
	u64 bytes;
	u64 csum_good;
	u64 csum_none;
	u64 alloc_failed;
	u64 errors;
	u64 polls;
};

struct ncic_rx_buf {
	struct page *page;
	u32 offset;
};

struct ncic_rx_queue {
	struct ncic_ring r;
	struct ncic_rx_buf *buf;
	struct page_pool *pool;
	u16 head;
	u16 head_hw;
	struct u64_stats_sync syncp;
	struct ncic_rx_stats stats;
};

struct ncic_qp {
	struct ncic_priv *priv;
	struct net_device *ndev;
	struct device *dev;
	u16 index;
	struct napi_struct napi;
	struct ncic_rx_queue rx;
	struct ncic_tx_queue tx;
	char rx_irq_name[IFNAMSIZ + 16];
	char tx_irq_name[IFNAMSIZ + 16];
};

struct ncic_priv {
	struct net_device *ndev;
	struct pci_dev *pdev;
	u8 __iomem *bar;
	u8 __iomem *ncsr;
	u8 __iomem *txq;		/* windows, by the offsets in the NCSR */
	u8 __iomem *rxq;
	u8 __iomem *tx_cplq;
	u8 __iomem *rx_cplq;
	u32 features;			/* NCIC_FEATURE_* */
	u32 msg_enable;
	bool up;			/* rings, interrupts, NAPI */
	bool hung;			/* a queue stalled: reset on the way */
	bool ext;			/* link, address and error registers */

	u16 hw_queues;
	u16 max_qps;			/* by hardware, vectors, processors */
	u16 num_vectors;
	struct ncic_sizes size;		/* of the queues there are, or will be */

	struct ncic_qp **qp;
	struct work_struct reset_work;
	u64 tx_timeouts;
	u64 resets;
	char link_irq_name[IFNAMSIZ + 16];
};

static inline u32 ncic_rd(u8 __iomem *base, unsigned int off)
{
	return readl(base + off);
}

static inline void ncic_wr(u8 __iomem *base, unsigned int off, u32 val)
{
	writel(val, base + off);
}

/*
 * A completion is new once its last dword, which the device writes last and as
 * zero, is no longer what the driver left there.
 */
static inline struct ncic_cpl *ncic_cpl_peek(const struct ncic_ring *r)
{
	struct ncic_cpl *cpl = &r->cpl[r->cpl_tail & r->cpl_mask];

	if (READ_ONCE(cpl->last))
		return NULL;
	dma_rmb();
	return cpl;
}

static inline void ncic_cpl_consume(struct ncic_ring *r, struct ncic_cpl *cpl)
{
	cpl->last = cpu_to_le32(~0u);
	r->cpl_tail++;
}

/*
 * Tell the device how far we are, which also lets it interrupt again: at once
 * if something has completed since.
 */
static inline void ncic_cpl_sync(struct ncic_ring *r)
{
	if (r->cpl_tail != r->cpl_tail_hw) {
		r->cpl_tail_hw = r->cpl_tail;
		ncic_wr(r->cpl_regs, NCIC_Q_CPL_TAIL, r->cpl_tail);
	}
}

/* While polling goes on, tell it only before its view of the ring fills up. */
static inline void ncic_cpl_sync_lazy(struct ncic_ring *r)
{
	if (unlikely((u16)(r->cpl_tail - r->cpl_tail_hw) > r->cpl_mask / 4))
		ncic_cpl_sync(r);
}

/* hw.c */
int ncic_hw_probe(struct ncic_priv *priv);
void ncic_hw_reset(struct ncic_priv *priv);
bool ncic_hw_present(struct ncic_priv *priv);
int ncic_ring_alloc(struct ncic_priv *priv, struct ncic_ring *r,
		    unsigned int entries);
void ncic_ring_free(struct ncic_priv *priv, struct ncic_ring *r);
void ncic_ring_start(struct ncic_ring *r);
int ncic_ring_stop(struct ncic_ring *r);
void ncic_link_update(struct ncic_priv *priv);
void ncic_link_irq_enable(struct ncic_priv *priv, bool on);

/* tx.c */
netdev_tx_t ncic_xmit(struct sk_buff *skb, struct net_device *ndev);
netdev_features_t ncic_features_check(struct sk_buff *skb,
				      struct net_device *ndev,
				      netdev_features_t features);
void ncic_tx_poll(struct ncic_qp *qp, int budget);
int ncic_tx_alloc(struct ncic_qp *qp, const struct ncic_sizes *size);
void ncic_tx_free(struct ncic_qp *qp);

/* rx.c */
int ncic_rx_poll(struct ncic_qp *qp, int budget);
bool ncic_rx_refill(struct ncic_qp *qp);
int ncic_rx_alloc(struct ncic_qp *qp, const struct ncic_sizes *size);
void ncic_rx_free(struct ncic_qp *qp);

/* netdev.c */
extern const struct net_device_ops ncic_netdev_ops;
int ncic_poll(struct napi_struct *napi, int budget);
int ncic_up(struct ncic_priv *priv);
void ncic_down(struct ncic_priv *priv);
int ncic_reconfigure(struct ncic_priv *priv, u16 num_qps, u16 tx_ring,
		     u16 rx_ring, unsigned int mtu);
void ncic_reset_work(struct work_struct *work);

/* ethtool.c, selftest.c */
extern const struct ethtool_ops ncic_ethtool_ops;
int ncic_selftest_count(void);
void ncic_selftest_strings(u8 *data);
void ncic_selftest(struct net_device *ndev, struct ethtool_test *test,
		   u64 *data);

#endif
