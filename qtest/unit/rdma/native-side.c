/*
 * A guest with the native RDMA interface.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <string.h>

#include "native-side.h"

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

static void op_log(void *o, uint32_t number, const char *rule,
                   const char *text)
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

Side *side_new(unsigned num, void (*tweak)(NativeConfig *cfg))
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

void side_renew(Side *s)
{
    NativeConfig cfg;
    RdmaConfig rdma;

    native_free(s->n);
    g_ptr_array_set_size(s->wire, 0);
    native_config_init(&cfg);
    native_rdma_config(&rdma);
    rdma.ops = &rdma_ops;
    rdma.ops_opaque = s;
    s->n = native_new(&rdma, &cfg, &native_ops);
}

void side_free(Side *s)
{
    native_free(s->n);
    g_ptr_array_free(s->wire, true);
    g_array_free(s->msix, true);
    g_free(s->mem);
    g_free(s);
}

/* ---- commands ---- */

uint32_t side_hcr(Side *s, uint64_t in, uint32_t mod, uint64_t out,
                  uint16_t op, uint8_t op_mod)
{
    uint32_t regs[NRB_HCR];

    nrb_command(regs, op, in, mod, out, op_mod);
    for (unsigned i = 0; i < NRB_HCR; i++) {
        native_hcr_write(s->n, 4 * i, regs[i]);
    }
    return native_hcr_read(s->n, NRH_CMD);
}

uint8_t *side_mbox(Side *s)
{
    memset(s->mem + IN_MBOX, 0, 0x1000);
    return s->mem + IN_MBOX;
}

/* Status of a command with the prepared mailbox. */
unsigned side_cmd(Side *s, uint16_t op, uint32_t mod, uint8_t op_mod)
{
    return side_hcr(s, BUS + IN_MBOX, mod, 0, op, op_mod) >> 24;
}

unsigned side_query(Side *s, uint16_t op, uint32_t mod)
{
    memset(s->mem + OUT_MBOX, 0xee, 0x1000);
    return side_hcr(s, 0, mod, BUS + OUT_MBOX, op, 0) >> 24;
}

void side_init_hca(Side *s)
{
    uint8_t *m = side_mbox(s);

    put_be64(m + 0x08, QPC_BASE | NR_LOG_QPS);
    put_be64(m + 0x10, CQC_BASE | NR_LOG_CQS);
    put_be64(m + 0x18, EQC_BASE | NR_LOG_EQS);
    put_be64(m + 0x30, MPT_BASE | NR_LOG_MPTS);
    put_be64(m + 0x38, MTT_BASE);
    g_assert_cmpuint(side_cmd(s, NRC_INIT_HCA, 0, 0), ==, 0);
}

unsigned side_map(Side *s, unsigned region, uint64_t virt, uint32_t off,
                  uint32_t pages)
{
    uint8_t *m = side_mbox(s);

    put_be64(m + 0x10, virt);
    put_be64(m + 0x18, (BUS + off) | pages);
    return side_cmd(s, NRC_MAP_ICM, 1, region);
}

unsigned side_mtt(Side *s, uint64_t first, uint32_t off, uint32_t pages)
{
    uint8_t *m = side_mbox(s);

    put_be64(m + 0x18, first);
    for (uint32_t i = 0; i < pages; i++) {
        put_be64(m + 0x20 + (i / 4 * 4 + 3 - i % 4) * 8, BUS + off +
                                                       i * 0x1000);
    }
    return side_cmd(s, NRC_WRITE_MTT, pages, 0);
}

unsigned side_mpt(Side *s, uint32_t index, uint32_t flags, uint64_t start,
                  uint64_t len, uint64_t first_mtt)
{
    uint8_t *m = side_mbox(s);

    put_be32(m, 0xf0000100 | flags);
    put_be32(m + 0x04, 4096);
    put_be32(m + 0x08, index);
    put_be32(m + 0x0c, PD);
    put_be64(m + 0x10, start);
    put_be64(m + 0x18, len);
    put_be64(m + 0x2c, first_mtt);
    return side_cmd(s, NRC_SW2HW_MPT, index, 0);
}

void side_region(Side *s, uint32_t index, uint32_t flags, uint64_t start,
                 uint32_t off, uint32_t len)
{
    g_assert_cmpuint(side_mtt(s, index * 32, off, (len + 0xfff) / 0x1000), ==,
                     0);
    g_assert_cmpuint(side_mpt(s, index, flags, start, len, index * 32), ==, 0);
}

unsigned side_cq(Side *s, uint32_t cqn, uint8_t log)
{
    uint8_t *m = side_mbox(s);

    m[0x0c] = log;
    put_be32(m + 0x10, EQN);
    put_be32(m + 0x14, PD);
    put_be32(m + 0x18, MR_CQ);
    put_be32(m + 0x2c, cqn);
    return side_cmd(s, NRC_SW2HW_CQ, cqn, 0);
}

/* The context of the QP of engine @num towards the other one. */
uint8_t *side_qp_mbox(Side *s, unsigned num, uint8_t service)
{
    uint8_t *m = side_mbox(s);

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

void side_qp_up(Side *s, unsigned num, uint8_t service)
{
    static const struct {
        uint16_t op;
        uint8_t state;
    } step[] = {
        { NRC_RST2INIT_QP, 1 }, { NRC_INIT2RTR_QP, 2 }, { NRC_RTR2RTS_QP, 3 },
    };

    for (int i = 0; i < 3; i++) {
        uint8_t *m = side_qp_mbox(s, num, service);

        m[0x08] = step[i].state << 4;
        g_assert_cmpuint(side_cmd(s, step[i].op, QPN, 0), ==, 0);
    }
}

/* Everything up to a QP in RTS. */
Side *side_up(unsigned num, uint8_t service,
              void (*tweak)(NativeConfig *cfg))
{
    Side *s = side_new(num, tweak);

    side_init_hca(s);
    g_assert_cmpuint(side_map(s, 1, QPC_BASE, ICM, 16), ==, 0);
    g_assert_cmpuint(side_map(s, 1, CQC_BASE, ICM + 0x10000, 1), ==, 0);
    g_assert_cmpuint(side_map(s, 1, EQC_BASE, ICM + 0x11000, 1), ==, 0);
    g_assert_cmpuint(side_map(s, 2, MPT_BASE, ICM + 0x12000, 4), ==, 0);
    g_assert_cmpuint(side_map(s, 2, MTT_BASE, ICM + 0x16000, 4), ==, 0);
    side_region(s, MR_SQ, 0, 0, SQ, QUEUE_LEN);
    side_region(s, MR_RQ, 0, 0, RQ, QUEUE_LEN);
    side_region(s, MR_CQ, NRM_LOCAL_WRITE, 0, CQB, 0x1000);
    side_region(s, MR_EQ, NRM_LOCAL_WRITE, 0, EQB, 0x1000);
    side_region(s, MR_DATA, NRM_LOCAL_WRITE | NRM_REMOTE_WRITE |
                NRM_REMOTE_READ | NRM_REMOTE_ATOMIC, VA, DATA, 0x20000);
    memset(s->mem + CQB, 0x80, 0x1000);
    memset(s->mem + EQB, 0x80, 0x1000);
    g_assert_cmpuint(side_cq(s, CQN, 5), ==, 0);
    side_qp_up(s, num, service);
    return s;
}

void side_eq(Side *s, uint64_t start, uint32_t lkey)
{
    uint8_t *m = side_mbox(s);

    put_be32(m, 0x01000000 | NRX_ARMED);
    put_be64(m + 0x04, start);
    m[0x0c] = 3;
    put_be16(m + 0x16, VECTOR);
    put_be32(m + 0x18, PD);
    put_be32(m + 0x1c, lkey);
    g_assert_cmpuint(side_cmd(s, NRC_SW2HW_EQ, EQN, 0), ==, 0);
    g_assert_cmphex(side_hcr(s, 1 << 0x11 | 1 << 0x05, EQN, 0, NRC_MAP_EQ,
                             0) >> 24, ==, 0);
}

/* ---- queues, as a driver sees them ---- */

uint8_t *wqe_unit(Wqe *w, uint32_t bytes)
{
    uint8_t *p = w->b + w->len;

    w->len += bytes;
    return p;
}

void wqe_data(Wqe *w, uint64_t va, uint32_t len)
{
    uint8_t *p = wqe_unit(w, 16);

    put_le32(p, len);
    put_le32(p + 4, MR_DATA);
    put_le64(p + 8, va);
}

void wqe_raddr(Wqe *w, uint64_t va)
{
    uint8_t *p = wqe_unit(w, 16);

    put_le64(p, va);
    put_le32(p + 8, MR_DATA);
}

Wqe wqe_begin(uint32_t imm)
{
    Wqe w = { .len = 16 };

    put_be32(w.b + 0x0c, imm);
    return w;
}

void side_copy(Side *s, uint32_t ring, uint32_t off, const uint8_t *p,
               uint32_t len)
{
    for (uint32_t i = 0; i < len; i++) {
        s->mem[ring + (off + i) % QUEUE_LEN] = p[i];
    }
}

void side_ring(Side *s, uint32_t off, uint32_t len, uint8_t op)
{
    uint64_t v = (uint64_t)QPN << 40 | (uint64_t)(len / 16) << 32 |
                 (uint64_t)(off / 16) << 8 | op;

    native_uar_write(s->n, NRU_SQ_DB, v, 8);
}

/* Post one WQE in the next slot and ring. */
void side_post(Side *s, Wqe *w, uint8_t op)
{
    uint32_t off = s->sq_head % QUEUE_LEN;

    side_copy(s, SQ, off, w->b, w->len);
    s->sq_head += 128;
    side_ring(s, off, w->len, op);
}

void side_recv(Side *s, uint64_t va, uint32_t len)
{
    uint8_t w[48] = { 0 };

    put_le32(w, ((s->rq_head + 128) % QUEUE_LEN / 16) << 6 | 1 << 5);
    put_le32(w + 16, len);
    put_le32(w + 20, MR_DATA);
    put_le64(w + 24, va);
    side_copy(s, RQ, s->rq_head % QUEUE_LEN, w, sizeof(w));
    s->rq_head += 128;
}

/* The next CQE, checked and given back; NULL = none. */
const uint8_t *side_cqe(Side *s)
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

void side_run(Side *a, Side *b)
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

uint8_t *side_ptr(Side *s, uint64_t va)
{
    return s->mem + DATA + (va - VA);
}

void side_fill(Side *s, uint64_t va, uint32_t len, uint8_t seed)
{
    for (uint32_t i = 0; i < len; i++) {
        *side_ptr(s, va + i) = i * 13 + seed;
    }
}

void side_expect_send(Side *s, uint8_t op, uint32_t off, uint32_t len)
{
    const uint8_t *c = side_cqe(s);

    g_assert_nonnull(c);
    g_assert_cmphex(get_le32(c + 0x1c), ==, 0x100 | op);
    g_assert_cmphex(get_le32(c + 0x18), ==, off);
    g_assert_cmpuint(get_le32(c + 0x14), ==, len);
}

/* Poll until there is nothing to do now; false: it does not come to that. */
bool side_settles(Side *s)
{
    for (int i = 0; i < 100; i++) {
        if (rdma_poll(native_dev(s->n), s->now) > s->now) {
            return true;
        }
    }
    return false;
}

Side *side_busy(void)
{
    static const uint8_t service[] = { RDMA_UC, RDMA_UD };
    Side *s = side_up(1, 0, NULL);
    Wqe w = wqe_begin(0);

    side_eq(s, BUS + EQB, 0);
    native_uar_write(s->n, NRU_ARM_CQ, CQN, 4);
    side_recv(s, VA, 4);
    /* A chain of a Write and a Read, an inline Write, more behind. */
    put_le32(w.b, (128 / 16) << 6 | RDMA_OP_READ);
    put_le32(w.b + 4, 1 << 6 | 3);
    wqe_raddr(&w, VA);
    wqe_data(&w, VA, 3000);
    side_post(s, &w, RDMA_OP_WRITE);
    w = wqe_begin(0);
    wqe_raddr(&w, VA);
    wqe_data(&w, VA + 0x8000, 700);
    side_copy(s, SQ, 128, w.b, w.len);
    w = wqe_begin(0);
    wqe_raddr(&w, VA);
    put_le32(wqe_unit(&w, 16), 0x80000005);
    memcpy(w.b + w.len - 12, "hello", 5);
    s->sq_head += 128;
    side_post(s, &w, RDMA_OP_WRITE);
    rdma_poll(native_dev(s->n), s->now);
    for (int i = 0; i < 70; i++) {
        side_ring(s, 0, 48, RDMA_OP_WRITE);
    }
    for (unsigned i = 0; i < G_N_ELEMENTS(service); i++) {
        static const uint16_t op[] = { NRC_RST2INIT_QP, NRC_INIT2RTR_QP,
                                       NRC_RTR2RTS_QP };
        uint32_t qpn = QPN + 1 + i;

        for (int k = 0; k < 3; k++) {
            put_be32(side_qp_mbox(s, 1, service[i]) + 0x14, qpn);
            g_assert_cmpuint(side_cmd(s, op[k], qpn, 0), ==, 0);
        }
        native_uar_write(s->n, NRU_SQ_DB, (uint64_t)qpn << 40 |
                         UINT64_C(3) << 32 | RDMA_OP_WRITE, 8);
    }
    return s;
}
