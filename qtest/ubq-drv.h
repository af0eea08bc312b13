/*
 * A driver for the queues of ub/urma_hw.h: of an engine in the same process, or of
 * one in an emulator.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef UBQ_DRV_H
#define UBQ_DRV_H

#include <glib.h>
#include <stdbool.h>

#include "core/bytes.h"
#include "ub/urma_hw.h"

/* How the device is reached. */
typedef struct UbqDrv {
    uint8_t *memory;    /* guest address 0 */
    uint64_t brk, end;  /* memory that may be given away */
    void *opaque;
    uint32_t (*reg_read)(void *opaque, uint32_t offset);
    void (*reg_write)(void *opaque, uint32_t offset, uint32_t value);
    void (*bell)(void *opaque, uint32_t page, uint32_t offset,
                 uint64_t value);
    void (*progress)(void *opaque); /* called while a command is waited for */
    /* The driver's. */
    uint64_t cmd_base, eq_base;
    uint16_t cmd_pi, eq_ci;
} UbqDrv;

/* A completion queue, and a queue, as a driver keeps them. */
typedef struct UbqCq {
    UbqDrv *d;
    uint32_t id;
    uint64_t base;
    unsigned log2;
    uint16_t ci;
} UbqCq;

typedef struct UbqQueue {
    UbqDrv *d;
    uint32_t id;
    uint64_t sq, rq;
    unsigned sq_log2, rq_log2, stride;
    uint16_t sq_pi, rq_pi;
    uint32_t local;     /* UBQ_Q_TRANSLATE: TokenID of its elements */
    uint16_t entity;    /* that it is of */
} UbqQueue;

/* Who a peer is. */
typedef struct UbqPeer {
    uint32_t cna;
    uint8_t eid[16];
    uint8_t ip[16];     /* IPv4: the first 4 */
    uint32_t upi;
    uint8_t cfg;        /* LPH.CFG of the way; 0: as the carrier has it */
    uint16_t own;       /* Entity of ours that speaks to it */
    uint16_t mtu;       /* of destination rows; 0: 4096 */
} UbqPeer;

uint64_t ubq_alloc(UbqDrv *d, uint64_t bytes, uint64_t align);
/* Command queue and event queue 0, whose vector is 7. */
void ubq_open(UbqDrv *d);

/* The next event of event queue 0, or NULL. */
const uint8_t *ubq_eq_poll(UbqDrv *d);

/* Zeroes, and these. */
void ubq_cmd_init(uint8_t cmd[UBQ_CMD], uint32_t object, uint32_t mask);
/* Have a command answered: UBQ_RESULT_*. */
unsigned ubq_command(UbqDrv *d, unsigned opcode, uint8_t cmd[UBQ_CMD]);

void ubq_cq_open(UbqCq *cq, UbqDrv *d, unsigned log2);
/* The next completion, or NULL. */
const uint8_t *ubq_cq_poll(UbqCq *cq);
/* The same; it must be there, of @status. */
const uint8_t *ubq_cq_expect(UbqCq *cq, unsigned status);
/* Status of a completion. */
unsigned ubq_cqe_status(const uint8_t *e);
void ubq_cq_arm(UbqCq *cq, unsigned arm);

/* A queue in Ready, of the sizes in *q (0: none), whose driver is there. */
void ubq_queue_create(UbqQueue *q, UbqCq *send, UbqCq *recv, uint32_t shared,
                      unsigned mode, uint32_t flags);
/* One of the usual sizes. */
void ubq_queue_open(UbqQueue *q, UbqDrv *d, UbqCq *send, UbqCq *recv,
                    unsigned mode, uint32_t flags);
void ubq_queue_state(UbqQueue *q, unsigned state, unsigned want);
/* The block at the end of the send queue for the caller to fill in; @blocks are
 * zeroed and must not wrap. */
uint8_t *ubq_sqe(UbqQueue *q, unsigned blocks);
/* Fill in the usual: opcode and flags, destination, element 0. */
void ubq_sqe_put(uint8_t *e, uint32_t w0, uint32_t dest, uint64_t local,
                 uint32_t len);
/* Hand it over. */
void ubq_post(UbqQueue *q, uint8_t *e, unsigned blocks);
void ubq_recv(UbqQueue *q, uint64_t addr, uint32_t len);

/* Destination row @row to a peer: 0 RTP by channel @tpn, 1 CTP, 2 UTP, 3 Bypass. */
void ubq_dest(UbqDrv *d, uint32_t row, unsigned carrier, uint32_t tpn,
              const UbqPeer *peer);
/* RTP: channel @tpn to channel @tpn of the peer, active. */
void ubq_channel(UbqDrv *d, uint32_t tpn, const UbqPeer *peer,
                 uint32_t tx_psn, uint32_t rx_psn);
/* RTP: channel @tpn, whose other end the peers agree on in band; an event
 * follows.  Or what it was answered, if it is not to be asked for. */
unsigned ubq_channel_ask(UbqDrv *d, uint32_t tpn, const UbqPeer *peer);
void ubq_channel_connect(UbqDrv *d, uint32_t tpn, const UbqPeer *peer);
/* The node has the address of @own: IPv4 or IPv6, as cfg says. */
unsigned ubq_ip_add(UbqDrv *d, const UbqPeer *own);
/* Segment of UBA 10000h. */
void ubq_segment(UbqDrv *d, uint32_t token_id, uint64_t base, uint64_t len,
                 uint32_t access, uint32_t token);

#endif
