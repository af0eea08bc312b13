/*
 * Capture of a UB controller's ports in pcapng files.
 *
 * A file has one interface for each port, of link type LINKTYPE_USER0, with
 * time stamps in nanoseconds.  A record is a pseudo header and what was seen:
 *
 *   byte 0    version, 1
 *   byte 1    kind: 0 packet, 1 block, 2 training set (UbCaptureKind)
 *   byte 2    flags (UB_CAPTURE_F_*)
 *   byte 3    port
 *   byte 4    packet and DLLDB: VL; training set: lane
 *   byte 5    packet and block: CFG
 *   bytes 6-7 big-endian; block: flits; training set: how often it was seen
 *             in a row, at most 65535
 *   byte 8 …  the packet without LPH and tail, the block, or the 16 symbols
 *
 * The direction is in the flags word of the record, too.  Writing never fails
 * for the caller: after the first error nothing more is written.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef UB_CAPTURE_H
#define UB_CAPTURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define UB_CAPTURE_VERSION 1
#define UB_CAPTURE_HEADER 8
#define UB_CAPTURE_LINKTYPE 147 /* LINKTYPE_USER0 */

typedef enum UbCaptureKind {
    UB_CAPTURE_PACKET,
    UB_CAPTURE_BLOCK,
    UB_CAPTURE_TRAINING,
} UbCaptureKind;

#define UB_CAPTURE_F_SENT 0x01  /* else received */
#define UB_CAPTURE_F_BCRC 0x02  /* block: it ends with a BCRC that fits it */
#define UB_CAPTURE_F_FIRST 0x04 /* DLLDB: starts with an LPH */
#define UB_CAPTURE_F_LATER 0x08 /* DLLDB: starts with an LBH; with neither
                                 * flag the place in the DLLDP is not known,
                                 * as after a Retry_Ack */

typedef struct UbCapture UbCapture;

/*
 * Begin the file @path.  @name names the controller; @base is added to each
 * time, for example to turn a clock into nanoseconds since 1970.  NULL, with
 * errno set, when the file cannot be opened.
 */
UbCapture *ub_capture_new(const char *path, const char *name, unsigned ports,
                          int64_t base);

/* NULL is ignored. */
void ub_capture_free(UbCapture *c);

/* Hand what is buffered to the file.  Returns 0, or the errno value of the
 * error that ended the capture; each error is told once. */
int ub_capture_flush(UbCapture *c);

/* A packet at the upper edge of the data link layer. */
void ub_capture_packet(UbCapture *c, int64_t now, unsigned port, bool sent,
                       unsigned cfg, unsigned vl, const uint8_t *data,
                       size_t len);

/* @flits flits of 20 bytes that begin with a DLLDB or DLLCB. */
void ub_capture_block(UbCapture *c, int64_t now, unsigned port, bool sent,
                      const uint8_t *block, unsigned flits);

/* A training set, seen @n times in a row. */
void ub_capture_training(UbCapture *c, int64_t now, unsigned port, bool sent,
                         unsigned lane, const uint8_t ltb[16], unsigned n);

#endif
