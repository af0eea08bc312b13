/*
 * RC Link: CBFC where a credit, a nanosecond or a flag makes the difference
 * (RC Link §12.5).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "flow.h"

enum { PERIOD = 256000, COST = 6 };     /* of 1344 bytes, CREDIT_SIZE 256 */

/* A port with QP a5 of bank 1 and CBFC, whose peer is this program. */
static Rig *counted(unsigned uf, bool dynamic, unsigned limit)
{
    Rig *r = alone(0);
    RigEnd *e = &r->e[0];

    rig_set(e, RCL_AFH_CFG_EN, cbfc_cfg(GEN1, uf, dynamic));
    setup_credits(e, 256, 0, limit);
    rig_settle(r);
    e->errors = 0;
    return r;
}

static void setup_one(RigEnd *e, unsigned vc, unsigned size, int ovhd,
                      unsigned limit)
{
    rig_set(e, RCL_MAC_CBFC_CFG(vc), credit_word(size, ovhd, limit));
    rig_set(e, RCL_CBFC_RST, 1 << vc);
    rig_settle(e->rig);
}

/* The peer tells that @n credits of @vc are free again. */
static void freed(RigEnd *e, unsigned vc, uint32_t n)
{
    uint8_t f[RCL_FRAME_MIN] = { 0 };

    rig_hex("0180c2000001 02000000000b 8808 cbfc 02", f);
    f[17] = 1 << vc;
    put_be32(f + 18 + 4 * vc, n);
    rig_inject(e, f, sizeof(f));
    rig_settle(e->rig);
}

/* Less than -16 is -16: seen with TYPE3, whose frames have any length. */
static void test_overhead(void)
{
    static const int ovhd[] = { -16, -17, -128 };

    for (unsigned i = 0; i < G_N_ELEMENTS(ovhd); i++) {
        Rig *r = counted(1, false, 1000);
        uint8_t frame[109] = { 0x02, 0, 0, 0, 0, 0x0b, 0x02, 0, 0, 0, 0, 0x0a,
                               0x08 };

        setup_one(&r->e[0], 6, 32, ovhd[i], 1000);
        rig_md_post(&r->e[0], frame, sizeof(frame));
        rig_settle(r);
        /* 109 + 4 - 16 = 97 */
        g_assert_cmpuint(credits_left(&r->e[0], 6), ==, 1000 - 4);
        rig_free(r);
    }
}

/* The dynamic limit is TYPE1's alone: answers keep theirs. */
static void test_dynamic_answers(void)
{
    Rig *r = counted(3, true, 1000);
    RigEnd *e = &r->e[0];

    setup_one(e, 4, 64, 0, 4);
    for (unsigned i = 0; i < 4; i++) {
        peer_send(e, (RclRh) { .opcode = RCL_OP_SEND, .psn = i, .len = 64 },
                  64);
        rig_settle(r);
    }
    g_assert_cmpuint(CNT(e, rx_type1), ==, 4);
    g_assert_cmpuint(CNT(e, tx_ack), ==, 2);
    g_assert_cmpuint(credits_left(e, 4), ==, 2);
    freed(e, 4, 1);
    g_assert_cmpuint(CNT(e, tx_ack), ==, 3);
    rig_free(r);
}

/* Nor does it make a limit of one that is 0. */
static void test_dynamic_zero(void)
{
    Rig *r = counted(0, true, 0);

    post_len(&r->e[0], 0xa5, 3, 1344);
    g_assert_cmpuint(CNT(&r->e[0], tx_type1), ==, 3);
    g_assert_cmpuint(CNT(&r->e[0], cbfc_blocked), ==, 0);
    rig_free(r);
}

/* A VC runs out once, however often it is asked. */
static void test_blocked(void)
{
    Rig *r = counted(1, false, COST);
    RigEnd *e = &r->e[0];

    for (unsigned i = 0; i < 5; i++) {
        post_len(e, 0xa5, 1, 1344);
    }
    g_assert_cmpuint(CNT(e, tx_type1), ==, 1);
    g_assert_cmpuint(CNT(e, cbfc_blocked), ==, 1);
    freed(e, 1, COST - 1);
    g_assert_cmpuint(CNT(e, tx_type1), ==, 1);
    g_assert_cmpuint(CNT(e, cbfc_blocked), ==, 1);
    freed(e, 1, COST);
    g_assert_cmpuint(CNT(e, tx_type1), ==, 2);
    g_assert_cmpuint(CNT(e, cbfc_blocked), ==, 2);
    /* All is back, and one credit that was never used. */
    g_assert_cmpuint(CNT(e, cbfc_over), ==, 0);
    freed(e, 1, 2 * COST);
    freed(e, 1, 3 * COST);
    g_assert_cmpuint(CNT(e, cbfc_over), ==, 0);
    g_assert_cmpuint(CNT(e, tx_type1), ==, 4);
    freed(e, 1, 5 * COST + 1);
    g_assert_cmpuint(CNT(e, cbfc_over), ==, 1);
    rig_free(r);
}

/* A VC that is set up anew begins anew. */
static void test_again(void)
{
    Rig *r = counted(1, false, 2 * COST);
    RigEnd *e = &r->e[0];

    post_len(e, 0xa5, 2, 1344);
    freed(e, 1, 2 * COST);
    g_assert_cmpuint(credits_left(e, 1), ==, 2 * COST);
    setup_one(e, 1, 256, 0, 2 * COST);
    post_len(e, 0xa5, 5, 1344);
    g_assert_cmpuint(CNT(e, tx_type1), ==, 2 + 2);
    g_assert_cmpuint(credits_left(e, 1), ==, 0);
    rig_free(r);
}

/* CC frames: at each setup, and each 256 us while something is out, however
 * busy the port is. */
static void test_told(void)
{
    Rig *r = counted(1, false, 1000);
    RigEnd *e = &r->e[0];

    g_assert_cmpuint(CNT(e, cbfc_tx), ==, 1);
    rig_pass(r, 10 * PERIOD);
    g_assert_cmpuint(CNT(e, cbfc_tx), ==, 1);
    setup_one(e, 1, 256, 0, 1000);
    g_assert_cmpuint(CNT(e, cbfc_tx), ==, 2);
    rig_set(e, RCL_RETRY_TIMER_CFG, 0);
    post_len(e, 0xa5, 1, 1344);
    g_assert_cmpuint(CNT(e, cbfc_tx), ==, 2);
    for (unsigned i = 0; i < 5; i++) {
        rig_pass(r, PERIOD / 2);
        post_len(e, 0xa5, 1, 64);
        rig_pass(r, PERIOD / 2 - 1);
        g_assert_cmpuint(CNT(e, cbfc_tx), ==, 2 + i);
        rig_pass(r, 1);
        g_assert_cmpuint(CNT(e, cbfc_tx), ==, 3 + i);
    }
    rig_free(r);
}

/* A limit that lets one packet pass is right. */
static void test_limit_right(void)
{
    Rig *r = counted(2, false, 1000);
    RigEnd *e = &r->e[0];

    setup_one(e, 1, 256, 0, 2 * COST);
    rig_expect_errors(e, 0);
    setup_one(e, 1, 256, 0, 2 * COST - 1);
    rig_expect_errors(e, 1);
    rig_free(r);
}

/* ---- STATUS: flows that are held back ---- */

enum { ALL_FLOWS = 0x7f };

static unsigned held(RigEnd *e)
{
    return rig_get(e, RCL_STATUS) >> RCL_STATUS_HELD_SHIFT & 0xff;
}

/* By credits, each flow by its own; asking counts nothing. */
static void test_held(void)
{
    /* Of the longest packet: banks, ACK, TYPE2, TYPE3. */
    static const unsigned least[] = { COST, COST, COST, COST, 1, COST, 17 };
    Rig *r = counted(1, false, 1000);
    uint64_t cfg = cbfc_cfg(GEN1, 1, false);
    RigEnd *e = &r->e[0];

    g_assert_cmphex(held(e), ==, 0);
    for (unsigned f = 0; f < G_N_ELEMENTS(least); f++) {
        setup_one(e, f, 256, 0, least[f]);
        g_assert_cmphex(held(e), ==, 0);
        setup_one(e, f, 256, 0, least[f] - 1);
        g_assert_cmphex(held(e), ==, 1 << f);
        setup_one(e, f, 256, 0, 1000);
    }
    e->errors = 0;
    g_assert_cmpuint(CNT(e, cbfc_blocked), ==, 0);
    /* What was used up, until the peer tells. */
    setup_one(e, 1, 256, 0, COST);
    post_len(e, 0xa5, 1, 1344);
    g_assert_cmphex(held(e), ==, 1 << 1);
    freed(e, 1, COST);
    g_assert_cmphex(held(e), ==, 0);
    g_assert_cmphex(RCL_STATUS_HELD_TYPE3, ==,
                    1u << (RCL_STATUS_HELD_SHIFT + 6));
    /* By software; by a reset of the MAC, those alone that have credits. */
    rig_set(e, RCL_AFH_CFG_EN, cfg & ~(UINT64_C(1) << (RCL_CFG_VC_OPEN + 6)));
    g_assert_cmphex(held(e), ==, 1 << 6);
    rig_set(e, RCL_AFH_CFG_EN, cfg);
    rig_set(e, RCL_CBFC_RESET, 1);
    g_assert_cmphex(held(e), ==, ALL_FLOWS);
    rig_set(e, RCL_AFH_CFG_EN,
            cfg & ~(UINT64_C(1) << (RCL_CFG_CBFC_BANK0 + 2)));
    g_assert_cmphex(held(e), ==, ALL_FLOWS & ~(1 << 2));
    rig_set(e, RCL_AFH_CFG_EN, cfg | UINT64_C(1) << RCL_CFG_STOP_CBFC);
    g_assert_cmphex(held(e), ==, 0);
    rig_free(r);
}

/* By pauses, those that obey, to the end of each. */
static void test_held_paused(void)
{
    Rig *r = counted(1, false, 1000);
    uint8_t f[RCL_FRAME_MIN] = { 0 };
    RigEnd *e = &r->e[0];

    rig_set(e, RCL_AFH_CFG_EN, cbfc_cfg(GEN1, 1, false) |
                               UINT64_C(1) << RCL_CFG_STOP_CBFC);
    rig_set(e, RCL_XON_THR_RDMA, UINT64_C(0x51) << 39);
    rig_hex("0180c2000001 02000000000b 8808 0101 00ff"
            "0064 0064 0064 0064 0064 0064 00c8 0064", f);
    rig_inject(e, f, sizeof(f));
    g_assert_cmphex(held(e), ==, 0x51);
    /* 100 and 200 quanta of 1.28 ns. */
    rig_pass(r, 127);
    g_assert_cmphex(held(e), ==, 0x51);
    rig_pass(r, 1);
    g_assert_cmphex(held(e), ==, 0x40);
    rig_pass(r, 128);
    g_assert_cmphex(held(e), ==, 0);
    /* XON ends it, too. */
    rig_inject(e, f, sizeof(f));
    memset(f + 18, 0, 16);
    g_assert_cmphex(held(e), ==, 0x51);
    rig_inject(e, f, sizeof(f));
    g_assert_cmphex(held(e), ==, 0);
    rig_free(r);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
#define TEST(name) g_test_add_func("/rclink/credit/" #name, test_##name)
    TEST(overhead);
    TEST(dynamic_answers);
    TEST(dynamic_zero);
    TEST(blocked);
    TEST(again);
    TEST(told);
    TEST(limit_right);
    TEST(held);
    TEST(held_paused);
    return g_test_run();
}
