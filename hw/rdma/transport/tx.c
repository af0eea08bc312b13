/*
 * Frames out: headers, checksums, batches.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "internal.h"

static uint8_t *tx_slot(RdmaDev *dev)
{
    if (dev->tx_n == TX_BATCH) {
        tx_flush(dev);
    }
    return dev->tx_buf + dev->tx_used + RDMA_TX_HEADROOM;
}

void tx_flush(RdmaDev *dev)
{
    unsigned n = dev->tx_n;

    if (!n) {
        return;
    }
    dev->tx_n = 0;
    dev->tx_used = 0;
    for (unsigned i = 0; i < n; i++) {
        dev->cnt.tx_bytes += dev->iov[i].iov_len;
    }
    dev->cnt.tx_frames += n;
    if (!dev->port.link_up ||
        !dev_ops(dev)->wire_tx(dev->cfg.ops_opaque, dev->iov, n)) {
        dev->cnt.tx_dropped += n;
    }
}

void tx_wire(RdmaDev *dev, const uint8_t *frame, size_t len)
{
    uint8_t *s = tx_slot(dev);

    if (frame != s) {
        memcpy(s, frame, len);
    }
    dev->iov[dev->tx_n].iov_base = s;
    dev->iov[dev->tx_n].iov_len = len;
    dev->tx_n++;
    dev->tx_used += RDMA_TX_HEADROOM + len;
}

uint8_t *tx_begin(RdmaDev *dev, const Path *path)
{
    return tx_slot(dev) + ROCE_NET_BYTES;
}

void tx_end(RdmaDev *dev, const Path *path, uint8_t *bth, uint32_t len,
            uint32_t flow)
{
    const RdmaConfig *cfg = &dev->cfg;
    uint8_t *frame = bth - ROCE_NET_BYTES;
    uint8_t *ip = frame + ROCE_ETH_BYTES, *udp = ip + ROCE_IP_BYTES;
    uint32_t udp_len = ROCE_UDP_BYTES + len + (cfg->icrc ? 4 : 0);
    uint32_t total = ROCE_NET_BYTES - ROCE_UDP_BYTES + udp_len;
    uint16_t sport = cfg->udp_sport;
    uint8_t field[4];

    memcpy(frame, path->hdr, ROCE_NET_BYTES);
    put_be16(ip + 2, ROCE_IP_BYTES + udp_len);
    put_be16(ip + 4, dev->ip_id);
    memcpy(field, ip + 2, 4);
    put_be16(ip + 10, core_csum_done(core_csum_add(path->ip_sum, field, 4)));
    dev->ip_id++;
    if (!sport) {
        /* Dynamic ports, one per flow (IB 1.3 A17.4.5.2). */
        sport = 0xc000 | ((flow ^ flow >> 14) & 0x3fff);
    }
    put_be16(udp, sport);
    put_be16(udp + 2, ROCE_UDP_PORT);
    put_be16(udp + 4, udp_len);
    put_be16(udp + 6, 0);
    if (cfg->icrc) {
        put_le32(bth + len, roce_icrc(ip, ROCE_IP_BYTES + ROCE_UDP_BYTES +
                                          len));
    }
    if (cfg->udp_csum) {
        const uint8_t pseudo[] = { 0, 17, udp_len >> 8, udp_len };
        uint64_t sum = core_csum_add(0, ip + 12, 8);
        uint16_t c;

        sum = core_csum_add(sum, pseudo, sizeof(pseudo));
        c = core_csum_done(core_csum_add(sum, udp, udp_len));
        put_be16(udp + 6, c ? c : 0xffff);
    }
    if (dev_ops(dev)->packet) {
        dev_ops(dev)->packet(cfg->ops_opaque, true, bth[0], bth_dqpn(bth),
                             bth_psn(bth), len - bth_pad(bth) -
                             roce_ops[bth[0]].hdr_len);
    }
    if (path->loop) {
        loop_put(dev, frame, total);
        return;
    }
    if (path->mcast && mcast_own(dev, path->dip)) {
        loop_put(dev, frame, total);
    }
    if (dev->fault_out.on) {
        fault_tx(dev, frame, total);
    } else {
        tx_wire(dev, frame, total);
    }
}
