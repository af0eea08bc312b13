// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The least driver of an Entity: it binds by vendor and device, near or far, and
 * reads a register.
 */
#include <linux/module.h>

#include "ub_bus.h"
#include "ub/cfg_regs.h"

static ushort vendor, device = UB_ANY_ID;
module_param(vendor, ushort, 0444);
module_param(device, ushort, 0444);

static struct ub_id ids[2];

static int entity_probe(struct ub_entity *e)
{
	u32 cna;
	int err = ub_entity_read(e, UB_CFG0_PRIMARY_CNA, &cna);

	if (err)
		return err;
	dev_info(&e->dev, "bound, CNA %#x\n", cna);
	return 0;
}

static void entity_remove(struct ub_entity *e)
{
	dev_info(&e->dev, "let go\n");
}

static struct ub_driver entity_driver = {
	.driver.name = "ub_entity",
	.driver.owner = THIS_MODULE,
	.ids = ids,
	.probe = entity_probe,
	.remove = entity_remove,
};

static int __init entity_init(void)
{
	ids[0].vendor = vendor;
	ids[0].device = device;
	return ub_driver_register(&entity_driver);
}
module_init(entity_init);

static void __exit entity_exit(void)
{
	ub_driver_unregister(&entity_driver);
}
module_exit(entity_exit);

MODULE_DESCRIPTION("Example: driver of a UB Entity");
MODULE_LICENSE("GPL");
