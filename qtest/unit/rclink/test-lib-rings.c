/*
 * librclink over ports in virtual time: messages, events, waiting
 * (tools/rclink/rings.c).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "lib.h"

/* ---- messages ---- */

static void test_messages(void)
{
    Pair p = pair_up();
    unsigned sent = 0, taken = 0, done = 0;
    struct rclink_event ev;

    while (taken < ROUNDS * ENTRIES) {
        for (unsigned i = 0; i < 37; i++) {
            g_assert_cmpint(put(p.rc[0], 5, sent, i % 3 ? 0 : RCLINK_MORE),
                            ==, 0);
            sent++;
        }
        rclink_ring(p.rc[0]);
        cdev_settle();
        while (taken < sent) {
            take(p.rc[1], 0, taken++);
        }
        take_none(p.rc[1], 0);
        take_none(p.rc[1], 1);
        cdev_settle();
        while (rclink_poll(p.rc[0], &ev)) {
            if (ev.type != RCLINK_SENT) {
                continue;
            }
            g_assert_cmpuint(ev.cookie, ==, done++);
            g_assert_cmpuint(ev.qp, ==, 5);
            g_assert_cmpint(ev.group, ==, 0);
            g_assert_cmpuint(ev.error, ==, 0);
        }
        g_assert_cmpuint(done, ==, sent);
    }
    g_assert_cmpuint(stat_of(p.rc[0], "tx_type1"), ==, sent);
    g_assert_cmpuint(stat_of(p.rc[0], "tx_type1_again"), ==, 0);
    pair_close(&p);
}

static void test_send_refused(void)
{
    Pair p = pair_up();
    uint8_t data[4096] = { 0 };
    unsigned most = rclink_bytes(p.rc[0]);

    g_assert_cmpuint(most, ==, 1344);
    g_assert_cmpint(rclink_send(p.rc[0], 5, data, RCLINK_BYTES_MIN - 1, 0, 0),
                    ==, -EMSGSIZE);
    g_assert_cmpint(rclink_send(p.rc[0], 5, data, most + 1, 0, 0), ==,
                    -EMSGSIZE);
    g_assert_cmpint(rclink_send(p.rc[0], rclink_qps(p.rc[0]), data, 64, 0, 0),
                    ==, -EINVAL);
    g_assert_cmpint(rclink_send_group(p.rc[0], 8, data, 64, 0, 0), ==,
                    -EINVAL);
    cdev_settle();
    g_assert_cmpuint(stat_of(p.rc[0], "tx_type1"), ==, 0);
    g_assert_cmpint(rclink_send(p.rc[0], 5, data, RCLINK_BYTES_MIN, 0, 0),
                    ==, 0);
    g_assert_cmpint(rclink_send(p.rc[0], 5, data, most, 0, 0), ==, 0);
    cdev_settle();
    g_assert_cmpuint(stat_of(p.rc[1], "rx_type1"), ==, 2);
    pair_close(&p);
}

/* RCLINK_MORE: the device knows of nothing before somebody rings. */
static void test_more(void)
{
    Pair p = pair_up();

    for (unsigned i = 0; i < ENTRIES; i++) {
        g_assert_cmpint(put(p.rc[0], 5, i, RCLINK_MORE), ==, 0);
    }
    cdev_settle();
    g_assert_cmpuint(stat_of(p.rc[0], "tx_type1"), ==, 0);
    /* Who finds no room rings. */
    g_assert_cmpint(put(p.rc[0], 5, ENTRIES, RCLINK_MORE), ==, -EAGAIN);
    cdev_settle();
    g_assert_cmpuint(stat_of(p.rc[0], "tx_type1"), ==, ENTRIES);
    g_assert_cmpint(put(p.rc[0], 5, ENTRIES, RCLINK_MORE), ==, 0);
    g_assert_cmpint(put(p.rc[0], 5, ENTRIES + 1, 0), ==, 0);
    for (unsigned i = 0; i < ENTRIES; i++) {
        take(p.rc[1], 0, i);
    }
    cdev_settle();
    g_assert_cmpuint(stat_of(p.rc[0], "tx_type1"), ==, ENTRIES + 2);
    /* A register is written where there is news. */
    cdev_writes = 0;
    rclink_ring(p.rc[0]);
    cdev_settle();
    g_assert_cmpuint(cdev_writes, ==, 0);
    /* Who waits rings, too. */
    events_drop(p.rc[0]);
    cdev_settle();
    g_assert_cmpint(put(p.rc[0], 5, ENTRIES + 2, RCLINK_MORE), ==, 0);
    cdev_writes = 0;
    g_assert_cmpint(rclink_wait(p.rc[0], RCLINK_WAIT_EVENT, -1), ==, 1);
    g_assert_cmpuint(cdev_writes, ==, 2);
    pair_close(&p);
}

/* A buffer is the program's until the next call, and goes back with others. */
static void test_buffers(void)
{
    Pair p = pair_up();
    struct rclink_message m;
    RigEnd *e = cdev_end(rclink_fd(p.rc[1]));
    unsigned n = 0;

    for (unsigned i = 0; i < ENTRIES + 1; i++) {
        g_assert_cmpint(put(p.rc[0], 5, i, 0), ==, 0);
        cdev_settle();
    }
    g_assert_cmpuint(rig_get(e, RCL_RING(RCL_RING_RX1) + RCL_RING_TAIL), ==,
                     ENTRIES);
    /* The first is looked at, and not overwritten by the last. */
    take(p.rc[1], 0, n++);
    g_assert_cmpuint(rclink_arm(p.rc[1], 0), ==, 0);
    cdev_settle();
    g_assert_cmpuint(rig_get(e, RCL_RING(RCL_RING_RX1) + RCL_RING_TAIL), ==,
                     ENTRIES);
    while (n < ENTRIES / 4) {
        take(p.rc[1], 0, n++);
    }
    cdev_settle();
    g_assert_cmpuint(rig_get(e, RCL_RING(RCL_RING_RX1) + RCL_RING_HEAD), ==,
                     ENTRIES);
    /* A quarter of them at once ... */
    take(p.rc[1], 0, n++);
    cdev_settle();
    g_assert_cmpuint(rig_get(e, RCL_RING(RCL_RING_RX1) + RCL_RING_HEAD), ==,
                     ENTRIES + ENTRIES / 4);
    while (n < ENTRIES + 1) {
        take(p.rc[1], 0, n++);
    }
    /* ... and one alone is no reason for a register: the device has others. */
    cdev_settle();
    cdev_writes = 0;
    g_assert_cmpint(rclink_recv(p.rc[1], 0, &m), ==, 0);
    cdev_settle();
    g_assert_cmpuint(rig_get(e, RCL_RING(RCL_RING_RX1) + RCL_RING_HEAD), ==,
                     2 * ENTRIES);
    g_assert_cmpuint(cdev_writes, ==, 0);
    pair_close(&p);
}

static void test_truncated(void)
{
    Pair p = pair_up();
    struct rclink_message m;
    uint8_t data[LEN];
    uint8_t *ring = cdev_piece(rclink_fd(p.rc[1]), RCLINK_PIECE_RINGS) +
                    RCLINK_RING_AT(RCL_RING_RX1);

    put_le16(ring + RCL_E_LEN, 64);
    g_assert_cmpint(put(p.rc[0], 5, 1, 0), ==, 0);
    cdev_settle();
    fill(data, sizeof(data), 1);
    g_assert_cmpint(rclink_recv(p.rc[1], 0, &m), ==, 1);
    g_assert_cmpint(m.truncated, ==, 1);
    g_assert_cmpmem(m.data, 64, data, 64);
    /* A length that no buffer has is not believed. */
    g_assert_cmpint(put(p.rc[0], 5, 2, 0), ==, 0);
    cdev_settle();
    put_le16(ring + RCL_RING_ENTRY + RCL_E_LEN, UINT16_MAX);
    g_assert_cmpint(rclink_recv(p.rc[1], 0, &m), ==, 1);
    g_assert_cmpuint(m.len, ==, RCLINK_BUFFER);
    pair_close(&p);
}

static void test_groups(void)
{
    Pair p = pair_up();
    struct rclink_event ev;
    uint8_t data[LEN];

    for (unsigned i = 0; i < ROUNDS * ENTRIES; i++) {
        fill(data, sizeof(data), i);
        g_assert_cmpint(rclink_send_group(p.rc[0], 7, data, sizeof(data), 0,
                                          i), ==, 0);
        cdev_settle();
        take(p.rc[1], 1, i);
        ev = event_of(p.rc[0], RCLINK_SENT);
        g_assert_cmpint(ev.group, ==, 1);
        g_assert_cmpuint(ev.cookie, ==, i);
        g_assert_cmpuint(ev.error, ==, 0);
    }
    take_none(p.rc[1], 0);
    pair_close(&p);
}

/* ---- events ---- */

/* ACK_NOW: the round trip comes back, in the time it took. */
static void test_acked(void)
{
    Pair p = pair_up();
    struct rclink_event ev;

    g_assert_cmpint(put(p.rc[0], 5, 0, RCLINK_MORE), ==, 0);
    g_assert_cmpint(put(p.rc[0], 5, 1, RCLINK_ACK_NOW), ==, 0);
    cdev_settle();
    /* A NAK tells a round trip as well. */
    for (unsigned i = 0; i < 1 << RCLINK_LOG_EVENTS; i++) {
        uint8_t *at = cdev_piece(rclink_fd(p.rc[0]), RCLINK_PIECE_RINGS) +
                      RCLINK_RING_AT(RCL_RING_EVENT) + i * RCL_RING_ENTRY;

        at[1] |= at[0] == RCL_EV_ACK ? RCL_EV_NAK : 0;
    }
    ev = event_of(p.rc[0], RCLINK_ACKED);
    g_assert_cmpuint(ev.value, >=, 1);
    g_assert_cmpuint(ev.value, <=, 2);
    g_assert_cmpuint(ev.qp, ==, 5);
    g_assert_cmpuint(ev.rtt, ==, 0);
    g_assert_cmpint(ev.on, ==, 0);
    pair_close(&p);
}

/* Bytes that were sent without a CNP. */
static void test_uncongested(void)
{
    Pair p = pair_up();
    struct rclink_event ev;

    g_assert_cmpint(rclink_set(p.rc[0], RCL_NOCNP, 0, 1), ==, 0);
    for (unsigned i = 0; i < 3; i++) {
        g_assert_cmpint(put(p.rc[0], 5, i, 0), ==, 0);
    }
    cdev_settle();
    rig_pass(p.rig, 2000);
    ev = event_of(p.rc[0], RCLINK_UNCONGESTED);
    g_assert_cmpuint(ev.qp, ==, 5);
    g_assert_cmpuint(ev.value, ==, 3 * LEN);
    pair_close(&p);
}

/* More of them than the ring has, and those of TYPE3 are not for programs. */
static void test_events(void)
{
    Pair p = pair_up();
    RigEnd *e = cdev_end(rclink_fd(p.rc[0]));
    struct rclink_event ev;
    unsigned n = 0;

    for (unsigned i = 0; i < 5 << RCLINK_LOG_EVENTS; i++) {
        g_assert_cmpint(put(p.rc[0], 5, i, 0), ==, 0);
        cdev_settle();
        take(p.rc[1], 0, i);
        if (i % 200 == 199) {
            while (rclink_poll(p.rc[0], &ev)) {
                n += ev.type == RCLINK_SENT;
            }
            cdev_settle();
            g_assert_cmpuint(n, ==, i + 1);
            /* The device knows of all but less than what is told at once. */
            g_assert_cmpuint((uint16_t)(rig_get(e, RCL_RING(RCL_RING_EVENT) +
                                                   RCL_RING_HEAD) -
                                        rig_get(e, RCL_RING(RCL_RING_EVENT) +
                                                   RCL_RING_TAIL)), <,
                             ENTRIES / 4);
        }
    }
    g_assert_cmpuint(stat_of(p.rc[0], "events_lost"), ==, 0);
    events_drop(p.rc[0]);
    cdev_settle();
    /* TYPE3: one interrupt more than the program is told of. */
    rig_set(e, RCL_DMA_INT_MASK, UINT64_MAX);
    rig_set(e, RCL_TX_MDQ_SIZE, 4);
    rig_set(e, RCL_NONR_DMA_CTRL, RCL_NONR_TX_EN);
    rig_set(e, RCL_TX_MDQ_BA, RIG_MD_TX);
    n = rig_get(e, RCL_RING(RCL_RING_EVENT) + RCL_RING_HEAD);
    put_le64(e->mem + RIG_MD_TX, 0);
    rig_set(e, RCL_TX_MD_HEAD_PTR, 1);
    cdev_settle();
    g_assert_cmpuint(rig_get(e, RCL_RING(RCL_RING_EVENT) + RCL_RING_HEAD), >,
                     n);
    g_assert_cmpint(rclink_poll(p.rc[0], &ev), ==, 0);
    rclink_close(p.rc[0]);
    rclink_close(p.rc[1]);
    cdev_free();
}

/* A program that looks at no event finds its first 1024. */
static void test_events_lost(void)
{
    Pair p = pair_up();
    struct rclink_event ev;
    unsigned n = 0;

    for (unsigned i = 0; i < 2 << RCLINK_LOG_EVENTS; i++) {
        g_assert_cmpint(put(p.rc[0], 5, i, 0), ==, 0);
        cdev_settle();
        take(p.rc[1], 0, i);
    }
    while (n < 1 << RCLINK_LOG_EVENTS && rclink_poll(p.rc[0], &ev)) {
        n++;
    }
    g_assert_cmpuint(n, ==, 1 << RCLINK_LOG_EVENTS);
    g_assert_cmpint(rclink_poll(p.rc[0], &ev), ==, 0);
    g_assert_cmpuint(stat_of(p.rc[0], "events_lost"), >, 0);
    pair_close(&p);
}

/* ---- waiting ---- */

static void test_wait(void)
{
    static const struct { unsigned what; bool group; } kind[] = {
        { RCLINK_WAIT_MESSAGE, false }, { RCLINK_WAIT_GROUP, true },
    };
    Pair p = pair_up();
    int64_t before = p.rig->now;
    uint8_t data[LEN] = { 0 };

    for (unsigned i = 0; i < G_N_ELEMENTS(kind); i++) {
        struct rclink_message m;

        before = p.rig->now;
        g_assert_cmpint(rclink_wait(p.rc[1], kind[i].what, 3), ==, 0);
        g_assert_cmpint(p.rig->now - before, ==, 3000000);
        g_assert_cmpint(rclink_wait(p.rc[1], kind[i].what, 0), ==, 0);
        cdev_reads = 0;
        g_assert_cmpint(kind[i].group ?
                        rclink_send_group(p.rc[0], 0, data, LEN, 0, 0) :
                        rclink_send(p.rc[0], 5, data, LEN, 0, 0), ==, 0);
        /* It comes while we wait, and what is there need not be waited for. */
        g_assert_cmpint(rclink_wait(p.rc[1], kind[i].what, -1), ==, 1);
        g_assert_cmpuint(cdev_reads, ==, 1);
        g_assert_cmpint(rclink_wait(p.rc[1], kind[i].what, -1), ==, 1);
        g_assert_cmpint(rclink_arm(p.rc[1], kind[!i].what), ==, 0);
        g_assert_cmpint(rclink_arm(p.rc[1], kind[i].what), ==, 1);
        g_assert_cmpuint(cdev_reads, ==, 1);
        g_assert_cmpint(rclink_recv(p.rc[1], kind[i].group, &m), ==, 1);
        g_assert_cmpint(rclink_disarm(p.rc[1]), ==, 0);
    }
    g_assert_cmpint(rclink_wait(p.rc[0], RCLINK_WAIT_EVENT, -1), ==, 1);
    events_drop(p.rc[0]);
    g_assert_cmpint(rclink_wait(p.rc[0], RCLINK_WAIT_EVENT, 1), ==, 0);
    g_assert_cmpint(put(p.rc[0], 5, 9, 0), ==, 0);
    g_assert_cmpint(rclink_wait(p.rc[0], RCLINK_WAIT_EVENT, -1), ==, 1);
    pair_close(&p);
}

/* Room: there is some at once, until the ring is full. */
static void test_wait_room(void)
{
    Pair p = pair_up();
    unsigned sent = 0;

    g_assert_cmpint(rclink_wait(p.rc[0], RCLINK_WAIT_ROOM, 0), ==, 1);
    g_assert_cmpint(rclink_rate(p.rc[0], 5, 4096, 10 * LEN), ==, 0);
    while (put(p.rc[0], 5, sent, RCLINK_MORE) == 0) {
        sent++;
    }
    g_assert_cmpuint(sent, ==, ENTRIES);
    g_assert_cmpint(rclink_wait(p.rc[0], RCLINK_WAIT_ROOM, -1), ==, 1);
    g_assert_cmpint(put(p.rc[0], 5, sent, 0), ==, 0);
    pair_close(&p);
}

/* Another ring's message wakes up nobody for good, nor makes it wait longer. */
static void test_wait_other(void)
{
    Pair p = pair_up();
    uint8_t data[LEN] = { 0 };
    int64_t before = p.rig->now;

    g_assert_cmpint(rclink_arm(p.rc[1], RCLINK_WAIT_GROUP), ==, 0);
    cdev_settle();
    g_assert_cmpint(rclink_send_group(p.rc[0], 0, data, LEN, 0, 0), ==, 0);
    cdev_reads = 0;
    g_assert_cmpint(rclink_wait(p.rc[1], RCLINK_WAIT_MESSAGE, 5), ==, 0);
    g_assert_cmpuint(cdev_reads, ==, 1);
    g_assert_cmpint(p.rig->now - before, ==, 5000000);
    g_assert_cmpint(rclink_wait(p.rc[1], RCLINK_WAIT_GROUP, 5), ==, 1);
    pair_close(&p);
}

/* The deadline of what is lost until then. */
static bool lose_until(Rig *r, unsigned from, const uint8_t *frame,
                       size_t len)
{
    return r->now >= *(const int64_t *)r->pass_opaque;
}

/* It comes in the middle of the time. */
static void test_wait_late(void)
{
    Pair p = pair_open();
    struct rclink_port port;
    int64_t before = p.rig->now, late = before + 2500000;

    for (unsigned i = 0; i < 2; i++) {
        rclink_port_init(p.rc[i], &port);
        port.retry_us = 1000;
        g_assert_cmpint(rclink_port_set(p.rc[i], &port), ==, 0);
    }
    pair_connect(&p, 5);
    p.rig->pass = lose_until;
    p.rig->pass_opaque = &late;
    g_assert_cmpint(rclink_arm(p.rc[1], RCLINK_WAIT_MESSAGE), ==, 0);
    g_assert_cmpint(put(p.rc[0], 5, 0, 0), ==, 0);
    cdev_reads = 0;
    g_assert_cmpint(rclink_wait(p.rc[1], RCLINK_WAIT_GROUP, 5), ==, 0);
    g_assert_cmpuint(cdev_reads, ==, 1);
    g_assert_cmpint(p.rig->now - before, ==, 5000000);
    take(p.rc[1], 0, 0);
    pair_close(&p);
}

static void test_gone(void)
{
    Pair p = pair_up();
    uint64_t v;

    cdev_faults.poll = EINTR;
    g_assert_cmpint(rclink_wait(p.rc[1], RCLINK_WAIT_MESSAGE, 1), ==,
                    -EINTR);
    cdev_faults.gone = true;
    g_assert_cmpint(rclink_wait(p.rc[1], RCLINK_WAIT_MESSAGE, -1), ==, -EIO);
    g_assert_cmpint(rclink_disarm(p.rc[1]), ==, -EIO);
    g_assert_cmpint(rclink_get(p.rc[1], RCL_LIMITS, 0, &v), ==, -EIO);
    g_assert_cmpint(rclink_set(p.rc[1], RCL_RDMA_EN, 0, 1), ==, -EIO);
    g_assert_cmpint(rclink_stat(p.rc[1], 0, &v), ==, -EIO);
    cdev_faults.gone = false;
    pair_close(&p);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
#define TEST(name) g_test_add_func("/rclink/lib-rings/" #name, test_##name)
    TEST(messages);
    TEST(send_refused);
    TEST(more);
    TEST(buffers);
    TEST(truncated);
    TEST(groups);
    TEST(acked);
    TEST(uncongested);
    TEST(events);
    TEST(events_lost);
    TEST(wait);
    TEST(wait_room);
    TEST(wait_other);
    TEST(wait_late);
    TEST(gone);
    return g_test_run();
}
