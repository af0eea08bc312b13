/*
 * Injected faults of a node: which packets a plan is of, header by header; what the
 * node's settings may be.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <string.h>

#include "ends.h"
#include "ub/tp_format.h"

static Ends ends;
static CorePacketPool *pool;

static void begin(void)
{
    ends_start(&ends);
    pool = core_packet_pool_new(UB_PACKET_HEADROOM, 0);
}

static void end(void)
{
    ends_stop(&ends);
    g_assert_cmpuint(core_packet_pool_used(pool), ==, 0);
    core_packet_pool_free(pool);
}

static uint64_t dropped(bool out)
{
    uint64_t done[CORE_FAULT_NUM] = { 0 };
    UbFaultPlan plan;

    ub_node_fault(ends.end[0].node, out, &plan, done);
    return done[CORE_FAULT_DROP];
}

static UbFaultPlan all(void)
{
    UbFaultPlan plan;

    ub_fault_plan_init(&plan);
    plan.plan.ppm[CORE_FAULT_DROP] = 1000000;
    return plan;
}

/* Headers and some bytes, as they come from a port. */
typedef struct Bytes {
    unsigned cfg;
    uint32_t len;
    uint8_t b[256];
} Bytes;

static bool hits(const Bytes *p, const UbFaultPlan *plan)
{
    CorePacket *pkt = core_packet_alloc(pool, p->len);

    memcpy(core_packet_data(pkt), p->b, p->len);
    ub_meta(pkt)->lph_cfg = p->cfg;
    ub_node_set_fault(ends.end[0].node, false, plan);
    ub_node_rx(ends.end[0].node, ends.now, 0, pkt);
    return dropped(false);
}

static Bytes cna(unsigned cfg, unsigned nlp)
{
    Bytes p = { .cfg = cfg };
    UbNth h = { .scna = 2, .dcna = 1, .nlp = nlp };

    if (cfg == UB_LPH_CNA24) {
        ub_nth24_put(p.b, &h);
        p.len = UB_NTH24_SIZE;
    } else {
        ub_nth16_put(p.b, &h);
        p.len = UB_NTH16_SIZE;
    }
    return p;
}

static void add_ctph(Bytes *p, unsigned opcode, unsigned nlp)
{
    UbCtph h = { .opcode = opcode, .nlp = nlp };

    ub_ctph_put(p->b + p->len, &h);
    p->len += UB_CTPH_LEN;
}

static void add_rtph(Bytes *p, unsigned opcode, unsigned nlp, uint32_t psn)
{
    UbRtph h = { .opcode = opcode, .nlp = nlp, .psn = psn };

    ub_rtph_put(p->b + p->len, &h);
    p->len += UB_RTPH_LEN;
}

/* @n bytes that are not the TAH, which then begins with @opcode. */
static void add_tah(Bytes *p, unsigned n, uint8_t opcode)
{
    memset(p->b + p->len, 0x7e, n);
    p->b[p->len + n] = opcode;
    memset(p->b + p->len + n + 1, 0x7d, 31);
    p->len += n + 32;
}

enum { NONE = UB_FAULT_ANY };

/* Of each criterion that value alone; NONE: no value at all. */
static void expect(const Bytes *p, unsigned kind, unsigned tp, unsigned ta)
{
    UbFaultPlan plan = all();

    g_assert_true(hits(p, &plan));
    for (unsigned i = 0; i < UB_FAULT_KINDS; i++) {
        plan = all();
        plan.kind = i;
        g_assert_cmpint(hits(p, &plan), ==, i == kind);
    }
    for (unsigned i = 0; i < 256; i++) {
        plan = all();
        plan.tp_opcode = i;
        g_assert_cmpint(hits(p, &plan), ==, i == tp);
        plan = all();
        plan.ta_opcode = i;
        g_assert_cmpint(hits(p, &plan), ==, i == ta);
    }
}

static void expect_psn(const Bytes *p, bool has, uint32_t psn)
{
    static const int at[] = { -2, -1, 0, 1, 2 };

    for (unsigned i = 0; i < G_N_ELEMENTS(at); i++) {
        UbFaultPlan plan = all();

        plan.psn = (psn + at[i]) & 0xffffff;
        g_assert_cmpint(hits(p, &plan), ==, has && !at[i]);
        plan.psn_last = (plan.psn + 1) & 0xffffff;
        g_assert_cmpint(hits(p, &plan), ==, has && (!at[i] || at[i] == -1));
    }
}

static void test_ctp(void)
{
    static const struct { unsigned nlp, skip; } rows[] = {
        { UB_TPH_TAH, 0 }, { UB_TPH_UPI32, 36 }, { UB_TPH_UPI16, 7 },
    };
    Bytes p;

    begin();
    for (unsigned c = 0; c < 2; c++) {
        unsigned cfg = c ? UB_LPH_CNA24 : UB_LPH_CNA16;

        for (unsigned i = 0; i < G_N_ELEMENTS(rows); i++) {
            p = cna(cfg, UB_NLP_CTPH);
            add_ctph(&p, UB_CTPOP_DATA, rows[i].nlp);
            add_tah(&p, rows[i].skip, 0x13);
            expect(&p, UB_FAULT_CTP, UB_CTPOP_DATA, 0x13);
            expect_psn(&p, false, 0);
            /* One byte of a TAH is enough, none is not. */
            p.len -= 31;
            expect(&p, UB_FAULT_CTP, UB_CTPOP_DATA, 0x13);
            p.len--;
            expect(&p, UB_FAULT_CTP, UB_CTPOP_DATA, NONE);
        }
        p = cna(cfg, UB_NLP_CTPH);
        add_ctph(&p, UB_CTPOP_CNP, UB_TPH_TAH);
        add_tah(&p, 0, 0x13);
        expect(&p, UB_FAULT_CTP, UB_CTPOP_CNP, NONE);
        p = cna(cfg, UB_NLP_CTPH);
        expect(&p, NONE, NONE, NONE);
        p.len--;
        expect(&p, NONE, NONE, NONE);
    }
    end();
}

/* Behind a CIPH: what its own NLP says, as far as it can be read. */
static void test_cip(void)
{
    static const struct { uint8_t nlp; int skip; } rows[] = {
        { 0, 36 }, { 1, 7 }, { 2, 0 }, { 3, -1 }, { 15, -1 },
    };

    begin();
    for (unsigned i = 0; i < G_N_ELEMENTS(rows); i++) {
        Bytes p = cna(UB_LPH_CNA16, UB_NLP_CTPH);
        unsigned at;

        add_ctph(&p, UB_CTPOP_DATA, UB_TPH_CIP);
        at = p.len;
        add_tah(&p, UB_CIPH_LEN + MAX(rows[i].skip, 0), 0x13);
        p.b[at] = rows[i].nlp << 4 | 0xe;
        expect(&p, UB_FAULT_CTP, UB_CTPOP_DATA, rows[i].skip < 0 ? NONE : 0x13);
        p.len = at + UB_CIPH_LEN + MAX(rows[i].skip, 0) + 1;
        expect(&p, UB_FAULT_CTP, UB_CTPOP_DATA, rows[i].skip < 0 ? NONE : 0x13);
        p.len = at + UB_CIPH_LEN;
        expect(&p, UB_FAULT_CTP, UB_CTPOP_DATA, NONE);
    }
    end();
}

static void test_rtp(void)
{
    Bytes p;

    begin();
    p = cna(UB_LPH_CNA24, UB_NLP_RTPH);
    add_rtph(&p, UB_TPOP_DATA, UB_TPH_TAH, 0xffffff);
    add_tah(&p, 0, 0x06);
    expect(&p, UB_FAULT_RTP, UB_TPOP_DATA, 0x06);
    expect_psn(&p, true, 0xffffff);
    p.len -= 32;
    expect(&p, UB_FAULT_RTP, UB_TPOP_DATA, NONE);
    p.len--;                    /* no RTPH as a whole */
    expect(&p, NONE, NONE, NONE);

    p = cna(UB_LPH_CNA24, UB_NLP_RTPH);
    add_rtph(&p, UB_TPOP_UNRELIABLE, UB_TPH_UPI32, 5);
    add_tah(&p, 36, 0x02);
    expect(&p, UB_FAULT_UTP, UB_TPOP_UNRELIABLE, 0x02);
    expect_psn(&p, false, 5);

    /* Acknowledgements, and what is reserved, have no TAH. */
    for (unsigned op = UB_TPOP_ACK; op < UB_TPOPS + 2; op++) {
        p = cna(UB_LPH_CNA24, UB_NLP_RTPH);
        add_rtph(&p, op, UB_TPH_TAH, 1);
        add_tah(&p, 0, 0x06);
        expect(&p, UB_FAULT_RTP, op, NONE);
        expect_psn(&p, true, 1);
    }
    /* With a CNA of 16 bits there is none. */
    p = cna(UB_LPH_CNA16, UB_NLP_RTPH);
    add_rtph(&p, UB_TPOP_DATA, UB_TPH_TAH, 1);
    expect(&p, NONE, NONE, NONE);
    end();
}

/* A range of PSNs goes round. */
static void test_psns(void)
{
    static const struct { uint32_t psn; bool in; } rows[] = {
        { 0xffffef, false }, { 0xfffff0, true }, { 0xffffff, true }, { 0, true },
        { 0x10, true }, { 0x11, false }, { 0x800000, false },
    };
    UbFaultPlan plan = all();

    begin();
    plan.psn = 0xfffff0;
    plan.psn_last = 0x10;
    for (unsigned i = 0; i < G_N_ELEMENTS(rows); i++) {
        Bytes p = cna(UB_LPH_CNA24, UB_NLP_RTPH);

        add_rtph(&p, UB_TPOP_DATA, UB_TPH_TAH, rows[i].psn);
        g_assert_cmpint(hits(&p, &plan), ==, rows[i].in);
    }
    end();
}

static void test_others(void)
{
    Bytes p;

    begin();
    p = cna(UB_LPH_CNA16, UB_NLP_SCAN);
    add_tah(&p, 0, 0x06);
    expect(&p, UB_FAULT_SCAN, NONE, NONE);
    p = cna(UB_LPH_CNA24, UB_NLP_SCAN);
    add_tah(&p, 0, 0x06);
    expect(&p, NONE, NONE, NONE);
    p = cna(UB_LPH_BYPASS, UB_NLP_TAH);
    add_tah(&p, 0, 0x06);
    expect(&p, UB_FAULT_BYPASS, NONE, 0x06);
    p = (Bytes){ .cfg = UB_LPH_CONTROL, .len = UB_CONTROL_SIZE + 4 };
    expect(&p, UB_FAULT_CONTROL, NONE, NONE);
    end();
}

static void test_ip(void)
{
    begin();
    for (unsigned c = 0; c < 2; c++) {
        unsigned cfg = c ? UB_LPH_IPV6 : UB_LPH_IPV4;
        unsigned udp = UB_IPEXT_SIZE + (c ? UB_IPV6_SIZE : UB_IPV4_SIZE);
        UbIpPath path = { .src = { 10, 0, 0, 2 }, .dst = { 10, 0, 0, 1 } };
        Bytes p = { .cfg = cfg, .len = udp + UB_UDP_SIZE };

        ub_ipext_put(p.b, 0, 1);
        ub_ip_put(p.b + UB_IPEXT_SIZE, cfg, &path, 0, 0xc001,
                  UB_RTPH_LEN + 32);
        add_rtph(&p, UB_TPOP_DATA, UB_TPH_TAH, 7);
        add_tah(&p, 0, 0x06);
        expect(&p, UB_FAULT_RTP, UB_TPOP_DATA, 0x06);
        expect_psn(&p, true, 7);
        p.b[udp + UB_UDP_SIZE] = UB_TPOP_UNRELIABLE;
        expect(&p, UB_FAULT_UTP, UB_TPOP_UNRELIABLE, 0x06);
        p.b[udp + 3] ^= 1;      /* another port */
        expect(&p, UB_FAULT_IP, NONE, NONE);
        p.len = UB_IPEXT_SIZE;
        expect(&p, UB_FAULT_IP, NONE, NONE);
        p.len = udp;
        expect(&p, UB_FAULT_IP, NONE, NONE);
    }
    end();
}

/* What leaves is another matter than what comes; a plan is what it was set to. */
static void test_ways(void)
{
    Bytes p = cna(UB_LPH_BYPASS, UB_NLP_TAH);
    UbFaultPlan plan = all(), got;
    uint64_t done[CORE_FAULT_NUM];
    UbNode *node;

    begin();
    node = ends.end[0].node;
    add_tah(&p, 0, 0x06);
    g_assert_false(ub_node_fault(node, false, &got, done));
    plan.kind = UB_FAULT_BYPASS;
    plan.psn = UB_FAULT_NO_PSN;
    ub_node_set_fault(node, true, &plan);
    g_assert_true(ub_node_fault(node, true, &got, done));
    g_assert_cmpuint(got.kind, ==, UB_FAULT_BYPASS);
    g_assert_false(ub_node_fault(node, false, &got, done));
    plan.kind = UB_FAULT_RTP;
    plan.psn = 9;
    ub_node_set_fault(node, false, &plan);
    g_assert_true(ub_node_fault(node, false, &got, done));
    g_assert_cmpuint(got.kind, ==, UB_FAULT_RTP);
    g_assert_cmpuint(got.psn_last, ==, 9);
    g_assert_true(ub_node_fault(node, true, &got, done));
    g_assert_cmpuint(got.kind, ==, UB_FAULT_BYPASS);
    plan.kind = UB_FAULT_ANY;
    plan.psn = UB_FAULT_NO_PSN;
    g_assert_true(hits(&p, &plan));
    g_assert_cmpuint(dropped(true), ==, 0);
    end();
}

/* A packet has the queue of the sender, and a message that of its target. */
static void expect_queue(const Bytes *p, uint32_t queue, uint32_t target)
{
    static const uint32_t other[] = { 0, 1, 0xfffff, 0x7d7d7 };
    UbFaultPlan plan;

    for (unsigned i = 0; i < G_N_ELEMENTS(other); i++) {
        plan = all();
        plan.queue = other[i];
        g_assert_cmpint(hits(p, &plan), ==, other[i] == queue);
        plan = all();
        plan.target_queue = other[i];
        g_assert_cmpint(hits(p, &plan), ==, other[i] == target);
    }
    plan = all();
    plan.queue = queue;
    g_assert_cmpint(hits(p, &plan), ==, true);
    plan.target_queue = target;
    g_assert_cmpint(hits(p, &plan), ==, true);
}

static void add_built(Bytes *p, const UbTah *tah)
{
    const UbTahForm form = { 0 };
    UbTah t = *tah;

    t.ee = UB_EE_NORMAL;
    t.mt_en = t.tc_id;
    t.ext = ub_tah_exts(&form, &t);
    p->len += ub_tah_build(&form, &t, p->b + p->len);
}

static void test_queue(void)
{
    static const UbTah request = { .opcode = UB_TA_WRITE, .rc_id = 0x12345 };
    static const UbTah message = { .opcode = UB_TA_SEND, .rc_id = 0x12345,
                                   .tc_id = 0xabcde };
    static const UbTah answer = { .opcode = UB_TA_TAACK, .rc_id = 0xffffe };
    Bytes p;

    begin();
    p = cna(UB_LPH_CNA24, UB_NLP_RTPH);
    add_rtph(&p, UB_TPOP_DATA, UB_TPH_TAH, 5);
    add_built(&p, &request);
    expect_queue(&p, 0x12345, UB_FAULT_NO_QUEUE);
    p = cna(UB_LPH_CNA16, UB_NLP_CTPH);
    add_ctph(&p, UB_CTPOP_DATA, UB_TPH_TAH);
    add_built(&p, &message);
    expect_queue(&p, 0x12345, 0xabcde);
    p.len--;        /* within the last header */
    expect_queue(&p, UB_FAULT_NO_QUEUE, UB_FAULT_NO_QUEUE);
    p = cna(UB_LPH_CNA16, UB_NLP_CTPH);
    add_ctph(&p, UB_CTPOP_DATA, UB_TPH_TAH);
    add_built(&p, &answer);
    expect_queue(&p, 0xffffe, UB_FAULT_NO_QUEUE);
    /* Compact; without a transport's payload. */
    p = cna(UB_LPH_BYPASS, UB_NLP_TAH);
    add_built(&p, &request);
    expect_queue(&p, UB_FAULT_NO_QUEUE, UB_FAULT_NO_QUEUE);
    p = cna(UB_LPH_CNA16, UB_NLP_CTPH);
    expect_queue(&p, UB_FAULT_NO_QUEUE, UB_FAULT_NO_QUEUE);
    end();
}

/* Compact TAHs of CFG 6 have no queue either, where memory operations are compact; what
 * has no compact form has one. */
static void test_compact6(void)
{
    static const struct { uint8_t opcode; bool compact; } rows[] = {
        { UB_TA_WRITE, true }, { UB_TA_READ, true }, { UB_TA_TAACK, true },
        { UB_TA_SEND, false }, { UB_TA_WRITE_NOTIFY, false },
    };

    for (unsigned on = 0; on < 2; on++) {
        begin();
        for (unsigned i = 0; i < G_N_ELEMENTS(rows); i++) {
            for (unsigned wide = 0; wide < 2; wide++) {
                bool hidden = on && !wide && rows[i].compact;
                UbFaultPlan plan = all();
                UbNodeConfig *cfg = (UbNodeConfig *)ub_node_config(ends.end[0].node);
                UbTah t = { .opcode = rows[i].opcode, .rc_id = 0x12345 };
                Bytes p = cna(wide ? UB_LPH_CNA24 : UB_LPH_CNA16, UB_NLP_CTPH);

                cfg->ta.compact6 = on;
                add_ctph(&p, UB_CTPOP_DATA, UB_TPH_TAH);
                add_built(&p, &t);
                plan.ta_opcode = rows[i].opcode;
                g_assert_true(hits(&p, &plan));
                plan.queue = 0x12345;
                g_assert_cmpint(hits(&p, &plan), ==, !hidden);
            }
        }
        end();
    }
}

static void test_plans(void)
{
    UbFaultPlan plan;

    ub_fault_plan_init(&plan);
    g_assert_null(ub_fault_plan_check(&plan));
    plan.plan.ppm[CORE_FAULT_DROP] = 1;
    plan.plan.ppm[CORE_FAULT_DELAY] = 999999;
    plan.plan.reorder_depth = 64;
    plan.psn = plan.psn_last = 0xffffff;
    g_assert_null(ub_fault_plan_check(&plan));
    plan.plan.ppm[CORE_FAULT_DUPLICATE] = 1;
    g_assert_nonnull(ub_fault_plan_check(&plan));
    /* Nor do many add up to few. */
    plan.plan.ppm[CORE_FAULT_DUPLICATE] = UINT32_MAX;
    g_assert_nonnull(ub_fault_plan_check(&plan));
    plan.plan.ppm[CORE_FAULT_DUPLICATE] = 0;
    plan.plan.reorder_depth = 65;
    g_assert_nonnull(ub_fault_plan_check(&plan));
    plan.plan.reorder_depth = 0;
    plan.psn = 1 << 24;
    g_assert_nonnull(ub_fault_plan_check(&plan));
    plan.psn = 0;
    plan.psn_last = 1 << 24;
    g_assert_nonnull(ub_fault_plan_check(&plan));
    plan.psn_last = UB_FAULT_NO_PSN;
    plan.queue = plan.target_queue = 0xfffff;
    g_assert_null(ub_fault_plan_check(&plan));
    plan.queue = 1 << 20;
    g_assert_nonnull(ub_fault_plan_check(&plan));
    plan.queue = UB_FAULT_NO_QUEUE;
    plan.target_queue = 1 << 20;
    g_assert_nonnull(ub_fault_plan_check(&plan));
    plan.target_queue = UB_FAULT_NO_QUEUE;
    g_assert_null(ub_fault_plan_check(&plan));
}

/* A rule of each floor. */
static void test_config(void)
{
    UbNodeConfig cfg;

    ub_node_config_init(&cfg);
    g_assert_null(ub_node_config_check(&cfg));
    g_assert_true(cfg.accept);
    cfg.net.ports = 0;
    g_assert_nonnull(ub_node_config_check(&cfg));
    g_assert_null(ub_node_new(&cfg, &(UbNodeOps){ 0 }, NULL));
    ub_node_config_init(&cfg);
    cfg.cip.window = 63;
    g_assert_nonnull(ub_node_config_check(&cfg));
    g_assert_null(ub_node_new(&cfg, &(UbNodeOps){ 0 }, NULL));
    ub_node_config_init(&cfg);
    cfg.ta.slice = 0;
    g_assert_nonnull(ub_node_config_check(&cfg));
    ub_node_config_init(&cfg);
    cfg.tp.clock[0].scale = 0;
    g_assert_nonnull(ub_node_config_check(&cfg));
    /* The first that is wrong. */
    cfg.ta.slice = 0;
    cfg.cip.window = 63;
    cfg.net.ports = 0;
    g_assert_cmpstr(ub_node_config_check(&cfg), ==,
                    ub_net_config_check(&cfg.net));
    cfg.net.ports = 1;
    ub_tp_config_init(&cfg.tp);
    g_assert_cmpstr(ub_node_config_check(&cfg), ==,
                    ub_cip_config_check(&cfg.cip));
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/urma/fault/ctp", test_ctp);
    g_test_add_func("/urma/fault/cip", test_cip);
    g_test_add_func("/urma/fault/rtp", test_rtp);
    g_test_add_func("/urma/fault/psns", test_psns);
    g_test_add_func("/urma/fault/others", test_others);
    g_test_add_func("/urma/fault/ip", test_ip);
    g_test_add_func("/urma/fault/ways", test_ways);
    g_test_add_func("/urma/fault/queue", test_queue);
    g_test_add_func("/urma/fault/compact6", test_compact6);
    g_test_add_func("/urma/fault/plans", test_plans);
    g_test_add_func("/urma/fault/config", test_config);
    return g_test_run();
}
