/*
 * Speed of the UMMU: an access that is cached, one that reads its tables, by one stage
 * and nested.  Timings decide nothing.
 *
 *   bench-ummu [THOUSANDS OF ACCESSES]
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <stdio.h>

#include "../../unit/ub/ummu/bed.h"

static Bed b;

static double ns_of(uint64_t n, bool cached)
{
    UbUmmuAccess a = bed_access(UB_UMMU_WRITE, BED_UBA, 64);
    gint64 start = g_get_monotonic_time();

    for (uint64_t i = 0; i < n; i++) {
        UbUmmuSpan span[2];
        unsigned spans;

        a.addr = BED_UBA + i * 64 % BED_LEN;
        if (!cached) {
            ub_ummu_turn(b.u);
        }
        g_assert_cmpint(ub_ummu_access(b.u, &a, span, 2, &spans), ==,
                        UB_UMMU_OK);
    }
    return (g_get_monotonic_time() - start) * 1e3 / n;
}

/* Stage 2 beneath: all memory is where it is. */
static void nest(void)
{
    uint64_t root = ubm_alloc(&b.d, 4096, 4096), l2;

    l2 = ubm_alloc(&b.d, 4096, 4096);
    ubm_word_put(&b.d, root, l2 | 3);
    for (unsigned i = 0; i < BED_RAM >> 21; i++) {
        ubm_word_put(&b.d, l2 + 8 * i, (uint64_t)i << 21 | 1 | UBM_PTE_AF |
                     UBM_PTE_S2_READ | UBM_PTE_S2_WRITE);
    }
    ubm_word_put(&b.d, b.d.tect + 16, 25 | 1 << 6 | 5 << 12);
    ubm_word_put(&b.d, b.d.tect + 24, root);
    bed_change(&b, b.d.tect, 0, 7 << 1);
}

int main(int argc, char **argv)
{
    uint64_t n = 1000 * (argc > 1 ? g_ascii_strtoull(argv[1], NULL, 10) : 1000);

    n = MAX(n, 1000);
    bed_open(&b, NULL);
    printf("an access: cached %.1f ns", ns_of(20 * n, true));
    printf(", from tables %.0f ns", ns_of(n, false));
    nest();
    printf(", nested %.0f ns\n", ns_of(n, false));
    bed_free(&b);
    return 0;
}
