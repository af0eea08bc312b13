/*
 * Load and store: what its files share.  The cellar first: each file may call
 * those above it in this list, and none below.
 *
 *   event.c    events, errors, counters
 *   matt.c     the UBFM's table
 *   decode.c   tables and their cache
 *   op.c       requests under way, who waits for them
 *   line.c     stores that wait for neighbours
 *   control.c  the control page
 *   access.c   loads and stores
 *   command.c  the command queue, registers
 *   lds.c      life, turns
 *   image.c    migration
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef HW_UB_LDS_INTERNAL_H
#define HW_UB_LDS_INTERNAL_H

#include <glib.h>

#include "core/bytes.h"
#include "ub/lds.h"

enum {
    LDS_LINE = UB_TA_BE_MAX,    /* bytes that stores combine in */
    LDS_CACHE = 1024,           /* MiBs that the decoder remembers */
    LDS_SLOT_BYTES = 64,
};

/* Where an address leads. */
typedef struct LdsTarget {
    uint64_t uba;
    uint32_t dest, token_id, token, upi, seid;
    UbEid deid;
    bool token_en, managed;     /* by an entry of the UBFM's, which names the peer: */
    uint32_t cna;
    uint8_t order, ee;
} LdsTarget;

/* The row of destinations that belongs to an entry of the UBFM's. */
#define LDS_MATT_ROW(i) (UB_TA_DESTS + UB_TA_LDS_DESTS + (i))

/* The UBFM's table. */
typedef struct LdsMatt {
    UbSlice *slice;
    UbSpaceSlice table;
    UbSpaceDword dword[2 + UB_LDS_MATT_ENTRIES * UB_LDS_ENTRY / 4];
    uint64_t changed;           /* entries; what is under way by them is to end */
} LdsMatt;

typedef struct LdsMattEntry {
    uint8_t bytes[UB_LDS_ENTRY];
    uint32_t first, last, cna;
} LdsMattEntry;

/* A MiB that was translated. */
typedef struct LdsCached {
    bool valid;
    uint32_t mib;
    LdsTarget to;               /* of its first byte */
} LdsCached;

typedef enum LdsKind { LDS_LOAD, LDS_STORE, LDS_COMMAND, LDS_KINDS } LdsKind;

/* A request, in the order in which they were made. */
typedef struct LdsOp {
    UbTaRequest req;            /* first */
    UbLds *lds;
    struct LdsOp *next, *prev;
    uint8_t kind;               /* LdsKind */
    bool posted;                /* the transaction layer has it */
    bool told;                  /* who waited for it knows how it ended */
    bool barrier;               /* waits for all before it, and all behind it wait */
    bool adopted;               /* loading */
    uint8_t slot;               /* of a command */
    uint64_t pa;
    uint64_t serial;
    uint64_t epoch;             /* of the last tables that it may go by */
    int64_t deadline;
    UbLdsWait *wait;            /* of a load */
    uint32_t room;
    uint8_t data[];
} LdsOp;

/* What a processor waits for beside the answer of a load. */
typedef enum LdsWaitKind { LDS_WAIT_LOAD, LDS_WAIT_ROOM, LDS_WAIT_FENCE,
                           LDS_WAIT_SLOT } LdsWaitKind;

typedef struct LdsSlot {
    uint8_t data[2 * LDS_SLOT_BYTES], result[LDS_SLOT_BYTES];
    uint64_t addr, status;
} LdsSlot;

/* Stores that wait for neighbours: bytes of one aligned piece. */
typedef struct LdsLine {
    bool open;
    uint64_t pa;                /* of the piece */
    LdsTarget to;
    uint64_t epoch;
    int64_t due;
    uint32_t from, end;         /* what is stored is within */
    uint8_t data[LDS_LINE], be[LDS_LINE / 8];
} LdsLine;

struct UbLds {
    UbLdsConfig cfg;
    UbLdsOps ops;
    void *opaque;
    UbTa *ta;
    UbSlice *decoder, *vendor, *mem;
    LdsMatt *matt;              /* NULL: tables are in memory */
    int64_t now;                /* by its own clock, which stands while it does */
    int64_t lag;                /* of that, behind the caller's */
    uint64_t base;
    uint64_t links;             /* ports that are up */
    int64_t down_since;
    bool paused;
    uint64_t epoch;             /* grows with each invalidation */
    uint64_t next_serial;
    bool barrier;               /* of the next request */
    bool stirred;               /* those that wait are to be looked at */
    LdsOp *first, *last;
    uint32_t of_kind[LDS_KINDS];
    uint32_t all, unposted;
    UbLdsWait *waits;
    uint32_t failed_stores;     /* since a fence was read */
    uint32_t asked_first, asked_last; /* MiBs that OLDEST is of; in no image */
    LdsLine line;
    LdsSlot slot[UB_LDS_SLOTS];
    LdsCached cache[LDS_CACHE];
    uint64_t counter[UB_LDS_COUNTERS_NUM];
};

/* It is @at of the caller's clock. */
static inline void lds_clock(UbLds *l, int64_t at)
{
    if (l->paused) {
        l->lag = at - l->now;
    } else {
        l->now = at - l->lag;
    }
}

/* ---- event.c ---- */
bool lds_read(UbLds *l, uint64_t addr, void *buf, uint32_t len);
void lds_guest_error(UbLds *l, const char *what);
uint32_t lds_reg(const UbLds *l, unsigned dw);
uint64_t lds_reg64(const UbLds *l, unsigned dw);
/* An access at @pa has failed: count it and tell. */
void lds_failed(UbLds *l, unsigned event, uint64_t pa, bool store,
                UbTaStatus status);
/* A command of @opcode that does not exist. */
void lds_bad_command(UbLds *l, unsigned opcode);
uint64_t lds_all_failed(const UbLds *l);

/* ---- matt.c ---- */
/* The slice, behind that of the decoder. */
void lds_matt_attach(UbLds *l, UbSpace *space);
/* Entry @i; false: it is empty. */
bool lds_matt_entry(const UbLds *l, unsigned i, LdsMattEntry *e);
/* The entry that has @mib, -1: none. */
int lds_matt_find(const UbLds *l, uint32_t mib, LdsMattEntry *e);

/* ---- decode.c ---- */
/* The decoder's input for a byte of the window. */
uint64_t lds_pa(const UbLds *l, uint64_t offset);
/* 0, or UB_LDS_EVENT_*. */
unsigned lds_decode(UbLds *l, uint64_t pa, LdsTarget *to);
/* Where entry @i of the UBFM's table leads, with its first byte: 0, or
 * UB_LDS_EVENT_*. */
unsigned lds_matt_target(UbLds *l, unsigned i, const LdsMattEntry *e, uint32_t mib,
                         LdsTarget *to);
/* Forget MiBs @first to @last. */
void lds_invalidate(UbLds *l, uint32_t first, uint32_t last);

/* ---- op.c ---- */
UbTaQueueConfig lds_queue_config(const UbLds *l);
UbTaQueue *lds_queue(UbLds *l);
/* Whether @to names a row of destinations, and the same peer: 0, or
 * UB_LDS_EVENT_*. */
unsigned lds_target_check(UbLds *l, const LdsTarget *to);
/* What is under way by entries of the UBFM's that have changed ends. */
void lds_matt_sweep(UbLds *l);
/* A request for @len bytes at @to, with @room bytes of data. */
LdsOp *lds_op_new(UbLds *l, LdsKind kind, const LdsTarget *to, uint64_t pa,
                  uint8_t opcode, uint32_t len, uint32_t room);
/* Hand it over; it ends by itself. */
void lds_op_begin(UbLds *l, LdsOp *op);
/* Loading: as it was. */
void lds_op_link(UbLds *l, LdsOp *op);
/* End it, because of UB_LDS_EVENT_*, or 0: nobody is told; it is gone. */
void lds_op_give_up(UbLds *l, LdsOp *op, unsigned event);
/* All of them; the transaction layer has none any more. */
void lds_ops_drop(UbLds *l);
/* The same, and nobody is told but who waits. */
void lds_ops_free(UbLds *l);
/* Requests that are not done and go by what was forgotten before @epoch. */
bool lds_ops_before(const UbLds *l, uint64_t epoch);
/* Post what may be posted now. */
void lds_ops_pump(UbLds *l);
/* Whether there may be another of @kind. */
bool lds_room(const UbLds *l, LdsKind kind);
/* So many stores are there at most: those that there is room for, and of those that
 * waited when the machine had to stop as many again. */
static inline uint32_t lds_stores_most(const UbLds *l)
{
    return 2 * l->cfg.stores;
}
/* @w waits. */
void lds_wait_add(UbLds *l, UbLdsWait *w, LdsWaitKind kind);
/* @w is no more in the list of those that wait. */
void lds_wait_remove(UbLds *l, UbLdsWait *w);
void lds_wait_end(UbLds *l, UbLdsWait *w, uint64_t value);
/* The serial of the oldest request to MiBs @first to @last that is not done, or of the
 * next that will be made. */
uint64_t lds_oldest(const UbLds *l, uint32_t first, uint32_t last);
/* Whether the requests before @serial are done. */
bool lds_fenced(const UbLds *l, uint64_t serial);
uint64_t lds_fence_value(UbLds *l);
/* How long something that begins now may take; before now: it fails at once. */
int64_t lds_deadline(const UbLds *l);

/* ---- line.c ---- */
/* The store at @pa, or why not (UB_LDS_EVENT_*); there is room. */
unsigned lds_line_put(UbLds *l, uint64_t pa, const uint8_t *data, unsigned len);
/* What waits goes out. */
void lds_line_push(UbLds *l);

/* ---- control.c ---- */
bool lds_control_load(UbLds *l, uint32_t at, unsigned len, UbLdsWait *w,
                      uint64_t *value);
void lds_control_store(UbLds *l, uint32_t at, unsigned len, uint64_t value);

/* ---- access.c ---- */
/* Those that wait for room, fences and commands: who may go on. */
void lds_waits_serve(UbLds *l);
/* @w ends because of UB_LDS_EVENT_*, or 0: nobody is told. */
void lds_wait_give_up(UbLds *l, UbLdsWait *w, unsigned event);

/* ---- command.c ---- */
extern const UbSliceOps lds_decoder_ops, lds_vendor_ops;
extern const UbSpaceSlice lds_vendor_slice;
/* True: there are more. */
bool lds_commands_serve(UbLds *l);

#endif
