/*
 * Reading a byte stream from a character device in large pieces.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "qemu/osdep.h"
#include "chardev/char-fe.h"
#include "chardev/char-socket.h"
#include "wire/drain.h"

/* The channel under @be, or NULL if bytes must come by the callback. */
static QIOChannel *plain_channel(CharBackend *be)
{
    Chardev *chr = qemu_chr_fe_get_driver(be);
    SocketChardev *s = (SocketChardev *)object_dynamic_cast(
        OBJECT(chr), TYPE_CHARDEV_SOCKET);

    /*
     * Telnet has escapes in its stream, and a recorded run must see the same
     * pieces when it is replayed: both happen above the channel.
     */
    if (!s || s->do_telnetopt || s->state != TCP_CHARDEV_STATE_CONNECTED ||
        qemu_chr_has_feature(chr, QEMU_CHAR_FEATURE_REPLAY)) {
        return NULL;
    }
    return s->ioc;
}

size_t wire_drain(struct CharBackend *be, size_t got, uint8_t *buf,
                  size_t size, size_t budget, WireTake *take, void *opaque)
{
    size_t total = 0;

    /* A callback that was not full found the socket empty. */
    if (got < CHR_READ_BUF_LEN) {
        return 0;
    }
    while (total < budget) {
        QIOChannel *ioc = plain_channel(be);
        ssize_t n = ioc ? qio_channel_read(ioc, (char *)buf, size, NULL) : 0;

        if (n <= 0) {
            break;
        }
        total += n;
        if (!take(opaque, buf, n) || n < size) {
            break;
        }
    }
    return total;
}
