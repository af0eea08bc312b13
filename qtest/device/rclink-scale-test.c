/*
 * rclink: all QPs and all packet buffers of a device, buffers in each state on
 * their way to another emulator, storms, and credits after every kind of loss.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "libqos/pci-pc.h"
#include <sys/un.h>
#include "rclink-peer.h"
#include "../deadline.h"

#define STOP_CBFC   (1ull << RCL_CFG_STOP_CBFC)
#define ALL_OPEN    (0xffull << RCL_CFG_VC_OPEN)
#define VC_MAP      (0x1ac688ull << RCL_CFG_VC_MAP)     /* VC n to flow n */
#define CBFC_ALL    (0x3full << RCL_CFG_CBFC_BANK0 | 1ull << RCL_CFG_CBFC_TYPE2)
#define LIMITS      (0x249ull << RCL_CFG_UF_TYPE1)
#define OBEY_PFC    (0x7full << 39)

enum { QPS = 1024, SLOTS = 512 };

static unsigned free_slots(Rcl *r)
{
    return rcl_get(r, RCL_OST_FREE) & 0xffff;
}

/* A QP is disabled, and what it has not sent or nobody has acknowledged is lost. */
static void qp_free(Rcl *r, unsigned qp)
{
    rcl_set(r, RCL_QP_ID_SET, qp);
    rcl_set(r, RCL_QP_CONTROL_STATUS, 0);
    rcl_set(r, RCL_QP_CONTROL_STATUS, RCL_QP_FREE_BUF);
}

/* ---- as many as there are ---- */

/* The peer's QP, of the same bank. */
static unsigned peer_of(unsigned qp)
{
    return qp ^ 0x3fc;
}

static void post_qp(Rig *g, unsigned qp)
{
    gint64 limit = test_deadline(20);

    while ((uint16_t)(g->r->tx_head -
                      rcl_get(g->r, RCL_RING(RCL_RING_TX) + RCL_RING_TAIL)) >=
           RCL_ENTRIES) {
        g_assert_cmpint(g_get_monotonic_time(), <, limit);
    }
    rcl_post(g->r, qp, 64, qp, 0);
}

static void expect_request(Rig *g, unsigned qp, unsigned psn)
{
    Got got;

    wire_get(g, &got);
    g_assert_cmpuint(got.opcode, ==, SEND);
    g_assert_cmpuint(got.qp, ==, peer_of(qp));
    g_assert_cmphex(got.psn, ==, psn & 0xfff);
    g_assert_cmpuint(got.field, ==, RH + 64);
    for (unsigned i = 0; i < 64; i++) {
        g_assert_cmphex(got.data[i], ==, (qp + i) & 0xff);
    }
}

/* The peer has it, and so the driver has its buffer back. */
static void answer_qp(Rig *g, unsigned qp, unsigned psn)
{
    uint8_t f[MIN_FRAME], ev[RCL_RING_ENTRY];

    wire_put(g, f, frame_make(f, ACK, 0, SYN_ACK, psn & 0xfff, qp, 0));
    rcl_event_wait(g->r, RCL_EV_CREDIT, ev);
    g_assert_cmpuint(lduw_le_p(ev + 2), ==, qp);
    g_assert_cmphex(ldl_le_p(ev + 4), ==, RCL_ETYPE1);
    g_assert_cmphex(ldq_le_p(ev + 8), ==, qp & 0xff);
}

/* 1024 QPs, each with its own number and PSN; 512 packets without an answer, and
 * not one more. */
static void test_many(void)
{
    Rig g = rig_start("", GEN1);
    uint64_t lost;

    for (unsigned q = 0; q < QPS; q++) {
        rcl_qp(g.r, q, 1, peer_of(q), q * 5);
    }
    rcl_set(g.r, RCL_EVENT_MASK, 1 << RCL_EV_CREDIT);
    g.r->ev_tail = rcl_get(g.r, RCL_RING(RCL_RING_EVENT) + RCL_RING_HEAD);
    rcl_set(g.r, RCL_RING(RCL_RING_EVENT) + RCL_RING_TAIL, g.r->ev_tail);
    lost = counter(&g, "events_lost");
    for (unsigned q = 0; q < SLOTS; q++) {
        g_assert_cmpuint(free_slots(g.r), ==, SLOTS - q);
        post_qp(&g, q);
        expect_request(&g, q, q * 5);
    }
    g_assert_cmpuint(free_slots(g.r), ==, 0);
    /* These have to wait for a buffer. */
    for (unsigned q = SLOTS; q < SLOTS + RCL_ENTRIES; q++) {
        rcl_post(g.r, q, 64, q, 0);
    }
    g_assert_true(wire_quiet(&g));
    g_assert_cmpuint((uint16_t)rcl_get(g.r, RCL_RING(RCL_RING_TX) +
                                            RCL_RING_TAIL), ==, SLOTS);
    for (unsigned q = 0; q < SLOTS; q++) {
        answer_qp(&g, q, q * 5);
        if (q < RCL_ENTRIES) {
            expect_request(&g, SLOTS + q, (SLOTS + q) * 5);
        } else {
            post_qp(&g, SLOTS + q);
            expect_request(&g, SLOTS + q, (SLOTS + q) * 5);
        }
    }
    g_assert_cmpuint(free_slots(g.r), ==, 0);
    for (unsigned q = SLOTS; q < QPS; q++) {
        answer_qp(&g, q, q * 5);
    }
    g_assert_cmpuint(free_slots(g.r), ==, SLOTS);
    g_assert_cmpuint(counter(&g, "tx_type1"), ==, QPS);
    g_assert_cmpuint(counter(&g, "tx_type1_again"), ==, 0);
    g_assert_cmpuint(counter(&g, "events_lost"), ==, lost);
    rig_stop(&g);
}

/* ---- buffers in each state, to another emulator ---- */

static int wire_connect(const char *path)
{
    struct sockaddr_un a = { .sun_family = AF_UNIX };
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);

    g_strlcpy(a.sun_path, path, sizeof(a.sun_path));
    g_assert_cmpint(connect(fd, (struct sockaddr *)&a, sizeof(a)), ==, 0);
    return fd;
}

/* The device of @g goes on in another emulator, which its peer has reached already. */
static void rig_move(Rig *g, const char *props)
{
    g_autofree char *uri_path = g_build_filename(g->dir, "migrate", NULL);
    g_autofree char *uri = g_strdup_printf("unix:%s", uri_path);
    g_autofree char *more = g_strdup_printf("-incoming %s", uri);
    g_autofree char *path = g_build_filename(g->dir, "wire2", NULL);
    Rcl *from = g->r, *to = rcl_start(path, true, 0, props, more);
    int fd = wire_connect(path);

    qtest_qmp_assert_success(from->f->qts,
        "{ 'execute': 'migrate', 'arguments': { 'uri': %s } }", uri);
    fixture_wait_migration(from->f->qts);
    qtest_qmp_eventwait(to->f->qts, "RESUME");
    to->mem = from->mem;
    to->tx_head = from->tx_head;
    to->ev_tail = from->ev_tail;
    memcpy(to->rx_head, from->rx_head, sizeof(to->rx_head));
    memcpy(to->rx_tail, from->rx_tail, sizeof(to->rx_tail));
    to->bar = from->bar;
    fixture_find(to->f);
    close(g->fd);
    rcl_stop(from);
    unlink(uri_path);
    unlink(g->path);
    g_free(g->path);
    g->path = g_steal_pointer(&path);
    g->r = to;
    g->fd = fd;
    rcl_wait_link(to, true);
}

static void expect_psn(Rig *g, unsigned qp, unsigned psn)
{
    Got got;

    wire_get(g, &got);
    g_assert_cmpuint(got.opcode, ==, SEND);
    g_assert_cmpuint(got.qp, ==, qp);
    g_assert_cmphex(got.psn, ==, psn);
}

static void test_states(void)
{
    Rig g = rig_start(",time-scale=1", GEN1);
    static const struct {
        unsigned qp, last;
    } all[] = { { 5, 0 }, { 6, 2 }, { 7, 1 } };
    const uint64_t open = ALL_OPEN | VC_MAP | LIMITS | GEN1;
    uint8_t f[MIN_FRAME];

    /* Software has stopped VC 3: that of bank 3. */
    rcl_set(g.r, RCL_AFH_CFG_EN, open & ~(1ull << (RCL_CFG_VC_OPEN + 3)));
    rcl_set(g.r, RCL_RETRY_TIMER_CFG, 15 << 13 | 8000);
    rcl_qp(g.r, 6, 1, 6, 0);
    rcl_qp(g.r, 7, 1, 7, 0);
    /* WAIT_ACK. */
    rcl_post(g.r, 5, 64, 1, 0);
    expect_psn(&g, 5, 0);
    /* WAIT_CRD: the second one crosses the limit of its window. */
    rcl_set(g.r, RCL_QP_ID_SET, 6);
    rcl_set(g.r, RCL_TX_SPEED_MEM, 100);
    qtest_clock_step(g.r->f->qts, 8192);
    for (unsigned i = 0; i < 3; i++) {
        rcl_post(g.r, 6, 64, i, 0);
    }
    expect_psn(&g, 6, 0);
    expect_psn(&g, 6, 1);
    /* WAIT_GRANT. */
    rcl_post(g.r, 7, 64, 1, 0);
    rcl_post(g.r, 7, 64, 2, 0);
    g_assert_true(wire_quiet(&g));
    g_assert_cmpuint(free_slots(g.r), ==, SLOTS - 6);
    rig_move(&g, ",time-scale=1");
    /* The same six, in the same states. */
    g_assert_cmpuint(free_slots(g.r), ==, SLOTS - 6);
    g_assert_true(wire_quiet(&g));
    wire_put(&g, f, frame_make(f, ACK, 0, SYN_ACK, 0, 5, 0));
    wait_counter(&g, "rx_ack", 1);
    g_assert_cmpuint(free_slots(g.r), ==, SLOTS - 5);
    rcl_set(g.r, RCL_AFH_CFG_EN, open);
    expect_psn(&g, 7, 0);
    expect_psn(&g, 7, 1);
    g_assert_true(wire_quiet(&g));
    qtest_clock_step(g.r->f->qts, 2 * 8192);
    expect_psn(&g, 6, 2);
    for (unsigned i = 1; i < ARRAY_SIZE(all); i++) {
        wire_put(&g, f, frame_make(f, ACK, 0, SYN_ACK, all[i].last,
                                   all[i].qp, 0));
    }
    wait_counter(&g, "rx_ack", 3);
    g_assert_cmpuint(free_slots(g.r), ==, SLOTS);
    /* And those that it sends now are the next. */
    for (unsigned i = 0; i < ARRAY_SIZE(all); i++) {
        rcl_set(g.r, RCL_QP_ID_SET, all[i].qp);
        rcl_set(g.r, RCL_TX_SPEED_MEM, 0x3fffff);
        rcl_post(g.r, all[i].qp, 64, 0, 0);
        expect_psn(&g, all[i].qp, all[i].last + 1);
    }
    rig_stop(&g);
}

/* ---- storms ---- */

/* A peer that pauses everything for ever stops everything for as long, wears nobody's
 * retries out, and leaves nothing behind. */
static void test_pause_storm(void)
{
    enum { NUM = 16 };          /* buffers of TYPE2 */
    RclPair p = rcl_pair_start(false, ",time-scale=1", ",time-scale=1");
    uint8_t frame[100] = { 0x82 }, back[RCL_BUF];
    gint64 limit = test_deadline(60);
    RclGot got;

    rcl_pair_up(&p, GEN1);
    rcl_pair_connect(&p, 5, 0);
    for (unsigned i = 0; i < 2; i++) {
        rcl_set(p.r[i], RCL_AFH_CFG_EN, STOP_CBFC | ALL_OPEN | VC_MAP | GEN1);
        rcl_set(p.r[i], RCL_XON_THR_RDMA, OBEY_PFC);
        rcl_set(p.r[i], RCL_RETRY_TIMER_CFG, 2 << 13 | 10);
    }
    rcl_prop_set(p.r[1], "fault-pause-storm", 0xff);
    while ((rcl_get(p.r[0], RCL_STATUS) >> RCL_STATUS_PFC_RX_SHIFT & 0xff) !=
           0xff) {
        g_assert_cmpint(g_get_monotonic_time(), <, limit);
        g_usleep(1000);
    }
    for (unsigned i = 0; i < NUM; i++) {
        rcl_post(p.r[0], 5, 64, i, 0);
        rcl_post(p.r[0], 0, 64, i, RCL_ETYPE2);
    }
    rcl_md_post(p.r[0], frame, sizeof(frame));
    /* 83.9 us are all that one frame can ask for: it is asked again and again. */
    for (unsigned i = 0; i < 20; i++) {
        uint64_t told = rcl_counter(p.r[0], "pfc_rx");

        qtest_clock_step(p.r[1]->f->qts, 42000);
        fixture_wait_counter(p.r[0]->f, "counter-pfc_rx", told + 1);
        qtest_clock_step(p.r[0]->f->qts, 42000);
    }
    g_assert_cmpuint(rcl_counter(p.r[0], "pfc_storms"), ==, 8);
    g_assert_cmpuint(rcl_counter(p.r[0], "tx_type1"), ==, 0);
    g_assert_cmpuint(rcl_counter(p.r[0], "tx_type2"), ==, 0);
    g_assert_cmpuint(rcl_counter(p.r[0], "tx_type3"), ==, 0);
    g_assert_cmpuint(rcl_counter(p.r[0], "timeouts"), ==, 0);
    g_assert_cmpuint(free_slots(p.r[0]), ==, SLOTS - NUM);
    rcl_prop_set(p.r[1], "fault-pause-storm", 0);
    for (unsigned i = 0; i < NUM; i++) {
        rcl_take(p.r[1], 0, &got);
        g_assert_true(rcl_is(&got, 64, i));
        rcl_take(p.r[1], 1, &got);
        g_assert_true(rcl_is(&got, 64, i));
    }
    g_assert_cmpuint(rcl_md_take(p.r[1], back), ==, sizeof(frame));
    g_assert_cmpuint(rcl_counter(p.r[0], "qp_fatal"), ==, 0);
    rcl_pair_stop(&p);
}

/* Nobody answers: each QP sends what it has as often as it may, then no more. */
static void test_retry_storm(void)
{
    enum { NUM = 32, EACH = 4, TIMES = 3 };
    Rig g = rig_start(",time-scale=1", GEN1);
    Got got;

    rcl_set(g.r, RCL_RETRY_TIMER_CFG, TIMES << 13 | 10);
    for (unsigned q = 8; q < 8 + NUM; q++) {
        rcl_qp(g.r, q, 1, q, 0);
        for (unsigned i = 0; i < EACH; i++) {
            post_qp(&g, q);
        }
    }
    for (unsigned t = 1; t <= TIMES; t++) {
        for (unsigned i = 0; i < NUM * EACH; i++) {
            wire_get(&g, &got);
            g_assert_cmpuint(got.opcode, ==, SEND);
        }
        g_assert_true(wire_quiet(&g));
        qtest_clock_step(g.r->f->qts, 10000);
        wait_counter(&g, "timeouts", t * NUM);
    }
    wait_counter(&g, "qp_fatal", NUM);
    for (unsigned i = 0; i < 5; i++) {
        qtest_clock_step(g.r->f->qts, 10000);
        g_assert_true(wire_quiet(&g));
    }
    g_assert_cmpuint(counter(&g, "timeouts"), ==, TIMES * NUM);
    g_assert_cmphex(rcl_get(g.r, RCL_INTR_STATUS), ==, 1 << RCL_INTR_RETRY);
    g_assert_cmpuint(free_slots(g.r), ==, SLOTS - NUM * EACH);
    /* Nobody has read an event since: those of time-outs have left room for these. */
    for (unsigned q = 8; q < 8 + NUM; q++) {
        qp_free(g.r, q);
    }
    g_assert_cmpuint(free_slots(g.r), ==, SLOTS);
    for (unsigned i = 0, credits = 0; credits < RCL_ENTRIES * 7 / 8; i++) {
        credits += qtest_readb(g.r->f->qts, g.r->mem +
                               RCL_RING_EVENT * 0x1000 +
                               i * RCL_RING_ENTRY) == RCL_EV_CREDIT;
        g_assert_cmpuint(i, <, RCL_ENTRIES);
    }
    /* The other QP never noticed. */
    rcl_post(g.r, QP, 64, 9, 0);
    expect_psn(&g, QP, 0);
    rig_stop(&g);
}

/* 5,000 CNPs that nobody looks at, then news of a packet. */
static void test_cnp_storm(void)
{
    Rig g = rig_start(",time-scale=1", GEN1);
    uint8_t f[MIN_FRAME];
    size_t n = frame_make(f, CNP, 0, 0, 0, QP, 0);
    uint8_t ev[RCL_RING_ENTRY];

    rcl_set(g.r, RCL_CTRL, 0);          /* each is told */
    for (unsigned i = 0; i < 5000; i++) {
        wire_put(&g, f, n);
    }
    wait_counter(&g, "rx_cnp", 5000);
    g_assert_cmpuint(counter(&g, "events_lost"), >=, 5000 - RCL_ENTRIES / 8);
    rcl_post(g.r, QP, 64, 7, 0);
    expect_psn(&g, QP, 0);
    answer(&g, SYN_ACK, 0);
    rcl_event_wait(g.r, RCL_EV_CREDIT, ev);
    g_assert_cmphex(ldq_le_p(ev + 8), ==, 7);
    /* Merged, one in its time is told. */
    rcl_set(g.r, RCL_CTRL, RCL_CTRL_CNP_MERGE);
    rcl_set(g.r, RCL_CNP_THR, 1000);
    for (unsigned i = 0; i < 100; i++) {
        wire_put(&g, f, n);
    }
    wait_counter(&g, "rx_cnp", 5100);
    g_assert_cmpuint(counter(&g, "rx_cnp_merged"), ==, 99);
    rig_stop(&g);
}

/* ---- credits ---- */

enum { LIMIT = 40, FLOWS = 7 };

static void credits_up(Rcl *r)
{
    rcl_set(r, RCL_AFH_CFG_EN, ALL_OPEN | VC_MAP | CBFC_ALL | LIMITS | GEN1);
    rcl_set(r, RCL_XON_THR_RDMA, 0x7full << 32);
    rcl_set(r, RCL_RETRY_TIMER_CFG, 15 << 13 | 100);
    for (unsigned v = 0; v < 8; v++) {
        rcl_set(r, RCL_MAC_CBFC_CFG(v), 256 | (uint64_t)LIMIT << 22);
    }
    rcl_set(r, RCL_CBFC_RST, 0xff);
}

static void credit_pair_up(RclPair *p)
{
    rcl_pair_up(p, GEN1);
    credits_up(p->r[0]);
    credits_up(p->r[1]);
    for (unsigned q = 4; q < 8; q++) {
        qp_free(p->r[0], q);
        qp_free(p->r[1], q);
        rcl_pair_connect(p, q, 0xff0);
    }
}

static bool credits_whole(Rcl *r)
{
    uint64_t level[2] = { rcl_get(r, RCL_CBFC_LEVEL0),
                          rcl_get(r, RCL_CBFC_LEVEL1) };

    for (unsigned f = 0; f < FLOWS; f++) {
        if ((level[f / 4] >> f % 4 * 16 & 0xffff) != LIMIT) {
            return false;
        }
    }
    return true;
}

static void all_flows(RclPair *p, unsigned num)
{
    uint8_t frame[600] = { 0x82 };

    for (unsigned i = 0; i < num; i++) {
        for (unsigned e = 0; e < 2; e++) {
            for (unsigned q = 4; q < 8; q++) {
                rcl_post(p->r[e], q, 64 + 100 * i, i, 0);
            }
            rcl_post(p->r[e], 0, 700, i, RCL_ETYPE2);
            rcl_md_post(p->r[e], frame, sizeof(frame));
        }
    }
}

/* What came is taken, until all credits are back at both ends. */
static void until_whole(RclPair *p, const char *after)
{
    gint64 limit = test_deadline(60);

    while (!credits_whole(p->r[0]) || !credits_whole(p->r[1]) ||
           free_slots(p->r[0]) != SLOTS || free_slots(p->r[1]) != SLOTS) {
        if (g_get_monotonic_time() > limit) {
            g_error("%s: credits %" PRIx64 " %" PRIx64 ", %" PRIx64 " %"
                    PRIx64 ", buffers %u, %u", after,
                    rcl_get(p->r[0], RCL_CBFC_LEVEL0),
                    rcl_get(p->r[0], RCL_CBFC_LEVEL1),
                    rcl_get(p->r[1], RCL_CBFC_LEVEL0),
                    rcl_get(p->r[1], RCL_CBFC_LEVEL1),
                    free_slots(p->r[0]), free_slots(p->r[1]));
        }
        for (unsigned e = 0; e < 2; e++) {
            Rcl *r = p->r[e];

            qtest_clock_step(r->f->qts, 50000);
            for (unsigned t = 0; t < 2; t++) {
                RclGot got;

                while ((uint16_t)rcl_get(r, RCL_RING(RCL_RING_RX1 + t) +
                                            RCL_RING_TAIL) != r->rx_tail[t]) {
                    rcl_take(r, t, &got);
                }
            }
            while (rcl_get(r, RCL_RX_MD_TAIL_PTR) != r->md_rx_tail) {
                uint8_t back[RCL_BUF];

                rcl_md_take(r, back);
            }
        }
    }
}

static void faults(RclPair *p, const char *name, unsigned v)
{
    rcl_prop_set(p->r[0], name, v);
    rcl_prop_set(p->r[1], name, v);
}

static void leak_none(RclPair *p)
{
    all_flows(p, 5);
}

static void leak_drop(RclPair *p)
{
    faults(p, "fault-out-drop-ppm", 300000);
    all_flows(p, 5);
    faults(p, "fault-out-drop-ppm", 0);
}

static void leak_corrupt(RclPair *p)
{
    faults(p, "fault-in-corrupt-ppm", 300000);
    all_flows(p, 5);
    faults(p, "fault-in-corrupt-ppm", 0);
}

static void leak_duplicate(RclPair *p)
{
    faults(p, "fault-out-duplicate-ppm", 300000);
    all_flows(p, 5);
    faults(p, "fault-out-duplicate-ppm", 0);
}

static void leak_updates(RclPair *p)
{
    faults(p, "fault-lose-credits", 1);
    all_flows(p, 5);
    faults(p, "fault-lose-credits", 0);
}

static void leak_fcs(RclPair *p)
{
    faults(p, "fault-fcs", 1);
    all_flows(p, 3);
    faults(p, "fault-fcs", 0);
}

/* Packets wait in the receiver when it loses them. */
static void leak_reset(RclPair *p)
{
    rcl_set(p->r[1], RCL_RING(RCL_RING_RX1) + RCL_RING_CTRL, 0);
    rcl_set(p->r[1], RCL_RING(RCL_RING_RX2) + RCL_RING_CTRL, 0);
    all_flows(p, 2);
    rcl_set(p->r[1], RCL_SOFT_RESET, RCL_RESET_TYPE1);
    rcl_set(p->r[1], RCL_SOFT_RESET, RCL_RESET_TYPE2);
    rcl_set(p->r[1], RCL_SOFT_RESET, RCL_RESET_TYPE3);
    credit_pair_up(p);
}

/* A QP that goes with packets on their way in both directions. */
static void leak_disable(RclPair *p)
{
    all_flows(p, 4);
    qp_free(p->r[0], 5);
    qp_free(p->r[1], 5);
    rcl_pair_connect(p, 5, 0x100);
}

static void leak_link(RclPair *p)
{
    all_flows(p, 3);
    rcl_link_set(p->r[0], false);
    all_flows(p, 2);
    rcl_link_set(p->r[0], true);
    rcl_wait_link(p->r[0], true);
    rcl_wait_link(p->r[1], true);
}

/* It resumes by itself. */
static void leak_mac(RclPair *p)
{
    all_flows(p, 3);
    for (unsigned e = 0; e < 2; e++) {
        qtest_qmp_assert_success(p->r[e]->f->qts,
            "{ 'execute': 'qom-set', 'arguments': { 'path': "
            "'/machine/peripheral/nic', 'property': 'mac-reset', "
            "'value': true } }");
    }
}

/* The peer dies with what it had; another takes its place. */
static void leak_death(RclPair *p)
{
    all_flows(p, 3);
    rcl_stop(p->r[1]);
    all_flows(&(RclPair) { .r = { p->r[0], p->r[0] } }, 1);
    p->r[1] = rcl_start(p->path, false, 1, ",time-scale=1", "");
    rcl_wait_link(p->r[1], true);
    rcl_wait_link(p->r[0], true);
    rcl_set(p->r[0], RCL_SOFT_RESET, RCL_RESET_ALL);
    credit_pair_up(p);
}

/* However packets, updates or the peer itself are lost: no credit leaks, and none
 * is made. */
static void test_leaks(void)
{
    static const struct {
        const char *name;
        void (*strike)(RclPair *p);
    } leak[] = {
        { "nothing", leak_none }, { "drop", leak_drop },
        { "corrupt", leak_corrupt }, { "duplicate", leak_duplicate },
        { "updates", leak_updates }, { "fcs", leak_fcs },
        { "reset", leak_reset }, { "disable", leak_disable },
        { "link", leak_link }, { "mac", leak_mac }, { "death", leak_death },
    };
    RclPair p = rcl_pair_start(false, ",time-scale=1", ",time-scale=1");

    credit_pair_up(&p);
    for (unsigned i = 0; i < ARRAY_SIZE(leak); i++) {
        g_test_message("%s", leak[i].name);
        leak[i].strike(&p);
        until_whole(&p, leak[i].name);
    }
    rcl_pair_stop(&p);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    qtest_add_func("/rclink-scale/many", test_many);
    qtest_add_func("/rclink-scale/states", test_states);
    qtest_add_func("/rclink-scale/pause-storm", test_pause_storm);
    qtest_add_func("/rclink-scale/retry-storm", test_retry_storm);
    qtest_add_func("/rclink-scale/cnp-storm", test_cnp_storm);
    qtest_add_func("/rclink-scale/leaks", test_leaks);
    return g_test_run();
}
