/*
 * NCIC Ethernet engine: asynchronous ordered descriptor fetch (ETH 4.3.2)
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <string.h>
#include "ncic/fetch.h"

static inline NcicFetchOp *slot(NcicFetch *f, uint32_t n)
{
    return &f->op[n & (NCIC_FETCH_SLOTS - 1)];
}

void ncic_fetch_init(NcicFetch *f, const NcicFetchOps *ops, void *opaque)
{
    memset(f, 0, sizeof(*f));
    f->ops = ops;
    f->opaque = opaque;
}

void ncic_fetch_reset(NcicFetch *f)
{
    /* Tags go on counting, so that a late answer finds no request. */
    f->finish = f->dma = f->read = f->start;
}

bool ncic_fetch_request(NcicFetch *f, uint16_t queue)
{
    NcicFetchOp *op;

    if (ncic_fetch_count(f) == NCIC_FETCH_SLOTS) {
        return false;
    }
    op = slot(f, f->start);
    op->tag = f->start;
    op->queue = queue;
    op->status = NCIC_FETCH_WAIT;
    f->start++;
    return true;
}

void ncic_fetch_run(NcicFetch *f)
{
    while (f->read != f->start) {
        NcicFetchOp *op = slot(f, f->read);
        uint64_t *addr = &f->addr[f->read & (NCIC_FETCH_SLOTS - 1)];

        if (op->status == NCIC_FETCH_WAIT &&
            !f->ops->dequeue(f->opaque, op, addr)) {
            op->status = NCIC_FETCH_REFUSED;
        }
        f->read++;
    }
    while (f->dma != f->read) {
        uint32_t n = f->dma++;
        NcicFetchOp *op = slot(f, n);

        if (op->status == NCIC_FETCH_WAIT) {
            f->ops->read(f->opaque, op, f->addr[n & (NCIC_FETCH_SLOTS - 1)]);
        }
    }
}

bool ncic_fetch_done(NcicFetch *f, uint32_t tag, const void *desc)
{
    NcicFetchOp *op = slot(f, tag);

    if (tag - f->finish >= f->dma - f->finish || op->tag != tag ||
        op->status != NCIC_FETCH_WAIT) {
        return false;
    }
    if (desc) {
        memcpy(op->desc, desc, sizeof(op->desc));
    }
    op->status = desc ? NCIC_FETCH_OK : NCIC_FETCH_FAILED;
    return true;
}

NcicFetchOp *ncic_fetch_peek(NcicFetch *f)
{
    NcicFetchOp *op = slot(f, f->finish);

    if (f->finish == f->dma || op->status == NCIC_FETCH_WAIT) {
        return NULL;
    }
    return op;
}

void ncic_fetch_pop(NcicFetch *f)
{
    f->finish++;
}

unsigned ncic_fetch_cancel(NcicFetch *f, uint16_t queue)
{
    unsigned taken = 0;

    for (uint32_t n = f->finish; n != f->start; n++) {
        NcicFetchOp *op = slot(f, n);

        if (op->queue != queue) {
            continue;
        }
        taken += n - f->finish < f->read - f->finish &&
                 op->status != NCIC_FETCH_REFUSED;
        op->status = NCIC_FETCH_REFUSED;
    }
    return taken;
}
