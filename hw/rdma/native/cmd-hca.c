/*
 * Commands that concern the device as a whole: limits, start, stop and reset, ICM
 * (interface document, sections 3.2.2 to 3.2.4).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "internal.h"

/* ---- queries ---- */

uint8_t native_query_dev_lim(NativeRdma *n, NativeCmd *c)
{
    bool rtl = n->cfg.devlim_rtl;
    uint8_t *o = c->out;

    o[NR_LIM_LOG_RSVD_QPS] = 1;
    put_be16(o + NR_LIM_LOG_QP_SIZE, NR_LOG_QUEUE);
    put_be16(o + NR_LIM_LOG_CQ_SIZE, NR_LOG_QUEUE);
    o[NR_LIM_LOG_QPS] = rtl ? 14 : NR_LOG_QPS;
    o[NR_LIM_LOG_CQS] = NR_LOG_CQS;
    o[NR_LIM_LOG_EQS] = NR_LOG_EQS;
    o[NR_LIM_LOG_MPTS] = NR_LOG_MPTS;
    o[NR_LIM_LOG_PDS] = NR_LOG_PDS;
    o[NR_LIM_LOG_PKEYS] = 1;
    o[NR_LIM_MTT_BYTES] = NR_MTT_BYTES;
    put_be16(o + NR_LIM_QPC_BYTES, NR_QPC_BYTES);
    put_be16(o + NR_LIM_CQC_BYTES, rtl ? 0x80 : NR_CQC_BYTES);
    put_be16(o + NR_LIM_EQC_BYTES, NR_EQC_BYTES);
    put_be16(o + NR_LIM_MPT_BYTES, NR_MPT_BYTES);
    o[NR_LIM_MTU_WIDTH] = 5 << 4 | (rtl ? 0 : 2);   /* 4096, 4x */
    o[NR_LIM_VLS_PORTS] = 0xf << 4 | 1;
    o[NR_LIM_LOG_PAGE] = 12;
    o[NR_LIM_MAX_SGE] = NR_MAX_SGE;
    put_be16(o + NR_LIM_MAX_DESC, NR_MAX_DESC);
    o[NR_LIM_MAX_SGE_RQ] = NR_MAX_SGE;
    put_be16(o + NR_LIM_MAX_DESC_RQ, NR_MAX_DESC);
    put_be64(o + NR_LIM_MAX_ICM, rtl ? UINT64_C(0x1234567887650000) :
                                       UINT64_C(1) << 40);
    return NRS_OK;
}

uint8_t native_query_adapter(NativeRdma *n, NativeCmd *c)
{
    put_be64(c->out + NR_ADAPTER_BOARD_ID, NR_BOARD_ID);
    return NRS_OK;
}

/* Port state as the hardware sources answer it. */
uint8_t native_mad_ifc(NativeRdma *n, NativeCmd *c)
{
    const RdmaPort *p = rdma_port(n->dev);

    put_be16(c->out + NR_MAD_LID, p->lid ? p->lid : 1);
    c->out[NR_MAD_STATE] = p->link_up ? 2 : 1;
    c->out[NR_MAD_PHYS] = p->link_up ? 3 : 2;
    return NRS_OK;
}

uint8_t native_nop(NativeRdma *n, NativeCmd *c)
{
    return n->cfg.nop_bad_op ? NRS_BAD_OP : NRS_OK;
}

/* ---- start and stop ---- */

void native_drop_objects(NativeRdma *n)
{
    rdma_reset(n->dev);
    memset(n->s.eq, 0, sizeof(n->s.eq));
    n->s.db_latched = false;
    g_array_set_size(n->db, 1);
    n->db_free = n->db_shared = 0;
}

void native_reset(NativeRdma *n)
{
    native_drop_objects(n);
    memset(&n->s, 0, sizeof(n->s));
}

uint8_t native_init_hca(NativeRdma *n, NativeCmd *c)
{
    /* Offset of each base; its low byte is the log of the table size. */
    static const struct {
        IcmTable table;
        uint8_t off, log_max;
    } t[] = {
        { ICM_QPC, NR_INIT_QPC, NR_LOG_QPS },
        { ICM_CQC, NR_INIT_CQC, NR_LOG_CQS },
        { ICM_EQC, NR_INIT_EQC, NR_LOG_EQS },
        { ICM_MPT, NR_INIT_MPT, NR_LOG_MPTS },
    };

    if (n->s.ready && n->cfg.strict_cmd) {
        native_rule(n, 0, "INIT_HCA", "already initialised");
        return NRS_BAD_PARAM;
    }
    for (int i = 0; i < G_N_ELEMENTS(t); i++) {
        if (c->in[t[i].off + 7] > t[i].log_max && n->cfg.strict_cmd) {
            native_rule(n, c->in[t[i].off + 7], "INIT_HCA", "table too large");
            return NRS_BAD_PARAM;
        }
    }
    native_drop_objects(n);
    nicm_clear(n);
    for (int i = 0; i < G_N_ELEMENTS(t); i++) {
        uint64_t v = get_be64(c->in + t[i].off);

        n->s.base[t[i].table] = v & ~UINT64_C(0xff);
        n->s.log[t[i].table] = MIN(v & 0xff, t[i].log_max);
    }
    n->s.base[ICM_MTT] = get_be64(c->in + NR_INIT_MTT);
    n->s.log[ICM_MTT] = NR_LOG_MTTS;
    n->s.ready = true;
    return NRS_OK;
}

uint8_t native_close_hca(NativeRdma *n, NativeCmd *c)
{
    native_drop_objects(n);
    nicm_clear(n);
    n->s.ready = false;
    return NRS_OK;
}

/* ---- ICM ---- */

uint8_t native_map_icm(NativeRdma *n, NativeCmd *c)
{
    for (uint32_t i = 0; i < c->in_mod; i++) {
        /* Entries are swapped inside each 32 bytes (table 3-2-13). */
        const uint8_t *e = c->in + (i ^ 1) * NR_MAP_ENTRY;
        uint64_t virt = get_be64(e + NR_MAP_VIRT);
        uint64_t page = get_be64(e + NR_MAP_PAGE);

        for (uint32_t k = 0; k < (page & 0xfff); k++) {
            if (!nicm_map_page(n, c->op_mod, virt + k * UINT64_C(4096),
                              (page & ~UINT64_C(0xfff)) +
                              k * UINT64_C(4096))) {
                native_rule(n, i, "MAP_ICM", "address outside all tables");
                return NRS_BAD_PARAM;
            }
        }
    }
    return NRS_OK;
}

uint8_t native_unmap_icm(NativeRdma *n, NativeCmd *c)
{
    uint32_t pages = MIN(c->in_mod, ICM_PAGES_MAX);

    for (uint32_t k = 0; k < pages; k++) {
        if (!nicm_unmap_page(n, c->op_mod, c->in_param +
                                          k * UINT64_C(4096))) {
            native_rule(n, k, "UNMAP_ICM", "address outside all tables");
            return NRS_BAD_PARAM;
        }
    }
    return NRS_OK;
}
