/*
 * Transmit pipeline
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "frames.h"
#include "harness.h"

#define BUF (MEM_BASE + 0x200000)
#define LOG 6

static void send(Rig *r, unsigned q, uint64_t addr, uint16_t len,
                 uint8_t start, uint8_t offset)
{
    uint16_t head = rig_read(r, qreg(NCIC_TX, q, NCIC_Q_HEAD));

    rig_desc(r, NCIC_TX, q, LOG, head, addr, len, start, offset);
    rig_write(r, qreg(NCIC_TX, q, NCIC_Q_HEAD), (uint16_t)(head + 1));
}

static uint32_t last_status(Rig *r, unsigned q)
{
    uint16_t head = rig_read(r, qreg(NCIC_TX, q, NCIC_Q_CPL_HEAD));

    return get_le32(rig_cpl(r, NCIC_TX, q, LOG, head - 1) + NCIC_CPL_STATUS);
}

/* 1 byte to MTU: content intact, short frames padded with zeros to 60. */
static void test_sizes(void)
{
    Rig r;
    size_t n = 0;

    rig_init(&r, NULL);
    rig_queue(&r, NCIC_TX, 0, LOG);
    for (unsigned i = 0; i < 1518; i++) {
        rig_ptr(&r, BUF)[i] = i + 1;
    }
    put_be16(rig_ptr(&r, BUF) + 12, 0x88b5);
    for (size_t len = 1; len <= 1514; len++) {
        GByteArray *f;

        send(&r, 0, BUF, len, 0, 0);
        ncic_eth_tx_run(&r.eth, 8);
        g_assert_cmpuint(r.n_sent, ==, ++n);
        f = r.sent[n - 1];
        g_assert_cmpuint(f->len, ==, MAX(len, 60));
        g_assert_cmpmem(f->data, len, rig_ptr(&r, BUF), len);
        for (size_t i = len; i < f->len; i++) {
            g_assert_cmphex(f->data[i], ==, 0);
        }
        g_assert_cmphex(last_status(&r, 0), ==, 0);
        rig_write(&r, qreg(NCIC_TX, 0, NCIC_Q_CPL_TAIL),
                  rig_read(&r, qreg(NCIC_TX, 0, NCIC_Q_CPL_HEAD)));
    }
    /* What needs no padding goes from memory as it is. */
    g_assert_cmpuint(r.maps, ==, 1514 - 59);
    g_assert_cmpuint(rig_read(&r, 0x10104), ==, 1514);
    g_assert_cmpuint(rig_read(&r, 0x10108), ==, 1514);
    rig_fini(&r);
}

static void test_limits(void)
{
    Rig r;

    rig_init(&r, NULL);
    rig_queue(&r, NCIC_TX, 0, LOG);
    memset(rig_ptr(&r, BUF), 0, 2000);
    /* 1515 bytes: too long untagged, fine with a tag, 1519 never */
    send(&r, 0, BUF, 1515, 0, 0);
    ncic_eth_tx_run(&r.eth, 8);
    g_assert_cmphex(last_status(&r, 0), ==, NCIC_CPL_ERROR);
    put_be16(rig_ptr(&r, BUF) + 12, 0x8100);
    send(&r, 0, BUF, 1518, 0, 0);
    ncic_eth_tx_run(&r.eth, 8);
    g_assert_cmphex(last_status(&r, 0), ==, 0);
    send(&r, 0, BUF, 1519, 0, 0);
    ncic_eth_tx_run(&r.eth, 8);
    g_assert_cmphex(last_status(&r, 0), ==, NCIC_CPL_ERROR);
    g_assert_cmpuint(rig_read(&r, 0x101a4), ==, 2);
    /* length 0 */
    send(&r, 0, BUF, 0, 0, 0);
    ncic_eth_tx_run(&r.eth, 8);
    g_assert_cmphex(last_status(&r, 0), ==, NCIC_CPL_ERROR);
    g_assert_cmpuint(rig_read(&r, 0x101a0), ==, 1);
    g_assert_cmpuint(r.n_sent, ==, 1);
    g_assert_cmpuint(r.errors[NCIC_E_LENGTH], ==, 3);
    /* buffer and descriptor outside memory */
    send(&r, 0, 0xdead0000, 100, 0, 0);
    ncic_eth_tx_run(&r.eth, 8);
    g_assert_cmphex(last_status(&r, 0), ==, NCIC_CPL_ERROR);
    g_assert_cmpuint(r.errors[NCIC_E_DATA_DMA], ==, 1);
    g_assert_cmpuint(rig_read(&r, 0x101a8), ==, 1);
    rig_fini(&r);

    rig_init(&r, NULL);
    rig_write(&r, qreg(NCIC_TX, 0, NCIC_Q_CPL_BASE_LO), cpl_ring(NCIC_TX, 0));
    rig_write(&r, qreg(NCIC_TX, 0, NCIC_Q_CPL_LOG_SIZE), NCIC_Q_ACTIVE | LOG);
    rig_write(&r, qreg(NCIC_TX, 0, NCIC_Q_CPL_INTR), NCIC_Q_CPL_ARMED);
    rig_write(&r, qreg(NCIC_TX, 0, NCIC_Q_BASE_LO), 0xffff0000);
    rig_write(&r, qreg(NCIC_TX, 0, NCIC_Q_LOG_SIZE), NCIC_Q_ACTIVE | LOG);
    rig_write(&r, qreg(NCIC_TX, 0, NCIC_Q_HEAD), 1);
    ncic_eth_tx_run(&r.eth, 8);
    g_assert_cmpuint(r.errors[NCIC_E_DESC_DMA], ==, 1);
    g_assert_cmphex(last_status(&r, 0), ==, NCIC_CPL_ERROR);
    g_assert_cmpuint(r.irq[0], ==, 1);
    rig_fini(&r);
}

static void check_csum(uint8_t proto, unsigned field, size_t payload)
{
    uint8_t want[1600];
    size_t len = make_ipv4(want, proto, 0x0a000001, 0x0a000002, 1000, 2000,
                           payload);
    uint8_t *buf;
    Rig r;

    rig_init(&r, NULL);
    rig_queue(&r, NCIC_TX, 0, LOG);
    buf = rig_ptr(&r, BUF);
    memcpy(buf, want, len);
    /* The host leaves the pseudo-header sum in the field. */
    put_be16(buf + 34 + field, plain_pseudo(want + 14, len - 34));
    send(&r, 0, BUF, len, 34, 34 + field);
    ncic_eth_tx_run(&r.eth, 8);
    g_assert_cmpuint(r.n_sent, ==, 1);
    g_assert_cmpmem(r.sent[0]->data, len, want, len);
    rig_fini(&r);
}

static void test_checksum(void)
{
    for (size_t payload = 26; payload < 1400; payload += 13) {
        check_csum(6, 16, payload);
        check_csum(17, 6, payload);
    }
}

/* A frame whose checksum comes to 0, by the headers before layer 4. */
typedef struct ZeroCsum {
    uint16_t type;              /* EtherType */
    bool tagged;
    unsigned options;           /* bytes of IPv4 options or IPv6 headers */
    uint8_t proto;              /* layer 4, behind the options */
    uint8_t field;              /* the checksum's offset in layer 4 */
    uint16_t want;              /* what goes out */
} ZeroCsum;

static const ZeroCsum zero_csum[] = {
    { 0x0800, false, 0, 17, 6, 0xffff },
    { 0x0800, true, 0, 17, 6, 0xffff },
    { 0x0800, false, 12, 17, 6, 0xffff },
    { 0x86dd, false, 0, 17, 6, 0xffff },
    { 0x86dd, true, 0, 17, 6, 0xffff },
    { 0x86dd, false, 16, 17, 6, 0xffff },
    /* not UDP, or not its field */
    { 0x0800, false, 0, 6, 16, 0 },
    { 0x86dd, false, 0, 6, 16, 0 },
    { 0x86dd, false, 16, 6, 16, 0 },
    { 0x0800, false, 0, 6, 6, 0 },
    { 0x86dd, false, 0, 58, 6, 0 },
    { 0x0800, false, 0, 17, 4, 0 },
    { 0x86dd, false, 0, 17, 8, 0 },
    { 0x88b5, false, 0, 17, 6, 0 },
};

/* Returns where layer 4 begins. */
static size_t make_headers(uint8_t *f, const ZeroCsum *z)
{
    size_t l3 = z->tagged ? 18 : 14;
    uint8_t *ip = f + l3;

    put_be16(f + 12, z->tagged ? 0x8100 : z->type);
    if (z->tagged) {
        put_be16(f + 14, 5);
        put_be16(f + 16, z->type);
    }
    if (z->type != 0x86dd) {
        ip[0] = 0x40 | (20 + z->options) / 4;
        ip[9] = z->proto;
        return l3 + 20 + z->options;
    }
    ip[0] = 0x60;
    ip[6] = z->options ? 0 : z->proto;
    if (z->options) {
        /* hop-by-hop options, then destination options */
        ip[40] = 60;
        ip[48] = z->proto;
        ip[49] = (z->options - 8) / 8 - 1;
    }
    return l3 + 40 + z->options;
}

static void test_checksum_zero(void)
{
    for (unsigned i = 0; i < G_N_ELEMENTS(zero_csum); i++) {
        const ZeroCsum *z = &zero_csum[i];
        size_t l4, len;
        uint8_t *buf;
        Rig r;

        rig_init(&r, NULL);
        rig_queue(&r, NCIC_TX, 0, LOG);
        buf = rig_ptr(&r, BUF);
        l4 = make_headers(buf, z);
        len = l4 + 40;
        for (size_t n = l4; n < len - 2; n++) {
            buf[n] = n * 5 + 3;
        }
        /* The last word makes the sum ffff. */
        put_be16(buf + len - 2, ~plain_sum(0, buf + l4, len - 2 - l4));
        send(&r, 0, BUF, len, l4, l4 + z->field);
        ncic_eth_tx_run(&r.eth, 8);
        g_assert_cmpuint(r.n_sent, ==, 1);
        g_assert_cmpuint(r.errors[NCIC_E_CSUM], ==, 0);
        put_be16(buf + l4 + z->field, z->want);
        g_assert_cmpmem(r.sent[0]->data, len, buf, len);
        rig_fini(&r);
    }
}

/* A "UDP header" that the frame's own lengths put elsewhere. */
static void test_checksum_bad_lengths(void)
{
    uint8_t *buf;
    Rig r;

    rig_init(&r, NULL);
    rig_queue(&r, NCIC_TX, 0, LOG);
    buf = rig_ptr(&r, BUF);
    put_be16(buf + 12, 0x86dd);
    buf[14 + 40 + 1] = 255;     /* an option header of 2 KiB */
    memset(buf + 62, 0xff, 40);
    put_be16(buf + 62 + 6, 0xffff);
    send(&r, 0, BUF, 102, 62, 68);
    ncic_eth_tx_run(&r.eth, 8);
    g_assert_cmphex(get_be16(r.sent[0]->data + 68), ==, 0);
    /* the frame ends with its checksum, inside its headers */
    put_be16(buf + 12, 0x8100);
    put_be16(buf + 16, 0x86dd);
    memset(buf + 32, 0xff, 8);
    send(&r, 0, BUF, 40, 32, 38);
    ncic_eth_tx_run(&r.eth, 8);
    g_assert_cmphex(get_be16(r.sent[1]->data + 38), ==, 0);
    g_assert_cmpuint(r.errors[NCIC_E_CSUM], ==, 0);
    rig_fini(&r);
}

/* Positions outside 32..95 or outside the frame: sent as it is, reported. */
static void test_checksum_range(void)
{
    static const uint8_t bad[][2] = {
        { 31, 50 }, { 34, 31 }, { 96, 50 }, { 34, 96 }, { 34, 59 }, { 61, 50 },
    };
    Rig r;

    rig_init(&r, NULL);
    rig_queue(&r, NCIC_TX, 0, LOG);
    memset(rig_ptr(&r, BUF), 0x5a, 60);
    for (unsigned i = 0; i < G_N_ELEMENTS(bad); i++) {
        send(&r, 0, BUF, 60, bad[i][0], bad[i][1]);
        ncic_eth_tx_run(&r.eth, 8);
        g_assert_cmpuint(r.errors[NCIC_E_CSUM], ==, i + 1);
        g_assert_cmpmem(r.sent[i]->data, 60, rig_ptr(&r, BUF), 60);
    }
    rig_fini(&r);
}

/* The limits themselves, in a frame that has room for more. */
static void test_checksum_limits(void)
{
    static const struct { uint8_t start, offset; bool good; } at[] = {
        { 32, 50, true }, { 95, 50, true }, { 40, 32, true }, { 40, 95, true },
        { 31, 50, false }, { 96, 50, false }, { 40, 31, false },
        { 40, 96, false },
    };
    static const uint8_t empty[2] = { 0xff, 0xff };
    unsigned bad = 0;
    Rig r;

    rig_init(&r, NULL);
    rig_queue(&r, NCIC_TX, 0, LOG);
    memset(rig_ptr(&r, BUF), 0x5a, 120);
    for (unsigned i = 0; i < G_N_ELEMENTS(at); i++) {
        send(&r, 0, BUF, 120, at[i].start, at[i].offset);
        ncic_eth_tx_run(&r.eth, 8);
        bad += !at[i].good;
        g_assert_cmpuint(r.errors[NCIC_E_CSUM], ==, bad);
        g_assert_cmpint(!memcmp(r.sent[i]->data, rig_ptr(&r, BUF), 120), ==,
                        !at[i].good);
    }
    /* nothing but the end of the frame is covered */
    send(&r, 0, BUF, 80, 80, 50);
    ncic_eth_tx_run(&r.eth, 8);
    g_assert_cmpuint(r.errors[NCIC_E_CSUM], ==, bad);
    g_assert_cmpmem(r.sent[r.n_sent - 1]->data + 50, 2, empty, 2);
    /* no memory: nothing to go on with */
    send(&r, 0, BUF, 80, 0, 0);
    r.dma_off = true;
    g_assert_false(ncic_eth_tx_run(&r.eth, 8));
    g_assert_cmpuint(r.errors[NCIC_E_BUS_MASTER], ==, 1);
    rig_fini(&r);
}

/* One frame from each queue in turn. */
static void test_round_robin(void)
{
    Rig r;

    rig_init(&r, NULL);
    for (unsigned q = 0; q < 4; q++) {
        rig_queue(&r, NCIC_TX, q, LOG);
        for (unsigned i = 0; i < 4 + q * 4; i++) {
            uint64_t buf = BUF + (q * 64 + i) * 64;

            rig_ptr(&r, buf)[0] = q;
            rig_ptr(&r, buf)[1] = i;
            send(&r, q, buf, 60, 0, 0);
        }
    }
    while (ncic_eth_tx_run(&r.eth, 7)) {
    }
    g_assert_cmpuint(r.n_sent, ==, 4 + 8 + 12 + 16);
    for (unsigned i = 0; i < 16; i++) {
        g_assert_cmpuint(r.sent[i]->data[0], ==, i % 4);
        g_assert_cmpuint(r.sent[i]->data[1], ==, i / 4);
    }
    for (unsigned i = 0; i < 4; i++) {
        g_assert_cmpuint(r.sent[36 + i]->data[0], ==, 3);
    }
    rig_fini(&r);
}

/* A wire that stops: nothing lost, nothing twice, order kept. */
static void test_flow_control(void)
{
    Rig r;

    rig_init(&r, NULL);
    rig_queue(&r, NCIC_TX, 0, LOG);
    for (unsigned i = 0; i < 40; i++) {
        rig_ptr(&r, BUF + i * 64)[0] = i;
        send(&r, 0, BUF + i * 64, 60, 0, 0);
    }
    r.wire_full = true;
    for (unsigned i = 1; i <= 20; i++) {
        ncic_eth_tx_run(&r.eth, 64);
        g_assert_cmpuint(r.n_sent, ==, i);
        /* nothing that the guest does makes a stopped wire take more */
        ncic_eth_restart(&r.eth);
        ncic_eth_tx_run(&r.eth, 64);
        g_assert_cmpuint(r.n_sent, ==, i);
        rig_wire_done(&r, true);
    }
    g_assert_cmpuint(rig_read(&r, 0x10104), ==, 20);
    r.wire_full = false;
    ncic_eth_tx_run(&r.eth, 64);
    g_assert_cmpuint(r.n_sent, ==, 40);
    for (unsigned i = 0; i < 40; i++) {
        g_assert_cmpuint(r.sent[i]->data[0], ==, i);
    }
    rig_fini(&r);
}

/* The operation table is full: no request is counted that was not made. */
static void test_table_full(void)
{
    Rig r;

    rig_init(&r, NULL);
    rig_queue(&r, NCIC_TX, 0, 7);
    for (unsigned i = 0; i < 100; i++) {
        rig_desc(&r, NCIC_TX, 0, 7, i, BUF, 60, 0, 0);
    }
    rig_write(&r, qreg(NCIC_TX, 0, NCIC_Q_HEAD), 100);
    /* nor taken before it is its turn to be sent */
    g_assert_true(ncic_eth_tx_run(&r.eth, 1));
    g_assert_cmpuint(r.n_sent, ==, 1);
    g_assert_cmphex(rig_read(&r, qreg(NCIC_TX, 0, NCIC_Q_TAIL)), ==, 1);
    r.async = true;
    ncic_eth_tx_run(&r.eth, 256);
    g_assert_cmpuint(r.n_wait, ==, 64);
    g_assert_cmpuint(rig_read(&r, 0x10100), ==, 65);
    g_assert_cmpuint(rig_read(&r, 0x10130), ==, 65);
    g_assert_cmpuint(rig_read(&r, 0x10138), ==, 0);
    g_assert_cmphex(rig_read(&r, qreg(NCIC_TX, 0, NCIC_Q_TAIL)), ==, 65);
    rig_answer(&r, 0);
    g_assert_cmpuint(rig_read(&r, 0x10134), ==, 2);
    g_assert_cmpuint(rig_read(&r, 0x10140), ==, 0);
    /* places that become free are taken in the same turn */
    for (unsigned i = 1; i < 64; i++) {
        rig_answer(&r, i);
    }
    r.async = false;
    r.n_wait = 0;
    g_assert_false(ncic_eth_tx_run(&r.eth, 256));
    g_assert_cmpuint(r.n_sent, ==, 100);
    rig_fini(&r);
}

/* The link goes down while the wire is full: all complete, and are counted. */
static void test_full_wire_link(void)
{
    Rig r;

    rig_init(&r, NULL);
    rig_queue(&r, NCIC_TX, 0, LOG);
    for (unsigned i = 0; i < 10; i++) {
        send(&r, 0, BUF + i * 64, 60, 0, 0);
    }
    r.wire_full = true;
    ncic_eth_tx_run(&r.eth, 64);
    g_assert_cmpuint(rig_read(&r, qreg(NCIC_TX, 0, NCIC_Q_CPL_HEAD)), ==, 1);
    r.kicks_tx = 0;
    ncic_eth_set_link(&r.eth, false);
    g_assert_cmpuint(r.kicks_tx, ==, 1);
    ncic_eth_tx_run(&r.eth, 64);
    g_assert_cmpuint(r.n_sent, ==, 1);
    g_assert_cmpuint(rig_read(&r, qreg(NCIC_TX, 0, NCIC_Q_CPL_HEAD)), ==, 10);
    g_assert_cmpuint(rig_read(&r, 0x101ac), ==, 9);
    /* up again: the wire still has its frame, and is full */
    ncic_eth_set_link(&r.eth, true);
    send(&r, 0, BUF, 60, 0, 0);
    ncic_eth_tx_run(&r.eth, 64);
    g_assert_cmpuint(r.n_sent, ==, 1);
    /* nor does a reset make it take more */
    ncic_eth_reset(&r.eth);
    rig_write(&r, qreg(NCIC_TX, 0, NCIC_Q_CPL_LOG_SIZE), 0);
    rig_queue(&r, NCIC_TX, 0, LOG);
    rig_desc(&r, NCIC_TX, 0, LOG, 0, BUF, 60, 0, 0);
    rig_write(&r, qreg(NCIC_TX, 0, NCIC_Q_HEAD), 1);
    ncic_eth_tx_run(&r.eth, 64);
    g_assert_cmpuint(r.n_sent, ==, 1);
    r.wire_full = false;
    rig_wire_done(&r, true);
    ncic_eth_tx_run(&r.eth, 64);
    g_assert_cmpuint(r.n_sent, ==, 2);
    g_assert_cmpuint(rig_read(&r, 0x10104), ==, 2);
    rig_fini(&r);
}

/* A full or unarmed completion queue holds frames back until it is not. */
static void test_completion_pressure(void)
{
    uint32_t intr = qreg(NCIC_TX, 0, NCIC_Q_CPL_INTR);
    uint32_t tail = qreg(NCIC_TX, 0, NCIC_Q_CPL_TAIL);
    Rig r;

    rig_init(&r, NULL);
    rig_queue(&r, NCIC_TX, 0, 2);
    for (unsigned i = 0; i < 4; i++) {
        rig_desc(&r, NCIC_TX, 0, 2, i, BUF, 60, 0, 0);
    }
    rig_write(&r, intr, 1);
    rig_write(&r, qreg(NCIC_TX, 0, NCIC_Q_HEAD), 4);
    ncic_eth_tx_run(&r.eth, 64);
    g_assert_cmpuint(r.n_sent, ==, 0);
    g_assert_cmpuint(rig_read(&r, 0x10138), ==, 1);
    r.kicks_tx = 0;
    rig_write(&r, intr, 0x80000001);
    g_assert_cmpuint(r.kicks_tx, ==, 1);
    ncic_eth_tx_run(&r.eth, 64);
    g_assert_cmpuint(r.n_sent, ==, 4);
    /* ring of four completions, none consumed */
    rig_write(&r, qreg(NCIC_TX, 0, NCIC_Q_HEAD), 8);
    ncic_eth_tx_run(&r.eth, 64);
    g_assert_cmpuint(r.n_sent, ==, 4);
    rig_write(&r, tail, 1);
    ncic_eth_tx_run(&r.eth, 64);
    g_assert_cmpuint(r.n_sent, ==, 5);
    rig_write(&r, tail, 4);
    ncic_eth_tx_run(&r.eth, 64);
    g_assert_cmpuint(r.n_sent, ==, 8);
    rig_fini(&r);
}

/* Frames sent within the doorbell itself, and only there. */
static void test_doorbell(void)
{
    uint32_t head = qreg(NCIC_TX, 0, NCIC_Q_HEAD);
    Rig r;

    rig_init(&r, NULL);
    rig_queue(&r, NCIC_TX, 0, LOG);
    for (unsigned i = 0; i < 16; i++) {
        rig_ptr(&r, BUF + i * 64)[0] = i;
        rig_desc(&r, NCIC_TX, 0, LOG, i, BUF + i * 64, 60, 0, 0);
    }
    r.tx_inline = 3;
    rig_write(&r, head, 1);
    g_assert_cmpuint(r.n_sent, ==, 1);
    g_assert_cmpuint(r.irq[1], ==, 1);
    g_assert_cmphex(rig_read(&r, qreg(NCIC_TX, 0, NCIC_Q_CPL_HEAD)), ==, 1);
    g_assert_cmpuint(r.kicks_tx, ==, 0);
    /* what is beyond the budget is left to the kick */
    rig_write(&r, head, 10);
    g_assert_cmpuint(r.n_sent, ==, 4);
    g_assert_cmpuint(r.kicks_tx, ==, 1);
    /* the same head is no doorbell, and other registers are none either */
    rig_write(&r, head, 10);
    g_assert_cmpuint(r.n_sent, ==, 4);
    g_assert_cmpuint(r.kicks_tx, ==, 1);
    rig_write(&r, qreg(NCIC_TX, 0, NCIC_Q_CPL_TAIL), 4);
    g_assert_cmpuint(r.n_sent, ==, 4);
    g_assert_cmpuint(r.kicks_tx, ==, 2);
    while (ncic_eth_tx_run(&r.eth, 64)) {
    }
    g_assert_cmpuint(r.n_sent, ==, 10);
    /* a wire that is busy owes a resume, whatever rings */
    r.wire_full = true;
    rig_write(&r, head, 12);
    g_assert_cmpuint(r.n_sent, ==, 11);
    rig_write(&r, head, 16);
    g_assert_cmpuint(r.n_sent, ==, 11);
    r.wire_full = false;
    rig_wire_done(&r, true);
    while (ncic_eth_tx_run(&r.eth, 64)) {
    }
    g_assert_cmpuint(r.n_sent, ==, 16);
    for (unsigned i = 0; i < 16; i++) {
        g_assert_cmpuint(r.sent[i]->data[0], ==, i);
    }
    rig_fini(&r);
}

/* Hangs on demand concern the queues they name, until the device is reset. */
static void test_faults(void)
{
    Rig r;

    rig_init(&r, NULL);
    for (unsigned q = 0; q < 2; q++) {
        rig_queue(&r, NCIC_TX, q, LOG);
    }
    ncic_eth_set_fault(&r.eth, NCIC_FAULT_TX_STALL, 1u << 1);
    send(&r, 1, BUF, 60, 0, 0);
    send(&r, 0, BUF, 60, 0, 0);
    g_assert_true(ncic_eth_tx_work(&r.eth));
    while (ncic_eth_tx_run(&r.eth, 8)) {
    }
    g_assert_cmpuint(r.n_sent, ==, 1);
    g_assert_false(ncic_eth_tx_work(&r.eth));
    g_assert_cmphex(rig_read(&r, qreg(NCIC_TX, 1, NCIC_Q_TAIL)), ==, 0);
    r.kicks_tx = 0;
    ncic_eth_set_fault(&r.eth, NCIC_FAULT_TX_STALL, 0);
    g_assert_cmpuint(r.kicks_tx, ==, 1);
    ncic_eth_tx_run(&r.eth, 8);
    g_assert_cmpuint(r.n_sent, ==, 2);

    ncic_eth_set_fault(&r.eth, NCIC_FAULT_TX_MUTE, 1);
    send(&r, 0, BUF, 60, 0, 0);
    send(&r, 1, BUF, 60, 0, 0);
    ncic_eth_tx_run(&r.eth, 8);
    g_assert_cmpuint(r.n_sent, ==, 4);
    g_assert_cmphex(rig_read(&r, qreg(NCIC_TX, 0, NCIC_Q_TAIL)), ==, 2);
    g_assert_cmphex(rig_read(&r, qreg(NCIC_TX, 0, NCIC_Q_CPL_HEAD)), ==, 1);
    g_assert_cmphex(rig_read(&r, qreg(NCIC_TX, 1, NCIC_Q_CPL_HEAD)), ==, 2);

    ncic_eth_reset(&r.eth);
    rig_queue(&r, NCIC_TX, 0, LOG);
    send(&r, 0, BUF, 60, 0, 0);
    ncic_eth_tx_run(&r.eth, 8);
    g_assert_cmpuint(r.n_sent, ==, 5);
    g_assert_cmphex(rig_read(&r, qreg(NCIC_TX, 0, NCIC_Q_CPL_HEAD)), ==, 1);
    rig_fini(&r);
}

static void test_start_dma_link(void)
{
    Rig r;

    rig_init(&r, NULL);
    rig_queue(&r, NCIC_TX, 0, LOG);
    rig_write(&r, 0x10050, 0);
    send(&r, 0, BUF, 60, 0, 0);
    ncic_eth_tx_run(&r.eth, 8);
    g_assert_cmpuint(r.n_sent, ==, 0);
    rig_write(&r, 0x01050, 1);
    r.dma_off = true;
    ncic_eth_tx_run(&r.eth, 8);
    g_assert_cmpuint(r.n_sent, ==, 0);
    g_assert_cmpuint(r.errors[NCIC_E_BUS_MASTER], ==, 1);
    r.dma_off = false;
    ncic_eth_restart(&r.eth);
    ncic_eth_tx_run(&r.eth, 8);
    g_assert_cmpuint(r.n_sent, ==, 1);

    rig_write(&r, 0x10188, 0x80000009);
    ncic_eth_set_link(&r.eth, false);
    g_assert_cmpuint(r.irq[9], ==, 1);
    g_assert_cmphex(rig_read(&r, 0x10184), ==, 0);
    send(&r, 0, BUF, 60, 0, 0);
    ncic_eth_tx_run(&r.eth, 8);
    g_assert_cmpuint(r.n_sent, ==, 1);
    g_assert_cmpuint(rig_read(&r, 0x101ac), ==, 1);
    g_assert_cmphex(rig_read(&r, qreg(NCIC_TX, 0, NCIC_Q_CPL_HEAD)), ==, 2);
    /* reset does not bring the link up */
    ncic_eth_reset(&r.eth);
    g_assert_cmphex(rig_read(&r, 0x10184), ==, 0);
    ncic_eth_set_link(&r.eth, true);
    g_assert_cmphex(rig_read(&r, 0x10184), ==, 1);
    rig_fini(&r);
}

/* A descriptor that cannot be read: nothing is sent, and the completion names
 * no length, since none was read. */
static void test_bad_descriptor(void)
{
    const uint8_t *c;
    Rig r;

    rig_init(&r, NULL);
    rig_queue(&r, NCIC_TX, 0, LOG);
    rig_write(&r, qreg(NCIC_TX, 0, NCIC_Q_LOG_SIZE), 0);
    rig_write(&r, qreg(NCIC_TX, 0, NCIC_Q_BASE_LO), 0xdead0000);
    rig_write(&r, qreg(NCIC_TX, 0, NCIC_Q_LOG_SIZE), NCIC_Q_ACTIVE | LOG);
    rig_write(&r, qreg(NCIC_TX, 0, NCIC_Q_HEAD), 1);
    ncic_eth_tx_run(&r.eth, 8);
    c = rig_cpl(&r, NCIC_TX, 0, LOG, 0);
    g_assert_cmpuint(r.n_sent, ==, 0);
    g_assert_cmphex(get_le32(c + NCIC_CPL_STATUS), ==, NCIC_CPL_ERROR);
    g_assert_cmpuint(get_le16(c + NCIC_CPL_LENGTH), ==, 0);
    g_assert_cmpuint(rig_read(&r, 0x101a8), ==, 1);
    g_assert_cmpuint(r.errors[NCIC_E_DESC_DMA], ==, 1);
    rig_fini(&r);
}

/* Many descriptor reads outstanding, answered backwards. */
static void test_async(void)
{
    Rig r;

    rig_init(&r, NULL);
    r.async = true;
    for (unsigned q = 0; q < 3; q++) {
        rig_queue(&r, NCIC_TX, q, LOG);
        for (unsigned i = 0; i < 10; i++) {
            uint64_t buf = BUF + (q * 10 + i) * 64;

            rig_ptr(&r, buf)[0] = q;
            rig_ptr(&r, buf)[1] = i;
            send(&r, q, buf, 60, 0, 0);
        }
    }
    ncic_eth_tx_run(&r.eth, 64);
    g_assert_cmpuint(r.n_wait, ==, 30);
    g_assert_cmpuint(r.n_sent, ==, 0);
    for (unsigned i = 30; i > 1; i--) {
        rig_answer(&r, i - 1);
        ncic_eth_tx_run(&r.eth, 64);
        g_assert_cmpuint(r.n_sent, ==, 0);
    }
    rig_answer(&r, 0);
    ncic_eth_tx_run(&r.eth, 64);
    g_assert_cmpuint(r.n_sent, ==, 30);
    for (unsigned i = 0; i < 30; i++) {
        g_assert_cmpuint(r.sent[i]->data[0], ==, i % 3);
        g_assert_cmpuint(r.sent[i]->data[1], ==, i / 3);
    }
    rig_fini(&r);
}

/* Deactivating a queue or resetting stops what is under way for it. */
static void test_deactivate_in_flight(void)
{
    Rig r;

    rig_init(&r, NULL);
    r.async = true;
    for (unsigned q = 0; q < 2; q++) {
        rig_queue(&r, NCIC_TX, q, LOG);
        rig_ptr(&r, BUF + q * 64)[0] = q;
        send(&r, q, BUF + q * 64, 60, 0, 0);
    }
    ncic_eth_tx_run(&r.eth, 64);
    g_assert_cmpuint(r.n_wait, ==, 2);
    rig_write(&r, qreg(NCIC_TX, 0, NCIC_Q_LOG_SIZE), 0);
    g_assert_cmphex(rig_read(&r, qreg(NCIC_TX, 0, NCIC_Q_TAIL)), ==, 0);
    g_assert_cmphex(rig_read(&r, qreg(NCIC_TX, 1, NCIC_Q_TAIL)), ==, 1);
    rig_answer(&r, 0);
    rig_answer(&r, 1);
    ncic_eth_tx_run(&r.eth, 64);
    g_assert_cmpuint(r.n_sent, ==, 1);
    g_assert_cmpuint(r.sent[0]->data[0], ==, 1);
    g_assert_cmphex(rig_read(&r, qreg(NCIC_TX, 0, NCIC_Q_CPL_HEAD)), ==, 0);
    g_assert_cmphex(rig_read(&r, qreg(NCIC_TX, 1, NCIC_Q_CPL_HEAD)), ==, 1);

    r.n_wait = 0;
    send(&r, 1, BUF, 60, 0, 0);
    ncic_eth_tx_run(&r.eth, 64);
    ncic_eth_reset(&r.eth);
    rig_answer(&r, 0);
    ncic_eth_tx_run(&r.eth, 64);
    g_assert_cmpuint(r.n_sent, ==, 1);
    rig_fini(&r);
}

/*
 * A full wire: what was sent is completed, what was only fetched goes back to
 * the ring, and a ring that is activated again sends it.
 */
static void test_deactivate_full_wire(void)
{
    uint32_t size = qreg(NCIC_TX, 0, NCIC_Q_LOG_SIZE);
    uint32_t tail = qreg(NCIC_TX, 0, NCIC_Q_TAIL);
    uint32_t cpl_size = qreg(NCIC_TX, 0, NCIC_Q_CPL_LOG_SIZE);
    uint32_t cpl_head = qreg(NCIC_TX, 0, NCIC_Q_CPL_HEAD);
    const uint16_t first = 0xfffd;
    Rig r;

    rig_init(&r, NULL);
    rig_write(&r, qreg(NCIC_TX, 0, NCIC_Q_HEAD), first);
    rig_write(&r, tail, first);
    rig_write(&r, cpl_head, first);
    rig_write(&r, qreg(NCIC_TX, 0, NCIC_Q_CPL_TAIL), first);
    rig_queue(&r, NCIC_TX, 0, LOG);
    for (unsigned i = 0; i < 10; i++) {
        rig_ptr(&r, BUF + i * 64)[0] = i;
        send(&r, 0, BUF + i * 64, 60, 0, 0);
    }
    r.wire_full = true;
    ncic_eth_tx_run(&r.eth, 64);
    g_assert_cmphex(rig_read(&r, tail), ==, (uint16_t)(first + 10));
    rig_write(&r, size, LOG);
    g_assert_cmphex(rig_read(&r, tail), ==, (uint16_t)(first + 1));
    g_assert_cmphex(rig_read(&r, cpl_head), ==, (uint16_t)(first + 1));
    /* once only */
    rig_write(&r, cpl_size, LOG);
    g_assert_cmphex(rig_read(&r, tail), ==, (uint16_t)(first + 1));
    r.wire_full = false;
    rig_wire_done(&r, true);
    ncic_eth_tx_run(&r.eth, 64);
    g_assert_cmpuint(r.n_sent, ==, 1);

    rig_write(&r, cpl_size, NCIC_Q_ACTIVE | LOG);
    rig_write(&r, size, NCIC_Q_ACTIVE | LOG);
    ncic_eth_tx_run(&r.eth, 64);
    g_assert_cmpuint(r.n_sent, ==, 10);
    for (unsigned i = 0; i < 10; i++) {
        g_assert_cmpuint(r.sent[i]->data[0], ==, i);
    }
    g_assert_cmphex(rig_read(&r, tail), ==, (uint16_t)(first + 10));
    g_assert_cmphex(rig_read(&r, cpl_head), ==, (uint16_t)(first + 10));
    rig_fini(&r);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/ncic/tx/sizes", test_sizes);
    g_test_add_func("/ncic/tx/limits", test_limits);
    g_test_add_func("/ncic/tx/checksum", test_checksum);
    g_test_add_func("/ncic/tx/checksum-zero", test_checksum_zero);
    g_test_add_func("/ncic/tx/checksum-bad-lengths",
                    test_checksum_bad_lengths);
    g_test_add_func("/ncic/tx/checksum-range", test_checksum_range);
    g_test_add_func("/ncic/tx/checksum-limits", test_checksum_limits);
    g_test_add_func("/ncic/tx/round-robin", test_round_robin);
    g_test_add_func("/ncic/tx/flow-control", test_flow_control);
    g_test_add_func("/ncic/tx/table-full", test_table_full);
    g_test_add_func("/ncic/tx/full-wire-link", test_full_wire_link);
    g_test_add_func("/ncic/tx/completion-pressure", test_completion_pressure);
    g_test_add_func("/ncic/tx/doorbell", test_doorbell);
    g_test_add_func("/ncic/tx/faults", test_faults);
    g_test_add_func("/ncic/tx/start-dma-link", test_start_dma_link);
    g_test_add_func("/ncic/tx/bad-descriptor", test_bad_descriptor);
    g_test_add_func("/ncic/tx/async", test_async);
    g_test_add_func("/ncic/tx/deactivate-in-flight",
                    test_deactivate_in_flight);
    g_test_add_func("/ncic/tx/deactivate-full-wire",
                    test_deactivate_full_wire);
    return g_test_run();
}
