/*
 * ncic-mthca: multicast group table.
 *
 * Software keeps the table as a hash with chains; the model stores the
 * entries as written and attaches the QPs of each to its group.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "internal.h"

#define MGM_GID 0x10
#define MGM_QP  0x20

uint8_t mthca_mgid_hash(Mthca *m, MthcaCmd *c)
{
    uint32_t h = 0;

    for (unsigned i = 0; i < 16; i += 2) {
        h ^= get_be16(c->in + i);
    }
    c->imm = m->mgm_hash ? h % m->mgm_hash : 0;
    return MTHCA_ST_OK;
}

uint8_t mthca_read_mgm(Mthca *m, MthcaCmd *c)
{
    uint32_t size = 1u << m->log_mgm_size;

    if (c->mod >> m->log_mgms) {
        return MTHCA_ST_BAD_INDEX;
    }
    if (m->mgm[c->mod]) {
        memcpy(c->out, m->mgm[c->mod], size);
    }
    return MTHCA_ST_OK;
}

static bool mgm_has(const uint8_t *e, uint32_t size, uint32_t qp)
{
    for (uint32_t i = MGM_QP; e && i < size; i += 4) {
        if (get_be32(e + i) == qp) {
            return true;
        }
    }
    return false;
}

/* Valid QPs of @e that @other, an entry of the same group, does not list. */
static void mgm_diff(Mthca *m, const uint8_t *e, const uint8_t *other,
                     bool attach)
{
    static const uint8_t zero[16];
    uint32_t size = 1u << m->log_mgm_size;

    if (!e || !memcmp(e + MGM_GID, zero, 16)) {
        return;
    }
    if (other && memcmp(e + MGM_GID, other + MGM_GID, 16)) {
        other = NULL;
    }
    for (uint32_t i = MGM_QP; i < size; i += 4) {
        uint32_t qp = get_be32(e + i);

        if (!(qp >> 31) || mgm_has(other, size, qp)) {
            continue;
        }
        if (!attach) {
            rdma_mcast_detach(m->rdma, e + MGM_GID, qp & MTHCA_QPN_MASK);
        } else if (!rdma_mcast_attach(m->rdma, e + MGM_GID,
                                      qp & MTHCA_QPN_MASK)) {
            mthca_rule(m, qp & MTHCA_QPN_MASK, "WRITE_MGM",
                       "QP cannot be attached");
        }
    }
}

uint8_t mthca_write_mgm(Mthca *m, MthcaCmd *c)
{
    uint32_t size = 1u << m->log_mgm_size;
    uint8_t *old;

    if (c->mod >> m->log_mgms) {
        return MTHCA_ST_BAD_INDEX;
    }
    old = m->mgm[c->mod];
    mgm_diff(m, old, c->in, false);
    mgm_diff(m, c->in, old, true);
    if (!old) {
        old = m->mgm[c->mod] = g_malloc(size);
    }
    memcpy(old, c->in, size);
    return MTHCA_ST_OK;
}
