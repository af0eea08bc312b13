/*
 * Two emulators, each at a ub-switch with an Ethernet port, and Ethernet between the
 * switches (UB 2.0 appendix E): what their engines do over RTP and UTP in packets of
 * IP passes as UB over Ethernet.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "switch-fabric.h"
#include "ub/tah.h"

/* Node @own is behind port 0, the other is on Ethernet, port 1; VLAN 7 is their NPI,
 * frames without a tag have another. */
#define GATEWAY(own, other)                                                 \
    "{\"execute\": \"ip-route-set\", \"arguments\":"                        \
    " {\"prefix\": \"10.0.0." own "\", \"ports\": [0]}}\n"                  \
    "{\"execute\": \"ip-route-set\", \"arguments\":"                        \
    " {\"prefix\": \"10.0.0." other "\", \"ports\": [1]}}\n"                \
    "{\"execute\": \"ip-route-set\", \"arguments\":"                        \
    " {\"prefix\": \"fd00::" own "\", \"ports\": [0]}}\n"                   \
    "{\"execute\": \"ip-route-set\", \"arguments\":"                        \
    " {\"prefix\": \"fd00::" other "\", \"ports\": [1]}}\n"                 \
    "{\"execute\": \"ethernet-vlan-set\", \"arguments\":"                   \
    " {\"port\": 1, \"vlan\": 7, \"npi\": 1}}\n"                            \
    "{\"execute\": \"ethernet-configure\", \"arguments\":"                  \
    " {\"port\": 1, \"vlans\": true, \"npi\": 9, \"retry-ms\": 600000}}\n"

static const char *const configs[] = { GATEWAY("1", "2"), GATEWAY("2", "1") };

typedef struct Gateways {
    Fabric f;
    SwitchProgram far;  /* of node 2; that of node 1 is the fabric's */
} Gateways;

typedef struct Case {
    EngPlan plan;
    const char *ether[2];   /* see SwitchProgram */
} Case;

static void start(Gateways *g, const Case *c)
{
    Fabric *f = &g->f;
    SwitchProgram *s[2] = { &f->sw, &g->far };

    *g = (Gateways) { .f.props = "" };
    f->dir = g_dir_make_tmp("ubgw-XXXXXX", NULL);
    g_assert_nonnull(f->dir);
    for (unsigned i = 0; i < 2; i++) {
        *s[i] = (SwitchProgram) {
            .dir = g_strdup(f->dir), .first = i, .ports = 1,
            .config = configs[i], .ethernet = c->ether[i],
        };
        switch_again(s[i]);
    }
    fabric_node(f, 0);
    fabric_node(f, 1);
    QUBC_WAIT((qubc_pass(f->q[0]), qubc_pass(f->q[1]),
               qubc_up(f->q[0], 0) && qubc_up(f->q[1], 0) &&
               switch_ports_up(&f->sw) == 2 && switch_ports_up(&g->far) == 2));
    fabric_engines(f, &c->plan);
}

static void stop(Gateways *g)
{
    qubc_stop(g->f.q[0]);
    qubc_stop(g->f.q[1]);
    switch_stop(&g->far);
    switch_stop(&g->f.sw);
    g_assert_cmpint(rmdir(g->f.dir), ==, 0);
    g_free(g->f.dir);
}

static void test_plan(const void *opaque)
{
    static const uint32_t sizes[] = { 1, 4096, 65536, 200000 };
    const Case *c = opaque;
    Gateways g;
    Fabric *f = &g.f;

    start(&g, c);
    for (unsigned i = 0; i < G_N_ELEMENTS(sizes); i++) {
        if (c->plan.carrier == ENG_RTP) {
            fabric_both_ways(f, sizes[i], i);
        }
    }
    for (unsigned i = 0; i < 2; i++) {
        eng_send_recv_to(&f->e[i], &f->e[!i], 4000);
        if (c->plan.carrier == ENG_RTP) {
            eng_fetch_add_to(&f->e[i], &f->e[!i]);
        }
    }
    /* All of it was frames, and of the VLAN. */
    g_assert_cmpuint(switch_ether_counter(&f->sw, 1, "rx-packets"), >, 0);
    g_assert_cmpuint(switch_ether_counter(&g.far, 1, "rx-packets"), >, 0);
    g_assert_cmpuint(switch_ether_counter(&f->sw, 1, "drop-vlan"), ==, 0);
    g_assert_cmpuint(switch_ether_counter(&f->sw, 1, "drop-npi"), ==, 0);
    g_assert_cmpuint(switch_ether_counter(&f->sw, 1, "answered") +
                     switch_ether_counter(&g.far, 1, "answered"), >, 0);
    stop(&g);
}

int main(int argc, char **argv)
{
    static const Case stream = {
        { .carrier = ENG_RTP, .cfg = UB_LPH_IPV4 },
        { "unix:@/ether", "connect:unix:@/ether" },
    }, dgram = {
        { .carrier = ENG_RTP, .cfg = UB_LPH_IPV6 },
        { "dgram:@/e0,@/e1", "dgram:@/e1,@/e0" },
    }, utp = {
        { .carrier = ENG_UTP, .mode = UB_UNO },
        { "unix:@/ether", "connect:unix:@/ether" },
    };

    g_test_init(&argc, &argv, NULL);
    if (!switch_program()) {
        g_print("1..0 # SKIP ub-switch is not built\n");
        return 0;
    }
    qtest_add_data_func("/ubc-gateway/rtp-ipv4", &stream, test_plan);
    qtest_add_data_func("/ubc-gateway/rtp-ipv6", &dgram, test_plan);
    qtest_add_data_func("/ubc-gateway/utp", &utp, test_plan);
    return g_test_run();
}
