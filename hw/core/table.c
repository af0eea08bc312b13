/*
 * Sparse tables of pointers by number.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <glib.h>

#include "core/table.h"

void core_table_init(CoreTable *t, unsigned log)
{
    t->mask = (1u << log) - 1;
    t->page = g_new0(void **, t->mask / CORE_TABLE_PAGE + 1);
}

void core_table_free(CoreTable *t)
{
    for (uint32_t i = 0; t->page && i <= t->mask / CORE_TABLE_PAGE; i++) {
        g_free(t->page[i]);
    }
    g_free(t->page);
    t->page = NULL;
}

void core_table_set(CoreTable *t, uint32_t n, void *p)
{
    void ***page = &t->page[(n & t->mask) / CORE_TABLE_PAGE];

    if (!*page) {
        if (!p) {
            return;
        }
        *page = g_new0(void *, CORE_TABLE_PAGE);
    }
    (*page)[n & t->mask & (CORE_TABLE_PAGE - 1)] = p;
}

void core_table_foreach(CoreTable *t, void (*fn)(void *opaque, void *p), void *opaque)
{
    for (uint32_t i = 0; i <= t->mask / CORE_TABLE_PAGE; i++) {
        for (uint32_t k = 0; t->page[i] && k < CORE_TABLE_PAGE; k++) {
            if (t->page[i][k]) {
                fn(opaque, t->page[i][k]);
            }
        }
    }
}
