/*
 * A ring of bytes in memory that two processes share.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <fcntl.h>
#include <glib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "ring.h"

#define TMPFS 0x01021994 /* TMPFS_MAGIC of <linux/magic.h> */
#define SEALS (F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL)

static const char magic[8] = { 'W', 'I', 'R', 'E', 'R', 'I', 'N', 'G' };

G_STATIC_ASSERT(sizeof(WireRingHeader) <= WIRE_RING_DATA);
G_STATIC_ASSERT(offsetof(WireRingHeader, head) == 64);
G_STATIC_ASSERT(offsetof(WireRingHeader, tail) == 128);

static WireRing *ring_map(int fd, uint64_t size)
{
    uint8_t *at = mmap(NULL, WIRE_RING_DATA + size, PROT_READ | PROT_WRITE,
                       MAP_SHARED, fd, 0);
    WireRing *r;

    if (at == MAP_FAILED) {
        return NULL;
    }
    r = g_new0(WireRing, 1);
    r->shared = (WireRingHeader *)at;
    r->data = at + WIRE_RING_DATA;
    r->size = size;
    return r;
}

WireRing *wire_ring_create(uint64_t size, int *fd)
{
    WireRing *r = NULL;

    *fd = memfd_create("wire", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (*fd < 0) {
        return NULL;
    }
    if (!ftruncate(*fd, WIRE_RING_DATA + size) &&
        !fcntl(*fd, F_ADD_SEALS, SEALS)) {
        r = ring_map(*fd, size);
    }
    if (!r) {
        close(*fd);
        *fd = -1;
        return NULL;
    }
    memcpy(r->shared->magic, magic, sizeof(magic));
    r->shared->version = WIRE_RING_VERSION;
    r->shared->size = size;
    return r;
}

/*
 * Memory of files that can shrink, or that a file system of the peer's backs,
 * would end us by a signal or stop us at a page.
 */
static bool trusted(int fd, uint64_t *bytes)
{
    int seals = fcntl(fd, F_GET_SEALS);
    struct statfs fs;
    struct stat st;

    if (seals < 0 || !(seals & F_SEAL_SHRINK) || fstatfs(fd, &fs) ||
        fs.f_type != TMPFS || fstat(fd, &st) || !S_ISREG(st.st_mode) ||
        st.st_size < WIRE_RING_DATA + WIRE_RING_MIN) {
        return false;
    }
    *bytes = st.st_size - WIRE_RING_DATA;
    return true;
}

WireRing *wire_ring_open(int fd)
{
    WireRingHeader h;
    uint64_t bytes;

    if (!trusted(fd, &bytes) ||
        pread(fd, &h, sizeof(h), 0) != sizeof(h) ||
        memcmp(h.magic, magic, sizeof(magic)) ||
        h.version != WIRE_RING_VERSION || h.size < WIRE_RING_MIN ||
        h.size > WIRE_RING_MAX || (h.size & (h.size - 1)) || h.size > bytes) {
        return NULL;
    }
    return ring_map(fd, h.size);
}

void wire_ring_free(WireRing *r)
{
    if (r) {
        munmap(r->shared, WIRE_RING_DATA + r->size);
        g_free(r);
    }
}

ssize_t wire_ring_put(WireRing *r, const uint8_t *data, size_t len)
{
    uint64_t used = r->at -
                    __atomic_load_n(&r->shared->tail, __ATOMIC_ACQUIRE);
    uint64_t at = r->at & (r->size - 1);
    size_t n, first;

    if (used > r->size) {
        return -1;
    }
    n = MIN(len, r->size - used);
    first = MIN(n, r->size - at);
    memcpy(r->data + at, data, first);
    memcpy(r->data, data + first, n - first);
    r->at += n;
    __atomic_store_n(&r->shared->head, r->at, __ATOMIC_RELEASE);
    return n;
}

ssize_t wire_ring_get(WireRing *r, uint8_t *buf, size_t len)
{
    uint64_t have = __atomic_load_n(&r->shared->head, __ATOMIC_ACQUIRE) -
                    r->at;
    uint64_t at = r->at & (r->size - 1);
    size_t n, first;

    if (have > r->size) {
        return -1;
    }
    n = MIN(len, have);
    first = MIN(n, r->size - at);
    memcpy(buf, r->data + at, first);
    memcpy(buf + first, r->data, n - first);
    r->at += n;
    __atomic_store_n(&r->shared->tail, r->at, __ATOMIC_RELEASE);
    return n;
}

void wire_ring_wait(uint32_t *flag, bool on)
{
    __atomic_store_n(flag, on, __ATOMIC_SEQ_CST);
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
}

bool wire_ring_waits(const uint32_t *flag)
{
    return __atomic_load_n(flag, __ATOMIC_RELAXED);
}

bool wire_ring_wanted(uint32_t *flag)
{
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    return __atomic_load_n(flag, __ATOMIC_RELAXED) &&
           __atomic_exchange_n(flag, 0, __ATOMIC_SEQ_CST);
}
