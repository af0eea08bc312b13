/*
 * PORT_ERR_RECORD: errors of a port, recorded and reported (UB 2.0
 * §10.6.2.2.4, §D.6.22).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "internal.h"

void port_errors_init(UbPort *p, UbSlice *slice)
{
    ub_error_record_init(&p->errors, slice, p->conf.err_severity);
}

void port_error(UbPort *p, uint32_t bits)
{
    if (ub_error_record_note(&p->errors, bits)) {
        p->ops.event(p->opaque, UB_PORT_ERROR);
    }
}

UbErrors ub_port_take_errors(UbPort *p)
{
    return ub_error_record_take(&p->errors);
}

void ub_port_record(UbPort *p, unsigned bit)
{
    port_error(p, 1u << bit);
}
