/*
 * A pair of queues, one on each end, and a segment of each: fixture of the tests
 * of the engine.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef TEST_URMA_PAIR_H
#define TEST_URMA_PAIR_H

#include "ends.h"

#define SECOND 1000000000ll
#define TOKEN 0xcafe0001u
#define ROOM (256u << 10)

typedef struct Pair {
    Ends ends;
    End *a, *b;
    UbqCq cq_a, cq_b;
    UbqQueue qa, qb;
    uint64_t local, remote;     /* ROOM each */
} Pair;

/* Queues of @mode in Ready; row 9 of destinations leads to the other end. */
void pair_start(Pair *p, unsigned carrier, unsigned mode, uint32_t flags);
void pair_stop(Pair *p);

/* Byte @i of the pattern. */
uint8_t pattern(unsigned i);
/* A pattern, and whether it is there. */
void fill(End *e, uint64_t at, uint32_t len);
void check(End *e, uint64_t at, uint32_t len);

/* A request of memory at offset @off of b's segment. */
uint8_t *memory_op(Pair *p, unsigned opcode, uint32_t flags, uint64_t off,
                   uint64_t local, uint32_t len, unsigned blocks);
/* A message to b's queue. */
uint8_t *message_op(Pair *p, unsigned opcode, uint32_t flags, uint64_t local,
                    uint32_t len);
void post_and_run(Pair *p, uint8_t *e, unsigned blocks);
/* Write and read back, every byte. */
void write_read(Pair *p, uint32_t len);

/* The next event of event queue 0, which must be @want: its object. */
unsigned eq_take(End *e, unsigned *ci, unsigned want);

uint8_t *end_save(Ends *ends, End *e, size_t *len);
/* NULL, or why it was refused. */
const char *end_load(Ends *ends, End *e, const uint8_t *data, size_t len);

#endif
