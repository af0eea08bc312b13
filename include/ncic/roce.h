/*
 * NCIC NIC: the RoCE arbiter and framing (ETH 5.4.3 - 5.4.5), and the interface
 * by which an RDMA engine attaches to it.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef NCIC_ROCE_H
#define NCIC_ROCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Ethernet + IPv4 + UDP headers in front of the payload. */
#define NCIC_ROCE_HEADROOM      42u
#define NCIC_ROCE_DESC_SIZE     24u     /* 192 bits, table 5-4 */
#define NCIC_ROCE_DTYP          0xf

/*
 * Frame descriptor.  MAC addresses are in wire order; IPv4 addresses are host
 * integers (10.0.0.1 is 0x0a000001).
 */
typedef struct NcicRoceDesc {
    uint16_t length;            /* UDP payload bytes */
    uint8_t smac[6];
    uint8_t dmac[6];
    uint32_t sip;
    uint32_t dip;
} NcicRoceDesc;

/* What the RDMA engine gives the arbiter. */
typedef struct NcicRoceSink {
    /*
     * A checked frame's UDP payload (from the BTH on); valid during the call.
     * Returns false if it cannot be taken now (FIFO full): reception is held
     * back until ncic_roce_rx_resume().
     */
    bool (*rx)(void *opaque, const NcicRoceDesc *d, const uint8_t *payload);
    /* ncic_roce_tx() may be tried again.  Optional. */
    void (*tx_ready)(void *opaque);
    /*
     * Optional, instead of rx: every frame of the wire is offered whole, before
     * all checks, because the ICRC covers the headers and address resolution
     * needs ARP.  Returns true if it was a RoCE frame and so is consumed.
     */
    bool (*frame)(void *opaque, const uint8_t *frame, size_t len);
} NcicRoceSink;

struct NcicEth;

/* Attaches (or with NULL detaches) the RDMA engine.  Without one, RoCE frames
 * are ordinary Ethernet frames. */
void ncic_roce_attach(struct NcicEth *e, const NcicRoceSink *sink,
                      void *opaque);

/*
 * Sends one RoCE frame.  @frame has NCIC_ROCE_HEADROOM bytes for the headers,
 * which are written here, then @d->length payload bytes, and room for padding
 * up to 60 bytes in all.  Returns false if the wire is busy: keep the frame,
 * tx_ready follows.  A link that is down takes and drops frames (counted).
 */
bool ncic_roce_tx(struct NcicEth *e, const NcicRoceDesc *d, uint8_t *frame);

/* The sink takes payloads again. */
void ncic_roce_rx_resume(struct NcicEth *e);

/* Writes the 42 header bytes of table 5-6 and 5-7 with both checksums. */
void ncic_roce_build(uint8_t *frame, const NcicRoceDesc *d, uint16_t ip_id);

/* Is this frame the arbiter's (ETH 5.4.5): IPv4 without options or tag, UDP,
 * both ports 4791? */
bool ncic_roce_match(const uint8_t *frame, size_t len);

/* Lengths and checksums of a matching frame (ETH 5.4.4); fills @d. */
bool ncic_roce_check(const uint8_t *frame, size_t len, bool need_csum,
                     NcicRoceDesc *d);

/* The 192-bit form of table 5-4, bit 0 first. */
void ncic_roce_desc_pack(uint8_t out[NCIC_ROCE_DESC_SIZE],
                         const NcicRoceDesc *d);
/* False if DTYP is not that of RoCE. */
bool ncic_roce_desc_unpack(NcicRoceDesc *d,
                           const uint8_t in[NCIC_ROCE_DESC_SIZE]);

#endif
