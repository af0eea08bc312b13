/*
 * The configuration space of a UB controller (UB 2.0 §10.4.1, appendix D).
 *
 * A sparse space of 32-bit dwords, addressed by dword: slices of 0x100 dwords
 * at the places of Table 10-6.  What each bit is - reset value, access, reset
 * domain - comes from registers.csv by way of tables.c.  The device
 * puts its live values in with ub_space_set() and learns of writes by callback.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef UB_SPACE_H
#define UB_SPACE_H

#include <stdbool.h>
#include <stdint.h>

#include "ub/cfg_regs.h"

/* Value of a field, given its mask, and a value moved to a field's place. */
#define UB_SPACE_GET(mask, v) (((v) & (mask)) >> __builtin_ctz(mask))
#define UB_SPACE_PUT(mask, v) (((uint32_t)(v) << __builtin_ctz(mask)) & (mask))

#define UB_SPACE_MAX_PORTS 8

typedef enum UbSpaceId {
    UB_SPACE_CFG0,
    UB_SPACE_CFG1,
    UB_SPACE_PORT,
} UbSpaceId;

/* One dword of a slice.  Bits in none of the masks are read only. */
typedef struct UbSpaceDword {
    uint16_t dw;      /* offset in the slice */
    uint32_t reset;   /* value after device reset */
    uint32_t rw;      /* read-write */
    uint32_t w1c;     /* writing 1 clears */
    uint32_t trigger; /* writing 1 acts, reads 0 */
    uint32_t sticky;  /* only device reset resets (Table 10-7) */
    const char *name;
} UbSpaceDword;

typedef struct UbSpaceSlice {
    const char *name;
    uint8_t space; /* UbSpaceId */
    uint8_t cap;   /* capability number, 0: the BASIC slice */
    uint16_t used; /* Slice Used Size in dwords; beyond it reads 0 */
    const UbSpaceDword *dwords; /* ascending, only those that are not plain 0 */
    uint16_t count;
} UbSpaceSlice;

extern const UbSpaceSlice ub_space_slices[];
extern const unsigned ub_space_slice_count;

typedef enum UbSpaceReset {
    UB_SPACE_RESET_DEVICE, /* everything (DEV_RST, power-on) */
    UB_SPACE_RESET_ENTITY, /* CFG1 (ELR) */
    UB_SPACE_RESET_PORT,   /* one port's slices */
} UbSpaceReset;

typedef struct UbSpaceOps {
    /*
     * A guest changed the dword at `dw` (absolute).  `port` is -1 outside the
     * port slices, `cap` the capability number.  `now` is the new value,
     * `changed` the bits that differ from before (set or cleared), `trigger`
     * the write-1-to-act bits that were written as 1.  May be NULL.
     */
    void (*written)(void *opaque, uint32_t dw, int port, unsigned cap,
                    uint32_t now, uint32_t changed, uint32_t trigger);
    /* Before a guest reads `dw`: refresh it with ub_space_set().  May be NULL. */
    void (*refresh)(void *opaque, uint32_t dw, int port, unsigned cap);
} UbSpaceOps;

typedef struct UbSpace UbSpace;

/*
 * A space with `ports` ports (1 to UB_SPACE_MAX_PORTS) at reset values, the
 * CAP bitmaps filled in for the slices that exist, or NULL.  `slices` selects
 * them: a callback that says whether a slice of the table exists here, NULL
 * for all.
 */
UbSpace *ub_space_new(unsigned ports, bool (*exists)(const UbSpaceSlice *slice),
                  const UbSpaceOps *ops, void *opaque);
void ub_space_free(UbSpace *cfg);

/* Reset one domain; `port` counts for UB_SPACE_RESET_PORT only.  Values given
 * by ub_space_init() come back; no callback is made. */
void ub_space_reset(UbSpace *cfg, UbSpaceReset domain, unsigned port);

/* Guest read of the dword at `dw`; what is not defined reads 0 (§10.4.1.4). */
uint32_t ub_space_read(UbSpace *cfg, uint32_t dw);

/*
 * Guest write of the bytes of `value` whose bit is set in `byte_en` (bit 0:
 * bits 7:0).  Bits that are not writable keep their value.  Returns false if
 * nothing at `dw` is writable, which is no error (§10.4.1.4) but may be
 * logged.
 */
bool ub_space_write(UbSpace *cfg, uint32_t dw, uint32_t value, uint8_t byte_en);

/* Device side: set the bits of `mask` at `dw` whatever their access; false if
 * there is no such dword.  No callback. */
bool ub_space_set(UbSpace *cfg, uint32_t dw, uint32_t mask, uint32_t value);
/* As ub_space_set(), and make it the value that resets return to: for fields
 * the document leaves to the implementation or to power-on. */
bool ub_space_init(UbSpace *cfg, uint32_t dw, uint32_t mask, uint32_t value);
/* Device side: the dword at `dw` without refresh; 0 if there is none. */
uint32_t ub_space_get(const UbSpace *cfg, uint32_t dw);

/*
 * Step through the slices that exist: returns false past the last.  *base is
 * the slice's first dword, *slice its table.  For listings, sparse dumps and
 * migration; start with *iter = 0.
 */
bool ub_space_next(const UbSpace *cfg, unsigned *iter, uint32_t *base,
                 const UbSpaceSlice **slice);

/* The whole state as ub_space_state_words() dwords, for migration. */
uint32_t *ub_space_state(UbSpace *cfg);
unsigned ub_space_state_words(const UbSpace *cfg);

/* The table's row for `dw`, or NULL: names for traces and dumps. */
const UbSpaceDword *ub_space_dword(const UbSpace *cfg, uint32_t dw);

#endif
