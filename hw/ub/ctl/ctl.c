/*
 * The UB controller: BAR0 registers, events, life.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <glib.h>

#include "core/bytes.h"
#include "ctl-int.h"

/* ---- Configuration --------------------------------------------------------- */

void ub_ctl_config_init(UbCtlConfig *cfg)
{
    memset(cfg, 0, sizeof(*cfg));
    cfg->ports = 1;
    ub_phy_params_init(&cfg->phy);
    ub_lmsm_config_init(&cfg->lmsm);
    ub_eq_model_init(&cfg->eq);
    ub_dll_config_init(&cfg->dll);
    /* Null frames behind the last one, for lanes that lag (§3.2.3.1). */
    cfg->phy.rest_frames = 4;
    cfg->lmsm.auto_speed = true;
    cfg->lmsm.port_nego = true;
    cfg->dll.advertise = true;
    cfg->dll_time_scale = 1;
    cfg->dll.down_recovers = true;
    /* What the credits of VL0 allow to be under way: an emulated wire is long,
     * its ends run in turns of a host. */
    cfg->dll.wish.retry_buf_depth = 32768;
    /* What the flits of two turns carry, so that none runs dry; the others wait
     * in the ring, so that what is queued stays in the cache. */
    cfg->dll.queue_limit = 128 * 1024;
}

static bool slice_exists(const UbCfgSlice *slice)
{
    /* Hot plug, message queue and memory belong to floors not built yet. */
    static const char *const absent[] = {
        "CFG0_CAP5_EMQ", "CFG1_CAP2_JETTY", "CFG1_CAP6_UB_MEM",
        "CFG1_CAP1_DECODER",
    };

    for (unsigned i = 0; i < G_N_ELEMENTS(absent); i++) {
        if (!strcmp(slice->name, absent[i])) {
            return false;
        }
    }
    return true;
}

/* ---- Events ------------------------------------------------------------------ */

void ub_ctl_kick(UbCtl *ctl)
{
    if (ctl->running) {
        ctl->kicked = true;
    } else {
        ctl->ops.kick(ctl->opaque);
    }
}

static uint32_t enabled_ports(const UbCtl *ctl)
{
    uint32_t events = 0;

    for (unsigned i = 0; i < ctl->ports; i++) {
        const UbPort *p = &ctl->port[i];

        events |= p->event & p->event_mask ? UBC_EVENT_PORT(i) : 0;
    }
    return events;
}

static void ctl_event(UbCtl *ctl, uint32_t event)
{
    if (!(ctl->event & event)) {
        ctl->event |= event;
        if (ctl->event_mask & event) {
            ctl->ops.interrupt(ctl->opaque, UBC_VECTOR_CTRL);
        }
    }
}

static void saturate(uint32_t *count)
{
    *count += *count != UINT32_MAX;
}

void ub_ctl_guest_error(UbCtl *ctl, int port, const char *what)
{
    saturate(&ctl->guest_errors);
    ctl->ops.guest_error(ctl->opaque, port, what);
    ctl_event(ctl, UBC_EVENT_GUEST_ERROR);
}

void ub_ctl_port_event(UbPort *p, uint32_t events)
{
    uint32_t fresh = events & ~p->event;

    p->event |= events;
    if (fresh & p->event_mask) {
        p->ctl->ops.interrupt(p->ctl->opaque, UBC_VECTOR_EVENT(p->index));
    }
}

/* ---- What rings need --------------------------------------------------------- */

static bool ring_read(void *opaque, uint64_t addr, void *buf, uint32_t len)
{
    UbCtl *ctl = opaque;

    if (ctl->ops.dma_read(ctl->opaque, addr, buf, len)) {
        return true;
    }
    saturate(&ctl->dma_errors);
    ctl_event(ctl, UBC_EVENT_DMA_ERROR);
    return false;
}

static bool ring_write(void *opaque, uint64_t addr, const void *buf,
                       uint32_t len)
{
    UbCtl *ctl = opaque;

    if (ctl->ops.dma_write(ctl->opaque, addr, buf, len)) {
        return true;
    }
    saturate(&ctl->dma_errors);
    ctl_event(ctl, UBC_EVENT_DMA_ERROR);
    return false;
}

static void ring_error(void *opaque, const char *what)
{
    ub_ctl_guest_error(opaque, -1, what);
}

static void ring_interrupt(void *opaque, void *ring_opaque)
{
    UbCtl *ctl = opaque;
    UbRing *ring = ring_opaque;

    for (unsigned i = 0; i < ctl->ports; i++) {
        if (ring == &ctl->port[i].rx) {
            ctl->ops.interrupt(ctl->opaque, UBC_VECTOR_RX(i));
        } else if (ring == &ctl->port[i].tx) {
            ctl->ops.interrupt(ctl->opaque, UBC_VECTOR_TX(i));
        }
    }
}

const UbRingOps ub_ctl_ring_ops = {
    ring_read, ring_write, ring_error, ring_interrupt,
};

/* ---- Registers ----------------------------------------------------------------- */

/* The port and its register at `offset`, or NULL. */
static UbPort *port_at(UbCtl *ctl, uint32_t offset, uint32_t *reg)
{
    const uint32_t stride = UBC_PORT(1) - UBC_PORT(0);
    unsigned index = (offset - UBC_PORT(0)) / stride;

    if (offset < UBC_PORT(0) || index >= ctl->ports) {
        return NULL;
    }
    *reg = (offset - UBC_PORT(0)) % stride;
    return &ctl->port[index];
}

uint32_t ub_ctl_read(UbCtl *ctl, uint32_t offset, int64_t now)
{
    UbPort *p;
    uint32_t reg;

    ctl->now = now;
    if (offset >= UBC_CFG_WINDOW &&
        offset < UBC_CFG_WINDOW + UBC_CFG_WINDOW_SIZE) {
        return ub_cfg_read(ctl->cfg, (offset - UBC_CFG_WINDOW) / 4);
    }
    p = port_at(ctl, offset, &reg);
    if (p) {
        return ub_port_read(p, reg);
    }
    switch (offset) {
    case UBC_ID:
        return UBC_ID_VALUE;
    case UBC_VERSION:
        return 1;
    case UBC_PORTS:
        return ctl->ports;
    case UBC_EVENT:
        return ctl->event | enabled_ports(ctl);
    case UBC_EVENT_MASK:
        return ctl->event_mask;
    case UBC_GUEST_ERRORS:
        return ctl->guest_errors;
    case UBC_DMA_ERRORS:
        return ctl->dma_errors;
    case UBC_CFG_ADDR:
        return ctl->cfg_addr;
    case UBC_CFG_DATA:
        return ub_cfg_read(ctl->cfg, ctl->cfg_addr);
    default:
        return 0;
    }
}

void ub_ctl_write(UbCtl *ctl, uint32_t offset, uint32_t value, int64_t now)
{
    UbPort *p;
    uint32_t reg;

    ctl->now = now;
    if (offset >= UBC_CFG_WINDOW &&
        offset < UBC_CFG_WINDOW + UBC_CFG_WINDOW_SIZE) {
        ub_cfg_write(ctl->cfg, (offset - UBC_CFG_WINDOW) / 4, value, 0xf);
        return;
    }
    p = port_at(ctl, offset, &reg);
    if (p) {
        ub_port_write(p, reg, value);
        return;
    }
    switch (offset) {
    case UBC_CTRL:
        if (value & UBC_CTRL_RESET) {
            ub_ctl_reset(ctl, now);
        }
        break;
    case UBC_EVENT:
        ctl->event &= ~value;
        break;
    case UBC_EVENT_MASK:
        ctl->event_mask = value & (UBC_EVENT_GUEST_ERROR |
                                   UBC_EVENT_DMA_ERROR);
        break;
    case UBC_CFG_ADDR:
        ctl->cfg_addr = value;
        break;
    case UBC_CFG_DATA:
        ub_cfg_write(ctl->cfg, ctl->cfg_addr, value, 0xf);
        break;
    default:
        ub_ctl_guest_error(ctl, -1,
                           "write to a register that is read-only or does "
                           "not exist");
    }
}

/* ---- Life ------------------------------------------------------------------------ */

UbCtl *ub_ctl_new(const UbCtlConfig *cfg, const UbCtlOps *ops, void *opaque,
                  const char **why)
{
    UbCtl *ctl;

    if (cfg->ports < 1 || cfg->ports > UBC_MAX_PORTS) {
        *why = "there are 1 to 8 ports";
        return NULL;
    }
    if (!cfg->dll_time_scale || cfg->dll_time_scale > 100000) {
        *why = "the data link layer's time scale is 1 to 100000";
        return NULL;
    }
    *why = ub_pcs_params_check(&cfg->phy.pcs);
    *why = *why ? *why : ub_lmsm_config_check(&cfg->lmsm);
    *why = *why ? *why : ub_dll_config_check(&cfg->dll);
    if (*why) {
        return NULL;
    }
    ctl = g_new0(UbCtl, 1);
    ctl->conf = *cfg;
    ctl->ops = *ops;
    ctl->opaque = opaque;
    ctl->ports = cfg->ports;
    ctl->pool = core_packet_pool_new(64, 0);
    ctl->cfg = ub_cfg_new(cfg->ports, slice_exists, &ub_ctl_cfg_ops, ctl);
    ub_cfg_port_init(ctl);
    for (unsigned i = 0; i < ctl->ports; i++) {
        *why = ub_port_init(&ctl->port[i], ctl, i);
        if (*why) {
            ub_ctl_free(ctl);
            return NULL;
        }
    }
    return ctl;
}

void ub_ctl_free(UbCtl *ctl)
{
    if (!ctl) {
        return;
    }
    for (unsigned i = 0; i < ctl->ports; i++) {
        ub_port_fini(&ctl->port[i]);
    }
    ub_cfg_free(ctl->cfg);
    core_packet_pool_free(ctl->pool);
    g_free(ctl);
}

void ub_ctl_reset(UbCtl *ctl, int64_t now)
{
    ctl->now = now;
    ctl->reset_pending = false;
    ctl->event = ctl->event_mask = ctl->cfg_addr = 0;
    ctl->guest_errors = ctl->dma_errors = 0;
    ub_cfg_reset(ctl->cfg, UB_CFG_RESET_DEVICE, 0);
    for (unsigned i = 0; i < ctl->ports; i++) {
        ub_port_reset(&ctl->port[i]);
    }
    ub_ctl_kick(ctl);
}

void ub_ctl_bus_master(UbCtl *ctl, bool on)
{
    if (ctl->master != on) {
        ctl->master = on;
        ub_ctl_kick(ctl);
    }
}

int64_t ub_ctl_run(UbCtl *ctl, int64_t now)
{
    int64_t next = INT64_MAX;

    ctl->now = now;
    ctl->running = true;
    if (ctl->reset_pending) {
        ub_ctl_reset(ctl, now);
    }
    for (unsigned i = 0; i < ctl->ports; i++) {
        int64_t t = ub_port_run(&ctl->port[i]);

        next = MIN(next, t);
    }
    ctl->running = false;
    return next;
}

/* ---- Wires -------------------------------------------------------------------- */

void ub_ctl_wire_connected(UbCtl *ctl, unsigned port, int64_t now)
{
    ctl->now = now;
    ub_link_connected(ctl->port[port].wire);
    ctl->ops.wire_ready(ctl->opaque, port);
    ub_ctl_kick(ctl);
}

void ub_ctl_wire_disconnected(UbCtl *ctl, unsigned port, int64_t now)
{
    ctl->now = now;
    ub_link_disconnected(ctl->port[port].wire);
    ub_port_wire_down(&ctl->port[port]);
    ub_ctl_kick(ctl);
}

void ub_ctl_wire_receive(UbCtl *ctl, unsigned port, const uint8_t *data,
                         size_t len, int64_t now)
{
    ctl->now = now;
    ub_link_receive(ctl->port[port].wire, data, len);
    ub_ctl_kick(ctl);
}

size_t ub_ctl_wire_queued(UbCtl *ctl, unsigned port, const uint8_t **data)
{
    return ub_link_queued(ctl->port[port].wire, data);
}

void ub_ctl_wire_sent(UbCtl *ctl, unsigned port, size_t n)
{
    ub_link_sent(ctl->port[port].wire, n);
}

/* ---- Views --------------------------------------------------------------------- */

UbInject *ub_ctl_inject(UbCtl *ctl, unsigned port)
{
    return port < ctl->ports ? ub_link_inject(ctl->port[port].wire) : NULL;
}

unsigned ub_ctl_ports(const UbCtl *ctl)
{
    return ctl->ports;
}

const char *ub_ctl_counter_name(unsigned counter)
{
    static const char *const names[] = {
#define UBC_X(id, name) name,
        UBC_COUNTERS(UBC_X)
#undef UBC_X
    };

    return counter < G_N_ELEMENTS(names) ? names[counter] : NULL;
}

bool ub_ctl_port_info(UbCtl *ctl, unsigned port, UbCtlPortInfo *info)
{
    static const char *const fec_names[] = { "off", "t2", "t4" };
    UbPort *p;
    const UbLmsm *l;

    memset(info, 0, sizeof(*info));
    if (port >= ctl->ports) {
        return false;
    }
    p = &ctl->port[port];
    l = ub_phy_lmsm(p->phy);
    ub_dll_status(p->dll, &info->status);
    info->connected = ub_link_is_up(p->wire);
    info->peer = ub_link_peer(p->wire);
    info->link_up = l->link_up;
    info->primary = l->primary;
    info->crc = l->crc == UB_LTB_CRC30;
    info->lmsm = ub_lmsm_state_name(l->state);
    info->dll = ub_dll_state_name(UB_DLL_SM, info->status.state);
    info->retry_req = ub_dll_state_name(UB_RETRY_REQ_SM,
                                        info->status.retry_req);
    info->retry_ack = ub_dll_state_name(UB_RETRY_ACK_SM,
                                        info->status.retry_ack);
    info->fec = l->fec < G_N_ELEMENTS(fec_names) ? fec_names[l->fec] : "none";
    info->codecs = l->interleave ? 2 : 1;
    info->rate = l->rate;
    info->tx_width = l->tx_m;
    info->rx_width = l->rx_n;
    for (unsigned i = 0; i < UBC_CNT_NUM; i++) {
        info->counter[i] = ub_port_counter(p, i);
    }
    return true;
}
