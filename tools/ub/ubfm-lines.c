/*
 * Files of lines that ubfm is given.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#define _GNU_SOURCE /* getline */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "ubfm-lines.h"

bool ubfm_lines(const char *file, bool (*take)(void *opaque, char *line),
                void *opaque)
{
    FILE *in = fopen(file, "r");
    char *line = NULL;
    bool good = true;
    size_t room = 0;
    int err;

    if (!in) {
        return false;
    }
    while (good && getline(&line, &room, in) >= 0) {
        good = take(opaque, line);
    }
    good = good && !ferror(in);
    err = errno;
    free(line);
    fclose(in);
    errno = err;
    return good;
}
