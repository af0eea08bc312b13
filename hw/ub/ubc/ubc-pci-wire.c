/*
 * ubc: the byte streams of its ports.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "qemu/osdep.h"
#include "qemu/log.h"
#include "ubc-pci.h"
#include "trace.h"

void ubc_pci_peer_error(void *opaque, unsigned port, const char *what)
{
    UbcPci *s = opaque;

    trace_ubc_peer_error(ubc_pci_id(s), port, what);
    qemu_log_mask(LOG_GUEST_ERROR, "%s: port %u: peer: %s\n", ubc_pci_id(s),
                  port, what);
}

size_t ubc_pci_wire_send(void *opaque, unsigned port, const uint8_t *data,
                         size_t len)
{
    UbcPci *s = opaque;
    UbcWire *p = &s->port[port];

    return p->chr_wire ? wire_pipe_send(wire_chr_pipe(p->chr_wire), data, len)
                       : 0;
}

void ubc_pci_wire_close(void *opaque, unsigned port)
{
    UbcPci *s = opaque;

    wire_pipe_close(wire_chr_pipe(s->port[port].chr_wire));
}

static void on_pipe_guard(void *opaque, bool on)
{
    UbcWire *p = opaque;

    if (on) {
        qemu_mutex_lock(&p->ubc->lock);
        ubc_pci_hold(p->ubc);
    } else {
        ubc_pci_let_go(p->ubc);
        qemu_mutex_unlock(&p->ubc->lock);
    }
}

/* What came has its turn at once: an answer does not wait for another round of the
 * loop. */
static void on_pipe_turn_end(void *opaque)
{
    UbcWire *p = opaque;
    UbcPci *s = p->ubc;

    if (s->kicked) {
        ubc_pci_turn(s, ubc_pci_bells(s));
        s->thread_turns++;
    }
}

static void on_pipe_state(void *opaque, bool open)
{
    UbcWire *p = opaque;
    UbcPci *s = p->ubc;

    trace_ubc_wire(ubc_pci_id(s), p->index,
                   open ? "connected" : "disconnected");
    p->open = open;
    if (open) {
        ubc_wire_connected(s->ubc, p->index, ubc_pci_now(s));
    } else {
        ubc_wire_disconnected(s->ubc, p->index, ubc_pci_now(s));
    }
}

static bool on_pipe_input(void *opaque, const uint8_t *data, size_t len)
{
    UbcWire *p = opaque;
    UbcPci *s = p->ubc;

    if (p->open) {
        ubc_wire_receive(s->ubc, p->index, data, len, ubc_pci_now(s));
    }
    return p->open;
}

static void on_pipe_room(void *opaque)
{
    UbcWire *p = opaque;

    ubc_wire_room(p->ubc->ubc, p->index, ubc_pci_now(p->ubc));
}

static void on_pipe_broken(void *opaque, const char *rule)
{
    UbcWire *p = opaque;

    ubc_pci_peer_error(p->ubc, p->index, rule);
}

static const WirePipeOps ubc_pipe_ops = {
    .guard = on_pipe_guard,
    .state = on_pipe_state,
    .input = on_pipe_input,
    .turn_end = on_pipe_turn_end,
    .room = on_pipe_room,
    .broken = on_pipe_broken,
};

bool ubc_pci_wires_shared(const UbcPci *s)
{
    for (unsigned i = 0; i < s->ports; i++) {
        const UbcWire *p = &s->port[i];
        bool out = false, in = false;

        if (p->open) {
            wire_pipe_shared(wire_chr_pipe(p->chr_wire), &out, &in);
            if (!out) {
                return false;
            }
        }
    }
    return true;
}

void ubc_pci_wires_look(UbcPci *s, bool again)
{
    for (unsigned i = 0; i < s->ports; i++) {
        if (s->port[i].open) {
            wire_pipe_look(wire_chr_pipe(s->port[i].chr_wire), again);
        }
    }
}

void ubc_pci_wires_wake(UbcPci *s)
{
    for (unsigned i = 0; i < s->ports; i++) {
        if (s->port[i].chr_wire) {
            wire_chr_wake(s->port[i].chr_wire);
        }
    }
}

/* ---- Life ------------------------------------------------------------------ */

void ubc_pci_wires_new(UbcPci *s, GMainContext *gctx)
{
    for (unsigned i = 0; i < s->ports; i++) {
        UbcWire *p = &s->port[i];

        p->ubc = s;
        p->index = i;
        if (qemu_chr_fe_backend_connected(&p->chr)) {
            p->chr_wire = wire_chr_new(&p->chr, s->ctx, gctx, &ubc_pipe_ops,
                                       p, s->shm);
            wire_chr_start(p->chr_wire);
        }
    }
}

void ubc_pci_wires_free(void *opaque)
{
    UbcPci *s = opaque;

    for (unsigned i = 0; i < s->ports; i++) {
        g_clear_pointer(&s->port[i].chr_wire, wire_chr_free);
    }
}
