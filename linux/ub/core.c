// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * UB controllers: the PCI function, its vectors and its parts on the auxiliary
 * bus.
 */
#include <linux/dma-mapping.h>
#include <linux/interrupt.h>
#include <linux/module.h>
#include <linux/slab.h>

#include "bus.h"
#include "ub_engine.h"
#include "ub/cfg_regs.h"
#include "ub/lds_hw.h"

static const struct pci_device_id ubc_pci_ids[] = {
	{ PCI_DEVICE(UBC_VENDOR_ID, UBC_DEVICE_ID) },
	{ }
};
MODULE_DEVICE_TABLE(pci, ubc_pci_ids);

static unsigned int max_vectors;
module_param(max_vectors, uint, 0444);
MODULE_PARM_DESC(max_vectors, "MSI-X vectors to use at most (0: one a source)");

unsigned int ub_core_vector(struct ub_core *core, unsigned int port,
			    enum ub_source source)
{
	return (1 + UB_PORT_SOURCES * port + source) % core->vectors;
}
EXPORT_SYMBOL_GPL(ub_core_vector);

unsigned int ub_core_engine_vector(struct ub_core *core,
				   enum ub_engine_part part)
{
	return (1 + UB_PORT_SOURCES * core->ports + part) % core->vectors;
}
EXPORT_SYMBOL_GPL(ub_core_engine_vector);

int ub_core_irq(struct ub_core *core, unsigned int vector)
{
	return pci_irq_vector(core->pdev, vector);
}
EXPORT_SYMBOL_GPL(ub_core_irq);

static irqreturn_t ubc_ctrl_irq(int irq, void *data)
{
	struct ub_core *ubc = data;
	u32 events = ub_rd(ubc->bar, UBC_EVENT);
	irqreturn_t others = ub_msgs_irq(ubc) | ub_refusals_irq(ubc);

	events &= UBC_EVENT_GUEST_ERROR | UBC_EVENT_DMA_ERROR;
	if (!events)
		return others;
	ub_wr(ubc->bar, UBC_EVENT, events);
	dev_err_ratelimited(&ubc->pdev->dev,
			    "%u interface errors, %u DMA errors\n",
			    ub_rd(ubc->bar, UBC_GUEST_ERRORS),
			    ub_rd(ubc->bar, UBC_DMA_ERRORS));
	return IRQ_HANDLED;
}

static int ubc_map(struct ub_core *ubc)
{
	struct pci_dev *pdev = ubc->pdev;
	int err;

	err = pcim_enable_device(pdev);
	if (err)
		return err;
	err = dma_set_mask_and_coherent(&pdev->dev, DMA_BIT_MASK(64));
	if (err)
		return err;
	/* The UMMU has programs' memory page by page, however it is mapped. */
	dma_set_max_seg_size(&pdev->dev, UINT_MAX);
	dma_set_seg_boundary(&pdev->dev, ULONG_MAX);
	err = pcim_iomap_regions(pdev, BIT(0), KBUILD_MODNAME);
	if (err)
		return err;
	ubc->bar = pcim_iomap_table(pdev)[0];
	if (pci_resource_len(pdev, 0) < UBC_BAR_SIZE ||
	    ub_rd(ubc->bar, UBC_ID) != UBC_ID_VALUE ||
	    ub_rd(ubc->bar, UBC_VERSION) != UBC_INTERFACE) {
		dev_err(&pdev->dev, "not a UB controller of version %u\n",
			UBC_INTERFACE);
		return -ENODEV;
	}
	if (~ub_rd(ubc->bar, UBC_CAPS) & (UBC_CAPS_PAIRS | UBC_CAPS_CONFIG)) {
		dev_err(&pdev->dev, "no ring pairs or no configuration\n");
		return -ENODEV;
	}
	ubc->ports = ub_rd(ubc->bar, UBC_PORTS);
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

/* ---- parts on the auxiliary bus ---- */

static void ubc_port_release(struct device *dev)
{
	kfree(to_ub_port(to_auxiliary_dev(dev)));
}

static void ubc_engine_release(struct device *dev)
{
	kfree(to_ub_engine(to_auxiliary_dev(dev)));
}

/* 0: @adev is there, and goes by its release.  Else the caller frees it, but
 * not if *@owned. */
static int ubc_part_add(struct ub_core *ubc, struct auxiliary_device *adev,
			unsigned int index, bool *owned)
{
	struct pci_dev *pdev = ubc->pdev;
	int err;

	adev->id = pci_domain_nr(pdev->bus) << 19 | pci_dev_id(pdev) << 3 |
		   index;
	adev->dev.parent = &pdev->dev;
	*owned = false;
	err = auxiliary_device_init(adev);
	if (err)
		return err;
	*owned = true;
	err = auxiliary_device_add(adev);
	if (err)
		auxiliary_device_uninit(adev);
	return err;
}

static void ubc_part_del(struct auxiliary_device *adev)
{
	auxiliary_device_delete(adev);
	auxiliary_device_uninit(adev);
}

static int ubc_port_add(struct ub_core *ubc, unsigned int index)
{
	struct ub_port *port = kzalloc(sizeof(*port), GFP_KERNEL);
	bool owned;
	int err;

	if (!port)
		return -ENOMEM;
	port->core = ubc;
	port->index = index;
	port->pair = index;
	port->adev.name = "net";
	port->adev.dev.release = ubc_port_release;
	err = ubc_part_add(ubc, &port->adev, index, &owned);
	if (!err)
		ubc->port[index] = port;
	else if (!owned)
		kfree(port);
	return err;
}

static int ubc_engine_add(struct ub_core *ubc, enum ub_engine_part part,
			  const char *name)
{
	struct ub_engine *engine = kzalloc(sizeof(*engine), GFP_KERNEL);
	bool owned;
	int err;

	if (!engine)
		return -ENOMEM;
	engine->core = ubc;
	engine->adev.name = name;
	engine->adev.dev.release = ubc_engine_release;
	err = ubc_part_add(ubc, &engine->adev, 0, &owned);
	if (!err)
		ubc->engine[part] = engine;
	else if (!owned)
		kfree(engine);
	return err;
}

static bool ubc_has_window(struct ub_core *ubc)
{
	return ub_config_read(ubc, UB_CFG_CAP(UB_CFG1_BASE, UB_LDS_CAP) +
				   UB_LDS_VD_WINDOW) ||
	       ub_config_read(ubc, UB_CFG_CAP(UB_CFG1_BASE, UB_LDS_CAP) +
				   UB_LDS_VD_WINDOW + 1);
}

static int ubc_engines_add(struct ub_core *ubc)
{
	int err;

	if (!ubc->cmdq)
		return 0;
	err = ubc_engine_add(ubc, UB_URMA, "urma");
	if (!err && ubc_has_window(ubc))
		err = ubc_engine_add(ubc, UB_MEM, "mem");
	return err;
}

static void ubc_parts_del(struct ub_core *ubc)
{
	unsigned int i;

	for (i = 0; i < UB_ENGINE_PARTS; i++)
		if (ubc->engine[i])
			ubc_part_del(&ubc->engine[i]->adev);
	for (i = 0; i < ubc->ports && ubc->port[i]; i++)
		ubc_part_del(&ubc->port[i]->adev);
}

/* ---- life ---- */

/* What the parts of the engine share; after a reset, too. */
static int ubc_engine_start(struct ub_core *ubc)
{
	u32 need = UBC_CAPS_EVENTS | UBC_CAPS_COMMANDS;
	int err;

	if (~ub_rd(ubc->bar, UBC_CAPS) & need)
		return 0;
	err = ub_cmdq_start(ubc);
	if (!err)
		err = ub_ummu_start(ubc);
	if (err)
		dev_err(&ubc->pdev->dev, "the engine does not start: %d\n",
			err);
	return err;
}

static void ubc_engine_stop(struct ub_core *ubc)
{
	ub_ummu_stop(ubc);
	ub_cmdq_stop(ubc);
}

static void ubc_engine_free(struct ub_core *ubc)
{
	ub_ummu_free(ubc);
	ub_cmdq_free(ubc);
}

static void ubc_start(struct ub_core *ubc)
{
	ub_wr(ubc->bar, UBC_CTRL, UBC_CTRL_RESET);
	pci_set_master(ubc->pdev);
	ub_wr(ubc->bar, UBC_VECTOR, 0);
	ub_wr(ubc->bar, UBC_EVENT_MASK,
	      UBC_EVENT_GUEST_ERROR | UBC_EVENT_DMA_ERROR);
}

static int ubc_probe(struct pci_dev *pdev, const struct pci_device_id *id)
{
	struct ub_core *ubc;
	unsigned int i;
	int err;

	ubc = devm_kzalloc(&pdev->dev, sizeof(*ubc), GFP_KERNEL);
	if (!ubc)
		return -ENOMEM;
	ubc->pdev = pdev;
	spin_lock_init(&ubc->config_lock);
	pci_set_drvdata(pdev, ubc);
	err = ubc_map(ubc);
	if (err)
		return err;

	ubc->vectors = 1 + UB_PORT_SOURCES * ubc->ports + UB_ENGINE_PARTS;
	if (max_vectors)
		ubc->vectors = min(ubc->vectors, max_vectors);
	err = pci_alloc_irq_vectors(pdev, 1, ubc->vectors, PCI_IRQ_MSIX);
	if (err < 0) {
		dev_err(&pdev->dev, "no MSI-X vector\n");
		return err;
	}
	ubc->vectors = err;
	err = devm_add_action_or_reset(&pdev->dev, ubc_free_vectors, pdev);
	if (err)
		return err;
	err = devm_request_irq(&pdev->dev, ub_core_irq(ubc, 0), ubc_ctrl_irq,
			       IRQF_SHARED, KBUILD_MODNAME, ubc);
	if (err)
		return err;

	/* What an error handler goes back to. */
	pci_save_state(pdev);
	ubc_start(ubc);
	err = ub_msgs_add(ubc);
	if (!err)
		err = ub_fabric_add(ubc);
	if (!err)
		err = ubc_engine_start(ubc);
	for (i = 0; !err && i < ubc->ports; i++)
		err = ubc_port_add(ubc, i);
	if (!err)
		err = ubc_engines_add(ubc);
	if (err) {
		ubc_parts_del(ubc);
		ubc_engine_stop(ubc);
		ub_msgs_del(ubc);
		ub_fabric_del(ubc);
		pci_clear_master(pdev);
		ubc_engine_free(ubc);
	}
	return err;
}

static void ubc_remove(struct pci_dev *pdev)
{
	struct ub_core *ubc = pci_get_drvdata(pdev);

	ubc_parts_del(ubc);
	ubc_engine_stop(ubc);
	ub_msgs_del(ubc);
	ub_fabric_del(ubc);
	ub_wr(ubc->bar, UBC_CTRL, UBC_CTRL_RESET);
	pci_clear_master(pdev);
	ubc_engine_free(ubc);
}

static void ubc_shutdown(struct pci_dev *pdev)
{
	struct ub_core *ubc = pci_get_drvdata(pdev);

	ub_msgs_stop(ubc);
	ub_wr(ubc->bar, UBC_CTRL, UBC_CTRL_RESET);
	pci_clear_master(pdev);
}

/* The parts, which are children, have stopped before and start behind. */
static int ubc_suspend(struct device *dev)
{
	ubc_engine_stop(dev_get_drvdata(dev));
	ub_msgs_stop(dev_get_drvdata(dev));
	return 0;
}

static int ubc_resume(struct device *dev)
{
	ubc_start(dev_get_drvdata(dev));
	ub_msgs_start(dev_get_drvdata(dev));
	return ubc_engine_start(dev_get_drvdata(dev));
}

/* ---- errors of the bus ---- */

/* Stop the driver of a part, or let it go on; all, and the messages. */
static void ubc_part_go(struct auxiliary_device *adev, bool go)
{
	const struct auxiliary_driver *drv;

	device_lock(&adev->dev);
	if (adev->dev.driver) {
		drv = to_auxiliary_drv(adev->dev.driver);
		if (go && drv->resume)
			drv->resume(adev);
		else if (!go && drv->suspend)
			drv->suspend(adev, PMSG_FREEZE);
	}
	device_unlock(&adev->dev);
}

static void ubc_parts(struct ub_core *ubc, bool go)
{
	unsigned int i;

	if (go) {
		ub_msgs_start(ubc);
		ubc_engine_start(ubc);
	}
	for (i = 0; i < UB_ENGINE_PARTS; i++)
		if (ubc->engine[i])
			ubc_part_go(&ubc->engine[i]->adev, go);
	for (i = 0; i < ubc->ports; i++)
		ubc_part_go(&ubc->port[i]->adev, go);
	if (!go) {
		ubc_engine_stop(ubc);
		ub_msgs_stop(ubc);
	}
}

static pci_ers_result_t ubc_error_detected(struct pci_dev *pdev,
					   pci_channel_state_t state)
{
	ubc_parts(pci_get_drvdata(pdev), false);
	if (state == pci_channel_io_perm_failure)
		return PCI_ERS_RESULT_DISCONNECT;
	pci_disable_device(pdev);
	return PCI_ERS_RESULT_NEED_RESET;
}

static pci_ers_result_t ubc_slot_reset(struct pci_dev *pdev)
{
	struct ub_core *ubc = pci_get_drvdata(pdev);

	if (pci_enable_device_mem(pdev))
		return PCI_ERS_RESULT_DISCONNECT;
	pci_restore_state(pdev);
	pci_save_state(pdev);
	return ub_rd(ubc->bar, UBC_ID) == UBC_ID_VALUE ?
		       PCI_ERS_RESULT_RECOVERED : PCI_ERS_RESULT_DISCONNECT;
}

static void ubc_error_resume(struct pci_dev *pdev)
{
	struct ub_core *ubc = pci_get_drvdata(pdev);

	ubc_start(ubc);
	ubc_parts(ubc, true);
}

/* A reset that somebody asked for (sysfs) is the same to the parts. */
static void ubc_reset_prepare(struct pci_dev *pdev)
{
	ubc_parts(pci_get_drvdata(pdev), false);
}

static const struct pci_error_handlers ubc_error_handlers = {
	.error_detected = ubc_error_detected,
	.slot_reset = ubc_slot_reset,
	.resume = ubc_error_resume,
	.reset_prepare = ubc_reset_prepare,
	.reset_done = ubc_error_resume,
};

static DEFINE_SIMPLE_DEV_PM_OPS(ubc_pm_ops, ubc_suspend, ubc_resume);

static const struct attribute_group *ubc_groups[] = {
	&ub_config_group, &ub_refusal_group, NULL
};

static struct pci_driver ubc_driver = {
	.name = KBUILD_MODNAME,
	.id_table = ubc_pci_ids,
	.probe = ubc_probe,
	.remove = ubc_remove,
	.shutdown = ubc_shutdown,
	.driver.pm = pm_sleep_ptr(&ubc_pm_ops),
	.err_handler = &ubc_error_handlers,
	.dev_groups = ubc_groups,
};

static int __init ubc_init(void)
{
	int err = ub_bus_init();

	if (err)
		return err;
	err = pci_register_driver(&ubc_driver);
	if (err)
		ub_bus_exit();
	return err;
}
module_init(ubc_init);

static void __exit ubc_exit(void)
{
	pci_unregister_driver(&ubc_driver);
	ub_bus_exit();
}
module_exit(ubc_exit);

MODULE_DESCRIPTION("UnifiedBus controller: PCI function");
MODULE_LICENSE("GPL");
