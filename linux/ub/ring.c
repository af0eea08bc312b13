// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * UB ports as network devices: descriptor rings, transmit, receive, polling.
 *
 * A descriptor is the device's from the doorbell until it carries DONE, which
 * is written together with its length, so no register is read per packet.
 * The device interrupts once when a count it was armed with is passed; NAPI
 * arms both rings with what it has seen when it goes to sleep, and the device
 * answers at once if there was more.
 */
#include "ub_net.h"

#define UBC_COPYBREAK	256
/* In front of a received packet: room for its CFG, and so that the IP header is
 * aligned. */
#define UBC_RX_PAD	2

int ubc_ring_alloc(struct ubc_ring *ring, struct device *dev,
		   void __iomem *regs)
{
	ring->dev = dev;
	ring->regs = regs;
	ring->desc = dma_alloc_coherent(dev, UBC_SLOTS * UBC_DESC_SIZE,
					&ring->dma, GFP_KERNEL);
	return ring->desc ? 0 : -ENOMEM;
}

void ubc_ring_free(struct ubc_ring *ring)
{
	if (ring->desc)
		dma_free_coherent(ring->dev, UBC_SLOTS * UBC_DESC_SIZE,
				  ring->desc, ring->dma);
	ring->desc = NULL;
}

void ubc_ring_start(struct ubc_ring *ring)
{
	ring->head = 0;
	ring->tail = 0;
	ub_wr(ring->regs, UBC_RING_BASE_LO, lower_32_bits(ring->dma));
	ub_wr(ring->regs, UBC_RING_BASE_HI, upper_32_bits(ring->dma));
	ub_wr(ring->regs, UBC_RING_SIZE, UBC_RING_LOG2);
	ub_wr(ring->regs, UBC_RING_CTRL, UBC_RING_ENABLE);
}

/* The device touches neither descriptors nor buffers after this. */
void ubc_ring_stop(struct ubc_ring *ring)
{
	ub_wr(ring->regs, UBC_RING_CTRL, 0);
	ub_rd(ring->regs, UBC_RING_CTRL);
}

static void ubc_ring_put(struct ubc_ring *ring, u16 flags)
{
	unsigned int i = ring->head % UBC_SLOTS;
	struct ubc_desc *desc = &ring->desc[i];

	desc->addr = cpu_to_le64(ring->slot[i].dma);
	desc->len = cpu_to_le32(ring->slot[i].len);
	desc->flags = cpu_to_le16(flags);
	desc->status = 0;
	ring->head++;
}

static void ubc_ring_doorbell(struct ubc_ring *ring)
{
	/* The descriptors before the doorbell: iowrite32 orders them. */
	ub_wr(ring->regs, UBC_RING_HEAD, ring->head);
}

/* The next descriptor that the device is done with, or NULL. */
static struct ubc_desc *ubc_ring_done(struct ubc_ring *ring)
{
	struct ubc_desc *desc = &ring->desc[ring->tail % UBC_SLOTS];

	if (ring->tail == ring->head ||
	    !(READ_ONCE(desc->status) & cpu_to_le16(UBC_DESC_DONE)))
		return NULL;
	/* The rest of the descriptor and the buffer after DONE. */
	dma_rmb();
	return desc;
}

static void ubc_count(struct ubc_stats *stats, unsigned int packets,
		      unsigned int bytes)
{
	u64_stats_update_begin(&stats->sync);
	u64_stats_add(&stats->packets, packets);
	u64_stats_add(&stats->bytes, bytes);
	u64_stats_update_end(&stats->sync);
}

/* -------------------------------------------------------------- transmit */

static void ubc_slot_unmap_tx(struct ubc_ring *tx, struct ubc_slot *slot)
{
	dma_unmap_single(tx->dev, slot->dma, slot->len, DMA_TO_DEVICE);
	slot->skb = NULL;
}

bool ubc_tx_room(const struct ubc_ring *tx)
{
	return (u16)(tx->head - READ_ONCE(tx->tail)) < UBC_SLOTS;
}

netdev_tx_t ubc_xmit(struct sk_buff *skb, struct net_device *netdev)
{
	struct ubc_port *port = netdev_priv(netdev);
	struct ubc_ring *tx = &port->tx;
	struct ubc_slot *slot = &tx->slot[tx->head % UBC_SLOTS];
	bool more = netdev_xmit_more();
	u16 cfg;

	if (unlikely(!ubc_tx_room(tx))) {
		netif_stop_queue(netdev);
		ubc_ring_doorbell(tx);
		return NETDEV_TX_BUSY;
	}
	if (skb_cow_head(skb, 0) || skb_linearize(skb) ||
	    !ubc_frame_send(port, skb))
		goto drop;
	cfg = skb->data[0];
	skb_pull(skb, UBC_FRAME_CFG);

	slot->len = skb->len;
	slot->dma = dma_map_single(tx->dev, skb->data, skb->len,
				   DMA_TO_DEVICE);
	if (dma_mapping_error(tx->dev, slot->dma))
		goto drop;
	slot->skb = skb;
	skb_tx_timestamp(skb);
	ubc_ring_put(tx, cfg);
	netdev_sent_queue(netdev, slot->len);
	if (!ubc_tx_room(tx)) {
		netif_stop_queue(netdev);
		/* Against ubc_clean_tx, which frees and then looks. */
		smp_mb();
		if (ubc_tx_room(tx))
			netif_start_queue(netdev);
	}
	if (!more || netif_xmit_stopped(netdev_get_tx_queue(netdev, 0)))
		ubc_ring_doorbell(tx);
	return NETDEV_TX_OK;

drop:
	netdev->stats.tx_dropped++;
	dev_kfree_skb_any(skb);
	if (!more)
		ubc_ring_doorbell(tx);
	return NETDEV_TX_OK;
}

static void ubc_clean_tx(struct ubc_port *port, int budget)
{
	struct ubc_ring *tx = &port->tx;
	unsigned int packets = 0, bytes = 0, bad = 0, bad_bytes = 0;
	struct ubc_desc *desc;

	while ((desc = ubc_ring_done(tx))) {
		struct ubc_slot *slot = &tx->slot[tx->tail % UBC_SLOTS];
		struct sk_buff *skb = slot->skb;

		if (desc->status & cpu_to_le16(UBC_DESC_ERROR)) {
			bad++;
			bad_bytes += slot->len;
		}
		packets++;
		bytes += slot->len;
		ubc_slot_unmap_tx(tx, slot);
		napi_consume_skb(skb, budget);
		WRITE_ONCE(tx->tail, tx->tail + 1);
	}
	if (!packets)
		return;
	netdev_completed_queue(port->netdev, packets, bytes);
	port->netdev->stats.tx_errors += bad;
	packets -= bad;
	bytes -= bad_bytes;
	ubc_count(&port->tx_stats, packets, bytes - packets * UBC_HLEN);
	/* Against ubc_xmit, which stops the queue and then looks. */
	smp_mb();
	if (netif_queue_stopped(port->netdev) &&
	    netif_carrier_ok(port->netdev))
		netif_wake_queue(port->netdev);
}

void ubc_tx_drop_all(struct ubc_port *port)
{
	struct ubc_ring *tx = &port->tx;

	for (; tx->tail != tx->head; tx->tail++) {
		struct ubc_slot *slot = &tx->slot[tx->tail % UBC_SLOTS];
		struct sk_buff *skb = slot->skb;

		ubc_slot_unmap_tx(tx, slot);
		dev_kfree_skb_any(skb);
		port->netdev->stats.tx_dropped++;
	}
	netdev_reset_queue(port->netdev);
}

/* --------------------------------------------------------------- receive */

static bool ubc_rx_fill(struct ubc_port *port, struct ubc_slot *slot,
			gfp_t gfp)
{
	struct ubc_ring *rx = &port->rx;

	slot->skb = __netdev_alloc_skb(port->netdev,
				       port->rx_room + UBC_RX_PAD, gfp);
	if (!slot->skb)
		return false;
	skb_reserve(slot->skb, UBC_RX_PAD);
	slot->len = port->rx_room;
	slot->dma = dma_map_single(rx->dev, slot->skb->data, slot->len,
				   DMA_FROM_DEVICE);
	if (dma_mapping_error(rx->dev, slot->dma)) {
		dev_kfree_skb_any(slot->skb);
		slot->skb = NULL;
		return false;
	}
	return true;
}

/* Give every empty slot a buffer and tell the device. */
void ubc_rx_refill(struct ubc_port *port, gfp_t gfp)
{
	struct ubc_ring *rx = &port->rx;
	u16 before = rx->head;

	while ((u16)(rx->head - rx->tail) < UBC_SLOTS) {
		struct ubc_slot *slot = &rx->slot[rx->head % UBC_SLOTS];

		/* A copied packet leaves its buffer, still mapped. */
		if (!slot->skb && !ubc_rx_fill(port, slot, gfp))
			break;
		ubc_ring_put(rx, 0);
	}
	if (rx->head != before)
		ubc_ring_doorbell(rx);
	else if (rx->head == rx->tail)
		/* No buffer, and so no interrupt: come back by oneself. */
		mod_timer(&port->refill, jiffies + HZ / 10);
}

void ubc_rx_drop_all(struct ubc_port *port)
{
	struct ubc_ring *rx = &port->rx;
	unsigned int i;

	for (i = 0; i < UBC_SLOTS; i++) {
		struct ubc_slot *slot = &rx->slot[i];

		if (!slot->skb)
			continue;
		dma_unmap_single(rx->dev, slot->dma, slot->len,
				 DMA_FROM_DEVICE);
		dev_kfree_skb_any(slot->skb);
		slot->skb = NULL;
	}
}

/*
 * The packet of a slot as an skb of its own; the slot keeps its buffer when
 * the packet was small.
 */
static struct sk_buff *ubc_rx_take(struct ubc_port *port,
				   struct ubc_slot *slot, unsigned int len)
{
	struct ubc_ring *rx = &port->rx;
	struct sk_buff *skb;

	if (len <= UBC_COPYBREAK) {
		skb = napi_alloc_skb(&port->napi, len + UBC_RX_PAD);
		if (!skb)
			return NULL;
		skb_reserve(skb, UBC_RX_PAD);
		dma_sync_single_for_cpu(rx->dev, slot->dma, len,
					DMA_FROM_DEVICE);
		skb_put_data(skb, slot->skb->data, len);
		dma_sync_single_for_device(rx->dev, slot->dma, len,
					   DMA_FROM_DEVICE);
		return skb;
	}
	skb = slot->skb;
	slot->skb = NULL;
	dma_unmap_single(rx->dev, slot->dma, slot->len, DMA_FROM_DEVICE);
	skb_put(skb, len);
	return skb;
}

static int ubc_clean_rx(struct ubc_port *port, int budget)
{
	struct net_device *netdev = port->netdev;
	struct ubc_ring *rx = &port->rx;
	unsigned int packets = 0, bytes = 0;
	struct ubc_desc *desc;
	int done = 0;

	while (done < budget && (desc = ubc_ring_done(rx))) {
		struct ubc_slot *slot = &rx->slot[rx->tail % UBC_SLOTS];
		unsigned int len = le32_to_cpu(desc->len);
		u16 status = le16_to_cpu(desc->status);
		u16 flags = le16_to_cpu(desc->flags);
		struct sk_buff *skb = NULL;

		rx->tail++;
		done++;
		if (status & (UBC_DESC_ERROR | UBC_DESC_TRUNCATED) ||
		    len > slot->len) {
			netdev->stats.rx_errors++;
			continue;
		}
		skb = ubc_rx_take(port, slot, len);
		if (!skb) {
			netdev->stats.rx_dropped++;
			continue;
		}
		skb->dev = netdev;
		if (!ubc_frame_receive(port, skb, flags & UBC_DESC_CFG)) {
			port->rx_foreign++;
			netdev->stats.rx_dropped++;
			dev_kfree_skb_any(skb);
			continue;
		}
		packets++;
		bytes += skb->len;
		napi_gro_receive(&port->napi, skb);
	}
	if (packets)
		ubc_count(&port->rx_stats, packets, bytes);
	/* Refill in halves, so that doorbells are few. */
	if ((u16)(rx->head - rx->tail) <= UBC_SLOTS / 2 || done < budget)
		ubc_rx_refill(port, GFP_ATOMIC);
	return done;
}

int ubc_poll(struct napi_struct *napi, int budget)
{
	struct ubc_port *port = container_of(napi, struct ubc_port, napi);
	int done;

	ubc_clean_tx(port, budget);
	done = ubc_clean_rx(port, budget);
	if (done < budget && napi_complete_done(napi, done)) {
		ub_wr(port->tx.regs, UBC_RING_ARM, port->tx.tail);
		ub_wr(port->rx.regs, UBC_RING_ARM, port->rx.tail);
	}
	return done;
}
