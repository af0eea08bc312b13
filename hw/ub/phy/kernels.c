/*
 * Choice of the inner loops.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <string.h>

#include "kernels.h"

static const UbPcsKernels *const sets[] = {
/* UB_PCS_SCALAR: instrumented builds leave the vector files out. */
#if defined(UB_PCS_SCALAR)
#elif defined(__x86_64__)
    &ub_pcs_kernels_gfni,
    &ub_pcs_kernels_avx2,
#elif defined(__aarch64__)
    &ub_pcs_kernels_neon,
#endif
    &ub_pcs_kernels_scalar,
};

static const UbPcsKernels *current;

const UbPcsKernels *ub_pcs_kernels_at(unsigned want)
{
    for (unsigned i = 0; i < sizeof(sets) / sizeof(sets[0]); i++) {
        if (sets[i]->usable() && !want--) {
            return sets[i];
        }
    }
    return NULL;
}

const UbPcsKernels *ub_pcs_kernels_select(const char *name)
{
    const UbPcsKernels *k;

    for (unsigned i = 0; (k = ub_pcs_kernels_at(i)); i++) {
        if (!name || !strcmp(k->name, name)) {
            __atomic_store_n(&current, k, __ATOMIC_RELEASE);
            return k;
        }
    }
    return NULL;
}

const UbPcsKernels *ub_pcs_kernels(void)
{
    const UbPcsKernels *k = __atomic_load_n(&current, __ATOMIC_ACQUIRE);

    return k ? k : ub_pcs_kernels_select(NULL);
}
