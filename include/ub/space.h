/*
 * The configuration space of a UB controller (UB 2.0 §10.4.1, appendix D).
 *
 * A sparse space of 32-bit dwords, addressed by dword: slices of 0x100 dwords
 * at the places of Table 10-6.  What each bit is - reset value, access, reset
 * domain - comes from registers.csv by way of tables.c.
 *
 * A slice exists if and only if its owner has attached it, and the CAP bitmaps
 * follow from that.  The owner puts its live values in with ub_slice_set() and
 * learns of writes by callback; nobody else knows what is in it.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef UB_SPACE_H
#define UB_SPACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ub/cfg_regs.h"

/* Value of a field, given its mask, and a value moved to a field's place. */
#define UB_SPACE_GET(mask, v) (((v) & (mask)) >> __builtin_ctz(mask))
#define UB_SPACE_PUT(mask, v) (((uint32_t)(v) << __builtin_ctz(mask)) & (mask))

#define UB_SPACE_MAX_PORTS 64

typedef enum UbSpaceId {
    UB_SPACE_CFG0,
    UB_SPACE_CFG1,
    UB_SPACE_PORT,
} UbSpaceId;

/* One dword of a slice.  Bits in none of the masks are read only. */
typedef struct UbSpaceDword {
    uint32_t dw;      /* offset in the slice */
    uint32_t reset;   /* value after device reset */
    uint32_t rw;      /* read-write */
    uint32_t w1c;     /* writing 1 clears */
    uint32_t trigger; /* writing 1 acts, reads 0 */
    uint32_t sticky;  /* only device reset resets (Table 10-7) */
    uint32_t first;   /* exist in Entity 0 alone (DE0_EO) */
    uint32_t first_rw; /* writable in Entity 0 alone (DEN_RO) */
    const char *name;
} UbSpaceDword;

typedef struct UbSpaceSlice {
    const char *name;
    uint8_t space; /* UbSpaceId */
    uint8_t cap;   /* capability number, 0: the BASIC slice */
    uint32_t used; /* Slice Used Size in dwords; beyond it reads 0 */
    const UbSpaceDword *dwords; /* ascending, only those that are not plain 0 */
    uint32_t count;
} UbSpaceSlice;

/* Every slice of appendix D but those that a device sizes itself. */
extern const UbSpaceSlice ub_space_slices[];
extern const unsigned ub_space_slice_count;

typedef enum UbSpaceReset {
    UB_SPACE_RESET_DEVICE, /* everything (DEV_RST, power-on) */
    UB_SPACE_RESET_ENTITY, /* CFG1 (ELR) */
    UB_SPACE_RESET_PORT,   /* one port's slices */
} UbSpaceReset;

typedef struct UbSpace UbSpace;
/* A slice in its place. */
typedef struct UbSlice UbSlice;

/* A guest's write of the dword @dw of a slice at the time @now: @value is the new
 * value, @changed the bits that differ from before (set or cleared), @trigger
 * the write-1-to-act bits that were written as 1, @byte_en the bytes that were
 * written (bit 0: bits 7:0). */
typedef struct UbSliceWrite {
    int64_t now;
    unsigned dw;
    uint32_t value, changed, trigger;
    uint8_t byte_en;
} UbSliceWrite;

/* What the owner of a slice does; both may be NULL. */
typedef struct UbSliceOps {
    void (*written)(void *opaque, UbSlice *slice, const UbSliceWrite *w);
    /* Before a guest reads @dw: refresh it with ub_slice_set(). */
    void (*refresh)(void *opaque, UbSlice *slice, unsigned dw);
} UbSliceOps;

/* An empty space of Entity 0 for `ports` ports (1 to UB_SPACE_MAX_PORTS), or
 * NULL. */
UbSpace *ub_space_new(unsigned ports);
/* An empty space of another Entity, without ports: what Table 10-7 gives to
 * Entity 0 alone reads 0 there, or cannot be written. */
UbSpace *ub_space_new_entity(void);
/* With its slices.  NULL is ignored. */
void ub_space_free(UbSpace *space);

/*
 * Give the slice of capability @cap (0: BASIC) of CFG0, CFG1 or port @port (0 for
 * the others) to an owner, at reset values.  The BASIC slice comes first.  @ops
 * may be NULL: storage.  NULL if there is no such slice or port, or it has an
 * owner.
 */
UbSlice *ub_space_attach(UbSpace *space, UbSpaceId id, unsigned port,
                         unsigned cap, const UbSliceOps *ops, void *opaque);
/*
 * Give the place at @base to an owner who says itself what is there: a slice that
 * a device sizes.  It is of no port, and shown in the bitmap of @table->space if
 * @table->cap is not 0; @table stays the caller's, for as long as the
 * space is used.  NULL: what is there belongs to another slice.
 */
UbSlice *ub_space_attach_at(UbSpace *space, uint32_t base,
                            const UbSpaceSlice *table, const UbSliceOps *ops,
                            void *opaque);

/* Reset one domain; @port counts for UB_SPACE_RESET_PORT only.  Values given
 * by ub_slice_init() come back; no callback is made. */
void ub_space_reset(UbSpace *space, UbSpaceReset domain, unsigned port);

/* Guest read of the dword at @dw; what is not defined reads 0 (§10.4.1.4). */
uint32_t ub_space_read(UbSpace *space, uint32_t dw);

/*
 * Guest write of the bytes of @value whose bit is set in @byte_en (bit 0:
 * bits 7:0).  Bits that are not writable keep their value.  Returns false if
 * nothing at @dw is writable, which is no error (§10.4.1.4) but may be
 * logged.
 */
bool ub_space_write(UbSpace *space, int64_t now, uint32_t dw, uint32_t value,
                    uint8_t byte_en);

/* Whether the dword at @dw is of a slice that only the UBFM may write; and the bits of
 * it that only the UBFM may read.  Who asks is the caller's to know. */
bool ub_space_managed(const UbSpace *space, uint32_t dw);
uint32_t ub_space_hidden(const UbSpace *space, uint32_t dw);

/* The whole state as ub_space_state_words() dwords in the order of attachment,
 * for migration. */
uint32_t *ub_space_state(UbSpace *space);
unsigned ub_space_state_words(const UbSpace *space);

/* The table's row for @dw, or NULL: names for traces and dumps. */
const UbSpaceDword *ub_space_dword(const UbSpace *space, uint32_t dw);

/* ---- For owners: dwords of a slice, beyond its used size 0 ---- */

/* The dword @dw, without refresh. */
uint32_t ub_slice_get(const UbSlice *slice, unsigned dw);
/* Set the bits of @mask at @dw whatever their access.  No callback. */
void ub_slice_set(UbSlice *slice, unsigned dw, uint32_t mask, uint32_t value);
/* As ub_slice_set(), and make it the value that resets return to: for fields
 * the document leaves to the implementation or to power-on. */
void ub_slice_init(UbSlice *slice, unsigned dw, uint32_t mask,
                   uint32_t value);

/* As ub_slice_init(), and no guest may write the bits of @mask: what they govern is
 * not there (§10.4.1.4). */
void ub_slice_fix(UbSlice *slice, unsigned dw, uint32_t mask, uint32_t value);

/* The slice is the UBFM's (§10.4.7): ub_space_managed(). */
void ub_slice_manage(UbSlice *slice);
/* And the bits of @mask are for nobody else to read: ub_space_hidden(). */
void ub_slice_hide(UbSlice *slice, unsigned dw, uint32_t mask);

/*
 * Fields of a slice that are members of a structure: @n elements of @bits bits,
 * the first at bit @lsb of dword @dw and each @step bits after the one before,
 * and @n integers (or truth values) of @size bytes from byte @at of the
 * structure on.  A field does not cross a dword.
 */
typedef struct UbField {
    uint16_t dw;
    uint8_t lsb, bits, step, n;
    uint16_t at;
    uint8_t size;
} UbField;

/* One member: the register and field as cfg_regs.h names them. */
#define UB_FIELD(type, member, reg, field)                          \
    { reg, __builtin_ctz(reg##__##field),                           \
      __builtin_popcount(reg##__##field), 0, 1,                     \
      offsetof(type, member), sizeof(((type *)0)->member) }
/* An array of fields side by side, the first in the lowest bits of @reg. */
#define UB_FIELD_ARRAY(type, member, reg, bits)                     \
    { reg, 0, bits, bits,                                           \
      sizeof(((type *)0)->member) / sizeof(((type *)0)->member[0]), \
      offsetof(type, member), sizeof(((type *)0)->member[0]) }

/* Registers from members, as ub_slice_init() and ub_slice_set(), and back. */
void ub_slice_init_fields(UbSlice *slice, const UbField *fields, unsigned n,
                          const void *from);
void ub_slice_set_fields(UbSlice *slice, const UbField *fields, unsigned n,
                         const void *from);
/* False: a value did not fit its member, which then has the largest it can. */
bool ub_slice_get_fields(const UbSlice *slice, const UbField *fields,
                         unsigned n, void *to);

#endif
