/*
 * Two emulators, each at a ub-switch with an Ethernet port, and Ethernet between the
 * switches (UB 2.0 appendix E): what their engines do over RTP and UTP in packets of
 * IP passes as UB over Ethernet.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <sys/un.h>

#include "switch-fabric.h"
#include "ub/tah.h"
#include "ub/uboe.h"

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

/* ---- A station that a test is ------------------------------------------------------- */

#define NODE_MAC "\x52\x54\0\0\0\x02"    /* of 10.0.0.2 */
#define PORT_MAC "\x52\x54\0\0\0\x01"
#define STATION GATEWAY("1", "2")                                           \
    "{\"execute\": \"ethernet-configure\", \"arguments\":"                  \
    " {\"port\": 1, \"mac\": \"52:54:00:00:00:01\"}}\n"                    \
    "{\"execute\": \"ethernet-neighbour-set\", \"arguments\":"              \
    " {\"port\": 1, \"ip\": \"10.0.0.2\", \"mac\": \"52:54:00:00:00:02\","  \
    " \"vlan\": 7}}\n"
#define ROOM 0x4000u    /* of a receive buffer */
#define ROOMS 16u

/* Node 1 behind a gateway, and a socket that gets and sends frames. */
typedef struct Station {
    Fabric f;
    QUbc *q;
    int fd;
    char *path;
    uint16_t sent, came;
    uint8_t frame[UB_UBOE_FRAME_MAX + 64];
} Station;

static void station_start(Station *s)
{
    struct sockaddr_un un = { .sun_family = AF_UNIX };
    Fabric *f = &s->f;

    *s = (Station) { .f.props = "" };
    f->dir = g_dir_make_tmp("ubgw-XXXXXX", NULL);
    g_assert_nonnull(f->dir);
    s->path = g_build_filename(f->dir, "e1", NULL);
    s->fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK, 0);
    g_strlcpy(un.sun_path, s->path, sizeof(un.sun_path));
    g_assert_cmpint(bind(s->fd, (struct sockaddr *)&un, sizeof(un)), ==, 0);
    f->sw = (SwitchProgram) { .dir = g_strdup(f->dir), .ports = 1,
                              .config = STATION,
                              .ethernet = "dgram:@/e0,@/e1" };
    switch_again(&f->sw);
    g_snprintf(un.sun_path, sizeof(un.sun_path), "%s/e0", f->dir);
    g_assert_cmpint(connect(s->fd, (struct sockaddr *)&un, sizeof(un)), ==, 0);
    s->q = fabric_machine(f, 0, "q35", "");
    qubc_attach(s->q);
    qubc_ring_open(s->q, 0, UBC_RING_TX, QUBC_TX_RING(0));
    qubc_ring_open(s->q, 0, UBC_RING_RX, QUBC_RX_RING(0));
    for (unsigned i = 0; i < ROOMS; i++) {
        qubc_post(s->q, 0, UBC_RING_RX, QUBC_RX_BUF(0) + i * ROOM, ROOM, 0);
    }
    qubc_doorbell(s->q, 0, UBC_RING_RX);
    qubc_port_write(s->q, 0, UBC_PORT_CTRL, UBC_PORT_CTRL_ENABLE);
    QUBC_WAIT(qubc_up(s->q, 0) && switch_ports_up(&f->sw) == 2);
}

static void station_stop(Station *s)
{
    qubc_stop(s->q);
    switch_stop(&s->f.sw);
    close(s->fd);
    unlink(s->path);
    g_free(s->path);
    g_assert_cmpint(rmdir(s->f.dir), ==, 0);
    g_free(s->f.dir);
}

/* A packet of UB in IPv4 and UDP from 10.0.0.@from to 10.0.0.@to, of @len bytes of IP. */
static void ub_ip(uint8_t *ip, unsigned from, unsigned to, unsigned ecn, uint32_t len)
{
    uint32_t sum = 0;

    memset(ip, 0, 28);
    ip[0] = 0x45;
    ip[1] = ecn;
    stw_be_p(ip + 2, len);
    ip[8] = 64;
    ip[9] = 17;
    stl_be_p(ip + 12, 0x0a000000 + from);
    stl_be_p(ip + 16, 0x0a000000 + to);
    stw_be_p(ip + 20, 0xc000);
    stw_be_p(ip + 22, UB_UDP_PORT);
    stw_be_p(ip + 24, len - 20);
    for (uint32_t i = 28; i < len; i++) {
        ip[i] = i * 7 + i / 256 + len;
    }
    for (unsigned w = 0; w < 20; w += 2) {
        sum += lduw_be_p(ip + w);
    }
    sum = (sum & 0xffff) + (sum >> 16);
    stw_be_p(ip + 10, ~sum);
}

/* What passed is what was sent, but for ECN and one hop; its checksum is right. */
static void same_ip(const uint8_t *got, const uint8_t *sent, unsigned ecn, uint32_t len)
{
    uint32_t sum = 0;

    g_assert_cmphex(got[1], ==, ecn);
    g_assert_cmpuint(got[8], ==, sent[8] - 1);
    g_assert_cmpmem(got + 2, 6, sent + 2, 6);
    g_assert_cmpmem(got + 12, len - 12, sent + 12, len - 12);
    for (unsigned w = 0; w < 20; w += 2) {
        sum += lduw_be_p(got + w);
    }
    g_assert_cmphex((sum & 0xffff) + (sum >> 16), ==, 0xffff);
}

/* Node 1 sends @len bytes of IP with a CCI; where they are. */
static const uint8_t *node_sends(Station *s, uint16_t cci, unsigned ecn, uint32_t len)
{
    uint32_t at = QUBC_TX_BUF(0) + s->sent % 8 * ROOM;
    uint8_t *p = s->q->ram->at + at;

    ub_ipext_put(p, cci, 1);
    ub_ip(p + UB_IPEXT_SIZE, 1, 2, ecn, len);
    qubc_post(s->q, 0, UBC_RING_TX, at, UB_IPEXT_SIZE + len, UB_LPH_IPV4);
    qubc_doorbell(s->q, 0, UBC_RING_TX);
    QUBC_WAIT(qubc_status(s->q, 0, UBC_RING_TX, s->sent) & UBC_DESC_DONE);
    g_assert_cmphex(qubc_status(s->q, 0, UBC_RING_TX, s->sent), ==, UBC_DESC_DONE);
    s->sent++;
    return p + UB_IPEXT_SIZE;
}

/* The station gets a frame of VLAN 7: its IP. */
static const uint8_t *station_gets(Station *s, uint32_t len)
{
    ssize_t n = -1;

    QUBC_WAIT((n = recv(s->fd, s->frame, sizeof(s->frame), 0)) >= 0);
    g_assert_cmpint(n, ==, 18 + len);
    g_assert_cmpmem(s->frame, 12, NODE_MAC PORT_MAC, 12);
    g_assert_cmpmem(s->frame + 12, 6, "\x81\0\0\x07\x08\0", 6);
    return s->frame + 18;
}

static const uint8_t *station_sends(Station *s, unsigned ecn, uint32_t len)
{
    memcpy(s->frame, PORT_MAC NODE_MAC "\x81\0\0\x07\x08\0", 18);
    ub_ip(s->frame + 18, 2, 1, ecn, len);
    g_assert_cmpint(send(s->fd, s->frame, 18 + len, 0), ==, 18 + len);
    return s->frame + 18;
}

/* Node 1 gets a packet: CCI in front, its IP. */
static const uint8_t *node_gets(Station *s, uint16_t *cci, uint32_t len)
{
    const uint8_t *p = s->q->ram->at + QUBC_RX_BUF(0) + s->came * ROOM;

    g_assert_cmpuint(s->came, <, ROOMS);
    QUBC_WAIT(qubc_status(s->q, 0, UBC_RING_RX, s->came) & UBC_DESC_DONE);
    g_assert_cmphex(qubc_status(s->q, 0, UBC_RING_RX, s->came), ==, UBC_DESC_DONE);
    g_assert_cmpuint((uint32_t)ldl_le_p(s->q->ram->at + QUBC_RX_RING(0) +
                                        s->came * UBC_DESC_SIZE + 8), ==,
                     UB_IPEXT_SIZE + len);
    s->came++;
    *cci = ub_ipext_cci(p);
    g_assert_cmphex(ub_ipext_npi(p), ==, 1);
    return p + UB_IPEXT_SIZE;
}

/* FECN of the CCI is ECN of IP on Ethernet, and ECN from there is FECN. */
static void test_ecn(void)
{
    static const struct {
        uint16_t cci;
        uint8_t ecn, want;
    } out[] = {
        { UB_CCI_FECN << 13 | UB_FECN_OFF, 2, UB_FECN_OFF },
        { UB_CCI_FECN << 13 | UB_FECN_NONE, 0, UB_FECN_NONE },
        { UB_CCI_FECN << 13 | UB_FECN_LIGHT, 0, UB_FECN_LIGHT },
        { UB_CCI_FECN << 13 | UB_CCI_LOC | UB_FECN_HEAVY, 2, UB_FECN_HEAVY },
        { UB_CCI_FECN_RTT << 13 | 0x155 << 2 | UB_FECN_HEAVY, 2, UB_FECN_HEAVY },
        /* Modes without FECN leave what IP says. */
        { UB_CCI_CAQM << 13 | UB_CCI_ENABLE | UB_CCI_C, 1, 1 },
        { UB_CCI_NO_CONTROL, 2, 2 },
    };
    static const uint16_t in[] = {
        UB_CCI_NO_CONTROL, UB_CCI_FECN << 13 | UB_FECN_LIGHT,
        UB_CCI_FECN << 13 | UB_FECN_NONE, UB_CCI_FECN << 13 | UB_FECN_HEAVY,
    };
    const uint8_t *sent, *got;
    uint16_t cci;
    Station s;

    station_start(&s);
    for (unsigned i = 0; i < G_N_ELEMENTS(out); i++) {
        sent = node_sends(&s, out[i].cci, out[i].ecn, 200);
        got = station_gets(&s, 200);
        same_ip(got, sent, out[i].want, 200);
    }
    g_assert_cmpuint(switch_ether_counter(&s.f.sw, 1, "fecn-to-ecn"), ==, 3);
    for (unsigned ecn = 0; ecn < G_N_ELEMENTS(in); ecn++) {
        sent = station_sends(&s, ecn, 200);
        got = node_gets(&s, &cci, 200);
        same_ip(got, sent, ecn, 200);
        g_assert_cmphex(cci, ==, in[ecn]);
    }
    g_assert_cmpuint(switch_ether_counter(&s.f.sw, 1, "ecn-to-fecn"), ==, 2);
    /* It may be switched off. */
    qobject_unref(switch_command(&s.f.sw, "{ 'execute': 'ethernet-configure',"
                                 " 'arguments': { 'port': 1, 'ecn': false } }"));
    sent = node_sends(&s, UB_CCI_FECN << 13 | UB_FECN_HEAVY, 2, 200);
    got = station_gets(&s, 200);
    same_ip(got, sent, 2, 200);
    sent = station_sends(&s, 3, 200);
    got = node_gets(&s, &cci, 200);
    same_ip(got, sent, 3, 200);
    g_assert_cmphex(cci, ==, UB_CCI_NO_CONTROL);
    station_stop(&s);
}

/* 9216 bytes of IP pass, both ways and whole; a byte more does not. */
static void test_jumbo(void)
{
    const uint32_t most = UB_UBOE_MTU_MAX;
    const uint8_t *sent, *got;
    uint16_t cci;
    Station s;

    g_assert_cmpuint(most, ==, 9216);
    station_start(&s);
    node_sends(&s, 0, 0, most + 1);
    sent = node_sends(&s, 0, 0, most);
    got = station_gets(&s, most);
    same_ip(got, sent, 0, most);
    g_assert_cmpuint(switch_ether_counter(&s.f.sw, 1, "drop-long"), ==, 1);
    station_sends(&s, 0, most + 1);
    sent = station_sends(&s, 0, most);
    got = node_gets(&s, &cci, most);
    same_ip(got, sent, 0, most);
    g_assert_cmpuint(switch_ether_counter(&s.f.sw, 1, "drop-long"), ==, 2);
    station_stop(&s);
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
    qtest_add_func("/ubc-gateway/ecn", test_ecn);
    qtest_add_func("/ubc-gateway/jumbo", test_jumbo);
    return g_test_run();
}
