/*
 * A driver for the UMMU of ub/ummu_hw.h: of a core in the same process, or of one in
 * an emulator.  One Entity, TECTE 0, all tables in memory that it has.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef UBM_DRV_H
#define UBM_DRV_H

#include <glib.h>
#include <stdbool.h>

#include "core/bytes.h"
#include "ub/ummu_hw.h"

/* How the device is reached; registers by their offset in UBM_WINDOW. */
typedef struct UbmDrv {
    uint8_t *memory;    /* guest address 0 */
    uint64_t brk, end;  /* memory that may be given away */
    void *opaque;
    uint32_t (*reg_read)(void *opaque, uint32_t offset);
    void (*reg_write)(void *opaque, uint32_t offset, uint32_t value);
    void (*progress)(void *opaque); /* called while a command is waited for */
    /* The driver's. */
    uint64_t tect, tct, cmdq, evtq;
    unsigned tct_num;
    uint32_t cmd_pi, evt_ci;
} UbmDrv;

#define UBM_RWA (UBM_MAPTE_READ | UBM_MAPTE_WRITE | UBM_MAPTE_ATOMIC)

/* A multi-level permission table: its block and how much of it is used. */
typedef struct UbmMapt {
    UbmDrv *d;
    uint64_t block;
    unsigned log2, used;        /* 4 KiB << log2; tables */
    unsigned last;              /* last level: 3 or 2 */
} UbmMapt;

uint64_t ubm_alloc(UbmDrv *d, uint64_t bytes, uint64_t align);
void ubm_write64(UbmDrv *d, uint32_t reg, uint64_t value);
uint64_t ubm_word(const UbmDrv *d, uint64_t at);
void ubm_word_put(UbmDrv *d, uint64_t at, uint64_t value);

/* Tables of 2^@tct_num TokenIDs, stage 1, privileged, and registers; enabled. */
void ubm_open(UbmDrv *d, unsigned tct_num);
/* The TCTE of @token_id with a translation table of 4 KiB pages and @q0 beside the
 * usual; its address. */
uint64_t ubm_context(UbmDrv *d, uint32_t token_id, uint64_t q0);
/* Where the descriptor of @uba in level @level is (tables are made); 0 to 3. */
uint64_t ubm_desc(UbmDrv *d, uint64_t root, uint64_t uba, unsigned level);
/* Pages of @token_id. */
void ubm_map(UbmDrv *d, uint32_t token_id, uint64_t uba, uint64_t pa,
             uint64_t len, uint64_t flags);
/* Fill in a permission entry; @token is main and spare, with TOKEN_CHK. */
void ubm_mapte(UbmDrv *d, uint64_t at, uint32_t w0, uint64_t base,
               uint64_t limit, uint32_t token);
/* A single permission entry of @token_id; its address. */
uint64_t ubm_single(UbmDrv *d, uint32_t token_id, uint32_t w0, uint64_t base,
                    uint64_t limit, uint32_t token);
/* A multi-level permission table of @token_id: @rtgs 1: 4 KiB, 2: 2 MiB. */
void ubm_multi(UbmMapt *m, UbmDrv *d, uint32_t token_id, unsigned rtgs,
               unsigned log2);
/* Where the entry of @uba in level @level is (tables are made). */
uint64_t ubm_multi_entry(UbmMapt *m, uint64_t uba, unsigned level);

/* A command, and SYNC until it is done. */
void ubm_command(UbmDrv *d, uint64_t q0, uint64_t q1, uint64_t q2, uint64_t q3);
/* Forget all of a TokenID. */
void ubm_flush(UbmDrv *d, uint32_t token_id);
/* The next event, or NULL. */
const uint8_t *ubm_event(UbmDrv *d);

#endif
