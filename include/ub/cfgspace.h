/*
 * The configuration space of a UB controller (UB 2.0 §10.4.1, appendix D).
 *
 * A sparse space of 32-bit dwords, addressed by dword: slices of 0x100 dwords
 * at the places of Table 10-6.  What each bit is - reset value, access, reset
 * domain - comes from cfg-registers.csv by way of cfg-tables.c.  The device
 * puts its live values in with ub_cfg_set() and learns of writes by callback.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef UB_CFGSPACE_H
#define UB_CFGSPACE_H

#include <stdbool.h>
#include <stdint.h>

#include "ub/cfg_regs.h"

/* Value of a field, given its mask, and a value moved to a field's place. */
#define UB_CFG_GET(mask, v) (((v) & (mask)) >> __builtin_ctz(mask))
#define UB_CFG_PUT(mask, v) (((uint32_t)(v) << __builtin_ctz(mask)) & (mask))

#define UB_CFG_MAX_PORTS 8

typedef enum UbCfgSpaceId {
    UB_CFG_SPACE_CFG0,
    UB_CFG_SPACE_CFG1,
    UB_CFG_SPACE_PORT,
} UbCfgSpaceId;

/* One dword of a slice.  Bits in none of the masks are read only. */
typedef struct UbCfgDword {
    uint16_t dw;      /* offset in the slice */
    uint32_t reset;   /* value after device reset */
    uint32_t rw;      /* read-write */
    uint32_t w1c;     /* writing 1 clears */
    uint32_t trigger; /* writing 1 acts, reads 0 */
    uint32_t sticky;  /* only device reset resets (Table 10-7) */
    const char *name;
} UbCfgDword;

typedef struct UbCfgSlice {
    const char *name;
    uint8_t space; /* UbCfgSpaceId */
    uint8_t cap;   /* capability number, 0: the BASIC slice */
    uint16_t used; /* Slice Used Size in dwords; beyond it reads 0 */
    const UbCfgDword *dwords; /* ascending, only those that are not plain 0 */
    uint16_t count;
} UbCfgSlice;

extern const UbCfgSlice ub_cfg_slices[];
extern const unsigned ub_cfg_slice_count;

typedef enum UbCfgReset {
    UB_CFG_RESET_DEVICE, /* everything (DEV_RST, power-on) */
    UB_CFG_RESET_ENTITY, /* CFG1 (ELR) */
    UB_CFG_RESET_PORT,   /* one port's slices */
} UbCfgReset;

typedef struct UbCfgOps {
    /*
     * A guest changed the dword at `dw` (absolute).  `port` is -1 outside the
     * port slices, `cap` the capability number.  `now` is the new value,
     * `changed` the bits that differ from before (set or cleared), `trigger`
     * the write-1-to-act bits that were written as 1.  May be NULL.
     */
    void (*written)(void *opaque, uint32_t dw, int port, unsigned cap,
                    uint32_t now, uint32_t changed, uint32_t trigger);
    /* Before a guest reads `dw`: refresh it with ub_cfg_set().  May be NULL. */
    void (*refresh)(void *opaque, uint32_t dw, int port, unsigned cap);
} UbCfgOps;

typedef struct UbCfg UbCfg;

/*
 * A space with `ports` ports (1 to UB_CFG_MAX_PORTS) at reset values, the
 * CAP bitmaps filled in for the slices that exist, or NULL.  `slices` selects
 * them: a callback that says whether a slice of the table exists here, NULL
 * for all.
 */
UbCfg *ub_cfg_new(unsigned ports, bool (*exists)(const UbCfgSlice *slice),
                  const UbCfgOps *ops, void *opaque);
void ub_cfg_free(UbCfg *cfg);

/* Reset one domain; `port` counts for UB_CFG_RESET_PORT only.  Values given
 * by ub_cfg_init() come back; no callback is made. */
void ub_cfg_reset(UbCfg *cfg, UbCfgReset domain, unsigned port);

/* Guest read of the dword at `dw`; what is not defined reads 0 (§10.4.1.4). */
uint32_t ub_cfg_read(UbCfg *cfg, uint32_t dw);

/*
 * Guest write of the bytes of `value` whose bit is set in `byte_en` (bit 0:
 * bits 7:0).  Bits that are not writable keep their value.  Returns false if
 * nothing at `dw` is writable, which is no error (§10.4.1.4) but may be
 * logged.
 */
bool ub_cfg_write(UbCfg *cfg, uint32_t dw, uint32_t value, uint8_t byte_en);

/* Device side: set the bits of `mask` at `dw` whatever their access; false if
 * there is no such dword.  No callback. */
bool ub_cfg_set(UbCfg *cfg, uint32_t dw, uint32_t mask, uint32_t value);
/* As ub_cfg_set(), and make it the value that resets return to: for fields
 * the document leaves to the implementation or to power-on. */
bool ub_cfg_init(UbCfg *cfg, uint32_t dw, uint32_t mask, uint32_t value);
/* Device side: the dword at `dw` without refresh; 0 if there is none. */
uint32_t ub_cfg_get(const UbCfg *cfg, uint32_t dw);

/*
 * Step through the slices that exist: returns false past the last.  *base is
 * the slice's first dword, *slice its table.  For listings, sparse dumps and
 * migration; start with *iter = 0.
 */
bool ub_cfg_next(const UbCfg *cfg, unsigned *iter, uint32_t *base,
                 const UbCfgSlice **slice);

/* The whole state as ub_cfg_state_words() dwords, for migration. */
uint32_t *ub_cfg_state(UbCfg *cfg);
unsigned ub_cfg_state_words(const UbCfg *cfg);

/* The table's row for `dw`, or NULL: names for traces and dumps. */
const UbCfgDword *ub_cfg_dword(const UbCfg *cfg, uint32_t dw);

#endif
