/*
 * What the PCIe functions around RDMA engines have in common.  QEMU only; all
 * calls with the big lock held.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef RDMA_SHELL_H
#define RDMA_SHELL_H

#include "qemu/main-loop.h"
#include "qemu/timer.h"

/* The engine's time. */
int64_t rdma_shell_now(void);
/* The engine wants to be polled again at @next, which may be at once (@now) or
 * never (INT64_MAX). */
void rdma_shell_next(QEMUBH *bh, QEMUTimer *timer, int64_t now, int64_t next);

#endif
