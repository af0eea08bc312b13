/*
 * The transaction engine of two emulators over a real link: every transport by
 * the device's own queues.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "ubc-eng.h"
#include "ubc-stall.h"
#include "ub/tah.h"

static const uint32_t sizes[] = { 1, 100, 4096, 65536, 200000 };

/* Writes, Reads, a message, an atomic by one plan. */
static void carry(const EngPlan *plan, uint32_t message)
{
    EngPair p;

    eng_start(&p, plan);
    for (unsigned i = 0; i < G_N_ELEMENTS(sizes); i++) {
        eng_write_read(&p, sizes[i], i);
    }
    eng_send_recv(&p, message);
    eng_fetch_add(&p);
    eng_stop(&p);
}

static void test_rtp(void)
{
    carry(&(EngPlan){ .carrier = ENG_RTP }, 10000);
}

static void test_ctp(void)
{
    carry(&(EngPlan){ .carrier = ENG_CTP }, 4000);
}

static void test_rtp_ipv4(void)
{
    carry(&(EngPlan){ .carrier = ENG_RTP, .cfg = UB_LPH_IPV4 }, 10000);
}

static void test_rtp_ipv6(void)
{
    carry(&(EngPlan){ .carrier = ENG_RTP, .cfg = UB_LPH_IPV6 }, 10000);
}

/* Set-up in band goes over CTP on CNA paths, over UTP on IP paths. */
static void test_in_band(void)
{
    carry(&(EngPlan){ .carrier = ENG_RTP, .in_band = true,
                      .props = ENG_SLOW_SETUP }, 10000);
}

static void test_in_band_ipv4(void)
{
    carry(&(EngPlan){ .carrier = ENG_RTP, .cfg = UB_LPH_IPV4, .in_band = true,
                      .props = ENG_SLOW_SETUP }, 10000);
}

static void test_in_band_ipv6(void)
{
    carry(&(EngPlan){ .carrier = ENG_RTP, .cfg = UB_LPH_IPV6, .in_band = true,
                      .props = ENG_SLOW_SETUP }, 10000);
}

static void send_both_ips(unsigned cfg)
{
    EngPair p;

    eng_start(&p, &(EngPlan){ .carrier = ENG_UTP, .mode = UB_UNO,
                              .cfg = cfg });
    for (unsigned i = 0; i < 20; i++) {
        eng_send_recv(&p, 1 + 215 * i);
    }
    eng_stop(&p);
}

/* UTP: single packets, over IP only. */
static void test_utp(void)
{
    send_both_ips(UB_LPH_IPV4);
    send_both_ips(UB_LPH_IPV6);
}

static void query_ips(Eng *e, unsigned n)
{
    uint8_t cmd[UBQ_CMD];

    for (unsigned i = 0; i <= n; i++) {
        ubq_cmd_init(cmd, i, 0);
        g_assert_cmpuint(ubq_command(&e->drv, UBQ_OP_IP_QUERY, cmd), ==,
                         i < n ? UBQ_RESULT_OK : UBQ_RESULT_NO_OBJECT);
    }
    ubq_cmd_init(cmd, 0, 0);
    g_assert_cmpuint(ubq_command(&e->drv, UBQ_OP_IP_QUERY, cmd), ==,
                     UBQ_RESULT_OK);
    g_assert_cmpuint(cmd[UBQ_IP_CFG], ==, UB_LPH_IPV4);
    g_assert_cmpmem(cmd + UBQ_IP_ADDR, 4, eng_peer(e->n, 3).ip, 4);
}

/* The table of local addresses: bounded; a node hears what is for one of them;
 * a ring pair that takes CFG 3 has the rest, and all when there are none. */
static void test_local_ips(void)
{
    UbqPeer own = eng_peer(2, UB_LPH_IPV4);
    uint8_t cmd[UBQ_CMD];
    EngPair p;
    Eng *b = &p.b;

    eng_start(&p, &(EngPlan){ .carrier = ENG_UTP, .mode = UB_UNO });
    query_ips(b, 1);
    for (unsigned i = 1; i < 64; i++) {
        own.ip[1] = i;
        g_assert_cmpuint(ubq_ip_add(&b->drv, &own), ==, UBQ_RESULT_OK);
        g_assert_cmpuint(ubq_ip_add(&b->drv, &own), ==, UBQ_RESULT_OK);
    }
    query_ips(b, 64);
    own.ip[1] = 64;
    g_assert_cmpuint(ubq_ip_add(&b->drv, &own), ==, UBQ_RESULT_FULL);
    own.cfg = UB_LPH_CNA16;
    g_assert_cmpuint(ubq_ip_add(&b->drv, &own), ==, UBQ_RESULT_PARAMETER);

    qubc_port_open(b->q, 0);    /* a ring that takes every CFG but 6, 7, 9 */
    eng_send_recv(&p, 100);
    g_assert_cmphex(qubc_status(b->q, 0, UBC_RING_RX, 0), ==, 0);

    own = eng_peer(2, UB_LPH_IPV4);
    ubq_cmd_init(cmd, 0, 0);
    cmd[UBQ_IP_CFG] = own.cfg;
    memcpy(cmd + UBQ_IP_ADDR, own.ip, 16);
    g_assert_cmpuint(ubq_command(&b->drv, UBQ_OP_IP_REMOVE, cmd), ==,
                     UBQ_RESULT_OK);
    ubq_cmd_init(cmd, 0, 0);
    cmd[UBQ_IP_CFG] = own.cfg;
    memcpy(cmd + UBQ_IP_ADDR, own.ip, 16);
    g_assert_cmpuint(ubq_command(&b->drv, UBQ_OP_IP_REMOVE, cmd), ==,
                     UBQ_RESULT_NO_OBJECT);
    ubq_recv(&b->queue, b->room, ENG_ROOM);
    ubq_post(&p.a.queue, eng_sqe(&p.a, UB_TA_SEND, 0, 64, 1), 1);
    eng_complete(&p.a, UBQ_STATUS_OK);
    QUBC_WAIT(qubc_status(b->q, 0, UBC_RING_RX, 0) & UBC_DESC_DONE);
    g_assert_null(ubq_cq_poll(&b->cq));
    eng_stop(&p);
}

static void test_bypass(void)
{
    static const uint32_t small[] = { 64, 512, 4096 };
    EngPair p;

    eng_start(&p, &(EngPlan){ .carrier = ENG_BYPASS });
    for (unsigned i = 0; i < G_N_ELEMENTS(small); i++) {
        eng_write_read(&p, small[i], i);
    }
    eng_stop(&p);
}

/* The other end says no, and nothing else suffers. */
static void test_refused(void)
{
    EngPair p;
    uint8_t *s;

    eng_start(&p, &(EngPlan){ .carrier = ENG_RTP });
    s = eng_sqe(&p.a, UB_TA_WRITE, 0, 64, 1);
    put_le32(s + UBQ_SQE_TOKEN_VALUE, 1);
    ubq_post(&p.a.queue, s, 1);
    eng_complete(&p.a, UBQ_STATUS_ABORT);
    s = eng_sqe(&p.a, UB_TA_READ, 0, 64, 1);
    put_le64(s + UBQ_SQE_ADDR, ENG_UBA + ENG_ROOM);
    ubq_post(&p.a.queue, s, 1);
    eng_complete(&p.a, UBQ_STATUS_ABORT);
    s = ubq_sqe(&p.a.queue, 1);
    ubq_sqe_put(s, UB_TA_SEND, ENG_DEST, p.a.room, 64);
    put_le32(s + UBQ_SQE_TARGET, 4000);
    ubq_post(&p.a.queue, s, 1);
    eng_complete(&p.a, UBQ_STATUS_UNSUPPORTED);
    eng_write_read(&p, 4096, 0);
    eng_stop(&p);
}

/* Bit errors beyond what FEC repairs: RTP brings all. */
static void test_bit_errors(void)
{
    EngPair p;

    eng_start(&p, &(EngPlan){ .carrier = ENG_RTP });
    qubc_inject_all(p.link.a, 0, "'ber': 1e-3, 'seed': 1");
    qubc_inject_all(p.link.b, 0, "'ber': 1e-3, 'seed': 2");
    for (unsigned i = 0; i < 8; i++) {
        eng_write_read(&p, 65536, i);
    }
    g_assert_cmpuint(both(&p.link, UBC_CNT_FLITS_RESENT), >, 0);
    eng_stop(&p);
}

/* A doorbell that finds the engine at rest has its turn itself: what needs no peer is done
 * when it returns. */
static void test_inline_turn(void)
{
    EngPair p;

    eng_start(&p, &(EngPlan){ .carrier = ENG_RTP });
    for (unsigned i = 0; i < 50; i++) {
        ubq_post(&p.a.queue, eng_sqe(&p.a, UBQ_OP_NOP, 0, 0, 1), 1);
        ubq_cq_expect(&p.a.cq, UBQ_STATUS_OK);
    }
    eng_write_read(&p, 4096, 1);
    eng_stop(&p);
}

/* Beside the main loop, in shared memory and without. */
static void test_iothread(void)
{
    EngPlan plan = { .carrier = ENG_RTP, .props = "iothread=io",
                     .more = "-object iothread,id=io" };

    carry(&plan, 10000);
    plan.props = "iothread=io,shm=off";
    carry(&plan, 10000);
    plan.props = "iothread=io,inline-turn=off";
    carry(&plan, 10000);
}

/* Entries and completions go round their rings, each of the lap that its owner bit says;
 * an entry of another lap is not carried out, and ends its queue. */
static void test_laps(void)
{
    const unsigned ring = 16, laps = 5;
    EngPair p;
    Eng *a = &p.a;
    uint8_t *s;

    eng_start(&p, &(EngPlan){ .carrier = ENG_CTP });
    ubq_cq_open(&a->cq, &a->drv, 4);
    a->queue = (UbqQueue){ .d = &a->drv, .sq_log2 = 4 };
    ubq_queue_create(&a->queue, &a->cq, NULL, UBQ_NEW, UB_ROI, 0);
    for (unsigned i = 0; i < laps * ring; i++) {
        eng_fill(a, 64, i);
        ubq_post(&a->queue, eng_sqe(a, UB_TA_WRITE, 0, 64, 1), 1);
        g_assert_cmpuint(get_le32(eng_complete(a, UBQ_STATUS_OK) + UBQ_CQE_INDEX) % ring,
                         ==, i % ring);
        eng_check(&p.b, 64, i);
    }
    eng_fill(a, 64, 100);
    s = eng_sqe(a, UB_TA_WRITE, 0, 64, 1);
    put_le32(s, get_le32(s) | UBQ_SQE_OWNER); /* as of the last lap */
    a->queue.sq_pi++;
    a->drv.bell(a, 0, UBQ_BELL_SQ, a->queue.id | (uint64_t)a->queue.sq_pi << 32);
    g_assert_cmpuint(get_le32(eng_event(a, UBQ_EVENT_JFS_CHECK) + 4), ==, a->queue.id);
    eng_check(&p.b, 64, laps * ring - 1);
    eng_stop(&p);
}

/* A message that is longer than the receive entry is an error at both ends, and memory
 * behind the entry is not touched. */
static void test_too_long(void)
{
    EngPair p;
    uint8_t *s;

    eng_start(&p, &(EngPlan){ .carrier = ENG_RTP });
    memset(p.b.drv.memory + p.b.room, 0, 8192);
    eng_fill(&p.a, 8192, 1);
    ubq_recv(&p.b.queue, p.b.room, 4000);
    s = ubq_sqe(&p.a.queue, 1);
    ubq_sqe_put(s, UB_TA_SEND, ENG_DEST, p.a.room, 8192);
    put_le32(s + UBQ_SQE_TARGET, p.b.queue.id);
    ubq_post(&p.a.queue, s, 1);
    eng_complete(&p.a, UBQ_STATUS_UNSUPPORTED);
    eng_complete(&p.b, UBQ_STATUS_LOCAL_LENGTH);
    for (unsigned i = 4000; i < 8192; i++) {
        g_assert_cmphex(p.b.drv.memory[p.b.room + i], ==, 0);
    }
    eng_stop(&p);
}

/* The device's thread stands still in the middle of a turn, with the lock held: doorbells
 * do not wait for it, and count when it goes on. */
static void test_bells_do_not_wait(void)
{
    const unsigned n = 16;
    g_autofree char *props = NULL;
    Stall t;
    EngPair p;

    stall_open(&t);
    props = g_strdup_printf(STEADY ",iothread=io,pcap=%s", t.fifo);
    eng_start_apart(&p, &(EngPlan){ .carrier = ENG_CTP, .props = STEADY,
                                    .more = "-object iothread,id=io" }, props);
    eng_write_read(&p, 4096, 1);
    stall_rest(&t);
    ubq_post(&p.a.queue, eng_sqe(&p.a, UB_TA_WRITE, 0, ENG_ROOM, 1), 1);
    QUBC_WAIT(stall_holds(&t));
    for (unsigned i = 0; i < n; i++) {
        ubq_post(&p.a.queue, eng_sqe(&p.a, UBQ_OP_NOP, 0, 0, 1), 1);
        ubq_recv(&p.a.queue, p.a.room, ENG_ROOM);
        ubq_cq_arm(&p.a.cq, 0);
        ubq_cq_arm(&p.a.cq, 1);
    }
    g_assert_true(stall_holds(&t));
    stall_go_on(&t);
    for (unsigned i = 0; i < 1 + n; i++) {
        eng_complete(&p.a, UBQ_STATUS_OK);
    }
    eng_write_read(&p, 4096, 2);
    eng_stop(&p);
    stall_close(&t);
}

/* A device reset forgets all objects; the driver begins anew. */
static void test_reset(void)
{
    const EngPlan plan = { .carrier = ENG_CTP };
    uint8_t cmd[UBQ_CMD];
    EngPair p;

    eng_start(&p, &plan);
    eng_write_read(&p, 4096, 1);
    ubq_post(&p.a.queue, eng_sqe(&p.a, UB_TA_WRITE, 0, ENG_ROOM, 1), 1);
    qubc_write(p.link.a, UBC_CTRL, UBC_CTRL_RESET);
    g_assert_cmphex(qubc_read(p.link.a, UBQ_CMD_WINDOW + UBQ_CMD_CTRL), ==, 0);
    eng_open(&p.a, p.link.a, 1);
    ubq_cmd_init(cmd, 1024, 0);
    g_assert_cmpuint(ubq_command(&p.a.drv, UBQ_OP_QUEUE_QUERY, cmd), ==,
                     UBQ_RESULT_NO_OBJECT);
    eng_link_up(&p);
    eng_queue(&p.a, &plan);
    eng_write_read(&p, 4096, 2);
    eng_stop(&p);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    qtest_add_func("/ubc-engine/rtp", test_rtp);
    qtest_add_func("/ubc-engine/rtp-ipv4", test_rtp_ipv4);
    qtest_add_func("/ubc-engine/rtp-ipv6", test_rtp_ipv6);
    qtest_add_func("/ubc-engine/in-band", test_in_band);
    qtest_add_func("/ubc-engine/in-band-ipv4", test_in_band_ipv4);
    qtest_add_func("/ubc-engine/in-band-ipv6", test_in_band_ipv6);
    qtest_add_func("/ubc-engine/ctp", test_ctp);
    qtest_add_func("/ubc-engine/utp", test_utp);
    qtest_add_func("/ubc-engine/local-ips", test_local_ips);
    qtest_add_func("/ubc-engine/bypass", test_bypass);
    qtest_add_func("/ubc-engine/refused", test_refused);
    qtest_add_func("/ubc-engine/bit-errors", test_bit_errors);
    qtest_add_func("/ubc-engine/reset", test_reset);
    qtest_add_func("/ubc-engine/inline-turn", test_inline_turn);
    qtest_add_func("/ubc-engine/laps", test_laps);
    qtest_add_func("/ubc-engine/too-long", test_too_long);
    qtest_add_func("/ubc-engine/bells-do-not-wait", test_bells_do_not_wait);
    qtest_add_func("/ubc-engine/iothread", test_iothread);
    return g_test_run();
}
