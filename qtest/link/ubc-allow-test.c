/*
 * Nodes whose TP channels are the UBFM's to allow (UB 2.0 §10.4.6): the manager, in one
 * emulator, writes by configuration messages with whom each of both may have some; nobody
 * else can.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "ubc-eng.h"
#include "ubc-msg.h"
#include "ub/tah.h"
#include "ub/tp_hw.h"

#define MANAGED "channels-managed=on," PATIENT "," ENG_SLOW_SETUP

typedef struct Bed {
    EngPair p;
    Guest g;            /* of a, who manages */
} Bed;

static uint32_t at(uint32_t dw)
{
    return UB_CFG_CAP(UB_CFG0_BASE, UB_TPR_CAP) + dw;
}

/* A register of a node, 1 or 2, by a message of the manager's; its status. */
static unsigned tell(Bed *b, unsigned node, bool write, uint32_t dw, uint32_t value)
{
    return config(&b->g, node, write, dw, value);
}

static uint32_t reg(Bed *b, unsigned node, uint32_t dw)
{
    g_assert_cmphex(tell(b, node, false, at(dw), 0), ==, UB_MGMT_OK);
    return b->g.packet[8];
}

/* Node @node may have channels with the other one, or not any more. */
static void allow(Bed *b, unsigned node, bool on)
{
    g_assert_cmphex(tell(b, node, true, at(UB_TPR_PEER(17)), on ? 3 - node : 0), ==,
                    UB_MGMT_OK);
}

static void introduce(Bed *b, unsigned node)
{
    g_assert_cmphex(tell(b, node, true, UB_CFG0_UBFM_CNA, 1), ==, UB_MGMT_OK);
}

static void start(Bed *b)
{
    *b = (Bed) { 0 };
    eng_start(&b->p, &(EngPlan) { .carrier = ENG_CTP, .mode = UB_ROI,
                                  .props = MANAGED });
    guest_open(&b->g, b->p.a.q);
    introduce(b, 1);
    introduce(b, 2);
}

/* Channel @tpn of a to b is asked for: what came of it. */
static unsigned ask_channel(Bed *b, uint32_t tpn)
{
    UbqPeer peer = eng_peer(2, 0);
    unsigned result = ubq_channel_ask(&b->p.a.drv, tpn, &peer);
    const uint8_t *e;

    if (result != UBQ_RESULT_OK) {
        return result;
    }
    e = eng_event(&b->p.a, UBQ_EVENT_CHANNEL_UP);
    g_assert_cmpuint(get_le32(e + 4), ==, tpn);
    return get_le32(e + 12);
}

/* a works over @tpn. */
static void works(Bed *b, uint32_t tpn)
{
    UbqPeer peer = eng_peer(2, 0);

    ubq_dest(&b->p.a.drv, ENG_DEST, ENG_RTP, tpn, &peer);
    eng_write_read(&b->p, 10000, tpn);
}

static void allow_both(Bed *b, uint32_t tpn)
{
    allow(b, 1, true);
    allow(b, 2, true);
    g_assert_cmpuint(ask_channel(b, tpn), ==, UBQ_RESULT_OK);
    works(b, tpn);
}

/* What went by @tpn ends, and nothing goes by it any more. */
static void ended(Bed *b, uint32_t tpn)
{
    const uint8_t *e = eng_event(&b->p.a, UBQ_EVENT_CHANNEL_UP);
    Eng *a = &b->p.a;

    g_assert_cmpuint(get_le32(e + 4), ==, tpn);
    g_assert_cmpuint(get_le32(e + 12), ==, UBQ_RESULT_REFUSED);
    ubq_post(&a->queue, eng_sqe(a, UB_TA_WRITE, 0, 64, 1), 1);
    g_assert_cmpuint(ubq_cqe_status(eng_next(a)), !=, UBQ_STATUS_OK);
}

/* Nobody, until both have each other; and by CTP they had all the time. */
static void test_withheld(void)
{
    Bed b;

    start(&b);
    eng_write_read(&b.p, 10000, 1);
    g_assert_cmphex(reg(&b, 2, UB_TPR_MAGIC), ==, UB_TPR_MAGIC__VALUE);
    g_assert_cmpuint(reg(&b, 2, UB_TPR_COUNT), ==, 0);
    g_assert_cmpuint(ask_channel(&b, 20), ==, UBQ_RESULT_REFUSED);
    g_assert_cmpuint(reg(&b, 1, UB_TPR_DENIED), ==, 1);
    g_assert_cmphex(reg(&b, 1, UB_TPR_LAST), ==, 2);
    g_assert_cmpuint(reg(&b, 2, UB_TPR_DENIED), ==, 0);
    allow(&b, 1, true);
    g_assert_cmpuint(ask_channel(&b, 21), ==, UBQ_RESULT_REFUSED);
    g_assert_cmpuint(reg(&b, 2, UB_TPR_DENIED), ==, 1);
    g_assert_cmphex(reg(&b, 2, UB_TPR_LAST), ==, 1);
    allow(&b, 2, true);
    g_assert_cmpuint(ask_channel(&b, 22), ==, UBQ_RESULT_OK);
    works(&b, 22);
    g_assert_cmpuint(reg(&b, 2, UB_TPR_COUNT), ==, 1);
    eng_stop(&b.p);
}

/* What is up ends when either end's list loses the other one. */
static void test_taken_out(void)
{
    for (unsigned node = 1; node < 3; node++) {
        Bed b;

        start(&b);
        allow_both(&b, 22);
        allow(&b, node, false);
        ended(&b, 22);
        g_assert_cmpuint(ask_channel(&b, 23), ==, UBQ_RESULT_REFUSED);
        eng_stop(&b.p);
    }
}

/* In the middle of work each piece of it ends once, good ones first; and who is allowed
 * again has a channel. */
static void test_traffic(void)
{
    enum { PIECES = 12 };

    for (unsigned node = 1; node < 3; node++) {
        bool bad = false;
        Bed b;
        Eng *a = &b.p.a;

        start(&b);
        allow_both(&b, 22);
        /* Some of it arrives. */
        eng_set_faults(a, true, "'kind': 'rtp', 'nth': 200, 'every': 1, 'action': 'drop'");
        for (unsigned n = 0; n < PIECES; n++) {
            ubq_post(&a->queue, eng_sqe(a, UB_TA_WRITE, 0, 200000, 1), 1);
        }
        QUBC_WAIT(eng_faults(a, true, "drop") > 0);
        allow(&b, node, false);
        for (unsigned n = 0; n < PIECES; n++) {
            unsigned status = ubq_cqe_status(eng_next(a));

            g_assert_false(bad && status == UBQ_STATUS_OK);
            bad = status != UBQ_STATUS_OK;
        }
        g_assert_true(bad);
        eng_set_faults(a, true, "");
        ended(&b, 22);
        allow(&b, node, true);
        g_assert_cmpuint(ask_channel(&b, 24), ==, UBQ_RESULT_OK);
        eng_stop(&b.p);
    }
}

/* The host cannot write itself into it, nor out; nor can a manager that is not the
 * UBFM. */
static void test_others(void)
{
    uint32_t errors;
    Guest host;
    Bed b;

    start(&b);
    errors = qubc_read(b.p.b.q, UBC_GUEST_ERRORS);
    qubc_cfg_write(b.p.b.q, at(UB_TPR_PEER(0)), 1);
    g_assert_cmpuint(qubc_read(b.p.b.q, UBC_GUEST_ERRORS), ==, errors + 1);
    guest_open(&host, b.p.b.q);
    g_assert_cmphex(config(&host, 2, true, at(UB_TPR_PEER(0)), 1), ==,
                    UB_MGMT_NO_PERMISSION);
    g_assert_cmpuint(reg(&b, 2, UB_TPR_COUNT), ==, 0);
    g_assert_cmphex(tell(&b, 2, true, UB_CFG0_UBFM_CNA, 0x77), ==, UB_MGMT_OK);
    g_assert_cmphex(tell(&b, 2, true, at(UB_TPR_PEER(0)), 1), ==,
                    UB_MGMT_NO_PERMISSION);
    introduce(&b, 2);
    allow_both(&b, 22);
    qubc_cfg_write(b.p.b.q, at(UB_TPR_PEER(17)), 0);
    g_assert_cmpuint(reg(&b, 2, UB_TPR_COUNT), ==, 1);
    works(&b, 22);
    eng_stop(&b.p);
}

/* The list moves with its device, and ends with a reset. */
static void test_moved(void)
{
    Bed b;

    start(&b);
    allow_both(&b, 22);
    eng_migrate(&b.p);
    g_assert_cmpuint(reg(&b, 2, UB_TPR_COUNT), ==, 1);
    works(&b, 22);
    g_assert_cmpuint(ask_channel(&b, 23), ==, UBQ_RESULT_OK);
    allow(&b, 2, false);
    ended(&b, 22);
    eng_stop(&b.p);
}

static void test_reset(void)
{
    Bed b;

    start(&b);
    allow_both(&b, 22);
    qubc_write(b.p.b.q, UBC_CTRL, UBC_CTRL_RESET);
    eng_open(&b.p.b, b.p.link.b, 2);
    eng_link_up(&b.p);
    introduce(&b, 2);
    g_assert_cmpuint(reg(&b, 2, UB_TPR_COUNT), ==, 0);
    g_assert_cmpuint(ask_channel(&b, 23), ==, UBQ_RESULT_REFUSED);
    allow(&b, 2, true);
    g_assert_cmpuint(ask_channel(&b, 24), ==, UBQ_RESULT_OK);
    eng_stop(&b.p);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    qtest_add_func("/ubc-allow/withheld", test_withheld);
    qtest_add_func("/ubc-allow/taken-out", test_taken_out);
    qtest_add_func("/ubc-allow/traffic", test_traffic);
    qtest_add_func("/ubc-allow/others", test_others);
    qtest_add_func("/ubc-allow/moved", test_moved);
    qtest_add_func("/ubc-allow/reset", test_reset);
    return g_test_run();
}
