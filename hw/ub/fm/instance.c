/*
 * Bus instances: entries of virtual machines that a manager makes at nodes, and whether
 * a node may send as one (UB 2.0 §10.4.3.3, §10.5.1, §D.1.15).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "ub/cfg_regs.h"
#include "ub/fm_pool.h"

static int tell(UbFmPool *p, unsigned node, UbMgmtId id, const uint8_t *pdu,
                unsigned len, const char *what)
{
    uint8_t answer[UB_MGMT_PDU_MAX];
    unsigned answer_len = 0;
    int status = ub_fm_message(p->fm, node, id, pdu, len, answer, &answer_len);

    if (p->step) {
        p->step(p->opaque, what, status);
    }
    return status;
}

int ub_fm_instance_create(UbFmPool *p, unsigned node, UbId guid, UbId eid,
                          uint16_t upi)
{
    uint8_t pdu[36] = { 0 };

    /* The message has 15 bits: more would be another partition. */
    if (!upi || upi >= UB_MGMT_UPI) {
        return UB_MGMT_BAD_PARAMETER;
    }
    ub_mgmt_put_id(pdu, UB_MF_BI_CREATE_GUID, guid);
    ub_mgmt_put_id(pdu, UB_MF_BI_CREATE_EID, eid);
    ub_mgmt_put(pdu, UB_MF_BI_CREATE_UPI, upi);
    return tell(p, node, UB_MGMT_MSG_BI_CREATE, pdu, sizeof(pdu),
                "instance");
}

int ub_fm_instance_destroy(UbFmPool *p, unsigned node, UbId guid)
{
    uint8_t pdu[16] = { 0 };

    ub_mgmt_put_id(pdu, UB_MF_BI_DESTROY_GUID, guid);
    return tell(p, node, UB_MGMT_MSG_BI_DESTROY, pdu, sizeof(pdu),
                "end-instance");
}

int ub_fm_trust(UbFmPool *p, unsigned node, bool trusted)
{
    uint8_t pdu[16] = { 0 }, answer[UB_MGMT_PDU_MAX] = { 0 };
    unsigned len = 0;
    int status;

    ub_mgmt_put(pdu, UB_MF_CFG_BYTE_EN, 0xf);
    ub_mgmt_put(pdu, UB_MF_CFG_ADDRESS, UB_CFG0_TRUST_EN);
    ub_mgmt_put(pdu, UB_MF_CFG_DATA, trusted);
    status = tell(p, node, UB_MGMT_MSG_CFG0_WRITE, pdu, sizeof(pdu), "trust");
    if (status) {
        return status;
    }
    /* A write of what is not there succeeds, too (§10.4.1).  A read has no data. */
    ub_mgmt_put(pdu, UB_MF_CFG_DATA, 0);
    status = ub_fm_message(p->fm, node, UB_MGMT_MSG_CFG0_READ, pdu, sizeof(pdu),
                           answer, &len);
    return status || ub_mgmt_get(answer, UB_MF_CFG_DONE_DATA) == trusted
           ? status : UB_MGMT_BAD_PARAMETER;
}
