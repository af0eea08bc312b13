/*
 * A UB controller whose peer does not read, or only talks, in virtual time:
 * what waits for the wire has a bound, and the wire works again afterwards.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <inttypes.h>
#include <glib.h>

#include "core/bytes.h"
#include "ub/ubc.h"

#define SECOND 1000000000ll
/* A port stops at 256 KiB; what it has begun by then comes on top. */
#define QUEUE_MOST (320u << 10)

typedef struct End {
    Ubc *ubc;
    int64_t next;
    unsigned closed, peer_errors;
    size_t offered;  /* bytes that waited at the last ubc_wire_room() */
    GByteArray *out; /* where they go, or NULL: nobody reads */
} End;

static int64_t now;

static bool no_dma_read(void *opaque, uint64_t addr, void *buf, uint32_t len)
{
    return false;
}

static bool no_dma_write(void *opaque, uint64_t addr, const void *buf,
                         uint32_t len)
{
    return false;
}

static void on_interrupt(void *opaque, unsigned vector)
{
}

static void on_kick(void *opaque)
{
    ((End *)opaque)->next = now;
}

static size_t on_wire_send(void *opaque, unsigned port, const uint8_t *data,
                           size_t len)
{
    End *e = opaque;

    e->offered = len;
    if (e->out) {
        g_byte_array_append(e->out, data, len);
    }
    return e->out ? len : 0;
}

static void on_wire_close(void *opaque, unsigned port)
{
    ((End *)opaque)->closed++;
}

static void on_guest_error(void *opaque, int port, const char *what)
{
}

static void on_peer_error(void *opaque, unsigned port, const char *what)
{
    ((End *)opaque)->peer_errors++;
}

static const UbcOps ops = {
    .dma_read = no_dma_read,
    .dma_write = no_dma_write,
    .interrupt = on_interrupt,
    .kick = on_kick,
    .wire_send = on_wire_send,
    .wire_close = on_wire_close,
    .guest_error = on_guest_error,
    .peer_error = on_peer_error,
};

/* A port that is enabled and has a peer at the end of its wire. */
static void end_start(End *e, uint64_t session)
{
    const char *why = NULL;
    UbcConfig conf;

    memset(e, 0, sizeof(*e));
    ubc_config_init(&conf);
    conf.phy.lmsm.time_scale = 10;
    conf.session = conf.phy.lmsm.seed = session;
    e->ubc = ubc_new(&conf, &ops, e, &why);
    g_assert_cmpstr(why, ==, NULL);
    ubc_write(e->ubc, UBC_PORT(0) + UBC_PORT_CTRL, UBC_PORT_CTRL_ENABLE, now);
    ubc_wire_connected(e->ubc, 0, now);
    e->next = now;
}

static size_t queued(End *e)
{
    int64_t next = e->next;

    e->offered = 0;
    ubc_wire_room(e->ubc, 0, now);
    e->next = next;
    return e->offered;
}

/* All that waits. */
static GByteArray *take(End *e)
{
    GByteArray *out = e->out = g_byte_array_new();

    ubc_wire_room(e->ubc, 0, now);
    e->out = NULL;
    return out;
}

static uint64_t counter(End *e, unsigned which)
{
    return ubc_read(e->ubc, UBC_PORT(0) + UBC_COUNTER(which), now);
}

static void run_due(End *e)
{
    for (unsigned i = 0; e->next <= now; i++) {
        int64_t next;

        g_assert_cmpuint(i, <, 10000);
        e->next = INT64_MAX;
        next = ubc_run(e->ubc, now);
        e->next = MIN(e->next, next);
    }
}

static void record(End *e, uint8_t type, const uint8_t *body, size_t len)
{
    uint8_t rec[64] = { type };

    put_le32(rec + 4, len);
    memcpy(rec + UB_WIRE_HEADER, body, len);
    ubc_wire_receive(e->ubc, 0, rec, UB_WIRE_HEADER + len, now);
}

static void hello(End *e, uint64_t session)
{
    uint8_t body[UB_WIRE_HELLO_BODY] = { 'U', 'B', 'L', 'W', 1, 0, 8, 2 };

    put_le64(body + 8, session);
    record(e, UB_WIRE_HELLO, body, sizeof(body));
}

static void lanes(End *e, uint8_t active)
{
    const uint8_t body[UB_WIRE_LANES_BODY] = { active, 0 };

    record(e, UB_WIRE_LANES, body, sizeof(body));
}

/* It says HELLO, drives its lanes and never reads, for 1000 s. */
static void test_deaf(void)
{
    int64_t end;
    size_t most = 0;
    End e;

    now = 1000;
    end = now + 1000 * SECOND;
    end_start(&e, 1);
    hello(&e, 7);
    lanes(&e, 0xff);
    while (now < end) {
        run_due(&e);
        most = MAX(most, queued(&e));
        g_assert_cmpuint(most, <, QUEUE_MOST);
        now = CLAMP(e.next, now + 1, end);
    }
    g_test_message("%zu bytes waited at most", most);
    g_assert_cmpuint(most, >, 128u << 10);
    g_assert_cmpuint(e.closed, ==, 0);
    /* It reads at last: training goes on. */
    g_byte_array_unref(take(&e));
    g_assert_cmpint(e.next, <=, now);
    end = now + 2 * SECOND;
    while (now < end && queued(&e) < 20000) {
        run_due(&e);
        now = CLAMP(e.next, now + 1, end);
    }
    g_assert_cmpuint(queued(&e), >=, 20000);
    ubc_free(e.ubc);
}

/* Bytes that a port says in a second to a peer that reads all, and says HELLO
 * with another session every microsecond or, without the flood, once. */
static uint64_t talk(bool flood, uint64_t *restarts)
{
    uint64_t out = 0;
    int64_t end;
    End e;

    now = 1000;
    end = now + SECOND;
    end_start(&e, 1);
    for (uint64_t session = 1; now < end; session++) {
        GByteArray *said;

        if (flood || session == 1) {
            hello(&e, session);
            lanes(&e, 0xff);
        }
        run_due(&e);
        said = take(&e);
        out += said->len;
        g_byte_array_unref(said);
        now += 1000;
    }
    g_assert_cmpuint(e.closed, ==, 0);
    *restarts = counter(&e, UBC_CNT_LINK_RESTARTS);
    ubc_free(e.ubc);
    return out;
}

static void test_hello_flood(void)
{
    uint64_t restarts, calm = talk(false, &restarts), flooded;

    g_assert_cmpuint(restarts, ==, 0);
    flooded = talk(true, &restarts);
    g_test_message("%" PRIu64 " bytes out, %" PRIu64 " with %" PRIu64
                   " restarts", calm, flooded, restarts);
    g_assert_cmpuint(restarts, <=, 101);
    g_assert_cmpuint(restarts, >=, 90);
    /* What a start of training says at first, so many times. */
    g_assert_cmpuint(flooded, <, calm + restarts * (128u << 10));
}

/* Restarts that came too soon are one, which is not forgotten. */
static void test_restart_waits(void)
{
    End e;

    now = 1000;
    end_start(&e, 1);
    hello(&e, 1);
    run_due(&e);
    g_assert_cmpuint(counter(&e, UBC_CNT_LINK_RESTARTS), ==, 0);
    hello(&e, 2);
    hello(&e, 3);
    hello(&e, 4);
    run_due(&e);
    g_assert_cmpuint(counter(&e, UBC_CNT_LINK_RESTARTS), ==, 1);
    g_assert_cmpint(e.next, <=, now + SECOND / 100);
    now += SECOND / 100 - 1;
    e.next = now;
    run_due(&e);
    g_assert_cmpuint(counter(&e, UBC_CNT_LINK_RESTARTS), ==, 1);
    now++;
    run_due(&e);
    g_assert_cmpuint(counter(&e, UBC_CNT_LINK_RESTARTS), ==, 2);
    now += SECOND / 50;
    e.next = now;
    run_due(&e);
    g_assert_cmpuint(counter(&e, UBC_CNT_LINK_RESTARTS), ==, 2);
    ubc_free(e.ubc);
}

/* A whole port trains with us, and nothing that we answer is read. */
static void test_talks_and_is_deaf(void)
{
    size_t most = 0;
    int64_t end;
    End e, peer;

    now = 1000;
    end = now + 200 * SECOND;
    end_start(&e, 1);
    end_start(&peer, 2);
    hello(&peer, 9);
    while (now < end) {
        GByteArray *said;

        run_due(&peer);
        said = take(&peer);
        ubc_wire_receive(e.ubc, 0, said->data, said->len, now);
        g_byte_array_unref(said);
        run_due(&e);
        most = MAX(most, queued(&e));
        now = CLAMP(MIN(e.next, peer.next), now + 1, end);
    }
    g_test_message("%zu bytes waited at most", most);
    g_assert_cmpuint(most, >, 128u << 10);
    g_assert_cmpuint(most, <=, UB_WIRE_OUT_MAX);
    ubc_free(e.ubc);
    ubc_free(peer.ubc);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/ub/ubc-deaf/deaf", test_deaf);
    g_test_add_func("/ub/ubc-deaf/hello-flood", test_hello_flood);
    g_test_add_func("/ub/ubc-deaf/restart-waits", test_restart_waits);
    g_test_add_func("/ub/ubc-deaf/talks-and-is-deaf", test_talks_and_is_deaf);
    return g_test_run();
}
