/*
 * Rules of the data link layer (UB 2.0 chapter 4) as drivers of two machines meet
 * them: states and settings that registers show, marked packets, VLs, a layer that
 * gives up.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "ubc-link.h"

#define LINK UB_CFG_PORT_CAP(0, UB_CAP_LINK)

/* Data Link State Machine Status (§D.6.2). */
#define SM(value) ((value) & 0xf)
#define SM_REQ(value) ((value) >> 4 & 0xf)
enum { DISABLED = 0, NORMAL = 3, REQ_ERROR = 4 };

static uint32_t link_reg(QUbc *d, uint32_t dw)
{
    return qubc_cfg_read(d, LINK + dw);
}

static void link_field(QUbc *d, uint32_t dw, uint32_t mask, uint32_t value)
{
    qubc_cfg_write(d, LINK + dw, (link_reg(d, dw) & ~mask) |
                   (value << __builtin_ctz(mask) & mask));
}

static uint32_t machine(QUbc *d)
{
    return link_reg(d, UB_LINK_DL_STATE_MACHINE_STATUS);
}

static void prepare(Link *l)
{
    link_prepare(l);
    l->a = start_server(l);
    l->b = start_client(l);
}

static void enable(QUbc *d, bool on)
{
    qubc_port_write(d, 0, UBC_PORT_CTRL, on ? UBC_PORT_CTRL_ENABLE : 0);
}

static void wait_normal(Link *l)
{
    wait_up(l);
    QUBC_WAIT(machine(l->a) == NORMAL && machine(l->b) == NORMAL);
}

/* Down, as long as the peer is: packets do not pass, whatever is tried. */
static void check_down(QUbc *d)
{
    QUBC_WAIT(SM(machine(d)) == DISABLED);
    for (unsigned i = 0; i < 200; i++) {
        g_assert_cmpuint(SM(machine(d)), !=, NORMAL);
        g_assert_false(qubc_up(d, 0));
        g_usleep(100);
    }
}

/* LinkUp begins what ends in DLL_Normal; lanes that are lost, a port's or a device's
 * reset lead to DLL_Disabled, at the other end too (§4.2, §4.8.4). */
static void test_states(void)
{
    Link l = { 0 };

    prepare(&l);
    g_assert_cmphex(machine(l.a), ==, DISABLED);
    g_assert_false(qubc_up(l.a, 0));
    link_open(&l);
    wait_normal(&l);
    exchange(&l, 200);

    enable(l.a, false);
    g_assert_cmpuint(SM(machine(l.a)), ==, DISABLED);
    check_down(l.a);
    check_down(l.b);
    enable(l.a, true);
    wait_normal(&l);
    qubc_resync(l.a, 0);
    qubc_resync(l.b, 0);
    exchange(&l, 200);

    qubc_inject_all(l.a, 0, "'cut': true");
    qubc_inject_all(l.b, 0, "'cut': true");
    /* A layer that has nothing to send misses nothing. */
    l.a->port[0].lossy = l.b->port[0].lossy = true;
    QUBC_WAIT((qubc_send(l.a, 0, 20), qubc_send(l.b, 0, 20), qubc_reap(l.a, 0),
               qubc_reap(l.b, 0), SM(machine(l.a)) == DISABLED &&
               SM(machine(l.b)) == DISABLED));
    check_down(l.a);
    check_down(l.b);
    qubc_inject_all(l.a, 0, "");
    qubc_inject_all(l.b, 0, "");
    wait_normal(&l);
    l.a->port[0].lossy = l.b->port[0].lossy = false;
    qubc_resync(l.a, 0);
    qubc_resync(l.b, 0);
    exchange(&l, 200);

    qubc_write(l.a, UBC_CTRL, UBC_CTRL_RESET);
    g_assert_cmphex(machine(l.a), ==, DISABLED);
    check_down(l.a);
    check_down(l.b);
    link_stop(&l);
}

#define DEPTH_DEFAULT 32768u

static uint32_t depth(QUbc *d)
{
    return link_reg(d, UB_LINK_DL_STATUS_DW11);
}

/* Registers that are written before a link comes up say what the ends agree on, and
 * Data Link Status shows it (§4.3.3.9, §4.4); what does not fit together is named,
 * and the layer keeps what it had. */
static void test_settings(void)
{
    static const struct {
        uint32_t grain, depth, peer_depth;
        bool refused;
    } t[] = {
        { 0x20, 16384, 16384, false },
        { 0x80, 64, DEPTH_DEFAULT, true }, /* a unit of ACK beyond the buffer */
    };

    for (unsigned i = 0; i < G_N_ELEMENTS(t); i++) {
        Link l = { 0 };

        prepare(&l);
        link_field(l.a, UB_LINK_DL_CFG_DW0,
                   UB_LINK_DL_CFG_DW0__CTRL_ACK_GRAIN_SIZE_CFG, t[i].grain);
        link_field(l.a, UB_LINK_DL_CFG_DW10,
                   UB_LINK_DL_CFG_DW10__RETRY_BUF_DEPTH, t[i].depth);
        link_open(&l);
        g_assert_cmpuint(depth(l.b), ==, t[i].peer_depth);
        g_assert_cmpuint(depth(l.a), ==, DEPTH_DEFAULT);
        g_assert_true(qubc_logged(l.a, "RETRY_BUF_DEPTH") == t[i].refused);
        exchange(&l, 500);
        link_stop(&l);
    }
}

static void post(QUbc *d, unsigned n, unsigned len, unsigned vl)
{
    while (n--) {
        qubc_post(d, 0, UBC_RING_TX, QUBC_TX_BUF(0), len,
                  3 | vl << UBC_DESC_VL_SHIFT);
    }
    qubc_doorbell(d, 0, UBC_RING_TX);
}

/* Credits of each VL are its own, as registers grant them (§4.6.1.2), and a packet
 * waits until its VL has enough (§4.6.2): with a peer that stands still VL0 stops soon,
 * VL1 does not. */
static void test_credits(void)
{
    Link l = { .props = "keepalive=50" };
    QUbcPort *p;
    unsigned n;

    prepare(&l);
    qubc_cfg_write(l.a, LINK + UB_LINK_DL_CREDIT, 4096u << 16 | 200);
    link_open(&l);
    p = &l.b->port[0];
    qtest_qmp_assert_success(l.a->qts, "{ 'execute': 'stop' }");
    post(l.b, 60, 2000, 1);
    n = p->tx_head;
    QUBC_WAIT(qubc_status(l.b, 0, UBC_RING_TX, n - 1));
    post(l.b, 180, 2000, 0);
    QUBC_WAIT(qubc_status(l.b, 0, UBC_RING_TX, n));
    /* 200 cells and what waits in the device are less than these. */
    g_usleep(50000);
    g_assert_cmphex(qubc_status(l.b, 0, UBC_RING_TX, p->tx_head - 1), ==, 0);
    qtest_qmp_assert_success(l.a->qts, "{ 'execute': 'cont' }");
    QUBC_WAIT(qubc_status(l.b, 0, UBC_RING_TX, p->tx_head - 1));
    QUBC_WAIT(qubc_counter(l.a, 0, UBC_CNT_RX_PACKETS) == p->tx_head);
    g_assert_cmpuint(both(&l, UBC_CNT_DLL_ERRORS), ==, 0);
    link_stop(&l);
}

/* Credit of few packets waits for one that carries it, as long as credit-delay says;
 * without a delay, or with a mark in the register, each of them has a Crd_Ack (§4.6.3). */
static void test_credit_delay(void)
{
    static const struct {
        const char *props;
        uint16_t mark;
        bool waits;
    } t[] = {
        { "credit-delay=50000," QUBC_STEPPED, 0, true },
        { "credit-delay=50000," QUBC_STEPPED, 1, false },
        { "credit-delay=0," QUBC_STEPPED, 0, false },
    };
    const int64_t delay = 50 * INT64_C(1000000);

    for (unsigned i = 0; i < G_N_ELEMENTS(t); i++) {
        Link l = { .props = t[i].props };
        uint64_t before;

        prepare(&l);
        link_field(l.a, UB_LINK_DL_PERF_DW9, 0xffff, t[i].mark);
        link_open(&l);
        qtest_clock_step(l.a->qts, 2 * delay);  /* what is left of the beginning */
        before = qubc_counter(l.a, 0, UBC_CNT_CRD_ACKS);
        for (unsigned n = 1; n <= 20; n++) {
            uint64_t told = qubc_counter(l.a, 0, UBC_CNT_CRD_ACKS);

            post(l.b, 1, 100, 0);
            QUBC_WAIT(qubc_counter(l.a, 0, UBC_CNT_RX_PACKETS) == n);
            if (!t[i].waits) {
                QUBC_WAIT(qubc_counter(l.a, 0, UBC_CNT_CRD_ACKS) > told);
            }
        }
        if (t[i].waits) {
            g_assert_cmpuint(qubc_counter(l.a, 0, UBC_CNT_CRD_ACKS), ==, before);
            qtest_clock_step(l.a->qts, delay - 1000);
            g_assert_cmpuint(qubc_counter(l.a, 0, UBC_CNT_CRD_ACKS), ==, before);
            qtest_clock_step(l.a->qts, 1000);
            QUBC_WAIT(qubc_counter(l.a, 0, UBC_CNT_CRD_ACKS) == before + 1);
        }
        g_assert_cmpuint(both(&l, UBC_CNT_DLL_ERRORS), ==, 0);
        link_stop(&l);
    }
}

/* Memory that cannot be read: the packet is lost, or comes marked, as MarkErr Cfg
 * says, as usual and without retry (§4.3.2.2.4, §4.8.3). */
static void test_mark_err(void)
{
    Link l = { 0 };
    uint8_t *desc, *got;
    uint64_t resent;

    link_start(&l);
    desc = l.b->ram->at + QUBC_RX_RING(0);
    got = l.b->ram->at + QUBC_RX_BUF(0);
    memset(got, 0xee, QUBC_BUF);
    resent = both(&l, UBC_CNT_FLITS_RESENT);
    for (unsigned mark = 0; mark < 2; mark++) {
        uint16_t n = l.a->port[0].tx_head;

        link_field(l.a, UB_LINK_DL_MARKERR_CFG, 1, mark);
        qubc_post(l.a, 0, UBC_RING_TX, QUBC_NOWHERE, 1500, 3);
        qubc_doorbell(l.a, 0, UBC_RING_TX);
        QUBC_WAIT(qubc_status(l.a, 0, UBC_RING_TX, n));
        g_assert_cmphex(qubc_status(l.a, 0, UBC_RING_TX, n), ==,
                        UBC_DESC_DONE | UBC_DESC_ERROR);
    }
    QUBC_WAIT(qubc_status(l.b, 0, UBC_RING_RX, 0));
    g_assert_cmphex(qubc_status(l.b, 0, UBC_RING_RX, 0), ==,
                    UBC_DESC_DONE | UBC_DESC_ERROR);
    g_assert_cmpuint(ldl_le_p(desc + 8), ==, 1500);
    for (unsigned i = 0; i < 1500; i++) {
        g_assert_cmphex(got[i], ==, 0);
    }
    g_assert_cmpuint(qubc_counter(l.b, 0, UBC_CNT_RX_PACKETS), ==, 1);
    g_assert_cmpuint(both(&l, UBC_CNT_FLITS_RESENT), ==, resent);
    link_stop(&l);
}

/* Packets of three VLs keep their VL and their order inside it; a strict VL overtakes
 * what waits on others (§4.5). */
static void test_vls(void)
{
    enum { N = 40 };
    unsigned next[3] = { 0 }, first = 0;
    Link l = { .props = "vl-strict=4,vl-weights=1:4" };

    link_start(&l);
    for (unsigned n = 0; n < N; n++) {
        uint32_t at = QUBC_TX_BUF(0) + n * QUBC_BUF;
        unsigned vl = n < 18 ? 0 : n < 36 ? 1 : 2;

        memset(l.a->ram->at + at, vl, 3000);
        stl_le_p(l.a->ram->at + at, n - (n < 18 ? 0 : n < 36 ? 18 : 36));
        qubc_post(l.a, 0, UBC_RING_TX, at, 3000, 3 | vl << UBC_DESC_VL_SHIFT);
    }
    qubc_doorbell(l.a, 0, UBC_RING_TX);
    QUBC_WAIT(qubc_status(l.b, 0, UBC_RING_RX, N - 1));
    for (unsigned n = 0; n < N; n++) {
        const uint8_t *desc = l.b->ram->at + QUBC_RX_RING(0) + n * UBC_DESC_SIZE;
        const uint8_t *got = l.b->ram->at + QUBC_RX_BUF(0) + n * QUBC_BUF;
        unsigned vl = (lduw_le_p(desc + 12) & UBC_DESC_VL) >> UBC_DESC_VL_SHIFT;

        g_assert_cmphex(qubc_status(l.b, 0, UBC_RING_RX, n), ==, UBC_DESC_DONE);
        g_assert_cmpuint(vl, <, 3);
        g_assert_cmpuint(ldl_le_p(got), ==, next[vl]++);
        for (unsigned i = 4; i < 3000; i++) {
            g_assert_cmphex(got[i], ==, vl);
        }
        /* The last ones in the ring are not the last to come. */
        first += vl == 2 && n < N - 4;
    }
    g_assert_cmpuint(first, ==, 4);
    link_stop(&l);
}

/* Retries and a Retrain that do not help: with dll-recovery=off nothing moves any more
 * and only a reset leads out of it (§4.7.3.3, §4.8.2). */
static void test_given_up(void)
{
    Link l = { .props = "retry-threshold=2,reinit-threshold=1,dll-recovery=off" };
    const uint32_t bits = 1u << 21;
    uint64_t flits;
    QUbc *d = NULL;

    link_start(&l);
    QUBC_WAIT(qubc_link_int(l.a, 0, "rate") == 8 &&
              qubc_link_int(l.b, 0, "rate") == 8);
    l.a->port[0].lossy = l.b->port[0].lossy = true;
    qubc_inject_all(l.a, 0, "'ber': 3e-3, 'seed': 5");
    QUBC_WAIT((qubc_send(l.a, 0, 20), qubc_send(l.b, 0, 20), qubc_reap(l.a, 0),
               qubc_reap(l.b, 0),
               d = SM_REQ(machine(l.a)) == REQ_ERROR ? l.a :
                   SM_REQ(machine(l.b)) == REQ_ERROR ? l.b : NULL));
    qubc_inject_all(l.a, 0, "");
    g_assert_cmphex(qubc_cfg_read(d, UB_CFG_PORT_CAP(0, UB_CAP_PORT_ERR) +
                                  UB_PORT_ERR_UCE_STATUS) & bits, ==, bits);
    g_assert_cmpuint(qubc_counter(d, 0, UBC_CNT_DLL_ERRORS), >, 0);
    flits = qubc_counter(d, 0, UBC_CNT_TX_FLITS);
    for (unsigned i = 0; i < 1000; i++) {
        g_assert_cmpuint(SM_REQ(machine(d)), ==, REQ_ERROR);
        g_assert_false(qubc_up(d, 0));
        g_usleep(100);
    }
    g_assert_cmpuint(qubc_counter(d, 0, UBC_CNT_TX_FLITS), ==, flits);
    enable(d, false);
    enable(d, true);
    QUBC_WAIT((SM_REQ(machine(l.a)) != REQ_ERROR || (enable(l.a, false),
                                                     enable(l.a, true), true)) &&
              (SM_REQ(machine(l.b)) != REQ_ERROR || (enable(l.b, false),
                                                     enable(l.b, true), true)) &&
              qubc_up(l.a, 0) && qubc_up(l.b, 0));
    qubc_resync(l.a, 0);
    qubc_resync(l.b, 0);
    exchange(&l, 200);
    link_stop(&l);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    qtest_add_func("/ubc-rules/states", test_states);
    qtest_add_func("/ubc-rules/settings", test_settings);
    qtest_add_func("/ubc-rules/credits", test_credits);
    qtest_add_func("/ubc-rules/credit-delay", test_credit_delay);
    qtest_add_func("/ubc-rules/mark-err", test_mark_err);
    qtest_add_func("/ubc-rules/vls", test_vls);
    qtest_add_func("/ubc-rules/given-up", test_given_up);
    return g_test_run();
}
