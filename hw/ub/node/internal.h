/*
 * The node: what its files share.  import.c stands on path.c, node.c on both;
 * fault.c stands beside.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef HW_UB_NODE_INTERNAL_H
#define HW_UB_NODE_INTERNAL_H

#include <glib.h>

#include "ub/node.h"

typedef struct NodeImports NodeImports;

NodeImports *node_imports(UbNode *node);

/* Which packets an injected fault concerns. */
typedef struct NodeFault {
    UbFaultPlan plan;
    bool compact6;  /* how TAHs of CFG 6 are to be read */
} NodeFault;

struct UbNode {
    UbNodeConfig cfg;
    UbNodeOps ops;
    void *opaque;
    UbNet *net;
    UbTp *tp;
    UbSec *sec;
    UbTa *ta;
    NodeImports *imports;
    bool stirred;   /* a floor has called one that had its turn */
    NodeFault fault[2];   /* of what comes, of what leaves */
};

/* ---- path.c ---- */
/* A way of 48 bytes; false: no such CFG. */
bool node_way_get(const uint8_t *p, UbFlow *f);
/* The row that DEST_SET describes; false: it cannot be one. */
bool node_dest_get(UbNode *node, const uint8_t *cmd, UbTaDest *dest);
/* A channel goes, and what the floors above have of it. */
UbTpResult node_channel_destroy(UbNode *node, uint32_t tpn, int64_t now);

/* ---- import.c ---- */
NodeImports *node_imports_new(void);
void node_imports_free(NodeImports *all);
void node_imports_reset(NodeImports *all);
unsigned node_import(UbNode *node, int64_t now, uint32_t *row, uint8_t *cmd);
unsigned node_unimport(UbNode *node, int64_t now, uint32_t row);
/* Whether a row, a channel, is an import's. */
bool node_import_has_row(UbNode *node, uint32_t row);
bool node_import_has_channel(UbNode *node, uint32_t tpn);
/* A channel is up, or is not; false: it is no import's. */
bool node_import_connected(UbNode *node, uint32_t tpn, UbTpResult result,
                           void (*tell)(UbNode *node, uint32_t row,
                                        unsigned result));
void node_imports_image(UbNode *node, CoreImage *im);

#endif
