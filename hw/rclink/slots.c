/*
 * RC Link: TYPE1's packet buffers and who of them is next (RC Link §12.9).
 *
 * Slots that may be granted stand in a list of their bank by age, which a slot
 * keeps when it is sent again.  What masks a whole bank (credits, a pause) is
 * asked at the grant; what masks a QP (its rate, RNR) takes its slots out of the
 * list meanwhile.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "internal.h"

void rcl_slots_init(Rclink *d)
{
    for (unsigned i = 0; i < d->cfg.ost1; i++) {
        d->slot[i] = (RclSlot) { .qp_next = i + 1 };
    }
    d->slot[d->cfg.ost1 - 1].qp_next = NO_SLOT;
    d->free_slot = 0;
    d->free1 = d->cfg.ost1;
    for (unsigned b = 0; b < RCL_BANKS; b++) {
        d->bank_first[b] = d->bank_last[b] = NO_SLOT;
    }
    d->last_bank = RCL_BANKS;
    d->queued = 0;
}

/* ---- the lists of banks ---- */

static void bank_insert(Rclink *d, uint16_t i)
{
    RclSlot *s = &d->slot[i];
    uint8_t bank = bank_of(d, s->qp);
    uint16_t at = d->bank_last[bank], next;

    /* New ones are the youngest; others are few. */
    while (at != NO_SLOT && d->slot[at].age > s->age) {
        at = d->slot[at].prev;
    }
    next = at == NO_SLOT ? d->bank_first[bank] : d->slot[at].next;
    s->prev = at;
    s->next = next;
    *(at == NO_SLOT ? &d->bank_first[bank] : &d->slot[at].next) = i;
    *(next == NO_SLOT ? &d->bank_last[bank] : &d->slot[next].prev) = i;
    s->queued = true;
    d->queued++;
}

static void bank_remove(Rclink *d, uint16_t i)
{
    RclSlot *s = &d->slot[i];
    uint8_t bank = bank_of(d, s->qp);

    *(s->prev == NO_SLOT ? &d->bank_first[bank]
                         : &d->slot[s->prev].next) = s->next;
    *(s->next == NO_SLOT ? &d->bank_last[bank]
                         : &d->slot[s->next].prev) = s->prev;
    s->queued = false;
    d->queued--;
}

/* Into the list or out of it, as the QP's masks are. */
static void slot_place(Rclink *d, const RclQp *q, uint16_t i)
{
    RclSlot *s = &d->slot[i];
    bool may = s->state == SLOT_WAIT_GRANT && q->en && !q->fatal &&
               !q->rnr_hold;

    if (may && !s->queued) {
        bank_insert(d, i);
    } else if (!may && s->queued) {
        bank_remove(d, i);
    }
}

void rcl_slots_mask(Rclink *d, RclQp *q)
{
    for (uint16_t i = q->first; i != NO_SLOT; i = d->slot[i].qp_next) {
        RclSlot *s = &d->slot[i];

        if (q->cc_mask && s->state == SLOT_WAIT_GRANT) {
            s->state = SLOT_WAIT_CRD;
        } else if (!q->cc_mask && s->state == SLOT_WAIT_CRD) {
            s->state = SLOT_WAIT_GRANT;
        }
        slot_place(d, q, i);
    }
}

/* ---- life of a slot ---- */

uint16_t rcl_slot_fill(Rclink *d, RclQp *q, bool sent)
{
    uint16_t i = d->free_slot;
    RclSlot *s;

    if (i == NO_SLOT) {
        return i;
    }
    s = &d->slot[i];
    d->free_slot = s->qp_next;
    d->free1--;
    *s = (RclSlot) {
        .state = sent ? SLOT_WAIT_ACK :
                 q->cc_mask ? SLOT_WAIT_CRD : SLOT_WAIT_GRANT,
        .sent = sent,
        .qp = q->id, .psn = q->tx_psn, .age = d->age++, .qp_next = NO_SLOT,
    };
    q->tx_psn = serial_add(q->tx_psn, 1, PSN_BITS);
    *(q->last == NO_SLOT ? &q->first : &d->slot[q->last].qp_next) = i;
    q->last = i;
    q->slots++;
    if (!sent) {
        slot_place(d, q, i);
    }
    return i;
}

void rcl_slot_free_first(Rclink *d, RclQp *q, uint32_t credit)
{
    uint16_t i = q->first;
    RclSlot *s = &d->slot[i];

    if (s->queued) {
        bank_remove(d, i);
    }
    q->first = s->qp_next;
    if (q->first == NO_SLOT) {
        q->last = NO_SLOT;
    }
    q->slots--;
    s->state = SLOT_EMPTY;
    s->qp_next = d->free_slot;
    d->free_slot = i;
    d->free1++;
    rcl_event(d, RCL_EV_CREDIT, 0, q->id, credit, s->cookie);
}

void rcl_slot_granted(Rclink *d, uint16_t i)
{
    bank_remove(d, i);
    d->slot[i].state = SLOT_WAIT_ACK;
    d->slot[i].sent = true;
}

void rcl_slots_rewind(Rclink *d, RclQp *q)
{
    for (uint16_t i = q->first; i != NO_SLOT; i = d->slot[i].qp_next) {
        if (d->slot[i].state != SLOT_WAIT_ACK) {
            break;      /* those behind it were not sent */
        }
        d->slot[i].state = q->cc_mask ? SLOT_WAIT_CRD : SLOT_WAIT_GRANT;
        slot_place(d, q, i);
    }
    q->tx_last = serial_add(q->una, -1, PSN_BITS);
}

uint16_t rcl_slot_next(const Rclink *d, unsigned banks)
{
    uint16_t best = NO_SLOT;

    for (; banks; banks &= banks - 1) {
        uint16_t i = d->bank_first[__builtin_ctz(banks)];

        if (best == NO_SLOT || d->slot[i].age < d->slot[best].age) {
            best = i;
        }
    }
    return best;
}
