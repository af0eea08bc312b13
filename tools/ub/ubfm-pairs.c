/*
 * Who may have TP channels with whom: pairs of patterns in a file.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <errno.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "ubfm-lines.h"
#include "ubfm-pairs.h"

static bool add_pair(UbfmPairs *pairs, const char *a, const char *b)
{
    UbfmPair *more;

    if (pairs->n == UBFM_PAIRS_MOST) {
        errno = E2BIG;
        return false;
    }
    more = realloc(pairs->pair, (pairs->n + 1) * sizeof(*more));
    if (!more) {
        return false;
    }
    pairs->pair = more;
    more[pairs->n] = (UbfmPair) { { strdup(a), strdup(b) } };
    pairs->n++;
    return more[pairs->n - 1].pattern[0] && more[pairs->n - 1].pattern[1];
}

static bool take_line(void *opaque, char *line)
{
    static const char space[] = " \t\r\n";
    char *save, *a, *b;

    line[strcspn(line, "#")] = 0;
    a = strtok_r(line, space, &save);
    if (!a) {
        return true;
    }
    b = strtok_r(NULL, space, &save);
    if (!b || strtok_r(NULL, space, &save)) {
        errno = EINVAL;
        return false;
    }
    return add_pair(opaque, a, b);
}

bool ubfm_pairs_read(UbfmPairs *pairs, const char *file)
{
    UbfmPairs fresh = { .listed = true };
    int err;

    if (!ubfm_lines(file, take_line, &fresh)) {
        err = errno;
        ubfm_pairs_free(&fresh);
        errno = err;
        return false;
    }
    ubfm_pairs_free(pairs);
    *pairs = fresh;
    return true;
}

void ubfm_pairs_free(UbfmPairs *pairs)
{
    for (unsigned i = 0; i < pairs->n; i++) {
        free(pairs->pair[i].pattern[0]);
        free(pairs->pair[i].pattern[1]);
    }
    free(pairs->pair);
    *pairs = (UbfmPairs) { 0 };
}

bool ubfm_channels(void *opaque, UbId a, UbId b)
{
    const UbfmPairs *pairs = opaque;
    char text[2][UB_FM_GUID_TEXT];

    ub_fm_guid_text(a, text[0]);
    ub_fm_guid_text(b, text[1]);
    for (unsigned i = 0; i < pairs->n; i++) {
        for (unsigned way = 0; way < 2; way++) {
            if (!fnmatch(pairs->pair[i].pattern[0], text[way], 0) &&
                !fnmatch(pairs->pair[i].pattern[1], text[!way], 0)) {
                return true;
            }
        }
    }
    return false;
}
