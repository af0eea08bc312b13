// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * NCIC NIC Ethernet driver: receive.
 *
 * Buffers come from a page pool and become the linear part of the skb.  The
 * device strips one VLAN tag, verifies TCP and UDP over IPv4 and supplies the
 * RSS hash.
 */
#include <net/ip.h>

#include "ncic_eth.h"

static bool ncic_rx_fill_slot(struct ncic_qp *qp)
{
	struct ncic_rx_queue *rx = &qp->rx;
	struct ncic_priv *priv = qp->priv;
	u16 slot = rx->head & rx->r.mask;
	struct ncic_desc *desc = &rx->r.desc[slot];
	unsigned int offset = 0;
	struct page *page;

	if (priv->size.rx_buf_size <= PAGE_SIZE / 2)
		page = page_pool_dev_alloc_frag(rx->pool, &offset,
						priv->size.rx_buf_size);
	else
		page = page_pool_dev_alloc_pages(rx->pool);
	if (unlikely(!page)) {
		rx->stats.alloc_failed++;
		return false;
	}
	rx->buf[slot].page = page;
	rx->buf[slot].offset = offset;
	desc->length = cpu_to_le16(priv->size.rx_frame_size);
	desc->addr = cpu_to_le64(page_pool_get_dma_addr(page) + offset +
				 NCIC_RX_HEADROOM);
	rx->head++;
	return true;
}

/*
 * Give the device what buffers it lacks, one doorbell for at least
 * NCIC_RX_REFILL of them.  False if it has none at all, and so will not
 * interrupt.
 */
bool ncic_rx_refill(struct ncic_qp *qp)
{
	struct ncic_rx_queue *rx = &qp->rx;
	int missing = qp->priv->size.rx_fill - (u16)(rx->head - rx->r.cpl_tail);

	if (missing < NCIC_RX_REFILL)
		return true;
	while (missing-- && ncic_rx_fill_slot(qp))
		;
	if (rx->head != rx->head_hw) {
		rx->head_hw = rx->head;
		ncic_wr(rx->r.regs, NCIC_Q_HEAD, rx->head);
	}
	return rx->head != rx->r.cpl_tail;
}

/* Whether the hash covers ports: not of fragments nor behind IP options. */
static bool ncic_rx_hash_l4(const struct sk_buff *skb, u32 status)
{
	const struct iphdr *ip4 = (const struct iphdr *)skb->data;

	return (status & (NCIC_CPL_TCP | NCIC_CPL_UDP)) &&
	       skb->protocol == htons(ETH_P_IP) && ip4->ihl == 5 &&
	       !ip_is_fragment(ip4);
}

static void ncic_rx_csum(struct ncic_qp *qp, struct sk_buff *skb, u32 status)
{
	bool good = ((status & NCIC_CPL_TCP) && !(status & NCIC_CPL_TCP_BAD)) ||
		    ((status & NCIC_CPL_UDP) && !(status & NCIC_CPL_UDP_BAD));
	const struct iphdr *ip4 = (const struct iphdr *)skb->data;

	/* Of a fragment the hardware cannot know the sum. */
	if (good && (qp->ndev->features & NETIF_F_RXCSUM) &&
	    skb->protocol == htons(ETH_P_IP) && !ip_is_fragment(ip4)) {
		skb->ip_summed = CHECKSUM_UNNECESSARY;
		qp->rx.stats.csum_good++;
	} else {
		qp->rx.stats.csum_none++;
	}
}

static void ncic_rx_frame(struct ncic_qp *qp, const struct ncic_cpl *cpl)
{
	struct ncic_rx_queue *rx = &qp->rx;
	struct ncic_priv *priv = qp->priv;
	struct ncic_rx_buf *buf = &rx->buf[rx->r.cpl_tail & rx->r.mask];
	u32 status = le32_to_cpu(cpl->status);
	u32 len = le16_to_cpu(cpl->length);
	struct page *page = buf->page;
	struct sk_buff *skb;
	void *va;

	buf->page = NULL;
	if (unlikely((status & NCIC_CPL_ERROR) || len < ETH_HLEN ||
		     len > priv->size.rx_frame_size)) {
		rx->stats.errors++;
		page_pool_recycle_direct(rx->pool, page);
		return;
	}

	dma_sync_single_range_for_cpu(qp->dev, page_pool_get_dma_addr(page),
				      buf->offset + NCIC_RX_HEADROOM, len,
				      DMA_FROM_DEVICE);
	va = page_address(page) + buf->offset;
	prefetch(va + NCIC_RX_HEADROOM);
	skb = napi_build_skb(va, priv->size.rx_buf_size);
	if (unlikely(!skb)) {
		rx->stats.alloc_failed++;
		page_pool_recycle_direct(rx->pool, page);
		return;
	}
	skb_mark_for_recycle(skb);
	skb_reserve(skb, NCIC_RX_HEADROOM);
	__skb_put(skb, len);
	skb_record_rx_queue(skb, qp->index);
	skb->protocol = eth_type_trans(skb, qp->ndev);

	if ((status & NCIC_CPL_IPV4) && (qp->ndev->features & NETIF_F_RXHASH))
		skb_set_hash(skb, le32_to_cpu(cpl->hash),
			     ncic_rx_hash_l4(skb, status) ? PKT_HASH_TYPE_L4 :
							    PKT_HASH_TYPE_L3);
	ncic_rx_csum(qp, skb, status);
	if (status & NCIC_CPL_VLAN)
		__vlan_hwaccel_put_tag(skb, htons(ETH_P_8021Q),
				       le16_to_cpu(cpl->vlan_tci));
	rx->stats.packets++;
	rx->stats.bytes += len;
	napi_gro_receive(&qp->napi, skb);
}

int ncic_rx_poll(struct ncic_qp *qp, int budget)
{
	struct ncic_rx_queue *rx = &qp->rx;
	struct ncic_cpl *cpl;
	int work = 0;

	u64_stats_update_begin(&rx->syncp);
	rx->stats.polls++;
	/* No more than there are buffers, whatever the device says. */
	while (work < budget && rx->r.cpl_tail != rx->head &&
	       (cpl = ncic_cpl_peek(&rx->r))) {
		ncic_rx_frame(qp, cpl);
		ncic_cpl_consume(&rx->r, cpl);
		work++;
	}
	/* Without memory, try again rather than wait for an interrupt. */
	if (unlikely(!ncic_rx_refill(qp)))
		work = budget;
	ncic_cpl_sync_lazy(&rx->r);
	u64_stats_update_end(&rx->syncp);
	return work;
}

static struct page_pool *ncic_page_pool(struct ncic_qp *qp,
					const struct ncic_sizes *size)
{
	bool frag = size->rx_buf_size <= PAGE_SIZE / 2;
	struct page_pool_params pp = {
		.order = size->rx_order,
		.flags = PP_FLAG_DMA_MAP | PP_FLAG_DMA_SYNC_DEV |
			 (frag ? PP_FLAG_PAGE_FRAG : 0),
		.pool_size = size->rx_ring,
		.nid = dev_to_node(qp->dev),
		.dev = qp->dev,
		.dma_dir = DMA_FROM_DEVICE,
		.max_len = PAGE_SIZE << size->rx_order,
	};

	return page_pool_create(&pp);
}

int ncic_rx_alloc(struct ncic_qp *qp, const struct ncic_sizes *size)
{
	struct ncic_rx_queue *rx = &qp->rx;
	int err;

	rx->head = 0;
	rx->head_hw = 0;
	rx->r.mask = size->rx_ring - 1;
	rx->buf = kvcalloc(size->rx_ring, sizeof(*rx->buf), GFP_KERNEL);
	if (!rx->buf)
		return -ENOMEM;
	rx->pool = ncic_page_pool(qp, size);
	if (IS_ERR(rx->pool)) {
		err = PTR_ERR(rx->pool);
		rx->pool = NULL;
		goto fail;
	}
	err = ncic_ring_alloc(qp->priv, &rx->r, size->rx_ring);
	if (err)
		goto fail;
	return 0;

fail:
	ncic_rx_free(qp);
	return err;
}

/* The device must be stopped. */
void ncic_rx_free(struct ncic_qp *qp)
{
	struct ncic_rx_queue *rx = &qp->rx;
	unsigned int i;

	if (rx->buf) {
		for (i = 0; i <= rx->r.mask; i++)
			if (rx->buf[i].page)
				page_pool_put_full_page(rx->pool,
							rx->buf[i].page, false);
		kvfree(rx->buf);
		rx->buf = NULL;
	}
	if (rx->pool)
		page_pool_destroy(rx->pool);
	rx->pool = NULL;
	ncic_ring_free(qp->priv, &rx->r);
}
