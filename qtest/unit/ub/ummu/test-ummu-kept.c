/*
 * What the UMMU keeps: bits of registers, all of them in an image that another UMMU takes,
 * what commands cost, errors that are told once, the ends of what is cached.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "bed.h"

static Bed b;

static uint32_t reg(uint32_t at)
{
    return ub_ummu_reg_read(b.u, at);
}

static void reg_put(uint32_t at, uint32_t value)
{
    ub_ummu_reg_write(b.u, at, value);
}

/* ---- Registers ----------------------------------------------------------------------- */

/* Bits that software may write, of registers that take any value of them. */
static const struct {
    uint32_t at, bits;
} kept[] = {
    { UBM_CR1, 0xffff }, { UBM_CR2, 0x7f }, { UBM_CR3, 0xffffff },
    { UBM_GBPA, 0x7fffffff },
    { UBM_TECT_BASE, 0xffffffc0 }, { UBM_TECT_BASE + 4, 0x800fffff },
    { UBM_EVTQ_BASE, 0xffffffdf }, { UBM_EVTQ_BASE + 4, 0x800fffff },
    { UBM_EVTQ_PROD, UBM_Q_INDEX | UBM_EVTQ_OVERFLOW },
    { UBM_EVTQ_CONS, UBM_Q_INDEX | UBM_EVTQ_OVERFLOW },
    { UBM_EVTQ_USI_ADDR, 0xfffffffc }, { UBM_EVTQ_USI_ADDR + 4, 0xfffff },
    { UBM_EVTQ_USI_DATA, 1023 }, { UBM_EVTQ_USI_ATTR, 0x3f },
    { UBM_IRQ_ENABLE, 3 }, { UBM_GERRORN, UBM_GERROR_ALL },
    { UBM_GERROR_USI_ADDR, 0xfffffffc }, { UBM_GERROR_USI_ADDR + 4, 0xfffff },
    { UBM_GERROR_USI_DATA, 1023 }, { UBM_GERROR_USI_ATTR, 0x3f },
    { UBM_UQ_CTX, 0xffffffdf }, { UBM_UQ_CTX + 4, 0x800fffff },
    { UBM_UQ_CTX_ATTR, 0x3f }, { UBM_UQ_RELEASE_ID, 0x7fffffff },
    { UBM_DEFAULT, 0xc000ffff }, { UBM_PF_TIMER, 19 },
    { UBM_TEE_BASE, 0xffffffc0 }, { UBM_TEE_BASE + 4, 0x800fffff },
    { UBM_TEE_MEM, 0xfffff000 }, { UBM_TEE_MEM + 4, 0xffffffff },
    { UBM_TEE_MEM_SIZE, 0xfffff000 }, { UBM_TEE_MEM_SIZE + 4, 0xffffffff },
    { UBM_TECT_CFG, 16 | 15 << 6 | 1 << 11 },
    { UBM_TEE_CFG, 16 | 15 << 6 | 1 << 11 | UBM_TEE_CFG_ENABLE },
    { UBM_CMDQ(7), 0xffffffff }, { UBM_CMDQ(7) + 4, 0xfffff },
    { UBM_CMDQ(7) + UBM_CMDQ_CONS, UBM_Q_INDEX },
};

static void test_bits(void)
{
    bed_init(&b, NULL);
    for (unsigned i = 0; i < G_N_ELEMENTS(kept); i++) {
        bool any = kept[i].at != UBM_EVTQ_USI_DATA &&
                   kept[i].at != UBM_GERROR_USI_DATA &&
                   kept[i].at != UBM_PF_TIMER && kept[i].at != UBM_TECT_CFG &&
                   kept[i].at != UBM_TEE_CFG;

        reg_put(kept[i].at, any ? ~0u : kept[i].bits);
        g_assert_cmphex(reg(kept[i].at), ==, kept[i].bits);
        reg_put(kept[i].at, 0);
        g_assert_cmphex(reg(kept[i].at), ==, 0);
    }
    g_assert_cmpuint(b.errors, ==, 0);
    bed_free(&b);
}

/* ---- Images ---------------------------------------------------------------------------- */

/* @to takes what the UMMU is; NULL, or why not. */
static const char *move(UbUmmu *to)
{
    CoreImage *im = core_image_save(0);
    const char *why;
    uint8_t *data;
    size_t len;

    ub_ummu_image(b.u, im);
    data = core_image_take(im, &len);
    core_image_free(im);
    im = core_image_load(data, len, 0);
    ub_ummu_image(to, im);
    why = core_image_done(im);
    core_image_free(im);
    g_free(data);
    return why;
}

/* Something of its own in each register, and behind each that nobody writes. */
static void fill(void)
{
    UbUmmuAccess a = bed_access(UB_UMMU_READ, BED_UBA, 100);

    bed_open(&b, NULL);
    ubm_word_put(&b.d, b.d.tect + 48, 9);
    bed_change(&b, b.d.tect, 0, UBM_TECTE_EM_EN);
    g_assert_cmpint(bed_ask(&b, &a), ==, UB_UMMU_OK);
    ubm_word_put(&b.d, b.d.tect + 48, UBM_MTMS - 1);
    ub_ummu_turn(b.u);
    g_assert_cmpint(bed_ask(&b, &a), ==, UB_UMMU_OK);
    g_assert_cmpint(bed_ask(&b, &a), ==, UB_UMMU_OK);
    a.token++;
    /* One event, and one that is like it; then more than there is room for. */
    for (unsigned i = 0; !reg(UBM_LOST); i++) {
        a.addr = BED_UBA + i % 128 / 2 * 1024;
        a.len = 1 + i / 128;
        g_assert_cmpint(bed_ask(&b, &a), ==, UB_UMMU_UNSUPPORTED);
        ub_ummu_turn(b.u);
        g_assert_cmpuint(i, <, 10000);
        bed_change(&b, b.d.tect, i < 9 ? 0 : UBM_TECTE_EM_EN, 0);
    }
    g_assert_cmpuint(reg(UBM_MERGED), >, 0);
    ubm_command(&b.d, UBM_CMD_SYNC | 1 << 12, BED_RAM, 0, 0);
    g_assert_cmphex(reg(UBM_GERROR), !=, 0);
    for (unsigned q = 1; q < UBM_CMDQS; q++) {
        ubm_write64(&b.d, UBM_CMDQ(q), 0x100000 * q | 3);
        reg_put(UBM_CMDQ(q) + UBM_CMDQ_CONS, q);
        reg_put(UBM_CMDQ(q) + UBM_CMDQ_PROD, q | (q < 4 ? UBM_Q_ENABLE : 0));
    }
    for (unsigned q = 0; q < UBM_UQS; q++) {
        reg_put(UBM_UQ(q) + UBM_UQ_CMD_PI, 0x100 + q);
        reg_put(UBM_UQ(q) + UBM_UQ_CPL_CI, 0x200 + q);
    }
    ub_ummu_run(b.u, 1000);
    reg_put(UBM_CR0, 0);
    for (unsigned i = 0; i < G_N_ELEMENTS(kept); i++) {
        if (!reg(kept[i].at)) {
            reg_put(kept[i].at, kept[i].bits & (0x11111111u * (1 + i % 9)));
        }
        if (!reg(kept[i].at)) {
            reg_put(kept[i].at, kept[i].bits);
        }
        g_assert_cmphex(reg(kept[i].at), !=, 0);
    }
    reg_put(UBM_CR0, UBM_CR0_MAPT | 0x14);
}

/* All registers of another UMMU that has taken the image are as they were; what it has
 * counted is its own. */
static void test_image(void)
{
    UbUmmu *from;
    Bed other;

    fill();
    bed_init(&other, NULL);
    g_assert_cmpstr(move(other.u), ==, NULL);
    from = b.u;
    for (unsigned why = 64; why < 256; why++) {
        g_assert_cmpuint(ub_ummu_refused(from, why), ==, 0);
        g_assert_null(ub_ummu_why(why));
    }
    for (uint32_t at = 0; at < 0x6000; at += 4) {
        g_assert_cmphex(ub_ummu_reg_read(from, at), ==,
                        ub_ummu_reg_read(other.u, at));
    }
    for (unsigned q = 0; q < UBM_UQS; q++) {
        for (uint32_t at = 0; at < 0x20; at += 4) {
            g_assert_cmphex(ub_ummu_reg_read(from, UBM_UQ(q) + at), ==,
                            ub_ummu_reg_read(other.u, UBM_UQ(q) + at));
        }
    }
    for (unsigned i = 0; i < UB_UMMU_COUNTERS_NUM; i++) {
        g_assert_cmpuint(ub_ummu_counter(other.u, i), ==, 0);
    }
    bed_free(&other);
    bed_free(&b);
}

/* Vectors of an image are of the table that is there. */
static void test_vectors_image(void)
{
    static const uint32_t at[] = { UBM_EVTQ_USI_DATA, UBM_GERROR_USI_DATA };
    UbUmmuConfig cfg;

    ub_ummu_config_init(&cfg);
    cfg.vectors = 8;
    for (unsigned i = 0; i < G_N_ELEMENTS(at); i++) {
        for (unsigned vector = 7; vector <= 9; vector++) {
            Bed other;

            bed_open(&b, NULL);
            reg_put(at[i], vector);
            bed_init(&other, &cfg);
            g_assert_cmpstr(move(other.u), ==, vector < 8 ? NULL :
                            "UMMU interrupt with a vector beyond the table");
            bed_free(&other);
            bed_free(&b);
        }
    }
}

/* Those that wait are counted there as here, where a copy is made. */
static void test_stalls_image(void)
{
    UbUmmuState state;
    Bed other;

    bed_open(&b, NULL);
    bed_change(&b, bed_tcte(&b, BED_TOKEN), 0, UBM_TCTE_FBS);
    bed_change(&b, b.d.tect + 8, 0, UBM_TECTE_TCT_STALL_EN);
    for (unsigned i = 0; i < 3; i++) {
        g_assert_cmpint(bed_read(&b, 0x100000 + i * 4096), ==, UB_UMMU_LATER);
    }
    bed_init(&other, NULL);
    g_assert_cmpstr(move(other.u), ==, NULL);
    ub_ummu_state(b.u, &state);
    g_assert_cmpuint(state.stalls, ==, 3);
    ub_ummu_state(other.u, &state);
    g_assert_cmpuint(state.stalls, ==, 3);
    bed_free(&other);
    bed_free(&b);
}

/* ---- Commands ---------------------------------------------------------------------------- */

static void command(unsigned n, uint64_t q0)
{
    memset(b.ram + b.d.cmdq + UBM_CMD * n, 0, UBM_CMD);
    ubm_word_put(&b.d, b.d.cmdq + UBM_CMD * n, q0);
}

static uint32_t cons(void)
{
    return reg(UBM_CMDQ(0) + UBM_CMDQ_CONS) & UBM_Q_INDEX;
}

/* A command that goes over nothing is one of a turn's budget. */
static void test_costs(void)
{
    static const uint64_t simple[] = {
        UBM_CMD_NULL, UBM_CMD_SYNC, UBM_CMD_PREFETCH, UBM_CMD_TLBI_NS_ALL,
        UBM_CMD_PLBI_ALL, UBM_CMD_CFGI_TECT_RANGE | 31ull << 52, UBM_CMD_MAP,
        UBM_CMD_UNMAP, UBM_CMD_STALL_TERM, UBM_CMD_NULL,
    };
    const unsigned n = G_N_ELEMENTS(simple);

    bed_open(&b, NULL);
    for (unsigned i = 0; i < n; i++) {
        command(i, simple[i]);
    }
    reg_put(UBM_CMDQ(0) + UBM_CMDQ_PROD, UBM_Q_ENABLE | n);
    g_assert_true(ub_ummu_run(b.u, n - 1));
    g_assert_cmpuint(cons(), ==, n - 1);
    g_assert_false(ub_ummu_run(b.u, 1));
    g_assert_cmpuint(cons(), ==, n);
    /* So is to look at a queue that was rung for nothing, if it has a context or not. */
    for (unsigned good = 0; good < 2; good++) {
        uint64_t ctx = ubm_alloc(&b.d, 64 * 8, 64);

        for (unsigned q = 0; q < 8; q++) {
            ubm_word_put(&b.d, ctx + 64 * q, good ? 0x10000 | 2 << 2 : 0);
            ubm_word_put(&b.d, ctx + 64 * q + 8, good ? 0x20000 | 2 << 2 : 0);
        }
        ubm_write64(&b.d, UBM_UQ_CTX, ctx | 3);
        b.errors = 0;
        for (unsigned q = 0; q < 8; q++) {
            reg_put(UBM_UQ(q) + UBM_UQ_CMD_PI, 0);
        }
        for (unsigned turn = 0; turn < 3; turn++) {
            g_assert_true(ub_ummu_run(b.u, 2));
        }
        g_assert_false(ub_ummu_run(b.u, 2));
        g_assert_cmpuint(b.errors, ==, good ? 0 : 8);
    }
    bed_free(&b);
}

/* What a program's commands cost is of the turn's budget: it keeps nobody waiting. */
static void test_user_costs(void)
{
    uint64_t ctx, cmd, cpl;

    bed_open(&b, NULL);
    ctx = ubm_alloc(&b.d, 64, 64);
    cmd = ubm_alloc(&b.d, 4096, 4096);
    cpl = ubm_alloc(&b.d, 4096, 4096);
    ubm_word_put(&b.d, ctx, cmd | 3 << 2);
    ubm_word_put(&b.d, ctx + 8, cpl | 3 << 2);
    ubm_word_put(&b.d, ctx + 32, BED_TOKEN);
    for (unsigned i = 0; i < 6; i++) {
        ubm_word_put(&b.d, cmd + 16 * i, UBM_UCMD_PLBI_ALL);
    }
    ubm_write64(&b.d, UBM_UQ_CTX, ctx);
    reg_put(UBM_UQ(0) + UBM_UQ_CMD_PI, 6);
    for (unsigned n = 2; n <= 6; n += 2) {
        g_assert_cmpint(ub_ummu_run(b.u, 100), ==, n < 6);
        g_assert_cmpuint(reg(UBM_UQ(0) + UBM_UQ_CMD_CI), ==, n);
    }
    bed_free(&b);
}

/* A block of 4 KiB has the first 128 entries of the first table, and not one more. */
static void test_last_entry(void)
{
    const uint64_t last = 127ull << 39;
    UbmMapt m;

    bed_open(&b, NULL);
    ubm_multi(&m, &b.d, BED_TOKEN, 1, 4);
    bed_change(&b, bed_tcte(&b, BED_TOKEN) + 24, UBM_TCTE_MAPT_BB_SZ, 0);
    for (unsigned i = 0; i < 2; i++) {
        uint64_t uba = last + ((uint64_t)i << 39);

        ubm_map(&b.d, BED_TOKEN, uba, BED_PA, 4096, 0);
        ubm_mapte(&b.d, m.block + UBM_MAPTE * (127 + i), UBM_MAPTE_V | UBM_RWA, 0,
                  4095, BED_VALUE);
    }
    ub_ummu_turn(b.u);
    g_assert_cmpint(bed_read(&b, last), ==, UB_UMMU_OK);
    g_assert_cmpint(bed_read(&b, last + (1ull << 39)), ==, UB_UMMU_UNSUPPORTED);
    g_assert_cmpuint(b.a.why, ==, UBM_WHY_MAPT_BLOCK);
    bed_free(&b);
}

/* The largest block has tables up to its end. */
static void test_last_table(void)
{
    UbmMapt m;

    bed_open(&b, NULL);
    ubm_multi(&m, &b.d, BED_TOKEN, 1, 9);
    m.used = (4096u << m.log2) / UBM_MAPT_TABLE - 3;
    ubm_mapte(&b.d, ubm_multi_entry(&m, BED_UBA, 3), UBM_MAPTE_V | UBM_RWA, 0, 4095,
              BED_VALUE);
    g_assert_cmpint(bed_read(&b, BED_UBA), ==, UB_UMMU_OK);
    bed_free(&b);
}

/* A command queue may be at any 32 bytes, and is told of where it is. */
static void test_cmdq_place(void)
{
    UbUmmuState state;

    bed_open(&b, NULL);
    for (unsigned i = 0; i < 3; i++) {
        uint64_t at = ubm_alloc(&b.d, 4096, 4096) + UBM_CMD * i;

        ubm_word_put(&b.d, at, UBM_CMD_NULL);
        ubm_write64(&b.d, UBM_CMDQ(3), at | 3);
        ub_ummu_state(b.u, &state);
        g_assert_cmphex(state.cmdq[3].base, ==, at);
        reg_put(UBM_CMDQ(3) + UBM_CMDQ_PROD, UBM_Q_ENABLE | 1);
        ub_ummu_run(b.u, 1);
        g_assert_cmpuint(reg(UBM_CMDQ(3) + UBM_CMDQ_CONS), ==, UBM_Q_ENABLE | 1);
        reg_put(UBM_CMDQ(3) + UBM_CMDQ_PROD, 0);
        reg_put(UBM_CMDQ(3) + UBM_CMDQ_CONS, 0);
    }
    bed_free(&b);
}

/* Who takes events up, or no longer, has the caches as they were; who turns off what they
 * are made of has not. */
static void test_cr0(void)
{
    UbUmmuConfig cfg;

    ub_ummu_config_init(&cfg);
    cfg.strict = true;
    for (unsigned part = 0; part < 2; part++) {
        uint32_t on;

        bed_open(&b, &cfg);
        g_assert_cmpint(bed_read(&b, BED_UBA), ==, UB_UMMU_OK);
        bed_change(&b, bed_tcte(&b, BED_TOKEN), UBM_TCTE_V, 0);
        on = reg(UBM_CR0);
        reg_put(UBM_CR0, on ^ (part ? UBM_CR0_MAPT : UBM_CR0_EVTQ));
        reg_put(UBM_CR0, on);
        g_assert_cmpint(bed_read(&b, BED_UBA), ==,
                        part ? UB_UMMU_UNSUPPORTED : UB_UMMU_OK);
        bed_free(&b);
    }
}

/* An event says where a table is that is not in memory. */
static void test_fetched(void)
{
    const uint64_t away = 1ull << 40;
    uint32_t on;
    const uint8_t *e;

    bed_open(&b, NULL);
    bed_change(&b, b.d.tect + 8, UBM_TECTE_TCT_PTR, away);
    g_assert_cmpint(bed_read(&b, BED_UBA), ==, UB_UMMU_ABORT);
    e = ubm_event(&b.d);
    g_assert_cmphex(e[0], ==, UBM_EVT_TCT_FETCH);
    g_assert_cmphex(get_le64(e + UBM_EVT_FETCH), ==,
                    away + BED_TOKEN * UBM_TCTE);
    on = reg(UBM_CR0);
    reg_put(UBM_CR0, on & ~UBM_CR0_ENABLE);
    ubm_write64(&b.d, UBM_TECT_BASE, away);
    reg_put(UBM_CR0, on);
    g_assert_cmpint(bed_read(&b, BED_UBA), ==, UB_UMMU_ABORT);
    e = ubm_event(&b.d);
    g_assert_cmphex(e[0], ==, UBM_EVT_TECT_FETCH);
    g_assert_cmphex(get_le64(e + UBM_EVT_FETCH), ==, away);
    bed_free(&b);
}

/* A queue that is given up in the middle of STALL_TERM begins the next one anew. */
static void test_term_anew(void)
{
    UbUmmuState state;

    bed_open(&b, NULL);
    bed_change(&b, bed_tcte(&b, BED_TOKEN), 0, UBM_TCTE_FBS);
    bed_change(&b, b.d.tect + 8, 0, UBM_TECTE_TCT_STALL_EN);
    for (unsigned i = 0; i < 40; i++) {
        g_assert_cmpint(bed_read(&b, 0x100000 + i * 4096), ==, UB_UMMU_LATER);
        g_assert_nonnull(ubm_event(&b.d));
    }
    command(0, UBM_CMD_STALL_TERM);
    command(1, UBM_CMD_STALL_TERM);
    reg_put(UBM_CMDQ(0) + UBM_CMDQ_PROD, UBM_Q_ENABLE | 1);
    g_assert_true(ub_ummu_run(b.u, 1));
    g_assert_cmpuint(b.resolved, ==, 16);
    reg_put(UBM_CMDQ(0) + UBM_CMDQ_PROD, 1);
    /* One of the first numbers. */
    g_assert_cmpint(bed_read(&b, 0x200000), ==, UB_UMMU_LATER);
    g_assert_cmpuint(b.a.stall, <, 16);
    reg_put(UBM_CMDQ(0) + UBM_CMDQ_CONS, 1);
    reg_put(UBM_CMDQ(0) + UBM_CMDQ_PROD, UBM_Q_ENABLE | 2);
    while (ub_ummu_run(b.u, 1)) {
    }
    ub_ummu_state(b.u, &state);
    g_assert_cmpuint(state.stalls, ==, 0);
    g_assert_cmpuint(b.resolved, ==, 41);
    bed_free(&b);
}

/* An error that software has not seen is not told again, nor taken back. */
static void test_errors(void)
{
    bed_open(&b, NULL);
    for (unsigned lap = 0; lap < 2; lap++) {
        b.interrupts = 0;
        for (unsigned i = 0; i < 3; i++) {
            ubm_command(&b.d, UBM_CMD_SYNC | 1 << 12, BED_RAM, 0, 0);
            g_assert_cmphex(reg(UBM_GERROR) ^ reg(UBM_GERRORN), ==,
                            UBM_GERROR_SYNC);
            g_assert_cmpuint(b.interrupts, ==, 1);
            g_assert_cmpuint(ub_ummu_counter(b.u, UB_UMMU_CNT_DMA_ERRORS), ==,
                             3 * lap + i + 1);
        }
        reg_put(UBM_GERRORN, reg(UBM_GERROR));
    }
    bed_free(&b);
}

/* Of who asks for the first time and again, the tag is its own. */
static void test_own_tag(void)
{
    UbUmmuAccess a = bed_access(UB_UMMU_READ, BED_UBA, 8);

    bed_open(&b, NULL);
    ubm_command(&b.d, UBM_CMD_MAP | 7 << 16, 0, BED_EID_LOW + 1, BED_EID_HIGH);
    for (unsigned i = 0; i < 4; i++) {
        a.entity = i / 2 % 2;
        g_assert_cmpint(bed_ask(&b, &a), ==,
                        a.entity ? UB_UMMU_UNSUPPORTED : UB_UMMU_OK);
        g_assert_cmpuint(b.a.why, ==, a.entity ? UBM_WHY_EID : UBM_WHY_NONE);
    }
    bed_free(&b);
}

/* A descriptor whose access flag is to be set, in memory that takes nothing. */
static void test_fixed(void)
{
    UbUmmuAccess a = bed_access(UB_UMMU_READ, BED_UBA, 8);
    uint64_t tcte, leaf;

    bed_open(&b, NULL);
    tcte = bed_tcte(&b, BED_TOKEN);
    leaf = ubm_desc(&b.d, ubm_word(&b.d, tcte + 16), BED_UBA, 3);
    bed_change(&b, tcte, 0, UBM_TCTE_HAF);
    bed_change(&b, leaf, UBM_PTE_AF, 0);
    b.fixed = leaf;
    for (unsigned i = 1; i < 3; i++) {
        g_assert_cmpint(bed_ask(&b, &a), ==, UB_UMMU_ABORT);
        g_assert_cmpuint(b.a.why, ==, UBM_WHY_WALK);
        g_assert_cmpuint(ub_ummu_counter(b.u, UB_UMMU_CNT_DMA_ERRORS), ==, i);
    }
    b.fixed = 0;
    g_assert_cmpint(bed_ask(&b, &a), ==, UB_UMMU_OK);
    bed_free(&b);
}

/* A queue that is off interrupts nobody, though there is something in it. */
static void test_queue_off(void)
{
    bed_open(&b, NULL);
    reg_put(UBM_IRQ_ENABLE, UBM_IRQ_GERROR | UBM_IRQ_EVTQ);
    for (unsigned i = 0; i < 2; i++) {
        g_assert_cmpint(bed_read(&b, 0x5000), ==, UB_UMMU_ABORT);
    }
    for (unsigned on = 0; on < 2; on++) {
        b.interrupts = 0;
        reg_put(UBM_CR0, UBM_CR0_ENABLE | UBM_CR0_MAPT | (on ? UBM_CR0_EVTQ : 0));
        reg_put(UBM_EVTQ_CONS, 0);
        g_assert_cmpuint(b.interrupts, ==, on);
    }
    bed_free(&b);
}

/* What is taken back is counted as refused, what is to be tried again is not. */
static void test_taken_back(void)
{
    bed_open(&b, NULL);
    bed_change(&b, bed_tcte(&b, BED_TOKEN), 0, UBM_TCTE_FBS);
    bed_change(&b, b.d.tect + 8, 0, UBM_TECTE_TCT_STALL_EN);
    for (unsigned retry = 0; retry < 2; retry++) {
        g_assert_cmpint(bed_read(&b, 0x5000), ==, UB_UMMU_LATER);
        ubm_command(&b.d, UBM_CMD_STALL_RESUME | (retry ? UBM_RESUME_RETRY : 0),
                    b.a.stall, 0, 0);
        g_assert_cmpuint(b.resolved, ==, retry + 1);
        g_assert_cmpint(b.aborted, ==, !retry);
        g_assert_cmpuint(ub_ummu_refused(b.u, UBM_WHY_STALL_ABORT), ==, 1);
        g_assert_cmpuint(ub_ummu_counter(b.u, UB_UMMU_CNT_REFUSED), ==, 1);
    }
    bed_free(&b);
}

/* A reset leaves nothing of what is measured: nor of events that there was no room for. */
static void test_reset(void)
{
    UbUmmuState state;

    fill();
    g_assert_cmpuint(reg(UBM_LOST), >, 0);
    g_assert_cmpuint(reg(UBM_MERGED), >, 0);
    g_assert_cmpuint(reg(UBM_MTM(9)), >, 0);
    ub_ummu_reset(b.u);
    g_assert_cmpuint(reg(UBM_LOST), ==, 0);
    g_assert_cmpuint(reg(UBM_MERGED), ==, 0);
    for (uint32_t at = UBM_MTM(0); at < UBM_MTM(UBM_MTMS); at += 4) {
        g_assert_cmphex(reg(at), ==, 0);
    }
    ub_ummu_state(b.u, &state);
    g_assert_cmpuint(state.lost + state.merged, ==, 0);
    bed_free(&b);
}

/* ---- Ends -------------------------------------------------------------------------------- */

/* A permission that is cached holds from its first byte to its last, and not beyond. */
static void test_bounds(void)
{
    const uint64_t first = BED_UBA + 16, last = BED_UBA + 99;
    UbUmmuConfig cfg;
    uint64_t mapte;

    ub_ummu_config_init(&cfg);
    cfg.strict = true;
    bed_open(&b, &cfg);
    mapte = ubm_single(&b.d, BED_TOKEN, UBM_MAPTE_V | UBM_RWA, first, last,
                       BED_VALUE);
    for (unsigned i = 0; i < 4; i++) {
        const uint64_t at[] = { first - 1, first, last, last + 1 };
        UbUmmuAccess a = bed_access(UB_UMMU_READ, first, 8);
        UbUmmuSpan span[4];
        unsigned n;

        g_assert_cmpint(bed_ask(&b, &a), ==, UB_UMMU_OK);
        ubm_word_put(&b.d, mapte, ubm_word(&b.d, mapte) & ~1ull);
        a.addr = at[i];
        a.len = 1;
        g_assert_cmpint(ub_ummu_probe(b.u, &a, span, 4, &n), ==,
                        i == 1 || i == 2 ? UB_UMMU_OK : UB_UMMU_UNSUPPORTED);
        g_assert_cmpuint(a.why, ==, i == 1 || i == 2 ? UBM_WHY_NONE
                                                     : UBM_WHY_MAPTE_INVALID);
        ubm_word_put(&b.d, mapte, ubm_word(&b.d, mapte) | 1);
        ubm_flush(&b.d, BED_TOKEN);
    }
    bed_free(&b);
}

/* The base of a table above GPAS is no place to look at. */
static void test_root(void)
{
    UbUmmuAccess a = bed_access(UB_UMMU_READ, BED_UBA, 8);

    bed_open(&b, NULL);
    for (unsigned bit = 48; bit < 52; bit++) {
        bed_change(&b, bed_tcte(&b, BED_TOKEN) + 16, 0, 1ull << bit);
        bed_refused(&b, &a, UB_UMMU_ABORT, UBM_WHY_SIZE, UBM_EVT_SIZE);
        bed_change(&b, bed_tcte(&b, BED_TOKEN) + 16, 1ull << bit, 0);
    }
    bed_free(&b);
}

/* Faults of stage 2 are recorded if FBR of stage 2 says so, whatever that of stage 1. */
static void test_record(void)
{
    UbUmmuAccess a = bed_access(UB_UMMU_READ, BED_UBA, 8);
    uint64_t s2, l2;

    bed_open(&b, NULL);
    s2 = ubm_alloc(&b.d, 4096, 4096);
    l2 = ubm_alloc(&b.d, 4096, 4096);
    ubm_word_put(&b.d, b.d.tect + 16, 25 | 1 << 6 | 5 << 12);
    ubm_word_put(&b.d, b.d.tect + 24, s2);
    ubm_word_put(&b.d, s2, l2 | 3);
    for (unsigned i = 0; i < BED_PA >> 21; i++) {
        ubm_word_put(&b.d, l2 + 8 * i, (uint64_t)i << 21 | 1 | UBM_PTE_AF |
                     UBM_PTE_S2_READ | UBM_PTE_S2_WRITE);
    }
    bed_change(&b, b.d.tect, 0, 7 << 1);
    bed_refused(&b, &a, UB_UMMU_ABORT, UBM_WHY_TRANSLATION, 0);
    bed_change(&b, b.d.tect + 16, 0, UBM_TECTE_S2_FBR);
    bed_refused(&b, &a, UB_UMMU_ABORT, UBM_WHY_TRANSLATION,
                UBM_EVT_TRANSLATION);
    bed_free(&b);
}

/* ---- What is forgotten ------------------------------------------------------------------- */

static void strict_open(void)
{
    UbUmmuConfig cfg;

    ub_ummu_config_init(&cfg);
    cfg.strict = true;
    bed_open(&b, &cfg);
}

/* All contexts are: what was said of a page is not said again, however often it is asked
 * for. */
static void test_all_contexts(void)
{
    strict_open();
    g_assert_cmpint(bed_read(&b, BED_UBA), ==, UB_UMMU_OK);
    bed_change(&b, bed_tcte(&b, BED_TOKEN), UBM_TCTE_V, 0);
    g_assert_cmpint(bed_read(&b, BED_UBA), ==, UB_UMMU_OK);
    ubm_command(&b.d, UBM_CMD_CFGI_TECT_RANGE | UBM_CFGI_RANGE, 0, 0, 0);
    for (unsigned i = 0; i < 3; i++) {
        g_assert_cmpint(bed_read(&b, BED_UBA), ==, UB_UMMU_UNSUPPORTED);
        g_assert_cmpuint(b.a.why, ==, UBM_WHY_TCTE_INVALID);
    }
    bed_free(&b);
}

/* Few pages are few, wherever they are: of high ones too it is looked at no others. */
static void test_high_pages(void)
{
    const uint64_t high = BED_UBA + (100ull << 39), token = BED_TOKEN << 12;
    uint64_t tcte, mapte, leaf;

    strict_open();
    tcte = bed_tcte(&b, BED_TOKEN);
    ubm_map(&b.d, BED_TOKEN, high, BED_PA, 4096, 0);
    leaf = ubm_desc(&b.d, ubm_word(&b.d, tcte + 16), high, 3);
    mapte = ubm_single(&b.d, BED_TOKEN, UBM_MAPTE_V | UBM_RWA, high, high + 4095,
                       BED_VALUE);
    g_assert_cmpint(bed_read(&b, high), ==, UB_UMMU_OK);
    bed_change(&b, mapte, UBM_MAPTE_V, 0);
    ubm_command(&b.d, UBM_CMD_TLBI_OS_VA | token | 5ull << 32, high, 0, 0);
    g_assert_cmpint(bed_read(&b, high), ==, UB_UMMU_OK);
    ubm_command(&b.d, UBM_CMD_PLBI_VA | token | 5ull << 32, high, 0, 0);
    g_assert_cmpint(bed_read(&b, high), ==, UB_UMMU_UNSUPPORTED);
    bed_change(&b, mapte, 0, UBM_MAPTE_V);
    bed_change(&b, leaf, UBM_PTE_VALID, 0);
    g_assert_cmpint(bed_read(&b, high), ==, UB_UMMU_OK);
    ubm_command(&b.d, UBM_CMD_TLBI_OS_VA | token | 5ull << 32, high, 0, 0);
    g_assert_cmpint(bed_read(&b, high), ==, UB_UMMU_ABORT);
    bed_free(&b);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/ub/ummu/kept/bits", test_bits);
    g_test_add_func("/ub/ummu/kept/image", test_image);
    g_test_add_func("/ub/ummu/kept/stalls-image", test_stalls_image);
    g_test_add_func("/ub/ummu/kept/vectors-image", test_vectors_image);
    g_test_add_func("/ub/ummu/kept/costs", test_costs);
    g_test_add_func("/ub/ummu/kept/user-costs", test_user_costs);
    g_test_add_func("/ub/ummu/kept/last-entry", test_last_entry);
    g_test_add_func("/ub/ummu/kept/last-table", test_last_table);
    g_test_add_func("/ub/ummu/kept/cmdq-place", test_cmdq_place);
    g_test_add_func("/ub/ummu/kept/cr0", test_cr0);
    g_test_add_func("/ub/ummu/kept/fetched", test_fetched);
    g_test_add_func("/ub/ummu/kept/term-anew", test_term_anew);
    g_test_add_func("/ub/ummu/kept/errors", test_errors);
    g_test_add_func("/ub/ummu/kept/own-tag", test_own_tag);
    g_test_add_func("/ub/ummu/kept/fixed", test_fixed);
    g_test_add_func("/ub/ummu/kept/queue-off", test_queue_off);
    g_test_add_func("/ub/ummu/kept/taken-back", test_taken_back);
    g_test_add_func("/ub/ummu/kept/reset", test_reset);
    g_test_add_func("/ub/ummu/kept/bounds", test_bounds);
    g_test_add_func("/ub/ummu/kept/root", test_root);
    g_test_add_func("/ub/ummu/kept/record", test_record);
    g_test_add_func("/ub/ummu/kept/all-contexts", test_all_contexts);
    g_test_add_func("/ub/ummu/kept/high-pages", test_high_pages);
    return g_test_run();
}
