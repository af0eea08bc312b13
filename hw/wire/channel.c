/*
 * The socket under a character device that carries a wire.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "qemu/osdep.h"
#include "chardev/char-fe.h"
#include "chardev/char-socket.h"
#include "wire/channel.h"

QIOChannel *wire_channel(CharBackend *be)
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

void wire_nodelay(CharBackend *be)
{
    QIOChannel *ioc = wire_channel(be);

    if (ioc) {
        qio_channel_set_delay(ioc, false);
    }
}
