/*
 * The physical layer of one UB port: PCS and LMSM joined (UB 2.0 chapter 3).
 *
 * Below is a wire that carries lane symbols; above is the data link layer.
 * Nothing here reads a clock or blocks.  A turn of the caller:
 *
 *     ub_phy_rx_lanes(), ub_phy_rx()   what the wire brought
 *     next = ub_phy_poll(phy, now)     states, timers, training symbols
 *     ub_phy_tx(phy, now, budget)      flits, while the wire has room
 *     ub_phy_poll() again if ub_phy_tx() was not called last
 *
 * Rest.  With the link active and the data link layer silent no symbol is
 * made: the frame begun is filled with Null Blocks, followed by params.
 * rest_frames frames of them, and that is where the stream stands until there
 * is something to say.  No AMCTL is due meanwhile, because AMCTLs are counted
 * in symbols.  Commands that ride in an AMCTL fill up to its place first.
 *
 * ub_phy_rx() may send too (training answers), so lane_tx and lane_state come
 * from inside it as well.
 *
 * Who stands outside asks, looks and listens: ub_phy_configure(), _request(),
 * _status(), _take_errors().  The machines inside are hw/ub/phy's own.
 *
 * A UbPhy belongs to one thread at a time.  Callbacks must not call back into
 * it except for ub_phy_request(), _status(), _stats(), _config() and
 * _take_errors(); lane_tx may deliver to another UbPhy.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef UB_PHY_H
#define UB_PHY_H

#include "ub/lane_manage.h"
#include "ub/phy_config.h"

typedef struct UbPhy UbPhy;

/* Correctable error bits, PORT_ERR_RECORD 0x18: bit n is error C.(n+1). */
enum {
    UB_PHY_ERR_BLOCK_ALIGN   = 1u << 1,
    UB_PHY_ERR_DESKEW        = 1u << 3,
    UB_PHY_ERR_AMCTL         = 1u << 4,
    UB_PHY_ERR_LTB_CRC       = 1u << 5,
    UB_PHY_ERR_SPEED_REDUCED = 1u << 6,
    UB_PHY_ERR_WIDTH_REDUCED = 1u << 7,
    UB_PHY_ERR_EQ_COARSE     = 1u << 8,
    UB_PHY_ERR_EQ_FINE       = 1u << 9,
    UB_PHY_ERR_WIDTH_NEGO    = 1u << 10,
    UB_PHY_ERR_DISCOVERY     = 1u << 11,
    UB_PHY_ERR_QDLWS         = 1u << 14,
    UB_PHY_ERR_BAD_WIDTH     = 1u << 15,
    UB_PHY_ERR_RETRAIN       = 1u << 17,
};

/* What changed, for ops->status. */
enum {
    UB_PHY_ST_LINKUP  = 1u << 0,
    UB_PHY_ST_READY   = 1u << 1,
    UB_PHY_ST_RATE    = 1u << 2,
    UB_PHY_ST_WIDTH   = 1u << 3,
    UB_PHY_ST_FEC     = 1u << 4,   /* FEC, interleave or CRC mode */
    UB_PHY_ST_ROLE    = 1u << 5,
    UB_PHY_ST_EQ      = 1u << 6,
    UB_PHY_ST_QDLWS   = 1u << 7,
    UB_PHY_ST_ERROR   = 1u << 8,   /* ub_phy_take_errors() has some */
};

/* PHY Link Error Status: what the PCS has met since the port's reset. */
enum { UB_PHY_PCS_DESKEW = 1u << 0, UB_PHY_PCS_EBCH = 1u << 1 };

/* QDLWS execution status, appendix D. */
enum { UB_QDLWS_IDLE, UB_QDLWS_NAK, UB_QDLWS_BUSY, UB_QDLWS_TIMEOUT,
       UB_QDLWS_DONE };

/*
 * What a Retrain may do to the encapsulation mode (§3.4.2.8): only what the
 * data link layer is ready for.  It changes if the RLTBs of both ends say so.
 */
typedef enum UbPhyModeGate {
    UB_PHY_MODE_KEEP,    /* stays */
    UB_PHY_MODE_OWN,     /* as the registers say */
    UB_PHY_MODE_FOLLOW,  /* the peer may change it */
} UbPhyModeGate;

/* All but lane_tx, lane_state, pull_flits and rx_flits may be NULL. */
typedef struct UbPhyOps {
    /* The symbols of `run` go out on its wires; the buffers are the phy's. */
    void (*lane_tx)(void *opaque, const UbLaneRun *run);
    /* Wires that are out of electrical idle from now on, and at what rate. */
    void (*lane_state)(void *opaque, uint8_t active, unsigned rate);
    /* Up to max flits to send; fewer: the stream stands between two blocks. */
    size_t (*pull_flits)(void *opaque, uint8_t *flits, size_t max);
    /* Flits of one FEC verdict. */
    void (*rx_flits)(void *opaque, const uint8_t *flits, size_t n,
                     bool fec_ok);
    /* The Null Block of an encapsulation (UB_LTB_CRC*): asked at each SDF. */
    void (*null_flit)(void *opaque, unsigned crc_mode, uint8_t out[UB_FLIT]);
    /* UB_PHY_ST_* that changed. */
    void (*status)(void *opaque, unsigned changed);
    /* Link_Active was entered (flits may flow), or left with LinkUp kept. */
    void (*active)(void *opaque, bool active);
    /* The state machine went from one state to another; for traces. */
    void (*transition)(void *opaque, const char *from, const char *to,
                       const char *cause);
    /* Asked when RLTBs are made; _OWN if NULL. */
    UbPhyModeGate (*mode_gate)(void *opaque);
    /* Lane_Manage for the data link layer to send. */
    void (*lane_manage)(void *opaque, const UbLaneManage *lm);
    /* Every training block, for capture; lane = wire (sent: logical lane),
     * n times the same. */
    void (*ltb)(void *opaque, bool sent, unsigned lane,
                const uint8_t ltb[UB_LTB], unsigned n);
} UbPhyOps;

/* NULL if the configuration does not pass ub_phy_config_check(). */
UbPhy *ub_phy_new(const UbPhyConfig *cfg, const UbPhyOps *ops, void *opaque);
void ub_phy_free(UbPhy *phy);

/* Port reset: Link_Idle, all lanes idle, receiver off. */
void ub_phy_reset(UbPhy *phy, int64_t now);

/*
 * Settings for what comes next: the state machine reads most of them live,
 * those of the PCS count from ub_phy_new() on.  Returns NULL, or the rule that
 * is broken; the settings are unchanged then.
 */
const char *ub_phy_configure(UbPhy *phy, const UbLmsmConfig *cfg);
const UbLmsmConfig *ub_phy_config(const UbPhy *phy);

/* What software and upper layers ask for. */
typedef enum UbPhyRequest {
    UB_PHY_REQ_START,    /* leave Link_Idle */
    UB_PHY_REQ_STOP,     /* stay there, once there */
    UB_PHY_REQ_DISABLE,  /* Link Disable: Link_Idle until _ENABLE */
    UB_PHY_REQ_ENABLE,
    UB_PHY_REQ_TARGET,   /* Retrain Link: to the rate and widths that the
                          * settings aim at; false outside Link_Active */
    UB_PHY_REQ_RETRAIN,  /* Retrain as it is */
    UB_PHY_REQ_RETRY,    /* the data link layer's retries are used up */
    UB_PHY_REQ_EQUALIZE, /* Perform Equalization at the next rate change */
    UB_PHY_REQ_QDLWS,    /* to the target widths without Retrain; false where
                          * the rules forbid it (primary in Link_Active) */
} UbPhyRequest;

/* False: not possible now. */
bool ub_phy_request(UbPhy *phy, int64_t now, UbPhyRequest request);

/* Lane_Manage that the data link layer received. */
void ub_phy_rx_lane_manage(UbPhy *phy, int64_t now, const UbLaneManage *lm);

typedef struct UbPhyStatus {
    const char *state;    /* of the LMSM, as the document calls it */
    uint8_t code;         /* the same, as PHY Link Status 1 has it */
    bool active, link_up, primary, interleave;
    bool ready;           /* Link_Active at the rate aimed at */
    uint8_t rate, tx_width, rx_width;
    uint8_t fec, crc;     /* UbFec (0xff: none yet), UB_LTB_CRC* */
    uint8_t eq_mode;
    uint8_t qdlws;        /* UB_QDLWS_* */
    uint8_t eq_state[UB_DATA_RATES]; /* DATA_RATEn State 1 */
    uint16_t precode;     /* Data Rates that are precoded, both directions */
    uint8_t pcs_errors;   /* UB_PHY_PCS_* */
} UbPhyStatus;

void ub_phy_status(const UbPhy *phy, UbPhyStatus *st);

/* Link_Active: flits may flow.  LinkUp. */
bool ub_phy_active(const UbPhy *phy);
bool ub_phy_link_up(const UbPhy *phy);

/*
 * Whether the registers ask for another encapsulation mode than the one in
 * force, at the rate that UB_PHY_REQ_TARGET would lead to: they differ, and
 * changed since both ends agreed.
 */
bool ub_phy_wants_mode(const UbPhy *phy);

/* All rates of a mode, bit n = Data Rate n. */
unsigned ub_phy_rates(UbPhyMode mode);
/* Of a lane, kbit/s; 0: the mode has no such rate. */
uint32_t ub_phy_kbps(UbPhyMode mode, unsigned rate);

/* UB_PHY_ERR_* since the last call. */
uint32_t ub_phy_take_errors(UbPhy *phy);

/* Kinds of training blocks. */
typedef enum UbPhyLtb { UB_PHY_DLTB, UB_PHY_CLTB, UB_PHY_RLTB, UB_PHY_ELTB }
    UbPhyLtb;

typedef struct UbPhyStats {
    uint64_t fec_corrected; /* symbols */
    uint64_t fec_failed;    /* code words */
    uint64_t amctl_missed;
    uint64_t ltb_errors[4]; /* training blocks with a bad CRC, by UbPhyLtb */
} UbPhyStats;

void ub_phy_stats(const UbPhy *phy, UbPhyStats *stats);

/* Equalisation: the preset that logical lane @lane sends with at @rate, and the
 * eye (0 … 255) that receive lane @lane has with what the peer sends. */
unsigned ub_phy_tx_preset(const UbPhy *phy, unsigned rate, unsigned lane);
unsigned ub_phy_eye(const UbPhy *phy, unsigned lane);
/* Software has seen Link Equalization Request of a rate (DATA_RATE State 1). */
void ub_phy_clear_eq_request(UbPhy *phy, unsigned rate);

/* Next deadline, INT64_MAX when only an event can bring something new. */
int64_t ub_phy_poll(UbPhy *phy, int64_t now);

/* The wire: n symbols on each wire of mask (others NULL); wires that the peer
 * drives and at what rate; wires that lead anywhere at all (Probe). */
void ub_phy_rx(UbPhy *phy, int64_t now, uint8_t mask,
               const uint8_t *const sym[UB_LANES], size_t n);
void ub_phy_rx_lanes(UbPhy *phy, int64_t now, uint8_t active, unsigned rate);
void ub_phy_presence(UbPhy *phy, int64_t now, uint8_t wires);

/*
 * Send up to max flits of pull_flits.  Returns how many went; fewer than max:
 * there is no more (the frame begun was filled and the stream rests).
 */
size_t ub_phy_tx(UbPhy *phy, int64_t now, size_t max);

#endif
