/*
 * One receive lane: bit slip, polarity, AMCTL lock and tracking, line code,
 * descrambling (UB 2.0 §3.2.3.1, §3.2.3.2, §3.2.4.2, §3.2.4.4).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <glib.h>
#include <string.h>

#include "pcs-rx.h"
#include "linecode.h"

void rx_event(UbPcsRx *rx, UbPcsEvent ev, unsigned lane, uint32_t arg)
{
    if (rx->ops.event) {
        rx->ops.event(rx->opaque, ev, lane, arg);
    }
}

void rx_lane_hunt(RxLane *lane)
{
    lane->lock = RX_SLIP;
    lane->flow = RX_TRAIN;
    lane->pub.locked = lane->pub.data = false;
    lane->pub.misses = 0;
    lane->window = 0;
    lane->seen = 0;
    lane->left = 0;
    lane->gathered = 0;
    lane->ltb_fill = 0;
    lane->good = 0;
    lane->hit = false;
    lane->last_lid = UB_AMCTL_BAD;
}

static uint8_t level_mask(bool inverted)
{
    return inverted ? 0xff : 0;
}

/* ------------------------------------------------------------- hunting --- */

/* END as it appears in `window`, low symbol first, for each polarity. */
static uint32_t end_pattern(bool pam4, bool inverted)
{
    uint8_t m[UB_AMCTL_SYMBOLS];
    uint32_t v;

    ub_amctl_encode(m, 0, UB_AMCTL_NONE, 0);
    if (pam4) {
        ub_gray(m, m, sizeof(m));
    }
    v = m[12] | m[13] << 8 | m[14] << 16 | (uint32_t)m[15] << 24;
    return inverted ? ~v : v;
}

/* The 16 symbols that end `slip` bits into the newest raw symbol, with
 * polarity and Gray code undone.  slip 8 = at its end. */
static void hunted(const RxLane *lane, unsigned slip, bool inverted,
                   uint8_t out[UB_AMCTL_LOCK])
{
    for (unsigned i = 0; i < UB_AMCTL_LOCK; i++) {
        unsigned at = lane->seen - UB_AMCTL_LOCK - 1 + i;
        unsigned pair = lane->history[at % 32] |
                        lane->history[(at + 1) % 32] << 8;

        out[i] = (pair >> slip) ^ level_mask(inverted);
    }
    if (lane->rx->mode.pam4) {
        ub_gray(out, out, UB_AMCTL_LOCK);
    }
}

static bool hunt_hit(RxLane *lane, unsigned slip, bool inverted)
{
    uint8_t lock[UB_AMCTL_LOCK];

    if (lane->seen < UB_AMCTL_LOCK + (slip < 8)) {
        return false;
    }
    hunted(lane, slip, inverted, lock);
    if (!ub_amctl_lock_exact(lock)) {
        return false;
    }
    if (lane->pub.inverted != inverted) {
        lane->pub.inverted = inverted;
        rx_event(lane->rx, UB_PCS_POLARITY, lane->phys, inverted);
    }
    lane->lock = RX_CONFIRM;
    lane->hit = true;
    lane->pub.slip = slip % 8;
    lane->carry = lane->history[(lane->seen - 1) % 32];
    memcpy(lane->amctl, lock, UB_AMCTL_LOCK);
    if (lane->rx->mode.pam4) {
        ub_gray(lane->amctl, lane->amctl, UB_AMCTL_LOCK);
    }
    lane->gathered = UB_AMCTL_LOCK;
    lane->left = 0;
    return true;
}

/*
 * Slip bit by bit for an END without error, with BODY in front of it as the
 * judge (a corrected END would be found by chance about once per training
 * frame, and an inverted one inside good AMCTLs).  PAM4 slips by whole UIs.
 * Returns symbols used; the lane is in CONFIRM when that is less than n, or
 * when the last one completed the hit.
 */
static size_t hunt(RxLane *lane, const uint8_t *sym, size_t n)
{
    bool pam4 = lane->rx->mode.pam4;
    const uint32_t end[2] = { end_pattern(pam4, false),
                              end_pattern(pam4, true) };
    unsigned step = pam4 ? 2 : 1;

    for (size_t i = 0; i < n; i++) {
        lane->window = lane->window >> 8 | (uint64_t)sym[i] << 32;
        lane->history[lane->seen++ % 32] = sym[i];
        for (unsigned slip = step; slip <= 8; slip += step) {
            uint32_t v = lane->window >> slip;

            if (G_UNLIKELY(v == end[0] || v == end[1]) &&
                hunt_hit(lane, slip, v == end[1])) {
                return i + 1;
            }
        }
    }
    return n;
}

/* ------------------------------------------------------------- payload --- */

/* Undo precoding, Gray coding and scrambling. */
static void line_undo(RxLane *lane, uint8_t *out, const uint8_t *in, size_t n)
{
    const UbPcsMode *m = &lane->rx->mode;

    if (m->precode) {
        lane->prev = ub_precode_undo(out, in, n, m->pam4, lane->prev);
        in = out;
    } else if (m->pam4) {
        ub_gray(out, in, n);
        in = out;
    }
    ub_scrambler_xor(&lane->key, out, in, n);
}

static void take_ltbs(RxLane *lane, const uint8_t *sym, size_t n)
{
    UbPcsRx *rx = lane->rx;
    uint8_t *p = rx->plain;

    line_undo(lane, p, sym, n);
    while (n) {
        size_t step = MIN(n, UB_LTB - lane->ltb_fill);

        memcpy(lane->ltb + lane->ltb_fill, p, step);
        lane->ltb_fill += step;
        p += step;
        n -= step;
        if (lane->ltb_fill == UB_LTB) {
            lane->ltb_fill = 0;
            if (lane->lock == RX_LOCKED) {
                lane->pub.ltbs++;
                if (rx->ops.ltb) {
                    rx->ops.ltb(rx->opaque, lane->phys, lane->ltb);
                }
            }
        }
    }
}

/* The deskew buffer has room for every chunk while skew is within bounds;
 * what comes after an overflow is dropped. */
static void take_data(RxLane *lane, const uint8_t *sym, size_t n)
{
    if (!lane->stream) {
        return;
    }
    if (n > RX_FIFO - lane->n) {
        lane->rx->overflowed = true;
        return;
    }
    line_undo(lane, lane->fifo + lane->n, sym, n);
    lane->n += n;
}

/* Low power: any symbol may begin the AMCTL that opens the path again
 * (§3.2.6), so look for a whole BODY and END all the time. */
static size_t watch(RxLane *lane, const uint8_t *sym, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        uint8_t lock[UB_AMCTL_LOCK];

        lane->history[lane->seen++ % 32] = sym[i];
        if (lane->seen < UB_AMCTL_LOCK) {
            continue;
        }
        for (unsigned k = 0; k < UB_AMCTL_LOCK; k++) {
            lock[k] = lane->history[(lane->seen - UB_AMCTL_LOCK + k) % 32];
        }
        memcpy(lane->amctl, lock, sizeof(lock));
        if (lane->rx->mode.pam4) {
            ub_gray(lock, lock, sizeof(lock));
        }
        if (ub_amctl_lock_exact(lock)) {
            lane->gathered = UB_AMCTL_LOCK;
            lane->left = 0;
            return i + 1;
        }
    }
    return n;
}

/* --------------------------------------------------------------- AMCTL --- */

static uint32_t payload_length(const RxLane *lane)
{
    const UbPcsRx *rx = lane->rx;

    switch (lane->flow) {
    case RX_DATA:
        return rx->params.period[lane->period];
    case RX_CLOSED:
        /* Until the AMCTL after this one has passed by. */
        return rx->params.period[lane->period] + UB_AMCTL_SYMBOLS;
    default:
        /* A lane that is being woken keeps the period of the data lanes
         * (§3.2.4.3). */
        return rx->state == UB_PCS_DATA && !lane->active ?
               rx->params.period[rx->period] : RX_TRAIN_PERIOD;
    }
}

static void seed(RxLane *lane, uint8_t lid)
{
    if (lid == UB_AMCTL_BAD) {
        lid = lane->pub.lid;
    }
    ub_scrambler_seed(&lane->key, lane->rx->params.scrambler, lid);
}

static void set_mark(RxLane *lane, RxMark mark, unsigned width)
{
    if (!lane->stream) {
        return;
    }
    lane->mark = mark;
    lane->mark_at = lane->n;
    lane->mark_width = width;
    lane->stop = true;
}

/* LWS at a lane in training is SDF (or its share in a width switch), at a
 * lane in data EDF or a width switch (§3.2.4.2). */
static void take_lws(RxLane *lane, const UbAmctl *a)
{
    unsigned width = ub_amctl_lws_width(a->detail);

    if (lane->flow == RX_TRAIN && width) {
        lane->flow = RX_DATA;
        lane->pub.data = true;
        lane->sdf_width = width;
        lane->sdf_lid = a->lid != UB_AMCTL_BAD ? a->lid : lane->pub.lid;
        lane->stream = true;
        lane->mark = RX_MARK_NONE;
        lane->missed = lane->late = lane->moved = false;
        lane->n = 0;
        lane->period = lane->rx->state == UB_PCS_DATA ? lane->rx->period : 0;
    } else if (lane->flow == RX_DATA && width) {
        set_mark(lane, RX_MARK_WIDTH, width);
    } else if (lane->flow == RX_DATA && a->detail == UB_AMCTL_LWS_X0) {
        set_mark(lane, RX_MARK_EDF, 0);
        lane->flow = RX_TRAIN;
        lane->pub.data = false;
    }
}

/*
 * A new period begins at this column on every lane, also on those that missed
 * the AMCTL here and have not yet come to where the next one is.
 */
static void new_period(RxLane *lane, uint8_t index)
{
    UbPcsRx *rx = lane->rx;
    size_t length = rx->params.period[index];

    lane->period = rx->period = index;
    lane->moved = true;
    lane->moved_at = lane->n;
    for (unsigned i = 0; i < UB_LANES; i++) {
        RxLane *other = &rx->lane[i];
        size_t taken = other->n - other->missed_at;

        if (other->missed && other->missed_at == lane->n && taken <= length) {
            other->period = index;
            other->left = (uint32_t)(length - taken);
        }
    }
}

/* An AMCTL was missed here; had another lane one with a new period? */
static void follow_period(RxLane *lane)
{
    UbPcsRx *rx = lane->rx;

    lane->late = false;
    for (unsigned i = 0; i < UB_LANES; i++) {
        const RxLane *other = &rx->lane[i];

        if (other->active && other->moved && other->moved_at == lane->n) {
            lane->period = other->period;
            lane->left = rx->params.period[lane->period];
        }
    }
}

static void take_command(RxLane *lane, const UbAmctl *a)
{
    if (a->detail == UB_AMCTL_BAD) {
        return;
    }
    switch (a->type) {
    case UB_AMCTL_LWS:
        take_lws(lane, a);
        break;
    case UB_AMCTL_EI:
        if (a->detail == UB_AMCTL_EI_EEI) {
            if (lane->flow == RX_DATA) {
                set_mark(lane, RX_MARK_DROP, 0);
            }
            rx_lane_hunt(lane);
        }
        break;
    case UB_AMCTL_PERIOD:
        if (lane->flow == RX_DATA && a->detail <= UB_AMCTL_PERIOD_1) {
            new_period(lane, a->detail);
        }
        break;
    case UB_AMCTL_FEC:
        if (lane->flow == RX_DATA && a->detail == UB_AMCTL_FEC_CLOSE) {
            set_mark(lane, RX_MARK_CLOSE, 0);
            lane->flow = RX_CLOSED;
            lane->seen = 0;
        } else if (lane->flow == RX_CLOSED &&
                   a->detail == UB_AMCTL_FEC_OPEN) {
            lane->flow = RX_DATA;
            seed(lane, a->lid);
        }
        break;
    default:
        break;
    }
}

static void take_lid(RxLane *lane, uint8_t lid)
{
    if (lid != UB_AMCTL_BAD && lid == lane->last_lid &&
        lid != lane->pub.lid) {
        lane->pub.lid = lid;
        rx_event(lane->rx, UB_PCS_LID, lane->phys, lid);
    }
    lane->last_lid = lid;
}

static void amctl_missed(RxLane *lane)
{
    UbPcsRx *rx = lane->rx;

    lane->pub.missed++;
    lane->pub.misses += lane->pub.misses < UINT8_MAX;
    if (lane->lock == RX_CONFIRM) {
        rx_lane_hunt(lane);
        return;
    }
    rx_event(rx, UB_PCS_MISS, lane->phys, lane->pub.misses);
    if (lane->flow == RX_DATA) {
        lane->missed = true;
        lane->missed_at = lane->n;
        /* Let the other lanes come to this place first. */
        lane->late = lane->stop = true;
    } else if (lane->flow == RX_TRAIN) {
        seed(lane, UB_AMCTL_BAD);
    }
    if (lane->pub.misses % rx->params.unlock) {
        return;
    }
    rx_event(rx, UB_PCS_UNLOCK, lane->phys, 0);
    if (lane->flow == RX_TRAIN) {
        rx_lane_hunt(lane);
    }
    /* In data the lane goes on by its clock: the link decides between
     * Retrain and a narrower width (§3.2.4.4, §3.4.2.4). */
}

static void amctl_good(RxLane *lane, const UbAmctl *a)
{
    UbPcsRx *rx = lane->rx;

    lane->pub.amctls++;
    lane->pub.misses = 0;
    lane->pub.body_errors += a->body < 6;
    if (lane->lock == RX_CONFIRM) {
        lane->good += !lane->hit;
        if (lane->good >= rx->params.confirm) {
            lane->lock = RX_LOCKED;
            lane->pub.locked = true;
            rx_event(rx, UB_PCS_LOCK, lane->phys, lane->pub.slip);
        }
    }
    lane->hit = false;
    take_lid(lane, a->lid);
    if (lane->flow == RX_TRAIN) {
        seed(lane, a->lid);
    }
    if (lane->lock == RX_LOCKED) {
        take_command(lane, a);
        if (rx->ops.amctl) {
            rx->ops.amctl(rx->opaque, lane->phys, a);
        }
    }
}

static void take_amctl(RxLane *lane)
{
    UbAmctl a;

    if (lane->rx->mode.pam4) {
        ub_gray(lane->amctl, lane->amctl, UB_AMCTL_SYMBOLS);
    }
    lane->gathered = 0;
    lane->ltb_fill = 0;
    lane->prev = ub_precode_start(lane->rx->mode.pam4);
    if (memcmp(lane->amctl, lane->same, UB_AMCTL_SYMBOLS)) {
        memcpy(lane->same, lane->amctl, UB_AMCTL_SYMBOLS);
        ub_amctl_decode(&lane->sense, lane->amctl);
    }
    a = lane->sense;
    lane->pub.ebch_fixed += a.fixed;
    lane->pub.ebch_failed += a.failed;
    if (a.end_ok) {
        amctl_good(lane, &a);
    } else {
        amctl_missed(lane);
    }
    lane->left = payload_length(lane);
    lane->seen = 0;
}

/* --------------------------------------------------------------- input --- */

/* Aligned symbols of a lane that is not hunting; stops early at a mark and
 * when it begins to hunt.  Returns symbols used. */
static size_t framed(RxLane *lane, const uint8_t *sym, size_t n)
{
    size_t i = 0;

    while (i < n && lane->lock >= RX_CONFIRM && !lane->stop) {
        size_t step;

        if (lane->left) {
            step = MIN(n - i, lane->left);
            switch (lane->flow) {
            case RX_TRAIN:
                take_ltbs(lane, sym + i, step);
                break;
            case RX_DATA:
                take_data(lane, sym + i, step);
                break;
            case RX_CLOSED:
                step = watch(lane, sym + i, step);
                if (lane->gathered) {
                    i += step;
                    continue;
                }
                if (lane->left == step) {
                    amctl_missed(lane);
                    lane->left += payload_length(lane);
                }
                break;
            }
            lane->left -= step;
        } else {
            step = MIN(n - i, UB_AMCTL_SYMBOLS - lane->gathered);
            memcpy(lane->amctl + lane->gathered, sym + i, step);
            lane->gathered += step;
            if (lane->gathered == UB_AMCTL_SYMBOLS) {
                take_amctl(lane);
            }
        }
        i += step;
    }
    return i;
}

/* Undo slip and polarity. */
static const uint8_t *straighten(RxLane *lane, const uint8_t *sym, size_t n)
{
    uint8_t *out = lane->rx->straight, flip = level_mask(lane->pub.inverted);
    unsigned slip = lane->pub.slip;
    uint8_t carry = lane->carry;

    if (!slip && !flip) {
        return sym;
    }
    for (size_t i = 0; i < n; i++) {
        out[i] = (slip ? carry >> slip | sym[i] << (8 - slip) : sym[i]) ^ flip;
        carry = sym[i];
    }
    return out;
}

size_t rx_lane_input(RxLane *lane, const uint8_t *sym, size_t n)
{
    size_t at = 0;

    if (lane->lock == RX_OFF) {
        return n;
    }
    lane->stop = false;
    if (lane->late) {
        follow_period(lane);
    }
    while (at < n && !lane->stop) {
        if (lane->lock == RX_SLIP) {
            at += hunt(lane, sym + at, n - at);
        } else {
            at += framed(lane, straighten(lane, sym + at, n - at), n - at);
            lane->carry = sym[at - 1];
        }
    }
    lane->pub.symbols += at;
    return at;
}
