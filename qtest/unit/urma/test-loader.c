/*
 * The provider of liburma, loaded as that library does it: from a file, by a program
 * that has the two functions which it calls.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <glib.h>
#include <string.h>
#include <unistd.h>

#include "liburma.h"

#define VENDOR 0x1234
#define DEVICE 0x0b01

static urma_provider_ops *registered;
static unsigned registrations, ends;

int urma_register_provider_ops(urma_provider_ops *ops)
{
    registered = ops;
    registrations++;
    return 0;
}

int urma_unregister_provider_ops(urma_provider_ops *ops)
{
    g_assert_true(ops == registered);
    registered = NULL;
    ends++;
    return 0;
}

static void *load(void)
{
    void *lib = dlopen(PROVIDER, RTLD_NOW | RTLD_LOCAL);

    if (!lib) {
        g_error("%s", dlerror());
    }
    return lib;
}

/* It registers as it is loaded, once, and takes that back as it goes; and again. */
static void test_life(void)
{
    for (unsigned lap = 1; lap <= 3; lap++) {
        void *lib = load();

        g_assert_nonnull(registered);
        g_assert_cmpuint(registrations, ==, lap);
        g_assert_cmpuint(ends, ==, lap - 1);
        g_assert_cmpint(dlclose(lib), ==, 0);
        g_assert_null(registered);
        g_assert_cmpuint(ends, ==, lap);
    }
}

/* As a device is found: by vendor and device, or by the driver's name. */
static void test_match(void)
{
    const uint16_t (*match)[2];
    void *lib = load();
    unsigned n = 0;

    g_assert_cmpstr(registered->name, ==, "ubc");
    g_assert_cmpuint(registered->attr.version, ==, 1);
    g_assert_cmpint(registered->attr.transport_type, ==, 0);
    match = registered->match_table;
    while (match[n][0] || match[n][1]) {
        g_assert_cmphex(match[n][0], ==, VENDOR);
        g_assert_cmphex(match[n][1], ==, DEVICE);
        n++;
    }
    g_assert_cmpuint(n, ==, 1);
    dlclose(lib);
}

/* A descriptor that is no device's makes no context. */
static void test_context(void)
{
    void *lib = load();
    urma_device dev = { .name = "none" };
    int fd = open("/dev/null", O_RDWR);

    g_assert_cmpint(fd, >=, 0);
    g_assert_cmpint(registered->init(NULL), ==, 0);
    errno = 0;
    g_assert_null(registered->create_context(&dev, 0, fd));
    g_assert_cmpint(errno, ==, ENOTTY);
    g_assert_cmpint(registered->uninit(), ==, 0);
    close(fd);
    dlclose(lib);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/urma-loader/life", test_life);
    g_test_add_func("/urma-loader/match", test_match);
    g_test_add_func("/urma-loader/context", test_context);
    return g_test_run();
}
