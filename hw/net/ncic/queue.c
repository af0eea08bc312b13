/*
 * NCIC Ethernet engine: queue and completion-queue managers (ETH 3.3.3, 3.3.4)
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "core/bytes.h"
#include "ncic/eth.h"

typedef struct QueueReg {
    uint32_t rw;
    uint32_t locked;
    bool cpl;
    bool exists;
} QueueReg;

#define LOCK_DESC false
#define LOCK_CPL  true
#define ROW(id, off, rw, locked, ring) [(off) / 4] = { rw, locked, \
                                                       LOCK_##ring, true },
static const QueueReg queue_regs[NCIC_QUEUE_STRIDE / 4] = {
    NCIC_QUEUE_REGS(ROW)
};

/* ---- Take rule ------------------------------------------------------------ */

NcicTake ncic_queue_check(const NcicEth *e, NcicDir dir, unsigned q)
{
    const NcicQueue *k = &e->queue[dir][q];
    uint32_t used;

    if (!k->desc.active || !k->cpl.active) {
        return NCIC_TAKE_INACTIVE;
    }
    used = ncic_ring_used(&k->desc);
    if (!used) {
        return NCIC_TAKE_EMPTY;
    }
    if (used > ncic_ring_size(&k->desc)) {
        return NCIC_TAKE_OVERRUN;
    }
    if (((k->cpl_reserved - k->cpl.tail) & NCIC_Q_INDEX_MASK) >=
        ncic_ring_size(&k->cpl)) {
        return NCIC_TAKE_CPL_FULL;
    }
    if (!(k->intr & NCIC_Q_CPL_ARMED) && !e->cfg.doc_flags &&
        !e->cfg.arm_oneshot) {
        return NCIC_TAKE_UNARMED;
    }
    return NCIC_TAKE_OK;
}

/*
 * The tail moves and a completion slot is reserved before the descriptor is
 * read (ETH 3.1: the manager updates its pointers when it answers).
 */
static bool dequeue(NcicEth *e, NcicDir dir, NcicFetchOp *op, uint64_t *addr)
{
    static const uint8_t req[] = { NCIC_C_RX_DESC_REQ, NCIC_C_TX_DESC_REQ };
    static const uint8_t refused[] = { NCIC_C_RX_DESC_REFUSED,
                                       NCIC_C_TX_DESC_REFUSED };
    NcicQueue *k = &e->queue[dir][op->queue];
    NcicRing *r = &k->desc;

    e->counter[req[dir]]++;
    if (ncic_queue_check(e, dir, op->queue) != NCIC_TAKE_OK) {
        e->counter[refused[dir]]++;
        return false;
    }
    op->index = r->tail;
    *addr = r->base + (uint64_t)(r->tail & (ncic_ring_size(r) - 1)) *
                      NCIC_DESC_SIZE;
    r->tail = (r->tail + 1) & NCIC_Q_INDEX_MASK;
    k->cpl_reserved = (k->cpl_reserved + 1) & NCIC_Q_INDEX_MASK;
    return true;
}

static bool rx_dequeue(void *opaque, NcicFetchOp *op, uint64_t *addr)
{
    return dequeue(opaque, NCIC_RX, op, addr);
}

static bool tx_dequeue(void *opaque, NcicFetchOp *op, uint64_t *addr)
{
    return dequeue(opaque, NCIC_TX, op, addr);
}

static void desc_read(NcicEth *e, NcicDir dir, const NcicFetchOp *op,
                      uint64_t addr)
{
    const NcicRing *r = &e->queue[dir][op->queue].desc;

    e->ops->desc_read(e->opaque, dir, op->queue,
                      op->index & (ncic_ring_size(r) - 1), addr, op->tag);
}

static void rx_read(void *opaque, const NcicFetchOp *op, uint64_t addr)
{
    desc_read(opaque, NCIC_RX, op, addr);
}

static void tx_read(void *opaque, const NcicFetchOp *op, uint64_t addr)
{
    desc_read(opaque, NCIC_TX, op, addr);
}

const NcicFetchOps ncic_rx_fetch_ops = { rx_dequeue, rx_read };
const NcicFetchOps ncic_tx_fetch_ops = { tx_dequeue, tx_read };

void ncic_eth_desc_done(NcicEth *e, NcicDir dir, uint32_t tag,
                        const void *desc)
{
    if (!ncic_fetch_done(&e->fetch[dir], tag, desc)) {
        return;
    }
    e->counter[dir == NCIC_TX ? NCIC_C_TX_DESC_RSP : NCIC_C_RX_DESC_RSP]++;
    if (dir == NCIC_TX) {
        return;
    }
    ncic_rx_drain(e);
}

/* ---- Completion and interrupt ---------------------------------------------- */

static void raise_irq(NcicEth *e, NcicDir dir, NcicQueue *k)
{
    if (e->cfg.arm_oneshot) {
        if (!(k->intr & NCIC_Q_CPL_ARMED)) {
            return;
        }
        k->intr &= ~NCIC_Q_CPL_ARMED;
    } else if (e->cfg.irq_coalesce && k->irq_sent) {
        return;
    }
    if (ncic_eth_msix(e, k->intr & NCIC_Q_INDEX_MASK)) {
        k->irq_sent = 1;
        e->counter[dir == NCIC_TX ? NCIC_C_TX_IRQ : NCIC_C_RX_IRQ]++;
    }
}

void ncic_queue_complete(NcicEth *e, NcicDir dir, unsigned q,
                         const uint8_t cpl[NCIC_CPL_SIZE])
{
    NcicQueue *k = &e->queue[dir][q];
    NcicRing *r = &k->cpl;
    unsigned slot = r->head & (ncic_ring_size(r) - 1);
    uint64_t addr = r->base + (uint64_t)slot * NCIC_CPL_SIZE;

    if (!r->active) {
        /* Deactivated while the frame was under way: nobody waits for it. */
        e->counter[NCIC_C_CPL_ERR]++;
        return;
    }
    if (dir == NCIC_TX && e->fault[NCIC_FAULT_TX_MUTE] >> q & 1) {
        return;
    }
    if (!e->ops->cpl_write(e->opaque, dir, q, slot, addr, cpl)) {
        e->counter[NCIC_C_CPL_ERR]++;
        ncic_eth_guest_error(e, NCIC_E_CPL_DMA, q, addr);
    }
    r->head = (r->head + 1) & NCIC_Q_INDEX_MASK;
    e->counter[dir == NCIC_TX ? NCIC_C_TX_CPL : NCIC_C_RX_CPL]++;
    raise_irq(e, dir, k);
}

/* ---- Registers ------------------------------------------------------------- */

uint32_t ncic_queue_read(const NcicEth *e, NcicDir dir, uint32_t off)
{
    unsigned q = off / NCIC_QUEUE_STRIDE;
    const NcicQueue *k;

    if (q >= e->cfg.queues) {
        return 0;
    }
    k = &e->queue[dir][q];
    switch (off % NCIC_QUEUE_STRIDE) {
    case NCIC_Q_BASE_LO:
        return k->desc.base;
    case NCIC_Q_BASE_HI:
        return k->desc.base >> 32;
    case NCIC_Q_LOG_SIZE:
        return k->desc.log_size | (k->desc.active ? NCIC_Q_ACTIVE : 0);
    case NCIC_Q_CPL_INDEX:
        return k->cpl_index;
    case NCIC_Q_HEAD:
        return k->desc.head;
    case NCIC_Q_TAIL:
        return k->desc.tail;
    case NCIC_Q_CPL_BASE_LO:
        return k->cpl.base;
    case NCIC_Q_CPL_BASE_HI:
        return k->cpl.base >> 32;
    case NCIC_Q_CPL_LOG_SIZE:
        return k->cpl.log_size | (k->cpl.active ? NCIC_Q_ACTIVE : 0);
    case NCIC_Q_CPL_INTR:
        return k->intr;
    case NCIC_Q_CPL_HEAD:
        return k->cpl.head;
    case NCIC_Q_CPL_TAIL:
        return k->cpl.tail;
    default:
        return 0;
    }
}

static void set_base(uint64_t *base, bool high, uint32_t val)
{
    if (high) {
        *base = (uint32_t)*base | (uint64_t)val << 32;
    } else {
        *base = (*base & ~(uint64_t)UINT32_MAX) | val;
    }
}

static void check_head(NcicEth *e, unsigned q, const NcicRing *r)
{
    if (r->active && ncic_ring_used(r) > ncic_ring_size(r)) {
        ncic_eth_guest_error(e, NCIC_E_HEAD, q, r->head);
    }
}

/* The size register: [3:0] while inactive, b31 always. */
static void set_active(NcicEth *e, NcicDir dir, unsigned q, bool cpl,
                       uint32_t val)
{
    NcicQueue *k = &e->queue[dir][q];
    NcicRing *r = cpl ? &k->cpl : &k->desc;
    uint64_t align = cpl ? NCIC_CPL_SIZE : NCIC_DESC_SIZE;
    bool on = val & NCIC_Q_ACTIVE;

    if (e->cfg.doc_flags) {
        on = r->base != 0;
    }
    if (r->active && on) {
        if ((val & NCIC_Q_LOG_SIZE_MASK) != r->log_size) {
            ncic_eth_guest_error(e, NCIC_E_ACTIVE, q, val);
        }
        return;
    }
    if (!r->active) {
        r->log_size = val & NCIC_Q_LOG_SIZE_MASK;
    }
    if (on && r->base & (align - 1)) {
        ncic_eth_guest_error(e, NCIC_E_RING_ALIGN, q, r->base);
        on = false;
    }
    if (on && cpl) {
        k->cpl_reserved = r->head;
        k->irq_sent = 0;
    }
    if (!on && r->active) {
        /* What is under way for this ring must not touch memory any more; its
         * descriptors have not been used. */
        k->desc.tail = (k->desc.tail - ncic_fetch_cancel(&e->fetch[dir], q)) &
                       NCIC_Q_INDEX_MASK;
        k->cpl_reserved = k->cpl.head;
    }
    r->active = on;
    if (on) {
        check_head(e, q, r);
        if (dir == NCIC_RX) {
            /* The backend may keep frames that came while the machine slept:
             * nobody tells it that the machine is awake. */
            e->ops->kick_rx(e->opaque);
        }
    }
}

static void set_intr(NcicEth *e, NcicDir dir, unsigned q, uint32_t val)
{
    NcicQueue *k = &e->queue[dir][q];

    k->intr = val;
    if ((val & NCIC_Q_INDEX_MASK) >= e->cfg.vectors) {
        ncic_eth_guest_error(e, NCIC_E_INDEX, q, val & NCIC_Q_INDEX_MASK);
    }
    if (e->cfg.arm_oneshot && k->cpl.active && k->cpl.head != k->cpl.tail) {
        raise_irq(e, dir, k);
    }
}

static void set_cpl_tail(NcicEth *e, NcicDir dir, unsigned q, uint32_t val)
{
    NcicQueue *k = &e->queue[dir][q];

    k->cpl.tail = val;
    k->irq_sent = 0;
    check_head(e, q, &k->cpl);
    if (e->cfg.irq_coalesce && !e->cfg.arm_oneshot && k->cpl.active &&
        k->cpl.head != val) {
        raise_irq(e, dir, k);
    }
}

void ncic_queue_write(NcicEth *e, NcicDir dir, uint32_t off, uint32_t val)
{
    unsigned q = off / NCIC_QUEUE_STRIDE;
    unsigned reg = off % NCIC_QUEUE_STRIDE;
    const QueueReg *d = &queue_regs[reg / 4];
    bool ring_changed = false;
    NcicQueue *k;

    if (q >= e->cfg.queues) {
        ncic_eth_guest_error(e, NCIC_E_INDEX, q, off);
        return;
    }
    if (!d->exists) {
        ncic_eth_guest_error(e, NCIC_E_ACCESS, q, reg);
        return;
    }
    k = &e->queue[dir][q];
    val &= d->rw;
    if (d->locked && reg != NCIC_Q_LOG_SIZE && reg != NCIC_Q_CPL_LOG_SIZE &&
        (d->cpl ? k->cpl.active : k->desc.active) && !e->cfg.doc_flags) {
        ncic_eth_guest_error(e, NCIC_E_ACTIVE, q, reg);
        return;
    }

    switch (reg) {
    case NCIC_Q_HEAD:
        if (k->desc.head == val) {
            return;
        }
        k->desc.head = val;
        check_head(e, q, &k->desc);
        break;
    case NCIC_Q_CPL_TAIL:
        set_cpl_tail(e, dir, q, val);
        break;
    case NCIC_Q_BASE_LO:
    case NCIC_Q_BASE_HI:
        set_base(&k->desc.base, reg == NCIC_Q_BASE_HI, val);
        ring_changed = true;
        break;
    case NCIC_Q_LOG_SIZE:
        set_active(e, dir, q, false, val);
        ring_changed = true;
        break;
    case NCIC_Q_CPL_INDEX:
        k->cpl_index = val;
        if (val != q) {
            /* Queue q always completes to CPL queue q. */
            ncic_eth_guest_error(e, NCIC_E_INDEX, q, val);
        }
        break;
    case NCIC_Q_TAIL:
        k->desc.tail = val;
        break;
    case NCIC_Q_CPL_BASE_LO:
    case NCIC_Q_CPL_BASE_HI:
        set_base(&k->cpl.base, reg == NCIC_Q_CPL_BASE_HI, val);
        ring_changed = true;
        break;
    case NCIC_Q_CPL_LOG_SIZE:
        set_active(e, dir, q, true, val);
        ring_changed = true;
        break;
    case NCIC_Q_CPL_INTR:
        set_intr(e, dir, q, val);
        break;
    case NCIC_Q_CPL_HEAD:
        k->cpl.head = val;
        k->cpl_reserved = val;
        break;
    }

    if (ring_changed && e->ops->ring_changed) {
        e->ops->ring_changed(e->opaque, dir, q);
    }
    if (dir == NCIC_RX) {
        ncic_eth_rx_retry(e);
    } else if (k->desc.active && k->desc.head != k->desc.tail) {
        /* Any register write of a queue with work makes the scheduler look
         * again, so that a refused descriptor never stalls it. */
        e->tx_pending |= 1u << q;
        if (reg == NCIC_Q_HEAD && e->ops->doorbell_tx) {
            e->ops->doorbell_tx(e->opaque);
        } else {
            e->ops->kick_tx(e->opaque);
        }
    }
}
