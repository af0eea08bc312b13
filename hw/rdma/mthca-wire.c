/*
 * ncic-mthca: what its end of the wire and its engine do with each other.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "qemu/osdep.h"
#include "system/runstate.h"
#include "mthca-pci.h"
#include "trace.h"

/* ---- a turn ---- */

void mthca_work(NcicMthca *s, unsigned packets)
{
    int64_t now = rdma_shell_now(), next;

    if (!runstate_is_running()) {
        return;     /* mthca_vm_state() looks again */
    }
    s->end.working = true;
    s->kicked = false;
    s->ack_waits = false;
    s->burst = 0;
    next = rdma_poll_some(mthca_rdma(s->core), now, packets);
    s->end.working = false;
    wire_end_resume(&s->end);
    rdma_shell_next(s->bh, s->timer, now, s->kicked ? now : next);
}

/* ---- sending ---- */

/* The whole batch is one write: the core left room for the lengths. */
bool mthca_wire_tx(void *opaque, const struct iovec *frames, unsigned n)
{
    NcicMthca *s = opaque;
    uint8_t *data = (uint8_t *)frames[0].iov_base - WIRE_STREAM_PREFIX;
    size_t len = 0;

    QEMU_BUILD_BUG_ON(WIRE_STREAM_PREFIX != RDMA_TX_HEADROOM);
    for (unsigned i = 0; i < n; i++) {
        stl_be_p(data + len, frames[i].iov_len);
        len += WIRE_STREAM_PREFIX + frames[i].iov_len;
    }
    return wire_end_send(&s->end, data, len);
}

/* ---- receiving ---- */

static void mthca_end_frame(void *opaque, const uint8_t *frame, size_t len)
{
    NcicMthca *s = opaque;

    rdma_rx_frame(mthca_rdma(s->core), frame, len, rdma_shell_now());
    if (s->end.wire && ++s->burst == MTHCA_BURST) {
        mthca_work(s, MTHCA_TURN);
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

static void mthca_end_turn_end(void *opaque)
{
    NcicMthca *s = opaque;

    if (!rdma_only_ack(mthca_rdma(s->core))) {
        mthca_work(s, MTHCA_TURN);
    } else {
        mthca_ack_later(s);
    }
}

/* ---- the link ---- */

static void mthca_end_link(void *opaque, bool up)
{
    NcicMthca *s = opaque;
    bool was = wire_end_guard(&s->end, true);

    trace_mthca_wire(mthca_id(s), up);
    mthca_link_set(s->core, up);
    rdma_qmp_port(s->qmp);
    wire_end_guard(&s->end, was);
}

static void mthca_end_stop(void *opaque, bool stop)
{
    NcicMthca *s = opaque;

    rdma_wire_stop(mthca_rdma(s->core), stop);
}

static void mthca_end_work(void *opaque)
{
    mthca_work(opaque, MTHCA_TURN);
}

static void mthca_end_broken(void *opaque, const char *text, uint32_t value)
{
    NcicMthca *s = opaque;

    s->cfg.rdma.ops->log(opaque, value, "wire", text);
}

static const WireEndOps mthca_end_ops = {
    .frame = mthca_end_frame,
    .turn_end = mthca_end_turn_end,
    .link = mthca_end_link,
    .stop = mthca_end_stop,
    .work = mthca_end_work,
    .broken = mthca_end_broken,
};

void mthca_wire_init(NcicMthca *s)
{
    wire_end_start(&s->end, DEVICE(s), &mthca_end_ops);
    mthca_link_set(s->core, wire_end_link_up(&s->end));
}
