/*
 * Memory of other nodes of a UB fabric, by /dev/ubmemN (docs/specs/ub-mem.rst).
 *
 * A program exports memory of its own, and gets a descriptor: a line of text that says
 * where and what it is, and is the right to use it.  Who has the line imports it, and
 * loads and stores as in memory of its own: each load asks the peer and waits, stores
 * are posted.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef LIBUBMEM_H
#define LIBUBMEM_H

#include <stddef.h>
#include <stdint.h>

#define UBMEM_TEXT 256 /* bytes of a command or an answer, with the 0 at its end */

/* Open a device; @path NULL: /dev/ubmem0.  A descriptor, or -1 and errno.  What is
 * exported and imported by it ends when it is closed and nothing of it is mapped. */
int ubmem_open(const char *path);

/* A command, as printf.  0, or -1 and errno: EINVAL (the command), ENODEV (the device
 * was reset or is gone), others by command.  Its answer into @answer of UBMEM_TEXT
 * bytes, without the end of the line, if that is not NULL.  Threads may share @fd; other
 * processes that have it (after fork) may not at the same time. */
int ubmem_command(int fd, char *answer, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/*
 * Let peers use @len bytes at @addr, whole pages, which stay where they are (counted
 * against RLIMIT_MEMLOCK).  @rights: of the letters r, w and a (atomics).  The
 * descriptor into @desc of UBMEM_TEXT bytes.  0, or -1 and errno: ENOMEM, EFAULT,
 * EOPNOTSUPP (the controller has no UMMU).
 */
int ubmem_export(int fd, void *addr, size_t len, const char *rights, char *desc);

typedef struct UbMem {
    int fd;
    uint8_t *base;      /* mapped */
    size_t len;
    uint64_t offset;    /* of the import in the device */
} UbMem;

/* Map what a descriptor says.  @options: words as of the command import, or "".
 * 0, or -1 and errno: EHOSTUNREACH (an EID of another fabric), ENOSPC. */
int ubmem_import(int fd, const char *desc, const char *options, UbMem *m);
/* It is not mapped any more, and nothing that was sent is under way. */
void ubmem_unimport(UbMem *m);

/* Ownership of an import with the option shared (UB 2.0 §8.2.6): "invalid", "read" or
 * "write".  What was written is at its owner when this node gives up "write".  0, or -1
 * and errno: EAGAIN (other nodes own what forbids it), EIO, EINVAL. */
int ubmem_own(const UbMem *m, const char *what);

/* All stores so far are done, and what is cached and differs was written back.  0, or -1 and EIO: some have failed since it was asked
 * last; those that had no fault of their own but that events were lost say so, too. */
int ubmem_fence(const UbMem *m);

/* An atomic on @bytes at @at of it, by name: cas (two operands), swap, add, sub, and,
 * or, xor, smax, smin, umax, umin.  0 and what was there, or -1 and errno: EIO. */
int ubmem_atomic(const UbMem *m, size_t at, const char *name, unsigned bytes,
                 uint64_t a, uint64_t b, uint64_t *old);

/* How many loads and stores have failed, and number and status of the last event. */
typedef struct UbMemStatus {
    uint64_t loads, stores;
    unsigned event, status;
} UbMemStatus;

int ubmem_status(const UbMem *m, UbMemStatus *s);

#endif
