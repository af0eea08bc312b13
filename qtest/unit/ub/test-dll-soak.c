/*
 * Property test of two joined ends: whatever is lost, flipped, cut off or
 * delayed on the way, every packet arrives exactly once and in order per VL,
 * credits are neither lost nor made, and nothing comes to a standstill.
 *
 * About 200,000 packets by default; `-m slow` runs two millions.  The seed is
 * that of GLib's test framework (--seed).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <inttypes.h>

#include "dll-pair.h"

typedef struct Soak {
    Pair p;
    UbDllConfig cfg[2];
    double flip;       /* flits with flipped bits, CRC mode only */
    double fec;        /* FEC frames that fail */
    double retrain;    /* Retrains per step, with everything on the wire lost */
    double mode;       /* mode changes per step */
    unsigned frame;    /* flits of a FEC frame */
    unsigned bad[2];   /* flits of the failed frame still to come */
    unsigned delay;    /* steps that flits need, at most */
    uint32_t seq[2][UB_VLS];    /* next to send */
    uint32_t want[2][UB_VLS];   /* next to arrive */
    GQueue *lens[2][UB_VLS];    /* of what is under way */
    uint64_t sent, arrived;
    unsigned given_up; /* mode changes */
    unsigned max_len;
} Soak;

static bool chance(double p)
{
    return p > 0 && g_test_rand_double() < p;
}

static bool noise(Pair *p, unsigned from, uint8_t *flit, uint8_t *ok)
{
    Soak *s = p->opaque;

    if (!s->bad[from] && chance(s->fec / s->frame)) {
        s->bad[from] = g_test_rand_int_range(1, s->frame + 1);
    }
    if (s->bad[from]) {
        s->bad[from]--;
        *ok = 0;
        for (unsigned n = 0; n < 6; n++) {
            flit[g_test_rand_int_range(0, 20)] = g_test_rand_int();
        }
    } else if (p->mode == UB_MODE_CRC && chance(s->flip)) {
        for (unsigned n = g_test_rand_int_range(1, 9); n; n--) {
            flit[g_test_rand_int_range(0, 20)] ^=
                1 << g_test_rand_int_range(0, 8);
        }
    }
    return true;
}

static unsigned pick_len(Soak *s)
{
    switch (g_test_rand_int_range(0, 8)) {
    case 0:
        return g_test_rand_int_range(1, s->max_len + 1);
    case 1:
        return 620 + g_test_rand_int_range(0, 60); /* around a full block */
    case 2:
    case 3:
        return g_test_rand_int_range(1, 400);
    default:
        return g_test_rand_int_range(4, 40);
    }
}

static void feed(Soak *s, unsigned from)
{
    UbDllStatus st;

    ub_dll_status(s->p.e[from].dll, &st);
    for (unsigned n = g_test_rand_int_range(0, 60); n; n--) {
        unsigned vl = g_test_rand_int_range(0, UB_VLS);
        unsigned len = MIN(pick_len(s), s->max_len);
        uint32_t cells = (len / 16 + 2 + st.agreed.flow_ctrl_size) /
                         st.agreed.flow_ctrl_size;

        /* A packet that can never get its credit would be the test's fault. */
        if (!(st.agreed.vl_enable >> vl & 1) ||
            cells > st.tx_credit_init[vl] || st.queued[vl] > 100) {
            continue;
        }
        if (pair_send(&s->p, from, vl, len, s->seq[from][vl])) {
            g_queue_push_tail(s->lens[from][vl], GUINT_TO_POINTER(len));
            s->seq[from][vl]++;
            s->sent++;
        }
    }
}

static void collect(Soak *s, unsigned at)
{
    End *e = &s->p.e[at];
    CorePacket *pkt;

    while ((pkt = g_queue_pop_head(e->got))) {
        GQueue *lens = s->lens[!at][ub_meta(pkt)->vl];
        uint32_t seq = s->want[!at][ub_meta(pkt)->vl]++;
        const uint8_t *data = core_packet_data(pkt);

        g_assert_false(g_queue_is_empty(lens));
        g_assert_cmpuint(pkt->len, ==,
                         GPOINTER_TO_UINT(g_queue_pop_head(lens)));
        g_assert_cmpuint(ub_meta(pkt)->lph_cfg, ==, 6);
        if (ub_meta(pkt)->error) {
            pair_dump(&s->p);
            g_error("VL %u packet %u of %u bytes has ERROR_FLAG",
                    ub_meta(pkt)->vl, seq, pkt->len);
        }
        for (unsigned i = 0; i < pkt->len; i++) {
            if (data[i] != pair_byte(seq, i)) {
                g_error("VL %u packet %u byte %u of %u is wrong",
                        ub_meta(pkt)->vl, seq, i, pkt->len);
            }
        }
        s->arrived++;
        core_packet_free(pkt);
    }
    if (g_queue_get_length(e->held) &&
        (chance(0.3) || g_queue_get_length(e->held) > 400)) {
        pair_release_all(e);
    }
}

/* Move some of what @from has to the wire, and some of the wire to @to. */
static void soak_move(Soak *s, unsigned from)
{
    Pair *p = &s->p;
    End *to = &p->e[!from];
    unsigned n;

    p->chunk = g_test_rand_int_range(1, 400);
    if (chance(0.8)) {
        uint8_t *buf = g_malloc(p->chunk * UB_FLIT_SIZE);

        n = ub_dll_tx(p->e[from].dll, p->now, buf, p->chunk);
        for (unsigned i = 0; i < n; i++) {
            uint8_t ok = 1;

            noise(p, from, buf + i * UB_FLIT_SIZE, &ok);
            g_byte_array_append(to->flits, buf + i * UB_FLIT_SIZE,
                                UB_FLIT_SIZE);
            g_byte_array_append(to->ok, &ok, 1);
        }
        g_free(buf);
    }
    if (to->ok->len && chance(1.0 / s->delay)) {
        n = chance(0.5) ? to->ok->len
                        : g_test_rand_int_range(1, to->ok->len + 1);
        ub_dll_rx(to->dll, p->now, to->flits->data, n,
                  memchr(to->ok->data, 0, n) ? to->ok->data : NULL);
        g_byte_array_remove_range(to->flits, 0, n * UB_FLIT_SIZE);
        g_byte_array_remove_range(to->ok, 0, n);
    }
}

static void soak_step(Soak *s, bool feeding)
{
    Pair *p = &s->p;
    unsigned asked = p->e[0].retrains + p->e[1].retrains;
    unsigned ready = p->e[0].ready;

    for (unsigned i = 0; i < 2; i++) {
        if (feeding) {
            feed(s, i);
        }
        soak_move(s, i);
    }
    p->now += g_test_rand_int_range(100, 3000);
    for (unsigned i = 0; i < 2; i++) {
        ub_dll_poll(p->e[i].dll, p->now);
        collect(s, i);
    }
    if (feeding && chance(s->mode)) {
        p->next_mode = !p->mode;
        if (!ub_dll_mode_change(p->e[0].dll, p->now)) {
            p->next_mode = p->mode;
        }
    }
    s->given_up += p->e[0].mode_failed + p->e[1].mode_failed;
    p->e[1].mode_failed = 0;
    if (p->e[0].mode_failed) {
        p->e[0].mode_failed = 0;
        p->next_mode = p->mode;
    }
    if (p->e[0].ready != ready) {
        /* Handshake done: nothing of data is on the wire, unless the other
         * end has given it up since; switch. */
        if (!pair_mode_agreed(p)) {
            p->next_mode = p->mode;
        }
        pair_retrain_both(p);
        p->next_mode = p->mode;
        s->bad[0] = s->bad[1] = 0;
    } else if (p->e[0].retrains + p->e[1].retrains != asked ||
               chance(s->retrain)) {
        UbBlockMode next = p->next_mode;

        p->next_mode = p->mode;
        pair_retrain_both(p);
        p->next_mode = next;
        s->bad[0] = s->bad[1] = 0;
    }
}

static bool flying(Soak *s)
{
    for (unsigned i = 0; i < 2; i++) {
        for (unsigned vl = 0; vl < UB_VLS; vl++) {
            if (!g_queue_is_empty(s->lens[i][vl])) {
                return true;
            }
        }
    }
    return s->p.e[0].ok->len || s->p.e[1].ok->len;
}

static void configure(Soak *s, unsigned round)
{
    static const uint16_t depths[] = { 64, 100, 256, 2048, 8192 };

    for (unsigned i = 0; i < 2; i++) {
        UbDllConfig *c = &s->cfg[i];

        ub_dll_config_init(c);
        c->wish.retry_buf_depth = depths[g_test_rand_int_range(0, 5)];
        c->wish.vl_enable = (2u << g_test_rand_int_range(0, 16)) - 1;
        c->wish.rxbuf_vl_share = g_test_rand_int() & 1;
        c->tx_share = g_test_rand_int() & 1;
        c->wish.flow_ctrl_size = 1 << g_test_rand_int_range(0, 6) | 8;
        c->wish.ctrl_ack_grain = 1 << g_test_rand_int_range(0, 4);
        c->wish.data_ack_grain = 1 << g_test_rand_int_range(0, 6);
        c->wish.packet_min_interval = chance(0.3)
                                      ? g_test_rand_int_range(1, 20) : 1;
        for (unsigned vl = 0; vl < UB_VLS; vl++) {
            c->wish.ctrl_credit_grain[vl] = 1 << g_test_rand_int_range(0, 3);
            c->wish.data_credit_grain[vl] = 1 << g_test_rand_int_range(0, 4);
            c->init_credit[vl] = g_test_rand_int_range(100, 1200);
            c->share_quota[vl] = g_test_rand_int_range(0, 50);
            c->vl_weight[vl] = g_test_rand_int_range(0, 4);
        }
        c->vl_strict = chance(0.3) ? g_test_rand_int() : 0;
        /* Between far shorter and far longer than a round trip. */
        c->wait_timeout = g_test_rand_int_range(5, 200) * 1000;
        c->block_timeout = 500000;
        c->mode_timeout = 10000000;
        c->num_retry_threshold = 200;
        c->num_phy_reinit_threshold = 250;
        c->retry_clear_always = g_test_rand_int() & 1;
        c->credit_timeout = 0;
        c->queue_limit = 200 * 1024;
    }
    s->flip = round % 4 == 0 ? 0 : 0.02 * g_test_rand_double() *
                                   g_test_rand_double();
    s->fec = round % 4 == 1 ? 0 : 0.05 * g_test_rand_double() *
                                  g_test_rand_double();
    s->retrain = round % 3 == 0 ? 0.002 : 0;
    s->mode = round % 3 == 1 ? 0.003 : 0;
    s->frame = g_test_rand_int() & 1 ? 6 : 12;
    s->delay = g_test_rand_int_range(1, 6);
    s->max_len = g_test_rand_int() & 1 ? UB_PAYLOAD_MAX_CRC : 2000;
}

static uint64_t total_dup, total_retries, total_modes, total_packets;

static void soak_round(unsigned round, uint64_t packets)
{
    Soak *s = g_new0(Soak, 1);
    uint64_t steps = 0;

    configure(s, round);
    pair_up(&s->p, &s->cfg[0], &s->cfg[1], round & 1);
    s->p.opaque = s;
    for (unsigned i = 0; i < 2; i++) {
        s->p.e[i].hold = g_test_rand_int() & 1;
        for (unsigned vl = 0; vl < UB_VLS; vl++) {
            s->lens[i][vl] = g_queue_new();
        }
    }
    while (s->sent < packets) {
        uint64_t before = s->arrived;

        /* Far longer than a retry or a mode change given up may take. */
        for (unsigned n = 0; n < 50000 && s->arrived < before + 200; n++) {
            soak_step(s, true);
        }
        if (s->arrived == before) {
            pair_dump(&s->p);
            g_error("round %u: nothing arrives any more", round);
        }
    }
    s->flip = s->fec = s->retrain = 0;
    while (flying(s)) {
        soak_step(s, false);
        if (++steps > 200000) {
            pair_dump(&s->p);
            g_error("round %u: %" PRIu64 " of %" PRIu64 " packets never came",
                    round, s->sent - s->arrived, s->sent);
        }
    }
    s->p.e[0].hold = s->p.e[1].hold = false;
    for (unsigned n = 0; n < 500; n++) {
        soak_step(s, false);
    }
    pair_release_all(&s->p.e[0]);
    pair_release_all(&s->p.e[1]);
    s->p.chunk = 256;
    pair_run(&s->p, 10000000);
    g_assert_cmpuint(s->sent, ==, s->arrived);
    pair_check_credits(&s->p);
    for (unsigned i = 0; i < 2; i++) {
        const UbDllStats *st = ub_dll_stats(s->p.e[i].dll);
        UbDllStatus now;

        /* A mode change that one end gave up may look odd to the other. */
        if (s->p.e[i].fatal || (s->p.e[i].peer_errors && !s->given_up)) {
            pair_dump(&s->p);
            g_error("round %u: %s", round, s->p.e[i].last_peer_error);
        }
        g_assert_cmpuint(st->rx_dropped, ==, 0);
        /* What is left with the receiver is less than a grain per VL. */
        ub_dll_status(s->p.e[i].dll, &now);
        for (unsigned vl = 0; vl < UB_VLS; vl++) {
            g_assert_cmpuint(now.rx_held[vl], <,
                             now.agreed.ctrl_credit_grain[vl]);
            g_queue_free(s->lens[i][vl]);
        }
        total_dup += st->duplicate_acks;
        total_retries += st->retries;
        total_modes += st->mode_changes;
    }
    total_packets += s->sent;
    pair_free(&s->p);
    g_free(s);
}

static void test_soak(void)
{
    const uint64_t goal = g_test_slow() ? 2000000 : 200000;

    for (unsigned round = 0; total_packets < goal; round++) {
        soak_round(round, goal / 60);
    }
    g_test_message("%" PRIu64 " packets, %" PRIu64 " retries, %" PRIu64
                   " repeated replays, %" PRIu64 " mode changes",
                   total_packets, total_retries, total_dup, total_modes);
    /* The interesting things did happen. */
    g_assert_cmpuint(total_retries, >, 100);
    g_assert_cmpuint(total_dup, >, 0);
    g_assert_cmpuint(total_modes, >, 0);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/dll/soak", test_soak);
    return g_test_run();
}
