/*
 * Transaction layers of some nodes over a transport that does what a script says,
 * in virtual time.
 *
 * Channels are reliable and in order (their packets are delivered exactly once);
 * what goes by CTP, UTP or Bypass may be lost, doubled, delayed and change order.
 * Node i has CNA i + 1, an EID of its own, memory with one segment (TokenID 1) and
 * a receive queue (TCID 9).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef TA_PAIR_H
#define TA_PAIR_H

#include <glib.h>

#include "core/bytes.h"
#include "core/random.h"
#include "ub/cip.h"
#include "ub/host_segment.h"
#include "ub/ta.h"

enum {
    PAIR_MAX = 4,
    PAIR_MEM = 4 << 20,
    PAIR_UPI = 0x123,
    PAIR_TOKEN = 0x5eed,
    PAIR_TOKEN_ID = 1,
    PAIR_TCID = 9,
    PAIR_SLOT = 1 << 16,        /* bytes of a receive buffer */
    PAIR_UBA = 0x100000,
};

typedef struct Pair Pair;
typedef struct End End;
typedef struct PairSwitch PairSwitch;

/* A packet between two nodes. */
typedef struct Wire {
    struct Wire *next;
    int64_t due;
    uint64_t order;
    unsigned from, to;
    unsigned hop;               /* of a way by a switch */
    UbTpTx tx;
    UbTpDest dest;
    uint32_t msn;
    CorePacket *pkt;
} Wire;

typedef struct Work Work;

/* A completed request, or a completion of a message. */
typedef struct Cqe {
    uint64_t id;
    UbTaStatus status;
    UbRecvDone recv;
} Cqe;

/* A request with its data. */
struct Work {
    UbTaRequest req;
    uint8_t *data;              /* to be sent, or what came */
    bool done;
    UbTaStatus status;
    int64_t at;                 /* when it was done */
    void *more;                 /* the test's */
};

struct End {
    Pair *p;
    unsigned index;
    UbTa *ta;
    UbTp *tp;                   /* the real one, or NULL */
    UbSec *sec;
    UbSegments *segments;
    UbEid eid;
    uint8_t *mem;
    uint8_t *slots;             /* receive buffers */
    uint64_t rqe_posted, rqe_taken;
    uint32_t rqe_len;           /* 0: PAIR_SLOT */
    UbRecvResult recv_result;   /* instead of a buffer, unless OK */
    GArray *cqes;               /* Cqe, requests */
    GArray *recvs;              /* Cqe, messages */
    GPtrArray *sent;            /* headers sent: char *, if tracing */
    UbTaMessage last_message;
    uint8_t pdu[UB_TA_PDU_MAX];
    UbTaDest last_back;
    unsigned messages;
    UbTaData gather_result, scatter_result;
    UbTaData place_result;
    /* Called when the target executes for it; may be NULL. */
    void (*accessed)(End *e, const UbAccess *a);
    /* A processor with the same memory: when some of it was read for an operation, and
     * just before some is exchanged; may be NULL. */
    void (*meanwhile)(End *e, uint64_t addr, uint32_t len);
    void (*rival)(End *e, uint64_t addr, uint32_t len);
    uint32_t ticket;            /* of the faults that accesses meet */
    void (*done)(End *e, Work *w);
    void (*received)(End *e, const UbRecvDone *done);
    GHashTable *works;          /* posted, by id */
    /* Another that has requests: those whose user it is.  Adopts by id. */
    void *guest;
    const UbTaOps *guest_ops;
    UbTaRequest *(*guest_adopt)(void *guest, uint64_t id);
    uint32_t guest_rcid;
    uint64_t rules;
    int64_t next;               /* deadline */
    /* Channels: of each to each other node. */
    uint64_t begun[64];         /* cookie + 1 of the operation that is begun */
    uint32_t msn[64];
    UbTpAnswer refused[64];     /* what came by it: the rest is swallowed */
    int64_t last_due[64];
};

struct Pair {
    End end[PAIR_MAX];
    unsigned n;
    int64_t now;
    uint64_t rng, order;
    Wire *wires;                /* by due, order */
    unsigned in_flight;
    CorePacketPool *pool;
    /* The script. */
    bool real;                          /* over the transport of tp.h */
    PairSwitch *sw;                     /* and the network layer, by a switch */
    uint32_t loss, dup, reorder;        /* ppm of unreliable packets */
    int64_t delay;                      /* of all, ns */
    int64_t jitter;
    uint32_t busy;                      /* ppm of sends */
    bool (*filter)(Pair *p, Wire *w);   /* false: lose it */
    void (*alter)(Pair *p, Wire *w);    /* of a channel, too */
    bool tracing, was_busy;
    uint32_t packets;
};

void pair_config(UbTaConfig *cfg);
/* @n nodes; @cfg NULL: that of pair_config(). */
Pair *pair_new(unsigned n, const UbTaConfig *cfg);
/* The same over the real transport layer; what the script does to packets it does
 * to those of channels, too. */
Pair *pair_new_real(unsigned n, const UbTaConfig *cfg);
/* The same by way of a switch, whose links do what the script says. */
Pair *pair_new_switched(unsigned n, const UbTaConfig *cfg);
void pair_free(Pair *p);
/* One turn of everything; false: nothing happens any more. */
bool pair_step(Pair *p);
/* Until nothing happens, or for @ns. */
void pair_run(Pair *p);
void pair_run_for(Pair *p, int64_t ns);

/* Destination rows of node @from: row 16 * mode + to, and with a group or answers
 * at 64, 128 and on. */
enum { ROW_RTP = 0, ROW_CTP = 16, ROW_UTP = 32, ROW_BYPASS = 48,
       ROW_GROUP = 64, ROW_ANSWERS = 80, ROW_CTP7 = 96, ROW_SPRAY = 112 };

UbTaQueue *pair_queue(Pair *p, unsigned node, uint32_t rcid, UbTaMode mode);
/* A new request with @len bytes of data (@size of memory for them). */
Work *work_new(uint32_t row, uint8_t opcode, uint64_t off, uint32_t len);
void work_free(Work *w);
void work_post(Pair *p, unsigned node, uint32_t rcid, Work *w);
/* Post, run, check the status, free. */
void work_all(Pair *p, unsigned node, uint32_t rcid, Work *w,
              UbTaStatus status);
void pair_recv(Pair *p, unsigned node, unsigned count);
/* Save a node and load it into a new one; NULL, or why that failed. */
const char *pair_migrate(Pair *p, unsigned node);
/* The image of a node (g_free). */
uint8_t *pair_save(Pair *p, unsigned node, size_t *len);
const char *pair_load(Pair *p, unsigned node, const uint8_t *data, size_t len);
uint64_t pair_count(Pair *p, unsigned node, UbTaCounter c);
/* Nothing is left of requests, packets, contexts that wait. */
void pair_idle(Pair *p);

/* Packets of ta-pair.c, for whoever puts some on wires: a copy; onto a wire, or not, in
 * the order of others that were due by *@last unless each goes its own way. */
CorePacket *pair_copy(Pair *p, CorePacket *pkt);
void pair_wire(Pair *p, int64_t *last, Wire *w, bool spray);

/* ---- ta-pair-switch.c ---- */

/* Made when all nodes are there. */
void pair_switch_new(Pair *p);
void pair_switch_free(Pair *p);
UbSend pair_switch_send(End *e, const UbFlow *flow, CorePacket *pkt);
void pair_switch_deliver(Pair *p, Wire *w);
/* A counter of the switch (UbNetCounter). */
uint64_t pair_switch_count(const Pair *p, unsigned counter);

/* ---- ta-pair-cip.c ---- */

UbCip *pair_cip(Pair *p, unsigned node);
/* All nodes have policies for all, in @mode, and use keys of slot 0. */
void pair_cip_up(Pair *p, UbCipSuite suite, unsigned mode);
/* New keys in a slot, everywhere; @serial is never the same. */
void pair_cip_key(Pair *p, unsigned slot, uint64_t serial);
/* A node sends by a slot. */
void pair_cip_use(Pair *p, unsigned node, unsigned slot);
uint64_t pair_cip_count(Pair *p, unsigned node, UbCipCounter c);

#endif
