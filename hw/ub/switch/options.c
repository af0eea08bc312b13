/*
 * The switch's own settings by name.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <glib.h>

#include "internal.h"

#define FLAG(name, member, text) \
    { name, CORE_OPTION_BOOL, 0, false, false, \
      offsetof(UbSwitchConfig, member), 0, 1, text }

static const CoreOption options[] = {
    FLAG("edge-auto", edge_auto,
         "ports whose neighbour is a controller are edge ports, others are not"),
    FLAG("ip-notify", ip_notify, "IP notify of a neighbour makes a route"),
    FLAG("pass-dhcp", pass_dhcp, "DHCP goes to all other edge ports"),
};

const CoreOption *ub_switch_options(unsigned *n)
{
    *n = G_N_ELEMENTS(options);
    return options;
}
