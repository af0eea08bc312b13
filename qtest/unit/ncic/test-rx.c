/*
 * Receive pipeline
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "frames.h"
#include "harness.h"

#define BUF   (MEM_BASE + 0x200000)
#define STEP  2048
#define LOG   4

/* Queue @q with @n buffers of 2 KiB, buffer i of queue q at buf(q, i). */
static uint64_t buf(unsigned q, unsigned i)
{
    return BUF + (q * 16 + i % 16) * STEP;
}

static void fill(Rig *r, unsigned q, unsigned n)
{
    uint16_t head = rig_read(r, qreg(NCIC_RX, q, NCIC_Q_HEAD));

    for (unsigned i = 0; i < n; i++, head++) {
        rig_desc(r, NCIC_RX, q, LOG, head, buf(q, head), STEP, 0, 0);
    }
    rig_write(r, qreg(NCIC_RX, q, NCIC_Q_HEAD), head);
}

static void start(Rig *r, const NcicEthConfig *cfg, unsigned queues)
{
    rig_init(r, cfg);
    for (unsigned q = 0; q < queues; q++) {
        rig_queue(r, NCIC_RX, q, LOG);
        fill(r, q, 16);
    }
    rig_write(r, 0x10030, queues - 1);
}

static uint8_t *cpl(Rig *r, unsigned q, unsigned i)
{
    return rig_cpl(r, NCIC_RX, q, LOG, i);
}

static void consume(Rig *r, unsigned q)
{
    rig_write(r, qreg(NCIC_RX, q, NCIC_Q_CPL_TAIL),
              rig_read(r, qreg(NCIC_RX, q, NCIC_Q_CPL_HEAD)));
}

/* The worked example of the interface: a 60-byte ARP frame. */
static void test_arp(void)
{
    uint8_t f[60] = { 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
                      0x52, 0x54, 0, 1, 2, 3, 0x08, 0x06 };
    static const uint8_t want[32] = { [8] = 0x3c };
    Rig r;

    start(&r, NULL, 1);
    memset(cpl(&r, 0, 0), 0xee, 32);
    g_assert_cmpint(ncic_eth_rx(&r.eth, f, sizeof(f)), ==, NCIC_RX_TAKEN);
    g_assert_cmpmem(cpl(&r, 0, 0), 32, want, 32);
    g_assert_cmpmem(rig_ptr(&r, buf(0, 0)), 60, f, 60);
    g_assert_cmphex(rig_read(&r, qreg(NCIC_RX, 0, NCIC_Q_TAIL)), ==, 1);
    g_assert_cmphex(rig_read(&r, qreg(NCIC_RX, 0, NCIC_Q_CPL_HEAD)), ==, 1);
    g_assert_cmpuint(r.irq[0], ==, 1);
    rig_fini(&r);
}

static void test_sizes(void)
{
    uint8_t f[1600];
    Rig r;

    start(&r, NULL, 1);
    for (unsigned i = 0; i < sizeof(f); i++) {
        f[i] = i * 3 + 1;
    }
    put_be16(f + 12, 0x88b5);
    for (unsigned len = 1; len <= 1514; len++) {
        uint16_t at = rig_read(&r, qreg(NCIC_RX, 0, NCIC_Q_CPL_HEAD));

        g_assert_cmpint(ncic_eth_rx(&r.eth, f, len), ==, NCIC_RX_TAKEN);
        if (len < 14) {
            g_assert_cmpuint(rig_read(&r, 0x101b0), ==, len);
            continue;
        }
        g_assert_cmpuint(get_le16(cpl(&r, 0, at) + NCIC_CPL_LENGTH), ==, len);
        g_assert_cmpuint(get_le16(cpl(&r, 0, at) + NCIC_CPL_INDEX), ==, at);
        g_assert_cmpmem(rig_ptr(&r, buf(0, at)), len, f, len);
        consume(&r, 0);
        fill(&r, 0, 1);
    }
    ncic_eth_rx(&r.eth, f, 1515);
    g_assert_cmpuint(rig_read(&r, 0x101b4), ==, 1);
    g_assert_cmpuint(rig_read(&r, 0x1012c), ==, 14);
    g_assert_cmpuint(rig_read(&r, 0x10124), ==, 1515);
    g_assert_cmpuint(rig_read(&r, 0x10128), ==, 1501);
    rig_fini(&r);
}

/* Hash, queue and verdict; the two hash values are published ones. */
static void test_meta(void)
{
    NcicRxMeta m;
    uint8_t f[1600];
    size_t len;
    Rig r;

    rig_init(&r, NULL);
    len = make_ipv4(f, 6, 0x420995bb, 0xa18e6450, 2794, 1766, 100);
    ncic_rx_parse(&r.eth, f, len, &m);
    g_assert_cmphex(m.hash, ==, 0x51ccc178);
    g_assert_cmphex(m.queue, ==, 0x18);
    g_assert_cmphex(m.status, ==, NCIC_CPL_IPV4 | NCIC_CPL_TCP);
    g_assert_cmphex(m.csum, ==, 0);

    len = make_ipv4(f, 1, 0x420995bb, 0xa18e6450, 0, 0, 100);
    ncic_rx_parse(&r.eth, f, len, &m);
    g_assert_cmphex(m.hash, ==, 0x323e8fc2);
    g_assert_cmphex(m.queue, ==, 0x02);
    g_assert_cmphex(m.status, ==, NCIC_CPL_IPV4);

    /* IP options: addresses only */
    len = make_ipv4(f, 17, 0x420995bb, 0xa18e6450, 2794, 1766, 100);
    memmove(f + 38, f + 34, len - 34);
    memset(f + 34, 1, 4);
    f[14] = 0x46;
    put_be16(f + 16, get_be16(f + 16) + 4);
    put_be16(f + 24, 0);
    put_be16(f + 24, ~plain_sum(0, f + 14, 24));
    ncic_rx_parse(&r.eth, f, len + 4, &m);
    g_assert_cmphex(m.hash, ==, 0x323e8fc2);
    g_assert_cmphex(m.status, ==, NCIC_CPL_IPV4 | NCIC_CPL_UDP);
    g_assert_cmphex(m.csum, ==, 0);

    /* the mask register narrows the queues */
    len = make_ipv4(f, 6, 0x420995bb, 0xa18e6450, 2794, 1766, 100);
    rig_write(&r, 0x10030, 0x7);
    ncic_rx_parse(&r.eth, f, len, &m);
    g_assert_cmphex(m.queue, ==, 0);
    rig_write(&r, 0x10030, 0x10);
    ncic_rx_parse(&r.eth, f, len, &m);
    g_assert_cmphex(m.queue, ==, 0x10);
    rig_fini(&r);
}

static void test_checksum(void)
{
    static const struct { uint8_t proto; uint32_t ok, bad; } l4[] = {
        { 6, NCIC_CPL_IPV4 | NCIC_CPL_TCP, NCIC_CPL_TCP_BAD },
        { 17, NCIC_CPL_IPV4 | NCIC_CPL_UDP, NCIC_CPL_UDP_BAD },
    };
    NcicRxMeta m;
    uint8_t f[1600];
    Rig r;

    rig_init(&r, NULL);
    for (unsigned k = 0; k < G_N_ELEMENTS(l4); k++) {
        for (unsigned n = 0; n < 1400; n += 7) {
            size_t len = make_ipv4(f, l4[k].proto, 0x0a000001, 0x0a000002,
                                   n, 80, n);

            /* Ethernet padding counts as zeros */
            memset(f + len, 0, 6);
            ncic_rx_parse(&r.eth, f, len + (n < 6 ? 6 : 0), &m);
            g_assert_cmphex(m.status, ==, l4[k].ok);
            g_assert_cmphex(m.csum, ==, 0);
            /* any wrong byte of IP or layer 4 shows */
            f[g_test_rand_int_range(26, len)] ^= 0x40;
            ncic_rx_parse(&r.eth, f, len, &m);
            g_assert_cmphex(m.status, ==, l4[k].ok | l4[k].bad);
            g_assert_cmphex(m.csum, !=, 0);
        }
    }
    /* UDP without a checksum cannot be told from a bad one */
    make_ipv4(f, 17, 0x0a000001, 0x0a000002, 1, 2, 64);
    put_be16(f + 40, 0);
    ncic_rx_parse(&r.eth, f, 14 + 20 + 8 + 64, &m);
    g_assert_cmphex(m.status & NCIC_CPL_UDP_BAD, !=, 0);
    rig_fini(&r);
}

/* Frames cut anywhere, header lengths that lie: no overrun (sanitizers). */
static void test_malformed(void)
{
    Rig r;

    rig_init(&r, NULL);
    for (unsigned n = 0; n < 20000; n++) {
        size_t len = g_test_rand_int_range(14, 80);
        g_autofree uint8_t *f = g_malloc(len);
        NcicRxMeta m;

        for (size_t i = 0; i < len; i++) {
            f[i] = g_test_rand_int();
        }
        put_be16(f + 12, n & 1 ? 0x0800 : 0x8100);
        if (len > 17 && !(n & 1)) {
            put_be16(f + 16, 0x0800);
        }
        if (len > 23) {
            f[23] = n & 2 ? 6 : 17;
        }
        ncic_rx_parse(&r.eth, f, len, &m);
        g_assert_cmpuint(m.queue, <, 32);
        if (ncic_roce_match(f, len, n & 4)) {
            ncic_roce_check(f, len, n & 8);
        }
    }
    rig_fini(&r);
}

static void test_vlan(void)
{
    uint8_t plain[200], tagged[204];
    size_t len = make_ipv4(plain, 6, 0x420995bb, 0xa18e6450, 2794, 1766, 100);
    uint8_t *c;
    Rig r;

    start(&r, NULL, 1);
    memcpy(tagged, plain, len);
    memset(rig_ptr(&r, buf(0, 0)), 0x5a, STEP);
    ncic_eth_rx(&r.eth, tagged, add_tag(tagged, len, 0xa123));
    c = cpl(&r, 0, 0);
    g_assert_cmphex(get_le32(c), ==,
                    NCIC_CPL_VLAN | NCIC_CPL_IPV4 | NCIC_CPL_TCP);
    g_assert_cmphex(get_le16(c + 0x10), ==, 0xa123);
    g_assert_cmphex(get_le16(c + 0x08), ==, len);
    g_assert_cmphex(get_le32(c + 0x0a), ==, 0x51ccc178);
    g_assert_cmphex(get_le16(c + 0x0e), ==, 0);
    g_assert_cmpmem(rig_ptr(&r, buf(0, 0)), len, plain, len);
    for (size_t i = len; i < STEP; i++) {
        g_assert_cmphex(rig_ptr(&r, buf(0, 0))[i], ==, 0x5a);
    }
    rig_fini(&r);
}

static void test_spread(void)
{
    unsigned seen[4] = { 0 };
    uint8_t f[200];
    Rig r;

    start(&r, NULL, 4);
    for (unsigned n = 0; n < 400; n++) {
        size_t len = make_ipv4(f, 6, 0x0a000001 + n, 0x0a000002, n * 3, 80, 20);
        NcicRxMeta m;
        uint16_t at;

        ncic_rx_parse(&r.eth, f, len, &m);
        g_assert_cmpuint(m.queue, <, 4);
        at = rig_read(&r, qreg(NCIC_RX, m.queue, NCIC_Q_CPL_HEAD));
        ncic_eth_rx(&r.eth, f, len);
        g_assert_cmphex(get_le16(cpl(&r, m.queue, at) + 4), ==, m.queue);
        g_assert_cmphex(get_le32(cpl(&r, m.queue, at) + 0xa), ==, m.hash);
        seen[m.queue]++;
        consume(&r, m.queue);
        fill(&r, m.queue, 1);
    }
    for (unsigned q = 0; q < 4; q++) {
        g_assert_cmpuint(seen[q], >, 50);
    }
    rig_fini(&r);
}

/* No room: held, offered again, nothing lost, nothing twice. */
static void test_hold(void)
{
    uint8_t f[60] = { 0 };
    Rig r;

    start(&r, NULL, 1);
    /* Whoever keeps frames back hears that a queue has come up. */
    g_assert_cmpuint(r.kicks_rx, >, 0);
    r.kicks_rx = 0;
    for (unsigned i = 0; i < 16; i++) {
        f[20] = i;
        g_assert_cmpint(ncic_eth_rx(&r.eth, f, 60), ==, NCIC_RX_TAKEN);
    }
    f[20] = 16;
    g_assert_true(ncic_eth_can_rx(&r.eth));
    g_assert_cmpint(ncic_eth_rx(&r.eth, f, 60), ==, NCIC_RX_HELD);
    g_assert_false(ncic_eth_can_rx(&r.eth));
    g_assert_cmpuint(rig_read(&r, 0x101c4), ==, 1);
    /* buffers alone do not help: the completion ring is full too */
    fill(&r, 0, 4);
    g_assert_cmpuint(r.kicks_rx, ==, 0);
    consume(&r, 0);
    g_assert_cmpuint(r.kicks_rx, ==, 1);
    g_assert_true(ncic_eth_can_rx(&r.eth));
    g_assert_cmpint(ncic_eth_rx(&r.eth, f, 60), ==, NCIC_RX_TAKEN);
    g_assert_cmphex(rig_ptr(&r, buf(0, 16))[20], ==, 16);
    /* unarmed */
    rig_write(&r, qreg(NCIC_RX, 0, NCIC_Q_CPL_INTR), 0);
    g_assert_cmpint(ncic_eth_rx(&r.eth, f, 60), ==, NCIC_RX_HELD);
    rig_write(&r, qreg(NCIC_RX, 0, NCIC_Q_CPL_INTR), 0x80000000);
    g_assert_cmpint(ncic_eth_rx(&r.eth, f, 60), ==, NCIC_RX_TAKEN);
    /* bus mastering off */
    r.dma_off = true;
    g_assert_cmpint(ncic_eth_rx(&r.eth, f, 60), ==, NCIC_RX_HELD);
    r.dma_off = false;
    ncic_eth_restart(&r.eth);
    g_assert_cmpint(ncic_eth_rx(&r.eth, f, 60), ==, NCIC_RX_TAKEN);
    g_assert_cmpuint(rig_read(&r, 0x1012c), ==, 0);
    g_assert_cmpuint(rig_read(&r, 0x10124), ==, 19);
    g_assert_cmpuint(rig_read(&r, 0x10110), ==, 19);
    rig_fini(&r);
}

/* What is held waits for its own queue, whatever happens to others. */
static void test_hold_other(void)
{
    uint8_t f[60];
    NcicRxMeta m;
    unsigned q = 0;
    size_t len = 0;
    Rig r;

    rig_init(&r, NULL);
    for (unsigned n = 0; !q; n++) {
        len = make_ipv4(f, 6, 0x0a000001 + n, 0x0a000002, 1, 2, 0);
        rig_write(&r, 0x10030, 3);
        ncic_rx_parse(&r.eth, f, len, &m);
        q = m.queue;
    }
    rig_queue(&r, NCIC_RX, 0, LOG);
    rig_queue(&r, NCIC_RX, q, LOG);
    r.kicks_rx = 0;
    g_assert_cmpint(ncic_eth_rx(&r.eth, f, len), ==, NCIC_RX_HELD);
    g_assert_cmpuint(r.eth.rx_blocked_queue, ==, q);
    fill(&r, 0, 1);
    g_assert_cmpuint(r.kicks_rx, ==, 0);
    fill(&r, q, 1);
    g_assert_cmpuint(r.kicks_rx, ==, 1);
    /* its queue goes away: nothing to wait for */
    g_assert_cmpint(ncic_eth_rx(&r.eth, f, len), ==, NCIC_RX_TAKEN);
    g_assert_cmpint(ncic_eth_rx(&r.eth, f, len), ==, NCIC_RX_HELD);
    rig_write(&r, qreg(NCIC_RX, q, NCIC_Q_LOG_SIZE), 0);
    g_assert_cmpuint(r.kicks_rx, ==, 2);
    g_assert_true(ncic_eth_can_rx(&r.eth));
    rig_fini(&r);
}

/* More frames wait for descriptors than there are places: held, and offered
 * again when the first of them goes. */
static void test_fifo_full(void)
{
    uint8_t f[60] = { 0 };
    Rig r;

    rig_init(&r, NULL);
    rig_queue(&r, NCIC_RX, 0, 5);
    for (unsigned i = 0; i < 20; i++) {
        rig_desc(&r, NCIC_RX, 0, 5, i, BUF + i * STEP, STEP, 0, 0);
    }
    rig_write(&r, qreg(NCIC_RX, 0, NCIC_Q_HEAD), 20);
    r.async = true;
    r.kicks_rx = 0;
    for (unsigned i = 0; i < 16; i++) {
        g_assert_cmpint(ncic_eth_rx(&r.eth, f, 60), ==, NCIC_RX_TAKEN);
    }
    g_assert_cmpint(ncic_eth_rx(&r.eth, f, 60), ==, NCIC_RX_HELD);
    g_assert_cmpuint(r.eth.rx_blocked_queue, ==, NCIC_BLOCKED_FIFO);
    rig_answer(&r, 1);
    g_assert_cmpuint(r.kicks_rx, ==, 0);
    rig_answer(&r, 0);
    g_assert_cmpuint(r.kicks_rx, ==, 1);
    g_assert_cmpuint(rig_read(&r, 0x10140), ==, 2);
    g_assert_cmpuint(rig_read(&r, 0x10134), ==, 0);
    g_assert_cmpint(ncic_eth_rx(&r.eth, f, 60), ==, NCIC_RX_TAKEN);
    rig_fini(&r);
}

/* Bus mastering alone ends what it began. */
static void test_hold_dma(void)
{
    uint8_t f[60] = { 0 };
    Rig r;

    start(&r, NULL, 1);
    r.dma_off = true;
    g_assert_cmpint(ncic_eth_rx(&r.eth, f, 60), ==, NCIC_RX_HELD);
    r.kicks_rx = 0;
    consume(&r, 0);
    ncic_eth_rx_retry(&r.eth);
    g_assert_cmpuint(r.kicks_rx, ==, 0);
    g_assert_false(ncic_eth_can_rx(&r.eth));
    r.dma_off = false;
    ncic_eth_restart(&r.eth);
    g_assert_cmpuint(r.kicks_rx, ==, 1);
    g_assert_true(ncic_eth_can_rx(&r.eth));
    rig_fini(&r);
}

/* Queues that drop: their own frames only, and only for want of descriptors. */
static void test_rx_drop(void)
{
    NcicEthConfig cfg = rig_config();
    uint8_t f[60] = { 0 };
    Rig r;

    cfg.rx_drop = 1;
    rig_init(&r, &cfg);
    rig_queue(&r, NCIC_RX, 0, LOG);
    g_assert_cmpint(ncic_eth_rx(&r.eth, f, 60), ==, NCIC_RX_TAKEN);
    g_assert_cmpuint(rig_read(&r, 0x101e0), ==, 1);
    g_assert_cmpuint(rig_read(&r, 0x10120), ==, 1);
    g_assert_cmpuint(rig_read(&r, 0x10110), ==, 1);
    g_assert_cmpuint(rig_read(&r, 0x1012c), ==, 1);
    g_assert_cmpuint(rig_read(&r, 0x101b8), ==, 0);
    fill(&r, 0, 1);
    r.dma_off = true;
    g_assert_cmpint(ncic_eth_rx(&r.eth, f, 60), ==, NCIC_RX_HELD);
    rig_fini(&r);
    cfg.rx_drop = ~1u;
    rig_init(&r, &cfg);
    rig_queue(&r, NCIC_RX, 0, LOG);
    g_assert_cmpint(ncic_eth_rx(&r.eth, f, 60), ==, NCIC_RX_HELD);
    g_assert_cmpuint(rig_read(&r, 0x101e0), ==, 0);
    rig_fini(&r);
}

/* A buffer, or a completion, that lies on the reset register: the engine is
 * reset under its own feet, and works afterwards. */
static void test_reset_inside(void)
{
    uint8_t f[60] = { 0 };
    Rig r;

    start(&r, NULL, 1);
    for (unsigned round = 0; round < 3; round++) {
        r.reset_on_write = true;
        g_assert_cmpint(ncic_eth_rx(&r.eth, f, 60), ==, NCIC_RX_TAKEN);
        g_assert_false(r.reset_on_write);
        g_assert_cmpuint(ncic_fetch_count(&r.eth.fetch[NCIC_RX]), ==, 0);
        g_assert_cmphex(rig_read(&r, qreg(NCIC_RX, 0, NCIC_Q_TAIL)), ==, 0);
        rig_queue(&r, NCIC_RX, 0, LOG);
        fill(&r, 0, 16);
    }
    g_assert_cmpint(ncic_eth_rx(&r.eth, f, 60), ==, NCIC_RX_TAKEN);
    g_assert_cmphex(rig_read(&r, qreg(NCIC_RX, 0, NCIC_Q_CPL_HEAD)), ==, 1);
    /* the completion of a transmission */
    rig_queue(&r, NCIC_TX, 0, LOG);
    rig_desc(&r, NCIC_TX, 0, LOG, 0, BUF, 60, 0, 0);
    rig_desc(&r, NCIC_TX, 0, LOG, 1, BUF, 60, 0, 0);
    rig_write(&r, qreg(NCIC_TX, 0, NCIC_Q_HEAD), 2);
    r.reset_on_write = true;
    g_assert_false(ncic_eth_tx_run(&r.eth, 64));
    g_assert_cmpuint(r.n_sent, ==, 1);
    g_assert_cmpuint(ncic_fetch_count(&r.eth.fetch[NCIC_TX]), ==, 0);
    rig_fini(&r);
}

/* Of a header that is cut or lies, nothing is said to be good. */
static void test_broken_header(void)
{
    uint8_t f[100];
    size_t len = make_ipv4(f, 6, 0x420995bb, 0xa18e6450, 2794, 1766, 20);
    NcicRxMeta m;
    Rig r;

    rig_init(&r, NULL);
    ncic_rx_parse(&r.eth, f, len, &m);
    g_assert_cmphex(m.csum, ==, 0);
    ncic_rx_parse(&r.eth, f, 33, &m);
    g_assert_cmphex(m.csum, ==, 0xffff);
    g_assert_cmphex(m.hash, ==, 0);
    /* a header alone: its addresses count */
    ncic_rx_parse(&r.eth, f, 34, &m);
    g_assert_cmphex(m.hash, ==, 0x323e8fc2);
    g_assert_cmphex(m.status & NCIC_CPL_TCP, !=, 0);
    ncic_rx_parse(&r.eth, f, 37, &m);
    g_assert_cmphex(m.hash, ==, 0x323e8fc2);
    ncic_rx_parse(&r.eth, f, 38, &m);
    g_assert_cmphex(m.hash, ==, 0x51ccc178);
    f[14] = 0x44;
    ncic_rx_parse(&r.eth, f, len, &m);
    g_assert_cmphex(m.csum, ==, 0xffff);
    g_assert_cmphex(m.status, ==, NCIC_CPL_IPV4);
    g_assert_cmphex(m.hash, ==, 0x323e8fc2);
    f[14] = 0x4f;
    ncic_rx_parse(&r.eth, f, 14 + 59, &m);
    g_assert_cmphex(m.csum, ==, 0xffff);
    g_assert_cmphex(m.status, ==, NCIC_CPL_IPV4);
    rig_fini(&r);
}

static void test_drop(void)
{
    uint8_t f[60] = { 0 };
    uint8_t *c;
    Rig r;

    rig_init(&r, NULL);
    /* nobody listens */
    g_assert_cmpint(ncic_eth_rx(&r.eth, f, 60), ==, NCIC_RX_TAKEN);
    g_assert_cmpuint(rig_read(&r, 0x10120), ==, 1);
    g_assert_cmpuint(rig_read(&r, 0x1012c), ==, 1);
    g_assert_cmpuint(rig_read(&r, 0x101b8), ==, 1);

    rig_queue(&r, NCIC_RX, 0, LOG);
    /* short buffer */
    rig_desc(&r, NCIC_RX, 0, LOG, 0, buf(0, 0), 20, 0, 0);
    /* no length: the buffer holds any frame */
    rig_desc(&r, NCIC_RX, 0, LOG, 1, buf(0, 1), 0, 0, 0);
    /* nowhere */
    rig_desc(&r, NCIC_RX, 0, LOG, 2, 0xdead0000, STEP, 0, 0);
    rig_write(&r, qreg(NCIC_RX, 0, NCIC_Q_HEAD), 3);
    memset(f, 0x77, sizeof(f));
    for (unsigned i = 0; i < 3; i++) {
        g_assert_cmpint(ncic_eth_rx(&r.eth, f, 60), ==, NCIC_RX_TAKEN);
    }
    c = cpl(&r, 0, 0);
    g_assert_cmphex(get_le32(c), ==, NCIC_CPL_ERROR);
    g_assert_cmphex(get_le16(c + 8), ==, 20);
    g_assert_cmphex(rig_ptr(&r, buf(0, 0))[19], ==, 0x77);
    g_assert_cmphex(rig_ptr(&r, buf(0, 0))[20], ==, 0);
    g_assert_cmpuint(rig_read(&r, 0x101c8), ==, 1);
    c = cpl(&r, 0, 1);
    g_assert_cmphex(get_le32(c), ==, 0);
    g_assert_cmphex(get_le16(c + 8), ==, 60);
    c = cpl(&r, 0, 2);
    g_assert_cmphex(get_le32(c), ==, NCIC_CPL_ERROR);
    g_assert_cmphex(get_le16(c + 8), ==, 0);
    g_assert_cmpuint(rig_read(&r, 0x101bc), ==, 1);
    g_assert_cmpuint(r.errors[NCIC_E_DATA_DMA], ==, 1);
    rig_fini(&r);
}

/* Descriptors that come late, in any order: frames in order of arrival. */
static void test_async(void)
{
    uint8_t f[60] = { 0 };
    Rig r;

    start(&r, NULL, 1);
    r.async = true;
    for (unsigned i = 0; i < 16; i++) {
        f[20] = i;
        g_assert_cmpint(ncic_eth_rx(&r.eth, f, 60), ==, NCIC_RX_TAKEN);
    }
    g_assert_cmpuint(r.n_wait, ==, 16);
    f[20] = 16;
    g_assert_cmpint(ncic_eth_rx(&r.eth, f, 60), ==, NCIC_RX_HELD);
    for (unsigned i = 15; i > 0; i--) {
        rig_answer(&r, i);
        g_assert_cmphex(rig_read(&r, qreg(NCIC_RX, 0, NCIC_Q_CPL_HEAD)), ==,
                        0);
    }
    rig_answer(&r, 0);
    g_assert_cmphex(rig_read(&r, qreg(NCIC_RX, 0, NCIC_Q_CPL_HEAD)), ==, 16);
    for (unsigned i = 0; i < 16; i++) {
        g_assert_cmphex(rig_ptr(&r, buf(0, i))[20], ==, i);
        g_assert_cmphex(get_le16(cpl(&r, 0, i) + 6), ==, i);
    }
    rig_fini(&r);
}

/* The queue is deactivated while its frame waits: no write to old memory. */
static void test_deactivate_in_flight(void)
{
    uint8_t f[60] = { 1, 2, 3 };
    Rig r;

    start(&r, NULL, 1);
    r.async = true;
    ncic_eth_rx(&r.eth, f, 60);
    g_assert_cmphex(rig_read(&r, qreg(NCIC_RX, 0, NCIC_Q_TAIL)), ==, 1);
    rig_write(&r, qreg(NCIC_RX, 0, NCIC_Q_LOG_SIZE), 0);
    g_assert_cmphex(rig_read(&r, qreg(NCIC_RX, 0, NCIC_Q_TAIL)), ==, 0);
    rig_answer(&r, 0);
    g_assert_cmphex(rig_ptr(&r, buf(0, 0))[0], ==, 0);
    g_assert_cmphex(rig_read(&r, qreg(NCIC_RX, 0, NCIC_Q_CPL_HEAD)), ==, 0);
    /* The cancelled descriptor is out of the table when the next one comes. */
    rig_write(&r, qreg(NCIC_RX, 0, NCIC_Q_LOG_SIZE), NCIC_Q_ACTIVE | LOG);
    ncic_eth_rx(&r.eth, f, 60);
    g_assert_cmpuint(rig_read(&r, 0x101b8), ==, 1);
    g_assert_cmpuint(rig_read(&r, 0x10120), ==, 1);
    g_assert_cmpuint(rig_read(&r, 0x1012c), ==, 1);
    g_assert_cmpuint(rig_read(&r, 0x101cc), ==, 0);
    rig_fini(&r);
}

/* A frame that waits for its descriptor goes with a reset, or with the state
 * that is loaded in its place; the next one is the first. */
static void test_reset_in_flight(void)
{
    uint8_t f[60] = { 1 };
    Rig r;

    start(&r, NULL, 1);
    r.async = true;
    ncic_eth_rx(&r.eth, f, 60);
    ncic_eth_reset(&r.eth);
    r.async = false;
    rig_queue(&r, NCIC_RX, 0, LOG);
    fill(&r, 0, 16);
    f[0] = 2;
    g_assert_cmpint(ncic_eth_rx(&r.eth, f, 60), ==, NCIC_RX_TAKEN);
    g_assert_cmphex(rig_read(&r, qreg(NCIC_RX, 0, NCIC_Q_CPL_HEAD)), ==, 1);
    g_assert_cmphex(rig_ptr(&r, buf(0, 0))[0], ==, 2);
    rig_fini(&r);
}

/* A queue that begins anew at once, with other rings: counters, completions and
 * interrupts are those of the new ones, whatever was left of the old. */
static void test_restart(void)
{
    const uint32_t cpl_base = qreg(NCIC_RX, 0, NCIC_Q_CPL_BASE_LO);
    const uint64_t base = MEM_BASE + 0x300000;
    uint8_t f[60] = { 7 };
    Rig r;

    start(&r, NULL, 1);
    for (unsigned i = 0; i < 5; i++) {
        ncic_eth_rx(&r.eth, f, 60);
    }
    g_assert_cmpuint(r.irq[0], ==, 1);
    rig_write(&r, qreg(NCIC_RX, 0, NCIC_Q_LOG_SIZE), LOG);
    rig_write(&r, qreg(NCIC_RX, 0, NCIC_Q_CPL_LOG_SIZE), LOG);
    rig_write(&r, qreg(NCIC_RX, 0, NCIC_Q_CPL_TAIL), 5);    /* late */
    g_assert_cmpuint(r.irq[0], ==, 1);
    rig_write(&r, qreg(NCIC_RX, 0, NCIC_Q_BASE_LO), base);
    rig_write(&r, cpl_base, base + 0x1000);
    for (unsigned i = 0; i < 2; i++) {
        rig_write(&r, qreg(NCIC_RX, 0, i ? NCIC_Q_HEAD : NCIC_Q_CPL_HEAD), 0);
        rig_write(&r, qreg(NCIC_RX, 0, i ? NCIC_Q_TAIL : NCIC_Q_CPL_TAIL), 0);
    }
    rig_write(&r, qreg(NCIC_RX, 0, NCIC_Q_CPL_LOG_SIZE), NCIC_Q_ACTIVE | LOG);
    rig_write(&r, qreg(NCIC_RX, 0, NCIC_Q_LOG_SIZE), NCIC_Q_ACTIVE | LOG);
    g_assert_cmpuint(r.irq[0], ==, 1);
    memset(rig_ptr(&r, base), 0, 0x2000);
    memset(cpl(&r, 0, 0), 0xee, 16 * NCIC_CPL_SIZE);
    put_le16(rig_ptr(&r, base) + NCIC_DESC_LENGTH, STEP);
    put_le64(rig_ptr(&r, base) + NCIC_DESC_ADDR, buf(0, 9));
    g_assert_cmpint(ncic_eth_rx(&r.eth, f, 60), ==, NCIC_RX_HELD);
    rig_write(&r, qreg(NCIC_RX, 0, NCIC_Q_HEAD), 1);
    g_assert_true(ncic_eth_can_rx(&r.eth));
    g_assert_cmpint(ncic_eth_rx(&r.eth, f, 60), ==, NCIC_RX_TAKEN);
    g_assert_cmpuint(r.irq[0], ==, 2);
    g_assert_cmphex(rig_ptr(&r, buf(0, 9))[0], ==, 7);
    g_assert_cmpuint(get_le16(rig_ptr(&r, base + 0x1000) + NCIC_CPL_LENGTH),
                     ==, 60);
    g_assert_cmphex(cpl(&r, 0, 5)[0], ==, 0xee);
    g_assert_cmphex(rig_read(&r, qreg(NCIC_RX, 0, NCIC_Q_CPL_HEAD)), ==, 1);
    g_assert_cmphex(rig_read(&r, 0x1018c), ==, 0);
    rig_fini(&r);
}

/* A descriptor that cannot be read: an error, counted, and no frame. */
static void test_bad_descriptor(void)
{
    uint8_t f[60] = { 1, 2, 3 };
    Rig r;

    rig_init(&r, NULL);
    rig_write(&r, qreg(NCIC_RX, 0, NCIC_Q_BASE_LO), 0xdead0000);
    rig_write(&r, qreg(NCIC_RX, 0, NCIC_Q_CPL_BASE_LO), cpl_ring(NCIC_RX, 0));
    rig_write(&r, qreg(NCIC_RX, 0, NCIC_Q_CPL_LOG_SIZE), NCIC_Q_ACTIVE | LOG);
    rig_write(&r, qreg(NCIC_RX, 0, NCIC_Q_CPL_INTR), NCIC_Q_CPL_ARMED);
    rig_write(&r, qreg(NCIC_RX, 0, NCIC_Q_LOG_SIZE), NCIC_Q_ACTIVE | LOG);
    rig_write(&r, qreg(NCIC_RX, 0, NCIC_Q_HEAD), 1);
    g_assert_cmpint(ncic_eth_rx(&r.eth, f, 60), ==, NCIC_RX_TAKEN);
    g_assert_cmphex(get_le32(cpl(&r, 0, 0)), ==, NCIC_CPL_ERROR);
    g_assert_cmphex(get_le16(cpl(&r, 0, 0) + 8), ==, 0);
    g_assert_cmpuint(r.errors[NCIC_E_DESC_DMA], ==, 1);
    g_assert_cmpuint(rig_read(&r, 0x101bc), ==, 1);
    g_assert_cmpuint(rig_read(&r, 0x1012c), ==, 1);
    g_assert_cmpuint(rig_read(&r, 0x10114), ==, 0);
    g_assert_cmpuint(rig_read(&r, 0x10128), ==, 0);
    rig_fini(&r);
}

static void test_jumbo(void)
{
    g_autofree uint8_t *f = g_malloc0(65535);
    NcicEthConfig cfg = rig_config();
    uint8_t *c;
    Rig r;

    cfg.mtu = 65517;
    rig_init(&r, &cfg);
    rig_queue(&r, NCIC_RX, 0, LOG);
    g_assert_cmphex(rig_read(&r, 0x10038), ==, 65517);
    for (unsigned i = 0; i < 65535; i++) {
        f[i] = i * 13;
    }
    put_be16(f + 12, 0x88b5);
    rig_desc(&r, NCIC_RX, 0, LOG, 0, BUF, 65535, 0, 0);
    rig_write(&r, qreg(NCIC_RX, 0, NCIC_Q_HEAD), 1);
    g_assert_cmpint(ncic_eth_rx(&r.eth, f, 65531), ==, NCIC_RX_TAKEN);
    c = cpl(&r, 0, 0);
    g_assert_cmpuint(get_le16(c + 8), ==, 65531);
    g_assert_cmpmem(rig_ptr(&r, BUF), 65531, f, 65531);
    rig_fini(&r);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/ncic/rx/arp", test_arp);
    g_test_add_func("/ncic/rx/sizes", test_sizes);
    g_test_add_func("/ncic/rx/meta", test_meta);
    g_test_add_func("/ncic/rx/checksum", test_checksum);
    g_test_add_func("/ncic/rx/malformed", test_malformed);
    g_test_add_func("/ncic/rx/vlan", test_vlan);
    g_test_add_func("/ncic/rx/spread", test_spread);
    g_test_add_func("/ncic/rx/hold", test_hold);
    g_test_add_func("/ncic/rx/hold-other", test_hold_other);
    g_test_add_func("/ncic/rx/fifo-full", test_fifo_full);
    g_test_add_func("/ncic/rx/hold-dma", test_hold_dma);
    g_test_add_func("/ncic/rx/rx-drop", test_rx_drop);
    g_test_add_func("/ncic/rx/reset-inside", test_reset_inside);
    g_test_add_func("/ncic/rx/broken-header", test_broken_header);
    g_test_add_func("/ncic/rx/drop", test_drop);
    g_test_add_func("/ncic/rx/async", test_async);
    g_test_add_func("/ncic/rx/deactivate-in-flight",
                    test_deactivate_in_flight);
    g_test_add_func("/ncic/rx/reset-in-flight", test_reset_in_flight);
    g_test_add_func("/ncic/rx/restart", test_restart);
    g_test_add_func("/ncic/rx/bad-descriptor", test_bad_descriptor);
    g_test_add_func("/ncic/rx/jumbo", test_jumbo);
    return g_test_run();
}
