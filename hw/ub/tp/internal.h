/*
 * The transport layer from within.
 *
 * PSNs are kept as numbers of 32 bits whose low 24 are the PSN, so that they
 * compare by plain subtraction and index rings; only what comes from the wire
 * is brought back to them, relative to what we expect.
 *
 * Direction of dependency: tph, chan < cc < ack < rtp-tx < rtp-rx; ctp, utp,
 * setup and allow beside them; tp is the roof, image describes all.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef HW_UB_TP_INTERNAL_H
#define HW_UB_TP_INTERNAL_H

#include <glib.h>
#include <string.h>

#include "core/bytes.h"
#include "core/prefetch.h"
#include "core/random.h"
#include "core/serial.h"
#include "core/slab.h"
#include "core/table.h"
#include "core/timers.h"
#include "ub/space.h"
#include "ub/tp.h"

enum {
    SLOT_LAST = 1 << 0,     /* of its operation */
    SLOT_WANT = 1 << 1,     /* kept until the peer's user has answered */
    SLOT_RECEIVED = 1 << 2, /* the peer's transport has it */
    SLOT_ANSWERED = 1 << 3,
    SLOT_RESEND = 1 << 4,   /* to be sent again, by itself */
    SLOT_OUT = 1 << 5,      /* went, and nothing is known of it yet */
    SLOT_FLAGS = 1 << 6,
};

/* A packet that was given to us and may have to be sent again. */
typedef struct Slot {
    CorePacket *pkt;
    uint64_t cookie;
    uint32_t off, len;      /* of the packet as we sent it */
    uint8_t flags;
    uint8_t status, timer;  /* the answer */
} Slot;

/* What is remembered of an operation that our user answered in a TPACK. */
typedef struct Result {
    uint32_t psn, msn;
    uint8_t state;          /* RESULT_* */
    uint8_t status, timer;
} Result;

enum { RESULT_NONE, RESULT_WAIT, RESULT_READY };

/* Congestion control of a channel, made when it is on. */
typedef struct ChanCc {
    const UbCc *algo;
    const void *param;
    UbCcState state;
    /* As the sender (table 6-10), in units of 2 bytes, which wrap. */
    uint32_t sent, rcvd;
    int64_t pace_at;        /* the rate lets the next packet go */
    /* As the receiver. */
    UbCetph fb;             /* what the next TPACK-CC says */
    int64_t cnp_at;         /* no CNP before */
} ChanCc;

/* Phases of the MarkPSN mechanism (§6.4.2.3.1). */
enum { MARK_NEW, MARK_RESEND };

typedef struct Group Group;
typedef struct Chan Chan;

/*
 * With many channels a packet finds the context of its own in no cache: what
 * every packet needs stands together at the front, and chan_get() asks for it
 * all at once.  CHAN_HOT is the end of that part.
 */
struct Chan {
    UbTp *tp;
    uint32_t tpn;
    UbTpState state;
    uint8_t on;                         /* ON_* */
    bool room_due, want_room;
    bool crowded;           /* what was refused waits until all here is out */
    bool paced;             /* the rate alone keeps it from sending */
    uint8_t mark_phase;
    uint8_t times;          /* consecutive time-outs */
    uint8_t fakes;          /* Fake packets without an answer */
    bool open;              /* an operation has begun and not ended */
    ChanCc *cc;             /* NULL: none */

    /* Sender. */
    Slot *ring;
    uint32_t ring_mask;
    uint32_t una;           /* oldest that is kept */
    uint32_t cum;           /* the peer has all before it */
    uint32_t snd;           /* next to go; behind high after going back */
    uint32_t high;          /* first that never went */
    uint32_t next;          /* the next that is given to us */
    uint32_t resends;       /* slots with SLOT_RESEND, */
    uint32_t resend_from;   /* none of them before this */
    uint32_t tx_msn;
    uint32_t high_rtx;      /* highest that a TPSACK or TPNAK made us resend */
    uint64_t open_cookie;
    uint64_t bytes;         /* kept, for the group's choice */
    uint64_t out;           /* of slots with SLOT_OUT, as cc.c counts them */

    CoreTimer timer;
    int64_t rto_at, ack_at, fake_at, setup_at;

    UbTpAttr attr;

    /* Receiver. */
    uint32_t epsn;
    uint32_t max_rcv;
    uint32_t rx_msn;
    uint32_t ack_msn;       /* of the packet before epsn */
    CorePacket **hold;      /* out of order, by PSN; NULL: none */
    uint32_t hold_mask, held;
    uint32_t owed;          /* packets received and not acknowledged */
    uint32_t fifo_head, fifo_len;
    Result *result;         /* by PSN; NULL: none yet */
    uint32_t *fifo;         /* PSNs of answers not sent, in order */
    bool sack_due, nak_due, nak_done, ack_now;
    bool msn_told, op_told; /* events, until there is progress */
    bool refusing;          /* the rest of the operation is swallowed */
    UbTpAnswer refusal;
    Chan *work_prev, *work_next;        /* of UbTp.work or .stalled */

    /* From here on: seldom. */
    uint32_t sack_count;    /* out of order since the last TPSACK */
    uint32_t mark;          /* MarkPSN */
    uint32_t last_first;    /* LastFirstRtx */
    int64_t fake_until;
    Group *group;
    Chan *peer_prev, *peer_next;        /* of the group */

    /* In-band set-up. */
    uint32_t setup_cookie;
    uint8_t setup_left;     /* tries */
    bool setup_active;      /* we asked */
    bool in_band;
    uint64_t peer_key;      /* in UbTp.peers, if we were asked */
    uint64_t source;        /* and in UbTp.sources */
};

#define CHAN_HOT offsetof(Chan, sack_count)

enum { ON_NONE, ON_WORK, ON_STALLED };

typedef struct ChanList {
    Chan *first, *last;
} ChanList;

struct Group {
    uint32_t number;
    UbTpgPolicy policy;
    Chan *first;
    Chan *turn;             /* next in round */
};

/* A destination of CTP that was told of congestion. */
typedef struct CtpFlow {
    uint64_t key;
    UbCcState state;
    int64_t pace_at;
    CoreTimer timer;
} CtpFlow;

enum { CTP_PACES = 256 };

typedef struct CtpPace {
    uint64_t key;
    int64_t at;
} CtpPace;

/* The UBFM's list of peers (allow.c), whose state is that of its slice. */
typedef struct TpAllow {
    UbSlice *slice;         /* NULL: there may be channels with everybody */
    UbSpaceSlice table;
    bool changed;
    void (*kick)(void *opaque);
    void *opaque;
} TpAllow;

struct UbTp {
    UbTpConfig cfg;
    CorePacketPool *pool;
    CoreTable chans;
    CoreSlab chan_slab, ring_slab;  /* channels, and their first rings */
    uint32_t num_chans, next_tpn;
    Group **groups;
    uint32_t num_groups;
    ChanList work, stalled;
    CoreTimers timers;      /* of channels */
    CoreTimers ctp_timers;
    GHashTable *ctp;        /* CtpFlow by key, made when needed */
    CtpPace cnp_pace[CTP_PACES];        /* CNPs that we sent, by source */
    uint32_t ctp_lbf;
    GHashTable *peers;      /* channels that peers asked for, by their key */
    GHashTable *sources;    /* how many of them a node has, by its address */
    TpAllow allow;
    bool want_room;         /* the user, for the modes without channels */
    int64_t room_at;        /* then the rate lets it go on */
    bool room_due;
    uint64_t rng;
    uint32_t hold_used;
    int64_t now;            /* of the last call that said it */
    UbTpCounters count;
};

/* ---- chan.c: contexts and lists ---- */
Chan *chan_get(const UbTp *tp, uint32_t tpn);
UbTpResult chan_new(UbTp *tp, uint32_t tpn, const UbTpAttr *attr, Chan **out);
bool attr_good(const UbTpConfig *cfg, const UbTpAttr *a);
void chan_free(Chan *ch);
/* Sequence numbers as the attributes say; nothing kept. */
void chan_begin(Chan *ch);
/* Drop what is kept in both directions, without a word to anyone. */
void chan_clear(Chan *ch);
/* The same, and tell the user that its operations are flushed. */
void chan_flush(Chan *ch);
void chan_work(Chan *ch);
void chan_stall(Chan *ch);
void chan_idle(Chan *ch);
/* Put its timer where the earliest of its times is. */
void chan_timer(Chan *ch);
/* As many as may wait for their first way out. */
bool chan_crowded(const Chan *ch);
/* Whether it takes a packet more. */
bool chan_has_room(const Chan *ch);
/* Tell who was refused one, if it does. */
void chan_room(Chan *ch);
/* Unanswered for too long. */
void chan_fail(Chan *ch, UbTpError error);
/* @us microseconds of the document, scaled. */
int64_t tp_clock(const UbTp *tp, UbTpClock clock, uint64_t us);
void group_remove(Chan *ch);
/* It is in none. */
void group_add(Group *g, Chan *ch);
/* Whether channel @ch, or one that is no member (NULL), may have the addresses of @flow. */
bool group_takes(const Group *g, const Chan *ch, const UbFlow *flow);

/* For @slots packets under way, a power of two from RING_MIN; all zeroes. */
enum { RING_MIN = 8 };
Slot *ring_new(UbTp *tp, uint32_t slots);
void ring_free(UbTp *tp, Slot *ring, uint32_t slots);

static inline Slot *slot_at(Chan *ch, uint32_t psn)
{
    return &ch->ring[psn & ch->ring_mask];
}

/* The number whose low 24 bits are @psn that is nearest to @near. */
static inline uint32_t psn_near(uint32_t psn, uint32_t near)
{
    return near + (uint32_t)serial_diff(psn, near, UB_PSN_BITS);
}

/* Whether number @a comes before @b. */
static inline bool psn_before(uint32_t a, uint32_t b)
{
    return (int32_t)(a - b) < 0;
}

/* ---- cc.c ---- */
void cc_attach(Chan *ch, int64_t now);
void cc_detach(Chan *ch);
/* Whether a packet of @bytes may go; if a rate forbids it, pace_at says when. */
bool cc_may(Chan *ch, uint32_t bytes, int64_t now);
/* It goes: its CCI. */
uint16_t cc_sent(Chan *ch, uint32_t bytes, int64_t now);
void cc_back(Chan *ch, bool timeout, int64_t now);
void cc_unsent(Chan *ch, uint32_t bytes);
void cc_feedback(Chan *ch, const UbCetph *c, int64_t now);
void cc_received(Chan *ch, uint32_t bytes, uint16_t cci, int64_t now);
void cc_cnp(Chan *ch, const UbCetph *c, int64_t now);
void cc_tick(Chan *ch, int64_t now);
/* Takes what the next TPACK-CC says. */
void cc_take(Chan *ch, UbCetph *c);
int64_t cc_deadline(const Chan *ch);
/* Bytes that a packet counts for. */
uint32_t cc_size(uint32_t bytes);
/* The window grows by @n parts of itself, which are kept in var[@grown] until they are a
 * byte; what an image brought there does not make it 0. */
void cc_grow(UbCcState *s, unsigned grown, uint64_t n);
/* The window within its bounds. */
void cc_bound(UbCcState *s, const UbCcParam *p);
/* What a CCI says of congestion: ECN of a CNP. */
uint8_t cci_ecn(uint16_t cci);
extern const UbCc ub_cc_ldcp, ub_cc_dcqcn, ub_cc_caqm, ub_cc_aimd;
/* The algorithm of a kind, or NULL: there is none. */
const UbCc *cc_algo(const UbTpConfig *cfg, unsigned kind);
/* A pause after @bytes at @rate bytes a second. */
int64_t cc_pace(uint64_t rate, uint32_t bytes);

/* ---- ack.c ---- */
/* An acknowledgement that comes with @h is owed to the peer now, or later. */
void ack_owe(Chan *ch, bool at_once, int64_t now);
void ack_nak(Chan *ch, int64_t now);
void ack_sack(Chan *ch, bool at_once, int64_t now);
/* Send what is owed; false: the network is busy. */
bool ack_flush(Chan *ch, int64_t now);
/* The answer to the duplicate of @psn, if there is one. */
bool ack_again(Chan *ch, uint32_t psn, int64_t now);
/* The user's answer to the operation that ends at @psn; or that it waits. */
void result_put(Chan *ch, uint32_t psn, uint32_t msn, UbTpAnswer answer);
bool result_full(const Chan *ch);
void result_forget(Chan *ch, uint32_t psn);
uint32_t ack_covered(const Chan *ch);
void ack_cnp(Chan *ch, uint8_t ecn, uint16_t cci, int64_t now);
bool ack_fake(Chan *ch, int64_t now);
UbTpAnswer answer_of(uint8_t rspst, uint8_t rspinfo);
/* The network layer's parameters of a channel's packets. */
void chan_flow(const Chan *ch, UbFlow *flow);

/* ---- rtp-tx.c ---- */
UbSend rtp_send(Chan *ch, CorePacket *pkt, const UbTpTx *tx, int64_t now);
/* Send what may go, at most *@budget. */
void rtp_push(Chan *ch, int64_t now, unsigned *budget);
void rtp_rx_ack(Chan *ch, const UbRtph *h, const UbCetph *c, const UbSaetph *s,
                int64_t now);
void rtp_timeout(Chan *ch, int64_t now);

/* ---- rtp-rx.c ---- */
void rtp_rx(UbTp *tp, const UbFlow *flow, CorePacket *pkt, int64_t now);

/* ---- ctp.c ---- */
UbSend ctp_send(UbTp *tp, const UbFlow *flow, CorePacket *pkt, uint8_t nlp,
                int64_t now);
void ctp_rx(UbTp *tp, const UbFlow *flow, CorePacket *pkt, int64_t now);
void ctp_reset(UbTp *tp);
void ctp_run(UbTp *tp, int64_t now);
/* A throttled destination; NULL: there are as many as may be. */
CtpFlow *ctp_flow_new(UbTp *tp, uint64_t key);

/* ---- utp.c: UTP and Bypass ---- */
UbSend utp_send(UbTp *tp, const UbFlow *flow, CorePacket *pkt, uint8_t nlp,
                int64_t now);
void utp_rx(UbTp *tp, const UbFlow *flow, CorePacket *pkt, const UbRtph *h,
            int64_t now);
UbSend bypass_send(UbTp *tp, const UbFlow *flow, CorePacket *pkt, int64_t now);
void bypass_rx(UbTp *tp, const UbFlow *flow, CorePacket *pkt);
/* Hand a packet without a channel up. */
void plain_up(UbTp *tp, UbTpMode mode, uint8_t nlp, const UbFlow *flow,
              CorePacket *pkt);
/* Pass it down; BUSY is remembered. */
UbSend plain_down(UbTp *tp, UbTpMode mode, const UbFlow *flow, CorePacket *pkt,
                  int64_t now);

/* ---- setup.c ---- */
void setup_rx(UbTp *tp, const UbFlow *flow, CorePacket *pkt, int64_t now);
void setup_timer(Chan *ch, int64_t now);
/* The first packet of the peer confirms what it asked for. */
void setup_confirm(Chan *ch, int64_t now);
void setup_bye(Chan *ch, int64_t now);
/* A peer that asked has this channel; it asks again under the same key. */
void setup_remember(Chan *ch, uint64_t key);
void setup_forget(Chan *ch);
/* It may not be any more: it is in UB_TP_ERROR afterwards, or gone. */
void setup_end(Chan *ch, int64_t now);

/* ---- allow.c ---- */
/* Whether there may be a channel to there, which somebody asks for. */
bool allow_asks(UbTp *tp, const UbFlow *to);
/* Those that may not be any more end. */
void allow_run(UbTp *tp, int64_t now);
void allow_free(UbTp *tp);

/* Drop with a reason. */
static inline void tp_drop(uint64_t *counter, CorePacket *pkt)
{
    (*counter)++;
    core_packet_free(pkt);
}

#endif
