// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * URMA: what the public library and its tools read in /sys/class/ubcore.
 */
#include <linux/device.h>

#include "ub_urma.h"

/* An attribute that shows a field of the device's attributes. */
struct number_attr {
	struct device_attribute attr;
	u16 at;
	u8 size;
	bool hex;
};

static struct urma_dev *dev_of(struct device *dev)
{
	return dev_get_drvdata(dev);
}

/* Attributes are filled in for each reading, since ports and EIDs change. */
static struct urma_dev_attr *attr_get(struct device *dev)
{
	struct urma_dev_attr *a = kzalloc(sizeof(*a), GFP_KERNEL);

	if (a)
		urma_dev_attr_fill(dev_of(dev), a);
	return a;
}

static u64 number_get(const struct urma_dev_attr *a, u16 at, u8 size)
{
	const u8 *p = (const u8 *)a + at;

	return size == 1 ? *p : size == 2 ? *(const u16 *)p :
	       size == 4 ? *(const u32 *)p : *(const u64 *)p;
}

static ssize_t number_show(struct device *dev, struct device_attribute *attr,
			   char *buf)
{
	const struct number_attr *n =
		container_of(attr, struct number_attr, attr);
	struct urma_dev_attr *a = attr_get(dev);
	u64 value;

	if (!a)
		return -ENOMEM;
	value = number_get(a, n->at, n->size);
	kfree(a);
	return sysfs_emit(buf, n->hex ? "0x%llx\n" : "%llu\n", value);
}

#define NUMBER_AT(var, label, off, bytes, is_hex) \
	static struct number_attr var = { \
		__ATTR(label, 0444, number_show, NULL), off, bytes, is_hex }
#define NUMBER(label, field) \
	NUMBER_AT(attr_##label, label, offsetof(struct urma_dev_attr, field), \
		  sizeof_field(struct urma_dev_attr, field), false)
#define HEX(label, field) \
	NUMBER_AT(attr_##label, label, offsetof(struct urma_dev_attr, field), \
		  sizeof_field(struct urma_dev_attr, field), true)

/* File and field; one list makes attributes and the group. */
#define NUMBERS(X) \
	X(max_jfc, max_jfc) X(max_jfs, max_jfs) X(max_jfr, max_jfr) \
	X(max_jetty, max_jetty) X(max_jetty_grp, max_jetty_grp) \
	X(max_jetty_in_jetty_grp, max_jetty_in_jetty_grp) \
	X(max_jfc_depth, max_jfc_depth) X(max_jfs_depth, max_jfs_depth) \
	X(max_jfr_depth, max_jfr_depth) X(max_jfs_inline_size, max_inline) \
	X(max_jfs_sge, max_jfs_sge) X(max_jfs_rsge, max_jfs_rsge) \
	X(max_jfr_sge, max_jfr_sge) X(max_msg_size, max_msg_size) \
	X(max_read_size, max_read_size) X(max_write_size, max_write_size) \
	X(max_cas_size, max_cas_size) X(max_swap_size, max_swap_size) \
	X(max_fetch_and_add_size, max_add_size) \
	X(max_fetch_and_sub_size, max_sub_size) \
	X(max_fetch_and_and_size, max_and_size) \
	X(max_fetch_and_or_size, max_or_size) \
	X(max_fetch_and_xor_size, max_xor_size) \
	X(atomic_feat, atomic_feat) X(trans_mode, trans_mode) \
	X(congestion_ctrl_alg, congestion_ctrl_alg) X(ceq_cnt, ceq_cnt) \
	X(max_tp_in_tpg, max_tp_in_tpg) X(max_oor_cnt, max_oor_cnt) X(mn, mn) \
	X(max_netaddr_cnt, max_netaddr_cnt) X(port_count, port_cnt) \
	X(max_eid_cnt, max_eid_cnt)

#define NUMBER_X(label, field) NUMBER(label, field);
NUMBERS(NUMBER_X)
HEX(feature, feature);
HEX(page_size_cap, page_size_cap);

static ssize_t eid_emit(char *buf, const u8 eid[16])
{
	return sysfs_emit(buf, "%02x%02x:%02x%02x:%02x%02x:%02x%02x:"
			  "%02x%02x:%02x%02x:%02x%02x:%02x%02x\n",
			  eid[0], eid[1], eid[2], eid[3], eid[4], eid[5],
			  eid[6], eid[7], eid[8], eid[9], eid[10], eid[11],
			  eid[12], eid[13], eid[14], eid[15]);
}

static ssize_t ubdev_show(struct device *dev, struct device_attribute *attr,
			  char *buf)
{
	return sysfs_emit(buf, "%s\n", dev_of(dev)->name);
}
static DEVICE_ATTR_RO(ubdev);

static ssize_t driver_name_show(struct device *dev,
				struct device_attribute *attr, char *buf)
{
	return sysfs_emit(buf, "%s\n", URMA_DRIVER);
}
static DEVICE_ATTR_RO(driver_name);

static ssize_t transport_type_show(struct device *dev,
				   struct device_attribute *attr, char *buf)
{
	return sysfs_emit(buf, "0\n");
}
static DEVICE_ATTR_RO(transport_type);

static ssize_t guid_show(struct device *dev, struct device_attribute *attr,
			 char *buf)
{
	u8 guid[16];

	urma_guid(dev_of(dev), guid);
	return eid_emit(buf, guid);
}
static DEVICE_ATTR_RO(guid);

static ssize_t net_dev_show(struct device *dev, struct device_attribute *attr,
			    char *buf)
{
	return sysfs_emit(buf, "\n");
}
static DEVICE_ATTR_RO(net_dev);

static ssize_t reserved_jetty_id_show(struct device *dev,
				      struct device_attribute *attr, char *buf)
{
	return sysfs_emit(buf, "0-1023\n");
}
static DEVICE_ATTR_RO(reserved_jetty_id);

static struct attribute *main_attrs[] = {
	&dev_attr_ubdev.attr, &dev_attr_driver_name.attr,
	&dev_attr_transport_type.attr, &dev_attr_guid.attr,
	&dev_attr_net_dev.attr, &dev_attr_reserved_jetty_id.attr,
	&attr_feature.attr.attr, &attr_page_size_cap.attr.attr,
#define NUMBER_LIST(label, field) &attr_##label.attr.attr,
	NUMBERS(NUMBER_LIST)
	NULL
};

static const struct attribute_group main_group = { .attrs = main_attrs };

static ssize_t eid0_show(struct device *dev, struct device_attribute *attr,
			 char *buf)
{
	u8 eid[16];

	urma_eid(dev_of(dev), eid);
	return eid_emit(buf, eid);
}
static DEVICE_ATTR_RO(eid0);

static struct attribute *eid_attrs[] = { &dev_attr_eid0.attr, NULL };
static const struct attribute_group eid_group = {
	.name = "eids", .attrs = eid_attrs,
};

/* ---- ports: folders of the same files ---- */

#define PORT_FIELD(n, label) \
	NUMBER_AT(attr_port##n##_##label, label, \
		  offsetof(struct urma_dev_attr, port[n].label), 4, false)
#define PORT_GROUP(n) \
	PORT_FIELD(n, max_mtu); \
	PORT_FIELD(n, state); \
	PORT_FIELD(n, active_width); \
	PORT_FIELD(n, active_speed); \
	PORT_FIELD(n, active_mtu); \
	static struct attribute *port##n##_attrs[] = { \
		&attr_port##n##_max_mtu.attr.attr, \
		&attr_port##n##_state.attr.attr, \
		&attr_port##n##_active_width.attr.attr, \
		&attr_port##n##_active_speed.attr.attr, \
		&attr_port##n##_active_mtu.attr.attr, NULL }; \
	static umode_t port##n##_visible(struct kobject *kobj, \
					 struct attribute *attr, int i) \
	{ \
		struct urma_dev *dev = dev_of(kobj_to_dev(kobj)); \
		return n < dev->core->ports ? attr->mode : 0; \
	} \
	static const struct attribute_group port##n##_group = { \
		.name = "port" #n, .attrs = port##n##_attrs, \
		.is_visible = port##n##_visible }

PORT_GROUP(0);
PORT_GROUP(1);
PORT_GROUP(2);
PORT_GROUP(3);
PORT_GROUP(4);
PORT_GROUP(5);
PORT_GROUP(6);
PORT_GROUP(7);

const struct attribute_group *urma_groups[] = {
	&main_group, &eid_group, &port0_group, &port1_group, &port2_group,
	&port3_group, &port4_group, &port5_group, &port6_group, &port7_group,
	NULL
};

/* ---- priorities: a folder of folders, which groups of a device do not make ---- */

/* A file of a priority. */
struct priority_attr {
	struct kobj_attribute attr;
	u8 priority;
	bool carriers;
};

static ssize_t priority_show(struct kobject *kobj, struct kobj_attribute *attr,
			     char *buf)
{
	const struct priority_attr *p =
		container_of(attr, struct priority_attr, attr);
	struct urma_dev_attr *a = attr_get(kobj_to_dev(kobj->parent));
	u32 value;

	if (!a)
		return -ENOMEM;
	value = p->carriers ? a->priority[p->priority].tp_type :
			      a->priority[p->priority].sl;
	kfree(a);
	return sysfs_emit(buf, "%u\n", value);
}

#define PRIORITY(n) \
	static struct priority_attr priority##n[] = { \
		{ __ATTR(sl, 0444, priority_show, NULL), n, false }, \
		{ __ATTR(tp_type, 0444, priority_show, NULL), n, true } }; \
	static struct attribute *priority##n##_attrs[] = { \
		&priority##n[0].attr.attr, &priority##n[1].attr.attr, NULL }; \
	static const struct attribute_group priority##n##_group = { \
		.name = "priority" #n, .attrs = priority##n##_attrs }

PRIORITY(0);
PRIORITY(1);
PRIORITY(2);
PRIORITY(3);
PRIORITY(4);
PRIORITY(5);
PRIORITY(6);
PRIORITY(7);
PRIORITY(8);
PRIORITY(9);
PRIORITY(10);
PRIORITY(11);
PRIORITY(12);
PRIORITY(13);
PRIORITY(14);
PRIORITY(15);

static const struct attribute_group *priority_groups[] = {
	&priority0_group, &priority1_group, &priority2_group,
	&priority3_group, &priority4_group, &priority5_group,
	&priority6_group, &priority7_group, &priority8_group,
	&priority9_group, &priority10_group, &priority11_group,
	&priority12_group, &priority13_group, &priority14_group,
	&priority15_group, NULL
};

int urma_priorities_add(struct urma_dev *dev)
{
	int err;

	dev->priorities = kobject_create_and_add("priority", &dev->sysfs->kobj);
	if (!dev->priorities)
		return -ENOMEM;
	err = sysfs_create_groups(dev->priorities, priority_groups);
	if (err)
		urma_priorities_del(dev);
	return err;
}

void urma_priorities_del(struct urma_dev *dev)
{
	kobject_del(dev->priorities);
	kobject_put(dev->priorities);
	dev->priorities = NULL;
}
