/*
 * ubc: properties of the window.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef HW_UB_UBC_PCI_WINDOW_H
#define HW_UB_UBC_PCI_WINDOW_H

#include "qemu/units.h"
#include "core/qemu_qdev.h"
#include "ub/ubc.h"

typedef struct UbcWindowProps {
    uint64_t window;
    uint32_t timeout, grace, combine;
    bool rol, literal, again, tee, managed;
} UbcWindowProps;

/* Rows of a table of properties, of the member @m of @type. */
#define UBC_WINDOW_PROPERTIES(type, m)                                     \
    DEFINE_PROP_SIZE("window", type, m.window, 1 * GiB),                   \
    DEFINE_PROP_UINT32("window-timeout", type, m.timeout, 10000),          \
    DEFINE_PROP_UINT32("window-grace", type, m.grace, 1000),               \
    DEFINE_PROP_UINT32("window-combine", type, m.combine, 50000),          \
    DEFINE_PROP_BOOL("window-rol", type, m.rol, false),                    \
    DEFINE_PROP_BOOL("window-uba-literal", type, m.literal, false),        \
    DEFINE_PROP_BOOL("window-again", type, m.again, true),                 \
    DEFINE_PROP_BOOL("window-tee", type, m.tee, false),                    \
    DEFINE_PROP_BOOL("window-managed", type, m.managed, false)

/* False: *errp says why not. */
bool ubc_window_props_apply(const UbcWindowProps *p, UbcConfig *c,
                            Error **errp);
void ubc_window_props_describe(ObjectClass *klass);

#endif
