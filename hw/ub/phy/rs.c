/*
 * RS(128,120): field arithmetic, scalar encoder and checker.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <pthread.h>
#include <string.h>

#include "core/bytes.h"
#include "kernels.h"
#include "scalar.h"
#include "rs.h"

#define GF_POLYNOMIAL 0x11d

static struct {
    uint8_t exp[512]; /* alpha^e, twice around so that sums need no mod */
    uint8_t log[256];
    /* Parity p7 (top byte) … p0 that feedback symbol `i` adds. */
    uint64_t feedback[256];
} gf;

static void generator(uint8_t g[UB_RS_PARITY + 1])
{
    memset(g, 0, UB_RS_PARITY + 1);
    g[0] = 1;
    for (unsigned root = 0; root < UB_RS_PARITY; root++) {
        for (int i = root + 1; i >= 0; i--) {
            uint8_t low = i ? g[i - 1] : 0;

            g[i] = low ^ (g[i] ? gf.exp[gf.log[g[i]] + root] : 0);
        }
    }
}

static void tables_build(void)
{
    uint8_t g[UB_RS_PARITY + 1];
    unsigned a = 1;

    for (unsigned e = 0; e < 255; e++) {
        gf.exp[e] = gf.exp[e + 255] = a;
        gf.log[a] = e;
        a = a << 1 ^ (a & 0x80 ? GF_POLYNOMIAL : 0);
    }
    generator(g);
    for (unsigned f = 1; f < 256; f++) {
        uint64_t parity = 0;

        for (int i = UB_RS_PARITY - 1; i >= 0; i--) {
            parity = parity << 8 | gf.exp[gf.log[g[i]] + gf.log[f]];
        }
        gf.feedback[f] = parity;
    }
}

void ub_rs_tables_init(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    static bool done;

    /* The flag saves a call: field arithmetic asks every time. */
    if (!__atomic_load_n(&done, __ATOMIC_ACQUIRE)) {
        pthread_once(&once, tables_build);
        __atomic_store_n(&done, true, __ATOMIC_RELEASE);
    }
}

uint64_t ub_rs_feedback(uint8_t symbol)
{
    return gf.feedback[symbol];
}

uint8_t ub_gf_mul(uint8_t a, uint8_t b)
{
    ub_rs_tables_init();
    return a && b ? gf.exp[gf.log[a] + gf.log[b]] : 0;
}

uint8_t ub_gf_pow(unsigned e)
{
    ub_rs_tables_init();
    return gf.exp[e % 255];
}

uint8_t ub_gf_inv(uint8_t a)
{
    ub_rs_tables_init();
    return gf.exp[255 - gf.log[a]];
}

/* Remainder of the message symbols at in[0], in[stride] … mod g(x). */
static uint64_t parity_of(const uint8_t *in, size_t stride)
{
    uint64_t rem = 0;

    for (unsigned i = 0; i < UB_RS_K; i++) {
        rem = rem << 8 ^ gf.feedback[(rem >> 56) ^ in[i * stride]];
    }
    return rem;
}

uint64_t ub_rs_remainder(const uint8_t *msg, size_t stride)
{
    ub_rs_tables_init();
    return parity_of(msg, stride);
}

void ub_rs_encode_scalar(const uint8_t *msg, uint8_t *parity, size_t n,
                         unsigned codecs)
{
    ub_rs_tables_init();
    for (; n; n--, msg += UB_RS_K * codecs, parity += UB_RS_PARITY * codecs) {
        for (unsigned c = 0; c < codecs; c++) {
            uint64_t rem = parity_of(msg + c, codecs);

            for (unsigned i = 0; i < UB_RS_PARITY; i++, rem <<= 8) {
                parity[i * codecs + c] = rem >> 56;
            }
        }
    }
}

size_t ub_rs_check_scalar(const uint8_t *msg, const uint8_t *parity, size_t n,
                          unsigned codecs, uint8_t *bad)
{
    size_t count = 0;

    ub_rs_tables_init();
    for (; n; n--, msg += UB_RS_K * codecs, parity += UB_RS_PARITY * codecs) {
        *bad = 0;
        for (unsigned c = 0; c < codecs; c++) {
            uint64_t rem = parity_of(msg + c, codecs), got = 0;

            for (unsigned i = 0; i < UB_RS_PARITY; i++) {
                got = got << 8 | parity[i * codecs + c];
            }
            *bad |= (rem != got) << c;
            count += rem != got;
        }
        bad++;
    }
    return count;
}

void ub_rs_encode(const uint8_t *msg, uint8_t *parity, size_t n,
                  unsigned codecs)
{
    ub_pcs_kernels()->rs_encode(msg, parity, n, codecs);
}

size_t ub_rs_check(const uint8_t *msg, const uint8_t *parity, size_t n,
                   unsigned codecs, uint8_t *bad)
{
    return ub_pcs_kernels()->rs_check(msg, parity, n, codecs, bad);
}
