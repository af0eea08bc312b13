/*
 * How long credit that is free stays with a receiver while somebody waits for it
 * (UB 2.0 §4.6.3): two ends with buffers as small as they may be, which always have
 * something to send themselves or seldom, with links that repeat, restart and change
 * their mode.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "dll-pair.h"

#define MS INT64_C(1000000)
#define CHUNK 64

typedef struct Wait {
    Pair p;
    UbDllConfig cfg[2];
    GArray *cost[2][UB_VLS];    /* bytes of each packet that was given to it */
    int64_t since[2][UB_VLS];   /* a VL waits for credit that is free, or -1 */
    int64_t longest, bound;
    unsigned waits;
    bool busy[2];               /* has always a packet to send */
    double flip, retrain, down, mode, hold;
    unsigned chunk, max_len;
} Wait;

static bool chance(double p)
{
    return p > 0 && g_test_rand_double() < p;
}

static UbDllStatus status(Wait *w, unsigned i)
{
    UbDllStatus st;

    ub_dll_status(w->p.e[i].dll, &st);
    return st;
}

/* 0: the mode has no packets of that length. */
static int cells_of(const UbDllStatus *st, UbBlockMode mode, unsigned len)
{
    const unsigned cell = st->agreed.flow_ctrl_size;
    UbPlength shape;

    return ub_plength_of(mode, len, &shape)
           ? (ub_plength_flits(shape) + cell - 1) / cell : 0;
}

/* What is set aside for a VL in shared mode (§4.6.1.3). */
static uint32_t quota_of(Wait *w, unsigned i, unsigned vl, const UbDllStatus *tx)
{
    const unsigned cell = tx->agreed.flow_ctrl_size;
    uint32_t total = 0, part, quota = w->cfg[i].share_quota[vl];

    for (unsigned v = 0; v < UB_VLS; v++) {
        total += tx->tx_credit_init[v];
    }
    part = total / __builtin_popcount(tx->agreed.vl_enable);
    return !(tx->agreed.vl_enable >> vl & 1) ? 0 : quota ? MIN(quota, part)
           : MIN((UB_DLLDP_FLITS + cell - 1) / cell, part / 2);
}

/* What a packet may cost, as long as what cannot be said stays with the receiver. */
static int most(Wait *w, unsigned i, unsigned vl, const UbDllStatus *tx)
{
    int most = 0;

    for (unsigned v = 0; v < UB_VLS; v++) {
        if (v == vl || tx->tx_shared) {
            most += tx->tx_credit_init[v] - MAX(tx->agreed.ctrl_credit_grain[v], 1) + 1;
            most -= v != vl ? quota_of(w, i, v, tx) : 0;
        }
    }
    return most;
}

/* Whether the first packet of a VL could go if all went back that a Crd_Ack can say. */
static bool would_do(Wait *w, unsigned i, unsigned vl, const UbDllStatus *tx,
                     const UbDllStatus *rx)
{
    uint32_t share = tx->tx_credit_shared;
    const GArray *sent = w->cost[i][vl];
    unsigned need = cells_of(tx, tx->mode, g_array_index(sent, unsigned,
                                                         sent->len - tx->queued[vl]));
    uint32_t has = tx->tx_credit[vl];

    if (!tx->tx_shared) {
        return has + rx->rx_pending[vl] -
               rx->rx_pending[vl] % rx->agreed.ctrl_credit_grain[vl] >= need;
    }
    for (unsigned v = 0; v < UB_VLS; v++) {
        share += rx->rx_pending[v] -
                 rx->rx_pending[v] % MAX(rx->agreed.ctrl_credit_grain[v], 1);
    }
    for (unsigned v = 0; v < UB_VLS; v++) {
        uint32_t quota = v != vl ? quota_of(w, i, v, tx) : 0;

        share -= MIN(share, quota - MIN(quota, tx->tx_credit[v]));
    }
    return has + share >= need;
}

/* Who waits since when for what is there. */
static void look(Wait *w)
{
    UbDllStatus st[2] = { status(w, 0), status(w, 1) };
    bool normal = true;

    for (unsigned i = 0; i < 2; i++) {
        normal &= st[i].state == UB_DLL_NORMAL && st[i].active && !st[i].mode_change &&
                  !st[i].retry_req && !st[i].retry_ack;
    }
    for (unsigned i = 0; i < 2; i++) {
        for (unsigned vl = 0; vl < UB_VLS; vl++) {
            int64_t *since = &w->since[i][vl];

            if (!normal || !(st[i].starved >> vl & 1) ||
                !would_do(w, i, vl, &st[i], &st[!i])) {
                *since = -1;
            } else if (*since < 0) {
                *since = w->p.now;
                w->waits++;
            } else {
                w->longest = MAX(w->longest, w->p.now - *since);
                if (w->p.now - *since > w->bound) {
                    pair_dump(&w->p);
                    g_error("end %u VL %u waits for %d ns for credit that is free",
                            i, vl, (int)(w->p.now - *since));
                }
            }
        }
    }
}

static void feed(Wait *w, unsigned i)
{
    UbDllStatus st = status(w, i);

    if (!w->busy[i] && chance(0.7)) {
        return;
    }
    for (unsigned n = w->busy[i] ? 30 : 1 + chance(0.3) * 8; n; n--) {
        unsigned vl = g_test_rand_int_range(0, __builtin_popcount(st.agreed.vl_enable));
        unsigned len = g_test_rand_int_range(1, chance(0.3) ? w->max_len + 1 : 40);

        if (st.queued[vl] < (w->busy[i] ? 8 : 4) && st.state == UB_DLL_NORMAL &&
            MAX(cells_of(&st, UB_MODE_CRC, len), cells_of(&st, UB_MODE_NON_CRC, len)) <=
                most(w, i, vl, &st) &&
            pair_send(&w->p, i, vl, len, 0)) {
            g_array_append_val(w->cost[i][vl], len);
        }
        st = status(w, i);
    }
}

static void move(Wait *w, unsigned from)
{
    uint8_t buf[CHUNK * UB_FLIT_SIZE];
    End *to = &w->p.e[!from];
    size_t n = ub_dll_tx(w->p.e[from].dll, w->p.now, buf, w->chunk);

    for (size_t i = 0; i < n; i++) {
        uint8_t ok = 1;

        if (chance(w->flip)) {
            buf[i * UB_FLIT_SIZE + g_test_rand_int_range(0, 20)] ^= 1;
            ok = w->p.mode == UB_MODE_CRC;
        }
        g_byte_array_append(to->flits, buf + i * UB_FLIT_SIZE, UB_FLIT_SIZE);
        g_byte_array_append(to->ok, &ok, 1);
    }
}

static void relink(Wait *w)
{
    for (unsigned i = 0; i < 2; i++) {
        End *e = &w->p.e[i];

        g_byte_array_set_size(e->flits, 0);
        g_byte_array_set_size(e->ok, 0);
        ub_dll_phy_down(e->dll, w->p.now);
    }
    pair_link(&w->p);
}

static void step(Wait *w, bool feeding)
{
    Pair *p = &w->p;
    unsigned ready = p->e[0].ready;

    for (unsigned i = 0; i < 2; i++) {
        if (feeding) {
            feed(w, i);
        }
        move(w, i);
    }
    p->now += 500;
    for (unsigned i = 0; i < 2; i++) {
        pair_push(p, i);
        if (!p->e[i].hold || chance(w->hold) || g_queue_get_length(p->e[i].held) > 200) {
            pair_release_all(&p->e[i]);
        }
        ub_dll_poll(p->e[i].dll, p->now);
        while (!g_queue_is_empty(p->e[i].got)) {
            core_packet_free(g_queue_pop_head(p->e[i].got));
        }
    }
    if (chance(w->mode)) {
        p->next_mode = ub_dll_mode_change(p->e[0].dll, p->now) ? !p->mode : p->mode;
    }
    if (p->e[0].ready != ready || p->e[0].retrains + p->e[1].retrains != p->retrains ||
        chance(w->retrain)) {
        p->next_mode = p->e[0].ready != ready && pair_mode_agreed(p) ? p->next_mode
                                                                     : p->mode;
        p->retrains = p->e[0].retrains + p->e[1].retrains;
        pair_retrain_both(p);
    } else if (chance(w->down)) {
        p->next_mode = p->mode;
        relink(w);
    }
    look(w);
}

static void configure(Wait *w, bool marks)
{
    static const uint16_t depths[] = { 64, 64, 100, 8192 };
    static const int64_t delays[] = { MS, MS, MS / 10, 20000, 0 };

    w->bound = 0;
    w->max_len = chance(0.5) ? 10142 : chance(0.5) ? 1200 : 100;
    for (unsigned i = 0; i < 2; i++) {
        UbDllConfig *c = &w->cfg[i];
        unsigned cell = 1 << g_test_rand_int_range(0, 6), most;

        ub_dll_config_init(c);
        c->wish.retry_buf_depth = depths[g_test_rand_int_range(0, 4)];
        c->wish.vl_enable = (2u << g_test_rand_int_range(0, 16)) - 1;
        c->wish.rxbuf_vl_share = g_test_rand_int() & 1;
        c->tx_share = g_test_rand_int() & 1;
        c->wish.flow_ctrl_size = 8 | cell;
        c->wish.ctrl_ack_grain = 1 << g_test_rand_int_range(0, 4);
        c->wish.data_ack_grain = 1 << g_test_rand_int_range(0, 8);
        /* As few as the longest packet needs, or a little more. */
        most = (w->max_len + 19) / 20 + 8;
        for (unsigned vl = 0; vl < UB_VLS; vl++) {
            c->wish.ctrl_credit_grain[vl] = 1 << g_test_rand_int_range(0, 3);
            c->wish.data_credit_grain[vl] = 1 << g_test_rand_int_range(0, 8);
            c->init_credit[vl] = (most + 7) / 8 * (chance(0.5) ? 1 : 8) +
                                 (chance(0.5) ? g_test_rand_int_range(0, 20) : 0);
            c->share_quota[vl] = chance(0.5) ? g_test_rand_int_range(0, 500) : 0;
            if (marks) {
                c->crd_return[vl] = chance(0.5) ? g_test_rand_int_range(0, 99) : 0;
                c->crd_force[vl] = chance(0.5) ? g_test_rand_int_range(0, 99) : 0;
            }
        }
        c->credit_delay = delays[g_test_rand_int_range(0, 5)];
        c->keepalive = chance(0.5) ? 0 : c->keepalive;
        w->bound = MAX(w->bound, c->credit_delay);
        c->wait_timeout = 100000;
        c->num_retry_threshold = 200;
        c->num_phy_reinit_threshold = 250;
        c->credit_timeout = 0;
        c->mode_timeout = 10 * MS;
    }
    /* And of turns, of which each moves some of the longest packet. */
    w->bound += 200000;
    w->flip = chance(0.3) ? 0.0002 : 0;
    w->retrain = chance(0.3) ? 0.0005 : 0;
    w->down = chance(0.3) ? 0.0005 : 0;
    w->mode = chance(0.3) ? 0.0005 : 0;
    w->hold = g_test_rand_double();
    w->chunk = g_test_rand_int_range(4, CHUNK + 1);
}

/* Nothing is left anywhere: with marks of one's own, less than they say. */
static bool is_over(Wait *w, bool marks)
{
    for (unsigned i = 0; i < 2; i++) {
        UbDllStatus st = status(w, i);

        for (unsigned vl = 0; vl < UB_VLS; vl++) {
            if (st.state != UB_DLL_NORMAL || st.queued[vl] ||
                st.rx_held[vl] != st.rx_pending[vl] ||
                st.rx_held[vl] >= MAX(st.agreed.ctrl_credit_grain[vl],
                                      marks ? w->cfg[i].crd_return[vl] : 1)) {
                return false;
            }
        }
    }
    return true;
}

/* Nobody sends or disturbs any more: what waits goes. */
static void end_of(Wait *w, bool marks)
{
    w->flip = w->retrain = w->down = w->mode = 0;
    w->p.e[0].hold = w->p.e[1].hold = false;
    for (unsigned n = 0; !is_over(w, marks); n++) {
        if (n > 100000) {
            pair_dump(&w->p);
            g_error("the link does not come to an end");
        }
        step(w, false);
    }
    if (w->p.e[0].up && w->p.e[1].up) {
        for (unsigned n = 0; n < 100; n++) {
            step(w, false);
        }
        pair_check_credits(&w->p);
    }
}

static int64_t round_of(unsigned round, bool marks)
{
    Wait *w = g_new0(Wait, 1);
    int64_t longest;

    configure(w, marks);
    pair_up(&w->p, &w->cfg[0], &w->cfg[1], round & 1);
    for (unsigned i = 0; i < 2; i++) {
        w->busy[i] = g_test_rand_int() & 1;
        w->p.e[i].hold = !w->busy[!i] && chance(0.5);
        for (unsigned vl = 0; vl < UB_VLS; vl++) {
            w->cost[i][vl] = g_array_new(false, false, sizeof(unsigned));
            w->since[i][vl] = -1;
        }
    }
    for (unsigned n = 0; n < 8000; n++) {
        step(w, true);
    }
    end_of(w, marks);
    longest = w->longest;
    g_test_message("round %u: %u waits, %d us at most of %d", round, w->waits,
                   (int)(longest / 1000), (int)(w->bound / 1000));
    for (unsigned i = 0; i < 2; i++) {
        g_assert_false(w->p.e[i].fatal);
        for (unsigned vl = 0; vl < UB_VLS; vl++) {
            g_array_free(w->cost[i][vl], true);
        }
    }
    pair_free(&w->p);
    g_free(w);
    return longest;
}

static void test_random(void)
{
    const unsigned rounds = g_test_slow() ? 1000 : 12;

    for (unsigned round = 0; round < rounds; round++) {
        round_of(round, false);
    }
}

/* With marks of one's own as well, which leave the peer enough. */
static void test_marks(void)
{
    const unsigned rounds = g_test_slow() ? 200 : 3;

    for (unsigned round = 0; round < rounds; round++) {
        round_of(round, true);
    }
}

/* End 1 has always something to send, until @at; packets that came there on VL 1. */
static unsigned turns(Wait *w, int64_t at)
{
    unsigned came = 0;
    CorePacket *pkt;

    while (w->p.now < at) {
        while (status(w, 1).queued[0] < 40) {
            g_assert_true(pair_send(&w->p, 1, 0, 10, 0));
        }
        move(w, 0);
        move(w, 1);
        w->p.now += 500;
        for (unsigned i = 0; i < 2; i++) {
            pair_push(&w->p, i);
            ub_dll_poll(w->p.e[i].dll, w->p.now);
            while ((pkt = g_queue_pop_head(w->p.e[i].got))) {
                came += ub_meta(pkt)->vl == 1;
                core_packet_free(pkt);
            }
        }
    }
    return came;
}

/* What is less than its DLLDPs carry goes back in front of them: at once if the peer
 * would not have enough for the longest packet, and else after the delay. */
static void test_busy(void)
{
    static const int64_t delays[] = { MS, MS / 5, 0 };

    for (unsigned held = 0; held < 2; held++) {
        for (unsigned k = 0; k < G_N_ELEMENTS(delays); k++) {
            Wait w = { .chunk = 16 };
            UbDllConfig cfg;
            int64_t begun;

            ub_dll_config_init(&cfg);
            cfg.credit_delay = delays[k];
            cfg.keepalive = cfg.credit_timeout = 0;
            cfg.wish.data_credit_grain[1] = 0x80;
            cfg.init_credit[1] = held ? 130 : 65;
            pair_up(&w.p, &cfg, &cfg, UB_MODE_CRC);
            /* Of 130 there are 60 in hand, 40 in use and 30 free; of 65 there are 2 free,
             * and the longest packet takes 64. */
            w.p.e[1].hold = true;
            for (unsigned n = 0; held && n < 40; n++) {
                g_assert_true(pair_send(&w.p, 0, 1, 10, n));
            }
            turns(&w, w.p.now + 50000);
            w.p.e[1].hold = false;
            begun = w.p.now;
            for (unsigned n = 0; n < (held ? 30 : 2); n++) {
                g_assert_true(pair_send(&w.p, 0, 1, 10, n));
            }
            g_assert_true(pair_send(&w.p, 0, 1, UB_PAYLOAD_MAX_CRC, 1));
            if (held) {
                turns(&w, begun + (delays[k] ? delays[k] : MS) - 50000);
                g_assert_cmpuint(status(&w, 0).queued[1], ==, 1);
                g_assert_cmpuint(status(&w, 1).rx_pending[1], ==, 30);
                g_assert_cmpuint(turns(&w, w.p.now + 200000), ==, 1);
            } else {
                g_assert_cmpuint(turns(&w, begun + 100000), ==, 3);
            }
            pair_check_credits(&w.p);
            pair_free(&w.p);
        }
    }
}

/* Who waits for a slow consumer hears that its peer lives, also if that has always
 * something to send (§4.8.1). */
static void test_alive(void)
{
    for (unsigned silent = 0; silent < 2; silent++) {
        Wait w = { .chunk = 16 };
        UbDllConfig cfg;

        ub_dll_config_init(&cfg);
        cfg.keepalive = silent ? 0 : MS;
        cfg.credit_timeout = 5 * MS;
        cfg.init_credit[1] = 64;
        pair_up(&w.p, &cfg, &cfg, UB_MODE_CRC);
        w.p.e[1].hold = true;
        for (unsigned n = 0; n < 65; n++) {
            g_assert_true(pair_send(&w.p, 0, 1, 10, n));
        }
        g_assert_cmpuint(turns(&w, w.p.now + 4 * MS), ==, 64);
        g_assert_false(w.p.e[0].fatal);
        if (silent) {
            while (!w.p.e[0].fatal) {
                turns(&w, w.p.now + MS);
            }
        } else {
            turns(&w, w.p.now + 16 * MS);
            g_assert_false(w.p.e[0].fatal);
            pair_release_all(&w.p.e[1]);
            g_assert_cmpuint(turns(&w, w.p.now + 2 * MS), ==, 1);
        }
        pair_release_all(&w.p.e[1]);
        pair_free(&w.p);
    }
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/dll/wait/busy", test_busy);
    g_test_add_func("/dll/wait/alive", test_alive);
    g_test_add_func("/dll/wait/random", test_random);
    g_test_add_func("/dll/wait/marks", test_marks);
    return g_test_run();
}
