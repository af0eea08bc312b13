/*
 * ubc: doorbells and properties of the transaction engine.
 *
 * A doorbell does not wait for the lock (see ubc-pci-bell.c): it is left where
 * the next holder of the lock, often the one that rang, finds it first.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "qemu/osdep.h"
#include "qapi/error.h"
#include "trace.h"
#include "ubc-pci.h"
#include "core/qemu_qdev.h"

#define NS_PER_US 1000
/* What waits for one who polls no more waits no longer than this. */
#define POLL_TIME_MAX 1000000u

static uint64_t page_read(void *opaque, hwaddr addr, unsigned size)
{
    return 0;
}

static void page_write(void *opaque, hwaddr addr, uint64_t value,
                       unsigned size)
{
    UbcPci *s = opaque;

    if (!s->ubc) {
        return; /* the device is gone, see ubc_pci_mmio_read() */
    }
    ubc_ring(s->ubc, addr / UBQ_PAGE, addr % UBQ_PAGE, value);
    if (addr % UBQ_PAGE == UBQ_BELL_CQ && !(value & UBQ_BELL_ARM)) {
        ubc_pci_bell_look(s);
    } else {
        ubc_pci_bell_turn(s);
    }
}

/* A doorbell is 8 bytes at once. */
static const MemoryRegionOps page_ops = {
    .read = page_read,
    .write = page_write,
    .endianness = DEVICE_LITTLE_ENDIAN,
    .valid = { .min_access_size = 8, .max_access_size = 8 },
    .impl = { .min_access_size = 8, .max_access_size = 8 },
};

void ubc_pci_engine_bar(UbcPci *s)
{
    memory_region_init_io(&s->pages, OBJECT(s), &page_ops, s, "ubc-doorbells",
                          (uint64_t)s->engine.contexts * UBQ_PAGE);
    /* Other processors ring while one has a turn without the big lock. */
    s->pages.disable_reentrancy_guard = true;
    pci_register_bar(PCI_DEVICE(s), 2, PCI_BASE_ADDRESS_SPACE_MEMORY |
                     PCI_BASE_ADDRESS_MEM_TYPE_64, &s->pages);
}

void ubc_pci_queue_trace(void *opaque, UbUrmaTrace what, uint32_t id,
                         uint32_t a, uint32_t b)
{
    static const char *const states[UBQ_STATES] = {
        "Reset", "Ready", "Suspended", "Error",
    };
    const char *device = ubc_pci_id(opaque);

    switch (what) {
    case UB_URMA_TRACE_COMMAND:
        trace_ubc_queue_command(device, a, id, b);
        break;
    case UB_URMA_TRACE_STATE:
        trace_ubc_queue_state(device, id, states[a], states[b]);
        break;
    case UB_URMA_TRACE_SEND:
        trace_ubc_queue_send(device, id, a, b);
        break;
    case UB_URMA_TRACE_RECEIVE:
        trace_ubc_queue_receive(device, id, a, b);
        break;
    case UB_URMA_TRACE_COMPLETE:
        trace_ubc_queue_complete(device, id, a, b);
        break;
    case UB_URMA_TRACE_EVENT:
        trace_ubc_queue_event(device, a, b, id);
        break;
    case UB_URMA_TRACES:
        g_assert_not_reached();
    }
}

bool ubc_engine_props_apply(const UbcEngineProps *p,
                            const UbNodeConfig *options, UbcConfig *c,
                            Error **errp)
{
    const char *broken;

    if (!is_power_of_2(p->contexts) || p->contexts > UBC_MAX_CONTEXTS) {
        error_setg(errp, "contexts must be a power of two, at most %u",
                   UBC_MAX_CONTEXTS);
        return false;
    }
    if (!p->poll_time || p->poll_time > POLL_TIME_MAX) {
        error_setg(errp, "poll-time is 1 to %u microseconds", POLL_TIME_MAX);
        return false;
    }
    c->urma.pages = p->contexts;
    ub_node_options_copy(&c->node, options);
    ub_node_options_clocks(&c->node, (UbTpScale) {
        p->tp_scale, p->tp_floor * (int64_t)NS_PER_US,
    });
    c->node.ta.scale = p->ta_scale;
    c->node.ta.floor = p->ta_floor * (int64_t)NS_PER_US;
    c->node.accept = p->accept;
    c->cip = p->cip;
    c->node.cip = (UbCipConfig) {
        .window = p->cip_window, .sn_last = p->cip_sn_last,
        .icv_last = p->cip_icv_last, .migrate = p->cip_migrate,
    };
    broken = ub_cip_config_check(&c->node.cip);
    if (broken) {
        error_setg(errp, "%s", broken);
    }
    return !broken;
}

static const struct {
    const char *name, *text;
} descriptions[] = {
    { "contexts", "doorbell pages of BAR2, a power of two" },
    { "tp-time-scale", "multiplies the times of the transport layer" },
    { "tp-time-floor", "microseconds that a time of the transport layer has "
                       "at least" },
    { "ta-time-scale", "multiplies the times of the transaction layer, in "
                       "1/1000" },
    { "ta-time-floor", "microseconds that a time of the transaction layer has "
                       "at least" },
    { "tp-accept", "channels that peers ask for in band are made" },
    { "cip", "Entities have CFG1_CAP241: what they send can be encrypted" },
    { "cip-migrate-keys", "CIP keys are in the migration stream; without, the "
                          "destination needs keys anew; a stream with keys "
                          "must not be loaded twice" },
    { "cip-icv-last", "the ICV is the last 96 bits of the tag, not the first" },
    { "cip-window", "packets that one may come behind others by, a power of "
                    "two from 64 to 65536" },
    { "cip-sn-last", "SN after which a CIP key is exhausted" },
    { "poll-looks", "looks in a row by software that polls, from which on nobody else is "
                    "woken; 0: always somebody is" },
    { "poll-pause", "microseconds between two looks in a row, at most" },
    { "poll-time", "microseconds without a look after which nobody polls any more, at "
                   "most 1000000" },
};

void ubc_engine_props_describe(ObjectClass *klass)
{
    for (unsigned i = 0; i < ARRAY_SIZE(descriptions); i++) {
        object_class_property_set_description(klass, descriptions[i].name,
                                              descriptions[i].text);
    }
}
