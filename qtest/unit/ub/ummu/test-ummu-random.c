/*
 * Random tables, some of them broken, and random accesses: the UMMU says what the
 * model says.  UMMU_LOOKUPS: how many accesses.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "model.h"

#define TOKENS 8
#define PAGES 6                 /* of each TokenID */
#define PER_WORLD 200
#define S2_ROOT_BITS 44

static Bed b;
static GRand *dice;
static uint64_t uba_of[TOKENS];
static uint64_t answers[64];    /* by decision */

static uint32_t roll(uint32_t n)
{
    return g_rand_int_range(dice, 0, n);
}

static bool chance(unsigned percent)
{
    return roll(100) < percent;
}

/* ---- Tables -------------------------------------------------------------------- */

/* Map @va in a table of any geometry; @left: levels below the root.  Block at
 * level @stop. */
static void map_any(uint64_t root, unsigned page, unsigned width, int left,
                    int stop, uint64_t va, uint64_t pa, uint64_t flags,
                    bool big)
{
    uint64_t table = root;

    for (bool top = true;; top = false, left--) {
        unsigned shift = page + (page - 3) * left;
        unsigned n = top ? width - shift : page - 3;
        uint64_t at = table + 8 * (va >> shift & ((1ull << n) - 1));
        uint64_t desc = big ? get_be64(b.ram + at) : get_le64(b.ram + at);

        if (left == stop) {
            desc = (pa >> shift << shift) | flags | (left ? 1 : 3);
        } else if (!(desc & 1)) {
            desc = ubm_alloc(&b.d, 1u << page, 1u << page) | 3;
        } else if (!(desc & 2)) {
            return;             /* a block is in the way */
        }
        if (big) {
            put_be64(b.ram + at, desc);
        } else {
            put_le64(b.ram + at, desc);
        }
        if (left == stop) {
            return;
        }
        table = desc & 0xfffffffff000ull;
    }
}

static uint64_t some_flags(bool second)
{
    uint64_t f = chance(95) ? UBM_PTE_AF : 0;

    f |= second ? (chance(95) ? UBM_PTE_S2_READ : 0) |
                  (chance(85) ? UBM_PTE_S2_WRITE : 0)
                : (chance(90) ? UBM_PTE_USER : 0) |
                  (chance(15) ? UBM_PTE_READONLY : 0);
    return f | (chance(30) ? UBM_PTE_DBM : 0);
}

static uint64_t haf_hdf(void)
{
    static const uint8_t good[] = { 0, 2, 3 };  /* HDF 1, HAF 2 */

    return chance(98) ? good[roll(3)] : 1;
}

/* Stage 2: all memory is where it is, for the most part. */
static void stage2_make(void)
{
    bool big = chance(30);
    unsigned width = 40, pages = BED_RAM >> 21;
    uint64_t root = ubm_alloc(&b.d, 16 << 10, 16 << 10);

    ubm_word_put(&b.d, b.d.tect + 16, 24 | 1 << 6 | 5 << 12 |
                 (big ? UBM_TECTE_S2_ENDI : 0) | haf_hdf() << 16 |
                 (chance(10) ? UBM_TECTE_S2_AFFD : 0) | UBM_TECTE_S2_FBR);
    ubm_word_put(&b.d, b.d.tect + 24, root);
    for (unsigned i = 0; i < pages; i++) {
        bool data = (uint64_t)i << 21 >= BED_PA;
        uint64_t flags = data ? some_flags(true)
                              : UBM_PTE_AF | UBM_PTE_S2_READ | UBM_PTE_S2_WRITE;

        map_any(root, 12, width, 2, 1, (uint64_t)i << 21, (uint64_t)i << 21,
                flags, big);
    }
}

static void stage1_make(unsigned token)
{
    static const uint8_t page_of[] = { 12, 16, 14 };
    uint64_t at = b.d.tct + token * UBM_TCTE, q0;
    unsigned tg = chance(60) ? 0 : roll(3), page = page_of[tg];
    unsigned width = chance(50) ? 48 : 25 + roll(24), per = page - 3, n;
    bool big = chance(30);
    uint64_t uba, root;
    int left = 0;

    while (page + per * (left + 1) < width) {
        left++;
    }
    n = width - page - per * left;
    root = ubm_alloc(&b.d, MAX(8u << n, 16), MAX(8u << n, 16));
    uba = (((uint64_t)g_rand_int(dice) << 32 | g_rand_int(dice)) &
           ((1ull << width) - 1)) & ~0xfffffull;
    uba_of[token] = uba;
    q0 = UBM_TCTE_V | (4 + roll(2)) << 3 | UBM_TCTE_FBR | (big ? UBM_TCTE_ENDI : 0) |
         haf_hdf() << 10 | (chance(10) ? UBM_TCTE_AFFD : 0) |
         (chance(10) ? UBM_TCTE_E_BIT : 0) | (chance(80) ? UBM_TCTE_MAPT_EN : 0);
    ubm_word_put(&b.d, at, q0);
    ubm_word_put(&b.d, at + 8, (64 - width) | tg << 6);
    ubm_word_put(&b.d, at + 16, root);
    for (unsigned i = 0; i < PAGES; i++) {
        int stop = chance(85) || left == 0 ? 0 : 1;

        if (chance(92)) {
            map_any(root, page, width, left, stop, uba + ((uint64_t)i << page),
                    BED_PA + ((uint64_t)roll(64) << 16) +
                    (chance(1) ? 1ull << 47 : 0), some_flags(false), big);
        }
    }
}

static void entry_put(uint64_t at, bool big, uint32_t w0, uint32_t w1,
                      uint64_t base, uint64_t limit, bool check)
{
    uint32_t w[8] = { w0, w1, base, base >> 32, limit, limit >> 32,
                      BED_VALUE + roll(2), BED_VALUE + roll(2) };

    w[3] |= check ? 1u << 31 : 0;
    for (unsigned i = 0; i < 8; i++) {
        if (big) {
            put_be32(b.ram + at + 4 * i, w[i]);
        } else {
            put_le32(b.ram + at + 4 * i, w[i]);
        }
    }
}

static uint32_t some_rights(void)
{
    return (chance(97) ? UBM_MAPTE_V : 0) | (chance(85) ? UBM_MAPTE_READ : 0) |
           (chance(85) ? UBM_MAPTE_WRITE : 0) |
           (chance(85) ? UBM_MAPTE_ATOMIC : 0) |
           (chance(10) ? UBM_MAPTE_E_BIT : 0);
}

static void single_make(unsigned token, bool big)
{
    uint64_t at = b.d.tct + token * UBM_TCTE, e = ubm_alloc(&b.d, 32, 32);
    uint64_t low = chance(70) ? 0 : roll(0x3000);

    ubm_word_put(&b.d, at + 24, e);
    entry_put(e, big, some_rights(), 0, uba_of[token] + low,
              uba_of[token] + (chance(70) ? 0xfffff : roll(0x6000)),
              chance(60));
}

/* Tables in the base block or, by N, in the one other block. */
static void multi_make(unsigned token, bool big)
{
    const unsigned sh[] = { 39, 30, 21, 12 };
    uint64_t at = b.d.tct + token * UBM_TCTE, uba = uba_of[token];
    uint64_t block = ubm_alloc(&b.d, 128 << 10, 32);
    uint64_t other = ubm_alloc(&b.d, 64 << 10, 32);
    uint64_t bt = ubm_alloc(&b.d, 4096, 32), table = block;
    unsigned rtgs = 1 + roll(2), last = 4 - rtgs, index = roll(510);
    bool moved = false;
    uint32_t used = 1, used_other = 0;

    ubm_word_put(&b.d, at + 24, block | 5ull << 60);
    ubm_word_put(&b.d, at + 32, bt);
    ubm_word_put(&b.d, at, ubm_word(&b.d, at) | UBM_TCTE_MAPT_MODE |
                 rtgs << 17);
    if (big) {
        put_be64(b.ram + bt + 8 * index, other | 4ull << 60 | 1);
    } else {
        put_le64(b.ram + bt + 8 * index, other | 4ull << 60 | 1);
    }
    for (unsigned lvl = 0; lvl <= last; lvl++) {
        unsigned i = uba >> sh[lvl] & 511;
        bool end = lvl == last || chance(8), jump = !moved && chance(30);
        uint32_t offset = 512 * (moved || jump ? used_other : used);

        if (end) {
            for (unsigned k = 0; k < PAGES && i + k < 512; k++) {
                uint64_t size = 1ull << sh[lvl];
                uint64_t low = chance(70) ? 0 : roll(4096);

                entry_put(table + 32 * (i + k), big,
                          some_rights() | (chance(50) ? UBM_MAPTE_T : 0), 0,
                          low, chance(60) ? size - 1 : roll(4096),
                          chance(60));
            }
            return;
        }
        entry_put(table + 32 * i, big, UBM_MAPTE_V | UBM_MAPTE_E_BIT |
                  (jump ? UBM_MAPTE_N : 0) | offset << 12,
                  offset >> 20 | (uint32_t)index << 16, 1, 0, false);
        moved |= jump;
        table = (moved ? other : block) + 32 * (uint64_t)offset;
        used += !moved;
        used_other += moved;
    }
}

/* Somewhere in the tables, some bits turn over. */
static void corrupt(void)
{
    unsigned n = roll(4);

    for (unsigned i = 0; i < n; i++) {
        uint64_t span[][2] = { { b.d.tect, UBM_TECTE },
                               { b.d.tct, UBM_TCTE * TOKENS },
                               { 0x10000, b.d.brk - 0x10000 } };
        const uint64_t *s = span[roll(3)];
        uint64_t at = s[0] + roll(s[1]);

        /* What is not 0 is what is used. */
        for (unsigned k = 0; k < 4096 && !b.ram[at]; k++) {
            at = s[0] + roll(s[1]);
        }
        b.ram[at] ^= 1 << roll(8);
    }
}

static void world_make(void)
{
    unsigned mode = chance(95) ? 5 + roll(3) : roll(5);

    memset(b.ram, 0, b.d.brk);
    b.d.brk = 0x10000;
    b.d.tect = ubm_alloc(&b.d, UBM_TECTE, 64);
    b.d.tct = ubm_alloc(&b.d, UBM_TCTE * TOKENS, 64);
    ubm_word_put(&b.d, b.d.tect, UBM_TECTE_V | mode << 1 |
                 (chance(70) ? 3 << 15 : 0) |
                 (chance(90) ? UBM_TECTE_MAPT_EN : 0));
    ubm_word_put(&b.d, b.d.tect + 8, b.d.tct | 3);
    for (unsigned t = 0; t < TOKENS; t++) {
        bool big;

        stage1_make(t);
        big = ubm_word(&b.d, b.d.tct + t * UBM_TCTE) & UBM_TCTE_ENDI;
        if (chance(50)) {
            single_make(t, big);
        } else {
            multi_make(t, big);
        }
    }
    if (mode != 5) {
        stage2_make();
    }
    if (chance(40)) {
        corrupt();
    }
    ub_ummu_reset(b.u);
    ubm_write64(&b.d, UBM_TECT_BASE, b.d.tect);
    ub_ummu_reg_write(b.u, UBM_DEFAULT, UBM_DEFAULT_ALL);
    ub_ummu_reg_write(b.u, UBM_CR0, UBM_CR0_ENABLE | UBM_CR0_MAPT);
}

/* ---- Accesses -------------------------------------------------------------------- */

static UbUmmuAccess some_access(void)
{
    UbUmmuAccess a = bed_access(roll(3), 0, 1 + roll(64));
    unsigned token = roll(TOKENS);
    uint64_t mode = ubm_word(&b.d, b.d.tect) >> 1 & 7;

    a.token_id = chance(98) ? token : roll(64);
    a.addr = mode == 6 ? BED_PA + roll(BED_RAM - BED_PA)
                       : uba_of[token] + roll(PAGES * 4096);
    if (chance(30)) {
        a.addr = (a.addr & ~0xfffull) + 4096 - roll(64);
    }
    if (chance(2)) {
        a.addr = (uint64_t)g_rand_int(dice) << 20;
    }
    a.token += roll(2);
    a.token_en = chance(95);
    a.e_bit = chance(40);
    a.local = chance(10);
    return a;
}

/* Aborts are what is amiss in memory, and faults; all else is the peer's doing. */
static UbUmmuResult answer_of(unsigned why)
{
    switch (why) {
    case UBM_WHY_NONE:
        return UB_UMMU_OK;
    case 11 ... 14:
    case UBM_WHY_WALK:
    case UBM_WHY_MAPT_WALK:
    case UBM_WHY_TCT_FETCH:
    case UBM_WHY_TECT_FETCH:
        return UB_UMMU_ABORT;
    default:
        return UB_UMMU_UNSUPPORTED;
    }
}

static void compare(const UbUmmuAccess *a)
{
    uint64_t pa[64];
    unsigned why = model_ask(&b, a, pa);
    UbUmmuResult r = bed_ask(&b, a);
    uint32_t i = 0;

    /* Software may ask for Page Faults and stalls, even by a flipped bit. */
    if ((why == 13 || why == 14) &&
        (r == UB_UMMU_FAULT || r == UB_UMMU_LATER)) {
        r = UB_UMMU_ABORT;
    }
    g_assert_true(r == answer_of(b.a.why));
    if (b.a.why != why) {
        g_error("token %u addr %" G_GINT64_MODIFIER "x len %u kind %u: %u, "
                "not %u", a->token_id, a->addr, a->len, a->kind, b.a.why, why);
    }
    answers[why]++;
    for (unsigned s = 0; s < b.spans; s++) {
        for (uint32_t k = 0; k < b.span[s].len; k++) {
            g_assert_cmphex(b.span[s].addr + k, ==, pa[i]);
            i++;
        }
    }
    g_assert_cmpuint(i, ==, why ? 0 : a->len);
}

static bool all_seen(const uint8_t *decisions, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (!answers[decisions[i]]) {
            return false;
        }
    }
    return true;
}

/* Another access to a page that one has been to just before. */
static UbUmmuAccess beside(const UbUmmuAccess *a)
{
    UbUmmuAccess other = some_access();

    other.addr = (a->addr & ~0xfffull) | (other.addr & 0xfff);
    other.token_id = a->token_id;
    return other;
}

static void test_random(void)
{
    const char *env = g_getenv("UMMU_LOOKUPS");
    uint64_t lookups = env ? g_ascii_strtoull(env, NULL, 10) : 100000;
    static const uint8_t seen[] = { 0, 1, 2, 7, 10, 12, 13, 14, 15, 16, 17, 18,
                                    19, 20 };

    dice = g_rand_new_with_seed(g_test_rand_int());
    bed_init(&b, NULL);
    for (uint64_t n = 0, end = lookups; n < end; n++) {
        UbUmmuAccess a, other;

        if (n % PER_WORLD == 0) {
            world_make();
        }
        a = some_access();
        compare(&a);
        /* From what is remembered, and from memory. */
        compare(&a);
        other = beside(&a);
        compare(&other);
        if (chance(20)) {
            ub_ummu_turn(b.u);
            compare(&a);
        }
        /* The rarest decisions may need some more worlds. */
        if (n + 1 == end && end < 100 * lookups &&
            !all_seen(seen, G_N_ELEMENTS(seen))) {
            end += PER_WORLD;
        }
    }
    for (unsigned i = 0; i < G_N_ELEMENTS(seen); i++) {
        g_test_message("decision %u: %" G_GUINT64_FORMAT, seen[i],
                       answers[seen[i]]);
        g_assert_cmpuint(answers[seen[i]], >, 0);
    }
    g_assert_cmpuint(answers[0], >, lookups / 5);
    bed_free(&b);
    g_rand_free(dice);
}

/* Tables of nothing but noise: every look-up ends, and touches memory a bounded
 * number of times. */
static void test_noise(void)
{
    dice = g_rand_new_with_seed(g_test_rand_int());
    bed_init(&b, NULL);
    for (unsigned n = 0; n < 2000; n++) {
        UbUmmuAccess a;
        uint64_t before;

        if (n % 50 == 0) {
            world_make();
            for (uint64_t at = 0x10000 + 64; at < b.d.brk; at += 4) {
                if (chance(30)) {
                    /* Often a pointer into the tables themselves. */
                    put_le32(b.ram + at, chance(50) ? g_rand_int(dice)
                             : (uint32_t)((0x10000 + roll(b.d.brk)) & ~0xfffu) |
                               3);
                }
            }
        }
        a = some_access();
        before = b.reads;
        bed_ask(&b, &a);
        /* 64 pieces of nested walks and nested permission tables, at most. */
        g_assert_cmpuint(b.reads - before, <,
                         64 * (4 * 5 + 4 + 8 * 5) + 40);
    }
    bed_free(&b);
    g_rand_free(dice);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/ub/ummu/random/model", test_random);
    g_test_add_func("/ub/ummu/random/noise", test_noise);
    return g_test_run();
}
