/*
 * RC Link ports on a wire in virtual time, and what a driver does with them.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef RCLINK_RIG_H
#define RCLINK_RIG_H

#include <glib.h>

#include "core/bytes.h"
#include "rclink/rclink.h"
#include "rclink/rclink_hw.h"

enum {
    RIG_ENDS = 4,
    RIG_LOG = 10,               /* of rings */
    RIG_BUFFER = 8192,          /* bytes of a buffer */
    RIG_MDS = 64,
    /* guest memory */
    RIG_RING = 0x00000,         /* + ring * 0x10000 */
    RIG_MD_TX = 0x40000,
    RIG_MD_RX = 0x50000,
    RIG_SHADOW = 0x60000,       /* + ring * 4 */
    RIG_TX_BUF = 0x100000,
    RIG_RX1_BUF = 0x900000,
    RIG_RX2_BUF = 0x1100000,
    RIG_MD_BUF = 0x1900000,
    RIG_MEM = 0x1b00000,
    RIG_FRAMES = 4096,
};

typedef struct Rig Rig;

/* What came out of RX_M. */
typedef struct RigPacket {
    uint16_t len, qp, sa;
    uint8_t flags;
    const uint8_t *data;
} RigPacket;

typedef struct RigEvent {
    uint8_t type, flags;
    uint16_t qp;
    uint32_t a;
    uint64_t b;
} RigEvent;

typedef struct RigEnd {
    Rig *rig;
    Rclink *d;
    RclinkConfig cfg;
    uint8_t *mem;
    bool kicked, keep_errors;
    int64_t next;
    uint32_t msix[RCL_VECTORS];
    uint32_t errors;
    char error[128];            /* the last one of the driver */
    bool full;                  /* the wire, with what it takes next */
    bool dma_fails;
    bool unreachable;           /* all goes by copies */
    unsigned reached;           /* pieces that did not */
    unsigned frames[2];         /* that came, that left, as whoever looks is told */
    uint64_t fail_at;           /* this address alone, if not 0 ... */
    size_t fail_len;            /* ... and with this length, if not 0 */
    GQueue *out;                /* GBytes: frames on the wire */
    GQueue *sent;               /* and all that were ever sent, if kept */
    bool keep;
    uint16_t tx_head, rx_head[2], rx_tail[2], ev_tail;
    uint16_t md_tx, md_rx, md_rx_tail;
} RigEnd;

struct Rig {
    RigEnd e[RIG_ENDS];
    unsigned n;
    int64_t now;
    /* A frame on its way: false = lost; may be NULL. */
    bool (*pass)(Rig *r, unsigned from, const uint8_t *frame, size_t len);
    void *pass_opaque;
    GRand *rand;
};

/* @n ports after the reset, linked; @cfg may be NULL. */
Rig *rig_new(unsigned n, const RclinkConfig *cfg);
void rig_free(Rig *r);

uint64_t rig_get(RigEnd *e, uint64_t reg);
void rig_set(RigEnd *e, uint64_t reg, uint64_t v);
/* Rings with buffers, MDs, format bits @format of AFH_CFG_EN, addresses. */
void rig_up(RigEnd *e, uint64_t format);
/* A QP from @qp of @e to @peer_qp of @peer at @psn, with P_key 5a both ways. */
void rig_qp(RigEnd *e, unsigned qp, RigEnd *peer, unsigned peer_qp,
            unsigned psn);
/* Both directions. */
void rig_connect(Rig *r, unsigned qp, unsigned psn);

/* Post a packet of TYPE1 or TYPE2: byte i is @seed + i. */
void rig_post(RigEnd *e, unsigned qp, size_t len, uint8_t seed,
              uint8_t flags);
/* The next packet from RX_M of TYPE1 (0) or TYPE2 (1); its buffer is given
 * back with the one after it. */
bool rig_take(RigEnd *e, unsigned type2, RigPacket *p);
/* Whether it holds the bytes that rig_post() makes. */
bool rig_is(const RigPacket *p, size_t len, uint8_t seed);
bool rig_event(RigEnd *e, RigEvent *ev);
/* Take events until one of @type; false: there is none. */
bool rig_event_of(RigEnd *e, uint8_t type, RigEvent *ev);
/* Drop all events; how many of @type. */
unsigned rig_events(RigEnd *e, uint8_t type);

/* TYPE3: post a frame, take one (its length; 0: none). */
void rig_md_post(RigEnd *e, const uint8_t *frame, size_t len);
size_t rig_md_take(RigEnd *e, uint8_t *frame);

/* Let everybody work until nobody wants to any more, without time passing. */
void rig_settle(Rig *r);
/* Let @ns pass. */
void rig_pass(Rig *r, int64_t ns);
/* A frame from outside into @e. */
void rig_inject(RigEnd *e, const uint8_t *frame, size_t len);
/* The next frame that @e put on the wire, taken off it; NULL: none.  For rigs
 * of one end; to be unreferenced. */
GBytes *rig_frame(RigEnd *e);
/* Assert that the driver made @n errors, and forget them. */
#define rig_expect_errors(e, n) do {                                        \
        g_assert_cmpuint((e)->errors, ==, n);                               \
        (e)->errors = 0;                                                    \
    } while (0)

/* Bytes written as hexadecimal, blanks ignored: their number. */
size_t rig_hex(const char *text, uint8_t *out);

#endif
