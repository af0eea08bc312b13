/*
 * NCIC native RDMA interface: the command execution unit, contexts in ICM,
 * doorbells, completion and event queues (interface document V1.3-b), as a
 * personality of the transport core.  Pure C; a shell attaches
 * registers, guest memory, the wire, time and interrupts.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef RDMA_NATIVE_H
#define RDMA_NATIVE_H

#include "rdma/core.h"
#include "rdma/native_hw.h"

typedef struct NativeRdma NativeRdma;

typedef enum NativeErrCqe {
    NATIVE_ERR_CQE_DRV,     /* opcode ff / fe, syndrome in byte 10 */
    NATIVE_ERR_CQE_DOC,     /* opcode of the WQE / packet, byte 10 */
    NATIVE_ERR_CQE_RTL,     /* opcode ff / fe, syndrome in byte 13 */
} NativeErrCqe;

/* Switches; see docs/decisions/rdma-native.rst.  Zero is not the default. */
typedef struct NativeConfig {
    bool strict_cmd;        /* index, order and mapping errors: status 03 */
    bool strict_qp;         /* illegal QP transitions: status 03 */
    bool state_rtl;         /* QP state codes SQD 4, SQE 5 */
    bool devlim_rtl;        /* DEV_LIM constants of the hardware sources */
    bool nop_bad_op;        /* NOP answers 02 */
    bool psn_always;        /* each MODIFY_QP takes the PSNs */
    bool rnr0_none;         /* RNR retry 0 means none, not for ever */
    bool mpt_phys;          /* MPT flag PHYSICAL: addresses are bus addresses */
    bool eqe;               /* event queues work */
    bool cq_check_owner;    /* a CQE software has not freed: CQ error */
    bool uar_check;         /* doorbell page must be the QP's usr_page */
    uint8_t lerr;           /* syndrome of local access errors, 11 or 04 */
    NativeErrCqe err_cqe;
} NativeConfig;

typedef struct NativeOps {
    /* Send MSI-X message @vector. */
    void (*msix)(void *opaque, unsigned vector);
} NativeOps;

void native_config_init(NativeConfig *cfg);
/* Transport settings as this interface needs them; ops are left empty. */
void native_rdma_config(RdmaConfig *cfg);

/*
 * @rdma: transport settings with ops and ops_opaque filled in; the rest of
 * what belongs to the personality is set here.  @ops share that opaque.
 */
NativeRdma *native_new(const RdmaConfig *rdma, const NativeConfig *cfg,
                       const NativeOps *ops);
void native_free(NativeRdma *n);
/* Reset register and function reset: everything but the port. */
void native_reset(NativeRdma *n);
/* The transport core: input frames, polling, port, counters, faults. */
RdmaDev *native_dev(NativeRdma *n);

/* HCR, @off 00..18, multiples of 4.  A command ends before the call does. */
uint32_t native_hcr_read(NativeRdma *n, uint32_t off);
void native_hcr_write(NativeRdma *n, uint32_t off, uint32_t val);

/* BAR2, @off from its start, @size 4 or 8.  Reads give 0. */
void native_uar_write(NativeRdma *n, uint64_t off, uint64_t val,
                      unsigned size);

/*
 * Migration: the whole state, the transport's included, as one block.
 * native_save() returns memory to be freed with g_free().  native_load() puts
 * it into a device with the same switches and returns NULL, or resets the
 * device and says what is wrong with the block.
 */
uint8_t *native_save(NativeRdma *n, int64_t now, size_t *len);
const char *native_load(NativeRdma *n, int64_t now, const uint8_t *data,
                        size_t len);

#endif
