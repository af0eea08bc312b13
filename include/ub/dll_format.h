/*
 * Formats of the UB data link layer: flits, LPH, LBH, LCH, BCRC, END, the
 * control blocks, and the length rules (UB 2.0 §4.3).
 *
 * All fields are big-endian, byte 0 bit 7 first.  A block is 1 … 32 flits of
 * 20 bytes; "block" pointers must span that many.  Nothing in here keeps
 * state, allocates or trusts what it reads.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef UB_DLL_FORMAT_H
#define UB_DLL_FORMAT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/bytes.h"
#include "ub/crc30.h"
#include "ub/lane_manage.h"

#define UB_FLIT_SIZE 20
#define UB_BLOCK_FLITS 32  /* longest DLLDB or DLLCB */
#define UB_BLOCK_SIZE (UB_BLOCK_FLITS * UB_FLIT_SIZE)
#define UB_DLLDP_BLOCKS 16 /* most DLLDBs of a DLLDP */
#define UB_DLLDP_FLITS (UB_DLLDP_BLOCKS * UB_BLOCK_FLITS)
#define UB_VLS 16
#define UB_RETRY_SET 33    /* 1 Retry_Idle + 32 Retry_Req or Retry_Ack */

/* Encapsulation (§4.3.2.2, §4.3.2.3). */
typedef enum UbBlockMode {
    UB_MODE_CRC,
    UB_MODE_NON_CRC,
} UbBlockMode;

/* Longest payload of one DLLDP in either mode (derived from §4.3.2). */
#define UB_PAYLOAD_MAX_CRC 10142
#define UB_PAYLOAD_MAX_NON_CRC 10205

/* How the variants of the documents are read; 0 is the documented choice. */
typedef struct UbBlockFormat {
    UbBlockMode mode;
    UbCrcCover cover;
} UbBlockFormat;

/* ------------------------------------------------------ LPH and LBH ----- */

#define UB_LPH_SIZE 4
#define UB_LBH_SIZE 2

/*
 * LPH, one 32-bit word (Table 4-1).  LBH (Table 4-2) is its upper half.
 *   31 CRD · 30 ACK · 29:26 CRD_VL · 25 rsvd · 24:21 VL · 20 rsvd ·
 *   19:16 CFG · 15:14 RT · 13:0 PLENGTH
 */
#define UB_LPH_CRD 0x80000000u
#define UB_LPH_ACK 0x40000000u

static inline uint32_t ub_lph(unsigned vl, unsigned cfg, unsigned rt,
                              unsigned plength)
{
    return (vl & 15u) << 21 | (cfg & 15u) << 16 | (rt & 3u) << 14 |
           (plength & 0x3fffu);
}

static inline unsigned ub_lph_crd_vl(uint32_t lph)
{
    return lph >> 26 & 15;
}

static inline unsigned ub_lph_vl(uint32_t lph)
{
    return lph >> 21 & 15;
}

static inline unsigned ub_lph_cfg(uint32_t lph)
{
    return lph >> 16 & 15;
}

static inline unsigned ub_lph_rt(uint32_t lph)
{
    return lph >> 14 & 3;
}

static inline unsigned ub_lph_plength(uint32_t lph)
{
    return lph & 0x3fff;
}

/* CFG values of a DLLDP: 3, 4, 5, 6, 7, 9.  0 is a DLLCB, the rest reserved. */
static inline bool ub_lph_cfg_is_dlldp(unsigned cfg)
{
    return cfg < 16 && (0x02f8u >> cfg & 1);
}

/* CFG of a block from its first flit, and is it a DLLCB. */
static inline unsigned ub_block_cfg(const uint8_t *flit)
{
    return flit[1] & 15;
}

/* ------------------------------------------------------- PLENGTH -------- */

/* PLENGTH (Table 4-1), spread out. */
typedef struct UbPlength {
    uint8_t blocks;     /* DLLDBs, 1 … 16 */
    uint8_t last_flits; /* flits of the last DLLDB, 1 … 32 */
    uint8_t code;       /* PLENGTH[4:0] */
} UbPlength;

static inline unsigned ub_plength_pack(UbPlength p)
{
    return (unsigned)(p.blocks - 1) << 10 | (unsigned)(p.last_flits - 1) << 5 |
           p.code;
}

static inline UbPlength ub_plength_unpack(unsigned v)
{
    return (UbPlength) {
        .blocks = (v >> 10 & 15) + 1,
        .last_flits = (v >> 5 & 31) + 1,
        .code = v & 31,
    };
}

/* Flits of the DLLDP; what credits are counted by. */
static inline unsigned ub_plength_flits(UbPlength p)
{
    return (p.blocks - 1u) * UB_BLOCK_FLITS + p.last_flits;
}

/* Longest payload in @mode, bytes. */
unsigned ub_payload_max(UbBlockMode mode);

/* PLENGTH of a payload of @len bytes, 1 … ub_payload_max(mode); false
 * outside that range. */
bool ub_plength_of(UbBlockMode mode, unsigned len, UbPlength *p);

/* Payload bytes of @p, or -1 when its code is reserved or impossible. */
int ub_plength_payload(UbBlockMode mode, UbPlength p);

/* Payload bytes that a DLLDB which is not the last one carries. */
static inline unsigned ub_block_payload(UbBlockMode mode, bool first)
{
    return (first ? 632u : 634u) + (mode == UB_MODE_CRC ? 0 : 4);
}

/* --------------------------------------------------------- DLLCB -------- */

/* CTRL and SUB_CTRL as one byte (Table 4-6). */
typedef enum UbDllcb {
    UB_CB_NULL = 0x00,
    UB_CB_NOB = 0x01,
    UB_CB_RETRY_IDLE = 0x10,
    UB_CB_RETRY_REQ = 0x11,
    UB_CB_RETRY_ACK = 0x12,
    UB_CB_CRD_ACK = 0x24,
    UB_CB_PARAM_EXCHG = 0x30,
    UB_CB_LANE_MANAGE = 0x41,
    UB_CB_BLOCK_MODE_CHG = 0x50,
    UB_CB_INIT = 0xc8,
} UbDllcb;

typedef struct UbDllcbInfo {
    uint8_t type; /* UbDllcb */
    uint8_t min_flits, max_flits;
    bool buffered; /* kept in the Retry Buffer, advances RcvPtr */
    const char *name;
} UbDllcbInfo;

/* The row of @type, or NULL: not a type of Table 4-6. */
const UbDllcbInfo *ub_dllcb_info(unsigned type);

/* LCH (Table 4-5): CLENGTH = flits - 1, fixed bits, CFG 0, type, byte 3. */
static inline uint32_t ub_lch(unsigned flits, unsigned type, unsigned byte3)
{
    return (flits - 1) << 26 | 0x02000000u | (type & 0xff) << 8 |
           (byte3 & 0xff);
}

/* Flits by CLENGTH: always 1 … 32. */
static inline unsigned ub_lch_flits(const uint8_t *flit)
{
    return (flit[0] >> 2 & 31) + 1;
}

static inline unsigned ub_lch_type(const uint8_t *flit)
{
    return flit[2];
}

/* Are the fixed bits and CFG those of a DLLCB? */
static inline bool ub_lch_valid(const uint8_t *flit)
{
    return (flit[0] & 0x83) == 0x02 && flit[1] == 0;
}

/* Is this flit by its header alone a Null or Retry block (not buffered)? */
static inline bool ub_lch_unbuffered(const uint8_t *flit)
{
    return ub_lch_valid(flit) && ub_lch_flits(flit) == 1 &&
           (flit[2] == UB_CB_NULL || (flit[2] >= UB_CB_RETRY_IDLE &&
                                      flit[2] <= UB_CB_RETRY_ACK));
}

/* Retry_Req (Figure 4-19) and Retry_Ack (Figure 4-20). */
typedef struct UbRetryReq {
    uint16_t rcv_ptr;
    uint8_t num_phy_reinit;
    uint8_t num_retry;
} UbRetryReq;

typedef struct UbRetryAck {
    uint8_t num_retry;
    uint16_t num_free_buf;
    uint16_t rd_ptr;
    uint16_t wr_ptr;
} UbRetryAck;

/* Crd_Ack (Figures 4-21 and 4-22). */
typedef struct UbCrdAck {
    bool initial;   /* T */
    bool send_done; /* SD, means something with T only */
    uint16_t ack_num;
    uint8_t crd_num[UB_VLS]; /* 0 … 63 */
} UbCrdAck;

enum { UB_BMC_REQ = 0, UB_BMC_ACK = 1 }; /* Block_Mode_Chg TYPE */

/* Parameters of the Init Block (Table 4-8).  Sets of sizes are bit masks
 * whose bit of weight n means "n"; a negotiated value is one bit. */
typedef struct UbDllParams {
    uint16_t feature_id;
    uint16_t vl_enable;
    uint32_t retry_buf_depth;    /* flits, 16 bits on the link */
    uint8_t rxbuf_vl_share;      /* 0 or 1 */
    uint8_t data_ack_grain;      /* flits */
    uint8_t ctrl_ack_grain;      /* flits */
    uint8_t flow_ctrl_size;      /* flits of a cell */
    uint8_t packet_min_interval; /* flits */
    uint8_t ctrl_credit_grain[UB_VLS]; /* cells */
    uint8_t data_credit_grain[UB_VLS]; /* cells */
} UbDllParams;

#define UB_INIT_FLITS 5

/*
 * Writers.  Each fills the whole block including padding and tail and returns
 * its length in flits; @block must have room for it.
 */
unsigned ub_put_simple(UbBlockFormat f, uint8_t *block, unsigned type);
unsigned ub_put_retry_req(UbBlockFormat f, uint8_t *block,
                          const UbRetryReq *req);
unsigned ub_put_retry_ack(UbBlockFormat f, uint8_t *block,
                          const UbRetryAck *ack);
unsigned ub_put_crd_ack(UbBlockFormat f, uint8_t *block, const UbCrdAck *ca);
unsigned ub_put_param_exchg(UbBlockFormat f, uint8_t *block,
                            const uint32_t *words, unsigned n);
unsigned ub_put_lane_manage(UbBlockFormat f, uint8_t *block,
                            const UbLaneManage *lm);
unsigned ub_put_block_mode_chg(UbBlockFormat f, uint8_t *block,
                               unsigned type);
unsigned ub_put_init(UbBlockFormat f, uint8_t *block, const UbDllParams *p,
                     unsigned flits);

/* Header and rest of a DLLDB are in place: write the tail.  In Non-CRC mode
 * only the last DLLDB of a DLLDP, and every DLLCB, has one. */
void ub_seal_block(UbBlockFormat f, uint8_t *block, unsigned flits, bool last,
                   bool error_flag);

/* Readers; they look at fields only, the caller has checked type, length and
 * CRC. */
UbRetryReq ub_get_retry_req(const uint8_t *block);
UbRetryAck ub_get_retry_ack(const uint8_t *block);
UbCrdAck ub_get_crd_ack(const uint8_t *block);
UbLaneManage ub_get_lane_manage(const uint8_t *block);
UbDllParams ub_get_init(const uint8_t *block);

static inline uint32_t ub_get_param_exchg(const uint8_t *block, unsigned flit)
{
    return get_be32(block + flit * UB_FLIT_SIZE + 8);
}

/* ERROR_FLAG: same byte offset from the end differs by mode (BCRC byte 16,
 * END byte 19 of the last flit). */
static inline bool ub_block_error_flag(UbBlockMode mode, const uint8_t *block,
                                       unsigned flits)
{
    return block[flits * UB_FLIT_SIZE - (mode == UB_MODE_CRC ? 4 : 1)] & 0x40;
}

/*
 * Pack a whole packet into flits at @out (room for @max_flits), header bits
 * CRD and ACK zero.  Returns flits, or 0 when the length is illegal or there
 * is no room.  For tools and tests; the link builds blocks one by one.
 */
unsigned ub_pack_packet(UbBlockFormat f, unsigned vl, unsigned cfg,
                        unsigned rt, const uint8_t *payload, unsigned len,
                        bool error_flag, uint8_t *out, unsigned max_flits);

/* One block of packet bytes: header @lph (upper half for block > 0), payload
 * slice of block @index, padding, tail.  Returns its flits. */
unsigned ub_pack_dlldb(UbBlockFormat f, uint32_t lph, UbPlength shape,
                       unsigned index, const uint8_t *payload, unsigned len,
                       bool error_flag, uint8_t *block);

/* Where the payload of block @index of a DLLDP lies: byte offset in the
 * block, bytes of it, and where in the packet it belongs. */
typedef struct UbBlockSlice {
    uint16_t in_block, bytes, in_packet;
} UbBlockSlice;

UbBlockSlice ub_block_slice(UbBlockMode mode, unsigned index, unsigned len);

#endif
