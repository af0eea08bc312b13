/*
 * The configuration space of a working link: what its registers show and what
 * writing them does.  Values are those of UB 2.0 appendix D.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <glib.h>

#include "ubc-pair.h"

#define SLICE(cap) UB_CFG_PORT_CAP(0, cap)

static void set(Side *s, uint32_t dw, uint32_t value)
{
    wr(s, UBC_CFG_WINDOW + 4 * dw, value);
}

/* Without FEC every bit error reaches the data link layer. */
static void bare_config(UbcConfig *conf)
{
    ubc_config_init(conf);
    memset(conf->phy.lmsm.fec_mode, 0, sizeof(conf->phy.lmsm.fec_mode));
}

static void linked(const UbcConfig *conf)
{
    pair(&two[0], &two[1], conf);
    g_assert_true(run_until(&two[0], &two[1], both_up, 60 * SECOND));
}

/* The bitmaps announce what works, and nothing else. */
static void test_bitmaps(void)
{
    Side *a = &two[0];
    UbcConfig conf;

    ubc_config_init(&conf);
    pair(a, &two[1], &conf);
    /* DEVICE_ERR_RECORD, EMQ; DECODER, JETTY, UB_MEM; those of our own. */
    g_assert_cmphex(cfg(a, UB_CFG0_BASE + 2), ==, 1 << 3 | 1 << 4 | 1 << 5);
    g_assert_cmphex(cfg(a, UB_CFG0_BASE + 2 + 240 / 32), ==,
                    1 << 240 % 32 | 1 << 242 % 32);
    g_assert_cmphex(cfg(a, UB_CFG1_BASE + 1), ==, 1 << 1 | 1 << 2 | 1 << 6);
    g_assert_cmphex(cfg(a, UB_CFG1_BASE + 1 + 240 / 32), ==, 1 << 240 % 32);
    /* LINK, LINK_LOG, DATA_RATE 2, 4 and 8, EYE_MONITOR, QDLWS, LMSM_ST,
     * PORT_ERR_RECORD: the rates of PHY Mode-2 with a slice. */
    g_assert_cmphex(cfg(a, UB_CFG_PORT_BASE(0) + 1), ==,
                    1u << 1 | 1u << 2 | 1u << 5 | 1u << 7 |
                    1u << 11 | 1u << 14 | 1u << 15 | 1u << 20 | 1u << 21);
    for (unsigned i = 1; i < 8; i++) {
        g_assert_cmphex(cfg(a, UB_CFG_PORT_BASE(0) + 1 + i), ==,
                        i == 240 / 32 ? 1u << 240 % 32 : 0);
    }
    unpair(a, &two[1]);
    conf.lds.window = 0;
    pair(a, &two[1], &conf);
    g_assert_cmphex(cfg(a, UB_CFG1_BASE + 1), ==, 1 << 2);
    unpair(a, &two[1]);
}

/* CFG1_CAP2_JETTY: 256 event queues and 8 * 2^n objects of each kind, not more than
 * there are (§D.4.2). */
static void test_jetty_counts(void)
{
    static const struct {
        uint32_t queues, cqs, value;
    } cases[] = {
        { 65536, 65536, 256u << 16 | 0xddd },
        { 65535, 1u << 20, 256u << 16 | 0xcfc },
        { 8, 15, 256u << 16 | 0x000 },
        { 16, 262144, 256u << 16 | 0x1f1 },
    };
    const uint32_t at = UB_CFG_CAP(UB_CFG1_BASE, UB_CAP_JETTY);

    for (unsigned i = 0; i < G_N_ELEMENTS(cases); i++) {
        UbcConfig conf;

        ubc_config_init(&conf);
        conf.urma.queues = cases[i].queues;
        conf.urma.cqs = cases[i].cqs;
        pair(&two[0], &two[1], &conf);
        g_assert_cmphex(cfg(&two[0], at + UB_JETTY_HEADER), ==, 0x20);
        g_assert_cmphex(cfg(&two[0], at + UB_JETTY_JETTY), ==, cases[i].value);
        unpair(&two[0], &two[1]);
    }
}

static const double noisy = 2e-3;

static void noise(Side *from, double ber)
{
    const UbLaneFault f = { .ber = ber };

    for (unsigned lane = 0; lane < UB_LANES; lane++) {
        g_assert_true(ub_inject_lane(ubc_inject(from->ubc, 0), lane, &f));
    }
}

/* LINK_LOG: counters run while enabled, stand while not, and are cleared by
 * writing ones (§D.6.3). */
static void test_link_log(void)
{
    const uint32_t log = SLICE(UB_CAP_LINK_LOG);
    Side *a = &two[0], *b = &two[1];
    uint32_t flits, trained;
    UbcConfig conf;

    bare_config(&conf);
    /* A link that gives up under the noise below does not train from start. */
    conf.dll.down_recovers = false;
    linked(&conf);
    g_assert_cmphex(cfg(b, log + UB_LINK_LOG_FLIT_ERROR_COUNT_STATUS), ==, 0);
    g_assert_cmphex(cfg(b, log + UB_LINK_LOG_FLIT_ERROR_LOG_1), ==, 0);
    noise(a, 1e-6);
    goal = 400;
    g_assert_true(run_until(a, b, exchanged, 600 * SECOND));
    /* Errors of before do not count, though nobody has looked. */
    set(b, log + UB_LINK_LOG_FLIT_ERROR_COUNT_CTL, 1);
    g_assert_cmphex(cfg(b, log + UB_LINK_LOG_FLIT_ERROR_COUNT_STATUS), ==, 0);
    goal = 1200;
    g_assert_true(run_until(a, b, exchanged, 600 * SECOND));
    flits = cfg(b, log + UB_LINK_LOG_FLIT_ERROR_COUNT_STATUS);
    g_assert_cmpuint(flits, >, 0);
    g_assert_cmphex(cfg(b, log + UB_LINK_LOG_FLIT_ERROR_LOG_1), ==, 1);
    g_assert_cmphex(cfg(a, log + UB_LINK_LOG_FLIT_ERROR_COUNT_STATUS), ==, 0);
    /* Those up to its end do. */
    goal = 1600;
    g_assert_true(run_until(a, b, exchanged, 600 * SECOND));
    set(b, log + UB_LINK_LOG_FLIT_ERROR_COUNT_CTL, 0);
    g_assert_cmpuint(cfg(b, log + UB_LINK_LOG_FLIT_ERROR_COUNT_STATUS), >,
                     flits);
    flits = cfg(b, log + UB_LINK_LOG_FLIT_ERROR_COUNT_STATUS);
    goal = 2000;
    g_assert_true(run_until(a, b, exchanged, 600 * SECOND));
    g_assert_cmpuint(cfg(b, log + UB_LINK_LOG_FLIT_ERROR_COUNT_STATUS), ==,
                     flits);
    set(b, log + UB_LINK_LOG_FLIT_ERROR_LOG_1, 1);
    set(b, log + UB_LINK_LOG_FLIT_ERROR_COUNT_STATUS, ~0u);
    g_assert_cmphex(cfg(b, log + UB_LINK_LOG_FLIT_ERROR_LOG_1), ==, 0);
    g_assert_cmphex(cfg(b, log + UB_LINK_LOG_FLIT_ERROR_COUNT_STATUS), ==, 0);
    /* Training blocks of each kind have a log and an enable bit of their own:
     * a Retrain sends RLTBs only. */
    set(b, log + UB_LINK_LOG_LTB_ERROR_COUNT_CTL, 0x3f);
    noise(a, noisy);
    set(b, SLICE(UB_CAP_LINK) + UB_LINK_PHY_CTL_1,
        cfg(b, SLICE(UB_CAP_LINK) + UB_LINK_PHY_CTL_1) |
        UB_LINK_PHY_CTL_1__RETRAIN_LINK);
    run_until(a, b, never, SECOND / 100);
    trained = cfg(b, log + UB_LINK_LOG_LTB_ERROR_LOG_4);
    g_assert_cmpuint(trained, >, 0);
    g_assert_cmpuint(cfg(b, log + UB_LINK_LOG_LTB_ERROR_LOG_2), ==, 0);
    g_assert_cmpuint(cfg(b, log + UB_LINK_LOG_LTB_ERROR_LOG_3), ==, 0);
    unpair(a, b);
}

static uint32_t wanted; /* errors waited for, in either record */
static Side *struck;    /* the side that has one */

static bool has_error(Side *s)
{
    const uint32_t err = SLICE(UB_CAP_PORT_ERR);

    return wanted & (cfg(s, err + UB_PORT_ERR_CE_STATUS) |
                     cfg(s, err + UB_PORT_ERR_UCE_STATUS));
}

static bool failed(Side *a, Side *b)
{
    struck = has_error(a) ? a : has_error(b) ? b : NULL;
    return struck || exchanged(a, b);
}

/* PORT_ERR_RECORD: what is masked is recorded and not reported (§10.6.2.2.4). */
static void test_errors(void)
{
    const uint32_t err = SLICE(UB_CAP_PORT_ERR);
    const uint32_t ack_timeout = 1u << 18; /* C.19 */
    const uint32_t event = UBC_PORT(0) + UBC_PORT_EVENT;
    Side *a = &two[0], *b = &two[1];

    for (unsigned masked = 0; masked < 2; masked++) {
        UbcConfig conf;

        bare_config(&conf);
        linked(&conf);
        for (unsigned i = 0; i < 2; i++) {
            set(&two[i], err + UB_PORT_ERR_CE_STATUS, ~0u);
            set(&two[i], err + UB_PORT_ERR_CE_MASK,
                masked ? ~0u : ~ack_timeout);
            wr(&two[i], event, ~0u);
        }
        noise(a, noisy);
        goal = 1000000;
        wanted = ack_timeout;
        g_assert_true(run_until(a, b, failed, SECOND));
        g_assert_nonnull(struck);
        g_assert_cmphex(cfg(struck, err + UB_PORT_ERR_CE_STATUS) & ack_timeout,
                        ==, ack_timeout);
        g_assert_cmphex(rd(struck, event) & UBC_PORT_EVENT_ERROR, ==,
                        masked ? 0 : UBC_PORT_EVENT_ERROR);
        /* Writing ones clears. */
        set(struck, err + UB_PORT_ERR_CE_STATUS, ack_timeout);
        g_assert_cmphex(cfg(struck, err + UB_PORT_ERR_CE_STATUS) & ack_timeout,
                        ==, 0);
        unpair(a, b);
    }
}

/* Where the severity puts an error that may be either. */
static void test_severity(void)
{
    const uint32_t err = SLICE(UB_CAP_PORT_ERR);
    const uint32_t replay = 1u << 21; /* C.22, DL Retry Error */

    for (unsigned ce = 0; ce < 2; ce++) {
        Side *a = &two[0], *b = &two[1];
        UbcConfig conf;

        bare_config(&conf);
        conf.dll.down_recovers = false;
        conf.err_severity = ce ? 0xfcffffff : 0xf04fffff;
        linked(&conf);
        g_assert_cmphex(cfg(b, err + UB_PORT_ERR_CE_SEVERITY), ==,
                        conf.err_severity);
        noise(a, noisy);
        goal = 1000000;
        wanted = replay;
        g_assert_true(run_until(a, b, failed, 2 * SECOND));
        g_assert_nonnull(struck);
        g_assert_cmphex(cfg(struck, err + UB_PORT_ERR_CE_STATUS) & replay, ==,
                        ce ? replay : 0);
        g_assert_cmphex(cfg(struck, err + UB_PORT_ERR_UCE_STATUS) & replay, ==,
                        ce ? 0 : replay);
        unpair(a, b);
    }
}

/* DATA_RATE: presets written are those that training uses; the state of the
 * current rate. */
static void test_presets(void)
{
    const uint32_t rate8 = SLICE(UB_CAP_RATE + 7);
    Side *a = &two[0], *b = &two[1];
    UbcConfig conf;

    ubc_config_init(&conf);
    pair(a, b, &conf);
    g_assert_cmphex(cfg(a, rate8 + UB_RATE_CTL_1), ==, 0x55555555);
    g_assert_cmphex(cfg(a, rate8 + UB_RATE_CTL_2), ==, 0x55555555);
    /* Lane l: our transmitter's in the low nibble, the peer's in the high. */
    set(a, rate8 + UB_RATE_CTL_1, 0x54535251);
    g_assert_cmphex(cfg(a, rate8 + UB_RATE_CTL_1), ==, 0x54535251);
    g_assert_true(run_until(a, b, both_up, 60 * SECOND));
    g_assert_cmphex(cfg(a, rate8 + UB_RATE_STATE_1) & 0x1f, ==, 0x1f);
    /* precoding both ways, FEC T=4, CRC */
    g_assert_cmphex(cfg(a, rate8 + UB_RATE_STATE_1) >> 8, ==,
                    3u | 2u << 2 | 1u << 6);
    g_assert_cmphex(cfg(a, SLICE(UB_CAP_RATE + 5) + UB_RATE_STATE_1) >> 8, ==,
                    0);
    g_assert_cmphex(cfg(a, rate8 + UB_RATE_STATE_2), !=, 0);
    unpair(a, b);
}

/* Eye tests end at once: done on lanes that carry data, else aborted. */
static void test_eye(void)
{
    const uint32_t eye = SLICE(UB_CAP_EYE);
    Side *a = &two[0], *b = &two[1];
    UbcConfig conf;

    ubc_config_init(&conf);
    conf.phy.lmsm.target_tx = conf.phy.lmsm.target_rx = 4;
    pair(a, b, &conf);
    set(a, eye + UB_EYE_CTL_1, 0x02);
    g_assert_cmphex(cfg(a, eye + UB_EYE_LANE_N_STATE + 1), ==, 1);
    g_assert_cmphex(cfg(a, eye + UB_EYE_LANE_N_STATE + 0), ==, 0);
    g_assert_true(run_until(a, b, both_up, 60 * SECOND));
    set(a, eye + UB_EYE_CTL_1, 0);
    set(a, eye + UB_EYE_CTL_1, 0x11);
    g_assert_cmphex(cfg(a, eye + UB_EYE_LANE_N_STATE) & 7, ==, 4);
    g_assert_cmphex(cfg(a, eye + UB_EYE_LANE_N_STATE) >> 16, >, 0);
    g_assert_cmphex(cfg(a, eye + UB_EYE_LANE_N_STATE + 4), ==, 1);
    g_assert_cmphex(cfg(a, eye + UB_EYE_LANE_N_STATE + 1), ==, 1);
    unpair(a, b);
}

/* PHY Link Status 3 keeps how the link was when it left Link_Active. */
static void test_left_active(void)
{
    const uint32_t link = SLICE(UB_CAP_LINK);
    Side *a = &two[0], *b = &two[1];
    UbcConfig conf;

    ubc_config_init(&conf);
    linked(&conf);
    set(a, link + UB_LINK_PHY_STATUS_3, ~0u);
    g_assert_cmphex(cfg(a, link + UB_LINK_PHY_STATUS_3), ==, 0);
    set(a, link + UB_LINK_PHY_CTL_1, cfg(a, link + UB_LINK_PHY_CTL_1) |
        UB_LINK_PHY_CTL_1__RETRAIN_LINK);
    run_until(a, b, never, SECOND / 1000);
    g_assert_cmphex(cfg(a, link + UB_LINK_PHY_STATUS_3) & 0xffffff00, ==,
                    1u << 31 | 8u << 24 | 8u << 16 | 8u << 8);
    unpair(a, b);
}

/* What does not fit is refused with a sentence, and the link keeps what it
 * had. */
static void test_too_large(void)
{
    const uint32_t dw = SLICE(UB_CAP_LINK) + UB_LINK_DL_CFG_DW10;
    Side *a = &two[0], *b = &two[1];
    UbcConfig conf;

    ubc_config_init(&conf);
    linked(&conf);
    set(a, dw, 0x10000 + 64);
    g_assert_cmpuint(a->guest_errors, ==, 1);
    set(a, dw, 4096);
    g_assert_cmpuint(a->guest_errors, ==, 1);
    goal = 100;
    g_assert_true(run_until(a, b, exchanged, 60 * SECOND));
    unpair(a, b);
}

/* Who the controller is: power-on values that resets bring back. */
static void test_identity(void)
{
    Side *a = &two[0];
    UbcConfig conf;
    const char *why;

    ubc_config_init(&conf);
    conf.ports = 2;
    for (unsigned i = 0; i < 16; i++) {
        conf.eid[i] = 0x10 + i;
        conf.fm_eid[i] = 0x20 + i;
    }
    conf.cna = 0xabcdef;
    conf.fm_cna = 0x123456;
    conf.port_cna = 0x700;
    conf.upi = 0x7abc;
    now = 1000;
    side_init(a, a + 1, &conf);
    for (unsigned round = 0; round < 3; round++) {
        g_assert_cmphex(cfg(a, UB_CFG0_BASE + UB_CFG0_EID), ==, 0x1c1d1e1f);
        g_assert_cmphex(cfg(a, UB_CFG0_BASE + UB_CFG0_EID + 3), ==, 0x10111213);
        g_assert_cmphex(cfg(a, UB_CFG0_BASE + UB_CFG0_UBFM_EID), ==,
                        0x2c2d2e2f);
        g_assert_cmphex(cfg(a, UB_CFG0_BASE + UB_CFG0_PRIMARY_CNA), ==,
                        0xabcdef);
        g_assert_cmphex(cfg(a, UB_CFG0_BASE + UB_CFG0_UBFM_CNA), ==, 0x123456);
        g_assert_cmphex(cfg(a, UB_CFG0_BASE + UB_CFG0_UPI), ==, 0x7abc);
        for (unsigned p = 0; p < 2; p++) {
            g_assert_cmphex(cfg(a, UB_CFG_PORT_BASE(p) + UB_PORT_CNA), ==,
                            0x700 + p);
        }
        /* A manager may say otherwise, until a reset. */
        set(a, UB_CFG0_BASE + UB_CFG0_EID, 1);
        set(a, UB_CFG0_BASE + UB_CFG0_PRIMARY_CNA, 2);
        set(a, UB_CFG0_BASE + UB_CFG0_UPI, 3);
        set(a, UB_CFG_PORT_BASE(1) + UB_PORT_CNA, 4);
        g_assert_cmphex(cfg(a, UB_CFG0_BASE + UB_CFG0_PRIMARY_CNA), ==, 2);
        g_assert_cmphex(cfg(a, UB_CFG_PORT_BASE(1) + UB_PORT_CNA), ==, 4);
        if (round) {
            wr(a, UBC_CTRL, UBC_CTRL_RESET);
        } else {
            set(a, UB_CFG0_BASE + UB_CFG0_DEV_RST, 1);
            ubc_run(a->ubc, now);
        }
    }
    side_free(a);
    /* Values that do not fit. */
    conf.upi = 0x8000;
    g_assert_null(ubc_new(&conf, &ops, a, &why));
    conf.upi = 0;
    conf.port_cna = 0xffffff;
    g_assert_null(ubc_new(&conf, &ops, a, &why));
    conf.port_cna = 0;
    conf.cna = 0x1000000;
    g_assert_null(ubc_new(&conf, &ops, a, &why));
}

/* Param_Exchg of 1 to 32 words, both ways, and what is refused. */
static void test_param_exchg(void)
{
    Side *a = &two[0], *b = &two[1];
    const uint32_t port = UBC_PORT(0);
    UbcConfig conf;

    ubc_config_init(&conf);
    linked(&conf);
    run_until(a, b, never, SECOND / 10);
    /* What the data link layers told each other: port and GUID. */
    g_assert_cmpuint(rd(b, port + UBC_PORT_PARAMS), ==, 5);
    g_assert_cmphex(rd(b, port + UBC_PORT_PARAM(1)) & 0xff, ==, 1);
    for (unsigned n = 1; n <= 32; n++) {
        wr(b, port + UBC_PORT_EVENT, ~0u);
        for (unsigned i = 0; i < 32; i++) {
            wr(a, port + UBC_PORT_PARAM(i), 0x1000000 * n + i);
        }
        wr(a, port + UBC_PORT_PARAMS, n);
        run_until(a, b, never, SECOND / 1000);
        g_assert_cmphex(rd(b, port + UBC_PORT_EVENT) & UBC_PORT_EVENT_PARAM,
                        !=, 0);
        g_assert_cmpuint(rd(b, port + UBC_PORT_PARAMS), ==, n);
        for (unsigned i = 0; i < 32; i++) {
            g_assert_cmphex(rd(b, port + UBC_PORT_PARAM(i)), ==,
                            i < n ? 0x1000000 * n + i : 0);
        }
    }
    g_assert_cmpuint(a->guest_errors, ==, 0);
    wr(a, port + UBC_PORT_PARAMS, 0);
    wr(a, port + UBC_PORT_PARAMS, 33);
    wr(a, port + UBC_PORT_PARAMS, ~0u);
    g_assert_cmpuint(a->guest_errors, ==, 3);
    /* Two at once, and one without a link. */
    wr(a, port + UBC_PORT_PARAMS, 1);
    wr(a, port + UBC_PORT_PARAMS, 1);
    g_assert_cmpuint(a->guest_errors, ==, 4);
    wr(b, port + UBC_PORT_CTRL, 0);
    g_assert_cmpuint(rd(b, port + UBC_PORT_PARAMS), ==, 0);
    g_assert_cmphex(rd(b, port + UBC_PORT_PARAM(0)), ==, 0);
    wr(b, port + UBC_PORT_PARAMS, 1);
    g_assert_cmpuint(b->guest_errors, ==, 1);
    unpair(a, b);
}

/*
 * A port that is disabled keeps its registers and stays down, whatever its peer
 * does; Port Reset resets them and nothing else; a device reset forgets Link
 * Disable too.
 */
static void test_disabled(void)
{
    Side *a = &two[0], *b = &two[1];
    const uint32_t mark = SLICE(UB_CAP_LINK) + UB_LINK_DL_MARKERR_CFG;
    const uint32_t ctl = SLICE(UB_CAP_LINK) + UB_LINK_PHY_CTL_2;
    const uint32_t reset = UB_CFG_PORT_BASE(0) + UB_PORT_RST;
    UbcConfig conf;

    ubc_config_init(&conf);
    linked(&conf);
    set(a, mark, cfg(a, mark) | 1);
    wr(a, UBC_PORT(0) + UBC_PORT_CTRL, 0);
    g_assert_false(run_until(a, b, both_up, 3 * SECOND));
    g_assert_cmphex(rd(a, UBC_PORT(0) + UBC_PORT_STATUS), ==, 0);
    g_assert_cmphex(cfg(a, mark) & 1, ==, 1);
    set(a, reset, 1);
    g_assert_cmphex(cfg(a, mark) & 1, ==, 0);
    g_assert_false(run_until(a, b, both_up, 3 * SECOND));
    g_assert_cmphex(rd(a, UBC_PORT(0) + UBC_PORT_STATUS), ==, 0);
    wr(a, UBC_PORT(0) + UBC_PORT_CTRL, UBC_PORT_CTRL_ENABLE);
    g_assert_true(run_until(a, b, both_up, 60 * SECOND));
    /* An enabled one trains anew. */
    set(a, reset, 1);
    g_assert_cmphex(rd(a, UBC_PORT(0) + UBC_PORT_STATUS), ==, 0);
    g_assert_cmphex(rd(a, UBC_PORT(0) + UBC_PORT_CTRL), ==,
                    UBC_PORT_CTRL_ENABLE);
    g_assert_true(run_until(a, b, both_up, 60 * SECOND));
    /* Link Disable holds over a restart of the port, and ends with a reset. */
    set(a, ctl, cfg(a, ctl) | UB_LINK_PHY_CTL_2__LINK_DISABLE);
    wr(a, UBC_PORT(0) + UBC_PORT_CTRL, 0);
    wr(a, UBC_PORT(0) + UBC_PORT_CTRL, UBC_PORT_CTRL_ENABLE);
    g_assert_false(run_until(a, b, both_up, 3 * SECOND));
    wr(a, UBC_CTRL, UBC_CTRL_RESET);
    g_assert_false(run_until(a, b, both_up, 3 * SECOND));
    g_assert_cmphex(rd(a, UBC_PORT(0) + UBC_PORT_STATUS), ==, 0);
    wr(a, UBC_PORT(0) + UBC_PORT_CTRL, UBC_PORT_CTRL_ENABLE);
    g_assert_true(run_until(a, b, both_up, 60 * SECOND));
    unpair(a, b);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/ub/ubc-regs/bitmaps", test_bitmaps);
    g_test_add_func("/ub/ubc-regs/jetty", test_jetty_counts);
    g_test_add_func("/ub/ubc-regs/link-log", test_link_log);
    g_test_add_func("/ub/ubc-regs/errors", test_errors);
    g_test_add_func("/ub/ubc-regs/severity", test_severity);
    g_test_add_func("/ub/ubc-regs/presets", test_presets);
    g_test_add_func("/ub/ubc-regs/eye", test_eye);
    g_test_add_func("/ub/ubc-regs/left-active", test_left_active);
    g_test_add_func("/ub/ubc-regs/too-large", test_too_large);
    g_test_add_func("/ub/ubc/regs/identity", test_identity);
    g_test_add_func("/ub/ubc/regs/param-exchg", test_param_exchg);
    g_test_add_func("/ub/ubc/regs/disabled", test_disabled);
    return g_test_run();
}
