/*
 * Unit tests of the NCIC Ethernet engine: the rig
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <string.h>
#include "harness.h"

static bool in_memory(uint64_t addr, size_t len)
{
    return addr >= MEM_BASE && addr - MEM_BASE <= MEM_SIZE &&
           len <= MEM_SIZE - (addr - MEM_BASE);
}

static bool op_dma_ok(void *o)
{
    return !((Rig *)o)->dma_off;
}

static bool op_read(void *o, uint64_t addr, void *buf, size_t len)
{
    if (!in_memory(addr, len)) {
        return false;
    }
    memcpy(buf, rig_ptr(o, addr), len);
    return true;
}

static bool op_write(void *o, uint64_t addr, const void *buf, size_t len)
{
    if (!in_memory(addr, len)) {
        return false;
    }
    memcpy(rig_ptr(o, addr), buf, len);
    if (((Rig *)o)->reset_on_write) {
        ((Rig *)o)->reset_on_write = false;
        ncic_eth_reset(&((Rig *)o)->eth);
    }
    return true;
}

static const void *op_map(void *o, uint64_t addr, size_t len)
{
    if (!in_memory(addr, len)) {
        return NULL;
    }
    ((Rig *)o)->maps++;
    return rig_ptr(o, addr);
}

static void op_unmap(void *o, const void *p, size_t len)
{
    g_assert_nonnull(p);
    ((Rig *)o)->unmaps++;
}

static void op_desc_read(void *o, NcicDir dir, unsigned q, unsigned slot,
                         uint64_t addr, uint32_t tag)
{
    Rig *r = o;
    unsigned i;

    g_assert_cmphex(addr, ==, r->eth.queue[dir][q].desc.base +
                              slot * NCIC_DESC_SIZE);
    g_assert_cmpuint(r->n_wait, <, G_N_ELEMENTS(r->wait));
    i = r->n_wait++;
    r->wait[i].dir = dir;
    r->wait[i].addr = addr;
    r->wait[i].tag = tag;
    if (!r->async) {
        r->n_wait = 0;
        rig_answer(r, i);
    }
}

static bool op_cpl_write(void *o, NcicDir dir, unsigned q, unsigned slot,
                         uint64_t addr, const void *cpl)
{
    g_assert_cmphex(addr, ==, ((Rig *)o)->eth.queue[dir][q].cpl.base +
                              slot * NCIC_CPL_SIZE);
    return op_write(o, addr, cpl, NCIC_CPL_SIZE);
}

static bool op_tx(void *o, NcicSource src, const void *frame, size_t len)
{
    Rig *r = o;

    g_assert_cmpuint(r->n_sent, <, SENT_MAX);
    r->sent[r->n_sent] = g_byte_array_new();
    g_byte_array_append(r->sent[r->n_sent++], frame, len);
    if (r->wire_full) {
        r->owed[r->n_owed++] = src;
    }
    return !r->wire_full;
}

static void op_ring_changed(void *o, NcicDir dir, unsigned q)
{
    ((Rig *)o)->ring_changes[dir][q]++;
}

static void op_msix(void *o, unsigned vector)
{
    g_assert_cmpuint(vector, <, 64);
    ((Rig *)o)->irq[vector]++;
}

static void op_kick_tx(void *o)
{
    ((Rig *)o)->kicks_tx++;
}

static void op_doorbell_tx(void *o)
{
    Rig *r = o;

    if (!r->tx_inline || ncic_eth_tx_run(&r->eth, r->tx_inline)) {
        op_kick_tx(r);
    }
}

static void op_kick_rx(void *o)
{
    ((Rig *)o)->kicks_rx++;
}

static void op_guest_error(void *o, unsigned error, const char *text,
                           uint64_t a, uint64_t b)
{
    g_assert_nonnull(text);
    ((Rig *)o)->errors[error]++;
}

static const NcicEthOps ops = {
    .dma_ok = op_dma_ok,
    .read = op_read,
    .write = op_write,
    .map = op_map,
    .unmap = op_unmap,
    .desc_read = op_desc_read,
    .cpl_write = op_cpl_write,
    .ring_changed = op_ring_changed,
    .tx = op_tx,
    .msix = op_msix,
    .kick_tx = op_kick_tx,
    .doorbell_tx = op_doorbell_tx,
    .kick_rx = op_kick_rx,
    .guest_error = op_guest_error,
};

NcicEthConfig rig_config(void)
{
    return (NcicEthConfig) {
        .queues = 32,
        .vectors = 64,
        .mtu = 1500,
        .mac = { 0x52, 0x54, 0x00, 0x12, 0x34, 0x56 },
        .ext = true,
        .tx_start = true,
        .irq_coalesce = true,
        .roce_csum = true,
    };
}

void rig_init(Rig *r, const NcicEthConfig *cfg)
{
    NcicEthConfig def = rig_config();

    memset(r, 0, sizeof(*r));
    r->mem = g_malloc0(MEM_SIZE);
    ncic_eth_init(&r->eth, cfg ? cfg : &def, &ops, r);
}

void rig_fini(Rig *r)
{
    for (unsigned i = 0; i < r->n_sent; i++) {
        g_byte_array_unref(r->sent[i]);
    }
    g_assert_cmpuint(r->maps, ==, r->unmaps);
    ncic_eth_fini(&r->eth);
    g_free(r->mem);
}

void rig_wire_done(Rig *r, bool sent)
{
    unsigned n = r->n_owed;

    r->n_owed = 0;
    for (unsigned i = 0; i < n; i++) {
        ncic_eth_tx_done(&r->eth, r->owed[i], sent);
    }
}

void rig_write(Rig *r, uint32_t addr, uint32_t val)
{
    uint32_t off;
    NcicWindow win = ncic_bar0_decode(NCIC_LAYOUT_BOTH, addr, &off);

    ncic_eth_reg_write(&r->eth, win, off, val);
}

uint32_t rig_read(Rig *r, uint32_t addr)
{
    uint32_t off;
    NcicWindow win = ncic_bar0_decode(NCIC_LAYOUT_BOTH, addr, &off);

    return ncic_eth_reg_read(&r->eth, win, off);
}

void rig_queue(Rig *r, NcicDir dir, unsigned q, unsigned log)
{
    rig_write(r, qreg(dir, q, NCIC_Q_CPL_BASE_LO), cpl_ring(dir, q));
    rig_write(r, qreg(dir, q, NCIC_Q_CPL_BASE_HI), cpl_ring(dir, q) >> 32);
    rig_write(r, qreg(dir, q, NCIC_Q_CPL_LOG_SIZE), log);
    rig_write(r, qreg(dir, q, NCIC_Q_CPL_LOG_SIZE), NCIC_Q_ACTIVE | log);
    rig_write(r, qreg(dir, q, NCIC_Q_CPL_INTR),
              NCIC_Q_CPL_ARMED | (2 * q + dir));
    rig_write(r, qreg(dir, q, NCIC_Q_BASE_LO), desc_ring(dir, q));
    rig_write(r, qreg(dir, q, NCIC_Q_BASE_HI), desc_ring(dir, q) >> 32);
    rig_write(r, qreg(dir, q, NCIC_Q_CPL_INDEX), q);
    rig_write(r, qreg(dir, q, NCIC_Q_LOG_SIZE), NCIC_Q_ACTIVE | log);
}

void rig_desc(Rig *r, NcicDir dir, unsigned q, unsigned log, uint16_t index,
              uint64_t addr, uint16_t len, uint8_t start, uint8_t offset)
{
    uint8_t *d = rig_ptr(r, desc_ring(dir, q) +
                            (index & ((1u << log) - 1)) * NCIC_DESC_SIZE);

    memset(d, 0, NCIC_DESC_SIZE);
    d[NCIC_DESC_CSUM_START] = start;
    d[NCIC_DESC_CSUM_OFFSET] = offset;
    put_le16(d + NCIC_DESC_LENGTH, len);
    put_le64(d + NCIC_DESC_ADDR, addr);
}

uint8_t *rig_cpl(Rig *r, NcicDir dir, unsigned q, unsigned log, uint16_t index)
{
    return rig_ptr(r, cpl_ring(dir, q) +
                      (index & ((1u << log) - 1)) * NCIC_CPL_SIZE);
}

void rig_answer(Rig *r, unsigned i)
{
    uint64_t addr = r->wait[i].addr;
    uint8_t desc[NCIC_DESC_SIZE];
    bool ok = op_read(r, addr, desc, sizeof(desc));

    ncic_eth_desc_done(&r->eth, r->wait[i].dir, r->wait[i].tag,
                       ok ? desc : NULL);
}
