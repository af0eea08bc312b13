/*
 * Inner loops for vectors of 16-byte parts with a byte table lookup, to be
 * included by a file that defines
 *
 *   Vec, PARTS          the vector, and its 16-byte parts (frames of a part
 *                       follow those of the part before)
 *   FN(name), TARGET    names and attributes of functions
 *   GATHER(p, step)     part k from p + k * step; GATHER8: 8 bytes of it
 *   SCATTER(p, step, v) and back
 *   LOOKUP(table, v)    bytes of `table` (the same in each part) by v < 16
 *   LOW(v), HIGH(v)     v & 15 and v >> 4 by byte
 *   ZIPLO(n, a, b), ZIPHI(n, a, b)   interleave the low or high halves of
 *                       each part, by elements of n = 8, 16, 32, 64 bits
 *
 * Vectors are used with C operators besides.  The RS encoder holds one symbol
 * position of eight frames, two words each, per part, and divides all of
 * them by the generator at once.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#define INLINE static inline __attribute__((always_inline)) TARGET
#define ROWS 8 /* rows of 16 bytes of a transposition */

typedef struct Products {
    Vec low[UB_RS_PARITY], high[UB_RS_PARITY]; /* by nibble, g0 first */
} Products;

static Products FN(products);
static Vec FN(halves);           /* even bytes of a part, then odd ones */
static Vec FN(deal)[4][2];       /* columns to lanes: log2 width, swap */
static Vec FN(gather)[4][2];     /* and back */

static void FN(fill)(Vec *to, const uint8_t part[16])
{
    for (unsigned i = 0; i < PARTS; i++) {
        memcpy((uint8_t *)to + 16 * i, part, 16);
    }
}

static void FN(tables)(void)
{
    uint8_t a[16], b[16];

    ub_rs_tables_init();
    for (unsigned i = 0; i < UB_RS_PARITY; i++) {
        for (unsigned n = 0; n < 16; n++) {
            a[n] = ub_rs_feedback(n) >> 8 * i;
            b[n] = ub_rs_feedback(n << 4) >> 8 * i;
        }
        FN(fill)(&FN(products).low[i], a);
        FN(fill)(&FN(products).high[i], b);
    }
    for (unsigned n = 0; n < 16; n++) {
        a[n] = n % 8 * 2 + n / 8;
    }
    FN(fill)(&FN(halves), a);
    for (unsigned w = 0; w < 4; w++) {
        unsigned width = 1 << w, columns = 16 / width;

        for (unsigned swap = 0; swap < 2; swap++) {
            for (unsigned i = 0; i < columns; i++) {
                for (unsigned l = 0; l < width; l++) {
                    unsigned other = width > 1 ? swap & i & 1 : 0;
                    unsigned byte = i * width + (l ^ other);

                    a[l * columns + i] = byte;
                    b[byte] = l * columns + i;
                }
            }
            FN(fill)(&FN(deal)[w][swap], a);
            FN(fill)(&FN(gather)[w][swap], b);
        }
    }
}

/* In each part: element c of row r changes places with element r of row c;
 * elements of 16 / rows bytes. */
INLINE void FN(transpose)(Vec *v, unsigned rows)
{
    Vec w[ROWS];

    switch (rows) {
    case 2:
        w[0] = ZIPLO(64, v[0], v[1]);
        w[1] = ZIPHI(64, v[0], v[1]);
        v[0] = w[0];
        v[1] = w[1];
        break;
    case 4:
#pragma GCC unroll 2
        for (unsigned i = 0; i < 2; i++) {
            w[2 * i] = ZIPLO(32, v[2 * i], v[2 * i + 1]);
            w[2 * i + 1] = ZIPHI(32, v[2 * i], v[2 * i + 1]);
        }
#pragma GCC unroll 2
        for (unsigned i = 0; i < 2; i++) {
            v[2 * i] = ZIPLO(64, w[i], w[i + 2]);
            v[2 * i + 1] = ZIPHI(64, w[i], w[i + 2]);
        }
        break;
    case 8:
#pragma GCC unroll 4
        for (unsigned i = 0; i < 4; i++) {
            w[2 * i] = ZIPLO(16, v[2 * i], v[2 * i + 1]);
            w[2 * i + 1] = ZIPHI(16, v[2 * i], v[2 * i + 1]);
        }
        /* w[2i + h]: columns 4h … 4h+3 of rows 2i, 2i+1. */
#pragma GCC unroll 2
        for (unsigned h = 0; h < 2; h++) {
            v[h] = ZIPLO(32, w[h], w[h + 2]);
            v[h + 2] = ZIPHI(32, w[h], w[h + 2]);
            v[h + 4] = ZIPLO(32, w[h + 4], w[h + 6]);
            v[h + 6] = ZIPHI(32, w[h + 4], w[h + 6]);
        }
        /* v[h + 2k]: columns 4h+2k, 4h+2k+1 of rows 0-3; + 4: rows 4-7. */
#pragma GCC unroll 2
        for (unsigned h = 0; h < 2; h++) {
#pragma GCC unroll 2
            for (unsigned k = 0; k < 2; k++) {
                w[4 * h + 2 * k] = ZIPLO(64, v[h + 2 * k], v[h + 2 * k + 4]);
                w[4 * h + 2 * k + 1] =
                    ZIPHI(64, v[h + 2 * k], v[h + 2 * k + 4]);
            }
        }
#pragma GCC unroll 8
        for (unsigned i = 0; i < 8; i++) {
            v[i] = w[i];
        }
        break;
    default:
        break;
    }
}

/* ------------------------------------------------------------------ RS --- */

#define GROUP(codecs) (ROWS * PARTS * 2 / (codecs)) /* frames at a time */

/* One symbol more of every word; logical parity i lies at (i - step) % 8. */
INLINE void FN(divide)(Vec p[UB_RS_PARITY], Vec symbol, unsigned step)
{
    Vec f = p[(UB_RS_PARITY - 1 - step) % UB_RS_PARITY] ^ symbol;
    Vec low = LOW(f), high = HIGH(f);

#pragma GCC unroll 8
    for (unsigned i = 0; i < UB_RS_PARITY; i++) {
        Vec product = LOOKUP(FN(products).low[i], low) ^
                      LOOKUP(FN(products).high[i], high);
        unsigned at = (i + UB_RS_PARITY - 1 - step) % UB_RS_PARITY;

        if (i) {
            product ^= p[at];
        }
        p[at] = product;
    }
}

INLINE void FN(encode_group)(const uint8_t *msg, uint8_t *parity,
                             unsigned codecs)
{
    const size_t step = UB_RS_K * ROWS * 2;
    Vec p[UB_RS_PARITY];

    memset(p, 0, sizeof(p));
    for (unsigned at = 0; at < UB_RS_K; at += ROWS) {
        Vec v[ROWS];

#pragma GCC unroll 8
        for (unsigned r = 0; r < ROWS; r++) {
            if (codecs == 2) {
                v[r] = GATHER(msg + r * 240 + at * 2, step);
            } else {
                v[r] = GATHER8(msg + r * 240 + at, step);
                v[r] = ZIPLO(8, v[r],
                             GATHER8(msg + r * 240 + 120 + at, step));
            }
        }
        FN(transpose)(v, ROWS);
#pragma GCC unroll 8
        for (unsigned s = 0; s < ROWS; s++) {
            FN(divide)(p, v[s], s);
        }
    }
    /* Parity p7 first; rows of the transposition are frames again. */
    for (unsigned i = 0; i < UB_RS_PARITY / 2; i++) {
        Vec swap = p[i];

        p[i] = p[UB_RS_PARITY - 1 - i];
        p[UB_RS_PARITY - 1 - i] = swap;
    }
    FN(transpose)(p, ROWS);
    for (unsigned r = 0; r < ROWS; r++) {
        if (codecs == 1) {
            p[r] = LOOKUP(p[r], FN(halves));
        }
        SCATTER(parity + r * 16, ROWS * 16, p[r]);
    }
}

INLINE void FN(encode_frames)(const uint8_t *msg, uint8_t *parity, size_t n,
                              unsigned codecs)
{
    size_t at = 0;

    for (; at + GROUP(codecs) <= n; at += GROUP(codecs)) {
        /* The next group: rows are too short for the processor to foresee. */
        const uint8_t *ahead = msg + (at + GROUP(codecs)) * UB_RS_K * codecs;

        for (unsigned i = 0; i < GROUP(2) * UB_RS_K * 2; i += 64) {
            __builtin_prefetch(ahead + i);
        }
        FN(encode_group)(msg + at * UB_RS_K * codecs,
                         parity + at * UB_RS_PARITY * codecs, codecs);
    }
    if (at < n && n >= GROUP(codecs)) {
        at = n - GROUP(codecs);
        FN(encode_group)(msg + at * UB_RS_K * codecs,
                         parity + at * UB_RS_PARITY * codecs, codecs);
    } else if (at < n) {
        uint8_t in[UB_RS_K * ROWS * PARTS * 2] UB_UNINITIALIZED;
        uint8_t out[UB_RS_PARITY * ROWS * PARTS * 2] UB_UNINITIALIZED;

        memcpy(in, msg, n * UB_RS_K * codecs);
        memset(in + n * UB_RS_K * codecs, 0, sizeof(in) -
               n * UB_RS_K * codecs);
        FN(encode_group)(in, out, codecs);
        memcpy(parity, out, n * UB_RS_PARITY * codecs);
    }
}

static TARGET void FN(encode)(const uint8_t *msg, uint8_t *parity, size_t n,
                              unsigned codecs)
{
    if (codecs == 2) {
        FN(encode_frames)(msg, parity, n, 2);
    } else {
        FN(encode_frames)(msg, parity, n, 1);
    }
}

/* Encode again and compare. */
static TARGET size_t FN(check)(const uint8_t *msg, const uint8_t *parity,
                               size_t n, unsigned codecs, uint8_t *bad)
{
    uint8_t again[UB_RS_PARITY * ROWS * PARTS * 2 * 4] UB_UNINITIALIZED;
    size_t count = 0, size = UB_RS_PARITY * codecs;

    for (size_t step; n; n -= step, bad += step) {
        step = sizeof(again) / size < n ? sizeof(again) / size : n;
        FN(encode)(msg, again, step, codecs);
        memset(bad, 0, step);
        if (memcmp(again, parity, step * size)) {
            for (size_t i = 0; i < step * size; i++) {
                uint8_t bit = 1u << i % codecs;

                if (again[i] != parity[i] && !(bad[i / size] & bit)) {
                    bad[i / size] |= bit;
                    count++;
                }
            }
        }
        msg += step * UB_RS_K * codecs;
        parity += step * size;
    }
    return count;
}

/* ------------------------------------------------------------- striping -- */

#define COLUMNS (16 * PARTS) /* of a block */

/* Move 16 bytes of the lane order to `to`, or from there with `put`.  Where
 * one word's message and parity meet, they are half of each. */
INLINE void FN(move)(const UbPcsBytes *b, size_t at, unsigned codecs,
                     uint8_t *to, bool put)
{
    size_t size = UB_RS_N * codecs, half = 16;
    uint8_t *p = b->msg + at, *q = NULL;

    if (codecs) {
        size_t frame = at / size, in = at % size;
        uint8_t *parity = b->parity + frame * UB_RS_PARITY * codecs;

        p = b->msg + frame * UB_RS_K * codecs + in;
        if (in >= UB_RS_K * codecs) {
            p = parity;
        } else if (in + 16 > UB_RS_K * codecs) {
            half = 8;
            q = parity;
        }
    }
    if (half == 16 && put) {
        memcpy(p, to, 16);
    } else if (half == 16) {
        memcpy(to, p, 16);
    } else if (put) {
        memcpy(p, to, 8);
        memcpy(q, to + 8, 8);
    } else {
        memcpy(to, p, 8);
        memcpy(to + 8, q, 8);
    }
}

/* Blocks of 16 columns per part; returns columns done, the rest is less than
 * 16 and has no frames. */
INLINE size_t FN(stripe_blocks)(uint8_t *const *lane, const UbPcsBytes *b,
                                size_t columns, unsigned width,
                                unsigned codecs, unsigned index)
{
    Vec deal = FN(deal)[index][codecs == 2];
    size_t done = 0;

    for (; done + 16 <= columns; done += COLUMNS) {
        unsigned parts = columns - done < COLUMNS ? (columns - done) / 16 :
                         PARTS;
        Vec v[ROWS];

#pragma GCC unroll 8
        for (unsigned i = 0; i < width; i++) {
            uint8_t part[PARTS * 16];

            for (unsigned k = 0; k < PARTS; k++) {
                size_t at = (done + (k < parts ? k : 0) * 16) * width + i * 16;

                FN(move)(b, at, codecs, part + k * 16, false);
            }
            v[i] = LOOKUP(GATHER(part, 16), deal);
        }
        FN(transpose)(v, width);
#pragma GCC unroll 8
        for (unsigned l = 0; l < width; l++) {
            memcpy(lane[l] + done, &v[l], parts == PARTS ? COLUMNS :
                   parts * 16);
        }
    }
    return done < columns ? done : columns - columns % 16;
}

INLINE size_t FN(destripe_blocks)(const UbPcsBytes *b,
                                  const uint8_t *const *lane, size_t columns,
                                  unsigned width, unsigned codecs,
                                  unsigned index)
{
    Vec gather = FN(gather)[index][codecs == 2];
    size_t done = 0;

    for (; done + 16 <= columns; done += COLUMNS) {
        unsigned parts = columns - done < COLUMNS ? (columns - done) / 16 :
                         PARTS;
        Vec v[ROWS];

#pragma GCC unroll 8
        for (unsigned l = 0; l < width; l++) {
            if (parts == PARTS) {
                memcpy(&v[l], lane[l] + done, COLUMNS);
            } else {
                memset(&v[l], 0, COLUMNS);
                memcpy(&v[l], lane[l] + done, parts * 16);
            }
        }
        FN(transpose)(v, width);
#pragma GCC unroll 8
        for (unsigned i = 0; i < width; i++) {
            uint8_t part[PARTS * 16];

            SCATTER(part, 16, LOOKUP(v[i], gather));
            for (unsigned k = 0; k < parts; k++) {
                FN(move)(b, (done + k * 16) * width + i * 16, codecs,
                         part + k * 16, true);
            }
        }
    }
    return done < columns ? done : columns - columns % 16;
}

#define BY_CODECS(call, width, index)                                       \
    (b->codecs == 2 ? call(width, 2, index) :                               \
     b->codecs == 1 ? call(width, 1, index) : call(width, 0, index))
#define BY_WIDTH(call)                                                      \
    (width == 8 ? BY_CODECS(call, 8, 3) : width == 4 ? BY_CODECS(call, 4, 2) \
     : width == 2 ? BY_CODECS(call, 2, 1) : BY_CODECS(call, 1, 0))

static TARGET void FN(stripe)(uint8_t *const *lane, const UbPcsBytes *b,
                              size_t columns, unsigned width,
                              UbScrambler *const *key)
{
#define CALL(w, c, i) FN(stripe_blocks)(lane, b, columns, w, c, i)
    size_t done = BY_WIDTH(CALL);
#undef CALL
    UbPcsBytes rest = { b->msg + done * width, NULL, 0 };
    uint8_t *at[8];

    for (unsigned l = 0; l < width; l++) {
        at[l] = lane[l] + done;
    }
    ub_stripe_scalar(at, &rest, columns - done, width, NULL);
}

static TARGET void FN(destripe)(const UbPcsBytes *b,
                                const uint8_t *const *lane, size_t columns,
                                unsigned width)
{
#define CALL(w, c, i) FN(destripe_blocks)(b, lane, columns, w, c, i)
    size_t done = BY_WIDTH(CALL);
#undef CALL
    UbPcsBytes rest = { b->msg + done * width, NULL, 0 };
    const uint8_t *at[8];

    for (unsigned l = 0; l < width; l++) {
        at[l] = lane[l] + done;
    }
    ub_destripe_scalar(&rest, at, columns - done, width);
}

/* ------------------------------------------------------------ scrambling -- */

#define KEY_PARTS (UB_SCRAMBLER_VECTOR / sizeof(Vec))
#define KEY_VECTORS (UB_SCRAMBLER_WINDOW / UB_SCRAMBLER_VECTOR)

static TARGET void FN(scramble)(UbScrambler *s, const uint8_t *delays,
                                uint8_t *out, const uint8_t *in, size_t n)
{
    Vec *w = (Vec *)s->window;
    unsigned into = s->pos % UB_SCRAMBLER_VECTOR, at;
    size_t head = into ? UB_SCRAMBLER_VECTOR - into : 0;

    if (!delays[1] || delays[2] || n < head + UB_SCRAMBLER_VECTOR) {
        ub_scramble_scalar(s, delays, out, in, n);
        return;
    }
    ub_scramble_scalar(s, delays, out, in, head);
    out += head;
    in += head;
    n -= head;
    at = s->pos / UB_SCRAMBLER_VECTOR;
    for (; n >= UB_SCRAMBLER_VECTOR; n -= UB_SCRAMBLER_VECTOR) {
        unsigned from = at < delays[1] ? at + KEY_VECTORS - delays[1] :
                        at - delays[1];

#pragma GCC unroll 4
        for (unsigned k = 0; k < KEY_PARTS; k++) {
            Vec key = w[at * KEY_PARTS + k] ^ w[from * KEY_PARTS + k], x;

            w[at * KEY_PARTS + k] = key;
            memcpy(&x, in + k * sizeof(Vec), sizeof(Vec));
            x ^= key;
            memcpy(out + k * sizeof(Vec), &x, sizeof(Vec));
        }
        in += UB_SCRAMBLER_VECTOR;
        out += UB_SCRAMBLER_VECTOR;
        at = at + 1 == KEY_VECTORS ? 0 : at + 1;
    }
    s->pos = at * UB_SCRAMBLER_VECTOR;
    ub_scramble_scalar(s, delays, out, in, n);
}
