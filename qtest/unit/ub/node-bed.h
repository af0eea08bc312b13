/*
 * A node by itself, and its commands; what it sends is counted.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef NODE_BED_H
#define NODE_BED_H

#include "internal.h"

#include "core/bytes.h"

static UbNode *node;
static unsigned told, kicked, sent;
static uint32_t sent_scna;          /* of the last by a CNA of 24 bits */
static uint32_t told_row;
static unsigned told_result;

static inline bool wire_room(void *opaque, unsigned port, unsigned vl)
{
    return true;
}

static inline bool wire_send(void *opaque, unsigned port, CorePacket *pkt)
{
    UbNth h;

    sent++;
    if (ub_meta(pkt)->lph_cfg == UB_LPH_CNA24) {
        ub_nth24_get(core_packet_data(pkt), &h);
        sent_scna = h.scna;
    }
    core_packet_free(pkt);
    return true;
}

static inline void wire_kick(void *opaque)
{
    kicked++;
}

static inline void on_imported(void *opaque, uint32_t row, unsigned result)
{
    told++;
    told_row = row;
    told_result = result;
}

static const UbNetOps net_ops = { .room = wire_room, .send = wire_send,
                                  .kick = wire_kick };
static const UbTaOps ta_ops = { 0 };
static const UbEid own = { { 0xfd, [15] = 1 } };

static inline UbNode *new_node(void)
{
    static const UbNodeOps ops = { .net = &net_ops, .ta = &ta_ops,
                                   .imported = on_imported };
    UbNodeConfig cfg;
    UbNode *n;

    ub_node_config_init(&cfg);
    cfg.tp.max_channels = 64;
    cfg.tp.max_groups = 4;
    n = ub_node_new(&cfg, &ops, NULL);
    g_assert_nonnull(n);
    ub_net_set_primary(ub_node_net(n), 1);
    ub_net_port_state(ub_node_net(n), 0, 0, 0xffff);
    ub_net_route_default(ub_node_net(n), 1);
    ub_sec_set_entity(ub_node_sec(n), 0, &own, 1);
    return n;
}

static inline void begin(void)
{
    node = new_node();
    told = 0;
}

static inline void end(void)
{
    ub_node_free(node);
}

static inline void init(uint8_t cmd[UBQ_CMD], uint32_t object, uint32_t mask)
{
    memset(cmd, 0, UBQ_CMD);
    put_le32(cmd + UBQ_CMD_OBJECT, object);
    put_le32(cmd + UBQ_CMD_MASK, mask);
}

static inline unsigned command(unsigned opcode, uint8_t cmd[UBQ_CMD])
{
    return ub_node_command(node, 1000, opcode, cmd);
}

static inline unsigned simple(unsigned opcode, uint32_t object)
{
    uint8_t cmd[UBQ_CMD];

    init(cmd, object, 0);
    return command(opcode, cmd);
}

#define OK(opcode, cmd) g_assert_cmpuint(command(opcode, cmd), ==, UBQ_RESULT_OK)

/* A way with another value in each field, and in the bits that it has not. */
static inline void put_way(uint8_t *p, unsigned cfg)
{
    p[UBQ_WAY_CFG] = cfg;
    p[UBQ_WAY_SL] = 0x1d;
    p[UBQ_WAY_RT] = 0xfe;
    p[UBQ_WAY_PORT] = 0x33;
    put_le32(p + UBQ_WAY_DCNA, 0x78abcdef);
    put_le32(p + UBQ_WAY_SCNA, 0x89123457);
    put_le16(p + UBQ_WAY_LBF, 0xa5c3);
    for (unsigned i = 0; i < 16; i++) {
        p[UBQ_WAY_DIP + i] = 0x10 + i;
        p[UBQ_WAY_SIP + i] = 0x80 + i;
    }
}

static const uint8_t cfg_of[] = { UB_LPH_CNA24, UB_LPH_CNA16, UB_LPH_IPV4,
                                  UB_LPH_BYPASS };

static inline void put_row(uint8_t cmd[UBQ_CMD], uint32_t object, unsigned carrier)
{
    init(cmd, object, 0);
    put_way(cmd + UBQ_DST_WAY, cfg_of[carrier]);
    cmd[UBQ_DST_CARRIER] = carrier;
    cmd[UBQ_DST_FORM] = carrier == UB_TP_BYPASS ? 0 : 1;
    put_le16(cmd + UBQ_DST_MTU, 8192);
    put_le32(cmd + UBQ_DST_CHANNEL, 0x12345678);
    put_le32(cmd + UBQ_DST_UPI, 0x9abcde);
    for (unsigned i = 0; i < 16; i++) {
        cmd[UBQ_DST_DEID + i] = 0x40 + i;
    }
}

static inline void tell(UbNode *n, uint32_t row, unsigned result)
{
    on_imported(NULL, row, result);
}

static inline unsigned import(uint32_t row, unsigned carrier, unsigned mode,
                              unsigned flags, uint8_t who, uint8_t cmd[UBQ_CMD])
{
    put_row(cmd, row, carrier);
    cmd[UBQ_DST_DEID] = who;
    cmd[UBQ_IMP_MODE] = mode;
    cmd[UBQ_IMP_FLAGS] = flags;
    return command(UBQ_OP_IMPORT, cmd);
}

#endif
