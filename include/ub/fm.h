/*
 * A fabric as its manager sees it: nodes and links found by scans, network
 * addresses, and routes (UB 2.0 §10.4.3.2, §5.3.2).
 *
 * Nothing here knows how packets travel: the user of this gives functions that
 * ask a node and wait for its answer.  libc only, so that it serves a program in
 * a guest as well as a test.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef UB_FM_H
#define UB_FM_H

#include <stdio.h>

#include "ub/mgmt_format.h"

/*
 * What is kept of a fabric is bounded, whatever its nodes say of themselves: an
 * admitted switch may make up neighbours without end.  What is beyond is not looked
 * at, and counted (UbFm.beyond).
 */
#define UB_FM_NODES 1024      /* of a fabric, where UbFm.most says nothing else */
#define UB_FM_NODES_MOST 4096 /* that UbFm.most may say */
#define UB_FM_PORTS 1024      /* of a node */
#define UB_FM_PORTS_ALL 65536 /* of all nodes */
#define UB_FM_NEIGHBOURS 256  /* that are asked behind one node */
#define UB_FM_NONE (-1)

/* Asking a node.  Negative: nobody answered; else the status, UB_MGMT_OK with
 * the answer. */
typedef struct UbFmOps {
    /* The node at the end of @way: the Scan PDU of the answer into @pdu, of
     * UB_SCAN_MAX bytes, and its bytes into @len. */
    int (*scan)(void *opaque, const UbScanWay *way, const UbScanAsk *ask,
                uint8_t *pdu, unsigned *len);
    /* A register of Entity 0 of the node at @cna, 0: our own. */
    int (*read)(void *opaque, uint32_t cna, uint32_t dw, uint32_t *value);
    int (*write)(void *opaque, uint32_t cna, uint32_t dw, uint32_t value);
    /* Any message to the node at @cna, 0: our own; the PDU of the answer into
     * @answer, of UB_MGMT_PDU_MAX bytes.  For ub/fm_pool.h alone. */
    int (*message)(void *opaque, uint32_t cna, UbMgmtId id, const uint8_t *pdu,
                   unsigned len, uint8_t *answer, unsigned *answer_len);
} UbFmOps;

typedef struct UbFmPort {
    bool up;
    bool boundary;      /* enumeration goes no further */
    bool beyond;        /* the neighbour is not looked at: there are too many */
    uint16_t peer_port; /* what the node says of its neighbour, when up */
    UbId peer_guid;
    int peer;           /* node that packets may go to, or UB_FM_NONE: it did not
                         * answer, is not admitted, or behind a boundary */
    /* Of a switch, by ub_fm_give_partitions(): what it was told of the port. */
    uint32_t npi;       /* of what is behind it, 0: of nobody */
    uint8_t gate;       /* UbFmGate */
} UbFmPort;

/* What passes a switch's port of packets with NPI (UB 2.0 §5.3.3). */
typedef enum UbFmGate {
    UB_FM_GATE_UNKNOWN, /* it was not told, or not all of it */
    UB_FM_GATE_OPEN,    /* all: another switch is behind it */
    UB_FM_GATE_CLOSED,  /* the NPI of who is behind it, or nothing */
} UbFmGate;

typedef struct UbFmNode {
    UbId guid;
    UbScanWay way;      /* from us to it */
    int from;           /* the node before it on this way */
    uint16_t class_code;
    uint8_t mtu;        /* code of §D.2.1.13 */
    unsigned ports;
    UbFmPort *port;
    unsigned asked;     /* neighbours behind it */
    unsigned beyond;    /* ports of it whose neighbours are not looked at */
    uint32_t cna;       /* Primary CNA, 0: none */
    /* By configuration messages: */
    bool reached;       /* they were answered */
    bool stranger;      /* not admitted: it is asked nothing, and has no ports here */
    bool forwards;
    UbId eid;
    uint16_t upi;
    uint32_t fm_cna;    /* the UBFM it knows */
    unsigned entities;
    unsigned routes;    /* entries of its table, 0: it has none */
    uint32_t npi;       /* its own, where it was given or read; else 0 */
    uint8_t policy;     /* UbFmPolicy */
    uint8_t vls;        /* of its links to other switches that maps may use; 0: that
                         * is not known */
    bool mapped;        /* it was new, and its table is empty since (ub/fm_matt.h) */
    bool given;         /* its CNA is new to it, and no table was looked at since */
    /* By ub_fm_paths(): in-group and out-group of each port (ub/net_hw.h). */
    uint32_t vl_group[8];
    /* By ub_fm_paths(): the ports that lead to each node of the fabric. */
    uint64_t *route;
} UbFmNode;

/* Whether a node has CFG0_CAP242 (ub/net_hw.h). */
typedef enum UbFmPolicy {
    UB_FM_POLICY_UNKNOWN,
    UB_FM_POLICY_ABSENT,
    UB_FM_POLICY_THERE,
} UbFmPolicy;

/* What was found and is not kept. */
typedef struct UbFmBeyond {
    unsigned neighbours; /* ports with neighbours that are not looked at */
    unsigned ports;      /* nodes that claim more ports than there is room for */
} UbFmBeyond;

typedef struct UbFm {
    const UbFmOps *ops;
    void *opaque;
    /* Who may be in the fabric, besides ourselves; NULL: everybody.  Who may not gets
     * no address, no identity and no routes, and nothing is looked for behind it. */
    bool (*admit)(void *admitting, UbId guid);
    void *admitting;
    /* CNAs that its nodes had are nobody else's, or NULL: maps may lead there
     * (ub/fm_matt.h).  Who has lost its own gets it again. */
    const struct UbFm *held;
    unsigned most;      /* nodes, 0: UB_FM_NODES */
    unsigned nodes;
    UbFmNode *node;     /* 0: our own controller */
    uint16_t *by_guid;  /* the same, in the order of the bytes of their GUIDs */
    unsigned unanswered; /* neighbours that say nothing */
    unsigned ports;     /* of all nodes */
    unsigned asked;     /* neighbours, whether they answered or not */
    UbFmBeyond beyond;
    unsigned cnas;      /* the highest CNA and one, by ub_fm_paths() */
    uint16_t *by_cna;   /* which node has a CNA, and one; 0: nobody */
    bool ringed;        /* on all shortest ways, links would wait in a ring */
    bool tree;          /* all routes go up a tree and down instead */
    unsigned layers;    /* VLs that a packet goes through at most; 1: no maps */
    unsigned classes;   /* VLs of senders, each of which has so many layers */
    unsigned trees;     /* nodes to which routes are by a tree for want of VLs */
    unsigned written;   /* registers, by the last ub_fm_bring_up() */
} UbFm;

UbFm *ub_fm_new(const UbFmOps *ops, void *opaque);
void ub_fm_free(UbFm *fm);

/* ---- What is there (discover.c) ------------------------------------------- */

/* Look at the fabric anew.  False: our own node does not answer. */
bool ub_fm_discover(UbFm *fm);
/* Ask all nodes that have a CNA what they are: EID, UPI, Entities, routes. */
void ub_fm_inquire(UbFm *fm);
bool ub_fm_inquire_node(UbFm *fm, unsigned i);
/* The node with this GUID, or UB_FM_NONE. */
int ub_fm_find(const UbFm *fm, UbId guid);
/* Where its registers and messages are, for UbFmOps: its CNA, 0: node 0 is our own. */
static inline uint32_t ub_fm_at(const UbFm *fm, unsigned i)
{
    return i ? fm->node[i].cna : 0;
}
/* A message to a node, as UbFmOps.message. */
static inline int ub_fm_message(const UbFm *fm, unsigned i, UbMgmtId id,
                                const uint8_t *pdu, unsigned len, uint8_t *answer,
                                unsigned *answer_len)
{
    return fm->ops->message(fm->opaque, ub_fm_at(fm, i), id, pdu, len, answer,
                            answer_len);
}
/* It is a switch by its GUID's type, or forwards by its registers. */
bool ub_fm_is_switch(const UbFmNode *n);
/* Bytes that it keeps. */
size_t ub_fm_bytes(const UbFm *fm);
/* Both find the same nodes, addresses and links. */
bool ub_fm_same(const UbFm *a, const UbFm *b);

/* ---- Bringing it up -------------------------------------------------------- */

typedef struct UbFmPlan {
    uint32_t first_cna;  /* of those that are given */
    uint16_t upi;        /* of all nodes; 0: as it is */
    UbId eid_prefix;     /* its low 20 bits are the CNA */
    /*
     * The NPI of a node (@port UB_FM_NONE), or of who is behind a port of a switch; 0:
     * none is said.  NULL: NPIs stay as they are.
     */
    uint32_t (*npi)(void *opaque, UbId guid, int port);
    void *npi_opaque;
    /* Whether two nodes may have TP channels with each other.  NULL: lists stay as they
     * are. */
    bool (*channels)(void *opaque, UbId a, UbId b);
    void *channels_opaque;
} UbFmPlan;

/* Defaults. */
void ub_fm_plan_init(UbFmPlan *plan);

/*
 * Addresses, routes and identities for what ub_fm_discover() has found, the
 * nearest first, so that routes are there when a node is asked.  @before: the
 * fabric as it was brought up last, whose routes are not written again, or NULL: then
 * tables of nodes that have a manager are read, and what is right is not written.
 * Returns the nodes that refused, or cannot be reached.
 */
unsigned ub_fm_bring_up(UbFm *fm, const UbFmPlan *plan, const UbFm *before);

/*
 * A node of a fabric that ub_fm_discover() has found says that it does not know its
 * manager: it was reset since it was brought up, and may look as it did before.
 */
bool ub_fm_forgotten(UbFm *fm);

/*
 * A CNA for each node that has none or another one's, by scans; those that have
 * one keep it (address.c).  Returns the nodes that refused.
 */
unsigned ub_fm_give_addresses(UbFm *fm, const UbFmPlan *plan);
/* NPIs of nodes and of ports of switches, as the plan says (partition.c): a node's
 * ports let pass its partition alone, whoever it says it is; who is in none passes
 * nothing.  What @before was told is not told again.  Returns as above. */
unsigned ub_fm_give_partitions(UbFm *fm, const UbFmPlan *plan,
                               const UbFm *before);
/* Peers of nodes whose TP channels are the UBFM's to allow, as the plan says
 * (channels.c); who has no list of them refuses.  Returns as above. */
unsigned ub_fm_give_channels(UbFm *fm, const UbFmPlan *plan);
/* The NPI of a node by the plan, or by that of a port that it is behind; 0: none. */
uint32_t ub_fm_npi_of(const UbFm *fm, const UbFmPlan *plan, unsigned i);
/* Whether it has CFG0_CAP242, by asking it once. */
bool ub_fm_has_policy(UbFm *fm, unsigned i);
/* EID where there is none, UPI, and who the UBFM is.  Returns as above. */
unsigned ub_fm_give_identities(UbFm *fm, const UbFmPlan *plan);

/*
 * Work out the routes of all nodes (paths.c): all shortest paths.  Where packets
 * of different ways could wait for one another in a ring, switches' maps of VLs let
 * them go up one VL wherever they turn up again (layers.c), if there are so many VLs;
 * else paths go up a tree first and then down, which cannot form one
 * (docs/decisions/ub-fm.rst).
 */
void ub_fm_paths(UbFm *fm);
/* The VL map of switches for ports of these groups: by @vl. */
unsigned ub_fm_vl_out(const UbFm *fm, unsigned in, unsigned out, unsigned vl);
/* Ask a switch of a fabric with rings for its VLs.  False: it does not say. */
bool ub_fm_inquire_vls(UbFm *fm, unsigned i);
/* Write groups and maps of a switch; @was: the node as it was brought up last, with
 * the fabric @before, or NULL.  False: a register was refused. */
bool ub_fm_program_vls(UbFm *fm, unsigned i, const UbFm *before,
                       const UbFmNode *was);
/* The ports of node @i that lead to @cna; 0: none do, or ub_fm_paths() was not
 * called. */
uint64_t ub_fm_route(const UbFm *fm, unsigned i, uint32_t cna);
/* The routes as they are have no ring of links that wait for one another. */
bool ub_fm_is_ring_free(const UbFm *fm);
/* Write the routes into the nodes' tables.  Returns as above. */
unsigned ub_fm_program(UbFm *fm, const UbFm *before);

/* ---- Output (report.c, draw.c) -------------------------------------------- */

#define UB_FM_GUID_TEXT 38
/* "vvvv-dddd-V-T-rrrrrr-ssssssssssssssss". */
const char *ub_fm_guid_text(UbId guid, char text[UB_FM_GUID_TEXT]);
#define UB_FM_ERROR_TEXT 96
/* An error message of class C (§10.4.3.3), MGMTETAH and PDU, from the node at @scna:
 * which node, which of its ports, how severe.  NULL: it is no such message, or of a node
 * that is not, or not any more, in the fabric (§G.5). */
const char *ub_fm_error_text(const UbFm *fm, uint32_t scna, const uint8_t *data,
                             size_t len, char text[UB_FM_ERROR_TEXT]);
#define UB_FM_EID_TEXT 33
/* 32 digits. */
const char *ub_fm_eid_text(UbId id, char text[UB_FM_EID_TEXT]);
const char *ub_fm_kind(const UbFmNode *n);
void ub_fm_text(const UbFm *fm, FILE *out);
void ub_fm_json(const UbFm *fm, FILE *out);
void ub_fm_svg(const UbFm *fm, FILE *out);

#endif
