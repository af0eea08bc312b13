/*
 * Scans by linux/ub/scan.c of nodes that say what they like.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <glib.h>
#include <stddef.h>
#include <linux/slab.h>

#include "ub/ubc_hw.h"
#include "../../../linux/ub/ub_msg_uapi.h"

/* What bus.h and its own declare, without the kernel. */
#define BUS_H
#define UB_MAX_HOPS 16

struct ub_link {
    bool up, boundary;
    u16 peer_port;
    u32 peer_guid[4];
};

struct ub_entity_info {
    u32 guid[4], eid[4], cna;
    u16 upi, class_code, index, entities, ports;
};

struct ub_node {
    struct list_head list;
    struct ub_entity_info info;
    u8 hops, forward[UB_MAX_HOPS], back[UB_MAX_HOPS];
    struct ub_link *link;
};

struct ub_core {
    void *bar;
    unsigned ports;
};

struct ub_msg_client;

struct ub_fabric {
    struct ub_core *core;
    struct ub_msg_client *client;
};

static int ub_msg_call(struct ub_msg_client *client, struct ub_msg *msg,
                       u8 *data);

static u32 ub_config_read(struct ub_core *core, u32 dw)
{
    return 0;
}

static u32 ub_rd(void *bar, u32 reg)
{
    return 0;
}


int ub_scan_config(struct ub_fabric *fabric, u32 cna, unsigned entity, u32 dw,
                   bool write, u8 bytes, u32 *value);
int ub_scan_lent(struct ub_fabric *fabric, const struct ub_entity_info *info,
                 u32 dw, bool write, u8 bytes, u32 *value);
int ub_scan_nodes(struct ub_fabric *fabric, struct list_head *nodes);
void ub_scan_free(struct list_head *nodes);

#include "../../../linux/ub/scan.c"

/* ---- The other nodes ---------------------------------------------------------------- */

enum { SWITCH_TYPE = 3 };

static struct {
    /* TLVs of an answer's slice into @p, with room for @room: their length. */
    unsigned (*say)(unsigned hops, unsigned slice, u8 *p, unsigned room);
    u32 entities;
    unsigned asked, silent;
    GRand *rand;
    /* The last one about a register. */
    struct ub_msg msg;
    u8 data[20];
} world;

static u8 *tlv(u8 *p, u8 type, u8 len)
{
    memset(p, 0, len);
    p[0] = type;
    p[1] = len;
    return p + len;
}

static u8 *tlv_ports(u8 *p, u16 ports)
{
    u8 *end = tlv(p, TLV_PORTS, 8);

    put_be16(p + 2, ports);
    return end;
}

static u8 *tlv_port(u8 *p, u16 index, u8 type, u32 serial)
{
    u8 *end = tlv(p, TLV_PORT, 28);

    p[2] = 1;
    put_be16(p + 4, index);
    put_be32(p + 12, serial);           /* bits 31:0 of the GUID first */
    put_be32(p + 20, type << 24);
    return end;
}

/* A node is silent if its GUID's number ends in 7777. */
static int scan_answer(struct ub_msg *msg, u8 *data)
{
    unsigned hops = data[2], path = ALIGN(hops, 4);
    u8 *ask = data + 4 + 2 * path, *pdu = data + 4 + path;
    unsigned cmd = ask[1], slice = ask[3];
    u32 guid[4], room = UB_MSG_MAX - 4 - path - PDU_SIZE;

    get_guid(guid, ask + 8);
    if ((guid[0] & 0xffff) == 0x7777) {
        world.silent++;
        return -ETIMEDOUT;
    }
    memmove(pdu, ask, PDU_SIZE + 4);
    pdu[3] = 0;
    if (cmd == CMD_NA_QUERY) {
        put_be32(pdu + PDU_SIZE, 0x11);
        msg->len = 4 + path + PDU_SIZE + 4;
        return 0;
    }
    if (!hops) {
        guid[0] = 1;
        guid[2] = SWITCH_TYPE << 24;
    }
    put_guid(pdu + 8, guid);
    msg->len = 4 + path + PDU_SIZE +
               world.say(hops, slice, pdu + PDU_SIZE, room);
    return 0;
}

static int ub_msg_call(struct ub_msg_client *client, struct ub_msg *msg,
                       u8 *data)
{
    world.asked++;
    g_assert_cmpuint(msg->len, <=, UB_MSG_MAX);
    if (msg->kind == UB_MSG_SCAN) {
        return scan_answer(msg, data);
    }
    g_assert_cmpuint(msg->len, ==, sizeof(world.data));
    world.msg = *msg;
    memcpy(world.data, data, sizeof(world.data));
    memset(data, 0, 8);
    put_be32(data + 4, world.entities << 16);
    msg->len = 8;
    return 0;
}

/* How many nodes are found, or an error. */
static int scan(unsigned (*say)(unsigned, unsigned, u8 *, unsigned))
{
    struct ub_core core = { .ports = 1 };
    struct ub_fabric fabric = { .core = &core };
    struct list_head nodes;
    struct ub_node *n;
    int err, count = 0;

    INIT_LIST_HEAD(&nodes);
    world.say = say;
    world.asked = world.silent = 0;
    err = ub_scan_nodes(&fabric, &nodes);
    list_for_each_entry(n, &nodes, list) {
        g_assert_cmpuint(n->info.ports, <=, MAX_PORTS);
        g_assert_cmpuint(n->info.entities, <=, 256);
        count++;
    }
    ub_scan_free(&nodes);
    return err ? err : count;
}

/* ---- Cases ------------------------------------------------------------------------------ */

/* One switch with three others behind it, in two slices. */
static unsigned say_good(unsigned hops, unsigned slice, u8 *p, unsigned room)
{
    u8 *at = tlv(p, TLV_SLICE, 4);

    p[2] = hops ? 1 : 2;
    at = tlv_ports(at, hops ? 1 : 3);
    if (!hops) {
        at = tlv_port(at, slice, 2, 10 + slice);
        at = tlv_port(at, 2, 2, 12);
    }
    return at - p;
}

static void test_good(void)
{
    g_assert_cmpint(scan(say_good), ==, 4);
}

/* As the UBFM, or as the User of what is lent to us. */
static void test_rights(void)
{
    struct ub_core core = { .ports = 1 };
    struct ub_fabric fabric = { .core = &core };
    const struct ub_entity_info info = {
        .cna = 0x22, .index = 3, .eid = { 0xabc30022, 0, 0, 0xfd },
    };
    u32 value = 0x55;

    world.entities = 7;
    g_assert_cmpint(ub_scan_config(&fabric, 0, 0, UB_CFG0_UPI, false, 0xf,
                                   &value), ==, 0);
    g_assert_cmphex(value, ==, 7 << 16);
    g_assert_cmphex(world.msg.flags, ==, UB_MSG_MGMT | UB_MSG_LOCAL);
    g_assert_cmphex(world.msg.upi, ==, 0x7fff);
    g_assert_cmpint(ub_scan_config(&fabric, 0x22, 1, UB_CFG0_UPI, false, 0xf,
                                   &value), ==, 0);
    g_assert_cmphex(world.msg.flags, ==, UB_MSG_MGMT);
    g_assert_cmphex(world.msg.dcna, ==, 0x22);
    value = 0x55;
    g_assert_cmpint(ub_scan_lent(&fabric, &info, UB_CFG1_BASE + 5, true, 3,
                                 &value), ==, 0);
    g_assert_cmphex(world.msg.flags, ==, 0);
    g_assert_cmphex(world.msg.upi, ==, 0);
    g_assert_cmphex(world.msg.dcna, ==, 0x22);
    g_assert_cmphex(world.msg.deid, ==, 0xabc30022);
    g_assert_cmphex(get_unaligned_be32(world.data), ==, 0x34000010);
    g_assert_cmphex(get_unaligned_be32(world.data + 4), ==, 0x00030030);
    g_assert_cmphex(get_unaligned_be32(world.data + 8), ==, UB_CFG1_BASE + 5);
    g_assert_cmphex(get_unaligned_be32(world.data + 16), ==, 0x55);
}

/* Ports that were not there when room was made for them. */
static unsigned say_more_ports(unsigned hops, unsigned slice, u8 *p,
                               unsigned room)
{
    return tlv_port(tlv_ports(tlv_ports(p, 0), 250), 249, 2, 10) - p;
}

static unsigned say_more_later(unsigned hops, unsigned slice, u8 *p,
                               unsigned room)
{
    u8 *at = tlv(p, TLV_SLICE, 4);

    p[2] = 2;
    at = tlv_ports(at, slice ? 250 : 1);
    return tlv_port(at, slice ? 200 : 0, 2, 10) - p;
}

static void test_ports(void)
{
    g_assert_cmpint(scan(say_more_ports), ==, -EPROTO);
    g_assert_cmpint(scan(say_more_later), ==, -EPROTO);
}

/* The last TLV says no more than its length, where the answer ends. */
static unsigned say_short(unsigned hops, unsigned slice, u8 *p, unsigned room)
{
    u8 *at = tlv_ports(p, 1);

    while (at + 8 <= p + room) {
        at = tlv(at, 9, 4);
    }
    return tlv(at, TLV_PORT, 4) - p;
}

static void test_short(void)
{
    g_assert_cmpint(scan(say_short), ==, -EPROTO);
}

/* Each has 250 neighbours that nobody has seen, and that do not answer. */
static unsigned say_silent(unsigned hops, unsigned slice, u8 *p,
                           unsigned room)
{
    u8 *at = tlv(p, TLV_SLICE, 4);

    p[2] = 10;
    at = tlv_ports(at, 250);
    for (unsigned i = 0; i < 25; i++) {
        at = tlv_port(at, 25 * slice + i, SWITCH_TYPE,
                      (25 * slice + i) << 16 | 0x7777);
    }
    return at - p;
}

static void test_silent(void)
{
    g_assert_cmpint(scan(say_silent), ==, 1);
    g_assert_cmpuint(world.silent, ==, MAX_SILENT);
}

/* Switches without end: each knows two more. */
static unsigned say_endless(unsigned hops, unsigned slice, u8 *p,
                            unsigned room)
{
    static u32 serial = 100;
    u8 *at = tlv_ports(p, 2);

    at = tlv_port(at, 0, SWITCH_TYPE, serial++ << 16);
    return tlv_port(at, 1, SWITCH_TYPE, serial++ << 16) - p;
}

static void test_endless(void)
{
    world.entities = 0xffff;
    g_assert_cmpint(scan(say_endless), ==, MAX_NODES);
    world.entities = 1;
}

static unsigned say_anything(unsigned hops, unsigned slice, u8 *p,
                             unsigned room)
{
    u8 *at = p;

    while (at + 28 <= p + room && g_rand_int_range(world.rand, 0, 30)) {
        u8 *end = tlv(at, g_rand_int_range(world.rand, 0, 6),
                      g_rand_int_range(world.rand, 1, 8) * 4);

        for (u8 *b = at + 2; b < end; b++) {
            *b = g_rand_int_range(world.rand, 0, 4);
        }
        if (!g_rand_int_range(world.rand, 0, 20)) {
            at[1] = g_rand_int(world.rand);
        }
        at = end;
    }
    return at - p;
}

static void test_random(void)
{
    world.rand = g_rand_new_with_seed(g_test_rand_int());
    for (unsigned i = 0; i < 3000; i++) {
        g_assert_cmpint(scan(say_anything), <=, MAX_NODES);
    }
    g_rand_free(world.rand);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    world.entities = 1;
    g_test_add_func("/linux/scan/good", test_good);
    g_test_add_func("/linux/scan/rights", test_rights);
    g_test_add_func("/linux/scan/ports", test_ports);
    g_test_add_func("/linux/scan/short", test_short);
    g_test_add_func("/linux/scan/silent", test_silent);
    g_test_add_func("/linux/scan/endless", test_endless);
    g_test_add_func("/linux/scan/random", test_random);
    return g_test_run();
}
