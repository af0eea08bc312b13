/*
 * Two services on URPC: echo, and logs that are appended to and read by the storage
 * extension (UB 2.0 appendix I).
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef URPC_SAMPLES_H
#define URPC_SAMPLES_H

#include "urpc_plog.h"

/* Methods of ours, of any unit. */
enum {
    SAMPLE_ECHO = 0x10,         /* Inline Data, and arguments by value behind them */
    SAMPLE_LOG_APPEND = 0x20, SAMPLE_LOG_READ = 0x21, SAMPLE_LOG_TELL = 0x22,
};

/* 0, or an errno value of urpc_functions_add(). */
int sample_echo_add(UrpcFunctions *fns, uint32_t unit);

/* ---- Logs ---------------------------------------------------------------------- */

/* What is in a user head, and in that of the answer; the least significant byte first. */
typedef struct LogHead {
    uint32_t log;               /* 0: number; answer: LogResult */
    uint32_t length;            /* 4: bytes to read; answer: bytes dealt with */
    uint64_t offset;            /* 8: append: where it must end, or LOG_ANYWHERE; read:
                                 * from where.  Answer: where the log ends */
} LogHead;

enum { LOG_HEAD_SIZE = 16, LOGS = 16 };
#define LOG_ANYWHERE UINT64_MAX

typedef enum LogResult {
    LOG_OK, LOG_UNKNOWN, LOG_FULL, LOG_MOVED, LOG_RANGE,
} LogResult;

typedef struct LogStore LogStore;

/* LOGS logs of at most @max bytes each; pushed requests of mode 1 may use @reserve. */
LogStore *log_store_new(uint32_t max, uint64_t reserve);
void log_store_free(LogStore *s);
/* Its functions in @fns; @s must live as long. */
int log_store_add(LogStore *s, UrpcFunctions *fns, uint32_t unit);
const UrpcPlogService *log_store_service(const LogStore *s);

void log_head_put(uint8_t *p, const LogHead *h);
void log_head_get(const uint8_t *p, LogHead *h);

#endif
