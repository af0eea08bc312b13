/*
 * Two link ends back to back without a controller, in virtual time: what a
 * switch, or anything else with ports, builds on.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "port-pair.h"

static const unsigned vls[] = { 0, 1, 2, 7 };
static uint32_t goal;

static void feed(End *e)
{
    for (unsigned i = 0; i < G_N_ELEMENTS(vls); i++) {
        unsigned vl = vls[i];

        while (e->sent[vl] < goal && !(e->full >> vl & 1)) {
            CorePacket *pkt = packet(e, vl, e->sent[vl]);
            UbPortSent sent = ub_port_send(e->port, now, pkt);

            if (sent != UB_PORT_SENT) {
                core_packet_free(pkt);
            }
            if (sent == UB_PORT_DOWN) {
                return;
            }
            if (sent == UB_PORT_FULL) {
                e->full |= 1u << vl;
                break;
            }
            g_assert_cmpint(sent, ==, UB_PORT_SENT);
            e->sent[vl]++;
        }
    }
}

static bool has_all(End *e)
{
    bool all = true;

    for (unsigned i = 0; i < G_N_ELEMENTS(vls); i++) {
        all &= e->hold >> vls[i] & 1 || e->got[vls[i]] == goal;
    }
    return all;
}

static bool exchanged(End *a)
{
    feed(a);
    feed(a->peer);
    return has_all(a) && has_all(a->peer);
}

static void check_credits(End *a)
{
    run_until(a, never, 5 * SECOND); /* all Crd_Acks are through by then */
    for (unsigned i = 0; i < 2; i++, a = a->peer) {
        UbPortStatus tx, rx_end;

        ub_port_status(a->port, &tx);
        ub_port_status(a->peer->port, &rx_end);
        for (unsigned vl = 0; vl < UB_VLS; vl++) {
            g_assert_cmpuint(tx.dll.tx_credit[vl] + rx_end.dll.rx_held[vl], ==,
                             rx_end.dll.rx_granted[vl]);
            if (!g_queue_get_length(&a->peer->held)) {
                /* All but what waits for its grain. */
                g_assert_cmpuint(rx_end.dll.rx_held[vl], ==,
                                 rx_end.dll.rx_pending[vl]);
            }
        }
    }
}

static void forget(End *e)
{
    for (unsigned i = 0; i < 2; i++, e = e->peer) {
        memset(e->sent, 0, sizeof(e->sent));
        memset(e->got, 0, sizeof(e->got));
        e->full = 0;
    }
}

static void test_back_to_back(void)
{
    End two[2], *a = &two[0], *b = &two[1];
    UbPortStatus st = { .connected = true };
    UbPortStats stats;
    CorePacket *pkt;
    uint32_t held;
    GQueue old;

    now = 1000;
    end_init(a, b, 0);
    end_init(b, a, 3);
    goal = 0;
    /* Nothing passes before there is a link. */
    pkt = packet(a, 0, 0);
    g_assert_cmpint(ub_port_send(a->port, now, pkt), ==, UB_PORT_DOWN);
    core_packet_free(pkt);
    ub_port_status(a->port, &st);
    g_assert_false(st.connected || st.link_up);
    plug(a, true);
    ub_port_enable(a->port, now, true);
    ub_port_enable(b->port, now, true);
    g_assert_true(run_until(a, both_up, 60 * SECOND));
    ub_port_status(a->port, &st);
    g_assert_cmpuint(st.phy.tx_width, ==, 8);
    g_assert_true(st.link_up && st.connected);
    g_assert_cmpuint(st.peer->port, ==, 3);
    g_assert_cmpuint(st.peer->guid[15], ==, 3);
    g_assert_cmphex(ub_port_vls(a->port), ==, 0xff);
    g_assert_cmpuint(a->events[UB_PORT_LINK], >, 0);
    g_assert_cmphex(ub_space_read(b->space, UB_CFG_PORT_BASE(3) +
                                  UB_PORT_INFO) & 0xffff, ==, 3);

    /* LinkUp and DLL_Normal, x8 at Data Rate 8 in Link_Active. */
    g_assert_cmphex(ub_space_read(b->space,
                                  UB_CFG_PORT_CAP(3, UB_CAP_LINK) +
                                  UB_LINK_PORT_LINK_STATUS_0), ==, 3);

    /* All VLs, both ways, order and contents kept. */
    goal = 300;
    g_assert_true(run_until(a, exchanged, 60 * SECOND));
    g_assert_cmpuint(a->spaces, >, 0);
    g_assert_cmpuint(a->captured[true], ==, 4 * goal);
    g_assert_cmpuint(a->captured[false], ==, 4 * goal);
    check_credits(a);

    /* Nobody takes the packets of VL 1: its peer runs out of credits, the
     * other VLs run on. */
    b->hold = 1u << 1;
    goal = 600;
    g_assert_true(run_until(a, exchanged, 60 * SECOND));
    g_assert_cmpuint(b->got[1], ==, 300);
    g_assert_cmpuint(a->sent[1], <, 600);
    g_assert_cmpuint(g_queue_get_length(&b->held), >, 0);
    check_credits(a);
    let_go(b);
    g_assert_true(run_until(a, exchanged, 60 * SECOND));
    check_credits(a);

    /* What VL 8 and CFG 0 are for is not for packets. */
    pkt = packet(a, 8, 0);
    g_assert_cmpint(ub_port_send(a->port, now, pkt), ==, UB_PORT_REFUSED);
    ub_meta(pkt)->vl = 0;
    ub_meta(pkt)->lph_cfg = 0;
    g_assert_cmpint(ub_port_send(a->port, now, pkt), ==, UB_PORT_REFUSED);
    core_packet_free(pkt);

    /* The link is lost and comes back, with packets of the old one still held:
     * their space is not given back to the new one. */
    for (unsigned i = 0; i < 3; i++) {
        b->hold = 1u << 2;
        goal += 50;
        g_assert_true(run_until(a, exchanged, 60 * SECOND));
        plug(a, false);
        g_assert_true(run_until(a, both_down, 60 * SECOND));
        plug(a, true);
        g_assert_true(run_until(a, both_up, 60 * SECOND));
        old = b->held;
        g_queue_init(&b->held);
        forget(a);
        goal = 20;
        run_until(a, exchanged, SECOND);
        ub_port_status(b->port, &st);
        held = st.dll.rx_held[2] - st.dll.rx_pending[2];
        g_assert_cmpuint(held, >, 0);
        while (!g_queue_is_empty(&old)) {
            core_packet_free(g_queue_pop_head(&old));
        }
        ub_port_status(b->port, &st);
        g_assert_cmpuint(st.dll.rx_held[2] - st.dll.rx_pending[2], ==, held);
        b->hold = 0;
        while (!g_queue_is_empty(&b->held)) {
            core_packet_free(g_queue_pop_head(&b->held));
        }
        plug(a, false);
        g_assert_true(run_until(a, both_down, 60 * SECOND));
        plug(a, true);
        g_assert_true(run_until(a, both_up, 60 * SECOND));
        forget(a);
        goal = 100;
        g_assert_true(run_until(a, exchanged, 60 * SECOND));
        check_credits(a);
    }
    /* Disabled at one end, and enabled again. */
    ub_port_enable(b->port, now, false);
    g_assert_true(run_until(a, both_down, 60 * SECOND));
    ub_port_enable(b->port, now, true);
    g_assert_true(run_until(a, both_up, 60 * SECOND));
    forget(a);
    g_assert_true(run_until(a, exchanged, 60 * SECOND));
    check_credits(a);
    ub_port_stats(a->port, &stats);
    g_assert_cmpuint(stats.link_downs, ==, 7);
    g_assert_cmpuint(stats.dll_errors, ==, 0);
    g_assert_cmpuint(a->software + b->software, ==, 0);
    g_assert_false(a->close || b->close);
    end_free(a);
    end_free(b);
}

/* Packets that outlive their port: no space to give back to. */
static void test_orphans(void)
{
    End two[2], *a = &two[0], *b = &two[1];

    now = 1000;
    end_init(a, b, 0);
    end_init(b, a, 1);
    plug(a, true);
    ub_port_enable(a->port, now, true);
    ub_port_enable(b->port, now, true);
    g_assert_true(run_until(a, both_up, 60 * SECOND));
    b->hold = ~0u;
    goal = 5;
    run_until(a, exchanged, SECOND);
    run_until(a, never, SECOND / 100);
    g_assert_cmpuint(g_queue_get_length(&b->held), ==, 20);
    end_free(b); /* frees the port first */
    end_free(a);
}

static void test_config(void)
{
    UbPortConfig conf;

    ub_port_config_init(&conf);
    g_assert_null(ub_port_config_check(&conf));
    g_assert_cmpuint(conf.phy.rest_frames, ==, 4);
    g_assert_cmpuint(conf.dll_time_scale, ==, 1);
    g_assert_cmphex(conf.err_severity, ==, 0xf04fffff);
    g_assert_true(conf.dll.advertise && conf.dll.down_recovers);
    g_assert_cmpint(conf.dll.credit_timeout, ==, 0);
    g_assert_cmpuint(conf.dll.wish.retry_buf_depth, ==, 32768);
    g_assert_cmpuint(conf.dll.queue_limit, ==, 256 * 1024);
    conf.dll_time_scale = 0;
    g_assert_nonnull(ub_port_config_check(&conf));
    ub_port_config_init(&conf);
    conf.index = UB_SPACE_MAX_PORTS;
    g_assert_nonnull(ub_port_config_check(&conf));
    ub_port_config_init(&conf);
    conf.phy.rest_frames = UB_PHY_REST_MAX + 1;
    g_assert_nonnull(ub_port_config_check(&conf));
    ub_port_config_init(&conf);
    conf.dll.wait_timeout = 0;
    g_assert_nonnull(ub_port_config_check(&conf));
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/ub/port/back-to-back", test_back_to_back);
    g_test_add_func("/ub/port/orphans", test_orphans);
    g_test_add_func("/ub/port/config", test_config);
    return g_test_run();
}
