/*
 * Management of nodes (UB 2.0 §10.4) in a fabric without links: who may do what,
 * what nodes tell each other.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "mgmt-fabric.h"

/* ---- Configuration ---- */

static void config_remote(void)
{
    Fabric f;
    Answer a = { 0 };
    UbMgmt *m;

    line(&f);
    m = f.node[0].m;
    g_assert_true(ub_mgmt_read(m, f.now, &fm_to_3, 0, UB_CFG0_GUID,
                               fabric_answer, &a));
    g_assert_cmpuint(ub_mgmt_waiting(m), ==, 1);
    fabric_pump(&f);
    g_assert_cmpuint(ub_mgmt_waiting(m), ==, 0);
    g_assert_cmpuint(a.status, ==, UB_MGMT_OK);
    g_assert_cmpuint(a.len, ==, 16);
    g_assert_cmphex(get_be32(a.data), ==, 0x103);
    g_assert_cmphex(get_be32(a.data + 4), ==, 0);

    /* A write by bytes; of two bytes the others stay. */
    memset(&a, 0, sizeof(a));
    g_assert_true(ub_mgmt_write(m, f.now, &fm_to_3, 0, UB_CFG0_UEID,
                                0x11223344, 0x5, fabric_answer, &a));
    fabric_pump(&f);
    g_assert_cmpuint(a.status, ==, UB_MGMT_OK);
    g_assert_cmpuint(a.len, ==, 16);
    g_assert_cmphex(ub_space_read(f.node[3].space, UB_CFG0_UEID), ==,
                    0x00220044);
    /* CFG1, and ports, which are CFG0. */
    g_assert_true(ub_mgmt_write(m, f.now, &fm_to_3, 0,
                                UB_CFG1_BASE + UB_CFG1_BUS_EN, 1, 0xf,
                                fabric_answer, &a));
    g_assert_true(ub_mgmt_write(m, f.now, &fm_to_3, 0,
                                UB_CFG_PORT_BASE(1) + UB_PORT_CNA, 0x77, 0xf,
                                fabric_answer, &a));
    fabric_pump(&f);
    g_assert_cmpuint(a.calls, ==, 3);
    g_assert_cmpuint(a.status, ==, UB_MGMT_OK);
    g_assert_cmphex(ub_space_read(f.node[3].space,
                                  UB_CFG1_BASE + UB_CFG1_BUS_EN), ==, 1);
    g_assert_true(ub_mgmt_own_cna(f.node[3].m, 0x77));
    g_assert_false(ub_mgmt_own_cna(f.node[3].m, 0));
    /* CFG1 begins with its first register, and ends where ports begin. */
    for (unsigned i = 0; i < 2; i++) {
        uint32_t dw = i ? UB_CFG_PORT_BASE(0) : UB_CFG1_BASE;

        g_assert_true(ub_mgmt_read(m, f.now, &fm_to_3, 0, dw, fabric_answer, &a));
        fabric_pump(&f);
        g_assert_cmpuint(a.status, ==, UB_MGMT_OK);
        g_assert_cmphex(get_be32(a.data), ==, ub_space_read(f.node[3].space, dw));
    }
    /* What is not defined reads 0, is not written, and both succeed. */
    g_assert_true(ub_mgmt_write(m, f.now, &fm_to_3, 0, 0x22, ~0u, 0xf,
                                fabric_answer, &a));
    fabric_pump(&f);
    g_assert_cmpuint(a.status, ==, UB_MGMT_OK);
    memset(a.data, 1, 4);
    g_assert_true(ub_mgmt_read(m, f.now, &fm_to_3, 0, 0xff00ffff,
                               fabric_answer, &a));
    fabric_pump(&f);
    g_assert_cmpuint(a.status, ==, UB_MGMT_OK);
    g_assert_cmphex(get_be32(a.data), ==, 0);
    fabric_free(&f);
}

/* A slice that is the UBFM's: who has Mgmt is it by the CNA that the node was told. */
static void config_managed(void)
{
    static const UbSpaceDword row = { .dw = 1, .rw = ~0u, .name = "row" };
    static const UbSpaceSlice table = { "OURS", UB_SPACE_CFG1, 242, 2, &row, 1 };
    static const struct {
        uint32_t ubfm;
        bool user;
        unsigned status;
    } asked[] = {
        { 0, false, UB_MGMT_NO_PERMISSION },
        { 0x11, false, UB_MGMT_NO_PERMISSION },
        { 0x10, true, UB_MGMT_NO_PERMISSION },
        { 0x10, false, UB_MGMT_OK },
    };
    const uint32_t at = UB_CFG_CAP(UB_CFG1_BASE, 242) + 1;
    Fabric f;
    UbSlice *s;

    line(&f);
    s = ub_space_attach_at(f.node[3].space, at - 1, &table, NULL, NULL);
    ub_slice_set(s, 1, ~0u, 7);
    ub_slice_manage(s);
    /* The same partition, so that it is the right alone that lacks. */
    ub_slice_set(f.node[0].cfg0, UB_CFG0_UPI, ~0u,
                 ub_slice_get(f.node[3].cfg0, UB_CFG0_UPI));
    for (unsigned i = 0; i < G_N_ELEMENTS(asked); i++) {
        UbMgmtAddr to = fm_to_3;
        Answer a = { 0 };

        to.mgmt = !asked[i].user;
        to.upi = ub_slice_get(f.node[3].cfg0, UB_CFG0_UPI);
        ub_slice_set(f.node[3].cfg0, UB_CFG0_UBFM_CNA, ~0u, asked[i].ubfm);
        g_assert_true(ub_mgmt_read(f.node[0].m, f.now, &to, 0, at, fabric_answer, &a));
        fabric_pump(&f);
        g_assert_cmpuint(a.status, ==, asked[i].status);
        g_assert_true(ub_mgmt_write(f.node[0].m, f.now, &to, 0, at, 9, 0xf,
                                    fabric_answer, &a));
        fabric_pump(&f);
        g_assert_cmpuint(a.calls, ==, 2);
        g_assert_cmpuint(a.status, ==, asked[i].status);
        g_assert_cmphex(ub_slice_get(s, 1), ==, asked[i].status ? 7 : 9);
    }
    g_assert_cmpuint(fabric_counted(&f, 3, UB_MGMT_CNT_REFUSED), ==, 6);
    fabric_free(&f);
}

/* Sixteen reads, answered in the other order. */
static void config_many(void)
{
    Fabric f;
    Answer a[16] = { 0 };

    line(&f);
    for (unsigned i = 0; i < 16; i++) {
        g_assert_true(ub_mgmt_read(f.node[0].m, f.now, &fm_to_3, 0, i,
                                   fabric_answer, &a[i]));
    }
    for (unsigned i = 0; i < 16; i++) {
        fabric_land(&f, g_queue_pop_head(&f.under_way)); /* requests */
    }
    g_assert_cmpuint(g_queue_get_length(&f.under_way), ==, 16);
    for (unsigned i = 16; i-- > 0;) {
        fabric_land(&f, g_queue_pop_tail(&f.under_way));
        g_assert_cmpuint(a[i].calls, ==, 1);
        g_assert_cmphex(get_be32(a[i].data), ==,
                        ub_space_read(f.node[3].space, i));
    }
    g_assert_cmpuint(ub_mgmt_waiting(f.node[0].m), ==, 0);
    fabric_free(&f);
}

/* §10.4.1: who may read and write what. */
static void config_rights(void)
{
    enum { OK = 0, OVER = 1, PERM = 0x21, DROP = 0x100 };
    static const struct {
        bool mgmt;
        uint16_t upi;
        uint16_t want[4]; /* CFG0 read, write, CFG1 read, write */
    } rows[] = {
        { true, UB_MGMT_UPI, { OK, OK, OK, OK } },
        { false, 5, { OK, PERM, OK, OK } },
        { false, 6, { OVER, OVER, OVER, OVER } },
        { false, 0, { OVER, OVER, OVER, OVER } },
        { false, UB_MGMT_UPI, { OVER, OVER, OVER, OVER } },
        { true, 5, { DROP, DROP, DROP, DROP } },
    };

    for (unsigned i = 0; i < G_N_ELEMENTS(rows); i++) {
        for (unsigned sub = 0; sub < 4; sub++) {
            Fabric f;
            uint8_t data[20] = { 0 };
            UbMgmtAddr a = { .scna = 0x10, .dcna = 0x13, .seid = 0x20,
                             .deid = 0x23, .mgmt = rows[i].mgmt,
                             .upi = rows[i].upi, .msn = 0x1234, .queue = 3,
                             .sl = 2, .lbf = 7 };
            Flight *fl;

            line(&f);
            ub_mgmt_etah_put(data, (UbMgmtEtah) { .code = 2, .sub = sub,
                                                  .len = 16 });
            ub_mgmt_put(data + 4, UB_MF_CFG_ADDRESS,
                        sub < 2 ? UB_CFG0_UEID : UB_CFG1_BASE + UB_CFG1_BUS_EN);
            ub_mgmt_put(data + 4, UB_MF_CFG_BYTE_EN, 0xf);
            ub_mgmt_put(data + 4, UB_MF_CFG_DATA, 1);
            ub_mgmt_receive(f.node[3].m, f.now, &a, data, sizeof(data));
            fl = g_queue_pop_head(&f.under_way);
            if (rows[i].want[sub] == DROP) {
                g_assert_null(fl);
                g_assert_cmpuint(ub_mgmt_counter(f.node[3].m,
                                                 UB_MGMT_CNT_DROP_UPI), ==, 1);
            } else {
                UbMgmtEtah e = ub_mgmt_etah_get(fl->data);

                g_assert_cmphex(e.status, ==, rows[i].want[sub]);
                g_assert_true(e.rsp);
                g_assert_cmpuint(e.code, ==, 2);
                g_assert_cmpuint(e.sub, ==, sub);
                g_assert_cmpuint(e.len, ==, e.status ? 0 : 16);
                g_assert_cmpuint(fl->len, ==, 4 + e.len);
                /* The answer goes back to where the request came from. */
                g_assert_cmphex(fl->addr.scna, ==, 0x13);
                g_assert_cmphex(fl->addr.dcna, ==, 0x10);
                g_assert_cmphex(fl->addr.seid, ==, 0x23);
                g_assert_cmphex(fl->addr.deid, ==, 0x20);
                g_assert_cmphex(fl->addr.upi, ==, rows[i].upi);
                g_assert_cmphex(fl->addr.msn, ==, 0x1234);
                g_assert_cmphex(fl->addr.queue, ==, 3);
                g_assert_cmpuint(fl->addr.sl, ==, 2);
                g_assert_cmpuint(fl->addr.lbf, ==, 7);
                g_assert_false(fl->addr.mgmt);
                g_assert_cmpuint(ub_mgmt_counter(f.node[3].m,
                                                 UB_MGMT_CNT_REFUSED), ==,
                                 e.status != 0);
                g_free(fl);
            }
            g_assert_cmphex(ub_space_read(f.node[3].space, UB_CFG0_UEID), ==,
                            sub == 1 && rows[i].want[1] == OK);
            fabric_free(&f);
        }
    }
}

/* A UPI of 0 is no partition, even if both have it. */
static void config_no_partition(void)
{
    Fabric f;
    uint8_t data[20] = { 0 };
    UbMgmtAddr a = { .scna = 0x10, .dcna = 0x13, .deid = 0x23 };
    UbMgmtConfig cfg;
    Node *n;
    Flight *fl;

    line(&f);
    ub_mgmt_etah_put(data, (UbMgmtEtah) { .code = 2, .len = 16 });
    fabric_identity(&f.node[3], 0x13, 0x23, 0);
    ub_mgmt_receive(f.node[3].m, f.now, &a, data, sizeof(data));
    fl = g_queue_pop_head(&f.under_way);
    g_assert_cmpuint(fl->data[1], ==, UB_MGMT_OVERREACH);
    g_free(fl);
    /* Or such a request is dropped. */
    ub_mgmt_config_init(&cfg);
    cfg.drop_foreign_upi = true;
    n = fabric_add(&f, &cfg);
    fabric_identity(n, 0x14, 0x24, 5);
    a.upi = 6;
    ub_mgmt_receive(n->m, f.now, &a, data, sizeof(data));
    g_assert_true(g_queue_is_empty(&f.under_way));
    g_assert_cmpuint(ub_mgmt_counter(n->m, UB_MGMT_CNT_DROP_UPI), ==, 1);
    g_assert_cmpuint(n->rules, ==, 1);
    a.upi = 5;
    a.deid = 0x24;
    ub_mgmt_receive(n->m, f.now, &a, data, sizeof(data));
    g_assert_cmpuint(g_queue_get_length(&f.under_way), ==, 1);
    fabric_free(&f);
}

/* Each Entity has a partition of its own: a User is judged by that of the Entity
 * that it names, by EID or in a configuration message by number. */
static void config_entities(void)
{
    enum { OK = 0, OVER = 1, GONE = 2 };
    static const struct {
        uint8_t id;
        uint16_t upi, entity;
        uint32_t deid;
        unsigned want;
    } rows[] = {
        /* Entity 0 is in partition 5, Entity 1 in 6, Entity 2 in none. */
        { UB_MGMT_MSG_CFG0_READ, 5, 0, 0x23, OK },
        { UB_MGMT_MSG_CFG0_READ, 5, 1, 0x23, OVER },
        { UB_MGMT_MSG_CFG0_READ, 6, 1, 0x31, OK },
        { UB_MGMT_MSG_CFG1_WRITE, 6, 1, 0x31, OK },
        { UB_MGMT_MSG_CFG0_READ, 6, 0, 0x31, OVER },
        { UB_MGMT_MSG_CFG0_READ, 6, 2, 0x31, OVER },
        { UB_MGMT_MSG_CFG0_READ, 0, 2, 0x32, OVER },
        { UB_MGMT_MSG_CFG0_READ, 6, 9, 0x31, GONE },
        { UB_MGMT_MSG_CFG0_READ, 6, 1, 0x99, GONE },
        { UB_MGMT_MSG_ENTITY_INFO, 5, 0, 0x23, OK },
        { UB_MGMT_MSG_ENTITY_INFO, 6, 0, 0x31, OK },
        { UB_MGMT_MSG_ENTITY_INFO, 5, 0, 0x31, OVER },
        { UB_MGMT_MSG_ENTITY_INFO, 6, 0, 0x23, OVER },
        { UB_MGMT_MSG_ENTITY_INFO, 0, 0, 0x32, OVER },
    };

    for (unsigned i = 0; i < G_N_ELEMENTS(rows); i++) {
        Fabric f;
        uint8_t data[20] = { 0 };
        bool config = rows[i].id >> 4 == 2;
        unsigned len = config ? 16 : 0;
        UbMgmtAddr a = { .scna = 0x10, .dcna = 0x13, .deid = rows[i].deid,
                         .upi = rows[i].upi };
        Flight *fl;

        line(&f);
        fabric_more_entities(&f.node[3]);
        for (unsigned e = 1; e < FABRIC_ENTITIES; e++) {
            ub_slice_set(f.node[3].other0[e], UB_CFG0_EID, ~0u, 0x30 + e);
        }
        ub_slice_set(f.node[3].other0[1], UB_CFG0_UPI, ~0u, 6);
        ub_mgmt_etah_put(data, (UbMgmtEtah) { .code = rows[i].id >> 4,
                                              .sub = rows[i].id & 15,
                                              .len = len });
        ub_mgmt_put(data + 4, UB_MF_CFG_ENTITY, rows[i].entity);
        if (rows[i].id == UB_MGMT_MSG_CFG1_WRITE) {
            ub_mgmt_put(data + 4, UB_MF_CFG_ADDRESS,
                        UB_CFG1_BASE + UB_CFG1_DEV_TOKEN_ID);
            ub_mgmt_put(data + 4, UB_MF_CFG_BYTE_EN, 0xf);
            ub_mgmt_put(data + 4, UB_MF_CFG_DATA, 7);
        }
        ub_mgmt_receive(f.node[3].m, f.now, &a, data, 4 + len);
        fl = g_queue_pop_head(&f.under_way);
        g_assert_cmphex(fl->data[1], ==, rows[i].want);
        g_free(fl);
        g_assert_cmphex(ub_space_read(f.node[3].other[1], UB_CFG1_BASE +
                                      UB_CFG1_DEV_TOKEN_ID), ==,
                        rows[i].id == UB_MGMT_MSG_CFG1_WRITE ? 7 : 0);
        fabric_free(&f);
    }
}

static void config_errors(void)
{
    Fabric f;
    Answer a;
    uint8_t pdu[32] = { 0 };
    UbMgmtAddr nobody = { .dcna = 0x13, .deid = 0x99, .mgmt = true };

    line(&f);
    /* Lengths. */
    g_assert_cmphex(ask(&f, UB_MGMT_MSG_CFG0_READ, pdu, 15, &a), ==, 4);
    g_assert_cmphex(ask(&f, UB_MGMT_MSG_CFG0_READ, pdu, 17, &a), ==, 4);
    g_assert_cmphex(ask(&f, UB_MGMT_MSG_CFG0_READ, pdu, 16, &a), ==, 0);
    /* Reserved code and sub code. */
    g_assert_cmphex(ask(&f, 0x24, pdu, 16, &a), ==, 3);
    g_assert_cmphex(ask(&f, 0x03, pdu, 8, &a), ==, 3);
    g_assert_cmphex(ask(&f, 0x70, pdu, 16, &a), ==, 3);
    g_assert_cmpuint(a.len, ==, 0);
    /* CFG1 by a CFG0 message and the other way round. */
    put_be32(pdu + 4, UB_CFG1_BASE);
    g_assert_cmphex(ask(&f, UB_MGMT_MSG_CFG0_READ, pdu, 16, &a), ==, 0x22);
    g_assert_cmphex(ask(&f, UB_MGMT_MSG_CFG1_READ, pdu, 16, &a), ==, 0);
    put_be32(pdu + 4, UB_CFG1_BASE - 1);
    g_assert_cmphex(ask(&f, UB_MGMT_MSG_CFG1_READ, pdu, 16, &a), ==, 0x22);
    put_be32(pdu + 4, UB_CFG_PORT_BASE(0) - 1);
    g_assert_cmphex(ask(&f, UB_MGMT_MSG_CFG1_WRITE, pdu, 16, &a), ==, 0);
    put_be32(pdu + 4, UB_CFG_PORT_BASE(0));
    g_assert_cmphex(ask(&f, UB_MGMT_MSG_CFG1_WRITE, pdu, 16, &a), ==, 0x22);
    g_assert_cmphex(ask(&f, UB_MGMT_MSG_CFG0_WRITE, pdu, 16, &a), ==, 0);
    /* An Entity that is not there. */
    put_be16(pdu, 1);
    g_assert_cmphex(ask(&f, UB_MGMT_MSG_CFG0_READ, pdu, 16, &a), ==, 2);
    memset(&a, 0, sizeof(a));
    put_be16(pdu, 0);
    g_assert_true(ub_mgmt_request(f.node[0].m, f.now, &nobody,
                                  UB_MGMT_MSG_CFG0_READ, pdu, 16,
                                  fabric_answer, &a));
    fabric_pump(&f);
    g_assert_cmphex(a.status, ==, 2);
    /* The UBFM reaches a node that has no EID yet. */
    nobody.deid = 0;
    g_assert_true(ub_mgmt_request(f.node[0].m, f.now, &nobody,
                                  UB_MGMT_MSG_CFG0_READ, pdu, 16,
                                  fabric_answer, &a));
    fabric_pump(&f);
    g_assert_cmphex(a.status, ==, 0);
    fabric_free(&f);
}

/* PDU Length is compared with what came. */
static void config_length(void)
{
    Fabric f;
    uint8_t data[UB_MGMT_MAX + 1] = { 0 };
    UbMgmtAddr a = { .scna = 0x10, .dcna = 0x13, .deid = 0x23, .mgmt = true,
                     .upi = UB_MGMT_UPI };
    Flight *fl;

    line(&f);
    ub_mgmt_etah_put(data, (UbMgmtEtah) { .code = 2, .len = 16 });
    for (unsigned len = 4; len < 40; len++) {
        ub_mgmt_receive(f.node[3].m, f.now, &a, data, len);
        fl = g_queue_pop_head(&f.under_way);
        g_assert_cmpuint(fl->data[1], ==, len == 20 ? UB_MGMT_OK
                                                    : UB_MGMT_BAD_LENGTH);
        g_free(fl);
    }
    for (unsigned len = 0; len < 4; len++) {
        ub_mgmt_receive(f.node[3].m, f.now, &a, data, len);
    }
    ub_mgmt_receive(f.node[3].m, f.now, &a, data, UB_MGMT_MAX + 1);
    g_assert_true(g_queue_is_empty(&f.under_way));
    g_assert_cmpuint(ub_mgmt_counter(f.node[3].m, UB_MGMT_CNT_DROP_SHORT), ==,
                     5);
    fabric_free(&f);
}

/* A device reset is not answered (§10.6.1). */
static void config_reset(void)
{
    static const struct {
        uint32_t value;
        uint8_t byte_en;
        bool answer;
    } rows[] = { { 1, 0xf, false }, { 1, 0xe, true }, { 2, 0xf, true } };

    for (unsigned i = 0; i < G_N_ELEMENTS(rows); i++) {
        Fabric f;
        Answer a = { 0 };

        line(&f);
        g_assert_true(ub_mgmt_write(f.node[0].m, f.now, &fm_to_3, 0,
                                    UB_CFG0_DEV_RST, rows[i].value,
                                    rows[i].byte_en, fabric_answer, &a));
        fabric_pump(&f);
        g_assert_cmpuint(a.calls, ==, rows[i].answer);
        fabric_free(&f);
    }
}

/* ---- Other messages ---- */

static void resources(void)
{
    Fabric f;
    Answer a;
    uint8_t pdu[28] = { 0 };

    line(&f);
    for (unsigned i = 0; i < 3; i++) {
        ub_slice_set(f.node[3].cfg1, UB_CFG1_ERS0_SS + i, ~0u, 0x10 + i);
    }
    for (unsigned i = 0; i < 6; i++) {
        ub_slice_set(f.node[3].cfg1, UB_CFG1_ERS0_SA + i, ~0u, 0x20 + i);
    }
    g_assert_cmphex(ask(&f, UB_MGMT_MSG_RESOURCE, pdu, 4, &a), ==, 0);
    g_assert_cmpuint(a.len, ==, 36);
    for (unsigned i = 0; i < 3; i++) {
        g_assert_cmphex(get_be32(a.data + 12 * i), ==, 0x10 + i);
        g_assert_cmphex(get_be32(a.data + 12 * i + 4), ==, 0x20 + 2 * i);
        g_assert_cmphex(get_be32(a.data + 12 * i + 8), ==, 0x21 + 2 * i);
    }
    /* Set: where UBAs are supported. */
    pdu[3] = 1;
    g_assert_cmphex(ask(&f, UB_MGMT_MSG_RESOURCE, pdu, 4, &a), ==, 4);
    for (unsigned i = 0; i < 6; i++) {
        put_be32(pdu + 4 + 4 * i, 0x1000 * (i + 1));
    }
    g_assert_cmphex(ask(&f, UB_MGMT_MSG_RESOURCE, pdu, 28, &a), ==, 0x26);
    ub_slice_set(f.node[3].cfg1, UB_CFG1_SUPPORTED_FEATURE,
                 UB_CFG1_SUPPORTED_FEATURE__UBA_SUPPORT, ~0u);
    g_assert_cmphex(ask(&f, UB_MGMT_MSG_RESOURCE, pdu, 28, &a), ==, 0);
    g_assert_cmpuint(a.len, ==, 0);
    for (unsigned i = 0; i < 6; i++) {
        g_assert_cmphex(ub_slice_get(f.node[3].cfg1, UB_CFG1_ERS0_UBA + i), ==,
                        0x1000 * (i + 1));
    }
    pdu[3] = 0;
    g_assert_cmphex(ask(&f, UB_MGMT_MSG_RESOURCE, pdu, 28, &a), ==, 4);
    fabric_free(&f);
}

static void entities(void)
{
    UbMgmtConfig cfg;
    Fabric f;
    Answer a = { 0 };
    UbMgmtAddr to = { .dcna = 0x14, .deid = 0x24 };
    Node *n;

    line(&f);
    ub_mgmt_config_init(&cfg);
    cfg.mues = 2;
    cfg.mue[0].first = 2;
    cfg.mue[0].last = 4;
    cfg.mue[1].first = cfg.mue[1].last = 1;
    n = fabric_add(&f, &cfg);
    fabric_identity(n, 0x14, 0x24, 5);
    ub_slice_set(n->cfg0, UB_CFG0_TOTAL_NUMBER_OF_ENTITIES,
                 UB_CFG0_TOTAL_NUMBER_OF_ENTITIES__ALL, 5 << 16);
    /* Asked by a node of the partition. */
    g_assert_true(ub_mgmt_request(f.node[0].m, f.now, &to,
                                  UB_MGMT_MSG_ENTITY_INFO, NULL, 0,
                                  fabric_answer, &a));
    fabric_pump(&f);
    g_assert_cmphex(a.status, ==, 0);
    g_assert_cmpuint(a.len, ==, 16);
    g_assert_cmphex(get_be32(a.data), ==, 0);
    g_assert_cmphex(get_be32(a.data + 4), ==, 0x00020005);
    g_assert_cmphex(get_be32(a.data + 8), ==, 0x00040002);
    g_assert_cmphex(get_be32(a.data + 12), ==, 0x00010001);
    fabric_free(&f);
}

static void neighbors(void)
{
    Fabric f;
    Answer a;
    uint8_t pdu[516] = { 0 };
    UbMgmtAddr user = { .dcna = 0x13, .deid = 0x23 };

    line(&f);
    /* From port 0 to 1. */
    put_be16(pdu + 6, 1);
    g_assert_cmphex(ask(&f, UB_MGMT_MSG_NEIGHBOR, pdu, 8, &a), ==, 0);
    g_assert_cmpuint(a.len, ==, 56);
    g_assert_cmphex(get_be32(a.data), ==, 0x021c0100);
    g_assert_cmphex(get_be32(a.data + 4), ==, 0x00000004);
    g_assert_true(ub_id_same(ub_id_get(a.data + 12), fabric_guid(2)));
    g_assert_cmphex(get_be32(a.data + 28), ==, 0x021c0000);
    g_assert_cmphex(get_be32(a.data + 32), ==, 0x00010000);
    g_assert_true(ub_id_zero(ub_id_get(a.data + 40)));
    put_be16(pdu + 6, 2);
    g_assert_cmphex(ask(&f, UB_MGMT_MSG_NEIGHBOR, pdu, 8, &a), ==, 0x26);
    put_be32(pdu + 4, 0x00010000);
    g_assert_cmphex(ask(&f, UB_MGMT_MSG_NEIGHBOR, pdu, 8, &a), ==, 0x26);
    g_assert_cmphex(ask(&f, UB_MGMT_MSG_NEIGHBOR, pdu, 4, &a), ==, 4);
    g_assert_cmphex(ask(&f, UB_MGMT_MSG_NEIGHBOR, pdu, 7, &a), ==, 4);
    /* A list, the same port more than once. */
    put_be32(pdu, 0x80030000);
    put_be32(pdu + 4, 0x00010000);
    put_be32(pdu + 8, 0x00010000);
    g_assert_cmphex(ask(&f, UB_MGMT_MSG_NEIGHBOR, pdu, 12, &a), ==, 0);
    g_assert_cmpuint(a.len, ==, 84);
    g_assert_cmphex(get_be16(a.data + 4), ==, 1);
    g_assert_cmphex(get_be16(a.data + 32), ==, 0);
    g_assert_cmphex(get_be16(a.data + 60), ==, 1);
    g_assert_cmphex(ask(&f, UB_MGMT_MSG_NEIGHBOR, pdu, 8, &a), ==, 4);
    g_assert_cmphex(ask(&f, UB_MGMT_MSG_NEIGHBOR, pdu, 11, &a), ==, 4);
    put_be16(pdu + 8, 2);
    g_assert_cmphex(ask(&f, UB_MGMT_MSG_NEIGHBOR, pdu, 12, &a), ==, 0x26);
    /* As much as an answer has room for, and more. */
    memset(pdu, 0, sizeof(pdu));
    put_be32(pdu, 0x80240000);
    g_assert_cmphex(ask(&f, UB_MGMT_MSG_NEIGHBOR, pdu, 516, &a), ==, 0);
    g_assert_cmpuint(a.len, ==, 36 * 28);
    put_be32(pdu, 0x80250000);
    g_assert_cmphex(ask(&f, UB_MGMT_MSG_NEIGHBOR, pdu, 516, &a), ==, 0x26);
    put_be32(pdu, 0);
    put_be32(pdu + 4, 0x0000ffff);
    g_assert_cmphex(ask(&f, UB_MGMT_MSG_NEIGHBOR, pdu, 8, &a), ==, 0x26);
    /* Users do not ask that. */
    memset(&a, 0, sizeof(a));
    g_assert_true(ub_mgmt_request(f.node[0].m, f.now, &user,
                                  UB_MGMT_MSG_NEIGHBOR, pdu, 8, fabric_answer,
                                  &a));
    fabric_pump(&f);
    g_assert_cmphex(a.status, ==, 1);
    fabric_free(&f);
}

static void tokens(void)
{
    Fabric f;
    Answer a;
    uint8_t pdu[4] = { 0, 0, 0, 1 };
    uint32_t id, value, first;

    line(&f);
    ub_slice_set(f.node[3].cfg1, UB_CFG1_DEV_TOKEN_ID, ~0u, 0xabcde);
    g_assert_false(ub_mgmt_token(f.node[3].m, 0, &id, &value));
    g_assert_cmphex(ask(&f, UB_MGMT_MSG_TOKEN_CHECK, pdu, 4, &a), ==, 0);
    g_assert_cmpuint(a.len, ==, 8);
    g_assert_cmphex(get_be32(a.data), ==, 0xabcde);
    g_assert_true(ub_mgmt_token(f.node[3].m, 0, &id, &value));
    g_assert_cmphex(id, ==, 0xabcde);
    g_assert_cmphex(value, ==, get_be32(a.data + 4));
    first = value;
    g_assert_cmphex(ask(&f, UB_MGMT_MSG_TOKEN_CHECK, pdu, 4, &a), ==, 0);
    g_assert_true(ub_mgmt_token(f.node[3].m, 0, &id, &value));
    g_assert_cmphex(value, !=, first);
    pdu[3] = 0;
    g_assert_cmphex(ask(&f, UB_MGMT_MSG_TOKEN_CHECK, pdu, 4, &a), ==, 0);
    g_assert_cmpuint(a.len, ==, 0);
    g_assert_false(ub_mgmt_token(f.node[3].m, 0, &id, &value));
    fabric_free(&f);
}

static void bus_instances(void)
{
    Fabric f;
    Answer a;
    static const struct {
        UbMgmtId id;
        uint8_t pdu[28];
        size_t len;
    } spaces[] = {
        { UB_MGMT_MSG_RESOURCE, { 0 }, 4 },
        { UB_MGMT_MSG_RESOURCE, { 0, 0, 0, 1 }, 28 },
        { UB_MGMT_MSG_TOKEN_CHECK, { 0, 0, 0, 1 }, 4 },
        { UB_MGMT_MSG_TOKEN_CHECK, { 0, 0, 0, 0 }, 4 },
    };
    uint8_t pdu[36] = { 0 };
    UbMgmtAddr to = { .dcna = 0x13, .deid = 0x40003, .mgmt = true };
    const UbBusInstance *b;
    uint32_t id, value;

    line(&f);
    g_assert_cmphex(ask(&f, UB_MGMT_MSG_BI_CREATE, pdu, 36, &a), ==, 0x26);
    for (unsigned i = 0; i < UB_MGMT_BUS_INSTANCES; i++) {
        put_be32(pdu, i + 1);
        put_be32(pdu + 16, 0x40000 + i);
        put_be16(pdu + 34, 0x8000 | (i + 1));
        g_assert_cmphex(ask(&f, UB_MGMT_MSG_BI_CREATE, pdu, 36, &a), ==, 0);
        g_assert_cmphex(ask(&f, UB_MGMT_MSG_BI_CREATE, pdu, 36, &a), ==, 0x24);
    }
    b = ub_mgmt_bus_instance(f.node[3].m, 3);
    g_assert_cmphex(b->guid.w[0], ==, 4);
    g_assert_cmphex(b->eid.w[0], ==, 0x40003);
    g_assert_cmphex(b->upi, ==, 4);
    g_assert_null(ub_mgmt_bus_instance(f.node[3].m, UB_MGMT_BUS_INSTANCES));
    put_be32(pdu, 99);
    g_assert_cmphex(ask(&f, UB_MGMT_MSG_BI_CREATE, pdu, 36, &a), ==, 0x24);
    put_be32(pdu + 16, 0x40099);
    g_assert_cmphex(ask(&f, UB_MGMT_MSG_BI_CREATE, pdu, 36, &a), ==, 0x20);
    g_assert_cmphex(ask(&f, UB_MGMT_MSG_BI_DESTROY, pdu, 16, &a), ==, 0x25);
    /* Its EID is one of the node. */
    g_assert_true(ub_mgmt_request(f.node[0].m, f.now, &to,
                                  UB_MGMT_MSG_ENTITY_INFO, NULL, 0,
                                  fabric_answer, &a));
    fabric_pump(&f);
    g_assert_cmphex(a.status, ==, 0);
    /* But it has no resource spaces: those of the Entities are not its. */
    for (unsigned i = 0; i < G_N_ELEMENTS(spaces); i++) {
        g_assert_true(ub_mgmt_request(f.node[0].m, f.now, &to, spaces[i].id,
                                      spaces[i].pdu, spaces[i].len,
                                      fabric_answer, &a));
        fabric_pump(&f);
        g_assert_cmphex(a.status, ==, 2);
    }
    g_assert_false(ub_mgmt_token(f.node[3].m, 0, &id, &value));
    /* A place is nobody's while something of the last one is left. */
    put_be32(pdu, 4);
    put_be32(pdu + 16, 0x40003);
    g_assert_cmphex(ask(&f, UB_MGMT_MSG_BI_DESTROY, pdu, 16, &a), ==, 0);
    fabric_busy = 1 << 3;
    g_assert_cmphex(ask(&f, UB_MGMT_MSG_BI_CREATE, pdu, 36, &a), ==, 0x20);
    g_assert_null(ub_mgmt_bus_instance(f.node[3].m, 3));
    fabric_busy = ~(1u << 3);
    g_assert_cmphex(ask(&f, UB_MGMT_MSG_BI_CREATE, pdu, 36, &a), ==, 0);
    g_assert_nonnull(ub_mgmt_bus_instance(f.node[3].m, 3));
    fabric_busy = 0;
    fabric_told = 0;
    g_assert_cmphex(ask(&f, UB_MGMT_MSG_BI_DESTROY, pdu, 16, &a), ==, 0);
    g_assert_cmpuint(fabric_told, ==, 1);
    g_assert_true(ub_mgmt_request(f.node[0].m, f.now, &to,
                                  UB_MGMT_MSG_ENTITY_INFO, NULL, 0,
                                  fabric_answer, &a));
    fabric_pump(&f);
    g_assert_cmphex(a.status, ==, 2);
    g_assert_null(ub_mgmt_bus_instance(f.node[3].m, 3));
    ub_mgmt_reset(f.node[3].m);
    g_assert_null(ub_mgmt_bus_instance(f.node[3].m, 0));
    fabric_free(&f);
}

/* Those of an image are what a manager could have made. */
static void instances_image(void)
{
    static const struct {
        uint8_t at;     /* of GUID, EID and UPI of one, in an image's order */
        uint8_t value;
    } broken[] = {
        { 8, 1 },                       /* a GUID of another type */
        { 18, 0x40 },                   /* the EID of the first */
        { 33, 0 },                      /* no UPI */
        { 32, 0x80 }, { 32, 0xff },     /* more than 15 bits */
        { 3, 0xa1 },                    /* the GUID of the first */
    };
    const uint8_t second[] = { 0, 0, 0xbb, 0xa2 };
    uint8_t pdu[36] = { 0 }, was;
    g_autofree uint8_t *bytes = NULL;
    Fabric f, g;
    Answer a;
    size_t len;
    uint8_t *b;

    line(&f);
    line(&g);
    for (unsigned i = 0; i < 2; i++) {
        put_be32(pdu, 0xbba1 + i);
        put_be32(pdu + 16, 0x51504000 + 0x100 * i);
        put_be16(pdu + 34, 0x56);
        g_assert_cmphex(ask(&f, UB_MGMT_MSG_BI_CREATE, pdu, 36, &a), ==, 0);
    }
    bytes = fabric_save(f.node[3].m, &len, f.now);
    g_assert_null(fabric_load(g.node[3].m, bytes, len, g.now));
    for (b = bytes; memcmp(b, second, sizeof(second)); b++) {
        g_assert_cmpuint(b - bytes + 36, <, len);
    }
    for (unsigned i = 0; i < G_N_ELEMENTS(broken); i++) {
        was = b[broken[i].at];
        b[broken[i].at] = broken[i].value;
        g_assert_nonnull(fabric_load(g.node[3].m, bytes, len, g.now));
        b[broken[i].at] = was;
    }
    g_assert_null(fabric_load(g.node[3].m, bytes, len, g.now));
    g_assert_cmphex(ub_mgmt_bus_instance(g.node[3].m, 1)->eid.w[0], ==, 0x51504100);
    fabric_free(&f);
    fabric_free(&g);
}

/* What the software of a node answers, and what it does not. */
static void for_software(void)
{
    Fabric f;
    Answer a = { 0 };
    uint8_t pdu[92] = { 0 }, rsp[4];
    UbMgmtAddr back;

    line(&f);
    f.node[3].full = true;
    g_assert_cmphex(ask(&f, UB_MGMT_MSG_REGISTER, pdu, 92, &a), ==, 0x20);
    f.node[3].full = false;
    memset(&a, 0, sizeof(a));
    g_assert_true(ub_mgmt_request(f.node[0].m, f.now, &fm_to_3,
                                  UB_MGMT_MSG_REGISTER, pdu, 92, fabric_answer,
                                  &a));
    fabric_pump(&f);
    g_assert_cmpuint(f.node[3].delivered, ==, 1);
    g_assert_cmpint(f.node[3].queue, ==, -1);
    g_assert_cmpuint(f.node[3].len, ==, 96);
    g_assert_cmphex(get_be32(f.node[3].data), ==, 0x0c00005c);
    g_assert_cmpuint(a.calls, ==, 0);
    /* The answer of its software, in the partition of the request. */
    back = (UbMgmtAddr) {
        .dcna = f.node[3].addr.scna, .deid = f.node[3].addr.seid,
        .msn = f.node[3].addr.msn, .queue = f.node[3].addr.queue,
        .upi = UB_MGMT_UPI, .mgmt = true,
    };
    put_be32(rsp, 0x0d230000);
    g_assert_null(ub_mgmt_host_send(f.node[3].m, f.now, UB_MGMT_KIND_MESSAGE,
                                    &back, rsp, 4));
    g_assert_false(back.mgmt);
    g_assert_cmphex(back.upi, ==, UB_MGMT_UPI);
    fabric_pump(&f);
    g_assert_cmpuint(a.calls, ==, 1);
    g_assert_cmphex(a.status, ==, 0x23);

    /* A vendor's message names our kind of GUID, or is refused. */
    g_assert_cmphex(ask(&f, UB_MGMT_MSG_VDM_VENDOR, pdu, 12, &a), ==, 0x26);
    put_be32(pdu + 4, 0xe0fc0000);
    g_assert_true(ub_mgmt_request(f.node[0].m, f.now, &fm_to_3,
                                  UB_MGMT_MSG_VDM_VENDOR, pdu, 12,
                                  fabric_answer, &a));
    fabric_pump(&f);
    g_assert_cmpuint(f.node[3].delivered, ==, 2);
    fabric_free(&f);
}

/* ---- Life ---- */

static void config_check(void)
{
    static const struct {
        size_t at;
        unsigned good, bad;
    } rows[] = {
        { offsetof(UbMgmtConfig, ports), 64, 65 },
        { offsetof(UbMgmtConfig, ports), 1, 0 },
        { offsetof(UbMgmtConfig, slice_ports), 16, 17 },
        { offsetof(UbMgmtConfig, slice_ports), 1, 0 },
        { offsetof(UbMgmtConfig, outstanding), 1024, 1025 },
        { offsetof(UbMgmtConfig, outstanding), 1, 0 },
        { offsetof(UbMgmtConfig, tries), 255, 256 },
        { offsetof(UbMgmtConfig, tries), 1, 0 },
        { offsetof(UbMgmtConfig, emq_depth), 2, 1 },
        { offsetof(UbMgmtConfig, emq_depth), 4096, 4097 },
        { offsetof(UbMgmtConfig, emq_depth), 0, 1 },
        { offsetof(UbMgmtConfig, mues), 16, 17 },
        { offsetof(UbMgmtConfig, mues), 1, 0 },
    };
    UbMgmtConfig cfg;
    Fabric f = { 0 };

    for (unsigned i = 0; i < G_N_ELEMENTS(rows); i++) {
        ub_mgmt_config_init(&cfg);
        *(unsigned *)((char *)&cfg + rows[i].at) = rows[i].good;
        g_assert_null(ub_mgmt_config_check(&cfg));
        *(unsigned *)((char *)&cfg + rows[i].at) = rows[i].bad;
        g_assert_nonnull(ub_mgmt_config_check(&cfg));
    }
    ub_mgmt_config_init(&cfg);
    cfg.timeout = 0;
    g_assert_nonnull(ub_mgmt_config_check(&cfg));
    g_assert_null(ub_mgmt_new(&cfg, NULL, &fabric_ops, NULL));
    /* The slice has an owner already. */
    cfg.timeout = 1;
    fabric_add(&f, &cfg);
    g_assert_null(ub_mgmt_new(&cfg, f.node[0].space, &fabric_ops, NULL));
    ub_mgmt_free(NULL);
    fabric_free(&f);
    g_assert_cmpstr(ub_mgmt_counter_name(0), ==, "requests");
    g_assert_cmpstr(ub_mgmt_counter_name(UB_MGMT_CNT_EMQ_OVERFLOW), ==,
                    "emq-overflow");
    g_assert_null(ub_mgmt_counter_name(UB_MGMT_CNT_NUM));
}

static void image(void)
{
    UbMgmtConfig cfg;
    Fabric f, g;
    Answer a;
    UbMgmtAddr to;
    uint8_t pdu[36] = { 0 }, data[20];
    g_autofree uint8_t *bytes = NULL;
    size_t len;
    uint32_t id, value, other;
    uint32_t emq = UB_CFG_CAP(UB_CFG0_BASE, UB_CAP_EMQ);

    line(&f);
    line(&g);
    /* Node 3 has an instance, a token and an error; node 0 waits. */
    pdu[0] = 1;
    put_be32(pdu + 16, 0x51525354);
    pdu[35] = 9;
    g_assert_cmphex(ask(&f, UB_MGMT_MSG_BI_CREATE, pdu, 36, &a), ==, 0);
    pdu[3] = 1;
    g_assert_cmphex(ask(&f, UB_MGMT_MSG_TOKEN_CHECK, pdu, 4, &a), ==, 0);
    for (unsigned i = 0; i < 2; i++) {
        ub_space_write((i ? &g : &f)->node[3].space, 0, emq + UB_EMQ_CTL, 7,
                       0xf);
    }
    ub_mgmt_error(f.node[3].m, f.now, UB_MGMT_CE, 1);
    for (unsigned n = 0; n < 4; n += 3) {
        f.lossy = true;
        host_read(&to, data, 500);
        g_assert_null(ub_mgmt_host_send(f.node[n].m, f.now,
                                        UB_MGMT_KIND_MESSAGE, &to, data, 20));
        g_assert_true(n || ub_mgmt_read(f.node[0].m, f.now, &fm_to_3, 0, 0,
                                        fabric_answer, &a));
        bytes = fabric_save(f.node[n].m, &len, f.now);
        g_assert_null(fabric_load(g.node[n].m, bytes, len, g.now + 5 * SECOND));
        g_assert_cmpuint(ub_mgmt_waiting(g.node[n].m), ==, !n);
        g_assert_cmpint(ub_mgmt_run(g.node[n].m, g.now + 5 * SECOND), ==,
                        n ? INT64_MAX : g.now + 6 * SECOND);
        /* Every shorter one is refused, and harms nothing. */
        for (size_t i = 0; i < len; i++) {
            g_assert_nonnull(fabric_load(g.node[n].m, bytes, i, g.now));
        }
        /* So is what is not right; whatever it is, the node lives on. */
        for (size_t i = 0; i < 8 * len; i++) {
            bytes[i / 8] ^= 1u << i % 8;
            fabric_load(g.node[n].m, bytes, len, g.now);
            ub_mgmt_run(g.node[n].m, g.now + 1000 * SECOND);
            bytes[i / 8] ^= 1u << i % 8;
        }
        g_assert_null(fabric_load(g.node[n].m, bytes, len, g.now));
        if (!n) {
            g_clear_pointer(&bytes, g_free);
        }
    }
    g_assert_cmphex(ub_mgmt_bus_instance(g.node[3].m, 0)->guid.w[0], ==,
                    0x01000000);
    g_assert_null(ub_mgmt_bus_instance(g.node[3].m, 1));
    g_assert_true(ub_mgmt_token(f.node[3].m, 0, &id, &other));
    g_assert_true(ub_mgmt_token(g.node[3].m, 0, &id, &value));
    g_assert_cmphex(value, ==, other);
    ub_mgmt_error(g.node[3].m, g.now, UB_MGMT_CE, 1);
    g_assert_cmpuint(ub_space_read(g.node[3].space, emq + UB_EMQ_CE_PI), ==, 2);
    /* What software waits for is in vain there. */
    fabric_run(&g, 10 * SECOND);
    g_assert_cmpuint(g.node[0].failed, >, 0);
    g_assert_cmpuint(g.node[0].failed_msn, ==, 500);
    g_assert_cmpint(g.node[0].queue, ==, 2);
    g_assert_cmphex(ub_mgmt_bus_instance(g.node[3].m, 0)->eid.w[0], ==,
                    0x51525354);
    /* Another depth of its queues. */
    ub_mgmt_config_init(&cfg);
    cfg.emq_depth = 8;
    fabric_add(&g, &cfg);
    g_assert_nonnull(fabric_load(g.node[4].m, bytes, len, g.now));
    fabric_free(&f);
    fabric_free(&g);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/ub/mgmt/config/remote", config_remote);
    g_test_add_func("/ub/mgmt/config/managed", config_managed);
    g_test_add_func("/ub/mgmt/config/many", config_many);
    g_test_add_func("/ub/mgmt/config/rights", config_rights);
    g_test_add_func("/ub/mgmt/config/no-partition", config_no_partition);
    g_test_add_func("/ub/mgmt/config/entities", config_entities);
    g_test_add_func("/ub/mgmt/config/errors", config_errors);
    g_test_add_func("/ub/mgmt/config/length", config_length);
    g_test_add_func("/ub/mgmt/config/reset", config_reset);
    g_test_add_func("/ub/mgmt/message/resources", resources);
    g_test_add_func("/ub/mgmt/message/entities", entities);
    g_test_add_func("/ub/mgmt/message/neighbors", neighbors);
    g_test_add_func("/ub/mgmt/message/tokens", tokens);
    g_test_add_func("/ub/mgmt/message/bus-instances", bus_instances);
    g_test_add_func("/ub/mgmt/message/instances-image", instances_image);
    g_test_add_func("/ub/mgmt/message/software", for_software);
    g_test_add_func("/ub/mgmt/life/config", config_check);
    g_test_add_func("/ub/mgmt/life/image", image);
    return g_test_run();
}
