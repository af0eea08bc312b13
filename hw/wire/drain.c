/*
 * Reading a byte stream from a character device in large pieces.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "qemu/osdep.h"
#include "chardev/char-fe.h"
#include "io/channel.h"
#include "wire/channel.h"
#include "wire/drain.h"

size_t wire_drain(struct CharBackend *be, size_t got, uint8_t *buf,
                  size_t size, size_t budget, WireTake *take, void *opaque)
{
    size_t total = 0;

    /* A callback that was not full found the socket empty. */
    if (got < CHR_READ_BUF_LEN) {
        return 0;
    }
    while (total < budget) {
        QIOChannel *ioc = wire_channel(be);
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
