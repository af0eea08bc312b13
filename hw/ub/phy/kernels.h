/*
 * The inner loops of the PCS, and their choice at run time.
 *
 * Every entry has a scalar form, the reference; vector forms replace it where
 * the processor has what they need.  Not for use outside hw/ub/phy, its tests
 * and its benches.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef UB_PHY_KERNELS_H
#define UB_PHY_KERNELS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct UbPcsKernels {
    const char *name;
    bool (*usable)(void);

    /* As ub_rs_encode and ub_rs_check (ub/rs.h). */
    void (*rs_encode)(uint8_t *frames, size_t n, unsigned codecs);
    size_t (*rs_check)(const uint8_t *frames, size_t n, unsigned codecs,
                       uint8_t *bad);

    /*
     * Deal `columns` * width bytes out to lanes, column by column, and
     * gather them again.  `swap` exchanges the symbols of lanes 2j and 2j+1
     * in odd columns (§3.2.2.3, interleaved codecs).  width 1, 2, 4, 8.
     */
    void (*stripe)(uint8_t *const *lane, const uint8_t *bytes,
                   size_t columns, unsigned width, bool swap);
    void (*destripe)(uint8_t *bytes, const uint8_t *const *lane,
                     size_t columns, unsigned width, bool swap);
} UbPcsKernels;

extern const UbPcsKernels ub_pcs_kernels_scalar;
extern const UbPcsKernels ub_pcs_kernels_avx2;
extern const UbPcsKernels ub_pcs_kernels_gfni;
extern const UbPcsKernels ub_pcs_kernels_neon;

/* The set in use: the best one this machine can run, until another is named.
 * _select returns NULL, and changes nothing, when there is none of that name
 * here; NULL asks for the best again.  It must not run beside users. */
const UbPcsKernels *ub_pcs_kernels(void);
const UbPcsKernels *ub_pcs_kernels_select(const char *name);

/* Usable set i, best first, scalar last; NULL past the end. */
const UbPcsKernels *ub_pcs_kernels_at(unsigned i);

#endif
