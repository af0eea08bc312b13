/*
 * Settings of a core by name: one table says what each is called, which member of
 * the core's configuration it is, what it may be and what it means.  Properties of
 * devices, options of programs, their commands and their help are made from it.
 *
 * A value is a list of numbers: one, or as many as the member has; of a truth value
 * it is 0 or 1.  As text numbers are as C has them, those of a list are divided by
 * colons, all in order or as PLACE=NUMBER the ones to change: "0:0:1:1", "2=1:3=1";
 * truth values are on and off.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef CORE_OPTION_H
#define CORE_OPTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum CoreOptionKind {
    CORE_OPTION_BOOL,
    CORE_OPTION_U8,
    CORE_OPTION_U16,
    CORE_OPTION_U32,        /* enumerations too */
    CORE_OPTION_U64,
    CORE_OPTION_BITS,       /* a uint64_t, bit i for port i */
    CORE_OPTION_NS,         /* an int64_t of nanoseconds, written in nanoseconds */
    CORE_OPTION_US,         /* the same, written in microseconds */
    CORE_OPTION_KINDS
} CoreOptionKind;

/* Elements of the longest list. */
#define CORE_OPTION_LONGEST 64

typedef struct CoreOption {
    const char *name;
    CoreOptionKind kind;
    uint16_t n;             /* elements of a list; 0: a single value */
    bool plain;             /* its name needs nothing in front, wherever it is */
    bool start;             /* of what has begun it does not change */
    size_t at;              /* in the configuration */
    uint64_t min, max;      /* of each element, as it is written */
    const char *text;
} CoreOption;

/* Numbers that its value has: 1, or the elements of the list. */
unsigned core_option_len(const CoreOption *o);
/* What the configuration at @base has; @out has room for core_option_len(). */
void core_option_get(const CoreOption *o, const void *base, uint64_t *out);
/* Give it another value.  False: *@why (g_free()) says what it may be, and nothing
 * has changed. */
bool core_option_set(const CoreOption *o, void *base, const uint64_t *in,
                     unsigned n, char **why);
/* The value as text, for g_free(). */
char *core_option_text(const CoreOption *o, const void *base);
/* The same from text; list elements that it does not name stay. */
bool core_option_parse(const CoreOption *o, void *base, const char *text,
                       char **why);
/* Copy one value from configuration to configuration. */
void core_option_copy(const CoreOption *o, void *to, const void *from);

#endif
