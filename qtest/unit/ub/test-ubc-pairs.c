/*
 * Ring pairs of ubc: what each one carries, and that none blocks another.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <glib.h>

#include "ubc-pair.h"

/* Memory of pair n: two rings of 16 descriptors, and buffers. */
#define SMALL_LOG 4
#define SMALL (1u << SMALL_LOG)
#define RING_OF(n, rx) (0x40000u + (n) * 0x200u + (rx) * 0x100u)
#define BUF_OF(n, rx) (0x100000u + (n) * 0x2000u + (rx) * 0x1000u)
#define LEN 0x100u

static uint16_t posted[2][UBC_PAIRS][2]; /* by side, pair, ring */

static uint32_t ring_reg(unsigned n, bool rx)
{
    return UBC_PAIR(n) + (rx ? UBC_RING_RX : UBC_RING_TX);
}

static void ring_on(Side *s, unsigned n, bool rx)
{
    uint32_t r = ring_reg(n, rx);

    wr(s, r + UBC_RING_BASE_LO, RING_OF(n, rx));
    wr(s, r + UBC_RING_SIZE, SMALL_LOG);
    wr(s, r + UBC_RING_CTRL, UBC_RING_ENABLE);
    posted[s == &two[1]][n][rx] = 0;
}

static void pair_on(Side *s, unsigned n, uint32_t vls, uint32_t cfgs)
{
    wr(s, UBC_PAIR(n) + UBC_PAIR_VLS, vls);
    wr(s, UBC_PAIR(n) + UBC_PAIR_CFGS, cfgs);
    ring_on(s, n, false);
    ring_on(s, n, true);
}

static uint8_t *desc_at(Side *s, unsigned n, bool rx, unsigned i)
{
    return s->mem + RING_OF(n, rx) + i % SMALL * UBC_DESC_SIZE;
}

/* `count` more descriptors; a packet begins with its pair and number. */
static void post(Side *s, unsigned n, bool rx, unsigned count, uint16_t flags)
{
    uint16_t *head = &posted[s == &two[1]][n][rx];

    while (count--) {
        uint8_t *d = desc_at(s, n, rx, *head);
        uint32_t buf = BUF_OF(n, rx) + *head % SMALL * LEN;

        if (!rx) {
            memset(s->mem + buf, n, LEN);
            put_le32(s->mem + buf, n << 16 | *head);
        }
        put_le64(d, buf);
        put_le32(d + 8, LEN);
        put_le16(d + 12, flags);
        put_le16(d + 14, 0);
        ++*head;
    }
    wr(s, ring_reg(n, rx) + UBC_RING_HEAD, *head);
}

static uint16_t tail(Side *s, unsigned n, bool rx)
{
    return rd(s, ring_reg(n, rx) + UBC_RING_TAIL);
}

static uint16_t status_of(Side *s, unsigned n, bool rx, unsigned i)
{
    return get_le16(desc_at(s, n, rx, i) + 14);
}

/* Descriptor i of a receive ring has packet `number` of pair `from`. */
static void check_rx(Side *s, unsigned n, unsigned i, unsigned from,
                     unsigned number, uint16_t flags)
{
    uint8_t *d = desc_at(s, n, true, i);

    g_assert_cmphex(get_le16(d + 14), ==, UBC_DESC_DONE);
    g_assert_cmphex(get_le16(d + 12), ==, flags);
    g_assert_cmpuint(get_le32(d + 8), ==, LEN);
    g_assert_cmphex(get_le32(s->mem + get_le64(d)), ==, from << 16 | number);
}

static uint64_t count(Side *s, unsigned n)
{
    return rd(s, UBC_PORT(0) + UBC_COUNTER(n));
}

static uint16_t vl(unsigned n)
{
    return n << UBC_DESC_VL_SHIFT;
}

/* Two controllers whose link is up; no ring is enabled. */
static void up(Side *a, Side *b, const UbcConfig *conf)
{
    now = 1000;
    side_init(a, b, conf);
    side_init(b, a, conf);
    connect(a, b);
    wr(a, UBC_PORT(0) + UBC_PORT_CTRL, UBC_PORT_CTRL_ENABLE);
    wr(b, UBC_PORT(0) + UBC_PORT_CTRL, UBC_PORT_CTRL_ENABLE);
    g_assert_true(run_until(a, b, both_up, 60 * SECOND));
    run_until(a, b, never, SECOND / 10);
}

static void rest(Side *a, Side *b)
{
    run_until(a, b, never, SECOND / 100);
}

/* ---- Registers ----------------------------------------------------------------- */

static void test_map(void)
{
    static const uint32_t kept[] = { 0x38000, 0x40100, 0x50000, 0x403000,
                                     0xfffffc };
    Side *a = &two[0], *b = &two[1];
    unsigned errors = 0;
    UbcConfig conf;

    ubc_config_init(&conf);
    up(a, b, &conf);
    g_assert_cmpuint(rd(a, UBC_VERSION), ==, 2);
    g_assert_cmphex(rd(a, UBC_CAPS), ==, 0xef);
    for (unsigned i = 0; i < G_N_ELEMENTS(kept); i++) {
        wr(a, kept[i], ~0u);
        g_assert_cmpuint(a->guest_errors, ==, ++errors);
        g_assert_cmphex(rd(a, kept[i]), ==, 0);
    }
    for (unsigned n = 0; n < UBC_PAIRS; n += 85) {
        uint32_t p = UBC_PAIR(n);

        g_assert_cmphex(rd(a, p + UBC_PAIR_PORT), ==, 0);
        g_assert_cmphex(rd(a, p + UBC_PAIR_VLS), ==, 0xffff);
        g_assert_cmphex(rd(a, p + UBC_PAIR_CFGS), ==, 0xfd3f);
        g_assert_cmphex(rd(a, p + UBC_PAIR_RT), ==, UBC_PAIR_RT_DESC);
        /* Bits that mean nothing stay 0. */
        wr(a, p + UBC_PAIR_VLS, ~0u);
        wr(a, p + UBC_PAIR_CFGS, 0xffff0018);
        wr(a, p + UBC_PAIR_RT, 0xfffffffa);
        g_assert_cmphex(rd(a, p + UBC_PAIR_VLS), ==, 0xffff);
        g_assert_cmphex(rd(a, p + UBC_PAIR_CFGS), ==, 0x18);
        g_assert_cmphex(rd(a, p + UBC_PAIR_RT), ==, 2);
        /* A port that there is not, registers that there are not. */
        wr(a, p + UBC_PAIR_PORT, 1);
        wr(a, p + UBC_PAIR_PORT, ~0u);
        g_assert_cmphex(rd(a, p + UBC_PAIR_PORT), ==, 0);
        wr(a, p + 0x10, 1);
        wr(a, p + 0xc0, 1);
        wr(a, p + UBC_RING_TX + UBC_RING_TAIL, 1);
        errors += 5;
        g_assert_cmpuint(a->guest_errors, ==, errors);
        g_assert_cmphex(rd(a, p + 0x10) | rd(a, p + 0xc0), ==, 0);
        /* While a ring is enabled the binding stays. */
        for (unsigned rx = 0; rx < 2; rx++) {
            ring_on(a, n, rx);
            wr(a, p + UBC_PAIR_PORT, 0);
            wr(a, p + UBC_PAIR_VLS, 1);
            wr(a, p + UBC_PAIR_CFGS, 1);
            wr(a, p + UBC_PAIR_RT, 1);
            errors += 4;
            g_assert_cmpuint(a->guest_errors, ==, errors);
            g_assert_cmphex(rd(a, p + UBC_PAIR_VLS), ==, 0xffff);
            g_assert_cmphex(rd(a, p + UBC_PAIR_CFGS), ==, 0x18);
            g_assert_cmphex(rd(a, p + UBC_PAIR_RT), ==, 2);
            wr(a, ring_reg(n, rx) + UBC_RING_CTRL, 0);
        }
    }
    /* Ports that there are not; a ring's registers that there are not. */
    for (unsigned p = 1; p < 9; p++) {
        wr(a, UBC_PORT(p) + UBC_PORT_EVENT_MASK, 1);
        g_assert_cmpuint(a->guest_errors, ==, ++errors);
        g_assert_cmphex(rd(a, UBC_PORT(p) + UBC_PORT_MTU), ==, 0);
    }
    wr(a, UBC_PORT(0) + UBC_PORT_MTU, 1);
    g_assert_cmpuint(a->guest_errors, ==, ++errors);
    g_assert_cmphex(rd(a, UBC_PAIR(0) + UBC_RING_RX + 0x20), ==, 0);
    /* No reset without its bit. */
    wr(a, UBC_CTRL, ~UBC_CTRL_RESET);
    g_assert_cmphex(rd(a, UBC_PAIR(85) + UBC_PAIR_CFGS), ==, 0x18);
    wr(a, UBC_CTRL, UBC_CTRL_RESET);
    g_assert_cmphex(rd(a, UBC_PAIR(85) + UBC_PAIR_CFGS), ==, 0xfd3f);
    g_assert_cmphex(rd(a, UBC_PAIR(85) + UBC_PAIR_RT), ==, UBC_PAIR_RT_DESC);
    unpair(a, b);
}

/* One vector is enough; each source may have its own; none beyond the table. */
static void test_vectors(void)
{
    static const struct { uint32_t reg, vector; } sources[] = {
        { UBC_VECTOR, 1023 },
        { UBC_PORT(0) + UBC_PORT_VECTOR, 7 },
        { UBC_PAIR(9) + UBC_RING_TX + UBC_RING_VECTOR, 500 },
        { UBC_PAIR(9) + UBC_RING_RX + UBC_RING_VECTOR, 31 },
    };
    Side *a = &two[0], *b = &two[1];
    UbcConfig conf;

    ubc_config_init(&conf);
    up(a, b, &conf);
    for (unsigned round = 0; round < 2; round++) {
        memset(a->interrupts, 0, sizeof(a->interrupts));
        for (unsigned i = 0; i < G_N_ELEMENTS(sources); i++) {
            g_assert_cmpuint(rd(a, sources[i].reg), ==, 0);
            if (round) {
                wr(a, sources[i].reg, sources[i].vector);
                wr(a, sources[i].reg, UBC_VECTORS);
                wr(a, sources[i].reg, ~0u);
                g_assert_cmpuint(rd(a, sources[i].reg), ==,
                                 sources[i].vector);
            }
        }
        pair_on(a, 9, 0xffff, 0xffff);
        pair_on(b, 0, 0xffff, 0xffff);
        /* The controller: an event that was noted before its mask came. */
        wr(a, UBC_ID, 0);
        wr(a, UBC_EVENT_MASK, UBC_EVENT_GUEST_ERROR);
        g_assert_cmpuint(a->interrupts[round ? 1023 : 0], ==, 1);
        wr(a, ring_reg(9, false) + UBC_RING_ARM, 0);
        wr(a, ring_reg(9, true) + UBC_RING_ARM, 0);
        post(a, 9, true, 1, 0);
        post(a, 9, false, 1, 3);
        post(b, 0, false, 1, 3);
        rest(a, b);
        g_assert_cmpuint(a->interrupts[round ? 500 : 0], ==, round ? 1 : 3);
        g_assert_cmpuint(a->interrupts[round ? 31 : 0], ==, round ? 1 : 3);
        wr(a, UBC_PORT(0) + UBC_PORT_EVENT_MASK, UBC_PORT_EVENT_ALL);
        g_assert_cmpuint(a->interrupts[round ? 7 : 0], ==, round ? 1 : 4);
        wr(a, UBC_CTRL, UBC_CTRL_RESET);
        wr(b, UBC_CTRL, UBC_CTRL_RESET);
        wr(a, UBC_PORT(0) + UBC_PORT_CTRL, UBC_PORT_CTRL_ENABLE);
        wr(b, UBC_PORT(0) + UBC_PORT_CTRL, UBC_PORT_CTRL_ENABLE);
        g_assert_true(run_until(a, b, both_up, 60 * SECOND));
    }
    unpair(a, b);
}

/* ---- Whose a packet is ------------------------------------------------------------ */

static void test_claim(void)
{
    Side *a = &two[0], *b = &two[1];
    UbcConfig conf;

    ubc_config_init(&conf);
    up(a, b, &conf);
    pair_on(a, 0, 0xffff, 0xffff);
    /* The first one that has it, not the one that was enabled first. */
    pair_on(b, 200, 0xffff, 0xffff);
    pair_on(b, 3, 1 << 1, 1 << 3 | 1 << 4);
    pair_on(b, 2, 0, 0xffff);     /* none at all */
    pair_on(b, 1, 0xffff, 1 << 4);
    for (unsigned n = 1; n < 201; n += n == 3 ? 197 : 1) {
        post(b, n, true, 8, 0);
    }
    for (unsigned i = 0; i < 4; i++) {
        static const uint16_t flags[] = { 4, 0x14, 0x13, 0x23 };

        post(a, 0, false, 1, flags[i]);
        rest(a, b); /* VLs overtake one another */
    }
    check_rx(b, 1, 0, 0, 0, 4);
    check_rx(b, 1, 1, 0, 1, 4 | vl(1));
    check_rx(b, 3, 0, 0, 2, 3 | vl(1));
    check_rx(b, 200, 0, 0, 3, 3 | vl(2));
    g_assert_cmpuint(tail(b, 2, true), ==, 0);
    /* Pair 1 off: pair 3 has VL 1 now, and 200 the rest. */
    wr(b, ring_reg(1, true) + UBC_RING_CTRL, 0);
    post(a, 0, false, 1, 4 | vl(1));
    post(a, 0, false, 1, 4);
    rest(a, b);
    check_rx(b, 3, 1, 0, 4, 4 | vl(1));
    check_rx(b, 200, 1, 0, 5, 4);
    g_assert_cmpuint(count(b, UBC_CNT_RX_UNCLAIMED), ==, 0);
    /* One that stops by an error under a packet: the next one has it. */
    wr(b, ring_reg(3, true) + UBC_RING_CTRL, 0);
    wr(b, ring_reg(3, true) + UBC_RING_BASE_HI, 0x7fffffff);
    wr(b, ring_reg(3, true) + UBC_RING_CTRL, UBC_RING_ENABLE);
    wr(b, ring_reg(3, true) + UBC_RING_HEAD, 1);
    post(a, 0, false, 1, 4 | vl(1));
    rest(a, b);
    g_assert_cmphex(rd(b, ring_reg(3, true) + UBC_RING_CTRL), ==,
                    UBC_RING_ERROR);
    check_rx(b, 200, 2, 0, 6, 4 | vl(1));
    g_assert_cmpuint(count(b, UBC_CNT_RX_PACKETS), ==, 7);
    g_assert_cmpuint(a->guest_errors + b->guest_errors, ==, 0);
    unpair(a, b);
}

/* Mgmt and the partition of the UBFM are a manager's, by rings too. */
static void test_manager(void)
{
    static const struct {
        uint8_t cfg, bytes[20]; /* NTH, then CTPH and UPI or UPI */
        bool manages;
    } rows[] = {
        { 6, { [7] = 0x08, [10] = 5 }, true },
        { 6, { [9] = 0x7f, [10] = 0xff }, true },
        { 6, { [7] = 0x01, [8] = 0x7f, [9] = 0xff }, true },
        { 6, { [10] = 5 }, false },
        { 6, { [7] = 0x01, [9] = 5 }, false },
        { 3, { [7] = 0x08, [9] = 0x7f, [10] = 0xff }, false },
        /* Behind an NTH of 24 bits, and behind a CIPH. */
        { 7, { [10] = 0x02, [11] = 0x7f, [12] = 0xff }, true },
        { 7, { [10] = 0x02, [11] = 0x7f, [12] = 0xfe }, false },
        { 7, { [10] = 0x00, [11] = 0x7f, [12] = 0xff }, false },
        { 7, { [10] = 0x03, [11] = 0x10, [19] = 0x7f }, false },
        { 6, { [8] = 0x03, [9] = 0x10, [17] = 0x7f, [18] = 0xff }, true },
        { 6, { [8] = 0x03, [9] = 0x00, [19] = 0x7f }, false },
    };
    Side *a = &two[0], *b = &two[1];
    UbcConfig conf;

    for (unsigned manager = 0; manager < 2; manager++) {
        unsigned errors = 0;

        ubc_config_init(&conf);
        conf.manager = manager;
        up(a, b, &conf);
        pair_on(a, 0, 0xffff, 0xffff);
        for (unsigned i = 0; i < G_N_ELEMENTS(rows); i++) {
            bool refused = rows[i].manages && !manager;

            post(a, 0, false, 1, rows[i].cfg);
            memcpy(a->mem + get_le64(desc_at(a, 0, false, i)), rows[i].bytes,
                   sizeof(rows[i].bytes));
            rest(a, b);
            g_assert_cmphex(status_of(a, 0, false, i), ==, UBC_DESC_DONE |
                            (refused ? UBC_DESC_ERROR : 0));
            errors += refused;
            g_assert_cmpuint(a->guest_errors, ==, errors);
        }
        unpair(a, b);
    }
}

/* What nobody claims is counted, and its credit goes back: it blocks nothing. */
static void test_unclaimed(void)
{
    Side *a = &two[0], *b = &two[1];
    UbcConfig conf;

    ubc_config_init(&conf);
    for (unsigned i = 0; i < UB_VLS; i++) {
        conf.dll.init_credit[i] = 64;
    }
    up(a, b, &conf);
    pair_on(a, 0, 0xffff, 0xffff);
    for (unsigned i = 1; i <= 50; i++) {
        post(a, 0, false, SMALL, 3);
        rest(a, b);
        g_assert_cmpuint(tail(a, 0, false), ==, i * SMALL);
        g_assert_cmpuint(count(b, UBC_CNT_RX_UNCLAIMED), ==, i * SMALL);
    }
    g_assert_cmpuint(count(b, UBC_CNT_RX_PACKETS), ==, 0);
    /* What waits for a ring that goes is let go and counted too. */
    pair_on(b, 5, 0xffff, 0xffff);
    post(a, 0, false, 3, 3);
    rest(a, b);
    g_assert_cmpuint(count(b, UBC_CNT_RX_NO_BUFFER), ==, 1);
    g_assert_cmpuint(count(b, UBC_CNT_RX_UNCLAIMED), ==, 50 * SMALL);
    wr(b, ring_reg(5, true) + UBC_RING_CTRL, 0);
    g_assert_cmpuint(count(b, UBC_CNT_RX_UNCLAIMED), ==, 50 * SMALL + 3);
    ring_on(b, 5, true);
    post(b, 5, true, 2, 0);
    post(a, 0, false, 1, 3);
    rest(a, b);
    check_rx(b, 5, 0, 0, 50 * SMALL + 3, 3);
    unpair(a, b);
}

/* What waits for a buffer goes with the link that software ends, and is not
 * counted as unclaimed: a ring has it. */
static void test_port_off(void)
{
    Side *a = &two[0], *b = &two[1];
    UbcConfig conf;

    ubc_config_init(&conf);
    up(a, b, &conf);
    pair_on(a, 0, 0xffff, 0xffff);
    pair_on(b, 3, 0xffff, 0xffff);
    post(a, 0, false, 5, 3);
    rest(a, b);
    g_assert_cmpuint(count(b, UBC_CNT_RX_NO_BUFFER), ==, 1);
    wr(b, UBC_PORT(0) + UBC_PORT_CTRL, 0);
    post(b, 3, true, 8, 0);
    rest(a, b);
    g_assert_cmpuint(tail(b, 3, true), ==, 0);
    g_assert_cmpuint(count(b, UBC_CNT_RX_UNCLAIMED), ==, 0);
    g_assert_cmpuint(ub_net_total(ub_node_net(ubc_node(b->ubc)),
                                  UB_NET_DROP_FLUSHED), ==, 5);
    wr(b, UBC_PORT(0) + UBC_PORT_CTRL, UBC_PORT_CTRL_ENABLE);
    g_assert_true(run_until(a, b, both_up, 60 * SECOND));
    post(a, 0, false, 1, 3);
    rest(a, b);
    check_rx(b, 3, 0, 0, 5, 3);
    unpair(a, b);
}

/* A reset brings a pair back to port 0, wherever it was. */
static void test_reset_binding(void)
{
    Side *a = &two[0], *b = &two[1];
    UbcConfig conf;

    ubc_config_init(&conf);
    conf.ports = 2;
    now = 1000;
    side_init(a, b, &conf);
    wr(a, UBC_PAIR(9) + UBC_PAIR_PORT, 1);
    ring_on(a, 9, true);
    g_assert_cmpuint(rd(a, UBC_PAIR(9) + UBC_PAIR_PORT), ==, 1);
    wr(a, UBC_CTRL, UBC_CTRL_RESET);
    g_assert_cmpuint(rd(a, UBC_PAIR(9) + UBC_PAIR_PORT), ==, 0);
    g_assert_cmpuint(a->guest_errors, ==, 0);
    side_free(a);
}

/* A pair sends what its masks have, and nothing else. */
static void test_tx_masks(void)
{
    Side *a = &two[0], *b = &two[1];
    UbcConfig conf;

    ubc_config_init(&conf);
    up(a, b, &conf);
    pair_on(a, 4, 1 << 2, 1 << 6);
    pair_on(b, 0, 0xffff, 0xffff);
    post(b, 0, true, 8, 0);
    post(a, 4, false, 1, 6);
    post(a, 4, false, 1, 3 | vl(2));
    post(a, 4, false, 1, 6 | vl(2));
    post(a, 4, false, 1, 6 | vl(2) | 0x400);
    rest(a, b);
    for (unsigned i = 0; i < 4; i++) {
        g_assert_cmphex(status_of(a, 4, false, i), ==,
                        UBC_DESC_DONE | (i == 2 ? 0 : UBC_DESC_ERROR));
    }
    g_assert_cmpuint(a->guest_errors, ==, 3);
    check_rx(b, 0, 0, 4, 2, 6 | vl(2));
    g_assert_cmpuint(count(b, UBC_CNT_RX_PACKETS), ==, 1);
    unpair(a, b);
}

/* RT: of each descriptor, or the pair's; the receiver sees it. */
static void test_rt(void)
{
    Side *a = &two[0], *b = &two[1];
    UbcConfig conf;

    ubc_config_init(&conf);
    up(a, b, &conf);
    pair_on(b, 0, 0xffff, 0xffff);
    post(b, 0, true, SMALL, 0);
    pair_on(a, 0, 0xffff, 0xffff);
    for (unsigned rt = 0; rt < 4; rt++) {
        post(a, 0, false, 1, 3 | rt << UBC_DESC_RT_SHIFT);
    }
    for (unsigned rt = 0; rt < 4; rt++) {
        wr(a, UBC_PAIR(1 + rt) + UBC_PAIR_RT, rt);
        pair_on(a, 1 + rt, 0xffff, 0xffff);
        post(a, 1 + rt, false, 1, 4 | 2 << UBC_DESC_RT_SHIFT);
        rest(a, b);
    }
    for (unsigned rt = 0; rt < 4; rt++) {
        check_rx(b, 0, rt, 0, rt, 3 | rt << UBC_DESC_RT_SHIFT);
        check_rx(b, 0, 4 + rt, 1 + rt, 0, 4 | rt << UBC_DESC_RT_SHIFT);
    }
    unpair(a, b);
}

/* ---- None blocks another -------------------------------------------------------- */

/*
 * Each side has a pair for VL 0 and one for VL 1.  On VL 0 nobody gives buffers,
 * until credit and queue are used up and both its rings stand; VL 1 flows, both
 * ways, all the while.
 */
static void test_no_head_of_line(void)
{
    Side *a = &two[0], *b = &two[1];
    Side *const sides[] = { a, b };
    uint16_t stood[2];
    UbcConfig conf;

    ubc_config_init(&conf);
    for (unsigned i = 0; i < UB_VLS; i++) {
        conf.dll.init_credit[i] = 64;
    }
    conf.dll.queue_limit = 8 * LEN;
    up(a, b, &conf);
    for (unsigned i = 0; i < 2; i++) {
        pair_on(sides[i], 0, 1 << 0, 0xffff);
        pair_on(sides[i], 1, 1 << 1, 0xffff);
    }
    for (unsigned turn = 0; turn < 40; turn++) {
        for (unsigned i = 0; i < 2; i++) {
            Side *s = sides[i];

            post(s, 0, false,
                 SMALL - (uint16_t)(posted[i][0][0] - tail(s, 0, false)), 3);
            post(s, 1, true, 8, 0);
            post(s, 1, false, 8, 3 | vl(1));
        }
        rest(a, b);
        for (unsigned i = 0; i < 2; i++) {
            g_assert_cmpuint(tail(sides[i], 1, false), ==, 8 * (turn + 1));
            g_assert_cmpuint(tail(sides[i], 1, true), ==, 8 * (turn + 1));
            check_rx(sides[i], 1, 8 * turn + 7, 1, 8 * turn + 7, 3 | vl(1));
        }
    }
    for (unsigned i = 0; i < 2; i++) {
        stood[i] = tail(sides[i], 0, false);
        g_assert_cmpuint(stood[i], <, posted[i][0][0]);
        g_assert_cmpuint(tail(sides[i], 0, true), ==, 0);
    }
    rest(a, b);
    for (unsigned i = 0; i < 2; i++) {
        g_assert_cmpuint(tail(sides[i], 0, false), ==, stood[i]);
        g_assert_cmpuint(count(sides[i], UBC_CNT_RX_UNCLAIMED), ==, 0);
    }
    /* Buffers come: all of it in order, and nothing is missing. */
    for (unsigned i = 0; i < 2; i++) {
        uint16_t all = posted[!i][0][0];

        for (uint16_t n = 0; n < all; n += SMALL / 2) {
            post(sides[i], 0, true, SMALL / 2, 0);
            rest(a, b);
            for (unsigned k = n; k < MIN(n + SMALL / 2, all); k++) {
                check_rx(sides[i], 0, k, 0, k, 3);
            }
        }
        g_assert_cmpuint(tail(sides[!i], 0, false), ==, all);
    }
    unpair(a, b);
}

/* A ring that stood when the link went does not stand any longer. */
static void test_stood_and_down(void)
{
    Side *a = &two[0], *b = &two[1];
    UbcConfig conf;

    ubc_config_init(&conf);
    conf.dll.queue_limit = 8 * LEN;
    for (unsigned i = 0; i < UB_VLS; i++) {
        conf.dll.init_credit[i] = 64;
    }
    up(a, b, &conf);
    pair_on(a, 0, 0xffff, 0xffff);
    pair_on(b, 0, 0xffff, 0xffff);
    for (unsigned i = 0; i < 40; i++) {
        post(a, 0, false,
             SMALL - (uint16_t)(posted[0][0][0] - tail(a, 0, false)), 3);
        rest(a, b);
    }
    g_assert_cmpuint(tail(a, 0, false), <, posted[0][0][0]);
    cut(a, b);
    g_assert_true(run_until(a, b, both_down, 60 * SECOND));
    rest(a, b);
    g_assert_cmpuint(tail(a, 0, false), ==, posted[0][0][0]);
    g_assert_cmphex(status_of(a, 0, false, posted[0][0][0] - 1), ==,
                    UBC_DESC_DONE | UBC_DESC_ERROR);
    unpair(a, b);
}

/* On one VL two pairs by CFG: buffers that one lacks do not keep the other. */
static void test_cfg_apart(void)
{
    Side *a = &two[0], *b = &two[1];
    UbcConfig conf;

    ubc_config_init(&conf);
    up(a, b, &conf);
    pair_on(a, 0, 0xffff, 0xffff);
    pair_on(b, 0, 0xffff, 1 << 3);
    pair_on(b, 1, 0xffff, 1 << 4);
    post(b, 1, true, 8, 0);
    for (unsigned i = 0; i < 8; i++) {
        post(a, 0, false, 1, 3 + i % 2);
    }
    rest(a, b);
    g_assert_cmpuint(tail(b, 1, true), ==, 4);
    g_assert_cmpuint(tail(b, 0, true), ==, 0);
    post(b, 0, true, 8, 0);
    rest(a, b);
    for (unsigned i = 0; i < 4; i++) {
        check_rx(b, 0, i, 0, 2 * i, 3);
        check_rx(b, 1, i, 0, 2 * i + 1, 4);
    }
    unpair(a, b);
}

/* ---- Beside the network layer ------------------------------------------------------ */

static uint64_t net_count(Side *s, UbNetCounter n)
{
    UbcPortInfo info;

    g_assert_true(ubc_port_info(s->ubc, 0, &info));
    return info.net[n];
}

/*
 * A controller that forwards has the CFGs of UB for itself, unless a ring pair
 * names them, and what no pair has of the others.
 */
static void test_network(void)
{
    static const uint8_t cfgs[] = { 3, 4, 5, 6, 7, 9 };
    Side *a = &two[0], *b = &two[1];
    uint64_t came = 0;
    UbcConfig conf;

    ubc_config_init(&conf);
    conf.forward = true;
    conf.route_entries = 32;
    up(a, b, &conf);
    g_assert_cmphex(rd(b, UBC_PAIR(7) + UBC_PAIR_CFGS), ==, 0xfd1f);
    g_assert_cmphex(cfg(b, UB_CFG0_BASE + UB_CFG0_SUPPORTED_FEATURE) & 0x90,
                    ==, 0x90);
    pair_on(a, 0, 0xffff, 0xffff);
    for (unsigned with = 0; with < 3; with++) {
        uint32_t mask = with == 1 ? rd(b, UBC_PAIR(7) + UBC_PAIR_CFGS)
                                  : 0xffff;

        if (with) {
            pair_on(b, 7, 0xffff, mask);
            post(b, 7, true, SMALL, 0);
        }
        for (unsigned i = 0; i < G_N_ELEMENTS(cfgs); i++) {
            uint16_t before = tail(b, 7, true);
            bool ring = with && (mask >> cfgs[i] & 1);

            g_test_message("%u: CFG %u", with, cfgs[i]);
            post(a, 0, false, 1, cfgs[i]);
            rest(a, b);
            came += !ring;
            g_assert_cmpuint(net_count(b, UB_NET_RX_PACKETS), ==, came);
            g_assert_cmpuint(tail(b, 7, true), ==, before + ring);
        }
        if (with) {
            wr(b, ring_reg(7, true) + UBC_RING_CTRL, 0);
            wr(b, ring_reg(7, false) + UBC_RING_CTRL, 0);
        }
    }
    g_assert_cmpuint(count(b, UBC_CNT_RX_UNCLAIMED), ==, 0);
    unpair(a, b);
}

/* ROUTE_TABLE: registers of the network layer, which a reset clears. */
static void test_routes(void)
{
    Side *a = &two[0], *b = &two[1];
    const uint32_t entry = UB_CFG_ROUTE_BASE + UB_ROUTE_DEFAULT_ROUTING_TABLE;
    UbcConfig conf;

    ubc_config_init(&conf);
    for (unsigned with = 0; with < 2; with++) {
        conf.ports = 2;
        conf.route_entries = with ? 300 : 0;
        now = 1000;
        side_init(a, b, &conf);
        for (unsigned round = 0; round < 2; round++) {
            const struct { uint32_t dw, reset; } dwords[] = {
                { UB_CFG_ROUTE_BASE + UB_ROUTE_TABLE_CAP, 0x10000 | 299 },
                { entry, 3 }, { entry + 1, 0 }, { entry + 300, 0 },
                { entry + 301, 0 },
            };

            for (unsigned i = 0; i < G_N_ELEMENTS(dwords); i++) {
                uint32_t writable = i && i < 4 ? 2 : dwords[i].reset;

                wr(a, UBC_CFG_ADDR, dwords[i].dw);
                g_assert_cmphex(rd(a, UBC_CFG_DATA), ==,
                                with ? dwords[i].reset : 0);
                wr(a, UBC_CFG_DATA, 0xfffffffe);
                g_assert_cmphex(rd(a, UBC_CFG_DATA), ==, with ? writable : 0);
            }
            wr(a, UBC_CTRL, UBC_CTRL_RESET);
        }
        side_free(a);
    }
    conf.route_entries = 65537;
    {
        const char *why = NULL;

        g_assert_null(ubc_new(&conf, &ops, a, &why));
        g_assert_nonnull(why);
    }
}

/* ---- All of them ------------------------------------------------------------------ */

/* VL and CFG of pair n, so that each of 48 has packets of its own. */
static const uint8_t cfg_of[] = { 3, 4, 5, 6, 7, 9 };

static uint16_t flags_of(unsigned n)
{
    return cfg_of[n / 8 % 6] | vl(n % 8);
}

static void all_on(Side *s)
{
    for (unsigned n = 0; n < UBC_PAIRS; n++) {
        pair_on(s, n, 1 << n % 8, 1 << cfg_of[n / 8 % 6]);
    }
}

static void all_send(Side *s, unsigned count)
{
    for (unsigned n = 0; n < UBC_PAIRS; n++) {
        post(s, n, false, count, flags_of(n));
    }
}

static const char *moved(Side *s, const UbcConfig *conf)
{
    const char *why, *refused;
    UbcConfig c = *conf;
    size_t len;
    g_autofree uint8_t *image = ubc_save(s->ubc, now, &len);
    Ubc *ubc = ubc_new(&c, &ops, s, &why);

    g_assert_nonnull(ubc);
    refused = ubc_load(ubc, now, image, len);
    ubc_free(s->ubc);
    s->ubc = ubc;
    ubc_bus_master(ubc, true);
    kick(s);
    return refused;
}

/* One end moves while every ring of it has work or packets that wait. */
static void test_migration(void)
{
    Side *a = &two[0], *b = &two[1];
    unsigned got = 0;
    UbcConfig conf;

    ubc_config_init(&conf);
    up(a, b, &conf);
    all_on(a);
    all_on(b);
    wr(b, UBC_PAIR(255) + UBC_RING_TX + UBC_RING_VECTOR, 1000);
    wr(b, UBC_PORT(0) + UBC_PORT_VECTOR, 1001);
    wr(b, UBC_VECTOR, 1002);
    all_send(a, 2);
    rest(a, b);
    /* Pairs from 48 on are behind others with the same masks. */
    g_assert_cmpuint(count(b, UBC_CNT_RX_PACKETS), ==, 0);
    g_assert_cmpuint(count(b, UBC_CNT_RX_NO_BUFFER), ==, 48);
    ubc_bus_master(b->ubc, false);
    all_send(b, 5);
    cut(a, b);
    g_assert_cmpstr(moved(b, &conf), ==, NULL);
    connect(a, b);
    g_assert_cmpuint(rd(b, UBC_PAIR(255) + UBC_RING_TX + UBC_RING_VECTOR), ==,
                     1000);
    g_assert_cmpuint(rd(b, UBC_PORT(0) + UBC_PORT_VECTOR), ==, 1001);
    g_assert_cmpuint(rd(b, UBC_VECTOR), ==, 1002);
    for (unsigned n = 0; n < UBC_PAIRS; n++) {
        uint32_t p = UBC_PAIR(n);

        g_assert_cmphex(rd(b, p + UBC_PAIR_VLS), ==, 1 << n % 8);
        g_assert_cmphex(rd(b, p + UBC_PAIR_CFGS), ==,
                        1 << cfg_of[n / 8 % 6]);
        g_assert_cmphex(rd(b, p + UBC_RING_TX + UBC_RING_HEAD), ==, 5);
        g_assert_cmphex(rd(b, p + UBC_RING_RX + UBC_RING_CTRL), ==,
                        UBC_RING_ENABLE);
    }
    for (unsigned n = 0; n < UBC_PAIRS; n++) {
        post(b, n, true, SMALL, 0);
    }
    rest(a, b);
    for (unsigned n = 0; n < UBC_PAIRS; n++) {
        for (unsigned i = 0; i < tail(b, n, true); i++) {
            uint8_t *d = desc_at(b, n, true, i);

            g_assert_cmphex(get_le16(d + 12), ==, flags_of(n));
            got++;
        }
        g_assert_true(n < 48 || !tail(b, n, true));
    }
    g_assert_cmpuint(got, ==, 2 * UBC_PAIRS);
    /* What b had to send fails while the link is down, or goes. */
    g_assert_true(run_until(a, b, both_up, 60 * SECOND));
    rest(a, b);
    for (unsigned n = 0; n < UBC_PAIRS; n++) {
        g_assert_cmpuint(tail(b, n, false), ==, 5);
    }
    unpair(a, b);
}

/* A reset in the middle: rings off, nothing waits, nothing is written after. */
static void test_reset_under_load(void)
{
    Side *a = &two[0], *b = &two[1];
    g_autofree uint8_t *before = NULL;
    UbcConfig conf;

    ubc_config_init(&conf);
    up(a, b, &conf);
    for (unsigned round = 0; round < 3; round++) {
        all_on(a);
        all_on(b);
        all_send(a, SMALL);
        all_send(b, SMALL);
        for (unsigned n = 0; n < UBC_PAIRS; n += 2) {
            post(b, n, true, SMALL, 0);
        }
        run_until(a, b, never, 20000);
        wr(b, UBC_CTRL, UBC_CTRL_RESET);
        before = g_memdup2(b->mem, MEM);
        for (unsigned n = 0; n < UBC_PAIRS; n++) {
            g_assert_cmphex(rd(b, ring_reg(n, true) + UBC_RING_CTRL) |
                            rd(b, ring_reg(n, false) + UBC_RING_CTRL), ==, 0);
        }
        rest(a, b);
        g_assert_cmpmem(b->mem, MEM, before, MEM);
        g_clear_pointer(&before, g_free);
        wr(a, UBC_CTRL, UBC_CTRL_RESET);
        wr(a, UBC_PORT(0) + UBC_PORT_CTRL, UBC_PORT_CTRL_ENABLE);
        wr(b, UBC_PORT(0) + UBC_PORT_CTRL, UBC_PORT_CTRL_ENABLE);
        g_assert_true(run_until(a, b, both_up, 60 * SECOND));
    }
    unpair(a, b);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/ub/ubc/pairs/map", test_map);
    g_test_add_func("/ub/ubc/pairs/vectors", test_vectors);
    g_test_add_func("/ub/ubc/pairs/claim", test_claim);
    g_test_add_func("/ub/ubc/pairs/manager", test_manager);
    g_test_add_func("/ub/ubc/pairs/unclaimed", test_unclaimed);
    g_test_add_func("/ub/ubc/pairs/port-off", test_port_off);
    g_test_add_func("/ub/ubc/pairs/reset-binding", test_reset_binding);
    g_test_add_func("/ub/ubc/pairs/tx-masks", test_tx_masks);
    g_test_add_func("/ub/ubc/pairs/rt", test_rt);
    g_test_add_func("/ub/ubc/pairs/no-head-of-line", test_no_head_of_line);
    g_test_add_func("/ub/ubc/pairs/stood-and-down", test_stood_and_down);
    g_test_add_func("/ub/ubc/pairs/cfg-apart", test_cfg_apart);
    g_test_add_func("/ub/ubc/pairs/network", test_network);
    g_test_add_func("/ub/ubc/pairs/routes", test_routes);
    g_test_add_func("/ub/ubc/pairs/migration", test_migration);
    g_test_add_func("/ub/ubc/pairs/reset-under-load", test_reset_under_load);
    return g_test_run();
}
