/*
 * The UMMU at work: command, event and user queues, caches and what invalidates
 * them, stalls, registers, migration.
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

static void strict_open(bool positive)
{
    UbUmmuConfig cfg;

    ub_ummu_config_init(&cfg);
    cfg.strict = true;
    cfg.positive = positive;
    bed_open(&b, &cfg);
}

/* ---- Command queues ---------------------------------------------------------------- */

static void raw_command(unsigned index, uint64_t q0)
{
    ubm_word_put(&b.d, b.d.cmdq + UBM_CMD * index, q0);
}

/* A command that does not exist, or is not in memory, stops its queue until
 * software has mended it; others go on. */
static void test_command_errors(void)
{
    const uint32_t q = UBM_CMDQ(0);

    bed_open(&b, NULL);
    raw_command(0, UBM_CMD_TLBI_NS_ALL);
    raw_command(1, 0xff);
    raw_command(2, UBM_CMD_NULL);
    reg_put(q + UBM_CMDQ_PROD, UBM_Q_ENABLE | 3);
    g_assert_cmpuint(b.kicks, ==, 1);
    g_assert_false(ub_ummu_run(b.u, 16));
    g_assert_cmphex(reg(q + UBM_CMDQ_CONS), ==, UBM_Q_ENABLE | UBM_Q_ERROR |
                    UBM_REASON_ILLEGAL << 24 | 1);
    g_assert_cmphex(reg(UBM_GERROR), ==, UBM_GERROR_CMDQ);
    g_assert_cmpuint(b.interrupts, ==, 1);
    g_assert_cmpuint(b.errors, ==, 1);
    reg_put(UBM_GERRORN, UBM_GERROR_CMDQ);
    /* Another queue is not held up. */
    ubm_write64(&b.d, UBM_CMDQ(1), b.d.cmdq | 1);
    reg_put(UBM_CMDQ(1) + UBM_CMDQ_PROD, UBM_Q_ENABLE | 1);
    ub_ummu_run(b.u, 16);
    g_assert_cmphex(reg(UBM_CMDQ(1) + UBM_CMDQ_CONS), ==, UBM_Q_ENABLE | 1);
    raw_command(1, UBM_CMD_NULL);
    reg_put(q + UBM_CMDQ_PROD, UBM_Q_ENABLE | UBM_Q_ERROR | 3);
    ub_ummu_run(b.u, 16);
    g_assert_cmphex(reg(q + UBM_CMDQ_CONS), ==,
                    UBM_Q_ENABLE | UBM_Q_ERROR | 3);
    /* The place is fixed while enabled; more than fits is refused. */
    reg_put(q, 0x1000);
    g_assert_cmphex(reg(q), ==, b.d.cmdq | 4);
    reg_put(q + UBM_CMDQ_PROD, UBM_Q_ENABLE | UBM_Q_ERROR | 20);
    g_assert_cmphex(reg(q + UBM_CMDQ_PROD), ==,
                    UBM_Q_ENABLE | UBM_Q_ERROR | 3);
    g_assert_cmpuint(b.errors, ==, 3);
    reg_put(q + UBM_CMDQ_PROD, 0);
    g_assert_cmphex(reg(q + UBM_CMDQ_CONS), ==, UBM_Q_ERROR | 3);
    reg_put(q + UBM_CMDQ_CONS, 0);
    ubm_write64(&b.d, q, 1ull << 45 | 4);
    reg_put(q + UBM_CMDQ_PROD, UBM_Q_ENABLE | 1);
    ub_ummu_run(b.u, 16);
    g_assert_cmphex(reg(q + UBM_CMDQ_CONS), ==, UBM_Q_ENABLE | UBM_Q_ERROR |
                    UBM_REASON_ABORT << 24);
    g_assert_cmphex(reg(UBM_GERROR), ==, 0);
    g_assert_cmpuint(b.interrupts, ==, 2);
    /* No ring of that size. */
    reg_put(UBM_CMDQ(7), 13);
    reg_put(UBM_CMDQ(7) + UBM_CMDQ_PROD, UBM_Q_ENABLE);
    g_assert_cmphex(reg(UBM_CMDQ(7) + UBM_CMDQ_CONS), ==, 0);
    bed_free(&b);
}

/* SYNC writes its word when all before it is done; indexes wrap. */
static void test_sync(void)
{
    uint64_t at;

    bed_open(&b, NULL);
    at = ubm_alloc(&b.d, 16, 16);
    for (unsigned i = 0; i < 100; i++) {
        ubm_command(&b.d, UBM_CMD_SYNC | 1 << 12 | (uint64_t)(i + 7) << 32,
                    at + 4, 0, 0);
        g_assert_cmpuint(ubm_word(&b.d, at), ==, (uint64_t)(i + 7) << 32);
    }
    g_assert_cmphex(reg(UBM_GERROR), ==, 0);
    ubm_command(&b.d, UBM_CMD_SYNC | 1 << 12, 1ull << 40, 0, 0);
    g_assert_cmphex(reg(UBM_GERROR), ==, UBM_GERROR_SYNC);
    ubm_command(&b.d, UBM_CMD_SYNC | 2 << 12 | 1ull << 32, at, 0, 0);
    g_assert_cmpuint(ubm_word(&b.d, at) & 0xffffffff, ==, 0);
    /* No more than the budget in one turn. */
    for (unsigned i = 0; i < 10; i++) {
        raw_command((b.d.cmd_pi + i) & 15, UBM_CMD_NULL);
    }
    reg_put(UBM_CMDQ(0) + UBM_CMDQ_PROD, UBM_Q_ENABLE |
            ((b.d.cmd_pi + 10) & 31));
    g_assert_true(ub_ummu_run(b.u, 4));
    g_assert_cmphex(reg(UBM_CMDQ(0) + UBM_CMDQ_CONS) & UBM_Q_INDEX, ==,
                    (b.d.cmd_pi + 4) & 31);
    g_assert_false(ub_ummu_run(b.u, 6));
    bed_free(&b);
}

/* ---- Caches --------------------------------------------------------------------------- */

static UbUmmuResult ask(uint64_t addr)
{
    return bed_read(&b, addr);
}

/* A strict UMMU serves what it has seen until the right command; nothing else
 * makes it forget. */
static void test_strict(void)
{
    const uint64_t token = (uint64_t)BED_TOKEN << 12, va = BED_UBA;
    /* Which of context, translation, permission a command makes it forget. */
    const struct {
        uint64_t q0, q1, q2;
        unsigned drops;
    } rows[] = {
        { UBM_CMD_CFGI_TECT, 0, 0, 1 },
        { UBM_CMD_CFGI_TECT, 0, 1, 0 },
        { UBM_CMD_CFGI_TECT_RANGE | 31ull << 52, 0, 9, 1 },
        { UBM_CMD_CFGI_TECT_RANGE | 2ull << 52, 0, 7, 1 },
        { UBM_CMD_CFGI_TECT_RANGE | 2ull << 52, 0, 8, 0 },
        { UBM_CMD_CFGI_TCT | token, 0, 0, 1 },
        { UBM_CMD_CFGI_TCT | 6 << 12, 0, 0, 0 },
        { UBM_CMD_CFGI_TCT | token, 0, 1, 0 },
        { UBM_CMD_CFGI_TCT_ALL, 0, 0, 1 },
        { UBM_CMD_TLBI_OS_ALL, 0, 0, 2 },
        { UBM_CMD_TLBI_OS_ALL | 3ull << 48, 0, 0, 0 },
        { UBM_CMD_TLBI_OS_TID | token, 0, 0, 2 },
        { UBM_CMD_TLBI_OS_TID | 6 << 12, 0, 0, 0 },
        { UBM_CMD_TLBI_OS_VA | token, va, 0, 2 },
        { UBM_CMD_TLBI_OS_VA | token, va + 4096, 0, 0 },
        { UBM_CMD_TLBI_OS_VA | token, va - 4096, 0, 0 },
        { UBM_CMD_TLBI_OS_VA | token | 1ull << 32, va - 4096, 0, 2 },
        { UBM_CMD_TLBI_OS_VA | token | 10ull << 32, va - 4096 * 1023, 0, 2 },
        { UBM_CMD_TLBI_OS_VA | token | 10ull << 32, va - 4096 * 1024, 0, 0 },
        { UBM_CMD_TLBI_OS_VA | 6 << 12, va, 0, 0 },
        { UBM_CMD_TLBI_OS_VAA, va, 0, 2 },
        { UBM_CMD_TLBI_HYP_ALL, 0, 0, 2 },
        { UBM_CMD_TLBI_HYP_TID | token, 0, 0, 2 },
        { UBM_CMD_TLBI_HYP_VA | token, va, 0, 2 },
        { UBM_CMD_TLBI_HYP_VAA, va, 0, 2 },
        { UBM_CMD_TLBI_S1S2_VMALL, 0, 0, 2 },
        { UBM_CMD_TLBI_S2_IPA, 0, 0, 2 },
        { UBM_CMD_TLBI_NS_ALL, 0, 0, 2 },
        { 0x90, 0, 0, 2 }, { 0x91, 0, 0, 2 }, { 0x92, 0, 0, 2 },
        { 0x93, 0, 0, 2 }, { 0x99, 0, 0, 2 }, { 0x9a, 0, 0, 2 },
        { 0x9b, 0, 0, 2 }, { 0xa8, 0, 0, 2 }, { 0xaa, 0, 0, 2 },
        { UBM_CMD_PLBI_EID, 0, 0, 4 },
        { UBM_CMD_PLBI_EID, 0, 1, 0 },
        { UBM_CMD_PLBI_EID_TID | token, 0, 0, 4 },
        { UBM_CMD_PLBI_EID_TID | 6 << 12, 0, 0, 0 },
        { UBM_CMD_PLBI_VA | token, va, 0, 4 },
        { UBM_CMD_PLBI_VA | token, va + 4096, 0, 0 },
        { UBM_CMD_PLBI_VA | token, va, 1, 0 },
        { UBM_CMD_PLBI_VA | token | 20ull << 32, 0, 0, 4 },
        { UBM_CMD_PLBI_ALL, 0, 0, 4 },
        { UBM_CMD_PREFETCH, 0, 0, 0 }, { UBM_CMD_NULL, 0, 0, 0 },
    };

    for (unsigned i = 0; i < G_N_ELEMENTS(rows); i++) {
        for (unsigned part = 1; part <= 4; part <<= 1) {
            uint64_t tcte, at;
            unsigned why;

            strict_open(true);
            tcte = bed_tcte(&b, BED_TOKEN);
            g_assert_cmpint(ask(va), ==, OK);
            if (part == 1) {
                at = tcte;
                why = UBM_WHY_TCTE_INVALID;
            } else if (part == 2) {
                at = ubm_desc(&b.d, ubm_word(&b.d, tcte + 16), va, 3);
                why = UBM_WHY_TRANSLATION;
            } else {
                at = ubm_word(&b.d, tcte + 24);
                why = UBM_WHY_MAPTE_INVALID;
            }
            /* A turn does not matter. */
            bed_change(&b, at, 1, 0);
            g_assert_cmpint(ask(va), ==, OK);
            ubm_command(&b.d, rows[i].q0, rows[i].q1, rows[i].q2, 0);
            g_assert_cmpint(ask(va) == OK, ==, !(rows[i].drops & part));
            if (rows[i].drops & part) {
                g_assert_cmpuint(b.a.why, ==, why);
            }
            bed_free(&b);
        }
    }
}

/* TokenValues: a new one is seen by Positive PLB, an old one lives until it is
 * invalidated. */
static void test_positive(void)
{
    for (unsigned positive = 0; positive < 2; positive++) {
        UbUmmuAccess a = bed_access(UB_UMMU_READ, BED_UBA, 8);
        uint64_t at;

        strict_open(positive);
        g_assert_cmpint(!!(reg(UBM_CAP(4)) & UBM_CAP4_PPLB), ==, positive);
        at = ubm_word(&b.d, bed_tcte(&b, BED_TOKEN) + 24);
        g_assert_cmpint(bed_ask(&b, &a), ==, OK);
        ubm_word_put(&b.d, at + 24, 0x600000005ull);
        g_assert_cmpint(bed_ask(&b, &a), ==, OK);
        a.token = 6;
        g_assert_cmpint(bed_ask(&b, &a), ==, positive ? OK : UR);
        /* It has looked: now the old one is gone, too. */
        a.token = BED_VALUE;
        g_assert_cmpint(bed_ask(&b, &a), ==, positive ? UR : OK);
        ubm_command(&b.d, UBM_CMD_PLBI_ALL, 0, 0, 0);
        g_assert_cmpint(bed_ask(&b, &a), ==, UR);
        bed_free(&b);
    }
}

/* §11.4.4: A main and B spare; B main and C spare: A fails. */
static void test_rotation(void)
{
    UbUmmuAccess a = bed_access(UB_UMMU_READ, BED_UBA, 8);
    uint64_t at;

    bed_open(&b, NULL);
    at = ubm_word(&b.d, bed_tcte(&b, BED_TOKEN) + 24) + 24;
    for (unsigned step = 0; step < 2; step++) {
        ubm_word_put(&b.d, at, step ? 0xc0000000bull : 0xb0000000aull);
        ubm_flush(&b.d, BED_TOKEN);
        for (unsigned value = 0xa; value <= 0xc; value++) {
            a.token = value;
            g_assert_cmpint(bed_ask(&b, &a), ==,
                            value - 0xa == step || value - 0xb == step ? OK
                                                                       : UR);
        }
    }
    bed_free(&b);
}

/* What is not strict sees the next turn what was written, and MATTWD what was
 * remembered. */
static void test_turn(void)
{
    uint64_t tcte, leaf;

    bed_open(&b, NULL);
    tcte = bed_tcte(&b, BED_TOKEN);
    leaf = ubm_desc(&b.d, ubm_word(&b.d, tcte + 16), BED_UBA, 3);
    g_assert_cmpint(ask(BED_UBA), ==, OK);
    ubm_word_put(&b.d, leaf, 0);
    g_assert_cmpint(ask(BED_UBA), ==, OK);
    ub_ummu_turn(b.u);
    g_assert_cmpint(ask(BED_UBA), ==, RA);
    bed_free(&b);
    strict_open(true);
    tcte = bed_tcte(&b, BED_TOKEN);
    g_assert_cmpint(ask(BED_UBA), ==, OK);
    bed_change(&b, tcte + 8, 0, UBM_TCTE_MATTWD);
    ubm_command(&b.d, UBM_CMD_CFGI_TCT_ALL, 0, 0, 0);
    g_assert_cmpint(ask(BED_UBA), ==, OK);
    g_assert_cmpint(ask(BED_UBA + 4096), ==, RA);
    g_assert_cmpuint(b.a.why, ==, UBM_WHY_MATTWD);
    bed_free(&b);
}

/* ---- Events ----------------------------------------------------------------------------- */

/* The queue fills, loses with a toggle, and goes on; interrupts come when there
 * is something new. */
static void test_overflow(void)
{
    bed_open(&b, NULL);
    reg_put(UBM_EVTQ_USI_DATA, 9);
    for (unsigned i = 0; i < 20; i++) {
        ask(0x5000);
    }
    g_assert_cmpuint(b.interrupts, ==, 1);
    g_assert_cmpuint(b.vector, ==, 9);
    g_assert_cmphex(reg(UBM_EVTQ_PROD), ==, UBM_EVTQ_OVERFLOW | 16);
    g_assert_cmpuint(reg(UBM_LOST), ==, 4);
    g_assert_nonnull(ubm_event(&b.d));
    g_assert_cmpuint(b.interrupts, ==, 2);
    while (ubm_event(&b.d)) {
        continue;
    }
    ask(0x5000);
    g_assert_cmphex(reg(UBM_EVTQ_PROD), ==, UBM_EVTQ_OVERFLOW | 17);
    g_assert_nonnull(ubm_event(&b.d));
    for (unsigned i = 0; i < 17; i++) {
        ask(0x5000);
    }
    g_assert_cmphex(reg(UBM_EVTQ_PROD), ==, 1);
    /* Where it cannot be written. */
    reg_put(UBM_CR0, UBM_CR0_ENABLE | UBM_CR0_MAPT);
    g_assert_cmpint(ask(0x5000), ==, RA);
    g_assert_cmpuint(reg(UBM_LOST), ==, 5);
    ubm_write64(&b.d, UBM_EVTQ_BASE, 1ull << 40 | 4);
    reg_put(UBM_CR0, UBM_CR0_ALL);
    reg_put(UBM_EVTQ_CONS, reg(UBM_EVTQ_PROD));
    ask(0x5000);
    g_assert_cmphex(reg(UBM_GERROR), ==, UBM_GERROR_EVTQ);
    g_assert_cmpuint(reg(UBM_LOST), ==, 6);
    bed_free(&b);
}

/* EM_EN: same page, kind, TokenID and code are one event while it is unread. */
static void test_merge(void)
{
    bed_open(&b, NULL);
    bed_change(&b, b.d.tect, 0, UBM_TECTE_EM_EN);
    ask(0x5000);
    ask(0x5fff);
    ask(0x5800);
    g_assert_cmpuint(reg(UBM_MERGED), ==, 2);
    ask(0x6000);
    g_assert_nonnull(ubm_event(&b.d));
    g_assert_nonnull(ubm_event(&b.d));
    g_assert_null(ubm_event(&b.d));
    ask(0x5000);
    g_assert_nonnull(ubm_event(&b.d));
    g_assert_cmpuint(reg(UBM_MERGED), ==, 2);
    {
        UbUmmuAccess a = bed_access(UB_UMMU_WRITE, 0x5000, 1);

        ask(0x5000);
        bed_ask(&b, &a);
        g_assert_nonnull(ubm_event(&b.d));
        g_assert_nonnull(ubm_event(&b.d));
    }
    bed_free(&b);
}

/* ---- Faults ------------------------------------------------------------------------------- */

/* Page Fault with the timer that software set. */
static void test_page_fault(void)
{
    bed_open(&b, NULL);
    bed_change(&b, bed_tcte(&b, BED_TOKEN), 0, UBM_TCTE_PF);
    reg_put(UBM_PF_TIMER, 13);
    g_assert_cmpint(ask(0x5000), ==, UB_UMMU_FAULT);
    g_assert_cmpuint(b.a.timer, ==, 13);
    g_assert_nonnull(ubm_event(&b.d));
    reg_put(UBM_PF_TIMER, 20);
    g_assert_cmpuint(b.errors, ==, 1);
    g_assert_cmpuint(reg(UBM_PF_TIMER), ==, 13);
    {
        UbUmmuAccess a = bed_access(UB_UMMU_READ, 0x5000, 1);

        a.local = true;
        g_assert_cmpint(bed_ask(&b, &a), ==, RA);
    }
    bed_free(&b);
}

static unsigned stall_count(void)
{
    UbUmmuState state;

    ub_ummu_state(b.u, &state);
    return state.stalls;
}

static unsigned stalled(uint64_t addr)
{
    const uint8_t *e;

    g_assert_cmpint(ask(addr), ==, UB_UMMU_LATER);
    e = ubm_event(&b.d);
    g_assert_nonnull(e);
    g_assert_true(get_le64(e) & UBM_EVT_STALL);
    g_assert_cmphex(get_le64(e + UBM_EVT_ADDR), ==, addr);
    g_assert_cmpuint(get_le64(e + 8) & 0xffff, ==, b.a.stall);
    return b.a.stall;
}

static void resume(unsigned stag, uint64_t how)
{
    ubm_command(&b.d, UBM_CMD_STALL_RESUME | how, stag, 0, 0);
}

/* Neither RETRY nor ABORT: it is not tried again. */
static void test_resume_nothing(void)
{
    unsigned stag;

    bed_open(&b, NULL);
    bed_change(&b, bed_tcte(&b, BED_TOKEN), 0, UBM_TCTE_FBS);
    bed_change(&b, b.d.tect + 8, 0, UBM_TECTE_TCT_STALL_EN);
    ubm_single(&b.d, BED_TOKEN, UBM_MAPTE_V | UBM_RWA, 0, UINT32_MAX, 0);
    stag = stalled(0x5000);
    resume(stag, 0);
    g_assert_cmpuint(b.resolved, ==, 1);
    g_assert_cmpuint(b.stall, ==, stag);
    g_assert_true(b.aborted);
    bed_free(&b);
}

static void test_stall(void)
{
    UbUmmuAccess a = bed_access(UB_UMMU_READ, 0x5000, 8);
    unsigned stag, other;

    bed_open(&b, NULL);
    ubm_single(&b.d, BED_TOKEN, UBM_MAPTE_V | UBM_RWA, 0, UINT32_MAX, 0);
    bed_change(&b, bed_tcte(&b, BED_TOKEN), 0, UBM_TCTE_FBS);
    bed_change(&b, b.d.tect + 8, 0, UBM_TECTE_TCT_STALL_EN);
    stag = stalled(0x5000);
    other = stalled(0x6000);
    g_assert_cmpuint(stag, !=, other);
    /* Asked again it still waits, without another event. */
    g_assert_cmpint(ask(0x5000), ==, UB_UMMU_LATER);
    g_assert_null(ubm_event(&b.d));
    ubm_map(&b.d, BED_TOKEN, 0x5000, BED_PA, 4096, 0);
    resume(stag, UBM_RESUME_RETRY);
    g_assert_cmpuint(b.resolved, ==, 1);
    g_assert_cmpint(ask(0x5000), ==, OK);
    g_assert_cmpuint(b.stall, ==, stag);
    g_assert_false(b.aborted);
    /* The end by software is that of all that wait, with their answer, and of
     * nobody who comes later: that begins anew, and may have the same number. */
    resume(other, UBM_RESUME_ABORT);
    g_assert_cmpuint(b.resolved, ==, 2);
    g_assert_cmpuint(b.stall, ==, other);
    g_assert_true(b.aborted);
    g_assert_cmpuint(ub_ummu_refused(b.u, UBM_WHY_STALL_ABORT), ==, 1);
    g_assert_cmpuint(ub_ummu_counter(b.u, UB_UMMU_CNT_REFUSED), ==, 1);
    g_assert_cmpuint(stall_count(), ==, 0);
    resume(other, UBM_RESUME_RETRY);
    g_assert_cmpuint(b.errors, ==, 1);
    other = stalled(0x6000);
    g_assert_cmpuint(stall_count(), ==, 1);
    /* Neither both, nor the tag of another, nor a number that there is not. */
    ubm_command(&b.d, UBM_CMD_STALL_RESUME | UBM_RESUME_RETRY, other, 1, 0);
    g_assert_cmpuint(b.errors, ==, 2);
    resume(256, UBM_RESUME_RETRY);
    g_assert_cmpuint(b.errors, ==, 3);
    b.errors = 0;
    g_assert_cmpuint(b.resolved, ==, 2);
    resume(other + 1, UBM_RESUME_RETRY);
    g_assert_cmpuint(b.errors, ==, 1);
    ubm_command(&b.d, UBM_CMD_STALL_TERM, 0, 1, 0);
    g_assert_cmpuint(b.resolved, ==, 2);
    ubm_command(&b.d, UBM_CMD_STALL_TERM, 0, 0, 0);
    g_assert_cmpuint(b.resolved, ==, 3);
    g_assert_true(b.aborted);
    stalled(0x6000);
    ubm_command(&b.d, UBM_CMD_STALL_RESUME | UBM_RESUME_RETRY |
                UBM_RESUME_ABORT, b.a.stall, 0, 0);
    g_assert_true(b.aborted);
    /* Own addresses do not wait. */
    a.addr = 0x7000;
    a.local = true;
    g_assert_cmpint(bed_ask(&b, &a), ==, RA);
    g_assert_nonnull(ubm_event(&b.d));
    /* More than there is room for are answered at once. */
    for (unsigned i = 0; i < 300; i++) {
        g_assert_cmpint(ask(0x100000 + i * 4096), ==,
                        i < 256 ? UB_UMMU_LATER : RA);
        while (ubm_event(&b.d)) {
        }
    }
    /* The end of them all takes some turns, and SYNC waits for it. */
    b.resolved = 0;
    ubm_word_put(&b.d, b.d.cmdq + UBM_CMD * (b.d.cmd_pi & 15),
                 UBM_CMD_STALL_TERM);
    ubm_word_put(&b.d, b.d.cmdq + UBM_CMD * (b.d.cmd_pi & 15) + 16, 0);
    reg_put(UBM_CMDQ(0) + UBM_CMDQ_PROD, UBM_Q_ENABLE |
            ((b.d.cmd_pi + 1) & 31));
    for (unsigned turn = 1; turn < 8; turn++) {
        g_assert_true(ub_ummu_run(b.u, 512));
        g_assert_cmpuint(b.resolved, ==, 32 * turn);
        g_assert_cmpuint(stall_count(), ==, 256 - 32 * turn);
        g_assert_cmpuint(reg(UBM_CMDQ(0) + UBM_CMDQ_CONS) & UBM_Q_INDEX, ==,
                         b.d.cmd_pi);
    }
    g_assert_false(ub_ummu_run(b.u, 512));
    g_assert_cmpuint(b.resolved, ==, 256);
    b.d.cmd_pi = (b.d.cmd_pi + 1) & 31;
    g_assert_cmpuint(reg(UBM_CMDQ(0) + UBM_CMDQ_CONS) & UBM_Q_INDEX, ==,
                     b.d.cmd_pi);
    g_assert_cmpint(ask(0x100000), ==, UB_UMMU_LATER);
    bed_free(&b);
}

/* Who waits has an event that software can find; where there is no room for one, or no
 * queue, it does not wait. */
static void test_stall_untold(void)
{
    const uint64_t tcte = UBM_TCTE_FBS | UBM_TCTE_PF;
    UbUmmuAccess bad = bed_access(UB_UMMU_READ, BED_UBA, 8);
    uint32_t cr0;

    bed_open(&b, NULL);
    bed_change(&b, bed_tcte(&b, BED_TOKEN), UBM_TCTE_PF, UBM_TCTE_FBS);
    bed_change(&b, b.d.tect + 8, 0, UBM_TECTE_TCT_STALL_EN);
    bad.token++;
    while (!(reg(UBM_EVTQ_PROD) & UBM_EVTQ_OVERFLOW)) {
        g_assert_cmpint(bed_ask(&b, &bad), ==, UR);
    }
    g_assert_cmpint(ask(0x5000), ==, RA);
    g_assert_cmpuint(stall_count(), ==, 0);
    g_assert_cmpuint(ub_ummu_counter(b.u, UB_UMMU_CNT_STALLS), ==, 0);
    g_assert_cmpuint(reg(UBM_LOST), ==, 2);
    bed_change(&b, bed_tcte(&b, BED_TOKEN), 0, tcte);
    g_assert_cmpint(ask(0x5000), ==, UB_UMMU_FAULT);
    g_assert_nonnull(ubm_event(&b.d));
    g_assert_cmpint(ask(0x5000), ==, UB_UMMU_LATER);
    g_assert_cmpuint(stall_count(), ==, 1);
    /* Of one that has begun nothing more is told. */
    g_assert_cmpint(ask(0x5000), ==, UB_UMMU_LATER);
    cr0 = reg(UBM_CR0);
    reg_put(UBM_CR0, cr0 & ~UBM_CR0_EVTQ);
    g_assert_cmpint(ask(0x6000), ==, UB_UMMU_FAULT);
    g_assert_cmpuint(stall_count(), ==, 1);
    bed_free(&b);
}

/* The end of all that wait now is not put off by those that come meanwhile. */
static void test_term_ends(void)
{
    unsigned turns = 0, next = 0;

    bed_open(&b, NULL);
    bed_change(&b, bed_tcte(&b, BED_TOKEN), 0, UBM_TCTE_FBS);
    bed_change(&b, b.d.tect + 8, 0, UBM_TECTE_TCT_STALL_EN);
    for (unsigned i = 0; i < 2; i++) {
        uint32_t pi = b.d.cmd_pi;

        while (stall_count() < 40) {
            stalled(0x100000 + next++ * 4096);
        }
        b.resolved = 0;
        ubm_word_put(&b.d, b.d.cmdq + UBM_CMD * (pi & 15), UBM_CMD_STALL_TERM);
        ubm_word_put(&b.d, b.d.cmdq + UBM_CMD * (pi & 15) + 16, 0);
        b.d.cmd_pi = (pi + 1) & 31;
        reg_put(UBM_CMDQ(0) + UBM_CMDQ_PROD, UBM_Q_ENABLE | b.d.cmd_pi);
        for (turns = 0; ub_ummu_run(b.u, 1) && turns < 100; turns++) {
            while (stall_count() < 40) {
                stalled(0x100000 + next++ * 4096);
            }
        }
        g_assert_cmpuint(turns, <, 100);
        g_assert_cmpuint(b.resolved, >=, 40);
    }
    bed_free(&b);
}

/* What goes over a whole cache takes more of a turn than what does not, and no queue
 * keeps the others waiting. */
static void test_budget(void)
{
    const uint64_t page = UBM_CMD_TLBI_OS_VA | BED_TOKEN << 12;

    bed_open(&b, NULL);
    for (unsigned i = 0; i < 16; i++) {
        raw_command(i, i < 8 ? UBM_CMD_TLBI_OS_TID : page);
    }
    reg_put(UBM_CMDQ(0) + UBM_CMDQ_PROD, UBM_Q_ENABLE | 16);
    for (unsigned turn = 1; turn <= 4; turn++) {
        g_assert_true(ub_ummu_run(b.u, 128));
        g_assert_cmpuint(reg(UBM_CMDQ(0) + UBM_CMDQ_CONS) & UBM_Q_INDEX, ==,
                         2 * turn);
    }
    g_assert_false(ub_ummu_run(b.u, 128));
    g_assert_cmpuint(reg(UBM_CMDQ(0) + UBM_CMDQ_CONS) & UBM_Q_INDEX, ==, 16);
    /* Two queues of one scan a turn take turns. */
    for (unsigned q = 0; q < 2; q++) {
        reg_put(UBM_CMDQ(q) + UBM_CMDQ_PROD, 0);
        reg_put(UBM_CMDQ(q) + UBM_CMDQ_CONS, 0);
        ubm_write64(&b.d, UBM_CMDQ(q), b.d.cmdq | 3);
        reg_put(UBM_CMDQ(q) + UBM_CMDQ_PROD, UBM_Q_ENABLE | 8);
    }
    for (unsigned turn = 0; turn < 9; turn++) {
        ub_ummu_run(b.u, 1);
    }
    g_assert_cmpuint(reg(UBM_CMDQ(0) + UBM_CMDQ_CONS) & UBM_Q_INDEX, >, 0);
    g_assert_cmpuint(reg(UBM_CMDQ(1) + UBM_CMDQ_CONS) & UBM_Q_INDEX, >, 0);
    bed_free(&b);
}

/* ---- Unprivileged software ------------------------------------------------------------------ */

typedef struct User {
    uint64_t cmd, cpl;
    uint32_t pi;
} User;

static void user_open(User *u, unsigned n, uint32_t token_id)
{
    uint64_t ctx = ubm_alloc(&b.d, 64 * 128, 64);

    u->cmd = ubm_alloc(&b.d, 4096, 4096);
    u->cpl = ubm_alloc(&b.d, 4096, 4096);
    u->pi = 0;
    ubm_word_put(&b.d, ctx + 64 * n, u->cmd | 2 << 2);
    ubm_word_put(&b.d, ctx + 64 * n + 8, u->cpl | 1 << 2);
    ubm_word_put(&b.d, ctx + 64 * n + 32, token_id);
    ubm_write64(&b.d, UBM_UQ_CTX, ctx | 7);
}

static void user_command(User *u, unsigned n, uint64_t q0, uint64_t q1)
{
    ubm_word_put(&b.d, u->cmd + 16 * (u->pi & 3), q0);
    ubm_word_put(&b.d, u->cmd + 16 * (u->pi & 3) + 8, q1);
    u->pi = (u->pi + 1) & 7;
    reg_put(UBM_UQ(n) + UBM_UQ_CMD_PI, u->pi);
}

/* A program invalidates its own permissions, and nobody else's. */
static void test_user(void)
{
    uint64_t at;
    User u;

    strict_open(true);
    user_open(&u, 3, BED_TOKEN);
    at = ubm_word(&b.d, bed_tcte(&b, BED_TOKEN) + 24);
    g_assert_cmpint(ask(BED_UBA), ==, OK);
    bed_change(&b, at, 1, 0);
    user_command(&u, 3, UBM_UCMD_PLBI_VA, BED_UBA + 4096);
    user_command(&u, 3, UBM_UCMD_PSYNC, 0);
    ub_ummu_run(b.u, 16);
    g_assert_cmpint(ask(BED_UBA), ==, OK);
    user_command(&u, 3, UBM_UCMD_PLBI_VA | 1ull << 32, BED_UBA - 4096);
    ub_ummu_run(b.u, 16);
    g_assert_cmpint(ask(BED_UBA), ==, UR);
    bed_change(&b, at, 0, 1);
    g_assert_cmpint(ask(BED_UBA), ==, OK);
    bed_change(&b, at, 1, 0);
    user_command(&u, 3, UBM_UCMD_PLBI_ALL, 0);
    ub_ummu_run(b.u, 16);
    g_assert_cmpint(ask(BED_UBA), ==, UR);
    g_assert_cmpuint(reg(UBM_UQ(3) + UBM_UQ_CMD_CI), ==, 4);
    g_assert_cmpuint(reg(UBM_UQ(3) + UBM_UQ_CPL_PI), ==, 1);
    g_assert_cmphex(get_le32(b.ram + u.cpl), ==, UBM_UCPL_OK | 2 << 16);
    /* Errors complete, too; a full completion ring waits for room. */
    user_command(&u, 3, 0x77, 0);
    user_command(&u, 3, UBM_UCMD_PSYNC, 0);
    g_assert_false(ub_ummu_run(b.u, 16));
    g_assert_cmphex(get_le32(b.ram + u.cpl + 4), ==, UBM_UCPL_TYPE | 5 << 16);
    g_assert_cmpuint(reg(UBM_UQ(3) + UBM_UQ_CMD_CI), ==, 5);
    reg_put(UBM_UQ(3) + UBM_UQ_CPL_CI, 2);
    ub_ummu_run(b.u, 16);
    g_assert_cmpuint(reg(UBM_UQ(3) + UBM_UQ_CMD_CI), ==, 6);
    g_assert_cmpuint(b.errors, ==, 0);
    /* One of another TokenID does not reach this one's. */
    bed_change(&b, at, 0, 1);
    g_assert_cmpint(ask(BED_UBA), ==, OK);
    bed_change(&b, at, 1, 0);
    user_open(&u, 4, BED_TOKEN + 1);
    user_command(&u, 4, UBM_UCMD_PLBI_ALL, 0);
    ub_ummu_run(b.u, 16);
    g_assert_cmpint(ask(BED_UBA), ==, OK);
    /* Queue 3 has no context now; released, its indexes are 0. */
    reg_put(UBM_UQ(3) + UBM_UQ_CMD_PI, 0x1234);
    ub_ummu_run(b.u, 16);
    g_assert_cmpuint(b.errors, ==, 1);
    reg_put(UBM_UQ_RELEASE_ID, 3);
    reg_put(UBM_UQ_RELEASE, 1);
    g_assert_cmpuint(reg(UBM_UQ_RELEASE), ==, 0);
    g_assert_cmpuint(reg(UBM_UQ(3) + UBM_UQ_CMD_PI), ==, 0);
    g_assert_cmpuint(reg(UBM_UQ(3) + UBM_UQ_CPL_PI), ==, 0);
    bed_free(&b);
}

/* ---- Registers, migration ------------------------------------------------------------------- */

static void test_registers(void)
{
    bed_open(&b, NULL);
    g_assert_cmphex(reg(UBM_IIDR) >> 8 & 0xfff, !=, 0);
    g_assert_true(reg(UBM_CAP(2)) & UBM_CAP2_S1);
    g_assert_cmphex(reg(UBM_CAP(2)) & UBM_CAP2_TTF, ==, 2 << 14);
    /* Where tables are is fixed while they are used. */
    reg_put(UBM_TECT_BASE, 0x1000);
    reg_put(UBM_TECT_CFG, 3);
    reg_put(UBM_TEE_MEM, 0x1000);
    reg_put(UBM_EVTQ_BASE, 0x1000);
    reg_put(UBM_EVTQ_PROD, 3);
    reg_put(UBM_IIDR, 3);
    reg_put(UBM_CR0ACK, 3);
    reg_put(0x60, 3);
    reg_put(UBM_EVTQ_USI_DATA, b.cfg.vectors);
    reg_put(UBM_UQ(UBM_UQS), 0);
    reg_put(UBM_UQ(0) + UBM_UQ_CMD_CI, 0);
    g_assert_cmpuint(b.errors, ==, 11);
    g_assert_cmphex(reg(UBM_TECT_BASE), ==, b.d.tect);
    g_assert_cmphex(reg(UBM_EVTQ_PROD), ==, 0);
    g_assert_cmphex(reg(UBM_CR0ACK), ==, 0x23);
    reg_put(UBM_CR0, ~0u);
    g_assert_cmphex(reg(UBM_CR0ACK), ==, UBM_CR0_ALL);
    reg_put(UBM_GBPA, ~0u);
    g_assert_cmphex(reg(UBM_GBPA), ==, ~UBM_GBPA_UPDATE);
    /* Without CR0.MAPT nothing that asks for permission tables is let in. */
    reg_put(UBM_CR0, UBM_CR0_ENABLE | UBM_CR0_EVTQ);
    g_assert_cmpint(ask(BED_UBA), ==, UR);
    g_assert_cmpuint(b.a.why, ==, UBM_WHY_MAPT_OFF);
    reg_put(UBM_CR0, 0);
    g_assert_true(ub_ummu_decides(b.u));
    g_assert_cmpint(ask(BED_UBA), ==, UR);
    g_assert_cmpuint(b.a.why, ==, UBM_WHY_ABORT);
    reg_put(UBM_GBPA, 0);
    g_assert_false(ub_ummu_decides(b.u));
    g_assert_true(ub_ummu_touched(b.u));
    ub_ummu_reset(b.u);
    g_assert_false(ub_ummu_touched(b.u));
    g_assert_cmphex(reg(UBM_TECT_BASE), ==, 0);
    bed_free(&b);
}

/* A configuration table of a size or format that does not exist is not taken, by
 * register or image; the largest one finds the last tag. */
static void test_tect_cfg(void)
{
    static const uint32_t good[] = {
        0, 16, 16 | 31 << 6, 16 | 1 << 6 | 1 << 11, 16 | 15 << 6 | 1 << 11,
    };
    static const uint32_t bad[] = {
        17, 32, 63, 6 | 1 << 11, 6 | 16 << 6 | 1 << 11, 6 | 31 << 6 | 1 << 11,
        6 | 4 << 6 | 2 << 11, 6 | 4 << 6 | 3 << 11,
    };

    bed_open(&b, NULL);
    reg_put(UBM_CR0, UBM_CR0_EVTQ);
    for (unsigned tee = 0; tee < 2; tee++) {
        uint32_t at = tee ? UBM_TEE_CFG : UBM_TECT_CFG;

        for (unsigned i = 0; i < G_N_ELEMENTS(good); i++) {
            reg_put(at, good[i]);
            g_assert_cmphex(reg(at), ==, good[i]);
        }
        b.errors = 0;
        for (unsigned i = 0; i < G_N_ELEMENTS(bad); i++) {
            reg_put(at, bad[i]);
            g_assert_cmphex(reg(at), ==, good[G_N_ELEMENTS(good) - 1]);
            g_assert_cmpuint(b.errors, ==, i + 1);
        }
    }
    reg_put(UBM_TEE_CFG, UBM_TEE_CFG_ENABLE | 16);
    g_assert_cmphex(reg(UBM_TEE_CFG), ==, UBM_TEE_CFG_ENABLE | 16);
    reg_put(UBM_TECT_CFG, 16);
    ubm_write64(&b.d, UBM_TECT_BASE, BED_PA - 0xffffull * UBM_TECTE);
    memcpy(b.ram + BED_PA, b.ram + b.d.tect, UBM_TECTE);
    reg_put(UBM_DEFAULT, UBM_DEFAULT_ALL | 0xffff);
    reg_put(UBM_CR0, UBM_CR0_ALL);
    g_assert_cmpint(bed_read(&b, BED_UBA), ==, OK);
    bed_free(&b);
}

static uint8_t *save(size_t *len)
{
    CoreImage *im = core_image_save(0);
    uint8_t *data;

    ub_ummu_image(b.u, im);
    data = core_image_take(im, len);
    core_image_free(im);
    return data;
}

static const char *load(const uint8_t *data, size_t len)
{
    CoreImage *im = core_image_load(data, len, 0);
    const char *why;

    ub_ummu_image(b.u, im);
    why = core_image_done(im);
    core_image_free(im);
    return why;
}

/* Everything comes along but what was remembered; no image does harm. */
static void test_image(void)
{
    uint64_t leaf;
    unsigned stag;
    uint8_t *data, *again;
    size_t len, n;

    strict_open(true);
    ubm_command(&b.d, UBM_CMD_MAP, 0, BED_EID_LOW, BED_EID_HIGH);
    reg_put(UBM_DEFAULT, UBM_DEFAULT_BARE);
    reg_put(UBM_EVTQ_USI_DATA, 5);
    bed_change(&b, bed_tcte(&b, BED_TOKEN), 0, UBM_TCTE_FBS);
    bed_change(&b, b.d.tect + 8, 0, UBM_TECTE_TCT_STALL_EN);
    g_assert_cmpint(ask(BED_UBA), ==, OK);
    stag = stalled(0x5000);
    leaf = ubm_desc(&b.d, ubm_word(&b.d, bed_tcte(&b, BED_TOKEN) + 16),
                    BED_UBA, 3);
    ubm_word_put(&b.d, leaf, 0);
    g_assert_cmpint(ask(BED_UBA), ==, OK);
    data = save(&len);
    g_assert_null(load(data, len));
    again = save(&n);
    g_assert_cmpmem(again, n, data, len);
    g_free(again);
    g_assert_cmpint(ask(BED_UBA + 4096), ==, OK);
    g_assert_cmpint(ask(BED_UBA), ==, UB_UMMU_LATER);
    g_assert_cmpint(ask(0x5000), ==, UB_UMMU_LATER);
    g_assert_cmpuint(b.a.stall, ==, stag);
    resume(stag, UBM_RESUME_ABORT);
    g_assert_true(b.aborted && b.stall == stag);
    g_assert_cmpuint(reg(UBM_EVTQ_USI_DATA), ==, 5);
    for (n = 0; n < len; n += 1 + n / 64) {
        uint8_t old = data[n];

        g_assert_nonnull(load(data, n));
        data[n] ^= 1 << g_test_rand_int_range(0, 8);
        load(data, len);
        ask(BED_UBA);
        ub_ummu_run(b.u, 16);
        data[n] = old;
    }
    g_assert_null(load(data, len));
    g_assert_cmpint(ask(BED_UBA + 4096), ==, OK);
    g_free(data);
    bed_free(&b);
}

/* Queues of the largest size move, too. */
static void test_image_largest(void)
{
    uint8_t *data;
    size_t len;

    bed_init(&b, NULL);
    ubm_write64(&b.d, UBM_EVTQ_BASE, 0x100000 | UBM_EVTQ_LOG2_MAX);
    reg_put(UBM_CR0, UBM_CR0_EVTQ);
    g_assert_cmphex(reg(UBM_CR0ACK), ==, UBM_CR0_EVTQ);
    ubm_write64(&b.d, UBM_CMDQ(0) + UBM_CMDQ_BASE,
                0x800000 | UBM_CMDQ_LOG2_MAX);
    reg_put(UBM_CMDQ(0) + UBM_CMDQ_PROD, UBM_Q_ENABLE);
    g_assert_cmphex(reg(UBM_CMDQ(0) + UBM_CMDQ_PROD), ==, UBM_Q_ENABLE);
    data = save(&len);
    g_assert_null(load(data, len));
    g_free(data);
    bed_free(&b);
}

/* An image of a UMMU with other rules is refused. */
static void test_settings(void)
{
    for (unsigned i = 0; i < 6; i++) {
        UbUmmuConfig cfg;
        uint8_t *data;
        size_t len;

        bed_open(&b, NULL);
        data = save(&len);
        bed_free(&b);
        ub_ummu_config_init(&cfg);
        cfg.strict ^= i == 1;
        cfg.positive ^= i == 2;
        cfg.lenient ^= i == 3;
        cfg.stage2 ^= i == 4;
        cfg.mapt_physical ^= i == 5;
        bed_init(&b, &cfg);
        g_assert_cmpint(!!load(data, len), ==, !!i);
        g_free(data);
        bed_free(&b);
    }
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/ub/ummu/queues/command-errors", test_command_errors);
    g_test_add_func("/ub/ummu/queues/sync", test_sync);
    g_test_add_func("/ub/ummu/cache/strict", test_strict);
    g_test_add_func("/ub/ummu/cache/positive", test_positive);
    g_test_add_func("/ub/ummu/cache/rotation", test_rotation);
    g_test_add_func("/ub/ummu/cache/turn", test_turn);
    g_test_add_func("/ub/ummu/events/overflow", test_overflow);
    g_test_add_func("/ub/ummu/events/merge", test_merge);
    g_test_add_func("/ub/ummu/faults/page-fault", test_page_fault);
    g_test_add_func("/ub/ummu/faults/stall", test_stall);
    g_test_add_func("/ub/ummu/faults/untold", test_stall_untold);
    g_test_add_func("/ub/ummu/faults/term-ends", test_term_ends);
    g_test_add_func("/ub/ummu/faults/resume-nothing", test_resume_nothing);
    g_test_add_func("/ub/ummu/queues/budget", test_budget);
    g_test_add_func("/ub/ummu/queues/user", test_user);
    g_test_add_func("/ub/ummu/registers", test_registers);
    g_test_add_func("/ub/ummu/tect-cfg", test_tect_cfg);
    g_test_add_func("/ub/ummu/image", test_image);
    g_test_add_func("/ub/ummu/image-largest", test_image_largest);
    g_test_add_func("/ub/ummu/settings", test_settings);
    return g_test_run();
}
