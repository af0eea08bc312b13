/*
 * Inside of the transaction layer.
 *
 * Initiator: a queue's requests are cut into slices, each with a TASSN of its
 * own (§7.3.1).  TASSNs are numbered by lanes: one for each queue and peer, in
 * compact form, whose responses name no queue, one for each peer.  A lane sends
 * its slices and waits for their responses.
 *
 * Target: a context for each queue of a peer knows which TASSNs came; it owes
 * acknowledgements, holds what came too early (if it is a sequence context) and
 * slices that are not whole.
 *
 * Files: queue.c posts, gates and completes; slice.c cuts; lane.c numbers, sends
 * and times; initiator.c takes responses; target.c executes; message.c is its
 * part with receive buffers; context.c and sc.c keep contexts; answer.c responds;
 * atomic.c computes; ta.c is the roof.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef UB_TA_INTERNAL_H
#define UB_TA_INTERNAL_H

#include <glib.h>

#include "core/prefetch.h"
#include "core/serial.h"
#include "core/slab.h"
#include "core/table.h"
#include "core/timers.h"
#include "ub/ta.h"

typedef struct Lane Lane;
typedef struct Ctx Ctx;
typedef struct Peer Peer;

/* Names of lanes (as the peer's responses name them) and of contexts. */
typedef struct Key {
    uint64_t who;
    UbEid eid;
    uint32_t rc;                /* RCID, or KEY_COMPACT */
    uint32_t entity;            /* of contexts: the local Entity; a queue numbers
                                 * what it sends to each apart */
    uint64_t local;             /* of contexts: the address of this node that was
                                 * asked; lanes are apart by it, too */
} Key;

#define KEY_COMPACT UINT32_MAX
/* Key.local of a context whose image did not say it: that of who asks first. */
#define KEY_ANY_LOCAL UINT64_MAX

typedef enum SliceState {
    SLICE_FREE,
    SLICE_NEW,                  /* to be sent, or to be sent again */
    SLICE_SENT,
    SLICE_WAIT,                 /* for its RNR timer */
} SliceState;

typedef struct Slice {
    UbTaRequest *req;           /* NULL: nobody waits for it any more */
    int64_t at;                 /* SENT: time-out; WAIT: go again */
    uint32_t dest;              /* row of the table of destinations */
    uint32_t off, len;          /* its part of the request's data */
    uint32_t sent;              /* bytes of it in packets that left */
    uint32_t got;               /* bytes of its response */
    uint32_t tpn;               /* RTP: the channel of this go */
    uint32_t rows;              /* ta->rows when its row was looked at */
    uint8_t state, opcode, retries;
    bool begun;                 /* its first packet left, its last did not */
    bool ends;                  /* cut short: next is an empty, poisoned end */
    bool again;                 /* Retry */
    bool alloc;                 /* asks for an SC */
    bool in_sc;                 /* is of the SC */
    bool stale;                 /* which the lane has left */
} Slice;

typedef enum ScState { SC_NONE, SC_ASKED, SC_GRANTED, SC_REFUSED } ScState;

/* A timer that knows its owner. */
typedef struct Clock {
    CoreTimer t;
    bool of_ctx;
} Clock;

struct Lane {
    UbTa *ta;
    UbTaQueue *queue;           /* NULL: compact, or its queue is gone */
    Key key;
    uint32_t id;                /* in cookies; never 0 */
    bool compact, orphan;
    Slice *ring;
    uint32_t size;              /* of it, a power of two */
    uint32_t una, next, scan;   /* slices are una .. next - 1; none before scan
                                 * is to be sent */
    uint32_t pending;           /* slices in state NEW */
    uint8_t sc;                 /* ScState */
    uint32_t scid, alloc;       /* number of the slice that asked */
    uint32_t begun;             /* 1 + number of the slice that is */
    UbTaDest way;               /* that it goes by */
    CorePacket *stuck;          /* made and BUSY */
    UbTpTx stuck_tx;
    uint32_t stuck_len, stuck_number;
    bool stalled;               /* waits for room */
    uint32_t stalled_on;        /* channel, or UB_TP_NONE */
    Lane *next_stalled;
    bool listed;                /* in ta->sending */
    Lane *next_sending;
    GQueue waiters;             /* queues */
    Clock clock;
};

typedef enum Where { IN_NONE, IN_TODO, IN_URGENT, IN_HELD, IN_WORK } Where;

typedef struct ReqList {
    UbTaRequest *head, *tail;
} ReqList;

struct UbTaQueue {
    UbTa *ta;
    UbTaQueueConfig cfg;
    ReqList all, ordered;       /* not given back; ordered and not finished */
    ReqList todo, urgent, held; /* to be begun; Writebacks; SO that wait */
    UbTaRequest *work;          /* begun, not all cut */
    uint32_t len, reads;        /* posted; Reads and atomics begun, not answered */
    uint64_t serial;
    bool stopped, ready;
    bool crowded;               /* its last turn ended for want of room */
    uint32_t outside;           /* ordered ones not all in the SC in use */
    bool mixed;                 /* ordered ones go to more than one row */
    uint32_t ordered_dest;      /* row of the last */
    UbTaQueue *next_ready;
    Lane *last;                 /* looked up last */
    Lane *waits;                /* is in its waiters */
};

/* How a request is answered. */
typedef struct Back {
    UbTpDest dest;
    UbSecHead sec;
    UbTahForm form;
    uint32_t tpn, msn;          /* RTP: what an answer below names */
    bool answers;               /* by acknowledgement */
    bool direct;                /* and ub_ta_rx() has not returned */
    bool alloc;                 /* an SC was given: respond with SV */
    uint32_t scid;
    bool rcid_set;              /* the request named an SC: this RCID instead */
    uint32_t rcid;
} Back;

/*
 * What became of a request.  It is made and handed on in registers: one that is put
 * together in memory is read back only when all that the request wrote has left the
 * store buffer.
 */
typedef struct Outcome {
    uint32_t rspst : 8, rspinfo : 8;
    bool silent : 1;            /* no answer at all */
    bool later : 1;             /* page fault, answered when resolved */
    bool held : 1;              /* waits in an SC */
    bool refused : 1;           /* not even looked at: the transport says RNR */
    uint32_t ticket;            /* later: what it waits for */
} Outcome;

/* A packet at the target. */
typedef struct Arrival {
    UbTpRx rx;
    UbFlow flow;
    bool opened;                /* it had a CIPH, which is gone: rx.nlp is the form
                                 * that is left */
    UbSecHead head;
    unsigned entity;
    UbTah tah;
    uint8_t *data;
    uint32_t len;
    bool alloc;                 /* asks for an SC */
    bool late;                  /* has been held for too long */
    Back back;
    Ctx *ctx;
} Arrival;

/* An outcome that waits for the end of its slice. */
typedef struct Settled {
    uint8_t rspst, rspinfo;
    bool silent, later;
    uint32_t ticket;
} Settled;

/* A slice of several packets, begun and not whole; RTP only. */
typedef struct Partial {
    struct Partial *next;
    uint16_t tassn;
    uint32_t tpn, msn;
    uint32_t got;               /* bytes */
    bool bad;                   /* outcome is settled: swallow the rest */
    Settled outcome;
    bool poison, alloc;
    bool rqe_taken;
    UbRecvBuf buf;
    uint32_t tc_id, rc_id;
    unsigned entity;
    int64_t at;                 /* given up then */
} Partial;

/* A packet that an SC holds. */
typedef struct Held {
    struct Held *next;
    CorePacket *pkt;            /* as ub_ta_rx() got it, or opened */
    UbTpRx rx;
    UbFlow flow;
    bool opened;
    uint16_t tassn;
    int64_t at;
} Held;

/* A completion that waits for those before it. */
typedef struct HeldDone {
    struct HeldDone *next;
    uint16_t tassn;
    UbRecvDone done;
    int64_t at;
} HeldDone;

/* Contexts by use. */
typedef struct CtxList {
    Ctx *newest, *oldest;
} CtxList;

typedef struct CtxLinks {
    Ctx *newer, *older;
} CtxLinks;

/* A node that has contexts. */
struct Peer {
    uint64_t who;
    uint32_t count;
    CtxList list;
};

/* Which links and list of a context: of all, or of its peer. */
typedef enum CtxOf { OF_ALL, OF_PEER, CTX_LISTS } CtxOf;

struct Ctx {
    UbTa *ta;
    Key key;
    CtxLinks by[CTX_LISTS];
    Peer *peer;
    bool started, releasing;
    bool busy;                  /* one that works on it has not returned */
    uint16_t base;              /* all before are done, or given up */
    uint16_t sc_base;           /* where its SC begins */
    uint64_t *done, *refused;   /* bit n % window */
    uint32_t refusals;
    int64_t *refused_when;      /* when number n % window is to come again, while
                                 * there are refusals; NULL: all at due */
    int64_t due, used;          /* due: the last of all that were refused, 0: none */
    bool sc;
    uint32_t scid, rcid;
    Partial *partial;
    Held *held, **held_end;
    HeldDone *held_done;        /* by tassn */
    /* An acknowledgement that is owed. */
    uint32_t owed;              /* TASSNs */
    uint16_t owed_first;
    UbTah owed_tah;
    Back owed_back;
    bool owing;                 /* in ta->owing */
    Ctx *next_owing;
    Clock clock;
};

/* A response that waits for the transport. */
typedef struct Answer {
    struct Answer *next;
    Back back;
    UbTah tah;
    /* A Read: packets are made of this. */
    UbAccess access;
    uint32_t offset;            /* OFSTETAH of the request */
    uint32_t done, len;         /* bytes that have left, of */
    uint32_t step;              /* bytes in the packet that is made */
    CorePacket *pkt;            /* the next packet, if it is made */
    uint8_t nlp;
    bool last;
    uint32_t cookie;            /* its name below */
} Answer;

/* A page fault that is answered when it is resolved. */
typedef struct Parked {
    struct Parked *next;
    Back back;
    UbTah tah;
    uint32_t ticket;
} Parked;

struct UbTa {
    UbTaConfig cfg;
    const UbTaOps *ops;
    void *opaque;
    const UbTaLower *lower;
    void *lower_opaque;
    UbSec *sec;
    int64_t now;
    int budget;                 /* packets of this turn */
    CorePacketPool *pool;
    CoreTable dests, queues;
    CoreSlab dest_slab;     /* rows of @dests */
    UbTaDest *own[UB_TA_OWN_DESTS]; /* rows behind those of @dests */
    uint32_t rows;              /* counts what is written to them; from 1 */
    uint16_t start;             /* first TASSN of new lanes */
    GHashTable *lanes;          /* by key */
    GHashTable *lane_ids;
    uint32_t lane_id;
    CoreTimers timers;
    UbTaQueue *ready, **ready_end;
    Lane *sending, **sending_end;
    GHashTable *stalled;        /* chains of lanes by channel */
    GHashTable *answers_by;     /* channels that bring responses */
    uint32_t queue_count, requests;
    /* Target. */
    GHashTable *contexts;
    GHashTable *peers;          /* Peer, by who */
    Peer *crowd;                /* one of many contexts, or NULL */
    CtxList used;               /* contexts */
    Ctx *last_ctx;
    bool any_local;             /* some contexts may have KEY_ANY_LOCAL */
    Ctx *owing, **owing_end;
    Ctx **scs;                  /* by SCID */
    uint32_t sc_size;
    uint32_t partials, helds, held_dones, parkeds, answer_count, sc_count;
    uint32_t refusal_tables;    /* contexts with refused_when */
    Parked *parked;
    Answer *answers, **answers_end;
    bool answers_try;
    uint32_t answer_cookie;
    CoreStreams loads, stores;  /* of memory of this process */
    uint64_t count[UB_TA_COUNTERS_NUM];
};

static inline void ta_count(UbTa *ta, UbTaCounter c)
{
    ta->count[c]++;
}

/* Drop with a reason. */
static inline void ta_drop(UbTa *ta, UbTaCounter why, CorePacket *pkt)
{
    ta_count(ta, why);
    core_packet_free(pkt);
}

static inline void ta_kick(UbTa *ta)
{
    if (ta->ops->kick) {
        ta->ops->kick(ta->opaque);
    }
}

static inline void ta_rule(UbTa *ta, bool own, const char *section,
                           const char *text)
{
    if (ta->ops->rule) {
        ta->ops->rule(ta->opaque, own, section, text);
    }
}

static inline void ta_trace(UbTa *ta, bool tx, const UbFlow *flow,
                            const UbTahForm *form, const UbTah *tah,
                            uint32_t payload)
{
    if (ta->ops->trace) {
        ta->ops->trace(ta->opaque, tx, flow, form, tah, payload);
    }
}

/* ---- common.c ---- */

/* ns of a time of the document, scaled. */
int64_t ta_time(const UbTa *ta, int64_t ns);
/* ns of an RNR_Timer. */
int64_t ta_rnr_time(const UbTa *ta, unsigned timer);
guint ta_key_hash(gconstpointer key);
gboolean ta_key_equal(gconstpointer a, gconstpointer b);
/* The name of the node at the far end of a flow that is sent, or came. */
uint64_t ta_who(const UbFlow *flow, bool came);
/* The address of this node that a flow came to. */
static inline uint64_t ta_local(const UbFlow *flow)
{
    return ta_who(flow, false);
}
/* An EID as it comes back in a form. */
UbEid ta_eid(const UbSecHead *head, const UbEid *eid);
/* The payload of a packet: @most, or less if the ends of its channel agreed on less
 * (UB 2.0 §6.3). */
static inline uint32_t ta_mtu(const UbTa *ta, UbTpMode mode, uint32_t tpn,
                              uint32_t most)
{
    return mode == UB_TP_RTP && ta->lower->mtu
           ? MIN(most, ta->lower->mtu(ta->lower_opaque, tpn)) : most;
}

/* The form of packets of @cfg and @opcode. */
static inline UbTahForm ta_form(const UbTa *ta, UbTpMode mode, unsigned cfg,
                                uint8_t opcode)
{
    return (UbTahForm) {
        .compact = mode != UB_TP_RTP && mode != UB_TP_UTP &&
                   ub_tah_compact(cfg, opcode, ta->cfg.compact6),
        .tasks = ta->cfg.tasks,
        .token_high = ta->cfg.token_high,
    };
}
/*
 * Put TAH, EIDH and UPIH in front of @pkt, and seal it.  Returns TPH.NLP, or -1: no
 * room, or it must not go.
 */
int ta_put_headers(UbTa *ta, const UbTahForm *form, const UbTah *tah,
                   const UbSecHead *sec, UbTpMode mode, CorePacket *pkt);
/* The empty end of an operation, which goes even if what it ends must not. */
CorePacket *ta_end_packet(UbTa *ta, const UbTahForm *form, const UbTah *tah,
                          const UbSecHead *sec, UbTpMode mode, uint8_t *nlp);

/* ---- queue.c ---- */

void ta_queue_ready(UbTaQueue *q);
/* The target's SC does not know all of @req. */
void ta_request_outside(UbTaRequest *req);
/* A slice of @req is answered, or failed. */
void ta_slice_closed(UbTaRequest *req, UbTaStatus status);
/* Begin what can be begun, a quantum of it.  False: nothing more now. */
bool ta_queue_pump(UbTaQueue *q);
void ta_queue_free(UbTaQueue *q, bool tell);
/* As posted. */
void ta_queue_link(UbTaQueue *q, UbTaRequest *req);
/* Loading: into the lists that its fields say. */
void ta_queue_relist(UbTaQueue *q, UbTaRequest *req);

/* ---- slice.c ---- */

/* The status that @req must fail with at once, or OK. */
UbTaStatus ta_request_check(UbTa *ta, const UbTaQueue *q,
                            const UbTaRequest *req, const UbTaDest *dest);
/* Cut the next slice of @req into @s; false: it must wait for its others. */
bool ta_slice_cut(UbTa *ta, UbTaRequest *req, const UbTaDest *dest,
                  UbTaMode mode, Slice *s);
/* The next packet of a slice: NULL if its data cannot be had, then *status says
 * why. */
CorePacket *ta_slice_packet(Lane *lane, uint32_t number, const UbTaDest *dest,
                            UbTpTx *tx, uint32_t *len, UbTaStatus *status);
/* Whether @req (NULL: nobody knows it any more) may have been cut into @s, in that
 * form. */
bool ta_slice_possible(const UbTaRequest *req, const Slice *s, bool compact);
/* Whether @s may go to @dest as it was cut and numbered: to the peer of its lane, in
 * its form. */
bool ta_slice_fits(const Lane *lane, const Slice *s, const UbTaDest *dest);
/* Compact: bytes in front of the slice's in its block, and the block. */
void ta_slice_block(const UbTaRequest *req, const Slice *s, uint32_t *lead,
                    uint32_t *block);

/* ---- ta.c ---- */

/* Whether a destination may be: its carrier, header and packet size. */
bool ta_dest_good(const UbTaDest *d);

/* ---- lane.c ---- */

/* The lane of @q to @dest, made if need be; NULL: no room for one. */
Lane *ta_lane(UbTaQueue *q, const UbTaDest *dest, uint8_t opcode);
Lane *ta_lane_find(UbTa *ta, const Key *key);
/* An orphan is not found by its key: its queue is gone, and another of its number
 * may have a lane. */
Lane *ta_lane_new(UbTa *ta, UbTaQueue *q, const Key *key, bool orphan);
void ta_lane_free(Lane *lane);
/* Peers remember the numbers of a lane that goes, or that another of its key follows:
 * those that begin shortly behind them would be taken for repetitions. */
void ta_lane_begin_ahead(const Lane *lane);
/* A place for one more slice, or NULL: the window is full. */
Slice *ta_lane_slice(Lane *lane, bool urgent);
static inline Slice *ta_lane_at(Lane *lane, uint32_t number)
{
    return &lane->ring[number & (lane->size - 1)];
}

void ta_lane_grow(Lane *lane, uint32_t size);
/* Send it. */
void ta_lane_send(Lane *lane, uint32_t number);
/* Let the slice @number go; its request hears @status. */
void ta_lane_close(Lane *lane, uint32_t number, UbTaStatus status);
/* RNR or page fault: wait and send again, or fail. */
void ta_lane_retry(Lane *lane, uint32_t number, unsigned timer, bool rnr);
/* Send what lanes have; true: there is more. */
bool ta_lanes_run(UbTa *ta);
void ta_lane_expired(Lane *lane);
/* To be called when done with a lane: an orphan that is idle goes. */
void ta_lane_settle(Lane *lane);
/* The slices of @q, only those of @req if it is not NULL, are nobody's any more. */
void ta_lane_forget(Lane *lane, const UbTaQueue *q, const UbTaRequest *req);
void ta_lane_timer(Lane *lane);
/* It has been loaded: send what is to be sent, set its timer. */
void ta_lane_resume(Lane *lane);
/* Queues that waited for this lane. */
void ta_lane_wake(Lane *lane);

/* ---- initiator.c ---- */

void ta_response(UbTa *ta, Arrival *a);

/* ---- target.c ---- */

/* A request whose turn it is: execute, answer. */
Outcome ta_execute(UbTa *ta, Arrival *a);
/* Read up to @len bytes for a Read_response packet. */
UbAccessResult ta_load(UbTa *ta, UbAccess *acc, uint8_t *buf);
UbAccessResult ta_store(UbTa *ta, UbAccess *acc, const uint8_t *buf,
                        const uint8_t *be, uint32_t be_len);
/* Fields of an access from a packet. */
void ta_access_of(const Arrival *a, UbAccessKind kind, uint64_t addr,
                  uint32_t len, UbAccess *acc);
Outcome ta_access_outcome(UbTa *ta, UbAccessResult result,
                          const UbAccess *acc);
static inline Outcome ta_outcome(uint8_t rspst, uint8_t rspinfo)
{
    return (Outcome) { .rspst = rspst, .rspinfo = rspinfo };
}
/* A request that came; @keep: its packet is held and not to be freed. */
Outcome ta_request(UbTa *ta, Arrival *a, CorePacket *pkt, bool *keep);

/* ---- rx.c ---- */

/* A packet that was held goes on; it is taken.  @late: it is held no longer. */
void ta_again(UbTa *ta, const Held *h, bool late);

/* ---- message.c ---- */

Outcome ta_send_packet(UbTa *ta, Arrival *a, Partial *p);
/* The last packet of a Write_with_immediate, whose data are there. */
Outcome ta_write_imm(UbTa *ta, Arrival *a);
void ta_partial_abort(UbTa *ta, Partial *p);
void ta_management(UbTa *ta, Arrival *a);

/* ---- context.c ---- */

Ctx *ta_ctx(UbTa *ta, const Key *key);
Ctx *ta_ctx_find(UbTa *ta, const Key *key);
void ta_ctx_free(Ctx *ctx);
/* Whether a TASSN has been executed before; @in_sc: its request is of the SC. */
bool ta_ctx_seen(Ctx *ctx, uint16_t tassn, bool in_sc);
/* It is executed, or has failed for good. */
void ta_ctx_done(Ctx *ctx, uint16_t tassn);
/* It is to come again at @due; @ordered: what is strongly ordered waits for it. */
void ta_ctx_refuse(Ctx *ctx, uint16_t tassn, bool ordered, int64_t due);
/* Something before @tassn was refused and has not come again. */
bool ta_ctx_refused_before(Ctx *ctx, uint16_t tassn);
/* Whether all of its SC that is before @tassn is done. */
bool ta_ctx_all_before(const Ctx *ctx, uint16_t tassn);
/* @make it if there is none.  Beyond the bound, up to twice as many, are those of
 * operations that are being refused. */
Partial *ta_ctx_partial(Ctx *ctx, uint16_t tassn, bool make);
void ta_ctx_partial_free(Ctx *ctx, Partial *p);
/* Completion at the target, now or in its order. */
void ta_ctx_received(Ctx *ctx, uint16_t tassn, bool ordered,
                     const UbRecvDone *done);
void ta_ctx_expired(Ctx *ctx);
void ta_ctx_timer(Ctx *ctx);
/* It has been loaded. */
void ta_ctx_resume(Ctx *ctx);
/* What came before the base is there: let go of what waited. */
void ta_ctx_release(Ctx *ctx);

/* ---- sc.c ---- */

/* Give the context an SC that begins at @tassn; false: there is none. */
bool ta_sc_grant(Ctx *ctx, uint16_t tassn, uint32_t rcid);
void ta_sc_drop(Ctx *ctx);
Ctx *ta_sc_find(UbTa *ta, uint32_t scid, const Key *key);
/* Whether it is @a's turn. */
bool ta_sc_gate(UbTa *ta, const Arrival *a);
/* Keep its packet until then; false: no room. */
bool ta_sc_hold(UbTa *ta, Arrival *a, CorePacket *pkt);
/* Execute one that is held and whose turn has come; false: there is none. */
bool ta_sc_step(Ctx *ctx);
void ta_sc_expired(Ctx *ctx);

/* ---- answer.c ---- */

void ta_respond(UbTa *ta, Ctx *ctx, Back *back, const UbTah *tah,
                Outcome out);
/* With the data of an atomic. */
void ta_respond_data(UbTa *ta, Back *back, const UbTah *tah, bool poison,
                     const uint8_t *data, uint32_t len);
void ta_respond_read(UbTa *ta, Back *back, const UbTah *tah,
                     const UbAccess *acc);
void ta_owing_flush(UbTa *ta);
/* Its acknowledgement goes at the end of the turn. */
void ta_ctx_owing(Ctx *ctx);
void ta_ctx_flush(Ctx *ctx);
bool ta_answers_run(UbTa *ta);
void ta_answers_clear(UbTa *ta);
void ta_park(UbTa *ta, const Back *back, const UbTah *tah, uint32_t ticket);
UbTpAnswer ta_answer_below(Outcome out);

/* ---- atomic.c ---- */

/* Whether opcode and sub-operation exist. */
bool ta_atomic_valid(const UbTaConfig *cfg, const UbTah *tah);
/*
 * Memory @mem of @len bytes, least significant first, by the operands at @op (two
 * of @len bytes each): the new value in @mem, the old one in @old.
 */
void ta_atomic(const UbTaConfig *cfg, const UbTah *tah, uint8_t *mem,
               const uint8_t *op, uint8_t *old, uint32_t len);

#endif
