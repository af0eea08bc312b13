/*
 * Finding the nodes of a fabric and their links by scans (UB 2.0 §10.4.3.2).
 *
 * A switch sends scans on, a controller does only where it says so, or where
 * there is nobody else to ask for what is behind it.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <stdlib.h>

#include "ub/cfg_regs.h"
#include "ub/fm.h"

/* GUID types of switches (UB 2.0 appendix C). */
#define TYPE_SWITCH 3
#define TYPE_SWITCH_INTEGRATED 4

/* ---- Life ---- */

UbFm *ub_fm_new(const UbFmOps *ops, void *opaque)
{
    UbFm *fm = calloc(1, sizeof(*fm));

    if (!fm) {
        abort();
    }
    fm->ops = ops;
    fm->opaque = opaque;
    return fm;
}

static void forget_nodes(UbFm *fm)
{
    for (unsigned i = 0; i < fm->nodes; i++) {
        free(fm->node[i].port);
        free(fm->node[i].route);
    }
    free(fm->node);
    free(fm->by_cna);
    free(fm->by_guid);
    fm->node = NULL;
    fm->by_cna = fm->by_guid = NULL;
    fm->nodes = fm->unanswered = fm->cnas = fm->ports = fm->asked = 0;
    fm->beyond = (UbFmBeyond) { 0 };
}

void ub_fm_free(UbFm *fm)
{
    if (fm) {
        forget_nodes(fm);
        free(fm);
    }
}

/* Where in UbFm.by_guid the first is that is not before @guid.  By order and not by a
 * hash: GUIDs are what nodes say, and could be chosen to meet in one place of it. */
static unsigned place_of(const UbFm *fm, UbId guid)
{
    unsigned lo = 0, hi = fm->nodes;

    while (lo < hi) {
        unsigned mid = (lo + hi) / 2;

        if (memcmp(&fm->node[fm->by_guid[mid]].guid, &guid, sizeof(guid)) < 0) {
            lo = mid + 1;
        } else {
            hi = mid;
        }
    }
    return lo;
}

int ub_fm_find(const UbFm *fm, UbId guid)
{
    unsigned at = place_of(fm, guid);

    return at < fm->nodes && ub_id_same(fm->node[fm->by_guid[at]].guid, guid)
           ? fm->by_guid[at] : UB_FM_NONE;
}

size_t ub_fm_bytes(const UbFm *fm)
{
    size_t bytes = sizeof(*fm) + fm->nodes * sizeof(*fm->node);

    for (unsigned i = 0; i < fm->nodes; i++) {
        const UbFmNode *n = &fm->node[i];

        bytes += n->ports * sizeof(*n->port);
        bytes += n->route ? fm->nodes * sizeof(*n->route) : 0;
    }
    return bytes + fm->cnas * sizeof(*fm->by_cna) + fm->nodes * sizeof(*fm->by_guid);
}

bool ub_fm_is_switch(const UbFmNode *n)
{
    unsigned type = n->guid.w[2] >> 24 & 0xf;

    return type == TYPE_SWITCH || type == TYPE_SWITCH_INTEGRATED ||
           n->forwards;
}

/* ---- A node's topology ---- */

static void take_port(UbFmNode *n, const uint8_t *p)
{
    unsigned index = ub_mgmt_get(p, UB_MF_PORT_LOCAL);

    if (index < n->ports) {
        n->port[index] = (UbFmPort) {
            .up = ub_mgmt_get(p, UB_MF_PORT_S),
            .boundary = ub_mgmt_get(p, UB_MF_PORT_B),
            .peer_port = ub_mgmt_get(p, UB_MF_PORT_REMOTE),
            .peer_guid = ub_mgmt_get_id(p, UB_MF_PORT_GUID),
            .peer = UB_FM_NONE,
        };
    }
}

/* The number of ports is what the first slice says.  Nothing is set aside for more
 * than there is room for: such a node is not taken. */
static bool take_ports(UbFm *fm, UbFmNode *n, const uint8_t *p)
{
    unsigned ports = ub_mgmt_get(p, UB_MF_PORTS_TOTAL);

    if (!n->port && (ports > UB_FM_PORTS ||
                     ports > UB_FM_PORTS_ALL - fm->ports)) {
        fm->beyond.ports++;
        return false;
    }
    if (!n->port) {
        n->port = calloc(ports + 1, sizeof(*n->port));
        n->ports = ports;
    }
    return n->port && n->ports == ports;
}

/* The TLVs of a slice; 0: it is not one.  Else how many there are. */
static unsigned take_slice(UbFm *fm, UbFmNode *n, const uint8_t *pdu,
                           unsigned len)
{
    static const uint8_t size[] = {
        [UB_TLV_SLICE_INFO] = UB_TLV_SLICE_INFO_SIZE,
        [UB_TLV_PORT_NUM] = UB_TLV_PORT_NUM_SIZE,
        [UB_TLV_PORT_INFO] = UB_TLV_PORT_INFO_SIZE,
        [UB_TLV_CAP_INFO] = UB_TLV_CAP_INFO_SIZE,
    };
    unsigned total = 0, bytes, type;

    for (unsigned at = UB_SCAN_PDU; at + 4 <= len; at += bytes) {
        const uint8_t *p = pdu + at;

        type = ub_mgmt_get(p, UB_MF_TLV_TYPE);
        bytes = ub_mgmt_get(p, UB_MF_TLV_LENGTH);
        if (bytes < 4 || at + bytes > len ||
            (type < sizeof(size) && bytes < size[type])) {
            return 0;
        }
        switch (type) {
        case UB_TLV_SLICE_INFO:
            total = ub_mgmt_get(p, UB_MF_SLICE_TOTAL);
            break;
        case UB_TLV_PORT_NUM:
            if (!take_ports(fm, n, p)) {
                return 0;
            }
            break;
        case UB_TLV_PORT_INFO:
            take_port(n, p);
            break;
        case UB_TLV_CAP_INFO:
            n->class_code = ub_mgmt_get(p, UB_MF_CAP_CLASS);
            n->mtu = ub_mgmt_get(p, UB_MF_CAP_MTU);
            break;
        }
    }
    return n->port ? total : 0;
}

/* All that @n says of itself.  False: nothing that can be used. */
static bool ask_node(UbFm *fm, UbFmNode *n)
{
    uint8_t pdu[UB_SCAN_MAX];
    unsigned len, total = 1;
    UbId guid;
    UbScanAsk ask = { .cmd = UB_SCAN_TOPOLOGY, .opcode = UB_SCAN_OP_TOPOLOGY,
                      .guid = n->guid };

    for (; ask.slice < total; ask.slice++) {
        len = 0;
        if (fm->ops->scan(fm->opaque, &n->way, &ask, pdu, &len) ||
            len < UB_SCAN_PDU) {
            return false;
        }
        guid = ub_mgmt_get_id(pdu, UB_MF_PDU_GUID);
        /* Our own is not known before. */
        if (n->way.hops && !ub_id_same(guid, n->guid)) {
            return false;
        }
        n->guid = guid;
        total = take_slice(fm, n, pdu, len);
        if (!total || total > 255) {
            return false;
        }
    }
    ask.cmd = UB_SCAN_NA_QUERY;
    ask.opcode = UB_SCAN_OP_PRIMARY;
    ask.guid = n->guid;
    if (!fm->ops->scan(fm->opaque, &n->way, &ask, pdu, &len) &&
        len >= UB_SCAN_PDU + 4) {
        n->cna = ub_mgmt_get(pdu, UB_MF_NA_DONE_CNA);
    }
    return true;
}

/* ---- The fabric ---- */

/* What @array becomes with room for @n of @size bytes. */
static void *enlarge(void *array, unsigned n, size_t size)
{
    void *more = realloc(array, n * size);

    if (!more) {
        abort();
    }
    return more;
}

static void keep_node(UbFm *fm, const UbFmNode *n)
{
    unsigned at = place_of(fm, n->guid), more = fm->nodes + 1;

    fm->node = enlarge(fm->node, more, sizeof(*fm->node));
    fm->by_guid = enlarge(fm->by_guid, more, sizeof(*fm->by_guid));
    memmove(fm->by_guid + at + 1, fm->by_guid + at,
            (fm->nodes - at) * sizeof(*fm->by_guid));
    fm->by_guid[at] = fm->nodes;
    fm->node[fm->nodes++] = *n;
}

/* Ask a node that was not known, if it may be there; false: it is not added. */
static bool add_node(UbFm *fm, const UbFmNode *fresh)
{
    UbFmNode n = *fresh;

    n.stranger = n.way.hops && fm->admit && !fm->admit(fm->admitting, n.guid);
    if (!n.stranger && !ask_node(fm, &n)) {
        free(n.port);
        return false;
    }
    fm->ports += n.ports;
    keep_node(fm, &n);
    return true;
}

/* How many nodes there may be. */
static unsigned most_nodes(const UbFm *fm)
{
    unsigned most = fm->most ? fm->most : UB_FM_NODES;

    return most < UB_FM_NODES_MOST ? most : UB_FM_NODES_MOST;
}

/* Whether one more neighbour of @n may be asked: those who answer are kept, and who
 * makes them up, or answers by halves, is not to keep us asking for ever. */
static bool may_ask(const UbFm *fm, const UbFmNode *n)
{
    return fm->nodes < most_nodes(fm) && fm->asked < 4 * most_nodes(fm) &&
           n->asked < UB_FM_NEIGHBOURS;
}

/* What is behind a port of node @i; whether it was new. */
static bool look_behind(UbFm *fm, unsigned i, unsigned port)
{
    UbFmNode *n = &fm->node[i];
    UbFmPort *p = &n->port[port];
    UbFmNode fresh = { .guid = p->peer_guid, .from = i };
    UbScanWay *way = &fresh.way;

    if (!p->up || p->boundary || ub_id_zero(p->peer_guid) ||
        ub_fm_find(fm, p->peer_guid) >= 0 || n->way.hops == 255) {
        return false;
    }
    if (!may_ask(fm, n)) {
        p->beyond = true;
        return false;
    }
    n->asked++;
    fm->asked++;
    *way = n->way;
    way->forward[way->hops++] = port;
    memmove(way->back + 1, way->back, n->way.hops * sizeof(way->back[0]));
    way->back[0] = p->peer_port;
    return add_node(fm, &fresh);
}

/* Nodes behind those from @i on: behind switches and our own, or behind
 * controllers, one at a time. */
static bool spread(UbFm *fm, unsigned *i, bool controllers)
{
    bool found = false;

    for (; *i < fm->nodes && !(controllers && found); (*i)++) {
        bool through = !*i || ub_fm_is_switch(&fm->node[*i]);

        if (through == controllers) {
            continue;
        }
        for (unsigned port = 0; port < fm->node[*i].ports; port++) {
            found |= look_behind(fm, *i, port);
        }
    }
    return found;
}

/* The node behind a port that packets may go to, or UB_FM_NONE.  A boundary is one
 * for enumeration: what was found around it is behind it. */
static int peer_of(const UbFm *fm, const UbFmPort *p, bool *answers)
{
    int peer = p->up ? ub_fm_find(fm, p->peer_guid) : UB_FM_NONE;
    const UbFmNode *n = peer < 0 ? NULL : &fm->node[peer];

    *answers = !p->up || (n ? n->stranger || p->peer_port < n->ports
                            : p->boundary || p->beyond);
    return n && p->peer_port < n->ports ? peer : UB_FM_NONE;
}

/* Both ends of each link. */
static void join_ends(UbFm *fm)
{
    for (unsigned i = 0; i < fm->nodes; i++) {
        for (unsigned port = 0; port < fm->node[i].ports; port++) {
            UbFmNode *n = &fm->node[i];
            UbFmPort *p = &n->port[port];
            bool answers;

            p->peer = peer_of(fm, p, &answers);
            /* Another way may have led there before there were too many. */
            p->beyond &= p->peer < 0 && ub_fm_find(fm, p->peer_guid) < 0;
            n->beyond += p->beyond;
            fm->beyond.neighbours += p->beyond;
            fm->unanswered += !answers;
        }
    }
}

bool ub_fm_discover(UbFm *fm)
{
    UbFmNode own = { .from = UB_FM_NONE };
    unsigned i = 0, j = 0;

    forget_nodes(fm);
    if (!add_node(fm, &own)) {
        return false;
    }
    do {
        spread(fm, &i, false);
    } while (spread(fm, &j, true) || i < fm->nodes);
    join_ends(fm);
    return true;
}

/* ---- By messages ---- */

static bool read_id(UbFm *fm, uint32_t cna, uint32_t dw, UbId *id)
{
    for (unsigned i = 0; i < 4; i++) {
        if (fm->ops->read(fm->opaque, cna, dw + i, &id->w[i])) {
            return false;
        }
    }
    return true;
}

/* Entries of the route table and the features that go with it. */
static bool inquire_routes(UbFm *fm, UbFmNode *n, uint32_t cna)
{
    uint32_t features, cap = 0;

    if (fm->ops->read(fm->opaque, cna, UB_CFG0_SUPPORTED_FEATURE, &features)) {
        return false;
    }
    n->forwards = features & UB_CFG0_SUPPORTED_FEATURE__SWITCH_SUPPORTED;
    n->routes = 0;
    if (features & UB_CFG0_SUPPORTED_FEATURE__ROUTE_TABLE_SUPPORTED) {
        if (fm->ops->read(fm->opaque, cna,
                          UB_CFG_ROUTE_BASE + UB_ROUTE_TABLE_CAP, &cap)) {
            return false;
        }
        n->routes = (cap &
                     UB_ROUTE_TABLE_CAP__MAX_INDEX_OF_ROUTING_TABLE_ENTRY) + 1;
    }
    return true;
}

bool ub_fm_inquire_node(UbFm *fm, unsigned i)
{
    UbFmNode *n = &fm->node[i];
    uint32_t cna = ub_fm_at(fm, i), upi, fm_cna, totals;

    if (i && !cna) {
        return false;
    }
    n->reached = inquire_routes(fm, n, cna) &&
                 read_id(fm, cna, UB_CFG0_EID, &n->eid) &&
                 !fm->ops->read(fm->opaque, cna, UB_CFG0_UPI, &upi) &&
                 !fm->ops->read(fm->opaque, cna, UB_CFG0_UBFM_CNA, &fm_cna) &&
                 !fm->ops->read(fm->opaque, cna,
                                UB_CFG0_TOTAL_NUMBER_OF_ENTITIES, &totals);
    if (n->reached) {
        n->upi = upi & UB_CFG0_UPI__ALL;
        n->fm_cna = fm_cna & UB_CFG0_UBFM_CNA__ALL;
        n->entities = totals >> 16;
    }
    return n->reached;
}

void ub_fm_inquire(UbFm *fm)
{
    for (unsigned i = 0; i < fm->nodes; i++) {
        ub_fm_inquire_node(fm, i);
    }
}

/* ---- Changes ---- */

static bool same_node(const UbFmNode *a, const UbFmNode *b)
{
    if (!ub_id_same(a->guid, b->guid) || a->cna != b->cna ||
        a->stranger != b->stranger ||
        a->ports != b->ports) {
        return false;
    }
    for (unsigned i = 0; i < a->ports; i++) {
        const UbFmPort *p = &a->port[i], *q = &b->port[i];

        if (p->up != q->up || p->boundary != q->boundary ||
            (p->up && (p->peer_port != q->peer_port ||
                       !ub_id_same(p->peer_guid, q->peer_guid)))) {
            return false;
        }
    }
    return true;
}

bool ub_fm_same(const UbFm *a, const UbFm *b)
{
    if (a->nodes != b->nodes) {
        return false;
    }
    for (unsigned i = 0; i < a->nodes; i++) {
        int j = ub_fm_find(b, a->node[i].guid);

        if (j < 0 || !same_node(&a->node[i], &b->node[j])) {
            return false;
        }
    }
    return true;
}
