/*
 * Congestion (UB 2.0 §5.3.5, §6.6): what a switch whose way out is full marks reaches the
 * sender, and changes how it sends; TPSACKs of each size (§6.2.3).  The clocks of both
 * controllers stand but where the test moves them, and the congestion lasts as long as the
 * receiver stands still.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "ubc-raw.h"
#include "ubc-watch.h"
#include "switch-fabric.h"
#include "ub/tah.h"
#include "ub/tp.h"

#define FIRST_A 100u
#define FIRST_B 7u
#define PROPS "," QUBC_STEPPED ",init-credit=64,tp-cc-on=on,tp-cw-init=1048576"
#define BIG 65536u
#define MANY 16u        /* of these fill what a link has room for */

static uint64_t number(Eng *e, const char *key)
{
    g_autofree char *text = eng_object(e, "channels", ENG_TPN, key);

    return g_ascii_strtoull(text, NULL, 10);
}

static uint64_t tp(Eng *e, const char *name)
{
    return eng_counter(e, "transport", name);
}

static void tell(Fabric *f, const char *text)
{
    qobject_unref(switch_command(&f->sw, text));
}

static void configure(Fabric *f, const char *settings)
{
    g_autofree char *text = g_strdup_printf(
        "{ 'execute': 'configure', 'arguments': { %s } }", settings);

    tell(f, text);
}

/* ---- A switch that is full ------------------------------------------------------------ */

typedef struct Jam {
    Fabric f;
    char *file;         /* of what passes the switch */
    gchar *seen;
    GArray *in, *out;   /* of its port 1: what b sent, what it got */
} Jam;

static void start(Jam *j, const char *props, unsigned cc, const char *settings)
{
    const EngChannel a = { .flags = UBQ_CH_SELECTIVE | UBQ_CH_OOO, .tx = FIRST_A,
                           .rx = FIRST_B, .cc = cc, .ask = 2 };
    EngChannel b = a;
    g_autofree char *text = NULL;

    memset(j, 0, sizeof(*j));
    b.tx = a.rx;
    b.rx = a.tx;
    fabric_start(&j->f, props);
    fabric_engines(&j->f, &(EngPlan){ .carrier = ENG_CTP });
    if (cc) {
        eng_channel(&j->f.e[0], &a);
        eng_channel(&j->f.e[1], &b);
    }
    configure(&j->f, settings);
    j->file = g_strdup_printf("%s/capture", j->f.dir);
    text = g_strdup_printf("{ 'execute': 'capture-start', 'arguments':"
                           " { 'file': '%s' } }", j->file);
    tell(&j->f, text);
}

static void look(Jam *j)
{
    gsize size;

    tell(&j->f, "{ 'execute': 'capture-stop' }");
    g_assert_true(g_file_get_contents(j->file, &j->seen, &size, NULL));
    j->in = g_array_new(false, false, sizeof(Seen));
    j->out = g_array_new(false, false, sizeof(Seen));
    watch_read(j->seen, size, 1, j->out, j->in);
    unlink(j->file);
}

static void stop(Jam *j)
{
    g_array_free(j->in, true);
    g_array_free(j->out, true);
    g_free(j->seen);
    g_free(j->file);
    fabric_stop(&j->f);
}

static void post_writes(Jam *j, unsigned n, uint32_t len)
{
    for (unsigned i = 0; i < n; i++) {
        ubq_post(&j->f.e[0].queue, eng_sqe(&j->f.e[0], UB_TA_WRITE, 0, len, 1), 1);
    }
}

static void complete(Jam *j, unsigned n)
{
    while (n--) {
        eng_complete(&j->f.e[0], UBQ_STATUS_OK);
    }
}

/* Who is paced goes on with its clock. */
static void complete_paced(Jam *j, unsigned n)
{
    while (n--) {
        const uint8_t *c = NULL;

        QUBC_WAIT((c = ubq_cq_poll(&j->f.e[0].cq)) ||
                  (qtest_clock_step(j->f.q[0]->qts, 1000000), false));
        g_assert_cmphex(ubq_cqe_status(c), ==, UBQ_STATUS_OK);
    }
}

/* b stands while a sends: @counter of the switch's way out says when it was marked. */
static void jam(Jam *j, unsigned writes, uint32_t len, const char *counter)
{
    uint64_t before = switch_counter(&j->f.sw, 1, counter);

    qtest_qmp_assert_success(j->f.q[1]->qts, "{ 'execute': 'stop' }");
    post_writes(j, writes, len);
    QUBC_WAIT(switch_counter(&j->f.sw, 1, counter) > before);
    qtest_qmp_assert_success(j->f.q[1]->qts, "{ 'execute': 'cont' }");
}

/* Bytes that wait for b in the switch. */
static uint64_t waiting(Jam *j)
{
    QDict *answer = switch_command(&j->f.sw, "{ 'execute': 'query-ports' }");
    const QListEntry *row = qlist_next(qlist_first(qdict_get_qlist(answer, "return")));
    QObject *vl = qlist_peek(qdict_get_qlist(
        qobject_to(QDict, qlist_entry_obj(row)), "queues"));
    uint64_t bytes = vl ? qdict_get_int(qobject_to(QDict, vl), "bytes") : 0;

    qobject_unref(answer);
    return bytes;
}

/* The CCI of a packet with a NTH. */
static uint16_t cci_of(const Seen *s)
{
    return lduw_be_p(s->p + (s->cfg == UB_LPH_CNA24 ? 6 : 4));
}

/* How many packets of @cfg in @list have these bits. */
static unsigned marked(const GArray *list, unsigned cfg, uint16_t mask, uint16_t bits)
{
    unsigned n = 0;

    for (guint i = 0; i < list->len; i++) {
        const Seen *s = &g_array_index(list, Seen, i);

        n += s->cfg == cfg && (cci_of(s) & mask) == bits;
    }
    return n;
}

/* ... and of those with a RTPH of an opcode, its first one. */
static const Seen *rtp_of(const GArray *list, unsigned opcode, unsigned *n)
{
    const Seen *first = NULL;

    *n = 0;
    for (guint i = 0; i < list->len; i++) {
        const Seen *s = &g_array_index(list, Seen, i);

        if (s->cfg == UB_LPH_CNA24 && (s->p[UB_NTH24_SIZE] & 0x7f) == opcode) {
            first = first ? first : s;
            ++*n;
        }
    }
    return first;
}

/* LDCP: FECN of the packets, Ce_Seq of the acknowledgements, the window. */
static void test_ldcp(void)
{
    uint64_t before, grown;
    unsigned acks, ce = 0;
    Jam j;

    start(&j, PROPS, 1, "'fecn': true, 'fecn-light': 1, 'fecn-heavy': 2");
    g_assert_cmpuint(number(&j.f.e[0], "window"), ==, 1048576);
    post_writes(&j, 1, 4096);
    complete(&j, 1);
    QUBC_WAIT(number(&j.f.e[0], "window") >= 1048576);
    before = number(&j.f.e[0], "window");
    eng_fill(&j.f.e[0], BIG, 3);
    jam(&j, MANY, BIG, "fecn-marked");
    complete(&j, MANY);
    eng_check(&j.f.e[1], BIG, 3);
    QUBC_WAIT(!number(&j.f.e[0], "in-flight"));
    g_assert_cmpuint(number(&j.f.e[0], "window"), <, before);
    /* Without marks it grows again. */
    configure(&j.f, "'fecn': false");
    before = number(&j.f.e[0], "window");
    for (unsigned i = 0; i < 8; i++) {
        post_writes(&j, 1, BIG);
        complete(&j, 1);
    }
    QUBC_WAIT(!number(&j.f.e[0], "in-flight"));
    grown = number(&j.f.e[0], "window");
    g_assert_cmpuint(grown, >, before);
    look(&j);
    /* Mode FECN: 10 without congestion, 11 with much of it; Loc, as b is a controller. */
    g_assert_cmpuint(marked(j.out, UB_LPH_CNA24, 0xffff, UB_CCI_FECN << 13 | 2), >, 0);
    g_assert_cmpuint(marked(j.out, UB_LPH_CNA24, 0xffff,
                            UB_CCI_FECN << 13 | UB_CCI_LOC | 3), >, 0);
    for (guint i = 0; i < j.in->len; i++) {
        const Seen *s = &g_array_index(j.in, Seen, i);
        const uint8_t *h = s->p + UB_NTH24_SIZE;

        if (s->cfg == UB_LPH_CNA24 && ((h[0] & 0x7f) == UB_TPOP_ACK_CC ||
                                       (h[0] & 0x7f) == UB_TPOP_SACK_CC)) {
            uint32_t all = ldl_be_p(h + 16), seen = ldl_be_p(h + 20);

            g_assert_cmpuint(seen, <=, all);
            g_assert_cmpuint(seen, >=, ce);
            ce = seen;
        }
    }
    g_assert_cmpuint(ce, >, 0);
    g_assert_nonnull(rtp_of(j.in, UB_TPOP_ACK_CC, &acks));
    rtp_of(j.in, UB_TPOP_ACK, &acks);
    g_assert_cmpuint(acks, ==, 0);
    rtp_of(j.in, UB_TPOP_CNP, &acks);
    g_assert_cmpuint(acks, ==, 0);
    stop(&j);
}

/* A user's algorithm that is compiled in: its window, where LDCP's would not move. */
static void test_user(void)
{
    const uint64_t half = 524288;
    uint64_t window, grown;
    unsigned acks;
    Jam j;

    start(&j, PROPS ",tp-cc-user=1,tp-ldcp-add=0,tp-ldcp-cut=0", UB_CC_USER,
          "'fecn': true, 'fecn-light': 1, 'fecn-heavy': 2");
    g_assert_cmpuint(number(&j.f.e[0], "window"), ==, 2 * half);
    eng_fill(&j.f.e[0], BIG, 7);
    jam(&j, MANY, BIG, "fecn-marked");
    complete(&j, MANY);
    eng_check(&j.f.e[1], BIG, 7);
    QUBC_WAIT(!number(&j.f.e[0], "in-flight"));
    /* Halved once for what was under way, and a few packets without a mark. */
    window = number(&j.f.e[0], "window");
    g_assert_cmpuint(window, >=, half);
    g_assert_cmpuint(window, <, half + half / 4);
    configure(&j.f, "'fecn': false");
    for (unsigned i = 0; i < 8; i++) {
        post_writes(&j, 1, BIG);
        complete(&j, 1);
    }
    QUBC_WAIT(!number(&j.f.e[0], "in-flight"));
    grown = number(&j.f.e[0], "window");
    g_assert_cmpuint(grown, >, window);
    g_assert_cmpuint(grown, <, window + half / 16);
    look(&j);
    g_assert_cmpuint(marked(j.out, UB_LPH_CNA24, 0xffff,
                            UB_CCI_FECN << 13 | UB_CCI_LOC | 3), >, 0);
    g_assert_nonnull(rtp_of(j.in, UB_TPOP_ACK_CC, &acks));
    stop(&j);
}

/* DCQCN: a CNP comes back, the rate is cut, and time brings it back. */
static void test_dcqcn(void)
{
    const uint64_t most = 100000000;
    uint64_t rate, later = 0;
    const uint8_t *h;
    unsigned cnps;
    Jam j;

    start(&j, PROPS ",tp-rate-max=100000000", 2,
          "'fecn': true, 'fecn-light': 1, 'fecn-heavy': 2");
    g_assert_cmpuint(number(&j.f.e[0], "rate"), ==, 0);
    eng_fill(&j.f.e[0], BIG, 4);
    jam(&j, MANY, BIG, "fecn-marked");
    QUBC_WAIT(tp(&j.f.e[0], "rx-cnp") > 0);
    QUBC_WAIT((rate = number(&j.f.e[0], "rate")));
    g_assert_cmpuint(rate, <=, most / 2);
    complete_paced(&j, MANY);
    eng_check(&j.f.e[1], BIG, 4);
    /* No limit any more, after some 30 periods of 0.6 s. */
    QUBC_WAIT((qtest_clock_step(j.f.q[0]->qts, 1000000000),
               !(later = number(&j.f.e[0], "rate"))));
    look(&j);
    g_assert_cmpuint(marked(j.out, UB_LPH_CNA24, 0xffff,
                            UB_CCI_FECN << 13 | UB_CCI_LOC | 3), >, 0);
    h = rtp_of(j.in, UB_TPOP_CNP, &cnps)->p + UB_NTH24_SIZE + 16;
    g_assert_cmphex(h[0], ==, 3 << 6 | 0x20);   /* ECN, Loc */
    for (unsigned i = 1; i < UB_CETPH_CNP_LEN; i++) {
        g_assert_cmphex(h[i], ==, 0);
    }
    /* b's clock stands: not one for each packet (§6.6.1.2). */
    g_assert_cmpuint(cnps, ==, 1);
    g_assert_cmpuint(tp(&j.f.e[1], "tx-cnp"), ==, cnps);
    stop(&j);
}

/* CAQM: the window grows by what is granted, and shrinks where there is congestion. */
static void test_caqm(void)
{
    uint64_t first, before;
    unsigned n;
    Jam j;

    start(&j, PROPS, 3, "'caqm': true, 'caqm-congested': 1, 'caqm-unit': 1");
    /* Nothing waits, and 16 steps of 1 byte would: refused. */
    first = number(&j.f.e[0], "window");
    post_writes(&j, 1, 4096);
    complete(&j, 1);
    QUBC_WAIT(!number(&j.f.e[0], "in-flight"));
    g_assert_cmpuint(number(&j.f.e[0], "window"), ==, first);
    g_assert_cmpuint(switch_counter(&j.f.sw, 1, "caqm-denied"), >, 0);
    configure(&j.f, "'caqm-congested': 4096, 'caqm-unit': 256");
    for (unsigned i = 0; i < 8; i++) {
        post_writes(&j, 1, 4096);
        complete(&j, 1);
    }
    QUBC_WAIT(!number(&j.f.e[0], "in-flight"));
    before = number(&j.f.e[0], "window");
    g_assert_cmpuint(before, ==, first + 8 * 16 * 64);
    configure(&j.f, "'caqm-congested': 1");
    eng_fill(&j.f.e[0], BIG, 5);
    jam(&j, MANY, BIG, "caqm-marked");
    complete(&j, MANY);
    eng_check(&j.f.e[1], BIG, 5);
    QUBC_WAIT(!number(&j.f.e[0], "in-flight"));
    g_assert_cmpuint(number(&j.f.e[0], "window"), <, before);
    look(&j);
    g_assert_cmpuint(marked(j.out, UB_LPH_CNA24, 0xe000 | UB_CCI_ENABLE | UB_CCI_C |
                            UB_CCI_I | UB_CCI_LOC, UB_CCI_CAQM << 13 | UB_CCI_ENABLE |
                            UB_CCI_C | UB_CCI_LOC), >, 0);
    g_assert_cmpuint(marked(j.out, UB_LPH_CNA24, 0xffff, UB_CCI_CAQM << 13 |
                            UB_CCI_ENABLE | UB_CCI_I | 16), ==, 8);
    rtp_of(j.in, UB_TPOP_CNP, &n);
    g_assert_cmpuint(n, ==, 0);
    stop(&j);
}

/* ---- Two switches that both are full --------------------------------------------------- */

#define WAY(near, far)                                                      \
    "{\"execute\": \"route-set\", \"arguments\":"                           \
    " {\"cna\": " near ", \"ports\": [0]}}\n"                              \
    "{\"execute\": \"route-set\", \"arguments\":"                           \
    " {\"cna\": " far ", \"ports\": [1]}}\n"

/* a behind the fabric's switch, b behind the other, which is linked to port 1 of it. */
typedef struct Chain {
    Jam j;
    SwitchProgram far;
    char *file;
    gchar *seen;
    GArray *in, *out;   /* of the near switch's port 1, to the other */
} Chain;

static void chain_capture(SwitchProgram *s, const char *file)
{
    g_autofree char *text = g_strdup_printf("{ 'execute': 'capture-start', 'arguments':"
                                            " { 'file': '%s' } }", file);

    qobject_unref(switch_command(s, text));
}

static void chain_marks(SwitchProgram *s, bool heavy)
{
    g_autofree char *text = g_strdup_printf(
        "{ 'execute': 'configure', 'arguments': { 'fecn': true, 'fecn-light': 1,"
        " 'fecn-heavy': %u } }", heavy ? 2 : 1u << 30);

    qobject_unref(switch_command(s, text));
}

static void chain_start(Chain *c)
{
    Fabric *f = &c->j.f;

    *c = (Chain) { .j.f.props = PROPS };
    f->dir = g_dir_make_tmp("ubsw-XXXXXX", NULL);
    g_assert_nonnull(f->dir);
    f->sw = (SwitchProgram) { .dir = g_strdup(f->dir), .ports = 1,
                              .config = WAY("1", "2"), .link = "unix:@/link" };
    c->far = (SwitchProgram) { .dir = g_strdup(f->dir), .first = 1, .ports = 1,
                               .config = WAY("2", "1"),
                               .link = "connect:unix:@/link" };
    switch_again(&f->sw);
    switch_again(&c->far);
    fabric_node(f, 0);
    fabric_node(f, 1);
    QUBC_WAIT((qubc_pass(f->q[0]), qubc_pass(f->q[1]),
               qubc_up(f->q[0], 0) && qubc_up(f->q[1], 0) &&
               switch_ports_up(&f->sw) == 2 && switch_ports_up(&c->far) == 2));
    fabric_engines(f, &(EngPlan){ .carrier = ENG_CTP });
    c->file = g_build_filename(f->dir, "near", NULL);
    c->j.file = g_build_filename(f->dir, "capture", NULL);
    chain_capture(&f->sw, c->file);
    chain_capture(&c->far, c->j.file);
}

/* What passed: @c->out from switch to switch, @c->j.out to b, @c->j.in what b sent. */
static void chain_look(Chain *c)
{
    gsize size;

    qobject_unref(switch_command(&c->far, "{ 'execute': 'capture-stop' }"));
    tell(&c->j.f, "{ 'execute': 'capture-stop' }");
    c->in = g_array_new(false, false, sizeof(Seen));
    c->out = g_array_new(false, false, sizeof(Seen));
    c->j.in = g_array_new(false, false, sizeof(Seen));
    c->j.out = g_array_new(false, false, sizeof(Seen));
    g_assert_true(g_file_get_contents(c->file, &c->seen, &size, NULL));
    watch_read(c->seen, size, 1, c->out, c->in);
    g_assert_true(g_file_get_contents(c->j.file, &c->j.seen, &size, NULL));
    watch_read(c->j.seen, size, 0, c->j.out, c->j.in);
    unlink(c->file);
    unlink(c->j.file);
}

static void chain_stop(Chain *c)
{
    Fabric *f = &c->j.f;

    g_array_free(c->in, true);
    g_array_free(c->out, true);
    g_array_free(c->j.in, true);
    g_array_free(c->j.out, true);
    g_free(c->seen);
    g_free(c->file);
    g_free(c->j.seen);
    g_free(c->j.file);
    qubc_stop(f->q[0]);
    qubc_stop(f->q[1]);
    switch_stop(&c->far);
    switch_stop(&f->sw);
    g_assert_cmpint(rmdir(f->dir), ==, 0);
    g_free(f->dir);
}

/* Packet by packet: the worse mark of two hops stays, with its Loc (§5.3.5.2); the
 * target tells the sender of the first one.  The switch at b, whose port is an edge, has
 * marks from the first on; the other one begins later. */
static void test_hops(const void *near_is_heavy)
{
    const uint16_t none = UB_CCI_FECN << 13 | UB_FECN_NONE;
    const bool heavy = near_is_heavy;
    const uint16_t hop = UB_CCI_FECN << 13 | (heavy ? UB_FECN_HEAVY : UB_FECN_LIGHT);
    const uint16_t edge = UB_CCI_FECN << 13 | UB_CCI_LOC |
                          (heavy ? UB_FECN_LIGHT : UB_FECN_HEAVY);
    unsigned both = 0, cnps = 0;
    Chain c;
    Fabric *f = &c.j.f;

    chain_start(&c);
    chain_marks(&c.far, !heavy);
    eng_fill(&f->e[0], ENG_ROOM, 8);
    qtest_qmp_assert_success(f->q[1]->qts, "{ 'execute': 'stop' }");
    /* More than both switches and what is between take. */
    post_writes(&c.j, MANY, ENG_ROOM);
    QUBC_WAIT(switch_counter(&c.far, 0, "fecn-marked"));
    chain_marks(&f->sw, heavy);
    qtest_qmp_assert_success(f->q[1]->qts, "{ 'execute': 'cont' }");
    complete_paced(&c.j, MANY);
    eng_check(&f->e[1], ENG_ROOM, 8);
    QUBC_WAIT(tp(&f->e[0], "rx-cnp"));
    g_assert_cmpuint(tp(&f->e[1], "tx-cnp"), ==, 1);    /* b's clock stands */
    chain_look(&c);
    /* Nothing is lost, and one VL keeps the order: they are the same packets. */
    g_assert_cmpuint(c.out->len, ==, c.j.out->len);
    for (guint i = 0; i < c.out->len; i++) {
        const Seen *at_hop = &g_array_index(c.out, Seen, i);
        const Seen *at_b = &g_array_index(c.j.out, Seen, i);
        uint16_t first = cci_of(at_hop), last = cci_of(at_b);

        g_assert_cmpuint(at_hop->cfg, ==, UB_LPH_CNA16);
        g_assert_cmpuint(at_hop->len, ==, at_b->len);
        g_assert_cmpmem(at_hop->p + UB_NTH16_SIZE, 64, at_b->p + UB_NTH16_SIZE, 64);
        g_assert_true(first == none || first == hop);
        if (first == hop && heavy) {
            g_assert_cmphex(last, ==, hop);
            both++;
        } else {
            g_assert_true(last == first || last == edge);
            both += first == hop && last == edge;
        }
    }
    g_assert_cmpuint(both, >, 0);
    g_assert_cmpuint(marked(c.j.out, UB_LPH_CNA16, 0xffff, edge), >, 0);
    for (guint i = 0; i < c.j.in->len; i++) {
        const Seen *s = &g_array_index(c.j.in, Seen, i);
        const uint8_t *h = s->p + UB_NTH16_SIZE;

        if (s->cfg == UB_LPH_CNA16 && h[0] >> 6 == UB_CTPOP_CNP) {
            g_assert_cmphex(h[1], ==, (edge & UB_CCI_FECN_BITS) << 6 | 0x20);
            cnps++;
        }
    }
    g_assert_cmpuint(cnps, ==, 1);
    chain_stop(&c);
}

/* A row to b of SL 5, which is another flow. */
#define OTHER_DEST (ENG_DEST + 1)

static void other_flow(Eng *a)
{
    const uint8_t sl = 5;
    UbqPeer peer = eng_peer(2, 0);

    ubq_dest(&a->drv, OTHER_DEST, ENG_CTP, 0, &peer);
    eng_row_put(a, OTHER_DEST, UBQ_DST_WAY + UBQ_WAY_SL, &sl, 1);
}

/* CTP: what goes to that destination waits for its turn, others do not (§6.6.3). */
static void test_ctp(void)
{
    const unsigned few = 4;
    uint64_t sent;
    UbqQueue first;
    Jam j;
    Eng *a = &j.f.e[0];

    start(&j, PROPS ",tp-rate-max=1000000,tp-rate-min=1000,tp-cc-scale=1000000", 0,
          "'fecn': true, 'fecn-light': 1, 'fecn-heavy': 2");
    eng_fill(a, BIG, 6);
    jam(&j, MANY, BIG, "fecn-marked");
    QUBC_WAIT(tp(a, "rx-cnp") > 0);
    complete_paced(&j, MANY);
    eng_check(&j.f.e[1], BIG, 6);
    /* Half a megabyte a second, by one CNP: 4 KiB take 8 ms, those of the last packet
     * are over, and then the clock stands. */
    qtest_clock_step(a->q->qts, 10000000);
    post_writes(&j, few, 4096);
    QUBC_WAIT(eng_counter(a, "transaction", "tx-requests") > MANY * 16);
    sent = eng_counter(a, "transaction", "tx-requests");
    g_assert_cmpuint(sent, <, MANY * 16 + few);
    other_flow(a);
    first = a->queue;
    ubq_queue_open(&a->queue, &a->drv, &a->cq, &a->cq, UB_ROI, 0);
    for (unsigned i = 0; i < few; i++) {
        uint8_t *s = eng_sqe(a, UB_TA_WRITE, 0, 4096, 1);

        put_le32(s + UBQ_SQE_DEST, OTHER_DEST);
        ubq_post(&a->queue, s, 1);
    }
    for (unsigned n = 0; n < few;) {
        const uint8_t *c = eng_complete(a, UBQ_STATUS_OK);

        n += get_le32(c + UBQ_CQE_QUEUE) != first.id;
    }
    g_assert_cmpuint(eng_counter(a, "transaction", "tx-requests"), <,
                     MANY * 16 + 2 * few);
    QUBC_WAIT((qtest_clock_step(a->q->qts, 10000000),
               eng_counter(a, "transaction", "done") == MANY + 2 * few));
    look(&j);
    g_assert_cmpuint(marked(j.out, UB_LPH_CNA16, 0xffff,
                            UB_CCI_FECN << 13 | UB_CCI_LOC | 3), >, 0);
    stop(&j);
}

#define RAW_LEN 3000u
#define RAW_MANY (QUBC_RING - 8)

/* Packets of IPv4 of node 1's software to that of node 2. */
static void post_raw(Fabric *f, unsigned n)
{
    QUbc *d = f->q[0];

    for (unsigned i = 0; i < n; i++) {
        uint32_t at = QUBC_TX_BUF(0) + d->port[0].tx_head % QUBC_RING * QUBC_BUF;

        raw_ipv4(d->ram->at + at, RAW_LEN, 64, RAW_EXPERIMENT);
        qubc_post(d, 0, UBC_RING_TX, at, RAW_LEN, UB_LPH_IPV4);
    }
    qubc_doorbell(d, 0, UBC_RING_TX);
}

/* Who has no buffers gives no credits: this is congestion that spreads, which need not be
 * marked (§5.3.5.2). */
static void test_spread(void)
{
    for (unsigned root = 0; root < 2; root++) {
        uint64_t marks, came;
        Jam j = { 0 };
        Fabric *f = &j.f;

        fabric_start(f, ",init-credit=64");
        configure(f, root ? "'fecn': true, 'fecn-light': 1, 'fecn-heavy': 2,"
                            " 'root-cause': true"
                          : "'fecn': true, 'fecn-light': 1, 'fecn-heavy': 2");
        /* What there is room for at the other end, one by one. */
        for (unsigned i = 0; i < RAW_MANY; i++) {
            post_raw(f, 1);
            QUBC_WAIT(qubc_counter(f->q[1], 0, UBC_CNT_RX_PACKETS) == i + 1);
        }
        QUBC_WAIT(qubc_status(f->q[0], 0, UBC_RING_TX, RAW_MANY - 1) & UBC_DESC_DONE);
        g_assert_cmpuint(switch_counter(&f->sw, 1, "fecn-marked"), ==, 0);
        /* More than that: one by one again, as far as the switch can hand them on. */
        for (came = RAW_MANY; waiting(&j) < 2 * RAW_LEN; came++) {
            post_raw(f, 1);
            QUBC_WAIT(switch_counter(&f->sw, 0, "rx-packets") == came + 1);
        }
        marks = switch_counter(&f->sw, 1, "fecn-marked");
        for (unsigned i = 0; i < 4; i++, came++) {
            post_raw(f, 1);
            QUBC_WAIT(switch_counter(&f->sw, 0, "rx-packets") == came + 1);
        }
        g_assert_cmpuint(switch_counter(&f->sw, 1, "fecn-marked"), ==,
                         root ? marks : marks + 4);
        g_assert_cmpuint(marks > 0, ==, !root);
        fabric_stop(f);
    }
}

/* The window framework (§6.6.1): what is under way fits the window; a time-out takes it
 * back, and makes it smaller. */
static void test_window(void)
{
    const uint32_t cw = 20000;          /* four packets with their headers */
    EngChannel c = { .flags = UBQ_CH_FAST | UBQ_CH_OOO | UBQ_CH_RTO_DYNAMIC,
                     .tx = FIRST_A, .rx = FIRST_B, .cc = 1, .ask = 2 };
    EngPair p;
    Eng *a = &p.a, *b = &p.b;

    eng_start(&p, &(EngPlan){ .carrier = ENG_CTP, .props = QUBC_STEPPED
                              ",tp-cc-on=on,tp-cw-init=20000" });
    eng_channel(a, &c);
    c.tx = FIRST_B;
    c.rx = FIRST_A;
    eng_channel(b, &c);
    eng_set_faults(a, false, "'kind': 'rtp', 'drop-ppm': 1000000");
    eng_fill(a, BIG, 9);
    ubq_post(&a->queue, eng_sqe(a, UB_TA_WRITE, 0, BIG, 1), 1);
    QUBC_WAIT(tp(b, "rx-rtp") == 4);
    g_assert_cmpuint(tp(a, "tx-rtp"), ==, 4);
    g_assert_cmpuint(number(a, "window"), ==, cw);
    qtest_clock_step(a->q->qts, 20 * 1000000ll);        /* the first time-out */
    QUBC_WAIT(tp(a, "timeouts") == 1);
    g_assert_cmpuint(number(a, "window"), ==, cw / 2);
    eng_set_faults(a, false, "");
    for (const uint8_t *done = NULL; !done;) {
        QUBC_WAIT((done = ubq_cq_poll(&a->cq)) ||
                  (qtest_clock_step(a->q->qts, 100 * 1000000ll), false));
        g_assert_cmphex(ubq_cqe_status(done), ==, UBQ_STATUS_OK);
    }
    eng_check(b, BIG, 9);
    eng_stop(&p);
}

/* CC_EN: without, nothing says that it can be marked, and nothing is (§D.1.16). */
static void test_off(void)
{
    Jam j;

    start(&j, "," QUBC_STEPPED ",init-credit=64", 1,
          "'fecn': true, 'fecn-light': 1, 'fecn-heavy': 2");
    g_assert_cmpuint(number(&j.f.e[0], "window"), ==, 0);
    qtest_qmp_assert_success(j.f.q[1]->qts, "{ 'execute': 'stop' }");
    post_writes(&j, MANY, BIG);
    QUBC_WAIT(waiting(&j) > 4 * 4096);
    qtest_qmp_assert_success(j.f.q[1]->qts, "{ 'execute': 'cont' }");
    complete(&j, MANY);
    g_assert_cmpuint(switch_counter(&j.f.sw, 1, "fecn-marked"), ==, 0);
    look(&j);
    g_assert_cmpuint(marked(j.out, UB_LPH_CNA24, 0xffff, 0), ==,
                     watch_packets(j.out, UB_LPH_CNA24));
    stop(&j);
}

/* The worst hop stays, 00 is not touched (§5.3.5.2): what a peer made by hand says, as a
 * switch without congestion and one with it lets it pass. */
static void test_worst(void)
{
    static const struct { uint16_t says, calm; } rows[] = {
        { 0, 0 },
        { UB_CCI_FECN << 13, UB_CCI_FECN << 13 },                   /* 00 */
        { UB_CCI_FECN << 13 | 2, UB_CCI_FECN << 13 | 2 },
        { UB_CCI_FECN << 13 | 1, UB_CCI_FECN << 13 | 1 },
        { UB_CCI_FECN << 13 | 3, UB_CCI_FECN << 13 | 3 },
        { UB_CCI_FECN_RTT << 13 | 0x155 << 2 | 3, UB_CCI_FECN_RTT << 13 | 0x155 << 2 | 3 },
        { UB_CCI_FECN_RTT << 13 | 0x2aa << 2, UB_CCI_FECN_RTT << 13 | 0x2aa << 2 },
    };
    Jam j;

    start(&j, PROPS, 0, "'fecn': true, 'fecn-light': 1, 'fecn-heavy': 2");
    raw_reopen(&j.f.e[0]);
    for (unsigned i = 0; i < G_N_ELEMENTS(rows); i++) {
        UbNth nth = { .scna = 1, .dcna = 2, .nlp = UB_NLP_CTPH, .cci = rows[i].says };
        uint8_t p[64] = { 0 };

        ub_nth16_put(p, &nth);
        p[UB_NTH16_SIZE] = UB_TPH_UPI32;
        raw_seal(UB_LPH_CNA16, p, 48);
        raw_send(&j.f.e[0], UB_LPH_CNA16, p, 52);
        QUBC_WAIT(switch_counter(&j.f.sw, 1, "forwarded") == i + 1);
    }
    raw_close(&j.f.e[0]);
    look(&j);
    g_assert_cmpuint(j.out->len, ==, G_N_ELEMENTS(rows));
    for (unsigned i = 0; i < G_N_ELEMENTS(rows); i++) {
        g_assert_cmphex(cci_of(&g_array_index(j.out, Seen, i)), ==, rows[i].calm);
    }
    stop(&j);
}

/* ---- FECN_RTT (§5.3.5.1) ----------------------------------------------------------------- */

/* A marked packet of a peer that measures: the CNP has its Timestamp. */
static void test_rtt(void)
{
    static const uint16_t times[] = { 0, 0x155, 0x2aa, 0x3ff };
    const EngChannel c = { .flags = UBQ_CH_FAST, .tx = FIRST_A, .rx = FIRST_B, .cc = 2 };
    unsigned n = 0;
    Watch w;

    watch_start(&w, &(EngPlan){ .carrier = ENG_CTP },
                "," QUBC_STEPPED ",tp-cc-on=on");
    eng_channel(&w.p.a, &c);
    raw_open(&w.p.b);
    for (unsigned i = 0; i < G_N_ELEMENTS(times); i++) {
        for (unsigned rtp = 0; rtp < 2; rtp++) {
            unsigned cfg = rtp ? UB_LPH_CNA24 : UB_LPH_CNA16;
            UbNth nth = { .scna = 2, .dcna = 1,
                          .nlp = rtp ? UB_NLP_RTPH : UB_NLP_CTPH,
                          .cci = ub_cci_fecn_rtt(i & 1, times[i],
                                                 i & 1 ? UB_FECN_HEAVY
                                                       : UB_FECN_LIGHT) };
            const UbRtph h = { .opcode = UB_TPOP_DATA, .nlp = UB_TPH_UPI32,
                               .src = ENG_TPN, .dst = ENG_TPN, .psn = FIRST_B + i };
            uint8_t p[96] = { 0 };
            uint32_t len = 80;

            if (rtp) {
                ub_nth24_put(p, &nth);
                raw_rtph(p + UB_NTH24_SIZE, &h);
                len += 2;   /* words behind 10 bytes */
            } else {
                ub_nth16_put(p, &nth);
                p[UB_NTH16_SIZE] = UB_TPH_UPI32;
            }
            raw_seal(cfg, p, len);
            raw_send(&w.p.b, cfg, p, len + 4);
            n++;
            QUBC_WAIT(tp(&w.p.a, "tx-cnp") == n);
            qtest_clock_step(w.p.a.q->qts, 1000000);    /* the next one may be sent */
        }
    }
    raw_close(&w.p.b);
    watch_look(&w);
    n = 0;
    for (guint i = 0; i < w.sent->len; i++) {
        const Seen *s = &g_array_index(w.sent, Seen, i);
        bool rtp = s->cfg == UB_LPH_CNA24;
        uint8_t op = rtp ? s->p[UB_NTH24_SIZE] & 0x7f : s->p[UB_NTH16_SIZE] >> 6;
        const uint8_t *h = rtp ? s->p + UB_NTH24_SIZE + 16
                               : s->p + UB_NTH16_SIZE + 1;
        unsigned t = n / 2;

        if (op != (rtp ? UB_TPOP_CNP : UB_CTPOP_CNP)) {
            continue;
        }
        g_assert_cmphex(cci_of(s), ==, UB_CCI_FECN_RTT << 13 | times[t] << 2);
        g_assert_cmphex(h[0], ==, (t & 1 ? 3 : 1) << 6 | (t & 1 ? 0x20 : 0));
        n++;
    }
    g_assert_cmpuint(n, ==, 2 * G_N_ELEMENTS(times));
    watch_end(&w);
}

/* ---- SAETPH (§6.2.3, §6.4.2.3) ----------------------------------------------------------- */

#define WRITE_PACKETS 40u
#define WRITE_LEN (WRITE_PACKETS * 1024)

static void sack_start(Watch *w, uint32_t bits, const char *props)
{
    const EngChannel a = { .flags = UBQ_CH_SELECTIVE | UBQ_CH_FAST | UBQ_CH_OOO |
                                    UBQ_CH_RTO_DYNAMIC,
                           .tx = FIRST_A, .rx = FIRST_B, .mtu = 1024,
                           .ooo_window = 2048, .tx_window = 2048, .sack_bits = bits };
    EngChannel b = a;

    b.tx = a.rx;
    b.rx = a.tx;
    watch_start(w, &(EngPlan){ .carrier = ENG_CTP }, props);
    eng_channel(&w->p.a, &a);
    eng_channel(&w->p.b, &b);
    eng_fill(&w->p.a, WRITE_LEN, bits);
}

static void sack_post(Watch *w, unsigned writes)
{
    for (unsigned i = 0; i < writes; i++) {
        ubq_post(&w->p.a.queue, eng_sqe(&w->p.a, UB_TA_WRITE, 0, WRITE_LEN, 1), 1);
    }
}

/* A map of so many bits, whose first is the last PSN in order: the next one alone is
 * missing; MaxRcvPSN. */
static uint32_t check_map(const uint8_t *e, uint32_t bits)
{
    uint32_t max = e[1] << 16 | e[2] << 8 | e[3], behind = max - (FIRST_A - 1);

    for (uint32_t i = 0; i < bits; i++) {
        uint32_t word = ldl_be_p(e + 4 + i / 32 * 4);

        g_assert_cmpuint(word >> i % 32 & 1, ==, i != 1 && i <= behind);
    }
    return max;
}

/* The first packet is missing, and more behind it are there than a map has bits. */
static void test_sack(const void *opaque)
{
    uint32_t bits = GPOINTER_TO_UINT(opaque), most = 0, largest = 0;
    unsigned writes = (bits + 2 * WRITE_PACKETS) / WRITE_PACKETS;
    uint32_t packets = writes * WRITE_PACKETS;
    Watch w;
    Eng *a = &w.p.a, *b = &w.p.b;

    sack_start(&w, bits, "," QUBC_STEPPED);
    /* a is told nothing, so that it sends nothing again. */
    eng_set_faults(b, false, "'kind': 'rtp', 'psn': 100, 'drop-ppm': 1000000");
    eng_set_faults(a, false, "'kind': 'rtp', 'tp-opcode': 5, 'drop-ppm': 1000000");
    sack_post(&w, writes);
    QUBC_WAIT(tp(b, "rx-held") == packets - 1);
    QUBC_WAIT(tp(b, "tx-tpsack") && eng_faults(a, false, "drop") ==
              tp(b, "tx-tpsack"));
    g_assert_cmpuint(tp(a, "tx-resent"), ==, 0);
    g_assert_null(ubq_cq_poll(&a->cq));
    eng_set_faults(b, false, "");
    eng_set_faults(a, false, "");
    /* The time-out sends the first one again. */
    for (unsigned i = 0; i < writes; i++) {
        const uint8_t *done = NULL;

        QUBC_WAIT((done = ubq_cq_poll(&a->cq)) ||
                  (qtest_clock_step(a->q->qts, 20 * 1000000ll), false));
        g_assert_cmphex(ubq_cqe_status(done), ==, UBQ_STATUS_OK);
    }
    eng_check(b, WRITE_LEN, bits);
    watch_look(&w);
    for (guint i = 0; i < w.came->len; i++) {
        const Seen *s = &g_array_index(w.came, Seen, i);
        const uint8_t *h = s->p + UB_NTH24_SIZE, *e = h + 16;
        uint32_t n;

        if (s->cfg != UB_LPH_CNA24 || (h[0] & 0x7f) != UB_TPOP_SACK ||
            (h[9] << 16 | h[10] << 8 | h[11]) != FIRST_A - 1) {
            continue;
        }
        g_assert_cmpuint(e[0], <=, 4);
        n = 64u << e[0];
        g_assert_cmpuint(n, <=, bits);
        g_assert_cmpuint(s->len, ==, UB_NTH24_SIZE + 16 + 4 + n / 8 + 4);
        most = MAX(most, check_map(e, n));
        largest = MAX(largest, n);
    }
    g_assert_cmpuint(largest, ==, bits);
    g_assert_cmpuint(most, ==, FIRST_A + packets - 1);
    watch_end(&w);
}

/* No room to hold what is out of order: it is dropped, and MaxRcvPSN says that it was
 * there (§6.4.2.3): all of it is taken for lost, and sent again. */
static void test_sack_hold(void)
{
    uint32_t most = 0, ones = 0;
    Watch w;
    Eng *a = &w.p.a, *b = &w.p.b;

    sack_start(&w, 1024, "," QUBC_STEPPED ",tp-hold-bytes=40000");
    eng_set_faults(b, false, "'kind': 'rtp', 'psn': 100, 'drop-ppm': 1000000");
    eng_set_faults(a, false, "'kind': 'rtp', 'tp-opcode': 5, 'drop-ppm': 1000000");
    sack_post(&w, 2);
    QUBC_WAIT(tp(b, "rx-held") + tp(b, "drop-hold") == 2 * WRITE_PACKETS - 1);
    g_assert_cmpuint(tp(b, "drop-hold"), >, 0);
    g_assert_cmpuint(tp(b, "rx-held"), >, 0);
    QUBC_WAIT(eng_faults(a, false, "drop") == tp(b, "tx-tpsack"));
    eng_set_faults(b, false, "");
    eng_set_faults(a, false, "");
    for (unsigned i = 0; i < 2; i++) {
        const uint8_t *done = NULL;

        QUBC_WAIT((done = ubq_cq_poll(&a->cq)) ||
                  (qtest_clock_step(a->q->qts, 20 * 1000000ll), false));
        g_assert_cmphex(ubq_cqe_status(done), ==, UBQ_STATUS_OK);
    }
    eng_check(b, WRITE_LEN, 1024);
    watch_look(&w);
    for (guint i = 0; i < w.came->len; i++) {
        const Seen *s = &g_array_index(w.came, Seen, i);
        const uint8_t *h = s->p + UB_NTH24_SIZE, *e = h + 16;
        uint32_t max = e[1] << 16 | e[2] << 8 | e[3];

        if (s->cfg != UB_LPH_CNA24 || (h[0] & 0x7f) != UB_TPOP_SACK ||
            (h[9] << 16 | h[10] << 8 | h[11]) != FIRST_A - 1 || max < most) {
            continue;
        }
        most = max;
        ones = 0;
        for (unsigned n = 0; n < 8u << e[0]; n++) {
            ones += __builtin_popcount(e[4 + n]);
        }
    }
    g_assert_cmpuint(most, ==, FIRST_A + 2 * WRITE_PACKETS - 1);
    g_assert_cmpuint(ones, >, 1);
    g_assert_cmpuint(ones, <, 2 * WRITE_PACKETS - 1);
    watch_end(&w);
}

/* Many TPSACKs say that one is missing: it goes once (HighRtxPSN, §6.4.2.3.1), and no
 * clock has to. */
static void test_sack_once(void)
{
    Watch w;
    Eng *a = &w.p.a, *b = &w.p.b;

    sack_start(&w, 1024, "," QUBC_STEPPED);
    eng_set_faults(b, false, "'kind': 'rtp', 'psn': 103, 'nth': 1, 'action': 'drop'");
    sack_post(&w, 8);
    for (unsigned i = 0; i < 8; i++) {
        eng_complete(a, UBQ_STATUS_OK);
    }
    eng_check(b, WRITE_LEN, 1024);
    g_assert_cmpuint(eng_faults(b, false, "drop"), ==, 1);
    g_assert_cmpuint(tp(a, "tx-resent"), ==, 1);
    g_assert_cmpuint(tp(a, "timeouts"), ==, 0);
    g_assert_cmpuint(tp(b, "tx-tpsack"), >, 0);
    watch_look(&w);
    watch_end(&w);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    qtest_add_func("/ubc-congestion/rtt", test_rtt);
    qtest_add_data_func("/ubc-congestion/sack-64", GUINT_TO_POINTER(64), test_sack);
    qtest_add_data_func("/ubc-congestion/sack-128", GUINT_TO_POINTER(128), test_sack);
    qtest_add_data_func("/ubc-congestion/sack-256", GUINT_TO_POINTER(256), test_sack);
    qtest_add_data_func("/ubc-congestion/sack-512", GUINT_TO_POINTER(512), test_sack);
    qtest_add_data_func("/ubc-congestion/sack-1024", GUINT_TO_POINTER(1024),
                        test_sack);
    qtest_add_func("/ubc-congestion/sack-hold", test_sack_hold);
    qtest_add_func("/ubc-congestion/sack-once", test_sack_once);
    qtest_add_func("/ubc-congestion/window", test_window);
    if (!switch_program()) {
        g_test_message("ub-switch is not built: some tests alone");
        return g_test_run();
    }
    qtest_add_func("/ubc-congestion/ldcp", test_ldcp);
    qtest_add_func("/ubc-congestion/user", test_user);
    qtest_add_func("/ubc-congestion/dcqcn", test_dcqcn);
    qtest_add_func("/ubc-congestion/caqm", test_caqm);
    qtest_add_func("/ubc-congestion/ctp", test_ctp);
    qtest_add_data_func("/ubc-congestion/hops-worse", NULL, test_hops);
    qtest_add_data_func("/ubc-congestion/hops-stays", "near", test_hops);
    qtest_add_func("/ubc-congestion/spread", test_spread);
    qtest_add_func("/ubc-congestion/off", test_off);
    qtest_add_func("/ubc-congestion/untouched", test_worst);
    return g_test_run();
}
