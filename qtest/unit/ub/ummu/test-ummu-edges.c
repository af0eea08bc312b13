/*
 * Edges of the UMMU: the last entry of queues and ranges, fields of events and of the
 * state, what counts as the same event, what is counted.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "bed.h"

#define UR UB_UMMU_UNSUPPORTED
#define RA UB_UMMU_ABORT
#define OK UB_UMMU_OK

static Bed b;

static uint32_t reg(uint32_t at)
{
    return ub_ummu_reg_read(b.u, at);
}

static void reg_put(uint32_t at, uint32_t value)
{
    ub_ummu_reg_write(b.u, at, value);
}

static void strict_open(void)
{
    UbUmmuConfig cfg;

    ub_ummu_config_init(&cfg);
    cfg.strict = true;
    bed_open(&b, &cfg);
}

static UbUmmuState state(void)
{
    UbUmmuState s;

    ub_ummu_state(b.u, &s);
    return s;
}

static uint64_t count(UbUmmuCounter c)
{
    return ub_ummu_counter(b.u, c);
}

/* ---- Queues -------------------------------------------------------------------------- */

/* A command queue holds as many as it has, not one more, from any index on. */
static void test_cmdq_full(void)
{
    uint64_t ring;

    bed_open(&b, NULL);
    ring = ubm_alloc(&b.d, 17 * UBM_CMD, 64) + UBM_CMD; /* aligned to 32 alone */
    memset(b.ram + ring - UBM_CMD, 0xff, UBM_CMD);
    for (unsigned log2 = 0; log2 <= 4; log2 += 2) {
        uint32_t size = 1u << log2, mask = 2 * size - 1;

        for (uint32_t at = 0; at <= mask; at++) {
            uint32_t q = UBM_CMDQ(2);

            reg_put(q + UBM_CMDQ_PROD, 0);
            ubm_write64(&b.d, q, ring | log2);
            reg_put(q + UBM_CMDQ_CONS, at);
            b.errors = 0;
            reg_put(q + UBM_CMDQ_PROD, UBM_Q_ENABLE |
                    ((at + size + 1) & mask));
            /* Of one entry, two more are none. */
            g_assert_cmpuint(b.errors, ==, size > 1 ? 1 : 0);
            g_assert_cmphex(reg(q + UBM_CMDQ_PROD), ==, UBM_Q_ENABLE | at);
            for (uint32_t i = 0; i < size; i++) {
                ubm_word_put(&b.d, ring + UBM_CMD * i, UBM_CMD_NULL);
            }
            reg_put(q + UBM_CMDQ_PROD, UBM_Q_ENABLE | ((at + size) & mask));
            g_assert_cmpuint(state().cmdq[2].size, ==, size);
            g_assert_cmpuint(state().cmdq[2].prod, ==, (at + size) & mask);
            g_assert_cmpuint(state().cmdq[2].cons, ==, at);
            g_assert_false(ub_ummu_run(b.u, size));
            g_assert_cmphex(reg(q + UBM_CMDQ_CONS), ==,
                            UBM_Q_ENABLE | ((at + size) & mask));
        }
    }
    g_assert_true(state().cmdq[2].enabled && !state().cmdq[2].failed);
    g_assert_false(state().cmdq[3].enabled);
    reg_put(UBM_CMDQ(2) + UBM_CMDQ_PROD, 0);
    reg_put(UBM_CMDQ(2), 12);
    reg_put(UBM_CMDQ(2) + UBM_CMDQ_PROD, UBM_Q_ENABLE);
    g_assert_true(state().cmdq[2].enabled);
    g_assert_cmpuint(state().cmdq[2].size, ==, 4096);
    bed_free(&b);
}

/* The event queue, of any size, with its last entry, from any index on. */
static void test_evtq_full(void)
{
    bed_open(&b, NULL);
    for (unsigned log2 = 0; log2 <= 3; log2++) {
        uint32_t size = 1u << log2, mask = 2 * size - 1;
        uint64_t ring = ubm_alloc(&b.d, UBM_EVT * (size + 1), 64);

        for (uint32_t at = 0; at <= mask; at++) {
            uint32_t lost = reg(UBM_LOST);

            reg_put(UBM_CR0, UBM_CR0_ENABLE | UBM_CR0_MAPT);
            ubm_write64(&b.d, UBM_EVTQ_BASE, ring | log2);
            reg_put(UBM_EVTQ_PROD, at);
            reg_put(UBM_EVTQ_CONS, at);
            reg_put(UBM_CR0, UBM_CR0_ALL);
            memset(b.ram + ring, 0, UBM_EVT * (size + 1));
            for (uint32_t i = 0; i < size; i++) {
                b.interrupts = 0;
                bed_read(&b, 0x5000 + i * 4096);
                g_assert_cmpuint(b.interrupts, ==, i == 0);
                g_assert_cmphex(get_le64(b.ram + ring + 24 + UBM_EVT *
                                         ((at + i) & (size - 1))), ==,
                                0x5000 + i * 4096);
                g_assert_cmphex(reg(UBM_EVTQ_PROD), ==, (at + i + 1) & mask);
                g_assert_cmpuint(state().evtq_used, ==, i + 1);
            }
            g_assert_cmphex(get_le64(b.ram + ring + UBM_EVT * size), ==, 0);
            g_assert_cmpuint(reg(UBM_LOST), ==, lost);
            bed_read(&b, 0x5000);
            g_assert_cmpuint(reg(UBM_LOST), ==, lost + 1);
            g_assert_true(state().evtq.failed);
            g_assert_cmphex(reg(UBM_EVTQ_PROD), ==,
                            UBM_EVTQ_OVERFLOW | ((at + size) & mask));
            /* Once, however many. */
            bed_read(&b, 0x5000);
            g_assert_cmphex(reg(UBM_EVTQ_PROD) >> 31, ==, 1);
            g_assert_cmpuint(state().evtq.size, ==, size);
        }
    }
    /* What is read while there is more interrupts again; the last one does not. */
    reg_put(UBM_EVTQ_CONS, UBM_EVTQ_OVERFLOW | reg(UBM_EVTQ_PROD));
    b.interrupts = 0;
    g_assert_false(state().evtq.failed);
    bed_read(&b, 0x5000);
    bed_read(&b, 0x6000);
    g_assert_cmpuint(b.interrupts, ==, 1);
    reg_put(UBM_EVTQ_CONS, (reg(UBM_EVTQ_PROD) - 1) & 15);
    g_assert_cmpuint(b.interrupts, ==, 2);
    reg_put(UBM_EVTQ_CONS, reg(UBM_EVTQ_PROD));
    g_assert_cmpuint(b.interrupts, ==, 2);
    reg_put(UBM_IRQ_ENABLE, UBM_IRQ_GERROR);
    bed_read(&b, 0x5000);
    g_assert_cmpuint(b.interrupts, ==, 2);
    reg_put(UBM_CR0, 0);
    reg_put(UBM_EVTQ_BASE, 17);
    reg_put(UBM_CR0, UBM_CR0_ALL);
    g_assert_cmphex(reg(UBM_CR0), ==, UBM_CR0_ALL & ~UBM_CR0_EVTQ);
    reg_put(UBM_EVTQ_BASE, 16);
    reg_put(UBM_CR0, UBM_CR0_ALL);
    g_assert_cmphex(reg(UBM_CR0), ==, UBM_CR0_ALL);
    bed_free(&b);
}

/* A queue of unprivileged software: sizes up to the largest, contexts up to the last,
 * more entries than there are. */
static void test_user_edges(void)
{
    uint64_t ctx, cmd, cpl;

    bed_open(&b, NULL);
    ctx = ubm_alloc(&b.d, 64 * 4, 64);
    cmd = ubm_alloc(&b.d, UBM_UCMD << 10, 4096);
    cpl = ubm_alloc(&b.d, UBM_UCPL << 10, 4096);
    ubm_write64(&b.d, UBM_UQ_CTX, ctx | 1);
    for (unsigned log2 = 0; log2 <= 11; log2++) {
        uint32_t size = 1u << log2;

        ubm_word_put(&b.d, ctx + 64, cmd | log2 << 2);
        ubm_word_put(&b.d, ctx + 72, cpl | log2 << 2);
        reg_put(UBM_UQ_RELEASE_ID, 1);
        reg_put(UBM_UQ_RELEASE, 1);
        b.errors = 0;
        if (log2 <= 10) {
            memset(b.ram + cmd, UBM_UCMD_PSYNC, UBM_UCMD << 10);
            reg_put(UBM_UQ(1), size);
            while (ub_ummu_run(b.u, 100)) {
                continue;
            }
            g_assert_cmpuint(b.errors, ==, 0);
            g_assert_cmpuint(reg(UBM_UQ(1) + UBM_UQ_CMD_CI), ==, size);
            g_assert_cmpuint(reg(UBM_UQ(1) + UBM_UQ_CPL_PI), ==, size);
            g_assert_cmphex(get_le32(b.ram + cpl + 4 * (size - 1)), ==,
                            UBM_UCPL_OK | size << 16);
            /* No room for completions, then one. */
            reg_put(UBM_UQ(1), (size + 1) & (2 * size - 1));
            g_assert_false(ub_ummu_run(b.u, 100));
            g_assert_cmpuint(reg(UBM_UQ(1) + UBM_UQ_CMD_CI), ==, size);
            reg_put(UBM_UQ(1) + UBM_UQ_CPL_CI, 1);
            g_assert_false(ub_ummu_run(b.u, 100));
            g_assert_cmpuint(reg(UBM_UQ(1) + UBM_UQ_CMD_CI), ==,
                             (size + 1) & (2 * size - 1));
            if (size > 1) {
                reg_put(UBM_UQ(1), (2 * size + 2) & (2 * size - 1));
                ub_ummu_run(b.u, 100);
                g_assert_cmpuint(b.errors, ==, 1);
            }
        } else {
            reg_put(UBM_UQ(1), 1);
            g_assert_false(ub_ummu_run(b.u, 100));
            g_assert_cmpuint(b.errors, ==, 1);
        }
    }
    /* Two contexts are there. */
    b.errors = 0;
    ubm_word_put(&b.d, ctx + 128, cmd);
    ubm_word_put(&b.d, ctx + 136, cpl);
    reg_put(UBM_UQ(2), 1);
    ub_ummu_run(b.u, 100);
    g_assert_cmpuint(b.errors, ==, 1);
    ubm_write64(&b.d, UBM_UQ_CTX, ctx | 2);
    reg_put(UBM_UQ(2), 1);
    ub_ummu_run(b.u, 100);
    g_assert_cmpuint(b.errors, ==, 1);
    g_assert_cmpuint(reg(UBM_UQ(2) + UBM_UQ_CMD_CI), ==, 1);
    /* Rings without a place, and in memory that is not there. */
    ubm_word_put(&b.d, ctx + 136, 1ull << 40);
    reg_put(UBM_UQ(2) + UBM_UQ_CPL_CI, 1);
    reg_put(UBM_UQ(2), 0);
    ub_ummu_run(b.u, 100);
    g_assert_cmpuint(b.errors, ==, 2);
    ubm_word_put(&b.d, ctx + 136, cpl);
    ubm_word_put(&b.d, ctx + 128, 1ull << 40);
    reg_put(UBM_UQ_RELEASE_ID, 2);
    reg_put(UBM_UQ_RELEASE, 1);
    memset(b.ram + cpl, 0, 4);
    reg_put(UBM_UQ(2), 1);
    ub_ummu_run(b.u, 100);
    g_assert_cmphex(get_le32(b.ram + cpl), ==, UBM_UCPL_PROCESS | 1 << 16);
    bed_free(&b);
}

/* ---- Invalidation ---------------------------------------------------------------------- */

/* Which of many pages a command takes, on either side of what is looked for one by
 * one. */
static void test_ranges(void)
{
    const uint64_t token = (uint64_t)BED_TOKEN << 12;

    strict_open();
    ubm_map(&b.d, BED_TOKEN, BED_UBA, BED_PA, 512 * 4096, 0);
    ubm_single(&b.d, BED_TOKEN, UBM_MAPTE_V | UBM_RWA, BED_UBA,
               BED_UBA + 512 * 4096 - 1, BED_VALUE);
    for (unsigned plb = 0; plb < 2; plb++) {
        for (unsigned range = 4; range <= 8; range++) {
            uint32_t n = 1u << range, had, left = 0;
            uint64_t first = BED_UBA + 64 * 4096;

            ubm_command(&b.d, UBM_CMD_TLBI_NS_ALL, 0, 0, 0);
            ubm_command(&b.d, UBM_CMD_PLBI_ALL, 0, 0, 0);
            for (unsigned i = 0; i < 512; i++) {
                g_assert_cmpint(bed_read(&b, BED_UBA + i * 4096), ==, OK);
            }
            /* Some had to make room for others. */
            had = plb ? state().permissions : state().translations;
            g_assert_cmpuint(had, >, 400);
            ubm_command(&b.d, (plb ? UBM_CMD_PLBI_VA : UBM_CMD_TLBI_OS_VA) |
                        token | (uint64_t)range << 32, first, 0, 0);
            left = plb ? state().permissions : state().translations;
            g_assert_cmpuint(had - left, <=, n);
            g_assert_cmpuint(had - left, >, n / 2);
            for (unsigned i = 0; i < 512; i++) {
                uint64_t uba = BED_UBA + i * 4096, before;
                bool within = uba >= first && uba < first + n * 4096ull;

                before = count(plb ? UB_UMMU_CNT_PLB_HITS
                                   : UB_UMMU_CNT_TLB_HITS);
                if (!within) {
                    continue;
                }
                bed_read(&b, uba);
                g_assert_cmpuint(count(plb ? UB_UMMU_CNT_PLB_HITS
                                           : UB_UMMU_CNT_TLB_HITS), ==,
                                 before);
            }
        }
    }
    g_assert_cmpuint(state().contexts, ==, 1);
    bed_free(&b);
}

/* Caches that are full: what takes all takes all. */
static void test_full_caches(void)
{
    const uint64_t gib = 1 << 30, token = (uint64_t)BED_TOKEN << 12;
    uint64_t root;

    strict_open();
    root = ubm_word(&b.d, bed_tcte(&b, BED_TOKEN) + 16);
    ubm_word_put(&b.d, ubm_desc(&b.d, root, gib, 1), gib | 1 | UBM_PTE_AF |
                 UBM_PTE_USER);
    ubm_single(&b.d, BED_TOKEN, UBM_MAPTE_V | UBM_RWA, gib, 2 * gib - 1,
               BED_VALUE);
    for (unsigned round = 0; round < 2; round++) {
        for (unsigned i = 0; i < 65536; i++) {
            g_assert_cmpint(bed_read(&b, gib + i * 4096ull), ==, OK);
        }
        g_assert_cmpuint(state().translations, ==, 4096);
        g_assert_cmpuint(state().permissions, ==, 4096);
        ubm_command(&b.d, round ? UBM_CMD_TLBI_OS_VAA | 30ull << 32
                                : UBM_CMD_TLBI_OS_TID | token, 0, 0, 0);
        g_assert_cmpuint(state().translations, ==, 0);
        g_assert_cmpuint(state().permissions, ==, 4096);
        ubm_command(&b.d, round ? UBM_CMD_PLBI_EID
                                : UBM_CMD_PLBI_EID_TID | token, 0, 0, 0);
        g_assert_cmpuint(state().permissions, ==, 0);
    }
    bed_free(&b);
}

/* A VMID takes what is of it, tags what is around them. */
static void test_vmid(void)
{
    strict_open();
    bed_change(&b, b.d.tect, UBM_TECTE_S2_VMID, 7ull << 32);
    g_assert_cmpint(bed_read(&b, BED_UBA), ==, OK);
    ubm_command(&b.d, UBM_CMD_TLBI_S2_IPA | 8ull << 48, 0, 0, 0);
    g_assert_cmpuint(state().translations, ==, 1);
    ubm_command(&b.d, UBM_CMD_TLBI_S2_IPA | 7ull << 48, 0, 0, 0);
    g_assert_cmpuint(state().translations, ==, 0);
    g_assert_cmpuint(state().contexts, ==, 1);
    g_assert_cmpuint(state().permissions, ==, 1);
    bed_free(&b);
    /* Tag 0x15 and the 2^(n+1) around another. */
    for (unsigned n = 0; n < 8; n++) {
        for (unsigned tag = 0; tag < 0x40; tag++) {
            uint64_t tect;

            if (n != 3 && tag % 5) {
                continue;
            }
            strict_open();
            tect = ubm_alloc(&b.d, UBM_TECTE * 0x40, 64);
            memcpy(b.ram + tect + 0x15 * UBM_TECTE, b.ram + b.d.tect,
                   UBM_TECTE);
            reg_put(UBM_CR0, 0);
            ubm_write64(&b.d, UBM_TECT_BASE, tect);
            reg_put(UBM_TECT_CFG, 6);
            reg_put(UBM_DEFAULT, UBM_DEFAULT_ALL | 0x15);
            reg_put(UBM_CR0, UBM_CR0_ALL);
            g_assert_cmpint(bed_read(&b, BED_UBA), ==, OK);
            ubm_command(&b.d, UBM_CMD_CFGI_TECT_RANGE | (uint64_t)n << 52, 0,
                        tag, 0);
            g_assert_cmpuint(state().contexts, ==,
                             tag >> (n + 1) != 0x15 >> (n + 1));
            bed_free(&b);
        }
    }
}

/* ---- Geometry ---------------------------------------------------------------------------- */

static const uint8_t granule[] = { 12, 16, 14, 0 };

/* Which geometries there are, of both stages. */
static void test_geometry(void)
{
    uint64_t tcte;

    bed_open(&b, NULL);
    tcte = bed_tcte(&b, BED_TOKEN);
    for (unsigned tg = 0; tg < 4; tg++) {
        unsigned g = granule[tg];

        for (unsigned tsz = 0; tsz < 64; tsz++) {
            bool there = g && tsz >= 16 && tsz <= 39;

            bed_change(&b, b.d.tect, UBM_TECTE_ST_MODE, 5 << 1);
            bed_change(&b, tcte + 8, UBM_TCTE_SZ | UBM_TCTE_TGS, tsz | tg << 6);
            bed_read(&b, BED_UBA);
            g_assert_cmpint(b.a.why != UBM_WHY_TCTE_FIELD, ==, there);
            bed_change(&b, b.d.tect, UBM_TECTE_ST_MODE, 6 << 1);
            for (unsigned sl = 0; sl < 4; sl++) {
                /* Levels below the first: of 4 KiB one more. */
                unsigned below = sl + (g == 12);
                int bits = 64 - (int)tsz - (int)(g + (g - 3) * below);

                bed_change(&b, b.d.tect + 16, ~0ull,
                           tsz | sl << 6 | tg << 8 | 5 << 12);
                bed_read(&b, BED_UBA);
                g_assert_cmpint(b.a.why != UBM_WHY_TECTE_FIELD, ==,
                                there && sl < 3 && bits >= 1 &&
                                bits <= (int)g - 3 + 4);
            }
        }
    }
    for (unsigned pas = 0; pas < 8; pas++) {
        bed_change(&b, b.d.tect + 16, ~0ull, 25 | 1 << 6 | pas << 12);
        bed_read(&b, BED_UBA);
        g_assert_cmpint(b.a.why != UBM_WHY_TECTE_FIELD, ==,
                        pas == 0 || pas == 5);
    }
    bed_free(&b);
}

/* The highest bit of each GPAS, and the one above it. */
static void test_gpas(void)
{
    static const uint8_t width[] = { 32, 36, 40, 42, 44, 48 };
    uint64_t tcte, leaf;

    bed_open(&b, NULL);
    tcte = bed_tcte(&b, BED_TOKEN);
    leaf = ubm_desc(&b.d, ubm_word(&b.d, tcte + 16), BED_UBA, 3);
    bed_change(&b, tcte, UBM_TCTE_MAPT_EN, 0);
    for (unsigned i = 0; i < G_N_ELEMENTS(width); i++) {
        bed_change(&b, tcte, UBM_TCTE_GPAS, i << 3);
        bed_change(&b, leaf, UBM_PTE_ADDR, 1ull << (width[i] - 1));
        g_assert_cmpint(bed_read(&b, BED_UBA), ==, OK);
        g_assert_cmphex(b.span[0].addr, ==, 1ull << (width[i] - 1));
        if (width[i] < 48) {
            bed_change(&b, leaf, UBM_PTE_ADDR, 1ull << width[i]);
            g_assert_cmpint(bed_read(&b, BED_UBA), ==, RA);
            g_assert_cmpuint(b.a.why, ==, UBM_WHY_SIZE);
        }
    }
    g_assert_cmpuint(count(UB_UMMU_CNT_DMA_ERRORS), ==, 0);
    bed_change(&b, tcte + 16, ~0ull, 1ull << 45);
    g_assert_cmpint(bed_read(&b, BED_UBA), ==, RA);
    g_assert_cmpuint(count(UB_UMMU_CNT_DMA_ERRORS), ==, 1);
    bed_free(&b);
}

/* Stage 2 by pages of each size, one level of tables above them; and by 16 tables
 * beside each other. */
static void test_stage2_walks(void)
{
    bed_open(&b, NULL);
    bed_change(&b, b.d.tect, UBM_TECTE_ST_MODE, 6 << 1);
    for (unsigned tg = 0; tg < 3; tg++) {
        unsigned g = granule[tg], shift = g + g - 3;
        uint64_t root = ubm_alloc(&b.d, 8u << (g + 1), 8u << (g + 1));
        uint64_t last = ubm_alloc(&b.d, 1u << g, 1u << g);
        uint64_t index = (BED_PA >> g) & ((1u << (g - 3)) - 1), high;
        /* The highest of the first level's entries. */
        unsigned bits = MIN(g + 1, 48 - shift);

        high = ((1ull << bits) - 1) << shift;
        ubm_word_put(&b.d, b.d.tect + 16, (64 - shift - bits) |
                     (tg ? 1 << 6 : 0) | tg << 8 | 5 << 12);
        ubm_word_put(&b.d, b.d.tect + 24, root);
        ubm_word_put(&b.d, root + 8 * (high >> shift), last | 3);
        ubm_word_put(&b.d, last + 8 * index, (BED_PA + (1u << g)) | 3 |
                     UBM_PTE_AF | UBM_PTE_S2_READ);
        ub_ummu_turn(b.u);
        high |= BED_PA & ((1ull << shift) - 1);
        g_assert_cmpint(bed_read(&b, high + 0x123), ==, OK);
        g_assert_cmphex(b.span[0].addr, ==, BED_PA + (1u << g) + 0x123);
        g_assert_cmpint(bed_read(&b, high + (1u << g)), ==, RA);
        g_assert_cmpint(bed_read(&b, high - 1), ==, RA);
        /* A block in the table above. */
        ubm_word_put(&b.d, root, 0x1 | UBM_PTE_AF | UBM_PTE_S2_READ);
        ub_ummu_turn(b.u);
        g_assert_cmpint(bed_read(&b, 0x12345), ==, OK);
        g_assert_cmphex(b.span[0].addr, ==, 0x12345);
    }
    bed_free(&b);
}

/* ---- Events ---------------------------------------------------------------------------- */

/* All fields of an event. */
static void test_event_fields(void)
{
    UbUmmuAccess a = bed_access(UB_UMMU_WRITE, BED_UBA + BED_LEN - 8, 16);
    uint64_t leaf, tcte;
    const uint8_t *e;

    bed_open(&b, NULL);
    tcte = bed_tcte(&b, BED_TOKEN);
    leaf = ubm_desc(&b.d, ubm_word(&b.d, tcte + 16), BED_UBA + BED_LEN, 3);
    a.entity = 3;
    g_assert_cmpint(bed_ask(&b, &a), ==, RA);
    e = ubm_event(&b.d);
    g_assert_cmphex(get_le64(e), ==, UBM_EVT_TRANSLATION | UBM_EVT_PRIV |
                    2 << 14 | (uint64_t)BED_TOKEN << 32);
    g_assert_cmphex(get_le64(e + 8), ==, 14ull << 32);
    g_assert_cmphex(get_le64(e + 16), ==, 0);
    g_assert_cmphex(get_le64(e + 24), ==, BED_UBA + BED_LEN);
    g_assert_cmphex(get_le64(e + 32), ==, 0);
    g_assert_cmphex(get_le64(e + 40), ==, 0);
    g_assert_cmphex(get_le64(e + 48), ==, leaf);
    g_assert_cmphex(get_le64(e + 56), ==, 3);
    a.local = true;
    a.kind = UB_UMMU_READ;
    bed_change(&b, b.d.tect, UBM_TECTE_PRIV_SEL, 0);
    g_assert_cmpint(bed_ask(&b, &a), ==, RA);
    e = ubm_event(&b.d);
    g_assert_cmphex(get_le64(e), ==, UBM_EVT_TRANSLATION | UBM_EVT_READ |
                    UBM_EVT_LOCAL | 2 << 14 | (uint64_t)BED_TOKEN << 32);
    /* The EID where there is no tag; none where there is no EID. */
    reg_put(UBM_DEFAULT, 0);
    reg_put(UBM_CR1, UBM_CR1_BAD_EID);
    a = bed_access(UB_UMMU_READ, 0x123, 1);
    a.entity = 2;
    a.token_id = 0xfffff;
    g_assert_cmpint(bed_ask(&b, &a), ==, UR);
    e = ubm_event(&b.d);
    g_assert_cmphex(get_le64(e), ==, UBM_EVT_BAD_EID | UBM_EVT_READ |
                    0xfffffull << 32);
    g_assert_cmphex(get_le64(e + 32), ==, BED_EID_LOW + 2);
    g_assert_cmphex(get_le64(e + 40), ==, BED_EID_HIGH);
    a.bare = true;
    g_assert_cmpint(bed_ask(&b, &a), ==, UR);
    e = ubm_event(&b.d);
    g_assert_cmphex(get_le64(e + 32), ==, 0);
    g_assert_cmphex(get_le64(e + 40), ==, 0);
    /* Mappings that failed. */
    ubm_command(&b.d, UBM_CMD_UNMAP | 0x77 << 16, 0, 5, 6);
    e = ubm_event(&b.d);
    g_assert_cmphex(get_le64(e), ==, UBM_EVT_UNMAPPED);
    g_assert_cmphex(get_le64(e + 8), ==, 0x77);
    g_assert_cmphex(get_le64(e + 32), ==, 5);
    g_assert_cmphex(get_le64(e + 40), ==, 6);
    for (unsigned i = 0; i < UBM_MAPPINGS; i++) {
        ubm_command(&b.d, UBM_CMD_MAP | (i & 0xff) << 16, 0, i, 1);
    }
    g_assert_null(ubm_event(&b.d));
    g_assert_cmpuint(state().mappings, ==, UBM_MAPPINGS);
    ubm_command(&b.d, UBM_CMD_MAP | 0x78 << 16, 0, UBM_MAPPINGS, 1);
    e = ubm_event(&b.d);
    g_assert_cmphex(get_le64(e), ==, UBM_EVT_MAPPED);
    g_assert_cmphex(get_le64(e + 8), ==, 0x78);
    /* One that is there changes. */
    ubm_command(&b.d, UBM_CMD_MAP | 0x79 << 16, 0, 0, 1);
    g_assert_null(ubm_event(&b.d));
    {
        uint8_t eid[16] = { [7] = 1 };
        uint16_t tag;

        g_assert_true(ub_ummu_tag(b.u, eid, &tag));
        g_assert_cmphex(tag, ==, 0x79);
        eid[0] = 1;
        g_assert_false(ub_ummu_tag(b.u, eid, &tag));
        reg_put(UBM_DEFAULT, UBM_DEFAULT_ALL | 9);
        g_assert_true(ub_ummu_tag(b.u, eid, &tag));
        g_assert_cmphex(tag, ==, 9);
    }
    bed_free(&b);
}

/* What is the same event: page, access type, TokenID, TECTE and code; of the last 16
 * that stand in the queue unread. */
static void test_merge_alike(void)
{
    UbUmmuAccess a = bed_access(UB_UMMU_READ, 0x5000, 1), other;
    uint64_t tcte;

    bed_open(&b, NULL);
    bed_change(&b, b.d.tect, 0, UBM_TECTE_EM_EN);
    tcte = bed_tcte(&b, BED_TOKEN);
    bed_ask(&b, &a);
    bed_ask(&b, &a);
    g_assert_cmpuint(reg(UBM_MERGED), ==, 1);
    g_assert_cmpuint(count(UB_UMMU_CNT_EVENTS_MERGED), ==, 1);
    other = a;
    other.addr = 0x5fff;
    bed_ask(&b, &other);
    g_assert_cmpuint(reg(UBM_MERGED), ==, 2);
    other.addr = 0x6000;
    bed_ask(&b, &other);
    other = a;
    other.kind = UB_UMMU_WRITE;
    bed_ask(&b, &other);
    other.kind = UB_UMMU_ATOMIC;
    bed_ask(&b, &other);
    memcpy(b.ram + tcte + UBM_TCTE, b.ram + tcte, UBM_TCTE);
    other = a;
    other.token_id++;
    bed_ask(&b, &other);
    bed_change(&b, ubm_desc(&b.d, ubm_word(&b.d, tcte + 16), 0x5000, 3), ~0ull,
               BED_PA | 3);     /* another code: no access flag */
    bed_ask(&b, &a);
    g_assert_cmpuint(state().evtq_used, ==, 6);
    g_assert_cmpuint(reg(UBM_MERGED), ==, 2);
    for (unsigned i = 0; i < 6; i++) {
        g_assert_nonnull(ubm_event(&b.d));
    }
    /* Read, it is one again; the one before it in the queue was read, too. */
    bed_ask(&b, &a);
    bed_ask(&b, &a);
    g_assert_cmpuint(state().evtq_used, ==, 1);
    g_assert_cmpuint(reg(UBM_MERGED), ==, 3);
    g_assert_nonnull(ubm_event(&b.d));
    /* A stall's is never one with another's. */
    bed_change(&b, b.d.tect + 8, 0, UBM_TECTE_TCT_STALL_EN);
    bed_ask(&b, &a);
    bed_change(&b, tcte, 0, UBM_TCTE_FBS);
    g_assert_cmpint(bed_ask(&b, &a), ==, UB_UMMU_LATER);
    g_assert_cmpuint(state().evtq_used, ==, 2);
    bed_change(&b, tcte, UBM_TCTE_FBS, 0);
    while (ubm_event(&b.d)) {
        continue;
    }
    /* Off and on again, and without EM_EN, nothing is the same. */
    bed_ask(&b, &a);
    reg_put(UBM_CR0, UBM_CR0_ENABLE | UBM_CR0_MAPT);
    reg_put(UBM_CR0, UBM_CR0_ALL);
    bed_ask(&b, &a);
    g_assert_cmpuint(state().evtq_used, ==, 2);
    bed_change(&b, b.d.tect, UBM_TECTE_EM_EN, 0);
    bed_ask(&b, &a);
    g_assert_cmpuint(state().evtq_used, ==, 3);
    bed_free(&b);
}

/* Seventeen kinds of events: the first of them is not known any more. */
static void test_merge_many(void)
{
    bed_open(&b, NULL);
    reg_put(UBM_CR0, UBM_CR0_ENABLE | UBM_CR0_MAPT);
    ubm_write64(&b.d, UBM_EVTQ_BASE, ubm_alloc(&b.d, 64 * UBM_EVT, 64) | 6);
    reg_put(UBM_CR0, UBM_CR0_ALL);
    bed_change(&b, b.d.tect, 0, UBM_TECTE_EM_EN);
    for (unsigned i = 0; i < 17; i++) {
        bed_read(&b, 0x5000 + i * 4096);
    }
    for (unsigned i = 16; i > 0; i--) {
        bed_read(&b, 0x5000 + i * 4096);
    }
    g_assert_cmpuint(reg(UBM_MERGED), ==, 16);
    g_assert_cmpuint(state().evtq_used, ==, 17);
    g_assert_cmpuint(state().merged, ==, 16);
    bed_read(&b, 0x5000);
    g_assert_cmpuint(state().evtq_used, ==, 18);
    bed_free(&b);
}

/* ---- What is told ------------------------------------------------------------------------ */

static void test_counters(void)
{
    UbUmmuAccess a = bed_access(UB_UMMU_READ, BED_UBA, 8192);
    UbUmmuSpan span[4];
    unsigned n;

    strict_open();
    g_assert_cmpint(bed_ask(&b, &a), ==, OK);
    g_assert_cmpint(bed_ask(&b, &a), ==, OK);
    g_assert_cmpuint(count(UB_UMMU_CNT_ACCESSES), ==, 2);
    g_assert_cmpuint(count(UB_UMMU_CNT_CONTEXT_MISSES), ==, 1);
    g_assert_cmpuint(count(UB_UMMU_CNT_TLB_MISSES), ==, 2);
    g_assert_cmpuint(count(UB_UMMU_CNT_TLB_HITS), ==, 2);
    g_assert_cmpuint(count(UB_UMMU_CNT_PLB_MISSES), ==, 2);
    g_assert_cmpuint(count(UB_UMMU_CNT_PLB_HITS), ==, 2);
    g_assert_cmpuint(count(UB_UMMU_CNT_REFUSED), ==, 0);
    g_assert_cmpuint(state().contexts, ==, 1);
    g_assert_cmpuint(state().translations, ==, 2);
    g_assert_cmpuint(state().permissions, ==, 2);
    /* A probe uses what a strict one has cached, and counts nothing. */
    b.peeks = 0;
    g_assert_cmpint(ub_ummu_probe(b.u, &a, span, 4, &n), ==, OK);
    g_assert_cmpuint(b.peeks, ==, 0);
    a.addr += 8192;
    g_assert_cmpint(ub_ummu_probe(b.u, &a, span, 4, &n), ==, OK);
    g_assert_cmpuint(b.peeks, >, 0);
    g_assert_cmpuint(count(UB_UMMU_CNT_ACCESSES), ==, 2);
    g_assert_cmpuint(count(UB_UMMU_CNT_TLB_HITS), ==, 2);
    g_assert_cmpuint(count(UB_UMMU_CNT_TLB_MISSES), ==, 2);
    g_assert_cmpuint(count(UB_UMMU_CNT_PLB_HITS), ==, 2);
    g_assert_cmpuint(count(UB_UMMU_CNT_PLB_MISSES), ==, 2);
    g_assert_cmpuint(count(UB_UMMU_CNT_CONTEXT_MISSES), ==, 1);
    g_assert_cmpuint(state().translations, ==, 2);
    /* By its tag, whatever the EID. */
    a.addr = BED_UBA;
    a.entity = 99;
    g_assert_cmpint(ub_ummu_probe(b.u, &a, span, 4, &n), ==, UR);
    a.tag_en = true;
    g_assert_cmpint(ub_ummu_probe(b.u, &a, span, 4, &n), ==, OK);
    a.tag = 1;
    g_assert_cmpint(ub_ummu_probe(b.u, &a, span, 4, &n), ==, UR);
    g_assert_cmpuint(a.why, ==, UBM_WHY_EID);
    ubm_command(&b.d, UBM_CMD_NULL, 0, 0, 0);
    g_assert_cmpuint(count(UB_UMMU_CNT_COMMANDS), ==, 2);
    for (unsigned i = 0; i < UB_UMMU_COUNTERS_NUM; i++) {
        g_assert_nonnull(ub_ummu_counter_name(i));
    }
    g_assert_null(ub_ummu_counter_name(UB_UMMU_COUNTERS_NUM));
    g_assert_null(ub_ummu_why(0));
    g_assert_null(ub_ummu_why(64));
    g_assert_cmpuint(ub_ummu_refused(b.u, 64), ==, 0);
    bed_free(&b);
    /* One that is not strict looks at memory: an access now is behind a turn. */
    bed_open(&b, NULL);
    a = bed_access(UB_UMMU_READ, BED_UBA, 8);
    g_assert_cmpint(bed_ask(&b, &a), ==, OK);
    ubm_word_put(&b.d, bed_tcte(&b, BED_TOKEN), 0);
    g_assert_cmpint(ub_ummu_probe(b.u, &a, span, 4, &n), ==, UR);
    g_assert_cmpuint(a.why, ==, 7);
    g_assert_cmpint(bed_ask(&b, &a), ==, OK);
    bed_free(&b);
}

static void test_state(void)
{
    bed_open(&b, NULL);
    g_assert_true(state().enabled && state().events && state().mapt);
    g_assert_cmphex(state().tect, ==, b.d.tect);
    g_assert_cmphex(state().fallback, ==,
                    UBM_DEFAULT_ALL | UBM_DEFAULT_BARE);
    g_assert_cmphex(state().cmdq[0].base, ==, b.d.cmdq);
    g_assert_cmphex(state().evtq.base, ==, b.d.evtq);
    g_assert_true(state().evtq.enabled);
    ubm_word_put(&b.d, b.d.cmdq, 0xff);
    reg_put(UBM_CMDQ(0) + UBM_CMDQ_PROD, UBM_Q_ENABLE | 1);
    ub_ummu_run(b.u, 1);
    g_assert_true(state().cmdq[0].failed);
    g_assert_cmpuint(state().cmdq[0].reason, ==, UBM_REASON_ILLEGAL);
    g_assert_cmphex(state().gerror, ==, UBM_GERROR_CMDQ);
    g_assert_cmpuint(count(UB_UMMU_CNT_COMMANDS_BAD), ==, 1);
    reg_put(UBM_GERRORN, UBM_GERROR_CMDQ);
    g_assert_cmphex(state().gerror, ==, 0);
    g_assert_false(state().abort);
    reg_put(UBM_GBPA, UBM_GBPA_ABORT);
    g_assert_true(state().abort);
    reg_put(UBM_CR0, 0);
    reg_put(UBM_TECT_CFG, 5);
    ubm_write64(&b.d, UBM_TEE_BASE, 0x8000);
    reg_put(UBM_TEE_CFG, 6);
    g_assert_cmphex(state().tect_cfg, ==, 5);
    g_assert_cmphex(state().tee_tect, ==, 0x8000);
    g_assert_cmphex(state().tee_cfg, ==, 6);
    g_assert_false(state().enabled || state().events || state().mapt);
    bed_free(&b);
}

/* What drivers find out by. */
static void test_capabilities(void)
{
    bed_open(&b, NULL);
    g_assert_cmphex(reg(UBM_IIDR), ==, 0xb100);
    g_assert_cmphex(reg(UBM_AIDR), ==, 0x20);
    g_assert_cmphex(reg(UBM_CAP(0)), ==, 128 | 20 << 8 | 1 << 13 | 1 << 16 |
                    1 << 17 | 1 << 19);
    g_assert_cmphex(reg(UBM_CAP(1)), ==, 16 | 1 << 9 | 12 << 10 | 3 << 14 |
                    1 << 18 | 256u << 20);
    g_assert_cmphex(reg(UBM_CAP(2)), ==, 1 << 2 | 5 << 3 | 7 << 6 | 1 << 11 |
                    1 << 12 | 2 << 14);
    g_assert_cmphex(reg(UBM_CAP(3)), ==, 1 << 4 | 1 << 7 | 2 << 8 | 1 << 11 |
                    1 << 14);
    g_assert_cmphex(reg(UBM_CAP(4)), ==, 7 | 10 << 8 | 10 << 12 | 1 << 25);
    g_assert_cmphex(reg(UBM_CAP(5)), ==, 1 | 3 << 1 | 1 << 3 | 1 << 4 |
                    1 << 5 | 1 << 8);
    g_assert_cmphex(reg(UBM_CAP(6)), ==, 255);
    /* Registers are of 32 bits, at their places. */
    for (uint32_t at = 1; at < 4; at++) {
        g_assert_cmphex(reg(UBM_IIDR + at), ==, 0);
        b.errors = 0;
        reg_put(UBM_CR1 + at, 0xffff);
        g_assert_cmpuint(b.errors, ==, 1);
    }
    g_assert_cmphex(reg(UBM_CR1), ==, 0);
    reg_put(UBM_CR1, ~0u);
    reg_put(UBM_CR2, ~0u);
    reg_put(UBM_CR3, ~0u);
    g_assert_cmphex(reg(UBM_CR1), ==, 0xffff);
    g_assert_cmphex(reg(UBM_CR2), ==, 0x7f);
    g_assert_cmphex(reg(UBM_CR3), ==, 0xffffff);
    ubm_write64(&b.d, UBM_EVTQ_USI_ADDR, ~0ull);
    g_assert_cmphex(reg(UBM_EVTQ_USI_ADDR), ==, ~3u);
    g_assert_cmphex(reg(UBM_EVTQ_USI_ADDR + 4), ==, 0xfffff);
    reg_put(UBM_GERROR_USI_DATA, b.cfg.vectors - 1);
    g_assert_cmphex(reg(UBM_GERROR_USI_DATA), ==, b.cfg.vectors - 1);
    b.errors = 0;
    reg_put(UBM_GERROR_USI_DATA, b.cfg.vectors);
    g_assert_cmpuint(b.errors, ==, 1);
    g_assert_cmphex(reg(UBM_MTM(UBM_MTMS)), ==, 0);
    reg_put(UBM_PF_TIMER, 19);
    g_assert_cmphex(reg(UBM_PF_TIMER), ==, 19);
    bed_free(&b);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/ub/ummu/edges/cmdq", test_cmdq_full);
    g_test_add_func("/ub/ummu/edges/evtq", test_evtq_full);
    g_test_add_func("/ub/ummu/edges/user", test_user_edges);
    g_test_add_func("/ub/ummu/edges/ranges", test_ranges);
    g_test_add_func("/ub/ummu/edges/full-caches", test_full_caches);
    g_test_add_func("/ub/ummu/edges/vmid", test_vmid);
    g_test_add_func("/ub/ummu/edges/geometry", test_geometry);
    g_test_add_func("/ub/ummu/edges/gpas", test_gpas);
    g_test_add_func("/ub/ummu/edges/stage2-walks", test_stage2_walks);
    g_test_add_func("/ub/ummu/edges/event-fields", test_event_fields);
    g_test_add_func("/ub/ummu/edges/merge-alike", test_merge_alike);
    g_test_add_func("/ub/ummu/edges/merge-many", test_merge_many);
    g_test_add_func("/ub/ummu/edges/counters", test_counters);
    g_test_add_func("/ub/ummu/edges/state", test_state);
    g_test_add_func("/ub/ummu/edges/capabilities", test_capabilities);
    return g_test_run();
}
