/* SPDX-License-Identifier: (GPL-2.0-or-later WITH Linux-syscall-note) OR MIT */
/*
 * RC Link: TYPE1 and TYPE2 for the one program that has opened
 * /dev/rclink-<PCI address>, which needs CAP_SYS_RAWIO: the rings hold bus
 * addresses.  A port that is open refuses others (EBUSY); with the last
 * reference to the file its registers, QPs and rings are as they were before.
 *
 * mmap() at RCLINK_MAP(piece) maps a piece of memory whole, at
 * RCLINK_MAP_REGS the page with the rings' registers; MAP_SHARED.  poll() tells
 * of messages of rings that were armed (POLLIN) until read() has fetched their
 * number, 4 bytes: EINVAL where there is room for fewer, and as after any other
 * error none is lost.  POLLHUP and EIO: the device is gone.
 */
#ifndef RCLINK_UAPI_H
#define RCLINK_UAPI_H

#include <linux/ioctl.h>
#include <linux/types.h>

#define RCLINK_LOG		8	/* of the entries of TX_S and RX_M */
#define RCLINK_LOG_EVENTS	10
#define RCLINK_BUFFER		4096	/* one for each entry of these rings */

/* Pieces of memory */
#define RCLINK_PIECE_RINGS	0
#define RCLINK_PIECE_TX		1	/* buffers, as are the next */
#define RCLINK_PIECE_RX1	2
#define RCLINK_PIECE_RX2	3
#define RCLINK_PIECES		4
#define RCLINK_MAP(piece)	((piece) << 24)
#define RCLINK_MAP_REGS		(RCLINK_PIECES << 24)

/* In the rings' piece: ring n, and the index that the device writes of it */
#define RCLINK_RING_AT(n)	((n) << 14)
#define RCLINK_SHADOW_AT(n)	(0x10000 + 64 * (n))
#define RCLINK_RINGS_BYTES	0x11000
#define RCLINK_BUFFERS_BYTES	(RCLINK_BUFFER << RCLINK_LOG)

struct rclink_info {
	__u64 bus[RCLINK_PIECES];	/* address of each piece */
	__u64 limits;			/* register LIMITS */
	__u64 mac;			/* of the port, first octet on top */
};

/* A register below 0x4000, but those of TYPE3 and of resets; @qp is put into
 * QP_ID_SET before one of the windows of a QP is used. */
struct rclink_reg {
	__u32 reg;
	__u32 qp;
	__u64 value;
};

#define RCLINK_IOC_INFO		_IOR('R', 0x60, struct rclink_info)
#define RCLINK_IOC_GET		_IOWR('R', 0x61, struct rclink_reg)
#define RCLINK_IOC_SET		_IOW('R', 0x62, struct rclink_reg)

#endif
