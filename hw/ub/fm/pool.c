/*
 * Pooling: register, deregister, replace, reclaim (UB 2.0 §10.4.5, §10.4.3.3).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <stdlib.h>

#include "ub/cfg_regs.h"
#include "ub/fm_pool.h"

#define CFG1(reg) (UB_CFG1_BASE + (reg))
#define SPACES 3    /* ERS0 to ERS2 */
#define ENTITIES 16 /* 4 bits are left beside a CNA in 20 bits of EID */

static int step(const UbFmPool *p, const char *what, int status)
{
    if (p->step) {
        p->step(p->opaque, what, status);
    }
    return status;
}

/* ---- Registers of an Entity --------------------------------------------------------- */

static int access_register(UbFmPool *p, unsigned node, unsigned entity,
                           uint32_t dw, bool write, uint32_t *value)
{
    uint8_t pdu[16] = { 0 }, answer[UB_MGMT_PDU_MAX] = { 0 };
    bool cfg1 = dw >= UB_CFG1_BASE && dw < UB_CFG_PORT_BASE(0);
    UbMgmtId id = write ? cfg1 ? UB_MGMT_MSG_CFG1_WRITE : UB_MGMT_MSG_CFG0_WRITE
                  : cfg1 ? UB_MGMT_MSG_CFG1_READ : UB_MGMT_MSG_CFG0_READ;
    unsigned len = 0;
    int status;

    ub_mgmt_put(pdu, UB_MF_CFG_ENTITY, entity);
    ub_mgmt_put(pdu, UB_MF_CFG_BYTE_EN, 0xf);
    ub_mgmt_put(pdu, UB_MF_CFG_ADDRESS, dw);
    ub_mgmt_put(pdu, UB_MF_CFG_DATA, write ? *value : 0);
    status = ub_fm_message(p->fm, node, id, pdu, sizeof(pdu), answer, &len);
    if (!status && !write) {
        if (len < 4) {
            return UB_MGMT_UNKNOWN;
        }
        *value = ub_mgmt_get(answer, UB_MF_CFG_DONE_DATA);
    }
    return status;
}

/* @n registers from @dw on, until one is refused. */
static int get(UbFmPool *p, unsigned node, unsigned entity, uint32_t dw,
               unsigned n, uint32_t *value)
{
    int status = 0;

    for (unsigned i = 0; i < n && !status; i++) {
        status = access_register(p, node, entity, dw + i, false, &value[i]);
    }
    return status;
}

static int put(UbFmPool *p, unsigned node, unsigned entity, uint32_t dw,
               unsigned n, const uint32_t *value)
{
    int status = 0;

    for (unsigned i = 0; i < n && !status; i++) {
        uint32_t v = value[i];

        status = access_register(p, node, entity, dw + i, true, &v);
    }
    return status;
}

int ub_fm_pool_look(UbFmPool *p, unsigned node, unsigned entity, UbFmEntity *e)
{
    uint32_t upi = 0, class_code = 0;
    int status;

    *e = (UbFmEntity) { 0 };
    if (node >= p->fm->nodes || entity >= p->fm->node[node].entities) {
        return UB_MGMT_NO_TARGET;
    }
    status = get(p, node, entity, UB_CFG0_GUID, 4, e->guid.w);
    status = status ?: get(p, node, entity, UB_CFG0_EID, 4, e->eid.w);
    status = status ?: get(p, node, entity, UB_CFG0_UEID, 4, e->ueid.w);
    status = status ?: get(p, node, entity, UB_CFG0_UCNA, 1, &e->ucna);
    status = status ?: get(p, node, entity, UB_CFG0_UPI, 1, &upi);
    status = status ?: get(p, node, entity, CFG1(UB_CFG1_CLASS_CODE), 1,
                           &class_code);
    e->upi = upi;
    e->class_code = class_code;
    return status;
}

/* ---- What is lent -------------------------------------------------------------------- */

typedef struct Claim {
    unsigned node, entity;
    UbFmEntity e;
} Claim;

typedef struct Claims {
    Claim *v;
    unsigned n, room;
} Claims;

static void add_claim(Claims *c, const Claim *one)
{
    if (c->n == c->room) {
        c->room = 2 * c->room + 16;
        c->v = realloc(c->v, c->room * sizeof(c->v[0]));
        if (!c->v) {
            abort();
        }
    }
    c->v[c->n++] = *one;
}

/* All Entities that have a UCNA; the caller frees @c->v.  Returns how many did not
 * say. */
static unsigned gather(UbFmPool *p, Claims *c)
{
    unsigned failed = 0;

    *c = (Claims) { 0 };
    for (unsigned node = 0; node < p->fm->nodes; node++) {
        for (unsigned i = 1; i < ub_fm_pool_entities(p->fm, node); i++) {
            Claim one = { node, i };
            uint32_t ucna = 0;
            int status = get(p, node, i, UB_CFG0_UCNA, 1, &ucna);

            if (!status && ucna) {
                status = ub_fm_pool_look(p, node, i, &one.e);
            }
            if (!status && one.e.ucna) {
                add_claim(c, &one);
            }
            if (status < 0) {
                /* Its others would only take as long. */
                failed += ub_fm_pool_entities(p->fm, node) - i;
                break;
            }
            failed += !!status;
        }
    }
    return failed;
}

/* UPI is written last and cleared first. */
static bool is_whole(const UbFmEntity *e)
{
    return e->upi && !ub_id_zero(e->eid);
}

/* Another Entity than this one is lent by this name. */
static bool has_rival(const Claims *c, unsigned node, unsigned entity, UbId eid)
{
    for (unsigned i = 0; i < c->n; i++) {
        const Claim *o = &c->v[i];

        if ((o->node != node || o->entity != entity) && is_whole(&o->e) &&
            ub_id_same(o->e.eid, eid)) {
            return true;
        }
    }
    return false;
}

/* ---- Taking back ---------------------------------------------------------------------- */

/* Out of its partition first, so that nobody reaches it any more; then reset; the
 * User's name last, so that what is interrupted here is taken up again. */
static int reclaim(UbFmPool *p, unsigned node, unsigned entity)
{
    static const uint32_t zero[4], one = 1;
    uint32_t done = 0;
    int status;

    status = put(p, node, entity, UB_CFG0_UPI, 1, zero);
    status = status ?: put(p, node, entity, CFG1(UB_CFG1_ELR), 1, &one);
    status = status ?: get(p, node, entity, CFG1(UB_CFG1_ELR_DONE), 1, &done);
    if (!status && !done) {
        status = UB_MGMT_EXECUTION;
    }
    status = status ?: put(p, node, entity, UB_CFG0_EID, 4, zero);
    status = status ?: put(p, node, entity, UB_CFG0_UEID, 4, zero);
    status = status ?: put(p, node, entity, UB_CFG0_UCNA, 1, zero);
    return step(p, "reclaim", status);
}

/* The User, by its CNA; UB_FM_NONE: it is not there any more. */
static int find_user(const UbFm *fm, uint32_t cna)
{
    for (unsigned i = 0; i < fm->nodes; i++) {
        if (fm->node[i].cna == cna) {
            return i;
        }
    }
    return UB_FM_NONE;
}

static int deregister(UbFmPool *p, const UbFmEntity *e, UbFmReason reason)
{
    uint8_t pdu[20] = { 0 }, answer[UB_MGMT_PDU_MAX];
    int user = find_user(p->fm, e->ucna);
    unsigned len = 0;
    int status = UB_FM_SILENT;

    ub_mgmt_put_id(pdu, UB_MF_DEREGISTER_EID, e->eid);
    ub_mgmt_put(pdu, UB_MF_DEREGISTER_REASON, reason);
    if (user >= 0) {
        status = ub_fm_message(p->fm, user, UB_MGMT_MSG_DEREGISTER, pdu, sizeof(pdu),
                               answer, &len);
    }
    /* It did not have it, or an answer was lost. */
    return step(p, "deregister", status == UB_MGMT_ABSENT ? 0 : status);
}

int ub_fm_pool_take_back(UbFmPool *p, unsigned node, unsigned entity,
                         UbFmReason reason)
{
    UbFmEntity e;
    int status = ub_fm_pool_look(p, node, entity, &e), said;

    if (status || !e.ucna) {
        return status ?: UB_MGMT_ABSENT;
    }
    said = deregister(p, &e, reason);
    status = reclaim(p, node, entity);
    return status ?: said;
}

/* ---- Lending ---------------------------------------------------------------------------- */

/* @asked: whether it came to the User at all, whose answer is returned then. */
static int register_with(UbFmPool *p, unsigned node, unsigned entity,
                         unsigned user, const UbFmEntity *e, bool *asked)
{
    uint8_t pdu[92] = { 0 }, answer[UB_MGMT_PDU_MAX];
    uint32_t size[SPACES], start[2 * SPACES];
    unsigned len = 0;
    int status;

    *asked = false;
    status = get(p, node, entity, CFG1(UB_CFG1_ERS0_SS), SPACES, size);
    status = status ?: get(p, node, entity, CFG1(UB_CFG1_ERS0_SA), 2 * SPACES,
                           start);
    if (status) {
        return status;
    }
    ub_mgmt_put(pdu, UB_MF_REGISTER_UPI, e->upi);
    ub_mgmt_put(pdu, UB_MF_REGISTER_ENTITY, entity);
    ub_mgmt_put_id(pdu, UB_MF_REGISTER_EID, e->eid);
    ub_mgmt_put_id(pdu, UB_MF_REGISTER_GUID, e->guid);
    ub_mgmt_put(pdu, UB_MF_REGISTER_CNA, p->fm->node[node].cna);
    ub_mgmt_put_id(pdu, UB_MF_REGISTER_UEID, e->ueid);
    for (unsigned i = 0; i < SPACES; i++) {
        ub_mgmt_put(pdu, UB_MF_REGISTER_SS0 + 3 * i, size[i]);
        ub_mgmt_put(pdu, UB_MF_REGISTER_SA0_LO + 3 * i, start[2 * i]);
        ub_mgmt_put(pdu, UB_MF_REGISTER_SA0_HI + 3 * i, start[2 * i + 1]);
    }
    *asked = true;
    status = ub_fm_message(p->fm, user, UB_MGMT_MSG_REGISTER, pdu, sizeof(pdu), answer,
                           &len);
    /* That it has it already is no failure by itself. */
    step(p, "register", status == UB_MGMT_EXISTS ? 0 : status);
    return status;
}

/* The User's name first: from there on the Entity is to be taken back. */
static int configure(UbFmPool *p, unsigned node, unsigned entity,
                     const UbFmEntity *e)
{
    uint32_t upi = e->upi;
    int status = put(p, node, entity, UB_CFG0_UCNA, 1, &e->ucna);

    status = status ?: put(p, node, entity, UB_CFG0_UEID, 4, e->ueid.w);
    status = status ?: put(p, node, entity, UB_CFG0_EID, 4, e->eid.w);
    status = status ?: put(p, node, entity, UB_CFG0_UPI, 1, &upi);
    return step(p, "configure", status);
}

/* With the EID and partition of @e, whose User it gets. */
static int lend_as(UbFmPool *p, unsigned node, unsigned entity, unsigned user,
                   const UbFmEntity *e)
{
    int status = configure(p, node, entity, e);
    bool asked = false;

    status = status ?: register_with(p, node, entity, user, e, &asked);
    if (status == UB_MGMT_EXISTS) {
        /* An answer was lost; or it never heard that one by this name was taken back:
         * its device is of before the reset, or of another Entity. */
        deregister(p, e, UB_FM_NORMAL);
        status = register_with(p, node, entity, user, e, &asked);
    }
    if (asked && status < 0) {
        /* It may have taken it, and only its answer was lost. */
        deregister(p, e, UB_FM_NORMAL);
    }
    if (status) {
        reclaim(p, node, entity);
    }
    return status;
}

/* The name that an Entity is lent by. */
static UbId lent_eid(const UbFmPool *p, unsigned node, unsigned entity)
{
    UbId eid = p->eid_prefix;

    eid.w[0] = (eid.w[0] & ~0xfffffu) | entity << 16 | p->fm->node[node].cna;
    return eid;
}

/* What forbids that the Entity is lent, or 0; it is read into @e. */
static int check_free(UbFmPool *p, unsigned node, unsigned entity,
                      UbFmEntity *e)
{
    int status = ub_fm_pool_look(p, node, entity, e);

    return status ? status : !entity ? UB_MGMT_NO_PERMISSION
           : e->ucna ? UB_MGMT_EXISTS : 0;
}

int ub_fm_pool_lend(UbFmPool *p, unsigned node, unsigned entity, unsigned user,
                    uint16_t upi)
{
    UbFm *fm = p->fm;
    UbFmEntity e;
    Claims c;
    bool taken;
    int status = check_free(p, node, entity, &e);

    if (status) {
        return status;
    }
    if (user >= fm->nodes || !fm->node[user].cna) {
        return UB_MGMT_NO_TARGET;
    }
    /* 0 is no partition, 7fff the UBFM's. */
    if (!upi || upi >= UB_MGMT_UPI || entity >= ENTITIES) {
        return UB_MGMT_BAD_PARAMETER;
    }
    e.upi = upi;
    e.ucna = fm->node[user].cna;
    e.ueid = fm->node[user].eid;
    e.eid = lent_eid(p, node, entity);
    /* What has replaced it has its name. */
    gather(p, &c);
    taken = has_rival(&c, node, entity, e.eid);
    free(c.v);
    return taken ? UB_MGMT_EXISTS : lend_as(p, node, entity, user, &e);
}

int ub_fm_pool_replace(UbFmPool *p, unsigned node, unsigned entity,
                       unsigned new_node, unsigned new_entity)
{
    UbFmEntity old, e;
    int status = ub_fm_pool_look(p, node, entity, &old), user;

    if (status || !old.ucna) {
        return status ?: UB_MGMT_ABSENT;
    }
    status = check_free(p, new_node, new_entity, &e);
    if (status) {
        return status;
    }
    user = find_user(p->fm, old.ucna);
    if (user < 0) {
        return UB_MGMT_NO_TARGET;
    }
    deregister(p, &old, UB_FM_DEVICE_ERROR);
    /* The old one may be beyond answering; its EID is not used twice by then. */
    reclaim(p, node, entity);
    old.guid = e.guid;
    return lend_as(p, new_node, new_entity, user, &old);
}

/* ---- Nodes that leave ------------------------------------------------------------------- */

static unsigned release_claims(UbFmPool *p, const bool *leaves)
{
    unsigned failed;
    Claims all;

    failed = gather(p, &all);
    for (unsigned i = 0; i < all.n; i++) {
        const Claim *c = &all.v[i];
        int user = find_user(p->fm, c->e.ucna);

        if (leaves[c->node] || (user >= 0 && leaves[user])) {
            failed += !!ub_fm_pool_take_back(p, c->node, c->entity,
                                             UB_FM_NORMAL);
        }
    }
    free(all.v);
    return failed;
}

/* A node that is gone does not say whose its Entities were: everybody is asked to let
 * go of them. */
static void tell_loss(UbFmPool *p, const bool *leaves, unsigned node)
{
    for (unsigned i = 1; i < ub_fm_pool_entities(p->fm, node); i++) {
        UbFmEntity e = { .eid = lent_eid(p, node, i) };

        for (unsigned user = 0; user < p->fm->nodes; user++) {
            const UbFmNode *n = &p->fm->node[user];

            if (!leaves[user] && n->reached && !n->forwards) {
                e.ucna = n->cna;
                deregister(p, &e, UB_FM_LINK_ERROR);
            }
        }
    }
}

/* What those who are gone had on loan is nobody's. */
static unsigned reclaim_from(UbFmPool *p, const bool *leaves, unsigned node)
{
    unsigned failed = 0;

    for (unsigned i = 1; i < ub_fm_pool_entities(p->fm, node); i++) {
        uint32_t ucna = 0;
        int status = get(p, node, i, UB_CFG0_UCNA, 1, &ucna);
        int user = ucna ? find_user(p->fm, ucna) : UB_FM_NONE;

        if (!status && user >= 0 && leaves[user]) {
            status = reclaim(p, node, i);
        }
        failed += !!status;
    }
    return failed;
}

unsigned ub_fm_pool_release(UbFmPool *p, const bool *leaves, bool gone)
{
    unsigned failed = 0;

    if (!gone) {
        return release_claims(p, leaves);
    }
    for (unsigned node = 0; node < p->fm->nodes; node++) {
        if (leaves[node]) {
            tell_loss(p, leaves, node);
        } else {
            failed += reclaim_from(p, leaves, node);
        }
    }
    return failed;
}

/* ---- After an end in the middle -------------------------------------------------------- */

/* Whether the User has it.  @lost: it is to be taken from it; else 0, or why it is
 * not known. */
static int hear_user(UbFmPool *p, const Claim *c, int user, bool *lost)
{
    bool asked;
    int status;

    if (user < 0) {
        /* Somebody who is linked and does not say who it is may be the User. */
        *lost = !p->fm->unanswered;
        return *lost ? 0 : step(p, "recover", UB_FM_SILENT);
    }
    status = register_with(p, c->node, c->entity, user, &c->e, &asked);
    if (status == UB_MGMT_EXISTS) {
        status = 0;
    }
    /* One that is silent may be stopped for a while; a lender whose registers are
     * not to be read says nothing of its User. */
    *lost = asked && status > 0;
    return *lost ? 0 : status;
}

/* Take it from its User. */
static int give_up(UbFmPool *p, const Claims *all, const Claim *c, int user)
{
    /* By that name the User may have another one. */
    if (!has_rival(all, c->node, c->entity, c->e.eid)) {
        deregister(p, &c->e, user < 0 ? UB_FM_LINK_ERROR : UB_FM_NORMAL);
    }
    return reclaim(p, c->node, c->entity);
}

static int recover(UbFmPool *p, const Claims *all, const Claim *c, bool *lent)
{
    int user = find_user(p->fm, c->e.ucna), status = 0;
    bool lost = true;

    *lent = is_whole(&c->e);
    if (*lent && has_rival(all, c->node, c->entity, c->e.eid)) {
        return step(p, "conflict", UB_MGMT_EXISTS);
    }
    if (*lent) {
        status = hear_user(p, c, user, &lost);
    }
    *lent = !lost;
    return lost ? give_up(p, all, c, user) : status;
}

int ub_fm_pool_recover(UbFmPool *p, unsigned node, unsigned entity, bool *lent)
{
    Claim own = { node, entity };
    Claims all;
    int status = ub_fm_pool_look(p, node, entity, &own.e);

    *lent = false;
    if (status || !own.e.ucna) {
        return status;
    }
    gather(p, &all);
    status = recover(p, &all, &own, lent);
    free(all.v);
    return status;
}

unsigned ub_fm_pool_entities(const UbFm *fm, unsigned node)
{
    const UbFmNode *n = &fm->node[node];

    return n->entities < ENTITIES ? n->entities : ENTITIES;
}

unsigned ub_fm_pool_recover_all(UbFmPool *p, unsigned *reclaimed)
{
    Claims all;
    unsigned failed = gather(p, &all);
    bool lent;

    *reclaimed = 0;
    for (unsigned i = 0; i < all.n; i++) {
        int status = recover(p, &all, &all.v[i], &lent);

        *reclaimed += !status && !lent;
        failed += !!status;
    }
    free(all.v);
    return failed;
}
