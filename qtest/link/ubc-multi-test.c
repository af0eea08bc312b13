/*
 * Controllers with several ports: which of them packets leave by, which they are taken
 * from (UB 2.0 §5.3.2), groups of channels over all of them (§6.5.1.1), and a controller
 * that forwards.  Two have three links each to one switch, which counts.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "ubc-eng.h"
#include "switch-program.h"
#include "ub/cfg_regs.h"
#include "ub/net_format.h"
#include "ub/tah.h"
#include "ub/tp.h"

#define PORTS 3u
#define ALL 7u                      /* of them */
#define CNA_OF(end, port) (0x10u * ((end) + 1) + (port)) /* Port CNAs */
#define LEN 64u
/* The transaction layer's time-out. */
#define TIMEOUT_NS (65 * 1000000000ll)

#define PROPS "ports=3,chardev0=w0,chardev1=w1,chardev2=w2,route-entries=64," \
              "net-exact=on," QUBC_STEPPED

typedef struct Multi {
    char *dir;
    SwitchProgram sw;
    QUbc *q[2];
    Eng e[2];
} Multi;

/* ---- Life --------------------------------------------------------------------------- */

static unsigned sw_port(unsigned end, unsigned port)
{
    return end * PORTS + port;
}

G_GNUC_PRINTF(2, 3)
static void tell(Multi *m, const char *format, ...)
{
    g_autofree char *text = NULL;
    va_list va;

    va_start(va, format);
    text = g_strdup_vprintf(format, va);
    va_end(va);
    qobject_unref(switch_command(&m->sw, text));
}

static void route(Multi *m, unsigned cna, const char *ports)
{
    tell(m, "{ 'execute': 'route-set', 'arguments': { 'cna': %u, 'ports': %s } }",
         cna, ports);
}

static bool all_up(Multi *m)
{
    for (unsigned i = 0; i < 2 * PORTS; i++) {
        qubc_pass(m->q[i / PORTS]);
        if (!qubc_up(m->q[i / PORTS], i % PORTS)) {
            return false;
        }
    }
    return switch_ports_up(&m->sw) == 2 * PORTS;
}

static void start(Multi *m, const char *more)
{
    g_autofree char *props = g_strconcat(PROPS, more, NULL);

    memset(m, 0, sizeof(*m));
    m->dir = g_dir_make_tmp("ubsw-XXXXXX", NULL);
    g_assert_nonnull(m->dir);
    switch_start(&m->sw, m->dir, 2 * PORTS, NULL, false);
    route(m, 1, "[0, 1, 2]");
    route(m, 2, "[3, 4, 5]");
    for (unsigned end = 0; end < 2; end++) {
        g_autoptr(GString) words = g_string_new(NULL);

        for (unsigned p = 0; p < PORTS; p++) {
            g_autofree char *port = g_strdup_printf("[%u]", sw_port(end, p));

            g_string_append_printf(words, "-chardev socket,id=w%u,path=%s/port%u,"
                                   "reconnect-ms=100 ", p, m->dir,
                                   sw_port(end, p));
            route(m, CNA_OF(end, p), port);
        }
        m->q[end] = qubc_start_attached(props, words->str);
        eng_open(&m->e[end], m->q[end], end + 1);
        for (unsigned p = 0; p < PORTS; p++) {
            qubc_port_write(m->q[end], p, UBC_PORT_CTRL, UBC_PORT_CTRL_ENABLE);
        }
    }
    QUBC_WAIT(all_up(m));
    for (unsigned end = 0; end < 2; end++) {
        eng_queue(&m->e[end], &(EngPlan){ .carrier = ENG_CTP });
    }
}

static void stop(Multi *m)
{
    qubc_stop(m->q[0]);
    qubc_stop(m->q[1]);
    switch_stop(&m->sw);
    g_assert_cmpint(rmdir(m->dir), ==, 0);
    g_free(m->dir);
}

/* ---- Registers beyond the window ------------------------------------------------------ */

static uint32_t get(Eng *e, uint32_t dw)
{
    qubc_write(e->q, UBC_CFG_ADDR, dw);
    return qubc_read(e->q, UBC_CFG_DATA);
}

static void set(Eng *e, uint32_t dw, uint32_t value)
{
    qubc_write(e->q, UBC_CFG_ADDR, dw);
    qubc_write(e->q, UBC_CFG_DATA, value);
}

#define ROUTE(reg) (UB_CFG_ROUTE_BASE + UB_ROUTE_##reg)
#define DEFAULT_ENTRY (-1)

static void entry(Eng *e, int cna, uint32_t ports)
{
    set(e, ROUTE(DEFAULT_ROUTING_TABLE) + 1 + cna, ports);
}

static void port_cna(Eng *e, unsigned port, uint32_t cna)
{
    set(e, UB_CFG_PORT_BASE(port) + UB_PORT_CNA, cna);
}

/* ---- Traffic ------------------------------------------------------------------------ */

/* How a row leads to the other end; 0: the usual. */
typedef struct Way {
    uint32_t dcna, scna;
    uint8_t rt, lbf;
    bool grouped;       /* by RTP: channels of a group */
    uint32_t group;
} Way;

/* Of ENG_DEST. */
static void lead(Eng *e, const Way *w)
{
    uint8_t cmd[UBQ_CMD];

    ubq_cmd_init(cmd, ENG_DEST, 0);
    cmd[UBQ_DST_WAY + UBQ_WAY_CFG] = w->grouped ? UB_LPH_CNA24 : UB_LPH_CNA16;
    cmd[UBQ_DST_WAY + UBQ_WAY_PORT] = 0xff;
    cmd[UBQ_DST_WAY + UBQ_WAY_RT] = w->rt;
    cmd[UBQ_DST_WAY + UBQ_WAY_LBF] = w->lbf;
    put_le32(cmd + UBQ_DST_WAY + UBQ_WAY_DCNA, w->dcna ? w->dcna : 3 - e->n);
    put_le32(cmd + UBQ_DST_WAY + UBQ_WAY_SCNA, w->scna);
    cmd[UBQ_DST_CARRIER] = w->grouped ? ENG_RTP : ENG_CTP;
    cmd[UBQ_DST_FORM] = 1;
    put_le16(cmd + UBQ_DST_MTU, 4096);
    put_le32(cmd + UBQ_DST_CHANNEL, w->group);
    put_le32(cmd + UBQ_DST_FLAGS, w->grouped ? UBQ_DST_GROUP : 0);
    put_le32(cmd + UBQ_DST_UPI, 1);
    cmd[UBQ_DST_DEID + 15] = 3 - e->n;
    g_assert_cmpuint(ubq_command(&e->drv, UBQ_OP_DEST_SET, cmd), ==,
                     UBQ_RESULT_OK);
}

static void post(Eng *e, uint8_t value)
{
    memset(e->drv.memory + e->room, value, LEN);
    ubq_post(&e->queue, eng_sqe(e, UB_TA_WRITE, 0, LEN, 1), 1);
}

/* A Write of the first end that comes to the other one. */
static void write_once(Multi *m, uint8_t value)
{
    post(&m->e[0], value);
    eng_complete(&m->e[0], UBQ_STATUS_OK);
    g_assert_cmphex(m->e[1].drv.memory[m->e[1].room], ==, value);
}

/* One that is lost. */
static void write_lost(Multi *m)
{
    uint8_t was = m->e[1].drv.memory[m->e[1].room];
    uint64_t lost = eng_counter(&m->e[0], "transaction", "timeouts");

    post(&m->e[0], ~was);
    QUBC_WAIT((qtest_clock_step(m->q[0]->qts, TIMEOUT_NS),
               eng_counter(&m->e[0], "transaction", "timeouts") == lost + 1));
    eng_complete(&m->e[0], UBQ_STATUS_TIMEOUT);
    g_assert_cmphex(m->e[1].drv.memory[m->e[1].room], ==, was);
}

/* What the switch got from the ports of an end, what it sent them. */
typedef struct Counts {
    uint64_t from[PORTS], to[PORTS];
} Counts;

static Counts counts(Multi *m, unsigned end)
{
    Counts c;

    for (unsigned p = 0; p < PORTS; p++) {
        c.from[p] = switch_counter(&m->sw, sw_port(end, p), "rx-packets");
        c.to[p] = switch_counter(&m->sw, sw_port(end, p), "forwarded");
    }
    return c;
}

/* Since @was: which ports it got packets from, or sent them to; how many at all. */
static unsigned used(Multi *m, unsigned end, const Counts *was, bool to,
                     uint64_t *all)
{
    Counts now = counts(m, end);
    unsigned ports = 0;

    *all = 0;
    for (unsigned p = 0; p < PORTS; p++) {
        uint64_t n = to ? now.to[p] - was->to[p] : now.from[p] - was->from[p];

        ports |= n ? 1u << p : 0;
        *all += n;
    }
    return ports;
}

/* @n Writes leave by @want and by no other port. */
static void leave_by(Multi *m, unsigned n, unsigned want)
{
    Counts was = counts(m, 0);
    uint64_t all;

    for (unsigned i = 0; i < n; i++) {
        write_once(m, i + 1);
    }
    g_assert_cmphex(used(m, 0, &was, false, &all), ==, want);
    g_assert_cmpuint(all, ==, n);
}

/* ---- RT (§5.3.2.1) ------------------------------------------------------------------- */

/* Per flow or per packet, all ports of the entry or those of shortest paths: at the
 * switch; a controller, too, has all of its ports in one entry. */
static void test_rt(void)
{
    const unsigned n = 48;
    Multi m;

    start(&m, "");
    tell(&m, "{ 'execute': 'route-set', 'arguments': { 'cna': 2,"
         " 'ports': [3, 4, 5], 'shortest': [4, 5] } }");
    for (unsigned rt = 0; rt < 4; rt++) {
        unsigned ports = rt & UB_RT__SHORTEST ? 6 : ALL;
        uint64_t out, in;
        Counts a, b;

        g_test_message("RT %u: one flow", rt);
        lead(&m.e[0], &(Way){ .rt = rt, .lbf = 1 });
        a = counts(&m, 0);
        b = counts(&m, 1);
        for (unsigned i = 0; i < n; i++) {
            write_once(&m, i + 1);
        }
        if (rt & UB_RT__PACKET) {
            g_assert_cmphex(used(&m, 0, &a, false, &out), ==, ALL);
            g_assert_cmphex(used(&m, 1, &b, true, &in), ==, ports);
        } else {
            unsigned left = used(&m, 0, &a, false, &out);
            unsigned right = used(&m, 1, &b, true, &in);

            g_assert_cmpuint(__builtin_popcount(left), ==, 1);
            g_assert_cmpuint(__builtin_popcount(right), ==, 1);
            g_assert_cmphex(right & ~ports, ==, 0);
        }
        g_assert_cmpuint(out, ==, n);
        g_assert_cmpuint(in, ==, n);
        g_test_message("RT %u: many flows", rt);
        a = counts(&m, 0);
        b = counts(&m, 1);
        for (unsigned i = 0; i < n; i++) {
            lead(&m.e[0], &(Way){ .rt = rt, .lbf = 5 * i });
            write_once(&m, i + 1);
        }
        g_assert_cmphex(used(&m, 0, &a, false, &out), ==, ALL);
        g_assert_cmphex(used(&m, 1, &b, true, &in), ==, ports);
        g_assert_cmpuint(in, ==, n);
    }
    stop(&m);
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

    start(&m, "");
    entry(a, 2, ALL);
    shortest(a, 2, 6);
    for (unsigned rt = 0; rt < 4; rt++) {
        unsigned ports = rt & UB_RT__SHORTEST ? 6 : ALL;
        Counts was;

        g_test_message("RT %u", rt);
        lead(a, &(Way){ .rt = rt, .lbf = 1 });
        if (rt & UB_RT__PACKET) {
            leave_by(&m, n, ports);
        } else {
            unsigned left;

            was = counts(&m, 0);
            for (unsigned i = 0; i < n; i++) {
                write_once(&m, i + 1);
            }
            left = used(&m, 0, &was, false, &all);
            g_assert_cmpuint(__builtin_popcount(left), ==, 1);
            g_assert_cmphex(left & ~ports, ==, 0);
        }
        was = counts(&m, 0);
        for (unsigned i = 0; i < n; i++) {
            lead(a, &(Way){ .rt = rt, .lbf = 5 * i });
            write_once(&m, i + 1);
        }
        g_assert_cmphex(used(&m, 0, &was, false, &all), ==, ports);
        g_assert_cmpuint(all, ==, n);
    }
    /* One port, then none of its own: all of the entry. */
    lead(a, &(Way){ .rt = UB_RT__SHORTEST | UB_RT__PACKET });
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
    stop(&m);
}

/* Flows are told apart by their LBF, which is another one for each packet where that is
 * asked for: of CTP for all (§6.5.2), of RTP for a channel (§6.5.1.3). */
static void test_spray(void)
{
    const unsigned n = 48;
    uint64_t all;
    Counts was;
    Multi m;

    start(&m, ",tp-ctp-spray=on");
    lead(&m.e[0], &(Way){ .rt = 0 });
    was = counts(&m, 1);
    leave_by(&m, n, ALL);
    g_assert_cmphex(used(&m, 1, &was, true, &all), ==, ALL);
    for (unsigned spray = 0; spray < 2; spray++) {
        EngChannel c = { .flags = UBQ_CH_SELECTIVE | UBQ_CH_OOO | UBQ_CH_FAST |
                                  (spray ? UBQ_CH_SPRAY : 0), .tx = 100, .rx = 7 };
        uint8_t cmd[UBQ_CMD];

        eng_channel(&m.e[0], &c);
        c.tx = 7;
        c.rx = 100;
        eng_channel(&m.e[1], &c);
        was = counts(&m, 1);
        for (unsigned i = 0; i < n; i++) {
            write_once(&m, i + 1);
        }
        g_assert_cmpint(__builtin_popcount(used(&m, 1, &was, true, &all)), ==,
                        spray ? PORTS : 1);
        lead(&m.e[0], &(Way){ .rt = 0 });
        lead(&m.e[1], &(Way){ .rt = 0 });
        for (unsigned end = 0; end < 2 && !spray; end++) {
            ubq_cmd_init(cmd, ENG_TPN, 0);
            g_assert_cmpuint(ubq_command(&m.e[end].drv, UBQ_OP_CHANNEL_DEACTIVATE,
                                         cmd), ==, UBQ_RESULT_OK);
            ubq_cmd_init(cmd, ENG_TPN, 0);
            g_assert_cmpuint(ubq_command(&m.e[end].drv, UBQ_OP_CHANNEL_DESTROY, cmd),
                             ==, UBQ_RESULT_OK);
        }
    }
    stop(&m);
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
    set(e, ROUTE(EXACT_ROUTE_ENABLE), on);
}

static void test_routes(void)
{
    uint64_t none;
    Multi m;
    Eng *a = &m.e[0];

    start(&m, "");
    lead(a, &(Way){ .rt = UB_RT__PACKET });
    g_assert_cmphex(get(a, ROUTE(TABLE_CAP)),
                    ==, UB_ROUTE_TABLE_CAP__EXACT_ROUTE_SUPPORTED | 63);
    /* The default entry has all ports. */
    leave_by(&m, 12, ALL);
    /* Bits of ports that are not there stay 0. */
    entry(a, 2, 0xfffffff0 | 2);
    g_assert_cmphex(get(a, ROUTE(DEFAULT_ROUTING_TABLE) + 3), ==, 2);
    for (unsigned ports = 1; ports <= ALL; ports++) {
        entry(a, 2, ports);
        leave_by(&m, 12, ports);
    }
    entry(a, 2, 0);
    for (unsigned ports = 1; ports <= ALL; ports++) {
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
    leave_by(&m, 12, ALL);
    /* Nor is there one by an empty default entry. */
    entry(a, DEFAULT_ENTRY, 0);
    write_lost(&m);
    g_assert_cmpuint(eng_counter(a, "network", "drop-no-route"), ==, none + 2);
    entry(a, DEFAULT_ENTRY, 1);
    leave_by(&m, 3, 1);
    stop(&m);
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

    start(&m, "");
    for (unsigned p = 0; p < PORTS; p++) {
        port_cna(b, p, CNA_OF(1, p));
    }
    for (unsigned p = 0; p < PORTS; p++) {
        g_autofree char *port = g_strdup_printf("[%u]", sw_port(1, p));
        Counts b_was = counts(&m, 1);
        uint64_t all;

        route(&m, 2, port);
        ubq_queue_open(&a->queue, &a->drv, &a->cq, &a->cq, UB_ROI, 0);
        lead(a, &(Way){ 0 });
        write_once(&m, 0x10 + p);
        ubq_queue_open(&a->queue, &a->drv, &a->cq, &a->cq, UB_ROI, 0);
        lead(a, &(Way){ .dcna = CNA_OF(1, p) });
        write_once(&m, 0x20 + p);
        g_assert_cmphex(used(&m, 1, &b_was, true, &all), ==, 1u << p);
        g_assert_cmpuint(all, ==, 2);
    }
    /* What comes to a Port CNA by another port is nobody's. */
    ubq_queue_open(&a->queue, &a->drv, &a->cq, &a->cq, UB_ROI, 0);
    wrong = eng_counter(b, "network", "drop-wrong-port");
    route(&m, CNA_OF(1, 1), "[3]");
    lead(a, &(Way){ .dcna = CNA_OF(1, 1) });
    write_lost(&m);
    QUBC_WAIT(eng_counter(b, "network", "drop-wrong-port") == wrong + 1);
    route(&m, CNA_OF(1, 1), "[4]");
    write_once(&m, 0x30);
    /* Nor is what is for another node. */
    wrong = eng_counter(b, "network", "drop-not-ours");
    route(&m, 0x3f, "[4]");
    lead(a, &(Way){ .dcna = 0x3f });
    write_lost(&m);
    QUBC_WAIT(eng_counter(b, "network", "drop-not-ours") == wrong + 1);
    stop(&m);
}

/* Whoever asks by a Port CNA of its own is answered there, whatever way the request took;
 * who names none has that of the port that it leaves by (§5.3.2.2). */
static void test_source(void)
{
    uint64_t all, spoofed;
    Counts was;
    Multi m;
    Eng *a = &m.e[0];

    start(&m, "");
    for (unsigned p = 0; p < PORTS; p++) {
        port_cna(a, p, CNA_OF(0, p));
    }
    for (unsigned out = 0; out < PORTS; out++) {
        entry(a, 2, 1u << out);
        for (unsigned back = 0; back < PORTS; back++) {
            was = counts(&m, 0);
            lead(a, &(Way){ .scna = CNA_OF(0, back) });
            write_once(&m, 0x40 + PORTS * out + back);
            g_assert_cmphex(used(&m, 0, &was, false, &all), ==, 1u << out);
            g_assert_cmphex(used(&m, 0, &was, true, &all), ==, 1u << back);
            g_assert_cmpuint(all, ==, 1);
        }
        was = counts(&m, 0);
        lead(a, &(Way){ 0 });
        write_once(&m, 0x60 + out);
        g_assert_cmphex(used(&m, 0, &was, true, &all), ==, 1u << out);
    }
    /* Nobody's CNA but its own. */
    spoofed = eng_counter(a, "network", "drop-spoof");
    lead(a, &(Way){ .scna = CNA_OF(1, 0) });
    write_lost(&m);
    g_assert_cmpuint(eng_counter(a, "network", "drop-spoof"), ==, spoofed + 1);
    stop(&m);
}

#define HOLD_US 100000      /* much less than a target waits for what is missing */

/* Messages of one queue, of which the first comes last: they complete at the target in the
 * order that they were posted in (ODR[2], §7.3.2). */
static void first_last(Multi *m, unsigned n)
{
    Eng *a = &m->e[0], *b = &m->e[1];

    eng_set_faults(b, false, "'ta-opcode': 1, 'nth': 1, 'action': 'delay',"
                   " 'delay-us': " G_STRINGIFY(HOLD_US));
    for (unsigned i = 0; i < n; i++) {
        uint8_t *s = ubq_sqe(&a->queue, 1);

        ubq_recv(&b->queue, b->room + i * 4096, 4096);
        ubq_sqe_put(s, UB_TA_SEND_IMM | UBQ_SQE_ORDERED_CQE, ENG_DEST, a->room, LEN);
        put_le32(s + UBQ_SQE_TARGET, b->queue.id);
        put_le64(s + UBQ_SQE_IMM, i);
        ubq_post(&a->queue, s, 1);
        if (!i) {
            QUBC_WAIT(eng_faults(b, false, "delay") == 1);
        }
    }
    QUBC_WAIT(eng_counter(b, "transaction", "rx-requests") == n - 1);
    g_assert_null(ubq_cq_poll(&b->cq));
    qtest_clock_step(b->q->qts, HOLD_US * 1000ll);
    for (unsigned i = 0; i < n; i++) {
        const uint8_t *c = eng_complete(b, UBQ_STATUS_OK);

        g_assert_cmpuint(get_le64(c + UBQ_CQE_IMMEDIATE), ==, i);
    }
    for (unsigned i = 0; i < n; i++) {
        eng_complete(a, UBQ_STATUS_OK);
    }
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
    Counts was;
    Multi m;
    Eng *a = &m.e[0];

    start(&m, by_lbf ? ",tp-ctp-spray=on" : "");
    for (unsigned p = 0; p < PORTS; p++) {
        port_cna(a, p, CNA_OF(0, p));
    }
    lead(a, &(Way){ .rt = by_lbf ? 0 : UB_RT__PACKET });
    was = counts(&m, 0);
    first_last(&m, n);
    ports = used(&m, 0, &was, false, &all);
    g_assert_cmpuint(__builtin_popcount(ports), >, 1);
    stop(&m);
}

/* ---- A port that goes ------------------------------------------------------------------ */

static void enable(Multi *m, unsigned end, unsigned port, bool on)
{
    qubc_port_write(m->q[end], port, UBC_PORT_CTRL, on ? UBC_PORT_CTRL_ENABLE : 0);
}

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

    start(&m, "");
    lead(a, &(Way){ .rt = UB_RT__PACKET });
    for (unsigned round = 0; round < 2; round++) {
        unsigned gone = 1 + round, left = ALL & ~(1u << gone);
        uint64_t lost, all;
        Counts was;

        entry(a, 2, round ? ALL : 0);
        leave_by(&m, 12, ALL);
        enable(&m, 0, gone, false);
        g_assert_false(qubc_up(a->q, gone));
        QUBC_WAIT(step_down(&m, 2 * PORTS - 1));
        leave_by(&m, 12, left);
        /* Of the other end as well, and the switch knows of both. */
        enable(&m, 1, gone, false);
        QUBC_WAIT(step_down(&m, 2 * PORTS - 2));
        was = counts(&m, 1);
        leave_by(&m, 12, left);
        g_assert_cmphex(used(&m, 1, &was, true, &all), ==, left);
        g_assert_cmpuint(all, ==, 12);
        g_assert_cmpuint(eng_counter(a, "transaction", "timeouts"), ==, round);
        /* An entry of that port alone has none. */
        entry(a, 2, 1u << gone);
        lost = eng_counter(a, "network", "drop-port-down");
        write_lost(&m);
        g_assert_cmpuint(eng_counter(a, "network", "drop-port-down"), ==, lost + 1);
        entry(a, 2, round ? ALL : 0);
        enable(&m, 0, gone, true);
        enable(&m, 1, gone, true);
        QUBC_WAIT(all_up(&m));
        leave_by(&m, 12, ALL);
    }
    stop(&m);
}

/* ---- Groups of channels (§6.5.1.1) ------------------------------------------------------ */

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
        for (unsigned c = 0; c < PORTS; c++) {
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
    for (unsigned c = 0; c < PORTS; c++) {
        join(m, group, c, UBQ_RESULT_OK);
        join(m, group, c, UBQ_RESULT_IN_USE);
    }
    lead(&m->e[0], &(Way){ .group = group, .grouped = true });
}

/* Packets that a channel of a has sent, each once. */
static unsigned sent_by(Multi *m, unsigned c)
{
    g_autofree char *next = eng_object(&m->e[0], "channels", TPN(c), "next");

    return atoi(next) - FIRST_PSN(c);
}

static void test_group(void)
{
    const unsigned n = 10;
    g_autofree char *state = NULL;
    unsigned left = 0;
    const uint8_t *event;
    uint64_t all;
    Counts was;
    Multi m;
    Eng *a = &m.e[0];

    start(&m, "");
    open_group(&m, UB_TPG_ROUND);
    was = counts(&m, 0);
    for (unsigned i = 0; i < n * PORTS; i++) {
        write_once(&m, i + 1);
    }
    for (unsigned c = 0; c < PORTS; c++) {
        Counts now = counts(&m, 0);

        g_assert_cmpuint(sent_by(&m, c), ==, n);
        g_assert_cmpuint(now.from[c] - was.from[c], >=, n);
    }
    g_assert_cmphex(used(&m, 0, &was, false, &all), ==, ALL);
    /* One of the ports goes: what its channel has is given up, and from then on the
     * others have all. */
    enable(&m, 0, 1, false);
    for (unsigned i = 0; i < PORTS; i++) {
        post(a, 0x80 + i);
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
        write_once(&m, i + 1);
    }
    for (unsigned c = 0; c < PORTS; c += 2) {
        left += sent_by(&m, c);
    }
    g_assert_cmpuint(left, ==, 2 * n + 2 + 2 * n);
    state = eng_object(a, "channels", TPN(1), "state");
    g_assert_cmpstr(state, ==, "error");
    stop(&m);
}

/* Ports with CNAs of their own: what goes by all channels of a group is one sender's, in the
 * order that it was posted in, though the first comes last; and its answers are of the peer
 * that was asked. */
static void test_group_cnas(void)
{
    const unsigned n = PORTS;       /* one each: no gap tells of the first */
    Multi m;
    Eng *a = &m.e[0], *b = &m.e[1];

    start(&m, "");
    for (unsigned p = 0; p < PORTS; p++) {
        port_cna(a, p, CNA_OF(0, p));
        port_cna(b, p, CNA_OF(1, p));
    }
    open_group(&m, UB_TPG_ROUND);
    first_last(&m, n);
    for (unsigned c = 0; c < PORTS; c++) {
        g_assert_cmpuint(sent_by(&m, c), ==, 1);
    }
    g_assert_cmpuint(eng_counter(a, "transaction", "late-responses"), ==, 0);
    stop(&m);
}

/* Channels that are set up in band by such ports: the peer knows all of them by the Primary
 * CNA, though no way names it. */
static void test_group_in_band(void)
{
    uint8_t cmd[UBQ_CMD];
    uint32_t group;
    Multi m;
    Eng *a = &m.e[0];

    start(&m, "");
    for (unsigned p = 0; p < PORTS; p++) {
        port_cna(a, p, CNA_OF(0, p));
    }
    group = make_group(&m, UB_TPG_ROUND);
    for (unsigned c = 0; c < PORTS; c++) {
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
    lead(a, &(Way){ .group = group, .grouped = true });
    first_last(&m, PORTS);
    for (unsigned c = 0; c < PORTS; c++) {
        g_assert_cmpuint(sent_by(&m, c), ==, 1);
    }
    stop(&m);
}

/* The channel with least under way: one that is not answered gets no more. */
static void test_group_least(void)
{
    const unsigned n = 12;
    Multi m;
    Eng *a = &m.e[0];

    start(&m, "");
    open_group(&m, UB_TPG_LEAST);
    eng_set_faults(a, false, "'kind': 'rtp', 'tp-opcode': 2, 'psn': 1000, "
                   "'psn-last': 1999, 'drop-ppm': 1000000");
    for (unsigned i = 0; i < n; i++) {
        write_once(&m, i + 1);
    }
    g_assert_cmpuint(sent_by(&m, 0), ==, 1);
    g_assert_cmpuint(sent_by(&m, 1) + sent_by(&m, 2), ==, n - 1);
    g_assert_cmpuint(sent_by(&m, 1), >, 1);
    g_assert_cmpuint(sent_by(&m, 2), >, 1);
    stop(&m);
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
    memset(from->drv.memory + from->room, value, LEN);
    s = eng_sqe(from, UB_TA_WRITE, 0, LEN, 1);
    put_le32(s + UBQ_SQE_DEST, row);
    ubq_post(&from->queue, s, 1);
    eng_complete(from, UBQ_STATUS_OK);
    g_assert_cmphex(to->drv.memory[to->room], ==, value);
}

/* By its registers: packets of others pass, its own are heard at both ports, and without
 * Switch Supported nothing passes. */
static void test_forward(void)
{
    for (unsigned forward = 0; forward < 2; forward++) {
        g_autofree char *wires = NULL;
        Chain c = { .dir = g_dir_make_tmp("ubch-XXXXXX", NULL) };
        Eng *middle = &c.e[2];

        for (unsigned i = 0; i < 2; i++) {
            g_autofree char *more = g_strdup_printf(
                "-chardev socket,id=w,path=%s/%u,server=on,wait=off", c.dir, i);

            c.q[i] = qubc_start_attached("chardev0=w," QUBC_STEPPED, more);
            eng_open(&c.e[i], c.q[i], i + 1);
        }
        wires = g_strdup_printf(
            "-chardev socket,id=w0,path=%s/0,reconnect-ms=20 "
            "-chardev socket,id=w1,path=%s/1,reconnect-ms=20", c.dir, c.dir);
        c.q[2] = qubc_start_attached(
            forward ? "ports=2,chardev0=w0,chardev1=w1,route-entries=16,forward=on,"
                      QUBC_STEPPED
                    : "ports=2,chardev0=w0,chardev1=w1,route-entries=16,"
                      QUBC_STEPPED, wires);
        eng_open(middle, c.q[2], 3);
        for (unsigned i = 0; i < 2; i++) {
            qubc_port_write(c.q[i], 0, UBC_PORT_CTRL, UBC_PORT_CTRL_ENABLE);
            qubc_port_write(c.q[2], i, UBC_PORT_CTRL, UBC_PORT_CTRL_ENABLE);
            entry(middle, i + 1, 1u << i);
        }
        QUBC_WAIT(chain_up(&c));
        for (unsigned i = 0; i < 3; i++) {
            eng_queue(&c.e[i], &(EngPlan){ .carrier = ENG_CTP });
            for (unsigned to = 1; to <= 3; to++) {
                chain_row(&c.e[i], 20 + to, to);
            }
        }
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
            uint8_t *s = eng_sqe(&c.e[0], UB_TA_WRITE, 0, LEN, 1);

            put_le32(s + UBQ_SQE_DEST, 22);
            ubq_post(&c.e[0].queue, s, 1);
            QUBC_WAIT(eng_counter(middle, "network", "drop-not-ours") == 1);
            g_assert_cmpuint(eng_counter(middle, "network", "forwarded"), ==, 0);
        }
        for (unsigned i = 0; i < 3; i++) {
            qubc_stop(c.q[i]);
        }
        for (unsigned i = 0; i < 2; i++) {
            g_autofree char *path = g_strdup_printf("%s/%u", c.dir, i);

            unlink(path);
        }
        rmdir(c.dir);
        g_free(c.dir);
    }
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    qtest_add_func("/ubc-multi/limits", test_limits);
    qtest_add_func("/ubc-multi/forward", test_forward);
    if (!switch_program()) {
        g_test_message("ub-switch is not built: one test alone");
        return g_test_run();
    }
    qtest_add_func("/ubc-multi/rt", test_rt);
    qtest_add_func("/ubc-multi/rt-controller", test_rt_controller);
    qtest_add_func("/ubc-multi/spray", test_spray);
    qtest_add_func("/ubc-multi/routes", test_routes);
    qtest_add_func("/ubc-multi/addresses", test_addresses);
    qtest_add_func("/ubc-multi/source", test_source);
    qtest_add_data_func("/ubc-multi/spread-order", NULL, test_spread_order);
    qtest_add_data_func("/ubc-multi/spray-order", "LBF", test_spread_order);
    qtest_add_func("/ubc-multi/port-down", test_port_down);
    qtest_add_func("/ubc-multi/group", test_group);
    qtest_add_func("/ubc-multi/group-cnas", test_group_cnas);
    qtest_add_func("/ubc-multi/group-in-band", test_group_in_band);
    qtest_add_func("/ubc-multi/group-least", test_group_least);
    return g_test_run();
}
