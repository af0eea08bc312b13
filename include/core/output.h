/*
 * A file that is written from its beginning: a capture.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef CORE_OUTPUT_H
#define CORE_OUTPUT_H

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

/*
 * Create the file @path, or empty it; the caller's, for fclose().  NULL, with errno set:
 * it cannot be written, or is a FIFO that nobody reads (ENXIO), for whose reader
 * everything would wait.  Writing waits for the reader of a FIFO, as it does for a file.
 */
static inline FILE *core_output_open(const char *path)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NONBLOCK,
                  0666);
    int flags = fd < 0 ? -1 : fcntl(fd, F_GETFL);
    FILE *file = NULL;
    int error;

    /* Only to open it was not to wait: a burst is longer than a FIFO. */
    if (flags >= 0 && fcntl(fd, F_SETFL, flags & ~O_NONBLOCK) == 0) {
        file = fdopen(fd, "wb");
    }
    if (!file && fd >= 0) {
        error = errno;
        close(fd);
        errno = error;
    }
    return file;
}

#endif
