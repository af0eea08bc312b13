/*
 * libqos driver for the RDMA engine of ncic-nic
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "libnrdma.h"
#include "../deadline.h"

enum {
    PD = 3, CQN = 2, EQN = 1, CQ_LOG = 5,
    MTT_OF_REGION = 64,
};

/* ICM: contexts first, then regions, then pages. */
static const NrbTables tables = {
    .qpc = 0, .cqc = 0x400000, .eqc = 0x600000, .mpt = 0x700000,
    .mtt = QNR_ICM_MTT,
};

unsigned qnr_cmd(QNrdma *r, uint16_t op, uint64_t in, uint32_t mod,
                 uint64_t out, uint8_t op_mod)
{
    QNcic *d = r->d;
    uint32_t hcr[NRB_HCR];

    nrb_command(hcr, op, in, mod, out, op_mod);
    for (unsigned i = 0; i < NRB_HCR; i++) {
        qncic_write(d, NCIC_HCR + 4 * i, hcr[i]);
    }
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

void qnr_map(QNrdma *r, unsigned region, uint64_t virt, uint64_t addr,
             uint32_t pages)
{
    uint8_t m[0x1000] = { 0 };

    nrb_map_icm(m, 0, virt, addr, pages);
    g_assert_cmpuint(with_mbox(r, NRC_MAP_ICM, 1, region, m), ==, 0);
}

void qnr_region(QNrdma *r, uint32_t index, uint32_t flags, uint64_t va,
                uint64_t addr, uint32_t len)
{
    uint32_t pages = DIV_ROUND_UP(len, 0x1000);
    uint8_t m[0x1000] = { 0 };

    nrb_mtt_first(m, index * MTT_OF_REGION);
    for (uint32_t i = 0; i < pages; i++) {
        nrb_mtt_page(m, i, addr + i * 0x1000);
    }
    g_assert_cmpuint(with_mbox(r, NRC_WRITE_MTT, pages, 0, m), ==, 0);
    memset(m, 0, sizeof(m));
    nrb_region(m, &(NrbRegion) {
        .flags = flags, .key = index, .pd = PD, .start = va, .length = len,
        .mtt = index * MTT_OF_REGION,
    });
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
    nrb_init_hca(m, &tables);
    g_assert_cmpuint(with_mbox(r, NRC_INIT_HCA, 0, 0, m), ==, 0);
    qnr_map(r, NR_ICM_CONTEXTS, tables.qpc, r->icm, 8);
    qnr_map(r, NR_ICM_CONTEXTS, tables.cqc, r->icm + 0x8000, 1);
    qnr_map(r, NR_ICM_CONTEXTS, tables.eqc, r->icm + 0x9000, 1);
    qnr_map(r, NR_ICM_TPT, tables.mpt, r->icm + 0xa000, 4);
    qnr_map(r, NR_ICM_TPT, tables.mtt, r->icm + 0xe000, 8);
    qnr_region(r, QNR_MR_CQ, NRM_LOCAL_WRITE, 0, r->cq, 0x1000);
    qnr_region(r, QNR_MR_DATA, NRM_LOCAL_WRITE | NRM_REMOTE_WRITE |
               NRM_REMOTE_READ | NRM_REMOTE_ATOMIC, QNR_VA, r->data,
               QNR_DATA);
    memset(m, 0, sizeof(m));
    nrb_cq(m, CQN, CQ_LOG, EQN, PD, QNR_MR_CQ);
    g_assert_cmpuint(with_mbox(r, NRC_SW2HW_CQ, CQN, 0, m), ==, 0);
    memset(m, 0, sizeof(m));
    nrb_eq(m, r->eq, 4, QNR_VECTOR);
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
    NrbQp attr;

    *q = (QNrdmaQp) {
        .qpn = qpn, .sq = alloc(r, QNR_QUEUE, 0),
        .rq = alloc(r, QNR_QUEUE, 0), .sq_key = r->regions,
        .rq_key = r->regions + 1,
    };
    r->regions += 2;
    qnr_region(r, q->sq_key, 0, 0, q->sq, QNR_QUEUE);
    qnr_region(r, q->rq_key, 0, 0, q->rq, QNR_QUEUE);
    attr = (NrbQp) {
        .qpn = qpn, .peer_qpn = peer, .service = service, .mtu = 3,
        .log_slot = 7, .pd = PD, .send_cqn = CQN, .recv_cqn = CQN,
        .sq_lkey = q->sq_key, .sq_bytes = QNR_QUEUE,
        .rq_lkey = q->rq_key, .rq_bytes = QNR_QUEUE,
        .sip = sip, .dip = dip, .dmac = dmac, .psn = 0x100,
    };
    for (size_t i = 0; i < ARRAY_SIZE(steps); i++) {
        nrb_qp(m, &attr, i + 1);
        g_assert_cmpuint(with_mbox(r, steps[i], qpn, 0, m), ==, 0);
    }
}

void qnr_post(QNrdma *r, QNrdmaQp *q, const NrbSend *wqe)
{
    uint8_t w[QNR_SLOT] = { 0 };
    uint32_t off = q->sq_head % QNR_QUEUE;
    unsigned units = nrb_send(w, wqe);

    qtest_memwrite(r->d->qts, q->sq + off, w, sizeof(w));
    q->sq_head += QNR_SLOT;
    qpci_io_writeq(r->d->pci, r->d->uar, NRU_SQ_DB,
                   nrb_doorbell(q->qpn, units, off, wqe->op));
}

void qnr_send(QNrdma *r, QNrdmaQp *q, uint8_t op, uint64_t va, uint32_t len,
              uint64_t raddr)
{
    qnr_post(r, q, &(NrbSend) {
        .op = op, .imm = 0x1a2b3c4d, .addr = va, .len = len,
        .lkey = QNR_MR_DATA, .raddr = raddr, .rkey = QNR_MR_DATA,
    });
}

void qnr_recv(QNrdma *r, QNrdmaQp *q, uint64_t va, uint32_t len)
{
    uint8_t w[QNR_SLOT] = { 0 };
    uint32_t off = q->rq_head % QNR_QUEUE;

    q->rq_head += QNR_SLOT;
    nrb_recv(w, q->rq_head % QNR_QUEUE, va, len, QNR_MR_DATA);
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

NrbCqe qnr_cqe(QNrdma *r)
{
    gint64 end = test_deadline(10);
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
    return nrb_cqe(c);
}

uint64_t qnr_addr(QNrdma *r, uint64_t va)
{
    return r->data + (va - QNR_VA);
}
