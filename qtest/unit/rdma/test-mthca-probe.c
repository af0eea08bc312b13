/*
 * ncic-mthca: the commands that Linux 6.1 issues on one port until interrupts
 * work, with its numbers: keys, translation entries, event queues.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <string.h>

#include "mthca-double.h"

enum { MTT_OFF = 0x100000 };    /* 64 pages that back the MTT chunk */

typedef struct Eq {
    uint32_t index;             /* protection entry */
    uint64_t len;
    uint64_t mtt;
    uint32_t eqn, log_size, lkey;
    uint8_t intr;
    uint32_t page[2];           /* guest pages of its first two pages */
} Eq;

static const Eq eqs[] = {
    { 0x11, 0x400000, 0x20002000, 1, 0x11, 0x1100, 0x80,
      { 0x210000, 0x20a000 } },
    { 0x12, 0x2000, 0x20000080, 2, 8, 0x1200, 0x81, { 0x220000, 0x21e000 } },
    { 0x13, 0x2000, 0x200000c0, 3, 8, 0x1300, 0x82, { 0x230000, 0x22c000 } },
};

static void map_chunk(MGuest *g, uint64_t virt, uint32_t off, unsigned log)
{
    uint8_t *in = min_box(g);

    put_be64(in, virt);
    put_be64(in + 8, (G_BUS + off) | log);
    mok(g, MTHCA_CMD_MAP_ICM, 1, 0);
}

static void make_eq(MGuest *g, const Eq *e)
{
    uint8_t *in;

    for (unsigned i = 0; i < 2; i++) {
        memset(g->mem + e->page[i], 0x80, 4096);
        /* Written by the CPU, straight into the pages behind the chunk. */
        put_be64(g->mem + MTT_OFF + (e->mtt - M_MTT) + i * 8,
                 (G_BUS + e->page[i]) | MTHCA_MTT_PRESENT);
    }
    in = min_box(g);
    put_be32(in, 0xf0020d00);
    put_be32(in + 8, e->index);
    put_be64(in + 0x18, e->len);
    put_be64(in + 0x2c, e->mtt);
    mok(g, MTHCA_CMD_SW2HW_MPT, e->index, 0);
    in = min_box(g);
    put_be32(in, 0x01040900);
    put_be32(in + 0x0c, e->log_size << 24);
    in[0x17] = e->intr;
    put_be32(in + 0x1c, e->lkey);
    mok(g, MTHCA_CMD_SW2HW_EQ, e->eqn, 0);
}

static void nop_by_event(MGuest *g, uint16_t token)
{
    mthca_bar0_write(g->m, MTHCA_HCR_BASE + MTHCA_HCR_IN_MOD, 0x1f);
    mthca_bar0_write(g->m, MTHCA_HCR_BASE + MTHCA_HCR_TOKEN,
                     (uint32_t)token << 16);
    mthca_bar0_write(g->m, MTHCA_HCR_BASE + MTHCA_HCR_CMD,
                     MTHCA_HCR_GO | MTHCA_HCR_EVENT | MTHCA_CMD_NOP);
}

static void test_probe(void)
{
    /* 256 KiB chunks of the tables, in the order of the driver. */
    static const uint32_t chunks[] = {
        0x25800000, 0x24000000, 0x26600000, 0x26000000, 0x26400000,
        0x26800000, 0x26840000,
    };
    MGuest *g = mguest_new(1, false);
    const Eq *cmd = &eqs[2];
    const uint8_t *e;
    uint64_t aux;
    uint8_t *in;

    mok(g, MTHCA_CMD_QUERY_FW, 0, 0);
    g_assert_cmphex(mcmd_box(g, MTHCA_CMD_ENABLE_LAM, 0, 0), ==,
                    MTHCA_ST_LAM_NOT_PRE);
    put_be64(min_box(g) + 8, G_BUS + 0x8000);
    mok(g, MTHCA_CMD_MAP_FA, 1, 0);
    mguest_init_hca(g);             /* RUN_FW, INIT_HCA */
    g_assert_cmphex(mcmd(g, MTHCA_CMD_SET_ICM_SIZE, 0, 0, 0x26a14000, 0,
                         &aux), ==, 0);
    map_chunk(g, M_MTT, MTT_OFF, 6);
    for (unsigned i = 0; i < G_N_ELEMENTS(chunks); i++) {
        map_chunk(g, chunks[i], 0x40000, 6);
    }
    mok(g, MTHCA_CMD_QUERY_ADAPTER, 0, 0);

    in = min_box(g);                /* the driver's own region: lkey 1000 */
    put_be32(in, 0xf0020f00);
    put_be32(in + 8, 0x10);
    put_be64(in + 0x18, ~0ull);
    mok(g, MTHCA_CMD_SW2HW_MPT, 0x10, 0);
    for (unsigned i = 0; i < G_N_ELEMENTS(eqs); i++) {
        make_eq(g, &eqs[i]);
    }
    g_assert_cmphex(mcmd(g, MTHCA_CMD_MAP_EQ, 2, 0, 0x1f43fe, 0, NULL), ==,
                    0);
    g_assert_cmphex(mcmd(g, MTHCA_CMD_MAP_EQ, 3, 0, 0x400, 0, NULL), ==, 0);
    for (unsigned i = 3; i >= 1; i--) {
        mthca_bar0_write(g->m, MTHCA_EQ_ARM + 4, 1u << i);
    }
    /* The NOP that must come back by interrupt, then across both pages. */
    for (unsigned i = 0; i < 300; i++) {
        nop_by_event(g, 16 + i);
        e = g->mem + cmd->page[i % 256 / 128] + i % 128 * 32;
        g_assert_cmphex(e[0x1f], ==, 0);
        g_assert_cmphex(e[1], ==, MTHCA_EV_CMD);
        g_assert_cmpuint(get_be16(e + 6), ==, 16 + i);
        g_assert_cmpuint(g->msix[2], ==, i + 1);
        mthca_bar0_write(g->m, MTHCA_EQ_SET_CI + 8 * 3, i + 1);
        mthca_bar0_write(g->m, MTHCA_EQ_ARM + 4, 1u << 3);
    }
    mok(g, MTHCA_CMD_CONF_SPECIAL_QP, 0x10, 0);
    mok(g, MTHCA_CMD_CONF_SPECIAL_QP, 0x12, 1);
    g_assert_cmphex(mcmd(g, MTHCA_CMD_CONF_SPECIAL_QP, 0x12, 2, 0, 0, NULL),
                    ==, MTHCA_ST_BAD_PARAM);
    /* An entry that is not present any more: the event is lost, no more. */
    put_be64(g->mem + MTT_OFF + (cmd->mtt - M_MTT), 0);
    put_be64(g->mem + MTT_OFF + (cmd->mtt - M_MTT) + 8, 0);
    nop_by_event(g, 1);
    g_assert_cmpuint(mthca_counters(g->m)->eqe_lost, ==, 1);
    g_assert_cmpuint(g->msix[2], ==, 300);
    g_assert_cmphex(mcmd(g, MTHCA_CMD_NOP, 0x1f, 0, 0, 0, NULL), ==, 0);
    mguest_free(g);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/mthca/probe", test_probe);
    return g_test_run();
}
