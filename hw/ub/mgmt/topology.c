/*
 * What a node says of itself to a scan (UB 2.0 §10.4.3.2): its ports and their
 * neighbours, in slices, and its network addresses.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "internal.h"

/* ---- Topology ---- */

static uint8_t *tlv(uint8_t *p, unsigned type, unsigned size)
{
    memset(p, 0, size);
    ub_mgmt_put(p, UB_MF_TLV_TYPE, type);
    ub_mgmt_put(p, UB_MF_TLV_LENGTH, size);
    return p + size;
}

void ub_mgmt_port_info(UbMgmt *m, unsigned port, uint8_t *p)
{
    uint32_t base = UB_CFG_PORT_BASE(port);
    uint32_t info = ub_mgmt_reg(m, base + UB_PORT_INFO);

    tlv(p, UB_TLV_PORT_INFO, UB_TLV_PORT_INFO_SIZE);
    ub_mgmt_put(p, UB_MF_PORT_T,
                UB_SPACE_GET(UB_PORT_INFO__PORT_TYPE, info));
    ub_mgmt_put(p, UB_MF_PORT_B,
                UB_SPACE_GET(UB_PORT_INFO__ENUMERATION_BOUNDARY, info));
    ub_mgmt_put(p, UB_MF_PORT_LOCAL, port);
    if (m->ops->port_up(m->opaque, port)) {
        ub_mgmt_put(p, UB_MF_PORT_S, 1);
        ub_mgmt_put(p, UB_MF_PORT_REMOTE,
                    UB_SPACE_GET(UB_PORT_NEIGHBOR_PORT_INFO__NEIGHBOR_PORT_IDX,
                                 ub_mgmt_reg(m, base +
                                             UB_PORT_NEIGHBOR_PORT_INFO)));
        ub_mgmt_put_id(p, UB_MF_PORT_GUID,
                       ub_mgmt_reg_id(m->space,
                                      base + UB_PORT_NEIGHBOR_PORT_GUID));
    }
}

static uint8_t *put_cap_info(UbMgmt *m, uint8_t *p)
{
    uint8_t *end = tlv(p, UB_TLV_CAP_INFO, UB_TLV_CAP_INFO_SIZE);

    ub_mgmt_put(p, UB_MF_CAP_SUP_MTU,
                UB_SPACE_GET(UB_CFG0_SUPPORTED_FEATURE__MTU_SUPPORTED,
                             ub_mgmt_reg(m, UB_CFG0_SUPPORTED_FEATURE)));
    ub_mgmt_put(p, UB_MF_CAP_MTU, ub_mgmt_reg(m, UB_CFG0_MTU_CFG));
    ub_mgmt_put(p, UB_MF_CAP_CLASS,
                ub_mgmt_reg(m, UB_CFG1_BASE + UB_CFG1_CLASS_CODE));
    return end;
}

/* A slice has the same ports whoever asks.  Slice 0 has Cap_info, too. */
static UbMgmtStatus topology(UbMgmt *m, const UbScan *s, uint8_t *out,
                             unsigned *len)
{
    unsigned slice = ub_mgmt_get(s->pdu, UB_MF_PDU_STATUS);
    unsigned most = m->cfg.slice_ports;
    unsigned total = (m->cfg.ports + most - 1) / most;
    unsigned first = slice * most, n;
    uint8_t *p = out;

    if (slice >= total) {
        return UB_MGMT_BAD_PARAMETER;
    }
    n = MIN(m->cfg.ports - first, most);
    p = tlv(p, UB_TLV_SLICE_INFO, UB_TLV_SLICE_INFO_SIZE);
    ub_mgmt_put(out, UB_MF_SLICE_TOTAL, total);
    ub_mgmt_put(out, UB_MF_SLICE_ID, slice);
    tlv(p, UB_TLV_PORT_NUM, UB_TLV_PORT_NUM_SIZE);
    ub_mgmt_put(p, UB_MF_PORTS_TOTAL, m->cfg.ports);
    ub_mgmt_put(p, UB_MF_PORTS_HERE, n);
    p += UB_TLV_PORT_NUM_SIZE;
    if (!slice) {
        p = put_cap_info(m, p);
    }
    for (unsigned i = 0; i < n; i++, p += UB_TLV_PORT_INFO_SIZE) {
        ub_mgmt_port_info(m, first + i, p);
    }
    *len = p - out;
    return UB_MGMT_OK;
}

/* ---- Network addresses ---- */

static UbMgmtStatus check_port(const UbMgmt *m, unsigned port)
{
    return m->cfg.port_cna && port < m->cfg.ports ? UB_MGMT_OK
                                                  : UB_MGMT_BAD_PARAMETER;
}

static void set_cna(UbMgmt *m, int64_t now, uint32_t dw, uint32_t cna)
{
    ub_space_write(m->space, now, dw, cna, 0xf);
}

static UbMgmtStatus configure(UbMgmt *m, int64_t now, const UbScan *s)
{
    unsigned op = ub_mgmt_get(s->pdu, UB_MF_PDU_OPCODE);
    unsigned port = ub_mgmt_get(s->pdu, UB_MF_NA_CFG_PORT);
    uint32_t cna = ub_mgmt_get(s->pdu, UB_MF_NA_CFG_CNA);
    UbMgmtStatus status = UB_MGMT_OK;

    switch (op) {
    case UB_SCAN_OP_PRIMARY:
        set_cna(m, now, UB_CFG0_PRIMARY_CNA, cna);
        break;
    case UB_SCAN_OP_PORT:
        status = check_port(m, port);
        if (status == UB_MGMT_OK) {
            set_cna(m, now, UB_CFG_PORT_BASE(port) + UB_PORT_CNA, cna);
        }
        break;
    case UB_SCAN_OP_ALL:
        set_cna(m, now, UB_CFG0_PRIMARY_CNA, cna);
        for (unsigned i = 0; m->cfg.port_cna && i < m->cfg.ports; i++) {
            set_cna(m, now, UB_CFG_PORT_BASE(i) + UB_PORT_CNA, cna);
        }
        break;
    default:
        status = UB_MGMT_BAD_CODE;
    }
    return status;
}

static UbMgmtStatus query(UbMgmt *m, const UbScan *s, uint8_t *pdu)
{
    unsigned op = ub_mgmt_get(s->pdu, UB_MF_PDU_OPCODE);
    unsigned port = ub_mgmt_get(s->pdu, UB_MF_NA_QUERY_PORT);
    uint32_t dw = UB_CFG0_PRIMARY_CNA;

    if (op == UB_SCAN_OP_PORT) {
        if (check_port(m, port) != UB_MGMT_OK) {
            return UB_MGMT_BAD_PARAMETER;
        }
        dw = UB_CFG_PORT_BASE(port) + UB_PORT_CNA;
    } else if (op != UB_SCAN_OP_PRIMARY) {
        return UB_MGMT_BAD_CODE;
    }
    ub_mgmt_put(pdu, UB_MF_NA_DONE_CNA, ub_mgmt_reg(m, dw));
    return UB_MGMT_OK;
}

/* ---- Any scan ---- */

static UbMgmtStatus judge_scan(const UbScan *s, UbId own)
{
    unsigned cmd = ub_mgmt_get(s->pdu, UB_MF_PDU_CMD);
    UbId guid = ub_mgmt_get_id(s->pdu, UB_MF_PDU_GUID);

    if (s->pdu_len != 4 * ub_mgmt_get(s->pdu, UB_MF_PDU_LENGTH)) {
        return UB_MGMT_BAD_LENGTH;
    }
    if (ub_mgmt_get(s->pdu, UB_MF_PDU_VERSION) != UB_SCAN_VERSION ||
        !ub_scan_request_size(cmd)) {
        return UB_MGMT_BAD_CODE;
    }
    if (s->pdu_len != ub_scan_request_size(cmd)) {
        return UB_MGMT_BAD_LENGTH;
    }
    if (!ub_id_same(guid, own) && !(ub_id_zero(guid) && !s->hops)) {
        return UB_MGMT_NO_TARGET;
    }
    return UB_MGMT_OK;
}

unsigned ub_mgmt_scan_answer(UbMgmt *m, int64_t now, const UbScan *s,
                             uint8_t *out)
{
    UbId own = ub_mgmt_reg_id(m->space, UB_CFG0_GUID);
    UbMgmtStatus status = judge_scan(s, own);
    unsigned more = 0;

    memcpy(out, s->pdu, UB_SCAN_PDU);
    if (status == UB_MGMT_OK) {
        switch (ub_mgmt_get(s->pdu, UB_MF_PDU_CMD)) {
        case UB_SCAN_NA_CONFIG:
            status = configure(m, now, s);
            break;
        case UB_SCAN_NA_QUERY:
            status = query(m, s, out);
            more = 4;
            break;
        default:
            status = ub_mgmt_get(s->pdu, UB_MF_PDU_OPCODE) ==
                     UB_SCAN_OP_TOPOLOGY
                     ? topology(m, s, out + UB_SCAN_PDU, &more)
                     : UB_MGMT_BAD_CODE;
        }
    }
    if (status != UB_MGMT_OK) {
        more = 0;
    }
    ub_mgmt_put(out, UB_MF_PDU_VERSION, UB_SCAN_VERSION);
    ub_mgmt_put(out, UB_MF_PDU_OPCODE, 0);
    ub_mgmt_put(out, UB_MF_PDU_STATUS, status);
    ub_mgmt_put(out, UB_MF_PDU_LENGTH, (UB_SCAN_PDU + more) / 4);
    ub_mgmt_put_id(out, UB_MF_PDU_GUID, own);
    return UB_SCAN_PDU + more;
}
