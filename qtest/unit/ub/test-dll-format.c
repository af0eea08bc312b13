/*
 * Formats of the data link layer: known answers of every block type, field
 * corners, and the length rules for every payload length in both modes.
 *
 * The hexadecimal vectors were computed by hand from the field tables of
 * UB 2.0 §4.3 and a bitwise CRC30, apart from this code.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <glib.h>
#include <string.h>

#include "ub/dll_format.h"

static const UbBlockFormat crc = { UB_MODE_CRC, UB_CRC_COVER_INFO };
static const UbBlockFormat crc_bytes = { UB_MODE_CRC, UB_CRC_COVER_BYTES };
static const UbBlockFormat non_crc = { UB_MODE_NON_CRC, UB_CRC_COVER_INFO };

static unsigned unhex(uint8_t *out, const char *hex)
{
    unsigned n = 0;

    for (; *hex; hex++) {
        if (*hex == '*') { /* zeros to the end of the flit but four bytes */
            while (n % UB_FLIT_SIZE != 16) {
                out[n++] = 0;
            }
        } else if (*hex != ' ') {
            out[n++] = g_ascii_xdigit_value(hex[0]) << 4 |
                       g_ascii_xdigit_value(hex[1]);
            hex++;
        }
    }
    return n;
}

/* @body is the block without BCRC; @a and @b its BCRC in either coverage. */
static void expect(const uint8_t *block, unsigned flits, const char *body,
                   uint32_t bcrc, uint32_t bcrc_b)
{
    uint8_t want[UB_BLOCK_SIZE], other[UB_BLOCK_SIZE];
    unsigned n = unhex(want, body);

    g_assert_cmpuint(n, ==, flits * UB_FLIT_SIZE - 4);
    g_assert_cmpmem(block, n, want, n);
    g_assert_cmphex(get_be32(block + n), ==, bcrc);
    memcpy(other, block, n + 4);
    ub_seal_block(crc_bytes, other, flits, true, bcrc & UB_BCRC_ERROR_FLAG);
    g_assert_cmphex(get_be32(other + n), ==, bcrc_b);
}

static void test_control_blocks(void)
{
    uint8_t b[UB_BLOCK_SIZE];

    expect(b, ub_put_simple(crc, b, UB_CB_NULL), "02000000*",
           0x3D3B4DD6, 0x259A761F);
    expect(b, ub_put_simple(crc, b, UB_CB_NOB), "02000100*",
           0x05CAC953, 0x3ECC458B);
    expect(b, ub_put_simple(crc, b, UB_CB_RETRY_IDLE), "02001000*",
           0x1C6532AF, 0x38A7BB74);
    expect(b, ub_put_retry_req(crc, b, &(UbRetryReq) { 0, 0, 1 }),
           "02001100 00000000 00000001 00000000", 0x1738BB57, 0x3A70D90A);
    expect(b, ub_put_retry_req(crc, b, &(UbRetryReq) { 0x123, 1, 2 }),
           "02001100 00000000 01230102 00000000", 0x3F8D9460, 0x0FE36518);
    expect(b, ub_put_retry_ack(crc, b, &(UbRetryAck) { 1, 0x400, 0, 0 }),
           "02001200 00010400 00000000 00000000", 0x22E7976C, 0x08B9E5DB);
    expect(b, ub_put_crd_ack(crc, b, &(UbCrdAck) {
               .initial = true, .send_done = true, .crd_num = { 63 } }),
           "06002481 0000 00000000 00000000 0000003F 0000"
           "00000000 00000000 00000000 00000000", 0x13DD30F7, 0x3B49BBE2);
    expect(b, ub_put_crd_ack(crc, b, &(UbCrdAck) {
               .ack_num = 5, .crd_num = { 0, 2 } }),
           "06002400 0005 00000000 00000000 00000080 0000"
           "00000000 00000000 00000000 00000000", 0x009E5CE4, 0x00279739);
    expect(b, ub_put_block_mode_chg(crc, b, UB_BMC_REQ), "02005000*",
           0x324E5AE1, 0x19F9C40D);
    expect(b, ub_put_block_mode_chg(crc, b, UB_BMC_ACK), "02005001*",
           0x37799682, 0x270AC0CA);
    expect(b, ub_put_lane_manage(crc, b, &(UbLaneManage) {
               .req = true, .change_tlw = true, .tlw = 2 }),
           "02004100 51000200 00000000 00000000", 0x1EF0F44D, 0x12D66FA6);
    expect(b, ub_put_lane_manage(crc, b, &(UbLaneManage) {
               .rsp = true, .rsp_tlw = true, .rlw = 2 }),
           "02004100 00A10002 00000000 00000000", 0x2A6FFDEA, 0x204F5A10);
    expect(b, ub_put_param_exchg(crc, b, (const uint32_t[]) {
               3, 0x0C0D0E0F, 0x08090A0B, 0x04050607, 0x00010203 }, 5),
           "12003000 00000000 00000003 00000000 00000000"
           "00000000 00000000 0C0D0E0F 00000000 00000000"
           "00000000 00000000 08090A0B 00000000 00000000"
           "00000000 00000000 04050607 00000000 00000000"
           "00000000 00000000 00010203 00000000", 0x2ECA218E, 0x21662D09);
}

static UbDllParams fallback(void)
{
    UbDllParams p = {
        .feature_id = 1, .vl_enable = 1, .retry_buf_depth = 0x400,
        .data_ack_grain = 0x20, .ctrl_ack_grain = 1, .flow_ctrl_size = 8,
        .packet_min_interval = 1,
    };

    memset(p.ctrl_credit_grain, 1, UB_VLS);
    memset(p.data_credit_grain, 4, UB_VLS);
    return p;
}

static void test_init_block(void)
{
    uint8_t b[UB_BLOCK_SIZE];
    UbDllParams p = fallback(), q;

    expect(b, ub_put_init(crc, b, &p, 5),
           "1200C800 00000000 01002001 08000100 04000000"
           "00000000 01010101 01010101 01010101 01010000"
           "00000000 04040404 04040404 04040404 01010000"
           "00000000 00000000 00000000 00010404 04040000"
           "00000000 00000000 00000000 00000000", 0x073898E3, 0x3E70D1E7);

    /* Every byte of every parameter its own value, there and back. */
    for (unsigned flits = 5; flits <= 32; flits++) {
        p.feature_id = 0xa1a2;
        p.vl_enable = 0xb1b2;
        p.retry_buf_depth = 0xc1c2;
        p.rxbuf_vl_share = 1;
        p.data_ack_grain = 0xd1;
        p.ctrl_ack_grain = 0xd2;
        p.flow_ctrl_size = 0xd3;
        p.packet_min_interval = 0xd4;
        for (unsigned vl = 0; vl < UB_VLS; vl++) {
            p.ctrl_credit_grain[vl] = 0x10 + vl;
            p.data_credit_grain[vl] = 0x30 + vl;
        }
        g_assert_cmpuint(ub_put_init(crc, b, &p, flits), ==, flits);
        g_assert_true(ub_crc30_check(b, flits, UB_CRC_COVER_INFO));
        g_assert_cmpuint(ub_lch_flits(b), ==, flits);
        q = ub_get_init(b);
        /* all members; what the structure ends with may be padding */
        g_assert_cmpmem(&p, offsetof(UbDllParams, data_credit_grain) + UB_VLS,
                        &q, offsetof(UbDllParams, data_credit_grain) + UB_VLS);
    }
    /* Places of the split grain fields (Table 4-8). */
    g_assert_cmphex(b[20 + 4], ==, 0x10 + 13);
    g_assert_cmphex(b[20 + 17], ==, 0x10);
    g_assert_cmphex(b[40 + 4], ==, 0x30 + 11);
    g_assert_cmphex(b[40 + 15], ==, 0x30);
    g_assert_cmphex(b[40 + 16], ==, 0x10 + 15);
    g_assert_cmphex(b[40 + 17], ==, 0x10 + 14);
    g_assert_cmphex(b[60 + 14], ==, 0x30 + 15);
    g_assert_cmphex(b[60 + 17], ==, 0x30 + 12);
}

static void test_control_fields(void)
{
    uint8_t b[UB_BLOCK_SIZE];

    for (unsigned round = 0; round < 500; round++) {
        UbCrdAck ca = { .initial = round & 1, .ack_num = g_test_rand_int() };
        UbRetryReq rq = { g_test_rand_int(), g_test_rand_int(),
                          g_test_rand_int() };
        UbRetryAck ra = { g_test_rand_int(), g_test_rand_int(),
                          g_test_rand_int(), g_test_rand_int() };
        UbLaneManage lm = {
            .req = round & 1, .rsp = round & 2, .tlw = round & 63,
            .rlw = round >> 3 & 63, .power_down = (round & 1) && (round & 4),
            .change_rlw = (round & 1) && (round & 8),
            .rx_lane_up = (round & 2) && (round & 4),
            .rsp_rlw = (round & 2) && (round & 16),
        };
        UbCrdAck ca2;
        UbRetryReq rq2;
        UbRetryAck ra2;
        UbLaneManage lm2;

        ca.send_done = ca.initial && (round & 2);
        for (unsigned vl = 0; vl < UB_VLS; vl++) {
            ca.crd_num[vl] = g_test_rand_int() & 63;
        }
        ub_put_crd_ack(round & 4 ? crc : non_crc, b, &ca);
        ca2 = ub_get_crd_ack(b);
        g_assert_cmpmem(&ca, sizeof(ca), &ca2, sizeof(ca2));
        ub_put_retry_req(crc, b, &rq);
        rq2 = ub_get_retry_req(b);
        g_assert_cmpmem(&rq, sizeof(rq), &rq2, sizeof(rq2));
        ub_put_retry_ack(crc, b, &ra);
        ra2 = ub_get_retry_ack(b);
        g_assert_cmpuint(ra.num_retry, ==, ra2.num_retry);
        g_assert_cmpuint(ra.num_free_buf, ==, ra2.num_free_buf);
        g_assert_cmpuint(ra.rd_ptr, ==, ra2.rd_ptr);
        g_assert_cmpuint(ra.wr_ptr, ==, ra2.wr_ptr);
        ub_put_lane_manage(crc, b, &lm);
        lm2 = ub_get_lane_manage(b);
        g_assert_cmpmem(&lm, sizeof(lm), &lm2, sizeof(lm2));
    }
    /* VL15 starts at byte 6 bit 7, VL0 ends at byte 17 bit 0. */
    ub_put_crd_ack(crc, b, &(UbCrdAck) { .crd_num = { [15] = 32, [0] = 1 } });
    g_assert_cmphex(b[6], ==, 0x80);
    g_assert_cmphex(b[17], ==, 0x01);
}

/* Non-CRC DLLCBs end with END, never in the first flit of Crd_Ack. */
static void test_non_crc_control(void)
{
    uint8_t b[UB_BLOCK_SIZE];

    memset(b, 0xee, sizeof(b));
    g_assert_cmpuint(ub_put_crd_ack(non_crc, b, &(UbCrdAck) {
                         .ack_num = 0xffff }), ==, 2);
    for (unsigned i = 6; i < 40; i++) {
        g_assert_cmphex(b[i], ==, 0);
    }
    g_assert_cmpuint(ub_put_simple(non_crc, b, UB_CB_NULL), ==, 1);
    g_assert_cmphex(b[0], ==, 2);
    for (unsigned i = 1; i < 20; i++) {
        g_assert_cmphex(b[i], ==, 0);
    }
}

static void test_headers(void)
{
    uint32_t lph;

    g_assert_cmphex(ub_lph(0, 6, 0, ub_plength_pack((UbPlength) { 1, 1, 9 })),
                    ==, 0x00060009);
    g_assert_cmphex(ub_lph(1, 7, 0, ub_plength_pack((UbPlength) { 1, 2, 27 })),
                    ==, 0x0027003B);
    g_assert_cmphex(ub_lph(0, 7, 0, ub_plength_pack((UbPlength) { 2, 1, 0 })),
                    ==, 0x00070400);
    lph = UB_LPH_CRD | UB_LPH_ACK | 0xau << 26 | ub_lph(15, 9, 2, 0x3fef);
    g_assert_cmphex(lph, ==, 0xE9E9BFEF);
    g_assert_cmpuint(ub_lph_crd_vl(lph), ==, 10);
    g_assert_cmpuint(ub_lph_vl(lph), ==, 15);
    g_assert_cmpuint(ub_lph_cfg(lph), ==, 9);
    g_assert_cmpuint(ub_lph_rt(lph), ==, 2);
    g_assert_cmphex(ub_lph_plength(lph), ==, 0x3fef);
    for (unsigned cfg = 0; cfg < 16; cfg++) {
        g_assert_cmpint(ub_lph_cfg_is_dlldp(cfg), ==,
                        (cfg >= 3 && cfg <= 7) || cfg == 9);
    }
    g_assert_cmphex(ub_lch(2, UB_CB_CRD_ACK, 0x81), ==, 0x06002481);
    g_assert_cmphex(ub_lch(32, UB_CB_INIT, 0), ==, 0x7E00C800);
    g_assert_null(ub_dllcb_info(0x02));
    g_assert_cmpstr(ub_dllcb_info(0xc8)->name, ==, "Init");
}

static void test_packets(void)
{
    uint8_t payload[UB_PAYLOAD_MAX_NON_CRC];
    uint8_t out[UB_DLLDP_FLITS * UB_FLIT_SIZE], want[40];

    for (unsigned i = 0; i < sizeof(payload); i++) {
        payload[i] = i;
    }
    g_assert_cmpuint(ub_pack_packet(crc, 0, 6, 0, payload, 10, false, out,
                                    512), ==, 1);
    expect(out, 1, "00060009 00010203 04050607 08090000", 0x14CCC7FC,
           0x053331FF);
    ub_pack_packet(crc, 0, 6, 0, payload, 10, true, out, 512);
    expect(out, 1, "00060009 00010203 04050607 08090000", 0x41658D29,
           0x453331FF);
    g_assert_cmpuint(ub_pack_packet(crc, 1, 7, 0, payload, 16, false, out,
                                    512), ==, 2);
    expect(out, 2, "0027003B 00010203 04050607 08090A0B 0C0D0E0F"
           "00000000 00000000 00000000 00000000", 0x3A051276, 0x2455E1F7);
    g_assert_cmpuint(ub_pack_packet(crc, 0, 7, 0, payload, 633, false, out,
                                    512), ==, 33);
    g_assert_cmphex(get_be32(out), ==, 0x00070400);
    g_assert_cmpmem(out + 4, 632, payload, 632);
    g_assert_cmphex(get_be32(out + 636), ==, 0x0DF4946D);
    expect(out + 640, 1, "0007 78 00 00000000 00000000 00000000", 0x0CE61436,
           0x29ED2067);

    /* Non-CRC, 636 bytes: the 32nd flit is full, END takes a block. */
    g_assert_cmpuint(ub_pack_packet(non_crc, 2, 3, 1, payload, 636, true, out,
                                    512), ==, 33);
    g_assert_cmphex(get_be32(out), ==, 0x00434413);
    g_assert_cmpmem(out + 4, 636, payload, 636);
    memset(want, 0, sizeof(want));
    want[1] = 0x43;
    want[19] = 0x40;
    g_assert_cmpmem(out + 640, 20, want, 20);
    g_assert_cmpuint(ub_pack_packet(crc, 0, 6, 0, payload, 10143, false, out,
                                    512), ==, 0);
    g_assert_cmpuint(ub_pack_packet(crc, 0, 6, 0, payload, 1000, false, out,
                                    50), ==, 0);
}

/* Length table, from the filling rules by hand. */
static const struct {
    UbBlockMode mode;
    unsigned len;
    UbPlength p;
} lengths[] = {
    { UB_MODE_CRC, 1, { 1, 1, 0 } },       { UB_MODE_CRC, 12, { 1, 1, 11 } },
    { UB_MODE_CRC, 13, { 1, 2, 24 } },     { UB_MODE_CRC, 16, { 1, 2, 27 } },
    { UB_MODE_CRC, 17, { 1, 2, 0 } },      { UB_MODE_CRC, 33, { 1, 3, 16 } },
    { UB_MODE_CRC, 36, { 1, 3, 19 } },     { UB_MODE_CRC, 616, { 1, 32, 19 } },
    { UB_MODE_CRC, 632, { 1, 32, 15 } },   { UB_MODE_CRC, 633, { 2, 1, 0 } },
    { UB_MODE_CRC, 647, { 2, 2, 26 } },    { UB_MODE_CRC, 1266, { 2, 32, 15 } },
    { UB_MODE_CRC, 1267, { 3, 1, 0 } },    { UB_MODE_CRC, 4160, { 7, 19, 19 } },
    { UB_MODE_CRC, 10126, { 16, 32, 19 } },
    { UB_MODE_CRC, 10142, { 16, 32, 15 } },
    { UB_MODE_NON_CRC, 15, { 1, 1, 14 } },
    { UB_MODE_NON_CRC, 16, { 1, 2, 27 } },
    { UB_MODE_NON_CRC, 33, { 1, 2, 28 } },
    { UB_MODE_NON_CRC, 35, { 1, 2, 30 } },
    { UB_MODE_NON_CRC, 36, { 1, 3, 19 } },
    { UB_MODE_NON_CRC, 635, { 1, 32, 30 } },
    { UB_MODE_NON_CRC, 636, { 2, 1, 19 } },
    { UB_MODE_NON_CRC, 637, { 2, 1, 0 } },
    { UB_MODE_NON_CRC, 1273, { 2, 32, 30 } },
    { UB_MODE_NON_CRC, 1274, { 3, 1, 19 } },
    { UB_MODE_NON_CRC, 10205, { 16, 32, 30 } },
};

static void test_length_table(void)
{
    UbPlength p;

    for (size_t i = 0; i < G_N_ELEMENTS(lengths); i++) {
        g_assert_true(ub_plength_of(lengths[i].mode, lengths[i].len, &p));
        g_assert_cmpuint(p.blocks, ==, lengths[i].p.blocks);
        g_assert_cmpuint(p.last_flits, ==, lengths[i].p.last_flits);
        g_assert_cmpuint(p.code, ==, lengths[i].p.code);
    }
    ub_plength_of(UB_MODE_CRC, 10142, &p);
    g_assert_cmphex(ub_plength_pack(p), ==, 0x3FEF);
    ub_plength_of(UB_MODE_NON_CRC, 10205, &p);
    g_assert_cmphex(ub_plength_pack(p), ==, 0x3FFE);
    g_assert_false(ub_plength_of(UB_MODE_CRC, 0, &p));
    g_assert_false(ub_plength_of(UB_MODE_CRC, 10143, &p));
    g_assert_false(ub_plength_of(UB_MODE_NON_CRC, 0, &p));
    g_assert_false(ub_plength_of(UB_MODE_NON_CRC, 10206, &p));
}

/* Fill blocks byte by byte as the text of §4.3.4.2 says and read the code
 * off the table; the closed form must agree for every length.  Then every
 * PLENGTH value that no length has must be refused. */
static void test_all_lengths(void)
{
    for (unsigned mode = 0; mode < 2; mode++) {
        unsigned tail = mode == UB_MODE_CRC ? 4 : 1;
        g_autofree bool *seen = g_new0(bool, 1 << 14);
        unsigned count = 0;

        for (unsigned len = 1; len <= ub_payload_max(mode); len++) {
            unsigned left = len, blocks = 0, last, header, flits, end, code;
            unsigned in_flit = 0, end_abs = 0, abs = 0;
            UbPlength p;

            do {
                unsigned room;

                header = blocks ? 2 : 4;
                last = header + left + tail <= 640;
                room = 640 - header - (mode == UB_MODE_CRC ? 4 : 0);
                flits = last ? (header + left + tail + 19) / 20 : 32;
                for (unsigned n = 0; n < room && left; n++, left--) {
                    end = (header + n) / 20;
                    in_flit = end_abs == abs + end && n ? in_flit + 1 : 1;
                    end_abs = abs + end;
                }
                abs += flits;
                blocks++;
            } while (!last);
            if (end_abs == abs - 1) {
                code = in_flit <= 16 ? in_flit - 1 : in_flit + 11;
            } else {
                g_assert_cmpuint(end_abs, ==, abs - 2);
                code = mode == UB_MODE_CRC
                       ? (in_flit >= 17 ? in_flit - 1 : in_flit + 11)
                       : (in_flit == 16 ? 27 : in_flit - 1);
            }
            g_assert_true(ub_plength_of(mode, len, &p));
            g_assert_cmpuint(p.blocks, ==, blocks);
            g_assert_cmpuint(p.last_flits, ==, flits);
            g_assert_cmpuint(p.code, ==, code);
            g_assert_cmpint(ub_plength_payload(mode, p), ==, len);
            g_assert_false(seen[ub_plength_pack(p)]);
            seen[ub_plength_pack(p)] = true;
        }
        for (unsigned v = 0; v < 1 << 14; v++) {
            int len = ub_plength_payload(mode, ub_plength_unpack(v));

            g_assert_cmpint(len >= 0, ==, seen[v]);
            count += len >= 0;
        }
        g_assert_cmpuint(count, ==, ub_payload_max(mode));
    }
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/dll/format/headers", test_headers);
    g_test_add_func("/dll/format/control-blocks", test_control_blocks);
    g_test_add_func("/dll/format/init-block", test_init_block);
    g_test_add_func("/dll/format/control-fields", test_control_fields);
    g_test_add_func("/dll/format/non-crc-control", test_non_crc_control);
    g_test_add_func("/dll/format/packets", test_packets);
    g_test_add_func("/dll/format/length-table", test_length_table);
    g_test_add_func("/dll/format/all-lengths", test_all_lengths);
    return g_test_run();
}
