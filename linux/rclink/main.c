// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * RC Link driver: the PCI function.
 */
#include <linux/interrupt.h>
#include <linux/module.h>

#include "rclink.h"

static irqreturn_t rclink_link_irq(int irq, void *data)
{
	rclink_link_changed(data);
	return IRQ_HANDLED;
}

static int rclink_request(struct rclink *rc, unsigned int vector,
			  irq_handler_t fn, const char *what)
{
	return pci_request_irq(rc->pdev, vector, fn, NULL, rc, "%s-%s",
			       netdev_name(rc->ndev), what);
}

static const struct {
	unsigned int vector;
	irq_handler_t fn;
	const char *what;
} rclink_irqs[] = {
	{ RCL_VEC_NONR, rclink_nonr_irq, "frames" },
	{ RCL_VEC_FAULT, rclink_fault_irq, "fault" },
	{ RCL_VEC_MAC, rclink_link_irq, "link" },
};

static void rclink_free_irqs(struct rclink *rc, unsigned int n)
{
	while (n--)
		pci_free_irq(rc->pdev, rclink_irqs[n].vector, rc);
}

static int rclink_request_irqs(struct rclink *rc)
{
	unsigned int i;
	int err;

	for (i = 0; i < ARRAY_SIZE(rclink_irqs); i++) {
		err = rclink_request(rc, rclink_irqs[i].vector,
				     rclink_irqs[i].fn, rclink_irqs[i].what);
		if (err) {
			rclink_free_irqs(rc, i);
			return err;
		}
	}
	return 0;
}

static int rclink_setup_port(struct rclink *rc)
{
	if (rclink_get(rc, RCL_ID) != RCL_ID_VALUE) {
		dev_err(&rc->pdev->dev, "no RC Link registers\n");
		return -ENODEV;
	}
	rclink_set(rc, RCL_SOFT_RESET, RCL_RESET_ALL);
	/* No format is an error, where the register is written. */
	rclink_set(rc, RCL_AFH_CFG_EN, rclink_get(rc, RCL_AFH_CFG_EN) |
				       BIT(RCL_CFG_STANDARD));
	return 0;
}

static int rclink_setup(struct rclink *rc)
{
	int err = rclink_setup_port(rc);
	u64 mac;
	u8 addr[ETH_ALEN];

	if (err)
		return err;
	mac = rclink_get(rc, RCL_MAC_ADDR) & GENMASK_ULL(47, 0);
	u64_to_ether_addr(mac, addr);
	if (is_valid_ether_addr(addr))
		eth_hw_addr_set(rc->ndev, addr);
	else
		eth_hw_addr_random(rc->ndev);
	return 0;
}

static int rclink_probe(struct pci_dev *pdev, const struct pci_device_id *id)
{
	struct net_device *ndev;
	struct rclink *rc;
	int err;

	err = pcim_enable_device(pdev);
	if (err)
		return dev_err_probe(&pdev->dev, err, "cannot enable\n");
	err = dma_set_mask_and_coherent(&pdev->dev, DMA_BIT_MASK(64));
	if (err)
		return dev_err_probe(&pdev->dev, err, "no usable DMA mask\n");
	err = pcim_iomap_regions(pdev, BIT(0), RCLINK_NAME);
	if (err)
		return dev_err_probe(&pdev->dev, err, "BAR 0 is taken\n");
	ndev = devm_alloc_etherdev(&pdev->dev, sizeof(*rc));
	if (!ndev)
		return -ENOMEM;
	SET_NETDEV_DEV(ndev, &pdev->dev);
	rc = netdev_priv(ndev);
	rc->pdev = pdev;
	rc->ndev = ndev;
	rc->bar = pcim_iomap_table(pdev)[0];
	spin_lock_init(&rc->link_lock);
	pci_set_drvdata(pdev, rc);
	pci_set_master(pdev);
	err = rclink_setup(rc);
	if (err)
		return err;
	err = pci_alloc_irq_vectors(pdev, RCL_VECTORS, RCL_VECTORS,
				    PCI_IRQ_MSIX);
	if (err < 0)
		return dev_err_probe(&pdev->dev, err, "no vectors\n");
	err = rclink_netdev_init(rc);
	if (err)
		goto err_vectors;
	err = rclink_request_irqs(rc);
	if (err)
		goto err_netdev;
	err = rclink_cdev_init(rc);
	if (err)
		goto err_irqs;
	rclink_link_changed(rc);
	return 0;

err_irqs:
	rclink_free_irqs(rc, ARRAY_SIZE(rclink_irqs));
err_netdev:
	rclink_netdev_exit(rc);
err_vectors:
	pci_free_irq_vectors(pdev);
	return err;
}

static void rclink_remove(struct pci_dev *pdev)
{
	struct rclink *rc = pci_get_drvdata(pdev);

	rclink_cdev_exit(rc);
	unregister_netdev(rc->ndev);
	rclink_free_irqs(rc, ARRAY_SIZE(rclink_irqs));
	rclink_set(rc, RCL_SOFT_RESET, RCL_RESET_ALL);
	rclink_netdev_exit(rc);
	pci_free_irq_vectors(pdev);
}

/* ---- a reset that somebody asked for (sysfs), and sleep, which ends with one ---- */

static void rclink_away(struct rclink *rc)
{
	rclink_netdev_detach(rc);
	rclink_cdev_away(rc, true);
}

/* Configuration space and interrupts are the core's to restore. */
static int rclink_back(struct rclink *rc)
{
	int err = rclink_setup_port(rc);

	if (err)
		return err;
	rclink_cdev_away(rc, false);
	rclink_netdev_attach(rc);
	return 0;
}

static void rclink_reset_prepare(struct pci_dev *pdev)
{
	rclink_away(pci_get_drvdata(pdev));
}

static void rclink_reset_done(struct pci_dev *pdev)
{
	rclink_back(pci_get_drvdata(pdev));
}

static int rclink_suspend(struct device *dev)
{
	rclink_away(dev_get_drvdata(dev));
	return 0;
}

static int rclink_resume(struct device *dev)
{
	return rclink_back(dev_get_drvdata(dev));
}

static DEFINE_SIMPLE_DEV_PM_OPS(rclink_pm_ops, rclink_suspend, rclink_resume);

static const struct pci_error_handlers rclink_error_handlers = {
	.reset_prepare = rclink_reset_prepare,
	.reset_done = rclink_reset_done,
};

static const struct pci_device_id rclink_ids[] = {
	{ PCI_DEVICE(RCL_PCI_VENDOR, RCL_PCI_DEVICE) },
	{ }
};
MODULE_DEVICE_TABLE(pci, rclink_ids);

static struct pci_driver rclink_driver = {
	.name = RCLINK_NAME,
	.id_table = rclink_ids,
	.probe = rclink_probe,
	.remove = rclink_remove,
	.driver.pm = pm_sleep_ptr(&rclink_pm_ops),
	.err_handler = &rclink_error_handlers,
};
module_pci_driver(rclink_driver);

MODULE_DESCRIPTION("RC Link port");
MODULE_LICENSE("GPL");
