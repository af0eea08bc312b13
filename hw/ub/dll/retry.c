/*
 * Retry: Retry Buffer, RETRY_REQ_SM and RETRY_ACK_SM (UB 2.0 §4.7.3).
 *
 * Go-back-N by position, not by number: nothing on the wire says which flit a
 * flit is, so sender and receiver stay in step only because the receiver drops
 * everything between an error and the answer to its request.  The answer may
 * come twice, when WAIT ran out while it was under way; the second replay is
 * dropped flit by flit (d->v.skip).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "internal.h"

void retry_reset(UbDll *d)
{
    UbDllVars *v = &d->v;

    v->wr_ptr = v->tail_ptr = v->rd_ptr = v->rcv_ptr = 0;
    v->behind_data = 0;
    v->num_free = v->depth;
    v->num_retry = v->num_phy_reinit = 0;
    v->ack_due = v->rest_due = false;
    v->ack_ptr = v->ack_num_retry = 0;
    memset(&v->set, 0, sizeof(v->set));
    memset(&v->seen, 0, sizeof(v->seen));
    v->wait_at = NEVER;
    dll_set_state(d, UB_RETRY_REQ_SM, UB_RETRY_REQ_NORMAL, "link reset");
    dll_set_state(d, UB_RETRY_ACK_SM, UB_RETRY_ACK_NORMAL, "link reset");
}

/* ------------------------------------------------------------ buffer ---- */

void retry_resize(UbDll *d, uint32_t depth)
{
    if (depth != d->ring_size) {
        g_free(d->ring);
        g_free(d->meta);
        d->ring = g_malloc0((size_t)depth * UB_FLIT_SIZE);
        d->meta = g_malloc0(depth);
        d->ring_size = depth;
    }
}

/* Room for a block?  One flit always stays free, so that a request with
 * RcvPtr == WrPtr means "nothing is missing"; the last flits are kept for
 * Crd_Ack (§4.7.3.2.4). */
bool retry_room(const UbDll *d, unsigned flits, bool crd_ack)
{
    return d->v.num_free > flits + (crd_ack ? 0u : d->cfg.crd_ack_reserve);
}

void retry_store(UbDll *d, const uint8_t *block, unsigned flits)
{
    UbDllVars *v = &d->v;
    uint32_t at = v->wr_ptr;
    uint32_t first = MIN(flits, v->depth - at);

    memcpy(d->ring + at * UB_FLIT_SIZE, block, first * UB_FLIT_SIZE);
    memset(d->meta + at, 0, first);
    if (first < flits) {
        memcpy(d->ring, block + first * UB_FLIT_SIZE,
               (flits - first) * UB_FLIT_SIZE);
        memset(d->meta, 0, flits - first);
    }
    d->meta[at] = META_START | (v->mode == UB_MODE_NON_CRC ? META_NON_CRC : 0) |
                  (flits - 1);
    v->wr_ptr = ring_add(at, flits, v->depth);
    v->num_free -= flits;
    v->behind_data = ub_block_cfg(block) ? 0
                                         : MIN(v->behind_data + flits,
                                               v->depth);
}

/* Copy out what is to be replayed next: a block, or the rest of one when the
 * receiver stopped inside (Non-CRC).  0: cannot be replayed. */
static unsigned read_block(UbDll *d, uint8_t *out)
{
    UbDllVars *v = &d->v;
    uint32_t at = v->rd_ptr, first;
    uint8_t meta = d->meta[at];
    unsigned flits = 1;

    if (meta & META_START) {
        flits = (meta & META_FLITS) + 1;
    } else {
        while (flits < UB_BLOCK_FLITS &&
               ring_add(at, flits, v->depth) != v->wr_ptr &&
               !(d->meta[ring_add(at, flits, v->depth)] & META_START)) {
            flits++;
        }
    }
    if (flits > ring_dist(v->wr_ptr, at, v->depth)) {
        return 0;
    }
    first = MIN(flits, v->depth - at);
    memcpy(out, d->ring + at * UB_FLIT_SIZE, first * UB_FLIT_SIZE);
    memcpy(out + first * UB_FLIT_SIZE, d->ring, (flits - first) * UB_FLIT_SIZE);

    if ((meta & META_START) &&
        !!(meta & META_NON_CRC) != (v->mode == UB_MODE_NON_CRC)) {
        /* Built before a mode change.  A DLLCB differs by its tail only; the
         * lengths of a DLLDP do not carry over. */
        if (ub_block_cfg(out)) {
            return 0;
        }
        put_be32(out + flits * UB_FLIT_SIZE - 4, 0);
        ub_seal_block(dll_format(d), out, flits, true, false);
    }
    return flits;
}

/* ---------------------------------------------------- RETRY_REQ_SM ------ */

void retry_enter_req(UbDll *d, const char *cause)
{
    UbDllVars *v = &d->v;
    unsigned limit = d->cfg.num_retry_threshold +
                     (d->cfg.retry_send_threshold ? 1 : 0);

    v->wait_at = NEVER;
    v->seen.run = 0;
    if (++v->num_retry >= limit) {
        dll_error(d, UB_DLL_ERR_RETRY_ROLLOVER,
                  "NUM_RETRY reached its threshold");
        retry_enter_retrain(d, false, "NUM_RETRY_THRESHOLD");
        return;
    }
    dll_set_state(d, UB_RETRY_REQ_SM, UB_RETRY_REQ_REQ, cause);
}

/* Blocks stop here, for a Retrain.  What was cut off is in the Retry Buffer
 * and the peer asks for it again. */
void retry_quiesce(UbDll *d)
{
    UbDllVars *v = &d->v;

    v->active = false;
    v->tx_left = v->tx_pos = 0;
    v->set.type = 0;
    v->ack_due = v->rest_due = false;
    dll_set_state(d, UB_RETRY_ACK_SM, UB_RETRY_ACK_NORMAL, "Retrain");
}

void retry_enter_retrain(UbDll *d, bool by_phy, const char *cause)
{
    UbDllVars *v = &d->v;

    rx_rewind(d);
    v->wait_at = NEVER;
    v->num_retry = 0;
    if (!by_phy || v->reached_normal || d->cfg.count_early_retrain) {
        v->num_phy_reinit++;
    }
    if (v->num_phy_reinit >= d->cfg.num_phy_reinit_threshold) {
        v->num_phy_reinit = 0;
        dll_set_state(d, UB_RETRY_REQ_SM, UB_RETRY_REQ_ERROR,
                      "NUM_PHY_REINIT_THRESHOLD");
        dll_error(d, UB_DLL_ERR_RETRY, "retries and Retrains are used up");
        return;
    }
    dll_set_state(d, UB_RETRY_REQ_SM, UB_RETRY_REQ_RETRAIN, cause);
    if (!by_phy) {
        retry_quiesce(d);
        d->stats.retrains++;
        if (d->ops.retrain) {
            d->ops.retrain(d->opaque);
        }
    }
}

/* An error in what was received while in NORMAL. */
void retry_event(UbDll *d, const char *cause)
{
    rx_rewind(d);
    if (d->v.req_state == UB_RETRY_REQ_NORMAL) {
        retry_enter_req(d, cause);
    }
}

/* The stream moved on: this retry event is over. */
void retry_progress(UbDll *d)
{
    d->v.num_retry = d->v.num_phy_reinit = 0;
}

/* ------------------------------------------------------ what arrives ---- */

static void req_set_seen(UbDll *d, const uint8_t *flit)
{
    UbDllVars *v = &d->v;
    UbRetryReq req = ub_get_retry_req(flit);
    uint32_t used = v->depth - v->num_free;

    if (req.rcv_ptr >= v->depth ||
        ring_dist(req.rcv_ptr, v->tail_ptr, v->depth) > used ||
        (req.rcv_ptr != v->wr_ptr && v->mode == UB_MODE_CRC &&
         !(d->meta[req.rcv_ptr] & META_START))) {
        dll_peer_error(d, "Retry_Req outside the Retry Buffer");
        return;
    }
    v->ack_ptr = req.rcv_ptr;
    v->ack_due = true;
    v->ack_num_retry = req.num_retry;
    dll_set_state(d, UB_RETRY_ACK_SM, UB_RETRY_ACK_ACK, "Retry_Req_Set");
}

/* The position that a second replay of the same data starts from. */
static void skip_replay(UbDll *d, const UbRetryAck *ack)
{
    UbDllVars *v = &d->v;

    if (ack->rd_ptr == v->rcv_ptr && !v->skip) {
        return; /* copies left over from the accepted set, or nothing new */
    }
    if (ack->rd_ptr != v->snap_ptr || !v->peer_depth) {
        retry_event(d, "Retry_Ack from an unknown position");
        return;
    }
    if (!v->skip) {
        v->resume = v->delim;
    }
    v->skip = ring_dist(v->rcv_ptr, v->snap_ptr, v->peer_depth);
    v->delim = v->skip ? v->snap : v->resume;
    d->stats.duplicate_acks++;
}

static void ack_set_seen(UbDll *d, const uint8_t *flit)
{
    UbDllVars *v = &d->v;
    UbRetryAck ack = ub_get_retry_ack(flit);

    if (v->req_state == UB_RETRY_REQ_NORMAL) {
        skip_replay(d, &ack);
        return;
    }
    if (v->req_state != UB_RETRY_REQ_WAIT || ack.rd_ptr != v->rcv_ptr) {
        return; /* the answer to an older request; ours is still to come */
    }
    v->wait_at = NEVER;
    v->skip = 0;
    v->snap = v->delim;
    v->snap_ptr = v->rcv_ptr;
    if (d->cfg.retry_clear_always || ack.wr_ptr == ack.rd_ptr) {
        retry_progress(d);
    }
    dll_set_state(d, UB_RETRY_REQ_SM, UB_RETRY_REQ_NORMAL, "Retry_Ack_Set");
    if (!v->handshake) {
        init_handshake_done(d);
    }
}

static void set_seen(UbDll *d, const uint8_t *flit)
{
    d->v.seen.type = ub_lch_type(flit);
    memcpy(d->v.seen.body, flit + 4, sizeof(d->v.seen.body));
    if (d->v.seen.type == UB_CB_RETRY_REQ) {
        req_set_seen(d, flit);
    } else {
        ack_set_seen(d, flit);
    }
}

/*
 * A Retry block at a block boundary in NORMAL: Retry_Idle opens a set, the
 * first copy after it counts, the others do not.
 */
void retry_rx_block(UbDll *d, const uint8_t *flit)
{
    SetSeen *seen = &d->v.seen;

    if (ub_lch_type(flit) == UB_CB_RETRY_IDLE) {
        seen->open = true;
        return;
    }
    if (!seen->open) {
        return;
    }
    seen->open = false;
    seen->exact = true;
    seen->left = UB_RETRY_SET - 2;
    set_seen(d, flit);
}

/*
 * Is @flit one of the copies that follow the one acted on?  In Non-CRC mode
 * the stream may go on inside a block, where they would pass for data.  When
 * the set was seen from its start a damaged flit is a copy for sure.
 */
bool retry_leftover(UbDll *d, const uint8_t *flit, bool fec_ok)
{
    SetSeen *seen = &d->v.seen;
    bool copy = fec_ok ? ub_lch_type(flit) == seen->type &&
                         !memcmp(seen->body, flit + 4, sizeof(seen->body))
                       : seen->exact;

    if (!seen->left) {
        return false;
    }
    seen->left = copy ? seen->left - 1 : 0;
    return copy;
}

/* Something else came: copies that follow are not of the open set. */
void retry_set_broken(UbDll *d)
{
    d->v.seen.open = false;
    d->v.seen.left = 0;
}

/*
 * REQ and WAIT: blocks are not delimited, every flit is looked at.  Payload
 * can imitate Retry blocks, CRC included, but not for longer than the inside
 * of one block, 31 flits.  So a set counts when enough of its 33 flits came in
 * a row (retry_set_run, 32 by default).
 */
void retry_hunt(UbDll *d, const uint8_t *flit, bool fec_ok)
{
    SetSeen *seen = &d->v.seen;
    unsigned type = ub_lch_type(flit);
    bool good = fec_ok && ub_lch_valid(flit) && ub_lch_flits(flit) == 1 &&
                type >= UB_CB_RETRY_IDLE && type <= UB_CB_RETRY_ACK;

    d->stats.rx_discarded++;
    if (good && d->v.mode == UB_MODE_CRC) {
        good = ub_crc30_check(flit, 1, d->cfg.crc_cover);
    }
    if (!good) {
        seen->run = 0;
        return;
    }
    if (type == UB_CB_RETRY_IDLE) {
        seen->run = 1;
        seen->type = 0;
        seen->exact = true;
        return;
    }
    if (!seen->run || (seen->type && (seen->type != type ||
                       memcmp(seen->body, flit + 4, sizeof(seen->body))))) {
        seen->run = 0;
        seen->type = 0;
        seen->exact = false;
    }
    if (!seen->type) {
        seen->type = type;
        memcpy(seen->body, flit + 4, sizeof(seen->body));
    }
    if (seen->run < UINT8_MAX) {
        seen->run++;
    }
    if (seen->run == d->cfg.retry_set_run) {
        seen->left = MAX(UB_RETRY_SET - seen->run - !seen->exact, 0);
        set_seen(d, flit);
    }
}

/* --------------------------------------------------- what is sent ------- */

/* Is anything of retry to be sent before anything else may be? */
bool retry_tx_pending(const UbDll *d)
{
    return d->v.set.type || d->v.ack_state == UB_RETRY_ACK_ACK ||
           d->v.req_state == UB_RETRY_REQ_REQ;
}

static void start_set(UbDll *d)
{
    UbDllVars *v = &d->v;

    v->set.pos = 0;
    if (v->ack_state == UB_RETRY_ACK_ACK) {
        UbRetryAck ack = {
            .num_retry = v->ack_num_retry,
            .num_free_buf = v->num_free,
            .rd_ptr = v->ack_ptr,
            .wr_ptr = v->wr_ptr,
        };

        v->rd_ptr = v->ack_ptr;
        v->set.type = UB_CB_RETRY_ACK;
        v->ack_due = false;
        ub_put_retry_ack(dll_format(d), v->set.flit, &ack);
    } else {
        UbRetryReq req = {
            .rcv_ptr = v->rcv_ptr,
            .num_phy_reinit = v->num_phy_reinit,
            .num_retry = v->num_retry,
        };

        v->set.type = UB_CB_RETRY_REQ;
        ub_put_retry_req(dll_format(d), v->set.flit, &req);
    }
}

/* One flit of the set under way.  Sets are never cut. */
static void set_flit(UbDll *d, uint8_t *out)
{
    UbDllVars *v = &d->v;

    if (v->set.pos++ == 0) {
        ub_put_simple(dll_format(d), out, UB_CB_RETRY_IDLE);
        return;
    }
    memcpy(out, v->set.flit, UB_FLIT_SIZE);
    if (v->set.pos < UB_RETRY_SET) {
        return;
    }
    if (v->set.type == UB_CB_RETRY_ACK) {
        d->stats.retry_acks++;
        /* A receiver that resumes inside a block takes what follows for its
         * rest, so a second set must not come before that (Non-CRC). */
        v->rest_due = v->rd_ptr != v->wr_ptr &&
                      !(d->meta[v->rd_ptr] & META_START);
    } else {
        d->stats.retries++;
        if (v->req_state == UB_RETRY_REQ_REQ) {
            v->wait_at = d->now + d->cfg.wait_timeout;
            dll_set_state(d, UB_RETRY_REQ_SM, UB_RETRY_REQ_WAIT,
                          "Retry_Req_Set sent");
        }
    }
    v->set.type = 0;
}

/* Next flits of retry: a piece of a set, or a block of the replay.  0: retry
 * has nothing (more) to say. */
unsigned retry_tx(UbDll *d, uint8_t *out)
{
    UbDllVars *v = &d->v;
    unsigned flits;

    if (!v->set.type && !v->rest_due &&
        (v->ack_due || (v->ack_state == UB_RETRY_ACK_NORMAL &&
                        v->req_state == UB_RETRY_REQ_REQ))) {
        start_set(d);
    }
    if (v->set.type) {
        set_flit(d, out);
        return 1;
    }
    if (v->ack_state != UB_RETRY_ACK_ACK) {
        return 0;
    }
    if (v->rd_ptr == v->wr_ptr) {
        dll_set_state(d, UB_RETRY_ACK_SM, UB_RETRY_ACK_NORMAL, "replayed");
        return retry_tx_pending(d) ? retry_tx(d, out) : 0;
    }
    flits = read_block(d, out);
    if (!flits) {
        dll_error(d, UB_DLL_ERR_PROTOCOL,
                  "mode changed under unacknowledged DLLDPs");
        return 0;
    }
    v->rest_due = false;
    v->rd_ptr = ring_add(v->rd_ptr, flits, v->depth);
    d->stats.replayed_flits += flits;
    return flits;
}
