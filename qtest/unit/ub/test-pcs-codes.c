/*
 * The codes of the PCS against first principles and the known answers of
 * UB 2.0 chapter 3: eBCH-16, AMCTL, RS(128,120), scrambler, Gray, precoding.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <glib.h>
#include <string.h>

#include "core/bytes.h"
#include "kernels.h"
#include "amctl.h"
#include "linecode.h"
#include "rs.h"
#include "ub/lanes.h"
#include "ub/scrambler.h"

/* ---------------------------------------------------------------- eBCH --- */

static void test_ebch_words(void)
{
    /* Table 3-5 with its five damaged rows calculated anew. */
    static const uint16_t table[32] = {
        0x0000, 0x0a6f, 0x14dd, 0x1eb2, 0x23d6, 0x29b9, 0x370b, 0x3d64,
        0x47ac, 0x4dc3, 0x5371, 0x591e, 0x647a, 0x6e15, 0x70a7, 0x7ac8,
        0x8537, 0x8f58, 0x91ea, 0x9b85, 0xa6e1, 0xac8e, 0xb23c, 0xb853,
        0xc29b, 0xc8f4, 0xd646, 0xdc29, 0xe14d, 0xeb22, 0xf590, 0xffff,
    };

    for (unsigned a = 0; a < 32; a++) {
        uint16_t w = ub_ebch_encode(a);
        uint32_t rem = w >> 1;

        g_assert_cmphex(w, ==, table[a]);
        /* Divisible by the generator, even weight, payload on top. */
        for (int bit = 14; bit >= 10; bit--) {
            rem ^= rem >> bit & 1 ? 0x537u << (bit - 10) : 0;
        }
        g_assert_cmphex(rem, ==, 0);
        g_assert_cmpuint(__builtin_popcount(w) % 2, ==, 0);
        g_assert_cmpuint(w >> 11, ==, a);
        for (unsigned b = 0; b < a; b++) {
            unsigned d = __builtin_popcount(w ^ ub_ebch_encode(b));

            g_assert_true(d == 8 || d == 16);
        }
    }
}

static void test_ebch_correct(void)
{
    /* Every pattern of Figure 3-8 on every word; every other pattern must not
     * come back as the word that was sent. */
    for (unsigned cw = 0; cw < 32; cw++) {
        uint16_t w = ub_ebch_encode(cw);

        for (unsigned e = 0; e < 1 << 16; e++) {
            unsigned all = __builtin_popcount(e), flips = 99;
            bool can = all <= 3 || (all == 4 && (e & 1));
            int got = ub_ebch_decode(w ^ e, &flips);

            if (can) {
                g_assert_cmpint(got, ==, cw);
                g_assert_cmpuint(flips, ==, all);
            } else {
                g_assert_cmpint(got, !=, cw);
            }
        }
    }
}

static void test_ebch_lane_order(void)
{
    static const struct {
        unsigned cw;
        uint16_t lane;
        unsigned complement;
    } rows[] = { /* Table 3-6 */
        { 8, 0x27d8, 23 },  { 28, 0x1b1b, 3 },  { 3, 0xe4e4, 28 },
        { 23, 0xd827, 8 },  { 9, 0x6387, 22 },  { 21, 0x789c, 10 },
        { 10, 0x8763, 21 }, { 22, 0x9c78, 9 },
    };

    for (unsigned i = 0; i < G_N_ELEMENTS(rows); i++) {
        uint16_t lane = ub_ebch_to_lane(ub_ebch_encode(rows[i].cw));

        g_assert_cmphex(lane, ==, rows[i].lane);
        g_assert_cmphex((uint16_t)~lane, ==,
                        ub_ebch_to_lane(ub_ebch_encode(rows[i].complement)));
        for (unsigned half = 0; half < 16; half += 8) {
            uint8_t byte = lane >> half, gray;
            int dc = 0;

            g_assert_cmpuint(__builtin_popcount(byte), ==, 4);
            ub_gray(&gray, &byte, 1);
            for (unsigned ui = 0; ui < 8; ui += 2) {
                dc += 2 * (gray >> ui & 3) - 3;
            }
            g_assert_cmpint(dc, ==, 0);
        }
    }
    for (unsigned w = 0; w < 1 << 16; w++) {
        g_assert_cmphex(ub_ebch_from_lane(ub_ebch_to_lane(w)), ==, w);
    }
}

/* --------------------------------------------------------------- AMCTL --- */

static void unhex(uint8_t *out, size_t n, const char *hex)
{
    for (size_t i = 0; i < n; i++, hex += 2) {
        hex += *hex == ' ';
        out[i] = g_ascii_xdigit_value(hex[0]) << 4 |
                 g_ascii_xdigit_value(hex[1]);
    }
}

static void check_hex(const uint8_t *got, size_t n, const char *hex)
{
    uint8_t want[512];

    g_assert_cmpuint(n, <=, sizeof(want));
    unhex(want, n, hex);
    g_assert_cmpmem(got, n, want, n);
}

static void test_amctl_known(void)
{
    static const char *const lid[] = {
        "e4e4e4e4", "e4e427d8", "e4e46387", "e4e48763", "e4e4789c",
        "e4e49c78", "e4e4d827", "e4e41b1b", "789ce4e4",
    };
    static const char *const detail[] = {
        "e4e46387", "27d88763", "6387789c", "87639c78",
        "789cd827", "9c781b1b", "d827e4e4", "1b1b27d8",
    };
    uint8_t m[UB_AMCTL_SYMBOLS];

    ub_amctl_encode(m, 0, UB_AMCTL_LWS, UB_AMCTL_LWS_X4);
    check_hex(m, 40, "78 9c 1b 1b 78 9c 1b 1b 78 9c 1b 1b 9c 78 9c 78 "
              "e4 e4 e4 e4 e4 e4 e4 e4 27 d8 63 87 27 d8 63 87 "
              "87 63 9c 78 87 63 9c 78");
    ub_amctl_encode(m, 0, UB_AMCTL_NONE, 0);
    check_hex(m + 24, 16, "1b 1b e4 e4 1b 1b e4 e4 e4 e4 63 87 e4 e4 63 87");
    ub_amctl_encode(m, 0, UB_AMCTL_FEC, 0);
    check_hex(m + 24, 4, "e4e427d8");
    ub_amctl_encode(m, 0, UB_AMCTL_EI, 0);
    check_hex(m + 24, 4, "63878763");
    ub_amctl_encode(m, 0, UB_AMCTL_PERIOD, 0);
    check_hex(m + 24, 4, "8763789c");
    ub_amctl_encode(m, 0, UB_AMCTL_REMOTE_TX, 0);
    check_hex(m + 24, 4, "789c9c78");
    for (unsigned i = 0; i < UB_AMCTL_LIDS; i++) {
        ub_amctl_encode(m, i, UB_AMCTL_NONE, 0);
        check_hex(m + 16, 4, lid[i]);
        check_hex(m + 20, 4, lid[i]);
    }
    for (unsigned i = 0; i < UB_AMCTL_DETAILS; i++) {
        ub_amctl_encode(m, 0, UB_AMCTL_LWS, i);
        check_hex(m + 32, 4, detail[i]);
        check_hex(m + 36, 4, detail[i]);
    }
}

static void test_amctl_decode(void)
{
    uint8_t m[UB_AMCTL_SYMBOLS], other[UB_AMCTL_SYMBOLS], save[8];
    UbAmctl a;

    for (unsigned lid = 0; lid < UB_AMCTL_LIDS; lid++) {
        for (unsigned type = 0; type < UB_AMCTL_TYPES; type++) {
            for (unsigned detail = 0; detail < UB_AMCTL_DETAILS; detail++) {
                ub_amctl_encode(m, lid, type, detail);
                g_assert_true(ub_amctl_lock_exact(m));
                g_assert_true(ub_amctl_end(m));
                g_assert_true(ub_amctl_decode(&a, m));
                g_assert_cmpuint(a.lid, ==, lid);
                g_assert_cmpuint(a.type, ==, type);
                g_assert_cmpuint(a.detail, ==, detail);
                g_assert_cmpuint(a.body, ==, 6);
                g_assert_cmpuint(a.fixed + a.failed, ==, 0);
                /* Three wrong bits in every word change nothing. */
                for (unsigned w = 0; w < UB_AMCTL_SYMBOLS; w += 2) {
                    m[w] ^= 0x81;
                    m[w + 1] ^= 0x10;
                }
                g_assert_false(ub_amctl_lock_exact(m));
                g_assert_true(ub_amctl_decode(&a, m));
                g_assert_cmpuint(a.lid, ==, lid);
                g_assert_cmpuint(a.type, ==, type);
                g_assert_cmpuint(a.detail, ==, detail);
                g_assert_cmpuint(a.fixed, ==, 20);
            }
        }
    }
    /* One good half of TYPE and DETAIL is enough; LID needs both. */
    ub_amctl_encode(m, 2, UB_AMCTL_PERIOD, 1);
    memset(m + 16, 0x55, 4);
    memset(m + 24, 0x55, 4);
    memset(m + 36, 0x55, 4);
    g_assert_true(ub_amctl_decode(&a, m));
    g_assert_cmpuint(a.lid, ==, UB_AMCTL_BAD);
    g_assert_cmpuint(a.type, ==, UB_AMCTL_PERIOD);
    g_assert_cmpuint(a.detail, ==, 1);
    /* Two good halves that differ are no command. */
    ub_amctl_encode(m, 2, UB_AMCTL_PERIOD, 1);
    ub_amctl_encode(other, 3, UB_AMCTL_LWS, 2);
    memcpy(m + 20, other + 20, 4);
    memcpy(m + 28, other + 28, 4);
    memcpy(m + 36, other + 36, 4);
    g_assert_true(ub_amctl_decode(&a, m));
    g_assert_cmpuint(a.lid, ==, UB_AMCTL_BAD);
    g_assert_cmpuint(a.type, ==, UB_AMCTL_BAD);
    g_assert_cmpuint(a.detail, ==, UB_AMCTL_BAD);
    /* A wrong END: no AMCTL. */
    memcpy(save, m + 12, 4);
    m[13] ^= 0x1e;
    g_assert_false(ub_amctl_decode(&a, m));
    g_assert_false(ub_amctl_end(m));
    memcpy(m + 12, save, 4);
    g_assert_true(ub_amctl_end(m));
}

/* No AMCTL, straight or inverted, at any bit offset but its own, passes the
 * hunting rule; random symbols do not either. */
static void test_amctl_hunting(void)
{
    uint8_t s[3 * UB_AMCTL_SYMBOLS], lock[UB_AMCTL_LOCK];
    GRand *r = g_rand_new_with_seed(7);

    for (unsigned n = 0; n < UB_AMCTL_LIDS * 64; n++) {
        for (unsigned i = 0; i < sizeof(s); i++) {
            s[i] = g_rand_int(r);
        }
        ub_amctl_encode(s + UB_AMCTL_SYMBOLS, n / 64, n / 8 % 8, n % 8);
        for (unsigned inv = 0; inv < 2; inv++) {
            for (unsigned bit = 0; bit < 8 * (sizeof(s) - 17); bit++) {
                for (unsigned k = 0; k < UB_AMCTL_LOCK; k++) {
                    unsigned at = bit / 8 + k;

                    lock[k] = (s[at] | s[at + 1] << 8) >> bit % 8 ^
                              (inv ? 0xff : 0);
                }
                g_assert_cmpint(ub_amctl_lock_exact(lock), ==,
                                bit == 8 * UB_AMCTL_SYMBOLS && !inv);
            }
        }
    }
    g_rand_free(r);
}

/* Every Lane ID, type and detail as it goes over the lane (Tables 3-7 to 3-9,
 * of the code words of Table 3-6). */
static void test_amctl_fields(void)
{
    static const uint32_t lid[UB_AMCTL_LIDS] = {
        0xe4e4e4e4, 0xe4e427d8, 0xe4e46387, 0xe4e48763, 0xe4e4789c,
        0xe4e49c78, 0xe4e4d827, 0xe4e41b1b, 0x789ce4e4,
    };
    static const uint32_t type[UB_AMCTL_TYPES] = {
        [UB_AMCTL_FEC] = 0xe4e427d8, [UB_AMCTL_LWS] = 0x27d86387,
        [UB_AMCTL_EI] = 0x63878763, [UB_AMCTL_PERIOD] = 0x8763789c,
        [UB_AMCTL_REMOTE_TX] = 0x789c9c78,
        [UB_AMCTL_TYPE_RSV5] = 0x9c78d827,
        [UB_AMCTL_TYPE_RSV6] = 0xd8271b1b, [UB_AMCTL_NONE] = 0x1b1be4e4,
    };
    static const uint32_t detail[UB_AMCTL_DETAILS] = {
        0xe4e46387, 0x27d88763, 0x6387789c, 0x87639c78, 0x789cd827,
        0x9c781b1b, 0xd827e4e4, 0x1b1b27d8,
    };

    for (unsigned i = 0; i < UB_AMCTL_LIDS; i++) {
        for (unsigned t = 0; t < UB_AMCTL_TYPES; t++) {
            for (unsigned d = 0; d < UB_AMCTL_DETAILS; d++) {
                uint8_t s[UB_AMCTL_SYMBOLS];

                ub_amctl_encode(s, i, t, d);
                for (unsigned half = 0; half < 8; half += 4) {
                    g_assert_cmphex(get_be32(s + 16 + half), ==, lid[i]);
                    g_assert_cmphex(get_be32(s + 24 + half), ==, type[t]);
                    g_assert_cmphex(get_be32(s + 32 + half), ==, detail[d]);
                }
            }
        }
    }
    for (unsigned i = 0; i < 3; i++) {
        uint8_t s[UB_AMCTL_SYMBOLS];

        ub_amctl_encode(s, i == 0 ? UB_AMCTL_LIDS : 1,
                        i == 1 ? UB_AMCTL_TYPES : UB_AMCTL_EI,
                        i == 2 ? UB_AMCTL_DETAILS : UB_AMCTL_EI_EEI);
        g_assert_cmphex(get_be32(s + 16), ==,
                        lid[i ? 1 : UB_AMCTL_LID_NULL]);
        g_assert_cmphex(get_be32(s + 24), ==,
                        type[i ? UB_AMCTL_NONE : UB_AMCTL_EI]);
        g_assert_cmphex(get_be32(s + 32), ==,
                        detail[i ? 0 : UB_AMCTL_EI_EEI]);
    }
    g_assert_cmpstr(ub_amctl_type_name(UB_AMCTL_TYPES), ==, "bad");
    g_assert_cmpstr(ub_amctl_detail_name(UB_AMCTL_TYPES, 0), ==, "bad");
    g_assert_cmpstr(ub_amctl_detail_name(0, UB_AMCTL_DETAILS), ==, "bad");
}

/* Words with a wrong bit are counted, and those beyond repair. */
static void test_amctl_counts(void)
{
    for (unsigned i = 16; i < UB_AMCTL_SYMBOLS; i += 2) {
        uint8_t s[UB_AMCTL_SYMBOLS];
        UbAmctl a;

        ub_amctl_encode(s, 5, UB_AMCTL_PERIOD, 1);
        ub_amctl_decode(&a, s);
        g_assert_cmpuint(a.fixed, ==, 0);
        g_assert_cmpuint(a.failed, ==, 0);
        s[i] ^= 0x10;
        ub_amctl_decode(&a, s);
        g_assert_cmpuint(a.fixed, ==, 1);
        g_assert_cmpuint(a.failed, ==, 0);
        s[i] ^= 0x0f;
        ub_amctl_decode(&a, s);
        g_assert_cmpuint(a.failed, <=, 1);
    }
}

/* So many AMCTLs lose their END, wherever they lie, NRZ or PAM4. */
static void test_amctl_spoil(void)
{
    for (unsigned pam4 = 0; pam4 < 2; pam4++) {
        for (unsigned most = 0; most < 4; most++) {
            uint8_t s[3 * UB_AMCTL_SYMBOLS + 7] = { 0 };
            const size_t at[3] = { 0, UB_AMCTL_SYMBOLS + 7,
                                   2 * UB_AMCTL_SYMBOLS + 7 };

            for (unsigned i = 0; i < 3; i++) {
                ub_amctl_encode(s + at[i], i, UB_AMCTL_LWS, i);
                if (pam4) {
                    ub_gray(s + at[i], s + at[i], UB_AMCTL_SYMBOLS);
                }
            }
            g_assert_cmpuint(ub_lane_spoil_amctls(s, sizeof(s) - 1, most), ==,
                             MIN(most, 2));
            for (unsigned i = 0; i < 3; i++) {
                UbAmctl a;

                if (pam4) {
                    ub_gray(s + at[i], s + at[i], UB_AMCTL_SYMBOLS);
                }
                ub_amctl_decode(&a, s + at[i]);
                g_assert_cmpint(a.end_ok, ==, i >= MIN(most, 2));
                g_assert_cmpuint(a.body, ==, 6);
                g_assert_cmpuint(a.lid, ==, i);
            }
        }
    }
}

static void test_amctl_names(void)
{
    g_assert_cmpstr(ub_amctl_type_name(UB_AMCTL_LWS), ==, "lws");
    g_assert_cmpstr(ub_amctl_detail_name(UB_AMCTL_LWS, 4), ==, "x8");
    g_assert_cmpstr(ub_amctl_detail_name(UB_AMCTL_EI, 4), ==, "reserved4");
    g_assert_cmpstr(ub_amctl_type_name(99), ==, "bad");
    for (unsigned w = 1; w <= 8; w *= 2) {
        g_assert_cmpuint(ub_amctl_lws_width(ub_amctl_lws(w)), ==, w);
    }
    g_assert_cmpuint(ub_amctl_lws(3), ==, UB_AMCTL_LWS_X0);
    g_assert_cmpuint(ub_amctl_lws_width(UB_AMCTL_LWS_X0), ==, 0);
}

/* ------------------------------------------------------------------ RS --- */

/* Shift-and-add product, independent of the tables. */
static uint8_t slow_mul(unsigned a, unsigned b)
{
    unsigned p = 0;

    for (; b; b >>= 1, a = a << 1 ^ (a & 0x80 ? 0x11d : 0)) {
        p ^= b & 1 ? a : 0;
    }
    return p;
}

static void test_gf(void)
{
    uint8_t power = 1;

    for (unsigned a = 0; a < 256; a++) {
        for (unsigned b = 0; b < 256; b++) {
            g_assert_cmphex(ub_gf_mul(a, b), ==, slow_mul(a, b));
        }
        if (a) {
            g_assert_cmphex(slow_mul(a, ub_gf_inv(a)), ==, 1);
        }
    }
    for (unsigned e = 0; e < 600; e++, power = slow_mul(power, 2)) {
        g_assert_cmphex(ub_gf_pow(e), ==, power);
    }
}

static void test_rs_known(void)
{
    static const struct {
        const char *parity;
        uint8_t fill;
        int step, one; /* fill + step * i; then symbol `one` = 1 */
    } rows[] = {
        { "28 e1 c5 14 82 ef e6 93", 0x00, 1, -1 },
        { "ff 0b 51 36 ef ad c8 18", 0x00, 0, 119 }, /* g7 … g0, Table 3-2 */
        { "01 50 c5 f4 8b 69 80 03", 0x00, 0, 0 },
        { "79 bb a8 6c ea 62 a2 2c", 0xff, 0, -1 },
        { "5d 62 7d 71 76 06 28 6b", 0x5a, 0, -1 },
        { "00 00 00 00 00 00 00 00", 0x00, 0, -1 },
    };
    uint8_t frame[2 * UB_RS_N], even[8], odd[8];

    for (unsigned k = 0; ub_pcs_kernels_at(k); k++) {
        g_assert_nonnull(
            ub_pcs_kernels_select(ub_pcs_kernels_at(k)->name));
        for (unsigned i = 0; i < G_N_ELEMENTS(rows); i++) {
            for (unsigned s = 0; s < UB_RS_K; s++) {
                frame[s] = rows[i].fill + rows[i].step * s;
            }
            if (rows[i].one >= 0) {
                frame[rows[i].one] = 1;
            }
            ub_rs_encode(frame, frame + UB_RS_K, 1, 1);
            check_hex(frame + UB_RS_K, 8, rows[i].parity);
        }
        for (unsigned s = 0; s < 2 * UB_RS_K; s++) {
            frame[s] = s;
        }
        ub_rs_encode(frame, frame + 2 * UB_RS_K, 1, 2);
        for (unsigned i = 0; i < 8; i++) {
            even[i] = frame[240 + 2 * i];
            odd[i] = frame[241 + 2 * i];
        }
        check_hex(even, 8, "50df972819c3d13b");
        check_hex(odd, 8, "1abc85275d439f85");
    }
    ub_pcs_kernels_select(NULL);
}

/* The generator has exactly the roots alpha^0 … alpha^7: every code word
 * vanishes there, by an evaluation of its own. */
static void test_rs_roots(void)
{
    GRand *r = g_rand_new_with_seed(1);
    uint8_t frame[UB_RS_N];

    for (unsigned n = 0; n < 50; n++) {
        for (unsigned i = 0; i < UB_RS_K; i++) {
            frame[i] = g_rand_int(r);
        }
        ub_rs_encode(frame, frame + UB_RS_K, 1, 1);
        for (unsigned j = 0; j < 9; j++) {
            uint8_t root = 1, sum = 0;

            for (unsigned i = 0; i < j; i++) {
                root = slow_mul(root, 2);
            }
            for (unsigned i = 0; i < UB_RS_N; i++) {
                sum = slow_mul(sum, root) ^ frame[i];
            }
            g_assert_true((sum == 0) == (j < 8));
        }
    }
    g_rand_free(r);
}

typedef struct Word {
    GRand *rand;
    uint8_t good[UB_RS_N], got[UB_RS_N];
} Word;

static void word_new(Word *w)
{
    for (unsigned i = 0; i < UB_RS_K; i++) {
        w->good[i] = g_rand_int(w->rand);
    }
    ub_rs_encode(w->good, w->good + UB_RS_K, 1, 1);
    memcpy(w->got, w->good, UB_RS_N);
}

static void word_hurt(Word *w, unsigned errors)
{
    memcpy(w->got, w->good, UB_RS_N);
    while (errors) {
        unsigned at = g_rand_int_range(w->rand, 0, UB_RS_N);

        if (w->got[at] == w->good[at]) {
            w->got[at] ^= g_rand_int_range(w->rand, 1, 256);
            errors--;
        }
    }
}

static void word_check(Word *w, unsigned t, int want)
{
    uint8_t before[UB_RS_N];

    memcpy(before, w->got, UB_RS_N);
    g_assert_cmpint(ub_rs_decode(w->got, w->got + UB_RS_K, 1, t), ==, want);
    g_assert_cmpmem(w->got, UB_RS_N, want < 0 ? before : w->good, UB_RS_N);
}

/* All single errors (position and value); all pairs of positions. */
static void test_rs_exhaustive(void)
{
    Word w = { .rand = g_rand_new_with_seed(2) };

    word_new(&w);
    for (unsigned t = 2; t <= 4; t += 2) {
        word_check(&w, t, 0);
        for (unsigned at = 0; at < UB_RS_N; at++) {
            for (unsigned e = 1; e < 256; e++) {
                w.got[at] ^= e;
                word_check(&w, t, 1);
            }
        }
        for (unsigned a = 0; a < UB_RS_N; a++) {
            for (unsigned b = 0; b < a; b++) {
                w.got[a] ^= g_rand_int_range(w.rand, 1, 256);
                w.got[b] ^= g_rand_int_range(w.rand, 1, 256);
                word_check(&w, t, 2);
            }
        }
    }
    g_rand_free(w.rand);
}

static void test_rs_random(void)
{
    Word w = { .rand = g_rand_new_with_seed(3) };
    unsigned detected = 0, tries = 3000;

    for (unsigned n = 0; n < tries; n++) {
        word_new(&w);
        for (unsigned e = 1; e <= 4; e++) {
            word_hurt(&w, e);
            word_check(&w, 4, e);
        }
        /* T=2: corrects two, must flag three to six (distance 9). */
        for (unsigned e = 1; e <= 6; e++) {
            word_hurt(&w, e);
            word_check(&w, 2, e <= 2 ? (int)e : -1);
        }
        /* T=4 beyond capacity: either flagged and untouched, or another code
         * word at distance 4 at most; never the sent one. */
        word_hurt(&w, 5 + n % 20);
        if (ub_rs_decode(w.got, w.got + UB_RS_K, 1, 4) < 0) {
            detected++;
        } else {
            uint8_t bad;

            g_assert_cmpuint(ub_rs_check(w.got, w.got + UB_RS_K, 1, 1,
                                         &bad), ==, 0);
            g_assert_true(memcmp(w.got, w.good, UB_RS_N) != 0);
        }
    }
    g_test_message("T=4 flagged %u of %u words beyond capacity", detected,
                   tries);
    g_assert_cmpuint(detected, >, tries * 9 / 10);
    g_rand_free(w.rand);
}

/* A word with a stride: its neighbour stays as it is. */
static void test_rs_stride(void)
{
    uint8_t good[2 * UB_RS_N], got[2 * UB_RS_N], bad;

    for (unsigned i = 0; i < sizeof(good); i++) {
        good[i] = 31 * i;
    }
    ub_rs_encode(good, good + 240, 1, 2);
    memcpy(got, good, sizeof(got));
    got[1] ^= 1;
    got[101] ^= 2;
    got[255] ^= 4;
    g_assert_cmpuint(ub_rs_check(got, got + 240, 1, 2, &bad), ==, 1);
    g_assert_cmpuint(bad, ==, 2);
    g_assert_cmpint(ub_rs_decode(got, got + 240, 2, 2), ==, 0);
    g_assert_cmpint(ub_rs_decode(got + 1, got + 241, 2, 2), ==, -1);
    g_assert_cmpint(ub_rs_decode(got + 1, got + 241, 2, 4), ==, 3);
    g_assert_cmpmem(got, sizeof(got), good, sizeof(good));
}

/* ----------------------------------------------------------- scrambler --- */

static void test_scrambler_known(void)
{
    UbScrambler s;
    uint8_t out[16] = { 0 };

    ub_scrambler_load(&s, UB_SCRAMBLER_PRBS23, 0x7fffff);
    ub_scrambler_xor(&s, out, out, 16);
    check_hex(out, 16, "ff ff 7f 00 00 3e 00 f8 1f e0 83 8f ff ff 39 00");
    g_assert_cmpint(ub_scrambler_find("prbs23"), ==, UB_SCRAMBLER_PRBS23);
    g_assert_cmpint(ub_scrambler_find("off"), ==, UB_SCRAMBLER_OFF);
    g_assert_cmpint(ub_scrambler_find("nothing"), ==, -1);
    g_assert_null(ub_scrambler_name(UB_SCRAMBLERS));
}

/* The start values are a decision (docs/decisions/ub-phy.rst): both ends must
 * have them alike, so none may drift. */
static void test_scrambler_states(void)
{
    static const uint32_t want[2][9] = {
        { 0x7fffff, 0x3c5a69, 0x5a963c, 0x69c3a5, 0x2d4b87, 0x1e87d2,
          0x4bb41e, 0x78d20f, 0x555555 },
        { 0x1dbfbc, 0x0607bb, 0x1ec760, 0x18c0db, 0x010f12, 0x19cfc9,
          0x0277ce, 0x1bb807, 0x555555 },
    };

    for (unsigned lid = 0; lid < 9; lid++) {
        g_assert_cmphex(ub_scrambler_state(UB_SCRAMBLER_PRBS23, lid), ==,
                        want[0][lid]);
        g_assert_cmphex(ub_scrambler_state(UB_SCRAMBLER_PCIE23, lid), ==,
                        want[1][lid]);
    }
}

/* The key, bit by bit from the recurrence, over several windows and in calls
 * of every size; seeds are distinct, non-zero and give distinct keys. */
static void test_scrambler_stream(gconstpointer data)
{
    static const uint8_t delays[UB_SCRAMBLERS][8] = {
        [UB_SCRAMBLER_PRBS23] = { 23, 18 },
        [UB_SCRAMBLER_PCIE23] = { 23, 21, 16, 8, 5, 2 },
    };
    enum { BYTES = 4000 };
    unsigned id = GPOINTER_TO_UINT(data);
    static uint8_t bits[8 * BYTES], out[BYTES];

    for (unsigned lid = 0; lid < 9; lid++) {
        uint32_t state = ub_scrambler_state(id, lid);
        UbScrambler s;
        size_t at = 0;

        g_assert_cmphex(state & 0x7fffff, !=, 0);
        for (unsigned other = 0; other < lid; other++) {
            g_assert_cmphex(state, !=, ub_scrambler_state(id, other));
        }
        for (unsigned i = 0; i < 8 * BYTES; i++) {
            bits[i] = i < 23 ? state >> i & 1 : 0;
            for (unsigned d = 0; i >= 23 && delays[id][d]; d++) {
                bits[i] ^= bits[i - delays[id][d]];
            }
        }
        ub_scrambler_seed(&s, id, lid);
        for (unsigned step = 1; at < BYTES; step++) {
            size_t n = MIN(step, BYTES - at);

            memset(out + at, 0, n);
            ub_scrambler_xor(&s, out + at, out + at, n);
            at += n;
        }
        for (unsigned i = 0; i < 8 * BYTES; i++) {
            g_assert_cmpuint(out[i / 8] >> i % 8 & 1, ==, bits[i]);
        }
        ub_scrambler_seed(&s, id, lid);
        ub_scrambler_xor(&s, out, out, BYTES);
        for (unsigned i = 0; i < BYTES; i++) {
            g_assert_cmpuint(out[i], ==, 0);
        }
    }
}

/* ----------------------------------------------------------- line code --- */

static void check_gray(void)
{
    uint8_t v = 0x1b, back;
    static const uint8_t level[4] = { 0, 1, 3, 2 }; /* Table 3-11 */

    ub_gray(&v, &v, 1);
    /* 0x1b: UIs 11, 10, 01, 00 -> levels 2, 3, 1, 0. */
    g_assert_cmphex(v, ==, 2 | 3 << 2 | 1 << 4 | 0 << 6);
    for (unsigned i = 0; i < 256; i++) {
        uint8_t in = i, out, inverted;

        ub_gray(&out, &in, 1);
        for (unsigned ui = 0; ui < 8; ui += 2) {
            g_assert_cmpuint(out >> ui & 3, ==, level[in >> ui & 3]);
        }
        ub_gray(&back, &out, 1);
        g_assert_cmphex(back, ==, in);
        /* Table 3-20: an inverted lane shows level 3 - n; complementing both
         * bits before the Gray decoder gives the sent bits back. */
        inverted = 0;
        for (unsigned ui = 0; ui < 8; ui += 2) {
            inverted |= (3 - (out >> ui & 3)) << ui;
        }
        inverted = ~inverted;
        ub_gray(&back, &inverted, 1);
        g_assert_cmphex(back, ==, in);
    }
}

static void check_precode(void)
{
    static uint8_t in[997], level[997], out[997], back[997];
    GRand *r = g_rand_new_with_seed(6);
    uint8_t v = 0x1b;

    g_assert_cmpuint(ub_precode(&v, &v, 1, false, 1), ==, 1);
    g_assert_cmphex(v, ==, 0xf6);
    v = 2 | 3 << 2 | 1 << 4 | 0 << 6;
    ub_gray(&v, &v, 1); /* its own inverse: these levels are precoded */
    g_assert_cmpuint(ub_precode(&v, &v, 1, true, 0), ==, 0);
    g_assert_cmphex(v, ==, 2 | 1 << 2 | 0 << 4 | 0 << 6);
    for (unsigned i = 0; i < sizeof(in); i++) {
        in[i] = g_rand_int(r);
    }
    for (unsigned pam4 = 0; pam4 < 2; pam4++) {
        unsigned bits = pam4 ? 2 : 1, mask = pam4 ? 3 : 1;
        uint8_t prev = ub_precode_start(pam4), end = prev;
        unsigned last = prev;
        size_t at = 0;

        memcpy(level, in, sizeof(in));
        if (pam4) {
            ub_gray(level, in, sizeof(in));
        }
        for (unsigned step = 1; at < sizeof(in); step += step / 9 + 1) {
            size_t n = MIN(step, sizeof(in) - at);

            prev = ub_precode(out + at, in + at, n, pam4, prev);
            at += n;
        }
        /* The definition, UI by UI. */
        for (unsigned i = 0; i < sizeof(in); i++) {
            for (unsigned ui = 0; ui < 8; ui += bits) {
                unsigned p = level[i] >> ui & mask;

                last = pam4 ? (p - last) & 3 : p ^ last;
                g_assert_cmpuint(out[i] >> ui & mask, ==, last);
            }
        }
        g_assert_cmpuint(prev, ==, last);
        at = 0;
        for (unsigned step = 3; at < sizeof(in); step += step / 9 + 1) {
            size_t n = MIN(step, sizeof(in) - at);

            end = ub_precode_undo(back + at, out + at, n, pam4, end);
            at += n;
        }
        g_assert_cmpmem(in, sizeof(in), back, sizeof(back));
        g_assert_cmpuint(end, ==, last);
    }
    g_rand_free(r);
}

/* By every set of inner loops. */
static void test_linecode(gconstpointer check)
{
    const UbPcsKernels *k;

    for (unsigned i = 0; (k = ub_pcs_kernels_at(i)); i++) {
        g_test_message("%s", k->name);
        ub_pcs_kernels_select(k->name);
        ((void (*)(void))check)();
    }
    ub_pcs_kernels_select(NULL);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/ebch/words", test_ebch_words);
    g_test_add_func("/ebch/correct", test_ebch_correct);
    g_test_add_func("/ebch/lane-order", test_ebch_lane_order);
    g_test_add_func("/amctl/known", test_amctl_known);
    g_test_add_func("/amctl/decode", test_amctl_decode);
    g_test_add_func("/amctl/hunting", test_amctl_hunting);
    g_test_add_func("/amctl/fields", test_amctl_fields);
    g_test_add_func("/amctl/spoil", test_amctl_spoil);
    g_test_add_func("/amctl/counts", test_amctl_counts);
    g_test_add_func("/amctl/names", test_amctl_names);
    g_test_add_func("/rs/field", test_gf);
    g_test_add_func("/rs/known", test_rs_known);
    g_test_add_func("/rs/roots", test_rs_roots);
    g_test_add_func("/rs/exhaustive", test_rs_exhaustive);
    g_test_add_func("/rs/random", test_rs_random);
    g_test_add_func("/rs/stride", test_rs_stride);
    g_test_add_func("/scrambler/known", test_scrambler_known);
    g_test_add_func("/scrambler/states", test_scrambler_states);
    g_test_add_data_func("/scrambler/prbs23",
                         GUINT_TO_POINTER(UB_SCRAMBLER_PRBS23),
                         test_scrambler_stream);
    g_test_add_data_func("/scrambler/pcie23",
                         GUINT_TO_POINTER(UB_SCRAMBLER_PCIE23),
                         test_scrambler_stream);
    g_test_add_data_func("/linecode/gray", check_gray, test_linecode);
    g_test_add_data_func("/linecode/precode", check_precode, test_linecode);
    return g_test_run();
}
