/*
 * Processors that poll: whether they look so often that nobody else need be woken.
 *
 * The owner calls all of this under one lock, but ubc_look_on().
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef HW_UB_UBC_LOOK_H
#define HW_UB_UBC_LOOK_H

#include <stdbool.h>
#include <stdint.h>

typedef struct UbcLookConfig {
    uint32_t looks; /* in a row, from which on nobody is woken; 0: always somebody is */
    int64_t pause;  /* nanoseconds between two in a row, at most */
    int64_t time;   /* after so long without a look nobody polls any more */
} UbcLookConfig;

typedef struct UbcLook {
    UbcLookConfig conf;
    bool on;
    uint32_t row;   /* looks without a longer pause, up to conf.looks */
    int64_t last;   /* when the last look was over */
    uint64_t looks, begun; /* how many there were, how often it went on */
} UbcLook;

/* A look begins.  True: from now on nobody is woken, and ubc_look_watch() is due after
 * conf.time. */
bool ubc_look_begin(UbcLook *l, int64_t now);
/* It is over. */
void ubc_look_end(UbcLook *l, int64_t now);
/* 0: nobody looks any more, and others are woken; who has been told before that they are
 * not has rung already.  Else when to ask again. */
int64_t ubc_look_watch(UbcLook *l, int64_t now);
/* Without the lock, behind a doorbell that has rung: whether the next look, or who watches,
 * finds it. */
bool ubc_look_on(const UbcLook *l);

#endif
