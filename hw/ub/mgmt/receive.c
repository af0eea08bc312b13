/*
 * What arrives for a node's management (UB 2.0 §10.4.3.1): requests are judged and
 * answered, responses go to who waits for them, scans end here or go on.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "internal.h"

/* ---- Responses ---- */

/* The answer to what was asked, from whom it was asked. */
static bool answers(const UbMgmtWait *w, const UbMgmtAddr *a,
                    const uint8_t *data)
{
    return w->kind == UB_MGMT_KIND_SCAN ||
           ((w->code | 1) == (data[0] | 1) &&
            (a->local || !w->to.dcna || a->scna == w->to.dcna));
}

void ub_mgmt_answered(UbMgmt *m, UbMgmtKind kind, const UbMgmtAddr *a,
                      const uint8_t *data, size_t len)
{
    UbMgmtWait *w = ub_mgmt_waiter(m, kind, a->queue, a->msn);
    UbMgmtDone *done;
    void *opaque;
    UbScan s;

    if (!w || !answers(w, a, data)) {
        ub_mgmt_blame(m, UB_MGMT_CNT_DROP_UNASKED,
                      "a response that nobody waits for");
        return;
    }
    done = w->done;
    opaque = w->opaque;
    if (!done) {
        if (!m->ops->deliver(m->opaque, a->queue, kind, a, data, len)) {
            /* It is in vain by the time that there is room. */
            ub_mgmt_count(m, UB_MGMT_CNT_DROP_NO_QUEUE);
            return;
        }
        ub_mgmt_wait_end(m, w);
    } else if (kind == UB_MGMT_KIND_MESSAGE) {
        ub_mgmt_wait_end(m, w);
        done(opaque, data + UB_MGMT_ETAH, len - UB_MGMT_ETAH,
             ub_mgmt_get(data, UB_MF_ETAH_STATUS));
    } else {
        ub_mgmt_wait_end(m, w);
        ub_scan_parse(&s, data, len);
        done(opaque, s.pdu, s.pdu_len, ub_mgmt_get(s.pdu, UB_MF_PDU_STATUS));
    }
    ub_mgmt_count(m, UB_MGMT_CNT_RESPONSES);
}

/* ---- Requests ---- */

/* Whether the DEID is that of an Entity or a bus instance, and its partition; or
 * none yet, and Entity 0's: the UBFM has to begin. */
static bool find_target(UbMgmt *m, const UbMgmtAddr *a, uint32_t *upi)
{
    const UbBusInstance *b;
    int entity;

    *upi = ub_mgmt_reg(m, UB_CFG0_UPI);
    if (a->local || (a->mgmt && !a->deid)) {
        return true;
    }
    entity = ub_mgmt_entity_of(m, a->deid);
    if (entity >= 0) {
        *upi = ub_space_read(ub_mgmt_entity(m, entity), UB_CFG0_UPI);
        return true;
    }
    b = ub_mgmt_instance_of(m, a->deid);
    if (b) {
        *upi = b->upi;
    }
    return b;
}

/* Each Entity is in a partition of its own, and judged by it; a configuration
 * message names its Entity by number (§10.4.1, §10.4.3.3). */
static bool of_partition(UbMgmt *m, const UbMgmtCall *c)
{
    const UbMgmtAddr *a = c->from;
    UbSpace *space = NULL;
    uint32_t upi;

    if (a->mgmt || a->local) {
        return true;
    }
    find_target(m, a, &upi);
    if (ub_mgmt_is_config(c->row) && c->len == c->row->longest) {
        space = ub_mgmt_entity(m, ub_mgmt_get(c->pdu, UB_MF_CFG_ENTITY));
    }
    if (space) {
        upi = ub_space_read(space, UB_CFG0_UPI);
    }
    return upi && a->upi == upi;
}

/* What is wrong with a request before anything is done, or OK. */
static UbMgmtStatus judge(UbMgmt *m, const UbMgmtCall *c, UbMgmtEtah e)
{
    const UbMgmtMessage *row = c->row;
    const UbMgmtAddr *a = c->from;
    uint32_t upi;

    if (e.len != c->len) {
        return UB_MGMT_BAD_LENGTH;
    }
    if (!row) {
        return UB_MGMT_BAD_CODE;
    }
    if (e.len < row->shortest || e.len > row->longest) {
        return UB_MGMT_BAD_LENGTH;
    }
    if (!find_target(m, a, &upi)) {
        return UB_MGMT_NO_TARGET;
    }
    if (!of_partition(m, c) || (row->right == UB_MGMT_MANAGER && !a->mgmt)) {
        return UB_MGMT_OVERREACH;
    }
    if (row->right == UB_MGMT_READER && !a->mgmt) {
        return UB_MGMT_NO_PERMISSION;
    }
    return UB_MGMT_OK;
}

/* A vendor's message begins with a part of the GUID of its sender, which is of
 * the same kind as we are (§10.4.3.3). */
static UbMgmtStatus check_vendor(UbMgmt *m, const UbMgmtCall *c)
{
    UbId guid = ub_mgmt_reg_id(m->space, UB_CFG0_GUID);

    return c->row->id != UB_MGMT_MSG_VDM_VENDOR ||
           ub_mgmt_get(c->pdu, UB_MF_VENDOR_VENDOR) == guid.w[3] >> 16
           ? UB_MGMT_OK : UB_MGMT_BAD_PARAMETER;
}

/* The response goes where the request came from.  It is not the UBFM's, so
 * that it has no Mgmt, but it is of the partition of the request. */
static void respond(UbMgmt *m, UbMgmtCall *c, UbMgmtEtah e, uint8_t *data)
{
    UbMgmtAddr to = *c->from;

    to.scna = c->from->dcna;
    to.dcna = c->from->scna;
    to.seid = c->from->deid;
    to.deid = c->from->seid;
    to.mgmt = false;
    e.rsp = true;
    e.len = e.status == UB_MGMT_OK ? c->out_len : 0;
    ub_mgmt_etah_put(data, e);
    if (e.status != UB_MGMT_OK) {
        ub_mgmt_count(m, UB_MGMT_CNT_REFUSED);
    }
    if (to.local) {
        ub_mgmt_answered(m, UB_MGMT_KIND_MESSAGE, &to, data,
                         UB_MGMT_ETAH + e.len);
    } else {
        ub_mgmt_send(m, c->now, &to, data, UB_MGMT_ETAH + e.len);
    }
}

static void take_event(UbMgmt *m, const UbMgmtCall *c, UbMgmtEtah e,
                       const uint8_t *data, size_t len)
{
    /* Events come in the partition of the UBFM, or in our own. */
    if (c->from->upi != UB_MGMT_UPI && !of_partition(m, c)) {
        ub_mgmt_blame(m, UB_MGMT_CNT_DROP_EVENT,
                      "an event of another partition");
        return;
    }
    if (e.len != len - UB_MGMT_ETAH || e.len != c->row->longest) {
        ub_mgmt_blame(m, UB_MGMT_CNT_DROP_EVENT, "an event of wrong length");
        return;
    }
    ub_mgmt_count(m, UB_MGMT_CNT_EVENTS);
    ub_mgmt_event(m, c->row->id, c->pdu);
    ub_mgmt_to_host(m, c->from, data, len);
}

static void take_request(UbMgmt *m, UbMgmtCall c, UbMgmtEtah e,
                         const uint8_t *data, size_t len)
{
    uint8_t out[UB_MGMT_MAX] = { 0 };

    c.out = out + UB_MGMT_ETAH;
    if (e.status == UB_MGMT_OK && c.row->taker == UB_MGMT_BY_DEVICE) {
        e.status = ub_mgmt_handler(c.row->id)(m, &c);
    } else if (e.status == UB_MGMT_OK) {
        e.status = check_vendor(m, &c);
        if (e.status == UB_MGMT_OK) {
            if (ub_mgmt_to_host(m, c.from, data, len)) {
                return; /* its software answers */
            }
            e.status = UB_MGMT_NO_RESOURCE;
        }
    }
    if (!c.mute) {
        respond(m, &c, e, out);
    }
}

void ub_mgmt_receive(UbMgmt *m, int64_t now, const UbMgmtAddr *a,
                     const uint8_t *data, size_t len)
{
    UbMgmtCall c = { .now = now, .from = a };
    UbMgmtEtah e;

    if (len < UB_MGMT_ETAH || len > UB_MGMT_MAX) {
        ub_mgmt_blame(m, UB_MGMT_CNT_DROP_SHORT,
                      "a management message has 4 to 1028 bytes");
        return;
    }
    e = ub_mgmt_etah_get(data);
    if (e.rsp) {
        ub_mgmt_answered(m, UB_MGMT_KIND_MESSAGE, a, data, len);
        return;
    }
    c.row = ub_mgmt_message(e.code, e.sub);
    c.pdu = data + UB_MGMT_ETAH;
    c.len = len - UB_MGMT_ETAH;
    if (a->mgmt && a->upi != UB_MGMT_UPI) {
        ub_mgmt_blame(m, UB_MGMT_CNT_DROP_UPI,
                      "Mgmt with a UPI that is not the UBFM's");
        return;
    }
    if (c.row && c.row->taker == UB_MGMT_EVENT) {
        take_event(m, &c, e, data, len);
        return;
    }
    if (!of_partition(m, &c) && m->cfg.drop_foreign_upi) {
        ub_mgmt_blame(m, UB_MGMT_CNT_DROP_UPI, "a request of another partition");
        return;
    }
    ub_mgmt_count(m, UB_MGMT_CNT_REQUESTS);
    e.status = judge(m, &c, e);
    take_request(m, c, e, data, len);
}

/* ---- Scans ---- */

/* The answer goes by the way that the request brought along. */
static void answer_scan(UbMgmt *m, int64_t now, const UbMgmtAddr *a,
                        const UbScan *s)
{
    uint8_t out[UB_SCAN_MAX] = { 0 };
    unsigned head = UB_SCAN_HEADER + s->path, len;
    UbMgmtAddr to = *a;

    ub_mgmt_put(out, UB_MF_SCAN_TYPE, s->type);
    ub_mgmt_put(out, UB_MF_SCAN_HOPS, s->hops);
    if (s->back) {
        memcpy(out + UB_SCAN_HEADER, s->back, s->path);
    }
    len = head + ub_mgmt_scan_answer(m, now, s, out + head);
    ub_mgmt_count(m, UB_MGMT_CNT_SCANS);
    if (ub_mgmt_get(out + head, UB_MF_PDU_STATUS) != UB_MGMT_OK) {
        ub_mgmt_count(m, UB_MGMT_CNT_REFUSED);
    }
    to.scna = a->dcna;
    to.dcna = a->scna;
    to.mgmt = false;
    if (a->local) {
        ub_mgmt_answered(m, UB_MGMT_KIND_SCAN, &to, out, len);
    } else {
        ub_mgmt_send_scan(m, now, ub_scan_hop(s->back, s->type, 0), &to, out,
                          len);
    }
}

static void end_scan(UbMgmt *m, int64_t now, const UbMgmtAddr *a,
                     const UbScan *s, const uint8_t *data, size_t len)
{
    UbMgmtAddr from = *a;

    if (!s->r && !a->local) {
        from.queue = ub_mgmt_get(s->pdu, UB_MF_PDU_QUEUE);
        from.msn = ub_mgmt_get(s->pdu, UB_MF_PDU_MSN);
        ub_mgmt_answered(m, UB_MGMT_KIND_SCAN, &from, data, len);
    } else if (!a->mgmt) {
        ub_mgmt_blame(m, UB_MGMT_CNT_DROP_UPI, "a scan that is not the UBFM's");
    } else {
        answer_scan(m, now, a, s);
    }
}

void ub_mgmt_receive_scan(UbMgmt *m, int64_t now, const UbMgmtAddr *a,
                          uint8_t *data, size_t len)
{
    UbScan s;
    unsigned out = 0;
    const char *rule = ub_scan_parse(&s, data, len);

    if (rule) {
        ub_mgmt_blame(m, UB_MGMT_CNT_DROP_SCAN, rule);
        return;
    }
    if (a->upi != UB_MGMT_UPI) {
        ub_mgmt_blame(m, UB_MGMT_CNT_DROP_UPI,
                      "a scan with a UPI that is not the UBFM's");
        return;
    }
    if (a->local) {
        end_scan(m, now, a, &s, data, len);
        return;
    }
    switch (ub_scan_advance(&s, data, &out)) {
    case UB_SCAN_HERE:
        end_scan(m, now, a, &s, data, len);
        break;
    case UB_SCAN_FORWARD:
        if (!m->cfg.forward) {
            ub_mgmt_count(m, UB_MGMT_CNT_DROP_NO_FORWARD);
        } else if (ub_mgmt_send_scan(m, now, out, a, data, len)) {
            ub_mgmt_count(m, UB_MGMT_CNT_SCANS_FORWARDED);
        }
        break;
    case UB_SCAN_ASTRAY:
        ub_mgmt_blame(m, UB_MGMT_CNT_DROP_ASTRAY,
                      "Scan Header: Step is not below Hops");
        break;
    }
}
