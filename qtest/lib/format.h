/*
 * The image of a device at one known moment, by length and sum: a format that
 * changes, and with it what older builds wrote, is noticed here.  Who means it gives
 * the image a new version, or says in CHANGELOG.md that older ones are refused, and
 * puts the new sum down.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef QTEST_FORMAT_H
#define QTEST_FORMAT_H

#include <glib.h>
#include <stdint.h>

/* The image has these bytes, and they this SHA-256 in hexadecimal. */
static inline void format_is(const uint8_t *image, size_t len, size_t want,
                             const char *want_sum)
{
    g_autofree char *sum = g_compute_checksum_for_data(G_CHECKSUM_SHA256, image,
                                                       len);

    g_test_message("%zu bytes, %s", len, sum);
    g_assert_cmpuint(len, ==, want);
    g_assert_cmpstr(sum, ==, want_sum);
}

#endif
