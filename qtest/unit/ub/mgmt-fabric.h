/*
 * A fabric of nodes' management for tests: configuration spaces, links between
 * their ports, and a queue of what is under way, so that a test may drop, change
 * and reorder it.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef MGMT_FABRIC_H
#define MGMT_FABRIC_H

#include <glib.h>

#include "ub/mgmt.h"

#define FABRIC_NODES 80
#define FABRIC_PORTS 24
#define FABRIC_ENTITIES 3 /* of a node, with Entity 0 */
#define SECOND INT64_C(1000000000)

typedef struct Fabric Fabric;

typedef struct Node {
    Fabric *fabric;
    unsigned index;
    UbMgmt *m;
    UbSpace *space;
    UbId guid;
    UbSlice *cfg0, *cfg1, *port[FABRIC_PORTS];
    /* Other Entities than 0, if there are. */
    UbSpace *other[FABRIC_ENTITIES];
    UbSlice *other0[FABRIC_ENTITIES], *other1[FABRIC_ENTITIES];
    struct {
        int node;       /* -1: not connected */
        unsigned port;
        bool down;
    } link[FABRIC_PORTS];
    /* What software was given; `full`: it refuses. */
    unsigned delivered, failed, rules;
    bool full;
    int queue;
    UbMgmtKind kind;
    UbMgmtAddr addr;
    uint8_t data[UB_MGMT_MAX];
    size_t len;
    uint16_t failed_msn;
    uint8_t failed_code;
    unsigned kicks;
    const char *rule;
} Node;

typedef struct Flight {
    UbMgmtKind kind;
    unsigned from, to;
    UbMgmtAddr addr;
    size_t len;
    uint8_t data[UB_MGMT_MAX];
} Flight;

struct Fabric {
    Node node[FABRIC_NODES];
    unsigned nodes;
    int64_t now;
    bool lossy;         /* what is sent is lost */
    bool jammed;        /* what is below takes nothing */
    int64_t hop;        /* time that a packet takes from node to node */
    /* Where a message gets to, and by which port, or NULL: it is lost; without
     * this, to whom has the CNA. */
    Node *(*route)(Node *from, const UbMgmtAddr *a, unsigned *port);
    GQueue under_way;
};

static inline Node *fabric_of(Fabric *f, uint32_t cna)
{
    for (unsigned i = 0; i < f->nodes; i++) {
        if (ub_mgmt_own_cna(f->node[i].m, cna)) {
            return &f->node[i];
        }
    }
    return NULL;
}

static inline bool fabric_fly(Node *n, UbMgmtKind kind, int to, const UbMgmtAddr *a,
                              const uint8_t *data, size_t len)
{
    Flight *fl;

    if (n->fabric->jammed || to < 0) {
        return false;
    }
    if (!n->fabric->lossy) {
        fl = g_new0(Flight, 1);
        *fl = (Flight) { .kind = kind, .from = n->index, .to = to,
                         .addr = *a, .len = len };
        memcpy(fl->data, data, len);
        g_queue_push_tail(&n->fabric->under_way, fl);
    }
    return true;
}

static inline bool fabric_message(void *opaque, int64_t now,
                                  const UbMgmtAddr *a, const uint8_t *data,
                                  size_t len)
{
    Node *n = opaque, *to;
    UbMgmtAddr at = *a;
    unsigned port = 0;

    g_assert_false(a->local);
    if (n->fabric->route) {
        to = n->fabric->route(n, a, &port);
        at.via = port + 1;
        /* It left, at any rate. */
        return !to || fabric_fly(n, UB_MGMT_KIND_MESSAGE, to->index, &at, data,
                                 len);
    }
    to = fabric_of(n->fabric, a->dcna);
    return fabric_fly(n, UB_MGMT_KIND_MESSAGE, to ? (int)to->index : -1, a, data,
                      len);
}

static inline bool fabric_scan(void *opaque, int64_t now, unsigned port,
                               const UbMgmtAddr *a, const uint8_t *data,
                               size_t len)
{
    Node *n = opaque;

    g_assert_false(a->local);
    n->fabric->now += n->fabric->hop;
    return fabric_fly(n, UB_MGMT_KIND_SCAN, n->link[port].node, a, data, len);
}

static inline bool fabric_deliver(void *opaque, int queue, UbMgmtKind kind,
                                  const UbMgmtAddr *a, const uint8_t *data,
                                  size_t len)
{
    Node *n = opaque;

    if (n->full) {
        return false;
    }
    n->delivered++;
    n->queue = queue;
    n->kind = kind;
    n->addr = *a;
    n->len = len;
    memcpy(n->data, data, len);
    return true;
}

static inline bool fabric_failed(void *opaque, unsigned queue, UbMgmtKind kind,
                                 uint16_t msn, uint8_t code)
{
    Node *n = opaque;

    if (n->full) {
        return false;
    }
    n->failed++;
    n->queue = queue;
    n->kind = kind;
    n->failed_msn = msn;
    n->failed_code = code;
    return true;
}

static inline bool fabric_port_up(void *opaque, unsigned port)
{
    Node *n = opaque;

    return n->link[port].node >= 0 && !n->link[port].down;
}

static inline void fabric_rule(void *opaque, const char *text)
{
    Node *n = opaque;

    n->rules++;
    n->rule = text;
}

static inline UbSpace *fabric_entity(void *opaque, unsigned entity)
{
    Node *n = opaque;

    return entity < FABRIC_ENTITIES ? n->other[entity] : NULL;
}

static inline void fabric_kick(void *opaque)
{
    ((Node *)opaque)->kicks++;
}

/* Places of bus instances that are not free. */
static uint32_t fabric_busy;
static unsigned fabric_told;

static void fabric_instance(void *opaque, unsigned i)
{
    fabric_told++;
}

static bool fabric_instance_busy(void *opaque, unsigned i)
{
    return fabric_busy >> i & 1;
}

static const UbMgmtOps fabric_ops = {
    .message = fabric_message, .scan = fabric_scan,
    .deliver = fabric_deliver, .failed = fabric_failed,
    .port_up = fabric_port_up, .space = fabric_entity, .rule = fabric_rule,
    .kick = fabric_kick, .instance = fabric_instance,
    .instance_busy = fabric_instance_busy,
};

static inline UbId fabric_guid(unsigned node)
{
    return (UbId) { { 0x100 + node, 0, 0x02000000, 0xe0fca120 } };
}

/* A space with its BASIC slices and a GUID. */
static inline void fabric_space(Node *n, unsigned ports)
{
    UbId guid = fabric_guid(n->index);

    n->guid = guid;
    n->space = ub_space_new(ports);
    n->cfg0 = ub_space_attach(n->space, UB_SPACE_CFG0, 0, 0, NULL, NULL);
    n->cfg1 = ub_space_attach(n->space, UB_SPACE_CFG1, 0, 0, NULL, NULL);
    ub_slice_init(n->cfg0, UB_CFG0_TOTAL_NUMBER_OF_PORTS, ~0u,
                  1u << 16 | ports);
    ub_slice_init(n->cfg0, UB_CFG0_SUPPORTED_FEATURE, 0xf, 1 | 2 << 1);
    for (unsigned i = 0; i < 4; i++) {
        ub_slice_init(n->cfg0, UB_CFG0_GUID + i, ~0u, guid.w[i]);
    }
    for (unsigned i = 0; i < ports; i++) {
        n->port[i] = ub_space_attach(n->space, UB_SPACE_PORT, i, 0, NULL, NULL);
        ub_slice_init(n->port[i], UB_PORT_INFO, UB_PORT_INFO__PORT_INDEX, i);
        n->link[i].node = -1;
    }
}

static inline Node *fabric_add(Fabric *f, const UbMgmtConfig *cfg)
{
    Node *n = &f->node[f->nodes];

    n->fabric = f;
    n->index = f->nodes++;
    fabric_space(n, cfg->ports);
    n->m = ub_mgmt_new(cfg, n->space, &fabric_ops, n);
    g_assert_nonnull(n->m);
    return n;
}

/* What an Entity does at an entity-level reset. */
static inline void fabric_written1(void *opaque, UbSlice *s,
                                   const UbSliceWrite *w)
{
    if (w->dw == UB_CFG1_ELR && w->trigger) {
        ub_space_reset(opaque, UB_SPACE_RESET_ENTITY, 0);
        ub_slice_set(s, UB_CFG1_ELR_DONE, 1, 1);
    }
}

/* All the Entities that a node may have. */
static inline void fabric_more_entities(Node *n)
{
    static const UbSliceOps ops = { fabric_written1, NULL };

    ub_slice_init(n->cfg0, UB_CFG0_TOTAL_NUMBER_OF_ENTITIES,
                  UB_CFG0_TOTAL_NUMBER_OF_ENTITIES__ALL,
                  FABRIC_ENTITIES << 16);
    for (unsigned i = 1; i < FABRIC_ENTITIES; i++) {
        n->other[i] = ub_space_new_entity();
        n->other0[i] = ub_space_attach(n->other[i], UB_SPACE_CFG0, 0, 0, NULL,
                                       NULL);
        n->other1[i] = ub_space_attach(n->other[i], UB_SPACE_CFG1, 0, 0, &ops,
                                       n->other[i]);
        ub_slice_init(n->other0[i], UB_CFG0_GUID, ~0u, n->guid.w[0] + i);
    }
}

/* Join two ports, and let each see its neighbour. */
static inline void fabric_link(Fabric *f, unsigned a, unsigned pa, unsigned b,
                               unsigned pb)
{
    const unsigned node[] = { a, b }, port[] = { pa, pb };

    for (unsigned i = 0; i < 2; i++) {
        Node *n = &f->node[node[i]];
        UbId guid = f->node[node[!i]].guid;

        n->link[port[i]].node = node[!i];
        n->link[port[i]].port = port[!i];
        ub_slice_set(n->port[port[i]], UB_PORT_NEIGHBOR_PORT_INFO, ~0u,
                     port[!i]);
        for (unsigned w = 0; w < 4; w++) {
            ub_slice_set(n->port[port[i]], UB_PORT_NEIGHBOR_PORT_GUID + w, ~0u,
                         guid.w[w]);
        }
    }
}

static inline void fabric_identity(Node *n, uint32_t cna, uint32_t eid,
                                   uint32_t upi)
{
    ub_slice_set(n->cfg0, UB_CFG0_PRIMARY_CNA, ~0u, cna);
    ub_slice_set(n->cfg0, UB_CFG0_EID, ~0u, eid);
    ub_slice_set(n->cfg0, UB_CFG0_UPI, ~0u, upi);
}

static inline void fabric_land(Fabric *f, Flight *fl)
{
    UbMgmt *m = f->node[fl->to].m;

    if (fl->kind == UB_MGMT_KIND_SCAN) {
        ub_mgmt_receive_scan(m, f->now, &fl->addr, fl->data, fl->len);
    } else {
        ub_mgmt_receive(m, f->now, &fl->addr, fl->data, fl->len);
    }
    g_free(fl);
}

/* All that is under way, and what comes of it. */
static inline void fabric_pump(Fabric *f)
{
    Flight *fl;

    while ((fl = g_queue_pop_head(&f->under_way))) {
        fabric_land(f, fl);
    }
}

/* Time goes on. */
static inline void fabric_run(Fabric *f, int64_t by)
{
    f->now += by;
    for (unsigned i = 0; i < f->nodes; i++) {
        ub_mgmt_run(f->node[i].m, f->now);
    }
}

static inline void fabric_free(Fabric *f)
{
    for (unsigned i = 0; i < f->nodes; i++) {
        ub_mgmt_free(f->node[i].m);
        ub_space_free(f->node[i].space);
        for (unsigned e = 1; e < FABRIC_ENTITIES; e++) {
            ub_space_free(f->node[i].other[e]);
        }
    }
    g_queue_clear_full(&f->under_way, g_free);
}

/* What a call was answered with. */
typedef struct Answer {
    unsigned calls, status;
    bool in_vain;
    size_t len;
    uint8_t data[UB_MGMT_PDU_MAX];
} Answer;

static inline void fabric_answer(void *opaque, const uint8_t *data, size_t len,
                                 unsigned status)
{
    Answer *a = opaque;

    a->calls++;
    a->status = status;
    a->in_vain = !data;
    a->len = len;
    if (data) {
        memcpy(a->data, data, len);
    }
}

/*
 * 0 (the UBFM) port 0 - port 1 of 1 (a switch) port 2 - port 3 of 2 (a switch)
 * port 4 - port 0 of 3 (a controller of two ports).
 */
static inline void line(Fabric *f)
{
    UbMgmtConfig cfg;

    memset(f, 0, sizeof(*f));
    g_queue_init(&f->under_way);
    ub_mgmt_config_init(&cfg);
    g_assert_null(ub_mgmt_config_check(&cfg));
    fabric_add(f, &cfg);
    cfg.ports = 5;
    cfg.forward = true;
    cfg.port_cna = cfg.manager = false;
    cfg.emq_depth = 0;
    fabric_add(f, &cfg);
    fabric_add(f, &cfg);
    ub_mgmt_config_init(&cfg);
    cfg.ports = 2;
    cfg.manager = false;
    fabric_add(f, &cfg);
    fabric_link(f, 0, 0, 1, 1);
    fabric_link(f, 1, 2, 2, 3);
    fabric_link(f, 2, 4, 3, 0);
    for (unsigned i = 0; i < 4; i++) {
        fabric_identity(&f->node[i], 0x10 + i, 0x20 + i, 5);
    }
    f->now = SECOND;
}

static const UbMgmtAddr fm_to_3 = { .dcna = 0x13, .deid = 0x23, .mgmt = true };

/* Ask node 3 as the UBFM; its status. */
static inline unsigned ask(Fabric *f, UbMgmtId id, const void *pdu, size_t len,
                    Answer *a)
{
    memset(a, 0, sizeof(*a));
    g_assert_true(ub_mgmt_request(f->node[0].m, f->now, &fm_to_3, id, pdu, len,
                                  fabric_answer, a));
    fabric_pump(f);
    g_assert_cmpuint(a->calls, ==, 1);
    g_assert_false(a->in_vain);
    return a->status;
}

static inline uint64_t fabric_counted(const Fabric *f, unsigned node,
                                      UbMgmtCounter counter)
{
    return ub_mgmt_counter(f->node[node].m, counter);
}

/* Migrate a node's management into @m; NULL, or why not. */
static inline const char *fabric_load(UbMgmt *m, const uint8_t *data,
                                      size_t len, int64_t now)
{
    CoreImage *im = core_image_load(data, len, now);
    const char *why;

    ub_mgmt_image(m, im);
    why = core_image_done(im);
    core_image_free(im);
    return why;
}

static inline uint8_t *fabric_save(UbMgmt *m, size_t *len, int64_t now)
{
    CoreImage *im = core_image_save(now);
    uint8_t *data;

    ub_mgmt_image(m, im);
    data = core_image_take(im, len);
    core_image_free(im);
    return data;
}

/* A read of CFG0 of node 3 as software would ask for it. */
static inline void host_read(UbMgmtAddr *a, uint8_t *data, uint16_t msn)
{
    *a = (UbMgmtAddr) { .scna = 0xbad, .dcna = 0x13, .seid = 0xbad,
                        .deid = 0x23, .mgmt = true, .upi = 0xbad, .queue = 2,
                        .msn = msn };
    memset(data, 0, 20);
    ub_mgmt_etah_put(data, (UbMgmtEtah) { .code = 2, .len = 16 });
}

#endif
