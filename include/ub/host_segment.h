/*
 * Segments in the memory of a process (UB 2.0 §8.2.1): what a target that is no device
 * gives access to, by TokenID and UBA.  Programs that have a transaction layer alone
 * have them: ub-node, tests, benchmarks.
 *
 * A device's are others (hw/ub/urma/segment.c): a guest makes them by commands, one for
 * each TokenID; they lead to bus addresses, migrate, and go when what is under way has
 * ended.  These here are pointers that no image could have, several to a TokenID, and
 * do what memory of a device leaves to the UMMU and to faults that are injected: page
 * faults, late answers, EE_bits, poison.
 *
 * Segments of one TokenID do not overlap; a TokenID names segments of one Entity.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef UB_HOST_SEGMENT_H
#define UB_HOST_SEGMENT_H

#include "ub/ta.h"

typedef struct UbSegments UbSegments;

enum {
    UB_SEGMENT_READ = 1 << 0,
    UB_SEGMENT_WRITE = 1 << 1,
    UB_SEGMENT_ATOMIC = 1 << 2,
};

/* Whether its pages are there. */
typedef enum UbSegmentPages {
    UB_SEGMENT_THERE,
    UB_SEGMENT_FAULT,           /* page fault with a timer */
    UB_SEGMENT_LATER,           /* answered when ub_ta_resolved() says so */
} UbSegmentPages;

typedef struct UbSegment {
    unsigned entity;
    uint32_t token_id;          /* 20 bits */
    uint64_t uba, len;
    uint8_t *host;              /* its memory, or NULL and */
    uint64_t bus;
    uint8_t rights;             /* UB_SEGMENT_READ ... */
    bool check;                 /* TokenValue is wanted: one of */
    uint32_t token[2];          /* the main one and the spare (§11.4.4) */
    bool exclusive;             /* E: others than Exclusive are denied */
    uint8_t ee;                 /* UB_EE_NORMAL or UB_EE_TEE; 0: both */
    bool bare;                  /* open to packets without EIDs (CFG 9) */
    uint8_t pages;              /* UbSegmentPages */
    uint8_t timer;              /* RNR_Timer of FAULT */
} UbSegment;

/* At most @max segments, and as many poisoned ranges. */
UbSegments *ub_segments_new(uint32_t max);
void ub_segments_free(UbSegments *t);
/* False: too many, empty, wraps round, or overlaps one of its TokenID. */
bool ub_segments_add(UbSegments *t, const UbSegment *s);
/* The segment of that TokenID at that UBA, to change fields other than its place;
 * NULL: there is none. */
UbSegment *ub_segments_find(UbSegments *t, unsigned entity, uint32_t token_id,
                            uint64_t uba);
bool ub_segments_remove(UbSegments *t, unsigned entity, uint32_t token_id,
                        uint64_t uba);
void ub_segments_clear(UbSegments *t);
uint32_t ub_segments_count(const UbSegments *t);

/* UbTaOps.access: a segment as it is asked for, or why not. */
UbAccessResult ub_segments_access(UbSegments *t, UbAccess *a, UbSpan *out,
                                  unsigned max, unsigned *n);

#endif
