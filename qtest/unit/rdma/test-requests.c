/*
 * What a responder makes of requests and datagrams: which it answers, with what, and
 * what it tells of them.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "one-end.h"

/* A Write of one packet, as it says @says bytes and is @len. */
static void write_only(T *t, uint32_t psn, uint32_t says, uint32_t len)
{
    uint8_t ext[ROCE_RETH_BYTES + MTU] = { 0 };

    reth_put(ext, MEM, t->key, says);
    feed(t, ROCE_WRITE_ONLY, psn, ext, ROCE_RETH_BYTES + len);
}

static void fetch_add(T *t, uint32_t psn)
{
    uint8_t ext[ROCE_ATOMIC_BYTES];

    atomic_put(ext, MEM + 8, t->key, 1, 0);
    feed(t, ROCE_FETCH_ADD, psn, ext, sizeof(ext));
}

/* ---- Requests ---- */

/* Whose answer it is: P_Key of the QP, nothing asked for. */
static void test_header(void)
{
    for (unsigned way = 0; way < 2; way++) {
        T t = setup(RDMA_RC, NULL);
        RdmaPort port = *rdma_port(t.d->dev);
        RdmaQpAttr a = { .pkey_index = way };
        const uint8_t *bth;

        port.pkey[0] = 0x7fff;
        port.pkey[1] = 0x8001;  /* not of the table */
        rdma_port_set(t.d->dev, &port);
        rdma_qp_modify(t.d->dev, t.qp, &a, RDMA_QPA_PKEY);
        write_only(&t, EPSN, 8, 8);
        g_assert_cmpuint(t.d->wire->len, ==, 1);
        bth = frame_bth(g_ptr_array_index(t.d->wire, 0));
        g_assert_cmphex(bth_pkey(bth), ==, way ? 0xffff : 0x7fff);
        g_assert_cmphex(bth[1], ==, 0);
        g_assert_false(bth_ackreq(bth));
        g_assert_cmphex(bth_dqpn(bth), ==, DQPN);
        forget_wire(&t);
        g_assert_cmpuint(t.d->packets[1], ==, 1);
        g_assert_cmphex(t.d->packet[0], ==, ROCE_ACK);
        g_assert_cmphex(t.d->packet[1], ==, DQPN);
        g_assert_cmphex(t.d->packet[2], ==, EPSN);
        g_assert_cmpuint(t.d->packet[3], ==, 0);
        teardown(&t);
    }
}

/* Only what was asked for is acknowledged; the same again in any case. */
static void test_not_asked(void)
{
    T t = setup(RDMA_RC, NULL);

    for (unsigned i = 0; i < 2; i++) {
        GBytes *f = frame_make(PEER, US, ROCE_SEND_ONLY, false, QPN, EPSN,
                               "12345678", 8);

        double_recv(t.d, t.qp, MEM, 100, t.key);
        rdma_rx_frame(t.d->dev, g_bytes_get_data(f, NULL), g_bytes_get_size(f),
                      t.now);
        double_poll(t.d, t.now);
        g_bytes_unref(f);
        g_assert_cmpuint(t.d->cqes->len, ==, 1);
        g_assert_cmpuint(t.d->wire->len, ==, i);
    }
    next(&t, ROCE_ACK, EPSN);
    teardown(&t);
}

/* A NAK that is due is not taken back by a repetition, but by what was missing. */
static void test_nak_stays(void)
{
    T t = setup(RDMA_RC, NULL);

    for (unsigned i = 0; i < 4; i++) {
        double_recv(t.d, t.qp, MEM, 100, t.key);
    }
    feed(&t, ROCE_SEND_ONLY, EPSN, "12345678", 8);
    next(&t, ROCE_ACK, EPSN);
    put(&t, ROCE_SEND_ONLY, QPN, EPSN + 2, "12345678", 8);
    put(&t, ROCE_SEND_ONLY, QPN, EPSN, "12345678", 8);
    double_poll(t.d, t.now);
    g_assert_cmphex(next(&t, ROCE_ACK, EPSN + 1), ==, AETH_NAK |
                    NAK_PSN_SEQUENCE);
    g_assert_cmpuint(t.d->wire->len, ==, 0);
    g_assert_cmpuint(rdma_counters(t.d->dev)->rx_out_of_sequence, ==, 1);
    feed(&t, ROCE_SEND_ONLY, EPSN + 1, "12345678", 8);
    next(&t, ROCE_ACK, EPSN + 1);
    put(&t, ROCE_SEND_ONLY, QPN, EPSN + 3, "12345678", 8);
    put(&t, ROCE_SEND_ONLY, QPN, EPSN + 2, "12345678", 8);
    double_poll(t.d, t.now);
    g_assert_cmphex(next(&t, ROCE_ACK, EPSN + 2), ==, AETH_CREDITS_NONE);
    /* An acknowledgement that is due gives way to a NAK. */
    put(&t, ROCE_SEND_ONLY, QPN, EPSN + 3, "12345678", 8);
    put(&t, ROCE_SEND_ONLY, QPN, EPSN + 5, "12345678", 8);
    double_poll(t.d, t.now);
    g_assert_cmphex(next(&t, ROCE_ACK, EPSN + 4), ==, AETH_NAK |
                    NAK_PSN_SEQUENCE);
    g_assert_cmpuint(rdma_counters(t.d->dev)->rx_out_of_sequence, ==, 3);
    teardown(&t);
}

static void go_on(RdmaConfig *cfg)
{
    cfg->resp_fatal = false;
}

/* A responder that goes on after an invalid request: silent until it comes right. A
 * failure of its own ends it all the same. */
static void test_not_fatal(void)
{
    T t = setup(RDMA_RC, go_on);

    feed(&t, ROCE_SEND_MIDDLE, EPSN, "12345678", 8);
    g_assert_cmphex(next(&t, ROCE_ACK, EPSN), ==, AETH_NAK |
                    NAK_INVALID_REQUEST);
    g_assert_cmpint(t.qp->attr.state, ==, RDMA_QPS_RTS);
    g_assert_cmpuint(t.d->events->len, ==, 0);
    feed(&t, ROCE_SEND_ONLY, EPSN + 1, "12345678", 8);
    g_assert_cmpuint(t.d->wire->len, ==, 0);
    write_only(&t, EPSN, 8, 8);
    g_assert_cmphex(next(&t, ROCE_ACK, EPSN), ==, AETH_CREDITS_NONE);
    t.d->bad_rq = true;
    feed(&t, ROCE_SEND_ONLY, EPSN + 1, "12345678", 8);
    g_assert_cmphex(next(&t, ROCE_ACK, EPSN + 1), ==, AETH_NAK | NAK_REMOTE_OP);
    g_assert_cmpint(t.qp->attr.state, ==, RDMA_QPS_ERR);
    g_assert_cmphex(g_array_index(t.d->events, uint32_t, 0), ==,
                    RDMA_EV_WQ_CATAS << 24 | QPN);
    teardown(&t);
}

/* What is sent as an answer is counted by its kind. */
static void test_answers_counted(void)
{
    T t = setup(RDMA_RC, go_on);
    const RdmaCounters *c = rdma_counters(t.d->dev);

    write_only(&t, EPSN, 8, 8);
    g_assert_cmpuint(c->ack_tx, ==, 1);
    feed(&t, ROCE_SEND_ONLY, EPSN + 1, "12345678", 8);
    g_assert_cmpuint(c->rnr_tx, ==, 1);
    feed(&t, ROCE_SEND_MIDDLE, EPSN + 1, "12345678", 8);
    g_assert_cmpuint(c->nak_inv_tx, ==, 1);
    read_request(&t, EPSN + 1, 0x100000, 8);
    g_assert_cmpuint(c->nak_access_tx, ==, 1);
    write_only(&t, EPSN + 1, 8, 8);
    feed(&t, ROCE_SEND_ONLY, EPSN + 3, "12345678", 8);
    g_assert_cmpuint(c->nak_seq_tx, ==, 1);
    g_assert_cmpuint(c->ack_tx, ==, 2);
    g_assert_cmpuint(c->nak_op_tx, ==, 0);
    t.d->bad_rq = true;
    feed(&t, ROCE_SEND_ONLY, EPSN + 2, "12345678", 8);
    g_assert_cmpuint(c->nak_op_tx, ==, 1);
    g_assert_cmpuint(c->ack_tx + c->rnr_tx + c->nak_inv_tx + c->nak_access_tx +
                     c->nak_seq_tx + c->nak_op_tx, ==, 7);
    forget_wire(&t);
    teardown(&t);
}

/* Repetitions that fill the ring of answers give way to a new Read, the oldest first. */
static void test_full_of_copies(void)
{
    T t = setup(RDMA_RC, NULL);
    RdmaQpAttr a = { .max_dest_rd_atomic = 1 };

    rdma_qp_modify(t.d->dev, t.qp, &a, RDMA_QPA_DEST_RD);
    g_assert_cmpuint(t.qp->resp.reply_num, ==, 2);
    for (unsigned i = 0; i < 2; i++) {
        read_request(&t, EPSN + i, 8 * i, 8);
        next(&t, ROCE_READ_ONLY, EPSN + i);
    }
    rdma_wire_stop(t.d->dev, true);
    for (unsigned i = 0; i < 3; i++) {
        read_request(&t, EPSN + i, 8 * i, 8);
    }
    g_assert_cmpuint(t.d->wire->len, ==, 0);
    rdma_wire_stop(t.d->dev, false);
    double_poll(t.d, t.now);
    next(&t, ROCE_READ_ONLY, EPSN + 1);
    next(&t, ROCE_READ_ONLY, EPSN + 2);
    teardown(&t);
}

/* Bytes that fill up to four are zero, whatever was there before. */
static void test_pad(void)
{
    T t = setup(RDMA_RC, NULL);
    const uint8_t *bth;

    for (unsigned i = 0; i < MTU; i++) {
        *double_ptr(t.d, 1, MEM + i) = 0x77;
    }
    read_request(&t, EPSN, 0, MTU);
    next(&t, ROCE_READ_ONLY, EPSN);
    read_request(&t, EPSN + 1, 0, 1);
    g_assert_cmpuint(t.d->wire->len, ==, 1);
    bth = frame_bth(g_ptr_array_index(t.d->wire, 0));
    g_assert_cmpuint(bth_pad(bth), ==, 3);
    g_assert_cmphex(get_be32(bth + roce_ops[ROCE_READ_ONLY].hdr_len), ==,
                    0x77000000);
    g_assert_cmpuint(t.d->packet[3], ==, 1);
    forget_wire(&t);
    teardown(&t);
}

/* Atomics count as messages, and are remembered with their number; in memory that is
 * mapped and in memory that is not. */
static void test_atomic_msn(void)
{
    for (unsigned maps = 0; maps < 2; maps++) {
        T t = setup(RDMA_RC, NULL);

        t.d->maps = maps;
        for (unsigned i = 0; i < 3; i++) {
            const uint8_t *bth;

            fetch_add(&t, EPSN + i % 2);
            g_assert_cmpuint(t.d->wire->len, ==, 1);
            bth = frame_bth(g_ptr_array_index(t.d->wire, 0));
            g_assert_cmphex(get_be32(bth + ROCE_BTH_BYTES), ==,
                            AETH_CREDITS_NONE << 24 | (1 + i % 2));
            g_assert_cmpuint(get_be64(bth + roce_ops[ROCE_ATOMIC_ACK].atomack),
                             ==, i % 2);
            forget_wire(&t);
        }
        g_assert_cmpuint(get_le64(double_ptr(t.d, 1, MEM + 8)), ==, 2);
        teardown(&t);
    }
}

/* A QP that goes acknowledges nothing that is behind a Read without an answer. */
static void test_no_last_ack(void)
{
    T t = setup(RDMA_RC, NULL);
    uint8_t ext[ROCE_RETH_BYTES];

    double_recv(t.d, t.qp, MEM, 100, t.key);
    reth_put(ext, MEM, t.key, 8);
    put(&t, ROCE_READ_REQ, QPN, EPSN, ext, sizeof(ext));
    put(&t, ROCE_SEND_ONLY, QPN, EPSN + 1, "12345678", 8);
    g_assert_cmpuint(t.d->cqes->len, ==, 1);
    rdma_qp_destroy(t.d->dev, t.qp);
    double_poll(t.d, t.now);
    g_assert_cmpuint(t.d->wire->len, ==, 0);
    teardown(&t);
}

/* Each operation needs its own right, and no other. */
static void test_rights(void)
{
    static const unsigned rights[] = {
        RDMA_ACC_REMOTE_WRITE, RDMA_ACC_REMOTE_READ, RDMA_ACC_REMOTE_ATOMIC,
    };
    const unsigned all = rights[0] | rights[1] | rights[2];

    for (unsigned i = 0; i < 6; i++) {
        unsigned op = i / 2, right = i % 2;
        T t = setup(RDMA_RC, NULL);
        RdmaQpAttr a = { .access = right ? rights[op] : all & ~rights[op] };
        uint8_t opcode = right ? (op == 0 ? ROCE_ACK : op == 1 ?
                                  ROCE_READ_ONLY : ROCE_ATOMIC_ACK) : ROCE_ACK;
        uint8_t s;

        rdma_qp_modify(t.d->dev, t.qp, &a, RDMA_QPA_ACCESS);
        if (op == 0) {
            write_only(&t, EPSN, 8, 8);
        } else if (op == 1) {
            read_request(&t, EPSN, 0, 8);
        } else {
            fetch_add(&t, EPSN);
        }
        s = next(&t, opcode, EPSN);
        g_assert_cmphex(s, ==, right ? AETH_CREDITS_NONE :
                               AETH_NAK | NAK_INVALID_REQUEST);
        teardown(&t);
    }
}

static void no_atomics(RdmaConfig *cfg)
{
    cfg->atomics = false;
}

/* Atomics that are switched off, and more of them than were agreed. */
static void test_atomics_refused(void)
{
    T t = setup(RDMA_RC, no_atomics);
    RdmaQpAttr a = { .max_dest_rd_atomic = 1 };
    uint8_t ext[ROCE_ATOMIC_BYTES];

    write_only(&t, EPSN, 8, 8);
    next(&t, ROCE_ACK, EPSN);
    fetch_add(&t, EPSN + 1);
    g_assert_cmphex(next(&t, ROCE_ACK, EPSN + 1), ==, AETH_NAK |
                    NAK_INVALID_REQUEST);
    teardown(&t);

    t = setup(RDMA_RC, NULL);
    rdma_qp_modify(t.d->dev, t.qp, &a, RDMA_QPA_DEST_RD);
    atomic_put(ext, MEM + 8, t.key, 1, 0);
    put(&t, ROCE_FETCH_ADD, QPN, EPSN, ext, sizeof(ext));
    put(&t, ROCE_FETCH_ADD, QPN, EPSN + 1, ext, sizeof(ext));
    double_poll(t.d, t.now);
    next(&t, ROCE_ATOMIC_ACK, EPSN);
    g_assert_cmphex(next(&t, ROCE_ACK, EPSN + 1), ==, AETH_NAK |
                    NAK_INVALID_REQUEST);
    g_assert_cmpuint(get_le64(double_ptr(t.d, 1, MEM + 8)), ==, 1);
    teardown(&t);
}

/* Lengths that are not those of the place in the message, or not what it said. */
static void test_lengths(void)
{
    uint8_t data[MTU] = { 0 };

    for (unsigned i = 0; i < 4; i++) {
        T t = setup(RDMA_RC, NULL);
        bool middle = i < 2;

        double_recv(t.d, t.qp, MEM, 4 * MTU, t.key);
        if (middle) {
            feed(&t, ROCE_SEND_FIRST, EPSN, data, MTU);
            next(&t, ROCE_ACK, EPSN);
            feed(&t, ROCE_SEND_MIDDLE, EPSN + 1, data, MTU - 4 * i);
        } else {
            write_only(&t, EPSN, i == 2 ? 4 : 12, 8);
        }
        g_assert_cmpuint(rdma_counters(t.d->dev)->rx_length, ==, i > 0);
        g_assert_cmphex(next(&t, ROCE_ACK, EPSN + middle), ==, i ? AETH_NAK |
                        NAK_INVALID_REQUEST : AETH_CREDITS_NONE);
        teardown(&t);
    }
}

static void by_ib(RdmaConfig *cfg)
{
    cfg->len_nak_op = false;
}

/* By IB a Send that is too long is an invalid request, by the document a failure; a
 * receive that cannot be written is a failure by either. */
static void test_too_long(void)
{
    for (unsigned i = 0; i < 4; i++) {
        T t = setup(RDMA_RC, i & 1 ? by_ib : NULL);
        bool longer = i & 2;

        double_recv(t.d, t.qp, MEM, longer ? 4 : 8, t.key ^ (longer ? 0 : 0x100));
        feed(&t, ROCE_SEND_ONLY, EPSN, "12345678", 8);
        g_assert_cmpint(double_cqe(t.d).status, ==, longer ? RDMA_WC_LOC_LEN :
                        RDMA_WC_LOC_PROT);
        g_assert_cmphex(next(&t, ROCE_ACK, EPSN), ==, AETH_NAK | (i == 3 ?
                        NAK_INVALID_REQUEST : NAK_REMOTE_OP));
        teardown(&t);
    }
}

/* A receive of several pieces is as long as all of them. */
static void test_pieces(void)
{
    for (unsigned more = 0; more < 2; more++) {
        T t = setup(RDMA_RC, NULL);
        RdmaRecvWqe *w = t.d->q[QPN & 15].recv;
        uint8_t data[MTU];

        memset(data, 0x5a, MTU);
        double_recv(t.d, t.qp, MEM, 100, t.key);
        w->num_sge = 2;
        w->sge[1] = (RdmaSge) { MEM + 0x1000, MTU - 100 - more, t.key };
        feed(&t, ROCE_SEND_ONLY, EPSN, data, MTU);
        g_assert_cmpint(double_cqe(t.d).status, ==, more ? RDMA_WC_LOC_LEN :
                        RDMA_WC_SUCCESS);
        g_assert_cmphex(*double_ptr(t.d, 1, MEM + 0x1000 + MTU - 101), ==,
                        more ? 0 : 0x5a);
        forget_wire(&t);
        teardown(&t);
    }
}

/* What a completion tells of how the message came: solicited, and by whom. */
static void test_told(void)
{
    T t = setup(RDMA_RC, NULL);

    for (unsigned i = 0; i < 3; i++) {
        GBytes *f = frame_make(PEER, US, i < 2 ? ROCE_SEND_ONLY :
                               ROCE_SEND_ONLY_IMM, true, QPN, EPSN + i,
                               "12345678", 8);
        gsize len;
        uint8_t *p = g_bytes_unref_to_data(f, &len);
        RdmaCqe c;

        double_recv(t.d, t.qp, MEM, 100, t.key);
        p[ROCE_NET_BYTES + 1] |= i << 7;
        put_le32(p + len - 4, roce_icrc(p + 14, len - 18));
        rdma_rx_frame(t.d->dev, p, len, t.now);
        g_free(p);
        c = double_cqe(t.d);
        g_assert_cmpint(c.solicited, ==, i == 1);
        g_assert_cmpint(c.has_imm, ==, i == 2);
        g_assert_false(c.has_grh);
        g_assert_cmphex(c.rlid, ==, 0);
        g_assert_cmphex(c.rqpn, ==, DQPN);
        g_assert_cmpuint(t.d->packets[0], ==, i + 1);
        g_assert_cmpuint(t.d->packet[3], ==, i < 2 ? 8 : 4);
    }
    double_poll(t.d, t.now);
    forget_wire(&t);
    teardown(&t);
}

/* ---- Datagrams ---- */

static void datagram(T *t, uint32_t qpn, uint32_t qkey, uint32_t len)
{
    uint8_t ext[ROCE_DETH_BYTES + MTU] = { 0 };

    deth_put(ext, qkey, 0x777);
    put(t, ROCE_OP(RDMA_UD, ROCE_SEND_ONLY), qpn, EPSN, ext,
        ROCE_DETH_BYTES + len);
}

static void any_qkey(RdmaConfig *cfg)
{
    cfg->qkey_check = false;
}

static void zero_qkey(RdmaConfig *cfg)
{
    cfg->qkey_zero_any = true;
}

/* Who takes a datagram with another Q_Key than its own. */
static void test_qkeys(void)
{
    static const struct {
        void (*tweak)(RdmaConfig *cfg);
        uint32_t own, comes;
        int alias;              /* of the special number, -1: none */
        bool taken;
    } rows[] = {
        { NULL, 5, 5, -1, true }, { NULL, 5, 6, -1, false },
        { any_qkey, 5, 6, -1, true }, { zero_qkey, 5, 6, -1, false },
        { zero_qkey, 0, 6, -1, true }, { NULL, 0, 6, -1, false },
        { NULL, 5, 6, 0, true }, { NULL, 5, 6, 1, false },
    };

    for (unsigned i = 0; i < G_N_ELEMENTS(rows); i++) {
        T t = setup(RDMA_UD, rows[i].tweak);
        RdmaQpAttr a = { .qkey = rows[i].own };

        rdma_qp_modify(t.d->dev, t.qp, &a, RDMA_QPA_QKEY);
        if (rows[i].alias >= 0) {
            rdma_qp_alias(t.d->dev, rows[i].alias, t.qp);
        }
        double_recv(t.d, t.qp, MEM, 200, t.key);
        datagram(&t, rows[i].alias < 0 ? QPN : rows[i].alias, rows[i].comes, 8);
        g_assert_cmpuint(t.d->cqes->len, ==, rows[i].taken);
        g_assert_cmpuint(rdma_counters(t.d->dev)->rx_qkey, ==, !rows[i].taken);
        teardown(&t);
    }
}

/* The route header and a datagram fit to the byte. */
static void test_fits(void)
{
    for (unsigned less = 0; less < 2; less++) {
        T t = setup(RDMA_UD, NULL);

        double_recv(t.d, t.qp, MEM, RDMA_GRH_BYTES + 100 - less, t.key);
        datagram(&t, QPN, 0x11111111, 100);
        g_assert_cmpint(double_cqe(t.d).status, ==, less ? RDMA_WC_LOC_LEN :
                        RDMA_WC_SUCCESS);
        g_assert_cmpint(t.qp->attr.state, ==, less ? RDMA_QPS_ERR :
                        RDMA_QPS_RTS);
        teardown(&t);
    }
}

/* What everybody hears comes from the permissive LID. */
static void test_broadcast(void)
{
    T t = setup(RDMA_UD, NULL);
    uint8_t ext[ROCE_DETH_BYTES + 4] = { 0 };
    GBytes *f;
    gsize len;
    uint8_t *p;

    double_recv(t.d, t.qp, MEM, 200, t.key);
    deth_put(ext, 0x11111111, 7);
    f = frame_make(PEER, US, ROCE_OP(RDMA_UD, ROCE_SEND_ONLY), false, QPN, 0,
                   ext, sizeof(ext));
    p = g_bytes_unref_to_data(f, &len);
    put_be32(p + 26, 0x0a4c0002);
    put_be32(p + 30, 0xffffffff);
    put_be16(p + 24, 0);
    put_be16(p + 24, core_csum_done(core_csum_add(0, p + 14, 20)));
    put_le32(p + len - 4, roce_icrc(p + 14, len - 18));
    rdma_rx_frame(t.d->dev, p, len, t.now);
    g_free(p);
    g_assert_cmphex(double_cqe(t.d).rlid, ==, RDMA_LID_PERMISSIVE);
    teardown(&t);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
#define TEST(path, fn) g_test_add_func("/requests/" path, test_##fn)
    TEST("header", header);
    TEST("not-asked", not_asked);
    TEST("nak-stays", nak_stays);
    TEST("not-fatal", not_fatal);
    TEST("answers-counted", answers_counted);
    TEST("full-of-copies", full_of_copies);
    TEST("pad", pad);
    TEST("atomic-msn", atomic_msn);
    TEST("no-last-ack", no_last_ack);
    TEST("rights", rights);
    TEST("atomics-refused", atomics_refused);
    TEST("lengths", lengths);
    TEST("too-long", too_long);
    TEST("pieces", pieces);
    TEST("told", told);
    TEST("qkeys", qkeys);
    TEST("fits", fits);
    TEST("broadcast", broadcast);
    return g_test_run();
}
