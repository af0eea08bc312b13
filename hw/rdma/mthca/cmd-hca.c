/*
 * ncic-mthca: commands of the function itself: firmware, limits, ICM, port; its
 * reset.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "internal.h"

uint8_t mthca_nop(Mthca *m, MthcaCmd *c)
{
    return MTHCA_ST_OK;
}

uint8_t mthca_query_fw(Mthca *m, MthcaCmd *c)
{
    uint64_t bar = m->cfg.ops->bar0_addr(m->cfg.rdma.ops_opaque);
    uint8_t *o = c->out;

    put_be16(o + MTHCA_FW_PAGES_NUM, MTHCA_FW_PAGES);
    /* Version 1.2.940: the sub-minor number comes before the minor one. */
    put_be16(o + MTHCA_FW_MAJOR, 1);
    put_be16(o + MTHCA_FW_SUBMINOR, 940);
    put_be16(o + MTHCA_FW_MINOR, 2);
    put_be16(o + MTHCA_FW_INTERFACE, 1);
    o[MTHCA_FW_LOG_CMDS] = MTHCA_LOG_MAX_CMDS;
    put_be64(o + MTHCA_FW_CLR_INT, bar + MTHCA_CLR_INT);
    put_be64(o + MTHCA_FW_CATAS, bar + MTHCA_CATAS);
    put_be32(o + MTHCA_FW_CATAS_SIZE, MTHCA_CATAS_DWORDS);
    put_be64(o + MTHCA_FW_EQ_ARM, bar + MTHCA_EQ_ARM);
    put_be64(o + MTHCA_FW_EQ_SET_CI, bar + MTHCA_EQ_SET_CI);
    return MTHCA_ST_OK;
}

/* One byte or 16-bit field of the limits. */
typedef struct MthcaLimit {
    uint8_t off;
    uint8_t bytes;
    uint16_t value;
} MthcaLimit;

static const MthcaLimit mthca_limits[] = {
    { 0x10, 1, MTHCA_LOG_MAX_WQES },    /* WQEs of an SRQ */
    { 0x11, 1, MTHCA_LOG_MAX_WQES },
    { 0x12, 1, MTHCA_LOG_RSVD_QP }, { 0x13, 1, MTHCA_LOG_MAX_QP },
    { 0x14, 1, 0 }, { 0x15, 1, MTHCA_LOG_MAX_SRQ },
    { 0x19, 1, MTHCA_LOG_MAX_CQES },
    { 0x1a, 1, 0 }, { 0x1b, 1, MTHCA_LOG_MAX_CQ },
    { 0x1c, 1, MTHCA_LOG_MAX_EQES }, { 0x1d, 1, MTHCA_LOG_MAX_MPT },
    { 0x1e, 1, 0 }, { 0x1f, 1, MTHCA_LOG_MAX_EQ },
    { 0x20, 1, 4 << 4 },                /* reserved MTTs */
    { 0x21, 1, 0x1f }, { 0x22, 1, 4 },  /* MRW size, reserved MRWs */
    { 0x23, 1, 0x14 },                  /* MTT segments */
    { 0x29, 1, 7 },                     /* outstanding Reads as requester */
    { 0x2b, 1, 7 },                     /* ... as responder */
    { 0x33, 1, 1 },                     /* SRQ can be resized */
    { 0x35, 1, 0xf },                   /* CA ack delay */
    { 0x36, 1, 0x43 },                  /* MTU 2048, width 1x and 4x */
    { 0x37, 1, 0x41 },                  /* 4 VLs, one port */
    { 0x3b, 1, 5 },                     /* 32 GIDs: libmthca relies on it */
    { 0x3c, 2, 0xf }, { 0x3f, 1, 6 },   /* rates, 64 P_Keys */
    { 0x48, 1, MTHCA_RSVD_UARS << 4 }, { 0x49, 1, MTHCA_UAR_LOG_MIB },
    { 0x4b, 1, 12 },
    { 0x51, 1, MTHCA_MAX_SG }, { 0x52, 2, MTHCA_MAX_DESC },
    { 0x55, 1, MTHCA_MAX_SG }, { 0x56, 2, MTHCA_MAX_DESC },
    { 0x61, 1, 6 }, { 0x62, 1, 0 }, { 0x63, 1, MTHCA_LOG_MAX_MCG },
    { 0x64, 1, 0 }, { 0x65, 1, MTHCA_LOG_MAX_PD },
    { 0x80, 2, 0x100 }, { 0x82, 2, 0x100 }, { 0x84, 2, 0x20 },
    { 0x86, 2, 0x20 }, { 0x88, 2, 0x40 }, { 0x8a, 2, 0x40 },
    { 0x8c, 2, 0x20 }, { 0x8e, 2, 0x20 }, { 0x90, 2, 8 }, { 0x92, 2, 0x40 },
};

uint8_t mthca_query_dev_lim(Mthca *m, MthcaCmd *c)
{
    for (size_t i = 0; i < G_N_ELEMENTS(mthca_limits); i++) {
        const MthcaLimit *l = &mthca_limits[i];

        if (l->bytes == 1) {
            c->out[l->off] = l->value;
        } else {
            put_be16(c->out + l->off, l->value);
        }
    }
    /*
     * RC, UC, UD, SRQ, P_Key and Q_Key violation counters, atomics,
     * port number in UD address vectors, UD multicast.
     */
    put_be32(c->out + MTHCA_LIM_FLAGS, 1 << 0 | 1 << 1 | 1 << 2 | 1 << 6 |
             1 << 8 | 1 << 9 | 1 << 18 | 1 << 20 | 1 << 21);
    put_be64(c->out + MTHCA_LIM_MAX_ICM, MTHCA_MAX_ICM);
    return MTHCA_ST_OK;
}

uint8_t mthca_query_adapter(Mthca *m, MthcaCmd *c)
{
    c->out[MTHCA_ADAPTER_PIN] = 0x1f;   /* as a bit of clr_int */
    /* Vendor data: the board id ends it, dwords in opposite byte order. */
    for (unsigned i = 0; i < 16; i++) {
        c->out[MTHCA_ADAPTER_BOARD_ID + (i ^ 3)] = m->cfg.board_id[i];
    }
    return MTHCA_ST_OK;
}

uint8_t mthca_enable_lam(Mthca *m, MthcaCmd *c)
{
    return MTHCA_ST_LAM_NOT_PRE;    /* mem-free: no locally attached memory */
}

uint8_t mthca_run_fw(Mthca *m, MthcaCmd *c)
{
    if (m->state != MTHCA_HCA_RESET) {
        return MTHCA_ST_BAD_SYS_STATE;
    }
    m->state = MTHCA_HCA_FW;
    return MTHCA_ST_OK;
}

uint8_t mthca_unmap_fa(Mthca *m, MthcaCmd *c)
{
    if (m->state == MTHCA_HCA_UP) {
        return MTHCA_ST_BAD_SYS_STATE;
    }
    m->state = MTHCA_HCA_RESET;
    return MTHCA_ST_OK;
}

uint8_t mthca_set_icm_size(Mthca *m, MthcaCmd *c)
{
    if (c->in_param > MTHCA_MAX_ICM) {
        return MTHCA_ST_EXCEED_LIM;
    }
    c->imm = MTHCA_AUX_PAGES;
    return MTHCA_ST_OK;
}

/* Entries of a MAP_* mailbox: {be64 virtual, be64 physical | log2 pages}. */
static uint8_t mthca_map_check(const MthcaCmd *c)
{
    if (!c->mod || c->mod > MTHCA_MAILBOX_SIZE / 16) {
        return MTHCA_ST_BAD_SIZE;
    }
    for (uint32_t i = 0; i < c->mod; i++) {
        uint64_t virt = get_be64(c->in + i * 16);
        unsigned log = c->in[i * 16 + 15] & 0x3f;

        if (log > 28 || virt >= MTHCA_MAX_ICM) {
            return MTHCA_ST_BAD_PARAM;
        }
    }
    return MTHCA_ST_OK;
}

/* Memory for firmware: accepted, never touched. */
uint8_t mthca_map_aux(Mthca *m, MthcaCmd *c)
{
    return mthca_map_check(c);
}

uint8_t mthca_map_icm(Mthca *m, MthcaCmd *c)
{
    uint8_t st = mthca_map_check(c);

    for (uint32_t i = 0; st == MTHCA_ST_OK && i < c->mod; i++) {
        uint64_t virt = get_be64(c->in + i * 16);
        uint64_t phys = get_be64(c->in + i * 16 + 8);

        if (!icm_map(&m->icm, virt & ~0xfffull, phys & ~0xfffull,
                     1ull << (phys & 0x3f))) {
            st = MTHCA_ST_EXCEED_LIM;
        }
    }
    return st;
}

uint8_t mthca_unmap_icm(Mthca *m, MthcaCmd *c)
{
    /* The range may cover pages that were never mapped. */
    if (!icm_unmap(&m->icm, c->in_param, c->mod)) {
        return MTHCA_ST_EXCEED_LIM;
    }
    return MTHCA_ST_OK;
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

uint8_t mthca_init_hca(Mthca *m, MthcaCmd *c)
{
    const uint8_t *in = c->in;
    uint8_t log_qps = in[MTHCA_HCA_LOG_QPS] & 0x1f;
    uint8_t log_srqs = in[MTHCA_HCA_LOG_SRQS] & 0x1f;
    uint8_t log_cqs = in[MTHCA_HCA_LOG_CQS] & 0x1f;
    uint8_t log_eqs = in[MTHCA_HCA_LOG_EQS] & 0x1f;
    uint8_t log_mpts = in[MTHCA_HCA_LOG_MPTS] & 0x3f;
    uint8_t log_mgm = get_be16(in + MTHCA_HCA_LOG_MGM_SIZE) & 0x1f;
    uint8_t log_mgms = in[MTHCA_HCA_LOG_MGMS] & 0x1f;
    uint8_t log_uars = in[MTHCA_HCA_LOG_UARS] & 0xf;

    if (m->state == MTHCA_HCA_UP) {
        return MTHCA_ST_BAD_SYS_STATE;
    }
    if (log_qps > MTHCA_LOG_MAX_QP || log_srqs > MTHCA_LOG_MAX_SRQ ||
        log_cqs > MTHCA_LOG_MAX_CQ || log_eqs > MTHCA_LOG_MAX_EQ ||
        log_mpts > MTHCA_LOG_MAX_MPT || log_mgms > MTHCA_LOG_MAX_MCG ||
        log_mgm < MTHCA_LOG_MIN_MGM_SIZE || log_mgm > MTHCA_LOG_MAX_MGM_SIZE ||
        in[MTHCA_HCA_LOG_UARC] > MTHCA_LOG_MAX_UARC - 12 ||
        log_uars > MTHCA_LOG_MAX_UARS) {
        return MTHCA_ST_EXCEED_LIM;
    }
    mthca_drop_contexts(m);
    m->log_qps = log_qps;
    m->log_srqs = log_srqs;
    m->log_cqs = log_cqs;
    m->log_eqs = log_eqs;
    m->log_mpts = log_mpts;
    m->log_mgm_size = log_mgm;
    m->log_mgms = log_mgms;
    m->mgm_hash = get_be16(in + MTHCA_HCA_MGM_HASH);
    m->mgm_base = get_be64(in + MTHCA_HCA_MGM_BASE);
    m->mtt_base = get_be64(in + MTHCA_HCA_MTT_BASE);
    m->uarc_base = get_be64(in + MTHCA_HCA_UARC_BASE);
    m->log_uarc = in[MTHCA_HCA_LOG_UARC] + 12;
    m->log_uars = log_uars;
    m->sinai = get_be32(in + MTHCA_HCA_FLAGS) & 1;
    m->mpt = g_malloc0_n(1u << log_mpts, sizeof(*m->mpt));
    m->mgm = g_malloc0_n(1u << log_mgms, sizeof(*m->mgm));
    m->state = MTHCA_HCA_UP;
    return MTHCA_ST_OK;
}

uint8_t mthca_query_hca(Mthca *m, MthcaCmd *c)
{
    uint8_t *o = c->out;

    put_be32(o + MTHCA_HCA_FLAGS, m->sinai);
    o[MTHCA_HCA_LOG_QPS] = m->log_qps;
    o[MTHCA_HCA_LOG_SRQS] = m->log_srqs;
    o[MTHCA_HCA_LOG_CQS] = m->log_cqs;
    o[MTHCA_HCA_LOG_EQS] = m->log_eqs;
    put_be64(o + MTHCA_HCA_MGM_BASE, m->mgm_base);
    put_be16(o + MTHCA_HCA_LOG_MGM_SIZE, m->log_mgm_size);
    put_be16(o + MTHCA_HCA_MGM_HASH, m->mgm_hash);
    o[MTHCA_HCA_LOG_MGMS] = m->log_mgms;
    o[MTHCA_HCA_LOG_MPTS] = m->log_mpts;
    put_be64(o + MTHCA_HCA_MTT_BASE, m->mtt_base);
    o[MTHCA_HCA_LOG_UARC] = m->log_uarc - 12;
    o[MTHCA_HCA_LOG_UARS] = m->log_uars;
    put_be64(o + MTHCA_HCA_UARC_BASE, m->uarc_base);
    return MTHCA_ST_OK;
}

uint8_t mthca_close_hca(Mthca *m, MthcaCmd *c)
{
    mthca_drop_contexts(m);
    mthca_port_reset(m);
    m->state = MTHCA_HCA_FW;
    return MTHCA_ST_OK;
}

uint8_t mthca_init_ib(Mthca *m, MthcaCmd *c)
{
    uint32_t flags = get_be32(c->in + MTHCA_IB_FLAGS);
    unsigned mtu = flags >> 12 & 0xf;

    if (mtu < 1 || mtu > 4 ||
        get_be16(c->in + MTHCA_IB_GIDS) > MTHCA_MAX_GIDS ||
        get_be16(c->in + MTHCA_IB_PKEYS) > MTHCA_MAX_PKEYS) {
        return MTHCA_ST_BAD_PARAM;
    }
    m->port.info[MTHCA_PI_MTU_CAP] =
        (m->port.info[MTHCA_PI_MTU_CAP] & 0xf0) | mtu;
    mthca_port_up(m);
    return MTHCA_ST_OK;
}

uint8_t mthca_close_ib(Mthca *m, MthcaCmd *c)
{
    mthca_port_down(m);
    return MTHCA_ST_OK;
}

uint8_t mthca_set_ib(Mthca *m, MthcaCmd *c)
{
    if (get_be32(c->in + MTHCA_IB_FLAGS) & 1) {
        mthca_port_violations(m);
        put_be16(m->port.info + MTHCA_PI_QKEY_VIOLATIONS, 0);
    }
    memcpy(m->port.info + MTHCA_PI_CAP_MASK, c->in + MTHCA_SET_IB_CAPS, 4);
    return MTHCA_ST_OK;
}
