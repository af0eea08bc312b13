/*
 * The drivers of qtest/ubq-drv.h and ubm-drv.h in a program of a guest, whose ubc is its
 * files in sysfs.  What goes wrong ends the program.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef GUEST_NATIVE_UBC_DRV_H
#define GUEST_NATIVE_UBC_DRV_H

#include "../../ubq-drv.h"

#define UBC_HUGE (2u << 20)
#define UBC_PATIENCE 240    /* seconds */

/* BAR0 and BAR2, once they are mapped. */
extern volatile uint8_t *ubc_regs, *ubc_pages;

/* The controller is on, and its BARs are mapped. */
void ubc_attach(void);
/* Port 0 is enabled; back when its link is up. */
void ubc_link_up(void);
/* UBC_HUGE bytes that the device sees in one piece, of zeroes, and where. */
uint8_t *ubc_huge(uint64_t *at);
/* A driver of queues whose memory is such a piece. */
UbqDrv ubc_drv(void);
uint32_t ubc_read(void *opaque, uint32_t at);
void ubc_write(void *opaque, uint32_t at, uint32_t value);
/* While something is waited for. */
void ubc_progress(void *opaque);
/* The next completion, whatever its status. */
const uint8_t *ubc_complete(UbqCq *cq, const char *what);

#endif
