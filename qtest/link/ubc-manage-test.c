/*
 * Management between emulators, by the message queues of their controllers: a
 * guest finds the other one by scans, gives it addresses and configures it.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "ubc-link.h"
#include "ub/mgmt_format.h"
#include "ub/msgq.h"

#define SQ 0x800000u
#define RQ 0x840000u
#define CQ 0x880000u
#define DEPTH 16u
#define Q UBC_MSGQ(0)
#define VECTOR QUBC_VECTOR_RX(0)
/* Who asks waits longer than any host stands still. */
#define PATIENT "mgmt-timeout=60000"
/* Who is not answered is told, after what hosts seldom stand still. */
#define WAITS_IN_VAIN "mgmt-timeout=8000"

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

/* To whom a message goes: as the UBFM, or as a User. */
typedef struct To {
    uint32_t dcna, deid;
    bool user;
} To;

/* A message with @len bytes of PDU, whole words. */
static void send_message(Guest *g, To to, unsigned id, const uint32_t *pdu,
                         unsigned len)
{
    uint32_t words[64] = {
        6 << 16, to.dcna, to.user ? 0 : 8, 0x027fff00, to.deid, 0x10000000, 0,
        (id & 15) << 28 | id >> 4 << 25 | len,
    };

    g_assert_cmpuint(len, <=, 4 * (G_N_ELEMENTS(words) - 8));
    memcpy(words + 8, pdu, len);
    put(g, UB_MSGQ_MESSAGE, false, (id & 15) << 4 | id >> 4 << 1, words,
        8 + len / 4);
}

/* The status of its answer, or 100h: there was none. */
static unsigned ask(Guest *g, To to, unsigned id, const uint32_t *pdu,
                    unsigned len)
{
    send_message(g, to, id, pdu, len);
    take_answer(g);
    return g->status ? 0x100 : g->packet[7] >> 16 & 0xff;
}

static unsigned config_of(Guest *g, To to, unsigned entity, unsigned sub,
                          uint32_t dw, uint32_t value)
{
    const uint32_t pdu[] = { entity << 16 | 0xf0, dw, 0, value };

    return ask(g, to, UB_MGMT_MSG_CFG0_READ + sub, pdu, sizeof(pdu));
}

static unsigned config(Guest *g, uint32_t dcna, unsigned sub, uint32_t dw,
                       uint32_t value)
{
    return config_of(g, (To) { dcna }, 0, sub, dw, value);
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
    Link l = { .props = PATIENT };
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
    Link l = { .props = PATIENT };
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
    Link l = { .props = WAITS_IN_VAIN };
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

/* ---- Pooling ---- */

/* The next request for software of code 6. */
static void take_pooling(Guest *g)
{
    do {
        take(g);
    } while (!g->event || (g->packet[7] >> 25 & 7) != 6);
}

/* The User's software answers what it took last. */
static void answer(Guest *g, unsigned status)
{
    uint32_t words[8];

    memcpy(words, g->packet, sizeof(words));
    words[1] = g->packet[1] >> 16;
    words[2] = 0;
    words[3] &= ~0xffu;
    words[4] = (g->packet[3] & 0xff) << 12 | g->packet[4] >> 20;
    words[7] = (g->packet[7] & 0xfe000000) | 1 << 24 | status << 16;
    put(g, UB_MSGQ_MESSAGE, false, words[7] >> 24, words, 8);
}

#define LENT 0x10011u /* EID of the Entity that is lent */

static void test_pool(void)
{
    static const uint32_t give[][2] = {
        { UB_CFG0_UCNA, 0x22 }, { UB_CFG0_UEID, 0x93 }, { UB_CFG0_EID, LENT },
        { UB_CFG0_UPI, 0x55 },
    };
    const To own = { 0x11 }, user = { 0x22 }, lent = { 0x11, LENT, true };
    const uint32_t token = UB_CFG1_BASE + UB_CFG1_DEV_TOKEN_ID;
    uint32_t registration[23] = { 0x55 << 16 | 1, LENT }, neighbor[4];
    const uint32_t return_it[5] = { LENT };
    Link l = { .props = "entities=bus:urma:other," WAITS_IN_VAIN };
    Guest a, b;

    link_start(&l);
    guest_open(&a, l.a);
    guest_open(&b, l.b);
    meet(&a, l.b, neighbor);
    qubc_cfg_write(l.a, UB_CFG0_EID, 0x91);
    qubc_cfg_write(l.a, UB_CFG0_UPI, 0x7);
    qubc_cfg_write(l.b, UB_CFG0_EID, 0x93);
    qubc_cfg_write(l.b, UB_CFG0_UPI, 0x55);
    /* A User that is silent does not get it. */
    send_message(&a, user, UB_MGMT_MSG_REGISTER, registration,
                 sizeof(registration));
    take_pooling(&b);
    take_answer(&a);
    g_assert_cmphex(a.status, !=, 0);
    for (unsigned i = 0; i < G_N_ELEMENTS(give); i++) {
        g_assert_cmphex(config_of(&a, own, 1, 1, give[i][0], give[i][1]), ==, 0);
    }
    registration[9] = 0x11;
    registration[10] = 0x93;
    send_message(&a, user, UB_MGMT_MSG_REGISTER, registration,
                 sizeof(registration));
    take_pooling(&b);
    for (unsigned i = 0; i < G_N_ELEMENTS(registration); i++) {
        g_assert_cmphex(b.packet[8 + i], ==, registration[i]);
    }
    answer(&b, 0);
    take_answer(&a);
    g_assert_cmphex(a.status, ==, 0);
    g_assert_cmphex(a.packet[7] >> 16 & 0xff, ==, 0);
    /* The User has the rights of a User in the Entity that is its own now, and
     * none in the others of that node. */
    g_assert_cmphex(config_of(&b, lent, 1, 0, UB_CFG0_GUID, 0), ==, 0);
    g_assert_cmphex(b.packet[8], ==, qubc_cfg_read(l.a, UB_CFG0_GUID) + 1);
    g_assert_cmphex(config_of(&b, lent, 1, 1, UB_CFG0_UPI, 9), ==, 0x21);
    g_assert_cmphex(config_of(&b, lent, 1, 3, token, 5), ==, 0);
    g_assert_cmphex(config_of(&b, lent, 0, 0, UB_CFG0_GUID, 0), ==, 1);
    g_assert_cmphex(config_of(&b, lent, 2, 0, UB_CFG0_GUID, 0), ==, 1);
    g_assert_cmphex(config_of(&b, lent, 3, 0, UB_CFG0_GUID, 0), ==, 2);
    g_assert_cmphex(config_of(&a, own, 1, 2, token, 0), ==, 0);
    g_assert_cmphex(a.packet[8], ==, 5);
    /* Taken back: one answer, out of the partition, reset. */
    send_message(&a, user, UB_MGMT_MSG_DEREGISTER, return_it,
                 sizeof(return_it));
    take_pooling(&b);
    g_assert_cmphex(b.packet[8], ==, LENT);
    answer(&b, 0);
    take_answer(&a);
    g_assert_cmphex(a.packet[7] >> 16 & 0xff, ==, 0);
    g_assert_cmphex(config_of(&a, own, 1, 1, UB_CFG0_UPI, 0), ==, 0);
    g_assert_cmphex(config_of(&a, own, 1, 3, UB_CFG1_BASE + UB_CFG1_ELR, 1), ==,
                    0);
    g_assert_cmphex(config_of(&a, own, 1, 2, UB_CFG1_BASE + UB_CFG1_ELR_DONE,
                              0), ==, 0);
    g_assert_cmphex(a.packet[8], ==, 1);
    g_assert_cmphex(config_of(&a, own, 1, 2, token, 0), ==, 0);
    g_assert_cmphex(a.packet[8], ==, 0);
    /* The User is nobody there any more: not even refused. */
    g_assert_cmphex(config_of(&b, lent, 1, 0, UB_CFG0_GUID, 0), ==, 0x100);
    link_stop(&l);
}

/* ---- Codes ---- */

static bool is_message(unsigned id)
{
    static const uint8_t ids[] = {
#define UB_X(symbol, ...) UB_MGMT_MSG_##symbol,
        UB_MGMT_MESSAGES(UB_X)
#undef UB_X
    };

    return memchr(ids, id, sizeof(ids));
}

/* Every code and sub code of chapter 10, answered or refused with its status. */
static void test_codes(void)
{
    enum { FM, USER };
    static const struct {
        unsigned id, len, who, want;
        uint32_t pdu[9];
    } rows[] = {
        { UB_MGMT_MSG_CFG0_READ, 16, FM, 0, { 0xf0 } },
        { UB_MGMT_MSG_CFG0_READ, 12, FM, 0x04, { 0xf0 } },
        { UB_MGMT_MSG_CFG0_READ, 16, FM, 0x22, { 0xf0, UB_CFG1_BASE } },
        { UB_MGMT_MSG_CFG0_READ, 16, FM, 0x02, { 1 << 16 | 0xf0 } },
        { UB_MGMT_MSG_CFG0_READ, 16, USER, 0, { 0xf0 } },
        { UB_MGMT_MSG_CFG0_WRITE, 16, USER, 0x21, { 0xf0 } },
        { UB_MGMT_MSG_CFG1_WRITE, 16, USER, 0, { 0xf0, UB_CFG1_BASE } },
        /* Nobody behind the device who would answer. */
        { UB_MGMT_MSG_VDM_MCTP, 4, USER, 0x20, { 0 } },
        { UB_MGMT_MSG_VDM_BUS, 4, USER, 0x20, { 0 } },
        { UB_MGMT_MSG_VDM_VENDOR, 8, USER, 0x20, { 0, 0x12340000 } },
        { UB_MGMT_MSG_VDM_VENDOR, 8, USER, 0x26, { 0, 0x43210000 } },
        { UB_MGMT_MSG_VDM_VENDOR, 4, USER, 0x04, { 0 } },
        { UB_MGMT_MSG_RESOURCE, 4, USER, 0, { 0 } },
        { UB_MGMT_MSG_RESOURCE, 8, USER, 0x04, { 0 } },
        { UB_MGMT_MSG_RESOURCE, 28, USER, 0x21, { 1 } },
        { UB_MGMT_MSG_RESOURCE, 28, FM, 0x26, { 1 } },
        { UB_MGMT_MSG_ENTITY_INFO, 0, USER, 0, { 0 } },
        { UB_MGMT_MSG_ENTITY_INFO, 4, USER, 0x04, { 0 } },
        { UB_MGMT_MSG_NEIGHBOR, 8, FM, 0, { 0 } },
        { UB_MGMT_MSG_NEIGHBOR, 8, FM, 0x26, { 0, 1 } },
        { UB_MGMT_MSG_NEIGHBOR, 4, FM, 0x04, { 0 } },
        { UB_MGMT_MSG_NEIGHBOR, 8, USER, 0x01, { 0 } },
        { UB_MGMT_MSG_SPDM, 4, USER, 0x20, { 0 } },
        { UB_MGMT_MSG_TOKEN_CHECK, 4, USER, 0, { 1 } },
        { UB_MGMT_MSG_TOKEN_CHECK, 4, USER, 0, { 0 } },
        { UB_MGMT_MSG_TOKEN_CHECK, 8, USER, 0x04, { 0 } },
        { UB_MGMT_MSG_REGISTER, 20, FM, 0x04, { 0 } },
        { UB_MGMT_MSG_DEREGISTER, 20, FM, 0x20, { 0 } },
        { UB_MGMT_MSG_DEREGISTER, 20, USER, 0x01, { 0 } },
        { UB_MGMT_MSG_BI_CREATE, 36, USER, 0x01, { 5 } },
        { UB_MGMT_MSG_BI_CREATE, 36, FM, 0x26, { 0 } },
        { UB_MGMT_MSG_BI_CREATE, 36, FM, 0, { 5, 0, 0, 0, 6, 0, 0, 0, 7 } },
        { UB_MGMT_MSG_BI_CREATE, 36, FM, 0x24, { 5, 0, 0, 0, 6, 0, 0, 0, 7 } },
        { UB_MGMT_MSG_BI_DESTROY, 16, FM, 0, { 5 } },
        { UB_MGMT_MSG_BI_DESTROY, 16, FM, 0x25, { 5 } },
        { UB_MGMT_MSG_CFG_COMPLETE, 36, FM, 0x20, { 0 } },
        { UB_MGMT_MSG_CFG_COMPLETE, 36, USER, 0x01, { 0 } },
        { UB_MGMT_MSG_PORT_RESET, 4, FM, 0x20, { 0 } },
        { UB_MGMT_MSG_PORT_RESET, 8, FM, 0x04, { 0 } },
    };
    const uint32_t nothing[4] = { 0 };
    uint32_t neighbor[4];
    Link l = { .props = PATIENT };
    Guest g;

    link_start(&l);
    guest_open(&g, l.a);
    meet(&g, l.b, neighbor);
    qubc_cfg_write(l.a, UB_CFG0_EID, 0x91);
    qubc_cfg_write(l.b, UB_CFG0_EID, 0x92);
    qubc_cfg_write(l.a, UB_CFG0_UPI, 0x5);
    qubc_cfg_write(l.b, UB_CFG0_UPI, 0x5);
    for (unsigned i = 0; i < G_N_ELEMENTS(rows); i++) {
        To to = { 0x22, 0x92, rows[i].who == USER };
        unsigned got = ask(&g, to, rows[i].id, rows[i].pdu, rows[i].len);

        if (got != rows[i].want) {
            g_error("row %u: status %x and not %x", i, got, rows[i].want);
        }
    }
    for (unsigned id = 0; id < 128; id++) {
        if (!is_message(id)) {
            g_assert_cmphex(ask(&g, (To) { 0x22, 0x92 }, id, nothing, 16), ==,
                            0x03);
        }
    }
    link_stop(&l);
}

/* A queue that a guest breaks stops until it is reset, and nothing else does. */
static void test_hostile(void)
{
    uint32_t neighbor[4];
    Link l = { .props = PATIENT };
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
    qtest_add_func("/ubc-manage/pool", test_pool);
    qtest_add_func("/ubc-manage/codes", test_codes);
    qtest_add_func("/ubc-manage/hostile", test_hostile);
    return g_test_run();
}
