/*
 * Frames of a NIC that wait in its network backend.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "qemu/osdep.h"
#include "wire/backlog.h"

/* How often a backend that keeps frames is looked at. */
#define WATCH_MS 5

static void watch_again(WireBacklog *b)
{
    timer_mod(b->watch, qemu_clock_get_ms(QEMU_CLOCK_REALTIME) + WATCH_MS);
}

/*
 * A stream whose peer dies forgets what it had promised: its queue stays shut,
 * also for the next peer.  While nobody is connected a backend throws away what
 * it is given, so that this only empties the queue.
 *
 * With our own link down it may be set_link that cut the backend, too: then
 * somebody is connected and half of a frame may be on its way.  After netdev_del
 * nobody will ever take what waits.
 */
static void watch(void *opaque)
{
    WireBacklog *b = opaque;
    NetClientState *nc = qemu_get_queue(b->nic);

    if (b->nic->peer_deleted) {
        qemu_purge_queued_packets(nc);
    } else if (nc->peer && nc->peer->link_down && !nc->link_down) {
        qemu_flush_queued_packets(nc->peer);
    }
    if (wire_backlog_waits(b)) {
        watch_again(b);
    }
}

void wire_backlog_init(WireBacklog *b, NICState *nic)
{
    b->nic = nic;
    /* Peers come and go while the machine is stopped, too. */
    b->watch = timer_new_ms(QEMU_CLOCK_REALTIME, watch, b);
    b->leaving = false;
    b->bytes = 0;
    g_queue_init(&b->frames);
}

void wire_backlog_fini(WireBacklog *b)
{
    b->leaving = true;
    qemu_purge_queued_packets(qemu_get_queue(b->nic));
    timer_free(b->watch);
    b->watch = NULL;
    g_queue_clear(&b->frames);
    b->bytes = 0;
}

ssize_t wire_backlog_send(WireBacklog *b, const uint8_t *frame, size_t len,
                          NetPacketSent *sent)
{
    ssize_t ret = qemu_send_packet_async(qemu_get_queue(b->nic), frame, len,
                                         sent);

    if (!ret) {
        if (!wire_backlog_waits(b)) {
            watch_again(b);
        }
        g_queue_push_tail(&b->frames, GSIZE_TO_POINTER(len));
        b->bytes += len;
    }
    return ret;
}

bool wire_backlog_left(WireBacklog *b)
{
    b->bytes -= GPOINTER_TO_SIZE(g_queue_pop_head(&b->frames));
    if (!wire_backlog_waits(b)) {
        timer_del(b->watch);
    }
    return !b->leaving;
}
