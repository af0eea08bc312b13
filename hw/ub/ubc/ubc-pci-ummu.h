/*
 * ubc: properties of the UMMU.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef HW_UB_UBC_PCI_UMMU_H
#define HW_UB_UBC_PCI_UMMU_H

#include "core/qemu_qdev.h"
#include "ub/ubc.h"

typedef struct UbcUmmuProps {
    bool strict, positive, lenient, stage2, mapt_physical;
} UbcUmmuProps;

/* Rows of a table of properties, of the member @m of @type. */
#define UBC_UMMU_PROPERTIES(type, m)                                       \
    DEFINE_PROP_BOOL("ummu-strict", type, m.strict, false),                \
    DEFINE_PROP_BOOL("ummu-positive", type, m.positive, true),             \
    DEFINE_PROP_BOOL("ummu-lenient", type, m.lenient, false),              \
    DEFINE_PROP_BOOL("ummu-stage2", type, m.stage2, true),                 \
    DEFINE_PROP_BOOL("ummu-mapt-physical", type, m.mapt_physical, false)

void ubc_ummu_props_apply(const UbcUmmuProps *p, UbcConfig *c);
void ubc_ummu_props_describe(ObjectClass *klass);

#endif
