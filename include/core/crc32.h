/*
 * CRC32 of IEEE 802.3 (polynomial 04c11db7, reflected), which Ethernet, the
 * ICRC of RoCEv2 and the ICRC of UB (UB 2.0 §5.2.6) have in common.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef CORE_CRC32_H
#define CORE_CRC32_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Continue the CRC over @len bytes.  Start with 0xffffffff; the CRC of the
 * whole is the complement of the result.
 */
uint32_t core_crc32(uint32_t crc, const void *buf, size_t len);
/*
 * The same over @head, whose length is a multiple of 16, and @len bytes at @buf,
 * as if they lay behind each other.
 */
uint32_t core_crc32_head(uint32_t crc, const void *head, size_t head_len,
                         const void *buf, size_t len);
/* The same over the eight bytes @ahead, or none if it is NULL, and @len bytes at
 * @src, which are copied to @dst meanwhile.  They must not overlap. */
uint32_t core_crc32_copy(uint32_t crc, const void *ahead, void *dst,
                         const void *src, size_t len);
/* The portable version of the same, for short pieces, tests and other
 * processors. */
uint32_t core_crc32_generic(uint32_t crc, const void *buf, size_t len);

/* For tests and measurements: the way to calculate, "tables", "clmul",
 * "vpclmul", "zpclmul", "gfni", or NULL for the fastest.  False: this processor has
 * it not. */
bool core_crc32_use(const char *name);

#endif
