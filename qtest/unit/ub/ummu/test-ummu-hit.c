/*
 * Accesses of the UMMU that come again: what was said of a page is said again, of the
 * same bytes, to who brings the same, and not longer than it holds.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "bed.h"

#define UR UB_UMMU_UNSUPPORTED
#define OK UB_UMMU_OK
#define PAGE 4096u

static Bed b;

static void strict_open(void)
{
    UbUmmuConfig cfg;

    ub_ummu_config_init(&cfg);
    cfg.strict = true;
    bed_open(&b, &cfg);
}

static uint64_t count(UbUmmuCounter c)
{
    return ub_ummu_counter(b.u, c);
}

/* The page of TokenID 5 at @index is at @pa, with @flags beside the usual. */
static void page_put(unsigned index, uint64_t pa, uint64_t flags)
{
    uint64_t root = ubm_word(&b.d, bed_tcte(&b, BED_TOKEN) + 16);

    ubm_word_put(&b.d, ubm_desc(&b.d, root, BED_UBA + index * PAGE, 3),
                 pa | 3 | UBM_PTE_AF | UBM_PTE_USER | flags);
}

static void is_at(UbUmmuAccess *a, uint64_t pa)
{
    g_assert_cmpint(bed_ask(&b, a), ==, OK);
    g_assert_cmpuint(b.spans, ==, 1);
    g_assert_cmphex(b.span[0].addr, ==, pa);
    g_assert_cmpuint(b.span[0].len, ==, a->len);
}

/* Pages beside each other are one piece, others are not; what there is no room for is
 * refused each time; all is counted each time, and nothing is read again. */
static void test_pieces(void)
{
    UbUmmuAccess a = bed_access(UB_UMMU_READ, BED_UBA + 8, 3 * PAGE);
    UbUmmuSpan span[2];
    uint64_t reads;
    unsigned n;

    bed_open(&b, NULL);
    page_put(2, BED_PA + 7 * PAGE, 0);
    for (unsigned times = 0; times < 3; times++) {
        reads = b.reads;
        g_assert_cmpint(bed_ask(&b, &a), ==, OK);
        g_assert_cmpint(times > 0, ==, b.reads == reads);
        g_assert_cmpuint(b.spans, ==, 3);
        g_assert_cmphex(b.span[0].addr, ==, BED_PA + 8);
        g_assert_cmpuint(b.span[0].len, ==, 2 * PAGE - 8);
        g_assert_cmphex(b.span[1].addr, ==, BED_PA + 7 * PAGE);
        g_assert_cmpuint(b.span[1].len, ==, PAGE);
        g_assert_cmphex(b.span[2].addr, ==, BED_PA + 3 * PAGE);
        g_assert_cmpuint(b.span[2].len, ==, 8);
        g_assert_cmpuint(count(UB_UMMU_CNT_ACCESSES), ==, times + 1);
        g_assert_cmpuint(count(UB_UMMU_CNT_TLB_HITS), ==, 4 * times);
        g_assert_cmpuint(count(UB_UMMU_CNT_PLB_HITS), ==, 4 * times);
    }
    for (unsigned times = 0; times < 2; times++) {
        g_assert_cmpint(ub_ummu_access(b.u, &a, span, 2, &n), ==, UR);
        g_assert_cmpuint(a.why, ==, UBM_WHY_PIECES);
        g_assert_cmpuint(n, ==, 0);
    }
    g_assert_cmpuint(count(UB_UMMU_CNT_ACCESSES), ==, 3);
    /* Of 64 pages an access may be, and of no more. */
    ubm_map(&b.d, BED_TOKEN, BED_UBA, BED_PA, 65 * PAGE, 0);
    ubm_single(&b.d, BED_TOKEN, UBM_MAPTE_V | UBM_RWA, BED_UBA,
               BED_UBA + 65 * PAGE - 1, BED_VALUE);
    ub_ummu_turn(b.u);
    a.addr = BED_UBA;
    for (unsigned times = 0; times < 2; times++) {
        a.len = 64 * PAGE;
        is_at(&a, BED_PA);
        a.len++;
        g_assert_cmpint(bed_ask(&b, &a), ==, UR);
        g_assert_cmpuint(b.a.why, ==, UBM_WHY_PIECES);
    }
    bed_free(&b);
}

/* A grant that begins and ends within a page. */
static void test_bounds(void)
{
    UbUmmuAccess a;

    bed_open(&b, NULL);
    ubm_single(&b.d, BED_TOKEN, UBM_MAPTE_V | UBM_RWA, BED_UBA + 16,
               BED_UBA + 31, BED_VALUE);
    a = bed_access(UB_UMMU_WRITE, BED_UBA + 16, 16);
    is_at(&a, BED_PA + 16);
    is_at(&a, BED_PA + 16);
    for (unsigned first = 0; first < 48; first++) {
        for (unsigned len = 1; len < 48; len++) {
            a.addr = BED_UBA + first;
            a.len = len;
            if (first >= 16 && first + len <= 32) {
                is_at(&a, BED_PA + first);
            } else {
                g_assert_cmpint(bed_ask(&b, &a), ==, UR);
                g_assert_cmpuint(b.a.why, ==, UBM_WHY_RANGE);
            }
        }
    }
    bed_free(&b);
}

/* @good is let in, twice; then @other is asked for what it brings. */
static void other(const UbUmmuAccess *good, const UbUmmuAccess *other,
                  unsigned why)
{
    UbUmmuAccess a = *good;

    is_at(&a, BED_PA);
    is_at(&a, BED_PA);
    g_assert_cmpint(bed_ask(&b, other), ==, why ? UR : OK);
    g_assert_cmpuint(b.a.why, ==, why);
}

/* Who brings something else is asked for it, though somebody was let in. */
static void test_askers(void)
{
    UbUmmuAccess good = bed_access(UB_UMMU_READ, BED_UBA, 8), a;

    bed_open(&b, NULL);
    ubm_single(&b.d, BED_TOKEN, UBM_MAPTE_V | UBM_MAPTE_READ | UBM_MAPTE_E_BIT,
               BED_UBA, BED_UBA + PAGE - 1, BED_VALUE);
    good.e_bit = true;
    other(&good, &good, UBM_WHY_NONE);
#define OTHER(reason, field, value) do { \
        a = good; \
        a.field = value; \
        other(&good, &a, reason); \
    } while (0)
    OTHER(UBM_WHY_RIGHT, kind, UB_UMMU_WRITE);
    OTHER(UBM_WHY_RIGHT, kind, UB_UMMU_ATOMIC);
    OTHER(UBM_WHY_TOKEN_VALUE, token, BED_VALUE + 1);
    OTHER(UBM_WHY_TOKEN_VALUE, token_en, false);
    OTHER(UBM_WHY_E_MAPTE, e_bit, false);
    OTHER(UBM_WHY_TCTE_INVALID, token_id, BED_TOKEN + 1);
    OTHER(UBM_WHY_EE, ee, 0);
    OTHER(UBM_WHY_EE, ee, 3);
    OTHER(UBM_WHY_EID, entity, 99);
    OTHER(UBM_WHY_RANGE, addr, BED_UBA + PAGE);
#undef OTHER
    a = good;
    a.tag_en = true;
    a.tag = 1;
    other(&good, &a, UBM_WHY_EID);
    /* The owner needs no grant, and what it does opens nothing to others. */
    a = good;
    a.local = true;
    a.kind = UB_UMMU_WRITE;
    other(&good, &a, UBM_WHY_NONE);
    a.local = false;
    other(&good, &a, UBM_WHY_RIGHT);
    bed_free(&b);
}

/* The context wants the E bit. */
static void test_context_e(void)
{
    UbUmmuAccess a = bed_access(UB_UMMU_READ, BED_UBA, 8);

    bed_open(&b, NULL);
    bed_change(&b, bed_tcte(&b, BED_TOKEN), 0, UBM_TCTE_E_BIT);
    a.e_bit = true;
    is_at(&a, BED_PA);
    a.e_bit = false;
    g_assert_cmpint(bed_ask(&b, &a), ==, UR);
    g_assert_cmpuint(b.a.why, ==, UBM_WHY_E_TCTE);
    /* It asks nothing of the owner. */
    a.local = true;
    is_at(&a, BED_PA);
    is_at(&a, BED_PA);
    g_assert_cmpuint(count(UB_UMMU_CNT_PLB_HITS), ==, 0);
    g_assert_cmpuint(count(UB_UMMU_CNT_TLB_HITS), ==, 2);
    bed_free(&b);
}

/* Strict: what a walk finds in place of what was remembered holds for all. */
static void test_replaced(void)
{
    UbUmmuAccess a = bed_access(UB_UMMU_READ, BED_UBA, 8);

    strict_open();
    bed_change(&b, bed_tcte(&b, BED_TOKEN), 0, UBM_TCTE_HAF | UBM_TCTE_HDF);
    page_put(0, BED_PA, UBM_PTE_READONLY | UBM_PTE_DBM);
    is_at(&a, BED_PA);
    page_put(0, BED_PA + 5 * PAGE, UBM_PTE_READONLY | UBM_PTE_DBM);
    is_at(&a, BED_PA);
    /* The first write walks. */
    a.kind = UB_UMMU_WRITE;
    is_at(&a, BED_PA + 5 * PAGE);
    a.kind = UB_UMMU_READ;
    is_at(&a, BED_PA + 5 * PAGE);
    ubm_flush(&b.d, BED_TOKEN);
    is_at(&a, BED_PA + 5 * PAGE);
    bed_free(&b);
}

/* Strict: the same of a grant that is found anew, because the address is outside of the
 * one that is remembered. */
static void test_granted_anew(void)
{
    UbUmmuAccess a = bed_access(UB_UMMU_WRITE, BED_UBA, 8);
    uint64_t entry;

    strict_open();
    entry = ubm_single(&b.d, BED_TOKEN, UBM_MAPTE_V | UBM_RWA, BED_UBA,
                       BED_UBA + 15, BED_VALUE);
    ubm_flush(&b.d, BED_TOKEN);
    is_at(&a, BED_PA);
    ubm_mapte(&b.d, entry, UBM_MAPTE_V | UBM_MAPTE_READ, BED_UBA, BED_UBA + 31,
              BED_VALUE);
    is_at(&a, BED_PA);
    /* That one is refused, and all after it. */
    for (unsigned i = 2; i-- > 0;) {
        a.addr = BED_UBA + 16 * i;
        g_assert_cmpint(bed_ask(&b, &a), ==, UR);
        g_assert_cmpuint(b.a.why, ==, UBM_WHY_RIGHT);
    }
    bed_free(&b);
}

/* What is measured of a TECTE's accesses goes on. */
static void test_monitors(void)
{
    UbUmmuAccess a = bed_access(UB_UMMU_READ, BED_UBA, 8);

    bed_open(&b, NULL);
    for (unsigned i = 1; i <= 3; i++) {
        is_at(&a, BED_PA);
        g_assert_cmpuint(ub_ummu_reg_read(b.u, UBM_MTM(0)), ==, i);
        g_assert_cmpuint(ub_ummu_reg_read(b.u, UBM_MTM(0) + 8), ==, 8 * i);
    }
    a.len = 2 * PAGE;
    is_at(&a, BED_PA);
    is_at(&a, BED_PA);
    g_assert_cmpuint(ub_ummu_reg_read(b.u, UBM_MTM(0)), ==, 5);
    g_assert_cmpuint(ub_ummu_reg_read(b.u, UBM_MTM(0) + 8), ==, 24 + 4 * PAGE);
    bed_free(&b);
}

/* Bytes that are measured are counted in 64 bits, of which either half is a register. */
static void test_monitors_long(void)
{
    UbUmmuAccess a = bed_access(UB_UMMU_READ, BED_UBA, 64 * PAGE);
    uint64_t bytes = 3ull << 31;

    bed_open(&b, NULL);
    ubm_map(&b.d, BED_TOKEN, BED_UBA, BED_PA, a.len, 0);
    ubm_single(&b.d, BED_TOKEN, UBM_MAPTE_V | UBM_RWA, BED_UBA, BED_UBA + a.len - 1,
               BED_VALUE);
    for (uint64_t n = 0; n < bytes / a.len; n++) {
        is_at(&a, BED_PA);
    }
    g_assert_cmpuint(ub_ummu_reg_read(b.u, UBM_MTM(0)), ==, bytes / a.len);
    g_assert_cmphex(ub_ummu_reg_read(b.u, UBM_MTM(0) + 4), ==, 0);
    g_assert_cmphex(ub_ummu_reg_read(b.u, UBM_MTM(0) + 8), ==, (uint32_t)bytes);
    g_assert_cmphex(ub_ummu_reg_read(b.u, UBM_MTM(0) + 12), ==, bytes >> 32);
    bed_free(&b);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/ub/ummu/hit/pieces", test_pieces);
    g_test_add_func("/ub/ummu/hit/bounds", test_bounds);
    g_test_add_func("/ub/ummu/hit/askers", test_askers);
    g_test_add_func("/ub/ummu/hit/context-e", test_context_e);
    g_test_add_func("/ub/ummu/hit/replaced", test_replaced);
    g_test_add_func("/ub/ummu/hit/granted-anew", test_granted_anew);
    g_test_add_func("/ub/ummu/hit/monitors", test_monitors);
    g_test_add_func("/ub/ummu/hit/monitors-long", test_monitors_long);
    return g_test_run();
}
