/*
 * The fuzzer's input as a series of numbers.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef FUZZ_RDMA_INPUT_H
#define FUZZ_RDMA_INPUT_H

#include <stdint.h>

typedef struct Input {
    const uint8_t *p, *end;
} Input;

/* The next @bytes as a number, the first one highest; bytes behind the end
 * are left out. */
static inline uint32_t take(Input *in, unsigned bytes)
{
    uint32_t v = 0;

    while (bytes-- && in->p < in->end) {
        v = v << 8 | *in->p++;
    }
    return v;
}

#endif
