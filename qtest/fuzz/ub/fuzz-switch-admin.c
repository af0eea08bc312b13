/*
 * Fuzzer of a switch's commands: the input is lines.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <glib.h>

#include "ub/switch_admin.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static UbSwitchAdmin *admin;

static void op_kick(void *opaque)
{
}

static size_t op_send(void *opaque, unsigned port, const uint8_t *data,
                      size_t len)
{
    return len;
}

static void op_close(void *opaque, unsigned port)
{
}

static void op_slot(void *opaque, unsigned slot)
{
    if (admin) {
        ub_switch_admin_slot(admin, slot);
    }
}

static void op_link(void *opaque, unsigned port)
{
    ub_switch_admin_link(admin, port);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const UbSwitchOps ops = { .kick = op_kick, .wire_send = op_send,
                                     .wire_close = op_close,
                                     .link = op_link, .slot = op_slot };
    UbSwitchConfig conf;
    const char *why;
    UbSwitch *sw;
    int64_t now = 0;

    ub_switch_config_init(&conf);
    conf.ports = 3;
    conf.net.route_entries = 16;
    ub_shp_config_add(&conf.shp, "1-2+");
    sw = ub_switch_new(&conf, &ops, NULL, &why);
    admin = ub_switch_admin_new(sw, "fuzz");
    while (size) {
        const uint8_t *end = memchr(data, '\n', size);
        size_t len = end ? (size_t)(end - data) : size;

        /* No files. */
        if (!g_strstr_len((const char *)data, len, "capture") &&
            !memchr(data, '\\', len)) {
            free(ub_switch_admin_line(admin, now, (const char *)data, len));
        }
        free(ub_switch_admin_event(admin, now));
        ub_switch_run(sw, now);
        now += 1000;
        data += len + (end != NULL);
        size -= len + (end != NULL);
    }
    ub_switch_admin_free(admin);
    admin = NULL;
    ub_switch_free(sw);
    return 0;
}
