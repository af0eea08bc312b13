/*
 * Capture of a UB controller's ports in pcapng files: see ub/capture.h.
 *
 * The file is little-endian on every host.  It is buffered; who owns it says
 * when to flush.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <errno.h>
#include <glib.h>
#include <stdio.h>
#include <string.h>

#include "core/bytes.h"
#include "core/output.h"
#include "ub/capture.h"
#include "ub/dll_format.h"

/* pcapng block types and options. */
#define BLOCK_SECTION 0x0a0d0d0au
#define BLOCK_INTERFACE 1u
#define BLOCK_PACKET 6u
#define BYTE_ORDER_MAGIC 0x1a2b3c4du
#define OPT_END 0
#define OPT_SHB_USERAPPL 4
#define OPT_IF_NAME 2
#define OPT_IF_TSRESOL 9
#define OPT_EPB_FLAGS 2
#define EPB_INBOUND 1
#define EPB_OUTBOUND 2
#define EPB_HEAD 28
#define EPB_TAIL 16 /* flags option, end of options, length */

#define BUFFER (256 * 1024)

/* Where the stream of DLLDBs of one direction stands. */
typedef struct Place {
    bool unknown;
    uint8_t left; /* DLLDBs of the DLLDP under way that are still to come */
} Place;

struct UbCapture {
    FILE *file; /* NULL after an error */
    char *buffer;
    int error;
    unsigned ports;
    int64_t base;
    Place (*place)[2]; /* by port; received, sent */
};

static void fail(UbCapture *c)
{
    c->error = errno ? errno : EIO;
    fclose(c->file);
    c->file = NULL;
}

static void put(UbCapture *c, const void *data, size_t len)
{
    errno = 0;
    if (c->file && len && fwrite(data, 1, len, c->file) != len) {
        fail(c);
    }
}

static void append16(GByteArray *b, uint16_t v)
{
    uint8_t raw[2];

    put_le16(raw, v);
    g_byte_array_append(b, raw, sizeof(raw));
}

static void append32(GByteArray *b, uint32_t v)
{
    uint8_t raw[4];

    put_le32(raw, v);
    g_byte_array_append(b, raw, sizeof(raw));
}

static void append_option(GByteArray *b, uint16_t code, const void *value,
                          uint16_t len)
{
    const uint32_t zero = 0;

    append16(b, code);
    append16(b, len);
    g_byte_array_append(b, value, len);
    g_byte_array_append(b, (const uint8_t *)&zero, -len & 3);
}

/* End the options and put the block's length where it belongs. */
static void write_block(UbCapture *c, GByteArray *b)
{
    append16(b, OPT_END);
    append16(b, 0);
    append32(b, b->len + 4);
    put_le32(b->data + 4, b->len);
    put(c, b->data, b->len);
    g_byte_array_set_size(b, 0);
}

static void write_head(UbCapture *c, const char *name)
{
    static const char appl[] = "UnifiedBus controller model";
    const uint8_t nanoseconds = 9;
    GByteArray *b = g_byte_array_new();

    append32(b, BLOCK_SECTION);
    append32(b, 0);
    append32(b, BYTE_ORDER_MAGIC);
    append16(b, 1);
    append16(b, 0);
    append32(b, UINT32_MAX); /* length of the section: not said */
    append32(b, UINT32_MAX);
    append_option(b, OPT_SHB_USERAPPL, appl, sizeof(appl) - 1);
    write_block(c, b);
    for (unsigned i = 0; i < c->ports; i++) {
        g_autofree char *ifname = g_strdup_printf("%.200s port %u", name, i);

        append32(b, BLOCK_INTERFACE);
        append32(b, 0);
        append16(b, UB_CAPTURE_LINKTYPE);
        append16(b, 0);
        append32(b, 0); /* no limit of length */
        append_option(b, OPT_IF_NAME, ifname, strlen(ifname));
        append_option(b, OPT_IF_TSRESOL, &nanoseconds, 1);
        write_block(c, b);
    }
    g_byte_array_free(b, TRUE);
}

UbCapture *ub_capture_new(const char *path, const char *name, unsigned ports,
                          int64_t base)
{
    FILE *file = core_output_open(path);
    UbCapture *c;

    if (!file) {
        return NULL;
    }
    c = g_new0(UbCapture, 1);
    c->file = file;
    c->buffer = g_malloc(BUFFER);
    setvbuf(file, c->buffer, _IOFBF, BUFFER);
    c->ports = ports;
    c->base = base;
    c->place = g_malloc0_n(ports, sizeof(c->place[0]));
    write_head(c, name);
    return c;
}

void ub_capture_free(UbCapture *c)
{
    if (c) {
        if (c->file) {
            fclose(c->file);
        }
        g_free(c->buffer);
        g_free(c->place);
        g_free(c);
    }
}

int ub_capture_flush(UbCapture *c)
{
    int error;

    errno = 0;
    if (c->file && fflush(c->file)) {
        fail(c);
    }
    error = c->error;
    c->error = 0;
    return error;
}

typedef struct Record {
    int64_t now;
    UbCaptureKind kind;
    unsigned port, flags, vl, cfg, count;
    const uint8_t *data;
    size_t len;
} Record;

static void write_record(UbCapture *c, const Record *r)
{
    const uint64_t time = (uint64_t)(c->base + r->now);
    const uint32_t len = UB_CAPTURE_HEADER + r->len;
    const uint32_t pad = -len & 3;
    const uint32_t total = EPB_HEAD + len + pad + EPB_TAIL;
    uint8_t head[EPB_HEAD + UB_CAPTURE_HEADER], tail[3 + EPB_TAIL] = { 0 };
    uint8_t *pseudo = head + EPB_HEAD, *end = tail + pad;

    put_le32(head, BLOCK_PACKET);
    put_le32(head + 4, total);
    put_le32(head + 8, r->port);
    put_le32(head + 12, time >> 32);
    put_le32(head + 16, (uint32_t)time);
    put_le32(head + 20, len);
    put_le32(head + 24, len);
    pseudo[0] = UB_CAPTURE_VERSION;
    pseudo[1] = r->kind;
    pseudo[2] = r->flags;
    pseudo[3] = r->port;
    pseudo[4] = r->vl;
    pseudo[5] = r->cfg;
    put_be16(pseudo + 6, MIN(r->count, UINT16_MAX));
    put_le16(end, OPT_EPB_FLAGS);
    put_le16(end + 2, 4);
    put_le32(end + 4, r->flags & UB_CAPTURE_F_SENT ? EPB_OUTBOUND
                                                   : EPB_INBOUND);
    put_le32(end + 8, OPT_END);
    put_le32(end + 12, total);
    put(c, head, sizeof(head));
    put(c, r->data, r->len);
    put(c, tail, pad + EPB_TAIL);
}

void ub_capture_packet(UbCapture *c, int64_t now, unsigned port, bool sent,
                       unsigned cfg, unsigned vl, const uint8_t *data,
                       size_t len)
{
    const Record r = {
        .now = now, .kind = UB_CAPTURE_PACKET, .port = port,
        .flags = sent ? UB_CAPTURE_F_SENT : 0, .vl = vl, .cfg = cfg,
        .data = data, .len = len,
    };

    if (c->file && port < c->ports) {
        write_record(c, &r);
    }
}

/* Does a DLLDB start with LPH or LBH?  Nothing in it says so: it is counted
 * from the First Block on (§4.3.4.1). */
static unsigned dlldb_flags(Place *p, const uint8_t *block, unsigned flits)
{
    unsigned flags = 0;

    if (p->unknown) {
        /* A replay may begin inside a DLLDP.  Only its Last Block may be
         * short, so what follows a short one is a First Block. */
        p->unknown = flits == UB_BLOCK_FLITS;
        p->left = 0;
    } else if (p->left) {
        p->left--;
        flags = UB_CAPTURE_F_LATER;
    } else {
        UbPlength shape = ub_plength_unpack(ub_lph_plength(get_be32(block)));

        p->left = shape.blocks - 1;
        flags = UB_CAPTURE_F_FIRST;
    }
    return flags;
}

/* What a control block says about the DLLDBs that follow it. */
static void note_dllcb(Place *p, bool sent, unsigned type)
{
    if (type == UB_CB_INIT) {
        *p = (Place) { 0 }; /* a new link: nothing is under way */
    } else if (type == UB_CB_RETRY_ACK && sent) {
        p->unknown = true; /* received ones are dropped until in step again */
    }
}

static void one_block(UbCapture *c, int64_t now, unsigned port, bool sent,
                      const uint8_t *block, unsigned flits)
{
    Place *p = &c->place[port][sent];
    Record r = {
        .now = now, .kind = UB_CAPTURE_BLOCK, .port = port,
        .flags = sent ? UB_CAPTURE_F_SENT : 0, .cfg = ub_block_cfg(block),
        .count = flits, .data = block, .len = flits * UB_FLIT_SIZE,
    };

    if (r.cfg) {
        r.vl = ub_lph_vl((uint32_t)get_be16(block) << 16);
        r.flags |= dlldb_flags(p, block, flits);
    } else {
        note_dllcb(p, sent, ub_lch_type(block));
    }
    if (ub_crc30_check(block, flits, UB_CRC_COVER_INFO) ||
        ub_crc30_check(block, flits, UB_CRC_COVER_BYTES)) {
        r.flags |= UB_CAPTURE_F_BCRC;
    }
    write_record(c, &r);
}

void ub_capture_block(UbCapture *c, int64_t now, unsigned port, bool sent,
                      const uint8_t *block, unsigned flits)
{
    if (c->file && port < c->ports && flits >= 1 && flits <= UB_BLOCK_FLITS) {
        one_block(c, now, port, sent, block, flits);
    }
}

void ub_capture_training(UbCapture *c, int64_t now, unsigned port, bool sent,
                         unsigned lane, const uint8_t ltb[16], unsigned n)
{
    const Record r = {
        .now = now, .kind = UB_CAPTURE_TRAINING, .port = port,
        .flags = sent ? UB_CAPTURE_F_SENT : 0, .vl = lane, .count = n,
        .data = ltb, .len = 16,
    };

    if (c->file && port < c->ports) {
        write_record(c, &r);
    }
}
