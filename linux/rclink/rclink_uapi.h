/* SPDX-License-Identifier: GPL-2.0-or-later WITH Linux-syscall-note */
/*
 * RC Link: TYPE1 and TYPE2 for a program that has opened /dev/rclinkN, which
 * needs CAP_SYS_RAWIO: the rings hold bus addresses.
 *
 * Offset 0 of the device maps RCLINK_AREA bytes at bus address
 * rclink_info.area: rings, the indices that the device writes, buffers.  Offset
 * RCLINK_MAP_RINGS maps the rings' registers.  Of the four rings, poll() waits
 * for the messages of all that have been armed.
 */
#ifndef RCLINK_UAPI_H
#define RCLINK_UAPI_H

#include <linux/ioctl.h>
#include <linux/types.h>

#define RCLINK_LOG		8	/* of each ring's entries */
#define RCLINK_BUFFER		2048

/* In the area */
#define RCLINK_RING_AT(n)	((n) << 12)
#define RCLINK_SHADOW_AT(n)	(0x4000 + 64 * (n))
#define RCLINK_BUFFERS_AT	0x10000	/* TX, RX TYPE1, RX TYPE2 */
#define RCLINK_AREA		(RCLINK_BUFFERS_AT + \
				 3 * (RCLINK_BUFFER << RCLINK_LOG))
#define RCLINK_MAP_RINGS	0x10000000

struct rclink_info {
	__u64 area;		/* bus address */
	__u64 limits;		/* register LIMITS */
};

/* A register below 0x4000, but those of TYPE3; @qp is put into QP_ID_SET
 * before one of the windows of a QP is used. */
struct rclink_reg {
	__u32 reg;
	__u32 qp;
	__u64 value;
};

#define RCLINK_IOC_INFO		_IOR('R', 0x60, struct rclink_info)
#define RCLINK_IOC_GET		_IOWR('R', 0x61, struct rclink_reg)
#define RCLINK_IOC_SET		_IOW('R', 0x62, struct rclink_reg)

#endif
