/*
 * Queues of the UB transaction engine (UB 2.0 §8.2.2, §8.2.3): send, receive,
 * completion and event queues and the command queue, all in guest memory, in the
 * layouts of urma_hw.h.
 *
 * It stands on the transaction layer: entries of send queues become requests,
 * and what peers send takes receive entries.  The shell gives it memory,
 * interrupts and time.  Register and doorbell writes only note work;
 * ub_urma_run() does it.
 *
 * What a guest writes cannot stop the process or make memory grow beyond the
 * configured numbers of objects and their depths.  One thread at a time, but for
 * ub_urma_ring(); `now` is in nanoseconds.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef UB_URMA_H
#define UB_URMA_H

#include "core/image.h"
#include "ub/ta.h"
#include "ub/ummu.h"
#include "ub/urma_hw.h"

typedef struct UbUrma UbUrma;

/* Queues are numbered below: the last two RCIDs are those of requests that no queue of
 * software makes, interrupts of Entities and the window for loads and stores. */
#define UB_URMA_QUEUE_IDS (UB_TA_IDS - 2)

typedef enum UbUrmaTrace {
    UB_URMA_TRACE_COMMAND,  /* answered; a: UBQ_OP_*, b: UBQ_RESULT_* */
    UB_URMA_TRACE_STATE,    /* a queue's; a: the one before, b: UBQ_STATE_* */
    UB_URMA_TRACE_SEND,     /* an entry begins; a: index, b: opcode */
    UB_URMA_TRACE_RECEIVE,  /* a message takes an entry; a: index, b: whose entry */
    UB_URMA_TRACE_COMPLETE, /* of a queue; a: completion queue, b: UBQ_STATUS_* */
    UB_URMA_TRACE_EVENT,    /* of an object; a: event queue, b: UBQ_EVENT_* */
    UB_URMA_TRACES,
} UbUrmaTrace;

typedef struct UbUrmaOps {
    /* Guest memory; false where there is none.  Four or eight bytes, aligned to
     * their number, are written by one store, after all before them. */
    bool (*read)(void *opaque, uint64_t addr, void *buf, uint32_t len);
    bool (*write)(void *opaque, uint64_t addr, const void *buf, uint32_t len);
    /* As UbTaOps.exchange. */
    bool (*exchange)(void *opaque, uint64_t addr, void *was, const void *now,
                     uint32_t len, bool *same);
    /* Send the interrupt of an MSI-X entry, or raise what UBQ_USI() names. */
    void (*interrupt)(void *opaque, unsigned vector);
    /* ub_urma_run() has something to do. */
    void (*kick)(void *opaque);
    /* The guest broke the rule @what. */
    void (*guest_error)(void *opaque, const char *what);
    /* A command that is not of queues (channels, destinations, Entities ...): fills
     * in its answers and returns UBQ_RESULT_*; UBQ_RESULT_OPCODE: unknown. */
    unsigned (*command)(void *opaque, unsigned opcode, uint8_t cmd[UBQ_CMD]);
    /* Whether an Entity may access memory (BUS_EN); ub_urma_entity() tells that it is
     * another than before.  NULL: all may. */
    bool (*may_access)(void *opaque, unsigned entity);
    /* A Management packet, as UbTaOps.message.  May be NULL. */
    void (*message)(void *opaque, int64_t now, const UbTaMessage *m);
    /* Something happened to object @id, for a trace; what @a, @b are depends on
     * @what.  May be NULL. */
    void (*trace)(void *opaque, UbUrmaTrace what, uint32_t id, uint32_t a,
                  uint32_t b);
} UbUrmaOps;

typedef struct UbUrmaConfig {
    uint32_t queues;    /* at most; numbers are 20 bits, those below 1024 are well
                         * known (§8.2.5) and only made when asked for */
    uint32_t cqs;
    uint32_t groups;    /* of receive queues */
    uint32_t members;   /* of one group */
    uint32_t eqs;       /* 1 to UBQ_EQS */
    uint32_t segments;
    uint32_t requests;  /* send queue entries under way, of all queues: memory */
    uint32_t pages;     /* of doorbells */
    uint32_t entities;  /* numbers that objects may name */
    uint32_t vectors;   /* MSI-X entries */
    uint32_t usi;       /* vectors of each Entity's USIs, at most 32; 0: none */
    uint64_t seed;      /* of numbers that it chooses */
} UbUrmaConfig;

void ub_urma_config_init(UbUrmaConfig *cfg);
UbUrma *ub_urma_new(const UbUrmaConfig *cfg, const UbUrmaOps *ops,
                    void *opaque);
void ub_urma_free(UbUrma *u);
/* The transaction layer that its requests go to, which calls the functions of
 * ub_urma_ta_ops with this engine as opaque; before anything else. */
void ub_urma_bind(UbUrma *u, UbTa *ta);
/* Who decides on accesses while it is enabled, and translates for queues with
 * UBQ_Q_TRANSLATE; NULL: plain segments, no such queues. */
void ub_urma_set_ummu(UbUrma *u, UbUmmu *ummu);
/* gather to received of UbTaOps; the rest is NULL. */
extern const UbTaOps ub_urma_ta_ops;

/* No objects, registers 0.  The transaction layer is reset by its owner, before;
 * requests that it had are given up. */
void ub_urma_reset(UbUrma *u);

/* Registers of UBQ_EQ_WINDOW and UBQ_CMD_WINDOW by their offset in BAR0, 32 bits. */
uint32_t ub_urma_reg_read(const UbUrma *u, uint32_t offset);
void ub_urma_reg_write(UbUrma *u, uint32_t offset, uint32_t value);
/* A doorbell: @offset in @page. */
void ub_urma_bell(UbUrma *u, uint32_t page, uint32_t offset, uint64_t value);
/* The same from any thread, beside all other calls: it is left where
 * ub_urma_rung() takes it, as if it had been rung then.  Of several doorbells of
 * one queue the last counts. */
void ub_urma_ring(UbUrma *u, uint32_t page, uint32_t offset, uint64_t value);
void ub_urma_rung(UbUrma *u);

/* Commands, send queues, moderation: at most @budget entries.  When to call again,
 * or INT64_MAX. */
int64_t ub_urma_run(UbUrma *u, int64_t now, unsigned budget);

/* An event (UBQ_EVENT_*) for an event queue; lost, and counted, if it is not
 * enabled or full. */
void ub_urma_event(UbUrma *u, unsigned eq, unsigned event, uint32_t object,
                   unsigned entity, uint32_t data);

/* Whether Entity @entity may access memory is another than before: its queues go on,
 * or are found to rest when they have their turn. */
void ub_urma_entity(UbUrma *u, unsigned entity);
/* Whether a queue, group or segment is of Entity @entity. */
bool ub_urma_entity_used(UbUrma *u, unsigned entity);

/* An event of the device, for all event queues that ask for such. */
void ub_urma_device_event(UbUrma *u, unsigned event, uint32_t object,
                          unsigned entity, uint32_t data);

#define UB_URMA_COUNTERS(X) \
    X(COMMANDS, "commands") \
    X(COMMANDS_FAILED, "commands-failed") \
    X(SQES, "send-entries") \
    X(RQES, "receive-entries") \
    X(CQES, "completions") \
    X(CQES_BAD, "completions-in-error") \
    X(CQES_LOST, "completions-lost")    /* the queue was full or gone */ \
    X(EVENTS, "events") \
    X(EVENTS_LOST, "events-lost") \
    X(BELLS_BAD, "doorbells-refused") \
    X(RNR, "receive-queue-empty") \
    X(DENIED, "messages-denied") \
    X(FLUSHED, "entries-flushed") \
    X(SEGMENT_DENIED, "accesses-denied") \
    X(DMA_ERRORS, "dma-errors") \
    X(POISON_FULL, "poison-not-marked")  /* and so not put down */

typedef enum UbUrmaCounter {
#define UB_URMA_X(id, name) UB_URMA_##id,
    UB_URMA_COUNTERS(UB_URMA_X)
#undef UB_URMA_X
    UB_URMA_COUNTERS_NUM
} UbUrmaCounter;

const char *ub_urma_counter_name(unsigned counter);
uint64_t ub_urma_counter(const UbUrma *u, UbUrmaCounter counter);

/* What became of a queue's work since it was made, or came by migration. */
typedef struct UbUrmaQueueCounts {
    uint64_t done;      /* entries and messages that ended well */
    uint64_t failed;    /* in error, but for those flushed */
    uint64_t flushed;
    uint64_t denied;    /* messages whose sender or token was not the right one */
    uint64_t empty;     /* messages that found no receive entry */
} UbUrmaQueueCounts;

/* Views: a queue.  Counts are those of blocks and receive entries, free running;
 * depths are 0 where it has none of its own; numbers of others are UBQ_NEW where
 * there is none. */
typedef struct UbUrmaQueueInfo {
    uint32_t id;
    unsigned entity, page, eq;
    uint8_t state, mode;        /* UBQ_STATE_*; UbTaMode */
    uint32_t flags;             /* UBQ_Q_* */
    uint32_t sq_depth, rq_depth;
    uint16_t sq_pi, sq_ci, rq_pi, rq_ci;
    uint16_t rq_limit;
    bool rq_low;                /* fewer than the limit, which was said */
    uint32_t send_cq, recv_cq, rq_shared, group;
    uint32_t remote;            /* UBQ_Q_BOUND: queue of the only sender … */
    UbEid remote_eid;           /* … and its Entity */
    uint64_t record;            /* address, or 0 */
    uint8_t tries, patience;    /* UBQ_Q_TRIES, UBQ_Q_ACK_TIMEOUT */
    uint32_t requests;          /* that the transaction layer has */
    UbUrmaQueueCounts counts;
} UbUrmaQueueInfo;

/* A completion queue. */
typedef struct UbUrmaCqInfo {
    uint32_t id;
    unsigned page, eq;
    uint32_t depth;
    uint16_t pi, ci;
    bool error;                 /* full, or not in memory */
    uint8_t arm;                /* as in the doorbell: 0 not, 1 solicited, 2 next */
    uint16_t count;             /* moderation: entries; */
    uint32_t period;            /* microseconds */
    uint32_t users;             /* queues that name it, twice if for both ways */
    uint64_t bad;               /* completions in error */
} UbUrmaCqInfo;

/* A group of receive queues. */
typedef struct UbUrmaGroupInfo {
    uint32_t id;
    unsigned entity, eq;
    uint8_t policy;             /* UBQ_JG_* */
    uint32_t flags;             /* UBQ_Q_TOKEN */
    uint32_t live;              /* members that can receive */
    uint32_t n;
    const uint32_t *member;     /* numbers, as they joined; during the call */
} UbUrmaGroupInfo;

/* Call @fn for every queue, completion queue, group, by ascending number. */
void ub_urma_foreach(UbUrma *u,
                     void (*fn)(void *opaque, const UbUrmaQueueInfo *info),
                     void *opaque);
void ub_urma_foreach_cq(UbUrma *u,
                        void (*fn)(void *opaque, const UbUrmaCqInfo *info),
                        void *opaque);
void ub_urma_foreach_group(UbUrma *u,
                           void (*fn)(void *opaque,
                                      const UbUrmaGroupInfo *info),
                           void *opaque);

/*
 * Migration.  The order is: ub_urma_image(), then ub_ta_image() with
 * ub_urma_adopt() and this engine as opaque, then, loading, ub_urma_loaded(),
 * which returns NULL or what is wrong, and in @senders how many queues of the
 * transaction layer are the engine's.
 */
void ub_urma_image(UbUrma *u, CoreImage *im);
UbTaRequest *ub_urma_adopt(void *opaque, uint32_t rcid, uint64_t id);
const char *ub_urma_loaded(UbUrma *u, uint32_t *senders);

#endif
