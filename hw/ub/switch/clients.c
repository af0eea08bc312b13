/*
 * ub-switch: the control socket.  A client sends commands, a line each, and gets
 * an answer for each and the events of all.  One that does not read what it is
 * sent is thrown out.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "program.h"

/* Bytes that may wait for a client. */
#define OUT_MAX (16u << 20)

static void drop_client(Client *c)
{
    source_watch(c->prog, &c->source, 0);
    close(c->source.fd);
    c->source.fd = -1;
    g_byte_array_unref(c->in);
    g_byte_array_unref(c->out);
}

/* False: it is gone. */
static bool flush_client(Client *c)
{
    while (c->out->len) {
        ssize_t n = send(c->source.fd, c->out->data, c->out->len,
                         MSG_NOSIGNAL);

        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n < 0 && errno == EAGAIN) {
            break;
        }
        if (n <= 0) {
            drop_client(c);
            return false;
        }
        g_byte_array_remove_range(c->out, 0, n);
    }
    source_watch(c->prog, &c->source, EPOLLIN | (c->out->len ? EPOLLOUT : 0));
    return true;
}

/* False: it is gone. */
static bool say_line(Client *c, const char *line)
{
    g_byte_array_append(c->out, (const uint8_t *)line, strlen(line));
    if (c->out->len > OUT_MAX) {
        drop_client(c);
        return false;
    }
    return flush_client(c);
}

static bool obey_line(Client *c, const char *line, size_t len)
{
    char *answer = ub_switch_admin_line(c->prog->admin, c->prog->now, line,
                                        len);
    bool there = !answer || say_line(c, answer);

    free(answer);
    return there;
}

static bool take_lines(Client *c)
{
    uint8_t *end;

    while ((end = memchr(c->in->data, '\n', c->in->len))) {
        size_t len = end - c->in->data;
        g_autofree char *line = g_strndup((char *)c->in->data, len);
        bool deaf = c->deaf;

        c->deaf = false;
        g_byte_array_remove_range(c->in, 0, len + 1);
        if (!deaf && !obey_line(c, line, strlen(line))) {
            return false;
        }
    }
    if (c->in->len > UB_SWITCH_LINE_MAX) {
        /* No command is as long: it answers as one that is none. */
        g_byte_array_set_size(c->in, 0);
        if (!c->deaf && !obey_line(c, "too long", 8)) {
            return false;
        }
        c->deaf = true;
    }
    return true;
}

static void client_ready(Source *source, uint32_t events)
{
    Client *c = (Client *)((char *)source - offsetof(Client, source));
    uint8_t bytes[4096];
    ssize_t n;

    if (events & EPOLLOUT && !flush_client(c)) {
        return;
    }
    n = recv(source->fd, bytes, sizeof(bytes), 0);
    if (n < 0 && (errno == EAGAIN || errno == EINTR)) {
        return;
    }
    if (n <= 0) {
        drop_client(c);
        return;
    }
    g_byte_array_append(c->in, bytes, n);
    take_lines(c);
}

static void control_ready(Source *source, uint32_t events)
{
    Program *p = (Program *)((char *)source - offsetof(Program, control));
    int fd = accept4(p->control.fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    char *hello;

    for (unsigned i = 0; fd >= 0 && i < CLIENTS_MAX; i++) {
        Client *c = &p->client[i];

        if (c->source.fd >= 0) {
            continue;
        }
        *c = (Client) {
            .prog = p, .source = { .fd = fd, .ready = client_ready },
            .in = g_byte_array_new(), .out = g_byte_array_new(),
        };
        hello = ub_switch_admin_greeting(p->admin);
        say_line(c, hello);
        free(hello);
        return;
    }
    if (fd >= 0) {
        close(fd);
    }
}

bool clients_listen(Program *p, const char *path, const char **why)
{
    g_autofree char *address = g_strconcat("unix:", path, NULL);

    p->control.fd = address_listen(address, why);
    if (p->control.fd < 0) {
        return false;
    }
    p->control.ready = control_ready;
    p->control_path = g_strdup(path);
    source_watch(p, &p->control, EPOLLIN);
    return true;
}

void clients_tell(Program *p)
{
    char *event;

    while ((event = ub_switch_admin_event(p->admin, g_get_real_time()))) {
        for (unsigned i = 0; i < CLIENTS_MAX; i++) {
            if (p->client[i].source.fd >= 0) {
                say_line(&p->client[i], event);
            }
        }
        free(event);
    }
}

void clients_free(Program *p)
{
    for (unsigned i = 0; i < CLIENTS_MAX; i++) {
        if (p->client[i].source.fd >= 0) {
            drop_client(&p->client[i]);
        }
    }
    if (p->control.fd >= 0) {
        close(p->control.fd);
        unlink(p->control_path);
    }
    g_free(p->control_path);
}
