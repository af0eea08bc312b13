/*
 * The UMMU: configuration and context tables, TECT and TCT (UB 2.0 §9.4.2).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "internal.h"

enum { ST_BYPASS = 4, ST_ENABLE = 4, ST_S1 = 1, ST_S2 = 2 };

#define TECTE_WORDS (UBM_TECTE / 8)
#define TCTE_WORDS (UBM_TCTE / 8)
#define L2_BITS 6               /* 64 TCTEs of a second level */
#define L2_BITS_LENIENT 10

static bool words_read(UmmuLook *k, uint64_t at, uint64_t *q, unsigned n,
                       unsigned why)
{
    uint8_t raw[UBM_TECTE];

    k->fetch = at;
    if (!ummu_fetch(k, at, raw, n * 8)) {
        return ummu_refuse(k, why);
    }
    for (unsigned i = 0; i < n; i++) {
        q[i] = get_le64(raw + 8 * i);
    }
    return true;
}

/* ---- TECT ------------------------------------------------------------------------------ */

static bool tecte_read(UmmuLook *k, uint64_t *q)
{
    const UmmuTect *t = &k->u->tect[k->tee];
    uint64_t at = t->base & UBM_MASK(51, 6), desc;
    unsigned log2 = ummu_get(t->cfg, UBM_TECT_LOG2);
    unsigned split = ummu_get(t->cfg, UBM_TECT_SPLIT);
    uint32_t index = k->tag;

    if (k->tag >> log2) {
        return ummu_refuse(k, UBM_WHY_EID);
    }
    if (ummu_get(t->cfg, UBM_TECT_FMT)) {
        if (!words_read(k, at + 8 * (uint64_t)(k->tag >> split), &desc, 1,
                        UBM_WHY_TECT_FETCH)) {
            return false;
        }
        index = k->tag & ((1u << split) - 1);
        if (!(desc & UBM_TECT_L1_V)) {
            return ummu_refuse(k, UBM_WHY_TECTE_INVALID);
        }
        if (index >> ummu_get(desc, UBM_TECT_L1_NUM)) {
            return ummu_refuse(k, UBM_WHY_EID);
        }
        at = desc & UBM_TECT_L1_PTR;
    }
    return words_read(k, at + (uint64_t)index * UBM_TECTE, q, TECTE_WORDS,
                      UBM_WHY_TECT_FETCH);
}

/* {HDF, HAF}: dirty without access flag does not exist. */
static bool flags_set(UmmuStage *s, bool hdf, bool haf)
{
    s->hdf = hdf;
    s->haf = haf;
    return haf || !hdf;
}

static bool tecte_stage2(UmmuContext *c, const uint64_t *q)
{
    UmmuStage *s = &c->s2;
    unsigned pas = ummu_get(q[2], UBM_TECTE_S2_PAS);

    s->root = q[3] & UBM_TECTE_S2_MATT;
    s->out_bits = pas ? 48 : 32;
    s->big = q[2] & UBM_TECTE_S2_ENDI;
    s->affd = q[2] & UBM_TECTE_S2_AFFD;
    s->stall = q[2] & UBM_TECTE_S2_FBS;
    s->record = q[2] & UBM_TECTE_S2_FBR;
    s->fault = q[2] & UBM_TECTE_S2_PF;
    return (pas == 0 || pas == 5) &&
           flags_set(s, q[2] & UBM_TECTE_S2_HDF, q[2] & UBM_TECTE_S2_HAF) &&
           ummu_stage2_set(s, ummu_get(q[2], UBM_TECTE_S2_TSZ),
                           ummu_get(q[2], UBM_TECTE_S2_TG),
                           ummu_get(q[2], UBM_TECTE_S2_SL));
}

/* What stage 1's tables have as addresses: so many bits. */
static unsigned table_bits(const UmmuContext *c)
{
    return c->has_s2 ? c->s2.in_bits : UMMU_PA_BITS;
}

static unsigned l2_bits(const UbUmmu *u, unsigned fmt)
{
    return fmt == 1 ? L2_BITS :
           fmt == 2 && u->cfg.lenient ? L2_BITS_LENIENT : 0;
}

static bool tecte_use(UmmuLook *k, UmmuContext *c, const uint64_t *q)
{
    unsigned mode = ummu_get(q[0], UBM_TECTE_ST_MODE);
    unsigned fmt = ummu_get(q[1], UBM_TECTE_TCT_FMT);

    if (!(q[0] & UBM_TECTE_V)) {
        return ummu_refuse(k, UBM_WHY_TECTE_INVALID);
    }
    if (mode == ST_BYPASS && k->u->cfg.lenient) {
        c->bypass = true;
        return true;
    }
    if (mode <= ST_ENABLE) {
        return ummu_refuse(k, UBM_WHY_ST_MODE);
    }
    c->has_s1 = mode & ST_S1;
    c->has_s2 = mode & ST_S2;
    if (c->has_s2 && !k->u->cfg.stage2) {
        return ummu_refuse(k, UBM_WHY_STAGE);
    }
    c->privileged = ummu_get(q[0], UBM_TECTE_PRIV_SEL) == 3;
    c->merge = q[0] & UBM_TECTE_EM_EN;
    c->vmid = ummu_get(q[0], UBM_TECTE_S2_VMID);
    c->mtm = ummu_get(q[6], UBM_TECTE_MTM_ID);
    if ((c->has_s2 && !tecte_stage2(c, q)) ||
        (c->has_s1 && ((fmt && !l2_bits(k->u, fmt)) ||
                       (q[1] & UBM_TECTE_TCT_PTR) >> table_bits(c)))) {
        return ummu_refuse(k, UBM_WHY_TECTE_FIELD);
    }
    return true;
}

/* ---- TCT ------------------------------------------------------------------------------- */

/* Read @n words at an address of the context tables. */
static bool tct_read(UmmuLook *k, const UmmuContext *c, uint64_t at,
                     uint64_t *q, unsigned n)
{
    if (c->has_s2 && !ummu_stage2(k, c, at, UMMU_STEP_TCT, false, &at)) {
        return false;
    }
    return words_read(k, at, q, n, UBM_WHY_TCT_FETCH);
}

static bool tcte_read(UmmuLook *k, const UmmuContext *c, const uint64_t *tecte,
                      uint64_t *q)
{
    uint64_t at = tecte[1] & UBM_TECTE_TCT_PTR, desc;
    unsigned num = ummu_get(tecte[1], UBM_TECTE_TCT_NUM);
    unsigned low = l2_bits(k->u, ummu_get(tecte[1], UBM_TECTE_TCT_FMT));
    uint32_t index = c->token_id;

    if (!num) {
        return ummu_refuse(k, UBM_WHY_TCT_NUM);
    }
    if (num > UBM_TECTE_TCT_NUM_MAX) {
        return ummu_refuse(k, UBM_WHY_TECTE_FIELD);
    }
    if (c->token_id >> num) {
        return ummu_refuse(k, UBM_WHY_TOKEN_ID);
    }
    if (low) {
        if (!tct_read(k, c, at + 8 * (uint64_t)(index >> low), &desc, 1)) {
            return false;
        }
        if (!(desc & UBM_TCT_L1_V)) {
            return ummu_refuse(k, UBM_WHY_L1_TCTE);
        }
        at = desc & UBM_TCT_L1_PTR;
        if (at >> table_bits(c)) {
            return ummu_refuse(k, UBM_WHY_TCTE_FIELD);
        }
        index &= (1u << low) - 1;
    }
    return tct_read(k, c, at + (uint64_t)index * UBM_TCTE, q, TCTE_WORDS);
}

/* The permission table; what is wrong with it, or UBM_WHY_NONE. */
static unsigned tcte_mapt(const UbUmmu *u, UmmuContext *c, const uint64_t *q)
{
    unsigned rtgs = ummu_get(q[0], UBM_TCTE_RTGS);
    unsigned size = ummu_get(q[3], UBM_TCTE_MAPT_BB_SZ);

    c->multi = q[0] & UBM_TCTE_MAPT_MODE;
    c->base = q[3] & UBM_TCTE_MAPT_BBA;
    c->block_table = q[4] & UBM_TCTE_MAPT_BTA;
    if (c->base >> c->s1.out_bits ||
        (c->multi && c->block_table >> c->s1.out_bits)) {
        return UBM_WHY_MAPT_BASE;
    }
    if (!(u->cr0 & UBM_CR0_MAPT)) {
        return UBM_WHY_MAPT_OFF;
    }
    if (c->multi && (size > 9 || rtgs == 0 || rtgs == 3)) {
        return UBM_WHY_MAPT_FIELD;
    }
    c->last = rtgs == 1 ? 3 : 2;
    c->block_size = UMMU_PAGE << MIN(size, 9);
    c->table_entries = (UMMU_PAGE / 8)
                       << ummu_get(q[4], UBM_TCTE_MAPT_BT_SZ);
    return UBM_WHY_NONE;
}

static bool tcte_use(UmmuLook *k, UmmuContext *c, const uint64_t *tecte,
                     const uint64_t *q)
{
    static const uint8_t gpas[] = { 32, 36, 40, 42, 44, 48, 0, 0 };
    unsigned bits = gpas[ummu_get(q[0], UBM_TCTE_GPAS)];
    bool stall_good = !!(tecte[1] & UBM_TECTE_TCT_STALL_EN) ^
                      k->u->cfg.lenient;
    UmmuStage *s = &c->s1;

    if (!(q[0] & UBM_TCTE_V)) {
        return ummu_refuse(k, UBM_WHY_TCTE_INVALID);
    }
    if (q[0] & UBM_TCTE_FBS && !stall_good) {
        return ummu_refuse(k, UBM_WHY_FBS);
    }
    s->root = q[2] & UBM_TCTE_MATTBA;
    s->out_bits = bits;
    s->big = c->big = q[0] & UBM_TCTE_ENDI;
    s->affd = q[0] & UBM_TCTE_AFFD;
    s->stall = q[0] & UBM_TCTE_FBS;
    s->record = q[0] & UBM_TCTE_FBR;
    s->fault = q[0] & UBM_TCTE_PF;
    c->walk_off = q[1] & UBM_TCTE_MATTWD;
    c->e_bit = q[0] & UBM_TCTE_E_BIT;
    if (tecte[1] & UBM_TECTE_TCT_MTM_EN) {
        c->mtm = ummu_get(q[1], UBM_TCTE_MTM_ID);
    }
    if (!bits || q[0] & UBM_TCTE_MAC_EN ||
        !flags_set(s, q[0] & UBM_TCTE_HDF, q[0] & UBM_TCTE_HAF) ||
        (!c->walk_off && !ummu_stage1_set(s, ummu_get(q[1], UBM_TCTE_SZ),
                                          ummu_get(q[1], UBM_TCTE_TGS)))) {
        return ummu_refuse(k, UBM_WHY_TCTE_FIELD);
    }
    c->mapt = tecte[0] & UBM_TECTE_MAPT_EN && q[0] & UBM_TCTE_MAPT_EN;
    c->mapt_why = c->mapt ? tcte_mapt(k->u, c, q) : UBM_WHY_NONE;
    return true;
}

bool ummu_context(UmmuLook *k)
{
    UbUmmu *u = k->u;
    uint32_t token_id = k->a->token_id & 0xfffff;
    UmmuContext *slot = ummu_context_slot(u, k->tee, k->tag, token_id);
    uint64_t tecte[TECTE_WORDS], tcte[TCTE_WORDS];

    if (!k->fresh && ummu_context_is(u, slot, k->tee, k->tag, token_id)) {
        k->c = slot;
        return true;
    }
    u->counter[UB_UMMU_CNT_CONTEXT_MISSES] += !k->quiet;
    k->own = (UmmuContext){ .token_id = token_id, .tag = k->tag, .tee = k->tee };
    k->c = &k->own;
    if (!tecte_read(k, tecte) || !tecte_use(k, &k->own, tecte)) {
        return false;
    }
    if (k->own.has_s1 &&
        (!tcte_read(k, &k->own, tecte, tcte) ||
         !tcte_use(k, &k->own, tecte, tcte))) {
        return false;
    }
    if (!k->quiet) {
        ummu_evict(u, slot->epoch == u->epoch_context);
        *slot = k->own;
        slot->epoch = u->epoch_context;
        k->c = slot;
    }
    return true;
}
