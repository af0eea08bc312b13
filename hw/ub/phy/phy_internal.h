/*
 * What is inside a UbPhy, for the unit tests of hw/ub/phy: others use the
 * requests and views of ub/phy.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef HW_UB_PHY_INTERNAL_H
#define HW_UB_PHY_INTERNAL_H

#include "lmsm.h"
#include "pcs.h"
#include "ub/phy.h"

UbLmsm *ub_phy_lmsm(UbPhy *phy);
const UbPcsTx *ub_phy_pcs_tx(const UbPhy *phy);
UbPcsRx *ub_phy_pcs_rx(UbPhy *phy);

#endif
