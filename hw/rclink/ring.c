/*
 * RC Link: rings between driver and device (docs/specs/rclink.rst).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "internal.h"

static const uint8_t ring_vector[RCL_RINGS] = {
    [RCL_RING_TX] = RCL_VEC_TX, [RCL_RING_RX1] = RCL_VEC_RX1,
    [RCL_RING_RX2] = RCL_VEC_RX2, [RCL_RING_EVENT] = RCL_VEC_EVENT,
};

void rcl_ring_reset(RclRing *r)
{
    *r = (RclRing) { .size = RCL_RING_LOG_MIN };
}

/*
 * Entries that are done go to memory together.  The first eight bytes of the first
 * of them are the last: who waits for its phase finds the others there.
 */
static void ring_write_back(Rclink *d, RclRing *r)
{
    uint16_t n = ring_index(d, r) - r->kept, in = r->kept - r->cache_first;
    uint64_t at = r->base + (r->kept & ring_mask(r)) * RCL_RING_ENTRY;
    const uint8_t *e;

    if (!n) {
        return;     /* nor need the cache have that entry */
    }
    e = r->cache + in * RCL_RING_ENTRY;
    r->kept += n;
    if (!rcl_dma_write(d, at + 8, e + 8, n * RCL_RING_ENTRY - 8) ||
        !rcl_dma_write(d, at, e, 8)) {
        rcl_ring_stop(d, r);
    }
}

void rcl_ring_append(Rclink *d, RclRing *r, const uint8_t *entry)
{
    uint16_t n = r->head - r->kept;

    if (n == CACHE || !(r->head & ring_mask(r))) {
        ring_write_back(d, r);
        n = 0;
    }
    if (r->error) {
        return;
    }
    if (!n) {
        r->cache_first = r->head;
    }
    memcpy(r->cache + n * RCL_RING_ENTRY, entry, RCL_RING_ENTRY);
    r->head++;
    r->moved = true;
}

void rcl_ring_stop(Rclink *d, RclRing *r)
{
    ring_write_back(d, r);
    r->error = true;
    r->cached = 0;
    d->reg.err |= 1u << ring_number(d, r);
    d->cfg.ops->msix(d->cfg.opaque, ring_vector[ring_number(d, r)]);
}

const uint8_t *rcl_ring_fill(Rclink *d, RclRing *r)
{
    uint16_t n = ring_avail(r), at = r->tail & ring_mask(r);

    n = MIN(MIN(n, CACHE), (1u << r->size) - at);
    ring_write_back(d, r);
    if (r->error) {
        return NULL;
    }
    if (!rcl_dma_read(d, r->base + at * RCL_RING_ENTRY, r->cache,
                      n * RCL_RING_ENTRY)) {
        rcl_ring_stop(d, r);
        return NULL;
    }
    r->cache_first = r->tail;
    r->cached = n;
    for (unsigned i = 0; ring_number(d, r) == RCL_RING_TX && i < n; i++) {
        rcl_qp_soon(d, get_le16(r->cache + i * RCL_RING_ENTRY + RCL_E_QP));
    }
    return r->cache;
}

static void ring_check_arm(Rclink *d, RclRing *r)
{
    if (r->armed && ring_index(d, r) != r->arm) {
        r->armed = false;
        d->cfg.ops->msix(d->cfg.opaque, ring_vector[ring_number(d, r)]);
    }
}

void rclink_settle(Rclink *d)
{
    for (RclRing *r = d->ring; r < d->ring + RCL_RINGS; r++) {
        ring_write_back(d, r);
    }
}

void rcl_ring_publish(Rclink *d)
{
    for (RclRing *r = d->ring; r < d->ring + RCL_RINGS; r++) {
        uint8_t index[4];

        if (!r->moved) {
            continue;
        }
        r->moved = false;
        ring_write_back(d, r);
        if (r->use_shadow && !r->error) {
            put_le32(index, ring_index(d, r));
            if (!rcl_dma_write(d, r->shadow, index, sizeof(index))) {
                rcl_ring_stop(d, r);
            }
        }
        ring_check_arm(d, r);
    }
}

uint32_t rcl_ring_read(Rclink *d, unsigned n, unsigned off)
{
    const RclRing *r = &d->ring[n];

    /* Who sees an index finds the entries. */
    rcl_ring_publish(d);
    switch (off) {
    case RCL_RING_BASE_LO:
        return r->base;
    case RCL_RING_BASE_HI:
        return r->base >> 32;
    case RCL_RING_SIZE:
        return r->size;
    case RCL_RING_CTRL:
        return (r->en ? RCL_RING_EN : 0) |
               (r->use_shadow ? RCL_RING_SHADOW : 0) |
               (r->error ? RCL_RING_ERROR : 0);
    case RCL_RING_HEAD:
        return r->head;
    case RCL_RING_TAIL:
        return r->tail;
    case RCL_RING_ARM:
        return r->arm;
    case RCL_RING_SHADOW_LO:
        return r->shadow;
    case RCL_RING_SHADOW_HI:
        return r->shadow >> 32;
    default:
        return 0;
    }
}

/* CTRL: taking a ring into use clears its indices and what was wrong. */
static void ring_control(Rclink *d, RclRing *r, uint32_t val)
{
    bool en = val & RCL_RING_EN;

    rcl_ring_publish(d);
    if (en && !r->en) {
        r->head = r->tail = r->kept = 0;
        r->error = r->armed = r->moved = false;
        d->reg.err &= ~(UINT64_C(1) << ring_number(d, r));
    }
    r->cached = 0;
    r->en = en;
    r->use_shadow = val & RCL_RING_SHADOW;
}

/* Whether news of the driver's index give the device anything to do. */
static bool ring_serves(const Rclink *d, unsigned n)
{
    RclFlow last = n == RCL_RING_RX1 ? FLOW_ACK - 1 : FLOW_TYPE2;

    if (n == RCL_RING_TX) {
        return true;
    }
    for (RclFlow f = n == RCL_RING_RX1 ? FLOW_BANK0 : FLOW_TYPE2; f <= last;
         f++) {
        if (d->wait[f].head) {
            return true;
        }
    }
    return false;
}

/* The driver's own index: how far it is ahead of the device's must fit. */
static void ring_move(Rclink *d, RclRing *r, unsigned off, uint32_t val)
{
    bool event = ring_number(d, r) == RCL_RING_EVENT;
    uint16_t used = event ? r->head - (uint16_t)val
                          : (uint16_t)val - r->tail;

    if (off != (event ? RCL_RING_TAIL : RCL_RING_HEAD)) {
        rcl_guest_error(d, "rings", "the device's own index was written",
                        val);
        return;
    }
    if (val > UINT16_MAX || used > 1u << r->size || !r->en) {
        rcl_guest_error(d, "rings", "index beyond the ring", val);
        return;
    }
    if (event) {
        r->tail = val;
    } else {
        r->head = val;
        if (ring_serves(d, ring_number(d, r))) {
            rcl_kick(d);
        }
    }
}

void rcl_ring_write(Rclink *d, unsigned n, unsigned off, uint32_t val)
{
    RclRing *r = &d->ring[n];

    if (r->en && (off == RCL_RING_BASE_LO || off == RCL_RING_BASE_HI ||
                  off == RCL_RING_SIZE || off == RCL_RING_SHADOW_LO ||
                  off == RCL_RING_SHADOW_HI)) {
        rcl_guest_error(d, "rings", "a ring in use was changed", off);
        return;
    }
    switch (off) {
    case RCL_RING_BASE_LO:
        r->base = (r->base >> 32 << 32) | (val & ~15u);
        break;
    case RCL_RING_BASE_HI:
        r->base = (uint32_t)r->base | (uint64_t)val << 32;
        break;
    case RCL_RING_SIZE:
        if (val < RCL_RING_LOG_MIN || val > RCL_RING_LOG_MAX) {
            rcl_guest_error(d, "rings", "size of a ring", val);
            return;
        }
        r->size = val;
        break;
    case RCL_RING_CTRL:
        ring_control(d, r, val);
        rcl_kick(d);
        break;
    case RCL_RING_HEAD:
    case RCL_RING_TAIL:
        ring_move(d, r, off, val);
        break;
    case RCL_RING_ARM:
        rcl_ring_publish(d);
        r->arm = val;
        r->armed = r->en;
        ring_check_arm(d, r);
        break;
    case RCL_RING_SHADOW_LO:
        r->shadow = (r->shadow >> 32 << 32) | (val & ~3u);
        break;
    case RCL_RING_SHADOW_HI:
        r->shadow = (uint32_t)r->shadow | (uint64_t)val << 32;
        break;
    default:
        rcl_guest_error(d, "rings", "no such register", off);
        break;
    }
}
