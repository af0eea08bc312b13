/*
 * Headers of the transport layer (UB 2.0 §6.2): RTPH, UTPH, CTPH, CETPH and
 * SAETPH, and one table of the operation codes, which parser, builder, tracer
 * and dissector share.
 *
 * The status of a transport acknowledgement (UbRtphRspst) is not that of a
 * transaction acknowledgement: some codes mean other things there.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef UB_TP_FORMAT_H
#define UB_TP_FORMAT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    UB_RTPH_LEN = 16,
    UB_UTPH_LEN = 16,
    UB_CTPH_LEN = 1,
    UB_CETPH_LEN = 8,       /* LDCP and CAQM */
    UB_CETPH_CNP_LEN = 16,
    UB_SAETPH_MIN = 12,     /* with the smallest map */
    UB_SAETPH_MAX = 132,
    UB_SACK_BITS_MIN = 64,
    UB_SACK_BITS_MAX = 1024,

    UB_PSN_BITS = 24,
    UB_PSN_MASK = 0xffffff,
    UB_TPN_MASK = 0xffffff,
    /* The highest PSN sent less the lowest unacknowledged (§6.4.1). */
    UB_PSN_SPAN = (8 << 20) - 1,
};

/* Operation codes of RTPH and UTPH, TPOpcode[6:0] (table 6-2). */
typedef enum UbTpOpcode {
    UB_TPOP_UNRELIABLE = 0,
    UB_TPOP_DATA = 1,
    UB_TPOP_ACK = 2,        /* TPACK and TPNAK */
    UB_TPOP_ACK_CC = 3,
    UB_TPOP_SACK = 5,
    UB_TPOP_SACK_CC = 6,
    UB_TPOP_CNP = 8,
    UB_TPOPS = 16,          /* those above are reserved */
} UbTpOpcode;

/* Operation codes of CTPH. */
typedef enum UbCtpOpcode {
    UB_CTPOP_DATA = 0,
    UB_CTPOP_CNP = 1,
    UB_CTPOPS = 4,
} UbCtpOpcode;

typedef struct UbTpOpInfo {
    const char *name;       /* NULL: reserved */
    uint8_t cetph;          /* bytes of CETPH behind the TPH */
    bool saetph;            /* then SAETPH */
    bool payload;           /* then whatever NLP says; Padding counts */
    bool ack;               /* RSPST and RSPINFO count */
} UbTpOpInfo;

extern const UbTpOpInfo ub_tp_ops[UB_TPOPS];
extern const UbTpOpInfo ub_ctp_ops[UB_CTPOPS];

/* What follows the TPH. */
typedef enum UbTpNlp {
    UB_TPH_TAH = 0,
    UB_TPH_UPI32 = 1,       /* UPIH of 32 bits, EIDH of 256, TAH */
    UB_TPH_UPI16 = 2,       /* CTPH: UPIH of 16 bits, EIDH of 40, TAH */
    UB_TPH_CIP = 3,         /* CIPH */
} UbTpNlp;

/* RTPH.RSPST. */
typedef enum UbRtphRspst {
    UB_RTPH_ACK = 0,
    UB_RTPH_RNR = 1,        /* RSPINFO: RNR_Timer */
    UB_RTPH_PAGE_FAULT = 2, /* RSPINFO: RNR_Timer */
    UB_RTPH_NAK = 3,        /* RSPINFO: UbRtphNak */
    UB_RTPH_TA = 5,         /* RSPINFO: UbRtphTa */
} UbRtphRspst;

typedef enum UbRtphNak {
    UB_NAK_PSN = 0,         /* TPNAK */
    UB_NAK_UNSUPPORTED = 1,
    UB_NAK_ABORT = 2,
} UbRtphNak;

typedef enum UbRtphTa {
    UB_RTPH_TA_RETRY = 0,   /* abnormal, a retry can recover */
    UB_RTPH_TA_FAIL = 1,    /* abnormal, it cannot */
    UB_RTPH_TA_GOOD = 2,
} UbRtphTa;

enum { UB_RNR_TIMER_MAX = 19 };

/* RTPH, and UTPH, which has opcode to nlp alone. */
typedef struct UbRtph {
    uint8_t opcode;         /* TPOpcode[6:0] */
    bool last;              /* TPOpcode[7] */
    uint8_t ver, pad, nlp;
    uint32_t src, dst;      /* TPNs */
    bool ack_req, fake;     /* A, F */
    uint32_t psn;
    uint8_t rspst, rspinfo;
    uint32_t msn;           /* TPMSN */
} UbRtph;

typedef struct UbCtph {
    uint8_t opcode, pad, nlp;
} UbCtph;

/* CETPH of all kinds; which one is in a packet the channel knows (§6.2.2). */
typedef struct UbCetph {
    uint32_t ack_seq;       /* LDCP, CAQM: data received, in 2 bytes */
    uint32_t ce_seq;        /* LDCP: thereof with a mark */
    bool loc, inc;          /* CAQM Loc and I; CNP Loc */
    uint8_t c;              /* CAQM: packets with C */
    uint16_t hint;          /* CAQM */
    uint8_t ecn;            /* CNP: 0 none, 1 light, 3 heavy */
} UbCetph;

/* SAETPH.  The map is kept as words whose bit 0 comes first: PSN @base + i is
 * bit i % 32 of word i / 32. */
typedef struct UbSaetph {
    uint8_t size;           /* BitMapSize code: 64 << size bits */
    uint32_t max_rcv;       /* MaxRcvPSN */
    uint32_t map[UB_SACK_BITS_MAX / 32];
} UbSaetph;

/* Build and take apart.  The *_put() write what their length says; the *_get()
 * read as much and take every value; the caller has seen to the bytes. */
void ub_rtph_put(uint8_t *p, const UbRtph *h);
void ub_rtph_get(const uint8_t *p, UbRtph *h);
void ub_ctph_put(uint8_t *p, const UbCtph *h);
void ub_ctph_get(const uint8_t *p, UbCtph *h);
void ub_cetph_put_ldcp(uint8_t *p, const UbCetph *c);
void ub_cetph_get_ldcp(const uint8_t *p, UbCetph *c);
void ub_cetph_put_caqm(uint8_t *p, const UbCetph *c);
void ub_cetph_get_caqm(const uint8_t *p, UbCetph *c);
void ub_cetph_put_cnp(uint8_t *p, const UbCetph *c);
void ub_cetph_get_cnp(const uint8_t *p, UbCetph *c);

/* Bytes of a SAETPH with the map of code @size (0..4). */
static inline uint32_t ub_saetph_len(uint8_t size)
{
    return 4 + (UB_SACK_BITS_MIN << size) / 8;
}

/* The smallest code whose map has @bits bits, 4 at most. */
uint8_t ub_saetph_size(uint32_t bits);
/* Writes ub_saetph_len(s->size) bytes. */
void ub_saetph_put(uint8_t *p, const UbSaetph *s);
/* Reads one of @len bytes; false: too short or of a reserved size. */
bool ub_saetph_get(const uint8_t *p, uint32_t len, UbSaetph *s);

/* Why the receiver cannot take a RTPH or UTPH, or NULL: the version, or a
 * reserved operation code or status. */
const char *ub_rtph_fault(const UbRtph *h);

/* Zero bytes behind a payload that make @len bytes, counted from the TPH, a
 * multiple of 4. */
static inline uint8_t ub_tp_pad(uint32_t len)
{
    return -len & 3;
}

#endif
