/*
 * Migration: the personality's state, the switches that it was made under, and
 * what each object of the transport core carries for it.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "internal.h"

#define TAG_NATIVE CORE_TAG('N', 'R', 'D', 'M')
#define TAG_SWITCH CORE_TAG('N', 'R', 'S', 'W')

enum { VERSION = 1 };

/* Switches that the guest can tell apart must be the same at both ends. */
static void switch_image(NativeRdma *n, CoreImage *im)
{
    const NativeConfig *c = &n->cfg;

    core_image_begin(im, TAG_SWITCH, VERSION);
    core_image_same(im, c->strict_cmd, "property rdma-strict differs");
    core_image_same(im, c->strict_qp, "property rdma-strict differs");
    core_image_same(im, c->state_rtl, "property rdma-state-rtl differs");
    core_image_same(im, c->devlim_rtl, "property rdma-devlim-rtl differs");
    core_image_same(im, c->nop_bad_op, "property rdma-nop-bad-op differs");
    core_image_same(im, c->psn_always, "property rdma-psn-always differs");
    core_image_same(im, c->rnr0_none, "property rdma-rnr0-none differs");
    core_image_same(im, c->mpt_phys, "property rdma-mpt-phys differs");
    core_image_same(im, c->eqe, "property rdma-eqe differs");
    core_image_same(im, c->cq_check_owner,
                    "property rdma-cq-check-owner differs");
    core_image_same(im, c->uar_check, "property rdma-uar-check differs");
    core_image_same(im, c->lerr, "property rdma-local-error differs");
    core_image_same(im, c->err_cqe, "property rdma-error-cqe differs");
    core_image_end(im);
}

/* Pages that are mapped, with their places. */
static void map_image(CoreImage *im, uint64_t *map, uint32_t pages)
{
    uint32_t num = 0, at = 0;

    for (uint32_t i = 0; i < pages; i++) {
        num += map[i] & 1;
    }
    core_image_count(im, &num, pages, "more ICM pages than a table has");
    for (uint32_t i = 0; i < num; i++, at++) {
        while (!core_image_loading(im) && !(map[at] & 1)) {
            at++;
        }
        core_image_int(im, &at);
        if (!core_image_check(im, at < pages, "ICM page outside its table")) {
            return;
        }
        core_image_int(im, &map[at]);
        core_image_check(im, (map[at] & 0xfff) == 1, "bad ICM page");
    }
}

static void icm_image(NativeRdma *n, CoreImage *im)
{
    static const uint8_t log_max[ICM_TABLES] = {
        NR_LOG_QPS, NR_LOG_CQS, NR_LOG_EQS, NR_LOG_MPTS, NR_LOG_MTTS,
    };

    for (int t = 0; t < ICM_TABLES; t++) {
        core_image_int(im, &n->s.base[t]);
        core_image_int(im, &n->s.log[t]);
        if (!core_image_check(im, n->s.log[t] <= log_max[t],
                              "ICM table is too large")) {
            n->s.log[t] = 0;
        }
        map_image(im, n->s.map[t], nicm_pages[t]);
    }
}

static void eq_image(CoreImage *im, Eq *e)
{
    core_image_flag(im, &e->exists);
    core_image_flag(im, &e->valid);
    core_image_flag(im, &e->armed);
    core_image_int(im, &e->start);
    core_image_int(im, &e->log);
    core_image_int(im, &e->vector);
    core_image_int(im, &e->pd);
    core_image_int(im, &e->lkey);
    core_image_int(im, &e->pi);
    core_image_int(im, &e->mask);
    if (!core_image_check(im, e->log <= LOG_EQ_MAX,
                          "event queue is too large")) {
        e->log = 0;
    }
}

static void doorbell_save(void *opaque, uint64_t val)
{
    core_image_int((CoreImage *)opaque, &val);
}

static void doorbells_image(NativeRdma *n, NativeQp *q, CoreImage *im)
{
    uint32_t num = q->db_num;

    core_image_count(im, &num, DB_MOST, "too many doorbells of a QP");
    if (!core_image_loading(im)) {
        native_db_foreach(n, q, doorbell_save, im);
        return;
    }
    for (uint32_t i = 0; i < num; i++) {
        uint64_t val;

        core_image_int(im, &val);
        if (!core_image_check(im, native_db_push(n, q, val),
                              "too many doorbells")) {
            return;
        }
    }
}

void native_qp_image(void *p, RdmaQp *qp, CoreImage *im)
{
    NativeRdma *n = p;
    NativeQp *q = rdma_qp_priv(qp);

    core_image_check(im, rdma_qp_num(qp) < nicm_count(n, ICM_QPC),
                     "QP outside its table");
    core_image_check(im, !rdma_qp_attr(qp)->has_srq, "QP with an SRQ");
    core_image_bytes(im, q->ctx, sizeof(q->ctx));
    native_take_queues(q);
    core_image_flag(im, &q->chain);
    core_image_flag(im, &q->chain_fence);
    core_image_int(im, &q->chain_op);
    core_image_int(im, &q->chain_units);
    core_image_int(im, &q->chain_off);
    core_image_int(im, &q->rq_off);
    core_image_int(im, &q->rq_block);
    core_image_int(im, &q->rq_lap);
    doorbells_image(n, q, im);
}

void native_cq_image(void *p, RdmaCq *cq, CoreImage *im)
{
    NativeRdma *n = p;
    NativeCq *q = rdma_cq_priv(cq);

    core_image_check(im, rdma_cq_num(cq) < nicm_count(n, ICM_CQC),
                     "CQ outside its table");
    core_image_int(im, &q->lkey);
    core_image_int(im, &q->pd);
    core_image_int(im, &q->eqn);
    core_image_int(im, &q->uar);
    core_image_int(im, &q->log);
    core_image_flag(im, &q->armed);
    core_image_flag(im, &q->failed);
    core_image_int(im, &q->off);
    if (!core_image_check(im, q->log <= LOG_EQ_MAX, "CQ is too large")) {
        q->log = 0;
    }
    core_image_check(im, q->off < NRQ_CQE_BYTES << q->log &&
                         !(q->off % NRQ_CQE_BYTES), "CQE outside its CQ");
}

static void all_image(NativeRdma *n, CoreImage *im)
{
    NativeState *s = &n->s;

    core_image_begin(im, TAG_NATIVE, VERSION);
    switch_image(n, im);
    for (int i = 0; i < G_N_ELEMENTS(s->hcr); i++) {
        core_image_int(im, &s->hcr[i]);
    }
    core_image_check(im, !(s->hcr[NRH_CMD / 4] & NRH_GO),
                     "command that has not ended");
    core_image_flag(im, &s->ready);
    core_image_int(im, &s->db_low);
    core_image_int(im, &s->db_page);
    core_image_flag(im, &s->db_latched);
    icm_image(n, im);
    for (int i = 0; i < G_N_ELEMENTS(s->eq); i++) {
        eq_image(im, &s->eq[i]);
    }
    rdma_image(n->dev, im);
    core_image_end(im);
}

uint8_t *native_save(NativeRdma *n, int64_t now, size_t *len)
{
    CoreImage *im = core_image_save(now);
    uint8_t *data;

    all_image(n, im);
    data = core_image_take(im, len);
    core_image_free(im);
    return data;
}

const char *native_load(NativeRdma *n, int64_t now, const uint8_t *data,
                        size_t len)
{
    CoreImage *im = core_image_load(data, len, now);
    const char *error;

    native_reset(n);
    all_image(n, im);
    error = core_image_done(im);
    core_image_free(im);
    if (error) {
        native_reset(n);
    }
    return error;
}
