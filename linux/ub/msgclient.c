// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * UB controllers: those who use a message queue, and what they have received.
 */
#include <linux/slab.h>

#include "msg.h"

static void ub_msgs_release(struct kref *ref)
{
	kfree(container_of(ref, struct ub_msgs, ref));
}

void ub_msgs_put(struct ub_msgs *m)
{
	kref_put(&m->ref, ub_msgs_release);
}

struct ub_msg_client *ub_msg_open(struct ub_msgs *m)
{
	struct ub_msg_client *client = kzalloc(sizeof(*client), GFP_KERNEL);

	if (!client)
		return NULL;
	client->msgs = m;
	INIT_LIST_HEAD(&client->items);
	init_waitqueue_head(&client->wait);
	mutex_init(&client->call);
	kref_get(&m->ref);
	mutex_lock(&m->lock);
	list_add_tail(&client->list, &m->clients);
	mutex_unlock(&m->lock);
	return client;
}

void ub_msg_close(struct ub_msg_client *client)
{
	struct ub_msgs *m = client->msgs;
	struct ub_msg_item *item, *next;
	unsigned int i;

	mutex_lock(&m->lock);
	list_del(&client->list);
	if (m->taker == client)
		m->taker = NULL;
	/* The device still answers; nobody reads it. */
	for (i = 0; i < UB_MSG_SLOTS; i++)
		if (m->slot[i].client == client)
			m->slot[i].client = NULL;
	mutex_unlock(&m->lock);
	list_for_each_entry_safe(item, next, &client->items, list)
		kfree(item);
	kfree(client);
	ub_msgs_put(m);
}

void ub_msg_give(struct ub_msg_client *client, const struct ub_msg *msg,
		 const u8 *data, bool answer)
{
	struct ub_msg_item *item = NULL;

	if (answer || client->backlog < UB_MSG_BACKLOG)
		item = kmalloc(struct_size(item, data, msg->len), GFP_KERNEL);
	if (!item) {
		client->lost += client->lost < U16_MAX;
		/* Its sender need not wait for that one. */
		if (answer)
			client->pending--;
		return;
	}
	item->answer = answer;
	item->msg = *msg;
	if (msg->len)
		memcpy(item->data, data, msg->len);
	client->backlog += !answer;
	list_add_tail(&item->list, &client->items);
	wake_up(&client->wait);
}

struct ub_msg_item *ub_msg_take(struct ub_msg_client *client)
{
	struct ub_msg_item *item;

	mutex_lock(&client->msgs->lock);
	item = list_first_entry_or_null(&client->items, struct ub_msg_item,
					list);
	if (item) {
		list_del(&item->list);
		client->backlog--;
	}
	mutex_unlock(&client->msgs->lock);
	return item;
}

struct ub_msg ub_msg_back(const struct ub_msg *request)
{
	struct ub_msg back = *request;

	back.dcna = request->scna;
	back.deid = request->seid;
	back.flags = request->scna == request->dcna ? UB_MSG_LOCAL : 0;
	return back;
}
