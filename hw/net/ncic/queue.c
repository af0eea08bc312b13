/*
 * NCIC Ethernet engine: queue and completion-queue managers (ETH 3.3.3, 3.3.4)
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "internal.h"

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
static bool queue_take(NcicEth *e, NcicDir dir, NcicFetchOp *op,
                       uint64_t *addr)
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
    return queue_take(opaque, NCIC_RX, op, addr);
}

static bool tx_dequeue(void *opaque, NcicFetchOp *op, uint64_t *addr)
{
    return queue_take(opaque, NCIC_TX, op, addr);
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

/* ---- Completion and interrupt ---------------------------------------------- */

static void raise_irq(NcicEth *e, NcicDir dir, NcicQueue *k)
{
    if (e->cfg.arm_oneshot) {
        if (!(k->intr & NCIC_Q_CPL_ARMED)) {
            return;
        }
    } else if (e->cfg.irq_coalesce && k->irq_sent) {
        return;
    }
    k->irq_sent = ncic_eth_msix(e, k->intr & NCIC_Q_INDEX_MASK);
    if (!k->irq_sent) {
        return;                 /* ncic_queue_announce() says it later */
    }
    if (e->cfg.arm_oneshot) {
        k->intr &= ~NCIC_Q_CPL_ARMED;
    }
    e->counter[dir == NCIC_TX ? NCIC_C_TX_IRQ : NCIC_C_RX_IRQ]++;
}

void ncic_queue_announce(NcicEth *e)
{
    if (e->link_irq_due) {
        ncic_eth_link_irq(e);
    }
    for (unsigned dir = 0; dir < NCIC_DIRS; dir++) {
        for (unsigned q = 0; q < e->cfg.queues; q++) {
            NcicQueue *k = &e->queue[dir][q];

            if (k->cpl.active && k->cpl.head != k->cpl.tail && !k->irq_sent) {
                raise_irq(e, dir, k);
            }
        }
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

typedef enum RegKind {
    REG_PLAIN,                  /* a field of 32 bits */
    REG_BASE_LO,                /* halves of a ring's base */
    REG_BASE_HI,
    REG_SIZE,                   /* a ring's size and activity */
} RegKind;

typedef struct RegAccess {
    uint16_t offset;
    uint32_t rw;
    uint32_t locked;
    bool cpl;                   /* locked by the completion ring */
} RegAccess;

#define LOCK_DESC false
#define LOCK_CPL  true
#define ROW(id, off, rw, locked, ring) \
    [NCIC_QR_##id] = { off, rw, locked, LOCK_##ring },
static const RegAccess reg_access[NCIC_QR_COUNT] = { NCIC_QUEUE_REGS(ROW) };

#define INDEX(id, off, ...) [(off) / 4] = NCIC_QR_##id + 1,
static const uint8_t reg_index[NCIC_QUEUE_STRIDE / 4] = {
    NCIC_QUEUE_REGS(INDEX)
};

static void check_head(NcicEth *e, unsigned q, const NcicRing *r)
{
    if (r->active && ncic_ring_used(r) > ncic_ring_size(r)) {
        ncic_eth_guest_error(e, NCIC_E_HEAD, q, r->head);
    }
}

static void wrote_head(NcicEth *e, NcicDir dir, unsigned q)
{
    check_head(e, q, &e->queue[dir][q].desc);
}

static void wrote_cpl_index(NcicEth *e, NcicDir dir, unsigned q)
{
    uint32_t val = e->queue[dir][q].cpl_index;

    if (val != q) {
        /* Queue q always completes to CPL queue q. */
        ncic_eth_guest_error(e, NCIC_E_INDEX, q, val);
    }
}

static void wrote_cpl_intr(NcicEth *e, NcicDir dir, unsigned q)
{
    NcicQueue *k = &e->queue[dir][q];
    uint32_t vector = k->intr & NCIC_Q_INDEX_MASK;

    if (vector >= e->cfg.vectors) {
        ncic_eth_guest_error(e, NCIC_E_INDEX, q, vector);
    }
    if (e->cfg.arm_oneshot && k->cpl.active && k->cpl.head != k->cpl.tail) {
        raise_irq(e, dir, k);
    }
}

static void wrote_cpl_head(NcicEth *e, NcicDir dir, unsigned q)
{
    NcicQueue *k = &e->queue[dir][q];

    k->cpl_reserved = k->cpl.head;
}

static void wrote_cpl_tail(NcicEth *e, NcicDir dir, unsigned q)
{
    NcicQueue *k = &e->queue[dir][q];

    check_head(e, q, &k->cpl);
    if (!e->cfg.irq_coalesce || e->cfg.arm_oneshot) {
        return;                 /* it answers no message there */
    }
    k->irq_sent = 0;
    if (k->cpl.active && k->cpl.head != k->cpl.tail) {
        raise_irq(e, dir, k);
    }
}

static const struct {
    RegKind kind;
    size_t at;                  /* field or ring in NcicQueue */
    void (*wrote)(NcicEth *e, NcicDir dir, unsigned q);
} reg_field[NCIC_QR_COUNT] = {
#define FIELD(id, kind, field, wrote) \
    [NCIC_QR_##id] = { kind, offsetof(NcicQueue, field), wrote }
    FIELD(BASE_LO, REG_BASE_LO, desc, NULL),
    FIELD(BASE_HI, REG_BASE_HI, desc, NULL),
    FIELD(LOG_SIZE, REG_SIZE, desc, NULL),
    FIELD(CPL_INDEX, REG_PLAIN, cpl_index, wrote_cpl_index),
    FIELD(HEAD, REG_PLAIN, desc.head, wrote_head),
    FIELD(TAIL, REG_PLAIN, desc.tail, NULL),
    FIELD(CPL_BASE_LO, REG_BASE_LO, cpl, NULL),
    FIELD(CPL_BASE_HI, REG_BASE_HI, cpl, NULL),
    FIELD(CPL_LOG_SIZE, REG_SIZE, cpl, NULL),
    FIELD(CPL_INTR, REG_PLAIN, intr, wrote_cpl_intr),
    FIELD(CPL_HEAD, REG_PLAIN, cpl.head, wrote_cpl_head),
    FIELD(CPL_TAIL, REG_PLAIN, cpl.tail, wrote_cpl_tail),
};

static void *field_at(NcicQueue *k, unsigned reg)
{
    return (char *)k + reg_field[reg].at;
}

uint32_t ncic_queue_read(const NcicEth *e, NcicDir dir, uint32_t off)
{
    unsigned q = off / NCIC_QUEUE_STRIDE;
    unsigned reg = reg_index[off % NCIC_QUEUE_STRIDE / 4];
    const void *field;
    const NcicRing *r;

    if (q >= e->cfg.queues || !reg) {
        return 0;
    }
    reg--;
    field = r = field_at((NcicQueue *)&e->queue[dir][q], reg);
    switch (reg_field[reg].kind) {
    case REG_BASE_LO:
        return r->base;
    case REG_BASE_HI:
        return r->base >> 32;
    case REG_SIZE:
        return r->log_size | (r->active ? NCIC_Q_ACTIVE : 0);
    default:
        return *(const uint32_t *)field;
    }
}

/* What is under way for this ring must not touch memory any more; its
 * descriptors have not been used. */
static void deactivate(NcicEth *e, NcicDir dir, unsigned q, NcicRing *r)
{
    NcicQueue *k = &e->queue[dir][q];

    if (r->active) {
        k->desc.tail = (k->desc.tail - ncic_fetch_cancel(&e->fetch[dir], q)) &
                       NCIC_Q_INDEX_MASK;
        k->cpl_reserved = k->cpl.head;
    }
    r->active = 0;
}

static void set_base(NcicEth *e, NcicDir dir, unsigned q, NcicRing *r,
                     bool high, uint32_t val)
{
    /* Without an active bit a new base is what takes a ring down. */
    deactivate(e, dir, q, r);
    r->base = high ? (uint32_t)r->base | (uint64_t)val << 32
                   : (r->base & ~(uint64_t)UINT32_MAX) | val;
}

/* The size register: [3:0] while inactive, b31 always. */
static void set_size(NcicEth *e, NcicDir dir, unsigned q, NcicRing *r,
                     bool cpl, uint32_t val)
{
    NcicQueue *k = &e->queue[dir][q];
    uint64_t align = cpl ? NCIC_CPL_SIZE : NCIC_DESC_SIZE;
    bool on = e->cfg.doc_flags ? r->base != 0 : val & NCIC_Q_ACTIVE;

    if (r->active && on) {
        if ((val & NCIC_Q_LOG_SIZE_MASK) != r->log_size) {
            ncic_eth_guest_error(e, NCIC_E_ACTIVE, q, val);
        }
        return;
    }
    if (!on) {
        if (!r->active) {
            r->log_size = val & NCIC_Q_LOG_SIZE_MASK;
        }
        deactivate(e, dir, q, r);
        return;
    }
    r->log_size = val & NCIC_Q_LOG_SIZE_MASK;
    if (r->base & (align - 1)) {
        ncic_eth_guest_error(e, NCIC_E_RING_ALIGN, q, r->base);
        return;
    }
    if (cpl) {
        k->cpl_reserved = r->head;
        k->irq_sent = 0;
    }
    r->active = 1;
    check_head(e, q, r);
    if (dir == NCIC_RX) {
        /* The backend may keep frames that came while the machine slept:
         * nobody tells it that the machine is awake. */
        e->ops->kick_rx(e->opaque);
    }
}

/* Is @reg closed to the driver now?  Its ring's size register never is, nor its
 * base where that is what ends its activity. */
static bool is_locked(const NcicEth *e, const NcicQueue *k, unsigned reg)
{
    const RegAccess *a = &reg_access[reg];
    RegKind kind = reg_field[reg].kind;

    return a->locked && (a->cpl ? k->cpl.active : k->desc.active) &&
           kind != REG_SIZE && (kind == REG_PLAIN || !e->cfg.doc_flags);
}

NcicWake ncic_queue_write(NcicEth *e, NcicDir dir, uint32_t off, uint32_t val)
{
    unsigned q = off / NCIC_QUEUE_STRIDE;
    unsigned reg = reg_index[off % NCIC_QUEUE_STRIDE / 4];
    NcicQueue *k;
    NcicRing *r;
    void *field;

    if (q >= e->cfg.queues) {
        ncic_eth_guest_error(e, NCIC_E_INDEX, q, off);
        return NCIC_WAKE_NONE;
    }
    if (!reg) {
        ncic_eth_guest_error(e, NCIC_E_ACCESS, q, off % NCIC_QUEUE_STRIDE);
        return NCIC_WAKE_NONE;
    }
    reg--;
    k = &e->queue[dir][q];
    val &= reg_access[reg].rw;
    if (is_locked(e, k, reg)) {
        ncic_eth_guest_error(e, NCIC_E_ACTIVE, q, reg_access[reg].offset);
        return NCIC_WAKE_NONE;
    }
    if (reg == NCIC_QR_HEAD && k->desc.head == val) {
        return NCIC_WAKE_NONE;
    }
    field = r = field_at(k, reg);
    switch (reg_field[reg].kind) {
    case REG_SIZE:
        set_size(e, dir, q, r, reg_access[reg].cpl, val);
        break;
    case REG_BASE_LO:
    case REG_BASE_HI:
        set_base(e, dir, q, r, reg_field[reg].kind == REG_BASE_HI, val);
        break;
    default:
        *(uint32_t *)field = val;
        break;
    }
    if (reg_field[reg].wrote) {
        reg_field[reg].wrote(e, dir, q);
    }
    if (reg_field[reg].kind != REG_PLAIN && e->ops->ring_changed) {
        e->ops->ring_changed(e->opaque, dir, q);
    }
    if (dir == NCIC_RX) {
        return NCIC_WAKE_RX;
    }
    if (!k->desc.active || k->desc.head == k->desc.tail) {
        return NCIC_WAKE_NONE;
    }
    /* Any register write of a queue with work makes the scheduler look again,
     * so that a refused descriptor never stalls it. */
    e->tx_pending |= 1u << q;
    return reg == NCIC_QR_HEAD ? NCIC_WAKE_DOORBELL : NCIC_WAKE_TX;
}
