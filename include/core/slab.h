/*
 * Many objects of one size, out of large pieces of memory.
 *
 * A processor finds the place of each page in a table that has room for few of them.
 * What is scattered over thousands of pages, and is used in turn, costs a walk of
 * tables for each access, in a virtual machine two nested ones.  So objects stand side
 * by side, in pieces that grow with their number up to the size of a huge page, which
 * the kernel is asked for.
 *
 * Not for several threads at once.  Under AddressSanitizer each object is the
 * allocator's own, so that what is used after it was given back is found.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef CORE_SLAB_H
#define CORE_SLAB_H

#include <stddef.h>
#include <stdint.h>

/* Whether each object stands alone. */
#if defined(__SANITIZE_ADDRESS__)
#define CORE_SLAB_APART 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define CORE_SLAB_APART 1
#endif
#endif
#ifndef CORE_SLAB_APART
#define CORE_SLAB_APART 0
#endif

typedef struct CoreSlabPiece CoreSlabPiece;

typedef struct CoreSlab {
    size_t size;            /* bytes of an object with what is kept in front of it */
    CoreSlabPiece *open;    /* pieces with room, the one that was last given back to
                             * first */
    uint32_t used;          /* objects that are given out */
    uint32_t pieces, total; /* there are, and objects in them */
} CoreSlab;

/* For objects of @size bytes, 1 at least, aligned as malloc() does; those that a huge page
 * has no room for stand alone.  Takes no memory yet. */
void core_slab_init(CoreSlab *s, size_t size);

/* An object, its bytes undefined; NULL: there is no memory. */
void *core_slab_alloc(CoreSlab *s);

/* The same, all zeroes; a process without memory ends, as by g_malloc0(). */
void *core_slab_alloc0(CoreSlab *s);

/* Give back what core_slab_alloc() of the same slab returned, or NULL.  Pieces that are
 * empty go back to the system as soon as others have as much room.  What is given back
 * twice ends the process, as by free(), as long as its piece is there. */
void core_slab_free(CoreSlab *s, void *object);

/* Give all empty pieces back.  Who gave all objects back has no memory of it left. */
void core_slab_trim(CoreSlab *s);

#endif
