/*
 * Loads and stores through BAR4 on the memory of another machine.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "ubc-win.h"
#include "ub/tah.h"

#define IOTHREAD WIN_PROPS ",iothread=io"
#define IO_OBJECT "-object iothread,id=io"

typedef struct Two {
    EngPair p;
    Win a, b;
} Two;

static void two_start(Two *t, unsigned carrier, const char *props,
                      const char *more)
{
    const EngPlan plan = { .carrier = carrier, .mode = UB_ROI, .props = props,
                           .more = more };

    eng_start(&t->p, &plan);
    win_open(&t->a, &t->p.a);
    win_open(&t->b, &t->p.b);
}

static void two_stop(Two *t)
{
    eng_stop(&t->p);
}

/* The room at b. */
static uint8_t *there(Two *t)
{
    return t->p.b.drv.memory + t->p.b.room;
}

static void all_of_it(unsigned carrier, const char *props, const char *more)
{
    QTestState *qts;
    Two t;

    two_start(&t, carrier, props, more);
    qts = t.p.a.q->qts;
    memset(there(&t), 0, 8192);
    win_store(&t.a, 0, 0x1122334455667788);
    g_assert_cmphex(win_load(&t.a, 0), ==, 0x1122334455667788);
    qtest_writeb(qts, WIN_BASE + 3, 0xaa);
    qtest_writew(qts, WIN_BASE + 12, 0xbbcc);
    qtest_writel(qts, WIN_BASE + 20, 0xddeeff00);
    g_assert_cmphex(qtest_readl(qts, WIN_BASE), ==, 0xaa667788);
    g_assert_cmphex(qtest_readw(qts, WIN_BASE + 12), ==, 0xbbcc);
    g_assert_cmphex(qtest_readb(qts, WIN_BASE + 22), ==, 0xee);
    g_assert_cmphex(get_le64(there(&t)), ==, 0x11223344aa667788);
    /* Neighbours, and a fence. */
    for (unsigned i = 0; i < 512; i++) {
        win_store(&t.a, 4096 + 8 * i, i);
    }
    g_assert_cmphex(win_fence(&t.a), ==, 0);
    for (unsigned i = 0; i < 512; i++) {
        g_assert_cmphex(get_le64(there(&t) + 4096 + 8 * i), ==, i);
    }
    /* Slots. */
    put_le64(there(&t) + 128, 40);
    win_store(&t.a, win_slot(2, UB_LDS_SLOT_DATA), 2);
    g_assert_cmphex(win_go(&t.a, 2, 128, UB_TA_FETCH_ADD, 8), ==,
                    UB_LDS_SLOT_DONE);
    g_assert_cmphex(win_load(&t.a, win_slot(2, UB_LDS_SLOT_RESULT)), ==, 40);
    g_assert_cmphex(get_le64(there(&t) + 128), ==, 42);
    g_assert_cmphex(win_go(&t.a, 9, 128, UB_TA_READ, 64), ==,
                    UB_LDS_SLOT_DONE);
    g_assert_cmphex(win_load(&t.a, win_slot(9, UB_LDS_SLOT_RESULT)), ==, 42);
    /* And the other way. */
    win_store(&t.b, 64, 99);
    g_assert_cmphex(win_load(&t.b, 64), ==, 99);
    g_assert_cmphex(get_le64(t.p.a.drv.memory + t.p.a.room + 64), ==, 99);
    two_stop(&t);
}

static void test_bypass(void)
{
    all_of_it(ENG_BYPASS, WIN_PROPS, NULL);
}

static void test_ctp(void)
{
    all_of_it(ENG_CTP, WIN_PROPS, NULL);
}

static void test_rtp(void)
{
    all_of_it(ENG_RTP, WIN_PROPS ",window-rol=on", NULL);
}

static void test_iothread(void)
{
    all_of_it(ENG_BYPASS, IOTHREAD, IO_OBJECT);
}

/* Nobody has the core's turns but its own thread: who waits sleeps at once. */
static void test_asleep(void)
{
    all_of_it(ENG_BYPASS, WIN_PROPS ",shm=off", NULL);
    all_of_it(ENG_BYPASS, WIN_PROPS ",inline-turn=off", NULL);
    all_of_it(ENG_BYPASS, IOTHREAD ",inline-turn=off", IO_OBJECT);
}

static void test_lossy(void)
{
    Two t;

    two_start(&t, ENG_RTP, WIN_PROPS, NULL);
    qubc_inject_all(t.p.link.a, 0, "'ber': 2e-5");
    qubc_inject_all(t.p.link.b, 0, "'ber': 2e-5");
    for (unsigned i = 0; i < 200; i++) {
        win_store(&t.a, 64 * i, i * 3);
        g_assert_cmphex(win_load(&t.a, 64 * i), ==, i * 3);
    }
    g_assert_cmphex(win_fence(&t.a), ==, 0);
    two_stop(&t);
}

/* No entry, wrong token, wrong row, nothing at the peer. */
static void test_refused(void)
{
    Two t;

    two_start(&t, ENG_CTP, WIN_PROPS, NULL);
    win_page(&t.a, 2, ENG_UBA, ENG_DEST, ENG_TOKEN + 1);
    win_page(&t.a, 3, ENG_UBA, ENG_DEST + 1, ENG_TOKEN);
    g_assert_cmphex(win_load(&t.a, 1 << 20), ==, UINT64_MAX);
    g_assert_cmphex(win_event(&t.a), ==, UB_LDS_EVENT_RANGE);
    g_assert_cmphex(win_load(&t.a, 2 << 20), ==, UINT64_MAX);
    g_assert_cmphex(win_event(&t.a), ==, UB_LDS_EVENT_REMOTE);
    g_assert_cmphex(win_load(&t.a, 3 << 20), ==, UINT64_MAX);
    g_assert_cmphex(win_event(&t.a), ==, UB_LDS_EVENT_ENTRY);
    win_store(&t.a, 2 << 20, 1);
    g_assert_cmphex(win_fence(&t.a), ==, 1);
    g_assert_cmphex(win_event(&t.a), ==, UB_LDS_EVENT_REMOTE);
    g_assert_cmphex(win_load(&t.a, ENG_ROOM), ==, UINT64_MAX);
    g_assert_cmphex(win_event(&t.a), ==, UB_LDS_EVENT_REMOTE);
    g_assert_cmphex(win_load(&t.a, WIN_CONTROL + UB_LDS_FAILED), ==, 5);
    /* Where the guest has no memory for tables; without mastering. */
    win_set64(&t.a, UB_DECODER_MATT_BA, QUBC_NOWHERE);
    g_assert_cmphex(win_load(&t.a, 0), ==, UINT64_MAX);
    g_assert_cmphex(win_event(&t.a), ==, UB_LDS_EVENT_TABLE);
    win_set64(&t.a, UB_DECODER_MATT_BA, WIN_BASE);
    g_assert_cmphex(win_load(&t.a, 0), ==, UINT64_MAX);
    g_assert_cmphex(win_event(&t.a), ==, UB_LDS_EVENT_TABLE);
    win_set64(&t.a, UB_DECODER_MATT_BA, t.a.l0);
    g_assert_cmphex(win_load(&t.a, 0), !=, UINT64_MAX);
    two_stop(&t);
}

/* A peer that is killed: what waits ends when the link is gone, what comes later
 * after a moment; then it is there again. */
static void dead_peer(const char *props, const char *more)
{
    Two t;

    two_start(&t, ENG_BYPASS, props, more);
    win_store(&t.a, 0, 1);
    g_assert_cmphex(win_load(&t.a, 0), ==, 1);
    win_store(&t.a, 64, 1);
    qubc_kill(t.p.link.b);
    g_assert_cmphex(win_load(&t.a, 0), ==, UINT64_MAX);
    g_assert_cmphex(win_load(&t.a, 0), ==, UINT64_MAX);
    g_assert_cmphex(win_load(&t.a, 8), ==, UINT64_MAX);
    win_fence(&t.a);
    g_assert_cmphex(win_event(&t.a), ==, UB_LDS_EVENT_LINK);
    g_assert_cmphex(win_load(&t.a, WIN_CONTROL + UB_LDS_PENDING), ==, 0);
    qubc_stop(t.p.link.a);
    unlink(t.p.link.path);
    rmdir(t.p.link.dir);
    g_free(t.p.link.path);
    g_free(t.p.link.dir);
}

static void test_dead_peer(void)
{
    dead_peer(WIN_PROPS, NULL);
}

static void test_dead_peer_iothread(void)
{
    dead_peer(IOTHREAD, IO_OBJECT);
}

/* A peer that lives and does not answer: the time of the window. */
static void deaf_peer(const char *props, const char *more)
{
    unsigned failed = 0;
    gint64 before;
    Two t;

    two_start(&t, ENG_CTP, props, more);
    qubc_cfg_write(t.p.link.b, UB_CFG0_UPI, 2);
    before = g_get_monotonic_time();
    g_assert_cmphex(win_load(&t.a, 0), ==, UINT64_MAX);
    g_assert_cmpint(g_get_monotonic_time() - before, >=, 500000);
    g_assert_cmphex(win_event(&t.a), ==, UB_LDS_EVENT_TIMEOUT);
    qubc_cfg_write(t.p.link.b, UB_CFG0_UPI, 1);
    put_le64(there(&t), 5);
    /* Not at once, where the host of the peer takes longer than the window waits. */
    QUBC_WAIT(win_load(&t.a, 0) == 5);
    /* What was given up takes no room: as many as there are numbers under way.  A slow
     * host may be late now and then. */
    for (unsigned i = 0; i < 1200; i++) {
        failed += win_load(&t.a, 0) != 5;
        g_assert_cmpuint(failed, <, 20);
    }
    two_stop(&t);
}

static void test_deaf_peer(void)
{
    deaf_peer(WIN_PROPS ",window-timeout=500,window-grace=100", NULL);
}

static void test_deaf_peer_iothread(void)
{
    deaf_peer(IOTHREAD ",window-timeout=500,window-grace=100", IO_OBJECT);
}

/* ---- Both at once --------------------------------------------------------------------- */

typedef struct Loader {
    Win *w;
    unsigned n;
} Loader;

static gpointer load_many(gpointer opaque)
{
    Loader *l = opaque;

    for (unsigned i = 0; i < l->n; i++) {
        win_store(l->w, 8 * (i % 64), i);
        g_assert_cmphex(win_load(l->w, 8 * (i % 64)), ==, i);
    }
    return NULL;
}

/* Each waits for the other: neither stands (8.2.7). */
static void both_load(const char *props, const char *more)
{
    GThread *thread;
    Two t;
    Loader a = { &t.a, 300 }, b = { &t.b, 300 };

    two_start(&t, ENG_BYPASS, props, more);
    thread = g_thread_new("b", load_many, &b);
    load_many(&a);
    g_thread_join(thread);
    g_assert_cmphex(win_load(&t.a, WIN_CONTROL + UB_LDS_FAILED), ==, 0);
    g_assert_cmphex(win_load(&t.b, WIN_CONTROL + UB_LDS_FAILED), ==, 0);
    two_stop(&t);
}

static void test_both(void)
{
    both_load(WIN_PROPS, NULL);
}

static void test_both_iothread(void)
{
    both_load(IOTHREAD, IO_OBJECT);
}

/* ---- A machine that moves ---------------------------------------------------------------- */

/* Loads one after the other, until it is told to end. */
typedef struct Stream {
    Win *w;
    int end;
    unsigned good, lost, wrong;
} Stream;

static gpointer load_on(gpointer opaque)
{
    Stream *s = opaque;

    while (!qatomic_read(&s->end)) {
        uint64_t v = win_load(s->w, 0);

        s->good += v == 5;
        s->lost += v == UINT64_MAX;
        s->wrong += v != 5 && v != UINT64_MAX;
    }
    return NULL;
}

/* What is lost with the link costs this. */
#define MOVES_PROPS "window=64M,window-timeout=3000"

/* Its peer loads all the time, and waits, as its link goes and comes; itself it has its
 * window as before. */
static void moves(const char *props, const char *more)
{
    Two t;

    two_start(&t, ENG_CTP, props, more);
    put_le64(t.p.a.drv.memory + t.p.a.room, 7);
    g_assert_cmphex(win_load(&t.b, 0), ==, 7);
    for (unsigned i = 0; i < 3; i++) {
        Stream s = { .w = &t.a };
        GThread *thread;

        put_le64(there(&t), 5);
        QUBC_WAIT(win_load(&t.a, 0) == 5);
        thread = g_thread_new("loads", load_on, &s);
        QUBC_WAIT(qatomic_read(&s.good) > 10);
        eng_move(&t.p);
        /* By its own machine's: nobody else talks to it meanwhile. */
        QUBC_WAIT(qubc_up(t.p.link.b, 0));
        qatomic_set(&s.end, 1);
        g_thread_join(thread);
        g_assert_cmpuint(s.wrong, ==, 0);
        QUBC_WAIT(win_load(&t.a, 0) == 5);
        QUBC_WAIT(win_load(&t.b, 0) == 7);
        win_store(&t.b, 8, i);
        g_assert_cmphex(win_fence(&t.b) & ~0xffffull, ==, 0);
        g_assert_cmphex(win_load(&t.b, 8), ==, i);
    }
    two_stop(&t);
}

static void test_moves(void)
{
    moves(MOVES_PROPS, NULL);
}

static void test_moves_iothread(void)
{
    moves(MOVES_PROPS ",iothread=io", IO_OBJECT);
}

/* ---- Who is no processor ----------------------------------------------------------------- */

/* What comes to the window, and does not wait: so many words of it are refused. */
static void refused_words(Two *t, unsigned words)
{
    QUBC_WAIT(eng_counter(t->a.e, "window", "refused") >= words);
    g_assert_cmpuint(eng_counter(t->a.e, "window", "refused"), ==, words);
    g_assert_cmpuint(eng_counter(t->a.e, "window", "loads"), ==, words);
    g_assert_cmphex(win_event(&t->a), ==, UB_LDS_EVENT_REFUSED);
    g_assert_cmpuint(eng_counter(t->a.e, "window", "waiting"), ==, 0);
}

static QPCIDevice *other_device(Two *t, unsigned slot, QPCIBar *bar)
{
    QPCIDevice *pci = qpci_device_find(t->p.a.q->bus, QPCI_DEVFN(slot, 0));

    g_assert_nonnull(pci);
    qpci_device_enable(pci);
    *bar = qpci_iomap(pci, 0, NULL);
    return pci;
}

/* A device that reads within the access that asked it to: what asked holds locks and
 * half-done state of it. */
static void test_nested(void)
{
    enum { TCTL = 0x400, TDBA = 0x3800, TDLEN = 0x3808, TDT = 0x3818, EN = 2 };
    const uint64_t ring = 0x100000;
    QPCIDevice *pci;
    uint8_t *desc;
    QPCIBar bar;
    Two t;

    two_start(&t, ENG_CTP, WIN_PROPS, "-device e1000,addr=6");
    pci = other_device(&t, 6, &bar);
    desc = t.p.a.drv.memory + ring;
    memset(desc, 0, 16);
    put_le64(desc, WIN_BASE);
    put_le32(desc + 8, 64 | 0x09u << 24);   /* the whole of a packet, and say so */
    qpci_io_writel(pci, bar, TDBA, ring);
    qpci_io_writel(pci, bar, TDLEN, 128);
    qpci_io_writel(pci, bar, TCTL, EN);
    qpci_io_writel(pci, bar, TDT, 1);
    QUBC_WAIT(desc[12] & 1);
    refused_words(&t, 8);
    g_free(pci);
    put_le64(there(&t), 5);
    g_assert_cmphex(win_load(&t.a, 0), ==, 5);
    two_stop(&t);
}

/* A device that reads in a bottom half: its queue of commands is in the window. */
static void test_bottom_half(void)
{
    enum { CC = 0x14, CSTS = 0x1c, AQA = 0x24, ASQ = 0x28, ACQ = 0x30,
           BELL = 0x1000 };
    const uint64_t answers = 0x100000;
    QPCIDevice *pci;
    uint8_t *cqe;
    QPCIBar bar;
    Two t;

    two_start(&t, ENG_CTP, WIN_PROPS, "-device nvme,serial=1,addr=6");
    pci = other_device(&t, 6, &bar);
    cqe = t.p.a.drv.memory + answers;
    memset(cqe, 0, 32);
    qpci_io_writel(pci, bar, AQA, 1 << 16 | 1);
    qpci_io_writeq(pci, bar, ASQ, WIN_BASE);
    qpci_io_writeq(pci, bar, ACQ, answers);
    qpci_io_writel(pci, bar, CC, 4 << 20 | 6 << 16 | 1);
    QUBC_WAIT(qpci_io_readl(pci, bar, CSTS) & 1);
    qpci_io_writel(pci, bar, BELL, 1);
    QUBC_WAIT(cqe[14] & 1);
    refused_words(&t, 8);
    g_assert_cmphex(get_le16(cqe + 12), ==, 0xffff);   /* number of the command */
    g_free(pci);
    put_le64(there(&t), 5);
    g_assert_cmphex(win_load(&t.a, 0), ==, 5);
    two_stop(&t);
}

/* The monitor. */
static void test_monitor(void)
{
    g_autofree char *file = NULL, *text = NULL;
    gsize len;
    Two t;

    two_start(&t, ENG_CTP, WIN_PROPS, NULL);
    file = g_build_filename(t.p.link.dir, "saved", NULL);
    qtest_qmp_assert_success(t.p.a.q->qts, "{ 'execute': 'pmemsave',"
                             " 'arguments': { 'val': %" PRIu64 ", 'size': 8,"
                             " 'filename': %s } }", (uint64_t)WIN_BASE, file);
    g_assert_true(g_file_get_contents(file, &text, &len, NULL));
    g_assert_cmpuint(len, ==, 8);
    g_assert_cmphex(get_le64((uint8_t *)text), ==, UINT64_MAX);
    refused_words(&t, 1);
    unlink(file);
    two_stop(&t);
}

/* ---- Device ----------------------------------------------------------------------------- */

static void test_reset(void)
{
    Two t;

    two_start(&t, ENG_CTP, WIN_PROPS, NULL);
    win_store(&t.a, 0, 7);
    qubc_write(t.p.link.a, UBC_CTRL, UBC_CTRL_RESET);
    g_assert_cmphex(win_load(&t.a, 0), ==, UINT64_MAX);
    g_assert_cmphex(qubc_cfg_read(t.p.link.a, win_dw(UB_DECODER_CTRL)), ==, 0);
    eng_open(&t.p.a, t.p.link.a, 1);
    eng_link_up(&t.p);
    eng_queue(&t.p.a, &t.p.plan);
    win_open(&t.a, &t.p.a);
    win_store(&t.a, 0, 8);
    g_assert_cmphex(win_load(&t.a, 0), ==, 8);
    two_stop(&t);
}

/* It goes while stores and a command are under way to a peer that does not answer: no
 * event of them comes into memory that may be somebody else's by now. */
static void unplug(const char *props, const char *more)
{
    const EngPlan plan = { .carrier = ENG_CTP, .props = props, .more = more,
                           .unplug = true };
    const uint8_t *events;
    EngPair p;
    Win w;

    eng_start(&p, &plan);
    win_open(&w, &p.b);
    events = p.b.drv.memory + w.eventq;
    win_store(&w, 0, 7);
    g_assert_cmphex(win_load(&w, 0), ==, 7);
    qubc_cfg_write(p.link.a, UB_CFG0_UPI, 2);
    for (unsigned i = 0; i < 8; i++) {
        win_store(&w, 4096 * i, i);
    }
    win_store(&w, win_slot(0, UB_LDS_SLOT_ADDR), 128);
    win_store(&w, win_slot(0, UB_LDS_SLOT_GO), UB_TA_READ | 8 << 8);
    qpci_unplug_acpi_device_test(p.b.q->qts, "ub0", QUBC_SLOT);
    for (unsigned i = 0; i < 16 * UB_LDS_QUEUE_ENTRY; i++) {
        g_assert_cmphex(events[i], ==, 0);
    }
    qtest_qmp_assert_success(p.b.q->qts, "{ 'execute': 'query-ub-engines' }");
    eng_stop(&p);
}

static void test_unplug(void)
{
    unplug(WIN_PROPS, NULL);
}

static void test_unplug_iothread(void)
{
    unplug(IOTHREAD, IO_OBJECT);
}

/* The size is a property, up to 256 GiB and none; CAP240 tells it. */
static void test_sizes(void)
{
    static const struct {
        const char *props;
        uint64_t size;
    } sizes[] = {
        { "window=1M", 1 << 20 }, { "", 1 << 30 },
        { "window=256G", 256ull << 30 }, { "window=0", 0 },
    };
    const uint32_t vendor = UB_CFG_CAP(UB_CFG1_BASE, UB_LDS_CAP);

    for (unsigned i = 0; i < G_N_ELEMENTS(sizes); i++) {
        QUbc *q = qubc_start_attached(sizes[i].props, "");
        uint64_t size, told;

        qpci_config_writel(q->pci, PCI_BASE_ADDRESS_4, ~0u);
        qpci_config_writel(q->pci, PCI_BASE_ADDRESS_5, ~0u);
        size = qpci_config_readl(q->pci, PCI_BASE_ADDRESS_4) & ~15u;
        size |= (uint64_t)qpci_config_readl(q->pci, PCI_BASE_ADDRESS_5) << 32;
        g_assert_cmphex(-size, ==, sizes[i].size);
        told = qubc_cfg_read(q, vendor + UB_LDS_VD_WINDOW) |
               (uint64_t)qubc_cfg_read(q, vendor + UB_LDS_VD_WINDOW + 1) << 32;
        g_assert_cmphex(told, ==, sizes[i].size);
        if (sizes[i].size) {
            g_assert_cmphex(qpci_config_readl(q->pci, PCI_BASE_ADDRESS_4) & 15,
                            ==, PCI_BASE_ADDRESS_MEM_TYPE_64 |
                                PCI_BASE_ADDRESS_MEM_PREFETCH);
            /* Its end is there: the fence of the control page. */
            qpci_config_writel(q->pci, PCI_BASE_ADDRESS_4, 0);
            qpci_config_writel(q->pci, PCI_BASE_ADDRESS_5, 0x100);
            g_assert_cmphex(qtest_readq(q->qts, (0x100ull << 32) +
                                        sizes[i].size - UB_LDS_CONTROL), ==,
                            0);
            g_assert_cmphex(qtest_readq(q->qts, (0x100ull << 32) +
                                        sizes[i].size - UB_LDS_CONTROL - 8),
                            ==, UINT64_MAX);
        }
        qubc_stop(q);
    }
}

/* The last GiB of 256. */
static void test_large(void)
{
    const uint64_t size = 256ull << 30, base = 1ull << 40;
    const uint64_t last = size - (1ull << 30), at = base + last;
    const EngPlan plan = { .carrier = ENG_CTP,
                           .props = "window=256G,window-timeout=120000" };
    uint8_t *room;
    EngPair p;
    Win w;

    eng_start(&p, &plan);
    room = p.b.drv.memory + p.b.room;
    win_alloc(&w, &p.a, 4096);
    put_le64(p.a.drv.memory + w.l0 + (last >> 32) * 8,
             UB_LDS_TYPE_TABLE | w.l1);
    win_page(&w, last >> UB_LDS_PAGE_BITS & 4095, ENG_UBA, ENG_DEST,
             ENG_TOKEN);
    win_enable_at(&w, base);
    put_le64(room, 0x1122334455667788);
    g_assert_cmphex(qtest_readq(p.a.q->qts, at), ==, 0x1122334455667788);
    qtest_writeq(p.a.q->qts, at + 8, 99);
    g_assert_cmphex(qtest_readq(p.a.q->qts, base + size - UB_LDS_CONTROL +
                                UB_LDS_FENCE), ==, 0);
    g_assert_cmphex(get_le64(room + 8), ==, 99);
    /* As much in front of it leads nowhere, and the first of the same table. */
    g_assert_cmphex(qtest_readq(p.a.q->qts, at - (1 << 20)), ==, UINT64_MAX);
    g_assert_cmphex(win_event(&w), ==, UB_LDS_EVENT_RANGE);
    g_assert_cmphex(qtest_readq(p.a.q->qts, base), ==, UINT64_MAX);
    g_assert_cmphex(win_event(&w), ==, UB_LDS_EVENT_RANGE);
    eng_stop(&p);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    qtest_add_func("/ubc-window/bypass", test_bypass);
    qtest_add_func("/ubc-window/ctp", test_ctp);
    qtest_add_func("/ubc-window/rtp", test_rtp);
    qtest_add_func("/ubc-window/iothread", test_iothread);
    qtest_add_func("/ubc-window/asleep", test_asleep);
    qtest_add_func("/ubc-window/lossy", test_lossy);
    qtest_add_func("/ubc-window/refused", test_refused);
    qtest_add_func("/ubc-window/dead-peer", test_dead_peer);
    qtest_add_func("/ubc-window/dead-peer/iothread", test_dead_peer_iothread);
    qtest_add_func("/ubc-window/deaf-peer", test_deaf_peer);
    qtest_add_func("/ubc-window/deaf-peer/iothread", test_deaf_peer_iothread);
    qtest_add_func("/ubc-window/both", test_both);
    qtest_add_func("/ubc-window/both/iothread", test_both_iothread);
    qtest_add_func("/ubc-window/moves", test_moves);
    qtest_add_func("/ubc-window/moves/iothread", test_moves_iothread);
    /* The sanitizers' emulator has not all devices. */
    if (qtest_has_device("e1000")) {
        qtest_add_func("/ubc-window/others/nested", test_nested);
    }
    if (qtest_has_device("nvme")) {
        qtest_add_func("/ubc-window/others/bottom-half", test_bottom_half);
    }
    qtest_add_func("/ubc-window/others/monitor", test_monitor);
    qtest_add_func("/ubc-window/reset", test_reset);
    qtest_add_func("/ubc-window/unplug", test_unplug);
    qtest_add_func("/ubc-window/unplug/iothread", test_unplug_iothread);
    qtest_add_func("/ubc-window/sizes", test_sizes);
    qtest_add_func("/ubc-window/large", test_large);
    return g_test_run();
}
