/*
 * UB data link layer: one end of a link (UB 2.0 chapter 4).
 *
 * Above are packets of the network layer, per virtual lane; below is a PCS
 * that moves flits of 20 bytes and says when the physical link is up, active
 * and retraining.  The layer is a batch machine without a clock: every call
 * that can depend on time takes `now` in nanoseconds, and ub_dll_poll() says
 * when it wants to be called again.
 *
 * Calling order for a link:
 *     ub_dll_rx(dll, now, ...) for what arrived,
 *     ub_dll_tx(dll, now, ...) until it returns less than asked,
 *     ub_dll_poll(dll, now)    after that and when its deadline has come, then
 *                              ub_dll_tx() again if the deadline had come.
 * ops->kick tells that something else (a new packet, a released buffer) made
 * ub_dll_tx() worth calling.
 *
 * Idle.  When there is nothing to send ub_dll_tx() returns 0; a return smaller
 * than asked means that the stream stands between two blocks, where Null
 * Blocks (ub_put_simple(…, UB_CB_NULL)) may be put, or nothing at all.
 *
 * Nothing that a peer sends can stop the process or make memory grow beyond
 * what the configuration allows.  Callbacks may call ub_dll_send() and
 * ub_dll_phy_*(), and free received packets, but not call _rx, _tx, _poll or
 * _free.
 * A UbDll belongs to one thread at a time.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef UB_DLL_H
#define UB_DLL_H

#include "ub/dll_format.h"
#include "ub/packet.h"

typedef struct UbDll UbDll;

/* §4.2; values as in Data Link State Machine Status [3:0]. */
typedef enum UbDllState {
    UB_DLL_DISABLED,
    UB_DLL_PARAM_INIT,
    UB_DLL_CREDIT_INIT,
    UB_DLL_NORMAL,
} UbDllState;

/* §4.7.3.3; values as in Data Link State Machine Status [7:4]. */
typedef enum UbRetryReqState {
    UB_RETRY_REQ_NORMAL,
    UB_RETRY_REQ_REQ,
    UB_RETRY_REQ_WAIT,
    UB_RETRY_REQ_RETRAIN,
    UB_RETRY_REQ_ERROR,
} UbRetryReqState;

/* §4.7.3.4; values as in Data Link State Machine Status [11:8]. */
typedef enum UbRetryAckState {
    UB_RETRY_ACK_NORMAL,
    UB_RETRY_ACK_ACK,
} UbRetryAckState;

/* The parts of the encapsulation mode change (§4.3.3.8). */
typedef enum UbBmcState {
    UB_BMC_IDLE,
    UB_BMC_DRAIN,      /* own request: DLLDP under way ends */
    UB_BMC_REQ_SENT,   /* own request sent, the peer's awaited */
    UB_BMC_ACKING,     /* both requests seen: return ACKs, send BMC ACK */
    UB_BMC_QUIET,      /* BMC ACK sent, the peer's awaited */
    UB_BMC_PEER_DRAIN, /* peer's request seen: DLLDP under way ends */
    UB_BMC_PEER_WAIT,  /* answered with a request, BMC ACK awaited */
    UB_BMC_PEER_ACKING,/* got it: return ACKs, send BMC ACK */
    UB_BMC_READY,      /* Retrain may switch */
} UbBmcState;

/* What §4.8 reports; ub_dll_error_info() has the register side. */
typedef enum UbDllError {
    UB_DLL_ERR_RETRY_ACK_TIMEOUT,
    UB_DLL_ERR_RETRY_ROLLOVER,
    UB_DLL_ERR_PROTOCOL,
    UB_DLL_ERR_RETRY,
    UB_DLL_ERR_PACKET_LENGTH,
    UB_DLL_ERR_RX_OVERFLOW,
    UB_DLL_ERR_FC_OVERFLOW,
    UB_DLL_ERRORS,
} UbDllError;

typedef struct UbDllErrorInfo {
    const char *name;
    uint8_t code;       /* C.n of Table 10-14 */
    uint8_t status_bit; /* bit of the error status registers, n - 1 */
    bool correctable;   /* by default */
} UbDllErrorInfo;

/* NULL outside the enum. */
const UbDllErrorInfo *ub_dll_error_info(UbDllError err);

/* A state of one of the machines changed; for traces and registers. */
typedef enum UbDllMachine {
    UB_DLL_SM,
    UB_RETRY_REQ_SM,
    UB_RETRY_ACK_SM,
    UB_BMC_SM,
    UB_DLL_MACHINES,
} UbDllMachine;

const char *ub_dll_state_name(UbDllMachine machine, unsigned state);

/*
 * The outside.  deliver is needed, the rest may be NULL.
 */
typedef struct UbDllOps {
    /* A received packet; ownership moves.  Its Receive Buffer space is free
     * again, and credits flow to the peer, when it is freed: by whomever and
     * whenever, even behind a link loss or ub_dll_free(). */
    void (*deliver)(void *opaque, CorePacket *pkt);
    /* DLL_Status_Up / DLL_Status_Down towards the network layer. */
    void (*status)(void *opaque, bool up);
    /* The physical layer shall Retrain (ub_dll_phy_active() when done). */
    void (*retrain)(void *opaque);
    /* The mode change handshake is complete: the primary side's physical
     * layer shall Retrain with the new mode. */
    void (*mode_ready)(void *opaque);
    /* The mode change was given up (no answer in time). */
    void (*mode_failed)(void *opaque);
    /* An exception of §4.8.  @what names the rule.  @fatal: the layer has
     * stopped until ub_dll_reset(). */
    void (*error)(void *opaque, UbDllError err, bool fatal, const char *what);
    /* Peer input that breaks a rule without harm: ignored and counted. */
    void (*peer_error)(void *opaque, const char *what);
    void (*transition)(void *opaque, UbDllMachine machine, unsigned from,
                       unsigned to, const char *cause);
    /* Param_Exchg (§4.3.3.6) data words, 1 … 32. */
    void (*param_exchg)(void *opaque, const uint32_t *words, unsigned n);
    void (*lane_manage)(void *opaque, const UbLaneManage *lm);
    /* Network layer back-pressure on and off (§4.3.3.8, §4.6.3). */
    void (*back_pressure)(void *opaque, bool on);
    /* A VL's queue fell below half of its limit after ub_dll_send() had
     * refused a packet. */
    void (*tx_space)(void *opaque, unsigned vl);
    void (*kick)(void *opaque);
    /* Every block sent and every good one received, for capture. */
    void (*block)(void *opaque, bool sent, const uint8_t *block,
                  unsigned flits);
} UbDllOps;

/*
 * Configuration: Data Link Configuration, Remote Init Credit Cfg, Retry Cfg,
 * Performance Optimization Cfg (appendix D.6.2.2), what has no register, and
 * the switches for doubtful places (docs/decisions/ub-dll.rst).
 */
/* Rules of credits that an end breaks, so that the other one can be seen to notice. */
typedef enum UbDllFault {
    UB_DLL_FAULT_NONE,
    UB_DLL_FAULT_OVERRUN,   /* packets without credit (C.29 of the peer) */
    UB_DLL_FAULT_OVERGRANT, /* Crd_Acks return more than was used (C.30) */
} UbDllFault;

typedef struct UbDllConfig {
    UbDllParams wish;              /* goes into the Init Block as it is */
    uint16_t init_credit[UB_VLS];  /* cells granted to the peer */
    uint8_t tx_share;              /* use shared credits if the peer can */
    uint16_t share_quota[UB_VLS];  /* exclusive part in shared mode, cells;
                                    * 0: enough for the longest packet */

    int64_t wait_timeout;    /* ns, WAIT of RETRY_REQ_SM */
    int64_t credit_timeout;  /* ns without credit while blocked; 0: never */
    int64_t keepalive;       /* ns between empty Crd_Acks while the peer may
                              * wait for credit; 0: never */
    int64_t credit_delay;    /* ns that credit below its mark waits for a DLLDP
                              * to carry it, then a Crd_Ack goes out; 0: none */
    int64_t mode_timeout;    /* ns for the mode change; 0: never */
    int64_t block_timeout;   /* ns that a block may stay unfinished before a
                              * retry is asked for; 0: never */
    uint8_t num_retry_threshold;
    uint8_t num_phy_reinit_threshold;

    /* Marks for a Crd_Ack, lowered where the peer could not reach them. */
    uint16_t ack_return;          /* flits, when no DLLDP goes out; 0: a
                                   * quarter of the peer's Retry Buffer */
    uint16_t ack_force;           /* flits, before any DLLDP; 0: half of it */
    uint16_t crd_return[UB_VLS];  /* cells, when no DLLDP goes out; 0: an
                                   * eighth of init_credit, and what is less
                                   * after credit_delay */
    uint16_t crd_force[UB_VLS];   /* cells; 0: half of init_credit */
    uint16_t crd_ack_reserve;     /* flits of Retry Buffer that only Crd_Ack
                                   * may use (§4.7.3.2.4), >= 4 */
    uint8_t mark_err;             /* send marked packets with ERROR_FLAG
                                   * (§4.8.3); else drop them */
    uint8_t advertise;            /* send Param_Exchg on entering Normal */
    uint16_t port_idx;
    uint8_t guid[16];             /* Entity 0, most significant byte first */

    uint16_t vl_weight[UB_VLS];   /* 0 counts as 1 */
    uint16_t vl_strict;           /* VLs served before the weighted ones,
                                   * highest number first */
    uint32_t queue_limit;         /* bytes per VL; the packet that reaches
                                   * it is still taken */

    /* Switches. */
    uint8_t crc_cover;            /* UbCrcCover */
    uint8_t init_flits;           /* length of our Init Block, 5 … 32 */
    uint8_t retry_set_run;        /* Retry flits in a row that make a set
                                   * while hunting, 2 … 33 */
    uint8_t retry_send_threshold; /* compare after sending: THRESHOLD sets per
                                   * round instead of THRESHOLD - 1 */
    uint8_t retry_clear_always;   /* clear counters at each entry of NORMAL,
                                   * not at first progress */
    uint8_t count_early_retrain;  /* count Retrains of the physical layer
                                   * before DLL_Normal was reached, too */
    uint8_t undefined_fatal;      /* peer errors without a rule stop the
                                   * layer as DL Protocol Error */
    uint8_t down_recovers;        /* link down ends a fatal state */
    uint8_t fault_credit;         /* UbDllFault: what we do wrong to the peer */
} UbDllConfig;

/* Documented defaults with usable credits: register resets where they work
 * (§4.4 fall-backs, 64 us WAIT), RETRY_BUF_DEPTH 8192 flits, 8 VLs offered,
 * 4096 cells on VL0 and 512 on each other. */
void ub_dll_config_init(UbDllConfig *cfg);

/* NULL when usable, else a sentence that names what is wrong. */
const char *ub_dll_config_check(const UbDllConfig *cfg);

/* The same for each value by itself: not for sums, and what must fit each
 * other, which may be wrong while software still writes one after the other. */
const char *ub_dll_config_check_values(const UbDllConfig *cfg);

typedef struct UbDllStats {
    uint64_t tx_flits, rx_flits;       /* on the wire, without Nulls */
    uint64_t tx_packets, rx_packets;
    uint64_t tx_bytes, rx_bytes;       /* payload */
    uint64_t tx_control, rx_control;   /* DLLCBs that the buffer keeps */
    uint64_t tx_crd_acks, tx_nob; /* of those */
    uint64_t tx_dropped;      /* queued but lost: link down, oversize … */
    uint64_t tx_blocked_credit;  /* times that no VL had credit */
    uint64_t rx_dropped;      /* complete DLLDPs not delivered */
    uint64_t rx_reserved_cfg;
    uint64_t rx_error_flag;   /* delivered with ERROR_FLAG */
    uint64_t rx_null;
    uint64_t rx_discarded;    /* flits dropped in REQ, WAIT and by skipping */
    uint64_t crc_errors, fec_errors, block_timeouts;
    uint64_t retries;         /* Retry_Req_Sets sent */
    uint64_t retry_acks;      /* Retry_Ack_Sets sent */
    uint64_t replayed_flits;
    uint64_t duplicate_acks;  /* Retry_Ack_Sets seen in NORMAL, with data */
    uint64_t retrains;        /* asked of the physical layer */
    uint64_t mode_changes;
    uint64_t peer_errors;
    uint64_t errors[UB_DLL_ERRORS];
} UbDllStats;

/* A look at everything a monitor or register wants. */
typedef struct UbDllStatus {
    UbDllState state;
    UbRetryReqState retry_req;
    UbRetryAckState retry_ack;
    UbBmcState mode_change;
    UbBlockMode mode;
    bool link_up, active, fatal;
    UbDllParams agreed;   /* grain fields one-hot; retry_buf_depth and
                           * packet_min_interval are the peer's */
    bool tx_shared;
    uint32_t tx_credit[UB_VLS];      /* exclusive cells in hand */
    uint32_t tx_credit_init[UB_VLS]; /* what the peer granted */
    uint32_t tx_credit_shared;       /* SHARE_CRD */
    uint32_t rx_granted[UB_VLS];     /* cells granted to the peer */
    uint32_t rx_held[UB_VLS];        /* of those: not yet given back */
    uint32_t rx_pending[UB_VLS];     /* of those: free, waiting to go back */
    uint32_t ack_pending;            /* received flits not yet acknowledged */
    uint32_t wr_ptr, tail_ptr, rd_ptr, rcv_ptr, num_free_buf, depth;
    uint8_t num_retry, num_phy_reinit;
    uint32_t queued[UB_VLS];         /* packets */
    uint32_t starved;                /* bit v: the first of VL v lacks credits */
    bool neighbor_valid;             /* Neighbor Port Info, D.5.4 */
    uint16_t neighbor_port;
    uint8_t neighbor_guid[16];
} UbDllStatus;

/* A new end in DLL_Disabled.  @cfg must pass the check (else NULL); it and
 * @ops are copied.  Received packets come from @pool, which the caller keeps
 * alive. */
UbDll *ub_dll_new(const UbDllConfig *cfg, const UbDllOps *ops, void *opaque,
                  CorePacketPool *pool);
void ub_dll_free(UbDll *dll);

/* Device or port reset (§4.2): DLL_Disabled, everything queued is dropped,
 * a fatal state ends.  Statistics stay. */
void ub_dll_reset(UbDll *dll, int64_t now);

/* Change the configuration.  Parameters of the Init Block, credits and
 * RETRY_BUF_DEPTH take effect at the next link up.  False: not usable, nothing
 * changed. */
bool ub_dll_configure(UbDll *dll, const UbDllConfig *cfg);
const UbDllConfig *ub_dll_config(const UbDll *dll);

/* LinkUp == 1: leave DLL_Disabled.  Flits flow from ub_dll_phy_active() on. */
void ub_dll_phy_up(UbDll *dll, int64_t now);
/* LinkUp == 0 (§4.8.4). */
void ub_dll_phy_down(UbDll *dll, int64_t now);
/* Link_Active entered, or entered again after a Retrain, with this
 * encapsulation.  Non-CRC without FEC breaks §4.3.2.3: CRC is kept. */
void ub_dll_phy_active(UbDll *dll, int64_t now, UbBlockMode mode, bool fec);
/* The physical layer started a Retrain (whoever asked for it). */
void ub_dll_phy_retrain(UbDll *dll, int64_t now);

/* Queue a packet on pkt->vl with pkt->lph_cfg and pkt->rt; ownership moves if
 * true.  False: not DLL_Normal, VL not in use, length or CFG not allowed, more
 * cells than the peer will ever grant the VL, or queue full; the caller keeps
 * the packet. */
bool ub_dll_send(UbDll *dll, CorePacket *pkt);
/* Whether the queue of @vl has reached its limit; ops->tx_space tells when
 * that is over.  False for a VL that does not exist. */
bool ub_dll_full(UbDll *dll, unsigned vl);

/* Pull up to @max_flits flits into @flits (20 bytes each).  Returns flits. */
size_t ub_dll_tx(UbDll *dll, int64_t now, uint8_t *flits, size_t max_flits);

/* Push @n received flits.  @fec_ok: one byte per flit, 0 when its FEC frame
 * was not correctable; NULL: all good. */
void ub_dll_rx(UbDll *dll, int64_t now, const uint8_t *flits, size_t n,
               const uint8_t *fec_ok);

/* Run timers; the next deadline, or INT64_MAX. */
int64_t ub_dll_poll(UbDll *dll, int64_t now);

/* What the physical layer may do to the encapsulation mode in a Retrain. */
typedef enum UbDllModeGate {
    UB_DLL_MODE_KEEP,   /* nothing: DLLDPs are under way */
    UB_DLL_MODE_OWN,    /* change it by its own registers: no DLLDP was sent
                         * yet, or ub_dll_mode_change() came to its end */
    UB_DLL_MODE_FOLLOW, /* change it if the peer does: it asked, and the
                         * handshake came to its end */
} UbDllModeGate;

UbDllModeGate ub_dll_mode_gate(const UbDll *dll);

/* Start a mode change (§4.3.3.8): ends in
 * ops->mode_ready, a Retrain and ub_dll_phy_active() with the new mode.
 * False: not in DLL_Normal or one is under way. */
bool ub_dll_mode_change(UbDll *dll, int64_t now);

/* Queue a control block; false: not in DLL_Normal or too many waiting. */
bool ub_dll_send_lane_manage(UbDll *dll, const UbLaneManage *lm);
bool ub_dll_send_param_exchg(UbDll *dll, const uint32_t *words, unsigned n);

void ub_dll_status(const UbDll *dll, UbDllStatus *st);
const UbDllStats *ub_dll_stats(const UbDll *dll);

/* Data Link Status 0xA0-0xAB (12 words) and Data Link State Machine Status
 * 0xAC of appendix D.6.2.3. */
void ub_dll_status_words(const UbDll *dll, uint32_t words[12]);
uint32_t ub_dll_sm_status(const UbDll *dll);

/* Negotiation by itself (§4.4): result of @local against @remote.  FEATURE_ID,
 * grains, cell and VLs are agreed; share, depth and interval are @remote's. */
UbDllParams ub_dll_negotiate(const UbDllParams *local,
                             const UbDllParams *remote);

#endif
