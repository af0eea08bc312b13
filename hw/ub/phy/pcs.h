/*
 * UB physical coding sublayer (UB 2.0 §3.2, and the bit work of §3.3).
 *
 * A transmitter turns what the layers above have - flits of 20 bytes, LTBs of
 * 16 symbols - into symbols of physical lanes, and a receiver turns lanes back
 * into flits, LTBs and AMCTL events.  Both are batch machines without a clock:
 * the caller says how much to send and gets that many symbols; symbols that
 * are never asked for do not exist, so an idle link costs nothing.
 *
 * Units.  A symbol is one byte of one lane, bit 0 first in time.  With PAM4
 * a byte holds four UIs, bits 1:0 the first, each the transmitted level 0-3.
 * A flit is UB_FLIT bytes, byte 0 = S0 first.  A frame is the least number of
 * flits that fills whole code words and whole columns (ub_pcs_frame_flits).
 * A column is the set of symbols of all active lanes at one symbol time.
 *
 * Lanes.  "Physical" numbers count the lanes of the port's wires, "logical"
 * ones the lanes of the link: AMCTL.LID, striping and scrambler seeds follow
 * the logical number.  Width means lanes 0 … width-1 logical.
 *
 * Ownership.  Buffers belong to the caller and are only used during the call.
 * A UbPcsTx or UbPcsRx belongs to one thread at a time.  Nothing in here
 * aborts on what arrives on a lane.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef UB_PCS_H
#define UB_PCS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "amctl.h"
#include "ub/lanes.h"
#include "ub/phy_config.h"

#define UB_LTBS_PER_AMCTL 32 /* §3.2.4.3: 512 symbols between AMCTLs */

/* Data path mode: what training agrees on for one direction. */
typedef struct UbPcsMode {
    uint8_t width;  /* 1, 2, 4 or 8 */
    uint8_t fec;    /* UbFec */
    uint8_t codecs; /* 1, or 2 = interleaved; ignored with UB_FEC_OFF */
    bool pam4;      /* Gray coding of data, LTBs and AMCTLs (§3.3.2) */
    bool precode;   /* §3.3.3, of scrambled symbols only */
} UbPcsMode;

#define UB_PCS_PERIOD_MAX (1u << 30)

const char *ub_pcs_mode_check(const UbPcsMode *m);

/* Flits in a frame: 6 or 12 with FEC; off: 2 for x8, else 1. */
unsigned ub_pcs_frame_flits(const UbPcsMode *m);
/* Symbols per lane of a frame. */
unsigned ub_pcs_frame_columns(const UbPcsMode *m);

/*
 * Runs (ub/lanes.h).  When a transmit call would change the set of lanes of a
 * run that has symbols, or the rest (cap - n) is too small for the next
 * indivisible piece, it stops there and returns; the caller ships the run,
 * starts a new one and calls again.  cap >= UB_PCS_RUN_MIN, or no call makes
 * progress.
 */
#define UB_PCS_RUN_MIN 512

/* ------------------------------------------------------------ transmit --- */

typedef struct UbPcsTx UbPcsTx;

UbPcsTx *ub_pcs_tx_new(const UbPcsParams *p);
void ub_pcs_tx_free(UbPcsTx *tx);

/* Back to electrical idle: no lanes, training format, No Command, nothing
 * pending. */
void ub_pcs_tx_reset(UbPcsTx *tx);

/* Physical lane that carries each logical lane (lane reversal, §3.4.2.7);
 * entries must be a permutation of 0-7, or the call is ignored (false). */
bool ub_pcs_tx_set_map(UbPcsTx *tx, const uint8_t phys[UB_LANES]);

/*
 * Training.  Lanes 0 … lanes-1 (logical) send LTBs; an AMCTL goes out before
 * the first LTB and then after every 32.  It is sent lazily, at the head of
 * the next call that has something to send, so that a command given at the
 * boundary travels in that very AMCTL.
 *
 * ub_pcs_tx_train enters the format at an EI exit or after EDF; pam4/precode
 * are those of the rate.  `lid` NULL: AMCTL.LID is the logical lane; else the
 * value per logical lane (before lane numbers are assigned).
 * Called while data flows it is refused (false): send EDF first.
 */
bool ub_pcs_tx_train(UbPcsTx *tx, unsigned lanes, bool pam4, bool precode,
                     const uint8_t lid[UB_LANES]);

/* LTBs that may go out before an AMCTL is due, 0-32; 0 = at the boundary. */
unsigned ub_pcs_tx_ltb_room(const UbPcsTx *tx);

/* Send `n` times the LTB of each logical lane (ltb[lane], CRC in place).
 * Returns LTBs per lane sent, fewer than n only when the run is full. */
unsigned ub_pcs_tx_ltbs(UbPcsTx *tx, const uint8_t ltb[UB_LANES][UB_LTB],
                        unsigned n, UbLaneRun *run);

/* Raw symbols, the same on every training lane: EEIB sequences (no scramble,
 * no Gray, no precode, no AMCTL).  All or nothing; false when it does not
 * fit.  The next LTB is preceded by an AMCTL. */
bool ub_pcs_tx_raw(UbPcsTx *tx, const uint8_t *sym, size_t n, UbLaneRun *run);

/*
 * Commands.  The command rides in the next AMCTL that is due and on a frame
 * boundary, on the logical lanes of `lanes`; the other lanes say No Command
 * unless they have one of their own.  SDF, EDF and width changes go through
 * the calls below.  False: a lane of `lanes` still has a command waiting.
 */
bool ub_pcs_tx_command(UbPcsTx *tx, uint8_t lanes, unsigned type,
                       unsigned detail);
/* Logical lanes with a command that has not gone out. */
uint8_t ub_pcs_tx_pending(const UbPcsTx *tx);

/* Emit the AMCTL when one is due now (ltb_room or flit_room is 0), else do
 * nothing.  Returns whether one went out. */
bool ub_pcs_tx_amctl(UbPcsTx *tx, UbLaneRun *run);

/* Training, at the boundary -> data: emits AMCTL with SDF at the mode's width.
 * False when not at the boundary, the mode is bad or the run is full. */
bool ub_pcs_tx_sdf(UbPcsTx *tx, const UbPcsMode *m, UbLaneRun *run);

/*
 * Send flits.  Whole frames go out, AMCTLs at their period between them (and
 * within a frame, if the period is no multiple of it); flits short of a frame
 * stay inside and count as taken.  Returns flits taken, fewer than n only when
 * the run is full.
 */
size_t ub_pcs_tx_flits(UbPcsTx *tx, const uint8_t *flits, size_t n,
                       UbLaneRun *run);

/* The Null Block used as fill from now on (it depends on the data link
 * layer's mode). */
void ub_pcs_tx_set_null(UbPcsTx *tx, const uint8_t flit[UB_FLIT]);

/* Flits that would complete the frame begun, 0 when none is begun: the caller
 * may top it up with real Null Blocks or packets. */
unsigned ub_pcs_tx_missing(const UbPcsTx *tx);
/* Complete the frame begun with null_flit.  False when the run is full. */
bool ub_pcs_tx_flush(UbPcsTx *tx, UbLaneRun *run);
/* Flits until the next AMCTL that can carry a command, counting from the last
 * flit taken; 0: such an AMCTL is due now. */
size_t ub_pcs_tx_flit_room(const UbPcsTx *tx);
/* Fill with null_flit up to that AMCTL and send it, with whatever command
 * waits.  False when the run filled up first: call again with a new run. */
bool ub_pcs_tx_to_amctl(UbPcsTx *tx, UbLaneRun *run);

/* Data -> training: as _to_amctl, with EDF on every lane; then LTBs follow on
 * the lanes of the mode, and no AMCTL resets the scrambler up to the next. */
bool ub_pcs_tx_edf(UbPcsTx *tx, UbLaneRun *run);

/* Dynamic width switch (§3.4.2.3).  _wake: the logical lanes width … lanes-1
 * leave idle and repeat `ltb` beside the data of the others.  _width: as
 * _to_amctl, with LWS on the kept and new lanes, EEI on the dropped ones; the
 * data after it uses the new width. */
bool ub_pcs_tx_wake(UbPcsTx *tx, unsigned lanes,
                    const uint8_t ltb[UB_LANES][UB_LTB]);
bool ub_pcs_tx_width(UbPcsTx *tx, unsigned width, UbLaneRun *run);

/* Low power (§3.2.6): _close drains the frame begun and sends FEC Close, then
 * _prbs sends columns of PRBS23 with periodic AMCTLs (returns columns sent);
 * _open sends FEC Open at once and data may follow. */
bool ub_pcs_tx_close(UbPcsTx *tx, UbLaneRun *run);
size_t ub_pcs_tx_prbs(UbPcsTx *tx, size_t columns, UbLaneRun *run);
bool ub_pcs_tx_open(UbPcsTx *tx, UbLaneRun *run);

typedef enum UbPcsState {
    UB_PCS_IDLE,
    UB_PCS_TRAIN,
    UB_PCS_DATA,
    UB_PCS_CLOSED, /* low power: PRBS23 */
} UbPcsState;
UbPcsState ub_pcs_tx_state(const UbPcsTx *tx);
const UbPcsMode *ub_pcs_tx_mode(const UbPcsTx *tx);
/* Physical lanes that carry symbols now. */
uint8_t ub_pcs_tx_lanes(const UbPcsTx *tx);

typedef struct UbPcsTxStats {
    uint64_t flits, fill_flits, frames, ltbs, amctls;
} UbPcsTxStats;
const UbPcsTxStats *ub_pcs_tx_stats(const UbPcsTx *tx);

/* ------------------------------------------------------------- receive --- */

typedef enum UbPcsEvent {
    UB_PCS_LOCK,     /* lane locked; arg = bit slip 0-7 */
    UB_PCS_UNLOCK,   /* lane lost lock: `unlock` AMCTLs in a row missed */
    UB_PCS_MISS,     /* lane missed an AMCTL; arg = misses in a row */
    UB_PCS_POLARITY, /* lane found inverted (arg 1) or straight (arg 0) */
    UB_PCS_LID,      /* lane's LID register changed; arg = LID */
    UB_PCS_SDF,      /* link: deskew done, data starts; arg = width */
    UB_PCS_EDF,      /* link: all data before EDF is delivered */
    UB_PCS_WIDTH,    /* link: data goes on at another width; arg = width */
    UB_PCS_CLOSE,    /* link: low power entered, FEC and scrambler off */
    UB_PCS_OPEN,     /* link: low power left */
    UB_PCS_SKEW_OVERFLOW, /* link: a lane is too late; data stops until SDF */
    UB_PCS_LANE_MAP,      /* link: LIDs are in full disorder, re-mapped */
    UB_PCS_HI_FEC_BER,    /* link: arg = error symbols counted */
    UB_PCS_EVENTS,
} UbPcsEvent;

/* Calls out of ub_pcs_rx.  `lane` is physical.  They must not call back into
 * ub_pcs_rx of the same receiver; all other ub_pcs_rx_* calls are allowed and
 * take effect at the next AMCTL or call.  Members may be NULL. */
typedef struct UbPcsRxOps {
    /* n flits of one FEC verdict, in order; fec_ok is true with FEC off. */
    void (*flits)(void *opaque, const uint8_t *flits, size_t n, bool fec_ok);
    /* One descrambled LTB of a locked lane, in order per lane. */
    void (*ltb)(void *opaque, unsigned lane, const uint8_t ltb[UB_LTB]);
    /* Every AMCTL with a right END of a locked lane, after any flit of that
     * lane was queued: use it for "on any lane" rules (EDF, EEI, Remote TX
     * LWS); the SDF, EDF and WIDTH events are in order with flits(). */
    void (*amctl)(void *opaque, unsigned lane, const UbAmctl *a);
    /* lane is UB_LANES for events of the link. */
    void (*event)(void *opaque, UbPcsEvent ev, unsigned lane, uint32_t arg);
    /* Each RS code word: symbols corrected, or -1 when beyond repair.  For
     * tools; it costs a call per word. */
    void (*word)(void *opaque, unsigned codec, int fixed);
} UbPcsRxOps;

typedef struct UbPcsRx UbPcsRx;

UbPcsRx *ub_pcs_rx_new(const UbPcsParams *p, const UbPcsRxOps *ops,
                       void *opaque);
void ub_pcs_rx_free(UbPcsRx *rx);
void ub_pcs_rx_reset(UbPcsRx *rx);

/* AMCTL_Lock_EN: hunt on these physical lanes, forget the others.  Lanes that
 * were enabled before keep their lock.  pam4/precode are those of the rate. */
void ub_pcs_rx_enable(UbPcsRx *rx, uint8_t lanes, bool pam4, bool precode);

/* The lane's signal went away (electrical idle) or it must hunt anew: lock
 * and fifo are dropped. */
void ub_pcs_rx_relock(UbPcsRx *rx, uint8_t lanes);

/* FEC mode that the next SDF starts with (m->width: ignored, SDF tells). */
void ub_pcs_rx_set_fec(UbPcsRx *rx, UbFec fec, unsigned codecs);

/* Logical lane of each physical lane, used where full_disorder is off or a
 * LID is missing. */
bool ub_pcs_rx_set_map(UbPcsRx *rx, const uint8_t logical[UB_LANES]);

/* Take a run.  An enabled lane that is absent from run->mask while it carries
 * data is a dead lane: it counts as n symbols of zero. */
void ub_pcs_rx(UbPcsRx *rx, const UbLaneRun *run);

typedef struct UbPcsLane {
    bool enabled, locked, inverted, data;
    uint8_t slip;      /* bits the lane is shifted by, 0-7 */
    uint8_t lid;       /* LID register, UB_AMCTL_LID_NULL if none */
    uint8_t misses;    /* AMCTLs missed in a row */
    uint64_t amctls, missed, body_errors, ebch_fixed, ebch_failed, ltbs;
    uint64_t symbols;
} UbPcsLane;
void ub_pcs_rx_lane(const UbPcsRx *rx, unsigned lane, UbPcsLane *out);

typedef struct UbPcsRxStats {
    uint64_t flits, bad_flits; /* delivered in all, of them with fec_ok false */
    uint64_t words, fixed_words, failed_words; /* RS code words */
    uint64_t fixed_symbols;
    uint64_t error_symbols; /* §3.2.3.5: += T+1 per failed decode */
    uint64_t skew_overflows;
} UbPcsRxStats;
const UbPcsRxStats *ub_pcs_rx_stats(const UbPcsRx *rx);
UbPcsState ub_pcs_rx_state(const UbPcsRx *rx);
const UbPcsMode *ub_pcs_rx_mode(const UbPcsRx *rx);
/* Restart the hi_FEC_BER count. */
void ub_pcs_rx_clear_ber(UbPcsRx *rx);

#endif
