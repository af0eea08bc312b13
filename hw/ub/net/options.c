/*
 * The network layer's settings by name.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <glib.h>

#include "internal.h"

#define MEMBER(name, kind, n, member, min, max, text) \
    { name, CORE_OPTION_##kind, n, false, false, offsetof(UbNetConfig, member), \
      min, max, text }
#define FLAG(name, member, text) MEMBER(name, BOOL, 0, member, 0, 1, text)

static const CoreOption options[] = {
    { "icrc", CORE_OPTION_BOOL, 0, true, false, offsetof(UbNetConfig, icrc),
      0, 1, "packets carry an ICRC that is checked" },
    FLAG("icrc-scan", icrc_scan, "the same of enumeration messages"),
    FLAG("icrc-transit", icrc_transit,
         "the ICRC of what is forwarded is checked too"),
    MEMBER("mtu", U32, 0, mtu, 1024, 8192,
           "transport MTU: 1024, 4096 or 8192 bytes"),
    MEMBER("sl-vl", U8, 16, sl_vl, 0, UB_NET_VLS - 1,
           "VL of each SL"),
    MEMBER("dscp-sl", U8, 64, dscp_sl, 0, 15, "SL of each DSCP"),
    MEMBER("sl-dscp", U8, 16, sl_dscp, 0, 63, "DSCP of each SL"),
    MEMBER("vl-strict", U16, 0, vl_strict, 0, UINT16_MAX,
           "bit v: VL v goes before all that are weighted, higher ones first"),
    MEMBER("vl-weight", U16, UB_NET_VLS, vl_weight, 0, UINT16_MAX,
           "weight of each VL"),
    MEMBER("vl-out", U8, UB_NET_VLS, vl_out, 0, UB_NET_VLS - 1,
           "VL by which what came by each VL leaves"),
    MEMBER("watchdog", NS, 0, watchdog, 0, UINT64_C(1) << 60,
           "nanoseconds after which an egress queue that is not served is "
           "thrown away; 0: never"),
    MEMBER("queue-limit", U32, 0, queue_limit, 1, UINT32_MAX,
           "bytes of own packets in the egress queue of a port and VL"),
    MEMBER("transit-limit", U32, 0, transit_limit, 0, UINT32_MAX,
           "bytes of forwarded ones, which are lost beyond; 0: credits bound "
           "them"),
    FLAG("fecn", fecn, "what is forwarded is marked with FECN"),
    MEMBER("fecn-light", U32, 0, fecn_light, 1, UINT32_MAX,
           "bytes in an egress queue from which it is lightly congested"),
    MEMBER("fecn-heavy", U32, 0, fecn_heavy, 1, UINT32_MAX,
           "bytes from which it is heavily congested"),
    FLAG("caqm", caqm, "what is forwarded is marked by CAQM"),
    MEMBER("caqm-congested", U32, 0, caqm_congested, 1, UINT32_MAX,
           "bytes in an egress queue from which C is set"),
    MEMBER("caqm-unit", U32, 0, caqm_unit, 1, UINT32_MAX,
           "bytes of one Hint"),
    FLAG("root-cause", root_cause,
         "a queue that waits for credits is not marked"),
    MEMBER("edge-ports", BITS, 0, edge_ports, 0, UINT64_MAX,
           "bit p: a controller is behind port p (Loc)"),
    FLAG("ecn-copy", ecn_copy,
         "of IP, ECN becomes FECN when sent and FECN becomes ECN when "
         "received"),
    FLAG("hops", hops, "forwarding counts TTL and Hop Limit down"),
    MEMBER("hash-seed", U32, 0, seed, 0, UINT32_MAX,
           "of the hash that spreads flows over ports"),
    FLAG("npic", npic, "NPIC of the neighbour is obeyed, and ends here"),
    FLAG("anti-spoof", anti_spoof, "own senders have own addresses only"),
    MEMBER("border-ports", BITS, 0, border_ports, 0, UINT64_MAX,
           "bit p: port p is at the border of the Domain: of packets of IP, "
           "those alone enter that have E_Bit 0 and a TokenValue"),
    FLAG("border-plain", border_plain,
         "IP that is no UB packet enters there, too"),
    { "exact", CORE_OPTION_BOOL, 0, false, true,
      offsetof(UbNetConfig, exact_supported), 0, 1,
      "ROUTE_TABLE has Exact Route Enable" },
    { "route-default", CORE_OPTION_BITS, 0, false, true,
      offsetof(UbNetConfig, route_default), 0, UINT64_MAX,
      "power-on value of the default entry: bit p: port p" },
};

const CoreOption *ub_net_options(unsigned *n)
{
    *n = G_N_ELEMENTS(options);
    return options;
}
