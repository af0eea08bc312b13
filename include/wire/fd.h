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

/* What may stand between the descriptor and the pipe.  None of these blocks. */
typedef struct WireFdLayer {
    /* Agree with the other end: 1: done, 0: goes on when more has come, less than
     * 0: it cannot be, *@why says so; NULL: for no fault of the other end. */
    int (*agree)(void *opaque, const char **why);
    /* As send(2), after agree(); 0: there is no room. */
    ssize_t (*send)(void *opaque, const uint8_t *data, size_t len);
    /* As recv(2), after agree(). */
    ssize_t (*recv)(void *opaque, uint8_t *buf, size_t len);
    /* There is something to read without the descriptor's leave. */
    bool (*pending)(const void *opaque);
    /* Something waits for the descriptor to take it; and now it may.  False: the
     * descriptor is dead. */
    bool (*unsent)(const void *opaque);
    bool (*flush)(void *opaque);
    /* The descriptor is about to be closed; give it up. */
    void (*free)(void *opaque);
} WireFdLayer;

/* With a layer, which becomes its own, and without shared memory: the op state tells
 * of the connection when the two ends have agreed, broken() why they have not, if
 * that is the other end's fault. */
WireFd *wire_fd_new_layer(int fd, const WireFdLayer *layer, void *layer_opaque,
                          const WirePipeOps *ops, void *opaque);
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
