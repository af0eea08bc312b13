/*
 * A link end over time: what is asked of it while it trains, resets and images
 * that carry or forget that, errors of its data link layer, a byte stream that
 * comes and goes.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "core/image.h"
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
    /* Only end a runs, its frames go nowhere. */
    for (int64_t end = now + SECOND; !has_dll_error(a) && now < end;) {
        if (a->next <= now) {
            a->asked = false;
            a->next = INT64_MAX;
            a->next = MIN(a->next, ub_port_run(a->port, now));
        }
        now = CLAMP(a->next, now + 1, end);
    }
    ub_port_stats(a->port, &stats);
    g_assert_cmpuint(stats.dll_errors, >, 0);
    g_assert_cmpuint(a->events[UB_PORT_DLL_ERROR], ==, stats.dll_errors);
    g_assert_cmpuint(a->peers, >=, stats.dll_errors);
    err = ub_port_take_errors(a->port);
    g_assert_cmphex(err.ce | err.nfue | err.fue, !=, 0);
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

    start(&two[0], &two[1]);
    link_up(a);
    for (unsigned i = 0; i < 2; i++) {
        uint32_t downs = two[i].events[UB_PORT_DOWN];

        cut_all(&two[i], true);
        g_assert_true(run_until(a, both_down, 60 * SECOND));
        g_assert_cmpuint(two[i].events[UB_PORT_DOWN], >, downs);
        cut_all(&two[i], false);
        g_assert_true(run_until(a, both_up, 60 * SECOND));
        run_until(a, never, 20 * SECOND);
        g_assert_true(both_up(a));
    }
    stop(a);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/ub/port/life/wish", test_wish);
    g_test_add_func("/ub/port/life/image-off", test_image_off);
    g_test_add_func("/ub/port/life/dll-error", test_dll_error);
    g_test_add_func("/ub/port/life/cut-at-rest", test_cut_at_rest);
    return g_test_run();
}
