/*
 * Random work of two and four nodes over a bad network, against what must have
 * happened.
 *
 * The model knows no protocol.  Each request under way owns a slot of its target's
 * memory and may be executed once.  Reliable channels: all requests succeed.
 * Others: one that succeeded has been executed once, one that timed out once or
 * not at all, and there is nothing else that can befall it.  What is executed
 * when is compared with the rules of order: an SO comes after all RO and SO before
 * it, a fenced request after the answers to all Reads and atomics before it.
 * Nodes are saved and loaded on the way, which leads by a switch in some runs.
 *
 * Random streams depend on the seed alone: UB_SEED, UB_OPS set others.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <stdlib.h>

#include "ta-pair.h"

enum {
    QUEUES = 4,                 /* of a node */
    SLOTS = 12,                 /* requests under way of a queue */
    SLOT = 16384,
    COUNTER = PAIR_MEM - 4096,         /* counters of a node, one for each queue */
};

typedef struct Job {
    Work *w;
    unsigned node, queue, slot, target;
    uint64_t serial;            /* in its queue */
    uint8_t kind;               /* opcode */
    bool unreliable;            /* may be lost */
    uint8_t *was;               /* the slot before */
    uint64_t id;                /* of a message */
    unsigned accesses;          /* by the target */
    unsigned received;
    bool done;
} Job;

typedef struct Run {
    Pair *p;
    UbTaMode mode[PAIR_MAX][QUEUES];
    uint32_t row[PAIR_MAX][QUEUES];
    bool in_order[PAIR_MAX][QUEUES];
    uint64_t posted[PAIR_MAX][QUEUES];
    uint64_t reported[PAIR_MAX][QUEUES];
    Job *job[PAIR_MAX][QUEUES][SLOTS];
    GPtrArray *queue[PAIR_MAX][QUEUES];         /* jobs not done, as posted */
    GHashTable *messages;                       /* jobs by id */
    uint64_t added[PAIR_MAX][PAIR_MAX][QUEUES]; /* surely, by target */
    uint64_t perhaps[PAIR_MAX][PAIR_MAX][QUEUES];
    GHashTable *seen[PAIR_MAX];                 /* old values of counters */
    uint64_t ops, done, lost, messages_done;
    uint64_t next_id;
    bool lossy;
} Run;

static Run *run;

static uint64_t rnd(uint64_t n)
{
    return core_random(&run->p->rng) % n;
}

static uint32_t slot_off(unsigned node, unsigned queue, unsigned slot)
{
    return ((node * QUEUES + queue) * SLOTS + slot) * SLOT;
}

/* ---- order ---- */

static bool ordered(const Job *j)
{
    return j->w->req.order != UB_TA_NO;
}

static bool is_read(const Job *j)
{
    return j->kind == UB_TA_READ || j->kind == UB_TA_FETCH_ADD;
}

/* The target works for @j: what must be over by now? */
static void check_order(Job *j)
{
    GPtrArray *q = run->queue[j->node][j->queue];
    const UbTaRequest *req = &j->w->req;

    for (guint i = 0; i < q->len; i++) {
        Job *k = q->pdata[i];

        if (k->serial >= j->serial) {
            break;
        }
        if (req->fence && is_read(k) && k->kind != UB_TA_FETCH_ADD) {
            /* Answered, though perhaps not yet reported in its turn. */
            g_assert_true(k->done || (run->in_order[j->node][j->queue] &&
                                      (k->accesses || k->unreliable)));
        }
        if (req->order == UB_TA_SO && ordered(k) && !k->unreliable) {
            /* All its accesses have been, whether its answer is here or not. */
            g_assert_cmpuint(k->accesses + k->received, >, 0);
        }
    }
}

static Job *job_at(unsigned target, uint64_t addr)
{
    uint64_t off = addr - PAIR_UBA;

    for (unsigned n = 0; n < run->p->n; n++) {
        for (unsigned q = 0; q < QUEUES; q++) {
            for (unsigned s = 0; s < SLOTS; s++) {
                Job *j = run->job[n][q][s];

                if (j && j->target == target && off >= slot_off(n, q, s) &&
                    off < slot_off(n, q, s) + SLOT) {
                    return j;
                }
            }
        }
    }
    return NULL;
}

static void on_access(End *e, const UbAccess *a)
{
    Job *j;

    if (a->addr >= PAIR_UBA + COUNTER) {
        return;
    }
    j = job_at(e->index, a->addr);
    /* Nothing is executed after its request has ended well. */
    g_assert_nonnull(j);
    g_assert_true(a->kind == UB_ACCESS_READ ? is_read(j) : !is_read(j));
    if (!j->accesses) {
        check_order(j);
    }
    j->accesses++;
}

/* ---- completions ---- */

static uint8_t pattern(uint64_t id, uint32_t i)
{
    return (id * 0x9e3779b97f4a7c15 >> (i % 7 * 8)) + i;
}

static void on_received(End *e, const UbRecvDone *d)
{
    uint8_t *slot = e->slots + d->rqe % 64 * PAIR_SLOT;
    uint64_t id;
    Job *j;

    g_assert_cmpint(d->status, ==, UB_TAS_OK);
    id = d->opcode == UB_TA_SEND ? get_be64(slot) : d->imm;
    j = g_hash_table_lookup(run->messages, &id);
    g_assert_nonnull(j);
    g_assert_cmpuint(j->target, ==, e->index);
    g_assert_cmpuint(d->rc_id, ==, j->queue);
    /* Who comes by UTP is known by an address of IP. */
    g_assert_true(d->who == j->node + 1 ||
                  run->row[j->node][j->queue] == ROW_UTP);
    g_assert_cmpuint(d->len, ==, j->w->req.len);
    g_assert_cmpint(d->opcode, ==, j->kind);
    if (d->opcode != UB_TA_WRITE_IMM) {
        for (uint32_t i = 8; i < d->len; i++) {
            g_assert_cmphex(slot[i], ==, pattern(id, i));
        }
    }
    if (!j->received) {
        check_order(j);
    }
    j->received++;
    /* UTP has no memory: what is doubled comes twice. */
    g_assert_true(j->received == 1 ||
                  (run->lossy && run->row[j->node][j->queue] == ROW_UTP));
    pair_recv(run->p, e->index, rnd(3) ? 1 : 0);
}

/* A Write: new if it succeeded, of either age otherwise. */
static void check_write(Job *j)
{
    uint8_t *mem = run->p->end[j->target].mem +
                   slot_off(j->node, j->queue, j->slot);
    const UbTaRequest *req = &j->w->req;
    uint32_t from = req->addr - PAIR_UBA -
                    slot_off(j->node, j->queue, j->slot);
    bool ok = j->w->status == UB_TAS_OK;

    for (uint32_t i = 0; i < SLOT; i++) {
        bool mine = i >= from && i < from + req->len &&
                    (j->kind != UB_TA_WRITE_BE ||
                     req->be[(i - from) / 8] & 1 << (i - from) % 8);
        uint8_t want = mine ? j->w->data[i - from] : j->was[i];

        if (j->kind == UB_TA_WRITE_NOTIFY && i < 8) {
            want = req->ntf_data >> 8 * i;
            mine = true;
        }
        g_assert_true(mem[i] == want || (!ok && mine && mem[i] == j->was[i]));
    }
    if (j->kind == UB_TA_WRITE_NOTIFY && !run->lossy &&
        get_le64(mem) == req->ntf_data) {
        g_assert_true(ok);
    }
}

static void check_counter(Job *j)
{
    uint64_t *sure = &run->added[j->target][j->node][j->queue];
    uint64_t old = get_le64(j->w->data);
    uint64_t *key;

    if (j->w->status != UB_TAS_OK) {
        run->perhaps[j->target][j->node][j->queue]++;
        return;
    }
    ++*sure;
    key = g_new(uint64_t, 1);
    *key = old << 16 | j->node << 8 | j->queue;
    /* Nobody else was told of this value. */
    g_assert_true(g_hash_table_add(run->seen[j->target], key));
}

static void on_done(End *e, Work *w)
{
    Job *j = w->more;
    bool ok = w->status == UB_TAS_OK;
    GPtrArray *q = run->queue[j->node][j->queue];

    g_assert_true(ok || (j->unreliable && w->status == UB_TAS_TIMEOUT));
    if (run->in_order[j->node][j->queue]) {
        g_assert_cmpuint(j->serial, ==, run->reported[j->node][j->queue]);
    }
    run->reported[j->node][j->queue]++;
    j->done = true;
    run->done++;
    run->lost += !ok;
    switch (j->kind) {
    case UB_TA_READ:
        if (ok) {
            uint32_t off = slot_off(j->node, j->queue, j->slot);

            g_assert_cmpmem(w->data, w->req.len,
                            j->was + (w->req.addr - PAIR_UBA - off),
                            w->req.len);
        }
        break;
    case UB_TA_FETCH_ADD:
        check_counter(j);
        break;
    case UB_TA_SEND:
    case UB_TA_SEND_IMM:
        g_assert_true(!ok || j->received == 1 ||
                      run->mode[j->node][j->queue] == UB_UNO);
        run->messages_done++;
        break;
    default:
        check_write(j);
        if (j->kind == UB_TA_WRITE_IMM) {
            g_assert_true(!ok || j->received == 1);
        }
    }
    g_ptr_array_remove(q, j);
}

/* ---- work ---- */

static bool is_lossy(uint32_t row)
{
    return row != ROW_RTP && row != ROW_GROUP && row != ROW_ANSWERS;
}

static uint8_t choose_kind(unsigned node, unsigned queue)
{
    static const uint8_t all[] = {
        UB_TA_WRITE, UB_TA_WRITE, UB_TA_READ, UB_TA_FETCH_ADD, UB_TA_SEND,
        UB_TA_SEND_IMM, UB_TA_WRITE_IMM, UB_TA_WRITE_NOTIFY, UB_TA_WRITE_BE,
        UB_TA_WRITEBACK,
    };
    UbTaMode mode = run->mode[node][queue];
    uint8_t kind;

    do {
        kind = all[rnd(G_N_ELEMENTS(all))];
    } while (!(ub_ta_op(kind)->modes & 1u << mode) ||
             (run->row[node][queue] == ROW_BYPASS &&
              (!ub_ta_op(kind)->compact || kind == UB_TA_FETCH_ADD)));
    return kind;
}

static void post_one(unsigned node, unsigned queue, unsigned slot)
{
    uint32_t row = run->row[node][queue], off = slot_off(node, queue, slot);
    uint8_t kind = choose_kind(node, queue);
    uint32_t max = is_lossy(row) && ub_ta_op(kind)->kind == UB_TA_MESSAGE
                   ? 4096 : kind == UB_TA_WRITEBACK ? 4096 : SLOT - 64;
    uint32_t len = rnd(3) ? 8 + rnd(300) : 8 + rnd(max - 8);
    Job *j = g_new0(Job, 1);
    UbTaMode mode = run->mode[node][queue];
    UbTaRequest *req;

    if (kind == UB_TA_WRITE_BE) {
        len = 64 << rnd(5);
    } else if (kind == UB_TA_FETCH_ADD) {
        len = 8;
    } else if (mode == UB_UNO) {
        len = MIN(len, 4096);
    }
    do {
        j->target = rnd(run->p->n);
    } while (j->target == node);
    j->node = node;
    j->queue = queue;
    j->slot = slot;
    j->kind = kind;
    j->serial = run->posted[node][queue]++;
    j->unreliable = is_lossy(row) && run->lossy;
    j->w = work_new(row + j->target, kind, off + 16 + rnd(40), len);
    j->w->more = j;
    req = &j->w->req;
    req->order = mode == UB_UNO ? UB_TA_NO : rnd(3);
    if (mode == UB_ROL && (row == ROW_SPRAY || row == ROW_GROUP)) {
        req->order = UB_TA_NO;
    }
    req->fence = rnd(20) == 0;
    if (kind == UB_TA_WRITEBACK) {
        req->order = UB_TA_NO;
        req->fence = false;
    }
    for (uint32_t i = 0; i < len; i++) {
        j->w->data[i] = rnd(256);
    }
    if (kind == UB_TA_FETCH_ADD) {
        req->addr = PAIR_UBA + COUNTER + 64 * node + 8 * queue;
        put_le64(j->w->data, 1);
        req->order = UB_TA_NO;
    }
    if (kind == UB_TA_WRITE_BE) {
        req->addr &= ~UINT64_C(63);
        req->addr += 64;
        for (uint32_t i = 0; i < len / 8; i++) {
            req->be[i] = rnd(256);
        }
    }
    if (kind == UB_TA_WRITE_NOTIFY) {
        req->ntf_addr = PAIR_UBA + off;
        req->ntf_data = core_random(&run->p->rng);
        req->ntf_token_id = PAIR_TOKEN_ID;
        req->ntf_token = PAIR_TOKEN;
    }
    j->id = run->next_id++;
    if (ub_ta_op(kind)->rqe) {
        req->imm = j->id;
        if (kind != UB_TA_WRITE_IMM) {
            put_be64(j->w->data, j->id);
            for (uint32_t i = 8; i < len; i++) {
                j->w->data[i] = pattern(j->id, i);
            }
        }
        g_hash_table_insert(run->messages, &j->id, j);
    }
    j->was = g_memdup2(run->p->end[j->target].mem + off, SLOT);
    run->job[node][queue][slot] = j;
    g_ptr_array_add(run->queue[node][queue], j);
    work_post(run->p, node, queue, j->w);
    run->ops++;
}

static void free_job(Job *j)
{
    g_hash_table_remove(run->messages, &j->id);
    run->job[j->node][j->queue][j->slot] = NULL;
    work_free(j->w);
    g_free(j->was);
    g_free(j);
}

/* Finished jobs go, when nothing of them can be under way any more. */
static void reap(bool all)
{
    for (unsigned n = 0; n < run->p->n; n++) {
        for (unsigned q = 0; q < QUEUES; q++) {
            for (unsigned s = 0; s < SLOTS; s++) {
                Job *j = run->job[n][q][s];

                if (j && j->done &&
                    (all || run->p->now - j->w->at > 3000000)) {
                    free_job(j);
                }
            }
        }
    }
}

static void choose_queues(void)
{
    static const uint32_t rows[] = { ROW_RTP, ROW_GROUP, ROW_ANSWERS, ROW_CTP,
                                     ROW_CTP7, ROW_SPRAY, ROW_BYPASS, ROW_UTP };

    for (unsigned n = 0; n < run->p->n; n++) {
        for (unsigned q = 0; q < QUEUES; q++) {
            UbTaQueueConfig cfg = { .rcid = q, .in_order = rnd(2) };
            bool again;

            do {
                cfg.mode = rnd(UB_TA_MODES);
                run->row[n][q] = rows[rnd(G_N_ELEMENTS(rows))];
                /* What is unreliable, and what Bypass cannot say. */
                again = (cfg.mode == UB_UNO && (!is_lossy(run->row[n][q]) ||
                                                run->row[n][q] == ROW_BYPASS)) ||
                        (cfg.mode == UB_ROT && run->row[n][q] == ROW_BYPASS) ||
                        (cfg.mode != UB_UNO && run->row[n][q] == ROW_UTP);
            } while (again);
            run->mode[n][q] = cfg.mode;
            run->in_order[n][q] = cfg.in_order;
            g_assert_nonnull(ub_ta_queue_new(run->p->end[n].ta, &cfg));
            run->queue[n][q] = g_ptr_array_new();
        }
    }
}

static void check_counters(void)
{
    for (unsigned t = 0; t < run->p->n; t++) {
        for (unsigned n = 0; n < run->p->n; n++) {
            for (unsigned q = 0; q < QUEUES; q++) {
                uint64_t v = get_le64(run->p->end[t].mem + COUNTER + 64 * n +
                                      8 * q);

                g_assert_cmpuint(v, >=, run->added[t][n][q]);
                g_assert_cmpuint(v, <=, run->added[t][n][q] +
                                 run->perhaps[t][n][q]);
            }
        }
    }
}

/* All is quiet: both slots of all have keys, one that nothing was sealed with. */
static void rekey(Pair *p, uint64_t serial)
{
    for (unsigned n = 0; n < p->n; n++) {
        pair_recv(p, n, 1000);
    }
    pair_run(p);
    pair_cip_key(p, serial % UB_CIP_SLOTS, serial);
}

/* A node goes over to the newest key, in the midst of everything. */
static void go_over(Pair *p, unsigned node, uint64_t serial)
{
    pair_cip_use(p, node, serial % UB_CIP_SLOTS);
}

static void check_cip(Pair *p, bool lossy)
{
    static const UbCipCounter never[] = {
        UB_CIPC_TX_NO_POLICY, UB_CIPC_TX_NO_KEY, UB_CIPC_RX_OFF,
        UB_CIPC_RX_MISSING, UB_CIPC_RX_POLICY, UB_CIPC_RX_NO_KEY,
        UB_CIPC_RX_PEER, UB_CIPC_RX_SHORT, UB_CIPC_RX_OLD, UB_CIPC_RX_ICV,
    };

    for (unsigned n = 0; n < p->n; n++) {
        for (unsigned i = 0; i < G_N_ELEMENTS(never); i++) {
            g_assert_cmpuint(pair_cip_count(p, n, never[i]), ==, 0);
        }
        g_assert_cmpuint(pair_cip_count(p, n, UB_CIPC_OPENED), >, 0);
        if (!lossy) {
            g_assert_cmpuint(pair_cip_count(p, n, UB_CIPC_RX_REPLAY), ==, 0);
        }
    }
}

/* All went by it, and it threw nothing away. */
static void check_switch(const Pair *p)
{
    g_assert_cmpuint(pair_switch_count(p, UB_NET_FORWARDED), >, 0);
    g_assert_cmpuint(pair_switch_count(p, UB_NET_FORWARDED), ==,
                     pair_switch_count(p, UB_NET_RX_PACKETS));
}

static void model(unsigned nodes, bool lossy, bool real, bool sealed,
                  bool switched, uint64_t seed, uint64_t ops)
{
    uint64_t serial = 2, next_key = ops / 4;
    UbTaConfig cfg;
    Run r = { .lossy = lossy };

    pair_config(&cfg);
    cfg.retries = UINT8_MAX;
    cfg.rnr_timer = 3;
    cfg.sc_buffer = seed % 3 ? 16 : 0;
    cfg.scs = seed % 5 ? 1024 : 1;
    cfg.aggregate = 1 + seed % 32;
    cfg.window = 64 << seed % 3;
    cfg.answers = seed % 4 ? 4096 : 8;
    cfg.slice = 8192 << seed % 2;
    cfg.tassn_start = seed << 12;
    run = &r;
    if (real) {
        /* Far beyond all that the transport tries. */
        cfg.ack_timeout = INT64_C(100000000000);
        cfg.hold_time = INT64_C(1000000000);
    }
    r.p = (switched ? pair_new_switched : real ? pair_new_real : pair_new)(nodes,
                                                                           &cfg);
    r.p->rng = seed;
    if (sealed) {
        pair_cip_up(r.p, seed % 2 ? UB_CIP_AES_256_GCM : UB_CIP_SM4_128_GCM,
                    UB_CIP_ON | UB_CIP_MIXED);
    }
    r.p->jitter = 20000;
    r.p->busy = seed % 2 ? 30000 : 0;
    if (lossy) {
        r.p->loss = 2000;
        r.p->dup = 10000;
        r.p->reorder = 10000;
    }
    r.messages = g_hash_table_new(g_int64_hash, g_int64_equal);
    choose_queues();
    for (unsigned n = 0; n < nodes; n++) {
        r.p->end[n].accessed = on_access;
        r.p->end[n].done = on_done;
        r.p->end[n].received = on_received;
        r.seen[n] = g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free,
                                          NULL);
        pair_recv(r.p, n, 20);
    }
    while (r.ops < ops) {
        for (unsigned i = 0; i < 4; i++) {
            unsigned n = rnd(nodes), q = rnd(QUEUES), s = rnd(SLOTS);

            if (!r.job[n][q][s]) {
                post_one(n, q, s);
            }
        }
        for (unsigned i = rnd(8); i > 0; i--) {
            pair_step(r.p);
        }
        if (rnd(30) == 0) {
            pair_recv(r.p, rnd(nodes), 4);
        }
        if (sealed && r.ops >= next_key) {
            rekey(r.p, ++serial);
            next_key += ops / 4;
        }
        if (sealed && rnd(40) == 0) {
            go_over(r.p, rnd(nodes), serial);
        }
        if (rnd(300) == 0) {
            g_assert_cmpstr(pair_migrate(r.p, rnd(nodes)), ==, NULL);
        }
        if (r.ops % 64 == 0) {
            pair_run_for(r.p, 1000000);
        }
        reap(false);
        for (unsigned n = 0; n < nodes; n++) {
            g_array_set_size(r.p->end[n].cqes, 0);
            g_array_set_size(r.p->end[n].recvs, 0);
        }
    }
    for (unsigned n = 0; n < nodes; n++) {
        pair_recv(r.p, n, 1000);
    }
    pair_run(r.p);
    g_assert_cmpuint(r.done, ==, r.ops);
    if (!lossy) {
        g_assert_cmpuint(r.lost, ==, 0);
    } else {
        g_assert_cmpuint(r.lost, <, r.ops / 4);
    }
    reap(true);
    check_counters();
    pair_idle(r.p);
    if (sealed) {
        check_cip(r.p, lossy);
    }
    if (switched) {
        check_switch(r.p);
    }
    for (unsigned n = 0; n < nodes; n++) {
        g_hash_table_destroy(r.seen[n]);
        for (unsigned q = 0; q < QUEUES; q++) {
            g_ptr_array_free(r.queue[n][q], true);
        }
    }
    g_hash_table_destroy(r.messages);
    pair_free(r.p);
}

static uint64_t setting(const char *name, uint64_t otherwise)
{
    const char *s = g_getenv(name);

    return s ? strtoull(s, NULL, 0) : otherwise;
}

static void test_model(gconstpointer data)
{
    unsigned kind = GPOINTER_TO_UINT(data);
    uint64_t all = setting("UB_OPS", g_test_slow() ? 10000000 : 100000) / 4;
    uint64_t seed = setting("UB_SEED", 1), rounds = g_test_slow() ? 200 : 10;

    for (uint64_t i = 0; i < rounds; i++) {
        g_test_message("seed %" G_GUINT64_FORMAT, seed + i);
        model(kind & 1 ? 4 : 2, kind & 2, kind & 4, kind & 8, kind & 16, seed + i,
              all / rounds);
    }
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_data_func("/ub/ta/random/two", GUINT_TO_POINTER(0),
                         test_model);
    g_test_add_data_func("/ub/ta/random/four", GUINT_TO_POINTER(1),
                         test_model);
    g_test_add_data_func("/ub/ta/random/two-lossy", GUINT_TO_POINTER(2),
                         test_model);
    g_test_add_data_func("/ub/ta/random/four-lossy", GUINT_TO_POINTER(3),
                         test_model);
    g_test_add_data_func("/ub/ta/random/two-tp", GUINT_TO_POINTER(4),
                         test_model);
    g_test_add_data_func("/ub/ta/random/four-tp-lossy", GUINT_TO_POINTER(7),
                         test_model);
    g_test_add_data_func("/ub/ta/random/two-sealed", GUINT_TO_POINTER(8),
                         test_model);
    g_test_add_data_func("/ub/ta/random/four-lossy-sealed",
                         GUINT_TO_POINTER(11), test_model);
    g_test_add_data_func("/ub/ta/random/two-tp-sealed", GUINT_TO_POINTER(12),
                         test_model);
    g_test_add_data_func("/ub/ta/random/four-tp-lossy-sealed",
                         GUINT_TO_POINTER(15), test_model);
    g_test_add_data_func("/ub/ta/random/two-switch", GUINT_TO_POINTER(20),
                         test_model);
    g_test_add_data_func("/ub/ta/random/four-switch-lossy", GUINT_TO_POINTER(23),
                         test_model);
    return g_test_run();
}
