/*
 * RC Link: TYPE1 packets that are sent at once, and go straight to the memory of the
 * driver, and those that may not.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "type1.h"

static const uint64_t formats[] = {
    FORMAT(RCL_CFG_STANDARD), GEN1, FORMAT(RCL_CFG_GEN2), FORMAT(RCL_CFG_LITE),
};
enum { LITE = 3 };

/* ---- all lengths, formats, ICRCs ---- */

static void one_way(unsigned format, bool roce, bool icrc, bool reachable)
{
    RclinkConfig cfg;
    Rig *r;
    unsigned n = 0;

    rclink_config_init(&cfg);
    cfg.icrc_roce = roce;
    r = pair_up(formats[format], &cfg);
    for (unsigned i = 0; i < 2; i++) {
        r->e[i].unreachable = !reachable;
        rig_set(&r->e[i], RCL_CTRL, icrc ? 0 : RCL_CTRL_REMOVE_ICRC);
    }
    rig_connect(r, 5, 0xff0);
    for (size_t len = 64; len <= 1344; len += len < 300 ? 1 : 29) {
        RigPacket p;

        rig_post(&r->e[0], 5, len, len, 0);
        rig_settle(r);
        g_assert_true(rig_take(&r->e[1], 0, &p));
        g_assert_true(rig_is(&p, len, len));
        g_assert_cmphex(p.sa, ==, format == LITE ? 5 >> 2 : 0x0a);
        g_assert_cmpuint(p.qp, ==, 5);
        n++;
    }
    g_assert_cmpuint(CNT(&r->e[1], rx_type1), ==, n);
    g_assert_cmpuint(rig_events(&r->e[0], RCL_EV_CREDIT), >, 0);
    g_assert_cmpuint(r->e[1].reached, ==, reachable && format != LITE ? n : 0);
    rig_free(r);
}

static void test_ways(void)
{
    for (unsigned n = 0; n < 32; n++) {
        one_way(n % 4, n & 4, n & 8, n & 16);
    }
}

/* ---- the packet buffer has its copy ---- */

static bool lose(Rig *r, unsigned from, const uint8_t *frame, size_t len)
{
    return !*(bool *)r->pass_opaque;
}

/* What is sent again is what was sent, whatever the driver has there now. */
static void test_kept(void)
{
    for (unsigned format = 0; format < LITE; format++) {
        Rig *r = pair_up(formats[format], NULL);
        RigEnd *e = &r->e[0];
        bool losing = true;
        RigPacket p;

        r->pass = lose;
        r->pass_opaque = &losing;
        rig_set(e, RCL_RETRY_TIMER_CFG, 15 << 13 | 100);
        rig_connect(r, 5, 0);
        rig_post(e, 5, 1001, 7, 0);
        rig_post(e, 5, 1344, 9, 0);
        rig_settle(r);
        g_assert_false(rig_take(&r->e[1], 0, &p));
        memset(e->mem + RIG_TX_BUF, 0xee, 2 * RIG_BUFFER);
        losing = false;
        rig_pass(r, 200000);
        g_assert_true(rig_take(&r->e[1], 0, &p));
        g_assert_true(rig_is(&p, 1001, 7));
        g_assert_true(rig_take(&r->e[1], 0, &p));
        g_assert_true(rig_is(&p, 1344, 9));
        g_assert_cmpuint(CNT(e, tx_type1_again), >=, 2);
        rig_free(r);
    }
}

/* ---- packets that wait ---- */

/* Who comes later does not go past one that waits in a buffer. */
static void test_order(void)
{
    Rig *r = pair_up(GEN1, NULL);
    RigEnd *e = &r->e[0];
    RigPacket p;

    rig_connect(r, 1, 0);
    rig_connect(r, 2, 0);
    /* The VC of bank 1 is shut. */
    rig_set(e, RCL_AFH_CFG_EN, GEN1 | UINT64_C(0x23) << RCL_CFG_UF_TYPE1 |
                               UINT64_C(0xfd) << RCL_CFG_VC_OPEN |
                               UINT64_C(0xd10d88) /* flow n has VC n */
                               << RCL_CFG_VC_MAP);
    e->errors = 0;
    rig_post(e, 1, 64, 1, 0);
    rig_post(e, 2, 64, 2, 0);
    rig_post(e, 1, 64, 3, 0);
    rig_settle(r);
    g_assert_true(rig_take(&r->e[1], 0, &p));
    g_assert_true(rig_is(&p, 64, 2));
    g_assert_false(rig_take(&r->e[1], 0, &p));
    rig_set(e, RCL_AFH_CFG_EN, rig_get(e, RCL_AFH_CFG_EN) |
                               UINT64_C(0xff) << RCL_CFG_VC_OPEN);
    rig_post(e, 2, 64, 4, 0);
    rig_settle(r);
    for (unsigned i = 1; i <= 4; i++) {
        if (i != 2) {
            g_assert_true(rig_take(&r->e[1], 0, &p));
            g_assert_true(rig_is(&p, 64, i));
        }
    }
    /* Nobody waits any more: it goes at once. */
    rig_post(e, 1, 64, 5, 0);
    rig_settle(r);
    g_assert_true(rig_take(&r->e[1], 0, &p));
    g_assert_true(rig_is(&p, 64, 5));
    rig_free(r);
}

/* Banks take turns, which needs both of them in the buffers. */
static void test_banks(void)
{
    static const uint8_t order[] = { 1, 3, 2, 4 };
    Rig *r = pair_up(GEN1, NULL);
    RigEnd *e = &r->e[0];
    RigPacket p;

    rig_set(e, RCL_CTRL, RCL_CTRL_BANK_RR);
    rig_connect(r, 1, 0);
    rig_connect(r, 2, 0);
    rig_post(e, 1, 64, 1, 0);
    rig_post(e, 1, 64, 2, 0);
    rig_post(e, 2, 64, 3, 0);
    rig_post(e, 2, 64, 4, 0);
    rig_settle(r);
    for (unsigned i = 0; i < G_N_ELEMENTS(order); i++) {
        g_assert_true(rig_take(&r->e[1], 0, &p));
        g_assert_true(rig_is(&p, 64, order[i]));
    }
    rig_free(r);
}

/* ---- bad frames ---- */

/* One that is damaged leaves no trace but its bytes in a buffer that is still the
 * device's. */
static void test_bad(void)
{
    for (unsigned way = 0; way < 2; way++) {
        Rig *r = alone(0);
        RigEnd *e = &r->e[0];
        RclLayout l = peer_layout();
        RclHead h = {
            .kind = RCL_TYPE1, .da = 0x02000000000a, .tc = 2,
            .rh = { .opcode = RCL_OP_SEND, .pkey = 0x5a, .qp = 0xa5,
                    .fack = true, .ts_en = true, .ts = 99 },
        };
        uint8_t payload[400], frame[RCL_FRAME_MAX];
        RigPacket p;
        size_t n;

        e->unreachable = way;
        for (unsigned i = 0; i < sizeof(payload); i++) {
            payload[i] = 50 + i;
        }
        n = rcl_frame_put(&l, &h, payload, sizeof(payload), frame);
        for (size_t at = 30; at < n; at += 37) {
            frame[at] ^= 0x10;
            rig_inject(e, frame, n);
            rig_settle(r);
            frame[at] ^= 0x10;
        }
        g_assert_cmpuint(CNT(e, drop_icrc), ==, (n - 30 + 36) / 37);
        g_assert_cmpuint(CNT(e, rx_type1), ==, 0);
        g_assert_false(rig_take(e, 0, &p));
        assert_silence(e);
        rig_set(e, RCL_QP_ID_SET, 0xa5);
        g_assert_cmphex(rig_get(e, RCL_RX_REQ_EPSN), ==, 0);
        rig_inject(e, frame, n);
        rig_settle(r);
        g_assert_true(rig_take(e, 0, &p));
        g_assert_true(rig_is(&p, sizeof(payload), 50));
        g_assert_cmpuint(!!e->reached, ==, !way);
        rig_free(r);
    }
}

/* ---- the driver's side ---- */

/* A buffer that is too short gets what it holds, and the packet is marked. */
static void test_short(void)
{
    Rig *r = pair_up(GEN1, NULL);
    RigEnd *f = &r->e[1];
    RigPacket p;

    rig_connect(r, 5, 0);
    put_le16(f->mem + RIG_RING + RCL_RING_RX1 * 0x10000 + RCL_E_LEN, 100);
    memset(f->mem + RIG_RX1_BUF, 0xa5, RIG_BUFFER);
    rig_post(&r->e[0], 5, 101, 1, 0);
    rig_settle(r);
    g_assert_cmpuint(f->reached, ==, 0);
    g_assert_cmphex(f->mem[RIG_RX1_BUF + 99], ==, 100);
    g_assert_cmphex(f->mem[RIG_RX1_BUF + 100], ==, 0xa5);
    g_assert_true(rig_take(f, 0, &p));
    g_assert_true(p.flags & RCL_E_TRUNCATED);
    rig_post(&r->e[0], 5, 100, 2, 0);
    rig_settle(r);
    g_assert_cmpuint(f->reached, ==, 1);
    g_assert_true(rig_take(f, 0, &p));
    g_assert_true(rig_is(&p, 100, 2));
    rig_free(r);
}

/* Without buffers, or with a client that is stopped, packets wait; those behind them
 * do as well. */
static void test_stopped(void)
{
    Rig *r = pair_up(GEN1, NULL);
    RigEnd *f = &r->e[1];
    RigPacket p;

    rig_set(f, RCL_XON_THR_RDMA, UINT64_C(0xf) << 46);
    rig_connect(r, 5, 0);
    rig_set(f, RCL_FLOW_STOP, RCL_STOP_BANK0 << 1);
    post(&r->e[0], 5, 2);
    g_assert_cmpuint(CNT(f, rx_type1), ==, 2);
    g_assert_cmpuint(f->reached, ==, 0);
    g_assert_false(rig_take(f, 0, &p));
    rig_set(f, RCL_FLOW_STOP, 0);
    rig_settle(r);
    rig_post(&r->e[0], 5, 64, 2, 0);
    rig_settle(r);
    for (unsigned i = 0; i < 3; i++) {
        g_assert_true(rig_take(f, 0, &p));
        g_assert_true(rig_is(&p, 64, i));
    }
    g_assert_cmpuint(f->reached, ==, 1);
    rig_free(r);
}

/* Memory that fails, fails for this as well. */
static void test_memory(void)
{
    Rig *r = pair_up(GEN1, NULL);
    RigEnd *e = &r->e[0], *f = &r->e[1];
    RigEvent ev;
    RigPacket p;

    rig_connect(r, 5, 0);
    e->fail_at = RIG_TX_BUF;
    rig_post(e, 5, 64, 1, 0);
    rig_settle(r);
    g_assert_true(rig_event_of(e, RCL_EV_CREDIT, &ev));
    g_assert_cmphex(ev.a, ==, RCL_EV_DROPPED + RCL_DROP_DMA);
    g_assert_cmpuint(CNT(e, dma_errors), ==, 1);
    g_assert_cmpuint(CNT(e, tx_type1), ==, 0);
    g_assert_false(rig_event_of(e, RCL_EV_CREDIT, &ev));
    /* Those behind it go their way, from the PSN that it did not take. */
    e->fail_at = 0;
    rig_post(e, 5, 64, 3, 0);
    rig_settle(r);
    g_assert_true(rig_take(f, 0, &p));
    g_assert_true(rig_is(&p, 64, 3));
    /* The fault of a test holds for every access. */
    rclink_faults(f->d)->dma = true;
    rig_post(e, 5, 64, 2, 0);
    rig_settle(r);
    g_assert_cmpuint(f->reached, ==, 1);
    g_assert_cmphex(rig_get(f, RCL_ERR_STATUS), ==, 1 << RCL_RING_RX1);
    g_assert_false(rig_take(f, 0, &p));
    rig_free(r);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/rclink/through/ways", test_ways);
    g_test_add_func("/rclink/through/kept", test_kept);
    g_test_add_func("/rclink/through/order", test_order);
    g_test_add_func("/rclink/through/banks", test_banks);
    g_test_add_func("/rclink/through/bad", test_bad);
    g_test_add_func("/rclink/through/short", test_short);
    g_test_add_func("/rclink/through/stopped", test_stopped);
    g_test_add_func("/rclink/through/memory", test_memory);
    return g_test_run();
}
