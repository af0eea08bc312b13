// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * URMA: TokenIDs and segments, memory of a program that its queues and peers
 * reach.
 */
#include <linux/slab.h>

#include "ub_urma.h"

#define ACCESS_ALL	(URMA_ACCESS_LOCAL | URMA_ACCESS_READ | \
			 URMA_ACCESS_WRITE | URMA_ACCESS_ATOMIC)

/* ---- TokenIDs ---- */

int urma_alloc_token(struct urma_file *f, void *args)
{
	struct urma_token_cmd *a = args;
	struct urma_token *t = kzalloc(sizeof(*t), GFP_KERNEL_ACCOUNT);
	int err;

	if (!t)
		return -ENOMEM;
	err = ub_token_new(f->dev->core, &f->space, &t->id);
	if (err)
		goto free;
	err = urma_obj_add(f, &t->obj, URMA_TOKEN, 0);
	if (err)
		goto token;
	a->token_id = t->id;
	a->handle = t->obj.handle;
	return 0;

token:
	ub_token_free(f->dev->core, t->id);
free:
	kfree(t);
	return err;
}

void urma_token_end(struct urma_file *f, struct urma_token *token, bool engine)
{
	ub_token_free(f->dev->core, token->id);
	kfree(token);
}

int urma_free_token(struct urma_file *f, void *args)
{
	struct urma_token_cmd *a = args;
	struct urma_token *t = urma_obj_get(f, a->handle, URMA_TOKEN);
	int err;

	if (!t || t->id != a->token_id)
		return -EINVAL;
	err = urma_obj_take(f, &t->obj);
	if (!err)
		urma_token_end(f, t, true);
	return err;
}

/* ---- segments ---- */

void urma_seg_end(struct urma_file *f, struct urma_seg *seg, bool engine)
{
	static const struct ub_grant none;

	ub_token_grant(f->dev->core, seg->token->id, &none);
	seg->token->seg = NULL;
	seg->token->obj.users--;
	ub_region_end(f->dev->core, &seg->region);
	kfree(seg);
}

static u32 rights_of(u32 access)
{
	if (access & URMA_ACCESS_LOCAL)
		return 0;
	return (access & URMA_ACCESS_READ ? UB_GRANT_READ : 0) |
	       (access & URMA_ACCESS_WRITE ? UB_GRANT_WRITE : 0) |
	       (access & URMA_ACCESS_ATOMIC ? UB_GRANT_ATOMIC : 0);
}

/* What depends on nothing but the request. */
static bool seg_is_good(const struct urma_seg_cmd *a)
{
	u32 access = (a->flag & URMA_SEG_ACCESS) >> URMA_SEG_ACCESS_SHIFT;

	return a->len && a->va + a->len > a->va &&
	       !((a->va + a->len - 1) >> 48) && !(access & ~ACCESS_ALL) &&
	       (a->flag & URMA_TOKEN_POLICY) <= 1 &&
	       !(a->flag & URMA_SEG_USER_IOVA);
}

int urma_register_seg_pin(struct urma_file *f, void *args)
{
	struct urma_call *call = urma_call_of(args);
	const struct urma_seg_cmd *a = args;

	if (!seg_is_good(a))
		return -EINVAL;
	call->seg = kzalloc(sizeof(*call->seg), GFP_KERNEL_ACCOUNT);
	if (!call->seg)
		return -ENOMEM;
	return ub_region_pin(&call->seg->region, a->va, a->len);
}

void urma_register_seg_unpin(struct urma_file *f, struct urma_call *call)
{
	if (call->seg) {
		ub_region_end(f->dev->core, &call->seg->region);
		kfree(call->seg);
	}
}

int urma_register_seg(struct urma_file *f, void *args)
{
	struct urma_seg_cmd *a = args;
	struct urma_call *call = urma_call_of(args);
	struct urma_token *t = urma_obj_get(f, a->token_handle, URMA_TOKEN);
	u32 access = (a->flag & URMA_SEG_ACCESS) >> URMA_SEG_ACCESS_SHIFT;
	u32 policy = a->flag & URMA_TOKEN_POLICY;
	struct urma_seg *seg = call->seg;
	int err;

	if (!t || t->id != a->token_id)
		return -EINVAL;
	/* A TokenID has one range. */
	if (t->seg)
		return -EBUSY;
	err = ub_region_map(f->dev->core, &seg->region, &f->space,
			    a->va & PAGE_MASK);
	if (!err)
		err = urma_obj_add(f, &seg->obj, URMA_SEG, 0);
	if (err) {
		ub_region_unmap(f->dev->core, &seg->region);
		return err;
	}
	call->seg = NULL;
	seg->token = t;
	t->seg = seg;
	t->obj.users++;
	ub_token_grant(f->dev->core, t->id, &(struct ub_grant){
		.uba = a->va, .len = a->len, .rights = rights_of(access),
		.check = policy, .value = a->token, .other = a->token,
	});
	a->token_id = t->id;
	a->handle = seg->obj.handle;
	return 0;
}

int urma_unregister_seg(struct urma_file *f, void *args)
{
	struct urma_handle_cmd *a = args;
	struct urma_seg *seg = urma_obj_get(f, a->handle, URMA_SEG);
	int err;

	if (!seg)
		return -EINVAL;
	err = urma_obj_take(f, &seg->obj);
	if (!err)
		urma_seg_end(f, seg, true);
	return err;
}

/* Others' segments need nothing here: entries name them by TokenID. */
int urma_import_seg(struct urma_file *f, void *args)
{
	struct urma_seg_cmd *a = args;
	struct urma_obj *obj = kzalloc(sizeof(*obj), GFP_KERNEL_ACCOUNT);
	int err;

	if (!obj)
		return -ENOMEM;
	err = urma_obj_add(f, obj, URMA_REMOTE_SEG, 0);
	if (err)
		kfree(obj);
	else
		a->handle = obj->handle;
	return err;
}

int urma_unimport_seg(struct urma_file *f, void *args)
{
	struct urma_handle_cmd *a = args;
	struct urma_obj *obj = urma_obj_get(f, a->handle, URMA_REMOTE_SEG);
	int err;

	if (!obj)
		return -EINVAL;
	err = urma_obj_take(f, obj);
	if (!err)
		kfree(obj);
	return err;
}
