/*
 * RoCEv2 frames: IB transport headers (BTH and extensions) over IPv4 and UDP
 * port 4791, with the invariant CRC.  Accessors, the table of BTH opcodes and
 * the CRC; no state.  Sources: IB 1.3 chapter 9 and annex A17; RDMA tables
 * 3.1 and 7.32-7.34; ETH §5.4.3.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef RDMA_ROCE_H
#define RDMA_ROCE_H

#include <stdbool.h>
#include <stddef.h>

#include "core/bytes.h"
#include "core/crc32.h"
#include "core/inet.h"
#include "core/serial.h"

#define ROCE_UDP_PORT      4791
#define ROCE_ETH_BYTES     14
#define ROCE_IP_BYTES      20
#define ROCE_UDP_BYTES     8
#define ROCE_NET_BYTES     (ROCE_ETH_BYTES + ROCE_IP_BYTES + ROCE_UDP_BYTES)
#define ROCE_BTH_BYTES     12
#define ROCE_DETH_BYTES    8
#define ROCE_RETH_BYTES    16
#define ROCE_ATOMIC_BYTES  28
#define ROCE_AETH_BYTES    4
#define ROCE_ATOMACK_BYTES 8
#define ROCE_IMM_BYTES     4
#define ROCE_IETH_BYTES    4
#define ROCE_ICRC_BYTES    4
/* Longest header: BTH + AtomicETH. */
#define ROCE_HDR_MAX       (ROCE_BTH_BYTES + ROCE_ATOMIC_BYTES)

/* ---- opcodes ---- */

/* Low five bits of the BTH opcode (IB 1.3 table 38; RDMA table 7.32). */
enum {
    ROCE_SEND_FIRST = 0x00,
    ROCE_SEND_MIDDLE = 0x01,
    ROCE_SEND_LAST = 0x02,
    ROCE_SEND_LAST_IMM = 0x03,
    ROCE_SEND_ONLY = 0x04,
    ROCE_SEND_ONLY_IMM = 0x05,
    ROCE_WRITE_FIRST = 0x06,
    ROCE_WRITE_MIDDLE = 0x07,
    ROCE_WRITE_LAST = 0x08,
    ROCE_WRITE_LAST_IMM = 0x09,
    ROCE_WRITE_ONLY = 0x0a,
    ROCE_WRITE_ONLY_IMM = 0x0b,
    ROCE_READ_REQ = 0x0c,
    ROCE_READ_FIRST = 0x0d,
    ROCE_READ_MIDDLE = 0x0e,
    ROCE_READ_LAST = 0x0f,
    ROCE_READ_ONLY = 0x10,
    ROCE_ACK = 0x11,
    ROCE_ATOMIC_ACK = 0x12,
    ROCE_CMP_SWAP = 0x13,
    ROCE_FETCH_ADD = 0x14,
    ROCE_SEND_LAST_INV = 0x16,
    ROCE_SEND_ONLY_INV = 0x17,
};

/* High three bits: RC 0, UC 1, RD 2, UD 3: the codes of RdmaService. */
#define ROCE_OP(service, op5)  ((service) << 5 | (op5))
#define ROCE_OP_SERVICE(op)    ((op) >> 5)
#define ROCE_OP5(op)           ((op) & 0x1f)

/* What a packet is and carries. */
enum {
    ROCE_F_REQUEST  = 1 << 0,   /* for the responder */
    ROCE_F_RESPONSE = 1 << 1,   /* for the requester */
    ROCE_F_FIRST    = 1 << 2,   /* "Only" is FIRST and LAST */
    ROCE_F_MIDDLE   = 1 << 3,
    ROCE_F_LAST     = 1 << 4,
    ROCE_F_SEND     = 1 << 5,
    ROCE_F_WRITE    = 1 << 6,
    ROCE_F_READ     = 1 << 7,
    ROCE_F_ATOMIC   = 1 << 8,
    ROCE_F_ACK      = 1 << 9,
    ROCE_F_PAYLOAD  = 1 << 10,
    ROCE_F_IMM      = 1 << 11,
    ROCE_F_INV      = 1 << 12,
};

/* One BTH opcode.  Offsets count from the BTH; 0 = header not present. */
typedef struct RoceOp {
    const char *name;       /* NULL: not an opcode */
    uint16_t flags;
    uint8_t hdr_len;        /* BTH and extensions */
    uint8_t deth, reth, atomic, aeth, atomack, imm, ieth;
} RoceOp;

extern const RoceOp roce_ops[256];

/* ---- headers: accessors over a pointer to the header ---- */

static inline uint8_t bth_opcode(const uint8_t *h) { return h[0]; }
static inline bool bth_se(const uint8_t *h) { return h[1] & 0x80; }
static inline bool bth_migreq(const uint8_t *h) { return h[1] & 0x40; }
static inline unsigned bth_pad(const uint8_t *h) { return h[1] >> 4 & 3; }
static inline unsigned bth_tver(const uint8_t *h) { return h[1] & 0xf; }
static inline uint16_t bth_pkey(const uint8_t *h) { return get_be16(h + 2); }
static inline uint32_t bth_dqpn(const uint8_t *h) { return get_be24(h + 5); }
static inline bool bth_ackreq(const uint8_t *h) { return h[8] & 0x80; }
static inline uint32_t bth_psn(const uint8_t *h) { return get_be24(h + 9); }

/* Write all twelve bytes; congestion bits, MigReq and TVer are 0. */
static inline void bth_put(uint8_t *h, uint8_t opcode, bool se, unsigned pad,
                           uint16_t pkey, uint32_t dqpn, bool ackreq,
                           uint32_t psn)
{
    h[0] = opcode;
    h[1] = (se ? 0x80 : 0) | (pad & 3) << 4;
    put_be16(h + 2, pkey);
    put_be32(h + 4, dqpn & 0xffffff);
    put_be32(h + 8, (ackreq ? 0x80000000u : 0) | (psn & 0xffffff));
}

static inline uint32_t deth_qkey(const uint8_t *h) { return get_be32(h); }
static inline uint32_t deth_sqpn(const uint8_t *h) { return get_be24(h + 5); }
static inline void deth_put(uint8_t *h, uint32_t qkey, uint32_t sqpn)
{
    put_be32(h, qkey);
    put_be32(h + 4, sqpn & 0xffffff);
}

static inline uint64_t reth_va(const uint8_t *h) { return get_be64(h); }
static inline uint32_t reth_rkey(const uint8_t *h) { return get_be32(h + 8); }
static inline uint32_t reth_len(const uint8_t *h) { return get_be32(h + 12); }
static inline void reth_put(uint8_t *h, uint64_t va, uint32_t rkey,
                            uint32_t len)
{
    put_be64(h, va);
    put_be32(h + 8, rkey);
    put_be32(h + 12, len);
}

static inline uint64_t atomic_va(const uint8_t *h) { return get_be64(h); }
static inline uint32_t atomic_rkey(const uint8_t *h)
{
    return get_be32(h + 8);
}
static inline uint64_t atomic_swap_add(const uint8_t *h)
{
    return get_be64(h + 12);
}
static inline uint64_t atomic_compare(const uint8_t *h)
{
    return get_be64(h + 20);
}
static inline void atomic_put(uint8_t *h, uint64_t va, uint32_t rkey,
                              uint64_t swap_add, uint64_t compare)
{
    put_be64(h, va);
    put_be32(h + 8, rkey);
    put_be64(h + 12, swap_add);
    put_be64(h + 20, compare);
}

/* AETH syndrome: type in bits 6:5, value in 4:0 (IB 1.3 tables 43, 44). */
enum {
    AETH_ACK = 0x00,
    AETH_RNR_NAK = 0x20,
    AETH_NAK = 0x60,
    AETH_TYPE_MASK = 0xe0,
    AETH_CREDITS_NONE = 0x1f,   /* ACK: credit field not valid */
};
enum {
    NAK_PSN_SEQUENCE = 0,
    NAK_INVALID_REQUEST = 1,
    NAK_REMOTE_ACCESS = 2,
    NAK_REMOTE_OP = 3,
    NAK_INVALID_RD = 4,
};
static inline uint8_t aeth_syndrome(const uint8_t *h) { return h[0]; }
static inline uint32_t aeth_msn(const uint8_t *h) { return get_be24(h + 1); }
static inline void aeth_put(uint8_t *h, uint8_t syndrome, uint32_t msn)
{
    put_be32(h, (uint32_t)syndrome << 24 | (msn & 0xffffff));
}

/* Nanoseconds of RNR timer @code 0..31 (IB 1.3 table 45). */
int64_t roce_rnr_ns(unsigned code);

/* ---- PSN arithmetic, modulo 2^24 ---- */

static inline uint32_t psn_add(uint32_t a, uint32_t n)
{
    return serial_add(a, n, 24);
}
/* Going forward from @b to @a, 0 .. 2^24 - 1. */
static inline uint32_t psn_ahead(uint32_t a, uint32_t b)
{
    return serial_ahead(a, b, 24);
}
/* Signed distance a - b, -2^23 .. 2^23 - 1. */
static inline int32_t psn_diff(uint32_t a, uint32_t b)
{
    return serial_diff(a, b, 24);
}

/* ---- ICRC ---- */

/*
 * ICRC of an IPv4 RoCEv2 packet (annex A17.3.3): @ip points at the IP header
 * without options, @len counts from there to the end of the padded payload,
 * ICRC excluded, and is at least 40.  Stored little-endian behind the payload.
 */
uint32_t roce_icrc(const uint8_t *ip, size_t len);

#endif
