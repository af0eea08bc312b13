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
 * configured numbers of objects and their depths.  One thread at a time; `now` is
 * in nanoseconds.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef UB_URMA_H
#define UB_URMA_H

#include "core/image.h"
#include "ub/ta.h"
#include "ub/urma_hw.h"

typedef struct UbUrma UbUrma;

typedef struct UbUrmaOps {
    /* Guest memory; false where there is none.  Four or eight bytes, aligned to
     * their number, are written by one store, after all before them. */
    bool (*read)(void *opaque, uint64_t addr, void *buf, uint32_t len);
    bool (*write)(void *opaque, uint64_t addr, const void *buf, uint32_t len);
    /* Send the interrupt of an MSI-X entry. */
    void (*interrupt)(void *opaque, unsigned vector);
    /* ub_urma_run() has something to do. */
    void (*kick)(void *opaque);
    /* The guest broke the rule @what. */
    void (*guest_error)(void *opaque, const char *what);
    /* A command that is not of queues (channels, destinations, Entities ...): fills
     * in its answers and returns UBQ_RESULT_*; UBQ_RESULT_OPCODE: unknown. */
    unsigned (*command)(void *opaque, unsigned opcode, uint8_t cmd[UBQ_CMD]);
    /* A Management packet, as UbTaOps.message.  May be NULL. */
    void (*message)(void *opaque, int64_t now, const UbTaMessage *m);
} UbUrmaOps;

typedef struct UbUrmaConfig {
    uint32_t queues;    /* at most; numbers are 20 bits, those below 1024 are well
                         * known (§8.2.5) and only made when asked for */
    uint32_t cqs;
    uint32_t eqs;       /* 1 to UBQ_EQS */
    uint32_t segments;
    uint32_t pages;     /* of doorbells */
    uint32_t entities;  /* numbers that objects may name */
    uint32_t vectors;   /* MSI-X entries */
    uint64_t seed;      /* of numbers that it chooses */
} UbUrmaConfig;

void ub_urma_config_init(UbUrmaConfig *cfg);
UbUrma *ub_urma_new(const UbUrmaConfig *cfg, const UbUrmaOps *ops,
                    void *opaque);
void ub_urma_free(UbUrma *u);
/* The transaction layer that its requests go to, which calls the functions of
 * ub_urma_ta_ops with this engine as opaque; before anything else. */
void ub_urma_bind(UbUrma *u, UbTa *ta);
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

/* Commands, send queues, moderation: at most @budget entries.  When to call again,
 * or INT64_MAX. */
int64_t ub_urma_run(UbUrma *u, int64_t now, unsigned budget);

/* An event (UBQ_EVENT_*) for an event queue; lost, and counted, if it is not
 * enabled or full. */
void ub_urma_event(UbUrma *u, unsigned eq, unsigned event, uint32_t object,
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
    X(SEGMENT_DENIED, "accesses-denied") \
    X(DMA_ERRORS, "dma-errors")

typedef enum UbUrmaCounter {
#define UB_URMA_X(id, name) UB_URMA_##id,
    UB_URMA_COUNTERS(UB_URMA_X)
#undef UB_URMA_X
    UB_URMA_COUNTERS_NUM
} UbUrmaCounter;

const char *ub_urma_counter_name(unsigned counter);
uint64_t ub_urma_counter(const UbUrma *u, UbUrmaCounter counter);

/*
 * Migration.  The order is: ub_urma_image(), then ub_ta_image() with
 * ub_urma_adopt() and this engine as opaque, then, loading, ub_urma_loaded(),
 * which returns NULL or what is wrong.
 */
void ub_urma_image(UbUrma *u, CoreImage *im);
UbTaRequest *ub_urma_adopt(void *opaque, uint32_t rcid, uint64_t id);
const char *ub_urma_loaded(UbUrma *u);

#endif
