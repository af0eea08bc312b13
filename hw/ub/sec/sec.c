/*
 * UPIH, EIDH and CIPH; whom a packet is for.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <glib.h>

#include "core/bytes.h"
#include "internal.h"

typedef struct Entity {
    bool used;
    UbEid eid;
    uint32_t upi;
} Entity;

struct UbSec {
    bool bare;
    bool guard;             /* Entities are asked what they may say */
    UbCip *cip;
    Entity entity[UB_SEC_TARGETS];
};

enum {
    UPI_BITS = 24,              /* valid ones of UPIH32 and UPIH16 */
    UPI_BITS_SHORT = 15,
};

const char *ub_sec_fault_name(UbSecFault fault)
{
    static const char *const names[UB_SEC_FAULTS] = {
        [UB_SEC_GOOD] = "good",
        [UB_SEC_SHORT_PACKET] = "ends within a header",
        [UB_SEC_NLP] = "reserved NLP",
        [UB_SEC_NO_ENTITY] = "no such Entity",
        [UB_SEC_UPI] = "foreign UPI",
        [UB_SEC_MANAGER] = "Mgmt without the UPI of the UBFM",
        [UB_SEC_CIP_OFF] = "CIPH and CIP differ",
        [UB_SEC_CIP] = "cannot be opened",
    };

    return fault < UB_SEC_FAULTS ? names[fault] : NULL;
}

UbSec *ub_sec_new(bool bare)
{
    UbSec *sec = g_new0(UbSec, 1);

    sec->bare = bare;
    sec->cip = ub_cip_new();
    return sec;
}

void ub_sec_free(UbSec *sec)
{
    if (sec) {
        ub_cip_free(sec->cip);
        g_free(sec);
    }
}

UbCip *ub_sec_cip(UbSec *sec)
{
    return sec->cip;
}

void ub_sec_set_entity(UbSec *sec, unsigned index, const UbEid *eid,
                       uint32_t upi)
{
    Entity *e = &sec->entity[index % UB_SEC_TARGETS];

    e->used = eid;
    if (eid) {
        e->eid = *eid;
        e->upi = upi & ((1u << UPI_BITS) - 1);
    }
}

const UbEid *ub_sec_entity(const UbSec *sec, unsigned index, uint32_t *upi)
{
    const Entity *e = &sec->entity[index % UB_SEC_TARGETS];

    if (index >= UB_SEC_TARGETS || !e->used) {
        return NULL;
    }
    if (upi) {
        *upi = e->upi;
    }
    return &e->eid;
}

static uint32_t body_size(unsigned form)
{
    return form == UB_SEC_WIDE ? UB_UPIH32_LEN + UB_EIDH256_LEN
           : form == UB_SEC_SHORT ? UB_UPIH16_LEN + UB_EIDH40_LEN : 0;
}

uint32_t ub_sec_size(const UbSecHead *head)
{
    return body_size(head->form) + (head->cip ? UB_CIPH_LEN : 0);
}

/* ---- sending ---- */

static void put_body(uint8_t *p, const UbSecHead *h)
{
    uint64_t pair;

    if (h->form == UB_SEC_WIDE) {
        put_be32(p, h->upi & ((1u << UPI_BITS) - 1));
        memcpy(p + 4, &h->seid, UB_EID_LEN);
        memcpy(p + 4 + UB_EID_LEN, &h->deid, UB_EID_LEN);
    } else if (h->form == UB_SEC_SHORT) {
        pair = (uint64_t)ub_eid_short(&h->seid) << 20 | ub_eid_short(&h->deid);
        put_be16(p, h->upi & ((1u << UPI_BITS_SHORT) - 1));
        p[2] = pair >> 32;
        put_be32(p + 3, pair);
    }
}

void ub_sec_guard(UbSec *sec, bool on)
{
    sec->guard = on;
}

bool ub_sec_may_send(const UbSec *sec, const UbSecHead *h)
{
    bool narrow = h->form == UB_SEC_SHORT, instance;
    const Entity *e;
    uint32_t upi;

    if (!h->from) {
        return true;
    }
    e = &sec->entity[(h->from - 1) % UB_SEC_TARGETS];
    instance = ub_sec_is_instance(h->from - 1);
    if (!sec->guard && !instance) {
        return true;
    }
    if (h->form == UB_SEC_NONE) {
        return !instance;       /* says nothing, which is Entity 0's */
    }
    if (narrow && h->upi == UB_UPI_MANAGER) {
        return true;            /* an answer to the UBFM; the ports see to others */
    }
    upi = narrow ? e->upi & ((1u << UPI_BITS_SHORT) - 1) : e->upi;
    return e->used && upi && h->upi == upi &&
           (narrow ? ub_eid_short(&e->eid) == ub_eid_short(&h->seid)
                   : ub_eid_same(&e->eid, &h->seid));
}

int ub_sec_push_plain(UbSec *sec, const UbSecHead *h, CorePacket *pkt)
{
    uint8_t *p = h->form > UB_SEC_SHORT
                 ? NULL : core_packet_push(pkt, body_size(h->form));

    if (!p) {
        return -1;
    }
    put_body(p, h);
    return h->form;
}

/* The Entity of an EID as a packet of @form has it, or -1. */
static int find_entity(const UbSec *sec, unsigned form, const UbEid *eid)
{
    uint32_t low = ub_eid_short(eid);

    for (unsigned i = 0; i < UB_SEC_TARGETS; i++) {
        const Entity *e = &sec->entity[i];

        if (e->used && (form == UB_SEC_WIDE
                        ? ub_eid_same(&e->eid, eid)
                        /* 0 is reserved in 20 bits */
                        : low && ub_eid_short(&e->eid) == low)) {
            return i;
        }
    }
    return -1;
}

int ub_sec_push(UbSec *sec, const UbSecHead *h, CorePacket *pkt)
{
    int nlp = ub_sec_may_send(sec, h) ? ub_sec_push_plain(sec, h, pkt) : -1;

    if (nlp < 0 || !sec->cip || !ub_cip_touched(sec->cip)) {
        return nlp;
    }
    switch (cip_seal(sec->cip, h->form == UB_SEC_NONE
                               ? 0 : find_entity(sec, h->form, &h->seid),
                     h, body_size(h->form), pkt)) {
    case CIP_PLAIN:
        return nlp;
    case CIP_SEALED:
        return UB_SEC_CIPH;
    default:
        return -1;
    }
}

void ub_sec_reply(UbSecHead *tx, const UbSecHead *rx)
{
    *tx = *rx;
    tx->seid = rx->deid;
    tx->deid = rx->seid;
    tx->mgmt = tx->cip = false;
    tx->cip_id = tx->sn = 0;
}

/* ---- receiving ---- */

static void get_body(const uint8_t *p, UbSecHead *h)
{
    if (h->form == UB_SEC_WIDE) {
        h->upi = get_be32(p) & ((1u << UPI_BITS) - 1);
        memcpy(&h->seid, p + 4, UB_EID_LEN);
        memcpy(&h->deid, p + 4 + UB_EID_LEN, UB_EID_LEN);
    } else if (h->form == UB_SEC_SHORT) {
        uint64_t pair = (uint64_t)p[2] << 32 | get_be32(p + 3);

        h->upi = get_be16(p) & ((1u << UPI_BITS_SHORT) - 1);
        h->seid = ub_eid_of_short(pair >> 20 & 0xfffff);
        h->deid = ub_eid_of_short(pair & 0xfffff);
    }
}

/* From the UBFM to a node that has no EID yet, or back to one: to its Entity 0. */
static bool is_unnamed(const UbSecHead *h)
{
    return h->form == UB_SEC_SHORT && h->upi == UB_UPI_MANAGER &&
           !ub_eid_short(&h->deid);
}

static UbSecFault check_partition(const UbSec *sec, const UbSecHead *h,
                                  unsigned entity)
{
    uint32_t upi = h->form == UB_SEC_SHORT
                   ? sec->entity[entity].upi & ((1u << UPI_BITS_SHORT) - 1)
                   : sec->entity[entity].upi;
    bool manager = h->form == UB_SEC_SHORT && h->upi == UB_UPI_MANAGER;

    if (manager) {
        return UB_SEC_GOOD;     /* without Mgmt: an answer to the UBFM */
    }
    if (h->mgmt) {
        return UB_SEC_MANAGER;
    }
    return h->upi && h->upi == upi ? UB_SEC_GOOD : UB_SEC_UPI;
}

/* Whom a packet is for, by its UPIH and EIDH at @p. */
static UbSecFault admit(const UbSec *sec, const uint8_t *p, UbSecHead *h,
                        unsigned *entity)
{
    int at;

    if (h->form == UB_SEC_NONE) {
        return h->mgmt ? UB_SEC_MANAGER
               : sec->bare ? UB_SEC_GOOD : UB_SEC_NO_ENTITY;
    }
    get_body(p, h);
    at = is_unnamed(h) ? 0 : find_entity(sec, h->form, &h->deid);
    if (at < 0) {
        return UB_SEC_NO_ENTITY;
    }
    *entity = at;
    h->from = 1 + at;
    return check_partition(sec, h, at);
}

/* What follows a CIPH, by its NLP. */
static const uint8_t forms[] = {
    [CIP_NLP_WIDE] = UB_SEC_WIDE,
    [CIP_NLP_SHORT] = UB_SEC_SHORT,
    [CIP_NLP_TAH] = UB_SEC_NONE,
};

/* A packet with a CIPH: the partition first, then what is sealed (§11.5.2.4). */
static UbSecFault pull_sealed(UbSec *sec, bool ctp, CorePacket *pkt,
                              UbSecHead *h, unsigned *entity)
{
    uint8_t *p = core_packet_data(pkt);
    UbSecFault fault;
    uint32_t body;

    if (pkt->len < UB_CIPH_LEN) {
        return UB_SEC_SHORT_PACKET;
    }
    if (p[0] >> 4 >= G_N_ELEMENTS(forms)) {
        return UB_SEC_NLP;
    }
    h->form = forms[p[0] >> 4];
    if (h->form == UB_SEC_SHORT && !ctp) {
        return UB_SEC_NLP;
    }
    h->cip = true;
    h->cip_id = get_be32(p) & 0xffffff;
    h->sn = get_be32(p + 4);
    body = body_size(h->form);
    if (pkt->len < UB_CIPH_LEN + body) {
        return UB_SEC_SHORT_PACKET;
    }
    fault = admit(sec, p + UB_CIPH_LEN, h, entity);
    if (!fault) {
        fault = cip_open(sec->cip, *entity, h, body, pkt);
    }
    if (!fault) {
        core_packet_pull(pkt, UB_CIPH_LEN + body);
    }
    return fault;
}

static UbSecFault pull_plain(UbSec *sec, unsigned form, CorePacket *pkt,
                             UbSecHead *h, unsigned *entity)
{
    const uint8_t *p = core_packet_pull(pkt, body_size(form));

    h->form = form;
    return p ? admit(sec, p, h, entity) : UB_SEC_SHORT_PACKET;
}

static bool form_exists(unsigned nlp, bool ctp)
{
    return nlp < UB_SEC_SHORT || (nlp == UB_SEC_SHORT && ctp);
}

bool ub_sec_peek(unsigned nlp, bool ctp, const uint8_t *p, uint32_t len,
                 UbSecHead *h)
{
    *h = (UbSecHead) { 0 };
    if (nlp == UB_SEC_CIPH) {
        if (len < UB_CIPH_LEN || p[0] >> 4 >= G_N_ELEMENTS(forms)) {
            return false;
        }
        nlp = forms[p[0] >> 4];
        h->cip = true;
        p += UB_CIPH_LEN;
        len -= UB_CIPH_LEN;
    }
    if (nlp == UB_SEC_NONE || !form_exists(nlp, ctp) || len < body_size(nlp)) {
        return false;
    }
    h->form = nlp;
    get_body(p, h);
    return true;
}

UbSecFault ub_sec_pull(UbSec *sec, unsigned nlp, bool ctp, bool mgmt,
                       CorePacket *pkt, UbSecHead *h, unsigned *entity)
{
    UbSecFault fault;

    *h = (UbSecHead) { .mgmt = mgmt };
    *entity = 0;
    if (nlp == UB_SEC_CIPH) {
        return pull_sealed(sec, ctp, pkt, h, entity);
    }
    if (!form_exists(nlp, ctp)) {
        return UB_SEC_NLP;
    }
    fault = pull_plain(sec, nlp, pkt, h, entity);
    return !fault && cip_expects(sec->cip, *entity, h, pkt) ? UB_SEC_CIP_OFF
                                                            : fault;
}

UbSecFault ub_sec_pull_opened(UbSec *sec, unsigned form, bool ctp, bool mgmt,
                              CorePacket *pkt, UbSecHead *h, unsigned *entity)
{
    *h = (UbSecHead) { .mgmt = mgmt, .cip = true };
    *entity = 0;
    return form_exists(form, ctp) ? pull_plain(sec, form, pkt, h, entity)
                                  : UB_SEC_NLP;
}

void ub_sec_image(UbSec *sec, CoreImage *im)
{
    unsigned version = core_image_begin(im, CORE_TAG('S', 'E', 'C', ' '), 2);

    for (unsigned i = 0; i < UB_SEC_TARGETS; i++) {
        Entity *e = &sec->entity[i];

        if (version < 2 && ub_sec_is_instance(i)) {
            e->used = false;
            continue;
        }
        core_image_flag(im, &e->used);
        core_image_bytes(im, &e->eid, sizeof(e->eid));
        core_image_int(im, &e->upi);
        core_image_check(im, e->upi < 1u << UPI_BITS,
                         "a UPI of the image is wider than 24 bits");
    }
    if (sec->cip && core_image_optional(im, UB_CIP_TAG,
                                        ub_cip_touched(sec->cip))) {
        ub_cip_image(sec->cip, im);
    }
    core_image_end(im);
}
