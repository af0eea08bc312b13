/* SPDX-License-Identifier: GPL-2.0-or-later OR MIT */
/*
 * librclink: what its files share.
 */
#ifndef LIBRCLINK_INTERNAL_H
#define LIBRCLINK_INTERNAL_H

#include "librclink.h"
#include "rclink/rclink_hw.h"
#include "rclink_uapi.h"

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "rings and registers are little-endian"
#endif

struct rclink {
	int fd;
	uint64_t limits, mac;
	volatile uint32_t *regs;	/* of the rings */
	size_t regs_bytes;
	uint8_t *rings;
	uint8_t *buffers[3];		/* TX, RX TYPE1, RX TYPE2 */
	/* our own index of each ring, and as the device knows it */
	uint16_t mine[RCL_RINGS], told[RCL_RINGS];
	uint16_t done[RCL_RINGS];	/* RX: messages that were taken */
	uint8_t held[RCL_RINGS];	/* RX: the last one is still looked at */
};

/* Rings are in use and empty: give the entries their buffers, and those that
 * receive to the device. */
void lib_rings_init(struct rclink *rc, const struct rclink_info *info);

#endif
