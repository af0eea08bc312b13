/*
 * Two engines under loss, duplication, reordering, corruption and delay,
 * against a simple oracle.
 *
 * Several RC queue pairs each way do random work.  The oracle knows, without
 * any protocol, what must have happened: a Write area of the peer holds the
 * Writes applied in order; receive k holds message k with its immediate; a
 * Read brings what the peer's constant area holds; FetchAdd and CmpSwap return
 * what was there before them; completions come in order, one for each work
 * request.  Some data is inline, one connection receives by an SRQ, the wire
 * stops at times.
 *
 * Random streams depend on the seed alone: RDMA_SEED, RDMA_OPS set others.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <stdlib.h>

#include "double.h"

enum {
    NQP = 4,                    /* connections, work flows both ways */
    AREA = 0x20000,             /* bytes of each region */
    SLICE = AREA / NQP / 2,     /* of one QP end in an area */
    SLOT = 0x1000,              /* receive buffer */
    SLOTS = 4,
    INFLIGHT = 12,
};
#define CONST_VA 0x100000       /* region 1: read, never written */
#define WRITE_VA 0x200040       /* region 2: the peer writes */
#define RECV_VA  0x300000       /* region 3: receives */
#define READ_VA  0x400000       /* region 4: Reads and atomics land */
#define COUNT_VA 0x500000       /* region 5: atomics */

typedef struct Op {
    uint8_t opcode;
    uint32_t len, off, loff;
    uint64_t value;             /* expected result of an atomic */
    uint32_t slot;
} Op;

typedef struct End {
    Double *d;
    struct End *peer;
    RdmaQp *qp;
    unsigned index;             /* QP number within the pair */
    uint8_t *shadow;            /* oracle: the peer's slice of region 2 */
    uint64_t count;             /* oracle: the peer's counter */
    GQueue ops;                 /* posted, not completed */
    GQueue msgs;                /* sent to the peer, not received there */
    uint64_t posted, done, recv_posted, recv_done;
    uint64_t send_ids, recv_ids;
    uint32_t busy[INFLIGHT];    /* landing slots of Reads */
} End;

typedef struct World {
    Double *d[2];
    End end[2][NQP];
    GRand *rand;
    int64_t now;
} World;

static uint32_t slice(const End *e)
{
    return e->index * 2 * SLICE;
}

static uint32_t key(unsigned region)
{
    return region << 8 | 0x5a;
}

static void post_recv(End *e)
{
    uint32_t off = slice(e) + e->recv_posted % SLOTS * SLOT;

    double_recv(e->d, e->qp, RECV_VA + off, SLOT, key(3));
    e->recv_posted++;
}

static RdmaWqe make_wqe(World *w, End *e, Op *op)
{
    static const RdmaOpcode kinds[] = {
        RDMA_OP_SEND, RDMA_OP_SEND_IMM, RDMA_OP_WRITE, RDMA_OP_WRITE_IMM,
        RDMA_OP_READ, RDMA_OP_FETCH_ADD, RDMA_OP_WRITE, RDMA_OP_READ,
        RDMA_OP_CMP_SWAP,
    };
    RdmaOpcode kind = kinds[g_rand_int_range(w->rand, 0,
                                             G_N_ELEMENTS(kinds))];
    bool atomic = kind == RDMA_OP_FETCH_ADD || kind == RDMA_OP_CMP_SWAP;
    bool rd = kind == RDMA_OP_READ || atomic;
    uint32_t len = g_rand_int_range(w->rand, 0, 4) ?
                   g_rand_int_range(w->rand, 0, 600) :
                   g_rand_int_range(w->rand, 0, SLOT + 1);
    uint32_t slot = 0;
    RdmaWqe q;

    memset(&q, 0, sizeof(q));
    if (atomic) {
        len = 8;
    }
    while (rd && e->busy[slot]) {
        slot++;
    }
    op->opcode = kind;
    op->len = len;
    op->slot = slot;
    op->off = g_rand_int_range(w->rand, 0, SLICE - SLOT);
    /* A landing slot is never shared by Reads in flight. */
    op->loff = rd ? e->index * INFLIGHT * SLOT + slot * SLOT :
                    g_rand_int_range(w->rand, 0, AREA - SLOT);
    q.opcode = kind;
    q.flags = RDMA_WQE_SIGNALED | (g_rand_int_range(w->rand, 0, 8) ? 0 :
                                   RDMA_WQE_FENCE);
    if (!rd && len <= RDMA_MAX_INLINE && !g_rand_int_range(w->rand, 0, 4)) {
        q.flags |= RDMA_WQE_INLINE;
        q.inl_len = len;
        for (uint32_t i = 0; i < len; i++) {
            q.inl[i] = *double_ptr(e->d, 1, CONST_VA + op->loff + i);
        }
    } else if (len) {
        /* One segment, or two with a cut anywhere. */
        uint32_t cut = !atomic && g_rand_boolean(w->rand) ?
                       g_rand_int_range(w->rand, 0, len) : len;
        uint64_t va = (rd ? READ_VA : CONST_VA) + op->loff;

        q.num_sge = 2;
        q.sge[0] = (RdmaSge) { va, cut, key(rd ? 4 : 1) };
        q.sge[1] = (RdmaSge) { va + cut, len - cut, key(rd ? 4 : 1) };
    }
    switch (kind) {
    case RDMA_OP_READ:
        e->busy[slot] = 1;
        q.raddr = CONST_VA + op->off;
        q.rkey = key(1);
        break;
    case RDMA_OP_FETCH_ADD:
    case RDMA_OP_CMP_SWAP:
        e->busy[slot] = 1;
        q.raddr = COUNT_VA + e->index * 8;
        q.rkey = key(5);
        q.swap_add = g_rand_int(w->rand);
        q.compare = e->count + g_rand_int_range(w->rand, 0, 2);
        op->value = e->count;
        if (kind == RDMA_OP_FETCH_ADD) {
            e->count += q.swap_add;
        } else if (q.compare == e->count) {
            e->count = q.swap_add;
        }
        break;
    case RDMA_OP_WRITE:
    case RDMA_OP_WRITE_IMM:
        q.raddr = WRITE_VA + slice(e) + op->off;
        q.rkey = key(2);
        for (uint32_t i = 0; i < len; i++) {
            e->shadow[op->off + i] = *double_ptr(e->d, 1,
                                                 CONST_VA + op->loff + i);
        }
        break;
    default:
        break;
    }
    put_be32(q.imm, e->posted);
    return q;
}

static void post(World *w, End *e)
{
    Op *op = g_new0(Op, 1);
    RdmaWqe q = make_wqe(w, e, op);

    double_send(e->d, e->qp, &q);
    g_queue_push_tail(&e->ops, op);
    if (op->opcode == RDMA_OP_SEND || op->opcode == RDMA_OP_SEND_IMM ||
        op->opcode == RDMA_OP_WRITE_IMM) {
        Op *m = g_memdup2(op, sizeof(*op));

        m->value = e->posted;
        g_queue_push_tail(&e->msgs, m);
    }
    e->posted++;
}

static void check_send(End *e, const RdmaCqe *c)
{
    Op *op = g_queue_pop_head(&e->ops);

    g_assert_nonnull(op);
    g_assert_cmpuint(c->status, ==, RDMA_WC_SUCCESS);
    g_assert_cmpuint(c->wqe_id, ==, e->send_ids++);
    g_assert_cmpuint(c->opcode, ==, op->opcode);
    if (op->opcode == RDMA_OP_READ) {
        for (uint32_t i = 0; i < op->len; i++) {
            g_assert_cmphex(*double_ptr(e->d, 4, READ_VA + op->loff + i), ==,
                            *double_ptr(e->peer->d, 1,
                                        CONST_VA + op->off + i));
        }
    } else if (op->opcode == RDMA_OP_FETCH_ADD ||
               op->opcode == RDMA_OP_CMP_SWAP) {
        g_assert_cmphex(get_le64(double_ptr(e->d, 4, READ_VA + op->loff)),
                        ==, op->value);
    }
    if (op->opcode >= RDMA_OP_READ) {
        e->busy[op->slot] = 0;
    }
    e->done++;
    g_free(op);
}

static void check_recv(End *e, const RdmaCqe *c)
{
    Op *m = g_queue_pop_head(&e->peer->msgs);
    uint32_t off = slice(e) + e->recv_done % SLOTS * SLOT;

    g_assert_nonnull(m);
    g_assert_cmpuint(c->status, ==, RDMA_WC_SUCCESS);
    g_assert_cmpuint(c->wqe_id, ==, e->recv_ids++);
    g_assert_cmpuint(c->byte_cnt, ==, m->len);
    g_assert_cmpint(c->has_imm, ==, m->opcode != RDMA_OP_SEND);
    if (c->has_imm) {
        g_assert_cmphex(get_be32(c->imm), ==, (uint32_t)m->value);
    }
    for (uint32_t i = 0; m->opcode != RDMA_OP_WRITE_IMM && i < m->len; i++) {
        g_assert_cmphex(*double_ptr(e->d, 3, RECV_VA + off + i), ==,
                        *double_ptr(e->peer->d, 1, CONST_VA + m->loff + i));
    }
    e->recv_done++;
    g_free(m);
}

static void collect(World *w)
{
    for (int s = 0; s < 2; s++) {
        Double *d = w->d[s];

        for (guint i = 0; i < d->cqes->len; i++) {
            const RdmaCqe *c = &g_array_index(d->cqes, RdmaCqe, i);
            End *e = &w->end[s][c->qpn];

            c->is_send ? check_send(e, c) : check_recv(e, c);
        }
        g_array_set_size(d->cqes, 0);
    }
}

static void world_init(World *w, uint32_t seed,
                       void (*tweak)(RdmaConfig *cfg))
{
    w->rand = g_rand_new_with_seed(seed);
    w->now = 1000;
    for (int s = 0; s < 2; s++) {
        static const uint64_t va[] = { CONST_VA, WRITE_VA, RECV_VA, READ_VA,
                                       COUNT_VA };

        w->d[s] = double_new(s + 1, tweak);
        for (int i = 0; i < 5; i++) {
            double_mr(w->d[s], i + 1, va[i], 0x40000 * (i + 1), AREA * 2,
                      RDMA_ACC_RIGHTS);
        }
        for (uint32_t i = 0; i < AREA; i++) {
            *double_ptr(w->d[s], 1, CONST_VA + i) = g_rand_int(w->rand);
        }
    }
    for (int s = 0; s < 2; s++) {
        for (int i = 0; i < NQP; i++) {
            End *e = &w->end[s][i];
            uint32_t psn[2] = { 0xfffff0 + i * 3, 0x7ffff0 + i };

            e->d = w->d[s];
            e->peer = &w->end[!s][i];
            e->index = i;
            e->shadow = g_malloc0(SLICE);
            e->qp = double_qp(e->d, i, RDMA_RC, 2 - s, i, psn[s], psn[!s],
                              1 + i);
            if (i == NQP - 1) {
                RdmaQpAttr a = { .has_srq = true, .srqn = 1 };

                rdma_qp_modify(e->d->dev, e->qp, &a, RDMA_QPA_SRQ);
            }
        }
    }
}

static void world_free(World *w)
{
    for (int s = 0; s < 2; s++) {
        for (int i = 0; i < NQP; i++) {
            g_free(w->end[s][i].shadow);
        }
        double_free(w->d[s]);
    }
    g_rand_free(w->rand);
}

static bool finished(World *w, uint64_t ops)
{
    for (int s = 0; s < 2; s++) {
        for (int i = 0; i < NQP; i++) {
            const End *e = &w->end[s][i];

            if (e->done < ops || e->done < e->posted || e->msgs.length) {
                return false;
            }
        }
    }
    return true;
}

/*
 * Move engine @s to another one in the middle of everything, as a migration
 * does.  Frames inside it are lost.
 */
static void migrate(World *w, int s)
{
    Double *d = w->d[s];
    CoreFaultPlan f[2];
    size_t len;
    uint8_t *state = rdma_save(d->dev, w->now, &len);

    for (int out = 0; out < 2; out++) {
        rdma_fault_get(d->dev, out, &f[out]);
    }
    rdma_free(d->dev);
    d->dev = rdma_new(&d->cfg);
    g_assert_true(rdma_load(d->dev, w->now, state, len));
    for (int i = 0; i < NQP; i++) {
        w->end[s][i].qp = rdma_qp_get(d->dev, i);
        g_assert_nonnull(w->end[s][i].qp);
    }
    for (int out = 0; out < 2; out++) {
        f[out].seed++;
        rdma_fault_set(d->dev, out, &f[out]);
    }
    g_free(state);
}

static void work(World *w, uint64_t ops, bool moves)
{
    uint64_t round = 0;

    while (!finished(w, ops)) {
        int64_t next;

        for (int s = 0; s < 2; s++) {
            for (int i = 0; i < NQP; i++) {
                End *e = &w->end[s][i];

                while (e->posted < ops && e->ops.length < INFLIGHT &&
                       g_rand_int_range(w->rand, 0, 4)) {
                    post(w, e);
                }
                /* Receives come late at times: RNR NAKs. */
                while (e->recv_posted - e->recv_done < SLOTS &&
                       g_rand_int_range(w->rand, 0, 6)) {
                    post_recv(e);
                }
            }
        }
        if (moves && ++round % 20 == 0) {
            rdma_poll(w->d[0]->dev, w->now);
            migrate(w, round / 20 & 1);
        }
        for (int s = 0; s < 2; s++) {
            rdma_wire_stop(w->d[s]->dev, !g_rand_int_range(w->rand, 0, 8));
        }
        double_exchange(w->d[0], w->d[1], w->now);
        collect(w);
        next = MIN(double_poll(w->d[0], w->now),
                   double_poll(w->d[1], w->now));
        w->now = next == INT64_MAX ? w->now + 1000 :
                 MIN(next, w->now + 10000000);
    }
    for (int s = 0; s < 2; s++) {
        for (int i = 0; i < NQP; i++) {
            End *e = &w->end[s][i];

            for (uint32_t k = 0; k < SLICE; k++) {
                g_assert_cmphex(*double_ptr(e->peer->d, 2,
                                            WRITE_VA + slice(e) + k), ==,
                                e->shadow[k]);
            }
            g_assert_cmphex(get_le64(double_ptr(e->peer->d, 5,
                                                COUNT_VA + i * 8)), ==,
                            e->count);
        }
    }
}

typedef struct Case {
    const char *name;
    uint32_t ppm[CORE_FAULT_NUM];
    void (*tweak)(RdmaConfig *cfg);
    bool moves;
} Case;

static void document_ways(RdmaConfig *cfg)
{
    cfg->retx_one = true;
    cfg->retx_range = true;
    cfg->nak_counts = false;
    cfg->ack_coalesce = false;
}

static void sparse_acks(RdmaConfig *cfg)
{
    cfg->ack_req = RDMA_ACKREQ_PERIODIC;
}

static void tight(RdmaConfig *cfg)
{
    cfg->swpb_packets = 6;
    cfg->swpb_units = 150;
    cfg->rpb_packets = 3;
    cfg->reb_entries = 5;
    cfg->max_wqes = 64;
}

#define PPM(drop, dup, reorder, corrupt, delay)                         \
    { [CORE_FAULT_DROP] = drop, [CORE_FAULT_DUPLICATE] = dup,           \
      [CORE_FAULT_REORDER] = reorder, [CORE_FAULT_CORRUPT] = corrupt,   \
      [CORE_FAULT_DELAY] = delay }

static const Case cases[] = {
    { "clean", PPM(0, 0, 0, 0, 0) },
    { "loss", PPM(10000, 0, 0, 0, 0) },
    /* No more: with a tenth lost either way, one request in a million is lost
     * as often as a queue pair repeats it. */
    { "heavy-loss", PPM(50000, 0, 0, 0, 0) },
    { "duplicate", PPM(0, 50000, 0, 0, 0) },
    { "reorder", PPM(0, 0, 20000, 0, 0) },
    { "corrupt", PPM(0, 0, 0, 20000, 0) },
    { "delay", PPM(0, 0, 0, 0, 20000) },
    { "everything", PPM(10000, 10000, 10000, 10000, 10000) },
    { "everything/document", PPM(10000, 10000, 10000, 10000, 10000),
      document_ways },
    { "everything/sparse-acks", PPM(10000, 10000, 10000, 10000, 10000),
      sparse_acks },
    { "everything/tight", PPM(10000, 10000, 10000, 10000, 10000), tight },
    { "everything/migration", PPM(10000, 10000, 10000, 10000, 10000),
      .moves = true },
};

static void test_case(gconstpointer data)
{
    const Case *c = data;
    const char *ops = getenv("RDMA_OPS"), *seed = getenv("RDMA_SEED");
    uint32_t s = seed ? strtoul(seed, NULL, 0) : 1;
    World w = { 0 };

    world_init(&w, s, c->tweak);
    for (int i = 0; i < 2; i++) {
        for (int out = 0; out < 2; out++) {
            CoreFaultPlan f = { .seed = s + i * 2 + out, .delay_us = 3000,
                            .reorder_depth = 3 };

            memcpy(f.ppm, c->ppm, sizeof(f.ppm));
            rdma_fault_set(w.d[i]->dev, out, &f);
        }
    }
    work(&w, ops ? strtoull(ops, NULL, 0) : 2000, c->moves);
    for (int i = 0; i < 2; i++) {
        RdmaCounters *n = rdma_counters(w.d[i]->dev);

        g_test_message("%s: %" G_GUINT64_FORMAT " frames, %" G_GUINT64_FORMAT
                       " repeated, %" G_GUINT64_FORMAT " time-outs",
                       c->name, n->tx_frames, n->retransmits, n->timeouts);
        g_assert_cmpuint(n->rx_bad_bth, ==, 0);
        g_assert_cmpuint(n->broken_rules, ==, 0);
    }
    world_free(&w);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    for (int i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autofree char *path = g_strdup_printf("/random/%s", cases[i].name);

        g_test_add_data_func(path, &cases[i], test_case);
    }
    return g_test_run();
}
