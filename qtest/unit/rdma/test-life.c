/*
 * What queue pairs and the engine begin with, tell of, and leave behind.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "double.h"
#include "../../../hw/rdma/transport/internal.h"

enum { US = 1, PEER = 2, QPN = 5, DQPN = 0x123, PSN = 0x10, EPSN = 0xffffff,
       MTU = 256, MEM = 0x10000,
       UC_SEND = 0x24, UD_SEND = 0x64 };     /* opcodes of Send Only */

typedef struct T {
    Double *d;
    RdmaQp *qp;
    uint32_t key;
} T;

static T setup(RdmaService s)
{
    T t = { .d = double_new(US, NULL) };

    t.key = double_mr(t.d, 1, MEM, 0x4000, 0x8000, RDMA_ACC_RIGHTS);
    t.qp = double_qp(t.d, QPN, s, PEER, DQPN, PSN, EPSN, 1);
    return t;
}

static void teardown(T *t)
{
    g_assert_cmpuint(t->d->wire->len, ==, 0);
    double_free(t->d);
}

static void feed(T *t, uint8_t opcode, uint32_t qpn, int i, const void *ext,
                 size_t len)
{
    GBytes *f = frame_make(PEER, US, opcode, true, qpn, psn_add(EPSN, i), ext,
                           len);
    gsize size;
    const uint8_t *p = g_bytes_get_data(f, &size);

    rdma_rx_frame(t->d->dev, p, size, 1000);
    g_bytes_unref(f);
    double_poll(t->d, 1000);
}

static void read_request(T *t, int i, uint32_t len)
{
    uint8_t ext[ROCE_RETH_BYTES];

    reth_put(ext, MEM, t->key, len);
    feed(t, ROCE_READ_REQ, QPN, i, ext, sizeof(ext));
}

/* The next answer: its opcode, and its AETH, 0 if it has none. */
static uint32_t answer(T *t, uint8_t opcode)
{
    GBytes *f = double_take(t->d);
    const uint8_t *bth;
    uint32_t aeth;

    g_assert_nonnull(f);
    bth = frame_bth(f);
    g_assert_cmphex(bth_opcode(bth), ==, opcode);
    aeth = roce_ops[opcode].aeth ? get_be32(bth + ROCE_BTH_BYTES) : 0;
    g_bytes_unref(f);
    return aeth;
}

/* An engine that nobody has set up. */
static void test_defaults(void)
{
    RdmaConfig c;

    rdma_config_init(&c);
    g_assert_cmpuint(c.log_qps, ==, 13);
    g_assert_cmpuint(c.log_cqs, ==, 13);
    g_assert_cmpuint(c.log_srqs, ==, 10);
    g_assert_cmpuint(c.log_mrs, ==, 14);
    g_assert_cmpuint(c.swpb_packets, ==, 512);
    g_assert_cmpuint(c.swpb_units, ==, 4096);
    g_assert_cmpuint(c.rpb_packets, ==, 512);
    g_assert_cmpuint(c.reb_entries, ==, 16384);
    g_assert_cmpuint(c.max_wqes, ==, 8192);
    g_assert_cmpint(c.ack_req, ==, RDMA_ACKREQ_ALL);
    g_assert_cmpint(c.ud_grh, ==, RDMA_GRH_IB);
    g_assert_cmpuint(c.udp_sport, ==, 4791);
    g_assert_cmpuint(c.loss_timeout_us, ==, 100000);
    g_assert_cmphex(c.lid_net, ==, 0x0a4c0000);
    g_assert_cmpuint(c.err_repoll_us, ==, 0);
    g_assert_cmpuint(c.time_scale, ==, 1);
    g_assert_true(c.ack_coalesce && c.nak_fatal && c.nak_counts &&
                  c.resp_fatal && c.sqe && c.atomics && c.qkey_check &&
                  c.pkey_check && c.len_nak_op && c.source_check && c.icrc &&
                  c.icrc_check && c.udp_csum);
    g_assert_false(c.qpn_wrap || c.accept_any_ip || c.shared_buffers ||
                   c.retx_one || c.retx_range || c.send_se_always ||
                   c.qkey_zero_any || c.udp_csum_need);
}

/* What regions there were, nobody reaches through them behind a reset. */
static void test_reset_regions(void)
{
    T t = setup(RDMA_RC);
    uint8_t byte;

    g_assert_cmpint(rdma_mr_read(t.d->dev, t.key, 7, MEM, &byte, 1,
                                 RDMA_ACC_LOCAL_READ), ==, 0);
    rdma_reset(t.d->dev);
    g_assert_cmpint(rdma_mr_read(t.d->dev, t.key, 7, MEM, &byte, 1,
                                 RDMA_ACC_LOCAL_READ), !=, 0);
    double_free(t.d);
}

/* A reset takes frames to ourselves along. */
static void test_reset_loopback(void)
{
    Double *d = double_new(US, NULL);
    uint32_t key = double_mr(d, 1, MEM, 0x4000, 0x8000, RDMA_ACC_RIGHTS);
    RdmaWqe w = double_wqe(RDMA_OP_SEND, MEM, 16, key);
    RdmaQp *qp;

    qp = double_qp(d, QPN, RDMA_UC, US, QPN, PSN, PSN, 1);
    double_send(d, qp, &w);
    for (unsigned i = 0; i < 10 && !rdma_counters(d->dev)->loopback; i++) {
        rdma_poll_some(d->dev, 1000, 1);
    }
    g_assert_cmpuint(rdma_counters(d->dev)->loopback, ==, 1);
    rdma_reset(d->dev);
    g_array_set_size(d->cqes, 0);
    g_assert_nonnull(rdma_cq_create(d->dev, 1));
    double_mr(d, 1, MEM, 0x4000, 0x8000, RDMA_ACC_RIGHTS);
    qp = double_qp(d, QPN, RDMA_UC, US, QPN, PSN, PSN, 1);
    d->q[QPN & 15].send_head = d->q[QPN & 15].send_tail;
    double_recv(d, qp, MEM, 100, key);
    double_poll(d, 1000);
    g_assert_cmpuint(d->cqes->len, ==, 0);
    g_assert_cmpuint(rdma_counters(d->dev)->rx_no_qp, ==, 0);
    double_free(d);
}

/* Whoever stood for a special number is gone with its QP, others stay. */
static void test_alias(void)
{
    T t = setup(RDMA_UD);
    RdmaQp *other = double_qp(t.d, QPN + 1, RDMA_UD, PEER, 0, PSN, EPSN, 1);
    uint8_t ext[ROCE_DETH_BYTES + 4] = { 0 };

    put_be32(ext, 0x11111111);
    rdma_qp_alias(t.d->dev, 0, t.qp);
    rdma_qp_alias(t.d->dev, 1, other);
    for (unsigned n = 0; n < 2; n++) {
        double_recv(t.d, n ? other : t.qp, MEM, 100, t.key);
        feed(&t, UD_SEND, n, 0, ext, sizeof(ext));
        g_assert_cmpuint(double_cqe(t.d).qpn, ==, QPN + n);
    }
    rdma_qp_destroy(t.d->dev, t.qp);
    feed(&t, UD_SEND, 0, 0, ext, sizeof(ext));
    g_assert_cmpuint(rdma_counters(t.d->dev)->rx_no_qp, ==, 1);
    double_recv(t.d, other, MEM, 100, t.key);
    feed(&t, UD_SEND, 1, 0, ext, sizeof(ext));
    g_assert_cmpuint(double_cqe(t.d).qpn, ==, QPN + 1);
    teardown(&t);
}

/* A QP that was reset in the middle of a message, with answers remembered and
 * owed, begins with nothing of that. */
static void test_reset_in_message(void)
{
    T t = setup(RDMA_RC);
    RdmaQpAttr a = *rdma_qp_attr(t.qp);
    uint8_t data[MTU] = { 0 };

    read_request(&t, 0, 4);
    answer(&t, ROCE_READ_ONLY);
    double_recv(t.d, t.qp, MEM, 1000, t.key);
    feed(&t, ROCE_SEND_FIRST, QPN, 1, data, MTU);
    answer(&t, ROCE_ACK);
    a.state = RDMA_QPS_RESET;
    rdma_qp_modify(t.d->dev, t.qp, &a, RDMA_QPA_STATE);
    for (a.state = RDMA_QPS_INIT; a.state <= RDMA_QPS_RTS; a.state++) {
        rdma_qp_modify(t.d->dev, t.qp, &a, RDMA_QPA_ALL);
    }
    double_recv(t.d, t.qp, MEM, 1000, t.key);
    feed(&t, ROCE_SEND_ONLY, QPN, 0, data, 8);
    g_assert_cmphex(answer(&t, ROCE_ACK), ==, AETH_CREDITS_NONE << 24 | 1);
    g_assert_cmpuint(double_cqe(t.d).byte_cnt, ==, 8);
    g_assert_cmpint(rdma_qp_attr(t.qp)->state, ==, RDMA_QPS_RTS);
    teardown(&t);
}

/* The personality hears of a state that it has not set. */
static void test_changed(void)
{
    T t = setup(RDMA_RC);
    uint8_t data[8] = { 0 };

    g_assert_cmpuint(t.d->changes, ==, 0);
    feed(&t, ROCE_SEND_MIDDLE, QPN, 0, data, 8);        /* of no message */
    answer(&t, ROCE_ACK);
    g_assert_cmpint(rdma_qp_attr(t.qp)->state, ==, RDMA_QPS_ERR);
    g_assert_cmpuint(t.d->changes, ==, 1);
    teardown(&t);
}

/* The same of a send queue that stands still. */
static void test_changed_sqe(void)
{
    T t = setup(RDMA_UC);
    RdmaWqe w = double_wqe(RDMA_OP_SEND, MEM, 8, t.key + 1);

    double_send(t.d, t.qp, &w);
    double_poll(t.d, 1000);
    g_assert_cmpint(double_cqe(t.d).status, !=, RDMA_WC_SUCCESS);
    g_assert_cmpint(rdma_qp_attr(t.qp)->state, ==, RDMA_QPS_SQE);
    g_assert_cmpuint(t.d->changes, ==, 1);
    teardown(&t);
}

/* Reads and atomics at a time: what is none is the usual, and there is a most. */
static void test_rd_atomic(void)
{
    T t = setup(RDMA_RC);
    RdmaQpAttr a = *rdma_qp_attr(t.qp);

    a.max_rd_atomic = 255;
    a.max_dest_rd_atomic = 0;
    rdma_qp_modify(t.d->dev, t.qp, &a, RDMA_QPA_RD_ATOMIC | RDMA_QPA_DEST_RD);
    g_assert_cmpuint(rdma_qp_attr(t.qp)->max_rd_atomic, ==, 128);
    g_assert_cmpuint(rdma_qp_attr(t.qp)->max_dest_rd_atomic, >, 0);
    g_assert_cmpuint(rdma_qp_attr(t.qp)->max_dest_rd_atomic, <=, 128);
    teardown(&t);
}

/* What leaves while there is no link is lost, and counted; with a link the port says
 * who it is. */
static void test_link(void)
{
    T t = setup(RDMA_UC);
    RdmaWqe w = double_wqe(RDMA_OP_SEND, MEM, 8, t.key);
    uint64_t frames;

    double_poll(t.d, 1000);
    g_ptr_array_set_size(t.d->wire, 0);
    frames = rdma_counters(t.d->dev)->tx_frames;
    rdma_link_set(t.d->dev, false);
    double_poll(t.d, 1000);
    g_assert_cmpuint(rdma_counters(t.d->dev)->tx_frames, ==, frames);
    double_send(t.d, t.qp, &w);
    double_poll(t.d, 1000);
    g_assert_cmpuint(rdma_counters(t.d->dev)->tx_frames, ==, frames + 1);
    g_assert_cmpuint(rdma_counters(t.d->dev)->tx_dropped, ==, 1);
    g_assert_cmpuint(t.d->wire->len, ==, 0);
    rdma_link_set(t.d->dev, true);
    double_poll(t.d, 1000);
    g_assert_cmpuint(t.d->wire->len, >, 0);
    g_assert_cmpuint(rdma_counters(t.d->dev)->tx_dropped, ==, 1);
    g_ptr_array_set_size(t.d->wire, 0);
    teardown(&t);
}

/* No bytes are always there; bytes are where the right is. */
static void test_refused_access(void)
{
    T t = setup(RDMA_RC);
    uint32_t key = double_mr(t.d, 3, MEM + 0x100000, 0x40000, 0x1000,
                             RDMA_ACC_LOCAL_READ);
    uint8_t b[4] = "new";

    g_assert_cmpuint(rdma_mr_write(t.d->dev, key, 7, MEM + 0x100000, b, 4,
                                   RDMA_ACC_LOCAL_WRITE), !=, 0);
    g_assert_cmpuint(t.d->mem[0x40000], ==, 0);
    g_assert_cmpuint(rdma_mr_write(t.d->dev, key + 1, 7, MEM + 0x100000, b, 0,
                                   RDMA_ACC_LOCAL_WRITE), ==, 0);
    g_assert_cmpuint(rdma_mr_read(t.d->dev, key + 1, 7, MEM + 0x100000, b, 0,
                                  RDMA_ACC_LOCAL_READ), ==, 0);
    g_assert_cmpuint(rdma_mr_read(t.d->dev, key + 1, 7, MEM + 0x100000, b, 4,
                                  RDMA_ACC_LOCAL_READ), !=, 0);
    teardown(&t);
}

/* Message numbers in answers: of Sends, Reads, and repeated ones. */
static void test_msn(void)
{
    T t = setup(RDMA_RC);
    uint8_t data[8] = { 0 };

    read_request(&t, 0, MTU + 1);
    g_assert_cmphex(answer(&t, ROCE_READ_FIRST) & 0xffffff, ==, 1);
    g_assert_cmphex(answer(&t, ROCE_READ_LAST) & 0xffffff, ==, 1);
    double_recv(t.d, t.qp, MEM, 100, t.key);
    feed(&t, ROCE_SEND_ONLY, QPN, 2, data, 8);
    g_assert_cmphex(answer(&t, ROCE_ACK) & 0xffffff, ==, 2);
    double_cqe(t.d);
    read_request(&t, 3, 1);
    g_assert_cmphex(answer(&t, ROCE_READ_ONLY) & 0xffffff, ==, 3);
    read_request(&t, 0, MTU + 1);
    g_assert_cmphex(answer(&t, ROCE_READ_FIRST) & 0xffffff, ==, 1);
    answer(&t, ROCE_READ_LAST);
    teardown(&t);
}

/* A repetition of what is not remembered ends before the next expected
 * packet. */
static void test_read_future(void)
{
    T t = setup(RDMA_RC);
    uint8_t data[8] = { 0 };

    for (unsigned i = 0; i < 2; i++) {
        double_recv(t.d, t.qp, MEM, 100, t.key);
        feed(&t, ROCE_SEND_ONLY, QPN, i, data, 8);
        answer(&t, ROCE_ACK);
        double_cqe(t.d);
    }
    read_request(&t, 0, 3 * MTU);
    g_assert_cmpuint(t.d->wire->len, ==, 0);
    read_request(&t, 0, 2 * MTU);
    answer(&t, ROCE_READ_FIRST);
    answer(&t, ROCE_READ_LAST);
    teardown(&t);
}

/* Communication is established by the first packet in RTR, and told of once. */
static void test_established(void)
{
    for (unsigned rts = 0; rts < 2; rts++) {
        T t = setup(RDMA_UC);
        RdmaQpAttr a = *rdma_qp_attr(t.qp);
        uint8_t data[8] = { 0 };

        a.state = RDMA_QPS_RESET;
        rdma_qp_modify(t.d->dev, t.qp, &a, RDMA_QPA_STATE);
        for (a.state = RDMA_QPS_INIT; a.state <= RDMA_QPS_RTR + rts;
             a.state++) {
            rdma_qp_modify(t.d->dev, t.qp, &a, RDMA_QPA_ALL);
        }
        for (unsigned i = 0; i < 2; i++) {
            double_recv(t.d, t.qp, MEM, 100, t.key);
            feed(&t, UC_SEND, QPN, i, data, 8);
            double_cqe(t.d);
        }
        g_assert_cmpuint(t.d->events->len, ==, !rts);
        if (!rts) {
            g_assert_cmphex(g_array_index(t.d->events, uint32_t, 0), ==,
                            RDMA_EV_COMM_EST << 24 | QPN);
        }
        teardown(&t);
    }
}

/* Compare and swap, in memory that is mapped and in memory that is not: what
 * was there is the answer, and it is replaced where it is what was asked for. */
static void test_compare_swap(void)
{
    static const struct {
        uint64_t compare, swap, before, after;
    } rows[] = {
        { 5, 7, 5, 7 },                     /* it is 5: now 7 */
        { 5, 9, 7, 7 },                     /* it is not */
        { 7, UINT64_MAX, 7, UINT64_MAX },
        { 0, 1, UINT64_MAX, UINT64_MAX },
    };

    for (int maps = 0; maps < 2; maps++) {
        T t = setup(RDMA_RC);
        uint8_t *cell = double_ptr(t.d, 1, MEM + 8);

        t.d->maps = maps;
        t.d->map_asked = 0;
        put_le64(cell, 5);
        for (unsigned i = 0; i < G_N_ELEMENTS(rows); i++) {
            uint8_t ext[ROCE_ATOMIC_BYTES];
            GBytes *f;

            atomic_put(ext, MEM + 8, t.key, rows[i].swap, rows[i].compare);
            feed(&t, ROCE_CMP_SWAP, QPN, i, ext, sizeof(ext));
            f = double_take(t.d);
            g_assert_nonnull(f);
            g_assert_cmphex(bth_opcode(frame_bth(f)), ==, ROCE_ATOMIC_ACK);
            g_assert_cmphex(get_be64(frame_bth(f) +
                                     roce_ops[ROCE_ATOMIC_ACK].atomack), ==,
                            rows[i].before);
            g_assert_cmphex(get_le64(cell), ==, rows[i].after);
            g_assert_cmpuint(t.d->map_asked, ==, 8);
            g_bytes_unref(f);
        }
        teardown(&t);
    }
}

/* To another state, by the driver, while a Read of 128 packets waits for a wire
 * that stopped; how many it takes then. */
static unsigned leave_read(RdmaQpState state)
{
    T t = setup(RDMA_RC);
    RdmaQpAttr a = { .state = state };
    unsigned n;

    t.d->wire_room = 4;
    read_request(&t, 0, 128 * MTU);
    n = t.d->wire->len;
    g_assert_cmpuint(n, >=, 4);
    g_assert_cmpuint(n, <, 128);
    rdma_qp_modify(t.d->dev, t.qp, &a, RDMA_QPA_STATE);
    t.d->wire_room = 0;
    rdma_wire_stop(t.d->dev, false);
    double_poll(t.d, 1000);
    g_assert_cmpuint(t.qp->resp.reply_head, ==, t.qp->resp.reply_tail);
    n = t.d->wire->len - n;
    g_ptr_array_set_size(t.d->wire, 0);
    teardown(&t);
    return n;
}

/* In error nobody is answered any more; SQE is the sender's alone. */
static void test_leave_read(void)
{
    unsigned rest = leave_read(RDMA_QPS_SQE);

    g_assert_cmpuint(rest, >, 0);
    g_assert_cmpuint(leave_read(RDMA_QPS_ERR), <, rest);
}

/* A receive that was half full is flushed. */
static void test_leave_receive(void)
{
    T t = setup(RDMA_RC);
    RdmaQpAttr a = { .state = RDMA_QPS_ERR };
    uint8_t data[MTU] = { 0 };
    RdmaCqe c;

    double_recv(t.d, t.qp, MEM, 2 * MTU, t.key);
    feed(&t, ROCE_SEND_FIRST, QPN, 0, data, MTU);
    g_assert_cmpuint(t.d->cqes->len, ==, 0);
    rdma_qp_modify(t.d->dev, t.qp, &a, RDMA_QPA_STATE);
    double_poll(t.d, 1000);
    c = double_cqe(t.d);
    g_assert_cmpuint(c.wqe_id, ==, 0);
    g_assert_cmpuint(c.status, ==, RDMA_WC_FLUSH);
    g_assert_cmpuint(t.d->cqes->len, ==, 0);
    g_ptr_array_set_size(t.d->wire, 0);
    teardown(&t);
}

/* What comes is counted with its bytes, at each address of the port: also at a
 * GID that is an IPv4 address. */
static void test_addresses(void)
{
    T t = setup(RDMA_UC);
    RdmaPort port = *rdma_port(t.d->dev);
    uint64_t bytes = 0;

    memcpy(port.gid[3], (uint8_t[16]) { [10] = 0xff, 0xff, 10, 0, 0, 77 }, 16);
    rdma_port_set(t.d->dev, &port);
    double_poll(t.d, 0);
    g_ptr_array_set_size(t.d->wire, 0);
    for (unsigned i = 0; i < 3; i++) {
        GBytes *f = frame_make(PEER, i == 1 ? 77 : i == 2 ? 78 : US, UC_SEND,
                               false, QPN, psn_add(EPSN, i), "abcd", 4);
        gsize size;
        uint8_t *p = g_memdup2(g_bytes_get_data(f, &size),
                               g_bytes_get_size(f));

        size = g_bytes_get_size(f);
        p[5] = US;              /* the port's MAC all the same */
        double_recv(t.d, t.qp, MEM, 100, t.key);
        rdma_rx_frame(t.d->dev, p, size, 1000);
        double_poll(t.d, 1000);
        bytes += i < 2 ? size : 0;
        g_assert_cmpuint(t.d->cqes->len, ==, MIN(i + 1, 2));
        g_free(p);
        g_bytes_unref(f);
    }
    g_assert_cmpuint(rdma_counters(t.d->dev)->rx_frames, ==, 2);
    g_assert_cmpuint(rdma_counters(t.d->dev)->rx_bytes, ==, bytes);
    teardown(&t);
}

/* A region of bus addresses, from the address itself. */
static void test_physical(void)
{
    T t = setup(RDMA_UC);
    RdmaMr mr = {
        .key = 2 << 8 | 0x5a, .pd = 7, .access = RDMA_ACC_RIGHTS,
        .physical = true, .start = 0, .length = UINT64_MAX,
    };
    uint8_t ext[ROCE_RETH_BYTES + 4], read[4];

    rdma_mr_set(t.d->dev, 2, &mr);
    reth_put(ext, MEM_BUS + 0x5004, mr.key, 4);
    memcpy(ext + ROCE_RETH_BYTES, "wxyz", 4);
    feed(&t, ROCE_OP(RDMA_UC, ROCE_WRITE_ONLY), QPN, 0, ext, sizeof(ext));
    g_assert_cmpmem(t.d->mem + 0x5004, 4, "wxyz", 4);
    g_assert_cmpuint(t.d->mem[0x5003] | t.d->mem[0x5008], ==, 0);
    g_assert_cmpuint(rdma_mr_read(t.d->dev, mr.key, 7, MEM_BUS + 0x5004, read, 4,
                                  RDMA_ACC_LOCAL_READ), ==, 0);
    g_assert_cmpmem(read, 4, "wxyz", 4);
    g_assert_cmpuint(rdma_mr_read(t.d->dev, mr.key, 7, MEM_BUS + MEM_SIZE, read,
                                  4, RDMA_ACC_LOCAL_READ), !=, 0);
    teardown(&t);
}

/* Other attributes of a QP do not make it ask anew where its peer is: with a wire
 * that stopped, nothing leaves. */
static void test_modify_stopped(void)
{
    T t = setup(RDMA_UC);
    RdmaWqe w = double_wqe(RDMA_OP_SEND, MEM, 8, t.key);
    RdmaQpAttr a = *rdma_qp_attr(t.qp);

    double_send(t.d, t.qp, &w);
    double_poll(t.d, 1000);
    g_bytes_unref(double_take(t.d));
    rdma_wire_stop(t.d->dev, true);
    rdma_qp_modify(t.d->dev, t.qp, &a, RDMA_QPA_ACCESS | RDMA_QPA_TIMEOUT);
    double_send(t.d, t.qp, &w);
    double_poll(t.d, 1000);
    g_assert_cmpuint(t.d->wire->len, ==, 0);
    rdma_wire_stop(t.d->dev, false);
    double_poll(t.d, 1000);
    g_bytes_unref(double_take(t.d));
    teardown(&t);
}

/* A region of all bus addresses. */
static uint32_t all_memory(T *t)
{
    RdmaMr mr = {
        .key = 2 << 8 | 0x5a, .pd = 7, .access = RDMA_ACC_RIGHTS,
        .physical = true, .length = UINT64_MAX,
    };

    rdma_mr_set(t->d->dev, 2, &mr);
    return mr.key;
}

/* 2 GiB can be read at once, and not a byte more (IB 1.3 §9.7.4.1.6). */
static void test_longest_read(void)
{
    for (unsigned more = 0; more < 2; more++) {
        T t = setup(RDMA_RC);
        uint32_t key = all_memory(&t);
        uint8_t ext[ROCE_RETH_BYTES];

        t.d->wire_room = 1;
        reth_put(ext, MEM_BUS, key, (1u << 31) + more);
        feed(&t, ROCE_READ_REQ, QPN, 0, ext, sizeof(ext));
        if (more) {
            g_assert_cmphex(answer(&t, ROCE_ACK) >> 24, ==,
                            AETH_NAK | NAK_INVALID_REQUEST);
        } else {
            answer(&t, ROCE_READ_FIRST);
            answer(&t, ROCE_READ_MIDDLE);
        }
        g_ptr_array_set_size(t.d->wire, 0);
        teardown(&t);
    }
}

/* The same of what is asked for here. */
static void test_longest_asked(void)
{
    for (unsigned more = 0; more < 2; more++) {
        T t = setup(RDMA_RC);
        RdmaWqe w = double_wqe(RDMA_OP_READ, 0, 1u << 31, all_memory(&t));

        w.num_sge = 1 + more;
        w.sge[1] = (RdmaSge) { 0, 1, w.sge[0].key };
        double_send(t.d, t.qp, &w);
        double_poll(t.d, 1000);
        g_assert_cmpuint(t.d->wire->len, ==, !more);
        if (more) {
            g_assert_cmpint(double_cqe(t.d).status, ==, RDMA_WC_LOC_LEN);
        } else {
            GBytes *f = double_take(t.d);

            g_assert_cmpuint(reth_len(frame_bth(f) + ROCE_BTH_BYTES), ==,
                             1u << 31);
            g_bytes_unref(f);
        }
        teardown(&t);
    }
}

/* The same of a Write, of which the last bytes come. */
static void test_longest_write(void)
{
    for (unsigned more = 0; more < 2; more++) {
        T t = setup(RDMA_RC);
        uint32_t key = all_memory(&t), len = (1u << 31) + more * MTU;
        uint8_t ext[ROCE_RETH_BYTES + MTU] = { 0 };
        Responder *r = &t.qp->resp;

        reth_put(ext, MEM_BUS, key, len);
        feed(&t, ROCE_WRITE_FIRST, QPN, 0, ext, sizeof(ext));
        g_assert_cmphex(answer(&t, ROCE_ACK) >> 24, ==, AETH_CREDITS_NONE);
        r->got = len - MTU;             /* as if all between had come */
        r->va = MEM_BUS + 0x1000 - r->got;
        memset(ext, 0x77, MTU);
        feed(&t, ROCE_WRITE_LAST, QPN, 1, ext, MTU);
        g_assert_cmphex(answer(&t, ROCE_ACK) >> 24, ==, more ?
                        AETH_NAK | NAK_INVALID_REQUEST : AETH_CREDITS_NONE);
        g_assert_cmphex(t.d->mem[0x1000 + MTU - 1], ==, more ? 0 : 0x77);
        teardown(&t);
    }
}

/* An answer to a QP that has asked nothing yet. */
static void test_answer_early(void)
{
    T t = setup(RDMA_RC);
    RdmaQpAttr a = *rdma_qp_attr(t.qp);
    uint8_t aeth[ROCE_AETH_BYTES];

    a.state = RDMA_QPS_RESET;
    rdma_qp_modify(t.d->dev, t.qp, &a, RDMA_QPA_STATE);
    for (a.state = RDMA_QPS_INIT; a.state <= RDMA_QPS_RTR; a.state++) {
        rdma_qp_modify(t.d->dev, t.qp, &a, RDMA_QPA_ALL);
    }
    aeth_put(aeth, AETH_ACK, 1);
    feed(&t, ROCE_ACK, QPN, 0, aeth, sizeof(aeth));
    g_assert_cmpuint(rdma_counters(t.d->dev)->rx_qp_state, ==, 1);
    g_assert_cmpuint(rdma_counters(t.d->dev)->rx_ghost, ==, 0);
    teardown(&t);
}

/* A message that cannot be repeated, for its region is gone, ends the repetition:
 * what is behind it is of no use to the peer. */
static void test_repeat_fails(void)
{
    T t = setup(RDMA_RC);
    uint32_t gone = double_mr(t.d, 3, MEM, 0x10000, 0x1000, RDMA_ACC_RIGHTS);
    uint8_t aeth[ROCE_AETH_BYTES];
    GBytes *f;

    for (unsigned i = 0; i < 3; i++) {
        RdmaWqe w = double_wqe(RDMA_OP_SEND, MEM, 8, i == 1 ? gone : t.key);

        double_send(t.d, t.qp, &w);
    }
    double_poll(t.d, 1000);
    g_assert_cmpuint(t.d->wire->len, ==, 3);
    g_ptr_array_set_size(t.d->wire, 0);
    rdma_mr_clear(t.d->dev, 3);
    double_poll(t.d, 1000 + (INT64_C(4096) << 14));
    g_assert_cmpuint(t.d->wire->len, ==, 1);
    f = double_take(t.d);
    g_assert_cmphex(bth_psn(frame_bth(f)), ==, PSN);
    g_bytes_unref(f);
    g_assert_cmpuint(t.d->cqes->len, ==, 0);
    aeth_put(aeth, AETH_ACK, 1);
    f = frame_make(PEER, US, ROCE_ACK, false, QPN, PSN, aeth, sizeof(aeth));
    rdma_rx_frame(t.d->dev, g_bytes_get_data(f, NULL), g_bytes_get_size(f),
                  2000 + (INT64_C(4096) << 14));
    g_bytes_unref(f);
    double_poll(t.d, 2000 + (INT64_C(4096) << 14));
    g_assert_cmpint(double_cqe(t.d).status, ==, RDMA_WC_SUCCESS);
    g_assert_cmpint(double_cqe(t.d).status, ==, RDMA_WC_LOC_PROT);
    g_assert_cmpint(double_cqe(t.d).status, ==, RDMA_WC_FLUSH);
    teardown(&t);
}

static void often(RdmaConfig *cfg)
{
    cfg->err_repoll_us = 1000;
}

/* A QP in error that has come to rest looks for receives again when it is rung. */
static void test_rung_at_rest(void)
{
    Double *d = double_new(US, often);
    RdmaQp *qp = double_qp(d, QPN, RDMA_RC, PEER, DQPN, PSN, EPSN, 1);
    RdmaQpAttr a = { .state = RDMA_QPS_ERR };
    int64_t now = 1000, next;

    rdma_qp_modify(d->dev, qp, &a, RDMA_QPA_STATE);
    while ((next = double_poll(d, now)) != NEVER) {
        g_assert_cmpint(next, >=, now + 1000000);
        g_assert_cmpint(next, <=, 1000 + ERR_REST_NS);
        now = next;
    }
    rdma_qp_kick(d->dev, qp);
    g_assert_cmpint(double_poll(d, now), ==, now + 1000000);
    g_assert_cmpuint(d->cqes->len, ==, 0);
    double_free(d);
}

/* A QP that ends again is looked at as often as the first time. */
static void test_error_again(void)
{
    Double *d = double_new(US, often);
    RdmaQp *qp = double_qp(d, QPN, RDMA_RC, PEER, DQPN, PSN, EPSN, 1);
    RdmaQpAttr a = *rdma_qp_attr(qp);
    int64_t now = 1000;

    for (unsigned round = 0; round < 2; round++) {
        a.state = RDMA_QPS_ERR;
        rdma_qp_modify(d->dev, qp, &a, RDMA_QPA_STATE);
        for (unsigned i = 0; i < 5; i++) {
            int64_t next = double_poll(d, now);

            g_assert_cmpint(next, ==, now + (INT64_C(1000000) << i));
            now = next;
        }
        a.state = RDMA_QPS_RESET;
        rdma_qp_modify(d->dev, qp, &a, RDMA_QPA_STATE);
        for (a.state = RDMA_QPS_INIT; a.state <= RDMA_QPS_RTS; a.state++) {
            rdma_qp_modify(d->dev, qp, &a, RDMA_QPA_ALL);
        }
    }
    double_free(d);
}

/* A completion names the P_Key by which the packet came: the QP's, or, for a QP of
 * management, the one of the table that fits. */
static void test_pkey_index(void)
{
    T t = setup(RDMA_UD);
    RdmaPort port = *rdma_port(t.d->dev);
    uint8_t ext[ROCE_DETH_BYTES + 256] = { 0 };
    RdmaQpAttr a = *rdma_qp_attr(t.qp);

    port.num_pkeys = 4;
    port.pkey[0] = port.pkey[1] = port.pkey[3] = 0x8001;
    port.pkey[2] = 0xffff;
    rdma_port_set(t.d->dev, &port);
    put_be32(ext, 0x11111111);
    for (unsigned special = 0; special < 2; special++) {
        a.special = special;
        a.pkey_index = special ? 3 : 2;
        rdma_qp_modify(t.d->dev, t.qp, &a, RDMA_QPA_PKEY | RDMA_QPA_SPECIAL);
        double_recv(t.d, t.qp, MEM, 300, t.key);
        feed(&t, UD_SEND, QPN, 0, ext, sizeof(ext));
        g_assert_cmpuint(double_cqe(t.d).pkey_index, ==, 2);
    }
    g_assert_cmpuint(rdma_counters(t.d->dev)->rx_pkey, ==, 0);
    g_ptr_array_set_size(t.d->wire, 0);
    teardown(&t);
}

/* Groups are told apart by every byte of their names, though some have one address
 * on the wire. */
static void test_groups(void)
{
    T t = setup(RDMA_UD);
    uint8_t mgid[16] = { 0xff, 0x0e, [10] = 0xff, 0xff, 0xe0, 1, 2, 3 };

    g_assert_true(rdma_mcast_attach(t.d->dev, mgid, QPN));
    for (unsigned i = 0; i < 16; i++) {
        mgid[i] ^= 1;
        g_assert_false(rdma_mcast_detach(t.d->dev, mgid, QPN));
        g_assert_true(rdma_mcast_attach(t.d->dev, mgid, QPN));
        g_assert_false(rdma_mcast_attach(t.d->dev, mgid, QPN));
        g_assert_true(rdma_mcast_detach(t.d->dev, mgid, QPN));
        mgid[i] ^= 1;
    }
    g_assert_true(rdma_mcast_detach(t.d->dev, mgid, QPN));
    g_assert_cmpuint(t.d->dev->mcast->len, ==, 0);
    teardown(&t);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/life/defaults", test_defaults);
    g_test_add_func("/life/reset-regions", test_reset_regions);
    g_test_add_func("/life/reset-loopback", test_reset_loopback);
    g_test_add_func("/life/alias", test_alias);
    g_test_add_func("/life/reset-in-message", test_reset_in_message);
    g_test_add_func("/life/changed", test_changed);
    g_test_add_func("/life/changed-sqe", test_changed_sqe);
    g_test_add_func("/life/rd-atomic", test_rd_atomic);
    g_test_add_func("/life/link", test_link);
    g_test_add_func("/life/refused-access", test_refused_access);
    g_test_add_func("/life/msn", test_msn);
    g_test_add_func("/life/read-future", test_read_future);
    g_test_add_func("/life/compare-swap", test_compare_swap);
    g_test_add_func("/life/leave-read", test_leave_read);
    g_test_add_func("/life/leave-receive", test_leave_receive);
    g_test_add_func("/life/addresses", test_addresses);
    g_test_add_func("/life/physical", test_physical);
    g_test_add_func("/life/established", test_established);
    g_test_add_func("/life/modify-stopped", test_modify_stopped);
    g_test_add_func("/life/longest-read", test_longest_read);
    g_test_add_func("/life/longest-asked", test_longest_asked);
    g_test_add_func("/life/longest-write", test_longest_write);
    g_test_add_func("/life/error-again", test_error_again);
    g_test_add_func("/life/answer-early", test_answer_early);
    g_test_add_func("/life/repeat-fails", test_repeat_fails);
    g_test_add_func("/life/rung-at-rest", test_rung_at_rest);
    g_test_add_func("/life/pkey-index", test_pkey_index);
    g_test_add_func("/life/groups", test_groups);
    return g_test_run();
}
