// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * RC Link driver: Ethernet over TYPE3 (memory descriptors).
 *
 * Transmission copies: a ring of pages is mapped once, and a frame needs no
 * completion.  Reception looks at the descriptors in memory; the tail-up
 * interrupt is set to the next one when there are none left.  Registers are far
 * away: descriptors are given back many at a time.
 */
#include "rclink.h"

/* ---- out ---- */

static unsigned int rclink_tx_room(struct rclink *rc)
{
	return (rc->tx_tail - rc->tx_head - 1) & (RCLINK_MDS - 1);
}

static bool rclink_tx_look(struct rclink *rc)
{
	rc->tx_tail = rclink_get(rc, RCL_TX_MD_TAIL_PTR);
	return rclink_tx_room(rc);
}

/* Tell the interrupt which tails matter. */
static void rclink_arm(struct rclink *rc, u16 tx, u16 rx)
{
	rclink_set(rc, RCL_TAIL_UP_CFG, tx | (u32)rx << 16);
}

static void rclink_tx_tell(struct rclink *rc)
{
	dma_wmb();
	rclink_set(rc, RCL_TX_MD_HEAD_PTR, rc->tx_head);
}

/* A frame that is not sent, and is freed: it was to tell of those before it. */
static netdev_tx_t rclink_xmit_drop(struct rclink *rc)
{
	rc->ndev->stats.tx_dropped++;
	if (!netdev_xmit_more())
		rclink_tx_tell(rc);
	return NETDEV_TX_OK;
}

static netdev_tx_t rclink_xmit(struct sk_buff *skb, struct net_device *ndev)
{
	struct rclink *rc = netdev_priv(ndev);
	u16 at = rc->tx_head;
	unsigned int len;

	if (skb->len > RCL_TX_FRAME_MAX) {
		dev_kfree_skb_any(skb);
		return rclink_xmit_drop(rc);
	}
	/* Frees the frame if it fails. */
	if (eth_skb_pad(skb))
		return rclink_xmit_drop(rc);
	len = skb->len;
	skb_copy_and_csum_dev(skb, rc->tx_buf[at]);
	rc->tx_md[at].word = cpu_to_le64(len << RCL_MD_SIZE_SHIFT |
					 RCL_MD_SF | RCL_MD_LF |
					 (u64)RCLINK_BUF << RCL_MD_BUFFER_SHIFT);
	rc->tx_head = (at + 1) & (RCLINK_MDS - 1);
	ndev->stats.tx_packets++;
	ndev->stats.tx_bytes += len;
	dev_consume_skb_any(skb);
	if (!rclink_tx_room(rc) && !rclink_tx_look(rc))
		netif_stop_queue(ndev);
	if (!netdev_xmit_more() || netif_queue_stopped(ndev))
		rclink_tx_tell(rc);
	/* The poll wakes the queue; it may have gone by already. */
	if (netif_queue_stopped(ndev)) {
		napi_schedule(&rc->napi);
		schedule_delayed_work(&rc->look, RCLINK_LOOK);
	}
	return NETDEV_TX_OK;
}

/* ---- in ---- */

static int rclink_rx_alloc(struct rclink *rc, unsigned int i)
{
	struct rclink_rx_buf *b = &rc->rx_buf[i];
	struct page *page = dev_alloc_page();
	dma_addr_t addr;

	if (!page)
		return -ENOMEM;
	addr = dma_map_page(&rc->pdev->dev, page, 0, RCLINK_BUF,
			    DMA_FROM_DEVICE);
	if (dma_mapping_error(&rc->pdev->dev, addr)) {
		__free_page(page);
		return -ENOMEM;
	}
	b->page = page;
	b->addr = addr;
	return 0;
}

static void rclink_rx_give(struct rclink *rc)
{
	struct rclink_md *md = &rc->rx_md[rc->rx_head];

	md->addr = cpu_to_le64(rc->rx_buf[rc->rx_head].addr);
	md->word = cpu_to_le64((u64)RCLINK_BUF << RCL_MD_BUFFER_SHIFT);
	rc->rx_head = (rc->rx_head + 1) & (RCLINK_MDS - 1);
}

static void rclink_rx_tell(struct rclink *rc)
{
	rc->rx_told = rc->rx_head;
	dma_wmb();
	rclink_set(rc, RCL_RX_MD_HEAD_PTR, rc->rx_head);
}

/* Put what the descriptor at the tail holds behind what came of its frame before;
 * the buffer is free again.  False: there is no memory. */
static bool rclink_rx_add(struct rclink *rc, unsigned int len)
{
	struct rclink_rx_buf *b = &rc->rx_buf[rc->rx_tail], old = *b;
	struct device *dev = &rc->pdev->dev;
	struct sk_buff *skb = rc->rx_skb;
	unsigned int head = 0;

	if (!skb)
		skb = rc->rx_skb = napi_alloc_skb(&rc->napi, RCLINK_COPY);
	if (!skb || skb_shinfo(skb)->nr_frags == MAX_SKB_FRAGS)
		return false;
	dma_sync_single_for_cpu(dev, old.addr, len, DMA_FROM_DEVICE);
	if (!skb->len && len <= RCLINK_COPY) {
		skb_put_data(skb, page_address(old.page), len);
		dma_sync_single_for_device(dev, old.addr, len,
					   DMA_FROM_DEVICE);
		return true;
	}
	if (rclink_rx_alloc(rc, rc->rx_tail))
		return false;
	dma_unmap_page(dev, old.addr, RCLINK_BUF, DMA_FROM_DEVICE);
	if (!skb->len) {
		head = ETH_HLEN;
		skb_put_data(skb, page_address(old.page), head);
	}
	skb_add_rx_frag(skb, skb_shinfo(skb)->nr_frags, old.page, head,
			len - head, PAGE_SIZE);
	return true;
}

/* A descriptor that was filled has a size.  One without LF is the front of a frame
 * that goes on in the next. */
static bool rclink_rx_pending(struct rclink *rc, u32 *word)
{
	*word = le64_to_cpu(READ_ONCE(rc->rx_md[rc->rx_tail].word));
	return *word;
}

static void rclink_rx_forget(struct rclink *rc)
{
	dev_kfree_skb(rc->rx_skb);
	rc->rx_skb = NULL;
}

/* The last piece of a frame has come. */
static void rclink_rx_end(struct rclink *rc, u32 word)
{
	struct net_device *ndev = rc->ndev;
	struct sk_buff *skb = rc->rx_skb;

	rc->rx_skb = NULL;
	if (word & (RCL_MD_CRC | RCL_MD_LENGTH)) {
		ndev->stats.rx_errors++;
		ndev->stats.rx_crc_errors += !!(word & RCL_MD_CRC);
		ndev->stats.rx_length_errors += !(word & RCL_MD_CRC);
	} else if (rc->rx_bad || !skb || skb->len < ETH_HLEN) {
		ndev->stats.rx_dropped++;
	} else {
		ndev->stats.rx_packets++;
		ndev->stats.rx_bytes += skb->len;
		skb->protocol = eth_type_trans(skb, ndev);
		napi_gro_receive(&rc->napi, skb);
		return;
	}
	dev_kfree_skb(skb);
}

static int rclink_rx(struct rclink *rc, int budget)
{
	int done = 0;
	u32 word;

	while (done < budget && rclink_rx_pending(rc, &word)) {
		unsigned int len = word >> RCL_MD_SIZE_SHIFT & 0xffff;

		dma_rmb();
		done++;
		if (word & RCL_MD_SF) {
			rclink_rx_forget(rc);
			rc->rx_bad = false;
		} else if (!rc->rx_skb) {
			rc->rx_bad = true;
		}
		if (!rc->rx_bad)
			rc->rx_bad = len > RCLINK_BUF ||
				     !rclink_rx_add(rc, len);
		rc->rx_tail = (rc->rx_tail + 1) & (RCLINK_MDS - 1);
		rclink_rx_give(rc);
		if (word & RCL_MD_LF)
			rclink_rx_end(rc, word);
	}
	if (((rc->rx_head - rc->rx_told) & (RCLINK_MDS - 1)) >= RCLINK_TELL)
		rclink_rx_tell(rc);
	return done;
}

static void rclink_tx_wake(struct rclink *rc)
{
	struct net_device *ndev = rc->ndev;

	if (!netif_queue_stopped(ndev))
		return;
	netif_tx_lock(ndev);
	if (rclink_tx_look(rc))
		netif_wake_queue(ndev);
	netif_tx_unlock(ndev);
}

static int rclink_poll(struct napi_struct *napi, int budget)
{
	struct rclink *rc = container_of(napi, struct rclink, napi);
	int done = rclink_rx(rc, budget);
	u32 word;

	rclink_tx_wake(rc);
	if (done == budget)
		return done;
	/* The next tail that matters, then look again: it may have passed.  All
	 * before the poll is over: a second one must find nothing half armed. */
	rclink_arm(rc, (rc->tx_tail + RCLINK_MDS / 2) & (RCLINK_MDS - 1),
		   (rc->rx_tail + 1) & (RCLINK_MDS - 1));
	rclink_set(rc, RCL_DMA_INTR_ST0, BIT(RCL_ST0_RX_TAIL) |
					 BIT(RCL_ST0_TX_TAIL));
	rclink_tx_wake(rc);
	if (rclink_rx_pending(rc, &word))
		return budget;
	napi_complete_done(napi, done);
	return done;
}

/* Whether the port waits as it should: for credits of the peer or the end of a pause
 * (RC Link §12.5, §12.11.7), or for room in the MAC. */
static bool rclink_tx_held(struct rclink *rc)
{
	return rclink_get(rc, RCL_STATUS) & (RCL_STATUS_HELD_TYPE3 |
					     RCL_STATUS_WAIT_MAC);
}

/* While the queue is full.  What is held is no fault, however long: the watchdog's time
 * begins when it may go on.  Where descriptors trickle away, too few for their
 * interrupt, the poll finds out. */
static void rclink_look(struct work_struct *work)
{
	struct rclink *rc = container_of(to_delayed_work(work), struct rclink,
					 look);
	struct net_device *ndev = rc->ndev;

	if (!netif_queue_stopped(ndev))
		return;
	if (rclink_tx_held(rc)) {
		netif_trans_update(ndev);
		rc->held++;
	}
	local_bh_disable();
	napi_schedule(&rc->napi);
	local_bh_enable();
	schedule_delayed_work(&rc->look, RCLINK_LOOK);
}

/* A message during a poll is remembered until its end. */
irqreturn_t rclink_nonr_irq(int irq, void *data)
{
	struct rclink *rc = data;

	napi_schedule(&rc->napi);
	return IRQ_HANDLED;
}

/* ---- life ---- */

/* The interrupt, and whoever starts the port: whose look is the later has the last
 * word. */
void rclink_link_changed(struct rclink *rc)
{
	unsigned long flags;

	spin_lock_irqsave(&rc->link_lock, flags);
	if (rclink_get(rc, RCL_STATUS) & RCL_STATUS_LINK)
		netif_carrier_on(rc->ndev);
	else
		netif_carrier_off(rc->ndev);
	spin_unlock_irqrestore(&rc->link_lock, flags);
}

static void rclink_start(struct rclink *rc)
{
	struct net_device *ndev = rc->ndev;
	unsigned int i;

	rclink_set(rc, RCL_NONR_DMA_CTRL, RCL_NONR_TX_RESET |
					  (u64)RCL_NONR_RX_RESET);
	rclink_set(rc, RCL_TX_MDQ_SIZE, RCLINK_MDS);
	rclink_set(rc, RCL_TX_MDQ_BA, rc->tx_md_addr);
	rclink_set(rc, RCL_RX_MDQ_SIZE, RCLINK_MDS);
	rclink_set(rc, RCL_RX_MDQ_BA, rc->rx_md_addr);
	rclink_set(rc, RCL_NONR_DMA_CTRL, RCL_NONR_TX_EN | RCL_NONR_RX_EN);
	rc->tx_head = rc->tx_tail = rc->rx_head = rc->rx_tail = 0;
	for (i = 0; i < RCLINK_MDS; i++) {
		rc->tx_md[i].addr = cpu_to_le64(rc->tx_addr[i]);
		rc->rx_md[i].word = 0;
	}
	for (i = 0; i < RCLINK_MDS - 1; i++)
		rclink_rx_give(rc);
	rclink_rx_tell(rc);
	rc->started = true;
	napi_enable(&rc->napi);
	rclink_set(rc, RCL_DMA_INT_MASK, BIT(RCL_ST0_RX_TAIL) |
					 BIT(RCL_ST0_TX_TAIL));
	rclink_link_changed(rc);
	/* What was queued before a restart goes on without anybody sending more. */
	netif_wake_queue(ndev);
	napi_schedule(&rc->napi);
}

/* A port that a reset has halted may be stopped before it starts again. */
static void rclink_halt(struct rclink *rc)
{
	if (!rc->started)
		return;
	rc->started = false;
	/* The poll wakes the queue, so it ends first. */
	napi_disable(&rc->napi);
	netif_tx_disable(rc->ndev);
	cancel_delayed_work_sync(&rc->look);
	rclink_set(rc, RCL_DMA_INT_MASK, 0);
	rclink_set(rc, RCL_NONR_DMA_CTRL, RCL_NONR_TX_RESET |
					  (u64)RCL_NONR_RX_RESET);
	rclink_rx_forget(rc);
}

static int rclink_open(struct net_device *ndev)
{
	rclink_start(netdev_priv(ndev));
	return 0;
}

static int rclink_stop(struct net_device *ndev)
{
	rclink_halt(netdev_priv(ndev));
	return 0;
}

void rclink_netdev_detach(struct rclink *rc)
{
	rtnl_lock();
	netif_device_detach(rc->ndev);
	rclink_halt(rc);
	rtnl_unlock();
}

void rclink_netdev_attach(struct rclink *rc)
{
	rtnl_lock();
	if (netif_running(rc->ndev))
		rclink_start(rc);
	netif_device_attach(rc->ndev);
	rtnl_unlock();
}

static void rclink_restart(struct work_struct *work)
{
	struct rclink *rc = container_of(to_delayed_work(work), struct rclink,
					 restart);

	rtnl_lock();
	if (rc->started) {
		rclink_halt(rc);
		rclink_start(rc);
		rc->restarts++;
	}
	rtnl_unlock();
}

/* Faults that stop their direction are cured by its reset (RC Link §12.12.3).  Not at
 * once: whoever sends what causes them can do it again. */
irqreturn_t rclink_fault_irq(int irq, void *data)
{
	struct rclink *rc = data;
	u64 st1 = rclink_get(rc, RCL_DMA_INTR_ST1);

	rclink_set(rc, RCL_DMA_INTR_ST1, st1);
	if (net_ratelimit())
		netdev_warn(rc->ndev, "TYPE3 fault %llx\n", st1);
	if (st1 & RCLINK_STOPPED)
		schedule_delayed_work(&rc->restart, HZ / 10);
	return IRQ_HANDLED;
}

static void rclink_tx_timeout(struct net_device *ndev, unsigned int queue)
{
	struct rclink *rc = netdev_priv(ndev);

	/* It was not for the whole time, but is again. */
	if (rclink_tx_held(rc))
		return;
	netdev_warn(ndev, "transmit stalled: head %u, tail %llu\n",
		    rc->tx_head, rclink_get(rc, RCL_TX_MD_TAIL_PTR));
	schedule_delayed_work(&rc->restart, 0);
}

static const struct net_device_ops rclink_netdev_ops = {
	.ndo_open = rclink_open,
	.ndo_stop = rclink_stop,
	.ndo_start_xmit = rclink_xmit,
	.ndo_tx_timeout = rclink_tx_timeout,
	.ndo_set_mac_address = eth_mac_addr,
	.ndo_validate_addr = eth_validate_addr,
};

static void rclink_free_rings(struct rclink *rc)
{
	struct device *dev = &rc->pdev->dev;
	unsigned int i;

	for (i = 0; i < RCLINK_MDS; i++) {
		if (rc->tx_buf[i])
			dma_free_coherent(dev, RCLINK_BUF, rc->tx_buf[i],
					  rc->tx_addr[i]);
		if (rc->rx_buf[i].page) {
			dma_unmap_page(dev, rc->rx_buf[i].addr, RCLINK_BUF,
				       DMA_FROM_DEVICE);
			__free_page(rc->rx_buf[i].page);
		}
	}
}

static int rclink_alloc_rings(struct rclink *rc)
{
	size_t bytes = RCLINK_MDS * sizeof(struct rclink_md);
	struct device *dev = &rc->pdev->dev;
	unsigned int i;

	rc->tx_md = dmam_alloc_coherent(dev, bytes, &rc->tx_md_addr,
					GFP_KERNEL);
	rc->rx_md = dmam_alloc_coherent(dev, bytes, &rc->rx_md_addr,
					GFP_KERNEL);
	if (!rc->tx_md || !rc->rx_md)
		return -ENOMEM;
	for (i = 0; i < RCLINK_MDS; i++) {
		rc->tx_buf[i] = dma_alloc_coherent(dev, RCLINK_BUF,
						   &rc->tx_addr[i],
						   GFP_KERNEL);
		if (!rc->tx_buf[i] || rclink_rx_alloc(rc, i))
			return -ENOMEM;
	}
	return 0;
}

int rclink_netdev_init(struct rclink *rc)
{
	struct net_device *ndev = rc->ndev;
	int err;

	err = rclink_alloc_rings(rc);
	if (err) {
		rclink_free_rings(rc);
		return err;
	}
	ndev->netdev_ops = &rclink_netdev_ops;
	ndev->watchdog_timeo = RCLINK_STALL;
	ndev->ethtool_ops = &rclink_ethtool_ops;
	ndev->min_mtu = ETH_MIN_MTU;
	ndev->max_mtu = RCLINK_MTU_MAX;
	/* Copying gathers, and computes the checksum on its way. */
	ndev->hw_features = NETIF_F_SG | NETIF_F_HW_CSUM;
	ndev->features = ndev->hw_features;
	ndev->vlan_features = ndev->features;
	netif_carrier_off(ndev);
	INIT_DELAYED_WORK(&rc->restart, rclink_restart);
	INIT_DELAYED_WORK(&rc->look, rclink_look);
	netif_napi_add(ndev, &rc->napi, rclink_poll);
	err = register_netdev(ndev);
	if (err) {
		netif_napi_del(&rc->napi);
		rclink_free_rings(rc);
	}
	return err;
}

/* The network device has been unregistered, or never was opened. */
void rclink_netdev_exit(struct rclink *rc)
{
	if (rc->ndev->reg_state == NETREG_REGISTERED)
		unregister_netdev(rc->ndev);
	cancel_delayed_work_sync(&rc->restart);
	netif_napi_del(&rc->napi);
	rclink_free_rings(rc);
}
