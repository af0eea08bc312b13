/*
 * The floors from the network layer to the transaction layer of one UBPU,
 * joined: what a controller and a bare endpoint have above their ports.
 *
 *     UbTa (requests, target)
 *     UbSec (Entities, partitions, CIP)
 *     UbTp (channels)
 *     UbNet (addresses, routes)
 *
 * Each floor keeps its own interface; this one carries calls from one to the
 * next and sees to what concerns several: life, turns, channels that end.
 *
 * One thread at a time; `now` is in nanoseconds.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef UB_NODE_H
#define UB_NODE_H

#include "core/image.h"
#include "ub/cip.h"
#include "ub/net.h"
#include "ub/sec.h"
#include "ub/ta.h"
#include "ub/tp.h"
#include "ub/urma_hw.h"

typedef struct UbNode UbNode;

typedef struct UbNodeConfig {
    UbNetConfig net;
    UbTpConfig tp;      /* upper, lower and their opaques are the node's */
    UbTaConfig ta;
    UbCipConfig cip;
    bool bare;          /* requests without EIDH are for Entity 0 */
    bool accept;        /* channels that peers ask for in band are made */
} UbNodeConfig;

/* What is outside. */
typedef struct UbNodeOps {
    const UbNetOps *net;        /* the ports below; all tables outlive the node */
    void *net_opaque;
    const UbTaOps *ta;          /* queues and memory above */
    void *ta_opaque;
    /* Class B (§10.6.2.2): an error of a channel.  May be NULL. */
    void (*tp_error)(void *opaque, uint32_t tpn, UbTpError error);
    /* The end of ub_tp_connect(), or what a peer did.  May be NULL. */
    void (*tp_connected)(void *opaque, uint32_t tpn, UbTpResult result);
    /* The same of the channel of an imported row: UBQ_RESULT_*.  May be NULL. */
    void (*imported)(void *opaque, uint32_t row, unsigned result);
} UbNodeOps;

void ub_node_config_init(UbNodeConfig *cfg);
/* NULL, or the rule that is broken. */
const char *ub_node_config_check(const UbNodeConfig *cfg);

/* A node without addresses, Entities and channels, its ports down.  @opaque goes
 * to the functions of @ops itself.  NULL: ub_node_config_check() says why. */
UbNode *ub_node_new(const UbNodeConfig *cfg, const UbNodeOps *ops,
                    void *opaque);
/* NULL is ignored. */
void ub_node_free(UbNode *node);
/* All floors as new; Entities too. */
void ub_node_reset(UbNode *node, int64_t now);

UbNet *ub_node_net(UbNode *node);
UbTp *ub_node_tp(UbNode *node);
UbSec *ub_node_sec(UbNode *node);
UbTa *ub_node_ta(UbNode *node);

const UbNodeConfig *ub_node_config(const UbNode *node);

/*
 * A command on channels, groups, destinations or Entities (UBQ_OP_* of
 * urma_hw.h): @cmd has its parameters and gets what it answers but the result,
 * which is returned (UBQ_RESULT_*).
 */
unsigned ub_node_command(UbNode *node, int64_t now, unsigned opcode,
                         uint8_t cmd[UBQ_CMD]);
/* UBQ_RESULT_* of an answer of the transport. */
unsigned ub_node_result(UbTpResult result);

/* A packet of a port, and room on one (see ub_net_rx(), ub_net_room()). */
void ub_node_rx(UbNode *node, int64_t now, unsigned port, CorePacket *pkt);
void ub_node_room(UbNode *node, int64_t now, unsigned port, unsigned vl);

/* Do what is to be done, at most about @budget packets a floor; when to call
 * again, or INT64_MAX. */
int64_t ub_node_run(UbNode *node, int64_t now, unsigned budget);

/* Faults of packets that come from the ports or leave by them, of some or of all
 * packets: as core/fault.h has them. */
typedef enum UbFaultKind {
    UB_FAULT_RTP, UB_FAULT_CTP, UB_FAULT_UTP, UB_FAULT_BYPASS,
    UB_FAULT_SCAN,      /* management that is not messages */
    UB_FAULT_CONTROL,   /* CFG 5 */
    UB_FAULT_IP,        /* of IP what is not UTP or RTP */
    UB_FAULT_KINDS,
} UbFaultKind;

/* All kinds; all operation codes. */
#define UB_FAULT_ANY 0xffffu
/* All PSNs, and what has none. */
#define UB_FAULT_NO_PSN UINT32_MAX
/* All queues, and what has none. */
#define UB_FAULT_NO_QUEUE UINT32_MAX

typedef struct UbFaultPlan {
    CoreFaultPlan plan;
    uint16_t kind;          /* UbFaultKind */
    uint16_t tp_opcode;     /* UbTpOpcode, of CTP UbCtpOpcode */
    uint16_t ta_opcode;     /* UbTaOpcode */
    uint32_t psn, psn_last; /* of RTP: these and those between; with the last one
                             * UB_FAULT_NO_PSN: the first alone */
    uint32_t queue;         /* INI_RC_ID of requests, and of their responses */
    uint32_t target_queue;  /* TC ID of messages: a queue's, or a group's */
} UbFaultPlan;

/* No faults, of all packets. */
void ub_fault_plan_init(UbFaultPlan *plan);
/* NULL, or the rule that is broken. */
const char *ub_fault_plan_check(const UbFaultPlan *plan);
/* From now on. */
void ub_node_set_fault(UbNode *node, bool out, const UbFaultPlan *plan);
/* What is set, and how often each was done since.  False: no faults. */
bool ub_node_fault(UbNode *node, bool out, UbFaultPlan *plan,
                   uint64_t done[CORE_FAULT_NUM]);

/* Migration of all floors; requests are adopted as ub_ta_image() says. */
void ub_node_image(UbNode *node, CoreImage *im,
                   UbTaRequest *(*adopt)(void *opaque, uint32_t rcid,
                                         uint64_t id));

#endif
