/*
 * A driver for ncic-nic on top of libqos: what a guest driver does, step by
 * step, with the other end of the wire in the test's hands.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef QTEST_LIBNCIC_H
#define QTEST_LIBNCIC_H

#include "libqos/libqos-malloc.h"
#include "libqos/pci.h"
#include "libqos/qgraph.h"
#include "libqtest.h"
#include "ncic/ncic_hw.h"

#define QNCIC_RX     0
#define QNCIC_TX     1
#define QNCIC_FRAME  65536              /* room of the wire's receive buffer */

/* One direction of one queue pair. */
typedef struct QNcicQueue {
    uint64_t ring;
    uint64_t cpl;
    unsigned log;
    uint16_t head;                      /* descriptors posted */
    uint16_t cpl_tail;                  /* completions consumed */
} QNcicQueue;

/* One completion, decoded. */
typedef struct QNcicCpl {
    uint32_t status;
    uint16_t queue, index, length, csum, tci;
    uint32_t hash;
} QNcicCpl;

typedef struct QNcic {
    QOSGraphObject obj;                 /* as a node of the QOSGraph */
    QPCIDevice node_pci;
    QTestState *qts;
    QPCIBus *bus;
    QPCIDevice *pci;
    QGuestAllocator *alloc;
    QPCIBar csr;
    QPCIBar uar;
    bool rtl;                           /* layout=rtl: windows are there */
    uint64_t msix;                      /* one dword per vector in memory */
    QNcicQueue q[2][NCIC_QUEUES_MAX];
} QNcic;

/* Finds BARs and enables the function; @pci stays the caller's. */
void qncic_init(QNcic *d, QTestState *qts, QPCIDevice *pci,
                QGuestAllocator *alloc);

/* Registers by their addresses in the document's layout. */
uint32_t qncic_read(QNcic *d, uint32_t addr);
void qncic_write(QNcic *d, uint32_t addr, uint32_t val);
/* Queue register address in BAR0. */
uint32_t qncic_qreg(int dir, unsigned q, unsigned reg);

/* Points the first @n MSI-X vectors at words of guest memory and enables
 * MSI-X; vector v writes 0x4e430000 + v. */
void qncic_msix_enable(QNcic *d, unsigned n);
/* Has vector @v fired since the last call? */
bool qncic_irq(QNcic *d, unsigned v);

/* Rings of 2^@log entries, all registers, both rings active and armed. */
void qncic_queue_up(QNcic *d, int dir, unsigned q, unsigned log,
                    unsigned vector);
/* Takes the queue down and forgets its rings. */
void qncic_queue_down(QNcic *d, int dir, unsigned q);
/* Writes one descriptor; rings the doorbell if @ring. */
void qncic_post(QNcic *d, int dir, unsigned q, uint64_t addr, uint16_t len,
                uint8_t csum_start, uint8_t csum_offset, bool ring);
/* Waits until the next completion is there, reads and acknowledges it. */
QNcicCpl qncic_complete(QNcic *d, int dir, unsigned q);
/* Reads register @addr until it has value @want; fails after 10 s. */
void qncic_wait_reg(QNcic *d, uint32_t addr, uint32_t want);

/* The wire: "-netdev socket,fd=..." and our end of it. */
typedef struct QNcicWire {
    int ours, theirs;
} QNcicWire;

void qncic_wire_open(QNcicWire *w);
void qncic_wire_close(QNcicWire *w);
/* Gives one frame to the device. */
void qncic_wire_send(QNcicWire *w, const void *frame, uint32_t len);
/* Takes one frame from the device, at most QNCIC_FRAME bytes; 0 if none comes
 * within @ms milliseconds. */
size_t qncic_wire_recv(QNcicWire *w, QNcic *d, void *frame, int ms);

#endif
