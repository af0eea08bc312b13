/*
 * Symbol distribution over lanes, scalar form (UB 2.0 §3.2.2.3, §3.2.5.4).
 *
 * Bytes in sending order - code words already alternating, or plain flits -
 * fill columns lane by lane; with interleaved codecs odd columns exchange the
 * two lanes of each pair, so that a lane does not carry one codec only.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "scalar.h"
#include "rs.h"

/* Where byte `at` of the sequence lies. */
static uint8_t *byte_at(const UbPcsBytes *b, size_t at)
{
    size_t size = UB_RS_N * b->codecs, frame, in;

    if (!b->codecs) {
        return b->msg + at;
    }
    frame = at / size;
    in = at % size;
    size = UB_RS_K * b->codecs;
    return in < size ? b->msg + frame * size + in :
           b->parity + frame * UB_RS_PARITY * b->codecs + in - size;
}

void ub_stripe_scalar(uint8_t *const *lane, const UbPcsBytes *bytes,
                      size_t columns, unsigned width, UbScrambler *const *key)
{
    unsigned swap = bytes->codecs == 2 && width > 1;

    for (size_t i = 0; i < columns; i++) {
        for (unsigned l = 0; l < width; l++) {
            lane[l][i] = *byte_at(bytes, i * width + (l ^ (swap & i)));
        }
    }
}

void ub_destripe_scalar(const UbPcsBytes *bytes, const uint8_t *const *lane,
                        size_t columns, unsigned width)
{
    unsigned swap = bytes->codecs == 2 && width > 1;

    for (size_t i = 0; i < columns; i++) {
        for (unsigned l = 0; l < width; l++) {
            *byte_at(bytes, i * width + (l ^ (swap & i))) = lane[l][i];
        }
    }
}
