/*
 * CRC30 of the UB data link layer (UB 2.0 §4.7.2).
 *
 * Polynomial x^30 + x^28 + x^26 + x^24 + x^23 + x^21 + x^19 + x^16 + x^14 +
 * x^11 + x^9 + x^7 + x^6 + x^4 + x^2 + 1, initial value all ones, bytes in
 * flit order with bit 7 first, result neither inverted nor reflected.
 *
 * Two levels: a plain byte-string CRC for tools and tests, and the block
 * functions that know BCRC (UB 2.0 §4.3.2.2.4, Table 4-3).  All are pure and
 * thread-safe; lengths are bytes.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef UB_CRC30_H
#define UB_CRC30_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define UB_CRC30_POLY 0x15A94AD5u /* x^30 not written */
#define UB_CRC30_MASK 0x3FFFFFFFu
#define UB_CRC30_INIT UB_CRC30_MASK

/* BCRC word: bit 31 Reserved, bit 30 ERROR_FLAG, bits 29:0 CRC30. */
#define UB_BCRC_ERROR_FLAG 0x40000000u

/*
 * What CRC30 covers in the flit that carries it.  The text says all data
 * before the CRC30 field, which includes the two information bits of BCRC;
 * hardware exists that leaves them out.
 */
typedef enum UbCrcCover {
    UB_CRC_COVER_INFO,  /* 160 * flits - 30 bits, as the text says */
    UB_CRC_COVER_BYTES, /* 160 * flits - 32 bits */
} UbCrcCover;

/* Continue @crc (UB_CRC30_INIT to start) over @len bytes at @data. */
uint32_t ub_crc30(uint32_t crc, const void *data, size_t len);

/* The same, bit by bit: slow, for reference. */
uint32_t ub_crc30_bitwise(uint32_t crc, const void *data, size_t len);

/*
 * CRC30 that belongs in the BCRC of a block of @flits flits (1 … 32) at
 * @block.  Of the last four bytes only the two information bits are looked
 * at.
 */
uint32_t ub_crc30_block(const uint8_t *block, unsigned flits,
                        UbCrcCover cover);

/* Write BCRC (Reserved 0, @error_flag, CRC30) into the last four bytes. */
void ub_crc30_seal(uint8_t *block, unsigned flits, bool error_flag,
                   UbCrcCover cover);

/* Does the CRC30 in the last four bytes fit the block? */
bool ub_crc30_check(const uint8_t *block, unsigned flits, UbCrcCover cover);

/*
 * Implementations of the block functions, best first; the first usable one is
 * taken by itself.  Names: "vpclmul", "pclmul", "slice8".
 */
const char *ub_crc30_impl(void);

/* Choose one by name for tests and benchmarks; false: not usable here. */
bool ub_crc30_select(const char *name);

#endif
