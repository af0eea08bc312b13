/*
 * RC Link: registers (RC Link §12.14 and appendix) and what they mean together.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "internal.h"

typedef struct RclReg RclReg;
struct RclReg {
    uint16_t off, count;        /* of neighbours, 8 bytes apart; 0 is 1 */
    uint64_t rw;                /* bits that can be written */
    uint64_t reset;
    uint16_t at;                /* in RclRegs, if kept there */
    bool kept, w1c, qp;
    /* In place of the kept value: the i-th neighbour. */
    uint64_t (*get)(Rclink *d, unsigned i);
    /* In place of keeping the value; or, if kept, after that. */
    void (*set)(Rclink *d, unsigned i, uint64_t v);
};

#define REG_BITS(hi, lo) (UINT64_MAX >> (63 - (hi)) & UINT64_MAX << (lo))

static uint64_t *reg_place(Rclink *d, const RclReg *r, unsigned i)
{
    return (uint64_t *)((char *)&d->reg + r->at) + i;
}

static RclQp *qp_now(Rclink *d)
{
    return d->reg.qp_id < d->cfg.qps ? &d->qp[d->reg.qp_id] : NULL;
}

/* ---- what the registers say ---- */

static RclFormat decode_format(uint64_t cfg)
{
    static const struct { uint8_t bit; RclFormat format; } choice[] = {
        { RCL_CFG_STANDARD, RCL_STANDARD }, { RCL_CFG_GEN1, RCL_GEN1 },
        { RCL_CFG_GEN2, RCL_GEN2 }, { RCL_CFG_LITE, RCL_LITE },
    };

    for (unsigned i = 0; i < G_N_ELEMENTS(choice); i++) {
        if (cfg >> choice[i].bit & 1) {
            return choice[i].format;
        }
    }
    return RCL_STANDARD;
}

static void decode_flows(Rclink *d)
{
    uint64_t cfg = d->reg.cfg, xon = d->reg.xon1;
    unsigned map = RCL_CFG_VC_MAP, type2 = RCL_CFG_CBFC_TYPE2;
    RclPort *p = &d->port;

    if (d->cfg.cfg_packed) {
        type2 = RCL_CFG_VC_MAP;
        map = RCL_CFG_VC_MAP + 1;
    }
    p->cbfc = !(cfg >> RCL_CFG_STOP_CBFC & 1);
    for (unsigned f = 0; f < FLOWS; f++) {
        unsigned en = f < FLOW_ACK ? RCL_CFG_CBFC_BANK0 + f :
                      f == FLOW_ACK ? RCL_CFG_CBFC_ACK :
                      f == FLOW_TYPE3 ? RCL_CFG_CBFC_TYPE3 : type2;
        unsigned uf = f < FLOW_ACK ? 0 : f == FLOW_TYPE2 ? 1 :
                      f == FLOW_TYPE3 ? 2 : 3;

        p->vc[f] = cfg >> (map + 3 * f) & 7;
        p->cbfc_en[f] = cfg >> en & 1;
        p->uf[f] = cfg >> (RCL_CFG_UF_TYPE1 + 3 * uf) & 7;
        p->pfc_tx[f] = xon >> (32 + f) & 1;
        p->pfc_rx[f] = xon >> (39 + f) & 1;
        p->cmax_bytes[f] =
            f == FLOW_TYPE3 ? RCL_TX_FRAME_MAX + RCL_FCS_BYTES :
            f == FLOW_ACK ? RCL_FRAME_MIN + RCL_FCS_BYTES :
            rcl_frame_bytes(&p->layout, f == FLOW_TYPE2 ? RCL_TYPE2
                                                        : RCL_TYPE1,
                            d->cfg.payload);
    }
    p->dynamic1 = cfg >> RCL_CFG_DYNAMIC & 1;
    p->vc_open = cfg >> RCL_CFG_VC_OPEN;
    p->rnr_en = cfg >> RCL_CFG_RNR;
}

static void decode_layout(Rclink *d)
{
    const RclRegs *g = &d->reg;
    RclLayout *l = &d->port.layout;
    bool cbfc = !(g->cfg >> RCL_CFG_STOP_CBFC & 1);

    *l = (RclLayout) {
        .format = decode_format(g->cfg), .rh_order = d->cfg.rh_order,
        .gen1_tc = g->cfg >> RCL_CFG_GEN1_TC & 1, .slap = d->cfg.slap,
        .lite_high = d->cfg.lite_high,
        .icrc = !(g->ctrl & RCL_CTRL_REMOVE_ICRC),
        .icrc_roce = d->cfg.icrc_roce,
        .udp_csum_ffff = d->cfg.udp_csum_ffff,
        .vlan = g->vlan & 1, .vlan_pri = g->cfg >> RCL_CFG_VLAN_PRI & 1,
        .tpid = g->vlan >> 16,
        .tci = (g->vlan >> 1 & 1) << 12 | (g->vlan >> 4 & 0xfff),
        .mac = g->mac & MASK48, .mac_type1 = g->mac >> MASK48_SHIFT,
        .mac_type2 = g->dest_mac2 >> MASK48_SHIFT, .ip = g->ip,
        .ip_id = g->ip >> 32, .ttl = g->ip >> 48,
        .type2_dport = g->udp2 >> 16, .tc2 = g->tc >> 40,
        .vcs = d->cfg.vcs,
    };
    /* The priority has no other place. */
    l->vlan |= l->format == RCL_GEN1 && !l->gen1_tc && cbfc;
    for (unsigned b = 0; b < RCL_BANKS; b++) {
        d->port.tc1[b] = l->tc1[b] = g->tc >> (8 * b);
    }
    d->port.tc_ack = g->tc >> 32;
    d->port.tc2 = l->tc2;
    d->port.tos2 = cbfc ? l->tc2 : g->dest_ip2 >> 48;
}

void rcl_regs_decode(Rclink *d)
{
    const RclRegs *g = &d->reg;
    RclPort *p = &d->port;

    d->stencil_qp = NO_SLOT;
    decode_layout(d);
    decode_flows(d);
    p->bank_rr = g->ctrl & RCL_CTRL_BANK_RR;
    p->ack_time = g->ctrl & RCL_CTRL_ACK_TIME;
    p->multi = g->ctrl & RCL_CTRL_MULTI_CREDIT;
    p->cnp_merge = g->ctrl & RCL_CTRL_CNP_MERGE;
    p->ecn = g->ctrl & RCL_CTRL_ECN;
    p->overrun = g->ctrl & RCL_CTRL_TXS_OVERRUN;
    p->retry_ns = scaled_us(d, g->retry & 0x1fff);
    p->retry_max = g->retry >> 13 & 0xf;
    for (unsigned f = 0; f < FLOWS; f++) {
        rcl_pfc_level(d, f, d->wait[f].level);
    }
    rcl_pfc_update(d);
}

/* Flows of one VC or priority; with PFC, those alone that it concerns (RC Link
 * §12.5). */
static bool flows_share(const Rclink *d)
{
    const RclPort *p = &d->port;
    unsigned used = 0, twice = 0;

    for (unsigned f = 0; f < FLOWS; f++) {
        if (rcl_flow_there(d, f) &&
            (p->cbfc || p->pfc_tx[f] || p->pfc_rx[f])) {
            twice |= used & 1u << p->vc[f];
            used |= 1u << p->vc[f];
        }
    }
    return twice;
}

/* What the document says of CBFC alone (RC Link §12.5, §12.14.4). */
static void cbfc_check(Rclink *d)
{
    const RclPort *p = &d->port;
    uint64_t cfg = d->reg.cfg;
    unsigned zero = 0, pfc = 0, free = 0;

    for (unsigned f = 0; f < FLOWS; f++) {
        bool there = rcl_flow_there(d, f);

        zero |= there && p->cbfc_en[f] && !p->uf[f];
        pfc |= p->pfc_rx[f];
        /* Answers wait nowhere. */
        free |= there && p->cbfc_en[f] && !p->pfc_tx[f] && f != FLOW_ACK;
    }
    if (p->layout.vlan && !(d->reg.vlan & 1)) {
        rcl_guest_error(d, "12.3", "AFH_GEN1 without TC needs a tag", cfg);
    }
    if (zero) {
        rcl_guest_error(d, "12.5", "CREDIT_UF_LIMIT 0", cfg);
    }
    if (pfc) {
        rcl_guest_error(d, "12.5", "CBFC and PFC together", cfg);
    }
    if (free) {
        rcl_guest_error(d, "12.5", "CBFC without tx_pfc_en holds nothing back",
                        d->reg.xon1);
    }
    if (cfg >> (RCL_CFG_DYNAMIC + 1) & 7) {
        rcl_guest_error(d, "12.5", "dynamic limit beside TYPE1", cfg);
    }
    rcl_credit_check(d, UINT8_MAX);
}

/* What the document forbids of flows, but hardware cannot refuse. */
static void flow_check(Rclink *d)
{
    if (flows_share(d)) {
        rcl_guest_error(d, "12.5", "two flows on one VC", d->reg.cfg);
    }
    if (d->port.cbfc) {
        cbfc_check(d);
    }
}

static void set_config(Rclink *d, unsigned i, uint64_t v)
{
    unsigned formats = (v & 1) + (v >> RCL_CFG_GEN1 & 1) +
                       (v >> RCL_CFG_GEN2 & 1) + (v >> RCL_CFG_LITE & 1);

    rcl_regs_decode(d);
    if (formats != 1) {
        rcl_guest_error(d, "12.3", "not one format", v);
    }
    flow_check(d);
    rcl_kick(d);
}

/* Marks and enables of PFC: a port of TYPE3 alone may have no format. */
static void set_flows(Rclink *d, unsigned i, uint64_t v)
{
    rcl_regs_decode(d);
    flow_check(d);
    rcl_kick(d);
}

/* The longest frame may be another: tags, ICRC. */
static void set_sizes(Rclink *d, unsigned i, uint64_t v)
{
    rcl_regs_decode(d);
    if (d->port.cbfc) {
        cbfc_check(d);
    }
    rcl_kick(d);
}

static void set_layout(Rclink *d, unsigned i, uint64_t v)
{
    rcl_regs_decode(d);
    rcl_kick(d);
}

/* Time-out 0 is none: what was sent under it has one from now on, and what was sent with
 * one has none where it becomes 0. */
static void set_retry_timer(Rclink *d, unsigned i, uint64_t v)
{
    rcl_regs_decode(d);
    for (unsigned n = 0; n < d->cfg.qps; n++) {
        rcl_sender_await(d, &d->qp[n]);
    }
    rcl_kick(d);
}

/* ---- TYPE3 ---- */

static RclMdRing *md_of(Rclink *d, unsigned rx)
{
    return rx ? &d->md_rx : &d->md_tx;
}

static bool md_locked(Rclink *d, RclMdRing *r)
{
    if (r->en && !r->reset) {
        rcl_guest_error(d, "12.14.3", "a ring in use was changed", 0);
        return true;
    }
    return false;
}

#define MD_REG(name, field)                                                 \
    static uint64_t get_tx_##name(Rclink *d, unsigned i)                    \
    {                                                                       \
        return d->md_tx.field;                                              \
    }                                                                       \
    static uint64_t get_rx_##name(Rclink *d, unsigned i)                    \
    {                                                                       \
        return d->md_rx.field;                                              \
    }
MD_REG(base, base)
MD_REG(size, size)
MD_REG(head, head)
MD_REG(tail, tail)
#undef MD_REG

static void md_set_base(Rclink *d, RclMdRing *r, uint64_t v)
{
    if (!md_locked(d, r)) {
        if (v % 64) {
            rcl_guest_error(d, "12.2", "alignment of a ring", v);
        }
        r->base = v & ~UINT64_C(63);
    }
}

static void md_set_size(Rclink *d, RclMdRing *r, uint64_t v)
{
    if (!md_locked(d, r)) {
        r->size = v;
        r->head = r->tail = r->cached = 0;
    }
}

static void set_tx_base(Rclink *d, unsigned i, uint64_t v)
{
    md_set_base(d, md_of(d, 0), v);
}

static void set_rx_base(Rclink *d, unsigned i, uint64_t v)
{
    md_set_base(d, md_of(d, 1), v);
}

static void set_tx_size(Rclink *d, unsigned i, uint64_t v)
{
    md_set_size(d, md_of(d, 0), v);
}

static void set_rx_size(Rclink *d, unsigned i, uint64_t v)
{
    md_set_size(d, md_of(d, 1), v);
}

static void set_tx_head(Rclink *d, unsigned i, uint64_t v)
{
    rcl_md_head(d, md_of(d, 0), v);
}

static void set_rx_head(Rclink *d, unsigned i, uint64_t v)
{
    rcl_md_head(d, md_of(d, 1), v);
}

static uint64_t get_dma_ctrl(Rclink *d, unsigned i)
{
    return rcl_md_control_read(d);
}

static void set_dma_ctrl(Rclink *d, unsigned i, uint64_t v)
{
    rcl_md_control(d, v);
}

/* Bit 4 tells that DMA_INTR_ST1 has one, as long as it has (RC Link §12.12.3). */
static void set_st0(Rclink *d, unsigned i, uint64_t v)
{
    if (d->reg.dma_st1) {
        d->reg.dma_st0 |= UINT64_C(1) << RCL_ST0_ABNORMAL;
    }
}

static void set_st1(Rclink *d, unsigned i, uint64_t v)
{
    if (!d->reg.dma_st1) {
        d->reg.dma_st0 &= ~(UINT64_C(1) << RCL_ST0_ABNORMAL);
    }
}

static void set_dma_mask(Rclink *d, unsigned i, uint64_t v)
{
    uint64_t was = d->reg.dma_mask;

    d->reg.dma_mask = v;
    rcl_st0_unmasked(d, was, v);
}

static uint64_t get_tail_up(Rclink *d, unsigned i)
{
    return d->md_tx.tail_up | (uint32_t)d->md_rx.tail_up << 16;
}

static void set_tail_up(Rclink *d, unsigned i, uint64_t v)
{
    d->md_tx.tail_up = v;
    d->md_rx.tail_up = v >> 16;
}

/* ---- QPs ---- */

static uint64_t get_dest_ip(Rclink *d, unsigned i)
{
    RclQp *q = qp_now(d);

    return q->dip | (uint64_t)q->dest_qp << 32;
}

static void set_dest_ip(Rclink *d, unsigned i, uint64_t v)
{
    RclQp *q = qp_now(d);
    uint32_t was = q->dest_qp;

    q->dip = v;
    q->dest_qp = v >> 32;
    if (q->en && q->dest_qp != was) {
        rcl_sender_check(d, q);
    }
}

static uint64_t get_dest_mac(Rclink *d, unsigned i)
{
    return qp_now(d)->dmac;
}

static void set_dest_mac(Rclink *d, unsigned i, uint64_t v)
{
    qp_now(d)->dmac = v;
}

static uint64_t get_sport(Rclink *d, unsigned i)
{
    return qp_now(d)->sport | (uint32_t)qp_now(d)->tx_pkey << 16;
}

static void set_sport(Rclink *d, unsigned i, uint64_t v)
{
    qp_now(d)->sport = v;
    qp_now(d)->tx_pkey = v >> 16;
}

static uint64_t get_control(Rclink *d, unsigned i)
{
    return qp_now(d)->en ? RCL_QP_EN : 0;
}

static void set_control(Rclink *d, unsigned i, uint64_t v)
{
    RclQp *q = qp_now(d);

    if (v & RCL_QP_FREE_BUF) {
        rcl_sender_free(d, q, RCL_ETYPE1);
    }
    if (!(v & RCL_QP_EN) != !q->en) {
        if (q->en) {
            rcl_receiver_forget(d, q);
        }
        rcl_sender_enable(d, q, v & RCL_QP_EN);
    }
}

/* In the order of PSNs below. */
static uint16_t *psn_of(RclQp *q, unsigned which)
{
    uint16_t *const psn[] = {
        &q->una, &q->tx_last, &q->tx_epsn, &q->tx_psn, &q->epsn, &q->max_fwd,
    };

    return psn[which];
}

static void psn_set(Rclink *d, unsigned which, uint64_t v)
{
    RclQp *q = qp_now(d);

    if (q->en || q->slots) {
        rcl_guest_error(d, "12.14.1", "PSN of a QP in use", q->id);
    } else {
        *psn_of(q, which) = v;
    }
}

#define PSN_REG(name, which)                                                \
    static uint64_t get_##name(Rclink *d, unsigned i)                       \
    {                                                                       \
        return *psn_of(qp_now(d), which);                                   \
    }                                                                       \
    static void set_##name(Rclink *d, unsigned i, uint64_t v)               \
    {                                                                       \
        psn_set(d, which, v);                                               \
    }
PSN_REG(una, 0)
PSN_REG(tx_last, 1)
PSN_REG(tx_epsn, 2)
PSN_REG(tx_psn, 3)
PSN_REG(epsn, 4)
PSN_REG(max_fwd, 5)
#undef PSN_REG

static uint64_t get_speed(Rclink *d, unsigned i)
{
    return qp_now(d)->speed;
}

static void set_speed(Rclink *d, unsigned i, uint64_t v)
{
    RclQp *q = qp_now(d);

    if (q->cc_locked) {
        rcl_guest_error(d, "12.15.3", "rate of a QP that was stopped", q->id);
        return;
    }
    q->cc_locked = q->speed && !v;
    rcl_rate_set(d, q, v);
}

static uint64_t get_byte_cnt(Rclink *d, unsigned i)
{
    return qp_now(d)->byte_cnt;
}

static void set_byte_cnt(Rclink *d, unsigned i, uint64_t v)
{
    RclQp *q = qp_now(d);

    /* "All of its CC configuration" (RC Link §12.15.3). */
    if (q->cc_locked) {
        rcl_guest_error(d, "12.15.3", "byte counter of a QP that was stopped",
                        q->id);
        return;
    }
    q->byte_cnt = v;
    rcl_nocnp_sent(d, q, 0);
    rcl_kick(d);
}

static uint64_t get_retry(Rclink *d, unsigned i)
{
    return qp_now(d)->retry | qp_now(d)->rnr << 4;
}

static void set_retry(Rclink *d, unsigned i, uint64_t v)
{
    qp_now(d)->retry = v & 0xf;
    qp_now(d)->rnr = v >> 4;
}

static uint64_t get_rx_pkey(Rclink *d, unsigned i)
{
    return qp_now(d)->rx_pkey;
}

static void set_rx_pkey(Rclink *d, unsigned i, uint64_t v)
{
    qp_now(d)->rx_pkey = v;
}

/* ---- our own ---- */

static uint64_t get_id(Rclink *d, unsigned i)
{
    return i ? RCL_VERSION_VALUE : RCL_ID_VALUE;
}

static void set_window(Rclink *d, unsigned i, uint64_t v)
{
    if (v > 4) {
        rcl_guest_error(d, "12.4", "CC_WINDOW", v);
        return;
    }
    d->reg.cc_window = v;
    rcl_rate_set_window(d, (INT64_C(4096) << v) * d->cfg.time_scale);
}

static void set_nocnp(Rclink *d, unsigned i, uint64_t v)
{
    if (v > 256) {
        rcl_guest_error(d, "12.11.7", "NOCNP interval", v);
        return;
    }
    d->reg.nocnp = v;
    d->nocnp_next = d->now + scaled_us(d, v);
    /* What was sent before is of the first report. */
    for (unsigned n = 0; n < d->cfg.qps; n++) {
        rcl_nocnp_sent(d, &d->qp[n], 0);
    }
    rcl_kick(d);
}

static void set_type2_rate(Rclink *d, unsigned i, uint64_t v)
{
    rcl_rate_set2(d, v);
    rcl_kick(d);
}

static uint64_t get_zero(Rclink *d, unsigned i)
{
    return 0;
}

static void set_soft_reset(Rclink *d, unsigned i, uint64_t v)
{
    rcl_life_reset(d, v);
    /* Room, credits and ends of pauses have to be told, or were waited for. */
    rcl_kick(d);
}

static void set_intr_mask(Rclink *d, unsigned i, uint64_t v)
{
    uint64_t was = d->reg.intr_mask;

    d->reg.intr_mask = v;
    rcl_intr_unmasked(d, was, v);
}

uint64_t rcl_regs_status(const Rclink *d)
{
    uint64_t v = 0;
    bool rx = false;

    for (unsigned f = 0; f < FLOWS; f++) {
        rx |= d->wait[f].head != NULL;
        v |= (uint64_t)(rcl_flow_there(d, f) && rcl_flow_held(d, f))
             << (RCL_STATUS_HELD_SHIFT + f);
    }
    /* Data that wait for a credit of the MAC, and a MAC without any (§12.11). */
    v |= d->wire_stopped && (d->queued || d->used2 || rcl_receiver_owes(d) ||
         rcl_type3_pending(d)) ? RCL_STATUS_WAIT_MAC : 0;
    v |= d->mac_holds || d->out_len ? 0 : RCL_STATUS_MAC_FREE;
    v |= rx ? 0 : RCL_STATUS_RX_IDLE;
    v |= d->free1 == d->cfg.ost1 && !d->used2 && !rcl_receiver_owes(d) &&
         !rcl_type3_pending(d) && !d->out_len ? RCL_STATUS_TX_IDLE : 0;
    v |= d->link ? RCL_STATUS_LINK : 0;
    return v | (uint64_t)d->pfc.want << RCL_STATUS_PFC_TX_SHIFT |
           (uint64_t)d->pfc.paused << RCL_STATUS_PFC_RX_SHIFT;
}

static uint64_t get_status(Rclink *d, unsigned i)
{
    return rcl_regs_status(d);
}

static uint64_t get_free(Rclink *d, unsigned i)
{
    return d->free1 | (uint64_t)(d->cfg.ost2 - d->used2) << 16;
}

/* DFX_CBFC_CF_O: banks 0-3; ACK, TYPE2, TYPE3. */
static uint64_t get_levels(Rclink *d, unsigned i)
{
    uint64_t v = 0;

    for (unsigned f = i * 4; f < MIN(i * 4 + 4, FLOWS); f++) {
        uint32_t left = rcl_credit_left(&d->cbfc.vc[d->port.vc[f]]);

        v |= (uint64_t)MIN(left, UINT16_MAX) << (f - i * 4) * 16;
    }
    return v;
}

static void set_flow_stop(Rclink *d, unsigned i, uint64_t v)
{
    rcl_pfc_update(d);
    rcl_kick(d);
}

static uint64_t get_limits(Rclink *d, unsigned i)
{
    return d->cfg.qps | (uint64_t)d->cfg.vcs << 16 |
           (uint64_t)d->cfg.ost1 << 24 | (uint64_t)d->cfg.ost2 << 36 |
           (uint64_t)d->cfg.payload << 48;
}

static uint64_t get_line_rate(Rclink *d, unsigned i)
{
    return d->cfg.speed;
}

static void set_cbfc_rst(Rclink *d, unsigned i, uint64_t v)
{
    rcl_credit_setup(d, v);
}

static void set_cbfc_reset(Rclink *d, unsigned i, uint64_t v)
{
    if (v) {
        rcl_wait_credits_reset(d);
    }
}

static uint64_t get_multi(Rclink *d, unsigned i)
{
    return MULTI_CELLS - d->multi_used;
}

static void set_multi(Rclink *d, unsigned i, uint64_t v)
{
    if (v) {
        rcl_multi_returned(d);
        rcl_kick(d);
    }
}

static uint64_t get_counter(Rclink *d, unsigned i)
{
    return ((const uint64_t *)&d->cnt)[i];
}

/* ---- the table ---- */

#define KEPT(field) .kept = true, .at = offsetof(RclRegs, field)
#define CALLS(name) .get = get_##name, .set = set_##name
#define QP_REG(name) .qp = true, CALLS(name)

static const RclReg reg_table[] = {
    { RCL_RDMA_EN, .rw = 1, KEPT(rdma_en), .set = set_layout },
    { RCL_XON_THR_RDMA, .rw = REG_BITS(49, 0), KEPT(xon1),
      .set = set_flows },
    { RCL_MAC_ADDR, .rw = UINT64_MAX, KEPT(mac), .set = set_layout },
    { RCL_XON_THR_NON_RDMA, .rw = UINT64_MAX, KEPT(xon3),
      .set = set_layout },
    { RCL_IP_ADDR, .rw = REG_BITS(55, 0), .reset = UINT64_C(64) << 48,
      KEPT(ip), .set = set_layout },
    { RCL_VLAN_CTRL, .rw = UINT64_MAX & ~REG_BITS(3, 2),
      .reset = 0x81000000, KEPT(vlan), .set = set_sizes },
    { RCL_RETRY_TIMER_CFG, .rw = REG_BITS(16, 0), .reset = 7 << 13 | 1000,
      KEPT(retry), .set = set_retry_timer },
    { RCL_INTR_STATUS, .rw = REG_BITS(15, 0), KEPT(intr), .w1c = true },
    { RCL_DEST_IP_MEM2, .rw = REG_BITS(31, 0) | REG_BITS(63, 48),
      KEPT(dest_ip2), .set = set_layout },
    { RCL_DEST_MAC_MEM2, .rw = UINT64_MAX, KEPT(dest_mac2),
      .set = set_layout },
    { RCL_UDP_PORT_MEM2, .rw = REG_BITS(31, 0), KEPT(udp2),
      .set = set_layout },
    { RCL_AFH_CFG_EN, .rw = ~REG_BITS(35, 35),
      .reset = UINT64_C(0x0ff0000000000020), KEPT(cfg), .set = set_config },
    { RCL_TYPE2_DA(0), 8, .rw = MASK48, KEPT(da2) },
    { RCL_TRAFFIC_CLASS, .rw = REG_BITS(47, 0), KEPT(tc),
      .set = set_layout },

    { RCL_TX_MD_HEAD_PTR, .rw = 0xffff, CALLS(tx_head) },
    { RCL_RX_MD_HEAD_PTR, .rw = 0xffff, CALLS(rx_head) },
    { RCL_TX_MD_TAIL_PTR, .get = get_tx_tail },
    { RCL_RX_MD_TAIL_PTR, .get = get_rx_tail },
    { RCL_TX_MDQ_BA, .rw = UINT64_MAX, CALLS(tx_base) },
    { RCL_RX_MDQ_BA, .rw = UINT64_MAX, CALLS(rx_base) },
    { RCL_TX_MDQ_SIZE, .rw = 0xfff, CALLS(tx_size) },
    { RCL_RX_MDQ_SIZE, .rw = 0xfff, CALLS(rx_size) },
    { RCL_NONR_DMA_CTRL, .rw = RCL_NONR_TX_EN | RCL_NONR_RX_EN |
      RCL_NONR_TX_RESET | RCL_NONR_RX_RESET, CALLS(dma_ctrl) },
    { RCL_DMA_INTR_ST0, .rw = REG_BITS(4, 0), KEPT(dma_st0), .w1c = true,
      .set = set_st0 },
    { RCL_DMA_INTR_ST1, .rw = REG_BITS(10, 0), KEPT(dma_st1), .w1c = true,
      .set = set_st1 },
    { RCL_DMA_INT_MASK, .rw = REG_BITS(4, 0), .at = offsetof(RclRegs,
      dma_mask), .set = set_dma_mask },
    { RCL_TAIL_UP_CFG, .rw = REG_BITS(31, 0), CALLS(tail_up) },

    { RCL_DEST_IP_MEM, .rw = REG_BITS(55, 0), QP_REG(dest_ip) },
    { RCL_DEST_MAC_MEM, .rw = MASK48, QP_REG(dest_mac) },
    { RCL_UDP_SRC_PORT_MEM, .rw = REG_BITS(23, 0), QP_REG(sport) },
    { RCL_QP_CONTROL_STATUS, .rw = RCL_QP_EN | RCL_QP_FREE_BUF,
      QP_REG(control) },
    { RCL_EXPECT_RESP_PSN, .rw = PSN_MASK, QP_REG(una) },
    { RCL_TX_LAST_PSN, .rw = PSN_MASK, QP_REG(tx_last) },
    { RCL_TX_EPSN, .rw = PSN_MASK, QP_REG(tx_epsn) },
    { RCL_TX_SPEED_MEM, .rw = REG_BITS(21, 0), QP_REG(speed) },
    { RCL_TX_CC_BYTE_CNT_MEM, .rw = REG_BITS(31, 0), QP_REG(byte_cnt) },
    { RCL_TX_EXPECT_PSN, .rw = PSN_MASK, QP_REG(tx_psn) },
    { RCL_RETRY_CNT_MEM, .rw = REG_BITS(7, 0), QP_REG(retry) },
    { RCL_BTH_QP_CFG_MEM, .rw = REG_BITS(7, 0), QP_REG(rx_pkey) },
    { RCL_RX_REQ_EPSN, .rw = PSN_MASK, QP_REG(epsn) },
    { RCL_MAX_FORWARD_PSN, .rw = PSN_MASK, QP_REG(max_fwd) },
    { RCL_QP_ID_SET, .rw = REG_BITS(31, 0), KEPT(qp_id) },

    { RCL_ID, 2, .get = get_id },
    { RCL_CTRL, .rw = REG_BITS(6, 0), KEPT(ctrl), .set = set_sizes },
    { RCL_CC_WINDOW, .rw = REG_BITS(31, 0), .at = offsetof(RclRegs,
      cc_window), .set = set_window },
    { RCL_CNP_THR, .rw = REG_BITS(31, 0), KEPT(cnp_thr) },
    { RCL_NOCNP, .rw = REG_BITS(31, 0), .at = offsetof(RclRegs, nocnp),
      .set = set_nocnp },
    { RCL_RNR_CODE, .rw = REG_BITS(4, 0), .reset = 1, KEPT(rnr_code) },
    { RCL_TYPE2_RATE, .rw = REG_BITS(21, 0), .at = offsetof(RclRegs,
      type2_rate), .set = set_type2_rate },
    { RCL_SOFT_RESET, .rw = REG_BITS(31, 0), .get = get_zero,
      .set = set_soft_reset },
    { RCL_INTR_MASK, .rw = REG_BITS(15, 0), .at = offsetof(RclRegs,
      intr_mask), .set = set_intr_mask },
    { RCL_STATUS, .get = get_status },
    { RCL_OST_FREE, .get = get_free },
    { RCL_CBFC_LEVEL0, 2, .get = get_levels },
    { RCL_FLOW_STOP, .rw = REG_BITS(4, 0), KEPT(flow_stop),
      .set = set_flow_stop },
    { RCL_ERR_STATUS, .rw = REG_BITS(4, 0), KEPT(err), .w1c = true },
    { RCL_EVENT_MASK, .rw = REG_BITS(8, 1), .reset = REG_BITS(8, 1),
      KEPT(event_mask) },
    { RCL_LIMITS, .get = get_limits },
    { RCL_SPEED, .get = get_line_rate },
    { RCL_IRQ_INFO, KEPT(irq_info) },
    { RCL_MAC_CBFC_CFG(0), VCS, .rw = REG_BITS(41, 0), KEPT(cbfc_cfg) },
    { RCL_CBFC_RST, .rw = REG_BITS(7, 0), .get = get_zero,
      .set = set_cbfc_rst },
    { RCL_CBFC_RESET, .rw = 1, .get = get_zero, .set = set_cbfc_reset },
    { RCL_MULTI_CREDIT, .rw = REG_BITS(31, 0), CALLS(multi) },
    { RCL_COUNTER(0), sizeof(RclCounters) / 8, .get = get_counter },
};

static const RclReg *reg_find(uint64_t off, unsigned *i)
{
    static const RclReg *map[0x4000 / 8];

    if (!map[0]) {
        for (size_t r = G_N_ELEMENTS(reg_table); r--;) {
            for (unsigned n = 0; n < MAX(reg_table[r].count, 1); n++) {
                map[reg_table[r].off / 8 + n] = &reg_table[r];
            }
        }
    }
    if (!map[off / 8]) {
        return NULL;
    }
    *i = (off - map[off / 8]->off) / 8;
    return map[off / 8];
}

void rcl_regs_reset(Rclink *d)
{
    d->reg = (RclRegs) { 0 };
    for (size_t r = 0; r < G_N_ELEMENTS(reg_table); r++) {
        if (reg_table[r].reset) {
            *reg_place(d, &reg_table[r], 0) = reg_table[r].reset;
        }
    }
    d->reg.mac = (uint64_t)get_be16(d->cfg.mac) << 32 |
                 get_be32(d->cfg.mac + 2);
}

bool rcl_regs_right(Rclink *d)
{
    uint64_t odd = 0;

    for (const RclReg *r = reg_table;
         r < reg_table + G_N_ELEMENTS(reg_table); r++) {
        /* Those without a place are not in RclRegs, whose first is RDMA_EN. */
        bool placed = r->kept || r->at;

        for (unsigned i = 0; placed && r->rw && i < MAX(r->count, 1); i++) {
            odd |= *reg_place(d, r, i) & ~r->rw;
        }
    }
    return !odd;
}

static uint64_t reg_value(Rclink *d, const RclReg *r, unsigned i)
{
    if (r->qp && !qp_now(d)) {
        return 0;
    }
    return r->get ? r->get(d, i) : *reg_place(d, r, i);
}

static void reg_store(Rclink *d, const RclReg *r, unsigned i, uint64_t v,
                      uint64_t mask)
{
    uint64_t was = reg_value(d, r, i);

    if (!r->rw) {
        rcl_guest_error(d, "appendix", "read-only register written", r->off);
        return;
    }
    if (r->qp && !qp_now(d)) {
        rcl_guest_error(d, "12.14.1", "QP_ID_SET", d->reg.qp_id);
        return;
    }
    mask &= r->rw;
    if (!mask) {
        return;     /* the half that has nothing */
    }
    v = r->w1c ? was & ~(v & mask) : (was & ~mask) | (v & mask);
    if (r->kept) {
        *reg_place(d, r, i) = v;
    }
    if (r->set) {
        r->set(d, i, v);
    }
}

/* ---- the block of registers ---- */

static bool in_rings(uint64_t addr)
{
    return addr >= RCL_RING(0) && addr < RCL_RING(RCL_RINGS);
}

static uint64_t block_read(Rclink *d, uint64_t addr)
{
    const RclReg *r;
    unsigned i;

    r = addr < 0x4000 ? reg_find(addr, &i) : NULL;
    if (!r) {
        rcl_guest_error(d, "appendix", "no such register", addr);
        return 0;
    }
    return reg_value(d, r, i);
}

uint64_t rclink_read(Rclink *d, uint64_t addr, unsigned size, int64_t now)
{
    unsigned n = (addr - RCL_RING(0)) / 0x40, off = addr % 0x40;
    uint64_t v;

    d->now = now;
    if (in_rings(addr)) {
        v = rcl_ring_read(d, n, off & ~3u);
        return size < 8 ? v : v | (uint64_t)rcl_ring_read(d, n, off + 4) << 32;
    }
    v = block_read(d, addr & ~UINT64_C(7));
    return size == 8 ? v : (uint32_t)(v >> (addr & 4) * 8);
}

void rclink_write(Rclink *d, uint64_t addr, uint64_t val, unsigned size,
                  int64_t now)
{
    unsigned n = (addr - RCL_RING(0)) / 0x40, off = addr % 0x40;
    unsigned shift = (addr & 4) * 8, i;
    const RclReg *r;

    d->now = now;
    if (in_rings(addr)) {
        rcl_ring_write(d, n, off & ~3u, val);
        if (size == 8) {
            rcl_ring_write(d, n, off + 4, val >> 32);
        }
        return;
    }
    r = addr < 0x4000 ? reg_find(addr, &i) : NULL;
    if (!r) {
        rcl_guest_error(d, "appendix", "no such register", addr);
        return;
    }
    d->stencil_qp = NO_SLOT;    /* whatever it was made of */
    if (size == 8) {
        reg_store(d, r, i, val, UINT64_MAX);
    } else {
        reg_store(d, r, i, val << shift, UINT64_C(0xffffffff) << shift);
    }
}
