/*
 * A permission table that a program without any rights writes itself (UB 2.0 §9.1,
 * §9.4.4), and a peer's accesses by it.
 *
 *     ub-mapt OWN PEER link    until the link of port 0 is up
 *     ub-mapt OWN PEER owner   a page of memory for peers; commands by lines, below
 *     ub-mapt OWN PEER user    accesses to the owner's page; commands by lines
 *
 * The owner makes the UMMU's tables, then becomes nobody and keeps nothing but a block
 * of permission tables, a page of registers and rings of a queue of unprivileged
 * software, and the memory itself.  Its lines:
 *
 *     grant RIGHTS A [B]   RIGHTS: 1 write, 2 read, 4 atomic; both TokenValues
 *     revoke               nobody is granted anything
 *     far                  the next table is said to be outside of the block
 *     near                 it is where it was
 *     tell                 the UMMU forgets what it has of all this
 *     word                 the first word of the memory
 *
 * The user's, each answered by the status of the completion:
 *
 *     write TOKEN VALUE    read TOKEN
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "../../ubm-drv.h"
#include "ub/tah.h"
#include "ub/ubc_hw.h"
#include "ubc-dev.h"
#include "ubc-drv.h"

#define TOKEN_ID 77u
#define QUEUE 5u        /* of unprivileged software */
#define RING_LOG2 6
#define UBA UINT64_C(0x7000000000)
#define PAGE 4096u
#define ROW 9u
#define NOBODY 65534
#define BLOCK_LOG2 4

static bool line_get(char line[80])
{
    fflush(stdout);
    return fgets(line, 80, stdin);
}

/* ---- The owner ---- */

static UbmDrv ummu;             /* with rights */
static UbmDrv own;              /* what the program has */
static UbmMapt mapt;
static uint64_t data, commands, completions;
static volatile uint8_t *queue_page;
static uint16_t command_pi, completion_ci;
static uint32_t next_was;

static uint32_t ummu_read(void *opaque, uint32_t at)
{
    return ubc_read(NULL, UBM_WINDOW + at);
}

static void ummu_write(void *opaque, uint32_t at, uint32_t value)
{
    ubc_write(NULL, UBM_WINDOW + at, value);
}

static UbmDrv piece(void)
{
    uint64_t at;
    uint8_t *p = ubc_huge(&at);

    return (UbmDrv) {
        .memory = (uint8_t *)((uintptr_t)p - at), .brk = at,
        .end = at + UBC_HUGE, .reg_read = ummu_read, .reg_write = ummu_write,
        .progress = ubc_progress,
    };
}

static uint32_t queue_read(unsigned reg)
{
    return *(volatile uint32_t *)(queue_page + reg);
}

/* All that needs rights. */
static void tables_make(void)
{
    uint64_t tcte, ctx;

    ummu = piece();
    own = piece();
    ubm_open(&ummu, 8);
    tcte = ubm_context(&ummu, TOKEN_ID, 0);
    mapt = (UbmMapt) { .d = &own, .log2 = BLOCK_LOG2, .used = 1, .last = 3,
                       .block = ubm_alloc(&own, PAGE << BLOCK_LOG2, PAGE) };
    data = ubm_alloc(&own, PAGE, PAGE);
    ubm_map(&ummu, TOKEN_ID, UBA, data, PAGE, 0);
    ubm_word_put(&ummu, tcte + 24,
                 mapt.block | (uint64_t)BLOCK_LOG2 << 60);
    ubm_word_put(&ummu, tcte, ubm_word(&ummu, tcte) | UBM_TCTE_MAPT_EN |
                 UBM_TCTE_MAPT_MODE | 1 << 17);
    ctx = ubm_alloc(&ummu, UBM_UCTX * 8, 64);
    commands = ubm_alloc(&own, PAGE, PAGE);
    completions = ubm_alloc(&own, PAGE, PAGE);
    ubm_word_put(&ummu, ctx + UBM_UCTX * QUEUE + UBM_UCTX_CMD,
                 commands | RING_LOG2 << 2);
    ubm_word_put(&ummu, ctx + UBM_UCTX * QUEUE + UBM_UCTX_CPL,
                 completions | RING_LOG2 << 2);
    ubm_word_put(&ummu, ctx + UBM_UCTX * QUEUE + UBM_UCTX_TOKEN, TOKEN_ID);
    ubm_write64(&ummu, UBM_UQ_CTX, ctx | 3);
    ubm_flush(&ummu, TOKEN_ID);
}

/* A page of registers, that of the queue alone. */
static volatile uint8_t *queue_map(void)
{
    char path[400];
    void *p;
    int fd;

    snprintf(path, sizeof(path), "%s/resource0", device);
    fd = open(path, O_RDWR);
    p = fd < 0 ? MAP_FAILED
               : mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd,
                      UBM_WINDOW + UBM_UQ(QUEUE));
    if (p == MAP_FAILED) {
        die("no page of the queue");
    }
    close(fd);
    return p;
}

/* From now on there is no way back. */
static void rights_drop(void)
{
    char path[400];

    if (munmap((void *)ubc_regs, UBC_BAR_SIZE) ||
        munmap((void *)ubc_pages, UBQ_PAGE) ||
        munmap(ummu.memory + (ummu.end - UBC_HUGE), UBC_HUGE)) {
        die("the BARs and tables stay");
    }
    if (setgroups(0, NULL) || setgid(NOBODY) || setuid(NOBODY)) {
        die("the rights stay");
    }
    snprintf(path, sizeof(path), "%s/resource0", device);
    if (open(path, O_RDWR) >= 0 || errno != EACCES || !setuid(0)) {
        die("nobody may do all");
    }
}

/* A command and PSYNC, whose completion says that both are done. */
static void tell(void)
{
    const time_t end = time(NULL) + UBC_PATIENCE;
    const uint32_t mask = (1u << RING_LOG2) - 1;
    uint64_t at = commands + (command_pi++ & mask) * UBM_UCMD;
    uint32_t done;

    ubm_word_put(&own, at, UBM_UCMD_PLBI_VA);
    ubm_word_put(&own, at + 8, UBA);
    at = commands + (command_pi++ & mask) * UBM_UCMD;
    ubm_word_put(&own, at, UBM_UCMD_PSYNC);
    command_pi &= 2 * mask + 1;
    __atomic_thread_fence(__ATOMIC_RELEASE);
    *(volatile uint32_t *)(queue_page + UBM_UQ_CMD_PI) = command_pi;
    while (queue_read(UBM_UQ_CPL_PI) == completion_ci) {
        if (time(NULL) > end) {
            die("PSYNC does not end");
        }
        usleep(100);
    }
    done = get_le32(own.memory + completions +
                    (completion_ci++ & mask) * UBM_UCPL);
    completion_ci &= 2 * mask + 1;
    *(volatile uint32_t *)(queue_page + UBM_UQ_CPL_CI) = completion_ci;
    if (done != (UBM_UCPL_OK | (uint32_t)command_pi << 16)) {
        die("PSYNC: %x", done);
    }
}

static void owner_line(const char *line)
{
    uint64_t entry = ubm_multi_entry(&mapt, UBA, 3);
    uint64_t above = ubm_multi_entry(&mapt, UBA, 2);
    unsigned rights;
    uint32_t a, b;
    int n = sscanf(line, "grant %u %x %x", &rights, &a, &b);

    if (n >= 2) {
        ubm_mapte(&own, entry, UBM_MAPTE_V |
                  (rights & 1 ? UBM_MAPTE_WRITE : 0) |
                  (rights & 2 ? UBM_MAPTE_READ : 0) |
                  (rights & 4 ? UBM_MAPTE_ATOMIC : 0), 0, PAGE - 1, a);
        put_le32(own.memory + entry + UBM_MAPTE_TOKEN1, n == 3 ? b : a);
    } else if (!strcmp(line, "revoke\n")) {
        put_le32(own.memory + entry, 0);
    } else if (!strcmp(line, "far\n")) {
        next_was = get_le32(own.memory + above);
        put_le32(own.memory + above,
                 UBM_MAPTE_V | (PAGE << BLOCK_LOG2) / 32 << 12);
    } else if (!strcmp(line, "near\n")) {
        put_le32(own.memory + above, next_was);
    } else if (!strcmp(line, "tell\n")) {
        tell();
    } else if (!strcmp(line, "word\n")) {
        printf("%" PRIx64 "\n", ubm_word(&own, data));
        return;
    } else {
        die("what is %s", line);
    }
    puts("done");
}

static void owner(void)
{
    char line[80];

    ubc_attach();
    tables_make();
    queue_page = queue_map();
    rights_drop();
    ubm_multi_entry(&mapt, UBA, 3);
    puts("nobody");
    while (line_get(line)) {
        owner_line(line);
    }
}

/* ---- Its user ---- */

static void user(unsigned peer)
{
    UbqPeer them = { .cna = peer, .eid = { [15] = peer }, .upi = 1 };
    char line[80], what[8];
    UbqQueue queue;
    uint64_t room;
    UbqDrv drv;
    UbqCq cq;

    ubc_attach();
    drv = ubc_drv();
    ubq_open(&drv);
    room = ubq_alloc(&drv, PAGE, PAGE);
    ubq_cq_open(&cq, &drv, 8);
    ubq_queue_open(&queue, &drv, &cq, &cq, UB_ROI, 0);
    ubq_dest(&drv, ROW, 1, 0, &them);
    puts("ready");
    while (line_get(line)) {
        bool writes = line[0] == 'w';
        uint64_t value = 0;
        unsigned status;
        uint32_t token;
        uint8_t *s;

        if (sscanf(line, "%7s %" SCNx32 " %" SCNx64, what, &token, &value) <
            2 + writes) {
            die("what is %s", line);
        }
        put_le64(drv.memory + room, value);
        s = ubq_sqe(&queue, 1);
        ubq_sqe_put(s, (writes ? UB_TA_WRITE : UB_TA_READ) | UBQ_SQE_TOKEN,
                    ROW, room, 8);
        put_le32(s + UBQ_SQE_TARGET, TOKEN_ID);
        put_le32(s + UBQ_SQE_TOKEN_VALUE, token);
        put_le64(s + UBQ_SQE_ADDR, UBA);
        ubq_post(&queue, s, 1);
        status = ubq_cqe_status(ubc_complete(&cq, what));
        if (status == UBQ_STATUS_OK && !writes) {
            printf("ok %" PRIx64 "\n", get_le64(drv.memory + room));
        } else {
            puts(status == UBQ_STATUS_OK ? "ok"
                 : status == UBQ_STATUS_UNSUPPORTED ? "refused" : "failed");
        }
    }
}

int main(int argc, char **argv)
{
    const char *what = argc == 4 ? argv[3] : "";

    if (!strcmp(what, "link")) {
        ubc_attach();
        ubc_link_up();
    } else if (!strcmp(what, "owner")) {
        owner();
    } else if (!strcmp(what, "user")) {
        user(strtoul(argv[2], NULL, 0));
    } else {
        die("ub-mapt OWN PEER link|owner|user");
    }
    return 0;
}
