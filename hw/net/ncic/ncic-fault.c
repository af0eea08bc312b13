/*
 * NCIC NIC: faults on demand, as properties of the running device
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "qemu/osdep.h"
#include "qapi/error.h"
#include "qapi/visitor.h"
#include "ncic-pci.h"

static const struct {
    const char *name;
    const char *text;
} faults[NCIC_FAULTS] = {
    [NCIC_FAULT_TX_STALL] = {
        "fault-tx-stall",
        "queues (bits) that transmit nothing until the device is reset",
    },
    [NCIC_FAULT_TX_MUTE] = {
        "fault-tx-mute",
        "queues (bits) that complete no transmission until the device is reset",
    },
};

static void get_fault(Object *obj, Visitor *v, const char *name, void *opaque,
                      Error **errp)
{
    uint32_t queues = NCIC_NIC(obj)->eth.fault[GPOINTER_TO_UINT(opaque)];

    visit_type_uint32(v, name, &queues, errp);
}

static void set_fault(Object *obj, Visitor *v, const char *name, void *opaque,
                      Error **errp)
{
    NcicState *s = NCIC_NIC(obj);
    uint32_t queues;

    if (!visit_type_uint32(v, name, &queues, errp)) {
        return;
    }
    if (!DEVICE(obj)->realized) {
        error_setg(errp, "property '%s' is for a device that runs", name);
        return;
    }
    ncic_eth_set_fault(&s->eth, GPOINTER_TO_UINT(opaque), queues);
}

const char *ncic_fault_name(NcicFault fault)
{
    return faults[fault].name;
}

void ncic_fault_class_init(ObjectClass *klass)
{
    for (unsigned i = 0; i < NCIC_FAULTS; i++) {
        object_class_property_add(klass, faults[i].name, "uint32", get_fault,
                                  set_fault, NULL, GUINT_TO_POINTER(i));
        object_class_property_set_description(klass, faults[i].name,
                                              faults[i].text);
    }
}
