/*
 * Network management over UB links (UB 2.0 appendix F): NPIC, by which a switch
 * sets the NPI of the controller behind it, ends here.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <string.h>

#include "internal.h"

/* What is wrong with the PDU, or NULL; *npi: ours, of the last pair with our
 * GUID, else as it was. */
static const char *read_npic(const UbNet *net, const uint8_t *p, uint32_t len,
                             uint32_t *npi)
{
    unsigned pairs;

    if (len < UB_NPIC_HEADER) {
        return "NPIC that is cut short";
    }
    pairs = get_be16(p + 2);
    if (p[0] != UB_NPIC_CONFIGURE && p[0] != UB_NPIC_CLEAR) {
        return "NPIC with a reserved opcode";
    }
    if (len - UB_NPIC_HEADER < pairs * UB_NPIC_PAIR) {
        return "NPIC with fewer pairs than it says";
    }
    for (const uint8_t *pair = p + UB_NPIC_HEADER; pairs;
         pairs--, pair += UB_NPIC_PAIR) {
        if (!memcmp(pair, net->conf.guid, 16)) {
            *npi = p[0] == UB_NPIC_CLEAR ? 0
                                         : get_be32(pair + 16) & UB_NPI_MASK;
        }
    }
    return NULL;
}

bool net_control(UbNet *net, unsigned port, CorePacket *pkt)
{
    const uint8_t *p = core_packet_data(pkt);
    uint32_t npi = net->npi;
    const char *rule;

    if (ub_control_protocol(p) != UB_CONTROL_NPIC || !net->conf.npic) {
        return false;
    }
    rule = read_npic(net, p + UB_CONTROL_SIZE, pkt->len - UB_CONTROL_SIZE,
                     &npi);
    if (rule) {
        net_drop_rule(net, port, false, UB_NET_DROP_CONTROL, pkt, rule);
        return true;
    }
    net_count(net, port, UB_NET_NPIC);
    core_packet_free(pkt);
    ub_net_change_npi(net, npi);
    return true;
}
