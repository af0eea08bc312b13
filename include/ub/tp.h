/*
 * The transport layer of a UB node (UB 2.0 chapter 6): RTP, which brings every
 * packet exactly once and in order; CTP and TP Bypass, which bring it at most
 * once; UTP, which brings it or not.
 *
 * The transport does not know what it carries.  Its user, the transaction
 * layer, cuts operations into packets of at most ub_tp_mtu() bytes of payload,
 * puts its own headers in front and says which packet is the last of its
 * operation.  An operation over RTP goes over one channel, its packets one
 * after the other: as long as one is begun and not ended on a channel, packets
 * of others are refused (UB_BUSY) and room() follows.  Who begins an operation
 * ends it.
 *
 * RTP gives packets up in the order in which they were sent, so that the last
 * packet of an operation says that all of it is there.
 *
 * An instance and all it calls belong to one thread at a time.  Every entry
 * that may need the time takes it; time never runs backwards.  Callbacks may
 * call ub_tp_send() and ub_tp_answer(), and nothing else of this.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef UB_TP_H
#define UB_TP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/image.h"
#include "core/option.h"
#include "core/packet.h"
#include "ub/net.h"
#include "ub/tp_format.h"

typedef struct UbTp UbTp;

typedef enum UbTpMode {
    UB_TP_RTP,
    UB_TP_CTP,
    UB_TP_UTP,
    UB_TP_BYPASS,
    UB_TP_MODES,
} UbTpMode;

/* "No channel": a number that is not a TPN. */
#define UB_TP_NONE UINT32_MAX

/* Where to: a channel of ours, or a way through the network. */
typedef struct UbTpDest {
    UbTpMode mode;
    uint32_t tpn;       /* RTP: our channel */
    UbFlow flow;        /* other modes */
} UbTpDest;

/* What is sent with a packet. */
typedef struct UbTpTx {
    uint8_t nlp;        /* what it begins with (UbTpNlp); not Bypass */
    bool last;          /* of its operation */
    /* Last of RTP only: the peer's transaction layer answers in the TPACK
     * (ROL); the packet is kept until that answer is here. */
    bool result;
    /* RTP: the user's name of the operation, the same in all its packets;
     * acked() brings it back. */
    uint64_t cookie;
} UbTpTx;

/* A packet that has come. */
typedef struct UbTpRx {
    UbTpMode mode;
    uint32_t tpn;       /* RTP: our channel that it came on */
    uint32_t msn;       /* RTP: TPMSN, the number of its operation */
    bool last;          /* of its operation; always so except in RTP */
    uint8_t nlp;        /* what it begins with; UB_TPH_TAH in Bypass */
    const UbFlow *flow; /* how it came, in RTP from where its channel leads; for the
                         * time of the call */
} UbTpRx;

/*
 * What the transaction layer says to a packet or an operation.  The peer's
 * transport gives it to the peer's transaction layer, in RTPH.RSPST.
 */
typedef enum UbTpStatus {
    UB_TP_ACK,          /* received; nothing of the transaction layer */
    UB_TP_WITHHOLD,     /* only from rx(): the TPACK waits for ub_tp_answer() */
    UB_TP_DONE,         /* good TAACK */
    UB_TP_RETRY,        /* abnormal TAACK; a transaction retry can recover */
    UB_TP_FAIL,         /* abnormal TAACK; it cannot */
    UB_TP_RNR,          /* receiver's resources short; timer */
    UB_TP_PAGE_FAULT,   /* timer */
    UB_TP_UNSUPPORTED,  /* completer error: unsupported request */
    UB_TP_ABORT,        /* completer error: remote abort */
    UB_TP_FLUSHED,      /* only to acked(): the channel is gone or in error */
    UB_TP_STATUSES,
} UbTpStatus;

typedef struct UbTpAnswer {
    UbTpStatus status;
    uint8_t timer;      /* RNR_Timer, 0..UB_RNR_TIMER_MAX: 2 us << timer */
} UbTpAnswer;

/* What goes wrong with a channel (events of §10.6.2.2, Event_Type 0x2). */
typedef enum UbTpError {
    UB_TP_E_RETRIES = 1,    /* consecutive time-outs exceeded: unreachable */
    UB_TP_E_OPCODE = 2,     /* unexpected operation code with the right PSN */
    UB_TP_E_MSN = 3,        /* PSN and TPMSN do not fit */
} UbTpError;

/* Channels: their life. */
typedef enum UbTpState {
    UB_TP_RESET,        /* made; nothing is sent, what comes is dropped */
    UB_TP_INIT,         /* set up in band, the peer has not confirmed */
    UB_TP_ACTIVE,
    UB_TP_ERROR,        /* gave up; waits for reset or destruction */
    UB_TP_STATES,
} UbTpState;

/* Congestion control algorithms: indexes of UbTpConfig.cc. */
enum { UB_CC_NONE, UB_CC_LDCP, UB_CC_DCQCN, UB_CC_CAQM, UB_CC_USER,
       UB_CC_KINDS };

/* Algorithms of users that are compiled in: numbers of UbTpConfig.cc_user. */
enum { UB_CC_USER_NONE, UB_CC_USER_AIMD, UB_CC_USERS };

/* A bits: for which packets the receiver must answer each by itself. */
typedef enum UbTpAskAck {
    UB_TP_ASK_HALF,     /* one in half a window, and on resending */
    UB_TP_ASK_LAST,     /* the last of each operation, too */
    UB_TP_ASK_ALL,
    UB_TP_ASKS,
} UbTpAskAck;

/* How a group chooses a channel for an operation (§6.5.1.1). */
typedef enum UbTpgPolicy {
    UB_TPG_ROUND,       /* one after the other */
    UB_TPG_LEAST,       /* the one with the fewest bytes under way */
    UB_TPG_POLICIES,
} UbTpgPolicy;

/* The context of a channel (§6.2-6.6); ub_tp_attr_init() gives defaults. */
typedef struct UbTpAttr {
    UbFlow flow;            /* way to the peer; CFG 3, 4 or 7 */
    uint32_t dst_tpn;
    uint32_t tx_psn;        /* initial PSN of what we send */
    uint32_t rx_psn;        /* and of what we receive */
    uint16_t mtu;           /* 1024, 4096, 8192: payload of a packet */
    bool selective;         /* selective retransmission, else Go-Back-N */
    bool fast;              /* fast retransmission; else time-outs only */
    bool mark;              /* MarkPSN; selective and fast only */
    bool ooo;               /* receive out of order */
    uint16_t ooo_window;    /* 128, 256, 512, 1024, 2048 packets */
    bool spray;             /* vary LBF or UDP source port by packet */
    bool rto_dynamic;
    uint8_t rto_code;       /* static: index of UbTpConfig.rto_static_us */
    uint32_t rto_base_us;   /* dynamic: 4 .. 2097152 */
    uint8_t rto_shift;      /* dynamic: N of base * 2^(N * times) */
    uint8_t retries;        /* consecutive time-outs that are followed by
                             * another try */
    uint16_t tx_window;     /* packets under way, 1 .. 32768 */
    UbTpAskAck ask;
    uint16_t ack_every;     /* TPACK after so many packets, 1 = each; more
                             * wait for the end of the turn at most */
    uint16_t sack_every;    /* TPSACK after so many out of order */
    uint16_t sack_bits;     /* longest map sent, 64 .. 1024 */
    uint8_t cc;             /* UB_CC_* */
    uint32_t cw_unit;       /* bytes that windows are counted in */
} UbTpAttr;

/* Which fields ub_tp_modify() takes. */
enum {
    UB_TPA_FLOW = 1 << 0,   /* flow, spray */
    UB_TPA_PEER = 1 << 1,   /* dst_tpn, tx_psn, rx_psn, mtu: before ACTIVE */
    UB_TPA_LOSS = 1 << 2,   /* selective, fast, mark, ooo*: before ACTIVE */
    UB_TPA_RTO = 1 << 3,    /* rto_*, retries */
    UB_TPA_WINDOW = 1 << 4, /* tx_window */
    UB_TPA_ACK = 1 << 5,    /* ask, ack_every, sack_* */
    UB_TPA_CC = 1 << 6,     /* cc, cw_unit: before ACTIVE */
    UB_TPA_ALL = 0x7f,
};

/* Answers to commands on channels and groups. */
typedef enum UbTpResult {
    UB_TPR_OK,
    UB_TPR_NO_CHANNEL,      /* there is none of this number */
    UB_TPR_IN_USE,          /* number taken; channel already in a group */
    UB_TPR_FULL,            /* no more channels or groups than these */
    UB_TPR_BAD_ATTR,        /* a field out of range, or fields that clash */
    UB_TPR_BAD_STATE,       /* not in this state */
    UB_TPR_REFUSED,         /* by the peer, or not allowed (ub_tp_manage()) */
    UB_TPR_TIMEOUT,         /* the peer did not answer */
    UB_TPRS,
} UbTpResult;

/* What is above. */
typedef struct UbTpUpper {
    /* A packet, behind the TPH and its padding; it is the callee's.  RTP:
     * the answer goes back to the sender.  Anything but UB_TP_ACK for a packet
     * that is not the last refuses the operation: the rest of it is swallowed
     * and the answer given at its end.  Other modes: the answer is ignored. */
    UbTpAnswer (*rx)(void *opaque, const UbTpRx *rx, CorePacket *pkt);
    /* RTP: the operation @cookie has been received by the peer, or answered,
     * or flushed; once for each. */
    void (*acked)(void *opaque, uint32_t tpn, uint64_t cookie,
                  UbTpAnswer answer);
    /* Something went wrong with channel @tpn.  After UB_TP_E_RETRIES it is in
     * UB_TP_ERROR and its operations come back flushed. */
    void (*error)(void *opaque, uint32_t tpn, UbTpError error);
    /* After UB_BUSY: another try may succeed.  @tpn: the channel, or
     * UB_TP_NONE for the other modes. */
    void (*room)(void *opaque, uint32_t tpn);
    /* Set up in band: a peer asks for a channel.  @attr has what it offers,
     * with the way to it; the callee may change what we do and returns
     * whether to accept.  NULL: all are refused. */
    bool (*accept)(void *opaque, const UbFlow *from, UbTpAttr *attr);
    /* Set up in band: the channel became UB_TP_ACTIVE, or did not, or the
     * peer gave it up (UB_TPR_REFUSED, channel in UB_TP_ERROR).  May be
     * NULL. */
    void (*connected)(void *opaque, uint32_t tpn, UbTpResult result);
    /* Channel @tpn has ended, or its peer has: what is owed to the peer can be
     * said no more, not by another channel of that number, nor by this one when
     * it begins anew.  May be NULL. */
    void (*ended)(void *opaque, uint32_t tpn);
} UbTpUpper;

/* What is below, ub_net_send() outside tests. */
typedef struct UbTpLower {
    /* The packet begins with its TPH and may have a second owner, who keeps
     * it unchanged in order to send it again.  UB_BUSY: the packet stays the
     * caller's, who waits for ub_tp_space().  It must not call back into this
     * before it returns. */
    UbSend (*send)(void *opaque, int64_t now, const UbFlow *flow,
                   CorePacket *pkt);
} UbTpLower;

/* State of a congestion control algorithm for one channel. */
typedef struct UbCcState {
    uint64_t cw;            /* bytes that may be under way; 0 = no limit */
    uint64_t rate;          /* bytes a second; 0 = no limit */
    uint32_t unit;          /* UbTpAttr.cw_unit */
    uint32_t mtu;
    int64_t scale_ns;       /* what a microsecond of a period lasts */
    int64_t tick;           /* when tick() is wanted, INT64_MAX = not */
    uint64_t var[8];        /* the algorithm's own, */
    int64_t at[2];          /* and points of time */
} UbCcState;

/* What a TPACK-CC or TPSACK-CC brings. */
typedef enum UbCcFeedback {
    UB_CC_FB_NONE,          /* plain TPACKs; CNPs */
    UB_CC_FB_LDCP,
    UB_CC_FB_CAQM,
} UbCcFeedback;

/* A congestion control algorithm: ours or a user's.  Functions may be NULL
 * except init. */
typedef struct UbCc {
    const char *name;
    UbCcFeedback feedback;
    uint16_t cci;           /* NTH.CCI of packets, unless cci() says it */
    void (*init)(UbCcState *s, const void *param, int64_t now);
    /* A packet of @bytes goes; returns its NTH.CCI. */
    uint16_t (*sent)(UbCcState *s, const void *param, uint32_t bytes,
                     int64_t now);
    /* Feedback came; @bytes newly reported as received. */
    void (*ack)(UbCcState *s, const void *param, const UbCetph *c,
                uint32_t bytes, int64_t now);
    void (*cnp)(UbCcState *s, const void *param, const UbCetph *c,
                int64_t now);
    /* A time-out or a loss. */
    void (*lost)(UbCcState *s, const void *param, bool timeout, int64_t now);
    void (*tick)(UbCcState *s, const void *param, int64_t now);
} UbCc;

/* Parameters of the algorithms here, none of which the document gives. */
typedef struct UbCcParam {
    uint32_t cw_init, cw_min, cw_max;       /* bytes */
    uint32_t ldcp_add;                      /* bytes more a window, unmarked */
    uint32_t ldcp_cut;                      /* of 1024, if all was marked */
    uint64_t rate_max, rate_min;            /* bytes a second */
    uint32_t dcqcn_g;                       /* of 1024: weight of a CNP */
    uint32_t dcqcn_alpha_us, dcqcn_rate_us; /* periods */
    uint64_t dcqcn_ai, dcqcn_hai;           /* additive increases, bytes/s */
    uint32_t dcqcn_fast;                    /* periods of fast recovery */
    uint32_t caqm_unit;                     /* bytes a step of Hint is worth */
    uint32_t caqm_want;                     /* steps asked for */
    uint32_t caqm_cut;                      /* bytes less for a marked packet */
} UbCcParam;

/* Timers that have a scale and a floor. */
typedef enum UbTpClock {
    UB_TPC_RTO,
    UB_TPC_ACK,             /* a TPACK that is put off */
    UB_TPC_FAKE,            /* Fake packets while the peer's user is short */
    UB_TPC_CNP,             /* from one CNP to the next */
    UB_TPC_CC,              /* periods of the algorithms */
    UB_TPC_SETUP,           /* in-band requests */
    UB_TPC_NUM,
} UbTpClock;

typedef struct UbTpScale {
    uint32_t scale;         /* times as long as the document says */
    int64_t floor_ns;       /* and at least this */
} UbTpScale;

typedef struct UbTpConfig {
    const UbTpUpper *upper;
    const UbTpLower *lower;
    void *upper_opaque, *lower_opaque;

    UbTpAttr attr;              /* what ub_tp_attr_init() gives */
    uint32_t max_channels;      /* 1 .. 2^20 */
    uint32_t max_groups;
    uint64_t seed;              /* of initial PSNs and load balance factors */
    UbTpScale clock[UB_TPC_NUM];
    uint32_t rto_static_us[4];
    uint32_t ack_delay_us;      /* 0: at the end of the turn */
    uint32_t fake_us;           /* 0: no Fake packets */
    uint32_t cnp_us;
    uint32_t setup_us;
    uint8_t setup_tries;
    uint8_t setup_nlp;          /* NLP of in-band set-up, a reserved code */
    /* Bytes that packets out of order may take, of all channels; those that
     * find no room are dropped (§6.4.2.3). */
    uint32_t hold_bytes;
    /* Packets of a channel that wait here for their first way out.  More of them would
     * lie in memory that no cache holds any more when they go; they wait above, where
     * they are not made yet. */
    uint32_t unsent;
    /* Answers of the transaction layer remembered by a channel, for
     * duplicates; a power of two. */
    uint32_t results;
    bool sack_hides;            /* TPSACK shows what is withheld as missing */
    bool sack_lsb_first;        /* maps on the wire: bytes, bit 0 of byte 0
                                 * first; else words of 32 bits */
    bool msn_check;             /* PSN and TPMSN must fit (B.2.3) */
    bool cc_on;                 /* CC_EN */
    const UbCc *cc[UB_CC_KINDS];
    UbCcParam cc_param;
    const void *cc_user_param;  /* of cc[UB_CC_USER] */
    uint8_t cc_user;            /* UB_CC_USER_*, where cc[UB_CC_USER] is NULL */
    bool ctp_spray;             /* LBF by packet, else by destination */
    bool ctp_throttle;          /* heed CNPs of CTP */
    uint32_t ctp_flows;         /* throttled destinations kept at most */
} UbTpConfig;

typedef struct UbTpCounters {
    uint64_t tx_packets[UB_TP_MODES], rx_packets[UB_TP_MODES];
    uint64_t tx_resent, tx_ack, tx_nak, tx_sack, tx_cnp, tx_fake;
    uint64_t rx_ack, rx_nak, rx_sack, rx_cnp, rx_fake;
    uint64_t rx_duplicate, rx_ooo, rx_held;
    uint64_t timeouts, gave_up, results;
    uint64_t setup_tx, setup_rx;
    /* Dropped, with the reason. */
    uint64_t drop_short, drop_version, drop_opcode, drop_mode,
             drop_no_channel, drop_state, drop_peer, drop_ooo, drop_hold,
             drop_invalid, drop_msn, drop_bad_ack, drop_bad_sack, drop_setup,
             drop_lost, drop_room;
    /* Images of version 1 end here. */
    uint64_t drop_flushed, drop_refused, drop_answer, drop_busy;
} UbTpCounters;

/* What a channel is doing. */
typedef struct UbTpInfo {
    UbTpState state;
    uint32_t group;             /* UB_TP_NONE: none */
    uint32_t una, next, epsn, max_rcv, tx_msn, rx_msn;
    uint32_t in_flight;         /* packets kept for resending */
    uint64_t in_flight_bytes;
    uint32_t held, withheld, timeouts;
    uint64_t cw, rate;
} UbTpInfo;

/* Defaults; lower and upper are the caller's to fill in. */
void ub_tp_config_init(UbTpConfig *cfg);
/* NULL, or what is wrong with the configuration. */
const char *ub_tp_config_fault(const UbTpConfig *cfg);
/* The algorithm of a user that is compiled in under a number, or NULL: none is.  Its
 * parameters are UbTpConfig.cc_param. */
const UbCc *ub_cc_user(unsigned n);
/* Its members by name. */
const CoreOption *ub_tp_options(unsigned *n);
/* A new transport layer; the tables that @cfg names must outlive it. */
UbTp *ub_tp_new(const UbTpConfig *cfg);
/* Give it up with all that it keeps; nobody is called back. */
void ub_tp_free(UbTp *tp);
/* As new: all channels and groups go, nobody is called back.  Counters stay. */
void ub_tp_reset(UbTp *tp);

/* ---- data ---- */

/* A packet will soon go by channel @tpn, which need not be there: its context is brought
 * into the processor's cache meanwhile, and with @next what that points to: it is the next
 * packet, and the context has been asked for.  Nothing else comes of it. */
void ub_tp_ahead(const UbTp *tp, uint32_t tpn, bool next);
/*
 * Send a packet (CFG 3 and 4: RTP or UTP; 6: CTP; 7: RTP or CTP; 9: Bypass).
 * UB_SENT and UB_LOST: the packet is taken; lost for good in all modes but RTP,
 * where it means that there is no such channel in UB_TP_ACTIVE.  UB_BUSY: it
 * stays the caller's and room() follows.
 */
UbSend ub_tp_send(UbTp *tp, const UbTpDest *dest, CorePacket *pkt,
                  const UbTpTx *tx, int64_t now);
/* Whether a new operation can begin on channel @tpn. */
bool ub_tp_ready(const UbTp *tp, uint32_t tpn);
/* The answer to operation @msn of channel @tpn, which rx() withheld.  False:
 * nothing of it is withheld any more. */
bool ub_tp_answer(UbTp *tp, uint32_t tpn, uint32_t msn, UbTpAnswer answer,
                  int64_t now);
/* Where answers to what @rx describes go. */
void ub_tp_reply(const UbTpRx *rx, UbTpDest *dest);
/* Longest payload of a packet to @dest, without headers of any layer. */
uint32_t ub_tp_mtu(const UbTp *tp, const UbTpDest *dest);
/* A packet from the network, behind its NTH; it is taken.  @flow: how it came.
 * CFG 9 too, which has no TPH. */
void ub_tp_rx(UbTp *tp, const UbFlow *flow, CorePacket *pkt, int64_t now);
/* The network can take packets again, after UB_BUSY: ub_tp_run() goes on. */
void ub_tp_space(UbTp *tp, int64_t now);
/* End of a turn: acknowledgements that are owed, timers, what waits to be
 * sent, at most @budget packets.  Returns when to call again at the latest:
 * @now if there is more to do, INT64_MAX never. */
int64_t ub_tp_run(UbTp *tp, int64_t now, unsigned budget);

/* ---- channels and groups: commands ---- */

/* The defaults of the configuration, with random initial PSNs. */
void ub_tp_attr_init(UbTp *tp, UbTpAttr *attr);
/* Make a channel in UB_TP_RESET; *@tpn is its number, or UB_TP_NONE for any.
 * UB_TPR_IN_USE: another has this number, or one that differs by a multiple of
 * at least four times max_channels. */
UbTpResult ub_tp_create(UbTp *tp, uint32_t *tpn, const UbTpAttr *attr);
/* Change the fields that @mask names (UB_TPA_*). */
UbTpResult ub_tp_modify(UbTp *tp, uint32_t tpn, const UbTpAttr *attr,
                        unsigned mask);
/* UB_TP_RESET to UB_TP_ACTIVE: the peer's context is known. */
UbTpResult ub_tp_activate(UbTp *tp, uint32_t tpn);
/* Any state to UB_TP_RESET; operations come back flushed. */
UbTpResult ub_tp_deactivate(UbTp *tp, uint32_t tpn);
/* The channel goes, from its group too; operations come back flushed. */
UbTpResult ub_tp_destroy(UbTp *tp, uint32_t tpn, int64_t now);
/* UB_TP_RESET to UB_TP_INIT: agree with the peer in band, over UTP on IP paths
 * and CTP on others; connected() follows. */
UbTpResult ub_tp_connect(UbTp *tp, uint32_t tpn, int64_t now);
/* Context and state; either pointer may be NULL. */
UbTpResult ub_tp_query(const UbTp *tp, uint32_t tpn, UbTpAttr *attr,
                       UbTpInfo *info);
/* Call @fn for every channel by ascending number. */
void ub_tp_foreach(UbTp *tp, void (*fn)(void *opaque, uint32_t tpn),
                   void *opaque);

/* An empty group of channels; *@tpgn is its number, or UB_TP_NONE for any. */
UbTpResult ub_tpg_create(UbTp *tp, uint32_t *tpgn, UbTpgPolicy policy);
/* The group goes, its channels stay. */
UbTpResult ub_tpg_destroy(UbTp *tp, uint32_t tpgn);
/* A channel joins the group; it can be in one only.  All of a group have the same source and
 * destination (UB_TPR_BAD_ATTR), also after ub_tp_modify(). */
UbTpResult ub_tpg_join(UbTp *tp, uint32_t tpgn, uint32_t tpn);
UbTpResult ub_tpg_leave(UbTp *tp, uint32_t tpn);
/* The channel that a new operation of the group goes to: ready if any is, in
 * UB_TP_ACTIVE; UB_TP_NONE if there is none of these. */
uint32_t ub_tpg_pick(UbTp *tp, uint32_t tpgn);

/* ---- the rest ---- */

const UbTpCounters *ub_tp_counters(const UbTp *tp);
/* The name of counter @i, from 0, and its value; NULL: there are no more. */
const char *ub_tp_counter(const UbTp *tp, unsigned i, uint64_t *value);
/* The MTU of channels that are made from now on, unless another is asked for: 1024, 4096
 * or 8192. */
void ub_tp_set_mtu(UbTp *tp, uint32_t mtu);
/* CC_EN. */
void ub_tp_cc_enable(UbTp *tp, bool on);
/*
 * With whom there may be channels is the UBFM's to say from now on (§10.4.6), in
 * CFG0_CAP243 of @space (ub/tp_hw.h); nobody, at first.  @kick: it said something, and
 * ub_tp_run() has something to do.  False: what is there belongs to another slice, or it
 * is so already.
 */
bool ub_tp_manage(UbTp *tp, UbSpace *space, void (*kick)(void *opaque),
                  void *opaque);
/* Save or load all of it.  Loading into what ub_tp_new() made of the same
 * configuration; after an error it is as after ub_tp_reset(). */
void ub_tp_image(UbTp *tp, CoreImage *im);

#endif
