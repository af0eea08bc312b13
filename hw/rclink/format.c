/*
 * RC Link: frames (RC Link §12.3, §12.10).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "core/bytes.h"
#include "core/crc32.h"
#include "core/inet.h"
#include "rclink/format.h"

enum {
    ETH_BYTES = 14,
    VLAN_BYTES = 4,
    IP_BYTES = 20,
    UDP_BYTES = 8,
    LITE_BYTES = 12,
    PKT_LEN_MAX = 127,
};

static void put_be48(uint8_t *p, uint64_t v)
{
    put_be16(p, v >> 32);
    put_be32(p + 2, v);
}

static uint64_t get_be48(const uint8_t *p)
{
    return (uint64_t)get_be16(p) << 32 | get_be32(p + 2);
}

/* ---- RH ---- */

/* Fields from bit 63 down, as the table has them. */
uint64_t rcl_rh_pack(const RclRh *rh)
{
    return (uint64_t)(rh->opcode & 3) << 62 | (uint64_t)rh->fack << 61 |
           (uint64_t)(rh->pad & 3) << 59 | (uint64_t)rh->ts_en << 56 |
           (uint64_t)rh->ts << 40 | (uint64_t)rh->pkey << 32 |
           (uint64_t)(rh->len & 0x7f) << 25 |
           (uint64_t)(rh->psn & 0xfff) << 13 | (rh->qp & 0x1fff);
}

void rcl_rh_unpack(uint64_t v, RclRh *rh)
{
    *rh = (RclRh) {
        .opcode = v >> 62, .fack = v >> 61 & 1, .pad = v >> 59 & 3,
        .ts_en = v >> 56 & 1, .ts = v >> 40, .pkey = v >> 32,
        .len = v >> 25 & 0x7f, .psn = v >> 13 & 0xfff, .qp = v & 0x1fff,
    };
}

/* Fields in the opposite order, Dest_QP sent first, each with its high bit
 * first. */
static uint64_t rfc_pack(const RclRh *rh)
{
    return (uint64_t)(rh->qp & 0x1fff) << 51 |
           (uint64_t)(rh->psn & 0xfff) << 39 |
           (uint64_t)(rh->len & 0x7f) << 32 | (uint64_t)rh->pkey << 24 |
           (uint64_t)rh->ts << 8 | (uint64_t)rh->ts_en << 7 |
           (rh->pad & 3) << 3 | rh->fack << 2 | (rh->opcode & 3);
}

static void rfc_unpack(uint64_t v, RclRh *rh)
{
    *rh = (RclRh) {
        .opcode = v & 3, .fack = v >> 2 & 1, .pad = v >> 3 & 3,
        .ts_en = v >> 7 & 1, .ts = v >> 8, .pkey = v >> 24,
        .len = v >> 32 & 0x7f, .psn = v >> 39 & 0xfff, .qp = v >> 51,
    };
}

void rcl_rh_put(uint8_t *p, const RclRh *rh, RclRhOrder order)
{
    if (order == RCL_RH_LE) {
        put_le64(p, rcl_rh_pack(rh));
    } else {
        put_be64(p, order == RCL_RH_BE ? rcl_rh_pack(rh) : rfc_pack(rh));
    }
}

void rcl_rh_get(const uint8_t *p, RclRh *rh, RclRhOrder order)
{
    if (order == RCL_RH_RFC) {
        rfc_unpack(get_be64(p), rh);
    } else {
        rcl_rh_unpack(order == RCL_RH_LE ? get_le64(p) : get_be64(p), rh);
    }
}

/* ---- sizes ---- */

unsigned rcl_moved(const RclLayout *l)
{
    switch (l->format) {
    case RCL_GEN2:
        return RCL_MOVED_MAX;
    case RCL_LITE:
        /* The source's number takes the place of three. */
        return l->lite_high ? RCL_MOVED_MAX / 2 : RCL_MOVED_MAX;
    default:
        return 0;
    }
}

unsigned rcl_header_bytes(const RclLayout *l)
{
    if (l->format == RCL_LITE) {
        return LITE_BYTES;
    }
    return ETH_BYTES + (l->vlan ? VLAN_BYTES : 0) + RCL_RH_BYTES +
           (l->format == RCL_STANDARD ? IP_BYTES + UDP_BYTES : 0);
}

/* Whether frames of @kind end with an ICRC. */
static bool has_icrc(const RclLayout *l, RclKind kind)
{
    return l->icrc && kind == RCL_TYPE1 && l->format != RCL_LITE;
}

unsigned rcl_frame_bytes(const RclLayout *l, RclKind kind, unsigned len)
{
    unsigned moved = rcl_moved(l);
    unsigned n = rcl_header_bytes(l) + (len > moved ? len - moved : 0) +
                 (l->format == RCL_LITE ? 0 : -len & 3) +
                 (has_icrc(l, kind) ? RCL_ICRC_BYTES : 0);

    return (n < RCL_FRAME_MIN ? RCL_FRAME_MIN : n) + RCL_FCS_BYTES;
}

/* ---- ICRC ---- */

/* That of RoCEv2 (IB annex A17.9): from the IP header on, what a router
 * changes masked. */
static uint32_t icrc_roce(const uint8_t *ip, size_t len)
{
    uint8_t head[8 + IP_BYTES + UDP_BYTES];
    uint32_t crc;

    memset(head, 0xff, 8);
    memcpy(head + 8, ip, IP_BYTES + UDP_BYTES);
    head[8 + 1] = head[8 + 8] = 0xff;                   /* ToS, TTL */
    memset(head + 8 + 10, 0xff, 2);                     /* checksums */
    memset(head + 8 + IP_BYTES + 6, 0xff, 2);
    crc = core_crc32(UINT32_MAX, head, sizeof(head));
    return ~core_crc32(crc, ip + IP_BYTES + UDP_BYTES,
                       len - IP_BYTES - UDP_BYTES);
}

/* @rh: RH, payload and pad in one piece; @ip is NULL or the header in front. */
static uint32_t icrc_of(const RclLayout *l, const uint8_t *ip,
                        const uint8_t *rh, size_t len)
{
    if (l->icrc_roce && ip) {
        return icrc_roce(ip, IP_BYTES + UDP_BYTES + len);
    }
    return ~core_crc32(UINT32_MAX, rh, len);
}

/* ---- building ---- */

static uint8_t *put_addresses(const RclLayout *l, const RclHead *h,
                              const uint8_t *payload, size_t len,
                              uint8_t *p)
{
    uint8_t key = h->kind == RCL_TYPE1 ? RCL_KEY_TYPE1 : RCL_KEY_TYPE2;
    uint64_t sa = l->mac;
    bool xpu = l->format == RCL_LITE && h->kind == RCL_TYPE1;
    unsigned id = xpu ? h->rh.qp / l->vcs : l->mac & 0xffff;

    /* Of Dest_qpid, {XPU_ID, BANK} (RC Link §12.10), whose BANK the class tells. */
    if (xpu && !l->lite_high) {
        sa = (sa & ~UINT64_C(0xffff)) | id;
    }
    put_be48(p, h->da);
    put_be48(p + 6, sa);
    if (l->format == RCL_GEN1 && l->gen1_tc) {
        p[6] = h->tc;
    } else if (l->format >= RCL_GEN2) {
        p[0] = l->slap ? key : h->tc;
        p[6] = l->slap ? h->tc : key;
        memset(p + 1, 0, 3);
        memset(p + 7, 0, 3);
        if (len) {
            memcpy(p + 1, payload, 3);
        }
        if (l->format == RCL_LITE && l->lite_high) {
            put_be16(p + 7, id << 6);                   /* SA[39:30] */
        } else if (len) {
            memcpy(p + 7, payload + 3, 3);
        }
    }
    return p + 12;
}

static uint8_t *put_ip_udp(const RclLayout *l, const RclHead *h, size_t len,
                           uint8_t *p)
{
    /* As words, which are summed on the way: what was just written in bytes
     * would be slow to read again. */
    uint32_t w0 = 0x45000000 | (uint32_t)h->tos << 16 |
                  (IP_BYTES + UDP_BYTES + len);
    uint32_t w1 = (uint32_t)l->ip_id << 16 | 0x4000;
    uint32_t w2 = (uint32_t)l->ttl << 24 | 17 << 16;
    uint64_t sum;

    /* The house sums memory; here the words are numbers.  Their ones-complement sum is
     * what is left of them by 0xffff, and 0xffff where that is 0, as they are not. */
    sum = (uint64_t)w0 + w1 + w2 + l->ip + h->dip;
    w2 |= 0xffff - ((sum - 1) % 0xffff + 1);
    put_be64(p, (uint64_t)w0 << 32 | w1);
    put_be64(p + 8, (uint64_t)w2 << 32 | l->ip);
    put_be32(p + 16, h->dip);
    p += IP_BYTES;
    put_be64(p, (uint64_t)h->sport << 48 | (uint64_t)h->dport << 32 |
                (uint64_t)(UDP_BYTES + len) << 16 |
                (l->udp_csum_ffff ? 0xffff : 0));
    return p + UDP_BYTES;
}

/*
 * What is left of the payload, its pad and the ICRC, behind RH.  The ICRC is of
 * one piece: RH, payload, pad.
 */
static uint8_t *put_payload(const RclLayout *l, bool icrc, const uint8_t *ip,
                            uint8_t *p, const uint8_t *payload, size_t len,
                            unsigned moved, unsigned pad)
{
    bool roce = l->icrc_roce && ip;
    uint32_t crc = 0;

    if (!len) {
        payload = p;    /* answers have none */
    }
    if (icrc && !roce) {
        const uint8_t *rh = p - RCL_RH_BYTES;

        crc = UINT32_MAX;
        if (moved) {
            crc = core_crc32_generic(crc, rh, RCL_RH_BYTES);
            crc = core_crc32_generic(crc, payload, moved);
            rh = NULL;
        }
        crc = core_crc32_copy(crc, rh, p, payload + moved, len - moved);
    } else {
        memcpy(p, payload + moved, len - moved);
    }
    p += len - moved;
    if (pad) {
        memset(p, 0, pad);
        crc = core_crc32_generic(crc, p, pad);
        p += pad;
    }
    if (icrc) {
        put_le32(p, roce ? icrc_roce(ip, p - ip) : ~crc);
        p += RCL_ICRC_BYTES;
    }
    return p;
}

/* All in front of the payload; @*ip becomes the IP header or NULL. */
static uint8_t *put_head(const RclLayout *l, RclHead *h, const uint8_t *payload,
                         size_t len, uint8_t *out, uint8_t **ip)
{
    uint8_t *p = put_addresses(l, h, payload, len, out);
    unsigned pad = -len & 3;

    *ip = NULL;
    if (l->format == RCL_LITE) {
        return p;
    }
    if (l->vlan) {
        put_be16(p, l->tpid);
        put_be16(p + 2, l->tci | (l->vlan_pri ? h->pri << 13 : 0));
        p += VLAN_BYTES;
    }
    put_be16(p, l->format == RCL_STANDARD ? 0x0800 :
                h->kind == RCL_TYPE1 ? l->mac_type1 : l->mac_type2);
    p += 2;
    if (l->format == RCL_STANDARD) {
        *ip = p;
        p = put_ip_udp(l, h, RCL_RH_BYTES + len + pad +
                             (has_icrc(l, h->kind) ? RCL_ICRC_BYTES : 0), p);
    }
    if (h->rh.opcode == RCL_OP_SEND) {
        h->rh.pad = pad;
        h->rh.len = RCL_RH_BYTES + len <= PKT_LEN_MAX ? RCL_RH_BYTES + len : 0;
    }
    rcl_rh_put(p, &h->rh, l->rh_order);
    return p + RCL_RH_BYTES;
}

/* The length of a frame whose last byte is in front of @p. */
static size_t frame_end(uint8_t *out, uint8_t *p)
{
    if (p - out < RCL_FRAME_MIN) {
        memset(p, 0, RCL_FRAME_MIN - (p - out));
        return RCL_FRAME_MIN;
    }
    return p - out;
}

size_t rcl_frame_put(const RclLayout *l, RclHead *h, const uint8_t *payload,
                     size_t len, uint8_t *out)
{
    uint8_t *ip, *p = put_head(l, h, payload, len, out, &ip);

    return frame_end(out, put_payload(l, has_icrc(l, h->kind), ip, p, payload,
                                      len, len ? rcl_moved(l) : 0,
                                      l->format == RCL_LITE ? 0 : -len & 3));
}

bool rcl_stencil_cut(const RclLayout *l, RclHead *h, size_t len, RclStencil *s)
{
    uint8_t *ip;

    if (rcl_moved(l)) {
        return false;   /* its addresses are another with each payload */
    }
    s->bytes = put_head(l, h, s->head, len, s->head, &ip) - s->head;
    s->ip = ip ? ip - s->head : 0;
    s->len = len;
    s->rh = h->rh;
    s->icrc = has_icrc(l, h->kind);
    return true;
}

size_t rcl_stencil_put(const RclLayout *l, const RclStencil *s,
                       const uint8_t *payload, uint8_t *out)
{
    memcpy(out, s->head, sizeof(s->head));
    rcl_rh_put(out + s->bytes - RCL_RH_BYTES, &s->rh, l->rh_order);
    return frame_end(out, put_payload(l, s->icrc, s->ip ? out + s->ip : NULL,
                                      out + s->bytes, payload, s->len, 0,
                                      -s->len & 3));
}

/* ---- taking apart ---- */

/*
 * TYPE1, TYPE2 or TYPE3 by a Lite frame's traffic class.  That is the first byte of
 * anybody's address, so that it needs Key_words' W, too, which is in AFH_GEN2_16b's
 * addresses always (RC Link §12.3.1): a network's frames are TYPE3's (§12.10).
 */
static RclVerdict lite_get(const RclLayout *l, const uint8_t *frame,
                           size_t len, uint8_t *scratch, RclView *v)
{
    uint8_t tc = frame[l->slap ? 6 : 0], key = frame[l->slap ? 0 : 6];
    unsigned moved = rcl_moved(l), rest = len - LITE_BYTES;

    for (v->bank = 0; v->bank < l->vcs; v->bank++) {
        if (tc >> 2 == l->tc1[v->bank] >> 2) {
            break;
        }
    }
    if (!(key & RCL_KEY_W) ||
        (v->bank == l->vcs && tc >> 2 != l->tc2 >> 2)) {
        return RCL_TAKE;
    }
    v->kind = v->bank < l->vcs ? RCL_TYPE1 : RCL_TYPE2;
    v->short_da = true;
    if (rest > RCL_PAYLOAD_MAX) {
        return RCL_TOO_LONG;
    }
    memcpy(scratch, frame + 1, 3);
    memcpy(scratch + 3, frame + 7, moved - 3);
    memcpy(scratch + moved, frame + LITE_BYTES, rest);
    v->data = scratch;
    v->len = moved + rest;
    return RCL_TAKE;
}

/*
 * The bytes behind the header in front of them, if it is an IPv4 header that
 * TYPE1 or TYPE2 may have; else NULL.
 */
static const uint8_t *udp_of(const uint8_t *ip, size_t len)
{
    return len >= IP_BYTES + UDP_BYTES && ip[0] == 0x45 && ip[9] == 17 &&
           !(get_be16(ip + 6) & 0x3fff) ? ip + IP_BYTES : NULL;
}

/* Checks of the Standard format; *@len becomes the bytes from RH on. */
static RclVerdict standard_check(const uint8_t *ip, size_t *len)
{
    size_t total = get_be16(ip + 2), udp = get_be16(ip + IP_BYTES + 4);

    if (!core_csum_ipv4_right(ip)) {
        return RCL_BAD_IP_CSUM;
    }
    if (total > *len || total != IP_BYTES + udp ||
        udp < UDP_BYTES + RCL_RH_BYTES) {
        return RCL_BAD_LENGTH;
    }
    *len = udp - UDP_BYTES;
    return RCL_TAKE;
}

/* Payload and ICRC of @len bytes from RH at @p on; @exact: there is no padding
 * of the MAC behind them.  RH.Opcode is TYPE1's: TYPE2 has nothing but requests. */
static RclVerdict rh_get(const RclLayout *l, const uint8_t *ip,
                         const uint8_t *p, size_t len, bool exact,
                         RclView *v)
{
    bool icrc = l->icrc && v->kind == RCL_TYPE1;
    size_t tail = icrc ? RCL_ICRC_BYTES : 0, region;

    if (len < RCL_RH_BYTES + tail) {
        return RCL_BAD_LENGTH;
    }
    rcl_rh_get(p, &v->rh, l->rh_order);
    region = len - RCL_RH_BYTES - tail;
    if (v->rh.opcode == RCL_OP_RESERVED ||
        (v->kind == RCL_TYPE2 && v->rh.opcode != RCL_OP_SEND)) {
        return RCL_BAD_OPCODE;
    }
    if (v->rh.opcode != RCL_OP_SEND) {
        v->rh.pad = 0;
        if (exact && region) {
            return RCL_BAD_LENGTH;
        }
        region = 0;
    } else if (v->rh.len) {
        size_t want = v->rh.len - RCL_RH_BYTES + v->rh.pad;

        if (v->rh.len < RCL_RH_BYTES || want > region ||
            (exact && want != region)) {
            return RCL_BAD_LENGTH;
        }
        region = want;
    } else if (RCL_RH_BYTES + region <= PKT_LEN_MAX + v->rh.pad) {
        return RCL_BAD_LENGTH;      /* 0 is more than 127 (RC Link §12.3.5) */
    }
    if (region % 4 || region < v->rh.pad) {
        return RCL_BAD_LENGTH;
    }
    if (icrc) {
        v->rh_at = p;
        v->ip = ip;
        v->icrc_len = RCL_RH_BYTES + region;
    }
    v->data = p + RCL_RH_BYTES;
    v->len = region - v->rh.pad;
    return RCL_TAKE;
}

/* GEN2: what is inside DA and SA goes where it belongs. */
static RclVerdict gen2_get(const RclLayout *l, const uint8_t *frame,
                           const uint8_t *rh, size_t len, bool exact,
                           uint8_t *scratch, RclView *v)
{
    bool send;

    v->short_da = true;
    if (!(frame[l->slap ? 0 : 6] & RCL_KEY_W)) {
        return RCL_BAD_KEY;
    }
    if (len < RCL_RH_BYTES) {
        return RCL_BAD_LENGTH;
    }
    rcl_rh_get(rh, &v->rh, l->rh_order);
    send = v->rh.opcode == RCL_OP_SEND;
    memcpy(scratch, rh, RCL_RH_BYTES);
    if (send) {
        memcpy(scratch + 8, frame + 1, 3);
        memcpy(scratch + 11, frame + 7, 3);
    }
    memcpy(scratch + (send ? 14 : 8), rh + RCL_RH_BYTES,
           len - RCL_RH_BYTES);
    return rh_get(l, NULL, scratch, len + (send ? RCL_MOVED_MAX : 0), exact,
                  v);
}

RclVerdict rcl_frame_open(const RclLayout *l, const uint8_t *frame,
                          size_t len, uint8_t *scratch, RclView *v)
{
    const uint8_t *p, *udp;
    RclVerdict verdict;
    uint16_t type;
    size_t left;
    bool exact;

    *v = (RclView) { .kind = RCL_TYPE3 };
    if (len < ETH_BYTES) {
        return RCL_BAD_LENGTH;
    }
    v->da = get_be48(frame);
    v->sa = get_be48(frame + 6);
    p = frame + 12;
    type = get_be16(p);
    if (type == 0x8808 && v->da == 0x0180c2000001) {
        v->kind = RCL_CONTROL;
        return RCL_TAKE;
    }
    if (l->format == RCL_LITE) {
        return lite_get(l, frame, len, scratch, v);
    }
    if ((type == l->tpid || type == 0x8100) && len >= ETH_BYTES + VLAN_BYTES) {
        p += VLAN_BYTES;
        type = get_be16(p);
    }
    p += 2;
    left = frame + len - p;
    if (type == 0x0800) {
        udp = udp_of(p, left);
        if (!udp) {
            return RCL_TAKE;
        }
        if (get_be16(udp + 2) == RCL_UDP_PORT) {
            v->kind = RCL_TYPE1;
        } else if (l->type2_dport && get_be16(udp + 2) == l->type2_dport) {
            v->kind = RCL_TYPE2;
        } else {
            return RCL_TAKE;
        }
        verdict = standard_check(p, &left);
        if (verdict != RCL_TAKE) {
            return verdict;
        }
        v->ce = (p[1] & 3) == 3;
        return left > RCL_FRAME_MAX ? RCL_TOO_LONG :
               rh_get(l, p, udp + UDP_BYTES, left, true, v);
    }
    if (type && type == l->mac_type1) {
        v->kind = RCL_TYPE1;
    } else if (type && type == l->mac_type2) {
        v->kind = RCL_TYPE2;
    } else {
        return RCL_TAKE;
    }
    if (left > RCL_FRAME_MAX - RCL_MOVED_MAX) {
        return RCL_TOO_LONG;
    }
    /* The MAC pads to its least length, a switch perhaps what has a tag, too. */
    exact = len > RCL_FRAME_MIN + VLAN_BYTES;
    return l->format == RCL_GEN2 ?
           gen2_get(l, frame, p, left, exact, scratch, v) :
           rh_get(l, NULL, p, left, exact, v);
}

bool rcl_frame_right(const RclLayout *l, const RclView *v)
{
    return !v->icrc_len || get_le32(v->rh_at + v->icrc_len) ==
                           icrc_of(l, v->ip, v->rh_at, v->icrc_len);
}

bool rcl_frame_copy(const RclLayout *l, const RclView *v, void *dst)
{
    uint32_t crc;

    if (!v->icrc_len || (l->icrc_roce && v->ip)) {
        memcpy(dst, v->data, v->len);
        return rcl_frame_right(l, v);
    }
    /* RH, payload and pad lie in one piece. */
    crc = core_crc32_copy(UINT32_MAX, v->rh_at, dst, v->data, v->len);
    if (v->rh.pad) {
        crc = core_crc32_generic(crc, v->data + v->len, v->rh.pad);
    }
    return get_le32(v->rh_at + v->icrc_len) == ~crc;
}

RclVerdict rcl_frame_get(const RclLayout *l, const uint8_t *frame, size_t len,
                         uint8_t *scratch, RclView *v)
{
    RclVerdict verdict = rcl_frame_open(l, frame, len, scratch, v);

    return verdict == RCL_TAKE && !rcl_frame_right(l, v) ? RCL_BAD_ICRC
                                                         : verdict;
}
