/*
 * Migration: the engine's state as one block of bytes.
 *
 * Fixed-size records in host layout, guarded by a header with their sizes, so
 * that a block of another build is refused.  Links between objects travel as
 * numbers.  The block may come from anywhere: every count and index in it is
 * checked.  Frames under way inside the device are not saved; the transport
 * repeats them.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "internal.h"

enum { MAGIC = 0x52444d31, VERSION = 1 };

typedef struct Header {
    uint32_t magic, version;
    uint32_t attr, req, resp, wqe, mr, res, port, counters;
    uint32_t qp_priv, cq_priv, srq_priv;
    uint16_t ip_id;
    uint32_t num_mr, num_cq, num_srq, num_qp, num_group;
    uint32_t alias[2];
} Header;

typedef struct QpRecord {
    uint32_t qpn, mtu;
    RdmaQpAttr attr;
    Requester req;
    Responder resp;
    bool flush_recv;
    int64_t loss_in, rnr_in, repoll_in;     /* from now; NEVER */
    uint32_t num_wqe;
    int32_t cur;                            /* index, -1 = none */
    uint32_t num_res;                       /* ring entries that follow */
} QpRecord;

static const uint32_t no_alias = UINT32_MAX;

static Header header(const RdmaDev *dev)
{
    return (Header) {
        .magic = MAGIC, .version = VERSION, .attr = sizeof(RdmaQpAttr),
        .req = sizeof(Requester), .resp = sizeof(Responder),
        .wqe = sizeof(RdmaWqe), .mr = sizeof(RdmaMr), .res = sizeof(Res),
        .port = sizeof(RdmaPort), .counters = sizeof(RdmaCounters),
        .qp_priv = dev->cfg.pers->qp_priv, .cq_priv = dev->cfg.pers->cq_priv,
        .srq_priv = dev->cfg.pers->srq_priv, .ip_id = dev->ip_id,
        .alias = { no_alias, no_alias },
    };
}

/* ---- save ---- */

typedef struct Saver {
    GByteArray *out;
    RdmaDev *dev;
    Header *h;
    int64_t now;
} Saver;

static void put(Saver *s, const void *p, size_t n)
{
    g_byte_array_append(s->out, p, n);
}

static int64_t relative(int64_t at, int64_t now)
{
    return at == NEVER ? NEVER : MAX(at - now, 0);
}

static size_t wqe_bytes(const RdmaWqe *w)
{
    return offsetof(RdmaWqe, sge) + (w->flags & RDMA_WQE_INLINE ?
                                     MIN(w->inl_len, RDMA_MAX_INLINE) :
                                     w->num_sge * sizeof(RdmaSge));
}

static void save_cq(void *opaque, void *p)
{
    Saver *s = opaque;
    RdmaCq *cq = p;

    put(s, &cq->cqn, 4);
    put(s, cq->priv, s->h->cq_priv);
    s->h->num_cq++;
}

static void save_srq(void *opaque, void *p)
{
    Saver *s = opaque;
    RdmaSrq *srq = p;

    put(s, &srq->srqn, 4);
    put(s, srq->priv, s->h->srq_priv);
    s->h->num_srq++;
}

static void save_qp(void *opaque, void *p)
{
    Saver *s = opaque;
    RdmaQp *qp = p;
    QpRecord r;

    memset(&r, 0, sizeof(r));
    r.qpn = qp->qpn;
    r.mtu = qp->mtu;
    r.attr = qp->attr;
    r.req = qp->req;
    r.req.head = r.req.tail = r.req.cur = NULL;
    r.resp = qp->resp;
    r.resp.res = NULL;
    r.flush_recv = qp->flush_recv;
    r.loss_in = relative(qp->loss_at, s->now);
    r.rnr_in = relative(qp->rnr_at, s->now);
    r.repoll_in = relative(qp->repoll_at, s->now);
    r.cur = -1;
    for (RdmaWqe *w = qp->req.head; w; w = w->next) {
        r.cur = w == qp->req.cur ? r.num_wqe : r.cur;
        r.num_wqe++;
    }
    r.num_res = qp->resp.res ? qp->resp.res_num : 0;
    put(s, &r, sizeof(r));
    put(s, qp->resp.res, r.num_res * sizeof(Res));
    for (RdmaWqe *w = qp->req.head; w; w = w->next) {
        put(s, w, wqe_bytes(w));
    }
    put(s, qp->priv, s->h->qp_priv);
    s->h->num_qp++;
}

uint8_t *rdma_save(RdmaDev *dev, int64_t now, size_t *len)
{
    Header h = header(dev);
    Saver s = { .out = g_byte_array_new(), .dev = dev, .h = &h, .now = now };

    put(&s, &h, sizeof(h));
    put(&s, &dev->port, sizeof(dev->port));
    put(&s, &dev->cnt, sizeof(dev->cnt));
    for (uint32_t i = 0; i <= dev->mr_mask; i++) {
        const RdmaMr *m = rdma_mr_get(dev, i);

        if (m && m->valid) {
            put(&s, &i, 4);
            put(&s, m, sizeof(*m));
            h.num_mr++;
        }
    }
    core_table_foreach(&dev->cqs, save_cq, &s);
    core_table_foreach(&dev->srqs, save_srq, &s);
    core_table_foreach(&dev->qps, save_qp, &s);
    for (guint i = 0; i < dev->mcast->len; i++) {
        McastGroup *g = g_ptr_array_index(dev->mcast, i);

        put(&s, g->gid, 16);
        put(&s, &g->qpns->len, 4);
        put(&s, g->qpns->data, g->qpns->len * 4);
        h.num_group++;
    }
    for (int i = 0; i < 2; i++) {
        h.alias[i] = dev->alias[i] ? dev->alias[i]->qpn : no_alias;
    }
    memcpy(s.out->data, &h, sizeof(h));
    *len = s.out->len;
    return g_byte_array_free(s.out, false);
}

/* ---- load ---- */

typedef struct Loader {
    const uint8_t *p;
    size_t left;
    int64_t now;
} Loader;

static bool get(Loader *l, void *to, size_t n)
{
    if (n > l->left) {
        return false;
    }
    memcpy(to, l->p, n);
    l->p += n;
    l->left -= n;
    return true;
}

static void flags_of_qp(QpRecord *r)
{
    bool *const all[] = {
        &r->attr.sqd_event, &r->attr.has_srq, &r->attr.sig_all,
        &r->attr.special, &r->attr.av.has_grh, &r->req.more, &r->req.bad,
        &r->req.retx, &r->req.retx_marked, &r->req.rnr_wait,
        &r->req.drained, &r->resp.nak_sent, &r->resp.last_words,
        &r->resp.in_msg, &r->resp.have_wqe, &r->resp.drop_msg,
        &r->resp.comm_est, &r->resp.ack_due, &r->flush_recv,
    };

    for (int i = 0; i < G_N_ELEMENTS(all); i++) {
        rdma_load_flag(all[i]);
    }
}

/* PSNs and lengths that fit each other: packets are computed from them. */
static bool sane_wqe(const RdmaQp *qp, const RdmaWqe *w)
{
    uint32_t n;

    if (w->num_sge > RDMA_MAX_SGE || w->inl_len > RDMA_MAX_INLINE ||
        w->state > WQE_BAD || w->status >= RDMA_WC_NUM ||
        w->length > (1u << 31) ||
        ((w->first_psn | w->last_psn) & ~RDMA_PSN_MASK) ||
        ((w->flags & RDMA_WQE_INLINE) && w->length > w->inl_len)) {
        return false;
    }
    n = wqe_packets(qp, w);
    return !w->has_psn || w->last_psn == psn_add(w->first_psn, n - 1);
}

static int64_t absolute(int64_t in, int64_t now)
{
    return in == NEVER ? NEVER : now + CLAMP(in, 0, SEC_NS * 100000);
}

/* The part of a record that code relies on. */
static bool sane(const RdmaDev *dev, const QpRecord *r)
{
    const Responder *s = &r->resp;
    uint32_t live = s->res_tail - s->res_head;

    return r->attr.state <= RDMA_QPS_ERR &&
           (r->attr.service == RDMA_RC || r->attr.service == RDMA_UC ||
            r->attr.service == RDMA_UD) &&
           r->mtu >= 256 && r->mtu <= RDMA_MAX_MTU &&
           !(r->mtu & (r->mtu - 1)) &&
           r->num_wqe <= dev->cfg.max_wqes + 64 &&
           r->cur >= -1 && r->cur < (int64_t)r->num_wqe &&
           s->wqe.num_sge <= RDMA_MAX_SGE &&
           s->res_num <= 256 && !(s->res_num & (s->res_num - 1)) &&
           (r->num_res == 0 ? live == 0 : r->num_res == s->res_num &&
            live <= s->res_num) &&
           !((r->req.npsn | r->req.upsn | s->epsn) & ~RDMA_PSN_MASK) &&
           r->attr.max_rd_atomic <= 128 &&
           r->attr.max_dest_rd_atomic <= 128;
}

static bool load_wqe(Loader *l, RdmaQp *qp, const QpRecord *r, uint32_t i)
{
    Requester *q = &qp->req;
    RdmaWqe *w = wqe_alloc(qp->dev);
    size_t fixed = offsetof(RdmaWqe, sge);

    if (!w) {
        return false;
    }
    if (get(l, w, fixed)) {
        rdma_load_flag(&w->has_psn);
        rdma_load_flag(&w->av.has_grh);
        w->held = false;
    } else {
        wqe_release(qp->dev, w);
        return false;
    }
    if (!sane_wqe(qp, w) || !get(l, w->sge, wqe_bytes(w) - fixed)) {
        wqe_release(qp->dev, w);
        return false;
    }
    w->next = NULL;
    if (q->tail) {
        q->tail->next = w;
    } else {
        q->head = w;
    }
    q->tail = w;
    if ((int64_t)i == r->cur) {
        q->cur = w;
    }
    if (is_rc(qp) && w->has_psn) {
        wqe_hold_from(qp, w, psn_diff(q->upsn, w->first_psn) > 0 ? q->upsn :
                             w->first_psn, false);
    }
    return true;
}

static bool load_qp(Loader *l, RdmaDev *dev)
{
    QpRecord r;
    RdmaQp *qp;
    uint32_t rd = 0;

    if (!get(l, &r, sizeof(r))) {
        return false;
    }
    flags_of_qp(&r);
    if (!sane(dev, &r)) {
        return false;
    }
    qp = rdma_qp_create(dev, r.qpn);
    if (!qp) {
        return false;
    }
    qp->mtu = r.mtu;
    qp->attr = r.attr;
    qp->req = r.req;
    qp->req.head = qp->req.tail = qp->req.cur = NULL;
    qp->resp = r.resp;
    qp->resp.res = NULL;
    qp->flush_recv = r.flush_recv;
    if (r.num_res) {
        qp->resp.res = g_new0(Res, r.num_res);
        if (!get(l, qp->resp.res, r.num_res * sizeof(Res))) {
            return false;
        }
        for (uint32_t i = 0; i < r.num_res; i++) {
            rdma_load_flag(&qp->resp.res[i].atomic);
        }
    }
    for (uint32_t i = 0; i < r.num_wqe; i++) {
        if (!load_wqe(l, qp, &r, i)) {
            return false;
        }
        rd += is_rc(qp) && qp->req.tail->has_psn && wqe_is_rd(qp->req.tail);
    }
    qp->req.rd_out = rd;
    if (!get(l, qp->priv, dev->cfg.pers->qp_priv)) {
        return false;
    }
    qp->loss_at = absolute(r.loss_in, l->now);
    qp->rnr_at = absolute(r.rnr_in, l->now);
    qp->repoll_at = absolute(r.repoll_in, l->now);
    qp_timer_update(qp);
    qp_run(qp);
    return true;
}

static bool load_group(Loader *l, RdmaDev *dev)
{
    uint8_t gid[16];
    uint32_t n, qpn;

    if (!get(l, gid, 16) || !get(l, &n, 4)) {
        return false;
    }
    while (n--) {
        if (!get(l, &qpn, 4) || !rdma_mcast_attach(dev, gid, qpn)) {
            return false;
        }
    }
    return true;
}

static bool load(Loader *l, RdmaDev *dev)
{
    Header want = header(dev), h;
    uint32_t n;

    if (!get(l, &h, sizeof(h)) ||
        memcmp(&h, &want, offsetof(Header, ip_id)) ||
        !get(l, &dev->port, sizeof(dev->port)) ||
        dev->port.num_pkeys > RDMA_MAX_PKEYS ||
        !get(l, &dev->cnt, sizeof(dev->cnt))) {
        return false;
    }
    rdma_load_flag(&dev->port.link_up);
    dev->ip_id = h.ip_id;
    for (uint32_t i = 0; i < h.num_mr; i++) {
        RdmaMr mr;

        if (!get(l, &n, 4) || !get(l, &mr, sizeof(mr))) {
            return false;
        }
        rdma_load_flag(&mr.physical);
        rdma_load_flag(&mr.valid);
        rdma_mr_set(dev, n, &mr);
    }
    for (uint32_t i = 0; i < h.num_cq; i++) {
        RdmaCq *cq = get(l, &n, 4) ? rdma_cq_create(dev, n) : NULL;

        if (!cq || !get(l, cq->priv, h.cq_priv)) {
            return false;
        }
    }
    for (uint32_t i = 0; i < h.num_srq; i++) {
        RdmaSrq *srq = get(l, &n, 4) ? rdma_srq_create(dev, n) : NULL;

        if (!srq || !get(l, srq->priv, h.srq_priv)) {
            return false;
        }
    }
    for (uint32_t i = 0; i < h.num_qp; i++) {
        if (!load_qp(l, dev)) {
            return false;
        }
    }
    for (uint32_t i = 0; i < h.num_group; i++) {
        if (!load_group(l, dev)) {
            return false;
        }
    }
    for (int i = 0; i < 2; i++) {
        rdma_qp_alias(dev, i, h.alias[i] == no_alias ? NULL :
                              rdma_qp_get(dev, h.alias[i]));
    }
    return l->left == 0;
}

/* For now the section holds the block. */
void rdma_image(RdmaDev *dev, CoreImage *im)
{
    bool loading = core_image_loading(im);
    size_t len = 0;
    uint8_t *block = loading ? NULL : rdma_save(dev, core_image_now(im), &len);
    uint32_t n = len;

    core_image_begin(im, CORE_TAG('R', 'd', 'm', 'a'), 1);
    core_image_count(im, &n, 1u << 30, "the engine's state is too long");
    n = loading ? MIN(n, core_image_left(im)) : n;
    block = loading ? g_malloc(n) : block;
    core_image_bytes(im, block, n);
    if (loading && !rdma_load(dev, core_image_now(im), block, n)) {
        core_image_check(im, false, "the engine's state is damaged");
    }
    core_image_end(im);
    g_free(block);
}

bool rdma_load(RdmaDev *dev, int64_t now, const uint8_t *data, size_t len)
{
    Loader l = { .p = data, .left = len, .now = now };

    rdma_reset(dev);
    dev->now = now;
    if (!load(&l, dev)) {
        rdma_reset(dev);
        return false;
    }
    /* Switches must learn where the address has gone. */
    net_announce(dev);
    return true;
}
