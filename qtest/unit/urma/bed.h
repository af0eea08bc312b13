/*
 * The provider of liburma against a kernel and an engine that are this file: a
 * context with one of each object.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef URMA_BED_H
#define URMA_BED_H

#include <glib.h>

#include "core/bytes.h"
#include "ubc.h"

#define CQ_LOG2 4
#define SQ_LOG2 4
#define RQ_LOG2 3
#define RQ_STRIDE 1
#define ROW 0x12345
#define RING_BYTES 4096
#define HANDLES 64
#define ASYNC_FD 50

/* Kernel and engine: what they were told, and what they are to say. */
typedef struct Host {
    urma_provider_ops *registered;
    uint8_t *ring[HANDLES];         /* by handle; 0: doorbells */
    unsigned handles;
    int maps, closed;               /* rings that are mapped; the last descriptor */
    unsigned arrays;                /* among the attributes of commands */
    uint32_t ids;
    struct {
        unsigned offset;
        uint64_t value;
    } bell;
    unsigned bells;
    uint32_t record;                /* where JFRs have theirs; 0: none */
    uint32_t comp_events;           /* what DELETE_JFC says */
    uint64_t cookie;                /* of the JFC */
    uint32_t jfc_depth;             /* asked for by the last JFC */
    unsigned commands;
    struct urma_jetty_cmd jetty;    /* the last one made */
    struct urma_group_cmd group;
    struct urma_user_ctl_cmd control;
    uint64_t controlled;            /* handle */
    int control_errno;
    struct urma_async_cmd async[4]; /* what GET_ASYNC_EVENT says … */
    unsigned asyncs, async_at;      /* … of them; then EAGAIN */
    gint deleted;                   /* JFCs that the kernel was told to delete */
    bool gone;                      /* the device: nothing can be deleted */
    UbcCtx *ctx;                    /* whose lock … */
    unsigned calls, unlocked;       /* … these makings and deletions had, or not */
} Host;

extern Host host;

/* A context with everything. */
typedef struct Bed {
    urma_device dev;
    urma_context *ctx;
    const urma_ops *ops;
    urma_jfc *jfc;
    urma_jfr *jfr;
    urma_jetty *jetty;
    urma_target_jetty *target;
    urma_token_id *token;
    urma_target_seg *seg, *remote;
    uint8_t *cq, *sq, *rq;
    uint16_t cq_pi;
    uint8_t data[512];
} Bed;

void bed_open(Bed *b);
void bed_close(Bed *b);
/* What the engine would write. */
void complete(Bed *b, uint32_t w0, unsigned status, uint32_t queue,
              uint32_t index, uint32_t rq);
/* Elements of the bed's own segment, and of the peer's. */
urma_sge local(Bed *b, unsigned off, uint32_t len);
urma_sge remote(Bed *b, uint64_t addr, uint32_t len);
/* To the bed's target: what post_jetty_send_wr says. */
int post(Bed *b, urma_jfs_wr *wr);
/* The first word of an entry, and its destination. */
void word0_check(const uint8_t *e, uint32_t want);

#endif
