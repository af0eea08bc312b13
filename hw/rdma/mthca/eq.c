/*
 * ncic-mthca: event queues.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "internal.h"

/* The dword with the owner byte. */
enum { EQE_LAST = MTHCA_EQE_SIZE - 4 };

static MthcaEq *mthca_eq_get(Mthca *m, uint32_t eqn)
{
    return eqn >> m->log_eqs ? NULL : &m->eq[eqn];
}

static void mthca_eq_interrupt(Mthca *m, MthcaEq *eq)
{
    if (eq->state != EQ_ALWAYS_ARMED) {
        eq->state = EQ_FIRED;
    }
    m->counters.interrupts++;
    if (eq->intr & 0x80) {
        m->cfg.ops->msix(m->cfg.rdma.ops_opaque,
                         eq->intr & (MTHCA_MSIX_VECTORS - 1));
    } else {
        m->intx = true;
        m->cfg.ops->intx(m->cfg.rdma.ops_opaque, true);
    }
}

void mthca_intx_clear(Mthca *m)
{
    m->intx = false;
    m->cfg.ops->intx(m->cfg.rdma.ops_opaque, false);
}

static bool mthca_eq_write(Mthca *m, MthcaEq *eq, uint64_t off,
                           const void *buf, uint32_t len)
{
    if (!eq->translate) {
        return mthca_dma_write(m, eq->start + off, buf, len);
    }
    return !rdma_mr_write(m->rdma, eq->lkey, eq->pd, eq->start + off, buf,
                          len, RDMA_ACC_LOCAL_WRITE);
}

void mthca_eqe_post(Mthca *m, uint32_t eqn, uint8_t type, uint8_t subtype,
                    const uint8_t data[24])
{
    MthcaEq *eq = mthca_eq_get(m, eqn);
    uint32_t size;
    uint64_t off;
    uint8_t e[MTHCA_EQE_SIZE] = { 0 };

    if (!eq || !eq->valid || eq->overflow) {
        m->counters.eqe_lost++;
        return;
    }
    size = 1u << eq->log_size;
    if (eq->pi - eq->ci >= size) {
        eq->overflow = true;
        m->counters.eqe_lost++;
        mthca_rule(m, eqn, "event queue", "overflow");
        return;
    }
    e[MTHCA_EQE_TYPE] = type;
    e[MTHCA_EQE_SUBTYPE] = subtype;
    memcpy(e + MTHCA_EQE_DATA, data, 24);
    off = (uint64_t)(eq->pi & (size - 1)) * MTHCA_EQE_SIZE;
    /* The owner byte goes last: until then software ignores the entry. */
    if (!mthca_eq_write(m, eq, off, e, EQE_LAST) ||
        !mthca_eq_write(m, eq, off + EQE_LAST, e + EQE_LAST, 4)) {
        m->counters.eqe_lost++;
        mthca_rule(m, eqn, "event queue", "memory refused");
        return;
    }
    eq->pi++;
    m->counters.eqes++;
    if (m->cfg.ops->eqe) {
        m->cfg.ops->eqe(m->cfg.rdma.ops_opaque, eqn, type, get_be32(data));
    }
    if (eq->state == EQ_ARMED || eq->state == EQ_ALWAYS_ARMED) {
        mthca_eq_interrupt(m, eq);
    }
}

void mthca_event_post(Mthca *m, uint8_t type, uint8_t subtype,
                      const uint8_t data[24])
{
    uint8_t eqn = m->event_eq[type & 63];

    if (eqn == 0xff) {
        m->counters.eqe_lost++;
        return;
    }
    mthca_eqe_post(m, eqn, type, subtype, data);
}

void mthca_event_number(void *p, RdmaEvent ev, uint32_t number)
{
    uint8_t data[24] = { 0 };

    put_be32(data, number);
    mthca_event_post(p, ev, 0, data);
}

void mthca_event_port(Mthca *m, bool active)
{
    uint8_t data[24] = { 0 };

    put_be32(data + 0x0c - 4, 1u << 28);    /* port 1 */
    mthca_event_post(m, MTHCA_EV_PORT_CHANGE, active ? 4 : 1, data);
}

void mthca_eq_arm(Mthca *m, uint32_t first, uint32_t mask)
{
    while (mask) {
        MthcaEq *eq = &m->eq[first + __builtin_ctz(mask)];

        mask &= mask - 1;
        if (!eq->valid || eq->state == EQ_ALWAYS_ARMED) {
            continue;
        }
        eq->state = EQ_ARMED;
        if (eq->pi != eq->ci) {
            mthca_eq_interrupt(m, eq);
        }
    }
}

void mthca_eq_set_ci(Mthca *m, uint32_t eqn, uint32_t ci)
{
    MthcaEq *eq = &m->eq[eqn & ((1u << MTHCA_LOG_MAX_EQ) - 1)];

    if (!eq->valid) {
        return;
    }
    if (eq->pi - ci > 1u << eq->log_size) {
        mthca_rule(m, eqn, "event queue", "consumer index beyond producer");
        return;
    }
    eq->ci = ci;
}

/* ---- commands ---- */

uint8_t mthca_map_eq(Mthca *m, MthcaCmd *c)
{
    uint32_t eqn = c->mod & 0x7fffffff;
    bool unmap = c->mod >> 31;
    MthcaEq *eq = mthca_eq_get(m, eqn);

    if (!eq) {
        return MTHCA_ST_BAD_INDEX;
    }
    if (!unmap && !eq->valid) {
        return MTHCA_ST_BAD_RES_STATE;
    }
    for (unsigned i = 0; i < 64; i++) {
        if (!(c->in_param >> i & 1)) {
            continue;
        }
        if (!unmap) {
            m->event_eq[i] = eqn;
        } else if (m->event_eq[i] == eqn) {
            m->event_eq[i] = 0xff;
        }
    }
    return MTHCA_ST_OK;
}

uint8_t mthca_sw2hw_eq(Mthca *m, MthcaCmd *c)
{
    MthcaEq *eq = mthca_eq_get(m, c->mod);
    uint32_t flags = get_be32(c->in + MTHCA_EQC_FLAGS);
    uint8_t state = flags >> 8 & 0xf;

    if (!eq) {
        return MTHCA_ST_BAD_INDEX;
    }
    if (eq->valid) {
        return MTHCA_ST_BAD_RES_STATE;
    }
    if (c->in[MTHCA_EQC_LOG_SIZE] > MTHCA_LOG_MAX_EQES || state < EQ_ARMED ||
        state > EQ_ALWAYS_ARMED) {
        return MTHCA_ST_BAD_PARAM;
    }
    *eq = (MthcaEq) {
        .valid = true,
        .translate = flags >> 18 & 1,
        .state = state,
        .log_size = c->in[MTHCA_EQC_LOG_SIZE],
        .intr = c->in[MTHCA_EQC_INTR],
        .start = get_be64(c->in + MTHCA_EQC_START),
        .pd = get_be32(c->in + MTHCA_EQC_PD) & 0xffffff,
        .lkey = get_be32(c->in + MTHCA_EQC_LKEY),
        .ci = get_be32(c->in + MTHCA_EQC_CI),
        .pi = get_be32(c->in + MTHCA_EQC_PI),
    };
    return MTHCA_ST_OK;
}

static void mthca_eq_context(const MthcaEq *eq, bool hw, uint8_t *o)
{
    put_be32(o + MTHCA_EQC_FLAGS,
             (eq->overflow ? 9u << 28 : 0) | (hw ? 1u << 24 : 0) |
             (eq->translate ? 1u << 18 : 0) | (uint32_t)eq->state << 8);
    put_be64(o + MTHCA_EQC_START, eq->start);
    o[MTHCA_EQC_LOG_SIZE] = eq->log_size;
    o[MTHCA_EQC_INTR] = eq->intr;
    put_be32(o + MTHCA_EQC_PD, eq->pd);
    put_be32(o + MTHCA_EQC_LKEY, eq->lkey);
    put_be32(o + MTHCA_EQC_CI, eq->ci);
    put_be32(o + MTHCA_EQC_PI, eq->pi);
}

static uint8_t mthca_eq_out(Mthca *m, MthcaCmd *c, bool hw)
{
    MthcaEq *eq = mthca_eq_get(m, c->mod);

    if (!eq) {
        return MTHCA_ST_BAD_INDEX;
    }
    if (!eq->valid) {
        return MTHCA_ST_BAD_RES_STATE;
    }
    mthca_eq_context(eq, hw, c->out);
    return MTHCA_ST_OK;
}

uint8_t mthca_query_eq(Mthca *m, MthcaCmd *c)
{
    return mthca_eq_out(m, c, true);
}

uint8_t mthca_hw2sw_eq(Mthca *m, MthcaCmd *c)
{
    uint8_t st = mthca_eq_out(m, c, false);

    if (st == MTHCA_ST_OK) {
        memset(&m->eq[c->mod], 0, sizeof(m->eq[0]));
        for (unsigned i = 0; i < 64; i++) {
            if (m->event_eq[i] == c->mod) {
                m->event_eq[i] = 0xff;
            }
        }
    }
    return st;
}
