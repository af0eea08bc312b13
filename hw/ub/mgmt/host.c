/*
 * What a node's software sends through its message queues: headers that it may
 * not choose are overwritten, what wants an answer is remembered.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "internal.h"

/* ---- Headers ---- */

/* Only the UBFM has its partition, but whoever answers it answers in it. */
static void own_headers(UbMgmt *m, UbMgmtAddr *a, bool rsp)
{
    a->scna = ub_mgmt_source(m);
    a->seid = ub_mgmt_reg(m, UB_CFG0_EID) & 0xfffffu;
    a->mgmt = m->cfg.manager && a->mgmt && !rsp;
    if (!a->mgmt && !(rsp && a->upi == UB_MGMT_UPI)) {
        a->upi = ub_mgmt_reg(m, UB_CFG0_UPI);
    } else {
        a->upi = UB_MGMT_UPI;
    }
    a->local |= ub_mgmt_own_cna(m, a->dcna);
    if (a->local) {
        a->dcna = a->scna;
    }
}

/* Remember it; NULL and a rule in *@rule where that cannot be. */
static UbMgmtWait *remember(UbMgmt *m, int64_t now, UbMgmtKind kind,
                            const UbMgmtAddr *a, uint8_t code,
                            const char **rule)
{
    UbMgmtWait *w = NULL;

    if (ub_mgmt_waiter(m, kind, a->queue, a->msn)) {
        *rule = "an MSN that still waits for its answer";
    } else {
        w = ub_mgmt_wait(m, kind, a->queue, a->msn, now + m->cfg.timeout);
        *rule = w ? NULL : "too much without an answer";
    }
    if (w) {
        w->code = code;
        w->to = *a;
        ub_mgmt_count(m, UB_MGMT_CNT_ASKED);
    }
    return w;
}

/* It did not leave the node: it is in vain by the next run. */
static void fail_soon(UbMgmt *m, UbMgmtKind kind, const UbMgmtAddr *a)
{
    UbMgmtWait *w = ub_mgmt_waiter(m, kind, a->queue, a->msn);

    if (w) {
        w->at = INT64_MIN;
    }
}

static void wake(UbMgmt *m)
{
    if (m->ops->kick) {
        m->ops->kick(m->opaque);
    }
}

/* ---- Messages ---- */

static const char *check_message(UbMgmt *m, const UbMgmtAddr *a,
                                 const UbMgmtMessage *row, UbMgmtEtah e,
                                 size_t len)
{
    if (e.len != len - UB_MGMT_ETAH) {
        return "MGMTETAH: PDU Length is not that of the entry";
    }
    if (a->dcna > 0xffff) {
        return "a DCNA of more than 16 bits";
    }
    if (!e.rsp && row && row->taker == UB_MGMT_EVENT && !m->cfg.manager) {
        return "events are the device's to send";
    }
    if (!a->local && !a->upi) {
        return "UPI 0 is no partition: nothing can be sent";
    }
    return NULL;
}

static const char *send_message(UbMgmt *m, int64_t now, UbMgmtAddr *a,
                                const uint8_t *data, size_t len)
{
    UbMgmtEtah e;
    const UbMgmtMessage *row;
    const char *rule;
    UbMgmtWait *w;

    if (len < UB_MGMT_ETAH || len > UB_MGMT_MAX) {
        return "a management message has 4 to 1028 bytes";
    }
    e = ub_mgmt_etah_get(data);
    row = ub_mgmt_message(e.code, e.sub);
    own_headers(m, a, e.rsp);
    rule = check_message(m, a, row, e, len);
    if (rule) {
        return rule;
    }
    if (!e.rsp && !(row && row->taker == UB_MGMT_EVENT)) {
        w = remember(m, now, UB_MGMT_KIND_MESSAGE, a, data[0], &rule);
        if (!w) {
            return rule;
        }
        w->silent = row && row->taker == UB_MGMT_VENDOR;
    }
    if (a->local) {
        ub_mgmt_receive(m, now, a, data, len);
    } else if (!ub_mgmt_send(m, now, a, data, len)) {
        fail_soon(m, UB_MGMT_KIND_MESSAGE, a);
    }
    wake(m);
    return NULL;
}

/* ---- Scans ---- */

static const char *send_scan(UbMgmt *m, int64_t now, UbMgmtAddr *a,
                             uint8_t *data, size_t len)
{
    UbScan s;
    const char *rule = ub_scan_parse(&s, data, len);

    if (rule) {
        return rule;
    }
    if (!m->cfg.manager) {
        return "only the UBFM scans";
    }
    if (s.hops && !s.r) {
        return "Scan Header: a request has a Return Path";
    }
    a->scna = ub_mgmt_source(m);
    a->mgmt = true;
    a->upi = UB_MGMT_UPI;
    a->local = !s.hops;
    ub_mgmt_put(data, UB_MF_SCAN_STEP, 0);
    ub_mgmt_put((uint8_t *)s.pdu, UB_MF_PDU_QUEUE, a->queue);
    ub_mgmt_put((uint8_t *)s.pdu, UB_MF_PDU_MSN, a->msn);
    if (!remember(m, now, UB_MGMT_KIND_SCAN, a,
                  ub_mgmt_get(s.pdu, UB_MF_PDU_CMD), &rule)) {
        return rule;
    }
    if (a->local) {
        ub_mgmt_receive_scan(m, now, a, data, len);
    } else if (!ub_mgmt_send_scan(m, now, ub_scan_hop(s.forward, s.type, 0), a,
                                  data, len)) {
        fail_soon(m, UB_MGMT_KIND_SCAN, a);
    }
    wake(m);
    return NULL;
}

const char *ub_mgmt_host_send(UbMgmt *m, int64_t now, UbMgmtKind kind,
                              UbMgmtAddr *a, uint8_t *data, size_t len)
{
    return kind == UB_MGMT_KIND_SCAN ? send_scan(m, now, a, data, len)
                                     : send_message(m, now, a, data, len);
}

void ub_mgmt_host_forget(UbMgmt *m, unsigned queue)
{
    for (unsigned i = m->waiting; i-- > 0;) {
        if (m->wait[i].queue == queue && !m->wait[i].done) {
            ub_mgmt_wait_end(m, &m->wait[i]);
        }
    }
}
