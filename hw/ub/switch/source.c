/*
 * ub-switch: what its loop waits for, and its clock.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <sys/epoll.h>
#include <time.h>

#include "program.h"

int64_t program_now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
}

void source_watch(Program *p, Source *s, uint32_t events)
{
    struct epoll_event e = { .events = events, .data.ptr = s };

    if (s->fd < 0 || events == s->events) {
        return;
    }
    /* One that was closed has left by itself. */
    epoll_ctl(p->epoll, !events ? EPOLL_CTL_DEL
              : s->events ? EPOLL_CTL_MOD : EPOLL_CTL_ADD, s->fd, &e);
    s->events = events;
}
