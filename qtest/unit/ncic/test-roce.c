/*
 * RoCE arbiter and framing (ETH 5.4.3 - 5.4.5)
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "frames.h"
#include "harness.h"

static const NcicRoceDesc desc = {
    .length = 16,
    .smac = { 0x52, 0x54, 0x00, 0x12, 0x34, 0x56 },
    .dmac = { 0x52, 0x54, 0x00, 0x65, 0x43, 0x21 },
    .sip = 0x0a000001,
    .dip = 0x0a000002,
};

typedef struct Sink {
    NcicRoceDesc d;
    GByteArray *payload;
    unsigned n, ready;
    bool full;
} Sink;

static bool sink_rx(void *opaque, const NcicRoceDesc *d, const uint8_t *p)
{
    Sink *s = opaque;

    if (s->full) {
        return false;
    }
    s->d = *d;
    g_byte_array_set_size(s->payload, 0);
    g_byte_array_append(s->payload, p, d->length);
    s->n++;
    return true;
}

static void sink_ready(void *opaque)
{
    ((Sink *)opaque)->ready++;
}

static const NcicRoceSink sink_ops = { sink_rx, sink_ready };

/*
 * The frame of table 5-6 and 5-7, its numbers worked out by hand: IP total 44
 * = 002c, UDP length 24 = 0018; header sum 4500 + 002c + 4011 + 0a00 + 0001 +
 * 0a00 + 0002 = 9940, complement 66bf.  UDP: pseudo-header 1400 + 0003 + 0011 +
 * 0018, then 12b7 + 12b7 + 0018 and eight words 0000: 39b2, complement c64d.
 */
static const uint8_t want[60] = {
    0x52, 0x54, 0x00, 0x65, 0x43, 0x21, 0x52, 0x54, 0x00, 0x12, 0x34, 0x56,
    0x08, 0x00,
    0x45, 0x00, 0x00, 0x2c, 0x00, 0x00, 0x00, 0x00, 0x40, 0x11, 0x66, 0xbf,
    0x0a, 0x00, 0x00, 0x01, 0x0a, 0x00, 0x00, 0x02,
    0x12, 0xb7, 0x12, 0xb7, 0x00, 0x18, 0xc6, 0x4d,
};

static void test_frame(void)
{
    uint8_t frame[64] = { 0 };

    ncic_roce_build(frame, &desc, 0);
    g_assert_cmpmem(frame, 58, want, 58);
    g_assert_cmphex(plain_sum(0, frame + 14, 20), ==, 0xffff);
    ncic_roce_build(frame, &desc, 0xabcd);
    g_assert_cmphex(get_be16(frame + 18), ==, 0xabcd);
    g_assert_cmphex(plain_sum(0, frame + 14, 20), ==, 0xffff);
}

/* Every payload length, odd ones too, checked by plain addition. */
static void test_build_lengths(void)
{
    uint8_t frame[NCIC_ROCE_HEADROOM + 4096];

    for (unsigned i = 0; i < sizeof(frame); i++) {
        frame[i] = g_test_rand_int();
    }
    for (unsigned n = 0; n <= 4096; n += n < 64 ? 1 : 61) {
        NcicRoceDesc d = desc, back;
        uint32_t sum;

        d.length = n;
        ncic_roce_build(frame, &d, n);
        sum = plain_sum(plain_pseudo(frame + 14, n + 8), frame + 34, n + 8);
        g_assert_cmphex(sum, ==, 0xffff);
        g_assert_cmphex(get_be16(frame + 40), !=, 0);
        g_assert_true(ncic_roce_match(frame, 42 + n));
        g_assert_true(ncic_roce_check(frame, 42 + n, true, &back));
        g_assert_cmpmem(back.smac, 6, d.smac, 6);
        g_assert_cmpmem(back.dmac, 6, d.dmac, 6);
        g_assert_cmphex(back.sip, ==, d.sip);
        g_assert_cmphex(back.dip, ==, d.dip);
        g_assert_cmpuint(back.length, ==, n);
    }
}

/* Table 5-4, bit 0 first. */
static void test_descriptor(void)
{
    static const uint8_t bits[24] = {
        0x0f, 0x00, 0x10, 0x00,
        0x56, 0x34, 0x12, 0x00, 0x54, 0x52,
        0x21, 0x43, 0x65, 0x00, 0x54, 0x52,
        0x01, 0x00, 0x00, 0x0a, 0x02, 0x00, 0x00, 0x0a,
    };
    uint8_t out[24];
    NcicRoceDesc d;

    ncic_roce_desc_pack(out, &desc);
    g_assert_cmpmem(out, 24, bits, 24);
    g_assert_true(ncic_roce_desc_unpack(&d, bits));
    g_assert_cmpmem(d.smac, 6, desc.smac, 6);
    g_assert_cmpmem(d.dmac, 6, desc.dmac, 6);
    g_assert_cmphex(d.sip, ==, desc.sip);
    g_assert_cmphex(d.dip, ==, desc.dip);
    g_assert_cmpuint(d.length, ==, 16);
    out[0] = 0x0e;
    g_assert_false(ncic_roce_desc_unpack(&d, out));
}

static void test_classify(void)
{
    static const struct { unsigned at; uint8_t value; } other[] = {
        { 12, 0x86 },           /* not IPv4 */
        { 14, 0x46 },           /* options */
        { 23, 6 },              /* TCP */
        { 35, 0xb6 },           /* source port */
        { 37, 0xb8 },           /* destination port */
    };
    uint8_t f[64];

    g_assert_true(ncic_roce_match(want, 58));
    g_assert_false(ncic_roce_match(want, 41));
    for (unsigned i = 0; i < G_N_ELEMENTS(other); i++) {
        memcpy(f, want, sizeof(want));
        f[other[i].at] = other[i].value;
        g_assert_false(ncic_roce_match(f, 60));
    }
    memcpy(f, want, sizeof(want));
    g_assert_false(ncic_roce_match(f, add_tag(f, 60, 1)));
}

static void test_receive(void)
{
    Sink s = { .payload = g_byte_array_new() };
    uint8_t f[64];
    Rig r;

    rig_init(&r, NULL);
    /* without an engine: an ordinary frame, here for an inactive queue */
    ncic_eth_rx(&r.eth, want, 60);
    g_assert_cmpuint(rig_read(&r, 0x101b8), ==, 1);

    ncic_roce_attach(&r.eth, &sink_ops, &s);
    g_assert_cmpint(ncic_eth_rx(&r.eth, want, 60), ==, NCIC_RX_TAKEN);
    g_assert_cmpuint(s.n, ==, 1);
    g_assert_cmpmem(s.payload->data, s.payload->len, want + 42, 16);
    g_assert_cmphex(s.d.sip, ==, 0x0a000001);
    g_assert_cmpuint(rig_read(&r, 0x101d8), ==, 1);
    g_assert_cmpuint(rig_read(&r, 0x10110), ==, 1);

    /* each wrong byte from the IP header on is found */
    for (unsigned i = 14; i < 58; i++) {
        memcpy(f, want, sizeof(want));
        f[i] ^= 0x01;
        if (ncic_roce_match(f, 60)) {
            unsigned drops = rig_read(&r, 0x101c0);

            ncic_eth_rx(&r.eth, f, 60);
            g_assert_cmpuint(rig_read(&r, 0x101c0), ==, drops + 1);
        }
    }
    g_assert_cmpuint(s.n, ==, 1);

    /* UDP checksum 0 */
    memcpy(f, want, sizeof(want));
    f[40] = f[41] = 0;
    ncic_eth_rx(&r.eth, f, 60);
    g_assert_cmpuint(s.n, ==, 1);
    r.eth.cfg.roce_csum = false;
    ncic_eth_rx(&r.eth, f, 60);
    g_assert_cmpuint(s.n, ==, 2);
    f[41] = 1;
    ncic_eth_rx(&r.eth, f, 60);
    g_assert_cmpuint(s.n, ==, 2);

    /* a full sink holds frames back */
    s.full = true;
    g_assert_cmpint(ncic_eth_rx(&r.eth, want, 60), ==, NCIC_RX_HELD);
    ncic_eth_rx_retry(&r.eth);
    g_assert_cmpuint(r.kicks_rx, ==, 0);
    s.full = false;
    ncic_roce_rx_resume(&r.eth);
    g_assert_cmpuint(r.kicks_rx, ==, 1);
    g_assert_cmpint(ncic_eth_rx(&r.eth, want, 60), ==, NCIC_RX_TAKEN);
    g_assert_cmpuint(s.n, ==, 3);
    rig_fini(&r);
    g_byte_array_unref(s.payload);
}

static void test_transmit(void)
{
    Sink s = { .payload = g_byte_array_new() };
    NcicRoceDesc d = desc;
    uint8_t frame[2048];
    Rig r;

    rig_init(&r, NULL);
    ncic_roce_attach(&r.eth, &sink_ops, &s);
    memset(frame, 0, sizeof(frame));
    memset(frame + 58, 0xee, 10);
    g_assert_true(ncic_roce_tx(&r.eth, &d, frame));
    g_assert_cmpuint(r.n_sent, ==, 1);
    g_assert_cmpmem(r.sent[0]->data, r.sent[0]->len, want, 60);
    /* identification counts */
    g_assert_true(ncic_roce_tx(&r.eth, &d, frame));
    g_assert_cmphex(get_be16(r.sent[1]->data + 18), ==, 1);
    /* wire stops: told again when it goes on */
    r.tx_result = NCIC_TX_SENT_STOP;
    g_assert_true(ncic_roce_tx(&r.eth, &d, frame));
    g_assert_false(ncic_roce_tx(&r.eth, &d, frame));
    g_assert_cmpuint(s.ready, ==, 0);
    ncic_eth_tx_resume(&r.eth);
    g_assert_cmpuint(s.ready, ==, 1);
    r.tx_result = NCIC_TX_BUSY;
    g_assert_false(ncic_roce_tx(&r.eth, &d, frame));
    ncic_eth_tx_resume(&r.eth);
    r.tx_result = NCIC_TX_SENT;
    g_assert_true(ncic_roce_tx(&r.eth, &d, frame));
    g_assert_cmpuint(r.n_sent, ==, 4);
    g_assert_cmphex(get_be16(r.sent[3]->data + 18), ==, 3);
    g_assert_cmpuint(rig_read(&r, 0x101d4), ==, 4);
    /* above the MTU */
    d.length = 1473;
    g_assert_true(ncic_roce_tx(&r.eth, &d, frame));
    g_assert_cmpuint(r.n_sent, ==, 4);
    d.length = 1472;
    g_assert_true(ncic_roce_tx(&r.eth, &d, frame));
    g_assert_cmpuint(r.sent[4]->len, ==, 1514);
    rig_fini(&r);
    g_byte_array_unref(s.payload);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/ncic/roce/frame", test_frame);
    g_test_add_func("/ncic/roce/build-lengths", test_build_lengths);
    g_test_add_func("/ncic/roce/descriptor", test_descriptor);
    g_test_add_func("/ncic/roce/classify", test_classify);
    g_test_add_func("/ncic/roce/receive", test_receive);
    g_test_add_func("/ncic/roce/transmit", test_transmit);
    return g_test_run();
}
