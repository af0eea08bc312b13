/*
 * Two emulators behind ub-switch, node n at port n - 1.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef SWITCH_FABRIC_H
#define SWITCH_FABRIC_H

#include "ubc-eng.h"
#include "switch-program.h"

typedef struct Fabric {
    const char *props;  /* of both devices; begins with a comma */
    char *dir;
    bool tls;           /* node 1 by TLS */
    SwitchProgram sw;
    QUbc *q[2];
    Eng e[2];
} Fabric;

/* Machine @i, of a kind, with more words; not attached yet. */
QUbc *fabric_machine(Fabric *f, unsigned i, const char *kind,
                     const char *more);
/* The switch, both nodes; all links are up. */
void fabric_start(Fabric *f, const char *props);
/* The same, node 1 by TLS. */
void fabric_start_tls(Fabric *f, const char *props);
void fabric_stop(Fabric *f);
/* A machine and its node; its port is enabled. */
void fabric_node(Fabric *f, unsigned i);
/* Both links are up. */
void fabric_wait(Fabric *f);
/* Queues and segments of both. */
void fabric_engines(Fabric *f, const EngPlan *plan);
/* @len bytes each way by Write and Read. */
void fabric_both_ways(Fabric *f, uint32_t len, uint32_t seed);

#endif
