/*
 * UB Signaled Interrupts (UB 2.0 §10.3.4, §D.4.3, §D.4.4): those that Entities
 * raise, and those that this host takes.
 *
 * A vector that is raised is pending until it may be told.  Then the eight bytes of
 * a USI are written to the address that software gave: this host's, or that of the
 * User, by a packet (UEID and UCNA of CFG0_BASIC name it).  One is under way at a
 * time for each Entity.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <glib.h>

#include "core/bytes.h"
#include "internal.h"

/* The queue beside the window's. */
#define USI_RCID (UB_TA_IDS - 2)
/* How often one is told that nobody answers. */
#define USI_TRIES 4
/* Codes of the numbers of vectors, 2^n. */
#define USI_CODE 5
#define WAY_MTU 1024

_Static_assert(1 << USI_CODE == UB_USI_VECTORS, "a bit for each vector");
_Static_assert(USI_RCID >= UB_URMA_QUEUE_IDS, "no queue of software");

/* What is written, and where. */
typedef struct Usi {
    UbEid deid;
    uint64_t uba;
    uint32_t token_id, id, data;
} Usi;

static void count(uint32_t *n)
{
    *n += *n != UINT32_MAX;
}

/* ---- Registers and tables of an Entity ---------------------------------------------- */

static uint32_t get1(const UbcUsi *u, unsigned dw)
{
    return ub_slice_get(u->type1, dw);
}

UbEid ubc_eid(const UbSlice *s, unsigned dw)
{
    UbEid eid;

    for (unsigned i = 0; i < 4; i++) {
        put_be32(eid.b + 12 - 4 * i, ub_slice_get(s, dw + i));
    }
    return eid;
}

static bool type1_get(Ubc *ubc, unsigned entity, unsigned v, Usi *m)
{
    const UbcUsi *u = &ubc->usi[entity];
    uint32_t code = get1(u, UB_INT_TYPE1_INTERRUPT_ENABLE_NUMBER);

    if (!get1(u, UB_INT_TYPE1_INTERRUPT_ENABLE) || code > USI_CODE ||
        v >= 1u << code ||
        get1(u, UB_INT_TYPE1_INTERRUPT_MASK) >> v & 1) {
        return false;
    }
    *m = (Usi) {
        .deid = ubc_eid(ubc_cfg0(ubc, entity), UB_CFG0_UEID),
        .uba = (uint64_t)get1(u, UB_INT_TYPE1_INTERRUPT_ADDRESS + 1) << 32 |
               get1(u, UB_INT_TYPE1_INTERRUPT_ADDRESS),
        .token_id = ub_slice_get(ubc_cfg1(ubc, entity), UB_CFG1_DEV_TOKEN_ID),
        .id = get1(u, UB_INT_TYPE1_INTERRUPT_ID),
        .data = get1(u, UB_INT_TYPE1_INTERRUPT_DATA) + v,
    };
    return true;
}

static bool type2_get(const UbcUsi *u, unsigned v, Usi *m)
{
    const uint8_t *e = u->vector + v * UB_USI_VECTOR_SIZE, *a;
    uint32_t ctl = get_le32(e + UB_USI_VECTOR_CTL), index, to;

    index = ctl & UB_USI_VECTOR_INDEX;
    if (!ub_slice_get(u->type2, UB_INT_TYPE2_INTERRUPT_ENABLE) ||
        ub_slice_get(u->type2, UB_INT_TYPE2_INTERRUPT_MASK) ||
        ctl & UB_USI_VECTOR_MASK || index >= UB_USI_ADDRESSES) {
        return false;
    }
    a = u->address + index * UB_USI_ADDRESS_SIZE;
    to = get_le32(a + UB_USI_ADDRESS_CTL);
    *m = (Usi) {
        .uba = get_le64(a + UB_USI_ADDRESS_UBA),
        .token_id = to & UB_USI_ADDRESS_TOKEN,
        .id = ub_slice_get(u->type2, UB_INT_TYPE2_INTERRUPT_ID),
        .data = get_le32(e + UB_USI_VECTOR_DATA),
    };
    for (unsigned i = 0; i < 4; i++) {
        put_be32(m->deid.b + 12 - 4 * i,
                 get_le32(a + UB_USI_ADDRESS_DEID + 4 * i));
    }
    return to & UB_USI_ADDRESS_VALID;
}

static void usi_written(void *opaque, UbSlice *s, const UbSliceWrite *w)
{
    Ubc *ubc = opaque;

    if (w->dw == UB_INT_TYPE1_INTERRUPT_ENABLE_NUMBER && w->value > USI_CODE) {
        ub_slice_set(s, w->dw, ~0u, w->value ^ w->changed);
        ubc_guest_error(ubc, -1, "a reserved number of interrupt vectors");
    }
    ubc_above_kick(ubc);
}

static void type2_written(void *opaque, UbSlice *s, const UbSliceWrite *w)
{
    ubc_above_kick(opaque);
}

static void type1_refresh(void *opaque, UbSlice *s, unsigned dw)
{
    Ubc *ubc = opaque;

    for (unsigned i = 0; i < ubc->conf.entities; i++) {
        if (ubc->usi[i].type1 == s) {
            ub_slice_set(s, UB_INT_TYPE1_INTERRUPT_PENDING, ~0u,
                         ubc->usi[i].pending);
        }
    }
}

static void type2_init(UbSlice *s)
{
    static const struct {
        unsigned dw;
        uint32_t at;
    } tables[] = {
        { UB_INT_TYPE2_INTERRUPT_VECTOR_TABLE_START_ADDRESS,
          UB_USI_VECTOR_TABLE },
        { UB_INT_TYPE2_INTERRUPT_ADDRESS_TABLE_START_ADDRESS,
          UB_USI_ADDRESS_TABLE },
        { UB_INT_TYPE2_INTERRUPT_PENDING_TABLE_START_ADDRESS,
          UB_USI_PENDING_TABLE },
    };

    ub_slice_init(s, UB_INT_TYPE2_MAX_INDEX, ~0u,
                  (UB_USI_ADDRESSES - 1) << 16 | (UB_USI_VECTORS - 1));
    for (unsigned i = 0; i < G_N_ELEMENTS(tables); i++) {
        ub_slice_init(s, tables[i].dw, ~0u, tables[i].at);
    }
}

/* Every vector is masked, as those of Type 1 are after power-on. */
static void tables_reset(UbcUsi *u)
{
    memset(u->vector, 0, sizeof(u->vector));
    memset(u->address, 0, sizeof(u->address));
    for (unsigned v = 0; v < UB_USI_VECTORS; v++) {
        put_le32(u->vector + v * UB_USI_VECTOR_SIZE + UB_USI_VECTOR_CTL,
                 UB_USI_VECTOR_MASK);
    }
    u->pending = 0;
}

bool ubc_usi_there(const Ubc *ubc)
{
    return ubc->conf.entities > 1 && ubc->conf.usi != UBC_USI_NONE;
}

void ubc_usi_init(Ubc *ubc, unsigned entity)
{
    static const UbSliceOps ops1 = { usi_written, type1_refresh };
    static const UbSliceOps ops2 = { type2_written, NULL };
    UbSpace *space = entity ? ubc->entity[entity].space : ubc->space;
    UbcUsi *u = &ubc->usi[entity];

    if (!ubc_usi_there(ubc)) {
        return;
    }
    if (!entity || ubc->conf.usi == UBC_USI_TYPE1) {
        u->type1 = ub_space_attach(space, UB_SPACE_CFG1, 0, UB_CAP_INT_TYPE1,
                                   &ops1, ubc);
        ub_slice_init(u->type1, UB_INT_TYPE1_SUPPORTED_INTERRUPT_NUMBER, ~0u,
                      USI_CODE);
    } else {
        u->type2 = ub_space_attach(space, UB_SPACE_CFG1, 0, UB_CAP_INT_TYPE2,
                                   &ops2, ubc);
        type2_init(u->type2);
    }
    tables_reset(u);
}

/* The part of a table of @size bytes at @from that an access of @len bytes at @at
 * has; other bytes read 0. */
static void table_copy(uint8_t *table, uint32_t size, uint64_t from, uint64_t at,
                       uint8_t *buf, uint32_t len, bool write)
{
    uint64_t begin = MAX(at, from), end = MIN(at + len, from + size);

    if (begin >= end) {
        return;
    }
    if (write) {
        memcpy(table + (begin - from), buf + (begin - at), end - begin);
    } else {
        memcpy(buf + (begin - at), table + (begin - from), end - begin);
    }
}

void ubc_usi_table(Ubc *ubc, unsigned entity, uint64_t at, void *buf,
                   uint32_t len, bool write)
{
    UbcUsi *u = &ubc->usi[entity];
    uint8_t pending[4];

    if (!write) {
        memset(buf, 0, len);
        put_le32(pending, u->pending);
        table_copy(pending, sizeof(pending), UB_USI_PENDING_TABLE, at, buf, len,
                   false);
    }
    table_copy(u->vector, sizeof(u->vector), UB_USI_VECTOR_TABLE, at, buf, len,
               write);
    table_copy(u->address, sizeof(u->address), UB_USI_ADDRESS_TABLE, at, buf,
               len, write);
    if (write) {
        ubc_above_kick(ubc);
    }
}

void ubc_usi_raise(Ubc *ubc, unsigned entity, unsigned vector)
{
    UbcUsi *u = &ubc->usi[entity];

    if ((u->type1 || u->type2) && vector < UB_USI_VECTORS) {
        u->pending |= 1u << vector;
        ubc_above_kick(ubc);
    }
}

/* ---- The interrupts that this host takes -------------------------------------------- */

static uint64_t host_address(const UbcUsiHost *h)
{
    return (uint64_t)h->addr_hi << 32 | h->addr_lo;
}

static bool refuse(Ubc *ubc, const char *what)
{
    count(&ubc->usi_host.refused);
    ubc->ops.peer_error(ubc->opaque, 0, what);
    return false;
}

bool ubc_usi_take(Ubc *ubc, const uint8_t pdu[UB_USI_SIZE])
{
    const UbcUsiHost *h = &ubc->usi_host;
    uint32_t data = get_be32(pdu + UB_USI_DATA);

    if (data - h->first >= h->count || data >= UBC_VECTORS) {
        return refuse(ubc, "an interrupt whose Interrupt Data is not this host's");
    }
    count(&ubc->usi_host.received);
    ubc->ops.interrupt(ubc->opaque, data);
    return true;
}

bool ubc_usi_access(Ubc *ubc, const UbAccess *a, UbSpan *out, unsigned *n,
                    UbAccessResult *result)
{
    const UbcUsiHost *h = &ubc->usi_host;
    uint64_t at = host_address(h);

    if (!(h->ctrl & UBC_USI_ENABLE) || a->entity || a->bare ||
        a->token_id != h->token_id || a->addr >= at + UB_USI_SIZE ||
        a->addr + a->len <= at) {
        return false;
    }
    *result = UB_ACCESS_UNSUPPORTED;
    if (a->kind != UB_ACCESS_WRITE || a->addr != at || a->len != UB_USI_SIZE ||
        a->poison) {
        refuse(ubc, "an access to the interrupt address that is no interrupt");
    } else {
        *out = (UbSpan) { .region = UBC_REGION_USI, .len = UB_USI_SIZE };
        *n = 1;
        *result = UB_ACCESS_OK;
    }
    return true;
}

/* ---- Telling ------------------------------------------------------------------------ */

static bool tell_host(Ubc *ubc, UbcUsi *u, const Usi *m)
{
    const UbcUsiHost *h = &ubc->usi_host;
    bool taken = h->ctrl & UBC_USI_ENABLE && m->uba == host_address(h) &&
                 m->token_id == h->token_id
                 ? ubc_usi_take(ubc, u->pdu)
                 : refuse(ubc, "an interrupt that is not for this host's address");

    count(taken ? &u->sent : &u->lost);
    return true;
}

static bool is_short(const UbEid *eid)
{
    UbEid low = ub_eid_of_short(ub_eid_short(eid));

    return ub_eid_same(eid, &low);
}

bool ubc_way(Ubc *ubc, unsigned entity, uint32_t cna, const UbEid *deid, UbTaDest *d)
{
    uint32_t own = ub_net_primary(ubc->net), upi = 0;
    const UbEid *seid = ub_sec_entity(ub_node_sec(ubc->node), entity, &upi);

    if (!cna || !own || !upi || !seid) {
        return false;
    }
    *d = (UbTaDest) {
        .tp.mode = UB_TP_CTP, .sl_writeback = UB_TA_SAME_SL, .mtu = WAY_MTU,
        .sec = { .form = is_short(seid) && is_short(deid) ? UB_SEC_SHORT
                                                          : UB_SEC_WIDE,
                 .from = 1 + entity, .upi = upi, .seid = *seid,
                 .deid = *deid },
    };
    ub_flow_init(&d->tp.flow, (cna | own) >> 16 ? UB_LPH_CNA24 : UB_LPH_CNA16);
    d->tp.flow.scna = own;
    d->tp.flow.dcna = cna;
    return true;
}

/* The User is the only one whose CNA an Entity knows. */
static bool way_to(Ubc *ubc, unsigned entity, const UbEid *deid, UbTaDest *d)
{
    const UbSlice *cfg0 = ubc_cfg0(ubc, entity);
    UbEid user = ubc_eid(cfg0, UB_CFG0_UEID);

    return ub_eid_same(deid, &user) &&
           ubc_way(ubc, entity, ub_slice_get(cfg0, UB_CFG0_UCNA), deid, d);
}

static const UbTaQueueConfig usi_config = { .rcid = USI_RCID, .mode = UB_ROI };

static UbTaQueue *usi_queue(UbTa *ta)
{
    UbTaQueue *q = ub_ta_queue(ta, USI_RCID);

    return q ? q : ub_ta_queue_new(ta, &usi_config);
}

static bool tell_user(Ubc *ubc, unsigned entity, const Usi *m)
{
    UbTa *ta = ub_node_ta(ubc->node);
    UbcUsi *u = &ubc->usi[entity];
    uint32_t row = UB_TA_DESTS + entity;
    UbTaDest dest;

    if (!way_to(ubc, entity, &m->deid, &dest)) {
        return false;
    }
    ub_ta_set_dest(ta, row, &dest);
    u->req = (UbTaRequest) {
        .id = entity, .dest = row, .opcode = UB_TA_WRITE, .order = UB_TA_NO,
        .token_id = m->token_id, .addr = m->uba, .len = UB_USI_SIZE,
    };
    u->flying = true;       /* before it can be done */
    if (!ub_ta_post(ta, usi_queue(ta), &u->req)) {
        u->flying = false;
        return false;
    }
    return true;
}

/* Whether it is told, or on its way. */
static bool tell(Ubc *ubc, unsigned entity, unsigned v)
{
    static const UbEid none;
    UbcUsi *u = &ubc->usi[entity];
    const UbEid *own = ub_sec_entity(ub_node_sec(ubc->node), 0, NULL);
    Usi m;

    if (!(u->type1 ? type1_get(ubc, entity, v, &m) : type2_get(u, v, &m))) {
        return false;
    }
    put_be32(u->pdu + UB_USI_ID, m.id);
    put_be32(u->pdu + UB_USI_DATA, m.data);
    u->which = v;
    return ub_eid_same(&m.deid, &none) || (own && ub_eid_same(&m.deid, own))
           ? tell_host(ubc, u, &m) : tell_user(ubc, entity, &m);
}

void ubc_usi_run(Ubc *ubc)
{
    for (unsigned i = 0; ubc->master && i < ubc->conf.entities; i++) {
        UbcUsi *u = &ubc->usi[i];

        if (!ubc_entity_may_access(ubc, i)) {
            continue;       /* a USI is an access of the Entity's */
        }
        for (uint32_t left = u->pending; left && !u->flying; left &= left - 1) {
            unsigned v = __builtin_ctz(left);

            u->pending &= ~(1u << v);
            if (!tell(ubc, i, v)) {
                u->pending |= 1u << v;
            }
        }
    }
}

bool ubc_usi_owns(const Ubc *ubc, const UbTaRequest *req)
{
    return req->dest >= UB_TA_DESTS &&
           req->dest - UB_TA_DESTS < ubc->conf.entities &&
           req == &ubc->usi[req->dest - UB_TA_DESTS].req;
}

void ubc_usi_gather(const UbTaRequest *req, uint32_t off, void *buf,
                    uint32_t len)
{
    const UbcUsi *u = (const UbcUsi *)((const char *)req -
                                       offsetof(UbcUsi, req));

    memcpy(buf, u->pdu + off, len);
}

void ubc_usi_done(Ubc *ubc, UbTaRequest *req, UbTaStatus status)
{
    UbcUsi *u = &ubc->usi[req->dest - UB_TA_DESTS];
    bool again = status == UB_TAS_FLUSHED ||
                 ((status == UB_TAS_TIMEOUT || status == UB_TAS_RNR) &&
                  ++u->tries < USI_TRIES);

    u->flying = false;
    if (again) {
        u->pending |= 1u << u->which;
    } else {
        u->tries = 0;
        count(status ? &u->lost : &u->sent);
    }
    if (status && !again) {
        ubc->ops.peer_error(ubc->opaque, 0, "nobody takes an interrupt");
    }
    ubc_above_kick(ubc);
}

/* ---- Life --------------------------------------------------------------------------- */

static void give_up(Ubc *ubc, UbcUsi *u)
{
    if (u->flying) {
        ub_ta_cancel(ub_node_ta(ubc->node), &u->req);
    }
}

void ubc_usi_rest(Ubc *ubc)
{
    for (unsigned i = 0; i < ubc->conf.entities; i++) {
        give_up(ubc, &ubc->usi[i]);
    }
}

void ubc_usi_reset_entity(Ubc *ubc, unsigned entity)
{
    UbcUsi *u = &ubc->usi[entity];

    give_up(ubc, u);
    tables_reset(u);
    u->tries = 0;
    u->sent = u->lost = 0;
}

void ubc_usi_reset(Ubc *ubc)
{
    for (unsigned i = 0; i < ubc->conf.entities; i++) {
        ubc->usi[i].flying = false;     /* gone with the transaction layer's */
        ubc_usi_reset_entity(ubc, i);
    }
    ubc->usi_host = (UbcUsiHost) { 0 };
}

const char *ubc_usi_loaded(Ubc *ubc, uint32_t *queues)
{
    UbTaQueue *q = ub_ta_queue(ub_node_ta(ubc->node), USI_RCID);

    *queues = !!q;
    return !q || (ubc->conf.entities > 1 &&
                  ub_ta_queue_fits(q, &usi_config, false))
           ? NULL : "a queue of interrupts that cannot be";
}

static void host_image(Ubc *ubc, CoreImage *im)
{
    UbcUsiHost *h = &ubc->usi_host;
    uint32_t *const words[] = { &h->ctrl, &h->token_id, &h->first, &h->count,
                                &h->addr_lo, &h->addr_hi, &h->received,
                                &h->refused };

    for (unsigned i = 0; i < G_N_ELEMENTS(words); i++) {
        core_image_int(im, words[i]);
    }
    if (!core_image_check(im, !(h->ctrl & ~UBC_USI_ENABLE) &&
                          h->token_id < UB_TA_IDS && h->first < UBC_VECTORS &&
                          h->count <= UBC_VECTORS &&
                          h->addr_lo % UB_USI_SIZE == 0,
                          "registers of interrupts that cannot be")) {
        *h = (UbcUsiHost) { 0 };
    }
}

void ubc_usi_image(Ubc *ubc, CoreImage *im)
{
    static const UbcUsiHost nothing;
    const uint32_t tag = CORE_TAG('U', 'S', 'I', ' ');

    if (!core_image_optional(im, tag, ubc->conf.entities > 1 ||
                             memcmp(&ubc->usi_host, &nothing,
                                    sizeof(nothing)))) {
        return;
    }
    core_image_begin(im, tag, 1);
    host_image(ubc, im);
    core_image_same(im, ubc->conf.usi, "another type of interrupts");
    for (unsigned i = 0; i < ubc->conf.entities && !core_image_error(im); i++) {
        UbcUsi *u = &ubc->usi[i];

        core_image_bytes(im, u->vector, sizeof(u->vector));
        core_image_bytes(im, u->address, sizeof(u->address));
        core_image_int(im, &u->pending);
        core_image_int(im, &u->sent);
        core_image_int(im, &u->lost);
        core_image_check(im, u->type1 || u->type2 || !u->pending,
                         "an interrupt of an Entity that has none");
        core_image_check(im, !u->type1 ||
                         get1(u, UB_INT_TYPE1_INTERRUPT_ENABLE_NUMBER) <=
                         USI_CODE, "a reserved number of interrupt vectors");
    }
    core_image_end(im);
}
