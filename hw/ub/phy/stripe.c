/*
 * Symbol distribution over lanes, scalar form (UB 2.0 §3.2.2.3, §3.2.5.4).
 *
 * Bytes in sending order - code words already alternating, or plain flits -
 * fill columns lane by lane; with interleaved codecs odd columns exchange the
 * two lanes of each pair, so that a lane does not carry one codec only.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <string.h>

#include "rs-tables.h"

void ub_stripe_scalar(uint8_t *const *lane, const uint8_t *bytes,
                      size_t columns, unsigned width, bool swap)
{
    if (width == 1) {
        memcpy(lane[0], bytes, columns);
        return;
    }
    for (size_t i = 0; i < columns; i++, bytes += width) {
        unsigned flip = swap & i & 1;

        for (unsigned l = 0; l < width; l++) {
            lane[l][i] = bytes[l ^ flip];
        }
    }
}

void ub_destripe_scalar(uint8_t *bytes, const uint8_t *const *lane,
                        size_t columns, unsigned width, bool swap)
{
    if (width == 1) {
        memcpy(bytes, lane[0], columns);
        return;
    }
    for (size_t i = 0; i < columns; i++, bytes += width) {
        unsigned flip = swap & i & 1;

        for (unsigned l = 0; l < width; l++) {
            bytes[l ^ flip] = lane[l][i];
        }
    }
}
