/*
 * Sparse tables of pointers by number.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "internal.h"

void table_init(Table *t, unsigned log)
{
    t->mask = (1u << log) - 1;
    t->page = g_new0(void **, t->mask / TABLE_PAGE + 1);
}

void table_free(Table *t)
{
    for (uint32_t i = 0; t->page && i <= t->mask / TABLE_PAGE; i++) {
        g_free(t->page[i]);
    }
    g_free(t->page);
    t->page = NULL;
}

void table_set(Table *t, uint32_t n, void *p)
{
    void ***page = &t->page[(n & t->mask) / TABLE_PAGE];

    if (!*page) {
        if (!p) {
            return;
        }
        *page = g_new0(void *, TABLE_PAGE);
    }
    (*page)[n & t->mask & (TABLE_PAGE - 1)] = p;
}

void table_foreach(Table *t, void (*fn)(void *opaque, void *p), void *opaque)
{
    for (uint32_t i = 0; i <= t->mask / TABLE_PAGE; i++) {
        for (uint32_t k = 0; t->page[i] && k < TABLE_PAGE; k++) {
            if (t->page[i][k]) {
                fn(opaque, t->page[i][k]);
            }
        }
    }
}
