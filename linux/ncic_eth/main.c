// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * NCIC NIC Ethernet driver: PCI probe and remove, power management, errors.
 */
#include <linux/module.h>

#include "ncic_eth.h"

static const struct pci_device_id ncic_pci_ids[] = {
	{ PCI_DEVICE_SUB(NCIC_PCI_VENDOR_ID, NCIC_PCI_DEVICE_ID,
			 NCIC_PCI_SUBSYSTEM_VENDOR_ID, NCIC_PCI_SUBSYSTEM_ID) },
	{ }
};
MODULE_DEVICE_TABLE(pci, ncic_pci_ids);

/* One vector for each completion ring and one for the link, or fewer. */
static int ncic_alloc_vectors(struct ncic_priv *priv)
{
	unsigned int want = min_t(unsigned int, priv->hw_queues,
				  num_online_cpus());
	int n;

	if (!(priv->features & NCIC_FEATURE_RSS))
		want = 1;
	/* The RSS mask selects among a power of two of queues. */
	want = rounddown_pow_of_two(want);
	n = pci_alloc_irq_vectors(priv->pdev, 1, 2 * want + 1, PCI_IRQ_MSIX);
	if (n < 0)
		return n;
	priv->num_vectors = n;
	if (n >= 3)
		want = min_t(unsigned int, want,
			     rounddown_pow_of_two((n - 1) / 2));
	else
		want = 1;
	priv->max_qps = want;
	priv->size.num_qps = want;
	return 0;
}

static void ncic_free_qp_array(struct ncic_priv *priv)
{
	unsigned int i;

	if (!priv->qp)
		return;
	for (i = 0; i < priv->max_qps; i++) {
		if (priv->qp[i])
			netif_napi_del(&priv->qp[i]->napi);
		kfree(priv->qp[i]);
	}
	kfree(priv->qp);
	priv->qp = NULL;
}

/* What of a pair stays the same as long as the driver is bound. */
static void ncic_init_qp(struct ncic_priv *priv, struct ncic_qp *qp,
			 unsigned int i)
{
	bool shared = priv->num_vectors < 3;

	qp->priv = priv;
	qp->ndev = priv->ndev;
	qp->dev = &priv->pdev->dev;
	qp->index = i;
	qp->rx.r.index = i;
	qp->rx.r.vector = shared ? 0 : 2 * i;
	qp->rx.r.regs = priv->rxq + i * NCIC_QUEUE_STRIDE;
	qp->rx.r.cpl_regs = priv->rx_cplq + i * NCIC_QUEUE_STRIDE;
	qp->tx.r.index = i;
	qp->tx.r.vector = shared ? 0 : 2 * i + 1;
	qp->tx.r.regs = priv->txq + i * NCIC_QUEUE_STRIDE;
	qp->tx.r.cpl_regs = priv->tx_cplq + i * NCIC_QUEUE_STRIDE;
	qp->tx.txq = netdev_get_tx_queue(priv->ndev, i);
	u64_stats_init(&qp->rx.syncp);
	u64_stats_init(&qp->tx.syncp);
}

static int ncic_alloc_qp_array(struct ncic_priv *priv)
{
	int node = dev_to_node(&priv->pdev->dev);
	unsigned int i;

	priv->qp = kcalloc(priv->max_qps, sizeof(*priv->qp), GFP_KERNEL);
	if (!priv->qp)
		return -ENOMEM;
	for (i = 0; i < priv->max_qps; i++) {
		struct ncic_qp *qp = kzalloc_node(sizeof(*qp), GFP_KERNEL,
						  node);

		if (!qp) {
			ncic_free_qp_array(priv);
			return -ENOMEM;
		}
		ncic_init_qp(priv, qp, i);
		netif_napi_add(priv->ndev, &qp->napi, ncic_poll);
		priv->qp[i] = qp;
	}
	return 0;
}

static void ncic_set_features(struct ncic_priv *priv)
{
	struct net_device *ndev = priv->ndev;

	/*
	 * Gathering and segmentation are the driver's; what they save is the
	 * way of each segment through the stack.
	 */
	ndev->hw_features = NETIF_F_SG;
	if (priv->features & NCIC_FEATURE_TX_CSUM)
		ndev->hw_features |= NETIF_F_HW_CSUM | NETIF_F_TSO |
				     NETIF_F_TSO6;
	if (priv->features & NCIC_FEATURE_RX_CSUM)
		ndev->hw_features |= NETIF_F_RXCSUM;
	if (priv->features & NCIC_FEATURE_RX_HASH)
		ndev->hw_features |= NETIF_F_RXHASH;
	ndev->features = ndev->hw_features;
	/* Segmentation by the driver reads fragments through the direct map. */
	if (!IS_ENABLED(CONFIG_HIGHMEM))
		ndev->features |= NETIF_F_HIGHDMA;
	ndev->vlan_features = ndev->features;
	/* The strip cannot be switched off. */
	if (priv->features & NCIC_FEATURE_RX_VLAN)
		ndev->features |= NETIF_F_HW_VLAN_CTAG_RX;
	netif_set_tso_max_segs(ndev, NCIC_TSO_MAX_SEGS);
}

static void ncic_release(struct pci_dev *pdev)
{
	pci_release_selected_regions(pdev, BIT(NCIC_BAR_CSR));
	/* An error that could not be recovered has done it before. */
	if (pci_is_enabled(pdev))
		pci_disable_device(pdev);
}

/* The function is ours, and its registers. */
static int ncic_claim(struct pci_dev *pdev)
{
	int err = pci_enable_device_mem(pdev);

	if (err)
		return dev_err_probe(&pdev->dev, err, "cannot enable\n");
	err = dma_set_mask_and_coherent(&pdev->dev, DMA_BIT_MASK(64));
	if (err) {
		dev_err(&pdev->dev, "no usable DMA mask\n");
		goto err_disable;
	}
	err = pci_request_selected_regions(pdev, BIT(NCIC_BAR_CSR),
					   NCIC_DRV_NAME);
	if (err) {
		dev_err(&pdev->dev, "BAR %d is taken\n", NCIC_BAR_CSR);
		goto err_disable;
	}
	if (pci_resource_len(pdev, NCIC_BAR_CSR) < NCIC_BAR_CSR_SIZE) {
		dev_err(&pdev->dev, "BAR %d is too small\n", NCIC_BAR_CSR);
		ncic_release(pdev);
		return -ENODEV;
	}
	return 0;

err_disable:
	pci_disable_device(pdev);
	return err;
}

static struct ncic_priv *ncic_alloc_priv(struct pci_dev *pdev)
{
	struct net_device *ndev = alloc_etherdev_mqs(sizeof(struct ncic_priv),
						     NCIC_QUEUES_MAX,
						     NCIC_QUEUES_MAX);
	struct ncic_priv *priv;

	if (!ndev)
		return NULL;
	SET_NETDEV_DEV(ndev, &pdev->dev);
	priv = netdev_priv(ndev);
	priv->ndev = ndev;
	priv->pdev = pdev;
	priv->msg_enable = NETIF_MSG_DRV | NETIF_MSG_PROBE | NETIF_MSG_LINK;
	priv->size.tx_ring = NCIC_RING_DEFAULT;
	priv->size.rx_ring = NCIC_RING_DEFAULT;
	INIT_WORK(&priv->reset_work, ncic_reset_work);
	pci_set_drvdata(pdev, priv);
	return priv;
}

static int ncic_register(struct ncic_priv *priv)
{
	struct net_device *ndev = priv->ndev;
	int err;

	ndev->netdev_ops = &ncic_netdev_ops;
	ndev->ethtool_ops = &ncic_ethtool_ops;
	ndev->watchdog_timeo = 5 * HZ;
	ncic_set_features(priv);
	netif_carrier_off(ndev);
	err = netif_set_real_num_queues(ndev, priv->size.num_qps,
					priv->size.num_qps);
	if (!err)
		err = register_netdev(ndev);
	if (err)
		dev_err(&priv->pdev->dev, "cannot register: %d\n", err);
	return err;
}

static int ncic_probe(struct pci_dev *pdev, const struct pci_device_id *id)
{
	struct ncic_priv *priv;
	int err = ncic_claim(pdev);

	if (err)
		return err;
	priv = ncic_alloc_priv(pdev);
	if (!priv) {
		err = -ENOMEM;
		goto err_release;
	}
	priv->bar = pci_iomap(pdev, NCIC_BAR_CSR, 0);
	if (!priv->bar) {
		err = -ENOMEM;
		goto err_netdev;
	}
	err = ncic_hw_probe(priv);
	if (err)
		goto err_unmap;
	pci_set_master(pdev);
	err = ncic_alloc_vectors(priv);
	if (err) {
		dev_err(&pdev->dev, "no MSI-X vectors: %d\n", err);
		goto err_master;
	}
	err = ncic_alloc_qp_array(priv);
	if (err)
		goto err_vectors;
	err = ncic_register(priv);
	if (err)
		goto err_qps;
	netdev_info(priv->ndev,
		    "%pM, %u queue pairs, %u vectors, MTU up to %u\n",
		    priv->ndev->dev_addr, priv->max_qps, priv->num_vectors,
		    priv->ndev->max_mtu);
	/* What an error handler goes back to. */
	pci_save_state(pdev);
	return 0;

err_qps:
	ncic_free_qp_array(priv);
err_vectors:
	pci_free_irq_vectors(pdev);
err_master:
	pci_clear_master(pdev);
err_unmap:
	pci_iounmap(pdev, priv->bar);
err_netdev:
	free_netdev(priv->ndev);
err_release:
	ncic_release(pdev);
	return err;
}

static void ncic_remove(struct pci_dev *pdev)
{
	struct ncic_priv *priv = pci_get_drvdata(pdev);
	struct net_device *ndev = priv->ndev;

	unregister_netdev(ndev);
	cancel_work_sync(&priv->reset_work);
	ncic_free_qp_array(priv);
	pci_free_irq_vectors(pdev);
	pci_clear_master(pdev);
	pci_iounmap(pdev, priv->bar);
	free_netdev(ndev);
	ncic_release(pdev);
}

/* Detached from the stack and stopped, as before losing power or a reset. */
static void ncic_detach(struct ncic_priv *priv)
{
	rtnl_lock();
	netif_device_detach(priv->ndev);
	if (netif_running(priv->ndev))
		ncic_down(priv);
	rtnl_unlock();
}

static int ncic_attach(struct ncic_priv *priv)
{
	int err = 0;

	rtnl_lock();
	ncic_hw_reset(priv);
	if (netif_running(priv->ndev))
		err = ncic_up(priv);
	if (!err)
		netif_device_attach(priv->ndev);
	rtnl_unlock();
	return err;
}

static void ncic_shutdown(struct pci_dev *pdev)
{
	struct ncic_priv *priv = pci_get_drvdata(pdev);

	ncic_detach(priv);
	pci_clear_master(pdev);
}

static int ncic_suspend(struct device *dev)
{
	ncic_detach(dev_get_drvdata(dev));
	return 0;
}

static int ncic_resume(struct device *dev)
{
	struct ncic_priv *priv = dev_get_drvdata(dev);

	/* The core has restored configuration space and MSI-X. */
	if (!ncic_hw_present(priv)) {
		dev_err(dev, "device does not answer after resume\n");
		return -EIO;
	}
	/* Resuming has used up what an error handler goes back to. */
	pci_save_state(to_pci_dev(dev));
	return ncic_attach(priv);
}

static DEFINE_SIMPLE_DEV_PM_OPS(ncic_pm_ops, ncic_suspend, ncic_resume);

static pci_ers_result_t ncic_error_detected(struct pci_dev *pdev,
					    pci_channel_state_t state)
{
	struct ncic_priv *priv = pci_get_drvdata(pdev);

	ncic_detach(priv);
	if (state == pci_channel_io_perm_failure)
		return PCI_ERS_RESULT_DISCONNECT;
	pci_disable_device(pdev);
	return PCI_ERS_RESULT_NEED_RESET;
}

static pci_ers_result_t ncic_slot_reset(struct pci_dev *pdev)
{
	struct ncic_priv *priv = pci_get_drvdata(pdev);

	if (pci_enable_device_mem(pdev))
		return PCI_ERS_RESULT_DISCONNECT;
	pci_set_master(pdev);
	pci_restore_state(pdev);
	pci_save_state(pdev);
	return ncic_hw_present(priv) ? PCI_ERS_RESULT_RECOVERED :
				       PCI_ERS_RESULT_DISCONNECT;
}

static void ncic_error_resume(struct pci_dev *pdev)
{
	struct ncic_priv *priv = pci_get_drvdata(pdev);

	if (ncic_attach(priv))
		netdev_err(priv->ndev, "cannot restart after an error\n");
}

/* A reset that somebody asked for (sysfs). */
static void ncic_reset_prepare(struct pci_dev *pdev)
{
	ncic_detach(pci_get_drvdata(pdev));
}

static const struct pci_error_handlers ncic_error_handlers = {
	.error_detected	= ncic_error_detected,
	.slot_reset	= ncic_slot_reset,
	.resume		= ncic_error_resume,
	.reset_prepare	= ncic_reset_prepare,
	.reset_done	= ncic_error_resume,
};

static struct pci_driver ncic_driver = {
	.name		= NCIC_DRV_NAME,
	.id_table	= ncic_pci_ids,
	.probe		= ncic_probe,
	.remove		= ncic_remove,
	.shutdown	= ncic_shutdown,
	.driver.pm	= pm_sleep_ptr(&ncic_pm_ops),
	.err_handler	= &ncic_error_handlers,
};
module_pci_driver(ncic_driver);

MODULE_DESCRIPTION("NCIC NIC Ethernet driver");
MODULE_LICENSE("GPL");
