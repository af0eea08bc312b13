// SPDX-License-Identifier: GPL-2.0-or-later OR MIT
/*
 * librclink: messages, events and waiting: the rings.
 */
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "internal.h"

enum {
	ENTRIES = 1 << RCLINK_LOG,
	TELL_AFTER = ENTRIES / 4,	/* buffers or events given back before
					 * we ring: the device has the rest */
};

/* ---- memory that the device sees ---- */

/* What was written before is there before what is written next. */
static inline void publish(void)
{
#if defined(__aarch64__)
	__asm__ volatile("dmb oshst" ::: "memory");
#else
	__atomic_thread_fence(__ATOMIC_RELEASE);
#endif
}

/* What is read next is no older than what was read before. */
static inline void acquire(void)
{
#if defined(__aarch64__)
	__asm__ volatile("dmb oshld" ::: "memory");
#else
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
#endif
}

/* A write to the device is over before what is read next. */
static inline void settle(void)
{
#if defined(__aarch64__)
	__asm__ volatile("dmb osh" ::: "memory");
#else
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
#endif
}

static void ring_write(struct rclink *rc, unsigned n, unsigned off,
		       uint32_t v)
{
	rc->regs[(RCL_RING(n) - RCL_RING(0) + off) / 4] = v;
}

/* The index that the device moves. */
static uint16_t theirs(const struct rclink *rc, unsigned n)
{
	uint16_t v = *(volatile uint32_t *)(rc->rings + RCLINK_SHADOW_AT(n));

	acquire();
	return v;
}

static uint8_t *entry_of(const struct rclink *rc, unsigned n, uint16_t i)
{
	unsigned log = n == RCL_RING_EVENT ? RCLINK_LOG_EVENTS : RCLINK_LOG;

	return rc->rings + RCLINK_RING_AT(n) +
	       (i & ((1u << log) - 1)) * RCL_RING_ENTRY;
}

static uint8_t *buffer_of(const struct rclink *rc, unsigned n, uint16_t i)
{
	return rc->buffers[n] + (size_t)(i % ENTRIES) * RCLINK_BUFFER;
}

static void put16(uint8_t *p, uint16_t v)
{
	memcpy(p, &v, sizeof(v));
}

static uint16_t get16(const uint8_t *p)
{
	uint16_t v;

	memcpy(&v, p, sizeof(v));
	return v;
}

/* Tell the device our index. */
static void tell(struct rclink *rc, unsigned n)
{
	if (rc->told[n] == rc->mine[n])
		return;
	rc->told[n] = rc->mine[n];
	publish();
	ring_write(rc, n, n == RCL_RING_EVENT ? RCL_RING_TAIL : RCL_RING_HEAD,
		   rc->mine[n]);
}

/* The same where it can wait: a register costs more than a message. */
static void tell_many(struct rclink *rc, unsigned n)
{
	if ((uint16_t)(rc->mine[n] - rc->told[n]) >= TELL_AFTER)
		tell(rc, n);
}

/* Give a buffer to the device: entries keep theirs. */
static void give(struct rclink *rc, unsigned n)
{
	put16(entry_of(rc, n, rc->mine[n]++) + RCL_E_LEN, RCLINK_BUFFER);
}

void lib_rings_init(struct rclink *rc, const struct rclink_info *info)
{
	for (unsigned n = RCL_RING_TX; n <= RCL_RING_RX2; n++)
		for (unsigned i = 0; i < ENTRIES; i++) {
			uint64_t at = info->bus[RCLINK_PIECE_TX + n] +
				      (uint64_t)i * RCLINK_BUFFER;

			memcpy(entry_of(rc, n, i), &at, sizeof(at));
			if (n != RCL_RING_TX)
				give(rc, n);
		}
	tell(rc, RCL_RING_RX1);
	tell(rc, RCL_RING_RX2);
}

/* ---- sending ---- */

static int room(struct rclink *rc)
{
	return (uint16_t)(rc->mine[RCL_RING_TX] - theirs(rc, RCL_RING_TX)) <
	       ENTRIES;
}

static int post(struct rclink *rc, unsigned qp, const void *data, size_t len,
		unsigned flags, uint8_t bits, uint16_t cookie)
{
	uint16_t at = rc->mine[RCL_RING_TX];
	uint8_t *e = entry_of(rc, RCL_RING_TX, at);

	if (len < RCLINK_BYTES_MIN || len > rclink_bytes(rc) ||
	    len > RCLINK_BUFFER)
		return -EMSGSIZE;
	if (!room(rc)) {
		tell(rc, RCL_RING_TX);
		return -EAGAIN;
	}
	memcpy(buffer_of(rc, RCL_RING_TX, at), data, len);
	put16(e + RCL_E_LEN, len);
	put16(e + RCL_E_QP, qp);
	e[RCL_E_FLAGS] = bits;
	put16(e + RCL_E_COOKIE, cookie);
	rc->mine[RCL_RING_TX]++;
	if (!(flags & RCLINK_MORE))
		tell(rc, RCL_RING_TX);
	return 0;
}

int rclink_send(struct rclink *rc, unsigned qp, const void *data, size_t len,
		unsigned flags, uint16_t cookie)
{
	if (qp >= rclink_qps(rc))
		return -EINVAL;
	return post(rc, qp, data, len, flags, RCL_ETYPE1 |
		    (flags & RCLINK_ACK_NOW ? RCL_E_FACK : 0), cookie);
}

int rclink_send_group(struct rclink *rc, unsigned group, const void *data,
		      size_t len, unsigned flags, uint16_t cookie)
{
	if (group > 7)
		return -EINVAL;
	return post(rc, 0, data, len, flags,
		    RCL_ETYPE2 | group << RCL_E_GROUP_SHIFT, cookie);
}

void rclink_ring(struct rclink *rc)
{
	tell(rc, RCL_RING_TX);
}

/* ---- receiving ---- */

int rclink_recv(struct rclink *rc, int group, struct rclink_message *msg)
{
	unsigned n = group ? RCL_RING_RX2 : RCL_RING_RX1;
	uint16_t at = rc->done[n];
	const uint8_t *e;

	if (rc->held[n]) {
		rc->held[n] = 0;
		give(rc, n);
	}
	tell_many(rc, n);
	if (theirs(rc, n) == at)
		return 0;
	e = entry_of(rc, n, at);
	msg->data = buffer_of(rc, n, at);
	msg->len = get16(e + RCL_E_LEN);
	msg->qp = get16(e + RCL_E_QP);
	msg->truncated = !!(e[RCL_E_FLAGS] & RCL_E_TRUNCATED);
	if (msg->len > RCLINK_BUFFER)
		msg->len = RCLINK_BUFFER;
	rc->done[n]++;
	rc->held[n] = 1;
	return 1;
}

/* ---- events ---- */

static void event_decode(const uint8_t *e, struct rclink_event *ev)
{
	uint32_t a;

	*ev = (struct rclink_event) {
		.type = e[0], .qp = get16(e + 2),
		.on = e[0] == RCL_EV_QP_EN && e[1] & RCL_EV_SET,
	};
	memcpy(&a, e + 4, sizeof(a));
	memcpy(&ev->value, e + 8, sizeof(ev->value));
	switch (ev->type) {
	case RCLINK_SENT:
		ev->cookie = ev->value;
		ev->error = a >= RCL_EV_DROPPED ? a - RCL_EV_DROPPED : 0;
		ev->group = a == RCL_ETYPE2;
		break;
	case RCLINK_ACKED:
		ev->rtt = a;
		break;
	case RCLINK_UNCONGESTED:
		ev->value = a;
		break;
	default:
		break;
	}
}

/* Interrupts of TYPE3 are the network driver's. */
static int event_is_ours(const struct rclink_event *ev)
{
	return ev->type != RCLINK_IRQ || ev->value >> RCL_IRQ_TYPE_SHIFT != 3;
}

int rclink_poll(struct rclink *rc, struct rclink_event *ev)
{
	unsigned n = RCL_RING_EVENT;

	while (theirs(rc, n) != rc->mine[n]) {
		event_decode(entry_of(rc, n, rc->mine[n]++), ev);
		tell_many(rc, n);
		if (event_is_ours(ev))
			return 1;
	}
	return 0;
}

/* ---- waiting ---- */

static int happened(struct rclink *rc, unsigned what)
{
	return (what & RCLINK_WAIT_ROOM && room(rc)) ||
	       (what & RCLINK_WAIT_MESSAGE &&
		theirs(rc, RCL_RING_RX1) != rc->done[RCL_RING_RX1]) ||
	       (what & RCLINK_WAIT_GROUP &&
		theirs(rc, RCL_RING_RX2) != rc->done[RCL_RING_RX2]) ||
	       (what & RCLINK_WAIT_EVENT &&
		theirs(rc, RCL_RING_EVENT) != rc->mine[RCL_RING_EVENT]);
}

int rclink_arm(struct rclink *rc, unsigned what)
{
	tell(rc, RCL_RING_TX);
	for (unsigned n = 0; n < RCL_RINGS; n++)
		if (what >> n & 1)
			ring_write(rc, n, RCL_RING_ARM, theirs(rc, n));
	settle();
	return happened(rc, what);
}

int rclink_disarm(struct rclink *rc)
{
	uint32_t num;

	return read(rc->fd, &num, sizeof(num)) < 0 ? -errno : 0;
}

static int64_t now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000ll + t.tv_nsec / 1000000;
}

int rclink_wait(struct rclink *rc, unsigned what, int ms)
{
	struct pollfd p = { .fd = rc->fd, .events = POLLIN };
	int64_t until = now_ms() + ms;
	int n;

	for (;;) {
		if (rclink_arm(rc, what))
			return 1;
		n = poll(&p, 1, ms);
		if (n <= 0)
			return n ? -errno : 0;
		n = rclink_disarm(rc);
		if (n)
			return n;
		if (happened(rc, what))
			return 1;
		/* Another ring's message, armed before. */
		if (ms > 0)
			ms = until > now_ms() ? until - now_ms() : 0;
	}
}
