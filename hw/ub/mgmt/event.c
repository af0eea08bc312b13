/*
 * Events of class C: links, slots and errors, told to the UBFM and kept in the error
 * message queues (UB 2.0 §10.3.5, §10.4.3.3, §D.2.4).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "internal.h"

/* ---- Error message queues ---- */

/* Registers of the queue of each severity. */
static const struct {
    uint8_t ctl, status, ci, pi, info;
} emq_regs[] = {
    [UB_MGMT_CE] = { UB_EMQ_CE_CTL, UB_EMQ_CE_STATUS, UB_EMQ_CE_CI,
                     UB_EMQ_CE_PI, UB_EMQ_CE_INFO },
    [UB_MGMT_NFUE] = { UB_EMQ_NFUE_CTL, UB_EMQ_NFUE_STATUS, UB_EMQ_NFUE_CI,
                       UB_EMQ_NFUE_PI, UB_EMQ_NFUE_INFO },
    [UB_MGMT_FUE] = { UB_EMQ_FUE_CTL, UB_EMQ_FUE_STATUS, UB_EMQ_FUE_CI,
                      UB_EMQ_FUE_PI, UB_EMQ_FUE_INFO },
};
#define SEVERITIES G_N_ELEMENTS(emq_regs)

/* The information registers show the entry at CI. */
static void show_ring(UbMgmt *m, unsigned severity)
{
    UbMgmtRing *r = &m->ring[severity];
    bool empty = r->ci == r->pi;

    ub_slice_set(m->emq, emq_regs[severity].ci, ~0u, r->ci);
    ub_slice_set(m->emq, emq_regs[severity].pi, ~0u, r->pi);
    for (unsigned i = 0; i < 2; i++) {
        ub_slice_set(m->emq, emq_regs[severity].info + i, ~0u,
                     empty ? 0 : r->entry[2 * r->ci + i]);
    }
}

static void written_emq(void *opaque, UbSlice *s, const UbSliceWrite *w)
{
    UbMgmt *m = opaque;

    for (unsigned i = 0; i < SEVERITIES; i++) {
        UbMgmtRing *r = &m->ring[i];
        uint32_t used = (r->pi + m->cfg.emq_depth - r->ci) % m->cfg.emq_depth;

        if (w->dw == emq_regs[i].ci) {
            /* Software consumes what there is, and nothing else. */
            if (w->value < m->cfg.emq_depth &&
                (w->value + m->cfg.emq_depth - r->ci) % m->cfg.emq_depth <=
                used) {
                r->ci = w->value;
            }
            show_ring(m, i);
        }
    }
}

static void init_emq(UbMgmt *m)
{
    for (unsigned i = 0; i < SEVERITIES; i++) {
        ub_slice_init(m->emq, emq_regs[i].ctl, UB_EMQ_CE_CTL__CE_QUEUE_DEPTH,
                      UB_SPACE_PUT(UB_EMQ_CE_CTL__CE_QUEUE_DEPTH,
                                   m->cfg.emq_depth));
    }
}

bool ub_mgmt_emq_new(UbMgmt *m)
{
    static const UbSliceOps ops = { written_emq, NULL };

    if (!m->cfg.emq_depth) {
        return true;
    }
    m->emq = ub_space_attach(m->space, UB_SPACE_CFG0, 0, UB_CAP_EMQ, &ops, m);
    if (!m->emq) {
        return false;
    }
    for (unsigned i = 0; i < SEVERITIES; i++) {
        m->ring[i].entry = g_new0(uint32_t, 2 * m->cfg.emq_depth);
    }
    init_emq(m);
    return true;
}

void ub_mgmt_emq_reset(UbMgmt *m)
{
    for (unsigned i = 0; m->emq && i < SEVERITIES; i++) {
        m->ring[i].ci = m->ring[i].pi = 0;
        show_ring(m, i);
    }
}

void ub_mgmt_emq_free(UbMgmt *m)
{
    for (unsigned i = 0; i < SEVERITIES; i++) {
        g_free(m->ring[i].entry);
    }
}

static void emq_put(UbMgmt *m, unsigned severity, const uint8_t *pdu)
{
    UbMgmtRing *r = &m->ring[severity];
    uint32_t next = (r->pi + 1) % MAX(m->cfg.emq_depth, 1);

    if (!m->emq ||
        !(ub_slice_get(m->emq, UB_EMQ_CTL) & 1u << severity) ||
        (ub_slice_get(m->emq, emq_regs[severity].ctl) &
         UB_EMQ_CE_CTL__CE_MASK)) {
        return;
    }
    ub_slice_set(m->emq, emq_regs[severity].status,
                 UB_EMQ_CE_STATUS__CE_DETECTED, ~0u);
    if (next == r->ci) {
        ub_slice_set(m->emq, emq_regs[severity].status,
                     UB_EMQ_CE_STATUS__CE_OVERFLOW, ~0u);
        ub_mgmt_count(m, UB_MGMT_CNT_EMQ_OVERFLOW);
        return;
    }
    r->entry[2 * r->pi] = ub_mgmt_get(pdu, UB_MF_ERROR_CNA);
    r->entry[2 * r->pi + 1] =
        UB_SPACE_PUT(UB_EMQ_CE_INFO__CE_LEVEL, ub_mgmt_get(pdu, UB_MF_ERROR_EL)) |
        UB_SPACE_PUT(UB_EMQ_CE_INFO__CE_SOURCE_PORT_INDEX,
                     ub_mgmt_get(pdu, UB_MF_ERROR_PORT));
    r->pi = next;
    show_ring(m, severity);
}

void ub_mgmt_event(UbMgmt *m, UbMgmtId id, const uint8_t *pdu)
{
    if (id <= UB_MGMT_MSG_ERROR_FUE) {
        emq_put(m, id - UB_MGMT_MSG_ERROR_CE, pdu);
    }
}

/* ---- Events of this node ---- */

/* To the UBFM; to our own software if that is it, or if nobody said who is. */
static void tell(UbMgmt *m, int64_t now, UbMgmtId id, const uint8_t pdu[8])
{
    uint8_t data[UB_MGMT_ETAH + 8];
    uint32_t fm = ub_mgmt_reg(m, UB_CFG0_UBFM_CNA);
    UbMgmtAddr a = {
        .scna = ub_mgmt_source(m), .dcna = fm,
        .seid = ub_mgmt_reg(m, UB_CFG0_EID) & 0xfffffu,
        .deid = ub_mgmt_reg(m, UB_CFG0_UBFM_EID) & 0xfffffu,
        .upi = UB_MGMT_UPI, .msn = ++m->msn,
    };

    ub_mgmt_etah_put(data, (UbMgmtEtah) { .code = id >> 4, .sub = id & 15,
                                          .len = 8 });
    memcpy(data + UB_MGMT_ETAH, pdu, 8);
    ub_mgmt_event(m, id, pdu);
    if (fm && !ub_mgmt_own_cna(m, fm)) {
        ub_mgmt_send(m, now, &a, data, sizeof(data));
    } else if (m->cfg.manager) {
        ub_mgmt_count(m, UB_MGMT_CNT_EVENTS);
        ub_mgmt_to_host(m, &a, data, sizeof(data));
    }
}

/* A port's CNA, or else that of the node. */
static uint32_t event_cna(UbMgmt *m, int port)
{
    uint32_t cna = port >= 0 && m->cfg.port_cna
                   ? ub_mgmt_reg(m, UB_CFG_PORT_BASE(port) + UB_PORT_CNA) : 0;

    return cna ? cna : ub_mgmt_source(m);
}

void ub_mgmt_link(UbMgmt *m, int64_t now, unsigned port, bool up)
{
    uint8_t pdu[8] = { 0 };

    ub_mgmt_put(pdu, UB_MF_LINK_CNA, event_cna(m, port));
    ub_mgmt_put(pdu, UB_MF_LINK_PORT, port);
    tell(m, now, up ? UB_MGMT_MSG_LINK_UP : UB_MGMT_MSG_LINK_DOWN, pdu);
}

void ub_mgmt_plug(UbMgmt *m, int64_t now, unsigned slot, bool button)
{
    uint8_t pdu[8] = { 0 };

    ub_mgmt_put(pdu, UB_MF_PLUG_SLOT, slot);
    tell(m, now, button ? UB_MGMT_MSG_PLUG_BUTTON : UB_MGMT_MSG_PLUG_PRESENCE,
         pdu);
}

void ub_mgmt_error(UbMgmt *m, int64_t now, UbMgmtSeverity severity, int port)
{
    uint8_t pdu[8] = { 0 };

    ub_mgmt_put(pdu, UB_MF_ERROR_CNA, event_cna(m, port));
    ub_mgmt_put(pdu, UB_MF_ERROR_EL, port < 0);
    if (port >= 0) {
        ub_mgmt_put(pdu, UB_MF_ERROR_PORT, port);
    }
    tell(m, now, UB_MGMT_MSG_ERROR_CE + severity, pdu);
}

void ub_mgmt_errors(UbMgmt *m, int64_t now, UbErrors fresh, int port)
{
    const uint32_t by_severity[] = {
        [UB_MGMT_CE] = fresh.ce, [UB_MGMT_NFUE] = fresh.nfue,
        [UB_MGMT_FUE] = fresh.fue,
    };

    for (unsigned i = 0; i < SEVERITIES; i++) {
        if (by_severity[i]) {
            ub_mgmt_error(m, now, i, port);
        }
    }
}
