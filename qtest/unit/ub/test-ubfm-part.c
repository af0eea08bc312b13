/*
 * The file of partitions that ubfm reads.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <errno.h>
#include <glib.h>
#include <glib/gstdio.h>
#include <unistd.h>

#include "../../../tools/ub/ubfm-part.h"

static const UbId one = { { 1, 0, 0x02000000, 0xcc08b001 } };
static const UbId other = { { 2, 0, 0x02000000, 0xcc09b001 } };

static bool take(UbfmParts *parts, const char *text)
{
    g_autofree char *name = NULL;
    int fd = g_file_open_tmp("parts-XXXXXX", &name, NULL);
    bool good;
    int err;

    g_assert_cmpint(fd, >=, 0);
    close(fd);
    g_assert_true(g_file_set_contents(name, text, -1, NULL));
    good = ubfm_parts_read(parts, name);
    err = errno;
    g_unlink(name);
    errno = err;
    return good;
}

static void test_lines(void)
{
    UbfmParts parts = { 0 };

    g_assert_cmphex(ubfm_npi(&parts, one, UB_FM_NONE), ==, 0);
    g_assert_true(take(&parts, "# all\n\n cc08-*/3 0x1000007 # low\n"
                       "cc08-*\t5\r\ncc08-* 6\n*/0 9"));
    g_assert_true(parts.listed);
    g_assert_cmpuint(parts.n, ==, 4);
    g_assert_cmphex(ubfm_npi(&parts, one, UB_FM_NONE), ==, 5);
    g_assert_cmphex(ubfm_npi(&parts, one, 3), ==, 0x1000007);
    g_assert_cmphex(ubfm_npi(&parts, one, 0), ==, 9);
    g_assert_cmphex(ubfm_npi(&parts, one, 4), ==, 0);
    g_assert_cmphex(ubfm_npi(&parts, other, UB_FM_NONE), ==, 0);
    g_assert_cmphex(ubfm_npi(&parts, other, 0), ==, 9);
    /* An empty file: everybody is in none. */
    g_assert_true(take(&parts, "\n"));
    g_assert_true(parts.listed);
    g_assert_cmpuint(parts.n, ==, 0);
    ubfm_parts_free(&parts);
}

/* A line that is none: those before stay. */
static void test_bad(void)
{
    static const char *const bad[] = {
        "cc08-*", "cc08-* 0", "cc08-* 0x1000000", "cc08-* 0x2000000",
        "cc08-* -1", "cc08-* 5x", "cc08-* 5 6", "cc08-*/ 5", "cc08-*/x 5",
        "cc08-*/1024 5", "cc08-*/-1 5", "cc08-* 5\ncc09-* x",
    };
    UbfmParts parts = { 0 };
    g_autoptr(GString) many = g_string_new(NULL);

    g_assert_true(take(&parts, "cc08-* 8"));
    for (unsigned i = 0; i < G_N_ELEMENTS(bad); i++) {
        g_assert_false(take(&parts, bad[i]));
        g_assert_cmpint(errno, ==, EINVAL);
        g_assert_cmphex(ubfm_npi(&parts, one, UB_FM_NONE), ==, 8);
    }
    g_assert_false(ubfm_parts_read(&parts, "/nowhere/at/all"));
    g_assert_cmpint(errno, ==, ENOENT);
    for (unsigned i = 0; i < UBFM_PARTS_MOST; i++) {
        g_string_append(many, "cc08-* 7\n");
    }
    g_assert_true(take(&parts, many->str));
    g_string_append(many, "cc08-* 7\n");
    g_assert_false(take(&parts, many->str));
    g_assert_cmpint(errno, ==, E2BIG);
    g_assert_cmpuint(parts.n, ==, UBFM_PARTS_MOST);
    ubfm_parts_free(&parts);
    g_assert_false(parts.listed);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/ubfm/partitions/lines", test_lines);
    g_test_add_func("/ubfm/partitions/bad", test_bad);
    return g_test_run();
}
