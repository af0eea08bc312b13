/*
 * Migration of the transaction layer in mid-flight.
 *
 * What is waiting for room or for a turn is not saved as such: after loading all
 * queues and lanes have their turn.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "internal.h"

/* Requests of the image by queue and serial number. */
typedef struct Found {
    UbTa *ta;
    CoreImage *im;
    unsigned version;           /* of the image */
    GHashTable *requests;
} Found;

static uint64_t request_key(uint32_t rcid, uint64_t serial)
{
    return (uint64_t)rcid << 44 | (serial & ((UINT64_C(1) << 44) - 1));
}

/* ---- small things ---- */

static void image_eid(CoreImage *im, UbEid *eid)
{
    core_image_bytes(im, eid, sizeof(*eid));
}

/* Before version 6 nobody looked again who had said it. */
static void image_sec(CoreImage *im, unsigned version, UbSecHead *h)
{
    core_image_int(im, &h->form);
    core_image_check(im, h->form <= UB_SEC_SHORT,
                     "a form of headers of the image does not exist");
    core_image_flag(im, &h->mgmt);
    core_image_flag(im, &h->cip);
    core_image_int(im, &h->cip_id);
    core_image_int(im, &h->sn);
    core_image_int(im, &h->upi);
    image_eid(im, &h->seid);
    image_eid(im, &h->deid);
    if (version >= 6) {
        core_image_int(im, &h->from);
        core_image_check(im, h->from <= UB_SEC_TARGETS,
                         "a sender of the image does not exist");
    }
}

static void image_tp_dest(CoreImage *im, UbTpDest *d)
{
    uint8_t mode = d->mode;

    core_image_int(im, &mode);
    core_image_check(im, mode < UB_TP_MODES,
                     "a carrier of the image does not exist");
    d->mode = mode < UB_TP_MODES ? mode : UB_TP_CTP;
    core_image_int(im, &d->tpn);
    ub_flow_image(&d->flow, im);
}

static void image_dest(CoreImage *im, unsigned version, UbTaDest *d)
{
    image_tp_dest(im, &d->tp);
    core_image_flag(im, &d->group);
    core_image_flag(im, &d->answers);
    core_image_int(im, &d->sl_writeback);
    core_image_int(im, &d->mtu);
    image_sec(im, version, &d->sec);
}

/* Of a request or response that is to be answered or sent: no payload, no byte
 * enables. */
static void image_tah(CoreImage *im, UbTah *t)
{
    core_image_int(im, &t->opcode);
    core_image_flag(im, &t->poison);
    core_image_int(im, &t->tassn);
    core_image_flag(im, &t->no_taack);
    core_image_flag(im, &t->sv);
    core_image_int(im, &t->status);
    core_image_int(im, &t->rspst);
    core_image_int(im, &t->rspinfo);
    core_image_int(im, &t->rc_type);
    core_image_int(im, &t->rc_id);
    core_image_int(im, &t->taid);
    core_image_int(im, &t->offset);
    core_image_check(im, t->rspst < 8 && t->rspinfo < 32 && t->rc_type < 4,
                     "a response of the image has impossible fields");
}

static void image_back(CoreImage *im, unsigned version, Back *b)
{
    image_tp_dest(im, &b->dest);
    image_sec(im, version, &b->sec);
    core_image_flag(im, &b->form.compact);
    core_image_flag(im, &b->form.tasks);
    core_image_flag(im, &b->form.token_high);
    core_image_int(im, &b->tpn);
    core_image_int(im, &b->msn);
    core_image_flag(im, &b->answers);
    core_image_flag(im, &b->alloc);
    core_image_int(im, &b->scid);
    core_image_flag(im, &b->rcid_set);
    core_image_int(im, &b->rcid);
}

static void image_packet(UbTa *ta, CoreImage *im, CorePacket **pkt)
{
    uint32_t len = *pkt ? (*pkt)->len : 0;

    core_image_count(im, &len, 16384, "a packet of the image is too long");
    if (core_image_loading(im)) {
        *pkt = core_packet_alloc(ta->pool, len);
    }
    core_image_bytes(im, core_packet_data(*pkt), len);
}

static void image_key(CoreImage *im, Key *k)
{
    core_image_int(im, &k->who);
    image_eid(im, &k->eid);
    core_image_int(im, &k->rc);
}

/* ---- destinations ---- */

static void save_dest(void *opaque, void *p)
{
    Found *f = opaque;

    image_dest(f->im, f->version, p);
}

static void count_dest(void *opaque, void *p)
{
    ++*(uint32_t *)opaque;
}

static void image_dests(Found *f)
{
    uint32_t n = 0, index;
    UbTaDest d;

    core_table_foreach(&f->ta->dests, count_dest, &n);
    core_image_count(f->im, &n, UB_TA_DESTS, "too many destinations");
    if (!core_image_loading(f->im)) {
        for (index = 0; n; index++) {
            UbTaDest *row = core_table_get(&f->ta->dests, index);

            if (row) {
                core_image_int(f->im, &index);
                save_dest(f, row);
                n--;
            }
        }
        return;
    }
    while (n-- && !core_image_error(f->im)) {
        memset(&d, 0, sizeof(d));
        core_image_int(f->im, &index);
        image_dest(f->im, f->version, &d);
        if (!core_image_error(f->im)) {
            core_image_check(f->im, index < UB_TA_DESTS &&
                             ub_ta_set_dest(f->ta, index, &d),
                             "a destination of the image breaks a rule");
        }
    }
}

/* ---- requests and queues ---- */

static void image_request(CoreImage *im, UbTaRequest *r)
{
    core_image_int(im, &r->dest);
    core_image_int(im, &r->opcode);
    core_image_int(im, &r->order);
    core_image_flag(im, &r->fence);
    core_image_flag(im, &r->ordered_cqe);
    core_image_flag(im, &r->fce);
    core_image_flag(im, &r->e_bit);
    core_image_flag(im, &r->poison);
    core_image_flag(im, &r->token_en);
    core_image_flag(im, &r->ud_en);
    core_image_int(im, &r->ee);
    core_image_int(im, &r->sub);
    core_image_int(im, &r->tc_type);
    core_image_int(im, &r->hint);
    core_image_int(im, &r->affinity);
    core_image_int(im, &r->ud);
    core_image_int(im, &r->tc_id);
    core_image_int(im, &r->token);
    core_image_int(im, &r->token_id);
    core_image_int(im, &r->addr);
    core_image_int(im, &r->len);
    core_image_int(im, &r->imm);
    core_image_int(im, &r->imm_token);
    core_image_int(im, &r->ntf_addr);
    core_image_int(im, &r->ntf_data);
    core_image_int(im, &r->ntf_token_id);
    core_image_int(im, &r->ntf_token);
    core_image_bytes(im, r->be, sizeof(r->be));
    core_image_int(im, &r->msn);
    core_image_int(im, &r->mgmt_queue);
    core_image_int(im, &r->mgmt_code);
    core_image_int(im, &r->mgmt_sub);
    core_image_int(im, &r->mgmt_status);
    core_image_flag(im, &r->mgmt_rsp);
    /* The layer's own. */
    core_image_int(im, &r->serial);
    core_image_int(im, &r->made);
    core_image_int(im, &r->status);
    core_image_int(im, &r->where);
    core_image_int(im, &r->slices);
    core_image_flag(im, &r->all_made);
    core_image_flag(im, &r->finished);
    core_image_flag(im, &r->counted);
    core_image_flag(im, &r->on_ordered);
    core_image_flag(im, &r->outside);
}

/* NULL, or what is wrong with a request that was loaded. */
static const char *request_fault(const UbTa *ta, const UbTaQueue *q,
                                 const UbTaRequest *r)
{
    /* Nobody has looked at what has not begun. */
    bool begun = r->slices || r->on_ordered || r->counted ||
                 r->where == IN_HELD || r->where == IN_WORK;

    if ((begun && (!ub_ta_op(r->opcode)->name || r->order > UB_TA_SO)) ||
        (r->len > ta->cfg.max_len && r->made) || r->made > r->len) {
        return "a request of the image is impossible";
    }
    if (r->where > IN_WORK || (r->where == IN_WORK && q->work) ||
        (r->where == IN_NONE) != (r->all_made || r->finished) ||
        (r->finished && r->on_ordered)) {
        return "a request of the image is in two places, or in none";
    }
    return NULL;
}

static void load_request(Found *f, UbTaQueue *q,
                         UbTaRequest *(*adopt)(void *, uint32_t, uint64_t))
{
    CoreImage *im = f->im;
    UbTaRequest *r, tmp = { 0 };
    const char *why;
    void *user;
    uint64_t key;

    core_image_int(im, &tmp.id);
    image_request(im, &tmp);
    if (core_image_error(im)) {
        return;
    }
    why = request_fault(f->ta, q, &tmp);
    if (!core_image_check(im, !why, why)) {
        return;
    }
    key = request_key(q->cfg.rcid, tmp.serial);
    r = g_hash_table_contains(f->requests, &key)
        ? NULL : adopt(f->ta->opaque, q->cfg.rcid, tmp.id);
    if (!core_image_check(im, r, "nobody knows a request of the image")) {
        return;
    }
    user = r->user;
    *r = tmp;
    r->user = user;
    ta_queue_link(q, r);
    ta_queue_relist(q, r);
    g_hash_table_insert(f->requests, g_memdup2(&key, sizeof(key)), r);
}

/* Before version 4 all queues tried as the layer does. */
static void image_queue_head(CoreImage *im, unsigned version, UbTaQueueConfig *c)
{
    core_image_int(im, &c->rcid);
    core_image_int(im, &c->mode);
    core_image_flag(im, &c->in_order);
    core_image_flag(im, &c->stop_on_error);
    core_image_flag(im, &c->static_sc);
    core_image_int(im, &c->scid);
    core_image_int(im, &c->entity);
    if (version >= 4) {
        core_image_int(im, &c->tries);
        core_image_int(im, &c->patience);
    }
}

static void image_queue_state(CoreImage *im, UbTaQueue *q)
{
    core_image_int(im, &q->serial);
    core_image_flag(im, &q->stopped);
    core_image_flag(im, &q->mixed);
    core_image_int(im, &q->ordered_dest);
}

static void save_queue(void *opaque, void *p)
{
    Found *f = opaque;
    UbTaQueue *q = p;
    uint32_t n = q->len;

    image_queue_head(f->im, f->version, &q->cfg);
    image_queue_state(f->im, q);
    core_image_count(f->im, &n, UINT32_MAX, "");
    for (UbTaRequest *r = q->all.head; r; r = r->next) {
        core_image_int(f->im, &r->id);
        image_request(f->im, r);
    }
}

static void image_queues(Found *f,
                         UbTaRequest *(*adopt)(void *, uint32_t, uint64_t))
{
    uint32_t n = f->ta->queue_count, len;
    CoreImage *im = f->im;
    UbTaQueueConfig c;
    UbTaQueue *q;

    core_image_count(im, &n, UB_TA_IDS, "too many queues");
    if (!core_image_loading(im)) {
        core_table_foreach(&f->ta->queues, save_queue, f);
        return;
    }
    while (n-- && !core_image_error(im)) {
        memset(&c, 0, sizeof(c));
        image_queue_head(im, f->version, &c);
        q = core_image_error(im) ? NULL : ub_ta_queue_new(f->ta, &c);
        if (!core_image_check(im, q, "a queue of the image cannot be")) {
            return;
        }
        image_queue_state(im, q);
        core_image_count(im, &len, f->ta->cfg.depth,
                         "a queue of the image is too long");
        while (len-- && !core_image_error(im)) {
            load_request(f, q, adopt);
        }
        ta_queue_ready(q);
    }
}

/* ---- lanes ---- */

static void image_slice(CoreImage *im, Slice *s)
{
    core_image_int(im, &s->state);
    if (s->state == SLICE_FREE) {
        return;
    }
    core_image_deadline(im, &s->at);
    core_image_int(im, &s->dest);
    core_image_int(im, &s->off);
    core_image_int(im, &s->len);
    core_image_int(im, &s->sent);
    core_image_int(im, &s->got);
    core_image_int(im, &s->tpn);
    core_image_int(im, &s->opcode);
    core_image_int(im, &s->retries);
    core_image_flag(im, &s->begun);
    core_image_flag(im, &s->ends);
    core_image_flag(im, &s->again);
    core_image_flag(im, &s->alloc);
    core_image_flag(im, &s->in_sc);
    core_image_flag(im, &s->stale);
}

static bool slice_good(const Lane *lane, const Slice *s)
{
    const UbTaRequest *r = s->req;
    bool fresh = s->state == SLICE_NEW && !s->begun;
    bool atomic = ub_ta_op(s->opcode)->kind == UB_TA_ATOMIC;

    if (s->state == SLICE_FREE) {
        return true;
    }
    if (s->state > SLICE_WAIT || !ub_ta_op(s->opcode)->name ||
        s->sent / (1 + atomic) > s->len || s->got > s->len ||
        (s->begun && (s->state != SLICE_NEW || lane->begun)) ||
        (fresh && s->sent) ||
        !ta_slice_possible(r, s, lane->compact) || (s->ends && !s->begun) || (lane->compact && s->len > 8192) ||
        (!r && s->state == SLICE_WAIT) ||
        (!r && s->state == SLICE_NEW && !s->ends)) {
        return false;
    }
    return !r || (s->off <= r->len && s->len <= r->len - s->off &&
                  !r->finished && s->off + s->len <= r->made &&
                  (!lane->queue || r->queue == lane->queue));
}

static void image_lane_head(CoreImage *im, Lane *lane)
{
    core_image_int(im, &lane->una);
    core_image_int(im, &lane->next);
    core_image_int(im, &lane->sc);
    core_image_int(im, &lane->scid);
    core_image_int(im, &lane->alloc);
    core_image_check(im, lane->sc <= SC_REFUSED && lane->scid < UB_TA_IDS,
                     "a lane of the image has an impossible state");
}

static void save_lane(gpointer key, gpointer value, gpointer opaque)
{
    Found *f = opaque;
    CoreImage *im = f->im;
    Lane *lane = value;

    image_key(im, &lane->key);
    core_image_int(im, &lane->id);
    core_image_flag(im, &lane->orphan);
    image_lane_head(im, lane);
    for (uint32_t n = lane->una; n != lane->next; n++) {
        Slice *s = ta_lane_at(lane, n);
        bool wanted = s->req;
        uint32_t rcid = wanted ? s->req->queue->cfg.rcid : 0;
        uint64_t serial = wanted ? s->req->serial : 0;

        image_slice(im, s);
        core_image_flag(im, &wanted);
        core_image_int(im, &rcid);
        core_image_int(im, &serial);
    }
    if (lane->begun) {
        image_dest(im, f->version, &lane->way);
    }
}

/* The lane of an image's key; NULL: it cannot be. */
static Lane *make_lane(Found *f, const Key *key, uint32_t id, bool orphan)
{
    UbTa *ta = f->ta;
    UbTaQueue *q = NULL;

    if (key->rc != KEY_COMPACT && !orphan) {
        q = ub_ta_queue(ta, key->rc);
        if (!q) {
            return NULL;
        }
    }
    if (!id || g_hash_table_contains(ta->lane_ids, GUINT_TO_POINTER(id)) ||
        (!orphan && ta_lane_find(ta, key)) ||
        g_hash_table_size(ta->lane_ids) >= ta->cfg.peers) {
        return NULL;
    }
    ta->lane_id = id - 1;
    return ta_lane_new(ta, q, key, orphan);
}

static void load_slices(Found *f, Lane *lane)
{
    CoreImage *im = f->im;

    for (uint32_t n = lane->una; n != lane->next; n++) {
        Slice *s = ta_lane_at(lane, n);
        bool wanted = false;
        uint32_t rcid;
        uint64_t serial, key;

        image_slice(im, s);
        core_image_flag(im, &wanted);
        core_image_int(im, &rcid);
        core_image_int(im, &serial);
        key = request_key(rcid, serial);
        s->req = wanted ? g_hash_table_lookup(f->requests, &key) : NULL;
        if (!core_image_check(im, (s->req || !wanted) &&
                              slice_good(lane, s),
                              "a slice of the image is impossible")) {
            memset(s, 0, sizeof(*s));
            return;
        }
        if (s->state == SLICE_FREE) {
            s->req = NULL;
            continue;
        }
        if (s->req) {
            s->req->open++;
        }
        lane->pending += s->state == SLICE_NEW;
        if (s->begun) {
            lane->begun = n + 1;
        }
    }
}

/* Only a channel takes an operation in several packets. */
static bool way_good(Lane *lane)
{
    return ta_dest_good(&lane->way) && lane->way.tp.mode == UB_TP_RTP &&
           ta_slice_fits(lane, ta_lane_at(lane, lane->begun - 1), &lane->way);
}

static void load_lane(Found *f)
{
    CoreImage *im = f->im;
    Key key = { 0 };
    uint32_t id, size;
    bool orphan;
    Lane *lane;

    image_key(im, &key);
    core_image_int(im, &id);
    core_image_flag(im, &orphan);
    lane = core_image_error(im) ? NULL : make_lane(f, &key, id, orphan);
    if (!core_image_check(im, lane, "a lane of the image cannot be")) {
        return;
    }
    image_lane_head(im, lane);
    if (!core_image_check(im, lane->next - lane->una <= f->ta->cfg.window,
                          "a lane of the image has too many slices")) {
        lane->next = lane->una;
        return;
    }
    size = lane->next - lane->una;
    lane->next = lane->una;
    while (lane->size < size) {
        ta_lane_grow(lane, 2 * lane->size);
    }
    lane->next = lane->una + size;
    lane->scan = lane->una;
    load_slices(f, lane);
    if (lane->begun) {
        image_dest(im, f->version, &lane->way);
        core_image_check(im, way_good(lane),
                         "a slice of the image goes by an impossible way");
    }
    if (core_image_error(im)) {
        return;
    }
    ta_lane_resume(lane);
}

static void image_lanes(Found *f)
{
    UbTa *ta = f->ta;
    uint32_t n = g_hash_table_size(ta->lane_ids), last = ta->lane_id;

    core_image_int(f->im, &ta->start);
    core_image_int(f->im, &last);
    core_image_count(f->im, &n, ta->cfg.peers, "too many lanes");
    if (!core_image_loading(f->im)) {
        g_hash_table_foreach(ta->lane_ids, save_lane, f);
        return;
    }
    while (n-- && !core_image_error(f->im)) {
        load_lane(f);
    }
    ta->lane_id = last;
    ta->start &= 0xf000;
}

/* Every request that has begun ends some day: it has a slice, or a turn. */
static void check_requests(gpointer key, gpointer value, gpointer im)
{
    const UbTaRequest *r = value;

    core_image_check(im, r->finished ? !r->open
                                     : r->open || r->where != IN_NONE,
                     "a request of the image would never end");
}

/* ---- target ---- */

static void image_partial(CoreImage *im, Partial *p)
{
    core_image_int(im, &p->tassn);
    core_image_int(im, &p->tpn);
    core_image_int(im, &p->msn);
    core_image_int(im, &p->got);
    core_image_flag(im, &p->bad);
    core_image_int(im, &p->outcome.rspst);
    core_image_int(im, &p->outcome.rspinfo);
    core_image_flag(im, &p->outcome.silent);
    core_image_flag(im, &p->outcome.later);
    core_image_int(im, &p->outcome.ticket);
    core_image_flag(im, &p->poison);
    core_image_flag(im, &p->alloc);
    core_image_flag(im, &p->rqe_taken);
    core_image_int(im, &p->buf.rqe);
    core_image_int(im, &p->buf.len);
    core_image_int(im, &p->tc_id);
    core_image_int(im, &p->rc_id);
    core_image_int(im, &p->entity);
    core_image_deadline(im, &p->at);
}

static void image_partials(UbTa *ta, CoreImage *im, Ctx *ctx)
{
    uint32_t n = 0;

    for (Partial *p = ctx->partial; p; p = p->next) {
        n++;
    }
    core_image_count(im, &n, 2 * ta->cfg.partial, "too many slices begun");
    if (!core_image_loading(im)) {
        for (Partial *p = ctx->partial; p; p = p->next) {
            image_partial(im, p);
        }
        return;
    }
    while (n-- && !core_image_error(im)) {
        Partial tmp = { 0 }, *p;

        image_partial(im, &tmp);
        if (core_image_error(im)) {
            return;
        }
        p = ta_ctx_partial(ctx, tmp.tassn, true);
        if (!core_image_check(im, p, "too many slices begun")) {
            return;
        }
        tmp.next = p->next;
        *p = tmp;
    }
}

static void image_held_done(CoreImage *im, HeldDone *h)
{
    UbRecvDone *d = &h->done;

    core_image_int(im, &h->tassn);
    core_image_deadline(im, &h->at);
    core_image_int(im, &d->rqe);
    core_image_int(im, &d->status);
    core_image_int(im, &d->opcode);
    core_image_flag(im, &d->fce);
    core_image_int(im, &d->len);
    core_image_int(im, &d->imm);
    core_image_int(im, &d->tc_id);
    core_image_int(im, &d->rc_id);
    image_eid(im, &d->seid);
    core_image_int(im, &d->who);
    core_image_int(im, &d->entity);
}

static void image_held_dones(UbTa *ta, CoreImage *im, Ctx *ctx)
{
    HeldDone **end = &ctx->held_done;
    uint32_t n = 0;

    for (HeldDone *h = ctx->held_done; h; h = h->next) {
        n++;
    }
    core_image_count(im, &n, ta->cfg.partial, "too many completions held");
    if (!core_image_loading(im)) {
        for (HeldDone *h = ctx->held_done; h; h = h->next) {
            image_held_done(im, h);
        }
        return;
    }
    while (n-- && !core_image_error(im)) {
        *end = g_new0(HeldDone, 1);
        image_held_done(im, *end);
        end = &(*end)->next;
        ta->held_dones++;
    }
}

/* Beside the NLP of a packet that is held: its CIPH is gone. */
#define HELD_OPENED 0x80u

static void image_held(UbTa *ta, CoreImage *im, Held *h)
{
    uint8_t mode = h->rx.mode, nlp = h->rx.nlp | (h->opened ? HELD_OPENED : 0);

    core_image_int(im, &h->tassn);
    core_image_deadline(im, &h->at);
    core_image_int(im, &mode);
    core_image_check(im, mode < UB_TP_MODES, "a held packet has no carrier");
    h->rx.mode = mode < UB_TP_MODES ? mode : UB_TP_CTP;
    core_image_int(im, &h->rx.tpn);
    core_image_int(im, &h->rx.msn);
    core_image_flag(im, &h->rx.last);
    core_image_int(im, &nlp);
    h->opened = nlp & HELD_OPENED;
    h->rx.nlp = nlp & ~HELD_OPENED;
    ub_flow_image(&h->flow, im);
    image_packet(ta, im, &h->pkt);
}

static void image_helds(UbTa *ta, CoreImage *im, Ctx *ctx)
{
    uint32_t n = 0;

    for (Held *h = ctx->held; h; h = h->next) {
        n++;
    }
    core_image_count(im, &n, ta->cfg.sc_buffer, "too many packets held");
    core_image_check(im, !n || ctx->sc, "packets are held by no SC");
    if (!core_image_loading(im)) {
        for (Held *h = ctx->held; h; h = h->next) {
            image_held(ta, im, h);
        }
        return;
    }
    while (n-- && !core_image_error(im)) {
        Held *h = g_new0(Held, 1);

        image_held(ta, im, h);
        *ctx->held_end = h;
        ctx->held_end = &h->next;
        ta->helds++;
    }
    core_image_check(im, ta->helds <= ta->cfg.sc_buffer,
                     "too many packets held");
}

static void image_window(UbTa *ta, CoreImage *im, Ctx *ctx)
{
    int64_t latest = ta->now + ta_rnr_time(ta, UB_TAH_TIMER_MAX);
    uint32_t words = ta->cfg.window / 64;

    core_image_flag(im, &ctx->started);
    core_image_int(im, &ctx->base);
    core_image_int(im, &ctx->sc_base);
    ctx->refusals = 0;
    for (uint32_t i = 0; i < words; i++) {
        core_image_int(im, &ctx->done[i]);
        core_image_int(im, &ctx->refused[i]);
        ctx->refusals += __builtin_popcountll(ctx->refused[i]);
    }
    core_image_deadline(im, &ctx->due);
    core_image_deadline(im, &ctx->used);
    if (core_image_loading(im)) {
        /* No target says a longer time. */
        ctx->due = MIN(ctx->due, latest);
        ctx->used = MIN(ctx->used, latest);
    }
}

static void image_ctx(UbTa *ta, CoreImage *im, unsigned version, Ctx *ctx)
{
    image_window(ta, im, ctx);
    core_image_int(im, &ctx->owed);
    core_image_check(im, ctx->owed <= UB_TAH_AGGREGATE,
                     "an acknowledgement of the image is for too many");
    if (ctx->owed) {
        image_tah(im, &ctx->owed_tah);
        image_back(im, version, &ctx->owed_back);
    }
    core_image_flag(im, &ctx->sc);
    core_image_int(im, &ctx->scid);
    core_image_int(im, &ctx->rcid);
    if (core_image_loading(im) && ctx->sc) {
        bool ok = !core_image_error(im) && ctx->scid < ta->sc_size &&
                  !ta->scs[ctx->scid];

        if (ok) {
            ta->scs[ctx->scid] = ctx;
            ta->sc_count++;
        } else {
            ctx->sc = false;
        }
        core_image_check(im, ok, "an SC of the image cannot be");
    }
    image_partials(ta, im, ctx);
    image_held_dones(ta, im, ctx);
    image_helds(ta, im, ctx);
    if (core_image_loading(im)) {
        ta_ctx_resume(ctx);
    }
}

/* Before version 3 contexts were those of no Entity in particular, before version 5 of
 * no address of this node. */
static void image_context_key(CoreImage *im, unsigned version, Key *k)
{
    image_key(im, k);
    if (version >= 3) {
        core_image_int(im, &k->entity);
    }
    if (version >= 5) {
        core_image_int(im, &k->local);
    } else {
        k->local = KEY_ANY_LOCAL;
    }
}

static void image_contexts(UbTa *ta, CoreImage *im, unsigned version)
{
    uint32_t n = g_hash_table_size(ta->contexts);
    bool any = false;
    Key key = { 0 };

    core_image_count(im, &n, ta->cfg.contexts, "too many contexts");
    if (!core_image_loading(im)) {
        /* The oldest first: loading makes each the newest. */
        for (Ctx *ctx = ta->used.oldest; ctx;
             ctx = ctx->by[OF_ALL].newer) {
            image_context_key(im, version, &ctx->key);
            image_ctx(ta, im, version, ctx);
        }
        return;
    }
    ta->any_local = false;      /* none is another's while they come */
    while (n-- && !core_image_error(im)) {
        Ctx *ctx;

        image_context_key(im, version, &key);
        any = any || key.local == KEY_ANY_LOCAL;
        if (!core_image_check(im, !ta_ctx_find(ta, &key),
                              "a context of the image is there twice")) {
            return;
        }
        ctx = ta_ctx(ta, &key);
        if (!core_image_check(im, ctx, "too many contexts")) {
            return;
        }
        image_ctx(ta, im, version, ctx);
    }
    ta->any_local = any;
}

static void image_answer(UbTa *ta, CoreImage *im, unsigned version, Answer *a)
{
    UbAccess *acc = &a->access;
    bool made = a->pkt;

    image_back(im, version, &a->back);
    image_tah(im, &a->tah);
    core_image_int(im, &acc->kind);
    core_image_flag(im, &acc->token_en);
    core_image_flag(im, &acc->e_bit);
    core_image_flag(im, &acc->bare);
    acc->cfg = a->back.dest.flow.cfg;   /* as of the request */
    core_image_int(im, &acc->ee);
    core_image_int(im, &acc->entity);
    image_eid(im, &acc->seid);
    core_image_int(im, &acc->token_id);
    core_image_int(im, &acc->token);
    core_image_int(im, &acc->addr);
    core_image_int(im, &a->offset);
    core_image_int(im, &a->done);
    core_image_int(im, &a->len);
    core_image_int(im, &a->step);
    core_image_int(im, &a->nlp);
    core_image_flag(im, &a->last);
    core_image_int(im, &a->cookie);
    core_image_flag(im, &made);
    core_image_check(im, acc->kind <= UB_ACCESS_ATOMIC &&
                     a->len <= ta->cfg.max_len && a->done <= a->len &&
                     a->step <= a->len - a->done && (made || !a->last ||
                                                     a->len),
                     "an answer of the image is impossible");
    if (made) {
        image_packet(ta, im, &a->pkt);
    }
}

static void image_answers(UbTa *ta, CoreImage *im, unsigned version)
{
    uint32_t n = ta->answer_count;

    core_image_int(im, &ta->answer_cookie);
    core_image_count(im, &n, 2 * ta->cfg.answers,
                     "too many answers wait");
    if (!core_image_loading(im)) {
        for (Answer *a = ta->answers; a; a = a->next) {
            image_answer(ta, im, version, a);
        }
        return;
    }
    while (n-- && !core_image_error(im)) {
        Answer *a = g_new0(Answer, 1);

        image_answer(ta, im, version, a);
        *ta->answers_end = a;
        ta->answers_end = &a->next;
        ta->answer_count++;
    }
    ta->answers_try = true;
}

static void image_parked(UbTa *ta, CoreImage *im, unsigned version)
{
    uint32_t n = ta->parkeds;
    Parked tmp;

    core_image_count(im, &n, ta->cfg.parked, "too many page faults");
    if (!core_image_loading(im)) {
        for (Parked *k = ta->parked; k; k = k->next) {
            image_back(im, version, &k->back);
            image_tah(im, &k->tah);
            core_image_int(im, &k->ticket);
        }
        return;
    }
    while (n-- && !core_image_error(im)) {
        memset(&tmp, 0, sizeof(tmp));
        image_back(im, version, &tmp.back);
        image_tah(im, &tmp.tah);
        core_image_int(im, &tmp.ticket);
        if (!core_image_error(im)) {
            ta_park(ta, &tmp.back, &tmp.tah, tmp.ticket);
        }
    }
}

static void image_channels(UbTa *ta, CoreImage *im)
{
    uint32_t n = g_hash_table_size(ta->answers_by);
    GHashTableIter it;
    gpointer key;

    core_image_count(im, &n, 1 << 20, "too many channels");
    if (!core_image_loading(im)) {
        g_hash_table_iter_init(&it, ta->answers_by);
        while (g_hash_table_iter_next(&it, &key, NULL)) {
            uint32_t tpn = GPOINTER_TO_UINT(key);

            core_image_int(im, &tpn);
        }
        return;
    }
    while (n-- && !core_image_error(im)) {
        uint32_t tpn;

        core_image_int(im, &tpn);
        ub_ta_set_answers(ta, tpn, true);
    }
}

void ub_ta_image(UbTa *ta, CoreImage *im,
                 UbTaRequest *(*adopt)(void *opaque, uint32_t rcid,
                                       uint64_t id))
{
    Found f = { .ta = ta, .im = im };
    unsigned version, counters;

    f.requests = g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free,
                                       NULL);
    f.version = version = core_image_begin(im, CORE_TAG('U', 'B', 'T', 'A'), 8);
    core_image_check(im, version >= 2, "the source has another version of the "
                     "transaction layer");
    /* What was executed is to be found by who asks again. */
    core_image_check(im, version >= 3 || ta->cfg.entities < 2,
                     "the source did not tell the contexts of Entities apart");
    core_image_same(im, ta->cfg.window, "the window is another");
    ub_ta_time(ta, core_image_now(im));
    image_dests(&f);
    image_queues(&f, adopt);
    image_lanes(&f);
    g_hash_table_foreach(f.requests, check_requests, im);
    image_channels(ta, im);
    image_contexts(ta, im, version);
    image_answers(ta, im, version);
    image_parked(ta, im, version);
    counters = version >= 8 ? UB_TA_COUNTERS_NUM
               : version == 7 ? UB_TAC_DROP_REFUSED : UB_TAC_DROP_ENDED;
    for (unsigned i = 0; i < counters; i++) {
        core_image_int(im, &ta->count[i]);
    }
    core_image_end(im);
    g_hash_table_destroy(f.requests);
}
