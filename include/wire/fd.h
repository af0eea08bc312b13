/*
 * A bare descriptor of a connected stream socket as the stream under a pipe:
 * for programs that are no emulator.
 *
 * The program polls: it waits for wire_fd_events() on the descriptor (and does
 * not wait at all while wire_fd_busy()), then calls wire_fd_run().
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef WIRE_FD_H
#define WIRE_FD_H

#include "wire/pipe.h"

typedef struct WireFd WireFd;

/* Takes over `fd`, which becomes non-blocking.  The op state tells of the
 * connection in the first wire_fd_run(). */
WireFd *wire_fd_new(int fd, const WirePipeOps *ops, void *opaque, bool shm);
void wire_fd_free(WireFd *w);
WirePipe *wire_fd_pipe(WireFd *w);

/* To poll; -1 when the connection is over. */
int wire_fd_descriptor(const WireFd *w);
/* What to poll for (POLLIN, POLLOUT); 0 when the connection is over. */
short wire_fd_events(const WireFd *w);
/* There is something to do without the descriptor's leave. */
bool wire_fd_busy(const WireFd *w);
/* Do what there is to do.  False: the connection is over. */
bool wire_fd_run(WireFd *w);

#endif
