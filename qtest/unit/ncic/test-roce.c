/*
 * RoCE: the arbiters of both directions, the check (ETH 5.4.3 - 5.4.5)
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "frames.h"
#include "harness.h"

/* An RDMA engine that counts. */
typedef struct Sink {
    unsigned frames, arps, ready;
    size_t last;
    bool down;
} Sink;

static bool sink_frame(void *opaque, const uint8_t *frame, size_t len)
{
    Sink *s = opaque;

    s->frames++;
    s->last = len;
    return !s->down;
}

static void sink_arp(void *opaque, const uint8_t *frame, size_t len)
{
    ((Sink *)opaque)->arps++;
}

static void sink_ready(void *opaque)
{
    ((Sink *)opaque)->ready++;
}

static const NcicRoceSink sink_ops = { sink_frame, sink_arp, sink_ready };

/*
 * The frame of table 5-6 and 5-7, its numbers worked out by hand: IP total 44
 * = 002c, UDP length 24 = 0018; header sum 4500 + 002c + 4011 + 0a00 + 0001 +
 * 0a00 + 0002 = 9940, complement 66bf.  UDP: pseudo-header 1400 + 0003 + 0011 +
 * 0018, then 12b7 + 12b7 + 0018 and eight words 0000: 39b2, complement c64d.
 */
static const uint8_t good[60] = {
    0x52, 0x54, 0x00, 0x65, 0x43, 0x21, 0x52, 0x54, 0x00, 0x12, 0x34, 0x56,
    0x08, 0x00,
    0x45, 0x00, 0x00, 0x2c, 0x00, 0x00, 0x00, 0x00, 0x40, 0x11, 0x66, 0xbf,
    0x0a, 0x00, 0x00, 0x01, 0x0a, 0x00, 0x00, 0x02,
    0x12, 0xb7, 0x12, 0xb7, 0x00, 0x18, 0xc6, 0x4d,
};

static void test_classify(void)
{
    static const struct { unsigned at; uint8_t value; bool dest; } other[] = {
        { 12, 0x86, false },            /* not IPv4 */
        { 14, 0x46, false },            /* options */
        { 20, 0x20, false },            /* more fragments */
        { 21, 0x01, false },            /* a later fragment */
        { 23, 6, false },               /* TCP */
        { 34, 0xc3, true },             /* source port */
        { 35, 0xb6, true },
        { 36, 0x13, false },            /* destination port */
        { 37, 0xb8, false },
    };
    uint8_t f[64];

    for (unsigned dest = 0; dest < 2; dest++) {
        g_assert_true(ncic_roce_match(good, 58, dest));
        g_assert_true(ncic_roce_match(good, 42, dest));
        g_assert_false(ncic_roce_match(good, 41, dest));
        for (unsigned i = 0; i < G_N_ELEMENTS(other); i++) {
            memcpy(f, good, sizeof(good));
            f[other[i].at] = other[i].value;
            g_assert_cmpint(ncic_roce_match(f, 60, dest), ==,
                            dest && other[i].dest);
        }
        memcpy(f, good, sizeof(good));
        f[20] = 0x40;                   /* do not fragment: no matter */
        g_assert_true(ncic_roce_match(f, 60, dest));
        memcpy(f, good, sizeof(good));
        g_assert_false(ncic_roce_match(f, add_tag(f, 60, 1), dest));
    }
}

/* Every payload length, odd ones too, made by plain addition. */
static void test_check_lengths(void)
{
    g_autofree uint8_t *f = g_malloc(42 + 4096);

    for (unsigned n = 0; n <= 4096; n += n < 64 ? 1 : 61) {
        size_t len = make_ipv4(f, 17, 0x0a000001, 0x0a000002, 4791, 4791, n);

        g_assert_true(ncic_roce_match(f, len, false));
        g_assert_true(ncic_roce_check(f, len, true));
        g_assert_false(ncic_roce_check(f, len - 1, true));
        f[len - 1] ^= 0x80;
        g_assert_false(ncic_roce_check(f, len, true));
        g_assert_false(ncic_roce_check(f, len, false));
    }
}

/* Lengths that contradict each other, with sums that are right. */
static void test_check_lies(void)
{
    static const struct { int total, udp; } bad[] = {
        { 0, 7 }, { 27, 8 }, { 29, 8 }, { 28, 0 }, { 43, 24 }, { 45, 24 },
    };
    uint8_t f[100];

    for (unsigned i = 0; i < G_N_ELEMENTS(bad); i++) {
        size_t len = make_ipv4(f, 17, 0x0a000001, 0x0a000002, 4791, 4791, 40);

        put_be16(f + 16, bad[i].total);
        put_be16(f + 38, bad[i].udp);
        put_be16(f + 40, 0);
        put_be16(f + 24, 0);
        put_be16(f + 24, ~plain_sum(0, f + 14, 20));
        g_assert_false(ncic_roce_check(f, len, false));
    }
    /* the smallest that is true: a header and nothing in it */
    make_ipv4(f, 17, 0x0a000001, 0x0a000002, 4791, 4791, 0);
    g_assert_true(ncic_roce_check(f, 42, true));
}

static void test_receive(void)
{
    uint8_t f[2000];
    Sink s = { 0 };
    size_t len;
    Rig r;

    rig_init(&r, NULL);
    /* without an engine: an ordinary frame, here for an inactive queue */
    ncic_eth_rx(&r.eth, good, 60);
    g_assert_cmpuint(rig_read(&r, 0x101b8), ==, 1);

    ncic_roce_attach(&r.eth, &sink_ops, &s);
    g_assert_cmpint(ncic_eth_rx(&r.eth, good, 60), ==, NCIC_RX_TAKEN);
    g_assert_cmpuint(s.frames, ==, 1);
    g_assert_cmpuint(s.last, ==, 60);
    g_assert_cmpuint(rig_read(&r, 0x101d8), ==, 1);
    g_assert_cmpuint(rig_read(&r, 0x10124), ==, 2);
    g_assert_cmpuint(rig_read(&r, 0x10110), ==, 1);

    /* each wrong byte from the IP header on is found */
    for (unsigned i = 14; i < 58; i++) {
        memcpy(f, good, sizeof(good));
        f[i] ^= 0x01;
        if (ncic_roce_match(f, 60, false)) {
            unsigned drops = rig_read(&r, 0x101c0);
            unsigned all = rig_read(&r, 0x1012c);

            g_assert_cmpint(ncic_eth_rx(&r.eth, f, 60), ==, NCIC_RX_TAKEN);
            g_assert_cmpuint(rig_read(&r, 0x101c0), ==, drops + 1);
            g_assert_cmpuint(rig_read(&r, 0x1012c), ==, all + 1);
        }
    }
    g_assert_cmpuint(s.frames, ==, 1);
    g_assert_cmpuint(rig_read(&r, 0x101d8), ==, 1);

    /* UDP checksum 0 */
    memcpy(f, good, sizeof(good));
    f[40] = f[41] = 0;
    ncic_eth_rx(&r.eth, f, 60);
    g_assert_cmpuint(s.frames, ==, 1);
    r.eth.cfg.roce_csum = false;
    ncic_eth_rx(&r.eth, f, 60);
    g_assert_cmpuint(s.frames, ==, 2);
    f[41] = 1;
    ncic_eth_rx(&r.eth, f, 60);
    g_assert_cmpuint(s.frames, ==, 2);

    /* the MTU comes first: 1514 bytes go, 1515 do not */
    len = make_ipv4(f, 17, 0x0a000001, 0x0a000002, 4791, 4791, 1472);
    ncic_eth_rx(&r.eth, f, len);
    g_assert_cmpuint(s.frames, ==, 3);
    len = make_ipv4(f, 17, 0x0a000001, 0x0a000002, 4791, 4791, 1473);
    ncic_eth_rx(&r.eth, f, len);
    g_assert_cmpuint(s.frames, ==, 3);
    g_assert_cmpuint(rig_read(&r, 0x101b4), ==, 1);

    /* another source port: the other path, or not */
    len = make_ipv4(f, 17, 0x0a000001, 0x0a000002, 50000, 4791, 16);
    ncic_eth_rx(&r.eth, f, len);
    g_assert_cmpuint(s.frames, ==, 3);
    g_assert_cmpuint(rig_read(&r, 0x10110), ==, 2);
    r.eth.cfg.roce_dest_only = true;
    ncic_eth_rx(&r.eth, f, len);
    g_assert_cmpuint(s.frames, ==, 4);

    /* no memory: held; the engine's port down: dropped */
    r.dma_off = true;
    g_assert_cmpint(ncic_eth_rx(&r.eth, good, 60), ==, NCIC_RX_HELD);
    g_assert_cmpuint(r.errors[NCIC_E_BUS_MASTER], ==, 1);
    r.dma_off = false;
    ncic_eth_restart(&r.eth);
    g_assert_cmpuint(r.kicks_rx, ==, 1);
    s.down = true;
    len = rig_read(&r, 0x101c0);
    g_assert_cmpint(ncic_eth_rx(&r.eth, good, 60), ==, NCIC_RX_TAKEN);
    g_assert_cmpuint(rig_read(&r, 0x101c0), ==, len + 1);
    g_assert_cmpuint(rig_read(&r, 0x101d8), ==, 4);
    rig_fini(&r);
}

/* Both engines hear of ARP: the RDMA engine once for each frame, also if the
 * frame had to wait. */
static void test_arp(void)
{
    uint8_t f[60] = { [12] = 0x08, [13] = 0x06 };
    Sink s = { 0 };
    Rig r;

    rig_init(&r, NULL);
    ncic_roce_attach(&r.eth, &sink_ops, &s);
    ncic_eth_rx(&r.eth, f, 60);
    g_assert_cmpuint(s.arps, ==, 1);
    g_assert_cmpuint(rig_read(&r, 0x101b8), ==, 1);
    rig_queue(&r, NCIC_RX, 0, 4);
    g_assert_cmpint(ncic_eth_rx(&r.eth, f, 60), ==, NCIC_RX_HELD);
    g_assert_cmpuint(s.arps, ==, 1);
    rig_desc(&r, NCIC_RX, 0, 4, 0, MEM_BASE + 0x200000, 2048, 0, 0);
    rig_write(&r, qreg(NCIC_RX, 0, NCIC_Q_HEAD), 1);
    g_assert_cmpint(ncic_eth_rx(&r.eth, f, 60), ==, NCIC_RX_TAKEN);
    g_assert_cmpuint(s.arps, ==, 2);
    g_assert_cmpuint(rig_read(&r, 0x10118), ==, 1);
    f[13] = 0x07;
    ncic_eth_rx(&r.eth, f, 60);
    g_assert_cmpuint(s.arps, ==, 2);
    rig_fini(&r);
}

static void test_transmit(void)
{
    uint8_t f[2000] = { 1, 2, 3 };
    Sink s = { 0 };
    Rig r;

    rig_init(&r, NULL);
    ncic_roce_attach(&r.eth, &sink_ops, &s);
    memset(f + 42, 0xee, sizeof(f) - 42);
    /* padded with zeros, not with what lies behind */
    g_assert_true(ncic_roce_tx(&r.eth, f, 42));
    g_assert_cmpuint(r.sent[0]->len, ==, 60);
    g_assert_cmpmem(r.sent[0]->data, 42, f, 42);
    for (unsigned i = 42; i < 60; i++) {
        g_assert_cmphex(r.sent[0]->data[i], ==, 0);
    }
    g_assert_true(ncic_roce_tx(&r.eth, f, 60));
    g_assert_cmpmem(r.sent[1]->data, r.sent[1]->len, f, 60);
    /* the MTU, untagged */
    g_assert_true(ncic_roce_tx(&r.eth, f, 1514));
    g_assert_cmpuint(r.n_sent, ==, 3);
    g_assert_true(ncic_roce_tx(&r.eth, f, 1515));
    g_assert_cmpuint(r.n_sent, ==, 3);
    g_assert_cmpuint(rig_read(&r, 0x101a4), ==, 1);
    g_assert_cmpuint(rig_read(&r, 0x101d4), ==, 3);
    g_assert_cmpuint(rig_read(&r, 0x10104), ==, 0);
    /* the link */
    ncic_eth_set_link(&r.eth, false);
    g_assert_false(ncic_roce_tx(&r.eth, f, 60));
    g_assert_cmpuint(rig_read(&r, 0x101ac), ==, 1);
    g_assert_cmpuint(r.n_sent, ==, 3);
    g_assert_false(ncic_roce_waits(&r.eth));
    rig_fini(&r);
}

static void eth_post(Rig *r, unsigned n, uint16_t *head)
{
    for (unsigned i = 0; i < n; i++) {
        rig_desc(r, NCIC_TX, 0, 8, *head, MEM_BASE + 0x200000, 60, 0, 0);
        ++*head;
    }
    rig_write(r, qreg(NCIC_TX, 0, NCIC_Q_HEAD), *head);
}

/* A wire that keeps frames: what was kept counts when it is sent, nothing else
 * is sent meanwhile, and there is a bound. */
static void test_full_wire(void)
{
    uint8_t f[60] = { 0 };
    uint16_t head = 0;
    Sink s = { 0 };
    Rig r;

    rig_init(&r, NULL);
    ncic_roce_attach(&r.eth, &sink_ops, &s);
    rig_queue(&r, NCIC_TX, 0, 8);
    r.wire_full = true;
    g_assert_true(ncic_roce_tx(&r.eth, f, 60));
    g_assert_true(ncic_roce_waits(&r.eth));
    g_assert_cmpuint(rig_read(&r, 0x101d4), ==, 0);
    eth_post(&r, 3, &head);
    g_assert_false(ncic_eth_tx_run(&r.eth, 64));
    g_assert_cmpuint(r.n_sent, ==, 1);
    g_assert_true(ncic_roce_tx(&r.eth, f, 60));
    rig_wire_done(&r, true);
    g_assert_cmpuint(rig_read(&r, 0x101d4), ==, 2);
    /* given up: dropped, and said why */
    ncic_eth_reset(&r.eth);
    g_assert_true(ncic_roce_tx(&r.eth, f, 60));
    rig_wire_done(&r, false);
    g_assert_cmpuint(rig_read(&r, 0x101dc), ==, 1);
    ncic_roce_turn_over(&r.eth);
    g_assert_true(ncic_roce_tx(&r.eth, f, 60));
    g_assert_true(ncic_roce_waits(&r.eth));
    ncic_eth_set_link(&r.eth, false);
    g_assert_cmpuint(s.ready, ==, 2);
    g_assert_false(ncic_roce_tx(&r.eth, f, 60));
    g_assert_false(ncic_roce_waits(&r.eth));
    g_assert_cmpuint(rig_read(&r, 0x101ac), ==, 1);
    ncic_roce_turn_over(&r.eth);
    rig_wire_done(&r, false);
    g_assert_cmpuint(rig_read(&r, 0x101ac), ==, 2);
    g_assert_cmpuint(rig_read(&r, 0x101d4), ==, 0);
    ncic_eth_set_link(&r.eth, true);
    /* the bound */
    for (unsigned i = 0; i < 256; i++) {
        g_assert_true(ncic_roce_tx(&r.eth, f, 60));
    }
    g_assert_cmpuint(r.n_owed, ==, 256);
    g_assert_cmpuint(rig_read(&r, 0x101dc), ==, 1);
    g_assert_true(ncic_roce_tx(&r.eth, f, 60));
    g_assert_cmpuint(r.n_owed, ==, 256);
    g_assert_cmpuint(rig_read(&r, 0x101dc), ==, 2);
    rig_wire_done(&r, true);
    g_assert_cmpuint(rig_read(&r, 0x101d4), ==, 256);
    /* owed nothing: told again, nothing happens */
    ncic_eth_tx_done(&r.eth, NCIC_SRC_ROCE, true);
    g_assert_cmpuint(rig_read(&r, 0x101d4), ==, 256);
    rig_fini(&r);
}

/* Both have more to send than the wire takes: they alternate. */
static void test_fair(void)
{
    unsigned eth = 0, roce = 0, n = 0;
    uint8_t f[60] = { 0 };
    uint16_t head = 0;
    Sink s = { 0 };
    Rig r;

    rig_init(&r, NULL);
    ncic_roce_attach(&r.eth, &sink_ops, &s);
    rig_queue(&r, NCIC_TX, 0, 8);
    eth_post(&r, 100, &head);
    r.wire_full = true;
    ncic_roce_tx(&r.eth, f, 60);
    for (unsigned round = 0; round < 40; round++) {
        unsigned before = s.ready;

        r.kicks_tx = 0;
        rig_wire_done(&r, true);
        n = r.n_sent;
        /* one of them has the turn, and the other waits for it */
        g_assert_cmpuint(s.ready - before + (r.kicks_tx != 0), ==, 1);
        if (s.ready != before) {
            ncic_eth_tx_run(&r.eth, 64);
            g_assert_cmpuint(r.n_sent, ==, n);
            ncic_roce_tx(&r.eth, f, 60);
            ncic_roce_turn_over(&r.eth);
            roce++;
        } else {
            ncic_eth_tx_run(&r.eth, 64);
            eth++;
        }
        g_assert_cmpuint(r.n_sent, ==, n + 1);
    }
    g_assert_cmpuint(eth, ==, 20);
    g_assert_cmpuint(roce, ==, 20);

    /* the wire takes all: ours first, then the other's, and on */
    r.wire_full = false;
    rig_wire_done(&r, true);
    n = s.ready;
    r.kicks_tx = 0;
    if (r.eth.roce_turn) {
        ncic_roce_turn_over(&r.eth);
        g_assert_cmpuint(r.kicks_tx, ==, 1);
    } else {
        ncic_eth_tx_run(&r.eth, 4);
        g_assert_cmpuint(s.ready, ==, n + 1);
        g_assert_false(ncic_eth_tx_work(&r.eth));
        ncic_roce_turn_over(&r.eth);
    }
    g_assert_true(ncic_eth_tx_work(&r.eth));
    while (ncic_eth_tx_run(&r.eth, 64)) {
    }
    g_assert_cmpuint(rig_read(&r, 0x10104), ==, 100);
    rig_fini(&r);
}

/* A reset ends the RDMA engine's turn; without one, it would be for ever. */
static void test_turn_and_reset(void)
{
    uint8_t f[60] = { 0 };
    uint16_t head = 0;
    Sink s = { 0 };
    Rig r;

    rig_init(&r, NULL);
    ncic_roce_attach(&r.eth, &sink_ops, &s);
    for (unsigned how = 0; how < 2; how++) {
        r.wire_full = true;
        ncic_roce_tx(&r.eth, f, 60);
        r.wire_full = false;
        rig_wire_done(&r, true);
        g_assert_cmpuint(s.ready, ==, how + 1);
        if (how) {
            ncic_roce_attach(&r.eth, &sink_ops, &s);
            g_assert_false(ncic_roce_waits(&r.eth));
        } else {
            ncic_eth_reset(&r.eth);
        }
        rig_queue(&r, NCIC_TX, 0, 8);
        eth_post(&r, 1, &head);
        g_assert_false(ncic_eth_tx_run(&r.eth, 64));
        g_assert_cmpuint(rig_read(&r, 0x10104), ==, how + 1);
        rig_write(&r, qreg(NCIC_TX, 0, NCIC_Q_LOG_SIZE), 0);
        rig_write(&r, qreg(NCIC_TX, 0, NCIC_Q_CPL_LOG_SIZE), 0);
        /* nobody's turn: no matter */
        r.kicks_tx = 0;
        ncic_roce_turn_over(&r.eth);
        g_assert_cmpuint(r.kicks_tx, ==, 0);
    }
    rig_fini(&r);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/ncic/roce/classify", test_classify);
    g_test_add_func("/ncic/roce/check-lengths", test_check_lengths);
    g_test_add_func("/ncic/roce/check-lies", test_check_lies);
    g_test_add_func("/ncic/roce/receive", test_receive);
    g_test_add_func("/ncic/roce/arp", test_arp);
    g_test_add_func("/ncic/roce/transmit", test_transmit);
    g_test_add_func("/ncic/roce/full-wire", test_full_wire);
    g_test_add_func("/ncic/roce/fair", test_fair);
    g_test_add_func("/ncic/roce/turn-and-reset", test_turn_and_reset);
    return g_test_run();
}
