/*
 * A ring of bytes in memory that two processes share: one writes, one reads.
 *
 * Neither trusts the other: each keeps its own index privately, checks the
 * other's on each use, and reads the size once.  The memory cannot shrink under
 * a reader (it is sealed).  What is read is copied before it is looked at.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef HW_WIRE_RING_H
#define HW_WIRE_RING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define WIRE_RING_VERSION 1
/* Where the bytes begin in the file. */
#define WIRE_RING_DATA 4096
/* Sizes that a reader accepts. */
#define WIRE_RING_MIN 4096u
#define WIRE_RING_MAX (16u << 20)

/* The beginning of the file.  The writer's words and the reader's are in cache
 * lines of their own.  Counts are free running. */
typedef struct WireRingHeader {
    char magic[8];         /* "WIRERING" */
    uint32_t version;
    uint32_t features;     /* of the writer; the reader ignores unknown bits */
    uint64_t size;         /* bytes of data, a power of two */
    uint64_t zero[5];
    /* the writer's */
    uint64_t head;         /* bytes written */
    uint64_t start;        /* bytes that its socket carries ahead of the ring */
    uint32_t begun;        /* `start` is valid: the stream goes on here */
    uint32_t writer_waits; /* for room; the reader takes it back */
    uint64_t zero2[5];
    /* the reader's */
    uint64_t tail;         /* bytes read */
    uint32_t accepted;     /* it reads here once the writer has begun */
    uint32_t reader_sleeps; /* until it is woken; the writer takes it back */
} WireRingHeader;

typedef struct WireRing {
    WireRingHeader *shared;
    uint8_t *data;
    uint64_t size;
    uint64_t at;           /* our own index: head of a writer, tail of a reader */
} WireRing;

/* A ring to write to; *fd is to be passed to the reader and closed.  NULL: the
 * host has no memory to share. */
WireRing *wire_ring_create(uint64_t size, int *fd);
/* The ring in a descriptor that a peer passed, to read from; NULL: it is none,
 * or not one that can be trusted.  Does not close it. */
WireRing *wire_ring_open(int fd);
void wire_ring_free(WireRing *r);

/* The writer's: the bytes put in, less than `len` if it is full.  Less than 0:
 * the reader's index is impossible. */
ssize_t wire_ring_put(WireRing *r, const uint8_t *data, size_t len);
/* The reader's: the bytes taken out.  Less than 0: the writer's index is
 * impossible. */
ssize_t wire_ring_get(WireRing *r, uint8_t *buf, size_t len);

/*
 * Sleeping.  wire_ring_wait(): note in `flag` of the header that we wait, after
 * which the other end wakes us; to be followed by another look.
 * wire_ring_waits(): whether that still stands.
 * wire_ring_wanted(): after an index was moved, whether the other end waits;
 * it is told so once.
 */
void wire_ring_wait(uint32_t *flag, bool on);
bool wire_ring_waits(const uint32_t *flag);
bool wire_ring_wanted(uint32_t *flag);

#endif
