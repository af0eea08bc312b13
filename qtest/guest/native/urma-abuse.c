/*
 * Bad behaviour: random commands, calls and mappings of a URMA device.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ubc.h"
#include "urma-end.h"

static uint64_t dice(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return *state >> 33;
}

/* A field that is mostly as it should be. */
static void abuse_attr(struct urma_attr *a, uint64_t *rng, uint8_t *page)
{
    switch (dice(rng) % 24) {
    case 0:
        a->size = dice(rng);
        break;
    case 1:
        a->elements = dice(rng);
        break;
    case 2:
        a->data = dice(rng) << 20;
        break;
    case 3:
        a->type = dice(rng);
        break;
    case 4:
        a->data = (uintptr_t)page + 4096 - dice(rng) % 16;
        break;
    default:
        break;
    }
}

static void abuse_args(uint8_t *args, uint32_t bytes, uint64_t *rng)
{
    for (uint32_t i = 0; i + 4 <= bytes; i += 4) {
        uint32_t v = dice(rng) % 3 ? dice(rng) % 9 : dice(rng);

        memcpy(args + i, &v, 4);
    }
}

static void abuse_call(int fd, uint64_t *rng, uint8_t *page)
{
    static __thread uint8_t args[64 << 10];
    uint32_t command = dice(rng) % (URMA_COMMANDS + 4);
    const struct urma_spec *spec = command < URMA_COMMANDS
                                   ? &urma_specs[command] : NULL;
    struct urma_attr attr[URMA_ATTRS_MAX] = { 0 };
    uint32_t n = spec && spec->fields ? spec->fields : dice(rng) % 8;
    struct urma_hdr hdr = {
        .command = command, .args_len = n * sizeof(attr[0]),
        .args_addr = (uintptr_t)attr,
    };

    abuse_args(args, spec && spec->bytes ? spec->bytes : 512, rng);
    for (uint32_t i = 0; i < n; i++) {
        if (spec && spec->fields) {
            const struct urma_field *f = &spec->field[i];

            attr[i] = (struct urma_attr) {
                .type = f->type, .size = f->size,
                .elements = f->count ? f->count | f->stride << 12 : 1,
                .data = (uintptr_t)args + f->at,
            };
        }
        abuse_attr(&attr[i], rng, page);
    }
    if (dice(rng) % 20 == 0) {
        hdr.args_len = dice(rng) % 5000;
    }
    ioctl(fd, URMA_IOC_DEVICE, &hdr);
    if (dice(rng) % 8 == 0) {
        size_t bytes = 4096 << dice(rng) % 5;
        void *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd,
                        dice(rng) % 40 << 12);

        if (at != MAP_FAILED) {
            ((volatile uint32_t *)at)[dice(rng) % 64] = dice(rng);
            ((volatile uint64_t *)at)[dice(rng) % 3] = dice(rng);
            munmap(at, bytes);
        }
    }
}

/* Calls of the descriptors of events; none of them waits. */
static void abuse_event(int fd, uint64_t *rng)
{
    uint8_t args[512];
    uint32_t command = dice(rng) % (URMA_EVENT_COMMANDS + 1);
    struct urma_attr attr[4] = { 0 };
    struct urma_hdr hdr = { .command = command,
                            .args_len = dice(rng) % 5 * sizeof(attr[0]),
                            .args_addr = (uintptr_t)attr };

    memset(args, 0, sizeof(args));
    args[0] = dice(rng);            /* WAIT_JFCE: max; its time-out is 0 */
    for (unsigned i = 0; i < 4; i++) {
        attr[i] = (struct urma_attr) {
            .type = (i & 1) | (i & 2) << 6, .size = i == 3 ? 128 : 4,
            .elements = 1,
            .data = (uintptr_t)args + 8 * i,
        };
        if (dice(rng) % 8 == 0) {
            attr[i].size = dice(rng);
        }
    }
    fcntl(fd, F_SETFL, O_NONBLOCK);
    ioctl(fd, URMA_IOC_EVENT, &hdr);
}

typedef struct Abuse {
    int fd, async_fd, jfce_fd;
    uint64_t rng;
    uint8_t *page;
} Abuse;

static void *abuse_run(void *opaque)
{
    Abuse *a = opaque;

    for (unsigned i = 0; i < 100; i++) {
        abuse_call(a->fd, &a->rng, a->page);
        abuse_event(i & 1 ? a->async_fd : a->jfce_fd, &a->rng);
    }
    return NULL;
}

/* Two threads do it to one context, which ends with its process. */
static void abuse_context(uint64_t seed, uint8_t *page)
{
    const EndConfig all = {
        .trans_mode = URMA_RM, .plain = 1, .events = 1,
        .access = URMA_ACCESS_READ | URMA_ACCESS_WRITE | URMA_ACCESS_ATOMIC,
    };
    Abuse a, b;
    pthread_t thread;
    End end;

    end_open(&end);
    /* Now and then one that has everything. */
    if (dice(&seed) % 2) {
        end_make(&end, &all);
    }
    a = (Abuse) {
        .fd = end.ctx->dev_fd, .async_fd = end.ctx->async_fd,
        .jfce_fd = end.jfce ? end.jfce->fd : -1, .rng = seed, .page = page,
    };
    b = a;
    b.rng = dice(&seed);
    END_MUST(!pthread_create(&thread, NULL, abuse_run, &b));
    abuse_run(&a);
    pthread_join(thread, NULL);
    _exit(0);
}

void end_abuse(uint64_t seed, unsigned long n)
{
    uint8_t *page = mmap(NULL, 8192, PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    END_MUST(page != MAP_FAILED && !mprotect(page + 4096, 4096, PROT_NONE));
    for (unsigned long done = 0; done < n; done += 200) {
        uint64_t child_seed = dice(&seed);
        pid_t child = fork();
        int status;

        END_MUST(child >= 0);
        if (!child) {
            abuse_context(child_seed, page);
        }
        END_MUST(waitpid(child, &status, 0) == child && !status);
    }
    printf("abused\n");
}

/* ---- Rings ------------------------------------------------------------------------- */

static void scribble(uint8_t *at, size_t bytes, uint64_t *rng)
{
    for (unsigned i = 0; i < 64; i++) {
        uint32_t word = dice(rng) << 1;

        memcpy(at + dice(rng) % (bytes / 4) * 4, &word, 4);
    }
}

void end_corrupt(uint64_t seed, unsigned long n)
{
    const EndConfig cfg = { .trans_mode = URMA_RM, .plain = 1,
                            .access = URMA_ACCESS_READ | URMA_ACCESS_WRITE };

    for (unsigned long i = 0; i < n; i++) {
        EndAddress self;
        UbcJetty *jetty;
        UbcJfr *jfr;
        UbcJfc *jfc;
        UbcCtx *ctx;
        End end;

        end_open(&end);
        end_make(&end, &cfg);
        end_address(&end, &self);
        end_import(&end, &self, END_TOKEN);
        ctx = (UbcCtx *)end.ctx;
        jetty = (UbcJetty *)end.jetty;
        jfr = (UbcJfr *)end.jfr;
        jfc = (UbcJfc *)end.jfc;
        for (unsigned k = 0; k < 16; k++) {
            END_MUST(!end_post_recv(&end, 0, 4096, k));
            end_write(&end, URMA_WR_WRITE, 0, 0, 65536, 30000);
            end_send(&end, URMA_WR_SEND, 0, 0, 2000, 0);
            scribble(jetty->sq.at, jetty->sq.bytes, &seed);
            scribble(jfr->rq.at, jfr->rq.bytes, &seed);
            scribble(jfc->at, jfc->bytes, &seed);
            ubc_os_bell(ctx->bells, dice(&seed) % 4 * 8,
                        (dice(&seed) << 32 | jetty->sq.id) ^
                        dice(&seed) % 3);
        }
        /* What the engine does with it is nobody's to poll; all goes away. */
        end_close(&end);
    }
    printf("corrupted\n");
}
