/*
 * The commands of ubfm that lend Entities and take them back, make bus instances, and
 * write the tables of decoders (UB 2.0 §10.4.5, §10.5.1, §10.4.7).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <errno.h>
#include <stdlib.h>

#include "ub/fm_matt.h"
#include "ubfm-pool.h"

#define EID_SHORT 0xfffffu
#define WORDS 8 /* of a command, at most, behind its name */

/* A command's words as what they name. */
typedef struct Words {
    unsigned v[WORDS];
    unsigned long long wide[WORDS];
    UbId id[WORDS];
} Words;

static void log_step(void *opaque, const char *what, int status)
{
    fprintf(stderr, "ubfm: %s: %s\n", what,
            status < 0 ? "no answer" : ub_mgmt_status_name(status));
}

/* Of what a service does again and again. */
static void log_failure(void *opaque, const char *what, int status)
{
    if (status) {
        log_step(opaque, what, status);
    }
}

/* The device ends what nobody answers after a second. */
UbFmPool ubfm_pool_start(UbmsgDev *d, UbFm *fm, const UbfmPool *pool)
{
    UbFmPool p = { .fm = fm, .eid_prefix = pool->eid_prefix, .step = log_step };

    if (ub_id_zero(p.eid_prefix)) {
        p.eid_prefix = fm->node[0].eid;
        p.eid_prefix.w[0] &= ~EID_SHORT;
    }
    d->patience = pool->timeout;
    return p;
}

/* ---- Words ---- */

static bool take_number(const char *text, unsigned *value)
{
    char *rest;
    unsigned long n = strtoul(text, &rest, 0);

    *value = n;
    return *text && !*rest && n <= UINT16_MAX;
}

static bool take_node(const UbFm *fm, const char *text, unsigned *node)
{
    char guid[UB_FM_GUID_TEXT];
    unsigned cna = 0;
    bool number = take_number(text, &cna);

    for (unsigned i = 0; i < fm->nodes; i++) {
        const UbFmNode *n = &fm->node[i];

        if (number ? cna && n->cna == cna
                   : !strcmp(ub_fm_guid_text(n->guid, guid), text)) {
            *node = i;
            return true;
        }
    }
    fprintf(stderr, "ubfm: %s: no such node\n", text);
    return false;
}

/* A GUID as ub_fm_guid_text() writes it. */
static bool take_guid(const char *text, UbId *id)
{
    unsigned vendor, device, version, type, rest;
    char again[UB_FM_GUID_TEXT];

    if (sscanf(text, "%4x-%4x-%1x-%1x-%6x-%8x%8x", &vendor, &device, &version,
               &type, &rest, &id->w[1], &id->w[0]) != 7) {
        return false;
    }
    id->w[3] = vendor << 16 | device;
    id->w[2] = version << 28 | type << 24 | rest;
    return !strcmp(ub_fm_guid_text(*id, again), text);
}

/* All of an EID, or what messages have of it behind the prefix. */
static bool take_eid(const UbFmPool *p, const char *text, UbId *id)
{
    char *rest;
    unsigned long n;

    if (strlen(text) == 32 && strspn(text, "0123456789abcdefABCDEF") == 32) {
        return sscanf(text, "%8x%8x%8x%8x", &id->w[3], &id->w[2], &id->w[1],
                      &id->w[0]) == 4;
    }
    n = strtoul(text, &rest, 0);
    *id = p->eid_prefix;
    id->w[0] = (id->w[0] & ~EID_SHORT) | n;
    return *text && !*rest && n <= EID_SHORT;
}

static bool take_wide(const char *text, unsigned long long *value)
{
    char *rest;

    errno = 0;
    *value = strtoull(text, &rest, 0);
    return *text >= '0' && *text <= '9' && !*rest && !errno;
}

static bool take_word(const UbFmPool *p, char kind, const char *text, unsigned k,
                      Words *w)
{
    switch (kind) {
    case 'n':
        return take_node(p->fm, text, &w->v[k]);
    case 'g':
        return take_guid(text, &w->id[k]);
    case 'i':
        return take_eid(p, text, &w->id[k]);
    case 'x':
        return take_wide(text, &w->wide[k]);
    case 't':
        w->v[k] = !!strcmp(text, "-");
        return !w->v[k] || take_wide(text, &w->wide[k]);
    default:
        return take_number(text, &w->v[k]);
    }
}

/* ---- Commands ---- */

static int do_nothing(UbFmPool *p, const UbfmPool *pool, const Words *w)
{
    return 0;
}

static int do_lend(UbFmPool *p, const UbfmPool *pool, const Words *w)
{
    uint16_t upi = pool->upi ? pool->upi : p->fm->node[w->v[2]].upi;

    return ub_fm_pool_lend(p, w->v[0], w->v[1], w->v[2], upi);
}

static int do_take_back(UbFmPool *p, const UbfmPool *pool, const Words *w)
{
    return ub_fm_pool_take_back(p, w->v[0], w->v[1], UB_FM_NORMAL);
}

static int do_replace(UbFmPool *p, const UbfmPool *pool, const Words *w)
{
    return ub_fm_pool_replace(p, w->v[0], w->v[1], w->v[2], w->v[3]);
}

static int do_reclaim(UbFmPool *p, const UbfmPool *pool, const Words *w)
{
    unsigned reclaimed;

    return ub_fm_pool_recover_all(p, &reclaimed) ? UB_MGMT_EXECUTION : 0;
}

static int do_instance(UbFmPool *p, const UbfmPool *pool, const Words *w)
{
    return ub_fm_instance_create(p, w->v[0], w->id[1], w->id[2], w->v[3]);
}

static int do_end_instance(UbFmPool *p, const UbfmPool *pool, const Words *w)
{
    return ub_fm_instance_destroy(p, w->v[0], w->id[1]);
}

static int do_trust(UbFmPool *p, const UbfmPool *pool, const Words *w)
{
    return w->v[1] < 2 ? ub_fm_trust(p, w->v[0], w->v[1]) : UB_MGMT_BAD_PARAMETER;
}

static int do_map(UbFmPool *p, const UbfmPool *pool, const Words *w)
{
    const unsigned long long mibs = 1 << 24;
    UbFmMap map = {
        .first = w->wide[1], .last = w->wide[1] + w->wide[2] - 1,
        .cna = p->fm->node[w->v[3]].cna, .eid = w->id[4], .uba = w->wide[5],
        .token_id = w->wide[6], .token = w->wide[7], .check = w->v[7],
    };

    /* What is cut off above is no other entry. */
    return w->wide[1] < mibs && w->wide[2] && w->wide[2] <= mibs - w->wide[1] &&
           w->wide[6] <= UINT32_MAX && w->wide[7] <= UINT32_MAX
           ? ub_fm_map_add(p->fm, w->v[0], &map) : UB_MGMT_BAD_PARAMETER;
}

static int do_unmap(UbFmPool *p, const UbfmPool *pool, const Words *w)
{
    return w->wide[1] <= UINT32_MAX
           ? ub_fm_map_remove(p->fm, w->v[0], w->wide[1]) : UB_MGMT_ABSENT;
}

/* n: a node, e: a number, g: a GUID, i: an EID, x: a number of 64 bits, t: the same, or
 * "-" for none.  What is printed then: the pool, or the table of the first node. */
static const struct {
    const char *name, *words;
    int (*work)(UbFmPool *p, const UbfmPool *pool, const Words *w);
    bool maps;
} commands[] = {
    { "pool", "", do_nothing, false },
    { "lend", "nen", do_lend, false },
    { "take-back", "ne", do_take_back, false },
    { "replace", "nene", do_replace, false },
    { "reclaim", "", do_reclaim, false },
    { "instance", "ngie", do_instance, false },
    { "end-instance", "ng", do_end_instance, false },
    { "trust", "ne", do_trust, false },
    { "maps", "n", do_nothing, true },
    { "map", "nxxnixxt", do_map, true },
    { "unmap", "nx", do_unmap, true },
};

static int find_command(int words, char *const *word)
{
    for (unsigned i = 0; i < sizeof(commands) / sizeof(commands[0]); i++) {
        if (!strcmp(word[0], commands[i].name)) {
            return words - 1 == (int)strlen(commands[i].words) ? (int)i : -1;
        }
    }
    return -1;
}

bool ubfm_pool_knows(int words, char *const *word)
{
    return find_command(words, word) >= 0;
}

int ubfm_pool_command(UbmsgDev *d, UbFm *fm, const UbfmPool *pool, int words,
                      char *const *word)
{
    UbFmPool p = ubfm_pool_start(d, fm, pool);
    int i = find_command(words, word), status;
    unsigned silent = 0;
    Words w = { 0 };
    int shown;

    for (int k = 0; k < words - 1; k++) {
        if (!take_word(&p, commands[i].words[k], word[k + 1], k, &w)) {
            return 2;
        }
    }
    status = commands[i].work(&p, pool, &w);
    if (status) {
        fprintf(stderr, "ubfm: %s: %s\n", word[0],
                status < 0 ? "no answer" : ub_mgmt_status_name(status));
    }
    if (commands[i].maps) {
        shown = (pool->json ? ub_fm_maps_json : ub_fm_maps_text)(fm, w.v[0], stdout);
        if (shown && !status) {
            fprintf(stderr, "ubfm: %s: %s\n", word[0],
                    shown < 0 ? "no answer" : ub_mgmt_status_name(shown));
        }
        silent = !!shown;
    } else {
        silent = pool->json ? ub_fm_pool_json(&p, stdout)
                            : ub_fm_pool_text(&p, stdout);
    }
    if (fflush(stdout)) {
        return 1;
    }
    return status || silent ? 3 : 0;
}

unsigned ubfm_pool_recover(UbmsgDev *d, UbFm *fm, const UbfmPool *pool)
{
    UbFmPool p = ubfm_pool_start(d, fm, pool);
    unsigned reclaimed, failed;

    p.step = log_failure;
    failed = ub_fm_pool_recover_all(&p, &reclaimed);
    if (reclaimed || failed) {
        fprintf(stderr, "ubfm: %u Entities reclaimed, %u are not free that "
                "should be\n", reclaimed, failed);
    }
    return failed;
}
