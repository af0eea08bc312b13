/*
 * PORT_ERR_RECORD: errors of a port, recorded and reported (UB 2.0
 * §10.6.2.2.4, §D.6.22).
 *
 * An error sets its bit in the correctable record, or, where the severity says
 * so, in the uncorrectable one; the mask keeps it from being reported, not from
 * being recorded.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "internal.h"

#define BY_SEVERITY 0x08b00000u /* C.21, C.22, C.24, C.28 */
#define ALWAYS_UCE  0x30000000u /* C.29, C.30 */

void port_errors_init(UbPort *p)
{
    ub_slice_init(p->regs.err, UB_PORT_ERR_CE_SEVERITY, ~0u,
                  p->conf.err_severity);
}

void port_error(UbPort *p, uint32_t bits)
{
    UbSlice *s = p->regs.err;
    uint32_t ce_ok = ub_slice_get(s, UB_PORT_ERR_CE_SEVERITY);
    uint32_t uce = bits & (ALWAYS_UCE | (BY_SEVERITY & ~ce_ok));
    uint32_t ce = bits & ~uce;

    p->fresh_ce |= ce & ~(ub_slice_get(s, UB_PORT_ERR_CE_STATUS) |
                          ub_slice_get(s, UB_PORT_ERR_CE_MASK));
    p->fresh_uce |= uce & ~(ub_slice_get(s, UB_PORT_ERR_UCE_STATUS) |
                            ub_slice_get(s, UB_PORT_ERR_UCE_MASK));
    ub_slice_set(s, UB_PORT_ERR_CE_STATUS, ce, ~0u);
    ub_slice_set(s, UB_PORT_ERR_UCE_STATUS, uce, ~0u);
    if ((ce & ~ub_slice_get(s, UB_PORT_ERR_CE_MASK)) |
        (uce & ~ub_slice_get(s, UB_PORT_ERR_UCE_MASK))) {
        p->ops.event(p->opaque, UB_PORT_ERROR);
    }
}

void ub_port_take_errors(UbPort *p, UbPortErrors *fresh)
{
    uint32_t fatal = ub_slice_get(p->regs.err, UB_PORT_ERR_UCE_SEVERITY);

    *fresh = (UbPortErrors) {
        .ce = p->fresh_ce, .nfue = p->fresh_uce & ~fatal,
        .fue = p->fresh_uce & fatal,
    };
    p->fresh_ce = p->fresh_uce = 0;
}

void ub_port_record(UbPort *p, unsigned bit)
{
    port_error(p, 1u << bit);
}
