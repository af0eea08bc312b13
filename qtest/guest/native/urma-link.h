/*
 * Two ends of a URMA connection, of which the other is a server's: what client and
 * server say, and what clients have the server do.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef URMA_LINK_H
#define URMA_LINK_H

#include "urma-end.h"

#define LINK_PORT 7471
#define ACCESS_ALL (URMA_ACCESS_READ | URMA_ACCESS_WRITE | URMA_ACCESS_ATOMIC)
#define RECV_AT (2u << 20)      /* receive buffers are in the second half */

typedef enum Order {
    ORDER_MAKE,         /* cfg, address: of the client; answered: the server's */
    ORDER_FILL, ORDER_CHECK, ORDER_RECV, ORDER_RECEIVED, ORDER_SEND,
    ORDER_GET64, ORDER_PUT64, ORDER_UNREGISTER, ORDER_MARK,
    ORDER_DEAF,         /* its jetty to Error: nothing is answered */
    ORDER_EMPTY, ORDER_OPEN, ORDER_FLOOD,   /* see urma-mutual.c */
    ORDER_MANY, ORDER_MANY_IMPORT, ORDER_GATHER, ORDER_SCATTER, /* urma-many.c */
} Order;

typedef struct Say {
    uint32_t order, status;
    uint32_t off, len, seed, remote, elements;
    uint64_t value;
    EndConfig cfg;
    EndAddress address;
} Say;

/* Both ends in one process ("self"), or the other by its socket. */
typedef struct Link {
    End end, other;
    int fd;
} Link;

/* Reliable, by jetties, with everything granted. */
extern const EndConfig link_rm;

/* The server's part for a client, until that goes. */
void link_serve(int fd);
/* A connection: ends, made and imported. */
void link_open(Link *l, const char *host, EndConfig cfg);
void link_close(Link *l);
/* Have the other end do something; its answer. */
Say link_ask(Link *l, Say s);
/* Its bytes are those of end_fill(). */
void link_peer_check(Link *l, uint32_t off, uint32_t len, uint32_t seed);
/* 8 bytes of its segment. */
uint64_t link_peer_get(Link *l, uint32_t off);

/* urma-events.c: cases. */
void link_case_events(const char *host);
void link_case_limit(const char *host);
void link_case_errors(const char *host);
/* Tell of each asynchronous event as it comes, until those are there, in this order. */
void link_await(char **names);

/* urma-many.c: cases. */
void link_case_large(const char *host);
void link_case_thousand(const char *host);
/* One end that receives from @clients at once, and each of them. */
void link_gather(unsigned clients);
void link_scatter(const char *host);

/* urma-parallel.c: threads that post and poll at once, @ops operations each, by JFCs of
 * their own or by one ("shared"), to as many of a server; how many completions each of
 * them polled. */
void link_parallel_serve(uint16_t port) __attribute__((noreturn));
void link_parallel(const char *host, uint16_t port, const char *mode,
                   const char *jfc, uint32_t threads, uint32_t ops);

#endif
