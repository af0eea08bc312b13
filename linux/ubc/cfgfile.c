// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * UB controller driver: the configuration space as the file ub/config of the
 * PCI device.
 *
 * Offsets are the space's byte addresses (UB 2.0 Table 10-6); what is not
 * defined reads 0.  Reads and writes go dword by dword, as the space demands.
 */
#include "ubc.h"

static ssize_t ubc_cfg_read(struct file *file, struct kobject *kobj,
			    struct bin_attribute *attr, char *buf, loff_t off,
			    size_t count)
{
	struct ubc_dev *ubc = dev_get_drvdata(kobj_to_dev(kobj));
	size_t done = 0;

	while (done < count) {
		u32 at = off + done;
		__le32 value = cpu_to_le32(ubc_cfg_rd(ubc, at / 4));
		size_t n = min_t(size_t, 4 - at % 4, count - done);

		memcpy(buf + done, (u8 *)&value + at % 4, n);
		done += n;
	}
	return done;
}

static ssize_t ubc_cfg_write(struct file *file, struct kobject *kobj,
			     struct bin_attribute *attr, char *buf, loff_t off,
			     size_t count)
{
	struct ubc_dev *ubc = dev_get_drvdata(kobj_to_dev(kobj));
	size_t done;

	if (off % 4 || count % 4)
		return -EINVAL;
	for (done = 0; done < count; done += 4) {
		__le32 value;

		memcpy(&value, buf + done, 4);
		ubc_wr(ubc->bar, UBC_CFG_WINDOW + off + done,
		       le32_to_cpu(value));
	}
	return done;
}

static BIN_ATTR(config, 0600, ubc_cfg_read, ubc_cfg_write,
		UBC_CFG_WINDOW_SIZE);

static struct bin_attribute *ubc_cfg_attrs[] = { &bin_attr_config, NULL };

const struct attribute_group ubc_cfg_group = {
	.name = "ub",
	.bin_attrs = ubc_cfg_attrs,
};
