/*
 * A device's end of a wire of Ethernet frames: a network backend or a character
 * device, by the device's properties (QEMU shells only).
 *
 * Everything is called with the BQL held.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef WIRE_END_H
#define WIRE_END_H

#include "chardev/char-fe.h"
#include "migration/vmstate.h"
#include "net/net.h"
#include "wire/backlog.h"
#include "wire/capture.h"
#include "wire/stream.h"

/* Given by the device. */
typedef struct WireEndOps {
    /* A frame came in; the memory is the wire's.  `working` is true within, if
     * it is a character device that calls. */
    void (*frame)(void *opaque, const uint8_t *frame, size_t len);
    /* The frames of one turn of a character device have been handed over. */
    void (*turn_end)(void *opaque);
    /* The link, as the device sees it. */
    void (*link)(void *opaque, bool up);
    /* The wire takes no more, or does again. */
    void (*stop)(void *opaque, bool stop);
    /* Work on after a stop of a character device. */
    void (*work)(void *opaque);
    /* The peer broke a rule; the connection goes.  @value is what it sent, or
     * 0. */
    void (*broken)(void *opaque, const char *text, uint32_t value);
} WireEndOps;

typedef struct WireEnd {
    /* properties */
    NICConf conf;
    CharFrontend chr;
    bool shm;
    char *capture_path;         /* file for the frames, both ways */

    /* The device is in its engine: no frame of a network backend may come, as
     * one that answers from within our own transmission would.  Who clears it
     * calls wire_end_resume(). */
    bool working;
    uint64_t wire_bad_length;   /* connections closed for garbage */
    uint64_t wire_full;         /* batches lost, as too much waited already */

    /* The rest is private. */
    const WireEndOps *ops;
    DeviceState *dev;           /* and opaque of the ops */
    NICState *nic;              /* one of two, with what waits in it */
    WireBacklog backlog;
    WireStream *wire;           /* the other */
    bool unplugged;             /* by link-up */
    bool was_engaged;           /* before the wire's turn */
    bool refused;               /* a frame came, and must wait */
    WireCapture *capture;
    VMChangeStateEntry *vmstate;
    /* migration: frames that wait, while they travel */
    uint32_t frames_len;
    uint8_t *frames;
} WireEnd;

#define DEFINE_WIRE_END_PROPERTIES(state, end)                              \
    DEFINE_NIC_PROPERTIES(state, end.conf),                                 \
    DEFINE_PROP_CHR("chardev", state, end.chr),                             \
    DEFINE_PROP_BOOL("shm", state, end.shm, true),                          \
    DEFINE_PROP_STRING("capture", state, end.capture_path)

/* ---- life ---- */

/* First of all, when the device is realized: both kinds cannot be, the file
 * must open.  If the device does not come after all, wire_end_free(). */
bool wire_end_check(WireEnd *e, Error **errp);
/* The op link does not come at once: wire_end_link_up() tells. */
void wire_end_start(WireEnd *e, DeviceState *dev, const WireEndOps *ops);
void wire_end_free(WireEnd *e);

/* ---- data ---- */

/*
 * Send @len bytes: whole frames, each behind its length (32 bits, big-endian).
 * False: they are lost: nobody is there, or about a MiB waits already.  The op
 * stop may come.
 */
bool wire_end_send(WireEnd *e, const uint8_t *data, size_t len);
/*
 * By a processor that is in the device: frames that are in shared memory need not wait for
 * the main loop.  Nothing but the op turn_end, which is left out, differs from its turn.
 */
void wire_end_look(WireEnd *e);
/* `working` is false again: let frames come that had to wait. */
void wire_end_resume(WireEnd *e);
/*
 * A character device calls from the main loop without the guard that memory and
 * network have against a device that addresses itself; the same for others that
 * do.  What it was.
 */
bool wire_end_guard(WireEnd *e, bool engaged);

/* ---- properties of the running device ---- */

bool wire_end_link_up(const WireEnd *e);
/* A flap that the backend knows nothing of; the op link comes. */
void wire_end_set_link_up(WireEnd *e, bool up, Error **errp);
/* Shared memory carries both directions. */
bool wire_end_shared(const WireEnd *e);

/* ---- migration ---- */

void wire_end_pre_save(WireEnd *e);
void wire_end_post_save(WireEnd *e);
/* Frames came along, or none: false if they are no frames.  The op stop tells
 * whether they have to wait. */
bool wire_end_post_load(WireEnd *e);
/* The link's state travels with the guest, as that of other NICs; that of a
 * character device is whether somebody is connected here. */
void wire_end_load_link(WireEnd *e, bool up);
/* Frames that a stalled peer at a character device did not take yet. */
bool wire_end_frames_needed(const WireEnd *e);

/* Those frames. */
extern const VMStateDescription wire_end_vmstate_frames;

#define VMSTATE_WIRE_END_FRAMES(end, state)                                 \
    VMSTATE_STRUCT(end, state, 1, wire_end_vmstate_frames, WireEnd)

#endif
