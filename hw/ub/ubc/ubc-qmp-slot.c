/*
 * The monitor's view of hot-plug slots: what somebody in front of the machine would
 * see and do (UB 2.0 appendix G).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "qemu/osdep.h"
#include "qapi/error.h"
#include "qapi/qapi-commands-ub.h"
#include "qapi/qapi-events-ub.h"
#include "qapi/util.h"
#include "ubc-pci.h"

/* By UB_SHP_LED_*; the reserved state is never entered. */
static const UbSlotLed leds[] = {
    [UB_SHP_LED_OFF] = UB_SLOT_LED_OFF, [UB_SHP_LED_ON] = UB_SLOT_LED_ON,
    [UB_SHP_LED_BLINK] = UB_SLOT_LED_BLINK,
};

/* Under the lock. */
static bool slot_look(UbcPci *s, unsigned slot, UbSlotInfo *to)
{
    UbShpInfo info;

    if (!ub_shp_info(ubc_shp(s->ubc), slot, &info)) {
        return false;
    }
    *to = (UbSlotInfo) {
        .slot = slot, .first_port = info.first, .last_port = info.last,
        .power = info.power, .present = info.present, .seated = info.seated,
        .work_led = leds[info.work_led], .power_led = leds[info.power_led],
        .button_enabled = info.heard,
    };
    return true;
}

static void add_slots(UbcPci *s, void *opaque)
{
    UbSlotInfoList ***tail = opaque;
    UbSlotInfo info;

    qemu_mutex_lock(&s->lock);
    for (unsigned i = 0; slot_look(s, i, &info); i++) {
        info.device = object_get_canonical_path(OBJECT(s));
        QAPI_LIST_APPEND(*tail, g_memdup2(&info, sizeof(info)));
    }
    qemu_mutex_unlock(&s->lock);
}

UbSlotInfoList *qmp_query_ub_slots(Error **errp)
{
    UbSlotInfoList *list = NULL, **tail = &list;

    ubc_pci_foreach(add_slots, &tail);
    return list;
}

void qmp_ub_slot_button(const char *device, uint8_t slot, Error **errp)
{
    UbcPci *s = ubc_pci_find(device, errp);
    const char *why;

    if (!s) {
        return;
    }
    ubc_pci_lock(s);
    why = ub_shp_press(ubc_shp(s->ubc), ubc_pci_now(s), slot);
    qemu_mutex_unlock(&s->lock);
    if (why) {
        error_setg(errp, "%s", why);
    }
    qemu_bh_schedule(s->run_bh);
}

static void seat(const char *device, uint8_t slot, bool in, bool surprise,
                 Error **errp)
{
    UbcPci *s = ubc_pci_find(device, errp);
    const char *why;

    if (!s) {
        return;
    }
    ubc_pci_lock(s);
    why = ub_shp_seat(ubc_shp(s->ubc), ubc_pci_now(s), slot, in, surprise);
    qemu_mutex_unlock(&s->lock);
    if (why) {
        error_setg(errp, "%s", why);
    }
    qemu_bh_schedule(s->run_bh);
}

void qmp_ub_slot_insert(const char *device, uint8_t slot, bool has_surprise,
                        bool surprise, Error **errp)
{
    seat(device, slot, true, has_surprise && surprise, errp);
}

void qmp_ub_slot_remove(const char *device, uint8_t slot, bool has_surprise,
                        bool surprise, Error **errp)
{
    seat(device, slot, false, has_surprise && surprise, errp);
}

bool ubc_pci_tell_slots(UbcPci *s)
{
    UbSlotInfo info[UB_SHP_SLOTS];
    uint32_t changed;

    if (qemu_mutex_trylock(&s->lock)) {
        return false;
    }
    changed = s->slots_changed;
    s->slots_changed = 0;
    for (uint32_t left = changed; left; left &= left - 1) {
        slot_look(s, ctz32(left), &info[ctz32(left)]);
    }
    qemu_mutex_unlock(&s->lock);
    for (; changed; changed &= changed - 1) {
        UbSlotInfo *slot = &info[ctz32(changed)];

        slot->device = object_get_canonical_path(OBJECT(s));
        qapi_event_send_ub_slot_changed(slot);
        g_free(slot->device);
    }
    return true;
}
