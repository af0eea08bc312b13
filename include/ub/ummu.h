/*
 * The UMMU (UB 2.0 chapter 9): which memory of this node a peer may reach, found in
 * tables that software keeps in it.
 *
 * Registers, commands, events and tables are those of ummu_hw.h.  It calls nobody
 * but its memory; whoever has an access asks ub_ummu_access().
 *
 * Tables are the guest's, and any of it may write them at any time: each look-up
 * reads a bounded number of entries, whatever they say.  Register writes only note
 * work; ub_ummu_run() does it.  One thread at a time.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef UB_UMMU_H
#define UB_UMMU_H

#include <stdbool.h>
#include <stdint.h>

#include "core/image.h"
#include "ub/ummu_hw.h"

typedef struct UbUmmu UbUmmu;

typedef struct UbUmmuOps {
    /* Guest memory; false where there is none.  Four or eight bytes, aligned to
     * their number, are written by one store, after all before them. */
    bool (*read)(void *opaque, uint64_t addr, void *buf, uint32_t len);
    /* The same for ub_ummu_probe(), without a trace of failures; NULL: read. */
    bool (*peek)(void *opaque, uint64_t addr, void *buf, uint32_t len);
    bool (*write)(void *opaque, uint64_t addr, const void *buf, uint32_t len);
    /* Eight bytes, aligned, in one step for processors, too: where they are as @was
     * they become @now, *@same; otherwise @was becomes what they are.  False: no
     * memory. */
    bool (*exchange)(void *opaque, uint64_t addr, void *was, const void *now,
                     uint32_t len, bool *same);
    /* The EID of a local Entity, most significant byte first; false: it has none. */
    bool (*eid)(void *opaque, unsigned entity, uint8_t eid[16]);
    /* Send the interrupt of an MSI-X entry. */
    void (*interrupt)(void *opaque, unsigned vector);
    /* ub_ummu_run() has something to do. */
    void (*kick)(void *opaque);
    /* Accesses that were answered LATER with this access.stall may be asked again,
     * or, @abort, are refused by Remote Abort. */
    void (*resolved)(void *opaque, uint32_t stall, bool abort);
    /* The guest broke the rule @what. */
    void (*guest_error)(void *opaque, const char *what);
} UbUmmuOps;

typedef struct UbUmmuConfig {
    uint32_t vectors;           /* MSI-X entries */
    /* Caches keep what they have until it is invalidated or makes room, so that
     * drivers that forget to invalidate are found; else until the next turn. */
    bool strict;
    /* PLB: a TokenValue that does not match is looked for in memory (Positive
     * PLB). */
    bool positive;
    /* What existing drivers take for granted where the document says otherwise:
     * ST_MODE 100 is no translation, TCT_FMT 10 has second levels of 1024,
     * TCT_STALL_EN set forbids TCTE.FBS, and a permission entry without T, Base and
     * Limit fff and no right grants nothing instead of refusing. */
    bool lenient;
    bool stage2;                /* stage 2 is there */
    /* Permission tables of a nested TokenID have physical addresses; else they are
     * translated by stage 2, as all other tables of stage 1 are. */
    bool mapt_physical;
} UbUmmuConfig;

typedef enum UbUmmuKind {
    UB_UMMU_READ,
    UB_UMMU_WRITE,
    UB_UMMU_ATOMIC,
    UB_UMMU_KINDS
} UbUmmuKind;

typedef struct UbUmmuAccess {
    uint8_t kind;               /* UbUmmuKind */
    bool token_en;              /* a TokenValue came */
    bool e_bit;
    bool bare;                  /* came without EIDs (CFG 9) */
    bool local;                 /* of the owner itself: translation only */
    bool ahead;                 /* comes again: monitors do not count it */
    bool tag_en;                /* the TECTE of @tag, whatever the EID */
    uint16_t tag;
    uint8_t ee;                 /* EE_bits */
    unsigned entity;            /* the local Entity that it is for */
    uint32_t token_id, token;
    uint64_t addr;
    uint32_t len;
    /* Set: */
    uint8_t why;                /* UBM_WHY_* */
    uint8_t timer;              /* FAULT: RNR_Timer */
    bool s2;                    /* refused by stage 2 */
    uint32_t stall;             /* LATER: which stall it waits for */
} UbUmmuAccess;

/* A piece of memory. */
typedef struct UbUmmuSpan {
    uint64_t addr;
    uint32_t len;
} UbUmmuSpan;

typedef enum UbUmmuResult {
    UB_UMMU_OK,
    UB_UMMU_UNSUPPORTED,        /* Unsupported Request */
    UB_UMMU_ABORT,              /* Remote Abort */
    UB_UMMU_FAULT,              /* Page Fault, with access.timer */
    UB_UMMU_LATER,              /* stalled: ask again when ops->resolved() says so */
} UbUmmuResult;

void ub_ummu_config_init(UbUmmuConfig *cfg);
UbUmmu *ub_ummu_new(const UbUmmuConfig *cfg, const UbUmmuOps *ops, void *opaque);
/* NULL is ignored. */
void ub_ummu_free(UbUmmu *u);
/* As after power-on: off, registers, EID map and caches empty. */
void ub_ummu_reset(UbUmmu *u);

/* Registers by their offset in UBM_WINDOW, 32 bits. */
uint32_t ub_ummu_reg_read(const UbUmmu *u, uint32_t offset);
void ub_ummu_reg_write(UbUmmu *u, uint32_t offset, uint32_t value);

/* Commands, at most as much work as @budget simple ones are; whether there is more.
 * What goes over a whole cache counts as many. */
bool ub_ummu_run(UbUmmu *u, unsigned budget);
/* A turn of the device begins: what is not strict looks at memory anew. */
void ub_ummu_turn(UbUmmu *u);

/* Whether it decides on accesses: it is enabled, or is off and refuses all. */
bool ub_ummu_decides(const UbUmmu *u);

/*
 * Check and translate: *@n spans of @max, which cover a->len bytes.  A refusal
 * leaves its event.  Nothing is asked of an access of no bytes.
 */
UbUmmuResult ub_ummu_access(UbUmmu *u, UbUmmuAccess *a, UbUmmuSpan *out,
                            unsigned max, unsigned *n);
/* The same without a trace: no event, no stall, no cache, no flag is written, nothing
 * is counted.  What a strict UMMU has cached is used. */
UbUmmuResult ub_ummu_probe(UbUmmu *u, UbUmmuAccess *a, UbUmmuSpan *out,
                           unsigned max, unsigned *n);
/* The tag of the TECTE that @eid has, most significant byte first; false: none. */
bool ub_ummu_tag(const UbUmmu *u, const uint8_t eid[16], uint16_t *tag);
/* What UBM_WHY_* @why means, or NULL. */
const char *ub_ummu_why(unsigned why);

#define UB_UMMU_COUNTERS(X) \
    X(ACCESSES, "accesses") \
    X(REFUSED, "refused") \
    X(FAULTS, "page-faults") \
    X(STALLS, "stalls") \
    X(TLB_HITS, "tlb-hits") \
    X(TLB_MISSES, "tlb-misses") \
    X(PLB_HITS, "plb-hits") \
    X(PLB_MISSES, "plb-misses") \
    X(CONTEXT_MISSES, "context-misses") \
    X(COMMANDS, "commands") \
    X(COMMANDS_BAD, "commands-refused") \
    X(USER_COMMANDS, "user-commands") \
    X(EVENTS, "events") \
    X(EVENTS_LOST, "events-lost") \
    X(EVENTS_MERGED, "events-merged") \
    X(DMA_ERRORS, "dma-errors")

typedef enum UbUmmuCounter {
#define UB_UMMU_X(id, name) UB_UMMU_CNT_##id,
    UB_UMMU_COUNTERS(UB_UMMU_X)
#undef UB_UMMU_X
    UB_UMMU_COUNTERS_NUM
} UbUmmuCounter;

const char *ub_ummu_counter_name(unsigned counter);
uint64_t ub_ummu_counter(const UbUmmu *u, UbUmmuCounter counter);
/* How often decision @why refused. */
uint64_t ub_ummu_refused(const UbUmmu *u, unsigned why);

/* A command queue, or the event queue. */
typedef struct UbUmmuQueue {
    bool enabled;
    bool failed;                /* it waits for software */
    uint8_t reason;             /* UBM_REASON_* */
    uint64_t base;
    uint32_t size;              /* entries */
    uint32_t prod, cons;        /* indexes with their wrap bit */
} UbUmmuQueue;

typedef struct UbUmmuState {
    bool enabled, events, mapt;
    bool abort;                 /* GBPA.ABORT */
    uint32_t gerror;            /* UBM_GERROR_* that are pending */
    uint64_t tect, tee_tect;    /* bases of configuration tables */
    uint32_t tect_cfg, tee_cfg, fallback; /* registers */
    uint32_t mappings, stalls;
    uint32_t evtq_used;         /* events that software has not read */
    uint32_t lost, merged;      /* events */
    UbUmmuQueue cmdq[UBM_CMDQS], evtq;
    /* What a strict one has cached. */
    uint32_t contexts, translations, permissions;
} UbUmmuState;

void ub_ummu_state(const UbUmmu *u, UbUmmuState *state);

/* Migration, of the same configuration; caches start empty.  A section of its own,
 * which is only needed if software has touched it. */
#define UB_UMMU_TAG CORE_TAG('U', 'M', 'M', 'U')
bool ub_ummu_touched(const UbUmmu *u);
void ub_ummu_image(UbUmmu *u, CoreImage *im);

#endif
