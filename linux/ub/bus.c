// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The bus "ub": Entities come and go as scans find them; drivers bind to them.
 */
#include <linux/idr.h>
#include <linux/module.h>
#include <linux/slab.h>

#include "bus.h"
#include "ub/cfg_regs.h"

#define NUMBER_MOST 0xfffff	/* five digits */
#define ENTITIES_MOST 4096	/* of a fabric: other nodes say how many */
#define NODE_TIME (10 * HZ)	/* for the Entities of a node, of which 255 may be */
#define SCAN_TIME (60 * HZ)	/* for those of all nodes */

static DEFINE_IDA(ub_numbers);
static DEFINE_MUTEX(ub_fabrics_lock);
static LIST_HEAD(ub_fabrics);

/* ---- Drivers ---- */

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 11, 0)
static int ub_match(struct device *dev, struct device_driver *driver)
#else
static int ub_match(struct device *dev, const struct device_driver *driver)
#endif
{
	const struct ub_driver *d = container_of(driver, struct ub_driver,
						 driver);
	const struct ub_entity *e = to_ub_entity(dev);
	const struct ub_id *id;

	for (id = d->ids; id->vendor || id->device; id++)
		if (id->vendor == ub_entity_vendor(e) &&
		    (id->device == UB_ANY_ID ||
		     id->device == ub_entity_device(e)))
			return 1;
	return 0;
}

static int ub_probe(struct device *dev)
{
	return container_of(dev->driver, struct ub_driver, driver)->probe(
		to_ub_entity(dev));
}

static void ub_remove(struct device *dev)
{
	struct ub_driver *d = container_of(dev->driver, struct ub_driver,
					   driver);

	if (d->remove)
		d->remove(to_ub_entity(dev));
}

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 3, 0)
static int ub_uevent(struct device *dev, struct kobj_uevent_env *env)
#else
static int ub_uevent(const struct device *dev, struct kobj_uevent_env *env)
#endif
{
	const struct ub_entity *e = to_ub_entity(dev);

	return add_uevent_var(env, "MODALIAS=ub:v%04Xd%04Xc%04X",
			      ub_entity_vendor(e), ub_entity_device(e),
			      e->info.class_code);
}

static struct bus_type ub_bus = {
	.name = "ub",
	.match = ub_match,
	.probe = ub_probe,
	.remove = ub_remove,
	.uevent = ub_uevent,
	.dev_groups = ub_entity_groups,
	.bus_groups = ub_bus_groups,
};

int ub_driver_register(struct ub_driver *driver)
{
	driver->driver.bus = &ub_bus;
	return driver_register(&driver->driver);
}
EXPORT_SYMBOL_GPL(ub_driver_register);

void ub_driver_unregister(struct ub_driver *driver)
{
	driver_unregister(&driver->driver);
}
EXPORT_SYMBOL_GPL(ub_driver_unregister);

/* ---- Registers ---- */

static int access_register(struct ub_entity *e, u32 dw, bool write, u8 bytes,
			   u32 *value)
{
	if (e->lent)
		return ub_scan_lent(e->fabric, &e->info, dw, write, bytes,
				    value);
	if (!e->local && !e->info.cna)
		return -EHOSTUNREACH;
	return ub_scan_config(e->fabric, e->local ? 0 : e->info.cna,
			      e->info.index, dw, write, bytes, value);
}

int ub_entity_read(struct ub_entity *e, u32 dw, u32 *value)
{
	if (e->local && !e->info.index) {
		*value = ub_config_read(e->fabric->core, dw);
		return 0;
	}
	return access_register(e, dw, false, 0xf, value);
}
EXPORT_SYMBOL_GPL(ub_entity_read);

int ub_entity_write(struct ub_entity *e, u32 dw, u32 value, u8 bytes)
{
	if (e->local && !e->info.index && bytes == 0xf) {
		ub_config_write(e->fabric->core, dw, value);
		return 0;
	}
	return access_register(e, dw, true, bytes, &value);
}
EXPORT_SYMBOL_GPL(ub_entity_write);

/* ---- Entities ---- */

static void ub_entity_release(struct device *dev)
{
	struct ub_entity *e = to_ub_entity(dev);

	ida_free(&ub_numbers, e->number);
	kfree(e->link);
	kfree(e);
}

struct ub_entity *ub_entity_find(struct ub_fabric *fabric, const u32 *guid,
				 unsigned int index)
{
	struct ub_entity *e;

	list_for_each_entry(e, &fabric->entities, list)
		if (e->info.index == index &&
		    !memcmp(e->info.guid, guid, sizeof(e->info.guid)))
			return e;
	return NULL;
}

/* Another Entity of the node whose Entity 0 is @primary. */
static struct ub_entity *find_other(struct ub_fabric *fabric, u32 primary,
				    unsigned int index)
{
	struct ub_entity *e;

	list_for_each_entry(e, &fabric->entities, list)
		if (e->info.index == index && e->primary == primary)
			return e;
	return NULL;
}

static struct ub_entity *find_number(struct ub_fabric *fabric, u32 number)
{
	struct ub_entity *e;

	list_for_each_entry(e, &fabric->entities, list)
		if (e->number == number)
			return e;
	return NULL;
}

void ub_entity_drop(struct ub_entity *e)
{
	mutex_lock(&e->fabric->lock);
	list_del(&e->list);
	e->fabric->count--;
	mutex_unlock(&e->fabric->lock);
	device_unregister(&e->dev);
}

struct ub_entity *ub_entity_new(struct ub_fabric *fabric,
				const struct ub_entity_info *info)
{
	struct ub_entity *e = fabric->count < ENTITIES_MOST ?
			      kzalloc(sizeof(*e), GFP_KERNEL) : NULL;
	int number;

	if (!e)
		return NULL;
	number = ida_alloc_range(&ub_numbers, 1, NUMBER_MOST, GFP_KERNEL);
	if (number < 0) {
		kfree(e);
		return NULL;
	}
	e->number = number;
	e->primary = number;
	e->fabric = fabric;
	e->info = *info;
	e->dev.bus = &ub_bus;
	e->dev.parent = &fabric->core->pdev->dev;
	e->dev.release = ub_entity_release;
	device_initialize(&e->dev);
	return e;
}

int ub_entity_add(struct ub_entity *e)
{
	struct ub_fabric *fabric = e->fabric;
	int err;

	mutex_lock(&fabric->lock);
	if (e->local && !e->info.index)
		fabric->root = e->number;
	list_add_tail(&e->list, &fabric->entities);
	fabric->count++;
	mutex_unlock(&fabric->lock);
	err = dev_set_name(&e->dev, "%05x", e->number);
	if (!err)
		err = device_add(&e->dev);
	if (err) {
		mutex_lock(&fabric->lock);
		list_del(&e->list);
		fabric->count--;
		mutex_unlock(&fabric->lock);
		put_device(&e->dev);
	}
	return err;
}

/* One that a scan has found; its links are taken from @n. */
static struct ub_entity *add_found(struct ub_fabric *fabric, struct ub_node *n,
				   const struct ub_entity_info *info,
				   u32 primary)
{
	struct ub_entity *e = ub_entity_new(fabric, info);

	if (!e)
		return NULL;
	e->local = !n->hops;
	if (primary)
		e->primary = primary;
	if (!info->index)
		swap(e->link, n->link);
	return ub_entity_add(e) ? NULL : e;
}

/* What the last scan says of one that is there. */
static void renew_entity(struct ub_entity *e, struct ub_node *n)
{
	mutex_lock(&e->fabric->lock);
	e->info = n->info;
	swap(e->link, n->link);
	mutex_unlock(&e->fabric->lock);
}

/* Another Entity of a node, which has a GUID and an EID of its own.  One whose
 * GUID is another now is another. */
static void add_other(struct ub_fabric *fabric, struct ub_node *n,
		      const struct ub_entity *first, unsigned int index)
{
	u32 cna = n->hops ? n->info.cna : 0;
	struct ub_entity_info info = { .cna = n->info.cna, .index = index };
	struct ub_entity *e;
	u32 class_code;
	unsigned int i;

	for (i = 0; i < 4; i++)
		if (ub_scan_config(fabric, cna, index, UB_CFG0_GUID + i, false,
				   0xf, &info.guid[i]) ||
		    ub_scan_config(fabric, cna, index, UB_CFG0_EID + i, false,
				   0xf, &info.eid[i]))
			return;
	if (!ub_scan_config(fabric, cna, index,
			    UB_CFG1_BASE + UB_CFG1_CLASS_CODE, false, 0xf,
			    &class_code))
		info.class_code = class_code;
	/* What is lent to us is what its registration says. */
	e = ub_entity_find(fabric, info.guid, index);
	if (e && e->lent)
		return;
	e = find_other(fabric, first->number, index);
	if (e && !memcmp(e->info.guid, info.guid, sizeof(info.guid))) {
		mutex_lock(&fabric->lock);
		e->info = info;
		mutex_unlock(&fabric->lock);
		return;
	}
	if (e)
		ub_entity_drop(e);
	add_found(fabric, n, &info, first->number);
}

/* How many Entities a scan has found in the node with a GUID; 0: it is gone. */
static unsigned int entities_of(struct list_head *nodes, const u32 *guid)
{
	struct ub_node *n;

	list_for_each_entry(n, nodes, list)
		if (!memcmp(guid, n->info.guid, sizeof(n->info.guid)))
			return max_t(unsigned int, n->info.entities, 1);
	return 0;
}

static void drop_gone(struct ub_fabric *fabric, struct list_head *nodes)
{
	struct ub_entity *e, *next, *first;
	unsigned int n;

	/* Others are behind their Entity 0, and go with it. */
	list_for_each_entry_safe(e, next, &fabric->entities, list) {
		first = e;
		if (e->lent)
			continue;
		if (e->info.index)
			first = find_number(fabric, e->primary);
		n = first ? entities_of(nodes, first->info.guid) : 0;
		if (e->info.index >= n)
			ub_entity_drop(e);
	}
}

/* Devices become what a scan has found.  A node may claim Entities that answer
 * late or never, while nothing else can change: it has a time for all of them. */
static void merge_nodes(struct ub_fabric *fabric, struct list_head *nodes)
{
	unsigned long end = jiffies + SCAN_TIME;
	struct ub_entity *e;
	struct ub_node *n;

	drop_gone(fabric, nodes);
	list_for_each_entry(n, nodes, list) {
		unsigned long own = jiffies + NODE_TIME;
		unsigned int i;

		e = ub_entity_find(fabric, n->info.guid, 0);
		if (e)
			renew_entity(e, n);
		else
			e = add_found(fabric, n, &n->info, 0);
		for (i = 1; e && i < n->info.entities &&
			    time_before(jiffies, own) &&
			    time_before(jiffies, end); i++)
			add_other(fabric, n, e, i);
	}
}

/* ---- The fabric ---- */

static void ub_fabric_scan(struct work_struct *work)
{
	struct ub_fabric *fabric = container_of(to_delayed_work(work),
						struct ub_fabric, scan);
	LIST_HEAD(nodes);

	/* One that was broken off says nothing. */
	if (!ub_scan_nodes(fabric, &nodes)) {
		mutex_lock(&fabric->change);
		merge_nodes(fabric, &nodes);
		mutex_unlock(&fabric->change);
	}
	ub_scan_free(&nodes);
}

/* One that waits is not put off: peers may tell of links as often as they like. */
void ub_fabric_look(struct ub_fabric *fabric)
{
	queue_delayed_work(system_long_wq, &fabric->scan, HZ / 10);
}

void ub_fabric_changed(struct ub_core *core)
{
	if (core->fabric)
		ub_fabric_look(core->fabric);
}

void ub_fabric_rescan_all(void)
{
	struct ub_fabric *fabric;

	mutex_lock(&ub_fabrics_lock);
	list_for_each_entry(fabric, &ub_fabrics, list) {
		mod_delayed_work(system_long_wq, &fabric->scan, 0);
		flush_delayed_work(&fabric->scan);
	}
	mutex_unlock(&ub_fabrics_lock);
}

void ub_fabrics_each(void (*fn)(struct ub_fabric *fabric, void *opaque),
		     void *opaque)
{
	struct ub_fabric *fabric;

	mutex_lock(&ub_fabrics_lock);
	list_for_each_entry(fabric, &ub_fabrics, list)
		fn(fabric, opaque);
	mutex_unlock(&ub_fabrics_lock);
}

int ub_fabric_add(struct ub_core *core)
{
	struct ub_fabric *fabric;

	if (!core->msgs)
		return 0;
	fabric = kzalloc(sizeof(*fabric), GFP_KERNEL);
	if (!fabric)
		return -ENOMEM;
	fabric->core = core;
	fabric->client = ub_msg_open(core->msgs);
	if (!fabric->client) {
		kfree(fabric);
		return -ENOMEM;
	}
	if (ub_pool_init(fabric)) {
		ub_msg_close(fabric->client);
		kfree(fabric);
		return -ENOMEM;
	}
	mutex_init(&fabric->lock);
	mutex_init(&fabric->change);
	INIT_LIST_HEAD(&fabric->entities);
	INIT_DELAYED_WORK(&fabric->scan, ub_fabric_scan);
	mutex_lock(&ub_fabrics_lock);
	list_add_tail(&fabric->list, &ub_fabrics);
	mutex_unlock(&ub_fabrics_lock);
	WRITE_ONCE(core->fabric, fabric);
	ub_fabric_changed(core);
	return 0;
}

void ub_fabric_del(struct ub_core *core)
{
	struct ub_fabric *fabric = core->fabric;
	struct ub_entity *e, *next;

	if (!fabric)
		return;
	core->fabric = NULL;
	mutex_lock(&ub_fabrics_lock);
	list_del(&fabric->list);
	mutex_unlock(&ub_fabrics_lock);
	ub_pool_exit(fabric);
	cancel_delayed_work_sync(&fabric->scan);
	mutex_lock(&fabric->change);
	list_for_each_entry_safe(e, next, &fabric->entities, list)
		ub_entity_drop(e);
	mutex_unlock(&fabric->change);
	ub_msg_close(fabric->client);
	kfree(fabric);
}

int ub_bus_init(void)
{
	return bus_register(&ub_bus);
}

void ub_bus_exit(void)
{
	bus_unregister(&ub_bus);
}
