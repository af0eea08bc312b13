/*
 * Migration of a busy engine: everything arrives, and an image that was
 * damaged anywhere is refused or does no harm.
 *
 * RDMA_IMAGES sets the number of damaged images.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <stdlib.h>

#include "core/random.h"
#include "double.h"
#include "../../../hw/rdma/transport/internal.h"

enum { US = 1, PEER = 2, MEM = 0x10000, NQP = 8 };

static const uint8_t mgid[16] = { 0xff, 0x12, [15] = 9 };
static uint64_t rng;

static void frame_in(Double *d, uint8_t opcode, uint32_t qpn, uint32_t psn,
                     const void *ext, size_t len, int64_t now)
{
    GBytes *f = frame_make(PEER, US, opcode, true, qpn, psn, ext, len);
    gsize size;
    const uint8_t *p = g_bytes_get_data(f, &size);

    rdma_rx_frame(d->dev, p, size, now);
    g_bytes_unref(f);
}

static void post(Double *d, RdmaQp *qp, RdmaOpcode op, uint32_t len,
                 unsigned flags)
{
    RdmaWqe w = double_wqe(op, MEM, len, 0x15a);

    w.flags |= flags;
    w.raddr = MEM;
    w.rkey = 0x15a;
    w.dqpn = 9;
    w.qkey = 0x11111111;
    w.av.dip = 10u << 24 | PEER;
    if (flags & RDMA_WQE_INLINE) {
        w.inl_len = len;
        memset(w.inl, 0x5a, len);
    } else if (len > 1) {
        w.num_sge = 2;
        w.sge[1] = w.sge[0];
        w.sge[0].len = len / 2;
        w.sge[1].len = len - len / 2;
    }
    double_send(d, qp, &w);
}

static void small(RdmaConfig *cfg)
{
    cfg->swpb_packets = 6;
    cfg->log_qps = 5;
    cfg->log_cqs = 4;
    cfg->log_srqs = 3;
    cfg->max_wqes = 256;
    cfg->err_repoll_us = 1000;
}

/* Queue pairs in every state that work can be in. */
static Double *busy_new(void)
{
    static const RdmaService service[NQP] = {
        RDMA_RC, RDMA_RC, RDMA_RC, RDMA_UC, RDMA_UD, RDMA_RC, RDMA_UC,
        RDMA_RC,
    };
    Double *d = double_new(US, small);
    RdmaQp *qp[NQP];
    RdmaQpAttr a = { .state = RDMA_QPS_ERR };
    uint8_t ext[600] = { 0 };
    CoreFaultPlan none = { 0 };

    rdma_fault_set(d->dev, true, &none);
    double_mr(d, 1, MEM, 0x4000, 0x8000, RDMA_ACC_RIGHTS);
    rdma_mr_set(d->dev, 5, &(RdmaMr) { .key = 0x500, .physical = true,
                                       .start = 1, .length = 2, .mtt = 3 });
    g_assert_nonnull(rdma_cq_create(d->dev, 3));
    g_assert_nonnull(rdma_srq_create(d->dev, 2));
    for (int i = 0; i < NQP; i++) {
        qp[i] = double_qp(d, 4 + i, service[i], PEER, 40 + i, 0xfffffd, 0x20,
                          1);
        double_recv(d, qp[i], MEM, 1000, 0x15a);
    }
    rdma_qp_modify(d->dev, qp[2], &(RdmaQpAttr) { .has_srq = true, .srqn = 2 },
                   RDMA_QPA_SRQ);
    double_recv(d, qp[2], MEM, 1000, 0x15a);
    rdma_qp_alias(d->dev, 1, qp[4]);
    g_assert_true(rdma_mcast_attach(d->dev, mgid, 8));
    /* 0: inline and long messages, half acknowledged, more than fits. */
    post(d, qp[0], RDMA_OP_SEND, 700, RDMA_WQE_INLINE);
    post(d, qp[0], RDMA_OP_NOP, 0, 0);
    post(d, qp[0], RDMA_OP_WRITE, 2000, 0);
    /* 1: Reads, atomics, a fence. */
    post(d, qp[1], RDMA_OP_READ, 600, 0);
    post(d, qp[1], RDMA_OP_FETCH_ADD, 8, 0);
    post(d, qp[1], RDMA_OP_CMP_SWAP, 8, 0);
    post(d, qp[1], RDMA_OP_SEND_IMM, 60, RDMA_WQE_FENCE);
    /* 2: repeats after a time-out. */
    post(d, qp[2], RDMA_OP_WRITE_IMM, 500, RDMA_WQE_INLINE);
    double_poll(d, 1000);
    aeth_put(ext, AETH_ACK, 1);
    frame_in(d, ROCE_ACK, 4, 0xfffffe, ext, 4, 2000);
    aeth_put(ext, AETH_RNR_NAK | 3, 1);
    frame_in(d, ROCE_ACK, 6, 0xfffffd, ext, 4, 2000);
    /* 3: an unreliable message half way in. */
    memset(ext, 1, sizeof(ext));
    frame_in(d, ROCE_OP(RDMA_UC, ROCE_SEND_FIRST), 7, 0x20, ext, 256, 2000);
    /* 5: a Write half way in, a Read being answered, an atomic done. */
    reth_put(ext, MEM, 0x15a, 256);
    frame_in(d, ROCE_READ_REQ, 9, 0x20, ext, 16, 2000);
    atomic_put(ext, MEM + 8, 0x15a, 1, 2);
    frame_in(d, ROCE_FETCH_ADD, 9, 0x21, ext, 28, 2000);
    double_poll(d, 2000);
    reth_put(ext, MEM, 0x15a, 256 * 4);
    frame_in(d, ROCE_WRITE_FIRST, 9, 0x22, ext, 16 + 256, 2000);
    frame_in(d, ROCE_READ_REQ, 11, 0x20, ext, 16, 2000);
    rdma_poll_some(d->dev, 2000, 3);
    /* 6: work not begun.  7 sends a bad one behind good ones. */
    rdma_wire_stop(d->dev, true);
    post(d, qp[6], RDMA_OP_SEND, 700, RDMA_WQE_INLINE);
    post(d, qp[4], RDMA_OP_SEND, 100, RDMA_WQE_INLINE);
    post(d, qp[7], RDMA_OP_SEND, 100, 0);
    rdma_wire_stop(d->dev, false);
    rdma_poll_some(d->dev, 2000, 4);
    rdma_qp_modify(d->dev, qp[5], &a, 0);
    g_ptr_array_set_size(d->wire, 0);
    g_array_set_size(d->cqes, 0);
    return d;
}

static uint8_t *saved(Double *d, size_t *len)
{
    return rdma_save(d->dev, 3000, len);
}

/* Every field of a queue pair arrives. */
static void test_fields(void)
{
    Double *d = busy_new(), *e = double_new(US, small);
    RdmaQp *a = rdma_qp_get(d->dev, 9), *b;
    RdmaQpAttr *attr = &a->attr;
    size_t len;
    g_autofree uint8_t *one = NULL;

    attr->timeout = 1;
    attr->retry_cnt = 2;
    attr->rnr_retry = 3;
    attr->min_rnr_timer = 4;
    attr->access = 5;
    attr->sqd_event = attr->sig_all = attr->special = true;
    attr->srqn = 0x111;
    attr->send_cqn = 0x122;
    attr->recv_cqn = 0x133;
    attr->pkey_index = 0x44;
    attr->qkey = 0x55;
    memset(&attr->av, 1, sizeof(attr->av));
    a->req.more = a->req.bad = a->req.retx = a->req.retx_marked = true;
    a->req.rnr_wait = a->req.drained = true;
    a->req.retx_psn = 0x77;
    a->req.retx_end = 0x88;
    a->req.retry_left = 3;
    a->req.rnr_left = 4;
    a->req.since_ackreq = 5;
    a->resp.nak_sent = a->resp.last_words = a->resp.drop_msg = true;
    a->resp.ack_due = true;
    a->resp.ack_syndrome = 0x61;
    a->resp.ack_psn = 0x99;
    a->flush_recv = true;
    a->rnr_at = 5000;
    a->repoll_at = 6000;
    a->repoll_ns = 7000;
    a->repoll_end = 8000;
    one = saved(d, &len);
    g_assert_true(rdma_load(e->dev, 3000, one, len));
    b = rdma_qp_get(e->dev, 9);
    g_assert_cmpmem(rdma_qp_attr(a), sizeof(*attr), rdma_qp_attr(b),
                    sizeof(*attr));
#define SAME(field) g_assert_cmpuint(a->field, ==, b->field)
    SAME(req.more); SAME(req.bad); SAME(req.retx); SAME(req.retx_marked);
    SAME(req.rnr_wait); SAME(req.drained); SAME(req.npsn); SAME(req.upsn);
    SAME(req.retx_psn); SAME(req.retx_end); SAME(req.retry_left);
    SAME(req.rnr_left); SAME(req.since_ackreq);
    SAME(resp.epsn); SAME(resp.msn); SAME(resp.nak_sent);
    SAME(resp.last_words); SAME(resp.in_msg); SAME(resp.msg_flags);
    SAME(resp.have_wqe); SAME(resp.drop_msg); SAME(resp.comm_est);
    SAME(resp.got); SAME(resp.va); SAME(resp.rkey); SAME(resp.len);
    SAME(resp.ack_due); SAME(resp.ack_syndrome); SAME(resp.ack_psn);
#undef SAME
    g_assert_true(b->flush_recv);
    g_assert_cmpint(b->loss_at, ==, a->loss_at);
    g_assert_cmpint(b->rnr_at, ==, 5000);
    g_assert_cmpint(b->repoll_at, ==, 6000);
    g_assert_cmpint(b->repoll_ns, ==, 7000);
    g_assert_cmpint(b->repoll_end, ==, 8000);
    g_assert_cmpuint(e->dev->port.lid, ==, US);
    g_assert_cmpuint(e->dev->ip_id, ==, d->dev->ip_id);
    g_assert_true(rdma_mr_get(e->dev, 5)->physical);
    g_assert_true(rdma_mr_get(e->dev, 5)->valid);
    g_assert_cmphex(rdma_mr_get(e->dev, 5)->key, ==, 0x500);
    double_free(d);
    double_free(e);
}

/* What is loaded is what was saved: saved again it gives the same bytes. */
static void test_round(void)
{
    Double *d = busy_new(), *e = double_new(US, small);
    size_t len, again;
    g_autofree uint8_t *one = saved(d, &len), *two = NULL;

    g_assert_true(rdma_load(e->dev, 3000, one, len));
    g_assert_cmpmem(&d->dev->held, sizeof(Holdings), &e->dev->held,
                    sizeof(Holdings));
    for (int i = 0; i < NQP; i++) {
        RdmaQp *a = rdma_qp_get(d->dev, 4 + i), *b = rdma_qp_get(e->dev, 4 + i);

        g_assert_cmpuint(a->req.held.swpb_packets, ==,
                         b->req.held.swpb_packets);
        g_assert_cmpuint(a->req.held.rpb_packets, ==,
                         b->req.held.rpb_packets);
        g_assert_true(!a->req.cur == !b->req.cur);
        g_assert_cmpint(a->loss_at, ==, b->loss_at);
        g_assert_cmpuint(a->resp.reply_tail - a->resp.reply_head, ==,
                         b->resp.reply_tail - b->resp.reply_head);
    }
    g_assert_true(e->dev->alias[1] == rdma_qp_get(e->dev, 8));
    /* But for the announcement of its coming. */
    rdma_counters(e->dev)->arp_tx = rdma_counters(d->dev)->arp_tx;
    two = saved(e, &again);
    g_assert_cmpmem(one, len, two, again);
    double_free(d);
    double_free(e);
}

/* The work goes on where it was, without the frames inside. */
static void test_goes_on(void)
{
    Double *d = busy_new(), *e = double_new(US, small);
    size_t len;
    g_autofree uint8_t *one = saved(d, &len);
    uint8_t ext[300] = { 0 };
    GBytes *f;

    g_assert_true(rdma_load(e->dev, 3000, one, len));
    double_poll(e, 3000);
    g_ptr_array_set_size(e->wire, 0);
    memcpy(e->mem, d->mem, MEM_SIZE);
    frame_in(e, ROCE_OP(RDMA_UC, ROCE_SEND_LAST), 7, 0x21, ext, 40, 3000);
    double_poll(e, 3000);
    g_assert_cmpuint(e->cqes->len, >=, 1);
    g_assert_cmpuint(g_array_index(e->cqes, RdmaCqe, e->cqes->len - 1).byte_cnt,
                     ==, 296);
    /* The loss timer runs on. */
    double_poll(e, 3000 + (INT64_C(4096) << 14));
    f = double_take(e);
    g_assert_nonnull(f);
    g_assert_cmpuint(rdma_counters(e->dev)->timeouts, >=, 1);
    g_bytes_unref(f);
    double_free(d);
    double_free(e);
}

/* Cut anywhere or longer: refused, and the device is empty. */
static void test_cut(void)
{
    Double *d = busy_new(), *e = double_new(US, small);
    size_t len;
    g_autofree uint8_t *one = saved(d, &len);

    for (size_t n = 0; n < len; n += n < 300 ? 1 : 7) {
        g_autofree uint8_t *cut = g_memdup2(one, n);

        g_assert_false(rdma_load(e->dev, 3000, cut, n));
        g_assert_null(rdma_qp_get(e->dev, 4));
        g_assert_cmpuint(e->dev->wqe_used, ==, 0);
    }
    one = g_realloc(one, len + 1);
    one[len] = 0;
    g_assert_false(rdma_load(e->dev, 3000, one, len + 1));
    g_assert_true(rdma_load(e->dev, 3000, one, len));
    double_free(d);
    double_free(e);
}

static void damage(uint8_t *p, size_t len)
{
    static const uint8_t odd[] = { 0, 1, 2, 3, 0x7f, 0x80, 0xff, 0xfe };

    for (int n = core_random(&rng) % 3; n >= 0; n--) {
        size_t at = core_random(&rng) % len;
        uint64_t r = core_random(&rng);

        switch (r % 4) {
        case 0:
            p[at] ^= 1 << (r >> 8 & 7);
            break;
        case 1:
            p[at] = odd[r >> 8 & 7];
            break;
        case 2:
            p[at] += (r >> 8 & 15) - 8;
            break;
        default:
            p[at] = r >> 8;
            break;
        }
    }
}

/* What a peer and time may do to it. */
static void provoke(Double *d)
{
    uint8_t ext[64] = { 0 };

    for (uint32_t qpn = 4; qpn < 4 + NQP; qpn++) {
        RdmaQp *qp = rdma_qp_get(d->dev, qpn);

        if (!qp) {
            continue;
        }
        reth_put(ext, MEM, 0x15a, 256);
        frame_in(d, ROCE_READ_REQ, qpn, qp->resp.epsn, ext, 16, 3000);
        frame_in(d, ROCE_READ_REQ, qpn, psn_add(qp->resp.epsn, -1), ext, 16,
                 3000);
        frame_in(d, ROCE_OP(qp->attr.service, ROCE_SEND_LAST), qpn,
                 qp->resp.epsn, ext, 40, 3000);
        rdma_poll(d->dev, 3000);
        aeth_put(ext, AETH_ACK, 1);
        frame_in(d, ROCE_READ_ONLY, qpn, qp->req.upsn, ext, 64, 3000);
        frame_in(d, ROCE_ACK, qpn, psn_add(qp->req.npsn, -1), ext, 4, 3000);
        rdma_qp_kick(d->dev, qp);
    }
    for (int i = 0; i < 4; i++) {
        rdma_poll(d->dev, 3000 + i * INT64_C(100000000));
    }
}

static void test_damaged(void)
{
    const char *env = getenv("RDMA_IMAGES");
    unsigned goal = env ? strtoul(env, NULL, 0) : 20000, good = 0;
    Double *d = busy_new(), *e = double_new(US, small);
    size_t len, n;
    g_autofree uint8_t *one = saved(d, &len);

    rng = g_test_rand_int();
    for (unsigned i = 0; i < goal; i++) {
        g_autofree uint8_t *bad = g_memdup2(one, len), *again = NULL;

        damage(bad, len);
        if (rdma_load(e->dev, 3000, bad, len)) {
            good++;
            again = rdma_save(e->dev, 3000, &n);
            provoke(e);
            g_assert_true(rdma_load(e->dev, 3000, again, n));
        } else {
            g_assert_null(rdma_qp_get(e->dev, 4));
            g_assert_cmpuint(e->dev->held.swpb_packets, ==, 0);
        }
        g_array_set_size(e->cqes, 0);
        g_array_set_size(e->events, 0);
        g_ptr_array_set_size(e->wire, 0);
        for (int q = 0; q < 16; q++) {
            e->q[q].send_head = e->q[q].send_tail;
        }
    }
    g_test_message("%u of %u were taken", good, goal);
    g_assert_cmpuint(good, >, goal / 20);
    g_assert_cmpuint(good, <, goal);
    double_free(d);
    double_free(e);
}

/* ---- what no engine can have come to have ---- */

static bool takes_back(Double *e, Double *d)
{
    size_t len;
    g_autofree uint8_t *one = saved(d, &len);

    return rdma_load(e->dev, 3000, one, len);
}

#define REFUSED(stmt)                                       \
    do {                                                    \
        Double *d = busy_new(), *e = double_new(US, small); \
        RdmaQp *rc = rdma_qp_get(d->dev, 4);                \
        RdmaQp *rd = rdma_qp_get(d->dev, 5);                \
        RdmaQp *in = rdma_qp_get(d->dev, 9);                \
        (void)rc, (void)rd, (void)in;                       \
        g_assert_true(takes_back(e, d));                    \
        { stmt; }                                           \
        g_assert_false(takes_back(e, d));                   \
        g_assert_null(rdma_qp_get(e->dev, 4));              \
        double_free(e);                                     \
        rdma_reset(d->dev);                                 \
        double_free(d);                                     \
    } while (0)

static void test_refused(void)
{
    REFUSED(rc->req.npsn = psn_add(rc->req.npsn, 0x400000));
    REFUSED(rc->req.npsn = psn_add(rc->req.npsn, 9));
    REFUSED(rc->req.upsn = psn_add(rc->req.upsn, -4));
    REFUSED(rc->req.upsn = psn_add(rc->req.upsn, 0x900000));
    REFUSED(rc->req.upsn = psn_add(rc->req.head->last_psn, 1));
    REFUSED(rc->req.head->length++);
    REFUSED(rc->req.head->length += 256);
    REFUSED(rc->req.head->first_psn++);
    REFUSED(rc->req.tail->last_psn++);
    REFUSED(rc->req.head->opcode = RDMA_OP_READ);
    REFUSED(rc->req.head->opcode = RDMA_OP_NOP);
    REFUSED(rc->req.head->opcode = 0x19);
    REFUSED(rc->req.head->state = WQE_NEW);
    REFUSED(rc->req.head->state = WQE_SENDING);
    /* Sent entirely, and yet being sent: there would be no end to it. */
    REFUSED(rc->req.tail->state = WQE_SENDING;
            rc->req.npsn = psn_add(rc->req.tail->last_psn, 1));
    REFUSED(rc->req.head->state = WQE_DONE);
    REFUSED(rc->req.head->state = WQE_DONE + 1);
    REFUSED(rc->req.head->status = RDMA_WC_NUM);
    REFUSED(rc->req.head->error = RDMA_WC_NUM);
    REFUSED(rc->req.head->has_psn = false);
    REFUSED(rc->attr.service = RDMA_UC);
    REFUSED(rc->attr.service = RDMA_UD);
    REFUSED(rc->attr.service = 2);
    REFUSED(rc->attr.state = RDMA_QPS_ERR + 1);
    REFUSED(rc->attr.max_dest_rd_atomic = 129);
    REFUSED(rc->attr.max_rd_atomic = 129);
    REFUSED(rc->mtu = 512);
    REFUSED(rc->mtu = 0);
    REFUSED(rc->mtu = 8192);
    REFUSED(rd->req.head->state = WQE_SENDING);
    REFUSED(rd->req.tail->state = WQE_SENDING);
    REFUSED(rd->req.tail->state = WQE_SENT);
    REFUSED(rd->req.head->flags |= RDMA_WQE_INLINE);
    REFUSED(rd->req.head->next->num_sge = 0);
    REFUSED(rd->req.tail->state = WQE_NEW; rd->req.head->state = WQE_NEW);
    REFUSED(in->resp.msg_flags = 0);
    REFUSED(in->resp.msg_flags = ROCE_F_SEND);
    REFUSED(in->resp.epsn |= 1u << 24);
    REFUSED(in->resp.reply[0].kind = 3);
    REFUSED(in->resp.reply[0].kind = REPLY_NONE; in->resp.reply[0].due = true);
    REFUSED(in->resp.reply[0].len = 257);
    REFUSED(in->resp.reply[0].len = UINT32_MAX);
    REFUSED(in->resp.reply[0].last_psn++);
    REFUSED(in->resp.reply[0].psn++);
    REFUSED(in->resp.reply[0].start_psn--);
    REFUSED(in->resp.reply[1].last_psn++);
    REFUSED(in->resp.reply_fresh--);
    REFUSED(in->repoll_ns = -1);
    REFUSED(in->repoll_ns = INT64_MAX);
    REFUSED(d->dev->port.lmc = 8);
    REFUSED(d->dev->port.num_pkeys = 65);
}

/* As many segments as a request may have. */
static void test_most(void)
{
    Double *d = busy_new(), *e = double_new(US, small);
    RdmaWqe *w = rdma_qp_get(d->dev, 4)->req.tail;
    uint32_t each = w->length / RDMA_MAX_SGE;

    w->num_sge = RDMA_MAX_SGE;
    for (unsigned i = 0; i < RDMA_MAX_SGE; i++) {
        w->sge[i] = w->sge[0];
        w->sge[i].len = i ? each : w->length - each * (RDMA_MAX_SGE - 1);
    }
    g_assert_true(takes_back(e, d));
    w = rdma_qp_get(e->dev, 4)->req.tail;
    g_assert_cmpuint(w->num_sge, ==, RDMA_MAX_SGE);
    g_assert_cmpuint(w->sge[RDMA_MAX_SGE - 1].len, ==, each);
    double_free(e);
    double_free(d);
}

/* Two of one number, and members and special QPs that are none. */
static void test_numbers(void)
{
    for (int way = 0; way < 2; way++) {
        Double *d = busy_new(), *e = double_new(US, small);
        RdmaQp *qp = rdma_qp_get(d->dev, way ? 8 : 4);
        uint32_t was = qp->qpn;

        qp->qpn = way ? 31 : 5;
        g_assert_false(takes_back(e, d));
        qp->qpn = was;
        g_assert_true(takes_back(e, d));
        double_free(d);
        double_free(e);
    }
}

/* Each section says of which version it is: older and newer builds rely on it. */
static void test_versions(void)
{
    static const char *const tags[] = { "Rdma", "RdCq", "RdSr", "RdQp" };
    static const unsigned number[] = { 1, 2, 1, NQP };
    Double *d = busy_new();
    size_t len;
    g_autofree uint8_t *one = saved(d, &len);

    for (unsigned i = 0; i < G_N_ELEMENTS(tags); i++) {
        unsigned found = 0;

        for (size_t at = 0; at + 6 <= len; at++) {
            if (!memcmp(one + at, tags[i], 4)) {
                g_assert_cmpuint(get_be16(one + at + 4), ==, 1);
                found++;
            }
        }
        g_assert_cmpuint(found, ==, number[i]);
    }
    double_free(d);
}

/* As a section of a greater image, a wrong one leaves the device empty by itself. */
static void test_section(void)
{
    Double *d = busy_new(), *e = double_new(US, small);
    RdmaQp *qp = rdma_qp_get(d->dev, 8);
    g_autofree uint8_t *one = NULL;
    CoreImage *im;
    size_t len;

    qp->qpn = 31;               /* a group's member is none: found late */
    one = saved(d, &len);
    qp->qpn = 8;
    im = core_image_load(one, len, 3000);
    rdma_image(e->dev, im);
    g_assert_nonnull(core_image_error(im));
    core_image_free(im);
    for (unsigned i = 0; i < NQP; i++) {
        g_assert_null(rdma_qp_get(e->dev, 4 + i));
    }
    g_assert_null(rdma_cq_get(e->dev, 3));
    g_assert_cmpuint(e->dev->wqe_used, ==, 0);
    g_assert_cmpuint(e->rules, ==, 1);
    double_free(d);
    double_free(e);
}

/* An acknowledgement that was owed leaves the engine that took over, with nothing
 * else to wake it. */
static void test_owed(void)
{
    Double *d = double_new(US, small), *e = double_new(US, small);
    uint8_t ext[ROCE_RETH_BYTES + 8] = { 0 };
    size_t len;
    g_autofree uint8_t *image = NULL;
    unsigned owed = 0;

    double_mr(d, 1, MEM, 0x4000, 0x8000, RDMA_ACC_RIGHTS);
    double_qp(d, 4, RDMA_RC, PEER, 40, 5, 0x20, 1);
    double_poll(d, 1000);
    reth_put(ext, MEM, 0x15a, 8);
    frame_in(d, ROCE_WRITE_ONLY, 4, 0x20, ext, sizeof(ext), 2000);
    image = saved(d, &len);
    g_assert_true(rdma_load(e->dev, 3000, image, len));
    double_poll(e, 3000);
    for (guint i = 0; i < e->wire->len; i++) {
        GBytes *f = g_ptr_array_index(e->wire, i);
        const uint8_t *p = g_bytes_get_data(f, NULL);

        owed += get_be16(p + 12) == 0x0800 &&
                bth_opcode(frame_bth(f)) == ROCE_ACK &&
                bth_psn(frame_bth(f)) == 0x20;
    }
    g_assert_cmpuint(owed, ==, 1);
    double_free(d);
    double_free(e);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/image/round", test_round);
    g_test_add_func("/image/fields", test_fields);
    g_test_add_func("/image/goes-on", test_goes_on);
    g_test_add_func("/image/cut", test_cut);
    g_test_add_func("/image/refused", test_refused);
    g_test_add_func("/image/most", test_most);
    g_test_add_func("/image/numbers", test_numbers);
    g_test_add_func("/image/versions", test_versions);
    g_test_add_func("/image/section", test_section);
    g_test_add_func("/image/damaged", test_damaged);
    g_test_add_func("/image/owed", test_owed);
    return g_test_run();
}
