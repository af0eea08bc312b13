/*
 * ncic-mthca: the ICM map against a plain array.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <glib.h>

#include "../../../hw/rdma/mthca/icm.h"

#define PAGES 64

static void test_edges(void)
{
    Icm icm = { 0 };
    uint64_t phys, len = 1 << 20;

    g_assert_false(icm_lookup(&icm, 0, &phys, &len));
    /* Address 0 is a valid device address. */
    g_assert_true(icm_map(&icm, 0, 0x5000, 1));
    g_assert_true(icm_lookup(&icm, 0xffc, &phys, &len));
    g_assert_cmphex(phys, ==, 0x5ffc);
    g_assert_cmpuint(len, ==, 4);
    g_assert_false(icm_lookup(&icm, 0x1000, &phys, &len));
    /* Neighbours in both spaces become one extent. */
    g_assert_true(icm_map(&icm, 0x1000, 0x6000, 2));
    g_assert_cmpuint(icm.num, ==, 1);
    /* A hole splits it; unmapping nothing is fine. */
    g_assert_true(icm_unmap(&icm, 0x1000, 1));
    g_assert_cmpuint(icm.num, ==, 2);
    g_assert_true(icm_unmap(&icm, 0x100000, 64));
    len = 8;
    g_assert_true(icm_lookup(&icm, 0x2008, &phys, &len));
    g_assert_cmphex(phys, ==, 0x7008);
    /* One command for everything. */
    g_assert_true(icm_unmap(&icm, 0, 1u << 20));
    g_assert_cmpuint(icm.num, ==, 0);
    icm_clear(&icm);
}

static void test_limit(void)
{
    Icm icm = { 0 };
    uint32_t n = 0;

    /* Every second page, so that nothing merges. */
    while (icm_map(&icm, (uint64_t)n << 13, 0x1000, 1)) {
        n++;
        g_assert_cmpuint(n, <=, ICM_MAX_EXTENTS);
    }
    /* One more would have to be free for an unmap that splits. */
    g_assert_cmpuint(n, ==, ICM_MAX_EXTENTS - 1);
    g_assert_true(icm_unmap(&icm, 0, 1ull << 40));
    icm_clear(&icm);
}

/* Extents of an image: in order, touching or not, never one in another. */
static void test_append(void)
{
    static const struct { IcmExtent e; bool good; } t[] = {
        { { 0, 4, 0x1000 }, true }, { { 3, 1, 0x9000 }, false },
        { { 4, 1, 0x9000 }, true }, { { 4, 1, 0xa000 }, false },
        { { 9, 0, 0xa000 }, false }, { { 9, 2, 0xa001 }, false },
        { { 9, 2, 0xa000 }, true }, { { 5, 1, 0x2000 }, false },
        { { 11, ICM_MAX_PAGES - 10, 0xb000 }, false },
        { { 11, ICM_MAX_PAGES - 11, 0xb000 }, true },
    };
    Icm icm = { 0 };
    uint32_t n = 0;

    for (unsigned i = 0; i < G_N_ELEMENTS(t); i++) {
        g_assert_cmpint(icm_append(&icm, t[i].e), ==, t[i].good);
        n += t[i].good;
        g_assert_cmpuint(icm.num, ==, n);
    }
    icm_clear(&icm);
}

static void test_random(void)
{
    Icm icm = { 0 };
    uint64_t want[PAGES] = { 0 };   /* 0 = unmapped */
    GRand *r = g_rand_new_with_seed(1);

    for (unsigned step = 0; step < 20000; step++) {
        unsigned first = g_rand_int_range(r, 0, PAGES);
        unsigned n = g_rand_int_range(r, 1, PAGES - first + 1);
        uint64_t phys = (uint64_t)g_rand_int_range(r, 1, 1000) << 12;
        unsigned probe = g_rand_int_range(r, 0, PAGES);
        uint64_t got, len = 4096;

        if (g_rand_boolean(r)) {
            g_assert_true(icm_map(&icm, first << 12, phys, n));
        } else {
            phys = 0;
            g_assert_true(icm_unmap(&icm, first << 12, n));
        }
        for (unsigned i = 0; i < n; i++) {
            want[first + i] = phys ? phys + (i << 12) : 0;
        }
        if (want[probe]) {
            g_assert_true(icm_lookup(&icm, probe << 12, &got, &len));
            g_assert_cmphex(got, ==, want[probe]);
            g_assert_cmpuint(len, ==, 4096);
        } else {
            g_assert_false(icm_lookup(&icm, probe << 12, &got, &len));
        }
        for (uint32_t i = 0; i < icm.num; i++) {
            g_assert_cmpuint(icm.ext[i].pages, >, 0);
        }
        for (uint32_t i = 1; i < icm.num; i++) {
            g_assert_cmphex(icm.ext[i - 1].virt + icm.ext[i - 1].pages, <=,
                            icm.ext[i].virt);
        }
    }
    g_rand_free(r);
    icm_clear(&icm);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/mthca/icm/edges", test_edges);
    g_test_add_func("/mthca/icm/limit", test_limit);
    g_test_add_func("/mthca/icm/append", test_append);
    g_test_add_func("/mthca/icm/random", test_random);
    return g_test_run();
}
