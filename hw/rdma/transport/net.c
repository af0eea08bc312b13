/*
 * Addresses: how a RdmaAv becomes Ethernet, IPv4 and UDP headers, ARP, and
 * what an incoming packet's addresses mean in LIDs and GIDs.  The rules are
 * those stated with RdmaAv and rdma_lid_to_ip().
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "internal.h"

enum { ARP_BYTES = 42, ARP_REQUEST = 1, ARP_REPLY = 2, NEIGH_PROBES = 8 };

static const uint8_t mac_none[6], mac_all[6] = {
    0xff, 0xff, 0xff, 0xff, 0xff, 0xff
};
static const uint8_t v4_mapped[12] = {
    [10] = 0xff, [11] = 0xff
};

static bool is_mcast(uint32_t ip)
{
    return ip >> 28 == 0xe;
}

uint32_t rdma_lid_to_ip(const RdmaDev *dev, uint16_t lid)
{
    if (lid == RDMA_LID_PERMISSIVE) {
        return 0xffffffff;
    }
    return lid ? (dev->cfg.lid_net & 0xffff0000) | lid : 0;
}

uint16_t rdma_ip_to_lid(const RdmaDev *dev, uint32_t ip)
{
    if (!ip) {
        return RDMA_LID_PERMISSIVE;
    }
    return ((ip ^ dev->cfg.lid_net) & 0xffff0000) ? 0 : ip & 0xffff;
}

void net_guid(const uint8_t mac[6], uint8_t guid[8])
{
    /* EUI-64 of a MAC, with the universal bit inverted (RFC 4291). */
    memcpy(guid, mac, 3);
    guid[0] ^= 2;
    guid[3] = 0xff;
    guid[4] = 0xfe;
    memcpy(guid + 5, mac + 3, 3);
}

bool net_is_own(const RdmaDev *dev, uint32_t ip)
{
    const RdmaPort *p = &dev->port;
    uint16_t lid = rdma_ip_to_lid(dev, ip);

    if (!ip) {
        return false;
    }
    if (ip == p->ip) {
        return true;
    }
    if (p->lid && lid && !((lid ^ p->lid) >> p->lmc)) {
        return true;
    }
    for (int i = 0; i < RDMA_MAX_GIDS; i++) {
        if (p->gid[i][10] == 0xff && get_be32(p->gid[i] + 12) == ip &&
            !memcmp(p->gid[i], v4_mapped, 12)) {
            return true;
        }
    }
    return false;
}

static uint32_t own_ip(const RdmaDev *dev)
{
    return dev->port.ip ? dev->port.ip : rdma_lid_to_ip(dev, dev->port.lid);
}

/* ---- ARP ---- */

static void arp_send(RdmaDev *dev, unsigned op, uint32_t sip, uint32_t tip,
                     const uint8_t *tmac)
{
    uint8_t f[ARP_BYTES], *a = f + ROCE_ETH_BYTES;

    memcpy(f, op == ARP_REQUEST ? mac_all : tmac, 6);
    memcpy(f + 6, dev->port.mac, 6);
    put_be16(f + 12, 0x0806);
    put_be16(a, 1);
    put_be16(a + 2, 0x0800);
    a[4] = 6;
    a[5] = 4;
    put_be16(a + 6, op);
    memcpy(a + 8, dev->port.mac, 6);
    put_be32(a + 14, sip);
    memcpy(a + 18, op == ARP_REQUEST ? mac_none : tmac, 6);
    put_be32(a + 24, tip);
    dev->cnt.arp_tx++;
    tx_wire(dev, f, sizeof(f));
}

void net_announce(RdmaDev *dev)
{
    uint32_t ip[2] = { dev->port.ip,
                       rdma_lid_to_ip(dev, dev->port.lid) };

    for (int i = 0; i < 2; i++) {
        if (ip[i] && dev->port.link_up && (!i || ip[1] != ip[0])) {
            arp_send(dev, ARP_REQUEST, ip[i], ip[i], mac_none);
        }
    }
}

static Neigh *neigh_find(RdmaDev *dev, uint32_t ip, bool make)
{
    uint32_t h = (ip * 2654435761u) >> 24;
    Neigh *victim = NULL;

    for (int i = 0; i < NEIGH_PROBES; i++) {
        Neigh *n = &dev->neigh[(h + i) % NEIGH_SLOTS];

        if (n->state != NEIGH_FREE && n->ip == ip) {
            return n;
        }
        if (!victim || n->state == NEIGH_FREE ||
            (victim->state != NEIGH_FREE && n->state == NEIGH_FAILED)) {
            victim = n;
        }
    }
    if (!make) {
        return NULL;
    }
    if (victim->state != NEIGH_FREE) {
        dev->path_gen++;        /* somebody may still use it */
    }
    *victim = (Neigh) { .ip = ip };
    return victim;
}

void net_learn(RdmaDev *dev, uint32_t ip, const uint8_t *mac)
{
    Neigh *n;

    if (!ip || is_mcast(ip) || ip == 0xffffffff || (mac[0] & 1)) {
        return;
    }
    n = neigh_find(dev, ip, true);
    if (n->state == NEIGH_KNOWN && !memcmp(n->mac, mac, 6)) {
        return;
    }
    if (n->state != NEIGH_FREE) {
        dev->path_gen++;
    }
    n->state = NEIGH_KNOWN;
    n->at = NEVER;
    dev->neigh_at = 0;
    memcpy(n->mac, mac, 6);
    sched_wake(dev, STALL_NEIGH);
}

static Resolve neigh_ask(RdmaDev *dev, uint32_t ip, uint32_t sip, uint8_t *mac)
{
    Neigh *n = neigh_find(dev, ip, true);

    if (n->state == NEIGH_FAILED && n->at <= dev->now) {
        n->state = NEIGH_FREE;
    }
    switch (n->state) {
    case NEIGH_KNOWN:
        memcpy(mac, n->mac, 6);
        return RESOLVE_OK;
    case NEIGH_FAILED:
        return RESOLVE_NEVER;
    case NEIGH_FREE:
        n->state = NEIGH_ASKING;
        n->tries = 1;
        n->at = dev->now + ARP_RETRY_NS;
        dev->neigh_at = MIN(dev->neigh_at, n->at);
        arp_send(dev, ARP_REQUEST, sip, ip, NULL);
        break;
    case NEIGH_ASKING:
        break;
    }
    return RESOLVE_WAIT;
}

int64_t net_timers(RdmaDev *dev)
{
    int64_t next = NEVER;

    if (dev->now < dev->neigh_at) {
        return dev->neigh_at;   /* every poll asks */
    }
    for (int i = 0; i < NEIGH_SLOTS; i++) {
        Neigh *n = &dev->neigh[i];

        if (n->state != NEIGH_ASKING) {
            continue;
        }
        if (n->at <= dev->now) {
            if (n->tries < ARP_TRIES) {
                n->tries++;
                n->at = dev->now + ARP_RETRY_NS;
                arp_send(dev, ARP_REQUEST, own_ip(dev), n->ip, NULL);
            } else {
                n->state = NEIGH_FAILED;
                n->at = dev->now + ARP_FAILED_NS;
                sched_wake(dev, STALL_NEIGH);
                continue;
            }
        }
        next = MIN(next, n->at);
    }
    dev->neigh_at = next;
    return next;
}

void net_rx_arp(RdmaDev *dev, const uint8_t *frame, size_t len)
{
    const uint8_t *a = frame + ROCE_ETH_BYTES;
    uint32_t sip, tip;

    if (len < ARP_BYTES || get_be16(a) != 1 || get_be16(a + 2) != 0x0800 ||
        a[4] != 6 || a[5] != 4) {
        return;
    }
    dev->cnt.arp_rx++;
    sip = get_be32(a + 14);
    tip = get_be32(a + 24);
    if (net_is_own(dev, sip)) {
        return;                 /* ours come back, or a clash: not learnt */
    }
    /* Keep answers to our questions, who asks us, and changes. */
    if (net_is_own(dev, tip) || neigh_find(dev, sip, false)) {
        net_learn(dev, sip, a + 8);
    }
    if (get_be16(a + 6) == ARP_REQUEST && net_is_own(dev, tip)) {
        arp_send(dev, ARP_REPLY, tip, sip, a + 8);
    }
}

/* ---- outgoing ---- */

/* The rules stated with RdmaAv.  False: there is no such place. */
static bool net_addresses(const RdmaDev *dev, const RdmaAv *av,
                          uint32_t *to, uint32_t *from)
{
    const RdmaPort *port = &dev->port;
    uint32_t lid_ip = rdma_lid_to_ip(dev, port->lid ?
                                     port->lid | av->path_bits : 0);
    uint32_t dip = av->dip, sip = av->sip;

    if (dip) {
        sip = sip ? sip : own_ip(dev);
    } else if (av->has_grh && !memcmp(av->dgid, v4_mapped, 12) &&
               get_be32(av->dgid + 12)) {
        const uint8_t *sgid = port->gid[av->sgid_index % RDMA_MAX_GIDS];

        dip = get_be32(av->dgid + 12);
        if (!sip) {
            sip = memcmp(sgid, v4_mapped, 12) ? own_ip(dev) :
                  get_be32(sgid + 12);
        }
    } else if (av->has_grh && av->dgid[0] == 0xff) {
        dip = rdma_mgid_to_ip(av->dgid);
        sip = sip ? sip : lid_ip ? lid_ip : own_ip(dev);
    } else if (av->dlid >= RDMA_LID_MULTICAST &&
               av->dlid != RDMA_LID_PERMISSIVE) {
        return false;           /* a group has no name without a GRH */
    } else if (av->dlid) {
        dip = rdma_lid_to_ip(dev, av->dlid);
        sip = sip ? sip : lid_ip;
    } else {
        return false;
    }
    *to = dip;
    *from = sip;
    return true;
}

uint32_t net_peer_ip(RdmaQp *qp)
{
    uint32_t from;

    if (qp->peer_gen != qp->dev->path_gen) {
        if (!net_addresses(qp->dev, &qp->attr.av, &qp->peer_ip, &from)) {
            qp->peer_ip = 0;
        }
        qp->peer_gen = qp->dev->path_gen;
    }
    return qp->peer_ip;
}

Resolve path_resolve(RdmaQp *qp, const RdmaAv *av, Path *path)
{
    Resolve r;

    if (path->valid && path->gen == qp->dev->path_gen) {
        return RESOLVE_OK;
    }
    r = net_path(qp->dev, av, path);
    if (r == RESOLVE_WAIT) {
        qp_stall(qp, STALL_NEIGH);
    } else if (r == RESOLVE_NEVER) {
        qp->dev->cnt.tx_dropped++;
    }
    return r;
}

Resolve net_path(RdmaDev *dev, const RdmaAv *av, Path *path)
{
    const RdmaPort *port = &dev->port;
    uint32_t dip, sip;
    uint8_t *h = path->hdr, *ip = h + ROCE_ETH_BYTES;
    Resolve r = RESOLVE_OK;

    if (!net_addresses(dev, av, &dip, &sip)) {
        return RESOLVE_NEVER;
    }
    path->gen = dev->path_gen;
    path->valid = true;
    path->dip = dip;
    path->mcast = is_mcast(dip);
    path->loop = !path->mcast && (dip == sip || net_is_own(dev, dip));
    if (path->loop) {
        memcpy(h, port->mac, 6);
    } else if (path->mcast) {
        const uint8_t m[6] = { 0x01, 0x00, 0x5e, dip >> 16 & 0x7f, dip >> 8,
                               dip };
        memcpy(h, m, 6);
    } else if (dip == 0xffffffff) {
        memcpy(h, mac_all, 6);
    } else if (memcmp(av->dmac, mac_none, 6)) {
        memcpy(h, av->dmac, 6);
    } else {
        r = neigh_ask(dev, dip, sip, h);
        path->valid = r == RESOLVE_OK;
    }
    memcpy(h + 6, memcmp(av->smac, mac_none, 6) ? av->smac : port->mac, 6);
    put_be16(h + 12, 0x0800);
    memset(ip, 0, ROCE_IP_BYTES + ROCE_UDP_BYTES);
    ip[0] = 0x45;
    ip[1] = av->tclass;
    ip[8] = av->hop_limit ? av->hop_limit : 64;
    ip[9] = 17;
    put_be32(ip + 12, sip);
    put_be32(ip + 16, dip);
    path->ip_sum = core_csum_add(0, ip, ROCE_IP_BYTES);
    return r;
}

/* ---- incoming ---- */

bool net_has_grh(RdmaDev *dev, const RxPacket *pkt)
{
    if (dev->cfg.ud_grh == RDMA_GRH_NONE) {
        return false;
    }
    /* LID-routed unicast has no global route. */
    return pkt->mcast || !rdma_ip_to_lid(dev, pkt->sip);
}

static void gid_mapped(uint8_t gid[16], uint32_t ip)
{
    memcpy(gid, v4_mapped, 12);
    put_be32(gid + 12, ip);
}

void net_grh(RdmaDev *dev, const RxPacket *pkt, const uint8_t *mgid,
             uint8_t grh[RDMA_GRH_BYTES])
{
    uint16_t paylen = get_be16(pkt->ip + 2) - ROCE_IP_BYTES - ROCE_UDP_BYTES;

    memset(grh, 0, RDMA_GRH_BYTES);
    if (dev->cfg.ud_grh == RDMA_GRH_IPV4) {
        memcpy(grh + 20, pkt->ip, ROCE_IP_BYTES);
        return;
    }
    put_be32(grh, 6u << 28 | (uint32_t)pkt->ip[1] << 20);
    put_be16(grh + 4, paylen);
    grh[6] = 0x1b;              /* next header: IB BTH */
    grh[7] = pkt->ip[8];
    if (rdma_ip_to_lid(dev, pkt->sip)) {
        /* LID-routed peer: its default GID, made of its MAC. */
        grh[8] = 0xfe;
        grh[9] = 0x80;
        net_guid(pkt->eth + 6, grh + 16);
    } else {
        gid_mapped(grh + 8, pkt->sip);
    }
    if (mgid) {
        memcpy(grh + 24, mgid, 16);
    } else if (rdma_ip_to_lid(dev, pkt->dip)) {
        memcpy(grh + 24, dev->port.gid[0], 16);
    } else {
        gid_mapped(grh + 24, pkt->dip);
    }
}
