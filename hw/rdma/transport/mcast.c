/*
 * Multicast groups.  The wire carries only the IPv4 group that a GID maps to,
 * so a datagram goes to the QPs of every group with that address.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "internal.h"

uint32_t rdma_mgid_to_ip(const uint8_t mgid[16])
{
    static const uint8_t none[8];
    uint32_t low = get_be32(mgid + 12);

    if (low >> 28 == 0xe && mgid[10] == 0xff && mgid[11] == 0xff &&
        !memcmp(mgid + 2, none, 8)) {
        return low;
    }
    return 0xef000000 | (~core_crc32(0xffffffff, mgid, 16) & 0xffffff);
}

static McastGroup *group_find(RdmaDev *dev, const uint8_t mgid[16], guint *pos)
{
    for (guint i = 0; i < dev->mcast->len; i++) {
        McastGroup *g = g_ptr_array_index(dev->mcast, i);

        if (!memcmp(g->gid, mgid, 16)) {
            *pos = i;
            return g;
        }
    }
    return NULL;
}

static int member_place(const McastGroup *g, uint32_t qpn)
{
    for (guint i = 0; i < g->qpns->len; i++) {
        if (g_array_index(g->qpns, uint32_t, i) == qpn) {
            return i;
        }
    }
    return -1;
}

bool rdma_mcast_attach(RdmaDev *dev, const uint8_t mgid[16], uint32_t qpn)
{
    guint pos;
    McastGroup *g = group_find(dev, mgid, &pos);

    if (!rdma_qp_get(dev, qpn) || (g && member_place(g, qpn) >= 0)) {
        return false;
    }
    if (!g) {
        if (dev->mcast->len >= MCAST_GROUPS) {
            return false;
        }
        g = g_new0(McastGroup, 1);
        memcpy(g->gid, mgid, 16);
        g->ip = rdma_mgid_to_ip(mgid);
        g->qpns = g_array_new(false, false, sizeof(uint32_t));
        g_ptr_array_add(dev->mcast, g);
    }
    g_array_append_val(g->qpns, qpn);
    return true;
}

static void group_free(RdmaDev *dev, guint pos)
{
    McastGroup *g = g_ptr_array_index(dev->mcast, pos);

    g_array_free(g->qpns, true);
    g_free(g);
    g_ptr_array_remove_index_fast(dev->mcast, pos);
}

static bool group_leave(RdmaDev *dev, guint pos, uint32_t qpn)
{
    McastGroup *g = g_ptr_array_index(dev->mcast, pos);
    int i = member_place(g, qpn);

    if (i < 0) {
        return false;
    }
    g_array_remove_index_fast(g->qpns, i);
    if (!g->qpns->len) {
        group_free(dev, pos);
    }
    return true;
}

bool rdma_mcast_detach(RdmaDev *dev, const uint8_t mgid[16], uint32_t qpn)
{
    guint pos;

    return group_find(dev, mgid, &pos) && group_leave(dev, pos, qpn);
}

void mcast_forget_qp(RdmaDev *dev, uint32_t qpn)
{
    for (guint i = dev->mcast->len; i-- > 0; ) {
        group_leave(dev, i, qpn);
    }
}

bool mcast_own(const RdmaDev *dev, uint32_t ip)
{
    for (guint i = 0; i < dev->mcast->len; i++) {
        if (((McastGroup *)g_ptr_array_index(dev->mcast, i))->ip == ip) {
            return true;
        }
    }
    return false;
}

void mcast_rx(RdmaDev *dev, RxPacket *pkt)
{
    if (ROCE_OP_SERVICE(pkt->opcode) != RDMA_UD ||
        pkt->dqpn != RDMA_QPN_MULTICAST) {
        dev->cnt.rx_opcode++;
        return;
    }
    for (guint i = 0; i < dev->mcast->len; i++) {
        McastGroup *g = g_ptr_array_index(dev->mcast, i);

        for (guint k = 0; g->ip == pkt->dip && k < g->qpns->len; k++) {
            RdmaQp *qp = rdma_qp_get(dev, g_array_index(g->qpns, uint32_t,
                                                        k));
            if (qp && qp->attr.service == RDMA_UD && qp_receives(qp) &&
                rx_pkey_fits(qp, pkt)) {
                pkt->mgid = g->gid;
                dev->cnt.mcast_rx++;
                resp_rx(qp, pkt);
            }
        }
    }
}
