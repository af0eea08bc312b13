// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * URMA: groups of jetties, of which the engine chooses one for each message
 * (UB 2.0 §8.2.2.1).
 */
#include <linux/slab.h>

#include "ub_urma.h"

/* By the library's numbers. */
static const u8 policies[] = { UBQ_JG_ROUND_ROBIN, UBQ_JG_HINT };

static int group_make(struct urma_file *f, struct urma_group *g,
		      const struct urma_group_cmd *a)
{
	struct ub_cmd cmd;
	int err;

	ub_cmd_init(&cmd, a->id ? a->id : UBQ_NEW, 0);
	ub_put8(&cmd, UBQ_JG_POLICY, policies[a->policy]);
	ub_put32(&cmd, UBQ_JG_FLAGS,
		   a->flag & URMA_TOKEN_POLICY ? UBQ_Q_TOKEN : 0);
	ub_put32(&cmd, UBQ_JG_TOKEN_VALUE, a->token);
	err = urma_cmd_run(f->dev, UBQ_OP_JGROUP_CREATE, &cmd);
	if (err)
		return err;
	g->id = ub_cmd_object(&cmd);
	if (g->id == UBQ_NEW)
		return -EIO;
	return xa_err(xa_store_irq(&f->dev->groups, g->id, g,
				   GFP_KERNEL_ACCOUNT));
}

/* Of a group that may be half made. */
void urma_group_end(struct urma_file *f, struct urma_group *g, bool engine)
{
	struct ub_cmd cmd;

	if (g->id != UBQ_NEW) {
		xa_erase_irq(&f->dev->groups, g->id);
		ub_cmd_init(&cmd, g->id, 0);
		if (engine)
			urma_cmd_run(f->dev, UBQ_OP_JGROUP_DESTROY, &cmd);
	}
	urma_async_purge(f->async, &g->obj);
	kfree(g);
}

int urma_create_group(struct urma_file *f, void *args)
{
	struct urma_group_cmd *a = args;
	struct urma_group *g;
	int err;

	if (a->policy >= ARRAY_SIZE(policies) ||
	    (a->flag & URMA_TOKEN_POLICY) > 1)
		return -EINVAL;
	if (a->id && a->id <= URMA_WELL_KNOWN_MAX &&
	    !capable(CAP_NET_BIND_SERVICE))
		return -EPERM;
	g = kzalloc(sizeof(*g), GFP_KERNEL_ACCOUNT);
	if (!g)
		return -ENOMEM;
	g->id = UBQ_NEW;
	g->async = f->async;
	g->obj.cookie = a->cookie;
	err = group_make(f, g, a);
	if (!err)
		err = urma_obj_add(f, &g->obj, URMA_GROUP, a->cookie);
	if (err) {
		urma_group_end(f, g, true);
		return err;
	}
	a->id = g->id;
	a->handle = g->obj.handle;
	return 0;
}

int urma_destroy_group(struct urma_file *f, void *args)
{
	struct urma_group_cmd *a = args;
	struct urma_group *g = urma_obj_get(f, a->handle, URMA_GROUP);
	int err;

	if (!g)
		return -EINVAL;
	err = urma_obj_take(f, &g->obj);
	if (err)
		return err;
	xa_erase_irq(&f->dev->groups, g->id);
	urma_async_purge(f->async, &g->obj);
	a->async_events = g->obj.async_reported;
	urma_group_end(f, g, true);
	return 0;
}
