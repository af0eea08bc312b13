/*
 * Congestion marks of what is forwarded (UB 2.0 §5.3.5): FECN by the occupancy
 * of the egress queue, CAQM's C, I and Hint.
 *
 * CCI is not covered by the ICRC.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "internal.h"

/* Offset of CCI in a packet of a CFG. */
static unsigned cci_at(unsigned cfg)
{
    return ub_lph_is_ip(cfg) ? 0 : cfg == UB_LPH_CNA24 ? 6 : 4;
}

static uint16_t mark_fecn(UbNet *net, uint16_t cci, uint32_t queued, bool edge)
{
    const UbNetConfig *c = &net->conf;

    return ub_cci_mark_fecn(cci, queued >= c->fecn_heavy ? 2
                                 : queued >= c->fecn_light, edge);
}

/*
 * C: the packet met congestion.  I: the increment that the sender asks for by
 * Hint; it is taken back if it would congest, and Hint says how full the queue
 * is, in parts of 255 of where congestion begins.
 */
static uint16_t mark_caqm(UbNet *net, unsigned port, uint16_t cci,
                          uint32_t queued, bool edge)
{
    const UbNetConfig *c = &net->conf;
    uint64_t wish = (uint64_t)(cci & UB_CCI_HINT) * c->caqm_unit;
    uint16_t new = cci;

    if (!(cci & UB_CCI_ENABLE)) {
        return cci;
    }
    if (queued >= c->caqm_congested) {
        new |= UB_CCI_C;
    }
    if (cci & UB_CCI_I && queued + wish > c->caqm_congested) {
        uint64_t full = (uint64_t)queued * 255 / c->caqm_congested;

        new = (new & ~(UB_CCI_I | UB_CCI_HINT)) | (full > 255 ? 255 : full);
        net_count(net, port, UB_NET_CAQM_DENIED);
    }
    if (new != cci) {
        new = (new & ~UB_CCI_LOC) | (edge ? UB_CCI_LOC : 0);
    }
    return new;
}

void net_mark(UbNet *net, unsigned port, unsigned vl, CorePacket *pkt)
{
    const UbNetConfig *c = &net->conf;
    uint8_t *p = core_packet_data(pkt) + cci_at(ub_meta(pkt)->lph_cfg);
    uint16_t cci = get_be16(p), new = cci;
    uint32_t queued = net->port[port].queue[vl].bytes;
    bool edge = c->edge_ports >> port & 1;

    if (c->root_cause && net->ops.starved &&
        net->ops.starved(net->opaque, port, vl)) {
        return;
    }
    if (c->fecn && ub_cci_has_fecn(cci)) {
        new = mark_fecn(net, cci, queued, edge);
        net->port[port].count[UB_NET_MARKED] += new != cci;
    } else if (c->caqm && ub_cci_mode(cci) == UB_CCI_CAQM) {
        new = mark_caqm(net, port, cci, queued, edge);
        net->port[port].count[UB_NET_CAQM_MARKED] += new != cci;
    }
    put_be16(p, new);
}
