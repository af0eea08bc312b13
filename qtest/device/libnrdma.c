/*
 * libqos driver for the RDMA engine of ncic-nic
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "libnrdma.h"

enum {
    PD = 3, CQN = 2, EQN = 1, CQ_LOG = 5,
    /* ICM: contexts first, then regions, then pages. */
    QPC = 0, CQC = 0x400000, EQC = 0x600000, MPT = 0x700000, MTT = 0x900000,
    MTT_OF_REGION = 64,
};

unsigned qnr_cmd(QNrdma *r, uint16_t op, uint64_t in, uint32_t mod,
                 uint64_t out, uint8_t op_mod)
{
    QNcic *d = r->d;

    qncic_write(d, NCIC_HCR + NRH_IN_PARAM_H, in >> 32);
    qncic_write(d, NCIC_HCR + NRH_IN_PARAM_L, in);
    qncic_write(d, NCIC_HCR + NRH_IN_MODIFIER, mod);
    qncic_write(d, NCIC_HCR + NRH_OUT_PARAM_H, out >> 32);
    qncic_write(d, NCIC_HCR + NRH_OUT_PARAM_L, out);
    qncic_write(d, NCIC_HCR + NRH_TOKEN, 0xffff0000);
    qncic_write(d, NCIC_HCR + NRH_CMD,
                NRH_GO | op_mod << NRH_OPMOD_SHIFT | op);
    qncic_wait_reg(d, NCIC_HCR + NRH_IN_MODIFIER, mod);
    g_assert_cmphex(qncic_read(d, NCIC_HCR + NRH_CMD) & NRH_GO, ==, 0);
    return qncic_read(d, NCIC_HCR + NRH_CMD) >> 24;
}

static unsigned with_mbox(QNrdma *r, uint16_t op, uint32_t mod,
                          uint8_t op_mod, const uint8_t *m)
{
    qtest_memwrite(r->d->qts, r->mbox, m, 0x1000);
    return qnr_cmd(r, op, r->mbox, mod, 0, op_mod);
}

static void map(QNrdma *r, unsigned region, uint64_t virt, uint64_t addr,
                uint32_t pages)
{
    uint8_t m[0x1000] = { 0 };

    stq_be_p(m + 0x10, virt);
    stq_be_p(m + 0x18, addr | pages);
    g_assert_cmpuint(with_mbox(r, NRC_MAP_ICM, 1, region, m), ==, 0);
}

void qnr_region(QNrdma *r, uint32_t index, uint32_t flags, uint64_t va,
                uint64_t addr, uint32_t len)
{
    uint32_t pages = DIV_ROUND_UP(len, 0x1000);
    uint8_t m[0x1000] = { 0 };

    stq_be_p(m + 0x18, index * MTT_OF_REGION);
    for (uint32_t i = 0; i < pages; i++) {
        stq_be_p(m + 0x20 + (i / 4 * 4 + 3 - i % 4) * 8,
                 addr + i * 0x1000);
    }
    g_assert_cmpuint(with_mbox(r, NRC_WRITE_MTT, pages, 0, m), ==, 0);
    memset(m, 0, sizeof(m));
    stl_be_p(m, 0xf0000100 | flags);
    stl_be_p(m + 0x04, 4096);
    stl_be_p(m + 0x08, index);
    stl_be_p(m + 0x0c, PD);
    stq_be_p(m + 0x10, va);
    stq_be_p(m + 0x18, len);
    stq_be_p(m + 0x2c, index * MTT_OF_REGION);
    g_assert_cmpuint(with_mbox(r, NRC_SW2HW_MPT, index, 0, m), ==, 0);
}

static uint64_t alloc(QNrdma *r, uint32_t len, uint8_t fill)
{
    uint64_t a = guest_alloc(r->d->alloc, len);

    g_assert_cmphex(a & 0xfff, ==, 0);
    qtest_memset(r->d->qts, a, fill, len);
    return a;
}

void qnr_up(QNrdma *r, QNcic *d)
{
    uint8_t m[0x1000] = { 0 };

    *r = (QNrdma) { .d = d, .regions = QNR_MR_QUEUES };
    r->mbox = alloc(r, 0x1000, 0);
    r->out = alloc(r, 0x1000, 0);
    r->icm = alloc(r, 0x20000, 0);
    r->cq = alloc(r, 0x1000, 0x80);
    r->eq = alloc(r, 0x1000, 0x80);
    r->data = alloc(r, QNR_DATA, 0);
    stq_be_p(m + 0x08, QPC | NR_LOG_QPS);
    stq_be_p(m + 0x10, CQC | NR_LOG_CQS);
    stq_be_p(m + 0x18, EQC | NR_LOG_EQS);
    stq_be_p(m + 0x30, MPT | NR_LOG_MPTS);
    stq_be_p(m + 0x38, MTT);
    g_assert_cmpuint(with_mbox(r, NRC_INIT_HCA, 0, 0, m), ==, 0);
    map(r, NR_ICM_CONTEXTS, QPC, r->icm, 8);
    map(r, NR_ICM_CONTEXTS, CQC, r->icm + 0x8000, 1);
    map(r, NR_ICM_CONTEXTS, EQC, r->icm + 0x9000, 1);
    map(r, NR_ICM_TPT, MPT, r->icm + 0xa000, 4);
    map(r, NR_ICM_TPT, MTT, r->icm + 0xe000, 8);
    qnr_region(r, QNR_MR_CQ, NRM_LOCAL_WRITE, 0, r->cq, 0x1000);
    qnr_region(r, QNR_MR_DATA, NRM_LOCAL_WRITE | NRM_REMOTE_WRITE |
               NRM_REMOTE_READ | NRM_REMOTE_ATOMIC, QNR_VA, r->data,
               QNR_DATA);
    memset(m, 0, sizeof(m));
    m[0x0c] = CQ_LOG;
    stl_be_p(m + 0x10, EQN);
    stl_be_p(m + 0x14, PD);
    stl_be_p(m + 0x18, QNR_MR_CQ);
    stl_be_p(m + 0x2c, CQN);
    g_assert_cmpuint(with_mbox(r, NRC_SW2HW_CQ, CQN, 0, m), ==, 0);
    memset(m, 0, sizeof(m));
    stl_be_p(m, NRX_ARMED);
    stq_be_p(m + 0x04, r->eq);
    m[0x0c] = 4;
    stw_be_p(m + 0x16, QNR_VECTOR);
    g_assert_cmpuint(with_mbox(r, NRC_SW2HW_EQ, EQN, 0, m), ==, 0);
    g_assert_cmpuint(qnr_cmd(r, NRC_MAP_EQ, 1 << 0x11, EQN, 0, 0), ==, 0);
    qpci_io_writel(d->pci, d->uar, NRU_ARM_CQ, CQN);
}

void qnr_qp(QNrdma *r, QNrdmaQp *q, uint32_t qpn, uint32_t peer,
            uint8_t service, uint32_t sip, uint32_t dip, uint64_t dmac)
{
    static const uint16_t steps[] = { NRC_RST2INIT_QP, NRC_INIT2RTR_QP,
                                      NRC_RTR2RTS_QP };
    uint8_t m[0x1000] = { 0 };

    *q = (QNrdmaQp) {
        .qpn = qpn, .sq = alloc(r, QNR_QUEUE, 0),
        .rq = alloc(r, QNR_QUEUE, 0), .sq_key = r->regions,
        .rq_key = r->regions + 1,
    };
    r->regions += 2;
    qnr_region(r, q->sq_key, 0, 0, q->sq, QNR_QUEUE);
    qnr_region(r, q->rq_key, 0, 0, q->rq, QNR_QUEUE);
    m[0x09] = service;
    m[0x0c] = 3 << 5 | 31;              /* PMTU 1024 */
    m[0x0d] = m[0x0e] = 7;
    stl_be_p(m + 0x14, qpn);
    stl_be_p(m + 0x18, peer);
    stw_be_p(m + 0x3c, dmac);
    stl_be_p(m + 0x44, dmac >> 16);
    stl_be_p(m + 0x48, sip);
    stl_be_p(m + 0x4c, dip);
    stl_be_p(m + 0x5c, PD);
    stl_be_p(m + 0x6c, 0x100);
    stl_be_p(m + 0x7c, 0x100);
    stl_be_p(m + 0x84, 1u << 24 | 0x100);
    stl_be_p(m + 0x70, CQN);
    stl_be_p(m + 0x8c, CQN);
    stl_be_p(m + 0x74, q->sq_key);
    stl_be_p(m + 0x78, QNR_QUEUE);
    stl_be_p(m + 0x90, q->rq_key);
    stl_be_p(m + 0x94, QNR_QUEUE);
    for (size_t i = 0; i < ARRAY_SIZE(steps); i++) {
        m[0x08] = (i + 1) << 4;
        g_assert_cmpuint(with_mbox(r, steps[i], qpn, 0, m), ==, 0);
    }
}

static void data_unit(uint8_t *u, uint64_t va, uint32_t len)
{
    stl_le_p(u, len);
    stl_le_p(u + 4, QNR_MR_DATA);
    stq_le_p(u + 8, va);
}

void qnr_send(QNrdma *r, QNrdmaQp *q, uint8_t op, uint64_t va, uint32_t len,
              uint64_t raddr)
{
    uint8_t w[QNR_SLOT] = { 0 }, *u = w + 16;
    uint32_t off = q->sq_head % QNR_QUEUE;
    bool send = op == 0x0a || op == 0x0b;

    stl_be_p(w + 0x0c, 0x1a2b3c4d);
    if (!send) {
        stq_le_p(u, raddr);
        stl_le_p(u + 8, QNR_MR_DATA);
        u += 16;
    }
    data_unit(u, va, len);
    u += 16;
    qtest_memwrite(r->d->qts, q->sq + off, w, sizeof(w));
    q->sq_head += QNR_SLOT;
    qpci_io_writeq(r->d->pci, r->d->uar, NRU_SQ_DB,
                   (uint64_t)q->qpn << 40 | (uint64_t)(u - w) / 16 << 32 |
                   off / 16 << 8 | op);
}

void qnr_recv(QNrdma *r, QNrdmaQp *q, uint64_t va, uint32_t len)
{
    uint8_t w[QNR_SLOT] = { 0 };
    uint32_t off = q->rq_head % QNR_QUEUE;

    q->rq_head += QNR_SLOT;
    stl_le_p(w, (q->rq_head % QNR_QUEUE / 16) << 6 | 1 << 5);
    data_unit(w + 16, va, len);
    qtest_memwrite(r->d->qts, q->rq + off, w, sizeof(w));
}

static uint64_t cqe_addr(QNrdma *r)
{
    return r->cq + r->cq_tail % (NRQ_CQE_BYTES << CQ_LOG);
}

bool qnr_cqe_ready(QNrdma *r)
{
    return !(qtest_readb(r->d->qts, cqe_addr(r) + NRQ_OWNER) &
             NRQ_OWNER_HW);
}

QNrdmaCqe qnr_cqe(QNrdma *r)
{
    gint64 end = g_get_monotonic_time() + 10 * G_USEC_PER_SEC;
    uint8_t c[NRQ_CQE_BYTES];

    while (!qnr_cqe_ready(r)) {
        g_assert_cmpint(g_get_monotonic_time(), <, end);
        g_usleep(200);
        /* Timers of the transport run on the virtual clock. */
        qtest_clock_step(r->d->qts, 1000000);
    }
    qtest_memread(r->d->qts, cqe_addr(r), c, sizeof(c));
    qtest_writeb(r->d->qts, cqe_addr(r) + NRQ_OWNER, NRQ_OWNER_HW);
    r->cq_tail += NRQ_CQE_BYTES;
    return (QNrdmaCqe) {
        .qpn = ldl_le_p(c + NRQ_QPN), .imm = ldl_be_p(c + NRQ_IMM),
        .bytes = ldl_le_p(c + NRQ_BYTE_CNT), .wqe = ldl_le_p(c + NRQ_WQE),
        .opcode = c[NRQ_OP], .syndrome = c[NRQ_IMM],
        .is_send = c[NRQ_OP + 1],
    };
}

uint64_t qnr_addr(QNrdma *r, uint64_t va)
{
    return r->data + (va - QNR_VA);
}
