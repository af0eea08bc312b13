/*
 * Two link management state machines joined by perfect lanes, in virtual time.
 *
 * The lanes carry whole blocks and the events that a PCS would make of AMCTLs,
 * so the machines are proven without it.  Wires may be crossed, cut or made to
 * spoil blocks.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef LMSM_SIM_H
#define LMSM_SIM_H

#include <glib.h>

#include "lmsm.h"

typedef struct Sim Sim;

typedef struct SimPort {
    UbLmsm l;
    Sim *sim;
    struct SimPort *peer;
    GArray *wire;               /* SimRecord on the way to this port */
    uint8_t map[UB_LMSM_LANES]; /* our TX wire -> the peer's RX wire */
    unsigned cut;               /* TX wires that carry nothing any more */
    unsigned spoil;             /* TX wires: every spoil_nth block is broken */
    unsigned spoil_nth, spoil_count;
    unsigned enabled;           /* RX wires that hunt */
    unsigned tx_rate, rx_rate;  /* nothing is heard at another rate */
    bool mute;                  /* nothing leaves this port */
    /* What the transmitter does. */
    unsigned lanes;
    uint8_t phys[UB_LMSM_LANES];
    bool data;
    unsigned width, period, woken;
    uint8_t wake_ltb[UB_LMSM_LANES][UB_LMB_SYMBOLS];
    /* What was seen. */
    unsigned sdfs, edfs, eeibs, eeis, statuses, last_fec;
    bool last_interleave;
    bool no_lm;                 /* LM blocks get lost */
    UbPhyModeGate gate;         /* of the data link layer */
    GArray *trace;              /* UbLmsmTransitionId */
} SimPort;

struct Sim {
    SimPort port[2];
    int64_t now;
};

/* Both ports with that configuration; change sim->port[i].l.cfg before run. */
Sim *sim_new(const UbLmsmConfig *cfg);
void sim_free(Sim *s);

/* Start both; run until both are in `state` or `limit` ns have passed. */
void sim_start(Sim *s);
bool sim_run(Sim *s, unsigned state, int64_t limit);
/* Run while time < limit and until `done` (may be NULL) says so. */
bool sim_until(Sim *s, bool (*done)(Sim *s), int64_t limit);
/* Link_Active at that rate with LinkReady on both sides. */
bool sim_ready(Sim *s, int64_t limit);

/* Whether the port has made that transition, and how often. */
unsigned sim_count(const SimPort *p, UbLmsmTransitionId id);

/* Ops of one port without a peer: for tests that feed blocks by hand. */
extern const UbLmsmOps sim_ops;

#endif
