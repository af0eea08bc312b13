/*
 * Migration image of an end: magic, version, the fields of UbDllVars one by
 * one, the used part of the Retry Buffer, blocks under way, packets.  All
 * integers are big-endian; deadlines are relative.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "internal.h"

#define MAGIC 0x55424432u /* "UBD2" */
#define MAX_PACKETS 65536u

typedef struct Field {
    uint16_t offset, size; /* bytes in UbDllVars */
    uint8_t width;         /* of an element: 1, 2, 4, 8 = deadline, or BOOL */
} Field;

#define BOOL 0
#define F(width, name) \
    { offsetof(UbDllVars, name), sizeof(((UbDllVars *)0)->name), width }
#define PARAMS(p)                                                         \
    F(2, p.feature_id), F(2, p.vl_enable), F(4, p.retry_buf_depth),       \
    F(1, p.rxbuf_vl_share), F(1, p.data_ack_grain),                       \
    F(1, p.ctrl_ack_grain), F(1, p.flow_ctrl_size),                       \
    F(1, p.packet_min_interval), F(1, p.ctrl_credit_grain),               \
    F(1, p.data_credit_grain)
#define DELIM(m)                                                          \
    F(BOOL, m.in_pkt), F(BOOL, m.control), F(BOOL, m.buffered),           \
    F(1, m.blocks), F(1, m.last_flits), F(1, m.index), F(1, m.blk_len),   \
    F(1, m.blk_pos)

static const Field fields[] = {
    F(1, state), F(BOOL, link_up), F(BOOL, active), F(BOOL, fatal),
    F(BOOL, reached_normal), F(1, mode), F(4, epoch), F(BOOL, handshake),
    F(BOOL, init_sent), F(BOOL, init_seen), F(BOOL, sd_sent),
    F(BOOL, sd_seen), PARAMS(wish), PARAMS(agreed), F(2, depth),
    F(2, peer_depth), F(2, to_announce), F(BOOL, shared), F(4, crd_total),
    F(4, crd_init), F(4, crd), F(4, crd_share), F(2, quota),
    F(4, granted), F(4, granted_total), F(4, held), F(4, held_total),
    F(4, pending), F(4, pending_ack), F(1, next_crd_vl), F(2, wr_ptr),
    F(2, tail_ptr), F(2, rd_ptr), F(2, rcv_ptr), F(4, num_free),
    F(1, req_state), F(1, ack_state), F(1, num_retry),
    F(1, num_phy_reinit), F(BOOL, ack_due), F(BOOL, rest_due),
    F(2, ack_ptr), F(1, ack_num_retry), F(1, set.type), F(1, set.pos),
    F(1, set.flit), F(1, seen.run), F(1, seen.type), F(BOOL, seen.open),
    F(BOOL, seen.exact), F(1, seen.left), F(1, seen.body), DELIM(delim),
    DELIM(snap), DELIM(resume), F(2, snap_ptr), F(2, skip),
    F(BOOL, rx_drop), F(BOOL, rx_refund), F(4, rx_lph), F(4, rx_cells),
    F(1, tx_index), F(4, tx_lph), F(1, tx_shape.blocks),
    F(1, tx_shape.last_flits), F(1, tx_shape.code), F(1, tx_left),
    F(1, tx_pos), F(2, nob_debt), F(1, next_vl), F(4, vl_deficit),
    F(4, refused), F(BOOL, pressed), F(1, bmc), F(BOOL, bmc_local),
    F(BOOL, bmc_peer_req), F(1, lm_count), F(1, lm), F(1, px_count),
    F(4, px), F(BOOL, neighbor_valid), F(2, neighbor_port),
    F(1, neighbor_guid), F(8, wait_at), F(8, credit_at),
    F(8, keepalive_at), F(8, mode_at), F(8, block_at),
    F(BOOL, keepalive_due),
};

/* ------------------------------------------------------------- save ----- */

typedef struct Out {
    void (*put)(void *opaque, const void *data, size_t len);
    void *opaque;
} Out;

static void out_int(const Out *o, uint64_t value, unsigned width)
{
    uint8_t b[8];

    put_be64(b, value << (64 - 8 * width));
    o->put(o->opaque, b, width);
}

static void out_packet(const Out *o, CorePacket *pkt)
{
    out_int(o, pkt->len, 4);
    out_int(o, pkt->vl, 1);
    out_int(o, pkt->lph_cfg, 1);
    out_int(o, pkt->rt, 1);
    out_int(o, pkt->error, 1);
    o->put(o->opaque, core_packet_data(pkt), pkt->len);
}

static void save_field(const Out *o, const UbDllVars *v, const Field *f,
                       int64_t now)
{
    const uint8_t *at;

    for (unsigned i = 0; i < f->size; i += MAX(1, f->width)) {
        at = (const uint8_t *)v + f->offset + i;
        if (f->width <= 1) {
            out_int(o, *at, 1);
        } else if (f->width == 2) {
            out_int(o, *(const uint16_t *)at, 2);
        } else if (f->width == 4) {
            out_int(o, *(const uint32_t *)at, 4);
        } else {
            int64_t t = *(const int64_t *)at;

            out_int(o, t == NEVER ? NEVER : MAX(t - now, 0), 8);
        }
    }
}

void ub_dll_save(const UbDll *d, int64_t now,
                 void (*put)(void *opaque, const void *data, size_t len),
                 void *opaque)
{
    const UbDllVars *v = &d->v;
    const Out o = { put, opaque };
    uint32_t used = v->depth - v->num_free;

    out_int(&o, MAGIC, 4);
    for (size_t i = 0; i < G_N_ELEMENTS(fields); i++) {
        save_field(&o, v, &fields[i], now);
    }
    for (uint32_t i = 0; i < used; i++) {
        uint32_t at = ring_add(v->tail_ptr, i, v->depth);

        out_int(&o, d->meta[at], 1);
        put(opaque, d->ring + at * UB_FLIT_SIZE, UB_FLIT_SIZE);
    }
    put(opaque, d->rx_block, sizeof(d->rx_block));
    put(opaque, d->tx_block, sizeof(d->tx_block));
    out_int(&o, !!d->tx_pkt, 1);
    if (d->tx_pkt) {
        out_packet(&o, d->tx_pkt);
    }
    out_int(&o, !!d->rx_pkt, 1);
    if (d->rx_pkt) {
        out_packet(&o, d->rx_pkt);
    }
    for (unsigned vl = 0; vl < UB_VLS; vl++) {
        out_int(&o, d->vlq[vl].count, 4);
        for (CorePacket *p = d->vlq[vl].head; p; p = p->next) {
            out_packet(&o, p);
        }
    }
}

/* ------------------------------------------------------------- load ----- */

typedef struct In {
    const uint8_t *p, *end;
    bool bad;
} In;

static const uint8_t *in_bytes(In *in, size_t len)
{
    const uint8_t *p = in->p;

    if (in->bad || len > (size_t)(in->end - in->p)) {
        in->bad = true;
        return NULL;
    }
    in->p += len;
    return p;
}

static uint64_t in_int(In *in, unsigned width)
{
    const uint8_t *p = in_bytes(in, width);
    uint64_t value = 0;

    for (unsigned i = 0; p && i < width; i++) {
        value = value << 8 | p[i];
    }
    return value;
}

static void load_field(In *in, UbDllVars *v, const Field *f, int64_t now)
{
    const unsigned width = MAX(1, f->width);

    for (unsigned i = 0; i < f->size; i += width) {
        uint8_t *at = (uint8_t *)v + f->offset + i;
        uint64_t value = in_int(in, width);

        if (f->width == BOOL) {
            *at = !!value;
        } else if (f->width == 1) {
            *at = value;
        } else if (f->width == 2) {
            *(uint16_t *)at = value;
        } else if (f->width == 4) {
            *(uint32_t *)at = value;
        } else if (value >= (uint64_t)(NEVER / 2)) {
            *(int64_t *)at = NEVER;
        } else {
            *(int64_t *)at = now + (int64_t)value;
        }
    }
}

static CorePacket *in_packet(In *in, UbDll *d)
{
    uint32_t len = in_int(in, 4);
    uint8_t vl = in_int(in, 1), cfg = in_int(in, 1), rt = in_int(in, 1);
    bool error = in_int(in, 1);
    const uint8_t *data = in_bytes(in, len);
    CorePacket *pkt;

    if (in->bad || !len || len > UB_PAYLOAD_MAX_NON_CRC || vl >= UB_VLS ||
        !(pkt = core_packet_alloc(d->pool, len))) {
        in->bad = true;
        return NULL;
    }
    memcpy(core_packet_data(pkt), data, len);
    pkt->vl = vl;
    pkt->lph_cfg = cfg & 15;
    pkt->rt = rt & 3;
    pkt->error = error;
    return pkt;
}

static bool one_bit(uint8_t set)
{
    return set && !(set & (set - 1));
}

static bool delim_ok(const Delim *m)
{
    return m->blk_len <= UB_BLOCK_FLITS && m->blk_pos <= m->blk_len &&
           (!m->blk_pos || m->blk_pos < m->blk_len) &&
           m->blocks <= UB_DLLDP_BLOCKS && m->last_flits <= UB_BLOCK_FLITS &&
           (!m->in_pkt || (m->blocks && m->last_flits &&
                           m->index + 1u < m->blocks));
}

/* Could these variables have come about?  Everything that indexes, divides or
 * is subtracted from is checked. */
static bool vars_ok(const UbDllVars *v)
{
    uint32_t held = 0, granted = 0, in_hand = v->crd_share;

    if (v->state > UB_DLL_NORMAL || v->req_state > UB_RETRY_REQ_ERROR ||
        v->ack_state > UB_RETRY_ACK_ACK || v->bmc > UB_BMC_READY ||
        v->mode > UB_MODE_NON_CRC || v->depth < 64 ||
        v->num_free > v->depth || v->wr_ptr >= v->depth ||
        v->tail_ptr >= v->depth || v->rd_ptr >= v->depth ||
        v->ack_ptr >= v->depth ||
        ring_add(v->tail_ptr, v->depth - v->num_free, v->depth) != v->wr_ptr ||
        (v->state > UB_DLL_PARAM_INIT && !v->peer_depth) ||
        (v->peer_depth && (v->rcv_ptr >= v->peer_depth ||
                           v->snap_ptr >= v->peer_depth)) ||
        !one_bit(v->agreed.flow_ctrl_size) ||
        !one_bit(v->agreed.data_ack_grain) ||
        !one_bit(v->agreed.ctrl_ack_grain) ||
        v->set.pos > UB_RETRY_SET || v->tx_left + v->tx_pos > UB_BLOCK_FLITS ||
        v->next_vl >= UB_VLS || v->next_crd_vl >= UB_VLS ||
        v->lm_count > LM_QUEUE || v->px_count > UB_BLOCK_FLITS ||
        !delim_ok(&v->delim) || !delim_ok(&v->snap) || !delim_ok(&v->resume)) {
        return false;
    }
    for (unsigned vl = 0; vl < UB_VLS; vl++) {
        if (!one_bit(v->agreed.ctrl_credit_grain[vl]) ||
            !one_bit(v->agreed.data_credit_grain[vl]) ||
            v->pending[vl] > v->held[vl] || v->held[vl] > 65535 ||
            v->granted[vl] > 65535 || v->crd_init[vl] > 65535 ||
            v->crd[vl] > 65535 ||
            (!v->shared && v->crd[vl] > v->crd_init[vl])) {
            return false;
        }
        held += v->held[vl];
        granted += v->granted[vl];
        in_hand += v->crd[vl];
    }
    return held == v->held_total && granted == v->granted_total &&
           v->crd_share <= 65535 && in_hand <= v->crd_total &&
           v->crd_total <= 65535;
}

/* Do the packets under way fit the variables? */
static bool packets_ok(const UbDll *d)
{
    const UbDllVars *v = &d->v;
    UbPlength shape;

    if (d->tx_pkt &&
        (!ub_plength_of(v->mode, d->tx_pkt->len, &shape) ||
         memcmp(&shape, &v->tx_shape, sizeof(shape)) ||
         v->tx_index >= shape.blocks || v->state != UB_DLL_NORMAL)) {
        return false;
    }
    return !d->rx_pkt ||
           (v->delim.in_pkt &&
            ub_plength_payload(v->mode, ub_plength_unpack(
                               ub_lph_plength(v->rx_lph))) ==
            (int)d->rx_pkt->len);
}

static bool load_rest(UbDll *d, In *in)
{
    UbDllVars *v = &d->v;
    const uint8_t *p;

    for (uint32_t i = 0; i < v->depth - v->num_free && !in->bad; i++) {
        uint32_t at = ring_add(v->tail_ptr, i, v->depth);

        d->meta[at] = in_int(in, 1);
        p = in_bytes(in, UB_FLIT_SIZE);
        if (p) {
            memcpy(d->ring + at * UB_FLIT_SIZE, p, UB_FLIT_SIZE);
        }
    }
    p = in_bytes(in, 2 * UB_BLOCK_SIZE);
    if (p) {
        memcpy(d->rx_block, p, UB_BLOCK_SIZE);
        memcpy(d->tx_block, p + UB_BLOCK_SIZE, UB_BLOCK_SIZE);
    }
    d->tx_pkt = in_int(in, 1) ? in_packet(in, d) : NULL;
    d->rx_pkt = in_int(in, 1) ? in_packet(in, d) : NULL;
    for (unsigned vl = 0; vl < UB_VLS; vl++) {
        uint32_t n = in_int(in, 4);

        for (uint32_t i = 0; i < n && !in->bad; i++) {
            CorePacket *pkt = i < MAX_PACKETS ? in_packet(in, d) : NULL;

            if (!pkt) {
                return false;
            }
            pkt->vl = vl;
            vl_append(d, pkt);
        }
    }
    return !in->bad && in->p == in->end && packets_ok(d);
}

const char *ub_dll_load(UbDll *d, int64_t now, const void *data, size_t len)
{
    In in = { data, (const uint8_t *)data + len, false };
    UbDllVars v = { 0 };

    ub_dll_reset(d, now);
    if (in_int(&in, 4) != MAGIC) {
        return "not an image of a UB data link layer, or of another version";
    }
    for (size_t i = 0; i < G_N_ELEMENTS(fields); i++) {
        load_field(&in, &v, &fields[i], now);
    }
    if (in.bad || !vars_ok(&v)) {
        return "image of a UB data link layer is damaged";
    }
    d->v = v;
    retry_resize(d, v.depth);
    credit_loaded(d);
    if (!load_rest(d, &in)) {
        ub_dll_reset(d, now);
        return "image of a UB data link layer is damaged";
    }
    return NULL;
}
