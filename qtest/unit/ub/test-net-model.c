/*
 * Random fabrics of forwarding nodes: whatever routes, ports and rooms do, each
 * packet ends exactly once - at a taker, as it was sent, or in a counter that
 * names the reason.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "core/random.h"
#include "net-bed.h"

#define NODES 6
#define PORTS 4

typedef struct Fabric {
    NetBed *node[NODES];
    struct {
        int node, port; /* what is at the other end, or -1 */
    } peer[NODES][PORTS];
    uint64_t rng;
    uint64_t made, taken, lost_down;
} Fabric;

static unsigned pick(Fabric *f, unsigned n)
{
    return (core_random(&f->rng) >> 20) % n;
}

static void join(Fabric *f, unsigned a, unsigned pa, unsigned b, unsigned pb)
{
    f->peer[a][pa].node = b;
    f->peer[a][pa].port = pb;
    f->peer[b][pb].node = a;
    f->peer[b][pb].port = pa;
}

static void make_fabric(Fabric *f, uint64_t seed)
{
    memset(f, 0, sizeof(*f));
    f->rng = seed;
    for (unsigned i = 0; i < NODES; i++) {
        UbNetConfig conf;

        ub_net_config_init(&conf);
        conf.ports = PORTS;
        conf.forward = true;
        conf.npi_mode = UB_NPI_OPEN;
        conf.route_entries = 16;
        conf.transit_limit = pick(f, 2) ? 2000 : 0;
        conf.queue_limit = 1000;
        conf.watchdog = pick(f, 2) ? 500 : 0;
        conf.fecn = true;
        conf.fecn_light = conf.fecn_heavy = 100;
        f->node[i] = bed_new(&conf);
        ub_net_set_primary(f->node[i]->net, i + 1);
        for (unsigned p = 0; p < PORTS; p++) {
            f->peer[i][p].node = -1;
        }
        for (unsigned cna = 1; cna <= NODES; cna++) {
            ub_net_route_set(f->node[i]->net, cna, pick(f, 16));
        }
    }
    for (unsigned i = 0; i < NODES; i++) {
        join(f, i, 0, (i + 1) % NODES, 1);
        if (i < NODES / 2) {
            join(f, i, 2, i + NODES / 2, 2);
        }
    }
}

static void send_one(Fabric *f)
{
    unsigned from = pick(f, NODES), len = 4 + pick(f, 300);
    UbFlow flow = flow_cna(pick(f, 2) ? UB_LPH_CNA16 : UB_LPH_CNA24, 0, 0,
                           1 + pick(f, NODES + 1));
    NetBed *b = f->node[from];
    CorePacket *pkt = bed_packet(b, len, len);

    flow.rt = pick(f, 4);
    flow.sl = pick(f, 16);
    flow.lbf = pick(f, 256);
    flow.vl = pick(f, 8);
    if (ub_net_send(b->net, b->now, &flow, pkt) == UB_BUSY) {
        core_packet_free(pkt);
    } else {
        f->made++;
    }
}

/* What left a port arrives at its peer, or, where there is none, is lost. */
static void carry(Fabric *f, unsigned i)
{
    for (unsigned p = 0; p < PORTS; p++) {
        CorePacket *pkt;

        while ((pkt = bed_sent(f->node[i], p))) {
            int to = f->peer[i][p].node;

            if (to < 0) {
                f->lost_down++;
                core_packet_free(pkt);
            } else {
                ub_net_rx(f->node[to]->net, f->node[to]->now,
                          f->peer[i][p].port, pkt);
            }
        }
    }
}

static void take_all(Fabric *f, unsigned i)
{
    NetGot *g;

    while ((g = bed_got(f->node[i]))) {
        const uint8_t *p = core_packet_data(g->pkt);

        g_assert_cmpint(g->to, ==, UB_NET_TP);
        g_assert_cmphex(g->flow.dcna, ==, i + 1);
        for (unsigned k = 0; k < g->pkt->len; k++) {
            g_assert_cmphex(p[k], ==, (uint8_t)(g->pkt->len + k));
        }
        f->taken++;
        got_free(g);
    }
}

static void change_something(Fabric *f)
{
    unsigned i = pick(f, NODES), port = pick(f, PORTS);
    NetBed *b = f->node[i];

    switch (pick(f, 4)) {
    case 0:
        ub_net_port_state(b->net, b->now, port, pick(f, 3) ? 0xff : 0);
        break;
    case 1:
        b->room[port] = pick(f, 2) ? 0xffff : pick(f, 256);
        break;
    case 2:
        ub_net_route_set(b->net, 1 + pick(f, NODES), pick(f, 16));
        break;
    default:
        ub_net_route_default(b->net, pick(f, 16));
    }
}

static uint64_t all_drops(Fabric *f)
{
    uint64_t sum = 0;

    for (unsigned i = 0; i < NODES; i++) {
        for (unsigned c = 0; c < UB_NET_COUNTERS_NUM; c++) {
            if (g_str_has_prefix(ub_net_counter_name(c), "drop-")) {
                sum += bed_count(f->node[i], c);
            }
        }
    }
    return sum;
}

static void run_model(unsigned seeds, unsigned steps)
{
    uint64_t taken = 0;

    for (unsigned seed = 1; seed <= seeds; seed++) {
        Fabric f;

        make_fabric(&f, seed);
        for (unsigned n = 0; n < steps; n++) {
            if (pick(&f, 10)) {
                send_one(&f);
            } else {
                change_something(&f);
            }
            for (unsigned i = 0; i < NODES; i++) {
                f.node[i]->now = n * 10;
                ub_net_run(f.node[i]->net, n * 10, 20);
                carry(&f, i);
                take_all(&f, i);
            }
        }
        /* Stop: what still waits is flushed, and counted so. */
        for (unsigned i = 0; i < NODES; i++) {
            for (unsigned p = 0; p < PORTS; p++) {
                ub_net_port_state(f.node[i]->net, 0, p, 0);
            }
        }
        for (unsigned n = 0; n < 3; n++) {
            for (unsigned i = 0; i < NODES; i++) {
                ub_net_run(f.node[i]->net, 0, 2000);
                carry(&f, i);
                take_all(&f, i);
            }
        }
        g_assert_cmpuint(f.made, ==, f.taken + f.lost_down + all_drops(&f));
        taken += f.taken;
        for (unsigned i = 0; i < NODES; i++) {
            ub_net_free(f.node[i]->net);
        }
        for (unsigned i = 0; i < NODES; i++) {
            g_assert_cmpuint(core_packet_pool_used(f.node[i]->pool), ==, 0);
            core_packet_pool_free(f.node[i]->pool);
            g_free(f.node[i]);
        }
    }
    g_assert_cmpuint(taken, >, seeds * steps / 20);
}

static void test_model(void)
{
    run_model(g_test_slow() ? 2000 : 20, 1000);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/ub/net/model", test_model);
    return g_test_run();
}
