/*
 * Commands to a switch: lines, events, life.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <string.h>

#include "admin.h"

/* A line of what is given up. */
static char *line_of(json_t *o)
{
    char *text = json_dumps(o, JSON_COMPACT | JSON_PRESERVE_ORDER);
    size_t len = text ? strlen(text) : 0;
    char *line = malloc(len + 2);

    if (line) {
        memcpy(line, text ? text : "", len);
        memcpy(line + len, "\n", 2);
    }
    free(text);
    json_decref(o);
    return line;
}

static AdminCommand *find_command(const char *name)
{
    static const AdminRow *const tables[] = { admin_queries, admin_changes,
                                              admin_slots, admin_ethernet };

    for (unsigned t = 0; t < G_N_ELEMENTS(tables); t++) {
        for (const AdminRow *r = tables[t]; r->name; r++) {
            if (!strcmp(r->name, name)) {
                return r->run;
            }
        }
    }
    return NULL;
}

/* "execute", "arguments", "id"; the result or NULL with a->error. */
static json_t *obey(UbSwitchAdmin *a, json_t *request)
{
    const char *name = json_string_value(json_object_get(request, "execute"));
    json_t *args = json_object_get(request, "arguments");
    AdminCommand *run;
    json_t *none, *result;

    if (!name) {
        return admin_error(a, "a command is an object with \"execute\"");
    }
    if (args && !json_is_object(args)) {
        return admin_error(a, "\"arguments\" is an object");
    }
    run = find_command(name);
    if (!run) {
        return admin_error(a, "no command \"%.64s\"", name);
    }
    none = json_object();
    result = run(a, args ? args : none);
    json_decref(none);
    return result;
}

void ub_switch_admin_set_wires(UbSwitchAdmin *a,
                               void (*get)(void *opaque, unsigned port,
                                           UbSwitchWire *out), void *opaque)
{
    a->wires = get;
    a->wires_opaque = opaque;
}

char *ub_switch_admin_line(UbSwitchAdmin *a, int64_t now, const char *line,
                           size_t len)
{
    json_t *request, *result, *answer, *id;
    json_error_t e;

    while (len && g_ascii_isspace(*line)) {
        line++;
        len--;
    }
    if (!len || *line == '#') {
        return NULL;
    }
    a->now = now;
    request = json_loadb(line, len, JSON_REJECT_DUPLICATES, &e);
    id = json_incref(json_object_get(request, "id"));
    result = request ? obey(a, request) : admin_error(a, "not JSON: %.200s",
                                                      e.text);
    json_decref(request);
    a->failed = !result;
    answer = result ? json_pack("{s:o}", "return", result)
                    : json_pack("{s:{s:s, s:s}}", "error", "class",
                                "GenericError", "desc", a->error);
    if (!answer) {
        /* The description was not UTF-8: a piece of what came in. */
        answer = json_pack("{s:{s:s, s:s}}", "error", "class", "GenericError",
                           "desc", "not a command");
    }
    if (id) {
        json_object_set_new(answer, "id", id);
    }
    return line_of(answer);
}

bool ub_switch_admin_failed(const UbSwitchAdmin *a)
{
    return a->failed;
}

bool ub_switch_admin_quit(const UbSwitchAdmin *a)
{
    return a->quit;
}

char *ub_switch_admin_greeting(UbSwitchAdmin *a)
{
    return line_of(json_pack("{s:{s:i, s:s}}", "ub-switch", "version", 1,
                             "name", a->name));
}

/* ---- Events ----------------------------------------------------------------------------- */

enum { TOLD_LINK = 1, TOLD_PACKETS = 2 };

static uint8_t link_state(UbSwitchAdmin *a, unsigned port)
{
    UbPort *p;

    if (port >= ub_switch_ports(a->sw)) {
        return ub_uboe_up(ub_switch_ethernet_port(a->sw, port))
               ? TOLD_LINK | TOLD_PACKETS : 0;
    }
    p = ub_switch_port(a->sw, port);
    return (ub_port_link_up(p) ? TOLD_LINK : 0) |
           (ub_port_dll_up(p) ? TOLD_PACKETS : 0);
}

void ub_switch_admin_link(UbSwitchAdmin *a, unsigned port)
{
    a->links |= UINT64_C(1) << port;
}

/* A line for all clients; @data is given up. */
static char *event_line(const char *name, json_t *data, int64_t real)
{
    return line_of(json_pack(
        "{s:s, s:o, s:{s:I, s:I}}", "event", name, "data", data,
        "timestamp", "seconds", (json_int_t)(real / 1000000),
        "microseconds", (json_int_t)(real % 1000000)));
}

char *ub_switch_admin_event(UbSwitchAdmin *a, int64_t real)
{
    json_t *slot = admin_slot_event(a);

    if (slot) {
        return event_line("UB_SLOT_CHANGED", slot, real);
    }
    for (; a->links; a->links &= a->links - 1) {
        unsigned port = __builtin_ctzll(a->links);
        uint8_t state = link_state(a, port);

        if (state == a->told[port]) {
            continue;
        }
        a->told[port] = state;
        a->links &= a->links - 1;
        return event_line("UB_LINK_CHANGED", json_pack(
            "{s:i, s:b, s:b}", "port", (int)port, "link-up", state & TOLD_LINK,
            "packets-pass", state & TOLD_PACKETS), real);
    }
    return NULL;
}

/* ---- Capture, life -------------------------------------------------------------------------- */

void ub_switch_admin_capture(UbSwitchAdmin *a, int64_t now, unsigned port,
                             bool sent, unsigned cfg, unsigned vl,
                             const uint8_t *data, size_t len)
{
    if (a->capture) {
        ub_capture_packet(a->capture, now, port, sent, cfg, vl, data, len);
    }
}

void ub_switch_admin_flush(UbSwitchAdmin *a)
{
    if (a->capture) {
        ub_capture_flush(a->capture);
    }
}

UbSwitchAdmin *ub_switch_admin_new(UbSwitch *sw, const char *name)
{
    UbSwitchAdmin *a = g_new0(UbSwitchAdmin, 1);

    a->sw = sw;
    a->name = g_strdup(name);
    return a;
}

void ub_switch_admin_free(UbSwitchAdmin *a)
{
    if (a) {
        ub_capture_free(a->capture);
        g_free(a->name);
        g_free(a);
    }
}
