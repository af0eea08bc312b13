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
#include "ub/uboe.h"

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
    return g_test_run();
}
