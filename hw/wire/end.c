/*
 * A device's end of a wire of Ethernet frames.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "qemu/error-report.h"
#include "qemu/units.h"
#include "qapi/error.h"
#include "system/runstate.h"
#include "core/qemu_qdev.h"
#include "wire/end.h"

/* ---- capture ---- */

static void record(WireEnd *e, const uint8_t *frame, size_t len)
{
    if (e->capture) {
        wire_capture_frame(e->capture, qemu_clock_get_ns(QEMU_CLOCK_HOST),
                           frame, len);
    }
}

static void record_batch(WireEnd *e, const uint8_t *data, size_t len)
{
    size_t n;

    for (size_t pos = 0; e->capture && pos < len;
         pos += WIRE_STREAM_PREFIX + n) {
        n = ldl_be_p(data + pos);
        record(e, data + pos + WIRE_STREAM_PREFIX, n);
    }
}

/* Whoever stops the machine may look at the file. */
static void capture_vm_state(void *opaque, bool running, RunState state)
{
    WireEnd *e = opaque;
    int error = running ? 0 : wire_capture_flush(e->capture);

    if (error) {
        warn_report("capture=%s ends: %s", e->capture_path, strerror(error));
        g_clear_pointer(&e->capture, wire_capture_free);
        g_clear_pointer(&e->vmstate, qemu_del_vm_change_state_handler);
    }
}

static bool capture_open(WireEnd *e, Error **errp)
{
    if (e->capture_path) {
        e->capture = wire_capture_new(e->capture_path);
        if (!e->capture) {
            error_setg_file_open(errp, errno, e->capture_path);
            return false;
        }
        e->vmstate = qemu_add_vm_change_state_handler(capture_vm_state, e);
    }
    return true;
}

static void capture_close(WireEnd *e)
{
    g_clear_pointer(&e->vmstate, qemu_del_vm_change_state_handler);
    g_clear_pointer(&e->capture, wire_capture_free);
}

/* ---- sending ---- */

/*
 * Hold the device back while frames of it wait in the backend, until the last
 * has left: room for one would let in a batch.  Without a link nobody waits,
 * for nothing is sent.
 */
static void net_hold(WireEnd *e)
{
    e->ops->stop(e->dev, wire_backlog_waits(&e->backlog) &&
                         !qemu_get_queue(e->nic)->link_down);
}

static void net_sent(NetClientState *nc, ssize_t len)
{
    WireEnd *e = qemu_get_nic_opaque(nc);

    if (wire_backlog_left(&e->backlog)) {
        net_hold(e);
    }
}

static bool net_send(WireEnd *e, const uint8_t *data, size_t len)
{
    if (qemu_get_queue(e->nic)->link_down) {
        return false;
    }
    if (wire_backlog_full(&e->backlog)) {
        e->wire_full++;
        net_hold(e);    /* whoever sent has forgotten that it was */
        return false;
    }
    while (len) {
        uint32_t n = ldl_be_p(data);

        wire_backlog_send(&e->backlog, data + WIRE_STREAM_PREFIX, n,
                          net_sent);
        data += WIRE_STREAM_PREFIX + n;
        len -= WIRE_STREAM_PREFIX + n;
    }
    if (wire_backlog_waits(&e->backlog)) {
        net_hold(e);
    }
    return true;
}

static bool stream_send(WireEnd *e, const uint8_t *data, size_t len)
{
    bool ok = !e->unplugged && wire_stream_send(e->wire, data, len);

    if (wire_stream_blocked(e->wire)) {
        e->wire_full += !ok;
        e->ops->stop(e->dev, true);
    }
    return ok;
}

bool wire_end_send(WireEnd *e, const uint8_t *data, size_t len)
{
    bool ok = e->wire ? stream_send(e, data, len) : net_send(e, data, len);

    if (ok) {
        record_batch(e, data, len);
    }
    return ok;
}

void wire_end_look(WireEnd *e)
{
    if (e->wire) {
        wire_stream_look(e->wire);
    }
}

/* ---- network backend ---- */

static bool net_can_receive(NetClientState *nc)
{
    WireEnd *e = qemu_get_nic_opaque(nc);

    e->refused |= e->working;
    return !e->working;
}

static ssize_t net_receive(NetClientState *nc, const uint8_t *buf,
                           size_t size)
{
    WireEnd *e = qemu_get_nic_opaque(nc);

    record(e, buf, size);
    e->ops->frame(e->dev, buf, size);
    return size;
}

static void net_link(NetClientState *nc)
{
    WireEnd *e = qemu_get_nic_opaque(nc);

    e->ops->link(e->dev, !nc->link_down);
    net_hold(e);
}

static NetClientInfo net_info = {
    .type = NET_CLIENT_DRIVER_NIC,
    .size = sizeof(NICState),
    .can_receive = net_can_receive,
    .receive = net_receive,
    .link_status_changed = net_link,
};

void wire_end_resume(WireEnd *e)
{
    if (e->refused) {
        e->refused = false;
        qemu_flush_queued_packets(qemu_get_queue(e->nic));
    }
}

/* ---- character device ---- */

bool wire_end_guard(WireEnd *e, bool engaged)
{
    MemReentrancyGuard *g = &e->dev->mem_reentrancy_guard;
    bool was = g->engaged_in_io;

    g->engaged_in_io = engaged;
    return was;
}

static void chr_guard(void *opaque, bool on)
{
    WireEnd *e = opaque;

    if (on) {
        e->was_engaged = wire_end_guard(e, true);
    } else {
        wire_end_guard(e, e->was_engaged);
    }
}

static void chr_frame(void *opaque, const uint8_t *frame, size_t len)
{
    WireEnd *e = opaque;
    bool working = e->working;

    if (!e->unplugged) {
        record(e, frame, len);
        e->working = true;      /* answers leave at the end of the turn */
        e->ops->frame(e->dev, frame, len);
        e->working = working;
    }
}

static void chr_turn_end(void *opaque)
{
    WireEnd *e = opaque;

    e->ops->turn_end(e->dev);
}

static void chr_link(void *opaque, bool up)
{
    WireEnd *e = opaque;

    e->ops->link(e->dev, up && !e->unplugged);
}

static void chr_room(void *opaque)
{
    WireEnd *e = opaque;

    e->working = true;
    e->ops->stop(e->dev, false);
    e->working = false;
    e->ops->work(e->dev);
}

static void chr_bad_length(void *opaque, uint32_t len)
{
    WireEnd *e = opaque;

    e->wire_bad_length++;
    e->ops->broken(e->dev, "peer's frame is too long, connection closed",
                   len);
}

static void chr_broken(void *opaque, const char *rule)
{
    WireEnd *e = opaque;

    e->ops->broken(e->dev, rule, 0);
}

static const WireStreamOps stream_ops = {
    .guard = chr_guard,
    .broken = chr_broken,
    .frame = chr_frame,
    .turn_end = chr_turn_end,
    .link = chr_link,
    .room = chr_room,
    .bad_length = chr_bad_length,
};

/* ---- life ---- */

bool wire_end_check(WireEnd *e, Error **errp)
{
    if (qemu_chr_fe_backend_connected(&e->chr) && e->conf.peers.ncs[0]) {
        error_setg(errp, "the wire is either a netdev or a chardev");
        return false;
    }
    qemu_macaddr_default_if_unset(&e->conf.macaddr);
    return capture_open(e, errp);
}

void wire_end_start(WireEnd *e, DeviceState *dev, const WireEndOps *ops)
{
    e->dev = dev;
    e->ops = ops;
    if (qemu_chr_fe_backend_connected(&e->chr)) {
        e->wire = wire_stream_new(&e->chr, &stream_ops, e, e->shm);
    } else {
        e->nic = qemu_new_nic(&net_info, &e->conf,
                              object_get_typename(OBJECT(dev)), dev->id,
                              &dev->mem_reentrancy_guard, e);
        wire_backlog_init(&e->backlog, e->nic);
        qemu_format_nic_info_str(qemu_get_queue(e->nic), e->conf.macaddr.a);
    }
}

void wire_end_free(WireEnd *e)
{
    if (e->wire) {
        wire_stream_free(e->wire);
        e->wire = NULL;
    } else if (e->nic) {
        wire_backlog_fini(&e->backlog);
        qemu_del_nic(e->nic);
        e->nic = NULL;
    }
    capture_close(e);
    wire_end_post_save(e);
}

/* ---- properties of the running device ---- */

bool wire_end_link_up(const WireEnd *e)
{
    if (e->wire) {
        return wire_stream_connected(e->wire) && !e->unplugged;
    }
    return e->nic && !qemu_get_queue(e->nic)->link_down;
}

void wire_end_set_link_up(WireEnd *e, bool up, Error **errp)
{
    if (e->wire) {
        e->unplugged = !up;
        e->ops->link(e->dev, wire_end_link_up(e));
    } else if (e->nic) {
        qemu_get_queue(e->nic)->link_down = !up;
        net_link(qemu_get_queue(e->nic));
    } else {
        error_setg(errp, "link-up can be set when the device exists");
    }
}

bool wire_end_shared(const WireEnd *e)
{
    bool out = false, in = false;

    if (e->wire) {
        wire_pipe_shared(wire_stream_pipe(e->wire), &out, &in);
    }
    return out && in;
}

/* ---- migration ---- */

void wire_end_pre_save(WireEnd *e)
{
    wire_end_post_save(e);
    if (e->wire) {
        e->frames = wire_stream_save(e->wire, &e->frames_len);
    }
}

void wire_end_post_save(WireEnd *e)
{
    g_clear_pointer(&e->frames, g_free);
    e->frames_len = 0;
}

bool wire_end_post_load(WireEnd *e)
{
    bool ok = true;

    if (e->wire) {
        ok = wire_stream_load(e->wire, e->frames, e->frames_len);
        e->ops->stop(e->dev, wire_stream_blocked(e->wire));
    } else {
        net_hold(e);
    }
    wire_end_post_save(e);
    return ok;
}

void wire_end_load_link(WireEnd *e, bool up)
{
    if (e->nic) {
        qemu_get_queue(e->nic)->link_down = !up;
    }
}

bool wire_end_frames_needed(const WireEnd *e)
{
    return e->wire && wire_stream_blocked(e->wire);
}

/* A device that heeds that it is blocked has little more than one batch waiting. */
static bool frames_len_valid(void *opaque, int version_id)
{
    return ((WireEnd *)opaque)->frames_len <= 16 * MiB;
}

const VMStateDescription wire_end_vmstate_frames = {
    .name = "wire-end-frames",
    .version_id = 1,
    .minimum_version_id = 1,
    .fields = (const VMStateField[]) {
        VMSTATE_UINT32(frames_len, WireEnd),
        VMSTATE_VALIDATE("frames are too long", frames_len_valid),
        VMSTATE_VBUFFER_ALLOC_UINT32(frames, WireEnd, 1, NULL, frames_len),
        VMSTATE_END_OF_LIST()
    },
};
