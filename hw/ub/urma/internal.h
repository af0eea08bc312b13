/*
 * Queues of the transaction engine: what its files share.  The cellar first:
 * each file may call those above it in this list, and none below.
 *
 *   event.c     event queues, errors, counters, guest memory
 *   bell.c      doorbells without a lock
 *   cq.c        completion queues
 *   poison.c    memory that is known to be bad
 *   segment.c   plain segments: who may reach what
 *   reach.c     which memory peers and queues reach: segments, or the UMMU
 *   group.c     who receives: shared receive queues, groups
 *   rq.c        receive queues
 *   sq.c        send queues
 *   queue.c     life and states of queues
 *   cmd.c       the command queue
 *   urma.c      life, registers, doorbells, turns
 *   image.c     migration
 *   view.c      what a monitor shows
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef HW_UB_URMA_INTERNAL_H
#define HW_UB_URMA_INTERNAL_H

#include <glib.h>

#include "core/bytes.h"
#include "core/slab.h"
#include "core/table.h"
#include "core/timers.h"
#include "ub/ummu.h"
#include "ub/urma.h"

/* Numbers of objects have so many bits. */
#define URMA_ID_BITS 20
#define URMA_IDS (1u << URMA_ID_BITS)
#define URMA_WELL_KNOWN 1024u

typedef struct UrmaEq {
    uint64_t base;
    uint32_t size;              /* log2, as written */
    bool enabled, error, armed, device;
    uint16_t vector;
    uint16_t pi, ci, arm;
    uint32_t lost;
} UrmaEq;

typedef struct UrmaCq {
    CoreTimer timer;            /* moderation; first, see urma_cq_of_timer() */
    uint32_t id;
    uint64_t base;
    uint8_t log2;
    uint16_t eq, page;
    uint32_t users;             /* queues that name it */
    bool error;                 /* overflow */
    uint8_t arm;                /* UBQ_ARM_*: what it waits for */
    uint16_t count;             /* moderation */
    uint32_t period;
    uint16_t pi, ci;            /* free running */
    uint16_t solicited;         /* PI behind the last solicited entry */
    bool any_solicited;
    uint16_t since;             /* entries since it was armed */
    uint64_t bad;               /* completions in error */
} UrmaCq;

typedef struct UrmaElement {
    uint64_t addr;
    uint32_t len;
} UrmaElement;

typedef struct UrmaQueue UrmaQueue;
typedef struct UrmaGroup UrmaGroup;

/* An entry of a send queue that is not finished. */
typedef struct UrmaWr {
    UbTaRequest req;            /* first */
    UrmaQueue *queue;
    struct UrmaWr *next, *prev; /* of the queue, as posted */
    uint16_t index;             /* of its first block */
    uint8_t blocks;
    bool want_cqe, solicited, nop;
    bool ended;                 /* it is none of the transaction layer's, and
                                 * waits for those before it */
    bool adopted;               /* loading: the transaction layer has it */
    uint16_t status;            /* with which it ended (UbTaStatus) */
    uint8_t elements;
    uint16_t inlined;           /* bytes of inline data */
    UrmaElement *element;       /* behind this, and inline data behind them */
    uint8_t *data;
} UrmaWr;

/* A receive entry that a message has taken. */
typedef struct UrmaRecv {
    uint64_t name;              /* the key */
    uint32_t queue, rq;         /* whose message, whose entry */
    uint16_t index;
    uint8_t elements;
    UrmaElement element[UBQ_RQE_ELEMENTS_MAX];
} UrmaRecv;

struct UrmaQueue {
    UbUrma *urma;
    uint32_t id;
    uint8_t state, mode, rq_stride, rnr_timer;
    uint8_t tries, patience;    /* as in UbTaQueueConfig */
    uint16_t page, eq;
    unsigned entity;
    uint32_t flags;
    uint32_t token;
    uint32_t local;             /* TRANSLATE: TokenID of its elements */
    uint32_t remote;
    UbEid remote_eid;
    uint32_t send_cq, recv_cq, rq_shared;
    uint32_t users;             /* queues that share its receive entries */
    UrmaGroup *group;           /* that it is a member of, or NULL */
    uint32_t recvs;             /* entries that messages have taken: of its own, or
                                 * for it */
    uint64_t record;            /* of what is posted, in memory; 0: none */
    bool told;                  /* its completion UBQ_STATUS_*_DONE */
    UbUrmaQueueCounts counts;
    /* Send: blocks. */
    uint64_t sq_base;
    uint8_t sq_log2;
    uint16_t sq_pi, sq_fetch;
    UrmaWr *first, *last;       /* not finished, as posted */
    UrmaWr *adopting;           /* loading: the next for the transaction layer */
    uint64_t next_id;           /* of a request */
    UbTaQueue *ta;              /* NULL: it does not send, or is in Reset */
    bool ringing;               /* in the list of queues with work */
    bool starved;               /* in that of those that wait for memory */
    UrmaQueue *next_ringing;    /* of the one list or the other */
    /* Receive. */
    uint64_t rq_base;
    uint8_t rq_log2;
    uint16_t rq_pi, rq_ci, rq_limit;
    bool rq_low;                /* the limit has been reported */
};

struct UrmaGroup {
    uint32_t id;
    uint8_t policy;
    uint16_t eq;
    unsigned entity;
    uint32_t flags, token;
    uint32_t next;              /* round robin: whom to ask first */
    GPtrArray *members;         /* UrmaQueue, as they joined */
};

typedef struct UrmaSegment {
    uint32_t token_id;
    uint64_t uba, base, length;
    uint32_t access, token, token_old;
    unsigned entity;
} UrmaSegment;

typedef struct UrmaCmdRing {
    uint64_t base;
    uint32_t size;
    bool enabled, error, armed;
    uint16_t vector, pi, ci, arm;
} UrmaCmdRing;

typedef struct UrmaBells UrmaBells;

/* Queues, in their turn. */
typedef struct UrmaRing {
    UrmaQueue *first, *last;
} UrmaRing;

struct UbUrma {
    UbUrmaConfig cfg;
    UbUrmaOps ops;
    void *opaque;
    UbTa *ta;
    UbUmmu *ummu;               /* NULL: there is none */
    int64_t now;
    UrmaEq eq[UBQ_EQS];
    UrmaCmdRing cmd;
    UrmaBells *bells;
    CoreTable queues, cqs, groups, segments;
    uint32_t n_queues, n_cqs, n_groups, n_segments;
    uint32_t hint_queue, hint_cq, hint_group;   /* where a free number may be */
    CoreTimers timers;
    GHashTable *recvs;              /* UrmaRecv by name */
    GArray *poison;                 /* pieces of memory: poison.c's */
    bool tainting;                  /* what a peer's access stores is poisoned */
    uint64_t next_recv;
    UrmaRing ringing, starved;
    uint32_t entries;               /* UrmaWr, of all queues */
    CoreSlab small;                 /* entries of one element and no data */
    uint64_t counter[UB_URMA_COUNTERS_NUM];
    unsigned image;                 /* version of the one that is being walked */
};

/* A command about object *@id (where one is made: in and out, UBQ_NEW for any free
 * number), its parameters and answer in @cmd: UBQ_RESULT_*.  The table of them is
 * cmd.c's. */
typedef unsigned UrmaCommand(UbUrma *u, uint32_t *id, uint8_t *cmd);

/* ---- event.c ---- */
bool urma_read(UbUrma *u, uint64_t addr, void *buf, uint32_t len);
bool urma_write(UbUrma *u, uint64_t addr, const void *buf, uint32_t len);
void urma_guest_error(UbUrma *u, const char *what);
/* Whether a VECTOR register can have this value. */
bool urma_vector_good(const UbUrma *u, uint32_t value);
/* Whether there is such an Entity or bus instance; and whether it may access memory. */
bool urma_entity_there(const UbUrma *u, unsigned entity);
bool urma_may_access(const UbUrma *u, unsigned entity);
void urma_kick(UbUrma *u);
void urma_trace(UbUrma *u, UbUrmaTrace what, uint32_t id, uint32_t a,
                uint32_t b);
uint32_t urma_eq_reg_read(const UrmaEq *eq, uint32_t reg);
void urma_eq_reg_write(UbUrma *u, UrmaEq *eq, uint32_t reg, uint32_t value);
/* The rule that a loaded event queue breaks, or NULL. */
const char *urma_eq_check(const UbUrma *u, const UrmaEq *eq);

/* ---- bell.c ---- */
UrmaBells *urma_bells_new(void);
void urma_bells_free(UrmaBells *b);
/* What the doorbell of a receive queue has said and nobody has looked at: a message
 * that comes now finds the entry. */
void urma_bell_take_rq(UbUrma *u, uint32_t id);
/* The same of a completion queue: what was read makes room. */
void urma_bell_take_cq(UbUrma *u, uint32_t id);
/* Whose the doorbells of a number are: a page, or -1. */
void urma_bells_queue(UrmaBells *b, uint32_t id, int page);
void urma_bells_cq(UrmaBells *b, uint32_t id, int page);

/* ---- cq.c ---- */
#define URMA_CQ_LOG2_MIN 4
#define URMA_LOG2_MAX 15

UrmaCq *urma_cq(UbUrma *u, uint32_t id);
UrmaCommand urma_cq_create, urma_cq_modify, urma_cq_destroy, urma_cq_query;
const char *urma_cq_check(const UbUrma *u, const UrmaCq *cq);
void urma_cq_bell(UbUrma *u, uint32_t page, uint64_t value);
void urma_cq_free(UbUrma *u, UrmaCq *cq);
/* The time of moderation has come. */
void urma_cq_expired(UbUrma *u, CoreTimer *timer);

/* A completion: fields of a CQE. */
typedef struct UrmaDone {
    uint8_t opcode;
    uint16_t status;            /* UbTaStatus */
    bool receive, imm_valid, solicited;
    uint32_t queue, index, bytes, remote, rq;
    uint64_t imm;
    UbEid eid;
} UrmaDone;

void urma_complete(UbUrma *u, uint32_t cq, const UrmaDone *done);

/* ---- poison.c ---- */
void urma_poison_init(UbUrma *u);
/* Whether any of these bytes is known to be bad. */
bool urma_poisoned(const UbUrma *u, uint64_t addr, uint64_t len);
/* They are bad from now on, are good again; false: there are too many pieces, and
 * nothing is another. */
bool urma_taint(UbUrma *u, uint64_t addr, uint64_t len);
bool urma_heal(UbUrma *u, uint64_t addr, uint64_t len);
UrmaCommand urma_poison_command;
void urma_poison_image(UbUrma *u, CoreImage *im);

/* ---- segment.c ---- */
UbAccessResult urma_segment_access(UbUrma *u, UbAccess *a, UbSpan *out,
                                   unsigned max, unsigned *n);
UrmaCommand urma_segment_set, urma_segment_clear;
const char *urma_segment_check(const UbUrma *u, const UrmaSegment *s);

/* ---- group.c ---- */
/* Whose entries a queue receives by, or NULL. */
UrmaQueue *urma_rq_of(UbUrma *u, const UrmaQueue *q);
/* Receive entries that the queue could take. */
unsigned urma_rq_left(UbUrma *u, const UrmaQueue *q);
/* In Reset or Error: as if nothing had come. */
bool urma_queue_deaf(const UrmaQueue *q);
UrmaGroup *urma_group(UbUrma *u, uint32_t id);
UrmaCommand urma_group_create, urma_group_modify, urma_group_destroy,
            urma_group_query, urma_group_join, urma_group_leave;
void urma_group_free(UbUrma *u, UrmaGroup *g);
/* Members that can receive. */
unsigned urma_group_live(UbUrma *u, const UrmaGroup *g);
const char *urma_group_check(const UbUrma *u, const UrmaGroup *g);
/* Why a queue, of none yet, cannot be a member, or NULL. */
const char *urma_member_check(UbUrma *u, const UrmaGroup *g,
                              const UrmaQueue *q);
void urma_group_add(UrmaGroup *g, UrmaQueue *q);
void urma_group_remove(UrmaQueue *q);
/* Who takes a message with @hint for the group; NULL: nobody can. */
UrmaQueue *urma_group_pick(UbUrma *u, UrmaGroup *g, uint8_t hint);
/* @q, a member or who has the receive entries of some, has gone to Error. */
void urma_group_watch(UbUrma *u, const UrmaQueue *q);

/* ---- reach.c ---- */
UbAccessResult urma_access(void *opaque, UbAccess *a, UbSpan *out,
                           unsigned max, unsigned *n);
/* Memory of an access that urma_access() has let in last. */
bool urma_bus(void *opaque, uint64_t addr, void *buf, uint32_t len,
              bool write);
/* ... and in one step. */
bool urma_exchange(void *opaque, uint64_t addr, void *was, const void *now,
                   uint32_t len, bool *same);
/* Copy between @buf and the bytes @off.. of a list of elements of @q; false: too
 * short, or memory that is not there or not the queue's.  @poison: what is written is
 * poisoned; of what was read, some was. */
bool urma_list_copy(UrmaQueue *q, const UrmaElement *list, unsigned n,
                    uint32_t off, void *buf, uint32_t len, bool write,
                    bool *poison);

/* ---- rq.c ---- */
UbRecvResult urma_receive(void *opaque, const UbRecvAsk *ask, UbRecvBuf *buf);
bool urma_place(void *opaque, uint64_t rqe, uint32_t off, const void *buf,
                uint32_t len);
void urma_received(void *opaque, const UbRecvDone *done);
void urma_rq_bell(UbUrma *u, uint32_t page, uint64_t value);
/* What was posted by now, whether its doorbell had a turn or not. */
void urma_rq_look(UrmaQueue *rq);
/* So many entries (blocks) are posted; false: that cannot be. */
bool urma_rq_posted(UrmaQueue *q, uint16_t pi);
bool urma_sq_posted(UrmaQueue *q, uint16_t pi);
/* Whether the record has already said more than a doorbell that was on its way:
 * @pi, where @known is what the queue knows of. */
static inline bool urma_bell_late(const UrmaQueue *q, uint16_t known,
                                  uint16_t pi)
{
    return q->record && (uint16_t)(known - pi) < 1u << URMA_LOG2_MAX;
}

/* Look into the queue's record, if it has one. */
void urma_record_read(UrmaQueue *q);
/* Entries that messages for the queue, or with its buffers, have taken are the
 * guest's again.  Which of them have completions: all, or what is another queue's,
 * whose owner would never post in the place of an entry that was not heard of. */
typedef enum UrmaTell {
    URMA_TELL_NONE,
    URMA_TELL_OTHERS,
    URMA_TELL_ALL,
} UrmaTell;
void urma_rq_drop(UrmaQueue *q, UrmaTell tell);
/* In Error: entries complete as flushed, @budget at most; how many did. */
unsigned urma_rq_flush(UrmaQueue *q, unsigned budget);
/* An entry or message of the queue has ended with @status. */
void urma_queue_count(UrmaQueue *q, uint16_t status);
/* An event, if there are fewer entries than asked for. */
void urma_rq_watch(UbUrma *u, UrmaQueue *rq);

/* ---- sq.c ---- */
UbTaData urma_gather(void *opaque, const UbTaRequest *req, uint32_t off,
                     void *buf, uint32_t len);
UbTaData urma_scatter(void *opaque, const UbTaRequest *req, uint32_t off,
                      const void *buf, uint32_t len);
void urma_done(void *opaque, UbTaRequest *req, UbTaStatus status);
void urma_sq_bell(UbUrma *u, uint32_t page, uint64_t value);
/* Entries of the queue become requests, @budget at most; how many did.  @turn: others
 * that wait for memory have had theirs. */
unsigned urma_sq_serve(UrmaQueue *q, unsigned budget, bool turn);
/* It has something to do: in its turn. */
void urma_queue_ring(UrmaQueue *q);
/* The first of a list leaves it. */
UrmaQueue *urma_ring_take(UrmaRing *ring);
/* A queue that goes leaves its list. */
void urma_queue_unlist(UrmaQueue *q);
/* Whether one entry more may be under way. */
static inline bool urma_room(const UbUrma *u)
{
    return u->entries < u->cfg.requests;
}

/* In Suspended or Error: what has not begun (in Error all) completes as flushed,
 * at once.  False: there are more entries than may be under way. */
bool urma_sq_drain(UrmaQueue *q);
/* Say that nothing is under way any more, if it is so and was asked for. */
void urma_queue_settled(UrmaQueue *q);
UrmaWr *urma_wr_new(UrmaQueue *q, unsigned elements, unsigned inlined);
/* Of an entry of one element. */
size_t urma_wr_small_bytes(void);
/* Forget all entries without a word. */
void urma_sq_drop(UrmaQueue *q);
/* Index of the oldest block that is not finished. */
uint16_t urma_sq_ci(const UrmaQueue *q);

/* ---- queue.c ---- */
UrmaQueue *urma_queue(UbUrma *u, uint32_t id);
UrmaCommand urma_queue_create, urma_queue_modify, urma_queue_destroy,
            urma_queue_query;
void urma_queue_free(UrmaQueue *q, UrmaTell tell);
/* The objects that it names are in use by one more, or one less. */
void urma_queue_users(UrmaQueue *q, int step);
const char *urma_queue_check(UbUrma *u, const UrmaQueue *q);
/* What it has made of it in the transaction layer, when it sends. */
UbTaQueueConfig urma_queue_ta(const UrmaQueue *q);
/* An entry of the queue failed: what §8.2.2.3 asks for. */
void urma_queue_failed(UrmaQueue *q);
/* Entries cannot be read: it goes to Error, with the event @why. */
void urma_queue_error(UrmaQueue *q, unsigned why);

/* A number for an object below @end: @asked, or a free one from @from on.
 * UBQ_RESULT_*. */
unsigned urma_number(const CoreTable *t, uint32_t from, uint32_t end,
                     uint32_t *hint, uint32_t *id);

/* ---- cmd.c ---- */
uint32_t urma_cmd_reg_read(const UbUrma *u, uint32_t reg);
void urma_cmd_reg_write(UbUrma *u, uint32_t reg, uint32_t value);
/* Answer commands, @budget at most; how many. */
unsigned urma_cmd_serve(UbUrma *u, unsigned budget);
const char *urma_cmd_check(const UbUrma *u);

#endif
