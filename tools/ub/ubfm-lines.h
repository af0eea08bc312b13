/*
 * Files of lines that ubfm is given.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef UBFM_LINES_H
#define UBFM_LINES_H

#include <stdbool.h>

/* Each line of @file, which @take may change, until it says no.  False: it did, or the
 * file cannot be read; errno says why. */
bool ubfm_lines(const char *file, bool (*take)(void *opaque, char *line),
                void *opaque);

#endif
