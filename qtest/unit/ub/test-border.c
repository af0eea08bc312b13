/*
 * The border of a UB Domain (UB 2.0 §11.4.2): which packets enter.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <glib.h>
#include <string.h>

#include "core/bytes.h"
#include "ub/border.h"
#include "ub/sec.h"
#include "ub/tah.h"
#include "ub/tp_format.h"

#define PAYLOAD 32u

typedef struct Packet {
    uint8_t byte[UB_RTPH_LEN + 80 + UB_TAH_MAX + PAYLOAD];
    uint32_t len;
    uint32_t tah;       /* where it begins */
} Packet;

/* @skip bytes between RTPH and the TAH of @t. */
static Packet packet(const UbRtph *h, uint32_t skip, UbTah t)
{
    static const UbTahForm full;
    Packet p = { .tah = UB_RTPH_LEN + skip };

    if (!t.ee && ub_ta_op(t.opcode)->kind != UB_TA_RESPONSE) {
        t.ee = UB_EE_NORMAL;
    }
    ub_rtph_put(p.byte, h);
    t.ext = ub_tah_exts(&full, &t);
    p.len = p.tah + ub_tah_build(&full, &t, p.byte + p.tah) + PAYLOAD;
    return p;
}

static bool enters(const Packet *p)
{
    return !ub_border_judge(p->byte, p->len);
}

/* All operations that there are, with and without E_Bit and TokenValue. */
static void test_requests(void)
{
    for (unsigned op = 0; op < UB_TA_OPCODES; op++) {
        const UbTaOpInfo *info = ub_ta_op(op);
        bool response = info->kind == UB_TA_RESPONSE;

        for (unsigned bits = 0; bits < 4 && info->name; bits++) {
            for (unsigned utp = 0; utp < 2; utp++) {
                const UbRtph h = {
                    .opcode = utp ? UB_TPOP_UNRELIABLE : UB_TPOP_DATA,
                };
                const UbTah t = { .opcode = op, .e_bit = bits & 1,
                                  .tv_en = bits & 2,
                                  .mt_en = info->ext & UB_EXT_BIT(UB_EXT_MT),
                                  .length = 64 };
                const Packet p = packet(&h, 0, t);

                /* The bit counts for those that can have a TokenValue. */
                bool token = info->may & UB_EXT_BIT(UB_EXT_TV);

                g_assert_true(enters(&p) == (response || (bits == 2 && token)));
            }
        }
    }
}

/* The header of the transaction layer behind what may be before it. */
static void test_headers(void)
{
    static const struct {
        uint8_t nlp, ciph;
        int skip;       /* -1: nobody can tell */
    } rows[] = {
        { UB_TPH_TAH, 0, 0 }, { UB_TPH_UPI32, 0, 36 }, { UB_TPH_UPI16, 0, -1 },
        { UB_TPH_CIP, 0, 44 }, { UB_TPH_CIP, 1, 15 }, { UB_TPH_CIP, 2, 8 },
        { UB_TPH_CIP, 3, -1 }, { UB_TPH_CIP, 15, -1 },
    };

    for (unsigned i = 0; i < G_N_ELEMENTS(rows); i++) {
        const UbRtph h = { .opcode = UB_TPOP_DATA, .nlp = rows[i].nlp };

        for (unsigned token = 0; token < 2; token++) {
            const UbTah t = { .opcode = UB_TA_WRITE, .tv_en = token };
            Packet p = packet(&h, MAX(rows[i].skip, 0), t);

            if (rows[i].nlp == UB_TPH_CIP) {
                p.byte[UB_RTPH_LEN] = rows[i].ciph << 4;
                p.byte[UB_RTPH_LEN + 1] = 0xf0; /* of the CIP ID */
            }
            g_assert_true(enters(&p) == (rows[i].skip >= 0 && token));
            /* What is behind the BTAH may be hidden, or short. */
            if (rows[i].skip >= 0 && token) {
                memset(p.byte + p.tah + 8, 0xff, p.len - p.tah - 8);
                g_assert_true(enters(&p));
                p.len = p.tah + 8;
                g_assert_true(enters(&p));
            }
            for (p.len = p.tah + 8; p.len--;) {
                g_assert_false(enters(&p));
            }
        }
    }
}

/* What asks for nothing enters; what is not known does not. */
static void test_transport(void)
{
    static const struct {
        UbRtph h;
        bool enters;
    } rows[] = {
        { { .opcode = UB_TPOP_ACK }, true },
        { { .opcode = UB_TPOP_ACK_CC }, true },
        { { .opcode = UB_TPOP_SACK }, true },
        { { .opcode = UB_TPOP_SACK_CC }, true },
        { { .opcode = UB_TPOP_CNP }, true },
        { { .opcode = UB_TPOP_ACK, .rspst = 4 }, false },
        { { .opcode = UB_TPOP_DATA, .fake = true }, true },
        /* UTPH has no such bit. */
        { { .opcode = UB_TPOP_UNRELIABLE, .fake = true }, false },
        { { .opcode = UB_TPOP_UNRELIABLE, .nlp = 15 }, true },
        { { .opcode = UB_TPOP_UNRELIABLE, .nlp = 4 }, true },
        { { .opcode = UB_TPOP_DATA }, false },
        { { .opcode = UB_TPOP_ACK, .ver = 1 }, false },
        { { .opcode = 4 }, false },
        { { .opcode = 15 }, false },
        { { .opcode = 0x7f }, false },
    };

    for (unsigned i = 0; i < G_N_ELEMENTS(rows); i++) {
        const UbTah t = { .opcode = UB_TA_WRITE };
        const Packet p = packet(&rows[i].h, 0, t);

        g_assert_true(enters(&p) == rows[i].enters);
    }
    /* Where nothing is asked the RTPH is all that there need be. */
    for (uint32_t len = UB_RTPH_LEN; len + 1; len--) {
        Packet p = packet(&(UbRtph){ .opcode = UB_TPOP_ACK }, 0,
                          (UbTah){ .opcode = UB_TA_WRITE });

        p.len = len;
        g_assert_true(enters(&p) == (len == UB_RTPH_LEN));
    }
}

/* Reserved codes and versions of the transaction layer. */
static void test_unknown(void)
{
    const UbRtph h = { .opcode = UB_TPOP_DATA };
    const UbTah t = { .opcode = UB_TA_WRITE, .tv_en = true };
    Packet p = packet(&h, 0, t);

    g_assert_true(enters(&p));
    p.byte[p.tah] = UB_TA_OPCODES;
    g_assert_false(enters(&p));
    p.byte[p.tah] = 2;
    g_assert_false(enters(&p));
    p.byte[p.tah] = UB_TA_WRITE;
    p.byte[p.tah + 1] |= 1 << 6;
    g_assert_false(enters(&p));
}

/* Anything: an answer, whatever it is. */
static void test_random(void)
{
    unsigned in = 0;

    for (unsigned i = 0; i < 100000; i++) {
        uint32_t len = g_test_rand_int_range(0, 80);
        g_autofree uint8_t *p = g_malloc(len + !len);

        for (uint32_t k = 0; k < len; k++) {
            p[k] = g_test_rand_int();
        }
        if (len) {
            p[0] &= 15;
        }
        if (len > 1) {
            p[1] &= 0x33;
        }
        in += !ub_border_judge(p, len);
    }
    g_assert_cmpuint(in, >, 100);
    g_assert_cmpuint(in, <, 80000);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/ub/border/requests", test_requests);
    g_test_add_func("/ub/border/headers", test_headers);
    g_test_add_func("/ub/border/transport", test_transport);
    g_test_add_func("/ub/border/unknown", test_unknown);
    g_test_add_func("/ub/border/random", test_random);
    return g_test_run();
}
