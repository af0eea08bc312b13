/*
 * Gray coding and precoding (UB 2.0 §3.3.1, §3.3.2).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "scalar.h"
#include "linecode.h"

#define FN(name) ub_##name##_scalar
#define TARGET
#define WORDS 2
#define LINKAGE
#include "linecode-loops.h"

uint8_t ub_precode_start(bool pam4)
{
    return pam4 ? 0 : 1;
}

void ub_gray(uint8_t *out, const uint8_t *in, size_t n)
{
    ub_pcs_kernels()->gray(out, in, n);
}

uint8_t ub_precode(uint8_t *out, const uint8_t *in, size_t n, bool pam4,
                   uint8_t prev)
{
    return ub_pcs_kernels()->precode(out, in, n, pam4, prev);
}

uint8_t ub_precode_undo(uint8_t *out, const uint8_t *in, size_t n, bool pam4,
                        uint8_t prev)
{
    return ub_pcs_kernels()->precode_undo(out, in, n, pam4, prev);
}
