/*
 * Functions that the tests of URPC call, on two nodes, and how their calls end.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef URPC_FUNCTIONS_H
#define URPC_FUNCTIONS_H

#include "bed.h"

enum { ECHO = 0x11, HOLD, FETCH, SUM };
enum { FUNCTIONS_HELD = 32 };

extern unsigned ran;                        /* calls of all that were run */
extern UrpcCall *held[FUNCTIONS_HELD];      /* of HOLD, for the test to answer */
extern unsigned holding;

uint64_t fn(uint32_t method);

/* What came, inline and fetched, comes back. */
void run_echo(void *opaque, UrpcCall *call, int64_t now);
/* Kept, for the test to answer. */
void run_hold(void *opaque, UrpcCall *call, int64_t now);
void add(Bed *b, unsigned node, uint32_t method, const char *name,
         bool reference, void (*run)(void *, UrpcCall *, int64_t));

/* Two nodes with ECHO, HOLD and FETCH each. */
Bed *bed_with(const UrpcConfig *conf);
Bed *bed_plain(void);

void held_reply(Bed *b, unsigned i, UrpcStatus status, const char *text);
UrpcArgs args_of(uint32_t method, const char *text);
/* It ended once, with that. */
void expect(const BedCall *c, UrpcStatus status, const char *text);
const UrpcCounters *counters(Bed *b, unsigned node);

#endif
