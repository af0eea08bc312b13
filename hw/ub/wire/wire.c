/*
 * The emulated wire of a UB link: records on a byte stream.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <glib.h>

#include "core/bytes.h"
#include "ub/wire.h"

static const uint8_t magic[4] = { 'U', 'B', 'L', 'W' };

struct UbWire {
    UbWireHello self, peer;
    UbWireOps ops;
    void *opaque;
    UbInject *inject;
    UbWireStats stats;
    bool connected;
    bool hello;       /* the peer's has come */
    bool failed;      /* a rule was broken: deaf until the next connection */
    uint8_t active;   /* lanes we drive, as last told */
    uint8_t rate;
    uint8_t sent_active; /* as the far end was told */
    uint8_t peer_active;
    GByteArray *out;
    size_t out_at;    /* bytes of `out` that were sent */
    GByteArray *in;   /* a record that is not complete yet */
    uint8_t *scratch; /* a RUN that faults are injected into */
    size_t scratch_size;
};

UbWire *ub_wire_new(const UbWireHello *self, const UbWireOps *ops,
                    void *opaque)
{
    UbWire *link = g_new0(UbWire, 1);

    link->self = *self;
    link->ops = *ops;
    link->opaque = opaque;
    link->inject = ub_inject_new();
    link->out = g_byte_array_new();
    link->in = g_byte_array_new();
    return link;
}

void ub_wire_free(UbWire *link)
{
    if (link) {
        ub_inject_free(link->inject);
        g_byte_array_free(link->out, TRUE);
        g_byte_array_free(link->in, TRUE);
        g_free(link->scratch);
        g_free(link);
    }
}

void ub_wire_set_guid(UbWire *link, const uint8_t guid[16])
{
    memcpy(link->self.guid, guid, sizeof(link->self.guid));
}

/* ---------------------------------------------------------------- sending */

/* The connection is of no use any more: deaf and mute until the next one. */
static void give_up(UbWire *link, const char *why, bool peer_error)
{
    link->failed = true;
    g_byte_array_set_size(link->out, 0);
    link->out_at = 0;
    if (link->ops.down) {
        link->ops.down(link->opaque, why, peer_error);
    }
}

/* Room for a record at the end of the queue; the body is the caller's.  NULL:
 * nobody is there to read it. */
static uint8_t *queue(UbWire *link, UbWireRecord type, uint8_t lanes,
                      size_t body)
{
    GByteArray *out = link->out;
    size_t at;
    uint8_t *p;

    if (!link->connected || link->failed) {
        return NULL;
    }
    if (out->len - link->out_at + UB_WIRE_HEADER + body > UB_WIRE_OUT_MAX) {
        link->stats.overflows++;
        give_up(link, "the peer does not read what is sent to it", true);
        return NULL;
    }
    if (link->out_at && link->out_at * 2 >= out->len) {
        g_byte_array_remove_range(out, 0, link->out_at);
        link->out_at = 0;
    }
    at = out->len;
    g_byte_array_set_size(out, at + UB_WIRE_HEADER + body);
    p = out->data + at;
    p[0] = type;
    p[1] = lanes;
    put_le16(p + 2, 0);
    put_le32(p + 4, body);
    return p + UB_WIRE_HEADER;
}

static void queue_lanes(UbWire *link)
{
    uint8_t *p = queue(link, UB_WIRE_LANES, 0, UB_WIRE_LANES_BODY);

    if (!p) {
        return;
    }
    link->sent_active = ub_inject_mask(link->inject, link->active);
    p[0] = link->sent_active;
    p[1] = link->rate;
    put_le16(p + 2, 0);
}

static void queue_hello(UbWire *link)
{
    uint8_t *p = queue(link, UB_WIRE_HELLO, 0, UB_WIRE_HELLO_BODY);

    if (!p) {
        return;
    }
    memcpy(p, magic, sizeof(magic));
    put_le16(p + 4, UB_WIRE_VERSION);
    p[6] = link->self.lanes;
    p[7] = link->self.phy_mode;
    put_le64(p + 8, link->self.session);
    memcpy(p + 16, link->self.guid, sizeof(link->self.guid));
    put_le16(p + 32, link->self.port);
    put_le16(p + 34, link->self.features);
    queue_lanes(link);
}

void ub_wire_connected(UbWire *link)
{
    ub_wire_disconnected(link);
    link->connected = true;
    link->stats.connections++;
    queue_hello(link);
}

void ub_wire_restart(UbWire *link)
{
    link->self.session++;
    queue_hello(link);
}

void ub_wire_disconnected(UbWire *link)
{
    link->connected = link->hello = link->failed = false;
    link->peer_active = link->sent_active = 0;
    g_byte_array_set_size(link->out, 0);
    link->out_at = 0;
    g_byte_array_set_size(link->in, 0);
    ub_inject_idle(link->inject, 0xff);
}

void ub_wire_bye(UbWire *link)
{
    queue(link, UB_WIRE_BYE, 0, 0);
}

bool ub_wire_is_up(const UbWire *link)
{
    return link->connected && link->hello && !link->failed;
}

const UbWireHello *ub_wire_peer(const UbWire *link)
{
    return link->hello ? &link->peer : NULL;
}

void ub_wire_lanes(UbWire *link, uint8_t active, unsigned rate)
{
    ub_inject_idle(link->inject, ~active | ~link->active);
    link->active = active;
    link->rate = rate;
    queue_lanes(link);
}

void ub_wire_cables(UbWire *link)
{
    if ((link->active != link->sent_active ||
         ub_inject_active(link->inject)) &&
        ub_inject_mask(link->inject, link->active) != link->sent_active) {
        queue_lanes(link); /* a cable was cut or mended */
    }
}

void ub_wire_run(UbWire *link, const UbLaneRun *run)
{
    const uint8_t *sym[UB_LANES];
    uint8_t *p;
    uint8_t mask = run->mask;
    size_t n = run->n;

    if (!ub_wire_is_up(link) || !n || !mask) {
        return;
    }
    for (unsigned i = 0; i < UB_LANES; i++) {
        sym[i] = mask & 1u << i ? run->lane[i] : NULL;
    }
    ub_wire_cables(link);
    if (ub_inject_active(link->inject)) {
        uint8_t *copy[UB_LANES] = { 0 };

        if (link->scratch_size < n * UB_LANES) {
            link->scratch_size = n * UB_LANES;
            link->scratch = g_realloc(link->scratch, link->scratch_size);
        }
        for (unsigned i = 0; i < UB_LANES; i++) {
            if (sym[i]) {
                copy[i] = memcpy(link->scratch + i * n, sym[i], n);
            }
        }
        ub_inject_apply(link->inject, mask, copy, n, sym);
        mask = ub_inject_mask(link->inject, mask);
        if (!mask) {
            return;
        }
    }
    for (size_t at = 0, most = UB_WIRE_BODY_MAX / UB_LANES; at < n;) {
        size_t piece = MIN(n - at, most);

        p = queue(link, UB_WIRE_RUN, mask,
                  piece * __builtin_popcount(mask));
        if (!p) {
            return;
        }
        for (unsigned i = 0; i < UB_LANES; i++) {
            if (sym[i]) {
                memcpy(p, sym[i] + at, piece);
                p += piece;
            }
        }
        at += piece;
        link->stats.runs_sent++;
    }
    link->stats.symbols_sent += n * __builtin_popcount(mask);
}

size_t ub_wire_queued(const UbWire *link, const uint8_t **data)
{
    size_t n = link->out->len - link->out_at;

    *data = n ? link->out->data + link->out_at : NULL;
    return n;
}

void ub_wire_sent(UbWire *link, size_t n)
{
    link->out_at += MIN(n, link->out->len - link->out_at);
    if (link->out_at == link->out->len) {
        g_byte_array_set_size(link->out, 0);
        link->out_at = 0;
    }
}

/* -------------------------------------------------------------- receiving */

/* A handler returns the rule that the record broke, or NULL. */
typedef const char *Handler(UbWire *link, uint8_t lanes, const uint8_t *body,
                            size_t len);

static bool width_ok(unsigned lanes)
{
    return lanes == 1 || lanes == 2 || lanes == 4 || lanes == 8;
}

static const char *rx_hello(UbWire *link, uint8_t lanes, const uint8_t *body,
                            size_t len)
{
    UbWireHello *peer = &link->peer;

    if (memcmp(body, magic, sizeof(magic))) {
        return "not the stream of a UB link";
    }
    if (get_le16(body + 4) != UB_WIRE_VERSION) {
        return "a version of the stream that is not spoken here";
    }
    if (!width_ok(body[6]) || body[7] < 1 || body[7] > 2) {
        return "HELLO with impossible lanes or PHY mode";
    }
    if (link->hello && get_le64(body + 8) == peer->session) {
        return "a second HELLO of the same session";
    }
    peer->lanes = body[6];
    peer->phy_mode = body[7];
    peer->session = get_le64(body + 8);
    memcpy(peer->guid, body + 16, sizeof(peer->guid));
    peer->port = get_le16(body + 32);
    peer->features = get_le16(body + 34) & UB_WIRE_FEATURES;
    link->hello = true;
    if (link->ops.up) {
        link->ops.up(link->opaque, peer);
    }
    return NULL;
}

static const char *rx_lanes(UbWire *link, uint8_t lanes, const uint8_t *body,
                            size_t len)
{
    if (body[1] > 9) {
        return "LANES with a Data Rate that does not exist";
    }
    link->peer_active = body[0];
    if (link->ops.lanes) {
        link->ops.lanes(link->opaque, body[0], body[1]);
    }
    return NULL;
}

static const char *rx_run(UbWire *link, uint8_t lanes, const uint8_t *body,
                          size_t len)
{
    const uint8_t *sym[UB_LANES];
    size_t n;

    if (!lanes || (lanes & ~link->peer_active)) {
        return "RUN on a lane in electrical idle";
    }
    if (!len || len % __builtin_popcount(lanes)) {
        return "RUN with lanes of different length";
    }
    n = len / __builtin_popcount(lanes);
    for (unsigned i = 0; i < UB_LANES; i++) {
        sym[i] = NULL;
        if (lanes & 1u << i) {
            sym[i] = body;
            body += n;
        }
    }
    link->stats.runs_received++;
    link->stats.symbols_received += len;
    if (link->ops.run) {
        link->ops.run(link->opaque, lanes, sym, n);
    }
    return NULL;
}

static const struct {
    Handler *handler;
    uint32_t min, max; /* length of the body */
} records[] = {
    [UB_WIRE_HELLO] = { rx_hello, UB_WIRE_HELLO_BODY, UB_WIRE_HELLO_BODY },
    [UB_WIRE_LANES] = { rx_lanes, UB_WIRE_LANES_BODY, UB_WIRE_LANES_BODY },
    [UB_WIRE_RUN] = { rx_run, 1, UB_WIRE_BODY_MAX },
    [UB_WIRE_BYE] = { NULL, 0, 0 },
};

static void bad_record(UbWire *link, const char *rule)
{
    link->stats.bad_records++;
    give_up(link, rule, true);
}

/* The rule that a header breaks, or NULL. */
static const char *check_header(const UbWire *link, const uint8_t *h)
{
    unsigned type = h[0];
    uint32_t len = get_le32(h + 4);

    if (type == 0 || type >= G_N_ELEMENTS(records)) {
        return "a record of unknown type";
    }
    if (get_le16(h + 2) || (h[1] && type != UB_WIRE_RUN)) {
        return "a record header with reserved bits set";
    }
    if (len < records[type].min || len > records[type].max) {
        return "a record of impossible length";
    }
    if (!link->hello && type != UB_WIRE_HELLO) {
        return "the first record is not HELLO";
    }
    return NULL;
}

/* One whole record. */
static void record(UbWire *link, const uint8_t *rec, size_t len)
{
    const char *broken;

    if (rec[0] == UB_WIRE_BYE) {
        give_up(link, "the peer said BYE", false);
        return;
    }
    broken = records[rec[0]].handler(link, rec[1], rec + UB_WIRE_HEADER,
                                     len - UB_WIRE_HEADER);
    if (broken) {
        bad_record(link, broken);
    }
}

/* Length of the record at `data`, 0 when more bytes are needed to tell or
 * when its header is bad (then the link has failed). */
static size_t record_length(UbWire *link, const uint8_t *data, size_t len)
{
    const char *broken;

    if (len < UB_WIRE_HEADER) {
        return 0;
    }
    broken = check_header(link, data);
    if (broken) {
        bad_record(link, broken);
        return 0;
    }
    return UB_WIRE_HEADER + get_le32(data + 4);
}

void ub_wire_receive(UbWire *link, const uint8_t *data, size_t len)
{
    GByteArray *in = link->in;

    while (len && link->connected && !link->failed) {
        size_t whole, take;

        if (!in->len) {
            /* Records that arrive whole are not copied. */
            whole = record_length(link, data, len);
            if (link->failed) {
                break;
            }
            if (whole && whole <= len) {
                record(link, data, whole);
                data += whole;
                len -= whole;
                continue;
            }
        }
        whole = in->len < UB_WIRE_HEADER
                    ? UB_WIRE_HEADER
                    : UB_WIRE_HEADER + get_le32(in->data + 4);
        take = MIN(whole - in->len, len);
        g_byte_array_append(in, data, take);
        data += take;
        len -= take;
        if (in->len == UB_WIRE_HEADER) {
            whole = record_length(link, in->data, in->len);
            if (link->failed) {
                break;
            }
        }
        if (in->len >= UB_WIRE_HEADER && in->len == whole) {
            record(link, in->data, in->len);
            g_byte_array_set_size(in, 0);
        }
    }
    if (link->failed) {
        g_byte_array_set_size(in, 0);
    }
}

UbInject *ub_wire_inject(UbWire *link)
{
    return link->inject;
}

const UbWireStats *ub_wire_stats(const UbWire *link)
{
    return &link->stats;
}
