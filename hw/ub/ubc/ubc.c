/*
 * The UB controller: BAR0 registers, events, life.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <glib.h>

#include "core/bytes.h"
#include "internal.h"

/* ---- Configuration --------------------------------------------------------- */

void ubc_config_init(UbcConfig *cfg)
{
    memset(cfg, 0, sizeof(*cfg));
    cfg->ports = 1;
    ub_phy_config_init(&cfg->phy);
    ub_dll_config_init(&cfg->dll);
    /* Null frames behind the last one, for lanes that lag (§3.2.3.1). */
    cfg->phy.rest_frames = 4;
    cfg->phy.lmsm.auto_speed = true;
    cfg->phy.lmsm.port_nego = true;
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

static bool slice_exists(const UbSpaceSlice *slice)
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

void ubc_kick(Ubc *ubc)
{
    if (ubc->running) {
        ubc->kicked = true;
    } else {
        ubc->ops.kick(ubc->opaque);
    }
}

static uint32_t enabled_ports(const Ubc *ubc)
{
    uint32_t events = 0;

    for (unsigned i = 0; i < ubc->ports; i++) {
        const UbPort *p = &ubc->port[i];

        events |= p->event & p->event_mask ? UBC_EVENT_PORT(i) : 0;
    }
    return events;
}

static void ctl_event(Ubc *ubc, uint32_t event)
{
    if (!(ubc->event & event)) {
        ubc->event |= event;
        if (ubc->event_mask & event) {
            ubc->ops.interrupt(ubc->opaque, UBC_VECTOR_CTRL);
        }
    }
}

static void saturate(uint32_t *count)
{
    *count += *count != UINT32_MAX;
}

void ubc_guest_error(Ubc *ubc, int port, const char *what)
{
    saturate(&ubc->guest_errors);
    ubc->ops.guest_error(ubc->opaque, port, what);
    ctl_event(ubc, UBC_EVENT_GUEST_ERROR);
}

void ubc_port_event(UbPort *p, uint32_t events)
{
    uint32_t fresh = events & ~p->event;

    p->event |= events;
    if (fresh & p->event_mask) {
        p->ubc->ops.interrupt(p->ubc->opaque, UBC_VECTOR_EVENT(p->index));
    }
}

/* ---- What rings need --------------------------------------------------------- */

static bool ring_read(void *opaque, uint64_t addr, void *buf, uint32_t len)
{
    Ubc *ubc = opaque;

    if (ubc->ops.dma_read(ubc->opaque, addr, buf, len)) {
        return true;
    }
    saturate(&ubc->dma_errors);
    ctl_event(ubc, UBC_EVENT_DMA_ERROR);
    return false;
}

static bool ring_write(void *opaque, uint64_t addr, const void *buf,
                       uint32_t len)
{
    Ubc *ubc = opaque;

    if (ubc->ops.dma_write(ubc->opaque, addr, buf, len)) {
        return true;
    }
    saturate(&ubc->dma_errors);
    ctl_event(ubc, UBC_EVENT_DMA_ERROR);
    return false;
}

static void ring_error(void *opaque, const char *what)
{
    ubc_guest_error(opaque, -1, what);
}

static void ring_interrupt(void *opaque, void *ring_opaque)
{
    Ubc *ubc = opaque;
    UbRing *ring = ring_opaque;

    for (unsigned i = 0; i < ubc->ports; i++) {
        if (ring == &ubc->port[i].rx) {
            ubc->ops.interrupt(ubc->opaque, UBC_VECTOR_RX(i));
        } else if (ring == &ubc->port[i].tx) {
            ubc->ops.interrupt(ubc->opaque, UBC_VECTOR_TX(i));
        }
    }
}

const UbRingOps ubc_ring_ops = {
    ring_read, ring_write, ring_error, ring_interrupt,
};

/* ---- Registers ----------------------------------------------------------------- */

/* The port and its register at `offset`, or NULL. */
static UbPort *port_at(Ubc *ubc, uint32_t offset, uint32_t *reg)
{
    const uint32_t stride = UBC_PORT(1) - UBC_PORT(0);
    unsigned index = (offset - UBC_PORT(0)) / stride;

    if (offset < UBC_PORT(0) || index >= ubc->ports) {
        return NULL;
    }
    *reg = (offset - UBC_PORT(0)) % stride;
    return &ubc->port[index];
}

uint32_t ubc_read(Ubc *ubc, uint32_t offset, int64_t now)
{
    UbPort *p;
    uint32_t reg;

    ubc->now = now;
    if (offset >= UBC_CFG_WINDOW &&
        offset < UBC_CFG_WINDOW + UBC_CFG_WINDOW_SIZE) {
        return ub_space_read(ubc->space, (offset - UBC_CFG_WINDOW) / 4);
    }
    p = port_at(ubc, offset, &reg);
    if (p) {
        return ub_port_read(p, reg);
    }
    switch (offset) {
    case UBC_ID:
        return UBC_ID_VALUE;
    case UBC_VERSION:
        return 1;
    case UBC_PORTS:
        return ubc->ports;
    case UBC_EVENT:
        return ubc->event | enabled_ports(ubc);
    case UBC_EVENT_MASK:
        return ubc->event_mask;
    case UBC_GUEST_ERRORS:
        return ubc->guest_errors;
    case UBC_DMA_ERRORS:
        return ubc->dma_errors;
    case UBC_CFG_ADDR:
        return ubc->cfg_addr;
    case UBC_CFG_DATA:
        return ub_space_read(ubc->space, ubc->cfg_addr);
    default:
        return 0;
    }
}

void ubc_write(Ubc *ubc, uint32_t offset, uint32_t value, int64_t now)
{
    UbPort *p;
    uint32_t reg;

    ubc->now = now;
    if (offset >= UBC_CFG_WINDOW &&
        offset < UBC_CFG_WINDOW + UBC_CFG_WINDOW_SIZE) {
        ub_space_write(ubc->space, (offset - UBC_CFG_WINDOW) / 4, value, 0xf);
        return;
    }
    p = port_at(ubc, offset, &reg);
    if (p) {
        ub_port_write(p, reg, value);
        return;
    }
    switch (offset) {
    case UBC_CTRL:
        if (value & UBC_CTRL_RESET) {
            ubc_reset(ubc, now);
        }
        break;
    case UBC_EVENT:
        ubc->event &= ~value;
        break;
    case UBC_EVENT_MASK:
        ubc->event_mask = value & (UBC_EVENT_GUEST_ERROR |
                                   UBC_EVENT_DMA_ERROR);
        break;
    case UBC_CFG_ADDR:
        ubc->cfg_addr = value;
        break;
    case UBC_CFG_DATA:
        ub_space_write(ubc->space, ubc->cfg_addr, value, 0xf);
        break;
    default:
        ubc_guest_error(ubc, -1,
                           "write to a register that is read-only or does "
                           "not exist");
    }
}

/* ---- Life ------------------------------------------------------------------------ */

Ubc *ubc_new(const UbcConfig *cfg, const UbcOps *ops, void *opaque,
                  const char **why)
{
    Ubc *ubc;

    if (cfg->ports < 1 || cfg->ports > UBC_MAX_PORTS) {
        *why = "there are 1 to 8 ports";
        return NULL;
    }
    if (!cfg->dll_time_scale || cfg->dll_time_scale > 100000) {
        *why = "the data link layer's time scale is 1 to 100000";
        return NULL;
    }
    *why = ub_phy_config_check(&cfg->phy);
    *why = *why ? *why : ub_dll_config_check(&cfg->dll);
    if (*why) {
        return NULL;
    }
    ubc = g_new0(Ubc, 1);
    ubc->conf = *cfg;
    ubc->ops = *ops;
    ubc->opaque = opaque;
    ubc->ports = cfg->ports;
    ubc->pool = core_packet_pool_new(64, 0);
    ubc->space = ub_space_new(cfg->ports, slice_exists, &ubc_space_ops, ubc);
    ub_port_regs_init(ubc);
    for (unsigned i = 0; i < ubc->ports; i++) {
        *why = ub_port_init(&ubc->port[i], ubc, i);
        if (*why) {
            ubc_free(ubc);
            return NULL;
        }
    }
    return ubc;
}

void ubc_free(Ubc *ubc)
{
    if (!ubc) {
        return;
    }
    for (unsigned i = 0; i < ubc->ports; i++) {
        ub_port_fini(&ubc->port[i]);
    }
    ub_space_free(ubc->space);
    core_packet_pool_free(ubc->pool);
    g_free(ubc);
}

void ubc_reset(Ubc *ubc, int64_t now)
{
    ubc->now = now;
    ubc->reset_pending = false;
    ubc->event = ubc->event_mask = ubc->cfg_addr = 0;
    ubc->guest_errors = ubc->dma_errors = 0;
    ub_space_reset(ubc->space, UB_SPACE_RESET_DEVICE, 0);
    for (unsigned i = 0; i < ubc->ports; i++) {
        ub_port_reset(&ubc->port[i]);
    }
    ubc_kick(ubc);
}

void ubc_bus_master(Ubc *ubc, bool on)
{
    if (ubc->master != on) {
        ubc->master = on;
        ubc_kick(ubc);
    }
}

int64_t ubc_run(Ubc *ubc, int64_t now)
{
    int64_t next = INT64_MAX;

    ubc->now = now;
    ubc->running = true;
    if (ubc->reset_pending) {
        ubc_reset(ubc, now);
    }
    for (unsigned i = 0; i < ubc->ports; i++) {
        int64_t t = ub_port_run(&ubc->port[i]);

        next = MIN(next, t);
    }
    ubc->running = false;
    return next;
}

/* ---- Wires -------------------------------------------------------------------- */

void ubc_wire_connected(Ubc *ubc, unsigned port, int64_t now)
{
    ubc->now = now;
    ub_wire_connected(ubc->port[port].wire);
    ubc->ops.wire_ready(ubc->opaque, port);
    ubc_kick(ubc);
}

void ubc_wire_disconnected(Ubc *ubc, unsigned port, int64_t now)
{
    ubc->now = now;
    ub_wire_disconnected(ubc->port[port].wire);
    ub_port_wire_down(&ubc->port[port]);
    ubc_kick(ubc);
}

void ubc_wire_receive(Ubc *ubc, unsigned port, const uint8_t *data,
                         size_t len, int64_t now)
{
    ubc->now = now;
    ub_wire_receive(ubc->port[port].wire, data, len);
    ubc_kick(ubc);
}

size_t ubc_wire_queued(Ubc *ubc, unsigned port, const uint8_t **data)
{
    return ub_wire_queued(ubc->port[port].wire, data);
}

void ubc_wire_sent(Ubc *ubc, unsigned port, size_t n)
{
    ub_wire_sent(ubc->port[port].wire, n);
    ub_port_wire_sent(&ubc->port[port]);
}

/* ---- Views --------------------------------------------------------------------- */

UbInject *ubc_inject(Ubc *ubc, unsigned port)
{
    return port < ubc->ports ? ub_wire_inject(ubc->port[port].wire) : NULL;
}

unsigned ubc_ports(const Ubc *ubc)
{
    return ubc->ports;
}

const char *ubc_counter_name(unsigned counter)
{
    static const char *const names[] = {
#define UBC_X(id, name) name,
        UBC_COUNTERS(UBC_X)
#undef UBC_X
    };

    return counter < G_N_ELEMENTS(names) ? names[counter] : NULL;
}

bool ubc_port_info(Ubc *ubc, unsigned port, UbcPortInfo *info)
{
    static const char *const fec_names[] = { "off", "t2", "t4" };
    UbPort *p;
    UbPhyStatus phy;

    memset(info, 0, sizeof(*info));
    if (port >= ubc->ports) {
        return false;
    }
    p = &ubc->port[port];
    ub_phy_status(p->phy, &phy);
    ub_dll_status(p->dll, &info->status);
    info->connected = ub_wire_is_up(p->wire);
    info->peer = ub_wire_peer(p->wire);
    info->link_up = phy.link_up;
    info->primary = phy.primary;
    info->crc = phy.crc == UB_LTB_CRC30;
    info->lmsm = phy.state;
    info->dll = ub_dll_state_name(UB_DLL_SM, info->status.state);
    info->retry_req = ub_dll_state_name(UB_RETRY_REQ_SM,
                                        info->status.retry_req);
    info->retry_ack = ub_dll_state_name(UB_RETRY_ACK_SM,
                                        info->status.retry_ack);
    info->fec = phy.fec < G_N_ELEMENTS(fec_names) ? fec_names[phy.fec] : "none";
    info->codecs = phy.interleave ? 2 : 1;
    info->rate = phy.rate;
    info->tx_width = phy.tx_width;
    info->rx_width = phy.rx_width;
    for (unsigned i = 0; i < UBC_CNT_NUM; i++) {
        info->counter[i] = ub_port_counter(p, i);
    }
    return true;
}
