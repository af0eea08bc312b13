// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * UB memory: devices, their nodes, attributes and their end.
 */
#include <linux/auxiliary_bus.h>
#include <linux/fs.h>
#include <linux/idr.h>
#include <linux/module.h>
#include <linux/pci.h>
#include <linux/slab.h>

#include "ub_mem.h"

#define WINDOW_BAR 4

static DEFINE_IDA(mem_ids);

/* ---- attributes ---- */

static struct mem_dev *dev_of(struct device *dev)
{
	return container_of(dev_get_drvdata(dev), struct mem_dev, misc);
}

static ssize_t window_show(struct device *dev, struct device_attribute *attr,
			   char *buf)
{
	return sysfs_emit(buf, "%llu\n", dev_of(dev)->decoder.bytes);
}
static DEVICE_ATTR_RO(window);

/* MiBs of the window that imports have. */
static ssize_t used_show(struct device *dev, struct device_attribute *attr,
			 char *buf)
{
	struct mem_decoder *d = &dev_of(dev)->decoder;
	unsigned int n;

	mutex_lock(&d->lock);
	n = bitmap_weight(d->used, d->mibs);
	mutex_unlock(&d->lock);
	return sysfs_emit(buf, "%u\n", n);
}
static DEVICE_ATTR_RO(used);

static ssize_t exports_show(struct device *dev, struct device_attribute *attr,
			    char *buf)
{
	return sysfs_emit(buf, "%d\n", atomic_read(&dev_of(dev)->exports));
}
static DEVICE_ATTR_RO(exports);

/* Accesses to peers that have failed. */
static ssize_t failed_show(struct device *dev, struct device_attribute *attr,
			   char *buf)
{
	return sysfs_emit(buf, "%lld\n",
			  (long long)atomic64_read(&dev_of(dev)->failed));
}
static DEVICE_ATTR_RO(failed);

/* Pages that were not asked of a peer, or sent to it, because it was silent. */
static ssize_t spared_show(struct device *dev, struct device_attribute *attr,
			   char *buf)
{
	return sysfs_emit(buf, "%lld\n",
			  (long long)atomic64_read(&dev_of(dev)->spared));
}
static DEVICE_ATTR_RO(spared);

/* Interrupts that told of moves of pages that were over. */
static ssize_t woken_show(struct device *dev, struct device_attribute *attr,
			  char *buf)
{
	return sysfs_emit(buf, "%u\n",
			  atomic_read(&dev_of(dev)->eq.events));
}
static DEVICE_ATTR_RO(woken);

static ssize_t eid_show(struct device *dev, struct device_attribute *attr,
			char *buf)
{
	u8 eid[16];

	ub_own_eid(dev_of(dev)->core, eid);
	return sysfs_emit(buf, "%*phN\n", 16, eid);
}
static DEVICE_ATTR_RO(eid);

static struct attribute *mem_attrs[] = {
	&dev_attr_window.attr,
	&dev_attr_used.attr,
	&dev_attr_exports.attr,
	&dev_attr_failed.attr,
	&dev_attr_spared.attr,
	&dev_attr_woken.attr,
	&dev_attr_eid.attr,
	NULL
};

static const struct attribute_group mem_group = {
	.attrs = mem_attrs,
};

static const struct attribute_group *mem_groups[] = {
	&mem_group,
	&mem_text_group,
	NULL
};

/* ---- life of the structure ---- */

static void dev_release(struct kref *kref)
{
	struct mem_dev *dev = container_of(kref, struct mem_dev, kref);

	destroy_workqueue(dev->works);
	put_device(dev->dma);
	xa_destroy(&dev->imports);
	kfree(dev);
}

void mem_dev_get(struct mem_dev *dev)
{
	kref_get(&dev->kref);
}

void mem_dev_put(struct mem_dev *dev)
{
	kref_put(&dev->kref, dev_release);
}

static struct mem_dev *dev_new(struct ub_core *core)
{
	struct mem_dev *dev = kzalloc(sizeof(*dev), GFP_KERNEL);

	if (!dev)
		return NULL;
	dev->works = alloc_workqueue(KBUILD_MODNAME, WQ_UNBOUND, 0);
	if (!dev->works) {
		kfree(dev);
		return NULL;
	}
	kref_init(&dev->kref);
	dev->core = core;
	dev->dma = get_device(&core->pdev->dev);
	init_rwsem(&dev->life);
	init_rwsem(&dev->map);
	init_rwsem(&dev->mapped);
	mutex_init(&dev->files_lock);
	ub_dests_init(&dev->dests, core);
	mutex_init(&dev->decoder.lock);
	sema_init(&dev->decoder.slots, UB_LDS_SLOTS);
	mem_queues_init(dev);
	spin_lock_init(&dev->decoder.event_lock);
	INIT_LIST_HEAD(&dev->files);
	mem_file_init(&dev->text, dev);
	xa_init_flags(&dev->imports, XA_FLAGS_LOCK_IRQ);
	dev->misc.minor = MISC_DYNAMIC_MINOR;
	dev->misc.name = dev->name;
	dev->misc.fops = &mem_fops;
	dev->misc.parent = dev->dma;
	dev->misc.groups = mem_groups;
	dev->misc.mode = 0600;
	return dev;
}

/* ---- start and stop ---- */

/* All files end: the engine forgets what they have. */
static void dev_stop(struct mem_dev *dev)
{
	struct mem_file *f;
	bool was;

	WRITE_ONCE(dev->dests.ending, true);
	down_write(&dev->life);
	was = dev->stopped;
	dev->stopped = true;
	/* One that was opened while the device stood still ends as well. */
	mutex_lock(&dev->files_lock);
	list_for_each_entry(f, &dev->files, list)
		mem_imports_leave(f);
	mem_imports_leave(&dev->text);
	list_for_each_entry(f, &dev->files, list)
		if (!f->dead)
			mem_file_end(f);
	mutex_unlock(&dev->files_lock);
	mem_file_end(&dev->text);
	if (!was) {
		mem_queues_stop(dev);
		mem_decoder_stop(dev);
		ub_channels_stop(&dev->dests);
	}
	up_write(&dev->life);
}

static int dev_start(struct mem_dev *dev)
{
	int err = mem_decoder_start(dev);

	if (!err)
		err = mem_queues_start(dev);
	if (err) {
		mem_queues_stop(dev);
		mem_decoder_stop(dev);
	}
	return err;
}

static int mem_probe(struct auxiliary_device *adev,
		     const struct auxiliary_device_id *id)
{
	struct ub_core *core = to_ub_engine(adev)->core;
	struct mem_dev *dev = dev_new(core);
	int err;

	if (!dev)
		return -ENOMEM;
	err = pci_request_region(core->pdev, WINDOW_BAR, KBUILD_MODNAME);
	if (err)
		goto put;
	err = dev_start(dev);
	if (err)
		goto stop;
	dev->id = ida_alloc(&mem_ids, GFP_KERNEL);
	if (dev->id < 0) {
		err = dev->id;
		goto stop;
	}
	snprintf(dev->name, sizeof(dev->name), "ubmem%d", dev->id);
	err = misc_register(&dev->misc);
	if (err)
		goto id;
	auxiliary_set_drvdata(adev, dev);
	dev_info(dev->dma, "%s, window of %llu MiB\n", dev->name,
		 dev->decoder.bytes >> UB_LDS_PAGE_BITS);
	return 0;

id:
	ida_free(&mem_ids, dev->id);
stop:
	dev_stop(dev);
	mem_queues_free(dev);
	mem_decoder_free(dev);
	pci_release_region(core->pdev, WINDOW_BAR);
put:
	mem_dev_put(dev);
	return err;
}

static void mem_remove(struct auxiliary_device *adev)
{
	struct mem_dev *dev = auxiliary_get_drvdata(adev);

	misc_deregister(&dev->misc);
	ida_free(&mem_ids, dev->id);
	dev_stop(dev);
	down_write(&dev->life);
	dev->gone = true;
	up_write(&dev->life);
	mem_queues_free(dev);
	mem_decoder_free(dev);
	pci_release_region(dev->core->pdev, WINDOW_BAR);
	mem_dev_put(dev);
}

/* The function is about to be reset: files end, programs open anew. */
static int mem_suspend(struct auxiliary_device *adev, pm_message_t state)
{
	dev_stop(auxiliary_get_drvdata(adev));
	return 0;
}

static int mem_resume(struct auxiliary_device *adev)
{
	struct mem_dev *dev = auxiliary_get_drvdata(adev);
	int err;

	down_write(&dev->life);
	err = dev_start(dev);
	if (!err)
		dev->stopped = dev->text.dead = dev->dests.ending = false;
	else
		dev_err(dev->dma, "no restart: %d\n", err);
	up_write(&dev->life);
	return err;
}

static const struct auxiliary_device_id mem_ids_table[] = {
	{ .name = "ub_core.mem" },
	{ }
};
MODULE_DEVICE_TABLE(auxiliary, mem_ids_table);

static struct auxiliary_driver mem_driver = {
	.name = "mem",
	.id_table = mem_ids_table,
	.probe = mem_probe,
	.remove = mem_remove,
	.suspend = mem_suspend,
	.resume = mem_resume,
	.driver.pm = pm_sleep_ptr(&ub_part_pm_ops),
};
module_auxiliary_driver(mem_driver);

MODULE_DESCRIPTION("Memory of other nodes for UnifiedBus controllers");
MODULE_LICENSE("GPL");
