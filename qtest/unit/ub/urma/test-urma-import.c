/*
 * Imports: rows of destinations and channels made and shared on demand.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <string.h>

#include "pair.h"

#define RTP_CFG 7

static unsigned ci[2];

static void start(Pair *p)
{
    ci[0] = ci[1] = 0;
    pair_start(p, UB_TP_CTP, UB_ROI, 0);
}

/* The parameters of an import of the other end. */
static void want(End *e, uint8_t cmd[UBQ_CMD], unsigned carrier, unsigned mode)
{
    static const uint8_t cfgs[] = { RTP_CFG, 6, 3, 9 };
    UbqPeer peer = end_peer(e);

    ubq_cmd_init(cmd, UBQ_NEW, 0);
    cmd[UBQ_DST_WAY + UBQ_WAY_CFG] = cfgs[carrier];
    cmd[UBQ_DST_WAY + UBQ_WAY_PORT] = 0xff;
    put_le32(cmd + UBQ_DST_WAY + UBQ_WAY_DCNA, peer.cna);
    memcpy(cmd + UBQ_DST_WAY + UBQ_WAY_DIP, peer.ip, 4);
    cmd[UBQ_DST_CARRIER] = carrier;
    cmd[UBQ_DST_FORM] = 1;
    put_le16(cmd + UBQ_DST_MTU, 4096);
    put_le32(cmd + UBQ_DST_CHANNEL, 0xdead);    /* not asked for */
    put_le32(cmd + UBQ_DST_UPI, peer.upi);
    memcpy(cmd + UBQ_DST_DEID, peer.eid, 16);
    cmd[UBQ_IMP_MODE] = mode;
}

static unsigned import(End *e, uint8_t cmd[UBQ_CMD])
{
    return ubq_command(&e->drv, UBQ_OP_IMPORT, cmd);
}

static uint32_t import_good(End *e, uint8_t cmd[UBQ_CMD])
{
    g_assert_cmpuint(import(e, cmd), ==, UBQ_RESULT_OK);
    return get_le32(cmd + UBQ_CMD_OBJECT);
}

static unsigned other(End *e, unsigned opcode, uint32_t object)
{
    uint8_t cmd[UBQ_CMD];

    ubq_cmd_init(cmd, object, 0);
    return ubq_command(&e->drv, opcode, cmd);
}

static void write_by(Pair *p, uint32_t row, unsigned status)
{
    uint8_t *e = memory_op(p, UB_TA_WRITE, 0, 0, p->local, 3000, 1);

    fill(p->a, p->local, 3000);
    memset(p->b->memory + p->remote, 0, 3000);
    put_le32(e + UBQ_SQE_DEST, row);
    post_and_run(p, e, 1);
    ubq_cq_expect(&p->cq_a, status);
    if (!status) {
        check(p->b, p->remote, 3000);
    }
}

static uint32_t event_data(End *e, unsigned n)
{
    uint64_t base = ub_urma_reg_read(e->urma, UBQ_EQ(0) + UBQ_EQ_BASE_LO);

    return get_le32(e->memory + base + n * UBQ_EQE + 12);
}

/* One row and one channel for all who ask for the same; gone with the last. */
static void test_share(void)
{
    uint8_t cmd[UBQ_CMD], same[UBQ_CMD], rol[UBQ_CMD];
    uint32_t row, tpn;
    Pair p;

    start(&p);
    want(p.a, cmd, UB_TP_RTP, UB_ROI);
    row = import_good(p.a, cmd);
    tpn = get_le32(cmd + UBQ_IMP_CHANNEL);
    g_assert_cmpuint(cmd[UBQ_IMP_STATE], ==, 1);
    want(p.a, same, UB_TP_RTP, UB_ROI);
    g_assert_cmpuint(import_good(p.a, same), ==, row);
    g_assert_cmpuint(same[UBQ_IMP_STATE], ==, 1);
    ends_run(&p.ends, SECOND);
    g_assert_cmpuint(eq_take(p.a, &ci[0], UBQ_EVENT_IMPORTED), ==, row);
    g_assert_cmpuint(event_data(p.a, 0), ==, UBQ_RESULT_OK);
    eq_take(p.b, &ci[1], UBQ_EVENT_CHANNEL_UP);
    write_by(&p, row, UBQ_STATUS_OK);
    want(p.a, same, UB_TP_RTP, UB_ROI);
    g_assert_cmpuint(import_good(p.a, same), ==, row);
    g_assert_cmpuint(same[UBQ_IMP_STATE], ==, 0);
    g_assert_cmpuint(get_le32(same + UBQ_IMP_CHANNEL), ==, tpn);
    /* Another Entity there: another row by the same channel. */
    want(p.a, same, UB_TP_RTP, UB_ROI);
    same[UBQ_DST_DEID] = 9;
    g_assert_cmpuint(import_good(p.a, same), !=, row);
    g_assert_cmpuint(get_le32(same + UBQ_IMP_CHANNEL), ==, tpn);
    g_assert_cmpuint(other(p.a, UBQ_OP_UNIMPORT,
                           get_le32(same + UBQ_CMD_OBJECT)), ==,
                     UBQ_RESULT_OK);
    /* Another service: a channel of its own. */
    want(p.a, rol, UB_TP_RTP, UB_ROL);
    g_assert_cmpuint(import_good(p.a, rol), !=, row);
    g_assert_cmpuint(get_le32(rol + UBQ_IMP_CHANNEL), !=, tpn);
    g_assert_cmpuint(rol[UBQ_IMP_STATE], ==, 1);
    ends_run(&p.ends, SECOND);
    /* It is nobody else's meanwhile. */
    g_assert_cmpuint(other(p.a, UBQ_OP_DEST_CLEAR, row), ==,
                     UBQ_RESULT_IN_USE);
    g_assert_cmpuint(other(p.a, UBQ_OP_CHANNEL_DESTROY, tpn), ==,
                     UBQ_RESULT_IN_USE);
    g_assert_cmpuint(other(p.a, UBQ_OP_CHANNEL_DEACTIVATE, tpn), ==,
                     UBQ_RESULT_IN_USE);
    want(p.a, same, UB_TP_RTP, UB_ROI);
    put_le32(same + UBQ_CMD_OBJECT, row);
    g_assert_cmpuint(ubq_command(&p.a->drv, UBQ_OP_DEST_SET, same), ==,
                     UBQ_RESULT_IN_USE);
    for (unsigned i = 0; i < 3; i++) {
        write_by(&p, row, UBQ_STATUS_OK);
        /* What its acknowledgements bring is not the next channel's matter. */
        ub_ta_set_answers(ub_node_ta(p.a->node), tpn, true);
        g_assert_cmpuint(other(p.a, UBQ_OP_UNIMPORT, row), ==, UBQ_RESULT_OK);
        g_assert_cmpint(ub_ta_has_answers(ub_node_ta(p.a->node), tpn), ==,
                        i < 2);
        ub_ta_set_answers(ub_node_ta(p.a->node), tpn, false);
    }
    g_assert_cmpuint(other(p.a, UBQ_OP_UNIMPORT, row), ==,
                     UBQ_RESULT_NO_OBJECT);
    g_assert_cmpuint(other(p.a, UBQ_OP_DEST_QUERY, row), ==,
                     UBQ_RESULT_NO_OBJECT);
    g_assert_cmpuint(other(p.a, UBQ_OP_CHANNEL_QUERY, tpn), ==,
                     UBQ_RESULT_NO_OBJECT);
    /* The peer's end goes, too; nobody there had made it. */
    write_by(&p, get_le32(rol + UBQ_CMD_OBJECT), UBQ_STATUS_OK);
    g_assert_cmpuint(eq_take(p.b, &ci[1], UBQ_EVENT_CHANNEL_UP), !=, 0);
    tpn = eq_take(p.b, &ci[1], UBQ_EVENT_CHANNEL_UP);
    g_assert_cmpuint(event_data(p.b, ci[1] - 1), ==, UBQ_RESULT_REFUSED);
    g_assert_cmpuint(other(p.b, UBQ_OP_CHANNEL_QUERY, tpn), ==,
                     UBQ_RESULT_NO_OBJECT);
    pair_stop(&p);
}

/* Who does not want to share does not. */
static void test_own(void)
{
    uint8_t one[UBQ_CMD], two[UBQ_CMD];
    Pair p;

    start(&p);
    want(p.a, one, UB_TP_RTP, UB_ROL);
    one[UBQ_IMP_FLAGS] = UBQ_IMP_OWN;
    memcpy(two, one, sizeof(two));
    g_assert_cmpuint(import_good(p.a, one), !=, import_good(p.a, two));
    g_assert_cmpuint(get_le32(one + UBQ_IMP_CHANNEL), !=,
                     get_le32(two + UBQ_IMP_CHANNEL));
    ends_run(&p.ends, SECOND);
    g_assert_cmpuint(other(p.a, UBQ_OP_UNIMPORT,
                           get_le32(one + UBQ_CMD_OBJECT)), ==, UBQ_RESULT_OK);
    write_by(&p, get_le32(two + UBQ_CMD_OBJECT), UBQ_STATUS_OK);
    pair_stop(&p);
}

/* Carriers without channels are ready at once. */
static void test_plain(void)
{
    uint8_t cmd[UBQ_CMD];
    uint32_t row;
    Pair p;

    start(&p);
    want(p.a, cmd, UB_TP_CTP, UB_ROI);
    put_le32(cmd + UBQ_CMD_OBJECT, 9);          /* it is there */
    g_assert_cmpuint(import(p.a, cmd), ==, UBQ_RESULT_IN_USE);
    put_le32(cmd + UBQ_CMD_OBJECT, 1u << 20);
    g_assert_cmpuint(import(p.a, cmd), ==, UBQ_RESULT_PARAMETER);
    put_le32(cmd + UBQ_CMD_OBJECT, 777);
    row = import_good(p.a, cmd);
    g_assert_cmpuint(row, ==, 777);
    g_assert_cmpuint(cmd[UBQ_IMP_STATE], ==, 0);
    g_assert_cmphex(get_le32(cmd + UBQ_IMP_CHANNEL), ==, UBQ_NEW);
    write_by(&p, row, UBQ_STATUS_OK);
    want(p.a, cmd, UB_TP_CTP, UB_ROI);
    cmd[UBQ_IMP_MODE] = 4;
    g_assert_cmpuint(import(p.a, cmd), ==, UBQ_RESULT_PARAMETER);
    want(p.a, cmd, UB_TP_CTP, UB_ROI);
    cmd[UBQ_IMP_FLAGS] = 2;
    g_assert_cmpuint(import(p.a, cmd), ==, UBQ_RESULT_PARAMETER);
    want(p.a, cmd, UB_TP_RTP, UB_ROI);
    cmd[UBQ_DST_FLAGS] = UBQ_DST_GROUP;
    g_assert_cmpuint(import(p.a, cmd), ==, UBQ_RESULT_PARAMETER);
    want(p.a, cmd, UB_TP_RTP, UB_ROI);
    cmd[UBQ_DST_WAY + UBQ_WAY_CFG] = 6;         /* RTP goes by 3, 4 and 7 */
    g_assert_cmpuint(import(p.a, cmd), ==, UBQ_RESULT_PARAMETER);
    pair_stop(&p);
}

static bool lose_all(End *to, CorePacket *pkt)
{
    return true;
}

/* A peer that does not answer; then it does, and IMPORT tries again for all. */
static void test_again(void)
{
    uint8_t cmd[UBQ_CMD];
    uint32_t row, tpn;
    Pair p;

    start(&p);
    p.b->lose = lose_all;
    want(p.a, cmd, UB_TP_RTP, UB_ROI);
    row = import_good(p.a, cmd);
    tpn = get_le32(cmd + UBQ_IMP_CHANNEL);
    ends_run(&p.ends, 1000 * SECOND);
    g_assert_cmpuint(eq_take(p.a, &ci[0], UBQ_EVENT_IMPORTED), ==, row);
    g_assert_cmpuint(event_data(p.a, 0), ==, UBQ_RESULT_TIMEOUT);
    write_by(&p, row, UBQ_STATUS_TIMEOUT);
    p.b->lose = NULL;
    want(p.a, cmd, UB_TP_RTP, UB_ROI);
    g_assert_cmpuint(import_good(p.a, cmd), ==, row);
    g_assert_cmpuint(cmd[UBQ_IMP_STATE], ==, 1);
    g_assert_cmpuint(get_le32(cmd + UBQ_IMP_CHANNEL), !=, tpn);
    ends_run(&p.ends, SECOND);
    g_assert_cmpuint(eq_take(p.a, &ci[0], UBQ_EVENT_IMPORTED), ==, row);
    g_assert_cmpuint(event_data(p.a, 1), ==, UBQ_RESULT_OK);
    write_by(&p, row, UBQ_STATUS_OK);
    g_assert_cmpuint(other(p.a, UBQ_OP_CHANNEL_QUERY, tpn), ==,
                     UBQ_RESULT_NO_OBJECT);
    pair_stop(&p);
}

/* IMPORT makes another channel for the rows of the one that has failed.  What others
 * have stays as it is, to the place in memory. */
static void test_again_alone(void)
{
    uint8_t one[UBQ_CMD], two[UBQ_CMD], cmd[UBQ_CMD];
    const UbTaDest *others;
    uint32_t row, with, lost;
    Pair p;
    UbTa *ta;

    start(&p);
    ta = ub_node_ta(p.a->node);
    want(p.a, one, UB_TP_RTP, UB_ROL);
    row = import_good(p.a, one);
    ends_run(&p.ends, SECOND);
    p.b->lose = lose_all;
    want(p.a, two, UB_TP_RTP, UB_ROI);
    lost = import_good(p.a, two);
    want(p.a, cmd, UB_TP_RTP, UB_ROI);
    put_le16(cmd + UBQ_DST_MTU, 1024);      /* another row by the same channel */
    with = import_good(p.a, cmd);
    g_assert_cmpuint(with, !=, lost);
    g_assert_cmpuint(get_le32(cmd + UBQ_IMP_CHANNEL), ==,
                     get_le32(two + UBQ_IMP_CHANNEL));
    ends_run(&p.ends, 1000 * SECOND);
    p.b->lose = NULL;
    others = ub_ta_dest(ta, row);
    want(p.a, cmd, UB_TP_RTP, UB_ROI);
    g_assert_cmpuint(import_good(p.a, cmd), ==, lost);
    g_assert_cmpuint(get_le32(cmd + UBQ_IMP_CHANNEL), !=,
                     get_le32(two + UBQ_IMP_CHANNEL));
    g_assert_true(ub_ta_dest(ta, row) == others);
    g_assert_cmpuint(ub_ta_dest(ta, row)->tp.tpn, ==,
                     get_le32(one + UBQ_IMP_CHANNEL));
    g_assert_cmpuint(ub_ta_dest(ta, with)->tp.tpn, ==,
                     get_le32(cmd + UBQ_IMP_CHANNEL));
    ends_run(&p.ends, SECOND);
    write_by(&p, row, UBQ_STATUS_OK);
    write_by(&p, lost, UBQ_STATUS_OK);
    write_by(&p, with, UBQ_STATUS_OK);
    for (unsigned i = 0; i < 2; i++) {
        g_assert_cmpuint(other(p.a, UBQ_OP_UNIMPORT, lost), ==, UBQ_RESULT_OK);
        write_by(&p, with, UBQ_STATUS_OK);
    }
    g_assert_cmpuint(other(p.a, UBQ_OP_UNIMPORT, with), ==, UBQ_RESULT_OK);
    g_assert_cmpuint(other(p.a, UBQ_OP_CHANNEL_QUERY,
                           get_le32(cmd + UBQ_IMP_CHANNEL)), ==,
                     UBQ_RESULT_NO_OBJECT);
    pair_stop(&p);
}

/* So many rows of one channel, and no more: all of them change at once. */
static void test_many(void)
{
    enum { ROWS = 4096 };
    uint8_t cmd[UBQ_CMD];
    Pair p;

    start(&p);
    for (unsigned i = 0; i <= ROWS; i++) {
        want(p.a, cmd, UB_TP_RTP, UB_ROI);
        put_le32(cmd + UBQ_DST_DEID, i);
        g_assert_cmpuint(import(p.a, cmd), ==, i < ROWS ? UBQ_RESULT_OK
                                                        : UBQ_RESULT_FULL);
    }
    /* By another there is room. */
    want(p.a, cmd, UB_TP_RTP, UB_ROL);
    import_good(p.a, cmd);
    pair_stop(&p);
}

/* Every row is taken but one, which is found, time after time. */
static void test_full(void)
{
    const uint32_t hole = 777777;
    UbTaDest dest = { 0 };
    uint8_t cmd[UBQ_CMD];
    Pair p;
    UbTa *ta;

    start(&p);
    ta = ub_node_ta(p.a->node);
    want(p.a, cmd, UB_TP_CTP, UB_ROI);
    dest = *ub_ta_dest(ta, 9);
    for (uint32_t row = 0; row < UB_TA_DESTS; row++) {
        if (row != hole && !ub_ta_dest(ta, row)) {
            g_assert_true(ub_ta_set_dest(ta, row, &dest));
        }
    }
    for (unsigned i = 0; i < 1000; i++) {
        put_le32(cmd + UBQ_CMD_OBJECT, UBQ_NEW);
        g_assert_cmpuint(import_good(p.a, cmd), ==, hole);
        want(p.a, cmd, UB_TP_CTP, UB_ROL);
        g_assert_cmpuint(import(p.a, cmd), ==, UBQ_RESULT_FULL);
        want(p.a, cmd, UB_TP_CTP, UB_ROI);
        g_assert_cmpuint(other(p.a, UBQ_OP_UNIMPORT, hole), ==, UBQ_RESULT_OK);
    }
    pair_stop(&p);
}

/* Imports move with their machine; nonsense is refused. */
static void test_move(void)
{
    uint8_t cmd[UBQ_CMD];
    g_autofree uint8_t *data = NULL;
    uint32_t row, tpn;
    size_t len;
    Pair p;

    start(&p);
    want(p.a, cmd, UB_TP_RTP, UB_ROI);
    row = import_good(p.a, cmd);
    tpn = get_le32(cmd + UBQ_IMP_CHANNEL);
    ends_run(&p.ends, SECOND);
    data = end_save(&p.ends, p.a, &len);
    for (size_t i = len - 400; i < len; i++) {
        g_autofree uint8_t *bad = g_memdup2(data, len);

        bad[i] ^= 1 << i % 8;
        if (end_load(&p.ends, p.a, bad, len)) {
            ub_node_reset(p.a->node, p.ends.now);
            ub_urma_reset(p.a->urma);
        }
    }
    g_assert_cmpstr(end_load(&p.ends, p.a, data, len), ==, NULL);
    ub_net_port_state(ub_node_net(p.a->node), p.ends.now, 0, 0xffff);
    write_by(&p, row, UBQ_STATUS_OK);
    want(p.a, cmd, UB_TP_RTP, UB_ROI);
    g_assert_cmpuint(import_good(p.a, cmd), ==, row);
    g_assert_cmpuint(get_le32(cmd + UBQ_IMP_CHANNEL), ==, tpn);
    g_assert_cmpuint(cmd[UBQ_IMP_STATE], ==, 0);
    for (unsigned i = 0; i < 2; i++) {
        g_assert_cmpuint(other(p.a, UBQ_OP_UNIMPORT, row), ==, UBQ_RESULT_OK);
    }
    g_assert_cmpuint(other(p.a, UBQ_OP_CHANNEL_QUERY, tpn), ==,
                     UBQ_RESULT_NO_OBJECT);
    pair_stop(&p);
}

static unsigned parked(End *e)
{
    UbTaState state;

    ub_ta_state(ub_node_ta(e->node), &state);
    return state.parked;
}

static uint64_t answered(End *e)
{
    return ub_ta_counter(ub_node_ta(e->node), UB_TAC_TX_RESPONSES);
}

/* A Write by @row, whose page is not there when it comes. */
static void write_late(Pair *p, uint32_t row)
{
    uint8_t *e = memory_op(p, UB_TA_WRITE, 0, 0, p->local, 8, 1);

    put_le32(e + UBQ_SQE_DEST, row);
    ends_late = true;
    ubq_post(&p->qa, e, 1);
    ends_run(&p->ends, SECOND / 100);
    ends_late = false;
    g_assert_cmpuint(parked(p->b), ==, 1);
}

/* A peer that gives up its channel takes along what waits here for its page: software
 * that never resumes it does not have it kept. */
static void test_late_peer_leaves(void)
{
    uint8_t cmd[UBQ_CMD];
    uint32_t row;
    Pair p;

    start(&p);
    want(p.a, cmd, UB_TP_RTP, UB_ROI);
    row = import_good(p.a, cmd);
    ends_run(&p.ends, SECOND / 100);
    write_late(&p, row);
    g_assert_cmpuint(other(p.a, UBQ_OP_UNIMPORT, row), ==, UBQ_RESULT_OK);
    ends_run(&p.ends, SECOND / 100);
    g_assert_cmpuint(parked(p.b), ==, 0);
    pair_stop(&p);
}

/* A channel that is deactivated and active again brings no answer to what came before. */
static void test_late_channel_anew(void)
{
    uint64_t before;
    Pair p;

    ci[0] = ci[1] = 0;
    pair_start(&p, UB_TP_RTP, UB_ROI, 0);
    write_late(&p, 9);
    before = answered(p.b);
    g_assert_cmpuint(other(p.b, UBQ_OP_CHANNEL_DEACTIVATE, 5), ==,
                     UBQ_RESULT_OK);
    g_assert_cmpuint(parked(p.b), ==, 0);
    g_assert_cmpuint(other(p.b, UBQ_OP_CHANNEL_ACTIVATE, 5), ==,
                     UBQ_RESULT_OK);
    ub_ta_resolve(ub_node_ta(p.b->node), 5, true);
    ends_run(&p.ends, SECOND / 1000);
    g_assert_cmpuint(answered(p.b), ==, before);
    pair_stop(&p);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/ub/urma/import/share", test_share);
    g_test_add_func("/ub/urma/import/own", test_own);
    g_test_add_func("/ub/urma/import/plain", test_plain);
    g_test_add_func("/ub/urma/import/again", test_again);
    g_test_add_func("/ub/urma/import/again/alone", test_again_alone);
    g_test_add_func("/ub/urma/import/many", test_many);
    g_test_add_func("/ub/urma/import/full", test_full);
    g_test_add_func("/ub/urma/import/move", test_move);
    g_test_add_func("/ub/urma/import/late-peer-leaves",
                    test_late_peer_leaves);
    g_test_add_func("/ub/urma/import/late-channel-anew",
                    test_late_channel_anew);
    return g_test_run();
}
