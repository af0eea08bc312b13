/*
 * Every set of inner loops of the PCS against the scalar one.  Only libc, so
 * that it can be cross compiled and run under emulation for processors other
 * than the one at hand.  TAP on stdout.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels.h"
#include "rs.h"
#include "ub/scrambler.h"

static void fail(const char *what, int line)
{
    printf("Bail out! line %d: %s\n", line, what);
    exit(1);
}

#define CHECK(what) ((what) ? (void)0 : fail(#what, __LINE__))
#define CHECK_OP(a, op, b) CHECK((a) op (b))
#define CHECK_MEM(a, n, b, m) CHECK((n) == (m) && !memcmp(a, b, n))

/* A plain congruential generator: the same sequence everywhere. */
static uint32_t draw(void)
{
    static uint64_t state = 1;

    state = state * 6364136223846793005u + 1442695040888963407u;
    return state >> 33;
}

#define FRAMES 67

/* A batch of frames with a guard byte behind each part; `odd` spoils the
 * alignment, none is asked for. */
typedef struct Batch {
    uint8_t msg_room[FRAMES * 240 + 2], parity_room[FRAMES * 16 + 2];
    uint8_t *msg, *parity;
    size_t msg_size, parity_size;
} Batch;

static void batch_new(Batch *b, size_t n, unsigned codecs, unsigned odd)
{
    b->msg = b->msg_room + odd;
    b->parity = b->parity_room + odd;
    b->msg_size = n * UB_RS_K * codecs;
    b->parity_size = n * UB_RS_PARITY * codecs;
    memset(b->msg_room, 0xee, sizeof(b->msg_room));
    memset(b->parity_room, 0xee, sizeof(b->parity_room));
}

static void batch_guards(const Batch *b)
{
    CHECK_OP(b->msg[b->msg_size], ==, 0xee);
    CHECK_OP(b->parity[b->parity_size], ==, 0xee);
}

static void batch_equal(const Batch *a, const Batch *b)
{
    CHECK_MEM(a->msg, a->msg_size, b->msg, b->msg_size);
    CHECK_MEM(a->parity, a->parity_size, b->parity, b->parity_size);
    batch_guards(a);
    batch_guards(b);
}

static void test_kernels_rs(const UbPcsKernels *k)
{
    const UbPcsKernels *ref = &ub_pcs_kernels_scalar;
    static Batch a, b;
    uint8_t bad_a[FRAMES], bad_b[FRAMES];

    for (unsigned codecs = 1; codecs <= 2; codecs++) {
        for (unsigned n = 1; n <= FRAMES; n++) {
            batch_new(&a, n, codecs, 0);
            batch_new(&b, n, codecs, n & 1);
            for (size_t i = 0; i < a.msg_size; i++) {
                a.msg[i] = b.msg[i] = draw();
            }
            ref->rs_encode(a.msg, a.parity, n, codecs);
            k->rs_encode(b.msg, b.parity, n, codecs);
            batch_equal(&a, &b);
            memset(bad_b, 0xff, sizeof(bad_b));
            CHECK_OP(
                k->rs_check(b.msg, b.parity, n, codecs, bad_b), ==, 0);
            for (unsigned i = 0; i < FRAMES; i++) {
                CHECK_OP(bad_b[i], ==, i < n ? 0 : 0xff);
            }
            for (unsigned i = 0; i < n / 2 + 1; i++) {
                size_t at = draw() % a.msg_size;

                a.msg[at] ^= 1 << i % 8;
                b.msg[at] = a.msg[at];
                at = draw() % a.parity_size;
                a.parity[at] ^= 1 << i % 7;
                b.parity[at] = a.parity[at];
            }
            CHECK_OP(
                ref->rs_check(a.msg, a.parity, n, codecs, bad_a), ==,
                k->rs_check(b.msg, b.parity, n, codecs, bad_b));
            CHECK_MEM(bad_a, n, bad_b, n);
        }
    }
    /* Each symbol of each frame takes part in the check. */
    for (unsigned codecs = 1; codecs <= 2; codecs++) {
        batch_new(&a, FRAMES, codecs, 0);
        ref->rs_encode(a.msg, a.parity, FRAMES, codecs);
        for (size_t i = 0; i < a.msg_size + a.parity_size; i++) {
            bool in_msg = i < a.msg_size;
            size_t at = in_msg ? i : i - a.msg_size;
            size_t per = (in_msg ? UB_RS_K : UB_RS_PARITY) * codecs;
            uint8_t *p = (in_msg ? a.msg : a.parity) + at;

            *p ^= 1 << i % 8;
            CHECK_OP(
                k->rs_check(a.msg, a.parity, FRAMES, codecs, bad_b), ==, 1);
            CHECK_OP(bad_b[at / per], ==, 1 << at % codecs);
            *p ^= 1 << i % 8;
        }
    }
}

#define COLUMNS 400

/* Deal and gather `columns` columns, scalar against `k`, with and without
 * keys; what lies behind the lanes and the bytes stays as it is. */
static void stripe_case(const UbPcsKernels *k, unsigned width,
                        unsigned codecs, unsigned frames, unsigned columns,
                        bool keyed)
{
    static uint8_t lanes[2][8][COLUMNS + 8];
    static UbScrambler keys[2][8];
    static Batch a, b;
    UbScrambler *key[8];
    uint8_t *to[2][8];
    UbPcsBytes from, back;

    batch_new(&a, frames, codecs ? codecs : 1, 0);
    batch_new(&b, frames, codecs ? codecs : 1, columns & 1);
    if (!codecs) {
        a.msg_size = b.msg_size = columns * width;
        a.parity_size = b.parity_size = 0;
    }
    for (size_t i = 0; i < a.msg_size; i++) {
        a.msg[i] = draw();
    }
    for (size_t i = 0; i < a.parity_size; i++) {
        a.parity[i] = draw();
    }
    memset(lanes, 0xee, sizeof(lanes));
    for (unsigned l = 0; l < 8; l++) {
        to[0][l] = lanes[0][l];
        to[1][l] = lanes[1][l] + (l & columns & 3);
        for (unsigned i = 0; i < 2; i++) {
            ub_scrambler_seed(&keys[i][l], UB_SCRAMBLER_PRBS23, l);
            for (unsigned skip = 0; skip < 20 * l; skip++) {
                uint8_t none[64] = { 0 };

                ub_scrambler_xor(&keys[i][l], none, none, 64);
            }
        }
        key[l] = &keys[1][l];
    }
    from = (UbPcsBytes) { a.msg, a.parity, codecs };
    back = (UbPcsBytes) { b.msg, b.parity, codecs };
    ub_pcs_kernels_scalar.stripe(to[0], &from, columns, width, NULL);
    k->stripe(to[1], &from, columns, width, keyed ? key : NULL);
    for (unsigned l = 0; l < width; l++) {
        if (keyed) {
            ub_scrambler_xor(&keys[0][l], to[0][l], to[0][l], columns);
        }
        CHECK_OP(keys[0][l].pos, ==, keys[1][l].pos);
        CHECK_MEM(keys[0][l].window, UB_SCRAMBLER_WINDOW,
                        keys[1][l].window, UB_SCRAMBLER_WINDOW);
        CHECK_MEM(to[0][l], columns, to[1][l], columns);
        CHECK_OP(to[1][l][columns], ==, 0xee);
    }
    if (keyed) {
        return;
    }
    k->destripe(&back, (const uint8_t *const *)to[1], columns, width);
    batch_equal(&a, &b);
    batch_new(&b, frames, codecs ? codecs : 1, 0);
    b.msg_size = a.msg_size;
    b.parity_size = a.parity_size;
    back = (UbPcsBytes) { b.msg, b.parity, codecs };
    ub_pcs_kernels_scalar.destripe(&back, (const uint8_t *const *)to[0],
                                   columns, width);
    batch_equal(&a, &b);
}

static void test_kernels_stripe(const UbPcsKernels *k)
{

    for (unsigned width = 1; width <= 8; width *= 2) {
        for (unsigned n = 1; n <= COLUMNS; n++) {
            stripe_case(k, width, 0, FRAMES, n, false);
            if (k->fused && n % 64 == 0) {
                stripe_case(k, width, 0, FRAMES, n, true);
            }
        }
        for (unsigned codecs = 1; codecs <= 2; codecs++) {
            unsigned per = UB_RS_N * codecs / width;

            for (unsigned f = 1; f * per <= COLUMNS && f <= FRAMES; f++) {
                stripe_case(k, width, codecs, f, f * per, false);
                if (k->fused && f * per % 64 == 0) {
                    stripe_case(k, width, codecs, f, f * per, true);
                }
            }
        }
    }
}

/* The key in pieces of many sizes and alignments, also between loops. */
static void test_kernels_scramble(const UbPcsKernels *k)
{
    enum { BYTES = 20000 };
    static uint8_t in[BYTES], a[BYTES + 1], b[BYTES + 1];

    for (unsigned i = 0; i < BYTES; i++) {
        in[i] = draw();
    }
    for (unsigned id = 1; id < UB_SCRAMBLERS; id++) {
        UbScrambler x, y;
        size_t at = 0, n;

        memset(a, 0xee, sizeof(a));
        memset(b, 0xee, sizeof(b));
        ub_scrambler_seed(&x, id, 3);
        ub_scrambler_seed(&y, id, 3);
        for (; at < BYTES; at += n) {
            n = draw() % (draw() % 8 ? 150 : 3000);
            n = n < BYTES - at ? n : BYTES - at;
            ub_pcs_kernels_select("scalar");
            ub_scrambler_xor(&x, a + at, in + at, n);
            ub_pcs_kernels_select(draw() % 5 ? k->name : "scalar");
            ub_scrambler_xor(&y, b + at, in + at, n);
            CHECK_OP(x.pos, ==, y.pos);
        }
        CHECK_MEM(a, BYTES + 1, b, BYTES + 1);
    }
    ub_pcs_kernels_select(NULL);
}

int main(void)
{
    static const struct {
        const char *name;
        void (*run)(const UbPcsKernels *k);
    } tests[] = {
        { "rs", test_kernels_rs },
        { "stripe", test_kernels_stripe },
        { "scramble", test_kernels_scramble },
    };
    const unsigned count = sizeof(tests) / sizeof(tests[0]);
    const UbPcsKernels *k;
    unsigned number = 0;

    while (ub_pcs_kernels_at(number)) {
        number++;
    }
    printf("1..%u\n", number * count);
    number = 0;
    for (unsigned i = 0; (k = ub_pcs_kernels_at(i)); i++) {
        CHECK(ub_pcs_kernels_select(k->name) == k);
        for (unsigned t = 0; t < count; t++) {
            tests[t].run(k);
            printf("ok %u /kernels/%s/%s\n", ++number, k->name,
                   tests[t].name);
        }
    }
    CHECK(!ub_pcs_kernels_select("none such"));
    return 0;
}
