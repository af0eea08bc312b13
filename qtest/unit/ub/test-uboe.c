/*
 * UB over Ethernet: frames byte by byte, neighbours, what is refused.  The frames
 * were written down by hand from RFC 826, RFC 4861 and figure E-2 of UB 2.0.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <glib.h>
#include <string.h>

#include "core/inet.h"
#include "ub/uboe.h"

#define SECOND INT64_C(1000000000)

static CorePacketPool *pool;
static UbUboe *link_;
static UbUboeConfig conf;
static GQueue out = G_QUEUE_INIT;   /* GByteArray */
static GQueue up = G_QUEUE_INIT;    /* CorePacket */
static unsigned kicks, rules, dscp_up;
static bool full;
static int64_t now;

static const uint8_t our_mac[6] = { 2, 0, 0, 0, 0, 1 };
static const uint8_t peer_mac[6] = { 2, 0, 0, 0, 0, 9 };
/* 10.0.0.x and fd00::x are behind us, 10.0.1.x and fd01::x are not. */
static const uint8_t our4[16] = { 10, 0, 0, 1 }, peer4[16] = { 10, 0, 1, 9 };
static const uint8_t our6[16] = { 0xfd, 0, [15] = 1 };
static const uint8_t peer6[16] = { 0xfd, 1, [13] = 0x0a, 0x0b, 0x0c };

static bool op_send(void *opaque, const uint8_t *frame, uint32_t len)
{
    GByteArray *b;

    if (full) {
        return false;
    }
    b = g_byte_array_new();
    g_byte_array_append(b, frame, len);
    g_queue_push_tail(&out, b);
    return true;
}

static void op_rx(void *opaque, int64_t t, CorePacket *pkt, unsigned dscp)
{
    dscp_up = dscp;
    g_queue_push_tail(&up, pkt);
}

static bool op_ours(void *opaque, unsigned cfg, const uint8_t *ip)
{
    return !memcmp(ip, cfg == UB_LPH_IPV4 ? our4 : our6,
                   cfg == UB_LPH_IPV4 ? 3 : 4);
}

static void op_kick(void *opaque)
{
    kicks++;
}

static void op_rule(void *opaque, const char *text)
{
    rules++;
}

static const UbUboeOps ops = { op_send, op_rx, op_ours, op_kick, op_rule };

static void begin(void)
{
    now = SECOND;
    kicks = rules = 0;
    full = false;
    pool = core_packet_pool_new(UB_PACKET_HEADROOM, 0);
    ub_uboe_config_init(&conf);
    memcpy(conf.mac, our_mac, 6);
    link_ = ub_uboe_new(&conf, pool, &ops, NULL);
    ub_uboe_link(link_, true);
}

static void configure(void)
{
    g_assert_cmpstr(ub_uboe_configure(link_, &conf), ==, NULL);
}

static void end(void)
{
    g_assert_cmpuint(out.length + up.length, ==, 0);
    ub_uboe_free(link_);
    g_assert_cmpuint(core_packet_pool_used(pool), ==, 0);
    core_packet_pool_free(pool);
}

static uint64_t count(UbUboeCounter c)
{
    return ub_uboe_counter(link_, c);
}

/* The bytes of hexadecimal text with blanks. */
static GByteArray *bytes_of(const char *hex)
{
    GByteArray *b = g_byte_array_new();

    for (; *hex; hex++) {
        if (g_ascii_isxdigit(hex[0])) {
            uint8_t v = g_ascii_xdigit_value(hex[0]) << 4 |
                        g_ascii_xdigit_value(hex[1]);

            g_byte_array_append(b, &v, 1);
            hex++;
        }
    }
    return b;
}

static void rx_hex(const char *hex)
{
    GByteArray *b = bytes_of(hex);

    ub_uboe_rx(link_, now, b->data, b->len);
    g_byte_array_unref(b);
}

/* The next frame that went out is this one. */
static void expect_frame(const char *hex)
{
    GByteArray *want = bytes_of(hex), *got = g_queue_pop_head(&out);

    g_assert_nonnull(got);
    g_assert_cmpmem(got->data, got->len, want->data, want->len);
    g_byte_array_unref(want);
    g_byte_array_unref(got);
}

static void drop_frames(unsigned n)
{
    g_assert_cmpuint(out.length, ==, n);
    while (out.length) {
        g_byte_array_unref(g_queue_pop_head(&out));
    }
}

/* ---- Packets ------------------------------------------------------------------- */

#define PAYLOAD "\x01\x02\x03\x04\x05\x06\x07\x08\x09\x0a\x0b\x0c"

/* A packet of UB as the network layer hands it over, 12 bytes and an ICRC. */
static CorePacket *ub_packet(unsigned cfg, uint16_t cci, uint32_t npi,
                             const uint8_t *src, const uint8_t *dst)
{
    unsigned ip = cfg == UB_LPH_IPV4 ? UB_IPV4_SIZE : UB_IPV6_SIZE;
    uint32_t len = UB_IPEXT_SIZE + ip + UB_UDP_SIZE + 12;
    CorePacket *pkt = core_packet_alloc(pool, len);
    uint8_t *p = core_packet_data(pkt);
    UbIpPath path = { .hops = 64 };

    memcpy(path.src, src, 16);
    memcpy(path.dst, dst, 16);
    ub_ipext_put(p, cci, npi);
    ub_ip_put(p + UB_IPEXT_SIZE, cfg, &path, 10, 0xc001, 16);
    memcpy(p + len - 12, PAYLOAD, 12);
    ub_icrc_put(core_packet_put(pkt, 4),
                ub_icrc(cfg, p + UB_IPEXT_SIZE, len - UB_IPEXT_SIZE));
    ub_meta(pkt)->lph_cfg = cfg;
    return pkt;
}

/* ICMP, 2 bytes, as it is on a UB link. */
static CorePacket *plain_packet(bool good)
{
    static const uint8_t head[] = {
        0x45, 0, 0, 22, 0, 0, 0x40, 0, 64, 1, 0, 0, 10, 0, 0, 1, 10, 0, 1, 9,
        0xaa, 0xbb,
    };
    CorePacket *pkt = core_packet_alloc(pool, 6 + sizeof(head) + 4);
    uint8_t *p = core_packet_data(pkt);

    ub_ipext_put(p, 0, 1);
    memcpy(p + 6, head, sizeof(head));
    put_be16(p + 16, core_csum_done(core_csum_add(0, p + 6, 20)));
    ub_icrc_put(p + 28, ub_icrc(UB_LPH_IPV4, p + 6, 22) ^ !good);
    ub_meta(pkt)->lph_cfg = UB_LPH_IPV4;
    return pkt;
}

static void know_peer(unsigned vlan)
{
    g_assert_cmpstr(ub_uboe_neighbour_set(link_, now, vlan, UB_LPH_IPV4, peer4,
                                          peer_mac), ==, NULL);
    g_assert_cmpstr(ub_uboe_neighbour_set(link_, now, vlan, UB_LPH_IPV6, peer6,
                                          peer_mac), ==, NULL);
}

static void send_ub(uint16_t cci, uint32_t npi)
{
    ub_uboe_send(link_, now, ub_packet(UB_LPH_IPV4, cci, npi, our4, peer4));
}

/* The first frame without addresses of Ethernet, from @at on, @n bytes. */
static void expect_bytes(unsigned at, const char *hex)
{
    GByteArray *want = bytes_of(hex), *got = g_queue_peek_head(&out);

    g_assert_nonnull(got);
    g_assert_cmpuint(got->len, >=, at + want->len);
    g_assert_cmpmem(got->data + at, want->len, want->data, want->len);
    g_byte_array_unref(want);
}

/*
 * IPv4: 44 bytes, DSCP 10 << 2 = 28h.  Sum of the words 4528 + 002c + 0000 + 4000 +
 * 4011 + 0a00 + 0001 + 0a00 + 0109 = da6f; its complement is 2590.
 */
#define IP4_FRAME(tos, sum) \
    "45" tos "002c 0000 4000 4011" sum "0a000001 0a000109" \
    "c001 12b8 0018 0000 01020304 05060708 090a0b0c"

static void test_ipv4(void)
{
    CorePacket *pkt;
    uint8_t frame[62];

    begin();
    know_peer(0);
    send_ub(UB_CCI_NO_CONTROL, 1);
    expect_bytes(0, "020000000009 020000000001 0800" IP4_FRAME("28", "2590"));
    /* 58 bytes and two of padding; the ICRC is as it was. */
    g_assert_cmpuint(((GByteArray *)g_queue_peek_head(&out))->len, ==, 60);
    memset(frame, 0, sizeof(frame));
    memcpy(frame, ((GByteArray *)g_queue_peek_head(&out))->data, 60);
    g_assert_cmphex(ub_icrc_get(frame + 54), ==, ub_icrc(UB_LPH_IPV4, frame + 14,
                                                         40));
    drop_frames(1);

    /* The other way, with padding: source and destination change places. */
    memcpy(frame, our_mac, 6);
    memcpy(frame + 6, peer_mac, 6);
    memcpy(frame + 26, peer4, 4);
    memcpy(frame + 30, our4, 4);
    ub_icrc_put(frame + 54, ub_icrc(UB_LPH_IPV4, frame + 14, 40));
    ub_uboe_rx(link_, now, frame, 62);
    pkt = g_queue_pop_head(&up);
    g_assert_nonnull(pkt);
    g_assert_cmpuint(ub_meta(pkt)->lph_cfg, ==, UB_LPH_IPV4);
    g_assert_cmpuint(dscp_up, ==, 10);
    g_assert_cmpuint(pkt->len, ==, 50);
    g_assert_cmpmem(core_packet_data(pkt), 6, "\0\0\0\0\0\1", 6);
    g_assert_cmpmem(core_packet_data(pkt) + 6, 44, frame + 14, 44);
    core_packet_free(pkt);
    g_assert_cmpuint(count(UB_UBOE_TX_FRAMES), ==, 1);
    g_assert_cmpuint(count(UB_UBOE_TX_BYTES), ==, 60);
    g_assert_cmpuint(count(UB_UBOE_RX_PACKETS), ==, 1);
    g_assert_cmpuint(count(UB_UBOE_RX_BYTES), ==, 62);
    end();
}

static void test_ipv6(void)
{
    begin();
    know_peer(0);
    ub_uboe_send(link_, now, ub_packet(UB_LPH_IPV6, 0, 1, our6, peer6));
    expect_bytes(0, "020000000009 020000000001 86dd"
                 "62800000 0018 11 40"
                 "fd000000000000000000000000000001"
                 "fd0100000000000000000000000a0b0c"
                 "c001 12b8 0018 0000 01020304 05060708 090a0b0c");
    g_assert_cmpuint(((GByteArray *)g_queue_peek_head(&out))->len, ==, 78);
    drop_frames(1);
    end();
}

/* ---- VLANs, congestion -------------------------------------------------------------- */

static void test_vlan(void)
{
    static const char tagged[] =
        "020000000001 020000000009 8100 %03x 0800"
        "4500 001c 0000 4000 4011 25c8 0a000109 0a000001 0bb8 0bb8 0008 0000";
    CorePacket *pkt;

    begin();
    conf.vlans = true;
    conf.npi = 7;
    configure();
    g_assert_cmpstr(ub_uboe_vlan_set(link_, 5, 0x1000042), ==, NULL);
    g_assert_cmpstr(ub_uboe_vlan_set(link_, 6, 0x1000042), !=, NULL);
    g_assert_cmpstr(ub_uboe_vlan_set(link_, 0, 2), !=, NULL);
    g_assert_cmpstr(ub_uboe_vlan_set(link_, 4095, 2), !=, NULL);
    g_assert_cmpstr(ub_uboe_vlan_set(link_, 8, 0x1000000), !=, NULL);
    know_peer(0);
    know_peer(5);
    send_ub(0, 0x1000042); /* priority 1: DSCP 10 */
    expect_bytes(12, "8100 2005 0800" "4528");
    drop_frames(1);
    send_ub(0, 7);
    expect_bytes(12, "0800" "4528");
    drop_frames(1);
    send_ub(0, 0x42); /* another permission */
    drop_frames(0);
    g_assert_cmpuint(count(UB_UBOE_DROP_NPI), ==, 1);
    conf.npi = 0; /* no frame without a tag: nor one of NPI 0 */
    configure();
    send_ub(0, 0);
    send_ub(0, 7);
    drop_frames(0);
    g_assert_cmpuint(count(UB_UBOE_DROP_NPI), ==, 3);
    conf.npi = 7;
    configure();

    for (unsigned i = 0; i < 3; i++) {
        static const struct { unsigned tag; uint32_t npi; } rows[] = {
            { 0x6005, 0x1000042 }, { 0xe000, 7 }, { 0x6006, 0 },
        };
        g_autofree char *text = g_strdup_printf(tagged, rows[i].tag);

        rx_hex(text);
        pkt = g_queue_pop_head(&up);
        g_assert_true(!rows[i].npi == !pkt);
        if (pkt) {
            g_assert_cmphex(ub_ipext_npi(core_packet_data(pkt)), ==,
                            rows[i].npi);
            core_packet_free(pkt);
        }
    }
    g_assert_cmpuint(count(UB_UBOE_DROP_VLAN), ==, 1);
    /* Without VLANs no tag is taken, and none is put. */
    conf.vlans = false;
    configure();
    send_ub(0, 0x42);
    expect_bytes(12, "0800" "4528");
    drop_frames(1);
    rx_hex("020000000001 020000000009 8100 0005 0800 4500");
    g_assert_cmpuint(count(UB_UBOE_DROP_VLAN), ==, 2);
    conf.npi = 0; /* nor one without */
    configure();
    rx_hex("020000000001 020000000009 0800 4500");
    g_assert_cmpuint(count(UB_UBOE_DROP_VLAN), ==, 3);
    g_assert_cmpstr(ub_uboe_vlan_set(link_, 5, 0), ==, NULL);
    g_assert_cmpstr(ub_uboe_vlan_set(link_, 6, 0x1000042), ==, NULL);
    end();
}

static void test_congestion(void)
{
    /* FECN's code, the TOS of the frame, its checksum, whether it was met. */
    static const struct { uint8_t fecn; const char *frame; bool met; } rows[] = {
        { UB_FECN_OFF, IP4_FRAME("28", "2590"), false },
        { UB_FECN_LIGHT, IP4_FRAME("29", "258f"), true },
        { UB_FECN_NONE, IP4_FRAME("2a", "258e"), false },
        { UB_FECN_HEAVY, IP4_FRAME("2b", "258d"), true },
    };
    unsigned met = 0;

    begin();
    know_peer(0);
    for (unsigned i = 0; i < G_N_ELEMENTS(rows); i++) {
        send_ub(ub_cci_fecn_rtt(true, 77, rows[i].fecn), 1);
        expect_bytes(14, rows[i].frame);
        drop_frames(1);
        met += rows[i].met;
        g_assert_cmpuint(count(UB_UBOE_FECN), ==, met);
    }
    /* The same with CAQM, which Ethernet has no place for. */
    send_ub(ub_cci_caqm(false, true, false, 3), 1);
    expect_bytes(14, rows[0].frame);
    drop_frames(1);
    for (unsigned ecn = 0; ecn < 4; ecn++) {
        static const char *const sums[] = { "25c8", "25c7", "25c6", "25c5" };
        g_autofree char *text = g_strdup_printf(
            "020000000001 020000000009 0800 450%u 001c 0000 4000 4011 %s"
            "0a000109 0a000001 0bb8 0bb8 0008 0000", ecn, sums[ecn]);
        CorePacket *pkt;

        rx_hex(text);
        pkt = g_queue_pop_head(&up);
        g_assert_nonnull(pkt);
        g_assert_cmphex(ub_ipext_cci(core_packet_data(pkt)), ==,
                        ecn ? 0x8000 | ecn : 0);
        core_packet_free(pkt);
    }
    g_assert_cmpuint(count(UB_UBOE_ECN), ==, 2);
    conf.ecn = false;
    configure();
    send_ub(ub_cci_fecn(false, UB_FECN_HEAVY), 1);
    expect_bytes(14, rows[0].frame);
    drop_frames(1);
    rx_hex("020000000001 020000000009 0800 4503 001c 0000 4000 4011 25c5"
           "0a000109 0a000001 0bb8 0bb8 0008 0000");
    g_assert_cmphex(ub_ipext_cci(core_packet_data(g_queue_peek_head(&up))), ==,
                    UB_CCI_NO_CONTROL);
    core_packet_free(g_queue_pop_head(&up));
    end();
}

/* ---- ARP, Neighbour Discovery --------------------------------------------------------- */

#define ZEROES_18 "00000000 00000000 00000000 00000000 0000"
#define ARP_ASK "ffffffffffff 020000000001 0806 0001 0800 06 04 0001" \
    "020000000001 0a000001 000000000000 0a000109" ZEROES_18
#define ARP_TOLD "020000000001 020000000009 0806 0001 0800 06 04 0002" \
    "020000000009 0a000109 020000000001 0a000001" ZEROES_18

static void test_arp(void)
{
    begin();
    send_ub(0, 1);
    g_assert_cmpuint(kicks, ==, 1);
    expect_frame(ARP_ASK);
    send_ub(0, 1); /* waits too, and nobody is asked twice */
    drop_frames(0);
    rx_hex(ARP_TOLD);
    expect_bytes(0, "020000000009 020000000001 0800");
    drop_frames(2);
    g_assert_cmpuint(count(UB_UBOE_LEARNED), ==, 1);
    /* It is used, so it is asked again when it is old, and used meanwhile. */
    send_ub(0, 1);
    drop_frames(1);
    g_assert_cmpint(ub_uboe_run(link_, now), <=, now + conf.age);
    now += conf.age;
    g_assert_cmpint(ub_uboe_run(link_, now), ==, now + conf.retry);
    expect_frame(ARP_ASK);
    send_ub(0, 1);
    drop_frames(1);
    rx_hex(ARP_TOLD);
    g_assert_cmpuint(count(UB_UBOE_LEARNED), ==, 1);
    /* Nobody uses it: it goes. */
    now += conf.age;
    g_assert_cmpint(ub_uboe_run(link_, now), ==, INT64_MAX);
    drop_frames(0);
    /* Nobody answers: three questions, and what waited is lost. */
    send_ub(0, 1);
    drop_frames(1);
    for (unsigned i = 0; i < 2; i++) {
        now += conf.retry;
        g_assert_cmpint(ub_uboe_run(link_, now), ==, now + conf.retry);
        drop_frames(1);
    }
    now += conf.retry;
    g_assert_cmpint(ub_uboe_run(link_, now), ==, INT64_MAX);
    drop_frames(0);
    g_assert_cmpuint(count(UB_UBOE_DROP_UNRESOLVED), ==, 1);
    g_assert_cmpuint(count(UB_UBOE_ASKED), ==, 5);
    end();
}

static void test_arp_answer(void)
{
    begin();
    rx_hex("ffffffffffff 020000000009 0806 0001 0800 06 04 0001"
           "020000000009 0a000109 000000000000 0a0000fe");
    expect_frame("020000000009 020000000001 0806 0001 0800 06 04 0002"
                 "020000000001 0a0000fe 020000000009 0a000109" ZEROES_18);
    send_ub(0, 1); /* who asked is known */
    drop_frames(1);
    /* Somebody who looks whether it has the address for itself (RFC 5227). */
    rx_hex("ffffffffffff 020000000009 0806 0001 0800 06 04 0001"
           "020000000009 00000000 000000000000 0a0000fe");
    expect_bytes(0, "020000000009 020000000001 0806 0001 0800 06 04 0002"
                 "020000000001 0a0000fe 020000000009 00000000");
    drop_frames(1);
    /* For somebody else, and what nobody asked for. */
    rx_hex("ffffffffffff 020000000009 0806 0001 0800 06 04 0001"
           "020000000009 0a000108 000000000000 0a0001fe");
    drop_frames(0);
    g_assert_cmpuint(count(UB_UBOE_LEARNED), ==, 1);
    conf.answer = false;
    configure();
    rx_hex("ffffffffffff 020000000009 0806 0001 0800 06 04 0001"
           "020000000009 0a000109 000000000000 0a0000fe");
    drop_frames(0);
    g_assert_cmpuint(count(UB_UBOE_ANSWERED), ==, 2);
    end();
}

/*
 * The checksum of the solicitation: fd00 + 1 (source) + ff02 + 1 + ff0a + 0b0c (group)
 * + 20 (length) + 3a + 8700 + fd01 + a + 0b0c (target) + 0101 + 0200 + 0 + 1 (option)
 * = 4988d, folded 9891.
 */
static void test_nd(void)
{
    begin();
    ub_uboe_send(link_, now, ub_packet(UB_LPH_IPV6, 0, 1, our6, peer6));
    expect_frame("3333ff0a0b0c 020000000001 86dd 60000000 0020 3a ff"
                 "fd000000000000000000000000000001"
                 "ff0200000000000000000001ff0a0b0c"
                 "87 00 676e 00000000 fd0100000000000000000000000a0b0c"
                 "01 01 020000000001");
    end();
}

static void test_nd_talk(void)
{
    static const char *const asks[] = {
        /* fd01 + a + 0b0c + fd00 + 1 + 20 + 3a + 8700 + fd00 + fe + 0101 + 0200 + 9
         * = 38d7a, folded 8d7d. */
        "020000000001 020000000009 86dd 60000000 0020 3a ff"
        "fd0100000000000000000000000a0b0c fd000000000000000000000000000001"
        "87 00 7282 00000000 fd0000000000000000000000000000fe"
        "01 01 020000000009",
        /* The same with a wrong checksum, one hop less, an option of no length. */
        "020000000001 020000000009 86dd 60000000 0020 3a ff"
        "fd0100000000000000000000000a0b0c fd000000000000000000000000000001"
        "87 00 7283 00000000 fd0000000000000000000000000000fe"
        "01 01 020000000009",
        "020000000001 020000000009 86dd 60000000 0020 3a fe"
        "fd0100000000000000000000000a0b0c fd000000000000000000000000000001"
        "87 00 7282 00000000 fd0000000000000000000000000000fe"
        "01 01 020000000009",
        "020000000001 020000000009 86dd 60000000 0020 3a ff"
        "fd0100000000000000000000000a0b0c fd000000000000000000000000000001"
        "87 00 7283 00000000 fd0000000000000000000000000000fe"
        "01 00 020000000009",
        /* A byte behind the option, which is none: 21, and the sum one more. */
        "020000000001 020000000009 86dd 60000000 0021 3a ff"
        "fd0100000000000000000000000a0b0c fd000000000000000000000000000001"
        "87 00 7281 00000000 fd0000000000000000000000000000fe"
        "01 01 020000000009 00",
    };

    begin();
    rx_hex(asks[0]);
    g_assert_cmpuint(count(UB_UBOE_ANSWERED), ==, 1);
    expect_bytes(0, "020000000009 020000000001 86dd 60000000 0020 3a ff"
                 "fd0000000000000000000000000000fe"
                 "fd0100000000000000000000000a0b0c 88 00 0f8d");
    expect_bytes(58, "60000000 fd0000000000000000000000000000fe"
                 "02 01 020000000001");
    drop_frames(1);
    for (unsigned i = 1; i < G_N_ELEMENTS(asks); i++) {
        rx_hex(asks[i]);
        g_assert_cmpuint(count(UB_UBOE_DROP_QUESTION), ==, i);
    }
    drop_frames(0);
    /* Who looks whether it has the address for itself has no option: ff02 + 1 + ff00 +
     * fe + 18 + 3a + 8700 + fd00 + fe = 38451, folded 8454. */
    rx_hex("3333ff0000fe 020000000009 86dd 60000000 0018 3a ff"
           "00000000000000000000000000000000 ff0200000000000000000001ff0000fe"
           "87 00 7bab 00000000 fd0000000000000000000000000000fe");
    g_assert_cmpuint(count(UB_UBOE_ANSWERED), ==, 2);
    drop_frames(1);
    /* Who asked is known now. */
    ub_uboe_send(link_, now, ub_packet(UB_LPH_IPV6, 0, 1, our6, peer6));
    expect_bytes(0, "020000000009 020000000001 86dd");
    drop_frames(1);
    end();
}

/* ---- What is refused ------------------------------------------------------------------ */

static void test_down_and_full(void)
{
    begin();
    know_peer(0);
    full = true;
    send_ub(0, 1);
    g_assert_cmpuint(count(UB_UBOE_DROP_BUSY), ==, 1);
    full = false;
    ub_uboe_link(link_, false);
    g_assert_false(ub_uboe_up(link_));
    send_ub(0, 1);
    g_assert_cmpuint(count(UB_UBOE_DROP_DOWN), ==, 1);
    ub_uboe_link(link_, true);
    send_ub(0, 1); /* a neighbour that was set stays */
    drop_frames(1);
    end();
}

static void test_bad_packets(void)
{
    static const uint8_t many[16] = { 224, 0, 0, 1 };
    CorePacket *pkt;

    begin();
    know_peer(0);
    pkt = ub_packet(UB_LPH_IPV4, 0, 1, our4, peer4);
    ub_meta(pkt)->lph_cfg = UB_LPH_CNA16;
    ub_uboe_send(link_, now, pkt);
    g_assert_cmpuint(count(UB_UBOE_DROP_CFG), ==, 1);
    pkt = ub_packet(UB_LPH_IPV4, 0, 1, our4, peer4);
    core_packet_trim(pkt, 1);
    ub_uboe_send(link_, now, pkt);
    pkt = ub_packet(UB_LPH_IPV4, 0, 1, our4, peer4);
    core_packet_trim(pkt, pkt->len - 5);
    ub_uboe_send(link_, now, pkt);
    g_assert_cmpuint(count(UB_UBOE_DROP_IP), ==, 2);
    ub_uboe_send(link_, now, ub_packet(UB_LPH_IPV4, 0, 1, our4, many));
    g_assert_cmpuint(count(UB_UBOE_DROP_GROUP), ==, 1);
    pkt = core_packet_alloc(pool, 6 + 9217);
    memset(core_packet_data(pkt), 0, pkt->len);
    ub_ip_put(core_packet_data(pkt) + 6, UB_LPH_IPV4,
              &(UbIpPath) { .dst = { 10, 0, 1, 9 } }, 0, 1, 9217 - 28);
    ub_meta(pkt)->lph_cfg = UB_LPH_IPV4;
    core_packet_ref(pkt);
    ub_uboe_send(link_, now, pkt);
    g_assert_cmpuint(count(UB_UBOE_DROP_LONG), ==, 1);
    /* One byte less is 9216, and goes. */
    core_packet_trim(pkt, 1);
    ub_ip_put(core_packet_data(pkt) + 6, UB_LPH_IPV4,
              &(UbIpPath) { .dst = { 10, 0, 1, 9 } }, 0, 1, 9216 - 28);
    ub_uboe_send(link_, now, pkt);
    g_assert_cmpuint(((GByteArray *)g_queue_peek_head(&out))->len, ==, 9230);
    drop_frames(1);
    end();
}

static void test_plain(void)
{
    CorePacket *pkt;

    begin();
    know_peer(0);
    ub_uboe_send(link_, now, plain_packet(true));
    expect_bytes(14, "4500 0016 0000 4000 4001 25de 0a000001 0a000109 aabb"
                 "0000 00000000"); /* padding, not the ICRC */
    drop_frames(1);
    ub_uboe_send(link_, now, plain_packet(false));
    g_assert_cmpuint(count(UB_UBOE_DROP_ICRC), ==, 1);
    rx_hex("020000000001 020000000009 0800 4500 0016 0000 4000 4001 25de"
           "0a000109 0a000001 aabb 0000");
    pkt = g_queue_pop_head(&up);
    g_assert_nonnull(pkt);
    g_assert_cmpuint(pkt->len, ==, 6 + 22 + 4);
    g_assert_cmphex(ub_icrc_get(core_packet_data(pkt) + 28), ==,
                    ub_icrc(UB_LPH_IPV4, core_packet_data(pkt) + 6, 22));
    core_packet_free(pkt);
    conf.plain = false;
    configure();
    ub_uboe_send(link_, now, plain_packet(true));
    rx_hex("020000000001 020000000009 0800 4500 0016 0000 4000 4001 25de"
           "0a000109 0a000001 aabb 0000");
    g_assert_cmpuint(count(UB_UBOE_DROP_PLAIN), ==, 2);
    end();
}

static void test_bad_frames(void)
{
    static const struct { UbUboeCounter why; const char *frame; } rows[] = {
        { UB_UBOE_DROP_SHORT, "020000000001 020000000009 08" },
        { UB_UBOE_DROP_SHORT, "020000000001 020000000009 8100 0000 08" },
        { UB_UBOE_DROP_MAC, "020000000001 030000000009 0800 4500" },
        { UB_UBOE_DROP_MAC, "020000000002 020000000009 0800 4500" },
        { UB_UBOE_DROP_TYPE, "020000000001 020000000009 88cc 0000" },
        { UB_UBOE_DROP_IP, "020000000001 020000000009 0800 4500" },
        /* longer than its frame; a wrong checksum */
        { UB_UBOE_DROP_IP, "020000000001 020000000009 0800 4500 001d 0000 4000"
          "4011 25c7 0a000109 0a000001 0bb8 0bb8 0008 0000" },
        { UB_UBOE_DROP_IP, "020000000001 020000000009 0800 4500 001c 0000 4000"
          "4011 25c9 0a000109 0a000001 0bb8 0bb8 0008 0000" },
        /* to all stations; to many; from behind us; from many */
        { UB_UBOE_DROP_MAC, "ffffffffffff 020000000009 0800 4500 001c 0000 4000"
          "4011 25c8 0a000109 0a000001 0bb8 0bb8 0008 0000" },
        { UB_UBOE_DROP_GROUP, "020000000001 020000000009 0800 4500 001c 0000"
          "4000 4011 4fc7 0a000109 e0000001 0bb8 0bb8 0008 0000" },
        { UB_UBOE_DROP_SPOOF, "020000000001 020000000009 0800 4500 001c 0000"
          "4000 4011 26cf 0a000002 0a000001 0bb8 0bb8 0008 0000" },
        { UB_UBOE_DROP_SPOOF, "020000000001 020000000009 0800 4500 001c 0000"
          "4000 4011 50ce e0000002 0a000001 0bb8 0bb8 0008 0000" },
        /* ARP: cut short, of another kind, a sender that is many, our address */
        { UB_UBOE_DROP_QUESTION, "ffffffffffff 020000000009 0806 0001 0800" },
        { UB_UBOE_DROP_QUESTION, "ffffffffffff 020000000009 0806 0006 0800 06"
          "04 0001 020000000009 0a000109 000000000000 0a0000fe" },
        { UB_UBOE_DROP_QUESTION, "ffffffffffff 020000000009 0806 0001 0800 06"
          "04 0003 020000000009 0a000109 000000000000 0a0000fe" },
        { UB_UBOE_DROP_QUESTION, "ffffffffffff 020000000009 0806 0001 0800 06"
          "04 0001 ffffffffffff 0a000109 000000000000 0a0000fe" },
        { UB_UBOE_DROP_QUESTION, "ffffffffffff 020000000009 0806 0001 0800 06"
          "04 0001 020000000009 e0000109 000000000000 0a0000fe" },
        { UB_UBOE_DROP_SPOOF, "ffffffffffff 020000000009 0806 0001 0800 06"
          "04 0002 020000000009 0a000005 000000000000 0a000005" },
    };
    uint64_t want[UB_UBOE_COUNTERS_NUM] = { 0 };

    begin();
    for (unsigned i = 0; i < G_N_ELEMENTS(rows); i++) {
        rx_hex(rows[i].frame);
        want[rows[i].why]++;
        for (unsigned c = UB_UBOE_DROP_DOWN; c < UB_UBOE_COUNTERS_NUM; c++) {
            g_assert_cmpuint(count(c), ==, want[c]);
        }
    }
    g_assert_cmpuint(count(UB_UBOE_RX_FRAMES), ==, G_N_ELEMENTS(rows));
    g_assert_cmpuint(rules, >, 0);
    g_assert_cmpuint(count(UB_UBOE_LEARNED), ==, 0);
    end();
}

/* ---- What waits ---------------------------------------------------------------- */

static void count_neighbour(void *opaque, const UbUboeNeighbour *n)
{
    unsigned *sum = opaque;

    sum[0]++;
    sum[1] += n->held;
    sum[2] += n->fixed;
}

static void look_at_neighbours(unsigned all, unsigned held, unsigned fixed)
{
    unsigned sum[3] = { 0 };

    ub_uboe_neighbours(link_, count_neighbour, sum);
    g_assert_cmpuint(sum[0], ==, all);
    g_assert_cmpuint(sum[1], ==, held);
    g_assert_cmpuint(sum[2], ==, fixed);
}

static unsigned released;

static void op_released(CorePacket *pkt)
{
    released++;
}

/* What waits for a neighbour does not keep what the packet had of its UB link. */
static void test_held_credits(void)
{
    begin();
    released = 0;
    for (unsigned i = 0; i < 3; i++) {
        CorePacket *pkt = ub_packet(UB_LPH_IPV4, 0, 1, our4, peer4);

        pkt->released = op_released;
        ub_uboe_send(link_, now, pkt);
    }
    g_assert_cmpuint(released, ==, 3);
    look_at_neighbours(1, 3, 0);
    drop_frames(1);
    rx_hex("020000000001 020000000009 0806 0001 0800 06 04 0002"
           "020000000009 0a000109 020000000001 0a000001");
    expect_bytes(0, "020000000009 020000000001 0800" IP4_FRAME("28", "2590"));
    drop_frames(3);
    end();
}

/* A MAC that is set sends what waited for it; one that no station has does not. */
static void test_held_set(void)
{
    begin();
    send_ub(0, 1);
    drop_frames(1);
    g_assert_nonnull(ub_uboe_neighbour_set(link_, now, 0, UB_LPH_IPV4, peer4,
                                           (uint8_t[6]) { 1 }));
    look_at_neighbours(1, 1, 0);
    know_peer(0);
    drop_frames(1);
    g_assert_cmpuint(count(UB_UBOE_DROP_UNRESOLVED), ==, 0);
    look_at_neighbours(2, 0, 2);
    end();
}

/* Strangers who ask are many: a question under way is not displaced by them. */
static void test_strangers(void)
{
    begin();
    for (unsigned i = 0; i <= UB_UBOE_NEIGHBOURS; i++) {
        g_autofree char *ask = g_strdup_printf(
            "ffffffffffff 020000000009 0806 0001 0800 06 04 0001"
            "020000000009 0a01%04x 000000000000 0a0000fe", i + 1);

        if (i == UB_UBOE_NEIGHBOURS) {
            send_ub(0, 1); /* takes the place of one of them */
            look_at_neighbours(UB_UBOE_NEIGHBOURS, 1, 0);
        }
        rx_hex(ask);
    }
    look_at_neighbours(UB_UBOE_NEIGHBOURS, 1, 0);
    g_assert_cmpuint(count(UB_UBOE_DROP_UNRESOLVED), ==, 0);
    drop_frames(UB_UBOE_NEIGHBOURS + 2);
    end();
}

/* ---- Bounds, tables ---------------------------------------------------------------------- */

/* Packets to ever more addresses that nobody has. */
static void test_bounds(void)
{
    uint8_t ip[16] = { 10, 0, 1, 9 };

    begin();
    know_peer(0);
    for (unsigned i = 0; i < 20; i++) { /* 16 of one */
        ub_uboe_send(link_, now, ub_packet(UB_LPH_IPV4, 0, 1, our4,
                                           (uint8_t[16]) { 10, 0, 1, 1 }));
    }
    g_assert_cmpuint(count(UB_UBOE_DROP_HELD), ==, 4);
    look_at_neighbours(3, 16, 2);
    for (unsigned i = 0; i < 3000; i++) {
        now++;
        ip[1] = 1 + i / 250;
        ip[3] = 1 + i % 250;
        ub_uboe_send(link_, now, ub_packet(UB_LPH_IPV4, 0, 1, our4, ip));
        g_assert_cmpuint(core_packet_pool_used(pool), <=, 256);
    }
    drop_frames(3001);
    look_at_neighbours(UB_UBOE_NEIGHBOURS, core_packet_pool_used(pool), 2);
    send_ub(0, 1); /* one that was set was not displaced */
    drop_frames(1);
    ub_uboe_reset(link_);
    look_at_neighbours(2, 0, 2);
    g_assert_cmpuint(count(UB_UBOE_DROP_HELD), ==, 0);
    end();
}

static void test_prefixes(void)
{
    static const uint8_t all[16], net[16] = { 10, 0, 0, 0 };
    static const uint8_t router[16] = { 10, 0, 1, 1 };
    static const uint8_t far_away[16] = { 192, 0, 2, 5 };
    static const uint8_t beside[16] = { 10, 128, 0, 5 };
    UbUboeRoute r;

    begin();
    g_assert_cmpstr(ub_uboe_route_set(link_, UB_LPH_IPV4, all, 0, router, true),
                    ==, NULL);
    g_assert_cmpstr(ub_uboe_route_set(link_, UB_LPH_IPV4, net, 9, NULL, true),
                    ==, NULL);
    g_assert_cmpstr(ub_uboe_route_set(link_, UB_LPH_IPV4, net, 33, NULL, true),
                    !=, NULL);
    /* ARP asks for the router: the ninth bit is another. */
    ub_uboe_send(link_, now, ub_packet(UB_LPH_IPV4, 0, 1, our4, beside));
    expect_bytes(38, "0a000101");
    drop_frames(1);
    send_ub(0, 1);
    expect_bytes(38, "0a000109");
    drop_frames(1);
    g_assert_true(ub_uboe_route_at(link_, 1, &r));
    g_assert_cmpuint(r.prefix, ==, 9);
    g_assert_true(r.direct);
    /* However it is written, a prefix is one row, and the new router is its. */
    g_assert_null(ub_uboe_route_set(link_, UB_LPH_IPV4, far_away, 25, peer4,
                                    true));
    g_assert_null(ub_uboe_route_set(link_, UB_LPH_IPV4,
                                    (uint8_t[16]) { 192, 0, 2, 99 }, 25, router,
                                    true));
    g_assert_true(ub_uboe_route_at(link_, 2, &r));
    g_assert_cmpmem(r.ip, 4, "\xc0\0\2\0", 4);
    g_assert_cmpmem(r.via, 4, router, 4);
    g_assert_false(ub_uboe_route_at(link_, 3, &r));
    g_assert_null(ub_uboe_route_set(link_, UB_LPH_IPV4, far_away, 25, NULL,
                                    false));
    g_assert_cmpstr(ub_uboe_route_set(link_, UB_LPH_IPV4, all, 0, NULL, false),
                    ==, NULL);
    g_assert_cmpstr(ub_uboe_route_set(link_, UB_LPH_IPV4, all, 0, NULL, false),
                    !=, NULL);
    g_assert_false(ub_uboe_route_at(link_, 1, &r));
    for (unsigned i = 1; i < UB_UBOE_ROUTES; i++) {
        g_assert_cmpstr(ub_uboe_route_set(link_, UB_LPH_IPV6, all, i, NULL,
                                          true), ==, NULL);
    }
    g_assert_cmpstr(ub_uboe_route_set(link_, UB_LPH_IPV6, all, 65, NULL, true),
                    !=, NULL);
    end();
}

static void test_settings(void)
{
    uint8_t mac[6];

    begin();
    g_assert_true(ub_ether_mac("02:aB:00:00:00:fE", mac));
    g_assert_cmpmem(mac, 6, "\x02\xab\0\0\0\xfe", 6);
    g_assert_false(ub_ether_mac("02:ab:00:00:00", mac));
    g_assert_false(ub_ether_mac("02:ab:00:00:00:fe:", mac));
    g_assert_false(ub_ether_mac("02:ab:00:00:00:g0", mac));
    conf.mac[0] = 3;
    g_assert_nonnull(ub_uboe_configure(link_, &conf));
    conf.mac[0] = 2;
    conf.mtu = 9217;
    g_assert_nonnull(ub_uboe_configure(link_, &conf));
    conf.mtu = 1279;
    g_assert_nonnull(ub_uboe_configure(link_, &conf));
    conf.mtu = 1280;
    g_assert_null(ub_uboe_configure(link_, &conf));
    conf.npi = 0x1000000;
    g_assert_nonnull(ub_uboe_configure(link_, &conf));
    g_assert_cmpuint(ub_uboe_config(link_)->mtu, ==, 1280);
    g_assert_cmpuint(ub_uboe_config(link_)->npi, ==, 1);
    g_assert_cmpstr(ub_uboe_counter_name(0), ==, "tx-frames");
    g_assert_null(ub_uboe_counter_name(UB_UBOE_COUNTERS_NUM));
    g_assert_nonnull(ub_uboe_neighbour_set(link_, now, 0, UB_LPH_IPV4, peer4,
                                           NULL));
    g_assert_nonnull(ub_uboe_neighbour_set(link_, now, 0, UB_LPH_IPV4, peer4,
                                           (uint8_t[6]) { 1 }));
    g_assert_nonnull(ub_uboe_neighbour_set(link_, now, 4095, UB_LPH_IPV4, peer4,
                                           peer_mac));
    end();
}

/* The bounds of each value that is set. */
static void test_values(void)
{
    static const uint8_t none[16] = { 0xfd };
    uint8_t mac[6];
    UbUboeRoute r;

    begin();
    g_assert_false(ub_ether_mac("", mac));
    g_assert_false(ub_ether_mac("0", mac));
    g_assert_false(ub_ether_mac("02-ab-00-00-00-fe", mac));
    g_assert_false(ub_ether_mac("02:ab:00:00:00:f", mac));
    g_assert_false(ub_ether_mac("02:ab:00:00:00:fe ", mac));
    g_assert_true(ub_ether_mac("00:00:00:00:00:00", mac));
    memset(conf.mac, 0, 6);
    g_assert_nonnull(ub_uboe_configure(link_, &conf));
    conf.mac[5] = 1;
    g_assert_null(ub_uboe_configure(link_, &conf));
    conf.mtu = 9216;
    g_assert_null(ub_uboe_configure(link_, &conf));
    conf.npi = 0x1ffffff;
    g_assert_null(ub_uboe_configure(link_, &conf));
    conf.npi = 0x2000001;
    g_assert_nonnull(ub_uboe_configure(link_, &conf));
    conf.npi = 0;
    conf.retry = 0;
    g_assert_nonnull(ub_uboe_configure(link_, &conf));
    conf.retry = 1;
    conf.age = 0;
    g_assert_nonnull(ub_uboe_configure(link_, &conf));
    conf.age = 1;
    g_assert_null(ub_uboe_configure(link_, &conf));
    g_assert_cmpint(ub_uboe_config(link_)->age, ==, 1);
    /* VLANs */
    g_assert_nonnull(ub_uboe_vlan_set(link_, 4095, 2));
    g_assert_null(ub_uboe_vlan_set(link_, 4094, 2));
    g_assert_null(ub_uboe_vlan_set(link_, 1, 0x1ffffff));
    g_assert_nonnull(ub_uboe_vlan_set(link_, 2, 0x2000001));
    g_assert_cmphex(ub_uboe_vlan_npi(link_, 4094), ==, 0); /* off */
    conf.vlans = true;
    g_assert_null(ub_uboe_configure(link_, &conf));
    g_assert_cmphex(ub_uboe_vlan_npi(link_, 4094), ==, 2);
    g_assert_cmphex(ub_uboe_vlan_npi(link_, 4095), ==, 0);
    g_assert_cmphex(ub_uboe_vlan_npi(link_, 1), ==, 0x1ffffff);
    g_assert_null(ub_uboe_vlan_set(link_, 4094, 2)); /* again */
    /* Its NPI is another VLAN's when it has none any more, or another one. */
    g_assert_null(ub_uboe_vlan_set(link_, 4094, 0));
    g_assert_null(ub_uboe_vlan_set(link_, 3, 2));
    g_assert_null(ub_uboe_vlan_set(link_, 3, 4));
    g_assert_null(ub_uboe_vlan_set(link_, 5, 2));
    g_assert_nonnull(ub_uboe_vlan_set(link_, 6, 4));
    /* Neighbours and routers */
    g_assert_null(ub_uboe_neighbour_set(link_, now, 4094, UB_LPH_IPV4, peer4,
                                        peer_mac));
    g_assert_null(ub_uboe_neighbour_set(link_, now, 4094, UB_LPH_IPV4, peer4,
                                        NULL));
    g_assert_nonnull(ub_uboe_neighbour_set(link_, now, 0, 5, peer4, peer_mac));
    g_assert_null(ub_uboe_route_set(link_, UB_LPH_IPV4, peer4, 32, NULL, true));
    g_assert_null(ub_uboe_route_set(link_, UB_LPH_IPV6, none, 128, peer6, true));
    g_assert_nonnull(ub_uboe_route_set(link_, UB_LPH_IPV6, none, 129, NULL,
                                       true));
    g_assert_nonnull(ub_uboe_route_set(link_, 5, none, 8, NULL, true));
    g_assert_nonnull(ub_uboe_route_set(link_, UB_LPH_IPV4, peer4, 8,
                                       (uint8_t[16]) { 224 }, true));
    /* The same bits of the other version are another prefix. */
    g_assert_null(ub_uboe_route_set(link_, UB_LPH_IPV6, peer4, 32, NULL, true));
    g_assert_true(ub_uboe_route_at(link_, 2, &r));
    g_assert_cmpuint(r.cfg, ==, UB_LPH_IPV6);
    g_assert_cmpuint(r.prefix, ==, 32);
    g_assert_true(ub_uboe_route_at(link_, 1, &r));
    g_assert_cmpmem(r.via, 16, peer6, 16);
    g_assert_false(ub_uboe_route_at(link_, 3, &r));
    end();
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/ub/uboe/ipv4", test_ipv4);
    g_test_add_func("/ub/uboe/ipv6", test_ipv6);
    g_test_add_func("/ub/uboe/vlan", test_vlan);
    g_test_add_func("/ub/uboe/congestion", test_congestion);
    g_test_add_func("/ub/uboe/arp", test_arp);
    g_test_add_func("/ub/uboe/arp-answer", test_arp_answer);
    g_test_add_func("/ub/uboe/nd", test_nd);
    g_test_add_func("/ub/uboe/nd-talk", test_nd_talk);
    g_test_add_func("/ub/uboe/down-and-full", test_down_and_full);
    g_test_add_func("/ub/uboe/bad-packets", test_bad_packets);
    g_test_add_func("/ub/uboe/plain", test_plain);
    g_test_add_func("/ub/uboe/bad-frames", test_bad_frames);
    g_test_add_func("/ub/uboe/held-credits", test_held_credits);
    g_test_add_func("/ub/uboe/held-set", test_held_set);
    g_test_add_func("/ub/uboe/strangers", test_strangers);
    g_test_add_func("/ub/uboe/bounds", test_bounds);
    g_test_add_func("/ub/uboe/prefixes", test_prefixes);
    g_test_add_func("/ub/uboe/settings", test_settings);
    g_test_add_func("/ub/uboe/values", test_values);
    return g_test_run();
}
