/*
 * Link management blocks.  UB 2.0 §3.4.1.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <string.h>

#include "lmb.h"
#include "ub/phy.h"

#define FIELD(f, name, sym, lsb, bits, kinds) { name, sym, lsb, bits, kinds },
const UbLtbField ub_ltb_fields[] = { UB_LTB_FIELDS(FIELD) };
#undef FIELD
const size_t ub_ltb_field_count =
    sizeof(ub_ltb_fields) / sizeof(ub_ltb_fields[0]);

static const struct {
    uint8_t type;
    uint8_t kind;
    const char *name;
} ltb_types[] = {
    { UB_LTB_DISC_ACTIVE, UB_LTB_DLTB, "Discovery.Active" },
    { UB_LTB_DISC_CONFIRM, UB_LTB_DLTB, "Discovery.Confirm" },
    { UB_LTB_RXEQ_OPTIMIZE, UB_LTB_DLTB, "RXEQ_Optimize" },
    { UB_LTB_CONF_ACTIVE, UB_LTB_CLTB, "Config.Active" },
    { UB_LTB_CONF_CHECK, UB_LTB_CLTB, "Config.Check" },
    { UB_LTB_CONF_CONFIRM, UB_LTB_CLTB, "Config.Confirm" },
    { UB_LTB_RETR_ACTIVE, UB_LTB_RLTB, "Retrain.Active" },
    { UB_LTB_RETR_CONFIRM, UB_LTB_RLTB, "Retrain.Confirm" },
    { UB_LTB_RETR_LP1_UP, UB_LTB_RLTB, "Retrain.LP1_PHY_Up" },
    { UB_LTB_RETR_EQ_INIT, UB_LTB_RLTB, "Retrain.EQ_Initial" },
    { UB_LTB_EQUALIZATION, UB_LTB_ELTB, "Equalization" },
};

UbLtbKind ub_ltb_kind(uint8_t type)
{
    for (size_t i = 0; i < sizeof(ltb_types) / sizeof(ltb_types[0]); i++) {
        if (ltb_types[i].type == type) {
            return (UbLtbKind)ltb_types[i].kind;
        }
    }
    return UB_LTB_NONE;
}

const char *ub_ltb_type_name(uint8_t type)
{
    for (size_t i = 0; i < sizeof(ltb_types) / sizeof(ltb_types[0]); i++) {
        if (ltb_types[i].type == type) {
            return ltb_types[i].name;
        }
    }
    return "Reserved";
}

/* Four bits a step: table[n] is n shifted through four steps of the divider. */
uint16_t ub_ltb_crc(const uint8_t *ltb)
{
    static const uint16_t nibble[16] = {
        0x0000, 0x5935, 0xb26a, 0xeb5f, 0x3de1, 0x64d4, 0x8f8b, 0xd6be,
        0x7bc2, 0x22f7, 0xc9a8, 0x909d, 0x4623, 0x1f16, 0xf449, 0xad7c,
    };
    uint16_t crc = UB_LTB_CRC_INIT;

    for (unsigned i = 0; i < UB_LTB_BODY; i++) {
        crc = (uint16_t)(crc << 4) ^ nibble[(crc >> 12) ^ (ltb[i] >> 4)];
        crc = (uint16_t)(crc << 4) ^ nibble[(crc >> 12) ^ (ltb[i] & 15)];
    }
    return crc;
}

void ub_ltb_init(uint8_t *ltb, UbLtbType type)
{
    memset(ltb, 0, UB_LMB_SYMBOLS);
    ltb[0] = (uint8_t)type;
    ltb[14] = UB_LTB_PAD;
    ltb[15] = UB_LTB_PAD;
}

void ub_ltb_seal(uint8_t *ltb)
{
    uint16_t crc = ub_ltb_crc(ltb);

    ltb[12] = (uint8_t)crc;
    ltb[13] = (uint8_t)(crc >> 8);
}

bool ub_ltb_good(const uint8_t *ltb)
{
    return ub_ltb_crc(ltb) == (ltb[12] | ltb[13] << 8);
}

/* Table 3-12, symbol 11: the code of lane 7 is 4, not 7. */
static const uint8_t lane0_of_code[] = { 0, 1, 0xff, 3, 7 };

unsigned ub_lane0_code(unsigned lane)
{
    return lane == 7 ? 4 : lane == 3 ? 3 : lane == 1 ? 1 : 0;
}

int ub_lane0_lane(unsigned code)
{
    if (code >= sizeof(lane0_of_code) || lane0_of_code[code] == 0xff) {
        return -1;
    }
    return lane0_of_code[code];
}

unsigned ub_max_width_code(unsigned width)
{
    return width >= 8 ? 3 : width >= 4 ? 2 : width >= 2 ? 1 : 0;
}

int ub_max_width_lanes(unsigned code)
{
    return code > 3 ? -1 : 1 << code;
}

unsigned ub_eq_mode_resolve(unsigned tx, unsigned rx)
{
    if (tx >= UB_EQ_RSVD || rx >= UB_EQ_RSVD) {
        return UB_EQ_FULL;
    }
    return tx < rx ? tx : rx;
}

static const UbDataRate rates_mode1[UB_DATA_RATES] = {
    [0] = { 4000000, false, 1, 1 },
    [3] = { 8000000, false, 2, 4 },
    [5] = { 16000000, false, 2, 4 },
    [7] = { 32000000, false, 2, 4 },
};

static const UbDataRate rates_mode2[UB_DATA_RATES] = {
    [0] = { 2578125, false, 1, 1 },
    [2] = { 25781250, false, 2, 4 },
    [4] = { 53125000, true, 4, 8 },
    [8] = { 106250000, true, 8, 16 },
};

const UbDataRate *ub_data_rate(UbPhyMode mode, unsigned dr)
{
    if (dr >= UB_DATA_RATES) {
        return NULL;
    }
    return mode == UB_PHY_MODE_1 ? &rates_mode1[dr] : &rates_mode2[dr];
}

unsigned ub_phy_rates(UbPhyMode mode)
{
    unsigned rates = 0;

    for (unsigned i = 0; i < UB_DATA_RATES; i++) {
        rates |= ub_phy_kbps(mode, i) ? 1u << i : 0;
    }
    return rates;
}

uint32_t ub_phy_kbps(UbPhyMode mode, unsigned rate)
{
    const UbDataRate *r = ub_data_rate(mode, rate);

    return r ? r->kbps : 0;
}

size_t ub_eeib_sequence(const UbDataRate *rate, uint8_t *out)
{
    size_t n = (size_t)rate->eeibs * UB_LMB_SYMBOLS;

    for (size_t i = 0; i < n; i++) {
        out[i] = i / rate->eeib_run % 2 ? 0xff : 0x00;
    }
    return n;
}
