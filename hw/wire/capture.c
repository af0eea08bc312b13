/*
 * Frames of a wire in a file.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <errno.h>
#include <glib.h>
#include <stdio.h>

#include "core/bytes.h"
#include "core/output.h"
#include "wire/capture.h"

enum {
    PCAP_MAGIC_NS = 0xa1b23c4d,
    PCAP_HEAD = 24,
    PCAP_RECORD = 16,
    PCAP_SNAP = 262144,         /* the most that readers take */
    LINKTYPE_ETHERNET = 1,
};

struct WireCapture {
    FILE *file;
    int error;
};

static void put(WireCapture *c, const void *data, size_t len)
{
    if (!c->error && fwrite(data, 1, len, c->file) != len) {
        c->error = errno ? errno : EIO;
    }
}

WireCapture *wire_capture_new(const char *path)
{
    uint8_t head[PCAP_HEAD] = { 0 };
    FILE *file = core_output_open(path);
    WireCapture *c;

    if (!file) {
        return NULL;
    }
    c = g_new0(WireCapture, 1);
    c->file = file;
    put_le32(head, PCAP_MAGIC_NS);
    put_le16(head + 4, 2);
    put_le16(head + 6, 4);
    put_le32(head + 16, PCAP_SNAP);
    put_le32(head + 20, LINKTYPE_ETHERNET);
    put(c, head, sizeof(head));
    return c;
}

void wire_capture_free(WireCapture *c)
{
    if (c) {
        fclose(c->file);
        g_free(c);
    }
}

void wire_capture_frame(WireCapture *c, int64_t time, const uint8_t *frame,
                        size_t len)
{
    uint8_t head[PCAP_RECORD];

    put_le32(head, time / 1000000000);
    put_le32(head + 4, time % 1000000000);
    put_le32(head + 8, len);
    put_le32(head + 12, len);
    put(c, head, sizeof(head));
    put(c, frame, len);
}

int wire_capture_flush(WireCapture *c)
{
    if (!c->error && fflush(c->file)) {
        c->error = errno;
    }
    return c->error;
}
