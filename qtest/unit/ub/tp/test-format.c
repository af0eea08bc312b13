/*
 * Headers of the transport layer against known answers.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <glib.h>
#include <string.h>

#include "core/random.h"
#include "ub/tp_format.h"

static void bytes_are(const uint8_t *p, const char *hex, uint32_t len)
{
    g_autoptr(GString) s = g_string_new("");

    for (uint32_t i = 0; i < len; i++) {
        g_string_append_printf(s, "%02x", p[i]);
    }
    g_assert_cmpstr(s->str, ==, hex);
}

static void rtph_is(const UbRtph *h, const char *hex)
{
    uint8_t b[UB_RTPH_LEN];
    UbRtph back;

    ub_rtph_put(b, h);
    bytes_are(b, hex, sizeof(b));
    ub_rtph_get(b, &back);
    g_assert_cmpuint(back.opcode, ==, h->opcode);
    g_assert_cmpint(back.last, ==, h->last);
    g_assert_cmpuint(back.ver, ==, h->ver);
    g_assert_cmpuint(back.pad, ==, h->pad);
    g_assert_cmpuint(back.nlp, ==, h->nlp);
    g_assert_cmpuint(back.src, ==, h->src);
    g_assert_cmpuint(back.dst, ==, h->dst);
    g_assert_cmpint(back.ack_req, ==, h->ack_req);
    g_assert_cmpint(back.fake, ==, h->fake);
    g_assert_cmpuint(back.psn, ==, h->psn);
    g_assert_cmpuint(back.rspst, ==, h->rspst);
    g_assert_cmpuint(back.rspinfo, ==, h->rspinfo);
    g_assert_cmpuint(back.msn, ==, h->msn);
}

static void test_rtph(void)
{
    static const struct {
        UbRtph h;
        const char *hex;
    } kat[] = {
        { { .opcode = UB_TPOP_DATA, .last = true, .src = 0x123456,
            .dst = 0xabcdef, .ack_req = true, .psn = 10, .msn = 7 },
          "8100123456abcdef8000000a00000007" },
        { { .opcode = UB_TPOP_ACK, .src = 0xabcdef, .dst = 0x123456,
            .psn = 10, .msn = 7 }, "0200abcdef1234560000000a00000007" },
        { { .opcode = UB_TPOP_ACK, .src = 0xabcdef, .dst = 0x123456,
            .psn = 11, .rspst = UB_RTPH_NAK, .rspinfo = UB_NAK_PSN },
          "0200abcdef1234560000000b60000000" },
        { { .opcode = UB_TPOP_SACK, .src = 0xabcdef, .dst = 0x123456,
            .psn = 10 }, "0500abcdef1234560000000a00000000" },
        { { .opcode = UB_TPOP_CNP, .src = 1, .dst = 2 },
          "08000000010000020000000000000000" },
        { { .opcode = UB_TPOP_DATA, .ver = 2, .pad = 3, .nlp = 3, .src = 1,
            .dst = 2, .fake = true, .psn = 0xffffff, .msn = 0xfedcba },
          "01b300000100000240ffffff00fedcba" },
        { { .opcode = UB_TPOP_ACK, .src = 1, .dst = 2, .psn = 5,
            .rspst = UB_RTPH_RNR, .rspinfo = 19, .msn = 9 },
          "02000000010000020000000533000009" },
        { { .opcode = UB_TPOP_ACK, .src = 1, .dst = 2, .psn = 5,
            .rspst = UB_RTPH_TA, .rspinfo = UB_RTPH_TA_GOOD, .msn = 9 },
          "020000000100000200000005a2000009" },
        { { .opcode = 0x7f, .last = true, .src = 0xffffff, .dst = 0xffffff,
            .ver = 3, .pad = 3, .nlp = 15, .ack_req = true, .fake = true,
            .psn = 0xffffff, .rspst = 7, .rspinfo = 31, .msn = 0xffffff },
          "ffffffffffffffffc0ffffffffffffff" },
    };

    for (unsigned i = 0; i < G_N_ELEMENTS(kat); i++) {
        rtph_is(&kat[i].h, kat[i].hex);
    }
}

static void test_utph(void)
{
    UbRtph h = { .opcode = UB_TPOP_UNRELIABLE, .last = true, .pad = 1,
                 .nlp = 1 };

    rtph_is(&h, "80110000000000000000000000000000");
}

static void test_ctph(void)
{
    static const struct {
        UbCtph h;
        uint8_t byte;
    } kat[] = {
        { { UB_CTPOP_DATA, 0, UB_TPH_UPI16 }, 0x02 },
        { { UB_CTPOP_CNP, 3, 0 }, 0x70 },
        { { UB_CTPOP_DATA, 2, UB_TPH_CIP }, 0x23 },
        { { 3, 3, 15 }, 0xff },
    };

    for (unsigned i = 0; i < G_N_ELEMENTS(kat); i++) {
        uint8_t b = 0;
        UbCtph h;

        ub_ctph_put(&b, &kat[i].h);
        g_assert_cmphex(b, ==, kat[i].byte);
        ub_ctph_get(&b, &h);
        g_assert_cmpuint(h.opcode, ==, kat[i].h.opcode);
        g_assert_cmpuint(h.pad, ==, kat[i].h.pad);
        g_assert_cmpuint(h.nlp, ==, kat[i].h.nlp);
    }
}

static void test_cetph(void)
{
    UbCetph c = { .ack_seq = 1000, .ce_seq = 0x01020304 }, back;
    uint8_t b[UB_CETPH_CNP_LEN];

    ub_cetph_put_ldcp(b, &c);
    bytes_are(b, "000003e801020304", UB_CETPH_LEN);
    ub_cetph_get_ldcp(b, &back);
    g_assert_cmpuint(back.ack_seq, ==, 1000);
    g_assert_cmphex(back.ce_seq, ==, 0x01020304);

    c = (UbCetph) { .ack_seq = 1000, .loc = true, .inc = true, .c = 3,
                    .hint = 0x40 };
    ub_cetph_put_caqm(b, &c);
    bytes_are(b, "000003e803030040", UB_CETPH_LEN);
    ub_cetph_get_caqm(b, &back);
    g_assert_cmpuint(back.ack_seq, ==, 1000);
    g_assert_true(back.loc && back.inc);
    g_assert_cmpuint(back.c, ==, 3);
    g_assert_cmphex(back.hint, ==, 0x40);
    c.loc = false;
    ub_cetph_put_caqm(b, &c);
    g_assert_cmphex(b[4], ==, 1);
    c.loc = true;
    c.inc = false;
    ub_cetph_put_caqm(b, &c);
    g_assert_cmphex(b[4], ==, 2);
    ub_cetph_get_caqm(b, &back);
    g_assert_true(back.loc && !back.inc);

    memset(b, 0xff, sizeof(b));
    c = (UbCetph) { .ecn = 3, .loc = true };
    ub_cetph_put_cnp(b, &c);
    bytes_are(b, "e0000000000000000000000000000000", sizeof(b));
    ub_cetph_get_cnp(b, &back);
    g_assert_cmpuint(back.ecn, ==, 3);
    g_assert_true(back.loc);
    b[0] = 0x40;
    ub_cetph_get_cnp(b, &back);
    g_assert_cmpuint(back.ecn, ==, 1);
    g_assert_false(back.loc);
}

static void test_saetph(void)
{
    static const uint32_t len[] = { 12, 20, 36, 68, 132 };
    UbSaetph s = { .size = 0, .max_rcv = 13, .map = { 0xd } }, back;
    uint8_t b[UB_SAETPH_MAX + 4];

    ub_saetph_put(b, &s);
    bytes_are(b, "0000000d0000000d00000000", UB_SAETPH_MIN);
    for (unsigned size = 0; size < 5; size++) {
        uint32_t words = 2u << size;

        g_assert_cmpuint(ub_saetph_len(size), ==, len[size]);
        s = (UbSaetph) { .size = size, .max_rcv = 0xfffffe };
        for (uint32_t i = 0; i < words; i++) {
            s.map[i] = 0x01000000u * size + i * 0x10001 + 1;
        }
        memset(b, 0xaa, sizeof(b));
        ub_saetph_put(b, &s);
        g_assert_cmphex(b[len[size]], ==, 0xaa);
        g_assert_cmphex(b[0], ==, size);
        g_assert_true(ub_saetph_get(b, len[size], &back));
        g_assert_cmpmem(&back, sizeof(back), &s, sizeof(s));
        g_assert_false(ub_saetph_get(b, len[size] - 1, &back));
        /* Reserved bits are ignored. */
        b[0] |= 0xf8;
        g_assert_true(ub_saetph_get(b, len[size], &back));
        g_assert_cmpuint(back.size, ==, size);
    }
    for (unsigned size = 5; size < 8; size++) {
        b[0] = size;
        g_assert_false(ub_saetph_get(b, sizeof(b), &back));
    }
    /* The last bit of the largest map. */
    s = (UbSaetph) { .size = 4, .map[31] = 0x80000000u };
    ub_saetph_put(b, &s);
    g_assert_cmphex(b[4 + 124], ==, 0x80);
    g_assert_cmpuint(ub_saetph_size(0), ==, 0);
    g_assert_cmpuint(ub_saetph_size(64), ==, 0);
    g_assert_cmpuint(ub_saetph_size(65), ==, 1);
    g_assert_cmpuint(ub_saetph_size(128), ==, 1);
    g_assert_cmpuint(ub_saetph_size(129), ==, 2);
    g_assert_cmpuint(ub_saetph_size(512), ==, 3);
    g_assert_cmpuint(ub_saetph_size(513), ==, 4);
    g_assert_cmpuint(ub_saetph_size(5000), ==, 4);
}

static void test_fault(void)
{
    static const struct {
        UbRtph h;
        const char *fault;
    } all[] = {
        { { .opcode = UB_TPOP_DATA }, NULL },
        { { .opcode = UB_TPOP_UNRELIABLE }, NULL },
        { { .opcode = UB_TPOP_SACK_CC }, NULL },
        { { .opcode = UB_TPOP_CNP }, NULL },
        { { .opcode = UB_TPOP_DATA, .ver = 1 }, "TPVer is not 0" },
        { { .opcode = 4 }, "TPOpcode is reserved" },
        { { .opcode = 7 }, "TPOpcode is reserved" },
        { { .opcode = 9 }, "TPOpcode is reserved" },
        { { .opcode = 16 }, "TPOpcode is reserved" },
        { { .opcode = 127 }, "TPOpcode is reserved" },
        { { .opcode = UB_TPOP_ACK, .rspst = 0, .rspinfo = 31 }, NULL },
        { { .opcode = UB_TPOP_ACK, .rspst = 1, .rspinfo = 19 }, NULL },
        { { .opcode = UB_TPOP_ACK, .rspst = 1, .rspinfo = 20 },
          "RSPST or RSPINFO is reserved" },
        { { .opcode = UB_TPOP_ACK_CC, .rspst = 2, .rspinfo = 20 },
          "RSPST or RSPINFO is reserved" },
        { { .opcode = UB_TPOP_ACK, .rspst = 3, .rspinfo = 2 }, NULL },
        { { .opcode = UB_TPOP_ACK, .rspst = 3, .rspinfo = 3 },
          "RSPST or RSPINFO is reserved" },
        { { .opcode = UB_TPOP_ACK, .rspst = 4 },
          "RSPST or RSPINFO is reserved" },
        { { .opcode = UB_TPOP_ACK, .rspst = 5, .rspinfo = 2 }, NULL },
        { { .opcode = UB_TPOP_ACK, .rspst = 5, .rspinfo = 3 },
          "RSPST or RSPINFO is reserved" },
        { { .opcode = UB_TPOP_ACK, .rspst = 6 },
          "RSPST or RSPINFO is reserved" },
        { { .opcode = UB_TPOP_ACK, .rspst = 7 },
          "RSPST or RSPINFO is reserved" },
        /* Not of an acknowledgement: reserved, and so ignored. */
        { { .opcode = UB_TPOP_DATA, .rspst = 7, .rspinfo = 31 }, NULL },
    };

    for (unsigned i = 0; i < G_N_ELEMENTS(all); i++) {
        g_assert_cmpstr(ub_rtph_fault(&all[i].h), ==, all[i].fault);
    }
}

static void test_table(void)
{
    static const char *const names[UB_TPOPS] = {
        "UTP", "RTP", "TPACK", "TPACK-CC", NULL, "TPSACK", "TPSACK-CC", NULL,
        "CNP",
    };

    for (int i = 0; i < UB_TPOPS; i++) {
        g_assert_cmpstr(ub_tp_ops[i].name, ==, names[i]);
    }
    g_assert_cmpstr(ub_ctp_ops[0].name, ==, "CTP");
    g_assert_cmpstr(ub_ctp_ops[1].name, ==, "CNP");
    g_assert_null(ub_ctp_ops[2].name);
    g_assert_null(ub_ctp_ops[3].name);
    for (uint32_t n = 0; n < 16; n++) {
        g_assert_cmpuint((n + ub_tp_pad(n)) % 4, ==, 0);
        g_assert_cmpuint(ub_tp_pad(n), <, 4);
    }
}

/* What can be built can be read, whatever it is. */
static void test_random(void)
{
    uint64_t rng = 5;

    for (int i = 0; i < 20000; i++) {
        uint8_t a[UB_RTPH_LEN], b[UB_RTPH_LEN];
        UbRtph h;

        for (unsigned k = 0; k < sizeof(a); k++) {
            a[k] = core_random(&rng);
        }
        a[8] &= 0xc0;
        ub_rtph_get(a, &h);
        ub_rtph_put(b, &h);
        g_assert_cmpmem(a, sizeof(a), b, sizeof(b));
    }
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/tp/format/rtph", test_rtph);
    g_test_add_func("/tp/format/utph", test_utph);
    g_test_add_func("/tp/format/ctph", test_ctph);
    g_test_add_func("/tp/format/cetph", test_cetph);
    g_test_add_func("/tp/format/saetph", test_saetph);
    g_test_add_func("/tp/format/fault", test_fault);
    g_test_add_func("/tp/format/table", test_table);
    g_test_add_func("/tp/format/random", test_random);
    return g_test_run();
}
