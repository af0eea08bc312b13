/*
 * Management of one UB node (UB 2.0 §10.4): it answers the configuration and
 * other messages that are addressed to it and the scans that end at it, sends
 * on the scans that do not, tells the UBFM of links and errors, and asks other
 * nodes on behalf of its own software.
 *
 * Software asks in two ways: through the message queues of ub/msgq.h, as a guest
 * does (ub_mgmt_host_send), or by calls (ub_mgmt_request, ub_mgmt_scan).  Either
 * way what is asked is remembered until the answer with its MSN is here or its
 * time is over; an answer that nobody waits for is dropped and counted.
 *
 * Below is a table of functions (UbMgmtOps) that carries a message in a
 * management transaction, and a scan in a packet of its own; registers are those
 * of a configuration space (UbSpace), which is all the identity that a node has.
 *
 * One thread at a time; no clock: `now` is in nanoseconds.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef UB_MGMT_H
#define UB_MGMT_H

#include "core/image.h"
#include "ub/errors.h"
#include "ub/mgmt_format.h"
#include "ub/space.h"

#define UB_MGMT_MAX_PORTS 64
#define UB_MGMT_BUS_INSTANCES 16
#define UB_MGMT_MUES 16
#define UB_MGMT_TOKENS 16 /* Entities that can have the token check */
#define UB_MGMT_OUTSTANDING 1024
/* Ports of a slice at most: with the longest path they still fit. */
#define UB_MGMT_SLICE_PORTS 16
/* UbMgmtAddr.queue of what is asked by calls. */
#define UB_MGMT_OWN_QUEUE 0xfeu

/* What the headers of a message or scan say. */
typedef struct UbMgmtAddr {
    uint32_t scna, dcna;
    uint32_t seid, deid; /* 20 bits; not of scans */
    uint32_t queue;      /* INI_RC_ID or MSGQ_ID: the asker's message queue */
    uint16_t msn;
    uint16_t upi;
    uint8_t sl, lbf;
    uint8_t via;         /* 1 + the port that it came by, and an answer leaves by;
                          * 0: as routes say */
    bool mgmt;           /* sent by the UBFM */
    bool local;          /* does not leave the node */
} UbMgmtAddr;

typedef enum UbMgmtKind {
    UB_MGMT_KIND_MESSAGE, /* begins with MGMTETAH */
    UB_MGMT_KIND_SCAN,    /* begins with the Scan Header */
} UbMgmtKind;

/* Reasons and occasions that are counted. */
#define UB_MGMT_COUNTERS(X)                                              \
    X(REQUESTS, "requests")          /* that reached this node */        \
    X(RESPONSES, "responses")        /* that somebody waited for */      \
    X(SCANS, "scans")                /* that ended at this node */       \
    X(SCANS_FORWARDED, "scans-forwarded")                                \
    X(EVENTS, "events")              /* taken, of others and our own */  \
    X(ASKED, "asked")                /* requests and scans sent */       \
    X(TIMEOUTS, "timeouts")          /* asked in vain */                 \
    X(RETRIES, "retries")                                                \
    X(REFUSED, "refused")            /* answered with an error */        \
    X(DROP_SHORT, "drop-short")      /* no whole header */               \
    X(DROP_HEADER, "drop-header")    /* in front of it: breaks a rule */ \
    X(DROP_SCAN, "drop-scan")        /* Scan Header breaks a rule */     \
    X(DROP_ASTRAY, "drop-astray")    /* Step beyond Hops */              \
    X(DROP_NO_FORWARD, "drop-no-forward") /* this node does not forward */ \
    X(DROP_PORT, "drop-port")        /* no such port, or it is down */   \
    X(DROP_UPI, "drop-upi")          /* of another partition */          \
    X(DROP_UNASKED, "drop-unasked")  /* nobody waits for the response */ \
    X(DROP_NO_QUEUE, "drop-no-queue") /* no software takes it */         \
    X(DROP_EVENT, "drop-event")      /* an event that breaks a rule */   \
    X(DROP_UNSENT, "drop-unsent")    /* what is below did not take it */ \
    X(EMQ_OVERFLOW, "emq-overflow")

typedef enum UbMgmtCounter {
#define UB_X(symbol, name) UB_MGMT_CNT_##symbol,
    UB_MGMT_COUNTERS(UB_X)
#undef UB_X
    UB_MGMT_CNT_NUM
} UbMgmtCounter;

typedef struct UbMgmtOps {
    /* Send a message: MGMTETAH and PDU.  False: it is lost. */
    bool (*message)(void *opaque, int64_t now, const UbMgmtAddr *a,
                    const uint8_t *data, size_t len);
    /* Send Scan Header and Scan PDU out of a port.  False: it is lost. */
    bool (*scan)(void *opaque, int64_t now, unsigned port,
                 const UbMgmtAddr *a, const uint8_t *data, size_t len);
    /* Give software what arrived for its message queue @queue: a response that
     * it waits for, or with @queue < 0 a request or event, for any queue.  False:
     * there is no such queue, or no room.  May be NULL. */
    bool (*deliver)(void *opaque, int queue, UbMgmtKind kind,
                    const UbMgmtAddr *a, const uint8_t *data, size_t len);
    /* What software asked through @queue was in vain.  False: no room; asked
     * again by the next run.  May be NULL. */
    bool (*failed)(void *opaque, unsigned queue, UbMgmtKind kind, uint16_t msn,
                   uint8_t code);
    /* Whether a port carries packets. */
    bool (*port_up)(void *opaque, unsigned port);
    /* The space of another Entity than 0, or NULL.  May be NULL. */
    UbSpace *(*space)(void *opaque, unsigned entity);
    /* The bus instance at place @i was created or destroyed.  NULL: the node is no
     * bus controller and has none. */
    void (*instance)(void *opaque, unsigned i);
    /* Whether something is left of who was at place @i: nobody else comes there.
     * May be NULL. */
    bool (*instance_busy)(void *opaque, unsigned i);
    /* ub_mgmt_run() has something to do.  May be NULL. */
    void (*kick)(void *opaque);
    /* A peer broke the rule @text.  May be NULL. */
    void (*rule)(void *opaque, const char *text);
} UbMgmtOps;

typedef struct UbMgmtConfig {
    unsigned ports;          /* 1 to UB_MGMT_MAX_PORTS */
    bool forward;            /* scans go on through this node */
    bool port_cna;           /* ports have CNAs (not those of a switch) */
    bool manager;            /* own software is the UBFM */
    bool drop_foreign_upi;   /* a request of another partition is dropped, not
                              * answered with OVERREACH (§10.3.2, §10.4.1) */
    unsigned slice_ports;    /* 1 to UB_MGMT_SLICE_PORTS */
    unsigned outstanding;    /* 1 to UB_MGMT_OUTSTANDING */
    int64_t timeout;         /* ns for an answer */
    unsigned tries;          /* of what is asked by calls, 1 to 255 */
    unsigned emq_depth;      /* of each error message queue, 2 to 4096; 0: none */
    uint64_t seed;           /* of TokenValues */
    /* Management UEs: Entity i is the MUE of Entities first to last; last = first
     * = i: of none. */
    unsigned mues;           /* 1 to UB_MGMT_MUES */
    struct {
        uint16_t first, last;
    } mue[UB_MGMT_MUES];
} UbMgmtConfig;

/* Defaults of a controller with one port and one Entity. */
void ub_mgmt_config_init(UbMgmtConfig *cfg);
/* NULL, or the rule that is broken. */
const char *ub_mgmt_config_check(const UbMgmtConfig *cfg);

typedef struct UbMgmt UbMgmt;

/*
 * @space: that of Entity 0, which outlives it and has its BASIC slices.  With
 * emq_depth the slice EMQ is attached.  NULL: ub_mgmt_config_check() says why, or
 * the slice had an owner.
 */
UbMgmt *ub_mgmt_new(const UbMgmtConfig *cfg, UbSpace *space,
                    const UbMgmtOps *ops, void *opaque);
/* What was asked by calls is forgotten.  NULL is ignored. */
void ub_mgmt_free(UbMgmt *m);
/* As after ub_mgmt_new(), but for counters; the space is its owner's. */
void ub_mgmt_reset(UbMgmt *m);
/* Time-outs and what waits for room.  When to call again, or INT64_MAX. */
int64_t ub_mgmt_run(UbMgmt *m, int64_t now);

/* ---- From below ---------------------------------------------------------- */

/* A message for this node: MGMTETAH and PDU. */
void ub_mgmt_receive(UbMgmt *m, int64_t now, const UbMgmtAddr *a,
                     const uint8_t *data, size_t len);
/* A scan that came by a port, whoever it is for: Scan Header and Scan PDU.
 * @data is written to. */
void ub_mgmt_receive_scan(UbMgmt *m, int64_t now, const UbMgmtAddr *a,
                          uint8_t *data, size_t len);

/* ---- From software, by message queues ------------------------------------ */

/*
 * Send a message or scan of a message queue.  What software may not choose is
 * overwritten: source, UPI and Mgmt of @a, RSP aside also the queue; with
 * a->local, or when the DCNA is this node's, it does not leave.  Returns the rule
 * that is broken, or NULL: of a request, an answer or ops->failed follows.
 */
const char *ub_mgmt_host_send(UbMgmt *m, int64_t now, UbMgmtKind kind,
                              UbMgmtAddr *a, uint8_t *data, size_t len);
/* Nobody waits for what @queue asked any more. */
void ub_mgmt_host_forget(UbMgmt *m, unsigned queue);

/* ---- From software, by calls --------------------------------------------- */

/* An answer: its PDU after MGMTETAH, or the Scan PDU; or NULL: in vain. */
typedef void UbMgmtDone(void *opaque, const uint8_t *data, size_t len,
                        unsigned status);

/* Ask a node.  False: too much is asked already, or the PDU is too long.  @done
 * may ask again, but not free. */
bool ub_mgmt_request(UbMgmt *m, int64_t now, const UbMgmtAddr *to,
                     UbMgmtId id, const uint8_t *pdu, size_t len,
                     UbMgmtDone *done, void *opaque);
/* One 32-bit register of an Entity of a node. */
bool ub_mgmt_read(UbMgmt *m, int64_t now, const UbMgmtAddr *to,
                  unsigned entity, uint32_t dw, UbMgmtDone *done,
                  void *opaque);
bool ub_mgmt_write(UbMgmt *m, int64_t now, const UbMgmtAddr *to,
                   unsigned entity, uint32_t dw, uint32_t value,
                   uint8_t byte_en, UbMgmtDone *done, void *opaque);

/* Scan the node at the end of @way.  As ub_mgmt_request(). */
bool ub_mgmt_scan(UbMgmt *m, int64_t now, const UbScanWay *way,
                  const UbScanAsk *ask, UbMgmtDone *done, void *opaque);

/* ---- Events of this node -------------------------------------------------- */

/* A port came up or went down: told to the UBFM. */
void ub_mgmt_link(UbMgmt *m, int64_t now, unsigned port, bool up);
/* The button of a slot was pressed, or its presence is another: told to the UBFM
 * (ub/shp.h). */
void ub_mgmt_plug(UbMgmt *m, int64_t now, unsigned slot, bool button);

typedef enum UbMgmtSeverity { UB_MGMT_CE, UB_MGMT_NFUE, UB_MGMT_FUE }
    UbMgmtSeverity;

/* An error of class C (§10.6.2.2), of a port or with @port < 0 of the device:
 * into the error message queues, and told to the UBFM. */
void ub_mgmt_error(UbMgmt *m, int64_t now, UbMgmtSeverity severity, int port);
/* What a record has to report: one such event for each severity. */
void ub_mgmt_errors(UbMgmt *m, int64_t now, UbErrors fresh, int port);

/* ---- State ---------------------------------------------------------------- */

/* Of the resource spaces of an Entity (token check configuration): whether a request
 * must have the token. */
bool ub_mgmt_token(const UbMgmt *m, unsigned entity, uint32_t *token_id,
                   uint32_t *value);
/* The Entity was reset: its token check is off. */
void ub_mgmt_reset_entity(UbMgmt *m, unsigned entity);

typedef struct UbBusInstance {
    UbId guid, eid;
    uint16_t upi;
} UbBusInstance;

/* Bus instances (§10.4.3.3): that at place @i, which it keeps, or NULL. */
const UbBusInstance *ub_mgmt_bus_instance(const UbMgmt *m, unsigned i);

/* The CNA is the Primary CNA or that of a port. */
bool ub_mgmt_own_cna(const UbMgmt *m, uint32_t cna);
/* Requests and scans without an answer so far. */
unsigned ub_mgmt_waiting(const UbMgmt *m);
uint64_t ub_mgmt_counter(const UbMgmt *m, UbMgmtCounter counter);
/* Its name, or NULL. */
const char *ub_mgmt_counter_name(unsigned counter);

/* Migration.  Registers are the space's, which is loaded before; what was asked
 * by calls does not migrate. */
void ub_mgmt_image(UbMgmt *m, CoreImage *im);

#endif
