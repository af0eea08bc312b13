/*
 * RC Link: what a driver does, for qtest.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef LIBRCL_H
#define LIBRCL_H

#include "ncic-fixture.h"
#include "rclink/rclink_hw.h"

enum {
    RCL_LOG = 6,                /* of rings */
    RCL_ENTRIES = 1 << RCL_LOG,
    RCL_BUF = 2048,
    RCL_MDS = 32,
};

typedef struct Rcl {
    Fixture *f;
    QPCIBar bar;
    uint64_t mem;               /* rings, then buffers */
    unsigned self;              /* 0, 1: the last byte of the address */
    uint16_t tx_head, rx_head[2], rx_tail[2], ev_tail;
    uint16_t md_tx, md_rx, md_rx_tail;
} Rcl;

typedef struct RclGot {
    uint16_t len, qp;
    uint8_t flags;
    uint8_t data[RCL_BUF];
} RclGot;

/* An emulator whose device has its wire at @path, @server or not. */
Rcl *rcl_start(const char *path, bool server, unsigned self,
               const char *props, const char *more);
/* The same on a "-netdev stream". */
Rcl *rcl_start_netdev(const char *path, bool server, unsigned self,
                      const char *props);
void rcl_stop(Rcl *r);
/* Map the BAR and enable the function. */
void rcl_map(Rcl *r);
/* Enable MSI-X, all vectors masked; the BAR is mapped anew. */
void rcl_msix(Rcl *r);
uint64_t rcl_get(Rcl *r, uint64_t reg);
void rcl_set(Rcl *r, uint64_t reg, uint64_t v);
/* Wait until the link is up or down. */
void rcl_wait_link(Rcl *r, bool up);
/* Rings, buffers, MDs, addresses, format bits @format. */
void rcl_up(Rcl *r, uint64_t format);
void rcl_qp(Rcl *r, unsigned qp, unsigned peer, unsigned peer_qp,
            unsigned psn);
/* Post @len bytes from @seed on; flags of the entry. */
void rcl_post(Rcl *r, unsigned qp, unsigned len, uint8_t seed,
              uint8_t flags);
/* Wait for the next packet of TYPE1 (0) or TYPE2 (1), and whether it is what
 * rcl_post() made. */
void rcl_take(Rcl *r, unsigned type2, RclGot *got);
bool rcl_is(const RclGot *got, unsigned len, uint8_t seed);
/* TYPE3. */
void rcl_md_post(Rcl *r, const void *frame, size_t len);
size_t rcl_md_take(Rcl *r, void *frame);
/* Wait for an event of @type; others are dropped.  Its 16 bytes. */
void rcl_event_wait(Rcl *r, uint8_t type, uint8_t *event);

/* ---- properties of the device ---- */

/* "counter-@name". */
uint64_t rcl_counter(Rcl *r, const char *name);
void rcl_prop_set(Rcl *r, const char *name, unsigned value);
/* "link-up". */
void rcl_link_set(Rcl *r, bool up);

/* ---- two devices in two emulators ---- */

typedef struct RclPair {
    char *dir, *path;
    Rcl *r[2];
} RclPair;

/* Linked: by a chardev, or by "-netdev stream"; each with its own properties. */
RclPair rcl_pair_start(bool netdev, const char *first, const char *second);
void rcl_pair_stop(RclPair *p);
/* rcl_up() of both. */
void rcl_pair_up(RclPair *p, uint64_t format);
/* QP @qp of each with that of the other, both from @psn on. */
void rcl_pair_connect(RclPair *p, unsigned qp, unsigned psn);

#endif
