/*
 * Properties in migration images.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "qemu/osdep.h"
#include "qemu/cutils.h"
#include "qapi/error.h"
#include "qobject/qstring.h"
#include "qom/qom-qobject.h"
#include "core/props.h"

#define TAG CORE_TAG('P', 'R', 'O', 'P')

/* Room for the name, and for the value, of a property. */
#define PROP_BYTES 48
/* More than any device has. */
#define PROPS_MAX 1000

/* Whether the ends of a migration must agree on @name. */
static bool shared(const CoreProps *props, const char *name)
{
    if (g_strv_contains(props->local, name)) {
        return false;
    }
    for (uint32_t i = 0; i < props->n; i++) {
        if (!strcmp(props->list[i].name, name)) {
            return true;
        }
    }
    return false;
}

static bool at_default(Object *obj, const char *name)
{
    const ObjectProperty *prop = object_property_find(obj, name);
    QObject *value = object_property_get_qobject(obj, name, &error_abort);
    const QString *text = qobject_to(QString, value);
    bool same = prop->defval ? qobject_is_equal(value, prop->defval)
                             : text && !*qstring_get_str(text);

    qobject_unref(value);
    return same;
}

/* The value as text; of a long one its checksum, which no short one is. */
static void value_text(Object *obj, const char *name, char text[PROP_BYTES])
{
    g_autofree char *all = object_property_print(obj, name, false,
                                                 &error_abort);

    if (strlen(all) >= PROP_BYTES) {
        g_autofree char *sum = g_compute_checksum_for_string(G_CHECKSUM_SHA1,
                                                             all, -1);

        snprintf(text, PROP_BYTES, "sha1:%s", sum);
    } else {
        pstrcpy(text, PROP_BYTES, all);
    }
}

static void props_save(Object *obj, const CoreProps *props, CoreImage *im)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < props->n; i++) {
        const char *name = props->list[i].name;

        n += shared(props, name) && !at_default(obj, name);
    }
    core_image_count(im, &n, PROPS_MAX, "");
    for (uint32_t i = 0; i < props->n; i++) {
        char name[PROP_BYTES] = { 0 }, value[PROP_BYTES] = { 0 };

        pstrcpy(name, sizeof(name), props->list[i].name);
        if (shared(props, name) && !at_default(obj, name)) {
            value_text(obj, name, value);
            core_image_bytes(im, name, sizeof(name));
            core_image_bytes(im, value, sizeof(value));
        }
    }
}

/* What the source had is @theirs, NULL: its default. */
static void compare(Object *obj, const char *name, const char *theirs,
                    CoreImage *im)
{
    g_autofree char *why = g_strdup_printf("property '%s' differs", name);
    char mine[PROP_BYTES] = { 0 };
    bool same;

    if (theirs) {
        value_text(obj, name, mine);
        same = !strcmp(mine, theirs);
    } else {
        same = at_default(obj, name);
    }
    core_image_check(im, same, g_intern_string(why));
}

static void props_load(Object *obj, const CoreProps *props, CoreImage *im)
{
    g_autoptr(GHashTable) sent = g_hash_table_new_full(g_str_hash, g_str_equal,
                                                       g_free, g_free);
    uint32_t n;

    core_image_count(im, &n, PROPS_MAX, "more properties than there are");
    while (n-- && !core_image_error(im)) {
        char name[PROP_BYTES], value[PROP_BYTES];

        core_image_bytes(im, name, sizeof(name));
        core_image_bytes(im, value, sizeof(value));
        name[PROP_BYTES - 1] = value[PROP_BYTES - 1] = 0;
        core_image_check(im, shared(props, name),
                         "the source has a property that is not known here");
        g_hash_table_replace(sent, g_strdup(name), g_strdup(value));
    }
    for (uint32_t i = 0; i < props->n && !core_image_error(im); i++) {
        const char *name = props->list[i].name;

        if (shared(props, name)) {
            compare(obj, name, g_hash_table_lookup(sent, name), im);
        }
    }
}

static void props_section(Object *obj, const CoreProps *props, CoreImage *im,
                          unsigned version)
{
    core_image_begin(im, TAG, version);
    if (core_image_loading(im)) {
        props_load(obj, props, im);
    } else {
        props_save(obj, props, im);
    }
    core_image_end(im);
}

void core_props_image(Object *obj, const CoreProps *props, CoreImage *im)
{
    props_section(obj, props, im, 1);
}

uint8_t *core_props_prepend(Object *obj, const CoreProps *props,
                            uint8_t *block, size_t *len)
{
    CoreImage *im = core_image_save(0);
    size_t before;
    uint8_t *all;

    props_section(obj, props, im, 1 | CORE_IMAGE_SKIPPABLE);
    all = core_image_take(im, &before);
    core_image_free(im);
    all = g_realloc(all, before + *len);
    memcpy(all + before, block, *len);
    g_free(block);
    *len += before;
    return all;
}

const char *core_props_check(Object *obj, const CoreProps *props,
                             const uint8_t *block, size_t len)
{
    CoreImage *im = core_image_load(block, len, 0);
    const char *error;

    if (core_image_optional(im, TAG, false)) {
        props_section(obj, props, im, 1 | CORE_IMAGE_SKIPPABLE);
    }
    error = core_image_error(im);
    core_image_free(im);
    return error;
}
