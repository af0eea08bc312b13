/*
 * A guest that means ill, by chance: whatever it writes to its controller's BARs and to
 * the memory that this reads (rings, contexts, tables), while all of it is set up, the
 * emulator lives, its peer works on, and after a reset so does the controller.
 *
 * What is drawn follows from FABRIC_SEED, which is 1 if it is not there; FABRIC_RANDOM is
 * how many accesses there are.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "ubc-ummu-bed.h"
#include "ubc-win.h"

#define ACCESSES 8000u
#define RESETS 16u
/* A load that nobody answers ends soon, and so does what waits for a link. */
#define PROPS "window=64M,window-timeout=2,window-grace=1,ta-ack-timeout=50000"

/* Ranges of the BARs, those that do something more often. */
static const struct Range {
    unsigned bar;
    uint64_t at, len;
    unsigned weight;
} ranges[] = {
    { 0, 0, 0x10000, 3 },
    { 0, UBQ_CMD_WINDOW, 0x1000, 3 },
    { 0, UBC_CFG_WINDOW, 0x300000, 2 },
    { 0, UBC_CFG_WINDOW + 4 * UB_CFG_CAP(UB_CFG1_BASE, UB_CAP_DECODER), 0x80,
      3 },
    { 0, UBM_WINDOW, 0x2000, 3 },
    { 0, UBM_WINDOW + UBM_UQ(0), 0x80000, 1 },
    { 0, 0, UBC_BAR_SIZE, 1 },
    { 2, 0, UBQ_PAGE, 4 },
    { 2, 0, 0x1000000, 1 },
    { 4, 0, 2 << 20, 2 },
    { 4, WIN_CONTROL, UB_LDS_CONTROL, 3 },
    { 4, 0, WIN_SIZE, 1 },
};

static GRand *rand_of;

static uint64_t draw(uint64_t below)
{
    uint64_t r = (uint64_t)g_rand_int(rand_of) << 32 | g_rand_int(rand_of);

    return r % below;
}

static const struct Range *range_draw(void)
{
    unsigned all = 0, n;

    for (unsigned i = 0; i < G_N_ELEMENTS(ranges); i++) {
        all += ranges[i].weight;
    }
    n = draw(all);
    for (unsigned i = 0;; i++) {
        if (n < ranges[i].weight) {
            return &ranges[i];
        }
        n -= ranges[i].weight;
    }
}

static uint64_t value_draw(Eng *e)
{
    switch (draw(8)) {
    case 0:
        return draw(2) - 1;                     /* all zeroes, all ones */
    case 1:
        return draw(16);
    case 2:
        return 1ull << draw(64);
    case 3:
        return e->q->bar.addr + draw(UBC_BAR_SIZE);
    case 4:
        return WIN_BASE + draw(WIN_SIZE);
    case 5:
        return QUBC_NOWHERE + draw(1 << 20);
    case 6:
        return ENG_HEAP + draw(16 << 20);       /* memory that is in use */
    default:
        return draw(UINT64_MAX);
    }
}

static uint64_t base_of(Eng *e, unsigned bar)
{
    return bar == 0 ? e->q->bar.addr : bar == 2 ? e->pages.addr : WIN_BASE;
}

static void access_bar(Eng *e)
{
    const struct Range *r = range_draw();
    unsigned log2 = draw(4);
    uint64_t at = base_of(e, r->bar) + (draw(r->len) & ~((1ull << log2) - 1));
    uint64_t v = value_draw(e);
    QTestState *qts = e->q->qts;

    if (draw(3)) {
        switch (log2) {
        case 0:
            qtest_writeb(qts, at, v);
            break;
        case 1:
            qtest_writew(qts, at, v);
            break;
        case 2:
            qtest_writel(qts, at, v);
            break;
        default:
            qtest_writeq(qts, at, v);
        }
    } else if (log2 < 3) {
        qtest_readl(qts, at & ~3ull);
    } else {
        qtest_readq(qts, at);
    }
}

/* A word of what the controller reads: near the beginning of a piece that it was given,
 * or anywhere. */
static void change_memory(Eng *e, const uint64_t *pieces, unsigned n)
{
    uint64_t at = draw(4) ? pieces[draw(n)] + 8 * draw(draw(8) ? 64 : 8192)
                          : ENG_HEAP + (draw(16 << 20) & ~7ull);

    if (at + 8 <= e->q->ram->size) {
        put_le64(e->drv.memory + at, value_draw(e));
    }
}

/* Work for it to stumble over. */
static void work(Eng *e)
{
    uint8_t *s = eng_sqe(e, draw(2) ? UB_TA_WRITE : UB_TA_READ, 0,
                         1 + draw(16384), 1);

    ubq_post(&e->queue, s, 1);
}

static unsigned number_of(const char *name, unsigned other)
{
    const char *text = g_getenv(name);

    return text ? strtoul(text, NULL, 0) : other;
}

/* kB of the emulator's own memory. */
static uint64_t own_memory(Eng *e)
{
    g_autofree char *path = g_strdup_printf("/proc/%d/status",
                                            qtest_pid(e->q->qts));
    g_autofree char *text = NULL;
    const char *at;

    g_assert_true(g_file_get_contents(path, &text, NULL, NULL));
    at = strstr(text, "RssAnon:");
    return at ? strtoull(at + 8, NULL, 10) : 0;
}

static void random_guest(unsigned carrier, const char *props, const char *more)
{
    uint64_t pieces[16], before;
    unsigned n = 0, all = number_of("FABRIC_RANDOM", ACCESSES);
    Win w;

    rand_of = g_rand_new_with_seed(number_of("FABRIC_SEED", 1));
    eng_start(&p, &(EngPlan){ .carrier = carrier, .props = props,
                              .more = more });
    ummu_open();
    win_open(&w, &p.b);
    pieces[n++] = p.b.drv.cmd_base;
    pieces[n++] = p.b.drv.eq_base;
    pieces[n++] = p.b.cq.base;
    pieces[n++] = p.b.queue.sq;
    pieces[n++] = p.b.queue.rq;
    pieces[n++] = ummu.tect;
    pieces[n++] = tcte;
    pieces[n++] = root;
    pieces[n++] = mapte;
    pieces[n++] = ummu.cmdq;
    pieces[n++] = ummu.evtq;
    pieces[n++] = w.l0;
    pieces[n++] = w.l1;
    pieces[n++] = w.cmdq;
    before = own_memory(&p.b);
    for (unsigned i = 0; i < all; i++) {
        if (i % (all / RESETS) == all / RESETS - 1) {
            /* It hurts itself badly: again from the beginning now and then. */
            eng_begin_anew(&p.b);
            eng_queue(&p.b, &p.plan);
            ummu_open();
            win_open(&w, &p.b);
        }
        if (!draw(3)) {
            change_memory(&p.b, pieces, n);
        } else {
            access_bar(&p.b);
        }
        if (!draw(16)) {
            work(&p.a);
        }
    }
    /* The peer's queue may have had errors, nothing else. */
    eng_begin_anew(&p.a);
    eng_begin_anew(&p.b);
    eng_link_up(&p);
    eng_queue(&p.a, &p.plan);
    eng_queue(&p.b, &p.plan);
    eng_write_read(&p, 65536, 1);
    eng_write_read_to(&p.b, &p.a, 65536, 2);
    /* What it has kept is bounded: caches, counters, channels. */
    g_assert_cmpuint(own_memory(&p.b), <, before + (512u << 10));
    eng_stop(&p);
    g_rand_free(rand_of);
}

static void test_rtp(void)
{
    random_guest(ENG_RTP, PROPS, NULL);
}

static void test_ctp(void)
{
    random_guest(ENG_CTP, PROPS, NULL);
}

static void test_bypass(void)
{
    random_guest(ENG_BYPASS, PROPS, NULL);
}

static void test_iothread(void)
{
    random_guest(ENG_CTP, PROPS ",iothread=io", "-object iothread,id=io");
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    qtest_add_func("/ubc-random/rtp", test_rtp);
    qtest_add_func("/ubc-random/ctp", test_ctp);
    qtest_add_func("/ubc-random/bypass", test_bypass);
    qtest_add_func("/ubc-random/iothread", test_iothread);
    return g_test_run();
}
