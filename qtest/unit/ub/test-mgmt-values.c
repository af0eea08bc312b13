/*
 * Values that a node's management has and gives on (UB 2.0 §10.4): of other
 * Entities, of instances and ports, of each severity.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "internal.h"
#include "mgmt-fabric.h"
#include "msgq.h"
#include "ub/mgmt_ta.h"

#define EMQ UB_CFG_CAP(UB_CFG0_BASE, UB_CAP_EMQ)

/* Node 3 has two Entities more, with EIDs of their own. */
static void entities_line(Fabric *f)
{
    line(f);
    fabric_more_entities(&f->node[3]);
    for (unsigned e = 1; e < FABRIC_ENTITIES; e++) {
        ub_slice_set(f->node[3].other0[e], UB_CFG0_EID, ~0u, 0x30 + e);
        ub_slice_set(f->node[3].other0[e], UB_CFG0_UPI, ~0u, 5);
    }
}

static unsigned ask_at(Fabric *f, uint32_t deid, bool mgmt, UbMgmtId id,
                       const uint8_t *pdu, size_t len, Answer *a)
{
    UbMgmtAddr to = { .dcna = 0x13, .deid = deid, .mgmt = mgmt };

    memset(a, 0, sizeof(*a));
    g_assert_true(ub_mgmt_request(f->node[0].m, f->now, &to, id, pdu, len,
                                  fabric_answer, a));
    fabric_pump(f);
    g_assert_cmpuint(a->calls, ==, 1);
    return a->status;
}

/* ---- Rings of any depth, at any place ---- */

/* Software consumes what there is in a ring of errors, and nothing beyond (§D.2.4). */
static void emq_consumed(void)
{
    const uint32_t emq = UB_CFG_CAP(UB_CFG0_BASE, UB_CAP_EMQ);

    for (unsigned depth = 2; depth <= 5; depth++) {
        for (unsigned k = 0; k < depth * depth * (depth + 2); k++) {
            unsigned at = k % depth, there = k / depth % depth;
            unsigned ci = k / depth / depth;
            bool good = ci < depth && (ci + depth - at) % depth <= there;
            UbMgmtConfig cfg;
            Fabric f;
            Node *n;

            memset(&f, 0, sizeof(f));
            ub_mgmt_config_init(&cfg);
            cfg.emq_depth = depth;
            n = fabric_add(&f, &cfg);
            ub_space_write(n->space, 0, emq + UB_EMQ_CTL, 7, 0xf);
            for (unsigned i = 0; i < at; i++) {
                ub_mgmt_error(n->m, 0, UB_MGMT_CE, 0);
                ub_space_write(n->space, 0, emq + UB_EMQ_CE_CI, i + 1, 0xf);
            }
            for (unsigned i = 0; i < there; i++) {
                ub_mgmt_error(n->m, 0, UB_MGMT_CE, 0);
            }
            ub_space_write(n->space, 0, emq + UB_EMQ_CE_CI, ci, 0xf);
            g_assert_cmpuint(ub_space_read(n->space, emq + UB_EMQ_CE_CI), ==,
                             good ? ci : at);
            g_assert_cmpuint(ub_space_read(n->space, emq + UB_EMQ_CE_PI), ==,
                             (at + there) % depth);
            fabric_free(&f);
        }
    }
}

/* So much of a message queue's ring is used, wherever it begins. */
static void ring_used(void)
{
    for (unsigned depth = UB_MSGQ_DEPTH_MIN; depth < 12; depth++) {
        for (unsigned at = 0; at < depth; at++) {
            for (unsigned used = 0; used < depth; used++) {
                const MsgqRing r = { .ci = at, .pi = (at + used) % depth,
                                     .depth = depth };

                g_assert_cmpuint(ub_msgq_used(&r), ==, used);
            }
        }
    }
}

/* ---- Entities ---- */

/* The first two tokens of a node whose numbers come from @number. */
static uint64_t first_tokens(uint64_t number)
{
    const UbMgmtAddr to = { .dcna = 0x11, .deid = 0x21, .mgmt = true };
    const uint8_t on[4] = { 0, 0, 0, 1 };
    uint64_t tokens = 0;
    UbMgmtConfig cfg;
    Fabric f;
    Answer a;

    memset(&f, 0, sizeof(f));
    g_queue_init(&f.under_way);
    ub_mgmt_config_init(&cfg);
    fabric_add(&f, &cfg);
    cfg.manager = false;
    cfg.seed = number;
    fabric_add(&f, &cfg);
    fabric_link(&f, 0, 0, 1, 0);
    for (unsigned i = 0; i < 2; i++) {
        fabric_identity(&f.node[i], 0x10 + i, 0x20 + i, 5);
    }
    f.now = SECOND;
    for (unsigned i = 0; i < 2; i++) {
        memset(&a, 0, sizeof(a));
        g_assert_true(ub_mgmt_request(f.node[0].m, f.now, &to,
                                      UB_MGMT_MSG_TOKEN_CHECK, on, sizeof(on),
                                      fabric_answer, &a));
        fabric_pump(&f);
        g_assert_cmphex(a.status, ==, UB_MGMT_OK);
        tokens = tokens << 32 | get_be32(a.data + 4);
    }
    fabric_free(&f);
    return tokens;
}

/* Nobody's tokens are another's, who has other numbers to begin with. */
static void token_numbers(void)
{
    uint64_t one = first_tokens(1);

    g_assert_cmphex(one, ==, first_tokens(1));
    g_assert_cmphex(one, !=, first_tokens(2));
    g_assert_cmphex(one, !=, first_tokens(0));
    g_assert_cmphex(one >> 32, !=, (uint32_t)one);
}


/* Resource spaces are those of the Entity that is asked; addresses are set in
 * Entity 0, and by the UBFM. */
static void entity_resources(void)
{
    Fabric f;
    Answer a;
    uint8_t pdu[28] = { 0 };

    entities_line(&f);
    for (unsigned e = 0; e < FABRIC_ENTITIES; e++) {
        UbSlice *cfg1 = e ? f.node[3].other1[e] : f.node[3].cfg1;

        for (unsigned i = 0; i < 3; i++) {
            ub_slice_set(cfg1, UB_CFG1_ERS0_SS + i, ~0u, 0x100 * e + i);
            ub_slice_set(cfg1, UB_CFG1_ERS0_SA + 2 * i, ~0u, 0x1000 * e + i);
            ub_slice_set(cfg1, UB_CFG1_ERS0_SA + 2 * i + 1, ~0u, 0x2000 * e + i);
        }
    }
    /* The UBFM's without a DEID are Entity 0's. */
    for (unsigned asked = 0; asked <= FABRIC_ENTITIES; asked++) {
        unsigned e = asked % FABRIC_ENTITIES;
        uint32_t deid = e ? 0x30 + e : asked ? 0 : 0x23;

        g_assert_cmphex(ask_at(&f, deid, !deid, UB_MGMT_MSG_RESOURCE, pdu, 4, &a),
                        ==, 0);
        g_assert_cmpuint(a.len, ==, 36);
        for (unsigned i = 0; i < 3; i++) {
            g_assert_cmphex(get_be32(a.data + 12 * i), ==, 0x100 * e + i);
            g_assert_cmphex(get_be32(a.data + 12 * i + 4), ==, 0x1000 * e + i);
            g_assert_cmphex(get_be32(a.data + 12 * i + 8), ==, 0x2000 * e + i);
        }
    }
    ub_slice_set(f.node[3].cfg1, UB_CFG1_SUPPORTED_FEATURE,
                 UB_CFG1_SUPPORTED_FEATURE__UBA_SUPPORT, ~0u);
    pdu[3] = 1;
    memset(pdu + 4, 0x77, 24);
    g_assert_cmphex(ask_at(&f, 0x31, true, UB_MGMT_MSG_RESOURCE, pdu, 28, &a),
                    ==, UB_MGMT_BAD_PARAMETER);
    g_assert_cmphex(ask_at(&f, 0x23, false, UB_MGMT_MSG_RESOURCE, pdu, 28, &a),
                    ==, UB_MGMT_NO_PERMISSION);
    g_assert_cmphex(ub_slice_get(f.node[3].cfg1, UB_CFG1_ERS0_UBA), ==, 0);
    g_assert_cmphex(ask_at(&f, 0x23, true, UB_MGMT_MSG_RESOURCE, pdu, 28, &a),
                    ==, UB_MGMT_OK);
    for (unsigned i = 0; i < 6; i++) {
        g_assert_cmphex(ub_slice_get(f.node[3].cfg1, UB_CFG1_ERS0_UBA + i), ==,
                        0x77777777);
    }
    fabric_free(&f);
}

/* Each Entity has a token of its own, until it is reset or not checked any more. */
static void entity_tokens(void)
{
    Fabric f, g;
    Answer a;
    uint8_t on[4] = { 0, 0, 0, 1 }, off[4] = { 0 };
    uint32_t id, value, values[FABRIC_ENTITIES];
    g_autofree uint8_t *bytes = NULL;
    UbMgmt *m;
    size_t len;

    entities_line(&f);
    m = f.node[3].m;
    for (unsigned e = 0; e < FABRIC_ENTITIES; e++) {
        ub_slice_set(e ? f.node[3].other1[e] : f.node[3].cfg1,
                     UB_CFG1_DEV_TOKEN_ID, ~0u, 0x700 + e);
        g_assert_false(ub_mgmt_token(m, e, &id, &value));
        g_assert_cmphex(ask_at(&f, e ? 0x30 + e : 0x23, true,
                               UB_MGMT_MSG_TOKEN_CHECK, on, 4, &a), ==, 0);
        g_assert_cmpuint(a.len, ==, 8);
        g_assert_cmphex(get_be32(a.data), ==, 0x700 + e);
        values[e] = get_be32(a.data + 4);
    }
    for (unsigned e = 0; e < FABRIC_ENTITIES; e++) {
        g_assert_true(ub_mgmt_token(m, e, &id, &value));
        g_assert_cmphex(id, ==, 0x700 + e);
        g_assert_cmphex(value, ==, values[e]);
    }
    g_assert_false(ub_mgmt_token(m, FABRIC_ENTITIES, &id, &value));
    g_assert_false(ub_mgmt_token(m, UB_MGMT_TOKENS, &id, &value));
    /* They migrate, and so does the next value. */
    entities_line(&g);
    bytes = fabric_save(m, &len, f.now);
    g_assert_null(fabric_load(g.node[3].m, bytes, len, g.now));
    for (unsigned e = 0; e < FABRIC_ENTITIES; e++) {
        g_assert_true(ub_mgmt_token(g.node[3].m, e, &id, &value));
        g_assert_cmphex(value, ==, values[e]);
    }
    for (unsigned i = 0; i < 2; i++) {
        g_assert_cmphex(ask_at(i ? &g : &f, 0x32, true, UB_MGMT_MSG_TOKEN_CHECK,
                               on, 4, &a), ==, 0);
        g_assert_cmphex(get_be32(a.data + 4), !=, values[2]);
        g_assert_true(!i || value == get_be32(a.data + 4));
        value = get_be32(a.data + 4);
    }
    /* A reset of one, one that has none, and an end by message. */
    ub_mgmt_reset_entity(m, 1);
    ub_mgmt_reset_entity(m, UB_MGMT_TOKENS);
    g_assert_true(ub_mgmt_token(m, 0, &id, &value));
    g_assert_false(ub_mgmt_token(m, 1, &id, &value));
    g_assert_true(ub_mgmt_token(m, 2, &id, &value));
    g_assert_cmphex(ask_at(&f, 0x32, true, UB_MGMT_MSG_TOKEN_CHECK, off, 4, &a),
                    ==, 0);
    g_assert_true(ub_mgmt_token(m, 0, &id, &value));
    g_assert_false(ub_mgmt_token(m, 2, &id, &value));
    ub_mgmt_reset(m);
    g_assert_false(ub_mgmt_token(m, 0, &id, &value));
    fabric_free(&f);
    fabric_free(&g);
}

/* An EID in 32 bits is known by its 20 low ones. */
static void entity_eids(void)
{
    Fabric f;

    entities_line(&f);
    ub_slice_set(f.node[3].cfg0, UB_CFG0_EID, ~0u, 0xfff00023);
    ub_slice_set(f.node[3].other0[2], UB_CFG0_EID, ~0u, 0x00180032);
    g_assert_cmpint(ub_mgmt_entity_of(f.node[3].m, 0x23), ==, 0);
    g_assert_cmpint(ub_mgmt_entity_of(f.node[3].m, 0x31), ==, 1);
    g_assert_cmpint(ub_mgmt_entity_of(f.node[3].m, 0x80032), ==, 2);
    g_assert_cmpint(ub_mgmt_entity_of(f.node[3].m, 0x32), ==, -1);
    g_assert_cmpint(ub_mgmt_entity_of(f.node[3].m, 0x33), ==, -1);
    g_assert_cmpuint(ub_mgmt_entities(f.node[3].m), ==, FABRIC_ENTITIES);
    g_assert_true(ub_mgmt_entity(f.node[3].m, 0) == f.node[3].space);
    g_assert_true(ub_mgmt_entity(f.node[3].m, 2) == f.node[3].other[2]);
    g_assert_null(ub_mgmt_entity(f.node[3].m, 3));
    /* Fewer by its registers than there are. */
    ub_slice_set(f.node[3].cfg0, UB_CFG0_TOTAL_NUMBER_OF_ENTITIES,
                 UB_CFG0_TOTAL_NUMBER_OF_ENTITIES__ALL, 2 << 16);
    g_assert_null(ub_mgmt_entity(f.node[3].m, 2));
    g_assert_cmpint(ub_mgmt_entity_of(f.node[3].m, 0x80032), ==, -1);
    fabric_free(&f);
}

/* Instances keep what they are when one in their midst goes. */
static void instances_move(void)
{
    Fabric f, g;
    Answer a;
    uint8_t pdu[36];
    g_autofree uint8_t *bytes = NULL;
    size_t len;

    line(&f);
    line(&g);
    for (unsigned i = 0; i < 4; i++) {
        for (unsigned byte = 0; byte < sizeof(pdu); byte++) {
            pdu[byte] = 0x10 * (i + 1) + byte % 16;
        }
        pdu[8] &= 0xf0;         /* type 0 (§C.3) */
        g_assert_cmphex(ask(&f, UB_MGMT_MSG_BI_CREATE, pdu, 36, &a), ==, 0);
    }
    bytes = fabric_save(f.node[3].m, &len, f.now);
    g_assert_null(fabric_load(g.node[3].m, bytes, len, g.now));
    for (unsigned i = 0; i < 4; i++) {
        const UbBusInstance *b = ub_mgmt_bus_instance(g.node[3].m, i);
        g_assert_nonnull(b);
        for (unsigned w = 0; w < 4; w++) {
            uint32_t want = 0x10101010 * (i + 1) + 0x00010203 + 0x04040404 * w;

            g_assert_cmphex(b->guid.w[w], ==, w == 2 ? want & ~0x0f000000u
                                                     : want);
            g_assert_cmphex(b->eid.w[w], ==, want);
        }
        g_assert_cmphex(b->upi, ==,
                        ub_mgmt_bus_instance(f.node[3].m, i)->upi);
        g_assert_cmphex(b->upi, !=, 0);
    }
    /* The first goes: the others stay where they are. */
    for (unsigned byte = 0; byte < 16; byte++) {
        pdu[byte] = 0x10 + byte;
    }
    pdu[8] &= 0xf0;
    g_assert_cmphex(ask(&f, UB_MGMT_MSG_BI_DESTROY, pdu, 16, &a), ==, 0);
    g_assert_cmphex(ask(&f, UB_MGMT_MSG_BI_DESTROY, pdu, 16, &a), ==,
                    UB_MGMT_ABSENT);
    g_assert_null(ub_mgmt_bus_instance(f.node[3].m, 0));
    for (unsigned i = 1; i < 4; i++) {
        g_assert_cmphex(ub_mgmt_bus_instance(f.node[3].m, i)->guid.w[0] >> 28, ==,
                        i + 1);
    }
    /* The node there that is loaded with fewer has fewer. */
    g_free(bytes);
    bytes = fabric_save(f.node[3].m, &len, f.now);
    g_assert_null(fabric_load(g.node[3].m, bytes, len, g.now));
    g_assert_null(ub_mgmt_bus_instance(g.node[3].m, 0));
    g_assert_nonnull(ub_mgmt_bus_instance(g.node[3].m, 3));
    /* And the next has the place that is free. */
    pdu[19] = 0x77;
    g_assert_cmphex(ask(&f, UB_MGMT_MSG_BI_CREATE, pdu, 36, &a), ==, 0);
    g_assert_cmphex(ub_mgmt_bus_instance(f.node[3].m, 0)->guid.w[0] >> 28, ==, 1);
    fabric_free(&f);
    fabric_free(&g);
}

/* An Entity that is given an instance's EID later is the one that is asked by it. */
static void instance_hidden(void)
{
    const uint32_t eid = 0x40001;
    uint8_t pdu[36] = { 0 };
    Fabric f;
    Answer a;

    line(&f);
    put_be32(pdu, 1);
    put_be32(pdu + 16, eid);
    put_be16(pdu + 34, 8);
    g_assert_cmphex(ask(&f, UB_MGMT_MSG_BI_CREATE, pdu, 36, &a), ==, UB_MGMT_OK);
    memset(pdu, 0, 4);
    g_assert_cmphex(ask_at(&f, eid, true, UB_MGMT_MSG_RESOURCE, pdu, 4, &a), ==,
                    UB_MGMT_NO_TARGET);
    ub_slice_set(f.node[3].cfg0, UB_CFG0_EID, ~0u, eid);
    g_assert_cmphex(ask_at(&f, eid, true, UB_MGMT_MSG_RESOURCE, pdu, 4, &a), ==,
                    UB_MGMT_OK);
    fabric_free(&f);
}

/* What an instance may be: of GUID type 0 (§C.3), with an EID that packets can name, in
 * a partition that is no UBFM's. */
static void instance_kinds(void)
{
    static const struct {
        uint32_t guid, type, eid;
        uint16_t upi;
        unsigned want;
    } rows[] = {
        { 0, 0, 0x40000, 8, UB_MGMT_BAD_PARAMETER },
        { 1, 1, 0x40000, 8, UB_MGMT_BAD_PARAMETER },
        { 1, 0, 0x100000, 8, UB_MGMT_BAD_PARAMETER },
        { 1, 0, 0x40000, 0, UB_MGMT_BAD_PARAMETER },
        { 1, 0, 0x40000, UB_MGMT_UPI, UB_MGMT_BAD_PARAMETER },
        { 1, 0, 0x40000, UB_MGMT_UPI - 1, UB_MGMT_OK },
        { 2, 0, 1, 1, UB_MGMT_OK },
        { 3, 0, 0xfffff, 8, UB_MGMT_OK },
    };
    Fabric f;
    Answer a;

    line(&f);
    for (unsigned i = 0; i < G_N_ELEMENTS(rows); i++) {
        uint8_t pdu[36] = { 0 };

        ub_mgmt_put_id(pdu, UB_MF_BI_CREATE_GUID, (UbId){
            { rows[i].guid, 0, rows[i].type << 24 } });
        ub_mgmt_put_id(pdu, UB_MF_BI_CREATE_EID, (UbId){ { rows[i].eid } });
        ub_mgmt_put(pdu, UB_MF_BI_CREATE_UPI, rows[i].upi);
        g_assert_cmphex(ask(&f, UB_MGMT_MSG_BI_CREATE, pdu, 36, &a), ==,
                        rows[i].want);
    }
    fabric_free(&f);
}

/* A user of an instance's partition reaches the node by the instance's EID. */
static void instance_partition(void)
{
    static const struct {
        uint32_t deid;
        uint16_t upi;
        unsigned want;
    } rows[] = {
        { 0x40001, 9, UB_MGMT_OK }, { 0x40001, 5, UB_MGMT_OVERREACH },
        { 0x40000, 9, UB_MGMT_OVERREACH }, { 0x40000, 8, UB_MGMT_OK },
        { 0x40002, 8, UB_MGMT_NO_TARGET }, { 0x23, 5, UB_MGMT_OK },
        { 0, 5, UB_MGMT_NO_TARGET },
    };
    Fabric f;
    Answer a;

    line(&f);
    for (unsigned i = 0; i < 2; i++) {
        uint8_t pdu[36] = { 0 };

        put_be32(pdu, i + 1);
        put_be32(pdu + 16, 0xfff40000 + i);
        put_be16(pdu + 34, 8 + i);
        g_assert_cmphex(ask(&f, UB_MGMT_MSG_BI_CREATE, pdu, 36, &a), ==, 0);
    }
    for (unsigned i = 0; i < G_N_ELEMENTS(rows); i++) {
        UbMgmtAddr from = { .scna = 0x10, .dcna = 0x13, .seid = 0x20,
                            .deid = rows[i].deid, .upi = rows[i].upi, .msn = i };
        uint8_t data[4];
        Flight *fl;

        ub_mgmt_etah_put(data, (UbMgmtEtah) { .code = 4, .sub = 2 });
        ub_mgmt_receive(f.node[3].m, f.now, &from, data, 4);
        fl = g_queue_pop_head(&f.under_way);
        g_assert_cmphex(fl->data[1], ==, rows[i].want);
        g_assert_cmphex(fl->addr.seid, ==, rows[i].deid);
        g_assert_cmphex(fl->addr.deid, ==, 0x20);
        g_assert_cmphex(fl->addr.upi, ==, rows[i].upi);
        g_assert_cmphex(fl->addr.msn, ==, i);
        g_free(fl);
    }
    g_assert_cmpuint(fabric_counted(&f, 3, UB_MGMT_CNT_REFUSED), ==, 4);
    g_assert_cmpuint(fabric_counted(&f, 3, UB_MGMT_CNT_REQUESTS), ==,
                     2 + G_N_ELEMENTS(rows));
    fabric_free(&f);
}

/* Lists of ports of odd and even length; ranges of one. */
static void neighbor_lists(void)
{
    Fabric f;
    Answer a;

    line(&f);
    for (unsigned n = 0; n <= 5; n++) {
        uint8_t pdu[16] = { 0x80, n };
        unsigned need = 4 + (n + 1) / 2 * 4;

        for (unsigned i = 0; i < n; i++) {
            put_be16(pdu + 4 + 2 * i, i & 1);
        }
        for (unsigned len = 4; len <= sizeof(pdu); len++) {
            g_assert_cmphex(ask(&f, UB_MGMT_MSG_NEIGHBOR, pdu, len, &a), ==,
                            len < need ? UB_MGMT_BAD_LENGTH : UB_MGMT_OK);
            g_assert_cmpuint(a.len, ==, len < need ? 0 : 28 * n);
            for (unsigned i = 0; 28 * i < a.len; i++) {
                g_assert_cmpuint(get_be16(a.data + 28 * i + 4), ==, i & 1);
            }
        }
    }
    for (unsigned port = 0; port < 3; port++) {
        uint8_t pdu[8] = { 0, 0, 0, 0, 0, port, 0, port };

        g_assert_cmphex(ask(&f, UB_MGMT_MSG_NEIGHBOR, pdu, 8, &a), ==,
                        port < 2 ? UB_MGMT_OK : UB_MGMT_BAD_PARAMETER);
        g_assert_cmpuint(a.len, ==, port < 2 ? 28 : 0);
        g_assert_true(port > 1 || get_be16(a.data + 4) == port);
    }
    /* The last of them comes before the first. */
    for (unsigned first = 1; first < 4; first++) {
        uint8_t pdu[8] = { 0, 0, 0, 0, 0, first, 0, first - 1 };

        g_assert_cmphex(ask(&f, UB_MGMT_MSG_NEIGHBOR, pdu, 8, &a), ==,
                        UB_MGMT_BAD_PARAMETER);
    }
    fabric_free(&f);
}

/* ---- What a scan tells of a node ---- */

static void topology_values(void)
{
    Fabric f;
    Answer a = { 0 };
    UbScanWay way = { .hops = 0 };
    UbScanAsk q = { .cmd = UB_SCAN_TOPOLOGY, .opcode = UB_SCAN_OP_TOPOLOGY };
    UbMgmtConfig cfg;
    const uint8_t *p;
    Node *n;

    line(&f);
    ub_mgmt_config_init(&cfg);
    cfg.ports = 3;
    n = fabric_add(&f, &cfg);
    fabric_link(&f, 4, 2, 3, 1);
    fabric_link(&f, 4, 1, 0, 0);
    n->link[1].down = true;
    ub_slice_init(n->cfg0, UB_CFG0_SUPPORTED_FEATURE, ~0u,
                  UB_SPACE_PUT(UB_CFG0_SUPPORTED_FEATURE__MTU_SUPPORTED, 5));
    ub_slice_set(n->cfg0, UB_CFG0_MTU_CFG, ~0u, 3);
    ub_slice_set(n->cfg1, UB_CFG1_CLASS_CODE, ~0u, 0xbeef);
    ub_slice_init(n->port[1], UB_PORT_INFO, ~0u,
                  UB_SPACE_PUT(UB_PORT_INFO__PORT_TYPE, 1));
    ub_slice_init(n->port[2], UB_PORT_INFO, ~0u,
                  UB_SPACE_PUT(UB_PORT_INFO__ENUMERATION_BOUNDARY, 1));
    g_assert_true(ub_mgmt_scan(n->m, f.now, &way, &q, fabric_answer, &a));
    g_assert_cmpuint(a.calls, ==, 1);
    g_assert_cmpuint(a.len, ==, 24 + 20 + 3 * 28);
    g_assert_cmpuint(4 * ub_mgmt_get(a.data, UB_MF_PDU_LENGTH), ==, a.len);
    p = a.data + 36;
    g_assert_cmpuint(ub_mgmt_get(p, UB_MF_CAP_SUP_MTU), ==, 5);
    g_assert_cmpuint(ub_mgmt_get(p, UB_MF_CAP_MTU), ==, 3);
    g_assert_cmphex(ub_mgmt_get(p, UB_MF_CAP_CLASS), ==, 0xbeef);
    for (unsigned i = 0; i < 3; i++) {
        p = a.data + 44 + 28 * i;
        g_assert_cmpuint(ub_mgmt_get(p, UB_MF_PORT_LOCAL), ==, i);
        g_assert_cmpuint(ub_mgmt_get(p, UB_MF_PORT_T), ==, i == 1);
        g_assert_cmpuint(ub_mgmt_get(p, UB_MF_PORT_B), ==, i == 2);
        g_assert_cmpuint(ub_mgmt_get(p, UB_MF_PORT_S), ==, i == 2);
        g_assert_cmpuint(ub_mgmt_get(p, UB_MF_PORT_REMOTE), ==, i == 2);
        g_assert_true(ub_id_same(ub_mgmt_get_id(p, UB_MF_PORT_GUID),
                                 i == 2 ? fabric_guid(3) : (UbId) { 0 }));
    }
    fabric_free(&f);
}

/* Scans that forward to the last port and not beyond; each is counted where it
 * ends. */
static void scan_counts(void)
{
    Fabric f;
    UbScanWay way = { .hops = 2, .forward = { 0, 4 }, .back = { 3, 1 } };
    UbScanAsk q = { .cmd = UB_SCAN_NA_QUERY, .opcode = UB_SCAN_OP_PRIMARY };
    Answer a = { 0 };

    line(&f);
    fabric_link(&f, 1, 4, 2, 3);
    q.guid = fabric_guid(2);
    g_assert_true(ub_mgmt_scan(f.node[0].m, f.now, &way, &q, fabric_answer, &a));
    fabric_pump(&f);
    g_assert_cmpuint(a.calls, ==, 1);
    g_assert_cmphex(a.status, ==, UB_MGMT_OK);
    g_assert_cmphex(get_be32(a.data + 24), ==, 0x12);
    g_assert_cmpuint(fabric_counted(&f, 2, UB_MGMT_CNT_SCANS), ==, 1);
    g_assert_cmpuint(fabric_counted(&f, 2, UB_MGMT_CNT_REFUSED), ==, 0);
    g_assert_cmpuint(fabric_counted(&f, 0, UB_MGMT_CNT_ASKED), ==, 1);
    g_assert_cmpuint(fabric_counted(&f, 0, UB_MGMT_CNT_RESPONSES), ==, 1);
    /* A port that there is not, and one that is down. */
    for (unsigned i = 0; i < 2; i++) {
        way.forward[1] = i ? 4 : 5;
        f.node[1].link[4].down = i;
        g_assert_true(ub_mgmt_scan(f.node[0].m, f.now, &way, &q, fabric_answer,
                                   &a));
        fabric_pump(&f);
        g_assert_cmpuint(a.calls, ==, 1);
        g_assert_cmpuint(fabric_counted(&f, 1, UB_MGMT_CNT_DROP_PORT), ==, i + 1);
    }
    /* What below takes nothing: another counter. */
    f.node[1].link[4].down = false;
    g_assert_true(ub_mgmt_scan(f.node[0].m, f.now, &way, &q, fabric_answer, &a));
    f.jammed = true;
    fabric_pump(&f);
    g_assert_cmpuint(fabric_counted(&f, 1, UB_MGMT_CNT_DROP_PORT), ==, 2);
    g_assert_cmpuint(fabric_counted(&f, 1, UB_MGMT_CNT_DROP_UNSENT), ==, 1);
    g_assert_cmpuint(fabric_counted(&f, 1, UB_MGMT_CNT_SCANS_FORWARDED), ==, 2);
    f.jammed = false;
    /* An answer that is refused is counted as that, too. */
    q.guid = fabric_guid(3);
    g_assert_true(ub_mgmt_scan(f.node[0].m, f.now, &way, &q, fabric_answer, &a));
    fabric_pump(&f);
    g_assert_cmphex(a.status, ==, UB_MGMT_NO_TARGET);
    g_assert_cmpuint(fabric_counted(&f, 2, UB_MGMT_CNT_REFUSED), ==, 1);
    g_assert_cmpuint(fabric_counted(&f, 2, UB_MGMT_CNT_SCANS), ==, 2);
    fabric_free(&f);
}

/* ---- Events ---- */

/* Each queue by its own enable, and by its own mask. */
static void severities(void)
{
    static const uint8_t pi[] = { UB_EMQ_CE_PI, UB_EMQ_NFUE_PI, UB_EMQ_FUE_PI };
    static const uint8_t ci[] = { UB_EMQ_CE_CI, UB_EMQ_NFUE_CI, UB_EMQ_FUE_CI };

    for (unsigned enable = 0; enable < 8; enable++) {
        Fabric f;
        UbSpace *s;

        line(&f);
        s = f.node[0].space;
        ub_space_write(s, 0, EMQ + UB_EMQ_CTL, enable, 0xf);
        for (unsigned i = 0; i < 3; i++) {
            ub_mgmt_error(f.node[0].m, f.now, i, 0);
        }
        for (unsigned i = 0; i < 3; i++) {
            g_assert_cmpuint(ub_space_read(s, EMQ + pi[i]), ==, enable >> i & 1);
        }
        /* One is emptied: the others are not. */
        for (unsigned i = 0; i < 3; i++) {
            ub_space_write(s, 0, EMQ + ci[i], 1, 0xf);
            for (unsigned j = 0; j < 3; j++) {
                g_assert_cmpuint(ub_space_read(s, EMQ + ci[j]), ==,
                                 j <= i && enable >> j & 1);
            }
        }
        /* After a reset each is empty, and begins again. */
        ub_mgmt_reset(f.node[0].m);
        for (unsigned i = 0; i < 3; i++) {
            g_assert_cmpuint(ub_space_read(s, EMQ + pi[i]), ==, 0);
            g_assert_cmpuint(ub_space_read(s, EMQ + ci[i]), ==, 0);
            ub_mgmt_error(f.node[0].m, f.now, i, 0);
            g_assert_cmpuint(ub_space_read(s, EMQ + pi[i]), ==, enable >> i & 1);
        }
        fabric_free(&f);
    }
}

/* A word of bits of each severity is one event of it. */
static void errors_told(void)
{
    static const UbErrors rows[] = {
        { 0 }, { .ce = 6 }, { .nfue = 1 }, { .fue = 0x80000000 },
        { .ce = 1, .nfue = 2, .fue = 4 }, { .ce = 1, .fue = 4 },
    };

    for (unsigned i = 0; i < G_N_ELEMENTS(rows); i++) {
        Fabric f;
        UbSpace *s;

        line(&f);
        s = f.node[0].space;
        ub_space_write(s, 0, EMQ + UB_EMQ_CTL, 7, 0xf);
        ub_mgmt_errors(f.node[0].m, f.now, rows[i], 0);
        g_assert_cmpuint(f.node[0].delivered, ==,
                         !!rows[i].ce + !!rows[i].nfue + !!rows[i].fue);
        g_assert_cmpuint(ub_space_read(s, EMQ + UB_EMQ_CE_PI), ==, !!rows[i].ce);
        g_assert_cmpuint(ub_space_read(s, EMQ + UB_EMQ_NFUE_PI), ==,
                         !!rows[i].nfue);
        g_assert_cmpuint(ub_space_read(s, EMQ + UB_EMQ_FUE_PI), ==,
                         !!rows[i].fue);
        fabric_free(&f);
    }
}

/* Whom an event goes to, and what it says of port 0, a port and the device. */
static void event_fields(void)
{
    static const struct {
        unsigned node;
        int port;
        uint32_t port_cna, cna, word;
    } rows[] = {
        { 3, 0, 0x77, 0x77, 0 }, { 3, 1, 0x78, 0x78, 1 },
        { 3, -1, 0x79, 0x13, 0x80000000 }, { 3, 1, 0, 0x13, 1 },
        /* Ports of a switch have no CNAs. */
        { 1, 2, 0x7a, 0x11, 2 },
    };

    for (unsigned i = 0; i < G_N_ELEMENTS(rows); i++) {
        Fabric f;
        Node *n;
        Flight *fl;

        line(&f);
        n = &f.node[rows[i].node];
        ub_slice_set(n->cfg0, UB_CFG0_UBFM_CNA, ~0u, 0x10);
        ub_slice_set(n->cfg0, UB_CFG0_UBFM_EID, ~0u, 0xfff00020);
        ub_slice_set(n->cfg0, UB_CFG0_EID, ~0u, 0xeee00055);
        ub_slice_set(n->port[MAX(rows[i].port, 0)], UB_PORT_CNA, ~0u,
                     rows[i].port_cna);
        for (unsigned msn = 1; msn < 3; msn++) {
            ub_mgmt_error(n->m, f.now, UB_MGMT_CE, rows[i].port);
            fl = g_queue_pop_head(&f.under_way);
            g_assert_nonnull(fl);
            g_assert_cmphex(get_be32(fl->data), ==, 0x00000008);
            g_assert_cmphex(get_be32(fl->data + 4), ==, rows[i].cna);
            g_assert_cmphex(get_be32(fl->data + 8), ==, rows[i].word);
            g_assert_cmphex(fl->addr.deid, ==, 0x20);
            g_assert_cmphex(fl->addr.seid, ==, 0x55);
            g_assert_cmphex(fl->addr.scna, ==, 0x10 + rows[i].node);
            g_assert_cmphex(fl->addr.upi, ==, UB_MGMT_UPI);
            g_assert_cmphex(fl->addr.msn, ==, msn);
            g_free(fl);
        }
        /* It is not its own software's. */
        g_assert_cmpuint(n->delivered, ==, 0);
        g_assert_cmpuint(fabric_counted(&f, rows[i].node, UB_MGMT_CNT_EVENTS), ==, 0);
        fabric_free(&f);
    }
}

/* Nobody is there to be told: counted, where software could have been. */
static void event_unheard(void)
{
    Fabric f;

    line(&f);
    f.node[0].full = true;
    ub_mgmt_plug(f.node[0].m, f.now, 3, true);
    g_assert_cmpuint(fabric_counted(&f, 0, UB_MGMT_CNT_EVENTS), ==, 1);
    g_assert_cmpuint(fabric_counted(&f, 0, UB_MGMT_CNT_DROP_NO_QUEUE), ==, 1);
    ub_mgmt_plug(f.node[3].m, f.now, 3, true);
    g_assert_cmpuint(fabric_counted(&f, 3, UB_MGMT_CNT_EVENTS), ==, 0);
    g_assert_cmpuint(fabric_counted(&f, 3, UB_MGMT_CNT_DROP_NO_QUEUE), ==, 0);
    ub_slice_set(f.node[3].cfg0, UB_CFG0_UBFM_CNA, ~0u, 0x10);
    f.jammed = true;
    ub_mgmt_plug(f.node[3].m, f.now, 3, true);
    g_assert_cmpuint(fabric_counted(&f, 3, UB_MGMT_CNT_DROP_UNSENT), ==, 1);
    fabric_free(&f);
}

/* ---- Over the transaction layer ---- */

static void ta_lengths(void)
{
    static const struct {
        unsigned len;
        bool poison, good;
    } rows[] = {
        { 0, false, true }, { UB_MGMT_PDU_MAX, false, true },
        { UB_MGMT_PDU_MAX + 1, false, false }, { 4, true, false },
    };
    static const unsigned ports[] = { 0, 1, 3, UB_NET_MAX_PORTS - 1,
                                      UB_NET_MAX_PORTS, UB_NET_ANY };
    uint8_t pdu[UB_MGMT_PDU_MAX + 1];

    for (unsigned i = 0; i < sizeof(pdu); i++) {
        pdu[i] = i;
    }
    for (unsigned i = 0; i < G_N_ELEMENTS(rows) * G_N_ELEMENTS(ports); i++) {
        unsigned row = i % G_N_ELEMENTS(rows), port = ports[i / G_N_ELEMENTS(rows)];
        UbFlow flow;
        UbSecHead sec = { .upi = 5, .seid = ub_eid_of_short(0x20),
                          .deid = ub_eid_of_short(0x23) };
        UbTaMessage t = { .sec = &sec, .flow = &flow, .msn = 0x1234, .queue = 3,
                          .code = 5, .sub = 1, .len = rows[row].len,
                          .poison = rows[row].poison, .pdu = pdu };
        const UbMgmtAddr *a;
        Fabric f;
        Node *n;

        line(&f);
        n = &f.node[3];
        ub_flow_init(&flow, UB_LPH_CNA16);
        flow.port = port;
        flow.scna = 0x10;
        flow.dcna = 0x13;
        flow.sl = 3;
        flow.lbf = 0x77;
        ub_mgmt_ta_rx(n->m, f.now, &t);
        g_assert_cmpuint(n->delivered, ==, rows[row].good);
        g_assert_cmpuint(fabric_counted(&f, 3, UB_MGMT_CNT_DROP_HEADER), ==,
                         !rows[row].good);
        g_assert_cmpuint(n->rules, ==, !rows[row].good);
        if (rows[row].good) {
            a = &n->addr;
            g_assert_cmpuint(n->len, ==, UB_MGMT_ETAH + rows[row].len);
            g_assert_cmphex(get_be32(n->data), ==, 0x1a000000 | rows[row].len);
            g_assert_cmpmem(n->data + 4, n->len - 4, pdu, rows[row].len);
            g_assert_cmpuint(a->via, ==, port < UB_NET_MAX_PORTS ? port + 1 : 0);
            g_assert_cmphex(a->scna, ==, 0x10);
            g_assert_cmphex(a->dcna, ==, 0x13);
            g_assert_cmphex(a->seid, ==, 0x20);
            g_assert_cmphex(a->deid, ==, 0x23);
            g_assert_cmphex(a->sl, ==, 3);
            g_assert_cmphex(a->lbf, ==, 0x77);
            g_assert_cmphex(a->msn, ==, 0x1234);
            g_assert_cmphex(a->queue, ==, 3);
            g_assert_cmphex(a->upi, ==, 5);
        }
        fabric_free(&f);
    }
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/ub/mgmt/event/consumed", emq_consumed);
    g_test_add_func("/ub/msgq/used", ring_used);
    g_test_add_func("/ub/mgmt/entity/token-numbers", token_numbers);
    g_test_add_func("/ub/mgmt/instance/kinds", instance_kinds);
    g_test_add_func("/ub/mgmt/instance/hidden", instance_hidden);
    g_test_add_func("/ub/mgmt/entity/resources", entity_resources);
    g_test_add_func("/ub/mgmt/entity/tokens", entity_tokens);
    g_test_add_func("/ub/mgmt/entity/eids", entity_eids);
    g_test_add_func("/ub/mgmt/instance/move", instances_move);
    g_test_add_func("/ub/mgmt/instance/partition", instance_partition);
    g_test_add_func("/ub/mgmt/message/neighbor-lists", neighbor_lists);
    g_test_add_func("/ub/mgmt/scan/topology-values", topology_values);
    g_test_add_func("/ub/mgmt/scan/counts", scan_counts);
    g_test_add_func("/ub/mgmt/event/severities", severities);
    g_test_add_func("/ub/mgmt/event/errors", errors_told);
    g_test_add_func("/ub/mgmt/event/fields", event_fields);
    g_test_add_func("/ub/mgmt/event/unheard", event_unheard);
    g_test_add_func("/ub/mgmt/ta/lengths", ta_lengths);
    return g_test_run();
}
