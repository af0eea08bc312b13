/*
 * ncic-mthca: commands, good and bad, as a driver issues them.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <string.h>

#include "mthca-double.h"
#include "rdma/objects.h"

#define EQ_OFF 0x10000

static void test_states(void)
{
    MGuest *g = mguest_new(1, false);
    static const uint16_t need_fw[] = {
        MTHCA_CMD_QUERY_DEV_LIM, MTHCA_CMD_QUERY_ADAPTER, MTHCA_CMD_INIT_HCA,
        MTHCA_CMD_MAP_ICM, MTHCA_CMD_UNMAP_ICM, MTHCA_CMD_SET_ICM_SIZE,
        MTHCA_CMD_MAP_ICM_AUX,
    };
    static const uint16_t need_hca[] = {
        MTHCA_CMD_CLOSE_HCA, MTHCA_CMD_INIT_IB, MTHCA_CMD_CLOSE_IB,
        MTHCA_CMD_SET_IB, MTHCA_CMD_SW2HW_MPT, MTHCA_CMD_QUERY_MPT,
        MTHCA_CMD_HW2SW_MPT, MTHCA_CMD_READ_MTT, MTHCA_CMD_WRITE_MTT,
        MTHCA_CMD_MAP_EQ, MTHCA_CMD_SW2HW_EQ, MTHCA_CMD_HW2SW_EQ,
        MTHCA_CMD_QUERY_EQ, MTHCA_CMD_SW2HW_CQ, MTHCA_CMD_HW2SW_CQ,
        MTHCA_CMD_QUERY_CQ, MTHCA_CMD_RESIZE_CQ, MTHCA_CMD_RST2INIT_QP,
        MTHCA_CMD_INIT2RTR_QP, MTHCA_CMD_RTR2RTS_QP, MTHCA_CMD_RTS2RTS_QP,
        MTHCA_CMD_SQERR2RTS_QP, MTHCA_CMD_2ERR_QP, MTHCA_CMD_RTS2SQD_QP,
        MTHCA_CMD_SQD2RTS_QP, MTHCA_CMD_ERR2RST_QP, MTHCA_CMD_QUERY_QP,
        MTHCA_CMD_CONF_SPECIAL_QP, MTHCA_CMD_MAD_IFC, MTHCA_CMD_READ_MGM,
        MTHCA_CMD_WRITE_MGM, MTHCA_CMD_MGID_HASH, MTHCA_CMD_INIT2INIT_QP,
        MTHCA_CMD_SYNC_TPT, MTHCA_CMD_SW2HW_SRQ, MTHCA_CMD_HW2SW_SRQ,
        MTHCA_CMD_QUERY_SRQ, MTHCA_CMD_SQD2SQD_QP, MTHCA_CMD_ARM_SRQ,
    };

    for (unsigned i = 0; i < G_N_ELEMENTS(need_fw); i++) {
        g_assert_cmphex(mcmd_box(g, need_fw[i], 1, 0), ==,
                        MTHCA_ST_BAD_SYS_STATE);
    }
    g_assert_cmphex(mcmd(g, MTHCA_CMD_RUN_FW, 0, 0, 0, 0, NULL), ==, 0);
    g_assert_cmphex(mcmd(g, MTHCA_CMD_RUN_FW, 0, 0, 0, 0, NULL), ==,
                    MTHCA_ST_BAD_SYS_STATE);
    for (unsigned i = 0; i < G_N_ELEMENTS(need_hca); i++) {
        g_assert_cmphex(mcmd_box(g, need_hca[i], 1, 0), ==,
                        MTHCA_ST_BAD_SYS_STATE);
    }
    g_assert_cmphex(mcmd(g, MTHCA_CMD_SYS_DIS, 0, 0, 0, 0, NULL), ==, 0);
    /* Not commands: Tavor's, and numbers of none. */
    g_assert_cmphex(mcmd_box(g, MTHCA_CMD_SYS_EN, 0, 0), ==,
                    MTHCA_ST_BAD_OP);
    g_assert_cmphex(mcmd_box(g, 0x7ff, 0, 0), ==, MTHCA_ST_BAD_OP);
    g_assert_cmphex(mcmd_box(g, 0, 0, 0), ==, MTHCA_ST_BAD_OP);
    mguest_free(g);
}

static void test_query_fw(void)
{
    MGuest *g = mguest_new(1, false);
    uint8_t *o = mout_box(g);

    mok(g, MTHCA_CMD_QUERY_FW, 0, 0);
    g_assert_cmpuint(get_be16(o), >=, 1);       /* pages */
    g_assert_cmpuint(get_be16(o + 2), ==, 1);
    g_assert_cmpuint(get_be16(o + 4), ==, 940); /* sub-minor first */
    g_assert_cmpuint(get_be16(o + 6), ==, 2);
    g_assert_cmpuint(o[0x0f], <=, 15);
    g_assert_cmphex(get_be32(o + 0x10) & 1, ==, 0);
    g_assert_cmphex(get_be64(o + 0x20), ==, 0xfe000000 + MTHCA_CLR_INT);
    g_assert_cmpuint(get_be32(o + 0x38), >=, 1);
    g_assert_cmphex(get_be64(o + 0x40), ==, 0xfe000000 + MTHCA_EQ_ARM);
    g_assert_cmphex(get_be64(o + 0x48), ==, 0xfe000000 + MTHCA_EQ_SET_CI);
    g_assert_cmphex(mcmd(g, MTHCA_CMD_ENABLE_LAM, 0, 0, 0, G_BUS + G_OUT,
                         NULL), ==, MTHCA_ST_LAM_NOT_PRE);
    /* An answer like another, and no breach of a rule; what is one is told of. */
    g_assert_cmpuint(g->rules, ==, 0);
    g_assert_cmphex(mcmd_box(g, MTHCA_CMD_QUERY_DEV_LIM, 0, 0), ==,
                    MTHCA_ST_BAD_SYS_STATE);
    g_assert_cmpuint(g->rules, ==, 1);
    mguest_free(g);
}

static void test_dev_lim(void)
{
    /* All of it, as it was worked out from what drivers read. */
    static const uint8_t limits[0x100] = {
        [0x10] = 14, 14, 4, 16, 0, 16, [0x19] = 17, 0, 16, 17, 17, 0, 6,
        [0x20] = 0x40, 0x1f, 4, 0x14, [0x29] = 7, [0x2b] = 7, [0x33] = 1,
        [0x35] = 15, 0x43, 0x41, [0x3b] = 5, 0, 15, [0x3f] = 6,
        [0x45] = 0x34, 0x03, 0x47, [0x48] = 0x10, 3, [0x4b] = 12,
        [0x51] = 30, 4, [0x55] = 30, 4, [0x61] = 6, 0, 13, 0, 16,
        [0x80] = 1, [0x82] = 1, [0x85] = 0x20, [0x87] = 0x20, [0x89] = 0x40,
        [0x8b] = 0x40, [0x8d] = 0x20, [0x8f] = 0x20, [0x91] = 8,
        [0x93] = 0x40, [0xa2] = 1,
    };
    MGuest *g = mguest_new(1, false);
    uint8_t *o = mout_box(g);

    g_assert_cmphex(mcmd(g, MTHCA_CMD_RUN_FW, 0, 0, 0, 0, NULL), ==, 0);
    mok(g, MTHCA_CMD_QUERY_DEV_LIM, 0, 0);
    g_assert_cmpmem(o, sizeof(limits), limits, sizeof(limits));
    g_assert_cmpuint(o[0x13] & 0x1f, ==, 16);
    g_assert_cmpuint(o[0x3b] & 0xf, ==, 5);     /* libmthca: 32 GIDs */
    g_assert_cmpuint(o[0x37] & 0xf, ==, 1);     /* ports */
    g_assert_cmpuint(o[0x36] >> 4, ==, 4);      /* MTU 2048 */
    g_assert_cmpuint(o[0x48] >> 4, ==, 1);      /* iPXE: reserved UARs */
    g_assert_cmpuint(o[0x4b], <=, 12);
    /* Entry sizes: powers of two, none 0. */
    for (unsigned off = 0x80; off <= 0x92; off += 2) {
        uint16_t size = get_be16(o + off);

        g_assert_cmpuint(size, >, 0);
        g_assert_cmpuint(size & (size - 1), ==, 0);
    }
    /* RC, UC, UD, SRQ, atomics; no RD, no raw. */
    g_assert_cmphex(get_be32(o + 0x44) & 0x4007f, ==, 0x40047);
    g_assert_cmphex(get_be64(o + 0xa0), >=, 1ull << 40);
    mguest_free(g);
}

/* Mailboxes that cannot be reached. */
static void test_mailbox(void)
{
    MGuest *g = mguest_new(1, false);

    mguest_init_hca(g);
    g_assert_cmphex(mcmd(g, MTHCA_CMD_SW2HW_MPT, 1, 0, 0, 0, NULL), ==,
                    MTHCA_ST_BAD_PARAM);
    g_assert_cmphex(mcmd(g, MTHCA_CMD_SW2HW_MPT, 1, 0, 0x10, 0, NULL), ==,
                    MTHCA_ST_BAD_PARAM);
    g_assert_cmphex(mcmd(g, MTHCA_CMD_QUERY_ADAPTER, 0, 0, 0, 0, NULL), ==,
                    MTHCA_ST_BAD_PARAM);
    g_assert_cmphex(mcmd(g, MTHCA_CMD_QUERY_ADAPTER, 0, 0, 0, 0x10, NULL),
                    ==, MTHCA_ST_BAD_PARAM);
    g_assert_cmphex(mcmd(g, MTHCA_CMD_QUERY_ADAPTER, 0, 0, 0,
                         G_BUS + G_SIZE, NULL), ==, MTHCA_ST_BAD_PARAM);
    mok(g, MTHCA_CMD_QUERY_ADAPTER, 0, 0);
    g_assert_cmphex(mout_box(g)[0x10], ==, 0x1f);       /* interrupt pin */
    /* Board id: dwords in opposite byte order at the end. */
    g_assert_cmpmem(mout_box(g) + 0xf0, 16, "32107654ba98fedc", 16);
    mguest_free(g);
}

static void test_icm(void)
{
    MGuest *g = mguest_new(1, false);
    uint64_t imm;
    uint8_t *in;

    g_assert_cmphex(mcmd(g, MTHCA_CMD_RUN_FW, 0, 0, 0, 0, NULL), ==, 0);
    g_assert_cmphex(mcmd(g, MTHCA_CMD_SET_ICM_SIZE, 0, 0, 0x26a14000, 0,
                         &imm), ==, 0);
    g_assert_cmpuint(imm, >=, 1);
    g_assert_cmphex(mcmd(g, MTHCA_CMD_SET_ICM_SIZE, 0, 0, 1ull << 50, 0,
                         NULL), ==, MTHCA_ST_EXCEED_LIM);
    min_box(g);
    g_assert_cmphex(mcmd_box(g, MTHCA_CMD_MAP_ICM, 0, 0), ==,
                    MTHCA_ST_BAD_SIZE);
    g_assert_cmphex(mcmd_box(g, MTHCA_CMD_MAP_ICM, 257, 0), ==,
                    MTHCA_ST_BAD_SIZE);
    in = min_box(g);
    put_be64(in + 8, G_BUS | 0x3f);
    g_assert_cmphex(mcmd_box(g, MTHCA_CMD_MAP_ICM, 1, 0), ==,
                    MTHCA_ST_BAD_PARAM);
    in = min_box(g);
    put_be64(in, 1ull << 60);
    g_assert_cmphex(mcmd_box(g, MTHCA_CMD_MAP_ICM, 1, 0), ==,
                    MTHCA_ST_BAD_PARAM);
    in = min_box(g);
    put_be64(in, 0x20000000);
    put_be64(in + 8, G_BUS | 6);    /* 64 pages */
    mok(g, MTHCA_CMD_MAP_ICM, 1, 0);
    /* More than was mapped, and nothing at all. */
    g_assert_cmphex(mcmd(g, MTHCA_CMD_UNMAP_ICM, 1000, 0, 0x20000000, 0,
                         NULL), ==, 0);
    g_assert_cmphex(mcmd(g, MTHCA_CMD_UNMAP_ICM, 64, 0, 0x30000000, 0,
                         NULL), ==, 0);
    g_assert_cmphex(mcmd(g, MTHCA_CMD_UNMAP_FA, 0, 0, 0, 0, NULL), ==, 0);
    g_assert_cmphex(mcmd(g, MTHCA_CMD_UNMAP_ICM_AUX, 0, 0, 0, 0, NULL), ==,
                    0);
    /* Without its memory the firmware does not run, and can be run again. */
    g_assert_cmphex(mcmd(g, MTHCA_CMD_RUN_FW, 0, 0, 0, 0, NULL), ==, 0);
    mguest_free(g);
}

static void test_init_hca(void)
{
    /* Offset and value of a field beyond what QUERY_DEV_LIM allows. */
    static const struct { uint16_t off; uint8_t val; } bad[] = {
        { 0x37, 17 }, { 0x4f, 17 }, { 0x57, 17 }, { 0x87, 7 }, { 0xfb, 18 },
        { 0xdb, 14 }, { 0xd3, 13 }, { 0x12a, 12 }, { 0x129, 9 },
    };
    static const struct { uint16_t off, len; } same[] = {
        { 0x0c, 4 }, { 0x37, 1 }, { 0x4f, 1 }, { 0x57, 1 }, { 0x87, 1 },
        { 0xc0, 8 }, { 0xd6, 2 }, { 0xdb, 1 }, { 0xfb, 1 }, { 0x100, 8 },
        { 0x129, 2 }, { 0x138, 8 },
    };
    MGuest *g = mguest_new(1, false);

    g_assert_cmphex(mcmd(g, MTHCA_CMD_RUN_FW, 0, 0, 0, 0, NULL), ==, 0);
    for (unsigned i = 0; i < G_N_ELEMENTS(bad); i++) {
        uint8_t *in = min_box(g);

        in[0xd3] = 8;
        in[bad[i].off] = bad[i].val;
        g_assert_cmphex(mcmd_box(g, MTHCA_CMD_INIT_HCA, 0, 0), ==,
                        MTHCA_ST_EXCEED_LIM);
    }
    mthca_reset(g->m);
    mguest_init_hca(g);
    g_assert_cmphex(mcmd_box(g, MTHCA_CMD_INIT_HCA, 0, 0), ==,
                    MTHCA_ST_BAD_SYS_STATE);
    /* What was given comes back. */
    mthca_reset(g->m);
    g_assert_cmphex(mcmd(g, MTHCA_CMD_RUN_FW, 0, 0, 0, 0, NULL), ==, 0);
    mtb_init_hca(min_box(g), UINT64_C(0x123456000), UINT64_C(0x654321000));
    mok(g, MTHCA_CMD_INIT_HCA, 0, 0);
    mok(g, MTHCA_CMD_QUERY_HCA, 0, 0);
    for (unsigned i = 0; i < G_N_ELEMENTS(same); i++) {
        g_assert_cmpmem(g->mem + G_IN + same[i].off, same[i].len,
                        mout_box(g) + same[i].off, same[i].len);
    }
    g_assert_cmphex(mcmd(g, MTHCA_CMD_UNMAP_FA, 0, 0, 0, 0, NULL), ==,
                    MTHCA_ST_BAD_SYS_STATE);
    g_assert_cmphex(mcmd(g, MTHCA_CMD_CLOSE_HCA, 0, 0, 0, 0, NULL), ==, 0);
    mguest_free(g);
}

static void test_mpt(void)
{
    MGuest *g = mguest_new(1, false);
    uint8_t *in;

    mguest_init_hca(g);
    mregion_all(g, 0x10, 0);
    g_assert_cmphex(mcmd_box(g, MTHCA_CMD_SW2HW_MPT, 0x10, 0), ==,
                    MTHCA_ST_BAD_RES_STATE);
    g_assert_cmphex(mcmd_box(g, MTHCA_CMD_SW2HW_MPT, 1u << MTB_LOG_MPTS, 0), ==,
                    MTHCA_ST_BAD_INDEX);
    /* The key's index is not the entry's. */
    in = min_box(g);
    put_be32(in, 0xf0000f00);
    put_be32(in + 8, 0x12);
    g_assert_cmphex(mcmd_box(g, MTHCA_CMD_SW2HW_MPT, 0x11, 0), ==,
                    MTHCA_ST_BAD_PARAM);
    /* A generation above the index is part of the key. */
    put_be32(in + 8, 0x800011);
    mok(g, MTHCA_CMD_SW2HW_MPT, 0x11, 0);
    mok(g, MTHCA_CMD_QUERY_MPT, 0x11, 0);
    g_assert_cmphex(get_be32(mout_box(g)) >> 28, ==, 0);
    g_assert_cmphex(get_be32(mout_box(g) + 8), ==, 0x800011);
    /* Without an outbox nothing is written. */
    memset(mout_box(g), 0x77, 64);
    mok(g, MTHCA_CMD_HW2SW_MPT, 0x11, 1);
    g_assert_cmphex(mout_box(g)[0], ==, 0x77);
    g_assert_cmphex(mcmd_box(g, MTHCA_CMD_HW2SW_MPT, 0x11, 1), ==,
                    MTHCA_ST_BAD_RES_STATE);
    g_assert_cmphex(mcmd_box(g, MTHCA_CMD_QUERY_MPT, 0x11, 0), ==,
                    MTHCA_ST_BAD_RES_STATE);
    mguest_free(g);
}

static void test_mtt(void)
{
    MGuest *g = mguest_new(1, false);
    uint8_t *in;

    mguest_init_hca(g);
    mmap_icm(g, M_MTT, 0x8000, 1);
    in = min_box(g);
    put_be64(in, M_MTT + 0x10);
    put_be64(in + 16, 0xabc001);
    put_be64(in + 24, 0xdef001);
    mok(g, MTHCA_CMD_WRITE_MTT, 2, 0);
    g_assert_cmphex(get_be64(g->mem + 0x8010), ==, 0xabc001);
    g_assert_cmphex(get_be64(g->mem + 0x8018), ==, 0xdef001);
    g_assert_cmphex(mcmd(g, MTHCA_CMD_READ_MTT, 1, 0, M_MTT + 0x18,
                         G_BUS + G_OUT, NULL), ==, 0);
    g_assert_cmphex(get_be64(mout_box(g)), ==, 0xdef001);
    put_be64(min_box(g), M_MTT + 0x1000);
    g_assert_cmphex(mcmd_box(g, MTHCA_CMD_WRITE_MTT, 1, 0), ==,
                    MTHCA_ST_BAD_PARAM);
    /* Two pages by one entry, whose size is no part of their address. */
    mtb_map_icm(min_box(g), 0, M_MTT + 0x2000, (G_BUS + 0xa000) | 1);
    mok(g, MTHCA_CMD_MAP_ICM, 1, 0);
    in = min_box(g);
    put_be64(in, M_MTT + 0x3008);
    put_be64(in + 16, 0x123001);
    mok(g, MTHCA_CMD_WRITE_MTT, 1, 0);
    g_assert_cmphex(get_be64(g->mem + 0xb008), ==, 0x123001);
    g_assert_cmphex(mcmd_box(g, MTHCA_CMD_WRITE_MTT, 0, 0), ==,
                    MTHCA_ST_BAD_SIZE);
    g_assert_cmphex(mcmd_box(g, MTHCA_CMD_WRITE_MTT, 511, 0), ==,
                    MTHCA_ST_BAD_SIZE);
    mguest_free(g);
}

static void test_eq(void)
{
    MGuest *g = mguest_new(1, false);
    uint32_t key;
    uint8_t *e = g->mem + EQ_OFF;

    mguest_init_hca(g);
    key = mregion_all(g, 0x10, 0);
    mmake_eq(g, 3, EQ_OFF, 2, key);
    g_assert_cmphex(mcmd_box(g, MTHCA_CMD_SW2HW_EQ, 3, 0), ==,
                    MTHCA_ST_BAD_RES_STATE);
    g_assert_cmphex(mcmd_box(g, MTHCA_CMD_SW2HW_EQ, 32, 0), ==,
                    MTHCA_ST_BAD_INDEX);
    min_box(g)[0x0c] = 18;
    g_assert_cmphex(mcmd_box(g, MTHCA_CMD_SW2HW_EQ, 4, 0), ==,
                    MTHCA_ST_BAD_PARAM);
    g_assert_cmphex(mcmd(g, MTHCA_CMD_MAP_EQ, 5, 0, 0x400, 0, NULL), ==,
                    MTHCA_ST_BAD_RES_STATE);
    g_assert_cmphex(mcmd(g, MTHCA_CMD_MAP_EQ, 3, 0, 0x400, 0, NULL), ==, 0);

    /* A command that completes by event: token, status, immediate. */
    mthca_bar0_write(g->m, MTHCA_HCR_BASE + MTHCA_HCR_TOKEN, 0xbeef0000);
    mthca_bar0_write(g->m, MTHCA_HCR_BASE + MTHCA_HCR_IN_MOD, 0x1f);
    mthca_bar0_write(g->m, MTHCA_HCR_BASE + MTHCA_HCR_CMD,
                     MTHCA_HCR_GO | MTHCA_HCR_EVENT | MTHCA_CMD_NOP);
    g_assert_cmphex(e[1], ==, MTHCA_EV_CMD);
    g_assert_cmphex(get_be16(e + 6), ==, 0xbeef);
    g_assert_cmphex(e[0x0f], ==, 0);
    g_assert_cmphex(e[0x1f], ==, 0);
    g_assert_cmpuint(g->msix[2], ==, 1);
    /* Fired: no second interrupt before it is armed again. */
    mthca_bar0_write(g->m, MTHCA_HCR_BASE + MTHCA_HCR_CMD,
                     MTHCA_HCR_GO | MTHCA_HCR_EVENT | 0x7ff);
    g_assert_cmphex(e[32 + 0x0f], ==, MTHCA_ST_BAD_OP);
    g_assert_cmpuint(g->msix[2], ==, 1);
    /* Armed with an entry not consumed: at once. */
    mthca_bar0_write(g->m, MTHCA_EQ_SET_CI + 8 * 3, 1);
    mthca_bar0_write(g->m, MTHCA_EQ_ARM + 4, 1u << 3);
    g_assert_cmpuint(g->msix[2], ==, 2);
    mthca_bar0_write(g->m, MTHCA_EQ_SET_CI + 8 * 3, 2);
    mthca_bar0_write(g->m, MTHCA_EQ_ARM + 4, 1u << 3);
    g_assert_cmpuint(g->msix[2], ==, 2);
    /* A consumer index ahead of the producer is refused, as is one that is
     * more than the 64 entries behind it. */
    mthca_bar0_write(g->m, MTHCA_EQ_SET_CI + 8 * 3, 50);
    mthca_bar0_write(g->m, MTHCA_EQ_SET_CI + 8 * 3, 2 - 64 - 1);
    mok(g, MTHCA_CMD_QUERY_EQ, 3, 0);
    g_assert_cmpuint(get_be32(mout_box(g) + 0x28), ==, 2);
    g_assert_cmpuint(get_be32(mout_box(g) + 0x2c), ==, 2);
    /* Just so many is a queue that is full. */
    mthca_bar0_write(g->m, MTHCA_EQ_SET_CI + 8 * 3, 2 - 64);
    mok(g, MTHCA_CMD_QUERY_EQ, 3, 0);
    g_assert_cmphex(get_be32(mout_box(g) + 0x28), ==, 2u - 64);
    mthca_bar0_write(g->m, MTHCA_EQ_SET_CI + 8 * 3, 2);
    mok(g, MTHCA_CMD_QUERY_EQ, 3, 0);
    g_assert_cmphex(get_be32(mout_box(g)), ==, 0x01040900);
    g_assert_cmphex(get_be64(mout_box(g) + 4), ==, G_BUS + EQ_OFF);
    g_assert_cmphex(mout_box(g)[0x17], ==, 0x82);
    g_assert_cmphex(get_be32(mout_box(g) + 0x1c), ==, key);
    /* Arming one that is none does nothing. */
    mthca_bar0_write(g->m, MTHCA_EQ_ARM + 4, 1u << 4);
    mok(g, MTHCA_CMD_QUERY_EQ, 3, 0);
    g_assert_cmphex(mcmd_box(g, MTHCA_CMD_QUERY_EQ, 4, 0), ==,
                    MTHCA_ST_BAD_RES_STATE);
    /* Overflow: reported in the context, nothing overwritten. */
    for (unsigned i = 0; i < 70; i++) {
        mthca_bar0_write(g->m, MTHCA_HCR_BASE + MTHCA_HCR_CMD,
                         MTHCA_HCR_GO | MTHCA_HCR_EVENT | MTHCA_CMD_NOP);
    }
    mok(g, MTHCA_CMD_QUERY_EQ, 3, 0);
    g_assert_cmphex(get_be32(mout_box(g)) >> 28, ==, 9);
    g_assert_cmpuint(get_be32(mout_box(g) + 0x2c), ==, 66);
    mok(g, MTHCA_CMD_HW2SW_EQ, 3, 0);
    g_assert_cmphex(mcmd_box(g, MTHCA_CMD_HW2SW_EQ, 3, 0), ==,
                    MTHCA_ST_BAD_RES_STATE);
    /* What was mapped to it is not to the next one of that number. */
    mmake_eq(g, 3, EQ_OFF, 2, key);
    mthca_bar0_write(g->m, MTHCA_HCR_BASE + MTHCA_HCR_CMD,
                     MTHCA_HCR_GO | MTHCA_HCR_EVENT | MTHCA_CMD_NOP);
    g_assert_cmphex(e[31], ==, MTHCA_OWNER_HW);
    mguest_free(g);
}

/* Interrupt pin: asserted by an event, cleared by clr_int, again at arm. */
static void test_intx(void)
{
    MGuest *g = mguest_new(1, false);
    uint32_t key;
    uint8_t *in;

    mguest_init_hca(g);
    key = mregion_all(g, 0x10, 0);
    in = min_box(g);
    put_be32(in, 0x01040900);
    put_be64(in + 4, G_BUS + EQ_OFF);
    in[0x0c] = 6;
    in[0x17] = 0x1f;
    put_be32(in + 0x1c, key);
    mok(g, MTHCA_CMD_SW2HW_EQ, 1, 0);
    g_assert_cmphex(mcmd(g, MTHCA_CMD_MAP_EQ, 1, 0, 0x400, 0, NULL), ==, 0);
    mthca_bar0_write(g->m, MTHCA_HCR_BASE + MTHCA_HCR_CMD,
                     MTHCA_HCR_GO | MTHCA_HCR_EVENT | MTHCA_CMD_NOP);
    g_assert_true(g->intx);
    mthca_bar0_write(g->m, MTHCA_CLR_INT, 1u << 31);
    g_assert_false(g->intx);
    mthca_bar0_write(g->m, MTHCA_EQ_ARM + 4, 2);
    g_assert_true(g->intx);
    mthca_bar0_write(g->m, MTHCA_CLR_INT + 4, 1u << 31);
    mthca_bar0_write(g->m, MTHCA_EQ_SET_CI + 8, 1);
    mthca_bar0_write(g->m, MTHCA_EQ_ARM + 4, 2);
    g_assert_false(g->intx);
    mguest_free(g);
}

static void test_cq_srq(void)
{
    MGuest *g = mguest_new(1, false);
    uint8_t *in;

    mguest_init_hca(g);
    mregion_all(g, 0x10, 0);
    in = min_box(g);
    put_be32(in + 0x0c, 6u << 24 | 2);
    put_be32(in + 0x14, 1);
    put_be32(in + 0x1c, 0x1000);
    mok(g, MTHCA_CMD_SW2HW_CQ, 1, 0);
    g_assert_cmphex(mcmd_box(g, MTHCA_CMD_SW2HW_CQ, 1, 0), ==,
                    MTHCA_ST_BAD_RES_STATE);
    /* Same slot, another generation. */
    g_assert_cmphex(mcmd_box(g, MTHCA_CMD_SW2HW_CQ, 0x10001, 0), ==,
                    MTHCA_ST_BAD_RES_STATE);
    g_assert_cmphex(mcmd_box(g, MTHCA_CMD_SW2HW_CQ, 1u << 24, 0), ==,
                    MTHCA_ST_BAD_INDEX);
    put_be32(in + 0x0c, 18u << 24);
    g_assert_cmphex(mcmd_box(g, MTHCA_CMD_SW2HW_CQ, 2, 0), ==,
                    MTHCA_ST_BAD_SIZE);
    put_be32(in + 0x0c, 4u << 24 | 2048);
    g_assert_cmphex(mcmd_box(g, MTHCA_CMD_SW2HW_CQ, 2, 0), ==,
                    MTHCA_ST_BAD_INDEX);
    in = min_box(g);
    in[0x0c] = 8;
    put_be32(in + 0x1c, 0x1000);
    mok(g, MTHCA_CMD_RESIZE_CQ, 1, 1);
    mok(g, MTHCA_CMD_QUERY_CQ, 1, 0);
    g_assert_cmpuint(mout_box(g)[0x0c], ==, 8);
    in[0x0c] = 18;
    g_assert_cmphex(mcmd_box(g, MTHCA_CMD_RESIZE_CQ, 1, 1), ==,
                    MTHCA_ST_BAD_SIZE);
    mok(g, MTHCA_CMD_HW2SW_CQ, 1, 0);
    g_assert_cmphex(mcmd_box(g, MTHCA_CMD_HW2SW_CQ, 1, 0), ==,
                    MTHCA_ST_BAD_RES_STATE);

    in = min_box(g);
    put_be32(in, 4u << 24 | 7);
    put_be32(in + 4, 0x1000);
    put_be32(in + 0x0c, 2u << 29 | 2);
    put_be16(in + 0x1c, 9);
    mok(g, MTHCA_CMD_SW2HW_SRQ, 7, 0);
    g_assert_cmphex(mcmd_box(g, MTHCA_CMD_SW2HW_SRQ, 7, 0), ==,
                    MTHCA_ST_BAD_RES_STATE);
    g_assert_cmphex(mcmd(g, MTHCA_CMD_ARM_SRQ, 7, 0, 16, 0, NULL), ==,
                    MTHCA_ST_BAD_PARAM);
    g_assert_cmphex(mcmd(g, MTHCA_CMD_ARM_SRQ, 8, 0, 1, 0, NULL), ==,
                    MTHCA_ST_BAD_RES_STATE);
    /* Nothing is posted: below any limit, which is used up. */
    g_assert_cmphex(mcmd(g, MTHCA_CMD_ARM_SRQ, 7, 0, 3, 0, NULL), ==, 0);
    mok(g, MTHCA_CMD_QUERY_SRQ, 7, 0);
    g_assert_cmpuint(get_be16(mout_box(g) + 0x1c), ==, 0);
    mok(g, MTHCA_CMD_HW2SW_SRQ, 7, 0);
    g_assert_cmphex(mcmd_box(g, MTHCA_CMD_HW2SW_SRQ, 7, 0), ==,
                    MTHCA_ST_BAD_RES_STATE);
    mguest_free(g);
}

static void test_mgm(void)
{
    MGuest *g = mguest_new(1, false);
    uint64_t imm;
    uint8_t *in;

    mguest_init_hca(g);
    mok(g, MTHCA_CMD_READ_MGM, 5, 0);
    for (unsigned i = 0; i < 256; i++) {
        g_assert_cmphex(mout_box(g)[i], ==, 0);
    }
    in = min_box(g);
    put_be32(in, 0x1234 << 6);
    memset(in + 0x10, 0xff, 16);
    mok(g, MTHCA_CMD_WRITE_MGM, 5, 0);
    mok(g, MTHCA_CMD_READ_MGM, 5, 0);
    g_assert_cmpmem(mout_box(g), 256, in, 256);
    g_assert_cmphex(mcmd_box(g, MTHCA_CMD_READ_MGM, 1 << 13, 0), ==,
                    MTHCA_ST_BAD_INDEX);
    g_assert_cmphex(mcmd_box(g, MTHCA_CMD_WRITE_MGM, 1 << 13, 0), ==,
                    MTHCA_ST_BAD_INDEX);
    /* Each QP of a list is looked at, and none that is not on it. */
    in = min_box(g);
    memset(in + 0x10, 0xff, 16);
    for (unsigned i = 0; i < 5; i++) {
        put_be32(in + 0x20 + 4 * i, 1u << 31 | (0x8181 + i));
    }
    g->rules = 0;
    mok(g, MTHCA_CMD_WRITE_MGM, 6, 0);
    g_assert_cmpuint(g->rules, ==, 5);          /* there are no such QPs */
    /* Those that were on the list are not new, wherever they stand now. */
    put_be32(in + 0x20, 1u << 31 | 0x8184);
    put_be32(in + 0x2c, 1u << 31 | 0x8181);
    mok(g, MTHCA_CMD_WRITE_MGM, 6, 0);
    g_assert_cmpuint(g->rules, ==, 5);
    put_be32(in + 0x20, 0);
    mok(g, MTHCA_CMD_WRITE_MGM, 6, 0);
    g_assert_cmpuint(g->rules, ==, 5);
    /* Eight words, each counts, modulo the size that INIT_HCA gave (1000). */
    for (unsigned i = 0; i < 8; i++) {
        in = min_box(g);
        put_be16(in, 0x1111);
        in[i * 2] ^= 0x3;
        in[i * 2 + 1] ^= 0x45;
        g_assert_cmphex(mcmd(g, MTHCA_CMD_MGID_HASH, 0, 0, G_BUS + G_IN, 0,
                             &imm), ==, 0);
        g_assert_cmphex(imm, ==, 0x254);
    }
    mguest_free(g);
}

static void test_registers(void)
{
    MGuest *g = mguest_new(1, false);

    g_assert_cmphex(mthca_bar0_read(g->m, MTHCA_CATAS), ==, 0);
    mthca_catas_set(g->m, 0x01000000);
    g_assert_cmphex(mthca_bar0_read(g->m, MTHCA_CATAS), ==, 0x01000000);
    mthca_bar0_write(g->m, MTHCA_RESET, 0);
    g_assert_cmpuint(g->resets, ==, 0);
    mguest_init_hca(g);
    mthca_bar0_write(g->m, MTHCA_RESET, 1);
    g_assert_cmpuint(g->resets, ==, 1);
    g_assert_cmphex(mthca_bar0_read(g->m, MTHCA_CATAS), ==, 0);
    g_assert_cmphex(mcmd_box(g, MTHCA_CMD_QUERY_DEV_LIM, 0, 0), ==,
                    MTHCA_ST_BAD_SYS_STATE);
    /* Doorbells before INIT_HCA, halves, and to no doorbell. */
    g->rules = 0;
    mthca_uar_write(g->m, 0x2010, 1ull << 56, 8);
    mguest_init_hca(g);
    mthca_uar_write(g->m, 0x2018, 1, 8);
    mthca_uar_write(g->m, 0x2014, 1, 4);
    mthca_uar_write(g->m, 0x2010, 0x01000000, 4);
    g_assert_cmpuint(g->rules, ==, 3);
    mthca_uar_write(g->m, 0x2014, 0x500, 4);    /* no such QP */
    g_assert_cmpuint(g->rules, ==, 4);
    mthca_uar_write(g->m, 0x2020, 2ull << 56, 8);   /* no such CQ */
    g_assert_cmpuint(g->rules, ==, 5);
    /* The last event queue's index, and what is behind it. */
    mthca_bar0_write(g->m, MTHCA_EQ_SET_CI + 8 * 63, 0);
    g_assert_cmpuint(g->rules, ==, 5);
    mthca_bar0_write(g->m, MTHCA_EQ_SET_CI + 8 * 64, 0);
    g_assert_cmpuint(g->rules, ==, 6);
    mguest_free(g);
}

static void make_cq(MGuest *g)
{
    uint8_t *in = min_box(g);

    put_be32(in + 0x0c, 6u << 24 | 2);
    put_be32(in + 0x1c, 0x1000);
    mok(g, MTHCA_CMD_SW2HW_CQ, 1, 0);
}

/* Nothing that was made is left by CLOSE_HCA. */
static void test_close(void)
{
    MGuest *g = mguest_new(1, false);
    uint32_t key;

    mguest_init_hca(g);
    key = mregion_all(g, 0x10, 0);
    mmake_eq(g, 3, EQ_OFF, 2, key);
    make_cq(g);
    g_assert_cmphex(mcmd(g, MTHCA_CMD_MAP_EQ, 3, 0, 0x400, 0, NULL), ==, 0);
    g_assert_cmphex(mcmd(g, MTHCA_CMD_CLOSE_HCA, 0, 0, 0, 0, NULL), ==, 0);
    g_assert_null(rdma_cq_get(mthca_rdma(g->m), 1));
    mtb_init_hca(min_box(g), M_UARC, M_MTT);
    g->mem[G_IN + 0xfb] = g->log_mpts;
    mok(g, MTHCA_CMD_INIT_HCA, 0, 0);
    g_assert_cmphex(mcmd_box(g, MTHCA_CMD_QUERY_EQ, 3, 0), ==,
                    MTHCA_ST_BAD_RES_STATE);
    g_assert_cmphex(mcmd_box(g, MTHCA_CMD_QUERY_CQ, 1, 0), ==,
                    MTHCA_ST_BAD_RES_STATE);
    g_assert_cmphex(mcmd_box(g, MTHCA_CMD_QUERY_MPT, 0x10, 0), ==,
                    MTHCA_ST_BAD_RES_STATE);
    /* Nor are events of the new queue of that number, before it asks for any. */
    mregion_all(g, 0x10, 0);
    mmake_eq(g, 3, EQ_OFF, 2, key);
    mthca_bar0_write(g->m, MTHCA_HCR_BASE + MTHCA_HCR_CMD,
                     MTHCA_HCR_GO | MTHCA_HCR_EVENT | MTHCA_CMD_NOP);
    g_assert_cmphex(g->mem[EQ_OFF + 31], ==, MTHCA_OWNER_HW);
    g_assert_cmpuint(g->msix[2], ==, 0);
    mguest_free(g);
}

/* Half a doorbell ends with CLOSE_HCA. */
static void test_doorbell_half(void)
{
    MGuest *g = mguest_new(1, false);

    for (unsigned close = 0; close < 2; close++) {
        mthca_reset(g->m);
        mguest_init_hca(g);
        make_cq(g);
        g->rules = 0;
        mthca_uar_write(g->m, 0x2020, 2u << 24 | 1, 4);
        if (close) {
            g_assert_cmphex(mcmd(g, MTHCA_CMD_CLOSE_HCA, 0, 0, 0, 0, NULL),
                            ==, 0);
            mtb_init_hca(min_box(g), M_UARC, M_MTT);
            g->mem[G_IN + 0xfb] = g->log_mpts;
            mok(g, MTHCA_CMD_INIT_HCA, 0, 0);
            make_cq(g);
        }
        mthca_uar_write(g->m, 0x2024, 0, 4);
        g_assert_cmpuint(g->rules, ==, close);
        g_assert_cmpuint(mthca_counters(g->m)->cq_arms, ==, 1);
    }
    mguest_free(g);
}

/* EQs above 31 are armed by the first word of the register. */
static void test_eq_high(void)
{
    MGuest *g = mguest_new(1, false), *h;
    g_autofree uint8_t *block = NULL;
    uint32_t key;
    size_t len;

    mguest_init_hca(g);
    mok(g, MTHCA_CMD_QUERY_DEV_LIM, 0, 0);
    g_assert_cmpuint(mout_box(g)[0x1f], ==, 6);
    mguest_free(g);
    g = mguest_new(1, false);
    g_assert_cmphex(mcmd(g, MTHCA_CMD_RUN_FW, 0, 0, 0, 0, NULL), ==, 0);
    mtb_init_hca(min_box(g), M_UARC, M_MTT);
    g->mem[G_IN + 0x87] = 6;
    mok(g, MTHCA_CMD_INIT_HCA, 0, 0);
    key = mregion_all(g, 0x10, 0);
    mmake_eq(g, 63, EQ_OFF, 2, key);
    mmake_eq(g, 31, EQ_OFF + 0x1000, 3, key);
    g_assert_cmphex(mcmd_box(g, MTHCA_CMD_SW2HW_EQ, 64, 0), ==,
                    MTHCA_ST_BAD_INDEX);
    g_assert_cmphex(mcmd(g, MTHCA_CMD_MAP_EQ, 63, 0, 0x400, 0, NULL), ==, 0);
    for (unsigned i = 0; i < 2; i++) {
        mthca_bar0_write(g->m, MTHCA_HCR_BASE + MTHCA_HCR_CMD,
                         MTHCA_HCR_GO | MTHCA_HCR_EVENT | MTHCA_CMD_NOP);
    }
    g_assert_cmpuint(g->msix[2], ==, 1);
    mthca_bar0_write(g->m, MTHCA_EQ_ARM + 4, 1u << 31);
    g_assert_cmpuint(g->msix[2], ==, 1);
    mthca_bar0_write(g->m, MTHCA_EQ_ARM, 1u << 31);
    g_assert_cmpuint(g->msix[2], ==, 2);
    g_assert_cmpuint(g->msix[3], ==, 0);
    mthca_bar0_write(g->m, MTHCA_EQ_SET_CI + 8 * 63, 2);
    mok(g, MTHCA_CMD_QUERY_EQ, 63, 0);
    g_assert_cmpuint(get_be32(mout_box(g) + 0x28), ==, 2);
    g_assert_cmphex(mthca_bar0_read(g->m, MTHCA_CATAS), ==, 0);
    /* As many as there may be move, too. */
    block = mthca_save(g->m, 0, &len);
    h = mguest_new(1, false);
    memcpy(h->mem, g->mem, G_SIZE);
    g_assert_null(mthca_load(h->m, 0, block, len));
    mok(h, MTHCA_CMD_QUERY_EQ, 63, 0);
    g_assert_cmpuint(get_be32(mout_box(h) + 0x28), ==, 2);
    mguest_free(h);
    mguest_free(g);
}

/* An event queue whose last dword is out of memory loses the event. */
static void test_eqe_owner(void)
{
    MGuest *g = mguest_new(1, false);
    uint8_t *in;

    mguest_init_hca(g);
    in = min_box(g);
    mtb_eq(in, G_BUS + G_SIZE - MTHCA_EQE_SIZE + 4, 6, 2, 0);
    put_be32(in, 0x01000900);                   /* bus address */
    mok(g, MTHCA_CMD_SW2HW_EQ, 3, 0);
    g_assert_cmphex(mcmd(g, MTHCA_CMD_MAP_EQ, 3, 0, 0x400, 0, NULL), ==, 0);
    mthca_bar0_write(g->m, MTHCA_HCR_BASE + MTHCA_HCR_CMD,
                     MTHCA_HCR_GO | MTHCA_HCR_EVENT | MTHCA_CMD_NOP);
    g_assert_cmpuint(mthca_counters(g->m)->eqe_lost, ==, 1);
    g_assert_cmpuint(mthca_counters(g->m)->eqes, ==, 0);
    g_assert_cmpuint(g->msix[2], ==, 0);
    mok(g, MTHCA_CMD_QUERY_EQ, 3, 0);
    g_assert_cmpuint(get_be32(mout_box(g) + 0x2c), ==, 0);
    mguest_free(g);
}

static void test_migration(void)
{
    MGuest *g = mguest_new(1, false), *h = mguest_new(1, false);
    size_t len;
    uint8_t *block;
    uint32_t key;

    mguest_init_hca(g);
    key = mregion_all(g, 0x10, 0);
    mmake_eq(g, 3, EQ_OFF, 2, key);
    g_assert_cmphex(mcmd(g, MTHCA_CMD_MAP_EQ, 3, 0, 0x400, 0, NULL), ==, 0);
    block = mthca_save(g->m, 0, &len);
    memcpy(h->mem, g->mem, G_SIZE);
    g_assert_null(mthca_load(h->m, 0, block, len));
    mok(h, MTHCA_CMD_QUERY_MPT, 0x10, 0);
    mthca_bar0_write(h->m, MTHCA_HCR_BASE + MTHCA_HCR_CMD,
                     MTHCA_HCR_GO | MTHCA_HCR_EVENT | MTHCA_CMD_NOP);
    g_assert_cmpuint(h->msix[2], ==, 1);
    g_free(block);
    mguest_free(g);
    mguest_free(h);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/mthca/cmd/states", test_states);
    g_test_add_func("/mthca/cmd/query-fw", test_query_fw);
    g_test_add_func("/mthca/cmd/dev-lim", test_dev_lim);
    g_test_add_func("/mthca/cmd/mailbox", test_mailbox);
    g_test_add_func("/mthca/cmd/icm", test_icm);
    g_test_add_func("/mthca/cmd/init-hca", test_init_hca);
    g_test_add_func("/mthca/cmd/mpt", test_mpt);
    g_test_add_func("/mthca/cmd/mtt", test_mtt);
    g_test_add_func("/mthca/cmd/eq", test_eq);
    g_test_add_func("/mthca/cmd/eq-high", test_eq_high);
    g_test_add_func("/mthca/cmd/eqe-owner", test_eqe_owner);
    g_test_add_func("/mthca/cmd/intx", test_intx);
    g_test_add_func("/mthca/cmd/cq-srq", test_cq_srq);
    g_test_add_func("/mthca/cmd/mgm", test_mgm);
    g_test_add_func("/mthca/registers", test_registers);
    g_test_add_func("/mthca/close", test_close);
    g_test_add_func("/mthca/doorbell-half", test_doorbell_half);
    g_test_add_func("/mthca/migration", test_migration);
    return g_test_run();
}
