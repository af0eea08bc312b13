/*
 * The window for loads and stores: whose memory, interrupts, links and
 * transaction layer it has.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <glib.h>

#include "internal.h"

/* ---- What the window needs ------------------------------------------------------------ */

static bool window_read(void *opaque, uint64_t addr, void *buf, uint32_t len)
{
    Ubc *ubc = opaque;

    return ubc->master && ubc_dma_read(ubc, addr, buf, len);
}

static bool window_write(void *opaque, uint64_t addr, const void *buf,
                         uint32_t len)
{
    Ubc *ubc = opaque;

    return ubc->master && ubc_dma_write(ubc, addr, buf, len);
}

static void window_ended(void *opaque, UbLdsWait *w)
{
    Ubc *ubc = opaque;

    if (ubc->ops.window_ended) {
        ubc->ops.window_ended(ubc->opaque, w);
    }
}

/* As Entity 0 is called now, for whom the node's packets are. */
static bool window_way(void *opaque, const UbLdsPeer *peer, UbTaDest *dest)
{
    Ubc *ubc = opaque;

    ubc_net_follow(ubc);
    return ubc_way(ubc, 0, peer->cna, &peer->deid, dest);
}

static const UbLdsOps window_ops = {
    .read = window_read,
    .write = window_write,
    .interrupt = ubc_above_interrupt,
    .kick = ubc_above_kick,
    .guest_error = ubc_above_error,
    .ended = window_ended,
    .way = window_way,
};

/* ---- Whose a request is ------------------------------------------------------------------ */

static const UbTaOps *queues_ops = &ub_urma_ta_ops;

static UbTaData ta_gather(void *opaque, const UbTaRequest *req, uint32_t off,
                          void *buf, uint32_t len)
{
    Ubc *ubc = opaque;

    if (ubc_usi_owns(ubc, req)) {
        ubc_usi_gather(req, off, buf, len);
        return UB_TA_DATA_OK;
    }
    return ub_lds_owns(ubc->lds, req)
           ? ub_lds_gather(ubc->lds, req, off, buf, len)
           : queues_ops->gather(ubc->urma, req, off, buf, len);
}

static UbTaData ta_scatter(void *opaque, const UbTaRequest *req, uint32_t off,
                           const void *buf, uint32_t len)
{
    Ubc *ubc = opaque;

    return ub_lds_owns(ubc->lds, req)
           ? ub_lds_scatter(ubc->lds, req, off, buf, len)
           : queues_ops->scatter(ubc->urma, req, off, buf, len);
}

static void ta_done(void *opaque, UbTaRequest *req, UbTaStatus status)
{
    Ubc *ubc = opaque;

    if (ubc_usi_owns(ubc, req)) {
        ubc_usi_done(ubc, req, status);
    } else if (ub_lds_owns(ubc->lds, req)) {
        ub_lds_done(ubc->lds, req, status);
    } else {
        queues_ops->done(ubc->urma, req, status);
    }
}

static UbAccessResult ta_access(void *opaque, UbAccess *a, UbSpan *out,
                                unsigned max, unsigned *n)
{
    Ubc *ubc = opaque;
    UbAccessResult result;

    return ubc_usi_access(ubc, a, out, n, &result) ||
           ubc_resource_access(ubc, a, out, n, &result)
           ? result : queues_ops->access(ubc->urma, a, out, max, n);
}

static bool ta_region(void *opaque, uint32_t region, uint64_t at, void *buf,
                      uint32_t len, bool write)
{
    return ubc_resource_region(opaque, region, at, buf, len, write);
}

static bool ta_bus(void *opaque, uint64_t addr, void *buf, uint32_t len,
                   bool write)
{
    return queues_ops->bus(((Ubc *)opaque)->urma, addr, buf, len, write);
}

static bool ta_exchange(void *opaque, uint64_t addr, void *was, const void *now,
                        uint32_t len, bool *same)
{
    return queues_ops->exchange(((Ubc *)opaque)->urma, addr, was, now, len, same);
}

static UbRecvResult ta_receive(void *opaque, const UbRecvAsk *ask,
                               UbRecvBuf *buf)
{
    return queues_ops->receive(((Ubc *)opaque)->urma, ask, buf);
}

static bool ta_place(void *opaque, uint64_t rqe, uint32_t off,
                     const void *buf, uint32_t len)
{
    return queues_ops->place(((Ubc *)opaque)->urma, rqe, off, buf, len);
}

static void ta_received(void *opaque, const UbRecvDone *done)
{
    queues_ops->received(((Ubc *)opaque)->urma, done);
}

static void ta_message(void *opaque, int64_t now, const UbTaMessage *m)
{
    queues_ops->message(((Ubc *)opaque)->urma, now, m);
}

const UbTaOps ubc_ta_ops = {
    .gather = ta_gather,
    .scatter = ta_scatter,
    .done = ta_done,
    .access = ta_access,
    .bus = ta_bus,
    .exchange = ta_exchange,
    .region = ta_region,
    .receive = ta_receive,
    .place = ta_place,
    .received = ta_received,
    .message = ta_message,
};

UbTaRequest *ubc_ta_adopt(void *opaque, uint32_t rcid, uint64_t id)
{
    Ubc *ubc = opaque;

    if (rcid == ubc->conf.lds.rcid) {
        return ubc->lds ? ub_lds_adopt(ubc->lds, id) : NULL;
    }
    return ub_urma_adopt(ubc->urma, rcid, id);
}

/* ---- Life ------------------------------------------------------------------------------------ */

bool ubc_window_init(Ubc *ubc, const char **why)
{
    UbLdsConfig *conf = &ubc->conf.lds;

    if (!conf->window) {
        return true;
    }
    conf->vectors = UBC_VECTORS;
    *why = ub_lds_config_check(conf);
    if (*why) {
        return false;
    }
    ubc->lds = ub_lds_new(conf, &window_ops, ubc);
    ub_lds_attach(ubc->lds, ubc->space);
    if (conf->managed) {
        ub_slice_init(ubc->cfg1, UB_CFG1_SUPPORTED_FEATURE,
                      UB_CFG1_SUPPORTED_FEATURE__DECODER_MATT_JURISDICTION, ~0u);
    }
    ub_lds_pause(ubc->lds, ubc->now, true);
    return true;
}

void ubc_window_bind(Ubc *ubc)
{
    if (ubc->lds) {
        ub_lds_bind(ubc->lds, ub_node_ta(ubc->node));
    }
}

void ubc_window_free(Ubc *ubc)
{
    ub_lds_free(ubc->lds);
    ubc->lds = NULL;
}

void ubc_window_reset(Ubc *ubc)
{
    if (ubc->lds) {
        ub_lds_reset(ubc->lds, ubc->now);
    }
}

void ubc_window_reset_entity(Ubc *ubc, unsigned entity)
{
    if (ubc->lds && !entity) {
        ub_lds_reset_entity(ubc->lds);
    }
}

void ubc_window_pause(Ubc *ubc)
{
    if (ubc->lds) {
        ub_lds_pause(ubc->lds, ubc->now, !ubc->master);
    }
}

void ubc_window_link(UbcEnd *e)
{
    Ubc *ubc = e->ubc;

    if (ubc->lds && ubc->node) {
        ub_lds_link(ubc->lds, ubc->now, e->index, ub_port_dll_up(e->port));
    }
}

int64_t ubc_window_run(Ubc *ubc)
{
    for (unsigned i = 0; i < ubc->ports; i++) {
        ubc_window_link(&ubc->end[i]);
    }
    return ubc->lds ? ub_lds_run(ubc->lds, ubc->now) : INT64_MAX;
}

void ubc_window_image(Ubc *ubc, CoreImage *im)
{
    if (ubc->lds) {
        ub_lds_image(ubc->lds, im);
    }
}

const char *ubc_window_loaded(Ubc *ubc)
{
    return ubc->lds ? ub_lds_loaded(ubc->lds) : NULL;
}

/* ---- For the shell ------------------------------------------------------------------------------ */

UbLds *ubc_window(Ubc *ubc)
{
    return ubc->lds;
}

bool ubc_window_load(Ubc *ubc, uint64_t offset, unsigned len, UbLdsWait *w,
                     uint64_t *value, int64_t now)
{
    ubc->now = now;
    return ub_lds_load(ubc->lds, now, offset, len, w, value);
}

bool ubc_window_store(Ubc *ubc, uint64_t offset, unsigned len, uint64_t value,
                      UbLdsWait *w, int64_t now)
{
    ubc->now = now;
    return ub_lds_store(ubc->lds, now, offset, len, value, w);
}
