/*
 * Which partition of the network layer a node or a port is in: patterns in a file.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef UBFM_PART_H
#define UBFM_PART_H

#include "ub/fm.h"

#define UBFM_PARTS_MOST 4096 /* lines */

typedef struct UbfmPart {
    char *pattern;
    int port;           /* of a switch, UB_FM_NONE: of the node */
    uint32_t npi;
} UbfmPart;

/*
 * A line of the file is a pattern of GUIDs (ubfm-allow.h), with a slash and a port's number
 * behind it: of who is behind that port; then an NPI, of which bit 24 makes a low member.
 * The first line that fits counts.
 */
typedef struct UbfmParts {
    bool listed;        /* else nobody's is touched */
    unsigned n;
    UbfmPart *part;
} UbfmParts;

/* Take the file's lines in place of those before.  False: errno says why, EINVAL of a
 * line that is none, and those before stay. */
bool ubfm_parts_read(UbfmParts *parts, const char *file);
void ubfm_parts_free(UbfmParts *parts);
/* For UbFmPlan.npi; its opaque is a UbfmParts. */
uint32_t ubfm_npi(void *parts, UbId guid, int port);

#endif
