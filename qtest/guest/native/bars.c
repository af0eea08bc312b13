/*
 * Processor 0 takes a device's BARs out of the map and puts them back, as drivers do when
 * they come and go, while processor 1 sleeps and is woken, of which every time is an
 * access to its interrupt controller.
 *
 *   bars CONFIG ROUNDS       CONFIG: the device's config in sysfs
 *
 * Ends with 1 when processor 1 is woken no more.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#define _GNU_SOURCE
#include <err.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

enum { COMMAND = 4, COMMAND_MEMORY = 2 }; /* PCI's, of two bytes, little endian */
enum { PATIENCE = 60 };                   /* seconds, until it is sure */
enum { ROW = 100 };                       /* rounds between two looks */

static atomic_ulong woken;

static void stay_on(int cpu)
{
    cpu_set_t set;

    CPU_ZERO(&set);
    CPU_SET(cpu, &set);
    if (sched_setaffinity(0, sizeof(set), &set)) {
        err(2, "processor %d", cpu);
    }
}

static void *sleep_often(void *unused)
{
    struct timespec t = { .tv_nsec = 100000 };

    stay_on(1);
    for (;;) {
        nanosleep(&t, NULL);
        woken++;
    }
    return unused;
}

static void set_command(int fd, uint16_t value)
{
    uint8_t bytes[] = { value, value >> 8 };

    if (pwrite(fd, bytes, sizeof(bytes), COMMAND) != sizeof(bytes)) {
        err(2, "write");
    }
}

/* By a clock that needs no interrupt. */
static int wait_woken(unsigned long before)
{
    struct timespec t;
    time_t limit;

    clock_gettime(CLOCK_MONOTONIC, &t);
    limit = t.tv_sec + PATIENCE;
    while (woken == before) {
        clock_gettime(CLOCK_MONOTONIC, &t);
        if (t.tv_sec > limit) {
            return -1;
        }
    }
    return 0;
}

int main(int argc, char **argv)
{
    int fd = argc == 3 ? open(argv[1], O_RDWR) : -1;
    unsigned long before = 0;
    uint8_t bytes[2];
    uint16_t command;
    pthread_t t;

    if (fd < 0 || pread(fd, bytes, sizeof(bytes), COMMAND) != sizeof(bytes)) {
        errx(2, "usage: bars CONFIG ROUNDS");
    }
    command = bytes[0] | bytes[1] << 8;
    stay_on(0);
    if (pthread_create(&t, NULL, sleep_often, NULL)) {
        errx(2, "no thread");
    }
    for (unsigned i = 0; i < (unsigned)atoi(argv[2]); i++) {
        set_command(fd, command & ~COMMAND_MEMORY);
        set_command(fd, command | COMMAND_MEMORY);
        if (i % ROW == 0) {
            if (wait_woken(before)) {
                printf("processor 1 stands since round %u\n", i);
                return 1;
            }
            before = woken;
        }
    }
    printf("ok\n");
    return 0;
}
