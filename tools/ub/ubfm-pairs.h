/*
 * Who may have TP channels with whom: pairs of patterns in a file.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef UBFM_PAIRS_H
#define UBFM_PAIRS_H

#include "ub/fm.h"

#define UBFM_PAIRS_MOST 4096 /* lines */

typedef struct UbfmPair {
    char *pattern[2];
} UbfmPair;

/* A line of the file is two patterns of GUIDs (ubfm-allow.h): who fits one of them and who
 * fits the other may. */
typedef struct UbfmPairs {
    bool listed;        /* else nobody's list is touched */
    unsigned n;
    UbfmPair *pair;
} UbfmPairs;

/* Take the file's lines in place of those before.  False: errno says why, EINVAL of a
 * line that is none, and those before stay. */
bool ubfm_pairs_read(UbfmPairs *pairs, const char *file);
void ubfm_pairs_free(UbfmPairs *pairs);
/* For UbFmPlan.channels; its opaque is a UbfmPairs. */
bool ubfm_channels(void *pairs, UbId a, UbId b);

#endif
