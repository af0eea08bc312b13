/*
 * ubc: doorbells and properties of the transaction engine.
 *
 * A doorbell does not wait for the lock (see ubc-pci-bell.c): it is put into a
 * queue that the next holder of the lock takes first.  When that is full, the
 * processor that rings waits after all.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "qemu/osdep.h"
#include "qemu/atomic.h"
#include "hw/qdev-properties.h"
#include "qapi/error.h"
#include "ubc-pci.h"

#define NS_PER_US 1000

static uint64_t page_read(void *opaque, hwaddr addr, unsigned size)
{
    return 0;
}

static bool page_bell_note(UbcPci *s, hwaddr addr, uint64_t value)
{
    bool room;

    qemu_mutex_lock(&s->page_lock);
    room = s->page_bells < ARRAY_SIZE(s->page_bell);
    if (room) {
        s->page_bell[s->page_bells] = (UbcPageBell){ addr, value };
        qatomic_set(&s->page_bells, s->page_bells + 1);
    }
    qemu_mutex_unlock(&s->page_lock);
    return room;
}

static void page_bell_ring(UbcPci *s, const UbcPageBell *b)
{
    ubc_bell(s->ubc, b->addr / UBQ_PAGE, b->addr % UBQ_PAGE, b->value,
             ubc_pci_now(s));
}

static void page_write(void *opaque, hwaddr addr, uint64_t value,
                       unsigned size)
{
    UbcPci *s = opaque;
    UbcPageBell bell = { addr, value };

    if (page_bell_note(s, addr, value)) {
        qemu_bh_schedule(s->run_bh);
        return;
    }
    ubc_pci_lock(s);
    page_bell_ring(s, &bell);
    qemu_mutex_unlock(&s->lock);
}

void ubc_pci_page_bells_take(UbcPci *s)
{
    UbcPageBell bells[ARRAY_SIZE(s->page_bell)];
    unsigned n;

    if (!qatomic_read(&s->page_bells)) {
        return;
    }
    qemu_mutex_lock(&s->page_lock);
    n = s->page_bells;
    memcpy(bells, s->page_bell, n * sizeof(bells[0]));
    qatomic_set(&s->page_bells, 0);
    qemu_mutex_unlock(&s->page_lock);
    for (unsigned i = 0; i < n; i++) {
        page_bell_ring(s, &bells[i]);
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
    qemu_mutex_init(&s->page_lock);
    memory_region_init_io(&s->pages, OBJECT(s), &page_ops, s, "ubc-doorbells",
                          (uint64_t)s->engine.contexts * UBQ_PAGE);
    pci_register_bar(PCI_DEVICE(s), 2, PCI_BASE_ADDRESS_SPACE_MEMORY |
                     PCI_BASE_ADDRESS_MEM_TYPE_64, &s->pages);
}

void ubc_pci_engine_exit(UbcPci *s)
{
    qemu_mutex_destroy(&s->page_lock);
}

bool ubc_engine_props_apply(const UbcEngineProps *p, UbcConfig *c,
                            Error **errp)
{
    if (!is_power_of_2(p->contexts) || p->contexts > UBC_MAX_CONTEXTS) {
        error_setg(errp, "contexts must be a power of two, at most %u",
                   UBC_MAX_CONTEXTS);
        return false;
    }
    c->urma.pages = p->contexts;
    for (unsigned i = 0; i < UB_TPC_NUM; i++) {
        c->node.tp.clock[i].scale = p->tp_scale;
        c->node.tp.clock[i].floor_ns = p->tp_floor * (int64_t)NS_PER_US;
    }
    c->node.ta.scale = p->ta_scale;
    c->node.ta.floor = p->ta_floor * (int64_t)NS_PER_US;
    c->node.net.icrc = p->icrc;
    c->node.accept = p->accept;
    return true;
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
    { "icrc", "packets carry an ICRC that is checked" },
    { "tp-accept", "channels that peers ask for in band are made" },
};

void ubc_engine_props_describe(ObjectClass *klass)
{
    for (unsigned i = 0; i < ARRAY_SIZE(descriptions); i++) {
        object_class_property_set_description(klass, descriptions[i].name,
                                              descriptions[i].text);
    }
}
