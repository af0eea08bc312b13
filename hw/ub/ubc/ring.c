/*
 * Descriptor rings of ubc.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <glib.h>

#include "core/bytes.h"
#include "ring.h"

#define SIZE_MIN 4
#define SIZE_MAX_LOG 12

void ub_ring_init(UbRing *r, const UbRingOps *ops, void *opaque)
{
    r->ops = ops;
    r->opaque = opaque;
    ub_ring_reset(r);
}

void ub_ring_reset(UbRing *r)
{
    r->vector = 0;
    r->base = 0;
    r->size = 0;
    r->enabled = r->error = r->armed = false;
    r->head = r->tail = r->arm = r->fetched = 0;
}

void ub_ring_refetch(UbRing *r)
{
    r->fetched = r->tail;
}

static unsigned entries(const UbRing *r)
{
    return 1u << r->size;
}

static const char *place_check(const UbRing *r)
{
    if (r->size < SIZE_MIN || r->size > SIZE_MAX_LOG) {
        return "ring enabled with a size that does not exist";
    }
    return r->base % UBC_DESC_SIZE ? "ring enabled with an unaligned base"
                                   : NULL;
}

const char *ub_ring_check(const UbRing *r)
{
    const char *broken = r->enabled ? place_check(r) : NULL;

    if (r->vector >= UBC_VECTORS) {
        return "a ring's vector is beyond the table";
    }
    if (!broken && r->enabled &&
        (uint16_t)(r->head - r->tail) > entries(r)) {
        broken = "ring head beyond the size of the ring";
    }
    return broken;
}

static void stop(UbRing *r, const char *what)
{
    r->error = true;
    r->enabled = false;
    if (what) {
        r->ops->guest_error(r->opaque, what);
    }
}

uint32_t ub_ring_reg_read(const UbRing *r, uint32_t reg)
{
    switch (reg) {
    case UBC_RING_BASE_LO:
        return r->base;
    case UBC_RING_BASE_HI:
        return r->base >> 32;
    case UBC_RING_SIZE:
        return r->size;
    case UBC_RING_CTRL:
        return (r->enabled ? UBC_RING_ENABLE : 0) |
               (r->error ? UBC_RING_ERROR : 0);
    case UBC_RING_HEAD:
        return r->head;
    case UBC_RING_TAIL:
        return r->tail;
    case UBC_RING_ARM:
        return r->arm | (r->armed ? UBC_RING_ARMED : 0);
    case UBC_RING_VECTOR:
        return r->vector;
    default:
        return 0;
    }
}

static bool write_ctrl(UbRing *r, uint32_t value)
{
    const char *broken = place_check(r);

    if (!(value & UBC_RING_ENABLE)) {
        r->enabled = r->error = false;
        return false;
    }
    if (r->enabled) {
        return false;
    }
    r->error = false;
    r->head = r->tail = r->fetched = 0;
    if (broken) {
        stop(r, broken);
        return false;
    }
    r->enabled = true;
    return true;
}

static bool write_head(UbRing *r, uint32_t value)
{
    if (!r->enabled) {
        r->ops->guest_error(r->opaque, "doorbell of a ring not enabled");
        return false;
    }
    if (value > UINT16_MAX || (uint16_t)(value - r->tail) > entries(r) ||
        (uint16_t)(value - r->head) > entries(r)) {
        stop(r, "ring head beyond the size of the ring");
        return false;
    }
    r->head = value;
    return true;
}

bool ub_ring_reg_write(UbRing *r, uint32_t reg, uint32_t value)
{
    switch (reg) {
    case UBC_RING_BASE_LO:
    case UBC_RING_BASE_HI:
    case UBC_RING_SIZE:
        if (r->enabled) {
            r->ops->guest_error(r->opaque,
                                "base or size of a ring written while "
                                "enabled");
        } else if (reg == UBC_RING_BASE_LO) {
            r->base = (r->base & ~(uint64_t)UINT32_MAX) | value;
        } else if (reg == UBC_RING_BASE_HI) {
            r->base = (uint32_t)r->base | (uint64_t)value << 32;
        } else {
            r->size = value;
        }
        return false;
    case UBC_RING_CTRL:
        return write_ctrl(r, value);
    case UBC_RING_HEAD:
        return write_head(r, value);
    case UBC_RING_ARM:
        r->arm = value;
        r->armed = true;
        ub_ring_notify(r);
        return false;
    case UBC_RING_VECTOR:
        if (value < UBC_VECTORS) {
            r->vector = value;
        } else {
            r->ops->guest_error(r->opaque, "vector beyond the MSI-X table");
        }
        return false;
    default:
        r->ops->guest_error(r->opaque, "write to a read-only ring register");
        return false;
    }
}

const UbRingDesc *ub_ring_next(UbRing *r)
{
    uint8_t raw[UB_RING_BATCH * UBC_DESC_SIZE];
    unsigned at, n;

    if (!r->enabled || r->tail == r->head) {
        return NULL;
    }
    if (r->fetched != r->tail) {
        return &r->batch[r->tail % UB_RING_BATCH];
    }
    /* As many as there are, up to the end of the ring and of the batch. */
    at = r->tail & (entries(r) - 1);
    n = MIN((uint16_t)(r->head - r->tail), entries(r) - at);
    n = MIN(n, UB_RING_BATCH - r->tail % UB_RING_BATCH);
    if (!r->ops->read(r->opaque, r->base + at * UBC_DESC_SIZE, raw,
                      n * UBC_DESC_SIZE)) {
        stop(r, NULL);
        return NULL;
    }
    for (unsigned i = 0; i < n; i++) {
        const uint8_t *p = raw + i * UBC_DESC_SIZE;

        r->batch[(r->tail + i) % UB_RING_BATCH] = (UbRingDesc) {
            .addr = get_le64(p),
            .len = get_le32(p + 8),
            .flags = get_le16(p + 12),
        };
    }
    r->fetched = r->tail + n;
    return &r->batch[r->tail % UB_RING_BATCH];
}

bool ub_ring_complete(UbRing *r, uint32_t len, uint16_t flags, uint16_t status)
{
    const unsigned at = r->tail & (entries(r) - 1);
    uint8_t back[8];

    /* One store of eight bytes: DONE is never seen before the length. */
    put_le32(back, len);
    put_le16(back + 4, flags);
    put_le16(back + 6, status | UBC_DESC_DONE);
    if (!r->ops->write(r->opaque, r->base + at * UBC_DESC_SIZE + 8, back,
                       sizeof(back))) {
        stop(r, NULL);
        return false;
    }
    r->tail++;
    return true;
}

void ub_ring_notify(UbRing *r)
{
    if (r->armed && r->tail != r->arm) {
        r->armed = false;
        r->ops->interrupt(r->opaque, r->vector);
    }
}
