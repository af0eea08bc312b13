/*
 * A hostile migration stream for ubc, by libFuzzer: the image of a controller whose
 * engine is at work (channels, Reads, messages, rings, packets under way; with bit 7
 * of the first byte behind UMMUs, with faults, commands, management messages and
 * interrupts that wait), changed where the input says: records of three bytes of place
 * and four of value.  The first byte says, too, whether a peer is there, and whether
 * the image is cut short.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <glib.h>

/* What is tried this often have nothing to say. */
#undef g_test_message
#define g_test_message(...) ((void)sizeof(g_strdup_printf(__VA_ARGS__)))

#include "../../unit/ub/ubc-pair.h"
#include "../../unit/ub/ubc-busy.h"

static struct {
    Busy busy;
    Side sides[2];
    int64_t now;
} moments[BUSY_MOMENTS];

/* There is one pair of sides, whose addresses their controllers know. */
static Busy *enter(BusyMoment m)
{
    static BusyMoment current = BUSY_MOMENTS;

    if (m == current) {
        return &moments[m].busy;
    }
    if (current != BUSY_MOMENTS) {
        memcpy(moments[current].sides, two, sizeof(two));
        moments[current].now = now;
    }
    current = m;
    if (moments[m].busy.victim) {
        memcpy(two, moments[m].sides, sizeof(two));
        now = moments[m].now;
    } else {
        busy_begin(&moments[m].busy, m);
    }
    return &moments[m].busy;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    g_autofree uint8_t *image = NULL;
    size_t len, at = 0;
    Busy *busy;

    if (!size) {
        return 0;
    }
    busy = enter(data[0] & 0x80 ? BUSY_TRANSLATED : BUSY_PLAIN);
    len = busy->len[1];
    image = g_memdup2(busy->image[1], len);
    for (size_t i = 1; i + 7 <= size; i += 7) {
        at = get_be24(data + i) % (len - 4);
        memcpy(image + at, data + i + 3, 4);
    }
    busy_try(busy, image, data[0] & 2 ? at : len, data[0] % 16 == 1);
    return 0;
}
