/*
 * Ethernet frames on a character device (QEMU shells only).
 *
 * The bytes are those of "-netdev stream" without a virtio-net header: for each
 * frame its length in four bytes, big-endian, then the frame, without padding
 * or FCS.  So the far end may be another device with a chardev or any QEMU's
 * netdev.
 *
 * Output is one write for a whole batch.  What the pipe (wire/pipe.h) does not
 * take waits here and holds back its owner until there is room.  While the
 * machine is stopped nothing is read and no change of the link told.
 *
 * Everything is called with the BQL held.  wire_stream_send() may be called by
 * any thread; the callbacks come in the main loop's, none of them out of
 * wire_stream_send().
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef WIRE_STREAM_H
#define WIRE_STREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "wire/pipe.h"
#include "wire/qemu_names.h"

struct CharFrontend;

/* Bytes in front of a frame. */
#define WIRE_STREAM_PREFIX 4
/* Longest frame taken, that of QEMU's own netdevs (NET_BUFSIZE). */
#define WIRE_STREAM_MAX_FRAME (4096 + 65536)

typedef struct WireStreamOps {
    /* Around each turn of the main loop in which the others are called. */
    void (*guard)(void *opaque, bool on);
    /* A frame came in; the memory is the stream's.  Any length up to the
     * limit, 0 included. */
    void (*frame)(void *opaque, const uint8_t *frame, size_t len);
    /* The frames of one turn have all been handed over. */
    void (*turn_end)(void *opaque);
    /* The peer came or went.  At the beginning there is none. */
    void (*link)(void *opaque, bool up);
    /* Everything that waited has been written. */
    void (*room)(void *opaque);
    /* The peer announced a frame of @len bytes, too long: the connection is
     * about to be closed. */
    void (*bad_length)(void *opaque, uint32_t len);
    /* The peer broke a rule of the shared memory: likewise. */
    void (*broken)(void *opaque, const char *rule);
} WireStreamOps;

typedef struct WireStream WireStream;

/* Takes over @be, which must have a character device and stays the caller's
 * until wire_stream_free().  @shm as in wire_pipe_new(). */
WireStream *wire_stream_new(struct CharFrontend *be, const WireStreamOps *ops,
                            void *opaque, bool shm);
/* No callback comes any more; @be has no handlers. */
void wire_stream_free(WireStream *w);

/* As the op link last told, unless it is gone since then. */
bool wire_stream_connected(const WireStream *w);
/* For what it counts. */
const WirePipe *wire_stream_pipe(const WireStream *w);
/*
 * Send @len bytes: whole frames, each behind its length.  Bytes that must wait
 * are copied.  False: the frames are lost, because nobody is connected or
 * wire_stream_blocked() was not heeded for a MiB.
 */
bool wire_stream_send(WireStream *w, const uint8_t *data, size_t len);
/* In any thread that has the owner's lock: frames that are in shared memory come
 * now, and the op room if there is some. */
void wire_stream_look(WireStream *w);
/* Output waits: send no more until the op room. */
bool wire_stream_blocked(const WireStream *w);

/*
 * Migration: the frames that wait, from the beginning of one that was cut in
 * two, in memory to be freed with g_free() (NULL and 0 if there are none); and
 * the same at the other machine, which sends them when a peer is connected
 * (op room follows) and is told the state of the link anew.  False: @data is
 * not a list of frames.
 */
uint8_t *wire_stream_save(const WireStream *w, uint32_t *len);
bool wire_stream_load(WireStream *w, const uint8_t *data, uint32_t len);

#endif
