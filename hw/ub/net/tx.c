/*
 * Downward: where a packet goes, network header in front, ICRC behind.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <glib.h>
#include <string.h>

#include "internal.h"

typedef struct NetTarget {
    unsigned port, vl;
    bool loop; /* to ourselves */
} NetTarget;

void ub_flow_init(UbFlow *flow, UbLphCfg cfg)
{
    memset(flow, 0, sizeof(*flow));
    flow->cfg = cfg;
    flow->port = flow->vl = UB_NET_ANY;
}

void ub_flow_reply(UbFlow *tx, const UbFlow *rx)
{
    UbFlow r = *rx; /* may be the same */

    ub_flow_init(tx, r.cfg);
    tx->rt = r.rt;
    tx->sl = r.sl;
    tx->nlp = r.nlp;
    tx->scna = r.dcna;
    tx->dcna = r.scna;
    tx->lbf = r.lbf;
    tx->npi = r.npi;
    memcpy(tx->ip.src, r.ip.dst, sizeof(tx->ip.src));
    memcpy(tx->ip.dst, r.ip.src, sizeof(tx->ip.dst));
}

/* ---- Where to ------------------------------------------------------------------- */

static uint32_t hash_cna(const UbNet *net, uint32_t scna, uint32_t dcna,
                         uint8_t lbf)
{
    const uint32_t key[] = { scna, dcna, lbf };

    return net_hash(net, key, sizeof(key), 0);
}

/* A port of the route that is up; else *why. */
static bool choose(UbNet *net, const NetKey *key, NetTarget *t,
                   UbNetCounter *why)
{
    uint64_t ports = net_route_ports(net, key);

    *why = ports ? UB_NET_DROP_PORT_DOWN : UB_NET_DROP_NO_ROUTE;
    ports &= net->up;
    if (ports) {
        t->port = net_route_choose(net, key, ports);
    }
    return ports;
}

/* UB_SENT: *t says where to, and there is room. */
static UbSend place(UbNet *net, const UbFlow *f, NetTarget *t,
                    UbNetCounter *why)
{
    bool ip = ub_lph_is_ip(f->cfg);
    NetKey key = { .cfg = f->cfg, .rt = f->rt, .dcna = f->dcna };

    *t = (NetTarget) { .port = f->port };
    key.vl = f->vl != UB_NET_ANY ? f->vl & 15
                                 : net->conf.sl_vl[f->sl & 15] & 15;
    if (f->port == UB_NET_ANY &&
        (ip ? ub_net_ip_is_local(net, f->cfg, f->ip.dst)
            : ub_net_is_own(net, f->dcna))) {
        t->loop = true;
        t->port = 0;
        t->vl = key.vl;
        net->loop_refused = net->loop_refused || net->looped >= NET_LOOP_MAX;
        return net->looped < NET_LOOP_MAX ? UB_SENT : UB_BUSY;
    }
    if (f->port == UB_NET_ANY) {
        t->port = 0; /* what is lost without a port is counted there */
        key.ip = ip ? f->ip.dst : NULL;
        if (f->rt & UB_RT__PACKET || !(net->up & (net->up - 1))) {
            key.hash = 0;   /* chosen without, or nothing to choose from */
        } else if (ip) {
            key.hash = net_hash(net, &f->ip, 32, f->lbf);
        } else {
            key.hash = hash_cna(net, f->scna, f->dcna, f->lbf);
        }
        if (!choose(net, &key, t, why)) {
            return UB_LOST;
        }
    } else if (f->port >= net->conf.ports) {
        t->port = 0;
        *why = UB_NET_DROP_NO_ROUTE;
        return UB_LOST;
    } else if (!(net->up >> f->port & 1)) {
        *why = UB_NET_DROP_PORT_DOWN;
        return UB_LOST;
    }
    t->vl = net_queue_vl(net, t->port, key.vl);
    return net_queue_room(net, t->port, t->vl) ? UB_SENT : UB_BUSY;
}

UbSend ub_net_ready(UbNet *net, const UbFlow *flow)
{
    UbNetCounter why;
    NetTarget t;

    return place(net, flow, &t, &why);
}

/* ---- Out ---------------------------------------------------------------------- */

bool net_seal(const UbNet *net, unsigned cfg, bool scan, CorePacket *pkt)
{
    uint32_t skip = ub_lph_is_ip(cfg) ? UB_IPEXT_SIZE : 0;
    uint32_t len = pkt->len;
    uint8_t *icrc;

    if (!net_sealed(net, cfg, scan)) {
        return true;
    }
    icrc = core_packet_put(pkt, UB_ICRC_SIZE);
    if (!icrc) {
        return false;
    }
    ub_icrc_put(icrc, ub_icrc(cfg, core_packet_data(pkt) + skip, len - skip));
    return true;
}

/* A sender may keep a reference and the bytes; the receiver is to have its own. */
static CorePacket *own_copy(CorePacket *pkt)
{
    CorePacket *copy;

    if (pkt->refs == 1) {
        return pkt;
    }
    copy = core_packet_alloc(pkt->pool, pkt->len);
    if (copy) {
        memcpy(core_packet_data(copy), core_packet_data(pkt), pkt->len);
        memcpy(copy->cb, pkt->cb, sizeof(copy->cb));
    }
    core_packet_free(pkt);
    return copy;
}

static UbSend loop_back(UbNet *net, CorePacket *pkt)
{
    pkt = own_copy(pkt);
    if (!pkt) {
        net_count(net, 0, UB_NET_DROP_NO_ROOM);
        return UB_LOST;
    }
    pkt->next = NULL;
    *net->loop_tail = pkt;
    net->loop_tail = &pkt->next;
    net->looped++;
    net_count(net, 0, UB_NET_LOOPED);
    net_kick(net);
    return UB_SENT;
}

void net_leave_sound(UbNet *net, int64_t now, unsigned port, unsigned vl,
                     CorePacket *pkt)
{
    if (net->up >> port & 1) {
        net_queue_put(net, now, port, vl, pkt);
    } else {
        net_drop(net, port, UB_NET_DROP_PORT_DOWN, pkt); /* it was held */
    }
}

void net_leave(UbNet *net, int64_t now, unsigned port, unsigned vl,
               CorePacket *pkt)
{
    if (!net_fault_takes(net, true, now, port, vl, pkt)) {
        net_queue_put(net, now, port, vl, pkt);
    }
}

/* A packet that is complete but for its ICRC. */
static UbSend emit(UbNet *net, int64_t now, const NetTarget *t, unsigned cfg,
                   unsigned rt, bool scan, CorePacket *pkt)
{
    UbPktMeta *m = ub_meta(pkt);

    /* The rest is that of a port, if the bytes came by one. */
    m->lph_cfg = cfg;
    m->rt = rt & 3;
    m->vl = t->vl;
    m->error = 0;
    if (!net_seal(net, cfg, scan, pkt)) {
        net_drop(net, t->port, UB_NET_DROP_NO_ROOM, pkt);
        return UB_LOST;
    }
    if (t->loop) {
        return loop_back(net, pkt);
    }
    net_leave(net, now, t->port, t->vl, pkt);
    return UB_SENT;
}

static UbSend lose(UbNet *net, unsigned port, UbNetCounter why,
                   CorePacket *pkt)
{
    net_drop(net, port, why, pkt);
    return UB_LOST;
}

/* ---- From the layers above ------------------------------------------------------ */

/* Who a packet by CNA is from. */
static uint32_t source_of(const UbNet *net, const UbFlow *f, unsigned port)
{
    bool one = net->primary && (f->steady || f->rt & UB_RT__PACKET);

    return f->scna ? f->scna
           : net->port[port].cna && !one ? net->port[port].cna : net->primary;
}

/* CNA headers.  False: *why. */
static bool push_cna(UbNet *net, const UbFlow *f, unsigned port,
                     CorePacket *pkt, UbNetCounter *why)
{
    bool wide = f->cfg == UB_LPH_CNA24;
    UbNth h = {
        .scna = source_of(net, f, port),
        .dcna = f->dcna, .cci = f->cci, .lbf = f->lbf, .sl = f->sl,
        .nlp = f->nlp, .mgmt = f->mgmt,
    };
    uint8_t *p;

    if (net->conf.anti_spoof && f->scna &&
        !net_may_be_source(net, f->cfg, f->scna)) {
        *why = UB_NET_DROP_SPOOF;
        return false;
    }
    p = core_packet_push(pkt, wide ? UB_NTH24_SIZE : UB_NTH16_SIZE);
    if (!p) {
        *why = UB_NET_DROP_NO_ROOM;
        return false;
    }
    if (wide) {
        ub_nth24_put(p, &h);
    } else {
        ub_nth16_put(p, &h);
    }
    return true;
}

/* IP headers with the extension of UB in front.  False: *why. */
static bool push_ip(UbNet *net, const UbFlow *f, CorePacket *pkt,
                    UbNetCounter *why)
{
    static const uint8_t none[16];
    uint32_t payload = pkt->len +
                       (net_sealed(net, f->cfg, false) ? UB_ICRC_SIZE : 0);
    unsigned size = f->cfg == UB_LPH_IPV4 ? UB_IPV4_PATH_SIZE
                                          : UB_IPV6_PATH_SIZE;
    uint32_t npi = net_npi_stamp(net, f->npi, why);
    UbIpPath path = f->ip;
    bool unset = !memcmp(path.src, none, ub_ip_bytes(f->cfg));
    const NetIp *local = unset ? net_first_ip(net, f->cfg) : NULL;
    uint8_t *p;

    if (!npi) {
        return false;
    }
    if (local) {
        memcpy(path.src, local->ip, sizeof(path.src));
    } else if (unset || (net->conf.anti_spoof && net->locals &&
                         !ub_net_ip_is_local(net, f->cfg, path.src))) {
        *why = UB_NET_DROP_SPOOF;
        return false;
    }
    p = core_packet_push(pkt, size);
    if (!p) {
        *why = UB_NET_DROP_NO_ROOM;
        return false;
    }
    ub_ipext_put(p, f->cci, npi);
    ub_ip_put(p + UB_IPEXT_SIZE, f->cfg, &path, net->conf.sl_dscp[f->sl & 15],
              f->lbf, payload);
    return true;
}

UbSend ub_net_send(UbNet *net, int64_t now, const UbFlow *f, CorePacket *pkt)
{
    /* Read by itself: of a word with fields that were just written a processor waits
     * until all that it wrote before is in its cache. */
    const uint8_t cfg = f->cfg;
    bool ip = ub_lph_is_ip(cfg);
    UbNetCounter why = UB_NET_DROP_CFG;
    NetTarget t = { .port = 0 };
    UbSend sent;

    if (!ip && cfg != UB_LPH_CNA16 && cfg != UB_LPH_CNA24 &&
        cfg != UB_LPH_BYPASS) {
        return lose(net, 0, why, pkt);
    }
    sent = place(net, f, &t, &why);
    if (sent == UB_BUSY) {
        return UB_BUSY;
    }
    if (sent == UB_LOST) {
        return lose(net, t.port, why, pkt);
    }
    if (pkt->len > net->conf.mtu + NET_UPPER_HEADERS) {
        net_error(net, t.loop ? UB_NET_ANY : t.port, UB_NET_ERROR_LENGTH, NULL);
        return lose(net, t.port, UB_NET_DROP_LONG, pkt);
    }
    if (!(ip ? push_ip(net, f, pkt, &why)
             : push_cna(net, f, t.port, pkt, &why))) {
        return lose(net, t.port, why, pkt);
    }
    return emit(net, now, &t, cfg, f->rt,
                cfg == UB_LPH_CNA16 && f->nlp == UB_NLP_SCAN, pkt);
}

/* ---- As software wrote it ---------------------------------------------------------- */

/* The flow of a packet that has its headers, as far as its way depends on it.
 * NULL, or the rule that it breaks; *why is what to count. */
static const char *read_cna(const UbNet *net, const CorePacket *pkt,
                            const uint8_t *p, UbFlow *f, UbNetCounter *why)
{
    UbNth h;

    *why = UB_NET_DROP_SHORT;
    if (pkt->len < (f->cfg == UB_LPH_CNA24 ? UB_NTH24_SIZE : UB_NTH16_SIZE)) {
        return "a packet that is shorter than its NTH";
    }
    if (f->cfg == UB_LPH_CNA24) {
        ub_nth24_get(p, &h);
    } else {
        ub_nth16_get(p, &h);
    }
    f->scna = h.scna;
    f->dcna = h.dcna;
    f->lbf = h.lbf;
    f->sl = h.sl;
    f->nlp = h.nlp;
    *why = UB_NET_DROP_SPOOF;
    if (net->conf.anti_spoof && !net_may_be_source(net, f->cfg, f->scna)) {
        return "SCNA is no address of this node";
    }
    return NULL;
}

/* The CCI of what a stack that relies on ECN sends (§5.3.5.1). */
static uint16_t fecn_of(uint16_t cci, unsigned ecn)
{
    return ub_cci_has_fecn(cci) ? (cci & ~UB_CCI_FECN_BITS) | ecn
                                : ub_cci_fecn(false, ecn);
}

static const char *read_ip(const UbNet *net, const CorePacket *pkt,
                           uint8_t *p, UbFlow *f, UbNetCounter *why)
{
    uint32_t npi;
    const char *rule;
    UbIpInfo info;

    *why = UB_NET_DROP_SHORT;
    if (pkt->len < UB_IPEXT_SIZE) {
        return "a packet that is shorter than CCI and NPI";
    }
    *why = UB_NET_DROP_IP;
    rule = ub_ip_get(p + UB_IPEXT_SIZE, pkt->len - UB_IPEXT_SIZE, f->cfg,
                     &info);
    if (rule) {
        return rule;
    }
    f->ip = info.path;
    f->sl = net->conf.dscp_sl[info.tos >> 2];
    f->lbf = info.sport;
    *why = UB_NET_DROP_SPOOF;
    if (net->conf.anti_spoof && net->locals &&
        !ub_net_ip_is_local(net, f->cfg, f->ip.src)) {
        return "the source is no address of this node";
    }
    npi = net_npi_stamp(net, ub_ipext_npi(p), why);
    if (!npi) {
        return "the NPI is not one that may be sent";
    }
    f->cci = ub_ipext_cci(p);
    if (net->conf.ecn_copy) {
        f->cci = fecn_of(f->cci, info.tos & 3);
    }
    ub_ipext_put(p, f->cci, npi);
    return NULL;
}

void ub_net_copy_ecn(const UbNet *net, bool tx, CorePacket *pkt)
{
    uint8_t *p = core_packet_data(pkt), *ip = p + UB_IPEXT_SIZE;
    unsigned cfg = ub_meta(pkt)->lph_cfg;
    UbIpInfo info;

    if (!net->conf.ecn_copy || !ub_lph_is_ip(cfg) ||
        pkt->len < UB_IPEXT_SIZE ||
        ub_ip_get(ip, pkt->len - UB_IPEXT_SIZE, cfg, &info)) {
        return;
    }
    if (tx) {
        ub_ipext_put(p, fecn_of(ub_ipext_cci(p), info.tos & 3),
                     ub_ipext_npi(p));
    } else if (ub_cci_has_fecn(ub_ipext_cci(p))) {
        ub_ip_set_ecn(ip, cfg, ub_ipext_cci(p) & UB_CCI_FECN_BITS);
    }
}

/* CFG 5 goes to the neighbour. */
static void read_control(const UbNet *net, UbFlow *f)
{
    uint64_t up = net->up & net_link_ports(net);

    if (f->port == UB_NET_ANY && up) {
        f->port = __builtin_ctzll(up);
    }
}

const char *ub_net_guard_tx(UbNet *net, unsigned port, CorePacket *pkt)
{
    uint8_t *p = core_packet_data(pkt);
    const char *rule = NULL;
    UbNetCounter why;
    UbFlow f;

    ub_flow_init(&f, ub_meta(pkt)->lph_cfg);
    if (ub_lph_is_ip(f.cfg)) {
        rule = read_ip(net, pkt, p, &f, &why);
    } else if (f.cfg == UB_LPH_CNA16 || f.cfg == UB_LPH_CNA24 ||
               f.cfg == UB_LPH_BYPASS) {
        rule = read_cna(net, pkt, p, &f, &why);
    }
    if (rule) {
        net_drop(net, port, why, pkt);
    }
    return rule;
}

void ub_net_refuse(UbNet *net, unsigned port, UbNetCounter why, CorePacket *pkt)
{
    net_drop(net, port, why, pkt);
}

UbSend ub_net_send_raw(UbNet *net, int64_t now, unsigned port,
                       CorePacket *pkt)
{
    const UbPktMeta m = *ub_meta(pkt);
    uint8_t *p = core_packet_data(pkt);
    const char *rule = NULL;
    UbNetCounter why;
    NetTarget t;
    UbSend sent;
    UbFlow f;

    ub_flow_init(&f, m.lph_cfg);
    f.port = port;
    f.vl = m.vl;
    f.rt = m.rt & 3;
    switch (m.lph_cfg) {
    case UB_LPH_IPV4:
    case UB_LPH_IPV6:
        rule = read_ip(net, pkt, p, &f, &why);
        break;
    case UB_LPH_CONTROL:
        why = UB_NET_DROP_SHORT;
        rule = pkt->len < UB_CONTROL_SIZE ? "a packet that is shorter than "
                                            "Protocol and GUIDs" : NULL;
        read_control(net, &f);
        break;
    case UB_LPH_CNA16:
    case UB_LPH_CNA24:
    case UB_LPH_BYPASS:
        rule = read_cna(net, pkt, p, &f, &why);
        break;
    default:
        why = UB_NET_DROP_CFG;
        rule = "a packet with a reserved CFG";
    }
    if (rule) {
        net_drop_rule(net, port < net->conf.ports ? port : 0, true, why, pkt,
                      rule);
        return UB_LOST;
    }
    sent = place(net, &f, &t, &why);
    if (sent == UB_SENT) {
        return emit(net, now, &t, f.cfg, f.rt,
                    f.cfg == UB_LPH_CNA16 && f.nlp == UB_NLP_SCAN, pkt);
    }
    return sent == UB_BUSY ? UB_BUSY : lose(net, t.port, why, pkt);
}
