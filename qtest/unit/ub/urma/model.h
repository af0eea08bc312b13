/*
 * What two engines of queues must have done: a model that knows entries, memory and
 * completions, and neither packets nor the device.
 *
 * Each entry under way owns a slot of its target's memory.  What that memory should
 * hold is kept apart, and compared when entries end and when all is quiet.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef TEST_URMA_MODEL_H
#define TEST_URMA_MODEL_H

#include "core/random.h"
#include "pair.h"

enum {
    M_QUEUES = 6,           /* of a node, that send */
    M_SHARED = M_QUEUES,    /* the receive queue that some of them share */
    M_RQS,
    M_SLOTS = 12,           /* entries under way of a queue */
    M_SLOT = 8192,
    M_LOCAL = M_SLOT + 512, /* with gaps between elements */
    M_GAP = 64,
    M_PIECES = 3,
    M_RQES = 32,            /* entries of a receive queue */
    M_BLOCKS = 64,          /* of a send queue */
};

typedef struct Model Model;

/* An entry of a send queue. */
typedef struct Job {
    unsigned node, queue, slot;
    uint16_t index;
    unsigned blocks;
    uint64_t serial, id;
    uint8_t opcode, order;
    bool fence, told, solicited;
    bool lossy;             /* its carrier loses packets */
    bool upset;             /* its queue, or who receives, was stopped */
    uint16_t fault;         /* the status that it must have, or OK */
    bool harmless;          /* with that nothing happens at the target */
    uint32_t target;        /* queue of a message: its number; 0: a group's */
    uint32_t off, len;      /* in the slot */
    uint64_t operand[2];
    unsigned pieces;        /* here */
    uint32_t piece[M_PIECES];
    uint8_t *data;
    uint64_t notify;
    uint32_t touched, brought; /* bytes: at the target, here */
    bool landed;            /* the target has its completion in memory */
    bool received, done;
    uint16_t status;
} Job;

typedef struct ModelQueue {
    UbqQueue q;
    unsigned rq;            /* whose entries it receives by */
    unsigned mode, carrier;
    uint32_t row, flags;
    unsigned state;
    uint64_t serial;
    GQueue jobs;            /* not done, as posted */
    Job *job[M_SLOTS];
    bool shaky;             /* until all is quiet, any of its entries may fail */
    unsigned flush_done, suspend_done;  /* completions that are still to come */
} ModelQueue;

typedef struct ModelRq {
    bool posted[M_RQES];
    uint32_t room[M_RQES];
    uint64_t buf;
} ModelRq;

typedef struct ModelNode {
    End *e;
    UbqCq send[2], recv;
    ModelQueue queue[M_QUEUES];
    UbqQueue shared;
    ModelRq rq[M_RQS];
    uint32_t group;
    uint64_t remote, local; /* slots that the peer writes; its own buffers */
    uint8_t *shadow;        /* what remote should hold */
    uint64_t added, perhaps;    /* to its counter */
    GHashTable *seen;       /* old values of it */
} ModelNode;

struct Model {
    Ends ends;
    ModelNode node[2];
    uint64_t rng;
    uint64_t next_id;
    GHashTable *messages;   /* Job by id */
    bool loses;             /* the wire does */
    /* What came to pass. */
    uint64_t ops, completions, messages_done, lost, flushed, faults, suspended,
             unsignaled;
};

#define M_REMOTE (M_QUEUES * M_SLOTS * M_SLOT)
#define M_COUNTER M_REMOTE  /* offset of the counter in the segment */
#define M_SEGMENT (M_REMOTE + 4096)
#define M_TOKEN_ID 77

/* Begin with queues, destinations, segments and receive entries. */
void model_start(Model *m, uint64_t seed, bool loses);
/* All must be quiet; objects go, and nothing refers to them. */
void model_stop(Model *m);
uint64_t model_rnd(Model *m, uint64_t n);

UbqQueue *model_rq(ModelNode *n, unsigned rq);
uint32_t slot_offset(unsigned queue, unsigned slot);

/* The entry is posted now. */
void model_posted(Model *m, Job *j);
/* Take completions and events, and judge them. */
void model_poll(Model *m);
/* Ask the device how far it is: entries that wanted no completion end. */
void model_query(Model *m, unsigned node, unsigned queue);
/* Give all receive queues entries, @all or some. */
void model_refill(Model *m, bool all);
/* All of the queue's entries, and messages for it, may fail from now on. */
void model_upset(Model *m, unsigned node, unsigned queue);
/* The queue went to Reset: what it had comes to no end. */
void model_forget(Model *m, unsigned node, unsigned queue);
/* Until nothing is under way; then memory is as it should be, everywhere. */
void model_quiet(Model *m);

#endif
