/*
 * Ethernet frames on a character device: framing on a pipe.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "qemu/main-loop.h"
#include "qemu/units.h"
#include "system/runstate.h"
#include "wire/chr.h"
#include "wire/stream.h"

enum {
    /* A frame, cut in two. */
    IN_MAX = WIRE_STREAM_PREFIX + WIRE_STREAM_MAX_FRAME,
    /* Output that waits, at most: owners heed it long before; what a peer
     * asks for and never fetches must not fill the host's memory. */
    OUT_MAX = 1 * MiB,
};

struct WireStream {
    WireChr *chr;
    WirePipe *pipe;
    const WireStreamOps *ops;
    void *opaque;
    VMChangeStateEntry *vmstate;
    bool up;                /* as the owner was told */
    bool retell;            /* it is to be told anew */

    GByteArray *out;        /* frames that wait ... */
    size_t sent;            /* ... of which so many bytes have left */

    uint8_t *in;            /* the beginning of a frame cut in two */
    size_t have;            /* bytes of it */
};

/* ---- output ---- */

static void out_clear(WireStream *w)
{
    g_byte_array_set_size(w->out, 0);
    w->sent = 0;
}

/* Send what waits.  True: nothing does any more. */
static bool out_send(WireStream *w)
{
    if (w->sent < w->out->len) {
        w->sent += wire_pipe_send(w->pipe, w->out->data + w->sent,
                                  w->out->len - w->sent);
    }
    if (w->sent < w->out->len) {
        return false;
    }
    out_clear(w);
    return true;
}

static void on_room(void *opaque)
{
    WireStream *w = opaque;

    if (out_send(w)) {
        w->ops->room(w->opaque);
    }
}

bool wire_stream_send(WireStream *w, const uint8_t *data, size_t len)
{
    size_t n = 0;

    if (!wire_stream_connected(w) || w->out->len >= OUT_MAX) {
        return false;
    }
    if (!w->out->len) {
        n = wire_pipe_send(w->pipe, data, len);
        if (!wire_pipe_is_open(w->pipe)) {
            return false;       /* the write found out */
        }
        if (n == len) {
            return true;
        }
        w->sent = n;
    }
    g_byte_array_append(w->out, data, len);
    return true;
}

void wire_stream_look(WireStream *w)
{
    wire_pipe_look(w->pipe, false);
}

bool wire_stream_blocked(const WireStream *w)
{
    return w->out->len;
}

bool wire_stream_connected(const WireStream *w)
{
    return w->up && wire_pipe_is_open(w->pipe);
}

/* ---- input ---- */

/* Whole frames in @data; *used tells the bytes dealt with.  False: there is one that cannot
 * be, and no more comes. */
static bool in_frames(WireStream *w, const uint8_t *data, size_t len, size_t *used)
{
    size_t pos = 0;

    while (len - pos >= WIRE_STREAM_PREFIX) {
        uint32_t n = ldl_be_p(data + pos);

        if (n > WIRE_STREAM_MAX_FRAME) {
            w->ops->bad_length(w->opaque, n);
            wire_pipe_close(w->pipe);
            return false;
        }
        if (len - pos - WIRE_STREAM_PREFIX < n) {
            break;
        }
        w->ops->frame(w->opaque, data + pos + WIRE_STREAM_PREFIX, n);
        pos += WIRE_STREAM_PREFIX + n;
    }
    *used = pos;
    return true;
}

/* Bytes of @data that the frame cut in two still lacks, its prefix first. */
static size_t lacks(const WireStream *w, size_t len)
{
    size_t all = WIRE_STREAM_PREFIX;

    if (w->have >= all) {
        all += ldl_be_p(w->in);
    }
    return MIN(all - w->have, len);
}

/* Only a frame cut in two is put together; the others stay where they are. */
static bool on_input(void *opaque, const uint8_t *data, size_t len)
{
    WireStream *w = opaque;
    size_t used, n;

    while (w->have && len) {
        n = lacks(w, len);
        memcpy(w->in + w->have, data, n);
        w->have += n;
        data += n;
        len -= n;
        if (!in_frames(w, w->in, w->have, &used)) {
            w->have = 0;
            return true;
        }
        w->have -= used;        /* all or nothing */
    }
    if (in_frames(w, data, len, &used) && used < len) {
        w->have = len - used;
        memcpy(w->in, data + used, w->have);
    }
    return true;
}

/* A stopped machine's memory stays as it is; the peer is held back. */
static bool on_ready(void *opaque)
{
    return runstate_is_running();
}

static void on_turn_end(void *opaque)
{
    WireStream *w = opaque;

    if (w->retell) {
        w->retell = false;
        w->ops->link(w->opaque, w->up);
        on_room(w);
    }
    w->ops->turn_end(w->opaque);
}

static void vm_state(void *opaque, bool running, RunState state)
{
    WireStream *w = opaque;

    if (running) {
        wire_chr_wake(w->chr);
    }
}

/* ---- connection ---- */

static void on_state(void *opaque, bool open)
{
    WireStream *w = opaque;

    w->up = open;
    w->have = 0;
    w->retell = false;
    if (!open) {
        out_clear(w);
    }
    w->ops->link(w->opaque, open);
    on_room(w);
}

static void on_broken(void *opaque, const char *rule)
{
    WireStream *w = opaque;

    w->ops->broken(w->opaque, rule);
}

static void on_guard(void *opaque, bool on)
{
    WireStream *w = opaque;

    w->ops->guard(w->opaque, on);
}

static const WirePipeOps pipe_ops = {
    .guard = on_guard,
    .ready = on_ready,
    .state = on_state,
    .input = on_input,
    .turn_end = on_turn_end,
    .room = on_room,
    .broken = on_broken,
};

/* ---- life ---- */

WireStream *wire_stream_new(struct CharFrontend *be, const WireStreamOps *ops,
                            void *opaque, bool shm)
{
    WireStream *w = g_new0(WireStream, 1);

    w->ops = ops;
    w->opaque = opaque;
    w->out = g_byte_array_new();
    w->in = g_malloc(IN_MAX);
    w->vmstate = qemu_add_vm_change_state_handler(vm_state, w);
    w->chr = wire_chr_new(be, qemu_get_aio_context(), NULL, &pipe_ops, w, shm);
    w->pipe = wire_chr_pipe(w->chr);
    wire_chr_start(w->chr);
    return w;
}

void wire_stream_free(WireStream *w)
{
    if (!w) {
        return;
    }
    qemu_del_vm_change_state_handler(w->vmstate);
    wire_chr_free(w->chr);
    g_byte_array_unref(w->out);
    g_free(w->in);
    g_free(w);
}

const WirePipe *wire_stream_pipe(const WireStream *w)
{
    return w->pipe;
}

/* ---- migration ---- */

uint8_t *wire_stream_save(const WireStream *w, uint32_t *len)
{
    size_t pos = 0;

    *len = 0;
    while (pos < w->out->len) {
        size_t end = pos + WIRE_STREAM_PREFIX + ldl_be_p(w->out->data + pos);

        if (end > w->sent) {
            *len = w->out->len - pos;
            return g_memdup2(w->out->data + pos, *len);
        }
        pos = end;
    }
    return NULL;
}

bool wire_stream_load(WireStream *w, const uint8_t *data, uint32_t len)
{
    size_t pos = 0;

    out_clear(w);
    while (pos < len) {
        if (len - pos < WIRE_STREAM_PREFIX ||
            ldl_be_p(data + pos) > WIRE_STREAM_MAX_FRAME ||
            ldl_be_p(data + pos) > len - pos - WIRE_STREAM_PREFIX) {
            return false;
        }
        pos += WIRE_STREAM_PREFIX + ldl_be_p(data + pos);
    }
    g_byte_array_append(w->out, data, len);
    w->retell = true;
    wire_chr_wake(w->chr);
    return true;
}
