/*
 * Lines in a second.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "ubfm-pace.h"

#define SECOND INT64_C(1000000000)

bool ubfm_pace(UbfmPace *p, int64_t now, unsigned *left_out)
{
    *left_out = 0;
    if (!p->lines || now - p->since >= SECOND) {
        p->since = now;
        p->lines = 0;
    }
    if (p->lines == UBFM_PACE_LINES) {
        p->left_out++;
        return false;
    }
    p->lines++;
    *left_out = p->left_out;
    p->left_out = 0;
    return true;
}
