/*
 * Commands to a switch: what the files share.
 *
 *   values.c       ports, GUIDs, prefixes as JSON
 *   ether-admin.c  Ethernet ports
 *   query.c        commands that only look
 *   change.c       commands that change something
 *   slots.c        those about hot-plug slots
 *   admin.c        lines, events, life
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef HW_UB_SWITCH_ADMIN_H
#define HW_UB_SWITCH_ADMIN_H

#include <glib.h>
#include <jansson.h>

#include "ub/capture.h"
#include "ub/switch_admin.h"

struct UbSwitchAdmin {
    UbSwitch *sw;
    char *name;
    int64_t now;
    bool failed, quit;
    uint64_t links;    /* ports whose link may have another state */
    uint8_t told[UB_SWITCH_MAX_PORTS]; /* the state last told */
    uint32_t slots;    /* that show something else than before */
    UbCapture *capture;
    void (*wires)(void *opaque, unsigned port, UbSwitchWire *out);
    void *wires_opaque;
    char error[256];
};

/*
 * A command: its result, which becomes the caller's, or NULL with a->error set.
 * @args is an object.
 */
typedef json_t *AdminCommand(UbSwitchAdmin *a, json_t *args);
typedef struct AdminRow {
    const char *name;
    AdminCommand *run;
} AdminRow;

extern const AdminRow admin_queries[], admin_changes[], admin_slots[],
                      admin_ethernet[];

/* ---- values.c ---- */
/* Set a->error; NULL. */
json_t *admin_error(UbSwitchAdmin *a, const char *format, ...)
    G_GNUC_PRINTF(2, 3);
/* Members of @args by json_unpack_ex(), no others. */
#define admin_args(a, args, ...)                                         \
    (json_unpack_ex(args, &(json_error_t){ 0 }, JSON_STRICT, __VA_ARGS__) \
     ? (admin_error(a, "arguments are missing, unknown or of a wrong "    \
                    "type"), false) : true)
/* The number of a port that is a UB link, of any; false: there is no such port. */
bool admin_port(UbSwitchAdmin *a, json_int_t n);
bool admin_any_port(UbSwitchAdmin *a, json_int_t n);
/* A list of port numbers; which of them are to be UB links. */
json_t *admin_ports(uint64_t ports);
bool admin_get_links(UbSwitchAdmin *a, const json_t *list, uint64_t *ports);
bool admin_get_ports(UbSwitchAdmin *a, const json_t *list, uint64_t *ports);
json_t *admin_guid(const uint8_t guid[16]);
bool admin_get_guid(UbSwitchAdmin *a, const char *text, uint8_t guid[16]);
json_t *admin_prefix(const UbIpRoute *r);
bool admin_get_prefix(UbSwitchAdmin *a, const char *text, UbIpRoute *r);
/* An integer of @min to @max. */
bool admin_range(UbSwitchAdmin *a, const char *what, json_int_t n,
                 json_int_t min, json_int_t max);
/* Settings by name, of the network layer too. */
json_t *admin_settings(const UbSwitchConfig *c);
/* False: no such setting, or a wrong type. */
bool admin_set(UbSwitchAdmin *a, UbSwitchConfig *c, const char *name,
               const json_t *value);

/* ---- slots.c ---- */
/* What the next slot shows that has changed, or NULL. */
json_t *admin_slot_event(UbSwitchAdmin *a);

/* ---- ether-admin.c ---- */
json_t *admin_ether_counters(const UbUboe *u);
/* The Ethernet port of a number, or NULL. */
UbUboe *admin_ethernet_port(UbSwitchAdmin *a, json_int_t n);

#endif
