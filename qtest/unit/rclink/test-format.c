/*
 * RC Link: frames, byte by byte.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "core/inet.h"
#include "rig.h"

#define DA UINT64_C(0x02000000000b)
#define SA UINT64_C(0x02000000000a)
#define PAYLOAD \
    "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f" \
    "202122232425262728292a2b2c2d2e2f303132333435363738393a3b3c3d3e3f"
#define REST \
    "060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f" \
    "202122232425262728292a2b2c2d2e2f303132333435363738393a3b3c3d3e3f"

static const RclRh req = {
    .opcode = RCL_OP_SEND, .fack = true, .ts_en = true, .ts = 0xbeef,
    .pkey = 0x5a, .len = 72, .psn = 0x123, .qp = 0xa5,
};
static const RclRh ack = {
    .opcode = RCL_OP_ACK, .ts_en = true, .ts = 0xbeef, .pkey = 0x5a,
    .len = RCL_SYN_ACK, .psn = 0x123, .qp = 0xa5,
};

/* What the receiver at the other end has. */
static RclLayout layout_of(RclFormat format, bool receiver)
{
    return (RclLayout) {
        .format = format, .gen1_tc = true, .icrc = true, .vlan_pri = true,
        .tpid = 0x8100, .tci = 0x064, .mac = receiver ? DA : SA,
        .mac_type1 = 0x88b5, .mac_type2 = 0x88b6, .ip = 0x0a000001,
        .ip_id = 0x1234, .ttl = 64, .type2_dport = 4792,
        .tc1 = { 0x4a, 0x4e, 0x46, 0x42 }, .tc2 = 0x3a, .vcs = 4,
    };
}

static RclHead head_of(const RclRh *rh)
{
    return (RclHead) {
        .kind = RCL_TYPE1, .da = DA, .tc = 0x4a, .tos = 0x4a, .pri = 3,
        .dip = 0x0a000002, .sport = 0xc000, .dport = RCL_UDP_PORT, .rh = *rh,
    };
}

static void fill(uint8_t *p, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        p[i] = i;
    }
}

static void assert_frame(const uint8_t *frame, size_t len, const char *hex)
{
    uint8_t want[RCL_FRAME_MAX];
    size_t n = rig_hex(hex, want);

    g_assert_cmpmem(frame, len, want, n);
}

/* ---- RH ---- */

static const struct {
    RclRh rh;
    const char *be, *le, *rfc;
} rh_table[] = {
    { { 0, true, 0, true, 0xbeef, 0x5a, 72, 0x123, 0xa5 },
      "21beef5a902460a5", "a56024905aefbe21", "052891c85abeef84" },
    { { 1, false, 0, true, 0xbeef, 0x5a, 0x1f, 0x123, 0xa5 },
      "41beef5a3e2460a5", "a560243e5aefbe41", "0528919f5abeef81" },
    { { 1, false, 0, false, 0, 0x5a, 0x60, 0x124, 0xa5 },
      "4000005ac02480a5", "a58024c05a000040", "052892605a000001" },
    { { 1, false, 0, false, 0, 0x5a, 0x21, 0x124, 0xa5 },
      "4000005a422480a5", "a58024425a000040", "052892215a000001" },
    { { 2, false, 0, false, 0, 0x5a, 0, 0, 0xa5 },
      "8000005a000000a5", "a50000005a000080", "052800005a000002" },
    { { 3, true, 3, true, 0xffff, 0xff, 0x7f, 0xfff, 0x1fff },
      "f9ffffffffffffff", "fffffffffffffff9", "ffffffffffffff9f" },
};

static bool same_rh(const RclRh *a, const RclRh *b)
{
    return a->opcode == b->opcode && a->fack == b->fack && a->pad == b->pad &&
           a->ts_en == b->ts_en && a->ts == b->ts && a->pkey == b->pkey &&
           a->len == b->len && a->psn == b->psn && a->qp == b->qp;
}

static void test_rh(void)
{
    for (size_t i = 0; i < G_N_ELEMENTS(rh_table); i++) {
        const char *const want[] = {
            rh_table[i].be, rh_table[i].le, rh_table[i].rfc,
        };

        for (RclRhOrder order = RCL_RH_BE; order <= RCL_RH_RFC; order++) {
            uint8_t p[8];
            RclRh back;

            rcl_rh_put(p, &rh_table[i].rh, order);
            assert_frame(p, 8, want[order]);
            rcl_rh_get(p, &back, order);
            g_assert_true(same_rh(&back, &rh_table[i].rh));
        }
    }
}

static void test_rh_random(void)
{
    g_autoptr(GRand) r = g_rand_new_with_seed(7);

    for (unsigned i = 0; i < 20000; i++) {
        uint64_t v = ((uint64_t)g_rand_int(r) << 32 | g_rand_int(r)) &
                     UINT64_C(0xf9ffffffffffffff);
        RclRhOrder order = i % 3;
        uint8_t p[8];
        RclRh rh, back;

        rcl_rh_unpack(v, &rh);
        g_assert_cmphex(rcl_rh_pack(&rh), ==, v);
        rcl_rh_put(p, &rh, order);
        rcl_rh_get(p, &back, order);
        g_assert_cmphex(rcl_rh_pack(&back), ==, v);
    }
}

/* ---- frames ---- */

static const struct {
    const char *name;
    RclFormat format;
    bool vlan, gen1_tc, slap, roce, icrc, is_ack;
    const char *hex;
} frame_table[] = {
    { "standard", RCL_STANDARD, .icrc = true, .hex =
      "02000000000b02000000000a0800 454a0068123440004011 1405"
      "0a0000010a000002 c00012b700540000 21beef5a902460a5" PAYLOAD
      "2fba502a" },
    { "standard-tag", RCL_STANDARD, .vlan = true, .icrc = true, .hex =
      "02000000000b02000000000a81006064 0800 454a0068123440004011 1405"
      "0a0000010a000002 c00012b700540000 21beef5a902460a5" PAYLOAD
      "2fba502a" },
    { "standard-no-icrc", RCL_STANDARD, .hex =
      "02000000000b02000000000a0800 454a0064123440004011 1409"
      "0a0000010a000002 c00012b700500000 21beef5a902460a5" PAYLOAD },
    { "standard-roce", RCL_STANDARD, .icrc = true, .roce = true, .hex =
      "02000000000b02000000000a0800 454a0068123440004011 1405"
      "0a0000010a000002 c00012b700540000 21beef5a902460a5" PAYLOAD
      "17c450b1" },
    { "gen1-tc", RCL_GEN1, .gen1_tc = true, .icrc = true, .hex =
      "02000000000b4a000000000a88b5 21beef5a902460a5" PAYLOAD "2fba502a" },
    { "gen1", RCL_GEN1, .vlan = true, .icrc = true, .hex =
      "02000000000b02000000000a8100606488b5 21beef5a902460a5" PAYLOAD
      "2fba502a" },
    { "gen2", RCL_GEN2, .icrc = true, .hex =
      "4a000102000b 82030405000a 88b5 21beef5a902460a5" REST "2fba502a" },
    { "gen2-slap", RCL_GEN2, .slap = true, .icrc = true, .hex =
      "82000102000b 4a030405000a 88b5 21beef5a902460a5" REST "2fba502a" },
    { "gen2-ack", RCL_GEN2, .icrc = true, .is_ack = true, .hex =
      "4a000000000b 82000000000a 88b5 41beef5a3e2460a5 b40a1f89"
      "00000000000000000000000000000000000000000000000000000000000000000000" },
    { "lite", RCL_LITE, .icrc = true, .hex =
      "4a000102000b 820304050029" REST },       /* Dest_QP a5 in four banks */
};

static void test_frames(void)
{
    uint8_t payload[64], out[RCL_FRAME_MAX], scratch[RCL_FRAME_MAX];

    fill(payload, sizeof(payload));
    for (size_t i = 0; i < G_N_ELEMENTS(frame_table); i++) {
        RclLayout l = layout_of(frame_table[i].format, false);
        RclHead h = head_of(frame_table[i].is_ack ? &ack : &req);
        size_t len = frame_table[i].is_ack ? 0 : sizeof(payload), n;
        bool lite = frame_table[i].format == RCL_LITE;
        RclView v;

        g_test_message("%s", frame_table[i].name);
        l.vlan = frame_table[i].vlan;
        l.gen1_tc = frame_table[i].gen1_tc;
        l.slap = frame_table[i].slap;
        l.icrc = frame_table[i].icrc;
        l.icrc_roce = frame_table[i].roce;
        n = rcl_frame_put(&l, &h, payload, len, out);
        assert_frame(out, n, frame_table[i].hex);
        if (!frame_table[i].is_ack) {
            g_assert_cmpuint(rcl_frame_bytes(&l, RCL_TYPE1, len), ==, n + 4);
            g_assert_cmpuint(rcl_header_bytes(&l), ==,
                             n - len - (l.icrc && !lite ? 4 : 0) +
                             rcl_moved(&l));
        }
        g_assert_cmpint(rcl_frame_get(&l, out, n, scratch, &v), ==, RCL_TAKE);
        g_assert_cmpint(v.kind, ==, RCL_TYPE1);
        g_assert_cmpmem(v.data, v.len, payload, len);
        g_assert_cmphex(v.da & 0xffff, ==, 0x0b);
        if (lite) {
            g_assert_cmpuint(v.bank, ==, 0);
        } else {
            g_assert_true(same_rh(&v.rh, &h.rh));
        }
    }
}

/* The longest frame of the Standard format, and what padding counts. */
static void test_sizes(void)
{
    RclLayout l = layout_of(RCL_STANDARD, false);

    g_assert_cmpuint(rcl_frame_bytes(&l, RCL_TYPE1, 1344), ==, 1402);
    g_assert_cmpuint(rcl_frame_bytes(&l, RCL_TYPE2, 1344), ==, 1398);
    l.vlan = true;
    g_assert_cmpuint(rcl_frame_bytes(&l, RCL_TYPE1, 1344), ==, 1406);
    l = layout_of(RCL_GEN1, false);
    g_assert_cmpuint(rcl_frame_bytes(&l, RCL_TYPE1, 0), ==, 64);
    g_assert_cmpuint(rcl_frame_bytes(&l, RCL_TYPE1, 65), ==,
                     22 + 68 + 4 + 4);
    l = layout_of(RCL_LITE, false);
    g_assert_cmpuint(rcl_frame_bytes(&l, RCL_TYPE1, 65), ==, 12 + 59 + 4);
}

/* Pkt_len is 127 at most, Pad is told apart from the MAC's padding. */
static void test_lengths(void)
{
    uint8_t payload[RCL_PAYLOAD_MAX], out[RCL_FRAME_MAX],
            scratch[RCL_FRAME_MAX];

    fill(payload, sizeof(payload));
    for (int f = 0; f < RCL_FORMATS; f++) {
        RclLayout l = layout_of(f, false);
        RclHead h = head_of(&req);

        for (size_t len = 6; len <= RCL_PAYLOAD_MAX; len += len < 200 ? 1 : 97) {
            size_t n = rcl_frame_put(&l, &h, payload, len, out);
            RclView v;

            if (f == RCL_LITE && len < RCL_PAYLOAD_MIN) {
                continue;       /* padding cannot be told apart */
            }
            g_assert_cmpint(rcl_frame_get(&l, out, n, scratch, &v), ==,
                            RCL_TAKE);
            g_assert_cmpmem(v.data, v.len, payload, len);
            if (f != RCL_LITE) {
                g_assert_cmpuint(v.rh.len, ==, len <= 119 ? len + 8 : 0);
                g_assert_cmpuint(v.rh.pad, ==, -len & 3);
            }
        }
    }
}

/* Every single bit of a frame: dropped, another frame, or one of the bits that
 * the ICRC leaves to switches. */
static void test_icrc_bits(void)
{
    uint8_t payload[64], out[RCL_FRAME_MAX], scratch[RCL_FRAME_MAX];

    fill(payload, sizeof(payload));
    for (int f = 0; f < RCL_LITE; f++) {
        RclLayout l = layout_of(f, false);
        RclHead h = head_of(&req);
        size_t n = rcl_frame_put(&l, &h, payload, sizeof(payload), out);
        size_t rh = rcl_header_bytes(&l) - RCL_RH_BYTES;

        for (size_t bit = 0; bit < n * 8; bit++) {
            RclVerdict verdict;
            RclView v;

            out[bit / 8] ^= 1 << bit % 8;
            verdict = rcl_frame_get(&l, out, n, scratch, &v);
            out[bit / 8] ^= 1 << bit % 8;
            if (bit / 8 >= rh) {
                g_assert_cmpint(v.kind, ==, RCL_TYPE1);
                g_assert_cmpint(verdict, !=, RCL_TAKE);
            } else if (verdict == RCL_TAKE && v.kind == RCL_TYPE1) {
                g_assert_cmpmem(v.data, v.len, payload, 64);
            }
        }
    }
}

/* ---- classification (RC Link §12.10) ---- */

static const struct {
    const char *name, *hex;
    RclFormat format;
    RclKind kind;
    RclVerdict verdict;
    bool no_port;               /* UDP_PORT_MEM2 is 0 */
} kinds[] = {
    { "4791", "ffffffffffff 02000000000a 0800 450000280000400040110000"
      "0a0000010a000002 c00012b700140000 8000005a000000a5 00000000",
      RCL_STANDARD, RCL_TYPE1, RCL_BAD_ICRC },
    { "type2 port", "ffffffffffff 02000000000a 0800 450000240000400040110000"
      "0a0000010a000002 c00012b800100000 0000005a100000a5 00000000",
      RCL_STANDARD, RCL_TYPE2, RCL_TAKE },
    { "type2 port in gen1", "ffffffffffff 02000000000a 0800"
      "4500002400004000401100000a0000010a000002 c00012b800100000"
      "0000005a100000a5 00000000", RCL_GEN1, RCL_TYPE2, RCL_TAKE },
    { "bad checksum", "ffffffffffff 02000000000a 0800"
      "45000024000040004011bad00a0000010a000002 c00012b800100000"
      "0000005a100000a5 00000000", RCL_STANDARD, RCL_TYPE2,
      RCL_BAD_IP_CSUM },
    { "total length", "ffffffffffff 02000000000a 0800"
      "4500012400004000401100000a0000010a000002 c00012b801100000"
      "0000005a100000a5 00000000", RCL_STANDARD, RCL_TYPE2,
      RCL_BAD_LENGTH },
    { "other port", "ffffffffffff 02000000000a 0800 450000240000400040110000"
      "0a0000010a000002 c00012b900100000 0000005a100000a5",
      RCL_STANDARD, RCL_TYPE3, RCL_TAKE },
    { "tcp", "ffffffffffff 02000000000a 0800 450000240000400040060000"
      "0a0000010a000002 c00012b700100000 0000005a100000a5",
      RCL_STANDARD, RCL_TYPE3, RCL_TAKE },
    { "fragment", "ffffffffffff 02000000000a 0800 450000240000200040110000"
      "0a0000010a000002 c00012b700100000 0000005a100000a5",
      RCL_STANDARD, RCL_TYPE3, RCL_TAKE },
    { "offset", "ffffffffffff 02000000000a 0800 450000240000000140110000"
      "0a0000010a000002 c00012b700100000 0000005a100000a5",
      RCL_STANDARD, RCL_TYPE3, RCL_TAKE },
    { "options", "ffffffffffff 02000000000a 0800 460000280000400040110000"
      "0a0000010a00000200000000 c00012b700100000 0000005a100000a5",
      RCL_STANDARD, RCL_TYPE3, RCL_TAKE },
    { "arp", "ffffffffffff 02000000000a 0806 0001", RCL_STANDARD, RCL_TYPE3,
      RCL_TAKE },
    { "type1", "02000000000b 02000000000a 88b5 0000005a100000a5 00000000",
      RCL_GEN1, RCL_TYPE1, RCL_BAD_ICRC },
    { "tagged type1", "02000000000b 02000000000a 81000001 88b5"
      "c000005a000000a5 00000000", RCL_GEN1, RCL_TYPE1, RCL_BAD_OPCODE },
    { "type2", "02000000000b 02000000000a 88b6 0000005a100000a5 00000000",
      RCL_GEN1, RCL_TYPE2, RCL_TAKE },
    { "short", "02000000000b 02000000000a 88b5 000000", RCL_GEN1, RCL_TYPE1,
      RCL_BAD_LENGTH },
    { "control", "0180c2000001 02000000000a 8808 0101", RCL_GEN1,
      RCL_CONTROL, RCL_TAKE },
    { "control in lite", "0180c2000001 02000000000a 8808 0101", RCL_LITE,
      RCL_CONTROL, RCL_TAKE },
    { "no key", "4a000102000b 02030405000a 88b5 21beef5a902460a5 00000000",
      RCL_GEN2, RCL_TYPE1, RCL_BAD_KEY },
    { "lite bank 1", "4f000102000b 82030405000a 0000", RCL_LITE, RCL_TYPE1,
      RCL_TAKE },
    { "lite type2", "38000102000b 83030405000a 0000", RCL_LITE, RCL_TYPE2,
      RCL_TAKE },
    { "lite other", "ff000102000b 82030405000a 0000", RCL_LITE, RCL_TYPE3,
      RCL_TAKE },
    { "lite no key", "4a000102000b 02030405000a 0000", RCL_LITE, RCL_TYPE3,
      RCL_TAKE },
    { "udp port 0", "02000000000b 02000000000a 0800"
      "4500002400004000401100000a0000010a000002 0000000000100000"
      "0000005a100000a5", RCL_STANDARD, RCL_TYPE3, RCL_TAKE, .no_port = true },
    { "lite no key, type2", "38000102000b 7f030405000a 0000", RCL_LITE, RCL_TYPE3,
      RCL_TAKE },
    { "runt", "4a000102000b 02030405000a 00", RCL_LITE, RCL_TYPE3,
      RCL_BAD_LENGTH },
};

static void test_kinds(void)
{
    for (size_t i = 0; i < G_N_ELEMENTS(kinds); i++) {
        RclLayout l = layout_of(kinds[i].format, true);
        uint8_t frame[256], scratch[RCL_FRAME_MAX];
        size_t n = rig_hex(kinds[i].hex, frame);
        RclVerdict verdict;
        RclView v;

        g_test_message("%s", kinds[i].name);
        l.type2_dport = kinds[i].no_port ? 0 : l.type2_dport;
        if (n > 34 && get_be16(frame + 12) == 0x0800 &&
            kinds[i].verdict != RCL_BAD_IP_CSUM) {
            put_be16(frame + 24, core_csum_done(core_csum_add(0, frame + 14,
                                                              20)));
        }
        verdict = rcl_frame_get(&l, frame, n, scratch, &v);
        g_assert_cmpint(v.kind, ==, kinds[i].kind);
        g_assert_cmpint(verdict, ==, kinds[i].verdict);
    }
}

static void expect(const RclLayout *l, const uint8_t *frame, size_t n, const RclRh *rh,
                   RclVerdict want)
{
    uint8_t copy[RCL_FRAME_MAX], scratch[RCL_FRAME_MAX];
    RclView v;

    memcpy(copy, frame, n);
    rcl_rh_put(copy + rcl_header_bytes(l) - RCL_RH_BYTES, rh, RCL_RH_BE);
    g_assert_cmpint(rcl_frame_get(l, copy, n, scratch, &v), ==, want);
}

/* A Pkt_len that the frame contradicts; an ACK with a payload (RC Link §12.3.5). */
static void test_contradictions(void)
{
    uint8_t payload[1344], out[RCL_FRAME_MAX], scratch[RCL_FRAME_MAX];
    RclLayout l = layout_of(RCL_GEN1, false);
    RclHead h = head_of(&req);
    RclView v;
    RclRh rh;
    size_t n;

    fill(payload, sizeof(payload));
    l.icrc = false;
    n = rcl_frame_put(&l, &h, payload, 64, out);
    rcl_rh_get(out + 14, &rh, RCL_RH_BE);
    for (unsigned len = 0; len < 128; len++) {
        rh.len = len;
        expect(&l, out, n, &rh, len == 72 ? RCL_TAKE : RCL_BAD_LENGTH);
    }
    /* Padded by the MAC to 60, and a tagged one perhaps to 64 bytes: the rest of it
     * is nothing.  0 is more than 127. */
    for (unsigned size = 60; size <= 65; size++) {
        for (unsigned len = 0; len < 128; len++) {
            rh.len = len;
            expect(&l, out, size, &rh,
                   size < 65 && len >= 8 && len <= size - 14 && !(len % 4)
                   ? RCL_TAKE : RCL_BAD_LENGTH);
        }
        rh = ack;
        expect(&l, out, size, &rh, size < 65 ? RCL_TAKE : RCL_BAD_LENGTH);
        rcl_rh_get(out + 14, &rh, RCL_RH_BE);
    }
    for (unsigned len = 117; len <= 124; len++) {
        n = rcl_frame_put(&l, &h, payload, len, out);
        rcl_rh_get(out + 14, &rh, RCL_RH_BE);
        g_assert_cmpuint(rh.len, ==, len <= 119 ? len + 8 : 0);
        expect(&l, out, n, &rh, RCL_TAKE);
        rh.len = 0;
        expect(&l, out, n, &rh, len <= 119 ? RCL_BAD_LENGTH : RCL_TAKE);
    }
    n = rcl_frame_put(&l, &h, payload, 1341, out);
    g_assert_cmpint(rcl_frame_get(&l, out, n, scratch, &v), ==, RCL_TAKE);
    g_assert_cmpuint(v.len, ==, 1341);
    g_assert_cmpint(rcl_frame_get(&l, out, n - 1, scratch, &v), ==,
                    RCL_BAD_LENGTH);
    g_assert_cmpint(rcl_frame_get(&l, out, 22, scratch, &v), ==,
                    RCL_BAD_LENGTH);
    /* In UDP there is no padding that could excuse it. */
    l = layout_of(RCL_STANDARD, false);
    l.icrc = false;
    n = rcl_frame_put(&l, &h, payload, 64, out);
    rh = ack;
    rcl_rh_put(out + 42, &rh, RCL_RH_BE);
    g_assert_cmpint(rcl_frame_get(&l, out, n, scratch, &v), ==,
                    RCL_BAD_LENGTH);
    rh = req;
    rh.len = 68;
    rcl_rh_put(out + 42, &rh, RCL_RH_BE);
    g_assert_cmpint(rcl_frame_get(&l, out, n, scratch, &v), ==,
                    RCL_BAD_LENGTH);
}

/* The opcodes are TYPE1's: a frame of TYPE2 is a request (RC Link §12.3.5). */
static void test_type2_opcode(void)
{
    uint8_t payload[64], out[RCL_FRAME_MAX];

    fill(payload, sizeof(payload));
    for (int f = 0; f < RCL_LITE; f++) {
        RclLayout l = layout_of(f, true);
        RclHead h = head_of(&req);
        RclRh rh;
        size_t n;

        h.kind = RCL_TYPE2;
        h.dport = 4792;
        n = rcl_frame_put(&l, &h, payload, 64, out);
        rh = h.rh;
        expect(&l, out, n, &rh, RCL_TAKE);
        for (rh.opcode = RCL_OP_ACK; rh.opcode <= RCL_OP_RESERVED; rh.opcode++) {
            expect(&l, out, n, &rh, RCL_BAD_OPCODE);
        }
    }
}

/* Congestion is seen in Standard alone. */
static void test_ecn(void)
{
    uint8_t payload[64], out[RCL_FRAME_MAX], scratch[RCL_FRAME_MAX];

    fill(payload, sizeof(payload));
    for (unsigned ecn = 0; ecn < 4; ecn++) {
        for (int f = 0; f < RCL_FORMATS; f++) {
            RclLayout l = layout_of(f, false);
            RclHead h = head_of(&req);
            RclView v;
            size_t n;

            h.tc = h.tos = 0x48 | ecn;
            n = rcl_frame_put(&l, &h, payload, 64, out);
            g_assert_cmpint(rcl_frame_get(&l, out, n, scratch, &v), ==,
                            RCL_TAKE);
            g_assert_cmpint(v.ce, ==, f == RCL_STANDARD && ecn == 3);
        }
    }
}

/* Variants: UDP checksum, the source's number in Lite, PRI 0. */
static void test_variants(void)
{
    uint8_t payload[64], out[RCL_FRAME_MAX], scratch[RCL_FRAME_MAX];
    RclLayout l = layout_of(RCL_STANDARD, false);
    RclHead h = head_of(&req);
    RclView v;
    size_t n;

    fill(payload, sizeof(payload));
    l.udp_csum_ffff = true;
    l.vlan = true;
    l.vlan_pri = false;
    rcl_frame_put(&l, &h, payload, 64, out);
    g_assert_cmphex(get_be16(out + 18 + 26), ==, 0xffff);
    g_assert_cmphex(get_be32(out + 12), ==, 0x81000064);
    l = layout_of(RCL_LITE, false);
    l.lite_high = true;
    l.mac = 0x2a5;
    n = rcl_frame_put(&l, &h, payload, 64, out);
    assert_frame(out, 12, "4a000102000b 820a400002a5");
    g_assert_cmpuint(n, ==, 12 + 61);
    g_assert_cmpint(rcl_frame_get(&l, out, n, scratch, &v), ==, RCL_TAKE);
    g_assert_cmpmem(v.data, v.len, payload, 64);
    g_assert_cmphex(v.sa >> 30 & 0x3ff, ==, 0xa5 >> 2);
    /* TYPE2: multicast key, no ICRC. */
    l = layout_of(RCL_GEN2, false);
    h.kind = RCL_TYPE2;
    n = rcl_frame_put(&l, &h, payload, 64, out);
    g_assert_cmphex(out[6], ==, RCL_KEY_TYPE2);
    g_assert_cmphex(get_be16(out + 12), ==, 0x88b6);
    g_assert_cmpuint(n, ==, 80);
}

static void test_fuzz(void)
{
    g_autoptr(GRand) r = g_rand_new_with_seed(3);
    uint8_t frame[RCL_FRAME_MAX + 512], scratch[RCL_WIRE_MAX];

    for (unsigned i = 0; i < 100000; i++) {
        RclLayout l = layout_of(g_rand_int_range(r, 0, 4), true);
        size_t n = g_rand_int_range(r, 0, i % 50 ? 90 : sizeof(frame));
        RclView v;

        for (size_t k = 0; k < n; k++) {
            frame[k] = g_rand_int(r);
        }
        if (n > 40 && i & 1) {
            rig_hex(i & 2 ? "880888b5" : "08004500", frame + 12);
            frame[23] = 17;
            put_be16(frame + 36, i & 4 ? 4791 : 4792);
            put_be16(frame + 16, n - 14);
            put_be16(frame + 38, n - 34);
        }
        if (rcl_frame_get(&l, frame, n, scratch, &v) == RCL_TAKE &&
            v.kind <= RCL_TYPE2) {
            g_assert_cmpuint(v.len, <=, n + RCL_MOVED_MAX);
        }
    }
}

/* A stencil makes the frames that are made without one, whatever else it was
 * used for before. */
static void test_stencil(void)
{
    g_autoptr(GRand) rand = g_rand_new_with_seed(3);
    uint8_t payload[RCL_PAYLOAD_MAX], want[RCL_FRAME_MAX], got[RCL_FRAME_MAX];

    for (size_t i = 0; i < sizeof(payload); i++) {
        payload[i] = g_rand_int(rand);
    }
    for (unsigned i = 0; i < 2000; i++) {
        RclLayout l = layout_of(i % RCL_FORMATS, false);
        size_t len = g_rand_int_range(rand, 64, i & 1 ? 140 : RCL_PAYLOAD_MAX);
        RclHead h = head_of(&req), first = h;
        RclStencil s;

        l.vlan = g_rand_boolean(rand);
        l.icrc = g_rand_boolean(rand);
        l.icrc_roce = g_rand_boolean(rand);
        l.gen1_tc = g_rand_boolean(rand);
        l.rh_order = g_rand_int_range(rand, RCL_RH_BE, RCL_RH_RFC + 1);
        first.rh.psn = first.rh.ts = 0;
        first.rh.fack = false;
        if (!rcl_stencil_cut(&l, &first, len, &s)) {
            g_assert_cmpuint(l.format, >=, RCL_GEN2);
            continue;
        }
        g_assert_cmpuint(l.format, <, RCL_GEN2);
        for (unsigned k = 0; k < 3; k++) {
            size_t n, m;

            s.rh.psn = h.rh.psn = g_rand_int_range(rand, 0, 4096);
            s.rh.ts = h.rh.ts = g_rand_int(rand);
            s.rh.fack = h.rh.fack = g_rand_boolean(rand);
            n = rcl_frame_put(&l, &h, payload + k, len, want);
            memset(got, 0xa5, sizeof(got));
            m = rcl_stencil_put(&l, &s, payload + k, got);
            g_assert_cmpmem(got, m, want, n);
        }
    }
}

/* The IPv4 header's checksum is the house's, whatever words there are: among these
 * addresses are those that make it 0. */
static void test_checksum(void)
{
    uint8_t payload[64], out[RCL_FRAME_MAX];
    RclLayout l = layout_of(RCL_STANDARD, false);
    RclHead h = head_of(&req);
    unsigned zero = 0;

    fill(payload, sizeof(payload));
    for (uint32_t i = 0; i < 0x20000; i++) {
        uint16_t sum;

        h.dip = i < 0x10000 ? i : i * 0x9e3779b1u;
        l.ip = i < 0x10000 ? 0xffffffff : i * 0x85ebca6bu;
        rcl_frame_put(&l, &h, payload, sizeof(payload), out);
        sum = get_be16(out + 24);
        put_be16(out + 24, 0);
        g_assert_cmphex(sum, ==, core_csum_done(core_csum_add(0, out + 14, 20)));
        zero += !sum;
    }
    g_assert_cmpuint(zero, >, 0);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/rclink/format/rh", test_rh);
    g_test_add_func("/rclink/format/rh-random", test_rh_random);
    g_test_add_func("/rclink/format/frames", test_frames);
    g_test_add_func("/rclink/format/checksum", test_checksum);
    g_test_add_func("/rclink/format/sizes", test_sizes);
    g_test_add_func("/rclink/format/lengths", test_lengths);
    g_test_add_func("/rclink/format/icrc-bits", test_icrc_bits);
    g_test_add_func("/rclink/format/kinds", test_kinds);
    g_test_add_func("/rclink/format/contradictions", test_contradictions);
    g_test_add_func("/rclink/format/type2-opcode", test_type2_opcode);
    g_test_add_func("/rclink/format/ecn", test_ecn);
    g_test_add_func("/rclink/format/variants", test_variants);
    g_test_add_func("/rclink/format/fuzz", test_fuzz);
    g_test_add_func("/rclink/format/stencil", test_stencil);
    return g_test_run();
}
