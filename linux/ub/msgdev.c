// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * UB controllers: /dev/ubmsgN (ub_msg_uapi.h).
 */
#include <linux/fs.h>
#include <linux/poll.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "msg.h"

static int ubmsg_open(struct inode *inode, struct file *file)
{
	struct ub_msgs *m = container_of(file->private_data, struct ub_msgs,
					 misc);
	struct ub_msg_client *client = ub_msg_open(m);

	if (!client)
		return -ENOMEM;
	file->private_data = client;
	return stream_open(inode, file);
}

static int ubmsg_release(struct inode *inode, struct file *file)
{
	ub_msg_close(file->private_data);
	return 0;
}

static bool has_item(struct ub_msg_client *client)
{
	return !list_empty_careful(&client->items) ||
	       !READ_ONCE(client->msgs->core);
}

/* The bytes of the first item, or an error; -EAGAIN: there is none. */
static ssize_t take_item(struct ub_msg_client *client, size_t room,
			 struct ub_msg_item **taken)
{
	struct ub_msg_item *item;

	if (list_empty(&client->items))
		return client->msgs->core ? -EAGAIN : -ENODEV;
	item = list_first_entry(&client->items, struct ub_msg_item, list);
	if (sizeof(item->msg) + item->msg.len > room)
		return -EMSGSIZE;
	list_del(&item->list);
	if (item->answer) {
		client->pending--;
		wake_up_interruptible(&client->msgs->room);
	} else {
		client->backlog--;
	}
	item->msg.lost = client->lost;
	client->lost = 0;
	*taken = item;
	return sizeof(item->msg) + item->msg.len;
}

static ssize_t ubmsg_read(struct file *file, char __user *buf, size_t count,
			  loff_t *pos)
{
	struct ub_msg_client *client = file->private_data;
	struct ub_msg_item *item;
	ssize_t n;

	for (;;) {
		mutex_lock(&client->msgs->lock);
		n = take_item(client, count, &item);
		mutex_unlock(&client->msgs->lock);
		if (n != -EAGAIN || file->f_flags & O_NONBLOCK)
			break;
		if (wait_event_interruptible(client->wait, has_item(client)))
			return -ERESTARTSYS;
	}
	if (n < 0)
		return n;
	if (copy_to_user(buf, &item->msg, n))
		n = -EFAULT;
	kfree(item);
	return n;
}

static bool has_room(struct ub_msg_client *client)
{
	struct ub_msgs *m = client->msgs;

	return (READ_ONCE(client->pending) < UB_MSG_PENDING &&
		READ_ONCE(m->used) < UB_MSG_SLOTS) || !READ_ONCE(m->running);
}

static int send_waiting(struct ub_msg_client *client, const struct ub_msg *msg,
			bool nonblock)
{
	struct ub_msgs *m = client->msgs;
	long left;
	int err;

	for (;;) {
		mutex_lock(&m->lock);
		err = ub_msgs_send(client, msg, (const u8 *)(msg + 1));
		mutex_unlock(&m->lock);
		if (err != -EAGAIN || nonblock)
			return err;
		/* The device empties its ring without a word. */
		if (has_room(client))
			usleep_range(200, 1000);
		left = wait_event_interruptible_timeout(m->room,
							has_room(client),
							HZ / 20);
		if (left < 0 || signal_pending(current))
			return -ERESTARTSYS;
	}
}

static ssize_t ubmsg_write(struct file *file, const char __user *buf,
			   size_t count, loff_t *pos)
{
	struct ub_msg_client *client = file->private_data;
	struct ub_msg *msg;
	int err;

	if (count < sizeof(*msg) + 4 || count > sizeof(*msg) + UB_MSG_MAX)
		return -EINVAL;
	msg = memdup_user(buf, count);
	if (IS_ERR(msg))
		return PTR_ERR(msg);
	err = -EINVAL;
	if (msg->kind <= UB_MSG_SCAN && msg->len == count - sizeof(*msg) &&
	    msg->dcna <= U16_MAX)
		err = send_waiting(client, msg, file->f_flags & O_NONBLOCK);
	kfree(msg);
	return err ? err : count;
}

static __poll_t ubmsg_poll(struct file *file, poll_table *wait)
{
	struct ub_msg_client *client = file->private_data;
	__poll_t mask = 0;

	poll_wait(file, &client->wait, wait);
	poll_wait(file, &client->msgs->room, wait);
	if (!list_empty_careful(&client->items))
		mask |= EPOLLIN | EPOLLRDNORM;
	if (!READ_ONCE(client->msgs->core))
		mask |= EPOLLHUP | EPOLLERR;
	else if (has_room(client))
		mask |= EPOLLOUT | EPOLLWRNORM;
	return mask;
}

static long ubmsg_ioctl(struct file *file, unsigned int cmd, unsigned long arg)
{
	struct ub_msg_client *client = file->private_data;
	struct ub_msgs *m = client->msgs;
	u32 listen;
	int err = 0;

	if (cmd != UB_MSG_IOC_LISTEN)
		return -ENOTTY;
	if (get_user(listen, (u32 __user *)arg))
		return -EFAULT;
	if (listen & ~(UB_MSG_EVENTS | UB_MSG_REQUESTS))
		return -EINVAL;
	mutex_lock(&m->lock);
	if (listen & UB_MSG_REQUESTS && m->taker && m->taker != client) {
		err = -EBUSY;
	} else {
		client->listen = listen;
		if (listen & UB_MSG_REQUESTS)
			m->taker = client;
		else if (m->taker == client)
			m->taker = NULL;
	}
	mutex_unlock(&m->lock);
	return err;
}

const struct file_operations ub_msg_fops = {
	.owner = THIS_MODULE,
	.open = ubmsg_open,
	.release = ubmsg_release,
	.read = ubmsg_read,
	.write = ubmsg_write,
	.poll = ubmsg_poll,
	.unlocked_ioctl = ubmsg_ioctl,
	.compat_ioctl = compat_ptr_ioctl,
};
