// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * URMA: open files, their handles and commands.
 */
#include <linux/fs.h>
#include <linux/nospec.h>
#include <linux/slab.h>

#include "ub_urma.h"

#define URMA_HANDLES	(1 << 20)	/* of a context */

/* ---- handles ---- */

int urma_obj_add(struct urma_file *f, struct urma_obj *obj,
		 enum urma_kind kind, u64 cookie)
{
	u32 id;
	int err;

	obj->kind = kind;
	obj->cookie = cookie;
	/* The offset of a mapping says it, and 0 is the doorbells'. */
	err = xa_alloc(&f->objs, &id, obj, XA_LIMIT(1, URMA_HANDLES),
		       GFP_KERNEL_ACCOUNT);
	obj->handle = id;
	return err;
}

void *urma_obj_get(struct urma_file *f, u64 handle, enum urma_kind kind)
{
	struct urma_obj *obj;

	if (handle > U32_MAX)
		return NULL;
	obj = xa_load(&f->objs, handle);
	return obj && obj->kind == kind ? obj : NULL;
}

int urma_obj_take(struct urma_file *f, struct urma_obj *obj)
{
	if (obj->users)
		return -EBUSY;
	xa_erase(&f->objs, obj->handle);
	return 0;
}

void urma_private_put(void *args, const struct urma_udata *udata,
		      const void *data, size_t bytes)
{
	struct urma_call *call = urma_call_of(args);

	if (!udata->out_addr || WARN_ON_ONCE(bytes > URMA_REPLY_MAX))
		return;
	call->reply_addr = udata->out_addr;
	call->reply_bytes = min_t(size_t, udata->out_len, bytes);
	memcpy(call->reply, data, call->reply_bytes);
}

/* ---- the end of a context ---- */

/* Who refers to others goes first. */
static const enum urma_kind end_order[] = {
	URMA_JETTY, URMA_GROUP, URMA_JFS, URMA_JFR, URMA_JFC, URMA_TARGET,
	URMA_REMOTE_SEG, URMA_SEG, URMA_TOKEN,
};

static void obj_end(struct urma_file *f, struct urma_obj *obj, bool engine)
{
	switch (obj->kind) {
	case URMA_JETTY:
	case URMA_JFS:
	case URMA_JFR:
		urma_queue_end(f, (struct urma_queue *)obj, engine);
		break;
	case URMA_JFC:
		urma_jfc_end(f, (struct urma_jfc *)obj, engine);
		break;
	case URMA_GROUP:
		urma_group_end(f, (struct urma_group *)obj, engine);
		break;
	case URMA_TARGET:
		urma_target_end(f, (struct urma_target *)obj);
		break;
	case URMA_SEG:
		urma_seg_end(f, (struct urma_seg *)obj, engine);
		break;
	case URMA_TOKEN:
		urma_token_end(f, (struct urma_token *)obj, engine);
		break;
	default:
		kfree(obj);
		break;
	}
}

/* Under life for writing, or nobody has the file any more. */
void urma_file_end(struct urma_file *f, bool engine)
{
	struct urma_obj *obj;
	unsigned long handle;
	unsigned int i;

	if (!f->context || f->dead)
		return;
	for (i = 0; i < ARRAY_SIZE(end_order); i++)
		xa_for_each(&f->objs, handle, obj)
			if (obj->kind == end_order[i]) {
				xa_erase(&f->objs, handle);
				obj_end(f, obj, engine);
				cond_resched();
			}
	urma_jfces_end(f);
	if (f->token)
		ub_token_free(f->dev->core, f->token);
	ub_space_free(f->dev->core, &f->space);
	ida_free(&f->dev->core->cmdq->pages, f->page);
	f->dead = true;
}

/* ---- CREATE_CTX, GET_EID_LIST, QUERY_DEV_ATTR, CREATE_JFCE ---- */

/* A page of doorbells. */
static int page_alloc(struct urma_dev *dev)
{
	u32 pages = ub_share(dev->caps.pages);

	return pages ? ida_alloc_max(&dev->core->cmdq->pages, pages - 1,
				     GFP_KERNEL_ACCOUNT) : -ENOSPC;
}

static int create_ctx(struct urma_file *f, void *args)
{
	struct urma_create_ctx *a = args;
	const struct urma_ctx_private mine = {
		.version = URMA_PRIVATE_VERSION,
		.bell_bytes = PAGE_SIZE,
	};
	int page, err;

	if (f->context)
		return -EEXIST;
	if (a->eid_index)
		return -EINVAL;
	page = page_alloc(f->dev);
	if (page < 0)
		return page;
	f->page = page;
	err = ub_space_init(f->dev->core, &f->space);
	if (err)
		goto page;
	err = ub_token_new(f->dev->core, &f->space, &f->token);
	if (err)
		goto space;
	a->async_fd = urma_async_fd(f);
	err = a->async_fd;
	if (err < 0)
		goto token;
	urma_own_ip(f->dev);
	urma_private_put(a, &a->udata, &mine, sizeof(mine));
	/* Who maps the doorbells sees the page that is ours. */
	smp_store_release(&f->context, true);
	return 0;

token:
	ub_token_free(f->dev->core, f->token);
	f->token = 0;
space:
	ub_space_free(f->dev->core, &f->space);
page:
	ida_free(&f->dev->core->cmdq->pages, page);
	return err;
}

static int get_eid_list(struct urma_file *f, void *args)
{
	static const u8 none[16];
	struct urma_eid_list *a = args;

	urma_eid(f->dev, a->list[0].eid);
	a->count = a->max && memcmp(a->list[0].eid, none, 16) ? 1 : 0;
	return 0;
}

static int query_dev_attr(struct urma_file *f, void *args)
{
	urma_dev_attr_fill(f->dev, args);
	return 0;
}

static int create_jfce(struct urma_file *f, void *args)
{
	struct urma_jfc_cmd *a = args;

	a->jfce_fd = urma_jfce_fd(f);
	return min(a->jfce_fd, 0);
}

/* ---- USER_CTL ---- */

static int user_ctl_get(struct urma_file *f, void *args)
{
	struct urma_call *call = urma_call_of(args);
	const struct urma_user_ctl_cmd *a = args;

	if (a->in_len > sizeof(call->in))
		return -EINVAL;
	return copy_from_user(call->in, u64_to_user_ptr(a->in_addr), a->in_len)
	       ? -EFAULT : 0;
}

/* ---- commands ---- */

/* What is done before the locks are taken. */
static int (*const preparations[URMA_COMMANDS])(struct urma_file *, void *) = {
	[URMA_REGISTER_SEG] = urma_register_seg_pin,
	[URMA_USER_CTL] = user_ctl_get,
};

static int (*const handlers[URMA_COMMANDS])(struct urma_file *, void *) = {
	[URMA_CREATE_CTX] = create_ctx,
	[URMA_ALLOC_TOKEN_ID] = urma_alloc_token,
	[URMA_FREE_TOKEN_ID] = urma_free_token,
	[URMA_REGISTER_SEG] = urma_register_seg,
	[URMA_UNREGISTER_SEG] = urma_unregister_seg,
	[URMA_IMPORT_SEG] = urma_import_seg,
	[URMA_UNIMPORT_SEG] = urma_unimport_seg,
	[URMA_CREATE_JFS] = urma_create_jfs,
	[URMA_MODIFY_JFS] = urma_modify_jfs,
	[URMA_QUERY_JFS] = urma_query_jfs,
	[URMA_DELETE_JFS] = urma_delete_jfs,
	[URMA_CREATE_JFR] = urma_create_jfr,
	[URMA_MODIFY_JFR] = urma_modify_jfr,
	[URMA_QUERY_JFR] = urma_query_jfr,
	[URMA_DELETE_JFR] = urma_delete_jfr,
	[URMA_CREATE_JFC] = urma_create_jfc,
	[URMA_MODIFY_JFC] = urma_modify_jfc,
	[URMA_DELETE_JFC] = urma_delete_jfc,
	[URMA_CREATE_JFCE] = create_jfce,
	[URMA_IMPORT_JFR] = urma_import_jfr,
	[URMA_UNIMPORT_JFR] = urma_unimport,
	[URMA_CREATE_JETTY] = urma_create_jetty,
	[URMA_MODIFY_JETTY] = urma_modify_jetty,
	[URMA_QUERY_JETTY] = urma_query_jetty,
	[URMA_DELETE_JETTY] = urma_delete_jetty,
	[URMA_IMPORT_JETTY] = urma_import_jetty,
	[URMA_UNIMPORT_JETTY] = urma_unimport,
	[URMA_BIND_JETTY] = urma_bind_jetty,
	[URMA_UNBIND_JETTY] = urma_unbind_jetty,
	[URMA_CREATE_JETTY_GRP] = urma_create_group,
	[URMA_DESTROY_JETTY_GRP] = urma_destroy_group,
	[URMA_USER_CTL] = urma_user_ctl,
	[URMA_GET_EID_LIST] = get_eid_list,
	[URMA_QUERY_DEV_ATTR] = query_dev_attr,
};

static int command_locked(struct urma_file *f, u32 command, void *args)
{
	struct urma_dev *dev = f->dev;
	int err;

	down_read(&dev->life);
	err = mutex_lock_killable(&f->lock);
	if (err)
		goto out;
	err = -EIO;
	if (!dev->gone && !dev->stopped && !f->dead) {
		if (f->context || urma_specs[command].early)
			err = handlers[command](f, args);
		else
			err = -EINVAL;
	}
	mutex_unlock(&f->lock);
out:
	up_read(&dev->life);
	return err;
}

static int command_reply(const struct urma_call *call)
{
	return call->reply_bytes &&
	       copy_to_user(u64_to_user_ptr(call->reply_addr), call->reply,
			    call->reply_bytes) ? -EFAULT : 0;
}

static int command_run(struct urma_file *f, const struct urma_hdr *hdr,
		       const struct urma_attr *attr)
{
	const struct urma_spec *spec = &urma_specs[hdr->command];
	u32 n = hdr->args_len / sizeof(*attr);
	struct urma_call *call;
	int err;

	call = kvzalloc(sizeof(*call) + spec->bytes, GFP_KERNEL_ACCOUNT);
	if (!call)
		return -ENOMEM;
	err = urma_tlv_get(spec, attr, n, call->args);
	if (!err && preparations[hdr->command])
		err = preparations[hdr->command](f, call->args);
	if (!err)
		err = command_locked(f, hdr->command, call->args);
	urma_register_seg_unpin(f, call);
	if (!err)
		err = command_reply(call);
	if (!err)
		err = urma_tlv_put(spec, attr, n, call->args);
	kvfree(call);
	return err;
}

static long file_ioctl(struct file *file, unsigned int cmd, unsigned long arg)
{
	struct urma_file *f = file->private_data;
	struct urma_attr *attr;
	struct urma_hdr hdr;
	int err;

	if (cmd != URMA_IOC_DEVICE)
		return -ENOTTY;
	if (copy_from_user(&hdr, (void __user *)arg, sizeof(hdr)))
		return -EFAULT;
	err = urma_tlv_length(hdr.args_len, URMA_ATTRS_MAX);
	if (err)
		return err;
	if (hdr.command >= URMA_COMMANDS)
		return -EOPNOTSUPP;
	hdr.command = array_index_nospec(hdr.command, URMA_COMMANDS);
	if (!handlers[hdr.command])
		return -EOPNOTSUPP;
	attr = memdup_user(u64_to_user_ptr(hdr.args_addr), hdr.args_len);
	if (IS_ERR(attr))
		return PTR_ERR(attr);
	err = command_run(f, &hdr, attr);
	kfree(attr);
	return err;
}

/* ---- life ---- */

static int file_open(struct inode *inode, struct file *file)
{
	struct urma_dev *dev = urma_dev_find(iminor(inode));
	struct urma_file *f;
	int err = -ENOMEM;

	if (!dev)
		return -ENXIO;
	f = kzalloc(sizeof(*f), GFP_KERNEL_ACCOUNT);
	if (!f)
		goto put;
	f->sink = alloc_page(GFP_KERNEL_ACCOUNT | __GFP_ZERO);
	if (!f->sink)
		goto free;
	f->dev = dev;
	mutex_init(&f->lock);
	INIT_LIST_HEAD(&f->jfces);
	xa_init_flags(&f->objs, XA_FLAGS_ALLOC1);
	down_read(&dev->life);
	if (dev->gone) {
		up_read(&dev->life);
		err = -ENODEV;
		goto sink;
	}
	mutex_lock(&dev->files_lock);
	/* All mappings of a device are of one inode's, to be taken away. */
	file->f_mapping = dev->inode->i_mapping;
	list_add(&f->list, &dev->files);
	mutex_unlock(&dev->files_lock);
	up_read(&dev->life);
	file->private_data = f;
	return 0;

sink:
	__free_page(f->sink);
free:
	kfree(f);
put:
	urma_dev_put(dev);
	return err;
}

static int file_close(struct inode *inode, struct file *file)
{
	struct urma_file *f = file->private_data;
	struct urma_dev *dev = f->dev;

	down_read(&dev->life);
	mutex_lock(&dev->files_lock);
	list_del(&f->list);
	mutex_unlock(&dev->files_lock);
	urma_file_end(f, !dev->gone && !dev->stopped);
	up_read(&dev->life);
	xa_destroy(&f->objs);
	urma_async_end(f);
	__free_page(f->sink);
	kfree(f);
	urma_dev_put(dev);
	return 0;
}

const struct file_operations urma_fops = {
	.owner = THIS_MODULE,
	.open = file_open,
	.release = file_close,
	.unlocked_ioctl = file_ioctl,
	.compat_ioctl = compat_ptr_ioctl,
	.mmap = urma_mmap,
	.llseek = noop_llseek,
};
