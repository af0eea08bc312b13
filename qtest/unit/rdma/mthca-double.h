/*
 * Test double of the outside of ncic-mthca: guest memory, interrupts, a wire,
 * and a driver's view of the registers.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef QTEST_MTHCA_DOUBLE_H
#define QTEST_MTHCA_DOUBLE_H

#include <glib.h>

#include "core/bytes.h"
#include "rdma/mthca.h"
#include "../../lib/mthca_build.h"

#define G_SIZE    (4u << 20)
#define G_BUS     UINT64_C(0x100000000)     /* bus address of guest byte 0 */
#define G_IN      0x1000                    /* mailboxes */
#define G_OUT     0x2000

typedef struct MGuest {
    Mthca *m;
    MthcaConfig cfg;
    uint8_t *mem;
    unsigned msix[MTHCA_MSIX_VECTORS];
    bool intx;
    unsigned resets, rules;
    GPtrArray *wire;            /* GBytes */
    uint8_t log_mpts;           /* entries of the table of regions */
    int64_t now;
} MGuest;

MGuest *mguest_new(uint16_t lid, bool sm);
void mguest_free(MGuest *g);

/* Run a command by polling; the status.  Immediate result in *@imm. */
uint8_t mcmd(MGuest *g, uint16_t op, uint32_t mod, uint8_t op_mod,
             uint64_t in, uint64_t out, uint64_t *imm);
/* With both mailboxes at their places. */
uint8_t mcmd_box(MGuest *g, uint16_t op, uint32_t mod, uint8_t op_mod);
/* The same, and it must succeed. */
void mok(MGuest *g, uint16_t op, uint32_t mod, uint8_t op_mod);
/* The inbox, zeroed; the outbox. */
uint8_t *min_box(MGuest *g);
uint8_t *mout_box(MGuest *g);

/* ICM layout used by mguest_init_hca(). */
#define M_UARC     0x00000000u
#define M_MTT      0x20000000u
/* RUN_FW and INIT_HCA as Linux does on one port. */
void mguest_init_hca(MGuest *g);
/* Map @pages pages of device memory to guest offset @off. */
void mmap_icm(MGuest *g, uint64_t virt, uint32_t off, unsigned pages);
/* A region over everything, no translation, all rights: its key. */
uint32_t mregion_all(MGuest *g, uint32_t index, uint32_t pd);
/* EQ of 64 entries at guest offset @off, MSI-X vector, armed. */
void mmake_eq(MGuest *g, uint32_t eqn, uint32_t off, uint8_t vector,
              uint32_t key);
/* Deliver frames between the two until quiet. */
void mexchange(MGuest *a, MGuest *b);

#endif
