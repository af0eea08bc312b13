/*
 * The UMMU: what its files share.  The cellar first: each file may call those
 * above it in this list, and none below.
 *
 *   event.c     memory, errors, counters, events
 *   cache.c     contexts, translations, permissions that are remembered
 *   map.c       which TECTE an EID has
 *   walk.c      translation tables
 *   context.c   TECT and TCT
 *   mapt.c      permission tables
 *   stall.c     accesses that wait for software
 *   hit.c       accesses that were allowed, as they come again
 *   check.c     the decisions
 *   cmd.c       command queues
 *   user.c      queues of unprivileged software
 *   regs.c      registers
 *   ummu.c      life, turns
 *   image.c     migration
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef HW_UB_UMMU_INTERNAL_H
#define HW_UB_UMMU_INTERNAL_H

#include <glib.h>

#include "core/bytes.h"
#include "ub/ummu.h"

#define UMMU_PAGE 4096u
#define UMMU_PAGE_BITS 12
#define UMMU_PA_BITS 48         /* CAP2.OAS */
#define UMMU_WHYS 64
#define UMMU_STALLS 256         /* CAP1.STALL_MAX */
#define UMMU_EE_NORMAL 1
#define UMMU_EE_TEE 3

/* Field @mask of @word. */
static inline uint64_t ummu_get(uint64_t word, uint64_t mask)
{
    return (word & mask) >> __builtin_ctzll(mask);
}

/* One stage of translation. */
typedef struct UmmuStage {
    uint64_t root;
    uint8_t granule;            /* log2: 12, 14, 16 */
    uint8_t in_bits, out_bits;
    uint8_t level;              /* the first one */
    bool s2, big, haf, hdf, affd, stall, record, fault;
} UmmuStage;

/* What TECTE and TCTE of one TokenID say. */
typedef struct UmmuContext {
    uint64_t epoch;             /* of the cache, 0: nothing */
    uint32_t token_id;
    uint16_t tag, vmid;
    bool tee;
    bool bypass;                /* no translation at all */
    bool has_s1, has_s2, privileged, merge, walk_off, e_bit;
    bool mapt, multi, big;
    uint8_t mapt_why;           /* what is wrong with the permission table */
    uint8_t last;               /* multi-level: the last level */
    uint32_t block_size, table_entries;
    uint64_t base, block_table;
    uint16_t mtm;
    UmmuStage s1, s2;
} UmmuContext;

/* Rights by translation tables. */
enum { UMMU_MAY_READ = 1, UMMU_MAY_WRITE = 2, UMMU_MAY_ALL = 3 };

typedef struct UmmuTlb {
    uint64_t epoch, page, out;
    uint64_t ipa;               /* what stage 2 was asked for */
    uint32_t token_id;
    uint16_t tag, vmid;
    bool tee;
    uint8_t one, two;           /* UMMU_MAY_* by stage 1, by stage 2 */
    bool clean;                 /* a write must walk first: dirty state */
} UmmuTlb;

/* A permission: UBAs from lo to hi. */
typedef struct UmmuGrant {
    uint64_t lo, hi;
    uint32_t token[2];
    uint8_t rights;             /* bit of UbUmmuKind */
    bool check, e_bit;
} UmmuGrant;

typedef struct UmmuPlb {
    uint64_t epoch, page;
    uint32_t token_id;
    uint16_t tag;
    bool tee;
    UmmuGrant grant;
} UmmuPlb;

/* What all decisions said of a page: see hit.c. */
typedef struct UmmuLine {
    uint64_t epoch, who, page, out;
    uint32_t token[2];
    uint16_t lo, hi;            /* bytes of the page that are granted */
    uint16_t mtm;
    uint8_t kinds;              /* bits of UbUmmuKind */
    bool check, e_bit;
    bool tlb, plb;              /* what is counted */
} UmmuLine;

enum {
    UMMU_CONTEXTS = 256,
    UMMU_TLBS = 4096,
    UMMU_PLBS = 4096,
    UMMU_LINES = 4096,
};

typedef struct UmmuRing {
    uint64_t base;              /* as written */
    uint32_t prod, cons;
    uint32_t done;              /* of the command at @cons: stalls it has seen */
} UmmuRing;

/* A queue of unprivileged software; its rings are where its context says. */
typedef struct UmmuUserQueue {
    uint16_t cmd_pi, cmd_ci, cpl_pi, cpl_ci;
    bool ringing;
} UmmuUserQueue;

/* Registers that are only kept. */
enum {
    UMMU_KEPT_CR1, UMMU_KEPT_CR2, UMMU_KEPT_CR3,
    UMMU_KEPT_EVTQ_ADDR_LO, UMMU_KEPT_EVTQ_ADDR_HI, UMMU_KEPT_EVTQ_ATTR,
    UMMU_KEPT_GERR_ADDR_LO, UMMU_KEPT_GERR_ADDR_HI, UMMU_KEPT_GERR_ATTR,
    UMMU_KEPT_UQ_ATTR,
    UMMU_KEPT
};

/* A configuration table: one outside of the TEE, one inside. */
typedef struct UmmuTect {
    uint64_t base;
    uint32_t cfg;
} UmmuTect;

typedef struct UmmuStall {
    bool waits;                 /* else it is free */
    uint8_t kind;
    bool tee;
    uint16_t tag;
    uint32_t token_id;
    uint64_t page;
} UmmuStall;

/* An event that stands in the queue, for merging. */
typedef struct UmmuMerge {
    bool there;
    uint32_t index;             /* its place, with the wrap bit */
    uint8_t code, kind;
    uint16_t tag;
    uint32_t token_id;
    uint64_t page;
} UmmuMerge;

#define UMMU_MERGES 16

/* What commands cost of a turn's budget: one that goes over a whole cache, and the
 * end of a stall, which has its answer. */
#define UMMU_COST_SCAN 64
#define UMMU_COST_STALL 16

static inline bool ummu_tect_good(uint32_t cfg)
{
    uint64_t split = ummu_get(cfg, UBM_TECT_SPLIT);

    return ummu_get(cfg, UBM_TECT_LOG2) <= UBM_TECT_LOG2_MAX &&
           (!(cfg & UBM_TECT_FMT) ||
            (ummu_get(cfg, UBM_TECT_FMT) == 1 && split && split < 16));
}

struct UbUmmu {
    UbUmmuConfig cfg;
    UbUmmuOps ops;
    void *opaque;
    uint32_t cr0, gbpa, kept[UMMU_KEPT];
    UmmuTect tect[2];           /* by tee */
    uint32_t irq_enable, gerror, gerrorn, evtq_vector, gerr_vector;
    uint32_t fallback, pf_timer;
    uint64_t tee_mem, tee_size;
    UmmuRing cmdq[UBM_CMDQS], evtq;
    uint64_t user_ctx;
    uint32_t release_id;
    UmmuUserQueue user[UBM_UQS];
    GHashTable *map;            /* tag + 1 by EID */
    UmmuStall stall[UMMU_STALLS];
    uint32_t stalls;
    UmmuMerge merge[UMMU_MERGES];
    unsigned next_merge;
    uint64_t mtm[UBM_MTMS][2];
    uint64_t counter[UB_UMMU_COUNTERS_NUM];
    uint64_t refused[UMMU_WHYS];
    uint32_t lost, merged;
    /* The last EID that was looked for. */
    struct {
        bool good;
        unsigned entity;
        uint8_t eid[16];
        uint32_t tag;
    } known;
    unsigned next_queue, next_user; /* queues that are served first */
    uint64_t epoch_context, epoch_tlb, epoch_plb, epoch_line;
    UmmuContext *contexts;
    UmmuTlb *tlb;
    UmmuPlb *plb;
    UmmuLine *lines;
};

/* An access on its way through the decisions. */
typedef struct UmmuLook {
    UbUmmu *u;
    UbUmmuAccess *a;
    bool quiet;                 /* a probe */
    bool fresh;                 /* nothing that is cached counts: a probe is behind
                                 * the turn in which it did, unless strict */
    bool tee;
    uint16_t tag;
    bool tag_known;
    const UmmuContext *c;       /* NULL: not yet */
    uint64_t pos;               /* UBA that is looked at */
    /* Of a refusal. */
    uint8_t why;
    bool s2;
    uint8_t step;               /* UBM_EVT_CLASS */
    uint64_t fetch, ipa;
    UmmuContext own;            /* the last: of a miss only */
} UmmuLook;

/* Whether the access brings one of the two TokenValues. */
static inline bool ummu_token_is(const uint32_t token[2], const UbUmmuAccess *a)
{
    return a->token_en && (a->token == token[0] || a->token == token[1]);
}

/* A piece of an access, of one page. */
typedef struct UmmuPiece {
    uint64_t pa;
    UmmuGrant grant;
    uint8_t kinds;              /* bits of UbUmmuKind by translation */
    bool tlb, plb;              /* translation and permission are cached */
} UmmuPiece;

/* Of one access, at most. */
#define UMMU_PIECES 64

/* What an access gets. */
typedef struct UmmuSpans {
    UbUmmuSpan *out;
    unsigned max, n;
} UmmuSpans;

/* False: no room. */
static inline bool ummu_span_add(UmmuSpans *s, uint64_t pa, uint32_t len)
{
    UbUmmuSpan *last = s->n ? &s->out[s->n - 1] : NULL;

    if (last && last->addr + last->len == pa) {
        last->len += len;
        return true;
    }
    if (s->n == s->max) {
        return false;
    }
    s->out[s->n++] = (UbUmmuSpan){ pa, len };
    return true;
}

/* Refuse by @why; returns false. */
static inline bool ummu_refuse(UmmuLook *k, unsigned why)
{
    k->why = why;
    return false;
}

/* ---- event.c ---- */
bool ummu_read(UbUmmu *u, uint64_t addr, void *buf, uint32_t len);
/* The same of a table, for @k: a probe leaves no trace. */
bool ummu_fetch(const UmmuLook *k, uint64_t addr, void *buf, uint32_t len);
bool ummu_write(UbUmmu *u, uint64_t addr, const void *buf, uint32_t len);
bool ummu_exchange(UbUmmu *u, uint64_t addr, void *was, const void *now,
                   uint32_t len, bool *same);
void ummu_guest_error(UbUmmu *u, const char *what);
void ummu_kick(UbUmmu *u);
/* Toggle bits of GERROR that are not pending. */
void ummu_gerror(UbUmmu *u, uint32_t bits);
/* An event about @k; @stag: of a stall, or -1.  Whether software will find it, or one
 * like it. */
bool ummu_event(const UmmuLook *k, unsigned code, int stag);
/* One about a command: its EID. */
void ummu_event_map(UbUmmu *u, unsigned code, uint32_t tag,
                    const uint8_t eid[16]);
/* CONS was written. */
void ummu_evtq_read(UbUmmu *u, uint32_t cons);
uint32_t ummu_ring_size(const UmmuRing *r);
/* Of an index with its wrap bit. */
uint32_t ummu_ring_mask(const UmmuRing *r);
uint32_t ummu_evtq_used(const UbUmmu *u);

/* ---- cache.c ---- */
void ummu_cache_new(UbUmmu *u);
void ummu_cache_free(UbUmmu *u);
/* Forget all of a kind. */
void ummu_drop_contexts(UbUmmu *u);
void ummu_drop_tlb(UbUmmu *u);
void ummu_drop_plb(UbUmmu *u);
void ummu_drop_all(UbUmmu *u);
UmmuContext *ummu_context_slot(UbUmmu *u, bool tee, uint16_t tag,
                               uint32_t token_id);
UmmuTlb *ummu_tlb_slot(UbUmmu *u, uint32_t token_id, uint64_t page);
UmmuPlb *ummu_plb_slot(UbUmmu *u, uint32_t token_id, uint64_t page);
/* Whether what is in the slot is this. */
static inline bool ummu_context_is(const UbUmmu *u, const UmmuContext *c,
                                   bool tee, uint16_t tag, uint32_t token_id)
{
    return c->epoch == u->epoch_context && c->tag == tag &&
           c->token_id == token_id && c->tee == tee;
}

static inline bool ummu_tlb_is(const UbUmmu *u, const UmmuTlb *t,
                               const UmmuContext *c, uint64_t page)
{
    return t->epoch == u->epoch_tlb && t->page == page && t->tag == c->tag &&
           t->token_id == c->token_id && t->tee == c->tee;
}

static inline bool ummu_plb_is(const UbUmmu *u, const UmmuPlb *p,
                               const UmmuContext *c, uint64_t page)
{
    return p->epoch == u->epoch_plb && p->page == page && p->tag == c->tag &&
           p->token_id == c->token_id && p->tee == c->tee;
}

/* Which entries: fields with a bit in @which must be those of @key. */
enum {
    UMMU_BY_TAG = 1 << 0,
    UMMU_BY_TOKEN = 1 << 1,
    UMMU_BY_PAGE = 1 << 2,      /* pages from .page to .last */
    UMMU_BY_VMID = 1 << 3,
};

typedef struct UmmuKey {
    unsigned which;
    uint32_t tag, tag_last;     /* tags from one to the other */
    uint32_t token_id, vmid;
    uint64_t page, last;
} UmmuKey;

/* What it cost. */
unsigned ummu_context_invalidate(UbUmmu *u, const UmmuKey *key);
unsigned ummu_tlb_invalidate(UbUmmu *u, const UmmuKey *key);
unsigned ummu_plb_invalidate(UbUmmu *u, const UmmuKey *key);
/* What is in a slot gives way: lines that were made of it go. */
static inline void ummu_evict(UbUmmu *u, bool there)
{
    u->epoch_line += there;
}
/* How many of each there are, in addition to what @state has. */
void ummu_cache_count(const UbUmmu *u, UbUmmuState *state);

/* ---- map.c ---- */
void ummu_map_new(UbUmmu *u);
/* False: no room. */
bool ummu_map_set(UbUmmu *u, const uint8_t eid[16], uint16_t tag);
bool ummu_map_remove(UbUmmu *u, const uint8_t eid[16]);
/* The tag of what @k is for; false: refused. */
bool ummu_map_find(UmmuLook *k);

/* The tag of the last EID that was looked for, if it is the same. */
static inline bool ummu_map_same(const UbUmmu *u, unsigned entity,
                                 const uint8_t eid[16], uint32_t *tag)
{
    *tag = u->known.tag;
    return u->known.good && u->known.entity == entity &&
           !memcmp(u->known.eid, eid, sizeof(u->known.eid));
}

/* The tag of what @a is for, if nothing must be looked for. */
static inline bool ummu_map_known(const UbUmmu *u, const UbUmmuAccess *a,
                                  uint32_t *tag)
{
    uint8_t eid[16];

    if (a->tag_en || a->bare) {
        *tag = a->tag_en ? a->tag : u->fallback & UBM_DEFAULT_TAG;
        return a->tag_en || u->fallback & UBM_DEFAULT_BARE;
    }
    return u->ops.eid(u->opaque, a->entity, eid) &&
           ummu_map_same(u, a->entity, eid, tag);
}

/* ---- walk.c ---- */
/* Geometry of a stage from its fields; false: there is no such. */
bool ummu_stage1_set(UmmuStage *s, unsigned tsz, unsigned tg);
bool ummu_stage2_set(UmmuStage *s, unsigned tsz, unsigned tg, unsigned sl);
/* Address of a table, by the step that needs it, or of the access itself through stage
 * 2 of @c, for a read or, @write, too. */
enum { UMMU_STEP_TCT, UMMU_STEP_TABLE, UMMU_STEP_ADDRESS, UMMU_STEP_MAPT };
bool ummu_stage2(UmmuLook *k, const UmmuContext *c, uint64_t ipa, unsigned step,
                 bool write, uint64_t *pa);
/* The page of UBA k->pos, all stages; what may be done there and its state. */
bool ummu_walk(UmmuLook *k, const UmmuContext *c, UmmuTlb *out);

/* ---- context.c ---- */
/* The context of k->a; false: refused. */
bool ummu_context(UmmuLook *k);

/* ---- mapt.c ---- */
/* Who may reach k->pos; false: refused. */
bool ummu_mapt_find(UmmuLook *k, UmmuGrant *g);

/* ---- stall.c ---- */
/* The answer to a fault that stalls: LATER; FAULT: no room, as if it did not stall.
 * @stag: of a new stall, or -1. */
UbUmmuResult ummu_stall(UmmuLook *k, int *stag);
/* The stall that has just begun is none: nobody knows of it. */
void ummu_stall_undo(UbUmmu *u, int stag);
void ummu_stall_resume(UbUmmu *u, uint32_t stag, uint32_t tag, bool retry);
/* Refuse those of a tag, from the place *@from on, @max of them; how many there were.
 * *@from is UMMU_STALLS when there are no more. */
unsigned ummu_stall_end(UbUmmu *u, uint32_t tag, uint32_t *from, unsigned max);

/* ---- hit.c ---- */
/* The page at @pos is as the decisions on k->a said. */
void ummu_line_put(const UmmuLook *k, const UmmuPiece *p, uint64_t pos);
/* Whether it is allowed, by what is remembered, and then all that follows. */
bool ummu_hit(UbUmmu *u, const UbUmmuAccess *a, UmmuSpans *s);
/* An access was allowed. */
static inline void ummu_count(UbUmmu *u, const UbUmmuAccess *a, uint16_t mtm)
{
    u->counter[UB_UMMU_CNT_ACCESSES]++;
    if (mtm < UBM_MTMS && !a->ahead) {
        u->mtm[mtm][0]++;
        u->mtm[mtm][1] += a->len;
    }
}

/* ---- cmd.c ---- */
void ummu_cmdq_write(UbUmmu *u, unsigned n, uint32_t reg, uint32_t value);
uint32_t ummu_cmdq_read(const UbUmmu *u, unsigned n, uint32_t reg);
/* Commands of all queues, until they cost @budget. */
void ummu_cmd_serve(UbUmmu *u, unsigned budget);
bool ummu_cmd_waiting(const UbUmmu *u);

/* ---- user.c ---- */
uint32_t ummu_user_read(const UbUmmu *u, uint32_t at);
void ummu_user_write(UbUmmu *u, uint32_t at, uint32_t value);
void ummu_user_release(UbUmmu *u, uint32_t id);
void ummu_user_serve(UbUmmu *u, unsigned budget);
bool ummu_user_waiting(const UbUmmu *u);

#endif
