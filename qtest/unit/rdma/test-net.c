/*
 * Addresses on the wire: ARP, neighbours, frames to groups and everybody, the
 * route header in front of a datagram, frames without an ICRC.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "double.h"
#include "../../../hw/rdma/transport/internal.h"

enum { US = 1, PEER = 2, QPN = 5, MEM = 0x10000 };

static Double *engine(void (*tweak)(RdmaConfig *cfg))
{
    Double *d = double_new(US, tweak);

    double_mr(d, 1, MEM, 0x4000, 0x8000, RDMA_ACC_RIGHTS);
    return d;
}

static void expect_bytes(Double *d, const void *want, size_t len)
{
    GBytes *f = double_take(d);
    gsize size;
    const uint8_t *p;

    g_assert_nonnull(f);
    p = g_bytes_get_data(f, &size);
    g_assert_cmpmem(p, size, want, len);
    g_bytes_unref(f);
}

/* An ARP frame of @from's; @to 0 asks for nobody's MAC. */
static void arp(uint8_t f[42], unsigned op, unsigned from, uint32_t sip,
                const uint8_t to[6], uint32_t tip)
{
    const uint8_t head[] = { 8, 6, 0, 1, 8, 0, 6, 4, 0, op };
    const uint8_t mac[] = { 2, 0, 0, 0, 0, from };

    memset(f, op == 1 ? 0xff : 0, 42);
    if (op == 2) {
        memcpy(f, to, 6);
    }
    memcpy(f + 6, mac, 6);
    memcpy(f + 12, head, 10);
    memcpy(f + 22, mac, 6);
    put_be32(f + 28, sip);
    memset(f + 32, 0, 6);
    if (op == 2) {
        memcpy(f + 32, to, 6);
    }
    put_be32(f + 38, tip);
}

static const uint8_t peer_mac[6] = { 2, 0, 0, 0, 0, PEER };

/* Each change of an address is announced, by it and the LID's. */
static void test_announce(void)
{
    Double *d = engine(NULL);
    RdmaPort p = *rdma_port(d->dev);
    uint8_t f[42];

    for (int way = 0; way < 4; way++) {
        if (way == 0) {
            p.ip++;
        } else if (way == 1) {
            p.lid++;
        } else if (way == 2) {
            p.mac[5] = 9;
        } else {
            p.link_up = false;
            rdma_port_set(d->dev, &p);
            double_poll(d, 0);
            g_assert_cmpuint(d->wire->len, ==, 0);
            p.link_up = true;
        }
        rdma_port_set(d->dev, &p);
        double_poll(d, 0);
        arp(f, 1, p.mac[5], p.ip, NULL, p.ip);
        expect_bytes(d, f, 42);
        arp(f, 1, p.mac[5], 0x0a4c0000 | p.lid, NULL, 0x0a4c0000 | p.lid);
        expect_bytes(d, f, 42);
        g_assert_cmpuint(d->wire->len, ==, 0);
    }
    p.pkey[0] = 0x8001;         /* no address */
    rdma_port_set(d->dev, &p);
    double_poll(d, 0);
    g_assert_cmpuint(d->wire->len, ==, 0);
    double_free(d);
}

static void test_answer(void)
{
    Double *d = engine(NULL);
    uint8_t f[42];

    arp(f, 1, PEER, 0x0a000002, NULL, 0x0a000001);
    rdma_rx_frame(d->dev, f, 42, 0);
    double_poll(d, 0);
    arp(f, 2, US, 0x0a000001, peer_mac, 0x0a000002);
    expect_bytes(d, f, 42);
    arp(f, 1, PEER, 0x0a000002, NULL, 0x0a4c0001);  /* by the LID */
    rdma_rx_frame(d->dev, f, 42, 0);
    double_poll(d, 0);
    arp(f, 2, US, 0x0a4c0001, peer_mac, 0x0a000002);
    expect_bytes(d, f, 42);
    arp(f, 1, PEER, 0x0a000002, NULL, 0x0a000003);  /* somebody else */
    rdma_rx_frame(d->dev, f, 42, 0);
    double_poll(d, 0);
    g_assert_cmpuint(d->wire->len, ==, 0);
    double_free(d);
}

/* Asked five times, ten times a second; then a second of silence. */
static void test_questions(void)
{
    Double *d = engine(NULL);
    RdmaQp *qp = double_qp(d, QPN, RDMA_UD, PEER, 9, 0, 0, 1);
    RdmaWqe w = double_wqe(RDMA_OP_SEND, MEM, 4, 0x15a);
    int64_t now = 1000;
    uint8_t f[42];

    w.av.dip = 0x0a000007;
    for (int round = 0; round < 2; round++) {
        double_send(d, qp, &w);
        for (int i = 0; i < ARP_TRIES; i++) {
            g_assert_cmpint(double_poll(d, now), ==, now + ARP_RETRY_NS);
            arp(f, 1, US, 0x0a000001, NULL, 0x0a000007);
            expect_bytes(d, f, 42);
            g_assert_cmpuint(d->cqes->len, ==, 0);
            now += ARP_RETRY_NS;
        }
        double_poll(d, now);
        g_assert_cmpuint(d->wire->len, ==, 0);
        g_assert_cmpuint(double_cqe(d).status, ==, RDMA_WC_SUCCESS);
        g_assert_cmpuint(rdma_counters(d->dev)->tx_dropped, ==,
                         round * 2 + 1);
        double_send(d, qp, &w);
        double_poll(d, now + ARP_FAILED_NS - 1);
        g_assert_cmpuint(d->wire->len, ==, 0);      /* lost as well */
        g_assert_cmpuint(double_cqe(d).status, ==, RDMA_WC_SUCCESS);
        now += ARP_FAILED_NS;
    }
    double_free(d);
}

/* More neighbours than places: the table takes all, one after the other, and
 * rather in the place of one that does not answer. */
static void test_neighbours(void)
{
    Double *d = engine(NULL);
    unsigned known = 0, good = 0;

    for (uint32_t i = 0; i < 4 * NEIGH_SLOTS; i++) {
        uint8_t mac[6] = { 2, 1, 0, 0, i >> 8, i };

        net_learn(d->dev, 0x0a100000 + i, mac);
    }
    for (int i = 0; i < NEIGH_SLOTS; i++) {
        known += d->dev->neigh[i].state == NEIGH_KNOWN;
    }
    g_assert_cmpuint(known, >, NEIGH_SLOTS * 3 / 4);
    /* All but the free ones failed: newcomers oust none that is known. */
    for (int i = 0; i < NEIGH_SLOTS; i++) {
        if (i % 4) {
            d->dev->neigh[i].state = NEIGH_FAILED;
        } else {
            d->dev->neigh[i] = (Neigh) { .ip = i, .state = NEIGH_KNOWN };
        }
    }
    for (uint32_t i = 0; i < 16; i++) {
        uint8_t mac[6] = { 2, 1, 0, 0, i >> 8, i };

        net_learn(d->dev, 0x0b100000 + i * 977, mac);
    }
    for (int i = 0; i < NEIGH_SLOTS; i += 4) {
        good += d->dev->neigh[i].ip == (uint32_t)i;
    }
    g_assert_cmpuint(good, ==, NEIGH_SLOTS / 4);
    /* A free place is taken before a known one. */
    memset(d->dev->neigh, 0, sizeof(d->dev->neigh));
    for (uint32_t i = 0; i < 40; i++) {
        uint8_t mac[6] = { 2, 1, 0, 0, i >> 8, i };

        net_learn(d->dev, 0x0c100000 + i, mac);
    }
    known = 0;
    for (int i = 0; i < NEIGH_SLOTS; i++) {
        known += d->dev->neigh[i].state == NEIGH_KNOWN;
    }
    g_assert_cmpuint(known, ==, 40);
    double_free(d);
}

static void test_no_neighbour(void)
{
    static const uint8_t group[6] = { 1, 0, 0, 0, 0, 2 };
    Double *d = engine(NULL);

    net_learn(d->dev, 0x0a000005, group);
    net_learn(d->dev, 0, peer_mac);
    net_learn(d->dev, 0xffffffff, peer_mac);
    net_learn(d->dev, 0xe0000001, peer_mac);
    for (int i = 0; i < NEIGH_SLOTS; i++) {
        g_assert_cmpint(d->dev->neigh[i].state, ==, NEIGH_FREE);
    }
    double_free(d);
}

static void test_guid(void)
{
    static const uint8_t mac[6] = { 0x52, 0x54, 0, 0x12, 0x34, 0x56 };
    static const uint8_t want[8] = { 0x50, 0x54, 0, 0xff, 0xfe, 0x12, 0x34,
                                     0x56 };
    uint8_t guid[8];

    net_guid(mac, guid);
    g_assert_cmpmem(guid, 8, want, 8);
}

/* MAC and IP of a group, of everybody, and of ourselves. */
static void test_destinations(void)
{
    static const struct {
        RdmaAv av;
        uint8_t mac[6];
        uint32_t dip, sip;
        uint8_t ttl;
    } t[] = {
        { { .has_grh = true, .dgid = { 0xff, 0x0e, [10] = 0xff, 0xff, 239,
                                       0x81, 2, 3 } },
          { 1, 0, 0x5e, 1, 2, 3 }, 0xef810203, 0x0a4c0001 },
        { { .dlid = RDMA_LID_PERMISSIVE },
          { 0xff, 0xff, 0xff, 0xff, 0xff, 0xff }, 0xffffffff, 0x0a4c0001 },
        { { .dip = 0x0a000002, .sip = 0x01020304,
            .dmac = { 2, 9, 9, 9, 9, 9 }, .smac = { 4, 4, 4, 4, 4, 4 } },
          { 2, 9, 9, 9, 9, 9 }, 0x0a000002, 0x01020304 },
        { { .dip = 0x0a000002, .dmac = { 2, 9, 9, 9, 9, 9 }, .hop_limit = 7,
            .tclass = 0x5c },
          { 2, 9, 9, 9, 9, 9 }, 0x0a000002, 0x0a000001, 7 },
        /* A GID that is an IPv4 address: from the GID of the path, if it is one. */
        { { .has_grh = true, .dgid = { [10] = 0xff, 0xff, 10, 0, 0, 2 },
            .dmac = { 2, 9, 9, 9, 9, 9 } },
          { 2, 9, 9, 9, 9, 9 }, 0x0a000002, 0x0a000001 },
        { { .has_grh = true, .dgid = { [10] = 0xff, 0xff, 10, 0, 0, 2 },
            .sgid_index = 31, .dmac = { 2, 9, 9, 9, 9, 9 } },
          { 2, 9, 9, 9, 9, 9 }, 0x0a000002, 0x0a00004d },
        { { .has_grh = true, .dgid = { [10] = 0xff, 0xff, 10, 0, 0, 2 },
            .sgid_index = 31, .sip = 0x01020304, .dmac = { 2, 9, 9, 9, 9, 9 } },
          { 2, 9, 9, 9, 9, 9 }, 0x0a000002, 0x01020304 },
        { { .has_grh = true, .dgid = { 0xff, 0x0e, [10] = 0xff, 0xff, 224, 0,
                                       0, 9 }, .sip = 0x01020304 },
          { 1, 0, 0x5e, 0, 0, 9 }, 0xe0000009, 0x01020304 },
        /* By LIDs: each of ours is an address. */
        { { .dlid = 2, .path_bits = 2, .dmac = { 2, 9, 9, 9, 9, 9 } },
          { 2, 9, 9, 9, 9, 9 }, 0x0a4c0002, 0x0a4c0003 },
        { { .dlid = 0xbfff, .sip = 0x01020304, .dmac = { 2, 9, 9, 9, 9, 9 } },
          { 2, 9, 9, 9, 9, 9 }, 0x0a4cbfff, 0x01020304 },
        { { .dip = 0xffffffff }, { 0xff, 0xff, 0xff, 0xff, 0xff, 0xff },
          0xffffffff, 0x0a000001 },
    };
    Double *d = engine(NULL);
    RdmaQp *qp = double_qp(d, QPN, RDMA_UD, PEER, 9, 0, 0, 1);
    RdmaPort port = *rdma_port(d->dev);

    memcpy(port.gid[31], (uint8_t[16]) { [10] = 0xff, 0xff, 10, 0, 0, 77 }, 16);
    rdma_port_set(d->dev, &port);
    double_poll(d, 0);
    g_assert_cmpuint(d->wire->len, ==, 0);
    for (int i = 0; i < G_N_ELEMENTS(t); i++) {
        RdmaWqe w = double_wqe(RDMA_OP_SEND, MEM, 3, 0x15a);
        GBytes *f;
        const uint8_t *p;

        memset(double_ptr(d, 1, MEM), 0x77, 4);
        w.av = t[i].av;
        double_send(d, qp, &w);
        double_poll(d, 1000);
        f = double_take(d);
        g_assert_nonnull(f);
        p = g_bytes_get_data(f, NULL);
        g_assert_cmpmem(p, 6, t[i].mac, 6);
        g_assert_cmphex(get_be32(p + 26), ==, t[i].sip);
        g_assert_cmphex(get_be32(p + 30), ==, t[i].dip);
        g_assert_cmphex(p[22], ==, t[i].ttl ? t[i].ttl : 64);
        g_assert_cmphex(p[15], ==, t[i].av.tclass);
        g_assert_cmphex(p[11], ==, t[i].av.smac[0] ? 4 : US);
        g_assert_true(core_csum_ipv4_right(p + 14));
        /* The pad byte behind three is 0. */
        g_assert_cmphex(get_be32(frame_bth(f) + 20), ==, 0x77777700);
        g_bytes_unref(f);
        double_cqe(d);
    }
    /* A LID of a group has no address, nor has nobody. */
    for (unsigned i = 0; i < 4; i++) {
        RdmaWqe w = double_wqe(RDMA_OP_SEND, MEM, 3, 0x15a);

        w.av.dlid = i ? 0 : 0xc000;
        w.av.has_grh = i > 1;
        w.av.dgid[10] = w.av.dgid[11] = 0xff;   /* of address 0.0.0.0 */
        w.av.dgid[0] = i > 2;
        double_send(d, qp, &w);
        double_poll(d, 1000);
        g_assert_cmpuint(d->wire->len, ==, 0);
        g_assert_cmpuint(rdma_counters(d->dev)->tx_dropped, ==, i + 1);
        double_cqe(d);
    }
    double_free(d);
}

/* The route header in front of a datagram (IB 1.3 §8.3). */
static void test_grh(void)
{
    static const uint8_t mapped[16] = { [10] = 0xff, 0xff, 10, 0, 0, 2 };
    static const uint8_t ours[16] = { [10] = 0xff, 0xff, 10, 0, 0, 1 };
    static const uint8_t gid0[16] = { 0xfe, 0x80, [15] = 0x44 };
    static const uint8_t local[16] = { 0xfe, 0x80, [8] = 0, 0, 0, 0xff, 0xfe,
                                       0, 0, PEER };
    Double *d = engine(NULL);
    RdmaPort port = *rdma_port(d->dev);
    RdmaQp *qp;

    memcpy(port.gid[0], gid0, 16);
    rdma_port_set(d->dev, &port);
    double_poll(d, 0);
    g_ptr_array_set_size(d->wire, 0);
    qp = double_qp(d, QPN, RDMA_UD, PEER, 9, 0, 0, 1);
    for (int lid = 0; lid < 2; lid++) {
        uint8_t ext[8 + 12] = { 0 };
        uint8_t *g = double_ptr(d, 1, MEM);
        GBytes *f;
        gsize len;
        uint8_t *p;

        double_recv(d, qp, MEM, 200, 0x15a);
        deth_put(ext, 0x11111111, 7);
        f = frame_make(PEER, US, ROCE_OP(RDMA_UD, ROCE_SEND_ONLY), false, QPN,
                       0, ext, sizeof(ext));
        p = g_bytes_unref_to_data(f, &len);
        p[15] = 0x5c;                   /* traffic class */
        put_be16(p + 24, 0);
        put_be16(p + 24, core_csum_done(core_csum_add(0, p + 14, 20)));
        if (lid) {
            put_be32(p + 26, 0x0a4c0002);
            put_be32(p + 30, 0x0a4c0001);
            put_be16(p + 24, 0);
            put_be16(p + 24, core_csum_done(core_csum_add(0, p + 14, 20)));
            put_le32(p + len - 4, roce_icrc(p + 14, len - 18));
        }
        rdma_rx_frame(d->dev, p, len, 1000);
        g_free(p);
        g_assert_cmpint(double_cqe(d).has_grh, ==, !lid);
        g_assert_cmphex(get_be32(g), ==, 0x65c00000);
        g_assert_cmphex(get_be16(g + 4), ==, 12 + 8 + 12 + 4);
        g_assert_cmphex(g[6], ==, 0x1b);
        g_assert_cmphex(g[7], ==, 64);
        g_assert_cmpmem(g + 8, 16, lid ? local : mapped, 16);
        g_assert_cmpmem(g + 24, 16, lid ? gid0 : ours, 16);
    }
    double_free(d);
}

static void no_icrc(RdmaConfig *cfg)
{
    cfg->icrc = false;
}

/* Without an ICRC a frame ends with its payload, and is taken so. */
static void test_no_icrc(void)
{
    Double *d = engine(no_icrc), *e = double_new(PEER, no_icrc);
    RdmaQp *a = double_qp(d, QPN, RDMA_RC, PEER, 6, 0, 0, 1);
    RdmaQp *b = double_qp(e, 6, RDMA_RC, US, QPN, 0, 0, 1);
    RdmaWqe w = double_wqe(RDMA_OP_SEND, MEM, 8, 0x15a);
    GBytes *f;

    double_mr(e, 1, MEM, 0x4000, 0x8000, RDMA_ACC_RIGHTS);
    double_recv(e, b, MEM, 100, 0x15a);
    double_send(d, a, &w);
    double_poll(d, 1000);
    f = g_bytes_ref(g_ptr_array_index(d->wire, 0));
    g_assert_cmpuint(g_bytes_get_size(f), ==, ROCE_NET_BYTES + 12 + 8);
    g_assert_cmphex(get_be16((const uint8_t *)g_bytes_get_data(f, NULL) + 38),
                    ==, 8 + 12 + 8);
    g_bytes_unref(f);
    double_exchange(d, e, 1000);
    g_assert_cmpuint(double_cqe(d).status, ==, RDMA_WC_SUCCESS);
    g_assert_cmpuint(double_cqe(e).byte_cnt, ==, 8);
    double_free(d);
    double_free(e);
}

/* Which addresses are ours, and what LIDs and GIDs of groups are in IPv4. */
static void test_own(void)
{
    static const struct {
        uint32_t ip;
        bool own;
    } rows[] = {
        { 0, false }, { 0x0a000001, true }, { 0x0a000002, false },
        { 0x0a4c0003, false }, { 0x0a4c0004, true }, { 0x0a4c0007, true },
        { 0x0a4c0008, false }, { 0x0a4c0000, false }, { 0x0a4d0004, false },
        { 0x0a00004d, true }, { 0x0a00004e, false }, { 0x0a00004f, false },
        { 0x0a00004c, true }, { 0x0a000050, false },
        { 0xffffffff, false },
    };
    static const uint8_t groups[][16] = {
        { 0xff, 0x0e, [10] = 0xff, 0xff, 0xe0, 1, 2, 3 },
        { 0xff, 0x0e, [10] = 0xff, 0xff, 0xef, 1, 2, 3 },
        { 0xff, 0x0e, [10] = 0xff, 0xff, 0xd0, 1, 2, 3 },
        { 0xff, 0x0e, [10] = 0xff, 0xfe, 0xe0, 1, 2, 3 },
        { 0xff, 0x0e, [10] = 0xfe, 0xff, 0xe0, 1, 2, 3 },
        { 0xff, 0x0e, [2] = 1, [10] = 0xff, 0xff, 0xe0, 1, 2, 3 },
        { 0xff, 0x0e, [9] = 1, [10] = 0xff, 0xff, 0xe0, 1, 2, 3 },
    };
    Double *d = engine(NULL);
    RdmaPort p = *rdma_port(d->dev);

    p.lid = 4;
    p.lmc = 2;
    memcpy(p.gid[31], (uint8_t[16]) { [10] = 0xff, 0xff, 10, 0, 0, 77 }, 16);
    memcpy(p.gid[1], (uint8_t[16]) { [9] = 1, 0xff, 0xff, 10, 0, 0, 78 }, 16);
    memcpy(p.gid[2], (uint8_t[16]) { [10] = 0xfe, 0xff, 10, 0, 0, 79 }, 16);
    memcpy(p.gid[0], (uint8_t[16]) { [10] = 0xff, 0xff, 10, 0, 0, 76 }, 16);
    memcpy(p.gid[3], (uint8_t[16]) { [10] = 0xff, 0xfe, 10, 0, 0, 80 }, 16);
    rdma_port_set(d->dev, &p);
    double_poll(d, 0);
    g_ptr_array_set_size(d->wire, 0);
    for (unsigned i = 0; i < G_N_ELEMENTS(rows); i++) {
        g_assert_cmpint(net_is_own(d->dev, rows[i].ip), ==, rows[i].own);
    }
    g_assert_cmphex(rdma_lid_to_ip(d->dev, 0), ==, 0);
    g_assert_cmphex(rdma_lid_to_ip(d->dev, 1), ==, 0x0a4c0001);
    g_assert_cmphex(rdma_lid_to_ip(d->dev, 0xfffe), ==, 0x0a4cfffe);
    g_assert_cmphex(rdma_lid_to_ip(d->dev, 0xffff), ==, 0xffffffff);
    g_assert_cmphex(rdma_ip_to_lid(d->dev, 0), ==, 0xffff);
    g_assert_cmphex(rdma_ip_to_lid(d->dev, 0x0a4c1234), ==, 0x1234);
    g_assert_cmphex(rdma_ip_to_lid(d->dev, 0x0a4d1234), ==, 0);
    g_assert_cmphex(rdma_ip_to_lid(d->dev, 0x8a4c1234), ==, 0);
    p.lid = 0;                  /* without a LID, none is ours */
    rdma_port_set(d->dev, &p);
    g_assert_false(net_is_own(d->dev, 0x0a4c0001));
    for (unsigned i = 0; i < G_N_ELEMENTS(groups); i++) {
        uint32_t ip = i < 2 ? get_be32(groups[i] + 12) :
                      0xef000000 | (~core_crc32(UINT32_MAX, groups[i], 16) &
                                    0xffffff);

        g_assert_cmphex(rdma_mgid_to_ip(groups[i]), ==, ip);
    }
    double_free(d);
}

/* What is no question or answer of ARP over Ethernet teaches nothing. */
static void test_arp_odd(void)
{
    static const struct {
        uint8_t at, value;
    } odd[] = { { 15, 2 }, { 14, 1 }, { 16, 9 }, { 17, 1 }, { 18, 5 },
                { 19, 5 } };
    Double *d = engine(NULL);
    const RdmaCounters *c = rdma_counters(d->dev);
    unsigned known = 0;
    uint8_t f[42];

    for (unsigned i = 0; i <= G_N_ELEMENTS(odd); i++) {
        arp(f, 1, PEER, 0x0a000002, NULL, 0x0a000001);
        if (i < G_N_ELEMENTS(odd)) {
            f[odd[i].at] = odd[i].value;
        }
        rdma_rx_frame(d->dev, f, i < G_N_ELEMENTS(odd) ? 42 : 41, 0);
        double_poll(d, 0);
        g_assert_cmpuint(d->wire->len, ==, 0);
        g_assert_cmpuint(c->arp_rx, ==, 0);
    }
    /* Of our own address; an answer that nobody asked for; one to others. */
    arp(f, 1, PEER, 0x0a000001, NULL, 0x0a000001);
    rdma_rx_frame(d->dev, f, 42, 0);
    arp(f, 1, PEER, 0x0a000002, NULL, 0x0a000003);
    rdma_rx_frame(d->dev, f, 42, 0);
    double_poll(d, 0);
    g_assert_cmpuint(d->wire->len, ==, 0);
    g_assert_cmpuint(c->arp_rx, ==, 2);
    for (int i = 0; i < NEIGH_SLOTS; i++) {
        g_assert_cmpint(d->dev->neigh[i].state, ==, NEIGH_FREE);
    }
    /* An answer to us is learnt, and then a change, whoever it is told. */
    arp(f, 2, PEER, 0x0a000002, (const uint8_t[6]) { 2, 0, 0, 0, 0, US },
        0x0a000001);
    rdma_rx_frame(d->dev, f, 42, 0);
    arp(f, 1, 9, 0x0a000002, NULL, 0x0a000002);
    rdma_rx_frame(d->dev, f, 42, 0);
    double_poll(d, 0);
    g_assert_cmpuint(d->wire->len, ==, 0);
    for (int i = 0; i < NEIGH_SLOTS; i++) {
        const Neigh *k = &d->dev->neigh[i];

        if (k->state != NEIGH_FREE) {
            g_assert_cmpint(k->state, ==, NEIGH_KNOWN);
            g_assert_cmphex(k->ip, ==, 0x0a000002);
            g_assert_cmphex(k->mac[5], ==, 9);
            known++;
        }
    }
    g_assert_cmpuint(known, ==, 1);
    double_free(d);
}

/* A port that has a LID alone asks and answers by that; one that has neither twice the
 * same is announced once. */
static void test_one_address(void)
{
    Double *d = engine(NULL);
    RdmaQp *qp = double_qp(d, QPN, RDMA_UD, PEER, 9, 0, 0, 1);
    RdmaWqe w = double_wqe(RDMA_OP_SEND, MEM, 4, 0x15a);
    RdmaPort p = *rdma_port(d->dev);
    uint8_t f[42];

    p.ip = 0;
    rdma_port_set(d->dev, &p);
    double_poll(d, 0);
    arp(f, 1, US, 0x0a4c0001, NULL, 0x0a4c0001);
    expect_bytes(d, f, 42);
    g_assert_cmpuint(d->wire->len, ==, 0);
    w.av.dip = 0x0a000007;
    double_send(d, qp, &w);
    for (int i = 0; i < 2; i++) {
        double_poll(d, 1000 + i * ARP_RETRY_NS);
        arp(f, 1, US, 0x0a4c0001, NULL, 0x0a000007);
        expect_bytes(d, f, 42);
    }
    p.ip = 0x0a4c0001;          /* the LID's */
    rdma_port_set(d->dev, &p);
    double_poll(d, 1000 + ARP_RETRY_NS);
    arp(f, 1, US, 0x0a4c0001, NULL, 0x0a4c0001);
    expect_bytes(d, f, 42);
    p.lid = 0;
    rdma_port_set(d->dev, &p);
    double_poll(d, 1000 + ARP_RETRY_NS);
    expect_bytes(d, f, 42);
    g_assert_cmpuint(d->wire->len, ==, 0);
    double_free(d);
}

/* Paths are built anew when a neighbour has moved or lost its place, not before. */
static void test_moved(void)
{
    Double *d = engine(NULL);
    uint8_t mac[6] = { 2, 1, 0, 0, 0, 1 };
    uint32_t gen = d->dev->path_gen, next;

    net_learn(d->dev, 0x0a000007, mac);
    net_learn(d->dev, 0x0a000007, mac);
    g_assert_cmpuint(d->dev->path_gen, ==, gen);
    mac[5]++;
    net_learn(d->dev, 0x0a000007, mac);
    g_assert_cmpuint(d->dev->path_gen, ==, gen + 1);
    /* All places that a newcomer may have are taken: one loses its own. */
    for (int i = 0; i < NEIGH_SLOTS; i++) {
        d->dev->neigh[i] = (Neigh) { .ip = i + 1, .state = NEIGH_KNOWN };
    }
    next = d->dev->path_gen;
    net_learn(d->dev, 0x0b000007, mac);
    g_assert_cmpuint(d->dev->path_gen, ==, next + 1);
    double_free(d);
}

/* Who has moved is sent to where it is now, and nothing else brings another path. */
static void test_follow(void)
{
    Double *d = engine(NULL);
    RdmaQp *qp = double_qp(d, QPN, RDMA_UC, PEER, 9, 0, 0, 1);
    RdmaQpAttr a = { .av = { .dip = 0x0a000007 } };
    uint8_t mac[6] = { 2, 1, 0, 0, 0, 1 };

    rdma_qp_modify(d->dev, qp, &a, RDMA_QPA_AV);
    for (unsigned i = 0; i < 4; i++) {
        RdmaWqe w = double_wqe(RDMA_OP_SEND, MEM, 4, 0x15a);
        GBytes *f;

        mac[5] = i / 2;
        net_learn(d->dev, 0x0a000007, mac);
        g_assert_cmpint(qp->path.valid && qp->path.gen == d->dev->path_gen, ==,
                        i % 2);
        double_send(d, qp, &w);
        double_poll(d, 1000);
        f = double_take(d);
        g_assert_nonnull(f);
        g_assert_cmpmem(g_bytes_get_data(f, NULL), 6, mac, 6);
        g_assert_cmpuint(qp->path.gen, ==, d->dev->path_gen);
        g_bytes_unref(f);
    }
    double_free(d);
}

/* Two questions at different times: each is asked again at its own, and when none is
 * left there is nothing to wait for. */
static void test_deadlines(void)
{
    Double *d = engine(NULL);
    RdmaQp *qp = double_qp(d, QPN, RDMA_UD, PEER, 9, 0, 0, 1);
    RdmaQp *other = double_qp(d, QPN + 1, RDMA_UD, PEER, 9, 0, 0, 1);
    RdmaWqe w = double_wqe(RDMA_OP_SEND, MEM, 4, 0x15a);
    const int64_t half = ARP_RETRY_NS / 2;
    int64_t now = 1000;

    w.av.dip = 0x0a000007;
    double_send(d, qp, &w);
    g_assert_cmpint(double_poll(d, now), ==, now + 2 * half);
    w.av.dip = 0x0a000008;
    double_send(d, other, &w);
    g_assert_cmpint(double_poll(d, now + half), ==, now + 2 * half);
    for (int i = 2; i < 2 * ARP_TRIES; i++) {
        g_assert_cmpint(double_poll(d, now + i * half), ==,
                        now + (i + 1) * half);
        g_assert_cmpuint(d->wire->len, ==, i + 1);
    }
    g_assert_cmpuint(d->wire->len, ==, 2 * ARP_TRIES);
    g_ptr_array_set_size(d->wire, 0);
    g_assert_cmpint(double_poll(d, now + 2 * ARP_TRIES * half), ==,
                    now + (2 * ARP_TRIES + 1) * half);
    g_assert_cmpuint(d->cqes->len, ==, 1);
    g_assert_cmpint(double_poll(d, now + (2 * ARP_TRIES + 1) * half), ==, NEVER);
    g_assert_cmpuint(d->cqes->len, ==, 2);
    g_assert_cmpuint(d->wire->len, ==, 0);
    double_free(d);
}

/* To ourselves: by an address of ours, or by any that is the sender's as well. From a
 * port without a LID: its address also to a group. */
static void test_self(void)
{
    static const struct {
        RdmaAv av;
        uint32_t sip;           /* 0: stays here */
    } rows[] = {
        { { .dip = 0x0a000001 }, 0 },
        { { .dip = 0x01020304, .sip = 0x01020304 }, 0 },
        { { .dip = 0x01020304, .sip = 0x01020305,
            .dmac = { 2, 9, 9, 9, 9, 9 } }, 0x01020305 },
        { { .has_grh = true, .dgid = { 0xff, 0x0e, [10] = 0xff, 0xff, 239, 1, 2,
                                       3 } }, 0x0a000001 },
        { { .dlid = 2, .path_bits = 3, .dmac = { 2, 9, 9, 9, 9, 9 } }, 0 },
    };
    Double *d = engine(NULL);
    RdmaQp *qp = double_qp(d, QPN, RDMA_UD, PEER, 9, 0, 0, 1);
    RdmaPort p = *rdma_port(d->dev);

    p.lid = 0;
    rdma_port_set(d->dev, &p);
    double_poll(d, 1000);
    g_ptr_array_set_size(d->wire, 0);
    for (unsigned i = 0; i < G_N_ELEMENTS(rows); i++) {
        RdmaWqe w = double_wqe(RDMA_OP_SEND, MEM, 4, 0x15a);
        bool here = !rows[i].sip && !rows[i].av.dlid;

        w.av = rows[i].av;
        double_send(d, qp, &w);
        double_poll(d, 1000);
        g_assert_cmpuint(d->wire->len, ==, !here);
        if (!here) {
            const uint8_t *f = g_bytes_get_data(d->wire->pdata[0], NULL);

            g_assert_cmphex(get_be32(f + 26), ==, rows[i].sip);
        }
        g_ptr_array_set_size(d->wire, 0);
    }
    g_assert_cmpuint(rdma_counters(d->dev)->loopback, ==, 2);
    double_free(d);
}

static void grh_none(RdmaConfig *cfg)
{
    cfg->ud_grh = RDMA_GRH_NONE;
}

static void grh_ipv4(RdmaConfig *cfg)
{
    cfg->ud_grh = RDMA_GRH_IPV4;
}

/* The header of IPv4 itself in front of a datagram, or nothing. */
static void test_grh_other(void)
{
    for (unsigned v4 = 0; v4 < 2; v4++) {
        Double *d = engine(v4 ? grh_ipv4 : grh_none);
        RdmaQp *qp = double_qp(d, QPN, RDMA_UD, PEER, 9, 0, 0, 1);
        uint8_t ext[8 + 4] = { 0 }, none[20] = { 0 };
        const uint8_t *f;
        GBytes *b;
        gsize len;

        double_recv(d, qp, MEM, 200, 0x15a);
        deth_put(ext, 0x11111111, 7);
        b = frame_make(PEER, US, ROCE_OP(RDMA_UD, ROCE_SEND_ONLY), false, QPN, 0,
                       ext, sizeof(ext));
        f = g_bytes_get_data(b, &len);
        rdma_rx_frame(d->dev, f, len, 1000);
        g_assert_cmpint(double_cqe(d).has_grh, ==, v4);
        if (v4) {
            g_assert_cmpmem(double_ptr(d, 1, MEM), 20, none, 20);
            g_assert_cmpmem(double_ptr(d, 1, MEM) + 20, 20, f + 14, 20);
        }
        g_bytes_unref(b);
        double_free(d);
    }
}

/* A checksum of UDP that comes to 0 is sent as ffff: 0 says that there is none. */
static void test_checksum_zero(void)
{
    Double *d = engine(no_icrc);
    RdmaQp *qp = double_qp(d, QPN, RDMA_UC, PEER, 9, 0, 0, 1);
    unsigned zero = 0;

    for (unsigned i = 0; i < 0x10000; i++) {
        RdmaWqe w = double_wqe(RDMA_OP_SEND, 0, 0, 0);
        const uint8_t *p;
        uint16_t sum;
        GBytes *f;

        w.flags = RDMA_WQE_INLINE;
        w.inl_len = 4;
        put_be32(w.inl, i);
        qp->req.npsn = qp->req.upsn = 0;
        double_send(d, qp, &w);
        double_poll(d, 1000);
        f = double_take(d);
        g_assert_nonnull(f);
        p = g_bytes_get_data(f, NULL);
        sum = get_be16(p + 40);
        g_assert_cmphex(sum, !=, 0);
        zero += sum == 0xffff;
        g_assert_cmphex(core_csum_join(core_csum_pseudo4(p + 14, 17,
                                                         get_be16(p + 38)),
                                       core_csum(p + 34, get_be16(p + 38))),
                        ==, 0xffff);
        g_bytes_unref(f);
    }
    g_assert_cmpuint(zero, >, 0);
    double_free(d);
}

/* Lengths in IP and UDP that are not those of the frame, with right checksums. */
static void test_frame_lengths(void)
{
    static const struct {
        int total, udp;         /* differences */
        uint64_t bad_ip, taken;
    } rows[] = {
        { 0, 0, 0, 1 }, { 1, 0, 1, 0 }, { -1, 0, 1, 0 }, { 0, 1, 1, 0 },
    };

    for (unsigned i = 0; i < G_N_ELEMENTS(rows); i++) {
        Double *d = engine(NULL);
        RdmaQp *qp = double_qp(d, QPN, RDMA_UC, PEER, 9, 0, 0, 1);
        gsize len;
        uint8_t *p;

        double_recv(d, qp, MEM, 200, 0x15a);
        p = g_bytes_unref_to_data(frame_make(PEER, US, ROCE_OP(RDMA_UC,
                                             ROCE_SEND_ONLY), false, QPN, 0,
                                             "1234", 4), &len);
        put_be16(p + 16, get_be16(p + 16) + rows[i].total);
        put_be16(p + 38, get_be16(p + 38) + rows[i].udp);
        put_be16(p + 24, 0);
        put_be16(p + 24, core_csum_done(core_csum_add(0, p + 14, 20)));
        rdma_rx_frame(d->dev, p, len, 1000);
        g_free(p);
        g_assert_cmpuint(rdma_counters(d->dev)->rx_bad_ip, ==, rows[i].bad_ip);
        g_assert_cmpuint(d->cqes->len, ==, rows[i].taken);
        double_free(d);
    }
}

static void ports_by_flow(RdmaConfig *cfg)
{
    cfg->udp_sport = 0;
}

/* A source port for each flow (IB 1.3 A17.4.5.2): always the same of one, others of
 * others, all of the dynamic ones. */
static void test_flow_ports(void)
{
    enum { FLOWS = 8 };
    Double *d = engine(ports_by_flow);
    RdmaWqe w = double_wqe(RDMA_OP_SEND, MEM, 8, 1 << 8 | 0x5a);
    uint16_t port[FLOWS];

    for (unsigned i = 0; i < FLOWS; i++) {
        RdmaQp *qp = double_qp(d, QPN + i, RDMA_UC, PEER, 100 + 3 * i, 1, 1, 1);

        for (unsigned k = 0; k < 2; k++) {
            GBytes *f;
            uint16_t now;

            double_send(d, qp, &w);
            double_poll(d, 0);
            f = double_take(d);
            now = get_be16((const uint8_t *)g_bytes_get_data(f, NULL) + 34);
            g_assert_cmpuint(now, >=, 0xc000);
            g_assert_true(!k || now == port[i]);
            port[i] = now;
            g_bytes_unref(f);
        }
        for (unsigned k = 0; k < i; k++) {
            g_assert_cmpuint(port[k], !=, port[i]);
        }
    }
    double_free(d);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
#define TEST(path, fn) g_test_add_func("/net/" path, test_##fn)
    TEST("arp/announce", announce);
    TEST("arp/answer", answer);
    TEST("arp/questions", questions);
    TEST("neighbours", neighbours);
    TEST("neighbours/none", no_neighbour);
    TEST("guid", guid);
    TEST("destinations", destinations);
    TEST("grh", grh);
    TEST("no-icrc", no_icrc);
    TEST("own", own);
    TEST("arp/odd", arp_odd);
    TEST("one-address", one_address);
    TEST("moved", moved);
    TEST("follow", follow);
    TEST("deadlines", deadlines);
    TEST("self", self);
    TEST("grh/other", grh_other);
    TEST("checksum-zero", checksum_zero);
    TEST("frame-lengths", frame_lengths);
    TEST("flow-ports", flow_ports);
    return g_test_run();
}
