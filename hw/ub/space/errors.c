/*
 * Records of errors: which register an error goes to, and whether it is reported.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "ub/errors.h"

#define BY_SEVERITY 0x08b00000u /* C.21, C.22, C.24, C.28 */
#define ALWAYS_UCE  0x30000000u /* C.29, C.30 */

/* One set of offsets for both. */
_Static_assert(UB_DEV_ERR_DEVICE_UCE_STATUS == UB_PORT_ERR_UCE_STATUS &&
               UB_DEV_ERR_DEVICE_CE_SEVERITY == UB_PORT_ERR_CE_SEVERITY,
               "the records are alike");

void ub_error_record_init(UbErrorRecord *r, UbSlice *slice, uint32_t severity)
{
    *r = (UbErrorRecord) { .slice = slice };
    ub_slice_init(slice, UB_PORT_ERR_CE_SEVERITY, ~0u, severity);
}

bool ub_error_record_note(UbErrorRecord *r, uint32_t bits)
{
    UbSlice *s = r->slice;
    uint32_t ce_ok = ub_slice_get(s, UB_PORT_ERR_CE_SEVERITY);
    uint32_t uce = bits & (ALWAYS_UCE | (BY_SEVERITY & ~ce_ok));
    uint32_t ce = bits & ~uce;
    uint32_t ce_told = ce & ~ub_slice_get(s, UB_PORT_ERR_CE_MASK);
    uint32_t uce_told = uce & ~ub_slice_get(s, UB_PORT_ERR_UCE_MASK);

    r->fresh_ce |= ce_told & ~ub_slice_get(s, UB_PORT_ERR_CE_STATUS);
    r->fresh_uce |= uce_told & ~ub_slice_get(s, UB_PORT_ERR_UCE_STATUS);
    ub_slice_set(s, UB_PORT_ERR_CE_STATUS, ce, ~0u);
    ub_slice_set(s, UB_PORT_ERR_UCE_STATUS, uce, ~0u);
    return ce_told | uce_told;
}

UbErrors ub_error_record_take(UbErrorRecord *r)
{
    uint32_t fatal = ub_slice_get(r->slice, UB_PORT_ERR_UCE_SEVERITY);
    UbErrors fresh = {
        .ce = r->fresh_ce, .nfue = r->fresh_uce & ~fatal,
        .fue = r->fresh_uce & fatal,
    };

    r->fresh_ce = r->fresh_uce = 0;
    return fresh;
}
