/*
 * What is asked of other nodes by calls: sent again when its time is over, until
 * an answer is here or it was tried often enough.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "internal.h"

/* Send, or send again, what is asked. */
static void launch(UbMgmt *m, int64_t now, UbMgmtKind kind, uint16_t msn)
{
    UbMgmtWait *w = ub_mgmt_waiter(m, kind, UB_MGMT_OWN_QUEUE, msn);
    /* An answer on the spot ends the wait; what is sent outlives it. */
    UbMgmtAddr to = w->to;
    size_t len = w->len;
    g_autofree uint8_t *data = g_memdup2(w->data, len);

    if (to.local && kind == UB_MGMT_KIND_SCAN) {
        ub_mgmt_receive_scan(m, now, &to, data, len);
    } else if (to.local) {
        ub_mgmt_receive(m, now, &to, data, len);
    } else if (kind == UB_MGMT_KIND_SCAN) {
        ub_mgmt_send_scan(m, now, w->port, &to, data, len);
    } else {
        ub_mgmt_send(m, now, &to, data, len);
    }
}

static bool ask(UbMgmt *m, int64_t now, UbMgmtKind kind, const UbMgmtAddr *to,
                unsigned port, const uint8_t *data, size_t len,
                UbMgmtDone *done, void *opaque)
{
    UbMgmtWait *w = ub_mgmt_wait(m, kind, UB_MGMT_OWN_QUEUE, to->msn,
                                 now + m->cfg.timeout);

    if (!w) {
        return false;
    }
    w->done = done;
    w->opaque = opaque;
    w->left = m->cfg.tries - 1;
    w->port = port;
    w->to = *to;
    w->code = data[0];
    w->data = g_memdup2(data, len);
    w->len = len;
    ub_mgmt_count(m, UB_MGMT_CNT_ASKED);
    launch(m, now, kind, to->msn);
    if (m->ops->kick) {
        m->ops->kick(m->opaque);
    }
    return true;
}

/* The next MSN that nobody waits for: there are more than may be asked. */
static uint16_t next_msn(UbMgmt *m, UbMgmtKind kind)
{
    do {
        m->msn++;
    } while (ub_mgmt_waiter(m, kind, UB_MGMT_OWN_QUEUE, m->msn));
    return m->msn;
}

bool ub_mgmt_request(UbMgmt *m, int64_t now, const UbMgmtAddr *to, UbMgmtId id,
                     const uint8_t *pdu, size_t len, UbMgmtDone *done,
                     void *opaque)
{
    uint8_t data[UB_MGMT_MAX];
    UbMgmtAddr a = *to;

    if (len > UB_MGMT_PDU_MAX) {
        return false;
    }
    ub_mgmt_etah_put(data, (UbMgmtEtah) { .code = id >> 4, .sub = id & 15,
                                          .len = len });
    if (len) {
        memcpy(data + UB_MGMT_ETAH, pdu, len);
    }
    a.scna = ub_mgmt_source(m);
    a.seid = ub_mgmt_reg(m, UB_CFG0_EID) & 0xfffffu;
    a.upi = a.mgmt ? UB_MGMT_UPI : ub_mgmt_reg(m, UB_CFG0_UPI);
    a.local |= ub_mgmt_own_cna(m, a.dcna);
    a.queue = UB_MGMT_OWN_QUEUE;
    a.msn = next_msn(m, UB_MGMT_KIND_MESSAGE);
    return ask(m, now, UB_MGMT_KIND_MESSAGE, &a, 0, data, UB_MGMT_ETAH + len,
               done, opaque);
}

/* ---- Registers ---- */

static bool access_register(UbMgmt *m, int64_t now, const UbMgmtAddr *to,
                            UbMgmtId cfg0, UbMgmtId cfg1, unsigned entity,
                            uint32_t dw, uint32_t value, uint8_t byte_en,
                            UbMgmtDone *done, void *opaque)
{
    bool first = dw < UB_CFG1_BASE || dw >= UB_CFG_PORT_BASE(0);
    uint8_t pdu[16] = { 0 };

    ub_mgmt_put(pdu, UB_MF_CFG_ENTITY, entity);
    ub_mgmt_put(pdu, UB_MF_CFG_BYTE_EN, byte_en);
    ub_mgmt_put(pdu, UB_MF_CFG_ADDRESS, dw);
    ub_mgmt_put(pdu, UB_MF_CFG_DATA, value);
    return ub_mgmt_request(m, now, to, first ? cfg0 : cfg1, pdu, sizeof(pdu),
                           done, opaque);
}

bool ub_mgmt_read(UbMgmt *m, int64_t now, const UbMgmtAddr *to,
                  unsigned entity, uint32_t dw, UbMgmtDone *done, void *opaque)
{
    return access_register(m, now, to, UB_MGMT_MSG_CFG0_READ,
                           UB_MGMT_MSG_CFG1_READ, entity, dw, 0, 0xf, done,
                           opaque);
}

bool ub_mgmt_write(UbMgmt *m, int64_t now, const UbMgmtAddr *to,
                   unsigned entity, uint32_t dw, uint32_t value,
                   uint8_t byte_en, UbMgmtDone *done, void *opaque)
{
    return access_register(m, now, to, UB_MGMT_MSG_CFG0_WRITE,
                           UB_MGMT_MSG_CFG1_WRITE, entity, dw, value, byte_en,
                           done, opaque);
}

/* ---- Scans ---- */

bool ub_mgmt_scan(UbMgmt *m, int64_t now, const UbScanWay *way,
                  const UbScanAsk *req, UbMgmtDone *done, void *opaque)
{
    uint8_t data[UB_SCAN_MAX];
    unsigned len = ub_scan_put(data, way, req);
    UbMgmtAddr a = {
        .scna = ub_mgmt_source(m), .upi = UB_MGMT_UPI, .mgmt = true,
        .local = !way->hops, .queue = UB_MGMT_OWN_QUEUE,
        .msn = next_msn(m, UB_MGMT_KIND_SCAN),
    };
    UbScan s;
    uint8_t *pdu;

    if (!len) {
        return false;
    }
    ub_scan_parse(&s, data, len);
    pdu = data + (s.pdu - data);
    ub_mgmt_put(pdu, UB_MF_PDU_QUEUE, a.queue);
    ub_mgmt_put(pdu, UB_MF_PDU_MSN, a.msn);
    return ask(m, now, UB_MGMT_KIND_SCAN, &a, way->hops ? way->forward[0] : 0,
               data, len, done, opaque);
}

/* ---- Time ---- */

/* Its time is over: once more, or in vain.  Whether it is gone. */
static bool time_out(UbMgmt *m, int64_t now, UbMgmtWait *w)
{
    UbMgmtWait gone = *w;

    if (gone.done && gone.left) {
        w->left--;
        w->at = now + m->cfg.timeout;
        ub_mgmt_count(m, UB_MGMT_CNT_RETRIES);
        launch(m, now, gone.kind, gone.msn);
        return true;
    }
    if (!gone.done && !gone.silent) {
        if (!m->ops->failed(m->opaque, gone.queue, gone.kind, gone.msn,
                            gone.code)) {
            w->over = true;
            return false;
        }
    }
    ub_mgmt_wait_end(m, w);
    ub_mgmt_count(m, UB_MGMT_CNT_TIMEOUTS);
    if (gone.done) {
        gone.done(gone.opaque, NULL, 0, UB_MGMT_UNKNOWN);
    }
    return true;
}

int64_t ub_mgmt_run(UbMgmt *m, int64_t now)
{
    int64_t next = INT64_MAX;
    unsigned i = 0;

    while (i < m->waiting) {
        UbMgmtWait *w = &m->wait[i];

        if ((w->over || w->at <= now) && time_out(m, now, w)) {
            /* Others may have moved, come and gone. */
            next = INT64_MAX;
            i = 0;
            continue;
        }
        if (!w->over) {
            next = MIN(next, w->at);
        }
        i++;
    }
    return next;
}
