// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * UB controller driver: PCI probe and remove, interrupts, power management.
 */
#include <linux/interrupt.h>
#include <linux/module.h>
#include <linux/rtnetlink.h>

#include "ubc.h"

static const struct pci_device_id ubc_pci_ids[] = {
	{ PCI_DEVICE(UBC_VENDOR_ID, UBC_DEVICE_ID) },
	{ }
};
MODULE_DEVICE_TABLE(pci, ubc_pci_ids);

/* The Linux interrupt of an MSI-X vector of ubc_hw.h. */
int ubc_vector(struct ubc_dev *ubc, unsigned int which)
{
	return pci_irq_vector(ubc->pdev, which);
}

static irqreturn_t ubc_ctrl_irq(int irq, void *data)
{
	struct ubc_dev *ubc = data;
	u32 events = ubc_rd(ubc->bar, UBC_EVENT);

	events &= UBC_EVENT_GUEST_ERROR | UBC_EVENT_DMA_ERROR;
	if (!events)
		return IRQ_NONE;
	ubc_wr(ubc->bar, UBC_EVENT, events);
	dev_err_ratelimited(&ubc->pdev->dev,
			    "%u interface errors, %u DMA errors\n",
			    ubc_rd(ubc->bar, UBC_GUEST_ERRORS),
			    ubc_rd(ubc->bar, UBC_DMA_ERRORS));
	return IRQ_HANDLED;
}

static int ubc_map(struct ubc_dev *ubc)
{
	struct pci_dev *pdev = ubc->pdev;
	int err;

	err = pcim_enable_device(pdev);
	if (err)
		return err;
	err = dma_set_mask_and_coherent(&pdev->dev, DMA_BIT_MASK(64));
	if (err)
		return err;
	err = pcim_iomap_regions(pdev, BIT(0), KBUILD_MODNAME);
	if (err)
		return err;
	ubc->bar = pcim_iomap_table(pdev)[0];
	if (pci_resource_len(pdev, 0) < UBC_BAR_SIZE ||
	    ubc_rd(ubc->bar, UBC_ID) != UBC_ID_VALUE ||
	    ubc_rd(ubc->bar, UBC_VERSION) != 1) {
		dev_err(&pdev->dev, "not a UB controller of version 1\n");
		return -ENODEV;
	}
	ubc->ports = ubc_rd(ubc->bar, UBC_PORTS);
	if (!ubc->ports || ubc->ports > UBC_MAX_PORTS) {
		dev_err(&pdev->dev, "%u ports\n", ubc->ports);
		return -ENODEV;
	}
	return 0;
}

static void ubc_free_vectors(void *data)
{
	pci_free_irq_vectors(data);
}

static int ubc_probe(struct pci_dev *pdev, const struct pci_device_id *id)
{
	struct ubc_dev *ubc;
	unsigned int i;
	int err;

	ubc = devm_kzalloc(&pdev->dev, sizeof(*ubc), GFP_KERNEL);
	if (!ubc)
		return -ENOMEM;
	ubc->pdev = pdev;
	pci_set_drvdata(pdev, ubc);
	err = ubc_map(ubc);
	if (err)
		return err;
	ubc_wr(ubc->bar, UBC_CTRL, UBC_CTRL_RESET);
	pci_set_master(pdev);

	ubc->vectors = 1 + 3 * ubc->ports;
	err = pci_alloc_irq_vectors(pdev, ubc->vectors, ubc->vectors,
				    PCI_IRQ_MSIX);
	if (err < 0) {
		dev_err(&pdev->dev, "no %u MSI-X vectors\n", ubc->vectors);
		return err;
	}
	err = devm_add_action_or_reset(&pdev->dev, ubc_free_vectors, pdev);
	if (err)
		return err;
	err = devm_request_irq(&pdev->dev, ubc_vector(ubc, UBC_VECTOR_CTRL),
			       ubc_ctrl_irq, 0, KBUILD_MODNAME, ubc);
	if (err)
		return err;

	for (i = 0; i < ubc->ports; i++) {
		err = ubc_port_add(ubc, i);
		if (err)
			goto undo;
	}
	ubc_wr(ubc->bar, UBC_EVENT_MASK,
	       UBC_EVENT_GUEST_ERROR | UBC_EVENT_DMA_ERROR);
	return 0;

undo:
	while (i--)
		ubc_port_del(ubc->port[i]);
	return err;
}

static void ubc_remove(struct pci_dev *pdev)
{
	struct ubc_dev *ubc = pci_get_drvdata(pdev);
	unsigned int i;

	for (i = 0; i < ubc->ports; i++)
		ubc_port_del(ubc->port[i]);
	ubc_wr(ubc->bar, UBC_CTRL, UBC_CTRL_RESET);
	pci_clear_master(pdev);
}

static void ubc_shutdown(struct pci_dev *pdev)
{
	struct ubc_dev *ubc = pci_get_drvdata(pdev);

	ubc_wr(ubc->bar, UBC_CTRL, UBC_CTRL_RESET);
	pci_clear_master(pdev);
}

static int ubc_suspend(struct device *dev)
{
	struct ubc_dev *ubc = dev_get_drvdata(dev);
	unsigned int i;

	rtnl_lock();
	for (i = 0; i < ubc->ports; i++) {
		struct net_device *netdev = ubc->port[i]->netdev;

		if (!netif_running(netdev))
			continue;
		netif_device_detach(netdev);
		netdev->netdev_ops->ndo_stop(netdev);
	}
	rtnl_unlock();
	return 0;
}

static int ubc_resume(struct device *dev)
{
	struct ubc_dev *ubc = dev_get_drvdata(dev);
	unsigned int i;
	int err = 0;

	ubc_wr(ubc->bar, UBC_CTRL, UBC_CTRL_RESET);
	pci_set_master(ubc->pdev);
	ubc_wr(ubc->bar, UBC_EVENT_MASK,
	       UBC_EVENT_GUEST_ERROR | UBC_EVENT_DMA_ERROR);
	rtnl_lock();
	for (i = 0; i < ubc->ports && !err; i++) {
		struct net_device *netdev = ubc->port[i]->netdev;

		if (!netif_running(netdev))
			continue;
		err = netdev->netdev_ops->ndo_open(netdev);
		if (!err)
			netif_device_attach(netdev);
	}
	rtnl_unlock();
	return err;
}

static DEFINE_SIMPLE_DEV_PM_OPS(ubc_pm_ops, ubc_suspend, ubc_resume);

static const struct attribute_group *ubc_groups[] = { &ubc_cfg_group, NULL };

static struct pci_driver ubc_driver = {
	.name = KBUILD_MODNAME,
	.id_table = ubc_pci_ids,
	.probe = ubc_probe,
	.remove = ubc_remove,
	.shutdown = ubc_shutdown,
	.driver.pm = pm_sleep_ptr(&ubc_pm_ops),
	.dev_groups = ubc_groups,
};
module_pci_driver(ubc_driver);

MODULE_DESCRIPTION("UnifiedBus controller");
MODULE_LICENSE("GPL");
