/*
 * ub-switch: hosts by name.  They are looked up here, and by nobody else: how often
 * is counted.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <glib.h>
#include <netdb.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "../../../hw/ub/switch/program.h"

#define HOST "neighbour.example"

static unsigned asked, freed;
static struct sockaddr_in addr[2];
static struct addrinfo found[2];

/* In libc's place. */
int getaddrinfo(const char *host, const char *port,
                const struct addrinfo *hint, struct addrinfo **list)
{
    asked++;
    if (g_strcmp0(host, HOST)) {
        return EAI_NONAME;
    }
    for (unsigned i = 0; i < 2; i++) {
        found[i] = (struct addrinfo) {
            .ai_family = AF_INET, .ai_socktype = SOCK_STREAM,
            .ai_addr = (struct sockaddr *)&addr[i],
            .ai_addrlen = sizeof(addr[i]), .ai_next = i ? NULL : &found[1],
        };
    }
    *list = found;
    return 0;
}

void freeaddrinfo(struct addrinfo *list)
{
    g_assert_true(list == found);
    freed++;
}

/* A port of our own. */
static int bound(struct sockaddr_in *in)
{
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    socklen_t len = sizeof(*in);

    *in = (struct sockaddr_in) { .sin_family = AF_INET,
                                 .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    g_assert_cmpint(bind(fd, (struct sockaddr *)in, sizeof(*in)), ==, 0);
    g_assert_cmpint(getsockname(fd, (struct sockaddr *)in, &len), ==, 0);
    return fd;
}

/* Once, however often it is connected to; and no address of it is left out. */
static void test_once(void)
{
    int deaf = bound(&addr[0]), listener = bound(&addr[1]), fd;
    const char *why = NULL;
    Target *t;

    asked = freed = 0;
    g_assert_cmpint(listen(listener, 8), ==, 0);
    t = target_new("tcp:" HOST ":1", false, &why);
    g_assert_nonnull(t);
    for (unsigned i = 0; i < 3; i++) {
        /* Nobody listens at the first; it may be told at once or later. */
        fd = target_connect(t);
        if (fd >= 0) {
            close(fd);
        }
        fd = target_connect(t);
        g_assert_cmpint(fd, >=, 0);
        close(accept(listener, NULL, NULL));
        close(fd);
    }
    g_assert_cmpuint(asked, ==, 1);
    target_free(t);
    g_assert_cmpuint(freed, ==, 1);
    close(deaf);
    close(listener);
}

static void test_unknown(void)
{
    const char *why = NULL;

    asked = freed = 0;
    g_assert_null(target_new("tcp:nobody.example:1", false, &why));
    g_assert_cmpstr(why, ==, "no such host or port");
    why = NULL;
    g_assert_null(target_new("file:x", false, &why));
    g_assert_nonnull(why);
    g_assert_cmpuint(asked, ==, 1);
    g_assert_cmpuint(freed, ==, 0);
    target_free(NULL);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/ub/switch/address/once", test_once);
    g_test_add_func("/ub/switch/address/unknown", test_unknown);
    return g_test_run();
}
