/*
 * Two (or more) engines of queues with all floors to the network layer beneath,
 * joined port to port in memory and in virtual time, and a driver for each.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef TEST_URMA_ENDS_H
#define TEST_URMA_ENDS_H

#include <glib.h>

#include "core/bytes.h"
#include "ub/node.h"
#include "ub/urma.h"
#include "../../../ubq-drv.h"

#define END_MEMORY (8u << 20)

typedef struct End End;

struct End {
    struct Ends *ends;
    End *peer;
    UbNode *node;
    UbUrma *urma;
    uint8_t *memory;
    GQueue in;              /* packets on their way to us */
    unsigned interrupts, kicks, messages;
    uint16_t msn;           /* of the last Management packet */
    uint16_t vector;        /* of the last interrupt */
    unsigned guest_errors;
    const char *last_error;
    struct {
        unsigned n;
        uint32_t id, a, b;      /* of the last */
    } trace[UB_URMA_TRACES];
    bool (*lose)(End *to, CorePacket *pkt); /* the wire's: true: it is lost */
    /* The device has read or written memory. */
    void (*touched)(End *e, uint64_t addr, uint32_t len, bool write);
    UbqDrv drv;
};

/* What any end is asked for has pages that are not there yet. */
extern bool ends_late;

typedef struct Ends {
    End end[2];
    int64_t now;
} Ends;

/* Ends with CNA 1 and 2, EID of the last byte 1 and 2, UPI 1, command queues and
 * event queue 0 enabled. */
void ends_start(Ends *ends);
void ends_stop(Ends *ends);
/* Let time pass until nothing is to be done at once, and at most @ns. */
void ends_run(Ends *ends, int64_t ns);

/* The other end, for the driver. */
UbqPeer end_peer(const End *e);
/* RTP: a channel of each end, of number @tpn, active. */
void ends_channel(Ends *ends, uint32_t tpn);

#endif
