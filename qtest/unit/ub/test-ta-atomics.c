/*
 * The transaction layer: atomics against a reference, their rules, the order of their
 * bytes on the wire.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "ta-pair.h"

typedef unsigned __int128 u128;

static u128 widen(const uint8_t *p, unsigned len)
{
    u128 v = 0;

    for (unsigned i = len; i-- > 0;) {
        v = v << 8 | p[i];
    }
    return v;
}

static u128 reference(uint8_t op, uint8_t sub, u128 m, u128 a, u128 b,
                      unsigned len)
{
    unsigned shift = 128 - 8 * len;
    __int128 sm = (__int128)(m << shift) >> shift;
    __int128 sa = (__int128)(a << shift) >> shift;

    switch (op) {
    case UB_TA_ATOMIC_CAS: return m == a ? b : m;
    case UB_TA_ATOMIC_SWAP: return a;
    case UB_TA_FETCH_ADD: return m + a;
    case UB_TA_FETCH_SUB: return m - a;
    case UB_TA_FETCH_AND: return m & a;
    case UB_TA_FETCH_OR: return m | a;
    case UB_TA_FETCH_XOR: return m ^ a;
    }
    switch (sub) {
    case 0: return m + a;
    case 1: return m & ~a;
    case 2: return m ^ a;
    case 3: return m | a;
    case 4: return sa > sm ? a : m;
    case 5: return sa < sm ? a : m;
    case 6: return a > m ? a : m;
    default: return a < m ? a : m;
    }
}

/* Nine opcodes, eight sub-operations, lengths up to 16 bytes against the
 * compiler's integers; 32 and 64 bytes by their halves. */
static void test_atomics(void)
{
    Pair *p = pair_new(2, NULL);
    uint64_t seed = 5;

    pair_queue(p, 0, 7, UB_ROI);
    for (unsigned i = 0; i < 6000; i++) {
        uint8_t op = UB_TA_ATOMIC_CAS + i % 9, sub = i / 9 % 8;
        unsigned len = 1 << i / 72 % 5;
        uint32_t off = len * (i % 16);
        bool host = i % 3;
        Work *w = work_new((i & 1 ? ROW_RTP : ROW_CTP) + 1, op, off, len);
        uint8_t *mem = p->end[1].mem + off;
        u128 m, a, b, want;

        ub_segments_find(p->end[1].segments, 0, PAIR_TOKEN_ID,
                         PAIR_UBA)->host = host ? p->end[1].mem : NULL;
        for (unsigned j = 0; j < len; j++) {
            mem[j] = core_random(&seed) % 5 ? core_random(&seed) : 0xff;
            w->data[j] = core_random(&seed) % 2 ? mem[j] : core_random(&seed);
            w->data[len + j] = core_random(&seed);
        }
        if (core_random(&seed) % 2) {
            memcpy(w->data, mem, len);
        }
        w->req.sub = sub;
        m = widen(mem, len);
        a = widen(w->data, len);
        b = widen(w->data + len, len);
        want = reference(op, sub, m, a, b, len);
        if (len < 16) {
            want &= ((u128)1 << 8 * len) - 1;
        }
        work_post(p, 0, 7, w);
        pair_run(p);
        g_assert_cmpint(w->status, ==, UB_TAS_OK);
        g_assert_true(widen(mem, len) == want);
        if (op != UB_TA_ATOMIC_STORE) {
            g_assert_true(widen(w->data, len) == m);
        }
        work_free(w);
    }
    pair_free(p);
}

static void test_atomics_wide(void)
{
    Pair *p = pair_new(2, NULL);
    uint8_t *mem = p->end[1].mem;

    pair_queue(p, 0, 7, UB_ROI);
    for (unsigned len = 32; len <= 64; len *= 2) {
        Work *w = work_new(ROW_RTP + 1, UB_TA_FETCH_ADD, 0, len);

        memset(mem, 0xff, len);
        w->data[0] = 1;
        work_post(p, 0, 7, w);
        pair_run(p);
        for (unsigned i = 0; i < len; i++) {
            g_assert_cmphex(mem[i], ==, 0);
            g_assert_cmphex(w->data[i], ==, 0xff);
        }
        work_free(w);
        w = work_new(ROW_RTP + 1, UB_TA_FETCH_SUB, 0, len);
        w->data[0] = 1;
        work_all(p, 0, 7, w, UB_TAS_OK);
        for (unsigned i = 0; i < len; i++) {
            g_assert_cmphex(mem[i], ==, 0xff);
        }
        /* The highest bit is the sign. */
        w = work_new(ROW_RTP + 1, UB_TA_ATOMIC_LOAD, 0, len);
        w->req.sub = 4;
        work_all(p, 0, 7, w, UB_TAS_OK);
        g_assert_cmphex(mem[len - 1], ==, 0);
        memset(mem, 0xff, len);
        w = work_new(ROW_RTP + 1, UB_TA_ATOMIC_LOAD, 0, len);
        w->req.sub = 6;
        work_all(p, 0, 7, w, UB_TAS_OK);
        g_assert_cmphex(mem[len - 1], ==, 0xff);
    }
    pair_free(p);
}

/* ---- memory that processors have, too ---- */

static unsigned processors;

static void add_one(End *e, uint64_t addr, uint32_t len)
{
    processors++;
    for (uint32_t i = 0; i < len && !++e->mem[addr + i]; i++) {
    }
}

/* What a processor adds between an atomic's read and its write is not lost; one that
 * never stops does not keep the target. */
static void test_atomic_shared(void)
{
    Pair *p = pair_new(2, NULL);
    End *e = &p->end[1];
    uint8_t rest[16] = { 0 };

    pair_queue(p, 0, 7, UB_ROI);
    ub_segments_find(e->segments, 0, PAIR_TOKEN_ID, PAIR_UBA)->host = NULL;
    e->meanwhile = add_one;
    for (unsigned len = 1; len <= 8; len *= 2) {
        memset(e->mem, 0, 16);
        processors = 0;
        for (unsigned i = 0; i < 9; i++) {
            Work *w = work_new((i & 1 ? ROW_RTP : ROW_CTP) + 1, UB_TA_FETCH_ADD,
                               0, len);

            w->data[0] = 10;
            work_post(p, 0, 7, w);
            pair_run(p);
            g_assert_cmpint(w->status, ==, UB_TAS_OK);
            g_assert_cmpuint(w->data[0], ==, 10 * i + processors);
            work_free(w);
        }
        g_assert_cmpuint(processors, ==, 9);
        g_assert_cmpuint(e->mem[0], ==, 99);
        g_assert_cmpmem(e->mem + 1, 15, rest, 15);
    }
    e->meanwhile = NULL;
    e->rival = add_one;
    processors = 0;
    memset(e->mem, 0, 16);
    work_all(p, 0, 7, work_new(ROW_RTP + 1, UB_TA_ATOMIC_SWAP, 0, 8),
             UB_TAS_ABORT);
    g_assert_cmpuint(processors, >, 1000);
    g_assert_cmpuint(get_le64(e->mem), ==, processors);
    /* Longer ones are in one step for peers alone. */
    processors = 0;
    work_all(p, 0, 7, work_new(ROW_RTP + 1, UB_TA_ATOMIC_SWAP, 0, 16),
             UB_TAS_OK);
    g_assert_cmpuint(processors, ==, 0);
    g_assert_cmpmem(e->mem, 16, rest, 16);
    pair_free(p);
}

/* A segment whose first byte is anywhere on the bus, or in this process: what is aligned
 * in UBA is not there, and in one step for peers alone. */
static void test_atomic_skewed(void)
{
    for (unsigned host = 0; host < 2; host++) {
        Pair *p = pair_new(2, NULL);
        End *e = &p->end[1];
        UbSegment *s = ub_segments_find(e->segments, 0, PAIR_TOKEN_ID, PAIR_UBA);

        pair_queue(p, 0, 7, UB_ROI);
        s->host = host ? e->mem + 4 : NULL;
        s->bus = 4;
        memset(e->mem, 0, 16);
        for (unsigned i = 0; i < 3; i++) {
            Work *w = work_new(ROW_RTP + 1, UB_TA_FETCH_ADD, 0, 8);

            w->data[0] = 10;
            work_all(p, 0, 7, w, UB_TAS_OK);
        }
        g_assert_cmpuint(get_le64(e->mem + 4), ==, 30);
        g_assert_cmpuint(get_le32(e->mem), ==, 0);
        pair_free(p);
    }
}

static void test_atomic_rules(void)
{
    Pair *p = pair_new(2, NULL);
    UbTaConfig cfg = *ub_ta_config(p->end[1].ta);
    Work *w;

    pair_queue(p, 0, 7, UB_ROI);
    work_all(p, 0, 7, work_new(ROW_RTP + 1, UB_TA_FETCH_ADD, 4, 8),
             UB_TAS_LOCAL_LENGTH);
    work_all(p, 0, 7, work_new(ROW_RTP + 1, UB_TA_FETCH_ADD, 0, 3),
             UB_TAS_LOCAL_LENGTH);
    work_all(p, 0, 7, work_new(ROW_RTP + 1, UB_TA_FETCH_ADD, 0, 128),
             UB_TAS_LOCAL_LENGTH);
    w = work_new(ROW_RTP + 1, UB_TA_ATOMIC_STORE, 0, 8);
    w->req.sub = 8;
    work_all(p, 0, 7, w, UB_TAS_UNSUPPORTED);
    /* Bypass: in full blocks' places only. */
    work_all(p, 0, 7, work_new(ROW_BYPASS + 1, UB_TA_FETCH_ADD, 8, 8),
             UB_TAS_LOCAL_LENGTH);
    w = work_new(ROW_BYPASS + 1, UB_TA_FETCH_ADD, 64, 8);
    w->data[0] = 9;
    work_all(p, 0, 7, w, UB_TAS_OK);
    g_assert_cmpuint(p->end[1].mem[64], ==, 9);
    /* The other readings of the document. */
    cfg.cas_swapped = cfg.clr_text = true;
    g_assert_null(ub_ta_configure(p->end[1].ta, &cfg));
    w = work_new(ROW_RTP + 1, UB_TA_ATOMIC_CAS, 64, 1);
    w->data[0] = 5;
    w->data[1] = 9;
    work_all(p, 0, 7, w, UB_TAS_OK);
    g_assert_cmpuint(p->end[1].mem[64], ==, 5);
    w = work_new(ROW_RTP + 1, UB_TA_ATOMIC_LOAD, 64, 1);
    w->req.sub = 1;
    w->data[0] = 6;
    work_all(p, 0, 7, w, UB_TAS_OK);
    g_assert_cmpuint(p->end[1].mem[64], ==, 5 ^ 6);
    w = work_new(ROW_RTP + 1, UB_TA_ATOMIC_LOAD, 64, 1);
    w->req.sub = 2;
    w->data[0] = 1;
    work_all(p, 0, 7, w, UB_TAS_OK);
    g_assert_cmpuint(p->end[1].mem[64], ==, (5 ^ 6) & ~1);
    pair_idle(p);
    pair_free(p);
}

/* ---- byte order of the wire ---- */

static uint8_t seen[2][64];
static uint32_t seen_len[2];

static bool look(Pair *p, Wire *w)
{
    /* CTP with 16-bit UPI and short EIDs: 7 bytes before the TAH. */
    seen_len[w->from] = MIN(w->pkt->len - 7, 64);
    memcpy(seen[w->from], core_packet_data(w->pkt) + 7, seen_len[w->from]);
    return true;
}

/* Operands go out least significant byte first, the value comes back the other
 * way round (§7.4.2.3). */
static void test_atomic_bytes(void)
{
    static const uint8_t op[] = {
        0x88, 0x77, 0x66, 0x55, 0x44, 0x33, 0x22, 0x11,
        0x00, 0xff, 0xee, 0xdd, 0xcc, 0xbb, 0xaa, 0x99,
    };
    static const uint8_t old[] = {
        0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77, 0x88,
    };
    Pair *p = pair_new(2, NULL);
    Work *w = work_new(ROW_CTP + 1, UB_TA_ATOMIC_CAS, 0, 8);

    pair_queue(p, 0, 7, UB_ROI);
    put_le64(p->end[1].mem, 0x1122334455667788);
    put_le64(w->data, 0x1122334455667788);
    put_le64(w->data + 8, 0x99aabbccddeeff00);
    p->filter = look;
    work_post(p, 0, 7, w);
    pair_run(p);
    g_assert_cmpmem(seen[0] + seen_len[0] - 16, 16, op, 16);
    g_assert_cmpmem(seen[1] + seen_len[1] - 8, 8, old, 8);
    g_assert_cmphex(get_le64(w->data), ==, 0x1122334455667788);
    g_assert_cmphex(get_le64(p->end[1].mem), ==, 0x99aabbccddeeff00);
    work_free(w);
    pair_free(p);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/ub/ta/atomics/reference", test_atomics);
    g_test_add_func("/ub/ta/atomics/wide", test_atomics_wide);
    g_test_add_func("/ub/ta/atomics/shared", test_atomic_shared);
    g_test_add_func("/ub/ta/atomics/skewed", test_atomic_skewed);
    g_test_add_func("/ub/ta/atomics/rules", test_atomic_rules);
    g_test_add_func("/ub/ta/atomics/bytes", test_atomic_bytes);
    return g_test_run();
}
