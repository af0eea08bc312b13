/*
 * A UMMU with memory, for tests.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef UMMU_BED_H
#define UMMU_BED_H

#include "../../../ubm-drv.h"
#include "ub/ummu.h"

#define BED_RAM (64u << 20)
#define BED_EID_LOW 0x1122334455667788ull
#define BED_EID_HIGH 0x99aabbccddeeff00ull

typedef struct Bed {
    UbUmmu *u;
    UbmDrv d;
    UbUmmuConfig cfg;
    uint8_t *ram;
    unsigned interrupts, vector, kicks, resolved, errors;
    uint32_t stall;             /* the last that ended … */
    bool aborted;               /* … and how */
    uint64_t reads, peeks;
    /* A processor: after so many more reads of the word at an address it writes it. */
    struct {
        unsigned reads;         /* 0: it does not */
        uint64_t at, value;
    } meanwhile;
    /* One that writes each word just before it is exchanged. */
    bool rival;
    uint64_t fixed;             /* a word that can be read only; 0: none */
    /* The answer to the last access. */
    UbUmmuAccess a;
    UbUmmuSpan span[16];
    unsigned spans;
} Bed;

/* A UMMU, not yet enabled; @cfg may be NULL. */
void bed_init(Bed *b, const UbUmmuConfig *cfg);
void bed_free(Bed *b);
/* The same and TokenID 5: UBA 1000000h is memory at 2000000h, 64 KiB, all rights
 * and TokenValue 77. */
#define BED_TOKEN 5
#define BED_UBA 0x1000000ull
#define BED_PA 0x2000000ull
#define BED_LEN 0x10000u
#define BED_VALUE 77
void bed_open(Bed *b, const UbUmmuConfig *cfg);
/* An access of the usual kind: EE 1, TokenValue 77. */
UbUmmuAccess bed_access(unsigned kind, uint64_t addr, uint32_t len);
UbUmmuResult bed_ask(Bed *b, const UbUmmuAccess *a);
/* The same of 8 bytes at @addr, read. */
UbUmmuResult bed_read(Bed *b, uint64_t addr);
/* The answer is @r by decision @why, with event @code (0: none). */
void bed_refused(Bed *b, const UbUmmuAccess *a, UbUmmuResult r, unsigned why,
                 unsigned code);
uint64_t bed_tcte(const Bed *b, uint32_t token_id);
/* Set and clear bits of a word. */
void bed_change(Bed *b, uint64_t at, uint64_t clear, uint64_t set);

#endif
