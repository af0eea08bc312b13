// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * URMA: completion queues (JFC).
 */
#include <linux/log2.h>
#include <linux/slab.h>

#include "ub_urma.h"

#define LOG2_MIN	4
#define LOG2_MAX	15

static int jfc_make(struct urma_file *f, struct urma_jfc *jfc)
{
	struct ub_cmd cmd;
	int err;

	ub_cmd_init(&cmd, UBQ_NEW, 0);
	ub_put64(&cmd, UBQ_CQ_BASE, jfc->obj.ring->dma);
	ub_put8(&cmd, UBQ_CQ_LOG2, ilog2(jfc->depth));
	ub_put16(&cmd, UBQ_CQ_PAGE, f->page);
	err = urma_cmd_run(f->dev, UBQ_OP_CQ_CREATE, &cmd);
	if (err)
		return err;
	jfc->id = ub_cmd_object(&cmd);
	if (jfc->id == UBQ_NEW)
		return -EIO;
	return xa_err(xa_store_irq(&f->dev->jfcs, jfc->id, jfc,
				   GFP_KERNEL_ACCOUNT));
}

void urma_jfc_end(struct urma_file *f, struct urma_jfc *jfc, bool engine)
{
	struct ub_cmd cmd;

	if (jfc->id != UBQ_NEW) {
		xa_erase_irq(&f->dev->jfcs, jfc->id);
		ub_cmd_init(&cmd, jfc->id, 0);
		if (engine && urma_cmd_run(f->dev, UBQ_OP_CQ_DESTROY, &cmd)) {
			urma_ring_keep(jfc->obj.ring);
			jfc->obj.ring = NULL;
		}
	}
	if (jfc->jfce) {
		spin_lock_irq(&jfc->jfce->lock);
		list_del_init(&jfc->ready);
		spin_unlock_irq(&jfc->jfce->lock);
		urma_jfce_put(jfc->jfce);
	}
	urma_async_purge(f->async, &jfc->obj);
	urma_ring_put(jfc->obj.ring);
	kfree(jfc);
}

int urma_create_jfc(struct urma_file *f, void *args)
{
	struct urma_jfc_cmd *a = args;
	struct urma_queue_private mine = { };
	struct urma_jfc *jfc;
	int err = -ENOMEM;

	if (!a->depth || a->depth > 1u << LOG2_MAX)
		return -EINVAL;
	jfc = kzalloc(sizeof(*jfc), GFP_KERNEL_ACCOUNT);
	if (!jfc)
		return -ENOMEM;
	jfc->id = UBQ_NEW;
	jfc->async = f->async;
	INIT_LIST_HEAD(&jfc->ready);
	jfc->depth = max_t(u32, roundup_pow_of_two(a->depth), 1 << LOG2_MIN);
	jfc->obj.ring = urma_ring_new(f->dev, (size_t)jfc->depth * UBQ_CQE,
				      false);
	if (!jfc->obj.ring)
		goto end;
	jfc->obj.cookie = a->cookie;
	err = -EBADF;
	if (a->jfce_fd >= 0) {
		jfc->jfce = urma_jfce_get(f, a->jfce_fd);
		if (!jfc->jfce)
			goto end;
	}
	err = jfc_make(f, jfc);
	if (err)
		goto end;
	mine.log2 = ilog2(jfc->depth);
	mine.bytes = jfc->obj.ring->bytes;
	err = urma_obj_add(f, &jfc->obj, URMA_JFC, a->cookie);
	if (err)
		goto end;
	urma_private_put(a, &a->udata, &mine, sizeof(mine));
	a->id = jfc->id;
	a->depth = jfc->depth;
	a->handle = jfc->obj.handle;
	return 0;

end:
	urma_jfc_end(f, jfc, true);
	return err;
}

int urma_modify_jfc(struct urma_file *f, void *args)
{
	struct urma_jfc_cmd *a = args;
	struct urma_jfc *jfc = urma_obj_get(f, a->handle, URMA_JFC);
	struct ub_cmd cmd;

	if (!jfc || a->mask & ~(URMA_MODIFY_JFC_COUNT |
				URMA_MODIFY_JFC_PERIOD))
		return -EINVAL;
	if (a->mask & URMA_MODIFY_JFC_COUNT)
		jfc->count = a->count;
	if (a->mask & URMA_MODIFY_JFC_PERIOD)
		jfc->period = a->period;
	ub_cmd_init(&cmd, jfc->id, 0);
	ub_put16(&cmd, UBQ_CQ_COUNT, jfc->count);
	ub_put32(&cmd, UBQ_CQ_PERIOD, jfc->period);
	return urma_cmd_run(f->dev, UBQ_OP_CQ_MODIFY, &cmd);
}

int urma_delete_jfc(struct urma_file *f, void *args)
{
	struct urma_handle_cmd *a = args;
	struct urma_jfc *jfc = urma_obj_get(f, a->handle, URMA_JFC);
	int err;

	if (!jfc)
		return -EINVAL;
	err = urma_obj_take(f, &jfc->obj);
	if (err)
		return err;
	/* Nobody counts any more when the numbers are read. */
	xa_erase_irq(&f->dev->jfcs, jfc->id);
	if (jfc->jfce) {
		spin_lock_irq(&jfc->jfce->lock);
		list_del_init(&jfc->ready);
		a->comp_events = jfc->comp_reported;
		spin_unlock_irq(&jfc->jfce->lock);
	}
	urma_async_purge(f->async, &jfc->obj);
	a->async_events = jfc->obj.async_reported;
	urma_jfc_end(f, jfc, true);
	return 0;
}
