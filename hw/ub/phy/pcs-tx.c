/*
 * PCS transmitter (UB 2.0 §3.2.2, §3.2.4.3, §3.2.5, §3.2.6, §3.3).
 *
 * Columns go straight into the caller's run and are scrambled, Gray coded and
 * precoded there.  AMCTLs are sent when something follows them, so that a
 * command given at the boundary still travels in the AMCTL of that boundary.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <glib.h>
#include <stdlib.h>
#include <string.h>

#include "kernels.h"
#include "linecode.h"
#include "pcs.h"
#include "rs.h"
#include "ub/scrambler.h"

#define BATCH 8192      /* bytes of frames worked on at a time: stays in L1 */
#define FRAME_MAX 256   /* bytes, and columns, of the largest frame */
#define TRAIN_PERIOD (UB_LTBS_PER_AMCTL * UB_LTB)

typedef struct TxLane {
    UbScrambler key;
    uint8_t prev;         /* last UI sent, for precoding */
    uint8_t lid;
    uint8_t type, detail; /* command that waits, or No Command */
    bool data;            /* its AMCTLs leave the scrambler alone */
} TxLane;

/* The multi-step calls: which one set the commands that wait. */
typedef enum Wanted { WANT_NOTHING, WANT_EDF, WANT_WIDTH, WANT_CLOSE } Wanted;

struct UbPcsTx {
    UbPcsParams params;
    UbPcsState state;
    UbPcsMode mode;
    Wanted wanted;
    unsigned lanes;      /* logical lanes that carry symbols */
    unsigned wake_lanes; /* what `lanes` becomes at the next AMCTL, or 0 */
    uint32_t since;      /* columns since the last AMCTL */
    uint32_t period;     /* columns between AMCTLs */
    unsigned begun;      /* flits of the frame begun */
    uint8_t phys[UB_LANES];
    UbPcsTxStats stats;
    TxLane lane[UB_LANES];
    uint8_t wake_ltb[UB_LANES][UB_LTB];
    uint8_t frame[FRAME_MAX];          /* the frame begun */
    uint8_t stage[UB_LANES][FRAME_MAX]; /* a frame that an AMCTL cuts */
    uint8_t parity[BATCH / 8]; /* of a batch: 8 bytes in 128 */
};

UbPcsTx *ub_pcs_tx_new(const UbPcsParams *p)
{
    UbPcsTx *tx;

    if (ub_pcs_params_check(p)) {
        return NULL;
    }
    tx = ub_pcs_alloc(sizeof(*tx));
    tx->params = *p;
    for (unsigned i = 0; i < UB_LANES; i++) {
        tx->phys[i] = i;
    }
    ub_pcs_tx_reset(tx);
    return tx;
}

void ub_pcs_tx_free(UbPcsTx *tx)
{
    free(tx);
}

void ub_pcs_tx_reset(UbPcsTx *tx)
{
    tx->state = UB_PCS_IDLE;
    tx->wanted = WANT_NOTHING;
    tx->lanes = tx->wake_lanes = 0;
    tx->begun = 0;
    tx->since = tx->period = TRAIN_PERIOD;
    memset(&tx->mode, 0, sizeof(tx->mode));
    for (unsigned i = 0; i < UB_LANES; i++) {
        tx->lane[i].type = UB_AMCTL_NONE;
        tx->lane[i].detail = 0;
        tx->lane[i].data = false;
    }
}

bool ub_pcs_tx_set_map(UbPcsTx *tx, const uint8_t phys[UB_LANES])
{
    unsigned seen = 0;

    for (unsigned i = 0; i < UB_LANES; i++) {
        seen |= phys[i] < UB_LANES ? 1u << phys[i] : 0;
    }
    if (seen != (1u << UB_LANES) - 1) {
        return false;
    }
    memcpy(tx->phys, phys, UB_LANES);
    return true;
}

uint8_t ub_pcs_tx_lanes(const UbPcsTx *tx)
{
    uint8_t mask = 0;

    for (unsigned i = 0; i < tx->lanes; i++) {
        mask |= 1u << tx->phys[i];
    }
    return mask;
}

/* ---------------------------------------------------------------- runs --- */

/* Symbols per lane that still fit, 0 when the run is of other lanes. */
static size_t run_room(const UbPcsTx *tx, UbLaneRun *run)
{
    uint8_t mask = ub_pcs_tx_lanes(tx);

    if (!run->n) {
        run->mask = mask;
    }
    return run->mask == mask && run->cap > run->n ? run->cap - run->n : 0;
}

static uint8_t *run_at(const UbPcsTx *tx, const UbLaneRun *run, unsigned lane)
{
    return run->lane[tx->phys[lane]] + run->n;
}

static void lane_seed(UbPcsTx *tx, TxLane *lane)
{
    ub_scrambler_seed(&lane->key, tx->params.scrambler, lane->lid);
}

/* Scramble (unless done), Gray code and precode n symbols in place. */
static void lane_code(UbPcsTx *tx, TxLane *lane, uint8_t *sym, size_t n,
                      bool scrambled)
{
    if (!scrambled) {
        ub_scrambler_xor(&lane->key, sym, sym, n);
    }
    if (tx->mode.precode) {
        lane->prev = ub_precode(sym, sym, n, tx->mode.pam4, lane->prev);
    } else if (tx->mode.pam4) {
        ub_gray(sym, sym, n);
    }
}

/* Write `n` symbols of an LTB that repeats, `phase` symbols into it. */
static void fill_ltb(uint8_t *out, const uint8_t ltb[UB_LTB], size_t n,
                     unsigned phase)
{
    for (size_t i = 0; i < n; i++) {
        out[i] = ltb[(phase + i) % UB_LTB];
    }
}

/* The first `coded` lanes of the run hold n more columns, scrambled or not:
 * finish them, and repeat the LTB on lanes that are waking up. */
static void columns_done(UbPcsTx *tx, UbLaneRun *run, size_t n, unsigned coded,
                         size_t scrambled)
{
    for (unsigned l = 0; l < tx->lanes; l++) {
        uint8_t *sym = run_at(tx, run, l);

        if (l >= coded) {
            fill_ltb(sym, tx->wake_ltb[l], n, tx->since % UB_LTB);
        }
        lane_code(tx, &tx->lane[l], sym, n, l < coded && scrambled);
    }
    run->n += n;
    tx->since += n;
}

/* --------------------------------------------------------------- AMCTL --- */

/*
 * One AMCTL on every lane; commands only at a frame or LTB boundary.  A lane
 * in training format gets its seed again, a lane in data keeps its key
 * (§3.2.2.4).
 */
static bool put_amctl(UbPcsTx *tx, UbLaneRun *run, bool boundary)
{
    if (boundary && tx->wake_lanes) {
        unsigned lanes = tx->lanes;

        tx->lanes = tx->wake_lanes;
        if (run_room(tx, run) < UB_AMCTL_SYMBOLS) {
            tx->lanes = lanes;
            return false;
        }
        tx->wake_lanes = 0;
    }
    if (run_room(tx, run) < UB_AMCTL_SYMBOLS) {
        return false;
    }
    for (unsigned l = 0; l < tx->lanes; l++) {
        TxLane *lane = &tx->lane[l];
        uint8_t *sym = run_at(tx, run, l);

        ub_amctl_encode(sym, lane->lid,
                        boundary ? lane->type : UB_AMCTL_NONE,
                        boundary ? lane->detail : 0);
        if (tx->mode.pam4) {
            ub_gray(sym, sym, UB_AMCTL_SYMBOLS);
        }
        if (boundary) {
            if (lane->type == UB_AMCTL_PERIOD && tx->state != UB_PCS_TRAIN) {
                tx->period = tx->params.period[lane->detail & 1];
            }
            lane->type = UB_AMCTL_NONE;
            lane->detail = 0;
        }
        if (!lane->data) {
            lane_seed(tx, lane);
        }
        lane->prev = ub_precode_start(tx->mode.pam4);
    }
    run->n += UB_AMCTL_SYMBOLS;
    tx->since = 0;
    tx->stats.amctls++;
    return true;
}

static void lane_command(TxLane *lane, unsigned type, unsigned detail)
{
    lane->type = type;
    lane->detail = detail;
}

bool ub_pcs_tx_command(UbPcsTx *tx, uint8_t lanes, unsigned type,
                       unsigned detail)
{
    if ((ub_pcs_tx_pending(tx) & lanes) || type >= UB_AMCTL_TYPES ||
        detail >= UB_AMCTL_DETAILS) {
        return false;
    }
    for (unsigned l = 0; l < UB_LANES; l++) {
        if (lanes >> l & 1) {
            lane_command(&tx->lane[l], type, detail);
        }
    }
    return true;
}

uint8_t ub_pcs_tx_pending(const UbPcsTx *tx)
{
    uint8_t mask = 0;

    for (unsigned l = 0; l < UB_LANES; l++) {
        mask |= (tx->lane[l].type != UB_AMCTL_NONE) << l;
    }
    return mask;
}

bool ub_pcs_tx_amctl(UbPcsTx *tx, UbLaneRun *run)
{
    return tx->state != UB_PCS_IDLE && tx->since == tx->period &&
           put_amctl(tx, run, true);
}

/* ------------------------------------------------------------ training --- */

bool ub_pcs_tx_train(UbPcsTx *tx, unsigned lanes, bool pam4, bool precode,
                     const uint8_t lid[UB_LANES])
{
    bool same = tx->state == UB_PCS_TRAIN && tx->lanes == lanes &&
                tx->mode.pam4 == pam4 && tx->mode.precode == precode;

    if (tx->state == UB_PCS_DATA || tx->state == UB_PCS_CLOSED || !lanes ||
        lanes > UB_LANES) {
        return false;
    }
    tx->state = UB_PCS_TRAIN;
    tx->mode.pam4 = pam4;
    tx->mode.precode = precode;
    tx->lanes = lanes;
    tx->period = TRAIN_PERIOD;
    if (!same) {
        tx->since = TRAIN_PERIOD;
    }
    for (unsigned l = 0; l < UB_LANES; l++) {
        tx->lane[l].lid = lid ? lid[l] : l;
        tx->lane[l].data = false;
    }
    return true;
}

unsigned ub_pcs_tx_ltb_room(const UbPcsTx *tx)
{
    return tx->state == UB_PCS_TRAIN ? (tx->period - tx->since) / UB_LTB : 0;
}

unsigned ub_pcs_tx_ltbs(UbPcsTx *tx, const uint8_t ltb[UB_LANES][UB_LTB],
                        unsigned n, UbLaneRun *run)
{
    unsigned sent = 0;

    while (tx->state == UB_PCS_TRAIN && sent < n) {
        size_t step;

        if (tx->since == tx->period && !put_amctl(tx, run, true)) {
            break;
        }
        step = MIN(MIN(n - sent, (tx->period - tx->since) / UB_LTB),
                   run_room(tx, run) / UB_LTB);
        if (!step) {
            break;
        }
        for (unsigned l = 0; l < tx->lanes; l++) {
            fill_ltb(run_at(tx, run, l), ltb[l], step * UB_LTB, 0);
        }
        columns_done(tx, run, step * UB_LTB, tx->lanes, 0);
        tx->stats.ltbs += step;
        sent += step;
    }
    return sent;
}

bool ub_pcs_tx_raw(UbPcsTx *tx, const uint8_t *sym, size_t n, UbLaneRun *run)
{
    if (tx->state != UB_PCS_TRAIN || run_room(tx, run) < n) {
        return false;
    }
    for (unsigned l = 0; l < tx->lanes; l++) {
        memcpy(run_at(tx, run, l), sym, n);
    }
    run->n += n;
    tx->since = tx->period;
    return true;
}

bool ub_pcs_tx_sdf(UbPcsTx *tx, const UbPcsMode *m, UbLaneRun *run)
{
    unsigned lanes = tx->lanes;

    if (tx->state != UB_PCS_TRAIN || tx->since != tx->period ||
        ub_pcs_mode_check(m) || m->width > lanes ||
        m->pam4 != tx->mode.pam4 || m->precode != tx->mode.precode) {
        return false;
    }
    tx->lanes = m->width;
    if (run_room(tx, run) < UB_AMCTL_SYMBOLS) {
        tx->lanes = lanes;
        return false;
    }
    for (unsigned l = 0; l < m->width; l++) {
        tx->lane[l].lid = l;
        lane_command(&tx->lane[l], UB_AMCTL_LWS, ub_amctl_lws(m->width));
    }
    put_amctl(tx, run, true);
    for (unsigned l = 0; l < m->width; l++) {
        tx->lane[l].data = true;
    }
    tx->mode = *m;
    tx->state = UB_PCS_DATA;
    tx->period = tx->params.period[0];
    tx->begun = 0;
    return true;
}

/* ---------------------------------------------------------------- data --- */

/* Whether the inner loops can scramble while they deal: all keys at the same
 * place of a vector. */
static bool keys_aligned(const UbPcsTx *tx)
{
    for (unsigned l = 0; l < tx->mode.width; l++) {
        if (!ub_scrambler_aligned(&tx->lane[l].key)) {
            return false;
        }
    }
    return true;
}

/* Code words of a frame, 0 without FEC. */
static unsigned frame_words(const UbPcsTx *tx)
{
    return tx->mode.fec == UB_FEC_OFF ? 0 : tx->mode.codecs;
}

/* Deal k coded frames out to lane pointers.  Returns the columns of them that
 * are scrambled already. */
static size_t render(UbPcsTx *tx, const uint8_t *msg, const uint8_t *parity,
                     size_t k, uint8_t *const *lane, bool fuse)
{
    const UbPcsKernels *kern = ub_pcs_kernels();
    size_t columns = k * ub_pcs_frame_columns(&tx->mode);
    UbPcsBytes bytes = { (uint8_t *)msg, (uint8_t *)parity, frame_words(tx) };
    UbScrambler *key[UB_LANES];

    if (!fuse || !kern->fused || columns % UB_SCRAMBLER_VECTOR ||
        !keys_aligned(tx)) {
        kern->stripe(lane, &bytes, columns, tx->mode.width, NULL);
        return 0;
    }
    for (unsigned l = 0; l < tx->mode.width; l++) {
        key[l] = &tx->lane[l].key;
    }
    kern->stripe(lane, &bytes, columns, tx->mode.width, key);
    return columns;
}

/* A frame with AMCTLs in it: staged, then copied out in pieces. */
static void put_cut_frame(UbPcsTx *tx, const uint8_t *msg,
                          const uint8_t *parity, UbLaneRun *run)
{
    unsigned columns = ub_pcs_frame_columns(&tx->mode), pos = 0;
    uint8_t *lane[UB_LANES];

    for (unsigned l = 0; l < UB_LANES; l++) {
        lane[l] = tx->stage[l];
    }
    render(tx, msg, parity, 1, lane, false);
    while (pos < columns) {
        unsigned step;

        if (tx->since == tx->period) {
            put_amctl(tx, run, false);
        }
        step = MIN(columns - pos, tx->period - tx->since);
        for (unsigned l = 0; l < tx->mode.width; l++) {
            memcpy(run_at(tx, run, l), tx->stage[l] + pos, step);
        }
        columns_done(tx, run, step, tx->mode.width, 0);
        pos += step;
    }
}

/* Frames worked on at a time; a multiple of 64, if it can be, keeps the
 * scramblers at vector boundaries. */
static size_t batch_frames(const UbPcsMode *m)
{
    size_t frames = BATCH / (ub_pcs_frame_columns(m) * m->width);

    return frames > 64 ? frames - frames % 64 : frames;
}

/* Frames to send with scrambling apart, before keys are at a boundary. */
static size_t frames_to_boundary(const UbPcsTx *tx)
{
    unsigned columns = ub_pcs_frame_columns(&tx->mode);
    unsigned at = tx->lane[0].key.pos, frames = 0;

    while (at % UB_SCRAMBLER_VECTOR && frames < UB_SCRAMBLER_VECTOR) {
        at += columns;
        frames++;
    }
    return frames;
}

/* The most of `frames` that end at a vector boundary, or all of them. */
static size_t whole_vectors(size_t frames, unsigned columns)
{
    size_t unit = UB_SCRAMBLER_VECTOR / (columns & -columns);

    return frames > unit && unit ? frames - frames % unit : frames;
}

/*
 * Send up to k frames; returns how many fitted.  A batch is coded as one,
 * however AMCTLs divide it: the encoder works on many frames at a time, and
 * one alone costs as much.
 */
static size_t put_frames(UbPcsTx *tx, const uint8_t *msg, size_t k,
                         UbLaneRun *run)
{
    const unsigned columns = ub_pcs_frame_columns(&tx->mode);
    const unsigned bytes = ub_pcs_frame_flits(&tx->mode) * UB_FLIT;
    const unsigned words = frame_words(tx);
    const uint8_t *parity = tx->parity;
    size_t batch = batch_frames(&tx->mode), done = 0, coded = 0;

    while (done < k) {
        size_t step, room, ahead;

        if (done == coded) {
            step = MIN(k - done, batch);
            if (words) {
                ub_pcs_kernels()->rs_encode(msg, tx->parity, step, words);
            }
            parity = tx->parity;
            coded += step;
        }
        if (tx->since == tx->period && !put_amctl(tx, run, true)) {
            break;
        }
        room = run_room(tx, run);
        step = MIN(coded - done, (tx->period - tx->since) / columns);
        if (step) {
            uint8_t *lane[UB_LANES] = { 0 };

            step = MIN(step, room / columns);
            if (!step) {
                break;
            }
            ahead = frames_to_boundary(tx);
            step = ahead ? MIN(step, ahead) : whole_vectors(step, columns);
            for (unsigned l = 0; l < tx->mode.width; l++) {
                lane[l] = run_at(tx, run, l);
            }
            columns_done(tx, run, step * columns, tx->mode.width,
                         render(tx, msg, parity, step, lane, true));
        } else {
            size_t cuts = (tx->since + columns - 1) / tx->period;

            if (room < columns + cuts * UB_AMCTL_SYMBOLS) {
                break;
            }
            put_cut_frame(tx, msg, parity, run);
            step = 1;
        }
        msg += step * bytes;
        parity += step * words * UB_RS_PARITY;
        done += step;
    }
    tx->stats.frames += done;
    return done;
}

size_t ub_pcs_tx_flits(UbPcsTx *tx, const uint8_t *flits, size_t n,
                       UbLaneRun *run)
{
    unsigned whole = ub_pcs_frame_flits(&tx->mode);
    size_t taken = 0;

    if (tx->state != UB_PCS_DATA) {
        return 0;
    }
    while (taken < n) {
        const uint8_t *src = flits + taken * UB_FLIT;
        size_t left = n - taken, frames;

        if (tx->begun || left < whole) {
            size_t step = MIN(left, whole - tx->begun);
            uint8_t *dst = tx->frame + tx->begun * UB_FLIT;

            memcpy(dst, src, step * UB_FLIT);
            if (tx->begun + step == whole) {
                if (!put_frames(tx, tx->frame, 1, run)) {
                    break;
                }
                tx->begun = 0;
            } else {
                tx->begun += step;
            }
            taken += step;
            continue;
        }
        frames = put_frames(tx, src, left / whole, run);
        taken += frames * whole;
        if (frames < left / whole) {
            break;
        }
    }
    tx->stats.flits += taken;
    return taken;
}

void ub_pcs_tx_set_null(UbPcsTx *tx, const uint8_t flit[UB_FLIT])
{
    memcpy(tx->params.null_flit, flit, UB_FLIT);
}

unsigned ub_pcs_tx_missing(const UbPcsTx *tx)
{
    return tx->begun ? ub_pcs_frame_flits(&tx->mode) - tx->begun : 0;
}

/* Send the frame begun, or a frame of fill when there is none. */
static bool put_filled(UbPcsTx *tx, UbLaneRun *run)
{
    unsigned whole = ub_pcs_frame_flits(&tx->mode);

    for (unsigned i = tx->begun; i < whole; i++) {
        memcpy(tx->frame + i * UB_FLIT, tx->params.null_flit, UB_FLIT);
    }
    if (!put_frames(tx, tx->frame, 1, run)) {
        return false;
    }
    tx->stats.fill_flits += whole - tx->begun;
    tx->begun = 0;
    return true;
}

bool ub_pcs_tx_flush(UbPcsTx *tx, UbLaneRun *run)
{
    return !tx->begun || put_filled(tx, run);
}

size_t ub_pcs_tx_flit_room(const UbPcsTx *tx)
{
    unsigned columns = ub_pcs_frame_columns(&tx->mode);
    uint32_t at = tx->since;
    size_t frames = 0;

    if (tx->state != UB_PCS_DATA || at == tx->period) {
        return 0;
    }
    do {
        frames++;
        at = (at + columns) % tx->period;
    } while (at);
    return frames * ub_pcs_frame_flits(&tx->mode) - tx->begun;
}

bool ub_pcs_tx_to_amctl(UbPcsTx *tx, UbLaneRun *run)
{
    while (tx->state == UB_PCS_DATA && tx->since != tx->period) {
        if (!put_filled(tx, run)) {
            return false;
        }
    }
    return tx->state == UB_PCS_DATA && put_amctl(tx, run, true);
}

/*
 * Bring the commands of a multi-step call out: first whatever waits already,
 * then the ones that `set` puts on the lanes.  True when they went.
 */
static bool commanded(UbPcsTx *tx, Wanted want, UbLaneRun *run, unsigned arg,
                      void (*set)(UbPcsTx *tx, unsigned arg))
{
    if (tx->state != UB_PCS_DATA) {
        return false;
    }
    if (tx->wanted != want) {
        if (!ub_pcs_tx_flush(tx, run) ||
            (ub_pcs_tx_pending(tx) && !ub_pcs_tx_to_amctl(tx, run))) {
            return false;
        }
        set(tx, arg);
        tx->wanted = want;
    }
    if (!ub_pcs_tx_to_amctl(tx, run)) {
        return false;
    }
    tx->wanted = WANT_NOTHING;
    return true;
}

static void set_all(UbPcsTx *tx, unsigned type, unsigned detail)
{
    for (unsigned l = 0; l < tx->lanes; l++) {
        lane_command(&tx->lane[l], type, detail);
    }
}

static void set_edf(UbPcsTx *tx, unsigned arg)
{
    set_all(tx, UB_AMCTL_LWS, UB_AMCTL_LWS_X0);
}

bool ub_pcs_tx_edf(UbPcsTx *tx, UbLaneRun *run)
{
    if (!commanded(tx, WANT_EDF, run, 0, set_edf)) {
        return false;
    }
    tx->state = UB_PCS_TRAIN;
    tx->period = TRAIN_PERIOD;
    tx->lanes = tx->mode.width;
    tx->wake_lanes = 0;
    for (unsigned l = 0; l < UB_LANES; l++) {
        tx->lane[l].data = false;
    }
    return true;
}

bool ub_pcs_tx_wake(UbPcsTx *tx, unsigned lanes,
                    const uint8_t ltb[UB_LANES][UB_LTB])
{
    if (tx->state != UB_PCS_DATA || lanes <= tx->mode.width ||
        lanes > UB_LANES) {
        return false;
    }
    tx->wake_lanes = lanes > tx->lanes ? lanes : 0;
    memcpy(tx->wake_ltb, ltb, sizeof(tx->wake_ltb));
    for (unsigned l = tx->lanes; l < lanes; l++) {
        tx->lane[l].lid = l;
        tx->lane[l].data = false;
        lane_command(&tx->lane[l], UB_AMCTL_NONE, 0);
    }
    return true;
}

static void set_width(UbPcsTx *tx, unsigned width)
{
    for (unsigned l = 0; l < tx->lanes; l++) {
        if (l < width) {
            lane_command(&tx->lane[l], UB_AMCTL_LWS, ub_amctl_lws(width));
        } else {
            lane_command(&tx->lane[l], UB_AMCTL_EI, UB_AMCTL_EI_EEI);
        }
    }
}

bool ub_pcs_tx_width(UbPcsTx *tx, unsigned width, UbLaneRun *run)
{
    if (!ub_amctl_lws(width) || width > tx->lanes || tx->wake_lanes ||
        !commanded(tx, WANT_WIDTH, run, width, set_width)) {
        return false;
    }
    tx->mode.width = width;
    tx->lanes = width;
    for (unsigned l = 0; l < UB_LANES; l++) {
        tx->lane[l].data = l < width;
    }
    return true;
}

/* ----------------------------------------------------------- low power --- */

static void set_close(UbPcsTx *tx, unsigned arg)
{
    set_all(tx, UB_AMCTL_FEC, UB_AMCTL_FEC_CLOSE);
}

bool ub_pcs_tx_close(UbPcsTx *tx, UbLaneRun *run)
{
    unsigned id = tx->params.scrambler;

    if (!commanded(tx, WANT_CLOSE, run, 0, set_close)) {
        return false;
    }
    id = id == UB_SCRAMBLER_OFF ? UB_SCRAMBLER_PRBS23 : id;
    tx->state = UB_PCS_CLOSED;
    for (unsigned l = 0; l < tx->lanes; l++) {
        ub_scrambler_seed(&tx->lane[l].key, id, tx->lane[l].lid);
    }
    return true;
}

size_t ub_pcs_tx_prbs(UbPcsTx *tx, size_t columns, UbLaneRun *run)
{
    size_t done = 0;

    while (tx->state == UB_PCS_CLOSED && done < columns) {
        size_t step;

        if (tx->since == tx->period && !put_amctl(tx, run, true)) {
            break;
        }
        step = MIN(MIN(columns - done, tx->period - tx->since),
                   run_room(tx, run));
        if (!step) {
            break;
        }
        for (unsigned l = 0; l < tx->lanes; l++) {
            uint8_t *sym = run_at(tx, run, l);

            memset(sym, 0, step);
            ub_scrambler_xor(&tx->lane[l].key, sym, sym, step);
        }
        run->n += step;
        tx->since += step;
        done += step;
    }
    return done;
}

bool ub_pcs_tx_open(UbPcsTx *tx, UbLaneRun *run)
{
    if (tx->state != UB_PCS_CLOSED ||
        run_room(tx, run) < UB_AMCTL_SYMBOLS) {
        return false;
    }
    set_all(tx, UB_AMCTL_FEC, UB_AMCTL_FEC_OPEN);
    put_amctl(tx, run, true);
    for (unsigned l = 0; l < tx->lanes; l++) {
        lane_seed(tx, &tx->lane[l]);
    }
    tx->state = UB_PCS_DATA;
    return true;
}

UbPcsState ub_pcs_tx_state(const UbPcsTx *tx)
{
    return tx->state;
}

const UbPcsMode *ub_pcs_tx_mode(const UbPcsTx *tx)
{
    return &tx->mode;
}

const UbPcsTxStats *ub_pcs_tx_stats(const UbPcsTx *tx)
{
    return &tx->stats;
}
