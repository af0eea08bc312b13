/*
 * Properties in migration images (QEMU shells only).
 *
 * Both ends of a migration must have been given the same properties, but for
 * those that are a host's own affair: its backends, its files, its budgets.  An
 * image names those that are not at their defaults; what it does not name was
 * at its default, whether the source's build knows it or not.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef CORE_PROPS_H
#define CORE_PROPS_H

#include "core/image.h"
#include "core/qemu_qdev.h"

typedef struct CoreProps {
    const Property *list;
    uint32_t n;
    /* Names, NULL behind the last, that the ends need not agree on; also those
     * whose meaning the core's image compares itself, in whatever form it was
     * written. */
    const char *const *local;
} CoreProps;

/* Save, or compare with those of @obj.  The first that differs is the image's
 * error. */
void core_props_image(Object *obj, const CoreProps *props, CoreImage *im);

/* The same for a device whose core makes a whole image: put the properties of
 * @obj before it, as a section that a build without them passes over.  @block is
 * taken; returns what is to be sent, for g_free(), and its length. */
uint8_t *core_props_prepend(Object *obj, const CoreProps *props,
                            uint8_t *block, size_t *len);
/* NULL, or what is wrong with the properties before an image; none are right. */
const char *core_props_check(Object *obj, const CoreProps *props,
                             const uint8_t *block, size_t len);

#endif
