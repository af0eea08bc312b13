/*
 * Errors of class C (UB 2.0 §10.6.2.2.4, table 10-14) that a wire, a peer or its guest
 * causes: recorded by the port that they strike, told to its manager, cleared by
 * software.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "ubc-msg.h"
#include "ub/net_format.h"

#define RECORD UB_CFG_PORT_CAP(0, UB_CAP_PORT_ERR)
#define LINK UB_CFG_PORT_CAP(0, UB_CAP_LINK)
#define QDLWS UB_CFG_PORT_CAP(0, UB_CAP_QDLWS)
#define RETRAIN UB_LINK_PHY_CTL_1__RETRAIN_LINK
#define QUICK UB_LINK_PHY_CTL_1__CHANGE_WIDTH
#define MS 1000000ll

/* An error C.n is bit n - 1. */
#define C(n) (1u << ((n) - 1))

enum { CE, NFUE, FUE };

typedef struct Case {
    uint32_t bit;
    unsigned severity;
    const char *props;
    void (*provoke)(Link *l, const struct Case *c);
    const char *first;      /* more properties of a */
} Case;

/* The guests at both ends, and the severities of the port's errors that each has heard
 * of: a set. */
static Guest guest[2];
static unsigned heard[2];

static void hear(void)
{
    for (unsigned i = 0; i < 2; i++) {
        Guest *g = &guest[i];

        while (q_read(g, UB_MSGQ_CQ_PI) != g->ci) {
            take(g);
            /* An error message (code 0) of EL 0 and port 0. */
            if (!(g->packet[7] & 0x0fffffff & ~8u) && !g->packet[9]) {
                heard[i] |= 1u << (g->packet[7] >> 28);
            }
        }
    }
}

static uint32_t record(QUbc *d, unsigned reg)
{
    return qubc_cfg_read(d, RECORD + reg);
}

static bool has(QUbc *d, const Case *c)
{
    return c->bit & record(d, c->severity == CE ? UB_PORT_ERR_CE_STATUS
                                                : UB_PORT_ERR_UCE_STATUS);
}

/* The end that it struck, or NULL. */
static QUbc *struck(Link *l, const Case *c)
{
    return has(l->a, c) ? l->a : has(l->b, c) ? l->b : NULL;
}

static void set_targets(QUbc *d, unsigned rate, unsigned width, uint32_t trigger)
{
    uint32_t value = qubc_cfg_read(d, LINK + UB_LINK_PHY_CTL_1) & ~0x003f3f0fu;

    qubc_cfg_write(d, LINK + UB_LINK_PHY_CTL_1,
                   value | rate | width << 8 | width << 16 | trigger);
}

static bool rate_is(Link *l, unsigned rate)
{
    return qubc_link_int(l->a, 0, "rate") == rate &&
           qubc_link_int(l->b, 0, "rate") == rate;
}

/* Packets both ways, whatever becomes of them, until it happens. */
static void traffic(Link *l, const Case *c)
{
    l->a->port[0].lossy = l->b->port[0].lossy = true;
    QUBC_WAIT((qubc_send(l->a, 0, 20), qubc_send(l->b, 0, 20),
               qubc_reap(l->a, 0), qubc_reap(l->b, 0), hear(), struck(l, c)));
}

/* ---- Causes ---- */

static void noise(Link *l, const Case *c)
{
    qubc_inject_all(l->a, 0, "'ber': 1e-3, 'seed': 5");
    qubc_inject_all(l->b, 0, "'ber': 1e-3, 'seed': 6");
    traffic(l, c);
}

/* So much that no Retrain helps. */
static void loud(Link *l, const Case *c)
{
    qubc_inject_all(l->a, 0, "'ber': 3e-3, 'seed': 5");
    traffic(l, c);
}

static void noisy_retrain(Link *l, const Case *c)
{
    qubc_inject_all(l->a, 0, "'ber': 3e-3, 'seed': 5");
    QUBC_WAIT((set_targets(l->a, 8, 8, RETRAIN), struck(l, c)));
}

/* Another rate that training does not reach. */
static void slower(Link *l, const Case *c)
{
    set_targets(l->b, 4, 8, 0);
    set_targets(l->a, 4, 8, RETRAIN);
    QUBC_WAIT(rate_is(l, 4));
    qubc_inject_all(l->a, 0, "'ber': 0.2, 'seed': 5");
    set_targets(l->b, 8, 8, 0);
    set_targets(l->a, 8, 8, RETRAIN);
    QUBC_WAIT(struck(l, c));
}

static void cut(Link *l, const Case *c)
{
    qubc_inject(l->a, 0, 7, "'cut': true");
    traffic(l, c);
}

static void cut_all(Link *l, const Case *c)
{
    qubc_inject_all(l->a, 0, "'cut': true");
    traffic(l, c);
}

/* Half a link, as it is found. */
static void half_found(Link *l, const Case *c)
{
    qubc_port_write(l->b, 0, UBC_PORT_CTRL, 0);
    QUBC_WAIT(!qubc_up(l->a, 0));
    qubc_inject_all(l->b, 0, "'ber': 0.3, 'seed': 5");
    qubc_port_write(l->b, 0, UBC_PORT_CTRL, UBC_PORT_CTRL_ENABLE);
    QUBC_WAIT(struck(l, c));
}

static QUbc *primary(Link *l)
{
    return qubc_cfg_read(l->a, LINK + UB_LINK_PHY_STATUS_1) >> 28 & 1 ? l->a
                                                                     : l->b;
}

static void qdlws_enable(Link *l)
{
    const uint32_t on = UB_QDLWS_CTL__GLOBAL_ENABLE_FOR_QDLWS |
                        UB_QDLWS_CTL__TX_QDLWS_ENABLE |
                        UB_QDLWS_CTL__RX_QDLWS_ENABLE;

    qubc_cfg_write(l->a, QDLWS + UB_QDLWS_CTL, on);
    qubc_cfg_write(l->b, QDLWS + UB_QDLWS_CTL, on);
}

/* Lanes that were never found are asked for. */
static void too_wide(Link *l, const Case *c)
{
    qubc_port_write(l->b, 0, UBC_PORT_CTRL, 0);
    QUBC_WAIT(!qubc_up(l->a, 0));
    qubc_inject(l->a, 0, 7, "'cut': true");
    qubc_inject(l->b, 0, 7, "'cut': true");
    qubc_port_write(l->b, 0, UBC_PORT_CTRL, UBC_PORT_CTRL_ENABLE);
    wait_up(l);
    QUBC_WAIT(rate_is(l, 8) && qubc_link_int(l->a, 0, "rx-width") == 4);
    qubc_inject_all(l->a, 0, "");
    qubc_inject_all(l->b, 0, "");
    qdlws_enable(l);
    QUBC_WAIT((set_targets(primary(l), 8, 8, QUICK), struck(l, c)));
}

/* A machine that stands still and does not say so. */
static void no_credit(Link *l, const Case *c)
{
    l->a->port[0].lossy = l->b->port[0].lossy = true;
    qtest_qmp_assert_success(l->a->qts, "{ 'execute': 'stop' }");
    for (unsigned i = 0; i < 20; i++) {
        qubc_send(l->b, 0, 1000);
        g_usleep(1000);
    }
    QUBC_WAIT((qtest_clock_step(l->b->qts, 10 * MS), has(l->b, c)));
    qtest_qmp_assert_success(l->a->qts, "{ 'execute': 'cont' }");
}

/* AMCTLs that cannot be decoded. */
static void lost_amctl(Link *l, const Case *c)
{
    qubc_inject_all(l->a, 0, "'lose-amctl': 1");
    traffic(l, c);
}

/* Half the lanes are asked for, and nobody answers. */
static void unanswered(Link *l, const Case *c)
{
    QUbc *d = primary(l), *peer = d == l->a ? l->b : l->a;

    qdlws_enable(l);
    /* A machine that is paused would still answer: its port goes on. */
    g_assert_cmpint(kill(qtest_pid(peer->qts), SIGSTOP), ==, 0);
    QUBC_WAIT((set_targets(d, 8, 4, QUICK), has(d, c)));
    g_assert_cmpint(kill(qtest_pid(peer->qts), SIGCONT), ==, 0);
}

/* One packet has more cells than b grants. */
static void overrun(Link *l, const Case *c)
{
    l->a->port[0].lossy = l->b->port[0].lossy = true;
    qubc_send(l->a, 0, 9000);
    QUBC_WAIT((qubc_reap(l->a, 0), hear(), has(l->b, c)));
}

/* b's guest sends @len bytes for a's network layer as they are. */
static void raw(Link *l, unsigned len)
{
    uint8_t *p = l->b->ram->at + QUBC_TX_BUF(0);

    memset(p, 0, len);
    stw_be_p(p, 2);
    stw_be_p(p + 2, 1);
    qubc_post(l->b, 0, UBC_RING_TX, QUBC_TX_BUF(0), len, UB_LPH_CNA16);
    qubc_doorbell(l->b, 0, UBC_RING_TX);
}

static void too_short(Link *l, const Case *c)
{
    raw(l, 9);
    QUBC_WAIT(has(l->a, c));
}

static void bad_icrc(Link *l, const Case *c)
{
    raw(l, 64);
    QUBC_WAIT(has(l->a, c));
}

/* ---- All of them ---- */

/* Ring pairs of a have nothing: its network layer has all. */
#define NETWORK "cna=1,upi=1"

/* By n. */
static const Case cases[] = {
    [5] = { C(5), CE, "", lost_amctl },
    [6] = { C(6), CE, "", noisy_retrain },
    [7] = { C(7), CE, "", slower },
    [8] = { C(8), CE, STEADY, cut },
    [12] = { C(12), CE, "", half_found },
    [15] = { C(15), CE, "timeout-min=300,keepalive=0,mode-timeout=60000,"
           "retry-threshold=254", unanswered },
    [16] = { C(16), CE, STEADY, too_wide },
    [18] = { C(18), CE, "", cut_all },
    [19] = { C(19), CE, "", noise },
    [20] = { C(20), CE, "retry-threshold=2", noise },
    [21] = { C(21), NFUE,
          "init-credit=64,keepalive=0,credit-timeout=200," QUBC_STEPPED, no_credit },
    [22] = { C(22), NFUE,
          "retry-threshold=2,reinit-threshold=1,dll-recovery=off", loud },
    [24] = { C(24), NFUE, NETWORK, too_short },
    [28] = { C(28), NFUE, NETWORK, bad_icrc },
    [29] = { C(29), NFUE, "init-credit=32", overrun, ",fault-credit=overrun" },
    [30] = { C(30), NFUE, "tx-share=off", traffic, ",fault-credit=overgrant" },
};

static void test_case(const void *opaque)
{
    const Case *c = opaque;
    unsigned status = c->severity == CE ? UB_PORT_ERR_CE_STATUS
                                        : UB_PORT_ERR_UCE_STATUS;
    bool stepped = strstr(c->props, QUBC_STEPPED);
    g_autofree char *first = NULL;
    Link l = { 0 };
    QUbc *d;

    link_prepare(&l);
    first = g_strconcat(c->props, c->first, NULL);
    l.props = first;
    l.a = start_server(&l);
    l.props = c->props;
    l.b = start_client(&l);
    if (strstr(c->props, NETWORK)) {
        qubc_port_write(l.a, 0, UBC_PORT_CTRL, UBC_PORT_CTRL_ENABLE);
        qubc_pair_write(l.b, 0, UBC_PAIR_CFGS, 0xffff);
    } else {
        qubc_port_open(l.a, 0);
    }
    qubc_port_open(l.b, 0);
    guest_open(&guest[0], l.a);
    guest_open(&guest[1], l.b);
    heard[0] = heard[1] = 0;
    wait_up(&l);
    if (!stepped && !strstr(c->props, NETWORK)) {
        QUBC_WAIT(rate_is(&l, 8));
    }
    qubc_cfg_write(l.a, RECORD + status, ~0u);
    qubc_cfg_write(l.b, RECORD + status, ~0u);
    qubc_cfg_write(l.a, RECORD + UB_PORT_ERR_CE_MASK, 0);
    qubc_cfg_write(l.b, RECORD + UB_PORT_ERR_CE_MASK, 0);
    g_assert_null(struck(&l, c));
    c->provoke(&l, c);
    d = struck(&l, c);
    g_assert_nonnull(d);
    qubc_inject_all(l.a, 0, "");
    qubc_inject_all(l.b, 0, "");
    /* Its manager, which is its own guest, hears of the port's error. */
    QUBC_WAIT((hear(), heard[d == l.b] & 1u << c->severity));
    QUBC_WAIT((qubc_cfg_write(d, RECORD + status, c->bit), !has(d, c)));
    /* It heals, but where it is to be left alone. */
    if (!strstr(c->props, "dll-recovery=off") && !stepped) {
        wait_up(&l);
    }
    link_stop(&l);
}

/* ---- Headers of faulty packets (§D.2.3) ---- */

#define INFO UB_CFG_CAP(UB_CFG0_BASE, UB_CAP_ERR_INFO)
#define CI (INFO + UB_ERR_INFO_ERROR_INFO_CI)
#define PI (INFO + UB_ERR_INFO_ERROR_INFO_PI)
#define CONTROL (INFO + UB_ERR_INFO_ERROR_INFO_CTL)
#define SPEC (INFO + UB_ERR_INFO_SPEC_DEFINED_ERROR_INFO)
#define VENDOR (INFO + UB_ERR_INFO_VENDOR_DEFINED_ERROR_INFO)
#define OVERFLOW UB_ERR_INFO_ERROR_INFO_CTL__ERROR_INFO_OVERFLOW
#define INFO_DEPTH 4u

/* Packet @n of a's guest for b's network layer; its ICRC is wrong. */
static void spoilt(Link *l, unsigned n, unsigned len)
{
    uint32_t at = QUBC_TX_BUF(0) + n * QUBC_BUF;
    uint8_t *p = l->a->ram->at + at;

    memset(p, 0, len);
    stw_be_p(p, 2);
    stw_be_p(p + 2, 1);
    for (unsigned i = 8; i < len; i++) {
        p[i] = 16 * n + i;
    }
    p[7] = 0;
    qubc_post(l->a, 0, UBC_RING_TX, at, len, UB_LPH_CNA16);
    qubc_doorbell(l->a, 0, UBC_RING_TX);
}

static void check_info(Link *l, unsigned n, unsigned len, uint32_t bits)
{
    const uint8_t *p = l->a->ram->at + QUBC_TX_BUF(0) + n * QUBC_BUF;
    uint8_t got[104];

    g_assert_cmphex(qubc_cfg_read(l->b, SPEC), ==, bits);
    g_assert_cmphex(qubc_cfg_read(l->b, SPEC + 1), ==, 0);  /* of a port */
    for (unsigned i = 0; i < 26; i++) {
        stl_le_p(got + 4 * i, qubc_cfg_read(l->b, SPEC + 2 + i));
    }
    /* The LPH: CFG, and what follows it. */
    g_assert_cmphex(ldl_be_p(got) >> 16 & 15, ==, UB_LPH_CNA16);
    g_assert_cmpmem(got + 4, MIN(len, 100), p, MIN(len, 100));
    for (unsigned i = 4 + len; i < sizeof(got); i++) {
        g_assert_cmphex(got[i], ==, 0);
    }
    g_assert_cmpuint(qubc_cfg_read(l->b, VENDOR), ==, 0);
    g_assert_cmpuint(qubc_cfg_read(l->b, VENDOR + 1), ==, len);
}

/* What has an error is shown from its beginning on, one entry after the other; also by
 * another machine. */
static void test_info(void)
{
    g_autofree char *uri = NULL, *path = NULL, *more = NULL, *chr = NULL;
    Link l = { .props = NETWORK ",err-info=4" };
    QUbc *to;

    link_prepare(&l);
    l.a = start_server(&l);
    l.b = start_client(&l);
    qubc_pair_write(l.a, 0, UBC_PAIR_CFGS, 0xffff);
    qubc_port_open(l.a, 0);
    qubc_port_write(l.b, 0, UBC_PORT_CTRL, UBC_PORT_CTRL_ENABLE);
    wait_up(&l);
    g_assert_cmphex(qubc_cfg_read(l.b, CONTROL), ==, INFO_DEPTH << 16);
    g_assert_cmphex(qubc_cfg_read(l.b, PI), ==, 0);
    spoilt(&l, 0, 9);
    spoilt(&l, 1, 64);
    spoilt(&l, 2, 200);
    QUBC_WAIT(qubc_cfg_read(l.b, PI) == 3);
    g_assert_cmphex(qubc_cfg_read(l.b, CONTROL), ==, INFO_DEPTH << 16);
    check_info(&l, 0, 9, C(24));
    /* There is no room for one more. */
    spoilt(&l, 3, 40);
    QUBC_WAIT(qubc_cfg_read(l.b, CONTROL) & OVERFLOW);
    g_assert_cmphex(qubc_cfg_read(l.b, PI), ==, 3);
    qubc_cfg_write(l.b, PI, 1);
    qubc_cfg_write(l.b, SPEC, 1);
    g_assert_cmphex(qubc_cfg_read(l.b, PI), ==, 3);
    check_info(&l, 0, 9, C(24));
    /* Software takes what there is, and no more. */
    qubc_cfg_write(l.b, CI, INFO_DEPTH);
    g_assert_cmphex(qubc_cfg_read(l.b, CI), ==, 0);
    g_assert_cmphex(qubc_cfg_read(l.b, CONTROL) & OVERFLOW, ==, OVERFLOW);
    qubc_cfg_write(l.b, CI, 1);
    g_assert_cmphex(qubc_cfg_read(l.b, CI), ==, 1);
    g_assert_cmphex(qubc_cfg_read(l.b, CONTROL) & OVERFLOW, ==, 0);
    check_info(&l, 1, 64, C(28));
    spoilt(&l, 4, 32);
    QUBC_WAIT(qubc_cfg_read(l.b, PI) == 0);
    qubc_cfg_write(l.b, CI, 2);
    chr = client(l.path);
    path = g_build_filename(l.dir, "migrate", NULL);
    uri = g_strdup_printf("unix:%s", path);
    more = g_strdup_printf("%s -incoming %s", chr, uri);
    to = qubc_start("q35", "chardev0=w," NETWORK ",err-info=4", more);
    qtest_qmp_assert_success(l.b->qts, "{ 'execute': 'migrate',"
                             " 'arguments': { 'uri': %s } }", uri);
    QUBC_WAIT(qubc_migrated(l.b));
    qtest_qmp_eventwait(to->qts, "RESUME");
    qubc_adopt(to, l.b);
    qubc_stop(l.b);
    l.b = to;
    unlink(path);
    g_assert_cmphex(qubc_cfg_read(l.b, CI), ==, 2);
    g_assert_cmphex(qubc_cfg_read(l.b, PI), ==, 0);
    check_info(&l, 2, 200, C(28));
    qubc_cfg_write(l.b, CI, 1);
    g_assert_cmphex(qubc_cfg_read(l.b, CI), ==, 2);
    qubc_cfg_write(l.b, CI, 3);
    check_info(&l, 4, 32, C(28));
    qubc_cfg_write(l.b, CI, 0);
    for (unsigned i = 0; i < 30; i++) {
        g_assert_cmphex(qubc_cfg_read(l.b, SPEC + i), ==, 0);
    }
    link_stop(&l);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    qtest_add_data_func("/ubc-error/c5-amctl", &cases[5], test_case);
    qtest_add_data_func("/ubc-error/c6-ltb-crc", &cases[6], test_case);
    qtest_add_data_func("/ubc-error/c7-speed", &cases[7], test_case);
    qtest_add_data_func("/ubc-error/c8-width", &cases[8], test_case);
    qtest_add_data_func("/ubc-error/c12-discovery", &cases[12], test_case);
    qtest_add_data_func("/ubc-error/c15-qdlws", &cases[15], test_case);
    qtest_add_data_func("/ubc-error/c16-lw-switch", &cases[16], test_case);
    qtest_add_data_func("/ubc-error/c18-retrain", &cases[18], test_case);
    qtest_add_data_func("/ubc-error/c19-retry-ack", &cases[19], test_case);
    qtest_add_data_func("/ubc-error/c20-rollover", &cases[20], test_case);
    qtest_add_data_func("/ubc-error/c21-credit", &cases[21], test_case);
    qtest_add_data_func("/ubc-error/c22-retry", &cases[22], test_case);
    qtest_add_data_func("/ubc-error/c24-length", &cases[24], test_case);
    qtest_add_data_func("/ubc-error/c28-icrc", &cases[28], test_case);
    qtest_add_data_func("/ubc-error/c29-overrun", &cases[29], test_case);
    qtest_add_data_func("/ubc-error/c30-overgrant", &cases[30], test_case);
    qtest_add_func("/ubc-error/info", test_info);
    return g_test_run();
}
