/*
 * ncic-mthca: the port: states, addresses, what the transport core knows of
 * it.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "internal.h"

uint8_t mthca_port_state(const Mthca *m)
{
    return m->port.info[32] & 0xf;
}

uint16_t mthca_port_lid(const Mthca *m)
{
    return get_be16(m->port.info + 16);
}

void mthca_port_apply(Mthca *m)
{
    const MthcaPort *p = &m->port;
    RdmaPort port = *rdma_port(m->rdma);

    memcpy(port.mac, m->cfg.mac, 6);
    port.link_up = p->link && p->up;
    port.lid = mthca_port_lid(m);
    port.lmc = p->info[34] & 7;
    for (unsigned i = 0; i < MTHCA_MAX_GIDS; i++) {
        memcpy(port.gid[i], p->info + 8, 8);
        memcpy(port.gid[i] + 8, p->guid[i], 8);
        if (!get_be64(p->guid[i])) {
            memset(port.gid[i], 0, 16);
        }
    }
    memcpy(port.pkey, p->pkey, sizeof(port.pkey));
    port.num_pkeys = MTHCA_MAX_PKEYS;
    rdma_port_set(m->rdma, &port);
}

void mthca_port_state_set(Mthca *m, uint8_t state, uint8_t phys)
{
    uint8_t *info = m->port.info;
    uint8_t old = info[32] & 0xf;

    info[32] = (info[32] & 0xf0) | state;
    info[33] = (info[33] & 0x0f) | phys << 4;
    mthca_port_apply(m);
    if (old == state) {
        return;
    }
    if (m->cfg.ops->port) {
        m->cfg.ops->port(m->cfg.rdma.ops_opaque, state, mthca_port_lid(m));
    }
    /*
     * Events tell of ACTIVE and of its loss only: software that polls takes
     * INIT and ARMED as they come.
     */
    if (state == PORT_ACTIVE || old == PORT_ACTIVE) {
        mthca_event_port(m, state == PORT_ACTIVE);
    }
}

static void count_violations(uint8_t *info, uint64_t *seen, uint64_t now)
{
    put_be16(info, MIN(get_be16(info) + (now - *seen), 0xffff));
    *seen = now;
}

void mthca_port_violations(Mthca *m)
{
    const RdmaCounters *c = rdma_counters(m->rdma);
    MthcaPort *p = &m->port;

    count_violations(p->info + MTHCA_PI_PKEY_VIOLATIONS, &p->pkey_seen,
                     c->rx_pkey);
    count_violations(p->info + MTHCA_PI_QKEY_VIOLATIONS, &p->qkey_seen,
                     c->rx_qkey);
}

/* The link trains; without a subnet manager the port configures itself. */
static void port_train(Mthca *m)
{
    uint8_t *info = m->port.info;

    if (!m->port.link || !m->port.up) {
        mthca_port_state_set(m, PORT_DOWN, PHYS_POLLING);
        return;
    }
    info[36] = (info[36] & 0x0f) | (info[41] & 0x0f) << 4;
    if (m->cfg.sm) {
        mthca_port_state_set(m, PORT_INIT, PHYS_LINKUP);
    } else {
        put_be16(info + 16, m->cfg.lid);
        mthca_port_state_set(m, PORT_ACTIVE, PHYS_LINKUP);
    }
}

void mthca_port_up(Mthca *m)
{
    m->port.up = true;
    port_train(m);
}

void mthca_port_down(Mthca *m)
{
    m->port.up = false;
    port_train(m);
}

void mthca_link_set(Mthca *m, bool up)
{
    m->port.link = up;
    port_train(m);
}

bool mthca_link(const Mthca *m)
{
    return m->port.link;
}

/* Factory state: addresses are valid before INIT_IB, the port is down. */
void mthca_port_reset(Mthca *m)
{
    MthcaPort *p = &m->port;
    bool link = p->link;
    uint8_t *i = p->info;

    memset(p, 0, sizeof(*p));
    p->link = link;
    put_be64(i + 8, m->cfg.gid_prefix);
    if (!m->cfg.sm) {
        put_be16(i + 16, m->cfg.lid);
    }
    /* automatic migration no; SL mapping, P_Key violation traps no */
    put_be32(i + 20, 0);
    i[28] = 1;              /* local port */
    i[29] = 3;              /* width enabled: 1x or 4x */
    i[30] = 3;              /* supported */
    i[31] = 2;              /* active 4x */
    i[32] = 3 << 4 | PORT_DOWN;     /* 2.5 and 5 Gb/s per lane */
    i[33] = PHYS_POLLING << 4 | 2;  /* default after link down: polling */
    i[35] = 2 << 4 | 3;     /* 5 Gb/s active */
    i[36] = 4 << 4;         /* neighbour MTU 2048 */
    i[37] = 1 << 4;         /* VL0 only */
    i[41] = 4;              /* MTU 2048 */
    i[43] = 1 << 4;         /* VL0 operational */
    i[50] = MTHCA_MAX_GIDS;
    i[52] = 0x10;           /* response time 4.096 us << 16 */
    put_be64(p->guid[0], m->cfg.port_guid);
    if (m->cfg.roce_gid) {
        /* With prefix 0 this entry is the IPv4-mapped GID of the LID. */
        uint32_t ip = rdma_lid_to_ip(m->rdma, m->cfg.lid);

        put_be64(p->guid[1], 0xffffull << 32 | ip);
    }
    p->pkey[0] = 0xffff;
    p->pkey_seen = rdma_counters(m->rdma)->rx_pkey;
    p->qkey_seen = rdma_counters(m->rdma)->rx_qkey;
    g_strlcpy((char *)p->node_desc, "ncic-mthca", sizeof(p->node_desc));
    mthca_port_apply(m);
}
