/*
 * One port of the UB controller: rings, data link layer, PHY and wire joined.
 *
 * Downward: descriptors are fetched, packets handed to the data link layer,
 * its flits pulled by the PHY, the symbols put on the wire.  Upward: the same
 * road back.  All of it happens in ub_port_run(), in batches, and only while
 * the byte stream takes what is sent.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <glib.h>

#include "internal.h"

/* Bytes queued on the byte stream at which a port stops sending, and at which
 * it goes on: enough to keep a socket busy, little enough to stay in cache. */
#define WIRE_HIGH (256 * 1024)
#define WIRE_LOW (64 * 1024)
/* Bytes that are worth a call of their own to the byte stream: the peer begins
 * with them, and they have not left the cache. */
#define WIRE_PIECE (48 * 1024)
/* From one restart that a new session of the peer asks for to the next, ns. */
#define RESTART_GAP 10000000
/* Descriptors of a ring served before others have their turn. */
#define TX_BUDGET 64
/* Flits pulled at once, and sent in one run, so that receiving has its turn. */
#define FLIT_BATCH 768  /* whole frames: the encoder likes them */
#define FLIT_BUDGET (4 * FLIT_BATCH)

/* ---- Receive: data link layer to guest ------------------------------------- */

/* Put a packet into the next receive buffer; false: there is none. */
static bool place(UbPort *p, CorePacket *pkt)
{
    Ubc *ubc = p->ubc;
    const UbRingDesc *d = ubc->master ? ub_ring_next(&p->rx) : NULL;
    uint32_t len = pkt->len;
    uint16_t status = pkt->error ? UBC_DESC_ERROR : 0;

    if (!d) {
        return false;
    }
    if (len > d->len) {
        len = d->len;
        status |= UBC_DESC_TRUNCATED;
        p->counter[UBC_CNT_RX_TRUNCATED]++;
    }
    if (len && !ubc_ring_ops.write(ubc, d->addr, core_packet_data(pkt),
                                      len)) {
        status |= UBC_DESC_ERROR;
    }
    if (!ub_ring_complete(&p->rx, pkt->len, pkt->lph_cfg |
                          pkt->vl << UBC_DESC_VL_SHIFT, status)) {
        return false;
    }
    p->counter[UBC_CNT_RX_PACKETS]++;
    p->counter[UBC_CNT_RX_BYTES] += pkt->len;
    return true;
}

static bool deliver(void *opaque, CorePacket *pkt)
{
    UbPort *p = opaque;
    Ubc *ubc = p->ubc;

    if (ubc->ops.capture_packet) {
        ubc->ops.capture_packet(ubc->opaque, p->index, false, pkt->lph_cfg,
                                pkt->vl, core_packet_data(pkt), pkt->len);
    }
    if (!p->held && place(p, pkt)) {
        core_packet_free(pkt);
        return true;
    }
    /* Wait for a buffer: the peer's credits bound how much can wait. */
    p->counter[UBC_CNT_RX_NO_BUFFER] += !p->held;
    pkt->next = NULL;
    *p->held_tail = pkt;
    p->held_tail = &pkt->next;
    return false;
}

static void place_held(UbPort *p)
{
    while (p->held && place(p, p->held)) {
        CorePacket *pkt = p->held;

        p->held = pkt->next;
        if (!p->held) {
            p->held_tail = &p->held;
        }
        ub_dll_release(p->dll, ub_dll_hold(pkt));
        core_packet_free(pkt);
    }
}

static void drop_held(UbPort *p)
{
    while (p->held) {
        CorePacket *pkt = p->held;

        p->held = pkt->next;
        ub_dll_release(p->dll, ub_dll_hold(pkt));
        core_packet_free(pkt);
    }
    p->held_tail = &p->held;
}

/* ---- Transmit: guest to data link layer ------------------------------------- */

static uint32_t mtu(const UbPort *p)
{
    /* The longer payload of Non-CRC mode is not offered: a mode change must
     * not make a packet too long. */
    return UB_PAYLOAD_MAX_CRC;
}

/* The rule that a transmit descriptor breaks, or NULL. */
static const char *check_tx(const UbPort *p, const UbRingDesc *d)
{
    if (d->len == 0 || d->len > mtu(p)) {
        return "transmit descriptor with an impossible length";
    }
    if (d->flags & ~(UBC_DESC_CFG | UBC_DESC_VL)) {
        return "transmit descriptor with reserved flags set";
    }
    return NULL;
}

typedef enum Sent { SENT, SENT_ERROR, SENT_LATER } Sent;

static Sent send_one(UbPort *p, const UbRingDesc *d)
{
    Ubc *ubc = p->ubc;
    const char *broken = check_tx(p, d);
    CorePacket *pkt;
    uint32_t len = d->len;
    unsigned vl = (d->flags & UBC_DESC_VL) >> UBC_DESC_VL_SHIFT;

    if (broken) {
        ubc_guest_error(ubc, p->index, broken);
        return SENT_ERROR;
    }
    if (!p->dll_up) {
        return SENT_ERROR;
    }
    if (ub_dll_full(p->dll, vl)) {
        return SENT_LATER;
    }
    pkt = core_packet_alloc(ubc->pool, len);
    if (!pkt) {
        return SENT_LATER;
    }
    pkt->lph_cfg = d->flags & UBC_DESC_CFG;
    pkt->vl = vl;
    if (!ubc_ring_ops.read(ubc, d->addr, core_packet_data(pkt), len)) {
        core_packet_free(pkt);
        return SENT_ERROR;
    }
    if (ubc->ops.capture_packet) {
        ubc->ops.capture_packet(ubc->opaque, p->index, true, pkt->lph_cfg,
                                pkt->vl, core_packet_data(pkt), len);
    }
    if (!ub_dll_send(p->dll, pkt)) {
        core_packet_free(pkt);
        ubc_guest_error(ubc, p->index,
                           "packet on a VL or with a CFG that the link does "
                           "not carry");
        return SENT_ERROR;
    }
    p->counter[UBC_CNT_TX_PACKETS]++;
    p->counter[UBC_CNT_TX_BYTES] += len;
    return SENT;
}

/* True: the budget ran out, there is more. */
static bool serve_tx(UbPort *p)
{
    const UbRingDesc *d;

    for (unsigned n = 0; p->ubc->master && !p->tx_full; n++) {
        Sent sent;

        d = ub_ring_next(&p->tx);
        if (!d) {
            return false;
        }
        if (n == TX_BUDGET) {
            return true;
        }
        sent = send_one(p, d);
        if (sent == SENT_LATER) {
            p->tx_full = true;
            return false;
        }
        p->counter[UBC_CNT_TX_ERRORS] += sent == SENT_ERROR;
        if (!ub_ring_complete(&p->tx, d->len, d->flags,
                              sent == SENT_ERROR ? UBC_DESC_ERROR : 0)) {
            return false;
        }
    }
    return false;
}

/* ---- The data link layer's outside ------------------------------------------- */

static void dll_status(void *opaque, bool up)
{
    UbPort *p = opaque;

    p->dll_up = up;
    p->tx_full = false;
    if (!up) {
        p->counter[UBC_CNT_LINK_DOWNS]++;
    }
    ub_port_link_event(p);
}

static void dll_retrain(void *opaque)
{
    UbPort *p = opaque;

    ub_phy_request(p->phy, p->ubc->now, UB_PHY_REQ_RETRY);
    ubc_kick(p->ubc);
}

static void dll_mode_ready(void *opaque)
{
    UbPort *p = opaque;

    ub_phy_request(p->phy, p->ubc->now, UB_PHY_REQ_RETRAIN);
    ubc_kick(p->ubc);
}

static void dll_error(void *opaque, UbDllError err, bool fatal,
                      const char *what)
{
    UbPort *p = opaque;
    const UbDllErrorInfo *info = ub_dll_error_info(err);

    p->counter[UBC_CNT_DLL_ERRORS]++;
    p->ubc->ops.peer_error(p->ubc->opaque, p->index, what);
    if (info) {
        ub_port_regs_error(p->ubc, p->index, 1u << info->status_bit);
    }
    ubc_port_event(p, UBC_PORT_EVENT_DLL_ERROR);
}

static void dll_peer_error(void *opaque, const char *what)
{
    UbPort *p = opaque;

    p->ubc->ops.peer_error(p->ubc->opaque, p->index, what);
}

static void dll_transition(void *opaque, UbDllMachine machine, unsigned from,
                           unsigned to, const char *cause)
{
    static const UbcMachine machines[] = {
        [UB_DLL_SM] = UBC_MACHINE_DLL,
        [UB_RETRY_REQ_SM] = UBC_MACHINE_RETRY_REQ,
        [UB_RETRY_ACK_SM] = UBC_MACHINE_RETRY_ACK,
        [UB_BMC_SM] = UBC_MACHINE_BMC,
    };
    UbPort *p = opaque;

    if (p->ubc->ops.transition) {
        p->ubc->ops.transition(p->ubc->opaque, p->index, machines[machine],
                               ub_dll_state_name(machine, from),
                               ub_dll_state_name(machine, to), cause);
    }
}

static void dll_param_exchg(void *opaque, const uint32_t *words, unsigned n)
{
    ubc_port_event(opaque, UBC_PORT_EVENT_PARAM);
}

static void dll_lane_manage(void *opaque, const UbLaneManage *lm)
{
    UbPort *p = opaque;

    ub_phy_rx_lane_manage(p->phy, p->ubc->now, lm);
    ubc_port_event(p, UBC_PORT_EVENT_LANE);
}

static void phy_lane_manage(void *opaque, const UbLaneManage *lm)
{
    UbPort *p = opaque;

    ub_dll_send_lane_manage(p->dll, lm);
}

static void dll_back_pressure(void *opaque, bool on)
{
    UbPort *p = opaque;

    p->back_pressure = on;
    ub_port_link_event(p);
}

static void dll_tx_space(void *opaque, unsigned vl)
{
    UbPort *p = opaque;

    p->tx_full = false;
    ubc_kick(p->ubc);
}

static void dll_kick(void *opaque)
{
    UbPort *p = opaque;

    ubc_kick(p->ubc);
}

static void dll_block(void *opaque, bool sent, const uint8_t *block,
                      unsigned flits)
{
    UbPort *p = opaque;

    p->ubc->ops.capture_block(p->ubc->opaque, p->index, sent, block, flits);
}

static const UbDllOps dll_ops = {
    .deliver = deliver,
    .status = dll_status,
    .retrain = dll_retrain,
    .mode_ready = dll_mode_ready,
    .error = dll_error,
    .peer_error = dll_peer_error,
    .transition = dll_transition,
    .param_exchg = dll_param_exchg,
    .lane_manage = dll_lane_manage,
    .back_pressure = dll_back_pressure,
    .tx_space = dll_tx_space,
    .kick = dll_kick,
};

/* ---- The PHY's outside ------------------------------------------------------- */

static void phy_lane_tx(void *opaque, const UbLaneRun *run)
{
    UbPort *p = opaque;

    ub_wire_run(p->wire, run);
}

static void phy_lane_state(void *opaque, uint8_t active, unsigned rate)
{
    UbPort *p = opaque;

    ub_wire_lanes(p->wire, active, rate);
}

static size_t phy_pull_flits(void *opaque, uint8_t *flits, size_t max)
{
    UbPort *p = opaque;

    return ub_dll_tx(p->dll, p->ubc->now, flits, max);
}

static void phy_rx_flits(void *opaque, const uint8_t *flits, size_t n,
                         bool fec_ok)
{
    static const uint8_t bad[64];
    UbPort *p = opaque;

    while (n) {
        size_t piece = fec_ok ? n : MIN(n, sizeof(bad));

        ub_dll_rx(p->dll, p->ubc->now, flits, piece, fec_ok ? NULL : bad);
        flits += piece * UB_FLIT;
        n -= piece;
    }
}

static void phy_null_flit(void *opaque, unsigned crc_mode,
                          uint8_t out[UB_FLIT])
{
    const UbBlockFormat f = {
        .mode = crc_mode == UB_LTB_CRC30 ? UB_MODE_CRC : UB_MODE_NON_CRC,
    };

    ub_put_simple(f, out, UB_CB_NULL);
}

static void phy_status(void *opaque, unsigned changed)
{
    UbPort *p = opaque;

    if (changed & UB_PHY_ST_LINKUP) {
        if (ub_phy_link_up(p->phy)) {
            ub_dll_phy_up(p->dll, p->ubc->now);
        } else {
            ub_dll_phy_down(p->dll, p->ubc->now);
            /* The LMSM of the peer may bring the link back without ever losing
             * LinkUp, and its data link layer would talk to one that starts
             * anew. */
            ub_wire_restart(p->wire);
        }
        ub_port_link_event(p);
    }
    if (changed & UB_PHY_ST_ERROR) {
        ub_port_regs_error(p->ubc, p->index, ub_phy_take_errors(p->phy));
    }
    if (changed & (UB_PHY_ST_RATE | UB_PHY_ST_WIDTH)) {
        ubc_port_event(p, UBC_PORT_EVENT_WIDTH);
    }
}

static void phy_active(void *opaque, bool active)
{
    UbPort *p = opaque;
    UbPhyStatus st;

    if (active) {
        ub_phy_status(p->phy, &st);
        ub_dll_phy_active(p->dll, p->ubc->now,
                          st.crc == UB_LTB_CRC30 ? UB_MODE_CRC
                                                 : UB_MODE_NON_CRC,
                          st.fec != UB_FEC_OFF);
        ub_port_regs_retrain(p->ubc, p->index);
    } else {
        p->counter[UBC_CNT_RETRAINS]++;
        ub_dll_phy_retrain(p->dll, p->ubc->now);
        ubc_port_event(p, UBC_PORT_EVENT_RETRAIN);
    }
}

static void phy_transition(void *opaque, const char *from, const char *to,
                           const char *cause)
{
    UbPort *p = opaque;

    if (p->ubc->ops.transition) {
        p->ubc->ops.transition(p->ubc->opaque, p->index, UBC_MACHINE_LMSM,
                               from, to, cause);
    }
}

static void phy_ltb(void *opaque, bool sent, unsigned lane,
                    const uint8_t ltb[UB_LTB], unsigned n)
{
    UbPort *p = opaque;

    p->ubc->ops.capture_training(p->ubc->opaque, p->index, sent, lane, ltb,
                                 n);
}

static const UbPhyOps phy_ops = {
    .lane_tx = phy_lane_tx,
    .lane_state = phy_lane_state,
    .pull_flits = phy_pull_flits,
    .rx_flits = phy_rx_flits,
    .null_flit = phy_null_flit,
    .status = phy_status,
    .active = phy_active,
    .transition = phy_transition,
    .lane_manage = phy_lane_manage,
};

/* Both layers as after power-on, with what the registers say. */
static void restart(UbPort *p)
{
    UbDllConfig dll;

    ub_phy_reset(p->phy, p->ubc->now);
    ub_dll_reset(p->dll, p->ubc->now);
    ub_port_regs_dll(p->ubc, p->index, &dll);
    ub_dll_configure(p->dll, &dll);
    ub_port_regs_apply(p->ubc, p->index);
    p->tx_full = p->back_pressure = p->retrain = false;
    if (p->ctrl & UBC_PORT_CTRL_ENABLE) {
        ub_phy_request(p->phy, p->ubc->now, UB_PHY_REQ_START);
    }
    ubc_kick(p->ubc);
}

/* ---- The wire's outside ------------------------------------------------------- */

/*
 * Another process answers than before, or the peer lost LinkUp: what both data
 * link layers agreed on is gone, however short the interruption was.
 */
static void wire_restart(UbPort *p)
{
    const UbWireHello *peer = ub_wire_peer(p->wire);

    p->counter[UBC_CNT_LINK_RESTARTS]++;
    p->restart_at = INT64_MAX;
    p->restarted = p->ubc->now;
    restart(p);
    if (peer) {
        ub_phy_presence(p->phy, p->ubc->now, (1u << peer->lanes) - 1);
    }
    if (p->peer_active) {
        ub_phy_rx_lanes(p->phy, p->ubc->now, p->peer_active, p->peer_rate);
    }
}

static void wire_up(void *opaque, const UbWireHello *peer)
{
    UbPort *p = opaque;
    int64_t now = p->ubc->now;
    bool fresh = p->session && p->session != peer->session;

    p->session = peer->session;
    p->peer_active = 0;
    if (!fresh) {
        ub_phy_presence(p->phy, now, (1u << peer->lanes) - 1);
    } else if (now - p->restarted >= RESTART_GAP) {
        wire_restart(p);
    } else if (p->restart_at == INT64_MAX) {
        /* Deaf until then: who floods us with sessions gets few restarts. */
        p->restart_at = p->restarted + RESTART_GAP;
        ubc_kick(p->ubc);
    }
}

static void wire_down(void *opaque, const char *why, bool peer_error)
{
    UbPort *p = opaque;

    if (peer_error) {
        p->ubc->ops.peer_error(p->ubc->opaque, p->index, why);
    }
    p->ubc->ops.wire_close(p->ubc->opaque, p->index);
}

static void wire_lanes(void *opaque, uint8_t active, unsigned rate)
{
    UbPort *p = opaque;

    p->peer_active = active;
    p->peer_rate = rate;
    if (p->restart_at == INT64_MAX) {
        ub_phy_rx_lanes(p->phy, p->ubc->now, active, rate);
    }
}

static void wire_run(void *opaque, uint8_t mask,
                     const uint8_t *const sym[UB_LANES], size_t n)
{
    UbPort *p = opaque;

    if (p->restart_at == INT64_MAX) {
        ub_phy_rx(p->phy, p->ubc->now, mask, sym, n);
    }
}

static const UbWireOps wire_ops = { wire_up, wire_down, wire_lanes, wire_run };

/* ---- Life ------------------------------------------------------------------------ */

const char *ub_port_init(UbPort *p, Ubc *ubc, unsigned index)
{
    UbPhyConfig phy = ubc->conf.phy;
    UbDllOps dops = dll_ops;
    UbPhyOps pops = phy_ops;
    UbDllConfig dll;
    UbWireHello hello = {
        .lanes = phy.lmsm.max_width,
        .phy_mode = phy.lmsm.phy_mode,
        .port = index,
        .session = ubc->conf.session,
    };

    p->ubc = ubc;
    p->index = index;
    p->held_tail = &p->held;
    p->restart_at = INT64_MAX;
    p->restarted = -RESTART_GAP;
    phy.lmsm.seed += index;
    memcpy(hello.guid, ubc->conf.guid, sizeof(hello.guid));
    p->wire = ub_wire_new(&hello, &wire_ops, p);
    if (ubc->ops.capture_block) {
        dops.block = dll_block;
    }
    if (ubc->ops.capture_training) {
        pops.ltb = phy_ltb;
    }
    p->phy = ub_phy_new(&phy, &pops, p);
    if (!p->phy) {
        return "the physical layer refuses its configuration";
    }
    ub_port_regs_dll(ubc, index, &dll);
    p->dll = ub_dll_new(&dll, &dops, p, ubc->pool);
    if (!p->dll) {
        return ub_dll_config_check(&dll);
    }
    ub_ring_init(&p->tx, &ubc_ring_ops, ubc, &p->tx);
    ub_ring_init(&p->rx, &ubc_ring_ops, ubc, &p->rx);
    return NULL;
}

void ub_port_fini(UbPort *p)
{
    if (p->dll) {
        drop_held(p);
    }
    ub_dll_free(p->dll);
    ub_phy_free(p->phy);
    ub_wire_free(p->wire);
}

void ub_port_link_reset(UbPort *p)
{
    drop_held(p);
    restart(p);
}

void ub_port_reload(UbPort *p)
{
    restart(p);
    ub_port_link_event(p);
}

void ub_port_reset(UbPort *p)
{
    p->ctrl = p->event = p->event_mask = 0;
    p->status = p->counter_hi = 0;
    memset(p->counter, 0, sizeof(p->counter));
    ub_ring_reset(&p->tx);
    ub_ring_reset(&p->rx);
    ub_port_link_reset(p);
}

void ub_port_wire_down(UbPort *p)
{
    p->peer_active = 0;
    ub_phy_rx_lanes(p->phy, p->ubc->now, 0, 0);
    ub_phy_presence(p->phy, p->ubc->now, 0);
}

/* Whether the byte stream takes more symbols now. */
static bool wire_room(UbPort *p)
{
    const uint8_t *data;
    size_t queued = ub_wire_queued(p->wire, &data);

    p->wire_paused = queued > (p->wire_paused ? WIRE_LOW : WIRE_HIGH);
    return !p->wire_paused;
}

void ub_port_wire_sent(UbPort *p)
{
    if (p->wire_paused && wire_room(p)) {
        ubc_kick(p->ubc);
    }
}

/* Hand to the byte stream what is queued, if it is as much as `least`. */
static void wire_flush(UbPort *p, size_t least)
{
    const uint8_t *data;

    if (ub_wire_queued(p->wire, &data) >= least) {
        p->ubc->ops.wire_ready(p->ubc->opaque, p->index);
    }
}

/* True: the budget ran out, there may be more. */
static bool send_flits(UbPort *p)
{
    for (unsigned sent = 0; sent < FLIT_BUDGET; sent += FLIT_BATCH) {
        if (!ub_phy_active(p->phy) || !wire_room(p) ||
            ub_phy_tx(p->phy, p->ubc->now, FLIT_BATCH) < FLIT_BATCH) {
            return false;
        }
        wire_flush(p, WIRE_PIECE);
    }
    return true;
}

/*
 * What the PHY has to send by now.  While the wire is full its clock stands
 * still: training would be repeated into a queue that nobody reads.  Room kicks.
 */
static int64_t poll_phy(UbPort *p)
{
    return wire_room(p) ? ub_phy_poll(p->phy, p->ubc->now) : INT64_MAX;
}

int64_t ub_port_run(UbPort *p)
{
    Ubc *ubc = p->ubc;
    int64_t next, t;
    bool more;

    if (p->restart_at <= ubc->now) {
        wire_restart(p);
    }
    place_held(p);
    more = serve_tx(p);
    /* What was asked for so far is done below. */
    ubc->kicked = false;
    ub_dll_poll(p->dll, ubc->now);
    poll_phy(p);
    more |= send_flits(p);
    next = MIN(poll_phy(p), p->restart_at);
    t = ub_dll_poll(p->dll, ubc->now);
    next = MIN(next, t);
    place_held(p);
    ub_ring_notify(&p->tx);
    ub_ring_notify(&p->rx);
    wire_flush(p, 1);
    return more || ubc->kicked ? ubc->now : next;
}

/* ---- Registers ----------------------------------------------------------------- */

uint32_t ub_port_status(const UbPort *p)
{
    return (ub_phy_link_up(p->phy) ? UBC_PORT_STATUS_PHY_UP : 0) |
           (p->dll_up ? UBC_PORT_STATUS_DLL_UP : 0) |
           (p->back_pressure ? UBC_PORT_STATUS_BACKPRESSURE : 0);
}

void ub_port_link_event(UbPort *p)
{
    uint32_t now = ub_port_status(p);

    if (now != p->status) {
        p->status = now;
        ubc_port_event(p, UBC_PORT_EVENT_LINK);
    }
}

uint64_t ub_port_counter(UbPort *p, unsigned counter)
{
    const UbDllStats *d = ub_dll_stats(p->dll);
    UbPhyStats phy;

    ub_phy_stats(p->phy, &phy);
    switch (counter) {
    case UBC_CNT_TX_FLITS:
        return d->tx_flits;
    case UBC_CNT_RX_FLITS:
        return d->rx_flits;
    case UBC_CNT_FEC_CORRECTED:
        return phy.fec_corrected;
    case UBC_CNT_FEC_FAILED:
        return phy.fec_failed;
    case UBC_CNT_CRC_ERRORS:
        return d->crc_errors;
    case UBC_CNT_RETRIES_SENT:
        return d->retries;
    case UBC_CNT_RETRIES_SERVED:
        return d->retry_acks;
    case UBC_CNT_FLITS_RESENT:
        return d->replayed_flits;
    case UBC_CNT_CRD_ACKS:
        return d->tx_control;
    case UBC_CNT_CREDIT_STALLS:
        return d->tx_blocked_credit;
    case UBC_CNT_PEER_ERRORS:
        return d->peer_errors;
    case UBC_CNT_AMCTL_MISSED:
        return phy.amctl_missed;
    case UBC_CNT_LINK_BAD_RECORDS:
        return ub_wire_stats(p->wire)->bad_records;
    case UBC_CNT_LINK_OVERFLOWS:
        return ub_wire_stats(p->wire)->overflows;
    default:
        return counter < UBC_CNT_NUM ? p->counter[counter] : 0;
    }
}

static UbRing *ring_at(UbPort *p, uint32_t *reg)
{
    if (*reg >= UBC_RING_TX && *reg < UBC_RING_TX + 0x40) {
        *reg -= UBC_RING_TX;
        return &p->tx;
    }
    if (*reg >= UBC_RING_RX && *reg < UBC_RING_RX + 0x40) {
        *reg -= UBC_RING_RX;
        return &p->rx;
    }
    return NULL;
}

uint32_t ub_port_read(UbPort *p, uint32_t reg)
{
    const UbRing *ring = ring_at(p, &reg);
    uint64_t count;
    UbDllStatus st;

    if (ring) {
        return ub_ring_reg_read(ring, reg);
    }
    if (reg >= UBC_COUNTER(0) && reg < UBC_COUNTER(UBC_CNT_NUM)) {
        if (reg % 8) {
            return p->counter_hi;
        }
        count = ub_port_counter(p, (reg - UBC_COUNTER(0)) / 8);
        p->counter_hi = count >> 32;
        return count;
    }
    switch (reg) {
    case UBC_PORT_STATUS:
        return ub_port_status(p);
    case UBC_PORT_CTRL:
        return p->ctrl;
    case UBC_PORT_EVENT:
        return p->event;
    case UBC_PORT_EVENT_MASK:
        return p->event_mask;
    case UBC_PORT_MTU:
        return mtu(p);
    case UBC_PORT_VLS:
        ub_dll_status(p->dll, &st);
        return p->dll_up ? st.agreed.vl_enable : 0;
    default:
        return 0;
    }
}

static void write_ctrl(UbPort *p, uint32_t value)
{
    bool was = p->ctrl & UBC_PORT_CTRL_ENABLE;

    p->ctrl = value & UBC_PORT_CTRL_ENABLE;
    if (!was && p->ctrl) {
        ub_phy_request(p->phy, p->ubc->now, UB_PHY_REQ_START);
    } else if (was && !p->ctrl) {
        ub_port_link_reset(p);
    }
    ubc_kick(p->ubc);
}

void ub_port_write(UbPort *p, uint32_t reg, uint32_t value)
{
    UbRing *ring = ring_at(p, &reg);
    const uint32_t events = UBC_PORT_EVENT_LINK | UBC_PORT_EVENT_DLL_ERROR |
                            UBC_PORT_EVENT_RETRAIN | UBC_PORT_EVENT_WIDTH |
                            UBC_PORT_EVENT_PARAM | UBC_PORT_EVENT_LANE;

    if (ring) {
        if (ub_ring_reg_write(ring, reg, value)) {
            ubc_kick(p->ubc);
        }
        return;
    }
    switch (reg) {
    case UBC_PORT_CTRL:
        write_ctrl(p, value);
        break;
    case UBC_PORT_EVENT:
        p->event &= ~value;
        break;
    case UBC_PORT_EVENT_MASK:
        p->event_mask = value & events;
        /* What was noted while masked interrupts now. */
        if (p->event & p->event_mask) {
            p->ubc->ops.interrupt(p->ubc->opaque,
                                  UBC_VECTOR_EVENT(p->index));
        }
        break;
    default:
        ubc_guest_error(p->ubc, p->index,
                           "write to a register of the port that is "
                           "read-only or does not exist");
    }
}
