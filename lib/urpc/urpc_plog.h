/*
 * The extension of URPC for storage logs (UB 2.0 appendix I): its heads, and a service
 * that moves data in every mode, so that a function sees data in and data out.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef URPC_PLOG_H
#define URPC_PLOG_H

#include "urpc.h"

/* ---- Client ------------------------------------------------------------------- */

typedef struct UrpcPlogArgs {
    UrpcMode mode;
    uint32_t channel;           /* that the server gave us */
    uint16_t queue;             /* ours; 0: none */
    uint32_t queue_token;
    bool early;                 /* Early RSP: no answer */
    bool unscheduled;           /* FC */
    bool redirect;              /* eid_index of elements counts */
    const void *user_head;      /* at most URPC_PLOG_USER_HEAD bytes; 0 behind them */
    uint32_t user_head_len;
    const void *data;           /* URPC_PUSH, URPC_PUSH_PULL */
    uint32_t len;
    const UrpcPlogSge *sge;     /* all of flag Read before all of Write */
    uint32_t count;
} UrpcPlogArgs;

/* Extension, user head, list and data: Inline Data of a request with Function Defined
 * URPC_PLOG.  Its bytes, or 0: they do not fit. */
uint32_t urpc_plog_build(UrpcOrder order, const UrpcPlogArgs *args, uint8_t *out,
                         uint32_t room);

/* A response; pointers are into it.  False: it is none. */
typedef struct UrpcPlogAnswer {
    UrpcPlogResponse head;
    const uint8_t *user_head, *data;
    uint32_t user_head_len, len;
} UrpcPlogAnswer;

bool urpc_plog_answer(const UrpcResult *result, UrpcPlogAnswer *out);
/* UrpcArgs.pieces of a call in mode URPC_WRITE_IMM. */
uint32_t urpc_plog_pieces(const UrpcResult *result);

/* ---- Server ------------------------------------------------------------------- */

/* A request taken apart; pointers are into it. */
typedef struct UrpcPlogMessage {
    UrpcPlogRequest head;
    const uint8_t *user_head, *sgl, *data;
    uint32_t user_head_len, len;
    uint64_t read, write;       /* bytes of the elements that are not skipped */
} UrpcPlogMessage;

/* URPC_OK, URPC_BAD_VERSION, URPC_BAD_HEAD. */
UrpcStatus urpc_plog_parse(UrpcOrder order, const uint8_t *p, uint32_t len,
                           UrpcPlogMessage *m);

typedef struct UrpcPlogCall UrpcPlogCall;

typedef struct UrpcPlogService {
    uint32_t channel;           /* that requests must name; 0: any */
    uint64_t reserve;           /* bytes that mode 1 may have pushed at a time */
    uint64_t reserved;          /* of them, in use */
    uint64_t pulled;            /* requests of mode 1 that found none, and were read */
    /* Executes a request: urpc_plog_reply() at once or later. */
    void (*run)(void *opaque, UrpcPlogCall *call, int64_t now);
    void *opaque;
} UrpcPlogService;

/* UrpcFunction.run of a function of Function Defined URPC_PLOG, with arguments by
 * reference, whose opaque is a UrpcPlogService. */
void urpc_plog_run(void *service, UrpcCall *call, int64_t now);

const uint8_t *urpc_plog_user_head(const UrpcPlogCall *pc, uint32_t *len);
const uint8_t *urpc_plog_in(const UrpcPlogCall *pc, uint32_t *len);
/* Where data out go in modes 3 to 5, and how many there may be.  NULL in others. */
uint8_t *urpc_plog_out(const UrpcPlogCall *pc, uint32_t *room);
UrpcMode urpc_plog_mode(const UrpcPlogCall *pc);
/* The end of a request: @len bytes are in urpc_plog_out(), or else at @data. */
void urpc_plog_reply(UrpcPlogCall *pc, int64_t now, UrpcStatus status,
                     const void *user_head, uint32_t user_head_len,
                     const void *data, uint32_t len);

#endif
