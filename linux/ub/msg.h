/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The message queue of a controller, and those who use it: openers of
 * /dev/ubmsgN.
 */
#ifndef UB_MSG_H
#define UB_MSG_H

#include <linux/delay.h>
#include <linux/kref.h>
#include <linux/list.h>
#include <linux/miscdevice.h>
#include <linux/mutex.h>
#include <linux/version.h>
#include <linux/wait.h>
#include <linux/workqueue.h>
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 12, 0)
#include <asm/unaligned.h>
#else
#include <linux/unaligned.h>
#endif

#include "ub_core.h"
#include "ub_msg_uapi.h"

#define UB_MSG_SLOT	2048u	/* bytes of a slot of a ring */
#define UB_MSG_SLOTS	64	/* requests without an answer; a power of two */

/* A request that the device has not answered. */
struct ub_msg_slot {
	struct ub_msg_client *client;	/* NULL: it is gone */
	unsigned long deadline;
	u16 msn;			/* the device's */
	u16 own_msn;			/* the client's */
	u8 kind;
	bool used;
};

struct ub_msg_ring {
	void *mem;
	dma_addr_t addr;
};

struct ub_msgs {
	struct kref ref;
	struct mutex lock;		/* all below */
	struct ub_core *core;		/* NULL: the controller is gone */
	void __iomem *regs;
	bool running;
	struct ub_msg_ring sq, rq, cq;
	u16 sq_pi, cq_ci;
	u16 last_msn;
	unsigned int used;		/* slots */
	struct ub_msg_slot slot[UB_MSG_SLOTS];
	struct list_head clients;
	struct ub_msg_client *taker;	/* of requests */
	u8 data[UB_MSG_SLOT];		/* the packet in hand */

	wait_queue_head_t room;		/* for those who send */
	struct work_struct work;
	struct delayed_work timer;
	struct miscdevice misc;
	char name[16];
	int id;
};

struct ub_msg_client {
	struct list_head list;
	struct ub_msgs *msgs;
	struct list_head items;
	unsigned int pending;		/* requests, until their answer is read */
	unsigned int backlog;		/* unasked for, to be read */
	u16 lost;
	u32 listen;
	wait_queue_head_t wait;		/* for those who read */
	struct mutex call;		/* ub_msg_call() */
	u16 last_msn;
};

/* What a client has received. */
struct ub_msg_item {
	struct list_head list;
	bool answer;
	struct ub_msg msg;
	u8 data[];
};

/* msgq.c */
int ub_msgs_add(struct ub_core *core);
void ub_msgs_del(struct ub_core *core);
/* From after a reset of the device until before the next one. */
void ub_msgs_start(struct ub_core *core);
void ub_msgs_stop(struct ub_core *core);
irqreturn_t ub_msgs_irq(struct ub_core *core);

/* With m->lock: send; -EAGAIN where there is no room yet. */
int ub_msgs_send(struct ub_msg_client *client, const struct ub_msg *msg,
		 const u8 *data);

/* msgclient.c */
struct ub_msg_client *ub_msg_open(struct ub_msgs *m);
void ub_msg_close(struct ub_msg_client *client);
void ub_msgs_put(struct ub_msgs *m);
/* With m->lock: it has received an answer, or what it did not ask for.  @data may
 * be NULL with @msg->len 0. */
void ub_msg_give(struct ub_msg_client *client, const struct ub_msg *msg,
		 const u8 *data, bool answer);
/* What came first of what was not asked for, the caller's; NULL: nothing. */
struct ub_msg_item *ub_msg_take(struct ub_msg_client *client);
/* The headers of the answer to a request: back to who sent it. */
struct ub_msg ub_msg_back(const struct ub_msg *request);

/* msgcall.c: ask, and wait for the answer, which takes the place of @msg and
 * @data, of UB_MSG_MAX bytes. */
int ub_msg_call(struct ub_msg_client *client, struct ub_msg *msg, u8 *data);
/* Send, for a while until there is room. */
int ub_msg_send(struct ub_msg_client *client, const struct ub_msg *msg,
		const u8 *data);

/* bus.c: links have come or gone; look at the fabric anew, soon. */
void ub_fabric_changed(struct ub_core *core);

/* pool.c, with m->lock: an Entity is lent to us, or taken back.  False: it cannot be
 * worked on now. */
bool ub_pool_take(struct ub_core *core, const struct ub_msg *msg,
		  const u8 *data);

/* msgdev.c */
extern const struct file_operations ub_msg_fops;

#endif
