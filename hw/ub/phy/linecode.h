/*
 * Gray coding and precoding of lane symbols (UB 2.0 §3.3.1, §3.3.2).
 *
 * Symbols are bytes of one lane.  NRZ: 8 UIs, bit 0 first.  PAM4: 4 UIs, bits
 * 1:0 first; levels 0-3 after Gray coding.  in == out is allowed everywhere.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef UB_LINECODE_H
#define UB_LINECODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* PAM4 Gray coding; its own inverse. */
void ub_gray(uint8_t *out, const uint8_t *in, size_t n);

/* Value of "the previous UI" after one that was not scrambled. */
uint8_t ub_precode_start(bool pam4);

/* Precode - PAM4: Gray code and precode, in one pass - and undo it.  `prev` is
 * the previous UI on the lane; returns the last one of this run, to be passed
 * to the next call. */
uint8_t ub_precode(uint8_t *out, const uint8_t *in, size_t n, bool pam4,
                   uint8_t prev);
uint8_t ub_precode_undo(uint8_t *out, const uint8_t *in, size_t n, bool pam4,
                        uint8_t prev);

#endif
