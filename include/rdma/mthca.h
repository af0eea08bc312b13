/*
 * ncic-mthca core: the mem-free InfiniHost personality of the RDMA engine.
 *
 * One Mthca is one PCI function with one port.  It owns an RdmaDev (the
 * transport core) and gives it the personality ops; the shell gives both the
 * outside.  Like the transport core it never reads a clock and is not
 * re-entrant; work that a register write starts is done inside the call,
 * except transport work, for which RdmaOps.kick asks for rdma_poll().
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef RDMA_MTHCA_H
#define RDMA_MTHCA_H

#include "rdma/core.h"
#include "rdma/mthca_hw.h"

typedef struct Mthca Mthca;

/* Given by the shell; the opaque is RdmaConfig.ops_opaque. */
typedef struct MthcaOps {
    /* Pulse MSI-X vector @vector (0 .. MTHCA_MSIX_VECTORS - 1). */
    void (*msix)(void *opaque, unsigned vector);
    /* Set the level of the interrupt pin. */
    void (*intx)(void *opaque, bool level);
    /* Bus address of BAR0, for registers that QUERY_FW reports. */
    uint64_t (*bar0_addr)(void *opaque);
    /* A write to the reset register: the shell resets the function. */
    void (*reset)(void *opaque);
    /* Optional trace hooks. */
    void (*command)(void *opaque, const char *name, uint16_t opcode,
                    uint32_t in_mod, uint8_t op_mod, uint8_t status);
    void (*eqe)(void *opaque, uint32_t eqn, uint8_t type, uint32_t data);
    void (*port)(void *opaque, uint8_t state, uint16_t lid);
} MthcaOps;

typedef struct MthcaConfig {
    const MthcaOps *ops;
    RdmaConfig rdma;        /* pers and table sizes are set by mthca_new() */
    uint8_t mac[6];
    uint64_t guid;          /* of the node */
    uint64_t port_guid;
    uint64_t gid_prefix;    /* initial; a subnet manager may change it */
    bool sm;                /* a subnet manager brings the port up */
    uint16_t lid;           /* without one: the LID, not 0 */
    bool roce_gid;          /* GID index 1 is ::ffff:IPv4 (see sm) */
    bool uar_check;         /* only its own UAR page rings a QP, arms a CQ */
    char board_id[17];
} MthcaConfig;

/* Counters of the personality, next to those of the transport core. */
#define MTHCA_COUNTERS(X)                                               \
    X(commands) X(command_errors) X(doorbells) X(cq_arms) X(eqes)       \
    X(eqe_lost) X(interrupts) X(cq_overruns) X(mads) X(mads_dropped)    \
    X(guest_errors)

typedef struct MthcaCounters {
#define MTHCA_COUNTER_FIELD(name) uint64_t name;
    MTHCA_COUNTERS(MTHCA_COUNTER_FIELD)
#undef MTHCA_COUNTER_FIELD
} MthcaCounters;

/* @cfg is copied.  Never fails. */
Mthca *mthca_new(const MthcaConfig *cfg);
void mthca_free(Mthca *m);
/* Function reset: all contexts, maps, registers and port state. */
void mthca_reset(Mthca *m);

/* The engine below, for rdma_rx_frame(), rdma_poll(), faults, counters. */
RdmaDev *mthca_rdma(Mthca *m);
MthcaCounters *mthca_counters(Mthca *m);

/*
 * BAR0 registers: 32-bit accesses at multiples of 4.  Values are those a
 * big-endian reader sees.
 */
uint32_t mthca_bar0_read(Mthca *m, uint32_t addr);
void mthca_bar0_write(Mthca *m, uint32_t addr, uint32_t val);
/*
 * BAR2 doorbells: @size 8, or 4 as high half, then low half.  Value as a
 * big-endian reader sees it.
 */
void mthca_uar_write(Mthca *m, uint32_t addr, uint64_t val, unsigned size);

/* The wire came up or went down: port state and PORT_CHANGE event. */
void mthca_link_set(Mthca *m, bool up);
/* What it was told last, here or before migration. */
bool mthca_link(const Mthca *m);
/* Put a value into the catastrophic error buffer (fault injection). */
void mthca_catas_set(Mthca *m, uint32_t word0);
/* For reports: IB port state 1..4 and current LID. */
uint8_t mthca_port_state(const Mthca *m);
uint16_t mthca_port_lid(const Mthca *m);

/*
 * Migration: the whole state, the transport's included, as one block.
 * mthca_save() returns memory to be freed with g_free().  mthca_load() puts it
 * into an adapter with the same settings and returns NULL, or resets the
 * adapter and says what is wrong with the block.
 */
uint8_t *mthca_save(Mthca *m, int64_t now, size_t *len);
const char *mthca_load(Mthca *m, int64_t now, const uint8_t *data,
                       size_t len);

#endif
