/*
 * The decoder of a controller (UB 2.0 §9.5, §D.4.1), by its registers, its tables and
 * queues in guest memory, and loads and stores that reach a peer's segment or do not:
 * which entry an address has, what an entry must not say, what is remembered until it
 * is invalidated, commands and events and their errors.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "ubc-win.h"
#include "ub/tah.h"

#define MIB (1ull << 20)
#define L1_ENTRIES 32768u       /* of a range */
#define COMMANDS 16u            /* entries of the queue */
#define CMDQ_ERR UB_DECODER_CMDQ_CONS__CMDQ_ERR

static EngPair p;
static Win w;                   /* of a */
static uint32_t cmd_pi, cmd_resp;
static uint64_t sync_word;      /* in a's memory */

/* ---- The bed ------------------------------------------------------------------------- */

static uint8_t *ours(uint64_t at)
{
    return p.a.drv.memory + at;
}

static uint8_t *there(uint64_t off)
{
    return p.b.drv.memory + p.b.room + off;
}

/* What stands in the peer's segment. */
static uint64_t word_at(uint64_t off)
{
    return 0x7700000000000000ull | off;
}

static void start_by(const char *props)
{
    eng_start(&p, &(EngPlan){ .carrier = ENG_CTP, .mode = UB_ROI,
                              .props = props });
    win_alloc(&w, &p.a, L1_ENTRIES);
    sync_word = ubq_alloc(&p.a.drv, 4096, 4096);
    win_enable(&w);
    cmd_pi = cmd_resp = 0;
    for (uint64_t off = 0; off < ENG_ROOM; off += 8) {
        put_le64(there(off), word_at(off));
    }
}

static void start(void)
{
    start_by(WIN_PROPS);
}

static uint32_t get(unsigned dw)
{
    return qubc_cfg_read(p.a.q, win_dw(dw));
}

static void set(unsigned dw, uint32_t value)
{
    qubc_cfg_write(p.a.q, win_dw(dw), value);
}

static uint8_t *bulk(unsigned n)
{
    return ours(w.l0 + n * UB_LDS_BULK);
}

/* Entry @n of the L1 table leads to @off in the peer's segment. */
static uint8_t *page(unsigned n, uint64_t off)
{
    win_page(&w, n, ENG_UBA + off, ENG_DEST, ENG_TOKEN);
    return ours(w.l1 + n * UB_LDS_ENTRY);
}

/* Bulk entry @n is a range of MiBs; others by the L1 table. */
static uint8_t *range(unsigned n, uint32_t from, uint32_t last, uint64_t uba)
{
    uint8_t *e = bulk(n);

    memset(e, 0, UB_LDS_BULK);
    put_le64(e, UB_LDS_TYPE_RANGE | UB_LDS_TOKEN_VLD | w.l1);
    put_le64(e + 8, from | (uint64_t)last << UB_LDS_MEM_LIMIT_SHIFT);
    put_le64(e + 16, uba);
    put_le64(e + 24, (uint64_t)ENG_DEST << UB_LDS_DEST_SHIFT);
    put_le64(e + 48, ENG_SEGMENT | (uint64_t)ENG_TOKEN << 32);
    return e;
}

/* The first 4 GiB are the L1 table's. */
static void paged(void)
{
    memset(bulk(0), 0, UB_LDS_BULK);
    put_le64(bulk(0), UB_LDS_TYPE_TABLE | w.l1);
}

/* Tables have changed: nothing is remembered. */
static void forget(void)
{
    set(UB_DECODER_CTRL, 1);
}

static uint64_t load_pa(uint64_t pa)
{
    uint64_t in = pa & (MIB - 1);

    win_set64(&w, UB_DECODER_MMIO_BA, WIN_BASE - (pa - in));
    return win_load(&w, in);
}

static void reaches(uint64_t pa, uint64_t off)
{
    g_assert_cmphex(load_pa(pa), ==, word_at(off));
}

/* The last event is of this, and of a load or store of @pa. */
static void told(unsigned event, uint64_t pa, bool store)
{
    const uint8_t *e;

    g_assert_cmphex(win_event(&w), ==, event);
    e = ours(w.eventq + (w.events - 1) % 64 * UB_LDS_QUEUE_ENTRY);
    g_assert_cmphex(get_le64(e), ==, event | (pa >> 20 & 0xfffffff) << 32);
    g_assert_cmphex(get_le64(e + 8) & ~0xffffull, ==,
                    (store ? UB_LDS_EVENT_STORE : 0) | (pa & (MIB - 1)) << 32);
}

static void fails(uint64_t pa, unsigned event)
{
    g_assert_cmphex(load_pa(pa), ==, UINT64_MAX);
    told(event, pa, false);
}

/* ---- Commands ------------------------------------------------------------------------ */

static void command(uint64_t q0, uint64_t q1)
{
    uint8_t *e = ours(w.cmdq + cmd_pi % COMMANDS * UB_LDS_QUEUE_ENTRY);

    put_le64(e, q0);
    put_le64(e + 8, q1);
    cmd_pi = (cmd_pi + 1) % (2 * COMMANDS);
    set(UB_DECODER_CMDQ_PROD, cmd_pi | cmd_resp);
}

static void commands_done(void)
{
    QUBC_WAIT((get(UB_DECODER_CMDQ_CONS) &
               UB_DECODER_CMDQ_CONS__CMDQ_RD_IDX) == cmd_pi);
}

/* A SYNC that writes @value. */
static void post_sync(uint32_t value)
{
    command(UB_LDS_CMD_SYNC | UB_LDS_SYNC_WRITE << UB_LDS_SYNC_HOW_SHIFT |
            (uint64_t)value << 32, sync_word);
}

static uint32_t synced(void)
{
    return get_le32(ours(sync_word));
}

/* ---- Tables -------------------------------------------------------------------------- */

/* PA 5a512335678h: bulk entry B4h, PTE 5, entry 123h; and by its neighbours nothing, or
 * what those say. */
static void test_levels(void)
{
    const uint64_t pa = 0x5a512335678, off = 0x35678;
    uint8_t *pte;

    start();
    pte = bulk(0xb4) + 8 * 5;
    put_le64(pte, UB_LDS_TYPE_TABLE | w.l1);
    page(0x123, 0);
    page(0x124, 4096);
    page(0x122, 8192);
    reaches(pa, off);
    reaches(pa + MIB, off + 4096);
    reaches(pa - MIB, off + 8192);
    fails(pa + 2 * MIB, UB_LDS_EVENT_RANGE);
    /* The other PTEs, the other bulk entries, beyond 44 bits. */
    fails(pa + (1ull << 32), UB_LDS_EVENT_RANGE);
    fails(pa - (1ull << 32), UB_LDS_EVENT_RANGE);
    fails(pa + (1ull << 35), UB_LDS_EVENT_RANGE);
    fails(pa - (1ull << 35), UB_LDS_EVENT_RANGE);
    g_assert_cmphex(load_pa(pa + (1ull << 44)), ==, UINT64_MAX);
    g_assert_cmphex(win_event(&w), ==, UB_LDS_EVENT_RANGE);
    /* Types of a PTE that are not there; a table that is not in memory, or none. */
    put_le64(pte, UB_LDS_TYPE_PAGE | w.l1);
    forget();
    fails(pa, UB_LDS_EVENT_ENTRY);
    put_le64(pte, UB_LDS_TYPE_TABLE | (QUBC_NOWHERE & UB_LDS_L1_BASE));
    fails(pa, UB_LDS_EVENT_TABLE);
    put_le64(pte, UB_LDS_TYPE_TABLE);
    fails(pa, UB_LDS_EVENT_RANGE);
    /* Of eight PTEs the last. */
    put_le64(pte, 0);
    put_le64(bulk(0xb4) + 8 * 7, UB_LDS_TYPE_TABLE | w.l1);
    reaches(pa + (2ull << 32), off);
    set(UB_DECODER_CTRL, 0);
    fails(pa + (2ull << 32), UB_LDS_EVENT_RANGE);
    eng_stop(&p);
}

/* UBA = UBA_BASE + PA[34:0]. */
static void test_literal(void)
{
    const uint64_t pa = 0x5a512335678, off = 0x35678;
    const uint64_t before = 0x5123 * MIB;

    start_by(WIN_PROPS ",window-uba-literal=on");
    put_le64(bulk(0xb4) + 8 * 5, UB_LDS_TYPE_TABLE | w.l1);
    page(0x123, -before);
    reaches(pa, off);
    page(0x123, 0);
    forget();
    fails(pa, UB_LDS_EVENT_REMOTE);
    range(0xb4, 0x5122, 0x5124, ENG_UBA - before);
    forget();
    reaches(pa, off);
    eng_stop(&p);
}

static void test_ranges(void)
{
    const uint64_t base = 7ull << 35, off = 0x3210;

    start();
    /* Each MiB of a range is one further. */
    for (unsigned i = 0; i < 3; i++) {
        range(7, 0x10, 0x12, ENG_UBA - i * MIB);
        forget();
        reaches(base + (0x10 + i) * MIB + off, off);
    }
    /* Beside it the table of 32768 entries, which does not count within. */
    page(0x11, 4096);
    page(0x13, 8192);
    page(0x7fff, 12288);
    fails(base + 0x11 * MIB + off, UB_LDS_EVENT_REMOTE);
    fails(base + 0xf * MIB, UB_LDS_EVENT_RANGE);
    reaches(base + 0x13 * MIB + off, off + 8192);
    reaches(base + 0x7fff * MIB + off, off + 12288);
    fails(base + 0x8013 * MIB + off, UB_LDS_EVENT_RANGE);
    /* Bounds in the wrong order hold nothing; a range of one; the last MiB. */
    range(7, 0x12, 0x10, ENG_UBA);
    forget();
    reaches(base + 0x11 * MIB + off, off + 4096);
    range(7, 0x11, 0x11, ENG_UBA);
    forget();
    reaches(base + 0x11 * MIB + off, off);
    range(7, 0x7fff, 0x7fff, ENG_UBA);
    forget();
    reaches(base + 0x7fff * MIB + off, off);
    /* Without a table there is nothing. */
    put_le64(bulk(7), UB_LDS_TYPE_RANGE | UB_LDS_TOKEN_VLD);
    forget();
    reaches(base + 0x7fff * MIB + off, off);
    fails(base + 0x13 * MIB, UB_LDS_EVENT_RANGE);
    eng_stop(&p);
}

/* What an entry says beside where it leads. */
static void test_entries(void)
{
    static const struct {
        unsigned word;
        uint64_t clear, set;
        unsigned event;
    } rows[] = {
        { 0, 3, UB_LDS_TYPE_INVALID, UB_LDS_EVENT_RANGE },
        { 0, 3, UB_LDS_TYPE_TABLE, UB_LDS_EVENT_ENTRY },
        { 0, 3, UB_LDS_TYPE_RANGE, UB_LDS_EVENT_ENTRY },
        { 0, UB_LDS_TOKEN_VLD, 0, UB_LDS_EVENT_REMOTE },
        { 1, 0, 1ull << UB_LDS_ORDER_SHIFT, 0 },
        { 1, 0, 2ull << UB_LDS_ORDER_SHIFT, 0 },
        { 1, 0, 3ull << UB_LDS_ORDER_SHIFT, UB_LDS_EVENT_ENTRY },
        { 1, 0, 1ull << UB_LDS_EE_SHIFT, 0 },
        { 1, 0, 2ull << UB_LDS_EE_SHIFT, UB_LDS_EVENT_ENTRY },
        { 1, 0, 3ull << UB_LDS_EE_SHIFT, UB_LDS_EVENT_ENTRY },
        { 1, 0, 1ull << UB_LDS_DEST_SHIFT << 8, UB_LDS_EVENT_ENTRY },
        { 2, 0, 2, 0 },         /* EID of the peer, another, one more byte */
        { 2, 0, 3, UB_LDS_EVENT_ENTRY },
        { 3, 0, 1, UB_LDS_EVENT_ENTRY },
        { 4, 0xfffff, ENG_SEGMENT + 1, UB_LDS_EVENT_REMOTE },
        { 4, 0, 1ull << 32 << 5, UB_LDS_EVENT_REMOTE },
        { 5, 0, 1, 0 },         /* UPI */
        { 5, 0, 2, UB_LDS_EVENT_ENTRY },
        { 7, 0, 1ull << UB_LDS_SEID_SHIFT, 0 },
        { 7, 0, 2ull << UB_LDS_SEID_SHIFT, UB_LDS_EVENT_ENTRY },
    };
    const uint64_t pa = 3 * MIB + 0x128;

    start();
    paged();
    for (unsigned i = 0; i < G_N_ELEMENTS(rows); i++) {
        uint8_t *q = page(3, 0) + 8 * rows[i].word;

        put_le64(q, (get_le64(q) & ~rows[i].clear) | rows[i].set);
        forget();
        if (rows[i].event) {
            fails(pa, rows[i].event);
        } else {
            reaches(pa, 0x128);
        }
    }
    eng_stop(&p);
}

/* Stores go where loads do, whatever order their entry asks for, and are told as
 * stores. */
static void test_stores(void)
{
    static const uint8_t orders[] = { UB_TA_NO, UB_TA_RO, UB_TA_SO };

    start();
    paged();
    win_set64(&w, UB_DECODER_MMIO_BA, WIN_BASE);
    for (unsigned i = 0; i < G_N_ELEMENTS(orders); i++) {
        uint8_t *e = page(3, 0);

        put_le64(e + 8, get_le64(e + 8) |
                        (uint64_t)orders[i] << UB_LDS_ORDER_SHIFT);
        forget();
        for (unsigned n = 0; n < 64; n++) {
            win_store(&w, 3 * MIB + 1024 * n, orders[i] * 1000 + n);
        }
        g_assert_cmphex(win_fence(&w), ==, 0);
        for (unsigned n = 0; n < 64; n++) {
            g_assert_cmphex(get_le64(there(1024 * n)), ==,
                            orders[i] * 1000 + n);
        }
    }
    win_store(&w, 5 * MIB + 0x40, 1);
    g_assert_cmphex(win_fence(&w), ==, 1);
    g_assert_cmphex(win_fence(&w), ==, 0);
    g_assert_cmphex(win_event(&w), ==, UB_LDS_EVENT_RANGE);
    eng_stop(&p);
}

/* A base between the bytes of a line: what lies across is refused, the rest is where
 * the base says. */
static void test_odd_base(void)
{
    const uint64_t at = 3 * MIB;
    QTestState *qts;

    start();
    paged();
    page(3, 0);
    qts = p.a.q->qts;
    win_set64(&w, UB_DECODER_MMIO_BA, WIN_BASE - 4);
    win_store(&w, at + 1016, UINT64_MAX);
    g_assert_cmphex(win_fence(&w), ==, 1);
    told(UB_LDS_EVENT_RANGE, at + 1020, true);
    g_assert_cmphex(get_le64(there(1016)), ==, word_at(1016));
    g_assert_cmphex(get_le64(there(1024)), ==, word_at(1024));
    g_assert_cmphex(win_load(&w, at + MIB - 8), ==, UINT64_MAX);
    told(UB_LDS_EVENT_RANGE, at + MIB - 4, false);
    qtest_writel(qts, WIN_BASE + at + 1016, 0x01020304);
    g_assert_cmphex(qtest_readl(qts, WIN_BASE + at + 1012), ==, 1016);
    g_assert_cmphex(qtest_readl(qts, WIN_BASE + at + 1016), ==, 0x01020304);
    for (unsigned odd = 1; odd < 8; odd++) {
        win_set64(&w, UB_DECODER_MMIO_BA, WIN_BASE - odd);
        g_assert_cmphex(qtest_readb(qts, WIN_BASE + at + 2048 - odd), ==, 0);
        qtest_writeb(qts, WIN_BASE + at + 1023, odd);
        g_assert_cmphex(qtest_readb(qts, WIN_BASE + at + 1023), ==, odd);
        g_assert_cmphex(*there(1023 + odd), ==, odd);
        if (odd % 2) {
            qtest_writew(qts, WIN_BASE + at + 1022, 0xffff);
            told(UB_LDS_EVENT_RANGE, at + 1022 + odd, true);
        }
    }
    g_assert_cmphex(win_fence(&w), ==, 4);
    eng_stop(&p);
}

/* ---- The command queue --------------------------------------------------------------- */

static void test_commands(void)
{
    start();
    for (unsigned i = 1; i <= 5 * COMMANDS + 3; i++) {
        post_sync(i);
        commands_done();
        g_assert_cmpuint(synced(), ==, i);
    }
    g_assert_cmpuint(eng_counter(&p.a, "window", "decoder-commands"), ==,
                     5 * COMMANDS + 3);
    /* More than there is room for is not taken. */
    set(UB_DECODER_CMDQ_PROD, (cmd_pi + COMMANDS + 1) % (2 * COMMANDS));
    g_assert_cmpuint(get(UB_DECODER_CMDQ_PROD), ==, cmd_pi);
    g_assert_true(qubc_logged(p.a.q, "more decoder commands than"));
    /* All of it at once is. */
    for (unsigned i = 0; i < COMMANDS; i++) {
        put_le64(ours(w.cmdq + i * UB_LDS_QUEUE_ENTRY),
                 UB_LDS_CMD_INVALIDATE_ALL);
    }
    cmd_pi = (cmd_pi + COMMANDS) % (2 * COMMANDS);
    set(UB_DECODER_CMDQ_PROD, cmd_pi);
    commands_done();
    g_assert_cmpuint(eng_counter(&p.a, "window", "decoder-commands"), ==,
                     6 * COMMANDS + 3);
    eng_stop(&p);
}

/* What a MiB leads to is remembered until its MiB is named. */
static void test_invalidate(void)
{
    start();
    paged();
    for (unsigned i = 0; i < 4; i++) {
        page(i, 4096 * i);
        reaches(i * MIB + 8, 4096 * i + 8);
    }
    for (unsigned i = 0; i < 4; i++) {
        put_le64(page(i, 0), 0);
        reaches(i * MIB + 16, 4096 * i + 16);
    }
    command(UB_LDS_CMD_INVALIDATE | 1ull << 32, 2);
    commands_done();
    reaches(0, 0);
    fails(1 * MIB, UB_LDS_EVENT_RANGE);
    fails(2 * MIB, UB_LDS_EVENT_RANGE);
    reaches(3 * MIB, 4096 * 3);
    command(UB_LDS_CMD_INVALIDATE_ALL, 0);
    commands_done();
    fails(0, UB_LDS_EVENT_RANGE);
    fails(3 * MIB, UB_LDS_EVENT_RANGE);
    eng_stop(&p);
}

/* SYNC behind an invalidation is done when nothing goes by the old entries any more: not
 * before a store there, which a peer does not answer, has had its time.  Others' are
 * nothing to it. */
static void test_sync(void)
{
    start_by(WIN_PROPS ",window-timeout=700,window-grace=100");
    paged();
    page(0, 0);
    win_set64(&w, UB_DECODER_MMIO_BA, WIN_BASE);
    qubc_cfg_write(p.link.b, UB_CFG0_UPI, 2);
    win_store(&w, 0, 1);
    /* By itself it waits for nothing. */
    post_sync(1);
    commands_done();
    g_assert_cmpuint(synced(), ==, 1);
    g_assert_cmpuint(eng_counter(&p.a, "window", "timeouts"), ==, 0);
    command(UB_LDS_CMD_INVALIDATE | 0xfffull << 32, 0xfff);
    post_sync(2);
    commands_done();
    g_assert_cmpuint(synced(), ==, 2);
    g_assert_cmpuint(eng_counter(&p.a, "window", "timeouts"), ==, 0);
    command(UB_LDS_CMD_INVALIDATE, 0);
    post_sync(3);
    QUBC_WAIT(synced() == 3);
    g_assert_cmpuint(eng_counter(&p.a, "window", "timeouts"), ==, 1);
    told(UB_LDS_EVENT_TIMEOUT, 0, true);
    qubc_cfg_write(p.link.b, UB_CFG0_UPI, 1);
    g_assert_cmphex(win_fence(&w), ==, 1);
    eng_stop(&p);
}

/* The queue stands at a command that is bad until the bit is acknowledged. */
static void test_errors(void)
{
    start();
    for (unsigned lap = 1; lap <= 3; lap++) {
        uint32_t bad = cmd_pi, cons;

        command(0x77, 0);
        post_sync(lap);
        QUBC_WAIT((get(UB_DECODER_CMDQ_CONS) ^ cmd_resp) & CMDQ_ERR);
        cons = get(UB_DECODER_CMDQ_CONS);
        g_assert_cmpuint(cons & UB_DECODER_CMDQ_CONS__CMDQ_RD_IDX, ==, bad);
        g_assert_cmpuint(cons >> 17, ==, UB_LDS_ERR_ILLEGAL);
        g_assert_cmphex(win_event(&w), ==, UB_LDS_EVENT_COMMAND);
        g_assert_cmphex(get_le64(ours(w.eventq + (w.events - 1) *
                                      UB_LDS_QUEUE_ENTRY)), ==,
                        UB_LDS_EVENT_COMMAND | 0x77ull << 32);
        g_assert_cmpuint(synced(), ==, lap - 1);
        /* Another in its place, and the bit. */
        put_le64(ours(w.cmdq + bad % COMMANDS * UB_LDS_QUEUE_ENTRY),
                 UB_LDS_CMD_INVALIDATE_ALL);
        cmd_resp ^= CMDQ_ERR;
        set(UB_DECODER_CMDQ_PROD, cmd_pi | cmd_resp);
        commands_done();
        g_assert_cmpuint(synced(), ==, lap);
        g_assert_cmpuint(get(UB_DECODER_CMDQ_CONS) >> 17, ==, 0);
    }
    /* Where there is no memory: written, and read. */
    command(UB_LDS_CMD_SYNC | UB_LDS_SYNC_WRITE << UB_LDS_SYNC_HOW_SHIFT,
            QUBC_NOWHERE & 0xffffffffffffcull);
    QUBC_WAIT((get(UB_DECODER_CMDQ_CONS) ^ cmd_resp) & CMDQ_ERR);
    g_assert_cmpuint(get(UB_DECODER_CMDQ_CONS) >> 17, ==, UB_LDS_ERR_ABORT);
    set(UB_DECODER_CMDQ_CFG, 4 << 8);
    set(UB_DECODER_CMDQ_CONS, 0);
    set(UB_DECODER_CMDQ_PROD, 0);
    win_set64(&w, UB_DECODER_CMDQ_BASE_ADDR, p.a.q->bar.addr);
    set(UB_DECODER_CMDQ_CFG, 4 << 8 | 1);
    set(UB_DECODER_CMDQ_PROD, 1);
    QUBC_WAIT(get(UB_DECODER_CMDQ_CONS) & CMDQ_ERR);
    g_assert_cmpuint(get(UB_DECODER_CMDQ_CONS), ==,
                     CMDQ_ERR | UB_LDS_ERR_ABORT << 17);
    eng_stop(&p);
}

/* Base, depth and the device's indexes stand while their queue is enabled. */
static void test_fixed(void)
{
    static const struct {
        uint16_t cfg, dw;
    } rows[] = {
        { UB_DECODER_CMDQ_CFG, UB_DECODER_CMDQ_CFG },
        { UB_DECODER_CMDQ_CFG, UB_DECODER_CMDQ_CONS },
        { UB_DECODER_CMDQ_CFG, UB_DECODER_CMDQ_BASE_ADDR },
        { UB_DECODER_CMDQ_CFG, UB_DECODER_CMDQ_BASE_ADDR + 1 },
        { UB_DECODER_EVENTQ_CFG, UB_DECODER_EVENTQ_CFG },
        { UB_DECODER_EVENTQ_CFG, UB_DECODER_EVENTQ_PROD },
        { UB_DECODER_EVENTQ_CFG, UB_DECODER_EVENTQ_BASE_ADDR },
        { UB_DECODER_EVENTQ_CFG, UB_DECODER_EVENTQ_BASE_ADDR + 1 },
    };
    const uint32_t flip = 0x140;    /* bits that each of them has, but an enable */

    start();
    for (unsigned i = 0; i < G_N_ELEMENTS(rows); i++) {
        uint32_t on = get(rows[i].cfg), was = get(rows[i].dw), now;

        set(rows[i].dw, was ^ flip);
        g_assert_cmphex(get(rows[i].dw), ==, was);
        set(rows[i].cfg, on & ~1);
        was &= rows[i].dw == rows[i].cfg ? ~1u : ~0u;
        set(rows[i].dw, was ^ flip);
        now = get(rows[i].dw);
        g_assert_cmphex(now, !=, was);
        g_assert_cmphex((now ^ was) & ~flip, ==, 0);
        set(rows[i].dw, was);
        set(rows[i].cfg, on);
        g_assert_cmphex(get(rows[i].cfg), ==, on);
    }
    g_assert_true(qubc_logged(p.a.q, "decoder queue changed while"));
    post_sync(9);
    commands_done();
    g_assert_cmpuint(synced(), ==, 9);
    fails(0, UB_LDS_EVENT_RANGE);
    eng_stop(&p);
}

/* ---- The event queue ----------------------------------------------------------------- */

/* One of two entries: the third event is lost, and said so until it is acknowledged. */
static void test_overflow(void)
{
    const uint32_t ovfl = UB_DECODER_EVENTQ_PROD__EVENTQ_OVFL_ERR;

    start();
    set(UB_DECODER_EVENTQ_CFG, 1 << 8);
    set(UB_DECODER_EVENTQ_CFG, 1 << 8 | 1);
    for (unsigned lap = 0; lap < 3; lap++) {
        uint32_t prod = get(UB_DECODER_EVENTQ_PROD);
        uint32_t wr = ((prod & 3) + 2) & 3;

        for (unsigned i = 0; i < 4; i++) {
            g_assert_cmphex(load_pa(i * MIB), ==, UINT64_MAX);
        }
        g_assert_cmphex(get(UB_DECODER_EVENTQ_PROD), ==,
                        wr | ((prod ^ ovfl) & ovfl));
        g_assert_cmpuint(eng_counter(&p.a, "window", "events-lost"), ==,
                         2 * (lap + 1));
        for (unsigned i = 0; i < 2; i++) {
            g_assert_cmphex(get_le64(ours(w.eventq +
                                          i * UB_LDS_QUEUE_ENTRY)), ==,
                            UB_LDS_EVENT_RANGE | (uint64_t)i << 32);
        }
        /* Read and acknowledged. */
        set(UB_DECODER_EVENTQ_CONS, get(UB_DECODER_EVENTQ_PROD));
    }
    /* Memory that is not there. */
    set(UB_DECODER_EVENTQ_CFG, 1 << 8);
    win_set64(&w, UB_DECODER_EVENTQ_BASE_ADDR, p.a.q->bar.addr);
    set(UB_DECODER_EVENTQ_CFG, 1 << 8 | 1);
    g_assert_cmphex(load_pa(0), ==, UINT64_MAX);
    g_assert_cmpuint(eng_counter(&p.a, "window", "events-lost"), ==, 7);
    g_assert_true((get(UB_DECODER_EVENTQ_PROD) ^
                   get(UB_DECODER_EVENTQ_CONS)) & ovfl);
    eng_stop(&p);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    qtest_add_func("/ubc-decoder/levels", test_levels);
    qtest_add_func("/ubc-decoder/literal", test_literal);
    qtest_add_func("/ubc-decoder/ranges", test_ranges);
    qtest_add_func("/ubc-decoder/entries", test_entries);
    qtest_add_func("/ubc-decoder/stores", test_stores);
    qtest_add_func("/ubc-decoder/odd-base", test_odd_base);
    qtest_add_func("/ubc-decoder/commands", test_commands);
    qtest_add_func("/ubc-decoder/invalidate", test_invalidate);
    qtest_add_func("/ubc-decoder/sync", test_sync);
    qtest_add_func("/ubc-decoder/errors", test_errors);
    qtest_add_func("/ubc-decoder/fixed", test_fixed);
    qtest_add_func("/ubc-decoder/overflow", test_overflow);
    return g_test_run();
}
