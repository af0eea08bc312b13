/*
 * Management between emulators, by the message queues of their controllers: a
 * guest finds the other one by scans, gives it addresses and configures it.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "ubc-link.h"
#include "ub/msgq.h"

#define SQ 0x800000u
#define RQ 0x840000u
#define CQ 0x880000u
#define DEPTH 16u
#define Q UBC_MSGQ(0)
#define VECTOR QUBC_VECTOR_RX(0)

/* A guest's side of message queue 0. */
typedef struct Guest {
    QUbc *d;
    unsigned pi, ci;
    uint16_t msn;
    uint32_t packet[512]; /* the last one received */
    unsigned status;
    bool event;           /* it answers nothing */
} Guest;

static uint32_t q_read(Guest *g, uint32_t reg)
{
    return qubc_read(g->d, Q + reg);
}

static void q_write(Guest *g, uint32_t reg, uint32_t value)
{
    qubc_write(g->d, Q + reg, value);
}

static void guest_open(Guest *g, QUbc *d)
{
    static const uint32_t base[] = { SQ, RQ, CQ };
    static const uint32_t at[] = { UB_MSGQ_SQ_ADDR_L, UB_MSGQ_RQ_ADDR_L,
                                   UB_MSGQ_CQ_ADDR_L };

    *g = (Guest) { .d = d, .msn = 1000 };
    g_assert_true(qubc_read(d, UBC_CAPS) & UBC_CAPS_MSGQS);
    q_write(g, UB_MSGQ_RST, 1);
    q_write(g, UB_MSGQ_RST, 0);
    for (unsigned i = 0; i < 3; i++) {
        q_write(g, at[i] + 0x10, DEPTH);
        q_write(g, at[i], base[i]);
        q_write(g, at[i] + 4, 0);
    }
    q_write(g, UB_MSGQ_INT_SEL, VECTOR);
    q_write(g, UB_MSGQ_CQ_INT_STATUS, 1);
    q_write(g, UB_MSGQ_CQ_INT_MASK, 0);
}

static void put(Guest *g, unsigned task, bool local, uint8_t opcode,
                const uint32_t *words, unsigned n)
{
    uint8_t *sqe = g->d->ram->at + SQ + 16 * g->pi;
    uint32_t slot = DEPTH * 16 + g->pi * 2048;

    for (unsigned i = 0; i < n; i++) {
        stl_le_p(g->d->ram->at + SQ + slot + 4 * i, words[i]);
    }
    stl_le_p(sqe, task | (local ? 0x10 : 0) | opcode << 8 | 4 * n << 16);
    stl_le_p(sqe + 4, ++g->msn);
    stl_le_p(sqe + 8, slot);
    g->pi = (g->pi + 1) % DEPTH;
    q_write(g, UB_MSGQ_SQ_PI, g->pi);
}

/* The next completion. */
static void take(Guest *g)
{
    const uint8_t *cqe = g->d->ram->at + CQ + 16 * g->ci;
    unsigned slot, len;

    QUBC_WAIT(q_read(g, UB_MSGQ_CQ_PI) != g->ci);
    len = ldl_le_p(cqe) >> 16 & 0xfff;
    slot = lduw_le_p(cqe + 8) & 0x3ff;
    g->status = cqe[10];
    g->event = !(cqe[0] & 3) && !(cqe[1] & 1);
    for (unsigned i = 0; i < (len + 3) / 4; i++) {
        g->packet[i] = ldl_le_p(g->d->ram->at + RQ + 2048 * slot + 4 * i);
    }
    g->ci = (g->ci + 1) % DEPTH;
    q_write(g, UB_MSGQ_RQ_CI, (slot + (len > 0)) % DEPTH);
    q_write(g, UB_MSGQ_CQ_CI, g->ci);
}

/* The next that is not an error message: a link that goes has errors, too. */
static void take_news(Guest *g)
{
    do {
        take(g);
    } while (g->event && !(g->packet[7] >> 25 & 7));
}

static void take_answer(Guest *g)
{
    do {
        take(g);
    } while (g->event);
}

/* A scan over @hops (0 or 1) through port 0; the answer's status, or 100h. */
static unsigned scan(Guest *g, unsigned hops, unsigned cmd, unsigned opcode,
                     const uint32_t *guid, uint32_t cna)
{
    static const unsigned size[] = { 6, 8, 7 };
    uint32_t words[16] = { 6 << 16, 0, 9, 0x7fff0000 };
    unsigned n = 4;

    words[n++] = 0x00100000 | hops << 8;
    n += 2 * hops;
    words[n++] = 1 << 24 | cmd << 16 | opcode << 8;
    words[n++] = size[cmd] << 16;
    for (unsigned i = 0; i < 4; i++) {
        words[n++] = guid ? guid[i] : 0;
    }
    words[n + 1] = cna;
    put(g, UB_MSGQ_SCAN, !hops, cmd, words, n + size[cmd] - 6);
    take_answer(g);
    return g->status ? 0x100 : g->packet[5 + hops] & 0xff;
}

static unsigned config(Guest *g, uint32_t dcna, unsigned sub, uint32_t dw,
                       uint32_t value)
{
    const uint32_t words[] = {
        6 << 16, dcna, 8, 0x027fff00, 0, 0x10000000, 0,
        sub << 28 | 0x04000010, 0xf0, dw, 0, value,
    };

    put(g, UB_MSGQ_MESSAGE, false, sub << 4 | 4, words, G_N_ELEMENTS(words));
    take_answer(g);
    return g->status ? 0x100 : g->packet[7] >> 16 & 0xff;
}

/* Find the neighbour, give both addresses. */
static void meet(Guest *g, QUbc *other, uint32_t neighbor[4])
{
    g_assert_cmphex(scan(g, 0, 0, 1, NULL, 0), ==, 0);
    memcpy(neighbor, &g->packet[19], 16);
    for (unsigned i = 0; i < 4; i++) {
        g_assert_cmphex(neighbor[i], ==,
                        qubc_cfg_read(other, UB_CFG0_GUID + i));
    }
    g_assert_cmphex(scan(g, 0, 1, 2, NULL, 0x11), ==, 0);
    g_assert_cmphex(scan(g, 1, 1, 2, neighbor, 0x22), ==, 0);
}

static void test_scan(void)
{
    uint32_t neighbor[4];
    Link l = { 0 };
    Guest g;

    link_start(&l);
    qubc_msix(l.a, 1, false);
    guest_open(&g, l.a);
    meet(&g, l.b, neighbor);
    QUBC_WAIT(qubc_irq(l.a, VECTOR));
    g_assert_cmphex(qubc_cfg_read(l.a, UB_CFG0_PRIMARY_CNA), ==, 0x11);
    g_assert_cmphex(qubc_cfg_read(l.b, UB_CFG0_PRIMARY_CNA), ==, 0x22);
    /* The neighbour sees us. */
    g_assert_cmphex(scan(&g, 1, 0, 1, neighbor, 0), ==, 0);
    for (unsigned i = 0; i < 4; i++) {
        g_assert_cmphex(g.packet[20 + i], ==,
                        qubc_cfg_read(l.a, UB_CFG0_GUID + i));
    }
    neighbor[0] ^= 1;
    g_assert_cmphex(scan(&g, 1, 0, 1, neighbor, 0), ==, 2);
    link_stop(&l);
}

static void test_config(void)
{
    uint32_t neighbor[4];
    Link l = { 0 };
    Guest a, b;

    link_start(&l);
    guest_open(&a, l.a);
    guest_open(&b, l.b);
    meet(&a, l.b, neighbor);
    g_assert_cmphex(config(&a, 0x22, 0, UB_CFG0_GUID, 0), ==, 0);
    g_assert_cmphex(a.packet[8], ==, neighbor[0]);
    g_assert_cmphex(config(&a, 0x22, 1, UB_CFG0_UPI, 0x1234), ==, 0);
    g_assert_cmphex(qubc_cfg_read(l.b, UB_CFG0_UPI), ==, 0x1234);
    g_assert_cmphex(config(&a, 0x22, 0, UB_CFG1_BASE, 0), ==, 0x22);
    /* Both ask at once, many times, while packets cross. */
    for (unsigned i = 0; i < 50; i++) {
        qubc_send(l.a, 0, 4);
        qubc_send(l.b, 0, 4);
        g_assert_cmphex(config(&a, 0x22, 1, UB_CFG0_UEID, i), ==, 0);
        g_assert_cmphex(config(&b, 0x11, 1, UB_CFG0_UEID, ~i), ==, 0);
        g_assert_cmphex(qubc_cfg_read(l.b, UB_CFG0_UEID), ==, i);
        g_assert_cmphex(qubc_cfg_read(l.a, UB_CFG0_UEID), ==, ~i);
    }
    exchange(&l, 100);
    link_stop(&l);
}

/* A link that goes is told, scans over it fail, and work again with it. */
static void test_links(void)
{
    uint32_t neighbor[4];
    Link l = { 0 };
    Guest g;

    link_start(&l);
    guest_open(&g, l.a);
    meet(&g, l.b, neighbor);
    qubc_port_write(l.b, 0, UBC_PORT_CTRL, 0);
    take_news(&g);
    g_assert_cmphex(g.packet[7], ==, 0x12000008);
    g_assert_cmphex(scan(&g, 1, 0, 1, neighbor, 0), ==, 0x100);
    qubc_port_write(l.b, 0, UBC_PORT_CTRL, UBC_PORT_CTRL_ENABLE);
    wait_up(&l);
    take_news(&g);
    g_assert_cmphex(g.packet[7], ==, 0x02000008);
    g_assert_cmphex(scan(&g, 1, 0, 1, neighbor, 0), ==, 0);
    /* The other machine is gone for good. */
    qubc_kill(l.b);
    take_news(&g);
    g_assert_cmphex(g.packet[7], ==, 0x12000008);
    g_assert_cmphex(config(&g, 0x22, 0, 0, 0), ==, 0x100);
    l.b = start_client(&l);
    qubc_port_open(l.b, 0);
    wait_up(&l);
    take_news(&g);
    g_assert_cmphex(scan(&g, 0, 0, 1, NULL, 0), ==, 0);
    link_stop(&l);
}

/* A queue that a guest breaks stops until it is reset, and nothing else does. */
static void test_hostile(void)
{
    uint32_t neighbor[4];
    Link l = { 0 };
    Guest g;

    link_start(&l);
    guest_open(&g, l.a);
    q_write(&g, UB_MSGQ_SQ_PI, DEPTH);
    g_assert_cmphex(q_read(&g, UB_MSGQ_SQ_STATUS), ==, UB_MSGQ_STOPPED);
    g_assert_true(qubc_logged(l.a, "index that is not below the depth"));
    guest_open(&g, l.a);
    g_assert_cmphex(q_read(&g, UB_MSGQ_SQ_STATUS), ==, 0);
    q_write(&g, UB_MSGQ_SQ_ADDR_H, QUBC_NOWHERE >> 32);
    q_write(&g, UB_MSGQ_SQ_PI, 1);
    QUBC_WAIT(q_read(&g, UB_MSGQ_SQ_STATUS) ==
              (UB_MSGQ_STOPPED | UB_MSGQ_FAULT));
    /* Whatever the slots have. */
    guest_open(&g, l.a);
    for (unsigned i = 0; i < 500; i++) {
        uint32_t words[40];

        for (unsigned w = 0; w < G_N_ELEMENTS(words); w++) {
            words[w] = g_test_rand_int();
        }
        words[0] = 6 << 16;
        words[2] = (words[2] & ~7u) | (i & 1);
        words[3] = (words[3] & 0x00ffffff) | 0x02000000;
        words[5] = (words[5] & 0x00ffffff) | 0x10000000;
        put(&g, i & 1, i & 2, g_test_rand_int() & 0xfe, words,
            5 + g_test_rand_int_range(0, 35));
        QUBC_WAIT(q_read(&g, UB_MSGQ_SQ_CI) == g.pi);
        q_write(&g, UB_MSGQ_RQ_CI, q_read(&g, UB_MSGQ_RQ_PI));
        q_write(&g, UB_MSGQ_CQ_CI, q_read(&g, UB_MSGQ_CQ_PI));
    }
    guest_open(&g, l.a);
    meet(&g, l.b, neighbor);
    exchange(&l, 100);
    link_stop(&l);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    qtest_add_func("/ubc-manage/scan", test_scan);
    qtest_add_func("/ubc-manage/config", test_config);
    qtest_add_func("/ubc-manage/links", test_links);
    qtest_add_func("/ubc-manage/hostile", test_hostile);
    return g_test_run();
}
