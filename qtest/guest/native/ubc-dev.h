/*
 * The ubc of a guest in user space: its files in sysfs.  What goes wrong ends the
 * program.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef GUEST_NATIVE_UBC_DEV_H
#define GUEST_NATIVE_UBC_DEV_H

#include <stdint.h>

/* Say so on stderr, and end. */
void die(const char *format, ...) __attribute__((format(printf, 1, 2), noreturn));

/* Its directory, once it was found. */
extern char device[300];
void device_find(void);
/* The number in a file of it; 0: there is none. */
unsigned long device_number(const char *name);
void device_put(const char *name, const char *text);
/* Memory and bus mastering are on. */
void device_master(void);
/* The first @size bytes of a BAR. */
volatile uint8_t *device_map(unsigned bar, uint64_t size);

#endif
