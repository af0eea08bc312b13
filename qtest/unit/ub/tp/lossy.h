/*
 * A network in memory and virtual time for the tests of the transport layer: it
 * loses, doubles, delays and reorders by a script or by chance, and says what
 * it saw.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef TEST_LOSSY_H
#define TEST_LOSSY_H

#include <glib.h>

#include "ub/tp.h"

enum { LOSSY_NODES = 4 };

typedef enum LossyKind {
    KIND_ANY, KIND_DATA, KIND_ACK, KIND_NAK, KIND_SACK, KIND_CNP, KIND_FAKE,
    KIND_CTP, KIND_UTP, KIND_BYPASS,
} LossyKind;

/* What happens to packets of a kind and PSN from a node. */
typedef struct LossyRule {
    LossyKind kind;
    int psn;            /* relative to LossyNode.psn; -1: any */
    unsigned nth;       /* the nth such packet, from 1; 0: each */
    enum { LOSE = 1, DOUBLE, DELAY } what;
    int64_t delay;
} LossyRule;

/* A packet seen by a user. */
typedef struct LossyGot {
    UbTpRx rx;
    UbFlow flow;
    uint32_t len;
    uint64_t tag;       /* its first 8 bytes */
} LossyGot;

typedef struct LossyAcked {
    uint32_t tpn;
    uint64_t cookie;
    UbTpAnswer answer;
} LossyAcked;

typedef struct Lossy Lossy;

typedef struct LossyNode {
    Lossy *net;
    unsigned n;
    UbTp *tp;
    uint32_t psn;               /* what scripts count from */
    GArray *got, *acked;        /* LossyGot, LossyAcked */
    GArray *errors;             /* UbTpError */
    unsigned rooms, connects, accepts, ends;
    uint32_t ended_tpn;
    UbTpResult connected;
    uint32_t connected_tpn;
    bool refuse;                /* in-band requests */
    UbTpAttr *accept_attr;      /* changes to what is accepted, or NULL */
    bool down;                  /* BUSY to all */
    /* What rx() answers; NULL: UB_TP_ACK. */
    UbTpAnswer (*answer)(struct LossyNode *node, const UbTpRx *rx);
    void *opaque;
    void (*on_room)(struct LossyNode *node, uint32_t tpn);
    void (*on_rx)(struct LossyNode *node, const UbTpRx *rx, CorePacket *pkt);
    void (*on_acked)(struct LossyNode *node, const LossyAcked *a);
} LossyNode;

struct Lossy {
    int64_t now;
    int64_t latency, jitter;    /* of each packet */
    uint32_t lose_ppm, double_ppm, busy_ppm, keep_ppm;
    uint16_t cci;               /* what comes gets this CCI, if not 0 */
    uint64_t rng;
    LossyNode node[LOSSY_NODES];
    unsigned nodes;
    GArray *rules[LOSSY_NODES];
    unsigned *seen[LOSSY_NODES];        /* of each rule */
    GPtrArray *events;          /* a heap by time */
    uint64_t order;
    GString *trace;             /* of RTP between nodes 0 and 1 */
    CorePacketPool *pool;
    uint64_t sent, lost;
    unsigned budget;            /* of ub_tp_run() */
};

/* Two or more nodes of one configuration, CNA 1 and up; lower and upper are
 * filled in here. */
Lossy *lossy_new(const UbTpConfig *cfg, unsigned nodes);
void lossy_free(Lossy *l);
/* Another configuration for a node, which loses what it had. */
void lossy_renew(Lossy *l, unsigned n, const UbTpConfig *cfg);
/* Rules for what node @n sends; an array that ends with a zero kind... what. */
void lossy_script(Lossy *l, unsigned n, const LossyRule *rules);
/* A channel from @a to @b and back with @attr's settings; TPNs are 10 * a + b + 1
 * unless given; PSNs as in @attr (b's mirrored). */
void lossy_channel(Lossy *l, unsigned a, unsigned b, uint32_t ta, uint32_t tb,
                   const UbTpAttr *attr);
/* A packet of @len bytes whose first 8 are @tag and the rest follows from it. */
CorePacket *lossy_packet(Lossy *l, uint32_t len, uint64_t tag);
bool lossy_intact(CorePacket *pkt, uint64_t tag);
UbSend lossy_send(LossyNode *node, uint32_t tpn, uint32_t len, uint64_t tag,
                  bool last, bool result, uint64_t cookie);
/* All that happens until @until; time ends there. */
void lossy_run(Lossy *l, int64_t until);
/* Put raw bytes into a node as if they came over @flow. */
void lossy_inject(Lossy *l, unsigned n, const UbFlow *flow, const void *data,
                  uint32_t len);
/* The flow by which node @a reaches @b in a CFG. */
UbFlow lossy_flow(unsigned a, unsigned b, UbLphCfg cfg);

static inline LossyGot *lossy_got(LossyNode *n, guint i)
{
    g_assert_cmpuint(i, <, n->got->len);
    return &g_array_index(n->got, LossyGot, i);
}

static inline LossyAcked *lossy_acked(LossyNode *n, guint i)
{
    g_assert_cmpuint(i, <, n->acked->len);
    return &g_array_index(n->acked, LossyAcked, i);
}

#endif
