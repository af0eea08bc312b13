/*
 * Frames of a NIC that wait in its network backend (QEMU shells only).
 *
 * QEMU bounds the packets that wait only if nobody asked to be told when they
 * leave.  Who asks must stop by itself: it holds back while wire_backlog_waits(),
 * and drops what cannot be held back once wire_backlog_full().
 *
 * A backend whose peer went away, while the device was not told, throws away
 * what waits.
 *
 * Everything is called with the BQL held.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef WIRE_BACKLOG_H
#define WIRE_BACKLOG_H

#include "net/net.h"
#include "qemu/timer.h"
#include "qemu/units.h"

/* Bytes that may wait, apart from the batch that fills it. */
#define WIRE_BACKLOG_MAX (1 * MiB)

typedef struct WireBacklog {
    NICState *nic;
    QEMUTimer *watch;           /* runs while something waits */
    GQueue frames;              /* the length of each that waits, in order */
    size_t bytes;               /* of them */
    bool leaving;
} WireBacklog;

/* Of @nic, whose first queue is the only one. */
void wire_backlog_init(WireBacklog *b, NICState *nic);
/* Drops what waits and gives up the NIC, which must still exist.  A stream may
 * be left in the middle of a frame: another device wants another one. */
void wire_backlog_fini(WireBacklog *b);

/*
 * Send a frame, as qemu_send_packet_async(): 0 if it waits.  Then @sent comes
 * when it leaves, whose first act is wire_backlog_left().
 */
ssize_t wire_backlog_send(WireBacklog *b, const uint8_t *frame, size_t len,
                          NetPacketSent *sent);
/* The oldest frame that waited is gone.  False: so is the device, which must
 * not be touched. */
bool wire_backlog_left(WireBacklog *b);

/* Does anything wait? */
static inline bool wire_backlog_waits(const WireBacklog *b)
{
    return b->frames.length;
}

static inline bool wire_backlog_full(const WireBacklog *b)
{
    return b->bytes >= WIRE_BACKLOG_MAX;
}

#endif
