/*
 * Sparse tables of pointers by number, in pages made on demand.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef CORE_TABLE_H
#define CORE_TABLE_H

#include <stddef.h>
#include <stdint.h>

enum { CORE_TABLE_PAGE = 256 };

/* Pointers indexed by the low bits of a number. */
typedef struct CoreTable {
    void ***page;
    uint16_t *used;     /* places of each page that are not empty */
    uint32_t mask;
    uint32_t from, end; /* pages that have been made are among these: of the many of a
                         * large table that is nearly empty nobody looks at the others */
} CoreTable;

/* An empty table of 2^@log places (@log <= 24); higher bits of a number are
 * ignored. */
void core_table_init(CoreTable *t, unsigned log);
/* Give the pages up; what the pointers name stays its owner's.  A table of
 * zeroes is ignored. */
void core_table_free(CoreTable *t);
/* The same, and it is an empty table of its size. */
void core_table_clear(CoreTable *t);
/* Put @p at @n; NULL empties the place. */
void core_table_set(CoreTable *t, uint32_t n, void *p);
/* Call @fn for every pointer, by ascending number; it may empty the place that
 * it is called for. */
void core_table_foreach(CoreTable *t, void (*fn)(void *opaque, void *p),
                        void *opaque);

/* The first empty place from @from on, from the beginning again if there is none;
 * UINT32_MAX: the table is full.  It takes a step for each page, not for each place. */
uint32_t core_table_vacant(const CoreTable *t, uint32_t from);

/* What stands at @n, or NULL. */
static inline void *core_table_get(const CoreTable *t, uint32_t n)
{
    void **page = t->page[(n & t->mask) / CORE_TABLE_PAGE];

    return page ? page[n & t->mask & (CORE_TABLE_PAGE - 1)] : NULL;
}

#endif
