/*
 * Storage requests at a server: data in by Send or Read, data out by the Response, Write or
 * Write_with_immediate (UB 2.0 §I.1.3).
 *
 * SPDX-License-Identifier: MIT
 */
#include <stdlib.h>
#include <string.h>

#include "urpc_plog.h"

struct UrpcPlogCall {
    UrpcPlogService *service;
    UrpcCall *call;
    UrpcOrder order;
    UrpcPlogMessage m;
    uint8_t *memory;            /* data read, and behind them those to be written */
    const uint8_t *in;
    uint32_t in_len;
    uint64_t reserved;
    uint32_t next;              /* element */
    uint32_t moved;             /* bytes so far, this way */
    /* The answer, while data out are written. */
    UrpcStatus status;
    uint8_t *user_head;
    uint32_t user_head_len, out_len;
    uint16_t pieces;
};

/* ---- The end of a request ----------------------------------------------------- */

static void plog_end(UrpcPlogCall *pc)
{
    pc->service->reserved -= pc->reserved;
    free(pc->user_head);
    free(pc);
}

static void plog_fail(UrpcPlogCall *pc, int64_t now, UrpcStatus status)
{
    if (pc->m.head.early) {
        urpc_reply_none(pc->call, now);
    } else {
        urpc_reply(pc->call, now, status, NULL, 0);
    }
    plog_end(pc);
}

/* Extension, user head, and what goes with the Response itself. */
static void plog_answer(UrpcPlogCall *pc, int64_t now, const void *data,
                        uint32_t len)
{
    UrpcPlogResponse h = {
        .version = URPC_VERSION, .mode = pc->m.head.mode,
        .head_offset = URPC_PLOG_RESPONSE_SIZE,
        .data_offset = URPC_PLOG_RESPONSE_SIZE + pc->user_head_len,
        .dma_count = pc->pieces, .channel = pc->m.head.channel,
    };
    size_t size = (size_t)h.data_offset + len;
    uint8_t *out;

    if (pc->m.head.early) {
        urpc_reply_none(pc->call, now);
        plog_end(pc);
        return;
    }
    out = malloc(size);
    if (!out) {
        plog_fail(pc, now, URPC_NO_BUFFER);
        return;
    }
    urpc_put(pc->order, URPC_KIND_PLOG_RESPONSE, out, &h);
    if (pc->user_head_len) {
        memcpy(out + h.head_offset, pc->user_head, pc->user_head_len);
    }
    if (len) {
        memcpy(out + h.data_offset, data, len);
    }
    urpc_reply(pc->call, now, pc->status, out, size);
    free(out);
    plog_end(pc);
}

/* ---- Elements ----------------------------------------------------------------- */

/* The next element of @flag that is to be dealt with.  False: there is none. */
static bool element(UrpcPlogCall *pc, uint8_t flag, UrpcPlogSge *e)
{
    while (pc->next < pc->m.head.dma_count) {
        urpc_get(pc->order, URPC_KIND_PLOG_SGE,
                 pc->m.sgl + pc->next++ * URPC_PLOG_SGE_SIZE, e);
        if (e->sgl_type == URPC_SGL_DO && e->flag == flag && e->size) {
            return true;
        }
    }
    return false;
}

static UrpcRef ref_of(const UrpcPlogCall *pc, const UrpcPlogSge *e)
{
    return (UrpcRef) { e->address, e->token, e->token_id,
                       pc->m.head.redirect ? e->eid_index : 0 };
}

/* ---- Data in ------------------------------------------------------------------ */

static void plog_start(UrpcPlogCall *pc, int64_t now)
{
    urpc_args_done(pc->call, now);
    pc->service->run(pc->service->opaque, pc, now);
}

static void read_next(UrpcPlogCall *pc, int64_t now);

static void read_done(void *opaque, UrpcCall *call, int64_t now, bool good)
{
    UrpcPlogCall *pc = opaque;

    if (!good || urpc_call_late(call)) {
        plog_fail(pc, now, URPC_REFUSED);
        return;
    }
    read_next(pc, now);
}

static void read_next(UrpcPlogCall *pc, int64_t now)
{
    uint8_t *to = pc->memory + pc->moved;
    UrpcPlogSge e;
    UrpcRef ref;

    if (!element(pc, URPC_SGE_READ, &e)) {
        plog_start(pc, now);
        return;
    }
    ref = ref_of(pc, &e);
    pc->moved += e.size;
    if (!urpc_pull(pc->call, to, &ref, e.size, read_done, pc)) {
        plog_fail(pc, now, URPC_REFUSED);
    }
}

/* Mode 1: pushed data are taken while there is memory set aside for them. */
static bool pushed(UrpcPlogCall *pc)
{
    UrpcPlogService *s = pc->service;

    if (pc->m.head.mode == URPC_PUSH_PULL) {
        if (s->reserve - s->reserved < pc->m.len) {
            s->pulled++;
            return false;
        }
        pc->reserved = pc->m.len;
        s->reserved += pc->reserved;
    }
    return pc->m.head.mode <= URPC_PUSH_PULL;
}

static UrpcStatus plog_memory(UrpcPlogCall *pc, uint64_t len)
{
    if (!len) {
        return URPC_OK;
    }
    pc->memory = len > UINT32_MAX ? NULL : urpc_call_memory(pc->call, len);
    return pc->memory ? URPC_OK : URPC_NO_BUFFER;
}

void urpc_plog_run(void *service, UrpcCall *call, int64_t now)
{
    UrpcPlogCall *pc = calloc(1, sizeof(*pc));
    UrpcStatus status;
    const uint8_t *p;
    uint32_t len;

    if (!pc) {
        urpc_reply(call, now, URPC_NO_BUFFER, NULL, 0);
        return;
    }
    pc->service = service;
    pc->call = call;
    pc->order = urpc_config(urpc_call_end(call))->order;
    p = urpc_call_inline(call, &len);
    status = urpc_plog_parse(pc->order, p, len, &pc->m);
    if (status == URPC_OK && pc->service->channel &&
        pc->m.head.channel != pc->service->channel) {
        status = URPC_REFUSED;
    }
    if (status != URPC_OK) {
        pc->m.head.early = 0;
        plog_fail(pc, now, status);
        return;
    }
    if (pushed(pc)) {
        pc->in = pc->m.data;
        pc->in_len = pc->m.len;
        plog_start(pc, now);
        return;
    }
    status = plog_memory(pc, pc->m.read + pc->m.write);
    if (status != URPC_OK) {
        plog_fail(pc, now, status);
        return;
    }
    pc->in = pc->memory;
    pc->in_len = pc->m.read;
    read_next(pc, now);
}

/* ---- Execution ---------------------------------------------------------------- */

const uint8_t *urpc_plog_user_head(const UrpcPlogCall *pc, uint32_t *len)
{
    *len = pc->m.user_head_len;
    return pc->m.user_head;
}

const uint8_t *urpc_plog_in(const UrpcPlogCall *pc, uint32_t *len)
{
    *len = pc->in_len;
    return pc->in;
}

uint8_t *urpc_plog_out(const UrpcPlogCall *pc, uint32_t *room)
{
    *room = pc->m.write;
    return pc->m.write ? pc->memory + pc->m.read : NULL;
}

UrpcMode urpc_plog_mode(const UrpcPlogCall *pc)
{
    return pc->m.head.mode;
}

/* ---- Data out ----------------------------------------------------------------- */

static void write_next(UrpcPlogCall *pc, int64_t now);

static void write_done(void *opaque, UrpcCall *call, int64_t now, bool good)
{
    UrpcPlogCall *pc = opaque;

    if (!good || urpc_call_late(call)) {
        plog_fail(pc, now, URPC_REFUSED);
        return;
    }
    write_next(pc, now);
}

/* The last Write of mode 4 ends after the answer. */
static void write_ended(void *opaque, UrpcCall *call, int64_t now, bool good)
{
}

static void write_next(UrpcPlogCall *pc, int64_t now)
{
    bool with_imm = pc->m.head.mode == URPC_WRITE_IMM, last;
    const uint8_t *from = pc->memory + pc->m.read + pc->moved;
    uint64_t imm = urpc_call_request(pc->call)->id |
                   (uint64_t)pc->pieces << 32;
    UrpcPlogSge e;
    UrpcRef ref;

    if (pc->moved == pc->out_len || !element(pc, URPC_SGE_WRITE, &e)) {
        plog_answer(pc, now, NULL, 0);
        return;
    }
    ref = ref_of(pc, &e);
    if (e.size > pc->out_len - pc->moved) {
        e.size = pc->out_len - pc->moved;
    }
    pc->moved += e.size;
    last = with_imm && pc->moved == pc->out_len;
    if (!urpc_push(pc->call, from, &ref, e.size, with_imm ? &imm : NULL,
                   last ? write_ended : write_done, last ? NULL : pc)) {
        plog_fail(pc, now, URPC_REFUSED);
        return;
    }
    pc->pieces += with_imm;
    if (last) {
        plog_answer(pc, now, NULL, 0);
    }
}

void urpc_plog_reply(UrpcPlogCall *pc, int64_t now, UrpcStatus status,
                     const void *user_head, uint32_t user_head_len,
                     const void *data, uint32_t len)
{
    if (urpc_call_late(pc->call)) {
        plog_fail(pc, now, URPC_TIMEOUT);
        return;
    }
    pc->status = status;
    if (user_head_len && user_head_len <= UINT8_MAX) {
        pc->user_head = malloc(user_head_len);
        if (pc->user_head) {
            memcpy(pc->user_head, user_head, user_head_len);
            pc->user_head_len = user_head_len;
        }
    }
    if (pc->m.head.mode < URPC_WRITE) {
        plog_answer(pc, now, data, len);
        return;
    }
    pc->out_len = len < pc->m.write ? len : pc->m.write;
    pc->moved = 0;
    pc->next = 0;
    write_next(pc, now);
}
