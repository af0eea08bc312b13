/*
 * Settings by name: text, numbers, limits.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <glib.h>
#include <string.h>

#include "core/option.h"

typedef struct Conf {
    bool flag;
    uint8_t byte, bytes[4];
    uint16_t half;
    uint32_t word, guard;
    uint64_t wide, bits;
    int64_t ns, us;
} Conf;

#define ROW(name, kind, n, min, max) \
    { #name, CORE_OPTION_##kind, n, false, false, offsetof(Conf, name), min, \
      max, "text" }

static const CoreOption rows[] = {
    ROW(flag, BOOL, 0, 0, 1), ROW(byte, U8, 0, 1, 200),
    ROW(bytes, U8, 4, 0, 15), ROW(half, U16, 0, 0, 65535),
    ROW(word, U32, 0, 5, UINT32_MAX), ROW(wide, U64, 0, 0, UINT64_MAX),
    ROW(bits, BITS, 0, 0, UINT64_MAX), ROW(ns, NS, 0, 0, 1000),
    ROW(us, US, 0, 0, 1000000),
};

static const CoreOption *row(const char *name)
{
    for (unsigned i = 0; i < G_N_ELEMENTS(rows); i++) {
        if (!strcmp(rows[i].name, name)) {
            return &rows[i];
        }
    }
    g_assert_not_reached();
}

static Conf some(void)
{
    return (Conf) { .byte = 7, .bytes = { 1, 2, 3, 4 }, .half = 8, .word = 9,
                    .guard = 0x5a5a5a5a, .wide = 10, .bits = 11, .ns = 12,
                    .us = 13000 };
}

/* @text is taken, and reads back as @back. */
static void takes(Conf *c, const char *name, const char *text, const char *back)
{
    g_autofree char *why = NULL, *is = NULL;

    g_assert_true(core_option_parse(row(name), c, text, &why));
    g_assert_null(why);
    is = core_option_text(row(name), c);
    g_assert_cmpstr(is, ==, back);
    g_assert_cmphex(c->guard, ==, 0x5a5a5a5a);
}

/* @text is refused with words that have @said, and nothing changes. */
static void refuses(const char *name, const char *text, const char *said)
{
    g_autofree char *why = NULL;
    Conf c = some(), before = c;

    g_assert_false(core_option_parse(row(name), &c, text, &why));
    g_assert_nonnull(strstr(why, said));
    g_assert_cmpmem(&c, sizeof(c), &before, sizeof(before));
}

static void test_text(void)
{
    Conf c = some();

    takes(&c, "flag", "on", "on");
    takes(&c, "flag", "false", "off");
    takes(&c, "byte", "200", "200");
    takes(&c, "half", "0xffff", "65535");
    takes(&c, "word", "4294967295", "4294967295");
    takes(&c, "wide", "18446744073709551615", "18446744073709551615");
    takes(&c, "bits", "0x8000000000000001", "9223372036854775809");
    takes(&c, "ns", "1000", "1000");
    takes(&c, "us", "1000000", "1000000");
    g_assert_cmpint(c.us, ==, 1000000000);
    g_assert_cmpint(c.ns, ==, 1000);
    g_assert_cmpuint(c.half, ==, 65535);
    g_assert_cmpuint(c.byte, ==, 200);
}

static void test_lists(void)
{
    Conf c = some();

    takes(&c, "bytes", "4:0:15:0x2", "4:0:15:2");
    takes(&c, "bytes", "3=9", "4:0:15:9");
    takes(&c, "bytes", "2=1:0=3:2=7", "3:0:7:9");
    g_assert_cmpuint(c.byte, ==, 7);
    g_assert_cmpuint(c.half, ==, 8);
    refuses("bytes", "", "4 numbers");
    refuses("bytes", "1:2:3", "4 numbers");
    refuses("bytes", "1:2:3:4:5", "4 numbers");
    refuses("bytes", "1:2:3:", "4 numbers");
    refuses("bytes", "4=1", "4 numbers");
    refuses("bytes", "1=2:3", "4 numbers");
    refuses("bytes", "0=1:2:3:4", "4 numbers");
    refuses("bytes", "1=", "4 numbers");
    refuses("bytes", "=1", "4 numbers");
    refuses("bytes", "1:2:3:16", "0 to 15");
    refuses("bytes", "0=1:1=16", "0 to 15");
}

static void test_limits(void)
{
    refuses("flag", "1", "on or off");
    refuses("flag", "", "on or off");
    refuses("byte", "0", "1 to 200");
    refuses("byte", "201", "1 to 200");
    refuses("byte", "256", "1 to 200");
    refuses("byte", "-1", "a number");
    refuses("byte", "1x", "a number");
    refuses("byte", "", "a number");
    refuses("byte", " 1", "a number");
    refuses("word", "4", "5 to 4294967295");
    refuses("word", "4294967296", "5 to 4294967295");
    refuses("wide", "18446744073709551616", "a number");
    refuses("us", "1000001", "0 to 1000000");
}

static void test_numbers(void)
{
    Conf c = some(), other = { 0 };
    uint64_t v[CORE_OPTION_LONGEST] = { 3, 2, 1, 0 };
    g_autofree char *why = NULL, *more = NULL;

    g_assert_cmpuint(core_option_len(row("bytes")), ==, 4);
    g_assert_cmpuint(core_option_len(row("us")), ==, 1);
    g_assert_true(core_option_set(row("bytes"), &c, v, 4, &why));
    g_assert_cmpmem(c.bytes, 4, "\3\2\1\0", 4);
    g_assert_false(core_option_set(row("bytes"), &c, v, 3, &why));
    g_assert_nonnull(strstr(why, "4 numbers"));
    v[1] = 16;
    v[0] = 4;
    g_assert_false(core_option_set(row("bytes"), &c, v, 4, &more));
    g_assert_cmpmem(c.bytes, 4, "\3\2\1\0", 4);
    core_option_get(row("us"), &c, v);
    g_assert_cmpuint(v[0], ==, 13);
    core_option_copy(row("bytes"), &other, &c);
    core_option_copy(row("us"), &other, &c);
    g_assert_cmpmem(other.bytes, 4, "\3\2\1\0", 4);
    g_assert_cmpint(other.us, ==, 13000);
    g_assert_cmpuint(other.byte, ==, 0);
    g_assert_cmpuint(other.half, ==, 0);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/core/option/text", test_text);
    g_test_add_func("/core/option/lists", test_lists);
    g_test_add_func("/core/option/limits", test_limits);
    g_test_add_func("/core/option/numbers", test_numbers);
    return g_test_run();
}
