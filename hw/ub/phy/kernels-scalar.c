/*
 * The kernels that every processor has.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "kernels.h"
#include "scalar.h"

static bool always(void)
{
    return true;
}

const UbPcsKernels ub_pcs_kernels_scalar = {
    .name = "scalar",
    .usable = always,
    .rs_encode = ub_rs_encode_scalar,
    .rs_check = ub_rs_check_scalar,
    .stripe = ub_stripe_scalar,
    .destripe = ub_destripe_scalar,
    .scramble = ub_scramble_scalar,
    .gray = ub_gray_scalar,
    .precode = ub_precode_scalar,
    .precode_undo = ub_precode_undo_scalar,
};
