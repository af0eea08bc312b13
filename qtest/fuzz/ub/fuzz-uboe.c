/*
 * Fuzzer of UB over Ethernet: frames of hostile stations, packets of a network layer
 * that forwards anything, settings, time.
 *
 * The input is a little program: a byte of options, then steps of an opcode, its
 * parameters and bytes.  Checksums may be mended, or nothing would get past them.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <glib.h>
#include <string.h>

#include "core/inet.h"
#include "ub/uboe.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const uint8_t *in, *in_end;
static CorePacketPool *pool;
static UbUboe *uboe;
static unsigned answers;

static unsigned next(void)
{
    return in < in_end ? *in++ : 0;
}

static bool op_send(void *opaque, const uint8_t *frame, uint32_t len)
{
    g_assert_cmpuint(len, >=, 60);
    g_assert_cmpuint(len, <=, UB_UBOE_FRAME_MAX);
    g_assert_cmpuint(frame[6] & 1, ==, 0);
    return ++answers % 5;
}

/* What goes to the network layer is a whole packet. */
static void op_rx(void *opaque, int64_t now, CorePacket *pkt, unsigned dscp)
{
    UbIpInfo info;

    g_assert_cmpuint(dscp, <, 64);
    g_assert_true(ub_lph_is_ip(ub_meta(pkt)->lph_cfg));
    g_assert_null(ub_ip_get(core_packet_data(pkt) + UB_IPEXT_SIZE,
                            pkt->len - UB_IPEXT_SIZE, ub_meta(pkt)->lph_cfg,
                            &info));
    g_assert_cmpuint(info.total, <=, pkt->len - UB_IPEXT_SIZE);
    g_assert_true(ub_npi_valid(ub_ipext_npi(core_packet_data(pkt))));
    core_packet_free(pkt);
}

static bool op_ours(void *opaque, unsigned cfg, const uint8_t *ip)
{
    return ip[cfg == UB_LPH_IPV4 ? 3 : 15] & 1;
}

static void op_kick(void *opaque)
{
}

static const UbUboeOps ops = { op_send, op_rx, op_ours, op_kick, NULL };

/* Up to 511 bytes; of IPv4 at @at, and of Neighbour Discovery, the checksum is
 * right. */
static unsigned fill(uint8_t *p, unsigned at, bool mend)
{
    unsigned len = next() | (next() & 1) << 8, end;

    for (unsigned i = 0; i < len; i++) {
        p[i] = next();
    }
    if (!mend || len < at + 64) {
        return len;
    }
    if (p[at] >> 4 == 4) {
        end = (p[at] & 15) * 4;
        put_be16(p + at + 10, 0);
        put_be16(p + at + 10, core_csum_done(core_csum_add(0, p + at, end)));
    } else if (p[at + 6] == 58) {
        unsigned n = MIN(get_be16(p + at + 4), len - at - 40);
        uint16_t sum = core_csum_join(core_csum(p + at + 8, 32), n + 58);

        put_be16(p + at + 4, n);
        p[at + 7] = 255;
        if (n >= 4) {
            put_be16(p + at + 42, 0);
            sum = core_csum_join(sum, core_csum(p + at + 40, n));
            put_be16(p + at + 42, (uint16_t)~sum);
        }
    }
    return len;
}

static void send_packet(int64_t now)
{
    CorePacket *pkt = core_packet_alloc(pool, 511);
    unsigned cfg = 3 + next() % 3, len;
    uint8_t *p = core_packet_data(pkt);

    len = fill(p, UB_IPEXT_SIZE, false);
    core_packet_trim(pkt, 511 - len);
    ub_meta(pkt)->lph_cfg = cfg;
    ub_uboe_send(uboe, now, pkt);
}

static void step(int64_t now)
{
    uint8_t bytes[512], ip[16] = { 10, 0, 0, next() }, mac[6] = { 2 };
    unsigned what = next(), len;
    UbUboeConfig conf;

    switch (what & 15) {
    default:
        len = fill(bytes, what & 32 ? 18 : 14, what & 16);
        if (what & 64 && len > 14) {
            memcpy(bytes, ub_uboe_config(uboe)->mac, 6);
        }
        ub_uboe_rx(uboe, now, bytes, len);
        break;
    case 8:
    case 9:
        send_packet(now);
        break;
    case 10:
        ub_uboe_link(uboe, what & 16);
        break;
    case 11:
        ub_uboe_reset(uboe);
        break;
    case 12:
        ub_uboe_vlan_set(uboe, next() | (what & 0x10) << 8, next());
        break;
    case 13:
        mac[5] = next();
        ub_uboe_neighbour_set(uboe, now, what >> 7, UB_LPH_IPV4, ip,
                              what & 16 ? mac : NULL);
        break;
    case 14:
        ub_uboe_route_set(uboe, UB_LPH_IPV4, ip, next() % 40,
                          what & 16 ? ip : NULL, what & 32);
        break;
    case 15:
        conf = *ub_uboe_config(uboe);
        conf.vlans = what & 16;
        conf.mtu = 1280 + next();
        conf.npi = next();
        ub_uboe_configure(uboe, &conf);
        break;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    UbUboeConfig conf;
    unsigned options;
    int64_t now = 0;

    in = data;
    in_end = data + size;
    options = next();
    answers = 0;
    ub_uboe_config_init(&conf);
    conf.mac[0] = 2;
    conf.vlans = options & 1;
    conf.plain = options & 2;
    conf.icrc = options & 4;
    conf.ecn = options & 8;
    conf.answer = options & 16;
    conf.age = 5000;
    conf.retry = 1500;
    pool = core_packet_pool_new(UB_PACKET_HEADROOM, 0);
    uboe = ub_uboe_new(&conf, pool, &ops, NULL);
    ub_uboe_link(uboe, true);
    while (in < in_end) {
        step(now);
        now += 700;
        g_assert_cmpint(ub_uboe_run(uboe, now), >, now);
        g_assert_cmpuint(core_packet_pool_used(pool), <=, 256);
    }
    ub_uboe_free(uboe);
    g_assert_cmpuint(core_packet_pool_used(pool), ==, 0);
    core_packet_pool_free(pool);
    return 0;
}
