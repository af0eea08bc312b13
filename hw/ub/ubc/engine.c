/*
 * The transaction engine: queues of the guest over the node's floors.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <glib.h>
#include <string.h>

#include "core/bytes.h"
#include "internal.h"
#include "ub/mgmt_ta.h"

/* Entries of one turn. */
#define ENGINE_BUDGET 256

/* ---- The guest above ----------------------------------------------------------------- */

static bool guest_read(void *opaque, uint64_t addr, void *buf, uint32_t len)
{
    return ubc_dma_read(opaque, addr, buf, len);
}

static bool guest_write(void *opaque, uint64_t addr, const void *buf,
                        uint32_t len)
{
    return ubc_dma_write(opaque, addr, buf, len);
}

static bool guest_exchange(void *opaque, uint64_t addr, void *was, const void *now,
                           uint32_t len, bool *same)
{
    return ubc_dma_exchange(opaque, addr, was, now, len, same);
}

/* Of an event queue: this host's, or the User's of the Entity that it is for. */
static void guest_interrupt(void *opaque, unsigned vector)
{
    Ubc *ubc = opaque;

    if (vector & UBQ_USI_IS) {
        ubc_usi_raise(ubc, UBQ_USI_ENTITY(vector), UBQ_USI_N(vector));
    } else {
        ubc->ops.interrupt(ubc->opaque, vector);
    }
}

/* All rests while Entity 0 may not.  One that ENTITY_SET has made has no registers,
 * and so no BUS_EN. */
static bool guest_may_access(void *opaque, unsigned entity)
{
    const Ubc *ubc = opaque;

    return !entity || entity >= ubc->conf.entities ||
           ubc_entity_may_access(ubc, entity);
}

/* Entities that have registers are what CFG0_BASIC says; others not everybody. */
static bool may_make_up(Ubc *ubc, const uint8_t *cmd)
{
    UbEid eid;

    memcpy(eid.b, cmd + UBQ_ENT_EID, UB_EID_LEN);
    if (get_le32(cmd + UBQ_CMD_OBJECT) < ubc->conf.entities) {
        return false;
    }
    if (ubc_partition_is_instance(ubc, &eid)) {
        ubc_guest_error(ubc, -1, "ENTITY_SET with the EID of a bus instance");
        return false;
    }
    if (!ubc_partition_may_be(ubc, &eid, get_le32(cmd + UBQ_ENT_UPI))) {
        ubc_guest_error(ubc, -1, "ENTITY_SET with a UPI that is not the "
                                 "controller's");
        return false;
    }
    return true;
}

static unsigned guest_command(void *opaque, unsigned opcode,
                              uint8_t cmd[UBQ_CMD])
{
    Ubc *ubc = opaque;

    ubc_net_follow(ubc);
    if (opcode == UBQ_OP_INSTANCE_QUERY) {
        return ubc_partition_query(ubc, cmd);
    }
    if (opcode == UBQ_OP_ENTITY_SET && !may_make_up(ubc, cmd)) {
        return UBQ_RESULT_PARAMETER;
    }
    return ub_node_command(ubc->node, ubc->now, opcode, cmd);
}

static void guest_message(void *opaque, int64_t now, const UbTaMessage *m)
{
    ub_mgmt_ta_rx(((Ubc *)opaque)->mgmt, now, m);
}

static void guest_trace(void *opaque, UbUrmaTrace what, uint32_t id, uint32_t a,
                        uint32_t b)
{
    Ubc *ubc = opaque;

    if (ubc->ops.queue_trace) {
        ubc->ops.queue_trace(ubc->opaque, what, id, a, b);
    }
}

static const UbUrmaOps urma_ops = {
    .read = guest_read,
    .write = guest_write,
    .exchange = guest_exchange,
    .interrupt = guest_interrupt,
    .kick = ubc_above_kick,
    .guest_error = ubc_above_error,
    .command = guest_command,
    .may_access = guest_may_access,
    .message = guest_message,
    .trace = guest_trace,
};

/* ---- Life ------------------------------------------------------------------------------ */

void ubc_engine_init(Ubc *ubc)
{
    UbUrmaConfig conf = ubc->conf.urma;

    conf.vectors = UBC_VECTORS;
    conf.entities = ubc->conf.entities;
    conf.usi = ubc_usi_there(ubc) ? UB_USI_VECTORS : 0;
    ubc->urma = ub_urma_new(&conf, &urma_ops, ubc);
}

void ubc_engine_free(Ubc *ubc)
{
    ub_urma_free(ubc->urma);
}

void ubc_engine_reset(Ubc *ubc)
{
    ubc->identity_told = false;
    for (unsigned i = 0; i < ubc->ports; i++) {
        ubc->end[i].told_vls = false;
    }
    ub_urma_reset(ubc->urma);
}

/* Ports that came and went, another name: since the last turn. */
static void tell_changes(Ubc *ubc)
{
    uint32_t upi = 0;
    const UbEid *eid = ub_sec_entity(ub_node_sec(ubc->node), 0, &upi);
    UbEid now = eid ? *eid : (UbEid){ 0 };

    for (unsigned i = 0; i < ubc->ports; i++) {
        UbcEnd *e = &ubc->end[i];

        if (e->told_vls != !!e->net_vls) {
            e->told_vls = !e->told_vls;
            ub_urma_device_event(ubc->urma, e->told_vls ? UBQ_EVENT_PORT_UP
                                                        : UBQ_EVENT_PORT_DOWN,
                                 i, 0, 0);
        }
    }
    if (upi != ubc->upi_told || !ub_eid_same(&now, &ubc->eid_told)) {
        if (ubc->identity_told) {
            ub_urma_device_event(ubc->urma, UBQ_EVENT_EID, 0, 0, 0);
        }
        ubc->upi_told = upi;
        ubc->eid_told = now;
    }
    ubc->identity_told = true;
}

int64_t ubc_engine_run(Ubc *ubc)
{
    if (!ubc->master) {
        return INT64_MAX;
    }
    ubc_net_follow(ubc);
    tell_changes(ubc);
    return ub_urma_run(ubc->urma, ubc->now, ENGINE_BUDGET);
}

/* ---- Registers, events ------------------------------------------------------------------- */

uint32_t ubc_engine_read(Ubc *ubc, uint32_t at)
{
    return ub_urma_reg_read(ubc->urma, at);
}

void ubc_engine_write(Ubc *ubc, uint32_t at, uint32_t value)
{
    ub_urma_reg_write(ubc->urma, at, value);
}

/* Class B (§10.6.2.2.3); the codes of channels are those of UbTpError. */
void ubc_engine_channel_error(void *opaque, uint32_t tpn, UbTpError error)
{
    Ubc *ubc = opaque;

    ub_urma_event(ubc->urma, 0, (UBQ_EVENT_TP_RETRIES & ~0xff) | error, tpn,
                  0, 0);
}

void ubc_engine_channel_up(void *opaque, uint32_t tpn, UbTpResult result)
{
    Ubc *ubc = opaque;

    ub_urma_event(ubc->urma, 0, UBQ_EVENT_CHANNEL_UP, tpn, 0,
                  ub_node_result(result));
}

void ubc_engine_imported(void *opaque, uint32_t row, unsigned result)
{
    Ubc *ubc = opaque;

    ub_urma_event(ubc->urma, 0, UBQ_EVENT_IMPORTED, row, 0, result);
}

/* ---- Migration ------------------------------------------------------------------------------ */

static void told_image(Ubc *ubc, CoreImage *im)
{
    for (unsigned i = 0; i < ubc->ports; i++) {
        core_image_flag(im, &ubc->end[i].told_vls);
    }
    core_image_bytes(im, ubc->eid_told.b, UB_EID_LEN);
    core_image_int(im, &ubc->upi_told);
    core_image_flag(im, &ubc->identity_told);
}

/* What the floors say of the transaction layer's part in them, when all are there. */
static const char *loaded(Ubc *ubc)
{
    UbTa *ta = ub_node_ta(ubc->node);
    uint32_t senders, usi;
    const char *why;
    UbTaState state;

    why = ub_urma_loaded(ubc->urma, &senders);
    why = why ? why : ubc_window_loaded(ubc);
    why = why ? why : ubc_usi_loaded(ubc, &usi);
    if (why) {
        return why;
    }
    ub_ta_state(ta, &state);
    if (ubc_window(ubc)) {
        senders += !!ub_ta_queue(ta, ubc->conf.lds.rcid);
    }
    return state.queues == senders + usi
           ? NULL : "a queue of the transaction layer that is nobody's";
}

void ubc_engine_image(Ubc *ubc, CoreImage *im)
{
    unsigned version = core_image_begin(im, CORE_TAG('E', 'N', 'G', 'N'), 2);
    const char *why;

    ub_urma_image(ubc->urma, im);
    if (version >= 2) {
        ubc_window_image(ubc, im);
    }
    ub_node_image(ubc->node, im, ubc_ta_adopt);
    if (version >= 2) {
        told_image(ubc, im);
    }
    core_image_end(im);
    if (core_image_loading(im) && !core_image_error(im)) {
        why = loaded(ubc);
        core_image_check(im, !why, why);
        ubc_partition_loaded(ubc);
    }
}
