/*
 * ncic-mthca: the wire, a network backend or a character device.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "qemu/osdep.h"
#include "mthca-pci.h"
#include "trace.h"

/* ---- sending ---- */

/* The whole batch is one write: the core left room for the lengths. */
static bool mthca_stream_tx(NcicMthca *s, const struct iovec *frames,
                            unsigned n)
{
    uint8_t *data = (uint8_t *)frames[0].iov_base - WIRE_STREAM_PREFIX;
    size_t len = 0;
    bool ok;

    QEMU_BUILD_BUG_ON(WIRE_STREAM_PREFIX != RDMA_TX_HEADROOM);
    for (unsigned i = 0; i < n; i++) {
        stl_be_p(data + len, frames[i].iov_len);
        len += WIRE_STREAM_PREFIX + frames[i].iov_len;
    }
    ok = wire_stream_send(s->wire, data, len);
    if (wire_stream_blocked(s->wire)) {
        rdma_wire_stop(mthca_rdma(s->core), true);
    }
    return ok;
}

bool mthca_wire_tx(void *opaque, const struct iovec *frames, unsigned n)
{
    NcicMthca *s = opaque;
    NetClientState *nc;

    if (s->wire) {
        return !s->unplugged && mthca_stream_tx(s, frames, n);
    }
    nc = qemu_get_queue(s->nic);
    if (nc->link_down) {
        return false;
    }
    for (unsigned i = 0; i < n; i++) {
        qemu_send_packet(nc, frames[i].iov_base, frames[i].iov_len);
    }
    return true;
}

/* ---- wire: network backend ---- */

/* A backend may answer from within our own transmission. */
static bool mthca_can_receive(NetClientState *nc)
{
    NcicMthca *s = qemu_get_nic_opaque(nc);

    s->refused |= s->working;
    return !s->working;
}

static ssize_t mthca_receive(NetClientState *nc, const uint8_t *buf,
                             size_t size)
{
    NcicMthca *s = qemu_get_nic_opaque(nc);

    rdma_rx_frame(mthca_rdma(s->core), buf, size, rdma_shell_now());
    return size;
}

static void mthca_link_status(NetClientState *nc)
{
    NcicMthca *s = qemu_get_nic_opaque(nc);

    mthca_link_set(s->core, !nc->link_down);
    rdma_qmp_port(s->qmp);
}

static NetClientInfo mthca_net_info = {
    .type = NET_CLIENT_DRIVER_NIC,
    .size = sizeof(NICState),
    .can_receive = mthca_can_receive,
    .receive = mthca_receive,
    .link_status_changed = mthca_link_status,
};

/* ---- wire: character device ---- */

/*
 * The character device calls from the main loop without the guard that memory
 * and network have against a device that addresses itself.
 */
static bool mthca_guard(NcicMthca *s, bool engaged)
{
    MemReentrancyGuard *g = &DEVICE(s)->mem_reentrancy_guard;
    bool was = g->engaged_in_io;

    g->engaged_in_io = engaged;
    return was;
}

static void mthca_stream_guard(void *opaque, bool on)
{
    NcicMthca *s = opaque;

    if (on) {
        s->was_engaged = mthca_guard(s, true);
    } else {
        mthca_guard(s, s->was_engaged);
    }
}

static void mthca_stream_frame(void *opaque, const uint8_t *frame, size_t len)
{
    NcicMthca *s = opaque;
    bool working = s->working;

    if (!s->unplugged) {
        s->working = true;      /* answers leave at the end of the turn */
        rdma_rx_frame(mthca_rdma(s->core), frame, len, rdma_shell_now());
        s->working = working;
    }
}

/*
 * Each frame of its own wakes the peer's main loop, which competes with the
 * guests' processors for the host's: an ACK travels along with what a doorbell
 * sends, if one is likely to come.
 */
static void mthca_ack_later(NcicMthca *s)
{
    if (!s->ack_waits) {
        s->ack_waits = true;
        s->input_at = rdma_shell_now();
    }
    if (s->answers) {
        timer_mod_anticipate_ns(s->timer, s->input_at + MTHCA_ANSWER_NS);
    } else {
        qemu_bh_schedule(s->bh);    /* a doorbell may be faster */
    }
}

static void mthca_stream_turn_end(void *opaque)
{
    NcicMthca *s = opaque;

    if (!rdma_only_ack(mthca_rdma(s->core))) {
        mthca_work(s, MTHCA_TURN);
    } else {
        mthca_ack_later(s);
    }
}

/* @plugged: there is a peer. */
void mthca_link_update(NcicMthca *s, bool plugged)
{
    bool up = plugged && !s->unplugged;
    bool was = mthca_guard(s, true);

    trace_mthca_wire(mthca_id(s), plugged, up);
    mthca_link_set(s->core, up);
    rdma_qmp_port(s->qmp);
    mthca_guard(s, was);
}

static void mthca_stream_link(void *opaque, bool up)
{
    mthca_link_update(opaque, up);
}

static void mthca_stream_room(void *opaque)
{
    NcicMthca *s = opaque;

    s->working = true;
    rdma_wire_stop(mthca_rdma(s->core), false);
    s->working = false;
    mthca_work(s, MTHCA_TURN);
}

static void mthca_stream_bad_length(void *opaque, uint32_t len)
{
    NcicMthca *s = opaque;

    s->wire_bad_length++;
    mthca_op_log(s, "wire", "peer's frame is too long, connection closed",
                 len);
}

static void mthca_stream_broken(void *opaque, const char *rule)
{
    mthca_op_log(opaque, "wire", rule, 0);
}

static const WireStreamOps mthca_stream_ops = {
    .guard = mthca_stream_guard,
    .broken = mthca_stream_broken,
    .frame = mthca_stream_frame,
    .turn_end = mthca_stream_turn_end,
    .link = mthca_stream_link,
    .room = mthca_stream_room,
    .bad_length = mthca_stream_bad_length,
};

/* ---- life ---- */

void mthca_wire_init(NcicMthca *s)
{
    if (qemu_chr_fe_backend_connected(&s->chr)) {
        mthca_link_set(s->core, false);
        s->wire = wire_stream_new(&s->chr, &mthca_stream_ops, s, s->shm);
    } else {
        s->nic = qemu_new_nic(&mthca_net_info, &s->conf,
                              object_get_typename(OBJECT(s)), DEVICE(s)->id,
                              &DEVICE(s)->mem_reentrancy_guard, s);
        qemu_format_nic_info_str(qemu_get_queue(s->nic), s->conf.macaddr.a);
    }
}

void mthca_wire_fini(NcicMthca *s)
{
    if (s->wire) {
        wire_stream_free(s->wire);
        s->wire = NULL;
    } else {
        qemu_del_nic(s->nic);
        s->nic = NULL;
    }
}
