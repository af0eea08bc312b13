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
	if (work < budget && napi_complete_done(napi, work))
		ncic_cpl_sync(&qp->rx.r);
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
	ncic_free_pair_irqs(priv, priv->num_qps);
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

	for (i = 0; i < priv->num_qps; i++) {
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
void ncic_set_buffer_size(struct ncic_priv *priv, unsigned int mtu)
{
	unsigned int frame = mtu + VLAN_ETH_HLEN;
	unsigned int need = SKB_DATA_ALIGN(NCIC_RX_HEADROOM + frame) +
			    SKB_DATA_ALIGN(sizeof(struct skb_shared_info));

	priv->rx_buf_size = max_t(u32, roundup_pow_of_two(need), 2048);
	priv->rx_order = get_order(priv->rx_buf_size);
	priv->rx_frame_size = frame;
	priv->rx_fill = clamp_t(u32, NCIC_RX_MEMORY / priv->rx_buf_size,
				2 * NCIC_RX_REFILL, priv->rx_ring);
}

static void ncic_free_qps(struct ncic_priv *priv)
{
	unsigned int i;

	if (!priv->qp)
		return;
	for (i = 0; i < priv->num_qps; i++) {
		struct ncic_qp *qp = priv->qp[i];

		ncic_tx_free(qp);
		ncic_rx_free(qp);
	}
}

static int ncic_alloc_qps(struct ncic_priv *priv)
{
	unsigned int i;
	int err;

	for (i = 0; i < priv->num_qps; i++) {
		struct ncic_qp *qp = priv->qp[i];

		err = ncic_rx_alloc(qp);
		if (!err)
			err = ncic_tx_alloc(qp);
		if (err)
			return err;
	}
	return 0;
}

/*
 * Everything from memory to a running device.  The receive rings are filled by
 * NAPI's own code, with bottom halves off as it expects.
 */
int ncic_up(struct ncic_priv *priv)
{
	unsigned int i;
	int err;

	ncic_set_buffer_size(priv, priv->ndev->mtu);
	err = ncic_alloc_qps(priv);
	if (err)
		goto fail;
	err = ncic_request_irqs(priv);
	if (err)
		goto fail;

	if (priv->features & NCIC_FEATURE_RSS)
		ncic_wr(priv->ncsr, NCIC_NCSR_RSS_MASK, priv->num_qps - 1);
	for (i = 0; i < priv->num_qps; i++) {
		struct ncic_qp *qp = priv->qp[i];

		napi_enable(&qp->napi);
		ncic_ring_start(&qp->tx.r);
		ncic_ring_start(&qp->rx.r);
	}
	priv->up = true;
	for (i = 0; i < priv->num_qps; i++) {
		bool starved;

		local_bh_disable();
		starved = !ncic_rx_refill(priv->qp[i]);
		local_bh_enable();
		if (starved) {
			netdev_err(priv->ndev, "no receive buffers\n");
			ncic_down(priv);
			return -ENOMEM;
		}
	}
	netif_tx_wake_all_queues(priv->ndev);
	ncic_link_irq_enable(priv, true);
	ncic_link_update(priv);
	return 0;

fail:
	ncic_free_qps(priv);
	return err;
}

/*
 * A device that keeps buffers, or has stalled, is reset before they are freed.
 */
void ncic_down(struct ncic_priv *priv)
{
	bool stuck = false;
	unsigned int i;

	if (!priv->up)
		return;
	priv->up = false;
	/* A message that is on its way must not set the carrier again. */
	ncic_link_irq_enable(priv, false);
	synchronize_irq(pci_irq_vector(priv->pdev, ncic_link_vector(priv)));
	netif_carrier_off(priv->ndev);
	/* NAPI before the queues: it would wake them again. */
	for (i = 0; i < priv->num_qps; i++)
		napi_disable(&priv->qp[i]->napi);
	netif_tx_disable(priv->ndev);
	for (i = 0; i < priv->num_qps; i++) {
		struct ncic_qp *qp = priv->qp[i];

		stuck |= ncic_ring_stop(&qp->tx.r) != 0;
		stuck |= ncic_ring_stop(&qp->rx.r) != 0;
	}
	if (stuck || READ_ONCE(priv->hung)) {
		netdev_warn(priv->ndev, "resetting the device: it %s\n",
			    stuck ? "holds buffers" : "has stalled");
		WRITE_ONCE(priv->hung, false);
		priv->resets++;
		ncic_hw_reset(priv);
	}
	ncic_free_irqs(priv);
	ncic_free_qps(priv);
}

static int ncic_open(struct net_device *ndev)
{
	struct ncic_priv *priv = netdev_priv(ndev);
	int err;

	netif_carrier_off(ndev);
	err = netif_set_real_num_queues(ndev, priv->num_qps, priv->num_qps);
	if (err)
		return err;
	return ncic_up(priv);
}

static int ncic_stop(struct net_device *ndev)
{
	ncic_down(netdev_priv(ndev));
	return 0;
}

/* Change sizes; a running device is stopped for it.  Under rtnl. */
int ncic_reconfigure(struct ncic_priv *priv, u16 num_qps, u16 tx_ring,
		     u16 rx_ring)
{
	u16 old_qps = priv->num_qps, old_tx = priv->tx_ring;
	u16 old_rx = priv->rx_ring;
	bool running = netif_running(priv->ndev) &&
		       netif_device_present(priv->ndev);
	int err = 0;

	if (running)
		ncic_stop(priv->ndev);
	priv->num_qps = num_qps;
	priv->tx_ring = tx_ring;
	priv->rx_ring = rx_ring;
	if (!running)
		return 0;
	err = ncic_open(priv->ndev);
	if (err) {
		priv->num_qps = old_qps;
		priv->tx_ring = old_tx;
		priv->rx_ring = old_rx;
		if (ncic_open(priv->ndev)) {
			netdev_err(priv->ndev, "cannot restart, closing\n");
			dev_close(priv->ndev);
		}
	}
	return err;
}

static int ncic_change_mtu(struct net_device *ndev, int mtu)
{
	struct ncic_priv *priv = netdev_priv(ndev);
	unsigned int old = ndev->mtu;
	int err;

	ndev->mtu = mtu;
	err = ncic_reconfigure(priv, priv->num_qps, priv->tx_ring,
			       priv->rx_ring);
	if (err)
		ndev->mtu = old;
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
