/*
 * Fuzzer of a switch: bytes on the wire of one port, packets of a host that has a
 * link at another.
 *
 * The input is a little program.  Whatever comes, the other links stay up, the host
 * behind one of them is still reached by what it is told to go on with, and all
 * packets come back to their pools.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <stdint.h>
#include <stdlib.h>

#include "switch-bed.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { WIRE = 2, STEPS = 128, LONGEST = 1024, TURN = 20000 };

static const uint8_t *at, *end;
static bool connected;

static uint64_t next(unsigned bytes)
{
    uint64_t v = 0;

    for (unsigned i = 0; i < bytes; i++) {
        v |= (uint64_t)(at < end ? *at++ : 0) << 8 * i;
    }
    return v;
}

static unsigned next_bytes(uint8_t *buf)
{
    unsigned len = next(2) % LONGEST;

    for (unsigned i = 0; i < len; i++) {
        buf[i] = next(1);
    }
    return len;
}

static void to_wire(const uint8_t *data, size_t len)
{
    if (connected) {
        ub_switch_wire_receive(sw, now, WIRE, data, len);
    }
}

static void do_bytes(void)
{
    uint8_t buf[LONGEST];

    to_wire(buf, next_bytes(buf));
}

/* What the switch has sent there comes back, with a byte changed: it has the form of
 * what a peer sends. */
static void do_echo(void)
{
    GByteArray *sent = hosts[WIRE].in;
    unsigned place = next(2), value = next(1);
    g_autofree uint8_t *copy = g_memdup2(sent->data, sent->len);
    guint len = sent->len;

    g_byte_array_set_size(sent, 0);
    if (len) {
        copy[place % len] ^= value;
        to_wire(copy, len);
    }
}

static void do_plug(void)
{
    connected = !connected;
    g_byte_array_set_size(hosts[WIRE].in, 0);
    if (connected) {
        ub_switch_wire_connected(sw, now, WIRE);
    } else {
        ub_switch_wire_disconnected(sw, now, WIRE);
    }
}

/* A packet of the host, of any CFG, behind nobody's checks. */
static void do_packet(void)
{
    static const uint8_t cfgs[] = { UB_LPH_IPV4, UB_LPH_IPV6, UB_LPH_CONTROL,
                                    UB_LPH_CNA16, UB_LPH_CNA24,
                                    UB_LPH_BYPASS };
    unsigned bits = next(1);
    uint8_t buf[LONGEST];
    unsigned len = next_bytes(buf);
    CorePacket *pkt = core_packet_alloc(hosts[0].pool, len);

    memcpy(core_packet_data(pkt), buf, len);
    *ub_meta(pkt) = (UbPktMeta) {
        .lph_cfg = cfgs[bits % G_N_ELEMENTS(cfgs)], .rt = bits >> 6,
        .vl = bits >> 3 & 1,
    };
    if (ub_port_send(hosts[0].port, now, pkt) != UB_PORT_SENT) {
        core_packet_free(pkt);
    }
}

static void do_run(void)
{
    run((int64_t)next(1) * 1000 + 1);
}

/* The second host sends to the first, which no route of anybody's making changes:
 * the switch is told its route again. */
static void alive(void)
{
    UbFlow flow;
    CorePacket *pkt = core_packet_alloc(hosts[1].pool, 64);

    ub_net_route_set(ub_switch_net(sw), 1, 1);
    ub_flow_init(&flow, UB_LPH_CNA16);
    flow.dcna = 1;
    memset(core_packet_data(pkt), 0x11, 64);
    forget(&hosts[0]);
    if (ub_net_send(hosts[1].net, now, &flow, pkt) != UB_SENT) {
        abort();
    }
    run(20 * TURN);
    if (!hosts[0].got.length) {
        abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static void (*const steps[])(void) = {
        do_bytes, do_echo, do_packet, do_packet, do_run, do_plug,
    };

    at = data;
    end = data + size;
    connected = false;
    hosts[WIRE].in = g_byte_array_new();
    setup(3, 2);
    do_plug();
    for (unsigned i = 0; i < STEPS && at < end; i++) {
        steps[next(1) % G_N_ELEMENTS(steps)]();
        run(TURN);
        forget(&hosts[1]);
        forget(&hosts[0]);
    }
    if (!ub_port_dll_up(hosts[0].port) || !ub_port_dll_up(hosts[1].port)) {
        abort();
    }
    alive();
    if (connected) {
        do_plug();
    }
    teardown();
    g_byte_array_unref(hosts[WIRE].in);
    return 0;
}
