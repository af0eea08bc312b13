/*
 * Native personality: contexts and tables: what each command takes of a mailbox
 * and leaves in memory, how far numbers go, what a migration carries.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <string.h>

#include "native-side.h"
#include "native-tweak.h"
#include "../../../hw/rdma/native/internal.h"

static RdmaDev *dev_of(Side *s)
{
    return native_dev(s->n);
}

static RdmaQp *qp_of(Side *s)
{
    return rdma_qp_get(dev_of(s), QPN);
}

static void lax(NativeConfig *cfg)
{
    cfg->strict_cmd = cfg->strict_qp = false;
}

/* ---- INIT_HCA, registers ---- */

/* Tables as large as QUERY_DEV_LIM says, and one more: refused, or cut. */
static void test_table_sizes(void)
{
    static const struct { uint8_t off, log; } t[] = {
        { NR_INIT_QPC, 13 }, { NR_INIT_CQC, 13 }, { NR_INIT_EQC, 5 },
        { NR_INIT_MPT, 14 },
    };

    for (unsigned strict = 0; strict < 2; strict++) {
        for (unsigned i = 0; i < G_N_ELEMENTS(t); i++) {
            for (unsigned k = 0; k < 2; k++) {
                Side *s = side_new(1, strict ? NULL : lax);

                side_mbox(s)[t[i].off + 7] = t[i].log + k;
                g_assert_cmphex(side_cmd(s, NRC_INIT_HCA, 0, 0), ==,
                                strict && k ? NRS_BAD_PARAM : 0);
                g_assert_cmpint(s->n->s.ready, ==, !(strict && k));
                g_assert_cmpuint(s->n->s.log[i], ==,
                                 strict && k ? 0 : t[i].log);
                side_free(s);
            }
        }
    }
}

/* What INIT_HCA begins with is nothing of what was. */
static void test_begin_anew(void)
{
    Side *s = side_up(1, 0, NULL);

    side_eq(s, BUS + EQB, 0);
    native_uar_write(s->n, NRU_SQ_DB, 0, 4);            /* half of one */
    g_assert_cmphex(side_hcr(s, 0, 0, 0, NRC_CLOSE_HCA, 0) >> 24, ==, 0);
    s->rules = 0;
    native_uar_write(s->n, NRU_SQ_DB + 4, 0, 4);
    g_assert_cmpuint(s->rules, ==, 0);
    native_event(s->n, RDMA_EV_WQ_CATAS, 1);
    g_assert_cmpuint(s->msix->len, ==, 0);
    side_init_hca(s);
    for (unsigned region = 1; region <= 2; region++) {
        g_assert_cmpuint(side_map(s, region,
                                  region == 1 ? EQC_BASE : MPT_BASE, ICM, 1),
                         ==, 0);
    }
    side_eq(s, BUS + EQB, 0);
    g_assert_null(qp_of(s));
    g_assert_cmphex(side_hcr(s, 0, CQN, 0, NRC_HW2SW_CQ, 0) >> 24, ==,
                    NRS_BAD_PARAM);
    side_free(s);
}

/* A command that failed keeps its status until the next one. */
static void test_status_stays(void)
{
    Side *s = side_new(1, NULL);

    /* A command leaves what it was given, but no output. */
    g_assert_cmphex(side_hcr(s, UINT64_C(0x1122334455667788), 0x99aabbcc,
                             UINT64_C(0x123456789abcdef0), NRC_NOP, 0) >> 24,
                    ==, 0);
    g_assert_cmphex(native_hcr_read(s->n, NRH_IN_PARAM_H), ==, 0x11223344);
    g_assert_cmphex(native_hcr_read(s->n, NRH_IN_PARAM_L), ==, 0x55667788);
    g_assert_cmphex(native_hcr_read(s->n, NRH_IN_MODIFIER), ==, 0x99aabbcc);
    g_assert_cmphex(native_hcr_read(s->n, NRH_OUT_PARAM_H), ==, 0);
    g_assert_cmphex(native_hcr_read(s->n, NRH_OUT_PARAM_L), ==, 0);
    g_assert_cmphex(side_hcr(s, 0, 0, 0, 0x055, 0), ==, 0x02000055);
    for (unsigned i = 0; i < 6; i++) {
        native_hcr_write(s->n, i * 4, 0x11111111 * (i + 1));
    }
    native_hcr_write(s->n, NRH_CMD, 0x123);
    g_assert_cmphex(native_hcr_read(s->n, NRH_CMD), ==, 0x02000123);
    for (unsigned i = 0; i < 6; i++) {
        g_assert_cmphex(native_hcr_read(s->n, i * 4), ==,
                        0x11111111 * (i + 1));
    }
    side_free(s);
}

/* The transport as this interface wants it. */
static void test_defaults(void)
{
    NativeConfig cfg;
    RdmaConfig r;

    native_rdma_config(&r);
    g_assert_cmpuint(r.log_qps, ==, 13);
    g_assert_cmpuint(r.log_cqs, ==, 13);
    g_assert_cmpuint(r.log_srqs, ==, 0);
    g_assert_cmpuint(r.log_mrs, ==, 14);
    g_assert_true(r.qpn_wrap);
    g_assert_false(r.pkey_check);
    g_assert_true(r.qkey_zero_any);
    g_assert_true(r.accept_any_ip);
    g_assert_true(r.shared_buffers);
    g_assert_cmpint(r.ud_grh, ==, RDMA_GRH_NONE);
    g_assert_cmpuint(r.err_repoll_us, ==, 1000);
    native_config_init(&cfg);
    g_assert_true(cfg.strict_cmd && cfg.strict_qp && cfg.eqe);
    g_assert_cmphex(cfg.lerr, ==, 0x11);
    g_assert_cmpint(cfg.err_cqe, ==, NATIVE_ERR_CQE_DRV);
}

/* Each region of addresses has its tables: what lies below them is in none. */
static void test_regions_of_icm(void)
{
    Side *s = side_new(1, NULL);

    side_init_hca(s);
    g_assert_cmpuint(side_map(s, 2, 0x1000, ICM, 1), ==, NRS_BAD_PARAM);
    g_assert_cmpuint(side_map(s, 2, CQC_BASE, ICM, 1), ==, NRS_BAD_PARAM);
    g_assert_cmpuint(side_map(s, 2, MPT_BASE + 0x1ff000, ICM, 1), ==, 0);
    g_assert_cmpuint(side_map(s, 2, MTT_BASE + 0x1ff000, ICM, 1), ==, 0);
    g_assert_cmpuint(side_map(s, 2, MTT_BASE + 0x200000, ICM, 1), ==,
                     NRS_BAD_PARAM);
    g_assert_cmpuint(side_map(s, 1, CQC_BASE - 0x1000, ICM, 1), ==, 0);
    g_assert_cmphex(s->n->s.map[ICM_QPC][0x3ff], ==, (BUS + ICM) | 1);
    g_assert_cmphex(s->n->s.map[ICM_MPT][0x1ff], ==, (BUS + ICM) | 1);
    g_assert_cmphex(s->n->s.map[ICM_MTT][0x1ff], ==, (BUS + ICM) | 1);
    g_assert_cmphex(side_hcr(s, MTT_BASE + 0x1ff000, 1, 0, NRC_UNMAP_ICM, 2) >>
                    24, ==, 0);
    g_assert_cmphex(s->n->s.map[ICM_MTT][0x1ff], ==, 0);
    side_free(s);
}

/* Tables in any order; of a list of pages the one behind the last is not mapped. */
static void test_icm_order(void)
{
    static const uint32_t base[] = {
        [ICM_QPC] = 0x800000, [ICM_CQC] = 0x600000, [ICM_EQC] = 0x400000,
    };
    Side *s = side_new(1, NULL);
    uint8_t *m = side_mbox(s);

    put_be64(m + NR_INIT_QPC, base[ICM_QPC] | NR_LOG_QPS);
    put_be64(m + NR_INIT_CQC, base[ICM_CQC] | NR_LOG_CQS);
    put_be64(m + NR_INIT_EQC, base[ICM_EQC] | NR_LOG_EQS);
    g_assert_cmpuint(side_cmd(s, NRC_INIT_HCA, 0, 0), ==, 0);
    for (unsigned t = ICM_QPC; t <= ICM_EQC; t++) {
        g_assert_cmpuint(side_map(s, 1, base[t], ICM + t * 0x1000, 1), ==, 0);
        g_assert_cmphex(s->n->s.map[t][0], ==, (BUS + ICM + t * 0x1000) | 1);
    }
    m = side_mbox(s);
    for (unsigned i = 0; i < 2; i++) {
        put_be64(m + (i ^ 1) * 0x10, base[ICM_QPC] + 0x1000 * (i + 1));
        put_be64(m + (i ^ 1) * 0x10 + 8, (BUS + DATA) | 1);
    }
    g_assert_cmpuint(side_cmd(s, NRC_MAP_ICM, 1, 1), ==, 0);
    g_assert_cmphex(s->n->s.map[ICM_QPC][1], ==, (BUS + DATA) | 1);
    g_assert_cmphex(s->n->s.map[ICM_QPC][2], ==, 0);
    side_free(s);
}

/* ---- regions ---- */

static void test_rights(void)
{
    static const struct { uint32_t flag, access; } t[] = {
        { 0, RDMA_ACC_LOCAL_READ }, { NRM_LOCAL_WRITE, RDMA_ACC_LOCAL_WRITE },
        { NRM_REMOTE_READ, RDMA_ACC_REMOTE_READ },
        { NRM_REMOTE_WRITE, RDMA_ACC_REMOTE_WRITE },
        { NRM_REMOTE_ATOMIC, RDMA_ACC_REMOTE_ATOMIC },
    };
    Side *s = side_up(1, 0, NULL);

    for (unsigned i = 0; i < G_N_ELEMENTS(t); i++) {
        g_assert_cmpuint(side_mpt(s, 9, t[i].flag, 0, 0x1000, 9 * 32), ==, 0);
        /* Reading is always allowed here. */
        g_assert_cmphex(rdma_mr_get(dev_of(s), 9)->access, ==,
                        t[i].access | RDMA_ACC_LOCAL_READ);
        g_assert_cmphex(side_hcr(s, 0, 9, 0, NRC_HW2SW_MPT, 0) >> 24, ==, 0);
    }
    side_free(s);
}

/* Of three entries the second one is zero up to @end, and nothing else was written. */
static void only_between(const uint8_t *entries, unsigned end)
{
    for (unsigned i = 0; i < 0xc0; i++) {
        g_assert_cmphex(entries[i], ==, i >= 0x40 && i < end ? 0 : 0x77);
    }
}

/* Entries in memory: all of the mailbox, then nothing of it; neighbours
 * stay. */
static void test_entries(void)
{
    Side *s = side_up(1, 0, NULL);
    uint8_t *mpt = s->mem + ICM + 0x12000, *eqc = s->mem + ICM + 0x11000;
    uint8_t *cqc = s->mem + ICM + 0x10000;
    uint8_t *m;

    memset(mpt + 8 * 0x40, 0x77, 0xc0);
    m = side_mbox(s);
    memset(m, 0xa5, 0x100);
    put_be32(m + NR_MPT_KEY, 9);
    g_assert_cmpuint(side_cmd(s, NRC_SW2HW_MPT, 9, 0), ==, 0);
    g_assert_cmpmem(mpt + 9 * 0x40, 0x40, m, 0x40);
    g_assert_cmphex(side_hcr(s, 0, 9, 0, NRC_HW2SW_MPT, 0) >> 24, ==, 0);
    only_between(mpt + 8 * 0x40, 0x80);
    memset(eqc + 4 * 0x40, 0x77, 0xc0);
    m = side_mbox(s);
    memset(m, 0xa5, 0x100);
    m[NR_CTX_LOG] = 3;
    g_assert_cmpuint(side_cmd(s, NRC_SW2HW_EQ, 5, 0), ==, 0);
    g_assert_cmpmem(eqc + 5 * 0x40, 0x30, m, 0x30);
    g_assert_cmphex(eqc[5 * 0x40 + 0x30], ==, 0x77);
    /* MAP_EQ tells of the arming, in this entry. */
    g_assert_cmphex(side_hcr(s, 1, 5, 0, NRC_MAP_EQ, 0) >> 24, ==, 0);
    g_assert_cmphex(get_be32(eqc + 5 * 0x40), ==, NRX_ARMED);
    g_assert_cmphex(eqc[5 * 0x40 + 4], ==, 0xa5);
    g_assert_cmphex(side_hcr(s, 0, 5, 0, NRC_HW2SW_EQ, 0) >> 24, ==, 0);
    only_between(eqc + 4 * 0x40, 0x70);
    memset(cqc + 4 * 0x40, 0x77, 0xc0);
    m = side_mbox(s);
    memset(m, 0xa5, 0x100);
    m[NR_CTX_LOG] = 3;
    g_assert_cmpuint(side_cmd(s, NRC_SW2HW_CQ, 5, 0), ==, 0);
    g_assert_cmpmem(cqc + 5 * 0x40, 0x38, m, 0x38);
    g_assert_cmphex(cqc[5 * 0x40 + 0x38], ==, 0x77);
    g_assert_cmphex(side_hcr(s, 0, 5, 0, NRC_HW2SW_CQ, 0) >> 24, ==, 0);
    only_between(cqc + 4 * 0x40, 0x78);
    side_free(s);
}

/* Translations that lie in two pages of their table. */
static void test_mtt_pages(void)
{
    Side *s = side_up(1, 0, NULL);
    uint8_t b[0x6000], want[0x6000];

    g_assert_cmpuint(side_map(s, 2, MTT_BASE + 0x4000, ICM + 0x30000, 1), ==,
                     0);
    /* Pages 0 to 5 of the data, backwards. */
    for (unsigned i = 0; i < 6; i++) {
        g_assert_cmpuint(side_mtt(s, 512 * 4 - 3 + i, DATA + (5 - i) * 0x1000,
                                  1), ==, 0);
        memset(s->mem + DATA + (5 - i) * 0x1000, 0x30 + i, 0x1000);
        memset(want + i * 0x1000, 0x30 + i, 0x1000);
    }
    g_assert_cmpuint(side_mpt(s, 9, 0, 0, 0x6000, 512 * 4 - 3), ==, 0);
    for (unsigned first = 0; first < 6; first++) {
        g_assert_cmpint(rdma_mr_read(dev_of(s), 9, PD, first * 0x1000, b,
                                     (6 - first) * 0x1000,
                                     RDMA_ACC_RELATIVE), ==, 0);
        g_assert_cmpmem(b, (6 - first) * 0x1000, want + first * 0x1000,
                        (6 - first) * 0x1000);
    }
    side_free(s);
}

/* ---- queue pairs ---- */

enum { F_STAY = 1, F_KEY = 2, F_PKEY = 4, F_PATH = 8, F_AV = 16, F_RQPSN = 32,
       F_SQPSN = 64, F_TIMEOUT = 128, F_RNRRETRY = 256, F_RNRTIMER = 512 };

/* Whose a bit of the context is; bits of nobody are stored as they come. */
static const struct { uint8_t off; uint32_t mask; uint16_t of; } owners[] = {
    { 0x08, 0x00ff0000, F_STAY }, { 0x0c, 0xff000000, F_PATH },
    { 0x0c, 0x00ffff00, F_STAY }, { 0x10, 0x00ffffff, F_STAY },
    { 0x18, 0x00ffffff, F_PATH }, { 0x1c, 0x0000007f, F_PKEY },
    { 0x20, 0xe0000000, F_RNRRETRY }, { 0x20, 0x00ff0000, F_AV },
    { 0x24, 0xff000000, F_TIMEOUT }, { 0x24, 0x00ffffff, F_AV },
    { 0x28, ~0u, F_AV }, { 0x2c, ~0u, F_AV }, { 0x30, ~0u, F_AV },
    { 0x34, ~0u, F_AV }, { 0x38, ~0u, F_AV }, { 0x3c, ~0u, F_AV },
    { 0x40, ~0u, F_AV }, { 0x44, ~0u, F_AV }, { 0x48, ~0u, F_AV },
    { 0x4c, ~0u, F_AV }, { 0x5c, ~0u, F_STAY }, { 0x6c, 0xffffff, F_SQPSN },
    { 0x70, ~0u, F_STAY }, { 0x74, ~0u, F_STAY }, { 0x78, ~0u, F_STAY },
    { 0x84, 0xff000000, F_RNRTIMER }, { 0x84, 0x00ffffff, F_RQPSN },
    { 0x8c, ~0u, F_STAY }, { 0x90, ~0u, F_STAY }, { 0x94, ~0u, F_STAY },
    { 0x98, ~0u, F_KEY },
};

static const struct {
    uint16_t op;
    uint8_t from, to;
    uint16_t takes;
} steps[] = {
    { NRC_INIT2INIT_QP, 1, 1, F_KEY | F_PKEY },
    { NRC_INIT2RTR_QP, 1, 2,
      F_KEY | F_PKEY | F_PATH | F_AV | F_RQPSN | F_RNRTIMER },
    { NRC_RTR2RTS_QP, 2, 3,
      F_KEY | F_SQPSN | F_TIMEOUT | F_RNRRETRY | F_RNRTIMER },
    { NRC_RTS2RTS_QP, 3, 3, F_KEY | F_RNRTIMER },
    { NRC_SQE2RTS_QP, 4, 3, F_KEY },
    { NRC_SQD2SQD_QP, 5, 5,
      F_KEY | F_PKEY | F_AV | F_TIMEOUT | F_RNRRETRY | F_RNRTIMER },
    { NRC_SQD2RTS_QP, 5, 3, F_KEY | F_RNRTIMER },
};

/* Every bit of the mailbox in every step: taken, kept as it was, or refused
 * because it is settled. */
static void test_qp_bits(void)
{
    static const RdmaQpState states[] = {
        RDMA_QPS_RESET, RDMA_QPS_INIT, RDMA_QPS_RTR, RDMA_QPS_RTS,
        RDMA_QPS_SQE, RDMA_QPS_SQD,
    };
    Side *s = side_up(1, 0, NULL);
    NativeQp *q = rdma_qp_priv(qp_of(s));
    uint8_t ctx[NR_QP_MBOX_BYTES], want[NR_QP_MBOX_BYTES];
    RdmaQpAttr attr = *rdma_qp_attr(qp_of(s));

    memcpy(ctx, q->ctx, sizeof(ctx));
    for (unsigned i = 0; i < G_N_ELEMENTS(steps); i++) {
        for (unsigned bit = 0x08 * 8; bit < 0xc0 * 8; bit++) {
            unsigned off = bit / 32 * 4, state;
            uint32_t mask = 1u << bit % 32;
            uint16_t of = 0;
            bool good;

            for (unsigned k = 0; k < G_N_ELEMENTS(owners); k++) {
                if (owners[k].off == off && owners[k].mask & mask) {
                    of = owners[k].of;
                }
            }
            good = of != F_STAY && (of != F_PATH || steps[i].from < 2);
            /* As it was made, in the state where the step begins. */
            memcpy(q->ctx, ctx, sizeof(ctx));
            attr.state = states[steps[i].from];
            rdma_qp_modify(dev_of(s), qp_of(s), &attr, RDMA_QPA_STATE |
                           RDMA_QPA_SQ_PSN | RDMA_QPA_RQ_PSN);
            g_assert_cmpuint(side_query(s, NRC_QUERY_QP, QPN), ==, 0);
            memcpy(want, s->mem + OUT_MBOX, sizeof(want));
            memcpy(side_mbox(s), want, sizeof(want));
            put_be32(s->mem + IN_MBOX + off,
                     get_be32(want + off) ^ mask);
            g_assert_cmphex(side_cmd(s, steps[i].op, QPN, 0), ==,
                            good ? 0 : NRS_BAD_PARAM);
            state = good ? steps[i].to : steps[i].from;
            if (good && (!of || of & steps[i].takes)) {
                put_be32(want + off, get_be32(want + off) ^ mask);
            }
            g_assert_cmpuint(side_query(s, NRC_QUERY_QP, QPN), ==, 0);
            /* The engine's own: state, PSNs. */
            want[0x08] = state << 4;
            memcpy(want + 0x7c, s->mem + OUT_MBOX + 0x7c, 4);
            want[0x6c] = 0;
            g_assert_cmpmem(s->mem + OUT_MBOX, sizeof(want), want,
                            sizeof(want));
        }
    }
    side_free(s);
}

/* What a new life of a QP begins with, and sizes of its slots. */
static void test_qp_anew(void)
{
    Side *s = side_up(1, 0, NULL);
    NativeQp *q = rdma_qp_priv(qp_of(s));

    g_assert_true(native_db_push(s->n, q, 1));
    q->chain = true;
    q->rq_off = 0x80;
    q->rq_block = 0x80;
    q->rq_lap = 0x100;
    g_assert_cmphex(side_hcr(s, 0, QPN, 0, NRC_2RST_QP, 3) >> 24, ==, 0);
    g_assert_cmpuint(q->db_num, ==, 0);
    g_assert_false(q->chain);
    g_assert_cmpuint(q->rq_off + q->rq_block + q->rq_lap, ==, 0);
    for (unsigned log = 3; log <= 13; log++) {
        side_qp_mbox(s, 1, 0)[NR_QPC_RQ_LOG] = log;
        s->mem[IN_MBOX + 8] = 1 << 4;
        g_assert_cmphex(side_cmd(s, NRC_RST2INIT_QP, QPN, 0), ==, 0);
        g_assert_cmpuint(q->rq_slot, ==, 1 << CLAMP(log, 4, 12));
        g_assert_cmphex(side_hcr(s, 0, QPN, 0, NRC_2RST_QP, 3) >> 24, ==, 0);
    }
    side_free(s);
}

/* Codes of states, by the document and by the hardware sources. */
static void test_state_codes(void)
{
    for (unsigned rtl = 0; rtl < 2; rtl++) {
        Side *s = side_up(1, 0, rtl ? tweak_state_rtl : NULL);

        for (unsigned n = 1; n <= 6; n++) {
            static const RdmaQpState state[] = {
                RDMA_QPS_RESET, RDMA_QPS_INIT, RDMA_QPS_RTR, RDMA_QPS_RTS,
                RDMA_QPS_SQE, RDMA_QPS_SQD, RDMA_QPS_ERR,
            };
            RdmaQpAttr a = { .state = state[n] };

            rdma_qp_modify(dev_of(s), qp_of(s), &a, RDMA_QPA_STATE);
            g_assert_cmpuint(side_query(s, NRC_QUERY_QP, QPN), ==, 0);
            g_assert_cmphex(s->mem[OUT_MBOX + 8], ==,
                            (rtl && (n == 4 || n == 5) ? 9 - n : n) << 4);
        }
        side_free(s);
    }
}

/* ---- queues ---- */

/* RESIZE_CQ: size, key, and the place, modulo the new size. */
static void test_resize(void)
{
    Side *s = side_up(1, 0, NULL);
    NativeCq *c = rdma_cq_priv(rdma_cq_get(dev_of(s), CQN));
    uint8_t *m;

    c->off = 9 * 32;
    for (unsigned log = 6; log-- > 1;) {
        m = side_mbox(s);
        m[NR_RESIZE_LOG] = log;
        put_be32(m + NR_RESIZE_LKEY, 0x12340000 + log);
        g_assert_cmphex(side_cmd(s, NRC_RESIZE_CQ, CQN, 0), ==, 0);
        g_assert_cmpuint(c->log, ==, log);
        g_assert_cmphex(c->lkey, ==, 0x12340000 + log);
        g_assert_cmpuint(c->off, ==, 9 % (1 << log) * 32);
    }
    side_free(s);
}

/* MAP_EQ adds events and takes them away. */
static void test_map_eq(void)
{
    Side *s = side_up(1, 0, NULL);
    Eq *e = &s->n->s.eq[EQN];

    side_eq(s, BUS + EQB, 0);
    g_assert_cmphex(e->mask, ==, 1 << 0x11 | 1 << 0x05);
    g_assert_cmphex(side_hcr(s, UINT64_C(0x8000000100000001), EQN, 0,
                             NRC_MAP_EQ, 0) >> 24, ==, 0);
    g_assert_cmphex(e->mask, ==, UINT64_C(0x8000000100020021));
    g_assert_cmphex(side_hcr(s, UINT64_C(0x8000000000000020),
                             EQN | NRC_MAP_EQ_UNMAP, 0, NRC_MAP_EQ, 0) >> 24,
                    ==, 0);
    g_assert_cmphex(e->mask, ==, 0x100020001);
    g_assert_false(e->valid);
    side_free(s);
}

/* Events that nobody mapped go nowhere. */
static void test_event_mask(void)
{
    Side *s = side_up(1, 0, NULL);
    Eq *e = &s->n->s.eq[EQN];

    side_eq(s, BUS + EQB, 0);
    for (unsigned ev = 0; ev < 0x20; ev++) {
        uint32_t pi = e->pi;

        native_event(s->n, ev, 1);
        g_assert_cmpuint(e->pi - pi, ==, e->mask >> ev & 1);
    }
    g_assert_cmpuint(e->pi, ==, 2);
    side_free(s);
}

/* A completion queue is armed as its context says, and by its own number. */
static void test_arming(void)
{
    static const uint32_t numbers[] = { 3, 6 };
    Side *s = side_up(1, 0, NULL);

    for (unsigned i = 0; i < 4; i++) {
        uint32_t cqn = numbers[i / 2];
        uint8_t *m = side_mbox(s);
        NativeCq *q;

        m[NR_CTX_LOG] = 4;
        put_be32(m + NR_CTX_FLAGS, i % 2 ? NRX_ARMED : ~NRX_ARMED);
        g_assert_cmpuint(side_cmd(s, NRC_SW2HW_CQ, cqn, 0), ==, 0);
        q = rdma_cq_priv(rdma_cq_get(dev_of(s), cqn));
        g_assert_cmpint(q->armed, ==, i % 2);
        native_arm_cq(s->n, 0, cqn ^ 1);        /* none */
        g_assert_cmpint(q->armed, ==, i % 2);
        native_arm_cq(s->n, 0, cqn);
        g_assert_true(q->armed);
        g_assert_cmphex(side_hcr(s, 0, cqn, 0, NRC_HW2SW_CQ, 0) >> 24, ==, 0);
    }
    side_free(s);
}

/* ---- doorbells ---- */

/* The list of those that wait is used again and again. */
static void test_doorbells(void)
{
    Side *a = side_up(1, 0, NULL), *b = side_up(2, 0, NULL);

    for (unsigned i = 0; i < 300; i++) {
        Wqe w = wqe_begin(0);

        wqe_raddr(&w, VA);
        wqe_data(&w, VA, 16);
        side_post(a, &w, RDMA_OP_WRITE);
        side_run(a, b);
        g_assert_nonnull(side_cqe(a));
    }
    g_assert_cmpuint(a->n->db->len, <=, 2);
    side_free(a);
    side_free(b);
}

/* ---- migration ---- */

/* Every field of every object: filled with what it would not have of itself, it
 * arrives so. */
static void test_image_fields(void)
{
    Side *s = side_up(1, 0, NULL), *t = side_new(1, NULL);
    NativeQp *q = rdma_qp_priv(qp_of(s)), *r;
    NativeCq *c = rdma_cq_priv(rdma_cq_get(dev_of(s), CQN)), *d;
    Eq *e = &s->n->s.eq[31];
    g_autofree uint8_t *block = NULL;
    size_t len;

    q->chain = q->chain_fence = true;
    q->chain_op = 0x0a;
    q->chain_units = 0x21;
    q->chain_off = 0x123450;
    q->rq_off = 0x180;
    q->rq_block = 0x100;
    q->rq_lap = 0x80;
    for (unsigned i = 0; i < 3; i++) {
        g_assert_true(native_db_push(s->n, q, UINT64_C(0x112233445566) + i));
    }
    c->eqn = 7;
    c->uar = 0x55;
    c->armed = c->failed = true;
    c->off = 64;
    *e = (Eq) {
        .exists = true, .valid = true, .armed = true,
        .start = UINT64_C(0x1234567890), .log = 4, .vector = 0x31,
        .pd = 0x778899, .lkey = 0x443322, .pi = 0x99, .mask = 0x1122334455,
    };
    s->n->s.db_low = 0x12345678;
    s->n->s.db_page = 0x21;
    s->n->s.db_latched = true;
    block = native_save(s->n, s->now, &len);
    g_assert_cmpstr(native_load(t->n, 1, block, len), ==, NULL);
    r = rdma_qp_priv(qp_of(t));
    d = rdma_cq_priv(rdma_cq_get(dev_of(t), CQN));
#define SAME(a, b, field) g_assert_cmphex((a)->field, ==, (b)->field)
    g_assert_cmpmem(q->ctx, sizeof(q->ctx), r->ctx, sizeof(r->ctx));
    SAME(q, r, sq_len);
    SAME(q, r, rq_len);
    SAME(q, r, sq_lkey);
    SAME(q, r, rq_lkey);
    SAME(q, r, rq_slot);
    SAME(q, r, chain);
    SAME(q, r, chain_fence);
    SAME(q, r, chain_op);
    SAME(q, r, chain_units);
    SAME(q, r, chain_off);
    SAME(q, r, db_num);
    SAME(q, r, rq_off);
    SAME(q, r, rq_block);
    SAME(q, r, rq_lap);
    SAME(c, d, lkey);
    SAME(c, d, pd);
    SAME(c, d, eqn);
    SAME(c, d, uar);
    SAME(c, d, log);
    SAME(c, d, armed);
    SAME(c, d, failed);
    SAME(c, d, off);
    SAME(&s->n->s, &t->n->s, db_low);
    SAME(&s->n->s, &t->n->s, db_page);
    SAME(&s->n->s, &t->n->s, db_latched);
    SAME(&s->n->s, &t->n->s, ready);
    for (unsigned i = 0; i < 32; i++) {
        const Eq *a = &s->n->s.eq[i], *b = &t->n->s.eq[i];

        SAME(a, b, exists);
        SAME(a, b, valid);
        SAME(a, b, armed);
        SAME(a, b, start);
        SAME(a, b, log);
        SAME(a, b, vector);
        SAME(a, b, pd);
        SAME(a, b, lkey);
        SAME(a, b, pi);
        SAME(a, b, mask);
    }
#undef SAME
    g_assert_cmpmem(s->n->s.hcr, sizeof(s->n->s.hcr), t->n->s.hcr,
                    sizeof(t->n->s.hcr));
    g_assert_cmpmem(s->n->s.base, sizeof(s->n->s.base), t->n->s.base,
                    sizeof(t->n->s.base));
    g_assert_cmpmem(s->n->s.log, sizeof(s->n->s.log), t->n->s.log,
                    sizeof(t->n->s.log));
    g_assert_cmpmem(s->n->s.map, sizeof(s->n->s.map), t->n->s.map,
                    sizeof(t->n->s.map));
    side_free(s);
    side_free(t);
}

/* What no engine can have, and the last that it can. */
static void test_image_limits(void)
{
    enum { EQ_LOG, CQ_LOG, CQ_OFF, CQ_ALIGN, ICM_LOG, GO, QPC_LOG, CASES };
    static const char *const want[CASES] = {
        "event queue is too large", "CQ is too large", "CQE outside its CQ",
        "CQE outside its CQ", "ICM table is too large",
        "command that has not ended", "QP outside its table",
    };

    for (unsigned i = 0; i < CASES; i++) {
        for (unsigned bad = 0; bad < 2; bad++) {
            Side *s = side_up(1, 0, NULL), *t = side_new(1, NULL);
            NativeCq *c = rdma_cq_priv(rdma_cq_get(dev_of(s), CQN));
            g_autofree uint8_t *block = NULL;
            size_t len;

            switch (i) {
            case EQ_LOG:
                s->n->s.eq[3].log = LOG_EQ_MAX + bad;
                break;
            case CQ_LOG:
                c->log = LOG_EQ_MAX + bad;
                break;
            case CQ_OFF:
                c->off = (32 << c->log) - (bad ? 0 : 32);
                break;
            case CQ_ALIGN:
                c->off = 32 + (bad ? 16 : 0);
                break;
            case ICM_LOG:
                s->n->s.log[ICM_EQC] = NR_LOG_EQS + bad;
                break;
            case GO:
                s->n->s.hcr[NRH_CMD / 4] = bad ? NRH_GO : NRH_GO >> 1;
                break;
            case QPC_LOG:
                s->n->s.log[ICM_QPC] = bad ? 2 : 3;     /* QP 5 */
                break;
            }
            block = native_save(s->n, s->now, &len);
            g_assert_cmpstr(native_load(t->n, 1, block, len), ==,
                            bad ? want[i] : NULL);
            if (bad) {
                g_assert_null(qp_of(t));
                g_assert_false(t->n->s.ready);
            }
            side_free(s);
            side_free(t);
        }
    }
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
#define TEST(path, fn) g_test_add_func("/native/ctx/" path, test_##fn)
    TEST("table-sizes", table_sizes);
    TEST("begin-anew", begin_anew);
    TEST("status-stays", status_stays);
    TEST("defaults", defaults);
    TEST("regions-of-icm", regions_of_icm);
    TEST("rights", rights);
    TEST("entries", entries);
    TEST("icm-order", icm_order);
    TEST("mtt-pages", mtt_pages);
    TEST("qp-bits", qp_bits);
    TEST("qp-anew", qp_anew);
    TEST("state-codes", state_codes);
    TEST("resize", resize);
    TEST("map-eq", map_eq);
    TEST("event-mask", event_mask);
    TEST("arming", arming);
    TEST("doorbells", doorbells);
    TEST("image-fields", image_fields);
    TEST("image-limits", image_limits);
    return g_test_run();
}
