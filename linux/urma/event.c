// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * URMA: descriptors that tell of events.
 *
 * Completion events go to the descriptor that a JFC was made with, asynchronous
 * ones to that of the context.  Both outlive what reports to them.
 */
#include <linux/anon_inodes.h>
#include <linux/file.h>
#include <linux/poll.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>

#include "ub_urma.h"

#define EVENT_ATTRS	URMA_EVENT_ATTRS_MAX

struct async_event {
	struct list_head list;
	u32 type;
	u64 data;
	struct urma_obj *obj;	/* whose count it is, or NULL */
};

/* ---- what both have in common ---- */

struct event_call {
	struct urma_attr attr[EVENT_ATTRS];
	u32 n;
	const struct urma_spec *spec;
};

static int event_call_get(struct event_call *call, unsigned int cmd,
			  unsigned long arg, u32 want, void *args)
{
	struct urma_hdr hdr;
	int err;

	if (cmd != URMA_IOC_EVENT)
		return -ENOTTY;
	if (copy_from_user(&hdr, (void __user *)arg, sizeof(hdr)))
		return -EFAULT;
	if (hdr.command != want)
		return -EINVAL;
	err = urma_tlv_length(hdr.args_len, EVENT_ATTRS);
	if (err)
		return err;
	if (copy_from_user(call->attr, u64_to_user_ptr(hdr.args_addr),
			   hdr.args_len))
		return -EFAULT;
	call->n = hdr.args_len / sizeof(call->attr[0]);
	call->spec = &urma_event_specs[want];
	return urma_tlv_get(call->spec, call->attr, call->n, args);
}

static int event_call_put(const struct event_call *call, const void *args)
{
	return urma_tlv_put(call->spec, call->attr, call->n, args);
}

/* ---- completions ---- */

/* Of the lists of JFCEs: a descriptor may be closed behind its context. */
static DEFINE_SPINLOCK(jfces_lock);

static void jfce_release(struct kref *kref)
{
	struct urma_jfce *jfce = container_of(kref, struct urma_jfce, kref);

	spin_lock(&jfces_lock);
	list_del(&jfce->list);
	spin_unlock(&jfces_lock);
	kfree(jfce);
}

void urma_jfces_end(struct urma_file *f)
{
	struct urma_jfce *jfce, *next;

	spin_lock(&jfces_lock);
	list_for_each_entry_safe(jfce, next, &f->jfces, list) {
		list_del_init(&jfce->list);
		WRITE_ONCE(jfce->dead, true);
		wake_up_interruptible(&jfce->wait);
	}
	spin_unlock(&jfces_lock);
}

void urma_jfce_put(struct urma_jfce *jfce)
{
	if (jfce)
		kref_put(&jfce->kref, jfce_release);
}

/* Any context; jfc stays, under the lock that found it. */
void urma_jfc_completion(struct urma_jfc *jfc)
{
	struct urma_jfce *jfce = jfc->jfce;
	unsigned long flags;

	if (!jfce)
		return;
	spin_lock_irqsave(&jfce->lock, flags);
	if (!jfc->events) {
		jfc->events = 1;
		list_add_tail(&jfc->ready, &jfce->ready);
	}
	spin_unlock_irqrestore(&jfce->lock, flags);
	wake_up_interruptible(&jfce->wait);
}

static u32 jfce_take(struct urma_jfce *jfce, struct urma_wait_cmd *w)
{
	struct urma_jfc *jfc, *next;

	w->count = 0;
	spin_lock_irq(&jfce->lock);
	list_for_each_entry_safe(jfc, next, &jfce->ready, ready) {
		if (w->count == min_t(u32, w->max, URMA_WAIT_MAX))
			break;
		list_del_init(&jfc->ready);
		jfc->events = 0;
		jfc->comp_reported++;
		w->cookie[w->count++] = jfc->obj.cookie;
	}
	spin_unlock_irq(&jfce->lock);
	return w->count;
}

/* There are some, or there never will be. */
static bool jfce_done(struct urma_jfce *jfce, struct urma_wait_cmd *w)
{
	return jfce_take(jfce, w) || READ_ONCE(jfce->dead);
}

static long jfce_ioctl(struct file *file, unsigned int cmd, unsigned long arg)
{
	struct urma_jfce *jfce = file->private_data;
	struct urma_wait_cmd w = { };
	struct event_call call;
	long left = 1;
	int err;

	err = event_call_get(&call, cmd, arg, URMA_WAIT_JFCE, &w);
	if (err)
		return err;
	if (!w.max)
		return -EINVAL;
	if (!w.timeout) {
		if (!jfce_done(jfce, &w))
			return -EAGAIN;
	} else if (w.timeout < 0) {
		err = wait_event_interruptible(jfce->wait, jfce_done(jfce, &w));
	} else {
		left = wait_event_interruptible_timeout(jfce->wait,
				jfce_done(jfce, &w),
				msecs_to_jiffies(w.timeout));
	}
	if (err || left < 0)
		return -EINTR;
	if (!w.count && READ_ONCE(jfce->dead))
		return -EIO;
	return w.count ? event_call_put(&call, &w) : 0;
}

static __poll_t jfce_poll(struct file *file, poll_table *wait)
{
	struct urma_jfce *jfce = file->private_data;

	poll_wait(file, &jfce->wait, wait);
	return (list_empty_careful(&jfce->ready) ? 0
						 : EPOLLIN | EPOLLRDNORM) |
	       (READ_ONCE(jfce->dead) ? EPOLLHUP : 0);
}

static int jfce_close(struct inode *inode, struct file *file)
{
	urma_jfce_put(file->private_data);
	return 0;
}

static const struct file_operations jfce_fops = {
	.owner = THIS_MODULE,
	.unlocked_ioctl = jfce_ioctl,
	.compat_ioctl = compat_ptr_ioctl,
	.poll = jfce_poll,
	.release = jfce_close,
	.llseek = noop_llseek,
};

int urma_jfce_fd(struct urma_file *f)
{
	struct urma_jfce *jfce = kzalloc(sizeof(*jfce), GFP_KERNEL_ACCOUNT);
	int fd;

	if (!jfce)
		return -ENOMEM;
	kref_init(&jfce->kref);
	spin_lock_init(&jfce->lock);
	init_waitqueue_head(&jfce->wait);
	INIT_LIST_HEAD(&jfce->ready);
	jfce->file = f;
	spin_lock(&jfces_lock);
	list_add(&jfce->list, &f->jfces);
	spin_unlock(&jfces_lock);
	fd = anon_inode_getfd("[jfce]", &jfce_fops, jfce, O_RDWR | O_CLOEXEC);
	if (fd < 0)
		urma_jfce_put(jfce);
	return fd;
}

struct urma_jfce *urma_jfce_get(struct urma_file *f, int fd)
{
	struct urma_jfce *jfce = NULL;
	struct file *file = fget(fd);

	if (!file)
		return NULL;
	if (file->f_op == &jfce_fops) {
		jfce = file->private_data;
		if (jfce->file == f)
			kref_get(&jfce->kref);
		else
			jfce = NULL;
	}
	fput(file);
	return jfce;
}

/* ---- what happens by itself ---- */

static void async_release(struct kref *kref)
{
	struct urma_async *async = container_of(kref, struct urma_async, kref);
	struct async_event *e, *next;

	list_for_each_entry_safe(e, next, &async->events, list)
		kfree(e);
	kfree(async);
}

static void async_put(struct urma_async *async)
{
	kref_put(&async->kref, async_release);
}

void urma_async_end(struct urma_file *f)
{
	if (!f->async)
		return;
	spin_lock_irq(&f->dev->asyncs_lock);
	list_del(&f->async->list);
	spin_unlock_irq(&f->dev->asyncs_lock);
	async_put(f->async);
}

void urma_async_event(struct urma_async *async, u32 type, u64 data,
		      struct urma_obj *obj)
{
	struct async_event *e = kmalloc(sizeof(*e), GFP_ATOMIC);
	unsigned long flags;

	spin_lock_irqsave(&async->lock, flags);
	/* That all is over is not lost for what came before. */
	if (!e || async->n >= URMA_EVENTS_MAX +
			      (type == URMA_EVENT_DEV_FATAL)) {
		async->lost++;
		spin_unlock_irqrestore(&async->lock, flags);
		kfree(e);
		return;
	}
	*e = (struct async_event) { .type = type, .data = data, .obj = obj };
	list_add_tail(&e->list, &async->events);
	async->n++;
	spin_unlock_irqrestore(&async->lock, flags);
	wake_up_interruptible(&async->wait);
}

void urma_async_all(struct urma_dev *dev, u32 type, u64 data)
{
	struct urma_async *async;
	unsigned long flags;

	spin_lock_irqsave(&dev->asyncs_lock, flags);
	list_for_each_entry(async, &dev->asyncs, list)
		urma_async_event(async, type, data, NULL);
	spin_unlock_irqrestore(&dev->asyncs_lock, flags);
}

void urma_async_purge(struct urma_async *async, struct urma_obj *obj)
{
	struct async_event *e, *next;

	spin_lock_irq(&async->lock);
	list_for_each_entry_safe(e, next, &async->events, list)
		if (e->obj == obj) {
			list_del(&e->list);
			async->n--;
			kfree(e);
		}
	spin_unlock_irq(&async->lock);
}

static bool async_take(struct urma_async *async, struct urma_async_cmd *a)
{
	struct async_event *e;

	spin_lock_irq(&async->lock);
	e = list_first_entry_or_null(&async->events, struct async_event, list);
	if (e) {
		list_del(&e->list);
		async->n--;
		if (e->obj)
			e->obj->async_reported++;
		a->type = e->type;
		a->data = e->data;
	}
	spin_unlock_irq(&async->lock);
	kfree(e);
	return e;
}

static long async_ioctl(struct file *file, unsigned int cmd, unsigned long arg)
{
	struct urma_async *async = file->private_data;
	struct urma_async_cmd a = { };
	struct event_call call;
	int err;

	err = event_call_get(&call, cmd, arg, URMA_GET_ASYNC_EVENT, &a);
	if (err)
		return err;
	if (!async_take(async, &a)) {
		if (file->f_flags & O_NONBLOCK)
			return -EAGAIN;
		err = wait_event_interruptible(async->wait,
					       async_take(async, &a));
		if (err)
			return -EINTR;
	}
	return event_call_put(&call, &a);
}

static __poll_t async_poll(struct file *file, poll_table *wait)
{
	struct urma_async *async = file->private_data;

	poll_wait(file, &async->wait, wait);
	return list_empty_careful(&async->events) ? 0
						  : EPOLLIN | EPOLLRDNORM;
}

static int async_close(struct inode *inode, struct file *file)
{
	async_put(file->private_data);
	return 0;
}

static const struct file_operations async_fops = {
	.owner = THIS_MODULE,
	.unlocked_ioctl = async_ioctl,
	.compat_ioctl = compat_ptr_ioctl,
	.poll = async_poll,
	.release = async_close,
	.llseek = noop_llseek,
};

/* The context's, which keeps it too. */
int urma_async_fd(struct urma_file *f)
{
	struct urma_async *async = kzalloc(sizeof(*async), GFP_KERNEL);
	int fd;

	if (!async)
		return -ENOMEM;
	kref_init(&async->kref);
	spin_lock_init(&async->lock);
	init_waitqueue_head(&async->wait);
	INIT_LIST_HEAD(&async->events);
	kref_get(&async->kref);
	fd = anon_inode_getfd("[urma-async]", &async_fops, async,
			      O_RDWR | O_CLOEXEC);
	if (fd < 0) {
		kfree(async);
		return fd;
	}
	f->async = async;
	spin_lock_irq(&f->dev->asyncs_lock);
	list_add(&async->list, &f->dev->asyncs);
	spin_unlock_irq(&f->dev->asyncs_lock);
	return fd;
}
