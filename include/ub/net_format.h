/*
 * Formats of the UB network layer (UB 2.0 §5.2, §5.3.3, §5.3.5, appendix F).
 *
 * Accessors over byte pointers; fields have the document's names, multi-byte
 * ones are big-endian.  RT stands in the LPH, not in the headers here
 * (docs/decisions/ub-net.rst).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef UB_NET_FORMAT_H
#define UB_NET_FORMAT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "core/bytes.h"

/* LPH.CFG: what follows the LPH (appendix B, tables B-1 and B-2). */
typedef enum UbLphCfg {
    UB_LPH_IPV4 = 3,    /* CCI and NPI, IPv4 [UDP 4792, RTPH or UTPH], ICRC */
    UB_LPH_IPV6 = 4,    /* the same with IPv6 */
    UB_LPH_CONTROL = 5, /* Protocol, DGUID, SGUID; no ICRC (appendix F) */
    UB_LPH_CNA16 = 6,   /* NTH of 8 bytes, CTPH or UPIH of a scan, ICRC */
    UB_LPH_CNA24 = 7,   /* NTH of 10 bytes, CTPH or RTPH, ICRC */
    UB_LPH_BYPASS = 9,  /* NTH of 8 bytes, TAH; no TPH, no ICRC */
} UbLphCfg;

static inline bool ub_lph_is_ip(unsigned cfg)
{
    return cfg == UB_LPH_IPV4 || cfg == UB_LPH_IPV6;
}

/* Bytes of an address of such a CFG. */
static inline unsigned ub_ip_bytes(unsigned cfg)
{
    return cfg == UB_LPH_IPV4 ? 4 : 16;
}

/* Clear what is behind a prefix of @prefix bits, at most 128. */
static inline void ub_ip_mask(uint8_t ip[16], unsigned prefix)
{
    unsigned bytes = prefix / 8;

    if (bytes < 16) {
        ip[bytes] &= 0xff00 >> prefix % 8;
        memset(ip + bytes + 1, 0, 15 - bytes);
    }
}

/* RT (table 5-7): two bits. */
typedef enum UbRt {
    UB_RT_FLOW = 0,            /* one path for a flow, of all paths */
    UB_RT_PACKET = 1,          /* a path for each packet, of all paths */
    UB_RT_FLOW_SHORTEST = 2,   /* of the shortest ones */
    UB_RT_PACKET_SHORTEST = 3,
} UbRt;
#define UB_RT__PACKET 1u
#define UB_RT__SHORTEST 2u

/* NTH.NLP, by CFG. */
enum {
    UB_NLP_CTPH = 0, /* CFG 6, 7 */
    UB_NLP_SCAN = 1, /* CFG 6: 16-bit UPIH, Scan Header */
    UB_NLP_RTPH = 2, /* CFG 7 */
    UB_NLP_TAH = 0,  /* CFG 9 */
};

#define UB_UDP_PORT 4792
#define UB_ICRC_SIZE 4
/* Header bytes of the network layer, in front of the TPH. */
#define UB_NTH16_SIZE 8
#define UB_NTH24_SIZE 10
#define UB_IPEXT_SIZE 6
#define UB_IPV4_SIZE 20
#define UB_IPV6_SIZE 40
#define UB_UDP_SIZE 8
#define UB_IPV4_PATH_SIZE (UB_IPEXT_SIZE + UB_IPV4_SIZE + UB_UDP_SIZE)
#define UB_IPV6_PATH_SIZE (UB_IPEXT_SIZE + UB_IPV6_SIZE + UB_UDP_SIZE)
#define UB_CONTROL_SIZE 34

/* ---- NTH with CNAs (§5.2.1, §5.2.2) ---------------------------------------- */

/* The fields of both forms; in the longer one there is no Mgmt. */
typedef struct UbNth {
    uint32_t scna, dcna; /* 16 or 24 bits */
    uint16_t cci;
    uint8_t lbf, sl, nlp;
    bool mgmt;
} UbNth;

static inline void ub_nth16_put(uint8_t *p, const UbNth *h)
{
    put_be16(p, h->scna);
    put_be16(p + 2, h->dcna);
    put_be16(p + 4, h->cci);
    p[6] = h->lbf;
    p[7] = (h->sl & 15u) << 4 | (h->mgmt ? 8 : 0) | (h->nlp & 7u);
}

static inline void ub_nth16_get(const uint8_t *p, UbNth *h)
{
    h->scna = get_be16(p);
    h->dcna = get_be16(p + 2);
    h->cci = get_be16(p + 4);
    h->lbf = p[6];
    h->sl = p[7] >> 4;
    h->mgmt = p[7] & 8;
    h->nlp = p[7] & 7;
}

static inline void ub_nth24_put(uint8_t *p, const UbNth *h)
{
    put_be24(p, h->scna);
    put_be24(p + 3, h->dcna);
    put_be16(p + 6, h->cci);
    p[8] = h->lbf;
    p[9] = (h->sl & 15u) << 4 | (h->nlp & 7u);
}

static inline void ub_nth24_get(const uint8_t *p, UbNth *h)
{
    h->scna = get_be24(p);
    h->dcna = get_be24(p + 3);
    h->cci = get_be16(p + 6);
    h->lbf = p[8];
    h->sl = p[9] >> 4;
    h->mgmt = false;
    h->nlp = p[9] & 7;
}

/* ---- CCI (§5.3.5.1) --------------------------------------------------------- */

typedef enum UbCciMode { /* CCI[15:13]; the others are reserved */
    UB_CCI_CAQM = 0,
    UB_CCI_FECN_RTT = 2,
    UB_CCI_FECN = 4,
} UbCciMode;

/* FECN code points, the same as those of IP's ECN. */
typedef enum UbFecn {
    UB_FECN_OFF = 0,   /* not to be marked */
    UB_FECN_LIGHT = 1,
    UB_FECN_NONE = 2,  /* no congestion met */
    UB_FECN_HEAVY = 3,
} UbFecn;

#define UB_CCI_LOC 0x1000u /* congestion at the receiver's edge switch */
#define UB_CCI_ENABLE 0x0400u /* of CAQM */
#define UB_CCI_C 0x0200u
#define UB_CCI_I 0x0100u
#define UB_CCI_HINT 0x00ffu
#define UB_CCI_FECN_BITS 0x0003u
#define UB_CCI_NO_CONTROL 0x0000u /* CAQM that is not enabled */

static inline unsigned ub_cci_mode(uint16_t cci)
{
    return cci >> 13;
}

/* Whether the CCI has a FECN field. */
static inline bool ub_cci_has_fecn(uint16_t cci)
{
    return ub_cci_mode(cci) == UB_CCI_FECN ||
           ub_cci_mode(cci) == UB_CCI_FECN_RTT;
}

static inline uint16_t ub_cci_caqm(bool loc, bool c, bool i, uint8_t hint)
{
    return UB_CCI_CAQM << 13 | UB_CCI_ENABLE | (loc ? UB_CCI_LOC : 0) |
           (c ? UB_CCI_C : 0) | (i ? UB_CCI_I : 0) | hint;
}

static inline uint16_t ub_cci_fecn(bool loc, UbFecn fecn)
{
    return UB_CCI_FECN << 13 | (loc ? UB_CCI_LOC : 0) | fecn;
}

/* With the sender's Timestamp of ten bits, which comes back in a CNP. */
static inline uint16_t ub_cci_fecn_rtt(bool loc, uint16_t timestamp,
                                       UbFecn fecn)
{
    return UB_CCI_FECN_RTT << 13 | (loc ? UB_CCI_LOC : 0) |
           (timestamp & 0x3ffu) << 2 | fecn;
}

static inline uint16_t ub_cci_timestamp(uint16_t cci)
{
    return cci >> 2 & 0x3ff;
}

/* How bad a FECN is: 0 none, 1 light, 2 heavy; OFF counts as none. */
static inline unsigned ub_fecn_severity(unsigned fecn)
{
    return fecn == UB_FECN_HEAVY ? 2 : fecn == UB_FECN_LIGHT;
}

/*
 * What a node with congestion @severity (0 none, 1 light, 2 heavy) on the way
 * out makes of a CCI with FECN: the worst hop stays (§5.3.5.2).  @edge: the node
 * is the receiver's edge switch.
 */
uint16_t ub_cci_mark_fecn(uint16_t cci, unsigned severity, bool edge);

/* ---- NPI (§5.3.3) ----------------------------------------------------------- */

#define UB_NPI_ID 0x00ffffffu
#define UB_NPI_LOW 0x01000000u /* Permission: 1 low */
#define UB_NPI_MASK 0x01ffffffu
#define UB_NPI_DEFAULT 1u

/* A valid one: its ID is not 0. */
static inline bool ub_npi_valid(uint32_t npi)
{
    return npi & UB_NPI_ID;
}

/* Whether two ends may talk: the same ID, and not both of low permission. */
static inline bool ub_npi_match(uint32_t a, uint32_t b)
{
    return ub_npi_valid(a) && !((a ^ b) & UB_NPI_ID) &&
           !(a & b & UB_NPI_LOW);
}

/* ---- The extension in front of an IP header (§5.2.3) ------------------------ */

static inline void ub_ipext_put(uint8_t *p, uint16_t cci, uint32_t npi)
{
    put_be16(p, cci);
    put_be32(p + 2, npi & UB_NPI_MASK);
}

static inline uint16_t ub_ipext_cci(const uint8_t *p)
{
    return get_be16(p);
}

static inline uint32_t ub_ipext_npi(const uint8_t *p)
{
    return get_be32(p + 2) & UB_NPI_MASK;
}

/* Addresses of an IP path; of IPv4 the first four bytes. */
typedef struct UbIpPath {
    uint8_t src[16], dst[16];
    uint8_t hops; /* TTL or Hop Limit; to be sent: 0 is 64 */
} UbIpPath;

/*
 * IP and UDP headers for a UB packet (tables 5-4 to 5-6).  @payload: bytes from
 * the TPH to the ICRC.  They are UB_IPV4_SIZE or UB_IPV6_SIZE + UB_UDP_SIZE.
 */
void ub_ip_put(uint8_t *p, unsigned cfg, const UbIpPath *path, uint8_t dscp,
               uint16_t sport, uint32_t payload);

/* What an IP header at @p with @len bytes behind its start says. */
typedef struct UbIpInfo {
    UbIpPath path;
    uint32_t header;  /* its length, extension headers not counted */
    uint32_t total;   /* from the header on, as the header says */
    uint8_t tos;      /* DSCP and ECN */
    uint8_t protocol; /* or Next Header */
    bool fragment;
    bool udp;         /* a whole UDP header follows */
    uint16_t sport, dport;
} UbIpInfo;

/* NULL, or the rule that the header breaks. */
const char *ub_ip_get(const uint8_t *p, uint32_t len, unsigned cfg,
                      UbIpInfo *info);
/* The ECN field, and another value in it; IPv4's checksum follows. */
unsigned ub_ip_ecn(const uint8_t *ip, unsigned cfg);
void ub_ip_set_ecn(uint8_t *ip, unsigned cfg, unsigned ecn);
/* One hop less; false: there was only one left. */
bool ub_ip_hop(uint8_t *ip, unsigned cfg);

/* ---- ICRC (§5.3.7) ------------------------------------------------------------ */

/*
 * The ICRC of @len bytes from the NTH, or of CFG 3 and 4 from the IP header, to
 * the last byte in front of the ICRC, as the number that CRC-32 gives.  What may
 * change on the way counts as ones.  Shorter than its headers: as if there were
 * none.
 */
uint32_t ub_icrc(unsigned cfg, const uint8_t *p, uint32_t len);
/* Whether packets of a CFG have one. */
static inline bool ub_has_icrc(unsigned cfg)
{
    return ub_lph_is_ip(cfg) || cfg == UB_LPH_CNA16 || cfg == UB_LPH_CNA24;
}
/* To and from the wire: the order of Ethernet's FCS. */
static inline void ub_icrc_put(uint8_t *p, uint32_t icrc)
{
    put_le32(p, icrc);
}
static inline uint32_t ub_icrc_get(const uint8_t *p)
{
    return get_le32(p);
}

/* ---- MTU (§D.1.13) ------------------------------------------------------------ */

/* Bytes of a code of MTU_CFG, 0 for reserved ones, and back (-1: none). */
static inline uint32_t ub_mtu_bytes(unsigned code)
{
    return code == 0 ? 1024 : code == 1 ? 4096 : code == 2 ? 8192 : 0;
}
static inline int ub_mtu_code(uint32_t bytes)
{
    return bytes == 1024 ? 0 : bytes == 4096 ? 1 : bytes == 8192 ? 2 : -1;
}

/* ---- Network management over UB links (appendix F) --------------------------- */

enum {
    UB_CONTROL_DHCPV4 = 0x100,
    UB_CONTROL_DHCPV6 = 0x101,
    UB_CONTROL_IP_NOTIFY = 0x102,
    UB_CONTROL_ULAP = 0x104,
    UB_CONTROL_NPIC = 0x106,
};

/* Header of CFG 5: Protocol, DGUID, SGUID. */
static inline uint16_t ub_control_protocol(const uint8_t *p)
{
    return get_be16(p);
}
static inline const uint8_t *ub_control_dguid(const uint8_t *p)
{
    return p + 2;
}
static inline const uint8_t *ub_control_sguid(const uint8_t *p)
{
    return p + 18;
}
void ub_control_put(uint8_t *p, uint16_t protocol, const uint8_t dguid[16],
                    const uint8_t sguid[16]);
/* The well-known GUID of a protocol. */
void ub_control_group(uint8_t guid[16], uint16_t protocol);

/* IP notify (§F.2.3): an address of the sender.  CFG is UB_LPH_IPV4 or _IPV6. */
typedef struct UbIpNotify {
    uint8_t cfg, prefix;
    uint8_t ip[16];
} UbIpNotify;
#define UB_IP_NOTIFY_MAX 18
/* Bytes put at @p. */
uint32_t ub_ip_notify_put(uint8_t *p, const UbIpNotify *n);
/* False: no such PDU. */
bool ub_ip_notify_get(const uint8_t *p, uint32_t len, UbIpNotify *n);

/* NPIC (§F.2.5): pairs of GUID and NPI. */
enum { UB_NPIC_CONFIGURE = 1, UB_NPIC_CLEAR = 2 };
#define UB_NPIC_HEADER 4
#define UB_NPIC_PAIR 20

#endif
