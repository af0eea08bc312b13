/*
 * Training block formats against the tables of UB 2.0 §3.4.1 and a CRC worked
 * out bit by bit.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <glib.h>
#include <string.h>

#include "lmb.h"

/*
 * Long division of the 96 message bits by the polynomial of §3.4.1.1, one bit
 * at a time over an explicit bit string: no table, no shift register.  The
 * start value 0xFFFF is the message with its first 16 bits inverted.
 */
static unsigned crc_by_division(const uint8_t *body)
{
    static const uint8_t taps[] = { 16, 14, 12, 11, 8, 5, 4, 2, 0 };
    uint8_t bit[96 + 16] = { 0 };
    unsigned crc = 0;

    for (unsigned i = 0; i < 96; i++) {
        bit[i] = body[i / 8] >> (7 - i % 8) & 1;
        bit[i] ^= i < 16;
    }
    for (unsigned i = 0; i < 96; i++) {
        for (unsigned k = 0; bit[i] && k < G_N_ELEMENTS(taps); k++) {
            bit[i + 16 - taps[k]] ^= taps[k] != 16;
        }
    }
    for (unsigned i = 96; i < 112; i++) {
        crc = crc << 1 | bit[i];
    }
    return crc;
}

static void test_crc_known(void)
{
    static const uint8_t dltb[16] = {
        0xa0, 0, 0, 4, 4, 0x15, 1, 3, 1, 0, 0x0f, 0x10, 0xdc, 0x57, 0x5a, 0x5a,
    };
    static const uint8_t cltb[12] = { 0xb0, 0, 0, 4, 4, 0, 8 };

    g_assert_cmphex(ub_ltb_crc(dltb), ==, 0x57dc);
    g_assert_cmphex(crc_by_division(dltb), ==, 0x57dc);
    g_assert_true(ub_ltb_good(dltb));
    g_assert_cmphex(ub_ltb_crc(cltb), ==, 0xd4e1);
}

static void test_crc_division(void)
{
    uint8_t ltb[16];

    for (unsigned n = 0; n < 2000; n++) {
        for (unsigned i = 0; i < 16; i++) {
            ltb[i] = (uint8_t)g_test_rand_int();
        }
        g_assert_cmphex(ub_ltb_crc(ltb), ==, crc_by_division(ltb));
        ub_ltb_seal(ltb);
        g_assert_true(ub_ltb_good(ltb));
        /* Every single bit of body and CRC is under it. */
        for (unsigned b = 0; b < 14 * 8; b++) {
            ltb[b / 8] ^= 1u << b % 8;
            g_assert_false(ub_ltb_good(ltb));
            ltb[b / 8] ^= 1u << b % 8;
        }
        ltb[14] ^= 0xff;
        g_assert_true(ub_ltb_good(ltb));
    }
}

/* Tables 3-12 to 3-15 by hand: field name, block, symbol, bits. */
static const struct {
    const char *name;
    UbLtbKind kind;
    unsigned symbol, msb, lsb;
} tables[] = {
    { "Type", UB_LTB_DLTB, 0, 7, 0 },
    { "Link_ID", UB_LTB_DLTB, 1, 7, 0 },
    { "Lane_ID", UB_LTB_DLTB, 2, 7, 0 },
    { "TLW", UB_LTB_DLTB, 3, 5, 0 },
    { "RLW", UB_LTB_DLTB, 4, 5, 0 },
    { "Data_Rate_Support_1", UB_LTB_DLTB, 5, 7, 0 },
    { "Data_Rate_Support_2", UB_LTB_DLTB, 6, 0, 0 },
    { "FEC_Mode_Support", UB_LTB_DLTB, 7, 1, 0 },
    { "Port_Type", UB_LTB_DLTB, 8, 0, 0 },
    { "PortNego_Random_Value", UB_LTB_DLTB, 8, 7, 1 },
    { "FEC_Interleave_Support", UB_LTB_DLTB, 10, 3, 0 },
    { "RX_Lane0_ID", UB_LTB_DLTB, 11, 2, 0 },
    { "MAX_LINK_WIDTH", UB_LTB_DLTB, 11, 5, 3 },
    { "Type", UB_LTB_CLTB, 0, 7, 0 },
    { "Link_ID", UB_LTB_CLTB, 1, 7, 0 },
    { "Lane_ID", UB_LTB_CLTB, 2, 7, 0 },
    { "TLW", UB_LTB_CLTB, 3, 5, 0 },
    { "RLW", UB_LTB_CLTB, 4, 5, 0 },
    { "EQ_Mode", UB_LTB_CLTB, 6, 1, 0 },
    { "FEC_Mode_Ctrl", UB_LTB_CLTB, 6, 4, 2 },
    { "FEC_Interleave_Ctrl", UB_LTB_CLTB, 6, 5, 5 },
    { "Type", UB_LTB_RLTB, 0, 7, 0 },
    { "Local_HS", UB_LTB_RLTB, 2, 5, 0 },
    { "Post-Cursor", UB_LTB_RLTB, 2, 5, 0 },
    { "Local_LS", UB_LTB_RLTB, 3, 5, 0 },
    { "Pre-Cursor", UB_LTB_RLTB, 3, 5, 0 },
    { "Second_Pre-Cursor", UB_LTB_RLTB, 3, 3, 0 },
    { "Third_Pre-Cursor", UB_LTB_RLTB, 3, 7, 4 },
    { "Remote_Initial_TX_Preset", UB_LTB_RLTB, 4, 3, 0 },
    { "Cursor", UB_LTB_RLTB, 4, 7, 0 },
    { "Data_Rate_Support_1", UB_LTB_RLTB, 5, 7, 0 },
    { "Data_Rate_Support_2", UB_LTB_RLTB, 6, 0, 0 },
    { "Change_Speed", UB_LTB_RLTB, 6, 7, 7 },
    { "FEC_Mode_Ctrl", UB_LTB_RLTB, 7, 2, 0 },
    { "FEC/CRC_Mode_Reject", UB_LTB_RLTB, 7, 3, 3 },
    { "Pre-FEC_BER_Measurement_Status", UB_LTB_RLTB, 7, 5, 4 },
    { "FEC_Interleave_Enable", UB_LTB_RLTB, 7, 6, 6 },
    { "FEC_Interleave_Ctrl_Reject", UB_LTB_RLTB, 7, 7, 7 },
    { "Request_Equalization", UB_LTB_RLTB, 9, 7, 7 },
    { "CRC_Mode_Ctrl", UB_LTB_RLTB, 10, 2, 0 },
    { "Local_TX_Preset", UB_LTB_RLTB, 10, 7, 4 },
    { "First_Pre-Cursor", UB_LTB_RLTB, 11, 5, 0 },
    { "Type", UB_LTB_ELTB, 0, 7, 0 },
    { "EQ_Reject", UB_LTB_ELTB, 1, 5, 5 },
    { "Current_EQ_Phase", UB_LTB_ELTB, 2, 1, 0 },
    { "Preset_Mode_En", UB_LTB_ELTB, 2, 3, 3 },
    { "TX_Preset", UB_LTB_ELTB, 2, 7, 4 },
    { "Pre-Cursor", UB_LTB_ELTB, 3, 5, 0 },
    { "Second_Pre-Cursor", UB_LTB_ELTB, 3, 3, 0 },
    { "Third_Pre-Cursor", UB_LTB_ELTB, 3, 7, 4 },
    { "Post-Cursor", UB_LTB_ELTB, 4, 5, 0 },
    { "Cursor", UB_LTB_ELTB, 5, 7, 0 },
    { "First_Pre-Cursor", UB_LTB_ELTB, 6, 5, 0 },
};

static void test_tables(gconstpointer data)
{
    UbLtbKind kind = GPOINTER_TO_UINT(data);
    unsigned listed = 0, known = 0;

    for (unsigned i = 0; i < G_N_ELEMENTS(tables); i++) {
        bool found = false;

        if (tables[i].kind != kind) {
            continue;
        }
        listed++;
        for (size_t k = 0; k < ub_ltb_field_count; k++) {
            const UbLtbField *f = &ub_ltb_fields[k];

            if ((f->kinds >> kind & 1) && !strcmp(f->name, tables[i].name) &&
                f->symbol == tables[i].symbol && f->lsb == tables[i].lsb &&
                f->bits == tables[i].msb - tables[i].lsb + 1) {
                found = true;
            }
        }
        if (!found) {
            g_test_message("%s is missing or misplaced", tables[i].name);
        }
        g_assert_true(found);
    }
    for (size_t k = 0; k < ub_ltb_field_count; k++) {
        known += ub_ltb_fields[k].kinds >> kind & 1;
    }
    g_assert_cmpuint(known, ==, listed);
}

/* Each accessor pair touches its own bits only. */
static void test_accessors(void)
{
    size_t n = 0;

#define CHECK(f, name, sym, lsb, bits, kinds)                               \
    for (unsigned v = 0; v < 1u << (bits); v++) {                           \
        uint8_t a[16], b[16];                                               \
        unsigned mask = ((1u << (bits)) - 1) << (lsb);                      \
        memset(a, v & 1 ? 0xff : 0, sizeof(a));                             \
        memcpy(b, a, sizeof(a));                                            \
        ub_ltb_set_##f(a, v);                                               \
        g_assert_cmpuint(ub_ltb_##f(a), ==, v);                             \
        g_assert_cmphex(a[sym] & mask, ==, v << (lsb));                     \
        a[sym] = (uint8_t)((a[sym] & ~mask) | (b[sym] & mask));             \
        g_assert_cmpmem(a, 16, b, 16);                                      \
    }                                                                       \
    n++;
    UB_LTB_FIELDS(CHECK)
#undef CHECK
    g_assert_cmpuint(n, ==, ub_ltb_field_count);
}

static void test_types(void)
{
    static const struct {
        uint8_t type;
        UbLtbKind kind;
        const char *name;
    } t[] = {
        { 0xa0, UB_LTB_DLTB, "Discovery.Active" },
        { 0xa1, UB_LTB_DLTB, "Discovery.Confirm" },
        { 0xe0, UB_LTB_DLTB, "RXEQ_Optimize" },
        { 0xb0, UB_LTB_CLTB, "Config.Active" },
        { 0xb1, UB_LTB_CLTB, "Config.Check" },
        { 0xb2, UB_LTB_CLTB, "Config.Confirm" },
        { 0xc0, UB_LTB_RLTB, "Retrain.Active" },
        { 0xc1, UB_LTB_RLTB, "Retrain.Confirm" },
        { 0xc2, UB_LTB_RLTB, "Retrain.LP1_PHY_Up" },
        { 0xc3, UB_LTB_RLTB, "Retrain.EQ_Initial" },
        { 0xd0, UB_LTB_ELTB, "Equalization" },
    };
    unsigned known = 0;

    for (unsigned v = 0; v < 256; v++) {
        const char *name = "Reserved";
        UbLtbKind kind = UB_LTB_NONE;

        for (unsigned i = 0; i < G_N_ELEMENTS(t); i++) {
            if (t[i].type == v) {
                name = t[i].name;
                kind = t[i].kind;
                known++;
            }
        }
        g_assert_cmpuint(ub_ltb_kind((uint8_t)v), ==, kind);
        g_assert_cmpstr(ub_ltb_type_name((uint8_t)v), ==, name);
    }
    g_assert_cmpuint(known, ==, 11);
}

static void test_init(void)
{
    uint8_t ltb[16];

    memset(ltb, 0xff, sizeof(ltb));
    ub_ltb_init(ltb, UB_LTB_RETR_ACTIVE);
    g_assert_cmphex(ltb[0], ==, 0xc0);
    for (unsigned i = 1; i < 14; i++) {
        g_assert_cmphex(ltb[i], ==, 0);
    }
    g_assert_cmphex(ltb[14], ==, 0x5a);
    g_assert_cmphex(ltb[15], ==, 0x5a);
}

static void test_rates(void)
{
    uint8_t ltb[16];

    ub_ltb_init(ltb, UB_LTB_RETR_ACTIVE);
    ub_ltb_set_change_speed(ltb, 1);
    for (unsigned dr = 0; dr <= 8; dr++) {
        ub_ltb_set_rates(ltb, 1u << dr);
        g_assert_cmphex(ltb[5], ==, dr < 8 ? 1u << dr : 0);
        g_assert_cmphex(ltb[6], ==, 0x80 | (dr == 8));
        g_assert_cmphex(ub_ltb_rates(ltb), ==, 1u << dr);
    }
    for (unsigned dr = 0; dr <= 8; dr++) {
        static const uint32_t kbps[2][9] = {
            { 4000000, 0, 0, 8000000, 0, 16000000, 0, 32000000, 0 },
            { 2578125, 0, 25781250, 0, 53125000, 0, 0, 0, 106250000 },
        };
        const UbDataRate *one = ub_data_rate(UB_PHY_MODE_1, dr);
        const UbDataRate *two = ub_data_rate(UB_PHY_MODE_2, dr);

        g_assert_cmpuint(one->kbps, ==, kbps[0][dr]);
        g_assert_cmpuint(two->kbps, ==, kbps[1][dr]);
        g_assert_false(one->pam4);
        g_assert_cmpint(two->pam4, ==, dr == 4 || dr == 8);
    }
    g_assert_null(ub_data_rate(UB_PHY_MODE_1, 9));
    g_assert_null(ub_data_rate(UB_PHY_MODE_2, 9));
}

static void test_codes(void)
{
    static const uint8_t lanes[8] = { 0, 1, 0xff, 3, 7, 0xff, 0xff, 0xff };

    for (unsigned c = 0; c < 8; c++) {
        g_assert_cmpint(ub_lane0_lane(c), ==,
                        lanes[c] == 0xff ? -1 : lanes[c]);
        g_assert_cmpint(ub_max_width_lanes(c), ==, c < 4 ? 1 << c : -1);
        if (lanes[c] != 0xff) {
            g_assert_cmpuint(ub_lane0_code(lanes[c]), ==, c);
        }
    }
    for (unsigned w = 0; w < 64; w++) {
        g_assert_cmpint(ub_width_valid(w), ==,
                        w == 1 || w == 2 || w == 4 || w == 8);
    }
    g_assert_cmpuint(ub_max_width_code(8), ==, 3);
    g_assert_cmpuint(ub_max_width_code(1), ==, 0);
}

/* Table 3-21, row by row; 3 stands for "11" and its don't-care partner. */
static void test_eq_mode(void)
{
    static const uint8_t want[4][4] = {
        { 0, 0, 0, 0 }, { 0, 1, 1, 0 }, { 0, 1, 2, 0 }, { 0, 0, 0, 0 },
    };

    for (unsigned tx = 0; tx < 4; tx++) {
        for (unsigned rx = 0; rx < 4; rx++) {
            g_assert_cmpuint(ub_eq_mode_resolve(tx, rx), ==, want[tx][rx]);
        }
    }
}

/* Tables 3-16 to 3-19. */
static void test_eeib(void)
{
    static const struct {
        unsigned mode, dr, blocks, run;
    } t[] = {
        { 1, 0, 1, 1 }, { 2, 0, 1, 1 }, { 2, 2, 2, 4 }, { 2, 4, 4, 8 },
        { 2, 8, 8, 16 },
    };

    for (unsigned i = 0; i < G_N_ELEMENTS(t); i++) {
        uint8_t s[UB_EEIB_MAX * UB_LMB_SYMBOLS];
        size_t n = ub_eeib_sequence(ub_data_rate(t[i].mode, t[i].dr), s);

        g_assert_cmpuint(n, ==, t[i].blocks * 16);
        for (size_t k = 0; k < n; k++) {
            g_assert_cmphex(s[k], ==, k / t[i].run & 1 ? 0xff : 0x00);
        }
    }
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/ub/lmb/crc/known", test_crc_known);
    g_test_add_func("/ub/lmb/crc/division", test_crc_division);
    g_test_add_data_func("/ub/lmb/fields/dltb", GUINT_TO_POINTER(UB_LTB_DLTB),
                         test_tables);
    g_test_add_data_func("/ub/lmb/fields/cltb", GUINT_TO_POINTER(UB_LTB_CLTB),
                         test_tables);
    g_test_add_data_func("/ub/lmb/fields/rltb", GUINT_TO_POINTER(UB_LTB_RLTB),
                         test_tables);
    g_test_add_data_func("/ub/lmb/fields/eltb", GUINT_TO_POINTER(UB_LTB_ELTB),
                         test_tables);
    g_test_add_func("/ub/lmb/accessors", test_accessors);
    g_test_add_func("/ub/lmb/types", test_types);
    g_test_add_func("/ub/lmb/init", test_init);
    g_test_add_func("/ub/lmb/rates", test_rates);
    g_test_add_func("/ub/lmb/codes", test_codes);
    g_test_add_func("/ub/lmb/eq-mode", test_eq_mode);
    g_test_add_func("/ub/lmb/eeib", test_eeib);
    return g_test_run();
}
