/*
 * A record of errors of class C: PORT_ERR_RECORD of a port, DEVICE_ERR_RECORD of
 * the device, which are alike (UB 2.0 §10.6.2.2.4, §D.2.2, §D.6.22).
 *
 * An error C.n is bit n - 1.  It is recorded in the correctable status, or where
 * the severity says so in the uncorrectable one; the mask keeps it from being
 * reported, not from being recorded.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef UB_ERRORS_H
#define UB_ERRORS_H

#include "ub/space.h"

/* Errors that there are: table 10-14 less the reserved ones. */
#define UB_ERRORS_ALL 0x38becffeu

/* Errors by how they are reported: correctable, not fatal, fatal. */
typedef struct UbErrors {
    uint32_t ce, nfue, fue;
} UbErrors;

typedef struct UbErrorRecord {
    UbSlice *slice;
    uint32_t fresh_ce, fresh_uce; /* that nobody took yet */
} UbErrorRecord;

/* Keep the record in @slice, which has its layout; @severity: the power-on value
 * of Correctable Error Severity. */
void ub_error_record_init(UbErrorRecord *r, UbSlice *slice, uint32_t severity);
/* The errors @bits happened.  True: at least one is not masked. */
bool ub_error_record_note(UbErrorRecord *r, uint32_t bits);
/* Those that are to be reported since the last call: not masked, and not in the
 * status already when they happened. */
UbErrors ub_error_record_take(UbErrorRecord *r);

#endif
