/*
 * ub-node: what its files share.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef UB_NODE_PROGRAM_H
#define UB_NODE_PROGRAM_H

#include <glib.h>
#include <jansson.h>

#include "ub/capture.h"
#include "ub/host_segment.h"
#include "ub/node_options.h"
#include "ub/port.h"
#include "ub/space.h"
#include "wire/fd.h"

enum {
    ENDPOINTS = 64,
    MEMORY = 1 << 20,           /* bytes of an endpoint's segment, TokenID 1 */
    BUFFER = 1 << 16,           /* of a receive buffer */
    BUFFERS = 16,
    LINE = 4 << 20,             /* no command is longer */
    ANSWERS = 16 << 20,         /* bytes that a client may leave unread */
};

typedef struct Endpoint {
    unsigned index;
    char *path;
    bool listens, open, touched;
    int listener;
    int64_t retry;              /* when to connect again */
    WireFd *wire;
    UbSpace *space;
    CorePacketPool *pool;
    UbPort *port;
    UbNode *node;
    UbSegments *segments;
    UbTaQueue *queue[UB_TA_MODES];
    uint32_t cna;
    uint8_t *memory, *buffers;
    uint64_t posted, taken;     /* receive buffers */
    json_t *received;
} Endpoint;

/* The whole program. */
typedef struct Program {
    Endpoint *endpoint[ENDPOINTS];
    unsigned endpoints;
    int64_t now;
    int64_t ahead;              /* what the layers above the ports have skipped */
    bool virtual_time;
    int64_t goal;               /* virtual time goes on until then */
    json_t *goal_id;            /* and this command is answered */
    int control, client;
    GByteArray *input, *output;
    UbCapture *capture;
    bool kicked, stopped, arriving;
} Program;

extern Program prog;
extern const UbTaOps node_ta_ops;

/* Take a line from the client and answer it. */
void node_line(const char *line, size_t len);
/* Takes @answer; a client that does not read is let go. */
void node_say(json_t *answer, json_t *id);
/* What waits for the client goes, as far as it takes it. */
void node_flush_client(void);
void node_drop_client(void);
/* Virtual time has come to its goal. */
void node_arrived(void);
/* The IP address of a CNA. */
void node_ip(uint32_t cna, uint8_t ip[16]);
/* Queues of requests, one for each mode of order. */
bool node_queues(Endpoint *e);
/* Commands on faults: they answer, or return what is wrong. */
const char *node_fault_set(Endpoint *e, json_t *args, json_t *id);
const char *node_fault_query(Endpoint *e, json_t *args, json_t *id);

#endif
