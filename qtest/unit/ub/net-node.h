/*
 * A controller with addresses on a bed, and what its tests share.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef NET_NODE_H
#define NET_NODE_H

#include "core/inet.h"
#include "net-bed.h"

/* A controller with CNA 1 (24 bits: 010001) and IP 10.0.0.2, ::2. */
static inline NetBed *controller(unsigned ports)
{
    UbNetConfig conf;
    uint8_t ip[16] = { 10, 0, 0, 2 };
    NetBed *b;

    ub_net_config_init(&conf);
    conf.ports = ports;
    b = bed_new(&conf);
    ub_net_set_primary(b->net, 0x010001);
    g_assert_true(ub_net_ip_add(b->net, UB_LPH_IPV4, ip));
    memset(ip, 0, 16);
    ip[15] = 2;
    g_assert_true(ub_net_ip_add(b->net, UB_LPH_IPV6, ip));
    return b;
}

static inline UbFlow flow_ip(unsigned cfg)
{
    UbFlow f;

    ub_flow_init(&f, cfg);
    if (cfg == UB_LPH_IPV4) {
        put_be32(f.ip.dst, 0x0a000001);
    } else {
        f.ip.dst[15] = 1;
    }
    f.lbf = 0xc000;
    return f;
}

/* ---- Life ------------------------------------------------------------------------- */

static inline void bad(UbNetConfig conf)
{
    static const UbNetOps ops = { .kick = bed_kick };

    g_assert_nonnull(ub_net_config_check(&conf));
    g_assert_null(ub_net_new(&conf, &ops, NULL));
}

#endif
