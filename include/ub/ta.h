/*
 * The UB transaction layer of one UBPU (UB 2.0 chapter 7): initiators, which
 * make packets of requests, and the target, which executes those of others.
 *
 * Above are queues of requests (of jetties, of a work queue, of a load and store
 * decoder) and what executes for others: memory, receive buffers, management.
 * Below is the transport (tp.h), whose packets begin with CIPH, UPIH or TAH.
 *
 * A request is the caller's memory from ub_ta_post() until ops->done gives it
 * back.  Its data are fetched when a packet is made (again for each that is made
 * anew), and are put down when they come.
 *
 * Nothing that a peer sends can stop the process or make memory grow beyond what
 * the configuration allows.  A machine without a clock: `now` is in nanoseconds.
 * Callbacks may post requests, send messages and set destinations, but not call
 * ub_ta_run(), ub_ta_rx(), _image() or free anything.  One thread at a time.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef UB_TA_H
#define UB_TA_H

#include "core/image.h"
#include "core/option.h"
#include "core/packet.h"
#include "ub/sec.h"
#include "ub/tah.h"
#include "ub/tp.h"

typedef struct UbTa UbTa;
typedef struct UbTaQueue UbTaQueue;
typedef struct UbTaRequest UbTaRequest;

/* Status << 8 | Sub-Status of a completion (table 10-12). */
typedef enum UbTaStatus {
    UB_TAS_OK = 0x0000,
    UB_TAS_OPCODE = 0x0100,         /* the request cannot be made of this opcode,
                                     * mode, carrier */
    UB_TAS_LOCAL_LENGTH = 0x0201,
    UB_TAS_LOCAL_ACCESS = 0x0202,
    UB_TAS_REMOTE_LENGTH = 0x0203,  /* the response has another length */
    UB_TAS_LOCAL_POISON = 0x0204,
    UB_TAS_UNSUPPORTED = 0x0301,    /* Unsupported Request */
    UB_TAS_ABORT = 0x0302,          /* Remote Abort */
    UB_TAS_REMOTE_POISON = 0x0304,
    UB_TAS_RNR = 0x0400,            /* RNR retries exceeded */
    UB_TAS_TIMEOUT = 0x0500,        /* TA acknowledgement time-out */
    UB_TAS_FLUSHED = 0x0600,        /* never executed: its queue was flushed or
                                     * has stopped */
} UbTaStatus;

const char *ub_ta_status_name(UbTaStatus status);

/* ---- Destinations -------------------------------------------------------------- */

/* A row of the table of destinations: a way to a peer. */
typedef struct UbTaDest {
    /* Carrier and way.  tp.flow counts in RTP too: its remote address is the
     * peer's name. */
    UbTpDest tp;
    bool group;                     /* RTP: tp.tpn is the number of a group */
    bool answers;                   /* RTP: acknowledgements bring the responses
                                     * of Writes and Sends (§6.8.2); both ends
                                     * must know it of the channel */
    uint8_t sl_writeback;           /* SL of Writebacks, whose VL nothing ordinary
                                     * should use; UB_TA_SAME_SL: tp.flow.sl */
    uint32_t mtu;                   /* payload of a packet: 1024, 4096, 8192 */
    UbSecHead sec;                  /* EIDs, UPI, form; mgmt as tp.flow.mgmt */
} UbTaDest;

enum {
    UB_TA_DESTS = 1 << 20,          /* rows */
    UB_TA_OWN_DESTS = 128,          /* behind them, for the device itself: set when
                                     * they are used, in no image */
    UB_TA_LDS_DESTS = 64,           /* from this one on of entries of the decoder */
    UB_TA_SAME_SL = 0xff,
};

/* The transport below: the functions of tp.h, or a double. */
typedef struct UbTaLower {
    UbSend (*send)(void *opaque, const UbTpDest *dest, CorePacket *pkt,
                   const UbTpTx *tx, int64_t now);
    /* A channel of a group for one operation, or UB_TP_NONE. */
    uint32_t (*pick)(void *opaque, uint32_t group);
    /* The answer that UB_TP_WITHHOLD promised. */
    void (*answer)(void *opaque, uint32_t tpn, uint32_t msn, UbTpAnswer answer,
                   int64_t now);
    void (*reply)(const UbTpRx *rx, UbTpDest *dest);
    /* May be NULL.  A packet will soon go by this channel, with @next as the next one. */
    void (*ahead)(void *opaque, uint32_t tpn, bool next);
    /* May be NULL.  The longest payload that this channel's ends agreed on. */
    uint32_t (*mtu)(void *opaque, uint32_t tpn);
} UbTaLower;

/* ub_tp_*(); opaque is the UbTp. */
extern const UbTaLower ub_ta_over_tp;

/* ---- Requests ---------------------------------------------------------------- */

struct UbTaRequest {
    /* The caller's; fixed while the request is posted. */
    uint64_t id;                    /* its name in an image; unique in its queue */
    void *user;
    uint32_t dest;                  /* row of the table of destinations */
    uint8_t opcode;                 /* UbTaOpcode of a request */
    uint8_t order;                  /* UbTaOrder */
    bool fence;                     /* waits until all Reads and atomics before it
                                     * are answered; all behind it wait too */
    bool ordered_cqe;               /* ODR[2]: completions at the target in order */
    bool fce;                       /* the target's completion raises an event */
    bool e_bit;                     /* Exclusive */
    bool poison;
    bool token_en;                  /* TV_EN */
    bool ud_en;                     /* UD_Flag */
    uint8_t ee;                     /* EE_bits; 0: UB_EE_NORMAL */
    uint8_t sub;                    /* sub-operation of Atomic_store, _load */
    uint8_t tc_type, hint;          /* receive queue of messages */
    uint8_t affinity;
    uint32_t ud;
    uint32_t tc_id;
    uint32_t token;                 /* of the segment; of the queue for Send */
    uint32_t token_id;
    uint64_t addr;                  /* memory operations */
    uint32_t len;                   /* bytes of data; atomics: of one operand */
    uint64_t imm;
    uint32_t imm_token;
    uint64_t ntf_addr, ntf_data;
    uint32_t ntf_token_id, ntf_token;
    uint8_t be[UB_TA_BE_MAX / 8];   /* _be: bit i % 8 of byte i / 8: byte i counts */
    /* Management: MSN, index of the message queue, MGMTETAH. */
    uint16_t msn;
    uint32_t mgmt_queue;
    uint8_t mgmt_code, mgmt_sub, mgmt_status;
    bool mgmt_rsp;

    /* Of the transaction layer. */
    UbTaQueue *queue;
    UbTaRequest *next, *prev;               /* all of the queue, as posted */
    UbTaRequest *next_ordered, *prev_ordered;   /* RO and SO */
    UbTaRequest *next_todo, *prev_todo;
    uint64_t serial;
    uint32_t made;                  /* bytes that have slices */
    uint32_t open;                  /* slices not answered */
    uint16_t status;                /* UbTaStatus, the first that is not OK */
    uint8_t where;                  /* which list it is in */
    bool all_made, finished, counted, on_ordered, outside;
    bool tainted;                   /* during ops->scatter: these data are poisoned */
    uint32_t slices;
};

/* Data of a request, asked of its owner. */
typedef enum UbTaData {
    UB_TA_DATA_OK,
    UB_TA_DATA_FAULT,               /* not to be reached: local access error */
    UB_TA_DATA_POISON,              /* there, but poisoned */
} UbTaData;

/* ---- The target's world -------------------------------------------------------- */

typedef enum UbAccessKind {
    UB_ACCESS_READ,
    UB_ACCESS_WRITE,
    UB_ACCESS_ATOMIC,
} UbAccessKind;

/* An access to a segment, to be translated and allowed. */
typedef struct UbAccess {
    uint8_t kind;                   /* UbAccessKind */
    bool token_en;                  /* a TokenValue came */
    bool e_bit;
    bool poison;                    /* a Write of poisoned data */
    bool bare;                      /* came without EIDs (CFG 9) */
    bool ahead;                     /* of a Read: asked again when it is answered */
    uint8_t ee;
    uint8_t cfg;                    /* LPH.CFG that it came with */
    unsigned entity;                /* the local Entity that it is for */
    UbEid seid;
    uint32_t token_id, token;
    uint64_t addr;
    uint32_t len;
    /* Set by who answers FAULT. */
    uint8_t timer;                  /* RNR_Timer */
    uint32_t ticket;                /* LATER: what it waits for */
} UbAccess;

typedef enum UbAccessResult {
    UB_ACCESS_OK,
    UB_ACCESS_POISON,               /* as OK; what is read is poisoned */
    UB_ACCESS_DENIED,               /* token, permission, no translation: Remote
                                     * Abort */
    UB_ACCESS_UNSUPPORTED,          /* fails a check before these: Unsupported
                                     * Request */
    UB_ACCESS_FAULT,                /* page not there: answer now, with access.timer
                                     * (§7.2.2 strategy 1) */
    UB_ACCESS_LATER,                /* answer when ub_ta_resolved() says that it is
                                     * there, or ub_ta_resolve() what became of
                                     * access.ticket (strategy 2) */
} UbAccessResult;

/* A piece of memory. */
typedef struct UbSpan {
    uint8_t *host;                  /* NULL: by ops->bus */
    uint64_t bus;
    uint32_t len;
    uint32_t region;                /* not 0: it is no memory of the bus, and
                                     * reached by ops->region */
} UbSpan;

enum { UB_TA_SPANS = 16 };          /* of one packet */

/* A receive queue asked for a buffer. */
typedef struct UbRecvAsk {
    unsigned entity;
    UbEid seid;
    uint64_t who;                   /* the node that it came from */
    uint32_t rc_id;                 /* and its queue */
    uint8_t tc_type, hint;
    uint32_t tc_id;
    bool token_en;
    uint32_t token;
    bool bare;
} UbRecvAsk;

typedef enum UbRecvResult {
    UB_RECV_OK,
    UB_RECV_EMPTY,                  /* RNR, with *timer */
    UB_RECV_UNSUPPORTED,            /* no such queue */
    UB_RECV_DENIED,                 /* token, foreign sender */
    UB_RECV_SILENT,                 /* in Reset or Error: as if nothing had come */
} UbRecvResult;

typedef struct UbRecvBuf {
    uint64_t rqe;                   /* name of the entry that was taken */
    uint32_t len;                   /* room in it */
    uint8_t timer;                  /* EMPTY: RNR_Timer */
} UbRecvBuf;

/* A completion at the target. */
typedef struct UbRecvDone {
    uint64_t rqe;
    uint16_t status;                /* UbTaStatus */
    uint8_t opcode;                 /* SEND, SEND_IMM, WRITE_IMM */
    bool fce;
    uint32_t len;
    uint64_t imm;
    uint32_t tc_id;
    uint32_t rc_id;                 /* of the sender */
    UbEid seid;
    uint64_t who;
    unsigned entity;
} UbRecvDone;

/* A Management packet that came; all that it points to is gone after the call. */
typedef struct UbTaMessage {
    const UbTaDest *back;           /* to answer by; back->sec.mgmt is off */
    const UbSecHead *sec;           /* as received */
    const UbFlow *flow;
    unsigned entity;
    uint16_t msn;
    uint32_t queue;                 /* INI_RC_ID: index of the message queue */
    uint8_t code, sub, status;
    bool rsp, poison;
    uint16_t len;                   /* PDU Length */
    const uint8_t *pdu;
} UbTaMessage;

typedef struct UbTaOps {
    /* Initiator. */
    /* Bytes @off.. of the data to send. */
    UbTaData (*gather)(void *opaque, const UbTaRequest *req, uint32_t off,
                       void *buf, uint32_t len);
    /* Bytes @off.. of what a Read or an atomic brought (the value that was there,
     * in the byte order of the host's memory at the target). */
    UbTaData (*scatter)(void *opaque, const UbTaRequest *req, uint32_t off,
                        const void *buf, uint32_t len);
    /* The request is the caller's again. */
    void (*done)(void *opaque, UbTaRequest *req, UbTaStatus status);
    /* Target. */
    /* Check and translate; *n spans of @max, which cover a->len bytes. */
    UbAccessResult (*access)(void *opaque, UbAccess *a, UbSpan *out,
                             unsigned max, unsigned *n);
    /* Memory that has no host address; false: it is not there after all.  May be
     * NULL where all have one. */
    bool (*bus)(void *opaque, uint64_t addr, void *buf, uint32_t len,
                bool write);
    /* 1, 2, 4 or 8 bytes of it, aligned to their number, in one step for whoever else
     * has the memory: where they are as @was they become @now, *@same; otherwise @was
     * becomes what they are.  False: not there.  NULL: nobody else has it. */
    bool (*exchange)(void *opaque, uint64_t addr, void *was, const void *now,
                     uint32_t len, bool *same);
    /* The same as bus() for what is at @at of a region that access() named.  May be NULL
     * where it names none. */
    bool (*region)(void *opaque, uint32_t region, uint64_t at, void *buf,
                   uint32_t len, bool write);
    UbRecvResult (*receive)(void *opaque, const UbRecvAsk *ask,
                            UbRecvBuf *buf);
    /* Data into a buffer that receive() gave. */
    bool (*place)(void *opaque, uint64_t rqe, uint32_t off, const void *buf,
                  uint32_t len);
    void (*received)(void *opaque, const UbRecvDone *done);
    /* A Management packet.  May be NULL. */
    void (*message)(void *opaque, int64_t now, const UbTaMessage *m);
    /* Both. */
    /* ub_ta_run() has something to do.  May be NULL. */
    void (*kick)(void *opaque);
    /* A peer (@own: the caller) broke the rule @text of @section.  May be NULL. */
    void (*rule)(void *opaque, bool own, const char *section,
                 const char *text);
    /* Headers that are sent (@tx) or came, for traces.  May be NULL. */
    void (*trace)(void *opaque, bool tx, const UbFlow *flow,
                  const UbTahForm *form, const UbTah *tah, uint32_t payload);
} UbTaOps;

/* ---- Configuration --------------------------------------------------------------- */

typedef struct UbTaConfig {
    uint32_t slice;                 /* bytes of a slice over RTP, a multiple of
                                     * 8192; 64 KiB */
    uint32_t max_len;               /* of one request; 2^31 at most */
    uint32_t mtu;                   /* payload of a packet of responses */
    uint32_t window;                /* slices in flight between a queue and a peer,
                                     * a power of two, 64 to 4096; both ends
                                     * should have the same; cannot change */
    uint32_t reserve;               /* thereof for Writebacks alone */
    uint32_t depth;                 /* requests posted to a queue */
    uint32_t quantum;               /* packets of a queue in one turn */
    uint32_t peers;                 /* pairs of queue and peer, as initiator */
    uint32_t contexts;              /* and as target */
    uint32_t partial;               /* messages and slices begun, not yet whole */
    uint32_t answers;               /* responses that wait for the transport */
    uint32_t scs;                   /* sequence contexts of the target; 0: none */
    uint32_t sc_buffer;             /* packets that they hold back; 0: refuse what
                                     * comes too early (§7.3.3.3) */
    uint32_t parked;                /* page faults answered later */
    uint8_t aggregate;              /* responses in one TAACK, 1 to 32 */
    bool no_taack;                  /* ROL over CTP asks for no TAACK */
    bool uno_no_taack;              /* UNO over CTP says so too */
    bool accepted;                  /* good Writes are answered with RSPST 101 */
    bool dedupe;                    /* over CTP and Bypass a request that came twice
                                     * is executed once */
    bool compact6;                  /* memory operations of CFG 6 are compact */
    bool tasks;                     /* see UbTahForm */
    bool token_high;
    bool cas_swapped;               /* CAS: Operand1 is the new value */
    bool clr_text;                  /* sub-operations 1 and 2 by their description,
                                     * not their name */
    bool store_default_add;         /* Atomic_store, _load without UDETAH: ADD */
    bool read_offset_request;       /* every Read_response has the offset of its
                                     * request */
    bool notify_be;                 /* notify data are put down most significant
                                     * byte first */
    bool rsp_type_keep;             /* responses to an SC: INI_RC_Type stays 10 */
    bool poison_send;               /* poisoned data go out with BTAH.Poison;
                                     * otherwise the request fails */
    uint8_t retries;                /* of RNR and Page Fault; 255: for ever; a
                                     * queue may say another for RNR */
    uint8_t rnr_timer;              /* what a full target says */
    /* ns; each is multiplied by scale / 1000 and then at least floor. */
    int64_t ack_timeout;            /* TA acknowledgement time-out */
    int64_t dup_life;               /* how long a target remembers a silent peer */
    int64_t hold_time;              /* how long a target waits for what must come
                                     * before */
    uint32_t scale;                 /* in 1/1000 */
    int64_t floor;
    uint16_t tassn_start;           /* first TASSN to a peer, a multiple of 4096 */
    uint32_t entities;              /* that requests come for: with more than one,
                                     * images whose contexts name none are refused */
} UbTaConfig;

#define UB_TA_GEARS 4u
/* Gears of the TA acknowledgement time-out: 128 ms, 1 s, 8 s, 64 s. */
int64_t ub_ta_gear(unsigned gear);

void ub_ta_config_init(UbTaConfig *cfg);
/* NULL, or the rule that is broken. */
const char *ub_ta_config_check(const UbTaConfig *cfg);
/* Its members by name. */
const CoreOption *ub_ta_options(unsigned *n);

#define UB_TA_COUNTERS(X) \
    X(TX_REQUESTS, "tx-requests")           /* packets */ \
    X(TX_RESPONSES, "tx-responses") \
    X(TX_MESSAGES, "tx-messages")           /* Management */ \
    X(RX_REQUESTS, "rx-requests") \
    X(RX_RESPONSES, "rx-responses") \
    X(RX_MESSAGES, "rx-messages") \
    X(TX_BYTES, "tx-bytes")                 /* payload */ \
    X(RX_BYTES, "rx-bytes") \
    X(SLICES, "slices") \
    X(DONE, "done") \
    X(FAILED, "failed") \
    X(RECEIVED, "received") \
    X(PREFETCHES, "prefetches") \
    X(TAACKS_SAVED, "taacks-saved")         /* by aggregation */ \
    X(ANSWERS_BELOW, "answers-below")       /* brought by the transport */ \
    X(RETRIES, "retries") \
    X(RNR_TX, "rnr-tx") \
    X(RNR_RX, "rnr-rx") \
    X(FAULT_TX, "page-fault-tx") \
    X(FAULT_RX, "page-fault-rx") \
    X(UNSUPPORTED_TX, "unsupported-tx") \
    X(UNSUPPORTED_RX, "unsupported-rx") \
    X(ABORT_TX, "abort-tx") \
    X(ABORT_RX, "abort-rx") \
    X(TIMEOUTS, "timeouts") \
    X(SC_GRANTED, "sc-granted") \
    X(SC_REFUSED, "sc-refused") \
    X(SC_HELD, "sc-held") \
    X(HELD_TOO_LONG, "held-too-long") \
    X(POISON_RX, "poison-rx") \
    X(BUSY, "busy") \
    X(LOST_BELOW, "lost-below") \
    X(LATE, "late-responses")               /* nobody waits for them */ \
    /* What follows is packets thrown away. */ \
    X(DROP_SEC, "drop-sec")                 /* short, NLP, CIP */ \
    X(DROP_ENTITY, "drop-entity") \
    X(DROP_UPI, "drop-upi") \
    X(DROP_SHORT, "drop-short") \
    X(DROP_OPCODE, "drop-opcode") \
    X(DROP_FIELD, "drop-field") \
    X(DROP_DUPLICATE, "drop-duplicate") \
    X(DROP_SILENT, "drop-silent")           /* for a queue in Reset or Error */ \
    X(DROP_RESPONSE, "drop-response")       /* breaks a rule */ \
    X(DROP_MESSAGE, "drop-message") \
    X(DROP_CARRIER, "drop-carrier")         /* not by this transport */ \
    X(DROP_ROOM, "drop-room")               /* a bound is reached */ \
    /* Images before version 7 end here. */ \
    X(DROP_ENDED, "drop-ended")             /* answers of a channel that ended */ \
    X(DROP_FLUSHED, "drop-flushed")         /* held, or waiting to leave, when who
                                             * sent it was forgotten, or a reset came */ \
    X(DROP_UNSENT, "drop-unsent")           /* no room for the headers, or no key */ \
    /* Images before version 8 end here. */ \
    X(DROP_REFUSED, "drop-refused")         /* not executed, and not answered by itself:
                                             * the rest of what was refused, UTP */

typedef enum UbTaCounter {
#define UB_TA_X(id, name) UB_TAC_##id,
    UB_TA_COUNTERS(UB_TA_X)
#undef UB_TA_X
    UB_TA_COUNTERS_NUM
} UbTaCounter;

const char *ub_ta_counter_name(unsigned counter);

/* ---- Life ------------------------------------------------------------------------- */

/* @sec stays the caller's.  NULL: ub_ta_config_check() says why. */
UbTa *ub_ta_new(const UbTaConfig *cfg, const UbTaOps *ops, void *opaque,
                const UbTaLower *lower, void *lower_opaque, UbSec *sec);
/* Give all up; requests are not given back.  NULL is ignored. */
void ub_ta_free(UbTa *ta);
/* As after ub_ta_new(): queues, destinations, everything in flight is gone
 * (requests are not given back), counters stay.  Numbers go on elsewhere, so that
 * peers do not take what follows for repetitions. */
void ub_ta_reset(UbTa *ta);
const UbTaConfig *ub_ta_config(const UbTa *ta);
/* Other settings; sizes of what exists stay.  NULL, or the rule that is broken. */
const char *ub_ta_configure(UbTa *ta, const UbTaConfig *cfg);

/* Row @index of the table of destinations; NULL: none.  False: the row breaks a
 * rule (carrier and LPH.CFG, MTU).  An operation of several packets that has begun goes
 * on by the old row; what is sent later, or again, goes by the new one if that leads to
 * the same peer in the same form, and fails otherwise. */
bool ub_ta_set_dest(UbTa *ta, uint32_t index, const UbTaDest *dest);
const UbTaDest *ub_ta_dest(const UbTa *ta, uint32_t index);
/* The first row from @from on, round the table, that is not set; UINT32_MAX: all
 * are. */
uint32_t ub_ta_dest_vacant(const UbTa *ta, uint32_t from);

typedef struct UbTaQueueConfig {
    uint32_t rcid;                  /* 20 bits, unique */
    uint8_t mode;                   /* UbTaMode */
    bool in_order;                  /* completions in the order of posting */
    bool stop_on_error;             /* Exception mode "suspend" (§8.2.2.3) */
    bool static_sc;                 /* ROT: SCID is given, not asked for */
    uint32_t scid;
    unsigned entity;                /* whose it is: for SEID in traces and views */
    uint8_t tries;                  /* of a message that finds no receive entry: 0:
                                     * as UbTaConfig.retries says; 255: for ever */
    uint8_t patience;               /* TA acknowledgement time-out: 0: that of
                                     * UbTaConfig; else 1 + gear, 1 to 4 */
} UbTaQueueConfig;

/* A queue of requests.  NULL: RCID in use or out of range, mode unknown. */
UbTaQueue *ub_ta_queue_new(UbTa *ta, const UbTaQueueConfig *cfg);
/* Its requests are given back as flushed, answers to them are forgotten. */
void ub_ta_queue_free(UbTaQueue *q);
const UbTaQueueConfig *ub_ta_queue_config(const UbTaQueue *q);
/* Other tries and patience: of what is tried, or waits, from now on. */
void ub_ta_queue_set_tries(UbTaQueue *q, uint8_t tries, uint8_t patience);
UbTaQueue *ub_ta_queue(UbTa *ta, uint32_t rcid);
/* Requests posted and not given back. */
uint32_t ub_ta_queue_len(const UbTaQueue *q);
/* Nothing more is begun (what is begun goes on, and where completions are in order
 * what comes before it), or it goes on. */
void ub_ta_queue_stop(UbTaQueue *q, bool stop);
bool ub_ta_queue_stopped(const UbTaQueue *q);
/* Loaded: whether it is as its owner would make it from @cfg, and stopped or not as its
 * owner says (or by an error that its owner has not heard of yet). */
bool ub_ta_queue_fits(const UbTaQueue *q, const UbTaQueueConfig *cfg, bool stopped);
/* Whether a request that has begun is not given back yet. */
bool ub_ta_queue_begun(const UbTaQueue *q);
/* Give back as flushed what has not begun; with @all also what has. */
void ub_ta_queue_flush(UbTaQueue *q, bool all);

/* Give back @req, which is posted, as flushed: nothing of it is sent any more, and
 * answers to it are forgotten.  What has left may still be executed. */
void ub_ta_cancel(UbTa *ta, UbTaRequest *req);

/* Post a request.  False: the queue is full, nothing has happened.  What is wrong
 * with a request is said by done. */
bool ub_ta_post(UbTa *ta, UbTaQueue *q, UbTaRequest *req);
/* Make and send packets, run timers, at most @budget packets.  When to call again:
 * @now: there is more to do; INT64_MAX: never. */
int64_t ub_ta_run(UbTa *ta, int64_t now, unsigned budget);

/*
 * Send one Management packet at once (§7.4.5.1), beside all queues; the fields of
 * Management in @req, its destination @dest and @pdu of req->len bytes count.
 * BUSY: try again when ub_ta_room() was called.
 */
UbSend ub_ta_message(UbTa *ta, int64_t now, const UbTaDest *dest,
                     const UbTaRequest *req, const void *pdu);

/* A page that was answered LATER, or any of an Entity, is there now. */
void ub_ta_resolved(UbTa *ta);
/* Only what waits for @ticket: it is there, or, @abort, never will be: Remote
 * Abort. */
void ub_ta_resolve(UbTa *ta, uint32_t ticket, bool abort);

/* Whether nothing that has begun or is held may still reach segment @token_id of
 * @entity (§8.2.1: it is drained before it goes). */
bool ub_ta_target_idle(const UbTa *ta, unsigned entity, uint32_t token_id);

/* ---- From the transport -------------------------------------------------------------- */

/* These are the ops of UbTpUpper with the UbTa as opaque; they take the time from
 * ub_ta_time() or the last ub_ta_run(). */
void ub_ta_time(UbTa *ta, int64_t now);
UbTpAnswer ub_ta_rx(void *ta, const UbTpRx *rx, CorePacket *pkt);
void ub_ta_acked(void *ta, uint32_t tpn, uint64_t cookie, UbTpAnswer answer);
void ub_ta_room(void *ta, uint32_t tpn);
/* The acknowledgements of channel @tpn, or of none, bring responses
 * (UbTaDest.answers) of what comes by it. */
void ub_ta_set_answers(UbTa *ta, uint32_t tpn, bool on);
bool ub_ta_has_answers(const UbTa *ta, uint32_t tpn);
/* Channel @tpn of the transport has ended, whether it is to begin anew or not: what
 * waits to be answered by it, a page fault or a response without room, is forgotten. */
void ub_ta_ended(void *ta, uint32_t tpn);

/* ---- Views, migration ------------------------------------------------------------------ */

uint64_t ub_ta_counter(const UbTa *ta, UbTaCounter counter);

typedef struct UbTaState {
    uint32_t queues, requests, slices;  /* initiator */
    uint32_t lanes;                     /* pairs of queue and peer */
    uint32_t contexts, partial, held, parked, answers, scs;     /* target */
    uint32_t packets;                   /* alive */
} UbTaState;

void ub_ta_state(const UbTa *ta, UbTaState *state);
/* Requests of all queues that have not ended. */
uint32_t ub_ta_requests(const UbTa *ta);

/*
 * Migration: queues, requests in flight, destinations, everything of the target.
 * Loading, into a fresh layer of the same configuration: queues are made, and
 * @adopt gives memory for each request, of which ub_ta_image() fills all fields
 * but user; NULL refuses the image.
 */
void ub_ta_image(UbTa *ta, CoreImage *im,
                 UbTaRequest *(*adopt)(void *opaque, uint32_t rcid,
                                       uint64_t id));

#endif
