/*
 * Frames to ourselves.  They wait in a ring until the poll loop brings them to
 * the receiving side, so that no packet is answered from within its sending.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "internal.h"

#define STRIDE ((FRAME_MAX + 63) & ~63)

void loop_put(RdmaDev *dev, const uint8_t *frame, size_t len)
{
    uint32_t i = dev->loop_tail % LOOP_FRAMES;

    if (loop_frames(dev) == LOOP_FRAMES) {
        dev->cnt.loopback_full++;
        return;
    }
    if (!dev->loop_buf) {
        dev->loop_buf = g_malloc((size_t)LOOP_FRAMES * STRIDE);
    }
    memcpy(dev->loop_buf + (size_t)i * STRIDE, frame, len);
    dev->loop_len[i] = len;
    dev->loop_tail++;
    dev->cnt.loopback++;
}

void loop_drain(RdmaDev *dev)
{
    uint32_t end = dev->loop_tail;

    /* Only what is there now: answers to it wait for the next round. */
    while (dev->loop_head != end) {
        uint32_t i = dev->loop_head % LOOP_FRAMES;

        rx_frame(dev, dev->loop_buf + (size_t)i * STRIDE, dev->loop_len[i],
                 false);
        dev->loop_head++;
    }
}
