/*
 * Migration images.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <glib.h>

#include "core/bytes.h"
#include "core/image.h"

enum { HEADER = 4 + 2 + 4 };

struct CoreImage {
    int64_t now;
    GByteArray *out;       /* saving, else NULL */
    const uint8_t *in;     /* loading */
    size_t pos;
    const char *error;
    unsigned depth;
    /* Saving: where the section's content starts; loading: where it ends. */
    size_t mark[CORE_IMAGE_DEPTH + 1];
};

CoreImage *core_image_save(int64_t now)
{
    CoreImage *im = g_new0(CoreImage, 1);

    im->now = now;
    im->out = g_byte_array_new();
    return im;
}

CoreImage *core_image_load(const void *data, size_t len, int64_t now)
{
    CoreImage *im = g_new0(CoreImage, 1);

    im->now = now;
    im->in = data;
    im->mark[0] = len;
    return im;
}

void core_image_free(CoreImage *im)
{
    if (im && im->out) {
        g_byte_array_free(im->out, true);
    }
    g_free(im);
}

bool core_image_loading(const CoreImage *im)
{
    return !im->out;
}

const char *core_image_error(const CoreImage *im)
{
    return im->error;
}

uint8_t *core_image_take(CoreImage *im, size_t *len)
{
    uint8_t *data;

    *len = im->out->len;
    data = g_byte_array_free(im->out, false);
    im->out = g_byte_array_new();
    return data;
}

static bool fail(CoreImage *im, const char *why)
{
    if (!im->error) {
        im->error = why;
    }
    return false;
}

static size_t left(const CoreImage *im)
{
    return im->mark[im->depth] - im->pos;
}

int64_t core_image_now(const CoreImage *im)
{
    return im->now;
}

size_t core_image_left(const CoreImage *im)
{
    return im->out || im->error ? 0 : left(im);
}

/* The next @n bytes of the section, or NULL. */
static const uint8_t *take(CoreImage *im, size_t n)
{
    const uint8_t *p;

    if (im->error) {
        return NULL;
    }
    if (n > left(im)) {
        fail(im, "the image ends too early");
        return NULL;
    }
    p = im->in + im->pos;
    im->pos += n;
    return p;
}

/* ---- sections ---- */

typedef struct Header {
    uint32_t tag;
    unsigned version;
    size_t len;
} Header;

/* Look at the header that comes next without passing it. */
static bool peek(CoreImage *im, Header *h)
{
    const uint8_t *p;

    if (im->error || left(im) < HEADER) {
        return false;
    }
    p = im->in + im->pos;
    h->tag = get_be32(p);
    h->version = get_be16(p + 4);
    h->len = get_be32(p + 6);
    return h->len <= left(im) - HEADER;
}

/* Pass over skippable sections up to one of @tag (0: to the end). */
static bool find(CoreImage *im, uint32_t tag, Header *h)
{
    while (peek(im, h)) {
        if (tag && h->tag == tag) {
            return true;
        }
        if (!(h->version & CORE_IMAGE_SKIPPABLE)) {
            return false;
        }
        im->pos += HEADER + h->len;
    }
    return false;
}

unsigned core_image_begin(CoreImage *im, uint32_t tag, unsigned version)
{
    unsigned known = version & ~CORE_IMAGE_SKIPPABLE;
    uint8_t head[HEADER] = { 0 };
    Header h;

    g_assert(im->depth < CORE_IMAGE_DEPTH);
    if (im->out) {
        put_be32(head, tag);
        put_be16(head + 4, version);
        g_byte_array_append(im->out, head, HEADER);
        im->mark[++im->depth] = im->out->len;
        return known;
    }
    if (!im->error && !find(im, tag, &h)) {
        fail(im, "the image has another section than the one that belongs here");
    }
    if (!im->error && (h.version & ~CORE_IMAGE_SKIPPABLE) > known) {
        fail(im, "the image was made by a later version");
    }
    if (im->error) {
        im->depth++;
        im->mark[im->depth] = im->pos;
        return 0;
    }
    im->pos += HEADER;
    im->mark[++im->depth] = im->pos + h.len;
    return h.version & ~CORE_IMAGE_SKIPPABLE;
}

void core_image_end(CoreImage *im)
{
    Header h;

    g_assert(im->depth > 0);
    if (im->out) {
        size_t start = im->mark[im->depth--];

        put_be32(im->out->data + start - 4, im->out->len - start);
        return;
    }
    find(im, 0, &h);
    if (!im->error && left(im)) {
        fail(im, "a section of the image is longer than it should be");
    }
    im->depth--;
}

bool core_image_optional(CoreImage *im, uint32_t tag, bool present)
{
    Header h;

    return im->out ? present : find(im, tag, &h);
}

const char *core_image_done(CoreImage *im)
{
    Header h;

    if (!im->error) {
        find(im, 0, &h);
        if (left(im)) {
            fail(im, "the image is longer than it should be");
        }
    }
    return im->error;
}

/* ---- values ---- */

void core_image_int_(CoreImage *im, void *p, size_t size)
{
    uint8_t b[8] = { 0 };
    const uint8_t *from = b;

    if (im->out) {
        switch (size) {
        case 1: b[0] = *(uint8_t *)p; break;
        case 2: put_be16(b, *(uint16_t *)p); break;
        case 4: put_be32(b, *(uint32_t *)p); break;
        case 8: put_be64(b, *(uint64_t *)p); break;
        default: g_assert_not_reached();
        }
        g_byte_array_append(im->out, b, size);
        return;
    }
    from = take(im, size);
    if (!from) {
        from = b;
    }
    switch (size) {
    case 1: *(uint8_t *)p = from[0]; break;
    case 2: *(uint16_t *)p = get_be16(from); break;
    case 4: *(uint32_t *)p = get_be32(from); break;
    case 8: *(uint64_t *)p = get_be64(from); break;
    default: g_assert_not_reached();
    }
}

void core_image_flag(CoreImage *im, bool *p)
{
    uint8_t v = im->out ? *p : 0;

    core_image_int(im, &v);
    if (!im->out) {
        core_image_check(im, v <= 1, "a truth value of the image is neither");
        *p = v == 1 && !im->error;
    }
}

void core_image_bytes(CoreImage *im, void *p, size_t len)
{
    const uint8_t *from;

    if (!len) {
        return;                     /* what is empty may have no address */
    }
    if (im->out) {
        g_byte_array_append(im->out, p, len);
        return;
    }
    from = take(im, len);
    if (from) {
        memcpy(p, from, len);
    } else {
        memset(p, 0, len);
    }
}

void core_image_deadline(CoreImage *im, int64_t *p)
{
    /* Nothing waits longer than this, and no sum can overflow. */
    const int64_t longest = INT64_MAX / 4;
    int64_t wait = 0;

    if (im->out) {
        /* What is due at once may say so by a time before all others. */
        wait = *p == INT64_MAX ? INT64_MAX
                               : CLAMP(*p, im->now - longest,
                                       im->now + longest) - im->now;
        core_image_int(im, &wait);
        return;
    }
    core_image_int(im, &wait);
    core_image_check(im, wait == INT64_MAX ||
                     (wait >= -longest && wait <= longest),
                     "a deadline of the image is out of all time");
    *p = im->error || wait == INT64_MAX ? INT64_MAX : im->now + wait;
}

void core_image_count(CoreImage *im, uint32_t *p, uint32_t max,
                      const char *why)
{
    core_image_int(im, p);
    if (!core_image_check(im, *p <= max, why)) {
        *p = 0;
    }
}

bool core_image_check(CoreImage *im, bool right, const char *why)
{
    return im->out || ((right || fail(im, why)) && !im->error);
}

void core_image_same(CoreImage *im, uint64_t mine, const char *why)
{
    uint64_t val = mine;

    core_image_int(im, &val);
    core_image_check(im, val == mine, why);
}
