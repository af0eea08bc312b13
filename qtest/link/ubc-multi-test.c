/*
 * Controllers with several ports: which of them packets leave by, which they are taken
 * from (UB 2.0 §5.3.2), and a controller that forwards.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "ubc-multi.h"
#include "ubc-raw.h"
#include "ub/cfg_regs.h"
#include "ub/net_format.h"
#include "ub/tah.h"

/* The transaction layer's time-out. */
#define TIMEOUT_NS (65 * 1000000000ll)

/* ---- Registers beyond the window ------------------------------------------------------ */

static uint32_t get(Eng *e, uint32_t dw)
{
    qubc_write(e->q, UBC_CFG_ADDR, dw);
    return qubc_read(e->q, UBC_CFG_DATA);
}

#define ROUTE(reg) (UB_CFG_ROUTE_BASE + UB_ROUTE_##reg)
#define DEFAULT_ENTRY (-1)

static void entry(Eng *e, int cna, uint32_t ports)
{
    multi_register_set(e, ROUTE(DEFAULT_ROUTING_TABLE) + 1 + cna, ports);
}

/* ---- Traffic ------------------------------------------------------------------------ */

/* One that is lost. */
static void write_lost(Multi *m)
{
    uint8_t was = m->e[1].drv.memory[m->e[1].room];
    uint64_t lost = eng_counter(&m->e[0], "transaction", "timeouts");

    multi_post(&m->e[0], ~was);
    QUBC_WAIT((qtest_clock_step(m->q[0]->qts, TIMEOUT_NS),
               eng_counter(&m->e[0], "transaction", "timeouts") == lost + 1));
    eng_complete(&m->e[0], UBQ_STATUS_TIMEOUT);
    g_assert_cmphex(m->e[1].drv.memory[m->e[1].room], ==, was);
}

/* @n Writes leave by @want and by no other port. */
static void leave_by(Multi *m, unsigned n, unsigned want)
{
    MultiCounts was = multi_counts(m, 0);
    uint64_t all;

    for (unsigned i = 0; i < n; i++) {
        multi_write(m, i + 1);
    }
    g_assert_cmphex(multi_used(m, 0, &was, false, &all), ==, want);
    g_assert_cmpuint(all, ==, n);
}

/* ---- RT (§5.3.2.1) ------------------------------------------------------------------- */

/* Per flow or per packet, all ports of the entry or those of shortest paths: at the
 * switch; a controller, too, has all of its ports in one entry. */
static void test_rt(void)
{
    const unsigned n = 48;
    Multi m;

    multi_start(&m, "");
    multi_tell(&m, "{ 'execute': 'route-set', 'arguments': { 'cna': 2,"
               " 'ports': [3, 4, 5], 'shortest': [4, 5] } }");
    for (unsigned rt = 0; rt < 4; rt++) {
        unsigned ports = rt & UB_RT__SHORTEST ? 6 : MULTI_ALL;
        uint64_t out, in;
        MultiCounts a, b;

        g_test_message("RT %u: one flow", rt);
        multi_lead(&m.e[0], &(MultiWay){ .rt = rt, .lbf = 1 });
        a = multi_counts(&m, 0);
        b = multi_counts(&m, 1);
        for (unsigned i = 0; i < n; i++) {
            multi_write(&m, i + 1);
        }
        if (rt & UB_RT__PACKET) {
            g_assert_cmphex(multi_used(&m, 0, &a, false, &out), ==, MULTI_ALL);
            g_assert_cmphex(multi_used(&m, 1, &b, true, &in), ==, ports);
        } else {
            unsigned left = multi_used(&m, 0, &a, false, &out);
            unsigned right = multi_used(&m, 1, &b, true, &in);

            g_assert_cmpuint(__builtin_popcount(left), ==, 1);
            g_assert_cmpuint(__builtin_popcount(right), ==, 1);
            g_assert_cmphex(right & ~ports, ==, 0);
        }
        g_assert_cmpuint(out, ==, n);
        g_assert_cmpuint(in, ==, n);
        g_test_message("RT %u: many flows", rt);
        a = multi_counts(&m, 0);
        b = multi_counts(&m, 1);
        for (unsigned i = 0; i < n; i++) {
            multi_lead(&m.e[0], &(MultiWay){ .rt = rt, .lbf = 5 * i });
            multi_write(&m, i + 1);
        }
        g_assert_cmphex(multi_used(&m, 0, &a, false, &out), ==, MULTI_ALL);
        g_assert_cmphex(multi_used(&m, 1, &b, true, &in), ==, ports);
        g_assert_cmpuint(in, ==, n);
    }
    multi_stop(&m);
}

static void shortest(Eng *e, unsigned cna, unsigned ports)
{
    qtest_qmp_assert_success(e->q->qts, "{ 'execute': 'ub-route-shortest',"
                             " 'arguments': { 'device': 'ub0', 'cna': %u,"
                             " 'ports': %u } }", cna, ports);
}

/* The same of a controller that knows which ports of an entry are on shortest paths. */
static void test_rt_controller(void)
{
    const unsigned n = 48;
    uint64_t all;
    Multi m;
    Eng *a = &m.e[0];
    QDict *rsp;

    multi_start(&m, "");
    entry(a, 2, MULTI_ALL);
    shortest(a, 2, 6);
    for (unsigned rt = 0; rt < 4; rt++) {
        unsigned ports = rt & UB_RT__SHORTEST ? 6 : MULTI_ALL;
        MultiCounts was;

        g_test_message("RT %u", rt);
        multi_lead(a, &(MultiWay){ .rt = rt, .lbf = 1 });
        if (rt & UB_RT__PACKET) {
            leave_by(&m, n, ports);
        } else {
            unsigned left;

            was = multi_counts(&m, 0);
            for (unsigned i = 0; i < n; i++) {
                multi_write(&m, i + 1);
            }
            left = multi_used(&m, 0, &was, false, &all);
            g_assert_cmpuint(__builtin_popcount(left), ==, 1);
            g_assert_cmphex(left & ~ports, ==, 0);
        }
        was = multi_counts(&m, 0);
        for (unsigned i = 0; i < n; i++) {
            multi_lead(a, &(MultiWay){ .rt = rt, .lbf = 5 * i });
            multi_write(&m, i + 1);
        }
        g_assert_cmphex(multi_used(&m, 0, &was, false, &all), ==, ports);
        g_assert_cmpuint(all, ==, n);
    }
    /* One port, then none of its own: all of the entry. */
    multi_lead(a, &(MultiWay){ .rt = UB_RT__SHORTEST | UB_RT__PACKET });
    shortest(a, 2, 1);
    leave_by(&m, 6, 1);
    entry(a, 2, 3);
    leave_by(&m, 6, 1);
    shortest(a, 2, 0);
    leave_by(&m, 6, 3);
    rsp = qtest_qmp(a->q->qts, "{ 'execute': 'ub-route-shortest', 'arguments':"
                    " { 'device': 'ub0', 'cna': 64, 'ports': 1 } }");
    g_assert_true(qdict_haskey(rsp, "error"));
    qobject_unref(rsp);
    rsp = qtest_qmp(a->q->qts, "{ 'execute': 'ub-route-shortest', 'arguments':"
                    " { 'device': 'ub0', 'cna': 2, 'ports': 8 } }");
    g_assert_true(qdict_haskey(rsp, "error"));
    qobject_unref(rsp);
    multi_stop(&m);
}

/* Flows are told apart by their LBF, which is another one for each packet where that is
 * asked for: of CTP for all (§6.5.2), of RTP for a channel (§6.5.1.3). */
static void test_spray(void)
{
    const unsigned n = 48;
    uint64_t all;
    MultiCounts was;
    Multi m;

    multi_start(&m, ",tp-ctp-spray=on");
    multi_lead(&m.e[0], &(MultiWay){ .rt = 0 });
    was = multi_counts(&m, 1);
    leave_by(&m, n, MULTI_ALL);
    g_assert_cmphex(multi_used(&m, 1, &was, true, &all), ==, MULTI_ALL);
    for (unsigned spray = 0; spray < 2; spray++) {
        EngChannel c = { .flags = UBQ_CH_SELECTIVE | UBQ_CH_OOO | UBQ_CH_FAST |
                                  (spray ? UBQ_CH_SPRAY : 0), .tx = 100, .rx = 7 };
        uint8_t cmd[UBQ_CMD];

        eng_channel(&m.e[0], &c);
        c.tx = 7;
        c.rx = 100;
        eng_channel(&m.e[1], &c);
        was = multi_counts(&m, 1);
        for (unsigned i = 0; i < n; i++) {
            multi_write(&m, i + 1);
        }
        g_assert_cmpint(__builtin_popcount(multi_used(&m, 1, &was, true, &all)), ==,
                        spray ? MULTI_PORTS : 1);
        multi_lead(&m.e[0], &(MultiWay){ .rt = 0 });
        multi_lead(&m.e[1], &(MultiWay){ .rt = 0 });
        for (unsigned end = 0; end < 2 && !spray; end++) {
            ubq_cmd_init(cmd, ENG_TPN, 0);
            g_assert_cmpuint(ubq_command(&m.e[end].drv, UBQ_OP_CHANNEL_DEACTIVATE,
                                         cmd), ==, UBQ_RESULT_OK);
            ubq_cmd_init(cmd, ENG_TPN, 0);
            g_assert_cmpuint(ubq_command(&m.e[end].drv, UBQ_OP_CHANNEL_DESTROY, cmd),
                             ==, UBQ_RESULT_OK);
        }
    }
    multi_stop(&m);
}

/* By which port each of these flows leaves, two bits each. */
static uint32_t ports_of_flows(const char *props)
{
    uint32_t all = 0;
    Multi m;

    multi_start(&m, props);
    for (unsigned i = 0; i < 16; i++) {
        MultiCounts was = multi_counts(&m, 0);
        uint64_t n;
        unsigned port;

        multi_lead(&m.e[0], &(MultiWay){ .lbf = i });
        multi_write(&m, i + 1);
        port = multi_used(&m, 0, &was, false, &n);
        g_assert_cmpuint(n, ==, 1);
        all |= (uint32_t)__builtin_ctz(port) << 2 * i;
    }
    multi_stop(&m);
    return all;
}

/* Which flow has which port is the same each time, and another by another number: nodes
 * in a row need not choose alike. */
static void test_hash_seed(void)
{
    uint32_t plain = ports_of_flows(""), one = ports_of_flows(",net-hash-seed=1");

    g_assert_cmphex(ports_of_flows(",net-hash-seed=0"), ==, plain);
    g_assert_cmphex(one, !=, plain);
    g_assert_cmphex(ports_of_flows(",net-hash-seed=1"), ==, one);
}

/* ---- How many there may be ------------------------------------------------------------- */

static void test_limits(void)
{
    uint8_t cmd[UBQ_CMD];
    EngPair p;
    UbqDrv *d = &p.a.drv;

    eng_start(&p, &(EngPlan){ .carrier = ENG_CTP,
                              .props = "tp-channels=3,tp-groups=2" });
    ubq_cmd_init(cmd, 0, 0);
    g_assert_cmpuint(ubq_command(d, UBQ_OP_CAPS, cmd), ==, UBQ_RESULT_OK);
    g_assert_cmpuint(get_le32(cmd + UBQ_CAP_CHANNELS), ==, 3);
    g_assert_cmpuint(get_le32(cmd + UBQ_CAP_GROUPS), ==, 2);
    for (unsigned i = 0; i < 4; i++) {
        ubq_cmd_init(cmd, UBQ_NEW, 0);
        cmd[UBQ_CH_WAY + UBQ_WAY_CFG] = UB_LPH_CNA24;
        cmd[UBQ_CH_WAY + UBQ_WAY_PORT] = 0xff;
        put_le16(cmd + UBQ_CH_FLAGS, UBQ_CH_FAST);
        g_assert_cmpuint(ubq_command(d, UBQ_OP_CHANNEL_CREATE, cmd), ==,
                         i < 3 ? UBQ_RESULT_OK : UBQ_RESULT_FULL);
    }
    for (unsigned i = 0; i < 3; i++) {
        ubq_cmd_init(cmd, UBQ_NEW, 0);
        g_assert_cmpuint(ubq_command(d, UBQ_OP_GROUP_CREATE, cmd), ==,
                         i < 2 ? UBQ_RESULT_OK : UBQ_RESULT_FULL);
    }
    eng_stop(&p);
}

/* ---- ROUTE_TABLE (§D.7) -------------------------------------------------------------- */

static void exact(Eng *e, bool on)
{
    multi_register_set(e, ROUTE(EXACT_ROUTE_ENABLE), on);
}

static void test_routes(void)
{
    uint64_t none;
    Multi m;
    Eng *a = &m.e[0];

    multi_start(&m, "");
    multi_lead(a, &(MultiWay){ .rt = UB_RT__PACKET });
    g_assert_cmphex(get(a, ROUTE(TABLE_CAP)),
                    ==, UB_ROUTE_TABLE_CAP__EXACT_ROUTE_SUPPORTED | 63);
    qubc_cfg_write(a->q, ROUTE(TABLE_CAP), 0);
    g_assert_cmphex(get(a, ROUTE(TABLE_CAP)),
                    ==, UB_ROUTE_TABLE_CAP__EXACT_ROUTE_SUPPORTED | 63);
    /* The default entry has all ports. */
    leave_by(&m, 12, MULTI_ALL);
    /* Bits of ports that are not there stay 0. */
    entry(a, 2, 0xfffffff0 | 2);
    g_assert_cmphex(get(a, ROUTE(DEFAULT_ROUTING_TABLE) + 3), ==, 2);
    for (unsigned ports = 1; ports <= MULTI_ALL; ports++) {
        entry(a, 2, ports);
        leave_by(&m, 12, ports);
    }
    entry(a, 2, 0);
    for (unsigned ports = 1; ports <= MULTI_ALL; ports++) {
        entry(a, DEFAULT_ENTRY, ports);
        leave_by(&m, 12, ports);
    }
    /* With exact routing, there is no way but an entry's. */
    exact(a, true);
    none = eng_counter(a, "network", "drop-no-route");
    write_lost(&m);
    g_assert_cmpuint(eng_counter(a, "network", "drop-no-route"), ==, none + 1);
    entry(a, 2, 4);
    leave_by(&m, 3, 4);
    entry(a, 2, 0);
    exact(a, false);
    leave_by(&m, 12, MULTI_ALL);
    /* Nor is there one by an empty default entry. */
    entry(a, DEFAULT_ENTRY, 0);
    write_lost(&m);
    g_assert_cmpuint(eng_counter(a, "network", "drop-no-route"), ==, none + 2);
    entry(a, DEFAULT_ENTRY, 1);
    leave_by(&m, 3, 1);
    multi_stop(&m);
}

/* ---- Addresses (§5.3.2.2) ------------------------------------------------------------- */

/* The Primary CNA is heard at any port, a Port CNA at its own; who answers is the one who
 * was asked, and the answer goes to who asked.  A queue of its own for each address: the
 * numbers of requests are of queue and address. */
static void test_addresses(void)
{
    uint64_t wrong;
    Multi m;
    Eng *a = &m.e[0], *b = &m.e[1];

    multi_start(&m, "");
    for (unsigned p = 0; p < MULTI_PORTS; p++) {
        multi_port_cna(b, p, MULTI_CNA(1, p));
    }
    for (unsigned p = 0; p < MULTI_PORTS; p++) {
        g_autofree char *port = g_strdup_printf("[%u]", multi_switch_port(1, p));
        MultiCounts b_was = multi_counts(&m, 1);
        uint64_t all;

        multi_route(&m, 2, port);
        ubq_queue_open(&a->queue, &a->drv, &a->cq, &a->cq, UB_ROI, 0);
        multi_lead(a, &(MultiWay){ 0 });
        multi_write(&m, 0x10 + p);
        ubq_queue_open(&a->queue, &a->drv, &a->cq, &a->cq, UB_ROI, 0);
        multi_lead(a, &(MultiWay){ .dcna = MULTI_CNA(1, p) });
        multi_write(&m, 0x20 + p);
        g_assert_cmphex(multi_used(&m, 1, &b_was, true, &all), ==, 1u << p);
        g_assert_cmpuint(all, ==, 2);
    }
    /* What comes to a Port CNA by another port is nobody's. */
    ubq_queue_open(&a->queue, &a->drv, &a->cq, &a->cq, UB_ROI, 0);
    wrong = eng_counter(b, "network", "drop-wrong-port");
    multi_route(&m, MULTI_CNA(1, 1), "[3]");
    multi_lead(a, &(MultiWay){ .dcna = MULTI_CNA(1, 1) });
    write_lost(&m);
    QUBC_WAIT(eng_counter(b, "network", "drop-wrong-port") == wrong + 1);
    multi_route(&m, MULTI_CNA(1, 1), "[4]");
    multi_write(&m, 0x30);
    /* Nor is what is for another node. */
    wrong = eng_counter(b, "network", "drop-not-ours");
    multi_route(&m, 0x3f, "[4]");
    multi_lead(a, &(MultiWay){ .dcna = 0x3f });
    write_lost(&m);
    QUBC_WAIT(eng_counter(b, "network", "drop-not-ours") == wrong + 1);
    multi_stop(&m);
}

/* Whoever asks by a Port CNA of its own is answered there, whatever way the request took;
 * who names none has that of the port that it leaves by (§5.3.2.2). */
static void test_source(void)
{
    uint64_t all, spoofed;
    MultiCounts was;
    Multi m;
    Eng *a = &m.e[0];

    multi_start(&m, "");
    for (unsigned p = 0; p < MULTI_PORTS; p++) {
        multi_port_cna(a, p, MULTI_CNA(0, p));
    }
    for (unsigned out = 0; out < MULTI_PORTS; out++) {
        entry(a, 2, 1u << out);
        for (unsigned back = 0; back < MULTI_PORTS; back++) {
            was = multi_counts(&m, 0);
            multi_lead(a, &(MultiWay){ .scna = MULTI_CNA(0, back) });
            multi_write(&m, 0x40 + MULTI_PORTS * out + back);
            g_assert_cmphex(multi_used(&m, 0, &was, false, &all), ==, 1u << out);
            g_assert_cmphex(multi_used(&m, 0, &was, true, &all), ==, 1u << back);
            g_assert_cmpuint(all, ==, 1);
        }
        was = multi_counts(&m, 0);
        multi_lead(a, &(MultiWay){ 0 });
        multi_write(&m, 0x60 + out);
        g_assert_cmphex(multi_used(&m, 0, &was, true, &all), ==, 1u << out);
    }
    /* Nobody's CNA but its own. */
    spoofed = eng_counter(a, "network", "drop-spoof");
    multi_lead(a, &(MultiWay){ .scna = MULTI_CNA(1, 0) });
    write_lost(&m);
    g_assert_cmpuint(eng_counter(a, "network", "drop-spoof"), ==, spoofed + 1);
    multi_stop(&m);
}

/* Packets of one queue that are spread over ports with a CNA each are one sender's: their
 * completions at the target are in the order that they were posted in (ODR[2], §7.3.2),
 * though the first one comes last. */
static void test_spread_order(const void *how)
{
    const bool by_lbf = how;
    const unsigned n = 12;
    unsigned ports;
    uint64_t all;
    MultiCounts was;
    Multi m;
    Eng *a = &m.e[0];

    multi_start(&m, by_lbf ? ",tp-ctp-spray=on" : "");
    for (unsigned p = 0; p < MULTI_PORTS; p++) {
        multi_port_cna(a, p, MULTI_CNA(0, p));
    }
    multi_lead(a, &(MultiWay){ .rt = by_lbf ? 0 : UB_RT__PACKET });
    was = multi_counts(&m, 0);
    multi_first_last(&m, n);
    ports = multi_used(&m, 0, &was, false, &all);
    g_assert_cmpuint(__builtin_popcount(ports), >, 1);
    multi_stop(&m);
}

/* ---- A port that goes ------------------------------------------------------------------ */

static bool step_down(Multi *m, unsigned ports)
{
    for (unsigned end = 0; end < 2; end++) {
        qubc_pass(m->q[end]);
        qtest_clock_step(m->q[end]->qts, 10 * 1000000ll);
    }
    return switch_ports_up(&m->sw) == ports;
}

/* It leaves every entry at once, and comes back into all of them: of the default entry,
 * of the CNA's, and of the switch's. */
static void test_port_down(void)
{
    Multi m;
    Eng *a = &m.e[0];

    multi_start(&m, "");
    multi_lead(a, &(MultiWay){ .rt = UB_RT__PACKET });
    for (unsigned round = 0; round < 2; round++) {
        unsigned gone = 1 + round, left = MULTI_ALL & ~(1u << gone);
        uint64_t lost, all;
        MultiCounts was;

        entry(a, 2, round ? MULTI_ALL : 0);
        leave_by(&m, 12, MULTI_ALL);
        multi_enable(&m, 0, gone, false);
        g_assert_false(qubc_up(a->q, gone));
        QUBC_WAIT(step_down(&m, 2 * MULTI_PORTS - 1));
        leave_by(&m, 12, left);
        /* Of the other end as well, and the switch knows of both. */
        multi_enable(&m, 1, gone, false);
        QUBC_WAIT(step_down(&m, 2 * MULTI_PORTS - 2));
        was = multi_counts(&m, 1);
        leave_by(&m, 12, left);
        g_assert_cmphex(multi_used(&m, 1, &was, true, &all), ==, left);
        g_assert_cmpuint(all, ==, 12);
        g_assert_cmpuint(eng_counter(a, "transaction", "timeouts"), ==, round);
        /* An entry of that port alone has none. */
        entry(a, 2, 1u << gone);
        lost = eng_counter(a, "network", "drop-port-down");
        write_lost(&m);
        g_assert_cmpuint(eng_counter(a, "network", "drop-port-down"), ==, lost + 1);
        entry(a, 2, round ? MULTI_ALL : 0);
        multi_enable(&m, 0, gone, true);
        multi_enable(&m, 1, gone, true);
        QUBC_WAIT(multi_all_up(&m));
        leave_by(&m, 12, MULTI_ALL);
    }
    multi_stop(&m);
}

/* ---- A controller that forwards (§5.3.2.3) --------------------------------------------- */

typedef struct Chain {
    char *dir;
    QUbc *q[3];         /* the one in the middle is the last */
    Eng e[3];
} Chain;

static bool chain_up(Chain *c)
{
    for (unsigned i = 0; i < 3; i++) {
        qubc_pass(c->q[i]);
    }
    return qubc_up(c->q[0], 0) && qubc_up(c->q[1], 0) && qubc_up(c->q[2], 0) &&
           qubc_up(c->q[2], 1);
}

static void chain_row(Eng *e, uint32_t row, unsigned to)
{
    UbqPeer peer = eng_peer(to, 0);

    ubq_dest(&e->drv, row, ENG_CTP, 0, &peer);
}

static void chain_write(Eng *from, Eng *to, uint32_t row, uint8_t value)
{
    uint8_t *s;

    g_test_message("%u to %u", from->n, to->n);
    memset(from->drv.memory + from->room, value, MULTI_LEN);
    s = eng_sqe(from, UB_TA_WRITE, 0, MULTI_LEN, 1);
    put_le32(s + UBQ_SQE_DEST, row);
    ubq_post(&from->queue, s, 1);
    eng_complete(from, UBQ_STATUS_OK);
    g_assert_cmphex(to->drv.memory[to->room], ==, value);
}

/* @middle: properties of the one in the middle, behind a comma, or "". */
static void chain_start(Chain *c, const char *middle)
{
    g_autofree char *wires = NULL, *props = g_strconcat(
        "ports=2,chardev0=w0,chardev1=w1,route-entries=16," QUBC_STEPPED, middle, NULL);

    *c = (Chain){ .dir = g_dir_make_tmp("ubch-XXXXXX", NULL) };
    for (unsigned i = 0; i < 2; i++) {
        g_autofree char *more = g_strdup_printf(
            "-chardev socket,id=w,path=%s/%u,server=on,wait=off", c->dir, i);

        c->q[i] = qubc_start_attached("chardev0=w," QUBC_STEPPED, more);
        eng_open(&c->e[i], c->q[i], i + 1);
    }
    wires = g_strdup_printf(
        "-chardev socket,id=w0,path=%s/0,reconnect-ms=20 "
        "-chardev socket,id=w1,path=%s/1,reconnect-ms=20", c->dir, c->dir);
    c->q[2] = qubc_start_attached(props, wires);
    eng_open(&c->e[2], c->q[2], 3);
    for (unsigned i = 0; i < 2; i++) {
        qubc_port_write(c->q[i], 0, UBC_PORT_CTRL, UBC_PORT_CTRL_ENABLE);
        qubc_port_write(c->q[2], i, UBC_PORT_CTRL, UBC_PORT_CTRL_ENABLE);
        entry(&c->e[2], i + 1, 1u << i);
    }
    QUBC_WAIT(chain_up(c));
    for (unsigned i = 0; i < 3; i++) {
        eng_queue(&c->e[i], &(EngPlan){ .carrier = ENG_CTP });
        for (unsigned to = 1; to <= 3; to++) {
            chain_row(&c->e[i], 20 + to, to);
        }
    }
}

static void chain_stop(Chain *c)
{
    for (unsigned i = 0; i < 3; i++) {
        qubc_stop(c->q[i]);
    }
    for (unsigned i = 0; i < 2; i++) {
        g_autofree char *path = g_strdup_printf("%s/%u", c->dir, i);

        unlink(path);
    }
    rmdir(c->dir);
    g_free(c->dir);
}

/* By its registers: packets of others pass, its own are heard at both ports, and without
 * Switch Supported nothing passes. */
static void test_forward(void)
{
    for (unsigned forward = 0; forward < 2; forward++) {
        Chain c;
        Eng *middle = &c.e[2];

        chain_start(&c, forward ? ",forward=on" : "");
        for (unsigned i = 0; i < 2; i++) {
            chain_write(&c.e[i], middle, 23, 0x51 + i);
            chain_write(middle, &c.e[i], 21 + i, 0x61 + i);
        }
        if (forward) {
            for (unsigned i = 0; i < 8; i++) {
                chain_write(&c.e[i & 1], &c.e[!(i & 1)], 22 - (i & 1), i + 1);
            }
            g_assert_cmpuint(eng_counter(middle, "network", "forwarded"), ==, 16);
        } else {
            uint8_t *s = eng_sqe(&c.e[0], UB_TA_WRITE, 0, MULTI_LEN, 1);

            put_le32(s + UBQ_SQE_DEST, 22);
            ubq_post(&c.e[0].queue, s, 1);
            QUBC_WAIT(eng_counter(middle, "network", "drop-not-ours") == 1);
            g_assert_cmpuint(eng_counter(middle, "network", "forwarded"), ==, 0);
        }
        chain_stop(&c);
    }
}

/* What is wrong already: the one in the middle lets it pass, or drops it (§5.3.7). */
static void test_icrc_transit(void)
{
    const UbNth nth = { .scna = 1, .dcna = 2, .nlp = UB_NLP_CTPH };

    for (unsigned on = 0; on < 2; on++) {
        uint8_t p[64] = { 0 };
        Chain c;

        chain_start(&c, on ? ",forward=on,net-icrc-transit=on" : ",forward=on");
        ub_nth16_put(p, &nth);
        p[UB_NTH16_SIZE] = UB_TPH_UPI32;
        raw_seal(UB_LPH_CNA16, p, 48);
        p[40] ^= 1;
        raw_open(&c.e[0]);
        raw_send(&c.e[0], UB_LPH_CNA16, p, 52);
        raw_close(&c.e[0]);
        QUBC_WAIT(eng_counter(&c.e[on ? 2 : 1], "network", "drop-icrc") == 1);
        g_assert_cmpuint(eng_counter(&c.e[on ? 1 : 2], "network", "drop-icrc"), ==, 0);
        g_assert_cmpuint(eng_counter(&c.e[2], "network", "forwarded"), ==, !on);
        chain_write(&c.e[0], &c.e[1], 22, 0x71);
        chain_stop(&c);
    }
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    qtest_add_func("/ubc-multi/limits", test_limits);
    qtest_add_func("/ubc-multi/forward", test_forward);
    qtest_add_func("/ubc-multi/icrc-transit", test_icrc_transit);
    if (!switch_program()) {
        g_test_message("ub-switch is not built: one test alone");
        return g_test_run();
    }
    qtest_add_func("/ubc-multi/rt", test_rt);
    qtest_add_func("/ubc-multi/rt-controller", test_rt_controller);
    qtest_add_func("/ubc-multi/spray", test_spray);
    qtest_add_func("/ubc-multi/hash-seed", test_hash_seed);
    qtest_add_func("/ubc-multi/routes", test_routes);
    qtest_add_func("/ubc-multi/addresses", test_addresses);
    qtest_add_func("/ubc-multi/source", test_source);
    qtest_add_data_func("/ubc-multi/spread-order", NULL, test_spread_order);
    qtest_add_data_func("/ubc-multi/spray-order", "LBF", test_spread_order);
    qtest_add_func("/ubc-multi/port-down", test_port_down);
    return g_test_run();
}
