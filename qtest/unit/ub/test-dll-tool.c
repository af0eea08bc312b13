/*
 * ub-dll, the command line tool: known answers, both directions, refusals.
 * The tool is the first argument.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <glib.h>
#include <glib/gstdio.h>
#include <stdint.h>
#include <string.h>

static const char *tool;
static char *dir;

/* Run the tool with @args on @in (@len bytes, -1: a string).  Returns its
 * output, to be freed; *status is its exit status. */
static char *run(const char *args, const char *in, gssize len, int *status,
                 gsize *out_len)
{
    g_autofree char *in_name = g_build_filename(dir, "in", NULL);
    g_autofree char *out_name = g_build_filename(dir, "out", NULL);
    g_autofree char *command = g_strdup_printf(
        "%s %s --in %s --out %s", tool, args, in_name, out_name);
    g_autoptr(GError) err = NULL;
    char *out = NULL;
    int wait = 0;

    g_assert_true(g_file_set_contents(in_name, in, len, NULL));
    g_assert_true(g_file_set_contents(out_name, "", 0, NULL));
    g_assert_true(g_spawn_command_line_sync(command, NULL, NULL, &wait, &err));
    *status = wait >> 8;
    g_assert_cmpint(wait & 0x7f, ==, 0);
    g_assert_true(g_file_get_contents(out_name, &out, out_len, NULL));
    return out;
}

static void expect(const char *args, const char *in, const char *want)
{
    int status;
    g_autofree char *out = run(args, in, -1, &status, NULL);

    g_assert_cmpint(status, ==, 0);
    g_assert_cmpstr(out, ==, want);
}

static void refuse(const char *args, const char *in)
{
    int status;

    g_free(run(args, in, -1, &status, NULL));
    g_assert_cmpint(status, ==, 1);
}

static void test_known(void)
{
    g_autofree char *name = g_build_filename(dir, "digits", NULL);
    g_autofree char *command = g_strdup_printf("%s crc30 %s", tool, name);
    g_autofree char *out = NULL;

    g_assert_true(g_file_set_contents(name, "123456789", -1, NULL));
    g_assert_true(g_spawn_command_line_sync(command, &out, NULL, NULL, NULL));
    g_assert_cmpstr(out, ==, "3c103723\n");

    expect("pack", "00010203040506070809\n",
           "0006000900010203040506070809000014ccc7fc\n");
    expect("pack --error", "0001 0203 0405 0607 0809 # marked\n",
           "0006000900010203040506070809000041658d29\n");
    expect("pack --crc-cover bytes", "00010203040506070809\n",
           "00060009000102030405060708090000053331ff\n");
    expect("pack", "# nothing\nvl=1 cfg=7: 000102030405060708090a0b0c0d0e0f",
           "0027003b000102030405060708090a0b0c0d0e0f\n"
           "000000000000000000000000000000003a051276\n");
    expect("pack --mode non-crc --vl 2 --cfg 3 --rt 1", "aa\n",
           "00434000aa000000000000000000000000000000\n");
    expect("unpack",
           "020000000000000000000000000000003d3b4dd6\n"
           "020011000000000001230102000000003f8d9460\n"
           "0006000900010203040506070809000041658d29\n",
           "# Null\n# Retry_Req RcvPtr=291 NUM_PHY_REINIT=1 NUM_RETRY=2\n"
           "vl=0 cfg=6 rt=0 error=1: 00010203040506070809\n");
}

static void test_refusals(void)
{
    refuse("pack", "0g\n");
    refuse("pack", "vl=16: 00\n");
    refuse("pack", "cfg=8: 00\n");
    refuse("pack", "colour=red: 00\n");
    refuse("pack", "vl=1:\n");
    refuse("pack --packets-binary", "short");
    refuse("unpack", "00\n");
    refuse("unpack", "020000000000000000000000000000003d3b4dd7\n");
    refuse("unpack", "0027003b000102030405060708090a0b0c0d0e0f\n");
    refuse("unpack --flits-binary", "not a flit");
}

/* Packets of all kinds of lengths, as bytes and as text, there and back. */
static void test_round_trip(void)
{
    static const char *const modes[] = {
        "", " --mode non-crc", " --crc-cover bytes",
        " --flits-binary", " --flits-binary --mode non-crc",
    };

    for (size_t m = 0; m < G_N_ELEMENTS(modes); m++) {
        g_autoptr(GByteArray) packets = g_byte_array_new();
        g_autofree char *pack = g_strconcat("pack --packets-binary",
                                            modes[m], NULL);
        g_autofree char *unpack = g_strconcat("unpack --packets-binary",
                                              modes[m], NULL);
        g_autofree char *flits = NULL, *back = NULL, *text = NULL;
        g_autofree char *again = NULL;
        gsize flits_len, back_len, again_len;
        int status;

        for (unsigned len = 1; len < 10142; len += 1 + len / 3) {
            uint8_t head[8] = { len % 16, len & 1 ? 9 : 3, len % 4, len & 1, 0,
                                0, len >> 8, len };

            g_byte_array_append(packets, head, sizeof(head));
            for (unsigned i = 0; i < len; i++) {
                uint8_t byte = g_test_rand_int();

                g_byte_array_append(packets, &byte, 1);
            }
        }
        flits = run(pack, (char *)packets->data, packets->len, &status,
                    &flits_len);
        g_assert_cmpint(status, ==, 0);
        back = run(unpack, flits, flits_len, &status, &back_len);
        g_assert_cmpint(status, ==, 0);
        g_assert_cmpmem(back, back_len, packets->data, packets->len);

        /* The text form of the same packets packs to the same flits. */
        g_free(g_steal_pointer(&pack));
        g_free(g_steal_pointer(&unpack));
        pack = g_strconcat("pack", modes[m], NULL);
        unpack = g_strconcat("unpack", modes[m], NULL);
        text = run(unpack, flits, flits_len, &status, NULL);
        g_assert_cmpint(status, ==, 0);
        again = run(pack, text, -1, &status, &again_len);
        g_assert_cmpint(status, ==, 0);
        g_assert_cmpmem(again, again_len, flits, flits_len);
    }
}

int main(int argc, char **argv)
{
    g_autofree char *in = NULL, *out = NULL, *digits = NULL;
    int status;

    g_test_init(&argc, &argv, NULL);
    g_assert_cmpint(argc, ==, 2);
    tool = argv[1];
    dir = g_dir_make_tmp("ub-dll-XXXXXX", NULL);
    g_assert_nonnull(dir);
    g_test_add_func("/dll/tool/known", test_known);
    g_test_add_func("/dll/tool/refusals", test_refusals);
    g_test_add_func("/dll/tool/round-trip", test_round_trip);
    status = g_test_run();
    in = g_build_filename(dir, "in", NULL);
    out = g_build_filename(dir, "out", NULL);
    digits = g_build_filename(dir, "digits", NULL);
    g_unlink(in);
    g_unlink(out);
    g_unlink(digits);
    g_rmdir(dir);
    g_free(dir);
    return status;
}
