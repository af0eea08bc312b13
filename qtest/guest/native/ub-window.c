/*
 * Loads, stores and atomics on another guest's memory through BAR4 of ubc, from a
 * program: registers, doorbells and window are the device's files in sysfs.
 *
 *     ub-window PEER link        until the link is up, which takes both ends
 *     ub-window PEER serve       share a page until SIGTERM
 *     ub-window PEER check       use the peer's, which serves
 *     ub-window PEER both N      meet the peer, which does the same, and load and
 *                                store N times; then share until SIGTERM
 *     ub-window PEER doorbells N one thread waits for a deaf peer, one rings N times
 *     ub-window PEER deaf        one load that nobody answers
 *     ub-window PEER again       one load that nobody answers; made again, the peer does
 *     ub-window PEER parts       a store in parts, the last of which wait for room, then
 *                                nothing until SIGTERM, and a reset of the controller
 *     ub-window PEER until       load and store until a load brings all ones
 *     ub-window PEER eject       two loads, the device goes during the first
 *     ub-window PEER reset       a load, and a reset of the controller ends it
 *     ub-window PEER bench       latency and rate
 *
 * A page that was shared is not, when the program ends: peers would write to memory
 * that has become somebody else's.
 *
 * Numbers of nodes are CNAs, as the property cna of the device has them.  Static, so
 * that a guest needs nothing.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/io.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "core/bytes.h"
#include "ub/lds_hw.h"
#include "ub/ubc_hw.h"
#include "ub/urma_hw.h"
#include "ubc-dev.h"

#define PAGE 4096u
#define TOKEN_ID 77u
#define TOKEN 0xfeed1234u
#define UBA 0x10000u
#define ROW 9u      /* to the peer */
#define DEAF_ROW 10u
#define DEAF (2u << 20) /* MiB of the window */
#define CFG_BYPASS 9
#define CFG_CNA16 6
#define STORES 128u /* under way at most */
#define OP_READ 0x06
#define OP_FETCH_ADD 0x0b
#define OP_CAS 0x07

static volatile uint8_t *regs, *pages, *window;
static uint64_t window_at, window_size;
static uint8_t *commands, *shared;
static unsigned command_pi;

static int64_t now_us(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000000ll + t.tv_nsec / 1000;
}

/* ---- Memory ---- */

/* A page that stays where it is, and where that is. */
static uint8_t *page_new(uint64_t *phys)
{
    uint8_t *p = mmap(NULL, PAGE, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_LOCKED | MAP_POPULATE,
                      -1, 0);
    int fd = open("/proc/self/pagemap", O_RDONLY);
    uint64_t entry;

    if (p == MAP_FAILED || fd < 0) {
        die("no page");
    }
    memset(p, 0, PAGE);
    if (pread(fd, &entry, 8, (uintptr_t)p / PAGE * 8) != 8 ||
        !(entry >> 63)) {
        die("no physical address");
    }
    close(fd);
    *phys = (entry & ((1ull << 55) - 1)) * PAGE;
    return p;
}

/* ---- The device ---- */

static void window_find(void)
{
    char path[400], line[200];
    unsigned long long from, to;
    FILE *f;

    snprintf(path, sizeof(path), "%s/resource", device);
    f = fopen(path, "r");
    for (unsigned i = 0; i <= 4; i++) {
        if (!f || !fgets(line, sizeof(line), f)) {
            die("no resources");
        }
    }
    fclose(f);
    if (sscanf(line, "%llx %llx", &from, &to) != 2 || to <= from) {
        die("no window");
    }
    window_at = from;
    window_size = to - from + 1;
}

static uint32_t rd(uint32_t at)
{
    return *(volatile uint32_t *)(regs + at);
}

static void wr(uint32_t at, uint32_t value)
{
    *(volatile uint32_t *)(regs + at) = value;
}

static void wr64(uint32_t at, uint64_t value)
{
    wr(at, value);
    wr(at + 4, value >> 32);
}

static uint32_t decoder(unsigned dw)
{
    return UBC_CFG_WINDOW +
           4 * (UB_CFG_CAP(UB_CFG1_BASE, UB_CAP_DECODER) + dw);
}

/* ---- Commands of the engine ---- */

/* UBQ_RESULT_*. */
static unsigned command_try(unsigned opcode, uint8_t cmd[UBQ_CMD])
{
    uint8_t *at = commands + command_pi++ % 32 * UBQ_CMD;
    int64_t end = now_us() + 60000000;

    put_le16(cmd + UBQ_CMD_OPCODE, opcode);
    memcpy(at, cmd, UBQ_CMD);
    __atomic_thread_fence(__ATOMIC_RELEASE);
    wr(UBQ_CMD_WINDOW + UBQ_CMD_PI, command_pi);
    while (!*(volatile uint32_t *)(at + UBQ_CMD_RESULT)) {
        if (now_us() > end) {
            die("command %x is not answered", opcode);
        }
        usleep(100);
    }
    return get_le32(at + UBQ_CMD_RESULT) & ~UBQ_DONE;
}

static void command(unsigned opcode, uint8_t cmd[UBQ_CMD])
{
    unsigned result = command_try(opcode, cmd);

    if (result) {
        die("command %x: %x", opcode, result);
    }
}

static void segment(uint64_t phys)
{
    uint8_t cmd[UBQ_CMD] = { 0 };

    put_le32(cmd + UBQ_CMD_OBJECT, TOKEN_ID);
    put_le64(cmd + UBQ_SEG_UBA, UBA);
    put_le64(cmd + UBQ_SEG_BASE, phys);
    put_le64(cmd + UBQ_SEG_LENGTH, PAGE);
    put_le32(cmd + UBQ_SEG_ACCESS, UBQ_SEG_READ | UBQ_SEG_WRITE |
                                   UBQ_SEG_ATOMIC | UBQ_SEG_TOKEN);
    put_le32(cmd + UBQ_SEG_TOKEN_VALUE, TOKEN);
    put_le32(cmd + UBQ_SEG_TOKEN_OLD, TOKEN);
    command(UBQ_OP_SEGMENT_SET, cmd);
}

static void segment_clear(void)
{
    uint8_t cmd[UBQ_CMD] = { 0 };

    put_le32(cmd + UBQ_CMD_OBJECT, TOKEN_ID);
    command_try(UBQ_OP_SEGMENT_CLEAR, cmd);
}

/* The peer hears UPI 1; another one it does not. */
static void dest(unsigned row, unsigned peer, unsigned carrier, unsigned upi)
{
    uint8_t cmd[UBQ_CMD] = { 0 };

    put_le32(cmd + UBQ_CMD_OBJECT, row);
    cmd[UBQ_DST_WAY + UBQ_WAY_CFG] = carrier == 3 ? CFG_BYPASS : CFG_CNA16;
    cmd[UBQ_DST_WAY + UBQ_WAY_PORT] = 0xff;
    put_le32(cmd + UBQ_DST_WAY + UBQ_WAY_DCNA, peer);
    cmd[UBQ_DST_CARRIER] = carrier;
    cmd[UBQ_DST_FORM] = carrier == 3 ? 0 : 1;
    put_le16(cmd + UBQ_DST_MTU, 4096);
    put_le32(cmd + UBQ_DST_UPI, upi);
    cmd[UBQ_DST_DEID + 15] = peer;
    command(UBQ_OP_DEST_SET, cmd);
}

/* ---- Tables ---- */

static void page_put(uint8_t *l1, unsigned mib, unsigned row)
{
    uint8_t *e = l1 + mib * UB_LDS_ENTRY;

    put_le64(e, UB_LDS_TYPE_PAGE | UB_LDS_TOKEN_VLD | UBA);
    put_le64(e + 8, (uint64_t)row << UB_LDS_DEST_SHIFT);
    put_le64(e + 32, TOKEN_ID | (uint64_t)TOKEN << 32);
}

static uint8_t *l1;

static void tables(void)
{
    uint64_t l0_at, l1_at;
    uint8_t *l0 = page_new(&l0_at);

    l1 = page_new(&l1_at);
    put_le64(l0, UB_LDS_TYPE_TABLE | l1_at);
    page_put(l1, 0, ROW);
    page_put(l1, DEAF >> 20, DEAF_ROW);
    __atomic_thread_fence(__ATOMIC_RELEASE);
    wr64(decoder(UB_DECODER_MATT_BA), l0_at);
    wr64(decoder(UB_DECODER_MMIO_BA), window_at);
    wr(decoder(UB_DECODER_CTRL), 1);
}

static void link_wait(void)
{
    int64_t end = now_us() + 120000000;

    wr(UBC_PORT(0) + UBC_PORT_CTRL, UBC_PORT_CTRL_ENABLE);
    while (!(rd(UBC_PORT(0) + UBC_PORT_STATUS) & UBC_PORT_STATUS_DLL_UP)) {
        if (now_us() > end) {
            die("the link does not come up");
        }
        usleep(10000);
    }
}

static void set_up(unsigned peer)
{
    uint64_t at;

    device_find();
    device_put("enable", "1");
    device_master();
    window_find();
    regs = device_map(0, UBC_BAR_SIZE);
    pages = device_map(2, UBQ_PAGE);
    window = device_map(4, window_size);
    commands = page_new(&at);
    wr(UBQ_CMD_WINDOW + UBQ_CMD_CTRL, 0);
    wr64(UBQ_CMD_WINDOW + UBQ_CMD_BASE_LO, at);
    wr(UBQ_CMD_WINDOW + UBQ_CMD_SIZE, 5);
    wr(UBQ_CMD_WINDOW + UBQ_CMD_CTRL, UBQ_CMD_ENABLE);
    link_wait();
    shared = page_new(&at);
    segment(at);
    dest(ROW, peer, 3, 1);
    dest(DEAF_ROW, peer, 1, 5);
    tables();
}

/* ---- The window ---- */

static uint64_t load(uint64_t at)
{
    return *(volatile uint64_t *)(window + at);
}

static void store(uint64_t at, uint64_t value)
{
    *(volatile uint64_t *)(window + at) = value;
}

static uint64_t control(uint32_t at)
{
    return window_size - UB_LDS_CONTROL + at;
}

static uint64_t fence(void)
{
    return load(control(UB_LDS_FENCE));
}

static uint64_t slot(unsigned reg)
{
    return control(UB_LDS_SLOT(0) + reg);
}

static uint64_t go(unsigned opcode, uint64_t at, uint64_t a, uint64_t b)
{
    store(slot(UB_LDS_SLOT_DATA), a);
    store(slot(UB_LDS_SLOT_DATA2), b);
    store(slot(UB_LDS_SLOT_ADDR), at);
    store(slot(UB_LDS_SLOT_GO), opcode | 8 << 8);
    if (load(slot(UB_LDS_SLOT_WAIT)) != UB_LDS_SLOT_DONE) {
        die("command %x: %llx", opcode,
            (unsigned long long)load(slot(UB_LDS_SLOT_STATUS)));
    }
    return load(slot(UB_LDS_SLOT_RESULT));
}

/* ---- What it can do ---- */

/* Words of the shared page. */
enum { QUESTION = 0, ANSWER = 8, MEETING = 16, STORED = 64 };

#define NUMBER 0x0123456789abcdefull

static sigset_t term;

static void say(const char *what)
{
    printf("%s\n", what);
    fflush(stdout);
}

static void is(const char *what, uint64_t got, uint64_t want)
{
    if (got != want) {
        die("%s: %llx, not %llx", what, (unsigned long long)got,
            (unsigned long long)want);
    }
}

static volatile uint64_t *mine(unsigned at)
{
    return (volatile uint64_t *)(shared + at);
}

static void linked(void)
{
    say("linked"); /* set_up() has waited for it */
}

/* The answer is three times the question, as soon as that changes. */
static void serve(void)
{
    const struct timespec tick = { .tv_nsec = 1000000 };

    say("serving");
    while (sigtimedwait(&term, NULL, &tick) < 0) {
        if (*mine(ANSWER) != 3 * *mine(QUESTION)) {
            *mine(ANSWER) = 3 * *mine(QUESTION);
        }
    }
}

static void check(void)
{
    uint64_t failed = load(control(UB_LDS_FAILED));
    int64_t end;

    fence(); /* what failed before is not ours */
    for (unsigned i = 16; i < PAGE / 8; i++) {
        store(8 * i, i * 0x0101010101010101ull);
    }
    is("fence", fence(), 0);
    for (unsigned i = 16; i < PAGE / 8; i++) {
        is("word", load(8 * i), i * 0x0101010101010101ull);
    }
    *(volatile uint8_t *)(window + 131) = 0x5a;
    *(volatile uint16_t *)(window + 134) = 0xa5a5;
    is("bytes", load(128), 0xa5a510105a101010ull);
    is("half", *(volatile uint32_t *)(window + 132), 0xa5a51010);
    store(1024, 40);
    is("fetch and add", go(OP_FETCH_ADD, 1024, 2, 0), 40);
    is("sum", load(1024), 42);
    is("compare and swap", go(OP_CAS, 1024, 42, 7), 42);
    is("swapped", load(1024), 7);
    /* A program there has seen it, and its answer is seen here. */
    store(QUESTION, 1234567);
    for (end = now_us() + 60000000; load(ANSWER) != 3 * 1234567;) {
        if (now_us() > end) {
            die("no answer of the peer's program");
        }
    }
    is("failed", load(control(UB_LDS_FAILED)) - failed, 0);
    say("checked");
}

/* Until the peer's program is there, and knows that we are.  Each writes to the other
 * that it is there (1), then that it has read so (2); what is written before the other
 * shares its page is refused, and written again. */
static void meet(void)
{
    int64_t end = now_us() + 120000000;
    uint64_t state = 1;

    for (;;) {
        bool written;

        fence();
        store(MEETING, state);
        written = !fence();
        if (state == 2 && written && *mine(MEETING) == 2) {
            return;
        }
        state = *mine(MEETING) ? 2 : 1;
        if (now_us() > end) {
            die("the peer's program does not come");
        }
        usleep(1000);
    }
}

static void both(unsigned n)
{
    int number;

    meet();
    for (unsigned i = 0; i < n; i++) {
        store(2048 + 8 * (i % 64), i);
        is("both", load(2048 + 8 * (i % 64)), i);
    }
    say("both");
    sigwait(&term, &number);
}

static void until(void)
{
    int64_t end = now_us() + 300000000;

    say("loading");
    while (load(2048) != UINT64_MAX) {
        store(2048, 1);
        if (now_us() > end) {
            die("the peer has not gone");
        }
    }
    say("lost");
}

static volatile bool over;

static void *wait_deaf(void *opaque)
{
    is("deaf", load(DEAF), UINT64_MAX);
    over = true;
    return NULL;
}

/* A thread whose load waits. */
static pthread_t begin_waiting(void *(*thread)(void *))
{
    int64_t end = now_us() + 60000000;
    pthread_t t;

    pthread_create(&t, NULL, thread, NULL);
    while (!load(control(UB_LDS_PENDING))) {
        if (now_us() > end) {
            die("the load does not wait");
        }
    }
    return t;
}

/* Doorbells and registers while another processor waits; that its link goes, which
 * this one does, ends it. */
static void doorbells(unsigned n)
{
    pthread_t t = begin_waiting(wait_deaf);
    int64_t begun = now_us();

    for (unsigned i = 0; i < n; i++) {
        *(volatile uint64_t *)(pages + UBQ_BELL_CQ) = 0xfffff;
        is("ports", rd(UBC_PORTS), 1);
    }
    is("still waiting", over, false);
    printf("doorbells %u us %lld\n", n, (long long)(now_us() - begun));
    wr(UBC_PORT(0) + UBC_PORT_CTRL, 0);
    pthread_join(t, NULL);
    is("waiting", load(control(UB_LDS_PENDING)), 0);
    link_wait();
}

/* Two loads, between which a processor looks at nothing else: the second goes where
 * the first went, whatever has become of that. */
static uint64_t load_twice(uint64_t at)
{
    uint64_t first, second;

    __asm__ volatile("movq (%2), %0\n\tmovq (%2), %1"
                     : "=&r"(first), "=&r"(second) : "r"(window + at)
                     : "memory");
    is("first", first, UINT64_MAX);
    return second;
}

static void *wait_twice(void *opaque)
{
    /* What was there, or what is where nothing is. */
    uint64_t second = load_twice(DEAF);

    printf("second %llx\n", (unsigned long long)second);
    return NULL;
}

/* The machine's hot plug controller: bus, and slots that are to be given up. */
enum { PCIHP = 0xcc0, PCIHP_EJECT = PCIHP + 8, PCIHP_BUS = PCIHP + 16 };

/* While a load waits the device goes, unknown to the kernel, which would wait for the
 * load. */
static void eject(void)
{
    pthread_t t;

    if (ioperm(PCIHP, 32, 1)) {
        die("no ports");
    }
    t = begin_waiting(wait_twice);
    for (unsigned bus = 0; bus < 4; bus++) {
        outl(bus, PCIHP_BUS);
        outl(1, PCIHP_EJECT);
    }
    pthread_join(t, NULL);
    say("gone");
    _exit(0);
}

/* The controller is reset while a load waits. */
static void reset(void)
{
    pthread_t t = begin_waiting(wait_deaf);

    wr(UBC_CTRL, UBC_CTRL_RESET);
    pthread_join(t, NULL);
    say("reset");
    _exit(0);
}

static void deaf(void)
{
    printf("%llx\n", (unsigned long long)load(DEAF));
}

static uint64_t deaf_value;

static void *load_deaf(void *opaque)
{
    deaf_value = load(DEAF + STORED);
    return NULL;
}

/* The tables lead to the peer while the load is under way by what they were.  That it is
 * so the device's counter of commands says: a processor that waits answers nobody, so
 * others cannot be asked for much. */
static void again(void)
{
    pthread_t t;

    store(STORED, NUMBER);
    is("fence", fence(), 0);
    t = begin_waiting(load_deaf);
    page_put(l1, DEAF >> 20, ROW);
    __atomic_thread_fence(__ATOMIC_RELEASE);
    wr(decoder(UB_DECODER_CTRL), 1);
    store(slot(UB_LDS_SLOT_ADDR), MEETING);
    store(slot(UB_LDS_SLOT_GO), OP_READ | 8 << 8);
    pthread_join(t, NULL);
    is("made again", deaf_value, NUMBER);
    say("again");
}

/* As many stores as there may be but one are under way to a deaf peer, so that what the
 * processor makes of one that is not aligned finds room for two at most: one that goes
 * out when the next is to another KiB, and that. */
static void parts(void)
{
    volatile uint8_t *odd = window + DEAF + (STORES << 10) - 1;
    int got;

    for (unsigned i = 0; i < STORES - 1; i++) {
        store(DEAF + (i << 10), i);
    }
    store(control(UB_LDS_FENCE), 0);
    *(volatile uint64_t *)odd = NUMBER;
    say("parts");
    sigwait(&term, &got);
    wr(UBC_CTRL, UBC_CTRL_RESET);
    _exit(0);
}

static int compare(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

    return (x > y) - (x < y);
}

static void bench(void)
{
    static int64_t us[400];
    int64_t begun, joined, apart;

    for (unsigned i = 0; i < 400; i++) {
        begun = now_us();
        load(8 * (i % 64));
        us[i] = now_us() - begun;
    }
    qsort(us, 400, sizeof(us[0]), compare);
    begun = now_us();
    for (unsigned i = 0; i < 16 * PAGE / 8; i++) {
        store(8 * i % PAGE, i);
    }
    fence();
    joined = now_us() - begun;
    begun = now_us();
    for (unsigned i = 0; i < PAGE / 8; i++) {
        store(8 * i, i);
        store(control(UB_LDS_FENCE), 0);
    }
    fence();
    apart = now_us() - begun;
    printf("load_us %lld stores_us %.2f fenced_stores_us %.2f\n",
           (long long)us[200], joined / (16.0 * PAGE / 8),
           apart / (PAGE / 8.0));
}

/* What the program may be told to do. */
static const struct {
    const char *name;
    void (*plain)(void);
    void (*times)(unsigned n);
} actions[] = {
    { "link", linked }, { "serve", serve }, { "check", check },
    { "both", NULL, both },
    { "doorbells", NULL, doorbells }, { "deaf", deaf }, { "again", again },
    { "parts", parts }, { "until", until },
    { "eject", eject }, { "reset", reset }, { "bench", bench },
};

int main(int argc, char **argv)
{
    unsigned i = 0;

    if (argc < 3) {
        die("usage: ub-window PEER ACTION [N]");
    }
    while (i < sizeof(actions) / sizeof(actions[0]) &&
           strcmp(argv[2], actions[i].name)) {
        i++;
    }
    if (i == sizeof(actions) / sizeof(actions[0])) {
        die("unknown: %s", argv[2]);
    }
    sigemptyset(&term);
    sigaddset(&term, SIGTERM);
    sigprocmask(SIG_BLOCK, &term, NULL);
    set_up(atoi(argv[1]));
    atexit(segment_clear);
    if (actions[i].plain) {
        actions[i].plain();
    } else {
        actions[i].times(argc > 3 ? atoi(argv[3]) : 100);
    }
    return 0;
}
