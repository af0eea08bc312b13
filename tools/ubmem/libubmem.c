/*
 * Memory of other nodes of a UB fabric: commands of /dev/ubmemN.
 *
 * SPDX-License-Identifier: MIT
 */
#include "libubmem.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int ubmem_open(const char *path)
{
    return open(path ? path : "/dev/ubmem0", O_RDWR | O_CLOEXEC);
}

/* A descriptor has the answer to its last command: both are one step for the threads
 * of a program.  Other descriptors do not wait, but for a few that share a lock. */
#define LOCKS 64

static pthread_mutex_t locks[LOCKS] = {
    [0 ... LOCKS - 1] = PTHREAD_MUTEX_INITIALIZER,
};

static int command_run(int fd, char *answer, const char *text, size_t len)
{
    ssize_t n;

    if (write(fd, text, len) != (ssize_t)len) {
        return -1;
    }
    if (!answer) {
        return 0;
    }
    n = pread(fd, answer, UBMEM_TEXT - 1, 0);
    if (n < 0) {
        return -1;
    }
    answer[n] = 0;
    answer[strcspn(answer, "\n")] = 0;
    return 0;
}

int ubmem_command(int fd, char *answer, const char *format, ...)
{
    char text[UBMEM_TEXT];
    pthread_mutex_t *lock;
    va_list args;
    int len, result;

    va_start(args, format);
    len = vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    if (len < 0 || (size_t)len >= sizeof(text)) {
        errno = EINVAL;
        return -1;
    }
    lock = &locks[(unsigned)fd % LOCKS];
    pthread_mutex_lock(lock);
    result = command_run(fd, answer, text, len);
    pthread_mutex_unlock(lock);
    return result;
}

int ubmem_export(int fd, void *addr, size_t len, const char *rights, char *desc)
{
    return ubmem_command(fd, desc, "export %#" PRIxPTR " %#zx %s",
                         (uintptr_t)addr, len, rights);
}

int ubmem_import(int fd, const char *desc, const char *options, UbMem *m)
{
    char answer[UBMEM_TEXT];
    uint64_t len;

    if (ubmem_command(fd, answer, "import %s %s", desc, options)) {
        return -1;
    }
    *m = (UbMem){ .fd = fd };
    if (sscanf(answer, "%" SCNx64 " %" SCNx64, &m->offset, &len) != 2) {
        errno = EPROTO;
        return -1;
    }
    m->len = len;
    m->base = mmap(NULL, m->len, PROT_READ | PROT_WRITE, MAP_SHARED, fd,
                   (off_t)m->offset);
    if (m->base == MAP_FAILED) {
        int err = errno;

        ubmem_command(fd, NULL, "unimport %#" PRIx64, m->offset);
        errno = err;
        return -1;
    }
    return 0;
}

void ubmem_unimport(UbMem *m)
{
    munmap(m->base, m->len);
    ubmem_command(m->fd, NULL, "unimport %#" PRIx64, m->offset);
}

int ubmem_own(const UbMem *m, const char *what)
{
    return ubmem_command(m->fd, NULL, "own %#" PRIx64 " %s", m->offset, what);
}

int ubmem_fence(const UbMem *m)
{
    return fsync(m->fd);
}

int ubmem_atomic(const UbMem *m, size_t at, const char *name, unsigned bytes,
                 uint64_t a, uint64_t b, uint64_t *old)
{
    char answer[UBMEM_TEXT], second[32] = "";

    if (!strcmp(name, "cas")) {
        snprintf(second, sizeof(second), "%#" PRIx64, b);
    }
    if (ubmem_command(m->fd, answer,
                      "atomic %#" PRIx64 " %s %u %#" PRIx64 " %s",
                      m->offset + at, name, bytes, a, second)) {
        return -1;
    }
    if (sscanf(answer, "%" SCNx64, old) != 1) {
        errno = EPROTO;
        return -1;
    }
    return 0;
}

int ubmem_status(const UbMem *m, UbMemStatus *s)
{
    char answer[UBMEM_TEXT];

    if (ubmem_command(m->fd, answer, "status %#" PRIx64, m->offset)) {
        return -1;
    }
    if (sscanf(answer, "%" SCNu64 " %" SCNu64 " %x %x", &s->loads, &s->stores,
               &s->event, &s->status) != 4) {
        errno = EPROTO;
        return -1;
    }
    return 0;
}
