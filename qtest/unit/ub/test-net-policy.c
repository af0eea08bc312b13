/*
 * CFG0_CAP242: partitions, borders and maps of VLs by registers (ub/net_hw.h).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "net-node.h"
#include "net-older.h"
#include "ub/net_hw.h"

#define BASE UB_CFG_CAP(UB_CFG0_BASE, UB_NETR_CAP)

typedef struct Bed {
    NetBed *b;
    UbSpace *space;
} Bed;

static Bed bed_policy(void)
{
    UbNetConfig conf;
    Bed t;

    ub_net_config_init(&conf);
    conf.ports = 4;
    conf.forward = true;
    conf.route_entries = 16;
    conf.npi_mode = UB_NPI_OPEN;
    conf.vl_out[3] = 5;
    t.b = bed_new(&conf);
    t.space = ub_space_new(4);
    ub_space_attach(t.space, UB_SPACE_CFG0, 0, 0, NULL, NULL);
    g_assert_true(ub_net_attach_policy(t.b->net, t.space));
    /* The place is taken. */
    g_assert_false(ub_net_attach_policy(t.b->net, t.space));
    return t;
}

static void bed_end(Bed *t)
{
    bed_free(t->b);
    ub_space_free(t->space);
}

static uint32_t get(Bed *t, unsigned dw)
{
    return ub_space_read(t->space, BASE + dw);
}

static void put(Bed *t, unsigned dw, uint32_t value)
{
    ub_space_write(t->space, 0, BASE + dw, value, 0xf);
}

static uint32_t change(Bed *t, unsigned dw, uint32_t value)
{
    put(t, dw, value);
    return get(t, UB_NETR_RESULT);
}

/* The list of own senders is the configuration's, all of it, and again after a reset. */
static void test_configured(void)
{
    const uint32_t *npi;
    UbNetConfig conf;
    NetBed *b;

    ub_net_config_init(&conf);
    conf.ports = 4;
    conf.npi_mode = UB_NPI_LOOSE;
    conf.npis_len = 3;
    for (unsigned i = 0; i < 3; i++) {
        conf.npis[i] = 0x21 + i;
    }
    b = bed_new(&conf);
    for (unsigned again = 0; again < 2; again++) {
        g_assert_cmpuint(ub_net_npi_list(b->net, UB_NET_ANY, &npi), ==, 3);
        for (unsigned i = 0; i < 3; i++) {
            g_assert_cmphex(npi[i], ==, 0x21 + i);
        }
        ub_net_npi_clear(b->net, UB_NET_ANY);
        ub_net_npi_allow(b->net, UB_NET_ANY, 0x77);
        ub_net_reset(b->net, 0);
    }
    bed_free(b);
}

static void test_identity(void)
{
    Bed t = bed_policy();

    g_assert_cmphex(ub_space_read(t.space, UB_CFG0_CAP_BITMAP + 7) >> 18 & 1,
                    ==, 1);
    g_assert_cmphex(get(&t, UB_NETR_HEADER), ==, UB_NETR_USED << 4);
    g_assert_cmphex(get(&t, UB_NETR_MAGIC), ==, UB_NETR_MAGIC__VALUE);
    g_assert_cmphex(get(&t, UB_NETR_LIMITS), ==, UB_NET_MAX_NPIS << 16 | 0x410);
    g_assert_cmphex(get(&t, UB_NETR_MODE), ==, UB_NPI_OPEN);
    bed_end(&t);
}

/* The node's own: told to whoever shows it, once for each change. */
static void test_own(void)
{
    Bed t = bed_policy();

    g_assert_cmphex(get(&t, UB_NETR_NPI), ==, UB_NPI_DEFAULT);
    put(&t, UB_NETR_NPI, 0xff000007);
    g_assert_cmphex(ub_net_npi(t.b->net), ==, 0x1000007);
    g_assert_cmphex(get(&t, UB_NETR_NPI), ==, 0x1000007);
    g_assert_cmpuint(t.b->npis, ==, 1);
    put(&t, UB_NETR_NPI, 0x1000007);
    g_assert_cmpuint(t.b->npis, ==, 1);
    /* Half of one is none. */
    ub_space_write(t.space, 0, BASE + UB_NETR_NPI, 9, 1);
    g_assert_cmphex(ub_net_npi(t.b->net), ==, 0x1000007);
    g_assert_cmphex(get(&t, UB_NETR_NPI), ==, 0x1000007);
    bed_end(&t);
}

/* Lists of ports and of own senders, and what ports give and let pass. */
static void test_lists(void)
{
    Bed t = bed_policy();
    const uint32_t *npi;

    put(&t, UB_NETR_SELECT, 2);
    g_assert_cmphex(get(&t, UB_NETR_COUNT), ==, 0);
    g_assert_cmphex(change(&t, UB_NETR_ADD, 5), ==, UB_NETR_R_OK);
    g_assert_cmphex(change(&t, UB_NETR_ADD, 6), ==, UB_NETR_R_OK);
    g_assert_cmphex(change(&t, UB_NETR_ADD, 6), ==, UB_NETR_R_OK);
    g_assert_cmphex(change(&t, UB_NETR_ADD, 7), ==, UB_NETR_R_OK);
    g_assert_cmphex(get(&t, UB_NETR_COUNT), ==, 3);
    put(&t, UB_NETR_INDEX, 1);
    g_assert_cmphex(get(&t, UB_NETR_ENTRY), ==, 6);
    put(&t, UB_NETR_INDEX, 3);
    g_assert_cmphex(get(&t, UB_NETR_ENTRY), ==, 0);
    g_assert_cmphex(change(&t, UB_NETR_REMOVE, 5), ==, UB_NETR_R_OK);
    g_assert_cmphex(change(&t, UB_NETR_REMOVE, 5), ==, UB_NETR_R_ABSENT);
    g_assert_cmpuint(ub_net_npi_list(t.b->net, 2, &npi), ==, 2);
    g_assert_cmphex(npi[0] + npi[1], ==, 13);
    g_assert_cmpuint(ub_net_npi_list(t.b->net, 1, &npi), ==, 0);
    g_assert_cmphex(change(&t, UB_NETR_ADD, 0), ==, UB_NETR_R_BAD_NPI);
    g_assert_cmphex(change(&t, UB_NETR_ADD, UB_NPI_LOW), ==, UB_NETR_R_BAD_NPI);
    /* Of the port. */
    g_assert_cmphex(get(&t, UB_NETR_PORT), ==, 0);
    g_assert_cmphex(change(&t, UB_NETR_PORT, UB_NETR_PORT__CLOSED | 9), ==,
                    UB_NETR_R_OK);
    g_assert_cmphex(get(&t, UB_NETR_PORT), ==, UB_NETR_PORT__CLOSED | 9);
    g_assert_true(ub_net_npi_closed(t.b->net, 2));
    g_assert_cmphex(ub_net_npi_replaced(t.b->net, 2), ==, 9);
    g_assert_cmphex(change(&t, UB_NETR_PORT, UB_NPI_LOW), ==,
                    UB_NETR_R_BAD_NPI);
    g_assert_cmphex(get(&t, UB_NETR_PORT), ==, UB_NETR_PORT__CLOSED | 9);
    ub_space_write(t.space, 0, BASE + UB_NETR_PORT, 0, 8);
    g_assert_cmphex(get(&t, UB_NETR_RESULT), ==, UB_NETR_R_PART);
    g_assert_true(ub_net_npi_closed(t.b->net, 2));
    /* Ports that are not there; own senders, who have a list alone. */
    put(&t, UB_NETR_SELECT, 4);
    g_assert_cmphex(change(&t, UB_NETR_ADD, 5), ==, UB_NETR_R_NO_PORT);
    g_assert_cmphex(change(&t, UB_NETR_PORT, 5), ==, UB_NETR_R_NO_PORT);
    g_assert_cmphex(get(&t, UB_NETR_COUNT) | get(&t, UB_NETR_PORT), ==, 0);
    put(&t, UB_NETR_SELECT, UB_NETR_SENDERS);
    g_assert_cmphex(change(&t, UB_NETR_PORT, 5), ==, UB_NETR_R_NO_PORT);
    for (unsigned i = 1; i <= UB_NET_MAX_NPIS; i++) {
        g_assert_cmphex(change(&t, UB_NETR_ADD, i), ==, UB_NETR_R_OK);
    }
    g_assert_cmphex(change(&t, UB_NETR_ADD, 999), ==, UB_NETR_R_FULL);
    g_assert_cmphex(get(&t, UB_NETR_COUNT), ==, UB_NET_MAX_NPIS);
    bed_end(&t);
}

/* A packet of IPv4 from port 0, routed to port 1: whether it left. */
static bool passes(NetBed *b, uint32_t npi)
{
    UbFlow f = flow_ip(UB_LPH_IPV4);
    CorePacket *pkt;

    put_be32(f.ip.src, 0x0a000002);
    f.npi = npi;
    ub_net_rx(b->net, 0, 0, bed_wire(b, &f, 20));
    pkt = bed_sent(b, 1);
    if (pkt) {
        core_packet_free(pkt);
    }
    return pkt;
}

/* A closed port lets what is in its list pass, both ways, and counts the rest. */
static void test_closed(void)
{
    static const uint8_t all[16];
    Bed t = bed_policy();
    UbNet *net = t.b->net;

    ub_net_ip_route(net, UB_LPH_IPV4, all, 0, 2);
    g_assert_true(passes(t.b, 5));
    for (unsigned port = 0; port < 2; port++) {
        uint64_t lost = ub_net_counter(net, port, UB_NET_DROP_NPI);

        put(&t, UB_NETR_SELECT, port);
        put(&t, UB_NETR_PORT, UB_NETR_PORT__CLOSED);
        g_assert_false(passes(t.b, 5));
        put(&t, UB_NETR_ADD, 5);
        g_assert_true(passes(t.b, 5));
        g_assert_false(passes(t.b, 6));
        g_assert_cmpuint(ub_net_counter(net, port, UB_NET_DROP_NPI), ==,
                         lost + 2);
        put(&t, UB_NETR_REMOVE, 5);
        put(&t, UB_NETR_PORT, 0);
        g_assert_true(passes(t.b, 6));
    }
    bed_end(&t);
}

/* The VL by which a packet leaves that came by port @in and VL @vl for port @out. */
static unsigned leaves_by(NetBed *b, unsigned in, unsigned out, unsigned vl)
{
    UbFlow f = flow_cna(UB_LPH_CNA16, 0, 1, out + 1);
    CorePacket *pkt = bed_wire(b, &f, 20);

    ub_meta(pkt)->vl = vl;
    ub_net_rx(b->net, 0, in, pkt);
    pkt = bed_sent(b, out);
    g_assert_nonnull(pkt);
    vl = ub_meta(pkt)->vl;
    core_packet_free(pkt);
    return vl;
}

/* Each pair of groups has its map, in the registers as in packets. */
static void test_maps(void)
{
    Bed t = bed_policy();
    UbNetConfig conf;

    for (unsigned port = 0; port < 4; port++) {
        ub_net_route_set(t.b->net, port + 1, 1u << port);
    }
    /* As configured. */
    g_assert_cmphex(get(&t, UB_NETR_VL_GROUP_DW(0)), ==, 0);
    g_assert_cmphex(get(&t, UB_NETR_VL_MAP_DW(3, 3, 0)), ==, 0x76545210);
    g_assert_cmphex(get(&t, UB_NETR_VL_MAP_DW(0, 0, 8)), ==, 0xfedcba98);
    g_assert_cmpuint(leaves_by(t.b, 0, 1, 3), ==, 5);
    /* Port p is in in-group p and out-group 3 - p. */
    put(&t, UB_NETR_VL_GROUP_DW(0), 0x369c);
    g_assert_cmphex(get(&t, UB_NETR_VL_GROUP_DW(0)), ==, 0x369c);
    for (unsigned in = 0; in < 4; in++) {
        for (unsigned out = 0; out < 4; out++) {
            for (unsigned first = 0; first < 16; first += 8) {
                uint32_t v = 0;

                for (unsigned vl = first; vl < first + 8; vl++) {
                    v |= ((vl * 3 + in * 5 + out * 7) & 15u)
                         << UB_NETR_VL_MAP_SHIFT(vl);
                }
                put(&t, UB_NETR_VL_MAP_DW(in, out, first), v);
                g_assert_cmphex(get(&t, UB_NETR_VL_MAP_DW(in, out, first)), ==,
                                v);
            }
        }
    }
    for (unsigned in = 0; in < 4; in++) {
        for (unsigned out = 0; out < 4; out++) {
            for (unsigned vl = 0; vl < 16 && in != out; vl++) {
                g_assert_cmpuint(leaves_by(t.b, in, out, vl), ==,
                                 (vl * 3 + in * 5 + (3 - out) * 7) & 15);
            }
        }
    }
    /* Ports that are not there have groups, too. */
    for (unsigned port = 8; port < UB_NET_MAX_PORTS; port += 8) {
        put(&t, UB_NETR_VL_GROUP_DW(port), 0x12345678 + port);
    }
    put(&t, UB_NETR_VL_GROUP_DW(0), 0x369c);    /* not the next dword's */
    for (unsigned port = 8; port < UB_NET_MAX_PORTS; port += 8) {
        g_assert_cmphex(get(&t, UB_NETR_VL_GROUP_DW(port)), ==,
                        0x12345678 + port);
    }
    /* A part of a dword is not taken. */
    ub_space_write(t.space, 0, BASE + UB_NETR_VL_GROUP_DW(0), 0, 3);
    g_assert_cmphex(get(&t, UB_NETR_VL_GROUP_DW(0)), ==, 0x369c);
    /* Another setting leaves them, another vl-out does not. */
    conf = *ub_net_config(t.b->net);
    conf.hops = false;
    g_assert_null(ub_net_configure(t.b->net, &conf));
    g_assert_cmphex(get(&t, UB_NETR_VL_GROUP_DW(0)), ==, 0x369c);
    conf.vl_out[0] = 2;
    g_assert_null(ub_net_configure(t.b->net, &conf));
    g_assert_cmphex(get(&t, UB_NETR_VL_GROUP_DW(0)), ==, 0);
    g_assert_cmpuint(leaves_by(t.b, 0, 1, 0), ==, 2);
    g_assert_cmphex(get(&t, UB_NETR_VL_GROUP_DW(63)), ==, 0);
    g_assert_cmphex(get(&t, UB_NETR_VL_MAP_DW(3, 3, 8)), ==, 0xfedcba98);
    bed_end(&t);
}

/* ---- Borders ---- */

/* A packet of IPv4 from port 0, routed to port 1, whose byte behind UDP is @first: whether
 * it left. */
static bool enters(NetBed *b, bool ub, uint8_t first)
{
    UbFlow f = flow_ip(UB_LPH_IPV4);
    CorePacket *pkt;
    uint8_t *udp;

    put_be32(f.ip.src, 0x0a000002);
    pkt = bed_wire(b, &f, 20);
    udp = core_packet_data(pkt) + UB_IPEXT_SIZE + UB_IPV4_SIZE;
    udp[UB_UDP_SIZE] = first;
    if (!ub) {
        udp[3]++; /* another port */
    }
    bed_asked = 0;
    ub_net_rx(b->net, 0, 0, pkt);
    g_assert_cmpuint(bed_asked, ==,
                     ub && ub_net_border(b->net, 0) & UB_NET_BORDER ? 20 : 0);
    pkt = bed_sent(b, 1);
    if (pkt) {
        core_packet_free(pkt);
    }
    return pkt;
}

/* A port with a border lets in what the judge lets in, out what ever. */
static void test_border(void)
{
    static const uint8_t all[16];
    Bed t = bed_policy();
    UbNet *net = t.b->net;
    UbNetConfig conf;

    ub_net_ip_route(net, UB_LPH_IPV4, all, 0, 2);
    g_assert_true(enters(t.b, true, BED_REFUSED));
    put(&t, UB_NETR_SELECT, 1);
    g_assert_cmphex(change(&t, UB_NETR_BORDER, UB_NETR_BORDER__TOKEN), ==,
                    UB_NETR_R_OK);
    g_assert_true(enters(t.b, true, BED_REFUSED)); /* it leaves there */
    g_assert_true(enters(t.b, false, 0));
    put(&t, UB_NETR_SELECT, 0);
    g_assert_cmphex(get(&t, UB_NETR_BORDER), ==, 0);
    /* Plain IP alone makes no border. */
    put(&t, UB_NETR_BORDER, UB_NETR_BORDER__PLAIN);
    g_assert_cmphex(ub_net_border(net, 0), ==, UB_NET_BORDER_PLAIN);
    t.b->rules = 0;
    put(&t, UB_NETR_BORDER, UB_NETR_BORDER__TOKEN);
    g_assert_cmphex(get(&t, UB_NETR_BORDER), ==, UB_NETR_BORDER__TOKEN);
    g_assert_true(enters(t.b, true, 0));
    g_assert_cmpuint(ub_net_counter(net, 0, UB_NET_DROP_BORDER), ==, 0);
    g_assert_false(enters(t.b, true, BED_REFUSED));
    g_assert_cmpstr(t.b->rule, ==, "refused");
    g_assert_false(enters(t.b, false, 0));
    g_assert_cmpuint(t.b->rules, ==, 2);
    g_assert_cmpuint(ub_net_counter(net, 0, UB_NET_DROP_BORDER), ==, 2);
    put(&t, UB_NETR_BORDER, ~0u);
    g_assert_cmphex(get(&t, UB_NETR_BORDER), ==, 3);
    g_assert_true(enters(t.b, false, 0));
    g_assert_false(enters(t.b, true, BED_REFUSED));
    g_assert_cmpuint(ub_net_counter(net, 0, UB_NET_DROP_BORDER), ==, 3);
    /* Only whole, only of a port. */
    ub_space_write(t.space, 0, BASE + UB_NETR_BORDER, 0, 1);
    g_assert_cmphex(get(&t, UB_NETR_RESULT), ==, UB_NETR_R_PART);
    g_assert_cmphex(get(&t, UB_NETR_BORDER), ==, 3);
    put(&t, UB_NETR_SELECT, 4);
    g_assert_cmphex(change(&t, UB_NETR_BORDER, 1), ==, UB_NETR_R_NO_PORT);
    g_assert_cmphex(get(&t, UB_NETR_BORDER), ==, 0);
    put(&t, UB_NETR_SELECT, UB_NETR_SENDERS);
    g_assert_cmphex(change(&t, UB_NETR_BORDER, 1), ==, UB_NETR_R_NO_PORT);
    g_assert_cmphex(get(&t, UB_NETR_BORDER), ==, 0);
    /* Another setting leaves them, another one of borders does not. */
    conf = *ub_net_config(net);
    conf.hops = false;
    g_assert_null(ub_net_configure(net, &conf));
    g_assert_cmphex(ub_net_border(net, 0), ==, 3);
    conf.border_ports = 0xc;
    g_assert_null(ub_net_configure(net, &conf));
    g_assert_cmphex(ub_net_border(net, 0), ==, 0);
    g_assert_cmphex(ub_net_border(net, 2), ==, UB_NET_BORDER);
    /* A border that nobody would keep is not taken for one. */
    conf.border_ports = 0x10;
    g_assert_nonnull(ub_net_configure(net, &conf));
    g_assert_cmphex(ub_net_border(net, 2), ==, UB_NET_BORDER);
    conf.border_ports = 0xc;
    conf.border_plain = true;
    g_assert_null(ub_net_configure(net, &conf));
    g_assert_cmphex(ub_net_border(net, 3), ==, 3);
    ub_net_set_border(net, 0, UB_NET_BORDER);
    ub_net_set_border(net, 3, 0);
    ub_net_reset(net, 0);
    g_assert_cmphex(ub_net_border(net, 0), ==, 0);
    g_assert_cmphex(ub_net_border(net, 3), ==, 3);
    bed_end(&t);
}

/* Fragments are plain IP, whoever would take the whole; packets of CNAs are not judged. */
static void test_border_others(void)
{
    static const uint8_t all[16];
    Bed t = bed_policy();
    UbFlow f = flow_ip(UB_LPH_IPV4), cna = flow_cna(UB_LPH_CNA16, 0, 1, 2);
    CorePacket *pkt;

    ub_net_ip_route(t.b->net, UB_LPH_IPV4, all, 0, 2);
    ub_net_route_set(t.b->net, 2, 2);
    ub_net_set_border(t.b->net, 0, UB_NET_BORDER);
    put_be32(f.ip.src, 0x0a000002);
    pkt = bed_wire(t.b, &f, 20);
    put_be16(core_packet_data(pkt) + UB_IPEXT_SIZE + 6, 0x2000);
    ub_net_rx(t.b->net, 0, 0, pkt);
    g_assert_cmpuint(bed_count(t.b, UB_NET_DROP_BORDER), ==, 1);
    ub_net_rx(t.b->net, 0, 0, bed_wire(t.b, &cna, 20));
    pkt = bed_sent(t.b, 1);
    g_assert_nonnull(pkt);
    core_packet_free(pkt);
    bed_end(&t);
}

/* Beside the net the same. */
static void test_border_raw(void)
{
    Bed t = bed_policy();
    UbNet *net = t.b->net;

    for (unsigned border = 0; border < 4; border++) {
        ub_net_set_border(net, 2, border);
        for (unsigned kind = 0; kind < 5; kind++) {
            UbFlow f = kind ? flow_ip(UB_LPH_IPV4)
                            : flow_cna(UB_LPH_CNA16, 0, 1, 2);
            uint64_t lost = ub_net_counter(net, 2, UB_NET_DROP_BORDER);
            bool pass = !(border & 1) || kind < 2 || (kind == 2 && border & 2);
            CorePacket *pkt;
            uint8_t *p;

            if (kind) {
                put_be32(f.ip.src, 0x0a000002);
            }
            pkt = bed_wire(t.b, &f, 20);
            p = core_packet_data(pkt) + UB_IPEXT_SIZE;
            if (kind == 2) {
                p[UB_IPV4_SIZE + 3]++;
            } else if (kind == 3) {
                p[UB_IPV4_SIZE + UB_UDP_SIZE] = BED_REFUSED;
            } else if (kind == 4) {
                p[0] = 0;
            }
            g_assert_true(ub_net_border_rx(net, 2, pkt) == pass);
            g_assert_cmpuint(ub_net_counter(net, 2, UB_NET_DROP_BORDER), ==,
                             lost + !pass);
            if (pass) {
                core_packet_free(pkt);
            }
        }
    }
    bed_end(&t);
}

/* ---- Images ---- */

static uint8_t *save(Bed *t, size_t *len)
{
    CoreImage *im = core_image_save(0);
    uint8_t *data;

    ub_net_image(t->b->net, im);
    data = core_image_take(im, len);
    core_image_free(im);
    return data;
}

static const char *load(Bed *t, const uint8_t *data, size_t len)
{
    CoreImage *im = core_image_load(data, len, 0);
    const char *why;

    ub_net_image(t->b->net, im);
    why = core_image_done(im);
    core_image_free(im);
    return why;
}

/* Builds before this one: what they did not say is as it was there, at power-on. */
static void test_older(void)
{
    for (unsigned version = 1; version <= NET_LATEST; version++) {
        Bed t = bed_policy(), to = bed_policy();
        const uint32_t *npi;
        uint8_t *data;
        size_t len;

        ub_net_set_npi(t.b->net, 77);
        ub_net_npi_replace(t.b->net, 3, 6);
        ub_net_npi_allow(t.b->net, 3, 4);
        ub_net_route_set(t.b->net, 2, 5);
        ub_net_npi_close(t.b->net, 3, true);
        ub_net_set_border(t.b->net, 2, UB_NET_BORDER);
        put(&t, UB_NETR_VL_GROUP_DW(0), 0xa5);
        put(&t, UB_NETR_VL_MAP_DW(1, 1, 0), 0x76543221);
        data = save(&t, &len);
        if (version < NET_LATEST) {
            len = net_older(data, len, version);
        }
        g_assert_cmpuint(get_be16(data + 4), ==, version);
        /* What the destination had goes. */
        ub_net_npi_close(to.b->net, 1, true);
        ub_net_set_border(to.b->net, 1, UB_NET_BORDER);
        put(&to, UB_NETR_VL_GROUP_DW(0), 0xffffffff);
        g_assert_cmpstr(load(&to, data, len), ==, NULL);
        g_assert_cmphex(ub_net_npi(to.b->net), ==, 77);
        g_assert_cmphex(ub_net_npi_replaced(to.b->net, 3), ==, 6);
        g_assert_cmpuint(ub_net_npi_list(to.b->net, 3, &npi), ==, 1);
        g_assert_cmphex(ub_net_route_get(to.b->net, 2), ==, 5);
        g_assert_false(ub_net_npi_closed(to.b->net, 1));
        g_assert_true(ub_net_npi_closed(to.b->net, 3) == (version >= 2));
        g_assert_cmphex(get(&to, UB_NETR_VL_GROUP_DW(0)), ==,
                        version >= 2 ? 0xa5 : 0);
        g_assert_cmphex(get(&to, UB_NETR_VL_MAP_DW(1, 1, 0)), ==,
                        version >= 2 ? 0x76543221 : 0x76545210);
        g_assert_cmphex(ub_net_border(to.b->net, 1), ==, 0);
        g_assert_cmphex(ub_net_border(to.b->net, 2), ==,
                        version >= 3 ? UB_NET_BORDER : 0);
        /* A part of the policy is none. */
        put_be32(data + 6, get_be32(data + 6) - 1);
        g_assert_nonnull(load(&to, data, len - 1));
        g_assert_false(ub_net_npi_closed(to.b->net, 3));
        /* Nor is one of a build to come. */
        put_be32(data + 6, get_be32(data + 6) + 1);
        put_be16(data + 4, NET_LATEST + 1);
        g_assert_nonnull(load(&to, data, len));
        g_free(data);
        bed_end(&t);
        bed_end(&to);
    }
}

/* All of it is reset, and moves. */
static void test_image(void)
{
    Bed t = bed_policy(), to = bed_policy();
    const uint32_t *npi;
    uint8_t *data;
    size_t len;

    put(&t, UB_NETR_SELECT, 3);
    put(&t, UB_NETR_PORT, UB_NETR_PORT__CLOSED | 4);
    put(&t, UB_NETR_ADD, 4);
    put(&t, UB_NETR_VL_GROUP_DW(0), 0xa5);
    put(&t, UB_NETR_VL_MAP_DW(1, 1, 0), 0x76543221);
    data = save(&t, &len);
    g_assert_null(load(&to, data, len));
    g_free(data);
    put(&to, UB_NETR_SELECT, 3);
    g_assert_cmphex(get(&to, UB_NETR_PORT), ==, UB_NETR_PORT__CLOSED | 4);
    g_assert_cmpuint(ub_net_npi_list(to.b->net, 3, &npi), ==, 1);
    g_assert_cmphex(get(&to, UB_NETR_VL_GROUP_DW(0)), ==, 0xa5);
    g_assert_cmphex(get(&to, UB_NETR_VL_MAP_DW(1, 1, 0)), ==, 0x76543221);
    ub_net_reset(to.b->net, 0);
    g_assert_cmphex(get(&to, UB_NETR_PORT) | get(&to, UB_NETR_COUNT), ==, 0);
    g_assert_cmphex(get(&to, UB_NETR_VL_GROUP_DW(0)), ==, 0);
    g_assert_cmphex(get(&to, UB_NETR_VL_MAP_DW(1, 1, 0)), ==, 0x76545210);
    bed_end(&t);
    bed_end(&to);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/ub/net/policy/configured", test_configured);
    g_test_add_func("/ub/net/policy/identity", test_identity);
    g_test_add_func("/ub/net/policy/own", test_own);
    g_test_add_func("/ub/net/policy/lists", test_lists);
    g_test_add_func("/ub/net/policy/closed", test_closed);
    g_test_add_func("/ub/net/policy/maps", test_maps);
    g_test_add_func("/ub/net/policy/border", test_border);
    g_test_add_func("/ub/net/policy/border-others", test_border_others);
    g_test_add_func("/ub/net/policy/border-raw", test_border_raw);
    g_test_add_func("/ub/net/policy/older", test_older);
    g_test_add_func("/ub/net/policy/image", test_image);
    return g_test_run();
}
