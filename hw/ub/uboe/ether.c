/*
 * Ethernet frames, ARP (RFC 826) and Neighbour Discovery (RFC 4861), as far as UB
 * over Ethernet needs them.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <string.h>

#include "core/inet.h"
#include "internal.h"

#define PROTO_ICMPV6 58
enum { ND_SOLICIT = 135, ND_ADVERT = 136 };
enum { ND_OPT_SOURCE = 1, ND_OPT_TARGET = 2 };
#define ND_SIZE 24      /* up to its options */
#define ND_OPT 8        /* a MAC */
#define ND_HOPS 255
enum { ND_SOLICITED = 0x40, ND_OVERRIDE = 0x20, ND_ROUTER = 0x80 };
#define ARP_SIZE 28
enum { ARP_REQUEST = 1, ARP_REPLY = 2 };

static const uint8_t zeroes[16];
static const uint8_t all_nodes[16] = { 0xff, 2, [15] = 1 };

/* ---- Addresses ----------------------------------------------------------------- */

bool ub_ether_ip_is_group(unsigned cfg, const uint8_t *ip)
{
    if (cfg == UB_LPH_IPV4) {
        return ip[0] >= 224 || ip[0] == 127 || !ip[0];
    }
    return ip[0] == 0xff || (!memcmp(ip, zeroes, 15) && ip[15] <= 1);
}

bool ub_ether_mac(const char *text, uint8_t mac[UB_ETHER_MAC])
{
    for (unsigned i = 0; i < UB_ETHER_MAC; i++, text += 3) {
        int high = g_ascii_xdigit_value(text[0]);
        int low = high < 0 ? -1 : g_ascii_xdigit_value(text[1]);

        if (low < 0 || text[2] != (i < UB_ETHER_MAC - 1 ? ':' : 0)) {
            return false;
        }
        mac[i] = high << 4 | low;
    }
    return true;
}

/* ---- Frames ------------------------------------------------------------------- */

uint32_t ether_put(uint8_t *p, const EtherHead *h)
{
    uint32_t n = 12;

    memcpy(p, h->dst, UB_ETHER_MAC);
    memcpy(p + 6, h->src, UB_ETHER_MAC);
    if (h->vlan) {
        put_be16(p + n, ETHER_VLAN);
        put_be16(p + n + 2, h->pcp << 13 | h->vlan);
        n += ETHER_TAG;
    }
    put_be16(p + n, h->type);
    return n + 2;
}

uint32_t ether_get(const uint8_t *p, uint32_t len, EtherHead *h)
{
    uint32_t n = ETHER_SIZE;

    if (len < ETHER_SIZE) {
        return 0;
    }
    memset(h, 0, sizeof(*h));
    memcpy(h->dst, p, UB_ETHER_MAC);
    memcpy(h->src, p + 6, UB_ETHER_MAC);
    h->type = get_be16(p + 12);
    if (h->type == ETHER_VLAN) {
        n += ETHER_TAG;
        if (len < n) {
            return 0;
        }
        h->pcp = p[14] >> 5;
        h->vlan = get_be16(p + 14) & 0xfff;
        h->type = get_be16(p + 16);
    }
    return n;
}

/* ---- ARP ---------------------------------------------------------------------- */

static uint32_t arp_put(uint8_t *p, const EtherTalk *t, const uint8_t *mac)
{
    put_be16(p, 1);             /* Ethernet */
    put_be16(p + 2, ETHER_IPV4);
    p[4] = UB_ETHER_MAC;
    p[5] = 4;
    put_be16(p + 6, t->answer ? ARP_REPLY : ARP_REQUEST);
    memcpy(p + 8, mac, UB_ETHER_MAC);
    memcpy(p + 14, t->ip, 4);
    memcpy(p + 18, t->answer ? t->to : zeroes, UB_ETHER_MAC);
    memcpy(p + 24, t->target, 4);
    return ARP_SIZE;
}

const char *ether_arp_get(const uint8_t *p, uint32_t len, EtherTalk *t)
{
    unsigned op;

    memset(t, 0, sizeof(*t));
    if (len < ARP_SIZE) {
        return "ARP that is cut short";
    }
    op = get_be16(p + 6);
    if (get_be16(p) != 1 || get_be16(p + 2) != ETHER_IPV4 ||
        p[4] != UB_ETHER_MAC || p[5] != 4 ||
        (op != ARP_REQUEST && op != ARP_REPLY)) {
        return "ARP of another kind than IPv4 over Ethernet";
    }
    t->cfg = UB_LPH_IPV4;
    t->answer = op == ARP_REPLY;
    memcpy(t->mac, p + 8, UB_ETHER_MAC);
    memcpy(t->ip, p + 14, 4);
    memcpy(t->target, p + 24, 4);
    t->probe = !memcmp(t->ip, zeroes, 4);
    if (ether_is_group(t->mac) ||
        (!t->probe && ub_ether_ip_is_group(UB_LPH_IPV4, t->ip))) {
        return "ARP of a sender that is many";
    }
    return NULL;
}

/* ---- Neighbour Discovery ---------------------------------------------------------- */

/* The checksum over pseudo header and message, its field being zero; a message that
 * has it sums to ones. */
static uint16_t nd_sum(const uint8_t *ip, uint32_t len)
{
    uint16_t sum = core_csum_join(core_csum(ip + 8, 32), len + PROTO_ICMPV6);

    return core_csum_join(sum, core_csum(ip + UB_IPV6_SIZE, len));
}

static uint32_t nd_put(uint8_t *ip, const EtherTalk *t, const uint8_t *mac)
{
    uint32_t len = ND_SIZE + ND_OPT;
    uint8_t *p = ip + UB_IPV6_SIZE;

    memset(ip, 0, UB_IPV6_SIZE + len);
    ip[0] = 6 << 4;
    put_be16(ip + 4, len);
    ip[6] = PROTO_ICMPV6;
    ip[7] = ND_HOPS;
    memcpy(ip + 8, t->ip, 16);
    if (!t->answer) {           /* to its solicited-node group */
        memcpy(ip + 24, (const uint8_t[13]) { 0xff, 2, [11] = 1, 0xff }, 13);
        memcpy(ip + 37, t->target + 13, 3);
    } else {
        memcpy(ip + 24, t->probe ? all_nodes : t->target, 16);
    }
    p[0] = t->answer ? ND_ADVERT : ND_SOLICIT;
    if (t->answer) {
        p[4] = ND_OVERRIDE | (t->probe ? 0 : ND_SOLICITED);
    }
    memcpy(p + 8, t->answer ? t->ip : t->target, 16);
    p[ND_SIZE] = t->answer ? ND_OPT_TARGET : ND_OPT_SOURCE;
    p[ND_SIZE + 1] = 1;
    memcpy(p + ND_SIZE + 2, mac, UB_ETHER_MAC);
    put_be16(p + 2, (uint16_t)~nd_sum(ip, len));
    return UB_IPV6_SIZE + len;
}

/* The MAC of an option; false: the options break a rule. */
static bool nd_option(const uint8_t *p, uint32_t len, unsigned type,
                      uint8_t *mac)
{
    while (len) {
        uint32_t n = len < 2 ? 0 : p[1] * 8u;

        if (!n || n > len) {
            return false;
        }
        if (p[0] == type && n == ND_OPT) {
            memcpy(mac, p + 2, UB_ETHER_MAC);
        }
        p += n;
        len -= n;
    }
    return true;
}

const char *ether_nd_get(const uint8_t *ip, uint32_t len, bool *is,
                         EtherTalk *t)
{
    const uint8_t *p = ip + UB_IPV6_SIZE;
    uint32_t n;

    memset(t, 0, sizeof(*t));
    *is = len > UB_IPV6_SIZE && ip[6] == PROTO_ICMPV6 &&
          (p[0] == ND_SOLICIT || p[0] == ND_ADVERT);
    if (!*is) {
        return NULL;
    }
    n = get_be16(ip + 4);
    if (n < ND_SIZE || n > len - UB_IPV6_SIZE || ip[7] != ND_HOPS || p[1]) {
        return "Neighbour Discovery that is cut short or was forwarded";
    }
    if (nd_sum(ip, n) != 0xffff) {
        return "Neighbour Discovery with a wrong checksum";
    }
    t->cfg = UB_LPH_IPV6;
    t->answer = p[0] == ND_ADVERT;
    /* An advertisement is of its target, whoever it is from. */
    memcpy(t->ip, t->answer ? p + 8 : ip + 8, 16);
    memcpy(t->target, t->answer ? ip + 24 : p + 8, 16);
    t->probe = !t->answer && !memcmp(t->ip, zeroes, 16);
    if (!nd_option(p + ND_SIZE, n - ND_SIZE,
                   t->answer ? ND_OPT_TARGET : ND_OPT_SOURCE, t->mac)) {
        return "Neighbour Discovery with an option that has no length";
    }
    if (ether_is_group(t->mac) ||
        (!t->probe && ub_ether_ip_is_group(UB_LPH_IPV6, t->ip))) {
        return "Neighbour Discovery of a sender that is many";
    }
    return NULL;
}

/* ---- Both -------------------------------------------------------------------------- */

/* Where a frame for @ip, a group of IPv6, or for all of IPv4 goes. */
static void group_mac(uint8_t *mac, unsigned cfg, const uint8_t *ip)
{
    if (cfg == UB_LPH_IPV4) {
        memset(mac, 0xff, UB_ETHER_MAC);
    } else {
        mac[0] = mac[1] = 0x33;
        memcpy(mac + 2, ip + 12, 4);
    }
}

uint32_t ether_talk_put(uint8_t *frame, const EtherTalk *t, const uint8_t *mac,
                        unsigned vlan)
{
    bool v4 = t->cfg == UB_LPH_IPV4;
    EtherHead h = { .vlan = vlan, .type = v4 ? ETHER_ARP : ETHER_IPV6 };
    uint32_t head, len;

    memcpy(h.src, mac, UB_ETHER_MAC);
    memcpy(h.dst, t->to, UB_ETHER_MAC);
    head = ether_put(frame, &h);
    len = v4 ? arp_put(frame + head, t, mac) : nd_put(frame + head, t, mac);
    if (!t->answer || (t->probe && !v4)) {
        group_mac(frame, t->cfg, frame + head + 24);
    }
    if (head + len < ETHER_LEAST) {
        memset(frame + head + len, 0, ETHER_LEAST - head - len);
        return ETHER_LEAST;
    }
    return head + len;
}
