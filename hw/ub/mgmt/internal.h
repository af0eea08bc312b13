/*
 * Inside of a node's management.
 *
 * Who calls whom: from below receive.c, from software host.c and request.c; they
 * use answer.c, topology.c and event.c to work, wait.c to remember, and tell.c to
 * send and count, which calls nobody in here.  shp.c stands beside them and uses
 * event.c.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef UB_MGMT_INTERNAL_H
#define UB_MGMT_INTERNAL_H

#include <glib.h>

#include "ub/mgmt.h"

/* Something asked. */
typedef struct UbMgmtWait {
    UbMgmtKind kind;
    uint32_t queue;     /* UB_MGMT_OWN_QUEUE: by a call */
    uint16_t msn;
    uint8_t code;       /* what the CQE of a failure shows */
    bool silent;        /* no answer is no failure */
    bool over;          /* in vain, and no room yet to say so */
    int64_t at;         /* when it is in vain */
    /* Of calls. */
    UbMgmtDone *done;
    void *opaque;
    unsigned left;      /* tries */
    unsigned port;      /* a scan's way out */
    UbMgmtAddr to;
    uint8_t *data;      /* to be sent again */
    size_t len;
} UbMgmtWait;

typedef struct UbMgmtRing {
    uint32_t pi, ci;
    uint32_t *entry;    /* two words each, as the registers show them */
} UbMgmtRing;

struct UbMgmt {
    UbMgmtConfig cfg;
    UbSpace *space;
    const UbMgmtOps *ops;
    void *opaque;
    UbMgmtWait *wait;   /* of cfg.outstanding, the first `waiting` are in use */
    unsigned waiting;
    uint16_t msn;       /* of the next that is asked by a call, or told */
    struct {
        bool check;
        uint32_t value;
    } token[UB_MGMT_TOKENS];    /* by Entity */
    uint64_t random;
    UbBusInstance instance[UB_MGMT_BUS_INSTANCES];  /* GUID 0: none */
    UbSlice *emq;
    UbMgmtRing ring[3]; /* by UbMgmtSeverity */
    uint64_t counter[UB_MGMT_CNT_NUM];
};

/* What was received, on its way through a handler. */
typedef struct UbMgmtCall {
    int64_t now;
    const UbMgmtAddr *from;
    const UbMgmtMessage *row;
    const uint8_t *pdu;
    size_t len;
    uint8_t *out;       /* PDU of the response, zeroed, UB_MGMT_PDU_MAX */
    size_t out_len;
    bool mute;          /* no response (§10.6.1: device reset) */
} UbMgmtCall;

/* ---- tell.c: sending, counting, identity ---- */

void ub_mgmt_count(UbMgmt *m, UbMgmtCounter counter);
/* Count something wrong that a peer did. */
void ub_mgmt_blame(UbMgmt *m, UbMgmtCounter counter, const char *text);
/* A register of Entity 0, and an identity of four. */
uint32_t ub_mgmt_reg(UbMgmt *m, uint32_t dw);
UbId ub_mgmt_reg_id(UbSpace *space, uint32_t dw);
UbSpace *ub_mgmt_entity(const UbMgmt *m, unsigned entity);
unsigned ub_mgmt_entities(const UbMgmt *m);
/* The Entity that has this EID of 20 bits, or -1. */
int ub_mgmt_entity_of(const UbMgmt *m, uint32_t eid);
/* Our CNA as a source. */
uint32_t ub_mgmt_source(UbMgmt *m);
/* Send a message that leaves the node. */
bool ub_mgmt_send(UbMgmt *m, int64_t now, const UbMgmtAddr *a,
                  const uint8_t *data, size_t len);
bool ub_mgmt_send_scan(UbMgmt *m, int64_t now, unsigned port,
                       const UbMgmtAddr *a, const uint8_t *data, size_t len);
/* To software, whatever queue. */
bool ub_mgmt_to_host(UbMgmt *m, const UbMgmtAddr *a, const uint8_t *data,
                     size_t len);

/* ---- wait.c ---- */

/* A place, filled with what is given; NULL: there is none. */
UbMgmtWait *ub_mgmt_wait(UbMgmt *m, UbMgmtKind kind, uint32_t queue,
                         uint16_t msn, int64_t at);
/* Who waits for it, or NULL. */
UbMgmtWait *ub_mgmt_waiter(UbMgmt *m, UbMgmtKind kind, uint32_t queue,
                           uint16_t msn);
/* Give a place up. */
void ub_mgmt_wait_end(UbMgmt *m, UbMgmtWait *w);
void ub_mgmt_wait_all_end(UbMgmt *m);

/* ---- receive.c ---- */

/* An answer: to the call or the message queue that waits for it. */
void ub_mgmt_answered(UbMgmt *m, UbMgmtKind kind, const UbMgmtAddr *a,
                      const uint8_t *data, size_t len);

/* ---- answer.c, config.c: handlers of messages ---- */

typedef UbMgmtStatus UbMgmtHandler(UbMgmt *m, UbMgmtCall *c);

/* The handler of a message that the device answers. */
UbMgmtHandler *ub_mgmt_handler(UbMgmtId id);
UbMgmtHandler ub_mgmt_config_access;
/* A message about one register. */
bool ub_mgmt_is_config(const UbMgmtMessage *row);
/* The bus instance that has this EID of 20 bits, or NULL; whether there can be one
 * like this. */
const UbBusInstance *ub_mgmt_instance_of(const UbMgmt *m, uint32_t eid);
bool ub_mgmt_instance_good(const UbBusInstance *b);

/* ---- topology.c ---- */

/* Write the Port_info TLV of a port. */
void ub_mgmt_port_info(UbMgmt *m, unsigned port, uint8_t *p);
/* Make the Scan PDU that answers that of @s: its bytes at @out, at most
 * UB_SCAN_MAX - UB_SCAN_HEADER. */
unsigned ub_mgmt_scan_answer(UbMgmt *m, int64_t now, const UbScan *s,
                             uint8_t *out);

/* ---- event.c ---- */

/* An event that arrived: the error message queues take errors. */
void ub_mgmt_event(UbMgmt *m, UbMgmtId id, const uint8_t *pdu);
bool ub_mgmt_emq_new(UbMgmt *m);
void ub_mgmt_emq_reset(UbMgmt *m);
void ub_mgmt_emq_free(UbMgmt *m);

#endif
