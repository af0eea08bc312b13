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
#include <fcntl.h>
#include <glib.h>
#include <glib/gstdio.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "../../../hw/ub/switch/program.h"

#define HOST "neighbour.example"

static unsigned asked, freed;
static struct sockaddr_in addr[2];
static struct addrinfo found[2];

static int asked_flags;

/* In libc's place. */
int getaddrinfo(const char *host, const char *port,
                const struct addrinfo *hint, struct addrinfo **list)
{
    asked++;
    asked_flags = hint->ai_flags;
    if (g_strcmp0(host, HOST) && host) {
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

static void test_valid(void)
{
    static const struct { const char *text; bool valid, tls; const char *host; }
    rows[] = {
        { "unix:/a", true }, { "unix:", false }, { "unix", false }, { "", false },
        { "tcp:a:1", true, false, "a" }, { "tcp::1", true, false, "" },
        { "tcp:1", false }, { "tcp:a:", false }, { "tcp:", false },
        { "tls:a:1", true, true, "a" }, { "tls:", false, true },
        { "tls:fe80::1:22", true, true, "fe80::1" }, { "file:a:1", false },
    };

    for (unsigned i = 0; i < G_N_ELEMENTS(rows); i++) {
        g_autofree char *host = NULL;

        g_assert_cmpint(address_valid(rows[i].text), ==, rows[i].valid);
        g_assert_cmpint(address_tls(rows[i].text), ==, rows[i].tls);
        host = address_host(rows[i].text);
        g_assert_cmpstr(host, ==, rows[i].host);
    }
    /* A path of a socket has 107 bytes at most. */
    for (unsigned len = 107; len < 109; len++) {
        g_autofree char *path = g_strnfill(len, 'x');
        g_autofree char *text = g_strconcat("unix:", path, NULL);

        g_assert_cmpint(address_valid(text), ==, len < 108);
    }
}

static int option(int fd, int level, int name)
{
    socklen_t len = sizeof(int);
    int value = -1;

    g_assert_cmpint(getsockopt(fd, level, name, &value, &len), ==, 0);
    return value;
}

/* A socket that listens does not stop, has the port that it is told of, and takes
 * another one's place at once; a peer that vanished is missed in half a minute. */
static void test_listen(void)
{
    const char *why = "?";
    char *text = g_strdup("tcp:" HOST ":0"), *other;
    struct sockaddr_in in;
    socklen_t len = sizeof(in);
    int fd, again, peer;

    close(bound(&addr[0]));
    close(bound(&addr[1]));
    asked = freed = 0;
    fd = address_listen(text, &why);
    g_assert_cmpint(fd, >=, 0);
    g_assert_null(why);
    g_assert_cmpint(asked_flags, ==, AI_PASSIVE);
    g_assert_cmpuint(freed, ==, 1);
    g_assert_cmpint(fcntl(fd, F_GETFL) & O_NONBLOCK, ==, O_NONBLOCK);
    g_assert_cmpint(fcntl(fd, F_GETFD) & FD_CLOEXEC, ==, FD_CLOEXEC);
    g_assert_cmpint(option(fd, SOL_SOCKET, SO_REUSEADDR), ==, 1);
    g_assert_cmpint(option(fd, SOL_SOCKET, SO_ACCEPTCONN), ==, 1);
    g_assert_cmpint(getsockname(fd, (struct sockaddr *)&in, &len), ==, 0);
    g_assert_cmpuint(in.sin_port, ==, addr[0].sin_port);
    address_bound(fd, &text);
    other = g_strdup_printf("tcp:" HOST ":%u", ntohs(in.sin_port));
    g_assert_cmpstr(text, ==, other);
    g_free(other);
    /* One that was named stays as it is. */
    other = g_strdup("tcp:" HOST ":10");
    address_bound(fd, &other);
    g_assert_cmpstr(other, ==, "tcp:" HOST ":10");
    g_free(other);
    /* The first is taken: the other one. */
    again = address_listen(text, &why);
    g_assert_cmpint(again, >=, 0);
    len = sizeof(in);
    g_assert_cmpint(getsockname(again, (struct sockaddr *)&in, &len), ==, 0);
    g_assert_cmpuint(in.sin_port, ==, addr[1].sin_port);
    /* Both are. */
    g_assert_cmpint(address_listen(text, &why), ==, -1);
    g_assert_cmpstr(why, ==, strerror(EADDRINUSE));
    close(again);
    peer = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    address_keep_alive(peer);
    g_assert_cmpint(option(peer, SOL_SOCKET, SO_KEEPALIVE), ==, 1);
    g_assert_cmpint(option(peer, IPPROTO_TCP, TCP_KEEPIDLE), ==, 10);
    g_assert_cmpint(option(peer, IPPROTO_TCP, TCP_KEEPINTVL), ==, 5);
    g_assert_cmpint(option(peer, IPPROTO_TCP, TCP_KEEPCNT), ==, 3);
    close(peer);
    close(fd);
    g_free(text);
    g_assert_cmpint(address_listen("file:x", &why), ==, -1);
    g_assert_nonnull(why);
}

/* No host: any, for who listens, and the own for who connects. */
static void test_any(void)
{
    const char *why = NULL;
    Target *t = target_new("tcp::1", false, &why);

    g_assert_nonnull(t);
    g_assert_cmpint(asked_flags, ==, 0);
    target_free(t);
}

/* The number of descriptors that are open. */
static unsigned open_fds(void)
{
    unsigned n = 0;

    for (int fd = 0; fd < 256; fd++) {
        n += fcntl(fd, F_GETFD) >= 0;
    }
    return n;
}

/* A path of somebody who is there is his; what a former run has left is not; and a
 * file is nobody's. */
static void test_unix(void)
{
    g_autofree char *dir = g_dir_make_tmp("ub-address-XXXXXX", NULL);
    g_autofree char *path = g_build_filename(dir, "a", NULL);
    g_autofree char *text = g_strconcat("unix:", path, NULL);
    unsigned before = open_fds(), filled;
    const char *why = "?";
    int fd, peer, fill[64];
    Target *t;

    t = target_new(text, false, &why);
    g_assert_nonnull(t);
    g_assert_cmpint(target_connect(t), ==, -1); /* nobody is there */
    fd = address_listen(text, &why);
    g_assert_cmpint(fd, >=, 0);
    g_assert_null(why);
    peer = target_connect(t);
    g_assert_cmpint(peer, >=, 0);
    close(accept(fd, NULL, NULL));
    close(peer);
    g_assert_cmpint(address_listen(text, &why), ==, -1);
    g_assert_cmpstr(why, ==, strerror(EADDRINUSE));
    close(accept(fd, NULL, NULL));
    g_assert_true(g_file_test(path, G_FILE_TEST_EXISTS));
    /* Nor is one that has too much to do to be reached. */
    for (filled = 0; filled < G_N_ELEMENTS(fill); filled++) {
        fill[filled] = target_connect(t);
        if (fill[filled] < 0) {
            break;
        }
    }
    g_assert_cmpuint(filled, <, G_N_ELEMENTS(fill));
    g_assert_cmpint(address_listen(text, &why), ==, -1);
    g_assert_true(address_is_socket(path));
    while (filled) {
        close(fill[--filled]);
    }
    close(fd);
    g_assert_cmpint(target_connect(t), ==, -1); /* a path without anybody */
    fd = address_listen(text, &why);
    g_assert_cmpint(fd, >=, 0);
    close(fd);
    g_unlink(path);
    g_assert_true(g_file_set_contents(path, "x", 1, NULL));
    fd = address_listen(text, &why);
    g_assert_cmpint(fd, ==, -1);
    g_assert_nonnull(why);
    g_assert_true(g_file_test(path, G_FILE_TEST_IS_REGULAR));
    target_free(t);
    g_assert_cmpuint(open_fds(), ==, before);
    g_unlink(path);
    g_rmdir(dir);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/ub/switch/address/once", test_once);
    g_test_add_func("/ub/switch/address/unknown", test_unknown);
    g_test_add_func("/ub/switch/address/valid", test_valid);
    g_test_add_func("/ub/switch/address/listen", test_listen);
    g_test_add_func("/ub/switch/address/any", test_any);
    g_test_add_func("/ub/switch/address/unix", test_unix);
    return g_test_run();
}
