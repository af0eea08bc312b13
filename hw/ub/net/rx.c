/*
 * Upward: checks of what a port received, and whose it is.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <glib.h>
#include <string.h>

#include "core/inet.h"
#include "internal.h"

/* What is known of a packet on its way up. */
typedef struct NetIn {
    UbNet *net;
    int64_t now;
    CorePacket *pkt;
    bool looped;
    UbFlow flow;
} NetIn;

/* ---- To an upper ------------------------------------------------------------------ */

static void drop_in(NetIn *in, UbNetCounter why, const char *rule)
{
    net_drop_rule(in->net, in->flow.port, in->looped, why, in->pkt, rule);
}

/* What we sent ourselves came by no port. */
static void in_error(NetIn *in, UbNetError error)
{
    net_error(in->net, in->looped ? UB_NET_ANY : in->flow.port, error, in->pkt);
}

/* Give it up, without @header bytes in front. */
static void hand_up(NetIn *in, UbNetTo to, uint32_t header)
{
    UbNet *net = in->net;

    if (!net->upper[to].ops) {
        net_drop(net, in->flow.port, UB_NET_DROP_NO_UPPER, in->pkt);
        return;
    }
    core_packet_pull(in->pkt, header);
    net_count(net, in->flow.port, UB_NET_RX_UP);
    net->upper[to].ops->rx(net->upper[to].opaque, in->now, in->pkt,
                           &in->flow);
}

/* Check the ICRC and take it off; false: the packet is gone. */
static bool unseal(NetIn *in, bool scan)
{
    const unsigned cfg = in->flow.cfg;
    uint32_t skip = ub_lph_is_ip(cfg) ? UB_IPEXT_SIZE : 0;
    const uint8_t *p = core_packet_data(in->pkt);
    uint32_t len = in->pkt->len - UB_ICRC_SIZE;

    if (!net_sealed(in->net, cfg, scan)) {
        return true;
    }
    if (!in->looped &&
        ub_icrc(cfg, p + skip, len - skip) != ub_icrc_get(p + len)) {
        in_error(in, UB_NET_ERROR_ICRC);
        drop_in(in, UB_NET_DROP_ICRC, "ICRC is wrong");
        return false;
    }
    core_packet_trim(in->pkt, UB_ICRC_SIZE);
    return true;
}

/* The LPH said that the sender's copy was broken (§4.8.3). */
static bool poisoned(NetIn *in)
{
    if (!ub_meta(in->pkt)->error) {
        return false;
    }
    net_drop(in->net, in->flow.port, UB_NET_DROP_ERROR_FLAG, in->pkt);
    return true;
}

/* ---- Forwarding ------------------------------------------------------------------- */

/* The ICRC of what passes by, if it is to be checked. */
static bool passes_icrc(NetIn *in)
{
    const uint8_t *p = core_packet_data(in->pkt);
    uint32_t skip = ub_lph_is_ip(in->flow.cfg) ? UB_IPEXT_SIZE : 0;
    uint32_t len = in->pkt->len - UB_ICRC_SIZE;

    if (!in->net->conf.icrc_transit ||
        !net_sealed(in->net, in->flow.cfg, false) ||
        ub_icrc(in->flow.cfg, p + skip, len - skip) == ub_icrc_get(p + len)) {
        return true;
    }
    in_error(in, UB_NET_ERROR_ICRC);
    drop_in(in, UB_NET_DROP_ICRC, "ICRC of a packet in transit is wrong");
    return false;
}

/* The port to leave by; false: there is none, and the packet is gone. */
static bool way_out(NetIn *in, const NetKey *key, unsigned *port)
{
    UbNet *net = in->net;
    uint64_t ports = net_route_ports(net, key);
    uint64_t others = ports & ~(UINT64_C(1) << in->flow.port);
    UbNetCounter why = UB_NET_DROP_PORT_DOWN;

    if (others & net->up) {
        *port = net_route_choose(net, key, others & net->up);
        return true;
    }
    if (!ports) {
        why = UB_NET_DROP_NO_ROUTE;
    } else if (!others) {
        why = UB_NET_DROP_RETURN;
    }
    net_drop(net, in->flow.port, why, in->pkt);
    return false;
}

/* What may wait in the egress queue; 0: no bound but the credits that what waits
 * holds.  What comes by Ethernet has none, and what leaves by it would keep those of
 * the UB links while the other end takes no frame. */
static uint32_t transit_bound(const NetIn *in, unsigned port)
{
    const UbNetConfig *conf = &in->net->conf;
    unsigned links = net_links(in->net);

    if (conf->transit_limit || (in->flow.port < links && port < links)) {
        return conf->transit_limit;
    }
    return conf->queue_limit;
}

static void pass_on(NetIn *in, NetKey *key)
{
    UbNet *net = in->net;
    unsigned port, vl;
    uint32_t bound;

    if (!net->conf.forward || in->looped) {
        net_drop(net, in->flow.port, UB_NET_DROP_NOT_OURS, in->pkt);
        return;
    }
    /* The port that is chosen decides; until then the way that most go. */
    key->vl = net_vl_out(net, in->flow.port, in->flow.port, in->flow.vl);
    if (!passes_icrc(in) || !way_out(in, key, &port)) {
        return;
    }
    vl = net_queue_vl(net, port, net_vl_out(net, in->flow.port, port,
                                            in->flow.vl));
    if (ub_lph_is_ip(in->flow.cfg)) {
        uint8_t *p = core_packet_data(in->pkt);

        if (!net_npi_passes(&net->port[port], in->flow.npi)) {
            net_drop(net, port, UB_NET_DROP_NPI, in->pkt);
            return;
        }
        if (net->conf.hops && !ub_ip_hop(p + UB_IPEXT_SIZE, in->flow.cfg)) {
            net_drop(net, port, UB_NET_DROP_HOPS, in->pkt);
            return;
        }
    }
    bound = transit_bound(in, port);
    if (bound && ub_net_queued(net, port, vl) >= bound) {
        net_drop(net, port, UB_NET_DROP_QUEUE_FULL, in->pkt);
        return;
    }
    net_mark(net, port, vl, in->pkt);
    net_count(net, port, UB_NET_FORWARDED);
    net_leave(net, in->now, port, vl, in->pkt);
}

/* ---- CNA ---------------------------------------------------------------------------- */

/* Who takes what an NLP names; false: nobody, it is reserved. */
static bool upper_of(unsigned cfg, unsigned nlp, UbNetTo *to)
{
    static const struct {
        uint8_t cfg, nlp, to;
    } rows[] = {
        { UB_LPH_CNA16, UB_NLP_CTPH, UB_NET_TP },
        { UB_LPH_CNA16, UB_NLP_SCAN, UB_NET_SCAN },
        { UB_LPH_CNA24, UB_NLP_CTPH, UB_NET_TP },
        { UB_LPH_CNA24, UB_NLP_RTPH, UB_NET_TP },
        { UB_LPH_BYPASS, UB_NLP_TAH, UB_NET_TA },
    };

    for (unsigned i = 0; i < G_N_ELEMENTS(rows); i++) {
        if (rows[i].cfg == cfg && rows[i].nlp == nlp) {
            *to = rows[i].to;
            return true;
        }
    }
    return false;
}

static void local_cna(NetIn *in, uint32_t header)
{
    UbNetTo to;

    if (poisoned(in)) {
        return;
    }
    if (in->flow.cfg == UB_LPH_BYPASS && in->flow.mgmt) {
        drop_in(in, UB_NET_DROP_MGMT, "Mgmt in a packet that bypasses the "
                "transport layer");
    } else if (!upper_of(in->flow.cfg, in->flow.nlp, &to)) {
        drop_in(in, UB_NET_DROP_NLP, "NTH.NLP is reserved");
    } else if (unseal(in, to == UB_NET_SCAN)) {
        hand_up(in, to, header);
    }
}

static void take_cna(NetIn *in)
{
    const uint8_t *p = core_packet_data(in->pkt);
    uint32_t header = UB_NTH16_SIZE;
    UbFlow *f = &in->flow;
    NetOwn own;
    UbNth h;

    if (f->cfg == UB_LPH_CNA24) {
        header = UB_NTH24_SIZE;
        ub_nth24_get(p, &h);
    } else {
        ub_nth16_get(p, &h);
    }
    f->scna = h.scna;
    f->dcna = h.dcna;
    f->cci = h.cci;
    f->lbf = h.lbf;
    f->sl = h.sl;
    f->nlp = h.nlp;
    f->mgmt = h.mgmt;
    /* A scan finds its way by itself. */
    own = f->cfg == UB_LPH_CNA16 && f->nlp == UB_NLP_SCAN
          ? NET_OWN
          : net_own_cna(in->net, f->cfg, in->looped ? UB_NET_ANY : f->port,
                        f->dcna);
    if (own == NET_OWN) {
        local_cna(in, header);
    } else if (own == NET_OWN_ELSEWHERE) {
        net_drop(in->net, f->port, UB_NET_DROP_WRONG_PORT, in->pkt);
    } else {
        const uint32_t flow[] = { f->scna, f->dcna, f->lbf };
        NetKey key = {
            .cfg = f->cfg, .rt = f->rt, .dcna = f->dcna,
            .hash = net_hash(in->net, flow, sizeof(flow), 0),
        };

        pass_on(in, &key);
    }
}

/* ---- IP ------------------------------------------------------------------------------- */

/* What a UB packet in IP and UDP must be (tables 5-4 to 5-6), or NULL. */
static const char *check_ub_ip(const NetIn *in, const uint8_t *ip,
                               const UbIpInfo *info)
{
    const uint8_t *udp = ip + info->header;
    /* To the ICRC, which it includes. */
    uint32_t len = in->pkt->len - UB_IPEXT_SIZE;

    if (info->total != len || get_be16(udp + 4) != len - info->header) {
        return "IP or UDP length of a UB packet is not its length";
    }
    if (in->flow.cfg == UB_LPH_IPV4 &&
        (info->header != UB_IPV4_SIZE || !core_csum_ipv4_right(ip))) {
        return "IPv4 header of a UB packet has options or a wrong checksum";
    }
    return NULL;
}

static void local_ub_ip(NetIn *in, const uint8_t *ip, const UbIpInfo *info)
{
    const char *rule = check_ub_ip(in, ip, info);

    if (rule) {
        drop_in(in, UB_NET_DROP_IP, rule);
    } else if (in->pkt->len > in->net->conf.mtu + NET_UPPER_HEADERS +
                              UB_IPV6_PATH_SIZE) {
        in_error(in, UB_NET_ERROR_LENGTH);
        drop_in(in, UB_NET_DROP_LONG, "a packet longer than the MTU allows");
    } else if (unseal(in, false)) {
        hand_up(in, UB_NET_TP, UB_IPEXT_SIZE + info->header + UB_UDP_SIZE);
    }
}

/* Plain IP: the receiver's own stack has the last word. */
static void local_ip(NetIn *in, uint8_t *ip)
{
    if (!unseal(in, false)) {
        return;
    }
    if (in->net->conf.ecn_copy && ub_cci_has_fecn(in->flow.cci)) {
        ub_ip_set_ecn(ip, in->flow.cfg, in->flow.cci & UB_CCI_FECN_BITS);
    }
    hand_up(in, UB_NET_IP, 0);
}

/* The NPI of what came by a port: filter and replacement at a switch's edge.
 * False: dropped. */
static bool edge_npi(NetIn *in, uint8_t *p)
{
    NetPort *port = &in->net->port[in->flow.port];

    if (in->looped) {
        return true;
    }
    if (!net_npi_passes(port, in->flow.npi)) {
        net_drop(in->net, in->flow.port, UB_NET_DROP_NPI, in->pkt);
        return false;
    }
    if (port->npi_replace) {
        in->flow.npi = port->npi_replace;
        ub_ipext_put(p, in->flow.cci, in->flow.npi);
        net_count(in->net, in->flow.port, UB_NET_NPI_REPLACED);
    }
    return true;
}

/* The border of the Domain.  False: dropped. */
static bool enters(NetIn *in, const UbIpInfo *info)
{
    const char *rule;

    if (in->looped ||
        net_border_admits(in->net, in->flow.port, in->pkt, info, &rule)) {
        return true;
    }
    drop_in(in, UB_NET_DROP_BORDER, rule);
    return false;
}

static uint32_t hash_ip(const UbNet *net, const UbFlow *f,
                        const UbIpInfo *info)
{
    const uint16_t ports[] = { info->sport, info->dport, info->protocol };
    unsigned bytes = ub_ip_bytes(f->cfg);
    uint32_t hash = net_hash(net, f->ip.src, bytes, 0);

    hash = net_hash(net, f->ip.dst, bytes, hash);
    return net_hash(net, ports, sizeof(ports), hash);
}

static void take_ip(NetIn *in)
{
    UbNet *net = in->net;
    UbFlow *f = &in->flow;
    uint8_t *p = core_packet_data(in->pkt), *ip = p + UB_IPEXT_SIZE;
    const char *rule;
    UbNetCounter why;
    UbIpInfo info;
    bool ours;

    f->cci = ub_ipext_cci(p);
    f->npi = ub_ipext_npi(p);
    rule = ub_ip_get(ip, in->pkt->len - UB_IPEXT_SIZE, f->cfg, &info);
    if (rule) {
        drop_in(in, UB_NET_DROP_IP, rule);
        return;
    }
    f->ip = info.path;
    f->sl = net->conf.dscp_sl[info.tos >> 2];
    f->lbf = info.sport;
    if (!edge_npi(in, p) || !enters(in, &info)) {
        return;
    }
    ours = ub_net_ip_is_local(net, f->cfg, f->ip.dst);
    if (!ours && net->conf.forward) {
        NetKey key = { .cfg = f->cfg, .rt = f->rt, .ip = f->ip.dst,
                       .hash = hash_ip(net, f, &info) };

        pass_on(in, &key);
        return;
    }
    if (poisoned(in)) {
        return;
    }
    if (!net_npi_accepts(net, f->npi, &why)) {
        net_drop(net, f->port, why, in->pkt);
    } else if (info.udp && info.dport == UB_UDP_PORT &&
               (ours || !net->locals)) {
        local_ub_ip(in, ip, &info);
    } else {
        local_ip(in, ip);
    }
}

/* ---- From a port ------------------------------------------------------------------------ */

static void take_control(NetIn *in)
{
    if (!poisoned(in) && !net_control(in->net, in->flow.port, in->pkt)) {
        hand_up(in, UB_NET_CONTROL, 0);
    }
}

/* By LPH.CFG: the least length that its headers have and the most beside a
 * payload of the MTU (0: as much as a link carries), and who takes it. */
static const struct {
    uint8_t least;
    uint16_t beside;
    void (*take)(NetIn *in);
} kinds[16] = {
    [UB_LPH_IPV4] = { UB_IPEXT_SIZE + UB_IPV4_SIZE + UB_ICRC_SIZE, 0,
                      take_ip },
    [UB_LPH_IPV6] = { UB_IPEXT_SIZE + UB_IPV6_SIZE + UB_ICRC_SIZE, 0,
                      take_ip },
    [UB_LPH_CONTROL] = { UB_CONTROL_SIZE, 0, take_control },
    /* CTPH */
    [UB_LPH_CNA16] = { UB_NTH16_SIZE + 1 + UB_ICRC_SIZE,
                       UB_NTH16_SIZE + NET_UPPER_HEADERS, take_cna },
    [UB_LPH_CNA24] = { UB_NTH24_SIZE + 1 + UB_ICRC_SIZE,
                       UB_NTH24_SIZE + NET_UPPER_HEADERS, take_cna },
    /* the least of a TAH is 4 bytes */
    [UB_LPH_BYPASS] = { UB_NTH16_SIZE + 4,
                        UB_NTH16_SIZE + NET_UPPER_HEADERS, take_cna },
};

static void take(UbNet *net, int64_t now, unsigned port, bool looped,
                 CorePacket *pkt)
{
    const UbPktMeta *m = ub_meta(pkt);
    NetIn in = { .net = net, .now = now, .pkt = pkt, .looped = looped };

    in.flow.cfg = m->lph_cfg;
    in.flow.rt = m->rt & 3;
    in.flow.vl = m->vl & 15;
    in.flow.port = port;
    if (m->lph_cfg >= G_N_ELEMENTS(kinds) || !kinds[m->lph_cfg].take) {
        drop_in(&in, UB_NET_DROP_CFG, "LPH.CFG is reserved");
    } else if (pkt->len < kinds[m->lph_cfg].least) {
        in_error(&in, UB_NET_ERROR_LENGTH);
        drop_in(&in, UB_NET_DROP_SHORT, "a packet shorter than its headers");
    } else if (kinds[m->lph_cfg].beside &&
               pkt->len > net->conf.mtu + kinds[m->lph_cfg].beside) {
        in_error(&in, UB_NET_ERROR_LENGTH);
        drop_in(&in, UB_NET_DROP_LONG, "a packet longer than the MTU allows");
    } else {
        kinds[m->lph_cfg].take(&in);
    }
}

void ub_net_rx(UbNet *net, int64_t now, unsigned port, CorePacket *pkt)
{
    net_count(net, port, UB_NET_RX_PACKETS);
    net->port[port].count[UB_NET_RX_BYTES] += pkt->len;
    if (!net_fault_takes(net, false, now, port, ub_meta(pkt)->vl, pkt)) {
        take(net, now, port, false, pkt);
    }
}

void net_rx_sound(UbNet *net, int64_t now, unsigned port, unsigned vl,
                  CorePacket *pkt)
{
    take(net, now, port, false, pkt);
}

void net_rx_loop(UbNet *net, int64_t now, CorePacket *pkt)
{
    take(net, now, 0, true, pkt);
}
