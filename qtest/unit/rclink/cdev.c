/*
 * The character device of the driver rclink: linux/rclink/cdev.c in little.
 *
 * The linker sends here what librclink asks of the C library.  Registers that are
 * mapped hold NOTHING until the program writes them, which is seen when the ports
 * work next: heads and tails, then arms, as the library writes them.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <poll.h>
#include <stdarg.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "cdev.h"
#include "rclink_uapi.h"

enum {
    FD_FIRST = 1000,
    PIECE = 0x100000,           /* of guest memory: RCLINK_BUFFERS_BYTES */
    NS_PER_MS = 1000000,
};
#define NOTHING UINT32_MAX

typedef struct CdevFile {
    bool open;
    unsigned mappings;
    uint32_t seen;              /* messages of rings */
    uint32_t *regs;
    char path[24];
} CdevFile;

static struct {
    Rig *rig;
    size_t page;
    CdevFile file[RIG_ENDS];
    char *path[RIG_ENDS + 1];
} cdev;

CdevFaults cdev_faults;
unsigned cdev_reads, cdev_writes;

/* ---- for tests ---- */

Rig *cdev_new(unsigned n, const RclinkConfig *cfg)
{
    G_STATIC_ASSERT(PIECE == RCLINK_BUFFERS_BYTES &&
                    PIECE > RCLINK_RINGS_BYTES);

    memset(&cdev, 0, sizeof(cdev));
    cdev_faults = (CdevFaults) { .mmap_at = -1, .reg = NOTHING };
    cdev_reads = 0;
    cdev.rig = rig_new(n, cfg);
    cdev.page = sysconf(_SC_PAGESIZE);
    for (unsigned i = 0; i < n; i++) {
        CdevFile *f = &cdev.file[i];

        f->regs = g_malloc(cdev.page);
        g_snprintf(f->path, sizeof(f->path), "/dev/rclink-%u", i);
        cdev.path[i] = f->path;
    }
    return cdev.rig;
}

unsigned cdev_files(void)
{
    unsigned n = 0;

    for (unsigned i = 0; i < RIG_ENDS; i++) {
        n += cdev.file[i].open;
    }
    return n;
}

unsigned cdev_mappings(void)
{
    unsigned n = 0;

    for (unsigned i = 0; i < RIG_ENDS; i++) {
        n += cdev.file[i].mappings;
    }
    return n;
}

void cdev_free(void)
{
    g_assert_cmpuint(cdev_files(), ==, 0);
    g_assert_cmpuint(cdev_mappings(), ==, 0);
    for (unsigned i = 0; i < RIG_ENDS; i++) {
        g_free(cdev.file[i].regs);
    }
    rig_free(cdev.rig);
}

static CdevFile *file_of(int fd)
{
    g_assert_cmpint(fd, >=, FD_FIRST);
    g_assert_cmpint(fd, <, FD_FIRST + RIG_ENDS);
    g_assert_true(cdev.file[fd - FD_FIRST].open);
    return &cdev.file[fd - FD_FIRST];
}

RigEnd *cdev_end(int fd)
{
    return &cdev.rig->e[file_of(fd) - cdev.file];
}

uint8_t *cdev_piece(int fd, unsigned piece)
{
    return cdev_end(fd)->mem + piece * PIECE;
}

static void regs_forward(RigEnd *e, uint32_t *regs)
{
    static const unsigned order[] = {
        RCL_RING_HEAD, RCL_RING_TAIL, RCL_RING_ARM,
    };

    for (unsigned n = 0; n < RCL_RINGS * G_N_ELEMENTS(order); n++) {
        uint64_t reg = RCL_RING(n / G_N_ELEMENTS(order)) +
                       order[n % G_N_ELEMENTS(order)];
        uint32_t *at = &regs[(reg - RCL_RING(0)) / 4];

        if (*at != NOTHING) {
            rig_set(e, reg, *at);
            cdev_writes++;
        }
        *at = NOTHING;
    }
    for (size_t i = 0; i < cdev.page / 4; i++) {
        g_assert_cmphex(regs[i], ==, NOTHING);  /* no other was written */
    }
}

void cdev_settle(void)
{
    for (unsigned i = 0; i < RIG_ENDS; i++) {
        if (cdev.file[i].open) {
            regs_forward(&cdev.rig->e[i], cdev.file[i].regs);
        }
    }
    rig_settle(cdev.rig);
}

/* ---- open, close ---- */

static uint32_t rang(const RigEnd *e)
{
    return e->msix[RCL_VEC_TX] + e->msix[RCL_VEC_RX1] +
           e->msix[RCL_VEC_RX2] + e->msix[RCL_VEC_EVENT];
}

static void port_reset(RigEnd *e)
{
    rig_set(e, RCL_RDMA_EN, 0);
    for (unsigned n = 0; n < RCL_RINGS; n++) {
        rig_set(e, RCL_RING(n) + RCL_RING_CTRL, 0);
    }
    rig_set(e, RCL_SOFT_RESET, RCL_RESET_TYPE1 | RCL_RESET_TYPE2);
    rig_set(e, RCL_CBFC_RESET, 1);
}

static void ring_set(RigEnd *e, unsigned n)
{
    rig_set(e, RCL_RING(n) + RCL_RING_BASE_LO, RCLINK_RING_AT(n));
    rig_set(e, RCL_RING(n) + RCL_RING_SIZE,
            n == RCL_RING_EVENT ? RCLINK_LOG_EVENTS : RCLINK_LOG);
    rig_set(e, RCL_RING(n) + RCL_RING_SHADOW_LO, RCLINK_SHADOW_AT(n));
    rig_set(e, RCL_RING(n) + RCL_RING_CTRL, RCL_RING_EN | RCL_RING_SHADOW);
}

static int fail(int error)
{
    errno = error;
    return -1;
}

int __wrap_open(const char *path, int flags, ...);
int __wrap_open(const char *path, int flags, ...)
{
    g_assert_cmphex(flags, ==, O_RDWR | O_CLOEXEC);
    for (unsigned i = 0; i < cdev.rig->n; i++) {
        CdevFile *f = &cdev.file[i];
        RigEnd *e = &cdev.rig->e[i];

        if (strcmp(path, f->path)) {
            continue;
        }
        if (f->open) {
            return fail(EBUSY);
        }
        f->open = true;
        f->seen = rang(e);
        memset(f->regs, 0xff, cdev.page);
        memset(e->mem, 0, RCLINK_PIECES * PIECE);
        port_reset(e);
        for (unsigned n = 0; n < RCL_RINGS; n++) {
            ring_set(e, n);
        }
        return FD_FIRST + i;
    }
    return fail(ENOENT);
}

int __wrap_close(int fd);
int __wrap_close(int fd)
{
    port_reset(cdev_end(fd));
    file_of(fd)->open = false;
    return 0;
}

int __wrap_glob(const char *pattern, int flags,
                int (*error)(const char *, int), glob_t *found);
int __wrap_glob(const char *pattern, int flags,
                int (*error)(const char *, int), glob_t *found)
{
    g_assert_cmpstr(pattern, ==, "/dev/rclink-*");
    *found = (glob_t) { .gl_pathc = cdev.rig->n, .gl_pathv = cdev.path };
    return cdev.rig->n ? 0 : GLOB_NOMATCH;
}

void __wrap_globfree(glob_t *found);
void __wrap_globfree(glob_t *found)
{
    g_assert_true(found->gl_pathv == cdev.path);
}

/* ---- memory ---- */

void *__wrap_mmap(void *at, size_t len, int prot, int flags, int fd,
                  off_t off);
void *__wrap_mmap(void *at, size_t len, int prot, int flags, int fd,
                  off_t off)
{
    CdevFile *f = file_of(fd);

    g_assert_cmphex(prot, ==, PROT_READ | PROT_WRITE);
    g_assert_cmphex(flags, ==, MAP_SHARED);
    if (off == cdev_faults.mmap_at) {
        errno = ENOMEM;
        return MAP_FAILED;
    }
    f->mappings++;
    if (off == RCLINK_MAP_REGS) {
        g_assert_cmpuint(len, ==, cdev.page);
        return f->regs;
    }
    g_assert_cmphex(off, <, RCLINK_MAP_REGS);
    g_assert_cmphex(off % RCLINK_MAP(1), ==, 0);
    g_assert_cmphex(len, ==, off ? RCLINK_BUFFERS_BYTES : RCLINK_RINGS_BYTES);
    return cdev_piece(fd, off / RCLINK_MAP(1));
}

int __wrap_munmap(void *at, size_t len);
int __wrap_munmap(void *at, size_t len)
{
    for (unsigned i = 0; i < cdev.rig->n; i++) {
        CdevFile *f = &cdev.file[i];
        size_t in = (uint8_t *)at - cdev.rig->e[i].mem;
        size_t expected = at == f->regs ? cdev.page :
                          !in ? RCLINK_RINGS_BYTES : RCLINK_BUFFERS_BYTES;

        if (at == f->regs || in < RCLINK_PIECES * PIECE) {
            g_assert_cmphex(len, ==, expected);
            g_assert_cmpuint(f->mappings--, >, 0);
            return 0;
        }
    }
    g_assert_not_reached();
}

/* ---- registers ---- */

static bool reg_allowed(uint32_t reg)
{
    return !(reg & 7) && reg < 0x4000 && reg != RCL_SOFT_RESET &&
           (reg < 0x1000 || reg >= 0x2000) && reg != RCL_QP_ID_SET;
}

static void info_get(int fd, struct rclink_info *info)
{
    RigEnd *e = cdev_end(fd);

    info->limits = rig_get(e, RCL_LIMITS);
    info->mac = rig_get(e, RCL_MAC_ADDR) & ((UINT64_C(1) << 48) - 1);
    for (unsigned n = 0; n < RCLINK_PIECES; n++) {
        info->bus[n] = n * PIECE;
    }
}

int __wrap_ioctl(int fd, unsigned long cmd, ...);
int __wrap_ioctl(int fd, unsigned long cmd, ...)
{
    RigEnd *e = cdev_end(fd);
    struct rclink_reg *r;
    va_list ap;
    void *arg;

    va_start(ap, cmd);
    arg = va_arg(ap, void *);
    va_end(ap);
    if (cdev_faults.gone) {
        return fail(EIO);
    }
    if (cmd == RCLINK_IOC_INFO) {
        info_get(fd, arg);
        return 0;
    }
    g_assert_true(cmd == RCLINK_IOC_GET || cmd == RCLINK_IOC_SET);
    r = arg;
    if (!reg_allowed(r->reg)) {
        return fail(EINVAL);
    }
    if (cmd == RCLINK_IOC_SET && r->reg == cdev_faults.reg) {
        return fail(EPERM);
    }
    if (r->reg >= 0x2000 && r->reg < 0x3000) {
        rig_set(e, RCL_QP_ID_SET, r->qp);
    }
    if (cmd == RCLINK_IOC_SET) {
        rig_set(e, r->reg, r->value);
    } else {
        r->value = rig_get(e, r->reg);
    }
    return 0;
}

/* ---- waiting, in virtual time ---- */

int __wrap_poll(struct pollfd *p, nfds_t n, int ms);
int __wrap_poll(struct pollfd *p, nfds_t n, int ms)
{
    RigEnd *e = cdev_end(p->fd);
    CdevFile *f = file_of(p->fd);

    g_assert_cmpuint(n, ==, 1);
    g_assert_cmphex(p->events, ==, POLLIN);
    if (cdev_faults.poll) {
        int error = cdev_faults.poll;

        cdev_faults.poll = 0;
        return fail(error);
    }
    if (cdev_faults.gone) {
        p->revents = POLLHUP | POLLERR;
        return 1;
    }
    cdev_settle();
    for (int i = 0; rang(e) == f->seen && (ms < 0 || i < ms); i++) {
        g_assert_cmpint(i, <, 10000);   /* nothing will ever come */
        rig_pass(cdev.rig, NS_PER_MS);
    }
    p->revents = rang(e) != f->seen ? POLLIN : 0;
    return !!p->revents;
}

ssize_t __wrap_read(int fd, void *buf, size_t len);
ssize_t __wrap_read(int fd, void *buf, size_t len)
{
    CdevFile *f = file_of(fd);
    uint32_t now = rang(cdev_end(fd)), num = now - f->seen;

    if (cdev_faults.gone) {
        return fail(EIO);
    }
    g_assert_cmpuint(len, ==, sizeof(num));
    memcpy(buf, &num, sizeof(num));
    f->seen = now;
    cdev_reads++;
    return sizeof(num);
}

int __wrap_clock_gettime(clockid_t clock, struct timespec *t);
int __wrap_clock_gettime(clockid_t clock, struct timespec *t)
{
    g_assert_cmpint(clock, ==, CLOCK_MONOTONIC);
    t->tv_sec = cdev.rig->now / 1000 / NS_PER_MS;
    t->tv_nsec = cdev.rig->now % (1000 * NS_PER_MS);
    return 0;
}

/* ---- names that 64-bit offsets give them ---- */

#define ALSO(name) __attribute__((alias("__wrap_" #name)))
int __wrap_open64(const char *path, int flags, ...) ALSO(open);
int __wrap_glob64(const char *pattern, int flags,
                  int (*error)(const char *, int), glob_t *found) ALSO(glob);
void __wrap_globfree64(glob_t *found) ALSO(globfree);
void *__wrap_mmap64(void *at, size_t len, int prot, int flags, int fd,
                    off_t off) ALSO(mmap);
