/*
 * ncic-mthca: contexts: what each command takes of a mailbox and tells in one,
 * in which states it works, how far numbers go.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <string.h>

#include "mthca-end.h"
#include "../../../hw/rdma/mthca/internal.h"

#define GONE 0xff               /* no such QP afterwards */

static RdmaDev *dev_of(MEnd *e)
{
    return mthca_rdma(e->g->m);
}

/* ---- mailboxes ---- */

/* Answers fill what they are long, and no byte more. */
static void test_outboxes(void)
{
    static const struct { uint16_t op; uint32_t mod; unsigned len; } t[] = {
        { MTHCA_CMD_QUERY_FW, 0, 0x100 }, { MTHCA_CMD_QUERY_DEV_LIM, 0, 0x100 },
        { MTHCA_CMD_QUERY_ADAPTER, 0, 0x100 },
        { MTHCA_CMD_QUERY_HCA, 0, 0x200 },
        { MTHCA_CMD_QUERY_MPT, 0x10, 0x40 }, { MTHCA_CMD_QUERY_EQ, 1, 0x40 },
        { MTHCA_CMD_QUERY_CQ, ME_CQN, 0x40 },
        { MTHCA_CMD_QUERY_QP, ME_QPN, 0x108 },
        { MTHCA_CMD_QUERY_SRQ, ME_SRQN, 0x40 },
    };
    MEnd e = mend_new(1);

    mend_srq_up(&e);
    mend_qp_up(&e, MTHCA_ST_RC, 2, 1, 1, false);
    for (unsigned i = 0; i < G_N_ELEMENTS(t); i++) {
        unsigned n = 0x1000;

        memset(mout_box(e.g), 0xa7, 0x1000);
        mok(e.g, t[i].op, t[i].mod, 0);
        while (n && mout_box(e.g)[n - 1] == 0xa7) {
            n--;
        }
        g_assert_cmphex(n, ==, t[i].len);
        /* At the end of a page it goes no further. */
        memset(mout_box(e.g), 0xa7, 0x2000);
        g_assert_cmphex(mcmd(e.g, t[i].op, t[i].mod, 0, 0,
                             G_BUS + G_OUT + 0xff0, NULL), ==, 0);
        g_assert_cmphex(mout_box(e.g)[0x1000], ==, 0xa7);
        g_assert_cmphex(mcmd(e.g, t[i].op, t[i].mod, 0, 0,
                             G_BUS + G_OUT + 0xff1, NULL), ==, 0);
        g_assert_cmphex(mout_box(e.g)[0x1000], ==, 0xa7);
        g_assert_cmphex(mout_box(e.g)[0xfef], ==, 0xa7);
    }
    mend_free(&e);
}

/* Of an inbox at the end of a page the rest is zero, not what an earlier
 * command left. */
static void test_inbox_end(void)
{
    MEnd e = mend_new(1);
    uint8_t *in = e.g->mem + G_IN + 0xfe0;

    memset(e.g->mem + G_IN, 0xff, 0x2000);
    mcmd_box(e.g, MTHCA_CMD_WRITE_MGM, 1, 0);
    mtb_region(memset(in, 0, 0x20), 0x20, 0, 0, 0x1000);
    g_assert_cmphex(mcmd(e.g, MTHCA_CMD_SW2HW_MPT, 0x20, 0,
                         G_BUS + G_IN + 0xfe0, 0, NULL), ==, 0);
    mok(e.g, MTHCA_CMD_QUERY_MPT, 0x20, 0);
    for (unsigned i = 0x20; i < 0x40; i++) {
        g_assert_cmphex(mout_box(e.g)[i], ==, 0);
    }
    g_assert_cmphex(get_be64(mout_box(e.g) + 0x18), ==, 0x1000);
    mend_free(&e);
}

static void test_query_fw(void)
{
    MGuest *g = mguest_new(1, false);
    uint8_t want[0x100] = { 0 };

    put_be16(want, 1);
    put_be16(want + 2, 1);
    put_be16(want + 4, 940);
    put_be16(want + 6, 2);
    put_be16(want + 0xa, 1);
    want[0x0f] = 4;
    put_be64(want + 0x20, 0xfe000000 + MTHCA_CLR_INT);
    put_be64(want + 0x30, 0xfe000000 + MTHCA_CATAS);
    put_be32(want + 0x38, MTHCA_CATAS_DWORDS);
    put_be64(want + 0x40, 0xfe000000 + MTHCA_EQ_ARM);
    put_be64(want + 0x48, 0xfe000000 + MTHCA_EQ_SET_CI);
    mok(g, MTHCA_CMD_QUERY_FW, 0, 0);
    g_assert_cmpmem(mout_box(g), 0x100, want, 0x100);
    mguest_free(g);
}

/* The greatest numbers that QUERY_DEV_LIM allows, one after the other, and the
 * least size of a group. */
static void test_init_hca_limits(void)
{
    static const struct { uint16_t off; uint8_t val; } good[] = {
        { 0x37, 16 }, { 0x4f, 16 }, { 0x57, 16 }, { 0x87, 6 }, { 0xfb, 17 },
        { 0xdb, 13 }, { 0xd3, 12 }, { 0xd3, 6 }, { 0x12a, 11 }, { 0x129, 8 },
    };

    for (unsigned i = 0; i < G_N_ELEMENTS(good); i++) {
        MGuest *g = mguest_new(1, false);
        uint8_t *in;

        g_assert_cmphex(mcmd(g, MTHCA_CMD_RUN_FW, 0, 0, 0, 0, NULL), ==, 0);
        in = min_box(g);
        in[0xd3] = 5;
        g_assert_cmphex(mcmd_box(g, MTHCA_CMD_INIT_HCA, 0, 0), ==,
                        MTHCA_ST_EXCEED_LIM);
        in[0xd3] = 8;
        in[good[i].off] = good[i].val;
        mok(g, MTHCA_CMD_INIT_HCA, 0, 0);
        mok(g, MTHCA_CMD_QUERY_HCA, 0, 0);
        g_assert_cmphex(mout_box(g)[good[i].off], ==, good[i].val);
        mguest_free(g);
    }
}

/* MAP_ICM looks at each entry before it maps one; a page full of them. */
static void test_map_icm(void)
{
    MEnd e = mend_new(1);
    uint8_t *in;

    for (unsigned log = 28; log <= 29; log++) {
        in = min_box(e.g);
        mtb_map_icm(in, 0, 0x30000000, G_BUS);
        mtb_map_icm(in, 1, 0x30001000, G_BUS | log);
        g_assert_cmphex(mcmd_box(e.g, MTHCA_CMD_MAP_ICM_AUX, 2, 0), ==,
                        log > 28 ? MTHCA_ST_BAD_PARAM : 0);
        g_assert_cmphex(mcmd_box(e.g, MTHCA_CMD_MAP_ICM_AUX, 1, 0), ==, 0);
    }
    in = min_box(e.g);
    mtb_map_icm(in, 1, MTHCA_MAX_ICM, G_BUS);
    g_assert_cmphex(mcmd_box(e.g, MTHCA_CMD_MAP_ICM_AUX, 2, 0), ==,
                    MTHCA_ST_BAD_PARAM);
    mtb_map_icm(in, 1, MTHCA_MAX_ICM - 0x1000, G_BUS);
    g_assert_cmphex(mcmd_box(e.g, MTHCA_CMD_MAP_ICM_AUX, 2, 0), ==, 0);
    g_assert_cmphex(mcmd_box(e.g, MTHCA_CMD_MAP_ICM_AUX, 256, 0), ==, 0);
    g_assert_cmphex(mcmd_box(e.g, MTHCA_CMD_MAP_ICM_AUX, 257, 0), ==,
                    MTHCA_ST_BAD_SIZE);
    mend_free(&e);
}

/* As many extents as there may be, and what would be one more. */
static void test_icm_full(void)
{
    MGuest *g = mguest_new(1, false);
    uint64_t virt = 0x30000000;
    uint32_t left = (1u << 17) - 1;
    uint8_t *in;

    mguest_init_hca(g);
    in = min_box(g);
    for (uint32_t i = 0; i < 5; i++) {
        mtb_map_icm(in, i, virt + i * 0x1000, G_BUS + i * 0x1000);
    }
    mok(g, MTHCA_CMD_MAP_ICM, 5, 0);
    for (left--; left; ) {
        uint32_t n = MIN(left, 256);

        for (uint32_t i = 0; i < n; i++) {
            virt += 0x10000;
            mtb_map_icm(in, i, virt, G_BUS);
        }
        mok(g, MTHCA_CMD_MAP_ICM, n, 0);
        left -= n;
    }
    mtb_map_icm(in, 0, virt + 0x10000, G_BUS);
    g_assert_cmphex(mcmd_box(g, MTHCA_CMD_MAP_ICM, 1, 0), ==,
                    MTHCA_ST_EXCEED_LIM);
    g_assert_cmphex(mcmd(g, MTHCA_CMD_UNMAP_ICM, 1, 0, 0x30001000, 0, NULL), ==,
                    0);
    g_assert_cmphex(mcmd(g, MTHCA_CMD_UNMAP_ICM, 1, 0, 0x30003000, 0, NULL), ==,
                    MTHCA_ST_EXCEED_LIM);
    mguest_free(g);
}

/* ---- regions ---- */

/* Keys: the entry's number below, any generation above it. */
static void test_region_keys(void)
{
    MEnd e = mend_new(1);

    for (unsigned bit = 0; bit < 32; bit++) {
        uint32_t key = 0x20 ^ 1u << bit;
        uint8_t st;

        mtb_region(min_box(e.g), key, 0, 0, ~0ull);
        st = mcmd_box(e.g, MTHCA_CMD_SW2HW_MPT, 0x20, 0);
        g_assert_cmphex(st, ==, bit < MTB_LOG_MPTS ? MTHCA_ST_BAD_PARAM : 0);
        if (!st) {
            uint32_t rotated = key << 8 | key >> 24;
            uint8_t b;

            g_assert_cmpint(rdma_mr_read(dev_of(&e), rotated, 0, G_BUS, &b, 1,
                                         RDMA_ACC_LOCAL_READ), ==, 0);
            g_assert_cmpint(rdma_mr_read(dev_of(&e), 0x2000, 0, G_BUS, &b, 1,
                                         RDMA_ACC_LOCAL_READ), !=, 0);
            mok(e.g, MTHCA_CMD_HW2SW_MPT, 0x20, 0);
            g_assert_cmphex(mout_box(e.g)[0] >> 4, ==, 0xf);
            g_assert_cmphex(get_be32(mout_box(e.g) + 8), ==, key);
            g_assert_cmpint(rdma_mr_read(dev_of(&e), rotated, 0, G_BUS, &b, 1,
                                         RDMA_ACC_LOCAL_READ), !=, 0);
        }
    }
    /* Pages up to 2^31. */
    for (unsigned log = 18; log <= 20; log++) {
        uint8_t *in = min_box(e.g);

        mtb_region(in, 0x20, 0, 0, ~0ull);
        in[7] = log;
        g_assert_cmphex(mcmd_box(e.g, MTHCA_CMD_SW2HW_MPT, 0x20, 0), ==,
                        log > 19 ? MTHCA_ST_BAD_PARAM : 0);
        mcmd_box(e.g, MTHCA_CMD_HW2SW_MPT, 0x20, 0);
    }
    mend_free(&e);
}

/* A table of fewer entries: the bits above its numbers are the generation. */
static void test_region_small(void)
{
    MGuest *g = mguest_new(1, false);
    uint8_t b;

    g->log_mpts = 10;
    mguest_init_hca(g);
    mtb_region(min_box(g), 0x420, 0, 0, ~0ull);
    mok(g, MTHCA_CMD_SW2HW_MPT, 0x20, 0);
    g_assert_cmpint(rdma_mr_read(mthca_rdma(g->m), 0x42000, 0, G_BUS, &b, 1,
                                 RDMA_ACC_LOCAL_READ), ==, 0);
    g_assert_cmpint(rdma_mr_read(mthca_rdma(g->m), 0x2000, 0, G_BUS, &b, 1,
                                 RDMA_ACC_LOCAL_READ), !=, 0);
    mguest_free(g);
}

/* Each right is its own flag. */
static void test_region_rights(void)
{
    static const struct { uint32_t flag, access; } t[] = {
        { MTHCA_MPT_LOCAL_READ, RDMA_ACC_LOCAL_READ },
        { MTHCA_MPT_LOCAL_WRITE, RDMA_ACC_LOCAL_WRITE },
        { MTHCA_MPT_REMOTE_READ, RDMA_ACC_REMOTE_READ },
        { MTHCA_MPT_REMOTE_WRITE, RDMA_ACC_REMOTE_WRITE },
        { MTHCA_MPT_ATOMIC, RDMA_ACC_REMOTE_ATOMIC },
    };
    MEnd e = mend_new(1);

    for (unsigned i = 0; i < G_N_ELEMENTS(t); i++) {
        uint8_t *in = min_box(e.g), b[8];

        mtb_region(in, 0x20, 7, 0x5000, 0x100);
        put_be32(in, 0xf0000000 | MTHCA_MPT_PHYSICAL | MTHCA_MPT_REGION |
                 t[i].flag);
        put_be64(in + 0x10, G_BUS);
        mok(e.g, MTHCA_CMD_SW2HW_MPT, 0x20, 0);
        for (unsigned k = 0; k < G_N_ELEMENTS(t); k++) {
            g_assert_cmpint(!rdma_mr_read(dev_of(&e), 0x2000, 7, G_BUS, b, 8,
                                          t[k].access), ==, i == k);
        }
        g_assert_cmpint(rdma_mr_read(dev_of(&e), 0x2000, 8, G_BUS, b, 8,
                                     t[i].access), !=, 0);
        g_assert_cmpint(rdma_mr_read(dev_of(&e), 0x2000, 7, G_BUS + 0xf9, b,
                                     8, t[i].access), !=, 0);
        mok(e.g, MTHCA_CMD_QUERY_MPT, 0x20, 0);
        g_assert_cmphex(get_be32(mout_box(e.g)), ==, get_be32(in) & ~(0xfu << 28));
        mok(e.g, MTHCA_CMD_HW2SW_MPT, 0x20, 0);
        g_assert_cmphex(get_be32(mout_box(e.g)), ==, get_be32(in));
    }
    /* A window is none. */
    put_be32(min_box(e.g), 0xf0000000);
    g_assert_cmphex(mcmd_box(e.g, MTHCA_CMD_SW2HW_MPT, 0x20, 0), ==,
                    MTHCA_ST_BAD_PARAM);
    mend_free(&e);
}

/* A region of scattered pages: one access goes over several of its entries, each of
 * which counts, and none behind the last, where nothing is mapped. */
static void test_region_pages(void)
{
    static const uint32_t at[] = { ME_DATA + 0x3000, ME_DATA, ME_DATA + 0x2000 };
    enum { MTT = 0x48000, FIRST = 0x1000 - 3 * 8 };
    MEnd e = mend_new(1);
    uint8_t *in = min_box(e.g), got[0x1800];

    mmap_icm(e.g, M_MTT, MTT, 1);
    mtb_region(in, 0x20, 0, 0x7000, 0x3000);
    put_be32(in, 0xf0000000 | MTHCA_MPT_REGION | MTHCA_MPT_LOCAL_READ);
    put_be64(in + MTHCA_MPE_MTT, M_MTT + FIRST);
    mok(e.g, MTHCA_CMD_SW2HW_MPT, 0x20, 0);
    for (unsigned i = 0; i < G_N_ELEMENTS(at); i++) {
        put_be64(e.g->mem + MTT + FIRST + 8 * i, G_BUS + at[i] + 1);
        memset(e.g->mem + at[i], 0x10 + i, 0x1000);
    }
    g_assert_cmpuint(rdma_mr_read(dev_of(&e), 0x2000, 0, 0x7c00, got,
                                  sizeof(got), RDMA_ACC_LOCAL_READ), ==, 0);
    for (unsigned i = 0; i < sizeof(got); i++) {
        g_assert_cmphex(got[i], ==, 0x10 + (i + 0xc00) / 0x1000);
    }
    put_be64(e.g->mem + MTT + FIRST + 16, G_BUS + at[2]);   /* not present */
    mok(e.g, MTHCA_CMD_SYNC_TPT, 0, 0);
    g_assert_cmpuint(rdma_mr_read(dev_of(&e), 0x2000, 0, 0x7c00, got,
                                  sizeof(got), RDMA_ACC_LOCAL_READ), !=, 0);
    mend_free(&e);
}

/* ---- queue pairs ---- */

enum { R_RTR = 1, R_RTS = 2 };

/* What a transition takes: bits of a dword, by an option or always. */
static const struct {
    uint32_t opt;
    uint8_t need;
    uint8_t off;
    uint32_t mask;
} taken[] = {
    { 0, R_RTR, 0x08, 0xff000000 }, { 0, R_RTR, 0x14, 0x00ffffff },
    { 0, R_RTR, 0x94, 0x00ffffff }, { 0, R_RTR, 0x98, 0xffffffff },
    { 0, R_RTS, 0x78, 0x00ffffff },
    { 1 << 16, R_RTR, 0x08, 0x000000ff },
    { 1 << 7, R_RTR, 0x24, 0x00ffffff }, { 1 << 7, R_RTR, 0x28, 0x00ffffff },
    { 1 << 7, R_RTR, 0x2c, ~0u }, { 1 << 7, R_RTR, 0x30, ~0u },
    { 1 << 7, R_RTR, 0x34, ~0u }, { 1 << 7, R_RTR, 0x38, ~0u },
    { 1 << 7, R_RTR, 0x3c, ~0u },
    { 1 << 4, 0, 0x20, 0x0000007f }, { 1 << 15, R_RTS, 0x24, 0xe0000000 },
    { 1 << 14, R_RTS, 0x28, 0xf8000000 },
    { 1 << 8, R_RTS, 0x70, 0x00e0e000 }, { 1 << 12, R_RTS, 0x70, 0x00070000 },
    { 1 << 1, 0, 0x90, 1 << 15 }, { 1 << 2, 0, 0x90, 1 << 13 },
    { 1 << 3, 0, 0x90, 1 << 14 }, { 1 << 9, 0, 0x90, 0x00e00000 },
    { 1 << 6, 0, 0x94, 0x1f000000 }, { 1 << 5, 0, 0xa8, ~0u },
    { 1, 0, 0x40, ~0u }, { 1, 0, 0x44, ~0u }, { 1, 0, 0x48, ~0u },
    { 1, 0, 0x4c, ~0u }, { 1, 0, 0x50, ~0u }, { 1, 0, 0x54, ~0u },
    { 1, 0, 0x58, ~0u }, { 1, 0, 0x5c, ~0u },
};

static const struct {
    uint16_t op;
    uint8_t need;
    uint8_t to;
    uint8_t from;               /* set of states */
} moves[] = {
    { MTHCA_CMD_INIT2INIT_QP, 0, 1, 1 << 1 },
    { MTHCA_CMD_INIT2RTR_QP, R_RTR, 2, 1 << 1 },
    { MTHCA_CMD_RTR2RTS_QP, R_RTS, 3, 1 << 2 },
    { MTHCA_CMD_RTS2RTS_QP, 0, 3, 1 << 3 },
    { MTHCA_CMD_SQERR2RTS_QP, 0, 3, 1 << 4 },
    { MTHCA_CMD_2ERR_QP, 0, 6, 0x7e },
    { MTHCA_CMD_RTS2SQD_QP, 0, 5, 1 << 3 },
    { MTHCA_CMD_SQD2SQD_QP, 0, 5, 1 << 5 },
    { MTHCA_CMD_SQD2RTS_QP, 0, 3, 1 << 5 },
    { MTHCA_CMD_ERR2RST_QP, 0, GONE, 0x7e },
};

/* A QP in state @s of the interface (1 INIT ... 6 ERR). */
static MEnd end_in(uint8_t s)
{
    static const RdmaQpState state[] = {
        RDMA_QPS_RESET, RDMA_QPS_INIT, RDMA_QPS_RTR, RDMA_QPS_RTS,
        RDMA_QPS_SQE, RDMA_QPS_SQD, RDMA_QPS_ERR,
    };
    MEnd e = mend_new(1);
    const MtbQp q = {
        .service = MTHCA_ST_RC, .mtu = 1, .qpn = ME_QPN, .uar = ME_UAR,
        .cqn = ME_CQN, .key = e.key, .log_sq = 4, .log_sq_stride = 7,
        .log_rq = 4, .log_rq_stride = 6, .base = G_BUS, .sq = ME_SQ,
        .rq = ME_RQ, .sq_db = ME_SQ_DB, .rq_db = ME_RQ_DB,
    };
    RdmaQpAttr a = { .state = state[s] };

    if (s) {
        mtb_rst2init(min_box(e.g), &q);
        mok(e.g, MTHCA_CMD_RST2INIT_QP, ME_QPN, 0);
        rdma_qp_modify(dev_of(&e), rdma_qp_get(dev_of(&e), ME_QPN), &a,
                       RDMA_QPA_STATE);
    }
    return e;
}

/* Every command in every state. */
static void test_qp_states(void)
{
    for (unsigned s = 0; s <= 6; s++) {
        for (unsigned i = 0; i < G_N_ELEMENTS(moves); i++) {
            MEnd e = end_in(s);
            bool good = moves[i].from >> s & 1;
            uint8_t now;

            min_box(e.g);
            g_assert_cmphex(mcmd_box(e.g, moves[i].op, ME_QPN | 1u << 24, 0),
                            ==, MTHCA_ST_BAD_INDEX);
            g_assert_cmphex(mcmd_box(e.g, moves[i].op, ME_QPN, 0), ==,
                            good ? 0 : MTHCA_ST_BAD_QP_STATE);
            now = good ? moves[i].to : s ? s : GONE;
            g_assert_cmphex(mcmd_box(e.g, MTHCA_CMD_QUERY_QP, ME_QPN, 0), ==,
                            now == GONE ? MTHCA_ST_BAD_QP_STATE : 0);
            if (now != GONE) {
                g_assert_cmphex(mout_box(e.g)[8] >> 4, ==, now);
            }
            mend_free(&e);
        }
    }
}

/* What each takes of the mailbox, option by option. */
static void test_qp_options(void)
{
    for (unsigned i = 0; i + 1 < G_N_ELEMENTS(moves); i++) {
        for (int bit = -1; bit < 32; bit++) {
            uint32_t opt = bit < 0 ? 0 : 1u << bit;
            MEnd e = end_in(__builtin_ctz(moves[i].from));
            uint8_t want[0x100];

            mok(e.g, MTHCA_CMD_QUERY_QP, ME_QPN, 0);
            memcpy(want, mout_box(e.g) + 8, sizeof(want));
            for (unsigned k = 0; k < G_N_ELEMENTS(taken); k++) {
                if (moves[i].to != 6 &&
                    ((taken[k].opt & opt) || taken[k].need & moves[i].need)) {
                    uint8_t *p = want + taken[k].off;

                    put_be32(p, get_be32(p) | taken[k].mask);
                }
            }
            want[0] = (want[0] & 0xf) | moves[i].to << 4;
            memset(min_box(e.g), 0xff, 0x108);
            put_be32(e.g->mem + G_IN, opt);
            mok(e.g, moves[i].op, ME_QPN, 0);
            mok(e.g, MTHCA_CMD_QUERY_QP, ME_QPN, 0);
            g_assert_cmpmem(mout_box(e.g) + 8, 0x100, want, 0x100);
            mend_free(&e);
        }
    }
}

/* A path with a global route, as the transport gets it. */
static void test_qp_path(void)
{
    MEnd e = end_in(1);
    uint8_t *c = min_box(e.g) + 8, *p = c + MTHCA_QPC_PATH;
    const RdmaQpAttr *a;

    for (unsigned i = 0; i < MTHCA_PATH_SIZE; i++) {
        p[i] = 0x80 + i;
    }
    mok(e.g, MTHCA_CMD_INIT2RTR_QP, ME_QPN, 0);
    a = rdma_qp_attr(rdma_qp_get(dev_of(&e), ME_QPN));
    g_assert_cmphex(a->av.dlid, ==, get_be16(p + MTHCA_PATH_DLID));
    g_assert_cmphex(a->av.path_bits, ==, p[MTHCA_PATH_G_MYLMC] & 0x7f);
    g_assert_true(a->av.has_grh);
    g_assert_cmphex(a->av.sl, ==, p[MTHCA_PATH_SL_TC_FLOW] >> 4);
    g_assert_cmphex(a->av.tclass, ==,
                    get_be32(p + MTHCA_PATH_SL_TC_FLOW) >> 20 & 0xff);
    g_assert_cmphex(a->av.flow_label, ==,
                    get_be32(p + MTHCA_PATH_SL_TC_FLOW) & 0xfffff);
    g_assert_cmphex(a->av.hop_limit, ==, p[MTHCA_PATH_HOP]);
    g_assert_cmphex(a->av.sgid_index, ==, p[MTHCA_PATH_MGID] & 31);
    g_assert_cmpmem(a->av.dgid, 16, p + MTHCA_PATH_DGID, 16);
    mend_free(&e);
}

/* A datagram to QP @n; the counter of those for no QP afterwards. */
static void to_special(MEnd *e, unsigned n, uint64_t nobody)
{
    MEnd a = mend_new(2);
    uint8_t *p;

    mend_qp_up(&a, MTHCA_ST_UD, 0, 0, 0, false);
    p = mend_wqe(&a, MTHCA_WQE_SEND, MTHCA_NEXT_CQ_UPDATE, 5);
    memset(p, 0, 0x30);
    put_be32(p, 1u << 24);
    put_be32(p + 4, 1);
    put_be32(p + 0x20, n);
    put_be32(p + 0x24, 0x80010000);
    mend_data(&a, p + 0x30, ME_DATA, 100);
    mend_ring(&a, 1, MTHCA_WQE_SEND, 5);
    mexchange(a.g, e->g);
    g_assert_cmpuint(rdma_counters(dev_of(e))->rx_no_qp, ==, nobody);
    mend_free(&a);
}

/* Special QPs: their service and no other, known to the transport until they
 * are gone. */
static void test_qp_special(void)
{
    for (unsigned n = 0; n < 2; n++) {
        MEnd e = mend_new(1);
        const RdmaQpAttr *a;
        uint8_t *c;

        g_assert_cmphex(mcmd(e.g, MTHCA_CMD_CONF_SPECIAL_QP, 1u << 24, n, 0, 0,
                             NULL), ==, MTHCA_ST_BAD_INDEX);
        mok(e.g, MTHCA_CMD_CONF_SPECIAL_QP, 0x40 + n, n);
        for (unsigned i = 0; i < 4; i++) {
            bool mlx = i & 1;
            uint32_t qpn = i & 2 ? 0x40 + n : 0x41 - n;

            c = min_box(e.g) + 8;
            c[1] = mlx ? MTHCA_ST_MLX : MTHCA_ST_UD;
            put_be32(c + MTHCA_QPC_UAR, ME_UAR);
            put_be32(c + MTHCA_QPC_CQN_SND, ME_CQN);
            put_be32(c + MTHCA_QPC_CQN_RCV, ME_CQN);
            g_assert_cmphex(mcmd_box(e.g, MTHCA_CMD_RST2INIT_QP, qpn, 0), ==,
                            mlx == !!(i & 2) ? 0 : MTHCA_ST_BAD_PARAM);
        }
        a = rdma_qp_attr(rdma_qp_get(dev_of(&e), 0x40 + n));
        g_assert_true(a->special);
        g_assert_cmpint(a->service, ==, RDMA_UD);
        g_assert_false(rdma_qp_attr(rdma_qp_get(dev_of(&e),
                                                0x41 - n))->special);
        g_assert_cmpuint(((MthcaQp *)rdma_qp_priv(rdma_qp_get(dev_of(&e),
                             0x40 + n)))->special, ==, n + 1);
        to_special(&e, n, rdma_counters(dev_of(&e))->rx_no_qp);
        mok(e.g, MTHCA_CMD_ERR2RST_QP, 0x40 + n, 3);
        to_special(&e, n, rdma_counters(dev_of(&e))->rx_no_qp + 1);
        mok(e.g, MTHCA_CMD_RST2INIT_QP, 0x40 + n, 0);
        mok(e.g, MTHCA_CMD_ERR2RST_QP, 0x40 + n, 3);
        /* Neither does it come back with a new life of the adapter. */
        g_assert_cmphex(mcmd(e.g, MTHCA_CMD_CLOSE_HCA, 0, 0, 0, 0, NULL), ==,
                        0);
        mtb_init_hca(min_box(e.g), M_UARC, M_MTT);
        mok(e.g, MTHCA_CMD_INIT_HCA, 0, 0);
        put_be32(min_box(e.g) + 0x0c, 4u << 24 | ME_UAR);
        mok(e.g, MTHCA_CMD_SW2HW_CQ, ME_CQN, 0);
        min_box(e.g)[9] = MTHCA_ST_MLX;
        g_assert_cmphex(mcmd_box(e.g, MTHCA_CMD_RST2INIT_QP, 0x40 + n, 0), ==,
                        MTHCA_ST_BAD_PARAM);
        mok(e.g, MTHCA_CMD_CONF_SPECIAL_QP, 0x40 + n, n);
        /* Number 0 takes the role away. */
        mok(e.g, MTHCA_CMD_CONF_SPECIAL_QP, 0, n);
        min_box(e.g)[9] = MTHCA_ST_MLX;
        g_assert_cmphex(mcmd_box(e.g, MTHCA_CMD_RST2INIT_QP, 0x40 + n, 0), ==,
                        MTHCA_ST_BAD_PARAM);
        mend_free(&e);
    }
}

/* ---- queues ---- */

/* Contexts as they were given, with what the adapter adds. */
static void test_cq_context(void)
{
    static const uint8_t shown[] = { 0xa, 6, 9, 9 };
    MEnd e = mend_new(1);
    uint8_t want[0x40], *in;

    in = min_box(e.g);
    for (unsigned i = 0; i < 0x40; i++) {
        in[i] = 0x30 + i;
    }
    put_be32(in, ~0u);
    put_be32(in + 0x0c, 3u << 24 | ME_UAR);
    put_be32(in + 0x1c, e.key);
    put_be32(in + 0x28, 0x100);
    put_be32(in + 0x2c, 0x102);
    put_be32(in + 0x34, ME_CI_DB);
    memcpy(want, in, 0x40);
    mok(e.g, MTHCA_CMD_SW2HW_CQ, 0x77, 0);
    for (unsigned arm = 0; arm < 4; arm++) {
        MthcaCq *cq = rdma_cq_priv(rdma_cq_get(dev_of(&e), 0x77));

        cq->armed = arm;
        put_be32(want, 1u << 24 | (get_be32(want) & 1u << 18) |
                 shown[arm] << 8);
        put_be32(want + 0x24, 0x102);
        mok(e.g, MTHCA_CMD_QUERY_CQ, 0x77, 0);
        g_assert_cmpmem(mout_box(e.g), 0x40, want, 0x40);
    }
    /* Not smaller than what is in it: four entries, one stays free. */
    mend_db(&e, ME_CI_DB, 0x102 - 4);
    for (unsigned log = 1; log <= 18; log++) {
        in = min_box(e.g);
        in[0x0c] = log;
        put_be32(in + 0x1c, 0x4500 + log);
        g_assert_cmphex(mcmd_box(e.g, MTHCA_CMD_RESIZE_CQ, 0x77, 0), ==,
                        log < 3 || log > 17 ? MTHCA_ST_BAD_SIZE : 0);
        if (log >= 3 && log <= 17) {
            mok(e.g, MTHCA_CMD_QUERY_CQ, 0x77, 0);
            g_assert_cmphex(mout_box(e.g)[0x0c], ==, log);
            g_assert_cmphex(get_be32(mout_box(e.g) + 0x1c), ==, 0x4500 + log);
        }
    }
    memset(mout_box(e.g), 0, 0x40);
    mok(e.g, MTHCA_CMD_HW2SW_CQ, 0x77, 0);
    g_assert_cmphex(mout_box(e.g)[0], ==, 0);
    mend_free(&e);
}

/* A CQ that nobody empties: one entry stays free, then it is in error. */
static void test_cq_full(void)
{
    MEnd e = mend_new(1);
    RdmaCq *cq = rdma_cq_get(dev_of(&e), ME_CQN);
    const RdmaCqe c = { .qpn = 1, .is_send = true };
    uint8_t *in = min_box(e.g);

    g_assert_cmphex(mcmd(e.g, MTHCA_CMD_MAP_EQ, 1, 0, 1 << MTHCA_EV_CQ_ERROR,
                         0, NULL), ==, 0);
    in[0x0c] = 2;
    put_be32(in + 0x1c, e.key);
    mok(e.g, MTHCA_CMD_RESIZE_CQ, ME_CQN, 0);
    for (unsigned i = 0; i < 3; i++) {
        g_assert_true(mthca_write_cqe(e.g->m, cq, &c));
    }
    mend_db(&e, ME_CI_DB, 2);           /* two are taken */
    g_assert_true(mthca_write_cqe(e.g->m, cq, &c));
    g_assert_true(mthca_write_cqe(e.g->m, cq, &c));
    g_assert_cmpuint(e.g->msix[0], ==, 0);
    g_assert_false(mthca_write_cqe(e.g->m, cq, &c));
    g_assert_cmpuint(e.g->msix[0], ==, 1);
    g_assert_cmphex(e.g->mem[ME_EQ + 1], ==, MTHCA_EV_CQ_ERROR);
    g_assert_cmphex(get_be32(e.g->mem + ME_EQ + 4), ==, ME_CQN);
    g_assert_cmphex(e.g->mem[ME_EQ + 0x0f], ==, 1);
    g_assert_cmpuint(mthca_counters(e.g->m)->cq_overruns, ==, 1);
    mend_db(&e, ME_CI_DB, 5);           /* too late */
    g_assert_false(mthca_write_cqe(e.g->m, cq, &c));
    g_assert_cmpuint(mthca_counters(e.g->m)->cq_overruns, ==, 1);
    mok(e.g, MTHCA_CMD_QUERY_CQ, ME_CQN, 0);
    g_assert_cmphex(mout_box(e.g)[0] >> 4, ==, 9);
    mend_free(&e);
}

/* A CQ of an event queue that cannot be, by number: the event is lost. */
static void test_cq_eqn(void)
{
    static const uint32_t eqn[] = { 32, 64 + 1, 1u << 31 | 1 };
    const RdmaCqe c = { .qpn = 1, .is_send = true };

    for (unsigned i = 0; i < G_N_ELEMENTS(eqn); i++) {
        MEnd e = mend_new(1);
        uint64_t lost = mthca_counters(e.g->m)->eqe_lost;

        mtb_cq(min_box(e.g), G_BUS + ME_CQ, 6, ME_UAR, eqn[i], e.key, ME_CI_DB,
               ME_ARM_DB);
        mok(e.g, MTHCA_CMD_SW2HW_CQ, 0x77, 0);
        ((MthcaCq *)rdma_cq_priv(rdma_cq_get(dev_of(&e), 0x77)))->armed = 2;
        g_assert_true(mthca_write_cqe(e.g->m, rdma_cq_get(dev_of(&e), 0x77),
                                      &c));
        g_assert_cmpuint(e.g->msix[0], ==, 0);
        g_assert_cmpuint(mthca_counters(e.g->m)->eqes, ==, 0);
        g_assert_cmpuint(mthca_counters(e.g->m)->eqe_lost, ==, lost + 1);
        mok(e.g, MTHCA_CMD_QUERY_CQ, 0x77, 0);
        g_assert_cmphex(get_be32(mout_box(e.g)) >> 8 & 0xf, ==, 0xa);
        mend_free(&e);
    }
}

/* A completion, all 32 bytes, for what it may tell of. */
static void test_cqe(void)
{
    const RdmaCqe recv = {
        .qpn = 0x123456, .wqe_id = UINT64_C(0x1122334455667788), .opcode = 5,
        .byte_cnt = 0x789, .rqpn = 0xabcdef, .rlid = 0x4321, .sl = 9,
        .pkey_index = 0x2a, .has_grh = true,
    };
    static const uint8_t want[32] = {
        0, 0x12, 0x34, 0x56, [8] = 0, 0xab, 0xcd, 0xef, 0x90, 0x80, 0x43, 0x21,
        0, 0x2a, 0, 0, 0, 0, 0x07, 0x89, 0x55, 0x66, 0x77, 0x80, 5,
    };
    MEnd e = mend_new(1);
    RdmaCq *cq = rdma_cq_get(dev_of(&e), ME_CQN);
    const uint8_t *at = e.g->mem + ME_CQ;
    uint8_t w[32];
    RdmaCqe c = recv;

    g_assert_true(mthca_write_cqe(e.g->m, cq, &c));
    g_assert_cmpmem(at, 32, want, 32);
    mok(e.g, MTHCA_CMD_QUERY_CQ, ME_CQN, 0);
    g_assert_cmpuint(get_be32(mout_box(e.g) + 0x24), ==, 0);
    g_assert_cmpuint(get_be32(mout_box(e.g) + 0x28), ==, 0);
    g_assert_cmpuint(get_be32(mout_box(e.g) + 0x2c), ==, 1);
    c.has_imm = true;
    memcpy(c.imm, "\xa1\xa2\xa3\xa4", 4);
    c.has_grh = false;
    g_assert_true(mthca_write_cqe(e.g->m, cq, &c));
    memcpy(w, want, 32);
    w[0x0d] = 0;
    memcpy(w + 0x10, c.imm, 4);
    g_assert_cmpmem(at + 32, 32, w, 32);
    c.is_send = true;
    g_assert_true(mthca_write_cqe(e.g->m, cq, &c));
    memset(w + 8, 0, 12);
    w[0x1d] = 0x80;
    g_assert_cmpmem(at + 64, 32, w, 32);
    for (unsigned status = 1; status < RDMA_WC_NUM; status++) {
        static const uint8_t syndrome[RDMA_WC_NUM] = {
            [RDMA_WC_LOC_LEN] = 0x01, [RDMA_WC_LOC_QP_OP] = 0x02,
            [RDMA_WC_LOC_PROT] = 0x04, [RDMA_WC_FLUSH] = 0x05,
            [RDMA_WC_BAD_RESP] = 0x10, [RDMA_WC_LOC_ACCESS] = 0x11,
            [RDMA_WC_REM_INV_REQ] = 0x12, [RDMA_WC_REM_ACCESS] = 0x13,
            [RDMA_WC_REM_OP] = 0x14, [RDMA_WC_RETRY_EXC] = 0x15,
            [RDMA_WC_RNR_RETRY_EXC] = 0x16, [RDMA_WC_REM_ABORT] = 0x22,
            [RDMA_WC_FATAL] = 0x02,
        };

        c.status = status;
        c.is_send = status & 1;
        g_assert_true(mthca_write_cqe(e.g->m, cq, &c));
        memset(w + 8, 0, 0x10);
        w[0x10] = syndrome[status];
        w[0x13] = 1;
        w[0x1c] = c.is_send ? 0xff : 0xfe;
        w[0x1d] = c.is_send ? 0x80 : 0;
        g_assert_cmpmem(at + 32 * (status + 2), 32, w, 32);
    }
    /* The last one counts as solicited: the event for one of these is due. */
    mok(e.g, MTHCA_CMD_QUERY_CQ, ME_CQN, 0);
    g_assert_cmpuint(get_be32(mout_box(e.g) + 0x24), ==, RDMA_WC_NUM + 2);
    g_assert_cmpuint(get_be32(mout_box(e.g) + 0x2c), ==, RDMA_WC_NUM + 2);
    e.ci = RDMA_WC_NUM + 1;
    mend_arm(&e, 1);
    g_assert_cmpuint(e.g->msix[0], ==, 1);
    mend_free(&e);
}

/* Which completion raises the event that a CQ is armed for. */
static void test_cq_armed(void)
{
    for (unsigned i = 0; i < 8; i++) {
        MEnd e = mend_new(1);
        RdmaCq *cq = rdma_cq_get(dev_of(&e), ME_CQN);
        unsigned armed = i / 2;
        RdmaCqe c = { .solicited = i & 1 };
        bool fires = armed > 1 || (armed && c.solicited);

        ((MthcaCq *)rdma_cq_priv(cq))->armed = armed;
        g_assert_true(mthca_write_cqe(e.g->m, cq, &c));
        g_assert_cmpuint(e.g->msix[0], ==, fires);
        g_assert_cmpuint(((MthcaCq *)rdma_cq_priv(cq))->armed, ==,
                         fires ? 0 : armed);
        mend_free(&e);
    }
}

/* Armed for solicited completions: of those behind software's index at once. */
static void test_cq_arm_solicited(void)
{
    static const struct { uint32_t solicited, ci; bool fires; } t[] = {
        { 5, 4, true }, { 5, 5, false }, { 5, 6, false },
        { 1, ~0u, true }, { ~0u, 1, false },
    };

    for (unsigned i = 0; i < G_N_ELEMENTS(t); i++) {
        MEnd e = mend_new(1);
        MthcaCq *cq = rdma_cq_priv(rdma_cq_get(dev_of(&e), ME_CQN));

        cq->solicit_pi = t[i].solicited;
        e.ci = t[i].ci;
        mend_arm(&e, 1);
        g_assert_cmpuint(e.g->msix[0], ==, t[i].fires);
        mend_free(&e);
    }
}

static void test_srq_context(void)
{
    MEnd e = mend_new(1);
    uint8_t want[0x40], *in = min_box(e.g);

    for (unsigned i = 0; i < 0x40; i++) {
        in[i] = 0xc0 + i;
    }
    put_be32(in, 4u << 24 | ME_SRQN);
    put_be32(in + 8, ME_SRQ_DB);
    put_be32(in + 0x0c, 2u << 29 | ME_UAR);
    put_be16(in + 0x1c, 3);
    put_be16(in + 0x22, 0x1234);
    memcpy(want, in, 0x40);
    mend_db(&e, ME_SRQ_DB, 0x123c);
    mok(e.g, MTHCA_CMD_SW2HW_SRQ, ME_SRQN, 0);
    g_assert_cmpuint(((MthcaSrq *)rdma_srq_priv(
                         rdma_srq_get(dev_of(&e), ME_SRQN)))->log_stride, ==,
                     4 + 2);
    put_be32(in + 0x18, 0xa0123456);
    memcpy(want + 0x18, in + 0x18, 4);
    mok(e.g, MTHCA_CMD_HW2SW_SRQ, ME_SRQN, 0);
    mok(e.g, MTHCA_CMD_SW2HW_SRQ, ME_SRQN, 0);
    want[0x18] &= 0x0f;                 /* the adapter's, no error */
    put_be16(want + 0x1e, 8);
    mok(e.g, MTHCA_CMD_QUERY_SRQ, ME_SRQN, 0);
    g_assert_cmpmem(mout_box(e.g), 0x40, want, 0x40);
    ((MthcaSrq *)rdma_srq_priv(rdma_srq_get(dev_of(&e), ME_SRQN)))->error =
        true;
    want[0x18] |= 0x10;
    mok(e.g, MTHCA_CMD_QUERY_SRQ, ME_SRQN, 0);
    g_assert_cmpmem(mout_box(e.g), 0x40, want, 0x40);
    ((MthcaSrq *)rdma_srq_priv(rdma_srq_get(dev_of(&e), ME_SRQN)))->error =
        false;
    /* How far it is: two of eight taken. */
    ((MthcaSrq *)rdma_srq_priv(rdma_srq_get(dev_of(&e), ME_SRQN)))->tail += 2;
    put_be16(want + 0x1e, 6);
    put_be16(want + 0x22, 0x1236);
    want[0x18] |= 0xf0;                 /* software's */
    mok(e.g, MTHCA_CMD_HW2SW_SRQ, ME_SRQN, 0);
    g_assert_cmpmem(mout_box(e.g), 0x40, want, 0x40);
    /* Sizes up to 2^15. */
    for (unsigned log = 14; log <= 16; log++) {
        in = min_box(e.g);
        put_be32(in, log << 24 | ME_SRQN);
        g_assert_cmphex(mcmd_box(e.g, MTHCA_CMD_SW2HW_SRQ, log, 0), ==,
                        log > 15 ? MTHCA_ST_BAD_SIZE : 0);
    }
    put_be32(min_box(e.g) + 0x0c, 0x800);
    g_assert_cmphex(mcmd_box(e.g, MTHCA_CMD_SW2HW_SRQ, 1, 0), ==,
                    MTHCA_ST_BAD_INDEX);
    g_assert_cmphex(mcmd_box(e.g, MTHCA_CMD_SW2HW_SRQ, 1u << 24, 0), ==,
                    MTHCA_ST_BAD_INDEX);
    mend_free(&e);
}

/* Each bit of a number counts, of as many as there may be. */
static void test_numbers(void)
{
    MGuest *g = mguest_new(1, false);
    uint8_t *in;

    mguest_init_hca(g);
    in = min_box(g);
    for (uint32_t n = 1; n < 1u << 16; n = n == 1 ? 3 : (n - 1) * 2 + 1) {
        mok(g, MTHCA_CMD_SW2HW_CQ, n, 0);
        mok(g, MTHCA_CMD_SW2HW_SRQ, n, 0);
        put_be32(in + 8 + MTHCA_QPC_SRQN, 1u << 24 | n);
        put_be32(in + 8 + MTHCA_QPC_CQN_SND, n);
        put_be32(in + 8 + MTHCA_QPC_CQN_RCV, n);
        mok(g, MTHCA_CMD_RST2INIT_QP, n, 0);
        mok(g, MTHCA_CMD_QUERY_SRQ, n, 0);
        min_box(g);
    }
    mguest_free(g);
}

/* Event queues: states and sizes that one can be made in; how often it
 * interrupts in each. */
static void test_eq_states(void)
{
    static const struct { uint8_t state, status, interrupts, after; } t[] = {
        { 8, MTHCA_ST_BAD_PARAM, 0, 0 }, { 9, 0, 1, 0xa }, { 0xa, 0, 0, 0xa },
        { 0xb, 0, 3, 0xb }, { 0xc, MTHCA_ST_BAD_PARAM, 0, 0 },
    };

    for (unsigned i = 0; i < G_N_ELEMENTS(t); i++) {
        MEnd e = mend_new(1);
        uint64_t lost = mthca_counters(e.g->m)->eqe_lost;
        uint8_t *in = min_box(e.g);

        mtb_eq(in, G_BUS + ME_EQ + 0x1000, 17, 5, e.key);
        put_be32(in, 1u << 18 | t[i].state << 8);
        put_be32(in + 0x18, 0);
        in[0x0c] = 18;
        g_assert_cmphex(mcmd_box(e.g, MTHCA_CMD_SW2HW_EQ, 7, 0), ==,
                        MTHCA_ST_BAD_PARAM);
        in[0x0c] = 17;
        g_assert_cmphex(mcmd_box(e.g, MTHCA_CMD_SW2HW_EQ, 7, 0), ==,
                        t[i].status);
        if (!t[i].status) {
            g_assert_cmphex(mcmd(e.g, MTHCA_CMD_MAP_EQ, 7, 0, 1 << 3, 0, NULL),
                            ==, 0);
            for (unsigned n = 0; n < 3; n++) {
                mthca_event_number(e.g->m, RDMA_EV_SQ_DRAINED, 0x55 + n);
            }
            g_assert_cmpuint(e.g->msix[5], ==, t[i].interrupts);
            g_assert_cmpuint(mthca_counters(e.g->m)->eqes, ==, 3);
            g_assert_cmpuint(mthca_counters(e.g->m)->interrupts, ==,
                             t[i].interrupts);
            g_assert_cmphex(get_be32(e.g->mem + ME_EQ + 0x1044), ==, 0x57);
            mok(e.g, MTHCA_CMD_QUERY_EQ, 7, 0);
            g_assert_cmphex(get_be32(mout_box(e.g)), ==,
                            1u << 24 | 1u << 18 | t[i].after << 8);
            g_assert_cmpuint(get_be32(mout_box(e.g) + 0x2c), ==, 3);
            /* Unmapped by another number it stays, by its own it goes. */
            g_assert_cmphex(mcmd(e.g, MTHCA_CMD_MAP_EQ, 1u << 31 | 1, 0, ~0ull,
                                 0, NULL), ==, 0);
            mthca_event_number(e.g->m, RDMA_EV_SQ_DRAINED, 1);
            g_assert_cmpuint(mthca_counters(e.g->m)->eqes, ==, 4);
            g_assert_cmphex(mcmd(e.g, MTHCA_CMD_MAP_EQ, 1u << 31 | 7, 0, ~0ull,
                                 0, NULL), ==, 0);
            mthca_event_number(e.g->m, RDMA_EV_SQ_DRAINED, 1);
            g_assert_cmpuint(mthca_counters(e.g->m)->eqes, ==, 4);
            g_assert_cmpuint(mthca_counters(e.g->m)->eqe_lost, ==, lost + 1);
        }
        mend_free(&e);
    }
}

/* A send queue that has drained is told of to who asked for it. */
static void test_sqd_event(void)
{
    for (unsigned asked = 0; asked < 2; asked++) {
        MEnd e = end_in(3);

        mtb_eq(min_box(e.g), G_BUS + ME_EQ + 0x1000, 6, 5, e.key);
        mok(e.g, MTHCA_CMD_SW2HW_EQ, 7, 0);
        g_assert_cmphex(mcmd(e.g, MTHCA_CMD_MAP_EQ, 7, 0,
                             1 << RDMA_EV_SQ_DRAINED, 0, NULL), ==, 0);
        g_assert_cmphex(mcmd(e.g, MTHCA_CMD_RTS2SQD_QP, asked << 31 | ME_QPN, 0,
                             0, 0, NULL), ==, 0);
        rdma_poll(dev_of(&e), e.g->now);
        g_assert_cmpuint(mthca_counters(e.g->m)->eqes, ==, asked);
        mend_free(&e);
    }
}

/* An event queue's PD has 24 bits, each of which its region has to have. */
static void test_eq_pd(void)
{
    MEnd e = mend_new(1);
    uint8_t *in = min_box(e.g);

    mtb_region(in, 0x21, 0x123457, 0, ~0ull);
    mok(e.g, MTHCA_CMD_SW2HW_MPT, 0x21, 0);
    memset(in, 0, 0x40);
    mtb_eq(in, G_BUS + ME_EQ + 0x1000, 6, 5, 0x2100);
    put_be32(in, 1u << 18 | 0x900);
    put_be32(in + MTHCA_EQC_PD, 0xff123457);
    mok(e.g, MTHCA_CMD_SW2HW_EQ, 7, 0);
    g_assert_cmphex(mcmd(e.g, MTHCA_CMD_MAP_EQ, 7, 0, 1 << 3, 0, NULL), ==, 0);
    mthca_event_number(e.g->m, RDMA_EV_SQ_DRAINED, 0x55);
    g_assert_cmpuint(mthca_counters(e.g->m)->eqes, ==, 1);
    g_assert_cmphex(get_be32(e.g->mem + ME_EQ + 0x1004), ==, 0x55);
    /* Read in part: what software has consumed is the context's. */
    mthca_event_number(e.g->m, RDMA_EV_SQ_DRAINED, 0x56);
    mthca_bar0_write(e.g->m, MTHCA_EQ_SET_CI + 8 * 7, 1);
    mok(e.g, MTHCA_CMD_QUERY_EQ, 7, 0);
    g_assert_cmpuint(get_be32(mout_box(e.g) + MTHCA_EQC_CI), ==, 1);
    g_assert_cmpuint(get_be32(mout_box(e.g) + MTHCA_EQC_PI), ==, 2);
    mend_free(&e);
}

/* An event queue without translation: bus addresses, whatever its key. */
static void test_eq_bus(void)
{
    MEnd e = mend_new(1);
    uint8_t *in = min_box(e.g);

    mtb_eq(in, G_BUS + ME_EQ + 0x1000, 6, 5, 0x7700);
    put_be32(in, 0xb00);
    mok(e.g, MTHCA_CMD_SW2HW_EQ, 7, 0);
    g_assert_cmphex(mcmd(e.g, MTHCA_CMD_MAP_EQ, 7, 0, 1 << 3, 0, NULL), ==, 0);
    mthca_event_number(e.g->m, RDMA_EV_SQ_DRAINED, 0x55);
    g_assert_cmphex(get_be32(e.g->mem + ME_EQ + 0x1004), ==, 0x55);
    mok(e.g, MTHCA_CMD_QUERY_EQ, 7, 0);
    g_assert_cmphex(get_be32(mout_box(e.g)), ==, 1u << 24 | 0xb00);
    mok(e.g, MTHCA_CMD_HW2SW_EQ, 7, 0);
    g_assert_cmphex(get_be32(mout_box(e.g)), ==, 0xb00);
    mend_free(&e);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/mthca/ctx/outboxes", test_outboxes);
    g_test_add_func("/mthca/ctx/inbox-end", test_inbox_end);
    g_test_add_func("/mthca/ctx/query-fw", test_query_fw);
    g_test_add_func("/mthca/ctx/init-hca-limits", test_init_hca_limits);
    g_test_add_func("/mthca/ctx/map-icm", test_map_icm);
    g_test_add_func("/mthca/ctx/icm-full", test_icm_full);
    g_test_add_func("/mthca/ctx/region-keys", test_region_keys);
    g_test_add_func("/mthca/ctx/region-small", test_region_small);
    g_test_add_func("/mthca/ctx/region-rights", test_region_rights);
    g_test_add_func("/mthca/ctx/region-pages", test_region_pages);
    g_test_add_func("/mthca/ctx/qp-states", test_qp_states);
    g_test_add_func("/mthca/ctx/qp-options", test_qp_options);
    g_test_add_func("/mthca/ctx/qp-path", test_qp_path);
    g_test_add_func("/mthca/ctx/qp-special", test_qp_special);
    g_test_add_func("/mthca/ctx/cq-context", test_cq_context);
    g_test_add_func("/mthca/ctx/cq-full", test_cq_full);
    g_test_add_func("/mthca/ctx/cq-eqn", test_cq_eqn);
    g_test_add_func("/mthca/ctx/cqe", test_cqe);
    g_test_add_func("/mthca/ctx/cq-armed", test_cq_armed);
    g_test_add_func("/mthca/ctx/cq-arm-solicited", test_cq_arm_solicited);
    g_test_add_func("/mthca/ctx/srq-context", test_srq_context);
    g_test_add_func("/mthca/ctx/numbers", test_numbers);
    g_test_add_func("/mthca/ctx/eq-states", test_eq_states);
    g_test_add_func("/mthca/ctx/sqd-event", test_sqd_event);
    g_test_add_func("/mthca/ctx/eq-pd", test_eq_pd);
    g_test_add_func("/mthca/ctx/eq-bus", test_eq_bus);
    return g_test_run();
}
