/*
 * Link management state machine of a UB port.  UB 2.0 §3.4.2, §3.4.3.
 *
 * The machine is a plain structure that reads no clock and owns no symbols.
 * What comes in (training blocks, AMCTL commands, idle, null blocks, requests)
 * is only noted by the ub_lmsm_rx_* and ub_lmsm_request_* calls; states change
 * and symbols go out in ub_lmsm_poll() alone, so two machines may be connected
 * back to back without recursion.  All times are ns of the caller's clock; the
 * document's times are multiplied by config.time_scale.
 *
 * A training state would repeat its block for ever.  Repeats that change
 * nothing are left out: after the blocks that the counts of both ends need, one
 * frame (32 blocks) goes out each `refresh` until the state is left.
 *
 * Lanes: "physical" numbers count wires 0..7 of the port, "logical" ones the
 * lanes of the link.  Masks have bit n for lane n.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef UB_LMSM_H
#define UB_LMSM_H

#include <stdbool.h>
#include <stdint.h>

#include "eq_model.h"
#include "lmb.h"
#include "ub/lane_manage.h"
#include "ub/phy.h"

#define UB_LMSM_LANES   8
#define UB_LMSM_FRAME   32      /* LTBs between two AMCTLs, §3.2.4.3 */
#define UB_LMSM_NO_LANE 0xff

/*
 * States.  The codes are those of PHY Link Status 1 "Current LMSM State": the
 * bit numbers of the LMSM timeout enables, and free numbers for states that
 * have no timeout (decision D-6).
 */
typedef enum UbLmsmState {
    UB_LMSM_PROBE_WAIT      = 0,
    UB_LMSM_PROBE_CONFIRM   = 1,
    UB_LMSM_RXEQ_OPTIMIZE   = 2,
    UB_LMSM_DISC_ACTIVE     = 3,
    UB_LMSM_DISC_CONFIRM    = 4,
    UB_LMSM_CONF_ACTIVE     = 5,
    UB_LMSM_CONF_CHECK      = 6,
    UB_LMSM_CONF_CONFIRM    = 7,
    UB_LMSM_SEND_NULLBLOCK  = 8,
    UB_LMSM_LINK_ACTIVE     = 9,
    UB_LMSM_RETR_ACTIVE     = 10,
    UB_LMSM_RETR_CONFIRM    = 11,
    UB_LMSM_LINK_IDLE       = 12,
    UB_LMSM_CHANGE_SPEED    = 13,
    UB_LMSM_EQ_COARSE_ACTIVE = 14,
    UB_LMSM_EQ_ACTIVE       = 15,
    UB_LMSM_EQ_PASSIVE      = 16,
    UB_LMSM_EQ_COARSE_CONFIRM = 17,
    UB_LMSM_STATES          = 18,
    UB_LMSM_ANY             = 0xff, /* "from" of a transition */
} UbLmsmState;

/*
 * Every transition: X(name, from, to, error bits, cause).  The names are those
 * that tests and traces use.
 */
#define UB_LMSM_TRANSITIONS(X)                                               \
    X(RESET, ANY, LINK_IDLE, 0, "reset or link disable")                     \
    X(IDLE_PROBE, LINK_IDLE, PROBE_WAIT, 0, "start")                         \
    X(IDLE_RXEQ, LINK_IDLE, RXEQ_OPTIMIZE, 0, "start, fixed rate")           \
    X(IDLE_DISCOVERY, LINK_IDLE, DISC_ACTIVE, 0, "start, no probe")          \
    X(PW_EI_EXIT, PROBE_WAIT, PROBE_CONFIRM, 0, "electrical idle exit")      \
    X(PW_TIMEOUT, PROBE_WAIT, PROBE_CONFIRM, 0, "timeout")                   \
    X(PC_ALL, PROBE_CONFIRM, DISC_ACTIVE, 0, "receivers on all lanes")       \
    X(PC_NONE, PROBE_CONFIRM, PROBE_WAIT, 0, "no receiver")                  \
    X(PC_PARTIAL, PROBE_CONFIRM, DISC_ACTIVE, 0, "same lanes found twice")   \
    X(PC_UNSTABLE, PROBE_CONFIRM, PROBE_WAIT, 0, "lanes found differ")       \
    X(RXEQ_DONE, RXEQ_OPTIMIZE, DISC_ACTIVE, 0, "receivers adapted")         \
    X(RXEQ_TIMEOUT, RXEQ_OPTIMIZE, DISC_ACTIVE, 0, "timeout")                \
    X(DA_MATCH, DISC_ACTIVE, DISC_CONFIRM, 0, "8 DLTBs on all lanes")        \
    X(DA_TIMEOUT_ANY, DISC_ACTIVE, DISC_CONFIRM, 0,                          \
      "timeout, 8 DLTBs on a lane")                                          \
    X(DA_TIMEOUT_NEGO, DISC_ACTIVE, LINK_IDLE, UB_PHY_ERR_WIDTH_NEGO,        \
      "timeout, DLTBs do not match")                                         \
    X(DA_TIMEOUT, DISC_ACTIVE, LINK_IDLE, UB_PHY_ERR_DISCOVERY,              \
      "timeout, nothing heard")                                              \
    X(DC_MATCH, DISC_CONFIRM, CONF_ACTIVE, 0, "8 DLTBs agree")               \
    X(DC_TIMEOUT, DISC_CONFIRM, LINK_IDLE, UB_PHY_ERR_DISCOVERY, "timeout")  \
    X(CA_MATCH, CONF_ACTIVE, CONF_CHECK, 0, "2 CLTBs on all lanes")          \
    X(CA_TIMEOUT, CONF_ACTIVE, LINK_IDLE, 0, "timeout")                      \
    X(CA_NO_LINK, CONF_ACTIVE, LINK_IDLE, 0, "no link can be configured")    \
    X(CA_DLTB, CONF_ACTIVE, LINK_IDLE, 0, "2 DLTBs on all lanes")            \
    X(CC_MATCH, CONF_CHECK, CONF_CONFIRM, 0, "2 CLTBs on all lanes")         \
    X(CC_TIMEOUT, CONF_CHECK, LINK_IDLE, 0, "timeout")                       \
    X(CC_NO_LINK, CONF_CHECK, LINK_IDLE, 0, "no link can be configured")     \
    X(CC_DLTB, CONF_CHECK, LINK_IDLE, 0, "2 DLTBs on all lanes")             \
    X(CF_MATCH, CONF_CONFIRM, SEND_NULLBLOCK, 0, "2 CLTBs on all lanes")     \
    X(CF_TIMEOUT, CONF_CONFIRM, LINK_IDLE, 0, "timeout")                     \
    X(CF_NO_LINK, CONF_CONFIRM, LINK_IDLE, 0, "no link can be configured")   \
    X(CF_DLTB, CONF_CONFIRM, LINK_IDLE, 0, "2 DLTBs on all lanes")           \
    X(SN_NULLS, SEND_NULLBLOCK, LINK_ACTIVE, 0, "8 null blocks")             \
    X(SN_UPPER, SEND_NULLBLOCK, DISC_ACTIVE, 0, "width reconfiguration")     \
    X(SN_DLTB, SEND_NULLBLOCK, DISC_ACTIVE, 0, "2 DLTBs on a lane")          \
    X(SN_LOST, SEND_NULLBLOCK, RETR_ACTIVE, 0, "AMCTL or framing lost")      \
    X(SN_TIMEOUT, SEND_NULLBLOCK, RETR_ACTIVE, 0, "timeout")                 \
    X(SN_TIMEOUT_IDLE, SEND_NULLBLOCK, LINK_IDLE, 0,                         \
      "timeout, retrains used up")                                           \
    X(LA_EDF, LINK_ACTIVE, RETR_ACTIVE, 0, "EDF received")                   \
    X(LA_RETRAIN, LINK_ACTIVE, RETR_ACTIVE, 0, "Retrain Link")               \
    X(LA_WIDTH, LINK_ACTIVE, RETR_ACTIVE, 0, "width reconfiguration")        \
    X(LA_SPEED, LINK_ACTIVE, RETR_ACTIVE, 0, "change_speed")                 \
    X(LA_EI, LINK_ACTIVE, RETR_ACTIVE, 0, "electrical idle without EEI")     \
    X(LA_AMCTL, LINK_ACTIVE, RETR_ACTIVE, 0, "AMCTL lost")                   \
    X(LA_FRAMING, LINK_ACTIVE, RETR_ACTIVE, 0, "framing error")              \
    X(LA_RETRY, LINK_ACTIVE, RETR_ACTIVE, 0, "data link layer retry failed") \
    X(RA_MATCH, RETR_ACTIVE, RETR_CONFIRM, 0, "8 RLTBs on all lanes")        \
    X(RA_EQ_PRIMARY, RETR_ACTIVE, EQ_COARSE_CONFIRM, 0, "equalise, primary") \
    X(RA_EQ_SECONDARY, RETR_ACTIVE, EQ_COARSE_ACTIVE, 0,                     \
      "equalise, secondary")                                                 \
    X(RA_DLTB, RETR_ACTIVE, DISC_ACTIVE, 0, "2 DLTBs on a lane")             \
    X(RA_TIMEOUT_SPEED, RETR_ACTIVE, RETR_CONFIRM, 0,                        \
      "timeout, peer asks for a rate")                                       \
    X(RA_TIMEOUT_DR0, RETR_ACTIVE, CHANGE_SPEED, UB_PHY_ERR_SPEED_REDUCED,   \
      "timeout, rate not reached")                                           \
    X(RA_TIMEOUT_BACK, RETR_ACTIVE, CHANGE_SPEED, UB_PHY_ERR_SPEED_REDUCED,  \
      "timeout, rate reached")                                               \
    X(RA_TIMEOUT_FIXED, RETR_ACTIVE, DISC_ACTIVE, 0,                         \
      "timeout, blocks heard, fixed rate")                                   \
    X(RA_TIMEOUT_DISC, RETR_ACTIVE, DISC_ACTIVE, 0,                          \
      "timeout, blocks heard")                                               \
    X(RA_TIMEOUT_IDLE, RETR_ACTIVE, LINK_IDLE, UB_PHY_ERR_RETRAIN,           \
      "timeout, nothing heard")                                              \
    X(RC_SPEED, RETR_CONFIRM, CHANGE_SPEED, 0, "8 RLTBs ask for a rate")     \
    X(RC_DATA, RETR_CONFIRM, SEND_NULLBLOCK, 0, "8 RLTBs on all lanes")      \
    X(RC_DLTB, RETR_CONFIRM, DISC_ACTIVE, 0, "8 DLTBs on a lane")            \
    X(RC_WIDTH, RETR_CONFIRM, DISC_ACTIVE, 0, "width reconfiguration")       \
    X(RC_EI_BACK, RETR_CONFIRM, CHANGE_SPEED, UB_PHY_ERR_SPEED_REDUCED,      \
      "electrical idle, rate was changed")                                   \
    X(RC_EI_DR0, RETR_CONFIRM, CHANGE_SPEED, UB_PHY_ERR_SPEED_REDUCED,       \
      "electrical idle, rate was not changed")                               \
    X(RC_TIMEOUT_FIXED, RETR_CONFIRM, DISC_ACTIVE, 0,                        \
      "timeout, blocks heard, fixed rate")                                   \
    X(RC_TIMEOUT_DISC, RETR_CONFIRM, DISC_ACTIVE, 0,                         \
      "timeout, blocks heard")                                               \
    X(RC_TIMEOUT_DATA, RETR_CONFIRM, SEND_NULLBLOCK, 0,                      \
      "timeout, above Data Rate 0")                                          \
    X(RC_TIMEOUT_IDLE, RETR_CONFIRM, LINK_IDLE, UB_PHY_ERR_RETRAIN,          \
      "timeout")                                                             \
    X(CS_DONE, CHANGE_SPEED, RETR_ACTIVE, 0, "idle both ways, rate set")     \
    X(CS_TIMEOUT, CHANGE_SPEED, LINK_IDLE, 0, "timeout")                     \
    X(ECA_MATCH, EQ_COARSE_ACTIVE, EQ_COARSE_CONFIRM, 0, "2 ELTBs")          \
    X(ECA_TIMEOUT_SKIP, EQ_COARSE_ACTIVE, EQ_COARSE_CONFIRM, 0,              \
      "timeout, coarse tune skipped")                                        \
    X(ECA_TIMEOUT, EQ_COARSE_ACTIVE, CHANGE_SPEED, UB_PHY_ERR_EQ_COARSE,     \
      "timeout")                                                             \
    X(ECC_PRI_FINE, EQ_COARSE_CONFIRM, EQ_PASSIVE, 0, "2 ELTBs, fine tune")  \
    X(ECC_PRI_DONE, EQ_COARSE_CONFIRM, RETR_ACTIVE, 0,                       \
      "2 ELTBs, no fine tune")                                               \
    X(ECC_PRI_TIMEOUT_SKIP, EQ_COARSE_CONFIRM, EQ_PASSIVE, 0,                \
      "timeout, coarse tune skipped")                                        \
    X(ECC_PRI_TIMEOUT, EQ_COARSE_CONFIRM, CHANGE_SPEED,                      \
      UB_PHY_ERR_EQ_COARSE, "timeout")                                       \
    X(ECC_SEC_FINE, EQ_COARSE_CONFIRM, EQ_ACTIVE, 0,                         \
      "2 ELTBs of Passive_Phase")                                            \
    X(ECC_SEC_RLTB, EQ_COARSE_CONFIRM, RETR_ACTIVE, 0, "8 RLTBs")            \
    X(ECC_SEC_TIMEOUT_SKIP, EQ_COARSE_CONFIRM, EQ_ACTIVE, 0,                 \
      "timeout, coarse tune skipped")                                        \
    X(ECC_SEC_TIMEOUT, EQ_COARSE_CONFIRM, CHANGE_SPEED,                      \
      UB_PHY_ERR_EQ_COARSE, "timeout")                                       \
    X(EQP_PASSIVE, EQ_PASSIVE, EQ_ACTIVE, 0, "2 ELTBs of Passive_Phase")     \
    X(EQP_RLTB, EQ_PASSIVE, RETR_ACTIVE, 0, "2 RLTBs")                       \
    X(EQP_TIMEOUT, EQ_PASSIVE, CHANGE_SPEED, UB_PHY_ERR_EQ_FINE, "timeout")  \
    X(EQA_PRI_DONE, EQ_ACTIVE, RETR_ACTIVE, 0, "settings found, primary")    \
    X(EQA_SEC_DONE, EQ_ACTIVE, EQ_PASSIVE, 0, "settings found, secondary")   \
    X(EQA_TIMEOUT, EQ_ACTIVE, CHANGE_SPEED, UB_PHY_ERR_EQ_FINE, "timeout")

typedef enum UbLmsmTransitionId {
#define UB_T(name, from, to, err, cause) UB_T_##name,
    UB_LMSM_TRANSITIONS(UB_T)
#undef UB_T
    UB_T_COUNT,
} UbLmsmTransitionId;

typedef struct UbLmsmTransition {
    const char *name;       /* "DA_MATCH" */
    const char *cause;      /* in words */
    uint8_t from, to;       /* UbLmsmState; from may be UB_LMSM_ANY */
    uint32_t error;         /* UB_PHY_ERR_* */
} UbLmsmTransition;

extern const UbLmsmTransition ub_lmsm_transitions[UB_T_COUNT];

/* The document's state name, or "?". */
const char *ub_lmsm_state_name(unsigned state);

/* State 1 bits of a data rate (appendix D, DATA_RATEx). */
enum {
    UB_EQS_COMPLETE        = 1u << 0,
    UB_EQS_COARSE_COMPLETE = 1u << 1,
    UB_EQS_COARSE_OK       = 1u << 2,
    UB_EQS_PASSIVE_OK      = 1u << 3,
    UB_EQS_ACTIVE_OK       = 1u << 4,
    UB_EQS_LINK_REQUEST    = 1u << 5,
};

/*
 * The outside.  tx_* are called from ub_lmsm_poll() only and must do all that
 * they say before they return (buffering is the callee's).  Others are called
 * from any entry.  status, transition, lane_manage may be NULL.
 */
typedef struct UbLmsmOps {
    /*
     * Logical lanes 0..lanes-1 send training blocks from now on, at that rate,
     * on wires phys[]; after data an EDF goes first.  `exit`: the lanes leave
     * electrical idle, so an EEIB sequence goes first.  Other lanes go idle.
     */
    void (*tx_train)(void *o, unsigned lanes, const uint8_t *phys,
                     unsigned rate, bool exit);
    /* n times ltb[logical lane], n a multiple of UB_LMSM_FRAME. */
    void (*tx_ltbs)(void *o, const uint8_t (*ltb)[UB_LMB_SYMBOLS], unsigned n);
    /* AMCTL with SDF; then data of that width and FEC mode. */
    void (*tx_sdf)(void *o, unsigned width, unsigned fec, bool interleave);
    void (*tx_nulls)(void *o, unsigned n);
    /* AMCTL with EEI (if eei and lanes are sending), then electrical idle. */
    void (*tx_idle)(void *o, bool eei);
    /* In data: LWS to `width`; dropped lanes get EEI and go idle. */
    void (*tx_width)(void *o, unsigned width);
    /* In data: lanes width..lanes-1 leave idle and repeat ltb[]. */
    void (*tx_wake)(void *o, unsigned lanes,
                    const uint8_t (*ltb)[UB_LMB_SYMBOLS]);
    /*
     * Data or fill for a few AMCTL periods, so that the blocks on the lanes
     * being woken flow.  Called again and again until they are in use.
     */
    void (*tx_wake_fill)(void *o);
    /* In data: lanes that tx_wake woke go idle again. */
    void (*tx_unwake)(void *o);
    /* In data: AMCTL insert period control on the active lanes. */
    void (*tx_period)(void *o, unsigned index);
    /* In data: order the peer's TX down to `width`. */
    void (*tx_remote_width)(void *o, unsigned width);

    /* Receive wires in mask hunt for AMCTLs at that rate; 0: receiver off. */
    void (*rx_enable)(void *o, unsigned mask, unsigned rate);
    /* Drop the lock of the enabled wires and hunt for training anew. */
    void (*rx_relock)(void *o);
    /* FEC mode that the next SDF will start with. */
    void (*rx_fec)(void *o, unsigned fec, bool interleave);
    /* Wire of each logical RX lane, UB_LMSM_NO_LANE if none. */
    void (*rx_map)(void *o, const uint8_t *phys);

    /* Lane_Manage for the data link layer to send. */
    void (*lane_manage)(void *o, const UbLaneManage *lm);
    /* What this Retrain may do to the encapsulation mode. */
    UbPhyModeGate (*mode_gate)(void *o);
    void (*status)(void *o, unsigned changed);
    void (*transition)(void *o, UbLmsmTransitionId id, int64_t now);
} UbLmsmOps;

/* One receive wire. */
typedef struct UbLmsmLane {
    uint8_t ltb[UB_LTB_BODY];   /* last good block, if run != 0 */
    uint8_t lid;                /* Lane_ID it was numbered with */
    bool idle;                  /* electrical idle */
    bool was_idle;              /* idle seen since Change_Speed was entered */
    bool eei;                   /* EEI received since the last block */
    bool ok;                    /* the state's condition has been met */
    uint32_t run;               /* consecutive blocks, 0 after a bad one */
    uint8_t misses;             /* AMCTLs missed in a row */
    uint64_t ltbs, crc_errors;
    uint64_t kind_errors[UB_LTB_KINDS];
} UbLmsmLane;

/* Per logical TX lane: equalisation of the current rate. */
typedef struct UbLmsmEqLane {
    UbEqSetting tx;             /* what our transmitter uses */
    UbEqSetting ask;            /* what we ask of the peer's */
    UbEqSetting best;
    UbEqSetting echo;           /* what we echo, accepted or not */
    bool reject;
    bool done, accepted, finishing, has_best;
    uint8_t index;
    uint8_t best_eye;
    int64_t asked_at, accepted_at;
} UbLmsmEqLane;

/* What Retrain may switch at run time. */
typedef struct UbLmsmModes {
    uint8_t fec;                /* UB_LTB_FEC_*, 0xff none yet */
    uint8_t crc;                /* UB_LTB_CRC* */
    bool interleave;
} UbLmsmModes;

/* One direction of a quick width switch. */
typedef struct UbLmsmSwitch {
    uint8_t step;               /* private */
    uint8_t width;              /* lanes aimed at */
    int64_t deadline;
} UbLmsmSwitch;

typedef struct UbLmsmQdlws {
    uint8_t status;             /* UB_QDLWS_* */
    bool asked;                 /* our request waits for its response */
    bool requester;             /* the switches below were our wish */
    uint8_t tlw, rlw;           /* asked for: lanes, 0 none */
    int64_t deadline, retry_at;
    UbLmsmSwitch tx, rx;
} UbLmsmQdlws;

typedef struct UbLmsmStats {
    uint64_t transitions[UB_T_COUNT];
    uint64_t retrains, ltbs_sent, lane_downs, qdlws_done;
} UbLmsmStats;

typedef struct UbLmsm {
    UbLmsmConfig cfg;
    UbEqModel eq;
    const UbLmsmOps *ops;
    void *opaque;

    uint8_t state;              /* UbLmsmState */
    uint8_t from;               /* the state before it */
    int64_t now, entered, deadline;

    /* Variables by the document's names (§3.4.3.1). */
    bool link_up, link_ready, change_speed, start_eq_init;
    bool fix_data_rate_mode, bypass_probe_var, bypass_equalization;
    bool over_fibre_optical_enable, symmetric_link, changed_speed_retrain;
    uint8_t tx_m, rx_n, rx_lane0_id, tx_lane0_id;
    uint8_t retrain_num;
    uint16_t eq_complete;       /* eq_complete_data_rateX, bit X */

    /* Link. */
    bool start, disable, primary;
    uint8_t rate, entry_rate, next_rate;
    uint16_t adv, peer_adv, peer_all, disc_common, bad_rates;
    uint8_t link_id, eq_mode, fec, crc;
    bool interleave;
    uint8_t peer_fec_support, peer_interleave;
    uint8_t tx_phys[UB_LMSM_LANES], rx_phys[UB_LMSM_LANES];
    uint8_t tx_mode, tx_lanes;  /* private */
    uint8_t presence, probed;
    uint8_t ask_lane0;          /* RX_Lane0_ID sent: a Lane_ID of the peer's */

    /* Port type negotiation. */
    bool nego;
    uint8_t port_type, random, peer_random, equal_random;
    uint32_t rng;

    /* The state's counts. */
    bool heard, dirty;
    uint32_t sent, quota;       /* LTBs since first receipt; LTBs to send */
    uint32_t sent_speed;        /* of them with Change_Speed = 1, in Confirm */
    int64_t refresh_at;         /* the next unasked frame */
    int64_t settle_at;          /* the state's own wait, INT64_MAX none */
    int64_t relock_at;          /* Retrain.Active hunts anew */
    int64_t hold_at;            /* Change_Speed has been idle long enough */
    /* What the peer was seen to send in this state. */
    struct {
        bool blocks;            /* two in a row */
        bool c1, c3;            /* Retrain.Confirm, EQ_Initial */
        bool speed, speed8;     /* Change_Speed = 1: once, eight in a row */
    } saw;
    bool reversed;              /* our TX lanes, on the peer's word */
    bool rate_changed, rate_pending;
    bool c3, request_eq, from_eq;
    bool null_ok, il_reject, fec_reject;
    uint8_t sdf;                /* lanes of the SDF that began the stream */
    uint32_t nulls, nulls_sent;
    bool visited_retrain;
    uint8_t speed_reason;       /* private: why Change_Speed was entered */
    uint8_t ber_status;
    uint8_t fec_floor;          /* by hi_FEC_BER, until Link_Idle */
    uint32_t ber_ltbs, ber_bad;
    UbLmsmModes wish, base;     /* of this Retrain */
    UbPhyModeGate mode_gate;    /* … and what it may do */
    UbLmsmModes seen[UB_DATA_RATES];    /* registers at the last agreement */
    UbLmsmModes agreed[UB_DATA_RATES];

    /* Requests noted between polls. */
    struct {
        bool retrain, width, speed, eq;
    } want;
    struct {
        bool edf, framing, retry, ei;
        uint8_t loss;           /* lanes that lost AMCTL lock */
    } got;
    uint16_t refused;           /* rates that the peer did not want */
    bool reconf;                /* Retrain is on its way to Discovery */

    uint8_t ltb[UB_LMSM_LANES][UB_LMB_SYMBOLS];
    UbLmsmLane lane[UB_LMSM_LANES];
    UbLmsmEqLane eql[UB_LMSM_LANES];
    UbEqSetting tx_eq[UB_DATA_RATES][UB_LMSM_LANES];
    uint8_t c3_preset[UB_LMSM_LANES];   /* by logical RX lane; 0xff none */
    uint8_t eq_state[UB_DATA_RATES];    /* UB_EQS_* */
    UbLmsmQdlws qdlws;
    uint8_t remote_tx;          /* peer orders our TX to that width */
    uint8_t asked_remote;       /* we ordered the peer's TX to it */
    uint8_t lane_bad;           /* wires without AMCTLs in Link_Active */
    int64_t lane_down_at;       /* by then the peer must have obeyed */
    uint32_t errors;            /* UB_PHY_ERR_*, sticky until cleared */
    UbLmsmStats stats;
} UbLmsm;

/* The machine is the caller's memory; opaque goes to every op. */
void ub_lmsm_init(UbLmsm *l, const UbLmsmConfig *cfg, const UbEqModel *eq,
                  const UbLmsmOps *ops, void *opaque);

/*
 * Time passes: changes state and sends.  Returns the time of the next call,
 * INT64_MAX if only an event can bring something new.  Call it after every
 * batch of events.
 */
int64_t ub_lmsm_poll(UbLmsm *l, int64_t now);

/* Reset, Link Disable and start ("upper layer directs").  Effective at once. */
void ub_lmsm_reset(UbLmsm *l, int64_t now);
void ub_lmsm_start(UbLmsm *l);
void ub_lmsm_disable(UbLmsm *l, int64_t now, bool disable);

/* Requests of software and upper layers. */
void ub_lmsm_request_retrain(UbLmsm *l);    /* PHY Link Control 1 [31] */
void ub_lmsm_request_width(UbLmsm *l);      /* to cfg.target_tx/rx by Retrain */
void ub_lmsm_request_speed(UbLmsm *l);      /* to cfg.target_rate */
/* The next rise of the rate equalises, done before or not: PHY Link Control 2
 * [7] */
void ub_lmsm_request_eq(UbLmsm *l);
bool ub_lmsm_request_target(UbLmsm *l);     /* what the targets ask for; false
                                             * outside Link_Active */
void ub_lmsm_request_retry(UbLmsm *l);      /* data link layer retry failed */

/* Do the registers ask for another encapsulation mode than the one in force, at
 * the rate that a change to the target would lead to? */
bool ub_lmsm_wants_mode(const UbLmsm *l);

/*
 * QDLWS: ask for new widths, 0 = leave (primary in Link_Active only).  False
 * and an error bit if the rules forbid it.  rx_lane_manage: what the
 * data link layer received.
 */
bool ub_lmsm_qdlws(UbLmsm *l, int64_t now, unsigned tlw, unsigned rlw);
void ub_lmsm_rx_lane_manage(UbLmsm *l, int64_t now, const UbLaneManage *lm);

/* Events of the receiver; lane = wire. */
void ub_lmsm_rx_ltb(UbLmsm *l, int64_t now, unsigned lane,
                    const uint8_t ltb[UB_LMB_SYMBOLS]);
void ub_lmsm_rx_idle(UbLmsm *l, int64_t now, unsigned mask);
void ub_lmsm_rx_eei(UbLmsm *l, int64_t now, unsigned lane);
void ub_lmsm_rx_edf(UbLmsm *l, int64_t now);
void ub_lmsm_rx_sdf(UbLmsm *l, int64_t now, unsigned width);
void ub_lmsm_rx_width(UbLmsm *l, int64_t now, unsigned width);
void ub_lmsm_rx_remote_width(UbLmsm *l, int64_t now, unsigned width);
void ub_lmsm_rx_miss(UbLmsm *l, int64_t now, unsigned lane, unsigned misses);
void ub_lmsm_rx_unlock(UbLmsm *l, int64_t now, unsigned lane);
void ub_lmsm_rx_framing(UbLmsm *l, int64_t now);
/* hi_FEC_BER of the receiver rose. */
void ub_lmsm_rx_hi_ber(UbLmsm *l, int64_t now);
/* n blocks in a row were null blocks (null) or one was something else. */
void ub_lmsm_rx_blocks(UbLmsm *l, int64_t now, unsigned n, bool null);
/* Wires with a receiver at their other end (what Probe detects). */
void ub_lmsm_presence(UbLmsm *l, int64_t now, unsigned mask);

/* The eye (0 … 255) that RX lane `lane` has with what the peer sends. */
unsigned ub_lmsm_eye(const UbLmsm *l, unsigned lane);

#endif
