/*
 * One link end: physical layer, data link layer and wire joined.
 *
 * Downward: packets are handed to the data link layer, its flits pulled by the
 * PHY, the symbols put on the wire.  Upward: the same road back.  All of it
 * happens in ub_port_run(), in batches, and only while the byte stream takes
 * what is sent.
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
 * with them, and they have not left the cache.  Less would make it turn its
 * loop, and sleep, more often than it works. */
#define WIRE_PIECE (112 * 1024)
/* From one restart that a new session of the peer asks for to the next, ns. */
#define RESTART_GAP 10000000
/* Flits pulled at once, and sent in one run, so that receiving has its turn. */
#define FLIT_BATCH 768  /* whole frames: the encoder likes them */
#define FLIT_BUDGET (8 * FLIT_BATCH)

void port_kick(UbPort *p)
{
    if (!p->running && !p->kicked) {
        p->ops.kick(p->opaque);
    }
    p->kicked = true;
}

/* ---- The data link layer's outside ------------------------------------------- */

static void capture_packet(UbPort *p, bool sent, CorePacket *pkt)
{
    if (p->ops.capture && p->ops.capture->packet) {
        const UbPktMeta *m = ub_meta(pkt);

        p->ops.capture->packet(p->opaque, sent, m->lph_cfg, m->vl,
                               core_packet_data(pkt), pkt->len);
    }
}

static void dll_deliver(void *opaque, CorePacket *pkt)
{
    UbPort *p = opaque;

    capture_packet(p, false, pkt);
    p->ops.rx(p->opaque, pkt);
}

static void dll_status(void *opaque, bool up)
{
    UbPort *p = opaque;

    p->dll_up = up;
    if (!up) {
        p->params = 0;
        p->link_downs++;
    }
    p->ops.event(p->opaque, UB_PORT_LINK);
}

static void dll_retrain(void *opaque)
{
    UbPort *p = opaque;

    ub_phy_request(p->phy, p->now, UB_PHY_REQ_RETRY);
    port_kick(p);
}

static void dll_mode_ready(void *opaque)
{
    port_link_mode_end(opaque, true);
}

static void dll_mode_failed(void *opaque)
{
    port_link_mode_end(opaque, false);
}

static void dll_error(void *opaque, UbDllError err, bool fatal,
                      const char *what)
{
    UbPort *p = opaque;
    const UbDllErrorInfo *info = ub_dll_error_info(err);

    p->dll_errors++;
    p->ops.rule(p->opaque, UB_BROKEN_BY_PEER, what);
    if (info) {
        port_error(p, 1u << info->status_bit);
    }
    if (fatal) {
        port_link_stopped(p);
    }
    p->ops.event(p->opaque, UB_PORT_DLL_ERROR);
}

static void dll_peer_error(void *opaque, const char *what)
{
    UbPort *p = opaque;

    p->ops.rule(p->opaque, UB_BROKEN_BY_PEER, what);
}

static void dll_transition(void *opaque, UbDllMachine machine, unsigned from,
                           unsigned to, const char *cause)
{
    static const UbMachine machines[] = {
        [UB_DLL_SM] = UB_MACHINE_DLL,
        [UB_RETRY_REQ_SM] = UB_MACHINE_RETRY_REQ,
        [UB_RETRY_ACK_SM] = UB_MACHINE_RETRY_ACK,
        [UB_BMC_SM] = UB_MACHINE_BMC,
    };
    UbPort *p = opaque;

    if (p->ops.transition) {
        p->ops.transition(p->opaque, machines[machine],
                               ub_dll_state_name(machine, from),
                               ub_dll_state_name(machine, to), cause);
    }
}

static void dll_param_exchg(void *opaque, const uint32_t *words, unsigned n)
{
    UbPort *p = opaque;

    p->params = MIN(n, G_N_ELEMENTS(p->param));
    memcpy(p->param, words, p->params * sizeof(words[0]));
    p->ops.event(p->opaque, UB_PORT_PARAM);
}

static void dll_lane_manage(void *opaque, const UbLaneManage *lm)
{
    UbPort *p = opaque;

    ub_phy_rx_lane_manage(p->phy, p->now, lm);
    p->ops.event(p->opaque, UB_PORT_LANE);
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
    p->ops.event(p->opaque, UB_PORT_LINK);
}

static void dll_tx_space(void *opaque, unsigned vl)
{
    UbPort *p = opaque;

    p->ops.tx_space(p->opaque, vl);
}

static void dll_kick(void *opaque)
{
    UbPort *p = opaque;

    port_kick(p);
}

static void dll_block(void *opaque, bool sent, const uint8_t *block,
                      unsigned flits)
{
    UbPort *p = opaque;

    p->ops.capture->block(p->opaque, sent, block, flits);
}

static const UbDllOps dll_ops = {
    .deliver = dll_deliver,
    .status = dll_status,
    .retrain = dll_retrain,
    .mode_ready = dll_mode_ready,
    .mode_failed = dll_mode_failed,
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

    return ub_dll_tx(p->dll, p->now, flits, max);
}

static void phy_rx_flits(void *opaque, const uint8_t *flits, size_t n,
                         bool fec_ok)
{
    static const uint8_t bad[64];
    UbPort *p = opaque;

    while (n) {
        size_t piece = fec_ok ? n : MIN(n, sizeof(bad));

        ub_dll_rx(p->dll, p->now, flits, piece, fec_ok ? NULL : bad);
        flits += piece * UB_FLIT;
        n -= piece;
    }
}

static void phy_null_flit(void *opaque, unsigned crc_mode,
                          uint8_t out[UB_FLIT])
{
    UbPort *p = opaque;
    const UbBlockFormat f = {
        .mode = crc_mode == UB_LTB_CRC30 ? UB_MODE_CRC : UB_MODE_NON_CRC,
        .cover = ub_dll_config(p->dll)->crc_cover,
    };

    ub_put_simple(f, out, UB_CB_NULL);
}

static void phy_status(void *opaque, unsigned changed)
{
    UbPort *p = opaque;

    if (changed & UB_PHY_ST_LINKUP) {
        if (ub_phy_link_up(p->phy)) {
            port_regs_configure(p, true);
            ub_dll_phy_up(p->dll, p->now);
            port_link_up(p);
        } else {
            ub_dll_phy_down(p->dll, p->now);
            /* The LMSM of the peer may bring the link back without ever losing
             * LinkUp, and its data link layer would talk to one that starts
             * anew. */
            ub_wire_restart(p->wire);
        }
        p->ops.event(p->opaque, UB_PORT_LINK);
    }
    if (changed & UB_PHY_ST_ERROR) {
        port_error(p, ub_phy_take_errors(p->phy));
    }
    if (changed & (UB_PHY_ST_RATE | UB_PHY_ST_WIDTH)) {
        p->ops.event(p->opaque, UB_PORT_WIDTH);
    }
}

static void phy_active(void *opaque, bool active)
{
    UbPort *p = opaque;
    UbPhyStatus st;

    if (active) {
        ub_phy_status(p->phy, &st);
        ub_dll_phy_active(p->dll, p->now,
                          st.crc == UB_LTB_CRC30 ? UB_MODE_CRC
                                                 : UB_MODE_NON_CRC,
                          st.fec != UB_FEC_OFF);
        port_kick(p); /* for what waited for it */
    } else {
        p->retrains++;
        port_regs_left_active(p);
        ub_dll_phy_retrain(p->dll, p->now);
        p->ops.event(p->opaque, UB_PORT_RETRAIN);
    }
}

static void phy_transition(void *opaque, const char *from, const char *to,
                           const char *cause)
{
    UbPort *p = opaque;

    if (p->ops.transition) {
        p->ops.transition(p->opaque, UB_MACHINE_LMSM,
                               from, to, cause);
    }
}

static UbPhyModeGate phy_mode_gate(void *opaque)
{
    return port_link_gate(opaque);
}

static void phy_ltb(void *opaque, bool sent, unsigned lane,
                    const uint8_t ltb[UB_LTB], unsigned n)
{
    UbPort *p = opaque;

    p->ops.capture->training(p->opaque, sent, lane, ltb, n);
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
    .mode_gate = phy_mode_gate,
    .lane_manage = phy_lane_manage,
};

/* It is to leave Link_Idle. */
static bool may_train(const UbPort *p)
{
    return p->enabled && p->powered;
}

/* Both layers as after power-on, with what the registers say. */
static void restart(UbPort *p)
{
    ub_phy_reset(p->phy, p->now);
    ub_dll_reset(p->dll, p->now);
    port_regs_configure(p, false);
    port_regs_apply(p);
    p->back_pressure = false;
    port_link_forget(p);
    ub_phy_request(p->phy, p->now, port_regs_disabled(p) ? UB_PHY_REQ_DISABLE
                                                         : UB_PHY_REQ_ENABLE);
    ub_phy_request(p->phy, p->now, may_train(p) ? UB_PHY_REQ_START
                                                : UB_PHY_REQ_STOP);
    port_kick(p);
}

/* ---- The wire's outside ------------------------------------------------------- */

/*
 * Another process answers than before, or the peer lost LinkUp: what both data
 * link layers agreed on is gone, however short the interruption was.
 */
static void wire_restart(UbPort *p)
{
    const UbWireHello *peer = ub_wire_peer(p->wire);

    p->link_restarts++;
    p->restart_at = INT64_MAX;
    p->restarted = p->now;
    restart(p);
    if (peer) {
        ub_phy_presence(p->phy, p->now, (1u << peer->lanes) - 1);
    }
    if (p->peer_active) {
        ub_phy_rx_lanes(p->phy, p->now, p->peer_active, p->peer_rate);
    }
}

static void wire_up(void *opaque, const UbWireHello *peer)
{
    UbPort *p = opaque;
    bool fresh = p->session && p->session != peer->session;

    p->session = peer->session;
    p->peer_active = 0;
    if (!fresh) {
        ub_phy_presence(p->phy, p->now, (1u << peer->lanes) - 1);
    } else if (p->now - p->restarted >= RESTART_GAP) {
        wire_restart(p);
    } else if (p->restart_at == INT64_MAX) {
        /* Deaf until then: who floods us with sessions gets few restarts. */
        p->restart_at = p->restarted + RESTART_GAP;
        port_kick(p);
    }
}

static void wire_down(void *opaque, const char *why, bool peer_error)
{
    UbPort *p = opaque;

    if (peer_error) {
        p->ops.rule(p->opaque, UB_BROKEN_BY_PEER, why);
    }
    p->ops.wire_close(p->opaque);
}

static void wire_lanes(void *opaque, uint8_t active, unsigned rate)
{
    UbPort *p = opaque;

    p->peer_active = active;
    p->peer_rate = rate;
    if (p->restart_at == INT64_MAX) {
        ub_phy_rx_lanes(p->phy, p->now, active, rate);
    }
}

static void wire_run(void *opaque, uint8_t mask,
                     const uint8_t *const sym[UB_LANES], size_t n)
{
    UbPort *p = opaque;

    if (p->restart_at == INT64_MAX) {
        ub_phy_rx(p->phy, p->now, mask, sym, n);
    }
}

static const UbWireOps wire_ops = { wire_up, wire_down, wire_lanes, wire_run };

/* ---- Life ------------------------------------------------------------------------ */

void ub_port_config_init(UbPortConfig *cfg)
{
    memset(cfg, 0, sizeof(*cfg));
    ub_phy_config_init(&cfg->phy);
    ub_dll_config_init(&cfg->dll);
    /* Null frames behind the last one, for lanes that lag (§3.2.3.1). */
    cfg->phy.rest_frames = 4;
    cfg->dll.advertise = true;
    cfg->dll_time_scale = 1;
    /* What Table 10-14 calls not fatal is not correctable. */
    cfg->err_severity = 0xf04fffff;
    cfg->dll.down_recovers = true;
    /* A machine may be stopped for as long as somebody looks at it. */
    cfg->dll.credit_timeout = 0;
    /* What the credits of VL0 allow to be under way: an emulated wire is long,
     * its ends run in turns of a host. */
    cfg->dll.wish.retry_buf_depth = 32768;
    /* What the flits of two turns carry, so that none runs dry; the others wait
     * above, so that what is queued stays in the cache. */
    cfg->dll.queue_limit = 256 * 1024;
}

const char *ub_port_config_check(const UbPortConfig *cfg)
{
    const char *why;

    if (!cfg->dll_time_scale || cfg->dll_time_scale > 100000) {
        return "the data link layer's time scale is 1 to 100000";
    }
    if (cfg->index >= UB_SPACE_MAX_PORTS) {
        return "the configuration space has no such port";
    }
    why = ub_phy_config_check(&cfg->phy);
    return why ? why : ub_dll_config_check(&cfg->dll);
}

UbPort *ub_port_new(const UbPortConfig *cfg, UbSpace *space,
                    CorePacketPool *pool, const UbPortOps *ops, void *opaque,
                    const char **why)
{
    UbPhyConfig phy = cfg->phy;
    UbDllOps dops = dll_ops;
    UbPhyOps pops = phy_ops;
    UbDllConfig dll;
    UbWireHello hello = {
        .lanes = cfg->phy.lmsm.max_width,
        .phy_mode = cfg->phy.lmsm.phy_mode,
        .port = cfg->index,
        .session = cfg->session,
        .features = cfg->features,
    };
    UbPort *p;

    *why = ub_port_config_check(cfg);
    if (*why) {
        return NULL;
    }
    p = g_new0(UbPort, 1);
    p->conf = *cfg;
    p->ops = *ops;
    p->opaque = opaque;
    p->space = space;
    p->index = cfg->index;
    p->powered = true;
    p->restart_at = INT64_MAX;
    p->restarted = -RESTART_GAP;
    port_regs_init(p);
    memcpy(hello.guid, cfg->guid, sizeof(hello.guid));
    p->wire = ub_wire_new(&hello, &wire_ops, p);
    if (ops->capture && ops->capture->block) {
        dops.block = dll_block;
    }
    if (ops->capture && ops->capture->training) {
        pops.ltb = phy_ltb;
    }
    phy.lmsm.seed += p->index;
    p->phy = ub_phy_new(&phy, &pops, p);
    port_regs_dll(p, &dll);
    p->dll = ub_dll_new(&dll, &dops, p, pool);
    if (!p->dll) {
        /* What the registers can hold of it breaks a rule. */
        *why = ub_dll_config_check(&dll);
        ub_port_free(p);
        return NULL;
    }
    return p;
}

void ub_port_free(UbPort *p)
{
    if (p) {
        ub_dll_free(p->dll);
        ub_phy_free(p->phy);
        ub_wire_free(p->wire);
        g_free(p);
    }
}

void ub_port_restart(UbPort *p, int64_t now)
{
    p->now = now;
    restart(p);
}

void ub_port_reset(UbPort *p, int64_t now)
{
    p->enabled = false;
    ub_port_restart(p, now);
}

/* Enable or power is another than when it might train, or not. */
static void follow(UbPort *p, bool was)
{
    if (may_train(p) && !was) {
        ub_phy_request(p->phy, p->now, UB_PHY_REQ_START);
    } else if (was && !may_train(p)) {
        restart(p);
    }
    port_kick(p);
}

void ub_port_enable(UbPort *p, int64_t now, bool on)
{
    bool was = may_train(p);

    p->now = now;
    p->enabled = on;
    follow(p, was);
}

void ub_port_power(UbPort *p, int64_t now, bool on)
{
    bool was = may_train(p);

    p->now = now;
    p->powered = on;
    follow(p, was);
}

bool ub_port_enabled(const UbPort *p)
{
    return p->enabled;
}

/* ---- Packets ------------------------------------------------------------------ */

void port_schedule(const UbPort *p, UbDllConfig *dll)
{
    const UbDllConfig *conf = &p->conf.dll;

    dll->vl_strict = conf->vl_strict | p->vl_strict;
    for (unsigned vl = 0; vl < UB_VLS; vl++) {
        uint32_t share = MAX(conf->vl_weight[vl], 1u) * MAX(p->vl_weight[vl], 1u);

        dll->vl_weight[vl] = MIN(share, UINT16_MAX);
    }
}

void ub_port_schedule(UbPort *p, uint16_t strict, const uint16_t weight[UB_VLS])
{
    UbDllConfig dll = *ub_dll_config(p->dll);

    p->vl_strict = strict;
    memcpy(p->vl_weight, weight, sizeof(p->vl_weight));
    port_schedule(p, &dll);
    ub_dll_configure(p->dll, &dll);
}

UbPortSent ub_port_room(UbPort *p, unsigned vl)
{
    return !p->dll_up ? UB_PORT_DOWN
           : ub_dll_full(p->dll, vl) ? UB_PORT_FULL : UB_PORT_SENT;
}

UbPortSent ub_port_send(UbPort *p, int64_t now, CorePacket *pkt)
{
    UbPortSent room = ub_port_room(p, ub_meta(pkt)->vl);

    p->now = now;
    if (room != UB_PORT_SENT) {
        return room;
    }
    capture_packet(p, true, pkt);
    return ub_dll_send(p->dll, pkt) ? UB_PORT_SENT : UB_PORT_REFUSED;
}

bool ub_port_send_param(UbPort *p, int64_t now, const uint32_t *words,
                        unsigned n)
{
    p->now = now;
    return ub_dll_send_param_exchg(p->dll, words, n);
}

unsigned ub_port_param(const UbPort *p, const uint32_t **words)
{
    *words = p->param;
    return p->params;
}

/* ---- Work ----------------------------------------------------------------------- */

/* Whether the byte stream takes more symbols now. */
static bool wire_room(UbPort *p)
{
    const uint8_t *data;
    size_t queued = ub_wire_queued(p->wire, &data);

    p->wire_paused = queued > (p->wire_paused ? WIRE_LOW : WIRE_HIGH);
    return !p->wire_paused;
}

/* Hand to the byte stream what is queued, if it is as much as `least`. */
static void wire_flush(UbPort *p, size_t least)
{
    const uint8_t *data;
    size_t n;

    while (!p->wire_full && (n = ub_wire_queued(p->wire, &data)) >= least) {
        size_t taken = p->ops.wire_send(p->opaque, data, n);

        p->wire_full = taken < n;
        ub_wire_sent(p->wire, taken);
    }
}

/* True: the budget ran out, there may be more. */
static bool send_flits(UbPort *p)
{
    for (unsigned sent = 0; sent < FLIT_BUDGET; sent += FLIT_BATCH) {
        if (!ub_phy_active(p->phy) || !wire_room(p) ||
            ub_phy_tx(p->phy, p->now, FLIT_BATCH) < FLIT_BATCH) {
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
    return wire_room(p) ? ub_phy_poll(p->phy, p->now) : INT64_MAX;
}

int64_t ub_port_run(UbPort *p, int64_t now)
{
    int64_t next, t;
    bool more;

    p->now = now;
    p->running = true;
    if (p->restart_at <= now) {
        wire_restart(p);
    }
    /* What was asked for so far is done below. */
    p->kicked = false;
    ub_wire_cables(p->wire);
    ub_dll_poll(p->dll, now);
    poll_phy(p);
    port_link_run(p);
    more = send_flits(p);
    next = MIN(poll_phy(p), p->restart_at);
    t = ub_dll_poll(p->dll, now);
    next = MIN(next, t);
    wire_flush(p, 1);
    p->running = false;
    more |= p->kicked;
    p->kicked = false;
    return more ? now : next;
}

/* ---- The byte stream -------------------------------------------------------------- */

void ub_port_wire_connected(UbPort *p, int64_t now)
{
    p->now = now;
    p->wire_full = false;
    ub_wire_connected(p->wire);
    wire_flush(p, 1);
    port_kick(p);
}

void ub_port_wire_disconnected(UbPort *p, int64_t now)
{
    p->now = now;
    ub_wire_disconnected(p->wire);
    p->peer_active = 0;
    ub_phy_rx_lanes(p->phy, now, 0, 0);
    ub_phy_presence(p->phy, now, 0);
    port_kick(p);
}

void ub_port_wire_receive(UbPort *p, int64_t now, const uint8_t *data,
                          size_t len)
{
    p->now = now;
    ub_wire_receive(p->wire, data, len);
    port_kick(p);
}

void ub_port_wire_room(UbPort *p, int64_t now)
{
    p->now = now;
    p->wire_full = false;
    wire_flush(p, 1);
    if (p->wire_paused && wire_room(p)) {
        port_kick(p);
    }
}

UbInject *ub_port_inject(UbPort *p)
{
    port_kick(p);
    return ub_wire_inject(p->wire);
}

/* ---- Views ----------------------------------------------------------------------- */

bool ub_port_link_up(const UbPort *p)
{
    return ub_phy_link_up(p->phy);
}

bool ub_port_dll_up(const UbPort *p)
{
    return p->dll_up;
}

bool ub_port_back_pressure(const UbPort *p)
{
    return p->back_pressure;
}

void ub_port_status(const UbPort *p, UbPortStatus *st)
{
    st->connected = ub_wire_is_up(p->wire);
    st->peer = ub_wire_peer(p->wire);
    st->link_up = ub_phy_link_up(p->phy);
    st->dll_up = p->dll_up;
    st->back_pressure = p->back_pressure;
    ub_phy_status(p->phy, &st->phy);
    ub_dll_status(p->dll, &st->dll);
}

uint32_t ub_port_vls(const UbPort *p)
{
    UbDllStatus st;

    ub_dll_status(p->dll, &st);
    return p->dll_up ? st.agreed.vl_enable : 0;
}

bool ub_port_marks_errors(const UbPort *p)
{
    return ub_dll_config(p->dll)->mark_err;
}

uint32_t ub_port_mtu(const UbPort *p)
{
    /* The longer payload of Non-CRC mode is not offered: a mode change must
     * not make a packet too long. */
    return UB_PAYLOAD_MAX_CRC;
}

void ub_port_stats(const UbPort *p, UbPortStats *stats)
{
    stats->link_downs = p->link_downs;
    stats->retrains = p->retrains;
    stats->link_restarts = p->link_restarts;
    stats->dll_errors = p->dll_errors;
    ub_phy_stats(p->phy, &stats->phy);
    stats->dll = ub_dll_stats(p->dll);
    stats->wire = ub_wire_stats(p->wire);
}
