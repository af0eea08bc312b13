// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * URMA: devices, their nodes and their end.
 */
#include <linux/auxiliary_bus.h>
#include <linux/dma-mapping.h>
#include <linux/module.h>
#include <linux/namei.h>
#include <linux/path.h>
#include <linux/pci.h>

#include "ub_urma.h"
#include "ub/cfg_regs.h"

static dev_t urma_devt;
static DEFINE_XARRAY_ALLOC(urma_devs);

#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 2, 0)
#define CLASS_DEV	const struct device
#else
#define CLASS_DEV	struct device
#endif

static char *node_name(CLASS_DEV *dev, umode_t *mode)
{
	if (mode)
		*mode = 0666;
	return kasprintf(GFP_KERNEL, "uburma/%s", dev_name(dev));
}

/* Nodes, and attributes that the public library looks for. */
static struct class node_class = { .name = "uburma", .devnode = node_name };
static struct class sysfs_class = { .name = "ubcore" };

/* ---- who the controller is ---- */

static void config_bytes(struct urma_dev *dev, u32 dw, u8 out[16])
{
	unsigned int i;
	u32 v;

	/* The first dword is the least significant one. */
	for (i = 0; i < 4; i++) {
		v = ub_config_read(dev->core, dw + 3 - i);
		out[4 * i] = v >> 24;
		out[4 * i + 1] = v >> 16;
		out[4 * i + 2] = v >> 8;
		out[4 * i + 3] = v;
	}
}

void urma_eid(struct urma_dev *dev, u8 eid[16])
{
	ub_own_eid(dev->core, eid);
}

void urma_guid(struct urma_dev *dev, u8 guid[16])
{
	config_bytes(dev, UB_CFG0_GUID, guid);
}

u32 urma_upi(struct urma_dev *dev)
{
	return ub_own_upi(dev->core);
}

/* ---- life of the structure ---- */

static void dev_release(struct kref *kref)
{
	struct urma_dev *dev = container_of(kref, struct urma_dev, kref);

	urma_inode_free(dev->inode);
	put_device(dev->dma);
	kfree(dev);
}

void urma_dev_put(struct urma_dev *dev)
{
	kref_put(&dev->kref, dev_release);
}

struct urma_dev *urma_dev_find(unsigned int minor)
{
	struct urma_dev *dev;

	xa_lock(&urma_devs);
	dev = xa_load(&urma_devs, minor);
	if (dev)
		kref_get(&dev->kref);
	xa_unlock(&urma_devs);
	return dev;
}

static struct urma_dev *dev_new(struct ub_core *core)
{
	struct urma_dev *dev = kzalloc(sizeof(*dev), GFP_KERNEL);

	if (!dev)
		return NULL;
	dev->inode = urma_inode_new();
	if (IS_ERR(dev->inode)) {
		kfree(dev);
		return NULL;
	}
	kref_init(&dev->kref);
	dev->core = core;
	dev->dma = get_device(&core->pdev->dev);
	init_rwsem(&dev->life);
	init_rwsem(&dev->map);
	mutex_init(&dev->files_lock);
	ub_dests_init(&dev->dests, core);
	spin_lock_init(&dev->rings_lock);
	spin_lock_init(&dev->asyncs_lock);
	INIT_LIST_HEAD(&dev->files);
	INIT_LIST_HEAD(&dev->asyncs);
	INIT_LIST_HEAD(&dev->rings);
	xa_init_flags(&dev->jfcs, XA_FLAGS_LOCK_IRQ);
	xa_init_flags(&dev->queues, XA_FLAGS_LOCK_IRQ);
	xa_init_flags(&dev->groups, XA_FLAGS_LOCK_IRQ);
	return dev;
}

/* ---- nodes ---- */

static int nodes_add(struct urma_dev *dev)
{
	int err;

	dev->cdev = cdev_alloc();
	if (!dev->cdev)
		return -ENOMEM;
	dev->cdev->owner = THIS_MODULE;
	dev->cdev->ops = &urma_fops;
	err = cdev_add(dev->cdev, urma_devt + dev->minor, 1);
	if (err) {
		kobject_put(&dev->cdev->kobj);
		return err;
	}
	/* Whoever sees the attributes may open the node. */
	dev->node = device_create(&node_class, dev->dma,
				  urma_devt + dev->minor, dev, "%s", dev->name);
	if (IS_ERR(dev->node)) {
		err = PTR_ERR(dev->node);
		goto node;
	}
	dev->sysfs = device_create_with_groups(&sysfs_class, dev->dma, 0, dev,
					       urma_groups, "%s", dev->name);
	if (IS_ERR(dev->sysfs)) {
		err = PTR_ERR(dev->sysfs);
		goto sysfs;
	}
	err = urma_priorities_add(dev);
	if (!err) {
		/* Who has looked at once has not seen all. */
		kobject_uevent(&dev->sysfs->kobj, KOBJ_CHANGE);
		return 0;
	}
	device_unregister(dev->sysfs);
sysfs:
	device_unregister(dev->node);
node:
	cdev_del(dev->cdev);
	return err;
}

static void nodes_del(struct urma_dev *dev)
{
	urma_priorities_del(dev);
	device_unregister(dev->sysfs);
	device_unregister(dev->node);
	cdev_del(dev->cdev);
}

/* ---- start and stop ---- */

static int dev_start(struct urma_dev *dev)
{
	int err = urma_hw_start(dev);

	if (err)
		urma_hw_stop(dev);
	return err;
}

/* All contexts end: the engine forgets what they have.  Programs are told. */
static void dev_end_files(struct urma_dev *dev)
{
	struct urma_file *f;

	mutex_lock(&dev->files_lock);
	list_for_each_entry(f, &dev->files, list) {
		if (f->context && !f->dead)
			urma_async_event(f->async, URMA_EVENT_DEV_FATAL, 0,
					 NULL);
		urma_file_end(f, true);
	}
	mutex_unlock(&dev->files_lock);
}

/* Mappings of the files that there are lead nowhere from now on. */
static void dev_cut(struct urma_dev *dev)
{
	struct urma_file *f;

	mutex_lock(&dev->files_lock);
	down_write(&dev->map);
	list_for_each_entry(f, &dev->files, list)
		f->cut = f->context;	/* else one may still be made */
	up_write(&dev->map);
	mutex_unlock(&dev->files_lock);
}

static void dev_stop(struct urma_dev *dev)
{
	WRITE_ONCE(dev->dests.ending, true);
	down_write(&dev->life);
	if (!dev->stopped) {
		dev->stopped = true;
		dev_cut(dev);
		urma_unmap_all(dev);
		dev_end_files(dev);
		urma_paths_stop(dev);
		urma_hw_stop(dev);
	}
	up_write(&dev->life);
}

static int urma_probe(struct auxiliary_device *adev,
		      const struct auxiliary_device_id *id)
{
	struct ub_core *core = to_ub_engine(adev)->core;
	struct urma_dev *dev = dev_new(core);
	int err;

	if (!dev)
		return -ENOMEM;
	dev->bells = pci_resource_start(core->pdev, UB_BELL_BAR);
	err = pci_request_region(core->pdev, UB_BELL_BAR, KBUILD_MODNAME);
	if (err)
		goto put;
	err = dev_start(dev);
	if (err)
		goto stop;
	err = xa_alloc(&urma_devs, &dev->minor, dev,
		       XA_LIMIT(0, URMA_DEVICES - 1), GFP_KERNEL);
	if (err)
		goto stop;
	snprintf(dev->name, sizeof(dev->name), "ubc%u", dev->minor);
	err = nodes_add(dev);
	if (err)
		goto minor;
	auxiliary_set_drvdata(adev, dev);
	dev_info(dev->dma, "%s, %u doorbell pages, UMMU %s\n", dev->name,
		 dev->caps.pages, ub_ummu_on(core) ? "on" : "absent");
	return 0;

minor:
	xa_erase(&urma_devs, dev->minor);
stop:
	dev_stop(dev);
	urma_hw_free(dev);
	pci_release_region(core->pdev, UB_BELL_BAR);
put:
	urma_dev_put(dev);
	return err;
}

static void urma_remove(struct auxiliary_device *adev)
{
	struct urma_dev *dev = auxiliary_get_drvdata(adev);

	nodes_del(dev);
	xa_erase(&urma_devs, dev->minor);
	dev_stop(dev);
	down_write(&dev->life);
	dev->gone = true;
	up_write(&dev->life);
	urma_rings_empty(dev);
	urma_hw_free(dev);
	pci_release_region(dev->core->pdev, UB_BELL_BAR);
	urma_dev_put(dev);
}

/* The function is about to be reset: contexts end, programs open anew. */
static int urma_suspend(struct auxiliary_device *adev, pm_message_t state)
{
	dev_stop(auxiliary_get_drvdata(adev));
	return 0;
}

static int urma_resume(struct auxiliary_device *adev)
{
	struct urma_dev *dev = auxiliary_get_drvdata(adev);
	int err;

	down_write(&dev->life);
	err = dev_start(dev);
	if (!err)
		dev->stopped = dev->dests.ending = false;
	else
		dev_err(dev->dma, "no restart: %d\n", err);
	/* Contexts of before are told that they may be made anew, or not. */
	urma_async_all(dev, err ? URMA_EVENT_ELR_ERR : URMA_EVENT_ELR_DONE, 0);
	up_write(&dev->life);
	return err;
}

static const struct auxiliary_device_id urma_ids[] = {
	{ .name = "ub_core.urma" },
	{ }
};
MODULE_DEVICE_TABLE(auxiliary, urma_ids);

static struct auxiliary_driver urma_driver = {
	.name = "urma",
	.id_table = urma_ids,
	.probe = urma_probe,
	.remove = urma_remove,
	.suspend = urma_suspend,
	.resume = urma_resume,
	.driver.pm = pm_sleep_ptr(&ub_part_pm_ops),
};

/* ---- the module ---- */

/* Registering a class that is there would fail, too, but with a trace. */
static bool class_taken(const char *path)
{
	struct path at;

	if (kern_path(path, LOOKUP_FOLLOW, &at))
		return false;
	path_put(&at);
	pr_err("%s is another driver's\n", path);
	return true;
}

static int __init urma_init(void)
{
	int err;

	if (class_taken("/sys/class/ubcore") ||
	    class_taken("/sys/class/uburma"))
		return -EBUSY;
	err = class_register(&sysfs_class);
	if (err)
		return err;
	err = class_register(&node_class);
	if (err)
		goto sysfs;
	err = alloc_chrdev_region(&urma_devt, 0, URMA_DEVICES, "uburma");
	if (err)
		goto node;
	err = auxiliary_driver_register(&urma_driver);
	if (!err)
		return 0;
	unregister_chrdev_region(urma_devt, URMA_DEVICES);
node:
	class_unregister(&node_class);
sysfs:
	class_unregister(&sysfs_class);
	return err;
}

static void __exit urma_exit(void)
{
	auxiliary_driver_unregister(&urma_driver);
	unregister_chrdev_region(urma_devt, URMA_DEVICES);
	class_unregister(&node_class);
	class_unregister(&sysfs_class);
	xa_destroy(&urma_devs);
}

module_init(urma_init);
module_exit(urma_exit);

MODULE_DESCRIPTION("URMA for UnifiedBus controllers");
MODULE_LICENSE("GPL");
