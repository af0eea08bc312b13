/*
 * The image of the transaction layer, field by field: what is saved is there again
 * after loading, and what cannot be is refused.  States are written straight into the
 * structures, with something else in each field.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "ta-pair.h"

#include "internal.h"

enum { COPIES = 3, SCS = 8, SC_BUFFER = 8 };

/* ---- fields --------------------------------------------------------------------- */

typedef enum Kind {
    NUMBER,         /* of the field's width, up to max unless that is 0 */
    FLAG,
    BYTES,
    DEADLINE,
} Kind;

typedef struct Field {
    const char *name;
    uint16_t offset, size;
    uint8_t kind;
    uint32_t max;
} Field;

#define FIELD(kind, type, member, max) \
    { #member, offsetof(type, member), sizeof(((type *)0)->member), kind, max }
#define N(type, member) FIELD(NUMBER, type, member, 0)
#define M(type, member, max) FIELD(NUMBER, type, member, max)
#define F(type, member) FIELD(FLAG, type, member, 0)
#define B(type, member) FIELD(BYTES, type, member, 0)
#define D(type, member) FIELD(DEADLINE, type, member, 0)

#define FLOW(type, flow) \
    M(type, flow.cfg, 15), M(type, flow.rt, 3), M(type, flow.sl, 15), \
    N(type, flow.nlp), F(type, flow.mgmt), N(type, flow.port), \
    N(type, flow.vl), N(type, flow.cci), N(type, flow.scna), \
    N(type, flow.dcna), N(type, flow.lbf), N(type, flow.npi), \
    B(type, flow.ip.src), B(type, flow.ip.dst), N(type, flow.ip.hops)

#define SEC(type, sec) \
    M(type, sec.form, UB_SEC_SHORT), F(type, sec.mgmt), F(type, sec.cip), \
    N(type, sec.cip_id), N(type, sec.sn), N(type, sec.upi), \
    B(type, sec.seid), B(type, sec.deid)

#define TAH(type, tah) \
    N(type, tah.opcode), F(type, tah.poison), N(type, tah.tassn), \
    F(type, tah.no_taack), F(type, tah.sv), N(type, tah.status), \
    M(type, tah.rspst, 7), M(type, tah.rspinfo, 31), M(type, tah.rc_type, 3), \
    N(type, tah.rc_id), N(type, tah.taid), N(type, tah.offset)

#define BACK(type, back) \
    M(type, back.dest.mode, UB_TP_MODES - 1), N(type, back.dest.tpn), \
    FLOW(type, back.dest.flow), SEC(type, back.sec), \
    F(type, back.form.compact), F(type, back.form.tasks), \
    F(type, back.form.token_high), N(type, back.tpn), N(type, back.msn), \
    F(type, back.answers), F(type, back.alloc), N(type, back.scid), \
    F(type, back.rcid_set), N(type, back.rcid)

static const Field of_partial[] = {
    N(Partial, tassn), N(Partial, tpn), N(Partial, msn), N(Partial, got),
    F(Partial, bad), N(Partial, outcome.rspst), N(Partial, outcome.rspinfo),
    F(Partial, outcome.silent), F(Partial, outcome.later),
    N(Partial, outcome.ticket), F(Partial, poison), F(Partial, alloc),
    F(Partial, rqe_taken), N(Partial, buf.rqe), N(Partial, buf.len),
    N(Partial, tc_id), N(Partial, rc_id), N(Partial, entity),
    D(Partial, at), { 0 },
};

static const Field of_held_done[] = {
    N(HeldDone, tassn), D(HeldDone, at), N(HeldDone, done.rqe),
    N(HeldDone, done.status), N(HeldDone, done.opcode), F(HeldDone, done.fce),
    N(HeldDone, done.len), N(HeldDone, done.imm), N(HeldDone, done.tc_id),
    N(HeldDone, done.rc_id), B(HeldDone, done.seid), N(HeldDone, done.who),
    N(HeldDone, done.entity), { 0 },
};

static const Field of_held[] = {
    N(Held, tassn), D(Held, at), M(Held, rx.mode, UB_TP_MODES - 1),
    N(Held, rx.tpn), N(Held, rx.msn), F(Held, rx.last), N(Held, rx.nlp),
    FLOW(Held, flow), { 0 },
};

static const Field of_ctx[] = {
    F(Ctx, started), N(Ctx, base), N(Ctx, sc_base), D(Ctx, due),
    D(Ctx, used), N(Ctx, rcid), TAH(Ctx, owed_tah), BACK(Ctx, owed_back),
    { 0 },
};

static const Field of_answer[] = {
    BACK(Answer, back), TAH(Answer, tah),
    M(Answer, access.kind, UB_ACCESS_ATOMIC), F(Answer, access.token_en),
    F(Answer, access.e_bit), F(Answer, access.bare), N(Answer, access.ee),
    N(Answer, access.entity), B(Answer, access.seid),
    N(Answer, access.token_id), N(Answer, access.token),
    N(Answer, access.addr), N(Answer, offset), N(Answer, nlp),
    F(Answer, last), N(Answer, cookie), { 0 },
};

static const Field of_parked[] = {
    BACK(Parked, back), TAH(Parked, tah), N(Parked, ticket), { 0 },
};

static const Field of_dest[] = {
    N(UbTaDest, tp.tpn), N(UbTaDest, tp.flow.nlp), N(UbTaDest, tp.flow.port),
    N(UbTaDest, tp.flow.vl), N(UbTaDest, tp.flow.cci),
    N(UbTaDest, tp.flow.scna), N(UbTaDest, tp.flow.dcna),
    N(UbTaDest, tp.flow.lbf), N(UbTaDest, tp.flow.npi),
    M(UbTaDest, tp.flow.rt, 3), M(UbTaDest, tp.flow.sl, 15),
    F(UbTaDest, group), F(UbTaDest, answers), M(UbTaDest, sl_writeback, 15),
    N(UbTaDest, sec.cip_id), N(UbTaDest, sec.sn), N(UbTaDest, sec.upi),
    B(UbTaDest, sec.seid), B(UbTaDest, sec.deid), { 0 },
};

static const Field of_request[] = {
    N(UbTaRequest, dest), N(UbTaRequest, opcode), N(UbTaRequest, order),
    F(UbTaRequest, fence), F(UbTaRequest, ordered_cqe), F(UbTaRequest, fce),
    F(UbTaRequest, e_bit), F(UbTaRequest, poison), F(UbTaRequest, token_en),
    F(UbTaRequest, ud_en), N(UbTaRequest, ee), N(UbTaRequest, sub),
    N(UbTaRequest, tc_type), N(UbTaRequest, hint), N(UbTaRequest, affinity),
    N(UbTaRequest, ud), N(UbTaRequest, tc_id), N(UbTaRequest, token),
    N(UbTaRequest, token_id), N(UbTaRequest, addr), N(UbTaRequest, len),
    N(UbTaRequest, imm), N(UbTaRequest, imm_token), N(UbTaRequest, ntf_addr),
    N(UbTaRequest, ntf_data), N(UbTaRequest, ntf_token_id),
    N(UbTaRequest, ntf_token), B(UbTaRequest, be), N(UbTaRequest, msn),
    N(UbTaRequest, mgmt_queue), N(UbTaRequest, mgmt_code),
    N(UbTaRequest, mgmt_sub), N(UbTaRequest, mgmt_status),
    F(UbTaRequest, mgmt_rsp), { 0 },
};

static const Field of_begun[] = {
    N(UbTaRequest, serial), N(UbTaRequest, made), N(UbTaRequest, open),
    N(UbTaRequest, status), N(UbTaRequest, where), N(UbTaRequest, slices),
    F(UbTaRequest, all_made), F(UbTaRequest, finished),
    F(UbTaRequest, counted), F(UbTaRequest, on_ordered),
    F(UbTaRequest, outside), { 0 },
};

static const Field of_slice[] = {
    D(Slice, at), N(Slice, dest), N(Slice, off), N(Slice, len),
    N(Slice, sent), N(Slice, got), N(Slice, tpn), N(Slice, state),
    N(Slice, opcode), N(Slice, retries), F(Slice, begun), F(Slice, ends),
    F(Slice, again), F(Slice, alloc), F(Slice, in_sc), F(Slice, stale),
    { 0 },
};

static const Field of_lane[] = {
    B(Lane, key), N(Lane, id), F(Lane, compact), F(Lane, orphan),
    N(Lane, una), N(Lane, next), N(Lane, pending), N(Lane, sc),
    N(Lane, scid), N(Lane, alloc), N(Lane, begun), { 0 },
};

static uint64_t rng = 20240229;

/* Another value than zero, so that what is not there is seen, and in a flag both. */
static void fill(const Field *f, void *at, int64_t now)
{
    for (; f->name; f++) {
        uint8_t *p = (uint8_t *)at + f->offset;
        uint64_t x = core_random(&rng);

        switch (f->kind) {
        case FLAG:
            *(bool *)p = x & 1;
            break;
        case BYTES:
            for (unsigned i = 0; i < f->size; i++) {
                p[i] = core_random(&rng) | 1;
            }
            break;
        case DEADLINE:
            *(int64_t *)p = now + 1 + x % 1000000;
            break;
        default:
            x = f->max ? x % f->max + 1 : x | 1;
            g_assert_true(f->size == 1 || f->size == 2 || f->size == 4 ||
                          f->size == 8);
            if (f->size == 1) {
                *p = x;
            } else if (f->size == 2) {
                *(uint16_t *)p = x;
            } else if (f->size == 4) {
                *(uint32_t *)p = x;
            } else {
                *(uint64_t *)p = x;
            }
            break;
        }
    }
}

static void same(const Field *f, const void *a, const void *b)
{
    for (; f->name; f++) {
        if (memcmp((const uint8_t *)a + f->offset,
                   (const uint8_t *)b + f->offset, f->size)) {
            g_error("%s is not what it was", f->name);
        }
    }
}

/* ---- a state of the target -------------------------------------------------------- */

static CorePacket *some_packet(UbTa *ta, uint32_t len)
{
    CorePacket *pkt = core_packet_alloc(ta->pool, len);

    for (uint32_t i = 0; i < len; i++) {
        core_packet_data(pkt)[i] = core_random(&rng);
    }
    return pkt;
}

static void same_packet(CorePacket *a, CorePacket *b)
{
    g_assert_cmpmem(core_packet_data(a), a->len, core_packet_data(b), b->len);
}

static Key some_key(void)
{
    Key k = { .who = core_random(&rng), .rc = core_random(&rng) & 0xfffff };

    for (unsigned i = 0; i < sizeof(k.eid); i++) {
        k.eid.b[i] = core_random(&rng);
    }
    return k;
}

static void fill_ctx(UbTa *ta, Ctx *ctx, int number)
{
    fill(of_ctx, ctx, ta->now);
    for (uint32_t i = 0; i < ta->cfg.window / 64; i++) {
        ctx->done[i] = core_random(&rng);
        ctx->refused[i] = core_random(&rng);
        ctx->refusals += __builtin_popcountll(ctx->refused[i]);
    }
    ctx->owed = number ? UB_TAH_AGGREGATE - number : 0;
    ctx->sc = number != 1;
    ctx->scid = ctx->sc ? SCS - 1 - number : 0;
    if (ctx->sc) {
        ta->scs[ctx->scid] = ctx;
        ta->sc_count++;
    }
    for (int i = 0; i < COPIES; i++) {
        Partial *p = ta_ctx_partial(ctx, 100 * number + i, true);
        HeldDone *h = g_new0(HeldDone, 1);
        uint16_t tassn = p->tassn;

        fill(of_partial, p, ta->now);
        p->tassn = tassn;
        fill(of_held_done, h, ta->now);
        h->next = ctx->held_done;
        ctx->held_done = h;
        ta->held_dones++;
    }
    for (int i = 0; i < 2 && ctx->sc; i++) {
        Held *h = g_new0(Held, 1);

        fill(of_held, h, ta->now);
        h->pkt = some_packet(ta, 20 + 300 * i);
        *ctx->held_end = h;
        ctx->held_end = &h->next;
        ta->helds++;
    }
}

static void same_ctx(const UbTa *ta, Ctx *a, Ctx *b)
{
    Partial *p, *q;
    HeldDone *d, *e;
    Held *h, *i;

    g_assert_cmpuint(a->owed, ==, b->owed);
    if (!a->owed) {     /* then nobody reads them */
        memset(&b->owed_tah, 0, sizeof(b->owed_tah));
        b->owed_tah = a->owed_tah;
        b->owed_back = a->owed_back;
    }
    same(of_ctx, a, b);
    g_assert_true(b->owing == !!b->owed);
    g_assert_cmpmem(a->done, ta->cfg.window / 8, b->done, ta->cfg.window / 8);
    g_assert_cmpmem(a->refused, ta->cfg.window / 8, b->refused,
                    ta->cfg.window / 8);
    g_assert_cmpuint(a->refusals, ==, b->refusals);
    g_assert_true(a->sc == b->sc);
    g_assert_cmpuint(a->scid, ==, b->scid);
    g_assert_true(!b->sc || ta->scs[b->scid] == b);
    for (p = a->partial; p; p = p->next) {
        q = ta_ctx_partial(b, p->tassn, false);
        g_assert_nonnull(q);
        same(of_partial, p, q);
    }
    for (d = a->held_done, e = b->held_done; d; d = d->next, e = e->next) {
        g_assert_nonnull(e);
        same(of_held_done, d, e);
    }
    g_assert_null(e);
    for (h = a->held, i = b->held; h; h = h->next, i = i->next) {
        g_assert_nonnull(i);
        same(of_held, h, i);
        same_packet(h->pkt, i->pkt);
    }
    g_assert_null(i);
}

static void fill_answers(UbTa *ta)
{
    for (unsigned i = 0; i < COPIES; i++) {
        Answer *a = g_new0(Answer, 1);
        Parked tmp = { 0 };

        fill(of_answer, a, ta->now);
        a->len = 10000 + i;
        a->done = 4096 + i;
        a->step = 4000 + i;
        if (i != 1) {
            a->pkt = some_packet(ta, 77 + i);
        }
        *ta->answers_end = a;
        ta->answers_end = &a->next;
        ta->answer_count++;
        fill(of_parked, &tmp, ta->now);
        ta_park(ta, &tmp.back, &tmp.tah, tmp.ticket);
    }
    ta->answer_cookie = core_random(&rng);
    for (unsigned i = 0; i < UB_TA_COUNTERS_NUM; i++) {
        ta->count[i] = core_random(&rng);
    }
    ub_ta_set_answers(ta, 0x1234, true);
    ub_ta_set_answers(ta, 0x56789a, true);
}

static void same_answers(UbTa *a, UbTa *b)
{
    Answer *x, *y;
    Parked *k, *l = NULL;
    unsigned n = 0;

    for (x = a->answers, y = b->answers; x; x = x->next, y = y->next) {
        g_assert_nonnull(y);
        same(of_answer, x, y);
        /* The resource space that it is to reach. */
        g_assert_cmpuint(y->access.cfg, ==, x->back.dest.flow.cfg);
        g_assert_cmpuint(x->len, ==, y->len);
        g_assert_cmpuint(x->done, ==, y->done);
        g_assert_cmpuint(x->step, ==, y->step);
        g_assert_true(!x->pkt == !y->pkt);
        if (x->pkt) {
            same_packet(x->pkt, y->pkt);
        }
        n++;
    }
    g_assert_null(y);
    g_assert_cmpuint(n, ==, b->answer_count);
    g_assert_true(b->answers_try);
    /* Faults are answered in any order: each is there once. */
    for (k = a->parked; k; k = k->next) {
        for (l = b->parked; l && l->ticket != k->ticket; l = l->next) {
        }
        g_assert_nonnull(l);
        same(of_parked, k, l);
    }
    g_assert_cmpuint(a->parkeds, ==, b->parkeds);
    g_assert_cmpuint(a->answer_cookie, ==, b->answer_cookie);
    g_assert_cmpmem(a->count, sizeof(a->count), b->count, sizeof(b->count));
    g_assert_cmpuint(g_hash_table_size(a->answers_by), ==,
                     g_hash_table_size(b->answers_by));
    g_assert_true(g_hash_table_contains(b->answers_by,
                                        GUINT_TO_POINTER(0x56789a)));
}

static Pair *some_pair(void)
{
    UbTaConfig cfg;

    pair_config(&cfg);
    cfg.scs = SCS;
    cfg.sc_buffer = SC_BUFFER;
    return pair_new(2, &cfg);
}

/* End 0 saved, into end 1, which is given its place: both are there. */
static void copy_over(Pair *p)
{
    size_t len;
    g_autofree uint8_t *data = pair_save(p, 0, &len), *again = NULL;
    size_t len2;

    g_assert_cmpstr(pair_load(p, 1, data, len), ==, NULL);
    again = pair_save(p, 1, &len2);
    g_assert_cmpuint(len, ==, len2);
}

static void test_target(void)
{
    Pair *p = some_pair();
    UbTa *ta = p->end[0].ta;
    Key keys[COPIES];
    UbTaState was, is;

    for (int i = 0; i < COPIES; i++) {
        keys[i] = some_key();
        fill_ctx(ta, ta_ctx(ta, &keys[i]), i);
    }
    fill_answers(ta);
    copy_over(p);
    ub_ta_state(ta, &was);
    ub_ta_state(p->end[1].ta, &is);
    g_assert_cmpmem(&was, sizeof(was), &is, sizeof(is));
    for (int i = 0; i < COPIES; i++) {
        Ctx *a = ta_ctx_find(ta, &keys[i]);
        Ctx *b = ta_ctx_find(p->end[1].ta, &keys[i]);

        g_assert_nonnull(b);
        same_ctx(p->end[1].ta, a, b);
    }
    /* The same one goes first, when room is needed. */
    g_assert_cmpmem(&ta->used.oldest->key, sizeof(Key),
                    &p->end[1].ta->used.oldest->key, sizeof(Key));
    same_answers(ta, p->end[1].ta);
    pair_free(p);
}

/* ---- the initiator -------------------------------------------------------------------- */

static void test_initiator(void)
{
    Pair *p = some_pair();
    UbTa *ta = p->end[0].ta, *tb;
    const UbTaQueueConfig qc = { .rcid = 0x54321, .mode = UB_ROT,
                                 .in_order = true, .stop_on_error = true,
                                 .static_sc = true, .scid = 0x123,
                                 .entity = 5 };
    UbTaQueue *q = ub_ta_queue_new(ta, &qc), *r;
    UbTaDest rows[COPIES];
    Work *work[COPIES], copy[COPIES];

    /* Destinations. */
    for (unsigned i = 0; i < COPIES; i++) {
        rows[i] = *ub_ta_dest(ta, ROW_RTP + 1);
        fill(of_dest, &rows[i], 0);
        g_assert_true(ub_ta_set_dest(ta, 1000 + 70 * i, &rows[i]));
        rows[i] = *ub_ta_dest(ta, 1000 + 70 * i);
    }
    /* Requests that nobody has looked at yet may have anything in them. */
    ub_ta_queue_stop(q, true);
    for (unsigned i = 0; i < COPIES; i++) {
        work[i] = work_new(ROW_RTP + 1, UB_TA_WRITE, 0, 64);
        work[i]->req.id = 0x1122334455667700 + i;
        fill(of_request, &work[i]->req, 0);
        g_assert_true(ub_ta_post(ta, q, &work[i]->req));
        copy[i] = *work[i];
        g_hash_table_insert(p->end[1].works, &work[i]->req.id, work[i]);
    }
    q->mixed = true;
    q->ordered_dest = 0xabcdef;
    ta->start = 0x7000;
    ta->lane_id = 0x31415926;
    /* Loading gives requests a new owner, so it is all in the copy. */
    copy_over(p);
    tb = p->end[1].ta;
    for (unsigned i = 0; i < COPIES; i++) {
        const UbTaDest *d = ub_ta_dest(tb, 1000 + 70 * i);

        g_assert_nonnull(d);
        same(of_dest, &rows[i], d);
        g_assert_cmpuint(d->tp.mode, ==, UB_TP_RTP);
        g_assert_cmpuint(d->tp.flow.cfg, ==, UB_LPH_CNA24);
        g_assert_cmpuint(d->mtu, ==, 4096);
        g_assert_cmpuint(d->sec.form, ==, UB_SEC_WIDE);
    }
    r = ub_ta_queue(tb, qc.rcid);
    g_assert_nonnull(r);
    g_assert_cmpmem(&qc, sizeof(qc), ub_ta_queue_config(r), sizeof(qc));
    g_assert_cmpuint(ub_ta_queue_len(r), ==, COPIES);
    g_assert_true(ub_ta_queue_stopped(r));
    g_assert_cmpuint(r->serial, ==, q->serial);
    g_assert_true(r->mixed);
    g_assert_cmpuint(r->ordered_dest, ==, 0xabcdef);
    g_assert_cmpuint(tb->start, ==, 0x7000);
    g_assert_cmpuint(tb->lane_id, ==, 0x31415926);
    for (unsigned i = 0; i < COPIES; i++) {
        g_assert_true(work[i]->req.queue == r);
        g_assert_true(work[i]->req.user == copy[i].req.user);
        g_assert_cmpuint(work[i]->req.id, ==, copy[i].req.id);
        g_assert_cmpuint(work[i]->req.serial, ==, copy[i].req.serial);
        same(of_request, &copy[i].req, &work[i]->req);
    }
    /* They stay in their order. */
    g_assert_true(r->all.head == &work[0]->req);
    g_assert_true(r->all.tail == &work[COPIES - 1]->req);
    ub_ta_free(p->end[0].ta);
    p->end[0].ta = ub_ta_new(ub_ta_config(tb), tb->ops, &p->end[0], tb->lower,
                             &p->end[0], p->end[0].sec);
    g_hash_table_remove_all(p->end[1].works);
    pair_free(p);
    for (unsigned i = 0; i < COPIES; i++) {
        work_free(work[i]);
    }
}

static bool lose(Pair *p, Wire *w)
{
    return false;
}

/* Requests of all kinds that have begun, whose packets are lost. */
static void test_begun(void)
{
    static const struct {
        uint8_t opcode, order;
        uint32_t len;
        bool fence;
    } rows[] = {
        { UB_TA_WRITE, UB_TA_NO, 30000 }, { UB_TA_READ, UB_TA_RO, 9000 },
        { UB_TA_FETCH_ADD, UB_TA_NO, 8 }, { UB_TA_WRITE, UB_TA_SO, 64 },
        { UB_TA_WRITE, UB_TA_RO, 100 }, { UB_TA_READ, UB_TA_NO, 5000, true },
    };
    enum { REQUESTS = G_N_ELEMENTS(rows) };
    Pair *p = some_pair();
    UbTa *ta = p->end[0].ta, *tb;
    Work *work[REQUESTS];
    UbTaRequest copy[REQUESTS];
    GHashTableIter it;
    gpointer id, lane;
    unsigned slices = 0, waiting = 0;

    p->filter = lose;
    pair_queue(p, 0, 7, UB_ROI);
    for (unsigned i = 0; i < REQUESTS; i++) {
        work[i] = work_new(ROW_CTP + 1, rows[i].opcode, 0, rows[i].len);
        work[i]->req.order = rows[i].order;
        work[i]->req.fence = rows[i].fence;
        work_post(p, 0, 7, work[i]);
        g_hash_table_insert(p->end[1].works, &work[i]->req.id, work[i]);
    }
    pair_run_for(p, 5000);
    work[0]->req.status = UB_TAS_RNR;       /* one slice has said so */
    for (unsigned i = 0; i < REQUESTS; i++) {
        copy[i] = work[i]->req;
        waiting += copy[i].where != IN_NONE;
    }
    /* Some have begun, some wait for them. */
    g_assert_cmpuint(copy[0].slices, >, 1);
    g_assert_cmpuint(waiting, >, 0);
    g_hash_table_iter_init(&it, ta->lane_ids);
    while (g_hash_table_iter_next(&it, &id, &lane)) {
        Lane *a = lane;

        for (uint32_t n = a->una; n != a->next; n++) {
            ta_lane_at(a, n)->retries = 1 + n % 5;
            ta_lane_at(a, n)->again = n % 2;
            ta_lane_at(a, n)->got = n % 3;
        }
    }
    copy_over(p);
    tb = p->end[1].ta;
    for (unsigned i = 0; i < REQUESTS; i++) {
        same(of_begun, &copy[i], &work[i]->req);
    }
    g_assert_cmpuint(g_hash_table_size(ta->lane_ids), ==,
                     g_hash_table_size(tb->lane_ids));
    g_hash_table_iter_init(&it, ta->lane_ids);
    while (g_hash_table_iter_next(&it, &id, &lane)) {
        Lane *a = lane, *b = g_hash_table_lookup(tb->lane_ids, id);

        g_assert_nonnull(b);
        same(of_lane, a, b);
        g_assert_true(!a->queue == !b->queue);
        for (uint32_t n = a->una; n != a->next; n++, slices++) {
            same(of_slice, ta_lane_at(a, n), ta_lane_at(b, n));
            g_assert_true(ta_lane_at(a, n)->req == ta_lane_at(b, n)->req);
        }
    }
    g_assert_cmpuint(slices, >, 1);
    ub_ta_free(p->end[0].ta);
    p->end[0].ta = ub_ta_new(ub_ta_config(tb), tb->ops, &p->end[0], tb->lower,
                             &p->end[0], p->end[0].sec);
    g_hash_table_remove_all(p->end[0].works);
    g_hash_table_remove_all(p->end[1].works);
    pair_free(p);
    for (unsigned i = 0; i < REQUESTS; i++) {
        work_free(work[i]);
    }
}

/* ---- what is refused -------------------------------------------------------------------- */

typedef void Spoil(UbTa *ta, Ctx *ctx);

static void no_mode(UbTa *ta, Ctx *ctx) { ctx->owed_back.dest.mode = UB_TP_MODES; }
static void no_form(UbTa *ta, Ctx *ctx) { ctx->owed_back.sec.form = UB_SEC_CIPH; }
static void no_cfg(UbTa *ta, Ctx *ctx) { ctx->owed_back.dest.flow.cfg = 16; }
static void no_rt(UbTa *ta, Ctx *ctx) { ctx->owed_back.dest.flow.rt = 4; }
static void no_sl(UbTa *ta, Ctx *ctx) { ctx->owed_back.dest.flow.sl = 16; }
static void no_rspst(UbTa *ta, Ctx *ctx) { ctx->owed_tah.rspst = 8; }
static void no_info(UbTa *ta, Ctx *ctx) { ctx->owed_tah.rspinfo = 32; }
static void no_type(UbTa *ta, Ctx *ctx) { ctx->owed_tah.rc_type = 4; }
static void owed(UbTa *ta, Ctx *ctx) { ctx->owed = UB_TAH_AGGREGATE + 1; }
static void no_sc(UbTa *ta, Ctx *ctx) { ctx->scid = SCS; }
static void sc_twice(UbTa *ta, Ctx *ctx) { ctx->scid = SCS - 1; }
static void held_mode(UbTa *ta, Ctx *ctx) { ctx->held->rx.mode = UB_TP_MODES; }
static void kind(UbTa *ta, Ctx *ctx)
{
    ta->answers->access.kind = UB_ACCESS_ATOMIC + 1;
}
static void done(UbTa *ta, Ctx *ctx)
{
    ta->answers->step = 0;
    ta->answers->done = ta->answers->len + 1;
}
static void step(UbTa *ta, Ctx *ctx)
{
    ta->answers->step = ta->answers->len - ta->answers->done + 1;
}
static void length(UbTa *ta, Ctx *ctx)
{
    ta->answers->len = ta->cfg.max_len + 1;
}
static void nothing(UbTa *ta, Ctx *ctx)
{
    Answer *a = ta->answers->next;

    a->last = true;
    a->len = a->done = a->step = 0;
}
static void packet(UbTa *ta, Ctx *ctx)
{
    core_packet_free(ctx->held->pkt);
    ctx->held->pkt = core_packet_alloc(ta->pool, 16385);
    memset(core_packet_data(ctx->held->pkt), 0, 16385);
}
static void too_held(UbTa *ta, Ctx *ctx)
{
    for (unsigned i = 0; i < SC_BUFFER - 1; i++) {
        Held *h = g_new0(Held, 1);

        h->rx.mode = UB_TP_CTP;
        h->pkt = some_packet(ta, 8);
        *ctx->held_end = h;
        ctx->held_end = &h->next;
        ta->helds++;
    }
}
static void held_by_none(UbTa *ta, Ctx *ctx)
{
    ctx->sc = false;
}
static void nothing_wrong(UbTa *ta, Ctx *ctx) { }
/* At the edges all is well. */
static void edges(UbTa *ta, Ctx *ctx)
{
    ctx->owed = UB_TAH_AGGREGATE;
    ctx->owed_tah.rspst = 7;
    ctx->owed_tah.rspinfo = 31;
    ctx->owed_tah.rc_type = 3;
    ctx->owed_back.dest.flow.cfg = ctx->owed_back.dest.flow.sl = 15;
    ctx->owed_back.dest.flow.rt = 3;
    ctx->owed_back.sec.form = UB_SEC_SHORT;
    ta->answers->access.kind = UB_ACCESS_ATOMIC;
    ta->answers->len = ta->cfg.max_len;
    ta->answers->done = ta->cfg.max_len - 5;
    ta->answers->step = 5;
}

static const struct {
    const char *says;
    Spoil *spoil;
} spoils[] = {
    { NULL, nothing_wrong },
    { NULL, edges },
    { "a carrier of the image does not exist", no_mode },
    { "a form of headers", no_form },
    { "a flow of the image", no_cfg },
    { "a flow of the image", no_rt },
    { "a flow of the image", no_sl },
    { "impossible fields", no_rspst },
    { "impossible fields", no_info },
    { "impossible fields", no_type },
    { "for too many", owed },
    { "an SC of the image", no_sc },
    { "an SC of the image", sc_twice },
    { "no carrier", held_mode },
    { "an answer of the image", kind },
    { "an answer of the image", done },
    { "an answer of the image", step },
    { "an answer of the image", length },
    { "an answer of the image", nothing },
    { "too long", packet },
    { "too many packets held", too_held },
    { "held by no SC", held_by_none },
};

/* One thing wrong in a state that would be good: refused, with that reason, and
 * nothing is left behind. */
static void test_refused(void)
{
    for (unsigned i = 0; i < G_N_ELEMENTS(spoils); i++) {
        Pair *p = some_pair();
        UbTa *ta = p->end[0].ta;
        g_autofree uint8_t *data = NULL;
        const char *why;
        uint32_t scid;
        size_t len;
        Ctx *last = NULL;

        for (int n = 0; n < COPIES; n++) {
            Key key = some_key();

            last = ta_ctx(ta, &key);
            fill_ctx(ta, last, n);
        }
        fill_answers(ta);
        scid = last->scid;
        spoils[i].spoil(ta, last);
        data = pair_save(p, 0, &len);
        last->scid = scid;      /* by which it is found when it goes */
        why = pair_load(p, 1, data, len);
        if (!spoils[i].says) {
            g_assert_cmpstr(why, ==, NULL);
        } else if (!why || !strstr(why, spoils[i].says)) {
            g_error("%s: %s", spoils[i].says, why ? why : "taken");
        }
        pair_free(p);
    }
}

/* ---- room for one more ---- */

/* The oldest contexts hold what is not whole yet, and may not go: who was refused
 * for that finds a place when it comes again. */
static void test_room(void)
{
    UbTaConfig cfg;
    Pair *p;
    UbTa *ta;
    Key key;

    pair_config(&cfg);
    cfg.contexts = 100;
    p = pair_new(2, &cfg);
    ta = p->end[0].ta;
    for (unsigned i = 0; i < cfg.contexts; i++) {
        Ctx *ctx;

        key = some_key();
        ctx = ta_ctx(ta, &key);
        g_assert_nonnull(ctx);
        if (i < 80) {
            g_assert_nonnull(ta_ctx_partial(ctx, 1, true));
        }
    }
    key = some_key();
    g_assert_null(ta_ctx(ta, &key));
    g_assert_nonnull(ta_ctx(ta, &key));
    g_assert_cmpuint(g_hash_table_size(ta->contexts), ==, cfg.contexts);
    pair_free(p);
}

/* An image cannot say that a peer was told to wait for longer than can be said. */
static void test_due(void)
{
    Pair *p = pair_new(2, NULL);
    Key key = some_key();
    Ctx *ctx = ta_ctx(p->end[0].ta, &key);

    ctx->due = ctx->used = CORE_NEVER;
    g_assert_null(pair_migrate(p, 0));
    ctx = ta_ctx_find(p->end[0].ta, &key);
    g_assert_nonnull(ctx);
    g_assert_cmpint(ctx->due, ==, p->now + 1048576000);
    g_assert_cmpint(ctx->used, ==, ctx->due);
    pair_free(p);
}

/* Each refusal has its time, while there are some and not too many contexts have. */
static void test_times(void)
{
    enum { CONTEXTS = 1100, TABLES = 1024 };
    Ctx *ctx[CONTEXTS];
    UbTaConfig cfg;
    Pair *p;
    UbTa *ta;

    pair_config(&cfg);
    cfg.contexts = CONTEXTS;
    p = pair_new(2, &cfg);
    ta = p->end[0].ta;
    for (unsigned i = 0; i < CONTEXTS; i++) {
        Key key = some_key();

        ctx[i] = ta_ctx(ta, &key);
        g_assert_false(ta_ctx_seen(ctx[i], 0, false));
        ta_ctx_refuse(ctx[i], cfg.window, true, ta->now);      /* out of it */
        g_assert_null(ctx[i]->refused_when);
        ta_ctx_refuse(ctx[i], 0, true, ta->now);
        ta_ctx_refuse(ctx[i], 1, true, ta->now);
        g_assert_true(!ctx[i]->refused_when == (i >= TABLES));
        g_assert_cmpuint(ctx[i]->refusals, ==, 2);
        g_assert_true(ta_ctx_refused_before(ctx[i], 1));
    }
    g_assert_cmpuint(ta->refusal_tables, ==, TABLES);
    ta_ctx_done(ctx[0], 1);
    g_assert_nonnull(ctx[0]->refused_when);
    ta_ctx_done(ctx[0], 0);
    g_assert_null(ctx[0]->refused_when);
    g_assert_false(ta_ctx_refused_before(ctx[0], 2));
    /* There is room for another one's. */
    g_assert_cmpuint(ta->refusal_tables, ==, TABLES - 1);
    ta_ctx_refuse(ctx[TABLES], 2, true, ta->now);
    g_assert_nonnull(ctx[TABLES]->refused_when);
    /* All are given up; without a table all at the same time. */
    ub_ta_time(ta, ta->now + ta_time(ta, cfg.hold_time) + 1);
    g_assert_true(ta_ctx_refused_before(ctx[1], 3));
    ub_ta_time(ta, ta->now + ta_time(ta, cfg.hold_time));
    for (unsigned i = 0; i < CONTEXTS; i++) {
        g_assert_false(ta_ctx_refused_before(ctx[i], 3));
        g_assert_null(ctx[i]->refused_when);
    }
    g_assert_cmpuint(ta->refusal_tables, ==, 0);
    /* Those of a context that goes, or begins anew, go along. */
    ta_ctx_refuse(ctx[1], 5, true, ta->now);
    ta_ctx_refuse(ctx[2], 5, true, ta->now);
    g_assert_cmpuint(ta->refusal_tables, ==, 2);
    ta_ctx_free(ctx[1]);
    g_assert_cmpuint(ta->refusal_tables, ==, 1);
    ta_ctx_seen(ctx[2], 5 - 4 * cfg.window, false);
    g_assert_cmpuint(ta->refusal_tables, ==, 0);
    g_assert_cmpuint(ctx[2]->refusals, ==, 0);
    pair_free(p);
}

/* An image as before version 6: no header says whose it is, and some counters there are
 * not.  Its length. */
static size_t without_from(const Pair *p, uint8_t *data, size_t len)
{
    size_t was = len;

    len -= 8 * (UB_TA_COUNTERS_NUM - UB_TAC_DROP_ENDED);
    for (unsigned i = 0; i < 4; i++) {
        const UbEid names[2] = { p->end[i / 2].eid, p->end[i % 2].eid };

        for (size_t at = 0; at + sizeof(names) < len; at++) {
            if (!memcmp(data + at, names, sizeof(names))) {
                at += sizeof(names);
                memmove(data + at, data + at + 1, --len - at);
            }
        }
    }
    put_be32(data + 6, get_be32(data + 6) - (was - len));
    return len;
}

/* Whose a header is comes along; who cannot be is refused; older ones say nothing. */
static void test_from(void)
{
    Pair *p = pair_new(2, NULL);
    UbTaDest d = *ub_ta_dest(p->end[0].ta, 0);

    for (unsigned more = 0; more < 2; more++) {
        g_autofree uint8_t *data = NULL;
        size_t len;

        d.sec.from = UB_SEC_TARGETS + more;
        g_assert_true(ub_ta_set_dest(p->end[0].ta, 0, &d));
        data = pair_save(p, 0, &len);
        g_assert_cmpstr(pair_load(p, 1, data, len), ==, more
                        ? "a sender of the image does not exist" : NULL);
        g_assert_true(more || ub_ta_dest(p->end[1].ta, 0)->sec.from == d.sec.from);
        put_be16(data + 4, 5);
        g_assert_null(pair_load(p, 1, data, without_from(p, data, len)));
        g_assert_cmpuint(ub_ta_dest(p->end[1].ta, 0)->sec.from, ==, 0);
    }
    pair_free(p);
}

/* Contexts of version 2 name no Entity: where there are several, what was executed
 * would be so again. */
static void test_version(void)
{
    for (unsigned entities = 1; entities <= 2; entities++) {
        g_autofree uint8_t *data = NULL;
        UbTaConfig cfg;
        const char *why;
        size_t len;
        Pair *p;

        pair_config(&cfg);
        cfg.entities = entities;
        p = pair_new(2, &cfg);
        data = pair_save(p, 0, &len);
        g_assert_cmpstr(pair_load(p, 1, data, len), ==, NULL);
        g_assert_cmpuint(get_be16(data + 4), ==, 8);
        put_be16(data + 4, 2);
        why = pair_load(p, 1, data, without_from(p, data, len));
        if (entities == 1) {
            g_assert_cmpstr(why, ==, NULL);
        } else {
            g_assert_nonnull(strstr(why, "Entities"));
        }
        pair_free(p);
    }
}

/* Before version 5 contexts did not say which address of their node was asked: who asks
 * first is the one whose numbers they know. */
static void test_any_local(void)
{
    static const uint64_t local = UINT64_C(0x0123456789abcdef);
    g_autofree uint8_t *data = NULL;
    Key key = some_key(), other;
    Pair *p = pair_new(2, NULL);
    UbTa *ta = p->end[0].ta;
    uint8_t mark[8];
    size_t len, at = 0, found = 0;
    Ctx *ctx;

    key.local = local;
    g_assert_false(ta_ctx_seen(ta_ctx(ta, &key), 7, false));
    ta_ctx_done(ta_ctx(ta, &key), 7);
    data = pair_save(p, 0, &len);
    put_be64(mark, local);
    for (size_t i = 0; i + sizeof(mark) <= len; i++) {
        if (!memcmp(data + i, mark, sizeof(mark))) {
            at = i;
            found++;
        }
    }
    g_assert_cmpuint(found, ==, 1);
    memmove(data + at, data + at + 8, len - at - 8);
    put_be16(data + 4, 4);
    put_be32(data + 6, get_be32(data + 6) - 8);
    g_assert_null(pair_load(p, 1, data, without_from(p, data, len - 8)));
    ta = p->end[1].ta;
    other = key;
    other.local = local + 1;
    g_assert_null(ta_ctx_find(ta, &key));
    ctx = ta_ctx(ta, &key);
    g_assert_true(ta_ctx_seen(ctx, 7, false));
    g_assert_true(ta_ctx_find(ta, &key) == ctx);
    g_assert_false(ta_ctx_seen(ta_ctx(ta, &other), 7, false));
    g_assert_true(ta_ctx(ta, &key) == ctx);
    pair_free(p);
}

/* Before version 4 queues said nothing of tries. */
static void test_tries(void)
{
    static const uint8_t mark[] = { 0x5a, 3 };
    g_autofree uint8_t *data = NULL;
    const UbTaQueueConfig *cfg;
    Pair *p = pair_new(2, NULL);
    size_t len, at = 0, found = 0;

    ub_ta_queue_set_tries(pair_queue(p, 0, 7, UB_ROI), mark[0], mark[1]);
    data = pair_save(p, 0, &len);
    g_assert_cmpstr(pair_load(p, 1, data, len), ==, NULL);
    cfg = ub_ta_queue_config(ub_ta_queue(p->end[1].ta, 7));
    g_assert_cmpuint(cfg->tries, ==, mark[0]);
    g_assert_cmpuint(cfg->patience, ==, mark[1]);
    for (size_t i = 0; i + 1 < len; i++) {
        if (!memcmp(data + i, mark, 2)) {
            at = i;
            found++;
        }
    }
    g_assert_cmpuint(found, ==, 1);
    data[at + 1] = UB_TA_GEARS + 1;
    g_assert_cmpstr(pair_load(p, 1, data, len), ==,
                    "a queue of the image cannot be");
    memmove(data + at, data + at + 2, len - at - 2);
    put_be16(data + 4, 3);
    put_be32(data + 6, get_be32(data + 6) - 2);
    g_assert_null(pair_load(p, 1, data, without_from(p, data, len - 2)));
    cfg = ub_ta_queue_config(ub_ta_queue(p->end[1].ta, 7));
    g_assert_cmpuint(cfg->tries, ==, 0);
    g_assert_cmpuint(cfg->patience, ==, 0);
    pair_free(p);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/ub/ta/image/target", test_target);
    g_test_add_func("/ub/ta/image/initiator", test_initiator);
    g_test_add_func("/ub/ta/image/begun", test_begun);
    g_test_add_func("/ub/ta/image/refused", test_refused);
    g_test_add_func("/ub/ta/image/due", test_due);
    g_test_add_func("/ub/ta/image/version", test_version);
    g_test_add_func("/ub/ta/image/tries", test_tries);
    g_test_add_func("/ub/ta/image/from", test_from);
    g_test_add_func("/ub/ta/image/any-local", test_any_local);
    g_test_add_func("/ub/ta/contexts/room", test_room);
    g_test_add_func("/ub/ta/contexts/times", test_times);
    return g_test_run();
}
