/*
 * Configuration messages: one register read or written (UB 2.0 §10.4.1, §10.4.3.3).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "internal.h"

/* CFG1 has a range of addresses; all else is CFG0's. */
static bool is_cfg1(uint32_t dw)
{
    return dw >= UB_CFG1_BASE && dw < UB_CFG_PORT_BASE(0);
}

bool ub_mgmt_is_config(const UbMgmtMessage *row)
{
    return row && row->id >= UB_MGMT_MSG_CFG0_READ &&
           row->id <= UB_MGMT_MSG_CFG1_WRITE;
}

static bool is_reset(unsigned entity, uint32_t dw, uint32_t value,
                     uint8_t byte_en)
{
    return !entity && dw == UB_CFG0_DEV_RST && byte_en & 1 &&
           value & UB_CFG0_DEV_RST__ALL;
}

/* The UBFM is who has Mgmt and the CNA that we were told is its (§D.2.1): another
 * manager may have the rest of the node, and not what is the UBFM's alone. */
static bool is_ubfm(UbMgmt *m, const UbMgmtAddr *a)
{
    uint32_t cna = ub_mgmt_reg(m, UB_CFG0_UBFM_CNA);

    return a->mgmt && cna && a->scna == cna;
}

UbMgmtStatus ub_mgmt_config_access(UbMgmt *m, UbMgmtCall *c)
{
    unsigned entity = ub_mgmt_get(c->pdu, UB_MF_CFG_ENTITY);
    uint32_t dw = ub_mgmt_get(c->pdu, UB_MF_CFG_ADDRESS);
    uint32_t value = ub_mgmt_get(c->pdu, UB_MF_CFG_DATA);
    uint8_t byte_en = ub_mgmt_get(c->pdu, UB_MF_CFG_BYTE_EN);
    bool cfg1 = c->row->id == UB_MGMT_MSG_CFG1_READ ||
                c->row->id == UB_MGMT_MSG_CFG1_WRITE;
    UbSpace *space = ub_mgmt_entity(m, entity);

    if (!space) {
        return UB_MGMT_NO_TARGET;
    }
    if (is_cfg1(dw) != cfg1) {
        return UB_MGMT_BAD_ADDRESS;
    }
    if (ub_space_managed(space, dw) && !is_ubfm(m, c->from)) {
        return UB_MGMT_NO_PERMISSION;
    }
    c->out_len = 16;
    if (c->row->id == UB_MGMT_MSG_CFG0_READ ||
        c->row->id == UB_MGMT_MSG_CFG1_READ) {
        ub_mgmt_put(c->out, UB_MF_CFG_DONE_DATA, ub_space_read(space, dw));
    } else {
        ub_space_write(space, c->now, dw, value, byte_en);
        c->mute = is_reset(entity, dw, value, byte_en);
    }
    return UB_MGMT_OK;
}
