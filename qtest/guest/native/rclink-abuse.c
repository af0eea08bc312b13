/*
 * Bad behaviour towards the character device of the driver rclink: the commands are at
 * the end.
 *
 * What the device is told of memory lies in the program's own pieces or where none is:
 * with CAP_SYS_RAWIO anything else is the guest's own to break.  Hence the words that
 * buffers are filled with, in case a ring comes to lie on them: no address of memory.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "librclink.h"
#include "rclink/rclink_hw.h"
#include "rclink_uapi.h"

enum { PAGE = 4096, QPS = 4, BYTES = 1344, RING_ROOM = 1 << 16 };

static void __attribute__((noreturn, format(printf, 1, 2)))
fail(const char *format, ...)
{
    va_list ap;

    va_start(ap, format);
    fputs("rclink-abuse: ", stderr);
    vfprintf(stderr, format, ap);
    fprintf(stderr, " (%s)\n", strerror(errno));
    va_end(ap);
    _exit(1);
}

static void need(bool right, const char *what)
{
    if (!right) {
        fail("%s", what);
    }
}

static uint64_t dice(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return *state >> 31;
}

static void *map(int fd, unsigned long off, size_t bytes)
{
    return mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, off);
}

/* Wait for a child that must have ended by itself. */
static void reap(pid_t pid)
{
    int status;

    need(waitpid(pid, &status, 0) == pid, "waitpid");
    if (!WIFEXITED(status) || WEXITSTATUS(status)) {
        fail("a child ended with %x", status);
    }
}

/* ---- state: the port's registers, as a program that is gone left them ---- */

#define NAMED(reg) { reg, 1, #reg }
static const struct {
    uint16_t off, num;
    const char *name;
} kept[] = {
    NAMED(RCL_RDMA_EN), NAMED(RCL_XON_THR_RDMA), NAMED(RCL_MAC_ADDR),
    NAMED(RCL_XON_THR_NON_RDMA), NAMED(RCL_IP_ADDR), NAMED(RCL_VLAN_CTRL),
    NAMED(RCL_RETRY_TIMER_CFG), NAMED(RCL_INTR_STATUS),
    NAMED(RCL_DEST_IP_MEM2), NAMED(RCL_DEST_MAC_MEM2),
    NAMED(RCL_UDP_PORT_MEM2), NAMED(RCL_AFH_CFG_EN),
    { RCL_TYPE2_DA(0), 8, "RCL_TYPE2_DA" }, NAMED(RCL_TRAFFIC_CLASS),
    NAMED(RCL_CTRL), NAMED(RCL_CC_WINDOW), NAMED(RCL_CNP_THR),
    NAMED(RCL_NOCNP), NAMED(RCL_RNR_CODE), NAMED(RCL_TYPE2_RATE),
    NAMED(RCL_INTR_MASK), NAMED(RCL_STATUS), NAMED(RCL_OST_FREE),
    { RCL_CBFC_LEVEL0, 2, "RCL_CBFC_LEVEL" }, NAMED(RCL_FLOW_STOP),
    NAMED(RCL_ERR_STATUS), NAMED(RCL_EVENT_MASK),
    { RCL_MAC_CBFC_CFG(0), 8, "RCL_MAC_CBFC_CFG" },
    NAMED(RCL_MULTI_CREDIT), NAMED(RCL_QP_ID_SET),
};

static void cmd_state(char **args)
{
    int fd = open(args[0], O_RDWR | O_SYNC);
    volatile uint8_t *bar = map(fd, 0, RCL_BAR_SIZE);

    need(bar != MAP_FAILED, args[0]);
    for (size_t i = 0; i < sizeof(kept) / sizeof(kept[0]); i++) {
        for (unsigned n = 0; n < kept[i].num; n++) {
            uint64_t v = *(volatile uint64_t *)(bar + kept[i].off + 8 * n);

            /* The network's frames come and go. */
            v &= kept[i].off == RCL_STATUS ? ~UINT64_C(3) : UINT64_MAX;
            printf("%s+%u %" PRIx64 "\n", kept[i].name, n, v);
        }
    }
    for (unsigned n = 0; n < RCL_RINGS; n++) {
        /* That it had stopped stays to be seen until it is in use again. */
        printf("ring%u %x\n", n,
               *(volatile uint32_t *)(bar + RCL_RING(n) + RCL_RING_CTRL) &
               (RCL_RING_EN | RCL_RING_SHADOW));
    }
}

/* ---- fuzz: anything, in any order ---- */

struct fuzz {
    int fd;
    uint64_t rng;
    struct rclink_info info;
    uint8_t *piece[RCLINK_PIECES];
    volatile uint8_t *regs;
};

/* No memory, whichever half of it is written over by an index. */
static uint64_t nowhere(uint64_t *rng)
{
    return (0x70000000 | dice(rng) % (1 << 28)) << 32 |
           (0x80000000 | (dice(rng) % (1 << 28) & ~7u));
}

/* A place in a piece of buffers with @room bytes behind it. */
static uint64_t own_place(struct fuzz *f, unsigned align)
{
    unsigned piece = RCLINK_PIECE_TX + dice(&f->rng) % 3;

    return f->info.bus[piece] +
           dice(&f->rng) % ((RCLINK_BUFFERS_BYTES - RING_ROOM) / align) * align;
}

static void fuzz_fill(struct fuzz *f)
{
    for (unsigned n = RCLINK_PIECE_TX; n < RCLINK_PIECES; n++) {
        for (size_t i = 0; i < RCLINK_BUFFERS_BYTES; i += 8) {
            uint64_t word = nowhere(&f->rng);

            memcpy(f->piece[n] + i, &word, 8);
        }
    }
}

/* An entry of TX_S or of an RX_M where the driver put it. */
static void fuzz_entry(struct fuzz *f)
{
    unsigned n = dice(&f->rng) % RCL_RING_EVENT;
    uint8_t *e = f->piece[0] + RCLINK_RING_AT(n) +
                 dice(&f->rng) % (1 << RCLINK_LOG) * RCL_RING_ENTRY;
    uint64_t at = dice(&f->rng) % 8 ? own_place(f, 8) : nowhere(&f->rng);
    uint64_t rest = dice(&f->rng) << 32 ^ dice(&f->rng);

    if (dice(&f->rng) % 4) {    /* a message that may be sent */
        rest = (64 + dice(&f->rng) % 1300) | dice(&f->rng) % QPS << 16 |
               (dice(&f->rng) % 8 ? 0 : 3ull) << 32;
    }
    memcpy(e, &at, 8);
    memcpy(e + 8, &rest, 8);
}

static void ring_write(struct fuzz *f, unsigned n, unsigned off, uint32_t v)
{
    *(volatile uint32_t *)(f->regs + n * 0x40 + off) = v;
}

static uint32_t ring_read(struct fuzz *f, unsigned n, unsigned off)
{
    return *(volatile uint32_t *)(f->regs + n * 0x40 + off);
}

/* Lay a ring other than the events' on buffers, or where nothing is. */
static void fuzz_place(struct fuzz *f)
{
    unsigned n = dice(&f->rng) % RCL_RING_EVENT;
    uint64_t base = dice(&f->rng) % 8 ? own_place(f, 16) : nowhere(&f->rng);
    uint64_t shadow = dice(&f->rng) % 8 ? own_place(f, 4) : nowhere(&f->rng);

    ring_write(f, n, RCL_RING_CTRL, 0);
    ring_write(f, n, RCL_RING_BASE_HI, base >> 32);
    ring_write(f, n, RCL_RING_BASE_LO, base);
    ring_write(f, n, RCL_RING_SHADOW_HI, shadow >> 32);
    ring_write(f, n, RCL_RING_SHADOW_LO, shadow);
    ring_write(f, n, RCL_RING_SIZE, dice(&f->rng) % 16);
    ring_write(f, n, RCL_RING_CTRL, RCL_RING_EN |
               (dice(&f->rng) & 1 ? RCL_RING_SHADOW : 0));
}

static void fuzz_ring(struct fuzz *f)
{
    static const uint8_t offs[] = {
        RCL_RING_CTRL, RCL_RING_HEAD, RCL_RING_TAIL, RCL_RING_ARM,
        RCL_RING_HEAD, RCL_RING_TAIL, RCL_RING_HEAD,
    };
    unsigned n = dice(&f->rng) % RCL_RINGS;
    unsigned off = offs[dice(&f->rng) % sizeof(offs)];
    uint32_t v = dice(&f->rng);

    if (off != RCL_RING_CTRL && dice(&f->rng) % 4) {
        v = (ring_read(f, n, off) + dice(&f->rng) % 20) & 0xffff;
    }
    ring_write(f, n, off, v);
}

static void fuzz_register(struct fuzz *f)
{
    struct rclink_reg r = {
        .reg = dice(&f->rng) % (0x4100 / 8) * 8, .qp = dice(&f->rng) % 8,
        .value = dice(&f->rng) << 33 ^ dice(&f->rng),
    };

    if (dice(&f->rng) % 2) {    /* one of those that there are */
        size_t i = dice(&f->rng) % (sizeof(kept) / sizeof(kept[0]));

        r.reg = kept[i].off + dice(&f->rng) % kept[i].num * 8;
    }
    if (dice(&f->rng) % 4 == 0) {
        r.value &= dice(&f->rng) << 33 & dice(&f->rng);
    }
    ioctl(f->fd, dice(&f->rng) % 4 ? RCLINK_IOC_SET : RCLINK_IOC_GET, &r);
    if (dice(&f->rng) % 8 == 0) {
        r = (struct rclink_reg) { .reg = RCL_RDMA_EN, .value = 1 };
        ioctl(f->fd, RCLINK_IOC_SET, &r);
    }
}

/* The call's argument lies in what is mapped, is nowhere, or ends there. */
static void fuzz_call(struct fuzz *f)
{
    static const unsigned long cmds[] = {
        RCLINK_IOC_INFO, RCLINK_IOC_GET, RCLINK_IOC_SET,
    };
    unsigned long cmd = cmds[dice(&f->rng) % 3];
    void *args[] = {
        f->piece[1] + (dice(&f->rng) % PAGE & ~7u), NULL,
        (void *)(uintptr_t)(dice(&f->rng) | UINT64_C(1) << 63),
        f->piece[3] + RCLINK_BUFFERS_BYTES - dice(&f->rng) % 48,
        (void *)(f->regs + PAGE - dice(&f->rng) % 16),
    };
    /* No address of memory, neither before nor afterwards. */
    struct rclink_reg r = {
        .reg = RCL_ID, .qp = 0x70000000, .value = nowhere(&f->rng),
    };
    uint32_t num;

    memcpy(args[0], &r, sizeof(r));
    if (dice(&f->rng) % 8 == 0) {
        cmd = dice(&f->rng);
    }
    ioctl(f->fd, cmd, args[dice(&f->rng) % 5]);
    if (read(f->fd, &num, sizeof(num)) < 0) {
        need(errno == EIO, "read");
    }
}

static void fuzz_map(struct fuzz *f)
{
    static const int flags[] = {
        MAP_SHARED, MAP_SHARED | MAP_POPULATE, MAP_SHARED | MAP_LOCKED,
        MAP_PRIVATE,
    };
    unsigned long off = dice(&f->rng) % 6 * RCLINK_MAP(1) / 2 & ~(PAGE - 1ul);
    size_t bytes = (1 + dice(&f->rng) % 4) * PAGE;
    int prot = dice(&f->rng) % 8, advice = dice(&f->rng) % 26;
    uint8_t *p;

    if (dice(&f->rng) % 4 == 0) {
        off = RCLINK_MAP(dice(&f->rng) % 6) - dice(&f->rng) % 3 * PAGE;
    }
    if (dice(&f->rng) % 16 == 0) {
        off = dice(&f->rng) << 33 & ~(PAGE - 1ul);
    }
    p = mmap(NULL, bytes, prot, flags[dice(&f->rng) % 4], f->fd, off);
    if (p == MAP_FAILED) {
        return;
    }
    madvise(p, bytes, advice);
    mprotect(p, PAGE, PROT_READ);
    mremap(p, bytes, bytes * 2, MREMAP_MAYMOVE);
    mremap(p, PAGE, PAGE, MREMAP_MAYMOVE | 4 /* DONTUNMAP */);
    mlock(p, bytes);
    munmap(p + bytes - PAGE, PAGE);
    munmap(p, bytes);
}

/* A child with everything mapped, that touches it and ends. */
static void fuzz_fork(struct fuzz *f)
{
    pid_t pid = fork();

    if (!pid) {
        for (unsigned n = 0; n < RCLINK_PIECES; n++) {
            ((volatile uint8_t *)f->piece[n])[0];
        }
        ring_read(f, 0, RCL_RING_TAIL);
        _exit(0);
    }
    need(pid > 0, "fork");
    reap(pid);
}

static void fuzz_step(struct fuzz *f)
{
    switch (dice(&f->rng) % 32) {
    case 0:
        fuzz_map(f);
        break;
    case 1:
        fuzz_call(f);
        break;
    case 2:
        fuzz_place(f);
        break;
    case 3 ... 10:
        fuzz_register(f);
        break;
    case 11 ... 20:
        fuzz_entry(f);
        break;
    default:
        fuzz_ring(f);
        break;
    }
}

static void fuzz_open(struct fuzz *f, const char *path)
{
    f->fd = open(path, O_RDWR);
    need(f->fd >= 0 && !ioctl(f->fd, RCLINK_IOC_INFO, &f->info), path);
    for (unsigned n = 0; n < RCLINK_PIECES; n++) {
        f->piece[n] = map(f->fd, RCLINK_MAP(n), n ? RCLINK_BUFFERS_BYTES
                                                 : RCLINK_RINGS_BYTES);
        need(f->piece[n] != MAP_FAILED, "mmap");
    }
    f->regs = map(f->fd, RCLINK_MAP_REGS, PAGE);
    need(f->regs != MAP_FAILED, "mmap");
    fuzz_fill(f);
}

static void cmd_fuzz(char **args)
{
    struct fuzz f = { .rng = strtoull(args[1], NULL, 0) };

    fuzz_open(&f, args[0]);
    for (unsigned long i = strtoul(args[2], NULL, 0); i--;) {
        fuzz_step(&f);
        if (i % 512 == 0) {
            fuzz_fork(&f);
        }
    }
}

/* ---- broken: a ring that has stopped is left behind ---- */

static void cmd_broken(char **args)
{
    struct rclink_reg on = { .reg = RCL_RDMA_EN, .value = 1 };
    struct rclink_reg err = { .reg = RCL_ERR_STATUS };
    struct fuzz f = { 0 };

    fuzz_open(&f, args[0]);
    ring_write(&f, RCL_RING_TX, RCL_RING_CTRL, 0);
    ring_write(&f, RCL_RING_TX, RCL_RING_BASE_HI, nowhere(&f.rng) >> 32);
    ring_write(&f, RCL_RING_TX, RCL_RING_CTRL, RCL_RING_EN);
    need(!ioctl(f.fd, RCLINK_IOC_SET, &on), "ioctl");
    ring_write(&f, RCL_RING_TX, RCL_RING_HEAD, 1);
    while (!(ring_read(&f, RCL_RING_TX, RCL_RING_CTRL) & RCL_RING_ERROR)) {
        usleep(1000);
    }
    need(!ioctl(f.fd, RCLINK_IOC_GET, &err) &&
         err.value == 1 << RCL_RING_TX, "ERR_STATUS");
}

/* ---- hold: messages all the time, and others that use the same file ---- */

static struct {
    struct rclink *rc;
    int fd;
    atomic_bool polled, called;     /* that the device is gone */
    atomic_bool *over;              /* shared with the child */
    volatile uint8_t *regs, *rings;
} hold;

static void *hold_poll(void *unused)
{
    struct pollfd p = { .fd = hold.fd, .events = POLLIN };

    do {
        need(poll(&p, 1, -1) == 1, "poll");
        if (!(p.revents & POLLHUP)) {
            uint32_t num;

            /* Others read what was there, or the device goes. */
            need(read(hold.fd, &num, sizeof(num)) == sizeof(num) ||
                 errno == EIO, "read");
        }
    } while (!(p.revents & POLLHUP));
    hold.polled = true;
    return NULL;
}

static void *hold_call(void *unused)
{
    struct rclink_reg r = { .reg = RCL_STATUS };
    struct rclink_info info;

    while (!ioctl(hold.fd, RCLINK_IOC_GET, &r) &&
           !ioctl(hold.fd, RCLINK_IOC_INFO, &info)) {
        volatile uint32_t *regs = map(hold.fd, RCLINK_MAP_REGS, PAGE);

        need(regs != MAP_FAILED, "mmap");
        regs[RCL_RING_HEAD / 4];
        munmap((void *)regs, PAGE);
        usleep(200);
    }
    need(errno == EIO, "ioctl");
    hold.called = true;
    return NULL;
}

static pid_t hold_child(void)
{
    pid_t pid = fork();

    if (pid) {
        return pid;
    }
    while (!*hold.over) {
        *(volatile uint32_t *)(hold.regs + RCL_RING_TAIL);
        hold.rings[RCLINK_SHADOW_AT(0)];
        usleep(100);
    }
    _exit(0);
}

static void hold_port(const char *path, const char *peer)
{
    uint64_t mac = strtoull(peer, NULL, 16);
    struct rclink_port port;

    need(!rclink_open(path, &hold.rc), path);
    hold.fd = rclink_fd(hold.rc);
    rclink_port_init(hold.rc, &port);
    port.flow = RCLINK_PFC;
    port.retry_us = 2000;
    need(!rclink_port_set(hold.rc, &port), "port");
    for (unsigned q = 0; q < QPS; q++) {
        struct rclink_peer p = {
            .mac = mac, .ip = rclink_ip_of(mac), .qp = q, .udp_port = 0xc000,
        };

        need(!rclink_connect(hold.rc, q, &p), "QP");
    }
    hold.regs = map(hold.fd, RCLINK_MAP_REGS, PAGE);
    hold.rings = map(hold.fd, RCLINK_MAP(RCLINK_PIECE_RINGS),
                     RCLINK_RINGS_BYTES);
    hold.over = mmap(NULL, PAGE, PROT_READ | PROT_WRITE,
                     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    need(hold.regs != MAP_FAILED && hold.rings != MAP_FAILED &&
         hold.over != MAP_FAILED, "mmap");
}

/* Until the device is gone: what comes is taken, what a QP does not take is lost. */
static void hold_send(void)
{
    static uint8_t data[BYTES];
    struct rclink_message m;
    struct rclink_event ev;
    int n = 0;

    for (unsigned i = 0; n >= 0; i++) {
        if (rclink_send(hold.rc, i % QPS, data, BYTES, 0, i) == -EAGAIN) {
            n = rclink_wait(hold.rc, RCLINK_WAIT_ROOM | RCLINK_WAIT_MESSAGE,
                            100);
        }
        while (rclink_recv(hold.rc, 0, &m) > 0) {
        }
        while (rclink_poll(hold.rc, &ev) > 0) {
        }
        if (!(i % 1024)) {
            uint64_t v;

            n = rclink_get(hold.rc, RCL_STATUS, 0, &v);
        }
    }
    need(n == -EIO, "waiting");
}

/* The device is gone, the file and what is mapped are not. */
static void hold_after(void)
{
    struct pollfd p = { .fd = hold.fd, .events = POLLIN };
    struct rclink_info info;
    volatile uint32_t *again;
    uint32_t num;

    need(ioctl(hold.fd, RCLINK_IOC_INFO, &info) && errno == EIO, "info");
    need(read(hold.fd, &num, sizeof(num)) < 0 && errno == EIO, "read");
    need(poll(&p, 1, 0) == 1 && p.revents & POLLHUP, "poll");
    for (unsigned i = 0; i < PAGE; i += 4) {
        *(volatile uint32_t *)(hold.regs + i) = i;
    }
    again = map(hold.fd, RCLINK_MAP_REGS, PAGE);
    need(again != MAP_FAILED && again[PAGE / 4 - 1] == PAGE - 4, "spare page");
    for (unsigned i = 0; i < RCLINK_RINGS_BYTES; i += 8) {
        ((uint8_t *)hold.rings)[i]++;
    }
}

static void await_file(const char *path)
{
    while (access(path, F_OK)) {
        usleep(10000);
    }
}

static void cmd_hold(char **args)
{
    pthread_t poller, caller;
    pid_t child;

    hold_port(args[0], args[1]);
    child = hold_child();
    need(child > 0 && !pthread_create(&poller, NULL, hold_poll, NULL) &&
         !pthread_create(&caller, NULL, hold_call, NULL), "threads");
    puts("ready");
    fflush(stdout);
    await_file(args[2]);    /* what a peer does not take yet would be lost */
    hold_send();
    need(!pthread_join(poller, NULL) && !pthread_join(caller, NULL), "join");
    need(hold.polled && hold.called, "a thread");
    hold_after();
    *hold.over = true;
    reap(child);
    puts("over");
    fflush(stdout);
    /* Outlive what takes the device's place. */
    await_file(args[3]);
    hold_after();
    rclink_close(hold.rc);
}

/* ---- race: who has it is alone ---- */

static void race_turn(const char *path, atomic_uint *holders)
{
    int fd = open(path, O_RDWR);
    uint8_t *p;

    if (fd < 0) {
        need(errno == EBUSY, "open");
        return;
    }
    need(atomic_fetch_add(&holders[0], 1) == 0, "two have it");
    holders[1]++;
    p = map(fd, RCLINK_MAP(RCLINK_PIECE_RX1), RCLINK_BUFFERS_BYTES);
    need(p != MAP_FAILED, "mmap");
    /* Nothing of those before. */
    for (unsigned i = 0; i < RCLINK_BUFFERS_BYTES; i += PAGE) {
        need(!p[i], "old bytes");
        p[i] = 1;
    }
    atomic_fetch_sub(&holders[0], 1);
    close(fd);      /* the mapping has it still */
    munmap(p, RCLINK_BUFFERS_BYTES);
}

static void cmd_race(char **args)
{
    unsigned turns = strtoul(args[1], NULL, 0);
    atomic_uint *holders = mmap(NULL, PAGE, PROT_READ | PROT_WRITE,
                                MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    pid_t pid[3];

    for (unsigned n = 0; n < 3; n++) {
        pid[n] = fork();
        if (!pid[n]) {
            while (holders[1] < turns) {
                race_turn(args[0], holders);
            }
            _exit(0);
        }
    }
    for (unsigned n = 0; n < 3; n++) {
        reap(pid[n]);
    }
    printf("turns=%u\n", holders[1]);
}

/* ---- close: what else refers to the file has the port ---- */

static void *close_poll(void *arg)
{
    struct pollfd p = { .fd = *(int *)arg, .events = POLLIN };

    /* Closed while we wait, or before: then there is nothing to wait for. */
    while (!poll(&p, 1, 50)) {
    }
    need(p.revents == POLLNVAL, "poll");
    return NULL;
}

static void expect_open(const char *path, bool right)
{
    int fd = open(path, O_RDWR);

    need(right ? fd >= 0 : fd < 0 && errno == EBUSY, "open");
    close(fd);
}

static void cmd_close(char **args)
{
    int fd = open(args[0], O_RDWR), pipes[2];
    pthread_t poller;
    uint8_t *p;
    pid_t child;
    char c;

    need(fd >= 0 && !pipe(pipes), args[0]);
    need(!pthread_create(&poller, NULL, close_poll, &fd), "thread");
    usleep(20000);
    close(fd);
    pthread_join(poller, NULL);
    expect_open(args[0], true);

    /* A mapping alone, then that of a child whose parent has none. */
    fd = open(args[0], O_RDWR);
    p = map(fd, RCLINK_MAP(RCLINK_PIECE_TX), PAGE);
    need(p != MAP_FAILED, "mmap");
    close(fd);
    p[0] = 7;
    child = fork();
    if (!child) {
        close(pipes[1]);
        need(read(pipes[0], &c, 1) == 0 && p[0] == 8, "child");
        _exit(0);
    }
    p[0] = 8;
    munmap(p, PAGE);
    expect_open(args[0], false);
    close(pipes[1]);
    reap(child);
    expect_open(args[0], true);
}

/* ---- */

static const struct {
    const char *name;
    int args;
    void (*run)(char **args);
} commands[] = {
    { "state", 1, cmd_state },  /* BAR: its registers */
    { "fuzz", 3, cmd_fuzz },    /* PORT SEED STEPS */
    { "broken", 1, cmd_broken }, /* PORT: end with a ring that has stopped */
    { "hold", 4, cmd_hold },    /* PORT PEER GO END: when there is GO, until the
                                 * device is gone, then until there is END */
    { "race", 2, cmd_race },    /* PORT TURNS: three open it, map, close */
    { "close", 1, cmd_close },  /* PORT: close it while it is in use */
};

int main(int argc, char **argv)
{
    for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++) {
        if (argc >= commands[i].args + 2 &&
            !strcmp(argv[1], commands[i].name)) {
            commands[i].run(argv + 2);
            return 0;
        }
    }
    fputs("usage: rclink-abuse COMMAND ARGUMENT...\n", stderr);
    return 2;
}
