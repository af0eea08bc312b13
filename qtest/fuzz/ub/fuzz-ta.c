/*
 * Fuzzer of the transaction layer's receive path: packets of any carrier, with any
 * headers, come to a node that has requests of its own under way, to the memory and
 * receive buffers of which peers may come.
 *
 * The input is a little program.  Whatever comes, bounds hold, requests are given
 * back, and nothing is left when it has become quiet.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <glib.h>

#include "ta-pair.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { STEPS = 256, WORKS = 64, LONGEST = 600, BOUND = 8192 };

typedef struct Fuzz {
    const uint8_t *p, *end;
    Pair *pair;
    Work *work[WORKS];
    unsigned works;
    uint32_t msn;
} Fuzz;

static Fuzz f;

static uint64_t next(unsigned bytes)
{
    uint64_t v = 0;

    for (unsigned i = 0; i < bytes; i++) {
        v |= (uint64_t)(f.p < f.end ? *f.p++ : 0) << 8 * i;
    }
    return v;
}

/* The head that names both ends, or would; how long it is. */
static uint32_t put_head(uint8_t *buf, unsigned form, unsigned from)
{
    if (form == UB_SEC_WIDE) {
        put_be32(buf, PAIR_UPI);
        memcpy(buf + 4, &f.pair->end[from].eid, UB_EID_LEN);
        memcpy(buf + 20, &f.pair->end[!from].eid, UB_EID_LEN);
        return 36;
    }
    if (form == UB_SEC_SHORT) {
        memcpy(buf, (uint8_t[]) { PAIR_UPI >> 8, PAIR_UPI & 0xff, 0, 0,
                                  from + 1, 0, 2 - from }, 7);
        buf[4] = (from + 1) << 4;
        return 7;
    }
    return 0;
}

/* A packet: by which way, to whom, with an honest head or without, its bytes. */
static void do_packet(void)
{
    static const struct { uint8_t mode, cfg, form; } ways[] = {
        { UB_TP_RTP, UB_LPH_CNA24, UB_SEC_WIDE },
        { UB_TP_CTP, UB_LPH_CNA16, UB_SEC_SHORT },
        { UB_TP_CTP, UB_LPH_CNA24, UB_SEC_WIDE },
        { UB_TP_BYPASS, UB_LPH_BYPASS, UB_SEC_NONE },
        { UB_TP_UTP, UB_LPH_IPV4, UB_SEC_WIDE },
    };
    unsigned bits = next(1), k = bits % G_N_ELEMENTS(ways);
    unsigned to = bits >> 3 & 1, other = next(1), len = next(2) % LONGEST;
    UbFlow flow = { .cfg = ways[k].cfg, .scna = 2 - to, .dcna = to + 1 };
    UbTpRx rx = { .mode = ways[k].mode, .tpn = other & 7, .flow = &flow,
                  .last = !(bits & 0x10), .nlp = ways[k].form };
    uint8_t buf[LONGEST + 40] = { 0 };
    uint32_t at = bits & 0x20 ? 0 : put_head(buf, ways[k].form, !to);
    CorePacket *pkt;

    if (bits & 0x40) {
        rx.nlp = other >> 4;
    }
    rx.msn = f.msn += rx.last;
    for (unsigned i = 0; i < len; i++) {
        buf[at + i] = next(1);
    }
    pkt = core_packet_alloc(f.pair->pool, at + len);
    memcpy(core_packet_data(pkt), buf, at + len);
    ub_ta_rx(f.pair->end[to].ta, &rx, pkt);
}

/* A request of the first node, by a row of either kind. */
static void do_work(void)
{
    unsigned row = next(1) % 8 * 16 + 1, opcode = next(1) % UB_TA_OPCODES;
    uint32_t off = next(2), len = next(2);
    unsigned queue = next(1) % UB_TA_MODES, order = next(1);
    Work *w;

    if (f.works == WORKS) {
        return;
    }
    w = work_new(row, opcode, off, len);
    w->req.order = order % 3;
    w->req.fence = order & 0x40;
    w->req.ordered_cqe = order & 0x80;
    w->req.tc_id = PAIR_TCID;
    work_post(f.pair, 0, queue + 1, w);
    f.work[f.works++] = w;
}

static void do_run(void)
{
    pair_run_for(f.pair, (int64_t)next(2) * 1000 + 1);
}

static void do_world(void)
{
    unsigned bits = next(1);

    f.pair->loss = bits & 1 ? 100000 : 0;
    f.pair->dup = bits & 2 ? 100000 : 0;
    f.pair->reorder = bits & 4 ? 100000 : 0;
    f.pair->busy = bits & 8 ? 200000 : 0;
    pair_recv(f.pair, bits >> 7, 1);
}

static void check(void)
{
    for (unsigned i = 0; i < 2; i++) {
        UbTaState s;

        ub_ta_state(f.pair->end[i].ta, &s);
        if (s.partial > BOUND || s.answers > BOUND) {
            abort();
        }
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static void (*const steps[])(void) = {
        do_packet, do_packet, do_packet, do_work, do_run, do_world,
    };

    f = (Fuzz) { .p = data, .end = data + size };
    f.pair = pair_new(2, NULL);
    for (unsigned i = 0; i < UB_TA_MODES; i++) {
        pair_queue(f.pair, 0, i + 1, i);
    }
    for (unsigned i = 0; i < STEPS && f.p < f.end; i++) {
        steps[next(1) % G_N_ELEMENTS(steps)]();
        check();
    }
    f.pair->loss = f.pair->dup = f.pair->reorder = f.pair->busy = 0;
    for (unsigned i = 0; i < 2; i++) {
        pair_recv(f.pair, i, WORKS);
        ub_ta_room(f.pair->end[i].ta, UB_TP_NONE);
        for (uint32_t tpn = 0; tpn < 64; tpn++) {
            ub_ta_room(f.pair->end[i].ta, tpn);
        }
    }
    pair_run(f.pair);
    for (unsigned i = 0; i < f.works; i++) {
        if (!f.work[i]->done) {
            abort();
        }
        work_free(f.work[i]);
    }
    pair_idle(f.pair);
    pair_free(f.pair);
    return 0;
}
