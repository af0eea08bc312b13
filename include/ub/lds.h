/*
 * Load and store (UB 2.0 §8.3, §9.5): accesses to a window become transactions on
 * memory of other nodes, as the tables of the decoder say.
 *
 * It stands on the transaction layer, where it has a queue of its own.  Stores are
 * posted, and neighbouring ones leave as one Write; a load waits.  Whoever calls
 * for a processor hands in a UbLdsWait and learns by ops->ended() when it may go
 * on; nothing in here blocks.
 *
 * Every access ends: with its answer, or, all ones, because of an entry, the peer,
 * the link, a reset or the time.  What ends badly is counted and has an event.
 *
 * What a guest or a peer does cannot stop the process or make memory grow beyond
 * the configured numbers.  One thread at a time; `now` is in nanoseconds.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef UB_LDS_H
#define UB_LDS_H

#include <stdbool.h>
#include <stdint.h>

#include "core/image.h"
#include "ub/lds_hw.h"
#include "ub/space.h"
#include "ub/ta.h"

typedef struct UbLds UbLds;

/* A processor that waits.  The caller's memory, until it has ended. */
typedef struct UbLdsWait {
    void *user;             /* the caller's */
    bool ended;
    uint64_t value;         /* of a load; all ones if it failed */
    /* Of lds. */
    struct UbLdsWait *next;
    struct LdsOp *op;       /* a load that waits for its answer */
    uint8_t kind, len;
    uint16_t slot;
    uint64_t pa, data, serial;
    int64_t deadline;
} UbLdsWait;

/* Whom an entry of the UBFM's names. */
typedef struct UbLdsPeer {
    uint32_t cna, upi;      /* upi 0: our own */
    UbEid deid;
} UbLdsPeer;

typedef struct UbLdsOps {
    /* Guest memory; false where there is none. */
    bool (*read)(void *opaque, uint64_t addr, void *buf, uint32_t len);
    bool (*write)(void *opaque, uint64_t addr, const void *buf, uint32_t len);
    /* Send the interrupt of an MSI-X entry. */
    void (*interrupt)(void *opaque, unsigned vector);
    /* ub_lds_run() has something to do. */
    void (*kick)(void *opaque);
    /* The guest broke the rule @what. */
    void (*guest_error)(void *opaque, const char *what);
    /* @w has ended. */
    void (*ended)(void *opaque, UbLdsWait *w);
    /* A row of destinations that leads to @peer, of UbLdsConfig.managed; false: no
     * packets can go there. */
    bool (*way)(void *opaque, const UbLdsPeer *peer, UbTaDest *dest);
} UbLdsOps;

typedef struct UbLdsConfig {
    uint64_t window;        /* bytes, a power of two, 1 MiB to 16 TiB */
    uint32_t rcid;          /* of its queue in the transaction layer */
    uint8_t mode;           /* UB_ROI or UB_ROL (§8.3) */
    uint32_t vectors;       /* MSI-X entries */
    uint32_t loads;         /* under way at most, commands too */
    uint32_t stores;        /* requests of stores under way at most */
    int64_t combine;        /* how long a store waits for neighbours; 0: not */
    int64_t timeout;        /* of an access */
    int64_t grace;          /* how long one waits for a link that is down */
    bool uba_literal;       /* UBA is UBA_BASE + PA[34:0] (§9.5); otherwise + what
                             * the entry does not cover */
    bool tee;               /* entries may say that they are of a TEE */
    bool managed;           /* the table is the UBFM's and in the device (§10.4.7),
                             * otherwise the driver's and in memory */
} UbLdsConfig;

void ub_lds_config_init(UbLdsConfig *cfg);
/* NULL, or the rule that is broken. */
const char *ub_lds_config_check(const UbLdsConfig *cfg);

UbLds *ub_lds_new(const UbLdsConfig *cfg, const UbLdsOps *ops, void *opaque);
/* NULL is ignored. */
void ub_lds_free(UbLds *l);
/* Registers into the DECODER slice, CFG1_CAP240 and, of a table of the UBFM's,
 * CFG1_CAP242 of @space. */
void ub_lds_attach(UbLds *l, UbSpace *space);
/* The transaction layer that its requests go to; before anything else. */
void ub_lds_bind(UbLds *l, UbTa *ta);
/* As after power-on: everything under way ends.  The transaction layer is reset by
 * its owner, before, and the registers with their space. */
void ub_lds_reset(UbLds *l, int64_t now);
/* Entity 0 was reset, and with it the registers: what is under way by entries of the
 * UBFM's ends. */
void ub_lds_reset_entity(UbLds *l);

/* Where the window is among the host's addresses, from which the decoder takes
 * DECODER_MMIO_BA away. */
void ub_lds_set_base(UbLds *l, uint64_t base);

/*
 * A load of 1 to 8 bytes at @offset of the window.  True: *@value is there; false:
 * @w waits.  @w NULL, or a pause: who loads cannot wait; true and all ones, where it
 * would have to.
 */
bool ub_lds_load(UbLds *l, int64_t now, uint64_t offset, unsigned len,
                 UbLdsWait *w, uint64_t *value);
/* A store.  True: it is taken; false: there is no room, @w waits.  @w NULL, or a
 * pause: then it is lost. */
bool ub_lds_store(UbLds *l, int64_t now, uint64_t offset, unsigned len,
                  uint64_t value, UbLdsWait *w);
/* Whether a store is taken now: nobody has to wait for it. */
bool ub_lds_store_room(const UbLds *l);
/* @w waits no longer: it ends, with all ones. */
void ub_lds_cancel(UbLds *l, int64_t now, UbLdsWait *w);
/* The machine stops: a store that waits for room is taken though there is none, since an
 * instruction that begins anew would make again what it has stored before this one.
 * False: it is a load, or too many were taken so. */
bool ub_lds_store_anyway(UbLds *l, int64_t now, UbLdsWait *w);
/* The same as ub_lds_cancel(), and nobody hears of it: whoever waits makes the same access again later,
 * for which everything is as it was before this one. */
void ub_lds_withdraw(UbLds *l, int64_t now, UbLdsWait *w);
/* Nobody waits any longer. */
void ub_lds_cancel_all(UbLds *l, int64_t now);

/* Commands, timers; when to call again, or INT64_MAX. */
int64_t ub_lds_run(UbLds *l, int64_t now);
/* A port's link came or went. */
void ub_lds_link(UbLds *l, int64_t now, unsigned port, bool up);
/* Nothing may happen, and no access's time runs, until it goes on. */
void ub_lds_pause(UbLds *l, int64_t now, bool pause);

/* ---- For the transaction layer's owner ---------------------------------------------- */

/* Whether a request is of the window; then it has these of UbTaOps. */
static inline bool ub_lds_owns(const UbLds *l, const UbTaRequest *req)
{
    return l && req->user == l;
}

UbTaData ub_lds_gather(void *opaque, const UbTaRequest *req, uint32_t off,
                       void *buf, uint32_t len);
UbTaData ub_lds_scatter(void *opaque, const UbTaRequest *req, uint32_t off,
                        const void *buf, uint32_t len);
void ub_lds_done(void *opaque, UbTaRequest *req, UbTaStatus status);

/* ---- Views, migration ----------------------------------------------------------------- */

#define UB_LDS_COUNTERS(X) \
    X(LOADS, "loads") \
    X(STORES, "stores") \
    X(COMBINED, "stores-combined")      /* joined one before them */ \
    X(WRITES, "writes")                 /* requests that stores became */ \
    X(COMMANDS, "slot-commands") \
    X(FENCES, "fences") \
    X(ROOM_WAITS, "stores-that-waited") \
    X(WITHDRAWN, "withdrawn")           /* waited, and were to be made again */ \
    X(HITS, "cache-hits") \
    X(MISSES, "cache-misses") \
    X(QUEUE_COMMANDS, "decoder-commands") \
    X(QUEUE_ERRORS, "decoder-command-errors") \
    X(EVENTS, "events") \
    X(EVENTS_LOST, "events-lost") \
    X(TABLE_WRITES, "table-writes")     /* by the UBFM, of dwords */ \
    /* Accesses that failed, by reason. */ \
    X(RANGE, "out-of-range") \
    X(TABLE, "table-not-readable") \
    X(ENTRY, "bad-entry") \
    X(REMOTE, "refused-by-peer") \
    X(TIMEOUT, "timeouts") \
    X(LINK, "link-lost") \
    X(STOPPED, "stopped") \
    X(REFUSED, "refused")

typedef enum UbLdsCounter {
#define UB_LDS_X(id, name) UB_LDS_##id##_COUNT,
    UB_LDS_COUNTERS(UB_LDS_X)
#undef UB_LDS_X
    UB_LDS_COUNTERS_NUM
} UbLdsCounter;

const char *ub_lds_counter_name(unsigned counter);
uint64_t ub_lds_counter(const UbLds *l, UbLdsCounter counter);

typedef struct UbLdsState {
    bool enabled;
    uint32_t under_way;     /* requests */
    uint32_t waiting;       /* processors */
    bool line;              /* stores wait for neighbours */
    uint32_t maps;          /* entries of the UBFM's table that are not empty */
} UbLdsState;

void ub_lds_state(const UbLds *l, UbLdsState *state);

/* What the decoder says to an address of the window; nothing is sent. */
typedef struct UbLdsRoute {
    uint8_t event;          /* UB_LDS_EVENT_*, 0: it leads somewhere: */
    uint32_t dest, token_id;
    uint64_t uba;
} UbLdsRoute;

void ub_lds_route(UbLds *l, uint64_t offset, UbLdsRoute *route);

/* Entry @i of the UBFM's table; false: there is none, or it is empty. */
typedef struct UbLdsMap {
    uint32_t first, last;   /* MiBs */
    uint32_t cna, upi, token_id;
    uint64_t uba;
    UbEid deid;
} UbLdsMap;

bool ub_lds_map(const UbLds *l, unsigned i, UbLdsMap *map);

/*
 * Migration.  The order is: ub_lds_image(), then ub_ta_image() with ub_lds_adopt()
 * for its RCID, then, loading, ub_lds_loaded(), which returns NULL or what is wrong.
 */
void ub_lds_image(UbLds *l, CoreImage *im);
UbTaRequest *ub_lds_adopt(UbLds *l, uint64_t id);
const char *ub_lds_loaded(UbLds *l);

#endif
