/*
 * What tests of TYPE1 share: pairs of ports, connections, packets.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef TYPE1_H
#define TYPE1_H

#include "rig.h"

#define FORMAT(bit) (UINT64_C(1) << (bit))
#define GEN1 (FORMAT(RCL_CFG_GEN1) | FORMAT(RCL_CFG_GEN1_TC))
#define CNT(e, name) (rclink_counters((e)->d)->name)

static inline Rig *pair_up(uint64_t format, const RclinkConfig *cfg)
{
    Rig *r = rig_new(2, cfg);

    rig_up(&r->e[0], format);
    rig_up(&r->e[1], format);
    return r;
}

/* A rig of one port, whose peer is this program. */
static inline Rig *alone(unsigned psn)
{
    Rig *r = rig_new(1, NULL);

    rig_up(&r->e[0], GEN1);
    rig_qp(&r->e[0], 0xa5, &r->e[0] + 1, 0xa5, psn);
    return r;
}

/* The peer's layout: it sends to what rig_new() calls end 0. */
static inline RclLayout peer_layout(void)
{
    return (RclLayout) {
        .format = RCL_GEN1, .gen1_tc = true, .icrc = true, .tpid = 0x8100,
        .mac = 0x02000000000b, .mac_type1 = 0x88b5, .mac_type2 = 0x88b6,
        .vcs = 4,
    };
}

static inline void peer_send(RigEnd *e, RclRh rh, size_t len)
{
    RclLayout l = peer_layout();
    RclHead h = { .kind = RCL_TYPE1, .da = 0x02000000000a, .tc = 2 };
    uint8_t payload[RCL_PAYLOAD_MAX], frame[RCL_FRAME_MAX];

    for (size_t i = 0; i < len; i++) {
        payload[i] = rh.psn + i;
    }
    rh.pkey = 0x5a;
    rh.qp = 0xa5;
    h.rh = rh;
    rig_inject(e, frame, rcl_frame_put(&l, &h, payload, len, frame));
}

static inline void peer_ack(RigEnd *e, uint8_t syndrome, unsigned psn)
{
    peer_send(e, (RclRh) { .opcode = RCL_OP_ACK, .len = syndrome,
                           .psn = psn }, 0);
    rig_settle(e->rig);
}

/* The header of the next frame from @e; false: there is none. */
static inline bool next_rh(RigEnd *e, RclRh *rh)
{
    RclLayout l = peer_layout();
    uint8_t scratch[RCL_FRAME_MAX];
    GBytes *b = rig_frame(e);
    RclView v;
    size_t n;
    const uint8_t *p;

    if (!b) {
        return false;
    }
    p = g_bytes_get_data(b, &n);
    g_assert_cmpint(rcl_frame_get(&l, p, n, scratch, &v), ==, RCL_TAKE);
    g_assert_cmpint(v.kind, ==, RCL_TYPE1);
    *rh = v.rh;
    g_bytes_unref(b);
    return true;
}

static inline void assert_silence(RigEnd *e)
{
    RclRh rh;

    g_assert_false(next_rh(e, &rh));
}

static inline void assert_sent(RigEnd *e, unsigned first, unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        RclRh rh;

        g_assert_true(next_rh(e, &rh));
        g_assert_cmpuint(rh.opcode, ==, RCL_OP_SEND);
        g_assert_cmphex(rh.psn, ==, (first + i) & 0xfff);
        g_assert_true(rh.ts_en);
    }
}

static inline void post(RigEnd *e, unsigned qp, unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        rig_post(e, qp, 64, i, 0);
    }
    rig_settle(e->rig);
}

/* ---- time-outs ---- */

static inline void timeouts(unsigned threshold)
{
    Rig *r = alone(0);
    RigEnd *e = &r->e[0];
    RigEvent ev;

    rig_set(e, RCL_INTR_MASK, 1 << RCL_INTR_RETRY);
    rig_set(e, RCL_RETRY_TIMER_CFG, threshold << 13 | 100);
    post(e, 0xa5, 2);
    assert_sent(e, 0, 2);
    for (unsigned i = 1; i < threshold; i++) {
        rig_pass(r, 99000);
        assert_silence(e);
        rig_pass(r, 1000);
        assert_sent(e, 0, 2);
        g_assert_true(rig_event_of(e, RCL_EV_RETRY_TMO, &ev));
        g_assert_cmphex(ev.qp, ==, 0xa5);
        rig_set(e, RCL_QP_ID_SET, 0xa5);
        g_assert_cmphex(rig_get(e, RCL_RETRY_CNT_MEM), ==, i);
    }
    g_assert_cmpuint(e->msix[RCL_VEC_INTR], ==, 0);
    rig_pass(r, 100000);
    assert_silence(e);
    g_assert_cmpuint(e->msix[RCL_VEC_INTR], ==, 1);
    g_assert_cmphex(rig_get(e, RCL_INTR_STATUS), ==, 1 << RCL_INTR_RETRY);
    g_assert_true(rig_event_of(e, RCL_EV_IRQ, &ev));
    g_assert_cmphex(ev.b, ==, UINT64_C(0x80000000) | 0xa5 << 5 | 2);
    g_assert_cmphex(ev.b, ==, rig_get(e, RCL_IRQ_INFO));
    rig_pass(r, 10000000);
    assert_silence(e);
    /* New packets of such a QP are refused. */
    rig_post(e, 0xa5, 64, 7, 0);
    rig_settle(r);
    g_assert_true(rig_event_of(e, RCL_EV_CREDIT, &ev));
    g_assert_cmphex(ev.a, ==, RCL_EV_DROPPED + RCL_DROP_FATAL);
    g_assert_cmphex(ev.b, ==, 0x1007);
    rig_free(r);
}

#endif
