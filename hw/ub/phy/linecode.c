/*
 * Gray coding and precoding (UB 2.0 §3.3.1, §3.3.2), many UIs at a time.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "core/bytes.h"
#include "ub/linecode.h"

#define LOW_BITS 0x5555555555555555ULL

/* Pair b1 b0 becomes b1, b1^b0: its own inverse. */
static uint64_t gray64(uint64_t v)
{
    return v ^ (v >> 1 & LOW_BITS);
}

void ub_gray(uint8_t *out, const uint8_t *in, size_t n)
{
    size_t i = 0;

    for (; i + 8 <= n; i += 8) {
        put_le64(out + i, gray64(get_le64(in + i)));
    }
    for (; i < n; i++) {
        out[i] = gray64(in[i]);
    }
}

/* Sum and difference mod 4 of each pair of bits. */
static uint64_t add4(uint64_t a, uint64_t b)
{
    uint64_t carry = a & b & LOW_BITS;

    return a ^ b ^ carry << 1;
}

static uint64_t neg4(uint64_t a)
{
    return a ^ (a & LOW_BITS) << 1;
}

/* Bits of the last UI of `count` bytes in a word. */
static uint64_t last_bit(uint64_t v, unsigned count)
{
    return v >> (8 * count - 1) & 1;
}

static uint64_t last_level(uint64_t v, unsigned count)
{
    return v >> (8 * count - 2) & 3;
}

/* T_n = P_n ^ T_{n-1}: running parity, by doubling distances. */
static uint64_t nrz_encode(uint64_t p, uint64_t prev)
{
    p ^= prev;
    for (unsigned d = 1; d < 64; d *= 2) {
        p ^= p << d;
    }
    return p;
}

static uint64_t nrz_decode(uint64_t r, uint64_t prev)
{
    return r ^ (r << 1 | prev);
}

/* T_n = P_n - T_{n-1}: the first doubling subtracts, the others add. */
static uint64_t pam4_encode(uint64_t p, uint64_t prev)
{
    p = add4(p, neg4(prev));
    p = add4(p, neg4(p << 2));
    for (unsigned d = 4; d < 64; d *= 2) {
        p = add4(p, p << d);
    }
    return p;
}

static uint64_t pam4_decode(uint64_t r, uint64_t prev)
{
    return add4(r, r << 2 | prev);
}

/* Words of eight symbols, then the rest as one short word. */
#define LINE_CODE(name, code, last, from)                               \
    static uint8_t name(uint8_t *out, const uint8_t *in, size_t n,      \
                        uint8_t prev)                                   \
    {                                                                   \
        while (n) {                                                     \
            unsigned count = n < 8 ? n : 8;                             \
            uint64_t v = 0, w;                                          \
                                                                        \
            if (count == 8) {                                           \
                v = get_le64(in);                                       \
            } else {                                                    \
                for (unsigned i = 0; i < count; i++) {                  \
                    v |= (uint64_t)in[i] << 8 * i;                      \
                }                                                       \
            }                                                           \
            w = code(v, prev);                                          \
            prev = last(from, count);                                   \
            if (count == 8) {                                           \
                put_le64(out, w);                                       \
            } else {                                                    \
                for (unsigned i = 0; i < count; i++) {                  \
                    out[i] = w >> 8 * i;                                \
                }                                                       \
            }                                                           \
            out += count;                                               \
            in += count;                                                \
            n -= count;                                                 \
        }                                                               \
        return prev;                                                    \
    }

LINE_CODE(run_nrz_encode, nrz_encode, last_bit, w)
LINE_CODE(run_nrz_decode, nrz_decode, last_bit, v)
LINE_CODE(run_pam4_encode, pam4_encode, last_level, w)
LINE_CODE(run_pam4_decode, pam4_decode, last_level, v)

uint8_t ub_precode_start(bool pam4)
{
    return pam4 ? 0 : 1;
}

uint8_t ub_precode(uint8_t *out, const uint8_t *in, size_t n, bool pam4,
                   uint8_t prev)
{
    return pam4 ? run_pam4_encode(out, in, n, prev) :
           run_nrz_encode(out, in, n, prev);
}

uint8_t ub_precode_undo(uint8_t *out, const uint8_t *in, size_t n, bool pam4,
                        uint8_t prev)
{
    return pam4 ? run_pam4_decode(out, in, n, prev) :
           run_nrz_decode(out, in, n, prev);
}
