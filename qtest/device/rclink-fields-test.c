/*
 * rclink: fields, one by one: of frames, of entries and events, of registers; a peer
 * that puts its frames together by hand.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "libqos/pci-pc.h"
#include "rclink-peer.h"

#define STOP_CBFC   (1ull << RCL_CFG_STOP_CBFC)
#define ALL_OPEN    (0xffull << RCL_CFG_VC_OPEN)
/* Banks 0 to 3, ACK, TYPE2, TYPE3 on VCs 0 to 6. */
#define VC_MAP      (0x1ac688ull << RCL_CFG_VC_MAP)
#define LIMITS      (0x249ull << RCL_CFG_UF_TYPE1)      /* one packet each */

enum { IP = HEAD, UDP = IP + 20, MD_RX = 0x5000, FLOWS = 7, TYPE3 = 6 };

/* ---- frames ---- */

/* Every byte of the headers of a Standard frame that is not its own RH. */
static void expect_ip_udp(const Got *g, unsigned tos, unsigned bytes, uint32_t dip,
                          unsigned sport, unsigned dport)
{
    const uint8_t *f = g->frame;

    g_assert_cmphex(g->type, ==, 0x0800);
    g_assert_cmphex(f[IP], ==, 0x45);
    g_assert_cmphex(f[IP + 1], ==, tos);
    g_assert_cmpuint(lduw_be_p(f + IP + 2), ==, 20 + 8 + bytes);
    g_assert_cmphex(lduw_be_p(f + IP + 4), ==, 0xbeef);
    g_assert_cmphex(lduw_be_p(f + IP + 6), ==, 0x4000);
    g_assert_cmpuint(f[IP + 8], ==, 33);
    g_assert_cmpuint(f[IP + 9], ==, 17);
    g_assert_cmphex((uint32_t)ldl_be_p(f + IP + 12), ==, 0x0a010203);
    g_assert_cmphex((uint32_t)ldl_be_p(f + IP + 16), ==, dip);
    g_assert_cmphex(lduw_be_p(f + UDP), ==, sport);
    g_assert_cmpuint(lduw_be_p(f + UDP + 2), ==, dport);
    g_assert_cmpuint(lduw_be_p(f + UDP + 4), ==, 8 + bytes);
    g_assert_cmphex(lduw_be_p(f + UDP + 6), ==, 0);
    g_assert_cmpuint(g->len, ==, UDP + 8 + bytes);
}

static void test_standard(void)
{
    Rig g = rig_start("", 1 << RCL_CFG_STANDARD);
    const uint8_t *rh;
    Got got;

    rcl_set(g.r, RCL_IP_ADDR, 0x0a010203 | 0xbeefull << 32 | 33ull << 48);
    rcl_set(g.r, RCL_DEST_IP_MEM2, 0xe0a1a2a3 | 0x2aull << 48);
    rcl_set(g.r, RCL_UDP_PORT_MEM2, 0xc1c2 | 5555u << 16);
    rcl_set(g.r, RCL_DEST_IP_MEM, 0xc0a80a0b | (uint64_t)QP << 32);
    rcl_set(g.r, RCL_UDP_SRC_PORT_MEM, 0xc0de | PKEY << 16);
    rcl_post(g.r, QP, 66, 0, 0);
    wire_get(&g, &got);
    g_assert_cmpmem(got.frame, 6, peer, 6);
    g_assert_cmpmem(got.frame + 6, 6, self, 6);
    expect_ip_udp(&got, 0x06, RH + 68 + ICRC, 0xc0a80a0b, 0xc0de, 4791);
    rh = got.frame + UDP + 8;
    g_assert_cmphex(rh[0], ==, SEND << 6 | 2 << 3 | TS);        /* reserved: 0 */
    g_assert_cmphex(rh[3], ==, PKEY);
    g_assert_cmphex((uint32_t)ldl_be_p(rh + 4), ==, (RH + 66u) << 25 | QP);
    /* TYPE2: an address of its group, no ICRC, no fields but lengths. */
    rcl_post(g.r, 0, 66, 0, RCL_ETYPE2 | 5 << RCL_E_GROUP_SHIFT);
    wire_get(&g, &got);
    g_assert_cmpmem(got.frame, 6, "\x03\0\0\0\x01\x05", 6);
    expect_ip_udp(&got, 0x2a, RH + 68, 0xe0a1a2a3, 0xc1c2, 5555);
    rig_stop(&g);
}

/* Each group has its address; what was lost is not sent again. */
static void test_groups(void)
{
    Rig g = rig_start(",time-scale=1", GEN1);
    Got got;

    rcl_set(g.r, RCL_RETRY_TIMER_CFG, 7 << 13 | 10);
    for (unsigned n = 0; n < 8; n++) {
        rcl_set(g.r, RCL_TYPE2_DA(n), 0x030000a00000ull + (n << 4));
        rcl_post(g.r, 0, 64, n, RCL_ETYPE2 | n << RCL_E_GROUP_SHIFT);
        wire_get(&g, &got);
        g_assert_cmphex((uint32_t)ldl_be_p(got.frame + 2), ==, 0xa00000 + (n << 4));
        g_assert_cmphex(got.type, ==, 0x88b6);
        g_assert_cmpuint(got.len, ==, HEAD + RH + 64);          /* no ICRC */
        g_assert_cmpuint(got.psn, ==, 0);
        g_assert_cmphex(got.data[0], ==, n);
    }
    qtest_clock_step(g.r->f->qts, 1000000);
    g_assert_true(wire_quiet(&g));
    g_assert_cmpuint(counter(&g, "tx_type2"), ==, 8);
    g_assert_cmpuint(counter(&g, "timeouts"), ==, 0);
    /* The one without an address of its own. */
    rcl_set(g.r, RCL_TYPE2_DA(3), 0);
    rcl_set(g.r, RCL_DEST_MAC_MEM2, 0x88b6030000b00001ull);
    rcl_post(g.r, 0, 64, 0, RCL_ETYPE2 | 3 << RCL_E_GROUP_SHIFT);
    wire_get(&g, &got);
    g_assert_cmphex((uint32_t)ldl_be_p(got.frame + 2), ==, 0xb00001);
    rig_stop(&g);
}

/* Without ICRC, both ways; and the tag's CFI. */
static void test_icrc_cfi(void)
{
    Rig g = rig_start("", GEN1);
    uint8_t f[256];
    RclGot taken;
    size_t n;
    Got got;

    rcl_set(g.r, RCL_CTRL, RCL_CTRL_REMOVE_ICRC);
    rcl_post(g.r, QP, 100, 0, 0);
    wire_get(&g, &got);
    g_assert_cmpuint(got.len, ==, HEAD + RH + 100);
    n = frame_make(f, SEND, TS, RH + 64, 0, QP, 64) - ICRC;
    wire_put(&g, f, n);
    rcl_take(g.r, 0, &taken);
    g_assert_true(rcl_is(&taken, 64, 0));
    expect_answer(&g, SYN_ACK, 0);
    rcl_set(g.r, RCL_VLAN_CTRL, 0x81000000 | 0xabc << 4 | 2 | 1);
    rcl_post(g.r, QP, 100, 0, 0);
    wire_get(&g, &got);
    g_assert_cmphex(got.type, ==, 0x8100);
    g_assert_cmphex(lduw_be_p(got.frame + HEAD), ==, 1 << 12 | 0xabc);
    rig_stop(&g);
}

/* ---- entries, events ---- */

static void test_entries(void)
{
    Rig g = rig_start("", GEN1);
    Rcl *r = g.r;
    uint8_t f[256], ev[RCL_RING_ENTRY];
    uint64_t entry = r->mem + RCL_RING_RX1 * 0x1000;
    RclGot got;
    Got out;

    /* RX_M: length, QP, type, source. */
    frame_make(f, SEND, TS, RH + 100, 0, QP, 100);
    f[10] = 0xfe;
    f[11] = 0xd3;
    wire_put(&g, f, HEAD + RH + 100 + ICRC);
    wait_counter(&g, "rx_type1", 1);
    g_assert_cmpuint(rcl_get(r, RCL_RING(RCL_RING_RX1) + RCL_RING_TAIL), ==, 1);
    g_assert_cmphex(qtest_readw(r->f->qts, entry + RCL_E_COOKIE), ==, 0x2d3);
    rcl_take(r, 0, &got);
    g_assert_true(rcl_is(&got, 100, 0));
    g_assert_cmpuint(got.qp, ==, QP);
    g_assert_cmphex(got.flags, ==, RCL_ETYPE1);
    expect_answer(&g, SYN_ACK, 0);
    frame_make(f, SEND, 0, RH + 100, 0, 0, 100);
    stw_be_p(f + 12, 0x88b6);
    wire_put(&g, f, HEAD + RH + 100);
    rcl_take(r, 1, &got);
    g_assert_true(rcl_is(&got, 100, 0));
    g_assert_cmpuint(got.qp, ==, 0);
    g_assert_cmphex(got.flags, ==, RCL_ETYPE2);
    /* TX_S and its credits: type, QP, cookie. */
    rcl_post(r, QP, 64, 0x5a, 0);
    rcl_post(r, QP, 64, 0x5b, 0);
    wire_get(&g, &out);
    wire_get(&g, &out);
    /* A NAK with a time: what it acknowledges, and that it is one. */
    wire_put(&g, f, frame_make(f, ACK, TS, SYN_NAK, 1, QP, 0));
    rcl_event_wait(r, RCL_EV_ACK, ev);
    g_assert_cmpuint(ev[1] & RCL_EV_NAK, ==, RCL_EV_NAK);
    g_assert_cmpuint(lduw_le_p(ev + 2), ==, QP);
    g_assert_cmpuint(ldq_le_p(ev + 8), ==, 1);
    rcl_event_wait(r, RCL_EV_CREDIT, ev);
    g_assert_cmpuint(lduw_le_p(ev + 2), ==, QP);
    g_assert_cmphex(ldl_le_p(ev + 4), ==, RCL_ETYPE1);
    g_assert_cmphex(ldq_le_p(ev + 8), ==, 0x5a);
    wire_get(&g, &out);
    g_assert_cmpuint(out.psn, ==, 1);
    wire_put(&g, f, frame_make(f, ACK, TS, SYN_ACK, 1, QP, 0));
    rcl_event_wait(r, RCL_EV_ACK, ev);
    g_assert_cmpuint(ev[1] & RCL_EV_NAK, ==, 0);
    rig_stop(&g);
}

/* A buffer whose second half is no memory: neither way goes on there. */
static void test_edge(void)
{
    Rig g = rig_start("", GEN1);
    const uint64_t edge = (128 << 20) - 128;    /* the machine has 128 MiB */
    Rcl *r = g.r;
    uint8_t ev[RCL_RING_ENTRY];
    RclGot got;

    qtest_writeq(r->f->qts, r->mem, edge);
    qtest_writeq(r->f->qts, r->mem + 8, 256 | QP << 16 | 0x77ull << 48);
    rcl_set(r, RCL_RING(RCL_RING_TX) + RCL_RING_HEAD, ++r->tx_head);
    rcl_event_wait(r, RCL_EV_CREDIT, ev);
    g_assert_cmphex(ldl_le_p(ev + 4), ==, RCL_EV_DROPPED + RCL_DROP_DMA);
    g_assert_cmphex(ldq_le_p(ev + 8), ==, 0x77);
    g_assert_cmpuint(counter(&g, "dma_errors"), ==, 1);
    g_assert_cmpuint(counter(&g, "tx_type1"), ==, 0);
    qtest_writeq(r->f->qts, r->mem + RCL_RING_RX1 * 0x1000, edge);
    request(&g, 0, 0, 128);
    rcl_take(r, 0, &got);
    g_assert_true(rcl_is(&got, 128, 0));
    qtest_writeq(r->f->qts, r->mem + RCL_RING_RX1 * 0x1000 + RCL_RING_ENTRY * 16, edge);
    for (unsigned psn = 1; psn < 17; psn++) {
        request(&g, psn, 0, 256);
    }
    wait_counter(&g, "dma_errors", 2);
    g_assert_cmphex(rcl_get(r, RCL_ERR_STATUS), ==, 1 << RCL_RING_RX1);
    for (unsigned psn = 1; psn < 16; psn++) {
        rcl_take(r, 0, &got);
        g_assert_true(rcl_is(&got, 256, psn));
    }
    rig_stop(&g);
}

/* ---- registers of QPs ---- */

static void expect_psns(Rig *g, unsigned una, unsigned next, unsigned last,
                        unsigned forward)
{
    g_assert_cmphex(rcl_get(g->r, RCL_EXPECT_RESP_PSN) & 0xfff, ==, una);
    g_assert_cmphex(rcl_get(g->r, RCL_TX_EXPECT_PSN) & 0xfff, ==, next);
    g_assert_cmphex(rcl_get(g->r, RCL_TX_LAST_PSN) & 0xfff, ==, last);
    g_assert_cmphex(rcl_get(g->r, RCL_MAX_FORWARD_PSN) & 0xfff, ==, forward);
}

static void test_psns(void)
{
    Rig g = rig_start(",time-scale=1", GEN1);
    Got got;

    rcl_set(g.r, RCL_RETRY_TIMER_CFG, 7 << 13 | 10);
    rcl_qp(g.r, QP, 1, QP, 0xffe);
    expect_psns(&g, 0xffe, 0xffe, 0xffd, 0xffd);
    for (unsigned i = 0; i < 4; i++) {
        rcl_post(g.r, QP, 64, i, 0);
        wire_get(&g, &got);
    }
    expect_psns(&g, 0xffe, 2, 1, 1);
    answer(&g, SYN_ACK, 0xfff);
    wait_counter(&g, "rx_ack", 1);
    expect_psns(&g, 0, 2, 1, 1);
    g_assert_cmpuint(rcl_get(g.r, RCL_RETRY_CNT_MEM) & 0xff, ==, 0);
    for (unsigned n = 1; n < 3; n++) {
        qtest_clock_step(g.r->f->qts, 10000);
        wait_counter(&g, "timeouts", n);
        for (unsigned i = 0; i < 2; i++) {
            wire_get(&g, &got);
            g_assert_cmpuint(got.psn, ==, i);
        }
        g_assert_cmpuint(rcl_get(g.r, RCL_RETRY_CNT_MEM) & 0xff, ==, n);
    }
    answer(&g, SYN_ACK, 1);
    wait_counter(&g, "rx_ack", 2);
    expect_psns(&g, 2, 2, 1, 1);
    g_assert_cmpuint(rcl_get(g.r, RCL_RETRY_CNT_MEM) & 0xff, ==, 0);
    /* The receiver's. */
    request(&g, 0xffe, 0, 64);
    expect_answer(&g, SYN_ACK, 0xffe);
    g_assert_cmphex(rcl_get(g.r, RCL_RX_REQ_EPSN) & 0xfff, ==, 0xfff);
    g_assert_cmphex(rcl_get(g.r, RCL_TX_EPSN) & 0xfff, ==, 0xfff);
    rig_stop(&g);
}

/* The port is off: nothing comes, nothing leaves. */
static void test_off(void)
{
    Rig g = rig_start("", GEN1);
    RclGot taken;
    Got got;

    rcl_set(g.r, RCL_RDMA_EN, 0);
    rcl_post(g.r, QP, 64, 1, 0);
    request(&g, 0, 0, 64);
    wait_counter(&g, "drop_off", 1);
    g_assert_true(wire_quiet(&g));
    rcl_set(g.r, RCL_RDMA_EN, 1);
    wire_get(&g, &got);
    g_assert_cmpuint(got.opcode, ==, SEND);
    request(&g, 0, 0, 64);
    rcl_take(g.r, 0, &taken);
    rig_stop(&g);
}

/* ---- sizes ---- */

/* A bank of the receive buffer has 1024 entries of 64 bytes. */
static void test_depth(void)
{
    Rig g = rig_start("", GEN1);
    unsigned psn;

    rcl_set(g.r, RCL_RING(RCL_RING_RX1) + RCL_RING_CTRL, 0);
    for (psn = 0; psn < 1024 / 16; psn++) {
        request(&g, psn, 0, 1024);
    }
    wait_counter(&g, "rx_type1", psn);
    g_assert_cmpuint(counter(&g, "drop_rx1"), ==, 0);
    request(&g, psn, 0, 64);
    wait_counter(&g, "drop_rx1", 1);
    rig_stop(&g);
}

/* TYPE3: the longest that may be sent and the longest that may come; the driver's part of
 * a descriptor stays. */
static void test_ethernet(void)
{
    Rig g = rig_start("", GEN1);
    Rcl *r = g.r;
    g_autofree uint8_t *f = g_malloc0(4 + 8192);
    uint8_t head[4];
    size_t got = 0;

    f[0] = 0x82;
    stw_be_p(f + 12, 0x9999);
    qtest_writeq(r->f->qts, r->mem + 0x4000,
                 (uint64_t)4096 << RCL_MD_SIZE_SHIFT | RCL_MD_SF | RCL_MD_LF);
    qtest_writeq(r->f->qts, r->mem + 0x4008, r->mem + 0x90000);
    qtest_memwrite(r->f->qts, r->mem + 0x90000, f, 64);
    rcl_set(r, RCL_TX_MD_HEAD_PTR, 1);
    wait_counter(&g, "tx_type3", 1);
    g_assert_cmpint(recv(g.fd, head, 4, MSG_WAITALL), ==, 4);
    g_assert_cmpuint(ldl_be_p(head), ==, 4096);
    while (got < 4096) {
        ssize_t n = recv(g.fd, f, 4096 - got, 0);

        g_assert_cmpint(n, >, 0);
        got += n;
    }
    memset(f, 0x77, 4 + 8192);
    stl_be_p(f, 8192);
    memcpy(f + 4, self, 6);
    stw_be_p(f + 16, 0x9999);
    g_assert_cmpint(send(g.fd, f, 4 + 8192, MSG_NOSIGNAL), ==, 4 + 8192);
    wait_counter(&g, "rx_type3", 1);
    for (unsigned i = 0; i < 4; i++) {
        uint64_t md = qtest_readq(r->f->qts, r->mem + MD_RX + i * 16);

        g_assert_cmphex(md, ==, (uint64_t)RCL_BUF << RCL_MD_BUFFER_SHIFT |
                                RCL_BUF << RCL_MD_SIZE_SHIFT |
                                (i == 0 ? RCL_MD_SF : i == 3 ? RCL_MD_LF : 0));
    }
    g_assert_cmphex(rcl_get(r, RCL_DMA_INTR_ST1), ==, 0);
    rig_stop(&g);
}

/* ---- flows ---- */

/* One packet of @flow; ACK's is what a request is answered with. */
static void send_of(Rig *g, unsigned flow, unsigned psn)
{
    uint8_t f[MIN_FRAME] = { 0x82 };

    if (flow < 4) {
        rcl_post(g->r, 4 + flow, 64, 0, 0);
    } else if (flow == 4) {
        request(g, psn, 0, 64);
        wait_counter(g, "rx_type1", psn + 1);
    } else if (flow == 5) {
        rcl_post(g->r, 0, 64, 0, RCL_ETYPE2);
    } else {
        rcl_md_post(g->r, f, sizeof(f));
    }
}

/* Where AFH_CFG_EN has the enable of credits of @flow. */
static uint64_t credits_of(unsigned flow)
{
    static const uint8_t bit[FLOWS] = {
        RCL_CFG_CBFC_BANK0, RCL_CFG_CBFC_BANK0 + 1, RCL_CFG_CBFC_BANK0 + 2,
        RCL_CFG_CBFC_BANK0 + 3, RCL_CFG_CBFC_ACK, RCL_CFG_CBFC_TYPE2,
        RCL_CFG_CBFC_TYPE3,
    };

    return 1ull << bit[flow];
}

/* Nothing comes but what the MACs tell each other. */
static void quiet_but_control(Rig *g)
{
    Got got;

    while (!wire_quiet(g)) {
        wire_get(g, &got);
        g_assert_cmphex(got.type, ==, 0x8808);
    }
}

/* Each flow has a VC: without credits there it stops, alone; and goes on when it needs
 * none any more. */
static void test_credits(void)
{
    Rig g = rig_start("", GEN1);
    uint64_t all = 0;
    Got got;

    for (unsigned qp = 4; qp < 8; qp++) {
        rcl_qp(g.r, qp, 1, qp, 0);
    }
    for (unsigned f = 0; f < FLOWS; f++) {
        all |= credits_of(f);
    }
    rcl_set(g.r, RCL_RETRY_TIMER_CFG, 7 << 13);
    for (unsigned f = 0; f < FLOWS; f++) {
        unsigned other = f == 5 ? 0 : 5;

        rcl_set(g.r, RCL_AFH_CFG_EN, ALL_OPEN | VC_MAP | LIMITS | GEN1 | all);
        rcl_set(g.r, RCL_CBFC_RESET, 1);
        for (unsigned v = 0; v < FLOWS; v++) {
            rcl_set(g.r, RCL_MAC_CBFC_CFG(v), 64 |
                    (v == f ? 0ull : 1000) << RCL_CBFC_LIMIT_SHIFT);
        }
        rcl_set(g.r, RCL_CBFC_RST, 0x7f);
        quiet_but_control(&g);
        send_of(&g, f, f == 4 ? 0 : 1);
        quiet_but_control(&g);
        send_of(&g, other, 1);
        do {
            wire_get(&g, &got);
        } while (got.type == 0x8808);
        g_assert_cmphex(got.type, ==, other == 5 ? 0x88b6 : 0x88b5);
        rcl_set(g.r, RCL_AFH_CFG_EN, ALL_OPEN | VC_MAP | LIMITS | GEN1 |
                                     (all & ~credits_of(f)));
        do {
            wire_get(&g, &got);
        } while (got.type == 0x8808);
        g_assert_cmphex(got.type, ==, f < 5 ? 0x88b5 : f == 5 ? 0x88b6 : 0);
        g_assert_true(f > 4 || got.opcode == (f == 4 ? ACK : SEND));
    }
    rig_stop(&g);
}

static void pause_class(Rig *g, unsigned class, uint16_t quanta, unsigned count)
{
    uint8_t f[MIN_FRAME] = { 1, 0x80, 0xc2, 0, 0, 1, 2, 0, 0, 0, 0, 0xb,
                             0x88, 0x08, 1, 1, 0, 1 << class };

    stw_be_p(f + 18 + 2 * class, quanta);
    wire_put(g, f, MIN_FRAME);
    wait_counter(g, "pfc_rx", count);
}

/* Each flow obeys the class of its VC, where it is enabled. */
static void test_pauses(void)
{
    Rig g = rig_start(",time-scale=1", GEN1);
    unsigned n = 0;
    Got got;

    for (unsigned qp = 4; qp < 8; qp++) {
        rcl_qp(g.r, qp, 1, qp, 0);
    }
    rcl_set(g.r, RCL_RETRY_TIMER_CFG, 7 << 13);
    rcl_set(g.r, RCL_AFH_CFG_EN, STOP_CBFC | ALL_OPEN | VC_MAP | GEN1);
    for (unsigned f = 0; f < FLOWS; f++) {
        unsigned other = f == 5 ? 0 : 5;

        rcl_set(g.r, RCL_XON_THR_RDMA, 0x7full << 39);
        pause_class(&g, f, 0xffff, ++n);
        send_of(&g, f, 0);
        g_assert_true(wire_quiet(&g));
        send_of(&g, other, 1);
        wire_get(&g, &got);
        g_assert_cmphex(got.type, ==, other == 5 ? 0x88b6 : 0x88b5);
        rcl_set(g.r, RCL_XON_THR_RDMA, 0x7full << 39 & ~(1ull << (39 + f)));
        wire_get(&g, &got);
        g_assert_cmphex(got.type, ==, f < 5 ? 0x88b5 : f == 5 ? 0x88b6 : 0);
        pause_class(&g, f, 0, ++n);
    }
    rig_stop(&g);
}

/* TYPE3's own marks; a MAC of half the speed pauses twice as long. */
static void test_marks_speed(void)
{
    Rig g = rig_start(",time-scale=1,speed=200", GEN1);
    uint8_t f[1024] = { 0 };
    Got got;

    g_assert_cmpuint(rcl_get(g.r, RCL_SPEED), ==, 200);
    rcl_set(g.r, RCL_AFH_CFG_EN, STOP_CBFC | ALL_OPEN | VC_MAP | GEN1);
    rcl_set(g.r, RCL_XON_THR_RDMA, 0x7full << 32 | 0x7full << 39);
    rcl_set(g.r, RCL_XON_THR_NON_RDMA, 3 | 8 << 16);
    rcl_set(g.r, RCL_NONR_DMA_CTRL, RCL_NONR_TX_EN | RCL_NONR_RX_RESET);
    rcl_set(g.r, RCL_NONR_DMA_CTRL, RCL_NONR_TX_EN | RCL_NONR_RX_EN);
    memcpy(f, self, 6);
    stw_be_p(f + 12, 0x9999);
    wire_put(&g, f, 7 * 128);           /* seven entries */
    while (rcl_get(g.r, RCL_STATUS) & RCL_STATUS_RX_IDLE) {
        g_usleep(500);
    }
    g_assert_true(wire_quiet(&g));
    wire_put(&g, f, 60);
    wire_get(&g, &got);
    g_assert_cmphex(got.type, ==, 0x8808);
    g_assert_cmphex(lduw_be_p(got.frame + 16), ==, 1 << TYPE3);
    g_assert_cmphex(lduw_be_p(got.frame + 18 + 2 * TYPE3), !=, 0);
    rcl_set(g.r, RCL_RX_MD_HEAD_PTR, 4);
    wire_get(&g, &got);
    g_assert_cmphex(lduw_be_p(got.frame + 18 + 2 * TYPE3), ==, 0);
    /* 1000 quanta of 512 bits at 200 Gb/s. */
    pause_class(&g, 1, 1000, 1);
    rcl_post(g.r, QP, 64, 0, 0);
    qtest_clock_step(g.r->f->qts, 2559);
    g_assert_true(wire_quiet(&g));
    qtest_clock_step(g.r->f->qts, 2);
    wire_get(&g, &got);
    g_assert_cmpuint(got.opcode, ==, SEND);
    rig_stop(&g);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    qtest_add_func("/rclink-fields/standard", test_standard);
    qtest_add_func("/rclink-fields/groups", test_groups);
    qtest_add_func("/rclink-fields/icrc-cfi", test_icrc_cfi);
    qtest_add_func("/rclink-fields/entries", test_entries);
    qtest_add_func("/rclink-fields/edge", test_edge);
    qtest_add_func("/rclink-fields/psns", test_psns);
    qtest_add_func("/rclink-fields/off", test_off);
    qtest_add_func("/rclink-fields/depth", test_depth);
    qtest_add_func("/rclink-fields/ethernet", test_ethernet);
    qtest_add_func("/rclink-fields/credits", test_credits);
    qtest_add_func("/rclink-fields/pauses", test_pauses);
    qtest_add_func("/rclink-fields/marks-speed", test_marks_speed);
    return g_test_run();
}
