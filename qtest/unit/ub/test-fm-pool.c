/*
 * Pooling in virtual time: Entities are lent, taken back, replaced and reclaimed,
 * whatever the User says and wherever the manager is interrupted.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "mgmt-fabric.h"
#include "ub/fm_pool.h"

/* Nodes: the manager, two that have Entities to lend, a User. */
enum { MANAGER, PROVIDER, SPARE, USER, NODES };
#define CNA(node) (0x40u + (node))
#define UPI 0x55
#define ERS 0x1000 /* size of ERS0; others count on */

typedef struct Bed {
    Fabric f;
    UbFm fm;
    UbFmNode node[NODES];
    UbFmPool pool;
    GString *log;       /* steps, one word each */
    GString *written;   /* registers, one word each */
    /* The User's software: */
    unsigned user;      /* USER, or the manager itself */
    unsigned seen;      /* messages it was given */
    bool silent;
    bool mumbles;       /* it does what it is asked, but its answers are lost */
    unsigned says;      /* its status */
    int heard;          /* why it was told to let go, whatever it says */
    unsigned cut;       /* bytes of answers, 0: all */
    GArray *has;        /* EIDs that it uses, uint32_t */
    unsigned registered, deregistered, reason;
    /* The manager is killed after so many messages. */
    int left;
} Bed;

static void log_step(void *opaque, const char *what, int status)
{
    g_string_append_printf(((Bed *)opaque)->log, " %s:%d", what, status);
}

static int index_of(const GArray *a, uint32_t eid)
{
    for (unsigned i = 0; i < a->len; i++) {
        if (g_array_index(a, uint32_t, i) == eid) {
            return i;
        }
    }
    return -1;
}

/* What the User's software does with a registration. */
static unsigned user_works(Bed *b, const Node *n)
{
    const uint8_t *pdu = n->data + UB_MGMT_ETAH;
    unsigned id = n->data[0] >> 4 | (n->data[0] >> 1 & 7) << 4;
    uint8_t only[20] = { 0 };
    uint32_t eid, node;
    int at;

    b->heard = id == UB_MGMT_MSG_DEREGISTER
               ? (int)ub_mgmt_get(pdu, UB_MF_DEREGISTER_REASON) : b->heard;
    if (b->says) {
        return b->says;
    }
    if (id == UB_MGMT_MSG_REGISTER) {
        eid = ub_mgmt_get_id(pdu, UB_MF_REGISTER_EID).w[0];
        g_assert_cmphex(ub_mgmt_get(pdu, UB_MF_REGISTER_UPI), ==, UPI);
        g_assert_cmphex(ub_mgmt_get_id(pdu, UB_MF_REGISTER_UEID).w[0], ==,
                        0x90 + b->user);
        node = ub_mgmt_get(pdu, UB_MF_REGISTER_CNA) - CNA(0);
        g_assert_cmpuint(node, <, USER);
        g_assert_cmphex(ub_mgmt_get_id(pdu, UB_MF_REGISTER_GUID).w[0], ==,
                        b->f.node[node].guid.w[0] +
                        ub_mgmt_get(pdu, UB_MF_REGISTER_ENTITY));
        for (unsigned i = 0; i < 3; i++) {
            g_assert_cmphex(ub_mgmt_get(pdu, UB_MF_REGISTER_SS0 + 3 * i), ==,
                            ERS + i);
            g_assert_cmphex(ub_mgmt_get(pdu, UB_MF_REGISTER_SA0_LO + 3 * i), ==,
                            ERS + 3 + 2 * i);
            g_assert_cmphex(ub_mgmt_get(pdu, UB_MF_REGISTER_SA0_HI + 3 * i), ==,
                            ERS + 4 + 2 * i);
        }
        b->registered++;
        if (index_of(b->has, eid) >= 0) {
            return UB_MGMT_EXISTS;
        }
        g_array_append_val(b->has, eid);
        return UB_MGMT_OK;
    }
    g_assert_cmphex(id, ==, UB_MGMT_MSG_DEREGISTER);
    g_assert_cmpuint(n->len, ==, UB_MGMT_ETAH + sizeof(only));
    ub_mgmt_put_id(only, UB_MF_DEREGISTER_EID,
                   ub_mgmt_get_id(pdu, UB_MF_DEREGISTER_EID));
    ub_mgmt_put(only, UB_MF_DEREGISTER_REASON,
                ub_mgmt_get(pdu, UB_MF_DEREGISTER_REASON));
    g_assert_cmpmem(pdu, sizeof(only), only, sizeof(only));
    b->deregistered++;
    b->reason = ub_mgmt_get(pdu, UB_MF_DEREGISTER_REASON);
    at = index_of(b->has, ub_mgmt_get_id(pdu, UB_MF_DEREGISTER_EID).w[0]);
    if (at < 0) {
        return UB_MGMT_ABSENT;
    }
    g_array_remove_index(b->has, at);
    return UB_MGMT_OK;
}

/* It answers each message once. */
static void user_turn(Bed *b)
{
    Node *n = &b->f.node[b->user];
    uint8_t data[UB_MGMT_ETAH];
    UbMgmtAddr to;

    if (n->delivered == b->seen) {
        return;
    }
    b->seen = n->delivered;
    if (b->silent) {
        return;
    }
    memcpy(data, n->data, sizeof(data));
    ub_mgmt_etah_put(data, (UbMgmtEtah) {
        .code = n->data[0] >> 1 & 7, .sub = n->data[0] >> 4, .rsp = true,
        .status = user_works(b, n),
    });
    if (b->mumbles) {
        return;
    }
    to = n->addr;
    to.dcna = n->addr.scna;
    to.deid = n->addr.seid;
    g_assert_null(ub_mgmt_host_send(n->m, b->f.now, UB_MGMT_KIND_MESSAGE, &to,
                                    data, sizeof(data)));
}

static int bed_message(void *opaque, uint32_t cna, UbMgmtId id,
                       const uint8_t *pdu, unsigned len, uint8_t *answer,
                       unsigned *answer_len)
{
    Bed *b = opaque;
    UbMgmtAddr to = { .dcna = cna, .mgmt = true, .local = !cna };
    Answer a = { 0 };

    if (!b->left--) {
        b->left = 0;
        return -1;
    }
    if (id == UB_MGMT_MSG_CFG0_WRITE || id == UB_MGMT_MSG_CFG1_WRITE) {
        g_string_append_printf(b->written, " %x", ub_mgmt_get(pdu, UB_MF_CFG_ADDRESS));
    } else if (id == UB_MGMT_MSG_CFG0_READ || id == UB_MGMT_MSG_CFG1_READ) {
        g_assert_cmphex(ub_mgmt_get(pdu, UB_MF_CFG_DATA), ==, 0);
    }
    g_assert_true(ub_mgmt_request(b->f.node[0].m, b->f.now, &to, id, pdu, len,
                                  fabric_answer, &a));
    while (!a.calls) {
        fabric_pump(&b->f);
        user_turn(b);
        fabric_pump(&b->f);
        if (!a.calls) {
            fabric_run(&b->f, SECOND);
        }
    }
    memcpy(answer, a.data, a.len);
    *answer_len = b->cut ? b->cut : a.len;
    return a.in_vain ? -1 : (int)a.status;
}

static const UbFmOps bed_ops = { .message = bed_message };

/* Resource spaces: sizes and addresses that differ. */
static void give_spaces(UbSlice *cfg1)
{
    for (unsigned i = 0; i < 3; i++) {
        ub_slice_init(cfg1, UB_CFG1_ERS0_SS + i, ~0u, ERS + i);
    }
    for (unsigned i = 0; i < 6; i++) {
        ub_slice_init(cfg1, UB_CFG1_ERS0_SA + i, ~0u, ERS + 3 + i);
    }
}

static void give_entities(Bed *b, unsigned node)
{
    Node *n = &b->f.node[node];

    fabric_more_entities(n);
    b->node[node].entities = FABRIC_ENTITIES;
    for (unsigned e = 1; e < FABRIC_ENTITIES; e++) {
        give_spaces(n->other1[e]);
    }
}

static Bed *bed_new(void)
{
    Bed *b = g_new0(Bed, 1);
    UbMgmtConfig cfg;

    g_queue_init(&b->f.under_way);
    b->f.now = SECOND;
    ub_mgmt_config_init(&cfg);
    for (unsigned i = 0; i < NODES; i++) {
        Node *n;

        cfg.manager = !i;
        n = fabric_add(&b->f, &cfg);
        fabric_identity(n, CNA(i), 0x90 + i, 7);
        b->node[i] = (UbFmNode) { .guid = n->guid, .cna = CNA(i),
                                  .eid = { { 0x90 + i } }, .entities = 1 };
        if (i == PROVIDER || i == SPARE) {
            give_entities(b, i);
        }
    }
    b->fm = (UbFm) { .ops = &bed_ops, .opaque = b, .nodes = NODES,
                     .node = b->node };
    b->log = g_string_new("");
    b->written = g_string_new("");
    b->has = g_array_new(false, false, sizeof(uint32_t));
    b->pool = (UbFmPool) { .fm = &b->fm, .step = log_step, .opaque = b,
                           .eid_prefix = { { 0, 0, 0, 0xab } } };
    b->left = INT_MAX;
    b->user = USER;
    return b;
}

static void bed_free(Bed *b)
{
    fabric_free(&b->f);
    g_string_free(b->log, true);
    g_string_free(b->written, true);
    g_array_free(b->has, true);
    g_free(b);
}

static void expect_log(Bed *b, const char *want)
{
    g_assert_cmpstr(b->log->str, ==, want);
    g_string_truncate(b->log, 0);
}

static uint32_t reg(Bed *b, unsigned node, unsigned entity, uint32_t dw)
{
    return ub_space_read(b->f.node[node].other[entity], dw);
}

static void expect_free(Bed *b, unsigned node, unsigned entity)
{
    static const uint32_t dws[] = {
        UB_CFG0_UPI, UB_CFG0_UCNA, UB_CFG0_UEID, UB_CFG0_UEID + 3, UB_CFG0_EID,
        UB_CFG0_EID + 3, UB_CFG1_BASE + UB_CFG1_DEV_TOKEN_ID,
    };

    for (unsigned i = 0; i < G_N_ELEMENTS(dws); i++) {
        g_assert_cmphex(reg(b, node, entity, dws[i]), ==, 0);
    }
}

/* ---- Tests --------------------------------------------------------------------------- */

static void test_lend(void)
{
    Bed *b = bed_new();
    UbFmEntity e;

    g_assert_cmpint(ub_fm_pool_lend(&b->pool, PROVIDER, 2, USER, UPI), ==, 0);
    expect_log(b, " configure:0 register:0");
    g_assert_cmpuint(b->has->len, ==, 1);
    g_assert_cmphex(g_array_index(b->has, uint32_t, 0), ==, 0x20041);
    g_assert_cmphex(reg(b, PROVIDER, 2, UB_CFG0_UPI), ==, UPI);
    g_assert_cmpint(ub_fm_pool_look(&b->pool, PROVIDER, 2, &e), ==, 0);
    g_assert_cmphex(e.ucna, ==, CNA(USER));
    g_assert_cmphex(e.ueid.w[0], ==, 0x93);
    g_assert_cmphex(e.eid.w[0], ==, 0x20041);
    g_assert_cmphex(e.eid.w[3], ==, 0xab);
    g_assert_cmphex(e.upi, ==, UPI);
    g_assert_cmphex(e.guid.w[0], ==, b->node[PROVIDER].guid.w[0] + 2);
    /* It is somebody's. */
    g_assert_cmpint(ub_fm_pool_lend(&b->pool, PROVIDER, 2, USER, UPI), ==,
                    UB_MGMT_EXISTS);
    /* Its neighbour is another one. */
    g_assert_cmpint(ub_fm_pool_lend(&b->pool, PROVIDER, 1, USER, UPI), ==, 0);
    g_assert_cmpuint(b->has->len, ==, 2);
    expect_log(b, " configure:0 register:0");
    /* What the User left in it is gone with the reset. */
    ub_space_write(b->f.node[PROVIDER].other[2], 0,
                   UB_CFG1_BASE + UB_CFG1_DEV_TOKEN_ID, 9, 0xf);
    g_assert_cmpint(ub_fm_pool_take_back(&b->pool, PROVIDER, 2, UB_FM_NORMAL),
                    ==, 0);
    expect_log(b, " deregister:0 reclaim:0");
    expect_free(b, PROVIDER, 2);
    g_assert_cmphex(reg(b, PROVIDER, 2, UB_CFG1_BASE + UB_CFG1_ELR_DONE), ==, 1);
    g_assert_cmpuint(b->has->len, ==, 1);
    g_assert_cmpuint(b->reason, ==, 0);
    g_assert_cmphex(reg(b, PROVIDER, 1, UB_CFG0_UPI), ==, UPI);
    g_assert_cmpint(ub_fm_pool_take_back(&b->pool, PROVIDER, 2, UB_FM_NORMAL),
                    ==, UB_MGMT_ABSENT);
    g_assert_cmpuint(b->deregistered, ==, 1);
    bed_free(b);
}

/* These registers were written since, in this order. */
static void expect_written(Bed *b, const uint32_t *dws, unsigned n)
{
    g_autoptr(GString) want = g_string_new("");

    for (unsigned i = 0; i < n; i++) {
        g_string_append_printf(want, " %x", dws[i]);
    }
    g_assert_cmpstr(b->written->str, ==, want->str);
    g_string_truncate(b->written, 0);
}

/* The User's name comes first and goes last, the partition the other way; and nothing
 * else of the Entity is written. */
static void test_order(void)
{
    static const uint32_t lent[] = {
        UB_CFG0_UCNA, UB_CFG0_UEID, UB_CFG0_UEID + 1, UB_CFG0_UEID + 2,
        UB_CFG0_UEID + 3, UB_CFG0_EID, UB_CFG0_EID + 1, UB_CFG0_EID + 2,
        UB_CFG0_EID + 3, UB_CFG0_UPI,
    }, back[] = {
        UB_CFG0_UPI, UB_CFG1_BASE + UB_CFG1_ELR, UB_CFG0_EID, UB_CFG0_EID + 1,
        UB_CFG0_EID + 2, UB_CFG0_EID + 3, UB_CFG0_UEID, UB_CFG0_UEID + 1,
        UB_CFG0_UEID + 2, UB_CFG0_UEID + 3, UB_CFG0_UCNA,
    };
    Bed *b = bed_new();
    UbFmEntity e;

    b->node[USER].eid = (UbId){ { 0x93, 2, 3, 0xfd000000 } };
    g_assert_cmpint(ub_fm_pool_lend(&b->pool, PROVIDER, 2, USER, UPI), ==, 0);
    expect_written(b, lent, G_N_ELEMENTS(lent));
    g_assert_cmpint(ub_fm_pool_look(&b->pool, PROVIDER, 2, &e), ==, 0);
    g_assert_true(ub_id_same(e.ueid, b->node[USER].eid));
    g_assert_cmpint(ub_fm_pool_take_back(&b->pool, PROVIDER, 2, UB_FM_NORMAL), ==, 0);
    expect_written(b, back, G_N_ELEMENTS(back));
    expect_free(b, PROVIDER, 2);
    bed_free(b);
}

static void test_refused(void)
{
    Bed *b = bed_new();
    UbFmEntity e;
    int left;

    g_assert_cmpint(ub_fm_pool_lend(&b->pool, PROVIDER, 0, USER, UPI), ==,
                    UB_MGMT_NO_PERMISSION);
    g_assert_cmpint(ub_fm_pool_lend(&b->pool, PROVIDER, FABRIC_ENTITIES, USER,
                                    UPI), ==, UB_MGMT_NO_TARGET);
    g_assert_cmpint(ub_fm_pool_lend(&b->pool, NODES, 1, USER, UPI), ==,
                    UB_MGMT_NO_TARGET);
    g_assert_cmpint(ub_fm_pool_lend(&b->pool, PROVIDER, 1, NODES, UPI), ==,
                    UB_MGMT_NO_TARGET);
    g_assert_cmpint(ub_fm_pool_lend(&b->pool, PROVIDER, 1, USER, 0), ==,
                    UB_MGMT_BAD_PARAMETER);
    g_assert_cmpint(ub_fm_pool_lend(&b->pool, PROVIDER, 1, USER, UB_MGMT_UPI),
                    ==, UB_MGMT_BAD_PARAMETER);
    /* Of what is not there nobody is asked. */
    left = b->left;
    g_assert_cmpint(ub_fm_pool_look(&b->pool, PROVIDER, FABRIC_ENTITIES, &e),
                    ==, UB_MGMT_NO_TARGET);
    g_assert_cmpint(ub_fm_pool_look(&b->pool, NODES, 0, &e), ==, UB_MGMT_NO_TARGET);
    g_assert_cmpint(b->left, ==, left);
    b->node[USER].cna = 0;
    g_assert_cmpint(ub_fm_pool_lend(&b->pool, PROVIDER, 1, USER, UPI), ==,
                    UB_MGMT_NO_TARGET);
    b->node[USER].cna = CNA(USER);
    expect_log(b, "");
    expect_free(b, PROVIDER, 1);
    /* A User that refuses does not get it. */
    b->says = UB_MGMT_NO_RESOURCE;
    g_assert_cmpint(ub_fm_pool_lend(&b->pool, PROVIDER, 1, USER, UPI), ==,
                    UB_MGMT_NO_RESOURCE);
    expect_log(b, " configure:0 register:32 reclaim:0");
    expect_free(b, PROVIDER, 1);
    /* One that will not give it back does not keep it. */
    b->says = 0;
    g_assert_cmpint(ub_fm_pool_lend(&b->pool, PROVIDER, 1, USER, UPI), ==, 0);
    b->says = UB_MGMT_BUSY;
    g_string_truncate(b->log, 0);
    g_assert_cmpint(ub_fm_pool_take_back(&b->pool, PROVIDER, 1,
                                         UB_FM_LINK_ERROR), ==, UB_MGMT_BUSY);
    expect_log(b, " deregister:35 reclaim:0");
    expect_free(b, PROVIDER, 1);
    bed_free(b);
}

/* Nobody answers within the time. */
static void test_silent(void)
{
    Bed *b = bed_new();

    b->silent = true;
    g_assert_cmpint(ub_fm_pool_lend(&b->pool, PROVIDER, 1, USER, UPI), ==,
                    UB_FM_SILENT);
    expect_log(b, " configure:0 register:-1 deregister:-1 reclaim:0");
    expect_free(b, PROVIDER, 1);
    b->silent = false;
    g_assert_cmpint(ub_fm_pool_lend(&b->pool, PROVIDER, 1, USER, UPI), ==, 0);
    g_string_truncate(b->log, 0);
    b->silent = true;
    g_assert_cmpint(ub_fm_pool_take_back(&b->pool, PROVIDER, 1, UB_FM_NORMAL),
                    ==, UB_FM_SILENT);
    expect_log(b, " deregister:-1 reclaim:0");
    expect_free(b, PROVIDER, 1);
    /* A User that is gone for good. */
    b->silent = false;
    g_assert_cmpint(ub_fm_pool_lend(&b->pool, PROVIDER, 1, USER, UPI), ==, 0);
    g_string_truncate(b->log, 0);
    b->node[USER].cna = 0;
    g_assert_cmpint(ub_fm_pool_take_back(&b->pool, PROVIDER, 1, UB_FM_NORMAL),
                    ==, UB_FM_SILENT);
    expect_log(b, " deregister:-1 reclaim:0");
    expect_free(b, PROVIDER, 1);
    bed_free(b);
}

/* A User that took it, and whose answer is lost, does not keep it. */
static void test_lost_answer(void)
{
    Bed *b = bed_new();

    b->mumbles = true;
    g_assert_cmpint(ub_fm_pool_lend(&b->pool, PROVIDER, 1, USER, UPI), ==,
                    UB_FM_SILENT);
    expect_log(b, " configure:0 register:-1 deregister:-1 reclaim:0");
    g_assert_cmpuint(b->registered, >, 0);
    g_assert_cmpuint(b->has->len, ==, 0);
    expect_free(b, PROVIDER, 1);
    bed_free(b);
}

/* It has one by this name, of which it never heard that it was taken back: it lets go
 * of that first. */
static void test_stale(void)
{
    Bed *b = bed_new();
    uint32_t eid = 0x10041;

    g_array_append_val(b->has, eid);
    g_assert_cmpint(ub_fm_pool_lend(&b->pool, PROVIDER, 1, USER, UPI), ==, 0);
    expect_log(b, " configure:0 register:0 deregister:0 register:0");
    g_assert_cmpuint(b->registered, ==, 2);
    g_assert_cmpuint(b->deregistered, ==, 1);
    g_assert_cmpuint(b->has->len, ==, 1);
    /* One that will not let go of it does not get the other. */
    g_assert_cmpint(ub_fm_pool_take_back(&b->pool, PROVIDER, 1, UB_FM_NORMAL),
                    ==, 0);
    b->says = UB_MGMT_EXISTS;
    g_assert_cmpint(ub_fm_pool_lend(&b->pool, PROVIDER, 1, USER, UPI), ==,
                    UB_MGMT_EXISTS);
    expect_free(b, PROVIDER, 1);
    bed_free(b);
}

/* Nodes are about to leave: what they lend, and what they have on loan, goes back. */
static void test_release(void)
{
    for (int gone = 0; gone < 2; gone++) {
        for (unsigned who = PROVIDER; who <= USER; who += USER - PROVIDER) {
            Bed *b = bed_new();
            bool leaves[NODES] = { false };

            b->node[USER].reached = true;
            g_assert_cmpint(ub_fm_pool_lend(&b->pool, PROVIDER, 1, USER, UPI),
                            ==, 0);
            g_assert_cmpint(ub_fm_pool_lend(&b->pool, SPARE, 2, USER, UPI), ==,
                            0);
            leaves[who] = true;
            g_assert_cmpuint(ub_fm_pool_release(&b->pool, leaves, gone), ==, 0);
            if (who == USER) {
                expect_free(b, PROVIDER, 1);
                expect_free(b, SPARE, 2);
                g_assert_cmpuint(b->has->len, ==, gone ? 2 : 0);
            } else {
                /* It says nothing any more where it is gone; its User hears. */
                g_assert_cmphex(reg(b, PROVIDER, 1, UB_CFG0_UCNA), ==,
                                gone ? CNA(USER) : 0);
                g_assert_cmphex(reg(b, SPARE, 2, UB_CFG0_UCNA), ==, CNA(USER));
                g_assert_cmpuint(b->has->len, ==, 1);
                g_assert_cmpint(index_of(b->has, 0x20042), ==, 0);
                g_assert_cmpuint(b->reason, ==, gone ? UB_FM_LINK_ERROR : 0);
            }
            bed_free(b);
        }
    }
}

/* Entities of nodes that do not answer may be somebody's still: each is counted. */
static void test_unreleased(void)
{
    const bool leaves[NODES] = { [USER] = true };
    Bed *b = bed_new();

    b->left = 0;
    g_assert_cmpuint(ub_fm_pool_release(&b->pool, leaves, true), ==,
                     2 * (FABRIC_ENTITIES - 1));
    bed_free(b);
}

static void test_replace(void)
{
    Bed *b = bed_new();

    g_assert_cmpint(ub_fm_pool_replace(&b->pool, PROVIDER, 1, SPARE, 2), ==,
                    UB_MGMT_ABSENT);
    g_assert_cmpint(ub_fm_pool_lend(&b->pool, PROVIDER, 1, USER, UPI), ==, 0);
    g_assert_cmpint(ub_fm_pool_lend(&b->pool, SPARE, 1, USER, UPI), ==, 0);
    /* Not by one that is lent, nor by Entity 0. */
    g_assert_cmpint(ub_fm_pool_replace(&b->pool, PROVIDER, 1, SPARE, 1), ==,
                    UB_MGMT_EXISTS);
    g_assert_cmpint(ub_fm_pool_replace(&b->pool, PROVIDER, 1, SPARE, 0), ==,
                    UB_MGMT_NO_PERMISSION);
    g_string_truncate(b->log, 0);
    g_assert_cmpint(ub_fm_pool_replace(&b->pool, PROVIDER, 1, SPARE, 2), ==, 0);
    expect_log(b, " deregister:0 reclaim:0 configure:0 register:0");
    g_assert_cmpuint(b->reason, ==, UB_FM_DEVICE_ERROR);
    expect_free(b, PROVIDER, 1);
    /* The new one answers to the old one's name. */
    g_assert_cmphex(reg(b, SPARE, 2, UB_CFG0_EID), ==, 0x10041);
    g_assert_cmphex(reg(b, SPARE, 2, UB_CFG0_UPI), ==, UPI);
    g_assert_cmphex(reg(b, SPARE, 2, UB_CFG0_UCNA), ==, CNA(USER));
    g_assert_cmpint(index_of(b->has, 0x10041), >=, 0);
    /* So nobody else can have it. */
    g_string_truncate(b->log, 0);
    g_assert_cmpint(ub_fm_pool_lend(&b->pool, PROVIDER, 1, USER, UPI), ==,
                    UB_MGMT_EXISTS);
    expect_log(b, "");
    expect_free(b, PROVIDER, 1);
    b->node[USER].cna = 0;
    g_assert_cmpint(ub_fm_pool_replace(&b->pool, SPARE, 2, PROVIDER, 1), ==,
                    UB_MGMT_NO_TARGET);
    bed_free(b);
}

/* A manager that ends after any message; the next one takes back what it finds. */
static void test_killed(void)
{
    for (int left = 0; left < 100; left++) {
        Bed *b = bed_new();
        UbFmEntity e;
        int status;

        b->left = left;
        status = ub_fm_pool_lend(&b->pool, PROVIDER, 1, USER, UPI);
        if (!status) {
            status = ub_fm_pool_take_back(&b->pool, PROVIDER, 1, UB_FM_NORMAL);
        }
        if (b->left) {
            g_assert_cmpint(status, ==, 0);
            g_assert_cmpint(left, >, 40);
            bed_free(b);
            return;
        }
        b->left = INT_MAX;
        g_assert_cmpint(ub_fm_pool_look(&b->pool, PROVIDER, 1, &e), ==, 0);
        if (e.ucna) {
            g_assert_cmpint(ub_fm_pool_take_back(&b->pool, PROVIDER, 1,
                                                 UB_FM_NORMAL), ==, 0);
        }
        expect_free(b, PROVIDER, 1);
        g_assert_cmpuint(b->has->len, ==, 0);
        g_assert_cmpint(ub_fm_pool_lend(&b->pool, PROVIDER, 1, USER, UPI), ==,
                        0);
        g_assert_cmpuint(b->has->len, ==, 1);
        bed_free(b);
    }
    g_assert_not_reached();
}

/* The same, but the next one looks whether it can leave things as they are: the
 * User has what is lent, and nothing else. */
static void test_recover(void)
{
    unsigned kept = 0, reclaimed = 0;

    for (int left = 0; left < 100; left++) {
        Bed *b = bed_new();
        unsigned now = 9;
        bool lent = false;
        int status;

        b->left = left;
        status = ub_fm_pool_lend(&b->pool, PROVIDER, 1, USER, UPI);
        if (!status) {
            status = ub_fm_pool_take_back(&b->pool, PROVIDER, 1, UB_FM_NORMAL);
        }
        if (b->left) {
            g_assert_cmpint(status, ==, 0);
            g_assert_cmpuint(kept, >, 2);
            g_assert_cmpuint(reclaimed, >, 10);
            bed_free(b);
            return;
        }
        b->left = INT_MAX;
        g_assert_cmpuint(ub_fm_pool_recover_all(&b->pool, &now), ==, 0);
        g_assert_cmpint(ub_fm_pool_recover(&b->pool, PROVIDER, 1, &lent), ==, 0);
        g_assert_cmpuint(b->has->len, ==, lent);
        if (lent) {
            g_assert_cmpuint(now, ==, 0);
            g_assert_cmphex(reg(b, PROVIDER, 1, UB_CFG0_UCNA), ==, CNA(USER));
            g_assert_cmphex(reg(b, PROVIDER, 1, UB_CFG0_UPI), ==, UPI);
            kept++;
        } else {
            g_assert_cmpuint(now, <=, 1);
            expect_free(b, PROVIDER, 1);
            reclaimed += now;
        }
        bed_free(b);
    }
    g_assert_not_reached();
}

/* A User that began anew has it again; one that is gone or refuses has not. */
static void test_users(void)
{
    Bed *b = bed_new();
    unsigned now;
    bool lent;

    g_assert_cmpint(ub_fm_pool_lend(&b->pool, PROVIDER, 1, USER, UPI), ==, 0);
    g_assert_cmpint(ub_fm_pool_lend(&b->pool, SPARE, 2, USER, UPI), ==, 0);
    g_array_set_size(b->has, 0);
    g_string_truncate(b->log, 0);
    g_assert_cmpuint(ub_fm_pool_recover_all(&b->pool, &now), ==, 0);
    g_assert_cmpuint(now, ==, 0);
    expect_log(b, " register:0 register:0");
    g_assert_cmpuint(b->has->len, ==, 2);
    b->says = UB_MGMT_BAD_PARAMETER;
    g_assert_cmpint(ub_fm_pool_recover(&b->pool, PROVIDER, 1, &lent), ==, 0);
    g_assert_false(lent);
    expect_log(b, " register:38 deregister:38 reclaim:0");
    expect_free(b, PROVIDER, 1);
    b->says = 0;
    b->node[USER].cna = 0;
    g_assert_cmpuint(ub_fm_pool_recover_all(&b->pool, &now), ==, 0);
    g_assert_cmpuint(now, ==, 1);
    expect_log(b, " deregister:-1 reclaim:0");
    expect_free(b, SPARE, 2);
    /* Free ones are left alone. */
    g_assert_cmpint(ub_fm_pool_recover(&b->pool, PROVIDER, 1, &lent), ==, 0);
    g_assert_false(lent);
    expect_log(b, "");
    g_assert_cmpint(ub_fm_pool_recover(&b->pool, PROVIDER, 0, &lent), ==, 0);
    /* A node that does not answer is said to be so. */
    b->left = 0;
    g_assert_cmpuint(ub_fm_pool_recover_all(&b->pool, &now), ==,
                     2 * (FABRIC_ENTITIES - 1));
    bed_free(b);
}

static void expect_lent(Bed *b, unsigned node, unsigned entity)
{
    g_assert_cmphex(reg(b, node, entity, UB_CFG0_UCNA), ==, CNA(USER));
    g_assert_cmphex(reg(b, node, entity, UB_CFG0_UPI), ==, UPI);
    g_assert_cmphex(reg(b, node, entity, UB_CFG0_EID), ==, 0x10041);
}

/* Who says nothing loses nothing. */
static void test_quiet(void)
{
    Bed *b = bed_new();
    unsigned now, failed;

    g_assert_cmpint(ub_fm_pool_lend(&b->pool, PROVIDER, 1, USER, UPI), ==, 0);
    g_string_truncate(b->log, 0);
    b->silent = true;
    g_assert_cmpuint(ub_fm_pool_recover_all(&b->pool, &now), ==, 1);
    g_assert_cmpuint(now, ==, 0);
    expect_log(b, " register:-1");
    expect_lent(b, PROVIDER, 1);
    /* It answers again, as one that began anew. */
    b->silent = false;
    g_array_set_size(b->has, 0);
    g_assert_cmpuint(ub_fm_pool_recover_all(&b->pool, &now), ==, 0);
    g_assert_cmpuint(now, ==, 0);
    expect_log(b, " register:0");
    expect_lent(b, PROVIDER, 1);
    g_assert_cmpuint(b->has->len, ==, 1);
    /* The lender does not answer, whatever it is asked. */
    for (int left = 0;; left++) {
        b->left = left;
        failed = ub_fm_pool_recover_all(&b->pool, &now);
        g_assert_cmpuint(now, ==, 0);
        expect_lent(b, PROVIDER, 1);
        if (b->left) {
            g_assert_cmpuint(failed, ==, 0);
            g_assert_cmpint(left, >, 20);
            break;
        }
        g_assert_cmpint(left, <, 100);
    }
    b->left = INT_MAX;
    /* It is not found; but a neighbour of somebody did not say who it is. */
    g_string_truncate(b->log, 0);
    b->node[USER].cna = 0;
    b->fm.unanswered = 1;
    g_assert_cmpuint(ub_fm_pool_recover_all(&b->pool, &now), ==, 1);
    g_assert_cmpuint(now, ==, 0);
    expect_log(b, " recover:-1");
    expect_lent(b, PROVIDER, 1);
    b->fm.unanswered = 0;
    g_assert_cmpuint(ub_fm_pool_recover_all(&b->pool, &now), ==, 0);
    g_assert_cmpuint(now, ==, 1);
    expect_free(b, PROVIDER, 1);
    bed_free(b);
}

/* Entity 2 of SPARE has the EID and the User of Entity 1 of PROVIDER. */
static void name_twice(Bed *b, unsigned upi)
{
    UbSlice *other = b->f.node[SPARE].other0[2];

    for (unsigned i = 0; i < 4; i++) {
        ub_slice_set(other, UB_CFG0_EID + i, ~0u,
                     reg(b, PROVIDER, 1, UB_CFG0_EID + i));
        ub_slice_set(other, UB_CFG0_UEID + i, ~0u,
                     reg(b, PROVIDER, 1, UB_CFG0_UEID + i));
    }
    ub_slice_set(other, UB_CFG0_UCNA, ~0u, CNA(USER));
    ub_slice_set(other, UB_CFG0_UPI, ~0u, upi);
}

/* Two that are lent by one EID: one that was replaced was beyond answering. */
static void test_conflict(void)
{
    Bed *b = bed_new();
    unsigned now;
    bool lent;

    g_assert_cmpint(ub_fm_pool_lend(&b->pool, PROVIDER, 1, USER, UPI), ==, 0);
    g_string_truncate(b->log, 0);
    name_twice(b, 0);
    /* One that is not lent whole is reclaimed; the User keeps the other. */
    g_assert_cmpuint(ub_fm_pool_recover_all(&b->pool, &now), ==, 0);
    g_assert_cmpuint(now, ==, 1);
    expect_log(b, " register:0 reclaim:0");
    expect_lent(b, PROVIDER, 1);
    expect_free(b, SPARE, 2);
    g_assert_cmpuint(b->has->len, ==, 1);
    g_assert_cmpuint(b->deregistered, ==, 0);

    name_twice(b, UPI);
    b->registered = 0;
    g_assert_cmpuint(ub_fm_pool_recover_all(&b->pool, &now), ==, 2);
    g_assert_cmpuint(now, ==, 0);
    g_assert_cmpint(ub_fm_pool_recover(&b->pool, PROVIDER, 1, &lent), ==,
                    UB_MGMT_EXISTS);
    g_assert_true(lent);
    expect_log(b, " conflict:36 conflict:36 conflict:36");
    g_assert_cmpuint(b->registered, ==, 0);
    expect_lent(b, PROVIDER, 1);
    expect_lent(b, SPARE, 2);
    /* When one is taken back the other is the User's. */
    g_assert_cmpint(ub_fm_pool_take_back(&b->pool, PROVIDER, 1, UB_FM_NORMAL),
                    ==, 0);
    g_assert_cmpuint(ub_fm_pool_recover_all(&b->pool, &now), ==, 0);
    expect_log(b, " deregister:0 reclaim:0 register:0");
    expect_lent(b, SPARE, 2);
    g_assert_cmpuint(b->has->len, ==, 1);
    bed_free(b);
}

static char *report(Bed *b, unsigned (*print)(UbFmPool *p, FILE *out),
                    unsigned silent)
{
    char *text = NULL;
    size_t len;
    FILE *out = open_memstream(&text, &len);

    g_assert_cmpuint(print(&b->pool, out), ==, silent);
    fclose(out);
    return text;
}

static void test_report(void)
{
    Bed *b = bed_new();
    char *text;

    b->node[PROVIDER].guid = (UbId) { { 1, 2, 0x02000003, 0xcc080004 } };
    g_assert_cmpint(ub_fm_pool_lend(&b->pool, PROVIDER, 2, USER, UPI), ==, 0);
    text = report(b, ub_fm_pool_text, 0);
    g_assert_nonnull(strstr(text, "cc08-0004-0-2-000003-0000000200000001 1: "));
    g_assert_nonnull(strstr(text, "free\n"));
    g_assert_nonnull(strstr(text, "000000ab" "00000000" "00000000" "00020041, "
                            "UPI 0x55, lent to CNA 0x43, "));
    g_assert_null(strstr(text, "gone"));
    free(text);
    text = report(b, ub_fm_pool_json, 0);
    g_assert_nonnull(strstr(text, "\"index\": 1, \"answers\": true"));
    g_assert_nonnull(strstr(text, "\"lent\": false"));
    g_assert_nonnull(strstr(text, "\"upi\": 85, \"user-cna\": 67, \"user\": "));
    free(text);
    b->node[USER].cna = 0;
    text = report(b, ub_fm_pool_text, 0);
    g_assert_nonnull(strstr(text, "lent to CNA 0x43, which is gone\n"));
    free(text);
    text = report(b, ub_fm_pool_json, 0);
    g_assert_null(strstr(text, "\"user\": "));
    free(text);
    /* Lent to the manager itself. */
    ub_slice_set(b->f.node[PROVIDER].other0[2], UB_CFG0_UCNA, ~0u,
                 CNA(MANAGER));
    text = report(b, ub_fm_pool_text, 0);
    g_assert_nonnull(strstr(text, "lent to CNA 0x40, "));
    g_assert_null(strstr(text, "gone"));
    free(text);
    b->left = 0;
    text = report(b, ub_fm_pool_text, 2 * (FABRIC_ENTITIES - 1));
    g_assert_nonnull(strstr(text, "does not say\n"));
    free(text);
    text = report(b, ub_fm_pool_json, 2 * (FABRIC_ENTITIES - 1));
    g_assert_nonnull(strstr(text, "\"answers\": false}"));
    free(text);
    bed_free(b);
}

/* The manager's own registers are asked without a CNA: they need no route. */
static void test_own(void)
{
    Bed *b = bed_new();
    UbFmEntity e;

    g_assert_cmpint(ub_fm_pool_look(&b->pool, MANAGER, 0, &e), ==, 0);
    g_assert_cmphex(e.guid.w[0], ==, b->node[MANAGER].guid.w[0]);
    b->node[MANAGER].cna = 0;
    g_assert_cmpint(ub_fm_pool_look(&b->pool, MANAGER, 0, &e), ==, 0);
    /* The data of an answer are its first word. */
    for (b->cut = 3; b->cut < 5; b->cut++) {
        g_assert_cmpint(ub_fm_pool_look(&b->pool, MANAGER, 0, &e), ==,
                        b->cut < 4 ? UB_MGMT_UNKNOWN : UB_MGMT_OK);
        g_assert_cmphex(e.upi, ==, b->cut < 4 ? 0 : 7);
    }
    bed_free(b);
}

/* The manager's node lends as others do, and has what others lend. */
static void test_manager(void)
{
    bool leaves[NODES] = { [USER] = true }, lent;
    Bed *b;

    for (int gone = 0; gone < 2; gone++) {
        b = bed_new();
        give_entities(b, MANAGER);
        g_assert_cmpint(ub_fm_pool_lend(&b->pool, MANAGER, 1, USER, UPI), ==, 0);
        g_assert_cmphex(reg(b, MANAGER, 1, UB_CFG0_UCNA), ==, CNA(USER));
        g_assert_cmpuint(ub_fm_pool_release(&b->pool, leaves, gone), ==, 0);
        expect_free(b, MANAGER, 1);
        bed_free(b);
    }
    b = bed_new();
    b->user = MANAGER;
    g_assert_cmpint(ub_fm_pool_lend(&b->pool, PROVIDER, 1, MANAGER, UPI), ==, 0);
    g_assert_cmpint(ub_fm_pool_recover(&b->pool, PROVIDER, 1, &lent), ==, 0);
    g_assert_true(lent);
    g_assert_cmpuint(b->has->len, ==, 1);
    g_assert_cmphex(reg(b, PROVIDER, 1, UB_CFG0_UCNA), ==, CNA(MANAGER));
    /* It is there, and will not have it. */
    b->says = UB_MGMT_NO_RESOURCE;
    b->heard = -1;
    g_assert_cmpint(ub_fm_pool_recover(&b->pool, PROVIDER, 1, &lent), ==, 0);
    g_assert_false(lent);
    g_assert_cmpint(b->heard, ==, UB_FM_NORMAL);
    expect_free(b, PROVIDER, 1);
    bed_free(b);
}

/* Bus instances at a node, and its own; Trust_EN. */
static void test_instances(void)
{
    const UbId guid = { { 5, 0, 0, 0xcc080001 } }, eid = { { 0x12345, 0, 0, 0xfd } };
    const UbId wrong = { { 5, 0, 1 << 24, 0xcc080001 } };
    const uint16_t none[] = { 0, 0x7fff, 0x8009, 0xffff };
    const UbBusInstance *b0;
    Bed *b = bed_new();

    for (unsigned node = 0; node < 2; node++) {
        UbMgmt *m = b->f.node[node].m;

        g_assert_cmpint(ub_fm_instance_create(&b->pool, node, guid, eid, 9), ==, 0);
        b0 = ub_mgmt_bus_instance(m, 0);
        g_assert_cmpmem(&b0->guid, sizeof(guid), &guid, sizeof(guid));
        g_assert_cmpmem(&b0->eid, sizeof(eid), &eid, sizeof(eid));
        g_assert_cmpuint(b0->upi, ==, 9);
        g_assert_cmpint(ub_fm_instance_create(&b->pool, node, guid, eid, 9), ==,
                        UB_MGMT_EXISTS);
        g_assert_cmpint(ub_fm_instance_create(&b->pool, node, wrong, eid, 9), ==,
                        UB_MGMT_BAD_PARAMETER);
        g_assert_cmpint(ub_fm_instance_destroy(&b->pool, node, guid), ==, 0);
        g_assert_null(ub_mgmt_bus_instance(m, 0));
        g_assert_cmpint(ub_fm_instance_destroy(&b->pool, node, guid), ==,
                        UB_MGMT_ABSENT);
    }
    g_string_truncate(b->log, 0);
    /* More than 15 bits would be another partition, of which nobody is told. */
    for (unsigned i = 0; i < G_N_ELEMENTS(none); i++) {
        g_assert_cmpint(ub_fm_instance_create(&b->pool, 1, guid, eid, none[i]), ==,
                        UB_MGMT_BAD_PARAMETER);
        g_assert_null(ub_mgmt_bus_instance(b->f.node[1].m, 0));
    }
    expect_log(b, "");
    for (unsigned on = 2; on--; ) {
        g_assert_cmpint(ub_fm_trust(&b->pool, PROVIDER, on), ==, 0);
        g_assert_cmphex(ub_space_read(b->f.node[PROVIDER].space, UB_CFG0_TRUST_EN),
                        ==, on);
    }
    /* One that has no such register says that it has written it. */
    ub_slice_fix(b->f.node[PROVIDER].cfg0, UB_CFG0_TRUST_EN, ~0u, 0);
    for (unsigned on = 2; on--; ) {
        g_assert_cmpint(ub_fm_trust(&b->pool, PROVIDER, on), ==,
                        on ? UB_MGMT_BAD_PARAMETER : 0);
    }
    b->left = 1;
    g_assert_cmpint(ub_fm_trust(&b->pool, PROVIDER, 0), ==, UB_FM_SILENT);
    b->left = 0;
    g_assert_cmpint(ub_fm_instance_destroy(&b->pool, 0, guid), ==, UB_FM_SILENT);
    expect_log(b, " trust:0 trust:0 trust:0 trust:0 trust:0 end-instance:-1");
    bed_free(b);
}

/* Of the prefix all but the 20 bits that name Entity and node is in the EID. */
static void test_prefix(void)
{
    Bed *b = bed_new();
    UbFmEntity e;

    b->pool.eid_prefix = (UbId) { { 0x123fffffu, 0x456, 0x789, 0xab } };
    g_assert_cmpint(ub_fm_pool_lend(&b->pool, PROVIDER, 2, USER, UPI), ==, 0);
    g_assert_cmphex(g_array_index(b->has, uint32_t, 0), ==, 0x12320041);
    g_assert_cmpint(ub_fm_pool_look(&b->pool, PROVIDER, 2, &e), ==, 0);
    g_assert_cmphex(e.eid.w[0], ==, 0x12320041);
    g_assert_cmphex(e.eid.w[1], ==, 0x456);
    g_assert_cmphex(e.eid.w[2], ==, 0x789);
    g_assert_cmphex(e.eid.w[3], ==, 0xab);
    bed_free(b);
}

/* A provider that refuses, or says nonsense. */
static void test_provider(void)
{
    Bed *b = bed_new();

    /* No ELR: the Entity is not free again, and it is said so. */
    g_assert_cmpint(ub_fm_pool_lend(&b->pool, PROVIDER, 1, USER, UPI), ==, 0);
    ub_space_free(b->f.node[PROVIDER].other[1]);
    b->f.node[PROVIDER].other[1] = ub_space_new_entity();
    b->f.node[PROVIDER].other0[1] =
        ub_space_attach(b->f.node[PROVIDER].other[1], UB_SPACE_CFG0, 0, 0, NULL,
                        NULL);
    ub_slice_set(b->f.node[PROVIDER].other0[1], UB_CFG0_UCNA, ~0u, CNA(USER));
    g_string_truncate(b->log, 0);
    g_assert_cmpint(ub_fm_pool_take_back(&b->pool, PROVIDER, 1, UB_FM_NORMAL),
                    ==, UB_MGMT_EXECUTION);
    expect_log(b, " deregister:0 reclaim:39");
    g_assert_cmphex(reg(b, PROVIDER, 1, UB_CFG0_UCNA), ==, CNA(USER));
    bed_free(b);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/ub/fm-pool/lend", test_lend);
    g_test_add_func("/ub/fm-pool/order", test_order);
    g_test_add_func("/ub/fm-pool/refused", test_refused);
    g_test_add_func("/ub/fm-pool/silent", test_silent);
    g_test_add_func("/ub/fm-pool/lost-answer", test_lost_answer);
    g_test_add_func("/ub/fm-pool/stale", test_stale);
    g_test_add_func("/ub/fm-pool/release", test_release);
    g_test_add_func("/ub/fm-pool/unreleased", test_unreleased);
    g_test_add_func("/ub/fm-pool/replace", test_replace);
    g_test_add_func("/ub/fm-pool/killed", test_killed);
    g_test_add_func("/ub/fm-pool/recover", test_recover);
    g_test_add_func("/ub/fm-pool/users", test_users);
    g_test_add_func("/ub/fm-pool/quiet", test_quiet);
    g_test_add_func("/ub/fm-pool/conflict", test_conflict);
    g_test_add_func("/ub/fm-pool/report", test_report);
    g_test_add_func("/ub/fm-pool/own", test_own);
    g_test_add_func("/ub/fm-pool/manager", test_manager);
    g_test_add_func("/ub/fm-pool/instances", test_instances);
    g_test_add_func("/ub/fm-pool/prefix", test_prefix);
    g_test_add_func("/ub/fm-pool/provider", test_provider);
    return g_test_run();
}
