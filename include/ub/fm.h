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

#define UB_FM_NODES 4096 /* of a fabric; more are not looked at */
#define UB_FM_PORTS 1024 /* of a node */
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
    uint16_t peer_port; /* what the node says of its neighbour, when up */
    UbId peer_guid;
    int peer;           /* node that packets may go to, or UB_FM_NONE: it did not
                         * answer, is not admitted, or behind a boundary */
} UbFmPort;

typedef struct UbFmNode {
    UbId guid;
    UbScanWay way;      /* from us to it */
    int from;           /* the node before it on this way */
    uint16_t class_code;
    uint8_t mtu;        /* code of §D.2.1.13 */
    unsigned ports;
    UbFmPort *port;
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
    /* By ub_fm_paths(): the ports that lead to each CNA of the fabric. */
    uint64_t *route;
} UbFmNode;

typedef struct UbFm {
    const UbFmOps *ops;
    void *opaque;
    /* Who may be in the fabric, besides ourselves; NULL: everybody.  Who may not gets
     * no address, no identity and no routes, and nothing is looked for behind it. */
    bool (*admit)(void *admitting, UbId guid);
    void *admitting;
    unsigned nodes;
    UbFmNode *node;     /* 0: our own controller */
    unsigned unanswered; /* neighbours that say nothing */
    unsigned cnas;      /* entries of UbFmNode.route: the highest CNA and one */
    bool tree;          /* routes go up a tree and down, not all shortest ways */
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
/* It is a switch by its GUID's type, or forwards by its registers. */
bool ub_fm_is_switch(const UbFmNode *n);
/* Both find the same nodes, addresses and links. */
bool ub_fm_same(const UbFm *a, const UbFm *b);

/* ---- Bringing it up -------------------------------------------------------- */

typedef struct UbFmPlan {
    uint32_t first_cna;  /* of those that are given */
    uint16_t upi;        /* of all nodes; 0: as it is */
    UbId eid_prefix;     /* its low 20 bits are the CNA */
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
/* EID where there is none, UPI, and who the UBFM is.  Returns as above. */
unsigned ub_fm_give_identities(UbFm *fm, const UbFmPlan *plan);

/*
 * Work out the routes of all nodes (paths.c): all shortest paths.  Where packets
 * of different ways could wait for one another in a ring, paths go up a tree
 * first and then down instead, which cannot (docs/decisions/ub-fm.rst).
 */
void ub_fm_paths(UbFm *fm);
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
 * which node, which of its ports, how severe.  NULL: it is no such message. */
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
