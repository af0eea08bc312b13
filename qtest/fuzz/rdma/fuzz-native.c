/*
 * A hostile driver of ncic-nic's RDMA engine, by libFuzzer: commands with
 * their mailboxes, doorbells, queue memory, migration.
 *
 * Before each input the engine is brought up as a driver does, with two QPs
 * connected to each other, so that the input starts where there is something
 * to break.  It is a series of records, the first byte of which says what
 * kind (see act()).  A command's mailbox is what a sane driver would have put
 * there, with a few bytes changed.  In the end the engine is reset and must
 * work as if nothing had been.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <stdio.h>
#include <stdlib.h>

#include <glib.h>

#include "rdma/fault.h"
#include "rdma/native.h"
#include "../../lib/native_build.h"
#include "input.h"

#define BUS       UINT64_C(0x100000000)
#define MEM_SIZE  0x80000u
#define IP        0x0a000001u
#define VA        UINT64_C(0x7f0000001000)

enum { PAGE = 0x1000, PD = 3, CQN = 2, EQN = 1, VECTOR = 3,
       MR_CQ = 1, MR_DATA, MR_SQ, MR_RQ = MR_SQ + 2,
       QPN = 4, PEER = 5, SLOT = 128, LOG_SLOT = 7, LOG_RING = 7 };
/* Guest memory; SQ and RQ of both QPs follow each other. */
enum { IN = 0x1000, OUT = 0x2000, CQ = 0x3000, EQ = 0x4000, SQ = 0x5000,
       RQ = 0x7000, ICM = 0x10000, DATA = 0x40000, DATA_LEN = 0x20000 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const NrbTables tables = {
    .qpc = 0, .cqc = 0x400000, .eqc = 0x600000, .mpt = 0x700000,
    .mtt = 0x900000,
};
static uint8_t mem[MEM_SIZE];
static NativeRdma *n;
static int64_t now;

/* ---- the outside ---- */

static bool inside(uint64_t addr, size_t len)
{
    return addr >= BUS && addr - BUS <= MEM_SIZE &&
           len <= MEM_SIZE - (addr - BUS);
}

static bool op_read(void *o, uint64_t addr, void *buf, size_t len)
{
    if (!inside(addr, len)) {
        return false;
    }
    memcpy(buf, mem + (addr - BUS), len);
    return true;
}

static bool op_write(void *o, uint64_t addr, const void *buf, size_t len)
{
    if (!inside(addr, len)) {
        return false;
    }
    memcpy(mem + (addr - BUS), buf, len);
    return true;
}

static bool op_tx(void *o, const struct iovec *f, unsigned num)
{
    return true;
}

static void op_msix(void *o, unsigned vector)
{
}

static const RdmaOps rdma_ops = {
    .read = op_read, .write = op_write, .wire_tx = op_tx,
};
static const NativeOps native_ops = { .msix = op_msix };

static void engine_new(void)
{
    RdmaPort port = { .mac = { 2, 0, 0, 0, 0, 1 }, .ip = IP,
                      .link_up = true };
    NativeConfig cfg;
    RdmaConfig rdma;

    native_config_init(&cfg);
    native_rdma_config(&rdma);
    rdma.ops = &rdma_ops;
    rdma.max_wqes = 256;
    n = native_new(&rdma, &cfg, &native_ops);
    rdma_port_set(native_dev(n), &port);
}

/* ---- what a sane driver does ---- */

static unsigned command(uint16_t op, uint64_t in, uint32_t mod, uint8_t op_mod)
{
    uint32_t regs[NRB_HCR];

    nrb_command(regs, op, in, mod, BUS + OUT, op_mod);
    for (unsigned i = 0; i < NRB_HCR; i++) {
        native_hcr_write(n, i * 4, regs[i]);
    }
    g_assert_false(native_hcr_read(n, NRH_CMD) & NRH_GO);
    return native_hcr_read(n, NRH_CMD) >> 24;
}

static uint8_t *box(void)
{
    return memset(mem + IN, 0, NR_MAILBOX_BYTES);
}

static void region(uint32_t key, uint64_t start, uint32_t off, uint32_t len)
{
    uint8_t *m = box();

    nrb_mtt_first(m, key * 64);
    for (uint32_t i = 0; i < len / PAGE; i++) {
        nrb_mtt_page(m, i, BUS + off + i * PAGE);
    }
    g_assert_cmphex(command(NRC_WRITE_MTT, BUS + IN, len / PAGE, 0), ==, 0);
    nrb_region(box(), &(NrbRegion) {
        .flags = NRM_LOCAL_WRITE | NRM_REMOTE_WRITE | NRM_REMOTE_READ |
                 NRM_REMOTE_ATOMIC,
        .key = key, .pd = PD, .start = start, .length = len,
        .mtt = key * 64,
    });
    g_assert_cmphex(command(NRC_SW2HW_MPT, BUS + IN, key, 0), ==, 0);
}

static void map_icm(unsigned kind, uint64_t virt, uint32_t *used,
                    uint32_t pages)
{
    nrb_map_icm(box(), 0, virt, BUS + ICM + *used * PAGE, pages);
    *used += pages;
    g_assert_cmphex(command(NRC_MAP_ICM, BUS + IN, 1, kind), ==, 0);
}

static void qp_box(uint8_t *m, unsigned i, uint8_t state)
{
    nrb_qp(m, &(NrbQp) {
        .qpn = QPN + i, .peer_qpn = PEER - i, .mtu = 1, .log_slot = LOG_SLOT,
        .pd = PD, .send_cqn = CQN, .recv_cqn = CQN, .sq_lkey = MR_SQ + i,
        .sq_bytes = PAGE, .rq_lkey = MR_RQ + i, .rq_bytes = PAGE,
        .sip = IP, .dip = IP, .psn = 0xfffffe,
    }, state);
}

static void bring_up(void)
{
    static const uint16_t steps[] = { NRC_RST2INIT_QP, NRC_INIT2RTR_QP,
                                      NRC_RTR2RTS_QP };
    uint32_t used = 0;

    memset(mem, 0, sizeof(mem));
    nrb_init_hca(box(), &tables);
    g_assert_cmphex(command(NRC_INIT_HCA, BUS + IN, 0, 0), ==, 0);
    map_icm(NR_ICM_CONTEXTS, tables.qpc, &used, 1);
    map_icm(NR_ICM_CONTEXTS, tables.cqc, &used, 1);
    map_icm(NR_ICM_CONTEXTS, tables.eqc, &used, 1);
    map_icm(NR_ICM_TPT, tables.mpt, &used, 1);
    map_icm(NR_ICM_TPT, tables.mtt, &used, 2);
    memset(mem + CQ, NRQ_OWNER_HW, PAGE);
    memset(mem + EQ, NRQ_OWNER_HW, PAGE);
    region(MR_CQ, 0, CQ, PAGE);
    region(MR_DATA, VA, DATA, DATA_LEN);
    nrb_cq(box(), CQN, LOG_RING, EQN, PD, MR_CQ);
    g_assert_cmphex(command(NRC_SW2HW_CQ, BUS + IN, CQN, 0), ==, 0);
    nrb_eq(box(), BUS + EQ, LOG_RING, VECTOR);
    g_assert_cmphex(command(NRC_SW2HW_EQ, BUS + IN, EQN, 0), ==, 0);
    g_assert_cmphex(command(NRC_MAP_EQ, UINT32_MAX, EQN, 0), ==, 0);
    for (unsigned i = 0; i < 2; i++) {
        region(MR_SQ + i, 0, SQ + i * PAGE, PAGE);
        region(MR_RQ + i, 0, RQ + i * PAGE, PAGE);
        for (unsigned s = 0; s < G_N_ELEMENTS(steps); s++) {
            qp_box(box(), i, s + 1);
            g_assert_cmphex(command(steps[s], BUS + IN, QPN + i, 0), ==, 0);
        }
        for (unsigned r = 0; r < PAGE / SLOT; r++) {
            nrb_recv(mem + RQ + i * PAGE + r * SLOT, (r + 1) * SLOT % PAGE,
                     VA + 0x8000 + r * 0x400, 0x400, MR_DATA);
        }
    }
}

/* WQE @slot of a QP, as it should be. */
static unsigned put_wqe(unsigned qp, unsigned slot, uint8_t op, uint32_t len)
{
    uint8_t *w = mem + SQ + qp * PAGE + slot * SLOT;

    memset(w, 0, SLOT);
    return nrb_send(w, &(NrbSend) {
        .op = op, .addr = VA, .len = len, .lkey = MR_DATA,
        .raddr = VA + 0x4000, .rkey = MR_DATA, .swap_add = 1,
    });
}

static void ring(unsigned qp, unsigned units, uint32_t off, uint8_t op)
{
    native_uar_write(n, NRU_SQ_DB, nrb_doorbell(QPN + qp, units, off, op), 8);
}

static void pass(int64_t ns)
{
    int64_t end = now + ns;

    for (int i = 0; i < 64 && now < end; i++) {
        int64_t next = rdma_poll(native_dev(n), now);

        now = MIN(MAX(next, now + 1), end);
    }
}

/* ---- what the input says ---- */

/* The mailbox of a command, sane, then up to 7 bytes of the input in it. */
static void mailbox(Input *in, uint16_t op, uint32_t which)
{
    uint8_t *m = box();
    unsigned edits = take(in, 1);

    switch (op) {
    case NRC_INIT_HCA:
        nrb_init_hca(m, &tables);
        break;
    case NRC_MAP_ICM:
        nrb_map_icm(m, 0, tables.qpc + which * PAGE, BUS + ICM, 1);
        break;
    case NRC_WRITE_MTT:
        nrb_mtt_first(m, which * 64);
        nrb_mtt_page(m, 0, BUS + DATA);
        break;
    case NRC_SW2HW_MPT:
        nrb_region(m, &(NrbRegion) {
            .flags = 0xf, .key = which, .pd = PD, .start = VA,
            .length = DATA_LEN, .mtt = MR_DATA * 64,
        });
        break;
    case NRC_SW2HW_CQ:
    case NRC_RESIZE_CQ:
        nrb_cq(m, which, LOG_RING, EQN, PD, MR_CQ);
        break;
    case NRC_SW2HW_EQ:
        nrb_eq(m, BUS + EQ, LOG_RING, VECTOR);
        break;
    default:
        qp_box(m, which & 1, op - NRC_RST2INIT_QP + 1);
    }
    while (edits & 7) {
        unsigned at = take(in, 1);

        m[at] = take(in, 1);
        edits--;
    }
}

static void any_command(Input *in)
{
    static const uint16_t ops[] = {
        NRC_QUERY_DEV_LIM, NRC_QUERY_ADAPTER, NRC_INIT_HCA, NRC_CLOSE_HCA,
        NRC_SW2HW_MPT, NRC_HW2SW_MPT, NRC_WRITE_MTT, NRC_MAP_EQ, NRC_SW2HW_EQ,
        NRC_HW2SW_EQ, NRC_SW2HW_CQ, NRC_HW2SW_CQ, NRC_RST2INIT_QP,
        NRC_INIT2RTR_QP, NRC_RTR2RTS_QP, NRC_RTS2RTS_QP, NRC_SQE2RTS_QP,
        NRC_2ERR_QP, NRC_RTS2SQD_QP, NRC_SQD2RTS_QP, NRC_2RST_QP,
        NRC_QUERY_QP, NRC_CONF_SPECIAL_QP, NRC_MAD_IFC, NRC_RESIZE_CQ,
        NRC_INIT2INIT_QP, NRC_NOP, NRC_SQD2SQD_QP, NRC_UNMAP_ICM, NRC_MAP_ICM,
    };
    uint16_t op = ops[take(in, 1) % G_N_ELEMENTS(ops)];
    uint32_t mod = take(in, 1);

    /* Numbers that exist, and some that do not. */
    mod = mod < 0xf0 ? mod & 7 : mod << 24 | take(in, 2);
    mailbox(in, op, mod & 7);
    command(op, BUS + (take(in, 1) < 0xf8 ? IN : take(in, 4)), mod,
            take(in, 1) & 3);
}

/* The state travels, possibly damaged.  What is refused leaves an engine that
 * can be reset. */
static void migrate(Input *in)
{
    size_t len;
    uint8_t *state = native_save(n, now, &len);
    unsigned edits = take(in, 1) & 15;

    while (edits--) {
        uint32_t at = take(in, 3);

        state[at % len] = take(in, 1);
    }
    native_free(n);
    engine_new();
    if (native_load(n, now, state, len)) {
        native_reset(n);
        bring_up();
    }
    g_free(state);
}

static void act(Input *in)
{
    uint32_t a, b;
    unsigned qp;

    switch (take(in, 1) & 7) {
    case 0:
        any_command(in);
        break;
    case 1:
        a = take(in, 1) % 8 * 4;
        native_hcr_write(n, a, take(in, 4));
        break;
    case 2:                             /* a good request */
        qp = take(in, 1);
        a = take(in, 1);
        b = take(in, 2) & 0x3fff;
        ring(qp & 1, put_wqe(qp & 1, qp >> 3, a & 0x1f, b), (qp >> 3) * SLOT,
             a & 0x1f);
        break;
    case 3:                             /* any doorbell */
        a = take(in, 1);
        b = take(in, 4);
        native_uar_write(n, a >> 4 & 1 ? a * 16 : a & 0x2c,
                         (uint64_t)b << 32 | take(in, 4), a & 0x80 ? 4 : 8);
        break;
    case 4:                             /* queues, tables, data */
        a = take(in, 3) % (MEM_SIZE - 256);
        for (b = take(in, 1) & 31; b; b--) {
            mem[a++] = take(in, 1);
        }
        break;
    case 5:
        a = take(in, 1);
        pass(a & 0x80 ? INT64_C(1) << (a & 0x1f) : 1000);
        break;
    case 6:
        a = take(in, 1);
        native_uar_write(n, a & 1 ? NRU_ARM_CQ : NRU_ARM_EQ, a >> 1, 4);
        break;
    case 7:
        migrate(in);
        break;
    }
    pass(1000);
}

/* Nothing of it is left after a reset: a Write between the two QPs. */
static void prove_works(void)
{
    native_reset(n);
    bring_up();
    for (uint32_t i = 0; i < 1000; i++) {
        mem[DATA + i] = i * 7 + 1;
    }
    ring(0, put_wqe(0, 0, NRB_WRITE, 1000), 0, NRB_WRITE);
    for (int i = 0; i < 64 && !nrb_cqe_ready(mem + CQ); i++) {
        pass(1000000);
    }
    g_assert_true(nrb_cqe_ready(mem + CQ));
    g_assert_cmphex(nrb_cqe(mem + CQ).opcode, ==, NRB_WRITE);
    g_assert_cmpmem(mem + DATA, 1000, mem + DATA + 0x4000, 1000);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    Input in = { data, data + size };

    now = 1;
    engine_new();
    bring_up();
    while (in.p < in.end) {
        act(&in);
    }
    prove_works();
    native_free(n);
    return 0;
}
