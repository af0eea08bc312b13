/*
 * ubc: the program beside the machine that speaks for its node, on a character
 * device: frames of ub/responder.h, each behind its length (32 bits, big-endian).
 *
 * The stream works in the main loop, the core where its ports run: frames for the
 * program wait in the core, and a bottom half takes them.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "qemu/osdep.h"
#include "qapi/error.h"
#include "qapi/qapi-commands-ub.h"
#include "qemu/bswap.h"
#include "qemu/log.h"
#include "qemu/main-loop.h"
#include "ubc-pci.h"
#include "wire/stream.h"

/* ---- To the program ---- */

static void responder_bh(void *opaque)
{
    UbcPci *s = opaque;
    uint8_t frame[WIRE_STREAM_PREFIX + UB_RESPONDER_MAX];
    size_t len;

    while (!wire_stream_blocked(s->responder)) {
        qemu_mutex_lock(&s->lock);
        len = ub_responder_take(ubc_responder(s->ubc),
                                frame + WIRE_STREAM_PREFIX);
        qemu_mutex_unlock(&s->lock);
        if (!len) {
            break;
        }
        stl_be_p(frame, len);
        wire_stream_send(s->responder, frame, WIRE_STREAM_PREFIX + len);
    }
}

void ubc_pci_responder_frame(void *opaque)
{
    UbcPci *s = opaque;

    if (s->responder_bh) {
        qemu_bh_schedule(s->responder_bh);
    }
}

/* ---- From the program ---- */

static void on_guard(void *opaque, bool on)
{
}

static void on_frame(void *opaque, const uint8_t *frame, size_t len)
{
    UbcPci *s = opaque;

    ubc_pci_lock(s);
    ub_responder_input(ubc_responder(s->ubc), ubc_pci_now(s), frame, len);
    qemu_mutex_unlock(&s->lock);
}

static void on_turn_end(void *opaque)
{
    qemu_bh_schedule(((UbcPci *)opaque)->run_bh);
}

static void on_link(void *opaque, bool up)
{
    UbcPci *s = opaque;

    ubc_pci_lock(s);
    ub_responder_open(ubc_responder(s->ubc), ubc_pci_now(s), up);
    qemu_mutex_unlock(&s->lock);
    qemu_bh_schedule(s->run_bh);
}

static void on_room(void *opaque)
{
    ubc_pci_responder_frame(opaque);
}

static void on_bad_length(void *opaque, uint32_t len)
{
    qemu_log_mask(LOG_GUEST_ERROR, "%s: responder: a frame of %u bytes, closed\n",
                  ubc_pci_id(opaque), len);
}

static void on_broken(void *opaque, const char *rule)
{
    qemu_log_mask(LOG_GUEST_ERROR, "%s: responder: %s\n", ubc_pci_id(opaque),
                  rule);
}

static const WireStreamOps stream_ops = {
    .guard = on_guard, .frame = on_frame, .turn_end = on_turn_end,
    .link = on_link, .room = on_room, .bad_length = on_bad_length,
    .broken = on_broken,
};

/* ---- Life ---- */

bool ubc_pci_responder_configure(UbcPci *s, UbcConfig *c, Error **errp)
{
    unsigned kinds = ub_responder_kinds(s->responder_kinds ?:
                                        "mctp:bus:vendor:spdm");

    if (!kinds) {
        error_setg(errp, "responder-kinds are mctp, bus, vendor and spdm, divided "
                   "by colons");
        return false;
    }
    if (qemu_chr_fe_backend_connected(&s->responder_chr)) {
        c->responder = kinds;
    }
    return true;
}

void ubc_pci_responder_new(UbcPci *s)
{
    if (ubc_responder(s->ubc)) {
        s->responder_bh = qemu_bh_new(responder_bh, s);
        s->responder = wire_stream_new(&s->responder_chr, &stream_ops, s,
                                       false);
    }
}

void ubc_pci_responder_free(UbcPci *s)
{
    QEMUBH *bh;

    if (s->responder) {
        /* The core in its IOThread schedules it under the lock. */
        qemu_mutex_lock(&s->lock);
        bh = g_steal_pointer(&s->responder_bh);
        qemu_mutex_unlock(&s->lock);
        qemu_bh_delete(bh);
        g_clear_pointer(&s->responder, wire_stream_free);
    }
    qemu_chr_fe_deinit(&s->responder_chr, false);
}

/* ---- The monitor's view ---- */

static void add_counter(UbcCounterList ***tail, const char *name,
                        uint64_t value)
{
    UbcCounter *c = g_new0(UbcCounter, 1);

    c->name = g_strdup(name);
    c->value = value;
    QAPI_LIST_APPEND(*tail, c);
}

static char *id_text(const UbId *id)
{
    return g_strdup_printf("%08x%08x%08x%08x", id->w[3], id->w[2], id->w[1],
                           id->w[0]);
}

static void add_instances(Ubc *ubc, UbBusInstanceInfoList **tail)
{
    for (unsigned i = 0; i < UB_MGMT_BUS_INSTANCES; i++) {
        const UbBusInstance *b = ub_mgmt_bus_instance(ubc_mgmt(ubc), i);
        UbBusInstanceInfo *info;

        if (!b) {
            continue;
        }
        info = g_new0(UbBusInstanceInfo, 1);
        info->place = i;
        info->guid = id_text(&b->guid);
        info->eid = id_text(&b->eid);
        info->upi = b->upi;
        info->alive = ub_sec_entity(ub_node_sec(ubc_node(ubc)),
                                    UB_SEC_INSTANCE(i), NULL);
        QAPI_LIST_APPEND(tail, info);
    }
}

static void add_management(UbcPci *s, void *opaque)
{
    UbManagementInfoList ***list = opaque;
    UbManagementInfo *info = g_new0(UbManagementInfo, 1);
    UbcCounterList **messages = &info->messages;
    UbcCounterList **responder = &info->responder;
    UbResponder *r;

    info->device = object_get_canonical_path(OBJECT(s));
    qemu_mutex_lock(&s->lock);
    r = ubc_responder(s->ubc);
    info->responder_open = r && ub_responder_is_open(r);
    for (unsigned i = 0; i < UB_MGMT_CNT_NUM; i++) {
        add_counter(&messages, ub_mgmt_counter_name(i),
                    ub_mgmt_counter(ubc_mgmt(s->ubc), i));
    }
    add_instances(s->ubc, &info->bus_instances);
    for (unsigned i = 0; r && i < UB_RESPONDER_CNT_NUM; i++) {
        add_counter(&responder, ub_responder_counter_name(i),
                    ub_responder_counter(r, i));
    }
    qemu_mutex_unlock(&s->lock);
    QAPI_LIST_APPEND(*list, info);
}

UbManagementInfoList *qmp_query_ub_management(Error **errp)
{
    UbManagementInfoList *list = NULL, **tail = &list;

    ubc_pci_foreach(add_management, &tail);
    return list;
}
