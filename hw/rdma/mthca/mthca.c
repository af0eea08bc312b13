/*
 * ncic-mthca: life of the function, registers, doorbells, guest memory.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "internal.h"

const RdmaPersOps mthca_pers = {
    .name = "mthca",
    .qp_priv = sizeof(MthcaQp),
    .cq_priv = sizeof(MthcaCq),
    .srq_priv = sizeof(MthcaSrq),
    .fetch_send = mthca_fetch_send,
    .fetch_recv = mthca_fetch_recv,
    .write_cqe = mthca_write_cqe,
    .event = mthca_event_number,
    .key_index = mthca_key_index,
    .mtt_read = mthca_mtt_read,
    .qp_changed = mthca_qp_changed,
};

bool mthca_dma_read(Mthca *m, uint64_t addr, void *buf, size_t len)
{
    return m->cfg.rdma.ops->read(m->cfg.rdma.ops_opaque, addr, buf, len);
}

bool mthca_dma_write(Mthca *m, uint64_t addr, const void *buf, size_t len)
{
    return m->cfg.rdma.ops->write(m->cfg.rdma.ops_opaque, addr, buf, len);
}

bool mthca_icm_read(Mthca *m, uint64_t virt, void *buf, size_t len)
{
    uint8_t *p = buf;

    while (len) {
        uint64_t phys, n = len;

        if (!icm_lookup(&m->icm, virt, &phys, &n) ||
            !mthca_dma_read(m, phys, p, n)) {
            return false;
        }
        virt += n;
        p += n;
        len -= n;
    }
    return true;
}

bool mthca_db_record(Mthca *m, uint32_t uar, uint32_t index, uint32_t *val)
{
    uint64_t off = (uint64_t)index * 8;
    uint8_t buf[4];

    if (uar >> m->log_uars || off >> m->log_uarc ||
        !mthca_icm_read(m, m->uarc_base + ((uint64_t)uar << m->log_uarc) +
                        off, buf, 4)) {
        mthca_rule(m, index, "doorbell record", "not mapped");
        return false;
    }
    *val = get_be32(buf);
    return true;
}

void mthca_rule(Mthca *m, uint32_t number, const char *rule,
                const char *text)
{
    m->counters.guest_errors++;
    if (m->cfg.rdma.ops->log) {
        m->cfg.rdma.ops->log(m->cfg.rdma.ops_opaque, rule, text, number);
    }
}

void mthca_drop_contexts(Mthca *m)
{
    rdma_reset(m->rdma);
    if (m->mpt) {
        for (uint32_t i = 0; i < 1u << m->log_mpts; i++) {
            g_free(m->mpt[i]);
        }
        g_free(m->mpt);
        m->mpt = NULL;
    }
    if (m->mgm) {
        for (uint32_t i = 0; i < 1u << m->log_mgms; i++) {
            g_free(m->mgm[i]);
        }
        g_free(m->mgm);
        m->mgm = NULL;
    }
    memset(m->eq, 0, sizeof(m->eq));
    memset(m->event_eq, 0xff, sizeof(m->event_eq));
    memset(m->special_set, 0, sizeof(m->special_set));
    m->uar_latched = false;
}

Mthca *mthca_new(const MthcaConfig *cfg)
{
    Mthca *m = g_new0(Mthca, 1);

    m->cfg = *cfg;
    m->cfg.rdma.pers = &mthca_pers;
    m->cfg.rdma.pers_opaque = m;
    m->cfg.rdma.log_qps = MTHCA_LOG_MAX_QP;
    m->cfg.rdma.log_cqs = MTHCA_LOG_MAX_CQ;
    m->cfg.rdma.log_srqs = MTHCA_LOG_MAX_SRQ;
    m->cfg.rdma.log_mrs = MTHCA_LOG_MAX_MPT;
    m->rdma = rdma_new(&m->cfg.rdma);
    m->port.link = true;
    mthca_reset(m);
    return m;
}

void mthca_free(Mthca *m)
{
    if (m) {
        mthca_drop_contexts(m);
        icm_clear(&m->icm);
        rdma_free(m->rdma);
        g_free(m);
    }
}

void mthca_reset(Mthca *m)
{
    mthca_drop_contexts(m);
    icm_clear(&m->icm);
    memset(m->hcr, 0, sizeof(m->hcr));
    memset(m->catas, 0, sizeof(m->catas));
    m->state = MTHCA_HCA_RESET;
    mthca_intx_clear(m);
    mthca_port_reset(m);
}

RdmaDev *mthca_rdma(Mthca *m)
{
    return m->rdma;
}

MthcaCounters *mthca_counters(Mthca *m)
{
    return &m->counters;
}

void mthca_catas_set(Mthca *m, uint32_t word0)
{
    m->catas[0] = word0;
}

/* ---- BAR0 ---- */

uint32_t mthca_bar0_read(Mthca *m, uint32_t addr)
{
    if (addr - MTHCA_HCR_BASE < MTHCA_HCR_SIZE) {
        return m->hcr[(addr - MTHCA_HCR_BASE) / 4];
    }
    if (addr - MTHCA_CATAS < sizeof(m->catas)) {
        return m->catas[(addr - MTHCA_CATAS) / 4];
    }
    return 0;
}

void mthca_bar0_write(Mthca *m, uint32_t addr, uint32_t val)
{
    if (addr - MTHCA_HCR_BASE < MTHCA_HCR_SIZE) {
        m->hcr[(addr - MTHCA_HCR_BASE) / 4] = val;
        if (addr - MTHCA_HCR_BASE == MTHCA_HCR_CMD &&
            (val & MTHCA_HCR_GO)) {
            mthca_cmd_run(m);
        }
    } else if (addr - MTHCA_EQ_SET_CI < 8u << MTHCA_LOG_MAX_EQ) {
        if (!(addr & 4)) {
            mthca_eq_set_ci(m, (addr - MTHCA_EQ_SET_CI) / 8, val);
        }
    } else if (addr == MTHCA_EQ_ARM + 4) {
        mthca_eq_arm(m, val);
    } else if (addr == MTHCA_CLR_INT || addr == MTHCA_CLR_INT + 4) {
        mthca_intx_clear(m);
    } else if (addr == MTHCA_RESET) {
        if (val & 1) {
            m->cfg.ops->reset(m->cfg.rdma.ops_opaque);
        }
    } else if (addr != MTHCA_EQ_ARM) {
        mthca_rule(m, addr, "BAR0", "write to no register");
    }
}

/* ---- BAR2 ---- */

static void mthca_doorbell(Mthca *m, uint32_t off, uint32_t hi, uint32_t lo)
{
    if (m->state != MTHCA_HCA_UP) {
        mthca_rule(m, off, "doorbell", "before INIT_HCA");
        return;
    }
    switch (off) {
    case MTHCA_UAR_SEND:
        mthca_sq_doorbell(m, lo >> 8, hi, lo);
        break;
    case MTHCA_UAR_CQ:
        mthca_cq_arm(m, hi & MTHCA_QPN_MASK, hi >> 24 & 7, lo);
        break;
    default:
        mthca_rule(m, off, "doorbell", "no such doorbell");
    }
}

void mthca_uar_write(Mthca *m, uint32_t addr, uint64_t val, unsigned size)
{
    uint32_t off = addr & (MTHCA_UAR_PAGE - 1);

    if (size == 8) {
        mthca_doorbell(m, off, val >> 32, val);
    } else if (!(addr & 4)) {
        m->uar_latch = val;
        m->uar_latch_addr = addr;
        m->uar_latched = true;
    } else if (m->uar_latched && m->uar_latch_addr == addr - 4) {
        m->uar_latched = false;
        mthca_doorbell(m, off - 4, m->uar_latch, val);
    } else {
        mthca_rule(m, off, "doorbell", "low half without high half");
    }
}
