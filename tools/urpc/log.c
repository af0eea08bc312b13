/*
 * Logs that are appended to and read.  Which way data come and go is the client's choice of
 * mode; nothing here depends on it.
 *
 * SPDX-License-Identifier: MIT
 */
#include <stdlib.h>
#include <string.h>

#include "samples.h"

typedef struct Log {
    uint8_t *data;
    uint32_t len, room;
} Log;

struct LogStore {
    UrpcPlogService append, read, tell;
    uint32_t max;
    Log logs[LOGS];
};

void log_head_put(uint8_t *p, const LogHead *h)
{
    urpc_put_number(URPC_LITTLE, p, 4, h->log);
    urpc_put_number(URPC_LITTLE, p + 4, 4, h->length);
    urpc_put_number(URPC_LITTLE, p + 8, 8, h->offset);
}

void log_head_get(const uint8_t *p, LogHead *h)
{
    h->log = urpc_get_number(URPC_LITTLE, p, 4);
    h->length = urpc_get_number(URPC_LITTLE, p + 4, 4);
    h->offset = urpc_get_number(URPC_LITTLE, p + 8, 8);
}

/* ---- Requests ------------------------------------------------------------------ */

/* The log of a request and its head, or NULL: it is answered. */
static Log *request_log(LogStore *s, UrpcPlogCall *pc, int64_t now, LogHead *h)
{
    uint32_t len;
    const uint8_t *p = urpc_plog_user_head(pc, &len);
    LogHead no = { .log = LOG_UNKNOWN };
    uint8_t out[LOG_HEAD_SIZE];

    if (len < LOG_HEAD_SIZE) {
        urpc_plog_reply(pc, now, URPC_BAD_HEAD, NULL, 0, NULL, 0);
        return NULL;
    }
    log_head_get(p, h);
    if (h->log < LOGS) {
        return &s->logs[h->log];
    }
    log_head_put(out, &no);
    urpc_plog_reply(pc, now, URPC_OK, out, sizeof(out), NULL, 0);
    return NULL;
}

static void answer(UrpcPlogCall *pc, int64_t now, const Log *log,
                   LogResult result, const void *data, uint32_t len)
{
    LogHead h = { result, len, log->len };
    uint8_t out[LOG_HEAD_SIZE];

    log_head_put(out, &h);
    urpc_plog_reply(pc, now, URPC_OK, out, sizeof(out), data, data ? len : 0);
}

static LogResult log_append(LogStore *s, Log *log, const void *data, uint32_t len)
{
    if (len > s->max - log->len) {
        return LOG_FULL;
    }
    if (log->room - log->len < len) {
        uint32_t room = 2 * (log->len + len) < s->max ? 2 * (log->len + len)
                                                      : s->max;
        uint8_t *p = realloc(log->data, room);

        if (!p) {
            return LOG_FULL;
        }
        log->data = p;
        log->room = room;
    }
    if (len) {
        memcpy(log->data + log->len, data, len);
    }
    log->len += len;
    return LOG_OK;
}

static void run_append(void *opaque, UrpcPlogCall *pc, int64_t now)
{
    LogStore *s = opaque;
    LogResult result = LOG_MOVED;
    const uint8_t *p;
    uint32_t len;
    LogHead h;
    Log *log = request_log(s, pc, now, &h);

    if (!log) {
        return;
    }
    p = urpc_plog_in(pc, &len);
    if (h.offset == LOG_ANYWHERE || h.offset == log->len) {
        result = log_append(s, log, p, len);
    }
    answer(pc, now, log, result, NULL, result == LOG_OK ? len : 0);
}

static void run_read(void *opaque, UrpcPlogCall *pc, int64_t now)
{
    LogHead h;
    Log *log = request_log(opaque, pc, now, &h);
    uint32_t room;
    uint8_t *out;

    if (!log) {
        return;
    }
    if (h.offset > log->len || h.length > log->len - h.offset) {
        answer(pc, now, log, LOG_RANGE, NULL, 0);
        return;
    }
    out = urpc_plog_out(pc, &room);
    if (out && h.length <= room) {
        memcpy(out, log->data + h.offset, h.length);
    } else if (out) {
        answer(pc, now, log, LOG_RANGE, NULL, 0);
        return;
    }
    answer(pc, now, log, LOG_OK, h.length ? log->data + h.offset : NULL,
           h.length);
}

static void run_tell(void *opaque, UrpcPlogCall *pc, int64_t now)
{
    LogHead h;
    Log *log = request_log(opaque, pc, now, &h);

    if (log) {
        answer(pc, now, log, LOG_OK, NULL, 0);
    }
}

/* ---- The store ----------------------------------------------------------------- */

LogStore *log_store_new(uint32_t max, uint64_t reserve)
{
    LogStore *s = max < 1u << 30 ? calloc(1, sizeof(*s)) : NULL;

    if (s) {
        s->max = max;
        s->append = (UrpcPlogService) { .reserve = reserve, .run = run_append,
                                        .opaque = s };
        s->read = (UrpcPlogService) { .run = run_read, .opaque = s };
        s->tell = (UrpcPlogService) { .run = run_tell, .opaque = s };
    }
    return s;
}

void log_store_free(LogStore *s)
{
    for (unsigned i = 0; s && i < LOGS; i++) {
        free(s->logs[i].data);
    }
    free(s);
}

int log_store_add(LogStore *s, UrpcFunctions *fns, uint32_t unit)
{
    UrpcFunction f[] = {
        { URPC_FUNCTION(unit, 0, SAMPLE_LOG_APPEND), "log-append", URPC_PLOG,
          true, urpc_plog_run, &s->append },
        { URPC_FUNCTION(unit, 0, SAMPLE_LOG_READ), "log-read", URPC_PLOG, true,
          urpc_plog_run, &s->read },
        { URPC_FUNCTION(unit, 0, SAMPLE_LOG_TELL), "log-tell", URPC_PLOG, true,
          urpc_plog_run, &s->tell },
    };
    int wrong = 0;

    for (unsigned i = 0; !wrong && i < 3; i++) {
        wrong = urpc_functions_add(fns, &f[i]);
    }
    return wrong;
}

const UrpcPlogService *log_store_service(const LogStore *s)
{
    return &s->append;
}
