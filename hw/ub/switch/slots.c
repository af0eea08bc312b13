/*
 * Commands to a switch about its hot-plug slots: what somebody in front of it would
 * see and do.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "admin.h"

static const char *led_name(unsigned led)
{
    static const char *const names[] = {
        [UB_SHP_LED_OFF] = "off", [UB_SHP_LED_ON] = "on",
        [UB_SHP_LED_BLINK] = "blink",
    };

    /* The reserved state is never entered. */
    return names[led];
}

static json_t *slot_info(UbSwitchAdmin *a, unsigned slot)
{
    UbShpInfo s;

    if (!ub_shp_info(ub_switch_shp(a->sw), slot, &s)) {
        return NULL;
    }
    return json_pack("{s:i, s:i, s:i, s:b, s:b, s:b, s:s, s:s, s:b}",
                     "slot", (int)slot, "first-port", (int)s.first,
                     "last-port", (int)s.last, "power", s.power,
                     "present", s.present, "seated", s.seated,
                     "work-led", led_name(s.work_led),
                     "power-led", led_name(s.power_led),
                     "button-enabled", s.heard);
}

static json_t *query_slots(UbSwitchAdmin *a, json_t *args)
{
    json_t *list;

    if (!admin_args(a, args, "{}")) {
        return NULL;
    }
    list = json_array();
    for (unsigned i = 0; i < ub_shp_slots(ub_switch_shp(a->sw)); i++) {
        json_array_append_new(list, slot_info(a, i));
    }
    return list;
}

static json_t *press_button(UbSwitchAdmin *a, json_t *args)
{
    const char *why;
    json_int_t slot;

    if (!admin_args(a, args, "{s:I}", "slot", &slot) ||
        !admin_range(a, "slot", slot, 0, UB_SHP_SLOTS - 1)) {
        return NULL;
    }
    why = ub_shp_press(ub_switch_shp(a->sw), a->now, slot);
    return why ? admin_error(a, "%s", why) : json_object();
}

static json_t *seat(UbSwitchAdmin *a, json_t *args, bool in)
{
    const char *why;
    json_int_t slot;
    int surprise = 0;

    if (!admin_args(a, args, "{s:I, s?:b}", "slot", &slot, "surprise",
                    &surprise) ||
        !admin_range(a, "slot", slot, 0, UB_SHP_SLOTS - 1)) {
        return NULL;
    }
    why = ub_shp_seat(ub_switch_shp(a->sw), a->now, slot, in, surprise);
    return why ? admin_error(a, "%s", why) : json_object();
}

static json_t *insert_device(UbSwitchAdmin *a, json_t *args)
{
    return seat(a, args, true);
}

static json_t *remove_device(UbSwitchAdmin *a, json_t *args)
{
    return seat(a, args, false);
}

const AdminRow admin_slots[] = {
    { "query-slots", query_slots },
    { "slot-button", press_button },
    { "slot-insert", insert_device },
    { "slot-remove", remove_device },
    { NULL, NULL },
};

/* ---- Events ------------------------------------------------------------------ */

void ub_switch_admin_slot(UbSwitchAdmin *a, unsigned slot)
{
    a->slots |= 1u << slot;
}

json_t *admin_slot_event(UbSwitchAdmin *a)
{
    unsigned slot;

    if (!a->slots) {
        return NULL;
    }
    slot = __builtin_ctz(a->slots);
    a->slots &= a->slots - 1;
    return slot_info(a, slot);
}
