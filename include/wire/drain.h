/*
 * Reading a byte stream from a character device in large pieces (QEMU shells
 * only).
 *
 * QEMU hands input to a front end by a callback with at most CHR_READ_BUF_LEN
 * (4096) bytes, and polls all of its descriptors between two callbacks.  A
 * front end that carries traffic calls wire_drain() at the end of its read
 * callback, which takes the rest straight from the socket.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef WIRE_DRAIN_H
#define WIRE_DRAIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct CharBackend;

/*
 * Gets @len > 0 bytes of the stream, which belong to the caller of
 * wire_drain() and are overwritten after the call.  False: stop reading.  It
 * must not disconnect or detach the character device.
 */
typedef bool WireTake(void *opaque, const uint8_t *data, size_t len);

/*
 * Call it in the read callback of @be, after the @got bytes of that callback
 * were dealt with, in the same thread; its can_read must offer at least
 * CHR_READ_BUF_LEN.  Reads pieces of up to @size bytes into
 * @buf and hands each to @take, until the socket is empty, @take says so, or
 * at least @budget bytes were read; the next callback then brings the rest.
 *
 * Returns the bytes read: 0 when there was nothing left, and for character
 * devices that are no plain sockets, which keep to their callbacks.  The end
 * of the stream and errors are left for the character device to find, which
 * then closes as ever.
 */
size_t wire_drain(struct CharBackend *be, size_t got, uint8_t *buf,
                  size_t size, size_t budget, WireTake *take, void *opaque);

#endif
