/*
 * ubmem-perf: what its files share.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef UBMEM_PERF_H
#define UBMEM_PERF_H

#include <stdint.h>

#include "libubmem.h"

/* say.c */
void die(const char *format, ...)
    __attribute__((format(printf, 1, 2), noreturn));
int64_t now_ns(void);
/* Die where the two differ. */
void is(const char *what, uint64_t got, uint64_t want);

static inline uint64_t load(const UbMem *m, size_t at)
{
    return *(volatile uint64_t *)(m->base + at);
}

static inline void store(const UbMem *m, size_t at, uint64_t value)
{
    *(volatile uint64_t *)(m->base + at) = value;
}

/* check.c: stores, loads and atomics on the peer's memory, each byte of the first
 * @bytes with each value. */
void check(const UbMem *m, size_t bytes);

/* cached.c: of an import with the option cached, what first touches, Clean and memory
 * that is here take; each byte is checked. */
void cached_check(const UbMem *m);
/* @times changes of memory that others change as well, each as its only owner; the
 * import has the option shared. */
void shared_change(const UbMem *m, unsigned times);
/* Have Ownership, however long others have it. */
void own(const UbMem *m, const char *what);

/* copy.c: MB a second of storing as much from @from as the import has; @done: until the
 * peer has it, by a fence, which for cached memory is Clean.  Of reading all of it, word
 * by word, whose sum is told. */
double copy_in(const UbMem *m, const uint64_t *from, double *done);
double read_through(const UbMem *m, uint64_t *sum);

/* ring.c: messages in order from one node to another.  The receiver owns @memory of
 * @len bytes, zeroed; the sender has imported it with strong order. */
void ring_receive(void *memory, size_t len, unsigned messages);
void ring_send(const UbMem *m, unsigned messages);
/* The same by an import with the option shared, at both ends. */
void ring_put(const UbMem *m, unsigned messages);
void ring_take(const UbMem *m, unsigned messages);

#endif
