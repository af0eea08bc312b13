/*
 * UB over Ethernet: packets of UB and frames of Ethernet (UB 2.0 appendix E), life.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <string.h>

#include "core/inet.h"
#include "internal.h"

const char *ub_uboe_counter_name(unsigned counter)
{
    static const char *const names[] = {
#define UB_UBOE_X(id, name) name,
        UB_UBOE_COUNTERS(UB_UBOE_X)
#undef UB_UBOE_X
    };

    return counter < G_N_ELEMENTS(names) ? names[counter] : NULL;
}

/* ---- To Ethernet ------------------------------------------------------------------ */

static void lose(UbUboe *u, UbUboeCounter why, CorePacket *pkt)
{
    uboe_count(u, why);
    core_packet_free(pkt);
}

static void broken(UbUboe *u, UbUboeCounter why, const char *rule)
{
    uboe_count(u, why);
    if (u->ops.rule) {
        u->ops.rule(u->opaque, rule);
    }
}

/* A frame, to where it goes unless a fault keeps it. */
static void pass(UbUboe *u, bool out, const uint8_t *frame, uint32_t len,
                 CoreFaultSink *sink)
{
    CoreFault *f = &u->fault[out];
    uint64_t lost = f->done[CORE_FAULT_DROP];

    core_fault_pass(f, frame, len, 0, u->now, sink, u);
    u->count[UB_UBOE_DROP_FAULT] += f->done[CORE_FAULT_DROP] - lost;
    if (f->held) {
        u->ops.kick(u->opaque);
    }
}

/* Behind the faults. */
static void frame_leaves(void *opaque, const uint8_t *frame, size_t len)
{
    UbUboe *u = opaque;

    if (!u->up) {
        uboe_count(u, UB_UBOE_DROP_DOWN);
    } else if (!u->ops.send(u->opaque, frame, len)) {
        uboe_count(u, UB_UBOE_DROP_BUSY);
    } else {
        uboe_count(u, UB_UBOE_TX_FRAMES);
        u->count[UB_UBOE_TX_BYTES] += len;
    }
}

void uboe_frame(UbUboe *u, const uint8_t *frame, uint32_t len)
{
    pass(u, true, frame, len, frame_leaves);
}

/* What a packet is, on its way to Ethernet. */
typedef struct Out {
    unsigned cfg;
    uint16_t cci;
    uint32_t npi;
    UbIpInfo ip;
    uint32_t len;      /* of IP on Ethernet */
    NeighbourKey key;
} Out;

/* Whether @p, of @len bytes that belong to IP, is a packet of UB: those carry the
 * ICRC inside what IP calls its length. */
static bool is_ub(const UbIpInfo *ip)
{
    return ip->udp && ip->dport == UB_UDP_PORT;
}

/* The ICRC of what is not UB's stands behind the end of IP, and stays here. */
static bool unseal(const UbUboe *u, const uint8_t *ip, uint32_t len,
                   const Out *o)
{
    return !u->conf.icrc || is_ub(&o->ip) ||
           (len >= o->ip.total + UB_ICRC_SIZE &&
            ub_icrc(o->cfg, ip, o->ip.total) == ub_icrc_get(ip + o->ip.total));
}

/* The VLAN of an NPI: false: it has none. */
static bool vlan_of(const UbUboe *u, uint32_t npi, uint16_t *vlan)
{
    *vlan = 0;
    if (u->conf.vlans && (!npi || npi != u->conf.npi)) {
        *vlan = GPOINTER_TO_UINT(g_hash_table_lookup(u->vlan_of,
                                                     GUINT_TO_POINTER(npi)));
        return *vlan;
    }
    return true;
}

/* Who is the next: the station itself, or a router. */
static void next_hop(const UbUboe *u, unsigned cfg, const uint8_t *dst,
                     uint8_t *ip)
{
    const UbUboeRoute *best = NULL;

    for (unsigned i = 0; i < u->routes; i++) {
        const UbUboeRoute *r = &u->route[i];
        unsigned bytes = r->prefix / 8, bits = r->prefix % 8;

        if (r->cfg == cfg && (!best || r->prefix > best->prefix) &&
            !memcmp(r->ip, dst, bytes) &&
            (!bits || !((r->ip[bytes] ^ dst[bytes]) >> (8 - bits)))) {
            best = r;
        }
    }
    memcpy(ip, best && !best->direct ? best->via : dst, ub_ip_bytes(cfg));
}

/* UB_UBOE_COUNTERS_NUM: it may go, and *o says how; else why not. */
static UbUboeCounter look(UbUboe *u, const uint8_t *p, uint32_t len, Out *o)
{
    const uint8_t *ip = p + UB_IPEXT_SIZE;

    if (!u->up) {
        return UB_UBOE_DROP_DOWN;
    }
    if (!ub_lph_is_ip(o->cfg)) {
        return UB_UBOE_DROP_CFG;
    }
    if (len < UB_IPEXT_SIZE) {
        return UB_UBOE_DROP_IP;
    }
    len -= UB_IPEXT_SIZE;
    if (ub_ip_get(ip, len, o->cfg, &o->ip) || o->ip.total > len) {
        return UB_UBOE_DROP_IP;
    }
    if (!is_ub(&o->ip) && !u->conf.plain) {
        return UB_UBOE_DROP_PLAIN;
    }
    if (ub_ether_ip_is_group(o->cfg, o->ip.path.dst)) {
        return UB_UBOE_DROP_GROUP;
    }
    if (!unseal(u, ip, len, o)) {
        return UB_UBOE_DROP_ICRC;
    }
    o->len = o->ip.total;
    if (o->len > u->conf.mtu) {
        return UB_UBOE_DROP_LONG;
    }
    o->cci = ub_ipext_cci(p);
    o->npi = ub_ipext_npi(p);
    o->key = (NeighbourKey) { .cfg = o->cfg };
    if (!vlan_of(u, o->npi, &o->key.vlan)) {
        return UB_UBOE_DROP_NPI;
    }
    next_hop(u, o->cfg, o->ip.path.dst, o->key.ip);
    return UB_UBOE_COUNTERS_NUM;
}

/* The frame to a station that is known. */
static void emit(UbUboe *u, const Out *o, const uint8_t *ip, const uint8_t *mac)
{
    EtherHead h = {
        .vlan = o->key.vlan, .pcp = o->ip.tos >> 5,
        .type = o->cfg == UB_LPH_IPV4 ? ETHER_IPV4 : ETHER_IPV6,
    };
    uint32_t head, len;

    memcpy(h.dst, mac, UB_ETHER_MAC);
    memcpy(h.src, u->conf.mac, UB_ETHER_MAC);
    head = ether_put(u->frame, &h);
    memcpy(u->frame + head, ip, o->len);
    if (u->conf.ecn && ub_cci_has_fecn(o->cci)) {
        unsigned fecn = o->cci & UB_CCI_FECN_BITS;

        ub_ip_set_ecn(u->frame + head, o->cfg, fecn);
        u->count[UB_UBOE_FECN] += ub_fecn_severity(fecn) > 0;
    }
    len = head + o->len;
    if (len < ETHER_LEAST) {
        memset(u->frame + len, 0, ETHER_LEAST - len);
        len = ETHER_LEAST;
    }
    uboe_frame(u, u->frame, len);
}

void ub_uboe_send(UbUboe *u, int64_t now, CorePacket *pkt)
{
    const uint8_t *p = core_packet_data(pkt);
    Out o = { .cfg = ub_meta(pkt)->lph_cfg };
    UbUboeCounter why = look(u, p, pkt->len, &o);
    Neighbour *n;

    u->now = now;
    if (why != UB_UBOE_COUNTERS_NUM) {
        lose(u, why, pkt);
        return;
    }
    n = neighbour_need(u, now, &o.key, o.ip.path.src);
    if (!n) {
        lose(u, UB_UBOE_DROP_UNRESOLVED, pkt);
    } else if (!n->known) {
        neighbour_hold(u, n, pkt);
    } else {
        emit(u, &o, p + UB_IPEXT_SIZE, n->mac);
        core_packet_free(pkt);
    }
}

/* What waited for a neighbour, which is known now. */
static void send_held(UbUboe *u, int64_t now, CorePacket *held)
{
    while (held) {
        CorePacket *pkt = held;

        held = pkt->next;
        pkt->next = NULL;
        ub_uboe_send(u, now, pkt);
    }
}

/* ---- From Ethernet -------------------------------------------------------------------- */

/* Somebody said where he is, and asks perhaps who has an address behind us. */
static void take_talk(UbUboe *u, int64_t now, const EtherHead *h,
                      const EtherTalk *t)
{
    static const uint8_t none[UB_ETHER_MAC];
    NeighbourKey key = { .vlan = h->vlan, .cfg = t->cfg };
    bool asked = !t->answer && u->ops.ours(u->opaque, t->cfg, t->target);
    bool says = memcmp(t->mac, none, UB_ETHER_MAC);
    EtherTalk answer = { .cfg = t->cfg, .answer = true, .probe = t->probe };
    uint8_t frame[ETHER_TALK_MAX];

    if (!t->probe && u->ops.ours(u->opaque, t->cfg, t->ip)) {
        broken(u, UB_UBOE_DROP_SPOOF, "an address that is behind us is claimed "
               "on Ethernet");
        return;
    }
    memcpy(key.ip, t->ip, ub_ip_bytes(t->cfg));
    if (!t->probe && says) {
        send_held(u, now, neighbour_tells(u, now, &key, t->mac, asked));
    }
    if (!asked || !u->conf.answer) {
        return;
    }
    memcpy(answer.ip, t->target, 16);
    memcpy(answer.target, t->ip, 16);
    memcpy(answer.to, says ? t->mac : h->src, UB_ETHER_MAC);
    uboe_count(u, UB_UBOE_ANSWERED);
    uboe_frame(u, frame, ether_talk_put(frame, &answer, u->conf.mac, h->vlan));
}

/* A packet for the network layer.  @len bytes are what IP says. */
static void hand_on(UbUboe *u, int64_t now, unsigned cfg, uint32_t npi,
                    const uint8_t *ip, const UbIpInfo *info)
{
    bool seal = u->conf.icrc && !is_ub(info);
    uint16_t cci = UB_CCI_NO_CONTROL;
    unsigned ecn = info->tos & 3;
    CorePacket *pkt;
    uint8_t *p;

    if (u->ops.rests && u->ops.rests(u->opaque)) {
        uboe_count(u, UB_UBOE_DROP_RESTING);
        return;
    }
    pkt = core_packet_alloc(u->pool, UB_IPEXT_SIZE + info->total +
                            (seal ? UB_ICRC_SIZE : 0));
    if (!pkt) {
        uboe_count(u, UB_UBOE_DROP_NO_ROOM);
        return;
    }
    if (u->conf.ecn && ecn) {
        cci = ub_cci_fecn(false, ecn);
        u->count[UB_UBOE_ECN] += ub_fecn_severity(ecn) > 0;
    }
    p = core_packet_data(pkt);
    ub_ipext_put(p, cci, npi);
    p += UB_IPEXT_SIZE;
    memcpy(p, ip, info->total);
    if (seal) {
        ub_icrc_put(p + info->total, ub_icrc(cfg, ip, info->total));
    }
    ub_meta(pkt)->lph_cfg = cfg;
    uboe_count(u, UB_UBOE_RX_PACKETS);
    u->ops.rx(u->opaque, now, pkt, info->tos >> 2);
}

static void take_ip(UbUboe *u, int64_t now, const EtherHead *h, uint32_t npi,
                    const uint8_t *p, uint32_t len)
{
    unsigned cfg = h->type == ETHER_IPV4 ? UB_LPH_IPV4 : UB_LPH_IPV6;
    const char *rule;
    EtherTalk talk;
    UbIpInfo info;
    bool nd;

    rule = ub_ip_get(p, len, cfg, &info);
    if (rule || info.total > len ||
        (cfg == UB_LPH_IPV4 && core_csum(p, info.header) != 0xffff)) {
        broken(u, UB_UBOE_DROP_IP, rule ? rule :
               "an IP packet longer than its frame, or of a wrong checksum");
        return;
    }
    if (cfg == UB_LPH_IPV6) {
        rule = ether_nd_get(p, len, &nd, &talk);
        if (rule) {
            broken(u, UB_UBOE_DROP_QUESTION, rule);
            return;
        }
        if (nd) {
            take_talk(u, now, h, &talk);
            return;
        }
    }
    if (memcmp(h->dst, u->conf.mac, UB_ETHER_MAC)) {
        uboe_count(u, UB_UBOE_DROP_MAC);
    } else if (ub_ether_ip_is_group(cfg, info.path.dst)) {
        uboe_count(u, UB_UBOE_DROP_GROUP);
    } else if (info.total > u->conf.mtu) {
        uboe_count(u, UB_UBOE_DROP_LONG);
    } else if (!is_ub(&info) && !u->conf.plain) {
        uboe_count(u, UB_UBOE_DROP_PLAIN);
    } else if (ub_ether_ip_is_group(cfg, info.path.src) ||
               u->ops.ours(u->opaque, cfg, info.path.src)) {
        broken(u, UB_UBOE_DROP_SPOOF, "a packet from an address that is not on "
               "Ethernet");
    } else {
        hand_on(u, now, cfg, npi, p, &info);
    }
}

static void take_arp(UbUboe *u, int64_t now, const EtherHead *h,
                     const uint8_t *p, uint32_t len)
{
    EtherTalk talk;
    const char *rule = ether_arp_get(p, len, &talk);

    if (rule) {
        broken(u, UB_UBOE_DROP_QUESTION, rule);
    } else {
        take_talk(u, now, h, &talk);
    }
}

/* Behind the faults. */
static void frame_comes(void *opaque, const uint8_t *frame, size_t len)
{
    UbUboe *u = opaque;
    const int64_t now = u->now;
    EtherHead h;
    uint32_t head = ether_get(frame, len, &h), npi;

    if (!head) {
        broken(u, UB_UBOE_DROP_SHORT, "a frame that is cut short");
        return;
    }
    if (ether_is_group(h.src)) {
        broken(u, UB_UBOE_DROP_MAC, "a frame whose source is many");
        return;
    }
    if (!ether_is_group(h.dst) &&
        memcmp(h.dst, u->conf.mac, UB_ETHER_MAC)) {
        uboe_count(u, UB_UBOE_DROP_MAC);
        return;
    }
    npi = ub_uboe_vlan_npi(u, h.vlan);
    if (!npi) {
        uboe_count(u, UB_UBOE_DROP_VLAN);
        return;
    }
    switch (h.type) {
    case ETHER_ARP:
        take_arp(u, now, &h, frame + head, len - head);
        break;
    case ETHER_IPV4:
    case ETHER_IPV6:
        take_ip(u, now, &h, npi, frame + head, len - head);
        break;
    default:
        uboe_count(u, UB_UBOE_DROP_TYPE);
    }
}

void ub_uboe_rx(UbUboe *u, int64_t now, const uint8_t *frame, uint32_t len)
{
    u->now = now;
    uboe_count(u, UB_UBOE_RX_FRAMES);
    u->count[UB_UBOE_RX_BYTES] += len;
    pass(u, false, frame, len, frame_comes);
}

int64_t ub_uboe_run(UbUboe *u, int64_t now)
{
    int64_t in, out, next;

    u->now = now;
    in = core_fault_timers(&u->fault[false], now, frame_comes, u);
    next = neighbours_run(u, now);
    out = core_fault_timers(&u->fault[true], now, frame_leaves, u);
    next = MIN(next, in);
    return MIN(next, out);
}

/* ---- Faults ------------------------------------------------------------------------------ */

void ub_uboe_set_fault(UbUboe *u, bool out, const CoreFaultPlan *plan)
{
    core_fault_set(&u->fault[out], plan, UB_UBOE_FRAME_MAX);
    memset(u->fault[out].done, 0, sizeof(u->fault[out].done));
}

const CoreFault *ub_uboe_fault(const UbUboe *u, bool out)
{
    return &u->fault[out];
}

/* ---- Tables ------------------------------------------------------------------------------ */

uint32_t ub_uboe_vlan_npi(const UbUboe *u, unsigned vlan)
{
    if (!vlan) {
        return u->conf.npi;
    }
    return u->conf.vlans && vlan <= UB_UBOE_VLAN_MAX ? u->npi[vlan] : 0;
}

const char *ub_uboe_vlan_set(UbUboe *u, unsigned vlan, uint32_t npi)
{
    gpointer key = GUINT_TO_POINTER(npi);

    if (vlan < 1 || vlan > UB_UBOE_VLAN_MAX) {
        return "a VLAN ID is 1 to 4094";
    }
    if (npi && (!ub_npi_valid(npi) || npi & ~UB_NPI_MASK)) {
        return "ID 0 of an NPI is reserved, and it has 25 bits";
    }
    if (npi && u->npi[vlan] != npi && g_hash_table_contains(u->vlan_of, key)) {
        return "the NPI has another VLAN";
    }
    g_hash_table_remove(u->vlan_of, GUINT_TO_POINTER(u->npi[vlan]));
    u->npi[vlan] = npi;
    if (npi) {
        g_hash_table_insert(u->vlan_of, key, GUINT_TO_POINTER(vlan));
    }
    return NULL;
}

const char *ub_uboe_neighbour_set(UbUboe *u, int64_t now, unsigned vlan,
                                  unsigned cfg, const uint8_t *ip,
                                  const uint8_t *mac)
{
    NeighbourKey key = { .vlan = vlan, .cfg = cfg };
    CorePacket *held = NULL;
    const char *why;

    u->now = now;
    if (vlan > UB_UBOE_VLAN_MAX || !ub_lph_is_ip(cfg) ||
        ub_ether_ip_is_group(cfg, ip)) {
        return "no such neighbour can be";
    }
    memcpy(key.ip, ip, ub_ip_bytes(cfg));
    if (!mac) {
        return neighbour_remove(u, &key);
    }
    if (ether_is_group(mac)) {
        return "a neighbour's MAC is that of one station";
    }
    why = neighbour_set(u, &key, mac, &held);
    send_held(u, now, held);
    return why;
}

const char *ub_uboe_route_set(UbUboe *u, unsigned cfg, const uint8_t *ip,
                              unsigned prefix, const uint8_t *via, bool on)
{
    UbUboeRoute new = { .cfg = cfg, .prefix = prefix, .direct = !via };
    unsigned at = 0;

    if (!ub_lph_is_ip(cfg) || prefix > 8 * ub_ip_bytes(cfg)) {
        return "no such prefix can be";
    }
    if (via && ub_ether_ip_is_group(cfg, via)) {
        return "a router has an address of its own";
    }
    /* However a prefix is written, it is one row. */
    memcpy(new.ip, ip, ub_ip_bytes(cfg));
    ub_ip_mask(new.ip, prefix);
    if (via) {
        memcpy(new.via, via, ub_ip_bytes(cfg));
    }
    while (at < u->routes && (u->route[at].cfg != cfg ||
                              u->route[at].prefix != prefix ||
                              memcmp(u->route[at].ip, new.ip, 16))) {
        at++;
    }
    if (!on) {
        if (at == u->routes) {
            return "there is no such prefix";
        }
        u->route[at] = u->route[--u->routes];
        return NULL;
    }
    if (at == UB_UBOE_ROUTES) {
        return "there are 64 prefixes at most";
    }
    u->routes += at == u->routes;
    u->route[at] = new;
    return NULL;
}

bool ub_uboe_route_at(const UbUboe *u, unsigned i, UbUboeRoute *r)
{
    if (i >= u->routes) {
        return false;
    }
    *r = u->route[i];
    return true;
}

/* ---- Life ------------------------------------------------------------------------------- */

void ub_uboe_config_init(UbUboeConfig *cfg)
{
    *cfg = (UbUboeConfig) {
        .mtu = UB_UBOE_MTU_MAX, .ecn = true, .npi = UB_NPI_DEFAULT,
        .plain = true, .icrc = true, .answer = true,
        .retry = INT64_C(1000000000), .age = INT64_C(60000000000),
    };
}

const char *ub_uboe_config_check(const UbUboeConfig *cfg)
{
    static const uint8_t none[UB_ETHER_MAC];

    if (ether_is_group(cfg->mac) || !memcmp(cfg->mac, none, UB_ETHER_MAC)) {
        return "the MAC of an Ethernet link is that of one station";
    }
    if (cfg->mtu < 1280 || cfg->mtu > UB_UBOE_MTU_MAX) {
        return "the MTU of an Ethernet link is 1280 to 9216";
    }
    if (cfg->npi && (!ub_npi_valid(cfg->npi) || cfg->npi & ~UB_NPI_MASK)) {
        return "ID 0 of an NPI is reserved, and it has 25 bits";
    }
    if (cfg->retry <= 0 || cfg->age <= 0) {
        return "questions and neighbours need time";
    }
    return NULL;
}

UbUboe *ub_uboe_new(const UbUboeConfig *cfg, CorePacketPool *pool,
                    const UbUboeOps *ops, void *opaque)
{
    UbUboe *u;

    if (ub_uboe_config_check(cfg)) {
        return NULL;
    }
    u = g_new0(UbUboe, 1);
    u->conf = *cfg;
    u->pool = pool;
    u->ops = *ops;
    u->opaque = opaque;
    u->vlan_of = g_hash_table_new(NULL, NULL);
    neighbours_init(u);
    return u;
}

void ub_uboe_free(UbUboe *u)
{
    if (!u) {
        return;
    }
    neighbours_forget(u, true);
    core_fault_free(&u->fault[false]);
    core_fault_free(&u->fault[true]);
    g_hash_table_destroy(u->neighbours);
    g_hash_table_destroy(u->vlan_of);
    g_free(u);
}

void ub_uboe_reset(UbUboe *u)
{
    neighbours_forget(u, false);
    core_fault_drop(&u->fault[false]);
    core_fault_drop(&u->fault[true]);
    memset(u->count, 0, sizeof(u->count));
}

void ub_uboe_link(UbUboe *u, bool up)
{
    if (u->up && !up) {
        neighbours_forget(u, false);
        core_fault_drop(&u->fault[false]);
        core_fault_drop(&u->fault[true]);
    }
    u->up = up;
}

const UbUboeConfig *ub_uboe_config(const UbUboe *u)
{
    return &u->conf;
}

const char *ub_uboe_configure(UbUboe *u, const UbUboeConfig *cfg)
{
    const char *why = ub_uboe_config_check(cfg);

    if (!why) {
        u->conf = *cfg;
    }
    return why;
}

uint64_t ub_uboe_counter(const UbUboe *u, UbUboeCounter counter)
{
    return u->count[counter];
}

bool ub_uboe_up(const UbUboe *u)
{
    return u->up;
}
