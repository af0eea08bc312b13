/*
 * Ethernet frames on a character device.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "qemu/main-loop.h"
#include "qemu/units.h"
#include "chardev/char-fe.h"
#include "system/runstate.h"
#include "wire/channel.h"
#include "wire/drain.h"
#include "wire/stream.h"

enum {
    /* Read at once: larger ones fall out of the processor's cache. */
    PIECE = 128 * KiB,
    /* Bytes of one turn, then others of the main loop have theirs. */
    TURN = 2 * PIECE,
    /* Room in front of a piece for the beginning of a frame cut in two. */
    HEAD = WIRE_STREAM_PREFIX + WIRE_STREAM_MAX_FRAME,
    /* Output that waits, at most: owners heed it long before; what a peer
     * asks for and never fetches must not fill the host's memory. */
    OUT_MAX = 1 * MiB,
};

struct WireStream {
    CharBackend *be;
    const WireStreamOps *ops;
    void *opaque;
    QEMUBH *bh;
    VMChangeStateEntry *vmstate;
    bool open;
    bool told;              /* what the owner believes @open to be */
    bool gone;              /* it was closed since then */
    bool bad;               /* input is ignored until it is closed */

    GByteArray *out;        /* frames that wait ... */
    size_t sent;            /* ... of which so many bytes have left */
    guint watch;

    uint8_t *in;            /* HEAD bytes, then a piece */
    size_t have;            /* bytes before the piece, of a frame cut in two */
};

/* ---- output ---- */

static void out_clear(WireStream *w)
{
    g_byte_array_set_size(w->out, 0);
    w->sent = 0;
    g_clear_handle_id(&w->watch, g_source_remove);
}

/* Write what waits.  True: nothing does any more. */
static bool out_write(WireStream *w)
{
    while (w->sent < w->out->len) {
        int n = qemu_chr_fe_write(w->be, w->out->data + w->sent,
                                  w->out->len - w->sent);

        if (n <= 0) {
            return false;
        }
        w->sent += n;
    }
    g_byte_array_set_size(w->out, 0);
    w->sent = 0;
    return true;
}

static gboolean out_room(void *do_not_use, GIOCondition cond, void *opaque)
{
    WireStream *w = opaque;

    if (!out_write(w)) {
        return G_SOURCE_CONTINUE;
    }
    w->watch = 0;
    w->ops->room(w->opaque);
    return G_SOURCE_REMOVE;
}

/* Not before the owner knows of the peer: room makes it send. */
static void out_wait(WireStream *w)
{
    if (w->open && w->told && !w->watch && w->out->len) {
        w->watch = qemu_chr_fe_add_watch(w->be, G_IO_OUT | G_IO_HUP,
                                         out_room, w);
        if (!w->watch) {
            /* No way to wait: it is closing, the bottom half will tell. */
            out_clear(w);
            w->gone = true;
            qemu_bh_schedule(w->bh);
        }
    }
}

bool wire_stream_send(WireStream *w, const uint8_t *data, size_t len)
{
    int n = 0;

    if (!w->open || w->out->len >= OUT_MAX) {
        return false;
    }
    if (!w->out->len) {
        n = MAX(qemu_chr_fe_write(w->be, data, len), 0);
        if (!w->open) {
            return false;       /* the write found out */
        }
        if (n == len) {
            return true;
        }
        w->sent = n;
    }
    g_byte_array_append(w->out, data, len);
    out_wait(w);
    return true;
}

bool wire_stream_blocked(const WireStream *w)
{
    return w->out->len;
}

bool wire_stream_connected(const WireStream *w)
{
    return w->open;
}

/* ---- input ---- */

/* Whole frames in @data; returns the bytes dealt with. */
static size_t in_frames(WireStream *w, const uint8_t *data, size_t len)
{
    size_t pos = 0;

    while (len - pos >= WIRE_STREAM_PREFIX) {
        uint32_t n = ldl_be_p(data + pos);

        if (n > WIRE_STREAM_MAX_FRAME) {
            w->bad = true;
            w->ops->bad_length(w->opaque, n);
            qemu_bh_schedule(w->bh);
            return len;
        }
        if (len - pos - WIRE_STREAM_PREFIX < n) {
            break;
        }
        w->ops->frame(w->opaque, data + pos + WIRE_STREAM_PREFIX, n);
        pos += WIRE_STREAM_PREFIX + n;
    }
    return pos;
}

/* @len new bytes are where pieces are read to. */
static bool in_take(void *opaque, const uint8_t *piece, size_t len)
{
    WireStream *w = opaque;
    const uint8_t *data = piece - w->have;
    size_t used;

    len += w->have;
    used = in_frames(w, data, len);
    w->have = len - used;
    memmove(w->in + HEAD - w->have, data + used, w->have);
    return !w->bad;
}

static int in_room(void *opaque)
{
    /* A stopped machine's memory stays as it is; the peer is held back. */
    return runstate_is_running() ? PIECE : 0;
}

/*
 * GLib takes a source's descriptors out of its poll while it is dispatched and
 * puts them back afterwards, unless it may recurse; either wakes its own event
 * descriptor, so that the next poll returns at once for nothing: a second
 * round of the main loop for each piece of input.  Nobody runs the main loop
 * from within our callbacks.
 */
static void in_source_stays(void)
{
    GSource *source = g_main_current_source();

    if (source && !g_source_get_can_recurse(source)) {
        g_source_set_can_recurse(source, true);
    }
}

static void in_read(void *opaque, const uint8_t *buf, int size)
{
    WireStream *w = opaque;
    uint8_t *piece = w->in + HEAD;

    in_source_stays();
    if (w->bad) {
        return;
    }
    memcpy(piece, buf, size);
    if (in_take(w, piece, size)) {
        wire_drain(w->be, size, piece, PIECE, TURN, in_take, w);
    }
    w->ops->turn_end(w->opaque);
}

static void vm_state(void *opaque, bool running, RunState state)
{
    WireStream *w = opaque;

    if (running) {
        qemu_chr_fe_accept_input(w->be);
        qemu_bh_schedule(w->bh);
    }
}

/* ---- connection ---- */

/*
 * Events may come out of a write, that is out of the owner's own work in any
 * thread: they are told by a bottom half.
 */
static void on_event(void *opaque, QEMUChrEvent event)
{
    WireStream *w = opaque;

    if (event == CHR_EVENT_OPENED && !w->open) {
        w->open = true;
        w->bad = false;
        w->have = 0;
        wire_nodelay(w->be);
    } else if (event == CHR_EVENT_CLOSED && w->open) {
        w->open = false;
        w->gone = true;
        out_clear(w);
    } else {
        return;
    }
    qemu_bh_schedule(w->bh);
}

static void tell(WireStream *w, bool up)
{
    if (w->told != up) {
        w->told = up;
        w->ops->link(w->opaque, up);
    }
}

static void tell_bh(void *opaque)
{
    WireStream *w = opaque;

    if (w->bad && w->open) {
        qemu_chr_fe_disconnect(w->be);
    }
    if (!runstate_is_running()) {
        return;             /* vm_state() looks again */
    }
    if (w->gone) {
        w->gone = false;
        tell(w, false);
        if (!w->out->len) {
            w->ops->room(w->opaque);
        }
    }
    tell(w, w->open);
    out_wait(w);
}

/* ---- life ---- */

WireStream *wire_stream_new(struct CharBackend *be, const WireStreamOps *ops,
                            void *opaque)
{
    WireStream *w = g_new0(WireStream, 1);

    w->be = be;
    w->ops = ops;
    w->opaque = opaque;
    w->bh = qemu_bh_new(tell_bh, w);
    w->out = g_byte_array_new();
    w->in = g_malloc(HEAD + PIECE);
    w->vmstate = qemu_add_vm_change_state_handler(vm_state, w);
    qemu_chr_fe_set_handlers(be, in_room, in_read, on_event, NULL, w, NULL,
                             true);
    return w;
}

void wire_stream_free(WireStream *w)
{
    if (!w) {
        return;
    }
    qemu_del_vm_change_state_handler(w->vmstate);
    qemu_chr_fe_set_handlers(w->be, NULL, NULL, NULL, NULL, NULL, NULL, true);
    out_clear(w);
    qemu_bh_delete(w->bh);
    g_byte_array_unref(w->out);
    g_free(w->in);
    g_free(w);
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
    w->told = !w->open;
    qemu_bh_schedule(w->bh);
    return true;
}
