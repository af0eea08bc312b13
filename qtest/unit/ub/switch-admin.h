/*
 * Commands to a switch and what it answers.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef SWITCH_ADMIN_H
#define SWITCH_ADMIN_H

#include <glib.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "ub/switch_admin.h"

#define CMD(name, args) "{\"execute\": \"" name "\", \"arguments\": {" args "}}"

static UbSwitchAdmin *admin;

/* The answer to a line, parsed. */
static inline json_t *answer(const char *line)
{
    char *text = ub_switch_admin_line(admin, 5, line, strlen(line));
    json_t *o;

    g_assert_nonnull(text);
    g_assert_true(g_str_has_suffix(text, "\n"));
    o = json_loads(text, 0, NULL);
    g_assert_nonnull(o);
    free(text);
    return o;
}

/* What a command returned; it must not fail. */
static inline json_t *good(const char *line)
{
    json_t *o = answer(line), *r = json_object_get(o, "return");

    if (!r) {
        char *text = json_dumps(o, 0);

        g_error("%s: %s", line, text);
    }
    g_assert_false(ub_switch_admin_failed(admin));
    json_incref(r);
    json_decref(o);
    return r;
}

static inline void ok(const char *line)
{
    json_decref(good(line));
}

static inline void fails(const char *line)
{
    json_t *o = answer(line);

    if (!json_object_get(o, "error")) {
        g_error("%s is taken", line);
    }
    g_assert_nonnull(json_string_value(json_object_get(
        json_object_get(o, "error"), "desc")));
    g_assert_true(ub_switch_admin_failed(admin));
    json_decref(o);
}

/* The same, and why. */
static inline void fails_with(const char *line, const char *why)
{
    json_t *o = answer(line);
    const char *desc = json_string_value(json_object_get(json_object_get(o, "error"),
                                                         "desc"));

    g_assert_nonnull(desc);
    if (!strstr(desc, why)) {
        g_error("%s: %s", line, desc);
    }
    json_decref(o);
}

/* @value, which @what brought, is as the text. */
static inline void reads(const char *what, json_t *value, const char *want)
{
    json_t *w = json_loads(want, JSON_DECODE_ANY, NULL);

    g_assert_nonnull(w);
    if (!json_equal(value, w)) {
        char *text = json_dumps(value, JSON_ENCODE_ANY);

        g_error("%s: %s", what, text);
    }
    json_decref(w);
}

/* What a command returned, as text. */
static inline void returns(const char *line, const char *want)
{
    json_t *r = good(line);

    reads(line, r, want);
    json_decref(r);
}

#endif
