/*
 * Unit tests of the NCIC Ethernet engine: an engine with guest memory, a wire
 * that keeps what was sent, and descriptor reads that answer when told to.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef NCIC_HARNESS_H
#define NCIC_HARNESS_H

#include <glib.h>
#include "core/bytes.h"
#include "ncic/eth.h"

#define MEM_SIZE   0x400000u
#define MEM_BASE   0x10000000u          /* guest address of mem[0] */
#define SENT_MAX   4096

typedef struct Rig {
    NcicEth eth;
    uint8_t *mem;
    bool dma_off;
    /* wire */
    GByteArray *sent[SENT_MAX];
    unsigned n_sent;
    bool wire_full;             /* keeps what it is given */
    NcicSource owed[SENT_MAX];
    unsigned n_owed;
    bool reset_on_write;        /* the next write presses the reset register */
    unsigned maps, unmaps;
    /* events */
    unsigned ring_changes[NCIC_DIRS][NCIC_QUEUES_MAX];
    unsigned irq[64];
    unsigned kicks_tx, kicks_rx;
    unsigned tx_inline;         /* frames sent within a doorbell */
    unsigned errors[32];
    /* asynchronous descriptor reads */
    bool async;
    struct { NcicDir dir; uint64_t addr; uint32_t tag; } wait[256];
    unsigned n_wait;
} Rig;

/* The default device: 32 queues, 64 vectors, MTU 1500; @cfg NULL for it. */
NcicEthConfig rig_config(void);
void rig_init(Rig *r, const NcicEthConfig *cfg);
void rig_fini(Rig *r);

/* Host view of a guest address inside the memory. */
static inline uint8_t *rig_ptr(Rig *r, uint64_t addr)
{
    return r->mem + (addr - MEM_BASE);
}

/* Register access, document layout, address as an offset in BAR0. */
void rig_write(Rig *r, uint32_t addr, uint32_t val);
uint32_t rig_read(Rig *r, uint32_t addr);

/* Queue register address. */
static inline uint32_t qreg(NcicDir dir, unsigned q, unsigned reg)
{
    return (dir == NCIC_TX ? NCIC_TXQ : NCIC_RXQ) + q * NCIC_QUEUE_STRIDE + reg;
}

/* Where rig_queue() puts the rings of a queue. */
static inline uint64_t desc_ring(NcicDir dir, unsigned q)
{
    return MEM_BASE + (dir * 4 + q) * 0x20000;
}

static inline uint64_t cpl_ring(NcicDir dir, unsigned q)
{
    return desc_ring(dir, q) + 0x10000;
}

/* Brings up queue @q < 4 of 2^@log entries (at most 11), vector 2q + dir. */
void rig_queue(Rig *r, NcicDir dir, unsigned q, unsigned log);
/* Writes descriptor @index of the ring without ringing. */
void rig_desc(Rig *r, NcicDir dir, unsigned q, unsigned log, uint16_t index,
              uint64_t addr, uint16_t len, uint8_t start, uint8_t offset);
/* Completion @index. */
uint8_t *rig_cpl(Rig *r, NcicDir dir, unsigned q, unsigned log,
                 uint16_t index);
/* The wire sends (or gives up) all that it kept; it stays full if it is. */
void rig_wire_done(Rig *r, bool sent);
/* Answers waiting descriptor read number @i. */
void rig_answer(Rig *r, unsigned i);

#endif
