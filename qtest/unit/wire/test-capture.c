/*
 * Frames of a wire in a file: a FIFO, with a reader and without.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <errno.h>
#include <fcntl.h>
#include <glib.h>
#include <glib/gstdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../../lib/fifo.h"
#include "wire/capture.h"

enum { FRAMES = 2000, HEAD = 24, RECORD = 16 };

/* Nobody reads: refused at once.  Somebody does: all of a burst that is longer than the
 * FIFO gets there. */
static void test_fifo(void)
{
    static const uint8_t frame[4096];
    g_autofree char *dir = g_dir_make_tmp("wire-capture-XXXXXX", NULL);
    g_autofree char *path = g_build_filename(dir, "fifo", NULL);
    GThread *reader;
    WireCapture *c;
    int fd;

    g_assert_cmpint(mkfifo(path, 0600), ==, 0);
    g_assert_null(wire_capture_new(path));
    g_assert_cmpint(errno, ==, ENXIO);
    fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    g_assert_cmpint(fd, >=, 0);
    c = wire_capture_new(path);
    g_assert_nonnull(c);
    g_assert_cmpint(fcntl(fd, F_SETFL, 0), ==, 0);
    reader = g_thread_new("reader", fifo_read, GINT_TO_POINTER(fd));
    for (unsigned i = 0; i < FRAMES; i++) {
        wire_capture_frame(c, i, frame, sizeof(frame));
    }
    g_assert_cmpint(wire_capture_flush(c), ==, 0);
    wire_capture_free(c);
    g_assert_cmpuint((uintptr_t)g_thread_join(reader), ==,
                     HEAD + FRAMES * (RECORD + sizeof(frame)));
    close(fd);
    g_unlink(path);
    g_rmdir(dir);
}

static void test_nowhere(void)
{
    g_assert_null(wire_capture_new("/nonexistent/x.pcap"));
    g_assert_cmpint(errno, ==, ENOENT);
    wire_capture_free(NULL);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/wire/capture/fifo", test_fifo);
    g_test_add_func("/wire/capture/nowhere", test_nowhere);
    return g_test_run();
}
