/*
 * Frames of a wire in a file that tcpdump and Wireshark read: pcap, Ethernet
 * without FCS, time stamps in nanoseconds.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef WIRE_CAPTURE_H
#define WIRE_CAPTURE_H

#include <stddef.h>
#include <stdint.h>

typedef struct WireCapture WireCapture;

/* Begin the file @path; NULL, with errno set, if it cannot be opened. */
WireCapture *wire_capture_new(const char *path);
/* NULL is ignored. */
void wire_capture_free(WireCapture *c);
/* A frame at @time, in nanoseconds. */
void wire_capture_frame(WireCapture *c, int64_t time, const uint8_t *frame,
                        size_t len);
/* Hand what is buffered to the file.  0, or the errno value of the error that
 * ended the capture. */
int wire_capture_flush(WireCapture *c);

#endif
