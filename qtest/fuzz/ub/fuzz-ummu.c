/*
 * Fuzzer of the UMMU: registers, commands, tables and accesses of hostile software,
 * images.
 *
 * The input is a little program over 64 KiB of memory that it fills as it likes; the
 * UMMU begins with tables that work, or little would be reached.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <glib.h>

#include "core/bytes.h"
#include "ub/ummu.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define RAM 0x10000u
/* Where what works is. */
enum {
    TECT = 0x1000, TCT = 0x2000, ROOT = 0x4000, CMDQ = 0x8000, EVTQ = 0x9000,
    MAPT = 0xa000, UCTX = 0xb000, UCMD = 0xc000, UCPL = 0xd000,
};

typedef struct Input {
    const uint8_t *p, *end;
} Input;

static Input in;
static uint8_t ram[RAM];
static UbUmmu *ummu;
static uint64_t reads;
static uint32_t cmd_pi, user_pi;

static uint64_t next(unsigned bytes)
{
    uint64_t v = 0;

    for (unsigned i = 0; i < bytes; i++) {
        v |= (uint64_t)(in.p < in.end ? *in.p++ : 0) << 8 * i;
    }
    return v;
}

static bool op_read(void *opaque, uint64_t addr, void *buf, uint32_t len)
{
    reads++;
    if (addr > RAM || len > RAM - addr) {
        return false;
    }
    memcpy(buf, ram + addr, len);
    return true;
}

static bool op_write(void *opaque, uint64_t addr, const void *buf,
                     uint32_t len)
{
    if (addr > RAM || len > RAM - addr) {
        return false;
    }
    memcpy(ram + addr, buf, len);
    return true;
}

static bool op_exchange(void *opaque, uint64_t addr, void *was, const void *now,
                        uint32_t len, bool *same)
{
    uint8_t there[8];

    if (!op_read(opaque, addr, there, len)) {
        return false;
    }
    *same = !memcmp(there, was, len);
    memcpy(was, there, len);
    return !*same || op_write(opaque, addr, now, len);
}

static bool op_eid(void *opaque, unsigned entity, uint8_t eid[16])
{
    memset(eid, entity, 16);
    return entity < 3;
}

static void op_interrupt(void *opaque, unsigned vector)
{
    g_assert_cmpuint(vector, <, 64);
}

static void op_kick(void *opaque)
{
}

static void op_resolved(void *opaque, uint32_t stall, bool abort)
{
}

static void op_error(void *opaque, const char *what)
{
    g_assert_nonnull(what);
}

static const UbUmmuOps ops = {
    .read = op_read, .write = op_write,
    .exchange = op_exchange, .eid = op_eid,
    .interrupt = op_interrupt, .kick = op_kick, .resolved = op_resolved,
    .guest_error = op_error,
};

static void reg64(uint32_t at, uint64_t value)
{
    ub_ummu_reg_write(ummu, at, value);
    ub_ummu_reg_write(ummu, at + 4, value >> 32);
}

static void tables(unsigned mode)
{
    memset(ram, 0, RAM);
    put_le64(ram + TECT, UBM_TECTE_V | (uint64_t)(5 + mode % 3) << 1 |
             3 << 15 | UBM_TECTE_MAPT_EN | UBM_TECTE_EM_EN);
    put_le64(ram + TECT + 8, TCT | 4 | UBM_TECTE_TCT_STALL_EN);
    put_le64(ram + TECT + 16, 25 | 1 << 6 | 5 << 12 | UBM_TECTE_S2_HAF |
             UBM_TECTE_S2_HDF | UBM_TECTE_S2_FBR);
    put_le64(ram + TECT + 24, ROOT + 0x3000);
    put_le64(ram + ROOT + 0x3000, 0x1 | UBM_PTE_AF | UBM_PTE_S2_READ |
             UBM_PTE_S2_WRITE);
    for (unsigned i = 0; i < 16; i++) {
        uint8_t *t = ram + TCT + 64 * i;

        put_le64(t, UBM_TCTE_V | 5 << 3 | UBM_TCTE_FBR | UBM_TCTE_MAPT_EN |
                 UBM_TCTE_HAF | UBM_TCTE_HDF |
                 (i & 1 ? UBM_TCTE_MAPT_MODE | 1 << 17 : 0) |
                 (i & 2 ? UBM_TCTE_FBS : 0) | (i & 4 ? UBM_TCTE_PF : 0));
        put_le64(t + 8, 25);
        put_le64(t + 16, ROOT);
        put_le64(t + 24, MAPT | 1ull << 60);
        put_le64(t + 32, MAPT + 0x800);
    }
    put_le64(ram + ROOT, (ROOT + 0x1000) | 3);
    for (unsigned i = 0; i < 16; i++) {
        put_le64(ram + ROOT + 0x1000 + 8 * i, (ROOT + 0x2000) | 3);
        put_le64(ram + ROOT + 0x2000 + 8 * i, i << 12 | 3 | UBM_PTE_AF |
                 UBM_PTE_USER);
    }
    put_le32(ram + MAPT, UBM_MAPTE_V | 0x70);
    put_le64(ram + MAPT + 16, 0xffffff);
    put_le64(ram + UCTX, UCMD | 4 << 2);
    put_le64(ram + UCTX + 8, UCPL | 4 << 2);
}

static void begin(unsigned mode)
{
    tables(mode);
    reg64(UBM_TECT_BASE, TECT);
    ub_ummu_reg_write(ummu, UBM_DEFAULT, UBM_DEFAULT_ALL | UBM_DEFAULT_BARE);
    reg64(UBM_CMDQ(0), CMDQ | 5);
    ub_ummu_reg_write(ummu, UBM_CMDQ(0) + UBM_CMDQ_PROD, UBM_Q_ENABLE);
    reg64(UBM_EVTQ_BASE, EVTQ | 4);
    reg64(UBM_UQ_CTX, UCTX | 4);
    ub_ummu_reg_write(ummu, UBM_IRQ_ENABLE, 3);
    ub_ummu_reg_write(ummu, UBM_CR0, UBM_CR0_ALL);
    cmd_pi = user_pi = 0;
}

static void command(void)
{
    uint8_t *at = ram + CMDQ + UBM_CMD * (cmd_pi & 31);

    put_le64(at, next(8));
    for (unsigned i = 8; i < UBM_CMD; i += 8) {
        put_le64(at + i, next(2) << (i == 8 ? 12 : 0));
    }
    cmd_pi = (cmd_pi + 1) & 63;
    ub_ummu_reg_write(ummu, UBM_CMDQ(0) + UBM_CMDQ_PROD,
                      UBM_Q_ENABLE | cmd_pi |
                      (ub_ummu_reg_read(ummu, UBM_CMDQ(0) + UBM_CMDQ_CONS) &
                       UBM_Q_ERROR));
}

static void user_command(void)
{
    uint8_t *at = ram + UCMD + UBM_UCMD * (user_pi & 15);

    put_le64(at, next(5));
    put_le64(at + 8, next(3) << 12);
    user_pi = (user_pi + 1) & 31;
    ub_ummu_reg_write(ummu, UBM_UQ(0) + UBM_UQ_CMD_PI, user_pi);
}

/* The parts of a good answer are as long as the access; a probe says what an access
 * says then. */
static void ask(void)
{
    uint64_t what = next(2);
    UbUmmuAccess a = {
        .kind = what % UB_UMMU_KINDS,
        .token_en = what >> 2 & 1,
        .e_bit = what >> 3 & 1,
        .bare = what >> 4 & 1,
        .local = what >> 5 & 1,
        .ee = what >> 6 & 1 ? 3 : 1,
        .entity = what >> 7 & 3,
        .token_id = what >> 9 & 31,
        .token = what >> 14,
        .addr = next(4),
        .len = next(2),
    }, probe = a;
    UbUmmuSpan span[64];
    UbUmmuResult r, said;
    uint64_t before = reads, sum = 0;
    static uint8_t was[RAM];
    unsigned n;

    memcpy(was, ram, RAM);
    ub_ummu_turn(ummu);
    said = ub_ummu_probe(ummu, &probe, span, 64, &n);
    g_assert_cmpint(memcmp(ram, was, RAM), ==, 0);
    r = ub_ummu_access(ummu, &a, span, 64, &n);
    for (unsigned i = 0; i < n; i++) {
        sum += span[i].len;
    }
    g_assert_cmpuint(sum, ==, r == UB_UMMU_OK ? a.len : 0);
    g_assert_cmpint(!a.why, ==, r == UB_UMMU_OK);
    g_assert_true(ub_ummu_why(a.why) || r == UB_UMMU_OK);
    /* Flags that are written may be in what is walked; a stall may find no room. */
    if (said != UB_UMMU_LATER && !memcmp(ram, was, RAM)) {
        g_assert_cmpint(said, ==, r);
        g_assert_cmpuint(probe.why, ==, a.why);
    }
    g_assert_cmpuint(reads - before, <, 2 * (64 * 80 + 60) * 9);
}

static void bend_image(void)
{
    CoreImage *im = core_image_save(0);
    uint8_t *data;
    size_t len;

    ub_ummu_image(ummu, im);
    data = core_image_take(im, &len);
    core_image_free(im);
    for (unsigned n = next(1) & 3; n; n--) {
        data[next(2) % len] = next(1);
    }
    im = core_image_load(data, len, 0);
    ub_ummu_image(ummu, im);
    if (core_image_done(im)) {
        ub_ummu_reset(ummu);
        begin(0);
    }
    core_image_free(im);
    g_free(data);
}

static void step(void)
{
    unsigned what = next(1);
    uint32_t at;

    switch (what & 15) {
    case 0 ... 4:
        ask();
        break;
    case 5:
    case 6:
        command();
        break;
    case 7:
        user_command();
        break;
    case 8:
    case 9:
        at = next(2);
        ram[at] = next(1);
        break;
    case 10:
        at = next(2) & ~7u;
        put_le64(ram + at, next(8));
        break;
    case 11:
        ub_ummu_reg_write(ummu, next(3) & ~3u, next(4));
        break;
    case 12:
        ub_ummu_reg_read(ummu, next(3));
        break;
    case 13:
        bend_image();
        break;
    case 14:
        ub_ummu_turn(ummu);
        break;
    default:
        ub_ummu_run(ummu, 1 + (what >> 4) * 16);
        break;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    UbUmmuConfig cfg;
    unsigned options;
    UbUmmuState state;

    in = (Input) { data, data + size };
    options = next(1);
    ub_ummu_config_init(&cfg);
    cfg.vectors = 64;
    cfg.strict = options & 1;
    cfg.positive = options & 2;
    cfg.lenient = options & 4;
    cfg.mapt_physical = options & 8;
    cfg.stage2 = !(options & 16);
    reads = 0;
    ummu = ub_ummu_new(&cfg, &ops, NULL);
    begin(options >> 5);
    while (in.p < in.end) {
        step();
    }
    /* What is left to do ends. */
    for (unsigned i = 0; ub_ummu_run(ummu, 256); i++) {
        g_assert_cmpuint(i, <, 1u << 20);
    }
    ub_ummu_state(ummu, &state);
    g_assert_cmpuint(state.stalls, <=, 256);
    ub_ummu_free(ummu);
    return 0;
}
