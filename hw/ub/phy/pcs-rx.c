/*
 * PCS receiver, the link: deskew, lane order, width switches, frames, FEC
 * (UB 2.0 §3.2.3).
 *
 * Lanes put descrambled columns into their buffers from the column after SDF
 * on, so equal index is equal column and skew is only a difference in fill.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <glib.h>
#include <stdlib.h>
#include <string.h>

#include "core/prefetch.h"
#include "kernels.h"
#include "pcs-rx.h"
#include "rs.h"

UbPcsRx *ub_pcs_rx_new(const UbPcsParams *p, const UbPcsRxOps *ops,
                       void *opaque)
{
    UbPcsRx *rx;

    if (ub_pcs_params_check(p)) {
        return NULL;
    }
    rx = ub_pcs_alloc(sizeof(*rx));
    rx->params = *p;
    /* A lane remembers one AMCTL: another must not come within the skew. */
    rx->skew = MIN(p->skew, MIN(p->period[0], p->period[1]) - 1);
    rx->ops = *ops;
    rx->opaque = opaque;
    rx->next_fec = UB_FEC_T4;
    rx->next_codecs = 1;
    for (unsigned i = 0; i < UB_LANES; i++) {
        rx->map[i] = i;
        rx->lane[i].rx = rx;
        rx->lane[i].phys = i;
    }
    ub_pcs_rx_reset(rx);
    return rx;
}

void ub_pcs_rx_free(UbPcsRx *rx)
{
    free(rx);
}

/* ------------------------------------------- control, now or after a chunk */

static void stream_end(RxLane *lane)
{
    lane->stream = lane->active = false;
    lane->mark = RX_MARK_NONE;
    lane->missed = lane->late = lane->moved = false;
    lane->n = 0;
}

static void lane_drop(RxLane *lane)
{
    rx_lane_hunt(lane);
    stream_end(lane);
}

static void lane_off(RxLane *lane)
{
    lane_drop(lane);
    lane->lock = RX_OFF;
    lane->pub.enabled = false;
    lane->pub.inverted = false;
    lane->pub.slip = 0;
    lane->pub.lid = UB_AMCTL_LID_NULL;
}

static void data_stop(UbPcsRx *rx)
{
    rx->state = UB_PCS_TRAIN;
    rx->mode.width = 0;
    rx->period = 0;
    for (unsigned i = 0; i < UB_LANES; i++) {
        stream_end(&rx->lane[i]);
    }
}

static void apply_reset(UbPcsRx *rx)
{
    data_stop(rx);
    for (unsigned i = 0; i < UB_LANES; i++) {
        lane_off(&rx->lane[i]);
    }
    rx->state = UB_PCS_IDLE;
}

static void apply_enable(UbPcsRx *rx, uint8_t lanes, bool pam4, bool precode)
{
    bool change = rx->mode.pam4 != pam4 || rx->mode.precode != precode;

    rx->mode.pam4 = pam4;
    rx->mode.precode = precode;
    for (unsigned i = 0; i < UB_LANES; i++) {
        RxLane *lane = &rx->lane[i];

        if (!(lanes >> i & 1)) {
            lane_off(lane);
        } else if (!lane->pub.enabled || change) {
            lane_drop(lane);
            lane->pub.enabled = true;
        }
    }
    if (rx->state == UB_PCS_IDLE || !lanes || change) {
        data_stop(rx);
        rx->state = lanes ? UB_PCS_TRAIN : UB_PCS_IDLE;
    }
}

static void apply_relock(UbPcsRx *rx, uint8_t lanes)
{
    bool broken = false;

    for (unsigned i = 0; i < UB_LANES; i++) {
        if ((lanes >> i & 1) && rx->lane[i].pub.enabled) {
            broken |= rx->lane[i].active;
            lane_drop(&rx->lane[i]);
        }
    }
    if (broken) {
        data_stop(rx);
    }
}

static void apply_wanted(UbPcsRx *rx)
{
    if (rx->want_reset) {
        apply_reset(rx);
    }
    if (rx->want_enable) {
        apply_enable(rx, rx->want_lanes, rx->want_pam4, rx->want_precode);
    }
    apply_relock(rx, rx->want_relock);
    rx->want_reset = rx->want_enable = false;
    rx->want_relock = 0;
}

void ub_pcs_rx_reset(UbPcsRx *rx)
{
    rx->want_reset = true;
    rx->want_enable = false;
    rx->want_relock = 0;
    if (!rx->busy) {
        apply_wanted(rx);
    }
}

void ub_pcs_rx_enable(UbPcsRx *rx, uint8_t lanes, bool pam4, bool precode)
{
    rx->want_enable = true;
    rx->want_lanes = lanes;
    rx->want_pam4 = pam4;
    rx->want_precode = precode;
    if (!rx->busy) {
        apply_wanted(rx);
    }
}

void ub_pcs_rx_relock(UbPcsRx *rx, uint8_t lanes)
{
    rx->want_relock |= lanes;
    if (!rx->busy) {
        apply_wanted(rx);
    }
}

void ub_pcs_rx_set_fec(UbPcsRx *rx, UbFec fec, unsigned codecs)
{
    rx->next_fec = fec;
    rx->next_codecs = codecs == 2 ? 2 : 1;
}

bool ub_pcs_rx_set_map(UbPcsRx *rx, const uint8_t logical[UB_LANES])
{
    unsigned seen = 0;

    for (unsigned i = 0; i < UB_LANES; i++) {
        seen |= logical[i] < UB_LANES ? 1u << logical[i] : 0;
    }
    if (seen != (1u << UB_LANES) - 1) {
        return false;
    }
    memcpy(rx->map, logical, UB_LANES);
    return true;
}

/* -------------------------------------------------------------- frames --- */

static void hi_ber_check(UbPcsRx *rx)
{
    uint64_t count = rx->stats.error_symbols - rx->ber_base;

    if (rx->params.hi_fec_ber && !rx->hi_ber &&
        count >= rx->params.hi_fec_ber) {
        rx->hi_ber = true;
        rx_event(rx, UB_PCS_HI_FEC_BER, UB_LANES, MIN(count, UINT32_MAX));
    }
}

void ub_pcs_rx_clear_ber(UbPcsRx *rx)
{
    rx->ber_base = rx->stats.error_symbols;
    rx->hi_ber = false;
}

static void deliver(UbPcsRx *rx, const uint8_t *flits, size_t n, bool ok)
{
    if (n) {
        rx->stats.flits += n;
        rx->stats.bad_flits += ok ? 0 : n;
        if (rx->ops.flits) {
            rx->ops.flits(rx->opaque, flits, n, ok);
        }
    }
}

static void word_done(UbPcsRx *rx, unsigned codec, int fixed)
{
    if (rx->ops.word) {
        rx->ops.word(rx->opaque, codec, fixed);
    }
}

/* Correct the words of frame f; false when one is beyond repair. */
static bool repair(UbPcsRx *rx, size_t f)
{
    unsigned t = rx->mode.fec == UB_FEC_T2 ? 2 : 4, codecs = rx->mode.codecs;
    bool ok = true;

    for (unsigned c = 0; c < codecs; c++) {
        int fixed;

        if (!(rx->bad[f] >> c & 1)) {
            word_done(rx, c, 0);
            continue;
        }
        fixed = ub_rs_decode(rx->work + f * UB_RS_K * codecs + c,
                             rx->parity + f * UB_RS_PARITY * codecs + c,
                             codecs, t);
        if (fixed < 0) {
            rx->stats.failed_words++;
            rx->stats.error_symbols += t + 1;
            ok = false;
        } else {
            rx->stats.fixed_words++;
            rx->stats.fixed_symbols += fixed;
        }
        word_done(rx, c, fixed);
    }
    return ok;
}

/* Decode the k frames gathered and hand their flits up in runs of one
 * verdict. */
static void decode_frames(UbPcsRx *rx, size_t k)
{
    unsigned codecs = rx->mode.codecs, flits = ub_pcs_frame_flits(&rx->mode);
    size_t from = 0;
    bool run_ok = true;

    rx->stats.words += k * codecs;
    if (!ub_pcs_kernels()->rs_check(rx->work, rx->parity, k, codecs,
                                    rx->bad) && !rx->ops.word) {
        deliver(rx, rx->work, k * flits, true);
        return;
    }
    for (size_t f = 0; f < k; f++) {
        bool ok = repair(rx, f);

        if (ok != run_ok) {
            deliver(rx, rx->work + from * flits * UB_FLIT, (f - from) * flits,
                    run_ok);
            from = f;
            run_ok = ok;
        }
    }
    deliver(rx, rx->work + from * flits * UB_FLIT, (k - from) * flits,
            run_ok);
    hi_ber_check(rx);
}

static RxLane *lane_of(UbPcsRx *rx, unsigned logical)
{
    for (unsigned i = 0; i < UB_LANES; i++) {
        if (rx->lane[i].active && rx->lane[i].logical == logical) {
            return &rx->lane[i];
        }
    }
    return NULL;
}

/* Drop the first n columns of every active lane. */
static void consume(UbPcsRx *rx, size_t n)
{
    for (unsigned i = 0; n && i < UB_LANES; i++) {
        RxLane *lane = &rx->lane[i];

        if (!lane->active) {
            continue;
        }
        lane->n -= n;
        memmove(lane->fifo, lane->fifo + n, lane->n);
        lane->mark_at -= lane->mark != RX_MARK_NONE ? n : 0;
        if (lane->missed) {
            lane->missed = lane->missed_at >= n;
            lane->missed_at -= lane->missed ? n : 0;
        }
        if (lane->moved) {
            lane->moved = lane->moved_at >= n;
            lane->moved_at -= lane->moved ? n : 0;
        }
    }
}

/* Decode what all active lanes have of the stream before its next change. */
static void drain(UbPcsRx *rx)
{
    const UbPcsKernels *kern = ub_pcs_kernels();
    const UbPcsBytes bytes = {
        .msg = rx->work,
        .parity = rx->parity,
        .codecs = rx->mode.fec == UB_FEC_OFF ? 0 : rx->mode.codecs,
    };
    const uint8_t *lane[UB_LANES];
    unsigned width = rx->mode.width;
    unsigned columns = ub_pcs_frame_columns(&rx->mode);
    size_t batch = RX_BATCH / (columns * width), limit = SIZE_MAX, frames;

    for (unsigned l = 0; l < width; l++) {
        RxLane *from = lane_of(rx, l);

        if (!from) {
            return;
        }
        lane[l] = from->fifo;
        limit = MIN(limit, from->mark ? from->mark_at : from->n);
    }
    frames = limit / columns;
    for (size_t done = 0, step; done < frames; done += step) {
        step = MIN(frames - done, batch);
        kern->destripe(&bytes, lane, step * columns, width);
        for (unsigned l = 0; l < width; l++) {
            lane[l] += step * columns;
        }
        if (rx->mode.fec == UB_FEC_OFF) {
            deliver(rx, rx->work, step * ub_pcs_frame_flits(&rx->mode), true);
        } else {
            decode_frames(rx, step);
        }
    }
    consume(rx, frames * columns);
}

/* ------------------------------------------------------ stream changes --- */

/* Lanes that wait to be part of the stream. */
static unsigned joiners(UbPcsRx *rx, RxLane *out[UB_LANES], size_t *least,
                        size_t *most)
{
    unsigned count = 0;

    *most = 0;
    *least = SIZE_MAX;
    for (unsigned i = 0; i < UB_LANES; i++) {
        RxLane *lane = &rx->lane[i];

        if (lane->stream && !lane->active) {
            out[count++] = lane;
            *most = MAX(*most, lane->n);
            *least = MIN(*least, lane->n);
        }
    }
    return count;
}

/* Number `count` lanes first … first+count-1; false when `number` (LID or the
 * configured map) does not give exactly those. */
static bool number_lanes(RxLane *const *lane, unsigned count, unsigned first,
                         const uint8_t *map)
{
    unsigned seen = 0;

    for (unsigned i = 0; i < count; i++) {
        unsigned number = map ? map[lane[i]->phys] : lane[i]->sdf_lid;

        if (number < first || number >= first + count) {
            return false;
        }
        lane[i]->logical = number;
        seen |= 1u << (number - first);
    }
    return seen == (1u << count) - 1;
}

/* Full disorder (§3.2.3.3): neither ascending nor descending, or lane 0 not
 * on physical lane 0, 1, 3 or 7. */
static bool disordered(RxLane *const *lane, unsigned count)
{
    bool up = true, down = true, home = false;

    for (unsigned i = 0; i < count; i++) {
        unsigned phys = lane[i]->phys;

        up &= lane[i]->logical == i;
        down &= lane[i]->logical == count - 1 - i;
        home |= lane[i]->logical == 0 &&
                (phys == 0 || phys == 1 || phys == 3 || phys == 7);
    }
    return !(up || down) || !home;
}

static void order_lanes(UbPcsRx *rx, RxLane *const *lane, unsigned count,
                        unsigned first)
{
    bool by_lid = rx->params.full_disorder &&
                  number_lanes(lane, count, first, NULL);

    if (!by_lid && !number_lanes(lane, count, first, rx->map) &&
        !number_lanes(lane, count, first, NULL)) {
        for (unsigned i = 0; i < count; i++) {
            lane[i]->logical = first + i;
        }
    }
    if (by_lid && !first && disordered(lane, count)) {
        rx_event(rx, UB_PCS_LANE_MAP, UB_LANES, 0);
    }
    for (unsigned i = 0; i < count; i++) {
        lane[i]->active = true;
    }
}

static void overflow(UbPcsRx *rx)
{
    rx->stats.skew_overflows++;
    rx->overflowed = false;
    data_stop(rx);
    rx_event(rx, UB_PCS_SKEW_OVERFLOW, UB_LANES, 0);
}

/* SDF seen on every lane of the width it tells: the stream begins. */
static bool begin(UbPcsRx *rx, bool all)
{
    RxLane *lane[UB_LANES];
    size_t least, most;
    unsigned count = joiners(rx, lane, &least, &most);

    if (!count) {
        return false;
    }
    if (count < lane[0]->sdf_width) {
        least = 0;
    }
    if (all && most - least > rx->skew) {
        overflow(rx);
        return false;
    }
    if (count < lane[0]->sdf_width) {
        return false;
    }
    rx->mode.width = count = lane[0]->sdf_width;
    rx->mode.fec = rx->next_fec;
    rx->mode.codecs = rx->next_codecs;
    rx->period = 0;
    order_lanes(rx, lane, count, 0);
    rx->state = UB_PCS_DATA;
    rx_event(rx, UB_PCS_SDF, UB_LANES, count);
    return true;
}

/* Where the stream changes, or false: the first mark of any lane, which every
 * other one shares, or would, had it not missed the AMCTL in that place. */
static bool change_at(UbPcsRx *rx, size_t *at, RxMark *kind, unsigned *width)
{
    bool any = false;

    *kind = RX_MARK_DROP;
    for (unsigned i = 0; i < UB_LANES; i++) {
        RxLane *lane = &rx->lane[i];

        if (lane->active && lane->mark && (!any || lane->mark_at < *at)) {
            *at = lane->mark_at;
            any = true;
        }
    }
    for (unsigned i = 0; any && i < UB_LANES; i++) {
        RxLane *lane = &rx->lane[i];

        if (!lane->active) {
            continue;
        }
        if (lane->mark && lane->mark_at == *at) {
            if (lane->mark != RX_MARK_DROP) {
                *kind = lane->mark;
                *width = lane->mark_width;
            }
        } else if (!lane->missed || lane->missed_at != *at) {
            return false;
        }
    }
    return any;
}

/* The lanes of the new width; false while new ones are still to come. */
static bool change_width(UbPcsRx *rx, unsigned width, size_t at, bool all)
{
    RxLane *lane[UB_LANES];
    size_t least, most;
    unsigned old = rx->mode.width;
    unsigned count = joiners(rx, lane, &least, &most);

    if (width > old && count < width - old) {
        if (all && most > rx->skew) {
            overflow(rx);
        }
        return false;
    }
    consume(rx, at);
    for (unsigned i = 0; i < UB_LANES; i++) {
        RxLane *l = &rx->lane[i];

        if (l->active && l->logical >= width) {
            lane_drop(l);
        }
        l->mark = RX_MARK_NONE;
        l->missed = false;
    }
    if (width > old) {
        order_lanes(rx, lane, width - old, old);
    }
    rx->mode.width = width;
    rx_event(rx, UB_PCS_WIDTH, UB_LANES, width);
    return true;
}

static void end_data(UbPcsRx *rx)
{
    for (unsigned i = 0; i < UB_LANES; i++) {
        RxLane *lane = &rx->lane[i];

        if (lane->active && !lane->mark) {
            lane_drop(lane); /* it missed EDF, so its framing is lost */
        }
    }
    data_stop(rx);
    rx_event(rx, UB_PCS_EDF, UB_LANES, 0);
}

static void close_data(UbPcsRx *rx, size_t at)
{
    consume(rx, at);
    for (unsigned i = 0; i < UB_LANES; i++) {
        RxLane *lane = &rx->lane[i];

        if (lane->active && !lane->mark) {
            lane->flow = RX_CLOSED;
            lane->n = 0;
        }
        lane->mark = RX_MARK_NONE;
        lane->missed = false;
    }
    rx->state = UB_PCS_CLOSED;
    rx_event(rx, UB_PCS_CLOSE, UB_LANES, 0);
}

/* Act on a change that has been reached; true when more may follow. */
static bool change(UbPcsRx *rx, bool all)
{
    size_t at = 0;
    unsigned width = 0;
    RxMark kind;

    if (!change_at(rx, &at, &kind, &width) ||
        at >= ub_pcs_frame_columns(&rx->mode)) {
        return false;
    }
    switch (kind) {
    case RX_MARK_WIDTH:
        return change_width(rx, width, at, all);
    case RX_MARK_CLOSE:
        close_data(rx, at);
        return true;
    default:
        end_data(rx);
        return true;
    }
}

static bool reopened(UbPcsRx *rx)
{
    for (unsigned l = 0; l < rx->mode.width; l++) {
        RxLane *lane = lane_of(rx, l);

        if (!lane || lane->flow != RX_DATA) {
            return false;
        }
    }
    return true;
}

static bool skewed(UbPcsRx *rx)
{
    size_t least = SIZE_MAX, most = 0;

    for (unsigned i = 0; i < UB_LANES; i++) {
        const RxLane *lane = &rx->lane[i];

        if (lane->active) {
            size_t n = lane->mark && lane->flow != RX_DATA ? lane->mark_at :
                       lane->n;

            most = MAX(most, n);
            if (lane->flow == RX_DATA || rx->state == UB_PCS_CLOSED) {
                least = MIN(least, n);
            }
        }
    }
    return least < most && most - least > rx->skew;
}

/* Start, drain and change as far as the lanes allow.  `all`: every lane has
 * come to the same symbol time, so what is missing now is skew. */
static void settle(UbPcsRx *rx, bool all)
{
    bool more = true;

    while (more) {
        more = false;
        switch (rx->state) {
        case UB_PCS_TRAIN:
            more = begin(rx, all);
            break;
        case UB_PCS_DATA:
            drain(rx);
            more = change(rx, all);
            break;
        case UB_PCS_CLOSED:
            if (reopened(rx)) {
                rx->state = UB_PCS_DATA;
                rx_event(rx, UB_PCS_OPEN, UB_LANES, 0);
                more = true;
            }
            break;
        default:
            break;
        }
    }
    if (rx->overflowed || (all && skewed(rx))) {
        overflow(rx);
    }
}

/* One chunk on every lane.  A lane pauses where its stream changes, until the
 * others have come to the same place and the change is done. */
static void take_chunk(UbPcsRx *rx, const UbLaneRun *run, size_t at, size_t n)
{
    static const uint8_t dead[RX_CHUNK];
    size_t taken[UB_LANES] = { 0 };
    bool all;

    do {
        all = true;
        for (unsigned i = 0; i < UB_LANES; i++) {
            RxLane *lane = &rx->lane[i];
            const uint8_t *sym = dead;

            if (run->mask >> i & 1) {
                sym = run->lane[i] + at;
                /* The processor does not foresee a jump from lane to lane. */
                core_prefetch(sym + n, MIN(run->n - at - n, RX_CHUNK), false);
            } else if (lane->flow != RX_DATA || lane->lock != RX_LOCKED) {
                continue;
            }
            if (taken[i] < n) {
                taken[i] += rx_lane_input(lane, sym + taken[i], n - taken[i]);
                all &= taken[i] == n;
            }
        }
        settle(rx, all);
    } while (!all);
}

void ub_pcs_rx(UbPcsRx *rx, const UbLaneRun *run)
{
    for (size_t at = 0, step; at < run->n; at += step) {
        step = MIN(run->n - at, RX_CHUNK);
        rx->busy = true;
        take_chunk(rx, run, at, step);
        rx->busy = false;
        apply_wanted(rx);
    }
}

void ub_pcs_rx_lane(const UbPcsRx *rx, unsigned lane, UbPcsLane *out)
{
    if (lane < UB_LANES) {
        *out = rx->lane[lane].pub;
    } else {
        memset(out, 0, sizeof(*out));
    }
}

const UbPcsRxStats *ub_pcs_rx_stats(const UbPcsRx *rx)
{
    return &rx->stats;
}

UbPcsState ub_pcs_rx_state(const UbPcsRx *rx)
{
    return rx->state;
}

const UbPcsMode *ub_pcs_rx_mode(const UbPcsRx *rx)
{
    return &rx->mode;
}
