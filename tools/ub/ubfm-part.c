/*
 * Which partition of the network layer a node or a port is in: patterns in a file.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <errno.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "ubfm-lines.h"
#include "ubfm-part.h"

#define NPI_MOST 0x1ffffffu
#define NPI_ID 0xffffffu

static bool number(const char *text, unsigned long most, unsigned long *n)
{
    char *rest;

    *n = strtoul(text, &rest, 0);
    return *text >= '0' && *text <= '9' && !*rest && *n <= most;
}

/* 1: a line, into @part, whose pattern is in its place; 0: an empty one; -1: none. */
static int read_line(char *line, UbfmPart *part)
{
    static const char space[] = " \t\r\n";
    unsigned long npi, port = 0;
    char *save, *who, *what, *slash;

    line[strcspn(line, "#")] = 0;
    who = strtok_r(line, space, &save);
    if (!who) {
        return 0;
    }
    what = strtok_r(NULL, space, &save);
    slash = strchr(who, '/');
    if (slash) {
        *slash = 0;
    }
    if (!what || strtok_r(NULL, space, &save) ||
        !number(what, NPI_MOST, &npi) || !(npi & NPI_ID) ||
        (slash && !number(slash + 1, UB_FM_PORTS - 1, &port))) {
        return -1;
    }
    *part = (UbfmPart) { who, slash ? (int)port : UB_FM_NONE, npi };
    return 1;
}

static bool add_part(UbfmParts *parts, const UbfmPart *part)
{
    UbfmPart *more;

    if (parts->n == UBFM_PARTS_MOST) {
        errno = E2BIG;
        return false;
    }
    more = realloc(parts->part, (parts->n + 1) * sizeof(*more));
    if (!more) {
        return false;
    }
    parts->part = more;
    more[parts->n] = *part;
    more[parts->n].pattern = strdup(part->pattern);
    return more[parts->n].pattern && ++parts->n;
}

static bool take_line(void *opaque, char *line)
{
    UbfmPart part;
    int kind = read_line(line, &part);

    if (kind < 0) {
        errno = EINVAL;
    }
    return !kind || (kind > 0 && add_part(opaque, &part));
}

bool ubfm_parts_read(UbfmParts *parts, const char *file)
{
    UbfmParts fresh = { .listed = true };
    int err;

    if (!ubfm_lines(file, take_line, &fresh)) {
        err = errno;
        ubfm_parts_free(&fresh);
        errno = err;
        return false;
    }
    ubfm_parts_free(parts);
    *parts = fresh;
    return true;
}

void ubfm_parts_free(UbfmParts *parts)
{
    for (unsigned i = 0; i < parts->n; i++) {
        free(parts->part[i].pattern);
    }
    free(parts->part);
    *parts = (UbfmParts) { 0 };
}

uint32_t ubfm_npi(void *opaque, UbId guid, int port)
{
    const UbfmParts *parts = opaque;
    char text[UB_FM_GUID_TEXT];

    ub_fm_guid_text(guid, text);
    for (unsigned i = 0; i < parts->n; i++) {
        const UbfmPart *p = &parts->part[i];

        if (p->port == port && !fnmatch(p->pattern, text, 0)) {
            return p->npi;
        }
    }
    return 0;
}
