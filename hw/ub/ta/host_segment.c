/*
 * Segments in the memory of a process.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <glib.h>

#include "ub/host_segment.h"

typedef struct Entry {
    struct Entry *next;         /* of the same Entity and TokenID */
    UbSegment s;
} Entry;

/* Poisoned bytes of a segment; a good Write over them heals. */
typedef struct Poison {
    unsigned entity;
    uint32_t token_id;
    uint64_t from, to;
} Poison;

struct UbSegments {
    GHashTable *by_token;       /* chains of Entry */
    GArray *poison;
    uint32_t count, max;
};

static gpointer token_key(unsigned entity, uint32_t token_id)
{
    return GUINT_TO_POINTER((entity & 0xfff) << 20 | (token_id & 0xfffff));
}

static void free_chain(gpointer chain)
{
    Entry *e = chain, *next;

    for (; e; e = next) {
        next = e->next;
        g_free(e);
    }
}

UbSegments *ub_segments_new(uint32_t max)
{
    UbSegments *t = g_new0(UbSegments, 1);

    t->by_token = g_hash_table_new_full(NULL, NULL, NULL, free_chain);
    t->poison = g_array_new(false, false, sizeof(Poison));
    t->max = max;
    return t;
}

void ub_segments_free(UbSegments *t)
{
    if (t) {
        g_hash_table_destroy(t->by_token);
        g_array_free(t->poison, true);
        g_free(t);
    }
}

void ub_segments_clear(UbSegments *t)
{
    g_hash_table_remove_all(t->by_token);
    g_array_set_size(t->poison, 0);
    t->count = 0;
}

uint32_t ub_segments_count(const UbSegments *t)
{
    return t->count;
}

static Entry *chain_of(const UbSegments *t, unsigned entity,
                       uint32_t token_id)
{
    return g_hash_table_lookup(t->by_token, token_key(entity, token_id));
}

bool ub_segments_add(UbSegments *t, const UbSegment *s)
{
    Entry *chain = chain_of(t, s->entity, s->token_id), *e;

    if (t->count >= t->max || !s->len || s->uba + (s->len - 1) < s->uba) {
        return false;
    }
    for (e = chain; e; e = e->next) {
        if (s->uba <= e->s.uba + (e->s.len - 1) &&
            e->s.uba <= s->uba + (s->len - 1)) {
            return false;
        }
    }
    e = g_new(Entry, 1);
    e->s = *s;
    if (chain) {
        e->next = chain->next;
        chain->next = e;
    } else {
        e->next = NULL;
        g_hash_table_insert(t->by_token, token_key(s->entity, s->token_id),
                            e);
    }
    t->count++;
    return true;
}

UbSegment *ub_segments_find(UbSegments *t, unsigned entity, uint32_t token_id,
                            uint64_t uba)
{
    for (Entry *e = chain_of(t, entity, token_id); e; e = e->next) {
        if (uba - e->s.uba < e->s.len && uba >= e->s.uba) {
            return &e->s;
        }
    }
    return NULL;
}

/* Cut [@from, @to) out of what is poisoned. */
static void heal(UbSegments *t, unsigned entity, uint32_t token_id,
                 uint64_t from, uint64_t to)
{
    for (guint i = 0; i < t->poison->len;) {
        Poison *p = &g_array_index(t->poison, Poison, i), tail;

        if (p->entity != entity || p->token_id != token_id || p->to <= from ||
            p->from >= to) {
            i++;
            continue;
        }
        tail = *p;
        tail.from = to;
        p->to = from;
        if (p->from >= p->to) {
            g_array_remove_index_fast(t->poison, i);
        } else {
            i++;
        }
        if (tail.from < tail.to && t->poison->len < t->max) {
            g_array_append_val(t->poison, tail);
        }
    }
}

static void taint(UbSegments *t, const UbAccess *a)
{
    Poison p = { a->entity, a->token_id, a->addr, a->addr + a->len };

    heal(t, a->entity, a->token_id, p.from, p.to);
    if (t->poison->len < t->max) {
        g_array_append_val(t->poison, p);
    }
}

static bool tainted(const UbSegments *t, const UbAccess *a)
{
    for (guint i = 0; i < t->poison->len; i++) {
        const Poison *p = &g_array_index(t->poison, Poison, i);

        if (p->entity == a->entity && p->token_id == a->token_id &&
            a->addr < p->to && p->from < a->addr + a->len) {
            return true;
        }
    }
    return false;
}

bool ub_segments_remove(UbSegments *t, unsigned entity, uint32_t token_id,
                        uint64_t uba)
{
    gpointer key = token_key(entity, token_id);
    Entry *chain = chain_of(t, entity, token_id), **p = &chain, *e;

    while ((e = *p) && e->s.uba != uba) {
        p = &e->next;
    }
    if (!e) {
        return false;
    }
    heal(t, entity, token_id, e->s.uba, e->s.uba + e->s.len);
    *p = e->next;
    g_hash_table_steal(t->by_token, key);
    if (chain) {
        g_hash_table_insert(t->by_token, key, chain);
    }
    g_free(e);
    t->count--;
    return true;
}

static bool allowed(const UbSegment *s, const UbAccess *a)
{
    static const uint8_t right[] = {
        [UB_ACCESS_READ] = UB_SEGMENT_READ,
        [UB_ACCESS_WRITE] = UB_SEGMENT_WRITE,
        [UB_ACCESS_ATOMIC] = UB_SEGMENT_ATOMIC,
    };

    return s->rights & right[a->kind] && (!a->bare || s->bare) &&
           (!s->exclusive || a->e_bit) && (!s->ee || s->ee == a->ee) &&
           (!s->check || (a->token_en && (a->token == s->token[0] ||
                                          a->token == s->token[1])));
}

UbAccessResult ub_segments_access(UbSegments *t, UbAccess *a, UbSpan *out,
                                  unsigned max, unsigned *n)
{
    UbSegment *s = ub_segments_find(t, a->entity, a->token_id, a->addr);
    uint64_t off = s ? a->addr - s->uba : 0;

    if (!s || a->len > s->len - off || !allowed(s, a) || !max) {
        return UB_ACCESS_DENIED;
    }
    if (s->pages != UB_SEGMENT_THERE) {
        a->timer = s->timer;
        return s->pages == UB_SEGMENT_FAULT ? UB_ACCESS_FAULT
                                            : UB_ACCESS_LATER;
    }
    *out = (UbSpan) { .host = s->host ? s->host + off : NULL,
                      .bus = s->bus + off, .len = a->len };
    *n = 1;
    if (a->kind == UB_ACCESS_WRITE && t->poison->len + a->poison) {
        if (a->poison) {
            taint(t, a);
        } else {
            heal(t, a->entity, a->token_id, a->addr, a->addr + a->len);
        }
    }
    return a->kind != UB_ACCESS_WRITE && t->poison->len && tainted(t, a)
           ? UB_ACCESS_POISON : UB_ACCESS_OK;
}
