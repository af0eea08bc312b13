/*
 * Migration: the engine's state, described once for both directions.
 *
 * An image may come from anywhere.  What is loaded is checked against
 * everything that the rest of the engine takes for granted: that WQEs are what
 * the requester would have let pass, that their PSNs follow each other up to
 * NPSN, that answers lie within what they answer.  What follows from other
 * things (accounts, the WQE being sent, places in rings) does not travel.
 * Frames under way inside the device are not saved; the transport repeats them.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "internal.h"

enum { MAX_REPLIES = 256 };

/* ---- parts ---- */

static void image_psn(CoreImage *im, uint32_t *psn)
{
    core_image_int(im, psn);
    if (!core_image_check(im, !(*psn & ~RDMA_PSN_MASK),
                          "a PSN has more than 24 bits")) {
        *psn = 0;
    }
}

static void image_av(CoreImage *im, RdmaAv *av)
{
    core_image_int(im, &av->dip);
    core_image_int(im, &av->sip);
    core_image_bytes(im, av->dmac, sizeof(av->dmac));
    core_image_bytes(im, av->smac, sizeof(av->smac));
    core_image_int(im, &av->dlid);
    core_image_int(im, &av->sl);
    core_image_int(im, &av->tclass);
    core_image_int(im, &av->hop_limit);
    core_image_flag(im, &av->has_grh);
    core_image_int(im, &av->sgid_index);
    core_image_int(im, &av->path_bits);
    core_image_int(im, &av->flow_label);
    core_image_bytes(im, av->dgid, sizeof(av->dgid));
}

static void image_sges(CoreImage *im, RdmaSge *sge, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        core_image_int(im, &sge[i].addr);
        core_image_int(im, &sge[i].len);
        core_image_int(im, &sge[i].key);
    }
}

static void image_attr(CoreImage *im, RdmaQpAttr *a)
{
    core_image_int(im, &a->state);
    core_image_int(im, &a->service);
    core_image_check(im, a->state <= RDMA_QPS_ERR, "no state of a QP");
    core_image_check(im, a->service == RDMA_RC || a->service == RDMA_UC ||
                     a->service == RDMA_UD, "no service of a QP");
    core_image_flag(im, &a->sqd_event);
    core_image_int(im, &a->dest_qpn);
    core_image_int(im, &a->pd);
    core_image_int(im, &a->send_cqn);
    core_image_int(im, &a->recv_cqn);
    core_image_int(im, &a->srqn);
    core_image_flag(im, &a->has_srq);
    core_image_flag(im, &a->sig_all);
    core_image_flag(im, &a->special);
    core_image_int(im, &a->mtu_code);
    core_image_int(im, &a->pkey_index);
    core_image_int(im, &a->qkey);
    image_av(im, &a->av);
    core_image_int(im, &a->timeout);
    core_image_int(im, &a->retry_cnt);
    core_image_int(im, &a->rnr_retry);
    core_image_int(im, &a->min_rnr_timer);
    core_image_int(im, &a->access);
    core_image_int(im, &a->max_rd_atomic);
    core_image_int(im, &a->max_dest_rd_atomic);
    core_image_check(im, a->max_rd_atomic <= MAX_REPLIES / 2 &&
                     a->max_dest_rd_atomic <= MAX_REPLIES / 2,
                     "too many Reads at a time");
}

/* ---- requester ---- */

/* Would the requester have come to have this WQE in this state? */
static bool wqe_sound(const RdmaQp *qp, RdmaWqe *w)
{
    uint32_t length = w->length;

    if (w->state > WQE_DONE || w->status >= RDMA_WC_NUM ||
        w->error >= RDMA_WC_NUM || w->num_sge > RDMA_MAX_SGE ||
        length > 1u << 31 ||
        (w->state == WQE_NEW && w->has_psn) ||
        ((w->state == WQE_SENDING || w->state == WQE_SENT) && !w->has_psn) ||
        (w->state == WQE_DONE && w->has_psn &&
         w->status == RDMA_WC_SUCCESS)) {
        return false;
    }
    if (w->state == WQE_DONE && !w->has_psn) {
        return true;            /* it only waits for its turn to complete */
    }
    return req_measure(qp, w) == RDMA_WC_SUCCESS && w->length == length &&
           w->opcode != RDMA_OP_NOP &&
           (!w->has_psn || w->last_psn ==
                           psn_add(w->first_psn, wqe_packets(qp, w) - 1));
}

static void image_wqe(RdmaQp *qp, CoreImage *im, RdmaWqe *w)
{
    core_image_int(im, &w->id);
    core_image_int(im, &w->opcode);
    core_image_int(im, &w->flags);
    core_image_int(im, &w->num_sge);
    core_image_int(im, &w->error);
    core_image_bytes(im, w->imm, sizeof(w->imm));
    core_image_int(im, &w->raddr);
    core_image_int(im, &w->rkey);
    core_image_int(im, &w->inl_len);
    core_image_int(im, &w->swap_add);
    core_image_int(im, &w->compare);
    core_image_int(im, &w->dqpn);
    core_image_int(im, &w->qkey);
    core_image_int(im, &w->src_qpn);
    core_image_int(im, &w->pkey);
    image_av(im, &w->av);
    core_image_int(im, &w->length);
    image_psn(im, &w->first_psn);
    image_psn(im, &w->last_psn);
    core_image_int(im, &w->state);
    core_image_int(im, &w->status);
    core_image_flag(im, &w->has_psn);
    if (!core_image_check(im, w->num_sge <= RDMA_MAX_SGE &&
                          (!(w->flags & RDMA_WQE_INLINE) ||
                           w->inl_len <= RDMA_MAX_INLINE),
                          "a WQE is larger than any")) {
        return;
    }
    if (w->flags & RDMA_WQE_INLINE) {
        core_image_bytes(im, w->inl, w->inl_len);
    } else {
        image_sges(im, w->sge, w->num_sge);
    }
    if (core_image_loading(im)) {
        core_image_check(im, wqe_sound(qp, w), "no WQE that is under way");
    }
}

/*
 * The loaded list: PSNs follow each other from UPSN to NPSN, and only the last
 * is not sent entirely.  A QP in error keeps WQEs to be flushed, no more.
 */
static void chain_wqes(RdmaQp *qp, CoreImage *im)
{
    Requester *r = &qp->req;
    uint32_t next = r->upsn;
    bool first = true, right = true;

    for (RdmaWqe *w = r->head; w; w = w->next) {
        bool partly = w->state == WQE_NEW || w->state == WQE_SENDING;

        if (qp->attr.state == RDMA_QPS_ERR) {
            w->has_psn = false;
            w->state = WQE_DONE;
            continue;
        }
        right &= !partly || !w->next;
        r->cur = partly ? w : NULL;
        if (w->has_psn) {
            uint32_t sent = psn_ahead(r->npsn, w->first_psn);
            uint32_t all = psn_ahead(w->last_psn, w->first_psn) + 1;

            /* Of the first one, a part may be acknowledged. */
            right &= first ? psn_ahead(r->upsn, w->first_psn) < all
                           : w->first_psn == next;
            next = psn_add(w->last_psn, 1);
            /* One that failed had been sent before, or did so half way. */
            if (w->state == WQE_SENDING ||
                (w->state == WQE_DONE && sent < all)) {
                right &= sent && sent < all && !wqe_is_rd(w);
                next = r->npsn;
            }
            first = false;
        }
    }
    if (qp->attr.state == RDMA_QPS_ERR) {
        r->upsn = r->npsn;
    }
    right &= (is_rc(qp) || !r->head || !r->head->next) &&
             (next == r->npsn || qp->attr.state == RDMA_QPS_ERR) &&
             psn_ahead(r->npsn, r->upsn) <= PSN_WINDOW;
    if (!core_image_check(im, right, "WQEs and PSNs do not fit")) {
        return;
    }
    for (RdmaWqe *w = r->head; w; w = w->next) {
        if (is_rc(qp) && w->has_psn) {
            wqe_hold(qp, w);
        }
    }
}

static void image_wqes(RdmaQp *qp, CoreImage *im)
{
    Requester *r = &qp->req;
    RdmaDev *dev = qp->dev;
    uint32_t n = 0;
    RdmaWqe *w;

    for (w = r->head; w; w = w->next) {
        n++;
    }
    core_image_count(im, &n, dev->cfg.max_wqes + 1, "too many WQEs");
    if (!core_image_loading(im)) {
        for (w = r->head; w; w = w->next) {
            image_wqe(qp, im, w);
        }
        return;
    }
    while (n-- && !core_image_error(im)) {
        w = wqe_take(dev);
        w->next = NULL;
        if (r->tail) {
            r->tail->next = w;
        } else {
            r->head = w;
        }
        r->tail = w;
        image_wqe(qp, im, w);
        core_image_check(im, dev->wqe_used <= dev->cfg.max_wqes +
                                              dev->qps.mask + 1,
                         "too many WQEs");
    }
    if (!core_image_error(im)) {
        chain_wqes(qp, im);
    }
}

static void image_requester(RdmaQp *qp, CoreImage *im)
{
    Requester *r = &qp->req;

    image_psn(im, &r->npsn);
    image_psn(im, &r->upsn);
    core_image_flag(im, &r->more);
    core_image_flag(im, &r->bad);
    core_image_flag(im, &r->retx);
    image_psn(im, &r->retx_psn);
    image_psn(im, &r->retx_end);
    core_image_flag(im, &r->retx_marked);
    core_image_flag(im, &r->rnr_wait);
    core_image_int(im, &r->retry_left);
    core_image_int(im, &r->rnr_left);
    core_image_int(im, &r->since_ackreq);
    core_image_flag(im, &r->drained);
    image_wqes(qp, im);
}

/* ---- responder ---- */

static bool reply_sound(const RdmaQp *qp, const RdReply *s)
{
    uint32_t all = psn_ahead(s->last_psn, s->first_psn);
    uint32_t packets = s->len <= qp->mtu ? 1 : (s->len - 1) / qp->mtu + 1;

    return s->kind <= REPLY_ATOMIC && (s->kind != REPLY_NONE || !s->due) &&
           s->len <= 1u << 31 &&
           all == (s->kind == REPLY_READ ? packets - 1 : 0) &&
           psn_ahead(s->start_psn, s->first_psn) <= all &&
           psn_ahead(s->psn, s->first_psn) <= all;
}

static void image_reply(RdmaQp *qp, CoreImage *im, RdReply *s)
{
    core_image_int(im, &s->kind);
    core_image_flag(im, &s->due);
    core_image_flag(im, &s->again);
    image_psn(im, &s->first_psn);
    image_psn(im, &s->last_psn);
    image_psn(im, &s->start_psn);
    image_psn(im, &s->psn);
    core_image_int(im, &s->va);
    core_image_int(im, &s->rkey);
    core_image_int(im, &s->len);
    core_image_int(im, &s->orig);
    core_image_int(im, &s->msn);
    if (core_image_loading(im)) {
        core_image_check(im, reply_sound(qp, s), "no answer to a Read");
    }
}

/* The remembered ones from old to new; the newest @fresh of them are new. */
static void image_replies(RdmaQp *qp, CoreImage *im)
{
    Responder *r = &qp->resp;
    bool loading = core_image_loading(im);
    uint32_t n = r->reply ? MIN(r->reply_tail, r->reply_num) : 0;
    uint32_t fresh = r->reply_tail - r->reply_fresh;

    core_image_count(im, &n, MAX_REPLIES, "too many Reads are remembered");
    core_image_count(im, &fresh, n, "more Reads are new than there are");
    if (loading) {
        r->reply_num = 1;
        while (r->reply_num < MAX(n, 2u * qp->attr.max_dest_rd_atomic)) {
            r->reply_num *= 2;
        }
        r->reply = n ? g_new0(RdReply, r->reply_num) : NULL;
        r->reply_tail = n;
        r->reply_fresh = n - fresh;
        r->reply_head = n;
    }
    for (uint32_t k = n; k > 0; k--) {
        uint32_t i = r->reply_tail - k;
        RdReply *s = &r->reply[i & (r->reply_num - 1)];

        image_reply(qp, im, s);
        core_image_check(im, s->due || k > fresh, "a new Read is not due");
        if (loading && s->due && !core_image_error(im)) {
            r->reply_head = MIN(r->reply_head, i);
        }
    }
}

static void image_responder(RdmaQp *qp, CoreImage *im)
{
    Responder *r = &qp->resp;

    image_psn(im, &r->epsn);
    image_psn(im, &r->msn);
    core_image_flag(im, &r->nak_sent);
    core_image_flag(im, &r->last_words);
    core_image_flag(im, &r->in_msg);
    core_image_int(im, &r->msg_flags);
    core_image_flag(im, &r->have_wqe);
    core_image_flag(im, &r->drop_msg);
    core_image_flag(im, &r->comm_est);
    core_image_int(im, &r->got);
    core_image_int(im, &r->va);
    core_image_int(im, &r->rkey);
    core_image_int(im, &r->len);
    core_image_flag(im, &r->ack_due);
    core_image_int(im, &r->ack_syndrome);
    image_psn(im, &r->ack_psn);
    core_image_check(im, !r->in_msg || r->msg_flags == ROCE_F_WRITE ||
                     (r->msg_flags == ROCE_F_SEND && r->have_wqe),
                     "no message that is under way");
    if (r->have_wqe) {
        core_image_int(im, &r->wqe.id);
        core_image_count(im, &r->wqe.num_sge, RDMA_MAX_SGE,
                         "a receive WQE is larger than any");
        image_sges(im, r->wqe.sge, r->wqe.num_sge);
    }
    image_replies(qp, im);
}

/* ---- objects ---- */

static void image_cq(RdmaDev *dev, CoreImage *im, void *object)
{
    const RdmaPersOps *pers = dev->cfg.pers;
    uint32_t cqn = object ? rdma_cq_num(object) : 0;
    RdmaCq *cq = object;

    core_image_begin(im, CORE_TAG('R', 'd', 'C', 'q'), 1);
    core_image_int(im, &cqn);
    if (!cq && !core_image_error(im)) {
        cq = rdma_cq_create(dev, cqn);
    }
    if (core_image_check(im, cq, "two CQs have one number")) {
        if (pers->cq_image) {
            pers->cq_image(dev->cfg.pers_opaque, cq, im);
        }
    }
    core_image_end(im);
}

static void image_srq(RdmaDev *dev, CoreImage *im, void *object)
{
    const RdmaPersOps *pers = dev->cfg.pers;
    uint32_t srqn = object ? rdma_srq_num(object) : 0;
    RdmaSrq *srq = object;

    core_image_begin(im, CORE_TAG('R', 'd', 'S', 'r'), 1);
    core_image_int(im, &srqn);
    if (!srq && !core_image_error(im)) {
        srq = rdma_srq_create(dev, srqn);
    }
    if (core_image_check(im, srq, "two SRQs have one number")) {
        if (pers->srq_image) {
            pers->srq_image(dev->cfg.pers_opaque, srq, im);
        }
    }
    core_image_end(im);
}

static void qp_parts(RdmaQp *qp, CoreImage *im)
{
    const RdmaPersOps *pers = qp->dev->cfg.pers;

    image_attr(im, &qp->attr);
    core_image_int(im, &qp->mtu);
    if (!core_image_check(im, qp->mtu >= 256 && qp->mtu <= RDMA_MAX_MTU &&
                          !(qp->mtu & (qp->mtu - 1)), "no path MTU")) {
        qp->mtu = 256;
        return;
    }
    image_requester(qp, im);
    image_responder(qp, im);
    core_image_flag(im, &qp->flush_recv);
    core_image_deadline(im, &qp->loss_at);
    core_image_deadline(im, &qp->rnr_at);
    core_image_deadline(im, &qp->repoll_at);
    core_image_deadline(im, &qp->repoll_end);
    core_image_int(im, &qp->repoll_ns);
    if (!core_image_check(im, qp->repoll_ns >= 0 &&
                          qp->repoll_ns <= TIMER_MAX_NS, "no pause")) {
        qp->repoll_ns = 0;
    }
    if (pers->qp_image) {
        pers->qp_image(qp->dev->cfg.pers_opaque, qp, im);
    }
}

static void image_qp(RdmaDev *dev, CoreImage *im, void *object)
{
    uint32_t qpn = object ? rdma_qp_num(object) : 0;
    RdmaQp *qp = object;

    core_image_begin(im, CORE_TAG('R', 'd', 'Q', 'p'), 1);
    core_image_int(im, &qpn);
    if (!qp && !core_image_error(im)) {
        qp = rdma_qp_create(dev, qpn);
    }
    if (core_image_check(im, qp, "two QPs have one number")) {
        qp_parts(qp, im);
    }
    if (core_image_loading(im) && qp && !core_image_error(im)) {
        qp_timer_update(qp);
        qp_run(qp);
    }
    core_image_end(im);
}

static void collect_object(void *opaque, void *object)
{
    g_ptr_array_add(opaque, object);
}

/* All objects of a table; loading, @one is given NULL and makes a new one. */
static void image_table(RdmaDev *dev, CoreImage *im, CoreTable *t,
                        void (*one)(RdmaDev *dev, CoreImage *im,
                                    void *object))
{
    g_autoptr(GPtrArray) all = g_ptr_array_new();
    bool loading = core_image_loading(im);
    uint32_t n;

    if (!loading) {
        core_table_foreach(t, collect_object, all);
    }
    n = all->len;
    core_image_count(im, &n, t->mask + 1, "more objects than numbers");
    for (uint32_t i = 0; i < n && !core_image_error(im); i++) {
        one(dev, im, loading ? NULL : g_ptr_array_index(all, i));
    }
}

static void image_mr(RdmaDev *dev, CoreImage *im, uint32_t index)
{
    const RdmaMr *was = rdma_mr_get(dev, index);
    RdmaMr m = was ? *was : (RdmaMr) { 0 };

    core_image_int(im, &index);
    core_image_check(im, index <= dev->mr_mask, "no place for a region");
    core_image_int(im, &m.key);
    core_image_int(im, &m.pd);
    core_image_int(im, &m.access);
    core_image_int(im, &m.page_shift);
    core_image_flag(im, &m.physical);
    core_image_int(im, &m.start);
    core_image_int(im, &m.length);
    core_image_int(im, &m.mtt);
    if (core_image_loading(im) && !core_image_error(im)) {
        rdma_mr_set(dev, index, &m);
    }
}

static void image_regions(RdmaDev *dev, CoreImage *im)
{
    uint32_t n = 0;

    for (uint32_t i = 0; !core_image_loading(im) && i <= dev->mr_mask; i++) {
        const RdmaMr *m = rdma_mr_get(dev, i);

        n += m && m->valid;
    }
    core_image_count(im, &n, dev->mr_mask + 1, "more regions than places");
    for (uint32_t i = 0; n > 0 && !core_image_error(im); i++) {
        const RdmaMr *m = rdma_mr_get(dev, i);

        if (core_image_loading(im) || (m && m->valid)) {
            image_mr(dev, im, core_image_loading(im) ? 0 : i);
            n--;
        }
    }
}

static void image_group(RdmaDev *dev, CoreImage *im, McastGroup *g)
{
    uint32_t n = g ? g->qpns->len : 0, qpn;
    uint8_t gid[16] = { 0 };

    if (g) {
        memcpy(gid, g->gid, sizeof(gid));
    }
    core_image_bytes(im, gid, sizeof(gid));
    core_image_count(im, &n, dev->qps.mask + 1, "more members than QPs");
    for (uint32_t i = 0; i < n && !core_image_error(im); i++) {
        qpn = g ? g_array_index(g->qpns, uint32_t, i) : 0;
        core_image_int(im, &qpn);
        if (!g && !core_image_error(im)) {
            core_image_check(im, rdma_mcast_attach(dev, gid, qpn),
                             "no member of a group");
        }
    }
}

/* ---- the device ---- */

static void image_port(RdmaPort *p, CoreImage *im)
{
    core_image_bytes(im, p->mac, sizeof(p->mac));
    core_image_flag(im, &p->link_up);
    core_image_int(im, &p->lid);
    core_image_int(im, &p->lmc);
    if (!core_image_check(im, p->lmc <= 7, "no LID mask")) {
        p->lmc = 0;
    }
    core_image_int(im, &p->ip);
    core_image_bytes(im, p->gid, sizeof(p->gid));
    for (int i = 0; i < RDMA_MAX_PKEYS; i++) {
        core_image_int(im, &p->pkey[i]);
    }
    core_image_int(im, &p->num_pkeys);
    if (!core_image_check(im, p->num_pkeys <= RDMA_MAX_PKEYS,
                          "more P_Keys than the table has")) {
        p->num_pkeys = 0;
    }
}

/* New ones come at the end: an older image has fewer. */
static void image_counters(RdmaCounters *c, CoreImage *im)
{
    uint64_t *const all[] = {
#define COUNTER_AT(name) &c->name,
        RDMA_COUNTERS(COUNTER_AT)
#undef COUNTER_AT
    };
    uint32_t n = G_N_ELEMENTS(all);

    core_image_count(im, &n, G_N_ELEMENTS(all), "counters of a later build");
    for (uint32_t i = 0; i < n; i++) {
        core_image_int(im, all[i]);
    }
}

static void image_alias(RdmaDev *dev, CoreImage *im, unsigned i)
{
    bool set = dev->alias[i];
    uint32_t qpn = set ? dev->alias[i]->qpn : 0;

    core_image_flag(im, &set);
    core_image_int(im, &qpn);
    if (core_image_loading(im) && set && !core_image_error(im)) {
        rdma_qp_alias(dev, i, rdma_qp_get(dev, qpn));
        core_image_check(im, dev->alias[i], "no special QP");
    }
}

void rdma_image(RdmaDev *dev, CoreImage *im)
{
    bool loading = core_image_loading(im);
    uint32_t n = dev->mcast->len;

    if (loading) {
        rdma_reset(dev);
        n = 0;
    }
    core_image_begin(im, CORE_TAG('R', 'd', 'm', 'a'), 1);
    image_port(&dev->port, im);
    image_counters(&dev->cnt, im);
    core_image_int(im, &dev->ip_id);
    image_regions(dev, im);
    image_table(dev, im, &dev->cqs, image_cq);
    image_table(dev, im, &dev->srqs, image_srq);
    image_table(dev, im, &dev->qps, image_qp);
    core_image_count(im, &n, MCAST_GROUPS, "too many groups");
    for (uint32_t i = 0; i < n && !core_image_error(im); i++) {
        image_group(dev, im, loading ? NULL :
                                       g_ptr_array_index(dev->mcast, i));
    }
    image_alias(dev, im, 0);
    image_alias(dev, im, 1);
    core_image_end(im);
    if (!loading) {
        return;
    }
    if (core_image_error(im)) {
        if (dev_ops(dev)->log) {
            dev_ops(dev)->log(dev->cfg.ops_opaque, 0, "migration",
                              core_image_error(im));
        }
        rdma_reset(dev);
    } else {
        /* Switches must learn where the address has gone. */
        net_announce(dev);
    }
}

uint8_t *rdma_save(RdmaDev *dev, int64_t now, size_t *len)
{
    CoreImage *im = core_image_save(now);
    uint8_t *data;

    rdma_image(dev, im);
    data = core_image_take(im, len);
    core_image_free(im);
    return data;
}

bool rdma_load(RdmaDev *dev, int64_t now, const uint8_t *data, size_t len)
{
    CoreImage *im = core_image_load(data, len, now);
    bool right;

    rdma_image(dev, im);
    right = !core_image_done(im);
    core_image_free(im);
    if (!right) {
        rdma_reset(dev);
    }
    return right;
}
