/*
 * Settings of a core by name.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <errno.h>
#include <glib.h>
#include <string.h>

#include "core/option.h"

#define NS_PER_US 1000

static const uint8_t sizes[CORE_OPTION_KINDS] = {
    [CORE_OPTION_BOOL] = sizeof(bool), [CORE_OPTION_U8] = 1,
    [CORE_OPTION_U16] = 2, [CORE_OPTION_U32] = 4, [CORE_OPTION_U64] = 8,
    [CORE_OPTION_BITS] = 8, [CORE_OPTION_NS] = 8, [CORE_OPTION_US] = 8,
};

unsigned core_option_len(const CoreOption *o)
{
    return MAX(o->n, 1);
}

static uint64_t load(const CoreOption *o, const uint8_t *p)
{
    uint16_t u16;
    uint32_t u32;
    uint64_t u64;

    switch (sizes[o->kind]) {
    case 1:
        return *p;
    case 2:
        memcpy(&u16, p, sizeof(u16));
        return u16;
    case 4:
        memcpy(&u32, p, sizeof(u32));
        return u32;
    default:
        memcpy(&u64, p, sizeof(u64));
        return o->kind == CORE_OPTION_US ? u64 / NS_PER_US : u64;
    }
}

static void store(const CoreOption *o, uint8_t *p, uint64_t v)
{
    uint16_t u16 = v;
    uint32_t u32 = v;
    uint64_t u64 = o->kind == CORE_OPTION_US ? v * NS_PER_US : v;

    switch (sizes[o->kind]) {
    case 1:
        *p = v;
        break;
    case 2:
        memcpy(p, &u16, sizeof(u16));
        break;
    case 4:
        memcpy(p, &u32, sizeof(u32));
        break;
    default:
        memcpy(p, &u64, sizeof(u64));
    }
}

void core_option_get(const CoreOption *o, const void *base, uint64_t *out)
{
    for (unsigned i = 0; i < core_option_len(o); i++) {
        out[i] = load(o, (const uint8_t *)base + o->at + i * sizes[o->kind]);
    }
}

bool core_option_set(const CoreOption *o, void *base, const uint64_t *in,
                     unsigned n, char **why)
{
    if (n != core_option_len(o)) {
        *why = g_strdup_printf("%s has %u numbers", o->name,
                               core_option_len(o));
        return false;
    }
    for (unsigned i = 0; i < n; i++) {
        if (in[i] < o->min || in[i] > o->max) {
            *why = g_strdup_printf("%s is %" G_GUINT64_FORMAT " to %"
                                   G_GUINT64_FORMAT, o->name, o->min, o->max);
            return false;
        }
    }
    for (unsigned i = 0; i < n; i++) {
        store(o, (uint8_t *)base + o->at + i * sizes[o->kind], in[i]);
    }
    return true;
}

void core_option_copy(const CoreOption *o, void *to, const void *from)
{
    memcpy((uint8_t *)to + o->at, (const uint8_t *)from + o->at,
           (size_t)core_option_len(o) * sizes[o->kind]);
}

char *core_option_text(const CoreOption *o, const void *base)
{
    uint64_t v[CORE_OPTION_LONGEST];
    GString *s = g_string_new(NULL);

    core_option_get(o, base, v);
    for (unsigned i = 0; i < core_option_len(o); i++) {
        if (o->kind == CORE_OPTION_BOOL) {
            g_string_append(s, v[i] ? "on" : "off");
        } else {
            g_string_append_printf(s, "%s%" G_GUINT64_FORMAT, i ? ":" : "",
                                   v[i]);
        }
    }
    return g_string_free(s, FALSE);
}

static bool number(const char *text, uint64_t *v)
{
    char *end;

    errno = 0;
    *v = g_ascii_strtoull(text, &end, 0);
    return g_ascii_isdigit(*text) && !*end && !errno;
}

static bool truth(const char *text, uint64_t *v)
{
    static const char *const words[][2] = {
        { "off", "on" }, { "no", "yes" }, { "false", "true" },
    };

    for (unsigned i = 0; i < G_N_ELEMENTS(words); i++) {
        for (unsigned j = 0; j < 2; j++) {
            if (!strcmp(text, words[i][j])) {
                *v = j;
                return true;
            }
        }
    }
    return false;
}

/* Element @i of a list, or the one that the word names.  How many are known
 * then; 0: the word is none. */
static unsigned element(uint64_t *v, unsigned i, unsigned n, const char *word)
{
    const char *is = strchr(word, '=');
    g_autofree char *place = is ? g_strndup(word, is - word) : NULL;
    uint64_t at = i;

    if ((place && !number(place, &at)) || at >= n ||
        !number(is ? is + 1 : word, &v[at])) {
        return 0;
    }
    return i + 1;
}

bool core_option_parse(const CoreOption *o, void *base, const char *text,
                       char **why)
{
    uint64_t v[CORE_OPTION_LONGEST];
    unsigned n = core_option_len(o);
    g_auto(GStrv) words = g_strsplit(text, ":", -1);
    unsigned given = g_strv_length(words);
    bool places = strchr(text, '=') != NULL, right;

    core_option_get(o, base, v);
    if (o->kind == CORE_OPTION_BOOL) {
        right = truth(text, v);
    } else if (!o->n) {
        right = number(text, v);
    } else {
        right = given && (places || given == n);
        for (unsigned i = 0; right && i < given; i++) {
            /* Not some with their places and some without. */
            right = !strchr(words[i], '=') != places &&
                    element(v, MIN(i, n - 1), n, words[i]);
        }
    }
    if (!right) {
        *why = o->kind == CORE_OPTION_BOOL
               ? g_strdup_printf("%s is on or off", o->name)
               : o->n ? g_strdup_printf("%s is %u numbers with colons between "
                                        "them, or some as PLACE=NUMBER",
                                        o->name, n)
                      : g_strdup_printf("%s is a number", o->name);
        return false;
    }
    return core_option_set(o, base, v, n, why);
}
