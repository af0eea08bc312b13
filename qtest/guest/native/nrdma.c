/*
 * A small user-space driver for the RDMA engine of ncic-nic.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <errno.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "ncic/ncic_hw.h"
#include "nrdma.h"

#define IOVA        UINT64_C(0x40000000)
#define SECONDS     120

/* What is where in the memory; a page each unless noted. */
enum {
    MBOX = 0x0000, OUT = 0x1000, CQ = 0x2000, EQ = 0x3000, SQ = 0x4000,
    RQ = 0x5000, ICM = 0x10000 /* 22 pages */, DATA = 0x100000,
    MEM = DATA + NRDMA_DATA, PAGE = 0x1000,
    SLOT = 128, LOG_SLOT = 7, QUEUE = PAGE,
    LOG_RING = 7 /* of 32 bytes each: a page */,
};
enum { PD = 3, CQN = 2, EQN = 1, VECTOR = 3, PSN = 0xfffff0, MTU_1024 = 3 };
/* Regions and their first pages */
enum { MR_CQ = 1, MR_DATA = NRDMA_KEY, MR_SQ, MR_RQ };

static const NrbTables tables = {
    .qpc = 0, .cqc = 0x400000, .eqc = 0x600000, .mpt = 0x700000,
    .mtt = 0x900000,
};

static bool failed(const char *what)
{
    fprintf(stderr, "nrdma: %s\n", what);
    return false;
}

static int64_t now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec;
}

/* ---- registers and commands ---- */

static uint32_t rd(Nrdma *n, uint32_t addr)
{
    return *(volatile uint32_t *)(n->csr + addr);
}

static void wr(Nrdma *n, uint32_t addr, uint32_t val)
{
    *(volatile uint32_t *)(n->csr + addr) = val;
}

/* Runs a command whose mailboxes are MBOX and OUT. */
static bool command(Nrdma *n, uint16_t op, uint64_t in, uint32_t mod,
                    uint8_t op_mod)
{
    uint32_t hcr[NRB_HCR], status;

    nrb_command(hcr, op, in, mod, IOVA + OUT, op_mod);
    atomic_thread_fence(memory_order_seq_cst);
    for (unsigned i = 0; i < NRB_HCR; i++) {
        wr(n, NCIC_HCR + 4 * i, hcr[i]);
    }
    status = rd(n, NCIC_HCR + NRH_CMD);
    if ((status & NRH_GO) || status >> 24 != NRS_OK) {
        fprintf(stderr, "nrdma: command %03x: status %08x\n", op, status);
        return false;
    }
    return true;
}

/* The in mailbox, zeroed. */
static uint8_t *mailbox(Nrdma *n)
{
    return memset(n->mem + MBOX, 0, NR_MAILBOX_BYTES);
}

static bool with_mailbox(Nrdma *n, uint16_t op, uint32_t mod, uint8_t op_mod)
{
    return command(n, op, IOVA + MBOX, mod, op_mod);
}

static bool map_icm(Nrdma *n, unsigned kind, uint64_t virt, uint32_t *used,
                    uint32_t pages)
{
    nrb_map_icm(mailbox(n), 0, virt, IOVA + ICM + *used * PAGE, pages);
    *used += pages;
    return with_mailbox(n, NRC_MAP_ICM, 1, kind);
}

/* Pages of regions follow one another in the table of pages. */
static bool region(Nrdma *n, uint32_t key, uint32_t flags, uint64_t start,
                   uint32_t off, uint32_t len, uint64_t mtt)
{
    uint8_t *m = mailbox(n);

    nrb_mtt_first(m, mtt);
    for (uint32_t i = 0; i < len / PAGE; i++) {
        nrb_mtt_page(m, i, IOVA + off + i * PAGE);
    }
    if (!with_mailbox(n, NRC_WRITE_MTT, len / PAGE, 0)) {
        return false;
    }
    nrb_region(mailbox(n), &(NrbRegion) {
        .flags = flags, .key = key, .pd = PD, .start = start, .length = len,
        .mtt = mtt,
    });
    return with_mailbox(n, NRC_SW2HW_MPT, key, 0);
}

static bool tables_up(Nrdma *n)
{
    uint32_t used = 0;

    nrb_init_hca(mailbox(n), &tables);
    return with_mailbox(n, NRC_INIT_HCA, 0, 0) &&
           map_icm(n, NR_ICM_CONTEXTS, tables.qpc, &used, 8) &&
           map_icm(n, NR_ICM_CONTEXTS, tables.cqc, &used, 1) &&
           map_icm(n, NR_ICM_CONTEXTS, tables.eqc, &used, 1) &&
           map_icm(n, NR_ICM_TPT, tables.mpt, &used, 4) &&
           map_icm(n, NR_ICM_TPT, tables.mtt, &used, 8);
}

static bool queues_up(Nrdma *n)
{
    memset(n->mem + CQ, NRQ_OWNER_HW, PAGE);
    memset(n->mem + EQ, NRQ_OWNER_HW, PAGE);
    if (!region(n, MR_CQ, NRM_LOCAL_WRITE, 0, CQ, PAGE, 0) ||
        !region(n, MR_SQ, 0, 0, SQ, QUEUE, 1) ||
        !region(n, MR_RQ, 0, 0, RQ, QUEUE, 2) ||
        !region(n, MR_DATA, NRM_LOCAL_WRITE | NRM_REMOTE_WRITE |
                NRM_REMOTE_READ | NRM_REMOTE_ATOMIC, NRDMA_VA, DATA,
                NRDMA_DATA, 16)) {
        return false;
    }
    nrb_cq(mailbox(n), CQN, LOG_RING, EQN, PD, MR_CQ);
    if (!with_mailbox(n, NRC_SW2HW_CQ, CQN, 0)) {
        return false;
    }
    nrb_eq(mailbox(n), IOVA + EQ, LOG_RING, VECTOR);
    return with_mailbox(n, NRC_SW2HW_EQ, EQN, 0) &&
           command(n, NRC_MAP_EQ, 1, EQN, 0);
}

bool nrdma_up(Nrdma *n, const char *bdf)
{
    size_t size;

    memset(n, 0, sizeof(*n));
    if (!vfio_open(&n->vfio, bdf) ||
        !(n->csr = vfio_bar(&n->vfio, NCIC_BAR_CSR, &size)) ||
        !(n->uar = vfio_bar(&n->vfio, NCIC_BAR_UAR, &size)) ||
        !(n->mem = vfio_dma(&n->vfio, IOVA, MEM)) ||
        (n->irq = vfio_msix(&n->vfio, VECTOR)) < 0) {
        return false;
    }
    n->data = n->mem + DATA;
    wr(n, NCIC_RESET, 1);
    if (!command(n, NRC_QUERY_DEV_LIM, 0, 0, 0)) {
        return false;
    }
    if (n->mem[OUT + 0x0c] != NR_LOG_QPS) {
        return failed("QUERY_DEV_LIM: not the limits");
    }
    return tables_up(n) && queues_up(n);
}

bool nrdma_connect(Nrdma *n, uint32_t qpn, uint32_t peer_qpn, uint32_t sip,
                   uint32_t dip)
{
    static const uint16_t steps[] = { NRC_RST2INIT_QP, NRC_INIT2RTR_QP,
                                      NRC_RTR2RTS_QP };
    const NrbQp qp = {
        .qpn = qpn, .peer_qpn = peer_qpn, .mtu = MTU_1024,
        .log_slot = LOG_SLOT, .pd = PD, .send_cqn = CQN, .recv_cqn = CQN,
        .sq_lkey = MR_SQ, .sq_bytes = QUEUE, .rq_lkey = MR_RQ,
        .rq_bytes = QUEUE, .sip = sip, .dip = dip, .psn = PSN,
    };

    n->qpn = qpn;
    for (unsigned i = 0; i < 3; i++) {
        nrb_qp(mailbox(n), &qp, i + 1);
        if (!with_mailbox(n, steps[i], qpn, 0)) {
            return false;
        }
    }
    return true;
}

int nrdma_qp_state(Nrdma *n)
{
    return command(n, NRC_QUERY_QP, 0, n->qpn, 0) ? n->mem[OUT + 8] >> 4 : -1;
}

bool nrdma_down(Nrdma *n)
{
    return command(n, NRC_2RST_QP, IOVA + MBOX, n->qpn, 0) &&
           command(n, NRC_CLOSE_HCA, 0, 0, 0);
}

/* ---- work ---- */

void nrdma_post(Nrdma *n, uint8_t op, uint32_t off, uint32_t len,
                uint32_t peer_off, uint64_t swap_add, uint64_t compare)
{
    uint32_t slot = n->sq_head++ * SLOT % QUEUE;
    unsigned units = nrb_send(n->mem + SQ + slot, &(NrbSend) {
        .op = op, .imm = 0x600d0000 + n->sq_head, .addr = NRDMA_VA + off,
        .len = len, .lkey = MR_DATA, .raddr = NRDMA_VA + peer_off,
        .rkey = NRDMA_KEY, .swap_add = swap_add, .compare = compare,
    });

    atomic_thread_fence(memory_order_seq_cst);
    *(volatile uint64_t *)(n->uar + NRU_SQ_DB) =
        nrb_doorbell(n->qpn, units, slot, op);
}

void nrdma_recv(Nrdma *n, uint32_t off, uint32_t len)
{
    uint32_t slot = n->rq_head++ * SLOT % QUEUE;
    uint8_t *to = n->mem + RQ + slot, w[SLOT] = { 0 };

    nrb_recv(w, n->rq_head * SLOT % QUEUE, NRDMA_VA + off, len, MR_DATA);
    memcpy(to + NR_UNIT, w + NR_UNIT, SLOT - NR_UNIT);
    /* The engine may read the queue at any time: what makes it valid last. */
    atomic_thread_fence(memory_order_seq_cst);
    memcpy(to, w, NR_UNIT);
}

/* Takes the next completion, if there is one. */
static bool take(Nrdma *n, NrbCqe *c)
{
    uint8_t *e = n->mem + CQ + n->cq_tail * NRQ_CQE_BYTES % PAGE;

    if (*(volatile uint8_t *)(e + NRQ_OWNER) & NRQ_OWNER_HW) {
        return false;
    }
    atomic_thread_fence(memory_order_seq_cst);
    *c = nrb_cqe(e);
    e[NRQ_OWNER] = NRQ_OWNER_HW;
    n->cq_tail++;
    if (!c->is_send) {
        memset(n->mem + RQ + n->rq_tail++ * SLOT % QUEUE, 0, NR_UNIT);
    }
    return true;
}

bool nrdma_poll(Nrdma *n, NrbCqe *c)
{
    int64_t end = now() + SECONDS;

    while (!take(n, c)) {
        n->spins++;
        if (now() > end) {
            return failed("no completion");
        }
    }
    return true;
}

/* Takes all events; one interrupt may stand for several. */
static bool take_events(Nrdma *n)
{
    for (;;) {
        uint8_t *e = n->mem + EQ + n->eq_tail * NRE_EQE_BYTES % PAGE;

        if (*(volatile uint8_t *)(e + NRE_OWNER) & NRQ_OWNER_HW) {
            return true;
        }
        atomic_thread_fence(memory_order_seq_cst);
        if (e[NRE_TYPE] != NRE_COMPLETION || get_le32(e + NRE_NUMBER) != CQN) {
            return failed("not the event of a completion");
        }
        e[NRE_OWNER] = NRQ_OWNER_HW;
        n->eq_tail++;
    }
}

void nrdma_arm(Nrdma *n)
{
    *(volatile uint32_t *)(n->uar + NRU_ARM_EQ) = EQN;
    *(volatile uint32_t *)(n->uar + NRU_ARM_CQ) = CQN;
}

static bool sleep_for_irq(Nrdma *n)
{
    struct pollfd p = { .fd = n->irq, .events = POLLIN };
    uint64_t count;

    if (poll(&p, 1, SECONDS * 1000) != 1 ||
        read(n->irq, &count, sizeof(count)) != sizeof(count)) {
        return failed("no interrupt");
    }
    n->interrupts += count;
    return true;
}

bool nrdma_interrupted(Nrdma *n)
{
    return n->interrupts || sleep_for_irq(n);
}

bool nrdma_wait(Nrdma *n, NrbCqe *c)
{
    while (!take(n, c)) {
        nrdma_arm(n);
        /* What came before the queue was armed makes no event. */
        if (take(n, c)) {
            return true;
        }
        if (!sleep_for_irq(n) || !take_events(n)) {
            return false;
        }
    }
    return true;
}
