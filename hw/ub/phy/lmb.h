/*
 * Link management blocks: the training blocks (LTB) and the block that ends
 * electrical idle (EEIB).  UB 2.0 §3.4.1.
 *
 * An LMB is 16 symbols of 8 bits.  Fields never cross a symbol, so every
 * accessor works on single bytes and has no byte order.  Reserved bits are
 * written as 0 by ub_ltb_init() and are never looked at.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef UB_LMB_H
#define UB_LMB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ub/phy_config.h"

#define UB_LMB_SYMBOLS      16
#define UB_LTB_BODY         12      /* symbols 0..11 are under the CRC */
#define UB_LTB_PAD          0x5a    /* symbols 14 and 15 */
#define UB_LTB_CRC_POLY     0x5935
#define UB_LTB_CRC_INIT     0xffff  /* not in the document: see ub-lmsm.rst */
#define UB_EEIB_MAX         8       /* EEIBs of the longest sequence */

#define UB_LINK_ID_NULL     0xff
#define UB_LANE_ID_NULL     0xff

/* Symbol 0 of an LTB (Tables 3-12 to 3-15). */
typedef enum UbLtbType {
    UB_LTB_DISC_ACTIVE    = 0xa0,
    UB_LTB_DISC_CONFIRM   = 0xa1,
    UB_LTB_RXEQ_OPTIMIZE  = 0xe0,
    UB_LTB_CONF_ACTIVE    = 0xb0,
    UB_LTB_CONF_CHECK     = 0xb1,
    UB_LTB_CONF_CONFIRM   = 0xb2,
    UB_LTB_RETR_ACTIVE    = 0xc0,
    UB_LTB_RETR_CONFIRM   = 0xc1,
    UB_LTB_RETR_LP1_UP    = 0xc2,
    UB_LTB_RETR_EQ_INIT   = 0xc3,
    UB_LTB_EQUALIZATION   = 0xd0,
} UbLtbType;

/* The kind decides which table a symbol is read by. */
typedef enum UbLtbKind {
    UB_LTB_NONE,
    UB_LTB_DLTB,
    UB_LTB_CLTB,
    UB_LTB_RLTB,
    UB_LTB_ELTB,
    UB_LTB_KINDS,
} UbLtbKind;

/* FEC_Mode_Ctrl, EQ_Mode and Current_EQ_Phase values; CRC_Mode_Ctrl:
 * ub/phy_config.h. */
enum { UB_LTB_FEC_BYPASS, UB_LTB_FEC_T2, UB_LTB_FEC_T4 };
enum { UB_EQ_FULL, UB_EQ_HIGHEST, UB_EQ_SKIP, UB_EQ_RSVD };
enum { UB_EQPH_COARSE_ACTIVE, UB_EQPH_COARSE_CONFIRM,
       UB_EQPH_SEC_ACTIVE, UB_EQPH_PRI_ACTIVE };
enum { UB_BER_NONE, UB_BER_MEASURING, UB_BER_DONE };

/*
 * X(field, document name, symbol, lowest bit, bits, kinds by their tables).
 * The one list from which accessors, the tracer's field table and the tests
 * are made.  The same bits have several names where an RLTB or ELTB depends on
 * its type, the modulation or Preset_Mode_En.
 */
#define UB_K(k) (1u << UB_LTB_##k)
#define UB_LTB_FIELDS(X)                                                    \
    X(type, "Type", 0, 0, 8, UB_K(DLTB) | UB_K(CLTB) | UB_K(RLTB) | UB_K(ELTB))\
    X(link_id, "Link_ID", 1, 0, 8, UB_K(DLTB) | UB_K(CLTB))                 \
    X(lane_id, "Lane_ID", 2, 0, 8, UB_K(DLTB) | UB_K(CLTB))                 \
    X(tlw, "TLW", 3, 0, 6, UB_K(DLTB) | UB_K(CLTB))                         \
    X(rlw, "RLW", 4, 0, 6, UB_K(DLTB) | UB_K(CLTB))                         \
    X(rates1, "Data_Rate_Support_1", 5, 0, 8, UB_K(DLTB) | UB_K(RLTB))      \
    X(rate8, "Data_Rate_Support_2", 6, 0, 1, UB_K(DLTB) | UB_K(RLTB))       \
    X(fec_support, "FEC_Mode_Support", 7, 0, 2, UB_K(DLTB))                 \
    X(port_type, "Port_Type", 8, 0, 1, UB_K(DLTB))                          \
    X(random, "PortNego_Random_Value", 8, 1, 7, UB_K(DLTB))                 \
    X(interleave_support, "FEC_Interleave_Support", 10, 0, 4, UB_K(DLTB))   \
    X(rx_lane0_id, "RX_Lane0_ID", 11, 0, 3, UB_K(DLTB))                     \
    X(max_width, "MAX_LINK_WIDTH", 11, 3, 3, UB_K(DLTB))                    \
    X(eq_mode, "EQ_Mode", 6, 0, 2, UB_K(CLTB))                              \
    X(conf_fec, "FEC_Mode_Ctrl", 6, 2, 3, UB_K(CLTB))                       \
    X(conf_interleave, "FEC_Interleave_Ctrl", 6, 5, 1, UB_K(CLTB))          \
    X(local_hs, "Local_HS", 2, 0, 6, UB_K(RLTB))                            \
    X(local_ls, "Local_LS", 3, 0, 6, UB_K(RLTB))                            \
    X(remote_preset, "Remote_Initial_TX_Preset", 4, 0, 4, UB_K(RLTB))       \
    X(retr_post, "Post-Cursor", 2, 0, 6, UB_K(RLTB))                        \
    X(retr_pre, "Pre-Cursor", 3, 0, 6, UB_K(RLTB))                          \
    X(retr_pre2, "Second_Pre-Cursor", 3, 0, 4, UB_K(RLTB))                  \
    X(retr_pre3, "Third_Pre-Cursor", 3, 4, 4, UB_K(RLTB))                   \
    X(retr_cursor, "Cursor", 4, 0, 8, UB_K(RLTB))                           \
    X(change_speed, "Change_Speed", 6, 7, 1, UB_K(RLTB))                    \
    X(retr_fec, "FEC_Mode_Ctrl", 7, 0, 3, UB_K(RLTB))                       \
    X(fec_reject, "FEC/CRC_Mode_Reject", 7, 3, 1, UB_K(RLTB))               \
    X(ber_status, "Pre-FEC_BER_Measurement_Status", 7, 4, 2, UB_K(RLTB))    \
    X(interleave, "FEC_Interleave_Enable", 7, 6, 1, UB_K(RLTB))             \
    X(interleave_reject, "FEC_Interleave_Ctrl_Reject", 7, 7, 1, UB_K(RLTB)) \
    X(request_eq, "Request_Equalization", 9, 7, 1, UB_K(RLTB))              \
    X(crc_mode, "CRC_Mode_Ctrl", 10, 0, 3, UB_K(RLTB))                      \
    X(local_preset, "Local_TX_Preset", 10, 4, 4, UB_K(RLTB))                \
    X(retr_pre1, "First_Pre-Cursor", 11, 0, 6, UB_K(RLTB))                  \
    X(eq_reject, "EQ_Reject", 1, 5, 1, UB_K(ELTB))                          \
    X(eq_phase, "Current_EQ_Phase", 2, 0, 2, UB_K(ELTB))                    \
    X(preset_mode, "Preset_Mode_En", 2, 3, 1, UB_K(ELTB))                   \
    X(tx_preset, "TX_Preset", 2, 4, 4, UB_K(ELTB))                          \
    X(eq_pre, "Pre-Cursor", 3, 0, 6, UB_K(ELTB))                            \
    X(eq_pre2, "Second_Pre-Cursor", 3, 0, 4, UB_K(ELTB))                    \
    X(eq_pre3, "Third_Pre-Cursor", 3, 4, 4, UB_K(ELTB))                     \
    X(eq_post, "Post-Cursor", 4, 0, 6, UB_K(ELTB))                          \
    X(eq_cursor, "Cursor", 5, 0, 8, UB_K(ELTB))                             \
    X(eq_pre1, "First_Pre-Cursor", 6, 0, 6, UB_K(ELTB))

/* ub_ltb_<field>(ltb) reads, ub_ltb_set_<field>(ltb, v) writes the low bits. */
#define UB_LTB_ACCESSORS(f, name, sym, lsb, bits, kinds)                    \
    static inline unsigned ub_ltb_##f(const uint8_t *ltb)                   \
    {                                                                       \
        return ltb[sym] >> (lsb) & ((1u << (bits)) - 1);                    \
    }                                                                       \
    static inline void ub_ltb_set_##f(uint8_t *ltb, unsigned v)             \
    {                                                                       \
        unsigned mask = ((1u << (bits)) - 1) << (lsb);                      \
        ltb[sym] = (uint8_t)((ltb[sym] & ~mask) | (v << (lsb) & mask));     \
    }                                                                       \
    _Static_assert((sym) < UB_LTB_BODY && (lsb) + (bits) <= 8, #f);
UB_LTB_FIELDS(UB_LTB_ACCESSORS)
#undef UB_LTB_ACCESSORS

/* One field, for tracers, dissectors and tests. */
typedef struct UbLtbField {
    const char *name;       /* as the document names it */
    uint8_t symbol, lsb, bits;
    uint8_t kinds;          /* bit UbLtbKind set: the field is in that block */
} UbLtbField;

extern const UbLtbField ub_ltb_fields[];
extern const size_t ub_ltb_field_count;

/* The kind a type byte belongs to, UB_LTB_NONE if the value is reserved. */
UbLtbKind ub_ltb_kind(uint8_t type);

/* The document's name of a type, or "Reserved". */
const char *ub_ltb_type_name(uint8_t type);

/* CRC-16 of symbols 0..11 (§3.4.1.1); goes low byte first in 12 and 13. */
uint16_t ub_ltb_crc(const uint8_t *ltb);

/* All 16 symbols: type, zeroes, padding; the CRC is set by ub_ltb_seal(). */
void ub_ltb_init(uint8_t *ltb, UbLtbType type);
void ub_ltb_seal(uint8_t *ltb);

/* True if symbols 12 and 13 hold the right CRC; the padding is not judged. */
bool ub_ltb_good(const uint8_t *ltb);

/* Data_Rate_Support_1 and _2 as one vector, bit n = Data Rate n, 0..8. */
static inline unsigned ub_ltb_rates(const uint8_t *ltb)
{
    return ub_ltb_rates1(ltb) | ub_ltb_rate8(ltb) << 8;
}

static inline void ub_ltb_set_rates(uint8_t *ltb, unsigned rates)
{
    ub_ltb_set_rates1(ltb, rates);
    ub_ltb_set_rate8(ltb, rates >> 8);
}

/* TLW and RLW are one-hot lane counts: 1, 2, 4 or 8. */
static inline bool ub_width_valid(unsigned width)
{
    return width == 1 || width == 2 || width == 4 || width == 8;
}

/* RX_Lane0_ID and MAX_LINK_WIDTH codes; -1 for a reserved code. */
unsigned ub_lane0_code(unsigned lane);      /* lane 0, 1, 3, 7 */
int ub_lane0_lane(unsigned code);
unsigned ub_max_width_code(unsigned width); /* 1, 2, 4, 8 lanes */
int ub_max_width_lanes(unsigned code);

/* Table 3-21: the EQ mode that comes of one's own and the peer's EQ_Mode. */
unsigned ub_eq_mode_resolve(unsigned tx, unsigned rx);

/* ------------------------------------------------------------ data rates -- */

/* One data rate (§3.1, §3.4.1.2). */
typedef struct UbDataRate {
    uint32_t kbps;          /* per lane; 0: this mode has no such rate */
    bool pam4;
    uint8_t eeibs;          /* EEIBs of one sequence */
    uint8_t eeib_run;       /* symbols of 0x00, then as many of 0xFF */
} UbDataRate;

/*
 * The fixed rates.  The custom rates of PHY Mode-1 (DR3, DR5, DR7) are the
 * maker's; they are given here as 8, 16 and 32 Gb/s NRZ, with the EEIB of
 * 25.78125 Gb/s (two blocks of runs of four).  NULL if dr is out of range.
 */
const UbDataRate *ub_data_rate(UbPhyMode mode, unsigned dr);

/*
 * One EEIB sequence for that rate: out takes rate->eeibs * 16 symbols, at most
 * UB_EEIB_MAX * 16.  Returns the number of symbols.
 */
size_t ub_eeib_sequence(const UbDataRate *rate, uint8_t *out);

#endif
