/*
 * A hostile migration stream for ubc, by libFuzzer: the image of a controller whose
 * engine is at work (channels, Reads, messages, rings, packets under way), changed
 * where the input says: records of three bytes of place and four of value.  The first
 * byte says whether a peer is there, and whether the image is cut short.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <glib.h>

/* What is tried this often have nothing to say. */
#undef g_test_message
#define g_test_message(...) ((void)sizeof(g_strdup_printf(__VA_ARGS__)))

#include "../../unit/ub/ubc-pair.h"
#include "../../unit/ub/ubc-busy.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static Busy busy;
    g_autofree uint8_t *image = NULL;
    size_t len, at = 0;

    if (!busy.victim) {
        busy_begin(&busy);
    }
    if (!size) {
        return 0;
    }
    len = busy.len[1];
    image = g_memdup2(busy.image[1], len);
    for (size_t i = 1; i + 7 <= size; i += 7) {
        at = get_be24(data + i) % (len - 4);
        memcpy(image + at, data + i + 3, 4);
    }
    busy_try(&busy, image, data[0] & 2 ? at : len, data[0] % 16 == 1);
    return 0;
}
