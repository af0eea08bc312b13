// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * UB controllers: sleep of the parts on the auxiliary bus.  To a part it is what a reset
 * of the function is; its driver says what to do once.
 */
#include "ub_core.h"

static int part_suspend(struct device *dev)
{
	return to_auxiliary_drv(dev->driver)->suspend(to_auxiliary_dev(dev),
						      PMSG_SUSPEND);
}

static int part_resume(struct device *dev)
{
	return to_auxiliary_drv(dev->driver)->resume(to_auxiliary_dev(dev));
}

DEFINE_SIMPLE_DEV_PM_OPS(ub_part_pm_ops, part_suspend, part_resume);
EXPORT_SYMBOL_GPL(ub_part_pm_ops);
