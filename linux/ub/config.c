// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * UB controllers: the configuration space, for drivers and as the file
 * ub/config of the PCI device.
 *
 * Offsets of the file are the space's byte addresses (UB 2.0 Table 10-6); what
 * is not defined reads 0.  Reads and writes go dword by dword, as the space
 * demands.
 */
#include <linux/bitfield.h>
#include <linux/security.h>

#include "compat.h"
#include "ub_core.h"
#include "ub/cfg_regs.h"

/* With the lock where it is beyond the window. */
static u32 config_get(struct ub_core *core, u32 dw)
{
	if (dw < UBC_CFG_WINDOW_SIZE / 4)
		return ub_rd(core->bar, UBC_CFG_WINDOW + 4 * dw);
	ub_wr(core->bar, UBC_CFG_ADDR, dw);
	return ub_rd(core->bar, UBC_CFG_DATA);
}

static void config_set(struct ub_core *core, u32 dw, u32 value)
{
	if (dw < UBC_CFG_WINDOW_SIZE / 4) {
		ub_wr(core->bar, UBC_CFG_WINDOW + 4 * dw, value);
	} else {
		ub_wr(core->bar, UBC_CFG_ADDR, dw);
		ub_wr(core->bar, UBC_CFG_DATA, value);
	}
}

u32 ub_config_read(struct ub_core *core, u32 dw)
{
	unsigned long flags;
	u32 value;

	spin_lock_irqsave(&core->config_lock, flags);
	value = config_get(core, dw);
	spin_unlock_irqrestore(&core->config_lock, flags);
	return value;
}
EXPORT_SYMBOL_GPL(ub_config_read);

void ub_config_write(struct ub_core *core, u32 dw, u32 value)
{
	unsigned long flags;

	spin_lock_irqsave(&core->config_lock, flags);
	config_set(core, dw, value);
	spin_unlock_irqrestore(&core->config_lock, flags);
}
EXPORT_SYMBOL_GPL(ub_config_write);

void ub_config_update(struct ub_core *core, u32 dw, u32 mask, u32 value)
{
	unsigned long flags;

	spin_lock_irqsave(&core->config_lock, flags);
	config_set(core, dw, (config_get(core, dw) & ~mask) | (value & mask));
	spin_unlock_irqrestore(&core->config_lock, flags);
}
EXPORT_SYMBOL_GPL(ub_config_update);

/* ---- What a port's registers say of its link ---- */

/* Mb/s per lane of Data Rate 0 … 8 in PHY Mode-2 and Mode-1 (UB 2.0 §3.1). */
static u32 lane_rate(unsigned int rate, bool mode1)
{
	static const u32 mode2_mbps[] = {
		2578, 0, 25781, 0, 53125, 0, 0, 0, 106250
	};

	if (mode1)
		return rate ? 0 : 4000;
	return rate < ARRAY_SIZE(mode2_mbps) ? mode2_mbps[rate] : 0;
}

void ub_core_link(struct ub_core *core, unsigned int port, u32 *lane_mbps,
		  u32 *lanes)
{
	u32 base = UB_CFG_PORT_CAP(port, UB_CAP_LINK);
	u32 status = ub_config_read(core, base + UB_LINK_PHY_STATUS_1);
	u32 control = ub_config_read(core, base + UB_LINK_PHY_CTL_1);

	*lane_mbps = lane_rate(FIELD_GET(UB_LINK_PHY_STATUS_1__CUR_LINK_SPEED,
					 status),
			       !FIELD_GET(UB_LINK_PHY_CTL_1__PHY_MODE_CTL,
					  control));
	*lanes = FIELD_GET(UB_LINK_PHY_STATUS_1__CUR_TX_LINK_WIDTH, status);
}
EXPORT_SYMBOL_GPL(ub_core_link);

/* ---- The file ---- */

static ssize_t config_read(struct file *file, struct kobject *kobj,
			   UB_BIN_ATTR *attr, char *buf, loff_t off,
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
			    UB_BIN_ATTR *attr, char *buf, loff_t off,
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

UB_BIN_ATTRS config_attrs[] = { &bin_attr_config, NULL };

const struct attribute_group ub_config_group = {
	.name = "ub",
	.bin_attrs = config_attrs,
};
