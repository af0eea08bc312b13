/*
 * The UB controller's registers: the map of BAR0.
 *
 * A window has an owner (the controller, a port, a ring pair) and a table with
 * a row for each of its registers.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <glib.h>
#include <stddef.h>

#include "internal.h"

typedef struct Reg {
    uint32_t at;
    uint32_t member;   /* where in the owner its value is: 0, nowhere */
    uint32_t writable; /* bits of the member that a write sets */
    uint32_t (*get)(void *owner);                 /* instead of the member */
    void (*set)(void *owner, uint32_t value);
} Reg;

#define MEMBER(type, m) .member = offsetof(type, m)

static const char no_such[] =
    "write to a register that is read-only or does not exist";

static const Reg *reg_find(const Reg *regs, unsigned n, uint32_t at)
{
    for (unsigned i = 0; i < n; i++) {
        if (regs[i].at == at) {
            return &regs[i];
        }
    }
    return NULL;
}

static uint32_t reg_read(const Reg *r, void *owner)
{
    return !r ? 0 : r->get ? r->get(owner)
           : r->member ? *(uint32_t *)((char *)owner + r->member) : 0;
}

/* False: it is read-only or does not exist. */
static bool reg_write(const Reg *r, void *owner, uint32_t value)
{
    if (r && r->set) {
        r->set(owner, value);
    } else if (r && r->writable) {
        *(uint32_t *)((char *)owner + r->member) = value & r->writable;
    }
    return r && (r->set || r->writable);
}

static void vector_set(Ubc *ubc, int port, uint32_t *vector, uint32_t value)
{
    if (value < UBC_VECTORS) {
        *vector = value;
    } else {
        ubc_guest_error(ubc, port, "vector beyond the MSI-X table");
    }
}

/* ---- The controller ------------------------------------------------------------ */

static uint32_t ctl_id(void *o)
{
    return UBC_ID_VALUE;
}

static uint32_t ctl_version(void *o)
{
    return UBC_INTERFACE;
}

static uint32_t ctl_ports(void *o)
{
    return ((Ubc *)o)->ports;
}

static uint32_t ctl_caps(void *o)
{
    const UbcConfig *conf = &((Ubc *)o)->conf;

    return (conf->guard && !conf->forward ? UBC_CAPS_GUARD : 0) |
           UBC_CAPS_PAIRS | UBC_CAPS_MSGQS | UBC_CAPS_EVENTS |
           UBC_CAPS_COMMANDS | UBC_CAPS_CONFIG | UBC_CAPS_UMMU | UBC_CAPS_USI;
}

static void ctl_ctrl(void *o, uint32_t value)
{
    Ubc *ubc = o;

    if (value & UBC_CTRL_RESET) {
        ubc_reset(ubc, ubc->now);
    }
}

static uint32_t ctl_event(void *o)
{
    Ubc *ubc = o;

    return ubc->event | ubc_events_of_ports(ubc);
}

static void ctl_event_clear(void *o, uint32_t value)
{
    ((Ubc *)o)->event &= ~value;
}

static void ctl_event_mask(void *o, uint32_t value)
{
    ubc_event_mask(o, value);
}

static uint32_t ctl_cfg_data(void *o)
{
    Ubc *ubc = o;

    return ubc_space_read(ubc, ubc->cfg_entity, ubc->cfg_addr);
}

static void ctl_cfg_data_set(void *o, uint32_t value)
{
    Ubc *ubc = o;

    ubc_space_write(ubc, ubc->cfg_entity, ubc->cfg_addr, value);
}

static void ctl_cfg_entity(void *o, uint32_t value)
{
    Ubc *ubc = o;

    if (value < ubc->conf.entities) {
        ubc->cfg_entity = value;
    } else {
        ubc_guest_error(ubc, -1, "an Entity that does not exist");
    }
}

static void ctl_vector(void *o, uint32_t value)
{
    Ubc *ubc = o;

    vector_set(ubc, -1, &ubc->vector, value);
}

static void ctl_usi_first(void *o, uint32_t value)
{
    Ubc *ubc = o;

    vector_set(ubc, -1, &ubc->usi_host.first, value);
}

static void ctl_usi_count(void *o, uint32_t value)
{
    Ubc *ubc = o;

    if (value <= UBC_VECTORS) {
        ubc->usi_host.count = value;
    } else {
        ubc_guest_error(ubc, -1, "more vectors than the MSI-X table has");
    }
}

static const Reg ctl_regs[] = {
    { UBC_ID, .get = ctl_id },
    { UBC_VERSION, .get = ctl_version },
    { UBC_PORTS, .get = ctl_ports },
    { UBC_CTRL, .set = ctl_ctrl },
    { UBC_EVENT, .get = ctl_event, .set = ctl_event_clear },
    { UBC_EVENT_MASK, MEMBER(Ubc, event_mask), .set = ctl_event_mask },
    { UBC_GUEST_ERRORS, MEMBER(Ubc, guest_errors) },
    { UBC_DMA_ERRORS, MEMBER(Ubc, dma_errors) },
    { UBC_CFG_ADDR, MEMBER(Ubc, cfg_addr), .writable = ~0u },
    { UBC_CFG_DATA, .get = ctl_cfg_data, .set = ctl_cfg_data_set },
    { UBC_CAPS, .get = ctl_caps },
    { UBC_VECTOR, MEMBER(Ubc, vector), .set = ctl_vector },
    { UBC_CFG_ENTITY, MEMBER(Ubc, cfg_entity), .set = ctl_cfg_entity },
    { UBC_USI_CTRL, MEMBER(Ubc, usi_host.ctrl), .writable = UBC_USI_ENABLE },
    { UBC_USI_TOKEN_ID, MEMBER(Ubc, usi_host.token_id), .writable = 0xfffff },
    { UBC_USI_FIRST, MEMBER(Ubc, usi_host.first), .set = ctl_usi_first },
    { UBC_USI_COUNT, MEMBER(Ubc, usi_host.count), .set = ctl_usi_count },
    { UBC_USI_ADDR_LO, MEMBER(Ubc, usi_host.addr_lo), .writable = ~7u },
    { UBC_USI_ADDR_HI, MEMBER(Ubc, usi_host.addr_hi), .writable = ~0u },
    { UBC_USI_RECEIVED, MEMBER(Ubc, usi_host.received) },
    { UBC_USI_REFUSED, MEMBER(Ubc, usi_host.refused) },
};

static uint32_t ctl_read(Ubc *ubc, uint32_t at)
{
    return reg_read(reg_find(ctl_regs, G_N_ELEMENTS(ctl_regs), at), ubc);
}

static void ctl_write(Ubc *ubc, uint32_t at, uint32_t value)
{
    if (!reg_write(reg_find(ctl_regs, G_N_ELEMENTS(ctl_regs), at), ubc,
                   value)) {
        ubc_guest_error(ubc, -1, no_such);
    }
}

/* ---- Ports --------------------------------------------------------------------- */

static uint32_t end_status(void *o)
{
    return ubc_end_status(o);
}

static uint32_t end_ctrl(void *o)
{
    return ub_port_enabled(((UbcEnd *)o)->port) ? UBC_PORT_CTRL_ENABLE : 0;
}

static void end_ctrl_set(void *o, uint32_t value)
{
    UbcEnd *e = o;

    if (!(value & UBC_PORT_CTRL_ENABLE)) {
        ubc_raw_drop(e);
    }
    ub_port_enable(e->port, e->ubc->now, value & UBC_PORT_CTRL_ENABLE);
}

static void end_event_clear(void *o, uint32_t value)
{
    ((UbcEnd *)o)->event &= ~value;
}

static void end_event_mask(void *o, uint32_t value)
{
    ubc_end_event_mask(o, value);
}

static uint32_t end_mtu(void *o)
{
    return ub_port_mtu(((UbcEnd *)o)->port);
}

static uint32_t end_vls(void *o)
{
    return ub_port_vls(((UbcEnd *)o)->port);
}

static void end_vector(void *o, uint32_t value)
{
    UbcEnd *e = o;

    vector_set(e->ubc, e->index, &e->vector, value);
}

static uint32_t end_params(void *o)
{
    const uint32_t *words;

    return ub_port_param(((UbcEnd *)o)->port, &words);
}

static void end_params_send(void *o, uint32_t value)
{
    UbcEnd *e = o;

    if (value < 1 || value > UBC_PORT_PARAM_MAX) {
        ubc_guest_error(e->ubc, e->index, "Param_Exchg has 1 to 32 words");
    } else if (!ub_port_send_param(e->port, e->ubc->now, e->param, value)) {
        ubc_guest_error(e->ubc, e->index, "Param_Exchg not possible now");
    }
}

static uint32_t end_param(const UbcEnd *e, unsigned i)
{
    const uint32_t *words;

    return i < ub_port_param(e->port, &words) ? words[i] : 0;
}

static const Reg end_regs[] = {
    { UBC_PORT_STATUS, .get = end_status },
    { UBC_PORT_CTRL, .get = end_ctrl, .set = end_ctrl_set },
    { UBC_PORT_EVENT, MEMBER(UbcEnd, event), .set = end_event_clear },
    { UBC_PORT_EVENT_MASK, MEMBER(UbcEnd, event_mask), .set = end_event_mask },
    { UBC_PORT_MTU, .get = end_mtu },
    { UBC_PORT_VLS, .get = end_vls },
    { UBC_PORT_VECTOR, MEMBER(UbcEnd, vector), .set = end_vector },
    { UBC_PORT_PARAMS, .get = end_params, .set = end_params_send },
};

/* The port whose registers are at `at`, which becomes the offset there. */
static UbcEnd *end_at(Ubc *ubc, uint32_t *at)
{
    const uint32_t stride = UBC_PORT(1) - UBC_PORT(0);
    unsigned index = (*at - UBC_PORT(0)) / stride;

    *at = (*at - UBC_PORT(0)) % stride;
    return index < ubc->ports ? &ubc->end[index] : NULL;
}

/* Whether a word of Param_Exchg is at `at`, and which. */
static bool param_at(uint32_t at, unsigned *i)
{
    *i = (at - UBC_PORT_PARAM(0)) / 4;
    return at >= UBC_PORT_PARAM(0) && at % 4 == 0 && *i < UBC_PORT_PARAM_MAX;
}

static uint32_t end_read(Ubc *ubc, uint32_t at)
{
    UbcEnd *e = end_at(ubc, &at);
    uint64_t count;
    unsigned i;

    if (!e) {
        return 0;
    }
    if (param_at(at, &i)) {
        return end_param(e, i);
    }
    if (at < UBC_COUNTER(0) || at >= UBC_COUNTER(UBC_CNT_NUM)) {
        return reg_read(reg_find(end_regs, G_N_ELEMENTS(end_regs), at), e);
    }
    if (at % 8) {
        return e->counter_hi;
    }
    count = ubc_end_counter(e, (at - UBC_COUNTER(0)) / 8);
    e->counter_hi = count >> 32;
    return count;
}

static void end_write(Ubc *ubc, uint32_t at, uint32_t value)
{
    UbcEnd *e = end_at(ubc, &at);
    unsigned i;

    if (e && param_at(at, &i)) {
        e->param[i] = value;
    } else if (!e || !reg_write(reg_find(end_regs, G_N_ELEMENTS(end_regs), at),
                                e, value)) {
        ubc_guest_error(ubc, e ? (int)e->index : -1, no_such);
    }
}

/* ---- Ring pairs ---------------------------------------------------------------- */

static void pair_port(void *o, uint32_t value)
{
    UbcPair *p = o;

    ubc_pair_bind(p, &p->port, value);
}

static void pair_vls(void *o, uint32_t value)
{
    UbcPair *p = o;

    ubc_pair_bind(p, &p->vls, value & ((1u << UB_VLS) - 1));
}

static void pair_cfgs(void *o, uint32_t value)
{
    UbcPair *p = o;

    ubc_pair_bind(p, &p->cfgs, value & ((1u << UBC_CFGS) - 1));
}

static void pair_rt(void *o, uint32_t value)
{
    UbcPair *p = o;

    ubc_pair_bind(p, &p->rt, value & (UBC_PAIR_RT_DESC | 3));
}

static const Reg pair_regs[] = {
    { UBC_PAIR_PORT, MEMBER(UbcPair, port), .set = pair_port },
    { UBC_PAIR_VLS, MEMBER(UbcPair, vls), .set = pair_vls },
    { UBC_PAIR_CFGS, MEMBER(UbcPair, cfgs), .set = pair_cfgs },
    { UBC_PAIR_RT, MEMBER(UbcPair, rt), .set = pair_rt },
};

/* The ring whose registers are at `at`, which becomes the offset there; or NULL. */
static UbRing *ring_at(UbcPair *p, uint32_t *at)
{
    const uint32_t size = UBC_RING_RX - UBC_RING_TX;
    UbRing *const rings[] = { NULL, &p->tx, &p->rx, NULL };
    UbRing *ring = rings[*at / size];

    *at -= ring ? *at / size * size : 0;
    return ring;
}

static UbcPair *pair_at(Ubc *ubc, uint32_t *at)
{
    const uint32_t stride = UBC_PAIR(1) - UBC_PAIR(0);
    UbcPair *p = &ubc->pair[(*at - UBC_PAIR(0)) / stride];

    *at = (*at - UBC_PAIR(0)) % stride;
    return p;
}

static uint32_t pair_read(Ubc *ubc, uint32_t at)
{
    UbcPair *p = pair_at(ubc, &at);
    UbRing *ring = ring_at(p, &at);

    return ring ? ub_ring_reg_read(ring, at)
                : reg_read(reg_find(pair_regs, G_N_ELEMENTS(pair_regs), at), p);
}

static void pair_write(Ubc *ubc, uint32_t at, uint32_t value)
{
    UbcPair *p = pair_at(ubc, &at);
    UbRing *ring = ring_at(p, &at);

    p->touched = true;
    if (ring) {
        if (ub_ring_reg_write(ring, at, value)) {
            ubc_kick(ubc);
        }
        ubc_pair_settle(p);
    } else if (!reg_write(reg_find(pair_regs, G_N_ELEMENTS(pair_regs), at), p,
                          value)) {
        ubc_guest_error(ubc, p->port, no_such);
    }
}

/* ---- The configuration space ---------------------------------------------------- */

static uint32_t cfg_read(Ubc *ubc, uint32_t at)
{
    return ubc_space_read(ubc, 0, (at - UBC_CFG_WINDOW) / 4);
}

static void cfg_write(Ubc *ubc, uint32_t at, uint32_t value)
{
    ubc_space_write(ubc, 0, (at - UBC_CFG_WINDOW) / 4, value);
}

/* ---- BAR0 ------------------------------------------------------------------------ */

static const struct {
    uint32_t from, end;
    uint32_t (*read)(Ubc *ubc, uint32_t at);
    void (*write)(Ubc *ubc, uint32_t at, uint32_t value);
} windows[] = {
    { UBC_PAIR(0), UBC_PAIR(UBC_PAIRS), pair_read, pair_write },
    { UBC_MSGQ(0), UBC_MSGQ(UBC_MSGQS), ubc_manage_read, ubc_manage_write },
    { UBQ_EQ_WINDOW, UBQ_EQ(UBQ_EQS), ubc_engine_read, ubc_engine_write },
    { UBQ_CMD_WINDOW, UBQ_CMD_WINDOW + 0x100, ubc_engine_read,
      ubc_engine_write },
    { UBM_WINDOW, UBM_WINDOW + UBM_WINDOW_SIZE, ubc_ummu_read,
      ubc_ummu_write },
    { UBC_CFG_WINDOW, UBC_CFG_WINDOW + UBC_CFG_WINDOW_SIZE, cfg_read,
      cfg_write },
    { UBC_PORT(0), UBC_PORT(UBC_MAX_PORTS), end_read, end_write },
    { 0, UBC_PORT(0), ctl_read, ctl_write },
};

uint32_t ubc_read(Ubc *ubc, uint32_t offset, int64_t now)
{
    ubc->now = now;
    for (unsigned i = 0; i < G_N_ELEMENTS(windows); i++) {
        if (offset >= windows[i].from && offset < windows[i].end) {
            return windows[i].read(ubc, offset);
        }
    }
    return 0;
}

void ubc_write(Ubc *ubc, uint32_t offset, uint32_t value, int64_t now)
{
    ubc->now = now;
    for (unsigned i = 0; i < G_N_ELEMENTS(windows); i++) {
        if (offset >= windows[i].from && offset < windows[i].end) {
            windows[i].write(ubc, offset, value);
            return;
        }
    }
    ubc_guest_error(ubc, -1, no_such);
}
