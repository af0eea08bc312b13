/*
 * The network layer's injected faults, and its rest.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "core/image.h"
#include "net-bed.h"

static NetBed *controller(void)
{
    UbNetConfig conf;
    NetBed *b;

    ub_net_config_init(&conf);
    conf.npi_mode = UB_NPI_OPEN;
    b = bed_new(&conf);
    ub_net_set_primary(b->net, 5);
    return b;
}

static UbFlow way(uint32_t dcna)
{
    return flow_cna(UB_LPH_CNA16, UB_NLP_CTPH, 0, dcna);
}

static void faults(NetBed *b, bool out, CoreFaultAction action,
                   uint32_t ppm, uint16_t cfgs)
{
    UbNetFault f = { .plan = { .delay_us = 10, .seed = 1 }, .cfgs = cfgs };

    f.plan.ppm[action] = ppm;
    ub_net_set_fault(b->net, out, &f);
}

static void send_one(NetBed *b, uint8_t first)
{
    UbFlow f = way(9);

    g_assert_cmpint(ub_net_send(b->net, b->now, &f, bed_packet(b, 32, first)),
                    ==, UB_SENT);
}

static void expect_sent(NetBed *b, uint8_t first)
{
    CorePacket *pkt = bed_sent(b, 0);

    g_assert_nonnull(pkt);
    g_assert_cmphex(core_packet_data(pkt)[UB_NTH16_SIZE], ==, first);
    g_assert_cmpuint(ub_meta(pkt)->lph_cfg, ==, UB_LPH_CNA16);
    core_packet_free(pkt);
}

static void expect_done(NetBed *b, bool out, CoreFaultAction action,
                        uint64_t n)
{
    uint64_t done[CORE_FAULT_NUM];
    UbNetFault f;

    g_assert_true(ub_net_fault(b->net, out, &f, done));
    g_assert_cmpuint(done[action], ==, n);
}

/* What leaves is lost, doubled, delayed; other CFGs are let alone. */
static void test_out(void)
{
    NetBed *b = controller();
    uint64_t done[CORE_FAULT_NUM];
    UbNetFault f;

    g_assert_false(ub_net_fault(b->net, true, &f, done));
    faults(b, true, CORE_FAULT_DROP, 1000000, 0);
    send_one(b, 1);
    g_assert_null(bed_sent(b, 0));
    g_assert_cmpuint(bed_count(b, UB_NET_DROP_FAULT), ==, 1);
    expect_done(b, true, CORE_FAULT_DROP, 1);

    faults(b, true, CORE_FAULT_DROP, 1000000, 1 << UB_LPH_CNA24);
    send_one(b, 2);
    expect_sent(b, 2);
    expect_done(b, true, CORE_FAULT_DROP, 0);

    faults(b, true, CORE_FAULT_DUPLICATE, 1000000, 1 << UB_LPH_CNA16);
    send_one(b, 3);
    expect_sent(b, 3);
    expect_sent(b, 3);

    faults(b, true, CORE_FAULT_DELAY, 1000000, 0);
    b->now = 1000;
    send_one(b, 4);
    g_assert_null(bed_sent(b, 0));
    g_assert_cmpint(ub_net_run(b->net, 1000, 16), ==, 11000);
    g_assert_null(bed_sent(b, 0));
    g_assert_cmpint(ub_net_run(b->net, 11000, 16), ==, INT64_MAX);
    expect_sent(b, 4);

    /* Held for a port that went down; held when a reset comes. */
    send_one(b, 5);
    ub_net_port_state(b->net, 20000, 0, 0);
    ub_net_run(b->net, 30000, 16);
    g_assert_cmpuint(bed_count(b, UB_NET_DROP_PORT_DOWN), ==, 1);
    ub_net_port_state(b->net, 30000, 0, 0xffff);
    send_one(b, 6);
    ub_net_reset(b->net, 30000);
    g_assert_cmpint(ub_net_run(b->net, 50000, 16), ==, INT64_MAX);
    g_assert_null(bed_sent(b, 0));
    g_assert_cmpuint(bed_count(b, UB_NET_DROP_FLUSHED), ==, 1);
    expect_done(b, true, CORE_FAULT_DROP, 1);
    /* Held when another plan comes. */
    ub_net_set_primary(b->net, 5);
    send_one(b, 6);
    g_assert_cmpuint(bed_count(b, UB_NET_DROP_FAULT), ==, 1);
    faults(b, true, CORE_FAULT_DELAY, 1000000, 0);
    g_assert_cmpuint(bed_count(b, UB_NET_DROP_FAULT), ==, 2);

    memset(&f, 0, sizeof(f));
    ub_net_set_fault(b->net, true, &f);
    g_assert_false(ub_net_fault(b->net, true, &f, done));
    ub_net_set_primary(b->net, 5);
    send_one(b, 7);
    expect_sent(b, 7);
    bed_free(b);
}

/* What stands in the LPH stays with a packet that a fault has in hand. */
static void test_lph(void)
{
    static const CoreFaultAction actions[] = { CORE_FAULT_DUPLICATE, CORE_FAULT_DELAY };
    NetBed *b = controller();

    for (unsigned i = 0; i < G_N_ELEMENTS(actions); i++) {
        for (unsigned rt = 0; rt < 4; rt++) {
            UbFlow f = way(9);
            CorePacket *pkt;

            f.rt = rt;
            f.vl = 3;
            faults(b, true, actions[i], 1000000, 0);
            g_assert_cmpint(ub_net_send(b->net, b->now, &f, bed_packet(b, 32, 1)), ==,
                            UB_SENT);
            b->now += 20000;
            ub_net_run(b->net, b->now, 16);
            for (unsigned n = 0; n < 2 - i; n++) {
                pkt = bed_sent(b, 0);
                g_assert_nonnull(pkt);
                g_assert_cmpuint(ub_meta(pkt)->rt, ==, rt);
                g_assert_cmpuint(ub_meta(pkt)->vl, ==, 3);
                g_assert_cmpuint(ub_meta(pkt)->lph_cfg, ==, UB_LPH_CNA16);
                core_packet_free(pkt);
            }
        }
    }
    /* And that it was marked as wrong below. */
    faults(b, false, CORE_FAULT_DUPLICATE, 1000000, 0);
    for (unsigned wrong = 0; wrong < 2; wrong++) {
        UbFlow f = way(5);
        CorePacket *pkt = bed_wire(b, &f, 100);

        ub_meta(pkt)->error = wrong;
        ub_net_rx(b->net, 0, 0, pkt);
        g_assert_cmpuint(b->got.length, ==, wrong ? 0 : 2);
        g_assert_cmpuint(bed_count(b, UB_NET_DROP_ERROR_FLAG), ==, 2 * wrong);
        while (b->got.length) {
            got_free(bed_got(b));
        }
    }
    bed_free(b);
}

static uint64_t moved(NetBed *b, UbNetCounter counter)
{
    CoreImage *im = core_image_save(b->now), *from;
    NetBed *to = controller();
    g_autofree uint8_t *data = NULL;
    uint64_t n;
    size_t len;

    ub_net_image(b->net, im);
    data = core_image_take(im, &len);
    core_image_free(im);
    from = core_image_load(data, len, b->now);
    ub_net_image(to->net, from);
    g_assert_null(core_image_done(from));
    core_image_free(from);
    n = ub_net_counter(to->net, 0, counter);
    bed_free(to);
    return n;
}

/* What waits where no image has it is lost, and its counter says so there; who saves it
 * and goes on has lost nothing. */
static void test_moves(void)
{
    NetBed *b = controller();
    UbFlow self = way(5);

    b->takes[0] = 0;
    send_one(b, 1);
    send_one(b, 2);
    g_assert_cmpuint(moved(b, UB_NET_DROP_FLUSHED), ==, 2);
    faults(b, true, CORE_FAULT_DELAY, 1000000, 0);
    send_one(b, 3);
    g_assert_cmpuint(moved(b, UB_NET_DROP_FLUSHED), ==, 3);
    g_assert_cmpint(ub_net_send(b->net, b->now, &self, bed_packet(b, 32, 4)), ==,
                    UB_SENT);
    g_assert_cmpuint(moved(b, UB_NET_DROP_FLUSHED), ==, 4);
    g_assert_cmpuint(bed_count(b, UB_NET_DROP_FLUSHED), ==, 0);
    ub_net_reset(b->net, b->now);
    g_assert_cmpuint(bed_count(b, UB_NET_DROP_FLUSHED), ==, 4);
    g_assert_cmpuint(moved(b, UB_NET_DROP_FLUSHED), ==, 4);
    bed_free(b);
}

/* Every field of a flow is in its image. */
static void test_flow(void)
{
    UbFlow f, to;
    CoreImage *im = core_image_save(0);
    g_autofree uint8_t *data = NULL;
    size_t len;

    memset(&f, 0, sizeof(f));
    memset(&to, 0, sizeof(to));
    ub_flow_init(&f, UB_LPH_IPV6);
    memset(f.ip.src, 0x51, sizeof(f.ip.src));
    memset(f.ip.dst, 0x52, sizeof(f.ip.dst));
    ub_flow_image(&f, im);
    data = core_image_take(im, &len);
    core_image_free(im);
    im = core_image_load(data, len, 0);
    ub_flow_image(&to, im);
    g_assert_null(core_image_done(im));
    core_image_free(im);
    g_assert_cmpmem(to.ip.src, 16, f.ip.src, 16);
    g_assert_cmpmem(to.ip.dst, 16, f.ip.dst, 16);
}

/* Its CFG, RT and SL in an image are such as there are. */
static void test_flow_bounds(void)
{
    static const uint8_t most[] = { 15, 3, 15 };
    CoreImage *im = core_image_save(0);
    g_autofree uint8_t *data = NULL;
    UbFlow f;
    size_t len;

    memset(&f, 0, sizeof(f));
    ub_flow_init(&f, UB_LPH_CNA24);
    ub_flow_image(&f, im);
    data = core_image_take(im, &len);
    core_image_free(im);
    for (unsigned i = 0; i < 2 * G_N_ELEMENTS(most); i++) {
        uint8_t was = data[i / 2];

        data[i / 2] = most[i / 2] + i % 2;
        im = core_image_load(data, len, 0);
        ub_flow_image(&f, im);
        g_assert_cmpint(core_image_done(im) != NULL, ==, i % 2);
        core_image_free(im);
        data[i / 2] = was;
    }
}

/* With Port CNAs at two ports what is for none of them is another's; own flows share
 * all ports that are up. */
static void test_two_ports(void)
{
    UbNetConfig conf;
    UbFlow f = way(9);
    NetBed *b;

    ub_net_config_init(&conf);
    conf.npi_mode = UB_NPI_OPEN;
    conf.ports = 2;
    conf.route_default = 3;
    b = bed_new(&conf);
    ub_net_set_port_cna(b->net, 0, 7);
    ub_net_set_port_cna(b->net, 1, 8);
    ub_net_rx(b->net, 0, 0, bed_wire(b, &f, 100));
    g_assert_cmpuint(bed_count(b, UB_NET_DROP_NOT_OURS), ==, 1);
    for (unsigned i = 0; i < 64; i++) {
        f = way(9);
        f.lbf = i;
        g_assert_cmpint(ub_net_send(b->net, 0, &f, bed_packet(b, 32, 1)), ==, UB_SENT);
    }
    for (unsigned i = 0; i < 2; i++) {
        CorePacket *pkt;

        g_assert_cmpuint(b->sent[i].length, >, 10);
        while ((pkt = bed_sent(b, i))) {
            core_packet_free(pkt);
        }
    }
    bed_free(b);
}

static bool odd(void *opaque, unsigned cfg, const uint8_t *p, uint32_t len)
{
    unsigned *asked = opaque;

    ++*asked;
    return p[UB_NTH16_SIZE] & 1;
}

/* What comes is changed before it is checked; some only, as a function says. */
static void test_in(void)
{
    NetBed *b = controller();
    UbFlow f = way(5);
    unsigned asked = 0;
    UbNetFault odds = { .plan = { .nth = 1, .every = 1,
                                  .nth_action = CORE_FAULT_DROP },
                        .match = odd, .opaque = &asked };

    faults(b, false, CORE_FAULT_CORRUPT, 1000000, 0);
    for (unsigned i = 0; i < 64; i++) {
        ub_net_rx(b->net, 0, 0, bed_wire(b, &f, 100));
    }
    expect_done(b, false, CORE_FAULT_CORRUPT, 64);
    /* A bit of the CCI or LBF may change; all else the ICRC or the address
     * check finds. */
    g_assert_cmpuint(bed_count(b, UB_NET_DROP_ICRC), >, 40);
    while (b->got.length) {
        got_free(bed_got(b));
    }
    ub_net_set_fault(b->net, false, &odds);
    for (unsigned i = 0; i < 8; i++) {
        UbFlow flow = way(5);
        CorePacket *pkt = bed_wire(b, &flow, 100);

        core_packet_data(pkt)[UB_NTH16_SIZE] = i;
        ub_net_rx(b->net, 0, 0, pkt);
    }
    g_assert_cmpuint(asked, ==, 8);
    expect_done(b, false, CORE_FAULT_DROP, 4);
    while (b->got.length) {
        got_free(bed_got(b));
    }
    bed_free(b);
}

/* At rest nothing goes up: what loops, what a fault has delayed. */
static void test_rest(void)
{
    NetBed *b = controller();
    UbFlow f = way(5);

    g_assert_cmpint(ub_net_send(b->net, 0, &f, bed_packet(b, 32, 1)), ==,
                    UB_SENT);
    faults(b, false, CORE_FAULT_DELAY, 1000000, 0);
    ub_net_rx(b->net, 0, 0, bed_wire(b, &f, 100));
    ub_net_rest(b->net, true);
    g_assert_cmpint(ub_net_run(b->net, 1000000, 16), ==, INT64_MAX);
    g_assert_cmpuint(b->got.length, ==, 0);
    b->kicks = 0;
    ub_net_rest(b->net, false);
    g_assert_cmpuint(b->kicks, ==, 1);
    ub_net_run(b->net, 1000000, 16);
    g_assert_cmpuint(b->got.length, ==, 2);
    got_free(bed_got(b));
    got_free(bed_got(b));
    bed_free(b);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/ub/net/fault/out", test_out);
    g_test_add_func("/ub/net/fault/lph", test_lph);
    g_test_add_func("/ub/net/fault/in", test_in);
    g_test_add_func("/ub/net/fault/moves", test_moves);
    g_test_add_func("/ub/net/fault/flow", test_flow);
    g_test_add_func("/ub/net/fault/flow-bounds", test_flow_bounds);
    g_test_add_func("/ub/net/fault/two-ports", test_two_ports);
    g_test_add_func("/ub/net/fault/rest", test_rest);
    return g_test_run();
}
