/*
 * The network layer: packets to ourselves, packets as software wrote them, isolation,
 * control frames, settings.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "net-node.h"

/* ---- To ourselves -------------------------------------------------------------- */

static void test_loop(void)
{
    NetBed *b = controller(1);
    UbFlow f = flow_cna(UB_LPH_CNA24, 2, 0, 0x010001);
    CorePacket *kept = bed_packet(b, 20, 5);
    NetGot *g;

    ub_net_port_state(b->net, 0, 0, 0); /* no link is needed */
    core_packet_ref(kept);
    g_assert_cmpint(ub_net_send(b->net, 0, &f, kept), ==, UB_SENT);
    g_assert_cmpuint(b->kicks, ==, 1);
    g_assert_cmpuint(b->got.length, ==, 0);
    g_assert_cmpint(ub_net_run(b->net, 0, 100), ==, INT64_MAX);
    g = bed_got(b);
    g_assert_cmpuint(g->pkt->len, ==, 20);
    g_assert_cmpuint(core_packet_data(g->pkt)[0], ==, 5);
    g_assert_cmphex(g->flow.scna, ==, 0x010001);
    /* The kept one is the sender's. */
    g_assert_true(g->pkt != kept);
    g_assert_cmpuint(kept->refs, ==, 1);
    g_assert_cmpuint(kept->len, ==, 34);
    core_packet_free(kept);
    got_free(g);
    f = flow_ip(3);
    f.ip.dst[3] = 2;
    g_assert_cmpint(ub_net_send(b->net, 0, &f, bed_packet(b, 20, 5)), ==,
                    UB_SENT);
    ub_net_run(b->net, 0, 100);
    g = bed_got(b);
    g_assert_cmpint(g->to, ==, UB_NET_TP);
    g_assert_cmpuint(g->pkt->len, ==, 20);
    got_free(g);
    /* A Port CNA, whichever port. */
    ub_net_set_port_cna(b->net, 0, 0x55);
    f = flow_cna(UB_LPH_BYPASS, 0, 0, 0x55);
    g_assert_cmpint(ub_net_send(b->net, 0, &f, bed_packet(b, 20, 5)), ==,
                    UB_SENT);
    ub_net_run(b->net, 0, 100);
    got_free(bed_got(b));
    g_assert_cmpuint(bed_count(b, UB_NET_LOOPED), ==, 3);
    /* As many as are allowed, and no more than the budget at a time. */
    for (unsigned i = 0; i < 1024; i++) {
        g_assert_cmpint(ub_net_send(b->net, 0, &f, bed_packet(b, 4, 0)), ==,
                        UB_SENT);
    }
    g_assert_cmpint(ub_net_ready(b->net, &f), ==, UB_BUSY);
    g_assert_cmpint(ub_net_run(b->net, 3, 24), ==, 3);
    g_assert_cmpuint(b->got.length, ==, 24);
    g_assert_cmpint(ub_net_ready(b->net, &f), ==, UB_SENT);
    while (b->got.length) {
        got_free(bed_got(b));
    }
    ub_net_reset(b->net, 0);
    g_assert_cmpuint(bed_count(b, UB_NET_DROP_FLUSHED), ==, 1000);
    bed_free(b);
}

/* Who found the loop full comes again when half of it is empty, once. */
static void test_loop_room(void)
{
    NetBed *b = controller(1);
    UbFlow f = flow_cna(UB_LPH_CNA24, 2, 0, 0x010001);
    CorePacket *more = bed_packet(b, 4, 0);

    for (unsigned i = 0; i < 1024; i++) {
        g_assert_cmpint(ub_net_send(b->net, 0, &f, bed_packet(b, 4, 0)), ==,
                        UB_SENT);
    }
    ub_net_run(b->net, 0, 512);
    g_assert_cmpuint(b->rooms, ==, 0);          /* nobody was refused */
    for (unsigned i = 0; i < 512; i++) {
        g_assert_cmpint(ub_net_send(b->net, 0, &f, bed_packet(b, 4, 0)), ==,
                        UB_SENT);
    }
    g_assert_cmpint(ub_net_send(b->net, 0, &f, more), ==, UB_BUSY);
    ub_net_run(b->net, 0, 511);
    g_assert_cmpuint(b->rooms, ==, 0);
    ub_net_run(b->net, 0, 1);
    g_assert_cmpuint(b->rooms, ==, 1);
    g_assert_cmpint(ub_net_send(b->net, 0, &f, more), ==, UB_SENT);
    while (b->got.length < 1537) {
        ub_net_run(b->net, 0, 100);
    }
    g_assert_cmpuint(b->rooms, ==, 1);
    while (b->got.length) {
        got_free(bed_got(b));
    }
    bed_free(b);
}

/* A flow of IP of our own has one port, whatever becomes of its hops. */
static void test_own_flow(void)
{
    NetBed *b = controller(4);
    UbFlow f = flow_ip(UB_LPH_IPV4);
    unsigned first = 4;

    for (unsigned i = 0; i < 40; i++) {
        CorePacket *pkt = NULL;
        unsigned port = 0;

        f.ip.hops = 1 + i;
        g_assert_cmpint(ub_net_send(b->net, 0, &f, bed_packet(b, 20, 0)), ==,
                        UB_SENT);
        while (!(pkt = bed_sent(b, port))) {
            port++;
        }
        first = i ? first : port;
        g_assert_cmpuint(port, ==, first);
        core_packet_free(pkt);
    }
    bed_free(b);
}

/* What nobody has looked at is for us if it is UB's, by UDP, to our address. */
static void test_ours(void)
{
    static const struct { uint32_t dst; uint16_t dport; bool ours; } all[] = {
        { 0x0a000002, UB_UDP_PORT, true }, { 0x0a000002, UB_UDP_PORT + 1, false },
        { 0x0a000003, UB_UDP_PORT, false },
    };
    NetBed *b = controller(1);

    for (unsigned i = 0; i < G_N_ELEMENTS(all); i++) {
        UbFlow f = flow_ip(UB_LPH_IPV4);
        CorePacket *pkt;

        put_be32(f.ip.src, 0x0a000001);
        put_be32(f.ip.dst, all[i].dst);
        pkt = bed_wire(b, &f, 20);
        put_be16(core_packet_data(pkt) + UB_IPEXT_SIZE + UB_IPV4_SIZE + 2,
                 all[i].dport);
        g_assert_cmpint(ub_net_ip_is_ours(b->net, pkt), ==, all[i].ours);
        core_packet_free(pkt);
    }
    bed_free(b);
}

/* ---- As software wrote it ------------------------------------------------------- */

static UbSend send_raw(NetBed *b, unsigned port, unsigned cfg, unsigned vl,
                       const char *hex)
{
    CorePacket *pkt = bed_hex(b, cfg, hex);

    ub_meta(pkt)->vl = vl;
    ub_meta(pkt)->rt = 1;
    return ub_net_send_raw(b->net, 0, port, pkt);
}

#define PLAIN_IP "4500001C 0000 0000 40 01 66DF 0A000002 0A000001 0800F7FF" \
                 "00000000"

static void test_raw(void)
{
    NetBed *b = controller(2);
    CorePacket *pkt;

    /* CFG 5, by a port and by any. */
    g_assert_cmpint(send_raw(b, 1, 5, 2, "0100"
                    "0102030405060708090A0B0C0D0E0F10"
                    "1112131415161718191A1B1C1D1E1F20 AABB"), ==, UB_SENT);
    pkt = bed_sent(b, 1);
    expect_hex(pkt, "0100 0102030405060708090A0B0C0D0E0F10"
               "1112131415161718191A1B1C1D1E1F20 AABB");
    g_assert_cmpuint(ub_meta(pkt)->vl, ==, 2);
    g_assert_cmpuint(ub_meta(pkt)->rt, ==, 1);
    g_assert_cmpuint(ub_meta(pkt)->lph_cfg, ==, 5);
    core_packet_free(pkt);
    ub_net_port_state(b->net, 0, 0, 0);
    g_assert_cmpint(send_raw(b, UB_NET_ANY, 5, UB_NET_ANY, "0100"
                    "0102030405060708090A0B0C0D0E0F10"
                    "1112131415161718191A1B1C1D1E1F20"), ==, UB_SENT);
    core_packet_free(bed_sent(b, 1));
    g_assert_cmpint(send_raw(b, 1, 5, 0, "0100"
                    "0102030405060708090A0B0C0D0E0F10"
                    "1112131415161718191A1B1C1D1E1F"), ==, UB_LOST);
    g_assert_cmpuint(bed_count(b, UB_NET_DROP_SHORT), ==, 1);
    ub_net_port_state(b->net, 0, 1, 0);
    g_assert_cmpint(send_raw(b, UB_NET_ANY, 5, UB_NET_ANY, "0100"
                    "0102030405060708090A0B0C0D0E0F10"
                    "1112131415161718191A1B1C1D1E1F20"), ==, UB_LOST);
    g_assert_cmpuint(bed_count(b, UB_NET_DROP_PORT_DOWN), ==, 1);
    ub_net_port_state(b->net, 0, 0, 0xffff);
    /* NTH: SL gives the VL, the ICRC is put. */
    b->conf.sl_vl[3] = 6;
    g_assert_null(ub_net_configure(b->net, &b->conf));
    g_assert_cmpint(send_raw(b, UB_NET_ANY, 6, UB_NET_ANY,
                             "0001002000003038 AABBCCDD"), ==, UB_SENT);
    pkt = bed_sent(b, 0);
    g_assert_cmpuint(pkt->len, ==, 16);
    g_assert_cmpuint(ub_meta(pkt)->vl, ==, 6);
    g_assert_cmphex(ub_icrc(5, core_packet_data(pkt), 0), ==, 0);
    g_assert_cmphex(ub_icrc(6, core_packet_data(pkt), 12), ==,
                    ub_icrc_get(core_packet_data(pkt) + 12));
    core_packet_free(pkt);
    g_assert_cmpint(send_raw(b, 0, 7, UB_NET_ANY,
                             "010001 000020 0000 30 38 AA"), ==, UB_SENT);
    core_packet_free(bed_sent(b, 0));
    /* Enumeration messages alone are those of CFG 6 and NLP 1. */
    b->conf.icrc_scan = false;
    g_assert_null(ub_net_configure(b->net, &b->conf));
    for (unsigned scan = 0; scan < 2; scan++) {
        g_assert_cmpint(send_raw(b, 0, 6, UB_NET_ANY,
                                 scan ? "0001002000003039 AABBCCDD"
                                      : "0001002000003038 AABBCCDD"), ==, UB_SENT);
        pkt = bed_sent(b, 0);
        g_assert_cmpuint(pkt->len, ==, scan ? 12 : 16);
        core_packet_free(pkt);
        g_assert_cmpint(send_raw(b, 0, 7, UB_NET_ANY,
                                 scan ? "010001 000020 0000 30 39 AABB"
                                      : "010001 000020 0000 30 38 AABB"), ==,
                        UB_SENT);
        pkt = bed_sent(b, 0);
        g_assert_cmpuint(pkt->len, ==, 16);
        core_packet_free(pkt);
    }
    b->conf.icrc_scan = true;
    g_assert_null(ub_net_configure(b->net, &b->conf));
    g_assert_cmpint(send_raw(b, 0, 9, UB_NET_ANY, "0001002000003038 AA"), ==,
                    UB_SENT);
    g_assert_cmpuint(((CorePacket *)g_queue_peek_head(&b->sent[0]))->len, ==,
                     9);
    core_packet_free(bed_sent(b, 0));
    /* Nothing behind the NTH is a packet, too. */
    for (unsigned cfg = 6; cfg < 8; cfg++) {
        g_assert_cmpint(send_raw(b, 0, cfg, UB_NET_ANY,
                                 cfg == 6 ? "0001002000003038"
                                          : "01000100002000003038"), ==, UB_SENT);
        core_packet_free(bed_sent(b, 0));
    }
    g_assert_cmpuint(b->own_rules, ==, 1);
    g_assert_cmpint(send_raw(b, 0, 6, 0, "00020020000030"), ==, UB_LOST);
    g_assert_cmpint(send_raw(b, 0, 7, 0, "010001 000020 0000 30"), ==,
                    UB_LOST);
    g_assert_cmpuint(bed_count(b, UB_NET_DROP_SHORT), ==, 3);
    g_assert_cmpint(send_raw(b, 0, 6, 0, "0002002000003038 AA"), ==, UB_LOST);
    g_assert_cmpuint(bed_count(b, UB_NET_DROP_SPOOF), ==, 1);
    g_assert_cmpint(send_raw(b, 99, 8, 0, "0001002000003038 AA"), ==, UB_LOST);
    g_assert_cmpuint(bed_count(b, UB_NET_DROP_CFG), ==, 1);
    g_assert_cmpuint(b->own_rules, ==, 5);
    /* Plain IP: NPI put, ICRC behind what IP calls its end. */
    g_assert_cmpint(send_raw(b, 0, 3, UB_NET_ANY, "4000 01FFFFFF" PLAIN_IP),
                    ==, UB_SENT);
    pkt = bed_sent(b, 0);
    g_assert_cmpuint(pkt->len, ==, 6 + 28 + 4);
    g_assert_cmphex(get_be16(core_packet_data(pkt)), ==, 0x4000);
    g_assert_cmphex(get_be32(core_packet_data(pkt) + 2), ==, 1);
    g_assert_cmphex(ub_icrc(3, core_packet_data(pkt) + 6, 28), ==,
                    ub_icrc_get(core_packet_data(pkt) + 34));
    core_packet_free(pkt);
    g_assert_cmpint(send_raw(b, 0, 3, 0, "4000 000000"), ==, UB_LOST);
    g_assert_cmpuint(bed_count(b, UB_NET_DROP_SHORT), ==, 4);
    g_assert_cmpint(send_raw(b, 0, 3, 0, "4000 00000001 45"), ==, UB_LOST);
    g_assert_cmpuint(bed_count(b, UB_NET_DROP_IP), ==, 1);
    ub_net_ip_remove(b->net, 3, (const uint8_t *)"\x0a\0\0\2");
    g_assert_cmpint(send_raw(b, 0, 3, 0, "4000 00000001" PLAIN_IP), ==,
                    UB_LOST);
    g_assert_cmpuint(bed_count(b, UB_NET_DROP_SPOOF), ==, 2);
    ub_net_set_npi(b->net, 0);
    ub_net_ip_add(b->net, 3, (const uint8_t *)"\x0a\0\0\2");
    g_assert_cmpint(send_raw(b, 0, 3, 0, "4000 00000001" PLAIN_IP), ==,
                    UB_LOST);
    g_assert_cmpuint(bed_count(b, UB_NET_DROP_NPI_INVALID), ==, 1);
    bed_free(b);
}

/* IP's ECN to FECN and back (§5.3.5.1). */
static void test_ecn(void)
{
    static const struct {
        uint16_t cci;
        uint8_t ecn;
        uint16_t out;
    } rows[] = {
        { 0x0000, 0, 0x8000 }, { 0x0000, 2, 0x8002 }, { 0x0000, 3, 0x8003 },
        { 0x4556, 1, 0x4555 }, { 0x8000, 2, 0x8002 }, { 0x8003, 0, 0x8000 },
    };
    NetBed *b = controller(1);
    CorePacket *pkt;
    uint8_t *p;
    NetGot *g;

    b->conf.ecn_copy = true;
    g_assert_null(ub_net_configure(b->net, &b->conf));
    for (unsigned i = 0; i < G_N_ELEMENTS(rows); i++) {
        pkt = bed_hex(b, 3, "0000 00000001" PLAIN_IP);
        p = core_packet_data(pkt);
        put_be16(p, rows[i].cci);
        ub_ip_set_ecn(p + 6, 3, rows[i].ecn);
        g_assert_cmpint(ub_net_send_raw(b->net, 0, 0, pkt), ==, UB_SENT);
        pkt = bed_sent(b, 0);
        g_assert_cmphex(get_be16(core_packet_data(pkt)), ==, rows[i].out);
        /* A switch marks it; here it comes back. */
        put_be16(core_packet_data(pkt), ub_cci_fecn(true, i % 4));
        ub_net_rx(b->net, 0, 0, pkt);
        g = bed_got(b);
        g_assert_cmpint(g->to, ==, UB_NET_IP);
        g_assert_cmpuint(ub_ip_ecn(core_packet_data(g->pkt) + 6, 3), ==, i % 4);
        g_assert_cmphex(core_csum(core_packet_data(g->pkt) + 6, 20), ==,
                        0xffff);
        got_free(g);
    }
    /* CAQM says nothing of ECN. */
    pkt = bed_hex(b, 3, "0000 00000001" PLAIN_IP);
    ub_net_send_raw(b->net, 0, 0, pkt);
    pkt = bed_sent(b, 0);
    put_be16(core_packet_data(pkt), 0x0703);
    ub_net_rx(b->net, 0, 0, pkt);
    g = bed_got(b);
    g_assert_cmpuint(ub_ip_ecn(core_packet_data(g->pkt) + 6, 3), ==, 0);
    got_free(g);
    /* Off: neither way. */
    b->conf.ecn_copy = false;
    g_assert_null(ub_net_configure(b->net, &b->conf));
    pkt = bed_hex(b, 3, "4002 00000001" PLAIN_IP);
    ub_net_send_raw(b->net, 0, 0, pkt);
    pkt = bed_sent(b, 0);
    g_assert_cmphex(get_be16(core_packet_data(pkt)), ==, 0x4002);
    ub_net_rx(b->net, 0, 0, pkt);
    g = bed_got(b);
    g_assert_cmpuint(ub_ip_ecn(core_packet_data(g->pkt) + 6, 3), ==, 0);
    got_free(g);
    bed_free(b);
}

/* ---- Isolation ----------------------------------------------------------------- */

static UbNetCounter tx_npi(NetBed *b, uint32_t npi, uint32_t *out)
{
    UbFlow f = flow_ip(3);
    CorePacket *pkt;

    f.npi = npi;
    if (ub_net_send(b->net, 0, &f, bed_packet(b, 16, 0)) == UB_SENT) {
        pkt = bed_sent(b, 0);
        *out = ub_ipext_npi(core_packet_data(pkt));
        core_packet_free(pkt);
        return UB_NET_TX_PACKETS;
    }
    *out = 0;
    return bed_count(b, UB_NET_DROP_NPI) ? UB_NET_DROP_NPI
                                         : UB_NET_DROP_NPI_INVALID;
}

static bool rx_npi(NetBed *b, uint32_t npi)
{
    UbFlow f = flow_ip(3);
    CorePacket *pkt;
    NetGot *g;

    f.npi = 1;
    put_be32(f.ip.src, 0x0a000001);
    put_be32(f.ip.dst, 0x0a000002);
    pkt = bed_wire(b, &f, 16);
    put_be32(core_packet_data(pkt) + 2, npi);
    ub_net_rx(b->net, 0, 0, pkt);
    g = bed_got(b);
    if (g) {
        g_assert_cmphex(g->flow.npi, ==, npi);
        got_free(g);
        return true;
    }
    return false;
}

static void test_npi_strict(void)
{
    NetBed *b = controller(1);
    uint32_t out;

    g_assert_cmphex(ub_net_npi(b->net), ==, 1);
    ub_net_set_npi(b->net, 7 | UB_NPI_LOW | 0xfe000000);
    g_assert_cmphex(ub_net_npi(b->net), ==, 7 | UB_NPI_LOW);
    /* whatever the sender says */
    g_assert_cmpint(tx_npi(b, 9, &out), ==, UB_NET_TX_PACKETS);
    g_assert_cmphex(out, ==, 7 | UB_NPI_LOW);
    g_assert_cmpint(tx_npi(b, UB_NET_OWN_NPI, &out), ==, UB_NET_TX_PACKETS);
    g_assert_cmphex(out, ==, 7 | UB_NPI_LOW);
    g_assert_true(rx_npi(b, 7));
    g_assert_false(rx_npi(b, 7 | UB_NPI_LOW));
    g_assert_false(rx_npi(b, 8));
    g_assert_cmpuint(bed_count(b, UB_NET_DROP_NPI), ==, 2);
    g_assert_false(rx_npi(b, 0));
    g_assert_cmpuint(bed_count(b, UB_NET_DROP_NPI_INVALID), ==, 1);
    ub_net_set_npi(b->net, 7);
    g_assert_true(rx_npi(b, 7));
    g_assert_true(rx_npi(b, 7 | UB_NPI_LOW));
    g_assert_false(rx_npi(b, 8 | UB_NPI_LOW));
    /* ID 0 neither sends nor receives. */
    ub_net_set_npi(b->net, UB_NPI_LOW);
    tx_npi(b, 7, &out);
    g_assert_cmpuint(out, ==, 0);
    g_assert_cmpuint(bed_count(b, UB_NET_DROP_NPI_INVALID), ==, 2);
    g_assert_false(rx_npi(b, 7));
    bed_free(b);
}

static void test_npi_loose(void)
{
    NetBed *b = controller(1);
    uint32_t out;

    b->conf.npi_mode = UB_NPI_LOOSE;
    g_assert_null(ub_net_configure(b->net, &b->conf));
    /* no list: all that are valid */
    g_assert_cmpint(tx_npi(b, 9, &out), ==, UB_NET_TX_PACKETS);
    g_assert_cmphex(out, ==, 9);
    g_assert_cmpint(tx_npi(b, UB_NET_OWN_NPI, &out), ==, UB_NET_TX_PACKETS);
    g_assert_cmphex(out, ==, 1);
    g_assert_cmpint(tx_npi(b, UB_NPI_LOW, &out), ==, UB_NET_DROP_NPI_INVALID);
    g_assert_true(rx_npi(b, 9));
    g_assert_false(rx_npi(b, 0));
    g_assert_true(ub_net_npi_allow(b->net, UB_NET_ANY, 5 | UB_NPI_LOW));
    g_assert_true(ub_net_npi_allow(b->net, UB_NET_ANY, 6));
    g_assert_true(ub_net_npi_allow(b->net, UB_NET_ANY, 6));
    g_assert_false(ub_net_npi_allow(b->net, UB_NET_ANY, UB_NPI_LOW));
    g_assert_true(rx_npi(b, 5));
    g_assert_false(rx_npi(b, 5 | UB_NPI_LOW));
    g_assert_true(rx_npi(b, 6));
    g_assert_true(rx_npi(b, 6 | UB_NPI_LOW));
    g_assert_false(rx_npi(b, 9));
    g_assert_cmpuint(bed_count(b, UB_NET_DROP_NPI), ==, 2);
    g_assert_cmpint(tx_npi(b, 6, &out), ==, UB_NET_TX_PACKETS);
    g_assert_cmphex(out, ==, 6);
    g_assert_cmpint(tx_npi(b, 5, &out), ==, UB_NET_DROP_NPI);
    g_assert_cmpuint(bed_count(b, UB_NET_DROP_NPI), ==, 3);
    ub_net_npi_clear(b->net, UB_NET_ANY);
    g_assert_true(rx_npi(b, 9));
    for (unsigned i = 1; i <= 256; i++) {
        g_assert_true(ub_net_npi_allow(b->net, UB_NET_ANY, i));
    }
    g_assert_false(ub_net_npi_allow(b->net, UB_NET_ANY, 257));
    g_assert_true(ub_net_npi_allow(b->net, UB_NET_ANY, 256));
    bed_free(b);
}

static void test_npi_open(void)
{
    NetBed *b = controller(1);
    uint32_t out;

    b->conf.npi_mode = UB_NPI_OPEN;
    g_assert_null(ub_net_configure(b->net, &b->conf));
    g_assert_true(rx_npi(b, 0));
    g_assert_true(rx_npi(b, 77));
    g_assert_cmpint(tx_npi(b, 9, &out), ==, UB_NET_TX_PACKETS);
    g_assert_cmphex(out, ==, 9);
    bed_free(b);
}

/* ---- CFG 5 ----------------------------------------------------------------------- */

#define G1 "0102030405060708090A0B0C0D0E0F10"
#define G2 "1112131415161718191A1B1C1D1E1F20"

static void test_npic(void)
{
    UbNetConfig conf;
    NetBed *b;
    NetGot *g;

    ub_net_config_init(&conf);
    for (unsigned i = 0; i < 16; i++) {
        conf.guid[i] = i + 1;
    }
    b = bed_new(&conf);
    /* foreign, own, own: the last counts */
    ub_net_rx(b->net, 0, 0, bed_hex(b, 5, "0106" G1 G2 "01000003"
              G2 "00000009" G1 "00000005" G1 "FF000007"));
    g_assert_cmphex(ub_net_npi(b->net), ==, UB_NPI_LOW | 7);
    g_assert_cmpuint(b->npis, ==, 1);
    g_assert_cmphex(b->npi, ==, UB_NPI_LOW | 7);
    /* a GUID that differs in its last byte only */
    ub_net_rx(b->net, 0, 0, bed_hex(b, 5, "0106" G1 G2 "01000001"
              "0102030405060708090A0B0C0D0E0F11" "00000003"));
    g_assert_cmpuint(b->npis, ==, 1);
    /* the same once more, and one for others: nothing changes */
    ub_net_rx(b->net, 0, 0, bed_hex(b, 5, "0106" G1 G2 "01000001"
              G1 "01000007"));
    ub_net_rx(b->net, 0, 0, bed_hex(b, 5, "0106" G1 G2 "02000001"
              G2 "00000000"));
    g_assert_cmpuint(b->npis, ==, 1);
    ub_net_rx(b->net, 0, 0, bed_hex(b, 5, "0106" G1 G2 "01000000"));
    g_assert_cmpuint(bed_count(b, UB_NET_NPIC), ==, 5);
    /* cut short, wrong opcode, wrong Sum */
    ub_net_rx(b->net, 0, 0, bed_hex(b, 5, "0106" G1 G2 "020000"));
    ub_net_rx(b->net, 0, 0, bed_hex(b, 5, "0106" G1 G2 "03000001"
              G1 "00000005"));
    ub_net_rx(b->net, 0, 0, bed_hex(b, 5, "0106" G1 G2 "00000001"
              G1 "00000005"));
    ub_net_rx(b->net, 0, 0, bed_hex(b, 5, "0106" G1 G2 "02000002"
              G1 "00000005" G1 "000000"));
    ub_net_rx(b->net, 0, 0, bed_hex(b, 5, "0106" G1 G2 "0100FFFF"
              G1 "00000005"));
    g_assert_cmpuint(bed_count(b, UB_NET_DROP_CONTROL), ==, 5);
    g_assert_cmpuint(b->npis, ==, 1);
    ub_net_rx(b->net, 0, 0, bed_hex(b, 5, "0106" G1 G2 "02000001"
              G1 "00000005"));
    g_assert_cmphex(ub_net_npi(b->net), ==, 0);
    g_assert_cmpuint(b->npis, ==, 2);
    g_assert_cmpuint(b->got.length, ==, 0);
    /* Others are software's, and NPIC too where it does not end here. */
    ub_net_rx(b->net, 0, 0, bed_hex(b, 5, "0102" G1 G2 "1018"));
    g = bed_got(b);
    g_assert_cmpint(g->to, ==, UB_NET_CONTROL);
    expect_hex(g->pkt, "0102" G1 G2 "1018");
    g_assert_cmpuint(g->flow.cfg, ==, 5);
    got_free(g);
    b->conf.npic = false;
    g_assert_null(ub_net_configure(b->net, &b->conf));
    ub_net_rx(b->net, 0, 0, bed_hex(b, 5, "0106" G1 G2 "01000001"
              G1 "00000005"));
    got_free(bed_got(b));
    g_assert_cmphex(ub_net_npi(b->net), ==, 0);
    bed_free(b);
}

/* What passes by the net to software, or from it, all the same is looked at: an NPIC ends
 * here, packets of IP have an NPI that is accepted; others are not the net's affair. */
static void test_guard(void)
{
    UbNetConfig conf;
    CorePacket *pkt;
    UbFlow f;
    NetBed *b;

    ub_net_config_init(&conf);
    memset(conf.guid, 1, sizeof(conf.guid));
    b = bed_new(&conf);
    g_assert_false(ub_net_guard_rx(b->net, 0, bed_hex(b, 5, "0106" G1 G2 "02000000")));
    g_assert_cmpuint(bed_count(b, UB_NET_NPIC), ==, 1);
    pkt = bed_hex(b, 5, "0106" G1 G2 "02000000");
    ub_meta(pkt)->error = 1;
    g_assert_true(ub_net_guard_rx(b->net, 0, pkt));
    core_packet_free(pkt);
    pkt = bed_hex(b, 5, "0102" G1 G2 "1018");
    g_assert_true(ub_net_guard_rx(b->net, 0, pkt));
    core_packet_free(pkt);
    pkt = bed_hex(b, 5, "0106");
    g_assert_true(ub_net_guard_rx(b->net, 0, pkt));
    core_packet_free(pkt);
    f = flow_cna(UB_LPH_CNA16, UB_NLP_CTPH, 1, 2);
    pkt = bed_wire(b, &f, 8);
    g_assert_true(ub_net_guard_rx(b->net, 0, pkt));
    core_packet_free(pkt);
    for (unsigned good = 0; good < 2; good++) {
        f = flow_ip(UB_LPH_IPV4);
        f.npi = good ? ub_net_npi(b->net) : 77;
        f.ip.src[0] = 10;
        pkt = bed_wire(b, &f, 8);
        g_assert_cmpint(ub_net_guard_rx(b->net, 0, pkt), ==, good);
        if (good) {
            core_packet_free(pkt);
        }
    }
    g_assert_cmpuint(bed_count(b, UB_NET_DROP_NPI), ==, 1);
    /* On the way out SCNA is one of ours, in each form that has one. */
    for (unsigned cfg = 3; cfg < 10; cfg++) {
        bool cna = cfg == UB_LPH_CNA16 || cfg == UB_LPH_CNA24 || cfg == UB_LPH_BYPASS;

        if (ub_lph_is_ip(cfg)) {
            continue;
        }
        ub_net_set_primary(b->net, 1);
        for (unsigned own = 0; own < 2; own++) {
            pkt = bed_hex(b, cfg, cfg == UB_LPH_CNA24 ? "000001000002000000000000"
                                                      : "000100020000000000000000");
            core_packet_data(pkt)[cfg == UB_LPH_CNA24 ? 2 : 1] = own ? 1 : 9;
            if (ub_net_guard_tx(b->net, 0, pkt)) {
                g_assert_true(cna && !own);
            } else {
                g_assert_true(!cna || own);
                core_packet_free(pkt);
            }
        }
    }
    g_assert_cmpuint(bed_count(b, UB_NET_DROP_SPOOF), ==, 3);
    ub_net_reset(b->net, 0);
    g_assert_cmphex(ub_net_primary(b->net), ==, 0);
    f = flow_cna(UB_LPH_CNA16, UB_NLP_CTPH, 1, 2);
    ub_net_refuse(b->net, 0, UB_NET_DROP_SPOOF, bed_wire(b, &f, 8));
    g_assert_cmpuint(bed_count(b, UB_NET_DROP_SPOOF), ==, 4);
    g_assert_false(ub_net_guard_rx(b->net, 0, bed_hex(b, UB_LPH_IPV6, "0000000000")));
    g_assert_cmpuint(bed_count(b, UB_NET_DROP_SHORT), ==, 1);
    bed_free(b);
}

/* ---- Life ------------------------------------------------------------------------- */

static void test_config(void)
{
    UbNetConfig ok, c;
    NetBed *b;

    memset(&ok, 0xff, sizeof(ok));
    ub_net_config_init(&ok);
    g_assert_null(ub_net_config_check(&ok));
    g_assert_cmpint(ok.watchdog, ==, 0);
    g_assert_cmpuint(ok.transit_limit, ==, 0);
    g_assert_cmphex(ok.vl_strict | ok.edge_ports | ok.seed, ==, 0);
    /* A controller with one port: works without a manager. */
    g_assert_true(ok.icrc && ok.icrc_scan && ok.npic && ok.anti_spoof &&
                  ok.hops && !ok.forward && !ok.fecn && !ok.caqm);
    g_assert_cmpuint(ok.mtu, ==, 8192);
    g_assert_cmpuint(ok.queue_limit, ==, 65536);
    g_assert_cmpuint(ok.fecn_light, ==, 32768);
    g_assert_cmpuint(ok.fecn_heavy, ==, 131072);
    g_assert_cmpuint(ok.caqm_congested, ==, 32768);
    g_assert_cmpuint(ok.caqm_unit, ==, 256);
    g_assert_cmphex(ok.route_default, ==, ~UINT64_C(0));
    for (unsigned i = 0; i < 64; i++) {
        g_assert_cmpuint(ok.dscp_sl[i], ==, i / 4);
        g_assert_cmpuint(ok.sl_dscp[i / 4], ==, i / 4 * 4);
        g_assert_cmpuint(ok.vl_out[i / 4], ==, i / 4);
        g_assert_cmpuint(ok.vl_weight[i / 4], ==, 1);
        g_assert_cmpuint(ok.sl_vl[i / 4], ==, 0);
    }
#define BAD(field, value) c = ok; c.field = value; bad(c)
#define GOOD(field, value) \
    c = ok; c.field = value; g_assert_null(ub_net_config_check(&c))
    BAD(ports, 0);
    BAD(ports, 65);
    GOOD(ports, 64);
    BAD(mtu, 2048);
    BAD(queue_limit, 0);
    BAD(fecn_light, 0);
    BAD(fecn_heavy, ok.fecn_light - 1);
    GOOD(fecn_heavy, ok.fecn_light);
    BAD(caqm_congested, 0);
    BAD(caqm_unit, 0);
    BAD(watchdog, -1);
    BAD(npi_mode, 3);
    BAD(route_entries, 0x10001);
    GOOD(route_entries, 0x10000);
    BAD(sl_vl[15], 16);
    GOOD(sl_vl[15], 15);
    BAD(vl_out[0], 16);
    GOOD(vl_out[0], 15);
    BAD(sl_dscp[15], 64);
    GOOD(sl_dscp[15], 63);
    BAD(dscp_sl[63], 16);
    GOOD(dscp_sl[0], 15);
    /* NPIs, as many as there is room for. */
    c = ok;
    for (c.npis_len = 0; c.npis_len < UB_NET_CONF_NPIS; c.npis_len++) {
        c.npis[c.npis_len] = c.npis_len + 1;
    }
    g_assert_null(ub_net_config_check(&c));
    c.npis[UB_NET_CONF_NPIS - 1] = 0;
    bad(c);
    BAD(npis_len, UB_NET_CONF_NPIS + 1);
    b = bed_new(&ok);
#define STAYS(field, value) \
    c = ok; c.field = value; g_assert_nonnull(ub_net_configure(b->net, &c))
    STAYS(ports, 2);
    STAYS(forward, true);
    STAYS(route_entries, 1);
    STAYS(mtu, 1);
    c = ok;
    c.mtu = 1024;
    g_assert_null(ub_net_configure(b->net, &c));
    g_assert_cmpuint(ub_net_config(b->net)->mtu, ==, 1024);
    /* No port by default is a choice, too. */
    {
        unsigned n, at = 0;
        const CoreOption *o = ub_net_options(&n);
        g_autofree char *why = NULL;

        while (strcmp(o[at].name, "route-default")) {
            g_assert_cmpuint(++at, <, n);
        }
        g_assert_true(core_option_parse(&o[at], &c, "0", &why));
        g_assert_cmphex(c.route_default, ==, 0);
    }
    for (unsigned i = 0; i < UB_NET_COUNTERS_NUM; i++) {
        g_assert_nonnull(ub_net_counter_name(i));
    }
    g_assert_cmpstr(ub_net_counter_name(UB_NET_DROP_ICRC), ==, "drop-icrc");
    g_assert_null(ub_net_counter_name(UB_NET_COUNTERS_NUM));
    bed_free(b);
    ub_net_free(NULL);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/ub/net/loop", test_loop);
    g_test_add_func("/ub/net/loop-room", test_loop_room);
    g_test_add_func("/ub/net/own-flow", test_own_flow);
    g_test_add_func("/ub/net/ours", test_ours);
    g_test_add_func("/ub/net/raw", test_raw);
    g_test_add_func("/ub/net/ecn", test_ecn);
    g_test_add_func("/ub/net/npi-strict", test_npi_strict);
    g_test_add_func("/ub/net/npi-loose", test_npi_loose);
    g_test_add_func("/ub/net/npi-open", test_npi_open);
    g_test_add_func("/ub/net/npic", test_npic);
    g_test_add_func("/ub/net/guard", test_guard);
    g_test_add_func("/ub/net/config", test_config);
    return g_test_run();
}
