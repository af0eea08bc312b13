// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * NCIC NIC Ethernet driver: transmit.
 *
 * One descriptor is one frame in one contiguous buffer (ETH 5.4.1).  A long
 * contiguous skb is mapped in place; anything else is gathered in the queue's
 * FIFO, which costs no allocation and no mapping, and the skb is freed at
 * once.  As each segment of a large send has to be gathered anyway, the driver
 * cuts large sends itself.
 */
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/tcp.h>
#include <net/ip.h>
#include <net/ip6_checksum.h>
#include <net/tcp.h>
#include <net/tso.h>

#include "ncic_eth.h"

static u16 ncic_tx_desc_free(const struct ncic_tx_queue *tx)
{
	return tx->r.mask + 1 - (u16)(tx->head - tx->tail);
}

static u32 ncic_tx_fifo_free(const struct ncic_tx_queue *tx)
{
	return NCIC_FIFO_SIZE - (tx->fifo_head - tx->fifo_tail);
}

static bool ncic_tx_has_room(const struct ncic_tx_queue *tx)
{
	return ncic_tx_desc_free(tx) >= NCIC_DESC_RESERVE &&
	       ncic_tx_fifo_free(tx) >= NCIC_FIFO_RESERVE;
}

/* Wake later than the queue stops, so that it does not flap. */
static bool ncic_tx_may_wake(const struct ncic_tx_queue *tx)
{
	return ncic_tx_desc_free(tx) >= NCIC_DESC_RESERVE +
					(tx->r.mask + 1 - NCIC_DESC_RESERVE) / 4 &&
	       ncic_tx_fifo_free(tx) >= NCIC_FIFO_RESERVE + NCIC_FIFO_SIZE / 8;
}

/*
 * Contiguous room for one frame of LEN bytes; the caller checked that the
 * queue has room.  *TAKEN counts what the end of the area left unused as well.
 */
static u8 *ncic_fifo_get(struct ncic_tx_queue *tx, u32 len, dma_addr_t *dma,
			 u32 *taken)
{
	u32 off = tx->fifo_head & (NCIC_FIFO_SIZE - 1);
	u32 skip = 0;

	len = ALIGN(len, NCIC_FIFO_ALIGN);
	if (off + len > NCIC_FIFO_SIZE) {
		skip = NCIC_FIFO_SIZE - off;
		off = 0;
	}
	tx->fifo_head += skip + len;
	*taken = skip + len;
	*dma = tx->fifo_dma + off;
	return tx->fifo + off;
}

static struct ncic_tx_buf *ncic_tx_post(struct ncic_tx_queue *tx,
					dma_addr_t dma, u32 len,
					u8 csum_start, u8 csum_offset)
{
	u16 slot = tx->head++ & tx->r.mask;
	struct ncic_desc *desc = &tx->r.desc[slot];

	desc->reserved0 = 0;
	desc->csum_start = csum_start;
	desc->csum_offset = csum_offset;
	desc->length = cpu_to_le16(len);
	desc->reserved1 = 0;
	desc->addr = cpu_to_le64(dma);
	tx->buf[slot].bytes = len;
	return &tx->buf[slot];
}

/* Can the hardware reach the checksum of this skb, EXTRA bytes further in? */
static bool ncic_csum_in_reach(const struct sk_buff *skb, unsigned int extra)
{
	unsigned int start = skb_checksum_start_offset(skb) + extra;
	unsigned int pos = start + skb->csum_offset;

	return start >= NCIC_CSUM_POS_MIN && start <= NCIC_CSUM_POS_MAX &&
	       pos >= NCIC_CSUM_POS_MIN && pos <= NCIC_CSUM_POS_MAX;
}

netdev_features_t ncic_features_check(struct sk_buff *skb,
				      struct net_device *ndev,
				      netdev_features_t features)
{
	/* A tag that is still beside the packet will be inserted by the stack. */
	unsigned int tag = skb_vlan_tag_present(skb) ? VLAN_HLEN : 0;

	if (skb->ip_summed == CHECKSUM_PARTIAL && !ncic_csum_in_reach(skb, tag))
		features &= ~(NETIF_F_CSUM_MASK | NETIF_F_GSO_MASK);
	/* The segmentation below knows plain TCP only. */
	if (skb->encapsulation)
		features &= ~NETIF_F_GSO_MASK;
	return vlan_features_check(skb, features);
}

/* One frame; returns bytes for BQL or a negative error. */
static int ncic_tx_frame(struct ncic_qp *qp, struct sk_buff *skb)
{
	struct ncic_tx_queue *tx = &qp->tx;
	u8 csum_start = 0, csum_offset = 0;
	struct ncic_tx_buf *buf;
	u32 len = skb->len;
	dma_addr_t dma;

	if (skb->ip_summed == CHECKSUM_PARTIAL) {
		if (likely(ncic_csum_in_reach(skb, 0))) {
			csum_start = skb_checksum_start_offset(skb);
			csum_offset = csum_start + skb->csum_offset;
		} else {
			tx->stats.csum_sw++;
			if (skb_checksum_help(skb))
				return -EINVAL;
		}
	}
	if (unlikely(len > U16_MAX))
		return -EMSGSIZE;

	if (skb_is_nonlinear(skb) || len <= NCIC_COPYBREAK) {
		u32 taken, frame = max_t(u32, len, ETH_ZLEN);
		u8 *p = ncic_fifo_get(tx, frame, &dma, &taken);

		if (skb_copy_bits(skb, 0, p, len)) {
			tx->fifo_head -= taken;
			return -EFAULT;
		}
		if (frame > len)
			memset(p + len, 0, frame - len);
		buf = ncic_tx_post(tx, dma, frame, csum_start, csum_offset);
		buf->skb = NULL;
		buf->fifo = taken;
		tx->stats.copied++;
		skb_tx_timestamp(skb);
		dev_consume_skb_any(skb);
		len = frame;
	} else {
		dma = dma_map_single(qp->dev, skb->data, len, DMA_TO_DEVICE);
		if (dma_mapping_error(qp->dev, dma))
			return -ENOMEM;
		buf = ncic_tx_post(tx, dma, len, csum_start, csum_offset);
		buf->skb = skb;
		buf->fifo = 0;
		tx->mapped++;
		dma_unmap_addr_set(buf, dma, dma);
		dma_unmap_len_set(buf, len, len);
		skb_tx_timestamp(skb);
	}
	tx->stats.packets++;
	tx->stats.bytes += len;
	return len;
}

/* Headers of one segment: lengths, and sums the hardware does not do. */
static void ncic_tso_finish_hdr(const struct sk_buff *skb, u8 *hdr, u32 l4_len)
{
	struct tcphdr *th = (struct tcphdr *)(hdr + skb_transport_offset(skb));
	u8 *nh = hdr + skb_network_offset(skb);

	if (skb_is_gso_v6(skb)) {
		const struct ipv6hdr *ip6 = (struct ipv6hdr *)nh;

		th->check = ~tcp_v6_check(l4_len, &ip6->saddr, &ip6->daddr, 0);
	} else {
		struct iphdr *ip4 = (struct iphdr *)nh;

		ip_send_check(ip4);
		th->check = ~tcp_v4_check(l4_len, ip4->saddr, ip4->daddr, 0);
	}
}

/* Copy the next LEN payload bytes of the skb behind a header. */
static void ncic_tso_copy(const struct sk_buff *skb, struct tso_t *tso, u8 *to,
			  u32 len)
{
	while (len) {
		u32 n = min_t(u32, len, tso->size);

		memcpy(to, tso->data, n);
		tso_build_data(skb, tso, n);
		to += n;
		len -= n;
	}
}

/* A large send, cut into frames; returns bytes for BQL. */
static int ncic_tx_tso(struct ncic_qp *qp, struct sk_buff *skb)
{
	u32 start = skb_checksum_start_offset(skb);
	u32 mss = skb_shinfo(skb)->gso_size;
	struct ncic_tx_queue *tx = &qp->tx;
	struct tso_t tso;
	u32 hdr_len, left;
	int total = 0;

	hdr_len = tso_start(skb, &tso);
	left = skb->len - hdr_len;
	if (unlikely(DIV_ROUND_UP(left, mss) > ncic_tx_desc_free(tx)))
		return -ENOBUFS;

	while (left) {
		u32 n = min(left, mss), taken;
		struct ncic_tx_buf *buf;
		dma_addr_t dma;
		u8 *p;

		left -= n;
		p = ncic_fifo_get(tx, hdr_len + n, &dma, &taken);
		tso_build_hdr(skb, p, &tso, n, !left);
		ncic_tso_finish_hdr(skb, p, hdr_len - start + n);
		ncic_tso_copy(skb, &tso, p + hdr_len, n);
		buf = ncic_tx_post(tx, dma, hdr_len + n, start,
				   start + skb->csum_offset);
		buf->skb = NULL;
		buf->fifo = taken;
		total += hdr_len + n;
		tx->stats.packets++;
	}
	tx->stats.bytes += total;
	tx->stats.tso++;
	skb_tx_timestamp(skb);
	dev_consume_skb_any(skb);
	return total;
}

static void ncic_tx_doorbell(struct ncic_tx_queue *tx)
{
	if (tx->head == tx->head_hw)
		return;
	tx->head_hw = tx->head;
	u64_stats_update_begin(&tx->syncp);
	tx->stats.doorbells++;
	u64_stats_update_end(&tx->syncp);
	/* The register write orders the descriptors before it. */
	ncic_wr(tx->r.regs, NCIC_Q_HEAD, tx->head);
}

static void ncic_tx_release(struct ncic_qp *qp, struct ncic_tx_buf *buf,
			    int budget)
{
	if (buf->skb) {
		dma_unmap_single(qp->dev, dma_unmap_addr(buf, dma),
				 dma_unmap_len(buf, len), DMA_TO_DEVICE);
		napi_consume_skb(buf->skb, budget);
		buf->skb = NULL;
		qp->tx.mapped--;
	}
}

/*
 * Take back what the device is done with.  Under the transmit lock: called
 * before each transmission and, when an interrupt was needed, from NAPI.
 */
static void ncic_tx_clean(struct ncic_qp *qp, int budget)
{
	struct ncic_tx_queue *tx = &qp->tx;
	unsigned int packets = 0, bytes = 0;
	struct ncic_cpl *cpl;

	while (tx->tail != tx->head_hw && (cpl = ncic_cpl_peek(&tx->r))) {
		struct ncic_tx_buf *buf = &tx->buf[tx->tail++ & tx->r.mask];

		ncic_tx_release(qp, buf, budget);
		tx->fifo_tail += buf->fifo;
		bytes += buf->bytes;
		packets++;
		ncic_cpl_consume(&tx->r, cpl);
	}
	if (!packets)
		return;
	ncic_cpl_sync_lazy(&tx->r);
	netdev_tx_completed_queue(tx->txq, packets, bytes);
}

/* Somebody waits: the stack for room, or the owner of an skb for its memory. */
static bool ncic_tx_awaited(const struct ncic_tx_queue *tx)
{
	return tx->mapped || netif_xmit_stopped(tx->txq);
}

/*
 * Take back what is done and, if somebody waits for more, ask for an interrupt.
 *
 * The device interrupts for a first completion and then not before CPL tail is
 * written.  Nobody waits for the completion of a frame that was copied, so the
 * write is left out, and with it the interrupt, as long as the queue runs and
 * the device holds no skb.  Under the transmit lock.
 */
static void ncic_tx_reclaim(struct ncic_qp *qp, int budget)
{
	struct ncic_tx_queue *tx = &qp->tx;

	ncic_tx_clean(qp, budget);
	if (unlikely(netif_tx_queue_stopped(tx->txq)) && ncic_tx_may_wake(tx))
		netif_tx_wake_queue(tx->txq);
	if (ncic_tx_awaited(tx))
		ncic_cpl_sync(&tx->r);
}

netdev_tx_t ncic_xmit(struct sk_buff *skb, struct net_device *ndev)
{
	struct ncic_priv *priv = netdev_priv(ndev);
	struct ncic_qp *qp = priv->qp[skb_get_queue_mapping(skb)];
	struct ncic_tx_queue *tx = &qp->tx;
	bool ring, full;
	int bytes;

	ncic_tx_clean(qp, 0);
	if (unlikely(!ncic_tx_has_room(tx))) {
		netif_tx_stop_queue(tx->txq);
		ncic_tx_doorbell(tx);
		ncic_tx_reclaim(qp, 0);
		return NETDEV_TX_BUSY;
	}

	u64_stats_update_begin(&tx->syncp);
	bytes = skb_is_gso(skb) ? ncic_tx_tso(qp, skb) : ncic_tx_frame(qp, skb);
	if (unlikely(bytes < 0)) {
		tx->stats.dropped++;
		dev_kfree_skb_any(skb);
		bytes = 0;
	}
	full = !ncic_tx_has_room(tx);
	if (unlikely(full))
		tx->stats.stopped++;
	u64_stats_update_end(&tx->syncp);

	ring = __netdev_tx_sent_queue(tx->txq, bytes, netdev_xmit_more());
	if (unlikely(full)) {
		netif_tx_stop_queue(tx->txq);
		ring = true;
	}
	if (ring) {
		ncic_tx_doorbell(tx);
		/* What is complete by now needs no interrupt. */
		if (ncic_tx_awaited(tx))
			ncic_tx_reclaim(qp, 0);
	}
	return NETDEV_TX_OK;
}

void ncic_tx_poll(struct ncic_qp *qp, int budget)
{
	struct ncic_tx_queue *tx = &qp->tx;

	if (!ncic_cpl_peek(&tx->r))
		return;
	__netif_tx_lock(tx->txq, smp_processor_id());
	ncic_tx_reclaim(qp, budget);
	__netif_tx_unlock(tx->txq);
}

int ncic_tx_alloc(struct ncic_qp *qp, const struct ncic_sizes *size)
{
	struct ncic_tx_queue *tx = &qp->tx;
	unsigned int entries = size->tx_ring;

	tx->head = 0;
	tx->head_hw = 0;
	tx->tail = 0;
	tx->mapped = 0;
	tx->fifo_head = 0;
	tx->fifo_tail = 0;
	tx->buf = kvcalloc(entries, sizeof(*tx->buf), GFP_KERNEL);
	tx->fifo = dma_alloc_coherent(qp->dev, NCIC_FIFO_SIZE, &tx->fifo_dma,
				      GFP_KERNEL);
	if (!tx->buf || !tx->fifo || ncic_ring_alloc(qp->priv, &tx->r, entries)) {
		ncic_tx_free(qp);
		return -ENOMEM;
	}
	return 0;
}

/* Frames the device did not complete are dropped; it must be stopped. */
void ncic_tx_free(struct ncic_qp *qp)
{
	struct ncic_tx_queue *tx = &qp->tx;

	if (tx->buf) {
		for (; tx->tail != tx->head; tx->tail++)
			ncic_tx_release(qp, &tx->buf[tx->tail & tx->r.mask], 0);
		kvfree(tx->buf);
		tx->buf = NULL;
	}
	if (tx->fifo)
		dma_free_coherent(qp->dev, NCIC_FIFO_SIZE, tx->fifo,
				  tx->fifo_dma);
	tx->fifo = NULL;
	ncic_ring_free(qp->priv, &tx->r);
}
