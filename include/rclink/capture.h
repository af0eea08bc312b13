/*
 * Frames of an RC Link port in a file that tcpdump and Wireshark read: pcap,
 * Ethernet without FCS, time stamps in nanoseconds.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef RCLINK_CAPTURE_H
#define RCLINK_CAPTURE_H

#include <stddef.h>
#include <stdint.h>

typedef struct RclCapture RclCapture;

/* Begin the file @path; NULL, with errno set, if it cannot be opened. */
RclCapture *rcl_capture_new(const char *path);
/* NULL is ignored. */
void rcl_capture_free(RclCapture *c);
/* A frame at @time, in nanoseconds. */
void rcl_capture_frame(RclCapture *c, int64_t time, const uint8_t *frame,
                       size_t len);
/* Hand what is buffered to the file.  0, or the errno value of the error that
 * ended the capture. */
int rcl_capture_flush(RclCapture *c);

#endif
