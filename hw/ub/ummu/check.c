/*
 * The UMMU: the decisions on an access, in the order of UB 2.0 §9.4.1.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "internal.h"

#define ALL_KINDS ((1 << UB_UMMU_KINDS) - 1)

static const char *const texts[UMMU_WHYS] = {
#define TEXT(n, id, text) [n] = text,
    UBM_WHYS(TEXT)
#undef TEXT
};

/* What follows from a decision: the answer to the peer, and the event, 0: none. */
static const struct {
    uint8_t result, code;
} rules[UMMU_WHYS] = {
    [UBM_WHY_TECTE_INVALID] = { UB_UMMU_UNSUPPORTED, UBM_EVT_BAD_TECTE },
    [UBM_WHY_ST_MODE] = { UB_UMMU_UNSUPPORTED, 0 },
    [UBM_WHY_STAGE] = { UB_UMMU_UNSUPPORTED, UBM_EVT_BAD_TECTE },
    [UBM_WHY_TCT_NUM] = { UB_UMMU_UNSUPPORTED, UBM_EVT_BAD_TOKEN },
    [UBM_WHY_TOKEN_ID] = { UB_UMMU_UNSUPPORTED, UBM_EVT_BAD_TOKEN },
    [UBM_WHY_L1_TCTE] = { UB_UMMU_UNSUPPORTED, UBM_EVT_BAD_TOKEN },
    [UBM_WHY_TCTE_INVALID] = { UB_UMMU_UNSUPPORTED, UBM_EVT_BAD_TCTE },
    [UBM_WHY_FBS] = { UB_UMMU_UNSUPPORTED, UBM_EVT_BAD_TCTE },
    [UBM_WHY_MAPT_BASE] = { UB_UMMU_UNSUPPORTED, UBM_EVT_MAPT_CONFIG },
    [UBM_WHY_E_TCTE] = { UB_UMMU_UNSUPPORTED, UBM_EVT_E_BIT },
    [UBM_WHY_MATTWD] = { UB_UMMU_ABORT, UBM_EVT_TRANSLATION },
    [UBM_WHY_SIZE] = { UB_UMMU_ABORT, UBM_EVT_SIZE },
    [UBM_WHY_ACCESS_FLAG] = { UB_UMMU_ABORT, UBM_EVT_ACCESS_FLAG },
    [UBM_WHY_TRANSLATION] = { UB_UMMU_ABORT, UBM_EVT_TRANSLATION },
    [UBM_WHY_PERMISSION] = { UB_UMMU_UNSUPPORTED, UBM_EVT_PERMISSION },
    [UBM_WHY_MAPTE_INVALID] = { UB_UMMU_UNSUPPORTED, UBM_EVT_MAPT },
    [UBM_WHY_RANGE] = { UB_UMMU_UNSUPPORTED, UBM_EVT_MAPT },
    [UBM_WHY_TOKEN_VALUE] = { UB_UMMU_UNSUPPORTED, UBM_EVT_MAPT },
    [UBM_WHY_E_MAPTE] = { UB_UMMU_UNSUPPORTED, UBM_EVT_E_BIT },
    [UBM_WHY_RIGHT] = { UB_UMMU_UNSUPPORTED, UBM_EVT_MAPT },
    [UBM_WHY_ABORT] = { UB_UMMU_UNSUPPORTED, 0 },
    [UBM_WHY_EE] = { UB_UMMU_UNSUPPORTED, UBM_EVT_TYPE },
    [UBM_WHY_EID] = { UB_UMMU_UNSUPPORTED, UBM_EVT_BAD_EID },
    [UBM_WHY_TECT_FETCH] = { UB_UMMU_ABORT, UBM_EVT_TECT_FETCH },
    [UBM_WHY_TECTE_FIELD] = { UB_UMMU_UNSUPPORTED, UBM_EVT_BAD_TECTE },
    [UBM_WHY_TCT_FETCH] = { UB_UMMU_ABORT, UBM_EVT_TCT_FETCH },
    [UBM_WHY_TCTE_FIELD] = { UB_UMMU_UNSUPPORTED, UBM_EVT_BAD_TCTE },
    [UBM_WHY_MAPT_OFF] = { UB_UMMU_UNSUPPORTED, UBM_EVT_MAPT_CONFIG },
    [UBM_WHY_MAPT_FIELD] = { UB_UMMU_UNSUPPORTED, UBM_EVT_MAPT_CONFIG },
    [UBM_WHY_WALK] = { UB_UMMU_ABORT, UBM_EVT_WALK },
    [UBM_WHY_MAPT_WALK] = { UB_UMMU_ABORT, UBM_EVT_MAPT_WALK },
    [UBM_WHY_MAPT_BLOCK] = { UB_UMMU_UNSUPPORTED, UBM_EVT_MAPT_CONFIG },
    [UBM_WHY_TEE_MEMORY] = { UB_UMMU_UNSUPPORTED, UBM_EVT_PERMISSION },
    [UBM_WHY_PIECES] = { UB_UMMU_UNSUPPORTED, UBM_EVT_MAPT },
    [UBM_WHY_STALL_ABORT] = { UB_UMMU_ABORT, 0 },
};

const char *ub_ummu_why(unsigned why)
{
    return why < UMMU_WHYS ? texts[why] : NULL;
}

uint64_t ub_ummu_refused(const UbUmmu *u, unsigned why)
{
    return why < UMMU_WHYS ? u->refused[why] : 0;
}

/* ---- Refusals -------------------------------------------------------------------------- */

/* Faults, whose answer software chooses (FBS, FBR). */
static UbUmmuResult answer_fault(UmmuLook *k)
{
    const UmmuStage *s = k->s2 ? &k->c->s2 : &k->c->s1;
    UbUmmuResult r = UB_UMMU_LATER;
    bool untold = false;
    int stag = -1;

    if (s->stall && !k->a->local) {
        if (!k->quiet) {
            r = ummu_stall(k, &stag);
        }
        untold = stag >= 0 && !ummu_event(k, rules[k->why].code, stag);
        if (r != UB_UMMU_FAULT && !untold) {
            return r;
        }
    }
    /* Who waits for software that was not told waits for ever. */
    if (untold) {
        ummu_stall_undo(k->u, stag);
    } else if (s->record && !k->quiet) {
        ummu_event(k, rules[k->why].code, -1);
    }
    if (s->fault && !k->a->local) {
        k->a->timer = k->u->pf_timer;
        return UB_UMMU_FAULT;
    }
    return UB_UMMU_ABORT;
}

static bool is_fault(unsigned why)
{
    return why == UBM_WHY_ACCESS_FLAG || why == UBM_WHY_TRANSLATION;
}

static UbUmmuResult answer_refusal(UmmuLook *k)
{
    UbUmmu *u = k->u;
    unsigned why = k->why;
    UbUmmuResult r;

    if (is_fault(why)) {
        r = answer_fault(k);
    } else {
        r = rules[why].result;
        if (!k->quiet && rules[why].code &&
            (why != UBM_WHY_EID || u->kept[UMMU_KEPT_CR1] & UBM_CR1_BAD_EID)) {
            ummu_event(k, rules[why].code, -1);
        }
    }
    k->a->why = why;
    k->a->s2 = k->s2;
    if (!k->quiet) {
        u->refused[why]++;
        u->counter[r == UB_UMMU_FAULT || r == UB_UMMU_LATER
                   ? UB_UMMU_CNT_FAULTS : UB_UMMU_CNT_REFUSED]++;
    }
    return r;
}

/* ---- Decisions --------------------------------------------------------------------------- */

static bool tables_find(UmmuLook *k)
{
    UbUmmu *u = k->u;
    unsigned ee = k->a->local ? UMMU_EE_NORMAL : k->a->ee;

    if (!(u->cr0 & UBM_CR0_ENABLE)) {
        return ummu_refuse(k, UBM_WHY_ABORT);
    }
    k->tee = ee == UMMU_EE_TEE;
    if (k->tee ? !(u->tect[1].cfg & UBM_TEE_CFG_ENABLE) : ee != UMMU_EE_NORMAL) {
        return ummu_refuse(k, UBM_WHY_EE);
    }
    return true;
}

static bool context_allows(UmmuLook *k)
{
    if (k->a->local) {
        return true;
    }
    if (k->c->mapt_why) {
        return ummu_refuse(k, k->c->mapt_why);
    }
    return !k->c->e_bit || k->a->e_bit || ummu_refuse(k, UBM_WHY_E_TCTE);
}

/* As the walk would refuse: stage 1 first. */
static bool tlb_allows(UmmuLook *k, const UmmuTlb *t)
{
    static const uint8_t needs[] = {
        [UB_UMMU_READ] = UMMU_MAY_READ,
        [UB_UMMU_WRITE] = UMMU_MAY_WRITE,
        [UB_UMMU_ATOMIC] = UMMU_MAY_ALL,
    };
    unsigned missing = needs[k->a->kind] & ~(t->one & t->two);

    if (!missing) {
        return true;
    }
    k->s2 = !(needs[k->a->kind] & ~t->one);
    k->step = UMMU_STEP_ADDRESS;
    k->ipa = k->s2 ? t->ipa : 0;
    k->fetch = 0;               /* no table was read */
    return ummu_refuse(k, UBM_WHY_PERMISSION);
}

static bool tee_good(UmmuLook *k, uint64_t pa)
{
    UbUmmu *u = k->u;
    bool inside = pa - u->tee_mem < u->tee_size && pa >= u->tee_mem;

    return inside == k->tee || ummu_refuse(k, UBM_WHY_TEE_MEMORY);
}

/* Kinds of access that a translation lets happen without another walk. */
static uint8_t kinds_of(const UmmuTlb *t)
{
    unsigned may = t->one & t->two;

    return (may & UMMU_MAY_READ ? 1 << UB_UMMU_READ : 0) |
           (may & UMMU_MAY_WRITE && !t->clean ? 1 << UB_UMMU_WRITE : 0) |
           (may == UMMU_MAY_ALL && !t->clean ? 1 << UB_UMMU_ATOMIC : 0);
}

static bool tlb_use(UmmuLook *k, const UmmuTlb *t, UmmuPiece *p)
{
    p->pa = t->out + k->pos % UMMU_PAGE;
    p->kinds = kinds_of(t);
    p->tlb = true;
    return tee_good(k, p->pa);
}

/* Decisions 11 to 15. */
static bool translate(UmmuLook *k, UmmuPiece *p)
{
    UbUmmu *u = k->u;
    const UmmuContext *c = k->c;
    uint64_t page = k->pos >> UMMU_PAGE_BITS;
    UmmuTlb *t = ummu_tlb_slot(u, c->token_id, page), found;

    if (c->bypass) {
        p->pa = k->pos;
        p->kinds = ALL_KINDS;
        return tee_good(k, p->pa);
    }
    if (!k->fresh && ummu_tlb_is(u, t, c, page) &&
        !(t->clean && k->a->kind != UB_UMMU_READ)) {
        u->counter[UB_UMMU_CNT_TLB_HITS] += !k->quiet;
        return tlb_allows(k, t) && tlb_use(k, t, p);
    }
    if (c->walk_off) {
        return ummu_refuse(k, UBM_WHY_MATTWD);
    }
    u->counter[UB_UMMU_CNT_TLB_MISSES] += !k->quiet;
    if (!ummu_walk(k, c, &found)) {
        return false;
    }
    if (!k->quiet) {
        ummu_evict(u, t->epoch == u->epoch_tlb);
        *t = found;
    }
    return tlb_use(k, &found, p);
}

static bool token_good(const UmmuGrant *g, const UbUmmuAccess *a)
{
    return !g->check || ummu_token_is(g->token, a);
}

static bool grant_find(UmmuLook *k, UmmuGrant *g)
{
    UbUmmu *u = k->u;
    const UmmuContext *c = k->c;
    uint64_t page = k->pos >> UMMU_PAGE_BITS;
    UmmuPlb *p = ummu_plb_slot(u, c->token_id, page);

    if (!k->fresh && ummu_plb_is(u, p, c, page) && k->pos >= p->grant.lo &&
        k->pos <= p->grant.hi) {
        if (!u->cfg.positive || token_good(&p->grant, k->a)) {
            u->counter[UB_UMMU_CNT_PLB_HITS] += !k->quiet;
            *g = p->grant;
            return true;
        }
        ummu_evict(u, !k->quiet);
        p->epoch *= k->quiet;
    }
    u->counter[UB_UMMU_CNT_PLB_MISSES] += !k->quiet;
    if (!ummu_mapt_find(k, g)) {
        return false;
    }
    if (!k->quiet) {
        ummu_evict(u, p->epoch == u->epoch_plb);
        *p = (UmmuPlb){
            .epoch = u->epoch_plb,
            .page = page,
            .token_id = c->token_id,
            .tag = c->tag,
            .tee = c->tee,
            .grant = *g,
        };
    }
    return true;
}

/* Decisions 16 to 20; of addresses in the grant all of them are true. */
static bool permit(UmmuLook *k, UmmuPiece *p)
{
    const UbUmmuAccess *a = k->a;
    UmmuGrant *g = &p->grant;

    if (!k->c->mapt || a->local) {
        *g = (UmmuGrant){ .hi = UINT64_MAX, .rights = ALL_KINDS };
        return true;
    }
    p->plb = true;
    if (!grant_find(k, g)) {
        return false;
    }
    if (!token_good(g, a)) {
        return ummu_refuse(k, UBM_WHY_TOKEN_VALUE);
    }
    if (g->e_bit && !a->e_bit) {
        return ummu_refuse(k, UBM_WHY_E_MAPTE);
    }
    return g->rights & 1 << a->kind || ummu_refuse(k, UBM_WHY_RIGHT);
}

/* ---- Pieces ------------------------------------------------------------------------------ */

static bool pieces(UmmuLook *k, UmmuSpans *s)
{
    uint32_t left = k->a->len;

    for (unsigned i = 0; left; i++) {
        uint32_t len = MIN(left, UMMU_PAGE - k->pos % UMMU_PAGE);
        UmmuPiece p = { 0 };

        if (i == UMMU_PIECES) {
            return ummu_refuse(k, UBM_WHY_PIECES);
        }
        if (!translate(k, &p) || !permit(k, &p)) {
            return false;
        }
        if (!k->quiet) {
            ummu_line_put(k, &p, k->pos);
        }
        if (p.grant.hi - k->pos < len) {
            len = p.grant.hi - k->pos + 1;
        }
        if (!ummu_span_add(s, p.pa, len)) {
            return ummu_refuse(k, UBM_WHY_PIECES);
        }
        k->pos += len;
        left -= len;
    }
    return true;
}

/* Decision by decision. */
static UbUmmuResult look(UbUmmu *u, UbUmmuAccess *a, UmmuSpans *s, bool quiet)
{
    UmmuLook k;

    memset(&k, 0, offsetof(UmmuLook, own));
    k.u = u;
    k.a = a;
    k.quiet = quiet;
    k.fresh = quiet && !u->cfg.strict;
    k.pos = a->addr;
    s->n = 0;
    if (!tables_find(&k) || !ummu_map_find(&k) || !ummu_context(&k) ||
        !context_allows(&k) || !pieces(&k, s)) {
        s->n = 0;
        return answer_refusal(&k);
    }
    if (!quiet) {
        ummu_count(u, a, k.c->mtm);
    }
    return UB_UMMU_OK;
}

UbUmmuResult ub_ummu_access(UbUmmu *u, UbUmmuAccess *a, UbUmmuSpan *out,
                            unsigned max, unsigned *n)
{
    UmmuSpans s = { out, max, 0 };
    UbUmmuResult r = UB_UMMU_OK;

    a->why = UBM_WHY_NONE;
    a->s2 = false;
    /* Nothing is checked of no bytes (§7.2.5). */
    if (a->len && !ummu_hit(u, a, &s)) {
        r = look(u, a, &s, false);
    }
    *n = s.n;
    return r;
}

UbUmmuResult ub_ummu_probe(UbUmmu *u, UbUmmuAccess *a, UbUmmuSpan *out,
                           unsigned max, unsigned *n)
{
    UmmuSpans s = { out, max, 0 };
    UbUmmuResult r;

    a->why = UBM_WHY_NONE;
    a->s2 = false;
    r = a->len ? look(u, a, &s, true) : UB_UMMU_OK;
    *n = s.n;
    return r;
}
