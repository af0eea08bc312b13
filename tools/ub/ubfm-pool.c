/*
 * The commands of ubfm that lend Entities and take them back, and make bus instances
 * (UB 2.0 §10.4.5, §10.5.1).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <stdlib.h>

#include "ubfm-pool.h"

#define EID_SHORT 0xfffffu
#define WORDS 4 /* of a command, at most, behind its name */

/* A command's words as what they name. */
typedef struct Words {
    unsigned v[WORDS];
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

/* n: a node, e: a number, g: a GUID, i: an EID. */
static const struct {
    const char *name, *words;
    int (*work)(UbFmPool *p, const UbfmPool *pool, const Words *w);
} commands[] = {
    { "pool", "", do_nothing },
    { "lend", "nen", do_lend },
    { "take-back", "ne", do_take_back },
    { "replace", "nene", do_replace },
    { "reclaim", "", do_reclaim },
    { "instance", "ngie", do_instance },
    { "end-instance", "ng", do_end_instance },
    { "trust", "ne", do_trust },
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
    unsigned silent;
    Words w = { 0 };

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
    silent = pool->json ? ub_fm_pool_json(&p, stdout)
                        : ub_fm_pool_text(&p, stdout);
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
