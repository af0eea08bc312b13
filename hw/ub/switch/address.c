/*
 * ub-switch: sockets by name.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "program.h"

bool address_tls(const char *address)
{
    return g_str_has_prefix(address, "tls:");
}

void address_keep_alive(int fd)
{
    static const struct { int level, name, value; } rows[] = {
        { SOL_SOCKET, SO_KEEPALIVE, 1 },
        { IPPROTO_TCP, TCP_KEEPIDLE, 10 },
        { IPPROTO_TCP, TCP_KEEPINTVL, 5 },
        { IPPROTO_TCP, TCP_KEEPCNT, 3 },
    };

    for (unsigned i = 0; i < G_N_ELEMENTS(rows); i++) {
        setsockopt(fd, rows[i].level, rows[i].name, &rows[i].value,
                   sizeof(rows[i].value));
    }
}

/* HOST and PORT of "tcp:HOST:PORT" or "tls:HOST:PORT"; false: it is none. */
static bool split_tcp(const char *address, char **host, char **port)
{
    const char *colon = strrchr(address, ':');

    if ((!g_str_has_prefix(address, "tcp:") && !address_tls(address)) ||
        colon < address + 4 || !colon[1]) {
        return false;
    }
    *host = g_strndup(address + 4, colon - address - 4);
    *port = g_strdup(colon + 1);
    return true;
}

static bool unix_address(const char *address, struct sockaddr_un *un)
{
    memset(un, 0, sizeof(*un));
    un->sun_family = AF_UNIX;
    return g_str_has_prefix(address, "unix:") && address[5] &&
           g_strlcpy(un->sun_path, address + 5, sizeof(un->sun_path)) <
           sizeof(un->sun_path);
}

bool address_valid(const char *address)
{
    g_autofree char *host = NULL, *port = NULL;
    struct sockaddr_un un;

    return unix_address(address, &un) || split_tcp(address, &host, &port);
}

char *address_host(const char *address)
{
    g_autofree char *port = NULL;
    char *host = NULL;

    split_tcp(address, &host, &port);
    return host;
}

void address_bound(int fd, char **address)
{
    struct sockaddr_storage addr;
    socklen_t len = sizeof(addr);
    char *real;

    if (!g_str_has_suffix(*address, ":0") ||
        getsockname(fd, (struct sockaddr *)&addr, &len)) {
        return;
    }
    /* The port is at the same place of both families. */
    if (addr.ss_family == AF_INET || addr.ss_family == AF_INET6) {
        real = g_strdup_printf(
            "%.*s%u", (int)strlen(*address) - 1, *address,
            ntohs(((const struct sockaddr_in *)&addr)->sin_port));
        g_free(*address);
        *address = real;
    }
}

/* A socket of the address, bound and listening, or being connected. */
static int open_socket(const struct sockaddr *addr, socklen_t len, bool listens)
{
    int fd = socket(addr->sa_family, SOCK_STREAM | SOCK_CLOEXEC |
                    SOCK_NONBLOCK, 0);
    int on = 1, rc;

    if (fd < 0) {
        return -1;
    }
    if (listens) {
        setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
        rc = bind(fd, addr, len) < 0 ? -1 : listen(fd, 4);
    } else {
        rc = connect(fd, addr, len);
        rc = rc < 0 && errno == EINPROGRESS ? 0 : rc;
    }
    if (rc < 0) {
        close(fd);
        return -1;
    }
    return fd;
}

bool address_is_socket(const char *path)
{
    struct stat st;

    return !lstat(path, &st) && S_ISSOCK(st.st_mode);
}

static int open_unix(const struct sockaddr_un *un, bool listens)
{
    if (listens) {
        /* One that nobody answers is what a former run has left behind. */
        int probe = open_socket((const struct sockaddr *)un, sizeof(*un),
                                false);

        if (probe >= 0) {
            close(probe);
            errno = EADDRINUSE;
            return -1;
        }
        if (errno == ECONNREFUSED && address_is_socket(un->sun_path)) {
            unlink(un->sun_path);
        }
    }
    return open_socket((const struct sockaddr *)un, sizeof(*un), listens);
}

struct Target {
    struct sockaddr_un un;
    struct addrinfo *list;      /* NULL: it is un */
    struct addrinfo *next;      /* of the list, to be tried */
};

Target *target_new(const char *address, bool listens, const char **why)
{
    struct addrinfo hint = { .ai_socktype = SOCK_STREAM,
                             .ai_flags = listens ? AI_PASSIVE : 0 };
    g_autofree char *host = NULL, *port = NULL;
    g_autofree Target *t = g_new0(Target, 1);

    if (!unix_address(address, &t->un)) {
        if (!split_tcp(address, &host, &port)) {
            *why = "an address is unix:PATH, tcp:HOST:PORT or tls:HOST:PORT";
            return NULL;
        }
        if (getaddrinfo(*host ? host : NULL, port, &hint, &t->list)) {
            *why = "no such host or port";
            return NULL;
        }
        t->next = t->list;
    }
    return g_steal_pointer(&t);
}

void target_free(Target *t)
{
    if (t && t->list) {
        freeaddrinfo(t->list);
    }
    g_free(t);
}

/* Whether it was an address that answers is known later, so that each has its turn. */
int target_connect(Target *t)
{
    struct addrinfo *i = t->next;

    if (!t->list) {
        return open_unix(&t->un, false);
    }
    t->next = i->ai_next ? i->ai_next : t->list;
    return open_socket(i->ai_addr, i->ai_addrlen, false);
}

int address_listen(const char *address, const char **why)
{
    Target *t = target_new(address, true, why);
    int fd = -1;

    if (!t) {
        return -1;
    }
    if (!t->list) {
        fd = open_unix(&t->un, true);
    }
    for (struct addrinfo *i = t->list; i && fd < 0; i = i->ai_next) {
        fd = open_socket(i->ai_addr, i->ai_addrlen, true);
    }
    *why = fd < 0 ? strerror(errno) : NULL;
    target_free(t);
    return fd;
}
