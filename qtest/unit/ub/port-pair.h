/*
 * Two link ends back to back without a controller, in virtual time.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef UNIT_UB_PORT_PAIR_H
#define UNIT_UB_PORT_PAIR_H

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
    const char *causes[64]; /* of what the LMSM did last, the first ones */
    unsigned moves;
} End;

static int64_t now;

static inline uint32_t length_of(uint32_t seq)
{
    return 8 + seq * 61 % 4000;
}

static inline void check(End *e, CorePacket *pkt)
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

static inline void rx(void *opaque, CorePacket *pkt)
{
    End *e = opaque;

    if (e->hold >> ub_meta(pkt)->vl & 1) {
        g_queue_push_tail(&e->held, pkt);
    } else {
        check(e, pkt);
        core_packet_free(pkt);
    }
}

static inline void let_go(End *e)
{
    CorePacket *pkt;

    e->hold = 0;
    while ((pkt = g_queue_pop_head(&e->held))) {
        check(e, pkt);
        core_packet_free(pkt);
    }
}

static inline void event(void *opaque, UbPortEvent ev)
{
    g_assert_cmpuint(ev, <, 16);
    ((End *)opaque)->events[ev]++;
}

static inline void tx_space(void *opaque, unsigned vl)
{
    End *e = opaque;

    e->full &= ~(1u << vl);
    e->spaces++;
}

static inline void kick(void *opaque)
{
    End *e = opaque;

    /* A call of the owner's event loop: one for a run is enough. */
    g_assert_false(e->asked);
    e->asked = true;
    e->next = now;
}

static inline size_t wire_send(void *opaque, const uint8_t *data, size_t len)
{
    End *e = opaque;

    len = MIN(len, PIPE - e->out->len);
    g_byte_array_append(e->out, data, len);
    return len;
}

static inline void wire_close(void *opaque)
{
    ((End *)opaque)->close = true;
}

static inline void rule(void *opaque, UbBreaker who, const char *text)
{
    End *e = opaque;

    if (who == UB_BROKEN_BY_SOFTWARE) {
        e->software++;
    } else {
        e->peers++;
    }
    g_test_message("broken: %s", text);
}

static inline void capture(void *opaque, bool sent, unsigned cfg, unsigned vl,
                    const uint8_t *data, size_t len)
{
    ((End *)opaque)->captured[sent]++;
}

static inline void transition(void *opaque, UbMachine machine, const char *from,
                              const char *to, const char *cause)
{
    End *e = opaque;

    if (machine == UB_MACHINE_LMSM && e->moves < G_N_ELEMENTS(e->causes)) {
        e->causes[e->moves++] = cause;
    }
}

/* Has the LMSM moved for @cause since e->moves was cleared? */
static inline bool moved_for(const End *e, const char *cause)
{
    for (unsigned i = 0; i < e->moves; i++) {
        if (!strcmp(e->causes[i], cause)) {
            return true;
        }
    }
    return false;
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
    .transition = transition,
    .capture = &capture_ops,
};

/* What a test changes of both ends' configuration before they are made. */
static void (*adjust)(UbPortConfig *conf);

/* Owners that are nothing to each other: the index of a port in a space of its
 * own says nothing about its peer's. */
static inline void end_init(End *e, End *peer, unsigned index)
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
    if (adjust) {
        adjust(&conf);
    }
    e->port = ub_port_new(&conf, e->space, e->pool, &ops, e, &why);
    g_assert_cmpstr(why, ==, NULL);
    g_assert_nonnull(e->port);
}

static inline void end_free(End *e)
{
    ub_port_free(e->port);
    ub_space_free(e->space);
    let_go(e);
    g_assert_cmpuint(core_packet_pool_used(e->pool), ==, 0);
    core_packet_pool_free(e->pool);
    g_byte_array_unref(e->out);
}

static inline void plug(End *e, bool in)
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

static inline bool turn(End *e)
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

static inline bool run_until(End *a, bool (*done)(End *a), int64_t limit)
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

static inline bool both_up(End *a)
{
    return ub_port_dll_up(a->port) && ub_port_dll_up(a->peer->port);
}

static inline bool both_down(End *a)
{
    return !ub_port_dll_up(a->port) && !ub_port_dll_up(a->peer->port);
}

static inline bool never(End *a)
{
    return false;
}

static inline CorePacket *packet(End *e, unsigned vl, uint32_t seq)
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

#endif
