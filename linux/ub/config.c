// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * UB controllers: the configuration space, for drivers and as the file
 * ub/config of the PCI device.
 *
 * Offsets of the file are the space's byte addresses (UB 2.0 Table 10-6); what
 * is not defined reads 0.  Reads and writes go dword by dword, as the space
 * demands.
 */
#include <linux/security.h>

#include "ub_core.h"
#include "ub/cfg_regs.h"

u32 ub_config_read(struct ub_core *core, u32 dw)
{
	return ub_rd(core->bar, UBC_CFG_WINDOW + 4 * dw);
}
EXPORT_SYMBOL_GPL(ub_config_read);

void ub_config_write(struct ub_core *core, u32 dw, u32 value)
{
	unsigned long flags;

	spin_lock_irqsave(&core->config_lock, flags);
	ub_wr(core->bar, UBC_CFG_WINDOW + 4 * dw, value);
	spin_unlock_irqrestore(&core->config_lock, flags);
}
EXPORT_SYMBOL_GPL(ub_config_write);

void ub_config_update(struct ub_core *core, u32 dw, u32 mask, u32 value)
{
	unsigned long flags;
	u32 old;

	spin_lock_irqsave(&core->config_lock, flags);
	old = ub_config_read(core, dw);
	ub_wr(core->bar, UBC_CFG_WINDOW + 4 * dw,
	      (old & ~mask) | (value & mask));
	spin_unlock_irqrestore(&core->config_lock, flags);
}
EXPORT_SYMBOL_GPL(ub_config_update);

static ssize_t config_read(struct file *file, struct kobject *kobj,
			   struct bin_attribute *attr, char *buf, loff_t off,
			   size_t count)
{
	struct ub_core *core = dev_get_drvdata(kobj_to_dev(kobj));
	u32 slice = ~0u;
	bool there = false;
	size_t done = 0;

	while (done < count) {
		u32 dw = (off + done) / 4, skip = (off + done) % 4;
		size_t n = min_t(size_t, 4 - skip, count - done);
		__le32 value = 0;

		/* A slice without a header does not exist: one read for it. */
		if (dw / UB_CFG_SLICE != slice) {
			slice = dw / UB_CFG_SLICE;
			there = ub_config_read(core, slice * UB_CFG_SLICE);
		}
		if (there)
			value = cpu_to_le32(ub_config_read(core, dw));
		memcpy(buf + done, (u8 *)&value + skip, n);
		done += n;
	}
	return done;
}

static ssize_t config_write(struct file *file, struct kobject *kobj,
			    struct bin_attribute *attr, char *buf, loff_t off,
			    size_t count)
{
	struct ub_core *core = dev_get_drvdata(kobj_to_dev(kobj));
	size_t done;
	int err;

	err = security_locked_down(LOCKDOWN_PCI_ACCESS);
	if (err)
		return err;
	if (off % 4 || count % 4)
		return -EINVAL;
	for (done = 0; done < count; done += 4) {
		__le32 value;

		memcpy(&value, buf + done, 4);
		ub_config_write(core, (off + done) / 4, le32_to_cpu(value));
	}
	return done;
}

static BIN_ATTR(config, 0600, config_read, config_write, UBC_CFG_WINDOW_SIZE);

static struct bin_attribute *config_attrs[] = { &bin_attr_config, NULL };

const struct attribute_group ub_config_group = {
	.name = "ub",
	.bin_attrs = config_attrs,
};
