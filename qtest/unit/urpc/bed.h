/*
 * Nodes with ends of URPC between any two of them, in virtual time: messages take a time,
 * get lost, come twice and in another order; memory of nodes is read and written.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef URPC_BED_H
#define URPC_BED_H

#include <glib.h>

#include "urpc_plog.h"

enum {
    BED_NODES = 4,
    BED_MEM = 64 * 1024,
    BED_TOKEN = 0x70c3e000,     /* and the number of the node */
    BED_LATENCY = 1000,         /* ns */
    BED_UNIT = URPC_UNIT_STORAGE,
};

typedef struct Bed Bed;

typedef struct BedEnd {
    Bed *bed;
    unsigned node, peer;
    Urpc *u;
    bool full;                  /* no room to send */
    bool no_memory, no_moves;
    int64_t next;               /* what urpc_run() said */
    uint64_t memory;            /* bytes that were got and not put back */
} BedEnd;

/* A message as it was sent. */
typedef struct BedMessage {
    unsigned from, to;
    uint32_t len;
    uint8_t bytes[];
} BedMessage;

struct Bed {
    unsigned nodes;
    int64_t now;
    uint8_t *mem[BED_NODES];
    UrpcFunctions *fns[BED_NODES];
    BedEnd end[BED_NODES][BED_NODES];
    GQueue events;
    uint64_t sequence;
    unsigned lose, twice, jumble;       /* percent of messages */
    int64_t imm_delay;                  /* of immediates, beside the latency */
    GPtrArray *log;             /* of BedMessage, all that were sent */
};

void bed_conf(UrpcConfig *conf);
/* @conf: of all ends; channels count up. */
Bed *bed_new(unsigned nodes, const UrpcConfig *conf);
/* All memory of carriers must have come back. */
void bed_free(Bed *b);
/* Until nothing is under way. */
void bed_run(Bed *b);
/* Until @until, at most. */
void bed_run_to(Bed *b, int64_t until);
/* The next thing that happens, if any does. */
bool bed_step(Bed *b);
/* Bytes that a node hears from another, as if it had sent them. */
void bed_inject(Bed *b, unsigned from, unsigned to, const void *p, size_t len);

/* How many messages of a type were sent; the last of them. */
unsigned bed_count(Bed *b, UrpcType type, unsigned from);
const BedMessage *bed_last(Bed *b, UrpcType type, unsigned from);

/* Where peers find memory of a node. */
uint64_t bed_address(Bed *b, unsigned node, uint32_t at);
UrpcDma bed_dma(Bed *b, unsigned node, uint32_t at, uint32_t size);
UrpcPlogSge bed_sge(Bed *b, unsigned node, uint32_t at, uint32_t size, uint8_t flag);

/* What became of a call. */
typedef struct BedCall {
    unsigned done, released;
    uint32_t id, len;
    uint8_t status, defined;
    bool local, released_first;
    uint8_t data[4096];
} BedCall;

void bed_released(void *opaque, uint32_t id);
void bed_done(void *opaque, const UrpcResult *result);
/* A call whose end is written to @out; what is not said in @args is filled in. */
int bed_call(Bed *b, unsigned from, unsigned to, UrpcArgs args, BedCall *out);

#endif
