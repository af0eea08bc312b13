/*
 * Commands to a switch as lines of JSON, in the manner of QMP:
 *
 *     -> { "execute": "query-ports", "id": 1 }
 *     <- { "return": [ ... ], "id": 1 }
 *     <- { "error": { "class": "GenericError", "desc": "..." } }
 *
 * docs/specs/ub-switch.rst has the commands.  Whoever has the socket, file or
 * terminal hands over whole lines and sends what comes back.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef UB_SWITCH_ADMIN_H
#define UB_SWITCH_ADMIN_H

#include "ub/switch.h"

/* The longest command. */
#define UB_SWITCH_LINE_MAX 65536

typedef struct UbSwitchAdmin UbSwitchAdmin;

/* @sw stays the caller's and outlives it. */
UbSwitchAdmin *ub_switch_admin_new(UbSwitch *sw, const char *name);
void ub_switch_admin_free(UbSwitchAdmin *a);

/* What a new client is greeted with.  This and the lines below end with a newline
 * and are the caller's (free). */
char *ub_switch_admin_greeting(UbSwitchAdmin *a);
/* Obey a command of @len bytes without its newline, at the time @now; the answer,
 * or NULL for an empty line or one that begins with #. */
char *ub_switch_admin_line(UbSwitchAdmin *a, int64_t now, const char *line,
                           size_t len);
/* What carries a port's bytes, for query-ports. */
typedef struct UbSwitchWire {
    const char *kind;       /* NULL: nothing is connected */
    const char *address;    /* where it listens or connects to; NULL: nowhere */
    uint64_t sent, received;    /* bytes of this connection */
    uint64_t broken;        /* connections that ended by a fault of the peer */
} UbSwitchWire;

/* Who knows; may be NULL. */
void ub_switch_admin_set_wires(UbSwitchAdmin *a,
                               void (*get)(void *opaque, unsigned port,
                                           UbSwitchWire *out), void *opaque);
/* The last command failed. */
bool ub_switch_admin_failed(const UbSwitchAdmin *a);
/* A port's link may have another state. */
void ub_switch_admin_link(UbSwitchAdmin *a, unsigned port);
/* A hot-plug slot shows something else. */
void ub_switch_admin_slot(UbSwitchAdmin *a, unsigned slot);
/* The next event for all clients, or NULL; @real is the time of day in us. */
char *ub_switch_admin_event(UbSwitchAdmin *a, int64_t real);
/* "quit" was asked for. */
bool ub_switch_admin_quit(const UbSwitchAdmin *a);

/* A packet at a port, for the capture that may be running. */
void ub_switch_admin_capture(UbSwitchAdmin *a, int64_t now, unsigned port,
                             bool sent, unsigned cfg, unsigned vl,
                             const uint8_t *data, size_t len);
/* Hand what was captured to its file. */
void ub_switch_admin_flush(UbSwitchAdmin *a);

#endif
