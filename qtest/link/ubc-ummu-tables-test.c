/*
 * Tables of a controller's UMMU, in guest memory, and a peer's accesses by them: both
 * byte orders, flags that it writes, two levels, stage 2 below tables of stage 1,
 * permission tables of several levels and blocks, which programs write themselves, and
 * what an entry must not say.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "ubc-ummu-bed.h"

#define PAGE 4096u
#define QUEUE 5u                /* of a program */

static void good_at(unsigned opcode, uint64_t uba)
{
    access_ends(opcode, uba, ENG_TOKEN, UBQ_STATUS_OK);
    g_assert_null(ubm_event(&ummu));
}

static void good(void)
{
    good_at(UB_TA_WRITE, ENG_UBA);
}

static void bad_at(unsigned opcode, uint64_t uba, unsigned status,
                   unsigned code, unsigned why)
{
    access_ends(opcode, uba, ENG_TOKEN, status);
    event(code, why);
    g_assert_null(ubm_event(&ummu));
}

static void bad(unsigned status, unsigned code, unsigned why)
{
    bad_at(UB_TA_WRITE, ENG_UBA, status, code, why);
}

/* With these bits of the word at @at it is refused, and then it is not. */
static void bad_with(uint64_t at, uint64_t clear, uint64_t set, unsigned status,
                     unsigned code, unsigned why)
{
    uint64_t was = ubm_word(&ummu, at);

    change(at, clear, set);
    bad(status, code, why);
    ubm_word_put(&ummu, at, was);
    good();
}

static void swap64(uint64_t at)
{
    put_be64(ummu.memory + at, get_le64(ummu.memory + at));
}

/* ---- Byte order ---------------------------------------------------------------------- */

static void swap_entry(uint64_t at)
{
    for (unsigned i = 0; i < UBM_MAPTE; i += 4) {
        put_be32(ummu.memory + at + i, get_le32(ummu.memory + at + i));
    }
}

/* ENDI: descriptors of 64 bits, permission entries of 32-bit words and the block table,
 * but not the TCTE that says so. */
static void test_big(void)
{
    uint64_t page, l0, at, bt, was;
    UbmMapt m;

    start("");
    page = leaf(ENG_UBA);
    good();
    change(tcte, 0, UBM_TCTE_ENDI);
    access_ends(UB_TA_WRITE, ENG_UBA, ENG_TOKEN, UBQ_STATUS_ABORT);
    event(UBM_EVT_TRANSLATION, UBM_WHY_TRANSLATION);
    for (unsigned l = 4; l--;) {
        swap64(ubm_desc(&ummu, root, ENG_UBA, l));
    }
    bad(UBQ_STATUS_UNSUPPORTED, UBM_EVT_MAPT, UBM_WHY_MAPTE_INVALID);
    swap_entry(mapte);
    good();
    eng_fill(&p.a, LEN, 3);
    good();
    eng_check(&p.b, LEN, 3);
    /* Several levels, and a block by the block table. */
    ubm_multi(&m, &ummu, ENG_SEGMENT, 1, 4);
    at = ubm_multi_entry(&m, ENG_UBA, 3);
    ubm_mapte(&ummu, at, UBM_MAPTE_V | UBM_RWA, 0, PAGE - 1, ENG_TOKEN);
    l0 = ubm_multi_entry(&m, ENG_UBA, 0);
    put_le32(ummu.memory + l0 + 4, 3 << 16);
    change(l0, 0, UBM_MAPTE_N);
    bt = ubm_alloc(&ummu, PAGE, PAGE);
    change(tcte + 32, 0, bt);
    ubm_word_put(&ummu, bt + 8 * 3, m.block | 4ull << 60 | UBM_BTE_V);
    for (unsigned l = 4; l--;) {
        swap_entry(ubm_multi_entry(&m, ENG_UBA, l));
    }
    bad(UBQ_STATUS_UNSUPPORTED, UBM_EVT_MAPT_CONFIG, UBM_WHY_MAPT_BLOCK);
    swap64(bt + 8 * 3);
    good();
    /* The device's own writes are in the order of the table. */
    was = get_be64(ummu.memory + page);
    put_be64(ummu.memory + page, was & ~UBM_PTE_AF);
    change(tcte, 0, UBM_TCTE_HAF);
    good();
    g_assert_cmphex(get_be64(ummu.memory + page), ==, was);
    eng_stop(&p);
}

/* ---- Flags --------------------------------------------------------------------------- */

/* Access flag and dirty of stage 1: refused, ignored, written. */
static void test_flags(void)
{
    uint64_t at, plain;

    start("");
    at = leaf(ENG_UBA);
    plain = ubm_word(&ummu, at);
    ubm_word_put(&ummu, at, plain & ~UBM_PTE_AF);
    bad(UBQ_STATUS_ABORT, UBM_EVT_ACCESS_FLAG, UBM_WHY_ACCESS_FLAG);
    /* The peer hears of a fault that is not recorded here. */
    change(tcte, UBM_TCTE_FBR, 0);
    access_ends(UB_TA_WRITE, ENG_UBA, ENG_TOKEN, UBQ_STATUS_ABORT);
    g_assert_null(ubm_event(&ummu));
    change(tcte, 0, UBM_TCTE_FBR | UBM_TCTE_AFFD);
    good();
    g_assert_cmphex(ubm_word(&ummu, at), ==, plain & ~UBM_PTE_AF);
    change(tcte, UBM_TCTE_AFFD, UBM_TCTE_HAF);
    good_at(UB_TA_READ, ENG_UBA);
    g_assert_cmphex(ubm_word(&ummu, at), ==, plain);
    /* Read-only until the first write, if the page may be. */
    ubm_word_put(&ummu, at, plain | UBM_PTE_READONLY | UBM_PTE_DBM);
    bad(UBQ_STATUS_UNSUPPORTED, UBM_EVT_PERMISSION, UBM_WHY_PERMISSION);
    change(tcte, 0, UBM_TCTE_HDF);
    good_at(UB_TA_READ, ENG_UBA);
    g_assert_cmphex(ubm_word(&ummu, at), ==,
                    plain | UBM_PTE_READONLY | UBM_PTE_DBM);
    good();
    g_assert_cmphex(ubm_word(&ummu, at), ==, plain | UBM_PTE_DBM);
    ubm_word_put(&ummu, at, plain | UBM_PTE_READONLY);
    bad(UBQ_STATUS_UNSUPPORTED, UBM_EVT_PERMISSION, UBM_WHY_PERMISSION);
    g_assert_cmphex(ubm_word(&ummu, at), ==, plain | UBM_PTE_READONLY);
    ubm_word_put(&ummu, at, plain);
    /* Dirty without access flag does not exist. */
    bad_with(tcte, UBM_TCTE_HAF, 0, UBQ_STATUS_UNSUPPORTED, UBM_EVT_BAD_TCTE,
             UBM_WHY_TCTE_FIELD);
    eng_stop(&p);
}

/* The same of stage 2. */
static void test_flags2(void)
{
    uint64_t l2, at, plain;

    start("");
    l2 = nested(mapte) - 8 * 48;
    at = l2 + 8 * (p.b.room >> 21);
    plain = ubm_word(&ummu, at);
    good();
    for (unsigned i = 0; i < 32; i++) {
        change(l2 + 8 * i, UBM_PTE_AF, 0);
    }
    access_ends(UB_TA_WRITE, ENG_UBA, ENG_TOKEN, UBQ_STATUS_ABORT);
    g_assert_cmphex(get_le64(event(UBM_EVT_ACCESS_FLAG, UBM_WHY_ACCESS_FLAG)) &
                    UBM_EVT_S2, ==, UBM_EVT_S2);
    change(ummu.tect + 16, 0, UBM_TECTE_S2_AFFD);
    good();
    g_assert_cmphex(ubm_word(&ummu, at), ==, plain & ~UBM_PTE_AF);
    change(ummu.tect + 16, UBM_TECTE_S2_AFFD, UBM_TECTE_S2_HAF);
    good();
    g_assert_cmphex(ubm_word(&ummu, at), ==, plain);
    /* What may be written is, at the first write. */
    change(at, UBM_PTE_S2_WRITE, UBM_PTE_DBM);
    bad(UBQ_STATUS_UNSUPPORTED, UBM_EVT_PERMISSION, UBM_WHY_PERMISSION);
    change(ummu.tect + 16, 0, UBM_TECTE_S2_HDF);
    good_at(UB_TA_READ, ENG_UBA);
    g_assert_cmphex(ubm_word(&ummu, at) & UBM_PTE_S2_WRITE, ==, 0);
    good();
    g_assert_cmphex(ubm_word(&ummu, at), ==, plain | UBM_PTE_DBM);
    change(at, UBM_PTE_S2_WRITE | UBM_PTE_DBM, 0);
    bad(UBQ_STATUS_UNSUPPORTED, UBM_EVT_PERMISSION, UBM_WHY_PERMISSION);
    eng_stop(&p);
}

/* ---- Configuration and context -------------------------------------------------------- */

/* Requests are unprivileged unless the TECTE says that they are not. */
static void test_privilege(void)
{
    uint64_t e;

    start("");
    change(leaf(ENG_UBA), UBM_PTE_USER, 0);
    good();
    for (unsigned sel = 0; sel < 3; sel++) {
        change(ummu.tect, UBM_TECTE_PRIV_SEL, sel << 15);
        access_ends(UB_TA_WRITE, ENG_UBA, ENG_TOKEN, UBQ_STATUS_UNSUPPORTED);
        e = get_le64(event(UBM_EVT_PERMISSION, UBM_WHY_PERMISSION));
        g_assert_cmphex(e & UBM_EVT_PRIV, ==, 0);
    }
    change(leaf(ENG_UBA), 0, UBM_PTE_USER);
    good();
    change(ummu.tect, 0, UBM_TECTE_PRIV_SEL);
    change(leaf(ENG_UBA), 0, UBM_PTE_READONLY);
    access_ends(UB_TA_WRITE, ENG_UBA, ENG_TOKEN, UBQ_STATUS_UNSUPPORTED);
    e = get_le64(event(UBM_EVT_PERMISSION, UBM_WHY_PERMISSION));
    g_assert_cmphex(e & UBM_EVT_PRIV, ==, UBM_EVT_PRIV);
    eng_stop(&p);
}

/* Values that are reserved, and pointers beyond what there is. */
static void test_fields(void)
{
    start("");
    {
        const uint64_t tect = ummu.tect + 8;
        const struct {
            uint64_t at, clear, set;
            unsigned code, why;
        } rows[] = {
            { tect, 0, 2ull << 52, UBM_EVT_BAD_TECTE, UBM_WHY_TECTE_FIELD },
            { tect, 0, 3ull << 52, UBM_EVT_BAD_TECTE, UBM_WHY_TECTE_FIELD },
            { tect, 0, 1ull << 51, UBM_EVT_BAD_TECTE, UBM_WHY_TECTE_FIELD },
            { tect, 0, 1ull << 48, UBM_EVT_BAD_TECTE, UBM_WHY_TECTE_FIELD },
            { tect, UBM_TECTE_TCT_NUM, 21, UBM_EVT_BAD_TECTE,
              UBM_WHY_TECTE_FIELD },
            { tcte, 0, 6 << 3, UBM_EVT_BAD_TCTE, UBM_WHY_TCTE_FIELD },
            { tcte, 0, UBM_TCTE_MAC_EN, UBM_EVT_BAD_TCTE,
              UBM_WHY_TCTE_FIELD },
            { tcte + 8, 0x3f, 15, UBM_EVT_BAD_TCTE, UBM_WHY_TCTE_FIELD },
            { tcte + 8, 0x3f, 40, UBM_EVT_BAD_TCTE, UBM_WHY_TCTE_FIELD },
            { tcte + 8, 0, UBM_TCTE_TGS, UBM_EVT_BAD_TCTE,
              UBM_WHY_TCTE_FIELD },
            { tcte, 0, UBM_TCTE_MAPT_MODE, UBM_EVT_MAPT_CONFIG,
              UBM_WHY_MAPT_FIELD },
            { tcte, 0, UBM_TCTE_MAPT_MODE | 3 << 17, UBM_EVT_MAPT_CONFIG,
              UBM_WHY_MAPT_FIELD },
        };

        for (unsigned i = 0; i < G_N_ELEMENTS(rows); i++) {
            bad_with(rows[i].at, rows[i].clear, rows[i].set,
                     UBQ_STATUS_UNSUPPORTED, rows[i].code, rows[i].why);
        }
    }
    /* A TCT beyond what stage 2 takes: 39 bits. */
    nested(mapte);
    good();
    bad_with(ummu.tect + 8, 0, 1ull << 39, UBQ_STATUS_UNSUPPORTED,
             UBM_EVT_BAD_TECTE, UBM_WHY_TECTE_FIELD);
    eng_stop(&p);
}

/* A TECT of two levels by an EID's tag, and a TCT of two by the TokenID. */
static void test_two_levels(void)
{
    uint64_t l1, l2, at;

    start("");
    /* TokenID 77: second level 1, entry 13 of 64. */
    l1 = ubm_alloc(&ummu, PAGE, PAGE);
    l2 = ubm_alloc(&ummu, 64 * UBM_TCTE, PAGE);
    memcpy(ummu.memory + l2 + 13 * UBM_TCTE, ummu.memory + tcte, UBM_TCTE);
    ubm_word_put(&ummu, l1 + 8, l2 | UBM_TCT_L1_V);
    change(ummu.tect + 8, UBM_TECTE_TCT_PTR | UBM_TECTE_TCT_FMT,
           l1 | 1ull << 52);
    good();
    bad_with(l1 + 8, UBM_TCT_L1_V, 0, UBQ_STATUS_UNSUPPORTED,
             UBM_EVT_BAD_TOKEN, UBM_WHY_L1_TCTE);
    bad_with(l1 + 8, 0, 1ull << 51, UBQ_STATUS_UNSUPPORTED, UBM_EVT_BAD_TCTE,
             UBM_WHY_TCTE_FIELD);
    bad_with(l2 + 13 * UBM_TCTE, UBM_TCTE_V, 0, UBQ_STATUS_UNSUPPORTED,
             UBM_EVT_BAD_TCTE, UBM_WHY_TCTE_INVALID);
    /* Tag 25h: second level 2, entry 5 of 8. */
    l1 = ubm_alloc(&ummu, PAGE, PAGE);
    l2 = ubm_alloc(&ummu, 8 * UBM_TECTE, 64);
    at = l2 + 5 * UBM_TECTE;
    memcpy(ummu.memory + at, ummu.memory + ummu.tect, UBM_TECTE);
    ubm_word_put(&ummu, l1 + 16, l2 | 3 << 1 | UBM_TECT_L1_V);
    ubm_command(&ummu, UBM_CMD_MAP | 0x25 << 16, 0, 2, 0);
    drv_write(NULL, UBM_CR0, UBM_CR0_EVTQ);
    ubm_write64(&ummu, UBM_TECT_BASE, l1);
    drv_write(NULL, UBM_TECT_CFG, 6 | 4 << 6 | 1 << 11);
    drv_write(NULL, UBM_CR1, UBM_CR1_BAD_EID);
    drv_write(NULL, UBM_DEFAULT, 0);
    drv_write(NULL, UBM_CR0, UBM_CR0_ENABLE | UBM_CR0_EVTQ | UBM_CR0_MAPT);
    good();
    bad_with(at, UBM_TECTE_V, 0, UBQ_STATUS_UNSUPPORTED, UBM_EVT_BAD_TECTE,
             UBM_WHY_TECTE_INVALID);
    /* Four TECTEs are no eight. */
    bad_with(l1 + 16, 6, 2 << 1, UBQ_STATUS_UNSUPPORTED, UBM_EVT_BAD_EID,
             UBM_WHY_EID);
    bad_with(l1 + 16, UBM_TECT_L1_V, 0, UBQ_STATUS_UNSUPPORTED,
             UBM_EVT_BAD_TECTE, UBM_WHY_TECTE_INVALID);
    ubm_command(&ummu, UBM_CMD_UNMAP, 0, 2, 0);
    bad(UBQ_STATUS_UNSUPPORTED, UBM_EVT_BAD_EID, UBM_WHY_EID);
    eng_stop(&p);
}

/* Monitors count by the id of the TECTE, or of the TCTE if that is asked for. */
static void test_monitors(void)
{
    start("");
    ubm_word_put(&ummu, ummu.tect + 48, 9);
    change(tcte + 8, 0, 200ull << 32);
    good();
    change(ummu.tect + 8, 0, UBM_TECTE_TCT_MTM_EN);
    good();
    /* A Read is looked at twice, and counts once. */
    good_at(UB_TA_READ, ENG_UBA + PAGE);
    access_ends(UB_TA_WRITE, ENG_UBA, 1, UBQ_STATUS_UNSUPPORTED);
    event(UBM_EVT_MAPT, UBM_WHY_TOKEN_VALUE);
    g_assert_cmpuint(drv_read(NULL, UBM_MTM(9)), ==, 1);
    g_assert_cmpuint(drv_read(NULL, UBM_MTM(9) + 8), ==, LEN);
    g_assert_cmpuint(drv_read(NULL, UBM_MTM(200)), ==, 2);
    g_assert_cmpuint(drv_read(NULL, UBM_MTM(200) + 8), ==, 2 * LEN);
    eng_stop(&p);
}

/* EM_EN: one event of a page, access type and TokenID while it is unread. */
static void test_merge(void)
{
    start("");
    for (uint64_t at = 0; at < 2 * PAGE; at += PAGE) {
        change(leaf(ENG_UBA + at), UBM_PTE_VALID, 0);
    }
    change(ummu.tect, 0, UBM_TECTE_EM_EN);
    for (unsigned i = 0; i < 3; i++) {
        access_ends(UB_TA_WRITE, ENG_UBA + i * LEN, ENG_TOKEN,
                    UBQ_STATUS_ABORT);
    }
    access_ends(UB_TA_READ, ENG_UBA, ENG_TOKEN, UBQ_STATUS_ABORT);
    access_ends(UB_TA_WRITE, ENG_UBA + PAGE, ENG_TOKEN, UBQ_STATUS_ABORT);
    access_ends(UB_TA_WRITE, ENG_UBA + PAGE, 1, UBQ_STATUS_ABORT);
    g_assert_cmpuint(drv_read(NULL, UBM_MERGED), ==, 3);
    for (unsigned i = 0; i < 3; i++) {
        const uint8_t *e = event(UBM_EVT_TRANSLATION, UBM_WHY_TRANSLATION);

        g_assert_cmpuint(!!(get_le64(e) & UBM_EVT_READ), ==, i == 1);
        g_assert_cmphex(get_le64(e + UBM_EVT_ADDR), ==,
                        ENG_UBA + (i == 2 ? PAGE : 0));
    }
    g_assert_null(ubm_event(&ummu));
    /* Read: the next is another one. */
    bad(UBQ_STATUS_ABORT, UBM_EVT_TRANSLATION, UBM_WHY_TRANSLATION);
    g_assert_cmpuint(drv_read(NULL, UBM_MERGED), ==, 3);
    change(ummu.tect, UBM_TECTE_EM_EN, 0);
    access_ends(UB_TA_WRITE, ENG_UBA, ENG_TOKEN, UBQ_STATUS_ABORT);
    event(UBM_EVT_TRANSLATION, UBM_WHY_TRANSLATION);
    bad(UBQ_STATUS_ABORT, UBM_EVT_TRANSLATION, UBM_WHY_TRANSLATION);
    eng_stop(&p);
}

/* ---- Stage 2 -------------------------------------------------------------------------- */

/* A table at @word has moved to where only stage 2 knows it. */
static void moved(uint64_t word, uint64_t mask, unsigned class)
{
    const uint64_t was = ubm_word(&ummu, word), place = was & mask;
    uint64_t s2;

    s2 = nested(place);
    change(s2, 0, UBM_PTE_S2_WRITE);
    good();
    change(word, mask, NOWHERE_IPA | (place & 0x1fffff));
    good();
    change(s2, UBM_PTE_VALID, 0);
    access_ends(UB_TA_WRITE, ENG_UBA, ENG_TOKEN, UBQ_STATUS_ABORT);
    g_assert_cmphex(get_le64(event(UBM_EVT_TRANSLATION, UBM_WHY_TRANSLATION)) &
                    (UBM_EVT_S2 | UBM_EVT_CLASS), ==,
                    UBM_EVT_S2 | (uint64_t)class << 14);
    ubm_word_put(&ummu, word, was);
    good();
}

static void test_nested(void)
{
    start("");
    moved(ummu.tect + 8, UBM_TECTE_TCT_PTR, 0);
    moved(tcte + 16, UBM_TCTE_MATTBA, 1);
    moved(ubm_desc(&ummu, root, ENG_UBA, 0), UBM_PTE_ADDR, 1);
    moved(ubm_desc(&ummu, root, ENG_UBA, 2), UBM_PTE_ADDR, 1);
    moved(leaf(ENG_UBA), UBM_PTE_ADDR, 2);
    eng_stop(&p);
}

/* Stage 2 alone: no context, no TokenID, no permission table. */
static void test_stage2_alone(void)
{
    start("");
    nested(mapte);
    access_ends(UB_TA_WRITE, ENG_UBA, 1, UBQ_STATUS_UNSUPPORTED);
    event(UBM_EVT_MAPT, UBM_WHY_TOKEN_VALUE);
    change(ummu.tect, UBM_TECTE_ST_MODE, 6 << 1);
    ubm_word_put(&ummu, ummu.tect + 8, 0);
    eng_fill(&p.a, LEN, 8);
    access_ends(UB_TA_WRITE, p.b.room, 1, UBQ_STATUS_OK);
    eng_check(&p.b, LEN, 8);
    access_ends(UB_TA_WRITE, 64ull << 21, 1, UBQ_STATUS_ABORT);
    event(UBM_EVT_TRANSLATION, UBM_WHY_TRANSLATION);
    eng_stop(&p);
}

/* ---- Permission tables ---------------------------------------------------------------- */

/* Both entries ask for the table, or nobody looks. */
static void test_asked(void)
{
    start("");
    for (unsigned i = 0; i < 4; i++) {
        change(ummu.tect, UBM_TECTE_MAPT_EN, i & 1 ? UBM_TECTE_MAPT_EN : 0);
        change(tcte, UBM_TCTE_MAPT_EN, i & 2 ? UBM_TCTE_MAPT_EN : 0);
        access_ends(UB_TA_WRITE, ENG_UBA, 1,
                    i == 3 ? UBQ_STATUS_UNSUPPORTED : UBQ_STATUS_OK);
        if (i == 3) {
            event(UBM_EVT_MAPT, UBM_WHY_TOKEN_VALUE);
        }
        g_assert_null(ubm_event(&ummu));
    }
    eng_stop(&p);
}

/* 4 KiB: four levels; a range of a level goes before T and what is below. */
static void test_multi(void)
{
    uint64_t l2, l3;
    UbmMapt m;

    start("");
    ubm_multi(&m, &ummu, ENG_SEGMENT, 1, 4);
    l3 = ubm_multi_entry(&m, ENG_UBA, 3);
    l2 = ubm_multi_entry(&m, ENG_UBA, 2);
    ubm_mapte(&ummu, l3, UBM_MAPTE_V | UBM_MAPTE_READ, 0x400, 0xfff,
              ENG_TOKEN);
    good_at(UB_TA_READ, ENG_UBA + 0x400);
    good_at(UB_TA_READ, ENG_UBA + 0x1000 - LEN);
    bad_at(UB_TA_READ, ENG_UBA + 0x3ff, UBQ_STATUS_UNSUPPORTED, UBM_EVT_MAPT,
           UBM_WHY_RANGE);
    bad_at(UB_TA_READ, ENG_UBA + 0x1001 - LEN, UBQ_STATUS_UNSUPPORTED,
           UBM_EVT_MAPT, UBM_WHY_MAPTE_INVALID);
    bad_at(UB_TA_WRITE, ENG_UBA + 0x400, UBQ_STATUS_UNSUPPORTED, UBM_EVT_MAPT,
           UBM_WHY_RIGHT);
    /* Of the 2 MiB around it, the first 0x10800 bytes by the entry above. */
    ubm_word_put(&ummu, l2 + 8, 1ull << 63 | 0x10000);
    ubm_word_put(&ummu, l2 + 16, 0x107ff);
    put_le32(ummu.memory + l2 + 24, ENG_TOKEN);
    change(l2, 0, UBM_MAPTE_WRITE);
    good_at(UB_TA_WRITE, ENG_UBA + 0x400);
    bad_at(UB_TA_READ, ENG_UBA + 0x400, UBQ_STATUS_UNSUPPORTED, UBM_EVT_MAPT,
           UBM_WHY_RIGHT);
    good_at(UB_TA_READ, ENG_UBA + 0x800);
    change(l2, 0, UBM_MAPTE_T);
    good_at(UB_TA_WRITE, ENG_UBA + 0x400);
    bad_at(UB_TA_READ, ENG_UBA + 0x800, UBQ_STATUS_UNSUPPORTED, UBM_EVT_MAPT,
           UBM_WHY_RANGE);
    eng_stop(&p);
}

/* 2 MiB: three levels, and no next one behind the third. */
static void test_2m(void)
{
    UbmMapt m;

    start("");
    ubm_multi(&m, &ummu, ENG_SEGMENT, 2, 4);
    ubm_mapte(&ummu, ubm_multi_entry(&m, ENG_UBA, 2), UBM_MAPTE_V | UBM_RWA,
              ENG_UBA + 0x1000, ENG_UBA + 0x1fff, ENG_TOKEN);
    good_at(UB_TA_WRITE, ENG_UBA + 0x1000);
    good_at(UB_TA_WRITE, ENG_UBA + 0x2000 - LEN);
    bad_at(UB_TA_WRITE, ENG_UBA + 0xfff, UBQ_STATUS_UNSUPPORTED, UBM_EVT_MAPT,
           UBM_WHY_RANGE);
    bad_at(UB_TA_WRITE, ENG_UBA + 0x2001 - LEN, UBQ_STATUS_UNSUPPORTED,
           UBM_EVT_MAPT, UBM_WHY_RANGE);
    eng_stop(&p);
}

/* Nothing outside of a block is read: tables that do not fit, blocks that are not there;
 * the largest size of a block. */
static void test_blocks(void)
{
    uint64_t l0, bt;
    UbmMapt m;

    start("");
    ubm_multi(&m, &ummu, ENG_SEGMENT, 1, 4);
    ubm_mapte(&ummu, ubm_multi_entry(&m, ENG_UBA, 3), UBM_MAPTE_V | UBM_RWA, 0,
              PAGE - 1, ENG_TOKEN);
    good();
    l0 = ubm_multi_entry(&m, ENG_UBA, 0);
    for (unsigned size = 0; size < 16; size++) {
        if (size >= 4 && size <= 9) {
            change(tcte + 24, UBM_TCTE_MAPT_BB_SZ, (uint64_t)size << 60);
            good();
            continue;
        }
        change(tcte + 24, UBM_TCTE_MAPT_BB_SZ, (uint64_t)size << 60);
        bad(UBQ_STATUS_UNSUPPORTED, UBM_EVT_MAPT_CONFIG,
            size < 4 ? UBM_WHY_MAPT_BLOCK : UBM_WHY_MAPT_FIELD);
    }
    /* The first table, one entry of another: by 4 KiB the block has 128 entries. */
    change(tcte + 24, UBM_TCTE_MAPT_BB_SZ, 0);
    bt = ubm_alloc(&ummu, 2 * PAGE, PAGE);
    change(tcte + 32, 0, bt);
    put_le32(ummu.memory + l0 + 4, 511 << 16);
    change(l0, 0, UBM_MAPTE_N);
    bad(UBQ_STATUS_UNSUPPORTED, UBM_EVT_MAPT_CONFIG, UBM_WHY_MAPT_BLOCK);
    ubm_word_put(&ummu, bt + 8 * 511, m.block | 4ull << 60 | UBM_BTE_V);
    good();
    ubm_word_put(&ummu, bt + 8 * 511, m.block | 3ull << 60 | UBM_BTE_V);
    bad(UBQ_STATUS_UNSUPPORTED, UBM_EVT_MAPT_CONFIG, UBM_WHY_MAPT_BLOCK);
    /* Block 512 is none of a table of 4 KiB, but of one of 8. */
    ubm_word_put(&ummu, bt + 8 * 512, m.block | 4ull << 60 | UBM_BTE_V);
    put_le32(ummu.memory + l0 + 4, 512 << 16);
    bad(UBQ_STATUS_UNSUPPORTED, UBM_EVT_MAPT_CONFIG, UBM_WHY_MAPT_BLOCK);
    change(tcte + 32, 0, 1ull << 60);
    good();
    eng_stop(&p);
}

/* ---- Programs ------------------------------------------------------------------------- */

static void user_command(uint64_t ring, unsigned n, uint64_t q0, uint64_t q1)
{
    ubm_word_put(&ummu, ring + UBM_UCMD * n, q0);
    ubm_word_put(&ummu, ring + UBM_UCMD * n + 8, q1);
    ubm_word_put(&ummu, ring + UBM_UCMD * (n + 1), UBM_UCMD_PSYNC);
    drv_write(NULL, UBM_UQ(QUEUE) + UBM_UQ_CMD_PI, n + 2);
    QUBC_WAIT(drv_read(NULL, UBM_UQ(QUEUE) + UBM_UQ_CMD_CI) == n + 2);
}

/* A program writes the block that it has and tells so by its own queue; nothing in the
 * block leads out of it. */
static void test_user(void)
{
    uint64_t ctx, cmd, cpl, l3, far;
    UbmMapt m;

    start("ummu-strict=on");
    ubm_multi(&m, &ummu, ENG_SEGMENT, 1, 4);
    far = ubm_alloc(&ummu, UBM_MAPT_TABLE, PAGE);
    g_assert_cmphex(far, ==, m.block + (PAGE << m.log2));
    l3 = ubm_multi_entry(&m, ENG_UBA, 3);
    ubm_mapte(&ummu, l3, UBM_MAPTE_V | UBM_RWA, 0, PAGE - 1, ENG_TOKEN);
    ctx = ubm_alloc(&ummu, UBM_UCTX * 8, 64);
    cmd = ubm_alloc(&ummu, PAGE, PAGE);
    cpl = ubm_alloc(&ummu, PAGE, PAGE);
    ubm_word_put(&ummu, ctx + UBM_UCTX * QUEUE + UBM_UCTX_CMD, cmd | 6 << 2);
    ubm_word_put(&ummu, ctx + UBM_UCTX * QUEUE + UBM_UCTX_CPL, cpl | 6 << 2);
    ubm_word_put(&ummu, ctx + UBM_UCTX * QUEUE + UBM_UCTX_TOKEN, ENG_SEGMENT);
    ubm_write64(&ummu, UBM_UQ_CTX, ctx | 3);
    good();
    /* Another page forgotten is not this one. */
    change(l3, UBM_RWA, 0);
    user_command(cmd, 0, UBM_UCMD_PLBI_VA, ENG_UBA + PAGE);
    good();
    user_command(cmd, 2, UBM_UCMD_PLBI_VA, ENG_UBA);
    bad(UBQ_STATUS_UNSUPPORTED, UBM_EVT_MAPT, UBM_WHY_RIGHT);
    change(l3, 0, UBM_RWA);
    user_command(cmd, 4, UBM_UCMD_PLBI_ALL, 0);
    good();
    for (unsigned i = 0; i < 3; i++) {
        g_assert_cmphex(get_le32(ummu.memory + cpl + UBM_UCPL * i), ==,
                        UBM_UCPL_OK | (2 * i + 2) << 16);
    }
    /* An entry behind the end of the block, which would let in. */
    memcpy(ummu.memory + far + UBM_MAPTE * (ENG_UBA >> 12 & 511),
           ummu.memory + l3, UBM_MAPTE);
    put_le32(ummu.memory + ubm_multi_entry(&m, ENG_UBA, 2),
             UBM_MAPTE_V | (PAGE << m.log2) / 32 << 12);
    user_command(cmd, 6, UBM_UCMD_PLBI_ALL, 0);
    bad(UBQ_STATUS_UNSUPPORTED, UBM_EVT_MAPT_CONFIG, UBM_WHY_MAPT_BLOCK);
    eng_stop(&p);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    qtest_add_func("/ubc-ummu-tables/big", test_big);
    qtest_add_func("/ubc-ummu-tables/flags", test_flags);
    qtest_add_func("/ubc-ummu-tables/flags2", test_flags2);
    qtest_add_func("/ubc-ummu-tables/privilege", test_privilege);
    qtest_add_func("/ubc-ummu-tables/fields", test_fields);
    qtest_add_func("/ubc-ummu-tables/two-levels", test_two_levels);
    qtest_add_func("/ubc-ummu-tables/monitors", test_monitors);
    qtest_add_func("/ubc-ummu-tables/merge", test_merge);
    qtest_add_func("/ubc-ummu-tables/nested", test_nested);
    qtest_add_func("/ubc-ummu-tables/stage2-alone", test_stage2_alone);
    qtest_add_func("/ubc-ummu-tables/asked", test_asked);
    qtest_add_func("/ubc-ummu-tables/multi", test_multi);
    qtest_add_func("/ubc-ummu-tables/2m", test_2m);
    qtest_add_func("/ubc-ummu-tables/blocks", test_blocks);
    qtest_add_func("/ubc-ummu-tables/user", test_user);
    return g_test_run();
}
