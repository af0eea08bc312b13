/*
 * Write a capture in which two engines send every packet that they can send:
 * each opcode of each service, each kind of NAK.
 *
 * usage: write-capture FILE.pcap; check-capture.py compares what tshark says.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <stdio.h>
#include <stdlib.h>

#include "double.h"

#define SRC     0x10000         /* region 1, both sides */
#define DST     0x40000         /* region 2 */
#define LEN     0x10000
#define MTU     256u
#define FIRST   0xfffffcu       /* PSNs wrap in between */

typedef struct Wire {
    FILE *file;
    int64_t now;
    uint32_t frames;
} Wire;

typedef struct Side {
    Double *d;
    RdmaQp *qp;
    uint32_t src, dst;
} Side;

/* A record of the classic format, Ethernet, nanoseconds, this machine's byte
 * order. */
static void record(Wire *w, const uint8_t *frame, uint32_t len)
{
    uint32_t head[] = { 0, ++w->frames * 1000, len, len };

    if (fwrite(head, sizeof(head), 1, w->file) != 1 ||
        fwrite(frame, len, 1, w->file) != 1) {
        perror("write-capture");
        exit(1);
    }
}

static bool move(Wire *w, Double *from, Double *to)
{
    GBytes *f = double_take(from);
    const uint8_t *p;
    gsize len;

    if (!f) {
        return false;
    }
    p = g_bytes_get_data(f, &len);
    record(w, p, len);
    rdma_rx_frame(to->dev, p, len, w->now);
    g_bytes_unref(f);
    return true;
}

/* Run both ends until neither has work before @until. */
static void run(Wire *w, Side *s, int64_t until)
{
    for (;;) {
        int64_t next = MIN(double_poll(s[0].d, w->now),
                           double_poll(s[1].d, w->now));

        if ((int)move(w, s[0].d, s[1].d) | (int)move(w, s[1].d, s[0].d)) {
            continue;
        }
        if (next > until) {
            return;
        }
        w->now = next;
    }
}

/* Take InfiniBand's answer to a Send that is too long: it is a fourth NAK. */
static void tweak(RdmaConfig *cfg)
{
    cfg->len_nak_op = false;
}

static void begin(Side *s, RdmaService service)
{
    for (int i = 0; i < 2; i++) {
        s[i].d = double_new(i + 1, tweak);
        s[i].src = double_mr(s[i].d, 1, SRC, 0x10000, LEN, RDMA_ACC_RIGHTS);
        s[i].dst = double_mr(s[i].d, 2, DST, 0x40000, LEN, RDMA_ACC_RIGHTS);
        for (uint32_t k = 0; k < LEN; k++) {
            *double_ptr(s[i].d, 1, SRC + k) = k * 31 + (k >> 7) + i;
        }
        s[i].qp = double_qp(s[i].d, 4 + i, service, 2 - i, 5 - i, FIRST,
                            FIRST, 1);
    }
}

static void end(Side *s)
{
    for (int i = 0; i < 2; i++) {
        double_free(s[i].d);
    }
}

/* Post one request at the first end. */
static void post(Side *s, RdmaOpcode op, uint32_t len)
{
    bool atomic = op == RDMA_OP_CMP_SWAP || op == RDMA_OP_FETCH_ADD;
    bool back = atomic || op == RDMA_OP_READ;
    RdmaWqe w = double_wqe(op, back ? DST : SRC, len,
                           back ? s[0].dst : s[0].src);

    w.raddr = op == RDMA_OP_READ ? SRC : DST;
    w.rkey = op == RDMA_OP_READ ? s[1].src : s[1].dst;
    w.swap_add = 0x1122334455667788;
    w.compare = 0x99aabbccddeeff00;
    put_be32(w.imm, 0x12345678);
    w.dqpn = 5;
    w.qkey = 0x11111111;
    w.av = rdma_qp_attr(s[0].qp)->av;
    double_send(s[0].d, s[0].qp, &w);
}

/* Every operation of a service as one, two and three packets, with each
 * number of pad bytes. */
static void service(Wire *w, RdmaService svc)
{
    static const RdmaOpcode ops[] = {
        RDMA_OP_SEND, RDMA_OP_SEND_IMM, RDMA_OP_WRITE, RDMA_OP_WRITE_IMM,
        RDMA_OP_READ, RDMA_OP_CMP_SWAP, RDMA_OP_FETCH_ADD,
    };
    static const uint32_t lens[] = { 8, 0, 5, MTU - 2, MTU, MTU + 3, 2 * MTU,
                                     3 * MTU - 1 };
    Side s[2];

    begin(s, svc);
    for (size_t o = 0; o < G_N_ELEMENTS(ops); o++) {
        for (size_t i = 0; i < G_N_ELEMENTS(lens); i++) {
            bool send = ops[o] == RDMA_OP_SEND || ops[o] == RDMA_OP_SEND_IMM;

            if ((svc == RDMA_UD && (!send || lens[i] > MTU)) ||
                (svc == RDMA_UC && ops[o] >= RDMA_OP_READ) ||
                (ops[o] > RDMA_OP_READ && lens[i] != 8)) {
                continue;
            }
            if (send || ops[o] == RDMA_OP_WRITE_IMM) {
                double_recv(s[1].d, s[1].qp, DST, LEN, s[1].dst);
            }
            post(s, ops[o], lens[i]);
            run(w, s, w->now);
            g_assert_cmpuint(double_cqe(s[0].d).status, ==, RDMA_WC_SUCCESS);
        }
    }
    end(s);
}

/* One exchange for each NAK; the AETH syndrome is what differs. */
static void naks(Wire *w)
{
    enum { RNR, SEQUENCE, INVALID, ACCESS, OPERATION, NUM };

    for (int nak = 0; nak < NUM; nak++) {
        Side s[2];

        begin(s, RDMA_RC);
        if (nak == SEQUENCE) {
            /* The first of three is lost on its way. */
            post(s, RDMA_OP_WRITE, 3 * MTU);
            double_poll(s[0].d, w->now);
            g_bytes_unref(double_take(s[0].d));
            run(w, s, w->now);
        } else if (nak == INVALID) {
            double_recv(s[1].d, s[1].qp, DST, 4, s[1].dst);
            post(s, RDMA_OP_SEND, 8);
            run(w, s, w->now);
        } else if (nak == ACCESS) {
            s[1].dst ^= 1;
            post(s, RDMA_OP_WRITE, 8);
            run(w, s, w->now);
        } else {
            s[1].d->bad_rq = nak == OPERATION;
            post(s, RDMA_OP_SEND, 8);
            run(w, s, w->now);
            if (nak == RNR) {
                double_recv(s[1].d, s[1].qp, DST, LEN, s[1].dst);
                run(w, s, w->now + 10 * INT64_C(1000000000));
            }
        }
        g_assert_cmpint(double_cqe(s[0].d).status == RDMA_WC_SUCCESS, ==,
                        nak == RNR || nak == SEQUENCE);
        end(s);
    }
}

int main(int argc, char **argv)
{
    /* Magic (nanoseconds), version 2.4, zone, accuracy, limit, Ethernet */
    static const uint32_t head[] = { 0xa1b23c4d, 4 << 16 | 2, 0, 0, 65535, 1 };
    Wire w = { .now = 1000 };

    if (argc != 2 || !(w.file = fopen(argv[1], "wb")) ||
        fwrite(head, sizeof(head), 1, w.file) != 1) {
        fprintf(stderr, "usage: write-capture FILE.pcap\n");
        return 2;
    }
    service(&w, RDMA_RC);
    service(&w, RDMA_UC);
    service(&w, RDMA_UD);
    naks(&w);
    return fclose(w.file) ? 1 : 0;
}
