/*
 * Who may be in a fabric: patterns of GUIDs in a file.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <errno.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "ubfm-allow.h"
#include "ubfm-lines.h"

/* A line's pattern, in its place; NULL: there is none. */
static char *pattern_in(char *line)
{
    char *p = line + strspn(line, " \t");

    p[strcspn(p, " \t\r\n#")] = 0;
    return *p ? p : NULL;
}

static bool add_pattern(UbfmAllow *a, const char *text)
{
    char **more;

    if (a->n == UBFM_ALLOW_MOST) {
        errno = E2BIG;
        return false;
    }
    more = realloc(a->pattern, (a->n + 1) * sizeof(*more));
    if (!more) {
        return false;
    }
    a->pattern = more;
    more[a->n] = strdup(text);
    return more[a->n] && ++a->n;
}

static bool take_line(void *opaque, char *line)
{
    char *text = pattern_in(line);

    return !text || add_pattern(opaque, text);
}

bool ubfm_allow_read(UbfmAllow *a, const char *file)
{
    UbfmAllow fresh = { .listed = true };
    int err;

    if (!ubfm_lines(file, take_line, &fresh)) {
        err = errno;
        ubfm_allow_free(&fresh);
        errno = err;
        return false;
    }
    ubfm_allow_free(a);
    *a = fresh;
    return true;
}

void ubfm_allow_free(UbfmAllow *a)
{
    for (unsigned i = 0; i < a->n; i++) {
        free(a->pattern[i]);
    }
    free(a->pattern);
    *a = (UbfmAllow) { 0 };
}

bool ubfm_admits(void *allow, UbId guid)
{
    const UbfmAllow *a = allow;
    char text[UB_FM_GUID_TEXT];

    ub_fm_guid_text(guid, text);
    for (unsigned i = 0; i < a->n; i++) {
        if (!fnmatch(a->pattern[i], text, 0)) {
            return true;
        }
    }
    return !a->listed;
}
