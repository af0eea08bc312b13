/*
 * Fuzzer of the network layer: packets of hostile peers and of own software,
 * ports that come and go, registers, images.
 *
 * The input is a little program: a byte of options, then steps of an opcode, its
 * parameters and bytes.  Packets may be sealed with a good ICRC, or none would get
 * past it.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <glib.h>

#include "ub/border.h"
#include "ub/net.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { PORTS = 3 };

typedef struct Input {
    const uint8_t *p, *end;
} Input;

static Input in;
static CorePacketPool *pool;
static UbNet *net;
static uint32_t full; /* bit port * 8 + VL */

static unsigned next(void)
{
    return in.p < in.end ? *in.p++ : 0;
}

static bool op_room(void *opaque, unsigned port, unsigned vl)
{
    return !(full >> (port * 8 + vl % 8) & 1);
}

static bool op_send(void *opaque, unsigned port, CorePacket *pkt)
{
    if (pkt->len % 7 == 3) {
        return false;
    }
    core_packet_free(pkt);
    return true;
}

static void op_kick(void *opaque)
{
}

static const UbNetOps ops = { .room = op_room, .send = op_send,
                              .kick = op_kick, .border = ub_border_judge };

/* Some answer where they came from, in the bytes that came. */
static void up_rx(void *opaque, int64_t now, CorePacket *pkt,
                  const UbFlow *flow)
{
    UbFlow f;

    if (pkt->len % 3 || flow->cfg == UB_LPH_CONTROL) {
        core_packet_free(pkt);
        return;
    }
    ub_flow_reply(&f, flow);
    if (ub_net_send(net, now, &f, pkt) == UB_BUSY) {
        core_packet_free(pkt);
    }
}

static const UbNetUpper upper = { up_rx, NULL };

static CorePacket *packet(unsigned cfg, bool seal)
{
    unsigned len = next() | (next() & 1) << 8;
    unsigned skip = ub_lph_is_ip(cfg) ? UB_IPEXT_SIZE : 0;
    CorePacket *pkt = core_packet_alloc(pool, len);
    uint8_t *p = core_packet_data(pkt);

    for (unsigned i = 0; i < len; i++) {
        p[i] = next();
    }
    if (seal && len > skip + UB_ICRC_SIZE) {
        ub_icrc_put(p + len - UB_ICRC_SIZE,
                    ub_icrc(cfg, p + skip, len - skip - UB_ICRC_SIZE));
    }
    ub_meta(pkt)->lph_cfg = cfg;
    return pkt;
}

static void send_flow(int64_t now)
{
    UbFlow f;
    CorePacket *pkt;

    ub_flow_init(&f, next() & 15);
    f.rt = next() & 3;
    f.sl = next();
    f.nlp = next();
    f.dcna = next();
    f.scna = next() & 3;
    f.port = next();
    f.vl = next();
    f.npi = next();
    f.ip.dst[0] = next();
    pkt = packet(0, false);
    if (ub_net_send(net, now, &f, pkt) == UB_BUSY) {
        core_packet_free(pkt);
    }
}

/* Save everything, change a few bytes, load it again. */
static void bend_image(int64_t now)
{
    CoreImage *im = core_image_save(now);
    uint8_t *data;
    size_t len;

    ub_net_image(net, im);
    data = core_image_take(im, &len);
    core_image_free(im);
    for (unsigned n = next() & 3; n; n--) {
        data[(next() << 8 | next()) % len] = next();
    }
    im = core_image_load(data, len, now);
    ub_net_image(net, im);
    core_image_free(im);
    g_free(data);
}

static void step(UbSpace *space, int64_t now)
{
    unsigned what = next(), port = what >> 4 & 3, cfg;
    CorePacket *pkt;

    port = MIN(port, PORTS - 1);
    switch (what & 15) {
    default:
        cfg = next();
        pkt = packet(cfg & 15, cfg & 16);
        ub_meta(pkt)->rt = cfg >> 5 & 3;
        ub_meta(pkt)->error = (cfg & 0xe0) == 0xe0;
        ub_meta(pkt)->vl = next() & 7;
        ub_net_rx(net, now, port, pkt);
        break;
    case 8:
        pkt = packet(next() & 15, false);
        ub_meta(pkt)->vl = next();
        if (ub_net_send_raw(net, now, next(), pkt) == UB_BUSY) {
            core_packet_free(pkt);
        }
        break;
    case 9:
        send_flow(now);
        break;
    case 10:
        full = next() | next() << 8 | next() << 16;
        for (unsigned vl = 0; vl < 8; vl++) {
            ub_net_room(net, now, port, vl);
        }
        break;
    case 11:
        ub_net_port_state(net, now, port, next());
        break;
    case 12:
        ub_space_write(space, now, UB_CFG_ROUTE_BASE + next(), next(), 0xf);
        break;
    case 13:
        bend_image(now);
        break;
    case 14:
        ub_net_set_primary(net, next());
        ub_net_set_port_cna(net, port, next());
        break;
    case 15:
        ub_net_reset(net, now);
        break;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const uint8_t ip[16] = { 10 };
    UbSpace *space = ub_space_new(PORTS);
    UbNetConfig conf;
    int64_t now = 0;
    unsigned options;

    in = (Input) { data, data + size };
    options = next();
    full = 0;
    ub_net_config_init(&conf);
    conf.ports = PORTS;
    conf.forward = options & 1;
    conf.npi_mode = (options >> 1 & 3) % 3;
    conf.fecn = conf.caqm = options & 8;
    conf.fecn_light = conf.fecn_heavy = conf.caqm_congested = 100;
    conf.watchdog = options & 16 ? 5000 : 0;
    conf.ecn_copy = options & 32;
    conf.icrc_transit = options & 64;
    conf.queue_limit = 500;
    conf.transit_limit = options & 128 ? 1000 : 0;
    conf.route_entries = 32;
    conf.border_ports = 1u << (PORTS - 1);
    conf.border_plain = options & 4;
    pool = core_packet_pool_new(UB_PACKET_HEADROOM, 0);
    net = ub_net_new(&conf, &ops, NULL);
    ub_net_attach(net, space);
    for (unsigned i = 0; i < UB_NET_UPPERS; i++) {
        ub_net_set_upper(net, i, &upper, NULL);
    }
    for (unsigned i = 0; i < PORTS; i++) {
        ub_net_port_state(net, 0, i, 0xff);
    }
    ub_net_set_primary(net, 1);
    ub_net_ip_add(net, UB_LPH_IPV4, ip);
    while (in.p < in.end) {
        step(space, now);
        now += 700;
        ub_net_run(net, now, 50);
    }
    ub_net_free(net);
    g_assert_cmpuint(core_packet_pool_used(pool), ==, 0);
    core_packet_pool_free(pool);
    ub_space_free(space);
    return 0;
}
