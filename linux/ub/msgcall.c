// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * UB controllers: asking by message from within the kernel.
 */
#include <linux/slab.h>

#include "msg.h"

/* The answer to @msn, what else has come is thrown away. */
static struct ub_msg_item *take_answer(struct ub_msg_client *client, u16 msn)
{
	struct ub_msg_item *item, *next, *found = NULL;

	mutex_lock(&client->msgs->lock);
	list_for_each_entry_safe(item, next, &client->items, list) {
		list_del(&item->list);
		if (item->answer)
			client->pending--;
		else
			client->backlog--;
		if (item->answer && item->msg.msn == msn && !found)
			found = item;
		else
			kfree(item);
	}
	mutex_unlock(&client->msgs->lock);
	return found;
}

int ub_msg_send(struct ub_msg_client *client, const struct ub_msg *msg,
		const u8 *data)
{
	unsigned int tries;
	int err = -EAGAIN;

	for (tries = 0; err == -EAGAIN && tries < 200; tries++) {
		mutex_lock(&client->msgs->lock);
		err = ub_msgs_send(client, msg, data);
		mutex_unlock(&client->msgs->lock);
		if (err == -EAGAIN)
			usleep_range(2000, 10000);
	}
	return err;
}

int ub_msg_call(struct ub_msg_client *client, struct ub_msg *msg, u8 *data)
{
	unsigned long end = jiffies + 10 * HZ;
	struct ub_msg_item *item = NULL;
	int err;

	mutex_lock(&client->call);
	msg->msn = ++client->last_msn;
	err = ub_msg_send(client, msg, data);
	/* An answer or a failure comes, unless there is no memory for it. */
	while (!err && !(item = take_answer(client, msg->msn))) {
		if (!READ_ONCE(client->msgs->core))
			err = -ENODEV;
		else if (time_after(jiffies, end))
			err = -ETIMEDOUT;
		else
			wait_event_timeout(client->wait,
					   !list_empty_careful(&client->items) ||
					   !READ_ONCE(client->msgs->core), HZ);
	}
	mutex_unlock(&client->call);
	if (err)
		return err;
	*msg = item->msg;
	memcpy(data, item->data, item->msg.len);
	kfree(item);
	return msg->flags & UB_MSG_FAILED ? -ETIMEDOUT : 0;
}
