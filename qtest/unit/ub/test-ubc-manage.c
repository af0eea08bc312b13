/*
 * Management between two controllers, by their message queues and real links in
 * virtual time: a guest finds its neighbour by scans, gives it addresses, and
 * configures it by messages (UB 2.0 §10.4).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "ubc-pair.h"
#include "ub/msgq.h"
#include "ub/net_format.h"

#define SQ 0x40000u
#define RQ 0x60000u
#define CQ 0x70000u
#define DEPTH 8u
#define Q UBC_MSGQ(0)

static Side two[2];

/* The guest's side of the queue. */
typedef struct Guest {
    Side *s;
    unsigned pi, ci;
    uint16_t msn;
    uint32_t packet[512]; /* the last one received */
    unsigned len, status;
    bool event;           /* it is no answer */
} Guest;

static void up(const UbcConfig *conf)
{
    Side *a = &two[0], *b = &two[1];

    side_init(a, b, conf);
    side_init(b, a, conf);
    connect(a, b);
    wr(a, UBC_PORT(0) + UBC_PORT_CTRL, UBC_PORT_CTRL_ENABLE);
    wr(b, UBC_PORT(0) + UBC_PORT_CTRL, UBC_PORT_CTRL_ENABLE);
    g_assert_true(run_until(a, b, both_up, 60 * SECOND));
    run_until(a, b, never, SECOND / 100);
}

static void end(void)
{
    side_free(&two[0]);
    side_free(&two[1]);
}

static void guest_open(Guest *g, Side *s)
{
    static const uint32_t base[] = { SQ, RQ, CQ };
    static const uint32_t at[] = { UB_MSGQ_SQ_ADDR_L, UB_MSGQ_RQ_ADDR_L,
                                   UB_MSGQ_CQ_ADDR_L };

    *g = (Guest) { .s = s, .msn = 100 };
    wr(s, Q + UB_MSGQ_RST, 1);
    wr(s, Q + UB_MSGQ_RST, 0);
    for (unsigned i = 0; i < 3; i++) {
        wr(s, Q + at[i] + 0x10, DEPTH);
        wr(s, Q + at[i], base[i]);
    }
    wr(s, Q + UB_MSGQ_INT_SEL, 17);
    wr(s, Q + UB_MSGQ_CQ_INT_MASK, 0);
}

static void put(Guest *g, unsigned task, bool local, uint8_t opcode,
                const uint32_t *words, unsigned n)
{
    uint8_t *sqe = g->s->mem + SQ + 16 * g->pi;
    uint32_t slot = DEPTH * 16 + g->pi * 2048;

    for (unsigned i = 0; i < n; i++) {
        put_le32(g->s->mem + SQ + slot + 4 * i, words[i]);
    }
    put_le32(sqe, task | (local ? 0x10 : 0) | opcode << 8 | 4 * n << 16);
    put_le32(sqe + 4, ++g->msn);
    put_le32(sqe + 8, slot);
    g->pi = (g->pi + 1) % DEPTH;
    wr(g->s, Q + UB_MSGQ_SQ_PI, g->pi);
}

static bool has_cqe(Side *a, Side *b)
{
    return rd(a, Q + UB_MSGQ_CQ_PI) != rd(a, Q + UB_MSGQ_CQ_CI);
}

/* The next completion, whose packet is as memory has it. */
static void take(Guest *g)
{
    const uint8_t *cqe = g->s->mem + CQ + 16 * g->ci;
    unsigned slot;

    g_assert_true(run_until(g->s, g->s->peer, has_cqe, 5 * SECOND));
    g->len = get_le32(cqe) >> 16 & 0xfff;
    g->status = cqe[10];
    g->event = !(cqe[0] & 3) && !(cqe[1] & 1);
    slot = get_le16(cqe + 8) & 0x3ff;
    for (unsigned i = 0; i < (g->len + 3) / 4; i++) {
        g->packet[i] = get_le32(g->s->mem + RQ + 2048 * slot + 4 * i);
    }
    g->ci = (g->ci + 1) % DEPTH;
    wr(g->s, Q + UB_MSGQ_RQ_CI, rd(g->s, Q + UB_MSGQ_RQ_PI));
    wr(g->s, Q + UB_MSGQ_CQ_CI, g->ci);
}

static void take_answer(Guest *g)
{
    do {
        take(g);
    } while (g->event);
}

/* A scan over @hops (0 or 1) through port 0; the status of the answer. */
static unsigned scan(Guest *g, unsigned hops, unsigned cmd, unsigned opcode,
                     const uint32_t guid[4], uint32_t w6, uint32_t w7)
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
    words[n] = w6;
    words[n + 1] = w7;
    put(g, UB_MSGQ_SCAN, !hops, cmd, words, n + size[cmd] - 6);
    take_answer(g);
    /* Behind LPH, NTH, UPIH, Scan Header and its one path. */
    return g->status ? 0x100 : g->packet[5 + hops] & 0xff;
}

static const unsigned PDU = 5; /* of an answer without hops */

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
static void meet(Guest *g, uint32_t neighbor[4])
{
    g_assert_cmphex(scan(g, 0, 0, 1, NULL, 0, 0), ==, 0);
    /* Slice_info, Port_num, Cap_info, Port_info of the one port. */
    g_assert_cmphex(g->packet[PDU + 6], ==, 0x00040100);
    g_assert_cmphex(g->packet[PDU + 7], ==, 0x01080001);
    g_assert_cmphex(g->packet[PDU + 11], ==, 0x021c0100);
    memcpy(neighbor, &g->packet[PDU + 14], 16);
    g_assert_cmphex(neighbor[0], ==, g->s == &two[0] ? 2 : 1);
    g_assert_cmphex(scan(g, 0, 1, 2, NULL, 0, 0x11), ==, 0);
    g_assert_cmphex(scan(g, 1, 1, 2, neighbor, 0, 0x22), ==, 0);
}

static void test_scan(void)
{
    Side *a = &two[0], *b = &two[1];
    uint32_t neighbor[4];
    UbcConfig conf;
    Guest g;

    ubc_config_init(&conf);
    up(&conf);
    guest_open(&g, a);
    meet(&g, neighbor);
    g_assert_cmpuint(a->interrupts[17], ==, 1);
    g_assert_cmphex(cfg(a, UB_CFG0_PRIMARY_CNA), ==, 0x11);
    g_assert_cmphex(cfg(b, UB_CFG0_PRIMARY_CNA), ==, 0x22);
    /* The neighbour's topology: it sees us. */
    g_assert_cmphex(scan(&g, 1, 0, 1, neighbor, 0, 0), ==, 0);
    g_assert_cmphex(g.packet[PDU + 1 + 14], ==, 1);
    g_assert_cmphex(g.packet[1], ==, 0x00220011);
    /* Port CNA, and what it is then. */
    g_assert_cmphex(scan(&g, 1, 1, 3, neighbor, 0, 0x33), ==, 0);
    g_assert_cmphex(cfg(b, UB_CFG_PORT_BASE(0) + UB_PORT_CNA), ==, 0x33);
    g_assert_cmphex(scan(&g, 1, 2, 3, neighbor, 0, 0), ==, 0);
    g_assert_cmphex(g.packet[PDU + 1 + 6], ==, 0x33);
    /* Another's GUID; a port that is not there. */
    neighbor[0]++;
    g_assert_cmphex(scan(&g, 1, 0, 1, neighbor, 0, 0), ==, 2);
    neighbor[0]--;
    g_assert_cmphex(scan(&g, 1, 2, 3, neighbor, 1, 0), ==, 0x26);
    g_assert_cmpuint(a->guest_errors + b->guest_errors, ==, 0);
    g_assert_cmpuint(a->peer_errors + b->peer_errors, ==, 0);
    end();
}

static void test_config(void)
{
    Side *a = &two[0], *b = &two[1];
    uint32_t neighbor[4];
    UbcConfig conf;
    Guest g;

    ubc_config_init(&conf);
    up(&conf);
    guest_open(&g, a);
    meet(&g, neighbor);
    g_assert_cmphex(config(&g, 0x22, 0, UB_CFG0_GUID, 0), ==, 0);
    g_assert_cmphex(g.packet[8], ==, 2);
    g_assert_cmphex(g.packet[1], ==, 0x00220011);
    g_assert_cmphex(config(&g, 0x22, 1, UB_CFG0_UPI, 0x1234), ==, 0);
    g_assert_cmphex(cfg(b, UB_CFG0_UPI), ==, 0x1234);
    g_assert_cmphex(config(&g, 0x22, 3, UB_CFG1_BASE + UB_CFG1_BUS_EN, 1), ==,
                    0);
    g_assert_cmphex(cfg(b, UB_CFG1_BASE + UB_CFG1_BUS_EN), ==, 1);
    g_assert_cmphex(config(&g, 0x22, 0, UB_CFG1_BASE, 0), ==, 0x22);
    /* Ourselves, by CNA. */
    g_assert_cmphex(config(&g, 0x11, 1, UB_CFG0_UPI, 0x1234), ==, 0);
    g_assert_cmphex(cfg(a, UB_CFG0_UPI), ==, 0x1234);
    /* A node that there is not. */
    g_assert_cmphex(config(&g, 0x99, 0, 0, 0), ==, 0x100);
    /* DEV_RST: no answer, and everything forgotten. */
    g_assert_cmphex(config(&g, 0x22, 1, UB_CFG0_DEV_RST, 1), ==, 0x100);
    g_assert_cmphex(cfg(b, UB_CFG0_UPI), ==, 0);
    g_assert_cmphex(cfg(b, UB_CFG0_PRIMARY_CNA), ==, 0);
    g_assert_cmpuint(a->guest_errors + b->guest_errors, ==, 0);
    end();
}

/* Paths of 4, 8 and 16 bits a port reach the neighbour; wider ones do not exist. */
static void test_scan_types(void)
{
    Side *a = &two[0], *b = &two[1];
    uint32_t neighbor[4];
    UbcConfig conf;
    Guest g;

    ubc_config_init(&conf);
    up(&conf);
    guest_open(&g, a);
    meet(&g, neighbor);
    for (unsigned type = 0; type < 4; type++) {
        const uint32_t words[] = {
            6 << 16, 0, 9, 0x7fff0000, 0x00100000 | type << 16 | 1 << 8, 0, 0,
            1 << 24 | 0 << 16 | 1 << 8, 6 << 16,
            neighbor[0], neighbor[1], neighbor[2], neighbor[3],
        };

        put(&g, UB_MSGQ_SCAN, false, 0, words, G_N_ELEMENTS(words));
        take_answer(&g);
        g_assert_cmpuint(g.status, ==, type > 2);
        g_assert_cmpuint(a->guest_errors, ==, type > 2);
        if (type <= 2) {
            /* One hop of one. */
            g_assert_cmphex(g.packet[4], ==, type << 16 | 1 << 8 | 1);
            g_assert_cmphex(g.packet[PDU + 1] & 0xff, ==, 0);
            g_assert_cmphex(g.packet[PDU + 1 + 2], ==, neighbor[0]);
        }
    }
    g_assert_cmpuint(a->peer_errors + b->peer_errors, ==, 0);
    end();
}

/* A vendor's message of @bytes to @dcna. */
static void send_vendor(Guest *g, uint32_t dcna, uint32_t bytes)
{
    uint32_t words[8 + 258] = {
        6 << 16, dcna, 8, 0x027fff00, 0, 0x10000000, 0, 0x06000000 | bytes,
    };

    for (unsigned i = 0; i < bytes / 4; i++) {
        words[8 + i] = 0x1000000 * dcna + i;
    }
    put(g, UB_MSGQ_MESSAGE, false, 0x06, words, 8 + bytes / 4);
}

/* 1024 bytes behind MGMTETAH arrive, in either direction; more are not sent. */
static void test_limits(void)
{
    static const uint32_t at[] = { 0x11, 0x22 };
    uint32_t neighbor[4];
    UbcConfig conf;
    Guest g[2];

    ubc_config_init(&conf);
    up(&conf);
    guest_open(&g[0], &two[0]);
    meet(&g[0], neighbor);
    guest_open(&g[1], &two[1]);
    for (unsigned to = 0; to < 2; to++) {
        send_vendor(&g[!to], at[to], 1024);
        take(&g[to]);
        g_assert_true(g[to].event);
        g_assert_cmpuint(g[to].len, ==, 32 + 1024);
        g_assert_cmphex(g[to].packet[7], ==, 0x06000400);
        for (unsigned i = 0; i < 256; i++) {
            g_assert_cmphex(g[to].packet[8 + i], ==, 0x1000000 * at[to] + i);
        }
        g_assert_cmpuint(two[!to].guest_errors, ==, 0);
        send_vendor(&g[!to], at[to], 1028);
        take_answer(&g[!to]);
        g_assert_cmpuint(g[!to].status, ==, 1);
        g_assert_cmpuint(two[!to].guest_errors, ==, 1);
    }
    end();
}

/* Software that is not the UBFM may read us, but neither scans nor writes CFG0. */
static void test_user(void)
{
    Side *a = &two[0];
    uint32_t neighbor[4] = { 2 };
    UbcConfig conf;
    Guest g;

    ubc_config_init(&conf);
    conf.manager = false;
    up(&conf);
    guest_open(&g, a);
    g_assert_cmphex(scan(&g, 1, 0, 1, neighbor, 0, 0), ==, 0x100);
    g_assert_cmpuint(a->guest_errors, ==, 1);
    wr(a, UBC_CFG_WINDOW + 4 * UB_CFG0_PRIMARY_CNA, 0x11);
    wr(a, UBC_CFG_WINDOW + 4 * UB_CFG0_UPI, 7);
    g_assert_cmphex(config(&g, 0x11, 0, UB_CFG0_UPI, 0), ==, 0);
    g_assert_cmphex(g.packet[8], ==, 7);
    g_assert_cmphex(config(&g, 0x11, 1, UB_CFG0_UPI, 8), ==, 0x21);
    end();
}

/* Links as they come and go; a scan over one that is down fails at once. */
static void test_links(void)
{
    Side *a = &two[0], *b = &two[1];
    uint32_t neighbor[4];
    UbcConfig conf;
    Guest g;

    ubc_config_init(&conf);
    up(&conf);
    guest_open(&g, a);
    meet(&g, neighbor);
    wr(b, UBC_PORT(0) + UBC_PORT_CTRL, 0);
    take(&g);
    g_assert_cmphex(g.packet[7], ==, 0x12000008);
    g_assert_cmphex(g.packet[8], ==, 0x11);
    g_assert_cmphex(g.packet[9], ==, 0);
    g_assert_cmphex(scan(&g, 1, 0, 1, neighbor, 0, 0), ==, 0x100);
    g_assert_cmphex(scan(&g, 0, 0, 1, NULL, 0, 0), ==, 0);
    g_assert_cmphex(g.packet[PDU + 11], ==, 0x021c0000);
    wr(b, UBC_PORT(0) + UBC_PORT_CTRL, UBC_PORT_CTRL_ENABLE);
    g_assert_true(run_until(a, b, both_up, 60 * SECOND));
    take(&g);
    g_assert_cmphex(g.packet[7], ==, 0x02000008);
    g_assert_cmphex(scan(&g, 1, 0, 1, neighbor, 0, 0), ==, 0);
    end();
}

/* ---- Hot-plug slots ---- */

static uint32_t slot_reg(unsigned reg)
{
    return UBC_CFG_WINDOW + 4 * (UB_CFG_CAP(UB_CFG0_BASE, UB_CAP_SHP) +
                                 UB_SHP_REG(0, reg));
}

/* The next message is one of two kinds; which. */
static bool take_either(Guest *g, uint32_t one, uint32_t other)
{
    take(g);
    g_assert_true(g->packet[7] == one || g->packet[7] == other);
    return g->packet[7] == other;
}

/* A slot of our own: its button and what is in it come as messages, power is the
 * link's, and all of it goes along to another machine. */
static void test_slots(void)
{
    const uint32_t presence = 0x32000008, down = 0x12000008, up_again = 0x02000008;
    Side *a = &two[0], *b = &two[1];
    UbcConfig conf, bare;
    const char *why = NULL;
    uint8_t *image;
    size_t len;
    Ubc *ubc;
    Guest g;

    ubc_config_init(&conf);
    bare = conf;
    g_assert_true(ub_shp_config_add(&conf.shp, "0+"));
    up(&conf);
    guest_open(&g, a);
    g_assert_nonnull(ub_shp_press(ubc_shp(a->ubc), now, 0));
    wr(a, slot_reg(UB_SHP_PD_CTRL), 1);
    g_assert_cmphex(rd(a, slot_reg(UB_SHP_PD_ST)), ==, 1);
    wr(a, slot_reg(UB_SHP_PDS_CTRL), 1);
    wr(a, slot_reg(UB_SHP_PP_CTRL), 1);
    wr(a, slot_reg(UB_SHP_MS_CTRL), 1);
    wr(a, slot_reg(UB_SHP_PL_CTRL), UB_SHP_LED_ON);
    g_assert_null(ub_shp_press(ubc_shp(a->ubc), now, 0));
    take(&g);
    g_assert_cmphex(g.packet[7], ==, 0x22000008);
    g_assert_cmphex(g.packet[8], ==, 0);
    g_assert_cmphex(rd(a, slot_reg(UB_SHP_PP_ST)), ==, 1);
    wr(a, slot_reg(UB_SHP_PP_ST), 1);
    g_assert_cmphex(rd(a, slot_reg(UB_SHP_PP_ST)), ==, 0);
    wr(a, slot_reg(UB_SHP_PW_CTRL), 0);
    g_assert_true(run_until(a, b, both_down, 60 * SECOND));
    g_assert_cmpint(take_either(&g, presence, down) +
                    take_either(&g, presence, down), ==, 1);
    g_assert_cmphex(rd(a, slot_reg(UB_SHP_PD_ST)), ==, 0);
    /* Not by its driver either. */
    wr(a, UBC_PORT(0) + UBC_PORT_CTRL, 0);
    wr(a, UBC_PORT(0) + UBC_PORT_CTRL, UBC_PORT_CTRL_ENABLE);
    g_assert_false(run_until(a, b, both_up, 2 * SECOND));
    wr(a, slot_reg(UB_SHP_PW_CTRL), 1);
    g_assert_true(run_until(a, b, both_up, 60 * SECOND));
    g_assert_cmpint(take_either(&g, presence, up_again) +
                    take_either(&g, presence, up_again), ==, 1);
    /* Another machine, where no wire has come yet. */
    image = ubc_save(a->ubc, now, &len);
    ubc = ubc_new(&conf, &ops, a, &why);
    g_assert_cmpstr(ubc_load(ubc, now, image, len), ==, NULL);
    ubc_run(ubc, now);
    g_assert_cmphex(ubc_read(ubc, slot_reg(UB_SHP_PD_ST), now), ==, 1);
    g_assert_cmphex(ubc_read(ubc, slot_reg(UB_SHP_PL_CTRL), now), ==,
                    UB_SHP_LED_ON);
    ubc_run(ubc, now + SECOND);
    g_assert_cmphex(ubc_read(ubc, slot_reg(UB_SHP_PD_ST), now + SECOND), ==, 0);
    ubc_free(ubc);
    ubc = ubc_new(&bare, &ops, a, &why);
    g_assert_nonnull(ubc_load(ubc, now, image, len));
    ubc_free(ubc);
    g_free(image);
    end();
}

/* A raw packet of CFG 6 whose ICRC does not fit, from @s. */
static void send_bad(Side *s)
{
    uint8_t *d = s->mem + TX_RING + s->tx_head % RING * UBC_DESC_SIZE;

    memset(s->mem + TX_BUF, 0x11, 64);
    s->mem[TX_BUF + 7] = 0x09;
    put_le64(d, TX_BUF);
    put_le32(d + 8, 64);
    put_le32(d + 12, 6);
    wr(s, UBC_PAIR(0) + UBC_RING_TX + UBC_RING_HEAD, ++s->tx_head);
}

/* A raw message that writes UPI of @to, in the partition @upi. */
static void send_raw_write(Side *s, uint32_t to, bool mgmt, uint32_t upi,
                           uint32_t value)
{
    const uint32_t words[] = {
        0x11u << 16 | to, mgmt ? 8 : 0, 0x02000000 | upi << 8, 0, 0x10100001, 0,
        0x14000010, 0xf0, UB_CFG0_UPI, 0, value,
    };
    uint8_t *p = s->mem + TX_BUF;
    uint8_t *d = s->mem + TX_RING + s->tx_head % RING * UBC_DESC_SIZE;

    for (unsigned i = 0; i < G_N_ELEMENTS(words); i++) {
        put_be32(p + 4 * i, words[i]);
    }
    ub_icrc_put(p + sizeof(words), ub_icrc(UB_LPH_CNA16, p, sizeof(words)));
    put_le64(d, TX_BUF);
    put_le32(d + 8, sizeof(words) + 4);
    put_le32(d + 12, 6);
    wr(s, UBC_PAIR(0) + UBC_RING_TX + UBC_RING_HEAD, ++s->tx_head);
    run_until(s, s->peer, never, SECOND / 100);
}

/* Mgmt is believed in the UBFM's partition alone. */
static void test_upi(void)
{
    Side *a = &two[0], *b = &two[1];
    UbcConfig conf;

    ubc_config_init(&conf);
    side_init(a, b, &conf);
    side_init(b, a, &conf);
    connect(a, b);
    wr(a, UBC_PAIR(0) + UBC_PAIR_CFGS, 1 << 6);
    side_open(a);
    wr(b, UBC_PORT(0) + UBC_PORT_CTRL, UBC_PORT_CTRL_ENABLE);
    g_assert_true(run_until(a, b, both_up, 60 * SECOND));
    wr(b, UBC_CFG_WINDOW + 4 * UB_CFG0_PRIMARY_CNA, 0x22);
    send_raw_write(a, 0x22, true, 0x7fff, 0x55);
    g_assert_cmphex(cfg(b, UB_CFG0_UPI), ==, 0x55);
    send_raw_write(a, 0x22, true, 0x55, 0x66);
    g_assert_cmphex(cfg(b, UB_CFG0_UPI), ==, 0x55);
    /* Nor without Mgmt, in whatever partition. */
    send_raw_write(a, 0x22, false, 0x7fff, 0x66);
    send_raw_write(a, 0x22, false, 0x55, 0x66);
    g_assert_cmphex(cfg(b, UB_CFG0_UPI), ==, 0x55);
    send_raw_write(a, 0x22, true, 0x7fff, 0x77);
    g_assert_cmphex(cfg(b, UB_CFG0_UPI), ==, 0x77);
    end();
}

/* An error of a port is told once, until software clears it. */
static void test_errors(void)
{
    Side *a = &two[0], *b = &two[1];
    const uint32_t emq = UB_CFG_CAP(UB_CFG0_BASE, UB_CAP_EMQ);
    const uint32_t err = UB_CFG_PORT_CAP(0, UB_CAP_PORT_ERR);
    const uint32_t icrc = 1u << 27;
    UbcConfig conf;
    Guest g;

    for (unsigned severity = 0; severity < 3; severity++) {
        static const uint16_t pi[] = { UB_EMQ_CE_PI, UB_EMQ_NFUE_PI,
                                       UB_EMQ_FUE_PI };
        const uint32_t status = err + (severity ? UB_PORT_ERR_UCE_STATUS
                                                : UB_PORT_ERR_CE_STATUS);

        ubc_config_init(&conf);
        side_init(a, b, &conf);
        side_init(b, a, &conf);
        connect(a, b);
        wr(a, UBC_PAIR(0) + UBC_PAIR_CFGS, 1 << 6);
        side_open(a);
        wr(b, UBC_PORT(0) + UBC_PORT_CTRL, UBC_PORT_CTRL_ENABLE);
        g_assert_true(run_until(a, b, both_up, 60 * SECOND));
        run_until(a, b, never, SECOND / 100);
        guest_open(&g, b);
        wr(b, UBC_CFG_WINDOW + 4 * (emq + UB_EMQ_CTL), 7);
        wr(b, UBC_CFG_WINDOW + 4 * (err + UB_PORT_ERR_CE_SEVERITY),
           severity ? 0 : icrc);
        wr(b, UBC_CFG_WINDOW + 4 * (err + UB_PORT_ERR_UCE_SEVERITY),
           severity == 2 ? icrc : 0);
        wr(b, UBC_CFG_WINDOW + 4 * (err + UB_PORT_ERR_CE_STATUS), ~0u);
        for (unsigned i = 1; i < 3; i++) {
            send_bad(a);
            take(&g);
            g_assert_true(g.event);
            g_assert_cmphex(g.packet[7], ==, severity << 28 | 8);
            g_assert_cmphex(g.packet[9], ==, 0);
            g_assert_cmpuint(cfg(b, emq + pi[severity]), ==, i);
            g_assert_cmphex(cfg(b, status) & icrc, ==, icrc);
            /* Once more says nothing new. */
            send_bad(a);
            run_until(a, b, never, SECOND / 1000);
            g_assert_cmpuint(cfg(b, emq + pi[severity]), ==, i);
            wr(b, UBC_CFG_WINDOW + 4 * status, icrc);
        }
        end();
    }
}

/* A scan that goes on through the neighbour, back to us; the neighbour forwards,
 * or does not. */
static void test_forward(void)
{
    for (unsigned forward = 0; forward < 2; forward++) {
        Side *a = &two[0];
        uint32_t words[] = {
            6 << 16, 0, 9, 0x7fff0000, 0x00100200, 0, 0, 0x01000100, 6 << 16,
            1, 0, 0, 0,
        };
        UbcConfig conf;
        Guest g;

        ubc_config_init(&conf);
        conf.forward = forward;
        up(&conf);
        guest_open(&g, a);
        for (unsigned i = 0; i < 4; i++) {
            words[9 + i] = cfg(a, UB_CFG0_GUID + i);
        }
        put(&g, UB_MSGQ_SCAN, false, 0, words, G_N_ELEMENTS(words));
        take_answer(&g);
        g_assert_cmpuint(g.status, ==, !forward);
        if (forward) {
            g_assert_cmphex(g.packet[4], ==, 0x00000202);
            g_assert_cmphex(g.packet[8], ==, words[9]);
        }
        end();
    }
}

/* A ring pair that asks for CFG 6 has it, and the device does not. */
static void test_raw(void)
{
    Side *a = &two[0], *b = &two[1];
    uint32_t neighbor[4] = { 2, 0, 0, 0 };
    UbcConfig conf;
    Guest g;

    ubc_config_init(&conf);
    side_init(a, b, &conf);
    side_init(b, a, &conf);
    connect(a, b);
    wr(b, UBC_PAIR(0) + UBC_PAIR_CFGS, 1 << 6);
    side_open(b);
    give_rx(b);
    wr(a, UBC_PORT(0) + UBC_PORT_CTRL, UBC_PORT_CTRL_ENABLE);
    g_assert_true(run_until(a, b, both_up, 60 * SECOND));
    run_until(a, b, never, SECOND / 100);
    guest_open(&g, a);
    g_assert_cmphex(scan(&g, 1, 0, 1, neighbor, 0, 0), ==, 0x100);
    /* NTH, UPIH, Scan Header, two paths, PDU, ICRC: one hop further. */
    g_assert_cmpuint(rd(b, UBC_PAIR(0) + UBC_RING_RX + UBC_RING_TAIL), ==, 1);
    g_assert_cmpuint(get_le32(b->mem + RX_RING + 8), ==, 8 + 4 + 12 + 24 + 4);
    g_assert_cmphex(get_be32(b->mem + RX_BUF + 4), ==, 0x00000009);
    g_assert_cmphex(get_be32(b->mem + RX_BUF + 12), ==, 0x00100100);
    end();
}

/* What was asked is in vain on the other machine, and asked again there. */
static void test_migrate(void)
{
    Side *a = &two[0], *b = &two[1];
    uint32_t neighbor[4];
    UbcConfig conf;
    g_autofree uint8_t *image = NULL;
    size_t len;
    Guest g;

    ubc_config_init(&conf);
    up(&conf);
    guest_open(&g, a);
    meet(&g, neighbor);
    cut(a, b);
    put(&g, UB_MSGQ_MESSAGE, false, 4, (const uint32_t[]) {
            6 << 16, 0x22, 8, 0x027fff00, 0, 0x10000000, 0, 0x04000010, 0xf0,
            0, 0, 0 }, 12);
    image = ubc_save(a->ubc, now, &len);
    ubc_reset(a->ubc, now);
    g_assert_cmphex(rd(a, Q + UB_MSGQ_SQ_DEPTH), ==, 0);
    g_assert_cmpstr(ubc_load(a->ubc, now, image, len), ==, NULL);
    g_assert_cmphex(rd(a, Q + UB_MSGQ_SQ_PI), ==, g.pi);
    g_assert_cmphex(rd(a, Q + UB_MSGQ_INT_SEL), ==, 17);
    take_answer(&g);
    g_assert_cmpuint(g.status, ==, 1);
    connect(a, b);
    g_assert_true(run_until(a, b, both_up, 60 * SECOND));
    take(&g);
    g_assert_cmphex(g.packet[7], ==, 0x02000008);
    g_assert_cmphex(config(&g, 0x22, 0, UB_CFG0_GUID, 0), ==, 0);
    g_assert_cmphex(g.packet[8], ==, 2);
    end();
}

/* Without bus mastering nothing is read or written, and goes on with it. */
static void test_master(void)
{
    Side *a = &two[0];
    UbcConfig conf;
    Guest g;

    ubc_config_init(&conf);
    up(&conf);
    guest_open(&g, a);
    ubc_bus_master(a->ubc, false);
    put(&g, UB_MSGQ_MESSAGE, true, 4, (const uint32_t[]) {
            6 << 16, 0, 8, 0x027fff00, 0, 0x10000000, 0, 0x04000010, 0xf0,
            UB_CFG0_GUID, 0, 0 }, 12);
    run_until(a, a->peer, never, SECOND / 100);
    g_assert_cmpuint(rd(a, Q + UB_MSGQ_SQ_CI), ==, 0);
    ubc_bus_master(a->ubc, true);
    take(&g);
    g_assert_cmphex(g.packet[8], ==, 1);
    end();
}

/* One byte for a guest that does not listen is no wall before management. */
static void test_behind(void)
{
    Side *a = &two[0], *b = &two[1];
    uint32_t neighbor[4];
    UbcConfig conf;
    Guest g;

    ubc_config_init(&conf);
    up(&conf);
    guest_open(&g, a);
    meet(&g, neighbor);
    ubc_bus_master(b->ubc, false);
    wr(a, UBC_PAIR(0) + UBC_PAIR_CFGS, 1 << 7);
    wr(a, UBC_PAIR(0) + UBC_RING_TX + UBC_RING_BASE_LO, TX_RING);
    wr(a, UBC_PAIR(0) + UBC_RING_TX + UBC_RING_SIZE, RING_LOG);
    wr(a, UBC_PAIR(0) + UBC_RING_TX + UBC_RING_CTRL, UBC_RING_ENABLE);
    send(a, 1, 7);
    run_until(a, b, never, SECOND / 100);
    g_assert_cmphex(get_le16(a->mem + TX_RING + 14), ==, UBC_DESC_DONE);
    g_assert_cmphex(config(&g, 0x22, 0, UB_CFG0_GUID, 0), ==, 0);
    g_assert_cmphex(g.packet[8], ==, 2);
    end();
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/ubc/manage/scan", test_scan);
    g_test_add_func("/ubc/manage/scan-types", test_scan_types);
    g_test_add_func("/ubc/manage/limits", test_limits);
    g_test_add_func("/ubc/manage/upi", test_upi);
    g_test_add_func("/ubc/manage/config", test_config);
    g_test_add_func("/ubc/manage/user", test_user);
    g_test_add_func("/ubc/manage/links", test_links);
    g_test_add_func("/ubc/manage/slots", test_slots);
    g_test_add_func("/ubc/manage/errors", test_errors);
    g_test_add_func("/ubc/manage/forward", test_forward);
    g_test_add_func("/ubc/manage/raw", test_raw);
    g_test_add_func("/ubc/manage/migrate", test_migrate);
    g_test_add_func("/ubc/manage/master", test_master);
    g_test_add_func("/ubc/manage/behind", test_behind);
    return g_test_run();
}
