/*
 * The Scan Header of enumeration: a packet that finds its way by the numbers of
 * the ports that it shall leave through (UB 2.0 §10.4.3.2).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "ub/mgmt_format.h"

/* Bits of a port number by Type; 0: reserved. */
static const uint8_t hop_bits[16] = { 4, 8, 16 };

unsigned ub_scan_path_bytes(unsigned type, unsigned hops)
{
    return (hops * hop_bits[type & 15] + 31) / 32 * 4;
}

/* The first of a path's 32-bit words is for the first hops, beginning with its
 * least significant bits. */
unsigned ub_scan_hop(const uint8_t *path, unsigned type, unsigned i)
{
    unsigned bits = hop_bits[type & 15], bit = i * bits;

    return get_be32(path + bit / 32 * 4) >> bit % 32 & ((1u << bits) - 1);
}

void ub_scan_set_hop(uint8_t *path, unsigned type, unsigned i, unsigned port)
{
    unsigned bits = hop_bits[type & 15], bit = i * bits;
    uint32_t mask = ((1u << bits) - 1) << bit % 32;
    uint8_t *p = path + bit / 32 * 4;

    put_be32(p, (get_be32(p) & ~mask) | (port << bit % 32 & mask));
}

const char *ub_scan_parse(UbScan *s, const uint8_t *data, size_t len)
{
    unsigned head;

    if (len < UB_SCAN_HEADER + UB_SCAN_PDU || len > UB_SCAN_MAX) {
        return "a Scan Header and Scan PDU have 28 to 1024 bytes";
    }
    *s = (UbScan) {
        .r = ub_mgmt_get(data, UB_MF_SCAN_R),
        .type = ub_mgmt_get(data, UB_MF_SCAN_TYPE),
        .hops = ub_mgmt_get(data, UB_MF_SCAN_HOPS),
        .step = ub_mgmt_get(data, UB_MF_SCAN_STEP),
    };
    if (!hop_bits[s->type]) {
        return "Scan Header: Type is reserved";
    }
    s->path = ub_scan_path_bytes(s->type, s->hops);
    head = UB_SCAN_HEADER + s->path * (s->r ? 2 : 1);
    if (len < head + UB_SCAN_PDU) {
        return "Scan Header: the paths leave no room for a Scan PDU";
    }
    s->forward = data + UB_SCAN_HEADER;
    s->back = s->r ? s->forward + s->path : NULL;
    s->pdu = data + head;
    s->pdu_len = len - head;
    return NULL;
}

UbScanNext ub_scan_advance(UbScan *s, uint8_t *data, unsigned *port)
{
    if (s->step >= s->hops) {
        return UB_SCAN_ASTRAY;
    }
    s->step++;
    ub_mgmt_put(data, UB_MF_SCAN_STEP, s->step);
    if (s->step == s->hops) {
        return UB_SCAN_HERE;
    }
    *port = ub_scan_hop(s->forward, s->type, s->step);
    return UB_SCAN_FORWARD;
}

/* ---- Requests ---- */

unsigned ub_scan_request_size(unsigned cmd)
{
    static const uint8_t size[] = {
        [UB_SCAN_TOPOLOGY] = 24, [UB_SCAN_NA_CONFIG] = 32,
        [UB_SCAN_NA_QUERY] = 28,
    };

    return cmd < sizeof(size) ? size[cmd] : 0;
}

/* The narrowest port numbers that the way has room for. */
static unsigned way_type(const UbScanWay *way)
{
    unsigned all = 0;

    for (unsigned i = 0; i < way->hops; i++) {
        all |= way->forward[i] | way->back[i];
    }
    return all > 0xff ? 2 : all > 0xf;
}

static void put_ask(const UbScanAsk *ask, uint8_t *pdu)
{
    ub_mgmt_put(pdu, UB_MF_PDU_VERSION, UB_SCAN_VERSION);
    ub_mgmt_put(pdu, UB_MF_PDU_CMD, ask->cmd);
    ub_mgmt_put(pdu, UB_MF_PDU_OPCODE, ask->opcode);
    ub_mgmt_put(pdu, UB_MF_PDU_LENGTH, ub_scan_request_size(ask->cmd) / 4);
    ub_mgmt_put_id(pdu, UB_MF_PDU_GUID, ask->guid);
    switch (ask->cmd) {
    case UB_SCAN_NA_CONFIG:
        ub_mgmt_put(pdu, UB_MF_NA_CFG_PORT, ask->port);
        ub_mgmt_put(pdu, UB_MF_NA_CFG_CNA, ask->cna);
        break;
    case UB_SCAN_NA_QUERY:
        ub_mgmt_put(pdu, UB_MF_NA_QUERY_PORT, ask->port);
        break;
    default:
        ub_mgmt_put(pdu, UB_MF_PDU_STATUS, ask->slice);
    }
}

unsigned ub_scan_put(uint8_t *data, const UbScanWay *way, const UbScanAsk *ask)
{
    unsigned type = way_type(way), path = ub_scan_path_bytes(type, way->hops);
    unsigned size = ub_scan_request_size(ask->cmd);
    unsigned head = UB_SCAN_HEADER + 2 * path;

    if (!size || head + size > UB_SCAN_MAX) {
        return 0;
    }
    memset(data, 0, head + size);
    ub_mgmt_put(data, UB_MF_SCAN_R, 1);
    ub_mgmt_put(data, UB_MF_SCAN_TYPE, type);
    ub_mgmt_put(data, UB_MF_SCAN_HOPS, way->hops);
    for (unsigned i = 0; i < way->hops; i++) {
        ub_scan_set_hop(data + UB_SCAN_HEADER, type, i, way->forward[i]);
        ub_scan_set_hop(data + UB_SCAN_HEADER + path, type, i, way->back[i]);
    }
    put_ask(ask, data + head);
    return head + size;
}
