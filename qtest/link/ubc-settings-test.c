/*
 * Settings of the network and transaction layers, each by what a driver, or who
 * watches the wire, sees of it.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "ubc-raw.h"
#include "ubc-watch.h"
#include "switch-fabric.h"
#include "ubc-msg.h"
#include "ub/tah.h"
#include "ub/tp_format.h"

#define LEN 256u
#define UPI32 (4 + 32)      /* UPIH, EIDH of 256 bits */

/* The SL of the way to the peer. */
static void set_sl(Eng *e, uint8_t sl)
{
    eng_dest_put(e, UBQ_DST_WAY + UBQ_WAY_SL, sl);
}

static void write_once(Eng *e, uint32_t flags)
{
    ubq_post(&e->queue, eng_sqe(e, UB_TA_WRITE, flags, LEN, 1), 1);
    eng_complete(e, UBQ_STATUS_OK);
}

/* ---- Quality of service (§5.3.4) -------------------------------------------------- */

static void test_sl_vl(void)
{
    Watch w;

    watch_start(&w, &(EngPlan){ .carrier = ENG_CTP }, ",net-sl-vl=3=2:5=1");
    eng_fill(&w.p.a, LEN, 1);
    for (unsigned sl = 0; sl < 7; sl++) {
        set_sl(&w.p.a, sl);
        write_once(&w.p.a, 0);
    }
    watch_look(&w);
    g_assert_cmpuint(watch_packets(w.sent, UB_LPH_CNA16), ==, 7);
    for (unsigned sl = 0; sl < 7; sl++) {
        const Seen *s = watch_packet(w.sent, UB_LPH_CNA16, sl);

        g_assert_cmpuint(s->p[UB_NTH16_SIZE - 1] >> 4 & 15, ==, sl);
        g_assert_cmpuint(s->vl, ==, sl == 3 ? 2 : sl == 5 ? 1 : 0);
        /* Its answer has the same SL, and the peer the same map. */
        g_assert_cmpuint(watch_packet(w.came, UB_LPH_CNA16, sl)->vl, ==,
                         s->vl);
    }
    watch_end(&w);
}

/* The DSCP of a packet of IPv4. */
static unsigned dscp(const Seen *s)
{
    return s->p[UB_IPEXT_SIZE + 1] >> 2;
}

/* SL 0 goes as DSCP 40; what comes with DSCP 40 is of SL 9, and so is the channel
 * that its sender asks for in band. */
static void test_dscp_sl(void)
{
    unsigned answers;
    Watch w;

    watch_start(&w, &(EngPlan){ .carrier = ENG_RTP, .cfg = UB_LPH_IPV4,
                                .in_band = true },
                ",net-sl-dscp=0=40:9=22,net-dscp-sl=40=9,net-sl-vl=9=3,"
                ENG_SLOW_SETUP);
    eng_fill(&w.p.a, LEN, 1);
    write_once(&w.p.a, 0);
    watch_look(&w);
    g_assert_cmpuint(watch_packets(w.sent, UB_LPH_IPV4), >=, 2);
    for (unsigned i = 0; i < watch_packets(w.sent, UB_LPH_IPV4); i++) {
        const Seen *s = watch_packet(w.sent, UB_LPH_IPV4, i);

        g_assert_cmpuint(dscp(s), ==, 40);
        g_assert_cmpuint(s->vl, ==, 0);
    }
    answers = watch_packets(w.came, UB_LPH_IPV4);
    g_assert_cmpuint(answers, >=, 2);
    for (unsigned i = 0; i < answers; i++) {
        const Seen *s = watch_packet(w.came, UB_LPH_IPV4, i);

        g_assert_cmpuint(dscp(s), ==, 22);
        g_assert_cmpuint(s->vl, ==, 3);
    }
    watch_end(&w);
}

#define EACH 20u        /* packets of a VL; none of them waits for credits */

/* VL0 and VL1 have as much to send at the same time: how much of VL0 has come when the
 * last of VL1 has. */
static unsigned before_last(const char *props)
{
    Link l = { .props = props };
    unsigned zeroes = 0, left = EACH;

    link_start(&l);
    for (unsigned n = 0; n < 2 * EACH; n++) {
        qubc_post(l.a, 0, UBC_RING_TX, QUBC_TX_BUF(0), 3000,
                  3 | (n >= EACH) << UBC_DESC_VL_SHIFT);
    }
    qubc_doorbell(l.a, 0, UBC_RING_TX);
    QUBC_WAIT(qubc_status(l.b, 0, UBC_RING_RX, 2 * EACH - 1));
    for (unsigned n = 0; left; n++) {
        const uint8_t *desc = l.b->ram->at + QUBC_RX_RING(0) + n * UBC_DESC_SIZE;
        bool one = lduw_le_p(desc + 12) & UBC_DESC_VL;

        g_assert_cmpuint(n, <, 2 * EACH);
        left -= one;
        zeroes += !one;
    }
    link_stop(&l);
    return zeroes;
}

/* By turns; by weight, in turns of three packets of one and twelve of the other; strictly. */
static void test_vl_order(void)
{
    g_assert_cmpuint(before_last(NULL), >=, EACH - 5);
    g_assert_cmpuint(before_last("net-vl-weight=1=4"), <=, EACH / 2 + 3);
    g_assert_cmpuint(before_last("net-vl-strict=2"), <=, 3);
}

#define CROWD 32u               /* Writes of CROWD_LEN in each VL */
#define CROWD_LEN 65536u
#define CROWD_PACKETS (CROWD * CROWD_LEN / 4096)
#define OTHER_DEST (ENG_DEST + 1)   /* by SL 4 */
/* Of which a switch takes the same; a sends them by turns. */
#define TWO_VLS ",net-sl-vl=0=1:4=2,ta-quantum=1"

/* The switch takes no more from a. */
static bool is_full(Fabric *f, uint64_t *was)
{
    uint64_t now = switch_counter(&f->sw, 0, "rx-packets");
    bool same = now == *was;

    *was = now;
    g_usleep(300000);
    return same;
}

/* What a has for b by VL1 and VL2 while b stands, and what comes then: by how many packets
 * VL @first is before the other at most. */
static int crowd(const char *setting, unsigned first)
{
    g_autoptr(GArray) sent = g_array_new(false, false, sizeof(Seen));
    g_autoptr(GArray) came = g_array_new(false, false, sizeof(Seen));
    g_autofree char *pcap = NULL, *props = NULL, *text = NULL;
    g_autofree gchar *seen = NULL;
    const uint8_t sl = 4;
    int ahead = 0, most = 0;
    uint64_t took = UINT64_MAX;
    UbqQueue queue[2];
    UbqPeer peer = eng_peer(2, 0);
    gsize size;
    Fabric f;
    Eng *a = &f.e[0];

    g_test_message("%s", setting);
    fabric_start(&f, TWO_VLS);
    qubc_stop(f.q[1]);
    pcap = g_strdup_printf("%s/b", f.dir);
    props = g_strdup_printf(TWO_VLS ",init-credit=4000,pcap=%s", pcap);
    f.props = props;
    fabric_node(&f, 1);
    fabric_wait(&f);
    fabric_engines(&f, &(EngPlan){ .carrier = ENG_CTP });
    text = g_strdup_printf("{ 'execute': 'configure', 'arguments': { %s } }", setting);
    qobject_unref(switch_command(&f.sw, text));
    ubq_dest(&a->drv, OTHER_DEST, ENG_CTP, 0, &peer);
    eng_row_put(a, OTHER_DEST, UBQ_DST_WAY + UBQ_WAY_SL, &sl, 1);
    queue[0] = a->queue;
    ubq_queue_open(&queue[1], &a->drv, &a->cq, &a->cq, UB_ROI, 0);
    qtest_qmp_assert_success(f.q[0]->qts, "{ 'execute': 'stop' }");
    qtest_qmp_assert_success(f.q[1]->qts, "{ 'execute': 'stop' }");
    for (unsigned i = 0; i < 2 * CROWD; i++) {
        uint8_t *s;

        a->queue = queue[i & 1];
        s = eng_sqe(a, UB_TA_WRITE, 0, CROWD_LEN, 1);
        put_le32(s + UBQ_SQE_DEST, i & 1 ? OTHER_DEST : ENG_DEST);
        ubq_post(&a->queue, s, 1);
        queue[i & 1] = a->queue;
    }
    qtest_qmp_assert_success(f.q[0]->qts, "{ 'execute': 'cont' }");
    QUBC_WAIT(is_full(&f, &took));
    qtest_qmp_assert_success(f.q[1]->qts, "{ 'execute': 'cont' }");
    for (unsigned i = 0; i < 2 * CROWD; i++) {
        eng_complete(a, UBQ_STATUS_OK);
    }
    qubc_stop(f.q[1]);
    g_assert_true(g_file_get_contents(pcap, &seen, &size, NULL));
    watch_read(seen, size, 0, sent, came);
    unlink(pcap);
    qubc_stop(f.q[0]);
    switch_stop(&f.sw);
    g_assert_cmpint(rmdir(f.dir), ==, 0);
    g_free(f.dir);
    for (unsigned i = 0; i < 2 * CROWD_PACKETS; i++) {
        ahead += watch_packet(came, UB_LPH_CNA16, i)->vl == first ? 1 : -1;
        most = MAX(most, ahead);
    }
    g_assert_cmpint(ahead, ==, 0);
    g_test_message("VL%u: %d", first, most);
    return most;
}

/* The same at a switch, which is told while it runs.  Of each VL its links have room for
 * some 20 packets, which wait in it: they go by turns of two or three, by weight, strictly. */
static void test_vl_switch(void)
{
    if (!switch_program()) {
        g_test_skip("ub-switch is not built");
        return;
    }
    g_assert_cmpint(crowd("'vl-strict': 0", 1), <, 10);
    g_assert_cmpint(crowd("'vl-weight': [1,8,1,1,1,1,1,1,1,1,1,1,1,1,1,1]", 1), >, 12);
    g_assert_cmpint(crowd("'vl-weight': [1,1,8,1,1,1,1,1,1,1,1,1,1,1,1,1]", 2), >, 12);
    g_assert_cmpint(crowd("'vl-strict': 4", 2), >, 12);
}

/* ---- Deadlocks (§5.3.6) ------------------------------------------------------------ */

/* A switch: what came by VL0 leaves by VL2, and by VL1 as it came. */
static void test_vl_out(void)
{
    g_autoptr(GArray) in = g_array_new(false, false, sizeof(Seen));
    g_autoptr(GArray) out = g_array_new(false, false, sizeof(Seen));
    g_autoptr(GArray) none = g_array_new(false, false, sizeof(Seen));
    g_autofree char *file = NULL, *start = NULL;
    g_autofree gchar *seen = NULL;
    gsize size;
    Fabric f;

    if (!switch_program()) {
        g_test_skip("ub-switch is not built");
        return;
    }
    fabric_start(&f, ",net-sl-vl=4=1");
    fabric_engines(&f, &(EngPlan){ .carrier = ENG_CTP });
    qobject_unref(switch_command(
        &f.sw, "{\"execute\": \"configure\", \"arguments\": {\"vl-out\":"
        " [2,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15]}}"));
    file = g_strdup_printf("%s/capture", f.dir);
    start = g_strdup_printf("{\"execute\": \"capture-start\", \"arguments\":"
                            " {\"file\": \"%s\"}}", file);
    qobject_unref(switch_command(&f.sw, start));
    eng_fill(&f.e[0], LEN, 1);
    write_once(&f.e[0], 0);
    set_sl(&f.e[0], 4);
    write_once(&f.e[0], 0);
    qobject_unref(switch_command(&f.sw, "{\"execute\": \"capture-stop\"}"));
    g_assert_true(g_file_get_contents(file, &seen, &size, NULL));
    watch_read(seen, size, 0, none, in);
    watch_read(seen, size, 1, out, none);
    unlink(file);
    fabric_stop(&f);
    g_assert_cmpuint(watch_packets(in, UB_LPH_CNA16), ==, 2);
    g_assert_cmpuint(watch_packets(out, UB_LPH_CNA16), ==, 2);
    for (unsigned i = 0; i < 2; i++) {
        g_assert_cmpuint(watch_packet(in, UB_LPH_CNA16, i)->vl, ==, i);
        g_assert_cmpuint(watch_packet(out, UB_LPH_CNA16, i)->vl, ==,
                         i ? 1 : 2);
    }
}

/* Who stands takes nothing and gives no credits: the egress queue is thrown away,
 * and the transport sends again when it goes on. */
static void test_watchdog(void)
{
    EngPair p;

    eng_start(&p, &(EngPlan){ .carrier = ENG_RTP,
                              .props = "init-credit=64,"
                                       "net-watchdog=20000000" });
    eng_write_read(&p, 4096, 3);
    g_assert_cmpuint(eng_counter(&p.a, "network", "drop-watchdog"), ==, 0);
    qtest_qmp_assert_success(p.b.q->qts, "{ 'execute': 'stop' }");
    eng_fill(&p.a, 65536, 4);
    for (unsigned i = 0; i < 16; i++) {
        ubq_post(&p.a.queue, eng_sqe(&p.a, UB_TA_WRITE, 0, 65536, 1), 1);
    }
    QUBC_WAIT(eng_counter(&p.a, "network", "drop-watchdog") > 0);
    g_assert_null(ubq_cq_poll(&p.a.cq));
    qtest_qmp_assert_success(p.b.q->qts, "{ 'execute': 'cont' }");
    for (unsigned i = 0; i < 16; i++) {
        eng_complete(&p.a, UBQ_STATUS_OK);
    }
    eng_check(&p.b, 65536, 4);
    eng_stop(&p);
}

/* ---- Congestion (§5.3.5.1) ----------------------------------------------------------- */

#define IP_LEN (UB_IPEXT_SIZE + UB_IPV4_SIZE + 16 + UB_ICRC_SIZE)

/* A packet of IPv4 that software writes, with these bits; what came of it. */
static const uint8_t *ip_across(Link *l, unsigned n, uint16_t cci,
                                unsigned ecn)
{
    uint32_t at = QUBC_TX_BUF(0) + n * QUBC_BUF, desc;
    uint8_t *p = l->a->ram->at + at, *ip = p + UB_IPEXT_SIZE;
    uint32_t sum = 0;

    memset(p, 0, IP_LEN);
    ub_ipext_put(p, cci, UB_NPI_DEFAULT);
    ip[0] = 0x45;
    ip[1] = 46 << 2 | ecn;
    put_be16(ip + 2, IP_LEN - UB_IPEXT_SIZE);
    ip[8] = 64;
    ip[9] = 253;            /* for experiments */
    put_be32(ip + 12, 0x0a000001);
    put_be32(ip + 16, 0x0a000002);
    for (unsigned i = 0; i < UB_IPV4_SIZE; i += 2) {
        sum += get_be16(ip + i);
    }
    put_be16(ip + 10, ~(sum % 0xffff));
    qubc_post(l->a, 0, UBC_RING_TX, at, IP_LEN, UB_LPH_IPV4);
    qubc_doorbell(l->a, 0, UBC_RING_TX);
    QUBC_WAIT(qubc_status(l->b, 0, UBC_RING_RX, n) & UBC_DESC_DONE);
    desc = QUBC_RX_RING(0) + n * UBC_DESC_SIZE;
    g_assert_cmpuint(ldl_le_p(l->b->ram->at + desc + 8), ==, IP_LEN);
    p = l->b->ram->at + QUBC_RX_BUF(0) + n * QUBC_BUF;
    sum = 0;
    for (unsigned i = 0; i < UB_IPV4_SIZE; i += 2) {
        sum += get_be16(p + UB_IPEXT_SIZE + i);
    }
    g_assert_cmphex((sum & 0xffff) + (sum >> 16), ==, 0xffff);
    g_assert_cmpuint(p[UB_IPEXT_SIZE + 1] >> 2, ==, 46);
    return p;
}

static unsigned ecn_of(const uint8_t *p)
{
    return p[UB_IPEXT_SIZE + 1] & 3;
}

/* @tx, @rx: the end that has ecn-copy. */
static void ecn_pair(bool tx, bool rx)
{
    Link l = { .props = tx ? "net-ecn-copy=on" : NULL };
    uint16_t none = 0, both = ub_cci_fecn(true, 2);
    const uint8_t *p;

    link_prepare(&l);
    l.a = start_server(&l);
    l.props = rx ? "net-ecn-copy=on" : NULL;
    l.b = start_client(&l);
    qubc_pair_write(l.a, 0, UBC_PAIR_CFGS, 0xffff);
    qubc_pair_write(l.b, 0, UBC_PAIR_CFGS, 0xffff);
    link_open(&l);
    for (unsigned ecn = 0; ecn < 4; ecn++) {
        p = ip_across(&l, 2 * ecn, none, ecn);
        g_assert_cmphex(ub_ipext_cci(p), ==,
                        tx ? ub_cci_fecn(false, ecn) : none);
        g_assert_cmpuint(ecn_of(p), ==, ecn);
        /* What the sender said of FECN itself, or a switch. */
        p = ip_across(&l, 2 * ecn + 1, both, ecn);
        g_assert_cmphex(ub_ipext_cci(p), ==,
                        tx ? ub_cci_fecn(true, ecn) : both);
        g_assert_cmpuint(ecn_of(p), ==, tx || !rx ? ecn : 2);
    }
    link_stop(&l);
}

static void test_ecn_copy(void)
{
    ecn_pair(false, false);
    ecn_pair(true, false);
    ecn_pair(false, true);
    ecn_pair(true, true);
}

/* ---- Sealing (§5.3.7, §10.4.3.1) --------------------------------------------------------- */

/* Enumeration messages have an ICRC, or none; other packets have theirs. */
static void test_icrc_scan(void)
{
    uint32_t len[2] = { 0 }, other[2];

    for (unsigned on = 0; on < 2; on++) {
        Guest g;
        Watch w;

        watch_start(&w, &(EngPlan){ .carrier = ENG_CTP },
                    on ? ",net-icrc-scan=on," PATIENT
                       : ",net-icrc-scan=off," PATIENT);
        guest_open(&g, w.p.link.a);
        g_assert_cmphex(scan(&g, 1, 0, 1, NULL, 0), !=, 0x100);
        eng_fill(&w.p.a, LEN, 1);
        write_once(&w.p.a, 0);
        watch_look(&w);
        other[on] = 0;
        for (unsigned i = 0; i < watch_packets(w.sent, UB_LPH_CNA16); i++) {
            const Seen *s = watch_packet(w.sent, UB_LPH_CNA16, i);

            *((s->p[UB_NTH16_SIZE - 1] & 7) == UB_NLP_SCAN ? &len[on]
                                                            : &other[on]) = s->len;
        }
        watch_end(&w);
    }
    g_assert_cmpuint(len[0], >, 0);
    g_assert_cmpuint(len[1], ==, len[0] + UB_ICRC_SIZE);
    g_assert_cmpuint(other[0], ==, other[1]);
}

/* What is wrong already: who it is for finds out, or a switch on the way (§5.3.7). */
static void test_icrc_transit(void)
{
    static const char *const on[] = {
        "{ 'execute': 'configure', 'arguments': { 'icrc-transit': false } }",
        "{ 'execute': 'configure', 'arguments': { 'icrc-transit': true } }",
    };
    UbNth nth = { .scna = 1, .dcna = 2, .nlp = UB_NLP_CTPH };
    uint8_t p[64] = { 0 };
    uint64_t ends = 0;
    Fabric f;

    if (!switch_program()) {
        g_test_skip("ub-switch is not built");
        return;
    }
    fabric_start(&f, "");
    fabric_engines(&f, &(EngPlan){ .carrier = ENG_CTP });
    ub_nth16_put(p, &nth);
    p[UB_NTH16_SIZE] = UB_TPH_UPI32;
    raw_seal(UB_LPH_CNA16, p, 48);
    p[40] ^= 1;
    /* The rings that the fabric has opened are for IP. */
    qubc_pair_write(f.q[0], 0, UBC_RING_RX + UBC_RING_CTRL, 0);
    raw_close(&f.e[0]);
    for (unsigned i = 0; i < 4; i++) {
        uint64_t gone = switch_counter(&f.sw, 0, "drop-icrc");

        qobject_unref(switch_command(&f.sw, on[i & 1]));
        raw_open(&f.e[0]);
        raw_send(&f.e[0], UB_LPH_CNA16, p, 52);
        raw_close(&f.e[0]);
        if (i & 1) {
            QUBC_WAIT(switch_counter(&f.sw, 0, "drop-icrc") == gone + 1);
        } else {
            ends++;
            QUBC_WAIT(eng_counter(&f.e[1], "network", "drop-icrc") == ends);
            g_assert_cmpuint(switch_counter(&f.sw, 0, "drop-icrc"), ==, gone);
        }
        /* What is right passes, and whatever came before it has been seen. */
        eng_fill(&f.e[0], LEN, i);
        write_once(&f.e[0], 0);
        g_assert_cmpuint(eng_counter(&f.e[1], "network", "drop-icrc"), ==, ends);
    }
    fabric_stop(&f);
}

/* ---- Balance (§6.5.1.3, §6.5.2) -------------------------------------------------------------- */

/* How many values LBF has in packets of data. */
static unsigned factors(const GArray *list, unsigned cfg, unsigned at)
{
    bool seen[256] = { false };
    unsigned n = 0;

    for (unsigned i = 0; i < watch_packets(list, cfg); i++) {
        uint8_t lbf = watch_packet(list, cfg, i)->p[at];

        n += !seen[lbf];
        seen[lbf] = true;
    }
    return n;
}

/* CTP: LBF by destination, or by packet. */
static void test_ctp_spray(void)
{
    for (unsigned on = 0; on < 2; on++) {
        Watch w;

        watch_start(&w, &(EngPlan){ .carrier = ENG_CTP },
                    on ? ",tp-ctp-spray=on" : ",tp-ctp-spray=off");
        eng_write_read(&w.p, 16 * 4096, 1);
        watch_look(&w);
        g_assert_cmpuint(watch_packets(w.sent, UB_LPH_CNA16), >=, 16);
        if (on) {
            g_assert_cmpuint(factors(w.sent, UB_LPH_CNA16, UB_NTH16_SIZE - 2), >=,
                             8);
        } else {
            g_assert_cmpuint(factors(w.sent, UB_LPH_CNA16, UB_NTH16_SIZE - 2), ==,
                             1);
        }
        watch_end(&w);
    }
}

/* ---- Answers of the transaction layer (§7.3.1.1) --------------------------------------- */

/* The BTAH of a packet of CTP. */
static const uint8_t *btah(const Seen *s)
{
    return s->p + UB_NTH16_SIZE + 1 + UPI32;
}

/* ROL over CTP: nobody answers, and the Write says so. */
static void test_no_taack(void)
{
    for (unsigned silent = 0; silent < 2; silent++) {
        Watch w;

        watch_start(&w, &(EngPlan){ .carrier = ENG_CTP, .mode = UB_ROL },
                    silent ? ",ta-no-taack=on" : ",ta-no-taack=off");
        memset(w.p.b.drv.memory + w.p.b.room, 0, LEN);
        eng_fill(&w.p.a, LEN, 1);
        write_once(&w.p.a, 0);
        QUBC_WAIT(eng_counter(&w.p.b, "transaction", "rx-requests") == 1);
        QUBC_WAIT(!memcmp(w.p.a.drv.memory + w.p.a.room,
                          w.p.b.drv.memory + w.p.b.room, LEN));
        /* Of a Read both hear: whatever was owed before it has come then. */
        ubq_post(&w.p.a.queue, eng_sqe(&w.p.a, UB_TA_READ, 0, LEN, 1), 1);
        eng_complete(&w.p.a, UBQ_STATUS_OK);
        g_assert_cmpuint(eng_counter(&w.p.b, "transaction", "tx-responses"),
                         ==, 2 - silent);
        watch_look(&w);
        g_assert_cmphex(btah(watch_packet(w.sent, UB_LPH_CNA16, 0))[4] & 0x80,
                        ==, silent ? 0x80 : 0);
        g_assert_cmpuint(watch_packets(w.came, UB_LPH_CNA16), ==, 2 - silent);
        g_assert_cmphex(btah(watch_packet(w.came, UB_LPH_CNA16, 0))[0], ==,
                        silent ? UB_TA_READ_RESPONSE : UB_TA_TAACK);
        watch_end(&w);
    }
}

/* @rounds of 16 Writes, or as many as it takes until TAACKs were saved. */
static unsigned write_rounds(Watch *w, unsigned rounds)
{
    gint64 limit = test_deadline(60);
    unsigned n = 0;

    while (rounds ? n < rounds
                  : !eng_counter(&w->p.b, "transaction", "taacks-saved")) {
        for (unsigned i = 0; i < 16; i++) {
            ubq_post(&w->p.a.queue, eng_sqe(&w->p.a, UB_TA_WRITE, 0, 64, 1),
                     1);
        }
        for (unsigned i = 0; i < 16; i++) {
            eng_complete(&w->p.a, UBQ_STATUS_OK);
        }
        n++;
        g_assert_cmpint(g_get_monotonic_time(), <, limit);
    }
    return n;
}

/* One TAACK for several requests, or for each its own. */
static void test_aggregate(void)
{
    unsigned rounds;
    uint64_t saved;
    Watch w;

    watch_start(&w, &(EngPlan){ .carrier = ENG_CTP }, "");
    rounds = write_rounds(&w, 0);
    saved = eng_counter(&w.p.b, "transaction", "taacks-saved");
    watch_look(&w);
    g_assert_cmpuint(watch_packets(w.sent, UB_LPH_CNA16), ==, 16 * rounds);
    g_assert_cmpuint(watch_packets(w.came, UB_LPH_CNA16), ==,
                     16 * rounds - saved);
    watch_end(&w);

    watch_start(&w, &(EngPlan){ .carrier = ENG_CTP }, ",ta-aggregate=1");
    rounds = write_rounds(&w, MAX(rounds, 4));
    g_assert_cmpuint(eng_counter(&w.p.b, "transaction", "taacks-saved"), ==,
                     0);
    watch_look(&w);
    g_assert_cmpuint(watch_packets(w.came, UB_LPH_CNA16), ==, 16 * rounds);
    watch_end(&w);
}

/* ---- Sequence contexts (§7.3.3.3) -------------------------------------------------------- */

/* SV of the first answer. */
static bool sv(const Watch *w)
{
    return btah(watch_packet(w->came, UB_LPH_CNA16, 0))[1] & 8;
}

/* There are none: SV = 0, and all goes its way. */
static void test_sc_none(void)
{
    for (unsigned scs = 0; scs < 2; scs++) {
        Watch w;

        watch_start(&w, &(EngPlan){ .carrier = ENG_CTP, .mode = UB_ROT },
                    scs ? ",ta-scs=1" : ",ta-scs=0");
        eng_fill(&w.p.a, LEN, 1);
        write_once(&w.p.a, 0);
        g_assert_cmpuint(eng_counter(&w.p.b, "transaction", "sc-granted"), ==,
                         scs);
        g_assert_cmpuint(eng_counter(&w.p.b, "transaction", "sc-refused"), ==,
                         !scs);
        write_once(&w.p.a, 2 << 20);
        eng_check(&w.p.b, LEN, 1);
        watch_look(&w);
        g_assert_cmpuint(sv(&w), ==, scs);
        watch_end(&w);
    }
}

/* The only one is another queue's. */
static void test_sc_taken(void)
{
    UbqQueue other;
    EngPair p;

    eng_start(&p, &(EngPlan){ .carrier = ENG_CTP, .mode = UB_ROT,
                              .props = "ta-scs=1" });
    write_once(&p.a, 0);
    ubq_queue_open(&other, &p.a.drv, &p.a.cq, &p.a.cq, UB_ROT, 0);
    for (unsigned i = 0; i < 3; i++) {
        UbqQueue first = p.a.queue;

        eng_fill(&p.a, LEN, i);
        p.a.queue = other;
        write_once(&p.a, i << 20);
        other = p.a.queue;
        p.a.queue = first;
        eng_check(&p.b, LEN, i);
    }
    g_assert_cmpuint(eng_counter(&p.b, "transaction", "sc-granted"), ==, 1);
    g_assert_cmpuint(eng_counter(&p.b, "transaction", "sc-refused"), >=, 1);
    eng_stop(&p);
}

/* What comes before its turn is held, or refused and sent again. */
static void test_sc_early(void)
{
    for (unsigned buffer = 0; buffer < 2; buffer++) {
        const uint8_t *c = NULL;
        EngPair p;

        eng_start(&p, &(EngPlan){ .carrier = ENG_CTP, .mode = UB_ROT,
                                  .props = buffer ? QUBC_STEPPED
                                      : QUBC_STEPPED ",ta-sc-buffer=0" });
        write_once(&p.a, 0);
        eng_set_faults(&p.b, false, "'kind': 'ctp', 'nth': 1, "
                       "'action': 'reorder', 'reorder-depth': 2");
        for (unsigned i = 0; i < 4; i++) {
            ubq_post(&p.a.queue, eng_sqe(&p.a, UB_TA_WRITE,
                                         i & 1 ? 2 << 20 : 0, LEN, 1), 1);
        }
        /* All have come while the clock stood: what is late is so by its order. */
        QUBC_WAIT(eng_counter(&p.b, "transaction", buffer ? "sc-held" : "rnr-tx"));
        for (unsigned i = 0; i < 4; i++) {
            QUBC_WAIT((c = ubq_cq_poll(&p.a.cq)) ||
                      (qtest_clock_step(p.a.q->qts, 1000000),
                       qtest_clock_step(p.b.q->qts, 1000000), false));
            g_assert_cmphex(ubq_cqe_status(c), ==, UBQ_STATUS_OK);
        }
        g_assert_cmpuint(eng_faults(&p.b, false, "reorder"), ==, 1);
        g_assert_cmpint(eng_counter(&p.b, "transaction", "sc-held") > 0, ==,
                        buffer);
        g_assert_cmpint(eng_counter(&p.b, "transaction", "rnr-tx") > 0, ==,
                        !buffer);
        eng_stop(&p);
    }
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    qtest_add_func("/ubc-settings/sl-vl", test_sl_vl);
    qtest_add_func("/ubc-settings/dscp-sl", test_dscp_sl);
    qtest_add_func("/ubc-settings/vl-order", test_vl_order);
    qtest_add_func("/ubc-settings/vl-switch", test_vl_switch);
    qtest_add_func("/ubc-settings/vl-out", test_vl_out);
    qtest_add_func("/ubc-settings/watchdog", test_watchdog);
    qtest_add_func("/ubc-settings/ecn-copy", test_ecn_copy);
    qtest_add_func("/ubc-settings/icrc-scan", test_icrc_scan);
    qtest_add_func("/ubc-settings/icrc-transit", test_icrc_transit);
    qtest_add_func("/ubc-settings/ctp-spray", test_ctp_spray);
    qtest_add_func("/ubc-settings/no-taack", test_no_taack);
    qtest_add_func("/ubc-settings/aggregate", test_aggregate);
    qtest_add_func("/ubc-settings/sc-none", test_sc_none);
    qtest_add_func("/ubc-settings/sc-taken", test_sc_taken);
    qtest_add_func("/ubc-settings/sc-early", test_sc_early);
    return g_test_run();
}
