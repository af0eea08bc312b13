/*
 * Two data link layer ends joined by a pair of flit queues in virtual time,
 * for tests.  A test may look at and change every flit on its way.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DLL_PAIR_H
#define DLL_PAIR_H

#include <glib.h>
#include <string.h>

#include "ub/dll.h"

typedef struct Pair Pair;
typedef struct End End;

struct End {
    Pair *pair;
    unsigned id;
    UbDll *dll;
    CorePacketPool *pool;

    /* what arrives: flits and their FEC verdict */
    GByteArray *flits;
    GByteArray *ok;

    /* what the layer said */
    bool up, pressed;
    unsigned ups, downs, retrains, ready, mode_failed, kicks;
    unsigned errors[UB_DLL_ERRORS];
    bool fatal;
    bool reset_at_once; /* in the callback of the error */
    unsigned peer_errors;
    const char *last_error, *last_peer_error;
    GString *path; /* state changes: "REQ WAIT …" of RETRY_REQ_SM */
    UbLaneManage lm;
    unsigned lms;
    uint32_t px[32];
    unsigned pxs;
    unsigned tx_space;

    /* delivered packets, and what to do with them */
    GQueue *got;       /* CorePacket */
    bool hold;         /* keep the Receive Buffer */
    GQueue *held;      /* CorePacket, a reference each */
    bool discard;      /* check nothing, free at once */
};

struct Pair {
    End e[2];
    int64_t now;
    size_t chunk;      /* flits per pull */
    bool manual;       /* Retrain is left to the test */
    unsigned retrains; /* of those asked for: done */
    UbBlockMode mode, next_mode;
    bool fec;
    /* Change a flit that end @from sends; false drops it. */
    bool (*tamper)(Pair *p, unsigned from, uint8_t *flit, uint8_t *ok);
    /* Look at every block that end @from sends. */
    void (*see)(Pair *p, unsigned from, const uint8_t *block, unsigned flits);
    void *opaque;
};

/* Now, however long the packet is looked at yet. */
static inline void pair_give_back(CorePacket *pkt)
{
    if (pkt->released) {
        pkt->released(pkt);
        pkt->released = NULL;
    }
}

static inline void pair_deliver(void *opaque, CorePacket *pkt)
{
    End *e = opaque;

    if (e->hold) {
        g_queue_push_tail(e->held, core_packet_ref(pkt));
    } else {
        pair_give_back(pkt);
    }
    if (e->discard) {
        core_packet_free(pkt);
    } else {
        g_queue_push_tail(e->got, pkt);
    }
}

static inline void pair_status(void *opaque, bool up)
{
    End *e = opaque;

    g_assert_cmpint(up, !=, e->up);
    e->up = up;
    e->ups += up;
    e->downs += !up;
}

static inline void pair_retrain(void *opaque)
{
    ((End *)opaque)->retrains++;
}

static inline void pair_ready(void *opaque)
{
    ((End *)opaque)->ready++;
}

static inline void pair_mode_failed(void *opaque)
{
    ((End *)opaque)->mode_failed++;
}

static inline void pair_error(void *opaque, UbDllError err, bool fatal,
                              const char *what)
{
    End *e = opaque;

    e->errors[err]++;
    e->fatal |= fatal;
    e->last_error = what;
    if (fatal && e->reset_at_once) {
        ub_dll_reset(e->dll, 0);
    }
}

static inline void pair_peer_error(void *opaque, const char *what)
{
    End *e = opaque;

    e->peer_errors++;
    e->last_peer_error = what;
}

static inline void pair_transition(void *opaque, UbDllMachine machine,
                                   unsigned from, unsigned to,
                                   const char *cause)
{
    End *e = opaque;

    g_assert_cmpuint(from, !=, to);
    g_assert_nonnull(cause);
    if (machine == UB_RETRY_REQ_SM && e->path->len < 4096) {
        g_string_append_printf(e->path, "%s ",
                               ub_dll_state_name(machine, to));
    }
}

static inline void pair_lane_manage(void *opaque, const UbLaneManage *lm)
{
    End *e = opaque;

    e->lm = *lm;
    e->lms++;
}

static inline void pair_param_exchg(void *opaque, const uint32_t *words,
                                    unsigned n)
{
    End *e = opaque;

    memcpy(e->px, words, n * sizeof(words[0]));
    e->pxs = n;
}

static inline void pair_press(void *opaque, bool on)
{
    ((End *)opaque)->pressed = on;
}

static inline void pair_tx_space(void *opaque, unsigned vl)
{
    ((End *)opaque)->tx_space |= 1u << vl;
}

static inline void pair_kick(void *opaque)
{
    ((End *)opaque)->kicks++;
}

static inline void pair_block(void *opaque, bool sent, const uint8_t *block,
                              unsigned flits)
{
    End *e = opaque;

    if (sent && e->pair->see) {
        e->pair->see(e->pair, e->id, block, flits);
    }
}

static const UbDllOps pair_ops = {
    .deliver = pair_deliver,
    .status = pair_status,
    .retrain = pair_retrain,
    .mode_ready = pair_ready,
    .mode_failed = pair_mode_failed,
    .error = pair_error,
    .peer_error = pair_peer_error,
    .transition = pair_transition,
    .lane_manage = pair_lane_manage,
    .param_exchg = pair_param_exchg,
    .back_pressure = pair_press,
    .tx_space = pair_tx_space,
    .kick = pair_kick,
    .block = pair_block,
};

static inline void pair_init(Pair *p, const UbDllConfig *a,
                             const UbDllConfig *b)
{
    UbDllConfig def;

    ub_dll_config_init(&def);
    memset(p, 0, sizeof(*p));
    p->chunk = 256;
    p->fec = true;
    p->now = 1000;
    for (unsigned i = 0; i < 2; i++) {
        const UbDllConfig *cfg = i ? b : a;
        End *e = &p->e[i];

        cfg = cfg ? cfg : &def;
        g_assert_cmpstr(ub_dll_config_check(cfg), ==, NULL);
        e->pair = p;
        e->id = i;
        e->pool = core_packet_pool_new(16, 0);
        e->dll = ub_dll_new(cfg, &pair_ops, e, e->pool);
        e->flits = g_byte_array_new();
        e->ok = g_byte_array_new();
        e->path = g_string_new("");
        e->got = g_queue_new();
        e->held = g_queue_new();
        g_assert_nonnull(e->dll);
    }
}

static inline void pair_free(Pair *p)
{
    for (unsigned i = 0; i < 2; i++) {
        End *e = &p->e[i];

        ub_dll_free(e->dll);
        while (!g_queue_is_empty(e->got)) {
            core_packet_free(g_queue_pop_head(e->got));
        }
        while (!g_queue_is_empty(e->held)) {
            core_packet_free(g_queue_pop_head(e->held));
        }
        g_assert_cmpuint(core_packet_pool_used(e->pool), ==, 0);
        core_packet_pool_free(e->pool);
        g_byte_array_free(e->flits, true);
        g_byte_array_free(e->ok, true);
        g_string_free(e->path, true);
        g_queue_free(e->got);
        g_queue_free(e->held);
    }
}

/* Pull from end @from until it has no more; returns flits. */
static inline size_t pair_pull(Pair *p, unsigned from)
{
    End *to = &p->e[!from];
    g_autofree uint8_t *buf = g_malloc(p->chunk * UB_FLIT_SIZE);
    size_t total = 0, n;

    do {
        n = ub_dll_tx(p->e[from].dll, p->now, buf, p->chunk);
        for (size_t i = 0; i < n; i++) {
            uint8_t *flit = buf + i * UB_FLIT_SIZE, ok = 1;

            if (!p->tamper || p->tamper(p, from, flit, &ok)) {
                g_byte_array_append(to->flits, flit, UB_FLIT_SIZE);
                g_byte_array_append(to->ok, &ok, 1);
            }
        }
        total += n;
    } while (n == p->chunk && total < 20000);
    return total;
}

/* Hand what arrived to end @to. */
static inline size_t pair_push(Pair *p, unsigned to)
{
    End *e = &p->e[to];
    GByteArray *flits = e->flits, *ok = e->ok;
    size_t n = ok->len;

    if (ok->len) {
        e->flits = g_byte_array_new();
        e->ok = g_byte_array_new();
        ub_dll_rx(e->dll, p->now, flits->data, ok->len, ok->data);
        g_byte_array_free(flits, true);
        g_byte_array_free(ok, true);
    }
    return n;
}

/* May a Retrain change the mode?  Both ends' RLTBs must say so: an end that gave
 * the handshake up has data under way again. */
static inline bool pair_mode_agreed(const Pair *p)
{
    return ub_dll_mode_gate(p->e[0].dll) != UB_DLL_MODE_KEEP &&
           ub_dll_mode_gate(p->e[1].dll) != UB_DLL_MODE_KEEP;
}

/* Retrain both ends, as the physical layer does when one asks. */
static inline void pair_retrain_both(Pair *p)
{
    for (unsigned i = 0; i < 2; i++) {
        ub_dll_phy_retrain(p->e[i].dll, p->now);
        g_byte_array_set_size(p->e[i].flits, 0);
        g_byte_array_set_size(p->e[i].ok, 0);
    }
    p->now += 1000;
    p->mode = p->next_mode;
    for (unsigned i = 0; i < 2; i++) {
        ub_dll_phy_active(p->e[i].dll, p->now, p->mode, p->fec);
    }
}

/* One exchange in both directions.  True: something moved. */
static inline bool pair_step(Pair *p)
{
    size_t moved = pair_pull(p, 0) + pair_pull(p, 1);

    p->now += 500;
    moved += pair_push(p, 0) + pair_push(p, 1);
    for (unsigned i = 0; i < 2; i++) {
        ub_dll_poll(p->e[i].dll, p->now);
    }
    if (!p->manual && p->e[0].retrains + p->e[1].retrains != p->retrains) {
        p->retrains = p->e[0].retrains + p->e[1].retrains;
        pair_retrain_both(p);
        moved = 1;
    }
    return moved;
}

/* Run until nothing moves and no timer is pending within @horizon ns. */
static inline void pair_run(Pair *p, int64_t horizon)
{
    int64_t end = p->now + horizon;

    for (unsigned guard = 0; guard < 100000; guard++) {
        int64_t next;

        if (pair_step(p)) {
            continue;
        }
        next = MIN(ub_dll_poll(p->e[0].dll, p->now),
                   ub_dll_poll(p->e[1].dll, p->now));
        if (next > end) {
            /* A time that came within the step has to be served. */
            if (!pair_step(p)) {
                return;
            }
            continue;
        }
        p->now = MAX(p->now, next);
        ub_dll_poll(p->e[0].dll, p->now);
        ub_dll_poll(p->e[1].dll, p->now);
    }
    g_error("the link never falls silent");
}

static inline void pair_link(Pair *p)
{
    for (unsigned i = 0; i < 2; i++) {
        ub_dll_phy_up(p->e[i].dll, p->now);
        ub_dll_phy_active(p->e[i].dll, p->now, p->mode, p->fec);
    }
}

/* A pair in DLL_Normal. */
static inline void pair_up(Pair *p, const UbDllConfig *a,
                           const UbDllConfig *b, UbBlockMode mode)
{
    pair_init(p, a, b);
    p->mode = p->next_mode = mode;
    pair_link(p);
    pair_run(p, 1000000);
    g_assert_true(p->e[0].up && p->e[1].up);
    g_string_truncate(p->e[0].path, 0);
    g_string_truncate(p->e[1].path, 0);
}

/* Payload byte @i of packet number @seq. */
static inline uint8_t pair_byte(uint32_t seq, unsigned i)
{
    return i < 4 ? seq >> 8 * i : (seq * 37 + i * 11) ^ i >> 8;
}

static inline CorePacket *pair_packet(End *e, unsigned vl, unsigned cfg,
                                      unsigned len, uint32_t seq)
{
    CorePacket *pkt = core_packet_alloc(e->pool, len);

    ub_meta(pkt)->vl = vl;
    ub_meta(pkt)->lph_cfg = cfg;
    for (unsigned i = 0; i < len; i++) {
        core_packet_data(pkt)[i] = pair_byte(seq, i);
    }
    return pkt;
}

static inline bool pair_send(Pair *p, unsigned from, unsigned vl, unsigned len,
                             uint32_t seq)
{
    CorePacket *pkt = pair_packet(&p->e[from], vl, 6, len, seq);

    if (ub_dll_send(p->e[from].dll, pkt)) {
        return true;
    }
    core_packet_free(pkt);
    return false;
}

/* The next delivered packet is number @seq of @len bytes on @vl. */
static inline void pair_expect(Pair *p, unsigned at, unsigned vl,
                               unsigned len, uint32_t seq)
{
    CorePacket *pkt = g_queue_pop_head(p->e[at].got);

    g_assert_nonnull(pkt);
    g_assert_cmpuint(pkt->len, ==, len);
    g_assert_cmpuint(ub_meta(pkt)->vl, ==, vl);
    for (unsigned i = 0; i < len; i++) {
        g_assert_cmphex(core_packet_data(pkt)[i], ==, pair_byte(seq, i));
    }
    core_packet_free(pkt);
}

static inline void pair_release_all(End *e)
{
    CorePacket *pkt;

    while ((pkt = g_queue_pop_head(e->held))) {
        pair_give_back(pkt);
        core_packet_free(pkt);
    }
}

/* Both ends in a few lines, for a failed test. */
static inline void pair_dump(Pair *p)
{
    for (unsigned i = 0; i < 2; i++) {
        const UbDllStats *n = ub_dll_stats(p->e[i].dll);
        GString *s = g_string_new("");
        UbDllStatus st;

        ub_dll_status(p->e[i].dll, &st);
        for (unsigned vl = 0; vl < UB_VLS; vl++) {
            g_string_append_printf(s, " %u:%u/%u/%u/%u/%u", vl, st.queued[vl],
                                   st.tx_credit[vl], st.tx_credit_init[vl],
                                   st.rx_held[vl], st.rx_pending[vl]);
        }
        g_printerr(
            "end %u: dll %d req %d ack %d bmc %d mode %d active %d fatal %d; "
            "wr %u tail %u rd %u free %u of %u, rcv %u of %u, ack pending %u; "
            "retry %u reinit %u; retries %u acks %u dup %u crc %u fec %u; "
            "grains ack %u/%u cell %u; shared %d %u; wire %u; last error %s; "
            "VL:queued/credit/init/held/pending%s\n", i, st.state, st.retry_req,
            st.retry_ack, st.mode_change, st.mode, st.active, st.fatal,
            st.wr_ptr, st.tail_ptr, st.rd_ptr, st.num_free_buf, st.depth,
            st.rcv_ptr, st.agreed.retry_buf_depth, st.ack_pending,
            st.num_retry, st.num_phy_reinit, (unsigned)n->retries,
            (unsigned)n->retry_acks, (unsigned)n->duplicate_acks,
            (unsigned)n->crc_errors, (unsigned)n->fec_errors,
            st.agreed.data_ack_grain, st.agreed.ctrl_ack_grain,
            st.agreed.flow_ctrl_size, st.tx_shared, st.tx_credit_shared,
            p->e[i].ok->len, p->e[i].last_error, s->str);
        g_string_free(s, true);
    }
}

/* Cells are neither lost nor made: what @tx has in hand, what its packets
 * hold at the other end, and nothing else, is what was granted. */
static inline void pair_check_credits(Pair *p)
{
    for (unsigned i = 0; i < 2; i++) {
        UbDllStatus tx, rx;
        uint32_t hand, held = 0, granted = 0, init = 0;

        ub_dll_status(p->e[i].dll, &tx);
        ub_dll_status(p->e[!i].dll, &rx);
        hand = tx.tx_credit_shared;
        for (unsigned vl = 0; vl < UB_VLS; vl++) {
            hand += tx.tx_credit[vl];
            init += tx.tx_credit_init[vl];
            held += rx.rx_held[vl];
            granted += rx.rx_granted[vl];
            if (!tx.tx_shared) {
                g_assert_cmpuint(tx.tx_credit[vl] + rx.rx_held[vl], ==,
                                 rx.rx_granted[vl]);
            }
        }
        g_assert_cmpuint(init, ==, granted);
        g_assert_cmpuint(hand + held, ==, granted);
    }
}

#endif
