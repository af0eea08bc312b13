/*
 * The transaction engines of two emulators, joined by a link and driven by their
 * queues.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef UBC_ENG_H
#define UBC_ENG_H

#include "ubc-link.h"
#include "ub/net_format.h"
#include "../ubq-drv.h"

#define ENG_TOKEN 0xcafe0001u
#define ENG_SEGMENT 77u         /* TokenID of the room, from UBA 10000h on */
#define ENG_UBA 0x10000u
#define ENG_DEST 9u             /* row that leads to the peer */
#define ENG_TPN 5u              /* channel to it */
#define ENG_ROOM (256u << 10)
#define ENG_HEAP 0x2800000u     /* beyond the rings of raw ports */

/* Channels asked for in band are not given up within a minute (it is a second). */
#define ENG_SLOW_SETUP "tp-time-scale=60"

/* Carriers of destinations. */
enum { ENG_RTP, ENG_CTP, ENG_UTP, ENG_BYPASS };

/* One end: machine, BAR2, driver. */
typedef struct Eng {
    QUbc *q;
    unsigned n;         /* 1 or 2: CNA, EID, and the last byte of IP addresses */
    QPCIBar pages;
    UbqDrv drv;
    UbqCq cq;
    UbqQueue queue;
    uint64_t room;      /* ENG_ROOM bytes, the segment */
} Eng;

/* How they talk. */
typedef struct EngPlan {
    unsigned carrier, mode; /* mode: 0 ROI, 1 ROT, 2 ROL, 3 UNO */
    unsigned cfg;       /* LPH.CFG; 0: as the carrier has it */
    bool in_band;       /* RTP: set up by a, accepted by b */
    uint32_t flags;     /* UBQ_Q_* */
    const char *props;  /* of both devices, or NULL */
    const char *more;   /* of both machines, or NULL */
    bool unplug;        /* b is a machine whose devices go by ACPI */
} EngPlan;

/* What a channel is asked for; 0 is the device's default, but for the flags. */
typedef struct EngChannel {
    uint32_t flags;     /* UBQ_CH_* */
    uint32_t tx, rx;    /* first PSNs */
    uint32_t rto;       /* microseconds, of UBQ_CH_RTO_DYNAMIC */
    uint16_t mtu, ooo_window, tx_window, ack_every, sack_every, sack_bits;
    uint8_t ask, retries, rto_code, rto_shift, cc, rt;
} EngChannel;

typedef struct EngPair {
    Link link;
    EngPlan plan;
    Eng a, b;
} EngPair;

/* Two machines, a link that is up, identities, queues, channels, segments. */
void eng_start(EngPair *p, const EngPlan *plan);
/* The same, and a's device has other properties. */
void eng_start_apart(EngPair *p, const EngPlan *plan, const char *props);
void eng_stop(EngPair *p);
/* A machine's driver begins anew, behind a reset of the device. */
void eng_open(Eng *e, QUbc *q, unsigned n);
/* Its queue, segment, way to the peer. */
void eng_queue(Eng *e, const EngPlan *plan);
/* Channel ENG_TPN to the peer's of this number, active, and the row that leads there. */
void eng_channel(Eng *e, const EngChannel *c);
/* A channel that gives up after some 100 ms. */
void eng_hasty(Eng *e);
/* The engine of @e begins anew with the same identity: reset, port enabled. */
void eng_begin_anew(Eng *e);
/* b moves to another machine, and the link comes up again. */
void eng_migrate(EngPair *p);
/* The same, but for the link: a is left alone. */
void eng_move(EngPair *p);
/* Both ports are enabled and up. */
void eng_link_up(EngPair *p);
UbqPeer eng_peer(unsigned n, unsigned cfg);

/* The next completion, whatever its status; with this status. */
const uint8_t *eng_next(Eng *e);
const uint8_t *eng_complete(Eng *e, unsigned status);
/* @n bytes from @at (UBQ_DST_*) on of a row; the others stay.  One byte of ENG_DEST. */
void eng_row_put(Eng *e, unsigned row, unsigned at, const void *bytes, unsigned n);
void eng_dest_put(Eng *e, unsigned at, uint8_t value);
/* The next event; of this type. */
const uint8_t *eng_event(Eng *e, unsigned event);
/* By query-ub-engines: a counter of "network", "transport", "transaction" or "work";
 * how often an injected fault was done; a member of a channel or queue, as text
 * that the caller frees, NULL: there is none of this number. */
uint64_t eng_counter(Eng *e, const char *floor, const char *name);
uint64_t eng_faults(Eng *e, bool out, const char *action);
char *eng_object(Eng *e, const char *list, unsigned number, const char *key);
/* Faults of packets that leave or come: members of UbPacketFaultPlan. */
void eng_set_faults(Eng *e, bool out, const char *plan);

/* Its row says that responses ride in acknowledgements; the channel must, too. */
void eng_ask_answers(Eng *e);

/* The first bytes of the room, made from a seed; and that they are so. */
void eng_fill(Eng *e, uint32_t len, uint32_t seed);
void eng_check(Eng *e, uint32_t len, uint32_t seed);
/* An entry for @opcode on @len bytes from the room to, or from, the beginning of
 * the peer's segment. */
uint8_t *eng_sqe(Eng *e, unsigned opcode, uint32_t flags, uint32_t len,
                 unsigned blocks);
/* @len bytes to the peer and back by Write and Read. */
void eng_write_read_to(Eng *a, Eng *b, uint32_t len, uint32_t seed);
void eng_write_read(EngPair *p, uint32_t len, uint32_t seed);
/* A message with an immediate from a to b. */
void eng_send_recv_to(Eng *a, Eng *b, uint32_t len);
void eng_send_recv(EngPair *p, uint32_t len);
/* An atomic on the peer's first 8 bytes. */
void eng_fetch_add_to(Eng *a, Eng *b);
void eng_fetch_add(EngPair *p);

#endif
