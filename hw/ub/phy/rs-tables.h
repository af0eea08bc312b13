/*
 * What the vector code words loops need of the field and the scalar forms.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef UB_PHY_RS_TABLES_H
#define UB_PHY_RS_TABLES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Build the field tables; any thread, any number of times. */
void ub_rs_tables_init(void);

/* Parity that a feedback symbol adds: p7 in the top byte, p0 in the lowest.
 * After ub_rs_tables_init. */
uint64_t ub_rs_feedback(uint8_t symbol);

void ub_stripe_scalar(uint8_t *const *lane, const uint8_t *bytes,
                      size_t columns, unsigned width, bool swap);
void ub_destripe_scalar(uint8_t *bytes, const uint8_t *const *lane,
                        size_t columns, unsigned width, bool swap);

#endif
