/*
 * Migration images: one description of a state that both saves and loads it.
 *
 * An image is a sequence of sections { tag, version, length }, which may nest;
 * within them integers are big-endian and of the width that the caller names,
 * so that images move between processors and between builds.  A function
 *
 *     static void x_image(X *x, CoreImage *im)
 *     {
 *         unsigned version = core_image_begin(im, CORE_TAG('X', 'Y', 'Z', ' '), 2);
 *
 *         core_image_int(im, &x->head);
 *         core_image_check(im, x->head < x->size, "head beyond the queue");
 *         core_image_deadline(im, &x->timer);
 *         if (version >= 2) {
 *             core_image_flag(im, &x->paused);
 *         }
 *         core_image_end(im);
 *     }
 *
 * writes when the image is being saved and reads when it is being loaded.
 *
 * What is loaded comes from anywhere.  The first thing wrong is kept as a
 * sentence and everything read after it is 0, so that a loader may go on to its
 * end without looking; but whatever indexes, shifts, allocates or loops is to be
 * checked before it is used, by core_image_check() or core_image_count().
 *
 * Rules of versions.  A section's version grows with each field added at its
 * end; a loader takes its own version and all before it, and refuses later ones.
 * A new section that an older build may ignore is begun with
 * CORE_IMAGE_SKIPPABLE; one that it must not ignore is not, and is only written
 * where its content differs from what an older build assumes.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef CORE_IMAGE_H
#define CORE_IMAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct CoreImage CoreImage;

#define CORE_TAG(a, b, c, d) \
    ((uint32_t)(a) << 24 | (uint32_t)(b) << 16 | (uint32_t)(c) << 8 | (d))
/* Added to a section's version: a loader that does not know it leaves it out. */
#define CORE_IMAGE_SKIPPABLE 0x8000u
/* Sections within sections, at most. */
#define CORE_IMAGE_DEPTH 8

/* A new, empty image to save into.  @now is what deadlines are relative to. */
CoreImage *core_image_save(int64_t now);
/* An image to load from; @data stays the caller's and must outlive it. */
CoreImage *core_image_load(const void *data, size_t len, int64_t now);
/* Give it up.  NULL is ignored. */
void core_image_free(CoreImage *im);

/* Whether this image is being loaded. */
bool core_image_loading(const CoreImage *im);
/* The time that deadlines are relative to. */
int64_t core_image_now(const CoreImage *im);
/* Loading: bytes left in this section, 0 after an error. */
size_t core_image_left(const CoreImage *im);
/* The first thing wrong, or NULL.  Saving fails never. */
const char *core_image_error(const CoreImage *im);

/* Saving: the bytes, owned by the caller (g_free), and their number. */
uint8_t *core_image_take(CoreImage *im, size_t *len);
/* Loading: NULL if all was right and nothing is left over, or what is wrong. */
const char *core_image_done(CoreImage *im);

/* Enter a section; returns the version of what is being read (saving: @version
 * without flags, loading after an error: 0). */
unsigned core_image_begin(CoreImage *im, uint32_t tag, unsigned version);
/* Leave it.  Loading: skippable sections that nobody asked for are passed over;
 * anything else that is left is an error. */
void core_image_end(CoreImage *im);
/* Loading: whether the next thing in this section is a section of @tag; skippable
 * ones before it are passed over.  Saving: @present. */
bool core_image_optional(CoreImage *im, uint32_t tag, bool present);

/* An integer of 1, 2, 4 or 8 bytes, signed or not, or an enumeration. */
#define core_image_int(im, p) core_image_int_(im, p, sizeof(*(p)))
void core_image_int_(CoreImage *im, void *p, size_t size);
/* A truth value; other bytes than 0 and 1 are refused. */
void core_image_flag(CoreImage *im, bool *p);
/* @len bytes as they are. */
void core_image_bytes(CoreImage *im, void *p, size_t len);
/* A point in time, INT64_MAX for never.  Saved as the distance from now. */
void core_image_deadline(CoreImage *im, int64_t *p);
/* A number of things that follow, 0 to @max; more is refused and read as 0. */
void core_image_count(CoreImage *im, uint32_t *p, uint32_t max,
                      const char *why);
/* A setting that the image must have been saved with: loading refuses another
 * with @why (a string that lives for ever). */
void core_image_same(CoreImage *im, uint64_t mine, const char *why);
/* Loading: refuse the image with @why (a string that lives for ever) unless
 * @right.  Returns whether the image is good so far.  Saving: true. */
bool core_image_check(CoreImage *im, bool right, const char *why);

#endif
