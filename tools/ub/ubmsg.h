/*
 * Asking the nodes of a fabric through /dev/ubmsgN.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef UBMSG_H
#define UBMSG_H

#include <signal.h>

#include "../../linux/ub/ub_msg_uapi.h"
#include "ub/fm.h"

typedef struct UbmsgDev {
    int fd;
    unsigned tries;     /* of what nobody answers */
    uint16_t msn;
    bool gone;          /* the controller is */
    unsigned events;    /* that came while an answer was waited for */
    const sigset_t *signals; /* held back while an event is waited for; NULL: as ever */
} UbmsgDev;

/* Open it; @events: hear of links and errors.  False: errno says why. */
bool ubmsg_open(UbmsgDev *d, const char *path, bool events);
void ubmsg_close(UbmsgDev *d);
/* Keep other programs that ask for the lock waiting; it ends with the program. */
void ubmsg_lock(UbmsgDev *d, bool on);
/*
 * Send and wait: @msg and @data (of UB_MSG_MAX bytes) become the answer.  False:
 * there was none.
 */
bool ubmsg_ask(UbmsgDev *d, struct ub_msg *msg, uint8_t *data);
/* Wait for an event for @ms milliseconds, -1: for ever.  False: none came. */
bool ubmsg_event(UbmsgDev *d, int ms, struct ub_msg *msg, uint8_t *data);

/* What include/ub/fm.h needs; its opaque is a UbmsgDev. */
extern const UbFmOps ubmsg_fm_ops;

#endif
