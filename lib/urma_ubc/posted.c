/*
 * Provider of liburma: telling the engine of what was posted.
 *
 * A doorbell is an exit to the host.  For receive entries the engine looks into a
 * record in memory when a message needs one, and none is rung for.  Of a queue in
 * Error it looks no more: what is posted there, and what was posted when it went
 * there, is rung for.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "core/bytes.h"
#include "ubc.h"

static void bell(const urma_context *ctx, unsigned offset, const UbcRing *r)
{
    ubc_os_bell(((const UbcCtx *)ctx)->bells, offset,
                r->id | (uint64_t)r->pi << 32);
}

void ubc_sent_tell(const urma_context *ctx, const UbcRing *r)
{
    bell(ctx, UBQ_BELL_SQ, r);
}

void ubc_recv_tell(const urma_context *ctx, const UbcRing *r)
{
    if (r->record) {
        uint16_t pi;

        put_le16((uint8_t *)&pi, r->pi);
        /* What was written before, the entries, is there first. */
        __atomic_store_n((uint16_t *)(r->record + UBC_RECORD_RQ), pi,
                         __ATOMIC_RELEASE);
    }
    if (!r->record || r->stopped) {
        bell(ctx, UBQ_BELL_RQ, r);
    }
}

void ubc_recv_stop(const urma_context *ctx, UbcRing *r)
{
    ubc_ring_lock(r);
    r->stopped = true;
    if (r->record && r->pi != r->ci) {
        bell(ctx, UBQ_BELL_RQ, r);
    }
    ubc_ring_unlock(r);
}
