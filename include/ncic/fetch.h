/*
 * Asynchronous descriptor fetch that keeps order (ETH 4.3.2.1.1).
 *
 * One table of operations per direction.  A request stores a queue number at
 * the start pointer; the read pointer asks the queue manager for the queue's
 * next descriptor; the dma pointer issues the read; the finish pointer hands
 * descriptors out, strictly in the order of requests, however the reads
 * complete.  finish <= dma <= read <= start, all free-running.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef NCIC_FETCH_H
#define NCIC_FETCH_H

#include <stdbool.h>
#include <stdint.h>
#include "ncic/ncic_hw.h"

#define NCIC_FETCH_SLOTS 64u            /* a power of two */

typedef enum NcicFetchStatus {
    NCIC_FETCH_WAIT,            /* no answer yet */
    NCIC_FETCH_OK,
    NCIC_FETCH_REFUSED,         /* the queue manager gave no descriptor */
    NCIC_FETCH_FAILED,          /* guest memory could not be read */
} NcicFetchStatus;

typedef struct NcicFetchOp {
    uint32_t tag;               /* request number: answers to old ones miss */
    uint16_t queue;
    uint16_t index;             /* free-running descriptor index */
    uint8_t status;             /* NcicFetchStatus */
    uint8_t desc[NCIC_DESC_SIZE];
} NcicFetchOp;

typedef struct NcicFetch NcicFetch;

typedef struct NcicFetchOps {
    /* Takes the next descriptor of @op->queue: sets @op->index and *@addr, or
     * returns false (refused). */
    bool (*dequeue)(void *opaque, NcicFetchOp *op, uint64_t *addr);
    /* Starts reading the NCIC_DESC_SIZE bytes at @addr; ncic_fetch_done() with
     * @op->tag follows, from inside this call or later. */
    void (*read)(void *opaque, const NcicFetchOp *op, uint64_t addr);
} NcicFetchOps;

struct NcicFetch {
    const NcicFetchOps *ops;
    void *opaque;
    uint32_t start, read, dma, finish;
    uint64_t addr[NCIC_FETCH_SLOTS];
    NcicFetchOp op[NCIC_FETCH_SLOTS];
};

void ncic_fetch_init(NcicFetch *f, const NcicFetchOps *ops, void *opaque);

/* Forgets every operation; answers still to come are ignored. */
void ncic_fetch_reset(NcicFetch *f);

/* Requests one descriptor of @queue; false when the table is full. */
bool ncic_fetch_request(NcicFetch *f, uint16_t queue);

/* Moves the read and dma pointers as far as they go. */
void ncic_fetch_run(NcicFetch *f);

/* The read of request @tag has ended with NCIC_DESC_SIZE bytes @desc, which are
 * copied, or with NULL if it failed; an unknown or repeated tag is ignored
 * (returns false). */
bool ncic_fetch_done(NcicFetch *f, uint32_t tag, const void *desc);

/* The oldest operation if it has been answered, else NULL. */
NcicFetchOp *ncic_fetch_peek(NcicFetch *f);

/* Frees the slot of the operation that ncic_fetch_peek() returned. */
void ncic_fetch_pop(NcicFetch *f);

/* Refuses every operation of @queue that has not been handed out; returns how
 * many of them had taken a descriptor: the newest ones that the queue gave. */
unsigned ncic_fetch_cancel(NcicFetch *f, uint16_t queue);

/* Operations in the table. */
static inline uint32_t ncic_fetch_count(const NcicFetch *f)
{
    return f->start - f->finish;
}

#endif
