/*
 * Native personality: HCR, commands, contexts, doorbells, WQEs, CQEs, EQEs,
 * from the guest's side of the registers.  Examples from the interface
 * documents, worked out by hand, and whole transfers between two engines.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#define _GNU_SOURCE
#include <string.h>
#include <glib.h>

#include "core/bytes.h"
#include "rdma/native.h"
#include "rdma/objects.h"
#include "../../lib/mutate.h"
#include "../../lib/native_build.h"

/* Guest memory: bus addresses [BUS, BUS + SIZE). */
#define BUS      UINT64_C(0x123400000)
#define MEM_SIZE 0x400000u

/* Layout of guest memory, offsets. */
enum {
    IN_MBOX = 0x1000, OUT_MBOX = 0x2000,
    ICM = 0x100000,             /* QPC 16 pages, CQC, EQC, MPT, MTT */
    SQ = 0x200000, RQ = 0x204000, CQB = 0x208000, EQB = 0x20c000,
    DATA = 0x210000, DATA2 = 0x220000, QUEUE_LEN = 0x1000,
};

/* ICM virtual addresses. */
#define QPC_BASE UINT64_C(0x0)
#define CQC_BASE UINT64_C(0x400000)
#define EQC_BASE UINT64_C(0x600000)
#define MPT_BASE UINT64_C(0x700000)
#define MTT_BASE UINT64_C(0x900000)

enum { PD = 3, QPN = 5, CQN = 2, EQN = 1, VECTOR = 9,
       MR_SQ = 1, MR_RQ, MR_CQ, MR_DATA, MR_EQ };
#define VA UINT64_C(0x7f0000001000)     /* of the data region */

typedef struct Side {
    NativeRdma *n;
    uint8_t *mem;
    GPtrArray *wire;
    GArray *msix;
    uint64_t rules;
    uint32_t cq_tail, sq_head, sq_prev, rq_head;
    int64_t now;
} Side;

static bool in_mem(uint64_t a, size_t len)
{
    return a >= BUS && a - BUS <= MEM_SIZE && len <= MEM_SIZE - (a - BUS);
}

static bool op_read(void *o, uint64_t a, void *buf, size_t len)
{
    if (!in_mem(a, len)) {
        return false;
    }
    memcpy(buf, ((Side *)o)->mem + (a - BUS), len);
    return true;
}

static bool op_write(void *o, uint64_t a, const void *buf, size_t len)
{
    if (!in_mem(a, len)) {
        return false;
    }
    memcpy(((Side *)o)->mem + (a - BUS), buf, len);
    return true;
}

static bool op_tx(void *o, const struct iovec *f, unsigned num)
{
    for (unsigned i = 0; i < num; i++) {
        g_ptr_array_add(((Side *)o)->wire, g_bytes_new(f[i].iov_base,
                                                       f[i].iov_len));
    }
    return true;
}

static void op_log(void *o, const char *rule, const char *text,
                   uint32_t number)
{
    ((Side *)o)->rules++;
}

static void op_msix(void *o, unsigned vector)
{
    g_array_append_val(((Side *)o)->msix, vector);
}

static const RdmaOps rdma_ops = {
    .read = op_read, .write = op_write, .wire_tx = op_tx, .log = op_log,
};
static const NativeOps native_ops = { .msix = op_msix };

static Side *side_new(unsigned num, void (*tweak)(NativeConfig *cfg))
{
    Side *s = g_new0(Side, 1);
    NativeConfig cfg;
    RdmaConfig rdma;
    RdmaPort port = { .mac = { 2, 0, 0, 0, 0, num }, .link_up = true };

    native_config_init(&cfg);
    native_rdma_config(&rdma);
    rdma.ops = &rdma_ops;
    rdma.ops_opaque = s;
    if (tweak) {
        tweak(&cfg);
    }
    s->mem = g_malloc0(MEM_SIZE);
    s->wire = g_ptr_array_new_with_free_func((GDestroyNotify)g_bytes_unref);
    s->msix = g_array_new(false, false, sizeof(unsigned));
    s->n = native_new(&rdma, &cfg, &native_ops);
    s->now = 1000;
    rdma_port_set(native_dev(s->n), &port);
    return s;
}

static void side_free(Side *s)
{
    native_free(s->n);
    g_ptr_array_free(s->wire, true);
    g_array_free(s->msix, true);
    g_free(s->mem);
    g_free(s);
}

/* ---- commands ---- */

static uint32_t hcr(Side *s, uint64_t in, uint32_t mod, uint64_t out,
                    uint16_t op, uint8_t op_mod)
{
    uint32_t regs[NRB_HCR];

    nrb_command(regs, op, in, mod, out, op_mod);
    for (unsigned i = 0; i < NRB_HCR; i++) {
        native_hcr_write(s->n, 4 * i, regs[i]);
    }
    return native_hcr_read(s->n, NRH_CMD);
}

static uint8_t *mbox(Side *s)
{
    memset(s->mem + IN_MBOX, 0, 0x1000);
    return s->mem + IN_MBOX;
}

/* Status of a command with the prepared mailbox. */
static unsigned cmd(Side *s, uint16_t op, uint32_t mod, uint8_t op_mod)
{
    return hcr(s, BUS + IN_MBOX, mod, 0, op, op_mod) >> 24;
}

static unsigned query(Side *s, uint16_t op, uint32_t mod)
{
    memset(s->mem + OUT_MBOX, 0xee, 0x1000);
    return hcr(s, 0, mod, BUS + OUT_MBOX, op, 0) >> 24;
}

static void init_hca(Side *s)
{
    uint8_t *m = mbox(s);

    put_be64(m + 0x08, QPC_BASE | NR_LOG_QPS);
    put_be64(m + 0x10, CQC_BASE | NR_LOG_CQS);
    put_be64(m + 0x18, EQC_BASE | NR_LOG_EQS);
    put_be64(m + 0x30, MPT_BASE | NR_LOG_MPTS);
    put_be64(m + 0x38, MTT_BASE);
    g_assert_cmpuint(cmd(s, NRC_INIT_HCA, 0, 0), ==, 0);
}

static unsigned map(Side *s, unsigned region, uint64_t virt, uint32_t off,
                    uint32_t pages)
{
    uint8_t *m = mbox(s);

    put_be64(m + 0x10, virt);
    put_be64(m + 0x18, (BUS + off) | pages);
    return cmd(s, NRC_MAP_ICM, 1, region);
}

static unsigned mtt(Side *s, uint64_t first, uint32_t off, uint32_t pages)
{
    uint8_t *m = mbox(s);

    put_be64(m + 0x18, first);
    for (uint32_t i = 0; i < pages; i++) {
        put_be64(m + 0x20 + (i / 4 * 4 + 3 - i % 4) * 8, BUS + off +
                                                       i * 0x1000);
    }
    return cmd(s, NRC_WRITE_MTT, pages, 0);
}

static unsigned mpt(Side *s, uint32_t index, uint32_t flags, uint64_t start,
                    uint64_t len, uint64_t first_mtt)
{
    uint8_t *m = mbox(s);

    put_be32(m, 0xf0000100 | flags);
    put_be32(m + 0x04, 4096);
    put_be32(m + 0x08, index);
    put_be32(m + 0x0c, PD);
    put_be64(m + 0x10, start);
    put_be64(m + 0x18, len);
    put_be64(m + 0x2c, first_mtt);
    return cmd(s, NRC_SW2HW_MPT, index, 0);
}

static void region(Side *s, uint32_t index, uint32_t flags, uint64_t start,
                   uint32_t off, uint32_t len)
{
    g_assert_cmpuint(mtt(s, index * 32, off, (len + 0xfff) / 0x1000), ==, 0);
    g_assert_cmpuint(mpt(s, index, flags, start, len, index * 32), ==, 0);
}

static unsigned cq_create(Side *s, uint32_t cqn, uint8_t log)
{
    uint8_t *m = mbox(s);

    m[0x0c] = log;
    put_be32(m + 0x10, EQN);
    put_be32(m + 0x14, PD);
    put_be32(m + 0x18, MR_CQ);
    put_be32(m + 0x2c, cqn);
    return cmd(s, NRC_SW2HW_CQ, cqn, 0);
}

/* The context of the QP of engine @num towards the other one. */
static uint8_t *qp_mbox(Side *s, unsigned num, uint8_t service)
{
    uint8_t *m = mbox(s);

    m[0x09] = service;
    m[0x0c] = 1 << 5 | 31;                      /* PMTU 256 */
    m[0x0d] = m[0x0e] = 7;                      /* 128-byte slots */
    put_be32(m + 0x14, QPN);
    put_be32(m + 0x18, QPN);
    put_be16(m + 0x3c, 3 - num);                /* DMAC 02:..:peer */
    put_be16(m + 0x3e, num);
    put_be32(m + 0x40, 0x02000000);
    put_be32(m + 0x44, 0x02000000);
    put_be32(m + 0x48, 0x0a000000 | num);
    put_be32(m + 0x4c, 0x0a000000 | (3 - num));
    put_be32(m + 0x5c, PD);
    put_be32(m + 0x6c, 0xfffffc + num);
    put_be32(m + 0x7c, 0xfffffc + num);
    put_be32(m + 0x84, 12u << 24 | (0xfffffc + 3 - num));
    put_be32(m + 0x70, CQN);
    put_be32(m + 0x8c, CQN);
    put_be32(m + 0x74, MR_SQ);
    put_be32(m + 0x78, QUEUE_LEN);
    put_be32(m + 0x90, MR_RQ);
    put_be32(m + 0x94, QUEUE_LEN);
    return m;
}

static void qp_up(Side *s, unsigned num, uint8_t service)
{
    static const struct {
        uint16_t op;
        uint8_t state;
    } step[] = {
        { NRC_RST2INIT_QP, 1 }, { NRC_INIT2RTR_QP, 2 }, { NRC_RTR2RTS_QP, 3 },
    };

    for (int i = 0; i < 3; i++) {
        uint8_t *m = qp_mbox(s, num, service);

        m[0x08] = step[i].state << 4;
        g_assert_cmpuint(cmd(s, step[i].op, QPN, 0), ==, 0);
    }
}

/* Everything up to a QP in RTS. */
static Side *side_up(unsigned num, uint8_t service,
                     void (*tweak)(NativeConfig *cfg))
{
    Side *s = side_new(num, tweak);

    init_hca(s);
    g_assert_cmpuint(map(s, 1, QPC_BASE, ICM, 16), ==, 0);
    g_assert_cmpuint(map(s, 1, CQC_BASE, ICM + 0x10000, 1), ==, 0);
    g_assert_cmpuint(map(s, 1, EQC_BASE, ICM + 0x11000, 1), ==, 0);
    g_assert_cmpuint(map(s, 2, MPT_BASE, ICM + 0x12000, 4), ==, 0);
    g_assert_cmpuint(map(s, 2, MTT_BASE, ICM + 0x16000, 4), ==, 0);
    region(s, MR_SQ, 0, 0, SQ, QUEUE_LEN);
    region(s, MR_RQ, 0, 0, RQ, QUEUE_LEN);
    region(s, MR_CQ, NRM_LOCAL_WRITE, 0, CQB, 0x1000);
    region(s, MR_EQ, NRM_LOCAL_WRITE, 0, EQB, 0x1000);
    region(s, MR_DATA, NRM_LOCAL_WRITE | NRM_REMOTE_WRITE | NRM_REMOTE_READ |
           NRM_REMOTE_ATOMIC, VA, DATA, 0x20000);
    memset(s->mem + CQB, 0x80, 0x1000);
    memset(s->mem + EQB, 0x80, 0x1000);
    g_assert_cmpuint(cq_create(s, CQN, 5), ==, 0);
    qp_up(s, num, service);
    return s;
}

static void eq_create(Side *s, uint64_t start, uint32_t lkey)
{
    uint8_t *m = mbox(s);

    put_be32(m, 0x01000000 | NRX_ARMED);
    put_be64(m + 0x04, start);
    m[0x0c] = 3;
    put_be16(m + 0x16, VECTOR);
    put_be32(m + 0x18, PD);
    put_be32(m + 0x1c, lkey);
    g_assert_cmpuint(cmd(s, NRC_SW2HW_EQ, EQN, 0), ==, 0);
    g_assert_cmpuint(hcr(s, 1 << 0x11 | 1 << 0x05, EQN, 0, NRC_MAP_EQ, 0) >>
                     24, ==, 0);
}

/* ---- queues, as a driver sees them ---- */

typedef struct Wqe {
    uint8_t b[512];
    uint32_t len;
} Wqe;

static uint8_t *unit(Wqe *w, uint32_t bytes)
{
    uint8_t *p = w->b + w->len;

    w->len += bytes;
    return p;
}

static void data_unit(Wqe *w, uint64_t va, uint32_t len)
{
    uint8_t *p = unit(w, 16);

    put_le32(p, len);
    put_le32(p + 4, MR_DATA);
    put_le64(p + 8, va);
}

static void raddr_unit(Wqe *w, uint64_t va)
{
    uint8_t *p = unit(w, 16);

    put_le64(p, va);
    put_le32(p + 8, MR_DATA);
}

static Wqe wqe_begin(uint32_t imm)
{
    Wqe w = { .len = 16 };

    put_be32(w.b + 0x0c, imm);
    return w;
}

static void copy_in(Side *s, uint32_t ring, uint32_t off, const uint8_t *p,
                    uint32_t len)
{
    for (uint32_t i = 0; i < len; i++) {
        s->mem[ring + (off + i) % QUEUE_LEN] = p[i];
    }
}

static void doorbell(Side *s, uint32_t off, uint32_t len, uint8_t op)
{
    uint64_t v = (uint64_t)QPN << 40 | (uint64_t)(len / 16) << 32 |
                 (uint64_t)(off / 16) << 8 | op;

    native_uar_write(s->n, NRU_SQ_DB, v, 8);
}

/* Post one WQE in the next slot and ring. */
static void post(Side *s, Wqe *w, uint8_t op)
{
    uint32_t off = s->sq_head % QUEUE_LEN;

    copy_in(s, SQ, off, w->b, w->len);
    s->sq_head += 128;
    doorbell(s, off, w->len, op);
}

static void post_recv(Side *s, uint64_t va, uint32_t len)
{
    uint8_t w[48] = { 0 };

    put_le32(w, ((s->rq_head + 128) % QUEUE_LEN / 16) << 6 | 1 << 5);
    put_le32(w + 16, len);
    put_le32(w + 20, MR_DATA);
    put_le64(w + 24, va);
    copy_in(s, RQ, s->rq_head % QUEUE_LEN, w, sizeof(w));
    s->rq_head += 128;
}

/* The next CQE, checked and given back; NULL = none. */
static const uint8_t *cqe(Side *s)
{
    static uint8_t out[32];
    uint8_t *p = s->mem + CQB + s->cq_tail % (32 << 5);

    if (p[0x1f] & 0x80) {
        return NULL;
    }
    memcpy(out, p, 32);
    p[0x1f] = 0x80;
    s->cq_tail += 32;
    g_assert_cmpuint(get_le32(out), ==, QPN);
    return out;
}

static void run(Side *a, Side *b)
{
    Side *s[2] = { a, b };
    bool moved;

    do {
        moved = false;
        for (int i = 0; i < 2; i++) {
            RdmaDev *dev = native_dev(s[i]->n);

            while (rdma_poll(dev, a->now) <= a->now) {
            }
            while (s[i]->wire->len) {
                GBytes *f = g_ptr_array_steal_index(s[i]->wire, 0);
                gsize len;
                const uint8_t *p = g_bytes_get_data(f, &len);

                rdma_rx_frame(native_dev(s[!i]->n), p, len, a->now);
                g_bytes_unref(f);
                moved = true;
            }
        }
    } while (moved);
}

static uint8_t *ptr(Side *s, uint64_t va)
{
    return s->mem + DATA + (va - VA);
}

static void fill(Side *s, uint64_t va, uint32_t len, uint8_t seed)
{
    for (uint32_t i = 0; i < len; i++) {
        *ptr(s, va + i) = i * 13 + seed;
    }
}

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

    g_assert_cmphex(hcr(s, 0, 0, BUS + OUT_MBOX, NRC_QUERY_DEV_LIM, 0), ==,
                    0x00000003);
    g_assert_cmphex(native_hcr_read(s->n, NRH_OUT_PARAM_L), ==, 0);
    g_assert_cmphex(native_hcr_read(s->n, NRH_TOKEN), ==, 0xffff0000);
    g_assert_cmpmem(o, sizeof(limits), limits, sizeof(limits));
    g_assert_cmphex(o[0x40], ==, 0);
    g_assert_cmpuint(query(s, NRC_QUERY_ADAPTER, 0), ==, 0);
    g_assert_cmphex(get_be64(o + 0x18), ==, UINT64_C(0x0123456789abcdef));
    g_assert_cmphex(o[0x20], ==, 0xee);         /* 32 bytes, no more */
    g_assert_cmphex(hcr(s, 0, 0, 0, 0x055, 0), ==, 0x02000055);
    g_assert_cmphex(hcr(s, 0, 0, 0, NRC_CONF_SPECIAL_QP, 0), ==, 0x02000023);
    g_assert_cmphex(hcr(s, 0, 0x1f, 0, NRC_NOP, 0), ==, 0x00000031);
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
        mbox(s);
        g_assert_cmphex(hcr(s, BUS + IN_MBOX, 0, BUS + OUT_MBOX, NRC_MAD_IFC,
                            1) >> 24, ==, 0);
        g_assert_cmphex(get_be32(o), ==, up ? 0x00010203 : 0x12340102);
    }
    native_hcr_write(s->n, 0x1c, 1);
    native_hcr_write(s->n, 0x02, 1);
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

        mbox(s);
        g_assert_cmphex(hcr(s, bad[i].in ? BUS + IN_MBOX : 0, bad[i].mod,
                            bad[i].out ? BUS + OUT_MBOX : 0, bad[i].op,
                            bad[i].op_mod), ==,
                        0x03000000 | bad[i].op_mod << 12 | bad[i].op);
        g_assert_cmpuint(s->rules, >, rules);
    }
    /* Mailboxes outside memory. */
    g_assert_cmphex(hcr(s, 8, 7, 0, NRC_SW2HW_MPT, 0) >> 24, ==, 3);
    g_assert_cmphex(hcr(s, 0, 7, 8, NRC_QUERY_ADAPTER, 0) >> 24, ==, 3);
    g_assert_cmphex(hcr(s, 0, 0, 0, NRC_CLOSE_HCA, 0) >> 24, ==, 0);
    /* Now everything that needs INIT_HCA is refused. */
    g_assert_cmpuint(map(s, 1, QPC_BASE, ICM, 1), ==, 3);
    g_assert_cmpuint(cq_create(s, 7, 2), ==, 3);
    side_free(s);
}

/* ---- ICM ---- */

/* From IF by hand: the three entries, in swapped pairs; contexts land there. */
static void test_map_icm(void)
{
    Side *s = side_new(1, NULL);
    uint8_t *m;

    init_hca(s);
    m = mbox(s);
    put_be64(m + 0x10, QPC_BASE);
    put_be64(m + 0x18, (BUS + ICM) | 0x10);
    put_be64(m + 0x00, CQC_BASE);
    put_be64(m + 0x08, (BUS + ICM + 0x20000) | 0x2);
    put_be64(m + 0x30, EQC_BASE);
    put_be64(m + 0x38, (BUS + ICM + 0x30000) | 0x1);
    g_assert_cmpuint(cmd(s, NRC_MAP_ICM, 3, 1), ==, 0);
    g_assert_cmpuint(cq_create(s, 65, 2), ==, 0);   /* second page */
    g_assert_cmpuint(get_be32(s->mem + ICM + 0x21000 + 0x40 + 0x2c), ==, 65);
    g_assert_cmpuint(hcr(s, 0, 65, 0, NRC_HW2SW_CQ, 0), ==, NRC_HW2SW_CQ);
    g_assert_cmpuint(get_be32(s->mem + ICM + 0x21000 + 0x40 + 0x2c), ==, 0);
    g_assert_cmpuint(hcr(s, CQC_BASE + 0x1000, 1, 0, NRC_UNMAP_ICM, 1) >> 24,
                     ==, 0);
    g_assert_cmpuint(cq_create(s, 65, 2), ==, 3);
    g_assert_cmpuint(cq_create(s, 63, 2), ==, 0);
    g_assert_cmpuint(map(s, 1, EQC_BASE + 0x1000, ICM, 1), ==, 3);
    g_assert_cmpuint(map(s, 2, MPT_BASE - 1, ICM, 1), ==, 3);
    side_free(s);
}

/* From IF by hand: five entries from index 10 land in order. */
static void test_write_mtt(void)
{
    Side *s = side_new(1, NULL);

    init_hca(s);
    g_assert_cmpuint(mtt(s, 0x10, DATA, 5), ==, 3);     /* not mapped */
    g_assert_cmpuint(map(s, 2, MTT_BASE, ICM, 1), ==, 0);
    memset(s->mem + ICM + 0x15 * 8, 0xee, 8);
    g_assert_cmpuint(mtt(s, 0x10, DATA, 5), ==, 0);
    g_assert_cmphex(s->mem[ICM + 0x15 * 8], ==, 0xee);
    g_assert_cmphex(get_be64(s->mem + IN_MBOX + 0x58), ==,
                    BUS + DATA + 0x4000);
    for (int i = 0; i < 5; i++) {
        g_assert_cmphex(get_be64(s->mem + ICM + (0x10 + i) * 8), ==,
                        BUS + DATA + i * 0x1000);
    }
    g_assert_cmpuint(mtt(s, 1 << NR_LOG_MTTS, DATA, 1), ==, 3);
    /* A longer list than a mailbox holds is cut, not overrun. */
    g_assert_cmpuint(map(s, 2, MTT_BASE, ICM, 8), ==, 0);
    mbox(s);
    g_assert_cmpuint(cmd(s, NRC_WRITE_MTT, 100000, 0), ==, 0);
    side_free(s);
}

/* ---- whole transfers ---- */

static void expect_send(Side *s, uint8_t op, uint32_t off, uint32_t len)
{
    const uint8_t *c = cqe(s);

    g_assert_nonnull(c);
    g_assert_cmphex(get_le32(c + 0x1c), ==, 0x100 | op);
    g_assert_cmphex(get_le32(c + 0x18), ==, off);
    g_assert_cmpuint(get_le32(c + 0x14), ==, len);
}

static void test_rc(void)
{
    Side *a = side_up(1, 0, NULL), *b = side_up(2, 0, NULL);
    const uint8_t *c;
    Wqe w;

    fill(a, VA, 0x1000, 1);
    /* Write, three packets, two segments. */
    w = wqe_begin(0);
    raddr_unit(&w, VA + 0x8001);
    data_unit(&w, VA + 3, 300);
    data_unit(&w, VA + 1000, 333);
    post(a, &w, RDMA_OP_WRITE);
    run(a, b);
    expect_send(a, RDMA_OP_WRITE, 0, 633);
    g_assert_cmpmem(ptr(b, VA + 0x8001), 300, ptr(a, VA + 3), 300);
    g_assert_cmpmem(ptr(b, VA + 0x8001 + 300), 333, ptr(a, VA + 1000), 333);
    g_assert_null(cqe(b));
    /* Send with immediate, by two 32-bit doorbell writes. */
    post_recv(b, VA + 0x9000, 0x1000);
    w = wqe_begin(0xdeadbeef);
    data_unit(&w, VA, 700);
    copy_in(a, SQ, 128, w.b, w.len);
    native_uar_write(a->n, NRU_SQ_DB, 128 / 16 << 8 | RDMA_OP_SEND_IMM, 4);
    native_uar_write(a->n, NRU_SQ_DB + 4, QPN << 8 | 2, 4);
    a->sq_head += 128;
    run(a, b);
    expect_send(a, RDMA_OP_SEND_IMM, 128, 700);
    c = cqe(b);
    g_assert_cmphex(get_le32(c + 0x1c), ==, 3);
    g_assert_cmphex(get_be32(c + 0x10), ==, 0xdeadbeef);
    g_assert_cmpuint(get_le32(c + 0x14), ==, 700);
    g_assert_cmphex(get_le32(c + 0x08), ==, QPN);
    g_assert_cmpmem(ptr(b, VA + 0x9000), 700, ptr(a, VA), 700);
    /* Read. */
    w = wqe_begin(0);
    raddr_unit(&w, VA + 0x9000);
    data_unit(&w, VA + 0xa000, 600);
    post(a, &w, RDMA_OP_READ);
    run(a, b);
    expect_send(a, RDMA_OP_READ, 256, 600);
    g_assert_cmpmem(ptr(a, VA + 0xa000), 600, ptr(a, VA), 600);
    /* FetchAdd; inline Write. */
    put_le64(ptr(b, VA + 0x100), 40);
    w = wqe_begin(0);
    raddr_unit(&w, VA + 0x100);
    put_le64(unit(&w, 16), 2);
    data_unit(&w, VA + 0xb000, 8);
    post(a, &w, RDMA_OP_FETCH_ADD);
    w = wqe_begin(0);
    raddr_unit(&w, VA + 0x200);
    put_le32(unit(&w, 16), 0x80000005);
    memcpy(w.b + w.len - 12, "hello", 5);
    post(a, &w, RDMA_OP_WRITE);
    run(a, b);
    expect_send(a, RDMA_OP_FETCH_ADD, 384, 8);
    expect_send(a, RDMA_OP_WRITE, 512, 5);
    g_assert_cmpuint(get_le64(ptr(a, VA + 0xb000)), ==, 40);
    g_assert_cmpuint(get_le64(ptr(b, VA + 0x100)), ==, 42);
    g_assert_cmpmem(ptr(b, VA + 0x200), 5, "hello", 5);
    g_assert_cmpuint(a->rules + b->rules, ==, 0);
    side_free(a);
    side_free(b);
}

/* One doorbell, a chain of three; a later doorbell comes after the chain. */
static void test_chain(void)
{
    static const uint32_t off[] = { 0x200, 0xff0, 0x300, 0x400 };
    Side *a = side_up(1, 0, NULL), *b = side_up(2, 0, NULL);

    for (int i = 0; i < 4; i++) {
        Wqe w = wqe_begin(i);

        post_recv(b, VA + 0x1000 * i, 0x100);
        data_unit(&w, VA + i, 4);
        if (i < 2) {
            /* nda of the next, opcode; fence and size of the next */
            put_le32(w.b, (off[i + 1] / 16) << 6 | RDMA_OP_SEND_IMM);
            put_le32(w.b + 4, 1 << 6 | 2);
        }
        copy_in(a, SQ, off[i], w.b, w.len);     /* one crosses the end */
    }
    doorbell(a, off[0], 32, RDMA_OP_SEND_IMM);
    /* Counted without wrapping (G19). */
    doorbell(a, off[3] + 2 * QUEUE_LEN, 32, RDMA_OP_SEND_IMM);
    run(a, b);
    for (int i = 0; i < 4; i++) {
        expect_send(a, RDMA_OP_SEND_IMM, off[i], 4);
        g_assert_cmphex(get_be32(cqe(b) + 0x10), ==, i);
    }
    side_free(a);
    side_free(b);
}

/* From IF by hand: two WQEs in 40-byte (hex) slots read as one block. */
static void test_rq_walk(void)
{
    Side *a = side_up(1, 0, NULL), *b = side_up(2, 0, NULL);
    uint8_t *rq = b->mem + RQ, *m;
    Wqe w = wqe_begin(0);

    /* 64-byte slots. */
    g_assert_cmpuint(hcr(b, 0, QPN, 0, NRC_2RST_QP, 3) >> 24, ==, 0);
    for (int i = 0; i < 3; i++) {
        static const uint16_t op[] = { NRC_RST2INIT_QP, NRC_INIT2RTR_QP,
                                       NRC_RTR2RTS_QP };
        m = qp_mbox(b, 2, 0);
        m[0x0d] = 6;
        g_assert_cmpuint(cmd(b, op[i], QPN, 0), ==, 0);
    }
    put_le32(rq, 0x120);
    put_le32(rq + 4, 2);
    put_le32(rq + 0x10, 100);
    put_le32(rq + 0x14, MR_DATA);
    put_le64(rq + 0x18, VA + 0x100);
    memset(rq + 0x30, 0x77, 16);                /* behind the delimiter */
    put_le32(rq + 0x40, 0x20);
    put_le32(rq + 0x50, 100);
    put_le32(rq + 0x54, MR_DATA);
    put_le64(rq + 0x58, VA + 0x200);
    data_unit(&w, VA, 4);
    for (int i = 0; i < 3; i++) {
        post(a, &w, RDMA_OP_SEND);
    }
    run(a, b);
    g_assert_cmphex(get_le32(cqe(b) + 0x18), ==, 0);
    g_assert_cmphex(get_le32(cqe(b) + 0x18), ==, 0x40);
    g_assert_null(cqe(b));                      /* the third waits: RNR */
    g_assert_cmpuint(rdma_counters(native_dev(b->n))->rnr_tx, ==, 1);
    /* A full slot has no delimiter: three segments up to its end. */
    put_le32(rq + 0x80, 0x20);
    for (int i = 0; i < 3; i++) {
        put_le32(rq + 0x90 + 16 * i, 2);
        put_le32(rq + 0x94 + 16 * i, MR_DATA);
        put_le64(rq + 0x98 + 16 * i, VA + 0x300 + 16 * i);
    }
    a->now += 10000000;
    fill(a, VA, 4, 9);
    run(a, b);
    g_assert_cmphex(get_le32(cqe(b) + 0x18), ==, 0x80);
    g_assert_cmpmem(ptr(b, VA + 0x300), 2, ptr(a, VA), 2);
    g_assert_cmpmem(ptr(b, VA + 0x310), 2, ptr(a, VA + 2), 2);
    side_free(a);
    side_free(b);
}

/* Queues wrap many times; the CQ has 32 entries. */
static void test_wrap(void)
{
    Side *a = side_up(1, 0, NULL), *b = side_up(2, 0, NULL);

    for (int i = 0; i < 200; i++) {
        Wqe w = wqe_begin(i);

        post_recv(b, VA + 0x8000, 64);
        fill(a, VA, 64, i);
        data_unit(&w, VA, 64);
        post(a, &w, RDMA_OP_SEND_IMM);
        run(a, b);
        expect_send(a, RDMA_OP_SEND_IMM, i * 128 % QUEUE_LEN, 64);
        g_assert_cmphex(get_be32(cqe(b) + 0x10), ==, i);
        g_assert_cmpmem(ptr(b, VA + 0x8000), 64, ptr(a, VA), 64);
    }
    side_free(a);
    side_free(b);
}

static void test_ud(void)
{
    Side *a = side_up(1, 3, NULL), *b = side_up(2, 3, NULL);
    Wqe w = wqe_begin(7);
    uint8_t *u = unit(&w, 48);
    const uint8_t *c;

    put_le32(u + 0x04, 2 << 16 | 1);
    put_le32(u + 0x08, 0x02000000);
    put_le32(u + 0x0c, 0x02000000);
    put_le32(u + 0x10, 0x0a000001);
    put_le32(u + 0x14, 0x0a000002);
    put_le32(u + 0x20, QPN);
    put_le32(u + 0x24, 0x1234);
    data_unit(&w, VA, 200);
    fill(a, VA, 200, 3);
    post_recv(b, VA + 0x1000, 200);
    post(a, &w, RDMA_OP_SEND_IMM);
    rdma_poll(native_dev(a->n), a->now);
    /* Both MAC addresses, then IPv4. */
    g_assert_cmpuint(a->wire->len, ==, 1);
    g_assert_cmpmem(g_bytes_get_data(g_ptr_array_index(a->wire, 0), NULL), 14,
                    "\x02\0\0\0\0\2\x02\0\0\0\0\1\x08\0", 14);
    run(a, b);
    expect_send(a, RDMA_OP_SEND_IMM, 0, 200);
    c = cqe(b);
    g_assert_cmpuint(get_le32(c + 0x14), ==, 200);
    g_assert_cmpmem(ptr(b, VA + 0x1000), 200, ptr(a, VA), 200);
    /* More than the PMTU: local length error, SQE; SQE2RTS resumes. */
    w = wqe_begin(0);
    memcpy(unit(&w, 48), u, 48);
    data_unit(&w, VA, 257);
    post(a, &w, RDMA_OP_SEND);
    run(a, b);
    c = cqe(a);
    g_assert_cmphex(c[0x10], ==, 0x01);
    g_assert_cmphex(c[0x1c], ==, 0xff);
    g_assert_cmpuint(query(a, NRC_QUERY_QP, QPN), ==, 0);
    g_assert_cmphex(a->mem[OUT_MBOX + 8], ==, 0x40);
    qp_mbox(a, 1, 3);
    g_assert_cmpuint(cmd(a, NRC_SQE2RTS_QP, QPN, 0), ==, 0);
    g_assert_cmpuint(query(a, NRC_QUERY_QP, QPN), ==, 0);
    g_assert_cmphex(a->mem[OUT_MBOX + 8], ==, 0x30);
    side_free(a);
    side_free(b);
}

/* ---- errors ---- */

static void lerr_ib(NativeConfig *cfg)
{
    cfg->lerr = 0x04;
    cfg->err_cqe = NATIVE_ERR_CQE_RTL;
}

static void test_errors(void)
{
    for (int i = 0; i < 2; i++) {
        Side *a = side_up(1, 0, i ? lerr_ib : NULL);
        Side *b = side_up(2, 0, NULL);
        Wqe w = wqe_begin(0);
        const uint8_t *c;

        raddr_unit(&w, VA);
        data_unit(&w, VA - 1, 4);               /* below the region */
        post(a, &w, RDMA_OP_WRITE);
        w = wqe_begin(0);
        data_unit(&w, VA, 4);
        post(a, &w, RDMA_OP_SEND);
        post_recv(a, VA, 4);
        run(a, b);
        c = cqe(a);
        g_assert_cmphex(c[i ? 0x13 : 0x10], ==, i ? 0x04 : 0x11);
        g_assert_cmphex(get_le32(c + 0x1c), ==, 0x1ff);
        c = cqe(a);                             /* flushed send */
        g_assert_cmphex(c[i ? 0x13 : 0x10], ==, 0x05);
        g_assert_cmphex(get_le32(c + 0x18), ==, 128);
        c = cqe(a);                             /* flushed receive */
        g_assert_cmphex(get_le32(c + 0x1c), ==, 0xfe);
        g_assert_cmpuint(query(a, NRC_QUERY_QP, QPN), ==, 0);
        g_assert_cmphex(a->mem[OUT_MBOX + 8], ==, 0x60);
        /* The context in ICM says so too. */
        g_assert_cmphex(a->mem[ICM + QPN * 0x100 + 8], ==, 0x60);
        side_free(a);
        side_free(b);
    }
}

/* Poll until there is nothing to do now; false: it does not come to that. */
static bool settles(Side *s)
{
    for (int i = 0; i < 100; i++) {
        if (rdma_poll(native_dev(s->n), s->now) > s->now) {
            return true;
        }
    }
    return false;
}

static unsigned count_flushed(Side *s)
{
    unsigned n = 0;

    for (const uint8_t *c = cqe(s); c; c = cqe(s)) {
        g_assert_cmphex(get_le32(c + 0x1c), ==, 0xfe);
        g_assert_cmphex(c[0x10], ==, 0x05);
        n++;
    }
    return n;
}

static void check_owner(NativeConfig *cfg)
{
    cfg->cq_check_owner = true;
}

/* In state ERR the engine goes round a receive queue in which nothing is
 * zeroed: one lap at a time, and a completion queue that stays full is told
 * of once. */
static void test_flush_full_rq(void)
{
    enum { SLOTS = QUEUE_LEN / 128 };
    Side *s = side_up(1, 0, check_owner);

    for (int i = 0; i < SLOTS; i++) {
        post_recv(s, VA, 4);
    }
    g_assert_cmpuint(cmd(s, NRC_2ERR_QP, QPN, 0), ==, 0);
    g_assert_true(settles(s));
    g_assert_cmpuint(count_flushed(s), ==, SLOTS);
    s->rules = 0;
    for (int i = 0; i < 50; i++) {
        s->now += 1000000;
        g_assert_true(settles(s));
    }
    g_assert_cmpuint(s->rules, ==, 1);
    /* Software wakes up, and what it posts is flushed as ever. */
    memset(s->mem + RQ, 0, QUEUE_LEN);
    s->now += 1000000;
    g_assert_true(settles(s));
    g_assert_cmpuint(count_flushed(s), ==, 32);
    for (int i = 0; i < SLOTS; i++) {
        post_recv(s, VA, 4);
    }
    s->now += 2000000;
    g_assert_true(settles(s));
    g_assert_cmpuint(count_flushed(s), ==, SLOTS);
    g_assert_cmpuint(s->rules, ==, 1);
    side_free(s);
}

static void test_remote_errors(void)
{
    Side *a = side_up(1, 0, NULL), *b = side_up(2, 0, NULL);
    Wqe w = wqe_begin(0);
    const uint8_t *c;

    g_assert_cmpuint(hcr(b, 0, MR_DATA, 0, NRC_HW2SW_MPT, 0) >> 24, ==, 0);
    raddr_unit(&w, VA);
    data_unit(&w, VA, 4);
    post(a, &w, RDMA_OP_WRITE);
    run(a, b);
    c = cqe(a);
    g_assert_cmphex(c[0x10], ==, 0x13);         /* remote access */
    side_free(a);
    side_free(b);
}

/* Doorbells that mean nothing do nothing. */
static void test_doorbells(void)
{
    Side *a = side_up(1, 0, NULL), *b = side_up(2, 0, NULL);
    uint64_t rules = a->rules;
    const uint8_t *c;

    native_uar_write(a->n, 0x40, 1, 4);
    native_uar_write(a->n, 4, 1, 4);                    /* no first half */
    native_uar_write(a->n, 0, (uint64_t)77 << 40, 8);   /* QP in RESET */
    g_assert_cmpuint(a->rules, ==, rules + 2);
    run(a, b);
    g_assert_null(cqe(a));
    /* A size of 0, and one beyond the queue, break the QP. */
    doorbell(a, 0, 0, RDMA_OP_SEND);
    run(a, b);
    c = cqe(a);
    g_assert_cmphex(c[0x10], ==, 0x05);
    g_assert_cmpuint(query(a, NRC_QUERY_QP, QPN), ==, 0);
    g_assert_cmphex(a->mem[OUT_MBOX + 8], ==, 0x60);
    side_free(a);
    side_free(b);
}

/* ---- QP commands ---- */

/* PSNs of old images do not come back (G13). */
static void test_qp_psn(void)
{
    Side *a = side_up(1, 0, NULL), *b = side_up(2, 0, NULL);
    uint8_t *o = a->mem + OUT_MBOX;
    Wqe w = wqe_begin(0);

    raddr_unit(&w, VA);
    data_unit(&w, VA, 600);                     /* three packets */
    post(a, &w, RDMA_OP_WRITE);
    run(a, b);
    expect_send(a, RDMA_OP_WRITE, 0, 600);
    qp_mbox(a, 1, 0);
    put_be32(a->mem + IN_MBOX, 0xffffffff);
    g_assert_cmpuint(cmd(a, NRC_RTS2RTS_QP, QPN, 0), ==, 0);
    g_assert_cmpuint(query(a, NRC_QUERY_QP, QPN), ==, 0);
    g_assert_cmphex(get_be32(o), ==, 0);        /* the mask is no context */
    g_assert_cmphex(get_be32(o + 0x6c), ==, 0);         /* fffffd + 3 */
    g_assert_cmphex(get_be32(o + 0x7c), ==, 0);
    g_assert_cmphex(o[0x08], ==, 0x30);
    g_assert_cmpuint(get_be32(o + 0x78), ==, QUEUE_LEN);
    g_assert_cmpuint(query(b, NRC_QUERY_QP, QPN), ==, 0);
    g_assert_cmphex(get_be32(b->mem + OUT_MBOX + 0x84), ==, 12u << 24);
    /* SQD holds new work, SQD2RTS lets it go. */
    g_assert_cmpuint(hcr(a, 0, QPN, 0, NRC_RTS2SQD_QP, 3) >> 24, ==, 0);
    post(a, &w, RDMA_OP_WRITE);
    run(a, b);
    g_assert_null(cqe(a));
    g_assert_cmpuint(query(a, NRC_QUERY_QP, QPN), ==, 0);
    g_assert_cmphex(o[0x08], ==, 0x50);
    g_assert_cmpuint(hcr(a, 0, QPN, 0, NRC_SQD2RTS_QP, 3) >> 24, ==, 0);
    run(a, b);
    expect_send(a, RDMA_OP_WRITE, 128, 600);
    /* RESET forgets queued work and offsets. */
    post(a, &w, RDMA_OP_WRITE);
    g_assert_cmpuint(hcr(a, 0, QPN, 0, NRC_2RST_QP, 3) >> 24, ==, 0);
    run(a, b);
    g_assert_null(cqe(a));
    g_assert_cmpuint(query(a, NRC_QUERY_QP, QPN), ==, 0);
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

    qp_mbox(s, 1, 0);
    g_assert_cmpuint(cmd(s, NRC_RTR2RTS_QP, QPN, 0), ==, 0);
    qp_mbox(s, 1, 0);
    g_assert_cmpuint(cmd(s, NRC_RST2INIT_QP, QPN | 1 << 20, 0), ==, 0);
    g_assert_cmpuint(hcr(s, 0, 9999999, 0, NRC_HW2SW_CQ, 0) >> 24, ==, 0);
    g_assert_cmpuint(map(s, 1, EQC_BASE + 0x100000, ICM, 1), ==, 0);
    g_assert_cmpuint(mpt(s, 1u << 20 | MR_DATA, 0, 0, 0, 0), ==, 0);
    /* A list longer than any mailbox ends with the mailbox. */
    mbox(s);
    g_assert_cmpuint(cmd(s, NRC_MAP_ICM, UINT32_MAX, 1), ==, 0);
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

    g_assert_cmpuint(hcr(s, 0, QPN, 0, NRC_2RST_QP, 3) >> 24, ==, 0);
    qp_mbox(s, 1, 0);
    g_assert_cmpuint(cmd(s, NRC_RST2INIT_QP, QPN, 0), ==, 0);
    for (int i = 0; i < t; i++) {
        qp_mbox(s, 1, 0);
        g_assert_cmpuint(cmd(s, transition[i], QPN, 0), ==, 0);
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
        { 0x84, 0x00000100, T(INIT2RTR), 0 },           /* receive PSN */
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

                g_assert_cmpuint(query(s, NRC_QUERY_QP, QPN), ==, 0);
                was = get_be32(s->mem + OUT_MBOX + field[i].off);
                m = qp_mbox(s, 1, 0) + field[i].off;
                put_be32(m, get_be32(m) ^ field[i].change);
                g_assert_cmpuint(cmd(s, transition[t], QPN, 0), ==,
                                 refused && !lax_too ? 3 : 0);
                g_assert_cmpuint(s->rules, ==, rules + refused);
                g_assert_cmpuint(query(s, NRC_QUERY_QP, QPN), ==, 0);
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

            raddr_unit(&w, VA);
            data_unit(&w, VA, 600);
            if (t != T_RTS2RTS && t != T_RTS2SQD) {
                qp_mbox(s, 1, 0);
                g_assert_cmpuint(cmd(s, NRC_SQD2RTS_QP, QPN, 0), ==, 0);
            }
            post(s, &w, RDMA_OP_WRITE);
            rdma_poll(native_dev(s->n), s->now);
            if (t != T_RTS2RTS && t != T_RTS2SQD) {
                qp_mbox(s, 1, 0);
                g_assert_cmpuint(cmd(s, NRC_RTS2SQD_QP, QPN, 0), ==, 0);
            }
            qp_mbox(s, 1, RDMA_UC);
            g_assert_cmpuint(cmd(s, transition[t], QPN, 0), ==,
                             lax_too || t == T_RTS2SQD ? 0 : 3);
            post(s, &w, RDMA_OP_WRITE);
            rdma_poll(native_dev(s->n), s->now);
            g_assert_null(cqe(s));
            /* Made anew while something is in flight: only if not strict. */
            qp_mbox(s, 1, RDMA_UC);
            g_assert_cmpuint(cmd(s, NRC_RST2INIT_QP, QPN, 0), ==,
                             lax_too ? 0 : 3);
            rdma_poll(native_dev(s->n), s->now);
            g_assert_cmpuint(hcr(s, 0, QPN, 0, NRC_2RST_QP, 3) >> 24, ==, 0);
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

    raddr_unit(&w, VA);
    data_unit(&w, VA, 8);
    put_be32(qp_mbox(s, 1, 0) + 0x18, 0xabcdef);
    g_assert_cmpuint(cmd(s, NRC_INIT2RTR_QP, QPN, 0), ==, 0);
    put_be32(qp_mbox(s, 1, 0) + 0x18, 0xabcdef);
    g_assert_cmpuint(cmd(s, NRC_RTR2RTS_QP, QPN, 0), ==, 0);
    post(s, &w, RDMA_OP_WRITE);
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

    g_assert_cmpuint(cq_create(s, CQN + 1, 5), ==, 0);
    g_assert_cmpuint(hcr(s, 0, QPN, 0, NRC_2RST_QP, 3) >> 24, ==, 0);
    for (int i = 0; i < 3; i++) {
        static const uint16_t op[] = { NRC_RST2INIT_QP, NRC_INIT2RTR_QP,
                                       NRC_RTR2RTS_QP };
        uint8_t *m = qp_mbox(s, 1, 0);

        put_be32(m + NR_QPC_RECV_CQN, CQN + 1);
        put_be32(m + NR_QPC_PKEY, 1 << 24 | 0x55);
        m[NR_QPC_RNR_RETRY] = 5 << 5;
        m[NR_QPC_ACKTO] = 17 << 3;
        m[NR_QPC_HOP] = 33;
        put_be32(m + NR_QPC_SL, 9u << 28 | 0xa5 << 20 | 0x12345);
        put_be32(m + NR_QPC_QKEY, 0x80001234);
        g_assert_cmpuint(cmd(s, op[i], QPN, 0), ==, 0);
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
    uint8_t *m = mbox(s), *at = s->mem + ICM + 0x10000 + 7 * NR_CQC_BYTES;

    memset(m, 0x11, NR_CQC_BYTES);
    m[NR_CTX_LOG] = 3;
    g_assert_cmpuint(cmd(s, NRC_SW2HW_CQ, 7, 0), ==, 0);
    g_assert_cmpmem(at, 0x38, s->mem + IN_MBOX, 0x38);
    g_assert_cmphex(at[0x38], ==, 0);
    m = mbox(s);
    memset(m, 0x22, NR_EQC_BYTES);
    m[NR_CTX_LOG] = 3;
    at = s->mem + ICM + 0x11000 + 6 * NR_EQC_BYTES;
    g_assert_cmpuint(cmd(s, NRC_SW2HW_EQ, 6, 0), ==, 0);
    g_assert_cmpmem(at, 0x30, s->mem + IN_MBOX, 0x30);
    g_assert_cmphex(at[0x30], ==, 0);
    side_free(s);
}

/* A fenced Write waits for the Read before it, by doorbell and by link. */
static void test_fence(void)
{
    for (int how = 0; how < 4; how++) {
        Side *s = side_up(1, 0, NULL);
        bool fence = how & 1, chain = how & 2;
        Wqe w = wqe_begin(0);

        raddr_unit(&w, VA);
        data_unit(&w, VA, 8);
        copy_in(s, SQ, 128, w.b, w.len);
        if (chain) {
            put_le32(w.b, (128 / 16) << 6 | RDMA_OP_WRITE);
            put_le32(w.b + 4, (uint32_t)fence << 6 | 3);
        }
        copy_in(s, SQ, 0, w.b, w.len);
        doorbell(s, 0, 48, RDMA_OP_READ);
        if (!chain) {
            doorbell(s, 128, 48, RDMA_OP_WRITE | fence << 5);
        }
        rdma_poll(native_dev(s->n), s->now);
        g_assert_cmpuint(s->wire->len, ==, fence ? 1 : 2);
        side_free(s);
    }
}

/* Inline data that fills its WQE, and one byte more. */
static void test_inline(void)
{
    for (uint32_t len = 12; len < 14; len++) {
        Side *a = side_up(1, 0, NULL), *b = side_up(2, 0, NULL);
        Wqe w = wqe_begin(0);

        raddr_unit(&w, VA);
        put_le32(unit(&w, 16), 0x80000000 | len);
        memcpy(w.b + w.len - 12, "twelve bytes", 12);
        post(a, &w, RDMA_OP_WRITE);
        run(a, b);
        if (len == 12) {
            expect_send(a, RDMA_OP_WRITE, 0, 12);
            g_assert_cmpmem(ptr(b, VA), 12, "twelve bytes", 12);
        } else {
            g_assert_cmphex(cqe(a)[NRQ_IMM], ==, 0x01);
        }
        side_free(a);
        side_free(b);
    }
}

/* An EQ that was not given armed interrupts nobody. */
static void test_eq_unarmed(void)
{
    Side *a = side_up(1, 0, NULL);
    uint8_t *m = mbox(a);

    put_be64(m + NR_CTX_START, BUS + EQB);
    m[NR_CTX_LOG] = 3;
    g_assert_cmpuint(cmd(a, NRC_SW2HW_EQ, EQN, 0), ==, 0);
    g_assert_cmpuint(hcr(a, 0, EQN, 0, NRC_MAP_EQ, 0) >> 24, ==, 0);
    native_uar_write(a->n, NRU_ARM_CQ, CQN, 4);
    doorbell(a, 0, 0, RDMA_OP_SEND);            /* an error */
    settles(a);
    g_assert_cmphex(a->mem[EQB + NRE_OWNER], ==, 0);
    g_assert_cmpuint(a->msix->len, ==, 0);
    side_free(a);
}

/* ---- switches: the other value of each ---- */

#define TWEAK(name, what) \
    static void tweak_##name(NativeConfig *cfg) { what; }
TWEAK(state_rtl, cfg->state_rtl = true)
TWEAK(devlim_rtl, cfg->devlim_rtl = true)
TWEAK(nop_bad_op, cfg->nop_bad_op = true)
TWEAK(psn_always, cfg->psn_always = true)
TWEAK(rnr0_none, cfg->rnr0_none = true)
TWEAK(mpt_phys, cfg->mpt_phys = true)
TWEAK(uar_check, cfg->uar_check = true)
TWEAK(err_doc, cfg->err_cqe = NATIVE_ERR_CQE_DOC)
TWEAK(err_rtl, cfg->err_cqe = NATIVE_ERR_CQE_RTL)
TWEAK(lerr, cfg->lerr = 0x04)
TWEAK(no_eqe, cfg->eqe = false)

static void test_switch_queries(void)
{
    Side *s = side_up(1, 0, tweak_state_rtl);
    uint8_t *o = s->mem + OUT_MBOX;

    g_assert_cmpuint(hcr(s, 0, QPN, 0, NRC_RTS2SQD_QP, 3) >> 24, ==, 0);
    g_assert_cmpuint(query(s, NRC_QUERY_QP, QPN), ==, 0);
    g_assert_cmphex(o[0x08], ==, 0x40);
    side_free(s);
    s = side_new(1, tweak_devlim_rtl);
    o = s->mem + OUT_MBOX;
    g_assert_cmpuint(query(s, NRC_QUERY_DEV_LIM, 0), ==, 0);
    g_assert_cmpuint(o[NR_LIM_LOG_QPS], ==, 14);
    g_assert_cmphex(get_be16(o + NR_LIM_CQC_BYTES), ==, 0x80);
    g_assert_cmphex(o[NR_LIM_MTU_WIDTH], ==, 0x50);
    g_assert_cmphex(get_be64(o + NR_LIM_MAX_ICM), ==,
                    UINT64_C(0x1234567887650000));
    side_free(s);
    s = side_new(1, tweak_nop_bad_op);
    g_assert_cmphex(hcr(s, 0, 0x1f, 0, NRC_NOP, 0) >> 24, ==, NRS_BAD_OP);
    side_free(s);
}

/* An old image rewinds the PSNs, as the hardware has it. */
static void test_switch_psn(void)
{
    Side *a = side_up(1, 0, tweak_psn_always), *b = side_up(2, 0, NULL);
    uint8_t *o = a->mem + OUT_MBOX;
    Wqe w = wqe_begin(0);

    raddr_unit(&w, VA);
    data_unit(&w, VA, 8);
    post(a, &w, RDMA_OP_WRITE);
    run(a, b);
    expect_send(a, RDMA_OP_WRITE, 0, 8);
    qp_mbox(a, 1, 0);
    g_assert_cmpuint(cmd(a, NRC_RTS2RTS_QP, QPN, 0), ==, 0);
    g_assert_cmpuint(query(a, NRC_QUERY_QP, QPN), ==, 0);
    g_assert_cmphex(get_be32(o + NR_QPC_SQ_PSN), ==, 0xfffffd);
    side_free(a);
    side_free(b);
}

/* Without a receive: tried again for ever, or once. */
static void test_switch_rnr(void)
{
    for (int none = 0; none < 2; none++) {
        Side *a = side_up(1, 0, none ? tweak_rnr0_none : NULL);
        Side *b = side_up(2, 0, NULL);
        Wqe w = wqe_begin(0);
        const uint8_t *c;

        data_unit(&w, VA, 8);
        post(a, &w, RDMA_OP_SEND);
        for (int i = 0; i < 20; i++) {
            run(a, b);
            a->now += 1000000000;
        }
        c = cqe(a);
        if (none) {
            g_assert_cmphex(c[NRQ_IMM], ==, 0x16);
        } else {
            g_assert_null(c);
        }
        side_free(a);
        side_free(b);
    }
}

/* A region with the flag PHYSICAL: addresses are bus addresses. */
static void test_switch_phys(void)
{
    Side *a = side_up(1, 0, tweak_mpt_phys), *b = side_up(2, 0, NULL);
    Wqe w = wqe_begin(0);
    uint8_t *u;

    g_assert_cmpuint(mpt(a, 9, NRM_PHYSICAL, BUS, MEM_SIZE, 1 << 17), ==, 0);
    memcpy(a->mem + DATA2, "physical", 8);
    raddr_unit(&w, VA);
    u = unit(&w, 16);
    put_le32(u, 8);
    put_le32(u + 4, 9);
    put_le64(u + 8, BUS + DATA2);
    post(a, &w, RDMA_OP_WRITE);
    run(a, b);
    expect_send(a, RDMA_OP_WRITE, 0, 8);
    g_assert_cmpmem(ptr(b, VA), 8, "physical", 8);
    side_free(a);
    side_free(b);
}

static void test_switch_uar(void)
{
    for (int check = 0; check < 2; check++) {
        Side *a = side_up(1, 0, check ? tweak_uar_check : NULL);
        Side *b = side_up(2, 0, NULL);
        Wqe w = wqe_begin(0);
        uint64_t v = (uint64_t)QPN << 40 | UINT64_C(3) << 32 | RDMA_OP_WRITE;
        uint8_t *eqe = a->mem + EQB;

        eq_create(a, BUS + EQB, 0);
        raddr_unit(&w, VA);
        data_unit(&w, VA, 4);
        copy_in(a, SQ, 0, w.b, w.len);
        native_uar_write(a->n, 7 * 4096 + NRU_ARM_CQ, CQN, 4);
        native_uar_write(a->n, 7 * 4096 + NRU_SQ_DB, v, 8);
        run(a, b);
        g_assert_true((cqe(a) != NULL) == !check);
        g_assert_cmpuint(a->msix->len, ==, !check);
        g_assert_cmpuint(a->rules, ==, 2 * check);
        /* Halves on different pages make no doorbell of either. */
        native_uar_write(a->n, 7 * 4096, v, 4);
        native_uar_write(a->n, 4, v >> 32, 4);
        run(a, b);
        g_assert_true((cqe(a) != NULL) == !check);
        native_uar_write(a->n, NRU_ARM_CQ, CQN, 4);
        native_uar_write(a->n, NRU_SQ_DB, v, 8);
        run(a, b);
        g_assert_nonnull(cqe(a));
        g_assert_cmphex(eqe[NRE_OWNER], ==, 0);
        side_free(a);
        side_free(b);
    }
}

/* Where an error is told, and which: a refused Write, a bad local key. */
static void test_switch_errors(void)
{
    static const struct {
        void (*tweak)(NativeConfig *cfg);
        bool local;
        uint8_t op, at, syndrome;
    } t[] = {
        { NULL, false, NRQ_ERR_SEND, 0, 0x13 },
        { tweak_err_doc, false, RDMA_OP_WRITE, 0, 0x13 },
        { tweak_err_rtl, false, NRQ_ERR_SEND, 3, 0x13 },
        { NULL, true, NRQ_ERR_SEND, 0, 0x11 },
        { tweak_lerr, true, NRQ_ERR_SEND, 0, 0x04 },
    };

    for (int i = 0; i < G_N_ELEMENTS(t); i++) {
        Side *a = side_up(1, 0, t[i].tweak), *b = side_up(2, 0, NULL);
        Wqe w = wqe_begin(0);
        const uint8_t *c;

        raddr_unit(&w, t[i].local ? VA : VA - 1);
        data_unit(&w, t[i].local ? VA - 1 : VA, 4);
        post(a, &w, RDMA_OP_WRITE);
        run(a, b);
        c = cqe(a);
        g_assert_nonnull(c);
        g_assert_cmphex(c[NRQ_OP], ==, t[i].op);
        for (int k = 0; k < 4; k++) {
            g_assert_cmphex(c[NRQ_IMM + k], ==,
                            k == t[i].at ? t[i].syndrome : 0);
        }
        side_free(a);
        side_free(b);
    }
}

static void test_switch_eqe(void)
{
    Side *a = side_up(1, 0, tweak_no_eqe), *b = side_up(2, 0, NULL);
    Wqe w = wqe_begin(0);

    eq_create(a, BUS + EQB, 0);
    native_uar_write(a->n, NRU_ARM_CQ, CQN, 4);
    raddr_unit(&w, VA);
    data_unit(&w, VA, 4);
    post(a, &w, RDMA_OP_WRITE);
    run(a, b);
    expect_send(a, RDMA_OP_WRITE, 0, 4);
    g_assert_cmphex(a->mem[EQB + NRE_OWNER], ==, 0x80);
    g_assert_cmpuint(a->msix->len, ==, 0);
    side_free(a);
    side_free(b);
}

/* ---- doorbells that wait ---- */

/* One QP that nobody serves keeps others neither from ringing nor from 64
 * doorbells of their own. */
static void test_doorbell_quota(void)
{
    enum { LIMIT = 1 << NR_LOG_QUEUE, HOG = QPN + 1 };
    Side *a = side_up(1, 0, NULL), *b = side_up(2, 0, NULL);
    uint64_t v = (uint64_t)HOG << 40 | UINT64_C(3) << 32 | RDMA_OP_WRITE;
    Wqe w = wqe_begin(0);

    qp_mbox(a, 1, 0);
    put_be32(a->mem + IN_MBOX + 0x14, HOG);
    g_assert_cmpuint(cmd(a, NRC_RST2INIT_QP, HOG, 0), ==, 0);
    g_assert_cmpuint(cmd(a, NRC_INIT2RTR_QP, HOG, 0), ==, 0);
    for (int i = 0; i < LIMIT; i++) {
        native_uar_write(a->n, NRU_SQ_DB, v, 8);
    }
    g_assert_cmpuint(a->rules, ==, 0);
    native_uar_write(a->n, NRU_SQ_DB, v, 8);
    g_assert_cmpuint(a->rules, ==, 1);
    raddr_unit(&w, VA);
    data_unit(&w, VA, 4);
    for (int i = 0; i < 31; i++) {
        post(a, &w, RDMA_OP_WRITE);
    }
    g_assert_cmpuint(a->rules, ==, 1);
    run(a, b);
    for (int i = 0; i < 31; i++) {
        g_assert_nonnull(cqe(a));
    }
    /* RESET gives them back. */
    g_assert_cmpuint(hcr(a, 0, HOG, 0, NRC_2RST_QP, 3) >> 24, ==, 0);
    qp_mbox(a, 1, 0);
    g_assert_cmpuint(cmd(a, NRC_RST2INIT_QP, HOG, 0), ==, 0);
    g_assert_cmpuint(cmd(a, NRC_INIT2RTR_QP, HOG, 0), ==, 0);
    native_uar_write(a->n, NRU_SQ_DB, v, 8);
    g_assert_cmpuint(a->rules, ==, 1);
    side_free(a);
    side_free(b);
}

/* All that is shared used up: each QP still has its own 64. */
static void test_doorbell_shared(void)
{
    enum { LIMIT = 1 << NR_LOG_QUEUE, OWN = 64, SHARED = 65536 };
    Side *s = side_up(1, 0, NULL);
    unsigned left = SHARED;

    for (uint32_t qpn = 16; qpn < 16 + 10; qpn++) {
        uint64_t v = (uint64_t)qpn << 40 | UINT64_C(3) << 32 | RDMA_OP_WRITE;
        unsigned room = OWN + MIN(left, LIMIT - OWN);

        qp_mbox(s, 1, 0);
        g_assert_cmpuint(cmd(s, NRC_RST2INIT_QP, qpn, 0), ==, 0);
        g_assert_cmpuint(cmd(s, NRC_INIT2RTR_QP, qpn, 0), ==, 0);
        s->rules = 0;
        for (unsigned i = 0; i < room; i++) {
            native_uar_write(s->n, NRU_SQ_DB, v, 8);
        }
        g_assert_cmpuint(s->rules, ==, 0);
        native_uar_write(s->n, NRU_SQ_DB, v, 8);
        g_assert_cmpuint(s->rules, ==, 1);
        left -= room - OWN;
    }
    g_assert_cmpuint(left, ==, 0);
    side_free(s);
}

/* ---- events ---- */

static void test_events(void)
{
    for (int keyed = 0; keyed < 2; keyed++) {
        Side *a = side_up(1, 0, NULL), *b = side_up(2, 0, NULL);
        uint8_t *eqe = b->mem + EQB;
        Wqe w = wqe_begin(0);

        eq_create(b, keyed ? 0 : BUS + EQB, keyed ? MR_EQ : 0);
        native_uar_write(b->n, NRU_ARM_CQ, CQN, 4);
        data_unit(&w, VA, 4);
        for (int i = 0; i < 2; i++) {
            post_recv(b, VA, 4);
            post(a, &w, RDMA_OP_SEND);
        }
        run(a, b);
        /* Armed once: one event, one interrupt. */
        g_assert_cmpuint(b->msix->len, ==, 1);
        g_assert_cmpuint(g_array_index(b->msix, unsigned, 0), ==, VECTOR);
        g_assert_cmphex(eqe[1], ==, 0x00);
        g_assert_cmphex(get_le32(eqe + 4), ==, CQN);
        g_assert_cmphex(eqe[0x1f], ==, 0x00);
        g_assert_cmphex(eqe[32 + 0x1f], ==, 0x80);
        /* An access violation raises the mapped event; not armed: no IRQ. */
        w = wqe_begin(0);
        raddr_unit(&w, VA - 100);
        data_unit(&w, VA, 4);
        post(a, &w, RDMA_OP_WRITE);
        run(a, b);
        g_assert_cmphex(eqe[32 + 1], ==, 0x11);
        g_assert_cmphex(get_le32(eqe + 32 + 4), ==, QPN);
        g_assert_cmpuint(b->msix->len, ==, 1);
        native_uar_write(b->n, NRU_ARM_EQ, EQN, 4);
        g_assert_cmpuint(hcr(b, 1 << 0x11, 0x80000000 | EQN, 0, NRC_MAP_EQ,
                             0) >> 24, ==, 0);
        g_assert_cmpuint(hcr(b, 0, EQN, 0, NRC_HW2SW_EQ, 0) >> 24, ==, 0);
        side_free(a);
        side_free(b);
    }
}

/* ---- migration ---- */

static void test_migrate(void)
{
    Side *a = side_up(1, 0, NULL), *b = side_up(2, 0, NULL);
    Wqe w = wqe_begin(0);
    NativeConfig cfg;
    RdmaConfig rdma;
    uint8_t *state;
    size_t len;

    fill(a, VA, 0x2000, 5);
    raddr_unit(&w, VA + 0x8000);
    data_unit(&w, VA, 0x2000);
    post(a, &w, RDMA_OP_WRITE);
    rdma_poll(native_dev(a->n), a->now);        /* under way */
    post(a, &w, RDMA_OP_WRITE);                 /* queued */
    state = native_save(a->n, a->now, &len);
    native_free(a->n);
    g_ptr_array_set_size(a->wire, 0);
    native_config_init(&cfg);
    native_rdma_config(&rdma);
    rdma.ops = &rdma_ops;
    rdma.ops_opaque = a;
    a->n = native_new(&rdma, &cfg, &native_ops);
    for (size_t cut = 0; cut < len; cut += cut < 64 ? 1 : 4099) {
        g_assert_nonnull(native_load(a->n, a->now, state, cut));
    }
    g_assert_null(native_load(a->n, a->now, state, len));
    g_free(state);
    for (int i = 0; i < 4; i++) {
        run(a, b);
        a->now += 200000000;
    }
    expect_send(a, RDMA_OP_WRITE, 0, 0x2000);
    expect_send(a, RDMA_OP_WRITE, 128, 0x2000);
    g_assert_cmpmem(ptr(b, VA + 0x8000), 0x2000, ptr(a, VA), 0x2000);
    side_free(a);
    side_free(b);
}

/* An engine full of work that nobody answers. */
static Side *busy(void)
{
    static const uint8_t service[] = { RDMA_UC, RDMA_UD };
    Side *s = side_up(1, 0, NULL);
    Wqe w = wqe_begin(0);

    eq_create(s, BUS + EQB, 0);
    native_uar_write(s->n, NRU_ARM_CQ, CQN, 4);
    post_recv(s, VA, 4);
    /* A chain of a Write and a Read, an inline Write, more behind. */
    put_le32(w.b, (128 / 16) << 6 | RDMA_OP_READ);
    put_le32(w.b + 4, 1 << 6 | 3);
    raddr_unit(&w, VA);
    data_unit(&w, VA, 3000);
    post(s, &w, RDMA_OP_WRITE);
    w = wqe_begin(0);
    raddr_unit(&w, VA);
    data_unit(&w, VA + 0x8000, 700);
    copy_in(s, SQ, 128, w.b, w.len);
    w = wqe_begin(0);
    raddr_unit(&w, VA);
    put_le32(unit(&w, 16), 0x80000005);
    memcpy(w.b + w.len - 12, "hello", 5);
    s->sq_head += 128;
    post(s, &w, RDMA_OP_WRITE);
    rdma_poll(native_dev(s->n), s->now);
    for (int i = 0; i < 70; i++) {
        doorbell(s, 0, 48, RDMA_OP_WRITE);
    }
    for (unsigned i = 0; i < G_N_ELEMENTS(service); i++) {
        static const uint16_t op[] = { NRC_RST2INIT_QP, NRC_INIT2RTR_QP,
                                       NRC_RTR2RTS_QP };
        uint32_t qpn = QPN + 1 + i;

        for (int k = 0; k < 3; k++) {
            put_be32(qp_mbox(s, 1, service[i]) + 0x14, qpn);
            g_assert_cmpuint(cmd(s, op[k], qpn, 0), ==, 0);
        }
        native_uar_write(s->n, NRU_SQ_DB, (uint64_t)qpn << 40 |
                         UINT64_C(3) << 32 | RDMA_OP_WRITE, 8);
    }
    return s;
}

/* What is loaded and saved again is the same, but for the transport's. */
static void test_image_same(void)
{
    Side *s = busy(), *t = side_new(1, NULL);
    size_t len, len2, engine;
    uint8_t *block = native_save(s->n, s->now, &len), *again;
    const uint8_t *tag = memmem(block, len, "Rdma", 4);

    g_assert_nonnull(tag);
    engine = tag - block;
    memcpy(t->mem, s->mem, MEM_SIZE);
    g_assert_cmpstr(native_load(t->n, 99, block, len), ==, NULL);
    again = native_save(t->n, 99, &len2);
    g_assert_cmpuint(len, ==, len2);
    g_assert_cmpmem(block, engine, again, engine);
    for (int i = 0; i <= NRH_CMD; i += 4) {
        g_assert_cmphex(native_hcr_read(t->n, i), ==,
                        native_hcr_read(s->n, i));
    }
    /* CQ and EQ are armed there, too. */
    g_assert_cmpuint(query(t, NRC_QUERY_QP, QPN), ==, 0);
    mbox(t);
    g_assert_cmpuint(cmd(t, NRC_2ERR_QP, QPN, 0), ==, 0);
    settles(t);
    g_assert_cmphex(t->mem[EQB + NRE_OWNER], ==, 0);
    g_assert_cmpuint(t->msix->len, ==, 1);
    g_assert_cmpuint(hcr(t, 0, CQN, 0, NRC_HW2SW_CQ, 0) >> 24, ==, 0);
    g_free(block);
    g_free(again);
    side_free(s);
    side_free(t);
}

TWEAK(strict_cmd, cfg->strict_cmd = false)
TWEAK(strict_qp, cfg->strict_qp = false)

static void test_image_switches(void)
{
    static const struct {
        void (*tweak)(NativeConfig *cfg);
        const char *error;
    } t[] = {
        { tweak_strict_cmd, "property rdma-strict differs" },
        { tweak_strict_qp, "property rdma-strict differs" },
        { tweak_state_rtl, "property rdma-state-rtl differs" },
        { tweak_devlim_rtl, "property rdma-devlim-rtl differs" },
        { tweak_nop_bad_op, "property rdma-nop-bad-op differs" },
        { tweak_psn_always, "property rdma-psn-always differs" },
        { tweak_rnr0_none, "property rdma-rnr0-none differs" },
        { tweak_mpt_phys, "property rdma-mpt-phys differs" },
        { tweak_no_eqe, "property rdma-eqe differs" },
        { check_owner, "property rdma-cq-check-owner differs" },
        { tweak_uar_check, "property rdma-uar-check differs" },
        { tweak_lerr, "property rdma-local-error differs" },
        { tweak_err_doc, "property rdma-error-cqe differs" },
    };
    Side *s = busy();
    size_t len;
    uint8_t *block = native_save(s->n, s->now, &len);

    for (int i = 0; i < G_N_ELEMENTS(t); i++) {
        Side *other = side_new(1, t[i].tweak);

        g_assert_cmpstr(native_load(other->n, 1, block, len), ==, t[i].error);
        g_assert_cmphex(native_hcr_read(other->n, NRH_CMD), ==, 0);
        side_free(other);
    }
    g_free(block);
    side_free(s);
}

/* A block may come from anywhere: the engine takes or refuses it, and goes on
 * (the sanitizers look on). */
static void test_image_damaged(void)
{
    Side *a = busy(), *b = side_new(1, NULL);
    GRand *r = g_rand_new_with_seed(0xce0);
    unsigned num = mutations(3000), taken = 0;
    size_t len;
    uint8_t *state = native_save(a->n, a->now, &len);

    for (unsigned i = 0; i < num; i++) {
        uint8_t *bad = mutate(r, state, len);

        memcpy(b->mem, a->mem, DATA + 0x1000);
        if (!native_load(b->n, b->now, bad, len)) {
            taken++;
            for (int k = 0; k < 12; k++) {
                b->now += 1 << (k + 16);
                settles(b);
            }
            doorbell(b, 0, 48, RDMA_OP_WRITE);
            settles(b);
            cq_create(b, CQN, 5);
            mbox(b);
            cmd(b, NRC_2ERR_QP, QPN + i % 3, 0);
            settles(b);
            hcr(b, 0, QPN + i % 3, 0, NRC_2RST_QP, 3);
            g_ptr_array_set_size(b->wire, 0);
        }
        g_free(bad);
    }
    g_assert_cmpuint(taken, >, num / 100);
    g_assert_null(native_load(b->n, b->now, state, len));
    g_free(state);
    g_rand_free(r);
    side_free(a);
    side_free(b);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
#define TEST(path, fn) g_test_add_func("/native/" path, test_##fn)
    TEST("hcr", hcr);
    TEST("hcr/errors", hcr_errors);
    TEST("map-icm", map_icm);
    TEST("write-mtt", write_mtt);
    TEST("rc", rc);
    TEST("chain", chain);
    TEST("rq-walk", rq_walk);
    TEST("wrap", wrap);
    TEST("ud", ud);
    TEST("errors", errors);
    TEST("flush-full-rq", flush_full_rq);
    TEST("remote-errors", remote_errors);
    TEST("doorbells", doorbells);
    TEST("qp/psn", qp_psn);
    TEST("qp/attributes", qp_attributes);
    TEST("qp/in-flight", qp_in_flight);
    TEST("qp/far-qpn", far_qpn);
    TEST("lax", lax);
    TEST("qp/to-transport", qp_to_transport);
    TEST("contexts", contexts);
    TEST("fence", fence);
    TEST("inline", inline);
    TEST("eq/unarmed", eq_unarmed);
    TEST("switch/queries", switch_queries);
    TEST("switch/psn-always", switch_psn);
    TEST("switch/rnr0-none", switch_rnr);
    TEST("switch/mpt-phys", switch_phys);
    TEST("switch/uar-check", switch_uar);
    TEST("switch/errors", switch_errors);
    TEST("switch/eqe", switch_eqe);
    TEST("doorbell/quota", doorbell_quota);
    TEST("doorbell/shared", doorbell_shared);
    TEST("events", events);
    TEST("migrate", migrate);
    TEST("image/same", image_same);
    TEST("image/switches", image_switches);
    TEST("image/damaged", image_damaged);
    return g_test_run();
}
