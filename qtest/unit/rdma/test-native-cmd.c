/*
 * Native personality: HCR, commands, contexts, attributes.  Examples from the
 * interface documents, worked out by hand.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <string.h>

#include "rdma/objects.h"
#include "native-side.h"

/* ---- HCR and queries ---- */

/* An example worked out by hand from IF. */
static void test_hcr(void)
{
    /* QUERY_DEV_LIM, all of it. */
    static const uint8_t limits[NR_DEV_LIM_BYTES] = {
        [0x00] = 1, [0x09] = 13, [0x0b] = 13, [0x0c] = 13, 13, 5, 14, 12,
        [0x13] = 1, [0x15] = 8, [0x18] = 1, [0x1b] = 0x40, [0x1d] = 0x40,
        [0x1f] = 0x40, [0x21] = 0x52, [0x23] = 0xf1, [0x25] = 12,
        [0x29] = 16, [0x2a] = 2, [0x2d] = 16, [0x2e] = 2, [0x32] = 1,
    };
    Side *s = side_new(1, NULL);
    uint8_t *o = s->mem + OUT_MBOX;

    g_assert_cmphex(side_hcr(s, 0, 0, BUS + OUT_MBOX, NRC_QUERY_DEV_LIM, 0), ==,
                    0x00000003);
    g_assert_cmphex(native_hcr_read(s->n, NRH_OUT_PARAM_L), ==, 0);
    g_assert_cmphex(native_hcr_read(s->n, NRH_TOKEN), ==, 0xffff0000);
    g_assert_cmpmem(o, sizeof(limits), limits, sizeof(limits));
    g_assert_cmphex(o[0x40], ==, 0);
    g_assert_cmpuint(side_query(s, NRC_QUERY_ADAPTER, 0), ==, 0);
    g_assert_cmphex(get_be64(o + 0x18), ==, UINT64_C(0x0123456789abcdef));
    g_assert_cmphex(o[0x20], ==, 0xee);         /* 32 bytes, no more */
    g_assert_cmphex(side_hcr(s, 0, 0, 0, 0x055, 0), ==, 0x02000055);
    g_assert_cmphex(side_hcr(s, 0, 0, 0, NRC_CONF_SPECIAL_QP, 0), ==,
                    0x02000023);
    g_assert_cmphex(side_hcr(s, 0, 0x1f, 0, NRC_NOP, 0), ==, 0x00000031);
    /* Without go nothing happens; the register keeps what was written. */
    native_hcr_write(s->n, NRH_CMD, 0x055);
    g_assert_cmphex(native_hcr_read(s->n, NRH_CMD) & 0xffffff, ==, 0x055);
    native_hcr_write(s->n, NRH_CMD, 0x054);
    g_assert_cmphex(native_hcr_read(s->n, NRH_CMD), ==, 0x054);
    /* Port: LID 1 if it has none; active and up, or not. */
    for (int up = 1; up >= 0; up--) {
        RdmaPort p = *rdma_port(native_dev(s->n));

        p.link_up = up;
        p.lid = up ? 0 : 0x1234;
        rdma_port_set(native_dev(s->n), &p);
        side_mbox(s);
        g_assert_cmphex(side_hcr(s, BUS + IN_MBOX, 0, BUS + OUT_MBOX,
                                 NRC_MAD_IFC, 1) >> 24, ==, 0);
        g_assert_cmphex(get_be32(o), ==, up ? 0x00010203 : 0x12340102);
    }
    /* Behind them and between them there are none. */
    native_hcr_write(s->n, NRH_IN_PARAM_H, 0x55);
    native_hcr_write(s->n, 0x1c, 1);
    native_hcr_write(s->n, 0x02, 1);
    g_assert_cmphex(native_hcr_read(s->n, NRH_IN_PARAM_H), ==, 0x55);
    g_assert_cmphex(native_hcr_read(s->n, 0x1c), ==, 0);
    native_reset(s->n);
    for (int i = 0; i <= NRH_CMD; i += 4) {
        g_assert_cmphex(native_hcr_read(s->n, i), ==, 0);
    }
    side_free(s);
}

/* Illegal op_modifiers, mailboxes, indices, order of commands. */
static void test_hcr_errors(void)
{
    static const struct {
        uint16_t op;
        uint32_t mod;
        uint8_t op_mod;
        bool in, out;
    } bad[] = {
        { NRC_QUERY_DEV_LIM, 0, 0, true, false },
        { NRC_MAP_ICM, 1, 0, true, false },
        { NRC_MAP_ICM, 1, 3, true, false },
        { NRC_MAP_ICM, 257, 1, true, false },
        { NRC_MAP_ICM, 1, 1, false, false },
        { NRC_UNMAP_ICM, 1, 0, true, false },
        { NRC_SW2HW_MPT, 1u << NR_LOG_MPTS, 0, true, false },
        { NRC_SW2HW_MPT, 7, 0, false, false },
        { NRC_SW2HW_MPT, 7, 5, false, false },
        { NRC_RESIZE_CQ, CQN, 1, false, false },
        { NRC_HW2SW_MPT, 100, 0, true, false },
        { NRC_SW2HW_EQ, 32, 0, true, false },
        { NRC_HW2SW_EQ, 3, 0, true, false },
        { NRC_MAP_EQ, 3, 0, true, false },
        { NRC_SW2HW_CQ, 1u << NR_LOG_CQS, 0, true, false },
        { NRC_SW2HW_CQ, CQN, 0, true, false },      /* in use */
        { NRC_HW2SW_CQ, 9, 0, true, false },
        { NRC_RESIZE_CQ, 9, 0, true, false },
        { NRC_RST2INIT_QP, 1u << NR_LOG_QPS, 0, true, false },
        { NRC_RST2INIT_QP, 1, 1, true, false },
        { NRC_RST2INIT_QP, 1, 0, false, false },
        { NRC_RST2INIT_QP, 300, 0, true, false },   /* page not mapped */
        { NRC_SW2HW_MPT, 300, 0, true, false },     /* key 0 */
        { NRC_QUERY_QP, QPN, 0, true, false },
        { NRC_MAD_IFC, 0, 0, true, true },
        { NRC_INIT_HCA, 0, 0, true, false },        /* a second time */
        { NRC_RTR2RTS_QP, QPN, 0, true, false },
        { NRC_INIT2INIT_QP, QPN, 0, true, false },
        { NRC_SQD2RTS_QP, QPN, 0, true, false },
    };
    Side *s = side_up(1, 0, NULL);

    for (int i = 0; i < G_N_ELEMENTS(bad); i++) {
        uint64_t rules = s->rules;

        side_mbox(s);
        g_assert_cmphex(side_hcr(s, bad[i].in ? BUS + IN_MBOX : 0, bad[i].mod,
                                 bad[i].out ? BUS + OUT_MBOX : 0, bad[i].op,
                                 bad[i].op_mod), ==,
                        0x03000000 | bad[i].op_mod << 12 | bad[i].op);
        g_assert_cmpuint(s->rules, >, rules);
    }
    /* A mailbox that is not there is not looked for at address 0. */
    s->rules = rdma_counters(native_dev(s->n))->broken_rules = 0;
    g_assert_cmphex(side_hcr(s, 0, 7, 0, NRC_SW2HW_MPT, 0) >> 24, ==, 3);
    g_assert_cmpuint(s->rules, ==, 1);
    g_assert_cmphex(side_hcr(s, 0, 7, 0, NRC_QUERY_ADAPTER, 0) >> 24, ==, 3);
    g_assert_cmpuint(s->rules, ==, 2);
    g_assert_cmpuint(rdma_counters(native_dev(s->n))->broken_rules, ==, 2);
    /* Mailboxes outside memory. */
    g_assert_cmphex(side_hcr(s, 8, 7, 0, NRC_SW2HW_MPT, 0) >> 24, ==, 3);
    g_assert_cmphex(side_hcr(s, 0, 7, 8, NRC_QUERY_ADAPTER, 0) >> 24, ==, 3);
    g_assert_cmphex(side_hcr(s, 0, 0, 0, NRC_CLOSE_HCA, 0) >> 24, ==, 0);
    /* Now everything that needs INIT_HCA is refused. */
    g_assert_cmpuint(side_map(s, 1, QPC_BASE, ICM, 1), ==, 3);
    g_assert_cmpuint(side_cq(s, 7, 2), ==, 3);
    side_free(s);
}

/* ---- ICM ---- */

/* From IF by hand: the three entries, in swapped pairs; contexts land there. */
static void test_map_icm(void)
{
    Side *s = side_new(1, NULL);
    uint8_t *m;

    side_init_hca(s);
    m = side_mbox(s);
    put_be64(m + 0x10, QPC_BASE);
    put_be64(m + 0x18, (BUS + ICM) | 0x10);
    put_be64(m + 0x00, CQC_BASE);
    put_be64(m + 0x08, (BUS + ICM + 0x20000) | 0x2);
    put_be64(m + 0x30, EQC_BASE);
    put_be64(m + 0x38, (BUS + ICM + 0x30000) | 0x1);
    g_assert_cmpuint(side_cmd(s, NRC_MAP_ICM, 3, 1), ==, 0);
    g_assert_cmpuint(side_cq(s, 65, 2), ==, 0);   /* second page */
    g_assert_cmpuint(get_be32(s->mem + ICM + 0x21000 + 0x40 + 0x2c), ==, 65);
    g_assert_cmpuint(side_hcr(s, 0, 65, 0, NRC_HW2SW_CQ, 0), ==, NRC_HW2SW_CQ);
    g_assert_cmpuint(get_be32(s->mem + ICM + 0x21000 + 0x40 + 0x2c), ==, 0);
    g_assert_cmphex(side_hcr(s, CQC_BASE + 0x1000, 1, 0, NRC_UNMAP_ICM, 1) >>
                    24, ==, 0);
    g_assert_cmpuint(side_cq(s, 65, 2), ==, 3);
    g_assert_cmpuint(side_cq(s, 63, 2), ==, 0);
    g_assert_cmpuint(side_map(s, 1, EQC_BASE + 0x1000, ICM, 1), ==, 3);
    g_assert_cmpuint(side_map(s, 2, MPT_BASE - 1, ICM, 1), ==, 3);
    side_free(s);
}

/* From IF by hand: five entries from index 10 land in order. */
static void test_write_mtt(void)
{
    Side *s = side_new(1, NULL);

    side_init_hca(s);
    g_assert_cmpuint(side_mtt(s, 0x10, DATA, 5), ==, 3);     /* not mapped */
    g_assert_cmpuint(side_map(s, 2, MTT_BASE, ICM, 1), ==, 0);
    memset(s->mem + ICM + 0x10 * 8, 0xee, 6 * 8);
    g_assert_cmpuint(side_mtt(s, 0x10, DATA, 5), ==, 0);
    g_assert_cmphex(s->mem[ICM + 0x15 * 8], ==, 0xee);
    g_assert_cmphex(get_be64(s->mem + IN_MBOX + 0x58), ==,
                    BUS + DATA + 0x4000);
    for (int i = 0; i < 5; i++) {
        g_assert_cmphex(get_be64(s->mem + ICM + (0x10 + i) * 8), ==,
                        BUS + DATA + i * 0x1000);
    }
    g_assert_cmpuint(side_mtt(s, 1 << NR_LOG_MTTS, DATA, 1), ==, 3);
    /* A longer list than a mailbox holds is cut, not overrun. */
    g_assert_cmpuint(side_map(s, 2, MTT_BASE, ICM, 8), ==, 0);
    memset(s->mem + ICM, 0xee, 0x1000);
    side_mbox(s);
    g_assert_cmpuint(side_cmd(s, NRC_WRITE_MTT, 100000, 0), ==, 0);
    g_assert_cmphex(get_be64(s->mem + ICM + 507 * 8), ==, 0);
    g_assert_cmphex(get_be64(s->mem + ICM + 508 * 8), ==,
                    UINT64_C(0xeeeeeeeeeeeeeeee));
    side_free(s);
}

/* A list ends where its entries do, not behind: here with guest memory. */
static void test_map_icm_end(void)
{
    Side *s = side_new(1, NULL);
    uint8_t *m = s->mem + MEM_SIZE - 2 * NR_MAP_ENTRY;

    side_init_hca(s);
    put_be64(m + NR_MAP_ENTRY + NR_MAP_VIRT, CQC_BASE);
    put_be64(m + NR_MAP_ENTRY + NR_MAP_PAGE, (BUS + ICM) | 1);
    put_be64(m + NR_MAP_VIRT, CQC_BASE + 0x1000);
    put_be64(m + NR_MAP_PAGE, (BUS + ICM + 0x1000) | 1);
    g_assert_cmphex(side_hcr(s, BUS + MEM_SIZE - 2 * NR_MAP_ENTRY, 2, 0,
                             NRC_MAP_ICM, 1) >> 24, ==, 0);
    g_assert_cmpuint(side_cq(s, 65, 2), ==, 0);
    g_assert_cmphex(side_hcr(s, BUS + MEM_SIZE - 2 * NR_MAP_ENTRY, 3, 0,
                             NRC_MAP_ICM, 1) >> 24, ==, 3);
    side_free(s);
}

/* Pages of a region are entries of the table, from its first to its last. */
static void test_mtt_ends(void)
{
    const uint64_t last = (UINT64_C(1) << NR_LOG_MTTS) - 1;
    Side *s = side_up(1, 0, NULL);
    uint8_t b[4];

    g_assert_cmpuint(side_mtt(s, 0, DATA2, 1), ==, 0);
    g_assert_cmpuint(side_mpt(s, 9, 0, 0, 0x1000, 0), ==, 0);
    memcpy(s->mem + DATA2, "zero", 4);
    g_assert_cmpuint(rdma_mr_read(native_dev(s->n), 9, PD, 0, b, 4,
                                  RDMA_ACC_LOCAL_READ), ==, 0);
    g_assert_cmpmem(b, 4, "zero", 4);
    g_assert_cmpuint(side_map(s, 2, MTT_BASE + (last * 8 & ~UINT64_C(0xfff)),
                              ICM + 0x1a000, 1), ==, 0);
    g_assert_cmpuint(side_mtt(s, last, DATA2, 1), ==, 0);
    g_assert_cmpuint(side_mpt(s, 10, 0, 0, 0x2000, last), ==, 0);
    g_assert_cmpuint(rdma_mr_read(native_dev(s->n), 10, PD, 0, b, 4,
                                  RDMA_ACC_LOCAL_READ), ==, 0);
    g_assert_cmpuint(rdma_mr_read(native_dev(s->n), 10, PD, 0x1000, b, 4,
                                  RDMA_ACC_LOCAL_READ), !=, 0);
    side_free(s);
}

/* ---- QP commands ---- */

/* PSNs of old images do not come back (G13). */
static void test_qp_psn(void)
{
    Side *a = side_up(1, 0, NULL), *b = side_up(2, 0, NULL);
    uint8_t *o = a->mem + OUT_MBOX;
    Wqe w = wqe_begin(0);

    wqe_raddr(&w, VA);
    wqe_data(&w, VA, 600);                     /* three packets */
    side_post(a, &w, RDMA_OP_WRITE);
    side_run(a, b);
    side_expect_send(a, RDMA_OP_WRITE, 0, 600);
    side_qp_mbox(a, 1, 0);
    put_be32(a->mem + IN_MBOX, 0xffffffff);
    g_assert_cmpuint(side_cmd(a, NRC_RTS2RTS_QP, QPN, 0), ==, 0);
    g_assert_cmpuint(side_query(a, NRC_QUERY_QP, QPN), ==, 0);
    g_assert_cmphex(get_be32(o), ==, 0);        /* the mask is no context */
    g_assert_cmphex(get_be32(o + 0x6c), ==, 0);         /* fffffd + 3 */
    g_assert_cmphex(get_be32(o + 0x7c), ==, 0);
    g_assert_cmphex(o[0x08], ==, 0x30);
    g_assert_cmpuint(get_be32(o + 0x78), ==, QUEUE_LEN);
    g_assert_cmpuint(side_query(b, NRC_QUERY_QP, QPN), ==, 0);
    g_assert_cmphex(get_be32(b->mem + OUT_MBOX + 0x84), ==, 12u << 24);
    /* SQD holds new work, SQD2RTS lets it go. */
    g_assert_cmpuint(side_hcr(a, 0, QPN, 0, NRC_RTS2SQD_QP, 3) >> 24, ==, 0);
    side_post(a, &w, RDMA_OP_WRITE);
    side_run(a, b);
    g_assert_null(side_cqe(a));
    g_assert_cmpuint(side_query(a, NRC_QUERY_QP, QPN), ==, 0);
    g_assert_cmphex(o[0x08], ==, 0x50);
    g_assert_cmpuint(side_hcr(a, 0, QPN, 0, NRC_SQD2RTS_QP, 3) >> 24, ==, 0);
    side_run(a, b);
    side_expect_send(a, RDMA_OP_WRITE, 128, 600);
    /* RESET forgets queued work and offsets. */
    side_post(a, &w, RDMA_OP_WRITE);
    g_assert_cmpuint(side_hcr(a, 0, QPN, 0, NRC_2RST_QP, 3) >> 24, ==, 0);
    side_run(a, b);
    g_assert_null(side_cqe(a));
    g_assert_cmpuint(side_query(a, NRC_QUERY_QP, QPN), ==, 0);
    g_assert_cmphex(o[0x08], ==, 0x00);
    side_free(a);
    side_free(b);
}

static void lax(NativeConfig *cfg)
{
    cfg->strict_cmd = cfg->strict_qp = false;
}

/* As the hardware: nothing is checked, everything is masked. */
static void test_lax(void)
{
    Side *s = side_up(1, 0, lax);

    side_qp_mbox(s, 1, 0);
    g_assert_cmpuint(side_cmd(s, NRC_RTR2RTS_QP, QPN, 0), ==, 0);
    side_qp_mbox(s, 1, 0);
    g_assert_cmpuint(side_cmd(s, NRC_RST2INIT_QP, QPN | 1 << 20, 0), ==, 0);
    g_assert_cmpuint(side_hcr(s, 0, 9999999, 0, NRC_HW2SW_CQ, 0) >> 24, ==, 0);
    g_assert_cmpuint(side_map(s, 1, EQC_BASE + 0x100000, ICM, 1), ==, 0);
    g_assert_cmpuint(side_mpt(s, 1u << 20 | MR_DATA, 0, 0, 0, 0), ==, 0);
    g_assert_cmpuint(side_map(s, 2, MTT_BASE, ICM, 1), ==, 0);
    g_assert_cmpuint(side_mtt(s, (1u << NR_LOG_MTTS) + 5, DATA, 1), ==, 0);
    g_assert_cmphex(get_be64(s->mem + ICM + 5 * 8), ==, BUS + DATA);
    /* A list longer than any mailbox ends with the mailbox. */
    side_mbox(s);
    g_assert_cmpuint(side_cmd(s, NRC_MAP_ICM, UINT32_MAX, 1), ==, 0);
    /* Begun anew, it has nothing of what was. */
    g_assert_nonnull(rdma_qp_get(native_dev(s->n), QPN));
    side_init_hca(s);
    g_assert_null(rdma_qp_get(native_dev(s->n), QPN));
    g_assert_null(rdma_cq_get(native_dev(s->n), CQN));
    /* Neither are pages of the tables, before MAP_ICM: a context goes nowhere. */
    memset(s->mem + ICM, 0xa5, SQ - ICM);
    g_assert_cmpuint(side_cq(s, CQN, 2), ==, 0);
    for (uint32_t i = ICM; i < SQ; i++) {
        g_assert_cmphex(s->mem[i], ==, 0xa5);
    }
    side_free(s);
}

/* Of tables that begin at the same address the last one is meant. */
static void test_same_base(void)
{
    Side *s = side_new(1, NULL);
    uint8_t *m = side_mbox(s);

    put_be64(m + 0x08, QPC_BASE | NR_LOG_QPS);
    put_be64(m + 0x10, QPC_BASE | NR_LOG_CQS);
    put_be64(m + 0x18, EQC_BASE | NR_LOG_EQS);
    put_be64(m + 0x30, MPT_BASE | NR_LOG_MPTS);
    put_be64(m + 0x38, MTT_BASE);
    g_assert_cmpuint(side_cmd(s, NRC_INIT_HCA, 0, 0), ==, 0);
    g_assert_cmpuint(side_map(s, 1, QPC_BASE, ICM, 1), ==, 0);
    g_assert_cmpuint(side_cq(s, CQN, 2), ==, 0);
    side_qp_mbox(s, 1, 0);
    g_assert_cmpuint(side_cmd(s, NRC_RST2INIT_QP, QPN, 0), ==, 3);
    side_free(s);
}

/* Transitions between the states that keep a QP, in the order of a life. */
enum { T_INIT2INIT, T_INIT2RTR, T_RTR2RTS, T_RTS2RTS, T_RTS2SQD, T_SQD2SQD,
       T_SQD2RTS, TRANSITIONS };
static const uint16_t transition[TRANSITIONS] = {
    NRC_INIT2INIT_QP, NRC_INIT2RTR_QP, NRC_RTR2RTS_QP, NRC_RTS2RTS_QP,
    NRC_RTS2SQD_QP, NRC_SQD2SQD_QP, NRC_SQD2RTS_QP,
};

/* A side whose QP is in the state that transition @t leaves. */
static Side *side_before(int t, void (*tweak)(NativeConfig *cfg))
{
    Side *s = side_up(1, 0, tweak);

    g_assert_cmpuint(side_hcr(s, 0, QPN, 0, NRC_2RST_QP, 3) >> 24, ==, 0);
    side_qp_mbox(s, 1, 0);
    g_assert_cmpuint(side_cmd(s, NRC_RST2INIT_QP, QPN, 0), ==, 0);
    for (int i = 0; i < t; i++) {
        side_qp_mbox(s, 1, 0);
        g_assert_cmpuint(side_cmd(s, transition[i], QPN, 0), ==, 0);
    }
    return s;
}

/* Each field of the context, changed in each transition: taken, kept, or the
 * command refused (A1-2; what queues and paths are made of is for good). */
static void test_qp_attributes(void)
{
    static const struct {
        uint8_t off;
        uint32_t change;        /* of the dword there */
        uint8_t taken;          /* in these transitions */
        uint8_t refused;
    } field[] = {
#define T(t) (1 << T_##t)
#define OLD  (T(RTR2RTS) | T(RTS2RTS) | T(SQD2SQD) | T(SQD2RTS))
#define ALL  (OLD | T(INIT2INIT) | T(INIT2RTR))
#define PATH (T(INIT2RTR) | T(SQD2SQD))
        { 0x08, 0x00010000, 0, ALL },                   /* service */
        { 0x0c, 0x60000000, T(INIT2RTR), OLD },         /* MTU */
        { 0x0c, 0x00010000, 0, ALL }, { 0x0c, 0x00000100, 0, ALL },
        { 0x10, 0x00000001, 0, ALL },                   /* UAR page */
        { 0x18, 0x00000700, T(INIT2RTR), OLD },         /* peer's QPN */
        { 0x1c, 0x00000001, T(INIT2INIT) | PATH, 0 },   /* P_Key index */
        { 0x20, 0x40000000, T(RTR2RTS) | T(SQD2SQD), 0 },
        { 0x24, 0x50000000, T(RTR2RTS) | T(SQD2SQD), 0 },
        { 0x24, 0x00000040, PATH, 0 },                  /* hop limit */
        { 0x28, 0x10000000, PATH, 0 }, { 0x2c, 0x12345678, PATH, 0 },
        { 0x38, 0x12345678, PATH, 0 }, { 0x3c, 0x00010001, PATH, 0 },
        { 0x40, 0x00000001, PATH, 0 }, { 0x44, 0x00000001, PATH, 0 },
        { 0x48, 0x00000100, PATH, 0 }, { 0x4c, 0x00000100, PATH, 0 },
        { 0x5c, 0x00000004, 0, ALL },                   /* PD */
        { 0x6c, 0x00000100, T(RTR2RTS), 0 },            /* send PSN */
        { 0x70, 0x00000001, 0, ALL }, { 0x74, 0x00000001, 0, ALL },
        { 0x78, 0x00001000, 0, ALL }, { 0x8c, 0x00000001, 0, ALL },
        { 0x90, 0x00000001, 0, ALL }, { 0x94, 0x00001000, 0, ALL },
        { 0x84, 0x01000000, ALL & ~T(INIT2INIT), 0 },   /* RNR timer */
        { 0x84, 0x00800101, T(INIT2RTR), 0 },           /* receive PSN */
        { 0x98, 0x00000001, ALL, 0 },                   /* Q_Key */
        { 0x80, 0x00000001, ALL, 0 },                   /* nobody's */
#undef PATH
#undef ALL
#undef OLD
#undef T
    };

    for (int t = 0; t < TRANSITIONS; t++) {
        for (int i = 0; i < G_N_ELEMENTS(field); i++) {
            for (int lax_too = 0; lax_too < 2; lax_too++) {
                Side *s = side_before(t, lax_too ? lax : NULL);
                bool refused = field[i].refused >> t & 1;
                bool taken = field[i].taken >> t & 1;
                uint64_t rules = s->rules;
                uint32_t was;
                uint8_t *m;

                g_assert_cmpuint(side_query(s, NRC_QUERY_QP, QPN), ==, 0);
                was = get_be32(s->mem + OUT_MBOX + field[i].off);
                m = side_qp_mbox(s, 1, 0) + field[i].off;
                put_be32(m, get_be32(m) ^ field[i].change);
                g_assert_cmpuint(side_cmd(s, transition[t], QPN, 0), ==,
                                 refused && !lax_too ? 3 : 0);
                g_assert_cmpuint(s->rules, ==, rules + refused);
                g_assert_cmpuint(side_query(s, NRC_QUERY_QP, QPN), ==, 0);
                g_assert_cmphex((get_be32(s->mem + OUT_MBOX + field[i].off) ^
                                 was) & field[i].change, ==,
                                taken ? field[i].change : 0);
                side_free(s);
            }
        }
    }
}

/* What a request in flight is of stays: these ended in an assertion. */
static void test_qp_in_flight(void)
{
    for (int lax_too = 0; lax_too < 2; lax_too++) {
        for (int t = T_RTS2RTS; t < TRANSITIONS; t++) {
            Side *s = side_before(t, lax_too ? lax : NULL);
            Wqe w = wqe_begin(0);

            wqe_raddr(&w, VA);
            wqe_data(&w, VA, 600);
            if (t != T_RTS2RTS && t != T_RTS2SQD) {
                side_qp_mbox(s, 1, 0);
                g_assert_cmpuint(side_cmd(s, NRC_SQD2RTS_QP, QPN, 0), ==, 0);
            }
            side_post(s, &w, RDMA_OP_WRITE);
            rdma_poll(native_dev(s->n), s->now);
            if (t != T_RTS2RTS && t != T_RTS2SQD) {
                side_qp_mbox(s, 1, 0);
                g_assert_cmpuint(side_cmd(s, NRC_RTS2SQD_QP, QPN, 0), ==, 0);
            }
            side_qp_mbox(s, 1, RDMA_UC);
            g_assert_cmpuint(side_cmd(s, transition[t], QPN, 0), ==,
                             lax_too || t == T_RTS2SQD ? 0 : 3);
            side_post(s, &w, RDMA_OP_WRITE);
            rdma_poll(native_dev(s->n), s->now);
            g_assert_null(side_cqe(s));
            /* Made anew while something is in flight: only if not strict. */
            side_qp_mbox(s, 1, RDMA_UC);
            g_assert_cmpuint(side_cmd(s, NRC_RST2INIT_QP, QPN, 0), ==,
                             lax_too ? 0 : 3);
            rdma_poll(native_dev(s->n), s->now);
            g_assert_cmphex(side_hcr(s, 0, QPN, 0, NRC_2RST_QP, 3) >> 24, ==,
                            0);
            side_free(s);
        }
    }
}

/* A peer's number may have all 24 bits. */
static void test_far_qpn(void)
{
    Side *s = side_before(T_INIT2RTR, NULL);
    Wqe w = wqe_begin(0);
    gsize len;

    wqe_raddr(&w, VA);
    wqe_data(&w, VA, 8);
    put_be32(side_qp_mbox(s, 1, 0) + 0x18, 0xabcdef);
    g_assert_cmpuint(side_cmd(s, NRC_INIT2RTR_QP, QPN, 0), ==, 0);
    put_be32(side_qp_mbox(s, 1, 0) + 0x18, 0xabcdef);
    g_assert_cmpuint(side_cmd(s, NRC_RTR2RTS_QP, QPN, 0), ==, 0);
    side_post(s, &w, RDMA_OP_WRITE);
    rdma_poll(native_dev(s->n), s->now);
    g_assert_cmpuint(s->wire->len, >, 0);
    g_assert_cmphex(get_be32((const uint8_t *)g_bytes_get_data(
                        g_ptr_array_index(s->wire, s->wire->len - 1), &len) +
                        42 + 4) & 0xffffff, ==, 0xabcdef);
    side_free(s);
}

/* What the transport is told of a context, field by field. */
static void test_qp_to_transport(void)
{
    Side *s = side_before(T_INIT2INIT, NULL);
    const RdmaQpAttr *a;

    g_assert_cmpuint(side_cq(s, CQN + 1, 5), ==, 0);
    g_assert_cmpuint(side_hcr(s, 0, QPN, 0, NRC_2RST_QP, 3) >> 24, ==, 0);
    for (int i = 0; i < 3; i++) {
        static const uint16_t op[] = { NRC_RST2INIT_QP, NRC_INIT2RTR_QP,
                                       NRC_RTR2RTS_QP };
        uint8_t *m = side_qp_mbox(s, 1, 0);

        put_be32(m + NR_QPC_RECV_CQN, CQN + 1);
        put_be32(m + NR_QPC_PKEY, 1 << 24 | 0x55);
        m[NR_QPC_RNR_RETRY] = 5 << 5;
        m[NR_QPC_ACKTO] = 17 << 3;
        m[NR_QPC_HOP] = 33;
        put_be32(m + NR_QPC_SL, 9u << 28 | 0xa5 << 20 | 0x12345);
        put_be32(m + NR_QPC_QKEY, 0x80001234);
        g_assert_cmpuint(side_cmd(s, op[i], QPN, 0), ==, 0);
    }
    a = rdma_qp_attr(rdma_qp_get(native_dev(s->n), QPN));
    g_assert_cmpint(a->state, ==, RDMA_QPS_RTS);
    g_assert_cmpint(a->service, ==, RDMA_RC);
    g_assert_cmpuint(a->mtu_code, ==, 1);
    g_assert_cmphex(a->dest_qpn, ==, QPN);
    g_assert_cmphex(a->pkey_index, ==, 0x55);
    g_assert_cmpuint(a->rnr_retry, ==, 5);
    g_assert_cmpuint(a->timeout, ==, 17);
    g_assert_cmpuint(a->retry_cnt, ==, 7);
    g_assert_cmpuint(a->min_rnr_timer, ==, 12);
    g_assert_cmpuint(a->av.hop_limit, ==, 33);
    g_assert_cmpuint(a->av.sl, ==, 9);
    g_assert_cmphex(a->av.tclass, ==, 0xa5);
    g_assert_cmphex(a->av.sip, ==, 0x0a000001);
    g_assert_cmphex(a->av.dip, ==, 0x0a000002);
    g_assert_cmpmem(a->av.smac, 6, "\x02\0\0\0\0\1", 6);
    g_assert_cmpmem(a->av.dmac, 6, "\x02\0\0\0\0\2", 6);
    g_assert_cmphex(a->pd, ==, PD);
    g_assert_cmpuint(a->send_cqn, ==, CQN);
    g_assert_cmpuint(a->recv_cqn, ==, CQN + 1);
    g_assert_cmphex(a->sq_psn, ==, 0xfffffd);
    g_assert_cmphex(a->rq_psn, ==, 0xfffffe);
    g_assert_cmphex(a->qkey, ==, 0x80001234);
    g_assert_true(a->sig_all);
    g_assert_cmpuint(a->max_rd_atomic, ==, 128);
    g_assert_cmpuint(a->max_dest_rd_atomic, ==, 128);
    g_assert_cmphex(a->access, ==, RDMA_ACC_REMOTE_READ |
                    RDMA_ACC_REMOTE_WRITE | RDMA_ACC_REMOTE_ATOMIC);
    side_free(s);
}

/* Contexts lie in ICM as the mailbox had them, to their last byte. */
static void test_contexts(void)
{
    Side *s = side_up(1, 0, NULL);
    uint8_t *m = side_mbox(s), *at = s->mem + ICM + 0x10000 + 7 * NR_CQC_BYTES;

    memset(m, 0x11, NR_CQC_BYTES);
    m[NR_CTX_LOG] = 3;
    g_assert_cmpuint(side_cmd(s, NRC_SW2HW_CQ, 7, 0), ==, 0);
    g_assert_cmpmem(at, 0x38, s->mem + IN_MBOX, 0x38);
    g_assert_cmphex(at[0x38], ==, 0);
    m = side_mbox(s);
    memset(m, 0x22, NR_EQC_BYTES);
    m[NR_CTX_LOG] = 3;
    at = s->mem + ICM + 0x11000 + 6 * NR_EQC_BYTES;
    g_assert_cmpuint(side_cmd(s, NRC_SW2HW_EQ, 6, 0), ==, 0);
    g_assert_cmpmem(at, 0x30, s->mem + IN_MBOX, 0x30);
    g_assert_cmphex(at[0x30], ==, 0);
    side_free(s);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
#define TEST(path, fn) g_test_add_func("/native/" path, test_##fn)
    TEST("hcr", hcr);
    TEST("hcr/errors", hcr_errors);
    TEST("map-icm", map_icm);
    TEST("map-icm/end", map_icm_end);
    TEST("write-mtt", write_mtt);
    TEST("mtt/ends", mtt_ends);
    TEST("qp/psn", qp_psn);
    TEST("lax", lax);
    TEST("same-base", same_base);
    TEST("qp/attributes", qp_attributes);
    TEST("qp/in-flight", qp_in_flight);
    TEST("qp/far-qpn", far_qpn);
    TEST("qp/to-transport", qp_to_transport);
    TEST("contexts", contexts);
    return g_test_run();
}
