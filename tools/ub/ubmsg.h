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

#define UBMSG_KEPT 32       /* events of slots; of errors */
#define UBMSG_SILENT 8      /* nodes whose silence is waited for in full */

/* An event of a hot-plug slot, or an error: MGMTETAH and PDU. */
typedef struct UbmsgPlug {
    uint32_t scna;
    uint8_t data[UB_MGMT_ETAH + 8];
} UbmsgPlug;

/* Some of them, the oldest first; more are lost, and counted. */
typedef struct UbmsgList {
    UbmsgPlug event[UBMSG_KEPT];
    unsigned n, lost;
} UbmsgList;

typedef struct UbmsgDev {
    int fd;
    unsigned tries;     /* of what nobody answers */
    unsigned patience;  /* tries of what software answers, 0: as of all */
    uint16_t msn;
    bool gone;          /* the controller is */
    unsigned events;    /* that came while an answer was waited for */
    UbmsgList plugs, errors;
    /* Nodes that did not answer: they are asked once from then on. */
    uint32_t silent[UBMSG_SILENT];
    unsigned silences;
    const sigset_t *signals; /* held back but while it waits; NULL: as ever */
    const volatile sig_atomic_t *ended; /* nothing is waited for any more; or NULL */
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
/* Those who were silent are asked as others again. */
void ubmsg_fresh(UbmsgDev *d);
/* Wait for an event for @ms milliseconds.  False: none came, or an error alone. */
bool ubmsg_event(UbmsgDev *d, int ms);
/* The next event of a slot that has come; false: there is none. */
bool ubmsg_plug(UbmsgDev *d, UbmsgPlug *event);
/* The same of errors. */
bool ubmsg_error(UbmsgDev *d, UbmsgPlug *event);

/* What include/ub/fm.h needs; its opaque is a UbmsgDev. */
extern const UbFmOps ubmsg_fm_ops;

#endif
