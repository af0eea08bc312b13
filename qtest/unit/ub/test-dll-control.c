/*
 * Mode change (UB 2.0 §4.3.3.8), Lane_Manage, Param_Exchg, and migration.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "dll-pair.h"

static UbDllStatus status(Pair *p, unsigned i)
{
    UbDllStatus st;

    ub_dll_status(p->e[i].dll, &st);
    return st;
}

static GString *trail; /* mode change and Crd_Ack blocks, upper case: end 1 */

static void follow(Pair *p, unsigned from, const uint8_t *block,
                   unsigned flits)
{
    char c = 0;

    if (ub_block_cfg(block)) {
        c = 'd';
    } else if (ub_lch_type(block) == UB_CB_BLOCK_MODE_CHG) {
        c = block[3] & 1 ? 'a' : 'q';
    } else if (ub_lch_type(block) == UB_CB_CRD_ACK) {
        c = 'c';
    }
    if (c) {
        g_string_append_c(trail, from ? g_ascii_toupper(c) : c);
    }
}

/* The handshake in the order of the example, to and fro, with traffic in
 * both directions before, during and after. */
static void test_mode_change(gconstpointer data)
{
    UbBlockMode mode = GPOINTER_TO_UINT(data);
    unsigned sent[2] = { 0 }, got[2] = { 0 };
    UbDllConfig cfg;
    Pair p;

    ub_dll_config_init(&cfg);
    pair_up(&p, &cfg, &cfg, mode);
    trail = g_string_new("");
    for (unsigned round = 0; round < 6; round++) {
        const char *q;

        for (unsigned n = 0; n < 40; n++) {
            for (unsigned i = 0; i < 2; i++) {
                g_assert_true(pair_send(&p, i, 0, 1 + sent[i] * 97 % 9000,
                                        sent[i]));
                sent[i]++;
            }
        }
        g_string_truncate(trail, 0);
        p.see = follow;
        p.manual = true;
        p.e[0].kicks = 0;
        g_assert_true(ub_dll_mode_change(p.e[0].dll, p.now));
        g_assert_cmpuint(p.e[0].kicks, >, 0);
        g_assert_false(ub_dll_mode_change(p.e[0].dll, p.now));
        g_assert_true(p.e[0].pressed);
        for (unsigned i = 0; i < 2; i++) {
            g_assert_cmpint(ub_dll_mode_gate(p.e[i].dll), ==,
                            UB_DLL_MODE_KEEP);
        }
        for (unsigned n = 0; n < 50 && p.e[0].ready == round; n++) {
            pair_step(&p);
        }
        g_assert_cmpuint(p.e[0].ready, ==, round + 1);
        g_assert_cmpuint(p.e[1].ready, ==, 0);
        g_assert_true(p.e[1].pressed);
        g_assert_cmpint(status(&p, 0).mode_change, ==, UB_BMC_READY);
        /* q … Q … a … A, and nothing but Crd_Ack between. */
        q = strchr(trail->str, 'q');
        g_assert_nonnull(q);
        g_assert_null(strchr(q, 'd'));
        q = strchr(q, 'Q');
        g_assert_nonnull(q);
        g_assert_null(strchr(q, 'D'));
        q = strchr(q, 'a');
        g_assert_nonnull(q);
        g_assert_cmpint(q[1] == 'A' || q[1] == 'C', ==, true);
        g_assert_true(g_str_has_suffix(trail->str, "A"));
        pair_step(&p);
        g_assert_cmpint(status(&p, 1).mode_change, ==, UB_BMC_READY);
        g_assert_cmpuint(pair_pull(&p, 0) + pair_pull(&p, 1), ==, 0);
        g_assert_cmpint(ub_dll_mode_gate(p.e[0].dll), ==, UB_DLL_MODE_OWN);
        g_assert_cmpint(ub_dll_mode_gate(p.e[1].dll), ==, UB_DLL_MODE_FOLLOW);

        p.manual = false;
        p.next_mode = !p.mode;
        pair_retrain_both(&p);
        g_assert_false(p.e[0].pressed || p.e[1].pressed);
        pair_run(&p, 1000000);
        for (unsigned i = 0; i < 2; i++) {
            g_assert_cmpint(status(&p, i).mode, ==, p.mode);
            g_assert_cmpint(status(&p, i).mode_change, ==, UB_BMC_IDLE);
            while (got[i] < sent[!i]) {
                pair_expect(&p, i, 0, 1 + got[i] * 97 % 9000, got[i]);
                got[i]++;
            }
        }
        pair_check_credits(&p);
    }
    g_assert_cmpuint(ub_dll_stats(p.e[0].dll)->mode_changes, >=, 6);
    g_assert_cmpuint(p.e[0].peer_errors + p.e[1].peer_errors, ==, 0);
    g_string_free(trail, true);
    pair_free(&p);
}

/* Both have said that they are ready: nothing leaves any more, not even credit that
 * would be due. */
static void test_silence(void)
{
    UbDllConfig cfg;
    Pair p;

    ub_dll_config_init(&cfg);
    pair_up(&p, &cfg, &cfg, UB_MODE_CRC);
    p.e[1].hold = true;
    for (unsigned n = 0; n < 40; n++) {
        g_assert_true(pair_send(&p, 0, 0, 9000, n));
    }
    pair_run(&p, 1000000);
    p.manual = true;
    g_assert_true(ub_dll_mode_change(p.e[0].dll, p.now));
    for (unsigned n = 0; n < 50 && status(&p, 1).mode_change != UB_BMC_READY;
         n++) {
        pair_step(&p);
    }
    g_assert_cmpint(status(&p, 0).mode_change, ==, UB_BMC_READY);
    g_assert_cmpint(status(&p, 1).mode_change, ==, UB_BMC_READY);
    pair_release_all(&p.e[1]);
    g_assert_cmpuint(pair_pull(&p, 0) + pair_pull(&p, 1), ==, 0);
    p.manual = false;
    p.next_mode = !p.mode;
    pair_retrain_both(&p);
    pair_run(&p, 1000000);
    for (unsigned n = 0; n < 40; n++) {
        pair_expect(&p, 1, 0, 9000, n);
    }
    pair_check_credits(&p);
    pair_free(&p);
}

/* The blocks of the handshake that got lost are replayed in the new mode. */
static unsigned lose_after;

static bool lose_tail(Pair *p, unsigned from, uint8_t *flit, uint8_t *ok)
{
    if (from == 1 && ub_lch_valid(flit) &&
        (flit[2] == UB_CB_BLOCK_MODE_CHG) && (flit[3] & 1) && lose_after) {
        *ok = 0;
    }
    return true;
}

/* … with the tail of the new mode and nothing of the old one's. */
static void see_tails(Pair *p, unsigned from, const uint8_t *block,
                      unsigned flits)
{
    if (!ub_block_cfg(block) && p->mode == UB_MODE_NON_CRC) {
        const uint8_t *tail = block + flits * UB_FLIT_SIZE - 4;

        g_assert_cmphex(get_be32(tail), ==, 0);
    }
}

static void test_replay_in_new_mode(void)
{
    for (unsigned mode = 0; mode < 2; mode++) {
        Pair p;

        pair_up(&p, NULL, NULL, mode);
        p.manual = true;
        p.tamper = lose_tail;
        p.see = see_tails;
        lose_after = 1;
        g_assert_true(ub_dll_mode_change(p.e[0].dll, p.now));
        for (unsigned n = 0; n < 4; n++) {
            pair_step(&p);
        }
        g_assert_cmpuint(p.e[0].ready, ==, 0);
        lose_after = 0;
        /* Instead of waiting for the retry both ends Retrain at once into the
         * new mode: a BMC ACK is in the Retry Buffer in the old form. */
        p.next_mode = !mode;
        pair_retrain_both(&p);
        p.manual = false;
        g_assert_true(pair_send(&p, 1, 0, 3000, 7));
        pair_run(&p, 1000000);
        pair_expect(&p, 0, 0, 3000, 7);
        g_assert_false(p.e[0].fatal || p.e[1].fatal);
        g_assert_cmpuint(ub_dll_stats(p.e[1].dll)->replayed_flits, >, 0);
        pair_free(&p);
    }
}

/* Both ends ask at the same time. */
static void test_both_ask(void)
{
    Pair p;

    pair_up(&p, NULL, NULL, UB_MODE_CRC);
    p.manual = true;
    g_assert_true(ub_dll_mode_change(p.e[0].dll, p.now));
    g_assert_true(ub_dll_mode_change(p.e[1].dll, p.now));
    for (unsigned n = 0; n < 10; n++) {
        pair_step(&p);
    }
    for (unsigned i = 0; i < 2; i++) {
        g_assert_cmpint(status(&p, i).mode_change, ==, UB_BMC_READY);
        g_assert_cmpuint(p.e[i].ready, ==, 1);
        g_assert_cmpuint(p.e[i].peer_errors, ==, 0);
    }
    pair_free(&p);
}

/* No answer: given up, traffic goes on. */
static bool no_mode(Pair *p, unsigned from, uint8_t *flit, uint8_t *ok)
{
    if (ub_lch_valid(flit) && flit[2] == UB_CB_BLOCK_MODE_CHG) {
        ub_put_simple((UbBlockFormat) { UB_MODE_CRC, UB_CRC_COVER_INFO }, flit,
                      UB_CB_NOB);
    }
    return true;
}

static void test_no_answer(void)
{
    UbDllConfig cfg;
    Pair p;

    ub_dll_config_init(&cfg);
    cfg.mode_timeout = 500000;
    pair_up(&p, &cfg, &cfg, UB_MODE_CRC);
    p.tamper = no_mode;
    g_assert_true(ub_dll_mode_change(p.e[0].dll, p.now));
    g_assert_true(pair_send(&p, 0, 0, 100, 3));
    pair_step(&p);
    pair_step(&p);
    g_assert_true(g_queue_is_empty(p.e[1].got));
    pair_run(&p, 1000000);
    g_assert_cmpuint(p.e[0].mode_failed, ==, 1);
    g_assert_false(p.e[0].pressed);
    pair_expect(&p, 1, 0, 100, 3);
    pair_free(&p);
}

/* One end gave up while the other still waits for it: asking again works. */
static bool lose_answer(Pair *p, unsigned from, uint8_t *flit, uint8_t *ok)
{
    return from == 0 || no_mode(p, from, flit, ok);
}

static void test_ask_again(void)
{
    UbDllConfig a, b;
    Pair p;

    ub_dll_config_init(&a);
    ub_dll_config_init(&b);
    a.mode_timeout = 500000;
    b.mode_timeout = 0;
    pair_up(&p, &a, &b, UB_MODE_CRC);
    p.manual = true;
    p.tamper = lose_answer;
    g_assert_true(ub_dll_mode_change(p.e[0].dll, p.now));
    pair_run(&p, 1000000);
    g_assert_cmpuint(p.e[0].mode_failed, ==, 1);
    g_assert_cmpint(status(&p, 1).mode_change, ==, UB_BMC_PEER_WAIT);
    p.tamper = NULL;
    g_assert_true(ub_dll_mode_change(p.e[0].dll, p.now));
    pair_run(&p, 100000);
    g_assert_cmpuint(p.e[0].ready, ==, 1);
    g_assert_cmpint(status(&p, 1).mode_change, ==, UB_BMC_READY);
    g_assert_cmpuint(p.e[0].peer_errors + p.e[1].peer_errors, ==, 0);
    pair_free(&p);
}

/* End 0 asks for another mode, and end 1's answer, @late ns after that, is on
 * its way. */
static void ask(Pair *p, int64_t timeout, int64_t late)
{
    UbDllConfig cfg;

    ub_dll_config_init(&cfg);
    cfg.mode_timeout = timeout;
    pair_up(p, &cfg, &cfg, UB_MODE_CRC);
    p->manual = true;
    g_assert_true(ub_dll_mode_change(p->e[0].dll, p->now));
    pair_pull(p, 0);
    p->now += late;
    pair_push(p, 1);
    pair_pull(p, 1);
}

/* The answer comes after the end that asked gave up, and looks like a request
 * to it.  Both ends end the exchange that this starts, and can do it again. */
static void test_late_answer(void)
{
    enum { TIMEOUT = 500000 };
    Pair p;

    ask(&p, TIMEOUT, 1000);
    g_assert_cmpint(status(&p, 0).mode_change, ==, UB_BMC_REQ_SENT);
    g_assert_cmpint(status(&p, 1).mode_change, ==, UB_BMC_PEER_WAIT);
    p.now += TIMEOUT - 1000;
    ub_dll_poll(p.e[0].dll, p.now);
    g_assert_cmpuint(p.e[0].mode_failed, ==, 1);
    g_assert_cmpint(status(&p, 0).mode_change, ==, UB_BMC_IDLE);
    g_assert_cmpint(status(&p, 1).mode_change, ==, UB_BMC_PEER_WAIT);

    pair_push(&p, 0);
    g_assert_cmpint(status(&p, 0).mode_change, ==, UB_BMC_PEER_DRAIN);
    pair_run(&p, 3 * TIMEOUT);
    for (unsigned i = 0; i < 2; i++) {
        g_assert_cmpint(status(&p, i).mode_change, ==, UB_BMC_IDLE);
        g_assert_cmpuint(p.e[i].peer_errors, ==, 0);
        g_assert_true(pair_send(&p, i, 0, 3000, i));
    }
    pair_run(&p, TIMEOUT);
    pair_expect(&p, 0, 0, 3000, 1);
    pair_expect(&p, 1, 0, 3000, 0);

    g_assert_true(ub_dll_mode_change(p.e[0].dll, p.now));
    pair_run(&p, TIMEOUT / 5);
    for (unsigned i = 0; i < 2; i++) {
        g_assert_cmpint(status(&p, i).mode_change, ==, UB_BMC_READY);
        g_assert_cmpuint(p.e[i].peer_errors, ==, 0);
    }
    pair_free(&p);
}

/* The answer to a request given up serves for the next one, whose own has not
 * left when the peer goes on. */
static void test_answered_before(void)
{
    enum { TIMEOUT = 500000 };
    Pair p;

    ask(&p, TIMEOUT, TIMEOUT - 1000);
    p.now += 1000;
    ub_dll_poll(p.e[0].dll, p.now);
    g_assert_cmpuint(p.e[0].mode_failed, ==, 1);

    g_assert_true(ub_dll_mode_change(p.e[0].dll, p.now));
    pair_pull(&p, 0);
    pair_push(&p, 0);
    pair_pull(&p, 0);
    g_assert_cmpint(status(&p, 0).mode_change, ==, UB_BMC_QUIET);
    pair_push(&p, 1);
    pair_run(&p, TIMEOUT / 5);
    for (unsigned i = 0; i < 2; i++) {
        g_assert_cmpint(status(&p, i).mode_change, ==, UB_BMC_READY);
        g_assert_cmpuint(p.e[i].peer_errors, ==, 0);
    }
    g_assert_cmpuint(p.e[0].ready, ==, 1);
    pair_free(&p);
}

/*
 * The end that was asked gives up when its last word is on its way, and sends
 * again.  The other one hears that word and is ready: then the mode must stay,
 * for the data that the Retrain cuts off cannot be replayed in another one.
 */
static void test_given_up_when_ready(void)
{
    enum { TIMEOUT = 500000 };
    UbDllConfig a, b;
    unsigned on_wire;
    Pair p;

    ub_dll_config_init(&a);
    ub_dll_config_init(&b);
    a.mode_timeout = 10 * TIMEOUT;
    b.mode_timeout = TIMEOUT;
    pair_up(&p, &a, &b, UB_MODE_CRC);
    p.manual = true;
    g_assert_true(ub_dll_mode_change(p.e[0].dll, p.now));
    for (unsigned i = 0; status(&p, 1).mode_change != UB_BMC_READY; i++) {
        g_assert_cmpuint(i, <, 10);
        pair_push(&p, 0);
        pair_pull(&p, 0);
        pair_push(&p, 1);
        pair_pull(&p, 1);
    }
    g_assert_cmpint(status(&p, 0).mode_change, ==, UB_BMC_QUIET);
    g_assert_cmpint(ub_dll_mode_gate(p.e[1].dll), ==, UB_DLL_MODE_FOLLOW);

    p.now += TIMEOUT;
    ub_dll_poll(p.e[1].dll, p.now);
    g_assert_cmpuint(p.e[1].mode_failed, ==, 1);
    on_wire = p.e[0].ok->len;
    g_assert_true(pair_send(&p, 1, 0, 3000, 7));
    g_assert_cmpuint(pair_pull(&p, 1), >=, 150);
    g_byte_array_set_size(p.e[0].flits, on_wire * UB_FLIT_SIZE);
    g_byte_array_set_size(p.e[0].ok, on_wire);
    pair_push(&p, 0);
    g_assert_cmpuint(p.e[0].ready, ==, 1);
    g_assert_cmpint(ub_dll_mode_gate(p.e[0].dll), ==, UB_DLL_MODE_OWN);
    g_assert_cmpint(ub_dll_mode_gate(p.e[1].dll), ==, UB_DLL_MODE_KEEP);
    g_assert_false(pair_mode_agreed(&p));

    pair_retrain_both(&p);
    pair_run(&p, TIMEOUT);
    pair_expect(&p, 0, 0, 3000, 7);
    for (unsigned i = 0; i < 2; i++) {
        g_assert_cmpint(status(&p, i).mode_change, ==, UB_BMC_IDLE);
        g_assert_false(p.e[i].fatal);
        g_assert_cmpuint(p.e[i].peer_errors, ==, 0);
    }
    /* It is possible again. */
    g_assert_true(ub_dll_mode_change(p.e[0].dll, p.now));
    pair_run(&p, TIMEOUT / 5);
    g_assert_true(pair_mode_agreed(&p));
    p.next_mode = UB_MODE_NON_CRC;
    pair_retrain_both(&p);
    g_assert_true(pair_send(&p, 1, 0, 3000, 8));
    pair_run(&p, TIMEOUT);
    pair_expect(&p, 0, 0, 3000, 8);
    pair_free(&p);
}

/* End @at hears the first @flits of what is on the wire to it. */
static void hear(Pair *p, unsigned at, unsigned flits)
{
    End *e = &p->e[at];

    g_assert_cmpuint(e->ok->len, >=, flits);
    ub_dll_rx(e->dll, p->now, e->flits->data, flits, NULL);
    g_byte_array_remove_range(e->flits, 0, flits * UB_FLIT_SIZE);
    g_byte_array_remove_range(e->ok, 0, flits);
}

/*
 * End 0 gives up twice, and the late answers to its second request end the third
 * handshake, which end 1 has not even seen.  Both are ready, but the data that
 * end 0 sent in between has not arrived.
 */
static void test_late_answers(void)
{
    enum { TIMEOUT = 500000 };
    uint8_t flit[UB_FLIT_SIZE];
    UbDllConfig a, b;
    unsigned first, second;
    Pair p;

    ub_dll_config_init(&a);
    ub_dll_config_init(&b);
    a.mode_timeout = TIMEOUT;
    b.mode_timeout = 0;
    pair_up(&p, &a, &b, UB_MODE_CRC);
    p.manual = true;
    g_assert_true(ub_dll_mode_change(p.e[0].dll, p.now));
    pair_pull(&p, 0);
    pair_push(&p, 1);
    first = pair_pull(&p, 1);           /* the first answer, late */
    p.now += TIMEOUT;
    ub_dll_poll(p.e[0].dll, p.now);
    g_assert_true(ub_dll_mode_change(p.e[0].dll, p.now));
    pair_pull(&p, 0);
    pair_push(&p, 1);
    second = pair_pull(&p, 1);          /* the second, later still */
    hear(&p, 0, first);
    pair_pull(&p, 0);
    g_assert_cmpint(status(&p, 0).mode_change, ==, UB_BMC_QUIET);
    pair_push(&p, 1);
    pair_pull(&p, 1);
    g_assert_cmpint(status(&p, 1).mode_change, ==, UB_BMC_READY);
    p.now += TIMEOUT;
    ub_dll_poll(p.e[0].dll, p.now);
    g_assert_cmpuint(p.e[0].mode_failed, ==, 2);

    g_assert_true(pair_send(&p, 0, 0, 3000, 7));
    pair_pull(&p, 0);
    g_assert_true(ub_dll_mode_change(p.e[0].dll, p.now));
    hear(&p, 0, second);
    g_assert_cmpuint(ub_dll_tx(p.e[0].dll, p.now, flit, 1), ==, 1);
    g_assert_cmpuint(flit[2], ==, UB_CB_BLOCK_MODE_CHG);
    pair_push(&p, 0);
    pair_pull(&p, 0);
    g_assert_cmpint(status(&p, 0).mode_change, ==, UB_BMC_READY);
    g_assert_cmpint(status(&p, 1).mode_change, ==, UB_BMC_READY);
    g_assert_cmpint(ub_dll_mode_gate(p.e[0].dll), ==, UB_DLL_MODE_KEEP);
    g_assert_cmpint(ub_dll_mode_gate(p.e[1].dll), ==, UB_DLL_MODE_FOLLOW);

    pair_retrain_both(&p);              /* data and request are lost */
    pair_run(&p, TIMEOUT);
    pair_expect(&p, 1, 0, 3000, 7);
    g_assert_false(p.e[0].fatal || p.e[1].fatal);
    pair_free(&p);
}

/* ACKs come by the grain: No_Operation Blocks behind the last DLLDP see to it
 * that what stays unacknowledged is none. */
static void test_grain(void)
{
    static const uint8_t grains[] = { 1, 2, 8, 16 };

    for (unsigned i = 0; i < G_N_ELEMENTS(grains); i++) {
        for (unsigned len = 1; len < 400; len += 20) {
            UbDllConfig cfg;
            uint64_t nobs;
            Pair p;

            ub_dll_config_init(&cfg);
            cfg.wish.ctrl_ack_grain = grains[i];
            pair_up(&p, &cfg, &cfg, UB_MODE_CRC);
            p.manual = true;
            g_assert_true(pair_send(&p, 0, 0, len, 1));
            g_assert_true(pair_send(&p, 1, 0, len, 2));
            pair_pull(&p, 0);
            pair_pull(&p, 1);
            nobs = ub_dll_stats(p.e[0].dll)->tx_nob;
            g_assert_true(ub_dll_mode_change(p.e[0].dll, p.now));
            pair_run(&p, 100000);
            g_assert_cmpint(ub_dll_mode_gate(p.e[0].dll), ==,
                            UB_DLL_MODE_OWN);
            g_assert_cmpint(ub_dll_mode_gate(p.e[1].dll), ==,
                            UB_DLL_MODE_FOLLOW);
            g_assert_cmpuint(ub_dll_stats(p.e[0].dll)->tx_nob - nobs, <,
                             grains[i]);
            g_assert_true(grains[i] > 1 ||
                          ub_dll_stats(p.e[0].dll)->tx_nob == nobs);
            pair_expect(&p, 0, 0, len, 2);
            pair_expect(&p, 1, 0, len, 1);
            pair_free(&p);
        }
    }
}

/* Without FEC there is no Non-CRC mode; without the handshake a change under
 * unfinished DLLDPs cannot be repaired. */
static void test_bad_modes(void)
{
    uint8_t buf[10 * UB_FLIT_SIZE];
    Pair p;

    pair_init(&p, NULL, NULL);
    ub_dll_phy_up(p.e[0].dll, p.now);
    ub_dll_phy_active(p.e[0].dll, p.now, UB_MODE_NON_CRC, false);
    g_assert_cmpint(status(&p, 0).mode, ==, UB_MODE_CRC);
    g_assert_cmpuint(p.e[0].peer_errors, ==, 1);
    pair_free(&p);

    /* A packet that waits for its first block changes mode with the link. */
    pair_up(&p, NULL, NULL, UB_MODE_CRC);
    g_assert_true(pair_send(&p, 0, 0, 5000, 1));
    p.next_mode = UB_MODE_NON_CRC;
    pair_retrain_both(&p);
    pair_run(&p, 1000000);
    pair_expect(&p, 1, 0, 5000, 1);
    pair_check_credits(&p);
    pair_free(&p);

    /* One that is half way does not. */
    pair_up(&p, NULL, NULL, UB_MODE_CRC);
    g_assert_true(pair_send(&p, 0, 0, 5000, 1));
    g_assert_cmpuint(ub_dll_tx(p.e[0].dll, p.now, buf, 10), ==, 10);
    p.next_mode = UB_MODE_NON_CRC;
    pair_retrain_both(&p);
    g_assert_true(p.e[0].fatal);
    g_assert_cmpuint(p.e[0].errors[UB_DLL_ERR_PROTOCOL], ==, 1);
    pair_free(&p);
}

/* A packet was chosen and had its credit, but no room in the Retry Buffer, when
 * the mode changes: it goes back to the head of its queue, with its credit. */
static void test_chosen(void)
{
    for (unsigned share = 0; share < 2; share++) {
        UbDllConfig cfg;
        UbDllStatus st;
        Pair p;

        ub_dll_config_init(&cfg);
        cfg.wish.retry_buf_depth = 64;
        cfg.tx_share = share;
        cfg.queue_limit = 2000;
        pair_up(&p, &cfg, &cfg, UB_MODE_CRC);
        for (unsigned n = 0; n < 3; n++) {
            g_assert_true(pair_send(&p, 0, 0, 600, n));
        }
        pair_pull(&p, 0);
        pair_push(&p, 1);
        g_assert_cmpuint(g_queue_get_length(p.e[1].got), ==, 1);
        g_assert_cmpuint(status(&p, 0).queued[0], ==, 1);
        p.next_mode = UB_MODE_NON_CRC;
        pair_retrain_both(&p);
        st = status(&p, 0);
        g_assert_cmpuint(st.queued[0], ==, 2);
        g_assert_cmpuint(st.tx_credit[0] + st.tx_credit_shared, >=,
                         st.tx_credit_init[0] - 4);
        pair_run(&p, 1000000);
        for (unsigned n = 0; n < 3; n++) {
            pair_expect(&p, 1, 0, 600, n);
        }
        pair_check_credits(&p);
        g_assert_cmpuint(status(&p, 0).queued[0], ==, 0);
        for (unsigned n = 0; n < 4; n++) {
            g_assert_true(pair_send(&p, 0, 0, 600, n));
        }
        g_assert_true(ub_dll_full(p.e[0].dll, 0));
        pair_free(&p);
    }
}

static void test_lane_manage(void)
{
    static const UbLaneManage req = { .req = true, .change_tlw = true,
                                      .tlw = 2 };
    static const UbLaneManage rsp = { .rsp = true, .rsp_tlw = true,
                                      .rlw = 2 };
    Pair p;

    pair_init(&p, NULL, NULL);
    g_assert_false(ub_dll_send_lane_manage(p.e[0].dll, &req));
    pair_free(&p);
    for (unsigned mode = 0; mode < 2; mode++) {
        pair_up(&p, NULL, NULL, mode);
        for (unsigned n = 0; n < 8; n++) {
            g_assert_true(ub_dll_send_lane_manage(p.e[0].dll, &req));
        }
        g_assert_false(ub_dll_send_lane_manage(p.e[0].dll, &req));
        pair_run(&p, 1000000);
        g_assert_cmpuint(p.e[1].lms, ==, 8);
        g_assert_cmpmem(&p.e[1].lm, sizeof(req), &req, sizeof(req));
        g_assert_true(ub_dll_send_lane_manage(p.e[1].dll, &rsp));
        pair_run(&p, 1000000);
        g_assert_cmpuint(p.e[0].lms, ==, 1);
        g_assert_cmpmem(&p.e[0].lm, sizeof(rsp), &rsp, sizeof(rsp));
        pair_free(&p);
    }
}

static void test_param_exchg(void)
{
    uint32_t words[32];
    UbDllConfig a, b;
    Pair p;

    ub_dll_config_init(&a);
    ub_dll_config_init(&b);
    a.advertise = b.advertise = 1;
    a.port_idx = 3;
    for (unsigned i = 0; i < 16; i++) {
        a.guid[i] = i;
        b.guid[i] = 0xf0 + i;
    }
    pair_up(&p, &a, &b, UB_MODE_CRC);
    g_assert_cmpuint(p.e[1].pxs, ==, 5);
    g_assert_cmphex(p.e[1].px[0], ==, 3);
    g_assert_cmphex(p.e[1].px[1], ==, 0x0C0D0E0F);
    g_assert_cmphex(p.e[1].px[4], ==, 0x00010203);
    g_assert_true(status(&p, 1).neighbor_valid);
    g_assert_cmpuint(status(&p, 1).neighbor_port, ==, 3);
    g_assert_cmpmem(status(&p, 1).neighbor_guid, 16, a.guid, 16);
    g_assert_cmpmem(status(&p, 0).neighbor_guid, 16, b.guid, 16);

    for (unsigned n = 1; n <= 32; n++) {
        for (unsigned i = 0; i < n; i++) {
            words[i] = g_test_rand_int();
        }
        g_assert_true(ub_dll_send_param_exchg(p.e[0].dll, words, n));
        g_assert_false(ub_dll_send_param_exchg(p.e[0].dll, words, n));
        pair_run(&p, 1000000);
        g_assert_cmpuint(p.e[1].pxs, ==, n);
        g_assert_cmpmem(p.e[1].px, n * 4, words, n * 4);
    }
    g_assert_false(ub_dll_send_param_exchg(p.e[0].dll, words, 0));
    g_assert_false(ub_dll_send_param_exchg(p.e[0].dll, words, 33));
    ub_dll_phy_down(p.e[1].dll, p.now);
    g_assert_false(status(&p, 1).neighbor_valid);
    g_assert_cmpuint(status(&p, 1).neighbor_port, ==, 0);
    for (unsigned i = 0; i < 16; i++) {
        g_assert_cmpuint(status(&p, 1).neighbor_guid[i], ==, 0);
    }
    pair_free(&p);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_data_func("/dll/mode/change/from-crc",
                         GUINT_TO_POINTER(UB_MODE_CRC), test_mode_change);
    g_test_add_data_func("/dll/mode/change/from-non-crc",
                         GUINT_TO_POINTER(UB_MODE_NON_CRC), test_mode_change);
    g_test_add_func("/dll/control/silence", test_silence);
    g_test_add_func("/dll/mode/replay-in-new-mode", test_replay_in_new_mode);
    g_test_add_func("/dll/mode/both-ask", test_both_ask);
    g_test_add_func("/dll/mode/no-answer", test_no_answer);
    g_test_add_func("/dll/mode/ask-again", test_ask_again);
    g_test_add_func("/dll/mode/late-answer", test_late_answer);
    g_test_add_func("/dll/mode/answered-before", test_answered_before);
    g_test_add_func("/dll/mode/given-up-when-ready", test_given_up_when_ready);
    g_test_add_func("/dll/mode/late-answers", test_late_answers);
    g_test_add_func("/dll/mode/grain", test_grain);
    g_test_add_func("/dll/mode/bad-modes", test_bad_modes);
    g_test_add_func("/dll/mode/chosen", test_chosen);
    g_test_add_func("/dll/lane-manage", test_lane_manage);
    g_test_add_func("/dll/param-exchg", test_param_exchg);
    return g_test_run();
}
