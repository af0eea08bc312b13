/*
 * Memory of other nodes: share some, test it, measure it.
 *
 *     ubmem-perf serve BYTES [RIGHTS [TOKEN [shared]]]   export memory; prints its
 *                      descriptor.  Then lines of commands: rotate, settle,
 *                      unexport, reclaim, word AT
 *     ubmem-perf check DESCRIPTOR [BYTES]       test each byte of so many
 *     ubmem-perf perf DESCRIPTOR                latencies
 *     ubmem-perf watch DESCRIPTOR               load until it fails, and say how
 *     ubmem-perf steady DESCRIPTOR              store and load for ever, whatever fails;
 *                      each line says how often it did since the one before, how often
 *                      it failed, and the status of the import
 *     ubmem-perf poke DESCRIPTOR AT VALUE       a store and a fence
 *     ubmem-perf peek DESCRIPTOR AT             a load
 *     ubmem-perf map OFFSET BYTES AT [VALUE]    the same by an import that there is, as
 *                      in sysfs, or by the manager's table; a store and a fence with VALUE
 *     ubmem-perf cached DESCRIPTOR              test and measure cached memory
 *     ubmem-perf copy DESCRIPTOR                speed of writing all of it: by the
 *                      window, and cached, each page touched for the first time and
 *                      when it is there
 *     ubmem-perf read DESCRIPTOR                speed of reading all of it, cached
 *     ubmem-perf touch DESCRIPTOR N             N processes touch one page of a cached
 *                      import at once; how many could
 *     ubmem-perf share DESCRIPTOR N             change it N times, as others do
 *     ubmem-perf hold DESCRIPTOR [read]         be its owner, or a reader, for ever
 *     ubmem-perf try DESCRIPTOR read|write      ask once to be that
 *     ubmem-perf dirty DESCRIPTOR N             cache it N times, store to each, stay
 *     ubmem-perf close DESCRIPTOR               cache it, store, close when a line comes
 *     ubmem-perf sync DESCRIPTOR...             cache all, store, then fsync, and how long
 *     ubmem-perf receive BYTES N                export a ring, take N messages
 *     ubmem-perf send DESCRIPTOR N              send N
 *     ubmem-perf put DESCRIPTOR N, take DESCRIPTOR N   the same in shared memory, as
 *                      one owner after the other
 *
 * A descriptor is five words.  UBMEM says which device, if not /dev/ubmem0; OPTIONS
 * are words of the command import.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "perf.h"

#define DESC_WORDS 5
#define SAMPLES 300u

static int device(void)
{
    int fd = ubmem_open(getenv("UBMEM"));

    if (fd < 0) {
        die("no device: %s", strerror(errno));
    }
    return fd;
}

static uint8_t *memory(size_t bytes)
{
    uint8_t *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                      MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    if (p == MAP_FAILED) {
        die("no memory: %s", strerror(errno));
    }
    return p;
}

static void import_to(int fd, char **words, const char *options, UbMem *m)
{
    const char *more = getenv("OPTIONS");
    char desc[UBMEM_TEXT], all[UBMEM_TEXT];

    snprintf(desc, sizeof(desc), "%s %s %s %s %s", words[0], words[1],
             words[2], words[3], words[4]);
    snprintf(all, sizeof(all), "%s %s", options, more ? more : "");
    if (ubmem_import(fd, desc, all, m)) {
        die("import: %s", strerror(errno));
    }
}

static void import(char **words, const char *options, UbMem *m)
{
    import_to(device(), words, options, m);
}

/* ---- serve ---- */

static void say(const char *line)
{
    puts(line);
    fflush(stdout);
}

static int serve(int argc, char **argv)
{
    size_t bytes = strtoull(argv[0], NULL, 0);
    uint8_t *p = memory(bytes);
    char desc[UBMEM_TEXT], line[80];
    unsigned id;
    int fd = device();

    if (ubmem_command(fd, desc, "export %#" PRIxPTR " %#zx %s %s %s",
                      (uintptr_t)p, bytes, argc > 1 ? argv[1] : "rwa",
                      argc > 2 ? argv[2] : "", argc > 3 ? argv[3] : "")) {
        die("export: %s", strerror(errno));
    }
    say(desc);
    if (sscanf(desc, "%*s %x", &id) != 1) {
        die("no descriptor: %s", desc);
    }
    while (fgets(line, sizeof(line), stdin)) {
        unsigned at;

        line[strcspn(line, "\n")] = 0;
        if (sscanf(line, "word %x", &at) == 1 && at + 8ul <= bytes) {
            printf("%" PRIx64 "\n", *(volatile uint64_t *)(p + at));
            fflush(stdout);
        } else if (ubmem_command(fd, desc, "%s %u", line, id)) {
            die("%s: %s", line, strerror(errno));
        } else {
            say(desc[0] ? desc : "done");
        }
    }
    return 0;
}

/* ---- the peer's ---- */

static int run_check(int argc, char **argv)
{
    UbMem m;

    import(argv, "", &m);
    check(&m, argc > DESC_WORDS ? strtoull(argv[DESC_WORDS], NULL, 0) : 4096);
    ubmem_unimport(&m);
    puts("checked");
    return 0;
}

static int compare(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

    return (x > y) - (x < y);
}

/* Median and longest of what @one takes, @n times. */
static void measure(const char *name, const UbMem *m, unsigned n,
                    void (*one)(const UbMem *m, unsigned i))
{
    static int64_t ns[SAMPLES];

    for (unsigned i = 0; i < n; i++) {
        int64_t begun = now_ns();

        one(m, i);
        ns[i] = now_ns() - begun;
    }
    qsort(ns, n, sizeof(ns[0]), compare);
    printf("%-8s median %8.2f us  99%% %8.2f us\n", name,
           ns[n / 2] / 1e3, ns[n * 99 / 100] / 1e3);
}

static void one_load(const UbMem *m, unsigned i)
{
    load(m, 8 * (i % 64));
}

static void one_store(const UbMem *m, unsigned i)
{
    store(m, 8 * (i % 64), i);
}

static void one_fence(const UbMem *m, unsigned i)
{
    store(m, 8 * (i % 64), i);
    if (ubmem_fence(m)) {
        die("fence: %s", strerror(errno));
    }
}

static void one_atomic(const UbMem *m, unsigned i)
{
    uint64_t old;

    if (ubmem_atomic(m, 512, "add", 8, 1, 0, &old)) {
        die("atomic: %s", strerror(errno));
    }
}

/* Pages in the order in which they are touched: every other one, so that the driver,
 * which reads ahead of who goes through memory in order, finds no page in front. */
static unsigned touched[SAMPLES];

static unsigned shuffle(size_t bytes)
{
    size_t pages = bytes / sysconf(_SC_PAGESIZE);
    unsigned n = pages / 2 < SAMPLES ? pages / 2 : SAMPLES;
    uint32_t seed = 1;

    for (unsigned i = 0; i < n; i++) {
        unsigned j;

        seed = seed * 1664525 + 1013904223;
        j = (seed >> 8) % (i + 1);
        touched[i] = touched[j];
        touched[j] = 2 * i;
    }
    return n;
}

static void one_fault(const UbMem *m, unsigned i)
{
    load(m, (size_t)touched[i] * sysconf(_SC_PAGESIZE));
}

/* A page of a cached import that the peer is asked for. */
static void perf_faults(char **words)
{
    unsigned n;
    UbMem m;

    import(words, "cached", &m);
    n = shuffle(m.len);
    if (n) {
        measure("fault", &m, n, one_fault);
    }
    ubmem_unimport(&m);
}

static int run_perf(int argc, char **argv)
{
    UbMem m;
    int64_t begun;

    import(argv, "", &m);
    measure("load", &m, SAMPLES, one_load);
    measure("store", &m, SAMPLES, one_store);
    measure("fence", &m, SAMPLES, one_fence);
    measure("atomic", &m, SAMPLES, one_atomic);
    begun = now_ns();
    for (size_t at = 0; at < 65536; at += 8) {
        store(&m, at % m.len, at);
    }
    ubmem_fence(&m);
    printf("stores   %.1f MB/s\n", 65536e3 / (now_ns() - begun));
    ubmem_unimport(&m);
    perf_faults(argv);
    return 0;
}

static sigjmp_buf gone;

static void on_bus(int number)
{
    siglongjmp(gone, number);
}

static int run_watch(int argc, char **argv)
{
    UbMemStatus s;
    UbMem m;

    import(argv, "", &m);
    signal(SIGBUS, on_bus);
    if (sigsetjmp(gone, 1)) {
        say("bus error");
        return 0;
    }
    load(&m, 0);
    say("watching");
    while (load(&m, 0) != UINT64_MAX) {
        usleep(1000);
    }
    if (ubmem_status(&m, &s)) {
        printf("status: %s\n", strerror(errno));
    } else {
        printf("event %#x status %#x\n", s.event, s.status);
    }
    return 0;
}

/* A store now and then, and no fence. */
static int run_drip(int argc, char **argv)
{
    UbMem m;

    import(argv, "", &m);
    signal(SIGBUS, on_bus);
    if (sigsetjmp(gone, 1)) {
        say("bus error");
        return 0;
    }
    say("dripping");
    for (;;) {
        store(&m, 0, 1);
        usleep(500000);
    }
}

/* Whether somebody has written a line, or has gone. */
static bool line_there(void)
{
    struct pollfd p = { .fd = 0, .events = POLLIN };

    return poll(&p, 1, 0) > 0;
}

/* Words in turn, each with a number of its own.  What is loaded is what was stored, but
 * after a failure, which the fence tells of a store, and all ones of a load. */
static int run_steady(int argc, char **argv)
{
    uint64_t n = 0, rounds = 0, failed = 0, got;
    UbMemStatus s;
    char line[8];
    UbMem m;

    import(argv, "", &m);
    say("steady");
    for (;;) {
        size_t at = 8 * (++n % 512);

        store(&m, at, n);
        if (n % 64 == 0 && ubmem_fence(&m)) {
            failed++;
            continue;
        }
        got = load(&m, at);
        if (got == n) {
            rounds++;
        } else if (got == UINT64_MAX || ubmem_fence(&m)) {
            failed++;
        } else {
            is("word", got, n);
        }
        if (n % 16 == 0 && line_there()) {
            if (!fgets(line, sizeof(line), stdin)) {
                return 0;
            }
            printf("%" PRIu64 " %" PRIu64, rounds, failed);
            if (!ubmem_status(&m, &s)) {
                printf(" loads %" PRIu64 " stores %" PRIu64 " event %#x "
                       "status %#x", s.loads, s.stores, s.event, s.status);
            }
            say("");
            rounds = failed = 0;
        }
    }
}

static int run_poke(int argc, char **argv)
{
    UbMem m;

    import(argv, "", &m);
    store(&m, strtoull(argv[DESC_WORDS], NULL, 0),
          strtoull(argv[DESC_WORDS + 1], NULL, 0));
    puts(ubmem_fence(&m) ? strerror(errno) : "stored");
    return 0;
}

static int run_peek(int argc, char **argv)
{
    UbMem m;

    import(argv, "", &m);
    printf("%" PRIx64 "\n", load(&m, strtoull(argv[DESC_WORDS], NULL, 0)));
    return 0;
}

static int run_map(int argc, char **argv)
{
    UbMem m = { .fd = device(), .offset = strtoull(argv[0], NULL, 0),
                .len = strtoull(argv[1], NULL, 0) };
    uint64_t at = strtoull(argv[2], NULL, 0);

    m.base = mmap(NULL, m.len, PROT_READ | PROT_WRITE, MAP_SHARED, m.fd,
                  (off_t)m.offset);
    if (m.base == MAP_FAILED) {
        die("map: %s", strerror(errno));
    }
    if (argc > 3) {
        store(&m, at, strtoull(argv[3], NULL, 0));
        puts(ubmem_fence(&m) ? strerror(errno) : "stored");
    } else {
        printf("%" PRIx64 "\n", load(&m, at));
    }
    return 0;
}

/* ---- cached ---- */

static int run_cached(int argc, char **argv)
{
    UbMem m;

    import(argv, "cached", &m);
    cached_check(&m);
    ubmem_unimport(&m);
    return 0;
}

/* The last of some times: into memory that was not touched before, or that was. */
static void copy_of(const char *name, char **words, const char *options,
                    const uint64_t *from, unsigned times)
{
    double copied = 0, done = 0;
    UbMem m;

    import(words, options, &m);
    while (times--) {
        copied = copy_in(&m, from, &done);
    }
    for (size_t at = 0; at < m.len; at += m.len / 64 & ~7ul) {
        is("what was copied", load(&m, at), from[at / 8]);
    }
    ubmem_unimport(&m);
    printf("%s=%.3f %s_done=%.3f\n", name, copied, name, done);
}

static int run_copy(int argc, char **argv)
{
    size_t bytes = strtoull(argv[3], NULL, 0);
    uint64_t *from = malloc(bytes);

    if (!from) {
        die("no memory");
    }
    for (size_t i = 0; i < bytes / 8; i++) {
        from[i] = i * 0x9e3779b97f4a7c15ull;
    }
    copy_of("window", argv, "", from, 1);
    copy_of("cold", argv, "cached", from, 1);
    copy_of("warm", argv, "cached", from, 2);
    free(from);
    return 0;
}

static int run_read(int argc, char **argv)
{
    uint64_t sum;
    double mbs;
    UbMem m;

    import(argv, "cached", &m);
    mbs = read_through(&m, &sum);
    printf("cached=%.3f sum=%" PRIx64 "\n", mbs, sum);
    ubmem_unimport(&m);
    return 0;
}

/* They share the import, and have a mapping each. */
static int run_touch(int argc, char **argv)
{
    unsigned n = strtoul(argv[DESC_WORDS], NULL, 0), good = 0;
    int start[2], status;
    UbMem m;

    import(argv, "cached", &m);
    if (pipe(start)) {
        die("pipe: %s", strerror(errno));
    }
    for (unsigned i = 0; i < n; i++) {
        char c;

        switch (fork()) {
        case -1:
            die("fork: %s", strerror(errno));
        case 0:
            close(start[1]);
            /* Nobody writes: it ends when they all may begin. */
            if (read(start[0], &c, 1)) {
                _exit(1);
            }
            load(&m, 0);
            _exit(0);
        }
    }
    close(start[1]);
    while (wait(&status) > 0) {
        good += !status;
    }
    printf("touched %u\n", good);
    ubmem_unimport(&m);
    return 0;
}

static int run_share(int argc, char **argv)
{
    UbMem m;

    import(argv, "shared", &m);
    shared_change(&m, strtoul(argv[DESC_WORDS], NULL, 0));
    puts("shared");
    ubmem_unimport(&m);
    return 0;
}

static void stay(const char *line)
{
    say(line);
    for (;;) {
        pause();
    }
}

static int run_hold(int argc, char **argv)
{
    bool reads = argc > DESC_WORDS;
    UbMem m;

    import(argv, "shared", &m);
    signal(SIGBUS, on_bus);
    if (sigsetjmp(gone, 1)) {
        own(&m, reads ? "read" : "write");
        if (reads) {
            load(&m, 8);
        } else {
            store(&m, 8, 1);
        }
        stay("holding");
    }
    /* Nobody may touch it who does not own it. */
    load(&m, 0);
    die("loaded without Ownership");
}

static int run_try(int argc, char **argv)
{
    UbMem m;

    import(argv, "shared", &m);
    puts(ubmem_own(&m, argv[DESC_WORDS]) ? strerror(errno) : "owned");
    return 0;
}

/* Until a line comes. */
static void wait_dirty(void)
{
    char line[8];

    say("dirty");
    if (!fgets(line, sizeof(line), stdin)) {
        die("nobody says when");
    }
}

/* Imports of one file. */
static int run_sync(int argc, char **argv)
{
    int fd = device(), err;
    int64_t begun;
    UbMem m;

    for (; argc >= DESC_WORDS; argc -= DESC_WORDS, argv += DESC_WORDS) {
        import_to(fd, argv, "cached", &m);
        store(&m, 0, 1);
    }
    wait_dirty();
    begun = now_ns();
    err = fsync(fd) ? errno : 0;
    printf("%s in %.0f ms\n", strerror(err), (now_ns() - begun) / 1e6);
    return 0;
}

static int run_close(int argc, char **argv)
{
    UbMem m;

    import(argv, "cached", &m);
    store(&m, 0, 1);
    wait_dirty();
    munmap(m.base, m.len);
    close(m.fd);
    puts("closed");
    return 0;
}

static int run_dirty(int argc, char **argv)
{
    UbMem m;

    for (unsigned n = strtoul(argv[DESC_WORDS], NULL, 0); n; n--) {
        import(argv, "cached", &m);
        store(&m, 0, n);
    }
    stay("dirty");
    return 0;
}

/* ---- a ring ---- */

static int run_receive(int argc, char **argv)
{
    size_t bytes = strtoull(argv[0], NULL, 0);
    uint8_t *p = memory(bytes);
    char desc[UBMEM_TEXT];

    if (ubmem_export(device(), p, bytes, "rw", desc)) {
        die("export: %s", strerror(errno));
    }
    say(desc);
    ring_receive(p, bytes, strtoul(argv[1], NULL, 0));
    puts("received");
    return 0;
}

static int run_send(int argc, char **argv)
{
    unsigned messages = strtoul(argv[DESC_WORDS], NULL, 0);
    int64_t begun;
    UbMem m;

    import(argv, "strong", &m);
    begun = now_ns();
    ring_send(&m, messages);
    printf("sent %u in %.1f ms\n", messages, (now_ns() - begun) / 1e6);
    return 0;
}

static int ring_shared(char **argv, const char *said,
                       void (*run)(const UbMem *m, unsigned messages))
{
    unsigned messages = strtoul(argv[DESC_WORDS], NULL, 0);
    int64_t begun;
    UbMem m;

    import(argv, "shared", &m);
    begun = now_ns();
    run(&m, messages);
    printf("%s %u in %.1f ms\n", said, messages, (now_ns() - begun) / 1e6);
    ubmem_unimport(&m);
    return 0;
}

static int run_put(int argc, char **argv)
{
    return ring_shared(argv, "put", ring_put);
}

static int run_take(int argc, char **argv)
{
    return ring_shared(argv, "took", ring_take);
}

static const struct {
    const char *name;
    int words;
    int (*run)(int argc, char **argv);
} commands[] = {
    { "serve", 1, serve },
    { "check", DESC_WORDS, run_check },
    { "perf", DESC_WORDS, run_perf },
    { "watch", DESC_WORDS, run_watch },
    { "drip", DESC_WORDS, run_drip },
    { "steady", DESC_WORDS, run_steady },
    { "poke", DESC_WORDS + 2, run_poke },
    { "peek", DESC_WORDS + 1, run_peek },
    { "map", 3, run_map },
    { "cached", DESC_WORDS, run_cached },
    { "copy", DESC_WORDS, run_copy },
    { "read", DESC_WORDS, run_read },
    { "touch", DESC_WORDS + 1, run_touch },
    { "share", DESC_WORDS + 1, run_share },
    { "hold", DESC_WORDS, run_hold },
    { "try", DESC_WORDS + 1, run_try },
    { "dirty", DESC_WORDS + 1, run_dirty },
    { "close", DESC_WORDS, run_close },
    { "sync", DESC_WORDS, run_sync },
    { "receive", 2, run_receive },
    { "send", DESC_WORDS + 1, run_send },
    { "put", DESC_WORDS + 1, run_put },
    { "take", DESC_WORDS + 1, run_take },
};

int main(int argc, char **argv)
{
    for (unsigned i = 0; argc > 1 && i < sizeof(commands) / sizeof(commands[0]);
         i++) {
        if (!strcmp(argv[1], commands[i].name) &&
            argc - 2 >= commands[i].words) {
            return commands[i].run(argc - 2, argv + 2);
        }
    }
    die("usage: ubmem-perf serve BYTES [RIGHTS [TOKEN [shared]]]\n"
        "       ubmem-perf receive BYTES N\n"
        "       ubmem-perf map OFFSET BYTES AT [VALUE]\n"
        "       ubmem-perf check|perf|cached|copy|read|touch|share|hold|try|dirty|"
        "close|sync|watch|drip|steady|send|put|take|poke|peek "
        "DESCRIPTOR ...");
}
