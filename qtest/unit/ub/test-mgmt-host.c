/*
 * Management for a node's software: what it sends and is given, and events
 * (UB 2.0 §10.3.5, §10.4.3.3).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "mgmt-fabric.h"

/* ---- Software's queues ---- */

static void host_message(void)
{
    Fabric f;
    UbMgmtAddr a;
    uint8_t data[20];
    Flight *fl;

    line(&f);
    host_read(&a, data, 77);
    g_assert_null(ub_mgmt_host_send(f.node[0].m, f.now, UB_MGMT_KIND_MESSAGE,
                                    &a, data, 20));
    fl = g_queue_peek_head(&f.under_way);
    g_assert_cmphex(fl->addr.scna, ==, 0x10);
    g_assert_cmphex(fl->addr.seid, ==, 0x20);
    g_assert_cmphex(fl->addr.upi, ==, UB_MGMT_UPI);
    g_assert_true(fl->addr.mgmt);
    /* The same MSN has to wait. */
    host_read(&a, data, 77);
    g_assert_nonnull(ub_mgmt_host_send(f.node[0].m, f.now,
                                       UB_MGMT_KIND_MESSAGE, &a, data, 20));
    fabric_pump(&f);
    g_assert_cmpuint(f.node[0].delivered, ==, 1);
    g_assert_cmpint(f.node[0].queue, ==, 2);
    g_assert_cmpuint(f.node[0].addr.msn, ==, 77);
    g_assert_cmphex(get_be32(f.node[0].data), ==, 0x05000010);
    host_read(&a, data, 77);
    g_assert_null(ub_mgmt_host_send(f.node[0].m, f.now, UB_MGMT_KIND_MESSAGE,
                                    &a, data, 20));
    fabric_pump(&f);
    g_assert_cmpuint(f.node[0].delivered, ==, 2);

    /* Software that is not the UBFM has the node's partition, and no Mgmt. */
    host_read(&a, data, 78);
    a.dcna = 0x10;
    a.deid = 0x20;
    g_assert_null(ub_mgmt_host_send(f.node[3].m, f.now, UB_MGMT_KIND_MESSAGE,
                                    &a, data, 20));
    fl = g_queue_peek_head(&f.under_way);
    g_assert_cmphex(fl->addr.upi, ==, 5);
    g_assert_false(fl->addr.mgmt);
    fabric_pump(&f);
    g_assert_cmphex(get_be32(f.node[3].data), ==, 0x05000010);
    /* With Mgmt off the UBFM's software is a user, too. */
    host_read(&a, data, 79);
    a.mgmt = false;
    g_assert_null(ub_mgmt_host_send(f.node[0].m, f.now, UB_MGMT_KIND_MESSAGE,
                                    &a, data, 20));
    fl = g_queue_peek_head(&f.under_way);
    g_assert_cmphex(fl->addr.upi, ==, 5);
    fabric_free(&f);
}

static void host_refused(void)
{
    Fabric f;
    UbMgmtAddr a;
    uint8_t data[UB_MGMT_MAX + 1] = { 0 };
    UbMgmt *m;

    line(&f);
    m = f.node[3].m;
    host_read(&a, data, 1);
    for (unsigned len = 0; len < 24; len++) {
        UbMgmtAddr to = a;

        to.msn = len;
        g_assert_true(!ub_mgmt_host_send(m, f.now, UB_MGMT_KIND_MESSAGE, &to,
                                         data, len) == (len == 20));
    }
    ub_mgmt_etah_put(data, (UbMgmtEtah) { .code = 3, .len = 1025 });
    g_assert_nonnull(ub_mgmt_host_send(m, f.now, UB_MGMT_KIND_MESSAGE, &a,
                                       data, 1029));
    ub_mgmt_etah_put(data, (UbMgmtEtah) { .code = 3, .len = 1024 });
    g_assert_null(ub_mgmt_host_send(m, f.now, UB_MGMT_KIND_MESSAGE, &a, data,
                                    1028));
    host_read(&a, data, 100);
    a.dcna = 0xffff;
    g_assert_null(ub_mgmt_host_send(m, f.now, UB_MGMT_KIND_MESSAGE, &a, data,
                                    20));
    host_read(&a, data, 103);
    a.dcna = 0x10000;
    g_assert_nonnull(ub_mgmt_host_send(m, f.now, UB_MGMT_KIND_MESSAGE, &a,
                                       data, 20));
    /* Events are the device's, scans the UBFM's. */
    host_read(&a, data, 101);
    ub_mgmt_etah_put(data, (UbMgmtEtah) { .code = 1, .len = 8 });
    g_assert_nonnull(ub_mgmt_host_send(m, f.now, UB_MGMT_KIND_MESSAGE, &a,
                                       data, 12));
    g_assert_null(ub_mgmt_host_send(f.node[0].m, f.now, UB_MGMT_KIND_MESSAGE,
                                    &a, data, 12));
    g_assert_cmpuint(ub_mgmt_waiting(f.node[0].m), ==, 0);
    memset(data, 0, 28);
    g_assert_nonnull(ub_mgmt_host_send(m, f.now, UB_MGMT_KIND_SCAN, &a, data,
                                       28));
    /* A node without a partition. */
    fabric_identity(&f.node[3], 0x13, 0x23, 0);
    host_read(&a, data, 102);
    a.dcna = 0x10;
    g_assert_nonnull(ub_mgmt_host_send(m, f.now, UB_MGMT_KIND_MESSAGE, &a,
                                       data, 20));
    a.local = true;
    g_assert_null(ub_mgmt_host_send(m, f.now, UB_MGMT_KIND_MESSAGE, &a, data,
                                    20));
    fabric_free(&f);
}

/* Software of a node that is not the UBFM reads CFG0, and writes CFG1. */
static void host_local(void)
{
    static const struct {
        unsigned node, sub;
        bool local;
        unsigned status;
    } rows[] = {
        { 0, 1, true, 0 }, { 0, 1, false, 0 }, { 3, 0, true, 0 },
        { 3, 1, true, 0x21 }, { 3, 1, false, 0x21 }, { 3, 3, true, 0 },
    };

    for (unsigned i = 0; i < G_N_ELEMENTS(rows); i++) {
        Fabric f;
        UbMgmtAddr a;
        uint8_t data[20];
        Node *n;

        line(&f);
        n = &f.node[rows[i].node];
        host_read(&a, data, i);
        ub_mgmt_etah_put(data, (UbMgmtEtah) { .code = 2, .sub = rows[i].sub,
                                              .len = 16 });
        ub_mgmt_put(data + 4, UB_MF_CFG_ADDRESS,
                    rows[i].sub < 2 ? UB_CFG0_UEID : UB_CFG1_BASE);
        a.local = rows[i].local;
        a.dcna = rows[i].local ? 0 : 0x10 + rows[i].node;
        a.deid = rows[i].local ? 0 : 0x20 + rows[i].node;
        g_assert_null(ub_mgmt_host_send(n->m, f.now, UB_MGMT_KIND_MESSAGE, &a,
                                        data, 20));
        g_assert_cmpuint(n->delivered, ==, 1);
        g_assert_cmphex(n->data[1], ==, rows[i].status);
        g_assert_true(g_queue_is_empty(&f.under_way));
        g_assert_cmpuint(ub_mgmt_waiting(n->m), ==, 0);
        fabric_free(&f);
    }
}

/* No answer: the queue is told, when it has room. */
static void host_in_vain(void)
{
    Fabric f;
    UbMgmtAddr a;
    uint8_t data[20];
    Node *n;

    line(&f);
    n = &f.node[0];
    f.lossy = true;
    host_read(&a, data, 7);
    g_assert_null(ub_mgmt_host_send(n->m, f.now, UB_MGMT_KIND_MESSAGE, &a,
                                    data, 20));
    n->full = true;
    g_assert_cmpint(ub_mgmt_run(n->m, f.now), ==, f.now + SECOND);
    f.now += SECOND;
    g_assert_cmpint(ub_mgmt_run(n->m, f.now), ==, INT64_MAX);
    g_assert_cmpuint(ub_mgmt_waiting(n->m), ==, 1);
    n->full = false;
    ub_mgmt_run(n->m, f.now);
    g_assert_cmpuint(n->failed, ==, 1);
    g_assert_cmpint(n->queue, ==, 2);
    g_assert_cmpuint(n->failed_msn, ==, 7);
    g_assert_cmpuint(ub_mgmt_waiting(n->m), ==, 0);
    /* What does not leave is in vain at once. */
    f.jammed = true;
    host_read(&a, data, 8);
    g_assert_null(ub_mgmt_host_send(n->m, f.now, UB_MGMT_KIND_MESSAGE, &a,
                                    data, 20));
    ub_mgmt_run(n->m, f.now);
    g_assert_cmpuint(n->failed, ==, 2);
    /* A vendor's message need not be answered. */
    f.jammed = false;
    host_read(&a, data, 9);
    ub_mgmt_etah_put(data, (UbMgmtEtah) { .code = 3, .sub = 0, .len = 16 });
    g_assert_null(ub_mgmt_host_send(n->m, f.now, UB_MGMT_KIND_MESSAGE, &a,
                                    data, 20));
    fabric_run(&f, 2 * SECOND);
    g_assert_cmpuint(n->failed, ==, 2);
    g_assert_cmpuint(ub_mgmt_waiting(n->m), ==, 0);
    /* An answer without room stays waited for, and is in vain in the end. */
    f.lossy = false;
    host_read(&a, data, 10);
    g_assert_null(ub_mgmt_host_send(n->m, f.now, UB_MGMT_KIND_MESSAGE, &a,
                                    data, 20));
    n->full = true;
    fabric_pump(&f);
    n->full = false;
    fabric_run(&f, SECOND);
    g_assert_cmpuint(n->delivered, ==, 0);
    g_assert_cmpuint(n->failed, ==, 3);
    /* What is forgotten is not told. */
    host_read(&a, data, 11);
    g_assert_null(ub_mgmt_host_send(n->m, f.now, UB_MGMT_KIND_MESSAGE, &a,
                                    data, 20));
    ub_mgmt_host_forget(n->m, 1);
    g_assert_cmpuint(ub_mgmt_waiting(n->m), ==, 1);
    ub_mgmt_host_forget(n->m, 2);
    g_assert_cmpuint(ub_mgmt_waiting(n->m), ==, 0);
    fabric_free(&f);
}

static void host_scan(void)
{
    Fabric f;
    uint8_t data[36] = { 0 };
    UbMgmtAddr a = { .dcna = 0x1234, .queue = 3, .msn = 55 };
    Node *n;
    Flight *fl;

    line(&f);
    n = &f.node[0];
    put_be32(data, 0x00100100);
    put_be32(data + 8, 0x00000001);
    put_be32(data + 12, 0x01000100);
    put_be32(data + 16, 0xff06ffff); /* queue and MSN are overwritten */
    ub_id_put(data + 20, fabric_guid(1));
    data[3] = 9; /* and Step */
    g_assert_null(ub_mgmt_host_send(n->m, f.now, UB_MGMT_KIND_SCAN, &a, data,
                                    36));
    fl = g_queue_peek_head(&f.under_way);
    g_assert_cmpuint(fl->data[3], ==, 0);
    g_assert_cmphex(get_be32(fl->data + 16), ==, 0x03060037);
    g_assert_cmphex(fl->addr.scna, ==, 0x10);
    g_assert_cmphex(fl->addr.dcna, ==, 0x1234);
    g_assert_cmphex(fl->addr.upi, ==, UB_MGMT_UPI);
    fabric_pump(&f);
    g_assert_cmpuint(n->delivered, ==, 1);
    g_assert_cmpint(n->queue, ==, 3);
    g_assert_cmpint(n->kind, ==, UB_MGMT_KIND_SCAN);
    g_assert_cmpuint(n->addr.msn, ==, 55);
    /* A request without a way back. */
    put_be32(data, 0x00000100);
    g_assert_nonnull(ub_mgmt_host_send(n->m, f.now, UB_MGMT_KIND_SCAN, &a,
                                       data, 32));
    /* Our own node. */
    put_be32(data, 0x00100000);
    put_be32(data + 4, 0x01000100);
    put_be32(data + 8, 0x00060000);
    memset(data + 12, 0, 16);
    g_assert_null(ub_mgmt_host_send(n->m, f.now, UB_MGMT_KIND_SCAN, &a, data,
                                    28));
    g_assert_cmpuint(n->delivered, ==, 2);
    g_assert_cmpuint(n->len, ==, 4 + 24 + 20 + 28);
    g_assert_true(g_queue_is_empty(&f.under_way));
    /* A port that is not there. */
    put_be32(data, 0x00100100);
    put_be32(data + 4, 0x00000007);
    put_be32(data + 12, 0x01000100);
    g_assert_null(ub_mgmt_host_send(n->m, f.now, UB_MGMT_KIND_SCAN, &a, data,
                                    36));
    ub_mgmt_run(n->m, f.now);
    g_assert_cmpuint(n->failed, ==, 1);
    g_assert_nonnull(ub_mgmt_host_send(n->m, f.now, UB_MGMT_KIND_SCAN, &a,
                                       data, 27));
    fabric_free(&f);
}

/* ---- Events ---- */

static void events(void)
{
    const uint32_t emq = UB_CFG_CAP(UB_CFG0_BASE, UB_CAP_EMQ);
    Fabric f;
    Node *n;

    line(&f);
    /* The UBFM is node 0. */
    ub_slice_set(f.node[3].cfg0, UB_CFG0_UBFM_CNA, ~0u, 0x10);
    ub_slice_set(f.node[3].cfg0, UB_CFG0_UBFM_EID, ~0u, 0x20);
    ub_mgmt_link(f.node[3].m, f.now, 1, true);
    fabric_pump(&f);
    n = &f.node[0];
    g_assert_cmpuint(n->delivered, ==, 1);
    g_assert_cmphex(get_be32(n->data), ==, 0x02000008);
    g_assert_cmphex(get_be32(n->data + 4), ==, 0x13);
    g_assert_cmphex(get_be32(n->data + 8), ==, 1);
    g_assert_cmphex(n->addr.deid, ==, 0x20);
    g_assert_cmphex(n->addr.seid, ==, 0x23);
    g_assert_false(n->addr.mgmt);
    /* A port with a CNA has that. */
    ub_slice_set(f.node[3].port[1], UB_PORT_CNA, ~0u, 0x456);
    ub_mgmt_link(f.node[3].m, f.now, 1, false);
    fabric_pump(&f);
    g_assert_cmphex(get_be32(n->data), ==, 0x12000008);
    g_assert_cmphex(get_be32(n->data + 4), ==, 0x456);
    ub_mgmt_error(f.node[3].m, f.now, UB_MGMT_NFUE, 1);
    fabric_pump(&f);
    g_assert_cmphex(get_be32(n->data), ==, 0x10000008);
    g_assert_cmphex(get_be32(n->data + 8), ==, 1);
    ub_mgmt_error(f.node[3].m, f.now, UB_MGMT_FUE, -1);
    fabric_pump(&f);
    g_assert_cmphex(get_be32(n->data), ==, 0x20000008);
    g_assert_cmphex(get_be32(n->data + 4), ==, 0x13);
    g_assert_cmphex(get_be32(n->data + 8), ==, 0x80000000);
    g_assert_cmpuint(n->delivered, ==, 4);
    /* The UBFM keeps errors of others, too. */
    ub_space_write(n->space, 0, emq + UB_EMQ_CTL, 7, 0xf);
    ub_mgmt_error(f.node[3].m, f.now, UB_MGMT_CE, 1);
    fabric_pump(&f);
    g_assert_cmpuint(ub_space_read(n->space, emq + UB_EMQ_CE_PI), ==, 1);
    g_assert_cmphex(ub_space_read(n->space, emq + UB_EMQ_CE_INFO), ==, 0x456);
    n->delivered = 4;
    g_assert_cmpuint(ub_mgmt_counter(n->m, UB_MGMT_CNT_EVENTS), ==, 5);
    /* Our own go to our own software, if that is the UBFM. */
    ub_mgmt_link(n->m, f.now, 0, false);
    g_assert_cmpuint(n->delivered, ==, 5);
    ub_slice_set(n->cfg0, UB_CFG0_UBFM_CNA, ~0u, 0x10);
    ub_mgmt_link(n->m, f.now, 0, true);
    g_assert_cmpuint(n->delivered, ==, 6);
    ub_slice_set(f.node[3].cfg0, UB_CFG0_UBFM_CNA, ~0u, 0);
    ub_mgmt_link(f.node[3].m, f.now, 0, true);
    g_assert_cmpuint(f.node[3].delivered, ==, 0);
    g_assert_true(g_queue_is_empty(&f.under_way));
    fabric_free(&f);
}

/* Events from elsewhere are judged, and never answered. */
static void events_foreign(void)
{
    static const struct {
        uint16_t upi;
        unsigned len, claimed;
        bool good;
    } rows[] = {
        { UB_MGMT_UPI, 8, 8, true }, { 5, 8, 8, true }, { 6, 8, 8, false },
        { 0, 8, 8, false }, { 5, 7, 7, false }, { 5, 9, 9, false },
        { 5, 8, 9, false },
    };

    for (unsigned i = 0; i < G_N_ELEMENTS(rows); i++) {
        Fabric f;
        uint8_t data[16] = { 0 };
        UbMgmtAddr a = { .scna = 0x13, .dcna = 0x10, .deid = 0x20,
                         .upi = rows[i].upi };

        line(&f);
        ub_mgmt_etah_put(data, (UbMgmtEtah) { .code = 1,
                                              .len = rows[i].claimed });
        ub_mgmt_receive(f.node[0].m, f.now, &a, data, 4 + rows[i].len);
        g_assert_cmpuint(f.node[0].delivered, ==, rows[i].good);
        g_assert_cmpuint(ub_mgmt_counter(f.node[0].m, UB_MGMT_CNT_DROP_EVENT),
                         ==, !rows[i].good);
        g_assert_true(g_queue_is_empty(&f.under_way));
        fabric_free(&f);
    }
}

/* §D.2.4: enabled, not masked, bounded, consumed. */
static void events_emq(void)
{
    UbMgmtConfig cfg;
    Fabric f;
    Node *n;
    UbSpace *s;
    uint32_t emq = UB_CFG_CAP(UB_CFG0_BASE, UB_CAP_EMQ);

    memset(&f, 0, sizeof(f));
    ub_mgmt_config_init(&cfg);
    cfg.emq_depth = 4;
    n = fabric_add(&f, &cfg);
    s = n->space;
    fabric_identity(n, 0x10, 0x20, 5);
    g_assert_cmphex(ub_space_read(s, UB_CFG0_CAP_BITMAP), ==, 1u << 5);
    for (unsigned i = 0; i < 3; i++) {
        g_assert_cmphex(ub_space_read(s, emq + UB_EMQ_CE_CTL + 2 * i), ==,
                        4u << 16);
    }
    ub_mgmt_error(n->m, 0, UB_MGMT_CE, 0);
    g_assert_cmpuint(ub_space_read(s, emq + UB_EMQ_CE_PI), ==, 0);
    ub_space_write(s, 0, emq + UB_EMQ_CTL, 7, 0xf);
    ub_space_write(s, 0, emq + UB_EMQ_NFUE_CTL, 1, 0xf); /* masked */
    ub_mgmt_error(n->m, 0, UB_MGMT_NFUE, 0);
    g_assert_cmpuint(ub_space_read(s, emq + UB_EMQ_NFUE_PI), ==, 0);
    g_assert_cmphex(ub_space_read(s, emq + UB_EMQ_NFUE_STATUS), ==, 0);
    ub_mgmt_error(n->m, 0, UB_MGMT_FUE, -1);
    g_assert_cmpuint(ub_space_read(s, emq + UB_EMQ_FUE_PI), ==, 1);
    g_assert_cmphex(ub_space_read(s, emq + UB_EMQ_FUE_STATUS), ==, 1);
    g_assert_cmphex(ub_space_read(s, emq + UB_EMQ_FUE_INFO), ==, 0x10);
    g_assert_cmphex(ub_space_read(s, emq + UB_EMQ_FUE_INFO + 1), ==,
                    0x80000000);
    for (unsigned i = 0; i < 3; i++) {
        ub_mgmt_error(n->m, 0, UB_MGMT_CE, i);
        ub_slice_set(n->cfg0, UB_CFG0_PRIMARY_CNA, ~0u, 0x11 + i);
    }
    g_assert_cmpuint(ub_space_read(s, emq + UB_EMQ_CE_PI), ==, 3);
    g_assert_cmphex(ub_space_read(s, emq + UB_EMQ_CE_STATUS), ==, 1);
    ub_mgmt_error(n->m, 0, UB_MGMT_CE, 9);
    g_assert_cmpuint(ub_space_read(s, emq + UB_EMQ_CE_PI), ==, 3);
    g_assert_cmphex(ub_space_read(s, emq + UB_EMQ_CE_STATUS), ==, 0x101);
    g_assert_cmpuint(ub_mgmt_counter(n->m, UB_MGMT_CNT_EMQ_OVERFLOW), ==, 1);
    ub_space_write(s, 0, emq + UB_EMQ_CE_CI, 4, 0xf);   /* no entry of a ring of 4 */
    g_assert_cmpuint(ub_space_read(s, emq + UB_EMQ_CE_CI), ==, 0);
    for (unsigned i = 0; i < 3; i++) {
        g_assert_cmphex(ub_space_read(s, emq + UB_EMQ_CE_INFO), ==, 0x10 + i);
        g_assert_cmphex(ub_space_read(s, emq + UB_EMQ_CE_INFO + 1), ==, i);
        ub_space_write(s, 0, emq + UB_EMQ_CE_CI, i + 1, 0xf);
        g_assert_cmpuint(ub_space_read(s, emq + UB_EMQ_CE_CI), ==, i + 1);
    }
    g_assert_cmphex(ub_space_read(s, emq + UB_EMQ_CE_INFO), ==, 0);
    /* A CI beyond what there is changes nothing. */
    ub_space_write(s, 0, emq + UB_EMQ_CE_CI, 0, 0xf);
    ub_space_write(s, 0, emq + UB_EMQ_CE_CI, 4, 0xf);
    ub_space_write(s, 0, emq + UB_EMQ_CE_CI, 0xffff, 0xf);
    g_assert_cmpuint(ub_space_read(s, emq + UB_EMQ_CE_CI), ==, 3);
    for (unsigned i = 0; i < 2; i++) {
        ub_mgmt_error(n->m, 0, UB_MGMT_CE, i);
    }
    g_assert_cmpuint(ub_space_read(s, emq + UB_EMQ_CE_PI), ==, 1);
    ub_space_write(s, 0, emq + UB_EMQ_CE_CI, 0, 0xf);
    g_assert_cmpuint(ub_space_read(s, emq + UB_EMQ_CE_CI), ==, 0);
    ub_space_reset(s, UB_SPACE_RESET_DEVICE, 0);
    ub_mgmt_reset(n->m);
    g_assert_cmpuint(ub_space_read(s, emq + UB_EMQ_CE_PI), ==, 0);
    g_assert_cmpuint(ub_space_read(s, emq + UB_EMQ_FUE_INFO), ==, 0);
    g_assert_cmphex(ub_space_read(s, emq + UB_EMQ_CE_CTL), ==, 4u << 16);
    fabric_free(&f);
}

/* A depth that is no power of two. */
static void events_wrap(void)
{
    UbMgmtConfig cfg;
    Fabric f;
    Node *n;
    uint32_t emq = UB_CFG_CAP(UB_CFG0_BASE, UB_CAP_EMQ);

    memset(&f, 0, sizeof(f));
    ub_mgmt_config_init(&cfg);
    cfg.emq_depth = 3;
    n = fabric_add(&f, &cfg);
    ub_space_write(n->space, 0, emq + UB_EMQ_CTL, 7, 0xf);
    for (unsigned i = 0; i < 7; i++) {
        ub_mgmt_error(n->m, 0, UB_MGMT_CE, 0);
        ub_mgmt_error(n->m, 0, UB_MGMT_CE, 0);
        g_assert_cmpuint(ub_space_read(n->space, emq + UB_EMQ_CE_PI), ==,
                         (2 * i + 2) % 3);
        ub_space_write(n->space, 0, emq + UB_EMQ_CE_CI, 2 * i % 3, 0xf);
        ub_space_write(n->space, 0, emq + UB_EMQ_CE_CI, (2 * i + 2) % 3, 0xf);
        g_assert_cmpuint(ub_space_read(n->space, emq + UB_EMQ_CE_CI), ==,
                         (2 * i + 2) % 3);
    }
    g_assert_cmpuint(ub_mgmt_counter(n->m, UB_MGMT_CNT_EMQ_OVERFLOW), ==, 0);
    fabric_free(&f);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/ub/mgmt/host/message", host_message);
    g_test_add_func("/ub/mgmt/host/refused", host_refused);
    g_test_add_func("/ub/mgmt/host/local", host_local);
    g_test_add_func("/ub/mgmt/host/in-vain", host_in_vain);
    g_test_add_func("/ub/mgmt/host/scan", host_scan);
    g_test_add_func("/ub/mgmt/event/told", events);
    g_test_add_func("/ub/mgmt/event/foreign", events_foreign);
    g_test_add_func("/ub/mgmt/event/emq", events_emq);
    g_test_add_func("/ub/mgmt/event/wrap", events_wrap);
    return g_test_run();
}
