/*
 * Commands on channels, groups, destinations and Entities, in the layout of
 * urma_hw.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <glib.h>

#include "core/bytes.h"
#include "internal.h"

#define ANY_PORT 0xff

/* What a command works on. */
typedef struct Call {
    UbNode *node;
    int64_t now;
    uint32_t id;        /* of the object; answered, too */
    uint32_t mask;
    uint8_t *cmd;
} Call;

static const uint8_t result_of[UB_TPRS] = {
    [UB_TPR_OK] = UBQ_RESULT_OK,
    [UB_TPR_NO_CHANNEL] = UBQ_RESULT_NO_OBJECT,
    [UB_TPR_IN_USE] = UBQ_RESULT_IN_USE,
    [UB_TPR_FULL] = UBQ_RESULT_FULL,
    [UB_TPR_BAD_ATTR] = UBQ_RESULT_PARAMETER,
    [UB_TPR_BAD_STATE] = UBQ_RESULT_STATE,
    [UB_TPR_REFUSED] = UBQ_RESULT_REFUSED,
    [UB_TPR_TIMEOUT] = UBQ_RESULT_TIMEOUT,
};

unsigned ub_node_result(UbTpResult result)
{
    return result_of[result];
}

/* ---- Ways ------------------------------------------------------------------------ */

bool node_way_get(const uint8_t *p, UbFlow *f)
{
    unsigned cfg = p[UBQ_WAY_CFG];
    bool ip = ub_lph_is_ip(cfg);

    if (!ip && cfg != UB_LPH_CNA16 && cfg != UB_LPH_CNA24 &&
        cfg != UB_LPH_BYPASS) {
        return false;
    }
    ub_flow_init(f, cfg);
    f->sl = p[UBQ_WAY_SL] & 15;
    f->rt = p[UBQ_WAY_RT] & 3;
    f->port = p[UBQ_WAY_PORT];
    f->dcna = get_le32(p + UBQ_WAY_DCNA) & 0xffffff;
    f->scna = get_le32(p + UBQ_WAY_SCNA) & 0xffffff;
    f->lbf = get_le16(p + UBQ_WAY_LBF);
    if (ip) {
        memcpy(f->ip.dst, p + UBQ_WAY_DIP, sizeof(f->ip.dst));
        memcpy(f->ip.src, p + UBQ_WAY_SIP, sizeof(f->ip.src));
    }
    return true;
}

static void way_put(uint8_t *p, const UbFlow *f)
{
    p[UBQ_WAY_CFG] = f->cfg;
    p[UBQ_WAY_SL] = f->sl;
    p[UBQ_WAY_RT] = f->rt;
    p[UBQ_WAY_PORT] = f->port;
    put_le32(p + UBQ_WAY_DCNA, f->dcna);
    put_le32(p + UBQ_WAY_SCNA, f->scna);
    put_le16(p + UBQ_WAY_LBF, f->lbf);
    memcpy(p + UBQ_WAY_DIP, f->ip.dst, sizeof(f->ip.dst));
    memcpy(p + UBQ_WAY_SIP, f->ip.src, sizeof(f->ip.src));
}

/* ---- Channels ---------------------------------------------------------------------- */

/* Fields of UbTpAttr and their places in a command. */
#define FIELD(off, name) { off, offsetof(UbTpAttr, name), \
                           sizeof(((UbTpAttr *)0)->name) }
static const struct {
    uint8_t off, at, size;
} fields[] = {
    FIELD(UBQ_CH_PEER, dst_tpn),
    FIELD(UBQ_CH_MTU, mtu),
    FIELD(UBQ_CH_OOO_WINDOW, ooo_window),
    FIELD(UBQ_CH_TX_WINDOW, tx_window),
    FIELD(UBQ_CH_ACK_EVERY, ack_every),
    FIELD(UBQ_CH_SACK_EVERY, sack_every),
    FIELD(UBQ_CH_SACK_BITS, sack_bits),
    FIELD(UBQ_CH_RETRIES, retries),
    FIELD(UBQ_CH_RTO_CODE, rto_code),
    FIELD(UBQ_CH_RTO_SHIFT, rto_shift),
    FIELD(UBQ_CH_CC, cc),
    FIELD(UBQ_CH_RTO_BASE, rto_base_us),
    FIELD(UBQ_CH_CW_UNIT, cw_unit),
};
_Static_assert(sizeof(UbTpAttr) < 256, "offsets are bytes");

static const struct {
    uint16_t bit;
    uint8_t at;
} flags[] = {
    { UBQ_CH_SELECTIVE, offsetof(UbTpAttr, selective) },
    { UBQ_CH_FAST, offsetof(UbTpAttr, fast) },
    { UBQ_CH_MARK, offsetof(UbTpAttr, mark) },
    { UBQ_CH_OOO, offsetof(UbTpAttr, ooo) },
    { UBQ_CH_SPRAY, offsetof(UbTpAttr, spray) },
    { UBQ_CH_RTO_DYNAMIC, offsetof(UbTpAttr, rto_dynamic) },
};

/* A command's integer, little-endian, from or to one of ours. */
static void field_get(uint8_t *to, const uint8_t *from, unsigned size)
{
    uint16_t v16 = get_le16(from);
    uint32_t v32 = size == 4 ? get_le32(from) : 0;

    memcpy(to, size == 1 ? from : size == 2 ? (uint8_t *)&v16
                                            : (uint8_t *)&v32, size);
}

static void field_put(uint8_t *to, const uint8_t *from, unsigned size)
{
    uint16_t v16;
    uint32_t v32;

    switch (size) {
    case 1:
        *to = *from;
        break;
    case 2:
        memcpy(&v16, from, sizeof(v16));
        put_le16(to, v16);
        break;
    default:
        memcpy(&v32, from, sizeof(v32));
        put_le32(to, v32);
        break;
    }
}

/* Fields that are 0 in the command keep what is in @attr, so that a driver need
 * only name what it cares for; the PSNs say UBQ_NEW for that. */
static bool attr_get(const uint8_t *cmd, UbTpAttr *attr)
{
    uint16_t bits = get_le16(cmd + UBQ_CH_FLAGS);
    uint32_t tx = get_le32(cmd + UBQ_CH_TX_PSN);
    uint32_t rx = get_le32(cmd + UBQ_CH_RX_PSN);
    static const uint8_t zeroes[4];

    if (!node_way_get(cmd + UBQ_CH_WAY, &attr->flow)) {
        return false;
    }
    for (unsigned i = 0; i < G_N_ELEMENTS(fields); i++) {
        if (memcmp(cmd + fields[i].off, zeroes, fields[i].size)) {
            field_get((uint8_t *)attr + fields[i].at, cmd + fields[i].off,
                      fields[i].size);
        }
    }
    for (unsigned i = 0; i < G_N_ELEMENTS(flags); i++) {
        *((bool *)((uint8_t *)attr + flags[i].at)) = bits & flags[i].bit;
    }
    attr->ask = cmd[UBQ_CH_ASK];
    attr->tx_psn = tx == UBQ_NEW ? attr->tx_psn : tx;
    attr->rx_psn = rx == UBQ_NEW ? attr->rx_psn : rx;
    return true;
}

static void attr_put(uint8_t *cmd, const UbTpAttr *attr)
{
    uint16_t bits = 0;

    way_put(cmd + UBQ_CH_WAY, &attr->flow);
    for (unsigned i = 0; i < G_N_ELEMENTS(fields); i++) {
        field_put(cmd + fields[i].off, (uint8_t *)attr + fields[i].at,
                  fields[i].size);
    }
    for (unsigned i = 0; i < G_N_ELEMENTS(flags); i++) {
        bits |= *((bool *)((uint8_t *)attr + flags[i].at)) ? flags[i].bit : 0;
    }
    put_le16(cmd + UBQ_CH_FLAGS, bits);
    cmd[UBQ_CH_ASK] = attr->ask;
    put_le32(cmd + UBQ_CH_TX_PSN, attr->tx_psn);
    put_le32(cmd + UBQ_CH_RX_PSN, attr->rx_psn);
}

static unsigned channel_create(Call *c)
{
    UbTpAttr attr;
    UbTpResult r;

    ub_tp_attr_init(ub_node_tp(c->node), &attr);
    if (!attr_get(c->cmd, &attr)) {
        return UBQ_RESULT_PARAMETER;
    }
    r = ub_tp_create(ub_node_tp(c->node), &c->id, &attr);
    if (r == UB_TPR_OK) {
        ub_ta_set_answers(ub_node_ta(c->node), c->id,
                          get_le16(c->cmd + UBQ_CH_FLAGS) & UBQ_CH_ANSWERS);
    }
    return result_of[r];
}

_Static_assert(UBQ_CHM_WAY == UB_TPA_FLOW && UBQ_CHM_PEER == UB_TPA_PEER &&
               UBQ_CHM_LOSS == UB_TPA_LOSS && UBQ_CHM_RTO == UB_TPA_RTO &&
               UBQ_CHM_WINDOW == UB_TPA_WINDOW && UBQ_CHM_ACK == UB_TPA_ACK &&
               UBQ_CHM_CC == UB_TPA_CC, "the mask is the transport's");

static unsigned channel_modify(Call *c)
{
    UbTpAttr attr;
    UbTpResult r = ub_tp_query(ub_node_tp(c->node), c->id, &attr, NULL);

    if (r != UB_TPR_OK) {
        return result_of[r];
    }
    return attr_get(c->cmd, &attr)
           ? result_of[ub_tp_modify(ub_node_tp(c->node), c->id, &attr,
                                    c->mask)]
           : UBQ_RESULT_PARAMETER;
}

static unsigned channel_activate(Call *c)
{
    return result_of[ub_tp_activate(ub_node_tp(c->node), c->id)];
}

static unsigned channel_deactivate(Call *c)
{
    return node_import_has_channel(c->node, c->id) ? UBQ_RESULT_IN_USE :
           result_of[ub_tp_deactivate(ub_node_tp(c->node), c->id)];
}

UbTpResult node_channel_destroy(UbNode *node, uint32_t tpn, int64_t now)
{
    UbTpResult r = ub_tp_destroy(ub_node_tp(node), tpn, now);

    if (r == UB_TPR_OK) {
        ub_ta_set_answers(ub_node_ta(node), tpn, false);
    }
    return r;
}

static unsigned channel_destroy(Call *c)
{
    return node_import_has_channel(c->node, c->id)
           ? UBQ_RESULT_IN_USE
           : result_of[node_channel_destroy(c->node, c->id, c->now)];
}

static unsigned channel_connect(Call *c)
{
    return result_of[ub_tp_connect(ub_node_tp(c->node), c->id, c->now)];
}

static unsigned channel_query(Call *c)
{
    UbTpAttr attr;
    UbTpInfo info;
    UbTpResult r = ub_tp_query(ub_node_tp(c->node), c->id, &attr, &info);

    if (r == UB_TPR_OK) {
        attr_put(c->cmd, &attr);
        if (ub_ta_has_answers(ub_node_ta(c->node), c->id)) {
            put_le16(c->cmd + UBQ_CH_FLAGS,
                     get_le16(c->cmd + UBQ_CH_FLAGS) | UBQ_CH_ANSWERS);
        }
        c->cmd[UBQ_CH_STATE] = info.state;
        put_le32(c->cmd + UBQ_CH_GROUP, info.group);
        put_le32(c->cmd + UBQ_CH_UNA, info.una);
        put_le32(c->cmd + UBQ_CH_NEXT, info.next);
        put_le32(c->cmd + UBQ_CH_EPSN, info.epsn);
        put_le32(c->cmd + UBQ_CH_TIMEOUTS, info.timeouts);
    }
    return result_of[r];
}

static unsigned group_create(Call *c)
{
    unsigned policy = c->cmd[UBQ_GRP_POLICY];

    return policy < UB_TPG_POLICIES
           ? result_of[ub_tpg_create(ub_node_tp(c->node), &c->id, policy)]
           : UBQ_RESULT_PARAMETER;
}

/* Whether all channels by @way are one sender's: the net chooses the Primary CNA for the
 * members of a group, and a port's own CNA where there is none. */
static bool way_has_source(const UbNode *node, const UbFlow *way)
{
    const UbNet *net = ub_node_net((UbNode *)node);
    unsigned ports = ub_node_config(node)->net.ports;

    if (ub_lph_is_ip(way->cfg) || way->scna || ub_net_primary(net)) {
        return true;
    }
    for (unsigned p = 0; p < ports; p++) {
        if (ub_net_port_cna(net, p)) {
            return false;
        }
    }
    return true;
}

static unsigned group_join(Call *c)
{
    UbTpAttr attr;

    if (ub_tp_query(ub_node_tp(c->node), c->id, &attr, NULL) == UB_TPR_OK &&
        !way_has_source(c->node, &attr.flow)) {
        return UBQ_RESULT_PARAMETER;
    }
    return result_of[ub_tpg_join(ub_node_tp(c->node),
                                 get_le32(c->cmd + UBQ_GRP_GROUP), c->id)];
}

static unsigned group_leave(Call *c)
{
    return result_of[ub_tpg_leave(ub_node_tp(c->node), c->id)];
}

static unsigned group_destroy(Call *c)
{
    return result_of[ub_tpg_destroy(ub_node_tp(c->node), c->id)];
}

/* ---- Destinations and Entities ------------------------------------------------------- */

/* The carrier's number is that of UbTpMode. */
bool node_dest_get(UbNode *node, const uint8_t *cmd, UbTaDest *dest)
{
    uint32_t bits = get_le32(cmd + UBQ_DST_FLAGS);
    unsigned from = get_le16(cmd + UBQ_DST_ENTITY);
    const UbEid *own = ub_sec_entity(ub_node_sec(node), from, NULL);

    *dest = (UbTaDest){
        .tp = { .mode = cmd[UBQ_DST_CARRIER],
                .tpn = get_le32(cmd + UBQ_DST_CHANNEL) },
        .group = bits & UBQ_DST_GROUP,
        .answers = bits & UBQ_DST_ANSWERS,
        .sl_writeback = UB_TA_SAME_SL,
        .mtu = get_le16(cmd + UBQ_DST_MTU),
        .sec = { .form = cmd[UBQ_DST_FORM],
                 .upi = get_le32(cmd + UBQ_DST_UPI) },
    };
    if (dest->tp.mode >= UB_TP_MODES || !own ||
        !node_way_get(cmd + UBQ_DST_WAY, &dest->tp.flow)) {
        return false;
    }
    dest->sec.seid = *own;
    dest->sec.from = 1 + from;
    memcpy(dest->sec.deid.b, cmd + UBQ_DST_DEID, UB_EID_LEN);
    /* A virtual machine manages nothing. */
    return ub_sec_may_send(ub_node_sec(node), &dest->sec) &&
           !(ub_sec_is_instance(from) && dest->sec.upi == UB_UPI_MANAGER);
}

static unsigned dest_set(Call *c)
{
    UbTaDest dest;

    if (c->id >= UB_TA_DESTS || !node_dest_get(c->node, c->cmd, &dest)) {
        return UBQ_RESULT_PARAMETER;
    }
    if (node_import_has_row(c->node, c->id)) {
        return UBQ_RESULT_IN_USE;
    }
    return ub_ta_set_dest(ub_node_ta(c->node), c->id, &dest)
           ? UBQ_RESULT_OK : UBQ_RESULT_PARAMETER;
}

static unsigned import_do(Call *c)
{
    return node_import(c->node, c->now, &c->id, c->cmd);
}

static unsigned import_undo(Call *c)
{
    return node_unimport(c->node, c->now, c->id);
}

static unsigned dest_clear(Call *c)
{
    if (c->id >= UB_TA_DESTS || !ub_ta_dest(ub_node_ta(c->node), c->id)) {
        return UBQ_RESULT_NO_OBJECT;
    }
    if (node_import_has_row(c->node, c->id)) {
        return UBQ_RESULT_IN_USE;
    }
    ub_ta_set_dest(ub_node_ta(c->node), c->id, NULL);
    return UBQ_RESULT_OK;
}

static unsigned dest_query(Call *c)
{
    const UbTaDest *d = c->id < UB_TA_DESTS
                        ? ub_ta_dest(ub_node_ta(c->node), c->id) : NULL;

    if (!d) {
        return UBQ_RESULT_NO_OBJECT;
    }
    way_put(c->cmd + UBQ_DST_WAY, &d->tp.flow);
    c->cmd[UBQ_DST_CARRIER] = d->tp.mode;
    c->cmd[UBQ_DST_FORM] = d->sec.form;
    put_le16(c->cmd + UBQ_DST_MTU, d->mtu);
    put_le32(c->cmd + UBQ_DST_CHANNEL, d->tp.tpn);
    put_le32(c->cmd + UBQ_DST_FLAGS, (d->group ? UBQ_DST_GROUP : 0) |
                                     (d->answers ? UBQ_DST_ANSWERS : 0));
    put_le32(c->cmd + UBQ_DST_UPI, d->sec.upi);
    memcpy(c->cmd + UBQ_DST_DEID, d->sec.deid.b, UB_EID_LEN);
    return UBQ_RESULT_OK;
}

static unsigned entity_set(Call *c)
{
    static const UbEid none;
    UbEid eid;

    memcpy(eid.b, c->cmd + UBQ_ENT_EID, UB_EID_LEN);
    if (c->id >= UB_SEC_ENTITIES) {
        return UBQ_RESULT_PARAMETER;
    }
    ub_sec_set_entity(ub_node_sec(c->node), c->id,
                      ub_eid_same(&eid, &none) ? NULL : &eid,
                      get_le32(c->cmd + UBQ_ENT_UPI));
    return UBQ_RESULT_OK;
}

/* ---- Local IP addresses -------------------------------------------------------------- */

static unsigned ip_add(Call *c)
{
    unsigned cfg = c->cmd[UBQ_IP_CFG];

    if (!ub_lph_is_ip(cfg)) {
        return UBQ_RESULT_PARAMETER;
    }
    return ub_net_ip_add(ub_node_net(c->node), cfg, c->cmd + UBQ_IP_ADDR)
           ? UBQ_RESULT_OK : UBQ_RESULT_FULL;
}

static unsigned ip_remove(Call *c)
{
    return ub_net_ip_remove(ub_node_net(c->node), c->cmd[UBQ_IP_CFG],
                            c->cmd + UBQ_IP_ADDR)
           ? UBQ_RESULT_OK : UBQ_RESULT_NO_OBJECT;
}

static unsigned ip_query(Call *c)
{
    unsigned cfg;

    if (!ub_net_ip_at(ub_node_net(c->node), c->id, &cfg,
                      c->cmd + UBQ_IP_ADDR)) {
        return UBQ_RESULT_NO_OBJECT;
    }
    c->cmd[UBQ_IP_CFG] = cfg;
    return UBQ_RESULT_OK;
}

/* ---- All ----------------------------------------------------------------------------- */

/* What there is of channels, in the answer of CAPS. */
static unsigned caps_add(Call *c)
{
    const UbNodeConfig *cfg = ub_node_config(c->node);

    put_le32(c->cmd + UBQ_CAP_CHANNELS, cfg->tp.max_channels);
    put_le32(c->cmd + UBQ_CAP_GROUPS, cfg->tp.max_groups);
    return UBQ_RESULT_OK;
}

static unsigned (*const commands[])(Call *) = {
    [UBQ_OP_CAPS] = caps_add,
    [UBQ_OP_CHANNEL_CREATE] = channel_create,
    [UBQ_OP_CHANNEL_MODIFY] = channel_modify,
    [UBQ_OP_CHANNEL_ACTIVATE] = channel_activate,
    [UBQ_OP_CHANNEL_DEACTIVATE] = channel_deactivate,
    [UBQ_OP_CHANNEL_DESTROY] = channel_destroy,
    [UBQ_OP_CHANNEL_CONNECT] = channel_connect,
    [UBQ_OP_CHANNEL_QUERY] = channel_query,
    [UBQ_OP_GROUP_CREATE] = group_create,
    [UBQ_OP_GROUP_JOIN] = group_join,
    [UBQ_OP_GROUP_LEAVE] = group_leave,
    [UBQ_OP_GROUP_DESTROY] = group_destroy,
    [UBQ_OP_DEST_SET] = dest_set,
    [UBQ_OP_DEST_CLEAR] = dest_clear,
    [UBQ_OP_DEST_QUERY] = dest_query,
    [UBQ_OP_IMPORT] = import_do,
    [UBQ_OP_UNIMPORT] = import_undo,
    [UBQ_OP_ENTITY_SET] = entity_set,
    [UBQ_OP_IP_ADD] = ip_add,
    [UBQ_OP_IP_REMOVE] = ip_remove,
    [UBQ_OP_IP_QUERY] = ip_query,
};

unsigned ub_node_command(UbNode *node, int64_t now, unsigned opcode,
                         uint8_t cmd[UBQ_CMD])
{
    Call c = {
        .node = node,
        .now = now,
        .id = get_le32(cmd + UBQ_CMD_OBJECT),
        .mask = get_le32(cmd + UBQ_CMD_MASK),
        .cmd = cmd,
    };
    unsigned result = UBQ_RESULT_OPCODE;

    if (opcode < G_N_ELEMENTS(commands) && commands[opcode]) {
        result = commands[opcode](&c);
        put_le32(cmd + UBQ_CMD_OBJECT, c.id);
    }
    return result;
}
