/*
 * A UMMU with memory, for tests.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <sys/mman.h>

#include "bed.h"

static bool ram_copy(const Bed *b, uint64_t addr, void *buf, uint32_t len)
{
    if (addr > BED_RAM || len > BED_RAM - addr) {
        return false;
    }
    memcpy(buf, b->ram + addr, len);
    return true;
}

static bool ram_read(void *opaque, uint64_t addr, void *buf, uint32_t len)
{
    Bed *b = opaque;
    bool good = ram_copy(b, addr, buf, len);

    b->reads++;
    if (b->meanwhile.reads && addr == b->meanwhile.at && !--b->meanwhile.reads) {
        put_le64(b->ram + addr, b->meanwhile.value);
    }
    return good;
}

static bool ram_peek(void *opaque, uint64_t addr, void *buf, uint32_t len)
{
    Bed *b = opaque;

    b->peeks++;
    return ram_copy(b, addr, buf, len);
}

static bool ram_write(void *opaque, uint64_t addr, const void *buf,
                      uint32_t len)
{
    Bed *b = opaque;

    if (addr > BED_RAM || len > BED_RAM - addr) {
        return false;
    }
    memcpy(b->ram + addr, buf, len);
    return true;
}

static bool ram_exchange(void *opaque, uint64_t addr, void *was, const void *now,
                         uint32_t len, bool *same)
{
    Bed *b = opaque;

    if (addr > BED_RAM || len > BED_RAM - addr || addr == b->fixed) {
        return false;
    }
    g_assert_cmpuint(len, ==, 8);
    g_assert_cmpuint(addr % len, ==, 0);
    b->ram[addr + 6] ^= b->rival << 7;
    *same = !memcmp(b->ram + addr, was, len);
    memcpy(*same ? b->ram + addr : was, *same ? now : b->ram + addr, len);
    return true;
}

static bool bed_eid(void *opaque, unsigned entity, uint8_t eid[16])
{
    put_be64(eid, BED_EID_HIGH);
    put_be64(eid + 8, BED_EID_LOW + entity);
    return entity < 4;
}

static void bed_interrupt(void *opaque, unsigned vector)
{
    Bed *b = opaque;

    b->interrupts++;
    b->vector = vector;
}

static void bed_kick(void *opaque)
{
    ((Bed *)opaque)->kicks++;
}

static void bed_resolved(void *opaque, uint32_t stall, bool abort)
{
    Bed *b = opaque;

    b->resolved++;
    b->stall = stall;
    b->aborted = abort;
}

static void bed_error(void *opaque, const char *what)
{
    ((Bed *)opaque)->errors++;
}

static const UbUmmuOps ops = {
    .read = ram_read,
    .peek = ram_peek,
    .write = ram_write,
    .exchange = ram_exchange,
    .eid = bed_eid,
    .interrupt = bed_interrupt,
    .kick = bed_kick,
    .resolved = bed_resolved,
    .guest_error = bed_error,
};

static uint32_t reg_read(void *opaque, uint32_t offset)
{
    return ub_ummu_reg_read(((Bed *)opaque)->u, offset);
}

static void reg_write(void *opaque, uint32_t offset, uint32_t value)
{
    ub_ummu_reg_write(((Bed *)opaque)->u, offset, value);
}

static void progress(void *opaque)
{
    ub_ummu_run(((Bed *)opaque)->u, 16);
}

void bed_init(Bed *b, const UbUmmuConfig *cfg)
{
    memset(b, 0, sizeof(*b));
    ub_ummu_config_init(&b->cfg);
    if (cfg) {
        b->cfg = *cfg;
    }
    /* Pages that a test does not touch cost nothing. */
    b->ram = mmap(NULL, BED_RAM, PROT_READ | PROT_WRITE,
                  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    g_assert_true(b->ram != MAP_FAILED);
    b->u = ub_ummu_new(&b->cfg, &ops, b);
    b->d = (UbmDrv){ .memory = b->ram, .brk = 0x10000, .end = BED_PA,
                     .opaque = b, .reg_read = reg_read, .reg_write = reg_write,
                     .progress = progress };
}

void bed_free(Bed *b)
{
    ub_ummu_free(b->u);
    munmap(b->ram, BED_RAM);
}

void bed_open(Bed *b, const UbUmmuConfig *cfg)
{
    bed_init(b, cfg);
    ubm_open(&b->d, 8);
    ubm_context(&b->d, BED_TOKEN, 0);
    ubm_map(&b->d, BED_TOKEN, BED_UBA, BED_PA, BED_LEN, 0);
    ubm_single(&b->d, BED_TOKEN, UBM_MAPTE_V | UBM_RWA, BED_UBA,
               BED_UBA + BED_LEN - 1, BED_VALUE);
}

UbUmmuAccess bed_access(unsigned kind, uint64_t addr, uint32_t len)
{
    return (UbUmmuAccess){ .kind = kind, .token_en = true, .ee = 1,
                           .token_id = BED_TOKEN, .token = BED_VALUE,
                           .addr = addr, .len = len };
}

UbUmmuResult bed_ask(Bed *b, const UbUmmuAccess *a)
{
    b->a = *a;
    b->spans = 99;
    return ub_ummu_access(b->u, &b->a, b->span, G_N_ELEMENTS(b->span),
                          &b->spans);
}

UbUmmuResult bed_read(Bed *b, uint64_t addr)
{
    UbUmmuAccess a = bed_access(UB_UMMU_READ, addr, 8);

    return bed_ask(b, &a);
}

#define BED_COUNTS (UB_UMMU_COUNTERS_NUM + 64 + 4)

/* All that an access counts, and what is cached. */
static void bed_counts(const Bed *b, uint64_t counts[BED_COUNTS])
{
    UbUmmuState state;

    ub_ummu_state(b->u, &state);
    for (unsigned i = 0; i < UB_UMMU_COUNTERS_NUM; i++) {
        *counts++ = ub_ummu_counter(b->u, i);
    }
    for (unsigned i = 0; i < 64; i++) {
        *counts++ = ub_ummu_refused(b->u, i);
    }
    *counts++ = state.contexts;
    *counts++ = state.translations;
    *counts++ = state.permissions;
    *counts = state.stalls;
}

void bed_refused(Bed *b, const UbUmmuAccess *a, UbUmmuResult r, unsigned why,
                 unsigned code)
{
    uint64_t before = ub_ummu_refused(b->u, why), before_reads;
    uint64_t counts[BED_COUNTS], after[BED_COUNTS];
    UbUmmuAccess probe = *a;
    UbUmmuSpan span[16];
    const uint8_t *e;
    unsigned n;

    bed_counts(b, counts);
    before_reads = b->reads;
    /* A probe says the same and leaves nothing. */
    g_assert_cmpint(ub_ummu_probe(b->u, &probe, span, 16, &n), ==, r);
    g_assert_cmpuint(probe.why, ==, why);
    g_assert_null(ubm_event(&b->d));
    bed_counts(b, after);
    g_assert_cmpmem(after, sizeof(after), counts, sizeof(counts));
    g_assert_cmpuint(b->reads, ==, before_reads);
    g_assert_cmpint(bed_ask(b, a), ==, r);
    g_assert_cmpuint(b->a.why, ==, why);
    g_assert_cmpint(b->a.s2, ==, probe.s2);
    g_assert_cmpuint(b->spans, ==, 0);
    g_assert_cmpuint(ub_ummu_refused(b->u, why), ==, before + 1);
    e = ubm_event(&b->d);
    g_assert_cmpint(!!e, ==, !!code);
    if (e) {
        g_assert_cmphex(get_le64(e) & UBM_EVT_CODE, ==, code);
        g_assert_cmpuint(get_le64(e + 8) >> 32, ==, why);
        g_assert_cmpuint(get_le64(e) >> 32 & 0xfffff, ==, a->token_id);
        g_assert_cmpint(!!(get_le64(e) & UBM_EVT_READ), ==,
                        a->kind == UB_UMMU_READ);
        g_assert_null(ubm_event(&b->d));
    }
}

uint64_t bed_tcte(const Bed *b, uint32_t token_id)
{
    return b->d.tct + token_id * UBM_TCTE;
}

void bed_change(Bed *b, uint64_t at, uint64_t clear, uint64_t set)
{
    ubm_word_put(&b->d, at, (ubm_word(&b->d, at) & ~clear) | set);
    ub_ummu_turn(b->u);
}
