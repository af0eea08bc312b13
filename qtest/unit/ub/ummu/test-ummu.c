/*
 * The decisions of the UMMU, each with its answer and event (UB 2.0 §9.4.1).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "bed.h"

static Bed b;

static UbUmmuAccess rd8(void)
{
    return bed_access(UB_UMMU_READ, BED_UBA, 8);
}

/* With these bits changed at @at, an access is refused; without, it is not. */
static void refused_with(uint64_t at, uint64_t clear, uint64_t set,
                         UbUmmuResult r, unsigned why, unsigned code)
{
    UbUmmuAccess a = rd8();
    uint64_t was = ubm_word(&b.d, at);

    bed_change(&b, at, clear, set);
    bed_refused(&b, &a, r, why, code);
    bed_change(&b, at, ~0ull, was);
    g_assert_cmpint(bed_ask(&b, &a), ==, UB_UMMU_OK);
    g_assert_cmphex(b.span[0].addr, ==, BED_PA);
}

#define UR UB_UMMU_UNSUPPORTED
#define RA UB_UMMU_ABORT

/* 1 to 3: TECTE. */
static void test_tecte(void)
{
    UbUmmuConfig cfg;

    bed_open(&b, NULL);
    refused_with(b.d.tect, UBM_TECTE_V, 0, UR, 1, UBM_EVT_BAD_TECTE);
    for (unsigned mode = 0; mode <= 4; mode++) {
        refused_with(b.d.tect, UBM_TECTE_ST_MODE, mode << 1, UR, 2, 0);
    }
    refused_with(b.d.tect + 8, 0, 2ull << 52, UR, UBM_WHY_TECTE_FIELD,
                 UBM_EVT_BAD_TECTE);
    refused_with(b.d.tect + 8, 0, 1ull << 51, UR, UBM_WHY_TECTE_FIELD,
                 UBM_EVT_BAD_TECTE);
    bed_free(&b);
    ub_ummu_config_init(&cfg);
    cfg.stage2 = false;
    bed_open(&b, &cfg);
    refused_with(b.d.tect, 0, 7 << 1, UR, 3, UBM_EVT_BAD_TECTE);
    g_assert_false(ub_ummu_reg_read(b.u, UBM_CAP(2)) & UBM_CAP2_S2);
    bed_free(&b);
}

/* 4 to 6: TokenID. */
static void test_token_id(void)
{
    UbUmmuAccess a = rd8();
    uint64_t l1, tct;

    bed_open(&b, NULL);
    refused_with(b.d.tect + 8, UBM_TECTE_TCT_NUM, 0, UR, 4, UBM_EVT_BAD_TOKEN);
    refused_with(b.d.tect + 8, UBM_TECTE_TCT_NUM, 2, UR, 5, UBM_EVT_BAD_TOKEN);
    /* No TokenID has more bits. */
    for (unsigned num = 21; num < 32; num++) {
        refused_with(b.d.tect + 8, UBM_TECTE_TCT_NUM, num, UR,
                     UBM_WHY_TECTE_FIELD, UBM_EVT_BAD_TECTE);
    }
    bed_change(&b, b.d.tect + 8, UBM_TECTE_TCT_NUM, 20);
    g_assert_cmpint(bed_read(&b, BED_UBA), ==, UB_UMMU_OK);
    bed_change(&b, b.d.tect + 8, UBM_TECTE_TCT_NUM, 8);
    a.token_id = 256;
    bed_refused(&b, &a, UR, 5, UBM_EVT_BAD_TOKEN);
    /* Two levels: TokenID 5 + 64 is entry 5 behind the second pointer. */
    l1 = ubm_alloc(&b.d, 4096, 4096);
    tct = ubm_alloc(&b.d, 4096, 4096);
    memcpy(b.ram + tct + BED_TOKEN * UBM_TCTE,
           b.ram + bed_tcte(&b, BED_TOKEN), UBM_TCTE);
    bed_change(&b, b.d.tect + 8, UBM_TECTE_TCT_PTR, l1 | 1ull << 52);
    a.token_id = BED_TOKEN + 64;
    bed_refused(&b, &a, UR, 6, UBM_EVT_BAD_TOKEN);
    bed_change(&b, l1 + 8, 0, tct | UBM_TCT_L1_V);
    g_assert_cmpint(bed_ask(&b, &a), ==, UB_UMMU_OK);
    a.token_id = BED_TOKEN;
    bed_refused(&b, &a, UR, 6, UBM_EVT_BAD_TOKEN);
    /* Beyond addresses, and beyond memory. */
    a.token_id = BED_TOKEN + 64;
    bed_change(&b, l1 + 8, 0, 1ull << 50);
    bed_refused(&b, &a, UR, UBM_WHY_TCTE_FIELD, UBM_EVT_BAD_TCTE);
    bed_change(&b, l1 + 8, ~0ull, 1ull << 47 | UBM_TCT_L1_V);
    bed_refused(&b, &a, RA, UBM_WHY_TCT_FETCH, UBM_EVT_TCT_FETCH);
    bed_free(&b);
}

/* 7 to 9: TCTE. */
static void test_tcte(void)
{
    uint64_t at;

    bed_open(&b, NULL);
    at = bed_tcte(&b, BED_TOKEN);
    refused_with(at, UBM_TCTE_V, 0, UR, 7, UBM_EVT_BAD_TCTE);
    refused_with(at, 0, UBM_TCTE_FBS, UR, 8, UBM_EVT_BAD_TCTE);
    bed_change(&b, b.d.tect + 8, 0, UBM_TECTE_TCT_STALL_EN);
    bed_change(&b, at, 0, UBM_TCTE_FBS);
    g_assert_cmpint(bed_read(&b, BED_UBA), ==, UB_UMMU_OK);
    bed_change(&b, at, UBM_TCTE_FBS, 0);
    refused_with(at + 24, 0, 1ull << 47, RA, UBM_WHY_MAPT_WALK,
                 UBM_EVT_MAPT_WALK);
    bed_change(&b, at, UBM_TCTE_GPAS, 0);
    refused_with(at + 24, 0, 1ull << 32, UR, 9, UBM_EVT_MAPT_CONFIG);
    bed_change(&b, at, 0, 4ull << 3);
    refused_with(at + 24, 0, 1ull << 44, UR, 9, UBM_EVT_MAPT_CONFIG);
    refused_with(at, 0, 6 << 3, UR, UBM_WHY_TCTE_FIELD, UBM_EVT_BAD_TCTE);
    refused_with(at, 0, 7 << 3, UR, UBM_WHY_TCTE_FIELD, UBM_EVT_BAD_TCTE);
    refused_with(at, 0, UBM_TCTE_MAC_EN, UR, UBM_WHY_TCTE_FIELD,
                 UBM_EVT_BAD_TCTE);
    refused_with(at, 0, UBM_TCTE_HDF, UR, UBM_WHY_TCTE_FIELD,
                 UBM_EVT_BAD_TCTE);
    refused_with(at + 8, 0x3f, 15, UR, UBM_WHY_TCTE_FIELD, UBM_EVT_BAD_TCTE);
    refused_with(at + 8, 0x3f, 40, UR, UBM_WHY_TCTE_FIELD, UBM_EVT_BAD_TCTE);
    refused_with(at + 8, 0, UBM_TCTE_TGS, UR, UBM_WHY_TCTE_FIELD,
                 UBM_EVT_BAD_TCTE);
    refused_with(at, 0, UBM_TCTE_MAPT_MODE, UR, UBM_WHY_MAPT_FIELD,
                 UBM_EVT_MAPT_CONFIG);
    refused_with(at, 0, UBM_TCTE_MAPT_MODE | 3 << 17, UR, UBM_WHY_MAPT_FIELD,
                 UBM_EVT_MAPT_CONFIG);
    bed_free(&b);
}

/* 10 and 19: E_Bit (tables 9-7, 9-8). */
static void test_e_bit(void)
{
    UbUmmuAccess a = rd8();
    uint64_t tcte, mapte;

    bed_open(&b, NULL);
    tcte = bed_tcte(&b, BED_TOKEN);
    mapte = ubm_word(&b.d, tcte + 24) & UBM_TCTE_MAPT_BBA;
    for (unsigned i = 0; i < 8; i++) {
        bool in_tcte = i & 1, in_mapte = i & 2;

        a.e_bit = i & 4;
        bed_change(&b, tcte, UBM_TCTE_E_BIT, in_tcte ? UBM_TCTE_E_BIT : 0);
        bed_change(&b, mapte, UBM_MAPTE_E_BIT, in_mapte ? UBM_MAPTE_E_BIT : 0);
        if (!a.e_bit && in_tcte) {
            bed_refused(&b, &a, UR, 10, UBM_EVT_E_BIT);
        } else if (!a.e_bit && in_mapte) {
            bed_refused(&b, &a, UR, 19, UBM_EVT_E_BIT);
        } else {
            g_assert_cmpint(bed_ask(&b, &a), ==, UB_UMMU_OK);
        }
    }
    a.e_bit = false;
    /* The TCTE's counts without a permission table, the table's does not. */
    bed_change(&b, tcte, UBM_TCTE_MAPT_EN, UBM_TCTE_E_BIT);
    bed_change(&b, mapte, 0, UBM_MAPTE_E_BIT);
    bed_refused(&b, &a, UR, 10, UBM_EVT_E_BIT);
    bed_change(&b, tcte, UBM_TCTE_E_BIT, 0);
    g_assert_cmpint(bed_ask(&b, &a), ==, UB_UMMU_OK);
    bed_free(&b);
}

/* 11 to 15: translation. */
static void test_translation(void)
{
    UbUmmuAccess a = rd8();
    uint64_t tcte, leaf, desc;

    bed_open(&b, NULL);
    tcte = bed_tcte(&b, BED_TOKEN);
    leaf = ubm_desc(&b.d, ubm_word(&b.d, tcte + 16), BED_UBA, 3);
    desc = ubm_word(&b.d, leaf);
    refused_with(tcte + 8, 0, UBM_TCTE_MATTWD, RA, 11, UBM_EVT_TRANSLATION);
    bed_change(&b, tcte, UBM_TCTE_GPAS, 0);
    refused_with(leaf, 0, 1ull << 32, RA, 12, UBM_EVT_SIZE);
    bed_change(&b, tcte, 0, 5 << 3);
    refused_with(leaf, UBM_PTE_AF, 0, RA, 13, UBM_EVT_ACCESS_FLAG);
    refused_with(leaf, UBM_PTE_VALID, 0, RA, 14, UBM_EVT_TRANSLATION);
    refused_with(leaf, UBM_PTE_TABLE, 0, RA, 14, UBM_EVT_TRANSLATION);
    /* Faults leave an event with FBR only. */
    bed_change(&b, tcte, UBM_TCTE_FBR, 0);
    refused_with(leaf, UBM_PTE_AF, 0, RA, 13, 0);
    refused_with(leaf, UBM_PTE_VALID, 0, RA, 14, 0);
    bed_change(&b, tcte, 0, UBM_TCTE_AFFD);
    bed_change(&b, leaf, UBM_PTE_AF, 0);
    g_assert_cmpint(bed_read(&b, BED_UBA), ==, UB_UMMU_OK);
    bed_change(&b, leaf, ~0ull, desc | UBM_PTE_READONLY);
    a.kind = UB_UMMU_WRITE;
    bed_refused(&b, &a, UR, 15, UBM_EVT_PERMISSION);
    a.kind = UB_UMMU_ATOMIC;
    bed_refused(&b, &a, UR, 15, UBM_EVT_PERMISSION);
    g_assert_cmpint(bed_read(&b, BED_UBA), ==, UB_UMMU_OK);
    /* Unprivileged requests need the bit of users. */
    bed_change(&b, leaf, UBM_PTE_USER, 0);
    g_assert_cmpint(bed_read(&b, BED_UBA), ==, UB_UMMU_OK);
    refused_with(b.d.tect, UBM_TECTE_PRIV_SEL, 0, UR, 15, UBM_EVT_PERMISSION);
    refused_with(b.d.tect, UBM_TECTE_PRIV_SEL, 2 << 15, UR, 15,
                 UBM_EVT_PERMISSION);
    bed_free(&b);
}

/* 16 to 20: permission. */
static void test_permission(void)
{
    static const uint32_t right[] = { UBM_MAPTE_READ, UBM_MAPTE_WRITE,
                                      UBM_MAPTE_ATOMIC };
    UbUmmuAccess a = rd8();
    uint64_t mapte;

    bed_open(&b, NULL);
    mapte = ubm_word(&b.d, bed_tcte(&b, BED_TOKEN) + 24);
    refused_with(mapte, UBM_MAPTE_V, 0, UR, 16, UBM_EVT_MAPT);
    refused_with(mapte + 8, 0, 8, UR, 17, UBM_EVT_MAPT);
    /* The last byte counts too. */
    bed_change(&b, mapte + 16, ~0ull, BED_UBA + 7);
    g_assert_cmpint(bed_read(&b, BED_UBA), ==, UB_UMMU_OK);
    bed_change(&b, mapte + 16, ~0ull, BED_UBA + 6);
    bed_refused(&b, &a, UR, 17, UBM_EVT_MAPT);
    bed_change(&b, mapte + 16, ~0ull, BED_UBA + BED_LEN - 1);
    a.token = BED_VALUE + 1;
    bed_refused(&b, &a, UR, 18, UBM_EVT_MAPT);
    bed_change(&b, mapte + 24, 0xffffffff00000000ull,
               (uint64_t)(BED_VALUE + 1) << 32);
    g_assert_cmpint(bed_ask(&b, &a), ==, UB_UMMU_OK);
    a.token_en = false;
    bed_refused(&b, &a, UR, 18, UBM_EVT_MAPT);
    bed_change(&b, mapte + 8, 1ull << 63, 0);
    g_assert_cmpint(bed_ask(&b, &a), ==, UB_UMMU_OK);
    for (unsigned kind = 0; kind < UB_UMMU_KINDS; kind++) {
        for (unsigned granted = 0; granted < UB_UMMU_KINDS; granted++) {
            bed_change(&b, mapte, UBM_RWA, right[granted]);
            a.kind = kind;
            if (kind == granted) {
                g_assert_cmpint(bed_ask(&b, &a), ==, UB_UMMU_OK);
            } else {
                bed_refused(&b, &a, UR, 20, UBM_EVT_MAPT);
            }
        }
    }
    /* Without either enable bit nothing of it is asked. */
    bed_change(&b, b.d.tect, UBM_TECTE_MAPT_EN, 0);
    g_assert_cmpint(bed_read(&b, BED_UBA + BED_LEN - 8), ==, UB_UMMU_OK);
    bed_free(&b);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/ub/ummu/decisions/tecte", test_tecte);
    g_test_add_func("/ub/ummu/decisions/token-id", test_token_id);
    g_test_add_func("/ub/ummu/decisions/tcte", test_tcte);
    g_test_add_func("/ub/ummu/decisions/e-bit", test_e_bit);
    g_test_add_func("/ub/ummu/decisions/translation", test_translation);
    g_test_add_func("/ub/ummu/decisions/permission", test_permission);
    return g_test_run();
}
