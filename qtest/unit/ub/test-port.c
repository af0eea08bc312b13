/*
 * Two link ends back to back without a controller, in virtual time: what a
 * switch, or anything else with ports, builds on.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <glib.h>

#include "core/bytes.h"
#include "ub/port.h"

#define SECOND 1000000000ll
#define PIPE (128u << 10) /* what a byte stream takes at a time */

typedef struct End {
    UbPort *port;
    UbSpace *space;
    CorePacketPool *pool;
    struct End *peer;
    unsigned index;
    GByteArray *out;
    bool plugged, close;
    bool asked;        /* for a run, which has not been yet */
    int64_t next;
    GQueue held;       /* packets that nobody has time for */
    uint32_t hold;     /* VLs whose packets are */
    uint32_t sent[UB_VLS], got[UB_VLS];
    uint32_t full;     /* VLs that were found full and got no tx_space */
    unsigned spaces;
    unsigned events[16];
    unsigned software, peers;
    unsigned captured[2];
} End;

static int64_t now;

static uint32_t length_of(uint32_t seq)
{
    return 8 + seq * 61 % 4000;
}

static void check(End *e, CorePacket *pkt)
{
    const uint8_t *data = core_packet_data(pkt);
    unsigned vl = ub_meta(pkt)->vl;
    uint32_t seq = e->got[vl]++;

    g_assert_cmpuint(pkt->len, ==, length_of(seq));
    g_assert_cmpuint(get_le32(data), ==, seq);
    g_assert_cmpuint(get_le32(data + 4), ==, vl);
    g_assert_cmpuint(ub_meta(pkt)->lph_cfg, ==, 3 + vl % 2);
    g_assert_cmpuint(ub_meta(pkt)->rt, ==, vl % 4);
    for (uint32_t i = 8; i < pkt->len; i++) {
        g_assert_cmphex(data[i], ==, (uint8_t)(seq + i));
    }
}

static void rx(void *opaque, CorePacket *pkt)
{
    End *e = opaque;

    if (e->hold >> ub_meta(pkt)->vl & 1) {
        g_queue_push_tail(&e->held, pkt);
    } else {
        check(e, pkt);
        core_packet_free(pkt);
    }
}

static void let_go(End *e)
{
    CorePacket *pkt;

    e->hold = 0;
    while ((pkt = g_queue_pop_head(&e->held))) {
        check(e, pkt);
        core_packet_free(pkt);
    }
}

static void event(void *opaque, UbPortEvent ev)
{
    g_assert_cmpuint(ev, <, 16);
    ((End *)opaque)->events[ev]++;
}

static void tx_space(void *opaque, unsigned vl)
{
    End *e = opaque;

    e->full &= ~(1u << vl);
    e->spaces++;
}

static void kick(void *opaque)
{
    End *e = opaque;

    /* A call of the owner's event loop: one for a run is enough. */
    g_assert_false(e->asked);
    e->asked = true;
    e->next = now;
}

static size_t wire_send(void *opaque, const uint8_t *data, size_t len)
{
    End *e = opaque;

    len = MIN(len, PIPE - e->out->len);
    g_byte_array_append(e->out, data, len);
    return len;
}

static void wire_close(void *opaque)
{
    ((End *)opaque)->close = true;
}

static void rule(void *opaque, UbBreaker who, const char *text)
{
    End *e = opaque;

    if (who == UB_BROKEN_BY_SOFTWARE) {
        e->software++;
    } else {
        e->peers++;
    }
    g_test_message("broken: %s", text);
}

static void capture(void *opaque, bool sent, unsigned cfg, unsigned vl,
                    const uint8_t *data, size_t len)
{
    ((End *)opaque)->captured[sent]++;
}

static const UbCaptureOps capture_ops = { .packet = capture };

static const UbPortOps ops = {
    .rx = rx,
    .event = event,
    .tx_space = tx_space,
    .kick = kick,
    .wire_send = wire_send,
    .wire_close = wire_close,
    .rule = rule,
    .capture = &capture_ops,
};

/* Owners that are nothing to each other: the index of a port in a space of its
 * own says nothing about its peer's. */
static void end_init(End *e, End *peer, unsigned index)
{
    const char *why = NULL;
    UbPortConfig conf;

    memset(e, 0, sizeof(*e));
    e->peer = peer;
    e->index = index;
    e->next = INT64_MAX;
    e->out = g_byte_array_new();
    e->pool = core_packet_pool_new(UB_PACKET_HEADROOM, 0);
    e->space = ub_space_new(index + 1);
    g_queue_init(&e->held);
    ub_port_config_init(&conf);
    conf.index = index;
    conf.guid[15] = index;
    conf.session = conf.phy.lmsm.seed = 100 + index;
    /* A few packets of each VL. */
    for (unsigned vl = 0; vl < UB_VLS; vl++) {
        conf.dll.init_credit[vl] = 256;
    }
    conf.dll.queue_limit = 16384;
    e->port = ub_port_new(&conf, e->space, e->pool, &ops, e, &why);
    g_assert_cmpstr(why, ==, NULL);
    g_assert_nonnull(e->port);
}

static void end_free(End *e)
{
    ub_port_free(e->port);
    ub_space_free(e->space);
    let_go(e);
    g_assert_cmpuint(core_packet_pool_used(e->pool), ==, 0);
    core_packet_pool_free(e->pool);
    g_byte_array_unref(e->out);
}

static void plug(End *e, bool in)
{
    for (unsigned i = 0; i < 2; i++, e = e->peer) {
        e->plugged = in;
        g_byte_array_set_size(e->out, 0);
        if (in) {
            ub_port_wire_connected(e->port, now);
        } else {
            ub_port_wire_disconnected(e->port, now);
        }
    }
}

static bool turn(End *e)
{
    bool busy = e->next <= now;

    if (busy) {
        e->next = INT64_MAX;
        e->asked = false;
        e->next = MIN(e->next, ub_port_run(e->port, now));
    }
    if (e->plugged && e->out->len) {
        GByteArray *bytes = e->out;
        bool full = bytes->len == PIPE;

        e->out = g_byte_array_new();
        ub_port_wire_receive(e->peer->port, now, bytes->data, bytes->len);
        g_byte_array_unref(bytes);
        if (full) {
            ub_port_wire_room(e->port, now);
        }
        busy = true;
    }
    return busy;
}

static bool run_until(End *a, bool (*done)(End *a), int64_t limit)
{
    int64_t end = now + limit;

    while (!done(a)) {
        bool busy = turn(a);

        busy |= turn(a->peer);

        if (now >= end) {
            return false;
        }
        now = busy ? now + 100
                   : CLAMP(MIN(a->next, a->peer->next), now + 1, end);
    }
    return true;
}

static bool both_up(End *a)
{
    return ub_port_dll_up(a->port) && ub_port_dll_up(a->peer->port);
}

static bool both_down(End *a)
{
    return !ub_port_dll_up(a->port) && !ub_port_dll_up(a->peer->port);
}

static bool never(End *a)
{
    return false;
}

static CorePacket *packet(End *e, unsigned vl, uint32_t seq)
{
    CorePacket *pkt = core_packet_alloc(e->pool, length_of(seq));
    uint8_t *data = core_packet_data(pkt);

    put_le32(data, seq);
    put_le32(data + 4, vl);
    for (uint32_t i = 8; i < pkt->len; i++) {
        data[i] = seq + i;
    }
    *ub_meta(pkt) = (UbPktMeta) {
        .vl = vl, .lph_cfg = 3 + vl % 2, .rt = vl % 4,
    };
    return pkt;
}

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
    UbPortStatus st;
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
