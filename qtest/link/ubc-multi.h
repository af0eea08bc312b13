/*
 * Two controllers with three links each to one switch, which counts: port p of end e is at
 * its port multi_switch_port(e, p), and has the Port CNA MULTI_CNA(e, p) if it has one.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef UBC_MULTI_H
#define UBC_MULTI_H

#include "ubc-eng.h"
#include "switch-program.h"

#define MULTI_PORTS 3u
#define MULTI_ALL 7u                /* of them */
#define MULTI_CNA(end, port) (0x10u * ((end) + 1) + (port))
#define MULTI_LEN 64u               /* of multi_write() */

typedef struct Multi {
    char *dir;
    SwitchProgram sw;
    QUbc *q[2];
    Eng e[2];
} Multi;

/* How a row leads to the other end; 0: the usual. */
typedef struct MultiWay {
    uint32_t dcna, scna;
    uint8_t rt, lbf;
    bool grouped;       /* by RTP: channels of a group */
    uint32_t group;
} MultiWay;

/* What the switch got from the ports of an end, what it sent them. */
typedef struct MultiCounts {
    uint64_t from[MULTI_PORTS], to[MULTI_PORTS];
} MultiCounts;

/* All links are up, both have a queue and a segment.  @more: properties of both, behind a
 * comma, or "". */
void multi_start(Multi *m, const char *more);
void multi_stop(Multi *m);
bool multi_all_up(Multi *m);

unsigned multi_switch_port(unsigned end, unsigned port);
/* A command to the switch; its entry of a CNA. */
G_GNUC_PRINTF(2, 3)
void multi_tell(Multi *m, const char *format, ...);
void multi_route(Multi *m, unsigned cna, const char *ports);

/* A register of the configuration space that is beyond the window. */
void multi_register_set(Eng *e, uint32_t dw, uint32_t value);
void multi_port_cna(Eng *e, unsigned port, uint32_t cna);
void multi_enable(Multi *m, unsigned end, unsigned port, bool on);

/* The way of ENG_DEST. */
void multi_lead(Eng *e, const MultiWay *w);
/* A Write, posted; one of the first end that comes to the other one. */
void multi_post(Eng *e, uint8_t value);
void multi_write(Multi *m, uint8_t value);
/* Since @was: which ports the switch got packets from, or sent them to; how many at all. */
MultiCounts multi_counts(Multi *m, unsigned end);
unsigned multi_used(Multi *m, unsigned end, const MultiCounts *was, bool to,
                    uint64_t *all);
/* Messages of one queue, of which the first comes last: they complete at the target in the
 * order that they were posted in (ODR[2], §7.3.2). */
void multi_first_last(Multi *m, unsigned n);

#endif
