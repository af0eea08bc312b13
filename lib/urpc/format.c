/*
 * Heads of URPC and PLOG from one table (UB 2.0 appendices H and I).
 *
 * SPDX-License-Identifier: MIT
 */
#include <string.h>

#include "urpc_format.h"

typedef struct Field {
    uint8_t kind, at, size;             /* of the member */
    uint8_t byte, bytes, shift, bits;   /* of the message */
} Field;

/* Structure and C type. */
#define TYPE_REQUEST UrpcRequest
#define TYPE_DMA UrpcDma
#define TYPE_ACK UrpcAck
#define TYPE_RESPONSE UrpcResponse
#define TYPE_PLOG_REQUEST UrpcPlogRequest
#define TYPE_PLOG_SGE UrpcPlogSge
#define TYPE_PLOG_RESPONSE UrpcPlogResponse

#define FIELD(kind, member, name, byte, bytes, shift, bits, show)               \
    { URPC_KIND_##kind, offsetof(TYPE_##kind, member),                          \
      sizeof(((TYPE_##kind *)0)->member), byte, bytes, shift, bits },
static const Field fields[] = { URPC_FIELDS(FIELD) };
#undef FIELD

#define FIELDS (sizeof(fields) / sizeof(fields[0]))

#define SIZE(name, bytes) bytes,
static const uint8_t sizes[] = { URPC_STRUCTURES(SIZE) };
#undef SIZE

/* ---- Numbers ------------------------------------------------------------------ */

void urpc_put_number(UrpcOrder order, uint8_t *p, unsigned bytes, uint64_t v)
{
    for (unsigned i = 0; i < bytes; i++, v >>= 8) {
        p[order == URPC_BIG ? bytes - 1 - i : i] = v;
    }
}

uint64_t urpc_get_number(UrpcOrder order, const uint8_t *p, unsigned bytes)
{
    uint64_t v = 0;

    for (unsigned i = bytes; i--;) {
        v = v << 8 | p[order == URPC_BIG ? bytes - 1 - i : i];
    }
    return v;
}

/* Only fields of whole bytes have a choice. */
static UrpcOrder order_of(UrpcOrder order, const Field *f)
{
    return f->bits == 8 * f->bytes ? order : URPC_LITTLE;
}

static uint64_t mask_of(const Field *f)
{
    return (UINT64_MAX >> (64 - f->bits)) << f->shift;
}

static uint64_t member_get(const Field *f, const void *s)
{
    const uint8_t *p = (const uint8_t *)s + f->at;

    switch (f->size) {
    case 1:
        return *p;
    case 2:
        return *(const uint16_t *)(const void *)p;
    case 4:
        return *(const uint32_t *)(const void *)p;
    default:
        return *(const uint64_t *)(const void *)p;
    }
}

static void member_set(const Field *f, void *s, uint64_t v)
{
    uint8_t *p = (uint8_t *)s + f->at;

    switch (f->size) {
    case 1:
        *p = v;
        break;
    case 2:
        *(uint16_t *)(void *)p = v;
        break;
    case 4:
        *(uint32_t *)(void *)p = v;
        break;
    default:
        *(uint64_t *)(void *)p = v;
        break;
    }
}

void urpc_put(UrpcOrder order, UrpcKind kind, uint8_t *p, const void *s)
{
    memset(p, 0, sizes[kind]);
    for (const Field *f = fields; f < fields + FIELDS; f++) {
        if (f->kind == kind) {
            UrpcOrder o = order_of(order, f);
            uint64_t v = urpc_get_number(o, p + f->byte, f->bytes);

            v |= member_get(f, s) << f->shift & mask_of(f);
            urpc_put_number(o, p + f->byte, f->bytes, v);
        }
    }
}

void urpc_get(UrpcOrder order, UrpcKind kind, const uint8_t *p, void *s)
{
    for (const Field *f = fields; f < fields + FIELDS; f++) {
        if (f->kind == kind) {
            uint64_t v = urpc_get_number(order_of(order, f), p + f->byte,
                                         f->bytes);

            member_set(f, s, (v & mask_of(f)) >> f->shift);
        }
    }
}

/* ---- Messages ----------------------------------------------------------------- */

/* Request Total Size is head and all pieces of the arguments: what is in the message
 * and what is to be fetched (table H-4). */
static int parse_request(UrpcOrder order, const uint8_t *p, size_t len,
                         UrpcMessage *m)
{
    UrpcRequest *r = &m->request;
    uint64_t total;
    size_t table;

    if (len < URPC_REQUEST_SIZE) {
        return URPC_NOT_A_MESSAGE;
    }
    urpc_get(order, URPC_KIND_REQUEST, p, r);
    if (r->version != URPC_VERSION) {
        return URPC_BAD_VERSION;
    }
    table = (size_t)r->dma_count * URPC_DMA_SIZE;
    if (len - URPC_REQUEST_SIZE < table) {
        return URPC_BAD_HEAD;
    }
    m->dma = p + URPC_REQUEST_SIZE;
    m->data = m->dma + table;
    m->len = len - URPC_REQUEST_SIZE - table;
    total = URPC_REQUEST_SIZE + (uint64_t)m->len;
    for (unsigned i = 0; i < r->dma_count; i++) {
        UrpcDma dma;

        urpc_message_dma(order, m, i, &dma);
        if (dma.address + dma.size < dma.address) {
            return URPC_BAD_HEAD;
        }
        total += dma.size;
    }
    return total == r->total ? URPC_OK : URPC_BAD_HEAD;
}

static int parse_ack(UrpcOrder order, const uint8_t *p, size_t len, UrpcMessage *m)
{
    if (len < URPC_ACK_SIZE) {
        return URPC_NOT_A_MESSAGE;
    }
    urpc_get(order, URPC_KIND_ACK, p, &m->ack);
    if (m->ack.version != URPC_VERSION) {
        return URPC_BAD_VERSION;
    }
    return m->ack.range && len == URPC_ACK_SIZE ? URPC_OK : URPC_BAD_HEAD;
}

/* Offsets go up and stay within the data. */
static bool offsets_good(UrpcOrder order, const UrpcMessage *m)
{
    uint32_t last = 0;

    for (unsigned i = 1; i < m->response.range; i++) {
        uint32_t at = urpc_get_number(order, m->offsets + 4 * (i - 1), 4);

        if (at < last || at > m->len) {
            return false;
        }
        last = at;
    }
    return true;
}

/* Response Total Size is head and Return Data; offsets stand between them, if there are
 * several calls and any data (table H-6). */
static int parse_response(UrpcOrder order, const uint8_t *p, size_t len,
                          UrpcMessage *m)
{
    UrpcResponse *r = &m->response;
    size_t offsets;

    if (len < URPC_RESPONSE_SIZE) {
        return URPC_NOT_A_MESSAGE;
    }
    urpc_get(order, URPC_KIND_RESPONSE, p, r);
    if (r->version != URPC_VERSION) {
        return URPC_BAD_VERSION;
    }
    if (!r->range || r->total < URPC_RESPONSE_SIZE) {
        return URPC_BAD_HEAD;
    }
    m->len = r->total - URPC_RESPONSE_SIZE;
    offsets = m->len ? 4 * (size_t)(r->range - 1) : 0;
    if (len != (uint64_t)r->total + offsets) {
        return URPC_BAD_HEAD;
    }
    m->offsets = offsets ? p + URPC_RESPONSE_SIZE : NULL;
    m->data = p + URPC_RESPONSE_SIZE + offsets;
    return !offsets || offsets_good(order, m) ? URPC_OK : URPC_BAD_HEAD;
}

int urpc_parse(UrpcOrder order, const void *bytes, size_t len, UrpcMessage *m)
{
    static int (*const parsers[])(UrpcOrder, const uint8_t *, size_t,
                                  UrpcMessage *) = {
        [URPC_REQUEST] = parse_request, [URPC_ACK] = parse_ack,
        [URPC_RESPONSE] = parse_response, [URPC_ACK_RESPONSE] = parse_response,
    };
    const uint8_t *p = bytes;

    memset(m, 0, sizeof(*m));
    if (!len || len > UINT32_MAX || (p[0] & 15) > URPC_ACK_RESPONSE) {
        return URPC_NOT_A_MESSAGE;
    }
    m->type = p[0] & 15;
    return parsers[m->type](order, p, len, m);
}

void urpc_message_dma(UrpcOrder order, const UrpcMessage *m, unsigned i,
                      UrpcDma *out)
{
    urpc_get(order, URPC_KIND_DMA, m->dma + (size_t)i * URPC_DMA_SIZE, out);
}

static uint32_t part_at(UrpcOrder order, const UrpcMessage *m, unsigned i)
{
    if (!i || !m->offsets) {
        return 0;
    }
    return i < m->response.range
               ? urpc_get_number(order, m->offsets + 4 * (size_t)(i - 1), 4)
               : m->len;
}

const uint8_t *urpc_message_part(UrpcOrder order, const UrpcMessage *m, unsigned i,
                                 uint32_t *len)
{
    uint32_t at = part_at(order, m, i);

    *len = m->offsets ? part_at(order, m, i + 1) - at : m->len;
    return m->data + at;
}
