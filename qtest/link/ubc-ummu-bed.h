/*
 * The UMMU of one of two controllers, driven by its registers and tables in guest
 * memory, and the other one's accesses.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef UBC_UMMU_BED_H
#define UBC_UMMU_BED_H

#include "ubc-eng.h"
#include "../ubm-drv.h"
#include "ub/tah.h"

#define TABLES (8u << 20)       /* bytes of b's memory for the UMMU */
#define LEN 64u
#define NOWHERE_IPA (48ull << 21)

static EngPair p;
static UbmDrv ummu;             /* of b */
static uint64_t tcte, root, mapte;

/* ---- b's UMMU ------------------------------------------------------------------------ */

static inline uint32_t drv_read(void *opaque, uint32_t offset)
{
    return qubc_read(p.b.q, UBM_WINDOW + offset);
}

static inline void drv_write(void *opaque, uint32_t offset, uint32_t value)
{
    qubc_write(p.b.q, UBM_WINDOW + offset, value);
}

static inline void drv_progress(void *opaque)
{
    g_usleep(100);
}

/* The segment of the engine's tests, as tables: all rights by the same token. */
static inline void ummu_open(void)
{
    uint64_t heap = ubq_alloc(&p.b.drv, TABLES, 4096);

    ummu = (UbmDrv){ .memory = p.b.drv.memory, .brk = heap,
                     .end = heap + TABLES, .reg_read = drv_read,
                     .reg_write = drv_write, .progress = drv_progress };
    ubm_open(&ummu, 8);
    tcte = ubm_context(&ummu, ENG_SEGMENT, 0);
    root = ubm_word(&ummu, tcte + 16);
    ubm_map(&ummu, ENG_SEGMENT, ENG_UBA, p.b.room, ENG_ROOM, 0);
    mapte = ubm_single(&ummu, ENG_SEGMENT, UBM_MAPTE_V | UBM_RWA, ENG_UBA,
                       ENG_UBA + ENG_ROOM - 1, ENG_TOKEN);
}

/* Tables of a TEE, the same as those of before, to which b's second page belongs: where
 * their TECT is. */
static inline uint64_t ummu_trust_page(void)
{
    uint64_t tect = ubm_alloc(&ummu, UBM_TECTE, 64);

    memcpy(p.b.drv.memory + tect, p.b.drv.memory + ummu.tect, UBM_TECTE);
    drv_write(NULL, UBM_CR0, UBM_CR0_EVTQ);
    ubm_write64(&ummu, UBM_TEE_BASE, tect);
    drv_write(NULL, UBM_TEE_CFG, UBM_TEE_CFG_ENABLE);
    ubm_write64(&ummu, UBM_TEE_MEM, p.b.room + 4096);
    ubm_write64(&ummu, UBM_TEE_MEM_SIZE, 4096);
    drv_write(NULL, UBM_CR0, UBM_CR0_ALL);
    return tect;
}

static inline void start(const char *props)
{
    eng_start(&p, &(EngPlan){ .carrier = ENG_RTP, .props = props });
    ummu_open();
}

static inline uint64_t leaf(uint64_t uba)
{
    return ubm_desc(&ummu, root, uba, 3);
}

static inline void change(uint64_t at, uint64_t clear, uint64_t set)
{
    ubm_word_put(&ummu, at, (ubm_word(&ummu, at) & ~clear) | set);
}

static inline const uint8_t *event(unsigned code, unsigned why)
{
    const uint8_t *e = NULL;

    QUBC_WAIT((e = ubm_event(&ummu)));
    g_assert_cmphex(get_le64(e) & UBM_EVT_CODE, ==, code);
    g_assert_cmpuint(get_le64(e + 8) >> 32, ==, why);
    return e;
}

static inline void post(unsigned opcode, uint64_t uba, uint32_t value)
{
    uint8_t *s = eng_sqe(&p.a, opcode, 0, LEN, 1);

    put_le64(s + UBQ_SQE_ADDR, uba);
    put_le32(s + UBQ_SQE_TOKEN_VALUE, value);
    ubq_post(&p.a.queue, s, 1);
}

static inline void access_ends(unsigned opcode, uint64_t uba, uint32_t value,
                               unsigned status)
{
    post(opcode, uba, value);
    eng_complete(&p.a, status);
}

/* ---- Accesses that wait ---- */

/* b's page is away: a's Writes wait for software, all @n of them; one that came after
 * software's answer would wait for another. */
static inline uint64_t stall(unsigned n)
{
    uint64_t came = eng_counter(&p.b, "transaction", "rx-requests"), stag;

    change(ummu.tect + 8, 0, UBM_TECTE_TCT_STALL_EN);
    change(tcte, 0, UBM_TCTE_FBS);
    ubm_flush(&ummu, ENG_SEGMENT);
    change(leaf(ENG_UBA), UBM_PTE_VALID, 0);
    ubm_command(&ummu, UBM_CMD_TLBI_NS_ALL, 0, 0, 0);
    for (unsigned i = 0; i < n; i++) {
        post(UB_TA_WRITE, ENG_UBA + i * LEN, ENG_TOKEN);
    }
    stag = get_le64(event(UBM_EVT_TRANSLATION, 14) + 8) & UBM_EVT_STAG;
    QUBC_WAIT(eng_counter(&p.b, "transaction", "rx-requests") == came + n);
    return stag;
}

static inline void mend(uint64_t stag)
{
    change(leaf(ENG_UBA), 0, UBM_PTE_VALID);
    ubm_command(&ummu, UBM_CMD_STALL_RESUME | UBM_RESUME_RETRY, stag, 0, 0);
}

/* ---- The decisions of §9.4.1 ---- */

/* What makes a write of LEN bytes to a page be refused, and its event. */
typedef struct UmmuRow {
    unsigned decision, code;    /* code 0: no event */
    bool abort;                 /* else it is an Unsupported Request */
    uint64_t at, clear, set, at2, clear2, set2;
    uint64_t was, was2;
} UmmuRow;

/* All but 3, which needs a UMMU without a stage. */
#define UMMU_ROWS 19

static inline void rows_make(UmmuRow *rows, uint64_t page)
{
    const uint64_t at = leaf(page), tect = ummu.tect;
    const UmmuRow all[UMMU_ROWS] = {
        { 1, UBM_EVT_BAD_TECTE, false, tect, UBM_TECTE_V, 0 },
        { 2, 0, false, tect, UBM_TECTE_ST_MODE, 0 },
        { 4, UBM_EVT_BAD_TOKEN, false, tect + 8, UBM_TECTE_TCT_NUM, 0 },
        { 5, UBM_EVT_BAD_TOKEN, false, tect + 8, UBM_TECTE_TCT_NUM, 2 },
        /* A table of zeroes is no first level. */
        { 6, UBM_EVT_BAD_TOKEN, false, tect + 8, UBM_TECTE_TCT_PTR,
          1ull << 52 | mapte },
        { 7, UBM_EVT_BAD_TCTE, false, tcte, UBM_TCTE_V, 0 },
        { 8, UBM_EVT_BAD_TCTE, false, tcte, 0, UBM_TCTE_FBS },
        { 9, UBM_EVT_MAPT_CONFIG, false, tcte, UBM_TCTE_GPAS, 0, tcte + 24, 0,
          1ull << 32 },
        { 10, UBM_EVT_E_BIT, false, tcte, 0, UBM_TCTE_E_BIT },
        { 11, UBM_EVT_TRANSLATION, true, tcte + 8, 0, UBM_TCTE_MATTWD },
        { 12, UBM_EVT_SIZE, true, tcte, UBM_TCTE_GPAS, 0, at, 0, 1ull << 32 },
        { 13, UBM_EVT_ACCESS_FLAG, true, at, UBM_PTE_AF, 0 },
        { 14, UBM_EVT_TRANSLATION, true, at, UBM_PTE_VALID, 0 },
        { 15, UBM_EVT_PERMISSION, false, at, 0, UBM_PTE_READONLY },
        { 16, UBM_EVT_MAPT, false, mapte, UBM_MAPTE_V, 0 },
        { 17, UBM_EVT_MAPT, false, mapte + 16, ~0ull, page + LEN - 2 },
        /* Neither the one that it brings nor the other. */
        { 18, UBM_EVT_MAPT, false },
        { 19, UBM_EVT_E_BIT, false, mapte, 0, UBM_MAPTE_E_BIT },
        { 20, UBM_EVT_MAPT, false, mapte, UBM_MAPTE_WRITE, 0 },
    };

    memcpy(rows, all, sizeof(all));
}

/* Its tables; the TokenValue of the write. */
static inline uint32_t row_begin(UmmuRow *r)
{
    if (r->at2) {
        r->was2 = ubm_word(&ummu, r->at2);
        change(r->at2, r->clear2, r->set2);
    }
    if (r->at) {
        r->was = ubm_word(&ummu, r->at);
        change(r->at, r->clear, r->set);
    }
    return ENG_TOKEN + (r->decision == 18);
}

/* They are good again. */
static inline void row_end(const UmmuRow *r)
{
    if (r->at2) {
        ubm_word_put(&ummu, r->at2, r->was2);
    }
    if (r->at) {
        ubm_word_put(&ummu, r->at, r->was);
    }
}

/* ---- Nested worlds ---- */

/* Stage 2 where all memory is where it is, and one block elsewhere, to which the
 * permission table has moved. */
static inline uint64_t nested(uint64_t to)
{
    uint64_t s2 = ubm_alloc(&ummu, 4096, 4096);
    uint64_t l2 = ubm_alloc(&ummu, 4096, 4096);

    ubm_word_put(&ummu, s2, l2 | 3);
    for (unsigned i = 0; i < 32; i++) {
        ubm_word_put(&ummu, l2 + 8 * i, (uint64_t)i << 21 | 1 | UBM_PTE_AF |
                     UBM_PTE_S2_READ | UBM_PTE_S2_WRITE);
    }
    ubm_word_put(&ummu, l2 + 8 * 48, (to & ~0x1fffffull) | 1 | UBM_PTE_AF |
                 UBM_PTE_S2_READ);
    ubm_word_put(&ummu, ummu.tect + 16, 25 | 1 << 6 | 5 << 12 |
                 UBM_TECTE_S2_FBR);
    ubm_word_put(&ummu, ummu.tect + 24, s2);
    change(ummu.tect, 0, 7 << 1);
    return l2 + 8 * 48;
}

#endif
