/*
 * RC Link: frames of TYPE1 and TYPE2 in the four formats, and what a received
 * frame is (RC Link §12.3, §12.10).  No state, no allocation.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef RCLINK_FORMAT_H
#define RCLINK_FORMAT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Codes of TX2MAC_MAC_HDR_TYPE_O. */
typedef enum RclFormat {
    RCL_STANDARD,
    RCL_GEN1,
    RCL_GEN2,
    RCL_LITE,
    RCL_FORMATS
} RclFormat;

typedef enum RclRhOrder { RCL_RH_BE, RCL_RH_LE, RCL_RH_RFC } RclRhOrder;

/* RH.Opcode */
enum { RCL_OP_SEND, RCL_OP_ACK, RCL_OP_CNP, RCL_OP_RESERVED };

enum {
    RCL_RH_BYTES = 8,
    RCL_ICRC_BYTES = 4,
    RCL_FCS_BYTES = 4,
    RCL_PAYLOAD_MAX = 4096,     /* that a setting may allow */
    RCL_HEADER_MAX = 54,        /* tagged Standard with RH */
    RCL_FRAME_MIN = 60,         /* without FCS, as are all */
    RCL_FRAME_MAX = RCL_HEADER_MAX + RCL_PAYLOAD_MAX + RCL_ICRC_BYTES,
    RCL_UDP_PORT = 4791,        /* of TYPE1 */
    RCL_MOVED_MAX = 6,          /* payload bytes inside DA and SA */
};

/* Aeth_syndrom: IB's AETH without its top bit. */
enum {
    RCL_SYN_ACK = 0x1f,         /* 00-1f are taken */
    RCL_SYN_RNR = 0x20,         /* | timer code */
    RCL_SYN_RESERVED = 0x40,    /* 40-5f */
    RCL_SYN_NAK_PSN = 0x60,
};

/* Key_words (RC Link §12.3.1) */
enum { RCL_KEY_W = 0x80, RCL_KEY_TYPE1 = 0x82, RCL_KEY_TYPE2 = 0x83 };

/* The transport header. */
typedef struct RclRh {
    uint8_t opcode;
    bool fack;
    uint8_t pad;                /* bytes behind the payload, 0-3 */
    bool ts_en;
    uint16_t ts;
    uint8_t pkey;
    uint8_t len;                /* Pkt_len, or Aeth_syndrom; 7 bits */
    uint16_t psn;               /* 12 bits */
    uint16_t qp;                /* Dest_QP, 13 bits */
} RclRh;

/* How a port's registers and properties shape its frames. */
typedef struct RclLayout {
    RclFormat format;
    RclRhOrder rh_order;
    bool gen1_tc;               /* TC in SA[47:40] */
    bool slap;                  /* GEN2: Key_words in DA, TC in SA */
    bool lite_high;             /* XPU_ID in SA[39:30] */
    bool icrc;                  /* TYPE1 has one */
    bool icrc_roce;             /* Standard: that of RoCEv2 */
    bool udp_csum_ffff;
    bool vlan, vlan_pri;        /* tag; PRI by flow, or 0 */
    uint16_t tpid, tci;         /* tci without PRI */
    uint64_t mac;               /* 48 bits, first octet on top */
    uint16_t mac_type1, mac_type2;
    uint32_t ip;
    uint16_t ip_id;
    uint8_t ttl;
    uint16_t type2_dport;
    uint8_t tc1[4], tc2;        /* Lite is told apart by them */
    uint8_t vcs;                /* banks */
} RclLayout;

typedef enum RclKind {
    RCL_TYPE1,
    RCL_TYPE2,
    RCL_TYPE3,
    RCL_CONTROL                 /* EtherType 8808: the MAC's own */
} RclKind;

/* What one frame has of its own. */
typedef struct RclHead {
    RclKind kind;
    uint64_t da;
    uint8_t tc, tos, pri;
    uint32_t dip;
    uint16_t sport, dport;
    RclRh rh;                   /* of a SEND, rcl_frame_put() fills in pad
                                 * and len */
} RclHead;

/* Why a frame is dropped. */
typedef enum RclVerdict {
    RCL_TAKE,
    RCL_BAD_LENGTH,             /* lengths that contradict each other */
    RCL_BAD_IP_CSUM,
    RCL_BAD_KEY,                /* Key_words.W = 0 */
    RCL_BAD_OPCODE,
    RCL_BAD_ICRC,
    RCL_TOO_LONG,               /* beyond any payload; nothing else was looked at */
    RCL_VERDICTS
} RclVerdict;

/* A frame taken apart. */
typedef struct RclView {
    RclKind kind;
    bool ce;                    /* congestion experienced */
    uint8_t bank;               /* Lite TYPE1 */
    uint64_t da, sa;
    bool short_da;              /* the address is DA[15:0]: GEN2 and Lite */
    RclRh rh;                   /* all 0 in Lite */
    const uint8_t *data;        /* payload: in the frame or the scratch */
    size_t len;
    /* The ICRC, if there is one: over @icrc_len bytes at @rh_at, behind which it
     * stands; @ip is the header that it may cover too. */
    const uint8_t *rh_at, *ip;
    size_t icrc_len;
} RclView;

/* RH as the 64-bit number of the document's table, and back; reserved bits are
 * 0 and ignored. */
uint64_t rcl_rh_pack(const RclRh *rh);
void rcl_rh_unpack(uint64_t v, RclRh *rh);
/* RH in its 8 bytes on the wire. */
void rcl_rh_put(uint8_t *p, const RclRh *rh, RclRhOrder order);
void rcl_rh_get(const uint8_t *p, RclRh *rh, RclRhOrder order);

/* Bytes of a frame in front of its payload, RH included; of Lite and GEN2 the
 * payload's first bytes lie within. */
unsigned rcl_header_bytes(const RclLayout *l);
/* Bytes of a frame with @len bytes of payload as the MAC counts them: padded,
 * with FCS. */
unsigned rcl_frame_bytes(const RclLayout *l, RclKind kind, unsigned len);
/* Payload bytes that travel inside DA and SA. */
unsigned rcl_moved(const RclLayout *l);

/*
 * Build a frame at @out, which has room for RCL_FRAME_MAX bytes; its length,
 * RCL_FRAME_MIN at least.  @len is 0 for ACK and CNP, else RCL_MOVED_MAX to
 * RCL_PAYLOAD_MAX.
 */
size_t rcl_frame_put(const RclLayout *l, RclHead *h, const uint8_t *payload,
                     size_t len, uint8_t *out);

/* What frames of one sender and one length have in common. */
typedef struct RclStencil {
    uint8_t head[64];           /* all in front of the payload */
    uint8_t bytes, ip;          /* of that; where the IP header begins, or 0 */
    bool icrc;
    uint16_t len;               /* of the payload */
    RclRh rh;                   /* FACK, time and PSN are each frame's own */
} RclStencil;

/* Make one of @h, as rcl_frame_put() would; false: frames of this format have
 * none. */
bool rcl_stencil_cut(const RclLayout *l, RclHead *h, size_t len, RclStencil *s);
/* The frame that rcl_frame_put() would build, with what @s->rh is now. */
size_t rcl_stencil_put(const RclLayout *l, const RclStencil *s,
                       const uint8_t *payload, uint8_t *out);
/*
 * Take a frame apart.  @scratch has room for RCL_FRAME_MAX bytes.  Of TYPE3 and
 * control frames, and of what is not RCL_TAKE, only the kind is told.
 */
RclVerdict rcl_frame_get(const RclLayout *l, const uint8_t *frame, size_t len,
                         uint8_t *scratch, RclView *v);
/* The same in two steps: all but the ICRC, and the ICRC.  What the first one
 * tells is not to be acted on before the second. */
RclVerdict rcl_frame_open(const RclLayout *l, const uint8_t *frame,
                          size_t len, uint8_t *scratch, RclView *v);
bool rcl_frame_right(const RclLayout *l, const RclView *v);
/* The second step, and the payload goes to @dst meanwhile, right or not. */
bool rcl_frame_copy(const RclLayout *l, const RclView *v, void *dst);

#endif
