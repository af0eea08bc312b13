/*
 * A driver for ncic-mthca on top of libqos: registers, commands, doorbells.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef QTEST_LIBMTHCA_H
#define QTEST_LIBMTHCA_H

#include "ncic-fixture.h"
#include "../lib/mthca_build.h"

#define HCA_TOKEN  0x1234u

typedef struct Hca {
    Fixture *f;
    QTestState *qts;
    QPCIDevice *pci;
    QPCIBar csr, uar;
    uint64_t in, out;           /* mailboxes */
    uint64_t eq;                /* ring of events */
    uint64_t msi;               /* where the vector's message goes */
} Hca;

/* Starts the emulator with one adapter; @props is appended to the device. */
Hca *hca_begin(const char *props);
/* The same in an emulator that runs already; it owns @f from now on. */
Hca *hca_begin_on(Fixture *f);
/* Registers are big-endian. */
uint32_t hca_rd(Hca *h, uint32_t addr);
void hca_wr(Hca *h, uint32_t addr, uint32_t val);
/* A doorbell of 64 bits at offset @off of BAR2. */
void hca_doorbell(Hca *h, uint32_t off, uint32_t hi, uint32_t lo);
/* Issues a command; @flags is 0 or MTHCA_HCR_EVENT. */
void hca_issue(Hca *h, uint16_t op, uint32_t mod, uint64_t in, uint64_t out,
               uint32_t flags);
/* Runs a command by polling; its status. */
uint8_t hca_cmd_at(Hca *h, uint16_t op, uint32_t mod, uint64_t in,
                   uint64_t out);
/* The same with both mailboxes at their places. */
uint8_t hca_cmd(Hca *h, uint16_t op, uint32_t mod);
uint32_t hca_out32(Hca *h, unsigned off);
/* Writes the inbox; what is behind @box is zero. */
void hca_put_box(Hca *h, const uint8_t *box, size_t len);
/* RUN_FW and INIT_HCA with small tables. */
void hca_init(Hca *h);
/* INIT_IB. */
void hca_port_up(Hca *h);
/* The device still obeys: a query with an outbox, from any state. */
void hca_prove_works(Hca *h);
/* A misuse has been told, and did no harm. */
void hca_expect(Hca *h, const char *text);
/* Whatever happened: reset, and from the beginning; then stop. */
void hca_end(Hca *h);

#endif
