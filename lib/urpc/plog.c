/*
 * Heads of the storage extension (UB 2.0 §I.1.2).  What the figures and tables leave open
 * is in docs/decisions/ub-urpc.rst.
 *
 * SPDX-License-Identifier: MIT
 */
#include <string.h>

#include "urpc_plog.h"

/* What each mode has beside the user head (§I.1.3). */
static const struct {
    bool data, read, write;
} modes[URPC_MODES] = {
    [URPC_PUSH] = { true, false, false },
    [URPC_PUSH_PULL] = { true, true, false },
    [URPC_READ] = { false, true, false },
    [URPC_WRITE] = { false, false, true },
    [URPC_WRITE_IMM] = { false, false, true },
    [URPC_READ_WRITE] = { false, true, true },
};

uint32_t urpc_plog_build(UrpcOrder order, const UrpcPlogArgs *args, uint8_t *out,
                         uint32_t room)
{
    UrpcPlogRequest h = {
        .version = URPC_VERSION, .mode = args->mode,
        .head_offset = URPC_PLOG_REQUEST_SIZE,
        .data_offset = URPC_PLOG_REQUEST_SIZE + URPC_PLOG_USER_HEAD,
        .dma_count = args->count, .queue = args->queue,
        .channel = args->channel, .redirect = args->redirect,
        .early = args->early, .flow = args->unscheduled,
        .queue_token = args->queue_token,
    };
    uint64_t size = h.data_offset + (uint64_t)args->count * URPC_PLOG_SGE_SIZE +
                    args->len;

    if (size > room || args->count > UINT16_MAX ||
        args->user_head_len > URPC_PLOG_USER_HEAD) {
        return 0;
    }
    urpc_put(order, URPC_KIND_PLOG_REQUEST, out, &h);
    out += h.head_offset;
    memset(out, 0, URPC_PLOG_USER_HEAD);
    if (args->user_head_len) {
        memcpy(out, args->user_head, args->user_head_len);
    }
    out += URPC_PLOG_USER_HEAD;
    for (uint32_t i = 0; i < args->count; i++, out += URPC_PLOG_SGE_SIZE) {
        urpc_put(order, URPC_KIND_PLOG_SGE, out, &args->sge[i]);
    }
    if (args->len) {
        memcpy(out, args->data, args->len);
    }
    return size;
}

/* Elements of known types; Reads in front of Writes (table I-1). */
static bool sgl_good(UrpcOrder order, UrpcPlogMessage *m)
{
    bool writes = false;

    for (unsigned i = 0; i < m->head.dma_count; i++) {
        UrpcPlogSge e;

        urpc_get(order, URPC_KIND_PLOG_SGE, m->sgl + i * URPC_PLOG_SGE_SIZE, &e);
        if ((e.sgl_type != URPC_SGL_DO && e.sgl_type != URPC_SGL_SKIP) ||
            e.flag > URPC_SGE_WRITE || (writes && e.flag == URPC_SGE_READ) ||
            e.address + e.size < e.address) {
            return false;
        }
        writes = e.flag == URPC_SGE_WRITE;
        if ((writes && !modes[m->head.mode].write) ||
            (!writes && !modes[m->head.mode].read)) {
            return false;
        }
        if (e.sgl_type == URPC_SGL_DO) {
            *(writes ? &m->write : &m->read) += e.size;
        }
    }
    return true;
}

UrpcStatus urpc_plog_parse(UrpcOrder order, const uint8_t *p, uint32_t len,
                           UrpcPlogMessage *m)
{
    UrpcPlogRequest *h = &m->head;
    uint32_t sgl;

    memset(m, 0, sizeof(*m));
    if (len < URPC_PLOG_REQUEST_SIZE) {
        return URPC_BAD_HEAD;
    }
    urpc_get(order, URPC_KIND_PLOG_REQUEST, p, h);
    if (h->version != URPC_VERSION) {
        return URPC_BAD_VERSION;
    }
    sgl = h->dma_count * URPC_PLOG_SGE_SIZE;
    if (h->mode >= URPC_MODES || h->flow > 1 ||
        h->head_offset < URPC_PLOG_REQUEST_SIZE ||
        h->data_offset < h->head_offset || h->data_offset > len ||
        len - h->data_offset < sgl) {
        return URPC_BAD_HEAD;
    }
    m->user_head = p + h->head_offset;
    m->user_head_len = h->data_offset - h->head_offset;
    m->sgl = p + h->data_offset;
    m->data = m->sgl + sgl;
    m->len = len - h->data_offset - sgl;
    if (!sgl_good(order, m) || (m->len && !modes[h->mode].data) ||
        (h->mode == URPC_PUSH_PULL && m->len != m->read)) {
        return URPC_BAD_HEAD;
    }
    return URPC_OK;
}

bool urpc_plog_answer(const UrpcResult *result, UrpcPlogAnswer *out)
{
    const UrpcPlogResponse *h = &out->head;
    const uint8_t *p = result->data;

    memset(out, 0, sizeof(*out));
    if (result->defined != URPC_PLOG || result->len < URPC_PLOG_RESPONSE_SIZE) {
        return false;
    }
    urpc_get(result->order, URPC_KIND_PLOG_RESPONSE, p, &out->head);
    if (h->version != URPC_VERSION || h->head_offset < URPC_PLOG_RESPONSE_SIZE ||
        h->data_offset < h->head_offset || h->data_offset > result->len) {
        return false;
    }
    out->user_head = p + h->head_offset;
    out->user_head_len = h->data_offset - h->head_offset;
    out->data = p + h->data_offset;
    out->len = result->len - h->data_offset;
    return true;
}

/* Response and data come apart from each other; the client waits for all of them. */
uint32_t urpc_plog_pieces(const UrpcResult *result)
{
    UrpcPlogAnswer a;

    return urpc_plog_answer(result, &a) && a.head.mode == URPC_WRITE_IMM
               ? a.head.dma_count : 0;
}
