/*
 * Frames in: every header and length is checked before anything is believed;
 * then the packet goes to the queue pair that it names (RDMA
 * chapter 5).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "internal.h"

/* Headers up to UDP.  Returns the bytes from the BTH on, 0 = not for us. */
static uint32_t check_net(RdmaDev *dev, const uint8_t *frame, size_t len,
                          RxPacket *pkt)
{
    const uint8_t *ip = frame + ROCE_ETH_BYTES, *udp = ip + ROCE_IP_BYTES;
    uint32_t total, udp_len;

    if (len < ROCE_NET_BYTES) {
        dev->cnt.rx_short++;
        return 0;
    }
    total = get_be16(ip + 2);
    udp_len = get_be16(udp + 4);
    if (total > len - ROCE_ETH_BYTES || total < ROCE_IP_BYTES + udp_len ||
        !core_csum_ipv4_right(ip)) {
        dev->cnt.rx_bad_ip++;
        return 0;
    }
    if (udp_len < ROCE_UDP_BYTES + ROCE_BTH_BYTES +
                  (dev->cfg.icrc ? ROCE_ICRC_BYTES : 0)) {
        dev->cnt.rx_short++;
        return 0;
    }
    if (get_be16(udp + 6) || dev->cfg.udp_csum_need) {
        const uint8_t pseudo[] = { 0, 17, udp_len >> 8, udp_len };
        uint64_t sum = core_csum_add(0, ip + 12, 8);

        sum = core_csum_add(sum, pseudo, sizeof(pseudo));
        if (core_csum_done(core_csum_add(sum, udp, udp_len))) {
            dev->cnt.rx_bad_udp++;
            return 0;
        }
    }
    pkt->eth = frame;
    pkt->ip = ip;
    pkt->bth = udp + ROCE_UDP_BYTES;
    pkt->sip = get_be32(ip + 12);
    pkt->dip = get_be32(ip + 16);
    pkt->mcast = pkt->dip >> 28 == 0xe;
    if (!pkt->mcast && pkt->dip != 0xffffffff && !dev->cfg.accept_any_ip &&
        !net_is_own(dev, pkt->dip)) {
        dev->cnt.rx_not_ours++;
        return 0;
    }
    return udp_len - ROCE_UDP_BYTES;
}

/* ICRC, BTH and the length of what follows. */
static bool check_bth(RdmaDev *dev, RxPacket *pkt, uint32_t len)
{
    const uint8_t *bth = pkt->bth;
    unsigned pad = bth_pad(bth);

    if (dev->cfg.icrc) {
        len -= ROCE_ICRC_BYTES;
        if (dev->cfg.icrc_check &&
            roce_icrc(pkt->ip, ROCE_IP_BYTES + ROCE_UDP_BYTES + len) !=
            get_le32(bth + len)) {
            dev->cnt.rx_bad_icrc++;
            return false;
        }
    }
    pkt->opcode = bth_opcode(bth);
    pkt->op = &roce_ops[pkt->opcode];
    if (!pkt->op->name || bth_tver(bth)) {
        dev->cnt.rx_bad_bth++;
        return false;
    }
    if (len < pkt->op->hdr_len + pad || (len & 3) ||
        ((len - pkt->op->hdr_len) && !(pkt->op->flags & ROCE_F_PAYLOAD))) {
        dev->cnt.rx_length++;
        return false;
    }
    pkt->payload = bth + pkt->op->hdr_len;
    pkt->paylen = len - pkt->op->hdr_len - pad;
    pkt->dqpn = bth_dqpn(bth);
    pkt->psn = bth_psn(bth);
    return true;
}

static RdmaQp *find_qp(RdmaDev *dev, uint32_t qpn)
{
    RdmaQp *qp;

    if (qpn < G_N_ELEMENTS(dev->alias) && dev->alias[qpn]) {
        return dev->alias[qpn];
    }
    qp = core_table_get(&dev->qps, qpn);
    return qp && (dev->cfg.qpn_wrap || qp->qpn == qpn) ? qp : NULL;
}

static bool pkey_match(uint16_t a, uint16_t b)
{
    return (a & 0x7fff) == (b & 0x7fff) && ((a | b) & 0x8000);
}

/* P_Key of the QP; a general services QP takes any of the table. */
static bool pkey_of(RdmaQp *qp, RxPacket *pkt)
{
    RdmaDev *dev = qp->dev;
    uint16_t pkey = bth_pkey(pkt->bth);

    pkt->pkey_index = qp->attr.pkey_index;
    if (!dev->cfg.pkey_check || qp == dev->alias[0]) {
        return true;
    }
    if (qp->attr.special) {
        for (int i = 0; i < dev->port.num_pkeys; i++) {
            if (pkey_match(pkey, dev->port.pkey[i])) {
                pkt->pkey_index = i;
                return true;
            }
        }
        return !dev->port.num_pkeys;
    }
    return pkey_match(pkey, qp_pkey(qp));
}

bool rx_pkey_fits(RdmaQp *qp, RxPacket *pkt)
{
    bool fits = pkey_of(qp, pkt);

    qp->dev->cnt.rx_pkey += !fits;
    return fits;
}

static void to_qp(RdmaDev *dev, RxPacket *pkt)
{
    RdmaQp *qp = find_qp(dev, pkt->dqpn);
    RdmaQpState s;

    if (!qp) {
        dev->cnt.rx_no_qp++;
        return;
    }
    s = qp->attr.state;
    if (!qp_receives(qp)) {
        dev->cnt.rx_qp_state++;
        return;
    }
    if (ROCE_OP_SERVICE(pkt->opcode) != qp->attr.service) {
        dev->cnt.rx_opcode++;
        return;
    }
    if (!rx_pkey_fits(qp, pkt)) {
        return;
    }
    if (dev->cfg.source_check && qp->attr.service != RDMA_UD &&
        pkt->sip != net_peer_ip(qp)) {
        dev->cnt.rx_source++;   /* IB 1.3 §9.6.1.5 */
        return;
    }
    if (dev_ops(dev)->packet) {
        dev_ops(dev)->packet(dev->cfg.ops_opaque, false, pkt->opcode,
                             pkt->dqpn, pkt->psn, pkt->paylen);
    }
    if (pkt->op->flags & ROCE_F_REQUEST) {
        resp_rx(qp, pkt);
    } else if (s == RDMA_QPS_RTS || s == RDMA_QPS_SQD) {
        comp_rx(qp, pkt);
    } else {
        dev->cnt.rx_qp_state++;
    }
}

void rx_frame(RdmaDev *dev, const uint8_t *frame, size_t len, bool wire)
{
    RxPacket pkt = { 0 };
    uint32_t n = check_net(dev, frame, len, &pkt);

    if (!n || !check_bth(dev, &pkt, n)) {
        return;
    }
    dev->cnt.rx_frames++;
    dev->cnt.rx_bytes += len;
    if (wire) {
        if (net_is_own(dev, pkt.sip) && pkt.mcast) {
            return;             /* our own multicast, reflected */
        }
        net_learn(dev, pkt.sip, frame + 6);
    }
    if (pkt.mcast) {
        mcast_rx(dev, &pkt);
    } else {
        to_qp(dev, &pkt);
    }
}
