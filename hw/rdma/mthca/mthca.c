/*
 * ncic-mthca: life of the function, registers, doorbell pages.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "internal.h"

static const RdmaPersOps mthca_pers = {
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
    .qp_image = mthca_qp_image,
    .cq_image = mthca_cq_image,
    .srq_image = mthca_srq_image,
};

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
    } else if (addr == MTHCA_EQ_ARM || addr == MTHCA_EQ_ARM + 4) {
        mthca_eq_arm(m, addr == MTHCA_EQ_ARM ? 32 : 0, val);
    } else if (addr == MTHCA_CLR_INT || addr == MTHCA_CLR_INT + 4) {
        mthca_intx_clear(m);
    } else if (addr == MTHCA_RESET) {
        if (val & 1) {
            m->cfg.ops->reset(m->cfg.rdma.ops_opaque);
        }
    } else {
        mthca_rule(m, addr, "BAR0", "write to no register");
    }
}

/* ---- BAR2 ---- */

static void mthca_doorbell(Mthca *m, uint32_t addr, uint32_t hi, uint32_t lo)
{
    uint32_t off = addr % MTHCA_UAR_PAGE, uar = addr / MTHCA_UAR_PAGE;

    if (m->state != MTHCA_HCA_UP) {
        mthca_rule(m, off, "doorbell", "before INIT_HCA");
        return;
    }
    switch (off) {
    case MTHCA_UAR_SEND:
        mthca_sq_doorbell(m, uar, hi, lo);
        break;
    case MTHCA_UAR_CQ:
        mthca_cq_arm(m, uar, hi, lo);
        break;
    default:
        mthca_rule(m, off, "doorbell", "no such doorbell");
    }
}

void mthca_uar_write(Mthca *m, uint32_t addr, uint64_t val, unsigned size)
{
    if (size == 8) {
        mthca_doorbell(m, addr, val >> 32, val);
    } else if (!(addr & 4)) {
        m->uar_latch = val;
        m->uar_latch_addr = addr;
        m->uar_latched = true;
    } else if (m->uar_latched && m->uar_latch_addr == addr - 4) {
        m->uar_latched = false;
        mthca_doorbell(m, addr - 4, m->uar_latch, val);
    } else {
        mthca_rule(m, addr, "doorbell", "low half without high half");
    }
}
