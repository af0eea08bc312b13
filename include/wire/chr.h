/*
 * A character device as the stream under a pipe (QEMU shells only).
 *
 * Input is read in large pieces where the device is a plain socket; Nagle's
 * algorithm is off.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef WIRE_CHR_H
#define WIRE_CHR_H

#include "wire/pipe.h"
#include "wire/qemu_names.h"

struct CharFrontend;
struct AioContext;

typedef struct WireChr WireChr;

/*
 * Takes over @be, which must have a character device and stays the caller's
 * until wire_chr_free().  The pipe works in @ctx, whose GLib context is @gctx
 * (NULL: that of the main loop).  @shm as in wire_pipe_new().
 */
WireChr *wire_chr_new(struct CharFrontend *be, struct AioContext *ctx,
                      GMainContext *gctx, const WirePipeOps *ops,
                      void *opaque, bool shm);
/* Ops are called from now on, in @ctx, which may be another thread's: the owner
 * knows the pipe by now. */
void wire_chr_start(WireChr *c);
/* In @ctx.  No op is called any more; @be has no handlers. */
void wire_chr_free(WireChr *c);

WirePipe *wire_chr_pipe(WireChr *c);

/* The op ready may give another answer than before. */
void wire_chr_wake(WireChr *c);

#endif
