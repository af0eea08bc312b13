/*
 * What happens to machines while their transaction engines work: they move, stop,
 * are reset, killed, lose the device.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "ubc-eng.h"
#include "hw/pci/pci_regs.h"
#include "ub/tah.h"

/* In the main loop, which has its turns in a test's own doorbells; and beside it. */
static const EngPlan main_loop = { .carrier = ENG_RTP };
static const EngPlan iothread = { .carrier = ENG_RTP, .props = "iothread=io",
                                  .more = "-object iothread,id=io" };

#define PIECE 8192u
#define PIECES 24u          /* of the room, each way */
#define BACK (PIECE * PIECES / 2)

/* PIECES Writes of a piece each: where they are from and go to. */
static void post_pieces(Eng *e)
{
    for (unsigned i = 0; i < PIECES / 2; i++) {
        uint8_t *s = eng_sqe(e, UB_TA_WRITE, 0, PIECE, 1);
        uint32_t at = i * PIECE;

        put_le64(s + UBQ_SQE_ELEMENT, e->room + at);
        put_le64(s + UBQ_SQE_ADDR, ENG_UBA + BACK + at);
        ubq_post(&e->queue, s, 1);
    }
}

static void fill_pieces(Eng *e, uint8_t seed)
{
    for (uint32_t i = 0; i < BACK; i++) {
        e->drv.memory[e->room + i] = i * 11 + (i >> 10) + seed;
    }
    memset(e->drv.memory + e->room + BACK, 0, BACK);
}

static void check_pieces(Eng *e, uint8_t seed)
{
    for (uint32_t i = 0; i < BACK; i++) {
        g_assert_cmphex(e->drv.memory[e->room + BACK + i], ==,
                        (uint8_t)(i * 11 + (i >> 10) + seed));
    }
}

static void done_pieces(Eng *e)
{
    for (unsigned i = 0; i < PIECES / 2; i++) {
        eng_complete(e, UBQ_STATUS_OK);
    }
}

/* All that is posted comes back, by the errors that there are for that. */
static unsigned failed_pieces(Eng *e)
{
    unsigned bad = 0;

    for (unsigned i = 0; i < PIECES / 2; i++) {
        unsigned status = ubq_cqe_status(eng_next(e));

        if (status != UBQ_STATUS_OK) {
            g_assert_true(status == UBQ_STATUS_TIMEOUT ||
                          status == UBQ_STATUS_FLUSHED);
            bad++;
        }
    }
    return bad;
}

/* The end of a dead peer's channel: event, no request left, its room free. */
static void expect_given_up(Eng *e)
{
    g_autofree char *state = NULL, *left = NULL;

    g_assert_cmpuint(get_le32(eng_event(e, UBQ_EVENT_TP_RETRIES) + 4), ==,
                     ENG_TPN);
    state = eng_object(e, "channels", ENG_TPN, "state");
    g_assert_cmpstr(state, ==, "error");
    left = eng_object(e, "queues", e->queue.id, "requests");
    g_assert_cmpstr(left, ==, "0");
}

/* The other machine is killed in the middle; what takes its place works. */
static void test_kill(const void *data)
{
    EngPlan plan = *(const EngPlan *)data;
    EngPair p;

    eng_start(&p, &plan);
    for (unsigned round = 0; round < 3; round++) {
        fill_pieces(&p.a, round);
        fill_pieces(&p.b, ~round);
        post_pieces(&p.a);
        post_pieces(&p.b);
        if (round) {
            eng_next(&p.b); /* not before it has begun */
        }
        qubc_kill(p.link.b);
        /* Not earlier: it would give up a peer that is only slow. */
        eng_hasty(&p.a);
        post_pieces(&p.a);
        g_assert_cmpuint(failed_pieces(&p.a) + failed_pieces(&p.a), >, 0);
        expect_given_up(&p.a);
        eng_begin_anew(&p.a);
        p.link.b = start_client(&p.link);
        eng_open(&p.b, p.link.b, 2);
        eng_link_up(&p);
        eng_queue(&p.a, &plan);
        eng_queue(&p.b, &plan);
        eng_write_read(&p, 65536, round);
    }
    eng_stop(&p);
}

static void function_reset(QUbc *d)
{
    uint8_t cap = qpci_find_capability(d->pci, PCI_CAP_ID_EXP, 0);
    uint16_t ctl;

    g_assert_cmphex(cap, !=, 0);
    ctl = qpci_config_readw(d->pci, cap + PCI_EXP_DEVCTL);
    qpci_config_writew(d->pci, cap + PCI_EXP_DEVCTL,
                       ctl | PCI_EXP_DEVCTL_BCR_FLR);
}

static void reset_under_load(EngPlan plan, void (*reset)(EngPair *p))
{
    EngPair p;

    eng_start(&p, &plan);
    for (unsigned round = 0; round < 3; round++) {
        eng_hasty(&p.a);
        fill_pieces(&p.a, round);
        fill_pieces(&p.b, ~round);
        post_pieces(&p.b);
        post_pieces(&p.a);
        reset(&p);
        failed_pieces(&p.a);
        post_pieces(&p.a);
        g_assert_cmpuint(failed_pieces(&p.a), >, 0);
        expect_given_up(&p.a);
        eng_begin_anew(&p.a);
        eng_open(&p.b, p.link.b, 2);
        eng_link_up(&p);
        eng_queue(&p.a, &plan);
        eng_queue(&p.b, &plan);
        eng_write_read(&p, 65536, round);
    }
    eng_stop(&p);
}

/* What firmware does behind a reset: where the BARs are. */
static void place_bars(EngPair *p)
{
    QPCIDevice *pci = p->link.b->pci;
    uint64_t bar0 = p->link.b->bar.addr, bar2 = p->b.pages.addr;

    qpci_config_writel(pci, PCI_BASE_ADDRESS_0, bar0);
    qpci_config_writel(pci, PCI_BASE_ADDRESS_1, bar0 >> 32);
    qpci_config_writel(pci, PCI_BASE_ADDRESS_2, bar2);
    qpci_config_writel(pci, PCI_BASE_ADDRESS_3, bar2 >> 32);
    qpci_device_enable(pci);
}

static void by_function(EngPair *p)
{
    function_reset(p->link.b);
    place_bars(p);
}

static void by_system(EngPair *p)
{
    qtest_qmp_assert_success(p->link.b->qts, "{ 'execute': 'system_reset' }");
    qtest_qmp_eventwait(p->link.b->qts, "RESET");
    place_bars(p);
}

static void test_flr(const void *plan)
{
    reset_under_load(*(const EngPlan *)plan, by_function);
}

static void test_system_reset(const void *plan)
{
    reset_under_load(*(const EngPlan *)plan, by_system);
}

/* A machine moves with queues, channels and requests both ways under way: RTP
 * brings all of it. */
static void test_migrate(const void *plan)
{
    EngPair p;

    eng_start(&p, plan);
    /* Each packet is held, so that there is something under way to move. */
    eng_set_faults(&p.b, true, "'delay-ppm': 1000000, 'delay-us': 200000");
    fill_pieces(&p.a, 1);
    fill_pieces(&p.b, 2);
    post_pieces(&p.a);
    post_pieces(&p.b);
    eng_migrate(&p);
    done_pieces(&p.a);
    done_pieces(&p.b);
    check_pieces(&p.b, 1);
    check_pieces(&p.a, 2);
    g_assert_null(ubq_cq_poll(&p.a.cq));
    g_assert_null(ubq_cq_poll(&p.b.cq));
    for (unsigned i = 0; i < 4; i++) {
        eng_write_read(&p, 65536, i);
    }
    eng_send_recv(&p, 5000);
    eng_fetch_add(&p);
    eng_stop(&p);
}

/* A machine that stands for longer than the link and the channel wait between
 * tries: its peer's requests wait, and are carried out when it goes on. */
static void test_stop(const void *plan)
{
    EngPair p;

    eng_start(&p, plan);
    fill_pieces(&p.a, 3);
    fill_pieces(&p.b, 4);
    qtest_qmp_assert_success(p.b.q->qts, "{ 'execute': 'stop' }");
    post_pieces(&p.a);
    g_usleep(12 * G_USEC_PER_SEC);
    g_assert_null(ubq_cq_poll(&p.a.cq));
    g_assert_cmphex(p.b.drv.memory[p.b.room + BACK + 1], ==, 0);
    qtest_qmp_assert_success(p.b.q->qts, "{ 'execute': 'cont' }");
    post_pieces(&p.b);
    done_pieces(&p.a);
    done_pieces(&p.b);
    check_pieces(&p.b, 3);
    check_pieces(&p.a, 4);
    eng_stop(&p);
}

/* The device goes while its queues work, by ACPI; the machine and the peer go
 * on. */
static void test_unplug(const void *data)
{
    EngPlan plan = *(const EngPlan *)data;
    EngPair p;

    plan.unplug = true;
    eng_start(&p, &plan);
    eng_hasty(&p.a);
    fill_pieces(&p.a, 1);
    fill_pieces(&p.b, 2);
    post_pieces(&p.a);
    post_pieces(&p.b);
    qpci_unplug_acpi_device_test(p.b.q->qts, "ub0", QUBC_SLOT);
    failed_pieces(&p.a);
    post_pieces(&p.a);
    g_assert_cmpuint(failed_pieces(&p.a), ==, PIECES / 2);
    expect_given_up(&p.a);
    qtest_qmp_assert_success(p.b.q->qts, "{ 'execute': 'query-ub-engines' }");
    eng_stop(&p);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    qtest_add_data_func("/ubc-life/kill", &main_loop, test_kill);
    qtest_add_data_func("/ubc-life/kill-iothread", &iothread, test_kill);
    qtest_add_data_func("/ubc-life/flr", &main_loop, test_flr);
    qtest_add_data_func("/ubc-life/flr-iothread", &iothread, test_flr);
    qtest_add_data_func("/ubc-life/system-reset", &main_loop,
                        test_system_reset);
    qtest_add_data_func("/ubc-life/system-reset-iothread", &iothread,
                        test_system_reset);
    qtest_add_data_func("/ubc-life/migrate", &main_loop, test_migrate);
    qtest_add_data_func("/ubc-life/migrate-iothread", &iothread, test_migrate);
    qtest_add_data_func("/ubc-life/stop", &main_loop, test_stop);
    qtest_add_data_func("/ubc-life/stop-iothread", &iothread, test_stop);
    qtest_add_data_func("/ubc-life/unplug", &main_loop, test_unplug);
    qtest_add_data_func("/ubc-life/unplug-iothread", &iothread, test_unplug);
    return g_test_run();
}
