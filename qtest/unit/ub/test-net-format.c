/*
 * Formats of the network layer: known answers, what an ICRC covers, and every
 * rule of headers that come from outside.
 *
 * The vectors were put together by hand from the field tables of UB 2.0 chapters
 * 5 and 6 and a bitwise CRC32, apart from this code.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <glib.h>
#include <string.h>

#include "core/crc32.h"
#include "core/inet.h"
#include "core/random.h"
#include "ub/net_format.h"

static unsigned unhex(uint8_t *out, const char *hex)
{
    unsigned n = 0;

    for (; *hex; hex++) {
        if (*hex != ' ') {
            out[n++] = g_ascii_xdigit_value(hex[0]) << 4 |
                       g_ascii_xdigit_value(hex[1]);
            hex++;
        }
    }
    return n;
}

static void expect(const uint8_t *got, unsigned len, const char *hex)
{
    uint8_t want[256];
    unsigned n = unhex(want, hex);

    g_assert_cmpmem(got, len, want, n);
}

static void same_nth(const UbNth *a, const UbNth *b)
{
    g_assert_cmphex(a->scna, ==, b->scna);
    g_assert_cmphex(a->dcna, ==, b->dcna);
    g_assert_cmphex(a->cci, ==, b->cci);
    g_assert_cmphex(a->lbf, ==, b->lbf);
    g_assert_cmphex(a->sl, ==, b->sl);
    g_assert_cmphex(a->nlp, ==, b->nlp);
    g_assert_cmpint(a->mgmt, ==, b->mgmt);
}

static void test_nth(void)
{
    UbNth h = { .scna = 1, .dcna = 2, .cci = 0x8000, .lbf = 0x5a, .sl = 3,
                .mgmt = true, .nlp = 1 };
    UbNth back;
    uint8_t p[UB_NTH24_SIZE];
    uint64_t rng = 5;

    ub_nth16_put(p, &h);
    expect(p, 8, "00 01 00 02 80 00 5A 39");
    h = (UbNth) { .scna = 1, .dcna = 2, .cci = 0x8002, .lbf = 0x11, .sl = 2,
                  .nlp = 2 };
    ub_nth24_put(p, &h);
    expect(p, 10, "000001 000002 8002 11 22");
    for (unsigned i = 0; i < 1000; i++) {
        h = (UbNth) {
            .scna = core_random(&rng) & 0xffffff,
            .dcna = core_random(&rng) & 0xffffff, .cci = core_random(&rng),
            .lbf = core_random(&rng), .sl = core_random(&rng) & 15,
            .nlp = core_random(&rng) & 7,
        };
        ub_nth24_put(p, &h);
        ub_nth24_get(p, &back);
        same_nth(&back, &h);
        h.scna &= 0xffff;
        h.dcna &= 0xffff;
        h.mgmt = core_random(&rng) & 1;
        ub_nth16_put(p, &h);
        ub_nth16_get(p, &back);
        same_nth(&back, &h);
    }
    /* What does not fit stays out of its neighbours. */
    memset(&h, 0, sizeof(h));
    h.nlp = h.sl = 0xff;
    ub_nth16_put(p, &h);
    g_assert_cmphex(p[7], ==, 0xf7);
    ub_nth24_put(p, &h);
    g_assert_cmphex(p[9], ==, 0xf7);
    /* Reserved bits are ignored. */
    p[9] = 0x08;
    ub_nth24_get(p, &back);
    g_assert_cmpint(back.sl | back.nlp | back.mgmt, ==, 0);
}

static void test_cci(void)
{
    static const uint8_t code[] = {
        UB_FECN_NONE, UB_FECN_LIGHT, UB_FECN_HEAVY,
    };

    g_assert_cmphex(ub_cci_caqm(false, false, true, 0x20), ==, 0x0520);
    g_assert_cmphex(ub_cci_caqm(true, true, false, 1), ==, 0x1601);
    g_assert_cmphex(ub_cci_fecn(false, UB_FECN_NONE), ==, 0x8002);
    g_assert_cmphex(ub_cci_fecn(true, UB_FECN_HEAVY), ==, 0x9003);
    g_assert_cmphex(ub_cci_fecn_rtt(false, 0x155, UB_FECN_NONE), ==, 0x4556);
    g_assert_cmphex(ub_cci_fecn_rtt(true, 0xffff, UB_FECN_OFF), ==, 0x5ffc);
    g_assert_cmphex(ub_cci_timestamp(0x4556), ==, 0x155);
    g_assert_cmphex(ub_cci_timestamp(0xffff), ==, 0x3ff);
    g_assert_cmpuint(ub_cci_mode(0x4556), ==, UB_CCI_FECN_RTT);
    g_assert_true(ub_cci_has_fecn(0x8000) && ub_cci_has_fecn(0x4000));
    g_assert_false(ub_cci_has_fecn(0) || ub_cci_has_fecn(0x2000) ||
                   ub_cci_has_fecn(0xc000));
    /* Nothing that is carried may be marked but a worse level, with its Loc. */
    for (unsigned mode = 0; mode < 8; mode++) {
        for (unsigned low = 0; low < 0x2000; low++) {
            uint16_t cci = mode << 13 | low, want;
            bool fecn = mode == UB_CCI_FECN || mode == UB_CCI_FECN_RTT;

            for (unsigned severity = 0; severity < 4; severity++) {
                for (unsigned edge = 0; edge < 2; edge++) {
                    unsigned had = (low & 3) == 1 ? 1 : (low & 3) == 3 ? 2 : 0;

                    want = cci;
                    if (fecn && low & 3 && severity < 3 && severity > had) {
                        want = (cci & 0xeffc) | code[severity] | edge << 12;
                    }
                    g_assert_cmphex(ub_cci_mark_fecn(cci, severity, edge), ==,
                                    want);
                }
            }
        }
    }
}

/* The truth table of §5.3.3: ID and Permission of either end. */
static void test_npi(void)
{
    static const struct {
        uint32_t a, b;
        bool match;
    } rows[] = {
        { 7, 7, true },
        { 7, 7 | UB_NPI_LOW, true },
        { 7 | UB_NPI_LOW, 7, true },
        { 7 | UB_NPI_LOW, 7 | UB_NPI_LOW, false },
        { 7, 8, false },
        { 7, 8 | UB_NPI_LOW, false },
        { 7 | UB_NPI_LOW, 8, false },
        { 7 | UB_NPI_LOW, 8 | UB_NPI_LOW, false },
        { 0, 0, false },
        { UB_NPI_LOW, 0, false },
        { 0xffffff, 0xffffff, true },
        { 0x7fffff, 0xffffff, false },
    };
    uint8_t p[UB_IPEXT_SIZE];

    for (unsigned i = 0; i < G_N_ELEMENTS(rows); i++) {
        g_assert_cmpint(ub_npi_match(rows[i].a, rows[i].b), ==, rows[i].match);
    }
    g_assert_true(ub_npi_valid(1) && ub_npi_valid(UB_NPI_LOW | 1));
    g_assert_false(ub_npi_valid(0) || ub_npi_valid(UB_NPI_LOW));
    ub_ipext_put(p, 0x8002, 0xfe000000 | UB_NPI_LOW | 0x123456);
    expect(p, 6, "8002 01123456");
    p[2] = 0xff; /* reserved bits are ignored */
    g_assert_cmphex(ub_ipext_npi(p), ==, 0x1123456);
    g_assert_cmphex(ub_ipext_cci(p), ==, 0x8002);
}

/* ---- ICRC ------------------------------------------------------------------ */

#define TPACK "0200ABCDEF1234560000000A00000007"
#define CNA24 "00000200000180021122" TPACK
#define SCAN "0000000000000009 7FFF0000 00100000"
#define IPV4 "4500003000004000401126BB0A0000020A000001 C00012B8001C0000" TPACK
#define IPV6 "60000000001C1140 00000000000000000000000000000002" \
             "00000000000000000000000000000001 C00012B8001C0000" TPACK

static uint32_t icrc_of(unsigned cfg, const char *hex)
{
    uint8_t p[128];

    return ub_icrc(cfg, p, unhex(p, hex));
}

static void test_icrc_known(void)
{
    uint8_t msg[20] = "123456789";
    uint32_t crc = ub_icrc(UB_LPH_CONTROL, msg, 9);

    g_assert_cmphex(crc, ==, 0xcbf43926);
    ub_icrc_put(msg + 9, crc);
    expect(msg + 9, 4, "2639F4CB");
    g_assert_cmphex(ub_icrc(UB_LPH_CONTROL, msg, 13), ==, 0x2144df1c);
    g_assert_cmphex(ub_icrc_get(msg + 9), ==, 0xcbf43926);

    g_assert_cmphex(icrc_of(UB_LPH_CNA24, CNA24), ==, 0x5f592afb);
    g_assert_cmphex(icrc_of(UB_LPH_CNA16, SCAN), ==, 0x761da2a9);
    g_assert_cmphex(icrc_of(UB_LPH_IPV4, IPV4), ==, 0x81af3ba6);
    g_assert_cmphex(icrc_of(UB_LPH_IPV6, IPV6), ==, 0x809717cb);
    g_assert_true(ub_has_icrc(3) && ub_has_icrc(4) && ub_has_icrc(6) &&
                  ub_has_icrc(7));
    g_assert_false(ub_has_icrc(5) || ub_has_icrc(9) || ub_has_icrc(0));
}

/* Bit @n of a packet may change on the way (§5.3.7, rule 2). */
static bool may_change(unsigned cfg, unsigned bit)
{
    unsigned byte = bit / 8;

    switch (cfg) {
    case UB_LPH_CNA16:
        return byte >= 4 && byte <= 6;
    case UB_LPH_CNA24:
        return byte >= 6 && byte <= 8;
    case UB_LPH_IPV4:
        return byte == 1 || byte == 8 || byte == 10 || byte == 11 ||
               byte == 26 || byte == 27;
    default:
        return (bit >= 4 && bit < 32) || byte == 7 || byte == 46 || byte == 47;
    }
}

static void test_icrc_masks(void)
{
    static const struct {
        unsigned cfg;
        const char *hex;
    } packets[] = {
        { UB_LPH_CNA16, SCAN }, { UB_LPH_CNA24, CNA24 },
        { UB_LPH_IPV4, IPV4 }, { UB_LPH_IPV6, IPV6 },
    };
    uint8_t p[128];

    for (unsigned i = 0; i < G_N_ELEMENTS(packets); i++) {
        unsigned n = unhex(p, packets[i].hex);
        uint32_t icrc = ub_icrc(packets[i].cfg, p, n);

        for (unsigned bit = 0; bit < n * 8; bit++) {
            uint32_t other;

            p[bit / 8] ^= 0x80 >> bit % 8;
            other = ub_icrc(packets[i].cfg, p, n);
            p[bit / 8] ^= 0x80 >> bit % 8;
            g_assert_cmpint(other == icrc, ==, may_change(packets[i].cfg, bit));
        }
    }
}

/* The same, written once more without haste: masks on a copy, one bit at a time. */
static uint32_t slow_icrc(unsigned cfg, const uint8_t *p, unsigned len)
{
    g_autofree uint8_t *copy = g_memdup2(p, len ? len : 1);
    unsigned udp = 0;
    uint32_t crc = 0xffffffff;

    if (cfg == UB_LPH_CNA16 && len >= 8) {
        memset(copy + 4, 0xff, 3);
    } else if (cfg == UB_LPH_CNA24 && len >= 10) {
        memset(copy + 6, 0xff, 3);
    } else if (cfg == UB_LPH_IPV4 && len >= 20 && (p[0] & 15) >= 5 &&
               (p[0] & 15u) * 4 <= len) {
        copy[1] = copy[8] = copy[10] = copy[11] = 0xff;
        udp = p[9] == 17 && !(get_be16(p + 6) & 0x1fff) ? (p[0] & 15u) * 4 : 0;
    } else if (cfg == UB_LPH_IPV6 && len >= 40) {
        put_be32(copy, get_be32(p) | 0x0fffffff);
        copy[7] = 0xff;
        udp = p[6] == 17 ? 40 : 0;
    }
    if (udp && len >= udp + 8) {
        copy[udp + 6] = copy[udp + 7] = 0xff;
    }
    for (unsigned i = 0; i < 8 * len; i++) {
        crc ^= copy[i / 8] >> i % 8 & 1;
        crc = crc >> 1 ^ (crc & 1 ? 0xedb88320 : 0);
    }
    return ~crc;
}

static void test_icrc_random(void)
{
    uint64_t rng = 77;
    uint8_t p[160];

    for (unsigned i = 0; i < 20000; i++) {
        unsigned cfg = 3 + core_random(&rng) % 5;
        unsigned len = core_random(&rng) % sizeof(p);

        for (unsigned k = 0; k < sizeof(p); k++) {
            p[k] = core_random(&rng);
        }
        if (cfg == UB_LPH_IPV4 && i & 8) {
            p[0] = 0x45 + core_random(&rng) % 11;
            p[9] = 17;
            p[6] &= 0x60;
            p[7] = i & 16 ? 1 : 0; /* a later fragment has no UDP header */
        } else if (i & 8) {
            p[6] = 17;
        }
        g_assert_cmphex(ub_icrc(cfg, p, len), ==, slow_icrc(cfg, p, len));
    }
}

/* ---- IP ---------------------------------------------------------------------- */

static void test_ip_put(void)
{
    UbIpPath path = { .src = { 10, 0, 0, 2 }, .dst = { 10, 0, 0, 1 } };
    uint8_t p[64];

    ub_ip_put(p, UB_LPH_IPV4, &path, 0, 0xc000, 20);
    expect(p, 28, "4500003000004000401126BB0A0000020A000001 C00012B8001C0000");
    g_assert_cmphex(core_csum(p, 20), ==, 0xffff);
    path.hops = 3;
    ub_ip_put(p, UB_LPH_IPV4, &path, 0x2e, 1, 4);
    expect(p, 2, "45B8");
    g_assert_cmpuint(p[8], ==, 3);
    g_assert_cmphex(core_csum(p, 20), ==, 0xffff);

    memset(&path, 0, sizeof(path));
    path.src[15] = 2;
    path.dst[15] = 1;
    ub_ip_put(p, UB_LPH_IPV6, &path, 0, 0xc000, 20);
    expect(p, 48, "60000000001C1140 00000000000000000000000000000002"
                  "00000000000000000000000000000001 C00012B8001C0000");
    path.hops = 9;
    ub_ip_put(p, UB_LPH_IPV6, &path, 0x2e, 1, 4);
    expect(p, 8, "6B800000 000C 11 09");
}

static void test_ip_get(void)
{
    UbIpInfo info;
    uint8_t p[64];
    unsigned n = unhex(p, IPV4);

    g_assert_null(ub_ip_get(p, n, UB_LPH_IPV4, &info));
    g_assert_cmpuint(info.header, ==, 20);
    g_assert_cmpuint(info.total, ==, 48);
    g_assert_cmpuint(info.protocol, ==, 17);
    g_assert_cmpuint(info.path.hops, ==, 64);
    g_assert_cmphex(get_be32(info.path.src), ==, 0x0a000002);
    g_assert_cmphex(get_be32(info.path.dst), ==, 0x0a000001);
    g_assert_true(info.udp);
    g_assert_false(info.fragment);
    g_assert_cmphex(info.sport, ==, 0xc000);
    g_assert_cmpuint(info.dport, ==, UB_UDP_PORT);
    p[1] = 0xb9;
    g_assert_null(ub_ip_get(p, 28, UB_LPH_IPV4, &info));
    g_assert_cmphex(info.tos, ==, 0xb9);
    g_assert_true(info.udp);
    g_assert_null(ub_ip_get(p, 27, UB_LPH_IPV4, &info));
    g_assert_false(info.udp);
    g_assert_null(ub_ip_get(p, 20, UB_LPH_IPV4, &info));
    g_assert_nonnull(ub_ip_get(p, 19, UB_LPH_IPV4, &info));
    g_assert_nonnull(ub_ip_get(p, 0, UB_LPH_IPV4, &info));
    p[9] = 6; /* TCP */
    g_assert_null(ub_ip_get(p, n, UB_LPH_IPV4, &info));
    g_assert_false(info.udp);
    p[9] = 17;
    /* More Fragments, an offset; what is reserved is not looked at */
    p[6] = 0x20;
    g_assert_null(ub_ip_get(p, n, UB_LPH_IPV4, &info));
    g_assert_true(info.fragment && !info.udp);
    p[6] = 0;
    p[7] = 1;
    g_assert_null(ub_ip_get(p, n, UB_LPH_IPV4, &info));
    g_assert_true(info.fragment && !info.udp);
    p[6] = 0xc0;
    p[7] = 0;
    g_assert_null(ub_ip_get(p, n, UB_LPH_IPV4, &info));
    g_assert_true(!info.fragment && info.udp);
    /* options */
    p[0] = 0x46;
    g_assert_null(ub_ip_get(p, 24, UB_LPH_IPV4, &info));
    g_assert_cmpuint(info.header, ==, 24);
    g_assert_nonnull(ub_ip_get(p, 23, UB_LPH_IPV4, &info));
    p[0] = 0x44;
    g_assert_nonnull(ub_ip_get(p, n, UB_LPH_IPV4, &info));
    p[0] = 0x65;
    g_assert_nonnull(ub_ip_get(p, n, UB_LPH_IPV4, &info));
    p[0] = 0x45;
    put_be16(p + 2, 19);
    g_assert_nonnull(ub_ip_get(p, n, UB_LPH_IPV4, &info));
    put_be16(p + 2, 20);
    g_assert_null(ub_ip_get(p, n, UB_LPH_IPV4, &info));

    n = unhex(p, IPV6);
    g_assert_cmpuint(n, ==, 64);
    p[0] = 0x6b;
    p[1] = 0x9a;
    g_assert_null(ub_ip_get(p, n, UB_LPH_IPV6, &info));
    g_assert_cmphex(info.tos, ==, 0xb9);
    g_assert_cmpuint(info.header, ==, 40);
    g_assert_cmpuint(info.total, ==, 68);
    g_assert_cmpuint(info.path.hops, ==, 64);
    g_assert_cmpuint(info.path.src[15], ==, 2);
    g_assert_cmpuint(info.path.dst[15], ==, 1);
    g_assert_true(info.udp);
    g_assert_null(ub_ip_get(p, 48, UB_LPH_IPV6, &info));
    g_assert_true(info.udp);
    g_assert_null(ub_ip_get(p, 47, UB_LPH_IPV6, &info));
    g_assert_false(info.udp);
    g_assert_null(ub_ip_get(p, 40, UB_LPH_IPV6, &info));
    g_assert_nonnull(ub_ip_get(p, 39, UB_LPH_IPV6, &info));
    p[0] = 0x45;
    g_assert_nonnull(ub_ip_get(p, n, UB_LPH_IPV6, &info));
}

static void test_ecn(void)
{
    UbIpPath path = { .src = { 1, 2, 3, 4 }, .dst = { 5, 6, 7, 8 } };
    UbIpInfo info;
    uint8_t p[64];

    for (unsigned dscp = 0; dscp < 64; dscp++) {
        for (unsigned from = 0; from < 4; from++) {
            for (unsigned to = 0; to < 4; to++) {
                for (unsigned cfg = 3; cfg <= 4; cfg++) {
                    ub_ip_put(p, cfg, &path, dscp, 1, 4);
                    ub_ip_set_ecn(p, cfg, from);
                    g_assert_cmpuint(ub_ip_ecn(p, cfg), ==, from);
                    ub_ip_set_ecn(p, cfg, to);
                    g_assert_cmpuint(ub_ip_ecn(p, cfg), ==, to);
                    g_assert_null(ub_ip_get(p, 64, cfg, &info));
                    g_assert_cmphex(info.tos, ==, dscp << 2 | to);
                }
                ub_ip_put(p, UB_LPH_IPV4, &path, dscp, 1, 4);
                ub_ip_set_ecn(p, UB_LPH_IPV4, to);
                g_assert_cmphex(core_csum(p, 20), ==, 0xffff);
            }
        }
    }
    /* Others keep their neighbours. */
    memset(p, 0xff, sizeof(p));
    ub_ip_set_ecn(p, UB_LPH_IPV6, 4);
    g_assert_cmphex(get_be32(p), ==, 0xffcfffff);
}

/* ---- MTU, appendix F -------------------------------------------------------------- */

static void test_mtu(void)
{
    g_assert_cmpuint(ub_mtu_bytes(0), ==, 1024);
    g_assert_cmpuint(ub_mtu_bytes(1), ==, 4096);
    g_assert_cmpuint(ub_mtu_bytes(2), ==, 8192);
    for (unsigned i = 3; i < 8; i++) {
        g_assert_cmpuint(ub_mtu_bytes(i), ==, 0);
    }
    for (unsigned i = 0; i < 3; i++) {
        g_assert_cmpint(ub_mtu_code(ub_mtu_bytes(i)), ==, i);
    }
    g_assert_cmpint(ub_mtu_code(2048), ==, -1);
}

static void test_control(void)
{
    uint8_t guid[16], own[16], p[64];
    UbIpNotify n = { .cfg = UB_LPH_IPV4, .prefix = 24, .ip = { 10, 1, 2, 3 } };
    UbIpNotify back;

    ub_control_group(guid, UB_CONTROL_IP_NOTIFY);
    expect(guid, 16, "FFFFFFFFFFFFFFFFFFFFFFFFFFFF0102");
    memset(own, 0x11, 16);
    ub_control_put(p, UB_CONTROL_NPIC, guid, own);
    expect(p, 34, "0106 FFFFFFFFFFFFFFFFFFFFFFFFFFFF0102"
                  "11111111111111111111111111111111");
    g_assert_cmphex(ub_control_protocol(p), ==, 0x106);
    g_assert_cmpmem(ub_control_dguid(p), 16, guid, 16);
    g_assert_cmpmem(ub_control_sguid(p), 16, own, 16);

    g_assert_cmpuint(ub_ip_notify_put(p, &n), ==, 6);
    expect(p, 6, "10 18 0A010203");
    g_assert_true(ub_ip_notify_get(p, 6, &back));
    g_assert_cmpmem(&back, sizeof(back), &n, sizeof(n));
    g_assert_true(ub_ip_notify_get(p, 18, &back)); /* the longer form */
    g_assert_cmpmem(&back, sizeof(back), &n, sizeof(n));
    g_assert_false(ub_ip_notify_get(p, 5, &back));
    g_assert_false(ub_ip_notify_get(p, 1, &back));
    p[1] = 32;
    g_assert_true(ub_ip_notify_get(p, 6, &back));
    p[1] = 33;
    g_assert_false(ub_ip_notify_get(p, 6, &back));
    p[1] = 0;
    p[0] = 0x00;
    g_assert_false(ub_ip_notify_get(p, 18, &back));
    p[0] = 0x30;
    g_assert_false(ub_ip_notify_get(p, 18, &back));
    p[0] = 0x1f; /* reserved bits */
    g_assert_true(ub_ip_notify_get(p, 18, &back));

    n = (UbIpNotify) { .cfg = UB_LPH_IPV6, .prefix = 128, .ip = { 0xfe } };
    g_assert_cmpuint(ub_ip_notify_put(p, &n), ==, UB_IP_NOTIFY_MAX);
    g_assert_true(ub_ip_notify_get(p, 18, &back));
    g_assert_cmpmem(&back, sizeof(back), &n, sizeof(n));
    g_assert_false(ub_ip_notify_get(p, 17, &back));
    p[1] = 129;
    g_assert_false(ub_ip_notify_get(p, 18, &back));
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/ub/net/format/nth", test_nth);
    g_test_add_func("/ub/net/format/cci", test_cci);
    g_test_add_func("/ub/net/format/npi", test_npi);
    g_test_add_func("/ub/net/format/icrc-known", test_icrc_known);
    g_test_add_func("/ub/net/format/icrc-masks", test_icrc_masks);
    g_test_add_func("/ub/net/format/icrc-random", test_icrc_random);
    g_test_add_func("/ub/net/format/ip-put", test_ip_put);
    g_test_add_func("/ub/net/format/ip-get", test_ip_get);
    g_test_add_func("/ub/net/format/ecn", test_ecn);
    g_test_add_func("/ub/net/format/mtu", test_mtu);
    g_test_add_func("/ub/net/format/control", test_control);
    return g_test_run();
}
