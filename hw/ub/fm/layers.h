/*
 * Maps of VLs: what paths.c uses of layers.c.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef HW_UB_FM_LAYERS_H
#define HW_UB_FM_LAYERS_H

#include "ub/fm.h"

/* VLs that all switches of the fabric have on links between them; 1: one does not say,
 * or has no maps. */
unsigned fm_least_vls(const UbFm *fm);
/* Groups of all ports of switches, by the nodes' levels if there are layers. */
void fm_group_ports(UbFm *fm, const unsigned *level);

#endif
