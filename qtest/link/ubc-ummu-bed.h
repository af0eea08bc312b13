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
