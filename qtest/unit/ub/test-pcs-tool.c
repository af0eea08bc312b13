/*
 * The ub-pcs command line tool: known lanes, identity of encode and decode
 * for every combination of options, its reports and its refusals.
 * argv[1]: the tool.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <glib.h>
#include <glib/gstdio.h>
#include <stdint.h>
#include <string.h>
#include <sys/wait.h>

static const char *tool;
static char *in, *lanes, *back;

/* Run the tool with a line of options; its exit status. */
static int run(char **out, char **err, const char *format, ...)
    G_GNUC_PRINTF(3, 4);

static int run(char **out, char **err, const char *format, ...)
{
    g_autofree char *args = NULL, *line = NULL;
    g_autoptr(GError) error = NULL;
    int status;
    va_list ap;

    va_start(ap, format);
    args = g_strdup_vprintf(format, ap);
    va_end(ap);
    line = g_strdup_printf("'%s' %s", tool, args);
    g_spawn_command_line_sync(line, out, err, &status, &error);
    g_assert_no_error(error);
    g_assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static void put(const char *path, const void *data, size_t n)
{
    g_assert_true(g_file_set_contents(path, data, n, NULL));
}

static char *get(const char *path, gsize *n)
{
    char *data;

    g_assert_true(g_file_get_contents(path, &data, n, NULL));
    return data;
}

static void test_known(void)
{
    g_autofree char *out = NULL, *err = NULL, *dump = NULL;
    g_auto(GStrv) line = NULL;
    uint8_t d[240];
    gsize n;

    for (unsigned i = 0; i < sizeof(d); i++) {
        d[i] = i;
    }
    put(in, d, sizeof(d));
    g_assert_cmpint(run(&out, &err, "encode --width 8 --fec t4 --codecs 2 "
                        "--scrambler off --amctl-period none --in %s "
                        "--out %s", in, lanes), ==, 0);
    g_assert_cmpstr(err, ==, "");
    dump = get(lanes, &n);
    g_assert_cmpuint(n, ==, 8 * 65);
    line = g_strsplit(dump, "\n", -1);
    g_assert_cmpuint(g_strv_length(line), ==, 9);
    g_assert_true(g_str_has_prefix(line[0], "00091019"));
    g_assert_true(g_str_has_suffix(line[0], "505d"));
    g_assert_true(g_str_has_prefix(line[7], "070e171e"));
    g_assert_true(g_str_has_suffix(line[7], "273b"));
}

static void test_identity(void)
{
    static const char *const fec[] = { "off", "t2", "t4" };
    static const char *const periods[] = { "none", "640", "1280" };
    static const char *const scramblers[] = { "off", "prbs23", "pcie23" };
    uint8_t d[131 * 20];
    GRand *r = g_rand_new_with_seed(1);

    for (unsigned i = 0; i < sizeof(d); i++) {
        d[i] = g_rand_int(r);
    }
    g_rand_free(r);
    put(in, d, sizeof(d));
    for (unsigned n = 0; n < 4 * 3 * 2 * 3 * 3; n++) {
        g_autofree char *opts = g_strdup_printf(
            "--width %d --fec %s --codecs %d --amctl-period %s "
            "--scrambler %s %s %s", 1 << n % 4, fec[n / 4 % 3],
            1 + n / 12 % 2, periods[n / 24 % 3], scramblers[n / 72],
            n % 5 ? "" : "--binary", n % 7 ? "" : "--pam4 --precode");
        g_autofree char *got = NULL, *out = NULL;
        gsize size;

        g_assert_cmpint(run(NULL, NULL, "encode %s --in %s --out %s", opts,
                            in, lanes), ==, 0);
        g_assert_cmpint(run(&out, NULL, "decode %s --in %s --out %s", opts,
                            lanes, back), ==, 0);
        got = get(back, &size);
        g_assert_cmpuint(size, >=, sizeof(d));
        g_assert_cmpuint(size % 20, ==, 0);
        g_assert_cmpmem(got, sizeof(d), d, sizeof(d));
        g_assert_cmpint(strstr(out, "corrected 0") != NULL, ==,
                        n / 4 % 3 != 0);
        g_assert_null(strstr(out, "failed"));
    }
}

/* Wrong symbols on a lane: corrected up to T, then reported as failed. */
static void test_report(void)
{
    for (unsigned errors = 0; errors <= 3; errors++) {
        g_autofree char *out = NULL, *err = NULL, *dump = NULL, *got = NULL;
        uint8_t d[240] = { 0 };
        gsize n;

        put(in, d, sizeof(d));
        g_assert_cmpint(run(NULL, &err, "encode --width 1 --fec t2 "
                            "--scrambler off --amctl-period none --in %s "
                            "--out %s", in, lanes), ==, 0);
        dump = get(lanes, &n);
        for (unsigned e = 0; e < errors; e++) {
            dump[256 + 20 * e] = '5'; /* second word */
        }
        put(lanes, dump, n);
        g_assert_cmpint(run(&out, NULL, "decode --width 1 --fec t2 "
                            "--scrambler off --amctl-period none --in %s "
                            "--out %s", lanes, back), ==, errors == 3);
        if (errors < 3) {
            g_autofree char *want = g_strdup_printf(
                "frame 0 codec A corrected 0\n"
                "frame 1 codec A corrected %u\n", errors);

            g_assert_cmpstr(out, ==, want);
            got = get(back, &n);
            g_assert_cmpmem(got, n, d, sizeof(d));
        } else {
            g_assert_cmpstr(out, ==, "frame 0 codec A corrected 0\n"
                            "frame 1 codec A failed\n");
        }
    }
}

static void test_pads(void)
{
    g_autofree char *err = NULL;

    put(in, "01234567890123456789", 20);
    g_assert_cmpint(run(NULL, &err, "encode --in %s --out %s", in, lanes),
                    ==, 0);
    g_assert_nonnull(strstr(err, "padded with 5 Null Block(s)"));
}

static void test_amctl(void)
{
    g_autofree char *out = NULL, *again = NULL;

    g_assert_cmpint(run(&out, NULL, "amctl --lane 0 --type lws "
                        "--detail sdf-x4"), ==, 0);
    g_assert_cmpstr(out, ==, "789c1b1b789c1b1b789c1b1b9c789c78e4e4e4e4e4e4e4e4"
                    "27d8638727d8638787639c7887639c78\n");
    g_assert_cmpint(run(&again, NULL, "amctl --lane -1"), ==, 0);
    g_assert_cmpstr(again, ==, "789c1b1b789c1b1b789c1b1b9c789c78789ce4e4"
                    "789ce4e41b1be4e41b1be4e4e4e46387e4e46387\n");
}

static void test_refusals(void)
{
    static const char *const usage[] = {
        "", "encode", "walk", "encode --width 3 --in /dev/null --out x",
        "encode --fec t9 --in /dev/null --out x", "amctl --type nothing",
        "encode --scrambler none --in /dev/null --out x", "amctl --lane 8",
        "encode --amctl-period 3 --in /dev/null --out x", "--bad-option",
        "decode --codecs 3 --in /dev/null --out x",
    };
    static const char *const dumps[] = {
        "0", "zz\n", "00\n00\n00\n", "0000\n00\n", "00\n00\n", "",
    };

    for (unsigned i = 0; i < G_N_ELEMENTS(usage); i++) {
        g_autofree char *err = NULL;

        g_assert_cmpint(run(NULL, &err, "%s", usage[i]), ==, 2);
        g_assert_cmpstr(err, !=, "");
    }
    put(in, "123", 3);
    g_assert_cmpint(run(NULL, NULL, "encode --in %s --out %s", in, lanes),
                    ==, 1);
    for (unsigned i = 0; i < G_N_ELEMENTS(dumps); i++) {
        g_autofree char *err = NULL;

        put(lanes, dumps[i], strlen(dumps[i]));
        g_assert_cmpint(run(NULL, &err, "decode --width 2 --in %s --out %s",
                            lanes, back), ==, 1);
        g_assert_cmpstr(err, !=, "");
    }
}

int main(int argc, char **argv)
{
    g_autofree char *dir = g_dir_make_tmp("ub-pcs-XXXXXX", NULL);
    int status;

    g_test_init(&argc, &argv, NULL);
    g_assert_cmpint(argc, ==, 2);
    tool = argv[1];
    in = g_build_filename(dir, "in", NULL);
    lanes = g_build_filename(dir, "lanes", NULL);
    back = g_build_filename(dir, "back", NULL);
    g_test_add_func("/ub-pcs/known", test_known);
    g_test_add_func("/ub-pcs/identity", test_identity);
    g_test_add_func("/ub-pcs/report", test_report);
    g_test_add_func("/ub-pcs/pads", test_pads);
    g_test_add_func("/ub-pcs/amctl", test_amctl);
    g_test_add_func("/ub-pcs/refusals", test_refusals);
    status = g_test_run();
    g_unlink(in);
    g_unlink(lanes);
    g_unlink(back);
    g_rmdir(dir);
    return status;
}
