/*
 * What the vector loops need: the field, and the scalar forms they fall back
 * to.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef UB_PHY_SCALAR_H
#define UB_PHY_SCALAR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kernels.h"

/* For large buffers in inner loops, where the build zeroes what is automatic. */
#if __has_attribute(uninitialized)
#define UB_UNINITIALIZED __attribute__((uninitialized))
#else
#define UB_UNINITIALIZED
#endif

/* Build the field tables; any thread, any number of times. */
void ub_rs_tables_init(void);

/* Parity that a feedback symbol adds: p7 in the top byte, p0 in the lowest.
 * After ub_rs_tables_init. */
uint64_t ub_rs_feedback(uint8_t symbol);

/* Parity that belongs to the message symbols at msg[0], msg[stride] …, p7 in
 * the top byte. */
uint64_t ub_rs_remainder(const uint8_t *msg, size_t stride);

/* As rs_encode and rs_check of the kernels. */
void ub_rs_encode_scalar(const uint8_t *msg, uint8_t *parity, size_t n,
                         unsigned codecs);
size_t ub_rs_check_scalar(const uint8_t *msg, const uint8_t *parity, size_t n,
                          unsigned codecs, uint8_t *bad);
void ub_stripe_scalar(uint8_t *const *lane, const UbPcsBytes *bytes,
                      size_t columns, unsigned width,
                      UbScrambler *const *key);
void ub_destripe_scalar(const UbPcsBytes *bytes, const uint8_t *const *lane,
                        size_t columns, unsigned width);
void ub_scramble_scalar(UbScrambler *s, const uint8_t *delays, uint8_t *out,
                        const uint8_t *in, size_t n);
void ub_gray_scalar(uint8_t *out, const uint8_t *in, size_t n);
uint8_t ub_precode_scalar(uint8_t *out, const uint8_t *in, size_t n, bool pam4,
                          uint8_t prev);
uint8_t ub_precode_undo_scalar(uint8_t *out, const uint8_t *in, size_t n,
                               bool pam4, uint8_t prev);

#endif
