/*
 * Descriptor rings of ubc: the raw packet interface (ub/ubc_hw.h).
 *
 * A ring knows registers, descriptors and interrupts, and nothing of packets
 * or links.  It fetches descriptors in batches and completes them in order.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef HW_UB_RING_H
#define HW_UB_RING_H

#include <stdbool.h>
#include <stdint.h>

#include "ub/ubc_hw.h"

#define UB_RING_BATCH 32 /* descriptors fetched at once, at most */

typedef struct UbRingOps {
    /* Guest memory; false: the access failed (the op counts and logs it). */
    bool (*read)(void *opaque, uint64_t addr, void *buf, uint32_t len);
    bool (*write)(void *opaque, uint64_t addr, const void *buf, uint32_t len);
    /* The driver broke the rule `what`. */
    void (*guest_error)(void *opaque, const char *what);
    /* Send the interrupt of the ring's vector. */
    void (*interrupt)(void *opaque, unsigned vector);
} UbRingOps;

typedef struct UbRingDesc {
    uint64_t addr;
    uint32_t len;
    uint16_t flags;
} UbRingDesc;

/* Plain data, so that the shell can migrate it (all but ops and batch). */
typedef struct UbRing {
    const UbRingOps *ops;
    void *opaque;

    uint32_t vector;
    uint64_t base;
    uint32_t size; /* log2, as written */
    bool enabled, error, armed;
    uint16_t head, tail, arm;
    uint16_t fetched; /* count up to which descriptors are in `batch` */
    UbRingDesc batch[UB_RING_BATCH];
} UbRing;

void ub_ring_init(UbRing *r, const UbRingOps *ops, void *opaque);
/* Disabled, registers 0. */
void ub_ring_reset(UbRing *r);
/* The rule of the registers that a loaded ring breaks, or NULL. */
const char *ub_ring_check(const UbRing *r);
/* After migration: forget what was fetched; the guest still owns nothing that
 * was not completed, so it is fetched again. */
void ub_ring_refetch(UbRing *r);

/* Registers, by offset from the ring's base. */
uint32_t ub_ring_reg_read(const UbRing *r, uint32_t reg);
/* True: there is new work (doorbell, or the ring was enabled). */
bool ub_ring_reg_write(UbRing *r, uint32_t reg, uint32_t value);

/* The next descriptor not yet completed, or NULL: empty, disabled or broken.
 * It stays the next one until ub_ring_complete(). */
const UbRingDesc *ub_ring_next(UbRing *r);
/* Write the descriptor back and step over it: bytes, flags (CFG and VL) and
 * UBC_DESC_* status bits; DONE is added.  False when memory refused: the ring
 * has stopped. */
bool ub_ring_complete(UbRing *r, uint32_t len, uint16_t flags,
                      uint16_t status);
/* After a batch: interrupt if armed and due. */
void ub_ring_notify(UbRing *r);

#endif
