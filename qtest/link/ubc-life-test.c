/*
 * What happens to machines behind a switch while their windows and queues work: they
 * are killed, reset, stopped, moved, lose the device.  The other machine goes on.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "switch-fabric.h"
#include "ubc-win.h"
#include "ub/tah.h"

/* A peer that does not answer costs twelve seconds of a window and of a queue: the
 * longest that a machine which lives may stand still in this test. */
#define HASTY "," WIN_PROPS ",window-timeout=12000,ta-time-scale=188"
/* Whatever waits does so until the test does something about it. */
#define PATIENT "," WIN_PROPS ",window-timeout=600000"
#define PIECES 16u
#define PIECE 4096u
/* Of the room: what loads and stores have for themselves. */
#define WORDS (128u << 10)

static const EngPlan plan = { .carrier = ENG_CTP };

typedef struct Both {
    Fabric f;
    Win w[2];
} Both;

static void both_open(Both *t, unsigned i)
{
    eng_queue(&t->f.e[i], &plan);
    win_open(&t->w[i], &t->f.e[i]);
}

static void both_start(Both *t, const char *props)
{
    fabric_start(&t->f, props);
    both_open(t, 0);
    both_open(t, 1);
}

static void both_stop(Both *t)
{
    fabric_stop(&t->f);
}

/* Node @i begins anew with the same identity, its device as after power-on. */
static void both_again(Both *t, unsigned i)
{
    eng_open(&t->f.e[i], t->f.q[i], i + 1);
    qubc_port_write(t->f.q[i], 0, UBC_PORT_CTRL, UBC_PORT_CTRL_ENABLE);
    fabric_wait(&t->f);
    both_open(t, i);
}

/* Windows and queues of both, all of it. */
static void all_works(Both *t, uint64_t seed)
{
    for (unsigned i = 0; i < 2; i++) {
        Eng *there = &t->f.e[!i];

        for (unsigned n = 0; n < 64; n++) {
            win_store(&t->w[i], WORDS + 8 * n, seed + n);
        }
        g_assert_cmphex(win_fence(&t->w[i]), ==, 0);
        g_assert_cmphex(win_load(&t->w[i], WORDS + 8 * 63), ==, seed + 63);
        g_assert_cmphex(get_le64(there->drv.memory + there->room + WORDS), ==,
                        seed);
    }
    fabric_both_ways(&t->f, 65536, seed);
}

/* What is under way when the peer goes: Writes of queues, stores of windows. */
static void work(Both *t, unsigned i)
{
    for (unsigned n = 0; n < PIECES; n++) {
        ubq_post(&t->f.e[i].queue, eng_sqe(&t->f.e[i], UB_TA_WRITE, 0, PIECE, 1),
                 1);
    }
    win_store(&t->w[i], WORDS + 4096, 1);
}

static unsigned pieces_back(Eng *e, unsigned n)
{
    unsigned bad = 0;

    while (n--) {
        bad += ubq_cqe_status(eng_next(e)) != UBQ_STATUS_OK;
    }
    return bad;
}

/* What node 0 has of a peer that has gone amid work(): whatever was under way ends,
 * what comes after ends badly, in the time that there is for it; nothing is left. */
static void survives(Both *t)
{
    Eng *e = &t->f.e[0];
    Win *w = &t->w[0];

    work(t, 0);
    g_assert_cmphex(win_load(w, WORDS), ==, UINT64_MAX);
    g_assert_cmpuint(win_fence(w), >=, 1);
    g_assert_cmpuint(pieces_back(e, 2 * PIECES), >=, PIECES);
    g_assert_cmphex(win_load(w, WIN_CONTROL + UB_LDS_PENDING), ==, 0);
    g_assert_cmpuint(eng_counter(e, "window", "waiting"), ==, 0);
    g_assert_cmpuint(eng_counter(e, "window", "timeouts"), >=, 2);
    g_assert_cmpuint(win_event(w), ==, UB_LDS_EVENT_TIMEOUT);
    g_assert_true(qubc_up(t->f.q[0], 0));
}

/* ---- The peer --------------------------------------------------------------------- */

/* And what takes its place works. */
static void test_kill(void)
{
    Both t;

    both_start(&t, HASTY);
    all_works(&t, 1);
    work(&t, 0);
    work(&t, 1);
    qubc_kill(t.f.q[1]);
    QUBC_WAIT(switch_ports_up(&t.f.sw) == 1);
    survives(&t);
    fabric_node(&t.f, 1);
    fabric_wait(&t.f);
    both_open(&t, 1);
    all_works(&t, 5000);
    both_stop(&t);
}

static void function_reset(QUbc *q)
{
    uint8_t cap = qpci_find_capability(q->pci, PCI_CAP_ID_EXP, 0);

    g_assert_cmphex(cap, !=, 0);
    qpci_config_writew(q->pci, cap + PCI_EXP_DEVCTL,
                       qpci_config_readw(q->pci, cap + PCI_EXP_DEVCTL) |
                       PCI_EXP_DEVCTL_BCR_FLR);
}

/* Of the peer, then of our own: what was under way there is no more. */
static void test_flr(void)
{
    Both t;

    both_start(&t, HASTY);
    work(&t, 0);
    work(&t, 1);
    function_reset(t.f.q[1]);
    survives(&t);
    win_place(&t.f.e[1]);
    both_again(&t, 1);
    all_works(&t, 1);
    work(&t, 0);
    function_reset(t.f.q[0]);
    win_place(&t.f.e[0]);
    win_map(t.f.q[0]);
    g_assert_cmphex(win_load(&t.w[0], WORDS), ==, UINT64_MAX);
    both_again(&t, 0);
    all_works(&t, 2);
    both_stop(&t);
}

/* A peer that stands: who loads from it waits, and has its answer when it goes on. */
static void test_peer_stops(void)
{
    WinWait x;
    Both t;

    both_start(&t, PATIENT);
    put_le64(t.f.e[1].drv.memory + t.f.e[1].room + WORDS, 0x1234);
    qtest_qmp_assert_success(t.f.q[1]->qts, "{ 'execute': 'stop' }");
    work(&t, 0);
    win_wait_begin(&x, &t.w[0], WORDS);
    qtest_qmp_assert_success(t.f.q[1]->qts, "{ 'execute': 'cont' }");
    g_assert_cmphex(win_wait_end(&x), ==, 0x1234);
    g_assert_cmpuint(pieces_back(&t.f.e[0], PIECES), ==, 0);
    all_works(&t, 3);
    both_stop(&t);
}

/* The peer's device goes, by ACPI. */
static void test_unplug(void)
{
    Both t;

    fabric_start(&t.f, HASTY);
    qubc_stop(t.f.q[1]);
    t.f.q[1] = fabric_machine(&t.f, 1, "pc", "");
    qubc_attach(t.f.q[1]);
    eng_open(&t.f.e[1], t.f.q[1], 2);
    qubc_port_open(t.f.q[1], 0);
    fabric_wait(&t.f);
    both_open(&t, 0);
    both_open(&t, 1);
    all_works(&t, 1);
    work(&t, 0);
    work(&t, 1);
    qpci_unplug_acpi_device_test(t.f.q[1]->qts, "ub0", QUBC_SLOT);
    survives(&t);
    qtest_qmp_assert_success(t.f.q[1]->qts,
                             "{ 'execute': 'query-ub-engines' }");
    both_stop(&t);
}

/* ---- Who waits itself ----------------------------------------------------------------- */

/* A load that nobody will answer: the peer is deaf. */
static void wait_in_vain(Both *t, WinWait *x)
{
    qubc_cfg_write(t->f.q[1], UB_CFG0_UPI, 2);
    win_wait_begin(x, &t->w[0], WORDS);
}

/* It has ended because of what happened here. */
static void was_stopped(Both *t, WinWait *x)
{
    g_assert_cmphex(win_wait_end(x), ==, UINT64_MAX);
    g_assert_cmpuint(eng_counter(&t->f.e[0], "window", "stopped"), ==, 1);
    g_assert_cmpuint(eng_counter(&t->f.e[0], "window", "timeouts"), ==, 0);
    qubc_cfg_write(t->f.q[1], UB_CFG0_UPI, 1);
}

static void test_stop(void)
{
    WinWait x;
    Both t;

    both_start(&t, PATIENT);
    wait_in_vain(&t, &x);
    qtest_qmp_assert_success(t.f.q[0]->qts, "{ 'execute': 'stop' }");
    was_stopped(&t, &x);
    /* While it stands nobody waits. */
    g_assert_cmphex(win_load(&t.w[0], WORDS), ==, UINT64_MAX);
    qtest_qmp_assert_success(t.f.q[0]->qts, "{ 'execute': 'cont' }");
    all_works(&t, 4);
    both_stop(&t);
}

static void system_reset(Both *t)
{
    qtest_qmp_eventwait(t->f.q[0]->qts, "RESET");
    win_place(&t->f.e[0]);
    both_again(t, 0);
}

static void test_reset(void)
{
    WinWait x;
    Both t;

    both_start(&t, PATIENT);
    wait_in_vain(&t, &x);
    qtest_qmp_assert_success(t.f.q[0]->qts, "{ 'execute': 'system_reset' }");
    was_stopped(&t, &x);
    system_reset(&t);
    all_works(&t, 5);
    both_stop(&t);
}

/* A reset while the machine stands. */
static void test_stop_reset(void)
{
    WinWait x;
    Both t;

    both_start(&t, PATIENT);
    wait_in_vain(&t, &x);
    qtest_qmp_assert_success(t.f.q[0]->qts, "{ 'execute': 'stop' }");
    was_stopped(&t, &x);
    win_store(&t.w[0], WORDS, 1);
    qtest_qmp_assert_success(t.f.q[0]->qts, "{ 'execute': 'system_reset' }");
    qtest_qmp_eventwait(t.f.q[0]->qts, "RESET");
    qtest_qmp_assert_success(t.f.q[0]->qts, "{ 'execute': 'cont' }");
    win_place(&t.f.e[0]);
    both_again(&t, 0);
    all_works(&t, 6);
    both_stop(&t);
}

/* It moves although a processor waits, which has all ones. */
static void test_migrate(void)
{
    g_autofree char *uri = NULL, *more = NULL, *path = NULL;
    WinWait x;
    QUbc *q;
    Both t;

    both_start(&t, PATIENT);
    path = g_build_filename(t.f.dir, "migrate", NULL);
    uri = g_strdup_printf("unix:%s", path);
    more = g_strdup_printf("-incoming %s", uri);
    q = fabric_machine(&t.f, 0, "q35", more);
    wait_in_vain(&t, &x);
    qtest_qmp_assert_success(t.f.q[0]->qts, "{ 'execute': 'migrate',"
                             " 'arguments': { 'uri': %s } }", uri);
    was_stopped(&t, &x);
    QUBC_WAIT(qubc_migrated(t.f.q[0]));
    qtest_qmp_eventwait(q->qts, "RESUME");
    qubc_adopt(q, t.f.q[0]);
    qubc_stop(t.f.q[0]);
    t.f.q[0] = t.f.e[0].q = q;
    t.f.e[0].drv.memory = q->ram->at;
    fabric_wait(&t.f);
    all_works(&t, 7);
    unlink(path);
    both_stop(&t);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    if (!switch_program()) {
        g_print("1..0 # SKIP ub-switch is not built\n");
        return 0;
    }
    qtest_add_func("/ubc-fabric/peer/kill", test_kill);
    qtest_add_func("/ubc-fabric/peer/flr", test_flr);
    qtest_add_func("/ubc-fabric/peer/stop", test_peer_stops);
    qtest_add_func("/ubc-fabric/peer/unplug", test_unplug);
    qtest_add_func("/ubc-fabric/stop", test_stop);
    qtest_add_func("/ubc-fabric/reset", test_reset);
    qtest_add_func("/ubc-fabric/stop/reset", test_stop_reset);
    qtest_add_func("/ubc-fabric/migrate", test_migrate);
    return g_test_run();
}
