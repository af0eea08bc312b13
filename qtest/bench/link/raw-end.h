/*
 * Raw packets as fast as they go, by the rings of ubc's port 0.
 *
 * The payload lies in guest memory once and descriptors are posted again and again, so
 * that the device and the wire are measured and not qtest.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef BENCH_RAW_END_H
#define BENCH_RAW_END_H

#include "../../link/ubc-driver.h"

#define RAW_BUF 0x4000u         /* longest packet */

typedef struct RawEnd {
    QUbc *ubc;
    uint16_t told[2];           /* ring heads that ubc knows of: TX, RX */
    uint64_t packets, bytes;    /* received */
} RawEnd;

/* Rings and receive buffers of a device whose rings are off; the port is enabled. */
void raw_open(RawEnd *e, QUbc *d);
/* At most @n packets of @len bytes, as many as the ring has room for. */
unsigned raw_send(RawEnd *e, unsigned n, uint32_t len);
/* Packets that have come since. */
unsigned raw_reap(RawEnd *e);

#endif
