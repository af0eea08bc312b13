/*
 * What a node's management waits for (UB 2.0 §10.4): how long, for whom, how much,
 * and in images.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "internal.h"
#include "mgmt-fabric.h"

#define EMQ UB_CFG_CAP(UB_CFG0_BASE, UB_CAP_EMQ)

/* A message of software of node @n, to node 3 unless @a says another. */
static const char *host_ask(Fabric *f, unsigned n, UbMgmtAddr *a, unsigned code,
                            unsigned sub, unsigned len)
{
    uint8_t data[UB_MGMT_MAX] = { 0 };

    a->dcna = a->dcna ? a->dcna : 0x13;
    a->deid = a->deid ? a->deid : 0x23;
    ub_mgmt_etah_put(data, (UbMgmtEtah) { .code = code, .sub = sub, .len = len });
    return ub_mgmt_host_send(f->node[n].m, f->now, UB_MGMT_KIND_MESSAGE, a, data,
                             UB_MGMT_ETAH + len);
}

/* ---- Waiting ---- */

static void wait_retry(void)
{
    Fabric f;
    Answer a = { 0 };
    UbMgmt *m;

    line(&f);
    m = f.node[0].m;
    g_assert_cmpint(ub_mgmt_run(m, f.now), ==, INT64_MAX);
    f.lossy = true;
    g_assert_true(ub_mgmt_read(m, f.now, &fm_to_3, 0, 0xe, fabric_answer, &a));
    g_assert_cmpint(ub_mgmt_run(m, f.now), ==, f.now + SECOND);
    fabric_run(&f, SECOND - 1);
    g_assert_cmpuint(ub_mgmt_counter(m, UB_MGMT_CNT_RETRIES), ==, 0);
    f.lossy = false;
    fabric_run(&f, 1);
    g_assert_cmpuint(ub_mgmt_counter(m, UB_MGMT_CNT_RETRIES), ==, 1);
    g_assert_cmpint(ub_mgmt_run(m, f.now), ==, f.now + SECOND);
    fabric_pump(&f);
    g_assert_cmpuint(a.calls, ==, 1);
    g_assert_cmphex(get_be32(a.data), ==, 0x103);
    g_assert_cmpint(ub_mgmt_run(m, f.now), ==, INT64_MAX);
    fabric_free(&f);
}

/* As many as configured; a place is free again after the answer. */
static void wait_bound(void)
{
    UbMgmtConfig cfg;
    Fabric f;
    Answer a = { 0 };
    Node *n;

    line(&f);
    ub_mgmt_config_init(&cfg);
    cfg.outstanding = 3;
    n = fabric_add(&f, &cfg);
    for (unsigned i = 0; i < 3; i++) {
        g_assert_true(ub_mgmt_read(n->m, f.now, &fm_to_3, 0, 0, fabric_answer,
                                   &a));
    }
    g_assert_false(ub_mgmt_read(n->m, f.now, &fm_to_3, 0, 0, fabric_answer,
                                &a));
    g_assert_cmpuint(ub_mgmt_waiting(n->m), ==, 3);
    ub_mgmt_reset(n->m);
    g_assert_cmpuint(ub_mgmt_waiting(n->m), ==, 0);
    g_assert_true(ub_mgmt_read(n->m, f.now, &fm_to_3, 0, 0, fabric_answer,
                               &a));
    g_assert_cmpuint(a.calls, ==, 0);
    fabric_free(&f);
}

/* Answers that nobody waits for, twice, from elsewhere, of another kind. */
static void wait_forged(void)
{
    Fabric f;
    Answer a = { 0 };
    Flight *fl, again;
    UbMgmt *m;

    line(&f);
    m = f.node[0].m;
    g_assert_true(ub_mgmt_read(m, f.now, &fm_to_3, 0, 0xe, fabric_answer, &a));
    fabric_land(&f, g_queue_pop_head(&f.under_way));
    fl = g_queue_peek_head(&f.under_way);
    again = *fl;
    again.addr.msn++;
    ub_mgmt_receive(m, f.now, &again.addr, again.data, again.len);
    again = *fl;
    again.addr.queue--;
    ub_mgmt_receive(m, f.now, &again.addr, again.data, again.len);
    again = *fl;
    again.addr.scna = 0x12;
    ub_mgmt_receive(m, f.now, &again.addr, again.data, again.len);
    again = *fl;
    again.data[0] ^= 0x10;
    ub_mgmt_receive(m, f.now, &again.addr, again.data, again.len);
    g_assert_cmpuint(a.calls, ==, 0);
    g_assert_cmpuint(ub_mgmt_counter(m, UB_MGMT_CNT_DROP_UNASKED), ==, 4);
    again = *fl;
    fabric_pump(&f);
    g_assert_cmpuint(a.calls, ==, 1);
    ub_mgmt_receive(m, f.now, &again.addr, again.data, again.len);
    g_assert_cmpuint(a.calls, ==, 1);
    g_assert_cmpuint(ub_mgmt_counter(m, UB_MGMT_CNT_DROP_UNASKED), ==, 5);
    g_assert_cmpuint(ub_mgmt_counter(m, UB_MGMT_CNT_RESPONSES), ==, 1);
    g_assert_cmpuint(f.node[0].rules, ==, 5);
    fabric_free(&f);
}

/* An answer's callback asks again. */
static void ask_again(void *opaque, const uint8_t *data, size_t len,
                      unsigned status)
{
    Fabric *f = opaque;

    if (f->node[5].delivered++ < 3) {
        g_assert_true(ub_mgmt_read(f->node[0].m, f->now, &fm_to_3, 0, 0,
                                   ask_again, f));
    }
}

static void wait_again(void)
{
    Fabric f;

    line(&f);
    g_assert_true(ub_mgmt_read(f.node[0].m, f.now, &fm_to_3, 0, 0, ask_again,
                               &f));
    fabric_pump(&f);
    g_assert_cmpuint(f.node[5].delivered, ==, 4);
    /* In vain, too. */
    f.node[5].delivered = 0;
    f.lossy = true;
    g_assert_true(ub_mgmt_read(f.node[0].m, f.now, &fm_to_3, 0, 0, ask_again,
                               &f));
    for (unsigned i = 0; i < 12; i++) {
        fabric_run(&f, SECOND);
    }
    g_assert_cmpuint(f.node[5].delivered, ==, 4);
    g_assert_cmpuint(ub_mgmt_waiting(f.node[0].m), ==, 0);
    fabric_free(&f);
}

/* Of ourselves. */
static void ask_ourselves(void)
{
    Fabric f;
    Answer a = { 0 };
    UbMgmtAddr to = { .dcna = 0x10, .deid = 0x20, .mgmt = true };
    UbMgmtAddr local = { .local = true, .mgmt = true };

    line(&f);
    g_assert_true(ub_mgmt_read(f.node[0].m, f.now, &to, 0, 0xe, fabric_answer,
                               &a));
    g_assert_cmpuint(a.calls, ==, 1);
    g_assert_cmphex(get_be32(a.data), ==, 0x100);
    g_assert_true(ub_mgmt_read(f.node[0].m, f.now, &local, 0, 0xf,
                               fabric_answer, &a));
    g_assert_cmpuint(a.calls, ==, 2);
    g_assert_cmpuint(a.status, ==, 0);
    g_assert_true(g_queue_is_empty(&f.under_way));
    fabric_free(&f);
}

/* Of two that wait the earlier says when to come again; each has its tries. */
static void wait_times(void)
{
    Fabric f;
    Answer a = { 0 }, b = { 0 };
    UbMgmt *m;
    int64_t start;

    line(&f);
    m = f.node[0].m;
    start = f.now;
    f.lossy = true;
    g_assert_true(ub_mgmt_read(m, start, &fm_to_3, 0, 0, fabric_answer, &a));
    g_assert_true(ub_mgmt_read(m, start + 100, &fm_to_3, 0, 1, fabric_answer,
                               &b));
    g_assert_cmpuint(f.node[0].kicks, ==, 2);
    for (unsigned i = 1; i <= 2; i++) {
        g_assert_cmpint(ub_mgmt_run(m, start + i * SECOND - 1), ==,
                        start + i * SECOND);
        g_assert_cmpuint(fabric_counted(&f, 0, UB_MGMT_CNT_RETRIES), ==, 2 * i - 2);
        g_assert_cmpint(ub_mgmt_run(m, start + i * SECOND), ==,
                        start + i * SECOND + 100);
        g_assert_cmpuint(fabric_counted(&f, 0, UB_MGMT_CNT_RETRIES), ==, 2 * i - 1);
        g_assert_cmpint(ub_mgmt_run(m, start + i * SECOND + 100), ==,
                        start + (i + 1) * SECOND);
    }
    g_assert_cmpuint(a.calls, ==, 0);
    g_assert_cmpint(ub_mgmt_run(m, start + 3 * SECOND), ==,
                    start + 3 * SECOND + 100);
    g_assert_cmpuint(a.calls, ==, 1);
    g_assert_true(a.in_vain);
    g_assert_cmphex(a.status, ==, UB_MGMT_UNKNOWN);
    g_assert_cmpuint(b.calls, ==, 0);
    g_assert_cmpint(ub_mgmt_run(m, start + 3 * SECOND + 100), ==, INT64_MAX);
    g_assert_cmpuint(b.calls, ==, 1);
    g_assert_cmpuint(fabric_counted(&f, 0, UB_MGMT_CNT_RETRIES), ==, 4);
    g_assert_cmpuint(fabric_counted(&f, 0, UB_MGMT_CNT_TIMEOUTS), ==, 2);
    g_assert_cmpuint(fabric_counted(&f, 0, UB_MGMT_CNT_ASKED), ==, 2);
    fabric_free(&f);
}

/* Times that are over together are over in one run. */
static void wait_together(void)
{
    Fabric f;
    Answer a = { 0 };

    line(&f);
    f.lossy = true;
    for (unsigned i = 0; i < 5; i++) {
        g_assert_true(ub_mgmt_read(f.node[0].m, f.now, &fm_to_3, 0, i,
                                   fabric_answer, &a));
        g_assert_null(host_ask(&f, 0, &(UbMgmtAddr) { .queue = 1, .msn = i }, 4,
                               2, 0));
    }
    fabric_run(&f, SECOND);
    g_assert_cmpuint(f.node[0].failed, ==, 5);
    fabric_run(&f, SECOND);
    g_assert_cmpuint(a.calls, ==, 0);
    f.now += SECOND;
    g_assert_cmpint(ub_mgmt_run(f.node[0].m, f.now), ==, INT64_MAX);
    g_assert_cmpuint(a.calls, ==, 5);
    g_assert_cmpuint(ub_mgmt_waiting(f.node[0].m), ==, 0);
    fabric_free(&f);
}

/* What is sent again is what was sent, by the same way. */
static void sent_again(void)
{
    Fabric f;
    Answer a = { 0 };
    UbScanWay way = { .hops = 1, .forward = { 1 }, .back = { 0 } };
    UbScanAsk q = { .cmd = UB_SCAN_NA_QUERY, .opcode = UB_SCAN_OP_PRIMARY };
    Flight first[2], *fl;
    UbMgmt *m;

    line(&f);
    m = f.node[3].m;
    f.node[3].link[1].node = 0;
    f.node[3].link[1].port = 0;
    q.guid = fabric_guid(0);
    g_assert_true(ub_mgmt_scan(m, f.now, &way, &q, fabric_answer, &a));
    g_assert_true(ub_mgmt_write(m, f.now, &fm_to_3, 0, UB_CFG0_UEID, 0x1234, 3,
                                fabric_answer, &a));
    /* The write was to the node itself. */
    g_assert_cmpuint(a.calls, ==, 1);
    g_assert_true(ub_mgmt_request(m, f.now, &(UbMgmtAddr) { .dcna = 0x10,
                                                            .deid = 0x20 },
                                  UB_MGMT_MSG_SPDM, (const uint8_t *)"12345", 5,
                                  fabric_answer, &a));
    g_assert_cmpuint(g_queue_get_length(&f.under_way), ==, 2);
    for (unsigned i = 0; i < 2; i++) {
        fl = g_queue_pop_head(&f.under_way);
        first[i] = *fl;
        g_free(fl);
    }
    g_assert_cmpuint(first[0].to, ==, 0);
    g_assert_cmphex(first[1].addr.upi, ==, 5);
    g_assert_cmphex(first[1].addr.seid, ==, 0x23);
    g_assert_cmpuint(first[1].len, ==, 9);
    fabric_run(&f, SECOND);
    g_assert_cmpuint(g_queue_get_length(&f.under_way), ==, 2);
    for (unsigned i = 0; i < 2; i++) {
        fl = g_queue_pop_head(&f.under_way);
        g_assert_cmpuint(fl->kind, ==, first[i].kind);
        g_assert_cmpuint(fl->to, ==, first[i].to);
        g_assert_cmpuint(fl->addr.msn, ==, first[i].addr.msn);
        g_assert_cmphex(fl->addr.dcna, ==, first[i].addr.dcna);
        g_assert_cmpmem(fl->data, fl->len, first[i].data, first[i].len);
        g_free(fl);
    }
    fabric_free(&f);
}

/* MSNs that somebody waits for are left out, after 65,536 of them as well. */
static void msn_again(void)
{
    Fabric f;
    Answer a = { 0 };
    UbMgmt *m;
    uint16_t first;
    Flight *fl;

    line(&f);
    m = f.node[0].m;
    f.lossy = true;
    g_assert_true(ub_mgmt_read(m, f.now, &fm_to_3, 0, 0, fabric_answer, &a));
    first = m->msn;
    m->msn = first - 2;
    f.lossy = false;
    for (unsigned i = 0; i < 3; i++) {
        static const int want[] = { -1, 1, 2 };

        g_assert_true(ub_mgmt_read(m, f.now, &fm_to_3, 0, 0, fabric_answer, &a));
        fl = g_queue_peek_tail(&f.under_way);
        g_assert_cmphex(fl->addr.msn, ==, (uint16_t)(first + want[i]));
    }
    /* Scans count for themselves. */
    g_assert_nonnull(ub_mgmt_waiter(m, UB_MGMT_KIND_MESSAGE, UB_MGMT_OWN_QUEUE,
                                    first));
    g_assert_null(ub_mgmt_waiter(m, UB_MGMT_KIND_SCAN, UB_MGMT_OWN_QUEUE, first));
    g_assert_null(ub_mgmt_waiter(m, UB_MGMT_KIND_MESSAGE, 0, first));
    fabric_free(&f);
}

/* A PDU as long as can be, and one more. */
static void longest(void)
{
    uint8_t pdu[UB_MGMT_PDU_MAX + 1];
    Fabric f;
    Answer a = { 0 };
    Flight *fl;

    line(&f);
    memset(pdu, 0x5a, sizeof(pdu));
    g_assert_false(ub_mgmt_request(f.node[0].m, f.now, &fm_to_3,
                                   UB_MGMT_MSG_SPDM, pdu, sizeof(pdu),
                                   fabric_answer, &a));
    g_assert_cmpuint(ub_mgmt_waiting(f.node[0].m), ==, 0);
    g_assert_true(ub_mgmt_request(f.node[0].m, f.now, &fm_to_3,
                                  UB_MGMT_MSG_SPDM, pdu, UB_MGMT_PDU_MAX,
                                  fabric_answer, &a));
    fl = g_queue_peek_head(&f.under_way);
    g_assert_cmpuint(fl->len, ==, UB_MGMT_MAX);
    g_assert_cmphex(get_be32(fl->data), ==, 0x1a000000 | UB_MGMT_PDU_MAX);
    g_assert_cmphex(fl->data[UB_MGMT_MAX - 1], ==, 0x5a);
    g_assert_cmphex(fl->addr.upi, ==, UB_MGMT_UPI);
    fabric_free(&f);
}

/* ---- Software ---- */

/* The same MSN is another's in another queue, or of a scan. */
static void host_msns(void)
{
    Fabric f;
    UbMgmtAddr a = { .queue = 2, .msn = 7 };
    uint8_t scan[28] = { 0x00, 0x10, 0, 0, 1, 0, 1, 0, 0, 6 };

    line(&f);
    f.lossy = true;
    g_assert_null(host_ask(&f, 0, &a, 4, 2, 0));
    g_assert_cmpuint(f.node[0].kicks, ==, 1);
    g_assert_nonnull(host_ask(&f, 0, &a, 4, 2, 0));
    g_assert_cmpuint(f.node[0].kicks, ==, 1);
    a.queue = 3;
    g_assert_null(host_ask(&f, 0, &a, 4, 2, 0));
    g_assert_cmpuint(fabric_counted(&f, 0, UB_MGMT_CNT_ASKED), ==, 2);
    g_assert_null(ub_mgmt_host_send(f.node[0].m, f.now, UB_MGMT_KIND_SCAN, &a,
                                    scan, sizeof(scan)));
    /* That one was of the node itself. */
    g_assert_cmpuint(f.node[0].delivered, ==, 1);
    g_assert_cmpint(f.node[0].kind, ==, UB_MGMT_KIND_SCAN);
    g_assert_cmpuint(ub_mgmt_waiting(f.node[0].m), ==, 2);
    g_assert_cmpuint(f.node[0].kicks, ==, 3);
    fabric_free(&f);
}

/* The place of the last that may wait, for software too. */
static void host_bound(void)
{
    UbMgmtConfig cfg;
    Fabric f;
    Node *n;

    line(&f);
    ub_mgmt_config_init(&cfg);
    cfg.outstanding = 2;
    n = fabric_add(&f, &cfg);
    fabric_identity(n, 0x14, 0x24, 5);
    f.lossy = true;
    for (unsigned i = 0; i < 3; i++) {
        UbMgmtAddr a = { .queue = 1, .msn = i };

        g_assert_true(!host_ask(&f, 4, &a, 4, 2, 0) == (i < 2));
        g_assert_cmpuint(ub_mgmt_waiting(n->m), ==, MIN(i + 1, 2));
    }
    /* Responses want no place. */
    g_assert_null(host_ask(&f, 4, &(UbMgmtAddr) { .upi = 5 }, 1, 0, 8));
    fabric_free(&f);
}

/* Whose partition a message of software is of, and its addresses. */
static void host_headers(void)
{
    static const struct {
        uint8_t node, head;         /* byte 0 of MGMTETAH: code 5, RSP */
        bool mgmt;
        uint16_t upi, want;
        bool want_mgmt;
    } rows[] = {
        { 0, 0x1a, true, 1, UB_MGMT_UPI, true },
        { 0, 0x1a, false, UB_MGMT_UPI, 5, false },
        { 3, 0x1a, true, UB_MGMT_UPI, 5, false },
        { 0, 0x1b, true, 1, 5, false },
        { 0, 0x1b, false, UB_MGMT_UPI, UB_MGMT_UPI, false },
        { 3, 0x1b, false, UB_MGMT_UPI, UB_MGMT_UPI, false },
        { 3, 0x1b, false, 6, 5, false },
    };

    for (unsigned i = 0; i < G_N_ELEMENTS(rows); i++) {
        Fabric f;
        UbMgmtAddr a = { .dcna = 0x12, .deid = 0x22, .scna = 0xbad,
                         .seid = 0xbad, .upi = rows[i].upi,
                         .mgmt = rows[i].mgmt };
        uint8_t data[4] = { rows[i].head };
        Flight *fl;

        line(&f);
        ub_slice_set(f.node[rows[i].node].cfg0, UB_CFG0_EID, ~0u, 0xabc98765);
        g_assert_null(ub_mgmt_host_send(f.node[rows[i].node].m, f.now,
                                        UB_MGMT_KIND_MESSAGE, &a, data, 4));
        fl = g_queue_peek_head(&f.under_way);
        g_assert_nonnull(fl);
        g_assert_cmphex(fl->addr.upi, ==, rows[i].want);
        g_assert_true(fl->addr.mgmt == rows[i].want_mgmt);
        g_assert_cmphex(fl->addr.scna, ==, 0x10 + rows[i].node);
        g_assert_cmphex(fl->addr.seid, ==, 0x98765);
        g_assert_cmpuint(ub_mgmt_waiting(f.node[rows[i].node].m), ==,
                         !(rows[i].head & 1));
        fabric_free(&f);
    }
}

/* What stays in the node has its address, whatever software wrote; a port's CNA is
 * the node's as well. */
static void host_local_address(void)
{
    Fabric f;

    line(&f);
    ub_slice_set(f.node[3].port[1], UB_PORT_CNA, ~0u, 0x99);
    for (unsigned i = 0; i < 3; i++) {
        UbMgmtAddr a = { .dcna = i == 0 ? 0x4444 : i == 1 ? 0x99 : 0x13,
                         .deid = 0x23, .msn = i, .queue = 1, .local = !i };

        g_assert_null(host_ask(&f, 3, &a, 4, 2, 0));
        g_assert_true(a.local);
        g_assert_cmphex(a.dcna, ==, 0x13);
        g_assert_cmpuint(f.node[3].delivered, ==, i + 1);
        g_assert_cmphex(f.node[3].addr.scna, ==, 0x13);
    }
    fabric_free(&f);
}

/* Only what a queue asked is forgotten with it. */
static void host_forgets(void)
{
    Fabric f;
    Answer a = { 0 };

    line(&f);
    f.lossy = true;
    g_assert_true(ub_mgmt_read(f.node[0].m, f.now, &fm_to_3, 0, 0, fabric_answer,
                               &a));
    for (unsigned i = 0; i < 6; i++) {
        g_assert_null(host_ask(&f, 0, &(UbMgmtAddr) { .queue = i % 3, .msn = i },
                               4, 2, 0));
    }
    g_assert_true(ub_mgmt_read(f.node[0].m, f.now, &fm_to_3, 0, 0, fabric_answer,
                               &a));
    ub_mgmt_host_forget(f.node[0].m, 0);
    g_assert_cmpuint(ub_mgmt_waiting(f.node[0].m), ==, 6);
    for (unsigned i = 0; i < 6; i++) {
        g_assert_true(!ub_mgmt_waiter(f.node[0].m, UB_MGMT_KIND_MESSAGE, i % 3,
                                      i) == !(i % 3));
    }
    ub_mgmt_host_forget(f.node[0].m, UB_MGMT_OWN_QUEUE);
    g_assert_cmpuint(ub_mgmt_waiting(f.node[0].m), ==, 6);
    fabric_free(&f);
}

/* What failed has the code, queue and kind that it had. */
static void host_failures(void)
{
    Fabric f;
    UbMgmtAddr a = { .queue = 6, .msn = 0x1234 };
    uint8_t far[36] = { 0x00, 0x10, 1, 0, 0, 0, 0, 7, 0, 0, 0, 0, 1, 2, 2 };
    uint8_t here[28] = { 0, 0, 0, 0, 1, 0, 1, 0, 0, 6 };
    Node *n;

    line(&f);
    n = &f.node[0];
    f.jammed = true;
    g_assert_null(host_ask(&f, 0, &a, 4, 7, 4));
    g_assert_cmpuint(fabric_counted(&f, 0, UB_MGMT_CNT_DROP_UNSENT), ==, 1);
    ub_mgmt_run(n->m, f.now);
    g_assert_cmpuint(n->failed, ==, 1);
    g_assert_cmphex(n->failed_code, ==, 0x78);
    g_assert_cmphex(n->failed_msn, ==, 0x1234);
    g_assert_cmpint(n->queue, ==, 6);
    g_assert_cmpint(n->kind, ==, UB_MGMT_KIND_MESSAGE);
    g_assert_cmpuint(fabric_counted(&f, 0, UB_MGMT_CNT_TIMEOUTS), ==, 1);
    /* A scan shows its CMD. */
    a.queue = 4;
    g_assert_null(ub_mgmt_host_send(n->m, f.now, UB_MGMT_KIND_SCAN, &a, far,
                                    sizeof(far)));
    ub_mgmt_run(n->m, f.now);
    g_assert_cmpuint(n->failed, ==, 2);
    g_assert_cmphex(n->failed_code, ==, UB_SCAN_NA_QUERY);
    g_assert_cmpint(n->queue, ==, 4);
    g_assert_cmpint(n->kind, ==, UB_MGMT_KIND_SCAN);
    /* Of the node itself without a way back there is none to want. */
    a.msn++;
    g_assert_null(ub_mgmt_host_send(n->m, f.now, UB_MGMT_KIND_SCAN, &a, here,
                                    sizeof(here)));
    g_assert_cmpuint(n->delivered, ==, 1);
    fabric_free(&f);
}

/* ---- Images ---- */

/* What software waits for migrates with all that an answer or failure of it needs;
 * what was asked by calls does not. */
static void image_waits(void)
{
    Fabric f, g;
    Answer call = { 0 };
    UbMgmtAddr a = { .queue = 2, .msn = 10 };
    g_autofree uint8_t *bytes = NULL;
    size_t len;
    Node *n;
    uint8_t scan[36] = { 0x00, 0x10, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 2, 2 };

    line(&f);
    line(&g);
    f.lossy = true;
    g_assert_true(ub_mgmt_read(f.node[0].m, f.now, &fm_to_3, 0, 0, fabric_answer,
                               &call));
    g_assert_null(host_ask(&f, 0, &a, 4, 2, 0));
    g_assert_true(ub_mgmt_read(f.node[0].m, f.now, &fm_to_3, 0, 0, fabric_answer,
                               &call));
    scan[21] = 7;
    a = (UbMgmtAddr) { .queue = 5, .msn = 11 };
    f.now += 100;
    g_assert_null(ub_mgmt_host_send(f.node[0].m, f.now, UB_MGMT_KIND_SCAN, &a,
                                    scan, sizeof(scan)));
    /* A vendor's: no failure is told. */
    f.now += 100;
    a = (UbMgmtAddr) { .queue = 6, .msn = 12 };
    g_assert_null(host_ask(&f, 0, &a, 3, 0, 16));
    g_assert_cmpuint(ub_mgmt_waiting(f.node[0].m), ==, 5);
    bytes = fabric_save(f.node[0].m, &len, f.now);
    /* The other node waited for something else. */
    g.lossy = true;
    a = (UbMgmtAddr) { .queue = 1, .msn = 99 };
    g_assert_null(host_ask(&g, 0, &a, 4, 2, 0));
    g_assert_true(ub_mgmt_read(g.node[0].m, g.now, &fm_to_3, 0, 0, fabric_answer,
                               &call));
    g.now = 50 * SECOND;
    for (unsigned twice = 0; twice < 2; twice++) {
        g_assert_null(fabric_load(g.node[0].m, bytes, len, g.now));
        g_assert_cmpuint(ub_mgmt_waiting(g.node[0].m), ==, 3);
    }
    n = &g.node[0];
    g_assert_cmphex(n->m->msn, ==, f.node[0].m->msn);
    g_assert_null(ub_mgmt_waiter(n->m, UB_MGMT_KIND_MESSAGE, 1, 99));
    /* An answer from another node, and from the one. */
    for (unsigned i = 0; i < 2; i++) {
        UbMgmtAddr from = { .scna = i ? 0x13 : 0x12, .dcna = 0x10, .queue = 2,
                            .msn = 10, .upi = 5 };
        uint8_t data[4];

        ub_mgmt_etah_put(data, (UbMgmtEtah) { .code = 4, .sub = 2, .rsp = true });
        if (!i) {
            ub_mgmt_receive(n->m, g.now, &from, data, 4);
            g_assert_cmpuint(n->delivered, ==, 0);
            from.scna = 0x13;
            data[0] ^= 0x10;
        }
        ub_mgmt_receive(n->m, g.now, &from, data, 4);
        g_assert_cmpuint(n->delivered, ==, i);
    }
    g_assert_cmpint(n->queue, ==, 2);
    g_assert_cmpint(ub_mgmt_run(n->m, g.now), ==, g.now + SECOND - 100);
    g_assert_cmpint(ub_mgmt_run(n->m, g.now + SECOND - 100), ==, g.now + SECOND);
    g_assert_cmpuint(n->failed, ==, 1);
    g_assert_cmpint(n->kind, ==, UB_MGMT_KIND_SCAN);
    g_assert_cmpint(n->queue, ==, 5);
    g_assert_cmphex(n->failed_msn, ==, 11);
    g_assert_cmphex(n->failed_code, ==, UB_SCAN_NA_QUERY);
    g_assert_cmpint(ub_mgmt_run(n->m, g.now + SECOND), ==, INT64_MAX);
    g_assert_cmpuint(n->failed, ==, 1);
    g_assert_cmpuint(ub_mgmt_waiting(n->m), ==, 0);
    g_assert_cmpuint(call.calls, ==, 0);
    fabric_free(&f);
    fabric_free(&g);
}

/* What is over and has no room migrates as that: no answer is taken any more. */
static void image_over(void)
{
    Fabric f, g;
    UbMgmtAddr a = { .queue = 2, .msn = 10 };
    UbMgmtAddr from = { .scna = 0x13, .dcna = 0x10, .queue = 2, .msn = 10,
                        .upi = 5 };
    g_autofree uint8_t *bytes = NULL;
    uint8_t data[4];
    size_t len;

    line(&f);
    line(&g);
    f.lossy = true;
    f.node[0].full = true;
    g_assert_null(host_ask(&f, 0, &a, 4, 2, 0));
    fabric_run(&f, SECOND);
    bytes = fabric_save(f.node[0].m, &len, f.now);
    g_assert_null(fabric_load(g.node[0].m, bytes, len, g.now));
    ub_mgmt_etah_put(data, (UbMgmtEtah) { .code = 4, .sub = 2, .rsp = true });
    ub_mgmt_receive(g.node[0].m, g.now, &from, data, 4);
    g_assert_cmpuint(g.node[0].delivered, ==, 0);
    g_assert_cmpuint(fabric_counted(&g, 0, UB_MGMT_CNT_DROP_UNASKED), ==, 1);
    g_assert_cmpint(ub_mgmt_run(g.node[0].m, g.now), ==, INT64_MAX);
    g_assert_cmpuint(g.node[0].failed, ==, 1);
    g_assert_cmphex(g.node[0].failed_code, ==, 0x28);
    fabric_free(&f);
    fabric_free(&g);
}

/* As many as there may be, there and here. */
static void image_bound(void)
{
    UbMgmtConfig cfg;
    Fabric f;
    g_autofree uint8_t *bytes = NULL;
    size_t len;

    line(&f);
    ub_mgmt_config_init(&cfg);
    for (unsigned i = 2; i < 4; i++) {
        cfg.outstanding = i;
        fabric_add(&f, &cfg);
        fabric_identity(&f.node[2 + i], 0x12 + i, 0x22 + i, 5);
    }
    f.lossy = true;
    for (unsigned i = 0; i < 3; i++) {
        g_free(bytes);
        bytes = fabric_save(f.node[5].m, &len, f.now);
        g_assert_null(fabric_load(f.node[4].m, bytes, len, f.now));
        g_assert_cmpuint(ub_mgmt_waiting(f.node[4].m), ==, i);
        g_assert_null(host_ask(&f, 5, &(UbMgmtAddr) { .queue = 1, .msn = i }, 4,
                               2, 0));
    }
    g_free(bytes);
    bytes = fabric_save(f.node[5].m, &len, f.now);
    g_assert_nonnull(fabric_load(f.node[4].m, bytes, len, f.now));
    g_assert_cmpuint(ub_mgmt_waiting(f.node[4].m), <=, 2);
    fabric_free(&f);
}

/* Errors that software has not read yet, in a ring that went round. */
static void image_errors(void)
{
    UbMgmtConfig cfg;
    Fabric f;
    g_autofree uint8_t *bytes = NULL;
    size_t len;
    Node *n[2], *big;

    line(&f);
    ub_mgmt_config_init(&cfg);
    cfg.emq_depth = 4;
    for (unsigned i = 0; i < 2; i++) {
        n[i] = fabric_add(&f, &cfg);
        fabric_identity(n[i], 0x30, 0x40, 5);
        ub_space_write(n[i]->space, 0, EMQ + UB_EMQ_CTL, 7, 0xf);
    }
    for (unsigned i = 0; i < 2; i++) {
        ub_mgmt_error(n[0]->m, f.now, UB_MGMT_NFUE, 0);
    }
    ub_space_write(n[0]->space, 0, EMQ + UB_EMQ_NFUE_CI, 2, 0xf);
    for (unsigned i = 0; i < 3; i++) {
        fabric_identity(n[0], 0x50 + i, 0x40, 5);
        ub_mgmt_error(n[0]->m, f.now, UB_MGMT_NFUE, 0);
        ub_mgmt_error(n[0]->m, f.now, i ? UB_MGMT_CE : UB_MGMT_FUE, -1);
    }
    bytes = fabric_save(n[0]->m, &len, f.now);
    g_assert_null(fabric_load(n[1]->m, bytes, len, f.now));
    for (unsigned i = 0; i < 3; i++) {
        /* Registers are the space's to load. */
        g_assert_cmpuint(n[1]->m->ring[i].pi, ==, n[0]->m->ring[i].pi);
        g_assert_cmpuint(n[1]->m->ring[i].ci, ==, n[0]->m->ring[i].ci);
    }
    g_assert_cmpuint(n[1]->m->ring[UB_MGMT_CE].pi, ==, 2);
    g_assert_cmpuint(n[1]->m->ring[UB_MGMT_NFUE].pi, ==, 1);
    g_assert_cmpuint(n[1]->m->ring[UB_MGMT_FUE].pi, ==, 1);
    for (unsigned i = 0; i < 3; i++) {
        unsigned at = (2 + i) % 4;

        ub_space_write(n[1]->space, 0, EMQ + UB_EMQ_NFUE_CI, at, 0xf);
        g_assert_cmphex(ub_space_read(n[1]->space, EMQ + UB_EMQ_NFUE_INFO), ==,
                        0x50 + i);
        g_assert_cmphex(ub_space_read(n[1]->space, EMQ + UB_EMQ_NFUE_INFO + 1),
                        ==, 0);
    }
    ub_space_write(n[1]->space, 0, EMQ + UB_EMQ_CE_CI, 1, 0xf);
    g_assert_cmphex(ub_space_read(n[1]->space, EMQ + UB_EMQ_CE_INFO), ==, 0x52);
    g_assert_cmphex(ub_space_read(n[1]->space, EMQ + UB_EMQ_CE_INFO + 1), ==,
                    0x80000000);
    /* Indices of an image are below the depth, which that of another node need not be. */
    cfg.emq_depth = 5;
    big = fabric_add(&f, &cfg);
    fabric_identity(big, 0x30, 0x40, 5);
    for (unsigned i = 0; i < 6; i++) {
        UbMgmtRing *r = &big->m->ring[i / 2];

        r->pi = r->ci = 0;
        *(i & 1 ? &r->pi : &r->ci) = 4;
        g_free(bytes);
        bytes = fabric_save(big->m, &len, f.now);
        r->pi = r->ci = 0;
        g_assert_nonnull(fabric_load(n[1]->m, bytes, len, f.now));
        ub_mgmt_error(n[1]->m, f.now, i / 2, 0);
    }
    fabric_free(&f);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/ub/mgmt/wait/retry", wait_retry);
    g_test_add_func("/ub/mgmt/wait/bound", wait_bound);
    g_test_add_func("/ub/mgmt/wait/forged", wait_forged);
    g_test_add_func("/ub/mgmt/wait/again", wait_again);
    g_test_add_func("/ub/mgmt/wait/ourselves", ask_ourselves);
    g_test_add_func("/ub/mgmt/wait/times", wait_times);
    g_test_add_func("/ub/mgmt/wait/together", wait_together);
    g_test_add_func("/ub/mgmt/wait/sent-again", sent_again);
    g_test_add_func("/ub/mgmt/wait/msn-again", msn_again);
    g_test_add_func("/ub/mgmt/wait/longest", longest);
    g_test_add_func("/ub/mgmt/host/msns", host_msns);
    g_test_add_func("/ub/mgmt/host/bound", host_bound);
    g_test_add_func("/ub/mgmt/host/headers", host_headers);
    g_test_add_func("/ub/mgmt/host/local-address", host_local_address);
    g_test_add_func("/ub/mgmt/host/forgets", host_forgets);
    g_test_add_func("/ub/mgmt/host/failures", host_failures);
    g_test_add_func("/ub/mgmt/image/waits", image_waits);
    g_test_add_func("/ub/mgmt/image/over", image_over);
    g_test_add_func("/ub/mgmt/image/bound", image_bound);
    g_test_add_func("/ub/mgmt/image/errors", image_errors);
    return g_test_run();
}
