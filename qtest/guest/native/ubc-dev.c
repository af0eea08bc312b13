/*
 * The ubc of a guest in user space: its files in sysfs.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <dirent.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "ub/ubc_hw.h"
#include "ubc-dev.h"

void die(const char *format, ...)
{
    va_list args;

    va_start(args, format);
    vfprintf(stderr, format, args);
    va_end(args);
    fputc('\n', stderr);
    exit(1);
}

char device[300];

unsigned long device_number(const char *name)
{
    char path[400], line[64] = "";
    FILE *f;

    snprintf(path, sizeof(path), "%s/%s", device, name);
    f = fopen(path, "r");
    if (f) {
        if (!fgets(line, sizeof(line), f)) {
            line[0] = 0;
        }
        fclose(f);
    }
    return strtoul(line, NULL, 0);
}

void device_find(void)
{
    static const char base[] = "/sys/bus/pci/devices";
    DIR *d = opendir(base);
    struct dirent *e;

    while (d && (e = readdir(d))) {
        snprintf(device, sizeof(device), "%s/%s", base, e->d_name);
        if (device_number("vendor") == UBC_VENDOR_ID &&
            device_number("device") == UBC_DEVICE_ID) {
            closedir(d);
            return;
        }
    }
    die("there is no ubc");
}

void device_put(const char *name, const char *text)
{
    char path[400];
    int fd;

    snprintf(path, sizeof(path), "%s/%s", device, name);
    fd = open(path, O_WRONLY);
    if (fd < 0 || write(fd, text, strlen(text)) < 0) {
        perror(path);
    }
    close(fd);
}

void device_master(void)
{
    char path[400];
    uint16_t command;
    int fd;

    snprintf(path, sizeof(path), "%s/config", device);
    fd = open(path, O_RDWR);
    if (fd < 0 || pread(fd, &command, 2, 4) != 2) {
        die("no configuration space");
    }
    command |= 6;
    if (pwrite(fd, &command, 2, 4) != 2) {
        die("no bus mastering");
    }
    close(fd);
}

volatile uint8_t *device_map(unsigned bar, uint64_t size)
{
    char path[400];
    void *p;
    int fd;

    snprintf(path, sizeof(path), "%s/resource%u", device, bar);
    fd = open(path, O_RDWR);
    p = fd < 0 ? MAP_FAILED : mmap(NULL, size, PROT_READ | PROT_WRITE,
                                   MAP_SHARED, fd, 0);
    if (p == MAP_FAILED) {
        perror(path);
        exit(1);
    }
    close(fd);
    return p;
}
