/*
 * NCIC native RDMA interface: life, the command registers and the doorbell
 * pages.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "internal.h"

static const RdmaPersOps native_pers = {
    .name = "native",
    .qp_priv = sizeof(NativeQp),
    .cq_priv = sizeof(NativeCq),
    .fetch_send = native_fetch_send,
    .fetch_recv = native_fetch_recv,
    .write_cqe = native_write_cqe,
    .event = native_event,
    .key_index = native_key_index,
    .mtt_read = native_mtt_read,
    .qp_changed = native_qp_changed,
    .qp_image = native_qp_image,
    .cq_image = native_cq_image,
};

void native_config_init(NativeConfig *cfg)
{
    *cfg = (NativeConfig) {
        .strict_cmd = true, .strict_qp = true, .eqe = true, .lerr = 0x11,
        .err_cqe = NATIVE_ERR_CQE_DRV,
    };
}

void native_rdma_config(RdmaConfig *cfg)
{
    rdma_config_init(cfg);
    cfg->log_qps = NR_LOG_QPS;
    cfg->log_cqs = NR_LOG_CQS;
    cfg->log_srqs = 0;
    cfg->log_mrs = NR_LOG_MPTS;
    cfg->qpn_wrap = true;
    cfg->pkey_check = false;
    cfg->qkey_zero_any = true;
    cfg->accept_any_ip = true;
    cfg->shared_buffers = true;
    cfg->ud_grh = RDMA_GRH_NONE;
    /* The receive queue has no doorbell: flush what is posted in ERR. */
    cfg->err_repoll_us = 1000;
}

NativeRdma *native_new(const RdmaConfig *rdma, const NativeConfig *cfg,
                       const NativeOps *ops)
{
    NativeRdma *n = g_new0(NativeRdma, 1);

    n->rdma = *rdma;
    n->rdma.pers = &native_pers;
    n->rdma.pers_opaque = n;
    n->cfg = *cfg;
    n->ops = ops;
    n->db = g_array_sized_new(false, true, sizeof(Doorbell), 64);
    g_array_set_size(n->db, 1);
    n->dev = rdma_new(&n->rdma);
    return n;
}

void native_free(NativeRdma *n)
{
    if (n) {
        rdma_free(n->dev);
        g_array_free(n->db, true);
        g_free(n);
    }
}

RdmaDev *native_dev(NativeRdma *n)
{
    return n->dev;
}

/* ---- registers ---- */

uint32_t native_hcr_read(NativeRdma *n, uint32_t off)
{
    return off <= NRH_CMD && !(off & 3) ? n->s.hcr[off / 4] : 0;
}

void native_hcr_write(NativeRdma *n, uint32_t off, uint32_t val)
{
    uint32_t *r = n->s.hcr;
    NativeCmd c = { 0 };
    uint8_t status;

    if (off > NRH_CMD || (off & 3)) {
        return;
    }
    if (off != NRH_CMD) {
        r[off / 4] = val;
        return;
    }
    val &= NRH_GO | NRH_EVENT | NRH_OPMOD_MASK << NRH_OPMOD_SHIFT |
           NRH_OP_MASK;
    if (!(val & NRH_GO)) {
        r[NRH_CMD / 4] = (r[NRH_CMD / 4] & 0xff000000) | val;
        return;
    }
    c.op = val & NRH_OP_MASK;
    c.op_mod = val >> NRH_OPMOD_SHIFT & NRH_OPMOD_MASK;
    c.in_param = (uint64_t)r[NRH_IN_PARAM_H / 4] << 32 |
                 r[NRH_IN_PARAM_L / 4];
    c.in_mod = r[NRH_IN_MODIFIER / 4];
    status = native_cmd_run(n, &c, (uint64_t)r[NRH_OUT_PARAM_H / 4] << 32 |
                            r[NRH_OUT_PARAM_L / 4]);
    r[NRH_OUT_PARAM_H / 4] = r[NRH_OUT_PARAM_L / 4] = 0;
    r[NRH_CMD / 4] = (uint32_t)status << 24 | (val & ~NRH_GO);
}

void native_uar_write(NativeRdma *n, uint64_t off, uint64_t val,
                      unsigned size)
{
    NativeState *s = &n->s;
    uint32_t page = off / PAGE;

    switch (off % PAGE) {
    case NRU_SQ_DB:
        if (size == 8) {
            native_doorbell(n, page, val);
        } else {
            s->db_low = val;
            s->db_page = page;
            s->db_latched = true;
        }
        break;
    case NRU_SQ_DB + 4:
        if (s->db_latched && (page == s->db_page || !n->cfg.uar_check)) {
            s->db_latched = false;
            native_doorbell(n, page, val << 32 | s->db_low);
        }
        break;
    case NRU_ARM_CQ:
        native_arm_cq(n, page, val);
        break;
    case NRU_ARM_EQ:
        native_arm_eq(n, val);
        break;
    default:
        native_rule(n, off % PAGE, "table 3-1-6", "no doorbell here");
        break;
    }
}
