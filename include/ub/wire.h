/*
 * The emulated wire of a UB link: records on a byte stream.
 *
 * Two ends exchange, over a reliable byte stream (a chardev socket), what the
 * lanes of the link carry.  The symbols are those that a UB port would send,
 * bit for bit; only time in which a lane would carry fill (Null Blocks and
 * AMCTLs at rest, repeated training sets that nobody counts) is left out:
 * symbols that the sender's PCS was not asked for do not exist, and the
 * receiver's PCS counts symbols, not time.  docs/specs/ub-wire.rst is the
 * specification of the stream.
 *
 * A record is a header of 8 bytes and a body, little-endian:
 *     0 u8 type   1 u8 lanes (mask, RUN only; else 0)   2 u16 zero
 *     4 u32 length of the body
 *
 *   HELLO  first of each direction, and again with another session when the
 *          sender's port lost LinkUp
 *          0 "UBLW"  4 u16 version  6 u8 lanes wired (count 1, 2, 4, 8)
 *          7 u8 PHY mode (1, 2)  8 u64 session, different at each start
 *          16 GUID of the sender, 16 bytes  32 u16 port index
 *          34 u16 features: 0 the sender would share memory, 1 it has a GUID;
 *          others are 0, and ignored
 *   LANES  0 u8 mask of lanes that are out of electrical idle
 *          1 u8 Data Rate index (0-9)  2 u16 zero
 *   RUN    the same number n of symbols on each lane of the mask: n bytes of
 *          the lowest lane, then of the next one, …; n = length / lanes
 *   BYE    the sender's end goes away (no body)
 *
 * Anything else, a body of the wrong length, or a RUN on a lane that is in
 * electrical idle or not wired, is a broken rule: counted, reported, and the
 * connection is given up, because a byte stream cannot be resynchronised.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef UB_WIRE_H
#define UB_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ub/inject.h"
#include "ub/lanes.h"

#define UB_WIRE_VERSION 1
#define UB_WIRE_HEADER 8
#define UB_WIRE_HELLO_BODY 36
#define UB_WIRE_LANES_BODY 4
/* Longest body that is accepted, and longest RUN that is produced. */
#define UB_WIRE_BODY_MAX (1u << 20)
/* Most bytes that wait for the stream.  A sender heeds ub_wire_queued() long
 * before; what a peer provokes and never reads ends the connection here. */
#define UB_WIRE_OUT_MAX (2u << 20)

typedef enum UbWireRecord {
    UB_WIRE_HELLO = 1,
    UB_WIRE_LANES = 2,
    UB_WIRE_RUN = 3,
    UB_WIRE_BYE = 4,
} UbWireRecord;

/* What an end can; bits that are not named here mean nothing yet. */
#define UB_WIRE_SHARED_MEMORY (1u << 0)
#define UB_WIRE_GUID (1u << 1)
#define UB_WIRE_FEATURES (UB_WIRE_SHARED_MEMORY | UB_WIRE_GUID)

/* What an end says of itself. */
typedef struct UbWireHello {
    uint8_t lanes;    /* wired: 1, 2, 4 or 8 */
    uint8_t phy_mode; /* 1 or 2 */
    uint16_t port;
    uint16_t features; /* UB_WIRE_… */
    uint64_t session;
    uint8_t guid[16]; /* most significant byte first */
} UbWireHello;

typedef struct UbWireOps {
    /* The peer said HELLO: symbols may flow.  Again, with another session:
     * its port lost LinkUp. */
    void (*up)(void *opaque, const UbWireHello *peer);
    /* The connection is of no use any more (BYE, the rule that the peer broke,
     * output that it does not read): close it, but not in here.  Not called
     * from ub_wire_disconnected(). */
    void (*down)(void *opaque, const char *why, bool peer_error);
    /* Lanes that the peer drives now, and at what Data Rate. */
    void (*lanes)(void *opaque, uint8_t active, unsigned rate);
    /* n symbols on each lane of `mask`; sym[i] is NULL for other lanes.  The
     * buffers are only valid during the call. */
    void (*run)(void *opaque, uint8_t mask,
                const uint8_t *const sym[UB_LANES], size_t n);
} UbWireOps;

typedef struct UbWireStats {
    uint64_t runs_sent, symbols_sent, runs_received, symbols_received;
    uint64_t bad_records, connections;
    uint64_t overflows; /* connections given up at UB_WIRE_OUT_MAX */
} UbWireStats;

typedef struct UbWire UbWire;

UbWire *ub_wire_new(const UbWireHello *self, const UbWireOps *ops,
                    void *opaque);
void ub_wire_free(UbWire *link);

/* Another GUID from the next HELLO on. */
void ub_wire_set_guid(UbWire *link, const uint8_t guid[16]);

/* The byte stream is there: queues HELLO and the lanes' present state. */
void ub_wire_connected(UbWire *link);
/* The byte stream is gone: what was queued or half received is dropped. */
void ub_wire_disconnected(UbWire *link);
/* Queue BYE, for an orderly end. */
void ub_wire_bye(UbWire *link);
/* The port lost LinkUp: what both ends had agreed on is void.  HELLO goes out
 * again, with another session. */
void ub_wire_restart(UbWire *link);
/* Connected, and the peer's HELLO has come. */
bool ub_wire_is_up(const UbWire *link);
const UbWireHello *ub_wire_peer(const UbWire *link);

/*
 * Send.  Both are remembered or dropped while the link is not up: the lanes'
 * state is sent again at the next connection, symbols are lost as on a cable
 * that is not plugged in.
 *
 * ub_wire_lanes: lanes out of electrical idle from now on, and the rate.
 * ub_wire_run: the symbols of `run` (n may be 0), after fault injection.
 */
void ub_wire_lanes(UbWire *link, uint8_t active, unsigned rate);
void ub_wire_run(UbWire *link, const UbLaneRun *run);

/*
 * Bytes to put on the stream: *data and the return value describe what is
 * queued; ub_wire_sent() says how much of it was taken.  The pointer is valid
 * until the next call on this link.  The caller paces the sender: it asks its
 * PCS for symbols only while little is queued.
 */
size_t ub_wire_queued(const UbWire *link, const uint8_t **data);
void ub_wire_sent(UbWire *link, size_t n);

/* Bytes that came from the stream, in any pieces. */
void ub_wire_receive(UbWire *link, const uint8_t *data, size_t len);

/* Say which lanes are in electrical idle if faults, cables cut or mended, have changed
 * that: a link at rest sends nothing else that would show it. */
void ub_wire_cables(UbWire *link);

/* Fault injection on what this end sends; see ub/inject.h. */
UbInject *ub_wire_inject(UbWire *link);

const UbWireStats *ub_wire_stats(const UbWire *link);

#endif
