/*
 * Retry scenarios of UB 2.0 §4.7.3, one by one, with both ends' states.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "dll-pair.h"

#define BRING_UP 1 /* sets of either kind that the initial handshake takes */

static UbDllStatus status(Pair *p, unsigned i)
{
    UbDllStatus st;

    ub_dll_status(p->e[i].dll, &st);
    return st;
}

/* Damage planned for the flits of one end. */
static struct {
    unsigned from;
    int at;            /* flit number, counted from 0 when armed */
    unsigned count;    /* flits to damage from there */
    bool fec;          /* FEC verdict instead of a flipped bit */
    uint8_t only;      /* damage Retry sets of this type only, 0: any flit */
    bool drop;         /* lose them without a trace */
    unsigned seen[256]; /* Retry flits by type */
    unsigned payload;   /* other flits */
} plan;

static bool damage(Pair *p, unsigned from, uint8_t *flit, uint8_t *ok)
{
    uint8_t type;

    if (from != plan.from) {
        return true;
    }
    type = ub_lch_valid(flit) ? flit[2] : 0xff;
    plan.seen[type]++;
    plan.payload += type == 0xff;
    if (plan.only && plan.only != type) {
        return true;
    }
    if (plan.at-- > 0 || !plan.count) {
        return true;
    }
    plan.count--;
    if (plan.fec) {
        *ok = 0;
        memset(flit, 0xa5, UB_FLIT_SIZE);
    } else {
        flit[7] ^= 0x10;
    }
    return !plan.drop;
}

static void arm(unsigned from, int at, unsigned count, bool fec, uint8_t only)
{
    memset(&plan, 0, sizeof(plan));
    plan.from = from;
    plan.at = at;
    plan.count = count;
    plan.fec = fec;
    plan.only = only;
}

/* A link with a WAIT timeout long enough not to interfere. */
static void link_up(Pair *p, UbBlockMode mode)
{
    UbDllConfig cfg;

    ub_dll_config_init(&cfg);
    cfg.wait_timeout = 100000;
    pair_up(p, &cfg, &cfg, mode);
    p->tamper = damage;
}

static void send_some(Pair *p, unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        g_assert_true(pair_send(p, 0, 0, 100 + i * 211, i));
    }
}

static void expect_some(Pair *p, unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        pair_expect(p, 1, 0, 100 + i * 211, i);
    }
    g_assert_true(g_queue_is_empty(p->e[1].got));
    pair_check_credits(p);
}

/* Figure 4-43: one bad block, all behind it dropped and replayed. */
static void test_normal(gconstpointer data)
{
    UbBlockMode mode = GPOINTER_TO_UINT(data);

    for (unsigned at = 0; at < 90; at++) {
        Pair p;

        link_up(&p, mode);
        arm(0, at, 1, mode == UB_MODE_NON_CRC || at % 2, 0);
        send_some(&p, 12);
        pair_run(&p, 1000000);
        expect_some(&p, 12);
        g_assert_cmpstr(p.e[1].path->str, ==, "REQ WAIT NORMAL ");
        g_assert_cmpstr(p.e[0].path->str, ==, "");
        g_assert_cmpuint(plan.seen[UB_CB_RETRY_ACK], ==, 32);
        g_assert_cmpuint(plan.seen[UB_CB_RETRY_IDLE], ==, 1);
        g_assert_cmpuint(ub_dll_stats(p.e[1].dll)->retries, ==, BRING_UP + 1);
        g_assert_cmpuint(ub_dll_stats(p.e[0].dll)->retry_acks, ==,
                         BRING_UP + 1);
        g_assert_cmpuint(ub_dll_stats(p.e[0].dll)->replayed_flits, >, 0);
        g_assert_cmpuint(ub_dll_stats(p.e[1].dll)->crc_errors +
                         ub_dll_stats(p.e[1].dll)->fec_errors, >, 0);
        g_assert_cmpuint(status(&p, 1).num_retry, ==, 0);
        pair_free(&p);
    }
}

/* In Non-CRC mode RcvPtr names the flit, in CRC mode the start of its block
 * (§4.7.3.2.2). */
static void test_position(gconstpointer data)
{
    UbBlockMode mode = GPOINTER_TO_UINT(data);
    uint16_t before;
    Pair p;

    link_up(&p, mode);
    before = status(&p, 1).rcv_ptr;
    g_assert_cmpuint(before, ==, status(&p, 0).wr_ptr);
    arm(0, 40, 1, true, 0); /* flit 8 of the second block */
    g_assert_true(pair_send(&p, 0, 0, 2000, 1));
    p.tamper = damage;
    pair_pull(&p, 0);
    pair_push(&p, 1);
    g_assert_cmpuint(status(&p, 1).rcv_ptr, ==,
                     before + (mode == UB_MODE_CRC ? 32 : 40));
    g_assert_cmpint(status(&p, 1).retry_req, ==, UB_RETRY_REQ_REQ);
    g_assert_cmpuint(status(&p, 1).num_retry, ==, 1);
    pair_run(&p, 1000000);
    pair_expect(&p, 1, 0, 2000, 1);
    pair_free(&p);
}

/* Figure 4-44: the request is lost, WAIT runs out, it is sent again. */
static void test_request_lost(gconstpointer data)
{
    UbBlockMode mode = GPOINTER_TO_UINT(data);
    Pair p;

    link_up(&p, mode);
    send_some(&p, 4);
    arm(0, 5, 1, true, 0);
    pair_pull(&p, 0);
    pair_push(&p, 1);
    arm(1, 0, 32, true, UB_CB_RETRY_REQ);
    pair_run(&p, 1000000);
    expect_some(&p, 4);
    /* Two lost sets are 33 copies: 32 and the first of the next. */
    g_assert_true(g_str_has_prefix(p.e[1].path->str, "REQ WAIT REQ WAIT "));
    g_assert_true(g_str_has_suffix(p.e[1].path->str, "WAIT NORMAL "));
    g_assert_cmpuint(p.e[1].errors[UB_DLL_ERR_RETRY_ACK_TIMEOUT], >=, 1);
    g_assert_cmpuint(p.e[1].errors[UB_DLL_ERR_RETRY_ROLLOVER], ==, 0);
    pair_free(&p);
}

/* The answer is lost. */
static void test_answer_lost(gconstpointer data)
{
    UbBlockMode mode = GPOINTER_TO_UINT(data);
    Pair p;

    link_up(&p, mode);
    send_some(&p, 4);
    arm(0, 5, 1, true, 0);
    pair_pull(&p, 0);
    arm(0, 3, 20, true, UB_CB_RETRY_ACK);
    pair_run(&p, 1000000);
    expect_some(&p, 4);
    g_assert_cmpstr(p.e[1].path->str, ==, "REQ WAIT REQ WAIT NORMAL ");
    g_assert_cmpuint(p.e[1].errors[UB_DLL_ERR_RETRY_ACK_TIMEOUT], ==, 1);
    g_assert_cmpuint(ub_dll_stats(p.e[0].dll)->retry_acks, ==, BRING_UP + 2);
    pair_free(&p);
}

/* What requests and answers say: positions, and NUM_RETRY, which the answer
 * repeats (§4.3.3.4). */
static UbRetryReq last_req;
static UbRetryAck last_ack;

static void see_sets(Pair *p, unsigned from, const uint8_t *block,
                     unsigned flits)
{
    if (ub_lch_valid(block) && ub_lch_type(block) == UB_CB_RETRY_REQ) {
        g_assert_cmpuint(from, ==, 1);
        last_req = ub_get_retry_req(block);
    } else if (ub_lch_valid(block) && ub_lch_type(block) == UB_CB_RETRY_ACK) {
        g_assert_cmpuint(from, ==, 0);
        last_ack = ub_get_retry_ack(block);
        g_assert_cmpuint(last_ack.num_retry, ==, last_req.num_retry);
        g_assert_cmpuint(last_ack.rd_ptr, ==, last_req.rcv_ptr);
        g_assert_cmpuint(last_ack.wr_ptr, ==, status(p, 0).wr_ptr);
        g_assert_cmpuint(last_ack.num_free_buf, ==,
                         status(p, 0).num_free_buf);
    }
}

static void test_words(void)
{
    uint64_t discarded;
    Pair p;

    link_up(&p, UB_MODE_CRC);
    p.see = see_sets;
    send_some(&p, 4);
    arm(0, 5, 1, true, 0);
    pair_pull(&p, 0);
    discarded = ub_dll_stats(p.e[1].dll)->rx_discarded;
    arm(0, 3, 60, true, UB_CB_RETRY_ACK); /* two answers are lost */
    pair_run(&p, 1000000);
    expect_some(&p, 4);
    g_assert_cmpuint(last_req.num_retry, ==, 3);
    g_assert_cmpuint(last_req.num_phy_reinit, ==, 0);
    g_assert_cmpuint(ub_dll_stats(p.e[1].dll)->rx_discarded - discarded, >,
                     3 * 33);
    g_assert_cmpuint(ub_dll_stats(p.e[1].dll)->rx_discarded - discarded, <,
                     4 * 33 + 3 * status(&p, 0).wr_ptr);
    pair_free(&p);
}

/* Answers keep failing: THRESHOLD - 1 sets (or THRESHOLD), DL Retry Rollover,
 * Retrain, and after NUM_PHY_REINIT_THRESHOLD rounds ERROR (§4.8.2). */
static void test_exhaust(gconstpointer data)
{
    bool after = GPOINTER_TO_UINT(data);
    UbDllConfig cfg;
    g_autoptr(GString) want = g_string_new("");
    unsigned sets = after ? 5 : 4;
    Pair p;

    ub_dll_config_init(&cfg);
    cfg.num_retry_threshold = 5;
    cfg.num_phy_reinit_threshold = 3;
    cfg.retry_send_threshold = after;
    pair_up(&p, &cfg, &cfg, UB_MODE_CRC);
    p.tamper = damage;
    send_some(&p, 4);
    arm(0, 5, 1, false, 0);
    pair_pull(&p, 0);
    arm(0, 0, 1000000, true, UB_CB_RETRY_ACK);
    for (unsigned n = 0; n < 400 && !p.e[1].fatal; n++) {
        if (!pair_step(&p)) {
            p.now += cfg.wait_timeout;
            ub_dll_poll(p.e[1].dll, p.now);
        }
    }
    for (unsigned round = 0; round < 3; round++) {
        for (unsigned n = 0; n < sets; n++) {
            g_string_append(want, "REQ WAIT ");
        }
        g_string_append(want, round < 2 ? "RETRAIN " : "ERROR ");
    }
    g_assert_cmpstr(p.e[1].path->str, ==, want->str);
    g_assert_cmpuint(p.e[1].errors[UB_DLL_ERR_RETRY_ROLLOVER], ==, 3);
    g_assert_cmpuint(p.e[1].errors[UB_DLL_ERR_RETRY], ==, 1);
    g_assert_cmpuint(p.e[1].errors[UB_DLL_ERR_RETRY_ACK_TIMEOUT], ==,
                     3 * sets);
    g_assert_cmpuint(p.e[1].retrains, ==, 2);
    g_assert_true(p.e[1].fatal);
    g_assert_false(p.e[1].up);
    g_assert_cmphex(ub_dll_sm_status(p.e[1].dll) & 0xf0, ==, 0x40);
    /* Nothing moves in ERROR, and only reset leaves it. */
    g_assert_cmpuint(pair_pull(&p, 1), ==, 0);
    ub_dll_phy_down(p.e[1].dll, p.now);
    ub_dll_phy_up(p.e[1].dll, p.now);
    g_assert_cmpint(status(&p, 1).state, ==, UB_DLL_DISABLED);
    p.tamper = NULL;
    for (unsigned i = 0; i < 2; i++) {
        ub_dll_reset(p.e[i].dll, p.now);
        g_byte_array_set_size(p.e[i].flits, 0);
        g_byte_array_set_size(p.e[i].ok, 0);
    }
    while (!g_queue_is_empty(p.e[1].got)) {
        core_packet_free(g_queue_pop_head(p.e[1].got));
    }
    pair_link(&p);
    pair_run(&p, 1000000);
    g_assert_true(p.e[0].up && p.e[1].up);
    send_some(&p, 3);
    pair_run(&p, 1000000);
    expect_some(&p, 3);
    pair_free(&p);
}

/* The same block is bad each time: attempts count until RcvPtr moves, or not
 * at all when counters clear on every NORMAL. */
static bool same_block(Pair *p, unsigned from, uint8_t *flit, uint8_t *ok)
{
    if (from == 0 && !ub_lch_valid(flit) && p->opaque) {
        flit[5] ^= 1;
    }
    return true;
}

static void test_same_position(void)
{
    UbDllConfig cfg;
    Pair p;

    for (unsigned clear = 0; clear < 2; clear++) {
        ub_dll_config_init(&cfg);
        cfg.retry_clear_always = clear;
        pair_up(&p, &cfg, &cfg, UB_MODE_CRC);
        p.tamper = same_block;
        p.opaque = &p;
        g_assert_true(pair_send(&p, 0, 0, 50, 1));
        for (unsigned n = 0; n < 200 && !p.e[1].fatal; n++) {
            pair_step(&p);
        }
        g_assert_cmpint(p.e[1].fatal, ==, !clear);
        g_assert_cmpint(p.e[1].errors[UB_DLL_ERR_RETRY_ROLLOVER] > 0, ==,
                        !clear);
        if (clear) {
            p.opaque = NULL;
            pair_run(&p, 1000000);
            pair_expect(&p, 1, 0, 50, 1);
        }
        pair_free(&p);
    }
}

/* WAIT is shorter than the round trip: the peer answers several times and
 * replays as often, but nothing is delivered twice. */
static void test_double_replay(gconstpointer data)
{
    UbBlockMode mode = GPOINTER_TO_UINT(data);

    for (unsigned at = 0; at < 70; at += 3) {
        UbDllConfig cfg;
        Pair p;

        ub_dll_config_init(&cfg);
        cfg.wait_timeout = 10000;
        pair_up(&p, &cfg, &cfg, mode);
        p.tamper = damage;
        arm(0, at, 1, true, 0);
        send_some(&p, 8);
        pair_pull(&p, 0);
        pair_push(&p, 1);
        /* Answers pile up on their way. */
        for (unsigned n = 0; n < 4; n++) {
            pair_pull(&p, 1);
            pair_push(&p, 0);
            pair_pull(&p, 0);
            p.now += cfg.wait_timeout;
            ub_dll_poll(p.e[1].dll, p.now);
        }
        pair_run(&p, 1000000);
        expect_some(&p, 8);
        g_assert_cmpuint(plan.seen[UB_CB_RETRY_IDLE], >=, 4);
        g_assert_cmpuint(ub_dll_stats(p.e[1].dll)->duplicate_acks, >=, 3);
        /* Requests and answers in full, and the blocks of all replays but one. */
        g_assert_cmpuint(ub_dll_stats(p.e[1].dll)->rx_discarded, >,
                         4 * UB_RETRY_SET);
        g_assert_cmpuint(p.e[0].peer_errors + p.e[1].peer_errors, ==, 0);
        pair_free(&p);
    }
}

/* A late copy of a request whose answer was received and acknowledged: the
 * position lies behind TailPtr, so it is refused and nothing is replayed. */
static void test_stale_request(void)
{
    GByteArray *late;
    UbDllConfig cfg;
    Pair p;

    ub_dll_config_init(&cfg);
    cfg.wait_timeout = 10000;
    cfg.wish.retry_buf_depth = 256;
    pair_up(&p, &cfg, &cfg, UB_MODE_CRC);
    p.tamper = damage;
    arm(0, 3, 1, true, 0);
    send_some(&p, 3);
    pair_pull(&p, 0);
    pair_push(&p, 1);
    pair_pull(&p, 1);
    p.now += cfg.wait_timeout;
    ub_dll_poll(p.e[1].dll, p.now);
    late = g_byte_array_new();
    pair_push(&p, 0); /* first request arrives */
    pair_pull(&p, 1); /* second one: kept back */
    g_byte_array_append(late, p.e[0].flits->data, p.e[0].flits->len);
    g_byte_array_set_size(p.e[0].flits, 0);
    g_byte_array_set_size(p.e[0].ok, 0);
    pair_run(&p, 1000000);
    expect_some(&p, 3);
    for (unsigned n = 0; n < 30; n++) { /* acknowledge far past it */
        g_assert_true(pair_send(&p, 0, 0, 500, n));
        pair_run(&p, 1000000);
        pair_expect(&p, 1, 0, 500, n);
    }
    g_assert_cmpuint(late->len, ==, 33 * UB_FLIT_SIZE);
    ub_dll_rx(p.e[0].dll, p.now, late->data, 33, NULL);
    g_assert_cmpuint(p.e[0].peer_errors, ==, 1);
    pair_run(&p, 1000000);
    g_assert_true(g_queue_is_empty(p.e[1].got));
    g_byte_array_free(late, true);
    pair_free(&p);
}

/* An error at the very position of an earlier one, a lap of the Retry Buffer
 * later: whatever the first request counted, a repeated one is answered. */
static void test_lap(void)
{
    UbDllConfig cfg;
    unsigned at;
    Pair p;

    ub_dll_config_init(&cfg);
    cfg.wait_timeout = 100000;
    cfg.wish.retry_buf_depth = 64;
    pair_up(&p, &cfg, &cfg, UB_MODE_CRC);
    p.tamper = damage;
    at = status(&p, 0).wr_ptr;
    for (unsigned n = 0; n < 2; n++) {
        arm(0, 0, 1, true, 0);
        g_assert_true(pair_send(&p, 0, 0, 8, n));
        pair_pull(&p, 0);
        pair_push(&p, 1);
        g_assert_cmpint(status(&p, 1).retry_req, ==, UB_RETRY_REQ_REQ);
        arm(1, 0, n, true, UB_CB_RETRY_REQ);
        pair_run(&p, 1000000);
        pair_expect(&p, 1, 0, 8, n);
        for (unsigned i = 0; status(&p, 0).wr_ptr != at; i++) {
            g_assert_cmpuint(i, <, 1000);
            g_assert_true(pair_send(&p, 0, 0, 8, i));
            pair_run(&p, 1000000);
            pair_expect(&p, 1, 0, 8, i);
        }
    }
    g_assert_cmpuint(ub_dll_stats(p.e[1].dll)->retries, ==, BRING_UP + 3);
    g_assert_cmpuint(p.e[1].retrains, ==, 0);
    pair_free(&p);
}

/* Both directions bad at once: each answers first, then asks. */
static bool both_bad(Pair *p, unsigned from, uint8_t *flit, uint8_t *ok)
{
    unsigned *left = p->opaque;

    if (left[from] && !ub_lch_valid(flit)) {
        left[from]--;
        flit[9] ^= 4;
    }
    return true;
}

static void test_both(void)
{
    unsigned left[2] = { 1, 1 };
    Pair p;

    link_up(&p, UB_MODE_CRC);
    p.tamper = both_bad;
    p.opaque = left;
    for (unsigned n = 0; n < 10; n++) {
        pair_send(&p, 0, 0, 700, n);
        pair_send(&p, 1, 0, 900, n);
    }
    pair_run(&p, 1000000);
    for (unsigned n = 0; n < 10; n++) {
        pair_expect(&p, 1, 0, 700, n);
        pair_expect(&p, 0, 0, 900, n);
    }
    for (unsigned i = 0; i < 2; i++) {
        g_assert_cmpstr(p.e[i].path->str, ==, "REQ WAIT NORMAL ");
        g_assert_cmpuint(ub_dll_stats(p.e[i].dll)->retry_acks, ==,
                         BRING_UP + 1);
    }
    pair_free(&p);
}

/* A damaged Null Block: RcvPtr equals WrPtr, nothing is replayed. */
static void test_null_damaged(void)
{
    static const UbBlockFormat f = { UB_MODE_CRC, UB_CRC_COVER_INFO };
    uint8_t null[UB_FLIT_SIZE];
    Pair p;

    link_up(&p, UB_MODE_CRC);
    ub_put_simple(f, null, UB_CB_NULL);
    ub_dll_rx(p.e[1].dll, p.now, null, 1, NULL);
    g_assert_cmpuint(ub_dll_stats(p.e[1].dll)->rx_null, ==, 1);
    g_assert_cmpstr(p.e[1].path->str, ==, "");
    null[3] ^= 1;
    ub_dll_rx(p.e[1].dll, p.now, null, 1, NULL);
    pair_run(&p, 1000000);
    g_assert_cmpstr(p.e[1].path->str, ==, "REQ WAIT NORMAL ");
    g_assert_cmpuint(ub_dll_stats(p.e[0].dll)->replayed_flits, ==, 0);
    g_assert_cmpuint(status(&p, 1).num_retry, ==, 0);
    pair_free(&p);
}

/* A full Retry Buffer of the least depth: the request for all of it and the
 * request for nothing are told apart because one flit always stays free. */
static void test_full_buffer(void)
{
    UbDllConfig cfg;
    unsigned filled = 0;
    Pair p;

    ub_dll_config_init(&cfg);
    cfg.wish.retry_buf_depth = 64;
    pair_up(&p, &cfg, &cfg, UB_MODE_CRC);
    p.tamper = damage;
    arm(0, 0, 1, true, 0);
    for (unsigned n = 0; n < 100; n++) {
        g_assert_true(pair_send(&p, 0, 0, 1 + n % 12, n));
    }
    filled = pair_pull(&p, 0);
    g_assert_cmpuint(filled, >, 20);
    g_assert_cmpuint(status(&p, 0).num_free_buf, >=, 5);
    g_assert_cmpuint(status(&p, 0).num_free_buf, <, 8);
    pair_run(&p, 1000000);
    for (unsigned n = 0; n < 100; n++) {
        pair_expect(&p, 1, 0, 1 + n % 12, n);
    }
    pair_free(&p);
}

/* Retrain in each state (§4.7.3.3): NORMAL, REQ, WAIT, and during replay. */
static void test_retrain(gconstpointer data)
{
    UbBlockMode mode = GPOINTER_TO_UINT(data);

    for (unsigned when = 0; when < 40; when++) {
        Pair p;

        link_up(&p, mode);
        p.manual = true;
        p.chunk = 7 + when;
        arm(0, when * 2, 1, true, 0);
        send_some(&p, 10);
        for (unsigned n = 0; n < when / 4; n++) {
            uint8_t buf[64 * UB_FLIT_SIZE];

            for (unsigned i = 0; i < 2; i++) {
                size_t k = ub_dll_tx(p.e[i].dll, p.now, buf, p.chunk);

                for (size_t j = 0; j < k; j++) {
                    uint8_t ok = 1;

                    damage(&p, i, buf + j * UB_FLIT_SIZE, &ok);
                    ub_dll_rx(p.e[!i].dll, p.now, buf + j * UB_FLIT_SIZE, 1,
                              &ok);
                }
            }
        }
        for (unsigned i = 0; i < 2; i++) {
            ub_dll_phy_retrain(p.e[i].dll, p.now);
            g_assert_cmpint(status(&p, i).retry_req, ==, UB_RETRY_REQ_RETRAIN);
            g_assert_cmpint(status(&p, i).retry_ack, ==, UB_RETRY_ACK_NORMAL);
            g_assert_cmpuint(status(&p, i).num_phy_reinit, ==, 1);
            g_assert_cmpuint(status(&p, i).num_retry, ==, 0);
            g_assert_cmpuint(pair_pull(&p, i), ==, 0);
            g_assert_true(p.e[i].up);
            /* Timers stand still. */
            g_assert_cmpint(ub_dll_poll(p.e[i].dll, p.now), ==, INT64_MAX);
        }
        pair_retrain_both(&p);
        pair_run(&p, 1000000);
        expect_some(&p, 10);
        g_assert_cmpuint(p.e[0].retrains + p.e[1].retrains, ==, 0);
        pair_free(&p);
    }
}

/* A Retrain between the answer and the rest of the block that it goes on with:
 * both are forgotten, and the link starts with a request of its own. */
static void test_retrain_in_answer(void)
{
    uint8_t buf[UB_RETRY_SET * UB_FLIT_SIZE];
    Pair p;

    link_up(&p, UB_MODE_NON_CRC);
    p.manual = true;
    arm(0, 40, 1, true, 0);
    send_some(&p, 10);
    pair_pull(&p, 0);
    pair_push(&p, 1);
    g_assert_cmpint(status(&p, 1).retry_req, ==, UB_RETRY_REQ_REQ);
    pair_pull(&p, 1);
    pair_push(&p, 0);
    g_assert_cmpuint(ub_dll_tx(p.e[0].dll, p.now, buf, UB_RETRY_SET), ==,
                     UB_RETRY_SET);
    g_assert_cmphex(buf[2], ==, UB_CB_RETRY_IDLE);
    g_assert_cmpint(status(&p, 0).retry_ack, ==, UB_RETRY_ACK_ACK);
    pair_retrain_both(&p);
    g_assert_cmpuint(ub_dll_tx(p.e[0].dll, p.now, buf, UB_RETRY_SET), ==,
                     UB_RETRY_SET);
    for (unsigned i = 0; i < UB_RETRY_SET; i++) {
        uint8_t ok = 1;

        ub_dll_rx(p.e[1].dll, p.now, buf + i * UB_FLIT_SIZE, 1, &ok);
    }
    pair_run(&p, 1000000);
    expect_some(&p, 10);
    g_assert_cmpuint(p.e[0].retrains + p.e[1].retrains, ==, 0);
    pair_free(&p);
}

/* The physical layer never comes back from a Retrain: LinkUp goes, and the
 * machines start over. */
static void test_retrain_fails(void)
{
    Pair p;

    link_up(&p, UB_MODE_CRC);
    ub_dll_phy_retrain(p.e[0].dll, p.now);
    ub_dll_phy_down(p.e[0].dll, p.now);
    g_assert_cmphex(ub_dll_sm_status(p.e[0].dll), ==, 0);
    g_assert_false(p.e[0].up);
    pair_free(&p);
}

/* Retrains of the physical layer before DLL_Normal do not add up to ERROR,
 * unless that is asked for. */
static void test_early_retrains(void)
{
    for (unsigned count = 0; count < 2; count++) {
        UbDllConfig cfg;
        Pair p;

        ub_dll_config_init(&cfg);
        cfg.count_early_retrain = count;
        pair_init(&p, &cfg, &cfg);
        pair_link(&p);
        for (unsigned n = 0; n < 6; n++) {
            pair_retrain_both(&p);
        }
        pair_run(&p, 1000000);
        g_assert_cmpint(p.e[0].fatal, ==, count);
        g_assert_cmpint(p.e[0].up, ==, !count);
        pair_free(&p);
    }
}

/* Payload made of valid Retry flits must not pass for a set while the
 * receiver looks at every flit (§4.7.3.4). */
static void test_imitation(gconstpointer data)
{
    UbBlockMode mode = GPOINTER_TO_UINT(data);
    UbBlockFormat f = { mode, UB_CRC_COVER_INFO };
    const unsigned len = 632 + 634 * 3;
    CorePacket *pkt;
    Pair p;

    for (unsigned kind = 0; kind < 2; kind++) {
        unsigned acks;

        link_up(&p, mode);
        for (unsigned n = 0; n < 3; n++) {
            uint8_t *d;

            pkt = pair_packet(&p.e[0], 0, 6, len, n);
            d = core_packet_data(pkt);
            /* Every flit boundary inside each block: offset 16 of the First
             * Block, 18 of the others. */
            for (unsigned at = 16, blk = 0; at + 20 <= len; at += 20) {
                unsigned end = ub_block_payload(mode, true) +
                               blk * ub_block_payload(mode, false);

                if (at + 20 > end) {
                    at = end + 18;
                    blk++;
                    if (at + 20 > len) {
                        break;
                    }
                    ub_put_simple(f, d + at, UB_CB_RETRY_IDLE);
                    continue;
                }
                if (kind) {
                    ub_put_retry_ack(f, d + at, &(UbRetryAck) {
                        1, 100, status(&p, 1).rcv_ptr, 0 });
                } else {
                    ub_put_retry_req(f, d + at, &(UbRetryReq) {
                        status(&p, 1).wr_ptr, 0, 1 });
                }
            }
            g_assert_true(ub_dll_send(p.e[0].dll, pkt));
        }
        arm(0, 0, 1, true, 0);
        pair_pull(&p, 0);
        pair_push(&p, 1);
        g_assert_cmpint(status(&p, 1).retry_req, ==, UB_RETRY_REQ_REQ);
        acks = ub_dll_stats(p.e[1].dll)->retry_acks;
        g_assert_cmpint(status(&p, 1).retry_ack, ==, UB_RETRY_ACK_NORMAL);
        pair_run(&p, 1000000);
        g_assert_cmpuint(ub_dll_stats(p.e[1].dll)->retry_acks, ==, acks);
        g_assert_cmpstr(p.e[1].path->str, ==, "REQ WAIT NORMAL ");
        g_assert_cmpuint(g_queue_get_length(p.e[1].got), ==, 3);
        pair_free(&p);
    }
}

/* A header damaged towards more flits leaves a block open; with the idle
 * stream elided a timer asks for the retry. */
static void test_open_block(void)
{
    Pair p;

    link_up(&p, UB_MODE_CRC);
    g_assert_true(pair_send(&p, 0, 0, 10, 1));
    pair_pull(&p, 0);
    p.e[1].flits->data[2] |= 0x01; /* last_flits - 1: more flits to come */
    pair_push(&p, 1);
    g_assert_cmpint(status(&p, 1).retry_req, ==, UB_RETRY_REQ_NORMAL);
    g_assert_cmpint(ub_dll_poll(p.e[1].dll, p.now), <=,
                    p.now + ub_dll_config(p.e[1].dll)->block_timeout);
    pair_run(&p, 2000000);
    g_assert_cmpuint(ub_dll_stats(p.e[1].dll)->block_timeouts, ==, 1);
    pair_expect(&p, 1, 0, 10, 1);
    pair_free(&p);
}

/* Requests for positions that were never sent are refused. */
static void test_bad_request(void)
{
    static const UbBlockFormat f = { UB_MODE_CRC, UB_CRC_COVER_INFO };
    uint8_t set[2 * UB_FLIT_SIZE];
    static const uint16_t ptr[] = { 7000, 8192, 65535 };
    Pair p;

    link_up(&p, UB_MODE_CRC);
    for (size_t i = 0; i < G_N_ELEMENTS(ptr); i++) {
        ub_put_simple(f, set, UB_CB_RETRY_IDLE);
        ub_put_retry_req(f, set + UB_FLIT_SIZE,
                         &(UbRetryReq) { ptr[i], 0, 1 });
        ub_dll_rx(p.e[0].dll, p.now, set, 2, NULL);
        g_assert_cmpuint(p.e[0].peer_errors, ==, i + 1);
        g_assert_cmpint(status(&p, 0).retry_ack, ==, UB_RETRY_ACK_NORMAL);
    }
    /* A copy without Retry_Idle in front is no set. */
    ub_put_retry_req(f, set, &(UbRetryReq) { status(&p, 0).wr_ptr, 0, 1 });
    ub_dll_rx(p.e[0].dll, p.now, set, 1, NULL);
    g_assert_cmpint(status(&p, 0).retry_ack, ==, UB_RETRY_ACK_NORMAL);
    g_assert_cmpuint(p.e[0].peer_errors, ==, 3);
    pair_free(&p);
}

/* A request for the flit behind the last one of a buffer in use up to its end. */
static void test_behind_the_end(void)
{
    static const UbBlockFormat f = { UB_MODE_CRC, UB_CRC_COVER_INFO };
    uint8_t set[2 * UB_FLIT_SIZE];
    UbDllConfig cfg;
    UbDllStatus st;
    unsigned seq = 0;
    Pair p;

    ub_dll_config_init(&cfg);
    cfg.wish.retry_buf_depth = 64;
    pair_up(&p, &cfg, &cfg, UB_MODE_CRC);
    do {        /* until what is in use reaches around the end */
        for (unsigned n = 0; n < 3; n++) {
            pair_send(&p, 0, 0, 1 + seq % 12, seq);
            seq++;
        }
        pair_run(&p, 100000);
        for (unsigned n = 0; n < 40; n++) {
            pair_send(&p, 0, 0, 1, seq++);
        }
        pair_pull(&p, 0);           /* and nobody acknowledges */
        st = status(&p, 0);
        if (st.depth - st.tail_ptr <= st.depth - st.num_free_buf) {
            break;
        }
        pair_run(&p, 1000000);
    } while (seq < 100000);
    g_assert_cmpuint(st.depth - st.tail_ptr, <=, st.depth - st.num_free_buf);
    ub_put_simple(f, set, UB_CB_RETRY_IDLE);
    ub_put_retry_req(f, set + UB_FLIT_SIZE, &(UbRetryReq) { 64, 0, 1 });
    ub_dll_rx(p.e[0].dll, p.now, set, 2, NULL);
    g_assert_cmpuint(p.e[0].peer_errors, ==, 1);
    g_assert_cmpint(status(&p, 0).retry_ack, ==, UB_RETRY_ACK_NORMAL);
    pair_free(&p);
}

/* Figure 4-40: TailPtr plus what is in use is WrPtr, through many wraps. */
static void test_pointers(void)
{
    UbDllConfig cfg;
    Pair p;

    ub_dll_config_init(&cfg);
    cfg.wish.retry_buf_depth = 256;
    pair_up(&p, &cfg, &cfg, UB_MODE_CRC);
    for (unsigned n = 0; n < 2000; n++) {
        UbDllStatus st;

        pair_send(&p, 0, 0, 1 + n % 700, n);
        pair_step(&p);
        st = status(&p, 0);
        g_assert_cmpuint((st.tail_ptr + st.depth - st.num_free_buf) % st.depth,
                         ==, st.wr_ptr);
    }
    pair_free(&p);
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*fn)(gconstpointer);
    } both[] = {
        { "normal", test_normal },
        { "position", test_position },
        { "request-lost", test_request_lost },
        { "answer-lost", test_answer_lost },
        { "double-replay", test_double_replay },
        { "retrain", test_retrain },
        { "imitation", test_imitation },
    };

    g_test_init(&argc, &argv, NULL);
    for (size_t i = 0; i < G_N_ELEMENTS(both); i++) {
        for (unsigned mode = 0; mode < 2; mode++) {
            g_autofree char *path = g_strdup_printf(
                "/dll/retry/%s/%s", both[i].name, mode ? "non-crc" : "crc");

            g_test_add_data_func(path, GUINT_TO_POINTER(mode), both[i].fn);
        }
    }
    g_test_add_data_func("/dll/retry/exhaust/as-written", GUINT_TO_POINTER(0),
                         test_exhaust);
    g_test_add_data_func("/dll/retry/exhaust/after-sending",
                         GUINT_TO_POINTER(1), test_exhaust);
    g_test_add_func("/dll/retry/words", test_words);
    g_test_add_func("/dll/retry/same-position", test_same_position);
    g_test_add_func("/dll/retry/stale-request", test_stale_request);
    g_test_add_func("/dll/retry/lap", test_lap);
    g_test_add_func("/dll/retry/both", test_both);
    g_test_add_func("/dll/retry/null-damaged", test_null_damaged);
    g_test_add_func("/dll/retry/full-buffer", test_full_buffer);
    g_test_add_func("/dll/retry/retrain-in-answer", test_retrain_in_answer);
    g_test_add_func("/dll/retry/retrain-fails", test_retrain_fails);
    g_test_add_func("/dll/retry/early-retrains", test_early_retrains);
    g_test_add_func("/dll/retry/open-block", test_open_block);
    g_test_add_func("/dll/retry/bad-request", test_bad_request);
    g_test_add_func("/dll/retry/behind-the-end", test_behind_the_end);
    g_test_add_func("/dll/retry/pointers", test_pointers);
    return g_test_run();
}
