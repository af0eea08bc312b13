/*
 * Virtual lanes: queues and the choice of the next packet (UB 2.0 §4.5).
 *
 * Inside a VL packets leave in the order they came.  Among VLs: strict ones
 * first, highest number first, the others by deficit round robin on flits, so
 * that weights hold whatever the packet sizes.  A VL without credit for its
 * first packet is passed over and blocks nobody.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "internal.h"

bool ub_dll_full(UbDll *d, unsigned vl)
{
    if (vl >= UB_VLS || d->vlq[vl].bytes < d->cfg.queue_limit) {
        return false;
    }
    d->v.refused |= 1u << vl;
    return true;
}

/* Behind the others of its VL. */
void vl_append(UbDll *d, CorePacket *pkt)
{
    VlQueue *q = &d->vlq[ub_meta(pkt)->vl];

    pkt->next = NULL;
    if (q->tail) {
        q->tail->next = pkt;
    } else {
        q->head = pkt;
    }
    q->tail = pkt;
    q->count++;
    q->bytes += pkt->len;
    d->queued |= 1u << ub_meta(pkt)->vl;
}

bool ub_dll_send(UbDll *d, CorePacket *pkt)
{
    UbDllVars *v = &d->v;
    UbPlength shape;

    if (v->state != UB_DLL_NORMAL || v->fatal || ub_meta(pkt)->vl >= UB_VLS ||
        !(v->agreed.vl_enable >> ub_meta(pkt)->vl & 1) ||
        !ub_lph_cfg_is_dlldp(ub_meta(pkt)->lph_cfg) ||
        !ub_plength_of(v->mode, pkt->len, &shape) ||
        dll_cells(d, ub_plength_flits(shape)) > credit_most(d, ub_meta(pkt)->vl) ||
        ub_dll_full(d, ub_meta(pkt)->vl)) {
        return false;
    }
    /* Those of other VLs may lack credits, and wait for them. */
    if (!(d->queued >> ub_meta(pkt)->vl & 1)) {
        dll_kick(d);
    }
    vl_append(d, pkt);
    return true;
}

static CorePacket *take(UbDll *d, unsigned vl)
{
    VlQueue *q = &d->vlq[vl];
    CorePacket *pkt = q->head;

    q->head = pkt->next;
    if (!q->head) {
        q->tail = NULL;
        d->queued &= ~(1u << vl);
    }
    pkt->next = NULL;
    q->count--;
    q->bytes -= pkt->len;
    if ((d->v.refused >> vl & 1) && q->bytes <= d->cfg.queue_limit / 2) {
        d->v.refused &= ~(1u << vl);
        if (d->ops.tx_space) {
            d->ops.tx_space(d->opaque, vl);
        }
    }
    return pkt;
}

static void drop(UbDll *d, CorePacket *pkt)
{
    d->stats.tx_dropped++;
    core_packet_free(pkt);
}

void vl_flush(UbDll *d)
{
    for (unsigned vl = 0; vl < UB_VLS; vl++) {
        VlQueue *q = &d->vlq[vl];

        while (q->head) {
            CorePacket *pkt = q->head;

            q->head = pkt->next;
            drop(d, pkt);
        }
        q->tail = NULL;
        q->count = q->bytes = 0;
    }
    d->queued = 0;
    if (d->tx_pkt) {
        drop(d, d->tx_pkt);
        d->tx_pkt = NULL;
    }
    d->v.next_vl = 0;
    memset(d->v.vl_deficit, 0, sizeof(d->v.vl_deficit));
    d->v.refused = 0;
}

/* The first packet of @vl if it may go out now; what never may is dropped. */
static CorePacket *ready(UbDll *d, unsigned vl, UbPlength *shape)
{
    CorePacket *pkt;

    while ((pkt = d->vlq[vl].head)) {
        if (ub_plength_of(d->v.mode, pkt->len, shape) &&
            (!ub_meta(pkt)->error || d->cfg.mark_err)) {
            unsigned cells = dll_cells(d, ub_plength_flits(*shape));

            if (credit_enough(d, vl, cells)) {
                return pkt;
            }
            if (cells <= credit_most(d, vl)) {
                return NULL;
            }
            /* The mode changed, and what fitted before does not now. */
        }
        drop(d, take(d, vl));
    }
    return NULL;
}

bool vl_starved(const UbDll *d, unsigned vl)
{
    const CorePacket *pkt = d->vlq[vl].head;
    UbPlength shape;

    return pkt && ub_plength_of(d->v.mode, pkt->len, &shape) &&
           !credit_enough(d, vl, dll_cells(d, ub_plength_flits(shape)));
}

static void start(UbDll *d, unsigned vl, UbPlength shape)
{
    UbDllVars *v = &d->v;
    CorePacket *pkt = take(d, vl);

    credit_take(d, vl, dll_cells(d, ub_plength_flits(shape)));
    d->tx_pkt = pkt;
    v->tx_index = 0;
    v->tx_shape = shape;
    v->tx_lph = ub_lph(vl, ub_meta(pkt)->lph_cfg, ub_meta(pkt)->rt, ub_plength_pack(shape));
    v->credit_at = NEVER;
}

/* Make tx_pkt the next packet.  False: nothing may go out. */
bool vl_next(UbDll *d)
{
    UbDllVars *v = &d->v;
    UbPlength shape;
    uint32_t strict;

    if (!d->queued) {
        v->credit_at = NEVER;
        return false;
    }
    for (strict = d->queued & d->cfg.vl_strict; strict;) {
        unsigned vl = 31 - __builtin_clz(strict);

        if (ready(d, vl, &shape)) {
            start(d, vl, shape);
            return true;
        }
        strict &= ~(1u << vl);
    }
    /* One more step than VLs: the current one may only lack deficit. */
    for (unsigned i = 0; i <= UB_VLS; i++) {
        unsigned vl = v->next_vl;

        if (!(d->cfg.vl_strict >> vl & 1) && (d->queued >> vl & 1) &&
            ready(d, vl, &shape)) {
            unsigned flits = ub_plength_flits(shape);

            if (v->vl_deficit[vl] >= flits) {
                v->vl_deficit[vl] -= flits;
                start(d, vl, shape);
                return true;
            }
        } else {
            v->vl_deficit[vl] = 0;
        }
        /* A turn is worth at least one packet of any length; what is left
         * of it, less than a packet, carries over. */
        vl = v->next_vl = (vl + 1) % UB_VLS;
        v->vl_deficit[vl] += UB_DLLDP_FLITS * MAX(1u, d->cfg.vl_weight[vl]);
    }
    if (d->queued) {
        d->stats.tx_blocked_credit++;
        if (v->credit_at == NEVER && d->cfg.credit_timeout) {
            v->credit_at = d->now + d->cfg.credit_timeout;
        }
    }
    return false;
}

/* No block of tx_pkt was built yet: back to the head of its queue. */
void vl_undo(UbDll *d)
{
    CorePacket *pkt = d->tx_pkt;
    VlQueue *q = &d->vlq[ub_meta(pkt)->vl];

    credit_untake(d, ub_meta(pkt)->vl,
                  dll_cells(d, ub_plength_flits(d->v.tx_shape)));
    d->tx_pkt = NULL;
    pkt->next = q->head;
    q->head = pkt;
    q->tail = q->tail ? q->tail : pkt;
    q->count++;
    q->bytes += pkt->len;
    d->queued |= 1u << ub_meta(pkt)->vl;
}

/* The last block of tx_pkt was built. */
void vl_done(UbDll *d)
{
    d->stats.tx_packets++;
    d->stats.tx_bytes += d->tx_pkt->len;
    core_packet_free(d->tx_pkt);
    d->tx_pkt = NULL;
}
