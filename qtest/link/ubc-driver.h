/*
 * A driver for ubc in an emulator that qtest drives.
 *
 * Registers are reached by qtest; guest memory is a SharedRam, so that much
 * traffic takes little time.  Packets carry their number and a pattern made
 * from it: what arrives is checked whole and in order.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef UBC_DRIVER_H
#define UBC_DRIVER_H

#include "libqtest.h"
#include "libqos/malloc-pc.h"
#include "libqos/pci-pc.h"
#include "ub/ubc_hw.h"
#include "shared-ram.h"
#include "../deadline.h"

#define QUBC_RAM (64u << 20)
#define QUBC_SLOT 4
#define QUBC_RING_LOG 8
#define QUBC_RING (1u << QUBC_RING_LOG)
#define QUBC_BUF 0x1000u     /* longest packet of the traffic below */
#define QUBC_PORTS_MAX 4

/* Guest addresses of a port's rings and buffers. */
#define QUBC_TX_RING(p) (0x1000000u + (p) * 0x400000u)
#define QUBC_RX_RING(p) (QUBC_TX_RING(p) + 0x10000u)
#define QUBC_TX_BUF(p) (QUBC_TX_RING(p) + 0x100000u)
#define QUBC_RX_BUF(p) (QUBC_TX_RING(p) + 0x200000u)
/* Where MSI-X messages are written, four bytes for each vector. */
#define QUBC_MSIX 0x0f00000u
#define QUBC_MSIX_DATA 0x55420000u /* and the vector */
/* Vectors of this driver; port p uses ring pair p. */
#define QUBC_VECTOR_CTRL 0
#define QUBC_VECTOR_EVENT(p) (1 + 3 * (p))
#define QUBC_VECTOR_RX(p) (2 + 3 * (p))
#define QUBC_VECTOR_TX(p) (3 + 3 * (p))
#define QUBC_VECTORS 16
/* Where no memory is in these machines. */
#define QUBC_NOWHERE 0x8000000000ull

/* How long to wait for anything, at most. */
#define QUBC_DEADLINE_US test_patience(60)

typedef struct QUbcPort {
    uint16_t tx_head, tx_tail, rx_head, rx_tail;
    uint32_t sent, received; /* packets since the start or the last resync */
    uint64_t bytes;          /* received */
    uint32_t room;           /* receive buffers to keep posted */
    bool bound;       /* the pair has a port already, maybe another one */
    bool stale;       /* until packet 0 comes, others are of an old count */
    bool lossy;       /* packets may be missing, and fail to be sent */
    uint32_t lost;    /* so many did not come */
} QUbcPort;

typedef struct QUbc {
    QTestState *qts;
    QGuestAllocator alloc;
    QPCIBus *bus;
    QPCIDevice *pci;
    QPCIBar bar;
    char *log;
    SharedRam *ram;
    bool stepped;       /* its clock is the machine's: only the test moves it */
    gint64 passed;      /* when it did */
    QUbcPort port[QUBC_PORTS_MAX];
} QUbc;

/* Check `cond` again and again until it is true; fails after the deadline. */
#define QUBC_WAIT(cond)                                                     \
    do {                                                                    \
        gint64 limit_ = g_get_monotonic_time() + QUBC_DEADLINE_US;          \
        while (!(cond)) {                                                   \
            if (g_get_monotonic_time() > limit_) {                          \
                g_error("%s:%d: waited in vain for %s", __func__, __LINE__, \
                        #cond);                                             \
            }                                                               \
            g_usleep(200);                                                  \
        }                                                                   \
    } while (0)

/*
 * Start a machine with one ubc called ub0 in the real clock.  `props` is
 * appended to -device, `more` to the command line.  A machine that waits for
 * migration is only attached to its device by qubc_attach().
 *
 * With QUBC_STEPPED among the properties the device's clock stands but in
 * qubc_pass(), which lets a link train, and qtest_clock_step(): nothing is given up
 * because a host is slow.  Data need no time.
 */
QUbc *qubc_start(const char *machine, const char *props, const char *more);
void qubc_attach(QUbc *d);
QUbc *qubc_start_attached(const char *props, const char *more);
#define QUBC_STEPPED "clock=virtual"
/* As much time passes as it really did, if that is for the test to say: 5 ms at most,
 * since the device has done nothing with what a host takes away. */
void qubc_pass(QUbc *d);
/* The destination of a migration goes on where the source stopped. */
void qubc_adopt(QUbc *d, const QUbc *from);
void qubc_stop(QUbc *d);
/* kill -9 */
void qubc_kill(QUbc *d);

uint32_t qubc_read(QUbc *d, uint32_t reg);
void qubc_write(QUbc *d, uint32_t reg, uint32_t value);
uint32_t qubc_port_read(QUbc *d, unsigned port, uint32_t reg);
void qubc_port_write(QUbc *d, unsigned port, uint32_t reg, uint32_t value);
uint32_t qubc_pair_read(QUbc *d, unsigned pair, uint32_t reg);
void qubc_pair_write(QUbc *d, unsigned pair, uint32_t reg, uint32_t value);
/* A dword of the configuration space, by the window. */
uint32_t qubc_cfg_read(QUbc *d, uint32_t dw);
void qubc_cfg_write(QUbc *d, uint32_t dw, uint32_t value);
/* Counter UBC_CNT_… of a port, all 64 bits. */
uint64_t qubc_counter(QUbc *d, unsigned port, unsigned counter);
/* A number that query-ub-links tells of a port. */
int64_t qubc_link_int(QUbc *d, unsigned port, const char *key);
/* ub-inject; the faults as JSON members, "'ber': 1e-6", or "". */
void qubc_inject(QUbc *d, unsigned port, unsigned lane, const char *faults);
/* All lanes. */
void qubc_inject_all(QUbc *d, unsigned port, const char *faults);
/* Has the log of guest errors a line with `text` ? */
bool qubc_logged(QUbc *d, const char *text);

/* Message to QUBC_MSIX for each vector, one for each source of `ports` ports;
 * `masked` for all of them. */
void qubc_msix(QUbc *d, unsigned ports, bool masked);
/* Has the vector's message come since the last call? */
bool qubc_irq(QUbc *d, unsigned vector);
void qubc_bus_master(QUbc *d, bool on);

/* Whether the migration of the machine is over; it must not fail. */
bool qubc_migrated(QUbc *d);

/* Bind a pair whose rings are off. */
void qubc_bind(QUbc *d, unsigned pair, unsigned port, uint32_t vls);
/* Set up a ring (UBC_RING_TX or _RX) of a port and enable it: pair number
 * `port`, bound to it unless it is bound already. */
void qubc_ring_open(QUbc *d, unsigned port, uint32_t ring, uint64_t base);
/* Write a descriptor at the head without ringing the doorbell. */
void qubc_post(QUbc *d, unsigned port, uint32_t ring, uint64_t addr,
               uint32_t len, uint16_t flags);
void qubc_doorbell(QUbc *d, unsigned port, uint32_t ring);
/* Status half-word of descriptor n of a ring. */
uint16_t qubc_status(QUbc *d, unsigned port, uint32_t ring, uint16_t n);

/* Both rings, receive buffers, and the port enabled. */
void qubc_port_open(QUbc *d, unsigned port);
bool qubc_up(QUbc *d, unsigned port);
/* Queue up to n packets; how many there was room for. */
unsigned qubc_send(QUbc *d, unsigned port, unsigned n);
/* Take what has come, check it, and give new buffers. */
void qubc_reap(QUbc *d, unsigned port);
/* After a link was lost: what it took with it is not missed any more. */
void qubc_resync(QUbc *d, unsigned port);

#endif
