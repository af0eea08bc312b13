/*
 * Objects of one size out of large pieces: none over another, none lost, memory given
 * back.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <glib.h>
#include <stdbool.h>
#include <string.h>

#include "core/slab.h"

#define MIB (1u << 20)

static const size_t sizes[] = { 1, 16, 17, 440, 10600, 256 << 10 };

/* Each byte of an object says whose it is. */
static void mark(uint8_t *object, size_t size, uint32_t n)
{
    for (size_t i = 0; i < size; i++) {
        object[i] = n * 37 + i;
    }
}

static void check(const uint8_t *object, size_t size, uint32_t n)
{
    for (size_t i = 0; i < size; i++) {
        g_assert_cmpuint(object[i], ==, (uint8_t)(n * 37 + i));
    }
}

/* Objects come and go by chance, and keep what is written to them. */
static void test_random(void)
{
    for (unsigned s = 0; s < G_N_ELEMENTS(sizes); s++) {
        const size_t size = sizes[s];
        const uint32_t most = MIN(3000, 24 * MIB / size);
        g_autofree uint8_t **object = g_new0(uint8_t *, most);
        uint32_t used = 0;
        CoreSlab slab;

        core_slab_init(&slab, size);
        g_assert_cmpuint(slab.total, ==, 0);
        for (unsigned n = 0; n < 20000; n++) {
            /* Now many, now few. */
            uint32_t i = g_test_rand_int_range(0, most);
            bool more = (n / 5000 & 1) == 0;

            if (object[i] && (!more || n % 4 == 0)) {
                check(object[i], MIN(size, 64), i);
                core_slab_free(&slab, object[i]);
                object[i] = NULL;
                used--;
            } else if (!object[i] && (more || n % 4 == 0)) {
                object[i] = n % 3 ? core_slab_alloc(&slab) : core_slab_alloc0(&slab);
                g_assert_cmpuint((uintptr_t)object[i] % 16, ==, 0);
                for (size_t at = 0; n % 3 == 0 && at < size; at++) {
                    g_assert_cmpuint(object[i][at], ==, 0);
                }
                mark(object[i], size, i);
                used++;
            }
            g_assert_cmpuint(slab.used, ==, used);
        }
        for (uint32_t i = 0; i < most; i++) {
            if (object[i]) {
                check(object[i], size, i);
                core_slab_free(&slab, object[i]);
            }
        }
        core_slab_free(&slab, NULL);
        g_assert_cmpuint(slab.used, ==, 0);
        core_slab_trim(&slab);
        g_assert_cmpuint(slab.total, ==, 0);
        g_assert_cmpuint(slab.pieces, ==, 0);
        g_assert_null(slab.open);
        /* And it can be used again. */
        core_slab_free(&slab, core_slab_alloc(&slab));
        core_slab_trim(&slab);
    }
}

enum { FIRST, LAST, ANY, ORDERS };

/* Objects of all sizes, in the order that they came, the other way round, or any. */
static void test_orders(void)
{
    static const size_t edge[] = { 1, 15, 16, 17, 4000, 4032, 4033, 4096, 256 << 10, MIB,
                                   2 * MIB - 64, 2 * MIB - 63, 2 * MIB, 3 * MIB };

    for (unsigned k = 0; k < G_N_ELEMENTS(edge) + 60; k++) {
        const size_t size = k < G_N_ELEMENTS(edge) ? edge[k]
                            : 1 + g_test_rand_int_range(0, k % 2 ? 300 : 70000);
        const unsigned order = g_test_rand_int_range(0, ORDERS);
        const uint32_t most = MIN(2000, 3 + 12 * MIB / size);
        g_autoptr(GPtrArray) out = g_ptr_array_new();
        CoreSlab slab;

        core_slab_init(&slab, size);
        for (unsigned n = 0; n < 4 * most; n++) {
            /* Now more, now fewer. */
            if (out->len < most && g_test_rand_int_range(0, 4) != n / most % 2 * 3) {
                uint8_t *object = core_slab_alloc(&slab);

                g_assert_nonnull(object);
                object[0] = object[size - 1] = (uintptr_t)object >> 4;
                g_ptr_array_add(out, object);
            } else if (out->len) {
                uint32_t i = order == FIRST ? 0 : order == LAST ? out->len - 1
                             : g_test_rand_int_range(0, out->len);
                uint8_t *object = g_ptr_array_index(out, i);

                g_assert_cmphex(object[0], ==, (uint8_t)((uintptr_t)object >> 4));
                g_assert_cmphex(object[size - 1], ==, object[0]);
                g_ptr_array_remove_index(out, i);
                core_slab_free(&slab, object);
            }
            g_assert_cmpuint(slab.used, ==, out->len);
            g_assert_cmpuint(slab.total, >=, CORE_SLAB_APART ? 0 : slab.used);
        }
        for (uint32_t i = 0; i < out->len; i++) {
            core_slab_free(&slab, g_ptr_array_index(out, i));
        }
        core_slab_trim(&slab);
        g_assert_cmpuint(slab.total, ==, 0);
        g_assert_cmpuint(slab.pieces, ==, 0);
    }
}

#if !CORE_SLAB_APART
/* What is given back twice, or what something wrote in front of, is found there. */
static void test_twice(gconstpointer over)
{
    CoreSlab slab;
    uint64_t *object;

    if (g_test_subprocess()) {
        core_slab_init(&slab, 100);
        core_slab_alloc(&slab);
        object = core_slab_alloc(&slab);
        if (over) {
            object[-1]++;
        } else {
            core_slab_free(&slab, object);
        }
        core_slab_free(&slab, object);
        return;
    }
    g_test_trap_subprocess(NULL, 0, 0);
    g_test_trap_assert_failed();
    g_test_trap_assert_stderr("*not out*");
}

/* A few small pieces, then those of a huge page; never much more than is used. */
static void test_growth(void)
{
    g_autofree void **object = g_new(void *, 20000);
    uint32_t n, pieces;
    CoreSlab slab;

    core_slab_init(&slab, 440);
    object[0] = core_slab_alloc(&slab);
    g_assert_cmpuint(slab.total * slab.size, <=, 4096);
    for (n = 1; n < 20000; n++) {
        object[n] = core_slab_alloc(&slab);
        g_assert_cmpuint(slab.total * slab.size, <=,
                         MIN(3 * n * slab.size + 4096, n * slab.size + 2 * MIB));
    }
    g_assert_cmpuint(slab.pieces, <=, 10 + 20000 * slab.size / (2 * MIB));
    /* 456 bytes each in pieces of 2 MiB. */
    pieces = slab.pieces;
    while (slab.pieces == pieces) {
        object = g_renew(void *, object, n + 1);
        object[n++] = core_slab_alloc(&slab);
    }
    g_assert_cmpuint(((uintptr_t)object[n - 1] & (2 * MIB - 1)), <, 128);
    for (uint32_t i = 0; i < n; i++) {
        core_slab_free(&slab, object[i]);
        /* Of what is free no more stays than twice the largest piece and what holds
         * it. */
        if (!slab.used) {
            g_assert_cmpuint(slab.total * slab.size, <=, 6 * MIB);
        }
    }
    core_slab_trim(&slab);
    g_assert_cmpuint(slab.total, ==, 0);
}

/* Who takes one and gives it back makes no piece, wherever the end of one is; what was
 * given back last comes first, since it is in a cache. */
static void test_edge(void)
{
    void *object[200];
    CoreSlab slab;

    core_slab_init(&slab, 1000);
    for (unsigned n = 0; n < G_N_ELEMENTS(object); n++) {
        uint32_t pieces;
        void *last;

        object[n] = core_slab_alloc(&slab);
        last = core_slab_alloc(&slab);
        pieces = slab.pieces;
        for (unsigned i = 0; i < 10; i++) {
            core_slab_free(&slab, last);
            g_assert_true(core_slab_alloc(&slab) == last);
            g_assert_cmpuint(slab.pieces, ==, pieces);
        }
        core_slab_free(&slab, last);
        /* Of any piece. */
        last = object[n / 2];
        core_slab_free(&slab, last);
        g_assert_true(core_slab_alloc(&slab) == last);
    }
    for (unsigned n = 0; n < G_N_ELEMENTS(object); n++) {
        core_slab_free(&slab, object[n]);
    }
    core_slab_trim(&slab);
    g_assert_cmpuint(slab.total, ==, 0);
}
#endif

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/core/slab/random", test_random);
    g_test_add_func("/core/slab/orders", test_orders);
#if !CORE_SLAB_APART
    g_test_add_data_func("/core/slab/twice", NULL, test_twice);
    g_test_add_data_func("/core/slab/over", "", test_twice);
    g_test_add_func("/core/slab/growth", test_growth);
    g_test_add_func("/core/slab/edge", test_edge);
#endif
    return g_test_run();
}
