// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * UB controllers: message queue 0 of the device (docs/specs/ub-mgmt.rst), which
 * all who send share.  A request has a slot here until it is answered, and an MSN
 * that says which.
 */
#include <linux/idr.h>
#include <linux/slab.h>

#include "msg.h"

#define SQ_DEPTH	64u
#define RQ_DEPTH	128u
#define CQ_DEPTH	256u
#define ENTRY		16u
#define SLOT		UB_MSG_SLOT
#define SQ_SIZE		(SQ_DEPTH * (ENTRY + SLOT))

/* The device gives up after a second; what it never answers, later. */
#define PATIENCE	(3 * HZ)

/* Registers */
enum {
	SQ_ADDR = 0x00, SQ_PI = 0x08, SQ_CI = 0x0c, SQ_STATUS = 0x14,
	RQ_ADDR = 0x40, RQ_CI = 0x4c, RQ_STATUS = 0x58,
	CQ_ADDR = 0x70, CQ_PI = 0x78, CQ_CI = 0x7c, CQ_STATUS = 0x84,
	CQ_INT_MASK = 0x88, CQ_INT_STATUS = 0x8c, MSGQ_RST = 0xb0,
	MSGQ_INT_SEL = 0xc0,
	DEPTH = 0x10,	/* behind the address of a ring */
};

/* Words of a packet in front of MGMTETAH, and of the Scan Header */
#define MESSAGE_WORDS	7
#define SCAN_WORDS	4

/* MGMTETAH, first byte */
#define ETAH_RSP	0x01
#define ETAH_CODE(b)	((b) >> 1 & 7)
#define ETAH_SUB(b)	((b) >> 4)
#define ETAH_LAST_EVENT	1	/* 0 errors, 1 links */
#define ETAH_LINK	1
#define ETAH_POOL	6
#define POOL_LAST_OURS	1	/* registration, deregistration */
#define STATUS_NO_RESOURCE 0x20

static DEFINE_IDA(ub_msg_ida);

static u32 msg_rd(struct ub_msgs *m, u32 reg)
{
	return ub_rd(m->regs, reg);
}

static void msg_wr(struct ub_msgs *m, u32 reg, u32 value)
{
	ub_wr(m->regs, reg, value);
}

static unsigned int head_words(unsigned int kind)
{
	return kind == UB_MSG_SCAN ? SCAN_WORDS : MESSAGE_WORDS;
}

/* ---- Packets ---- */

/* Slots have the words of the wire in our order. */
static void put_words(__le32 *slot, const u8 *data, unsigned int len)
{
	u8 last[4] = {};

	for (; len >= 4; len -= 4, data += 4)
		*slot++ = cpu_to_le32(get_unaligned_be32(data));
	if (len) {
		memcpy(last, data, len);
		*slot = cpu_to_le32(get_unaligned_be32(last));
	}
}

static void get_words(u8 *data, const __le32 *slot, unsigned int len)
{
	u8 last[4];

	for (; len >= 4; len -= 4, data += 4)
		put_unaligned_be32(le32_to_cpu(*slot++), data);
	if (len) {
		put_unaligned_be32(le32_to_cpu(*slot), last);
		memcpy(data, last, len);
	}
}

static void put_packet(__le32 *slot, const struct ub_msg *msg, const u8 *data)
{
	bool scan = msg->kind == UB_MSG_SCAN;
	u32 seid = msg->seid & 0xfffff;

	slot[0] = cpu_to_le32(6 << 16);
	slot[1] = cpu_to_le32(msg->scna << 16 | msg->dcna);
	slot[2] = cpu_to_le32(msg->lbf << 8 | (msg->sl & 0xf) << 4 |
			      (msg->flags & UB_MSG_MGMT ? 8 : 0) | scan);
	if (scan) {
		slot[3] = cpu_to_le32((u32)(msg->upi & 0x7fff) << 16);
	} else {
		slot[3] = cpu_to_le32(0x02 << 24 |
				      (u32)(msg->upi & 0x7fff) << 8 |
				      seid >> 12);
		slot[4] = cpu_to_le32(seid << 20 | (msg->deid & 0xfffff));
		slot[5] = cpu_to_le32(0x10 << 24 | msg->msn);
		slot[6] = cpu_to_le32(msg->queue & 0xfffff);
	}
	put_words(slot + head_words(msg->kind), data, msg->len);
}

/* Bytes of the packet, what is in front of the message into @msg. */
static void get_packet(struct ub_msg *msg, u8 *data, const __le32 *slot,
		       unsigned int kind, unsigned int len)
{
	u32 w[MESSAGE_WORDS];
	unsigned int i, head = head_words(kind);

	for (i = 0; i < MESSAGE_WORDS; i++)
		w[i] = le32_to_cpu(slot[i]);
	*msg = (struct ub_msg) {
		.kind = kind, .len = len - 4 * head,
		.scna = w[1] >> 16, .dcna = w[1] & 0xffff,
		.lbf = w[2] >> 8 & 0xff, .sl = w[2] >> 4 & 0xf,
		.flags = w[2] & 8 ? UB_MSG_MGMT : 0,
	};
	if (kind == UB_MSG_SCAN) {
		msg->upi = w[3] >> 16 & 0x7fff;
	} else {
		msg->upi = w[3] >> 8 & 0x7fff;
		msg->seid = (w[3] & 0xff) << 12 | w[4] >> 20;
		msg->deid = w[4] & 0xfffff;
		msg->msn = w[5] & 0xffff;
		msg->queue = w[6] & 0xfffff;
	}
	get_words(data, slot + head, msg->len);
}

/* The Scan PDU of a response has the MSN as well. */
static void set_scan_msn(u8 *data, unsigned int len, u16 msn)
{
	unsigned int bits = 4u << (data[1] & 3), hops = data[2];
	unsigned int pdu = 4 + DIV_ROUND_UP(hops * bits, 32) * 4;

	if (pdu + 8 <= len)
		put_unaligned_be16(msn, data + pdu + 6);
}

/* ---- Slots ---- */

/* The answer to a slot, or that there is none. */
static void end_slot(struct ub_msgs *m, struct ub_msg_slot *slot,
		     const struct ub_msg *answer, u8 *data)
{
	struct ub_msg msg = { .flags = UB_MSG_FAILED };

	if (answer)
		msg = *answer;
	msg.kind = slot->kind;
	msg.msn = slot->own_msn;
	if (answer && msg.kind == UB_MSG_SCAN)
		set_scan_msn(data, msg.len, msg.msn);
	if (slot->client)
		ub_msg_give(slot->client, &msg, data, true);
	slot->used = false;
	slot->client = NULL;
	WRITE_ONCE(m->used, m->used - 1);
	wake_up_interruptible(&m->room);
}

static void fail_slots(struct ub_msgs *m)
{
	unsigned int i;

	for (i = 0; i < UB_MSG_SLOTS; i++)
		if (m->slot[i].used)
			end_slot(m, &m->slot[i], NULL, NULL);
}

/* A slot with an MSN that was not used for long. */
static struct ub_msg_slot *new_slot(struct ub_msgs *m,
				    struct ub_msg_client *client,
				    const struct ub_msg *msg)
{
	struct ub_msg_slot *slot;

	do {
		slot = &m->slot[++m->last_msn % UB_MSG_SLOTS];
	} while (slot->used);
	*slot = (struct ub_msg_slot) {
		.client = client, .deadline = jiffies + PATIENCE,
		.msn = m->last_msn, .own_msn = msg->msn, .kind = msg->kind,
		.used = true,
	};
	WRITE_ONCE(m->used, m->used + 1);
	WRITE_ONCE(client->pending, client->pending + 1);
	schedule_delayed_work(&m->timer, HZ);
	return slot;
}

/* ---- Sending ---- */

static bool sq_full(struct ub_msgs *m)
{
	return (m->sq_pi + 1) % SQ_DEPTH == msg_rd(m, SQ_CI);
}

/* There is room for one. */
static void push(struct ub_msgs *m, const struct ub_msg *msg, const u8 *data)
{
	__le32 *sqe = m->sq.mem + m->sq_pi * ENTRY;
	u32 at = SQ_DEPTH * ENTRY + m->sq_pi * SLOT;
	u32 len = 4 * head_words(msg->kind) + msg->len;
	/* A scan's opcode is the CMD of its PDU: only we would read it. */
	u8 opcode = msg->kind == UB_MSG_SCAN ? 0 : data[0];

	put_packet(m->sq.mem + at, msg, data);
	sqe[0] = cpu_to_le32(msg->kind |
			     (msg->flags & UB_MSG_LOCAL ? 0x10 : 0) |
			     opcode << 8 | len << 16);
	sqe[1] = cpu_to_le32(msg->msn);
	sqe[2] = cpu_to_le32(at);
	sqe[3] = 0;
	m->sq_pi = (m->sq_pi + 1) % SQ_DEPTH;
	msg_wr(m, SQ_PI, m->sq_pi);
}

/* Whether the device will say what became of it. */
static bool is_asking(const struct ub_msg *msg, const u8 *data)
{
	return msg->kind == UB_MSG_SCAN ||
	       (!(data[0] & ETAH_RSP) && ETAH_CODE(data[0]) > ETAH_LAST_EVENT);
}

int ub_msgs_send(struct ub_msg_client *client, const struct ub_msg *msg,
		 const u8 *data)
{
	struct ub_msgs *m = client->msgs;
	struct ub_msg out = *msg;

	if (!m->core)
		return -ENODEV;
	if (!m->running)
		return -ENETDOWN;
	if (is_asking(msg, data)) {
		if (client->pending >= UB_MSG_PENDING ||
		    m->used >= UB_MSG_SLOTS || sq_full(m))
			return -EAGAIN;
		out.msn = new_slot(m, client, msg)->msn;
	} else if (sq_full(m)) {
		return -EAGAIN;
	}
	push(m, &out, data);
	return 0;
}

/* ---- Receiving ---- */

/* No software has an answer: the asker shall not wait. */
static void refuse(struct ub_msgs *m, const struct ub_msg *msg, const u8 *data)
{
	u8 etah[4] = { data[0] | ETAH_RSP, STATUS_NO_RESOURCE };
	struct ub_msg out = ub_msg_back(msg);

	out.len = sizeof(etah);
	if (!sq_full(m))
		push(m, &out, etah);
}

static void take_unasked(struct ub_msgs *m, const struct ub_msg *msg,
			 const u8 *data)
{
	struct ub_msg_client *client;

	if (ETAH_CODE(data[0]) == ETAH_POOL &&
	    ETAH_SUB(data[0]) <= POOL_LAST_OURS) {
		if (!ub_pool_take(m->core, msg, data))
			refuse(m, msg, data);
		return;
	}
	if (ETAH_CODE(data[0]) > ETAH_LAST_EVENT) {
		if (m->taker)
			ub_msg_give(m->taker, msg, data, false);
		else
			refuse(m, msg, data);
		return;
	}
	list_for_each_entry(client, &m->clients, list)
		if (client->listen & UB_MSG_EVENTS)
			ub_msg_give(client, msg, data, false);
	if (ETAH_CODE(data[0]) == ETAH_LINK)
		ub_fabric_changed(m->core);
}

static void take_entry(struct ub_msgs *m, const __le32 *cqe)
{
	u32 w0 = le32_to_cpu(cqe[0]), w2 = le32_to_cpu(cqe[2]);
	unsigned int kind = w0 & 3, len = w0 >> 16 & 0xfff;
	unsigned int at = w2 & 0x3ff, status = w2 >> 16 & 0xff;
	u16 msn = le32_to_cpu(cqe[1]);
	u8 *data = m->data;
	struct ub_msg msg;
	struct ub_msg_slot *slot = &m->slot[msn % UB_MSG_SLOTS];
	bool packet = kind <= UB_MSG_SCAN && at < RQ_DEPTH &&
		      len >= 4 * head_words(kind) + 4 &&
		      len <= 4 * head_words(kind) + UB_MSG_MAX;

	if (packet)
		get_packet(&msg, data, m->rq.mem + at * SLOT, kind, len);
	/* What is too long for those who ask has slots, too. */
	if (len && at < RQ_DEPTH)
		msg_wr(m, RQ_CI, (at + DIV_ROUND_UP(len, SLOT)) % RQ_DEPTH);
	if (kind == UB_MSG_MESSAGE && !(w0 >> 8 & ETAH_RSP)) {
		if (packet)
			take_unasked(m, &msg, data);
	} else if (slot->used && slot->msn == msn && slot->kind == kind) {
		end_slot(m, slot, packet && !status ? &msg : NULL, data);
	}
}

static void take_entries(struct ub_msgs *m)
{
	unsigned int left = CQ_DEPTH;
	u32 pi;

	while (m->running && left && (pi = msg_rd(m, CQ_PI)) != m->cq_ci) {
		if (pi >= CQ_DEPTH) {
			/* Nobody is there any more. */
			m->running = false;
			fail_slots(m);
			return;
		}
		for (; m->cq_ci != pi && left; left--) {
			take_entry(m, m->cq.mem + m->cq_ci * ENTRY);
			m->cq_ci = (m->cq_ci + 1) % CQ_DEPTH;
		}
		msg_wr(m, CQ_CI, m->cq_ci);
	}
	if (!left)
		schedule_work(&m->work);
}

static void ub_msgs_work(struct work_struct *work)
{
	struct ub_msgs *m = container_of(work, struct ub_msgs, work);

	mutex_lock(&m->lock);
	take_entries(m);
	mutex_unlock(&m->lock);
}

irqreturn_t ub_msgs_irq(struct ub_core *core)
{
	struct ub_msgs *m = READ_ONCE(core->msgs);

	if (!m || !(msg_rd(m, CQ_INT_STATUS) & 1))
		return IRQ_NONE;
	msg_wr(m, CQ_INT_STATUS, 1);
	schedule_work(&m->work);
	return IRQ_HANDLED;
}

/* ---- Life ---- */

static void set_ring(struct ub_msgs *m, u32 reg, const struct ub_msg_ring *ring,
		     u32 depth)
{
	msg_wr(m, reg + DEPTH, depth);
	msg_wr(m, reg, lower_32_bits(ring->addr));
	msg_wr(m, reg + 4, upper_32_bits(ring->addr));
}

static void start(struct ub_msgs *m)
{
	msg_wr(m, MSGQ_RST, 1);
	msg_wr(m, MSGQ_RST, 0);
	set_ring(m, SQ_ADDR, &m->sq, SQ_DEPTH);
	set_ring(m, RQ_ADDR, &m->rq, RQ_DEPTH);
	set_ring(m, CQ_ADDR, &m->cq, CQ_DEPTH);
	m->sq_pi = m->cq_ci = 0;
	msg_wr(m, MSGQ_INT_SEL, 0);
	msg_wr(m, CQ_INT_STATUS, 1);
	msg_wr(m, CQ_INT_MASK, 0);
	WRITE_ONCE(m->running, true);
}

static void stop(struct ub_msgs *m)
{
	WRITE_ONCE(m->running, false);
	msg_wr(m, MSGQ_RST, 1);
	fail_slots(m);
	wake_up_interruptible(&m->room);
}

/* What was never answered: a vendor's message, or a device that has stopped. */
static void ub_msgs_timer(struct work_struct *work)
{
	struct ub_msgs *m = container_of(to_delayed_work(work), struct ub_msgs,
					 timer);
	unsigned int i;

	mutex_lock(&m->lock);
	take_entries(m);
	if (m->running && (msg_rd(m, SQ_STATUS) | msg_rd(m, RQ_STATUS) |
			   msg_rd(m, CQ_STATUS))) {
		dev_err_ratelimited(&m->core->pdev->dev,
				    "the message queue has stopped\n");
		stop(m);
		start(m);
	}
	for (i = 0; i < UB_MSG_SLOTS; i++)
		if (m->slot[i].used &&
		    time_after(jiffies, m->slot[i].deadline))
			end_slot(m, &m->slot[i], NULL, NULL);
	if (m->used)
		schedule_delayed_work(&m->timer, HZ);
	mutex_unlock(&m->lock);
}

void ub_msgs_start(struct ub_core *core)
{
	struct ub_msgs *m = core->msgs;

	if (!m)
		return;
	mutex_lock(&m->lock);
	start(m);
	mutex_unlock(&m->lock);
}

void ub_msgs_stop(struct ub_core *core)
{
	struct ub_msgs *m = core->msgs;

	if (!m)
		return;
	mutex_lock(&m->lock);
	stop(m);
	mutex_unlock(&m->lock);
}

static int alloc_rings(struct ub_msgs *m, struct device *dev)
{
	m->sq.mem = dmam_alloc_coherent(dev, SQ_SIZE, &m->sq.addr, GFP_KERNEL);
	m->rq.mem = dmam_alloc_coherent(dev, RQ_DEPTH * SLOT, &m->rq.addr,
					GFP_KERNEL);
	m->cq.mem = dmam_alloc_coherent(dev, CQ_DEPTH * ENTRY, &m->cq.addr,
					GFP_KERNEL);
	return m->sq.mem && m->rq.mem && m->cq.mem ? 0 : -ENOMEM;
}

static struct ub_msgs *new_msgs(struct ub_core *core)
{
	struct ub_msgs *m = kzalloc(sizeof(*m), GFP_KERNEL);

	if (!m)
		return NULL;
	kref_init(&m->ref);
	mutex_init(&m->lock);
	m->core = core;
	m->regs = core->bar + UBC_MSGQ(0);
	INIT_LIST_HEAD(&m->clients);
	init_waitqueue_head(&m->room);
	INIT_WORK(&m->work, ub_msgs_work);
	INIT_DELAYED_WORK(&m->timer, ub_msgs_timer);
	m->misc.minor = MISC_DYNAMIC_MINOR;
	m->misc.name = m->name;
	m->misc.fops = &ub_msg_fops;
	m->misc.parent = &core->pdev->dev;
	m->misc.mode = 0600;
	return m;
}

/* Those who have it open keep what is theirs. */
static void end_msgs(struct ub_core *core)
{
	struct ub_msgs *m = core->msgs;
	struct ub_msg_client *client;

	mutex_lock(&m->lock);
	stop(m);
	WRITE_ONCE(m->core, NULL);
	list_for_each_entry(client, &m->clients, list)
		wake_up(&client->wait);
	mutex_unlock(&m->lock);
	WRITE_ONCE(core->msgs, NULL);
	synchronize_irq(ub_core_irq(core, 0));
	cancel_work_sync(&m->work);
	cancel_delayed_work_sync(&m->timer);
	ida_free(&ub_msg_ida, m->id);
	ub_msgs_put(m);
}

int ub_msgs_add(struct ub_core *core)
{
	struct ub_msgs *m;
	int err;

	if (!(ub_rd(core->bar, UBC_CAPS) & UBC_CAPS_MSGQS))
		return 0;
	m = new_msgs(core);
	if (!m)
		return -ENOMEM;
	err = alloc_rings(m, &core->pdev->dev);
	if (err)
		goto put;
	m->id = ida_alloc(&ub_msg_ida, GFP_KERNEL);
	if (m->id < 0) {
		err = m->id;
		goto put;
	}
	snprintf(m->name, sizeof(m->name), "ubmsg%d", m->id);
	WRITE_ONCE(core->msgs, m);
	ub_msgs_start(core);
	err = misc_register(&m->misc);
	if (err)
		goto undo;
	return 0;

undo:
	end_msgs(core);
	return err;
put:
	ub_msgs_put(m);
	return err;
}

void ub_msgs_del(struct ub_core *core)
{
	/* From here on nobody comes who is not there yet. */
	if (core->msgs) {
		misc_deregister(&core->msgs->misc);
		end_msgs(core);
	}
}
