/*
 * Migration images: layout, versions, and what is refused.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <glib.h>

#include "core/image.h"

typedef struct Thing {
    uint8_t a;
    uint16_t b;
    int32_t c;
    uint64_t d;
    bool flag;
    int64_t at, never;
    uint32_t n;
    uint8_t list[4];
    bool later; /* version 2 */
} Thing;

#define TAG CORE_TAG('T', 'h', 'n', 'g')
#define EXTRA CORE_TAG('E', 'x', 't', 'r')

static void thing(Thing *t, CoreImage *im, unsigned mine)
{
    unsigned version = core_image_begin(im, TAG, mine);

    core_image_int(im, &t->a);
    core_image_int(im, &t->b);
    core_image_int(im, &t->c);
    core_image_int(im, &t->d);
    core_image_flag(im, &t->flag);
    core_image_deadline(im, &t->at);
    core_image_deadline(im, &t->never);
    core_image_bytes(im, NULL, 0);      /* an array that is empty */
    core_image_count(im, &t->n, sizeof(t->list), "list too long");
    for (uint32_t i = 0; i < t->n; i++) {
        core_image_int(im, &t->list[i]);
    }
    if (version >= 2) {
        core_image_flag(im, &t->later);
    }
    core_image_end(im);
}

static const Thing sample = {
    .a = 1, .b = 0x2345, .c = -2, .d = 0x0123456789abcdef, .flag = true,
    .at = 1000, .never = INT64_MAX, .n = 3, .list = { 7, 8, 9 }, .later = true,
};

static uint8_t *saved(unsigned version, size_t *len)
{
    CoreImage *im = core_image_save(900);
    Thing t = sample;
    uint8_t *data;

    g_assert_false(core_image_loading(im));
    thing(&t, im, version);
    data = core_image_take(im, len);
    core_image_free(im);
    return data;
}

static const char *loaded(const uint8_t *data, size_t len, unsigned version,
                          Thing *t)
{
    CoreImage *im = core_image_load(data, len, 5000);
    const char *why;

    memset(t, 0xa5, sizeof(*t));
    t->flag = t->later = false;
    g_assert_true(core_image_loading(im));
    thing(t, im, version);
    why = core_image_done(im);
    g_assert(why == core_image_error(im));
    core_image_free(im);
    return why;
}

static void test_bytes(void)
{
    static const uint8_t want[] = {
        'T', 'h', 'n', 'g', 0, 1, 0, 0, 0, 0x27,
        1, 0x23, 0x45, 0xff, 0xff, 0xff, 0xfe,
        0x01, 0x23, 0x45, 0x67, 0x89, 0xab, 0xcd, 0xef, 1,
        0, 0, 0, 0, 0, 0, 0, 100,
        0x7f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
        0, 0, 0, 3, 7, 8, 9,
    };
    size_t len;
    g_autofree uint8_t *data = saved(1, &len);

    g_assert_cmpmem(data, len, want, sizeof(want));
}

static void test_round(void)
{
    size_t len;
    g_autofree uint8_t *data = saved(2, &len);
    Thing t;

    g_assert_null(loaded(data, len, 2, &t));
    g_assert_cmpint(t.a, ==, sample.a);
    g_assert_cmpint(t.b, ==, sample.b);
    g_assert_cmpint(t.c, ==, sample.c);
    g_assert_cmpuint(t.d, ==, sample.d);
    g_assert_true(t.flag);
    g_assert_cmpint(t.at, ==, 5100);
    g_assert_cmpint(t.never, ==, INT64_MAX);
    g_assert_cmpint(t.n, ==, 3);
    g_assert_cmpmem(t.list, 3, sample.list, 3);
    g_assert_true(t.later);
}

/* However far off, what is due stays due, and what is not does not become it. */
static void test_far(void)
{
    static const int64_t times[] = { INT64_MIN, INT64_MIN + 1, -1, 0, 899,
                                     901, INT64_MAX - 1 };

    for (unsigned i = 0; i < G_N_ELEMENTS(times); i++) {
        CoreImage *im = core_image_save(900);
        int64_t at = times[i];
        g_autofree uint8_t *data = NULL;
        size_t len;

        core_image_deadline(im, &at);
        data = core_image_take(im, &len);
        core_image_free(im);
        im = core_image_load(data, len, 5000);
        core_image_deadline(im, &at);
        g_assert_null(core_image_done(im));
        g_assert_cmpint(at <= 5000, ==, times[i] <= 900);
        g_assert_cmpint(at, !=, INT64_MAX);
        core_image_free(im);
    }
}

static void test_versions(void)
{
    size_t len;
    g_autofree uint8_t *one = saved(1, &len), *two = NULL;
    Thing t;

    /* A newer build takes an older image, an older one no newer image. */
    g_assert_null(loaded(one, len, 2, &t));
    g_assert_false(t.later);
    two = saved(2, &len);
    g_assert_cmpstr(loaded(two, len, 1, &t), ==,
                    "the image was made by a later version");
}

static void test_truncated(void)
{
    size_t len;
    g_autofree uint8_t *data = saved(2, &len);
    g_autofree uint8_t *more = g_malloc0(len + 1);
    Thing t;

    for (size_t n = 0; n < len; n++) {
        g_autofree uint8_t *cut = g_memdup2(data, n);

        g_assert_nonnull(loaded(cut, n, 2, &t));
        g_assert_cmpint(t.n, <=, 4);
    }
    memcpy(more, data, len);
    g_assert_cmpstr(loaded(more, len + 1, 2, &t), ==,
                    "the image is longer than it should be");
    /* a section with one byte more than its fields */
    more[9]++;
    g_assert_cmpstr(loaded(more, len + 1, 2, &t), ==,
                    "a section of the image is longer than it should be");
}

static void test_values(void)
{
    size_t len;
    g_autofree uint8_t *data = saved(1, &len);
    Thing t;

    data[25] = 2;
    g_assert_cmpstr(loaded(data, len, 1, &t), ==,
                    "a truth value of the image is neither");
    g_assert_false(t.flag);
    data[25] = 1;
    data[45] = 5;
    g_assert_cmpstr(loaded(data, len, 1, &t), ==, "list too long");
    g_assert_cmpint(t.n, ==, 0);
    data[45] = 3;
    data[26] = 0x70;
    g_assert_cmpstr(loaded(data, len, 1, &t), ==,
                    "a deadline of the image is out of all time");
    g_assert_cmpint(t.at, ==, INT64_MAX);
    data[26] = 0x90;
    g_assert_nonnull(loaded(data, len, 1, &t));
    data[26] = 0;
    data[0] = 'X';
    g_assert_cmpstr(loaded(data, len, 1, &t), ==, "the image has another "
                    "section than the one that belongs here");
}

/* A section that is added later, in front of and behind a known one. */
static void extra(CoreImage *im, unsigned flags, uint32_t value)
{
    core_image_begin(im, EXTRA, 1 | flags);
    core_image_int(im, &value);
    core_image_end(im);
}

static void test_skippable(void)
{
    for (unsigned may = 0; may < 2; may++) {
        CoreImage *im = core_image_save(0);
        Thing t = sample;
        g_autofree uint8_t *data = NULL;
        size_t len;

        extra(im, may ? CORE_IMAGE_SKIPPABLE : 0, 1);
        thing(&t, im, 1);
        extra(im, may ? CORE_IMAGE_SKIPPABLE : 0, 2);
        data = core_image_take(im, &len);
        core_image_free(im);
        g_assert_cmpint(!loaded(data, len, 1, &t), ==, may);
    }
}

static void test_optional(void)
{
    for (unsigned there = 0; there < 2; there++) {
        CoreImage *im = core_image_save(0);
        g_autofree uint8_t *data = NULL;
        uint32_t v = 77;
        size_t len;

        core_image_begin(im, TAG, 1);
        if (core_image_optional(im, EXTRA, there)) {
            extra(im, 0, v);
        }
        core_image_end(im);
        data = core_image_take(im, &len);
        core_image_free(im);

        im = core_image_load(data, len, 0);
        core_image_begin(im, TAG, 1);
        g_assert_cmpint(core_image_optional(im, EXTRA, false), ==, there);
        if (there) {
            core_image_begin(im, EXTRA, 1);
            v = 0;
            core_image_int(im, &v);
            g_assert_cmpint(v, ==, 77);
            core_image_end(im);
        }
        core_image_end(im);
        g_assert_null(core_image_done(im));
        core_image_free(im);
    }
}

/* The first error stays, and nothing is read after it. */
static void test_first_error(void)
{
    static const uint8_t data[] = { 0, 0, 0, 5, 9 };
    CoreImage *im = core_image_load(data, sizeof(data), 0);
    uint8_t b = 1, buf[3] = { 1, 1, 1 };
    uint32_t n;

    core_image_int(im, &n);
    g_assert_true(core_image_check(im, n == 5, "not five"));
    g_assert_false(core_image_check(im, false, "first"));
    g_assert_false(core_image_check(im, true, "fine"));
    core_image_int(im, &b);
    g_assert_cmpint(b, ==, 0);
    core_image_bytes(im, buf, 3);
    g_assert_cmpmem(buf, 3, "\0\0\0", 3);
    g_assert_cmpint(core_image_begin(im, TAG, 3), ==, 0);
    core_image_end(im);
    g_assert_cmpstr(core_image_done(im), ==, "first");
    core_image_free(im);
}

/* Whatever is changed, no read leaves the image (sanitizers watch). */
static void test_garbage(void)
{
    size_t len;
    g_autofree uint8_t *data = saved(2, &len);
    Thing t;

    for (unsigned i = 0; i < 20000; i++) {
        g_autofree uint8_t *bad = g_memdup2(data, len);

        for (int k = g_test_rand_int_range(1, 4); k > 0; k--) {
            bad[g_test_rand_int_range(0, len)] = g_test_rand_int();
        }
        loaded(bad, len, 2, &t);
        g_assert_cmpint(t.n, <=, 4);
    }
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/image/bytes", test_bytes);
    g_test_add_func("/image/round", test_round);
    g_test_add_func("/image/far", test_far);
    g_test_add_func("/image/versions", test_versions);
    g_test_add_func("/image/truncated", test_truncated);
    g_test_add_func("/image/values", test_values);
    g_test_add_func("/image/skippable", test_skippable);
    g_test_add_func("/image/optional", test_optional);
    g_test_add_func("/image/first-error", test_first_error);
    g_test_add_func("/image/garbage", test_garbage);
    return g_test_run();
}
