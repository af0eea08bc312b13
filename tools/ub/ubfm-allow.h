/*
 * Who may be in a fabric: patterns of GUIDs in a file.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef UBFM_ALLOW_H
#define UBFM_ALLOW_H

#include "ub/fm.h"

#define UBFM_ALLOW_MOST 4096 /* patterns */

/*
 * A line of the file is a pattern as the shell has them (fnmatch(3)) of GUIDs as
 * they are printed: cc08-* is a vendor.  What follows # is not read.
 */
typedef struct UbfmAllow {
    bool listed;        /* else everybody may */
    unsigned n;
    char **pattern;
} UbfmAllow;

/* Take the file's list in place of the one before.  False: errno says why, and the
 * one before stays. */
bool ubfm_allow_read(UbfmAllow *a, const char *file);
void ubfm_allow_free(UbfmAllow *a);
/* For UbFm.admit; its opaque is a UbfmAllow. */
bool ubfm_admits(void *allow, UbId guid);

#endif
