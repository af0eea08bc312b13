/*
 * Formats of management (UB 2.0 §10.4.3): known answers are the bytes that the
 * figures and tables of the document give.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <glib.h>

#include "ub/mgmt_format.h"

#define CHECK_BYTES(p, ...)                                            \
    do {                                                               \
        static const uint8_t want_[] = { __VA_ARGS__ };                \
        g_assert_cmpmem(p, sizeof(want_), want_, sizeof(want_));       \
    } while (0)

/* ---- MGMTETAH ---- */

static void etah(void)
{
    static const struct {
        uint32_t word;
        UbMgmtId id;
        UbMgmtEtah e;
    } rows[] = {
        { 0x04000010, UB_MGMT_MSG_CFG0_READ, { 2, 0, false, 0, 16 } },
        { 0x14000010, UB_MGMT_MSG_CFG0_WRITE, { 2, 1, false, 0, 16 } },
        { 0x24000010, UB_MGMT_MSG_CFG1_READ, { 2, 2, false, 0, 16 } },
        { 0x34000010, UB_MGMT_MSG_CFG1_WRITE, { 2, 3, false, 0, 16 } },
        { 0x05000010, UB_MGMT_MSG_CFG0_READ, { 2, 0, true, 0, 16 } },
        { 0x15210010, UB_MGMT_MSG_CFG0_WRITE, { 2, 1, true, 0x21, 16 } },
        { 0x02000008, UB_MGMT_MSG_LINK_UP, { 1, 0, false, 0, 8 } },
        { 0x12000008, UB_MGMT_MSG_LINK_DOWN, { 1, 1, false, 0, 8 } },
        { 0x22000008, UB_MGMT_MSG_PLUG_BUTTON, { 1, 2, false, 0, 8 } },
        { 0x32000008, UB_MGMT_MSG_PLUG_PRESENCE, { 1, 3, false, 0, 8 } },
        { 0x00000008, UB_MGMT_MSG_ERROR_CE, { 0, 0, false, 0, 8 } },
        { 0x10000008, UB_MGMT_MSG_ERROR_NFUE, { 0, 1, false, 0, 8 } },
        { 0x20000008, UB_MGMT_MSG_ERROR_FUE, { 0, 2, false, 0, 8 } },
        { 0x0c00005c, UB_MGMT_MSG_REGISTER, { 6, 0, false, 0, 92 } },
        { 0x0d000000, UB_MGMT_MSG_REGISTER, { 6, 0, true, 0, 0 } },
        { 0x1c000014, UB_MGMT_MSG_DEREGISTER, { 6, 1, false, 0, 20 } },
        { 0x2c000024, UB_MGMT_MSG_BI_CREATE, { 6, 2, false, 0, 36 } },
        { 0x3c000010, UB_MGMT_MSG_BI_DESTROY, { 6, 3, false, 0, 16 } },
        { 0x4c000024, UB_MGMT_MSG_CFG_COMPLETE, { 6, 4, false, 0, 36 } },
        { 0x5c000004, UB_MGMT_MSG_PORT_RESET, { 6, 5, false, 0, 4 } },
        { 0x18000004, UB_MGMT_MSG_RESOURCE, { 4, 1, false, 0, 4 } },
        { 0x1800001c, UB_MGMT_MSG_RESOURCE, { 4, 1, false, 0, 28 } },
        { 0x19000024, UB_MGMT_MSG_RESOURCE, { 4, 1, true, 0, 36 } },
        { 0x28000000, UB_MGMT_MSG_ENTITY_INFO, { 4, 2, false, 0, 0 } },
        { 0x78000008, UB_MGMT_MSG_NEIGHBOR, { 4, 7, false, 0, 8 } },
        { 0x2a000004, UB_MGMT_MSG_TOKEN_CHECK, { 5, 2, false, 0, 4 } },
        { 0x2b000008, UB_MGMT_MSG_TOKEN_CHECK, { 5, 2, true, 0, 8 } },
        { 0xf6000014, UB_MGMT_MSG_VDM_VENDOR, { 3, 15, false, 0, 20 } },
    };

    for (unsigned i = 0; i < G_N_ELEMENTS(rows); i++) {
        const UbMgmtMessage *row = ub_mgmt_message(rows[i].e.code,
                                                   rows[i].e.sub);
        uint8_t p[4];
        UbMgmtEtah e;

        ub_mgmt_etah_put(p, rows[i].e);
        g_assert_cmphex(get_be32(p), ==, rows[i].word);
        e = ub_mgmt_etah_get(p);
        g_assert_cmpuint(e.code, ==, rows[i].e.code);
        g_assert_cmpuint(e.sub, ==, rows[i].e.sub);
        g_assert_cmpuint(e.rsp, ==, rows[i].e.rsp);
        g_assert_cmpuint(e.status, ==, rows[i].e.status);
        g_assert_cmpuint(e.len, ==, rows[i].e.len);
        g_assert_nonnull(row);
        g_assert_cmpuint(row->id, ==, rows[i].id);
        if (!e.rsp) {
            g_assert_cmpuint(e.len, >=, row->shortest);
            g_assert_cmpuint(e.len, <=, row->longest);
        }
    }
}

/* Sub codes that the table of §10.4.3.3 has; everything else is reserved. */
static void reserved(void)
{
    static const uint16_t subs[8] = {
        0x0007, 0x000f, 0x000f, 0x8003, 0x0086, 0x0006, 0x003f, 0,
    };
    static const struct {
        uint8_t value;
        const char *name;
    } names[] = {
        { 0x00, "success" }, { 0x01, "management overreach" },
        { 0x02, "target does not exist" }, { 0x03, "message code error" },
        { 0x04, "message length error" }, { 0x05, "reserved" },
        { 0x1f, "reserved" }, { 0x20, "no resource" },
        { 0x21, "permission error" }, { 0x22, "address error" },
        { 0x23, "busy" }, { 0x24, "object exists" },
        { 0x25, "object does not exist" }, { 0x26, "parameter error" },
        { 0x27, "execution error" }, { 0x28, "reserved" },
        { 0xfe, "reserved" }, { 0xff, "unknown error" },
    };

    for (unsigned code = 0; code < 8; code++) {
        for (unsigned sub = 0; sub < 16; sub++) {
            const UbMgmtMessage *row = ub_mgmt_message(code, sub);

            g_assert_cmpuint(!!row, ==, subs[code] >> sub & 1);
            g_assert_true(!row || row->id == (code << 4 | sub));
        }
    }
    for (unsigned i = 0; i < G_N_ELEMENTS(names); i++) {
        g_assert_cmpstr(ub_mgmt_status_name(names[i].value), ==,
                        names[i].name);
    }
}

/* ---- Fields ---- */

/* No field runs into another of its structure, nor over 32 bits. */
static void fields(void)
{
    static const struct {
        const char *structure, *show;
    } of[] = {
#define UB_X(symbol, structure, name, bit, bits, show) \
        { #structure, #show },
        UB_MGMT_FIELDS(UB_X)
#undef UB_X
    };

    for (unsigned i = 0; i < UB_MF_NUM; i++) {
        UbMgmtPlace a = ub_mgmt_places[i];

        g_assert_cmpuint(a.bits, ==, !strcmp(of[i].show, "id")
                                  ? 128 : MIN(a.bits, 32));
        for (unsigned j = 0; j < i; j++) {
            UbMgmtPlace b = ub_mgmt_places[j];

            g_assert_true(strcmp(of[i].structure, of[j].structure) ||
                          a.bit >= b.bit + b.bits ||
                          b.bit >= a.bit + a.bits);
        }
    }
}

/* Setting a field changes its bits and no other; reading gives it back. */
static void field_values(void)
{
    for (unsigned f = 0; f < UB_MF_NUM; f++) {
        UbMgmtPlace at = ub_mgmt_places[f];
        uint8_t ones[96], zeroes[96] = { 0 };
        uint32_t all = at.bits < 32 ? (1u << at.bits) - 1 : ~0u;

        memset(ones, 0xff, sizeof(ones));
        if (at.bits > 32) {
            continue;
        }
        ub_mgmt_put(ones, f, 0);
        ub_mgmt_put(zeroes, f, ~0u);
        for (unsigned bit = 0; bit < 8 * sizeof(ones); bit++) {
            bool in = bit >= at.bit && bit < at.bit + at.bits;
            uint8_t mask = 0x80 >> bit % 8;

            g_assert_cmpuint(!!(ones[bit / 8] & mask), ==, !in);
            g_assert_cmpuint(!!(zeroes[bit / 8] & mask), ==, in);
        }
        g_assert_cmphex(ub_mgmt_get(zeroes, f), ==, all);
        g_assert_cmphex(ub_mgmt_get(ones, f), ==, 0);
        ub_mgmt_put(ones, f, 0x5a5a5a5a);
        g_assert_cmphex(ub_mgmt_get(ones, f), ==, 0x5a5a5a5a & all);
    }
}

static void pdus(void)
{
    UbId id = { { 0x00010203, 0x04050607, 0x08090a0b, 0x0c0d0e0f } };
    uint8_t p[92];

    /* Entity 3, CFG1 ELR, all bytes, 1. */
    memset(p, 0, sizeof(p));
    ub_mgmt_put(p, UB_MF_CFG_ENTITY, 3);
    ub_mgmt_put(p, UB_MF_CFG_BYTE_EN, 0xf);
    ub_mgmt_put(p, UB_MF_CFG_ADDRESS, 0x1001c);
    ub_mgmt_put(p, UB_MF_CFG_DATA, 1);
    CHECK_BYTES(p, 0, 3, 0, 0xf0, 0, 1, 0, 0x1c, 0, 0, 0, 0, 0, 0, 0, 1);

    memset(p, 0, sizeof(p));
    ub_mgmt_put(p, UB_MF_ERROR_CNA, 0x123456);
    ub_mgmt_put(p, UB_MF_ERROR_EL, 1);
    ub_mgmt_put(p, UB_MF_ERROR_PORT, 0x789a);
    CHECK_BYTES(p, 0, 0x12, 0x34, 0x56, 0x80, 0, 0x78, 0x9a);

    memset(p, 0, sizeof(p));
    ub_mgmt_put(p, UB_MF_REGISTER_UPI, 0x7ffe);
    ub_mgmt_put(p, UB_MF_REGISTER_ENTITY, 0x1234);
    ub_mgmt_put_id(p, UB_MF_REGISTER_EID, id);
    ub_mgmt_put(p, UB_MF_REGISTER_CNA, 0xabcdef);
    ub_mgmt_put(p, UB_MF_REGISTER_SA2_HI, 0x55667788);
    CHECK_BYTES(p, 0x7f, 0xfe, 0x12, 0x34, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10,
                11, 12, 13, 14, 15);
    CHECK_BYTES(p + 36, 0, 0xab, 0xcd, 0xef);
    CHECK_BYTES(p + 88, 0x55, 0x66, 0x77, 0x88);
    g_assert_true(ub_id_same(ub_mgmt_get_id(p, UB_MF_REGISTER_EID), id));
    g_assert_true(ub_id_zero(ub_mgmt_get_id(p, UB_MF_REGISTER_GUID)));
    g_assert_false(ub_id_zero(id));

    /* The two halves of network address requests. */
    memset(p, 0, sizeof(p));
    ub_mgmt_put(p, UB_MF_NA_CFG_PORT, 0x1234);
    ub_mgmt_put(p, UB_MF_NA_CFG_CNA, 0x56789a);
    CHECK_BYTES(p + 24, 0x12, 0x34, 0, 0, 0, 0x56, 0x78, 0x9a);
    memset(p, 0, sizeof(p));
    ub_mgmt_put(p, UB_MF_NA_QUERY_PORT, 0x1234);
    CHECK_BYTES(p + 24, 0, 0, 0x12, 0x34);
    memset(p, 0, sizeof(p));
    ub_mgmt_put(p, UB_MF_CAP_SUP_MTU, 2);
    ub_mgmt_put(p, UB_MF_CAP_MTU, 1);
    ub_mgmt_put(p, UB_MF_CAP_DA, 1);
    ub_mgmt_put(p, UB_MF_CAP_CLASS, 0xbeef);
    CHECK_BYTES(p, 0, 0, 0x21, 0x01, 0, 0, 0xbe, 0xef);
}

/* ---- Scan Header ---- */

static void scan_header(void)
{
    static const struct {
        uint32_t word;
        unsigned r, type, hops, step;
    } rows[] = {
        { 0x00110300, 1, 1, 3, 0 },
        { 0x00010302, 0, 1, 3, 2 },
        { 0x00100900, 1, 0, 9, 0 },
    };
    static const unsigned bytes[][3] = {
        { 0, 1, 4 }, { 0, 8, 4 }, { 0, 9, 8 }, { 1, 3, 4 }, { 1, 5, 8 },
        { 2, 1, 4 }, { 2, 3, 8 }, { 0, 0, 0 }, { 2, 255, 512 }, { 3, 8, 0 },
        { 15, 8, 0 },
    };

    for (unsigned i = 0; i < G_N_ELEMENTS(rows); i++) {
        uint8_t p[4] = { 0 };

        ub_mgmt_put(p, UB_MF_SCAN_R, rows[i].r);
        ub_mgmt_put(p, UB_MF_SCAN_TYPE, rows[i].type);
        ub_mgmt_put(p, UB_MF_SCAN_HOPS, rows[i].hops);
        ub_mgmt_put(p, UB_MF_SCAN_STEP, rows[i].step);
        g_assert_cmphex(get_be32(p), ==, rows[i].word);
    }
    for (unsigned i = 0; i < G_N_ELEMENTS(bytes); i++) {
        g_assert_cmpuint(ub_scan_path_bytes(bytes[i][0], bytes[i][1]), ==,
                         bytes[i][2]);
    }
}

static void hops(void)
{
    uint8_t p[8], far[20] = { 0 };

    memset(p, 0, sizeof(p));
    for (unsigned i = 0; i < 9; i++) {
        ub_scan_set_hop(p, 0, i, i + 1);
    }
    CHECK_BYTES(p, 0x87, 0x65, 0x43, 0x21, 0, 0, 0, 9);
    ub_scan_set_hop(far, 0, 31, 7);
    CHECK_BYTES(far, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x70, 0, 0, 0, 0);
    g_assert_cmpuint(ub_scan_hop(far, 0, 31), ==, 7);
    g_assert_cmpuint(ub_scan_hop(p, 0, 0), ==, 1);
    g_assert_cmpuint(ub_scan_hop(p, 0, 7), ==, 8);
    g_assert_cmpuint(ub_scan_hop(p, 0, 8), ==, 9);
    memset(p, 0xff, sizeof(p));
    ub_scan_set_hop(p, 1, 0, 0x11);
    ub_scan_set_hop(p, 1, 5, 0x1aa);
    CHECK_BYTES(p, 0xff, 0xff, 0xff, 0x11, 0xff, 0xff, 0xaa, 0xff);
    g_assert_cmpuint(ub_scan_hop(p, 1, 5), ==, 0xaa);
    memset(p, 0, sizeof(p));
    ub_scan_set_hop(p, 2, 1, 0x1234);
    ub_scan_set_hop(p, 2, 2, 0x5678);
    CHECK_BYTES(p, 0x12, 0x34, 0, 0, 0, 0, 0x56, 0x78);
    g_assert_cmpuint(ub_scan_hop(p, 2, 1), ==, 0x1234);
}

/* A scan of @hops of @type, and the least Scan PDU. */
static unsigned make(uint8_t *p, unsigned type, unsigned n, bool r)
{
    unsigned path = ub_scan_path_bytes(type, n);

    memset(p, 0, UB_SCAN_MAX);
    ub_mgmt_put(p, UB_MF_SCAN_R, r);
    ub_mgmt_put(p, UB_MF_SCAN_TYPE, type);
    ub_mgmt_put(p, UB_MF_SCAN_HOPS, n);
    return 4 + path * (r ? 2 : 1) + 24;
}

static void parse(void)
{
    uint8_t p[UB_SCAN_MAX];
    UbScan s;
    unsigned len = make(p, 1, 3, true);

    g_assert_cmpuint(len, ==, 36);
    g_assert_null(ub_scan_parse(&s, p, len));
    g_assert_true(s.r);
    g_assert_cmpuint(s.type, ==, 1);
    g_assert_cmpuint(s.hops, ==, 3);
    g_assert_cmpuint(s.step, ==, 0);
    g_assert_cmpuint(s.path, ==, 4);
    g_assert_true(s.forward == p + 4 && s.back == p + 8 && s.pdu == p + 12);
    g_assert_cmpuint(s.pdu_len, ==, 24);
    g_assert_nonnull(ub_scan_parse(&s, p, len - 1));
    len = make(p, 1, 3, false);
    g_assert_null(ub_scan_parse(&s, p, len));
    g_assert_true(!s.r && !s.back && s.pdu == p + 8);
    g_assert_nonnull(ub_scan_parse(&s, p, len - 1));
    /* Without hops there is no path, with R or without. */
    for (unsigned r = 0; r < 2; r++) {
        len = make(p, 2, 0, r);
        g_assert_cmpuint(len, ==, 28);
        g_assert_null(ub_scan_parse(&s, p, len));
        g_assert_nonnull(ub_scan_parse(&s, p, 27));
    }
    for (unsigned type = 3; type < 16; type++) {
        make(p, type, 0, true);
        g_assert_nonnull(ub_scan_parse(&s, p, 28));
    }
    make(p, 0, 1, true);
    g_assert_null(ub_scan_parse(&s, p, UB_SCAN_MAX));
    g_assert_nonnull(ub_scan_parse(&s, p, UB_SCAN_MAX + 1));
    /* The longest paths have no room for both in 1,024 bytes. */
    make(p, 2, 255, true);
    g_assert_nonnull(ub_scan_parse(&s, p, UB_SCAN_MAX));
    make(p, 2, 255, false);
    g_assert_null(ub_scan_parse(&s, p, UB_SCAN_MAX));
}

/* Each receiver adds one; the one that Hops is reached at is the end. */
static void advance(void)
{
    uint8_t p[UB_SCAN_MAX];
    unsigned len = make(p, 1, 3, true), port = 99;
    UbScan s;

    for (unsigned i = 0; i < 3; i++) {
        ub_scan_set_hop(p + 4, 1, i, 10 + i);
    }
    for (unsigned i = 1; i < 3; i++) {
        g_assert_null(ub_scan_parse(&s, p, len));
        g_assert_cmpint(ub_scan_advance(&s, p, &port), ==, UB_SCAN_FORWARD);
        g_assert_cmpuint(port, ==, 10 + i);
        g_assert_cmpuint(p[3], ==, i);
    }
    g_assert_null(ub_scan_parse(&s, p, len));
    g_assert_cmpint(ub_scan_advance(&s, p, &port), ==, UB_SCAN_HERE);
    g_assert_cmpuint(p[3], ==, 3);
    g_assert_null(ub_scan_parse(&s, p, len));
    g_assert_cmpint(ub_scan_advance(&s, p, &port), ==, UB_SCAN_ASTRAY);
    g_assert_cmpuint(p[3], ==, 3);
    len = make(p, 1, 0, false);
    g_assert_null(ub_scan_parse(&s, p, len));
    g_assert_cmpint(ub_scan_advance(&s, p, &port), ==, UB_SCAN_ASTRAY);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/ub/mgmt/format/etah", etah);
    g_test_add_func("/ub/mgmt/format/reserved", reserved);
    g_test_add_func("/ub/mgmt/format/fields", fields);
    g_test_add_func("/ub/mgmt/format/field-values", field_values);
    g_test_add_func("/ub/mgmt/format/pdus", pdus);
    g_test_add_func("/ub/mgmt/format/scan-header", scan_header);
    g_test_add_func("/ub/mgmt/format/hops", hops);
    g_test_add_func("/ub/mgmt/format/parse", parse);
    g_test_add_func("/ub/mgmt/format/advance", advance);
    return g_test_run();
}
