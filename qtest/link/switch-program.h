/*
 * ub-switch as a process of a test.  FABRIC_UB_SWITCH names the program.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef SWITCH_PROGRAM_H
#define SWITCH_PROGRAM_H

#include "qobject/qdict.h"

typedef struct SwitchProgram {
    char *dir;          /* has all sockets */
    unsigned ports;
    const char *config; /* commands to begin with, or NULL */
    unsigned first;     /* its port p listens at DIR/port(first + p) */
    const char *ethernet; /* address of an Ethernet port, @ is DIR; or NULL */
    const char *link;   /* of one more port, to another switch; the same */
    bool tls;           /* port 0 is TLS with the key of DIR/keys, on TCP */
    GPid pid;           /* 0: it does not run */
    int control;
} SwitchProgram;

/* The program, or NULL: it is not built. */
const char *switch_program(void);
/* A switch whose port p listens at DIR/portP.  @tls: see above; the key is made. */
void switch_start(SwitchProgram *s, const char *dir, unsigned ports,
                  const char *config, bool tls);
/* kill -9; and once more as it was. */
void switch_kill(SwitchProgram *s);
void switch_again(SwitchProgram *s);
/* In order. */
void switch_stop(SwitchProgram *s);
/* What a command returns; the caller's.  @text: { "execute": ... } */
QDict *switch_command(SwitchProgram *s, const char *text);
/* A counter of a port. */
uint64_t switch_counter(SwitchProgram *s, unsigned port, const char *name);
/* The same of an Ethernet port, as a link of Ethernet. */
uint64_t switch_ether_counter(SwitchProgram *s, unsigned port,
                              const char *name);
/* The TCP port that port 0 with TLS listens at. */
unsigned switch_tcp(SwitchProgram *s);
/* What carries the bytes of a port; the caller's. */
char *switch_wire(SwitchProgram *s, unsigned port);
/* Ports that packets pass. */
unsigned switch_ports_up(SwitchProgram *s);
/* Bytes of memory that the process has. */
uint64_t switch_memory(const SwitchProgram *s);

#endif
