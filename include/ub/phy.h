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
 * A UbPhy belongs to one thread at a time.  Callbacks must not call back into
 * it except for ub_phy_lmsm() requests; lane_tx may deliver to another UbPhy.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef UB_PHY_H
#define UB_PHY_H

#include "ub/lmsm.h"
#include "ub/pcs.h"

typedef struct UbPhy UbPhy;

/* The most frames of fill that a stream may send before it rests. */
#define UB_PHY_REST_MAX 16

typedef struct UbPhyParams {
    UbPcsParams pcs;
    uint16_t precode;       /* PHY Link Control 5 [31:16]: bit = Data Rate */
    unsigned rest_frames;   /* fill frames before the stream comes to rest,
                             * UB_PHY_REST_MAX at most;
                             * more than 0 feeds receivers behind skewed or
                             * bit-slipped lanes, which lag by that much */
} UbPhyParams;

/* PCS defaults; precoding on Data Rates 4 to 8, as the register resets to. */
void ub_phy_params_init(UbPhyParams *p);

/* All but lane_tx, lane_state, pull_flits and rx_flits may be NULL. */
typedef struct UbPhyOps {
    /* The symbols of `run` go out on its wires; the buffers are the phy's. */
    void (*lane_tx)(void *opaque, const UbPcsRun *run);
    /* Wires that are out of electrical idle from now on, and at what rate. */
    void (*lane_state)(void *opaque, uint8_t active, unsigned rate);
    /* Up to max flits to send; fewer: the stream stands between two blocks. */
    size_t (*pull_flits)(void *opaque, uint8_t *flits, size_t max);
    /* Flits of one FEC verdict. */
    void (*rx_flits)(void *opaque, const uint8_t *flits, size_t n,
                     bool fec_ok);
    /* The Null Block of an encapsulation (UB_LTB_CRC*): asked at each SDF. */
    void (*null_flit)(void *opaque, unsigned crc_mode, uint8_t out[UB_FLIT]);
    /* As the LMSM's: UB_LMSM_ST_*, transitions, CMD bytes of LM Blocks. */
    void (*status)(void *opaque, unsigned changed);
    void (*transition)(void *opaque, UbLmsmTransitionId id, int64_t now);
    void (*lm_block)(void *opaque, const uint8_t cmd[4]);
    /* Events of the PCS receiver, after the LMSM has seen them. */
    void (*pcs_event)(void *opaque, UbPcsEvent ev, unsigned lane,
                      uint32_t arg);
    /* Every training block, for capture; lane = wire (sent: logical lane),
     * n times the same. */
    void (*ltb)(void *opaque, bool sent, unsigned lane,
                const uint8_t ltb[UB_LTB], unsigned n);
} UbPhyOps;

/* NULL if a parameter set does not pass its check. */
UbPhy *ub_phy_new(const UbLmsmConfig *cfg, const UbEqModel *eq,
                  const UbPhyParams *params, const UbPhyOps *ops,
                  void *opaque);
void ub_phy_free(UbPhy *phy);

/* Port reset: Link_Idle, all lanes idle, receiver off. */
void ub_phy_reset(UbPhy *phy, int64_t now);

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

/* Link_Active: flits may flow. */
bool ub_phy_active(const UbPhy *phy);

/* Inside, for requests, registers and statistics. */
UbLmsm *ub_phy_lmsm(UbPhy *phy);
const UbPcsTx *ub_phy_pcs_tx(const UbPhy *phy);
UbPcsRx *ub_phy_pcs_rx(UbPhy *phy);

#endif
