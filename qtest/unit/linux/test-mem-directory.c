/*
 * linux/mem/directory.c: nodes that enter, change and leave, also beside an owner of the
 * memory that answers as it likes.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "mem-shim.h"

struct mem_cache {
    struct mem_dev *dev;
    struct mem_target to;
    u64 window, epoch;
    bool unsure;
};

static u64 word;        /* the directory */
static unsigned asked;  /* times */
static void (*meanwhile)(void); /* what others do before each question */
static int answer;      /* instead of one */
static bool unheard;    /* what is asked is not even done */

int mem_slot(struct mem_dev *dev, struct mem_dest *to, u64 offset, u32 opcode,
             unsigned bytes, const u64 *a, const u64 *b, u64 *result)
{
    g_assert_cmphex(opcode, ==, 7);
    g_assert_cmpuint(bytes, ==, 8);
    asked++;
    if (meanwhile) {
        meanwhile();
    }
    *result = word;
    if (word == *a && !unheard) {
        word = *b;
    }
    return answer;
}

#include "../../../linux/mem/directory.c"

static void begin(u64 value)
{
    word = value;
    asked = 0;
    meanwhile = NULL;
    answer = 0;
    me.killed = unheard = false;
}

static void reader_comes(void)
{
    word++;
}

static void time_passes(void)
{
    word++;
    jiffies += HZ;
}

static void test_readers(void)
{
    struct mem_cache a = { 0 }, b = { 0 };

    begin(7 * MEM_DIR_EPOCH_1);
    g_assert_cmpint(mem_dir_enter(&a, false), ==, 0);
    g_assert_cmpint(mem_dir_enter(&b, false), ==, 0);
    g_assert_cmphex(word, ==, 7 * MEM_DIR_EPOCH_1 + 2);
    g_assert_cmpint(mem_dir_enter(&b, true), ==, -EAGAIN);
    g_assert_cmpint(mem_dir_swap(&a, 1, MEM_DIR_WRITER), ==, -EAGAIN);
    g_assert_cmpint(mem_dir_leave(&b, MEM_READ), ==, 0);
    g_assert_cmpint(mem_dir_swap(&a, 1, MEM_DIR_WRITER), ==, 0);
    g_assert_cmphex(word, ==, 7 * MEM_DIR_EPOCH_1 + MEM_DIR_WRITER);
    g_assert_cmpint(mem_dir_enter(&b, false), ==, -EAGAIN);
    g_assert_cmpint(mem_dir_leave(&a, MEM_WRITE), ==, 0);
    g_assert_cmphex(word, ==, 7 * MEM_DIR_EPOCH_1);
}

/* What was reclaimed is left already, whoever has it now; and what an owner has made out
 * to be nobody's. */
static void test_reclaimed(void)
{
    const u64 now[] = { MEM_DIR_EPOCH_1, MEM_DIR_EPOCH_1 + 1,
                        MEM_DIR_EPOCH_1 | MEM_DIR_WRITER, 0, 0 };

    for (unsigned i = 0; i < G_N_ELEMENTS(now); i++) {
        struct mem_cache a = { 0 };

        begin(0);
        g_assert_cmpint(mem_dir_enter(&a, i % 2), ==, 0);
        word = now[i];
        g_assert_cmpint(mem_dir_leave(&a, i % 2 ? MEM_WRITE : MEM_READ), ==,
                        0);
        g_assert_cmphex(word, ==, now[i]);
    }
}

/* Others come before each question: it ends, still counts us, and says so; who asks
 * once more leaves. */
static void test_busy(void)
{
    struct mem_cache a = { 0 };

    begin(0);
    g_assert_cmpint(mem_dir_enter(&a, false), ==, 0);
    meanwhile = reader_comes;
    asked = 0;
    g_assert_cmpint(mem_dir_leave(&a, MEM_READ), ==, -EAGAIN);
    g_assert_cmpuint(asked, ==, 64);
    g_assert_cmphex(word, ==, 1 + 64);
    meanwhile = NULL;
    g_assert_cmpint(mem_dir_leave(&a, MEM_READ), ==, 0);
    g_assert_cmphex(word, ==, 64);
    begin(0);
    meanwhile = reader_comes;
    g_assert_cmpint(mem_dir_enter(&a, false), ==, -EAGAIN);
    g_assert_cmpuint(asked, ==, 64);
}

/* An owner that answers late has 20 s; a program that was killed asks no more. */
static void test_slow(void)
{
    struct mem_cache a = { 0 };

    begin(0);
    g_assert_cmpint(mem_dir_enter(&a, false), ==, 0);
    meanwhile = time_passes;
    asked = 0;
    g_assert_cmpint(mem_dir_leave(&a, MEM_READ), ==, -EAGAIN);
    g_assert_cmpuint(asked, ==, 21);
    asked = 0;
    g_assert_cmpint(mem_dir_enter(&a, false), ==, -EAGAIN);
    g_assert_cmpuint(asked, ==, 21);
    me.killed = true;
    asked = 0;
    g_assert_cmpint(mem_dir_enter(&a, false), ==, -EAGAIN);
    g_assert_cmpuint(asked, ==, 0);
}

/* No answer: asked once, and that it may have been done is said. */
static void test_silent(void)
{
    struct mem_cache a = { 0 };

    begin(0);
    g_assert_cmpint(mem_dir_enter(&a, true), ==, 0);
    answer = -EIO;
    asked = 0;
    g_assert_cmpint(mem_dir_leave(&a, MEM_WRITE), ==, -EIO);
    g_assert_cmpint(mem_dir_enter(&a, false), ==, -EIO);
    g_assert_cmpuint(asked, ==, 2);
}

/* A change between reader and writer that had no answer, done or not: who asks again,
 * for this or that, learns that it owns it, and who leaves leaves what it is. */
static void test_unsure(void)
{
    const u64 owns[] = { 1, MEM_DIR_WRITER };

    for (unsigned i = 0; i < 2 * 2 * 3; i++) {
        u64 from = owns[i & 1], to = owns[~i & 1];
        struct mem_cache a = { 0 }, b = { 0 };

        begin(3 * MEM_DIR_EPOCH_1);
        g_assert_cmpint(mem_dir_enter(&a, from != 1), ==, 0);
        answer = -EIO;
        unheard = i & 2;
        g_assert_cmpint(mem_dir_swap(&a, from, to), ==, -EIO);
        answer = unheard = 0;
        if (i / 4 == 0) {
            g_assert_cmpint(mem_dir_swap(&a, from, to), ==, 0);
            g_assert_cmphex(word, ==, 3 * MEM_DIR_EPOCH_1 | to);
        } else if (i / 4 == 1) {
            g_assert_cmpint(mem_dir_swap(&a, to, from), ==, 0);
            g_assert_cmphex(word, ==, 3 * MEM_DIR_EPOCH_1 | from);
        }
        g_assert_cmpint(mem_dir_leave(&a, i / 4 == 0 && to != 1 ? MEM_WRITE
                                          : i / 4 == 1 && from != 1 ? MEM_WRITE
                                          : MEM_READ), ==, 0);
        g_assert_cmphex(word, ==, 3 * MEM_DIR_EPOCH_1);
        /* Now that all is known, what others own is theirs. */
        if (i / 4 < 2) {
            g_assert_cmpint(mem_dir_enter(&b, true), ==, 0);
            g_assert_cmpint(mem_dir_swap(&a, 1, MEM_DIR_WRITER), ==, -EAGAIN);
            g_assert_cmpint(mem_dir_leave(&a, MEM_READ), ==, 0);
            g_assert_cmphex(word, ==, 3 * MEM_DIR_EPOCH_1 | MEM_DIR_WRITER);
        }
    }
}

/* Who does not know whether it has become a writer is none where the directory has readers
 * alone, and no reader where it has none. */
static void test_unsure_others(void)
{
    struct mem_cache a = { 0 }, b = { 0 };

    begin(3 * MEM_DIR_EPOCH_1);
    g_assert_cmpint(mem_dir_enter(&a, false), ==, 0);
    answer = -EIO;
    unheard = true;
    g_assert_cmpint(mem_dir_swap(&a, 1, MEM_DIR_WRITER), ==, -EIO);
    answer = unheard = 0;
    g_assert_cmpint(mem_dir_enter(&b, false), ==, 0);
    g_assert_cmpint(mem_dir_swap(&a, 1, MEM_DIR_WRITER), ==, -EAGAIN);
    g_assert_cmphex(word, ==, 3 * MEM_DIR_EPOCH_1 + 2);
    word = 3 * MEM_DIR_EPOCH_1;
    g_assert_true(a.unsure);
    g_assert_cmpint(mem_dir_swap(&a, MEM_DIR_WRITER, 1), ==, -EAGAIN);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/mem-directory/readers", test_readers);
    g_test_add_func("/mem-directory/reclaimed", test_reclaimed);
    g_test_add_func("/mem-directory/busy", test_busy);
    g_test_add_func("/mem-directory/slow", test_slow);
    g_test_add_func("/mem-directory/silent", test_silent);
    g_test_add_func("/mem-directory/unsure", test_unsure);
    g_test_add_func("/mem-directory/unsure-others", test_unsure_others);
    return g_test_run();
}
