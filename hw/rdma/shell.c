/*
 * What the PCIe functions around RDMA engines have in common: time.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "qemu/osdep.h"
#include "rdma/shell.h"

int64_t rdma_shell_now(void)
{
    return qemu_clock_get_ns(QEMU_CLOCK_VIRTUAL);
}

void rdma_shell_next(QEMUBH *bh, QEMUTimer *timer, int64_t now, int64_t next)
{
    if (next <= now) {
        qemu_bh_schedule(bh);
    } else if (next == INT64_MAX) {
        timer_del(timer);
    } else if (timer_expire_time_ns(timer) != next) {
        timer_mod(timer, next);         /* may wake the main loop */
    }
}
