/*
 * Headers of the transaction layer: known bytes, every opcode there and back,
 * what is cut short or has reserved values.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <glib.h>

#include "core/bytes.h"
#include "core/random.h"
#include "ub/tah.h"

static const UbTahForm full = { .tasks = true };
static const UbTahForm plain = { 0 };
static const UbTahForm compact = { .compact = true };
static const UbTahForm compact_high = { .compact = true, .token_high = true };

/* Headers of @t are the bytes @hex, and these are @t again. */
static void known(const UbTahForm *form, UbTah t, const char *hex)
{
    uint8_t buf[UB_TAH_MAX];
    g_autoptr(GString) got = g_string_new(NULL);
    g_autoptr(GString) want = g_string_new(NULL);
    uint32_t n, hdr;
    UbTah back;

    if (t.ee == 0 && ub_ta_op(t.opcode)->kind != UB_TA_RESPONSE) {
        t.ee = UB_EE_NORMAL;
    }
    t.ext = ub_tah_exts(form, &t);
    n = ub_tah_build(form, &t, buf);
    for (uint32_t i = 0; i < n; i++) {
        g_string_append_printf(got, "%02x", buf[i]);
    }
    for (const char *p = hex; *p; p++) {
        if (*p != ' ') {
            g_string_append_c(want, g_ascii_tolower(*p));
        }
    }
    g_assert_cmpstr(got->str, ==, want->str);
    g_assert_cmpuint(n, ==, ub_tah_size(form, &t));
    g_assert_cmpint(ub_tah_parse(form, buf, n, &back, &hdr), ==,
                    UB_TAH_GOOD);
    g_assert_cmpuint(hdr, ==, n);
    if (back.be) {
        g_assert_cmpmem(back.be, back.be_len, t.be, t.be_len);
        back.be = t.be;
    }
    g_assert_cmpmem(&back, sizeof(back), &t, sizeof(t));
}

/* UB 2.0 §7.2.1, §7.2.3: a Write in both forms. */
static void test_write(void)
{
    UbTah t = { .opcode = UB_TA_WRITE, .tv_en = true, .tassn = 0x1234,
                .order = UB_TA_SO, .rc_id = 0x42, .addr = 0x0123456789,
                .token_id = 0xabcde, .length = 0x1000, .token = 0x5eedf00d };

    known(&full, t, "03 18 12 34 20 00 00 42"
          "00 00 00 01 23 45 67 89 0A BC DE 00 00 00 10 00 5e ed f0 0d");
    t = (UbTah) { .opcode = UB_TA_WRITE, .tassn = 0x1234,
                  .order = UB_TA_SO, .addr = 0x123456780, .affinity = 1,
                  .length = 256, .token_id = 0xabcde };
    known(&compact, t, "03 10 12 34 00 00 00 01 23 45 67 9A 00 0A BC DE");
    known(&compact_high, t, "03 10 12 34 00 00 00 01 23 45 67 9A 0A BC DE 00");
    t.order = UB_TA_RO;
    t.length = 8192;
    t.addr = 0x1234567c0;
    known(&compact, t, "03 10 12 34 00 00 00 01 23 45 67 D7 00 0A BC DE");
    t = (UbTah) { .opcode = UB_TA_WRITEBACK, .e_bit = true, .poison = true,
                  .ee = UB_EE_TEE, .rc_type = UB_RC_SC, .rc_id = 0xfffff,
                  .length = 64 };
    known(&full, t, "17 34 00 00 00 6f ff ff"
          "00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 40");
}

/* §7.2.4, §7.2.7, §7.2.8: messages. */
static void test_messages(void)
{
    UbTah t = { .opcode = UB_TA_SEND, .tassn = 0xffff, .order = UB_TA_RO,
                .ordered_cqe = true, .mt_en = true, .fce = true,
                .rc_id = 0xabcde, .hint = 0x5a, .tc_type = UB_TC_GROUP,
                .tc_id = 0x12345, .offset = 4 };

    known(&full, t, "00 10 FF FF 5C 0A BC DE 5A 21 23 45 00 00 00 04");
    t.opcode = UB_TA_SEND_IMM;
    t.tv_en = t.ud_flag = true;
    t.ud = 0x01020304;
    t.token = 0x0a0b0c0d;
    t.imm = 0x1122334455667788;
    known(&full, t, "01 19 FF FF 5C 0A BC DE 01 02 03 04 5A 21 23 45"
          "00 00 00 04 11 22 33 44 55 66 77 88 00 00 00 00 00 00 00 00"
          "0a 0b 0c 0d");
    t = (UbTah) { .opcode = UB_TA_WRITE_IMM, .mt_en = true, .tv_en = true,
                  .no_taack = true, .retry = true, .tc_id = 7,
                  .addr = 0x1000, .length = 0x40, .token_id = 1,
                  .imm = 0x1122334455667788, .imm_token = 0xdeadbeef,
                  .msg_len = 0x3000, .token = 0x11111111 };
    known(&full, t, "04 18 00 00 8A 00 00 00 00 00 00 07"
          "00 00 00 00 00 00 10 00 00 00 01 00 00 00 00 40"
          "11 22 33 44 55 66 77 88 DE AD BE EF 00 00 30 00 11 11 11 11");
    t = (UbTah) { .opcode = UB_TA_WRITE_NOTIFY, .ntf_addr = 0x10,
                  .ntf_token_id = 0x123, .ntf_token = 0xcafef00d,
                  .ntf_data = 0x0102030405060708, .length = 1 };
    known(&full, t, "05 10 00 00 00 00 00 00"
          "00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 01"
          "00 00 00 00 00 00 00 10 00 01 23 00 CA FE F0 0D"
          "01 02 03 04 05 06 07 08");
}

/* §7.2.6, §7.2.10, §7.2.11: tasks, byte enables, sub-operations. */
static void test_others(void)
{
    uint8_t be[128] = { [7] = 1 };
    UbTah t = { .opcode = UB_TA_READ, .taid = 0xbeef, .offset = 4,
                .length = 0x2000 };

    known(&full, t, "06 10 00 00 00 00 00 00 00 00 BE EF 00 00 00 04"
          "00 00 00 00 00 00 00 00 00 00 00 00 00 00 20 00");
    t.taid = t.offset = 0;
    known(&plain, t, "06 10 00 00 00 00 00 00"
          "00 00 00 00 00 00 00 00 00 00 00 00 00 00 20 00");
    t = (UbTah) { .opcode = UB_TA_WRITE_BE, .length = 64, .be = be,
                  .be_len = 8, .order = UB_TA_RO };
    known(&compact, t, "14 10 00 00 00 00 00 00 00 00 00 00 00 00 00 00"
          "00 00 00 00 00 00 00 01");
    memset(be, 0, sizeof(be));
    be[0] = 0x80;
    known(&full, t, "14 10 00 00 10 00 00 00"
          "00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 40"
          "80 00 00 00 00 00 00 00");
    t = (UbTah) { .opcode = UB_TA_ATOMIC_STORE, .ud_flag = true,
                  .ud = 2 << 20, .length = 8 };
    known(&plain, t, "09 11 00 00 00 00 00 00 00 20 00 00"
          "00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 08");
    t = (UbTah) { .opcode = UB_TA_MANAGEMENT, .tassn = 1, .rc_id = 3,
                  .mgmt_code = 2, .pdu_len = 16 };
    known(&full, t, "10 10 00 01 00 00 00 03 04 00 00 10");
    t.mgmt_rsp = true;
    t.mgmt_sub = 9;
    t.mgmt_status = 0x22;
    known(&full, t, "10 10 00 01 00 00 00 03 95 22 00 10");
    t = (UbTah) { .opcode = UB_TA_PREFETCH, .length = 64 };
    known(&full, t, "15 10 00 00 00 00 00 00"
          "00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 40");
}

/* §7.2.2, tables 7-3: responses. */
static void test_responses(void)
{
    static const struct { uint8_t rspst, info; const char *hex; } acks[] = {
        { UB_TAH_OK, 9, "09" },
        { UB_TAH_RNR, 10, "2A" },
        { UB_TAH_PAGE_FAULT, 0, "40" },
        { UB_TAH_COMPLETER, UB_TAH_UNSUPPORTED, "61" },
        { UB_TAH_COMPLETER, UB_TAH_ABORT, "62" },
        { UB_TAH_ACCEPTED, 0, "A0" },
    };
    UbTah t = { .opcode = UB_TA_TAACK, .tassn = 0x1234, .rc_id = 0x42 };

    for (unsigned i = 0; i < G_N_ELEMENTS(acks); i++) {
        g_autofree char *hex = g_strdup_printf("11 00 12 34 %s 00 00 42",
                                               acks[i].hex);

        t.rspst = acks[i].rspst;
        t.rspinfo = acks[i].info;
        known(&full, t, hex);
    }
    t = (UbTah) { .opcode = UB_TA_TAACK, .sv = true, .tassn = 7,
                  .rc_id = 0x42 };
    known(&full, t, "11 08 00 07 00 00 00 42");
    /* Target ordering: allocation, a request of the SC, its response. */
    t = (UbTah) { .opcode = UB_TA_WRITE, .order = UB_TA_RO, .alloc = true,
                  .rc_id = 0x42, .length = 1 };
    known(&full, t, "03 10 00 00 11 00 00 42"
          "00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 01");
    t = (UbTah) { .opcode = UB_TA_WRITE, .tassn = 1, .order = UB_TA_SO,
                  .rc_type = UB_RC_SC, .rc_id = 7, .length = 1 };
    known(&full, t, "03 10 00 01 20 20 00 07"
          "00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 01");
    t = (UbTah) { .opcode = UB_TA_TAACK, .tassn = 1, .rc_type = UB_RC_SC,
                  .rc_id = 0x42 };
    known(&full, t, "11 00 00 01 00 20 00 42");
    t = (UbTah) { .opcode = UB_TA_TAACK, .tassn = 0x1234 };
    known(&compact, t, "11 00 12 34");
    t.status = 1;
    known(&compact, t, "11 10 12 34");
    t = (UbTah) { .opcode = UB_TA_READ_RESPONSE, .tassn = 0x1234,
                  .poison = true };
    known(&compact, t, "12 04 12 34");
    t.taid = 0xbeef;
    t.offset = 8;
    t.rspst = UB_TAH_COMPLETER;
    t.rspinfo = UB_TAH_ABORT;
    known(&full, t, "12 04 12 34 62 00 00 00 00 00 be ef 00 00 00 08");
    t = (UbTah) { .opcode = UB_TA_ATOMIC_RESPONSE, .taid = 1 };
    known(&full, t, "13 00 00 00 00 00 00 00 00 00 00 01");
}

/* Sizes of §7.2.1's table, full and compact, nothing optional. */
static void test_sizes(void)
{
    static const struct { uint8_t op, full, compact; } size[] = {
        { UB_TA_SEND, 16, 0 }, { UB_TA_SEND_IMM, 32, 0 },
        { UB_TA_WRITE, 24, 16 }, { UB_TA_WRITE_IMM, 44, 0 },
        { UB_TA_WRITE_NOTIFY, 48, 0 }, { UB_TA_READ, 24, 16 },
        { UB_TA_ATOMIC_CAS, 24, 16 }, { UB_TA_ATOMIC_SWAP, 24, 16 },
        { UB_TA_ATOMIC_STORE, 24, 16 }, { UB_TA_ATOMIC_LOAD, 24, 16 },
        { UB_TA_FETCH_ADD, 24, 16 }, { UB_TA_FETCH_SUB, 24, 16 },
        { UB_TA_FETCH_AND, 24, 16 }, { UB_TA_FETCH_OR, 24, 16 },
        { UB_TA_FETCH_XOR, 24, 16 }, { UB_TA_MANAGEMENT, 12, 0 },
        { UB_TA_TAACK, 8, 4 }, { UB_TA_READ_RESPONSE, 8, 4 },
        { UB_TA_ATOMIC_RESPONSE, 8, 4 }, { UB_TA_WRITE_BE, 24, 16 },
        { UB_TA_PREFETCH, 24, 16 }, { UB_TA_WRITEBACK, 24, 16 },
        { UB_TA_WRITEBACK_BE, 24, 16 },
    };
    unsigned named = 0;

    for (unsigned i = 0; i < G_N_ELEMENTS(size); i++) {
        UbTah t = { .opcode = size[i].op };

        t.ext = ub_tah_exts(&plain, &t);
        g_assert_cmpuint(ub_tah_size(&plain, &t), ==, size[i].full);
        g_assert_cmpint(ub_ta_op(t.opcode)->compact, ==, !!size[i].compact);
        if (size[i].compact) {
            g_assert_cmpuint(ub_tah_size(&compact, &t), ==, size[i].compact);
        }
    }
    for (unsigned op = 0; op < 256; op++) {
        named += !!ub_ta_op(op)->name;
    }
    g_assert_cmpuint(named, ==, G_N_ELEMENTS(size));
    g_assert_cmpuint(ub_tah_be_size(64), ==, 8);
    g_assert_cmpuint(ub_tah_be_size(1024), ==, 128);
    g_assert_cmpuint(ub_tah_be_size(5000), ==, 128);
    g_assert_cmpuint(ub_tah_be_size(96), ==, 0);
    g_assert_cmpint(ub_tah_block_code(64), ==, 0);
    g_assert_cmpint(ub_tah_block_code(8192), ==, 7);
    g_assert_cmpint(ub_tah_block_code(96), ==, -1);
    g_assert_true(ub_tah_compact(9, UB_TA_WRITE, false));
    g_assert_true(ub_tah_compact(9, UB_TA_SEND, false));
    g_assert_false(ub_tah_compact(6, UB_TA_WRITE, false));
    g_assert_true(ub_tah_compact(6, UB_TA_WRITE, true));
    g_assert_false(ub_tah_compact(6, UB_TA_SEND, true));
    g_assert_false(ub_tah_compact(7, UB_TA_WRITE, true));
}

/* Each opcode with random fields: the same again, and short at each length. */
static void test_round(void)
{
    uint64_t seed = 1;

    for (unsigned i = 0; i < 20000; i++) {
        UbTahForm form = { .compact = core_random(&seed) % 2,
                           .tasks = core_random(&seed) % 2,
                           .token_high = core_random(&seed) % 2 };
        uint8_t opcode = core_random(&seed) % UB_TA_OPCODES;
        uint8_t in[UB_TAH_MAX], out[UB_TAH_MAX];
        uint32_t hdr, again;
        UbTah t;

        if (!ub_ta_op(opcode)->name ||
            (form.compact && !ub_ta_op(opcode)->compact)) {
            continue;
        }
        for (unsigned j = 0; j < sizeof(in); j++) {
            in[j] = core_random(&seed);
        }
        in[0] = opcode;
        in[1] &= 0x3f;
        if (ub_tah_parse(&form, in, sizeof(in), &t, &hdr) != UB_TAH_GOOD) {
            continue;
        }
        g_assert_cmpuint(ub_tah_size(&form, &t), ==, hdr);
        g_assert_cmpuint(ub_tah_build(&form, &t, out), ==, hdr);
        {
            UbTah u;

            g_assert_cmpint(ub_tah_parse(&form, out, hdr, &u, &again), ==,
                            UB_TAH_GOOD);
            t.be = u.be;
            g_assert_cmpmem(&t, sizeof(t), &u, sizeof(u));
        }
        for (uint32_t n = 0; n < hdr; n++) {
            g_assert_cmpint(ub_tah_parse(&form, out, n, &t, &again), ==,
                            UB_TAH_SHORT);
        }
    }
}

static UbTahFault parse(const UbTahForm *form, const char *hex)
{
    uint8_t buf[UB_TAH_MAX];
    uint32_t n = 0, hdr;
    UbTah t;

    for (; hex[0]; hex += 2) {
        buf[n++] = g_ascii_xdigit_value(hex[0]) << 4 |
                   g_ascii_xdigit_value(hex[1]);
    }
    return ub_tah_parse(form, buf, n, &t, &hdr);
}

#define MEMORY "000000000000000000000000"

static void test_faults(void)
{
    g_assert_cmpint(parse(&plain, "0210000000000000"), ==, UB_TAH_OPCODE);
    g_assert_cmpint(parse(&plain, "1610000000000000"), ==, UB_TAH_OPCODE);
    g_assert_cmpint(parse(&plain, "1910000000000000"), ==, UB_TAH_OPCODE);
    g_assert_cmpint(parse(&plain, "ff10000000000000"), ==, UB_TAH_OPCODE);
    g_assert_cmpint(parse(&plain, "1140000000000000"), ==, UB_TAH_VERSION);
    g_assert_cmpint(parse(&plain, "1100000000000000"), ==, UB_TAH_GOOD);
    /* INI_RC_Type 11. */
    g_assert_cmpint(parse(&plain, "1100000000300000"), ==, UB_TAH_FIELD);
    g_assert_cmpint(parse(&plain, "1100000000200000"), ==, UB_TAH_GOOD);
    /* EE_bits 00, 10. */
    g_assert_cmpint(parse(&plain, "0310000000000000" MEMORY "00000001"), ==,
                    UB_TAH_GOOD);
    g_assert_cmpint(parse(&plain, "0300000000000000" MEMORY "00000001"), ==,
                    UB_TAH_FIELD);
    g_assert_cmpint(parse(&plain, "0320000000000000" MEMORY "00000001"), ==,
                    UB_TAH_FIELD);
    /* ODR 11; MT_EN in a Write, none in a Send. */
    g_assert_cmpint(parse(&plain, "0310000030000000" MEMORY "00000001"), ==,
                    UB_TAH_FIELD);
    g_assert_cmpint(parse(&plain, "0310000008000000" MEMORY "00000001"), ==,
                    UB_TAH_FIELD);
    g_assert_cmpint(parse(&plain, "00100000080000000000000000000000"), ==,
                    UB_TAH_GOOD);
    g_assert_cmpint(parse(&plain, "00100000000000000000000000000000"), ==,
                    UB_TAH_FIELD);
    /* TGT_TC_Type 11. */
    g_assert_cmpint(parse(&plain, "00100000080000000030000000000000"), ==,
                    UB_TAH_FIELD);
    /* Byte enables of 96 bytes; a PDU of 1025 bytes. */
    g_assert_cmpint(parse(&plain, "1410000000000000" MEMORY "00000060"), ==,
                    UB_TAH_FIELD);
    g_assert_cmpint(parse(&plain, "101000000000000000000401"), ==,
                    UB_TAH_FIELD);
    g_assert_cmpint(parse(&plain, "101000000000000000000400"), ==,
                    UB_TAH_GOOD);
    /* Not compact; reserved status. */
    g_assert_cmpint(parse(&compact, "00100000"), ==, UB_TAH_FORM);
    g_assert_cmpint(parse(&compact, "10100000"), ==, UB_TAH_FORM);
    g_assert_cmpint(parse(&compact, "11200000"), ==, UB_TAH_FIELD);
    for (unsigned i = 0; i < UB_TAH_FAULTS; i++) {
        g_assert_nonnull(ub_tah_fault_name(i));
    }
}

static void test_print(void)
{
    UbTah t = { .opcode = UB_TA_WRITE, .ee = 1, .tv_en = true, .tassn = 3,
                .order = UB_TA_SO, .rc_id = 0x42, .addr = 0x1000,
                .token_id = 0xabc, .length = 64, .token = 5, .retry = true };
    char out[256], small[6];

    t.ext = ub_tah_exts(&plain, &t);
    ub_tah_print(&plain, &t, out, sizeof(out));
    g_assert_cmpstr(out, ==, "Write tassn=3 ee=1 rc=0:42 SO retry addr=1000 "
                    "token-id=abc length=64 token=00000005");
    t = (UbTah) { .opcode = UB_TA_TAACK, .tassn = 9, .rspst = UB_TAH_RNR,
                  .rspinfo = 10, .rc_id = 1 };
    ub_tah_print(&plain, &t, out, sizeof(out));
    g_assert_cmpstr(out, ==, "TAACK tassn=9 rspst=1/10 rc=0:1");
    ub_tah_print(&plain, &t, small, sizeof(small));
    g_assert_cmpstr(small, ==, "TAACK");
    t.status = 1;
    ub_tah_print(&compact, &t, out, sizeof(out));
    g_assert_cmpstr(out, ==, "TAACK tassn=9 status=1");
}

/* Every header in words. */
static void test_print_headers(void)
{
    static const uint8_t be[] = { 0x80, 0, 0, 0, 0, 0, 0x12, 0x0f };
    static const struct {
        const UbTahForm *form;
        UbTah t;
        const char *want;
    } rows[] = {
        { &full, { .opcode = UB_TA_SEND_IMM, .ud_flag = true, .tv_en = true, .ee = 3,
                   .tassn = 65535, .order = UB_TA_RO, .ordered_cqe = true,
                   .no_taack = true, .fce = true, .alloc = true, .e_bit = true,
                   .poison = true, .rc_type = 2, .rc_id = 0xfffff, .ud = 0xabc,
                   .tc_type = 2, .tc_id = 0x1f, .hint = 255, .offset = 4,
                   .imm = 0x1122334455667788, .imm_token = 0xbeef, .msg_len = 77,
                   .token = 0x5eed },
          "Send_with_immediate tassn=65535 ee=3 rc=2:fffff RO cqe-order no-taack fce "
          "alloc exclusive poison ud=00000abc tc=2:1f hint=255 offset=4 "
          "imm=1122334455667788 imm-token=0000beef msg-len=77 token=00005eed" },
        { &full, { .opcode = UB_TA_READ, .taid = 9, .offset = 64, .addr = 0x10,
                   .length = 3 },
          "Read tassn=0 ee=0 rc=0:0 NO taid=9 offset=64 addr=10 token-id=0 length=3" },
        { &full, { .opcode = UB_TA_WRITE_NOTIFY, .order = 3, .ntf_data = 0xab,
                   .ntf_addr = 0xcd, .ntf_token_id = 0xe, .ntf_token = 0xf },
          "Write_with_notify tassn=0 ee=0 rc=0:0 ? addr=0 token-id=0 length=0 "
          "notify=ab@cd token-id=e token=0000000f" },
        { &full, { .opcode = UB_TA_MANAGEMENT, .mgmt_code = 2, .mgmt_sub = 9,
                   .mgmt_rsp = true, .mgmt_status = 0x22, .pdu_len = 16 },
          "Management tassn=0 ee=0 rc=0:0 NO code=2 sub=9 response status=22 pdu=16" },
        { &full, { .opcode = UB_TA_MANAGEMENT, .mgmt_code = 1 },
          "Management tassn=0 ee=0 rc=0:0 NO code=1 sub=0 request status=00 pdu=0" },
        { &compact, { .opcode = UB_TA_WRITE_BE, .order = UB_TA_SO, .be = be,
                      .be_len = 8, .length = 64 },
          "Write_with_be tassn=0 ee=0 SO addr=0 token-id=0 length=64 "
          "be=800000000000120f" },
        { &full, { .opcode = UB_TA_TAACK, .sv = true, .tassn = 7, .rc_type = 1,
                   .rc_id = 0x42, .poison = true },
          "TAACK tassn=7 rspst=0/0 sv rc=1:42 poison" },
        { &full, { .opcode = 0x02 }, "Reserved tassn=0 ee=0 rc=0:0 NO" },
    };

    for (unsigned i = 0; i < G_N_ELEMENTS(rows); i++) {
        UbTah t = rows[i].t;
        char out[512];

        t.ext = ub_tah_exts(rows[i].form, &t);
        ub_tah_print(rows[i].form, &t, out, sizeof(out));
        g_assert_cmpstr(out, ==, rows[i].want);
    }
}

static void test_ext_sizes(void)
{
    static const struct { const char *name; uint8_t full, compact; } ext[UB_EXTS] = {
        { "UDETAH", 4, 4 }, { "MTETAH", 4, 4 }, { "TAIDETAH", 4, 4 },
        { "OFSTETAH", 4, 4 }, { "MAETAH", 16, 12 }, { "IMMETAH", 16, 16 },
        { "NTFETAH", 24, 24 }, { "MGMTETAH", 4, 4 }, { "TVETAH", 4, 4 },
        { "BEETAH", 0, 0 },
    };

    for (unsigned i = 0; i < UB_EXTS; i++) {
        g_assert_cmpstr(ub_tah_ext_name(i), ==, ext[i].name);
        g_assert_cmpuint(ub_tah_ext_size(i, false), ==, ext[i].full);
        g_assert_cmpuint(ub_tah_ext_size(i, true), ==, ext[i].compact);
    }
    for (uint32_t n = 0; n < 3000; n++) {
        uint32_t most = MIN(n, 1024);

        g_assert_cmpuint(ub_tah_be_size(n), ==,
                         most >= 64 && !(most & (most - 1)) ? most / 8 : 0);
    }
    for (int code = 0; code < 8; code++) {
        g_assert_cmpint(ub_tah_block_code(64 << code), ==, code);
        g_assert_cmpint(ub_tah_block_code((64 << code) + 1), ==, -1);
        g_assert_cmpuint(ub_tah_block(code), ==, 64u << code);
    }
    g_assert_cmpint(ub_tah_block_code(32), ==, -1);
    g_assert_cmpint(ub_tah_block_code(16384), ==, -1);
    g_assert_null(ub_tah_fault_name(UB_TAH_FAULTS));
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/ub/tah/write", test_write);
    g_test_add_func("/ub/tah/messages", test_messages);
    g_test_add_func("/ub/tah/others", test_others);
    g_test_add_func("/ub/tah/responses", test_responses);
    g_test_add_func("/ub/tah/sizes", test_sizes);
    g_test_add_func("/ub/tah/round", test_round);
    g_test_add_func("/ub/tah/faults", test_faults);
    g_test_add_func("/ub/tah/print", test_print);
    g_test_add_func("/ub/tah/print-headers", test_print_headers);
    g_test_add_func("/ub/tah/ext-sizes", test_ext_sizes);
    return g_test_run();
}
