/*
 * A program beside the emulator that speaks for a node: vendor-defined messages,
 * MCTP among them, and device authentication (UB 2.0 §10.4.3.3) go to it and come
 * from it, in frames.  It is asked instead of the guest while it is there.
 *
 * A frame has, in front of the message, UB_RESPONDER_HEAD bytes, big-endian:
 *
 *    0  tag
 *    4  bit 31: Mgmt; 30:16: UPI
 *    8  CNA of the other node, 24 bits
 *   12  EID of the other Entity, 20 bits
 *   16  EID of the Entity of this node, 20 bits
 *   20  MGMTETAH and PDU, as on the link
 *
 * To the program: a request, whose tag its answer brings back; or the answer to one
 * of its own, with the tag of that.  From the program: an answer, of which tag and
 * message count; or a request, with a tag of 16 bits of its own choice: CNA and EID
 * say whom it asks.  Who it is itself, partition and Mgmt are the node's to say: it
 * is in that of Entity 0, and never the UBFM.
 *
 * Nothing waits without a bound: UB_RESPONDER_FRAMES to the program, and as many
 * requests for it.  What is more is answered with "no resource".
 *
 * One thread at a time; no clock: `now` is in nanoseconds.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef UB_RESPONDER_H
#define UB_RESPONDER_H

#include "ub/mgmt.h"

#define UB_RESPONDER_HEAD 20
#define UB_RESPONDER_MAX (UB_RESPONDER_HEAD + UB_MGMT_MAX)
#define UB_RESPONDER_FRAMES 64
/* UbMgmtAddr.queue of what the program asks. */
#define UB_RESPONDER_QUEUE 0xfdu

/* What a program may speak: bit n of a mask. */
typedef enum UbResponderKind {
    UB_RESPONDER_MCTP,   /* 3.0 */
    UB_RESPONDER_BUS,    /* 3.1 */
    UB_RESPONDER_VENDOR, /* 3.15 */
    UB_RESPONDER_SPDM,   /* 5.1 */
    UB_RESPONDER_KINDS
} UbResponderKind;

#define UB_RESPONDER_COUNTERS(X)                                             \
    X(ASKED, "asked")        /* requests of others, for the program */       \
    X(ANSWERED, "answered")  /* ... which it answered */                     \
    X(ASKS, "asks")          /* requests of the program */                   \
    X(REFUSED, "refused")    /* ... answered on the spot: not for it */      \
    X(FULL, "full")          /* requests of others: no room */               \
    X(LOST, "lost")          /* frames for the program: no room */           \
    X(DROP_SHORT, "drop-short")  /* frames of the program of wrong length */ \
    X(DROP_TAG, "drop-tag")  /* answers to what nobody asked, or too late */ \
    X(GONE, "gone")          /* requests that it left unanswered */

typedef enum UbResponderCounter {
#define UB_X(symbol, name) UB_RESPONDER_CNT_##symbol,
    UB_RESPONDER_COUNTERS(UB_X)
#undef UB_X
    UB_RESPONDER_CNT_NUM
} UbResponderCounter;

typedef struct UbResponderOps {
    /* There is a frame to take.  May come out of any function below. */
    void (*frame)(void *opaque);
    /* The program broke the rule @text. */
    void (*rule)(void *opaque, const char *text);
} UbResponderOps;

typedef struct UbResponder UbResponder;

/* "mctp:spdm", divided by colons, as a mask; 0: no such kind, or none. */
unsigned ub_responder_kinds(const char *text);

/* For the kinds of the mask; @patience: ns that an answer may take while others
 * want the place.  @mgmt and @ops outlive it. */
UbResponder *ub_responder_new(UbMgmt *mgmt, unsigned kinds, int64_t patience,
                              const UbResponderOps *ops, void *opaque);
/* NULL is ignored. */
void ub_responder_free(UbResponder *r);
/* The node is reset: what is under way is void. */
void ub_responder_reset(UbResponder *r);

/* ---- The program ---- */

/* It came, or went: then what it was asked is answered with "no resource", and
 * what it asked is forgotten. */
void ub_responder_open(UbResponder *r, int64_t now, bool open);
bool ub_responder_is_open(const UbResponder *r);
/* A frame of it.  False: not even a header, or too long. */
bool ub_responder_input(UbResponder *r, int64_t now, const uint8_t *frame,
                        size_t len);
/* The next frame for it, at most UB_RESPONDER_MAX bytes; how long it is, or 0:
 * there is none. */
size_t ub_responder_take(UbResponder *r, uint8_t *frame);

/* ---- The node: as UbMgmtOps ---- */

/* Whether a request is the program's to answer. */
bool ub_responder_wants(const UbResponder *r, const uint8_t *data, size_t len);
/* A request that it wants.  False: no room. */
bool ub_responder_request(UbResponder *r, int64_t now, const UbMgmtAddr *a,
                          const uint8_t *data, size_t len);
/* The answer to what it asked with the MSN a->msn, and that there is none. */
bool ub_responder_answer(UbResponder *r, const UbMgmtAddr *a,
                         const uint8_t *data, size_t len);
bool ub_responder_failed(UbResponder *r, uint16_t msn, uint8_t code);

uint64_t ub_responder_counter(const UbResponder *r, UbResponderCounter counter);
/* Its name, or NULL. */
const char *ub_responder_counter_name(unsigned counter);

#endif
