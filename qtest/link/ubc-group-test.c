/*
 * Groups of channels over all ports of a controller (UB 2.0 §6.5.1.1).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "ubc-multi.h"
#include "ub/net_format.h"
#include "ub/tp.h"

#define FIRST_PSN(c) (1000u * ((c) + 1))
#define TPN(c) (20u + (c))

static uint32_t make_group(Multi *m, unsigned policy)
{
    uint8_t cmd[UBQ_CMD];

    ubq_cmd_init(cmd, UBQ_NEW, 0);
    cmd[UBQ_GRP_POLICY] = policy;
    g_assert_cmpuint(ubq_command(&m->e[0].drv, UBQ_OP_GROUP_CREATE, cmd), ==,
                     UBQ_RESULT_OK);
    return get_le32(cmd + UBQ_CMD_OBJECT);
}

static void join(Multi *m, uint32_t group, unsigned c, unsigned result)
{
    uint8_t cmd[UBQ_CMD];

    ubq_cmd_init(cmd, TPN(c), 0);
    put_le32(cmd + UBQ_GRP_GROUP, group);
    g_assert_cmpuint(ubq_command(&m->e[0].drv, UBQ_OP_GROUP_JOIN, cmd), ==, result);
}

/* A channel by each port, both ends; at a all in a group. */
static void open_group(Multi *m, unsigned policy)
{
    uint8_t cmd[UBQ_CMD];
    uint32_t group;

    for (unsigned end = 0; end < 2; end++) {
        for (unsigned c = 0; c < MULTI_PORTS; c++) {
            ubq_cmd_init(cmd, TPN(c), 0);
            cmd[UBQ_CH_WAY + UBQ_WAY_CFG] = UB_LPH_CNA24;
            cmd[UBQ_CH_WAY + UBQ_WAY_PORT] = c;
            put_le32(cmd + UBQ_CH_WAY + UBQ_WAY_DCNA, 2 - end);
            put_le32(cmd + UBQ_CH_PEER, TPN(c));
            put_le32(cmd + UBQ_CH_TX_PSN, FIRST_PSN(c));
            put_le32(cmd + UBQ_CH_RX_PSN, FIRST_PSN(c));
            put_le16(cmd + UBQ_CH_FLAGS, UBQ_CH_FAST | UBQ_CH_RTO_DYNAMIC);
            put_le32(cmd + UBQ_CH_RTO_BASE, 16384);
            cmd[UBQ_CH_RTO_SHIFT] = 1;
            cmd[UBQ_CH_RETRIES] = 2;
            cmd[UBQ_CH_ASK] = 2;
            g_assert_cmpuint(ubq_command(&m->e[end].drv, UBQ_OP_CHANNEL_CREATE, cmd),
                             ==, UBQ_RESULT_OK);
            ubq_cmd_init(cmd, TPN(c), 0);
            g_assert_cmpuint(ubq_command(&m->e[end].drv, UBQ_OP_CHANNEL_ACTIVATE,
                                         cmd), ==, UBQ_RESULT_OK);
        }
    }
    group = make_group(m, policy);
    for (unsigned c = 0; c < MULTI_PORTS; c++) {
        join(m, group, c, UBQ_RESULT_OK);
        join(m, group, c, UBQ_RESULT_IN_USE);
    }
    multi_lead(&m->e[0], &(MultiWay){ .group = group, .grouped = true });
}

/* Packets that a channel of a has sent, each once. */
static unsigned sent_by(Multi *m, unsigned c)
{
    g_autofree char *next = eng_object(&m->e[0], "channels", TPN(c), "next");

    return atoi(next) - FIRST_PSN(c);
}

static void test_round(void)
{
    const unsigned n = 10;
    g_autofree char *state = NULL;
    unsigned left = 0;
    const uint8_t *event;
    uint64_t all;
    MultiCounts was;
    Multi m;
    Eng *a = &m.e[0];

    multi_start(&m, "");
    open_group(&m, UB_TPG_ROUND);
    was = multi_counts(&m, 0);
    for (unsigned i = 0; i < n * MULTI_PORTS; i++) {
        multi_write(&m, i + 1);
    }
    for (unsigned c = 0; c < MULTI_PORTS; c++) {
        MultiCounts now = multi_counts(&m, 0);

        g_assert_cmpuint(sent_by(&m, c), ==, n);
        g_assert_cmpuint(now.from[c] - was.from[c], >=, n);
    }
    g_assert_cmphex(multi_used(&m, 0, &was, false, &all), ==, MULTI_ALL);
    /* One of the ports goes: what its channel has is given up, and from then on the
     * others have all. */
    multi_enable(&m, 0, 1, false);
    for (unsigned i = 0; i < MULTI_PORTS; i++) {
        multi_post(a, 0x80 + i);
    }
    eng_complete(a, UBQ_STATUS_OK);
    eng_complete(a, UBQ_STATUS_OK);
    for (unsigned i = 0; i < 8; i++) {
        qtest_clock_step(a->q->qts, 100 * 1000000ll);
    }
    event = eng_event(a, UBQ_EVENT_TP_RETRIES);
    g_assert_cmpuint(get_le32(event + 4), ==, TPN(1));
    eng_complete(a, UBQ_STATUS_TIMEOUT);
    for (unsigned i = 0; i < 2 * n; i++) {
        multi_write(&m, i + 1);
    }
    for (unsigned c = 0; c < MULTI_PORTS; c += 2) {
        left += sent_by(&m, c);
    }
    g_assert_cmpuint(left, ==, 2 * n + 2 + 2 * n);
    state = eng_object(a, "channels", TPN(1), "state");
    g_assert_cmpstr(state, ==, "error");
    multi_stop(&m);
}

/* Ports with CNAs of their own: what goes by all channels of a group is one sender's, in the
 * order that it was posted in, though the first comes last; and its answers are of the peer
 * that was asked. */
static void test_cnas(void)
{
    const unsigned n = MULTI_PORTS;       /* one each: no gap tells of the first */
    Multi m;
    Eng *a = &m.e[0], *b = &m.e[1];

    multi_start(&m, "");
    for (unsigned p = 0; p < MULTI_PORTS; p++) {
        multi_port_cna(a, p, MULTI_CNA(0, p));
        multi_port_cna(b, p, MULTI_CNA(1, p));
    }
    open_group(&m, UB_TPG_ROUND);
    multi_first_last(&m, n);
    for (unsigned c = 0; c < MULTI_PORTS; c++) {
        g_assert_cmpuint(sent_by(&m, c), ==, 1);
    }
    g_assert_cmpuint(eng_counter(a, "transaction", "late-responses"), ==, 0);
    multi_stop(&m);
}

/* Channels that are set up in band by such ports: the peer knows all of them by the Primary
 * CNA, though no way names it. */
static void test_in_band(void)
{
    uint8_t cmd[UBQ_CMD];
    uint32_t group;
    Multi m;
    Eng *a = &m.e[0];

    multi_start(&m, "");
    for (unsigned p = 0; p < MULTI_PORTS; p++) {
        multi_port_cna(a, p, MULTI_CNA(0, p));
    }
    group = make_group(&m, UB_TPG_ROUND);
    for (unsigned c = 0; c < MULTI_PORTS; c++) {
        ubq_cmd_init(cmd, TPN(c), 0);
        cmd[UBQ_CH_WAY + UBQ_WAY_CFG] = UB_LPH_CNA24;
        cmd[UBQ_CH_WAY + UBQ_WAY_PORT] = c;
        put_le32(cmd + UBQ_CH_WAY + UBQ_WAY_DCNA, 2);
        put_le32(cmd + UBQ_CH_TX_PSN, FIRST_PSN(c));
        put_le32(cmd + UBQ_CH_RX_PSN, UBQ_NEW);
        put_le16(cmd + UBQ_CH_FLAGS, UBQ_CH_FAST | UBQ_CH_RTO_DYNAMIC);
        g_assert_cmpuint(ubq_command(&a->drv, UBQ_OP_CHANNEL_CREATE, cmd), ==,
                         UBQ_RESULT_OK);
        join(&m, group, c, UBQ_RESULT_OK);
        ubq_cmd_init(cmd, TPN(c), 0);
        g_assert_cmpuint(ubq_command(&a->drv, UBQ_OP_CHANNEL_CONNECT, cmd), ==,
                         UBQ_RESULT_OK);
        g_assert_cmpuint(get_le32(eng_event(a, UBQ_EVENT_CHANNEL_UP) + 12), ==,
                         UBQ_RESULT_OK);
    }
    multi_lead(a, &(MultiWay){ .group = group, .grouped = true });
    multi_first_last(&m, MULTI_PORTS);
    for (unsigned c = 0; c < MULTI_PORTS; c++) {
        g_assert_cmpuint(sent_by(&m, c), ==, 1);
    }
    multi_stop(&m);
}

/* The channel with least under way: one that is not answered gets no more. */
static void test_least(void)
{
    const unsigned n = 12;
    Multi m;
    Eng *a = &m.e[0];

    multi_start(&m, "");
    open_group(&m, UB_TPG_LEAST);
    eng_set_faults(a, false, "'kind': 'rtp', 'tp-opcode': 2, 'psn': 1000, "
                   "'psn-last': 1999, 'drop-ppm': 1000000");
    for (unsigned i = 0; i < n; i++) {
        multi_write(&m, i + 1);
    }
    g_assert_cmpuint(sent_by(&m, 0), ==, 1);
    g_assert_cmpuint(sent_by(&m, 1) + sent_by(&m, 2), ==, n - 1);
    g_assert_cmpuint(sent_by(&m, 1), >, 1);
    g_assert_cmpuint(sent_by(&m, 2), >, 1);
    multi_stop(&m);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    if (!switch_program()) {
        g_print("1..0 # SKIP ub-switch is not built\n");
        return 0;
    }
    qtest_add_func("/ubc-group/round", test_round);
    qtest_add_func("/ubc-group/cnas", test_cnas);
    qtest_add_func("/ubc-group/in-band", test_in_band);
    qtest_add_func("/ubc-group/least", test_least);
    return g_test_run();
}
