/*
 * Formats of the UB network layer that are more than fields: CCI marks, IP and
 * UDP headers, appendix F.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <string.h>

#include "core/inet.h"
#include "ub/net_format.h"

#define PROTO_UDP 17
#define DEFAULT_HOPS 64

/* ---- CCI --------------------------------------------------------------------- */

uint16_t ub_cci_mark_fecn(uint16_t cci, unsigned severity, bool edge)
{
    static const uint8_t code[] = {
        UB_FECN_NONE, UB_FECN_LIGHT, UB_FECN_HEAVY,
    };
    unsigned carried = cci & UB_CCI_FECN_BITS;

    if (!ub_cci_has_fecn(cci) || carried == UB_FECN_OFF || severity > 2 ||
        severity <= ub_fecn_severity(carried)) {
        return cci;
    }
    return (cci & ~(UB_CCI_FECN_BITS | UB_CCI_LOC)) | code[severity] |
           (edge ? UB_CCI_LOC : 0);
}

/* ---- IP ---------------------------------------------------------------------- */

static void put_ipv4(uint8_t *p, const UbIpPath *path, uint8_t dscp,
                     uint32_t total)
{
    p[0] = 0x45;
    p[1] = dscp << 2;
    put_be16(p + 2, total);
    put_be16(p + 4, 0);
    put_be16(p + 6, 0x4000); /* not to be fragmented */
    p[8] = path->hops ? path->hops : DEFAULT_HOPS;
    p[9] = PROTO_UDP;
    put_be16(p + 10, 0);
    memcpy(p + 12, path->src, 4);
    memcpy(p + 16, path->dst, 4);
    put_be16(p + 10, core_csum_done(core_csum_add(0, p, UB_IPV4_SIZE)));
}

static void put_ipv6(uint8_t *p, const UbIpPath *path, uint8_t dscp,
                     uint32_t payload)
{
    put_be32(p, 6u << 28 | (uint32_t)dscp << 22);
    put_be16(p + 4, payload);
    p[6] = PROTO_UDP;
    p[7] = path->hops ? path->hops : DEFAULT_HOPS;
    memcpy(p + 8, path->src, 16);
    memcpy(p + 24, path->dst, 16);
}

void ub_ip_put(uint8_t *p, unsigned cfg, const UbIpPath *path, uint8_t dscp,
               uint16_t sport, uint32_t payload)
{
    uint32_t udp = UB_UDP_SIZE + payload;

    if (cfg == UB_LPH_IPV4) {
        put_ipv4(p, path, dscp, UB_IPV4_SIZE + udp);
        p += UB_IPV4_SIZE;
    } else {
        put_ipv6(p, path, dscp, udp);
        p += UB_IPV6_SIZE;
    }
    put_be16(p, sport);
    put_be16(p + 2, UB_UDP_PORT);
    put_be16(p + 4, udp);
    put_be16(p + 6, 0);
}

static const char *get_ipv4(const uint8_t *p, uint32_t len, UbIpInfo *info)
{
    if (len < UB_IPV4_SIZE) {
        return "an IPv4 header that is cut short";
    }
    info->header = (p[0] & 15u) * 4;
    info->total = get_be16(p + 2);
    if (p[0] >> 4 != 4 || info->header < UB_IPV4_SIZE || info->header > len ||
        info->total < info->header) {
        return "an IPv4 header with a wrong version or length";
    }
    info->tos = p[1];
    info->fragment = get_be16(p + 6) & 0x3fff;
    info->path.hops = p[8];
    info->protocol = p[9];
    memcpy(info->path.src, p + 12, 4);
    memcpy(info->path.dst, p + 16, 4);
    return NULL;
}

static const char *get_ipv6(const uint8_t *p, uint32_t len, UbIpInfo *info)
{
    if (len < UB_IPV6_SIZE) {
        return "an IPv6 header that is cut short";
    }
    if (p[0] >> 4 != 6) {
        return "an IPv6 header with a wrong version";
    }
    info->header = UB_IPV6_SIZE;
    info->total = UB_IPV6_SIZE + get_be16(p + 4);
    info->tos = get_be16(p) >> 4;
    info->protocol = p[6];
    info->path.hops = p[7];
    memcpy(info->path.src, p + 8, 16);
    memcpy(info->path.dst, p + 24, 16);
    return NULL;
}

const char *ub_ip_get(const uint8_t *p, uint32_t len, unsigned cfg,
                      UbIpInfo *info)
{
    const char *why;

    memset(info, 0, sizeof(*info));
    why = cfg == UB_LPH_IPV4 ? get_ipv4(p, len, info) : get_ipv6(p, len, info);
    if (why) {
        return why;
    }
    if (info->protocol == PROTO_UDP && !info->fragment &&
        len - info->header >= UB_UDP_SIZE) {
        info->udp = true;
        info->sport = get_be16(p + info->header);
        info->dport = get_be16(p + info->header + 2);
    }
    return NULL;
}

unsigned ub_ip_ecn(const uint8_t *ip, unsigned cfg)
{
    return cfg == UB_LPH_IPV4 ? ip[1] & 3 : ip[1] >> 4 & 3;
}

/* Another 16-bit word in an IPv4 header; its checksum follows (RFC 1624). */
static void set_word(uint8_t *ip, unsigned at, uint16_t word)
{
    uint16_t sum = ~get_be16(ip + 10);

    sum = core_csum_join(sum, (uint16_t)~get_be16(ip + at));
    put_be16(ip + 10, ~core_csum_join(sum, word));
    put_be16(ip + at, word);
}

void ub_ip_set_ecn(uint8_t *ip, unsigned cfg, unsigned ecn)
{
    if (cfg == UB_LPH_IPV4) {
        set_word(ip, 0, (get_be16(ip) & ~3) | (ecn & 3));
    } else {
        ip[1] = (ip[1] & ~0x30) | (ecn & 3) << 4;
    }
}

bool ub_ip_hop(uint8_t *ip, unsigned cfg)
{
    unsigned at = cfg == UB_LPH_IPV4 ? 8 : 7;

    if (ip[at] <= 1) {
        return false;
    }
    if (cfg == UB_LPH_IPV4) {
        set_word(ip, 8, get_be16(ip + 8) - 0x100);
    } else {
        ip[7]--;
    }
    return true;
}

/* ---- Appendix F ------------------------------------------------------------------ */

void ub_control_put(uint8_t *p, uint16_t protocol, const uint8_t dguid[16],
                    const uint8_t sguid[16])
{
    put_be16(p, protocol);
    memcpy(p + 2, dguid, 16);
    memcpy(p + 18, sguid, 16);
}

void ub_control_group(uint8_t guid[16], uint16_t protocol)
{
    memset(guid, 0xff, 14);
    put_be16(guid + 14, protocol);
}

uint32_t ub_ip_notify_put(uint8_t *p, const UbIpNotify *n)
{
    unsigned bytes = n->cfg == UB_LPH_IPV4 ? 4 : 16;

    p[0] = (n->cfg == UB_LPH_IPV4 ? 1 : 2) << 4;
    p[1] = n->prefix;
    memcpy(p + 2, n->ip, bytes);
    return 2 + bytes;
}

bool ub_ip_notify_get(const uint8_t *p, uint32_t len, UbIpNotify *n)
{
    unsigned version, bytes;

    memset(n, 0, sizeof(*n));
    if (len < 2) {
        return false;
    }
    version = p[0] >> 4;
    bytes = version == 1 ? 4 : 16;
    /* Senders exist that always send the longer form. */
    if (version < 1 || version > 2 || len < 2 + bytes || p[1] > 8 * bytes) {
        return false;
    }
    n->cfg = version == 1 ? UB_LPH_IPV4 : UB_LPH_IPV6;
    n->prefix = p[1];
    memcpy(n->ip, p + 2, bytes);
    return true;
}
