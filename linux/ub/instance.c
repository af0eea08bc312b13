// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The bus "ub": bus instances that a manager has made at our controllers, as public
 * tools list them (docs/specs/ub-sysfs.rst).
 */
#include <linux/slab.h>

#include "bus.h"
#include "ub_engine.h"

#define INSTANCES_MOST	256	/* of all controllers */
#define SHOWN_MOST	50	/* in one read */
#define ID_BYTES	16
/* What made it: somebody at run time, in a machine that is in no cluster. */
#define DYNAMIC_SERVER	2

struct instance {
	u8 guid[ID_BYTES], eid[ID_BYTES];	/* most significant byte first */
	u32 upi;
};

struct instances {
	unsigned int count;
	struct instance one[INSTANCES_MOST];
};

static DEFINE_MUTEX(from_lock);
static unsigned int from;	/* the first that the next read shows */

/* One may be at each controller of the machine (UB 2.0 §10.4.3.3). */
static bool is_known(const struct instances *all, const u8 *guid)
{
	unsigned int i;

	for (i = 0; i < all->count; i++)
		if (!memcmp(all->one[i].guid, guid, ID_BYTES))
			return true;
	return false;
}

static void add_those_of(struct ub_fabric *fabric, void *opaque)
{
	struct instances *all = opaque;
	unsigned int i;
	struct ub_cmd cmd;

	if (!READ_ONCE(fabric->core->cmdq))
		return;
	for (i = 0; i < UBQ_INSTANCES && all->count < INSTANCES_MOST; i++) {
		struct instance *one = &all->one[all->count];
		int err;

		ub_cmd_init(&cmd, i, 0);
		err = ub_cmd_run(fabric->core, UBQ_OP_INSTANCE_QUERY, &cmd);
		if (err == -ENOENT)
			continue;
		/* It knows none, or does not work. */
		if (err)
			return;
		if (is_known(all, cmd.b + UBQ_INS_GUID))
			continue;
		memcpy(one->guid, cmd.b + UBQ_INS_GUID, ID_BYTES);
		memcpy(one->eid, cmd.b + UBQ_INS_EID, ID_BYTES);
		one->upi = ub_get32(&cmd, UBQ_INS_UPI);
		all->count++;
	}
}

static struct instances *all_instances(void)
{
	struct instances *all = kzalloc(sizeof(*all), GFP_KERNEL);

	if (all)
		ub_fabrics_each(add_those_of, all);
	return all;
}

static int show_one(char *buf, int n, const struct instance *one)
{
	const u8 *g = one->guid;

	return sysfs_emit_at(buf, n, "guid:%02x%02x-%02x%02x-%x-%x-%02x%02x%02x-"
			     "%8phN type:%x eid:%05x upi:%04x\n", g[0], g[1], g[2],
			     g[3], g[4] >> 4, g[4] & 0xf, g[5], g[6], g[7], g + 8,
			     DYNAMIC_SERVER,
			     (one->eid[13] & 0xf) << 16 | one->eid[14] << 8 |
			     one->eid[15], one->upi);
}

ssize_t ub_instances_show(char *buf)
{
	struct instances *all = all_instances();
	unsigned int first, n, i;
	int len;

	if (!all)
		return -ENOMEM;
	mutex_lock(&from_lock);
	first = min(from, all->count);	/* some have gone meanwhile */
	from = 0;
	mutex_unlock(&from_lock);
	n = min_t(unsigned int, all->count - first, SHOWN_MOST);
	len = sysfs_emit(buf, "count 0x%x, from 0x%x, show 0x%x\n", all->count,
			 first, n);
	for (i = 0; i < n; i++)
		len += show_one(buf, len, &all->one[first + i]);
	kfree(all);
	return len;
}

ssize_t ub_instances_store(const char *buf, size_t count)
{
	struct instances *all;
	unsigned int first;
	int err = kstrtouint(buf, 10, &first);

	if (err)
		return err;
	all = all_instances();
	if (!all)
		return -ENOMEM;
	if (first >= all->count) {
		err = -EINVAL;
	} else {
		mutex_lock(&from_lock);
		from = first;
		mutex_unlock(&from_lock);
	}
	kfree(all);
	return err ? err : count;
}
