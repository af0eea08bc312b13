/*
 * The fuzzer's input as a series of bytes and words, zeroes behind its end; what must be
 * true whatever it says.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef FUZZ_UB_INPUT_H
#define FUZZ_UB_INPUT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

typedef struct Input {
    const uint8_t *p, *end;
} Input;

static inline unsigned next(Input *in)
{
    return in->p < in->end ? *in->p++ : 0;
}

static inline uint32_t next32(Input *in)
{
    uint32_t v = next(in);

    v = v << 8 | next(in);
    v = v << 8 | next(in);
    return v << 8 | next(in);
}

static inline void demand(bool good)
{
    if (!good) {
        abort();
    }
}

#endif
