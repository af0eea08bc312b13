/*
 * Management over the network layer (UB 2.0 §10.4.3.1).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "internal.h"
#include "ub/mgmt_net.h"
#include "ub/net_format.h"

/* ---- Headers ---- */

/* CTPH, UPIH, EIDH and BTAH of a message. */
enum {
    CTPH = 0, UPIH = 1, EIDH = 3, BTAH = 8,
    CTPH_KIND = 0xcf, CTPH_UPIH16 = 2, /* data, UPIH and EIDH of 2 and 5 bytes */
    CTPH_PADDING_SHIFT = 4,
    EE_NORMAL = 0x10,
    BTAH_EXTENDED = 0x09,              /* TV_EN, UD_Flag */
};

void ub_mgmt_head_put(uint8_t *p, UbMgmtKind kind, const UbMgmtAddr *a)
{
    if (kind == UB_MGMT_KIND_SCAN) {
        put_be32(p, (uint32_t)a->upi << 16);
        return;
    }
    p[CTPH] = CTPH_UPIH16;
    put_be16(p + UPIH, a->upi);
    put_be24(p + EIDH, a->seid << 4);
    put_be24(p + EIDH + 2, (a->seid & 0xf) << 20 | (a->deid & 0xfffff));
    p[BTAH] = UB_MGMT_TAOPCODE;
    p[BTAH + 1] = EE_NORMAL;
    put_be16(p + BTAH + 2, a->msn);
    put_be32(p + BTAH + 4, a->queue & 0xfffff);
}

const char *ub_mgmt_head_get(const uint8_t *p, UbMgmtKind kind, UbMgmtAddr *a)
{
    if (kind == UB_MGMT_KIND_SCAN) {
        a->upi = get_be16(p) & 0x7fff;
        return NULL;
    }
    a->upi = get_be16(p + UPIH) & 0x7fff;
    a->seid = get_be24(p + EIDH) >> 4;
    a->deid = get_be24(p + EIDH + 2) & 0xfffff;
    a->msn = get_be16(p + BTAH + 2);
    a->queue = get_be32(p + BTAH + 4) & 0xfffff;
    if ((p[CTPH] & CTPH_KIND) != CTPH_UPIH16) {
        return "CTPH: a message is data, with UPIH and EIDH of 2 and 5 bytes";
    }
    if (p[BTAH] != UB_MGMT_TAOPCODE) {
        return "BTAH: TAOpcode of a message is 0x10";
    }
    return NULL;
}

/* ---- Out ---- */

static bool send_packet(UbNet *net, CorePacketPool *pool, int64_t now,
                        unsigned port, UbMgmtKind kind, const UbMgmtAddr *a,
                        const uint8_t *data, size_t len)
{
    bool scan = kind == UB_MGMT_KIND_SCAN;
    unsigned head = scan ? UB_MGMT_SCAN_HEAD : UB_MGMT_MESSAGE_HEAD;
    unsigned pad = -len & 3;
    CorePacket *pkt = core_packet_alloc(pool, head + len + pad);
    uint8_t *p;
    UbFlow f;

    if (!pkt) {
        return false;
    }
    p = core_packet_data(pkt);
    memset(p, 0, head + len + pad);
    ub_mgmt_head_put(p, kind, a);
    if (!scan) {
        p[CTPH] |= pad << CTPH_PADDING_SHIFT;
    }
    memcpy(p + head, data, len);
    ub_flow_init(&f, UB_LPH_CNA16);
    f.nlp = scan ? UB_NLP_SCAN : UB_NLP_CTPH;
    f.port = port;
    f.scna = a->scna;
    f.dcna = a->dcna;
    f.sl = a->sl;
    f.lbf = a->lbf;
    f.mgmt = a->mgmt;
    switch (ub_net_send(net, now, &f, pkt)) {
    case UB_SENT:
        return true;
    case UB_BUSY:
        core_packet_free(pkt);
        return false;
    default:
        return false;
    }
}

bool ub_mgmt_net_message(UbNet *net, CorePacketPool *pool, int64_t now,
                         const UbMgmtAddr *a, const uint8_t *data, size_t len)
{
    return send_packet(net, pool, now, a->via ? a->via - 1 : UB_NET_ANY,
                       UB_MGMT_KIND_MESSAGE, a, data, len);
}

bool ub_mgmt_net_scan(UbNet *net, CorePacketPool *pool, int64_t now,
                      unsigned port, const UbMgmtAddr *a, const uint8_t *data,
                      size_t len)
{
    return send_packet(net, pool, now, port, UB_MGMT_KIND_SCAN, a, data, len);
}

/* ---- In ---- */

static void rx_packet(UbMgmt *m, int64_t now, CorePacket *pkt,
                      const UbFlow *flow, UbMgmtKind kind)
{
    bool scan = kind == UB_MGMT_KIND_SCAN;
    UbMgmtAddr a = {
        .scna = flow->scna, .dcna = flow->dcna, .sl = flow->sl,
        .lbf = flow->lbf, .mgmt = flow->mgmt,
        .via = flow->port < UB_NET_MAX_PORTS ? flow->port + 1 : 0,
    };
    uint8_t *p = core_packet_pull(pkt, scan ? UB_MGMT_SCAN_HEAD
                                            : UB_MGMT_MESSAGE_HEAD);
    const char *rule = p ? ub_mgmt_head_get(p, kind, &a)
                         : "a management packet shorter than its headers";
    unsigned pad = !rule && !scan ? p[CTPH] >> CTPH_PADDING_SHIFT & 3 : 0;

    if (!rule && !scan && p[BTAH + 1] & BTAH_EXTENDED) {
        rule = "BTAH: a message has neither TVETAH nor UDETAH";
    }
    if (!rule && !core_packet_trim(pkt, pad)) {
        rule = "CTPH: more padding than there is";
    }
    if (rule) {
        ub_mgmt_blame(m, UB_MGMT_CNT_DROP_HEADER, rule);
    } else if (scan) {
        ub_mgmt_receive_scan(m, now, &a, core_packet_data(pkt), pkt->len);
    } else {
        ub_mgmt_receive(m, now, &a, core_packet_data(pkt), pkt->len);
    }
    core_packet_free(pkt);
}

/* Behind IP and UDP, or an NTH that says RTPH, is no CTPH, though it may look like one:
 * borders let in what asks for nothing as a transport packet. */
static bool is_by_ctp(const UbFlow *flow)
{
    return (flow->cfg == UB_LPH_CNA16 || flow->cfg == UB_LPH_CNA24) &&
           flow->nlp == UB_NLP_CTPH;
}

void ub_mgmt_net_rx_message(UbMgmt *m, int64_t now, CorePacket *pkt,
                            const UbFlow *flow)
{
    if (!is_by_ctp(flow)) {
        ub_mgmt_blame(m, UB_MGMT_CNT_DROP_HEADER, "a message that is not by CTP");
        core_packet_free(pkt);
        return;
    }
    rx_packet(m, now, pkt, flow, UB_MGMT_KIND_MESSAGE);
}

void ub_mgmt_net_rx_scan(UbMgmt *m, int64_t now, CorePacket *pkt,
                         const UbFlow *flow)
{
    rx_packet(m, now, pkt, flow, UB_MGMT_KIND_SCAN);
}
