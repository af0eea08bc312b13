/*
 * What passes a wire: the capture of the first of two emulators, packet by packet.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef UBC_WATCH_H
#define UBC_WATCH_H

#include "ubc-eng.h"

typedef struct Seen {
    unsigned cfg, vl;
    const uint8_t *p;
    uint32_t len;       /* with the ICRC */
} Seen;

typedef struct Watch {
    EngPair p, *pair;
    char *dir, *path;
    gchar *file;        /* when it has ended */
    GArray *sent, *came;
} Watch;

/* Two machines as eng_start() has them; @more: properties of both, behind a comma, or
 * "". */
void watch_start(Watch *w, const EngPlan *plan, const char *more);
/* The same, of a pair that is not in @w. */
void watch_pair(Watch *w, EngPair *p, const EngPlan *plan, const char *more);
/* Both end; their packets are in sent and came. */
void watch_look(Watch *w);
/* The packets of a capture: those that port @port sent, and those that came. */
void watch_read(const gchar *file, gsize size, unsigned port, GArray *sent,
                GArray *came);
void watch_end(Watch *w);
/* The @n-th packet of @cfg; how many there are. */
const Seen *watch_packet(const GArray *list, unsigned cfg, unsigned n);
unsigned watch_packets(const GArray *list, unsigned cfg);

#endif
