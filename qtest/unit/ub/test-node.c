/*
 * A node by itself: each field of its commands there and back, the bounds of each, its
 * faults, its settings by name, what a reset leaves.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "node-bed.h"
#include "ub/node_options.h"

/* ---- Ways and rows ------------------------------------------------------------------ */

static void check_way(const uint8_t *p, unsigned cfg)
{
    bool ip = cfg == UB_LPH_IPV4 || cfg == UB_LPH_IPV6;

    g_assert_cmphex(p[UBQ_WAY_CFG], ==, cfg);
    g_assert_cmphex(p[UBQ_WAY_SL], ==, 0xd);
    g_assert_cmphex(p[UBQ_WAY_RT], ==, 2);
    g_assert_cmphex(p[UBQ_WAY_PORT], ==, 0x33);
    g_assert_cmphex(get_le32(p + UBQ_WAY_DCNA), ==, 0xabcdef);
    g_assert_cmphex(get_le32(p + UBQ_WAY_SCNA), ==, 0x123457);
    g_assert_cmphex(get_le16(p + UBQ_WAY_LBF), ==, 0xa5c3);
    for (unsigned i = 0; i < 16; i++) {
        g_assert_cmphex(p[UBQ_WAY_DIP + i], ==, ip ? 0x10 + i : 0);
        g_assert_cmphex(p[UBQ_WAY_SIP + i], ==, ip ? 0x80 + i : 0);
    }
}

static void test_rows(void)
{
    static const uint32_t flags[] = { 0, UBQ_DST_GROUP, UBQ_DST_ANSWERS,
                                      UBQ_DST_GROUP | UBQ_DST_ANSWERS };
    uint8_t cmd[UBQ_CMD], got[UBQ_CMD];

    begin();
    for (unsigned i = 0; i < 4 * G_N_ELEMENTS(flags); i++) {
        unsigned carrier = i / 4;

        put_row(cmd, 100 + i, carrier);
        put_le32(cmd + UBQ_DST_FLAGS, flags[i % 4] | 0xfffffffc);
        OK(UBQ_OP_DEST_SET, cmd);
        init(got, 100 + i, 0);
        OK(UBQ_OP_DEST_QUERY, got);
        check_way(got + UBQ_DST_WAY, cfg_of[carrier]);
        g_assert_cmpmem(got + UBQ_DST_CARRIER, 2, cmd + UBQ_DST_CARRIER, 2);
        g_assert_cmpuint(get_le16(got + UBQ_DST_MTU), ==, 8192);
        g_assert_cmphex(get_le32(got + UBQ_DST_CHANNEL), ==, 0x12345678);
        g_assert_cmphex(get_le32(got + UBQ_DST_FLAGS), ==, flags[i % 4]);
        g_assert_cmphex(get_le32(got + UBQ_DST_UPI), ==, 0x9abcde);
        g_assert_cmpmem(got + UBQ_DST_DEID, 16, cmd + UBQ_DST_DEID, 16);
        g_assert_cmpmem(&ub_ta_dest(ub_node_ta(node), 100 + i)->sec.seid, 16, &own,
                        16);
        g_assert_cmpuint(ub_ta_dest(ub_node_ta(node), 100 + i)->sl_writeback, ==,
                         UB_TA_SAME_SL);
    }
    end();
}

/* Both sides of each bound of a row. */
static void test_row_bounds(void)
{
    uint8_t cmd[UBQ_CMD];

    begin();
    for (unsigned cfg = 0; cfg < 16; cfg++) {
        UbFlow f;
        uint8_t way[48] = { [UBQ_WAY_CFG] = cfg };

        g_assert_cmpint(node_way_get(way, &f), ==, cfg == 3 || cfg == 4 || cfg == 6 ||
                        cfg == 7 || cfg == 9);
    }
    put_row(cmd, UB_TA_DESTS - 1, UB_TP_CTP);
    OK(UBQ_OP_DEST_SET, cmd);
    g_assert_cmpuint(simple(UBQ_OP_DEST_QUERY, UB_TA_DESTS - 1), ==, UBQ_RESULT_OK);
    g_assert_cmpuint(simple(UBQ_OP_DEST_CLEAR, UB_TA_DESTS - 1), ==, UBQ_RESULT_OK);
    g_assert_cmpuint(simple(UBQ_OP_DEST_CLEAR, UB_TA_DESTS - 1), ==,
                     UBQ_RESULT_NO_OBJECT);
    g_assert_cmpuint(simple(UBQ_OP_DEST_QUERY, UB_TA_DESTS - 1), ==,
                     UBQ_RESULT_NO_OBJECT);
    put_row(cmd, UB_TA_DESTS, UB_TP_CTP);
    g_assert_cmpuint(command(UBQ_OP_DEST_SET, cmd), ==, UBQ_RESULT_PARAMETER);
    /* The device's own rows, which are behind, are not software's. */
    {
        UbTaDest d;

        put_row(cmd, 5, UB_TP_CTP);
        g_assert_true(node_dest_get(node, cmd, &d));
        g_assert_true(ub_ta_set_dest(ub_node_ta(node), UB_TA_DESTS, &d));
        g_assert_cmpuint(simple(UBQ_OP_DEST_QUERY, UB_TA_DESTS), ==,
                         UBQ_RESULT_NO_OBJECT);
        g_assert_cmpuint(simple(UBQ_OP_DEST_CLEAR, UB_TA_DESTS), ==,
                         UBQ_RESULT_NO_OBJECT);
        g_assert_nonnull(ub_ta_dest(ub_node_ta(node), UB_TA_DESTS));
    }
    put_row(cmd, 5, UB_TP_CTP);
    cmd[UBQ_DST_CARRIER] = UB_TP_MODES;
    g_assert_cmpuint(command(UBQ_OP_DEST_SET, cmd), ==, UBQ_RESULT_PARAMETER);
    put_row(cmd, 5, UB_TP_CTP);
    cmd[UBQ_DST_ENTITY] = 1;        /* there is none */
    g_assert_cmpuint(command(UBQ_OP_DEST_SET, cmd), ==, UBQ_RESULT_PARAMETER);
    put_row(cmd, 5, UB_TP_CTP);
    cmd[UBQ_DST_WAY + UBQ_WAY_CFG] = 5;
    g_assert_cmpuint(command(UBQ_OP_DEST_SET, cmd), ==, UBQ_RESULT_PARAMETER);
    put_row(cmd, 5, UB_TP_CTP);
    put_le16(cmd + UBQ_DST_MTU, 8191);
    g_assert_cmpuint(command(UBQ_OP_DEST_SET, cmd), ==, UBQ_RESULT_PARAMETER);
    g_assert_null(ub_ta_dest(ub_node_ta(node), 5));
    end();
}

/* ---- Channels ------------------------------------------------------------------------ */

static const struct {
    uint16_t off, size;
    uint32_t value;
} fields[] = {
    { UBQ_CH_PEER, 4, 0x00abcd01 }, { UBQ_CH_TX_PSN, 4, 0x00fedcba },
    { UBQ_CH_RX_PSN, 4, 0x00123456 }, { UBQ_CH_MTU, 2, 1024 },
    { UBQ_CH_OOO_WINDOW, 2, 256 }, { UBQ_CH_TX_WINDOW, 2, 0x0203 },
    { UBQ_CH_ACK_EVERY, 2, 0x0305 }, { UBQ_CH_SACK_EVERY, 2, 0x0407 },
    { UBQ_CH_SACK_BITS, 2, 512 }, { UBQ_CH_ASK, 1, 1 }, { UBQ_CH_RETRIES, 1, 9 },
    { UBQ_CH_RTO_CODE, 1, 3 }, { UBQ_CH_RTO_SHIFT, 1, 7 },
    { UBQ_CH_RTO_BASE, 4, 0x00010203 }, { UBQ_CH_CW_UNIT, 4, 0x01020304 },
};

static uint32_t get_field(const uint8_t *cmd, unsigned i)
{
    const uint8_t *p = cmd + fields[i].off;

    return fields[i].size == 1 ? *p : fields[i].size == 2 ? get_le16(p) : get_le32(p);
}

static void put_field(uint8_t *cmd, unsigned i)
{
    uint8_t word[4];

    put_le32(word, fields[i].value);
    memcpy(cmd + fields[i].off, word, fields[i].size);
}

static void put_channel(uint8_t cmd[UBQ_CMD], uint32_t object)
{
    init(cmd, object, 0);
    put_way(cmd + UBQ_CH_WAY, UB_LPH_CNA24);
    put_le16(cmd + UBQ_CH_FLAGS, UBQ_CH_FAST);
    put_le32(cmd + UBQ_CH_TX_PSN, UBQ_NEW);
    put_le32(cmd + UBQ_CH_RX_PSN, UBQ_NEW);
}

/* Each field by itself is where it belongs; the others are as by default. */
static void test_channel_fields(void)
{
    uint8_t cmd[UBQ_CMD], plain[UBQ_CMD], got[UBQ_CMD];

    begin();
    put_channel(cmd, 1);
    OK(UBQ_OP_CHANNEL_CREATE, cmd);
    init(plain, 1, 0);
    OK(UBQ_OP_CHANNEL_QUERY, plain);
    check_way(plain + UBQ_CH_WAY, UB_LPH_CNA24);
    g_assert_cmpuint(get_le16(plain + UBQ_CH_FLAGS) & UBQ_CH_ANSWERS, ==, 0);
    g_assert_cmpuint(plain[UBQ_CH_STATE], ==, 0);
    g_assert_cmphex(get_le32(plain + UBQ_CH_GROUP), ==, UBQ_NEW);
    for (unsigned i = 0; i < G_N_ELEMENTS(fields); i++) {
        g_assert_cmphex(get_field(plain, i), !=, fields[i].value);
        put_channel(cmd, 2);
        put_field(cmd, i);
        OK(UBQ_OP_CHANNEL_CREATE, cmd);
        init(got, 2, 0);
        OK(UBQ_OP_CHANNEL_QUERY, got);
        for (unsigned j = 0; j < G_N_ELEMENTS(fields); j++) {
            if (fields[j].off == UBQ_CH_TX_PSN || fields[j].off == UBQ_CH_RX_PSN ||
                fields[j].off == UBQ_CH_ASK) {
                /* One drawn anew, or said each time. */
                g_assert_true(j != i || get_field(got, j) == fields[j].value);
            } else {
                g_assert_cmphex(get_field(got, j), ==, j == i ? fields[j].value
                                                              : get_field(plain, j));
            }
        }
        g_assert_cmpuint(simple(UBQ_OP_CHANNEL_DESTROY, 2), ==, UBQ_RESULT_OK);
    }
    end();
}

/* Each flag. */
static void test_channel_flags(void)
{
    static const uint16_t flags[] = {
        UBQ_CH_FAST, UBQ_CH_OOO, UBQ_CH_OOO | UBQ_CH_SELECTIVE,
        UBQ_CH_OOO | UBQ_CH_FAST, UBQ_CH_OOO | UBQ_CH_SPRAY,
        UBQ_CH_FAST | UBQ_CH_RTO_DYNAMIC, UBQ_CH_FAST | UBQ_CH_ANSWERS,
        UBQ_CH_OOO | UBQ_CH_SELECTIVE | UBQ_CH_FAST | UBQ_CH_MARK,
    };
    uint8_t cmd[UBQ_CMD];
    UbTpAttr a;

    begin();
    for (unsigned i = 0; i < G_N_ELEMENTS(flags); i++) {
        put_channel(cmd, 10 + i);
        put_le16(cmd + UBQ_CH_FLAGS, flags[i]);
        OK(UBQ_OP_CHANNEL_CREATE, cmd);
        init(cmd, 10 + i, 0);
        OK(UBQ_OP_CHANNEL_QUERY, cmd);
        g_assert_cmphex(get_le16(cmd + UBQ_CH_FLAGS), ==, flags[i]);
        g_assert_cmpint(ub_tp_query(ub_node_tp(node), 10 + i, &a, NULL), ==,
                        UB_TPR_OK);
        g_assert_cmpint(a.selective, ==, !!(flags[i] & UBQ_CH_SELECTIVE));
        g_assert_cmpint(a.fast, ==, !!(flags[i] & UBQ_CH_FAST));
        g_assert_cmpint(a.mark, ==, !!(flags[i] & UBQ_CH_MARK));
        g_assert_cmpint(a.ooo, ==, !!(flags[i] & UBQ_CH_OOO));
        g_assert_cmpint(a.spray, ==, !!(flags[i] & UBQ_CH_SPRAY));
        g_assert_cmpint(a.rto_dynamic, ==, !!(flags[i] & UBQ_CH_RTO_DYNAMIC));
        g_assert_cmpint(ub_ta_has_answers(ub_node_ta(node), 10 + i), ==,
                        !!(flags[i] & UBQ_CH_ANSWERS));
        g_assert_cmpuint(simple(UBQ_OP_CHANNEL_DESTROY, 10 + i), ==, UBQ_RESULT_OK);
        g_assert_false(ub_ta_has_answers(ub_node_ta(node), 10 + i));
    }
    end();
}

static void test_channel_life(void)
{
    uint8_t cmd[UBQ_CMD], got[UBQ_CMD];
    UbTpAttr a;

    begin();
    put_channel(cmd, UBQ_NEW);
    cmd[UBQ_CH_WAY + UBQ_WAY_CFG] = 5;
    g_assert_cmpuint(command(UBQ_OP_CHANNEL_CREATE, cmd), ==, UBQ_RESULT_PARAMETER);
    put_channel(cmd, 3);
    put_le16(cmd + UBQ_CH_MTU, 2048);
    g_assert_cmpuint(command(UBQ_OP_CHANNEL_CREATE, cmd), ==, UBQ_RESULT_PARAMETER);
    put_channel(cmd, 3);
    OK(UBQ_OP_CHANNEL_CREATE, cmd);
    g_assert_cmpuint(command(UBQ_OP_CHANNEL_CREATE, cmd), ==, UBQ_RESULT_IN_USE);
    /* A number that is answered. */
    put_channel(cmd, UBQ_NEW);
    OK(UBQ_OP_CHANNEL_CREATE, cmd);
    g_assert_cmphex(get_le32(cmd + UBQ_CMD_OBJECT), !=, UBQ_NEW);
    g_assert_cmpuint(simple(UBQ_OP_CHANNEL_QUERY, get_le32(cmd + UBQ_CMD_OBJECT)), ==,
                     UBQ_RESULT_OK);
    /* What the mask names. */
    put_channel(cmd, 3);
    put_le32(cmd + UBQ_CMD_MASK, UBQ_CHM_RTO);
    cmd[UBQ_CH_RETRIES] = 9;
    put_le16(cmd + UBQ_CH_TX_WINDOW, 77);
    OK(UBQ_OP_CHANNEL_MODIFY, cmd);
    g_assert_cmpint(ub_tp_query(ub_node_tp(node), 3, &a, NULL), ==, UB_TPR_OK);
    g_assert_cmpuint(a.retries, ==, 9);
    g_assert_cmpuint(a.tx_window, !=, 77);
    put_le32(cmd + UBQ_CMD_MASK, UBQ_CHM_WINDOW);
    OK(UBQ_OP_CHANNEL_MODIFY, cmd);
    g_assert_cmpint(ub_tp_query(ub_node_tp(node), 3, &a, NULL), ==, UB_TPR_OK);
    g_assert_cmpuint(a.tx_window, ==, 77);
    put_le32(cmd + UBQ_CMD_MASK, 0x80);
    g_assert_cmpuint(command(UBQ_OP_CHANNEL_MODIFY, cmd), ==, UBQ_RESULT_PARAMETER);
    cmd[UBQ_CH_WAY + UBQ_WAY_CFG] = 5;
    put_le32(cmd + UBQ_CMD_MASK, UBQ_CHM_WINDOW);
    g_assert_cmpuint(command(UBQ_OP_CHANNEL_MODIFY, cmd), ==, UBQ_RESULT_PARAMETER);
    put_channel(cmd, 44);
    g_assert_cmpuint(command(UBQ_OP_CHANNEL_MODIFY, cmd), ==, UBQ_RESULT_NO_OBJECT);
    /* States. */
    g_assert_cmpuint(simple(UBQ_OP_CHANNEL_ACTIVATE, 3), ==, UBQ_RESULT_OK);
    init(got, 3, 0);
    memset(got + UBQ_CH_WAY, 0xa5, UBQ_CMD - UBQ_CH_WAY);
    OK(UBQ_OP_CHANNEL_QUERY, got);
    g_assert_cmpuint(got[UBQ_CH_STATE], ==, 2);
    g_assert_cmphex(get_le32(got + UBQ_CH_GROUP), ==, UB_TP_NONE);
    g_assert_cmphex(get_le32(got + UBQ_CH_UNA), ==, get_le32(got + UBQ_CH_TX_PSN));
    g_assert_cmphex(get_le32(got + UBQ_CH_NEXT), ==, get_le32(got + UBQ_CH_TX_PSN));
    g_assert_cmphex(get_le32(got + UBQ_CH_EPSN), ==, get_le32(got + UBQ_CH_RX_PSN));
    g_assert_cmpuint(get_le32(got + UBQ_CH_TIMEOUTS), ==, 0);
    g_assert_cmpuint(simple(UBQ_OP_CHANNEL_ACTIVATE, 3), ==, UBQ_RESULT_STATE);
    g_assert_cmpuint(simple(UBQ_OP_CHANNEL_DEACTIVATE, 3), ==, UBQ_RESULT_OK);
    init(got, 3, 0);
    OK(UBQ_OP_CHANNEL_QUERY, got);
    g_assert_cmpuint(got[UBQ_CH_STATE], ==, 0);
    g_assert_cmpuint(simple(UBQ_OP_CHANNEL_CONNECT, 3), ==, UBQ_RESULT_OK);
    init(got, 3, 0);
    OK(UBQ_OP_CHANNEL_QUERY, got);
    g_assert_cmpuint(got[UBQ_CH_STATE], ==, 1);
    for (unsigned op = UBQ_OP_CHANNEL_ACTIVATE; op <= UBQ_OP_CHANNEL_QUERY; op++) {
        g_assert_cmpuint(simple(op, 44), ==, UBQ_RESULT_NO_OBJECT);
    }
    end();
}

static void test_groups(void)
{
    uint8_t cmd[UBQ_CMD];

    begin();
    put_channel(cmd, 3);
    OK(UBQ_OP_CHANNEL_CREATE, cmd);
    for (unsigned policy = 0; policy <= UB_TPG_POLICIES; policy++) {
        init(cmd, UBQ_NEW, 0);
        cmd[UBQ_GRP_POLICY] = policy;
        g_assert_cmpuint(command(UBQ_OP_GROUP_CREATE, cmd), ==,
                         policy < UB_TPG_POLICIES ? UBQ_RESULT_OK
                                                  : UBQ_RESULT_PARAMETER);
        if (policy < UB_TPG_POLICIES) {
            uint32_t group = get_le32(cmd + UBQ_CMD_OBJECT);

            g_assert_cmphex(group, !=, UBQ_NEW);
            g_assert_cmpuint(simple(UBQ_OP_GROUP_DESTROY, group), ==,
                             UBQ_RESULT_OK);
        }
    }
    init(cmd, 2, 0);
    OK(UBQ_OP_GROUP_CREATE, cmd);
    init(cmd, 3, 0);
    put_le32(cmd + UBQ_GRP_GROUP, 1);
    g_assert_cmpuint(command(UBQ_OP_GROUP_JOIN, cmd), ==, UBQ_RESULT_NO_OBJECT);
    init(cmd, 3, 0);
    put_le32(cmd + UBQ_GRP_GROUP, 2);
    OK(UBQ_OP_GROUP_JOIN, cmd);
    init(cmd, 3, 0);
    OK(UBQ_OP_CHANNEL_QUERY, cmd);
    g_assert_cmphex(get_le32(cmd + UBQ_CH_GROUP), ==, 2);
    g_assert_cmpuint(simple(UBQ_OP_GROUP_LEAVE, 3), ==, UBQ_RESULT_OK);
    init(cmd, 3, 0);
    OK(UBQ_OP_CHANNEL_QUERY, cmd);
    g_assert_cmphex(get_le32(cmd + UBQ_CH_GROUP), ==, UBQ_NEW);
    g_assert_cmpuint(simple(UBQ_OP_GROUP_DESTROY, 2), ==, UBQ_RESULT_OK);
    g_assert_cmpuint(simple(UBQ_OP_GROUP_DESTROY, 2), ==, UBQ_RESULT_NO_OBJECT);
    end();
}

/* A channel by a way without a port; then what it sent. */
static uint32_t connect_from(uint32_t tpn, uint32_t scna, bool grouped, unsigned join)
{
    uint8_t cmd[UBQ_CMD];

    put_channel(cmd, tpn);
    cmd[UBQ_CH_WAY + UBQ_WAY_RT] = 0;
    cmd[UBQ_CH_WAY + UBQ_WAY_PORT] = 0;
    put_le32(cmd + UBQ_CH_WAY + UBQ_WAY_SCNA, scna);
    OK(UBQ_OP_CHANNEL_CREATE, cmd);
    if (grouped) {
        init(cmd, tpn, 0);
        put_le32(cmd + UBQ_GRP_GROUP, 2);
        g_assert_cmpuint(command(UBQ_OP_GROUP_JOIN, cmd), ==, join);
    }
    sent_scna = 0;
    g_assert_cmpuint(simple(UBQ_OP_CHANNEL_CONNECT, tpn), ==, UBQ_RESULT_OK);
    ub_net_run(ub_node_net(node), 1000, 16);
    g_assert_cmpuint(simple(UBQ_OP_CHANNEL_DESTROY, tpn), ==, UBQ_RESULT_OK);
    return sent_scna;
}

/* Ports with CNAs of their own: what channels of a group send is from the Primary CNA or
 * from the one that their ways name; where there is neither they do not join. */
static void test_group_source(void)
{
    const unsigned ok = UBQ_RESULT_OK;
    uint8_t cmd[UBQ_CMD];

    begin();
    init(cmd, 2, 0);
    OK(UBQ_OP_GROUP_CREATE, cmd);
    g_assert_cmphex(connect_from(3, 0, true, ok), ==, 1);
    ub_net_set_port_cna(ub_node_net(node), 0, 0x21);
    g_assert_cmphex(connect_from(3, 0, false, ok), ==, 0x21);
    g_assert_cmphex(connect_from(3, 0, true, ok), ==, 1);
    g_assert_cmphex(connect_from(3, 0x21, true, ok), ==, 0x21);
    ub_net_set_primary(ub_node_net(node), 0);
    g_assert_cmphex(connect_from(3, 0, true, UBQ_RESULT_PARAMETER), ==, 0x21);
    g_assert_cmphex(connect_from(3, 0x21, true, ok), ==, 0x21);
    /* The last port has one. */
    ub_net_set_port_cna(ub_node_net(node), 0, 0);
    ub_net_set_port_cna(ub_node_net(node), ub_node_config(node)->net.ports - 1, 0x22);
    connect_from(3, 0, true, UBQ_RESULT_PARAMETER);
    /* A node without addresses, and what has IP addresses. */
    put_channel(cmd, 4);
    put_way(cmd + UBQ_CH_WAY, UB_LPH_IPV4);
    put_le32(cmd + UBQ_CH_WAY + UBQ_WAY_SCNA, 0);
    OK(UBQ_OP_CHANNEL_CREATE, cmd);
    init(cmd, 4, 0);
    put_le32(cmd + UBQ_GRP_GROUP, 2);
    OK(UBQ_OP_GROUP_JOIN, cmd);
    g_assert_cmpuint(simple(UBQ_OP_CHANNEL_DESTROY, 4), ==, UBQ_RESULT_OK);
    ub_net_set_port_cna(ub_node_net(node), ub_node_config(node)->net.ports - 1, 0);
    connect_from(3, 0, true, ok);
    /* No channel at all. */
    init(cmd, 9, 0);
    put_le32(cmd + UBQ_GRP_GROUP, 2);
    g_assert_cmpuint(command(UBQ_OP_GROUP_JOIN, cmd), ==, UBQ_RESULT_NO_OBJECT);
    end();
}

/* ---- Entities, addresses, all ------------------------------------------------------------ */

static void test_entities(void)
{
    uint8_t cmd[UBQ_CMD];
    uint32_t upi;

    begin();
    for (unsigned i = 0; i <= UB_SEC_ENTITIES; i += UB_SEC_ENTITIES - 1) {
        init(cmd, i, 0);
        for (unsigned b = 0; b < 16; b++) {
            cmd[UBQ_ENT_EID + b] = 0xc0 + b;
        }
        put_le32(cmd + UBQ_ENT_UPI, 0x654321);
        OK(UBQ_OP_ENTITY_SET, cmd);
        g_assert_cmpmem(ub_sec_entity(ub_node_sec(node), i, &upi), 16,
                        cmd + UBQ_ENT_EID, 16);
        g_assert_cmphex(upi, ==, 0x654321);
        put_le32(cmd + UBQ_CMD_OBJECT, UB_SEC_ENTITIES);
        g_assert_cmpuint(command(UBQ_OP_ENTITY_SET, cmd), ==, UBQ_RESULT_PARAMETER);
        g_assert_cmpuint(simple(UBQ_OP_ENTITY_SET, i), ==, UBQ_RESULT_OK);
        g_assert_null(ub_sec_entity(ub_node_sec(node), i, NULL));
    }
    /* One bit is an EID. */
    init(cmd, 7, 0);
    cmd[UBQ_ENT_EID + 15] = 1;
    OK(UBQ_OP_ENTITY_SET, cmd);
    g_assert_nonnull(ub_sec_entity(ub_node_sec(node), 7, NULL));
    end();
}

static void test_addresses(void)
{
    uint8_t cmd[UBQ_CMD], got[UBQ_CMD];

    begin();
    for (unsigned i = 0; i < UB_NET_MAX_IPS; i++) {
        init(cmd, 0, 0);
        cmd[UBQ_IP_CFG] = i & 1 ? UB_LPH_IPV6 : UB_LPH_IPV4;
        cmd[UBQ_IP_ADDR] = 10;
        cmd[UBQ_IP_ADDR + 3] = i;
        cmd[UBQ_IP_ADDR + 15] = i & 1 ? 9 : 0;
        OK(UBQ_OP_IP_ADD, cmd);
        init(got, i, 0);
        OK(UBQ_OP_IP_QUERY, got);
        g_assert_cmpuint(got[UBQ_IP_CFG], ==, cmd[UBQ_IP_CFG]);
        g_assert_cmpmem(got + UBQ_IP_ADDR, i & 1 ? 16 : 4, cmd + UBQ_IP_ADDR,
                        i & 1 ? 16 : 4);
        g_assert_cmpuint(simple(UBQ_OP_IP_QUERY, i + 1), ==, UBQ_RESULT_NO_OBJECT);
    }
    cmd[UBQ_IP_ADDR] = 11;
    g_assert_cmpuint(command(UBQ_OP_IP_ADD, cmd), ==, UBQ_RESULT_FULL);
    g_assert_cmpuint(command(UBQ_OP_IP_REMOVE, cmd), ==, UBQ_RESULT_NO_OBJECT);
    cmd[UBQ_IP_ADDR] = 10;
    OK(UBQ_OP_IP_REMOVE, cmd);
    g_assert_cmpuint(command(UBQ_OP_IP_REMOVE, cmd), ==, UBQ_RESULT_NO_OBJECT);
    cmd[UBQ_IP_CFG] = 5;
    g_assert_cmpuint(command(UBQ_OP_IP_ADD, cmd), ==, UBQ_RESULT_PARAMETER);
    end();
}

static void test_all(void)
{
    uint8_t cmd[UBQ_CMD];

    begin();
    init(cmd, 0, 0);
    OK(UBQ_OP_CAPS, cmd);
    g_assert_cmpuint(get_le32(cmd + UBQ_CAP_CHANNELS), ==, 64);
    g_assert_cmpuint(get_le32(cmd + UBQ_CAP_GROUPS), ==, 4);
    /* Others have their commands, or nobody. */
    for (unsigned op = 0; op < 256; op++) {
        static const uint8_t ours[] = {
            0x00, 0x40, 0x41, 0x42, 0x43, 0x44, 0x45, 0x46, 0x48, 0x49, 0x4a, 0x4b,
            0x50, 0x51, 0x52, 0x54, 0x55, 0x60, 0x70, 0x71, 0x72,
        };

        init(cmd, 77, 0);
        g_assert_cmpint(command(op, cmd) != UBQ_RESULT_OPCODE, ==,
                        memchr(ours, op, sizeof(ours)) != NULL);
        g_assert_cmphex(get_le32(cmd + UBQ_CMD_OBJECT), ==, 77);
    }
    g_assert_cmpuint(ub_node_result(UB_TPR_OK), ==, UBQ_RESULT_OK);
    g_assert_cmpuint(ub_node_result(UB_TPR_NO_CHANNEL), ==, UBQ_RESULT_NO_OBJECT);
    g_assert_cmpuint(ub_node_result(UB_TPR_TIMEOUT), ==, UBQ_RESULT_TIMEOUT);
    g_assert_cmpuint(ub_node_result(UB_TPR_REFUSED), ==, UBQ_RESULT_REFUSED);
    end();
}

/* A reset leaves nothing of any floor. */
static void test_reset(void)
{
    static const uint8_t key[32] = { 1 };
    uint8_t cmd[UBQ_CMD];
    UbCip *cip;

    begin();
    put_row(cmd, 9, UB_TP_CTP);
    OK(UBQ_OP_DEST_SET, cmd);
    put_channel(cmd, 3);
    OK(UBQ_OP_CHANNEL_CREATE, cmd);
    put_row(cmd, UBQ_NEW, UB_TP_RTP);
    cmd[UBQ_IMP_MODE] = UB_ROI;
    OK(UBQ_OP_IMPORT, cmd);
    init(cmd, 0, 0);
    cmd[UBQ_IP_CFG] = UB_LPH_IPV4;
    cmd[UBQ_IP_ADDR] = 10;
    OK(UBQ_OP_IP_ADD, cmd);
    cip = ub_sec_cip(ub_node_sec(node));
    g_assert_nonnull(key);
    ub_sec_set_entity(ub_node_sec(node), UB_SEC_ENTITIES - 1, &own, 5);
    ub_node_reset(node, 2000);
    g_assert_null(ub_ta_dest(ub_node_ta(node), 9));
    g_assert_cmpuint(simple(UBQ_OP_CHANNEL_QUERY, 3), ==, UBQ_RESULT_NO_OBJECT);
    g_assert_cmpuint(simple(UBQ_OP_UNIMPORT, 0), ==, UBQ_RESULT_NO_OBJECT);
    g_assert_cmpuint(simple(UBQ_OP_IP_QUERY, 0), ==, UBQ_RESULT_NO_OBJECT);
    g_assert_null(ub_sec_entity(ub_node_sec(node), 0, NULL));
    g_assert_null(ub_sec_entity(ub_node_sec(node), UB_SEC_ENTITIES - 1, NULL));
    g_assert_cmpuint(ub_net_primary(ub_node_net(node)), ==, 0);
    g_assert_true(!cip || !ub_cip_touched(cip));
    /* Rows are found from the first one on. */
    ub_sec_set_entity(ub_node_sec(node), 0, &own, 1);
    g_assert_cmpuint(import(UBQ_NEW, UB_TP_CTP, UB_ROI, 0, 1, cmd), ==, UBQ_RESULT_OK);
    g_assert_cmpuint(get_le32(cmd + UBQ_CMD_OBJECT), ==, 0);
    ub_node_free(NULL);
    end();
}

/* ---- Faults ---------------------------------------------------------------------------- */

/* Whether the plan of a node's faults takes a packet of @len bytes. */
static bool taken(UbFaultPlan *plan, unsigned cfg, const uint8_t *p, uint32_t len)
{
    uint64_t done[CORE_FAULT_NUM];
    UbNetFault fault;

    plan->plan.ppm[CORE_FAULT_DROP] = 1;
    ub_node_set_fault(node, true, plan);
    g_assert_true(ub_net_fault(ub_node_net(node), true, &fault, done));
    return fault.match(fault.opaque, cfg, p, len);
}

/* The TAOpcode is behind the TPH, UPIH and EIDH; of a packet that ends before it there
 * is none. */
static void test_fault_opcode(void)
{
    static const struct {
        unsigned nlp, skip;
    } next[] = {
        { UB_TPH_TAH, 0 }, { UB_TPH_UPI16, 7 }, { UB_TPH_UPI32, 36 },
    };
    begin();
    for (unsigned op = 0; op < UB_TPOPS; op++) {
        for (unsigned i = 0; i < G_N_ELEMENTS(next); i++) {
            uint8_t p[160] = { 0 };
            UbNth nth = { .nlp = UB_NLP_RTPH };
            UbRtph tph = { .opcode = op, .nlp = next[i].nlp, .psn = 77 };
            uint32_t at = UB_NTH24_SIZE + UB_RTPH_LEN + next[i].skip;
            UbFaultPlan plan;

            g_assert_false(ub_tp_ops[op].payload && ub_tp_ops[op].cetph);
            ub_nth24_put(p, &nth);
            ub_rtph_put(p + UB_NTH24_SIZE, &tph);
            p[at] = UB_TA_READ;
            for (uint32_t len = 0; len <= at + 8; len++) {
                ub_fault_plan_init(&plan);
                plan.ta_opcode = UB_TA_READ;
                g_assert_true(taken(&plan, UB_LPH_CNA24, p, len) ==
                              (ub_tp_ops[op].payload && len > at));
                ub_fault_plan_init(&plan);
                plan.tp_opcode = op;
                g_assert_true(taken(&plan, UB_LPH_CNA24, p, len) ==
                              (len >= UB_NTH24_SIZE + UB_RTPH_LEN));
                plan.psn = 77;
                g_assert_true(taken(&plan, UB_LPH_CNA24, p, len) ==
                              (len >= UB_NTH24_SIZE + UB_RTPH_LEN &&
                               op != UB_TPOP_UNRELIABLE));
            }
        }
    }
    end();
}

/* What the network layer holds leaves in a turn of the node, at its time. */
static void test_fault_delay(void)
{
    uint8_t cmd[UBQ_CMD];
    UbFaultPlan plan;

    begin();
    ub_fault_plan_init(&plan);
    plan.plan.ppm[CORE_FAULT_DELAY] = 1000000;
    plan.plan.delay_us = 5;
    ub_node_set_fault(node, true, &plan);
    sent = 0;
    put_row(cmd, UBQ_NEW, UB_TP_RTP);
    memset(cmd + UBQ_DST_WAY, 0, 48);
    cmd[UBQ_DST_WAY + UBQ_WAY_CFG] = UB_LPH_CNA24;
    cmd[UBQ_DST_WAY + UBQ_WAY_PORT] = 0xff;
    cmd[UBQ_DST_WAY + UBQ_WAY_DCNA] = 2;
    cmd[UBQ_IMP_MODE] = UB_ROI;
    OK(UBQ_OP_IMPORT, cmd);
    g_assert_cmpint(ub_node_run(node, 1000, 64), ==, 6000);
    g_assert_cmpint(ub_node_run(node, 5999, 64), ==, 6000);
    g_assert_cmpuint(sent, ==, 0);
    g_assert_cmpint(ub_node_run(node, 6000, 64), >, 6000);
    g_assert_cmpuint(sent, ==, 1);
    end();
}

/* What has not been set concerns nothing in particular, in either direction. */
static void test_fault_unset(void)
{
    UbFaultPlan none, plan;
    uint64_t done[CORE_FAULT_NUM];

    begin();
    ub_fault_plan_init(&none);
    for (unsigned out = 0; out < 2; out++) {
        g_assert_false(ub_node_fault(node, out, &plan, done));
        g_assert_cmpmem(&plan, sizeof(plan), &none, sizeof(none));
        g_assert_cmpuint(plan.kind, ==, UB_FAULT_ANY);
    }
    plan.ta_opcode = UB_TA_READ;
    plan.psn = 5;
    plan.plan.ppm[CORE_FAULT_DROP] = 1;
    ub_node_set_fault(node, true, &plan);
    g_assert_true(ub_node_fault(node, true, &plan, done));
    g_assert_cmpuint(plan.ta_opcode, ==, UB_TA_READ);
    g_assert_cmpuint(plan.psn_last, ==, 5);
    g_assert_false(ub_node_fault(node, false, &plan, done));
    g_assert_cmpuint(plan.ta_opcode, ==, UB_FAULT_ANY);
    end();
}

/* ---- Settings by name -------------------------------------------------------------------- */

static void test_options(void)
{
    g_autoptr(GHashTable) names = g_hash_table_new(g_str_hash, g_str_equal);
    UbNodeConfig cfg, other;
    const CoreOption *o;
    unsigned n, n2;
    char *why = NULL;

    o = ub_node_options(&n);
    g_assert_true(ub_node_options(&n2) == o);
    g_assert_cmpuint(n, ==, n2);
    for (unsigned i = 0; i < n; i++) {
        g_assert_true(g_hash_table_add(names, (gpointer)o[i].name));
        g_assert_true(ub_node_option(o[i].name) == &o[i]);
        g_assert_cmpuint(o[i].at, <, sizeof(UbNodeConfig));
        g_assert_true(o[i].plain || g_str_has_prefix(o[i].name, "net-") ||
                      g_str_has_prefix(o[i].name, "tp-") ||
                      g_str_has_prefix(o[i].name, "ta-"));
    }
    g_assert_null(ub_node_option("no-such"));
    g_assert_null(ub_node_option("ta-"));
    ub_node_config_init(&cfg);
    g_assert_true(cfg.accept);
    g_assert_true(ub_node_option_set(&cfg, "ta-retries=9", &why));
    g_assert_cmpuint(cfg.ta.retries, ==, 9);
    g_assert_true(ub_node_option_set(&cfg, "icrc=off", &why));
    g_assert_false(cfg.net.icrc);
    g_assert_false(ub_node_option_set(&cfg, "ta-retries", &why));
    g_assert_cmpstr(why, ==, "a setting is NAME=VALUE");
    g_clear_pointer(&why, g_free);
    g_assert_false(ub_node_option_set(&cfg, "ta-retriez=9", &why));
    g_assert_cmpstr(why, ==, "no setting \"ta-retriez\"");
    g_clear_pointer(&why, g_free);
    g_assert_false(ub_node_option_set(&cfg, "ta-retries=256", &why));
    g_assert_nonnull(why);
    g_clear_pointer(&why, g_free);
    /* They go into another configuration, and nothing else does. */
    cfg.bare = true;
    cfg.accept = false;
    cfg.net.fecn = !cfg.net.fecn;
    ub_node_config_init(&other);
    other.bare = false;
    ub_node_options_copy(&other, &cfg);
    g_assert_cmpuint(other.ta.retries, ==, 9);
    g_assert_false(other.net.icrc);
    g_assert_cmpint(other.net.fecn, ==, cfg.net.fecn);
    g_assert_false(other.bare);
    g_assert_true(other.accept);
}

/* Clocks that nothing was said of are all the same. */
static void test_clocks(void)
{
    UbNodeConfig cfg;

    ub_node_config_init(&cfg);
    ub_node_options_no_clocks(&cfg);
    for (unsigned i = 0; i < UB_TPC_NUM; i++) {
        g_assert_cmpuint(cfg.tp.clock[i].scale, ==, 0);
        g_assert_cmpint(cfg.tp.clock[i].floor_ns, ==, 0);
    }
    cfg.tp.clock[1].scale = 5;
    cfg.tp.clock[UB_TPC_NUM - 1].floor_ns = 7;
    ub_node_options_clocks(&cfg, (UbTpScale) { 3, 11 });
    for (unsigned i = 0; i < UB_TPC_NUM; i++) {
        g_assert_cmpuint(cfg.tp.clock[i].scale, ==, i == 1 ? 5 : 3);
        g_assert_cmpint(cfg.tp.clock[i].floor_ns, ==, i == UB_TPC_NUM - 1 ? 7 : 11);
    }
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/ub/node/rows", test_rows);
    g_test_add_func("/ub/node/row-bounds", test_row_bounds);
    g_test_add_func("/ub/node/channel-fields", test_channel_fields);
    g_test_add_func("/ub/node/channel-flags", test_channel_flags);
    g_test_add_func("/ub/node/channel-life", test_channel_life);
    g_test_add_func("/ub/node/groups", test_groups);
    g_test_add_func("/ub/node/group-source", test_group_source);
    g_test_add_func("/ub/node/entities", test_entities);
    g_test_add_func("/ub/node/addresses", test_addresses);
    g_test_add_func("/ub/node/all", test_all);
    g_test_add_func("/ub/node/reset", test_reset);
    g_test_add_func("/ub/node/fault/opcode", test_fault_opcode);
    g_test_add_func("/ub/node/fault/delay", test_fault_delay);
    g_test_add_func("/ub/node/fault/unset", test_fault_unset);
    g_test_add_func("/ub/node/options", test_options);
    g_test_add_func("/ub/node/clocks", test_clocks);
    return g_test_run();
}
