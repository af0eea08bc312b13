/*
 * Random operations between ends over a bad network in virtual time, against a
 * model that is slow and plain: a queue for each direction of a channel, whose
 * head is what must come next.
 *
 * TP_OPS and TP_SEED set others than the defaults; -m slow is the soak run.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <stdlib.h>

#include "core/image.h"
#include "core/random.h"
#include "lossy.h"

enum { CHANS = 3, MAX_PACKETS = 6 };

/* One direction of a channel. */
typedef struct Way {
    GQueue packets;             /* tags that the receiver must see */
    GQueue ops;                 /* cookies that must be acked */
    uint64_t next_tag, next_cookie;
    uint32_t msn;               /* the receiver's next */
    /* The operation that is being handed over. */
    uint64_t cookie;
    uint32_t left;              /* packets, 0: none */
    bool want;
    uint64_t tag;               /* that came last */
    bool refusing;
    uint64_t refused;           /* operation */
} Way;

typedef struct Waiting {
    unsigned node;
    uint32_t tpn, msn;
    UbTpAnswer answer;
    int64_t at;
} Waiting;

typedef struct Model {
    Lossy *l;
    Way way[LOSSY_NODES][CHANS];        /* by sender */
    GArray *waiting;
    uint64_t rng;
    bool refuse;                /* operations are refused now and then */
} Model;

static uint64_t below(Model *m, uint64_t n)
{
    return core_random(&m->rng) % n;
}

/* What a tag says: operation, place in it, kind. */
static uint64_t tag_of(uint64_t cookie, uint32_t left, bool want)
{
    return cookie << 8 | want << 7 | left;
}

static uint64_t hash(uint64_t x)
{
    return core_random(&x);
}

/* The answer that the receiver's user gives to an operation. */
static UbTpAnswer answer_to(const Model *m, uint64_t cookie, bool want)
{
    static const UbTpStatus all[] = {
        UB_TP_DONE, UB_TP_DONE, UB_TP_DONE, UB_TP_RETRY, UB_TP_FAIL, UB_TP_RNR,
        UB_TP_PAGE_FAULT, UB_TP_UNSUPPORTED, UB_TP_ABORT,
    };
    uint64_t h = hash(cookie);
    UbTpAnswer a = { UB_TP_ACK, 0 };

    if (want) {
        a.status = all[h % G_N_ELEMENTS(all)];
        if (a.status == UB_TP_RNR || a.status == UB_TP_PAGE_FAULT) {
            a.timer = (h >> 8) % 20;
        }
    }
    return a;
}

/* At which packet it refuses it, counted from the last; 0: it does not. */
static uint32_t refused_at(const Model *m, uint64_t cookie, bool want)
{
    UbTpAnswer a = answer_to(m, cookie, want);

    return m->refuse && want && a.status != UB_TP_DONE
        ? (hash(cookie) >> 16) % MAX_PACKETS : 0;
}

/* What it refused is not seen any more. */
static void skip_refused(Way *w)
{
    uint64_t *tag;

    while (w->refusing && (tag = g_queue_peek_head(&w->packets)) &&
           *tag >> 8 == w->refused) {
        g_free(g_queue_pop_head(&w->packets));
    }
}

static void model_rx(LossyNode *node, const UbTpRx *rx, CorePacket *pkt)
{
    Model *m = node->opaque;
    Way *w = &m->way[!node->n][rx->tpn % CHANS];
    uint64_t *tag;

    skip_refused(w);
    w->refusing = false;
    tag = g_queue_pop_head(&w->packets);
    g_assert_cmpint(rx->mode, ==, UB_TP_RTP);
    g_assert_nonnull(tag);
    g_assert_true(lossy_intact(pkt, *tag));
    g_assert_cmpint(rx->last, ==, (*tag & 0x7f) == 1);
    g_assert_cmpuint(rx->msn, ==, w->msn);
    if (rx->last) {
        w->msn = (w->msn + 1) & UB_PSN_MASK;
    }
    w->tag = *tag;
    g_free(tag);
}

/* What the user says to the packet that model_rx() saw. */
static UbTpAnswer model_answer(LossyNode *node, const UbTpRx *rx)
{
    static const UbTpAnswer none = { UB_TP_ACK, 0 };
    static const UbTpAnswer wait = { UB_TP_WITHHOLD, 0 };
    Model *m = node->opaque;
    Way *w = &m->way[!node->n][rx->tpn % CHANS];
    bool want = w->tag >> 7 & 1;
    Waiting late = { node->n, rx->tpn, rx->msn };

    if (!want) {
        return none;
    }
    late.answer = answer_to(m, w->tag >> 8, true);
    if (refused_at(m, w->tag >> 8, true) == (w->tag & 0x7f)) {
        w->refusing = true;
        w->refused = w->tag >> 8;
        if (!rx->last) {
            w->msn = (w->msn + 1) & UB_PSN_MASK;
        }
        return late.answer;
    }
    if (!rx->last) {
        return none;
    }
    if (hash(w->tag) % 3 == 0) {
        return late.answer;
    }
    late.at = node->net->now + below(m, 30000);
    g_array_append_val(m->waiting, late);
    return wait;
}

static void model_acked(LossyNode *node, const LossyAcked *a)
{
    Model *m = node->opaque;
    Way *w = &m->way[node->n][a->tpn % CHANS];
    uint64_t *cookie = g_queue_pop_head(&w->ops);
    UbTpAnswer want;

    g_assert_nonnull(cookie);
    g_assert_cmphex(a->cookie, ==, *cookie);
    want = answer_to(m, *cookie >> 1, *cookie & 1);
    g_assert_cmpint(a->answer.status, ==, want.status);
    g_assert_cmpuint(a->answer.timer, ==, want.timer);
    g_free(cookie);
}

static uint64_t *boxed(uint64_t x)
{
    uint64_t *p = g_new(uint64_t, 1);

    *p = x;
    return p;
}

/* Hand over what the channel takes, at most @n packets. */
static uint64_t model_send(Model *m, unsigned node, unsigned c, unsigned n)
{
    Way *w = &m->way[node][c];
    uint64_t begun = 0;

    while (n--) {
        uint64_t tag;

        if (!w->left) {
            w->left = 1 + below(m, MAX_PACKETS);
            w->cookie = w->next_cookie++ * 64 + node * 8 + c;
            w->want = below(m, 3) == 0;
            begun++;
        }
        tag = tag_of(w->cookie, w->left, w->want);
        /* Before it is sent: it may be received within. */
        g_queue_push_tail(&w->packets, boxed(tag));
        if (w->left == 1) {
            g_queue_push_tail(&w->ops, boxed(w->cookie << 1 | w->want));
        }
        if (lossy_send(&m->l->node[node], 3 + c, below(m, 20) ? 8 + below(m, 56)
                                                    : 8 + below(m, 1400),
                       tag, w->left == 1, w->left == 1 && w->want,
                       w->cookie << 1 | w->want) == UB_BUSY) {
            g_free(g_queue_pop_tail(&w->packets));
            if (w->left == 1) {
                g_free(g_queue_pop_tail(&w->ops));
            }
            break;
        }
        w->left--;
    }
    return begun;
}

static void answer_due(Model *m)
{
    for (guint i = 0; i < m->waiting->len;) {
        Waiting *w = &g_array_index(m->waiting, Waiting, i);

        if (w->at <= m->l->now) {
            g_assert_true(ub_tp_answer(m->l->node[w->node].tp, w->tpn, w->msn,
                                       w->answer, m->l->now));
            g_array_remove_index_fast(m->waiting, i);
        } else {
            i++;
        }
    }
}

static bool model_empty(Model *m)
{
    for (unsigned n = 0; n < 2; n++) {
        for (unsigned c = 0; c < CHANS; c++) {
            skip_refused(&m->way[n][c]);
            if (!g_queue_is_empty(&m->way[n][c].ops) ||
                !g_queue_is_empty(&m->way[n][c].packets)) {
                return false;
            }
        }
    }
    return true;
}

static void random_attr(Model *m, UbTpAttr *a)
{
    static const uint16_t windows[] = { 128, 256, 512, 1024, 2048 };
    unsigned how = below(m, 5);

    a->selective = how >= 2;
    a->fast = how == 0 || how == 2 || how == 3;
    a->mark = how == 3;
    a->ooo = how != 0;
    a->spray = a->ooo && below(m, 2);
    a->ooo_window = windows[below(m, 5)];
    a->tx_window = 1 + below(m, below(m, 2) ? 8 : 300);
    a->ask = below(m, UB_TP_ASKS);
    a->ack_every = 1 + below(m, 32);
    a->sack_every = below(m, 3) ? 1 : 1 + below(m, 8);
    a->sack_bits = 64 << below(m, 5);
    a->rto_dynamic = below(m, 2);
    a->rto_code = 0;
    a->rto_base_us = 100 + below(m, 1000);
    a->rto_shift = below(m, 2);
    /* Nothing is given up, however bad it is. */
    a->retries = 40;
    a->cc = below(m, UB_CC_USER);
    a->tx_psn = below(m, 2) ? below(m, 1 << 24)
                            : (UB_PSN_MASK - below(m, 200)) & UB_PSN_MASK;
    a->rx_psn = below(m, 1 << 24);
}

static void model_migrate(Model *m, unsigned n, const UbTpConfig *cfg)
{
    Lossy *l = m->l;
    CoreImage *im = core_image_save(l->now);
    size_t len;
    uint8_t *data;

    ub_tp_image(l->node[n].tp, im);
    data = core_image_take(im, &len);
    core_image_free(im);
    lossy_renew(l, n, cfg);
    im = core_image_load(data, len, l->now);
    ub_tp_image(l->node[n].tp, im);
    g_assert_cmpstr(core_image_done(im), ==, NULL);
    core_image_free(im);
    g_free(data);
}

static void show(Model *m)
{
    for (unsigned n = 0; n < 2; n++) {
        for (unsigned c = 0; c < CHANS; c++) {
            UbTpAttr a;
            UbTpInfo i;

            ub_tp_query(m->l->node[n].tp, 3 + c, &a, &i);
            g_printerr("%u/%u sr %d fast %d mark %d ooo %u tx %u cc %u: una "
                       "%06x next %06x epsn %06x max %06x held %u withheld "
                       "%u times %u cw %" G_GUINT64_FORMAT " rate %"
                       G_GUINT64_FORMAT " left %u ops %u packets %u\n",
                       n, c, a.selective, a.fast, a.mark, a.ooo_window,
                       a.tx_window, a.cc, i.una, i.next, i.epsn, i.max_rcv,
                       i.held, i.withheld, i.timeouts, i.cw, i.rate,
                       m->way[n][c].left, m->way[n][c].ops.length,
                       m->way[n][c].packets.length);
        }
    }
}

static uint64_t model_round(uint64_t seed, uint64_t goal)
{
    Model m = { .rng = seed };
    uint64_t begun = 0, limit;
    UbTpConfig cfg;
    UbTpAttr attr;

    ub_tp_config_init(&cfg);
    cfg.seed = seed;
    cfg.cc_on = below(&m, 2);
    cfg.ack_delay_us = below(&m, 2) ? below(&m, 100) : 0;
    cfg.fake_us = below(&m, 2) ? 50 + below(&m, 1000) : 0;
    cfg.results = 512;
    cfg.hold_bytes = below(&m, 3) ? 64 << 20 : 100000;
    cfg.sack_hides = below(&m, 2);
    cfg.sack_lsb_first = below(&m, 2);
    cfg.cc_param.cw_init = 2000 + below(&m, 100000);
    cfg.cc_param.rate_min = 10000000;
    m.l = lossy_new(&cfg, 2);
    m.waiting = g_array_new(false, false, sizeof(Waiting));
    m.refuse = below(&m, 2);
    m.l->rng = seed;
    m.l->latency = 1000 + below(&m, 20000);
    m.l->jitter = below(&m, 2) ? below(&m, 30000) : 0;
    m.l->lose_ppm = below(&m, 4) ? below(&m, 30000) : below(&m, 200000);
    m.l->double_ppm = below(&m, 2) ? below(&m, 20000) : 0;
    m.l->busy_ppm = below(&m, 3) ? 0 : below(&m, 200000);
    m.l->keep_ppm = below(&m, 2) ? 0 : below(&m, 500000);
    m.l->budget = 1 + below(&m, 200);
    for (unsigned c = 0; c < CHANS; c++) {
        ub_tp_attr_init(m.l->node[0].tp, &attr);
        random_attr(&m, &attr);
        lossy_channel(m.l, 0, 1, 3 + c, 3 + c, &attr);
    }
    for (unsigned n = 0; n < 2; n++) {
        m.l->node[n].opaque = &m;
        m.l->node[n].on_rx = model_rx;
        m.l->node[n].answer = model_answer;
        m.l->node[n].on_acked = model_acked;
    }
    while (begun < goal) {
        unsigned node = below(&m, 2), c = below(&m, CHANS);

        begun += model_send(&m, node, c, 1 + below(&m, 40));
        if (below(&m, 4) == 0) {
            lossy_run(m.l, m.l->now + below(&m, 20000));
        }
        if (below(&m, 8) == 0) {
            static const uint16_t cci[] = { 0, 0, 0x8002, 0x8001, 0x8003,
                                            0x9003, 0x0520, 0x0620, 0x1740 };

            m.l->cci = cci[below(&m, G_N_ELEMENTS(cci))];
        }
        if (below(&m, 2000) == 0) {
            model_migrate(&m, below(&m, 2), &cfg);
        }
        answer_due(&m);
    }
    /* Ends who have begun an operation end it; then all must come. */
    m.l->cci = 0;
    limit = m.l->now + INT64_C(1000) * 1000000000;
    for (bool done = false; !done;) {
        done = true;
        for (unsigned n = 0; n < 2; n++) {
            for (unsigned c = 0; c < CHANS; c++) {
                if (m.way[n][c].left) {
                    model_send(&m, n, c, m.way[n][c].left);
                    done &= !m.way[n][c].left;
                }
            }
        }
        lossy_run(m.l, m.l->now + 50000);
        answer_due(&m);
        done &= model_empty(&m) && !m.waiting->len;
        if (m.l->now >= (int64_t)limit) {
            show(&m);
            g_error("stuck, seed %" G_GUINT64_FORMAT, seed);
        }
    }
    m.l->busy_ppm = 0;
    lossy_run(m.l, m.l->now + 1000000000);
    for (unsigned n = 0; n < 2; n++) {
        if (m.l->node[n].errors->len) {
            show(&m);
            g_error("error %u of node %u, seed %" G_GUINT64_FORMAT,
                    g_array_index(m.l->node[n].errors, UbTpError, 0), n, seed);
        }
        for (unsigned c = 0; c < CHANS; c++) {
            UbTpInfo info;

            ub_tp_query(m.l->node[n].tp, 3 + c, NULL, &info);
            g_assert_cmpint(info.state, ==, UB_TP_ACTIVE);
            g_assert_cmpuint(info.in_flight, ==, 0);
            g_assert_cmpuint(info.in_flight_bytes, ==, 0);
            g_assert_cmpuint(info.held, ==, 0);
            g_assert_cmpuint(info.withheld, ==, 0);
        }
    }
    g_array_free(m.waiting, true);
    lossy_free(m.l);
    return begun;
}

static void test_rtp(void)
{
    const char *ops = getenv("TP_OPS"), *seed = getenv("TP_SEED");
    uint64_t goal = ops ? strtoull(ops, NULL, 0)
                        : g_test_slow() ? 10000000 : 100000;
    uint64_t s = seed ? strtoull(seed, NULL, 0) : 1, done = 0;

    while (done < goal) {
        g_test_message("seed %" G_GUINT64_FORMAT, s);
        done += model_round(s++, MIN(2000, goal));
    }
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/tp/model/rtp", test_rtp);
    return g_test_run();
}
