/*
 * Lanes: TASSNs in flight between a queue and a peer, their packets, their
 * time-outs.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "internal.h"

enum { RING_MIN = 8 };

/* ---- life ---- */

static void list_sending(Lane *lane)
{
    UbTa *ta = lane->ta;

    if (!lane->listed) {
        lane->listed = true;
        lane->next_sending = NULL;
        *ta->sending_end = lane;
        ta->sending_end = &lane->next_sending;
        ta_kick(ta);
    }
}

static void unlist_sending(Lane *lane)
{
    UbTa *ta = lane->ta;
    Lane **p = &ta->sending;

    if (!lane->listed) {
        return;
    }
    while (*p != lane) {
        p = &(*p)->next_sending;
    }
    *p = lane->next_sending;
    if (!*p) {
        ta->sending_end = p;
    }
    lane->listed = false;
}

static gpointer stall_key(uint32_t tpn)
{
    return GUINT_TO_POINTER(tpn);
}

static void stall(Lane *lane, uint32_t tpn)
{
    UbTa *ta = lane->ta;

    ta_count(ta, UB_TAC_BUSY);
    if (lane->stalled) {
        return;
    }
    lane->stalled = true;
    lane->stalled_on = tpn;
    lane->next_stalled = g_hash_table_lookup(ta->stalled, stall_key(tpn));
    g_hash_table_insert(ta->stalled, stall_key(tpn), lane);
}

static void unstall(Lane *lane)
{
    UbTa *ta = lane->ta;
    Lane *head, **p = &head;

    if (!lane->stalled) {
        return;
    }
    head = g_hash_table_lookup(ta->stalled, stall_key(lane->stalled_on));
    while (*p != lane) {
        p = &(*p)->next_stalled;
    }
    *p = lane->next_stalled;
    lane->stalled = false;
    if (head) {
        g_hash_table_insert(ta->stalled, stall_key(lane->stalled_on), head);
    } else {
        g_hash_table_remove(ta->stalled, stall_key(lane->stalled_on));
    }
}

void ub_ta_room(void *opaque, uint32_t tpn)
{
    UbTa *ta = opaque;
    Lane *lane = g_hash_table_lookup(ta->stalled, stall_key(tpn)), *next;
    Lane *first = NULL;

    g_hash_table_remove(ta->stalled, stall_key(tpn));
    for (; lane; lane = next) {
        next = lane->next_stalled;
        lane->next_stalled = first;
        first = lane;
    }
    /* Who has waited longest goes first: whoever sent last waits since then, and would
     * have all the room there is. */
    for (lane = first; lane; lane = next) {
        next = lane->next_stalled;
        lane->stalled = false;
        list_sending(lane);
    }
    if (ta->answers) {
        ta->answers_try = true;
        ta_kick(ta);
    }
}

Lane *ta_lane_find(UbTa *ta, const Key *key)
{
    return g_hash_table_lookup(ta->lanes, key);
}

Lane *ta_lane_new(UbTa *ta, UbTaQueue *q, const Key *key, bool orphan)
{
    Lane *lane = g_new0(Lane, 1);

    lane->ta = ta;
    lane->queue = q;
    lane->key = *key;
    lane->orphan = orphan;
    lane->compact = key->rc == KEY_COMPACT;
    do {
        ta->lane_id++;
    } while (!ta->lane_id ||
             g_hash_table_lookup(ta->lane_ids, GUINT_TO_POINTER(ta->lane_id)));
    lane->id = ta->lane_id;
    lane->una = lane->next = lane->scan = ta->start;
    ta_lane_grow(lane, RING_MIN);
    g_queue_init(&lane->waiters);
    if (q && q->cfg.mode == UB_ROT && q->cfg.static_sc && !lane->compact) {
        lane->sc = SC_GRANTED;
        lane->scid = q->cfg.scid;
    }
    if (!orphan) {
        g_hash_table_insert(ta->lanes, &lane->key, lane);
    }
    g_hash_table_insert(ta->lane_ids, GUINT_TO_POINTER(lane->id), lane);
    return lane;
}

void ta_lane_begin_ahead(const Lane *lane)
{
    UbTa *ta = lane->ta;
    uint16_t next = lane->next;
    int16_t ahead = ta->start - next;

    if (ahead < 0 && ahead > -2 * 4096) {
        ta->start = (next + 4095) & 0xf000;
    }
}

/* Called by lane_ids when a lane leaves it. */
void ta_lane_free(Lane *lane)
{
    UbTa *ta = lane->ta;
    UbTaQueue *q;

    ta_lane_begin_ahead(lane);
    if (!lane->orphan) {
        g_hash_table_remove(ta->lanes, &lane->key);
    }
    if (lane->queue && lane->queue->last == lane) {
        lane->queue->last = NULL;
    }
    unlist_sending(lane);
    unstall(lane);
    core_timer_cancel(&ta->timers, &lane->clock.t);
    if (lane->stuck) {
        ta_drop(ta, UB_TAC_DROP_FLUSHED, lane->stuck);
    }
    while ((q = g_queue_pop_head(&lane->waiters))) {
        q->waits = NULL;
    }
    g_free(lane->ring);
    g_free(lane);
}

static gboolean lane_idle(gpointer key, gpointer value, gpointer opaque)
{
    Lane *lane = value;

    return lane->una == lane->next && g_queue_is_empty(&lane->waiters);
}

/* A place for one more lane. */
static bool lane_room(UbTa *ta)
{
    if (g_hash_table_size(ta->lane_ids) < ta->cfg.peers) {
        return true;
    }
    if (g_hash_table_foreach_remove(ta->lane_ids, lane_idle, NULL)) {
        ta->start += 4096;      /* peers remember the numbers of those */
    }
    return g_hash_table_size(ta->lane_ids) < ta->cfg.peers;
}

Lane *ta_lane(UbTaQueue *q, const UbTaDest *dest, uint8_t opcode)
{
    UbTa *ta = q->ta;
    bool compact = ta_form(ta, dest->tp.mode, dest->tp.flow.cfg,
                           opcode).compact;
    Key key = {
        .who = ta_who(&dest->tp.flow, false),
        .eid = ta_eid(&dest->sec, &dest->sec.deid),
        .rc = compact ? KEY_COMPACT : q->cfg.rcid,
    };
    Lane *lane = q->last;

    if (lane && ta_key_equal(&lane->key, &key)) {
        return lane;
    }
    lane = ta_lane_find(ta, &key);
    if (!lane && lane_room(ta)) {
        lane = ta_lane_new(ta, compact ? NULL : q, &key, false);
    }
    if (lane && !compact) {
        q->last = lane;
    }
    return lane;
}

void ta_lane_settle(Lane *lane)
{
    if (lane->orphan && lane->una == lane->next) {
        g_hash_table_remove(lane->ta->lane_ids, GUINT_TO_POINTER(lane->id));
    }
}

/* ---- slices ---- */

void ta_lane_grow(Lane *lane, uint32_t size)
{
    Slice *ring = g_new0(Slice, size);

    for (uint32_t n = lane->una; n != lane->next; n++) {
        ring[n & (size - 1)] = *ta_lane_at(lane, n);
    }
    g_free(lane->ring);
    lane->ring = ring;
    lane->size = size;
}

Slice *ta_lane_slice(Lane *lane, bool urgent)
{
    const UbTaConfig *cfg = &lane->ta->cfg;
    uint32_t used = lane->next - lane->una;

    if (used >= cfg->window - (urgent ? 0 : cfg->reserve)) {
        return NULL;
    }
    if (used == lane->size) {
        ta_lane_grow(lane, 2 * lane->size);
    }
    if (!lane->pending) {
        lane->scan = lane->next;
    }
    lane->pending++;
    return ta_lane_at(lane, lane->next++);
}

void ta_lane_wake(Lane *lane)
{
    UbTaQueue *q;

    while ((q = g_queue_pop_head(&lane->waiters))) {
        q->waits = NULL;
        ta_queue_ready(q);
    }
}

void ta_lane_timer(Lane *lane)
{
    int64_t at = CORE_NEVER;

    for (uint32_t n = lane->una; n != lane->next; n++) {
        const Slice *s = ta_lane_at(lane, n);

        if (s->state == SLICE_SENT || s->state == SLICE_WAIT) {
            at = MIN(at, s->at);
        }
    }
    core_timer_set(&lane->ta->timers, &lane->clock.t, at);
}

/* A slice has a time; the lane's is not later. */
static void time_slice(Lane *lane, Slice *s, int64_t at)
{
    s->at = at;
    if (!lane->clock.t.place || lane->clock.t.at > at) {
        core_timer_set(&lane->ta->timers, &lane->clock.t, at);
    }
}

/* Slices that are over leave the window. */
static void pass_free(Lane *lane)
{
    while (lane->una != lane->next &&
           ta_lane_at(lane, lane->una)->state == SLICE_FREE) {
        lane->una++;
    }
}

/* Whether the packet that nobody took yet is of this slice. */
static bool is_stuck(const Lane *lane, uint32_t number)
{
    return lane->stuck && lane->stuck_number == number;
}

/* If it is: it is made anew. */
static void stuck_drop(Lane *lane, uint32_t number)
{
    if (is_stuck(lane, number)) {
        core_packet_free(lane->stuck);
        lane->stuck = NULL;
    }
}

/* It needs not be sent any more. */
static void not_pending(Lane *lane, uint32_t number)
{
    lane->pending--;
    if (lane->begun == number + 1) {
        lane->begun = 0;
    }
    stuck_drop(lane, number);
}

void ta_lane_close(Lane *lane, uint32_t number, UbTaStatus status)
{
    Slice *s = ta_lane_at(lane, number);
    UbTaRequest *req = s->req;

    if (s->state == SLICE_NEW) {
        not_pending(lane, number);
    }
    if (lane->alloc == number && lane->sc == SC_ASKED) {
        lane->sc = SC_NONE;
    }
    s->state = SLICE_FREE;
    s->req = NULL;
    pass_free(lane);
    ta_lane_wake(lane);
    if (req) {
        ta_slice_closed(req, status);
    }
}

void ta_lane_resume(Lane *lane)
{
    pass_free(lane);
    ta_lane_timer(lane);
    if (lane->pending || lane->orphan) {
        list_sending(lane);
    }
}

static void send_again(Lane *lane, uint32_t number)
{
    Slice *s = ta_lane_at(lane, number);

    s->state = SLICE_NEW;
    s->again = true;
    s->begun = false;
    s->sent = s->got = 0;
    if (!lane->pending || serial_diff(number, lane->scan, 32) < 0) {
        lane->scan = number;
    }
    lane->pending++;
    ta_count(lane->ta, UB_TAC_RETRIES);
    list_sending(lane);
}

/* How often a slice is tried again.  What a queue says is of receive entries; pages
 * come by the device's rule. */
static uint8_t retries_of(const UbTaQueue *q, bool rnr)
{
    return !rnr || !q->cfg.tries ? q->ta->cfg.retries
           : q->cfg.tries == UINT8_MAX ? UINT8_MAX : q->cfg.tries - 1;
}

void ta_lane_retry(Lane *lane, uint32_t number, unsigned timer, bool rnr)
{
    UbTa *ta = lane->ta;
    Slice *s = ta_lane_at(lane, number);
    uint8_t retries;

    ta_count(ta, rnr ? UB_TAC_RNR_RX : UB_TAC_FAULT_RX);
    if (!s->req) {
        ta_lane_close(lane, number, UB_TAS_OK);
        return;
    }
    if (s->stale) {
        ta_lane_close(lane, number, UB_TAS_TIMEOUT);
        return;
    }
    retries = retries_of(s->req->queue, rnr);
    if (retries != UINT8_MAX && s->retries >= retries) {
        ta_lane_close(lane, number, UB_TAS_RNR);
        return;
    }
    s->retries += retries != UINT8_MAX;
    s->state = SLICE_WAIT;
    time_slice(lane, s, ta->now + ta_rnr_time(ta, timer));
}

/* The SC waits for ever for what timed out: do without, or ask for another. */
static void leave_sc(Lane *lane)
{
    lane->sc = SC_NONE;
    for (uint32_t n = lane->una; n != lane->next; n++) {
        Slice *s = ta_lane_at(lane, n);

        if (s->state == SLICE_FREE) {
            continue;
        }
        if (s->req) {
            ta_request_outside(s->req);
        }
        s->stale = s->in_sc;
        if (s->in_sc && (s->state == SLICE_WAIT ||
                         (s->state == SLICE_NEW && !s->begun))) {
            ta_lane_close(lane, n, UB_TAS_TIMEOUT);
        }
    }
}

void ta_lane_expired(Lane *lane)
{
    UbTa *ta = lane->ta;

    for (uint32_t n = lane->una; n != lane->next; n++) {
        Slice *s = ta_lane_at(lane, n);

        if (s->at > ta->now) {
            continue;
        }
        if (s->state == SLICE_WAIT) {
            send_again(lane, n);
        } else if (s->state == SLICE_SENT) {
            ta_count(ta, UB_TAC_TIMEOUTS);
            if (s->in_sc && !s->stale && lane->queue &&
                !lane->queue->cfg.static_sc) {
                leave_sc(lane);
            }
            ta_lane_close(lane, n, UB_TAS_TIMEOUT);
        }
    }
    ta_lane_timer(lane);
    ta_lane_settle(lane);
}

void ta_lane_forget(Lane *lane, const UbTaQueue *q, const UbTaRequest *req)
{
    for (uint32_t n = lane->una; n != lane->next; n++) {
        Slice *s = ta_lane_at(lane, n);

        if (!s->req || s->req->queue != q || (req && s->req != req)) {
            continue;
        }
        s->req = NULL;
        /* Who takes one back has waited long enough: its number must not hold up
         * the window that others go by.  An SC at the peer would wait for it. */
        if (s->state == SLICE_WAIT || (s->state == SLICE_NEW && !s->begun) ||
            (s->state == SLICE_SENT && req && !s->in_sc)) {
            ta_lane_close(lane, n, UB_TAS_OK);
        } else if (s->state == SLICE_NEW) {
            stuck_drop(lane, n);
            s->ends = true;             /* whoever begins an operation ends it */
            list_sending(lane);
        }
    }
}

/* ---- sending ---- */

/* Where a packet of a slice goes; false: nowhere. */
static bool aim(Lane *lane, Slice *s, const UbTaDest *dest, UbTpDest *to)
{
    UbTa *ta = lane->ta;

    *to = dest->tp;
    if (to->mode == UB_TP_RTP) {
        if (!s->begun) {
            s->tpn = dest->group ? ta->lower->pick(ta->lower_opaque,
                                                   to->tpn) : to->tpn;
        }
        to->tpn = s->tpn;
        return to->tpn != UB_TP_NONE;
    }
    if (dest->sl_writeback != UB_TA_SAME_SL &&
        (s->opcode == UB_TA_WRITEBACK || s->opcode == UB_TA_WRITEBACK_BE)) {
        to->flow.sl = dest->sl_writeback;
    }
    return true;
}

/* How long a slice waits for its answer. */
static int64_t ack_timeout(const UbTa *ta, const Slice *s)
{
    uint8_t patience = s->req ? s->req->queue->cfg.patience : 0;

    return ta_time(ta, patience ? ub_ta_gear(patience - 1)
                                : ta->cfg.ack_timeout);
}

/* A packet has left. */
static void packet_left(Lane *lane, uint32_t number, bool last, uint32_t len)
{
    UbTa *ta = lane->ta;
    Slice *s = ta_lane_at(lane, number);

    ta->budget--;
    ta_count(ta, UB_TAC_TX_REQUESTS);
    ta->count[UB_TAC_TX_BYTES] += len;
    s->sent += len;
    if (!last) {
        s->begun = true;
        lane->begun = number + 1;
        return;
    }
    s->begun = s->ends = false;
    not_pending(lane, number);
    s->state = SLICE_SENT;
    time_slice(lane, s, ta->now + ack_timeout(ta, s));
}

/* Nothing comes back: it is done when it is sent (§7.3.1.2). */
static bool unanswered(const Lane *lane, const Slice *s, const UbTaDest *dest)
{
    const UbTaConfig *cfg = &lane->ta->cfg;
    UbTaMode mode;

    if (!ub_ta_op(s->opcode)->response) {
        return true;
    }
    if (!s->req) {
        return false;
    }
    mode = s->req->queue->cfg.mode;
    return mode == UB_UNO ||
           (mode == UB_ROL && cfg->no_taack && dest->tp.mode == UB_TP_CTP &&
            ub_ta_op(s->opcode)->response == UB_TA_TAACK);
}

/* The status that a slice which has not begun fails with, or OK.  It was cut, and has
 * a number, for what its row said then; packets made for that do not go elsewhere. */
static UbTaStatus look_again(Lane *lane, uint32_t number, const UbTaDest *dest)
{
    UbTa *ta = lane->ta;
    Slice *s = ta_lane_at(lane, number);
    UbTaStatus status;

    if (s->rows == ta->rows) {
        return UB_TAS_OK;
    }
    status = ta_request_check(ta, s->req->queue, s->req, dest);
    if (!status && !ta_slice_fits(lane, s, dest)) {
        status = UB_TAS_OPCODE;
    }
    s->rows = ta->rows;
    stuck_drop(lane, number);
    return status;
}

/* One packet; false: no more now of this slice. */
static bool send_packet(Lane *lane, uint32_t number)
{
    UbTa *ta = lane->ta;
    Slice *s = ta_lane_at(lane, number);
    const UbTaDest *dest = s->begun ? &lane->way : ub_ta_dest(ta, s->dest);
    UbTaStatus status;
    CorePacket *pkt = NULL;
    UbTpDest to;
    uint32_t len;
    UbTpTx tx;
    bool sent, newest;

    if (!dest || !aim(lane, s, dest, &to)) {
        ta_lane_close(lane, number, dest ? UB_TAS_TIMEOUT : UB_TAS_OPCODE);
        return false;
    }
    status = s->begun ? UB_TAS_OK : look_again(lane, number, dest);
    if (is_stuck(lane, number) && !s->ends && to.mode == UB_TP_RTP &&
        lane->stuck_len > ta_mtu(lane->ta, to.mode, to.tpn, UINT32_MAX)) {
        stuck_drop(lane, number);       /* made for another channel of a group */
    }
    if (status) {
        /* Closed below. */
    } else if (is_stuck(lane, number)) {
        pkt = lane->stuck;
        tx = lane->stuck_tx;
        len = lane->stuck_len;
        lane->stuck = NULL;
    } else {
        pkt = ta_slice_packet(lane, number, dest, &tx, &len, &status);
    }
    /* What ends an operation is sent some day: nothing may come in its place. */
    if (!pkt && (!status || s->ends)) {
        stall(lane, UB_TP_NONE);        /* no packets left */
        return false;
    }
    if (!pkt && s->begun) {
        /* Its data have gone away under it. */
        if (s->req && !s->req->status) {
            s->req->status = status;
        }
        s->ends = true;
        return true;
    }
    if (!pkt) {
        newest = number + 1 == lane->next && !s->again;
        ta_lane_close(lane, number, status);
        if (newest) {                   /* nobody knows of its number */
            lane->next = number;
            lane->una -= lane->una == number + 1;
        }
        return false;
    }
    switch (ta->lower->send(ta->lower_opaque, &to, pkt, &tx, ta->now)) {
    case UB_BUSY:
        if (lane->stuck) {
            core_packet_free(pkt);      /* a Writeback beside it */
        } else {
            lane->stuck = pkt;
            lane->stuck_tx = tx;
            lane->stuck_len = len;
            lane->stuck_number = number;
        }
        stall(lane, to.mode == UB_TP_RTP ? to.tpn : UB_TP_NONE);
        return false;
    case UB_LOST:
        ta_count(ta, UB_TAC_LOST_BELOW);
        if (to.mode == UB_TP_RTP) {
            ta_lane_close(lane, number, UB_TAS_TIMEOUT);
            return false;
        }
        break;
    case UB_SENT:
        break;
    }
    sent = tx.last;
    if (!sent && !s->begun) {
        lane->way = *dest;              /* for the rest of the operation */
    }
    packet_left(lane, number, tx.last, len);
    if (sent && unanswered(lane, s, dest)) {
        ta_lane_close(lane, number, UB_TAS_OK);
    }
    return !sent;
}

/* The slice to go on with, or false. */
static bool next_pending(Lane *lane, uint32_t *number)
{
    if (!lane->pending) {
        return false;
    }
    if (lane->begun) {
        *number = lane->begun - 1;
        return true;
    }
    while (ta_lane_at(lane, lane->scan)->state != SLICE_NEW ||
           serial_diff(lane->scan, lane->una, 32) < 0) {
        lane->scan++;
    }
    *number = lane->scan;
    return true;
}

void ta_lane_send(Lane *lane, uint32_t number)
{
    UbTa *ta = lane->ta;

    while (ta->budget > 0) {
        if (!send_packet(lane, number)) {
            break;
        }
    }
    if (lane->pending && !lane->stalled) {
        list_sending(lane);
    }
    if (!lane->pending) {
        ta_lane_wake(lane);
    }
}

bool ta_lanes_run(UbTa *ta)
{
    Lane *lane;
    uint32_t number;

    while (ta->budget > 0 && ta->sending) {
        lane = ta->sending;
        unlist_sending(lane);
        while (ta->budget > 0 && !lane->stalled &&
               next_pending(lane, &number)) {
            while (send_packet(lane, number) && ta->budget > 0) {
            }
        }
        if (lane->pending && !lane->stalled) {
            list_sending(lane);
        }
        if (!lane->pending) {
            ta_lane_wake(lane);
        }
        ta_lane_settle(lane);
    }
    return ta->sending;
}
