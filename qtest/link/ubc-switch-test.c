/*
 * Two emulators behind ub-switch: every transport of their engines and raw
 * packets through it, and each program in turn is killed.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "switch-fabric.h"
#include "ub/tah.h"

/* RTP goes on for longer than a switch is away, and does not leave more than two
 * minutes between its tries meanwhile: 0.4, 2, 9, 35, 140 s after the first.  The
 * time-out of CTP, a minute, is over when the test says so. */
#define LONG ",tp-time-scale=25"
#define STEPPED "," QUBC_STEPPED

/* The next completion of what may be given up. */
static const uint8_t *in_time(Eng *e)
{
    const uint8_t *c = NULL;

    QUBC_WAIT((c = ubq_cq_poll(&e->cq)) ||
              (qtest_clock_step(e->q->qts, G_USEC_PER_SEC * 1000ll), false));
    return c;
}

/* ---- Everything that an engine does ------------------------------------------ */

/* Memory, messages, atomics, as far as the carrier has them. */
static void test_plan(const void *opaque)
{
    static const uint32_t sizes[] = { 1, 100, 4096, 65536, 200000 };
    const EngPlan *plan = opaque;
    Fabric f;

    fabric_start(&f, "");
    fabric_engines(&f, plan);
    for (unsigned i = 0; i < G_N_ELEMENTS(sizes); i++) {
        if (plan->carrier < ENG_UTP ||
            (plan->carrier == ENG_BYPASS && sizes[i] <= 4096)) {
            fabric_both_ways(&f, sizes[i], i);
        }
    }
    for (unsigned i = 0; i < 2; i++) {
        if (plan->carrier < ENG_BYPASS) {
            eng_send_recv_to(&f.e[i], &f.e[!i], 4000);
        }
        if (plan->carrier < ENG_UTP) {
            eng_fetch_add_to(&f.e[i], &f.e[!i]);
        }
    }
    for (unsigned i = 0; i < 2; i++) {
        g_assert_cmpuint(switch_counter(&f.sw, i, "forwarded"), >, 0);
    }
    fabric_stop(&f);
}

/* ---- Raw packets ---------------------------------------------------------------- */

#define IP_HEAD 26 /* CCI and NPI, IPv4 */

/* Packet @n to node @to, with @hops left: IPv4 with noise in it. */
static uint32_t ip_packet(uint8_t *p, uint32_t n, unsigned to, uint8_t hops)
{
    uint32_t len = IP_HEAD + 20 + n * 2654435761u % (QUBC_BUF - 45);
    uint32_t sum = 0;

    memset(p, 0, IP_HEAD);
    p[5] = 1;
    p[6] = 0x45;
    stw_be_p(p + 8, len - 6);
    p[14] = hops;
    p[15] = 253; /* for experiments */
    stl_be_p(p + 18, 0x0a000003 - to);
    stl_be_p(p + 22, 0x0a000000 + to);
    for (unsigned i = 6; i < IP_HEAD; i += 2) {
        sum += lduw_be_p(p + i);
    }
    stw_be_p(p + 16, ~(sum % 0xffff));
    for (uint32_t i = IP_HEAD; i < len; i++) {
        p[i] = n * 31 + i + (i >> 8);
    }
    return len;
}

/* Packets from both ends, in order and whole, until @count are there. */
static void raw_exchange(Fabric *f, uint32_t count)
{
    uint32_t sent[2] = { 0 }, got[2] = { 0 };
    uint8_t want[QUBC_BUF];

    for (gint64 limit = test_deadline(60); got[0] < count || got[1] < count;) {
        g_assert_cmpint(g_get_monotonic_time(), <, limit);
        for (unsigned i = 0; i < 2; i++) {
            QUbc *q = f->q[i];
            QUbcPort *p = &q->port[0];
            uint16_t head = p->tx_head;

            while (p->tx_tail != p->tx_head &&
                   qubc_status(q, 0, UBC_RING_TX, p->tx_tail)) {
                g_assert_cmphex(qubc_status(q, 0, UBC_RING_TX, p->tx_tail),
                                ==, UBC_DESC_DONE);
                p->tx_tail++;
            }
            while (sent[i] < count &&
                   (uint16_t)(p->tx_head - p->tx_tail) < QUBC_RING) {
                uint32_t at = QUBC_TX_BUF(0) +
                              p->tx_head % QUBC_RING * QUBC_BUF;

                qubc_post(q, 0, UBC_RING_TX, at,
                          ip_packet(q->ram->at + at, sent[i]++, 2 - i, 64), 3);
            }
            if (p->tx_head != head) {
                qubc_doorbell(q, 0, UBC_RING_TX);
            }
            while (qubc_status(q, 0, UBC_RING_RX, p->rx_tail)) {
                uint32_t at = p->rx_tail % QUBC_RING;
                const uint8_t *desc = q->ram->at + QUBC_RX_RING(0) +
                                      at * UBC_DESC_SIZE;

                g_assert_cmphex(qubc_status(q, 0, UBC_RING_RX, p->rx_tail),
                                ==, UBC_DESC_DONE);
                g_assert_cmpmem(q->ram->at + QUBC_RX_BUF(0) + at * QUBC_BUF,
                                ldl_le_p(desc + 8), want,
                                ip_packet(want, got[i]++, i + 1, 63));
                p->rx_tail++;
                qubc_post(q, 0, UBC_RING_RX, QUBC_RX_BUF(0) + at * QUBC_BUF,
                          QUBC_BUF, 0);
            }
            qubc_doorbell(q, 0, UBC_RING_RX);
        }
    }
}

static void test_raw(void)
{
    Fabric f;

    fabric_start(&f, "");
    raw_exchange(&f, 3000);
    g_assert_cmpuint(switch_counter(&f.sw, 0, "forwarded"), ==, 3000);
    g_assert_cmpuint(switch_counter(&f.sw, 1, "forwarded"), ==, 3000);
    fabric_stop(&f);
}

/* ---- Death and return ------------------------------------------------------------- */

static void post_add(Eng *e, unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        uint8_t *s = eng_sqe(e, UB_TA_FETCH_ADD, UBQ_SQE_INLINE, 8, 2);

        put_le64(s + UBQ_BLOCK, 1);
        ubq_post(&e->queue, s, 2);
    }
}

static uint64_t sum_of(const Eng *e)
{
    return get_le64(e->drv.memory + e->room);
}

/* A link whose other end has gone is so after some time. */
static bool down(QUbc *q)
{
    if (q->stepped) {
        qtest_clock_step(q->qts, 10 * 1000000ll);
    }
    return !qubc_up(q, 0);
}

/* Requests under way while the switch dies, more while it is away: each is
 * carried out once, and everything written is there. */
static void test_rtp_restart(void)
{
    /* Twice as many, of two blocks each, are posted at a time at most: of 64. */
    const unsigned many = 15;
    Fabric f;

    fabric_start(&f, LONG);
    fabric_engines(&f, &(EngPlan){ .carrier = ENG_RTP });
    fabric_both_ways(&f, 4096, 0);
    put_le64(f.e[1].drv.memory + f.e[1].room, 0);
    for (unsigned round = 0; round < 2; round++) {
        post_add(&f.e[0], many);
        eng_complete(&f.e[0], UBQ_STATUS_OK);
        switch_kill(&f.sw);
        QUBC_WAIT(down(f.q[0]) && down(f.q[1]));
        post_add(&f.e[0], many);
        switch_again(&f.sw);
        fabric_wait(&f);
        for (unsigned i = 1; i < 2 * many; i++) {
            eng_complete(&f.e[0], UBQ_STATUS_OK);
        }
        g_assert_cmpuint(sum_of(&f.e[1]), ==, 2 * many * (round + 1));
    }
    fabric_both_ways(&f, 200000, 1);
    raw_exchange(&f, 300);
    fabric_stop(&f);
}

/* CTP: each request has a completion, which says whether it was lost. */
static void test_ctp_restart(void)
{
    const unsigned many = 20;
    unsigned lost = 0;
    uint64_t done;
    Fabric f;

    fabric_start(&f, STEPPED);
    fabric_engines(&f, &(EngPlan){ .carrier = ENG_CTP });
    fabric_both_ways(&f, 4096, 0);
    put_le64(f.e[1].drv.memory + f.e[1].room, 0);
    switch_kill(&f.sw);
    QUBC_WAIT(down(f.q[0]) && down(f.q[1]));
    post_add(&f.e[0], many);
    for (unsigned i = 0; i < many; i++) {
        lost += ubq_cqe_status(in_time(&f.e[0])) != UBQ_STATUS_OK;
    }
    done = sum_of(&f.e[1]);
    g_assert_cmpuint(lost, >, 0);
    g_assert_cmpuint(done, ==, 0);
    switch_again(&f.sw);
    fabric_wait(&f);
    fabric_both_ways(&f, 65536, 2);
    fabric_stop(&f);
}

/* Either machine dies; the other one and the switch go on, and are there for the
 * next one. */
static void test_machine_dies(void)
{
    Fabric f;

    fabric_start(&f, STEPPED);
    fabric_engines(&f, &(EngPlan){ .carrier = ENG_CTP });
    fabric_both_ways(&f, 4096, 0);
    for (unsigned i = 0; i < 2; i++) {
        Eng *other = &f.e[!i];

        post_add(other, 4);
        qubc_kill(f.q[i]);
        QUBC_WAIT(switch_ports_up(&f.sw) == 1);
        post_add(other, 4);
        for (unsigned n = 0; n < 8; n++) {
            const uint8_t *c = in_time(other);

            if (n >= 4) {
                g_assert_cmphex(ubq_cqe_status(c), ==, UBQ_STATUS_TIMEOUT);
            }
        }
        g_assert_true(qubc_up(f.q[!i], 0));
        fabric_node(&f, i);
        fabric_wait(&f);
        eng_queue(&f.e[i], &(EngPlan){ .carrier = ENG_CTP });
        fabric_both_ways(&f, 65536, i);
    }
    raw_exchange(&f, 300);
    fabric_stop(&f);
}

/* One machine by TLS, the other by shared memory; the first one dies and another
 * comes in its place. */
static void test_wires(void)
{
    Fabric f;

    fabric_start_tls(&f, STEPPED);
    fabric_engines(&f, &(EngPlan){ .carrier = ENG_CTP });
    for (unsigned round = 0; round < 2; round++) {
        g_autofree char *tls = NULL, *shm = NULL;

        fabric_both_ways(&f, 200000, round);
        raw_exchange(&f, 500);
        tls = switch_wire(&f.sw, 0);
        shm = switch_wire(&f.sw, 1);
        g_assert_cmpstr(tls, ==, "tls");
        g_assert_cmpstr(shm, ==, "shared-memory");
        if (!round) {
            qubc_kill(f.q[0]);
            QUBC_WAIT(switch_ports_up(&f.sw) == 1);
            /* Who counts from the beginning again so soon would be taken to repeat
             * what its forerunner asked for. */
            qtest_clock_step(f.q[1]->qts, 2 * G_USEC_PER_SEC * 1000ll);
            fabric_node(&f, 0);
            fabric_wait(&f);
            eng_queue(&f.e[0], &(EngPlan){ .carrier = ENG_CTP });
        }
    }
    fabric_stop(&f);
}

int main(int argc, char **argv)
{
    static const EngPlan rtp = { .carrier = ENG_RTP },
                         rtp_ipv4 = { .carrier = ENG_RTP,
                                      .cfg = UB_LPH_IPV4 },
                         ctp = { .carrier = ENG_CTP },
                         utp = { .carrier = ENG_UTP, .mode = UB_UNO },
                         bypass = { .carrier = ENG_BYPASS };

    g_test_init(&argc, &argv, NULL);
    if (!switch_program()) {
        g_print("1..0 # SKIP ub-switch is not built\n");
        return 0;
    }
    qtest_add_data_func("/ubc-switch/rtp", &rtp, test_plan);
    qtest_add_data_func("/ubc-switch/rtp-ipv4", &rtp_ipv4, test_plan);
    qtest_add_data_func("/ubc-switch/ctp", &ctp, test_plan);
    qtest_add_data_func("/ubc-switch/utp", &utp, test_plan);
    qtest_add_data_func("/ubc-switch/bypass", &bypass, test_plan);
    qtest_add_func("/ubc-switch/raw", test_raw);
    qtest_add_func("/ubc-switch/rtp-restart", test_rtp_restart);
    qtest_add_func("/ubc-switch/ctp-restart", test_ctp_restart);
    qtest_add_func("/ubc-switch/machine-dies", test_machine_dies);
    qtest_add_func("/ubc-switch/wires", test_wires);
    return g_test_run();
}
