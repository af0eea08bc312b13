/*
 * Processors that poll: when they look so often that nobody else is woken, and when others
 * are again.  Time is what the test says.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <glib.h>

#include "look.h"

#define US 1000ll

/* A look that takes no time, @pause after the last; whether the mode began with it. */
static bool look(UbcLook *l, int64_t *now, int64_t pause)
{
    bool begun;

    *now += pause;
    begun = ubc_look_begin(l, *now);
    ubc_look_end(l, *now);
    return begun;
}

static UbcLook start(int64_t *now)
{
    *now = 1000000 * US;
    return (UbcLook){ .conf = { 100, 20 * US, 200 * US } };
}

/* Looks in a row until it is on; the first has none before it. */
static void poll(UbcLook *l, int64_t *now)
{
    while (!look(l, now, 5 * US)) {
        g_assert_false(ubc_look_on(l));
    }
    g_assert_true(ubc_look_on(l));
}

static void test_begin(void)
{
    int64_t now;
    UbcLook l = start(&now);

    for (unsigned i = 0; i < 100; i++) {
        g_assert_false(look(&l, &now, 20 * US - 1));
    }
    g_assert_false(ubc_look_on(&l));
    g_assert_true(look(&l, &now, 20 * US - 1));
    g_assert_true(ubc_look_on(&l));
    g_assert_false(look(&l, &now, 1));          /* once */
    g_assert_true(ubc_look_on(&l));
    g_assert_cmpuint(l.begun, ==, 1);
    g_assert_cmpuint(l.looks, ==, 102);
}

/* What a look itself takes is no pause. */
static void test_long(void)
{
    int64_t now;
    UbcLook l = start(&now);

    for (unsigned i = 0; i < 101; i++) {
        ubc_look_begin(&l, now);
        now += 500 * US;
        ubc_look_end(&l, now);
        now += 19 * US;
    }
    g_assert_true(ubc_look_on(&l));
}

/* One that looks now and then never has it to itself. */
static void test_slow(void)
{
    int64_t now;
    UbcLook l = start(&now);

    for (unsigned i = 0; i < 10000; i++) {
        g_assert_false(look(&l, &now, i % 20 ? 5 * US : 20 * US));
        g_assert_false(ubc_look_on(&l));
    }
}

/* A late look is forgiven, a habit is not. */
static void test_late(void)
{
    int64_t now;
    UbcLook l = start(&now);

    poll(&l, &now);
    for (unsigned i = 0; i < 10; i++) {
        g_assert_false(look(&l, &now, 60 * US));
        g_assert_true(ubc_look_on(&l));
        for (unsigned n = 0; n < 25; n++) {
            look(&l, &now, 5 * US);
        }
    }
    for (unsigned i = 0; i < 4; i++) {
        g_assert_true(ubc_look_on(&l));
        g_assert_false(look(&l, &now, 60 * US));
    }
    g_assert_false(ubc_look_on(&l));
    /* And from here anew. */
    for (unsigned i = 0; i < 99; i++) {
        g_assert_false(look(&l, &now, 5 * US));
    }
    g_assert_true(look(&l, &now, 5 * US));
    g_assert_cmpuint(l.begun, ==, 2);
}

/* Who stops is missed after the time, and not before; one who watches too early comes
 * again. */
static void test_watch(void)
{
    int64_t now;
    UbcLook l = start(&now);

    poll(&l, &now);
    g_assert_cmpint(ubc_look_watch(&l, now + 199 * US), ==, now + 200 * US);
    g_assert_true(ubc_look_on(&l));
    look(&l, &now, 10 * US);
    g_assert_cmpint(ubc_look_watch(&l, now + 190 * US), ==, now + 200 * US);
    g_assert_true(ubc_look_on(&l));
    g_assert_cmpint(ubc_look_watch(&l, now + 200 * US), ==, 0);
    g_assert_false(ubc_look_on(&l));
    /* One that was watched though it never was on. */
    g_assert_cmpint(ubc_look_watch(&l, now + 300 * US), ==, 0);
}

static void test_never(void)
{
    int64_t now;
    UbcLook l = start(&now);

    l.conf.looks = 0;
    for (unsigned i = 0; i < 1000; i++) {
        g_assert_false(look(&l, &now, 1));
        g_assert_false(ubc_look_on(&l));
    }
    g_assert_cmpuint(l.looks, ==, 1000);
}

/* The smallest number: the second look of two. */
static void test_one(void)
{
    int64_t now;
    UbcLook l = start(&now);

    l.conf.looks = 1;
    g_assert_false(look(&l, &now, 5 * US));
    g_assert_true(look(&l, &now, 5 * US));
    g_assert_false(look(&l, &now, 50 * US));
    g_assert_false(ubc_look_on(&l));
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/ub/ubc/look/begin", test_begin);
    g_test_add_func("/ub/ubc/look/long", test_long);
    g_test_add_func("/ub/ubc/look/slow", test_slow);
    g_test_add_func("/ub/ubc/look/late", test_late);
    g_test_add_func("/ub/ubc/look/watch", test_watch);
    g_test_add_func("/ub/ubc/look/never", test_never);
    g_test_add_func("/ub/ubc/look/one", test_one);
    return g_test_run();
}
