/*
 * Event queues and interrupts (interface document, section 3.2.5).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "internal.h"

static bool eq_write(NativeRdma *n, Eq *e, uint32_t off, const void *buf,
                     uint32_t len)
{
    if (e->lkey) {
        return !rdma_mr_write(n->dev, e->lkey, e->pd, off, buf, len,
                              RDMA_ACC_RELATIVE | RDMA_ACC_LOCAL_WRITE);
    }
    return native_dma_write(n, e->start + off, buf, len);
}

static bool eq_read(NativeRdma *n, Eq *e, uint32_t off, void *buf,
                    uint32_t len)
{
    if (e->lkey) {
        return !rdma_mr_read(n->dev, e->lkey, e->pd, off, buf, len,
                             RDMA_ACC_RELATIVE);
    }
    return native_dma_read(n, e->start + off, buf, len);
}

void native_post_event(NativeRdma *n, uint32_t eqn, uint8_t type,
                       uint32_t number)
{
    Eq *e = &n->s.eq[eqn % G_N_ELEMENTS(n->s.eq)];
    uint8_t eqe[NRE_EQE_BYTES] = { 0 }, owner;
    uint32_t off;

    if (!n->cfg.eqe || !e->exists || !e->valid) {
        return;
    }
    off = (e->pi & ((1u << e->log) - 1)) * NRE_EQE_BYTES;
    if (!eq_read(n, e, off + NRE_OWNER, &owner, 1) ||
        !(owner & NRQ_OWNER_HW)) {
        native_rule(n, eqn, "event queue", "event queue full or not readable");
        return;
    }
    eqe[NRE_TYPE] = type;
    put_le32(eqe + NRE_NUMBER, number);
    /* The owner byte becomes visible last. */
    if (!eq_write(n, e, off, eqe, NRE_OWNER & ~3) ||
        !eq_write(n, e, off + (NRE_OWNER & ~3), eqe + (NRE_OWNER & ~3), 4)) {
        native_rule(n, eqn, "event queue", "event queue not writable");
        return;
    }
    e->pi++;
    if (e->armed) {
        e->armed = false;
        n->ops->msix(n->rdma.ops_opaque, e->vector);
    }
}

void native_event(void *p, RdmaEvent ev, uint32_t number)
{
    NativeRdma *n = p;

    for (int i = 0; i < G_N_ELEMENTS(n->s.eq); i++) {
        if (n->s.eq[i].mask >> ev & 1) {
            native_post_event(n, i, ev, number);
        }
    }
}

void native_arm_eq(NativeRdma *n, uint32_t eqn)
{
    n->s.eq[eqn % G_N_ELEMENTS(n->s.eq)].armed = true;
}

/* ---- commands ---- */

uint8_t native_sw2hw_eq(NativeRdma *n, NativeCmd *c)
{
    Eq *e = &n->s.eq[c->in_mod];
    uint8_t log = c->in[NR_CTX_LOG];

    if (n->cfg.strict_cmd && (e->exists || log > LOG_EQ_MAX)) {
        native_rule(n, c->in_mod, "SW2HW_EQ", "in use or too large");
        return NRS_BAD_PARAM;
    }
    if (!nicm_write(n, ICM_EQC, c->in_mod, NR_EQC_BYTES, 0, c->in, 0x30) &&
        n->cfg.strict_cmd) {
        native_rule(n, c->in_mod, "SW2HW_EQ", "ICM page not mapped");
        return NRS_BAD_PARAM;
    }
    *e = (Eq) {
        .exists = true,
        .armed = get_be32(c->in + NR_CTX_FLAGS) & NRX_ARMED,
        .start = get_be64(c->in + NR_CTX_START),
        .log = MIN(log, LOG_EQ_MAX),
        .vector = get_be16(c->in + NR_EQC_VECTOR),
        .pd = get_be32(c->in + NR_EQC_PD),
        .lkey = get_be32(c->in + NR_EQC_LKEY),
    };
    return NRS_OK;
}

uint8_t native_hw2sw_eq(NativeRdma *n, NativeCmd *c)
{
    static const uint8_t zero[0x30];

    if (n->cfg.strict_cmd && !n->s.eq[c->in_mod].exists) {
        native_rule(n, c->in_mod, "HW2SW_EQ", "no such EQ");
        return NRS_BAD_PARAM;
    }
    n->s.eq[c->in_mod] = (Eq) { 0 };
    nicm_write(n, ICM_EQC, c->in_mod, NR_EQC_BYTES, 0, zero, sizeof(zero));
    return NRS_OK;
}

uint8_t native_map_eq(NativeRdma *n, NativeCmd *c)
{
    uint32_t eqn = c->in_mod & ~NRC_MAP_EQ_UNMAP;
    bool map = !(c->in_mod & NRC_MAP_EQ_UNMAP);
    uint8_t flags[4];
    Eq *e;

    if (n->cfg.strict_cmd && (eqn >= nicm_count(n, ICM_EQC) ||
                              !n->s.eq[eqn].exists)) {
        native_rule(n, eqn, "MAP_EQ", "no such EQ");
        return NRS_BAD_PARAM;
    }
    e = &n->s.eq[eqn % G_N_ELEMENTS(n->s.eq)];
    e->valid = map;
    e->mask = map ? e->mask | c->in_param : e->mask & ~c->in_param;
    put_be32(flags, e->armed ? NRX_ARMED : 0);
    nicm_write(n, ICM_EQC, eqn & (nicm_count(n, ICM_EQC) - 1), NR_EQC_BYTES, 0,
              flags, 4);
    return NRS_OK;
}
