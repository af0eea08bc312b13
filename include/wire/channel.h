/*
 * The socket under a character device that carries a wire (QEMU shells only).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef WIRE_CHANNEL_H
#define WIRE_CHANNEL_H

struct CharBackend;
struct QIOChannel;

/*
 * The channel under @be, whose bytes are the stream as the front end sees it.
 * NULL if @be is no socket, is not connected, or is one whose stream is only
 * made above the channel (telnet, record and replay).  It belongs to the
 * character device and is valid until control returns to the main loop.
 */
struct QIOChannel *wire_channel(struct CharBackend *be);

/*
 * To be called when @be was opened: what is written leaves at once.  Over TCP,
 * Nagle's algorithm would hold a short record back until the one before is
 * acknowledged, which the far end delays.  No effect on other sockets.
 */
void wire_nodelay(struct CharBackend *be);

#endif
