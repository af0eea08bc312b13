// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The bus "ub": what sysfs shows of an Entity, as public tools read it
 * (docs/specs/ub-sysfs.rst).
 */
#include <linux/security.h>
#include <linux/sched/signal.h>

#include "bus.h"
#include "compat.h"

#define CONFIG_MOST 4096	/* bytes of a read that are refused: a whole page */

#define ENTITY_ATTR(_name, _format, ...)				\
	static ssize_t _name##_show(struct device *dev,		\
				    struct device_attribute *attr,	\
				    char *buf)				\
	{								\
		struct ub_entity *e = to_ub_entity(dev);		\
		ssize_t n;						\
									\
		mutex_lock(&e->fabric->lock);				\
		n = sysfs_emit(buf, _format "\n", __VA_ARGS__);		\
		mutex_unlock(&e->fabric->lock);				\
		return n;						\
	}								\
	static DEVICE_ATTR_RO(_name)

ENTITY_ATTR(type, "0x%x", e->info.guid[2] >> 24 & 0xf);
ENTITY_ATTR(vendor, "0x%04x", ub_entity_vendor(e));
ENTITY_ATTR(device, "0x%04x", ub_entity_device(e));
ENTITY_ATTR(class_code, "0x%04x", e->info.class_code);
ENTITY_ATTR(ubc, "0x%03x", e->fabric->root);
ENTITY_ATTR(primary_entity, "0x%03x", e->primary);
ENTITY_ATTR(entity_idx, "%u", e->info.index);
ENTITY_ATTR(primary_cna, "0x%04x", e->info.cna);
ENTITY_ATTR(upi, "0x%04x", e->info.upi);
ENTITY_ATTR(eid, "0x%05x", e->info.eid[0] & 0xfffff);
ENTITY_ATTR(guid, "%04x-%04x-%x-%x-%06x-%08x%08x", ub_entity_vendor(e),
	    ub_entity_device(e), e->info.guid[2] >> 28,
	    e->info.guid[2] >> 24 & 0xf, e->info.guid[2] & 0xffffff,
	    e->info.guid[1], e->info.guid[0]);

static ssize_t bound_instance_show(struct device *dev,
				   struct device_attribute *attr, char *buf)
{
	return sysfs_emit(buf, "0x000\n");
}

/* With the lock: the number of the Entity 0 with a GUID, or 0. */
static u32 number_of(struct ub_fabric *fabric, const u32 *guid)
{
	struct ub_entity *e;

	list_for_each_entry(e, &fabric->entities, list)
		if (!e->info.index &&
		    !memcmp(e->info.guid, guid, sizeof(e->info.guid)))
			return e->number;
	return 0;
}

/* The driver binds none. */
static struct device_attribute dev_attr_bound_instance =
	__ATTR(instance, 0444, bound_instance_show, NULL);

static ssize_t direct_link_show(struct device *dev,
				struct device_attribute *attr, char *buf)
{
	struct ub_entity *e = to_ub_entity(dev);
	unsigned int port;
	ssize_t n = 0;

	mutex_lock(&e->fabric->lock);
	/* A line has less; what a page has no room for is not shown. */
	for (port = 0; port < e->info.ports && n < PAGE_SIZE - 32; port++) {
		const struct ub_link *l = &e->link[port];
		u32 peer = l->up ? number_of(e->fabric, l->peer_guid) : 0;

		if (peer)
			n += sysfs_emit_at(buf, n, "0x%02x : 0x%02x [0x%03x]\n",
					   port, l->peer_port, peer);
	}
	mutex_unlock(&e->fabric->lock);
	return n;
}
static DEVICE_ATTR_RO(direct_link);

/* The other Entities of the node. */
static ssize_t ue_list_show(struct device *dev, struct device_attribute *attr,
			    char *buf)
{
	struct ub_entity *e = to_ub_entity(dev), *other;
	ssize_t n = 0;

	mutex_lock(&e->fabric->lock);
	list_for_each_entry(other, &e->fabric->entities, list)
		if (other != e && other->primary == e->number &&
		    n < PAGE_SIZE - 32)
			n += sysfs_emit_at(buf, n, "%05x\n", other->number);
	mutex_unlock(&e->fabric->lock);
	return n;
}
static DEVICE_ATTR_RO(ue_list);

/* Of Management UEs there is Entity 0 alone. */
static ssize_t mue_list_show(struct device *dev, struct device_attribute *attr,
			     char *buf)
{
	return 0;
}
static DEVICE_ATTR_RO(mue_list);

/* ---- The configuration space ---- */

/*
 * 2n bytes are n of data and n that say of each whether it could be read.
 */
static ssize_t config_read(struct file *file, struct kobject *kobj,
			   UB_BIN_ATTR *attr, char *buf, loff_t off,
			   size_t count)
{
	struct ub_entity *e = to_ub_entity(kobj_to_dev(kobj));
	size_t n = count / 2, done, len;
	int err = 0;

	if (count % 2 || !n || count >= CONFIG_MOST)
		return -EINVAL;
	for (done = 0; done < n; done += len) {
		u32 dw = (off + done) / 4, skip = (off + done) % 4, value;
		__le32 word;

		if (fatal_signal_pending(current))
			return -EINTR;
		len = min_t(size_t, 4 - skip, n - done);
		/* A node that is silent is asked once, not for each dword. */
		if (err != -ETIMEDOUT)
			err = (off + done) / 4 > U32_MAX
			      ? -EINVAL : ub_entity_read(e, dw, &value);
		if (err) {
			memset(buf + done, 0xff, len);
			memset(buf + n + done, 0xff, len);
			continue;
		}
		word = cpu_to_le32(value);
		memcpy(buf + done, (u8 *)&word + skip, len);
		memset(buf + n + done, 0, len);
	}
	return count;
}

static ssize_t config_write(struct file *file, struct kobject *kobj,
			    UB_BIN_ATTR *attr, char *buf, loff_t off,
			    size_t count)
{
	struct ub_entity *e = to_ub_entity(kobj_to_dev(kobj));
	unsigned int skip = off % 4;
	u8 word[4] = {};
	int err;

	err = security_locked_down(LOCKDOWN_PCI_ACCESS);
	if (err)
		return err;
	if ((count != 1 && count != 2 && count != 4) || off % count ||
	    off / 4 > U32_MAX)
		return -EINVAL;
	memcpy(word + skip, buf, count);
	err = ub_entity_write(e, off / 4, get_unaligned_le32(word),
			      GENMASK(count - 1, 0) << skip);
	return err ? err : count;
}

/* No size: the last bytes have a status as well.  A read makes messages and shows
 * what configures a node: it is root's. */
static BIN_ATTR(config, 0600, config_read, config_write, 0);

static struct attribute *entity_attrs[] = {
	&dev_attr_type.attr, &dev_attr_vendor.attr, &dev_attr_device.attr,
	&dev_attr_class_code.attr, &dev_attr_ubc.attr,
	&dev_attr_primary_entity.attr, &dev_attr_entity_idx.attr,
	&dev_attr_bound_instance.attr, &dev_attr_primary_cna.attr,
	&dev_attr_upi.attr, &dev_attr_eid.attr, &dev_attr_guid.attr,
	&dev_attr_direct_link.attr, &dev_attr_ue_list.attr,
	&dev_attr_mue_list.attr, NULL
};

UB_BIN_ATTRS entity_bin_attrs[] = { &bin_attr_config, NULL };

static umode_t entity_visible(struct kobject *kobj, struct attribute *attr,
			      int n)
{
	struct ub_entity *e = to_ub_entity(kobj_to_dev(kobj));

	if (e->info.index && (attr == &dev_attr_ue_list.attr ||
			      attr == &dev_attr_mue_list.attr))
		return 0;
	return attr->mode;
}

static const struct attribute_group entity_group = {
	.attrs = entity_attrs,
	.bin_attrs = entity_bin_attrs,
	.is_visible = entity_visible,
};

const struct attribute_group *ub_entity_groups[] = { &entity_group, NULL };

/* ---- The bus ---- */

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 4, 0)
#define BUS_TYPE struct bus_type
#else
#define BUS_TYPE const struct bus_type
#endif

static ssize_t instance_show(BUS_TYPE *bus, char *buf)
{
	return ub_instances_show(buf);
}

static ssize_t instance_store(BUS_TYPE *bus, const char *buf, size_t count)
{
	return ub_instances_store(buf, count);
}
static BUS_ATTR_RW(instance);

static ssize_t cluster_show(BUS_TYPE *bus, char *buf)
{
	return sysfs_emit(buf, "0\n");
}
static BUS_ATTR_RO(cluster);

static ssize_t rescan_store(BUS_TYPE *bus, const char *buf, size_t count)
{
	bool yes;
	int err = kstrtobool(buf, &yes);

	if (err)
		return err;
	if (yes)
		ub_fabric_rescan_all();
	return count;
}
static BUS_ATTR_WO(rescan);

static struct attribute *bus_attrs[] = {
	&bus_attr_instance.attr, &bus_attr_cluster.attr, &bus_attr_rescan.attr,
	NULL
};

static const struct attribute_group bus_group = { .attrs = bus_attrs };

const struct attribute_group *ub_bus_groups[] = { &bus_group, NULL };
