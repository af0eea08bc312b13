/*
 * RC Link: guest memory, errors of the driver, interrupts and events (RC Link
 * §12.12).  The cellar: it calls nobody but the rings.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "internal.h"

void rcl_kick(Rclink *d)
{
    if (d->running) {
        d->kicked = true;
    } else {
        d->cfg.ops->kick(d->cfg.opaque);
    }
}

void rcl_guest_error(Rclink *d, const char *rule, const char *text,
                     uint64_t value)
{
    d->cnt.guest_errors++;
    d->cfg.ops->guest_error(d->cfg.opaque, rule, text, value);
}

bool rcl_dma_read(Rclink *d, uint64_t addr, void *buf, size_t len)
{
    if (!d->faults.dma &&
        d->cfg.ops->read(d->cfg.opaque, addr, buf, len)) {
        return true;
    }
    d->cnt.dma_errors++;
    return false;
}

bool rcl_dma_write(Rclink *d, uint64_t addr, const void *buf, size_t len)
{
    if (!d->faults.dma &&
        d->cfg.ops->write(d->cfg.opaque, addr, buf, len)) {
        return true;
    }
    d->cnt.dma_errors++;
    return false;
}

bool rcl_dma_reach(Rclink *d, uint64_t addr, size_t len, bool write,
                   void (*fn)(void *ctx, void *data), void *ctx)
{
    return !d->faults.dma && d->cfg.ops->reach &&
           d->cfg.ops->reach(d->cfg.opaque, addr, len, write, fn, ctx);
}

/* ---- events ---- */

/*
 * Whether there is room for one of @type.  CREDIT has all of the ring: who loses one
 * waits for ever.  Of the others a peer, or the absence of one, can cause as many as
 * it likes, so that they have an eighth.
 */
static bool event_room(const RclRing *r, uint8_t type)
{
    uint32_t size = 1u << r->size;

    return (uint16_t)(r->head - r->tail) <
           (type == RCL_EV_CREDIT ? size : size / 8);
}

void rcl_event_put(Rclink *d, uint8_t type, uint8_t flags, uint16_t qp,
                   uint32_t a, uint64_t b)
{
    RclRing *r = &d->ring[RCL_RING_EVENT];
    uint8_t e[RCL_RING_ENTRY];

    if (!r->en || r->error || !event_room(r, type)) {
        d->cnt.events_lost++;
        return;
    }
    e[0] = type;
    e[1] = flags | (r->head >> r->size & 1 ? 0 : RCL_EV_PHASE);
    put_le16(e + 2, qp);
    put_le32(e + 4, a);
    put_le64(e + 8, b);
    rcl_ring_append(d, r, e);
    if (!d->running) {
        rcl_kick(d); /* a turn publishes it */
    }
}

/* ---- INTR_STATUS ---- */

void rcl_intr(Rclink *d, unsigned bit)
{
    bool was = d->reg.intr >> bit & 1;

    d->reg.intr |= UINT64_C(1) << bit;
    if (!was && d->reg.intr_mask >> bit & 1) {
        d->cfg.ops->msix(d->cfg.opaque, RCL_VEC_INTR);
    }
}

void rcl_intr_unmasked(Rclink *d, uint64_t was, uint64_t mask)
{
    if (d->reg.intr & mask & ~was) {
        d->cfg.ops->msix(d->cfg.opaque, RCL_VEC_INTR);
    }
}

static void irq_info(Rclink *d, unsigned type, uint64_t info)
{
    info |= (uint64_t)type << RCL_IRQ_TYPE_SHIFT;
    d->reg.irq_info = info;
    rcl_event(d, RCL_EV_IRQ, 0, 0, 0, info);
}

void rcl_irq1(Rclink *d, unsigned code, uint16_t qp)
{
    irq_info(d, 1, (uint32_t)qp << 5 | code);
}

void rcl_irq2(Rclink *d, unsigned code, unsigned subtype)
{
    irq_info(d, 2, subtype << 5 | code);
}

/* ---- TYPE3 ---- */

static void st0_info(Rclink *d)
{
    irq_info(d, 3, (uint64_t)(d->md_rx.tail & 0xfff) << 18 |
                   (d->md_tx.tail & 0xfff) << 5 | 1);
}

void rcl_st0(Rclink *d, unsigned bit)
{
    bool was = d->reg.dma_st0 >> bit & 1;

    d->reg.dma_st0 |= UINT64_C(1) << bit;
    if (!was && d->reg.dma_mask >> bit & 1) {
        st0_info(d);
        d->cfg.ops->msix(d->cfg.opaque, RCL_VEC_NONR);
    }
}

void rcl_st0_unmasked(Rclink *d, uint64_t was, uint64_t mask)
{
    if (d->reg.dma_st0 & mask & ~was) {
        st0_info(d);
        d->cfg.ops->msix(d->cfg.opaque, RCL_VEC_NONR);
    }
}

void rcl_st1(Rclink *d, unsigned bit)
{
    bool was = d->reg.dma_st1 >> bit & 1;

    d->reg.dma_st1 |= UINT64_C(1) << bit;
    if (!was) {
        d->cfg.ops->msix(d->cfg.opaque, RCL_VEC_FAULT);
        rcl_st0(d, RCL_ST0_ABNORMAL);
    }
}
