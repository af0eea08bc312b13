/*
 * UB over Ethernet: injected faults, a node that rests, migration, and images that
 * cannot be.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <glib.h>
#include <string.h>

#include "core/bytes.h"
#include "core/inet.h"
#include "internal.h"

#define SECOND INT64_C(1000000000)
#define MILLISECOND INT64_C(1000000)

static const uint8_t our_mac[6] = { 2, 0, 0, 0, 0, 1 };
static const uint8_t our_ip[16] = { 10, 0, 0, 1 };

typedef struct Bed {
    CorePacketPool *pool;
    UbUboe *u;
    unsigned frames, packets, kicks;
    uint8_t last[64];   /* the beginning of the last frame */
    bool resting;
} Bed;

static bool op_send(void *opaque, const uint8_t *frame, uint32_t len)
{
    Bed *b = opaque;

    b->frames++;
    memcpy(b->last, frame, MIN(len, sizeof(b->last)));
    return true;
}

static void op_rx(void *opaque, int64_t now, CorePacket *pkt, unsigned dscp)
{
    ((Bed *)opaque)->packets++;
    core_packet_free(pkt);
}

static bool op_ours(void *opaque, unsigned cfg, const uint8_t *ip)
{
    return cfg == UB_LPH_IPV4 && !memcmp(ip, our_ip, 4);
}

static void op_kick(void *opaque)
{
    ((Bed *)opaque)->kicks++;
}

static bool op_rests(void *opaque)
{
    return ((Bed *)opaque)->resting;
}

static void begin_with(Bed *b, const UbUboeConfig *conf)
{
    static const UbUboeOps ops = {
        .send = op_send, .rx = op_rx, .ours = op_ours, .kick = op_kick,
        .rests = op_rests,
    };

    *b = (Bed) { .pool = core_packet_pool_new(UB_PACKET_HEADROOM, 0) };
    b->u = ub_uboe_new(conf, b->pool, &ops, b);
    g_assert_nonnull(b->u);
    ub_uboe_link(b->u, true);
}

static UbUboeConfig config(void)
{
    UbUboeConfig conf;

    ub_uboe_config_init(&conf);
    memcpy(conf.mac, our_mac, 6);
    conf.vlans = true;
    return conf;
}

static void begin(Bed *b)
{
    UbUboeConfig conf = config();

    begin_with(b, &conf);
}

static void end(Bed *b)
{
    ub_uboe_free(b->u);
    g_assert_cmpuint(core_packet_pool_used(b->pool), ==, 0);
    core_packet_pool_free(b->pool);
}

static uint64_t count(const Bed *b, UbUboeCounter c)
{
    return ub_uboe_counter(b->u, c);
}

/* A frame without a tag: UDP 4792 from 10.0.0.@from, 40 bytes of IP. */
static void put_ip(uint8_t f[60], unsigned from)
{
    memset(f, 0, 60);
    memcpy(f, our_mac, 6);
    f[6] = 2;
    f[11] = from;
    put_be16(f + 12, 0x0800);
    f[14] = 0x45;
    put_be16(f + 16, 40);
    f[22] = 64;
    f[23] = 17;
    put_be32(f + 26, 0x0a000000 + from);
    put_be32(f + 30, 0x0a000001);
    put_be16(f + 36, UB_UDP_PORT);
    put_be16(f + 38, 20);
    put_be16(f + 24, ~core_csum(f + 14, 20));
}

static void rx(Bed *b, int64_t now, unsigned from)
{
    uint8_t f[60];

    put_ip(f, from);
    ub_uboe_rx(b->u, now, f, sizeof(f));
}

/* "Who has 10.0.0.1?" of 10.0.0.@from. */
static void rx_arp(Bed *b, int64_t now, unsigned from)
{
    uint8_t f[60] = { 0 };

    memset(f, 0xff, 6);
    f[6] = f[22] = 2;
    f[11] = f[27] = from;
    put_be16(f + 12, 0x0806);
    memcpy(f + 14, "\0\x01\x08\0\x06\x04\0\x01", 8);
    put_be32(f + 28, 0x0a000000 + from);
    put_be32(f + 38, 0x0a000001);
    ub_uboe_rx(b->u, now, f, sizeof(f));
}

/* A packet to 10.0.0.@to with the NPI of frames that have no tag. */
static void tx(Bed *b, int64_t now, unsigned to)
{
    CorePacket *pkt = core_packet_alloc(b->pool, UB_IPEXT_SIZE + 40);
    uint8_t *p = core_packet_data(pkt), f[60];

    ub_meta(pkt)->lph_cfg = UB_LPH_IPV4;
    put_ip(f, 1);
    put_be32(f + 30, 0x0a000000 + to);
    ub_ipext_put(p, UB_CCI_NO_CONTROL, UB_NPI_DEFAULT);
    memcpy(p + UB_IPEXT_SIZE, f + 14, 40);
    ub_uboe_send(b->u, now, pkt);
}

/* ---- Faults ------------------------------------------------------------------------ */

static void fault(Bed *b, bool out, CoreFaultAction action, uint64_t nth)
{
    CoreFaultPlan plan = { .nth = nth, .nth_action = action, .delay_us = 5000,
                           .reorder_depth = 1 };

    ub_uboe_set_fault(b->u, out, &plan);
}

static void test_faults_in(void)
{
    Bed b;

    begin(&b);
    fault(&b, false, CORE_FAULT_DROP, 2);
    for (unsigned i = 0; i < 3; i++) {
        rx(&b, 0, 9);
    }
    g_assert_cmpuint(b.packets, ==, 2);
    g_assert_cmpuint(count(&b, UB_UBOE_DROP_FAULT), ==, 1);
    g_assert_cmpuint(count(&b, UB_UBOE_RX_FRAMES), ==, 3);
    g_assert_cmpuint(count(&b, UB_UBOE_RX_BYTES), ==, 180);
    g_assert_cmpuint(count(&b, UB_UBOE_RX_PACKETS), ==, 2);
    fault(&b, false, CORE_FAULT_DUPLICATE, 1);
    rx(&b, 0, 9);
    g_assert_cmpuint(b.packets, ==, 4);
    fault(&b, false, CORE_FAULT_DELAY, 1);
    b.kicks = 0;
    rx(&b, 0, 9);
    g_assert_cmpuint(b.packets, ==, 4);
    g_assert_cmpuint(b.kicks, ==, 1);
    g_assert_cmpint(ub_uboe_run(b.u, 5 * MILLISECOND - 1), ==, 5 * MILLISECOND);
    g_assert_cmpuint(b.packets, ==, 4);
    g_assert_cmpint(ub_uboe_run(b.u, 5 * MILLISECOND), ==, INT64_MAX);
    g_assert_cmpuint(b.packets, ==, 5);
    g_assert_cmpuint(ub_uboe_fault(b.u, false)->done[CORE_FAULT_DELAY], ==, 1);
    g_assert_cmpuint(ub_uboe_fault(b.u, false)->done[CORE_FAULT_DUPLICATE], ==,
                     0);
    g_assert_cmpuint(count(&b, UB_UBOE_DROP_FAULT), ==, 1);
    end(&b);
}

static void test_faults_out(void)
{
    Bed b;

    begin(&b);
    rx_arp(&b, 0, 9);
    g_assert_cmpuint(b.frames, ==, 1);
    fault(&b, true, CORE_FAULT_DROP, 1);
    tx(&b, 0, 9);
    g_assert_cmpuint(b.frames, ==, 1);
    g_assert_cmpuint(count(&b, UB_UBOE_DROP_FAULT), ==, 1);
    g_assert_cmpuint(count(&b, UB_UBOE_TX_FRAMES), ==, 1);
    fault(&b, true, CORE_FAULT_DELAY, 1);
    tx(&b, 0, 9);
    g_assert_cmpuint(b.frames, ==, 1);
    g_assert_cmpint(ub_uboe_run(b.u, 0), ==, 5 * MILLISECOND);
    ub_uboe_run(b.u, 5 * MILLISECOND);
    g_assert_cmpuint(b.frames, ==, 2);
    /* What is held is lost with the link, with a reset and at the end. */
    fault(&b, true, CORE_FAULT_DELAY, 1);
    tx(&b, 0, 9);
    ub_uboe_link(b.u, false);
    ub_uboe_link(b.u, true);
    ub_uboe_run(b.u, SECOND);
    g_assert_cmpuint(b.frames, ==, 2);
    fault(&b, false, CORE_FAULT_DELAY, 1);
    rx(&b, 0, 9);
    ub_uboe_link(b.u, false);
    ub_uboe_link(b.u, true);
    ub_uboe_run(b.u, SECOND);
    fault(&b, false, CORE_FAULT_DELAY, 1);
    rx(&b, 0, 9);
    ub_uboe_reset(b.u);
    ub_uboe_run(b.u, SECOND);
    g_assert_cmpuint(b.packets, ==, 0);
    fault(&b, false, CORE_FAULT_NONE, 0);
    rx_arp(&b, 0, 9);
    fault(&b, true, CORE_FAULT_DELAY, 1);
    tx(&b, 0, 9);
    ub_uboe_reset(b.u);
    ub_uboe_run(b.u, SECOND);
    g_assert_cmpuint(b.frames, ==, 3);
    rx_arp(&b, 0, 9);
    end(&b);
}

/* A node that takes nothing answers questions. */
static void test_rests(void)
{
    Bed b;

    begin(&b);
    b.resting = true;
    rx(&b, 0, 9);
    rx_arp(&b, 0, 9);
    g_assert_cmpuint(b.packets, ==, 0);
    g_assert_cmpuint(b.frames, ==, 1);
    g_assert_cmpuint(count(&b, UB_UBOE_DROP_RESTING), ==, 1);
    g_assert_cmpuint(count(&b, UB_UBOE_RX_PACKETS), ==, 0);
    b.resting = false;
    rx(&b, 0, 9);
    g_assert_cmpuint(b.packets, ==, 1);
    end(&b);
}

/* ---- Images --------------------------------------------------------------------------- */

static uint8_t *save(Bed *b, int64_t now, size_t *len)
{
    CoreImage *im = core_image_save(now);
    uint8_t *data;

    ub_uboe_image(b->u, im);
    data = core_image_take(im, len);
    core_image_free(im);
    return data;
}

static const char *load(Bed *b, int64_t now, const uint8_t *data, size_t len)
{
    CoreImage *im = core_image_load(data, len, now);
    const char *why;

    ub_uboe_image(b->u, im);
    why = core_image_done(im);
    core_image_free(im);
    return why;
}

static void count_neighbour(void *opaque, const UbUboeNeighbour *n)
{
    ++*(unsigned *)opaque;
}

static unsigned neighbours(const Bed *b)
{
    unsigned n = 0;

    ub_uboe_neighbours(b->u, count_neighbour, &n);
    return n;
}

static const uint8_t fixed_ip[16] = { 10, 0, 0, 200 };
static const uint8_t fixed_mac[6] = { 2, 7, 7, 7, 7, 7 };
static const uint8_t net_ip[16] = { 10, 9 }, router[16] = { 10, 0, 0, 9 };

/* One that is learned, one that is set, one that is asked for with a packet that
 * waits; prefixes; VLANs. */
static void fill(Bed *b)
{
    rx_arp(b, SECOND, 9);
    g_assert_null(ub_uboe_neighbour_set(b->u, SECOND, 0, UB_LPH_IPV4, fixed_ip,
                                        fixed_mac));
    tx(b, SECOND, 77);
    g_assert_null(ub_uboe_route_set(b->u, UB_LPH_IPV4, net_ip, 16, router,
                                    true));
    g_assert_null(ub_uboe_route_set(b->u, UB_LPH_IPV6, net_ip, 7, NULL, true));
    g_assert_null(ub_uboe_vlan_set(b->u, 7, 5));
    g_assert_null(ub_uboe_vlan_set(b->u, 4094, 6));
    g_assert_cmpuint(neighbours(b), ==, 3);
}

static void test_image(void)
{
    g_autofree uint8_t *data = NULL;
    UbUboeRoute r;
    size_t len;
    Bed a, b;

    begin(&a);
    begin(&b);
    fill(&a);
    data = save(&a, 2 * SECOND, &len);
    /* What the destination had goes. */
    rx_arp(&b, 0, 55);
    g_assert_null(ub_uboe_vlan_set(b.u, 1, 3));
    g_assert_null(ub_uboe_route_set(b.u, UB_LPH_IPV4, net_ip, 9, router, true));
    b.frames = 0;
    g_assert_cmpstr(load(&b, 100 * SECOND, data, len), ==, NULL);
    g_assert_cmpuint(neighbours(&b), ==, 2);
    for (unsigned i = 0; i < UB_UBOE_COUNTERS_NUM; i++) {
        g_assert_cmpuint(count(&b, i), ==, count(&a, i));
    }
    g_assert_cmpuint(ub_uboe_vlan_npi(b.u, 1), ==, 0);
    g_assert_cmpuint(ub_uboe_vlan_npi(b.u, 7), ==, 5);
    g_assert_cmpuint(ub_uboe_vlan_npi(b.u, 4094), ==, 6);
    g_assert_nonnull(ub_uboe_vlan_set(b.u, 8, 5));
    g_assert_true(ub_uboe_route_at(b.u, 0, &r));
    g_assert_cmpuint(r.prefix, ==, 16);
    g_assert_cmpmem(r.via, 4, router, 4);
    g_assert_true(ub_uboe_route_at(b.u, 1, &r));
    g_assert_true(r.direct);
    g_assert_false(ub_uboe_route_at(b.u, 2, &r));
    /* Nobody is asked for who is known. */
    tx(&b, 100 * SECOND, 9);
    g_assert_cmpuint(b.frames, ==, 1);
    g_assert_cmphex(b.last[5], ==, 9);
    tx(&b, 100 * SECOND, 200);
    g_assert_cmpmem(b.last, 6, fixed_mac, 6);
    /* It is as old as it was: 59 s are left. */
    g_assert_cmpint(ub_uboe_run(b.u, 100 * SECOND), ==, 159 * SECOND);
    ub_uboe_run(b.u, 159 * SECOND);
    g_assert_cmphex(get_be16(b.last + 12), ==, 0x0806);
    g_assert_cmpuint(b.frames, ==, 3);
    end(&a);
    end(&b);
}

/* Each setting that changes behaviour must be the same. */
static void test_settings(void)
{
    static const struct {
        unsigned off;
        uint8_t flip;
    } rows[] = {
        { offsetof(UbUboeConfig, mac), 4 },
        { offsetof(UbUboeConfig, mac) + 1, 1 },
        { offsetof(UbUboeConfig, mac) + 2, 1 },
        { offsetof(UbUboeConfig, mac) + 3, 1 },
        { offsetof(UbUboeConfig, mac) + 4, 1 },
        { offsetof(UbUboeConfig, mac) + 5, 2 },
        { offsetof(UbUboeConfig, mtu), 1 },
        { offsetof(UbUboeConfig, ecn), 1 },
        { offsetof(UbUboeConfig, vlans), 1 },
        { offsetof(UbUboeConfig, npi), 2 },
        { offsetof(UbUboeConfig, plain), 1 },
        { offsetof(UbUboeConfig, icrc), 1 },
        { offsetof(UbUboeConfig, answer), 1 },
    };
    g_autofree uint8_t *data = NULL;
    UbUboeConfig conf = config();
    size_t len;
    Bed a;

    conf.mtu = 1500;
    begin_with(&a, &conf);
    fill(&a);
    data = save(&a, SECOND, &len);
    for (unsigned i = 0; i < G_N_ELEMENTS(rows); i++) {
        UbUboeConfig other = conf;
        Bed b;

        ((uint8_t *)&other)[rows[i].off] ^= rows[i].flip;
        begin_with(&b, &other);
        g_assert_nonnull(strstr(load(&b, 0, data, len), "another"));
        g_assert_cmpuint(neighbours(&b), ==, 0);
        g_assert_cmpuint(ub_uboe_vlan_npi(b.u, 7), ==, 0);
        end(&b);
    }
    end(&a);
}

/* Cut short, and with each byte another one: refused or a table that works. */
static void test_hostile(void)
{
    static const uint8_t flips[] = { 0x01, 0x80, 0xff };
    g_autofree uint8_t *data = NULL;
    unsigned refused = 0;
    size_t len;
    Bed a, b;

    begin(&a);
    begin(&b);
    fill(&a);
    data = save(&a, SECOND, &len);
    for (size_t i = 0; i < len; i++) {
        g_autofree uint8_t *cut = g_memdup2(data, i);

        g_assert_nonnull(load(&b, 0, cut, i));
        g_assert_cmpuint(neighbours(&b), ==, 0);
    }
    for (size_t i = 0; i < len; i++) {
        for (unsigned k = 0; k < G_N_ELEMENTS(flips); k++) {
            g_autofree uint8_t *bad = g_memdup2(data, len);

            bad[i] ^= flips[k];
            if (load(&b, 0, bad, len)) {
                refused++;
                g_assert_cmpuint(neighbours(&b), ==, 0);
            }
            rx_arp(&b, 0, 9);
            tx(&b, 0, 9);
            ub_uboe_run(b.u, 1000 * SECOND);
        }
    }
    g_assert_cmpuint(refused, >, len / 2);
    end(&a);
    end(&b);
}

/* Addresses that no single station has (RFC 1122 §3.2.1.3, RFC 4291 §2.5). */
static void test_groups(void)
{
    static const struct { unsigned cfg; uint8_t ip[16]; bool group; } rows[] = {
        { UB_LPH_IPV4, { 0, 0, 0, 1 }, true },
        { UB_LPH_IPV4, { 1, 0, 0, 0 }, false },
        { UB_LPH_IPV4, { 126, 255, 255, 255 }, false },
        { UB_LPH_IPV4, { 127, 0, 0, 1 }, true },
        { UB_LPH_IPV4, { 128, 0, 0, 1 }, false },
        { UB_LPH_IPV4, { 223, 255, 255, 255 }, false },
        { UB_LPH_IPV4, { 224, 0, 0, 1 }, true },
        { UB_LPH_IPV4, { 255, 255, 255, 255 }, true },
        { UB_LPH_IPV6, { 0 }, true },
        { UB_LPH_IPV6, { [15] = 1 }, true },
        { UB_LPH_IPV6, { [15] = 2 }, false },
        { UB_LPH_IPV6, { [14] = 1 }, false },
        { UB_LPH_IPV6, { [0] = 1, [15] = 1 }, false },
        { UB_LPH_IPV6, { 0xff, 2, [15] = 2 }, true },
        { UB_LPH_IPV6, { 0xfe, 0x80, [15] = 1 }, false },
        { UB_LPH_IPV6, { 224, [15] = 9 }, false },
        { UB_LPH_IPV6, { 127, [15] = 9 }, false },
    };

    for (unsigned i = 0; i < G_N_ELEMENTS(rows); i++) {
        g_assert_cmpint(ub_ether_ip_is_group(rows[i].cfg, rows[i].ip), ==,
                        rows[i].group);
    }
}

/* ---- Time ------------------------------------------------------------------------------ */

/* A fault delays from when the frame comes, or leaves, by whatever call. */
static void test_now(void)
{
    const int64_t at = 7 * SECOND, later = 5 * MILLISECOND;
    Bed b;

    begin(&b);
    fault(&b, false, CORE_FAULT_DELAY, 1);
    rx(&b, at, 9);
    g_assert_cmpint(ub_uboe_run(b.u, at), ==, at + later);
    g_assert_cmpint(ub_uboe_run(b.u, at + later), ==, INT64_MAX);
    g_assert_cmpuint(b.packets, ==, 1);
    /* A question, whose packet goes when its neighbour is set. */
    tx(&b, at, 77);
    fault(&b, true, CORE_FAULT_DELAY, 1);
    g_assert_null(ub_uboe_neighbour_set(b.u, 2 * at, 0, UB_LPH_IPV4,
                                        (uint8_t[16]) { 10, 0, 0, 77 }, fixed_mac));
    g_assert_cmpuint(b.frames, ==, 1);
    g_assert_cmpint(ub_uboe_run(b.u, 2 * at), ==, 2 * at + later);
    ub_uboe_run(b.u, 2 * at + later);
    g_assert_cmpuint(b.frames, ==, 2);
    /* And it is not asked for any more. */
    g_assert_cmpint(ub_uboe_run(b.u, 1000 * SECOND), ==, INT64_MAX);
    g_assert_cmpuint(b.frames, ==, 2);
    fault(&b, true, CORE_FAULT_DELAY, 1);
    tx(&b, 1001 * SECOND, 77);
    g_assert_cmpint(ub_uboe_run(b.u, 1001 * SECOND), ==, 1001 * SECOND + later);
    end(&b);
}

/* What is forgotten wakes nobody. */
static void test_forgotten(void)
{
    Bed b;

    begin(&b);
    tx(&b, 0, 77);
    g_assert_cmpint(ub_uboe_run(b.u, 0), ==, SECOND);
    ub_uboe_reset(b.u);
    g_assert_cmpint(ub_uboe_run(b.u, 0), ==, INT64_MAX);
    tx(&b, 0, 77);
    g_assert_cmpint(ub_uboe_run(b.u, 0), ==, SECOND);
    ub_uboe_link(b.u, false);
    g_assert_cmpint(ub_uboe_run(b.u, 0), ==, INT64_MAX);
    g_assert_cmpuint(neighbours(&b), ==, 0);
    end(&b);
}

/* Of a full table the one goes first that nobody sends to, then the oldest. */
static void test_displaced(void)
{
    enum { IDLE = 500 };
    uint64_t asked;
    Bed b;

    begin(&b);
    for (unsigned i = 0; i < UB_UBOE_NEIGHBOURS; i++) {
        rx_arp(&b, i, i == 1 ? IDLE : i + 0x1000);
    }
    rx_arp(&b, 2000, IDLE);     /* the youngest, and idle */
    for (unsigned i = 0; i < UB_UBOE_NEIGHBOURS; i++) {
        if (i != 1) {
            tx(&b, 3000, i + 0x1000);
        }
    }
    g_assert_cmpuint(neighbours(&b), ==, UB_UBOE_NEIGHBOURS);
    g_assert_cmpuint(count(&b, UB_UBOE_ASKED), ==, 0);
    tx(&b, 4000, 0x3000);       /* takes its place, and asks */
    asked = count(&b, UB_UBOE_ASKED);
    g_assert_cmpuint(asked, ==, 1);
    tx(&b, 4000, 0x1000);
    tx(&b, 4000, 0x1002);
    tx(&b, 4000, 0x1000 + UB_UBOE_NEIGHBOURS - 1);
    g_assert_cmpuint(count(&b, UB_UBOE_ASKED), ==, asked);
    tx(&b, 4000, IDLE);         /* a stranger again, for the oldest: the question */
    g_assert_cmpuint(count(&b, UB_UBOE_ASKED), ==, asked + 1);
    g_assert_cmpuint(count(&b, UB_UBOE_DROP_UNRESOLVED), ==, 1);
    g_assert_cmpuint(neighbours(&b), ==, UB_UBOE_NEIGHBOURS);
    end(&b);
}

/* ---- Formats ------------------------------------------------------------------------------ */

/* A prefix of the other version leads nowhere, however long it is. */
static void test_versions(void)
{
    static const uint8_t other[16] = { 10, 0, 0, 77 };
    static const uint8_t six[16] = { 0xfd, 1, [15] = 1 };
    Bed b;

    begin(&b);
    g_assert_null(ub_uboe_route_set(b.u, UB_LPH_IPV4, other, 8, router, true));
    g_assert_null(ub_uboe_route_set(b.u, UB_LPH_IPV6, other, 32, six, true));
    tx(&b, 0, 77);
    g_assert_cmphex(get_be16(b.last + 12), ==, 0x0806);
    g_assert_cmpmem(b.last + 38, 4, router, 4);
    end(&b);
}

/* Frames that just have what they must. */
static void test_short(void)
{
    static const struct { uint8_t len, taken; bool tag; } rows[] = {
        { 13, 0, false }, { 14, 14, false }, { 15, 14, false }, { 17, 0, true },
        { 18, 18, true }, { 60, 18, true },
    };

    for (unsigned i = 0; i < G_N_ELEMENTS(rows); i++) {
        uint8_t f[60] = { 2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 9 };
        EtherHead h;

        put_be16(f + 12, rows[i].tag ? ETHER_VLAN : 0x88cc);
        put_be16(f + 14, 0xb123);
        put_be16(f + 16, 0x88cc);
        g_assert_cmpuint(ether_get(f, rows[i].len, &h), ==, rows[i].taken);
        if (rows[i].taken) {
            g_assert_cmphex(h.type, ==, 0x88cc);
            g_assert_cmphex(h.vlan, ==, rows[i].tag ? 0x123 : 0);
            g_assert_cmphex(h.pcp, ==, rows[i].tag ? 5 : 0);
            g_assert_cmphex(h.src[5], ==, 9);
            g_assert_cmphex(h.dst[5], ==, 1);
        }
    }
}

/* ARP, one field after the other. */
static void test_arp_fields(void)
{
    static const uint8_t good[28] = {
        0, 1, 8, 0, 6, 4, 0, 1, 2, 0, 0, 0, 0, 9, 10, 0, 0, 9, 0, 0, 0, 0, 0, 0,
        10, 0, 0, 1,
    };
    static const struct { uint8_t at, value; bool good; } rows[] = {
        { 0, 0, true }, { 0, 1, false }, { 1, 6, false }, { 2, 9, false },
        { 3, 1, false }, { 4, 5, false }, { 5, 16, false }, { 6, 1, false },
        { 7, 0, false }, { 7, 2, true }, { 7, 3, false }, { 8, 3, false },
        { 14, 127, false }, { 14, 224, false },
    };
    EtherTalk t;

    for (unsigned i = 0; i < G_N_ELEMENTS(rows); i++) {
        uint8_t p[28];

        memcpy(p, good, 28);
        p[rows[i].at] = rows[i].value;
        g_assert_cmpint(ether_arp_get(p, 28, &t) == NULL, ==, rows[i].good);
        g_assert_nonnull(ether_arp_get(p, 27, &t));
    }
    memset(&t, 0xee, sizeof(t));
    g_assert_null(ether_arp_get(good, 28, &t));
    g_assert_false(t.answer || t.probe);
    g_assert_cmpmem(t.mac, 6, good + 8, 6);
    g_assert_cmpmem(t.ip, 4, good + 14, 4);
    g_assert_cmpmem(t.target, 4, good + 24, 4);
    g_assert_cmphex(t.ip[4] | t.target[4] | t.to[0], ==, 0);
}

/* Neighbour Discovery of @n bytes of ICMPv6 at @p, its checksum put right. */
static uint32_t nd(uint8_t *ip, unsigned type, const uint8_t *options, uint32_t n)
{
    static const uint8_t from[16] = { 0xfd, 1, [15] = 9 }, to[16] = { 0xfd, [15] = 1 };
    uint32_t len = 24 + n;
    uint8_t *p = ip + 40;

    memset(ip, 0, 40 + len);
    ip[0] = 0x60;
    put_be16(ip + 4, len);
    ip[6] = 58;
    ip[7] = 255;
    memcpy(ip + 8, from, 16);
    memcpy(ip + 24, to, 16);
    p[0] = type;
    memcpy(p + 8, type == 136 ? from : to, 16);
    memcpy(p + 24, options, n);
    put_be16(p + 2, (uint16_t)~core_csum_join(
        core_csum_join(core_csum(ip + 8, 32), len + 58), core_csum(p, len)));
    return 40 + len;
}

/* The MAC is in the option that is of it, wherever that stands. */
static void test_nd_options(void)
{
    static const struct {
        unsigned type, len;
        uint8_t options[32];
        int mac;                /* last byte; -1: a rule is broken */
    } rows[] = {
        { 135, 0, { 0 }, 0 },
        { 135, 8, { 1, 1, 2, 0, 0, 0, 0, 7 }, 7 },
        { 135, 16, { 14, 1, 9, 9, 9, 9, 9, 9, 1, 1, 2, 0, 0, 0, 0, 8 }, 8 },
        { 135, 16, { 1, 1, 2, 0, 0, 0, 0, 7, 14, 1, 9, 9, 9, 9, 9, 9 }, 7 },
        { 135, 24, { 14, 2, [16] = 1, 1, 2, 0, 0, 0, 0, 6 }, 6 },
        { 135, 8, { 2, 1, 2, 0, 0, 0, 0, 7 }, 0 },
        { 136, 8, { 2, 1, 2, 0, 0, 0, 0, 5 }, 5 },
        { 136, 8, { 1, 1, 2, 0, 0, 0, 0, 5 }, 0 },
        { 135, 16, { 1, 2, 2, 0, 0, 0, 0, 7 }, 0 },     /* no MAC is so long */
        { 135, 8, { 1, 2, 2, 0, 0, 0, 0, 7 }, -1 },
        { 135, 16, { 1, 1, 2, 0, 0, 0, 0, 7, 14, 0 }, -1 },
        { 135, 9, { 1, 1, 2, 0, 0, 0, 0, 7, 14 }, -1 },
        { 135, 8, { 1, 1, 3, 0, 0, 0, 0, 7 }, -1 },     /* of many */
    };

    for (unsigned i = 0; i < G_N_ELEMENTS(rows); i++) {
        uint8_t ip[128];
        uint32_t len = nd(ip, rows[i].type, rows[i].options, rows[i].len);
        const char *rule;
        EtherTalk t;
        bool is = false;

        memset(&t, 0xee, sizeof(t));
        rule = ether_nd_get(ip, len, &is, &t);
        g_assert_true(is);
        g_assert_true(!rule == (rows[i].mac >= 0));
        if (rule) {
            continue;
        }
        g_assert_cmphex(t.mac[5], ==, rows[i].mac);
        g_assert_cmphex(t.mac[0], ==, rows[i].mac ? 2 : 0);
        g_assert_cmpint(t.answer, ==, rows[i].type == 136);
        g_assert_cmphex(t.ip[15], ==, 9);
        g_assert_cmphex(t.target[15], ==, 1);
        g_assert_false(t.probe);
        /* Other messages are nobody's business here. */
        ip[40] = 134;
        g_assert_null(ether_nd_get(ip, len, &is, &t));
        g_assert_false(is);
        ip[40] = rows[i].type;
        ip[6] = 17;
        g_assert_null(ether_nd_get(ip, len, &is, &t));
        g_assert_false(is);
        ip[6] = 58;
        g_assert_null(ether_nd_get(ip, 40, &is, &t));
        g_assert_false(is);
        g_assert_nonnull(ether_nd_get(ip, len - 1, &is, &t));
        g_assert_true(is);
        ip[41] = 1;
        g_assert_nonnull(ether_nd_get(ip, len, &is, &t));
        ip[41] = 0;
        ip[7] = 254;
        g_assert_nonnull(ether_nd_get(ip, len, &is, &t));
    }
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/ub/uboe-life/faults-in", test_faults_in);
    g_test_add_func("/ub/uboe-life/faults-out", test_faults_out);
    g_test_add_func("/ub/uboe-life/rests", test_rests);
    g_test_add_func("/ub/uboe-life/image", test_image);
    g_test_add_func("/ub/uboe-life/settings", test_settings);
    g_test_add_func("/ub/uboe-life/groups", test_groups);
    g_test_add_func("/ub/uboe-life/hostile", test_hostile);
    g_test_add_func("/ub/uboe-life/now", test_now);
    g_test_add_func("/ub/uboe-life/forgotten", test_forgotten);
    g_test_add_func("/ub/uboe-life/displaced", test_displaced);
    g_test_add_func("/ub/uboe-life/versions", test_versions);
    g_test_add_func("/ub/uboe-life/short", test_short);
    g_test_add_func("/ub/uboe-life/arp-fields", test_arp_fields);
    g_test_add_func("/ub/uboe-life/nd-options", test_nd_options);
    return g_test_run();
}
