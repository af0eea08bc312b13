/*
 * The UB controller: migration.
 *
 * What the guest sees migrates: registers, configuration space, rings,
 * counters, and packets that were acknowledged to the peer but wait for a
 * receive buffer.  The link itself does not: the byte stream is a new one, so
 * both ends train again.
 *
 * Layout: magic, version, ports, then the fields below in order, big-endian.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <glib.h>

#include "core/bytes.h"
#include "internal.h"

#define MAGIC 0x55424354u /* "UBCT" */
#define VERSION 1

/* Load and save are one description: `load` says which way it goes. */
typedef struct Stream {
    GByteArray *out;
    const uint8_t *in;
    size_t left;
    bool load, bad;
} Stream;

static void bytes(Stream *s, void *p, size_t n)
{
    if (!s->load) {
        g_byte_array_append(s->out, p, n);
    } else if (n > s->left) {
        s->bad = true;
        s->left = 0;
        memset(p, 0, n);
    } else {
        memcpy(p, s->in, n);
        s->in += n;
        s->left -= n;
    }
}

static void u32(Stream *s, uint32_t *v)
{
    uint8_t b[4];

    put_be32(b, *v);
    bytes(s, b, sizeof(b));
    *v = get_be32(b);
}

static void u64(Stream *s, uint64_t *v)
{
    uint8_t b[8];

    put_be64(b, *v);
    bytes(s, b, sizeof(b));
    *v = get_be64(b);
}

static void u16(Stream *s, uint16_t *v)
{
    uint32_t w = *v;

    u32(s, &w);
    *v = w;
}

static void flag(Stream *s, bool *v)
{
    uint32_t w = *v;

    u32(s, &w);
    *v = w;
}

static void ring(Stream *s, UbRing *r)
{
    u64(s, &r->base);
    u32(s, &r->size);
    flag(s, &r->enabled);
    flag(s, &r->error);
    flag(s, &r->armed);
    u16(s, &r->head);
    u16(s, &r->tail);
    u16(s, &r->arm);
    if (s->load) {
        /* The same rules that registers obey. */
        if (r->enabled && (r->size < 4 || r->size > 12 ||
                           r->base % UBC_DESC_SIZE ||
                           (uint16_t)(r->head - r->tail) > 1u << r->size)) {
            s->bad = true;
        }
        ub_ring_refetch(r);
    }
}

static void held(Stream *s, UbcEnd *e)
{
    uint32_t n = 0;

    for (CorePacket *k = e->held; k && !s->load; k = k->next) {
        n++;
    }
    u32(s, &n);
    if (!s->load) {
        for (CorePacket *k = e->held; k; k = k->next) {
            uint32_t head = ub_meta(k)->lph_cfg | ub_meta(k)->vl << 8 | ub_meta(k)->error << 16;

            u32(s, &head);
            u32(s, &k->len);
            bytes(s, core_packet_data(k), k->len);
        }
        return;
    }
    while (n-- && !s->bad) {
        uint32_t head = 0, len = 0;
        CorePacket *k;

        u32(s, &head);
        u32(s, &len);
        k = len <= s->left ? core_packet_alloc(e->ubc->pool, len) : NULL;
        if (!k) {
            s->bad = true;
            return;
        }
        ub_meta(k)->lph_cfg = head & 0xf;
        ub_meta(k)->vl = head >> 8 & 0xf;
        ub_meta(k)->error = head >> 16 & 1;
        bytes(s, core_packet_data(k), len);
        k->next = NULL;
        *e->held_tail = k;
        e->held_tail = &k->next;
    }
}

static void port(Stream *s, UbcEnd *e)
{
    uint32_t ctrl = ub_port_enabled(e->port) ? UBC_PORT_CTRL_ENABLE : 0;

    u32(s, &ctrl);
    if (s->load) {
        ub_port_enable(e->port, e->ubc->now, ctrl & UBC_PORT_CTRL_ENABLE);
    }
    u32(s, &e->event);
    u32(s, &e->event_mask);
    u32(s, &e->status);
    u32(s, &e->counter_hi);
    for (unsigned i = 0; i < UBC_CNT_NUM; i++) {
        u64(s, &e->counter[i]);
    }
    ring(s, &e->tx);
    ring(s, &e->rx);
    held(s, e);
}

static void all(Stream *s, Ubc *ubc)
{
    uint32_t *words = ub_space_state(ubc->space);

    bytes(s, ubc->conf.guid, sizeof(ubc->conf.guid));
    u32(s, &ubc->event);
    u32(s, &ubc->event_mask);
    u32(s, &ubc->cfg_addr);
    u32(s, &ubc->guest_errors);
    u32(s, &ubc->dma_errors);
    for (unsigned i = 0; i < ub_space_state_words(ubc->space); i++) {
        u32(s, &words[i]);
    }
    for (unsigned i = 0; i < ubc->ports && !s->bad; i++) {
        port(s, &ubc->end[i]);
    }
}

uint8_t *ubc_save(Ubc *ubc, int64_t now, size_t *len)
{
    Stream s = { .out = g_byte_array_new() };
    uint32_t head[] = { MAGIC, VERSION, ubc->ports };

    ubc->now = now;
    for (unsigned i = 0; i < G_N_ELEMENTS(head); i++) {
        u32(&s, &head[i]);
    }
    all(&s, ubc);
    *len = s.out->len;
    return g_byte_array_free(s.out, FALSE);
}

const char *ubc_load(Ubc *ubc, int64_t now, const uint8_t *data,
                        size_t len)
{
    Stream s = { .in = data, .left = len, .load = true };
    uint32_t head[3] = { 0 };

    for (unsigned i = 0; i < G_N_ELEMENTS(head); i++) {
        u32(&s, &head[i]);
    }
    if (head[0] != MAGIC || head[1] != VERSION) {
        return "not the state of a UB controller of this version";
    }
    if (head[2] != ubc->ports) {
        return "the state of a UB controller with another number of ports";
    }
    ubc_reset(ubc, now);
    all(&s, ubc);
    if (s.bad || s.left) {
        ubc_reset(ubc, now);
        return "the state of the UB controller is damaged";
    }
    for (unsigned i = 0; i < ubc->ports; i++) {
        UbcEnd *e = &ubc->end[i];

        /* Train anew with the registers' values. */
        ub_port_restart(e->port, now);
        ubc_end_link_event(e);
    }
    ubc_kick(ubc);
    return NULL;
}
