/*
 * Test double of the outside of ncic-mthca.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <string.h>

#include "mthca-double.h"

static bool inside(uint64_t addr, size_t len)
{
    return addr >= G_BUS && addr - G_BUS <= G_SIZE &&
           len <= G_SIZE - (addr - G_BUS);
}

static bool op_read(void *o, uint64_t addr, void *buf, size_t len)
{
    MGuest *g = o;

    if (!inside(addr, len)) {
        return false;
    }
    memcpy(buf, g->mem + (addr - G_BUS), len);
    return true;
}

static bool op_write(void *o, uint64_t addr, const void *buf, size_t len)
{
    MGuest *g = o;

    if (!inside(addr, len)) {
        return false;
    }
    memcpy(g->mem + (addr - G_BUS), buf, len);
    return true;
}

static bool op_tx(void *o, const struct iovec *f, unsigned n)
{
    MGuest *g = o;

    for (unsigned i = 0; i < n; i++) {
        g_ptr_array_add(g->wire, g_bytes_new(f[i].iov_base, f[i].iov_len));
    }
    return true;
}

static void op_log(void *o, uint32_t n, const char *rule, const char *text)
{
    ((MGuest *)o)->rules++;
}

static const RdmaOps rdma_ops = {
    .read = op_read, .write = op_write, .wire_tx = op_tx, .log = op_log,
};

static void op_msix(void *o, unsigned vector)
{
    ((MGuest *)o)->msix[vector]++;
}

static void op_intx(void *o, bool level)
{
    ((MGuest *)o)->intx = level;
}

static uint64_t op_bar0(void *o)
{
    return 0xfe000000;
}

static void op_reset(void *o)
{
    MGuest *g = o;

    g->resets++;
    mthca_reset(g->m);
}

static const MthcaOps mthca_ops = {
    .msix = op_msix, .intx = op_intx, .bar0_addr = op_bar0,
    .reset = op_reset,
};

MGuest *mguest_new(uint16_t lid, bool sm)
{
    MGuest *g = g_new0(MGuest, 1);

    g->mem = g_malloc0(G_SIZE);
    g->wire = g_ptr_array_new_with_free_func((GDestroyNotify)g_bytes_unref);
    rdma_config_init(&g->cfg.rdma);
    g->cfg.rdma.ops = &rdma_ops;
    g->cfg.rdma.ops_opaque = g;
    g->cfg.ops = &mthca_ops;
    g->cfg.mac[0] = 2;
    g->cfg.mac[5] = lid;
    g->cfg.guid = 0x0002c90000000000ull + lid * 16;
    g->cfg.port_guid = g->cfg.guid + 1;
    g->cfg.gid_prefix = 0xfe80ull << 48;
    g->cfg.lid = lid;
    g->cfg.sm = sm;
    strcpy(g->cfg.board_id, "0123456789abcdef");
    g->log_mpts = MTB_LOG_MPTS;
    g->m = mthca_new(&g->cfg);
    return g;
}

void mguest_free(MGuest *g)
{
    mthca_free(g->m);
    g_ptr_array_free(g->wire, true);
    g_free(g->mem);
    g_free(g);
}

uint8_t mcmd(MGuest *g, uint16_t op, uint32_t mod, uint8_t op_mod,
             uint64_t in, uint64_t out, uint64_t *imm)
{
    const uint32_t regs[] = { in >> 32, in, mod, out >> 32, out,
                              0xffff0000u };
    uint32_t st;

    g_assert_false(mthca_bar0_read(g->m, MTHCA_HCR_BASE + MTHCA_HCR_CMD) &
                   MTHCA_HCR_GO);
    for (unsigned i = 0; i < G_N_ELEMENTS(regs); i++) {
        mthca_bar0_write(g->m, MTHCA_HCR_BASE + i * 4, regs[i]);
    }
    mthca_bar0_write(g->m, MTHCA_HCR_BASE + MTHCA_HCR_CMD,
                     MTHCA_HCR_GO | (uint32_t)op_mod << 12 | op);
    st = mthca_bar0_read(g->m, MTHCA_HCR_BASE + MTHCA_HCR_CMD);
    g_assert_false(st & MTHCA_HCR_GO);
    if (imm) {
        *imm = (uint64_t)mthca_bar0_read(g->m, MTHCA_HCR_BASE +
                                         MTHCA_HCR_OUT_HI) << 32 |
               mthca_bar0_read(g->m, MTHCA_HCR_BASE + MTHCA_HCR_OUT_LO);
    }
    return st >> 24;
}

uint8_t mcmd_box(MGuest *g, uint16_t op, uint32_t mod, uint8_t op_mod)
{
    return mcmd(g, op, mod, op_mod, G_BUS + G_IN, G_BUS + G_OUT, NULL);
}

void mok(MGuest *g, uint16_t op, uint32_t mod, uint8_t op_mod)
{
    g_assert_cmphex(mcmd_box(g, op, mod, op_mod), ==, MTHCA_ST_OK);
}

uint8_t *min_box(MGuest *g)
{
    return memset(g->mem + G_IN, 0, 4096);
}

uint8_t *mout_box(MGuest *g)
{
    return g->mem + G_OUT;
}

void mmap_icm(MGuest *g, uint64_t virt, uint32_t off, unsigned pages)
{
    uint8_t *in = min_box(g);

    for (unsigned i = 0; i < pages; i++) {
        mtb_map_icm(in, i, virt + i * 4096, G_BUS + off + i * 4096);
    }
    mok(g, MTHCA_CMD_MAP_ICM, pages, 0);
}

void mguest_init_hca(MGuest *g)
{
    g_assert_cmphex(mcmd(g, MTHCA_CMD_RUN_FW, 0, 0, 0, 0, NULL), ==, 0);
    mtb_init_hca(min_box(g), M_UARC, M_MTT);
    g->mem[G_IN + 0xfb] = g->log_mpts;
    mok(g, MTHCA_CMD_INIT_HCA, 0, 0);
}

uint32_t mregion_all(MGuest *g, uint32_t index, uint32_t pd)
{
    mtb_region(min_box(g), index, pd, 0, ~0ull);
    mok(g, MTHCA_CMD_SW2HW_MPT, index, 0);
    return index << 8;
}

void mmake_eq(MGuest *g, uint32_t eqn, uint32_t off, uint8_t vector,
              uint32_t key)
{
    for (unsigned i = 0; i < 64; i++) {
        g->mem[off + i * 32 + 31] = MTHCA_OWNER_HW;
    }
    mtb_eq(min_box(g), G_BUS + off, 6, vector, key);
    mok(g, MTHCA_CMD_SW2HW_EQ, eqn, 0);
}

static bool deliver(MGuest *from, MGuest *to)
{
    bool any = false;

    rdma_poll(mthca_rdma(from->m), from->now);
    while (from->wire->len) {
        GBytes *f = g_ptr_array_steal_index(from->wire, 0);
        gsize len;
        const uint8_t *p = g_bytes_get_data(f, &len);

        rdma_rx_frame(mthca_rdma(to->m), p, len, to->now);
        g_bytes_unref(f);
        any = true;
    }
    rdma_poll(mthca_rdma(to->m), to->now);
    return any;
}

void mexchange(MGuest *a, MGuest *b)
{
    unsigned idle = 0;

    for (unsigned i = 0; i < 1000 && idle < 3; i++) {
        bool any = deliver(a, b);

        any |= deliver(b, a);
        idle = any ? 0 : idle + 1;
    }
    g_assert_cmpuint(idle, ==, 3);
}
