/*
 * Many objects of one size, out of large pieces of memory.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "core/slab.h"

#include <glib.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* As malloc() aligns. */
#define ALIGN 16u
/* Of a huge page, and the largest piece. */
#define HUGE_BYTES (2u << 20)
#define SMALLEST 4096u

/* In front of each object. */
typedef struct Head {
    union {
        CoreSlabPiece *piece;
        struct Head *next;  /* of those that were given back */
        uint64_t word;      /* as long where pointers are shorter */
    };
    uint64_t out;           /* GIVEN_OUT and its place: it is not here */
} Head;

/* A number that nobody writes there by chance. */
#define GIVEN_OUT UINT64_C(0x51ab6e0b1ec75a1e)

struct CoreSlabPiece {
    CoreSlabPiece *prev, *next; /* among those with room */
    Head *spare;            /* given back */
    uint32_t fresh;         /* never given out: those from here on */
    uint32_t used, total;
};

G_STATIC_ASSERT(sizeof(Head) == ALIGN);

void core_slab_init(CoreSlab *s, size_t size)
{
    *s = (CoreSlab) { .size = sizeof(Head) + (size + ALIGN - 1) / ALIGN * ALIGN };
}

#if !CORE_SLAB_APART

/* Where the first object begins. */
static size_t front(void)
{
    return (sizeof(CoreSlabPiece) + ALIGN - 1) / ALIGN * ALIGN;
}

static void link_piece(CoreSlab *s, CoreSlabPiece *p)
{
    p->prev = NULL;
    p->next = s->open;
    if (s->open) {
        s->open->prev = p;
    }
    s->open = p;
}

static void unlink_piece(CoreSlab *s, CoreSlabPiece *p)
{
    if (p->prev) {
        p->prev->next = p->next;
    } else {
        s->open = p->next;
    }
    if (p->next) {
        p->next->prev = p->prev;
    }
}

static uint64_t given_out(const Head *h)
{
    return GIVEN_OUT ^ (uintptr_t)h;
}

/* A piece as large as all there are, so that there are few, and little stays unused. */
static CoreSlabPiece *grow(CoreSlab *s)
{
    size_t bytes = CLAMP(front() + s->total * s->size, SMALLEST, HUGE_BYTES);
    size_t least = front() + s->size;
    CoreSlabPiece *p;

    if (bytes > HUGE_BYTES / 2 && least <= HUGE_BYTES) {
        bytes = HUGE_BYTES;
        p = aligned_alloc(HUGE_BYTES, HUGE_BYTES);
#ifdef MADV_HUGEPAGE
        if (p) {
            madvise(p, HUGE_BYTES, MADV_HUGEPAGE);
        }
#endif
    } else {
        bytes = MAX(bytes, least);
        p = malloc(bytes);
    }
    if (!p) {
        return NULL;
    }
    memset(p, 0, sizeof(*p));
    p->total = (bytes - front()) / s->size;
    s->pieces++;
    s->total += p->total;
    link_piece(s, p);
    return p;
}

static void give_up(CoreSlab *s, CoreSlabPiece *p)
{
    unlink_piece(s, p);
    s->pieces--;
    s->total -= p->total;
    free(p);
}

void *core_slab_alloc(CoreSlab *s)
{
    CoreSlabPiece *p = s->open ? s->open : grow(s);
    Head *h;

    if (!p) {
        return NULL;
    }
    h = p->spare;
    if (h) {
        p->spare = h->next;
    } else {
        h = (Head *)((char *)p + front() + p->fresh++ * s->size);
    }
    h->piece = p;
    h->out = given_out(h);
    s->used++;
    if (++p->used == p->total) {
        unlink_piece(s, p);
    }
    return h + 1;
}

void core_slab_free(CoreSlab *s, void *object)
{
    CoreSlabPiece *p;
    Head *h;

    if (!object) {
        return;
    }
    h = (Head *)object - 1;
    if (h->out != given_out(h)) {
        g_error("an object is given back that is not out, or something wrote in front of "
                "it");
    }
    h->out = 0;
    p = h->piece;
    h->next = p->spare;
    p->spare = h;
    s->used--;
    if (p->used-- == p->total) {
        link_piece(s, p);
    } else if (s->open != p) {
        unlink_piece(s, p);
        link_piece(s, p);
    }
    /* As many others are free, or nearly: who takes one more and gives it back, again and
     * again, does not make a piece each time. */
    if (!p->used && s->total - s->used > 2 * p->total) {
        give_up(s, p);
    }
}

void core_slab_trim(CoreSlab *s)
{
    for (CoreSlabPiece *p = s->open, *next; p; p = next) {
        next = p->next;
        if (!p->used) {
            give_up(s, p);
        }
    }
}

#else

void *core_slab_alloc(CoreSlab *s)
{
    void *object = g_try_malloc(s->size - sizeof(Head));

    s->used += object != NULL;
    return object;
}

void core_slab_free(CoreSlab *s, void *object)
{
    s->used -= object != NULL;
    g_free(object);
}

void core_slab_trim(CoreSlab *s)
{
}

#endif

void *core_slab_alloc0(CoreSlab *s)
{
    void *object = core_slab_alloc(s);

    if (!object) {
        g_error("no memory for %zu bytes", s->size);
    }
    return memset(object, 0, s->size - sizeof(Head));
}
