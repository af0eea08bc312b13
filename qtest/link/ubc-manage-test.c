/*
 * Management between emulators, by the message queues of their controllers: a
 * guest finds the other one by scans, gives it addresses and configures it.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "ubc-msg.h"
#include "ubc-raw.h"
#include "qobject/qlist.h"

/* Two nodes that have met, and guests at their message queues, at b's if @b is there. */
static void begin(Link *l, Guest *a, Guest *b, uint32_t neighbor[4])
{
    link_start(l);
    guest_open(a, l->a);
    if (b) {
        guest_open(b, l->b);
    }
    meet(a, l->b, neighbor);
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

    begin(&l, &a, &b, neighbor);
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
        /* Each answer has the MSN of its question. */
        g_assert_cmphex(a.answered, ==, a.msn);
        g_assert_cmphex(b.answered, ==, b.msn);
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

    begin(&l, &g, NULL, neighbor);
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

/* ---- What packets are made of ---- */

/* §10.4.3.2: paths of 4, 8 and 16 bits a port reach the neighbour, whose answer is one
 * hop of one; wider ones do not exist. */
static void test_scan_types(void)
{
    uint32_t neighbor[4];
    Link l = { .props = PATIENT };
    Guest g;

    begin(&l, &g, NULL, neighbor);
    for (unsigned type = 0; type < 16; type++) {
        const uint32_t words[] = {
            6 << 16, 0, 9, 0x7fff0000, 0x00100000 | type << 16 | 1 << 8, 0, 0,
            1 << 24 | 0 << 16 | 1 << 8, 6 << 16,
            neighbor[0], neighbor[1], neighbor[2], neighbor[3],
        };

        put(&g, UB_MSGQ_SCAN, false, 0, words, G_N_ELEMENTS(words));
        take_answer(&g);
        g_assert_cmpuint(!g.status, ==, type <= 2);
        if (type <= 2) {
            g_assert_cmphex(g.packet[4], ==, type << 16 | 1 << 8 | 1);
            g_assert_cmphex(g.packet[6] & 0xff, ==, 0);
            g_assert_cmpmem(&g.packet[8], 16, neighbor, 16);
        }
    }
    link_stop(&l);
}

/* §10.4.3.2: who a scan does not end at sends it on by the next hop of its path, if it
 * forwards at all: back to us, two steps of two. */
static void test_forward(void)
{
    for (unsigned forward = 0; forward < 2; forward++) {
        uint32_t words[] = {
            6 << 16, 0, 9, 0x7fff0000, 0x00100200, 0, 0, 0x01000100, 6 << 16,
            0, 0, 0, 0,
        };
        Link l = { .props = forward ? "forward=on," PATIENT : WAITS_IN_VAIN };
        Guest g;

        link_start(&l);
        guest_open(&g, l.a);
        for (unsigned i = 0; i < 4; i++) {
            words[9 + i] = qubc_cfg_read(l.a, UB_CFG0_GUID + i);
        }
        put(&g, UB_MSGQ_SCAN, false, 0, words, G_N_ELEMENTS(words));
        take_answer(&g);
        g_assert_cmpuint(!g.status, ==, forward);
        if (forward) {
            g_assert_cmphex(g.packet[4], ==, 0x00000202);
            g_assert_cmpmem(&g.packet[8], 16, &words[9], 16);
        }
        link_stop(&l);
    }
}

/* §10.4.3.1: 1024 bytes behind MGMTETAH arrive, in either direction; more are not
 * sent. */
static void test_limits(void)
{
    static const uint32_t at[] = { 0x11, 0x22 };
    uint32_t neighbor[4], pdu[257];
    Link l = { .props = PATIENT };
    Guest g[2];

    begin(&l, &g[0], &g[1], neighbor);
    for (unsigned to = 0; to < 2; to++) {
        const To peer = { at[to] };

        for (unsigned i = 0; i < G_N_ELEMENTS(pdu); i++) {
            pdu[i] = 0x1000000 * at[to] + i;
        }
        send_message(&g[!to], peer, UB_MGMT_MSG_VDM_MCTP, pdu, 1024);
        take_request(&g[to], UB_MGMT_MSG_VDM_MCTP >> 4);
        g_assert_cmphex(g[to].packet[7] & 0xffff, ==, 1024);
        g_assert_cmpmem(&g[to].packet[8], 1024, pdu, 1024);
        answer(&g[to], 0);
        take_answer(&g[!to]);
        g_assert_cmpuint(g[!to].status, ==, 0);
        send_message(&g[!to], peer, UB_MGMT_MSG_VDM_MCTP, pdu, 1028);
        take_answer(&g[!to]);
        g_assert_cmpuint(g[!to].status, !=, 0);
    }
    link_stop(&l);
}

/* A link whose server, @e, sends what it likes, to CNA 0x22. */
static void raw_link(Link *l, Eng *e)
{
    link_prepare(l);
    e->q = l->a = start_server(l);
    l->b = start_client(l);
    qubc_pair_write(l->a, 0, UBC_PAIR_CFGS, 0xffff);
    link_open(l);
    qubc_cfg_write(l->b, UB_CFG0_PRIMARY_CNA, 0x22);
}

/* A CFG0 write as somebody at @e's end of the link would make it. */
static void raw_config(Eng *e, bool mgmt, uint32_t upi, uint32_t dw, uint32_t value)
{
    const uint32_t words[] = {
        0x11u << 16 | 0x22, mgmt ? 8 : 0, 0x02000000 | upi << 8, 0, 0x10100001, 0,
        0x14000010, 0xf0, dw, 0, value,
    };
    uint8_t p[sizeof(words) + 4];

    for (unsigned i = 0; i < G_N_ELEMENTS(words); i++) {
        stl_be_p(p + 4 * i, words[i]);
    }
    raw_seal(UB_LPH_CNA16, p, sizeof(words));
    raw_send(e, UB_LPH_CNA16, p, sizeof(p));
}

/* §10.4.3.1: Mgmt is believed in the UBFM's partition alone, and nobody without it. */
static void test_upi(void)
{
    static const struct {
        bool mgmt;
        uint32_t upi;
    } bad[] = {
        { true, 0x55 }, { true, 0 }, { true, 0x7ffe }, { false, 0x7fff },
        { false, 0x55 }, { false, 0 },
    };
    Link l = { .props = PATIENT };
    Eng e = { 0 };

    raw_link(&l, &e);
    raw_config(&e, true, 0x7fff, UB_CFG0_UPI, 0x55);
    QUBC_WAIT(qubc_cfg_read(l.b, UB_CFG0_UPI) == 0x55);
    for (unsigned i = 0; i < G_N_ELEMENTS(bad); i++) {
        raw_config(&e, bad[i].mgmt, bad[i].upi, UB_CFG0_UPI, 0x66);
        /* What comes behind it is the UBFM's. */
        raw_config(&e, true, 0x7fff, UB_CFG0_UEID, 100 + i);
        QUBC_WAIT(qubc_cfg_read(l.b, UB_CFG0_UEID) == 100 + i);
        g_assert_cmphex(qubc_cfg_read(l.b, UB_CFG0_UPI), ==, 0x55);
    }
    link_stop(&l);
}

/* ---- Slots ---- */

enum { SLOT_WORDS = 10 };   /* of a vendor's message with two words of PDU */

/* What the ring of pair 0 got in descriptor @n, without LPH: its length. */
static uint32_t raw_take(QUbc *d, unsigned n, const uint8_t **p)
{
    const uint8_t *desc = d->ram->at + QUBC_RX_RING(0) + n * UBC_DESC_SIZE;

    QUBC_WAIT(qubc_status(d, 0, UBC_RING_RX, n) & UBC_DESC_DONE);
    g_assert_cmphex(lduw_le_p(desc + 12), ==, UB_LPH_CNA16);
    *p = d->ram->at + QUBC_RX_BUF(0) + n * QUBC_BUF;
    return ldl_le_p(desc + 8);
}

/* A slot has the words of the link (§10.4.3.1), the other way round in memory, in either
 * direction; who sends, and with which rights, is not for software to say. */
static void test_slots(void)
{
    uint32_t words[SLOT_WORDS] = {
        6 << 16, 0xbeef0011, 0x00005a38, 0x02123400 | 0xee, 0xeee00055, 0x10000000,
        0x00066666, 3 << 25 | 15 << 28 | 8, 0x12340000, 0x89abcdef,
    };
    static const uint32_t in[SLOT_WORDS - 1] = {
        0x00110022, 0x00000008, 0x027fff00, 0x00092345, 0x10100001, 0,
        3 << 25 | 15u << 28 | 8, 0, 0x12340000, /* our vendor */
    };
    static const struct {
        unsigned word;
        uint32_t other;
    } bad[] = {
        { 0, 7 << 16 }, { 2, 0x00005a39 }, { 3, 0x01123400 }, { 5, 0x11000000 },
    };
    Link l = { .props = WAITS_IN_VAIN };
    uint8_t whole[sizeof(in) + 4];
    Eng raw = { 0 };
    const uint8_t *p;
    Guest g;

    raw_link(&l, &raw);
    qubc_cfg_write(l.b, UB_CFG0_EID, 0x92345);
    qubc_cfg_write(l.b, UB_CFG0_UPI, 0x55);
    guest_open(&g, l.b);
    for (unsigned i = 0; i < G_N_ELEMENTS(bad); i++) {
        const uint32_t good = words[bad[i].word];

        words[bad[i].word] = bad[i].other;
        put(&g, UB_MSGQ_MESSAGE, false, 15 << 4 | 3 << 1, words, SLOT_WORDS);
        take_answer(&g);
        g_assert_cmphex(g.status, ==, 1);
        words[bad[i].word] = good;
    }
    /* A vendor's message has no completion. */
    for (unsigned manager = 0; manager < 2; manager++) {
        words[2] = manager ? 0x00005a38 : 0x00005a30;
        put(&g, UB_MSGQ_MESSAGE, false, 15 << 4 | 3 << 1, words, SLOT_WORDS);
        g_assert_cmpuint(raw_take(l.a, manager, &p), ==, 4 * SLOT_WORDS);
        g_assert_cmphex((uint32_t)ldl_be_p(p), ==, 0x00220011);
        g_assert_cmphex((uint32_t)ldl_be_p(p + 4) & 0xffff, ==, words[2]);
        g_assert_cmphex((uint32_t)ldl_be_p(p + 8), ==,
                        0x02000000 | (manager ? 0x7fff : 0x55) << 8 | 0x92);
        g_assert_cmphex((uint32_t)ldl_be_p(p + 12), ==, 0x34500055);
        for (unsigned w = 7; w < SLOT_WORDS; w++) {
            g_assert_cmphex((uint32_t)ldl_be_p(p + 4 * (w - 1)), ==, words[w]);
        }
    }
    for (unsigned w = 0; w < G_N_ELEMENTS(in); w++) {
        stl_be_p(whole + 4 * w, in[w]);
    }
    raw_seal(UB_LPH_CNA16, whole, sizeof(in));
    raw_send(&raw, UB_LPH_CNA16, whole, sizeof(whole));
    take_request(&g, 3);
    g_assert_cmpmem(g.packet + 1, sizeof(in), in, sizeof(in));
    link_stop(&l);
}

/* ---- Pooling ---- */

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

    begin(&l, &a, &b, neighbor);
    qubc_cfg_write(l.a, UB_CFG0_EID, 0x91);
    qubc_cfg_write(l.a, UB_CFG0_UPI, 0x7);
    qubc_cfg_write(l.b, UB_CFG0_EID, 0x93);
    qubc_cfg_write(l.b, UB_CFG0_UPI, 0x55);
    /* A User that is silent does not get it. */
    send_message(&a, user, UB_MGMT_MSG_REGISTER, registration,
                 sizeof(registration));
    take_request(&b, 6);
    take_answer(&a);
    g_assert_cmphex(a.status, !=, 0);
    for (unsigned i = 0; i < G_N_ELEMENTS(give); i++) {
        g_assert_cmphex(config_of(&a, own, 1, 1, give[i][0], give[i][1]), ==, 0);
    }
    registration[9] = 0x11;
    registration[10] = 0x93;
    send_message(&a, user, UB_MGMT_MSG_REGISTER, registration,
                 sizeof(registration));
    take_request(&b, 6);
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
    take_request(&b, 6);
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

/* ---- Bus instances ---- */

/* What the monitor says of those of a controller: how many, and of the last. */
static unsigned monitor_says(QUbc *d, char **eid, bool *alive)
{
    QDict *rsp = qtest_qmp(d->qts, "{ 'execute': 'query-ub-management' }");
    QDict *info = qobject_to(QDict, qlist_peek(qdict_get_qlist(rsp, "return")));
    QList *list = qdict_get_qlist(info, "bus-instances");
    unsigned n = qlist_size(list);
    const QListEntry *e;

    QLIST_FOREACH_ENTRY(list, e) {
        QDict *b = qobject_to(QDict, qlist_entry_obj(e));

        g_free(*eid);
        *eid = g_strdup(qdict_get_str(b, "eid"));
        *alive = qdict_get_bool(b, "alive");
    }
    qobject_unref(rsp);
    return n;
}

/* The manager makes one at another node, and lets it speak. */
static void test_instances(void)
{
    static const uint32_t pdu[9] = { 5, 0, 0, 0xcc080001, 0x12345, 0, 0,
                                     0xfd000000, 7 };
    const To node = { 0x22 };
    uint32_t neighbor[4];
    Link l = { .props = "eid-upi=8," PATIENT };
    g_autofree char *eid = NULL;
    bool alive = true;
    Guest g;

    begin(&l, &g, NULL, neighbor);
    g_assert_cmpuint(monitor_says(l.b, &eid, &alive), ==, 0);
    g_assert_cmphex(ask(&g, node, UB_MGMT_MSG_BI_CREATE, pdu, 36), ==, 0);
    g_assert_cmpuint(monitor_says(l.b, &eid, &alive), ==, 1);
    g_assert_cmpstr(eid, ==, "fd000000000000000000000000012345");
    g_assert_false(alive);
    g_assert_cmphex(config(&g, 0x22, 1, UB_CFG0_TRUST_EN, 1), ==, 0);
    QUBC_WAIT(monitor_says(l.b, &eid, &alive) == 1 && alive);
    g_assert_cmphex(config(&g, 0x22, 1, UB_CFG0_TRUST_EN, 0), ==, 0);
    QUBC_WAIT(monitor_says(l.b, &eid, &alive) == 1 && !alive);
    g_assert_cmpuint(monitor_says(l.a, &eid, &alive), ==, 0);
    g_assert_cmphex(ask(&g, node, UB_MGMT_MSG_BI_DESTROY, pdu, 16), ==, 0);
    g_assert_cmpuint(monitor_says(l.b, &eid, &alive), ==, 0);
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

    begin(&l, &g, NULL, neighbor);
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
    qtest_add_func("/ubc-manage/scan-types", test_scan_types);
    qtest_add_func("/ubc-manage/forward", test_forward);
    qtest_add_func("/ubc-manage/limits", test_limits);
    qtest_add_func("/ubc-manage/upi", test_upi);
    qtest_add_func("/ubc-manage/slots", test_slots);
    qtest_add_func("/ubc-manage/pool", test_pool);
    qtest_add_func("/ubc-manage/instances", test_instances);
    qtest_add_func("/ubc-manage/codes", test_codes);
    qtest_add_func("/ubc-manage/hostile", test_hostile);
    return g_test_run();
}
