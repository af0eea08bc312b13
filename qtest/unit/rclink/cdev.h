/*
 * The character device of the driver rclink, played by this program: what
 * librclink asks of Linux goes to ports of a rig.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef CDEV_H
#define CDEV_H

#include "rig.h"

/* /dev/rclink-0 and so on: the ends of a new rig; @cfg may be NULL. */
Rig *cdev_new(unsigned n, const RclinkConfig *cfg);
/* Asserts that nothing is open or mapped any more. */
void cdev_free(void);
/* What programs wrote into mapped registers goes to the ports, which work until
 * nothing is left to be done. */
void cdev_settle(void);

/* What goes wrong. */
typedef struct CdevFaults {
    bool gone;                  /* the device of every file */
    long mmap_at;               /* the mapping at this offset fails; or -1 */
    uint32_t reg;               /* this register cannot be set; or -1 */
    int poll;                   /* errno of the next poll(); or 0 */
} CdevFaults;
extern CdevFaults cdev_faults;

/* Files and mappings that there are. */
unsigned cdev_files(void);
unsigned cdev_mappings(void);
/* Reads that took messages; mapped registers that were written. */
extern unsigned cdev_reads, cdev_writes;
/* A piece of the memory of file @fd. */
uint8_t *cdev_piece(int fd, unsigned piece);
RigEnd *cdev_end(int fd);

#endif
