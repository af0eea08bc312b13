// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * NCIC NIC Ethernet driver: the net device: interrupts, NAPI, open and stop.
 */
#include "ncic_eth.h"

/*
 * Each completion ring has a vector where there are enough; both rings of a
 * pair belong to one NAPI context.  The device sends the next message only
 * after NAPI has written CPL tail, so there is nothing to mask here.  Where it
 * sends one for each completion, napi_schedule() notes those that come during
 * a poll, and none is lost either.
 */
static irqreturn_t ncic_irq(int irq, void *data)
{
	struct ncic_qp *qp = data;

	napi_schedule_irqoff(&qp->napi);
	return IRQ_HANDLED;
}

static irqreturn_t ncic_link_irq(int irq, void *data)
{
	ncic_link_update(data);
	return IRQ_HANDLED;
}

int ncic_poll(struct napi_struct *napi, int budget)
{
	struct ncic_qp *qp = container_of(napi, struct ncic_qp, napi);
	int work;

	ncic_tx_poll(qp, budget);
	/* netpoll asks for transmit work only. */
	if (unlikely(!budget))
		return 0;
	work = ncic_rx_poll(qp, budget);
	if (work < budget) {
		/*
		 * An interrupt that this write causes makes us poll again.
		 * Behind the completion, napi_disable() would not wait for it,
		 * and it would hit a ring that has begun anew.
		 */
		ncic_cpl_sync(&qp->rx.r);
		napi_complete_done(napi, work);
	}
	return work;
}

static unsigned int ncic_link_vector(struct ncic_priv *priv)
{
	return priv->num_vectors - 1;
}

static void ncic_free_pair_irqs(struct ncic_priv *priv, unsigned int pairs)
{
	while (pairs--) {
		struct ncic_qp *qp = priv->qp[pairs];
		int rx = pci_irq_vector(priv->pdev, qp->rx.r.vector);
		int tx = pci_irq_vector(priv->pdev, qp->tx.r.vector);

		irq_update_affinity_hint(rx, NULL);
		free_irq(rx, qp);
		if (tx != rx) {
			irq_update_affinity_hint(tx, NULL);
			free_irq(tx, qp);
		}
	}
}

static void ncic_free_irqs(struct ncic_priv *priv)
{
	ncic_free_pair_irqs(priv, priv->size.num_qps);
	free_irq(pci_irq_vector(priv->pdev, ncic_link_vector(priv)), priv);
}

static int ncic_request_irqs(struct ncic_priv *priv)
{
	/* With a single vector the link shares it. */
	unsigned long flags = priv->num_vectors == 1 ? IRQF_SHARED : 0;
	struct net_device *ndev = priv->ndev;
	unsigned int i;
	int rx, tx, err;

	snprintf(priv->link_irq_name, sizeof(priv->link_irq_name), "%s-link",
		 ndev->name);
	err = request_irq(pci_irq_vector(priv->pdev, ncic_link_vector(priv)),
			  ncic_link_irq, flags, priv->link_irq_name, priv);
	if (err)
		return err;

	for (i = 0; i < priv->size.num_qps; i++) {
		struct ncic_qp *qp = priv->qp[i];
		unsigned int cpu = cpumask_local_spread(i,
						dev_to_node(qp->dev));

		snprintf(qp->rx_irq_name, sizeof(qp->rx_irq_name), "%s-rx-%u",
			 ndev->name, i);
		snprintf(qp->tx_irq_name, sizeof(qp->tx_irq_name), "%s-tx-%u",
			 ndev->name, i);
		rx = pci_irq_vector(priv->pdev, qp->rx.r.vector);
		tx = pci_irq_vector(priv->pdev, qp->tx.r.vector);
		err = request_irq(rx, ncic_irq, flags, qp->rx_irq_name, qp);
		if (err)
			goto fail;
		if (tx != rx) {
			err = request_irq(tx, ncic_irq, 0, qp->tx_irq_name, qp);
			if (err) {
				free_irq(rx, qp);
				goto fail;
			}
			irq_set_affinity_and_hint(tx, get_cpu_mask(cpu));
		}
		irq_set_affinity_and_hint(rx, get_cpu_mask(cpu));
		netif_set_xps_queue(ndev, get_cpu_mask(cpu), i);
	}
	return 0;

fail:
	netdev_err(ndev, "cannot get interrupt: %d\n", err);
	ncic_free_pair_irqs(priv, i);
	free_irq(pci_irq_vector(priv->pdev, ncic_link_vector(priv)), priv);
	return err;
}

/* Buffers of the power of two that holds a frame of this MTU and its skb. */
static struct ncic_sizes ncic_sizes(u16 num_qps, u16 tx_ring, u16 rx_ring,
				    unsigned int mtu)
{
	unsigned int frame = mtu + VLAN_ETH_HLEN;
	unsigned int need = SKB_DATA_ALIGN(NCIC_RX_HEADROOM + frame) +
			    SKB_DATA_ALIGN(sizeof(struct skb_shared_info));
	u32 buf = max_t(u32, roundup_pow_of_two(need), 2048);

	return (struct ncic_sizes) {
		.num_qps = num_qps,
		.tx_ring = tx_ring,
		.rx_ring = rx_ring,
		.rx_buf_size = buf,
		.rx_order = get_order(buf),
		.rx_frame_size = frame,
		.rx_fill = clamp_t(u32, NCIC_RX_MEMORY / buf,
				   2 * NCIC_RX_REFILL, rx_ring),
	};
}

static void ncic_free_memory(struct ncic_qp *qp)
{
	ncic_tx_free(qp);
	ncic_rx_free(qp);
}

static int ncic_alloc_memory(struct ncic_qp *qp, const struct ncic_sizes *size)
{
	int err = ncic_rx_alloc(qp, size);

	if (err)
		return err;
	err = ncic_tx_alloc(qp, size);
	if (err)
		ncic_rx_free(qp);
	return err;
}

static void ncic_free_qps(struct ncic_priv *priv)
{
	unsigned int i;

	if (!priv->qp)
		return;
	for (i = 0; i < priv->size.num_qps; i++)
		ncic_free_memory(priv->qp[i]);
}

static int ncic_alloc_qps(struct ncic_priv *priv)
{
	unsigned int i;
	int err;

	for (i = 0; i < priv->size.num_qps; i++) {
		err = ncic_alloc_memory(priv->qp[i], &priv->size);
		if (err) {
			while (i--)
				ncic_free_memory(priv->qp[i]);
			return err;
		}
	}
	return 0;
}

/*
 * Frames that the device did not complete are dropped.  One that keeps buffers,
 * or has stalled, is reset.
 */
static void ncic_stop_rings(struct ncic_priv *priv)
{
	bool stuck = false;
	unsigned int i;

	for (i = 0; i < priv->size.num_qps; i++) {
		struct ncic_qp *qp = priv->qp[i];

		stuck |= ncic_ring_stop(&qp->tx.r) != 0;
		stuck |= ncic_ring_stop(&qp->rx.r) != 0;
		netdev_tx_reset_queue(qp->tx.txq);
	}
	if (stuck || READ_ONCE(priv->hung)) {
		netdev_warn(priv->ndev, "resetting the device: it %s\n",
			    stuck ? "holds buffers" : "has stalled");
		WRITE_ONCE(priv->hung, false);
		priv->resets++;
		ncic_hw_reset(priv);
	}
}

/* False if a receive ring gets no buffer. */
static bool ncic_start_rings(struct ncic_priv *priv)
{
	bool filled = true;
	unsigned int i;

	for (i = 0; i < priv->size.num_qps; i++) {
		struct ncic_qp *qp = priv->qp[i];

		ncic_ring_start(&qp->tx.r);
		ncic_ring_start(&qp->rx.r);
		local_bh_disable();
		filled &= ncic_rx_refill(qp);
		local_bh_enable();
	}
	return filled;
}

/*
 * A message of the device that came before NAPI was enabled is lost, and none
 * follows it: so look once.
 */
static void ncic_start_napi(struct ncic_priv *priv)
{
	unsigned int i;

	for (i = 0; i < priv->size.num_qps; i++) {
		napi_enable(&priv->qp[i]->napi);
		local_bh_disable();
		napi_schedule(&priv->qp[i]->napi);
		local_bh_enable();
	}
}

/*
 * From stopped rings to running ones.  NAPI comes after the receive rings were
 * filled: a message may still be on its way from before, and would make it fill
 * the same ring on another processor.
 */
static int ncic_start(struct ncic_priv *priv)
{
	int err;

	err = ncic_request_irqs(priv);
	if (err)
		return err;
	if (priv->features & NCIC_FEATURE_RSS)
		ncic_wr(priv->ncsr, NCIC_NCSR_RSS_MASK, priv->size.num_qps - 1);
	if (!ncic_start_rings(priv)) {
		netdev_err(priv->ndev, "no receive buffers\n");
		ncic_stop_rings(priv);
		ncic_free_irqs(priv);
		return -ENOMEM;
	}
	priv->up = true;
	ncic_start_napi(priv);
	netif_tx_wake_all_queues(priv->ndev);
	ncic_link_irq_enable(priv, true);
	ncic_link_update(priv);
	return 0;
}

/* Stop the rings and keep their memory. */
static void ncic_halt(struct ncic_priv *priv)
{
	unsigned int i;

	if (!priv->up)
		return;
	priv->up = false;
	/* A message that is on its way must not set the carrier again. */
	ncic_link_irq_enable(priv, false);
	synchronize_irq(pci_irq_vector(priv->pdev, ncic_link_vector(priv)));
	netif_carrier_off(priv->ndev);
	/* NAPI before the queues: it would wake them again. */
	for (i = 0; i < priv->size.num_qps; i++)
		napi_disable(&priv->qp[i]->napi);
	netif_tx_disable(priv->ndev);
	ncic_stop_rings(priv);
	ncic_free_irqs(priv);
}

/* Everything from memory to a running device. */
int ncic_up(struct ncic_priv *priv)
{
	int err;

	priv->size = ncic_sizes(priv->size.num_qps, priv->size.tx_ring,
				priv->size.rx_ring, priv->ndev->mtu);
	err = ncic_alloc_qps(priv);
	if (err)
		return err;
	err = ncic_start(priv);
	if (err)
		ncic_free_qps(priv);
	return err;
}

void ncic_down(struct ncic_priv *priv)
{
	if (!priv->up)
		return;
	ncic_halt(priv);
	ncic_free_qps(priv);
}

static int ncic_open(struct net_device *ndev)
{
	netif_carrier_off(ndev);
	return ncic_up(netdev_priv(ndev));
}

static int ncic_stop(struct net_device *ndev)
{
	ncic_down(netdev_priv(ndev));
	return 0;
}

/* ---- other sizes ---- */

static void ncic_swap_ring(struct ncic_ring *a, struct ncic_ring *b)
{
	swap(a->desc, b->desc);
	swap(a->cpl, b->cpl);
	swap(a->mask, b->mask);
	swap(a->cpl_mask, b->cpl_mask);
	swap(a->cpl_tail, b->cpl_tail);
	swap(a->cpl_tail_hw, b->cpl_tail_hw);
	swap(a->desc_dma, b->desc_dma);
	swap(a->cpl_dma, b->cpl_dma);
}

/* Exchange the memory of two pairs and how far it is used. */
static void ncic_swap_memory(struct ncic_qp *a, struct ncic_qp *b)
{
	ncic_swap_ring(&a->rx.r, &b->rx.r);
	swap(a->rx.buf, b->rx.buf);
	swap(a->rx.pool, b->rx.pool);
	swap(a->rx.head, b->rx.head);
	swap(a->rx.head_hw, b->rx.head_hw);
	ncic_swap_ring(&a->tx.r, &b->tx.r);
	swap(a->tx.buf, b->tx.buf);
	swap(a->tx.head, b->tx.head);
	swap(a->tx.head_hw, b->tx.head_hw);
	swap(a->tx.tail, b->tx.tail);
	swap(a->tx.mapped, b->tx.mapped);
	swap(a->tx.fifo_head, b->tx.fifo_head);
	swap(a->tx.fifo_tail, b->tx.fifo_tail);
	swap(a->tx.fifo, b->tx.fifo);
	swap(a->tx.fifo_dma, b->tx.fifo_dma);
}

static void ncic_free_spares(struct ncic_qp *spare, unsigned int n)
{
	while (n--)
		ncic_free_memory(&spare[n]);
	kvfree(spare);
}

/* Memory of another size beside that in use: room for @n pairs, the first
 * size->num_qps of them filled. */
static struct ncic_qp *ncic_alloc_spares(struct ncic_priv *priv,
					 const struct ncic_sizes *size,
					 unsigned int n)
{
	struct ncic_qp *spare = kvcalloc(n, sizeof(*spare), GFP_KERNEL);
	unsigned int i;

	if (!spare)
		return NULL;
	for (i = 0; i < n; i++) {
		spare[i].priv = priv;
		spare[i].ndev = priv->ndev;
		spare[i].dev = &priv->pdev->dev;
	}
	for (i = 0; i < size->num_qps; i++) {
		if (ncic_alloc_memory(&spare[i], size)) {
			ncic_free_spares(spare, n);
			return NULL;
		}
	}
	return spare;
}

/* Run with the memory of the spares and leave what was in use in them. */
static int ncic_restart_with(struct ncic_priv *priv, struct ncic_qp *spare,
			     unsigned int n, struct ncic_sizes size)
{
	unsigned int i;
	int err;

	for (i = 0; i < n; i++)
		ncic_swap_memory(priv->qp[i], &spare[i]);
	priv->size = size;
	err = netif_set_real_num_queues(priv->ndev, size.num_qps, size.num_qps);
	return err ? err : ncic_start(priv);
}

/*
 * Change sizes, under rtnl.  What the new ones need is there before a running
 * device is stopped; if it does not start with that, it goes on with what it
 * had.
 */
int ncic_reconfigure(struct ncic_priv *priv, u16 num_qps, u16 tx_ring,
		     u16 rx_ring, unsigned int mtu)
{
	struct ncic_sizes new = ncic_sizes(num_qps, tx_ring, rx_ring, mtu);
	struct ncic_sizes old = priv->size;
	unsigned int n = max(num_qps, old.num_qps);
	struct net_device *ndev = priv->ndev;
	struct ncic_qp *spare;
	int err;

	if (!priv->up) {
		err = netif_set_real_num_queues(ndev, num_qps, num_qps);
		if (!err)
			priv->size = new;
		return err;
	}
	spare = ncic_alloc_spares(priv, &new, n);
	if (!spare)
		return -ENOMEM;
	ncic_halt(priv);
	err = ncic_restart_with(priv, spare, n, new);
	if (err && ncic_restart_with(priv, spare, n, old)) {
		netdev_err(ndev, "cannot restart, closing\n");
		ncic_free_qps(priv);
		dev_close(ndev);
	}
	ncic_free_spares(spare, n);
	return err;
}

static int ncic_change_mtu(struct net_device *ndev, int mtu)
{
	struct ncic_priv *priv = netdev_priv(ndev);
	int err = ncic_reconfigure(priv, priv->size.num_qps,
				   priv->size.tx_ring, priv->size.rx_ring, mtu);

	if (!err)
		WRITE_ONCE(ndev->mtu, mtu);
	return err;
}

static void ncic_get_stats64(struct net_device *ndev,
			     struct rtnl_link_stats64 *s)
{
	struct ncic_priv *priv = netdev_priv(ndev);
	struct ncic_rx_stats rx;
	struct ncic_tx_stats tx;
	unsigned int i, start;

	for (i = 0; i < priv->max_qps; i++) {
		struct ncic_qp *qp = priv->qp[i];

		do {
			start = u64_stats_fetch_begin(&qp->rx.syncp);
			rx = qp->rx.stats;
		} while (u64_stats_fetch_retry(&qp->rx.syncp, start));
		do {
			start = u64_stats_fetch_begin(&qp->tx.syncp);
			tx = qp->tx.stats;
		} while (u64_stats_fetch_retry(&qp->tx.syncp, start));
		s->rx_packets += rx.packets;
		s->rx_bytes += rx.bytes;
		s->rx_errors += rx.errors;
		s->rx_dropped += rx.alloc_failed;
		s->tx_packets += tx.packets;
		s->tx_bytes += tx.bytes;
		s->tx_dropped += tx.dropped;
	}
}

static void ncic_tx_timeout(struct net_device *ndev, unsigned int queue)
{
	struct ncic_priv *priv = netdev_priv(ndev);
	struct ncic_tx_queue *tx = &priv->qp[queue]->tx;

	netdev_err(ndev,
		   "queue %u stalled: driver head %u tail %u, device head %u tail %u, completions %u\n",
		   queue, tx->head, tx->tail,
		   ncic_rd(tx->r.regs, NCIC_Q_HEAD),
		   ncic_rd(tx->r.regs, NCIC_Q_TAIL),
		   ncic_rd(tx->r.cpl_regs, NCIC_Q_CPL_HEAD));
	priv->tx_timeouts++;
	WRITE_ONCE(priv->hung, true);
	schedule_work(&priv->reset_work);
}

/* After a transmit timeout: stop, reset the device and start afresh. */
void ncic_reset_work(struct work_struct *work)
{
	struct ncic_priv *priv = container_of(work, struct ncic_priv,
					      reset_work);

	rtnl_lock();
	if (netif_running(priv->ndev) && netif_device_present(priv->ndev)) {
		ncic_down(priv);
		if (ncic_up(priv)) {
			netdev_err(priv->ndev, "cannot recover, closing\n");
			dev_close(priv->ndev);
		}
	}
	rtnl_unlock();
}

const struct net_device_ops ncic_netdev_ops = {
	.ndo_open		= ncic_open,
	.ndo_stop		= ncic_stop,
	.ndo_start_xmit		= ncic_xmit,
	.ndo_features_check	= ncic_features_check,
	.ndo_get_stats64	= ncic_get_stats64,
	.ndo_set_mac_address	= eth_mac_addr,
	.ndo_validate_addr	= eth_validate_addr,
	.ndo_change_mtu		= ncic_change_mtu,
	.ndo_tx_timeout		= ncic_tx_timeout,
};
