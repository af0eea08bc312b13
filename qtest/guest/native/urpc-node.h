/*
 * Ends of URPC over jetties, for programs in guests, and the functions that they have.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef URPC_NODE_H
#define URPC_NODE_H

#include "collective.h"
#include "jetty.h"
#include "samples.h"
#include "urma-end.h"

#define UNIT URPC_UNIT_STORAGE
#define CARRIER_AT (2u << 20)   /* the second half of the segment is the carrier's */
#define MESSAGE_MAX 8192u
#define DEPTH 8u
#define RECEIVES 56u
#define SENDS 32u
#define ARGS_MAX (1u << 20)
#define LOG_MAX (2u << 20)
#define SECOND 1000000000ll

/* Of nodes, beside those of the samples. */
enum {
    METHOD_BOTH = 0x30,         /* calls the caller's echo, and says what it said */
    METHOD_HOLD,                /* has no end but by the time-out of calls */
    METHOD_FOUR,                /* says what it was told, when four calls are there */
    METHOD_SUM,                 /* of bytes by reference, 8 bytes */
    METHOD_OWNED,               /* how many functions peers have deployed, 4 bytes */
};

/* How two nodes speak with each other. */
typedef enum Mode {
    MODE_PLAIN,
    MODE_TOGETHER,              /* four nodes: urpc-together.c */
    MODE_LATE,                  /* calls that are executed have a time-out */
    MODE_LOST,                  /* calls that are made have a short one */
    MODE_MERGE,                 /* Acks come with Responses */
    MODE_REDIRECT,              /* there is a third node */
} Mode;

/* An end with all that it stands on. */
typedef struct Node {
    End end;
    UrpcJetty *jetty;
    Urpc *u;
    UrpcFunctions *fns;
    LogStore *logs;
    UrpcCall *held[DEPTH], *four[4];
    unsigned n_held, n_four;
    unsigned deployed;          /* functions of peers */
    urma_target_jetty *third;
} Node;

int64_t now(void);
/* The end alone; with functions of its own. */
void node_open(Node *n);
void node_make(Node *n);
/* Whose memory EID Index 1 is; in front of node_join(). */
void node_third(Node *n, const EndAddress *third);
void node_join(Node *n, const EndAddress *peer, uint32_t channel,
               UrpcFunctions *fns, Mode mode);
void node_turn(Node *n);
/* Functions give up the calls that they hold. */
void node_release(Node *n);
void node_close(Node *n);

/* urpc-functions.c: those above. */
void functions_add(Node *n);
/* Of functions that hold calls: answer those that are late, or @all. */
void functions_turn(Node *n, bool all);

/* urpc-together.c: our half of four nodes, of which @first is the first. */
void group_run(int fd, unsigned first);

#endif
