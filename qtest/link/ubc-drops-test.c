/*
 * Packets and answers that are thrown away, of the network, the transport and the
 * transaction layer: their counters, as the monitor tells them.  Clocks stand unless a
 * test moves them: nothing is sent again, or given up, meanwhile.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "ubc-raw.h"
#include "ubc-ummu-bed.h"
#include "ubc-cip-drv.h"
#include "switch-fabric.h"

#define HOLD "'delay-ppm': 1000000, 'delay-us': 1000000"
#define SO (2u << 20)
#define PSN_A 100u
#define PSN_B 7u

static uint64_t net(Eng *e, const char *name)
{
    return eng_counter(e, "network", name);
}

static uint64_t tp(Eng *e, const char *name)
{
    return eng_counter(e, "transport", name);
}

static uint64_t ta(Eng *e, const char *name)
{
    return eng_counter(e, "transaction", name);
}

static void begin(unsigned carrier, unsigned mode, const char *props)
{
    g_autofree char *all = g_strconcat(QUBC_STEPPED, props, NULL);

    eng_start(&p, &(EngPlan){ .carrier = carrier, .mode = mode, .props = all });
}

static void post_write(uint32_t flags, uint32_t len)
{
    ubq_post(&p.a.queue, eng_sqe(&p.a, UB_TA_WRITE, flags, len, 1), 1);
}

static void channel_command(Eng *e, unsigned op)
{
    uint8_t cmd[UBQ_CMD];

    ubq_cmd_init(cmd, ENG_TPN, 0);
    g_assert_cmpuint(ubq_command(&e->drv, op, cmd), ==, UBQ_RESULT_OK);
}

static void channel_ends(Eng *e)
{
    channel_command(e, UBQ_OP_CHANNEL_DESTROY);
}

static void channel_rests(Eng *e)
{
    channel_command(e, UBQ_OP_CHANNEL_DEACTIVATE);
}

/* Channels of both ends, for Writes whose answers ride in TPACKs. */
static void channels(uint32_t flags)
{
    EngChannel c = { .flags = flags | UBQ_CH_SELECTIVE | UBQ_CH_OOO, .tx = PSN_A,
                     .rx = PSN_B, .ask = 2 };

    eng_channel(&p.a, &c);
    c.tx = PSN_B;
    c.rx = PSN_A;
    eng_channel(&p.b, &c);
}

/* ---- The network layer ---------------------------------------------------------------- */

/* What a fault holds back is lost when another plan comes, and when a reset does. */
static void test_held(void)
{
    begin(ENG_CTP, UB_ROI, "");
    eng_set_faults(&p.a, true, HOLD);
    post_write(0, 64);
    QUBC_WAIT(eng_faults(&p.a, true, "delay") == 1);
    g_assert_cmpuint(net(&p.a, "drop-fault"), ==, 0);
    eng_set_faults(&p.a, true, "");
    g_assert_cmpuint(net(&p.a, "drop-fault"), ==, 1);
    g_assert_cmpuint(net(&p.a, "drop-flushed"), ==, 0);

    eng_set_faults(&p.b, false, HOLD);
    for (unsigned i = 0; i < 3; i++) {
        post_write(0, 64);
    }
    QUBC_WAIT(eng_faults(&p.b, false, "delay") == 3);
    g_assert_cmpuint(net(&p.b, "drop-flushed"), ==, 0);
    qubc_write(p.b.q, UBC_CTRL, UBC_CTRL_RESET);
    g_assert_cmpuint(net(&p.b, "drop-flushed"), ==, 3);
    g_assert_cmpuint(eng_faults(&p.b, false, "drop"), ==, 3);
    eng_stop(&p);
}

/* What waits for a port's credits is lost with the port. */
static void test_queued(void)
{
    uint64_t left;

    begin(ENG_CTP, UB_ROI, ",init-credit=64");
    qtest_qmp_assert_success(p.b.q->qts, "{ 'execute': 'stop' }");
    for (unsigned i = 0; i < 16; i++) {
        post_write(0, 65536);
    }
    QUBC_WAIT(net(&p.a, "tx-busy") > 0);
    left = tp(&p.a, "tx-ctp") - net(&p.a, "tx-packets");
    g_assert_cmpuint(left, >, 0);
    g_assert_cmpuint(net(&p.a, "drop-flushed"), ==, 0);
    qubc_port_write(p.a.q, 0, UBC_PORT_CTRL, 0);
    g_assert_cmpuint(net(&p.a, "drop-flushed"), ==, left);
    qtest_qmp_assert_success(p.b.q->qts, "{ 'execute': 'cont' }");
    eng_stop(&p);
}

/* So is what came and waits for software to have a buffer for it. */
static void test_no_buffer(void)
{
    const UbNth nth = { .scna = 1, .dcna = 2, .nlp = UB_NLP_CTPH };
    uint8_t b[64] = { 0 };

    begin(ENG_CTP, UB_ROI, "");
    qubc_pair_write(p.b.q, 0, UBC_PAIR_CFGS, 0xffff);
    qubc_ring_open(p.b.q, 0, UBC_RING_RX, QUBC_RX_RING(0));
    raw_open(&p.a);
    ub_nth16_put(b, &nth);
    raw_seal(UB_LPH_CNA16, b, 48);
    raw_send(&p.a, UB_LPH_CNA16, b, 52);
    QUBC_WAIT(qubc_counter(p.b.q, 0, UBC_CNT_RX_NO_BUFFER) == 1);
    g_assert_cmpuint(net(&p.b, "drop-flushed"), ==, 0);
    qubc_port_write(p.b.q, 0, UBC_PORT_CTRL, 0);
    g_assert_cmpuint(net(&p.b, "drop-flushed"), ==, 1);
    eng_stop(&p);
}

/* A packet of software for a node: its bytes from the NTH on, without the ICRC, which
 * CFG 9 has not. */
static void raw_to(Eng *e, uint32_t dcna, unsigned cfg, unsigned nlp, bool mgmt,
                   const char *hex)
{
    const UbNth nth = { .scna = e->n, .dcna = dcna, .nlp = nlp, .mgmt = mgmt };
    uint32_t len = UB_NTH16_SIZE;
    uint8_t b[256] = { 0 };

    ub_nth16_put(b, &nth);
    for (; *hex; hex += 2) {
        b[len++] = g_ascii_xdigit_value(hex[0]) << 4 | g_ascii_xdigit_value(hex[1]);
    }
    if (cfg != UB_LPH_BYPASS) {
        raw_seal(UB_LPH_CNA16, b, len);
        len += 4;
    }
    raw_send(e, cfg, b, len);
}

static void raw(unsigned cfg, unsigned nlp, bool mgmt, const char *hex)
{
    raw_to(&p.a, 2, cfg, nlp, mgmt, hex);
}

#define NODES "00010000100002"      /* UPI, from a to b */

/* The same in UPIH of 32 bits and EIDH of 256. */
enum { NODES_SIZE = 4 + 32 };

static void nodes_put(uint8_t *t)
{
    stl_be_p(t, 1);
    t[19] = 1;
    t[35] = 2;
}

#define ONE_BYTE "0000000000010000" "00004d00" "00000001" "cafe0001"

/* What a peer's software makes, and what becomes of it. */
static const struct {
    uint8_t cfg, nlp;
    bool mgmt;
    const char *hex, *floor, *counter;
} made[] = {
    { UB_LPH_CNA16, 5, false, "00000000", "network", "drop-nlp" },
    { UB_LPH_BYPASS, UB_NLP_TAH, true, "0000000000000000", "network", "drop-mgmt" },
    /* CTPH with an opcode that there is not; more padding than bytes. */
    { UB_LPH_CNA16, UB_NLP_CTPH, false, "80000000", "transport", "drop-opcode" },
    { UB_LPH_CNA16, UB_NLP_CTPH, false, "32", "transport", "drop-short" },
    /* UPI and EIDs of 20 bits cut short; a header with another version; a PDU
     * that is longer than its packet. */
    { UB_LPH_CNA16, UB_NLP_CTPH, false, "02" "000100001000", "transaction", "drop-sec" },
    { UB_LPH_CNA16, UB_NLP_CTPH, false, "02" NODES "0358000000000007" ONE_BYTE "77",
      "transaction", "drop-field" },
    { UB_LPH_CNA16, UB_NLP_CTPH, false, "02" NODES "10100000000000000000000500000000",
      "transaction", "drop-message" },
    { UB_LPH_CNA16, UB_NLP_CTPH, false, "02" NODES "0210000000000007", "transaction",
      "drop-opcode" },
};

static void test_made(void)
{
    begin(ENG_CTP, UB_ROI, "");
    raw_open(&p.a);
    for (unsigned i = 0; i < G_N_ELEMENTS(made); i++) {
        uint64_t was = eng_counter(&p.b, made[i].floor, made[i].counter);

        g_test_message("%s", made[i].counter);
        raw(made[i].cfg, made[i].nlp, made[i].mgmt, made[i].hex);
        QUBC_WAIT(eng_counter(&p.b, made[i].floor, made[i].counter) == was + 1);
    }
    /* The same Write twice is executed once. */
    for (unsigned i = 0; i < 2; i++) {
        raw(UB_LPH_CNA16, UB_NLP_CTPH, false, "02" NODES "0318000100000007" ONE_BYTE "77");
        QUBC_WAIT(ta(&p.b, "rx-requests") == 1 + i);
    }
    g_assert_cmpuint(ta(&p.b, "drop-duplicate"), ==, 1);
    g_assert_cmphex(p.b.drv.memory[p.b.room], ==, 0x77);
    eng_stop(&p);
}

/* What a switch passes on to nobody: back where it came from, to a layer that it has not,
 * with no hop left, marked as broken (§4.8.3), to a port that takes no more. */
static void test_switch(void)
{
    enum { SWITCH = 9 };
    const uint32_t mark = UB_CFG_PORT_CAP(0, UB_CAP_LINK) + UB_LINK_DL_MARKERR_CFG;
    uint8_t ip[1500];
    Fabric f = { 0 };

    fabric_start(&f, ",init-credit=64");
    qobject_unref(switch_command(&f.sw, "{ 'execute': 'cna-set', 'arguments': "
                                        "{ 'cna': 9 } }"));
    raw_reopen(&f.e[0]);
    raw_to(&f.e[0], 1, UB_LPH_CNA16, UB_NLP_CTPH, false, "02" NODES);
    QUBC_WAIT(switch_counter(&f.sw, 0, "drop-return") == 1);
    raw_to(&f.e[0], SWITCH, UB_LPH_BYPASS, UB_NLP_TAH, false, "0310000000000007");
    QUBC_WAIT(switch_counter(&f.sw, 0, "drop-no-upper") == 1);
    raw_ipv4(ip, sizeof(ip), 1, RAW_EXPERIMENT);
    raw_send(&f.e[0], UB_LPH_IPV4, ip, sizeof(ip));
    QUBC_WAIT(switch_counter(&f.sw, 1, "drop-hops") == 1);
    /* Memory that its controller cannot read. */
    qubc_cfg_write(f.q[0], mark, qubc_cfg_read(f.q[0], mark) |
                                 UB_LINK_DL_MARKERR_CFG__CFG_MARKERR_EN);
    qubc_post(f.q[0], 0, UBC_RING_TX, QUBC_NOWHERE, sizeof(ip), UB_LPH_CONTROL);
    qubc_doorbell(f.q[0], 0, UBC_RING_TX);
    QUBC_WAIT(switch_counter(&f.sw, 0, "drop-error-flag") == 1);
    /* The egress queue has a bound, and whom it is for takes nothing. */
    qobject_unref(switch_command(&f.sw, "{ 'execute': 'configure', 'arguments': "
                                        "{ 'transit-limit': 4096 } }"));
    qtest_qmp_assert_success(f.q[1]->qts, "{ 'execute': 'stop' }");
    for (unsigned i = 0; !switch_counter(&f.sw, 1, "drop-queue-full"); i++) {
        g_assert_cmpuint(i, <, 1000);
        raw_ipv4(ip, sizeof(ip), 64, RAW_EXPERIMENT);
        raw_send(&f.e[0], UB_LPH_IPV4, ip, sizeof(ip));
    }
    qtest_qmp_assert_success(f.q[1]->qts, "{ 'execute': 'cont' }");
    fabric_stop(&f);
}

/* ---- The transport layer ---------------------------------------------------------------- */

/* Packets that the peer has not acknowledged, and packets that are held out of order, when
 * their channel ends. */
static void test_channel(void)
{
    begin(ENG_CTP, UB_ROI, "");
    channels(0);
    eng_set_faults(&p.b, false, "'kind': 'rtp', 'psn': 100, 'drop-ppm': 1000000");
    post_write(0, 4 * 4096);
    QUBC_WAIT(tp(&p.b, "rx-held") == 3);
    /* TPSACKs have told a of those. */
    QUBC_WAIT(tp(&p.a, "rx-tpsack") == tp(&p.b, "tx-tpsack"));
    channel_ends(&p.a);
    g_assert_cmpuint(tp(&p.a, "drop-flushed"), ==, 1);
    eng_complete(&p.a, UBQ_STATUS_TIMEOUT);
    channel_ends(&p.b);
    g_assert_cmpuint(tp(&p.b, "drop-flushed"), ==, 3);
    eng_stop(&p);
}

/* What is sent by a channel that is not in use. */
static void test_not_active(void)
{
    begin(ENG_RTP, UB_ROI, "");
    channel_rests(&p.a);
    post_write(0, 64);
    eng_complete(&p.a, UBQ_STATUS_TIMEOUT);
    g_assert_cmpuint(tp(&p.a, "drop-not-active"), ==, 1);
    eng_stop(&p);
}

/* What comes for one that is not. */
static void test_state(void)
{
    begin(ENG_RTP, UB_ROI, "");
    channel_rests(&p.b);
    post_write(0, 64);
    QUBC_WAIT(tp(&p.b, "drop-state") == 1);
    g_assert_cmpuint(ta(&p.b, "rx-requests"), ==, 0);
    eng_stop(&p);
}

/* An answer that waits for software when its channel ends: for the transport, which would
 * bring it, and for the transaction layer. */
static void test_answer(void)
{
    begin(ENG_CTP, UB_ROL, "");
    ummu_open();
    channels(UBQ_CH_ANSWERS);
    eng_ask_answers(&p.a);
    eng_ask_answers(&p.b);
    stall(3);
    g_assert_cmpuint(tp(&p.b, "drop-answer"), ==, 0);
    g_assert_cmpuint(ta(&p.b, "drop-ended"), ==, 0);
    channel_ends(&p.b);
    g_assert_cmpuint(tp(&p.b, "drop-answer"), ==, 3);
    g_assert_cmpuint(ta(&p.b, "drop-ended"), ==, 3);
    g_assert_cmpuint(ta(&p.b, "drop-flushed"), ==, 0);
    eng_stop(&p);
}

/* The same when the device is reset. */
static void test_answer_reset(void)
{
    begin(ENG_CTP, UB_ROI, "");
    ummu_open();
    stall(2);
    qubc_write(p.b.q, UBC_CTRL, UBC_CTRL_RESET);
    g_assert_cmpuint(ta(&p.b, "drop-flushed"), ==, 2);
    g_assert_cmpuint(ta(&p.b, "drop-ended"), ==, 0);
    eng_stop(&p);
}

/* A message of a channel's set-up that finds the port full.  It is said again. */
static void test_setup(void)
{
    UbqPeer peer = eng_peer(2, 0);

    begin(ENG_CTP, UB_ROI, ",init-credit=64");
    qtest_qmp_assert_success(p.b.q->qts, "{ 'execute': 'stop' }");
    for (unsigned i = 0; i < 16; i++) {
        post_write(0, 65536);
    }
    QUBC_WAIT(net(&p.a, "tx-busy") > 0);
    g_assert_cmpuint(tp(&p.a, "drop-busy"), ==, 0);
    ubq_channel_connect(&p.a.drv, ENG_TPN, &peer);
    g_assert_cmpuint(tp(&p.a, "drop-busy"), ==, 1);
    g_assert_cmpuint(tp(&p.a, "tx-setup"), ==, 0);
    qtest_qmp_assert_success(p.b.q->qts, "{ 'execute': 'cont' }");
    for (unsigned i = 0; i < 16; i++) {
        eng_complete(&p.a, UBQ_STATUS_OK);
    }
    qtest_clock_step(p.a.q->qts, 200 * 1000000ll);
    eng_event(&p.a, UBQ_EVENT_CHANNEL_UP);
    eng_stop(&p);
}

/* The transaction layer has no place for one more operation of several packets, and the
 * transport refuses it: its other packets are thrown away. */
static void test_refused(void)
{
    enum { CHANNELS = 3 };
    const UbqPeer peer = eng_peer(1, 0);
    uint8_t t[NODES_SIZE + RAW_TAH + 4] = { 0 };

    begin(ENG_CTP, UB_ROI, ",ta-partial=1");
    for (unsigned i = 0; i < CHANNELS; i++) {
        ubq_channel(&p.b.drv, ENG_TPN + i, &peer, 0, 0);
    }
    raw_open(&p.a);
    nodes_put(t);
    for (unsigned i = 0; i < CHANNELS; i++) {
        UbRtph h = { .opcode = UB_TPOP_DATA, .nlp = UB_TPH_UPI32, .src = ENG_TPN + i,
                     .dst = ENG_TPN + i };

        raw_request(t + NODES_SIZE, UB_TA_WRITE, 1, i, 7, 0, 8);
        raw_rtp(&p.a, &h, t, sizeof(t));
        QUBC_WAIT(tp(&p.b, "rx-rtp") == i + 1);
        g_assert_cmpuint(ta(&p.b, "drop-room"), ==, i);
    }
    for (unsigned i = CHANNELS; i--;) {
        UbRtph h = { .opcode = UB_TPOP_DATA, .nlp = UB_TPH_UPI32, .src = ENG_TPN + i,
                     .dst = ENG_TPN + i, .psn = 1, .last = true };

        raw_request(t + NODES_SIZE, UB_TA_WRITE, 1, i, 7, 0, 8);
        raw_rtp(&p.a, &h, t, sizeof(t));
        QUBC_WAIT(tp(&p.b, "rx-rtp") == 2 * CHANNELS - i);
        g_assert_cmpuint(tp(&p.b, "drop-refused"), ==, 1);
    }
    /* The second was refused here, and its rest thrown away so. */
    QUBC_WAIT(ta(&p.b, "drop-refused") == 1);
    eng_stop(&p);
}

/* ---- The transaction layer --------------------------------------------------------------- */

/* A Write that is refused with its first packet. */
static void test_rest(void)
{
    uint8_t *s;

    begin(ENG_RTP, UB_ROI, "");
    s = eng_sqe(&p.a, UB_TA_WRITE, 0, 4 * 4096, 1);
    put_le32(s + UBQ_SQE_TOKEN_VALUE, ENG_TOKEN + 1);
    ubq_post(&p.a.queue, s, 1);
    eng_complete(&p.a, UBQ_STATUS_ABORT);
    g_assert_cmpuint(ta(&p.b, "rx-requests"), ==, 4);
    g_assert_cmpuint(ta(&p.b, "drop-refused"), ==, 3);
    eng_stop(&p);
}

/* b's software answers a's first request: a reset has moved TASSNs on. */
static void answer(unsigned rspst)
{
    g_autofree char *hex = g_strdup_printf("01" "%08x%032x%032x" "11001000" "%02x%06x",
                                           1, 2, 1, rspst << 5, p.a.queue.id);

    raw_to(&p.b, 1, UB_LPH_CNA16, UB_NLP_CTPH, false, hex);
}

/* A response with a status that there is not; the request still waits for another. */
static void test_response(void)
{
    begin(ENG_CTP, UB_ROI, "");
    eng_set_faults(&p.b, false, "'nth': 1, 'action': 'drop'");
    post_write(0, 64);
    QUBC_WAIT(eng_faults(&p.b, false, "drop") == 1);
    raw_open(&p.b);
    answer(7);
    QUBC_WAIT(ta(&p.a, "drop-response") == 1);
    answer(UB_TAH_OK);
    eng_complete(&p.a, UBQ_STATUS_OK);
    eng_stop(&p);
}

/* A Write by UTP, which carries messages alone (§7.3.2), and has no paths by CNA (§6.2). */
static void test_carrier(void)
{
    enum { HEADS = UB_IPEXT_SIZE + UB_IPV4_SIZE + UB_UDP_SIZE };
    const UbRtph h = { .opcode = UB_TPOP_UNRELIABLE, .nlp = UB_TPH_UPI32 };
    uint8_t b[HEADS + UB_UTPH_LEN + NODES_SIZE + RAW_TAH + 4];
    uint8_t *udp = b + HEADS - UB_UDP_SIZE, *tph = b + HEADS, *t = tph + UB_UTPH_LEN;

    begin(ENG_UTP, UB_UNO, ",icrc=off");
    raw_open(&p.a);
    raw_ipv4(b, sizeof(b), 64, RAW_UDP);
    stw_be_p(udp, 0xc000);
    stw_be_p(udp + 2, UB_UDP_PORT);
    stw_be_p(udp + 4, sizeof(b) - HEADS + UB_UDP_SIZE);
    raw_rtph(tph, &h);
    nodes_put(t);
    raw_request(t + NODES_SIZE, UB_TA_WRITE, 1, 0, 7, 0, 4);
    raw_send(&p.a, UB_LPH_IPV4, b, sizeof(b));
    QUBC_WAIT(ta(&p.b, "drop-carrier") == 1);
    raw_rtp(&p.a, &h, t, NODES_SIZE + RAW_TAH + 4);
    QUBC_WAIT(tp(&p.b, "drop-mode") == 1);
    g_assert_cmpuint(ta(&p.b, "tx-responses"), ==, 0);
    eng_stop(&p);
}

/* Messages by UTP that nobody has a receive entry for, which nobody is told. */
static void test_unheard(void)
{
    begin(ENG_UTP, UB_UNO, "");
    for (unsigned i = 1; i <= 2; i++) {
        uint8_t *s = ubq_sqe(&p.a.queue, 1);

        ubq_sqe_put(s, UB_TA_SEND, ENG_DEST, p.a.room, 64);
        put_le32(s + UBQ_SQE_TARGET, i == 1 ? p.b.queue.id : 4000);
        ubq_post(&p.a.queue, s, 1);
        eng_complete(&p.a, UBQ_STATUS_OK);
        QUBC_WAIT(ta(&p.b, "drop-refused") == i);
    }
    eng_stop(&p);
}

/* A message for a queue that takes none. */
static void test_silent(void)
{
    begin(ENG_CTP, UB_ROI, "");
    ubq_queue_state(&p.b.queue, UBQ_STATE_ERROR, UBQ_RESULT_OK);
    for (unsigned i = 1; i <= 2; i++) {
        uint8_t *s = ubq_sqe(&p.a.queue, 1);

        ubq_sqe_put(s, UB_TA_SEND, ENG_DEST, p.a.room, 64);
        put_le32(s + UBQ_SQE_TARGET, p.b.queue.id);
        ubq_post(&p.a.queue, s, 1);
        QUBC_WAIT(ta(&p.b, "drop-silent") == i);
    }
    g_assert_cmpuint(ta(&p.b, "tx-responses"), ==, 0);
    eng_stop(&p);
}

/* A sequence context holds as many as it may; one more is thrown away.  What it holds a
 * reset loses. */
static void test_sequence(void)
{
    begin(ENG_CTP, UB_ROT, ",ta-sc-buffer=2");
    post_write(0, 64);
    eng_complete(&p.a, UBQ_STATUS_OK);
    g_assert_cmpuint(ta(&p.b, "sc-granted"), ==, 1);
    eng_set_faults(&p.b, false, "'nth': 1, 'action': 'drop'");
    for (unsigned i = 0; i < 4; i++) {
        post_write(SO, 64);
    }
    QUBC_WAIT(ta(&p.b, "rx-requests") == 4);
    QUBC_WAIT(ta(&p.b, "drop-room") == 1);
    g_assert_cmpuint(ta(&p.b, "sc-held"), ==, 2);
    g_assert_cmpuint(ta(&p.b, "drop-flushed"), ==, 0);
    qubc_write(p.b.q, UBC_CTRL, UBC_CTRL_RESET);
    g_assert_cmpuint(ta(&p.b, "drop-flushed"), ==, 2);
    eng_stop(&p);
}

/* A request comes sealed, and there is no key for its answer. */
static void test_no_key(void)
{
    begin(ENG_CTP, UB_ROI, ",cip=on");
    cip_turn_on(&p.a, AES);
    cip_turn_on(&p.b, AES);
    for (unsigned tx = 0; tx < 2; tx++) {
        g_assert_cmpuint(cip_set_key(&p.a, tx, 0, 1), ==, UB_CIP_R_OK);
    }
    g_assert_cmpuint(cip_use_slot(&p.a, 0), ==, UB_CIP_R_OK);
    g_assert_cmpuint(cip_set_key(&p.b, false, 0, 1), ==, UB_CIP_R_OK);
    eng_fill(&p.a, 64, 5);
    post_write(0, 64);
    QUBC_WAIT(ta(&p.b, "drop-unsent") == 1);
    eng_check(&p.b, 64, 5);
    g_assert_cmpuint(ta(&p.b, "tx-responses"), ==, 0);
    eng_stop(&p);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    qtest_add_func("/ubc-drops/held", test_held);
    qtest_add_func("/ubc-drops/queued", test_queued);
    qtest_add_func("/ubc-drops/no-buffer", test_no_buffer);
    qtest_add_func("/ubc-drops/made", test_made);
    qtest_add_func("/ubc-drops/switch", test_switch);
    qtest_add_func("/ubc-drops/channel", test_channel);
    qtest_add_func("/ubc-drops/not-active", test_not_active);
    qtest_add_func("/ubc-drops/state", test_state);
    qtest_add_func("/ubc-drops/answer", test_answer);
    qtest_add_func("/ubc-drops/answer-reset", test_answer_reset);
    qtest_add_func("/ubc-drops/setup", test_setup);
    qtest_add_func("/ubc-drops/refused", test_refused);
    qtest_add_func("/ubc-drops/rest", test_rest);
    qtest_add_func("/ubc-drops/response", test_response);
    qtest_add_func("/ubc-drops/carrier", test_carrier);
    qtest_add_func("/ubc-drops/unheard", test_unheard);
    qtest_add_func("/ubc-drops/silent", test_silent);
    qtest_add_func("/ubc-drops/sequence", test_sequence);
    qtest_add_func("/ubc-drops/no-key", test_no_key);
    return g_test_run();
}
