/*
 * RC Link: two ends and a wire that loses, doubles, delays and corrupts, in
 * virtual time.  TYPE1 arrives exactly once and in order, credits are
 * conserved, no rate is exceeded by more than a window.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "rig.h"

enum { QPS = 12 };

typedef struct Model {
    Rig *r;
    unsigned sent[2][QPS], got[2][QPS];
    uint64_t window[2][QPS];    /* bytes sent in the present window */
    uint32_t rate[QPS];
} Model;

/* AFH_CFG_EN: VCs 0 to 6, limits 1, CBFC for all or none. */
static uint64_t model_cfg(uint64_t format, bool cbfc)
{
    return format | (cbfc ? 0 : UINT64_C(1) << RCL_CFG_STOP_CBFC) |
           UINT64_C(0x3f) << RCL_CFG_CBFC_BANK0 |
           UINT64_C(0x1ac688) << RCL_CFG_VC_MAP |
           UINT64_C(1) << RCL_CFG_CBFC_TYPE2 |
           UINT64_C(0x249) << RCL_CFG_UF_TYPE1 |
           UINT64_C(0xff) << RCL_CFG_VC_OPEN;
}

static void end_up(Model *m, unsigned i, uint64_t format, bool cbfc)
{
    RigEnd *e = &m->r->e[i];

    rig_up(e, format);
    rig_set(e, RCL_AFH_CFG_EN, model_cfg(format, cbfc));
    rig_set(e, RCL_RETRY_TIMER_CFG, 15 << 13 | 30);
    rig_set(e, RCL_CTRL, RCL_CTRL_ACK_TIME |
            (g_rand_boolean(m->r->rand) ? RCL_CTRL_BANK_RR : 0));
    if (cbfc) {
        rig_set(e, RCL_XON_THR_RDMA, UINT64_C(0x7f) << 32);
        for (unsigned v = 0; v < 8; v++) {
            rig_set(e, RCL_MAC_CBFC_CFG(v), 256 | UINT64_C(40) << 22);
        }
        rig_set(e, RCL_CBFC_RST, 0xff);
    } else {
        /* PFC of all flows, marks at half of the buffers. */
        rig_set(e, RCL_XON_THR_RDMA, UINT64_C(0x3fff) << 32 | 512 << 16 |
                                     256);
    }
}

/* Take what came, and see that it is the next. */
static void take(Model *m, unsigned i)
{
    RigPacket p;

    while (rig_take(&m->r->e[i], 0, &p)) {
        unsigned n;

        g_assert_cmpuint(p.qp, <, QPS);
        n = m->got[!i][p.qp]++;
        g_assert_cmpuint(p.len, ==, 64 + n * 31 % 1281);
        g_assert_true(rig_is(&p, p.len, n));
    }
}

static void post_some(Model *m)
{
    unsigned i = g_rand_int_range(m->r->rand, 0, 2);
    unsigned q = g_rand_int_range(m->r->rand, 0, QPS);
    unsigned n = m->sent[i][q];

    if (n - m->got[i][q] >= 60) {
        return;
    }
    m->sent[i][q]++;
    rig_post(&m->r->e[i], q, 64 + n * 31 % 1281, n,
             g_rand_int_range(m->r->rand, 0, 8) ? 0 : RCL_E_FACK);
}

static bool all_there(const Model *m)
{
    return !memcmp(m->sent, m->got, sizeof(m->sent));
}

static void model(uint64_t format, bool cbfc, unsigned seed, unsigned steps)
{
    RclinkConfig cfg;
    Model m = { 0 };
    CoreFaultPlan plan = {
        .ppm = {
            [CORE_FAULT_DROP] = 10000, [CORE_FAULT_DUPLICATE] = 5000,
            [CORE_FAULT_REORDER] = 5000, [CORE_FAULT_CORRUPT] = 5000,
            [CORE_FAULT_DELAY] = 5000,
        },
        .reorder_depth = 3, .delay_us = 7,
    };

    rclink_config_init(&cfg);
    cfg.qps = 16;
    m.r = rig_new(2, &cfg);
    g_rand_set_seed(m.r->rand, seed);
    for (unsigned i = 0; i < 2; i++) {
        end_up(&m, i, format, cbfc);
        m.r->e[i].unreachable = seed >> i & 1;
        plan.seed = seed * 2 + i;
        rclink_fault_set(m.r->e[i].d, true, &plan);
    }
    for (unsigned q = 0; q < QPS; q++) {
        rig_connect(m.r, q, g_rand_int(m.r->rand));
    }
    for (unsigned s = 0; s < steps; s++) {
        post_some(&m);
        if (s % 4 == 0) {
            rig_pass(m.r, g_rand_int_range(m.r->rand, 1, 4000));
        }
        if (g_rand_boolean(m.r->rand)) {
            take(&m, s & 1);
        }
        if (s % 100 == 50) {
            rig_set(&m.r->e[s / 100 & 1], RCL_FLOW_STOP,
                    s % 200 == 50 ? 0xf : 0);
        }
        rig_events(&m.r->e[s & 1], 0);
    }
    for (unsigned i = 0; i < 2; i++) {
        rig_set(&m.r->e[i], RCL_FLOW_STOP, 0);
    }
    for (unsigned s = 0; s < 2000 && !all_there(&m); s++) {
        rig_pass(m.r, 50000);
        take(&m, 0);
        take(&m, 1);
        rig_events(&m.r->e[s & 1], 0);
    }
    g_assert_true(all_there(&m));
    rig_pass(m.r, 5000000);
    for (unsigned i = 0; i < 2; i++) {
        RigEnd *e = &m.r->e[i];
        RclInfo info;

        rclink_fault_set(e->d, true, &(CoreFaultPlan) { .seed = 0 });
        rig_pass(m.r, 5000000);
        rclink_info(e->d, &info);
        g_assert_cmpuint(info.free1, ==, 512);
        g_assert_cmphex(rig_get(e, RCL_INTR_STATUS), ==, 0);
        g_assert_cmphex(rig_get(e, RCL_STATUS) & 3, ==, 3);
        for (unsigned v = 0; v < 7 && cbfc; v++) {
            g_assert_cmpuint(info.vc[v].left, ==, 40);
        }
    }
    rig_free(m.r);
}

static const uint64_t formats[] = {
    1 << RCL_CFG_STANDARD, 1 << RCL_CFG_GEN1 | 1 << RCL_CFG_GEN1_TC,
    1 << RCL_CFG_GEN2,
};

static unsigned steps(unsigned normal)
{
    const char *s = g_getenv("RCLINK_STEPS");

    return s ? strtoul(s, NULL, 0) : normal;
}

static void test_pfc(void)
{
    for (unsigned f = 0; f < G_N_ELEMENTS(formats); f++) {
        model(formats[f], false, f + 1, steps(3000));
    }
}

static void test_cbfc(void)
{
    for (unsigned f = 0; f < G_N_ELEMENTS(formats); f++) {
        model(formats[f], true, f + 11, steps(3000));
    }
}

/* ---- rates ---- */

static bool weigh(Rig *r, unsigned from, const uint8_t *frame, size_t len)
{
    Model *m = r->pass_opaque;
    RclRh rh;

    rcl_rh_get(frame + 14, &rh, RCL_RH_BE);
    if (rh.opcode == RCL_OP_SEND) {
        m->window[from][rh.qp] += len - 26;
    }
    return g_rand_int_range(r->rand, 0, 50) != 0;
}

/*
 * In any number of windows no more than their bytes, one window's and one packet,
 * and no less than their bytes: the wire loses packets, but who waits for a
 * time-out has the rest of its window left.
 */
static void test_rate(void)
{
    Model m = { 0 };
    uint64_t total[QPS] = { 0 };
    Rig *r = m.r = rig_new(2, NULL);
    RigPacket p;

    rig_up(&r->e[0], formats[1]);
    rig_up(&r->e[1], formats[1]);
    rig_set(&r->e[0], RCL_RETRY_TIMER_CFG, 15 << 13 | 1);
    rig_set(&r->e[0], RCL_CC_WINDOW, 1);
    r->pass = weigh;
    r->pass_opaque = &m;
    for (unsigned q = 0; q < QPS; q++) {
        rig_connect(r, q, 0);
        m.rate[q] = 700 + q * 900;
        rig_set(&r->e[0], RCL_QP_ID_SET, q);
        rig_set(&r->e[0], RCL_TX_SPEED_MEM, m.rate[q]);
    }
    rig_pass(r, 8192 - r->now % 8192);
    memset(m.window, 0, sizeof(m.window));
    for (unsigned w = 1; w <= 300; w++) {
        for (unsigned q = 0; q < QPS; q++) {
            RclQpInfo info;

            rclink_qp_info(r->e[0].d, q, &info);
            for (unsigned k = info.outstanding; k < 20; k++) {
                rig_post(&r->e[0], q, 64 + k * 64, 0, 0);
            }
        }
        rig_pass(r, 8192);
        while (rig_take(&r->e[1], 0, &p)) {
        }
        rig_events(&r->e[0], 0);
        for (unsigned q = 0; q < QPS; q++) {
            total[q] += m.window[0][q];
            m.window[0][q] = 0;
            g_assert_cmpuint(total[q], <=, (uint64_t)m.rate[q] * (w + 1) +
                                           64 * 20);
            g_assert_cmpuint(total[q], >=, (uint64_t)m.rate[q] * w);
        }
    }
    g_assert_cmpuint(rclink_counters(r->e[0].d)->tx_type1_again, >, 100);
    g_assert_cmpuint(rclink_counters(r->e[0].d)->timeouts, >, 10);
    rig_free(r);
}

/* ---- a receiver that is overrun ---- */

/*
 * The longest packets and no flow control: 512 packets of 64 entries each meet 16
 * places in each of four buffers, and a client that takes them now and then, every
 * @ns.  The wire loses nothing.  Nobody may wait for ever, nor give up.
 */
static void overrun(unsigned qps, int64_t ns, unsigned num)
{
    g_autofree uint16_t *next = g_new0(uint16_t, RCL_QPS_MAX);
    unsigned sent = 0, got = 0, idle = 0;
    RclinkConfig cfg;
    Rig *r;

    rclink_config_init(&cfg);
    cfg.payload = RCL_PAYLOAD_MAX;
    r = rig_new(2, &cfg);
    for (unsigned i = 0; i < 2; i++) {
        rig_up(&r->e[i], formats[0]);
        rig_set(&r->e[i], RCL_RETRY_TIMER_CFG, 15 << 13 | 100);
    }
    for (unsigned q = 0; q < qps; q++) {
        rig_connect(r, q, 0xff0);
    }
    rig_set(&r->e[1], RCL_XON_THR_RDMA, UINT64_C(0xf) << 46);
    while (got < num) {
        unsigned was = got;
        RigPacket p;

        for (; sent < num && sent - got < 1000; sent++) {
            rig_post(&r->e[0], sent % qps, RCL_PAYLOAD_MAX, sent / qps, 0);
        }
        rig_set(&r->e[1], RCL_FLOW_STOP, 0xf);
        rig_pass(r, ns);
        rig_set(&r->e[1], RCL_FLOW_STOP, 0);
        rig_settle(r);
        while (rig_take(&r->e[1], 0, &p)) {
            g_assert_true(rig_is(&p, RCL_PAYLOAD_MAX, next[p.qp]++));
            got++;
        }
        rig_events(&r->e[0], 0);
        idle = got == was ? idle + 1 : 0;
        g_assert_cmpuint(idle, <, 200);
        g_assert_cmphex(rig_get(&r->e[0], RCL_INTR_STATUS), ==, 0);
    }
    g_assert_cmpuint(rclink_counters(r->e[1].d)->drop_rx1, >, 0);
    g_assert_cmpuint(rclink_counters(r->e[0].d)->timeouts, >, 0);
    rig_free(r);
}

static void test_overrun(void)
{
    overrun(1024, 5000, 3000);
    overrun(1024, 99000, 3000);
    overrun(1024, 150000, 3000);
    overrun(16, 30000, 3000);
}

/* ---- frames of any kind ---- */

static void test_frames_fuzz(void)
{
    Rig *r = rig_new(1, NULL);
    RigEnd *e = &r->e[0];
    g_autoptr(GRand) rand = g_rand_new_with_seed(9);
    static const uint16_t types[] = { 0x0800, 0x88b5, 0x88b6, 0x8808, 0x8100 };
    uint8_t f[RCL_WIRE_MAX + 100];
    RigPacket p;

    for (unsigned k = 0; k < 4; k++) {
        rig_up(e, UINT64_C(1) << (k < 2 ? k : k + 1));
        for (unsigned q = 0; q < 32; q++) {
            rig_qp(e, q, e, q, q);
        }
        for (unsigned i = 0; i < steps(8000); i++) {
            size_t len = g_rand_int_range(rand, 0, i % 100 ? 200
                                                           : sizeof(f));

            for (size_t b = 0; b < len; b++) {
                f[b] = g_rand_int(rand);
            }
            if (i & 1) {
                rig_hex("02000000000a02000000000b", f);
            }
            if (i % 8 == 0) {
                rig_hex("0180c2000001", f);
                put_be16(f + 14, i & 8 ? 0x0101 : 0xcbfc);
            }
            put_be16(f + 12, types[g_rand_int_range(rand, 0, 5)]);
            rig_inject(e, f, len);
            if (i % 16 == 0) {
                r->now += 1000;
                rclink_run(e->d, r->now, 64);
                while (!g_queue_is_empty(e->out)) {
                    g_bytes_unref(rig_frame(e));
                }
                while (rig_take(e, 0, &p) || rig_take(e, 1, &p)) {
                }
                rig_events(e, 0);
                while (rig_md_take(e, f)) {
                }
            }
        }
        rig_set(e, RCL_SOFT_RESET, RCL_RESET_ALL);
    }
    rig_free(r);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/rclink/model/pfc", test_pfc);
    g_test_add_func("/rclink/model/cbfc", test_cbfc);
    g_test_add_func("/rclink/model/rate", test_rate);
    g_test_add_func("/rclink/model/overrun", test_overrun);
    g_test_add_func("/rclink/model/frames-fuzz", test_frames_fuzz);
    return g_test_run();
}
