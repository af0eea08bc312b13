/*
 * Inside of the PCS receiver: lanes (rx-lane.c) feed deskew buffers, the link
 * (pcs-rx.c) takes whole frames out of them.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef UB_PHY_PCS_RX_H
#define UB_PHY_PCS_RX_H

#include "pcs.h"
#include "ub/scrambler.h"

#define RX_CHUNK 1024  /* symbols of a lane taken at a time: stays in L1 */
#define RX_FRAME 256   /* columns of the longest frame */
#define RX_FIFO (RX_CHUNK + UB_PCS_SKEW + RX_FRAME + UB_PCS_SKEW)
#define RX_BATCH 8192  /* bytes of frames decoded at a time */
#define RX_TRAIN_PERIOD (UB_LTBS_PER_AMCTL * UB_LTB)

/* AMCTL lock, the reference machine of §3.2.4.4. */
typedef enum RxLock {
    RX_OFF,     /* Lock_Init */
    RX_SLIP,    /* AMCTL_Slip */
    RX_CONFIRM, /* AMCTL_Align, AMCTL_Confirm */
    RX_LOCKED,  /* AMCTL_Lock, AMCTL_Lock_Count */
} RxLock;

/* What the symbols between AMCTLs are. */
typedef enum RxFlow { RX_TRAIN, RX_DATA, RX_CLOSED } RxFlow;

/* Where a lane's data stream changes: column `mark_at` of its buffer. */
typedef enum RxMark {
    RX_MARK_NONE,
    RX_MARK_EDF,
    RX_MARK_WIDTH,
    RX_MARK_DROP,
    RX_MARK_CLOSE,
} RxMark;

typedef struct RxLane {
    UbPcsRx *rx;
    UbPcsLane pub;
    RxLock lock;
    RxFlow flow;
    uint8_t phys;
    uint8_t logical;
    bool stream;   /* its buffer follows the stream since the last SDF */
    bool active;   /* the link uses it: deskew is done */
    bool hit;      /* the AMCTL being gathered was found by hunting */
    bool stop;     /* a mark was set: the link must look before more comes */

    uint8_t carry;          /* last raw symbol, its tail not yet used */
    uint64_t window;        /* hunting: the last raw symbols */
    uint8_t history[32];    /* hunting: ring of raw symbols */
    unsigned seen;          /* symbols in the ring since hunting began */

    uint32_t left;          /* payload symbols before the next AMCTL */
    unsigned gathered;      /* symbols of `amctl` */
    uint8_t amctl[UB_AMCTL_SYMBOLS];
    uint8_t same[UB_AMCTL_SYMBOLS]; /* the last one decoded, and its sense: */
    UbAmctl sense;                  /* most are alike */
    unsigned ltb_fill;
    uint8_t ltb[UB_LTB];
    uint8_t good;           /* AMCTLs confirmed */
    uint8_t last_lid;
    uint8_t period;         /* index of the data period */
    uint8_t prev;           /* last UI, for precoding */
    UbScrambler key;

    RxMark mark;
    size_t mark_at;
    uint8_t sdf_width;      /* of the SDF that the stream begins with */
    uint8_t mark_width;     /* of the mark, which may come before it has begun */
    uint8_t sdf_lid;
    bool missed;            /* an AMCTL was missed at column missed_at */
    bool late;              /* ... and nothing taken since */
    size_t missed_at;
    bool moved;             /* a new period began at column moved_at */
    size_t moved_at;
    size_t n;               /* columns in fifo */
    uint8_t fifo[RX_FIFO];
} RxLane;

struct UbPcsRx {
    UbPcsParams params;
    UbPcsRxOps ops;
    void *opaque;
    UbPcsState state;
    UbPcsMode mode;
    uint8_t next_fec, next_codecs; /* for the next SDF */
    uint8_t map[UB_LANES];
    uint8_t period;      /* index in use, for lanes that join */
    uint32_t skew;       /* most symbols between the first and the last lane */
    bool overflowed;     /* a deskew buffer is full */
    bool busy;           /* inside ub_pcs_rx: changes of lanes wait */
    bool want_reset, want_enable;
    bool want_pam4, want_precode;
    uint8_t want_lanes, want_relock;
    bool hi_ber;
    uint64_t ber_base;
    UbPcsRxStats stats;
    RxLane lane[UB_LANES];
    uint8_t straight[RX_CHUNK]; /* a chunk with slip and polarity undone */
    uint8_t plain[RX_CHUNK];    /* a chunk descrambled */
    uint8_t work[RX_BATCH];     /* messages of a batch of frames */
    uint8_t parity[RX_BATCH / 8];
    uint8_t bad[RX_BATCH / 128];
};

/* Take up to n <= RX_CHUNK raw symbols of one lane; fewer when a mark was
 * set.  Returns symbols taken. */
size_t rx_lane_input(RxLane *lane, const uint8_t *sym, size_t n);

/* Start hunting; the deskew buffer is left alone. */
void rx_lane_hunt(RxLane *lane);

void rx_event(UbPcsRx *rx, UbPcsEvent ev, unsigned lane, uint32_t arg);

#endif
