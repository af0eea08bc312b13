/*
 * A link end over time: what is asked of it while it trains, resets and images
 * that carry or forget that, errors of its data link layer, a byte stream that
 * comes and goes.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "core/image.h"
#include "internal.h"
#include "port-pair.h"
#include "ub/inject.h"

enum { PHY_CTL_1 = 0x100 + 0x90, RETRAIN_LINK = 31 };

static uint64_t retrains(End *e)
{
    UbPortStats stats;

    ub_port_stats(e->port, &stats);
    return stats.retrains;
}

static void retrain_link(End *e)
{
    uint32_t at = UB_CFG_PORT_BASE(e->index) + PHY_CTL_1;

    g_assert_true(ub_space_write(e->space, now, at,
                                 ub_space_read(e->space, at) |
                                 1u << RETRAIN_LINK, 0xf));
}

static void start(End *a, End *b)
{
    now = 1000;
    end_init(a, b, 0);
    end_init(b, a, 0);
}

static void stop(End *a)
{
    end_free(a->peer);
    end_free(a);
}

/* Retrains until everything has come to rest with the link up. */
static uint64_t link_up(End *a)
{
    plug(a, true);
    ub_port_enable(a->port, now, true);
    ub_port_enable(a->peer->port, now, true);
    g_assert_true(run_until(a, both_up, 60 * SECOND));
    run_until(a, never, 20 * SECOND);
    g_assert_true(both_up(a));
    return retrains(a);
}

/* ---- Retrain Link before there is a link --------------------------------------- */

static void image(End *from, End *to)
{
    CoreImage *im = core_image_save(now);
    size_t len;
    g_autofree uint8_t *data = NULL;

    ub_port_image(from->port, im);
    data = core_image_take(im, &len);
    core_image_free(im);
    im = core_image_load(data, len, now);
    ub_port_image(to->port, im);
    g_assert_cmpstr(core_image_done(im), ==, NULL);
    core_image_free(im);
}

/* How often a link retrains on its way up when it is asked to before. */
typedef enum Act { NOTHING, ASK, ASK_AND_RESTART, ASK_AND_MOVE, MOVE } Act;

static uint64_t retrains_after(Act act)
{
    End two[2], third, *a = &two[0], *b = &two[1];
    uint64_t n;

    start(a, b);
    ub_port_enable(a->port, now, true);
    if (act == ASK || act == ASK_AND_RESTART || act == ASK_AND_MOVE) {
        retrain_link(a);
    }
    if (act == ASK_AND_RESTART) {
        ub_port_restart(a->port, now);
    }
    if (act == ASK_AND_MOVE || act == MOVE) {
        end_init(&third, b, 0);
        image(a, &third);
        g_assert_true(ub_port_enabled(third.port));
        end_free(a);
        a = &third;
        b->peer = a;
    }
    n = link_up(a);
    stop(a);
    return n;
}

static void test_wish(void)
{
    uint64_t by_itself = retrains_after(NOTHING);

    g_assert_cmpuint(retrains_after(ASK), ==, by_itself + 1);
    /* A reset forgets it, an image does not. */
    g_assert_cmpuint(retrains_after(ASK_AND_RESTART), ==, by_itself);
    g_assert_cmpuint(retrains_after(MOVE), ==, by_itself);
    g_assert_cmpuint(retrains_after(ASK_AND_MOVE), ==, by_itself + 1);
}

/* An end that is off stays off in the image. */
static void test_image_off(void)
{
    End two[2], *a = &two[0], *b = &two[1];

    start(a, b);
    ub_port_enable(b->port, now, true);
    image(a, b);
    g_assert_false(ub_port_enabled(b->port));
    stop(a);
}

/* ---- Errors of the data link layer ----------------------------------------------- */

static bool has_dll_error(End *e)
{
    return e->events[UB_PORT_DLL_ERROR] > 0;
}

static bool asks_again(End *e)
{
    UbPortStatus st;

    ub_port_status(e->port, &st);
    return st.dll.retry_req != UB_RETRY_REQ_NORMAL;
}

static void damage(End *e, double ber)
{
    const UbLaneFault fault = { .ber = ber };

    for (unsigned lane = 0; lane < UB_LANES; lane++) {
        g_assert_true(ub_inject_lane(ub_port_inject(e->port), lane, &fault));
    }
}

/* Only end @a runs, its frames go nowhere. */
static void run_alone(End *a, bool (*done)(End *a))
{
    for (int64_t end = now + SECOND; !done(a);) {
        g_assert_cmpint(now, <, end);
        if (a->next <= now) {
            a->asked = false;
            a->next = INT64_MAX;
            a->next = MIN(a->next, ub_port_run(a->port, now));
        }
        now = CLAMP(a->next, now + 1, end);
    }
}

/* A peer that does not answer a Retry_Req_Set: counted, told, recorded, and over
 * when it does. */
static void test_dll_error(void)
{
    End two[2], *a = &two[0], *b = &two[1];
    UbPortStats stats;
    UbErrors err;
    CorePacket *pkt;

    start(a, b);
    link_up(a);
    ub_port_take_errors(a->port);
    g_assert_false(has_dll_error(a));
    damage(b, 0.05);
    pkt = packet(b, 0, 0);
    g_assert_cmpint(ub_port_send(b->port, now, pkt), ==, UB_PORT_SENT);
    g_assert_true(run_until(a, asks_again, SECOND));
    damage(b, 0);
    run_alone(a, has_dll_error);
    ub_port_stats(a->port, &stats);
    g_assert_cmpuint(stats.dll_errors, >, 0);
    g_assert_cmpuint(a->events[UB_PORT_DLL_ERROR], ==, stats.dll_errors);
    g_assert_cmpuint(a->peers, >=, stats.dll_errors);
    err = ub_port_take_errors(a->port);
    g_assert_cmphex(err.ce | err.nfue | err.fue, !=, 0);
    stop(a);
}

static void impatient(UbPortConfig *conf)
{
    conf->dll.credit_timeout = 10 * (SECOND / 1000);
}

/* Credits that do not come back are the end of the link; it begins anew by itself, as
 * often as it takes. */
static void test_dll_stops(void)
{
    End two[2], *a = &two[0], *b = &two[1];
    unsigned given_up = 0;
    UbPortStats stats;

    adjust = impatient;
    start(a, b);
    link_up(a);
    a->moves = 0;
    b->hold = ~0u;
    for (unsigned ms = 0; ms < 5; ms++) {
        while (ub_port_room(a->port, 0) == UB_PORT_SENT) {
            CorePacket *pkt = packet(a, 0, a->sent[0]++);

            g_assert_cmpint(ub_port_send(a->port, now, pkt), ==, UB_PORT_SENT);
        }
        run_until(a, has_dll_error, SECOND / 1000);
    }
    run_alone(a, has_dll_error);
    g_assert_false(ub_port_dll_up(a->port));
    /* The link is given up, and not again at each turn. */
    for (unsigned i = 0; i < 10; i++) {
        now += SECOND / 1000;
        a->asked = false;
        a->next = ub_port_run(a->port, now);
    }
    for (unsigned i = 0; i < a->moves; i++) {
        given_up += !strcmp(a->causes[i], "reset or link disable");
    }
    g_assert_cmpuint(given_up, ==, 1);
    let_go(b);
    g_assert_true(run_until(a, both_up, 60 * SECOND));
    run_until(a, never, SECOND);
    g_assert_true(both_up(a));
    ub_port_stats(a->port, &stats);
    g_assert_cmpuint(stats.link_downs, >, 0);
    adjust = NULL;
    stop(a);
}

/* What the owner found wrong with a packet is an error of the port. */
static void test_record(void)
{
    End two[2], *a = &two[0];
    UbErrors err;

    start(&two[0], &two[1]);
    ub_port_take_errors(a->port);
    ub_port_record(a->port, 6);
    g_assert_cmpuint(a->events[UB_PORT_ERROR], ==, 1);
    err = ub_port_take_errors(a->port);
    g_assert_cmphex(err.ce | err.nfue | err.fue, ==, 1 << 6);
    stop(a);
}

/* ---- Cables that are cut ----------------------------------------------------------- */

static void cut_all(End *e, bool cut)
{
    const UbLaneFault fault = { .cut = cut };

    for (unsigned lane = 0; lane < UB_LANES; lane++) {
        g_assert_true(ub_inject_lane(ub_port_inject(e->port), lane, &fault));
    }
}

/* A link at rest, where no end has anything to send: it would carry Null Blocks all the
 * time, so that both see at once that a cable is cut, whichever way. */
static void test_cut_at_rest(void)
{
    End two[2], *a = &two[0];
    uint32_t errors = 0;

    start(&two[0], &two[1]);
    link_up(a);
    for (unsigned i = 0; i < 2; i++) {
        uint32_t downs = two[i].events[UB_PORT_DOWN];
        UbErrors err;

        ub_port_take_errors(two[i].port);
        cut_all(&two[i], true);
        g_assert_true(run_until(a, both_down, 60 * SECOND));
        g_assert_cmpuint(two[i].events[UB_PORT_DOWN], >, downs);
        err = ub_port_take_errors(two[i].port);
        errors |= err.ce | err.nfue | err.fue;
        cut_all(&two[i], false);
        g_assert_true(run_until(a, both_up, 60 * SECOND));
        run_until(a, never, 20 * SECOND);
        g_assert_true(both_up(a));
    }
    g_assert_cmphex(errors, !=, 0);
    stop(a);
}

/* An end that is switched on when nothing else happens. */
static void test_enable_later(void)
{
    End two[2], *a = &two[0];

    start(&two[0], &two[1]);
    plug(a, true);
    run_until(a, never, 10 * SECOND);
    for (unsigned i = 0; i < 2; i++) {
        two[i].asked = false;
        ub_port_enable(two[i].port, now, true);
        g_assert_true(two[i].asked);
    }
    g_assert_true(run_until(a, both_up, 60 * SECOND));
    stop(a);
}

static void wide(UbPortConfig *conf)
{
    conf->dll.init_credit[0] = 16384;
    conf->dll.queue_limit = 1 << 20;
}

/* Turns of @a alone, with more to send than one of them does; how many of them
 * asked for another one at once. */
static unsigned send_alone(End *a)
{
    unsigned turns = 0;

    while (ub_port_room(a->port, 0) == UB_PORT_SENT) {
        CorePacket *pkt = packet(a, 0, a->sent[0]++);

        g_assert_cmpint(ub_port_send(a->port, now, pkt), ==, UB_PORT_SENT);
    }
    a->asked = false;
    while (ub_port_run(a->port, now) <= now) {
        a->asked = false;
        turns++;
        g_assert_cmpuint(turns, <, 100);
    }
    return turns;
}

/* A turn has an end, so that receiving has its own, and another one follows. */
static void test_turn(void)
{
    End two[2], *a = &two[0];

    adjust = wide;
    start(&two[0], &two[1]);
    link_up(a);
    g_assert_cmpuint(send_alone(a), >, 0);
    a->next = now;
    run_until(a, never, SECOND);
    g_assert_cmpuint(a->peer->got[0], ==, a->sent[0]);
    adjust = NULL;
    stop(a);
}

/* A byte stream that took no more is gone; the next one takes all. */
static void test_stream_full(void)
{
    End two[2], *a = &two[0];

    adjust = wide;
    start(&two[0], &two[1]);
    link_up(a);
    a->peer->hold = ~0u;
    send_alone(a);
    g_assert_cmpuint(a->out->len, ==, PIPE);
    plug(a, false);
    g_assert_true(run_until(a, both_down, 60 * SECOND));
    plug(a, true);
    g_assert_true(run_until(a, both_up, 60 * SECOND));
    adjust = NULL;
    stop(a);
}

/* A peer whose records are none is lost, and the owner hears why. */
static void test_bad_record(void)
{
    static const uint8_t none[64] = { 0xff, 0xff };
    End two[2], *a = &two[0];

    start(&two[0], &two[1]);
    link_up(a);
    g_assert_cmpuint(a->peers, ==, 0);
    ub_port_wire_receive(a->port, now, none, sizeof(none));
    g_assert_true(a->close);
    g_assert_cmpuint(a->peers, ==, 1);
    stop(a);
}

/* Room on a stream that stands still is worth a turn when there is much of it. */
static void test_room(void)
{
    End two[2], *a = &two[0];
    unsigned before = 0;

    adjust = wide;
    start(&two[0], &two[1]);
    link_up(a);
    send_alone(a);
    a->asked = false;
    for (;;) {
        g_assert_cmpuint(a->out->len, ==, PIPE);
        g_byte_array_set_size(a->out, 0);
        ub_port_wire_room(a->port, now);
        if (a->asked) {
            break;
        }
        before++;
        g_assert_cmpuint(before, <, 100);
    }
    g_assert_cmpuint(before, >, 0);
    g_assert_cmpuint(a->out->len, >, 0);
    adjust = NULL;
    stop(a);
}

/* Who an end is, as an image has it, is what its peer is told. */
static void test_guid(void)
{
    const uint8_t guid[16] = { 1, 2, 3, [15] = 0x77 };
    End two[2], *a = &two[0];
    UbPortStatus st;

    start(&two[0], &two[1]);
    ub_port_set_guid(a->port, guid);
    link_up(a);
    ub_port_status(a->peer->port, &st);
    g_assert_cmpmem(st.peer->guid, 16, guid, 16);
    stop(a);
}

static bool link_alone(End *a)
{
    return ub_port_link_up(a->port) && !ub_port_dll_up(a->port);
}

/* The owner is told of the link, and then of the layer above. */
static void test_told(void)
{
    End two[2], *a = &two[0];

    start(&two[0], &two[1]);
    plug(a, true);
    ub_port_enable(a->port, now, true);
    ub_port_enable(a->peer->port, now, true);
    g_assert_true(run_until(a, link_alone, 60 * SECOND));
    g_assert_cmpuint(a->events[UB_PORT_LINK], ==, 1);
    g_assert_true(run_until(a, both_up, 60 * SECOND));
    g_assert_cmpuint(a->events[UB_PORT_LINK], >=, 2);
    stop(a);
}

/* The layers agree on how blocks are made. */
static void test_mode(void)
{
    End two[2], *a = &two[0];

    start(&two[0], &two[1]);
    link_up(a);
    for (unsigned i = 0; i < 2; i++) {
        UbPortStatus st = { 0 };

        ub_port_status(two[i].port, &st);
        g_assert_true(st.connected && st.link_up && st.dll_up);
        g_assert_false(st.back_pressure);
        g_assert_cmpint(st.dll.mode, ==, st.phy.crc == UB_LTB_CRC30
                                         ? UB_MODE_CRC : UB_MODE_NON_CRC);
    }
    stop(a);
}

/* ---- Peers that are replaced ------------------------------------------------------- */

static uint64_t session;    /* of the ends that are made next */
static unsigned width[2];   /* of ports 0 and 1 */

static void by_turns(UbPortConfig *conf)
{
    conf->session = session;
    conf->phy.lmsm.max_width = width[conf->index];
    conf->phy.lmsm.target_tx = conf->phy.lmsm.target_rx = width[conf->index];
}

/* Another process takes the place of @a's peer; it comes to be in @b. */
static void replace(End *a, End *b)
{
    plug(a, false);
    end_free(a->peer);
    session++;
    end_init(b, a, 1);
    a->peer = b;
    plug(a, true);
    ub_port_enable(b->port, now, true);
}

static uint64_t restarts(End *e)
{
    UbPortStats stats;

    ub_port_stats(e->port, &stats);
    return stats.link_restarts;
}

static bool restarted(End *a)
{
    return restarts(a) > 0;
}

/* A port knows the lanes of who came anew as it knew those of the first one. */
static void test_replaced(void)
{
    End two[2], third, *a = &two[0];

    adjust = by_turns;
    session = 1;
    width[0] = 2;
    width[1] = 1;
    now = 1000;
    end_init(a, &two[1], 0);
    end_init(&two[1], a, 1);
    link_up(a);
    g_assert_true(moved_for(a, "same lanes found twice"));
    g_assert_false(moved_for(a, "receivers on all lanes"));
    replace(a, &third);
    g_assert_true(run_until(a, restarted, SECOND));
    a->moves = 0;
    g_assert_true(run_until(a, both_up, 60 * SECOND));
    g_assert_true(moved_for(a, "same lanes found twice"));
    g_assert_false(moved_for(a, "receivers on all lanes"));
    adjust = NULL;
    stop(a);
}

/* Who comes anew too soon is not listened to for a while, but for its lanes: when the
 * while is over, the port knows at once that they are not idle. */
static void test_replaced_soon(void)
{
    End two[2], third, fourth, *a = &two[0];

    adjust = by_turns;
    session = 1;
    width[0] = width[1] = 4;
    now = 1000;
    end_init(a, &two[1], 0);
    end_init(&two[1], a, 1);
    link_up(a);
    replace(a, &third);
    g_assert_true(run_until(a, restarted, SECOND));
    replace(a, &fourth);
    run_until(a, never, SECOND / 1000 * 5);
    g_assert_cmpuint(restarts(a), ==, 1);
    g_assert_cmphex(a->port->peer_active, !=, 0);
    now = a->port->restart_at;
    a->moves = 0;
    a->asked = false;
    a->next = ub_port_run(a->port, now);
    g_assert_cmpuint(restarts(a), ==, 2);
    g_assert_true(moved_for(a, "electrical idle exit"));
    g_assert_true(run_until(a, both_up, 60 * SECOND));
    adjust = NULL;
    stop(a);
}

/* A stream that is gone leaves no lane alive, be it the only one. */
static void test_unplugged(void)
{
    End two[2], *a = &two[0];
    uint64_t before;

    adjust = by_turns;
    width[0] = width[1] = 1;
    now = 1000;
    end_init(a, &two[1], 0);
    end_init(&two[1], a, 1);
    before = link_up(a);
    a->moves = 0;
    plug(a, false);
    a->asked = false;
    a->next = ub_port_run(a->port, now);
    g_assert_cmpuint(retrains(a), ==, before + 1);
    g_assert_true(moved_for(a, "electrical idle without EEI"));
    adjust = NULL;
    stop(a);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/ub/port/life/wish", test_wish);
    g_test_add_func("/ub/port/life/image-off", test_image_off);
    g_test_add_func("/ub/port/life/dll-error", test_dll_error);
    g_test_add_func("/ub/port/life/dll-stops", test_dll_stops);
    g_test_add_func("/ub/port/life/record", test_record);
    g_test_add_func("/ub/port/life/cut-at-rest", test_cut_at_rest);
    g_test_add_func("/ub/port/life/enable-later", test_enable_later);
    g_test_add_func("/ub/port/life/turn", test_turn);
    g_test_add_func("/ub/port/life/stream-full", test_stream_full);
    g_test_add_func("/ub/port/life/bad-record", test_bad_record);
    g_test_add_func("/ub/port/life/room", test_room);
    g_test_add_func("/ub/port/life/guid", test_guid);
    g_test_add_func("/ub/port/life/told", test_told);
    g_test_add_func("/ub/port/life/mode", test_mode);
    g_test_add_func("/ub/port/life/replaced", test_replaced);
    g_test_add_func("/ub/port/life/replaced-soon", test_replaced_soon);
    g_test_add_func("/ub/port/life/unplugged", test_unplugged);
    return g_test_run();
}
