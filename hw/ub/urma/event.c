/*
 * Event queues, errors, counters, guest memory.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "internal.h"

#define EQ_SIZE_MIN 4

static const char *const counter_names[] = {
#define UB_URMA_X(id, name) name,
    UB_URMA_COUNTERS(UB_URMA_X)
#undef UB_URMA_X
};

const char *ub_urma_counter_name(unsigned counter)
{
    return counter < G_N_ELEMENTS(counter_names) ? counter_names[counter]
                                                 : NULL;
}

uint64_t ub_urma_counter(const UbUrma *u, UbUrmaCounter counter)
{
    return u->counter[counter];
}

bool urma_read(UbUrma *u, uint64_t addr, void *buf, uint32_t len)
{
    if (u->ops.read(u->opaque, addr, buf, len)) {
        return true;
    }
    u->counter[UB_URMA_DMA_ERRORS]++;
    return false;
}

bool urma_write(UbUrma *u, uint64_t addr, const void *buf, uint32_t len)
{
    if (u->ops.write(u->opaque, addr, buf, len)) {
        return true;
    }
    u->counter[UB_URMA_DMA_ERRORS]++;
    return false;
}

void urma_guest_error(UbUrma *u, const char *what)
{
    u->ops.guest_error(u->opaque, what);
}

bool urma_vector_good(const UbUrma *u, uint32_t value)
{
    if (value < u->cfg.vectors) {
        return true;
    }
    return value <= UINT16_MAX && value & UBQ_USI_IS &&
           UBQ_USI_ENTITY(value) < u->cfg.entities &&
           UBQ_USI_N(value) < u->cfg.usi;
}

bool urma_entity_there(const UbUrma *u, unsigned entity)
{
    return entity < u->cfg.entities || ub_sec_is_instance(entity);
}

bool urma_may_access(const UbUrma *u, unsigned entity)
{
    return !u->ops.may_access || u->ops.may_access(u->opaque, entity);
}

void urma_kick(UbUrma *u)
{
    u->ops.kick(u->opaque);
}

void urma_trace(UbUrma *u, UbUrmaTrace what, uint32_t id, uint32_t a,
                uint32_t b)
{
    if (u->ops.trace) {
        u->ops.trace(u->opaque, what, id, a, b);
    }
}

static unsigned eq_entries(const UrmaEq *eq)
{
    return 1u << eq->size;
}

static const char *eq_place_check(const UrmaEq *eq)
{
    if (eq->size < EQ_SIZE_MIN || eq->size > URMA_LOG2_MAX) {
        return "event queue enabled with a size that does not exist";
    }
    return eq->base % UBQ_EQE ? "event queue enabled with an unaligned base"
                              : NULL;
}

const char *urma_eq_check(const UbUrma *u, const UrmaEq *eq)
{
    const char *broken = eq->enabled ? eq_place_check(eq) : NULL;

    if (!broken && eq->enabled &&
        (uint16_t)(eq->pi - eq->ci) > eq_entries(eq)) {
        broken = "event queue with more entries than it has";
    }
    if (!broken && !urma_vector_good(u, eq->vector)) {
        broken = "event queue with a vector beyond the table";
    }
    return broken;
}

static void eq_interrupt(UbUrma *u, UrmaEq *eq)
{
    if (eq->armed && eq->pi != eq->arm) {
        eq->armed = false;
        u->ops.interrupt(u->opaque, eq->vector);
    }
}

void ub_urma_event(UbUrma *u, unsigned n, unsigned event, uint32_t object,
                   unsigned entity, uint32_t data)
{
    UrmaEq *eq = &u->eq[n];
    uint8_t e[UBQ_EQE];
    uint64_t at;
    bool odd;

    if (n >= u->cfg.eqs || !eq->enabled ||
        (uint16_t)(eq->pi - eq->ci) >= eq_entries(eq)) {
        u->counter[UB_URMA_EVENTS_LOST]++;
        if (n < u->cfg.eqs && eq->lost != UINT32_MAX) {
            eq->lost++;
        }
        return;
    }
    odd = eq->pi >> eq->size & 1;
    put_le32(e, event >> 8 | (event & 0xff) << 8 | (odd ? 0 : UBQ_EQE_OWNER));
    put_le32(e + 4, object);
    put_le32(e + 8, entity);
    put_le32(e + 12, data);
    at = eq->base + (uint64_t)(eq->pi & (eq_entries(eq) - 1)) * UBQ_EQE;
    if (!urma_write(u, at + 8, e + 8, 8) || !urma_write(u, at, e, 8)) {
        eq->enabled = false;
        eq->error = true;
        urma_guest_error(u, "event queue in memory that is not there");
        ub_urma_device_event(u, UBQ_EVENT_FATAL, n, 0, 2);
        return;
    }
    eq->pi++;
    u->counter[UB_URMA_EVENTS]++;
    urma_trace(u, UB_URMA_TRACE_EVENT, object, n, event);
    eq_interrupt(u, eq);
}

void ub_urma_device_event(UbUrma *u, unsigned event, uint32_t object,
                          unsigned entity, uint32_t data)
{
    for (unsigned n = 0; n < u->cfg.eqs; n++) {
        if (u->eq[n].enabled && u->eq[n].device) {
            ub_urma_event(u, n, event, object, entity, data);
        }
    }
}

uint32_t urma_eq_reg_read(const UrmaEq *eq, uint32_t reg)
{
    switch (reg) {
    case UBQ_EQ_BASE_LO:
        return eq->base;
    case UBQ_EQ_BASE_HI:
        return eq->base >> 32;
    case UBQ_EQ_SIZE:
        return eq->size;
    case UBQ_EQ_CTRL:
        return (eq->enabled ? UBQ_EQ_ENABLE : 0) |
               (eq->device ? UBQ_EQ_DEVICE : 0) |
               (eq->error ? UBQ_EQ_ERROR : 0);
    case UBQ_EQ_VECTOR:
        return eq->vector;
    case UBQ_EQ_PI:
        return eq->pi;
    case UBQ_EQ_CI:
        return eq->ci;
    case UBQ_EQ_ARM:
        return eq->arm;
    case UBQ_EQ_LOST:
        return eq->lost;
    default:
        return 0;
    }
}

static void eq_enable(UbUrma *u, UrmaEq *eq, bool on)
{
    const char *broken = on ? eq_place_check(eq) : NULL;

    if (on == eq->enabled) {
        return;
    }
    if (broken) {
        urma_guest_error(u, broken);
        return;
    }
    eq->enabled = on;
    if (on) {
        eq->error = eq->armed = false;
        eq->pi = eq->ci = 0;
    }
}

void urma_eq_reg_write(UbUrma *u, UrmaEq *eq, uint32_t reg, uint32_t value)
{
    bool fixed = reg == UBQ_EQ_BASE_LO || reg == UBQ_EQ_BASE_HI ||
                 reg == UBQ_EQ_SIZE;

    if (fixed && eq->enabled) {
        urma_guest_error(u, "place of an enabled event queue written");
        return;
    }
    switch (reg) {
    case UBQ_EQ_BASE_LO:
        eq->base = (eq->base & ~0xffffffffull) | value;
        break;
    case UBQ_EQ_BASE_HI:
        eq->base = (uint32_t)eq->base | (uint64_t)value << 32;
        break;
    case UBQ_EQ_SIZE:
        eq->size = value & 0xff;
        break;
    case UBQ_EQ_CTRL:
        eq->device = value & UBQ_EQ_DEVICE;
        eq_enable(u, eq, value & UBQ_EQ_ENABLE);
        break;
    case UBQ_EQ_VECTOR:
        if (!urma_vector_good(u, value)) {
            urma_guest_error(u, "event queue with a vector beyond the table");
            break;
        }
        eq->vector = value;
        break;
    case UBQ_EQ_CI:
        if ((uint16_t)(eq->pi - value) > (uint16_t)(eq->pi - eq->ci)) {
            urma_guest_error(u, "events read that were not written");
            break;
        }
        eq->ci = value;
        break;
    case UBQ_EQ_ARM:
        eq->arm = value;
        eq->armed = true;
        eq_interrupt(u, eq);
        break;
    default:
        break;
    }
}
