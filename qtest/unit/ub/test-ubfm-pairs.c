/*
 * The file of pairs that ubfm reads.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <errno.h>
#include <glib.h>
#include <glib/gstdio.h>
#include <unistd.h>

#include "../../../tools/ub/ubfm-pairs.h"

static const UbId one = { { 1, 0, 0x02000000, 0xcc08b001 } };
static const UbId two = { { 2, 0, 0x02000000, 0xcc08b001 } };
static const UbId other = { { 2, 0, 0x02000000, 0xcc09b001 } };

static bool take(UbfmPairs *pairs, const char *text)
{
    g_autofree char *name = NULL;
    int fd = g_file_open_tmp("pairs-XXXXXX", &name, NULL);
    bool good;
    int err;

    g_assert_cmpint(fd, >=, 0);
    close(fd);
    g_assert_true(g_file_set_contents(name, text, -1, NULL));
    good = ubfm_pairs_read(pairs, name);
    err = errno;
    g_unlink(name);
    errno = err;
    return good;
}

static void test_lines(void)
{
    UbfmPairs pairs = { 0 };

    g_assert_false(ubfm_channels(&pairs, one, other));
    g_assert_true(take(&pairs, "# vendors\n\n\tcc08-* cc09-*\r\n"
                       "*1 cc08-*-*2 # two of one"));
    g_assert_true(pairs.listed);
    g_assert_cmpuint(pairs.n, ==, 2);
    /* Either way round. */
    g_assert_true(ubfm_channels(&pairs, one, other));
    g_assert_true(ubfm_channels(&pairs, other, one));
    g_assert_true(ubfm_channels(&pairs, two, other));
    g_assert_true(ubfm_channels(&pairs, one, two));
    g_assert_true(ubfm_channels(&pairs, two, one));
    g_assert_false(ubfm_channels(&pairs, one, one));
    g_assert_false(ubfm_channels(&pairs, other, other));
    /* An empty file: nobody may. */
    g_assert_true(take(&pairs, " \n"));
    g_assert_true(pairs.listed);
    g_assert_cmpuint(pairs.n, ==, 0);
    g_assert_false(ubfm_channels(&pairs, one, other));
    ubfm_pairs_free(&pairs);
    g_assert_false(pairs.listed);
}

/* A line that is none: those before stay. */
static void test_bad(void)
{
    static const char *const bad[] = { "cc08-*", "* * *", "* *\ncc08-* # cc09-*" };
    UbfmPairs pairs = { 0 };

    g_assert_true(take(&pairs, "* *"));
    for (unsigned i = 0; i < G_N_ELEMENTS(bad); i++) {
        g_assert_false(take(&pairs, bad[i]));
        g_assert_cmpint(errno, ==, EINVAL);
        g_assert_true(ubfm_channels(&pairs, one, other));
    }
    g_assert_false(ubfm_pairs_read(&pairs, "/nowhere/at/all"));
    g_assert_cmpint(errno, ==, ENOENT);
    ubfm_pairs_free(&pairs);
}

/* As many as there may be, and one. */
static void test_many(void)
{
    g_autoptr(GString) text = g_string_new(NULL);
    UbfmPairs pairs = { 0 };

    for (unsigned i = 0; i < UBFM_PAIRS_MOST; i++) {
        g_string_append_printf(text, "x%u y\n", i);
    }
    g_assert_true(take(&pairs, text->str));
    g_assert_cmpuint(pairs.n, ==, UBFM_PAIRS_MOST);
    g_string_append(text, "z z\n");
    g_assert_false(take(&pairs, text->str));
    g_assert_cmpint(errno, ==, E2BIG);
    g_assert_cmpuint(pairs.n, ==, UBFM_PAIRS_MOST);
    ubfm_pairs_free(&pairs);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/ubfm-pairs/lines", test_lines);
    g_test_add_func("/ubfm-pairs/bad", test_bad);
    g_test_add_func("/ubfm-pairs/many", test_many);
    return g_test_run();
}
