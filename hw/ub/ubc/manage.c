/*
 * Management of the controller: the node that others read, scan and configure,
 * and the message queues of its guest (UB 2.0 §10.4).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <glib.h>

#include "internal.h"
#include "ub/mgmt_net.h"
#include "ub/mgmt_ta.h"
#include "ub/msgq.h"

/* Entries of message queues in one turn. */
#define MANAGE_BUDGET 64

/* ---- What a node's management needs -------------------------------------------------- */

static bool send_message(void *opaque, int64_t now, const UbMgmtAddr *a,
                         const uint8_t *data, size_t len)
{
    Ubc *ubc = opaque;

    ubc_net_follow(ubc);
    return ub_mgmt_ta_message(ub_node_ta(ubc->node), now, a, data, len);
}

static bool send_scan(void *opaque, int64_t now, unsigned port,
                      const UbMgmtAddr *a, const uint8_t *data, size_t len)
{
    Ubc *ubc = opaque;

    ubc_net_follow(ubc);
    return ub_mgmt_net_scan(ubc->net, ubc->pool, now, port, a, data, len);
}

static bool deliver(void *opaque, int queue, UbMgmtKind kind,
                    const UbMgmtAddr *a, const uint8_t *data, size_t len)
{
    Ubc *ubc = opaque;

    if (queue == UB_RESPONDER_QUEUE) {
        return ubc->responder && ub_responder_answer(ubc->responder, a, data,
                                                     len);
    }
    if (queue < 0 && kind == UB_MGMT_KIND_MESSAGE && ubc->responder &&
        ub_responder_wants(ubc->responder, data, len)) {
        return ub_responder_request(ubc->responder, ubc->now, a, data, len);
    }
    return ubc->master && ub_msgqs_deliver(ubc->msgqs, queue, kind, a, data,
                                           len);
}

static bool failed(void *opaque, unsigned queue, UbMgmtKind kind, uint16_t msn,
                   uint8_t code)
{
    Ubc *ubc = opaque;

    if (queue == UB_RESPONDER_QUEUE) {
        return !ubc->responder || ub_responder_failed(ubc->responder, msn,
                                                      code);
    }
    return ubc->master && ub_msgqs_failed(ubc->msgqs, queue, kind, msn, code);
}

static bool port_up(void *opaque, unsigned port)
{
    return ub_port_dll_up(((Ubc *)opaque)->end[port].port);
}

static UbSpace *manage_space(void *opaque, unsigned entity)
{
    return ubc_space_of(opaque, entity);
}

static void bus_instance(void *opaque, unsigned i)
{
    ubc_partition_instance(opaque, i);
}

static bool instance_busy(void *opaque, unsigned i)
{
    return ub_urma_entity_used(((Ubc *)opaque)->urma, UB_SEC_INSTANCE(i));
}

static void manage_rule(void *opaque, const char *text)
{
    Ubc *ubc = opaque;

    /* Whichever port it came by. */
    ubc->ops.peer_error(ubc->opaque, 0, text);
}

static const UbMgmtOps mgmt_ops = {
    .message = send_message, .scan = send_scan, .deliver = deliver,
    .failed = failed, .port_up = port_up, .space = manage_space,
    .instance = bus_instance, .instance_busy = instance_busy,
    .kick = ubc_above_kick, .rule = manage_rule,
};

/* ---- What slots need ------------------------------------------------------------------ */

static void slot_power(void *opaque, int64_t now, unsigned port, bool on)
{
    ub_port_power(((Ubc *)opaque)->end[port].port, now, on);
}

static void slot_changed(void *opaque, unsigned slot)
{
    Ubc *ubc = opaque;

    if (ubc->ops.slot) {
        ubc->ops.slot(ubc->opaque, slot);
    }
}

static const UbShpOps shp_ops = {
    .power = slot_power, .kick = ubc_above_kick, .changed = slot_changed,
};

/* ---- What message queues need --------------------------------------------------------- */

static bool queue_read(void *opaque, uint64_t addr, void *buf, uint32_t len)
{
    return ubc_dma_read(opaque, addr, buf, len);
}

static bool queue_write(void *opaque, uint64_t addr, const void *buf,
                        uint32_t len)
{
    return ubc_dma_write(opaque, addr, buf, len);
}

static void queue_interrupt(void *opaque, uint32_t vector)
{
    Ubc *ubc = opaque;

    if (vector < UBC_VECTORS) {
        ubc->ops.interrupt(ubc->opaque, vector);
    } else {
        ubc_guest_error(ubc, -1, "vector beyond the MSI-X table");
    }
}

static void queue_error(void *opaque, unsigned queue, const char *text)
{
    ubc_guest_error(opaque, -1, text);
}

static const UbMsgqOps msgq_ops = {
    .dma_read = queue_read, .dma_write = queue_write,
    .interrupt = queue_interrupt, .kick = ubc_above_kick,
    .guest_error = queue_error,
};

/* ---- What a program beside us needs ---------------------------------------------------- */

static void responder_frame(void *opaque)
{
    Ubc *ubc = opaque;

    if (ubc->ops.responder) {
        ubc->ops.responder(ubc->opaque);
    }
}

static const UbResponderOps responder_ops = {
    .frame = responder_frame, .rule = manage_rule,
};

/* ---- From the network layer ----------------------------------------------------------- */

static void rx_scan(void *opaque, int64_t now, CorePacket *pkt,
                    const UbFlow *flow)
{
    ub_mgmt_net_rx_scan(((Ubc *)opaque)->mgmt, now, pkt, flow);
}

/* ---- Life ------------------------------------------------------------------------------- */

void ubc_manage_init(Ubc *ubc)
{
    static const UbNetUpper scan_upper = { .rx = rx_scan };
    UbMgmtConfig conf;

    ub_mgmt_config_init(&conf);
    conf.ports = ubc->ports;
    conf.manager = ubc->conf.manager;
    conf.timeout = ubc->conf.mgmt_timeout * INT64_C(1000000);
    conf.forward = ubc->conf.forward;
    conf.seed = ubc->conf.session;
    if (ubc->conf.entities > 1) {
        conf.mue[0].first = 1;
        conf.mue[0].last = ubc->conf.entities - 1;
    }
    ubc->msgqs = ub_msgqs_new(&msgq_ops, ubc);
    ubc->mgmt = ub_mgmt_new(&conf, ubc->space, &mgmt_ops, ubc);
    ub_msgqs_join(ubc->msgqs, ubc->mgmt);
    ubc->shp = ub_shp_new(&ubc->conf.shp, ubc->space, ubc->mgmt, &shp_ops, ubc);
    if (ubc->conf.responder) {
        ubc->responder = ub_responder_new(ubc->mgmt, ubc->conf.responder,
                                          conf.timeout, &responder_ops, ubc);
    }
    ub_net_set_upper(ubc->net, UB_NET_SCAN, &scan_upper, ubc);
}

void ubc_manage_free(Ubc *ubc)
{
    ub_responder_free(ubc->responder);
    ub_shp_free(ubc->shp);
    ub_msgqs_free(ubc->msgqs);
    ub_mgmt_free(ubc->mgmt);
}

void ubc_manage_reset(Ubc *ubc)
{
    ub_msgqs_reset(ubc->msgqs);
    ub_mgmt_reset(ubc->mgmt);
    if (ubc->responder) {
        ub_responder_reset(ubc->responder);
    }
    ub_shp_reset(ubc->shp, ubc->now);
    for (unsigned i = 0; i < ubc->ports; i++) {
        ubc->end[i].told_up = ubc->end[i].erred = false;
    }
    ubc->erred = false;
    ub_error_record_take(&ubc->errors);
}

/* ---- Registers, turns -------------------------------------------------------------------- */

uint32_t ubc_manage_read(Ubc *ubc, uint32_t at)
{
    return ub_msgqs_read(ubc->msgqs, at - UBC_MSGQ(0));
}

void ubc_manage_write(Ubc *ubc, uint32_t at, uint32_t value)
{
    ub_msgqs_write(ubc->msgqs, at - UBC_MSGQ(0), value);
}

/* The UBFM hears of links. */
static void tell_links(Ubc *ubc)
{
    for (unsigned i = 0; i < ubc->ports; i++) {
        UbcEnd *e = &ubc->end[i];
        bool up = port_up(ubc, i);

        if (up != e->told_up) {
            e->told_up = up;
            ub_mgmt_link(ubc->mgmt, ubc->now, i, up);
        }
    }
}

void ubc_manage_error(UbcEnd *e)
{
    e->erred = true;
    ubc_above_kick(e->ubc);
}

void ubc_manage_device_errors(Ubc *ubc, uint32_t bits)
{
    if (ub_error_record_note(&ubc->errors, bits)) {
        ubc->erred = true;
        ubc_above_kick(ubc);
    }
}

/* And of errors, each until software clears it; @port < 0: of the device. */
static void tell_errors(Ubc *ubc, bool *erred, UbErrors fresh, int port)
{
    *erred = false;
    ub_mgmt_errors(ubc->mgmt, ubc->now, fresh, port);
}

int64_t ubc_manage_run(Ubc *ubc)
{
    int64_t slots = ub_shp_run(ubc->shp, ubc->now), next;
    bool more;

    tell_links(ubc);
    for (unsigned i = 0; i < ubc->ports; i++) {
        UbcEnd *e = &ubc->end[i];

        if (e->erred) {
            tell_errors(ubc, &e->erred, ub_port_take_errors(e->port), i);
        }
    }
    if (ubc->erred) {
        tell_errors(ubc, &ubc->erred, ub_error_record_take(&ubc->errors), -1);
    }
    more = ubc->master && ub_msgqs_run(ubc->msgqs, ubc->now, MANAGE_BUDGET);
    next = more ? ubc->now : ub_mgmt_run(ubc->mgmt, ubc->now);
    return MIN(next, slots);
}

void ubc_manage_image(Ubc *ubc, CoreImage *im)
{
    ub_mgmt_image(ubc->mgmt, im);
    ub_msgqs_image(ubc->msgqs, im);
    for (unsigned i = 0; i < ubc->ports; i++) {
        core_image_flag(im, &ubc->end[i].told_up);
    }
    ub_shp_image(ubc->shp, im);
    /* Another program is there, and has asked nothing. */
    if (core_image_loading(im)) {
        ub_mgmt_host_forget(ubc->mgmt, UB_RESPONDER_QUEUE);
    }
}
