/*
 * ncic-mthca: migration of the personality's state, the settings that it was
 * made under, and what each object of the transport core carries for it.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "internal.h"

#define TAG_MTHCA CORE_TAG('M', 'T', 'H', 'C')
#define TAG_SETTING CORE_TAG('M', 'T', 'S', 'E')

enum { VERSION = 1 };

/* Settings that the guest or its peers can tell apart. */
static void setting_image(Mthca *m, CoreImage *im)
{
    const MthcaConfig *c = &m->cfg;

    core_image_begin(im, TAG_SETTING, VERSION);
    core_image_same(im, (uint64_t)get_be16(c->mac) << 32 |
                        get_be32(c->mac + 2), "property mac differs");
    core_image_same(im, c->guid, "property guid differs");
    core_image_same(im, c->gid_prefix, "property gid-prefix differs");
    core_image_same(im, c->lid, "property lid differs");
    core_image_same(im, c->sm, "property sm differs");
    core_image_same(im, c->roce_gid, "property roce-gid differs");
    core_image_same(im, c->uar_check, "property uar-check differs");
    core_image_end(im);
}

static void eq_image(CoreImage *im, MthcaEq *eq)
{
    core_image_flag(im, &eq->valid);
    core_image_flag(im, &eq->translate);
    core_image_flag(im, &eq->overflow);
    core_image_int(im, &eq->state);
    core_image_int(im, &eq->log_size);
    core_image_int(im, &eq->intr);
    core_image_int(im, &eq->start);
    core_image_int(im, &eq->pd);
    core_image_int(im, &eq->lkey);
    core_image_int(im, &eq->pi);
    core_image_int(im, &eq->ci);
    if (!core_image_check(im, eq->log_size <= MTHCA_LOG_MAX_EQES,
                          "event queue is too large")) {
        eq->log_size = 0;
    }
    core_image_check(im, !eq->valid || (eq->state >= EQ_ARMED &&
                                        eq->state <= EQ_ALWAYS_ARMED),
                     "event queue without a state");
}

static void port_image(CoreImage *im, MthcaPort *p)
{
    core_image_bytes(im, p->info, sizeof(p->info));
    core_image_bytes(im, p->guid, sizeof(p->guid));
    for (unsigned i = 0; i < MTHCA_MAX_PKEYS; i++) {
        core_image_int(im, &p->pkey[i]);
    }
    core_image_bytes(im, p->sl2vl, sizeof(p->sl2vl));
    core_image_bytes(im, p->vlarb, sizeof(p->vlarb));
    core_image_bytes(im, p->node_desc, sizeof(p->node_desc));
    core_image_flag(im, &p->up);
    core_image_flag(im, &p->link);
    core_image_int(im, &p->pkey_seen);
    core_image_int(im, &p->qkey_seen);
#define COUNTER_IMAGE(name) core_image_int(im, &p->base.name);
    RDMA_COUNTERS(COUNTER_IMAGE)
#undef COUNTER_IMAGE
}

/* A sparse table of 2^@log entries: count, then {index, bytes}. */
static void sparse_image(CoreImage *im, uint8_t **table, uint8_t log,
                         size_t size)
{
    bool loading = core_image_loading(im);
    uint32_t num = 0, at = 0;

    for (uint32_t i = 0; !loading && i < 1u << log; i++) {
        num += table[i] != NULL;
    }
    core_image_count(im, &num, 1u << log, "more entries than a table has");
    for (uint32_t i = 0; i < num; i++, at++) {
        while (!loading && !table[at]) {
            at++;
        }
        core_image_int(im, &at);
        if (loading) {
            if (!core_image_check(im, !(at >> log) && !table[at],
                                  "entry outside its table, or twice")) {
                return;
            }
            table[at] = g_malloc(size);
        }
        core_image_bytes(im, table[at], size);
    }
}

static void icm_image(CoreImage *im, Icm *icm)
{
    uint32_t num = icm->num;

    core_image_count(im, &num, ICM_MAX_EXTENTS, "too many ICM extents");
    for (uint32_t i = 0; i < num; i++) {
        IcmExtent e = { 0 };

        if (!core_image_loading(im)) {
            e = icm->ext[i];
        }
        core_image_int(im, &e.virt);
        core_image_int(im, &e.pages);
        core_image_int(im, &e.phys);
        if (core_image_loading(im) &&
            !core_image_check(im, icm_append(icm, e), "bad ICM extent")) {
            return;
        }
    }
}

static void hca_image(Mthca *m, CoreImage *im)
{
    uint8_t state = m->state;

    for (unsigned i = 0; i < G_N_ELEMENTS(m->hcr); i++) {
        core_image_int(im, &m->hcr[i]);
    }
    core_image_check(im, !(m->hcr[MTHCA_HCR_CMD / 4] & MTHCA_HCR_GO),
                     "command that has not ended");
    for (unsigned i = 0; i < G_N_ELEMENTS(m->catas); i++) {
        core_image_int(im, &m->catas[i]);
    }
    core_image_int(im, &state);
    core_image_check(im, state <= MTHCA_HCA_UP, "no such state");
    m->state = MIN(state, MTHCA_HCA_UP);
    core_image_flag(im, &m->intx);
    core_image_int(im, &m->log_qps);
    core_image_int(im, &m->log_srqs);
    core_image_int(im, &m->log_cqs);
    core_image_int(im, &m->log_eqs);
    core_image_int(im, &m->log_mpts);
    core_image_int(im, &m->log_uarc);
    core_image_int(im, &m->log_uars);
    core_image_int(im, &m->log_mgm_size);
    core_image_int(im, &m->log_mgms);
    core_image_int(im, &m->mgm_hash);
    core_image_int(im, &m->mtt_base);
    core_image_int(im, &m->uarc_base);
    core_image_int(im, &m->mgm_base);
    core_image_flag(im, &m->sinai);
    for (unsigned i = 0; i < 2; i++) {
        core_image_int(im, &m->special_qpn[i]);
        core_image_flag(im, &m->special_set[i]);
    }
    core_image_int(im, &m->uar_latch);
    core_image_int(im, &m->uar_latch_addr);
    core_image_flag(im, &m->uar_latched);
    core_image_check(im, m->log_qps <= MTHCA_LOG_MAX_QP &&
                         m->log_srqs <= MTHCA_LOG_MAX_SRQ &&
                         m->log_cqs <= MTHCA_LOG_MAX_CQ &&
                         m->log_eqs <= MTHCA_LOG_MAX_EQ &&
                         m->log_mpts <= MTHCA_LOG_MAX_MPT &&
                         m->log_mgms <= MTHCA_LOG_MAX_MCG &&
                         m->log_mgm_size <= MTHCA_LOG_MAX_MGM_SIZE &&
                         (m->log_mgm_size >= MTHCA_LOG_MIN_MGM_SIZE ||
                          m->state != MTHCA_HCA_UP) &&
                         m->log_uarc <= MTHCA_LOG_MAX_UARC &&
                         m->log_uars <= MTHCA_LOG_MAX_UARS,
                     "table of the adapter is too large or too small");
}

static void tables_image(Mthca *m, CoreImage *im)
{
    if (core_image_error(im) || m->state != MTHCA_HCA_UP) {
        return;
    }
    if (core_image_loading(im)) {
        m->mpt = g_malloc0_n(1u << m->log_mpts, sizeof(*m->mpt));
        m->mgm = g_malloc0_n(1u << m->log_mgms, sizeof(*m->mgm));
    }
    sparse_image(im, (uint8_t **)m->mpt, m->log_mpts, MTHCA_MPT_BYTES);
    sparse_image(im, m->mgm, m->log_mgms, 1u << m->log_mgm_size);
}

static void all_image(Mthca *m, CoreImage *im)
{
    core_image_begin(im, TAG_MTHCA, VERSION);
    setting_image(m, im);
    hca_image(m, im);
    core_image_bytes(im, m->event_eq, sizeof(m->event_eq));
    for (unsigned i = 0; i < G_N_ELEMENTS(m->eq); i++) {
        eq_image(im, &m->eq[i]);
    }
    port_image(im, &m->port);
#define COUNTER_IMAGE(name) core_image_int(im, &m->counters.name);
    MTHCA_COUNTERS(COUNTER_IMAGE)
#undef COUNTER_IMAGE
    icm_image(im, &m->icm);
    tables_image(m, im);
    rdma_image(m->rdma, im);
    core_image_end(im);
}

/* ---- objects ---- */

static void doorbell_image(CoreImage *im, MthcaDoorbell *d)
{
    core_image_int(im, &d->head);
    core_image_int(im, &d->count);
    core_image_int(im, &d->op);
    core_image_int(im, &d->size);
    core_image_flag(im, &d->fence);
}

void mthca_qp_image(void *p, RdmaQp *qp, CoreImage *im)
{
    MthcaQp *q = rdma_qp_priv(qp);

    core_image_bytes(im, q->ctx, sizeof(q->ctx));
    core_image_int(im, &q->db_first);
    core_image_int(im, &q->db_num);
    if (!core_image_check(im, q->db_first < MTHCA_QP_DOORBELLS &&
                              q->db_num <= MTHCA_QP_DOORBELLS,
                          "doorbell outside its queue")) {
        q->db_first = q->db_num = 0;
    }
    for (unsigned i = 0; i < q->db_num; i++) {
        MthcaDoorbell *d = &q->db[(q->db_first + i) % MTHCA_QP_DOORBELLS];

        doorbell_image(im, d);
        core_image_check(im, d->count && d->count <= MTHCA_DOORBELL_MAX,
                         "doorbell for no requests or too many");
    }
    core_image_int(im, &q->sq_next);
    core_image_int(im, &q->special);
    core_image_int(im, &q->rq_tail);
    core_image_int(im, &q->rq_head);
    core_image_check(im, q->special <= 2 &&
                         !q->special == !rdma_qp_attr(qp)->special,
                     "special QP that is none");
    core_image_check(im, mthca_qp_sizes_ok(q), "queue is too large");
    if (core_image_loading(im) &&
        !core_image_check(im, mthca_qp_refs(p, rdma_qp_attr(qp), 1),
                          "QP without its CQs or SRQ")) {
        return;
    }
}

void mthca_cq_image(void *p, RdmaCq *obj, CoreImage *im)
{
    MthcaCq *cq = rdma_cq_priv(obj);

    core_image_bytes(im, cq->ctx, sizeof(cq->ctx));
    core_image_int(im, &cq->start);
    core_image_int(im, &cq->lkey);
    core_image_int(im, &cq->pd);
    core_image_int(im, &cq->uar);
    core_image_int(im, &cq->comp_eqn);
    core_image_int(im, &cq->ci_db);
    core_image_int(im, &cq->arm_db);
    core_image_int(im, &cq->pi);
    core_image_int(im, &cq->ci);
    core_image_int(im, &cq->solicit_pi);
    core_image_int(im, &cq->log_size);
    core_image_int(im, &cq->armed);
    core_image_flag(im, &cq->overrun);
    if (!core_image_check(im, cq->log_size <= MTHCA_LOG_MAX_CQES &&
                              cq->armed <= 3, "CQ is too large")) {
        cq->log_size = 0;
    }
}

void mthca_srq_image(void *p, RdmaSrq *obj, CoreImage *im)
{
    MthcaSrq *srq = rdma_srq_priv(obj);

    core_image_bytes(im, srq->ctx, sizeof(srq->ctx));
    core_image_int(im, &srq->wqe_base);
    core_image_int(im, &srq->lkey);
    core_image_int(im, &srq->pd);
    core_image_int(im, &srq->uar);
    core_image_int(im, &srq->db);
    core_image_int(im, &srq->next);
    core_image_int(im, &srq->tail);
    core_image_int(im, &srq->head);
    core_image_int(im, &srq->limit);
    core_image_int(im, &srq->log_size);
    core_image_int(im, &srq->log_stride);
    core_image_flag(im, &srq->error);
    if (!core_image_check(im, srq->log_size <= MTHCA_LOG_MAX_WQES + 1 &&
                              srq->log_stride >= MTHCA_LOG_STRIDE_MIN &&
                              srq->log_stride <= MTHCA_LOG_STRIDE_MAX,
                          "SRQ is too large")) {
        srq->log_size = 0;
        srq->log_stride = MTHCA_LOG_STRIDE_MIN;
    }
}

/* ---- as a block ---- */

uint8_t *mthca_save(Mthca *m, int64_t now, size_t *len)
{
    CoreImage *im = core_image_save(now);
    uint8_t *data;

    all_image(m, im);
    data = core_image_take(im, len);
    core_image_free(im);
    return data;
}

const char *mthca_load(Mthca *m, int64_t now, const uint8_t *data, size_t len)
{
    CoreImage *im = core_image_load(data, len, now);
    const char *error;

    mthca_reset(m);
    all_image(m, im);
    error = core_image_done(im);
    core_image_free(im);
    if (error) {
        mthca_reset(m);
        return error;
    }
    m->cfg.ops->intx(m->cfg.rdma.ops_opaque, m->intx);
    return NULL;
}
