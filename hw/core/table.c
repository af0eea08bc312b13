/*
 * Sparse tables of pointers by number.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <glib.h>
#include <stdbool.h>

#include "core/table.h"

void core_table_init(CoreTable *t, unsigned log)
{
    t->mask = (1u << log) - 1;
    t->page = g_new0(void **, t->mask / CORE_TABLE_PAGE + 1);
    t->used = g_new0(uint16_t, t->mask / CORE_TABLE_PAGE + 1);
    t->from = t->end = 0;
}

void core_table_clear(CoreTable *t)
{
    for (uint32_t i = t->from; i < t->end; i++) {
        g_clear_pointer(&t->page[i], g_free);
        t->used[i] = 0;
    }
    t->from = t->end = 0;
}

void core_table_free(CoreTable *t)
{
    core_table_clear(t);
    g_clear_pointer(&t->page, g_free);
    g_clear_pointer(&t->used, g_free);
}

static void **page_new(CoreTable *t, uint32_t number)
{
    t->from = t->end ? MIN(t->from, number) : number;
    t->end = MAX(t->end, number + 1);
    return g_new0(void *, CORE_TABLE_PAGE);
}

void core_table_set(CoreTable *t, uint32_t n, void *p)
{
    uint32_t number = (n & t->mask) / CORE_TABLE_PAGE;
    void ***page = &t->page[number], **place;

    if (!*page) {
        if (!p) {
            return;
        }
        *page = page_new(t, number);
    }
    place = &(*page)[n & t->mask & (CORE_TABLE_PAGE - 1)];
    t->used[number] += !!p - !!*place;
    *place = p;
}

uint32_t core_table_vacant(const CoreTable *t, uint32_t from)
{
    uint32_t at = from & t->mask;

    for (uint32_t left = t->mask / CORE_TABLE_PAGE + 2; left--;) {
        uint32_t end = at / CORE_TABLE_PAGE * CORE_TABLE_PAGE +
                       MIN(CORE_TABLE_PAGE, t->mask + 1);
        bool full = t->used[at / CORE_TABLE_PAGE] == CORE_TABLE_PAGE;

        for (; !full && at < end; at++) {
            if (!core_table_get(t, at)) {
                return at;
            }
        }
        at = end & t->mask;
    }
    return UINT32_MAX;
}

void core_table_foreach(CoreTable *t, void (*fn)(void *opaque, void *p), void *opaque)
{
    for (uint32_t i = t->from; i < t->end; i++) {
        for (uint32_t k = 0; t->used[i] && k < CORE_TABLE_PAGE; k++) {
            if (t->page[i][k]) {
                fn(opaque, t->page[i][k]);
            }
        }
    }
}
