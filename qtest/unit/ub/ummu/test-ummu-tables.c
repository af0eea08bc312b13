/*
 * Tables of the UMMU: known answers, permission tables, flags that it writes,
 * stage 2, the two sides of the TEE, EIDs, monitors.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "bed.h"

#define UR UB_UMMU_UNSUPPORTED
#define RA UB_UMMU_ABORT
#define OK UB_UMMU_OK

static Bed b;

static UbUmmuAccess byte_at(unsigned kind, uint64_t addr)
{
    return bed_access(kind, addr, 1);
}

static UbUmmuResult ask(unsigned kind, uint64_t addr)
{
    UbUmmuAccess a = byte_at(kind, addr);

    return bed_ask(&b, &a);
}

/* ---- Known answers --------------------------------------------------------------- */

/* Words of entries as the document's layouts make them. */
static void test_words(void)
{
    const uint64_t tecte0 = 0x000000070009800bull;
    const uint64_t tecte1 = 0x000000045678004aull;
    const uint64_t tcte0 = 0x2b2829, tcte1 = 0x0005123400000010ull;
    const uint64_t tcte3 = 0x2000008000004001ull;

    g_assert_true(tecte0 & UBM_TECTE_V);
    g_assert_cmphex(tecte0 & UBM_TECTE_ST_MODE, ==, 5 << 1);
    g_assert_cmphex(tecte0 & UBM_TECTE_PRIV_SEL, ==, 3 << 15);
    g_assert_true(tecte0 & UBM_TECTE_MAPT_EN);
    g_assert_cmphex(tecte0 & UBM_TECTE_S2_VMID, ==, 7ull << 32);
    g_assert_cmphex(tecte1 & UBM_TECTE_TCT_PTR, ==, 0x456780040ull);
    g_assert_cmphex(tecte1 & UBM_TECTE_TCT_NUM, ==, 10);
    g_assert_cmphex(tecte1 & UBM_TECTE_TCT_FMT, ==, 0);
    g_assert_cmphex(tcte0, ==, UBM_TCTE_V | 5 << 3 | UBM_TCTE_HAF |
                    UBM_TCTE_FBR | UBM_TCTE_MAPT_MODE | 1 << 17 |
                    UBM_TCTE_MAPT_EN | UBM_TCTE_E_BIT);
    g_assert_cmphex(tcte1 & UBM_TCTE_SZ, ==, 16);
    g_assert_cmphex(tcte1 & UBM_TCTE_MTM_ID, ==, 0x1234ull << 32);
    g_assert_cmphex(tcte1 & UBM_TCTE_MTM_GP, ==, 5ull << 48);
    g_assert_cmphex(tcte3 & UBM_TCTE_MAPT_BBA, ==, 0x8000004000ull);
    g_assert_cmphex(tcte3 & UBM_TCTE_MAPT_BB_SZ, ==, 2ull << 60);
    g_assert_cmphex(0x00200005, ==, UBM_MAPTE_V | UBM_MAPTE_N | 512 << 12);
    g_assert_cmphex(0x00030000 & UBM_MAPTE_NEXT_INDEX, ==, 3 << 16);
    g_assert_cmphex(0x3b, ==, UBM_MAPTE_V | UBM_MAPTE_T | UBM_MAPTE_E_BIT |
                    UBM_MAPTE_READ | UBM_MAPTE_WRITE);
    g_assert_cmphex(0x79, ==, UBM_MAPTE_V | UBM_MAPTE_E_BIT | UBM_RWA);
    g_assert_cmphex(0x80000000, ==, UBM_MAPTE_TOKEN_CHK);
}

#define KNOWN 0x123456789abcull

/* The same words at work: literally this TECTE, TCTE and these permission entries
 * let in UBA 123456789abc by level @level and not the byte behind it. */
static void known_level(unsigned level)
{
    static const uint16_t index[] = { 0x24, 0x0d1, 0x0b3, 0x189 };
    static const uint64_t offset[] = { 0x3456789abcull, 0x16789abc, 0x189abc,
                                       0xabc };
    UbUmmuAccess a;
    uint64_t block, bt, other, tcte, at;

    bed_open(&b, NULL);
    tcte = bed_tcte(&b, BED_TOKEN);
    block = ubm_alloc(&b.d, 16 << 10, 0x4000);
    other = ubm_alloc(&b.d, 128 << 10, 0x4000);
    bt = ubm_alloc(&b.d, 4096, 4096);
    ubm_map(&b.d, BED_TOKEN, KNOWN & ~0xfffull, BED_PA, 8192, 0);
    ubm_word_put(&b.d, b.d.tect, 0x000000070009800bull);
    ubm_word_put(&b.d, tcte, 0x2b2829);
    ubm_word_put(&b.d, tcte + 8, 0x0005123400000010ull);
    ubm_word_put(&b.d, tcte + 24, 0x2000000000000001ull | block);
    ubm_word_put(&b.d, tcte + 32, bt);
    /* Block 3, whose tables are counted from entry 512 on. */
    ubm_word_put(&b.d, bt + 8 * 3, other | 5ull << 60 | 1);
    at = block + 32 * index[0];
    for (unsigned l = 0; l < level; l++) {
        put_le32(b.ram + at, l ? UBM_MAPTE_V | 512 * (l + 1) << 12 : 0x00200005);
        put_le32(b.ram + at + 4, l ? 0 : 0x00030000);
        put_le64(b.ram + at + 8, 1);        /* grants nothing: base > limit */
        at = other + 0x4000 * (l + 1) + 32 * index[l + 1];
    }
    put_le32(b.ram + at, 0x3b);
    put_le64(b.ram + at + 8, 0x8000000000000000ull | offset[level]);
    put_le64(b.ram + at + 16, offset[level]);
    put_le64(b.ram + at + 24, (uint64_t)BED_VALUE << 32);
    a = byte_at(UB_UMMU_READ, KNOWN);
    a.e_bit = true;
    g_assert_cmpint(bed_ask(&b, &a), ==, OK);
    g_assert_cmphex(b.span[0].addr, ==, BED_PA + 0xabc);
    a.kind = UB_UMMU_ATOMIC;
    bed_refused(&b, &a, UR, 20, UBM_EVT_MAPT);
    a.kind = UB_UMMU_READ;
    a.addr++;
    bed_refused(&b, &a, UR, 17, UBM_EVT_MAPT);
    a.addr -= 2;
    bed_refused(&b, &a, UR, 17, UBM_EVT_MAPT);
    a.addr++;
    a.e_bit = false;
    bed_refused(&b, &a, UR, 10, UBM_EVT_E_BIT);
    bed_change(&b, tcte, UBM_TCTE_E_BIT, 0);
    bed_refused(&b, &a, UR, 19, UBM_EVT_E_BIT);
    bed_free(&b);
}

static void test_known(void)
{
    for (unsigned level = 0; level < 4; level++) {
        known_level(level);
    }
}

/* ---- Permission tables ------------------------------------------------------------ */

/* base - 1, base, limit, limit + 1, of a single entry. */
static void test_boundaries(void)
{
    uint64_t at;

    bed_open(&b, NULL);
    at = ubm_single(&b.d, BED_TOKEN, UBM_MAPTE_V | UBM_RWA, BED_UBA + 100,
                    BED_UBA + 199, BED_VALUE);
    ub_ummu_turn(b.u);
    g_assert_cmpint(ask(UB_UMMU_WRITE, BED_UBA + 99), ==, UR);
    g_assert_cmpint(ask(UB_UMMU_WRITE, BED_UBA + 100), ==, OK);
    g_assert_cmpint(ask(UB_UMMU_WRITE, BED_UBA + 199), ==, OK);
    g_assert_cmpint(ask(UB_UMMU_WRITE, BED_UBA + 200), ==, UR);
    /* T is of multi-level tables. */
    bed_change(&b, at, 0, UBM_MAPTE_T);
    g_assert_cmpint(ask(UB_UMMU_WRITE, BED_UBA + 150), ==, OK);
    bed_free(&b);
}

/* A range of a level goes before T and what is below; the next levels fill what
 * it leaves.  An access over several ranges is split at their ends. */
static void test_priority(void)
{
    UbUmmuAccess a;
    UbmMapt m;
    uint64_t l2, l3;

    bed_open(&b, NULL);
    ubm_multi(&m, &b.d, BED_TOKEN, 1, 4);
    l3 = ubm_multi_entry(&m, BED_UBA, 3);
    l2 = ubm_multi_entry(&m, BED_UBA, 2);
    ubm_mapte(&b.d, l3, UBM_MAPTE_V | UBM_MAPTE_READ, 0, 99, BED_VALUE + 1);
    ubm_mapte(&b.d, l3 + 32, UBM_MAPTE_V | UBM_MAPTE_READ, 0, 4095, BED_VALUE);
    put_le64(b.ram + l2 + 8, 1ull << 63 | 100);
    put_le64(b.ram + l2 + 16, 4095);
    put_le32(b.ram + l2 + 24, BED_VALUE);
    bed_change(&b, l2, 0, UBM_MAPTE_READ);
    a = bed_access(UB_UMMU_READ, BED_UBA + 4000, 200);
    g_assert_cmpint(bed_ask(&b, &a), ==, OK);
    g_assert_cmpuint(b.spans, ==, 1);
    a.addr = BED_UBA + 90;
    bed_refused(&b, &a, UR, 18, UBM_EVT_MAPT);
    a.token = BED_VALUE + 1;
    a.len = 10;
    g_assert_cmpint(bed_ask(&b, &a), ==, OK);
    a.len = 11;
    bed_refused(&b, &a, UR, 18, UBM_EVT_MAPT);
    bed_change(&b, l2, 0, UBM_MAPTE_T);
    a.len = 10;
    bed_refused(&b, &a, UR, 17, UBM_EVT_MAPT);
    bed_free(&b);
}

/* Nothing outside of a block is read: tables that do not fit, blocks that are not
 * valid or not in the table. */
static void test_blocks(void)
{
    UbUmmuAccess a = byte_at(UB_UMMU_READ, BED_UBA);
    uint64_t tcte, l0, bt;
    UbmMapt m;

    bed_open(&b, NULL);
    tcte = bed_tcte(&b, BED_TOKEN);
    ubm_multi(&m, &b.d, BED_TOKEN, 1, 4);
    ubm_mapte(&b.d, ubm_multi_entry(&m, BED_UBA, 3), UBM_MAPTE_V | UBM_RWA, 0,
              4095, 0);
    ub_ummu_turn(b.u);
    g_assert_cmpint(ask(UB_UMMU_READ, BED_UBA), ==, OK);
    l0 = ubm_multi_entry(&m, BED_UBA, 0);
    /* Four tables need 64 KiB; 4 KiB hold 128 entries of the first. */
    bed_change(&b, tcte + 24, UBM_TCTE_MAPT_BB_SZ, 3ull << 60);
    bed_refused(&b, &a, UR, UBM_WHY_MAPT_BLOCK, UBM_EVT_MAPT_CONFIG);
    bed_change(&b, tcte + 24, 0, 4ull << 60);
    /* Block 511 is the last of 4 KiB. */
    bt = ubm_alloc(&b.d, 8192, 4096);
    bed_change(&b, tcte + 32, 0, bt);
    put_le32(b.ram + l0 + 4, 511 << 16);
    bed_change(&b, l0, 0, UBM_MAPTE_N);
    bed_refused(&b, &a, UR, UBM_WHY_MAPT_BLOCK, UBM_EVT_MAPT_CONFIG);
    bed_change(&b, bt + 8 * 511, 0, m.block | 4ull << 60 | UBM_BTE_V);
    g_assert_cmpint(ask(UB_UMMU_READ, BED_UBA), ==, OK);
    ubm_word_put(&b.d, bt + 8 * 512, m.block | 4ull << 60 | UBM_BTE_V);
    put_le32(b.ram + l0 + 4, 512 << 16);
    ub_ummu_turn(b.u);
    bed_refused(&b, &a, UR, UBM_WHY_MAPT_BLOCK, UBM_EVT_MAPT_CONFIG);
    bed_change(&b, tcte + 32, 0, 1ull << 60);
    g_assert_cmpint(ask(UB_UMMU_READ, BED_UBA), ==, OK);
    /* A table of itself ends at the last level. */
    put_le32(b.ram + l0, UBM_MAPTE_V);
    put_le32(b.ram + l0 + 4, 0);
    ub_ummu_turn(b.u);
    a.addr = 0;
    ubm_map(&b.d, BED_TOKEN, 0, BED_PA, 4096, 0);
    bed_refused(&b, &a, UR, 17, UBM_EVT_MAPT);
    bed_free(&b);
}

/* 2 MiB: three levels, and the third has no next one. */
static void test_2m(void)
{
    UbmMapt m;
    uint64_t at;

    bed_open(&b, NULL);
    ubm_multi(&m, &b.d, BED_TOKEN, 2, 4);
    at = ubm_multi_entry(&m, BED_UBA, 2);
    ubm_mapte(&b.d, at, UBM_MAPTE_V | UBM_RWA, 0x1000, 0x1fff, 0);
    ub_ummu_turn(b.u);
    g_assert_cmpint(ask(UB_UMMU_READ, BED_UBA + 0x1000), ==, OK);
    g_assert_cmpint(ask(UB_UMMU_READ, BED_UBA + 0x1fff), ==, OK);
    g_assert_cmpint(ask(UB_UMMU_READ, BED_UBA + 0xfff), ==, UR);
    g_assert_cmpuint(b.a.why, ==, 17);
    bed_free(&b);
}

/* What public software writes: an entry without T whose range is the byte fff,
 * with no rights, grants nothing and hides nothing. */
static void test_lenient(void)
{
    for (unsigned lenient = 0; lenient < 2; lenient++) {
        UbUmmuConfig cfg;
        uint64_t l2;
        UbmMapt m;

        ub_ummu_config_init(&cfg);
        cfg.lenient = lenient;
        bed_open(&b, &cfg);
        ubm_multi(&m, &b.d, BED_TOKEN, 1, 4);
        ubm_mapte(&b.d, ubm_multi_entry(&m, BED_UBA, 3),
                  UBM_MAPTE_V | UBM_RWA, 0, 4095, 0);
        l2 = ubm_multi_entry(&m, BED_UBA, 2);
        put_le64(b.ram + l2 + 8, 0xfff);
        put_le64(b.ram + l2 + 16, 0xfff);
        ub_ummu_turn(b.u);
        g_assert_cmpint(ask(UB_UMMU_READ, BED_UBA + 0xfff), ==,
                        lenient ? OK : UR);
        g_assert_cmpint(ask(UB_UMMU_READ, BED_UBA + 0xffe), ==, OK);
        /* ST_MODE 4: as it is. */
        bed_change(&b, b.d.tect, UBM_TECTE_ST_MODE, 4 << 1);
        g_assert_cmpint(ask(UB_UMMU_READ, 0x3000), ==, lenient ? OK : UR);
        g_assert_cmphex(lenient ? b.span[0].addr : 0x3000, ==, 0x3000);
        bed_change(&b, b.d.tect, UBM_TECTE_ST_MODE, 5 << 1);
        /* TCT_STALL_EN the other way round. */
        bed_change(&b, bed_tcte(&b, BED_TOKEN), 0, UBM_TCTE_FBS);
        g_assert_cmpint(ask(UB_UMMU_READ, BED_UBA), ==, lenient ? OK : UR);
        bed_change(&b, b.d.tect + 8, 0, UBM_TECTE_TCT_STALL_EN);
        g_assert_cmpint(ask(UB_UMMU_READ, BED_UBA), ==, lenient ? UR : OK);
        bed_free(&b);
    }
}

/* ---- Translation -------------------------------------------------------------------- */

/* Blocks of 2 MiB and 1 GiB. */
static void test_large(void)
{
    uint64_t root;

    bed_open(&b, NULL);
    root = ubm_word(&b.d, bed_tcte(&b, BED_TOKEN) + 16);
    bed_change(&b, bed_tcte(&b, BED_TOKEN), UBM_TCTE_MAPT_EN, 0);
    ubm_word_put(&b.d, ubm_desc(&b.d, root, 0x40000000, 2),
                 0x2200000 | 1 | UBM_PTE_AF | UBM_PTE_USER);
    ubm_word_put(&b.d, ubm_desc(&b.d, root, 0x80000000, 1),
                 0x40000000 | 1 | UBM_PTE_AF | UBM_PTE_USER);
    ubm_word_put(&b.d, ubm_desc(&b.d, root, 0x8000000000ull, 0),
                 0x40000000 | 1 | UBM_PTE_AF | UBM_PTE_USER);
    g_assert_cmpint(ask(UB_UMMU_WRITE, 0x401fffff), ==, OK);
    g_assert_cmphex(b.span[0].addr, ==, 0x23fffff);
    g_assert_cmpint(ask(UB_UMMU_WRITE, 0x92345678), ==, OK);
    g_assert_cmphex(b.span[0].addr, ==, 0x52345678);
    g_assert_cmpint(ask(UB_UMMU_WRITE, 0x8000000000ull), ==, RA);
    /* Rights of the tables above. */
    bed_change(&b, ubm_desc(&b.d, root, 0x40000000, 1), 0,
               UBM_PTE_TABLE_READONLY);
    g_assert_cmpint(ask(UB_UMMU_WRITE, 0x40000000), ==, UR);
    g_assert_cmpint(ask(UB_UMMU_READ, 0x40000000), ==, OK);
    bed_change(&b, ubm_desc(&b.d, root, 0x40000000, 0), 0,
               UBM_PTE_TABLE_NOUSER);
    g_assert_cmpint(ask(UB_UMMU_READ, 0x40000000), ==, OK);
    bed_change(&b, b.d.tect, UBM_TECTE_PRIV_SEL, 0);
    g_assert_cmpint(ask(UB_UMMU_READ, 0x40000000), ==, UR);
    bed_free(&b);
}

/* HAF sets the access flag, HDF makes what is DBM writable; a probe does not. */
static void test_flags(void)
{
    for (unsigned big = 0; big < 2; big++) {
        UbUmmuAccess a = byte_at(UB_UMMU_READ, BED_UBA);
        UbUmmuSpan span[4];
        uint64_t tcte, leaf, desc;
        unsigned n;

        bed_open(&b, NULL);
        tcte = bed_tcte(&b, BED_TOKEN);
        leaf = ubm_desc(&b.d, ubm_word(&b.d, tcte + 16), BED_UBA, 3);
        desc = BED_PA | 3 | UBM_PTE_USER | UBM_PTE_READONLY | UBM_PTE_DBM;
        bed_change(&b, tcte, UBM_TCTE_MAPT_EN, UBM_TCTE_HAF | UBM_TCTE_HDF);
        if (big) {
            /* All of its tables, in the other order. */
            for (unsigned l = 0; l < 3; l++) {
                uint64_t at = ubm_desc(&b.d, ubm_word(&b.d, tcte + 16),
                                       BED_UBA, 2 - l);

                put_be64(b.ram + at, get_le64(b.ram + at));
            }
            put_be64(b.ram + leaf, desc);
            bed_change(&b, tcte, 0, UBM_TCTE_ENDI);
        } else {
            put_le64(b.ram + leaf, desc);
        }
        ub_ummu_turn(b.u);
        g_assert_cmpint(ub_ummu_probe(b.u, &a, span, 4, &n), ==, OK);
        g_assert_cmphex(big ? get_be64(b.ram + leaf) : get_le64(b.ram + leaf),
                        ==, desc);
        g_assert_cmpint(bed_ask(&b, &a), ==, OK);
        g_assert_cmphex(big ? get_be64(b.ram + leaf) : get_le64(b.ram + leaf),
                        ==, desc | UBM_PTE_AF);
        /* What is remembered of the read does not hide the first write. */
        a.kind = UB_UMMU_WRITE;
        g_assert_cmpint(bed_ask(&b, &a), ==, OK);
        g_assert_cmphex(big ? get_be64(b.ram + leaf) : get_le64(b.ram + leaf),
                        ==, (desc | UBM_PTE_AF) & ~UBM_PTE_READONLY);
        /* Without DBM it stays read-only. */
        desc = (desc | UBM_PTE_AF) & ~UBM_PTE_DBM;
        put_le64(b.ram + leaf, big ? GUINT64_SWAP_LE_BE(desc) : desc);
        ub_ummu_turn(b.u);
        g_assert_cmpint(bed_ask(&b, &a), ==, UR);
        g_assert_cmpuint(b.a.why, ==, 15);
        bed_free(&b);
    }
}

/* Stage 2 alone and under stage 1; whose fault it was is in the event. */
static void test_stage2(void)
{
    UbUmmuAccess a = byte_at(UB_UMMU_READ, BED_UBA);
    uint64_t root, l2, moved;
    const uint8_t *e;

    bed_open(&b, NULL);
    root = ubm_alloc(&b.d, 4096, 4096);
    l2 = ubm_alloc(&b.d, 4096, 4096);
    ubm_word_put(&b.d, b.d.tect + 16, 25 | 1 << 6 | 5 << 12 |
                 UBM_TECTE_S2_FBR);
    ubm_word_put(&b.d, b.d.tect + 24, root);
    ubm_word_put(&b.d, root, l2 | 3);
    for (unsigned i = 0; i < 32; i++) {
        ubm_word_put(&b.d, l2 + 8 * i, (uint64_t)i << 21 | 1 | UBM_PTE_AF |
                     UBM_PTE_S2_READ | UBM_PTE_S2_WRITE);
    }
    /* The data's IPAs are 2 MiB beside their memory. */
    moved = l2 + 8 * (BED_PA >> 21);
    ubm_word_put(&b.d, moved, (BED_PA + 0x200000) | 1 | UBM_PTE_AF |
                 UBM_PTE_S2_READ);
    bed_change(&b, b.d.tect, 0, 7 << 1);
    g_assert_cmpint(bed_ask(&b, &a), ==, OK);
    g_assert_cmphex(b.span[0].addr, ==, BED_PA + 0x200000);
    a.kind = UB_UMMU_WRITE;
    bed_refused(&b, &a, UR, 15, UBM_EVT_PERMISSION);
    a.kind = UB_UMMU_READ;
    bed_change(&b, moved, UBM_PTE_VALID, 0);
    g_assert_cmpint(bed_ask(&b, &a), ==, RA);
    e = ubm_event(&b.d);
    g_assert_true(get_le64(e) & UBM_EVT_S2);
    g_assert_cmphex(get_le64(e) & UBM_EVT_CLASS, ==, 2 << 14);
    g_assert_cmphex(get_le64(e + 16), ==, BED_PA);
    g_assert_cmphex(get_le64(e + UBM_EVT_ADDR), ==, BED_UBA);
    /* A table of stage 1, then the TCT, behind a hole of stage 2. */
    bed_change(&b, moved, 0, UBM_PTE_VALID);
    bed_change(&b, bed_tcte(&b, BED_TOKEN) + 16, ~0ull, 40ull << 21);
    g_assert_cmpint(bed_ask(&b, &a), ==, RA);
    e = ubm_event(&b.d);
    g_assert_cmphex(get_le64(e) & UBM_EVT_CLASS, ==, 1 << 14);
    bed_change(&b, b.d.tect + 8, UBM_TECTE_TCT_PTR, 40ull << 21);
    g_assert_cmpint(bed_ask(&b, &a), ==, RA);
    e = ubm_event(&b.d);
    g_assert_cmphex(get_le64(e) & UBM_EVT_CLASS, ==, 0);
    /* Stage 2 alone: no TokenID, no permission table, no E_Bit. */
    bed_change(&b, b.d.tect, UBM_TECTE_ST_MODE, 6 << 1);
    a.token_id = 0xfffff;
    a.token_en = false;
    a.addr = BED_PA + 5;
    g_assert_cmpint(bed_ask(&b, &a), ==, OK);
    g_assert_cmphex(b.span[0].addr, ==, BED_PA + 0x200005);
    bed_free(&b);
}

#define NESTED_IPA (48ull << 21)  /* where the guest sees its permission tables … */
#define NESTED_PA (28ull << 21)   /* … and where they are */

/* Stage 2 for all of memory, 2 MiB each, where it is; behind NESTED_IPA what is at
 * NESTED_PA.  Where the descriptor of that is. */
static uint64_t nested_make(unsigned mode)
{
    uint64_t root = ubm_alloc(&b.d, 4096, 4096);
    uint64_t l2 = ubm_alloc(&b.d, 4096, 4096);

    ubm_word_put(&b.d, b.d.tect + 16, 25 | 1 << 6 | 5 << 12 |
                 UBM_TECTE_S2_FBR);
    ubm_word_put(&b.d, b.d.tect + 24, root);
    ubm_word_put(&b.d, root, l2 | 3);
    for (unsigned i = 0; i < 32; i++) {
        ubm_word_put(&b.d, l2 + 8 * i, (uint64_t)i << 21 | 1 | UBM_PTE_AF |
                     UBM_PTE_S2_READ | UBM_PTE_S2_WRITE);
    }
    ubm_word_put(&b.d, l2 + 8 * 48, NESTED_PA | 1 | UBM_PTE_AF |
                 UBM_PTE_S2_READ);
    bed_change(&b, b.d.tect, UBM_TECTE_ST_MODE, mode << 1);
    return l2 + 8 * 48;
}

/* Permission tables of a nested world are where stage 2 says, all of them: base
 * block, block table, other blocks; and their holes are faults of stage 2. */
static void nested_mapt(bool multi)
{
    UbUmmuAccess a = byte_at(UB_UMMU_READ, BED_UBA);
    uint64_t tcte, s2, at = NESTED_PA, bt = 0;
    const uint8_t *e;

    bed_open(&b, NULL);
    tcte = bed_tcte(&b, BED_TOKEN);
    s2 = nested_make(7);
    ubm_word_put(&b.d, tcte + 24, NESTED_IPA | 5ull << 60);
    if (multi) {
        bt = NESTED_PA + 0x40000;
        bed_change(&b, tcte, 0, UBM_TCTE_MAPT_MODE | 1 << 17);
        ubm_word_put(&b.d, tcte + 32, NESTED_IPA + 0x40000);
        ubm_word_put(&b.d, bt + 8 * 3, (NESTED_IPA + 0x80000) | 5ull << 60 |
                     UBM_BTE_V);
        ubm_mapte(&b.d, at, UBM_MAPTE_V | UBM_MAPTE_N, 1, 0, 0);
        put_le32(b.ram + at + 4, 3 << 16);
        at = NESTED_PA + 0x80000 + UBM_MAPTE * (BED_UBA >> 30 & 511);
        ubm_mapte(&b.d, at, UBM_MAPTE_V | UBM_MAPTE_T | UBM_RWA, 0, BED_UBA + 9,
                  BED_VALUE);
    } else {
        ubm_mapte(&b.d, at, UBM_MAPTE_V | UBM_RWA, BED_UBA, BED_UBA + 9,
                  BED_VALUE);
    }
    ub_ummu_turn(b.u);
    g_assert_cmpint(bed_ask(&b, &a), ==, OK);
    g_assert_cmphex(b.span[0].addr, ==, BED_PA);
    a.addr += 10;
    g_assert_cmpint(bed_ask(&b, &a), ==, UR);
    g_assert_cmpuint(b.a.why, ==, 17);
    e = ubm_event(&b.d);
    g_assert_cmphex(get_le64(e + UBM_EVT_FETCH), ==, at);
    g_assert_false(get_le64(e) & UBM_EVT_S2);
    a.addr -= 10;
    bed_change(&b, s2, UBM_PTE_VALID, 0);
    g_assert_cmpint(bed_ask(&b, &a), ==, RA);
    g_assert_cmpuint(b.a.why, ==, 14);
    g_assert_true(b.a.s2);
    e = ubm_event(&b.d);
    g_assert_true(get_le64(e) & UBM_EVT_S2);
    g_assert_cmphex(get_le64(e) & UBM_EVT_CLASS, ==, 3 << 14);
    g_assert_cmphex(get_le64(e + 16), ==, NESTED_IPA);
    g_assert_cmphex(get_le64(e + UBM_EVT_ADDR), ==, BED_UBA);
    bed_change(&b, s2, UBM_PTE_S2_READ, UBM_PTE_VALID);
    g_assert_cmpint(bed_ask(&b, &a), ==, UR);
    g_assert_cmpuint(b.a.why, ==, 15);
    e = ubm_event(&b.d);
    g_assert_cmphex(get_le64(e) & UBM_EVT_CLASS, ==, 3 << 14);
    bed_change(&b, s2, 0, UBM_PTE_S2_READ);
    if (multi) {
        /* The block table's own hole. */
        bed_change(&b, tcte + 32, ~0ull, 47ull << 21);
        g_assert_cmpint(bed_ask(&b, &a), ==, RA);
        g_assert_cmphex(get_le64(ubm_event(&b.d) + 16), ==, 47ull << 21);
    }
    bed_free(&b);
}

static void test_nested_mapt(void)
{
    UbUmmuAccess a = byte_at(UB_UMMU_READ, BED_UBA);
    UbUmmuConfig cfg;

    nested_mapt(false);
    nested_mapt(true);
    /* By the option their addresses are physical. */
    ub_ummu_config_init(&cfg);
    cfg.mapt_physical = true;
    bed_open(&b, &cfg);
    nested_make(7);
    ubm_word_put(&b.d, bed_tcte(&b, BED_TOKEN) + 24, NESTED_PA);
    ubm_mapte(&b.d, NESTED_PA, UBM_MAPTE_V | UBM_RWA, 0, UINT32_MAX, BED_VALUE);
    ub_ummu_turn(b.u);
    g_assert_cmpint(bed_ask(&b, &a), ==, OK);
    bed_change(&b, bed_tcte(&b, BED_TOKEN) + 24, ~0ull, NESTED_IPA);
    bed_refused(&b, &a, RA, UBM_WHY_MAPT_WALK, UBM_EVT_MAPT_WALK);
    bed_free(&b);
}

/* A right that is missing is told as of the stage that does not give it, whether
 * tables were read or what is cached says so. */
static void test_stage_cached(void)
{
    for (unsigned s1 = 0; s1 < 2; s1++) {
        for (unsigned cached = 0; cached < 2; cached++) {
            UbUmmuAccess a = byte_at(UB_UMMU_READ, BED_UBA + 0x1234);
            uint64_t root, s2;
            const uint8_t *e;
            UbUmmuConfig cfg;

            ub_ummu_config_init(&cfg);
            cfg.strict = true;
            bed_open(&b, &cfg);
            s2 = nested_make(7) + 8 * ((BED_PA >> 21) - 48);
            root = ubm_word(&b.d, bed_tcte(&b, BED_TOKEN) + 16);
            if (s1) {
                bed_change(&b, ubm_desc(&b.d, root, BED_UBA + 0x1000, 3), 0,
                           UBM_PTE_READONLY);
            } else {
                bed_change(&b, s2, UBM_PTE_S2_WRITE, 0);
            }
            if (cached) {
                g_assert_cmpint(bed_ask(&b, &a), ==, OK);
            }
            for (a.kind = UB_UMMU_WRITE; a.kind <= UB_UMMU_ATOMIC; a.kind++) {
                g_assert_cmpint(bed_ask(&b, &a), ==, UR);
                g_assert_cmpuint(b.a.why, ==, 15);
                g_assert_cmpint(b.a.s2, ==, !s1);
                e = ubm_event(&b.d);
                g_assert_cmpint(!!(get_le64(e) & UBM_EVT_S2), ==, !s1);
                g_assert_cmphex(get_le64(e) & UBM_EVT_CLASS, ==, 2 << 14);
                g_assert_cmphex(get_le64(e + 16), ==, s1 ? 0 : BED_PA + 0x1000);
                g_assert_cmpint(!get_le64(e + UBM_EVT_FETCH), ==, cached);
            }
            g_assert_cmpuint(ub_ummu_counter(b.u, UB_UMMU_CNT_TLB_HITS), ==,
                             cached ? 2 : 0);
            bed_free(&b);
        }
    }
}

/* What there is no right for by either stage is of stage 1, which is asked first;
 * an atomic needs both rights. */
static void test_stage_order(void)
{
    UbUmmuAccess a = byte_at(UB_UMMU_WRITE, BED_UBA);
    uint64_t root, s2;
    UbUmmuConfig cfg;

    ub_ummu_config_init(&cfg);
    cfg.strict = true;
    bed_open(&b, &cfg);
    s2 = nested_make(7) + 8 * ((BED_PA >> 21) - 48);
    root = ubm_word(&b.d, bed_tcte(&b, BED_TOKEN) + 16);
    bed_change(&b, s2, UBM_PTE_S2_READ, 0);
    g_assert_cmpint(bed_ask(&b, &a), ==, OK);
    for (a.kind = UB_UMMU_READ; a.kind != UB_UMMU_WRITE;
         a.kind = a.kind == UB_UMMU_READ ? UB_UMMU_ATOMIC : UB_UMMU_WRITE) {
        g_assert_cmpint(bed_ask(&b, &a), ==, UR);
        g_assert_true(b.a.s2);
    }
    bed_change(&b, s2, UBM_PTE_S2_WRITE, UBM_PTE_S2_READ);
    bed_change(&b, ubm_desc(&b.d, root, BED_UBA, 3), 0, UBM_PTE_READONLY);
    ubm_command(&b.d, UBM_CMD_TLBI_NS_ALL, 0, 0, 0);
    a.kind = UB_UMMU_READ;
    g_assert_cmpint(bed_ask(&b, &a), ==, OK);
    a.kind = UB_UMMU_WRITE;
    g_assert_cmpint(bed_ask(&b, &a), ==, UR);
    g_assert_false(b.a.s2);
    bed_free(&b);
}

/* ---- Whose tables ---------------------------------------------------------------------- */

/* An address is on one side of the TEE only, and EE_bits choose the tables. */
static void test_tee(void)
{
    UbUmmuAccess a = byte_at(UB_UMMU_READ, BED_UBA);
    uint64_t tect;

    bed_open(&b, NULL);
    for (unsigned ee = 0; ee < 4; ee++) {
        a.ee = ee;
        if (ee == 1) {
            g_assert_cmpint(bed_ask(&b, &a), ==, OK);
        } else {
            bed_refused(&b, &a, UR, UBM_WHY_EE, UBM_EVT_TYPE);
        }
    }
    tect = ubm_alloc(&b.d, UBM_TECTE, 64);
    memcpy(b.ram + tect, b.ram + b.d.tect, UBM_TECTE);
    ub_ummu_reg_write(b.u, UBM_CR0, UBM_CR0_EVTQ);
    ubm_write64(&b.d, UBM_TEE_BASE, tect);
    ub_ummu_reg_write(b.u, UBM_TEE_CFG, UBM_TEE_CFG_ENABLE);
    ubm_write64(&b.d, UBM_TEE_MEM, BED_PA + 4096);
    ubm_write64(&b.d, UBM_TEE_MEM_SIZE, 4096);
    ub_ummu_reg_write(b.u, UBM_CR0, UBM_CR0_ALL);
    for (unsigned page = 0; page < 3; page++) {
        a.addr = BED_UBA + page * 4096;
        for (unsigned tee = 0; tee < 2; tee++) {
            a.ee = tee ? 3 : 1;
            if (tee == (page == 1)) {
                g_assert_cmpint(bed_ask(&b, &a), ==, OK);
            } else {
                bed_refused(&b, &a, UR, UBM_WHY_TEE_MEMORY,
                            UBM_EVT_PERMISSION);
            }
        }
    }
    /* Each side has tables of its own. */
    a.addr = BED_UBA + 4096;
    a.ee = 3;
    bed_change(&b, tect, UBM_TECTE_V, 0);
    bed_refused(&b, &a, UR, 1, UBM_EVT_BAD_TECTE);
    a.addr = BED_UBA;
    a.ee = 1;
    g_assert_cmpint(bed_ask(&b, &a), ==, OK);
    bed_free(&b);
}

/* EIDs: mapped one by one, or all to one TECTE; two-level TECT; packets without
 * EIDs have their own. */
static void test_eids(void)
{
    UbUmmuAccess a = byte_at(UB_UMMU_READ, BED_UBA);
    uint64_t l1, l2;

    bed_open(&b, NULL);
    ub_ummu_reg_write(b.u, UBM_CR1, UBM_CR1_BAD_EID);
    ub_ummu_reg_write(b.u, UBM_DEFAULT, 0);
    bed_refused(&b, &a, UR, UBM_WHY_EID, UBM_EVT_BAD_EID);
    a.bare = true;
    bed_refused(&b, &a, UR, UBM_WHY_EID, UBM_EVT_BAD_EID);
    ub_ummu_reg_write(b.u, UBM_DEFAULT, UBM_DEFAULT_BARE);
    g_assert_cmpint(bed_ask(&b, &a), ==, OK);
    a.bare = false;
    ub_ummu_reg_write(b.u, UBM_CR1, 0);
    bed_refused(&b, &a, UR, UBM_WHY_EID, 0);
    ubm_command(&b.d, UBM_CMD_MAP, 0, BED_EID_LOW, BED_EID_HIGH);
    g_assert_cmpint(bed_ask(&b, &a), ==, OK);
    a.entity = 1;
    bed_refused(&b, &a, UR, UBM_WHY_EID, 0);
    /* Tag 0x25 of a two-level table: second level 2, entry 5 of 8. */
    ubm_command(&b.d, UBM_CMD_MAP | 0x25 << 16, 0, BED_EID_LOW + 1,
                BED_EID_HIGH);
    bed_refused(&b, &a, UR, UBM_WHY_EID, 0);
    l1 = ubm_alloc(&b.d, 4096, 4096);
    l2 = ubm_alloc(&b.d, 8 * UBM_TECTE, 64);
    memcpy(b.ram + l2 + 5 * UBM_TECTE, b.ram + b.d.tect, UBM_TECTE);
    ubm_word_put(&b.d, l1 + 16, l2 | 3 << 1 | UBM_TECT_L1_V);
    ub_ummu_reg_write(b.u, UBM_CR0, UBM_CR0_EVTQ);
    ubm_write64(&b.d, UBM_TECT_BASE, l1);
    ub_ummu_reg_write(b.u, UBM_TECT_CFG, 6 | 4 << 6 | 1 << 11);
    ub_ummu_reg_write(b.u, UBM_CR0, UBM_CR0_ALL);
    g_assert_cmpint(bed_ask(&b, &a), ==, OK);
    bed_change(&b, l1 + 16, 6, 2 << 1);
    bed_refused(&b, &a, UR, UBM_WHY_EID, 0);
    bed_change(&b, l1 + 16, 1, 6);
    bed_refused(&b, &a, UR, 1, UBM_EVT_BAD_TECTE);
    ubm_command(&b.d, UBM_CMD_UNMAP, 0, BED_EID_LOW + 1, BED_EID_HIGH);
    bed_refused(&b, &a, UR, UBM_WHY_EID, 0);
    ubm_command(&b.d, UBM_CMD_UNMAP, 0, BED_EID_LOW + 1, BED_EID_HIGH);
    g_assert_cmphex(get_le64(ubm_event(&b.d)) & UBM_EVT_CODE, ==,
                    UBM_EVT_UNMAPPED);
    bed_free(&b);
}

static void test_monitors(void)
{
    UbUmmuAccess a = bed_access(UB_UMMU_READ, BED_UBA, 100);

    bed_open(&b, NULL);
    ubm_word_put(&b.d, b.d.tect + 48, 9);
    bed_change(&b, bed_tcte(&b, BED_TOKEN) + 8, 0, 200ull << 32);
    bed_ask(&b, &a);
    bed_change(&b, b.d.tect + 8, 0, UBM_TECTE_TCT_MTM_EN);
    bed_ask(&b, &a);
    bed_ask(&b, &a);
    a.token++;
    bed_ask(&b, &a);
    g_assert_cmpuint(ub_ummu_reg_read(b.u, UBM_MTM(9)), ==, 1);
    g_assert_cmpuint(ub_ummu_reg_read(b.u, UBM_MTM(9) + 8), ==, 100);
    g_assert_cmpuint(ub_ummu_reg_read(b.u, UBM_MTM(200)), ==, 2);
    g_assert_cmpuint(ub_ummu_reg_read(b.u, UBM_MTM(200) + 8), ==, 200);
    bed_free(&b);
}

/* Nothing is asked of an access of no bytes. */
static void test_empty(void)
{
    UbUmmuAccess a = bed_access(UB_UMMU_WRITE, 0x666, 0);

    bed_open(&b, NULL);
    g_assert_cmpint(bed_ask(&b, &a), ==, OK);
    g_assert_cmpuint(b.spans, ==, 0);
    bed_free(&b);
}

/* A page that software takes away while the device sets its flags stays away; and who
 * writes descriptors without end does not keep the device. */
static void test_meanwhile(void)
{
    UbUmmuAccess a = bed_access(UB_UMMU_WRITE, BED_UBA, 8);
    uint64_t at, good;

    bed_open(&b, NULL);
    bed_change(&b, bed_tcte(&b, BED_TOKEN), 0, UBM_TCTE_HAF | UBM_TCTE_HDF);
    at = ubm_desc(&b.d, ubm_word(&b.d, bed_tcte(&b, BED_TOKEN) + 16), BED_UBA,
                  3);
    good = (ubm_word(&b.d, at) & ~UBM_PTE_AF) | UBM_PTE_READONLY | UBM_PTE_DBM;
    for (unsigned n = 1; n <= 3; n++) {
        UbUmmuResult r;

        bed_change(&b, at, ~0ull, good);
        b.meanwhile.at = at;
        b.meanwhile.value = 0;
        b.meanwhile.reads = n;
        r = bed_ask(&b, &a);
        if (b.meanwhile.reads) {
            g_assert_cmpint(r, ==, UB_UMMU_OK);
            g_assert_cmphex(ubm_word(&b.d, at), ==,
                            (good | UBM_PTE_AF) & ~UBM_PTE_READONLY);
        } else {
            g_assert_cmphex(ubm_word(&b.d, at), ==, 0);
        }
        if (n == 1) {
            g_assert_cmpint(r, ==, UB_UMMU_ABORT);
            g_assert_cmpuint(b.a.why, ==, UBM_WHY_TRANSLATION);
            g_assert_nonnull(ubm_event(&b.d));
        }
    }
    b.meanwhile.reads = 0;
    b.rival = true;
    bed_change(&b, at, ~0ull, good);
    b.reads = 0;
    g_assert_cmpint(bed_ask(&b, &a), ==, UB_UMMU_ABORT);
    g_assert_cmpuint(b.a.why, ==, UBM_WHY_WALK);
    g_assert_cmpuint(b.reads, <, 64);
    b.rival = false;
    ub_ummu_turn(b.u);
    g_assert_cmpint(bed_ask(&b, &a), ==, UB_UMMU_OK);
    bed_free(&b);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/ub/ummu/tables/words", test_words);
    g_test_add_func("/ub/ummu/tables/known", test_known);
    g_test_add_func("/ub/ummu/tables/boundaries", test_boundaries);
    g_test_add_func("/ub/ummu/tables/priority", test_priority);
    g_test_add_func("/ub/ummu/tables/blocks", test_blocks);
    g_test_add_func("/ub/ummu/tables/2m", test_2m);
    g_test_add_func("/ub/ummu/tables/lenient", test_lenient);
    g_test_add_func("/ub/ummu/tables/large", test_large);
    g_test_add_func("/ub/ummu/tables/flags", test_flags);
    g_test_add_func("/ub/ummu/tables/meanwhile", test_meanwhile);
    g_test_add_func("/ub/ummu/tables/stage2", test_stage2);
    g_test_add_func("/ub/ummu/tables/nested-mapt", test_nested_mapt);
    g_test_add_func("/ub/ummu/tables/stage-cached", test_stage_cached);
    g_test_add_func("/ub/ummu/tables/stage-order", test_stage_order);
    g_test_add_func("/ub/ummu/tables/tee", test_tee);
    g_test_add_func("/ub/ummu/tables/eids", test_eids);
    g_test_add_func("/ub/ummu/tables/monitors", test_monitors);
    g_test_add_func("/ub/ummu/tables/empty", test_empty);
    return g_test_run();
}
