/*
 * Two UB controllers joined by their wires, in virtual time: a driver-like
 * guest on each side, and everything between the rings real.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef UBC_PAIR_H
#define UBC_PAIR_H

#include <glib.h>

#include "core/bytes.h"
#include "ub/ubc.h"

#define MEM (4u << 20)
#define TX_RING 0x1000
#define RX_RING 0x9000
#define RING_LOG 8
#define RING (1u << RING_LOG)
#define TX_BUF 0x100000
#define RX_BUF 0x200000
#define BUF 0x1000
#define PIPE (256u << 10)
#define SECOND 1000000000ll
#define STORE (128u << 10)

typedef struct Side {
    Ubc *ubc;
    struct Side *peer;
    uint8_t *mem;
    uint8_t store[STORE]; /* memory of an Entity */
    bool wire; /* the byte stream is there */
    bool close;
    GByteArray *out; /* the byte stream, up to PIPE of it */
    int64_t next;
    uint32_t interrupts[UBC_VECTORS];
    unsigned guest_errors, peer_errors;
    char trace[4096];
    uint16_t tx_head, tx_tail, rx_head, rx_tail;
    unsigned sent, received;
    unsigned max_chunk; /* bytes moved at a time, 0: all */
    GRand *host;        /* a busy host keeps it from running, now and then */
    int64_t stalled;    /* until then */
    int32_t max_stall;  /* ns */
} Side;

static int64_t now;

static inline bool dma_read(void *opaque, uint64_t addr, void *buf, uint32_t len)
{
    Side *s = opaque;

    if (addr > MEM || len > MEM - addr) {
        return false;
    }
    memcpy(buf, s->mem + addr, len);
    return true;
}

static inline bool dma_write(void *opaque, uint64_t addr, const void *buf,
                      uint32_t len)
{
    Side *s = opaque;

    if (addr > MEM || len > MEM - addr) {
        return false;
    }
    memcpy(s->mem + addr, buf, len);
    return true;
}

static inline void entity_memory(void *opaque, unsigned entity, uint64_t at,
                                 void *buf, uint32_t len, bool write)
{
    Side *s = opaque;

    g_assert_cmpuint(at, <, STORE);
    g_assert_cmpuint(len, <=, STORE - at);
    if (write) {
        memcpy(s->store + at, buf, len);
    } else {
        memcpy(buf, s->store + at, len);
    }
}

static inline void interrupt(void *opaque, unsigned vector)
{
    Side *s = opaque;

    g_assert_cmpuint(vector, <, UBC_VECTORS);
    s->interrupts[vector]++;
}

static inline void kick(void *opaque)
{
    ((Side *)opaque)->next = now;
}

static inline size_t wire_send(void *opaque, unsigned port, const uint8_t *data,
                        size_t len)
{
    Side *s = opaque;

    len = MIN(len, PIPE - s->out->len);
    g_byte_array_append(s->out, data, len);
    return len;
}

static inline void wire_close(void *opaque, unsigned port)
{
    ((Side *)opaque)->close = true;
}

static inline void guest_error(void *opaque, int port, const char *what)
{
    Side *s = opaque;

    s->guest_errors++;
    g_test_message("guest error: %s", what);
}

static inline void peer_error(void *opaque, unsigned port, const char *what)
{
    Side *s = opaque;

    s->peer_errors++;
    g_test_message("peer error: %s", what);
}

static inline void transition(void *opaque, unsigned port, UbMachine machine,
                       const char *from, const char *to, const char *cause)
{
    Side *s = opaque;

    if (machine == UB_MACHINE_LMSM || machine == UB_MACHINE_DLL) {
        g_test_message("%10.1f us side %c %s: %s -> %s (%s)", now / 1e3,
                       s < s->peer ? 'a' : 'b',
                       machine == UB_MACHINE_LMSM ? "lmsm" : "dll", from, to,
                       cause);
    }
}

static const UbcOps ops = {
    .dma_read = dma_read,
    .dma_write = dma_write,
    .memory = entity_memory,
    .interrupt = interrupt,
    .kick = kick,
    .wire_send = wire_send,
    .wire_close = wire_close,
    .guest_error = guest_error,
    .peer_error = peer_error,
    .transition = transition,
};

static inline uint32_t rd(Side *s, uint32_t reg)
{
    return ubc_read(s->ubc, reg, now);
}

static inline void wr(Side *s, uint32_t reg, uint32_t value)
{
    ubc_write(s->ubc, reg, value, now);
}

static inline uint32_t cfg(Side *s, uint32_t dw)
{
    return rd(s, UBC_CFG_WINDOW + 4 * dw);
}

static inline void connect(Side *a, Side *b)
{
    a->wire = b->wire = true;
    ubc_wire_connected(a->ubc, 0, now);
    ubc_wire_connected(b->ubc, 0, now);
    a->next = b->next = now;
}

static inline void cut(Side *a, Side *b)
{
    a->wire = b->wire = false;
    g_byte_array_set_size(a->out, 0);
    g_byte_array_set_size(b->out, 0);
    ubc_wire_disconnected(a->ubc, 0, now);
    ubc_wire_disconnected(b->ubc, 0, now);
}

static inline bool move(Side *from)
{
    size_t n = from->out->len;
    bool full = n == PIPE;
    uint8_t *copy;

    if (!n || !from->wire || from->peer->stalled > now) {
        return false;
    }
    if (from->max_chunk) {
        n = MIN(n, from->max_chunk);
    }
    copy = g_memdup2(from->out->data, n);
    g_byte_array_remove_range(from->out, 0, n);
    if (full) {
        ubc_wire_room(from->ubc, 0, now);
    }
    ubc_wire_receive(from->peer->ubc, 0, copy, n, now);
    g_free(copy);
    return true;
}

/* Whether the side has its turn: the scheduler of a host with more to do than
 * processors takes some milliseconds away every so often. */
static inline bool has_turn(Side *s)
{
    if (s->host && s->stalled <= now && !g_rand_int_range(s->host, 0, 60)) {
        s->stalled = now + g_rand_int_range(s->host, 0, s->max_stall);
    }
    return s->stalled <= now;
}

/* A kick meanwhile counts, too. */
static inline void side_run(Side *s)
{
    int64_t next;

    s->next = INT64_MAX;
    next = ubc_run(s->ubc, now);
    s->next = MIN(s->next, next);
}

/* Run both until `done` or until the time is over; true if done. */
static inline bool run_until(Side *a, Side *b, bool (*done)(Side *a, Side *b),
                      int64_t limit)
{
    int64_t end = now + limit;

    while (!done(a, b)) {
        bool busy = false;

        if (a->next <= now && has_turn(a)) {
            side_run(a);
            busy = true;
        }
        if (b->next <= now && has_turn(b)) {
            side_run(b);
            busy = true;
        }
        busy |= move(a);
        busy |= move(b);
        if (a->close || b->close) {
            a->close = b->close = false;
            cut(a, b);
            connect(a, b);
        }
        if (!busy) {
            int64_t next = MIN(MAX(a->next, a->stalled),
                               MAX(b->next, b->stalled));

            if (next >= end) {
                now = end;
                return done(a, b);
            }
            now = next;
        } else {
            now += 100; /* a host needs time as well */
        }
        if (now >= end) {
            return done(a, b);
        }
    }
    return true;
}

static inline bool both_up(Side *a, Side *b)
{
    const uint32_t up = UBC_PORT_STATUS_DLL_UP;

    return rd(a, UBC_PORT(0) + UBC_PORT_STATUS) & up &&
           rd(b, UBC_PORT(0) + UBC_PORT_STATUS) & up;
}

static inline bool both_down(Side *a, Side *b)
{
    return !(rd(a, UBC_PORT(0) + UBC_PORT_STATUS) |
             rd(b, UBC_PORT(0) + UBC_PORT_STATUS));
}

static inline bool never(Side *a, Side *b)
{
    return false;
}

static inline void side_init(Side *s, Side *peer, const UbcConfig *conf)
{
    const char *why = NULL;
    UbcConfig c = *conf;

    memset(s, 0, sizeof(*s));
    s->peer = peer;
    s->mem = g_malloc0(MEM);
    s->next = INT64_MAX;
    s->out = g_byte_array_new();
    c.guid[15] = s < peer ? 1 : 2;
    c.session = s < peer ? 0x1111 : 0x2222;
    c.phy.lmsm.seed = c.session;
    s->ubc = ubc_new(&c, &ops, s, &why);
    g_assert_cmpstr(why, ==, NULL);
    g_assert_nonnull(s->ubc);
    ubc_bus_master(s->ubc, true);
}

static inline void side_free(Side *s)
{
    ubc_free(s->ubc);
    g_byte_array_unref(s->out);
    g_free(s->mem);
}

/* As a driver: rings, buffers, events, port on. */
static inline void side_open(Side *s)
{
    const uint32_t rings[] = { UBC_RING_TX, UBC_RING_RX };
    const uint32_t base[] = { TX_RING, RX_RING };

    for (unsigned i = 0; i < 2; i++) {
        uint32_t r = UBC_PAIR(0) + rings[i];

        wr(s, r + UBC_RING_BASE_LO, base[i]);
        wr(s, r + UBC_RING_SIZE, RING_LOG);
        wr(s, r + UBC_RING_CTRL, UBC_RING_ENABLE);
    }
    s->tx_head = s->tx_tail = s->rx_head = s->rx_tail = 0;
    wr(s, UBC_PORT(0) + UBC_PORT_EVENT_MASK, ~0u);
    wr(s, UBC_PORT(0) + UBC_PORT_CTRL, UBC_PORT_CTRL_ENABLE);
}

static inline void give_rx(Side *s)
{
    while ((uint16_t)(s->rx_head - s->rx_tail) < RING) {
        unsigned i = s->rx_head % RING;
        uint8_t *d = s->mem + RX_RING + i * UBC_DESC_SIZE;

        put_le64(d, RX_BUF + i * BUF);
        put_le32(d + 8, BUF);
        put_le32(d + 12, 0);
        s->rx_head++;
    }
    wr(s, UBC_PAIR(0) + UBC_RING_RX + UBC_RING_HEAD, s->rx_head);
}

static inline unsigned length_of(unsigned seq)
{
    return 8 + seq * 37 % (BUF - 8);
}

/* Queue up to n packets that say their number. */
static inline void send(Side *s, unsigned n, unsigned cfg_code)
{
    while (n && (uint16_t)(s->tx_head - s->tx_tail) < RING) {
        unsigned i = s->tx_head % RING;
        uint8_t *d = s->mem + TX_RING + i * UBC_DESC_SIZE;
        uint8_t *p = s->mem + TX_BUF + i * BUF;
        unsigned len = length_of(s->sent);

        for (unsigned j = 0; j < len; j++) {
            p[j] = s->sent + j;
        }
        put_le32(p, s->sent);
        put_le64(d, TX_BUF + i * BUF);
        put_le32(d + 8, len);
        put_le16(d + 12, cfg_code);
        put_le16(d + 14, 0);
        s->tx_head++;
        s->sent++;
        n--;
    }
    wr(s, UBC_PAIR(0) + UBC_RING_TX + UBC_RING_HEAD, s->tx_head);
}

static inline void reap(Side *s)
{
    while (s->tx_tail != s->tx_head) {
        uint8_t *d = s->mem + TX_RING + s->tx_tail % RING * UBC_DESC_SIZE;

        if (!(get_le16(d + 14) & UBC_DESC_DONE)) {
            break;
        }
        g_assert_cmphex(get_le16(d + 14), ==, UBC_DESC_DONE);
        s->tx_tail++;
    }
    while (s->rx_tail != s->rx_head) {
        unsigned i = s->rx_tail % RING;
        uint8_t *d = s->mem + RX_RING + i * UBC_DESC_SIZE;
        uint8_t *p = s->mem + RX_BUF + i * BUF;
        unsigned len = get_le32(d + 8);

        if (!(get_le16(d + 14) & UBC_DESC_DONE)) {
            break;
        }
        g_assert_cmphex(get_le16(d + 14), ==, UBC_DESC_DONE);
        g_assert_cmpuint(get_le32(p), ==, s->received);
        g_assert_cmpuint(len, ==, length_of(s->received));
        for (unsigned j = 4; j < len; j++) {
            g_assert_cmpuint(p[j], ==, (uint8_t)(s->received + j));
        }
        s->received++;
        s->rx_tail++;
    }
}

static unsigned goal;

static inline bool exchanged(Side *a, Side *b)
{
    reap(a);
    reap(b);
    give_rx(a);
    give_rx(b);
    if (both_up(a, b)) {
        send(a, MIN(goal - a->sent, 50), 3);
        send(b, MIN(goal - b->sent, 50), 4);
    }
    return a->received == goal && b->received == goal;
}

static inline void pair(Side *a, Side *b, const UbcConfig *conf)
{
    now = 1000;
    side_init(a, b, conf);
    side_init(b, a, conf);
    connect(a, b);
    side_open(a);
    side_open(b);
}

static inline void unpair(Side *a, Side *b)
{
    side_free(a);
    side_free(b);
}

static Side two[2];

#endif
