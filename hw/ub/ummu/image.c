/*
 * The UMMU: migration.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "internal.h"

#define UMMU_VERSION 2
#define OTHER "the source of the migration has another "

static void ring_image(CoreImage *im, UmmuRing *r)
{
    core_image_int(im, &r->base);
    core_image_int(im, &r->prod);
    core_image_int(im, &r->cons);
}

static void regs_image(UbUmmu *u, CoreImage *im)
{
    core_image_int(im, &u->cr0);
    core_image_int(im, &u->gbpa);
    for (unsigned i = 0; i < UMMU_KEPT; i++) {
        core_image_int(im, &u->kept[i]);
    }
    for (unsigned i = 0; i < 2; i++) {
        core_image_int(im, &u->tect[i].base);
        core_image_int(im, &u->tect[i].cfg);
        if (!core_image_check(im, ummu_tect_good(u->tect[i].cfg),
                              "UMMU configuration table of a size or format "
                              "that does not exist")) {
            u->tect[i].cfg = 0;
        }
    }
    core_image_int(im, &u->irq_enable);
    core_image_int(im, &u->gerror);
    core_image_int(im, &u->gerrorn);
    core_image_int(im, &u->evtq_vector);
    core_image_int(im, &u->gerr_vector);
    core_image_int(im, &u->fallback);
    core_image_int(im, &u->pf_timer);
    core_image_int(im, &u->tee_mem);
    core_image_int(im, &u->tee_size);
    core_image_int(im, &u->user_ctx);
    core_image_int(im, &u->release_id);
    core_image_int(im, &u->lost);
    core_image_int(im, &u->merged);
    core_image_check(im, u->evtq_vector < u->cfg.vectors &&
                     u->gerr_vector < u->cfg.vectors,
                     "UMMU interrupt with a vector beyond the table");
    core_image_check(im, u->pf_timer <= 19, "Page Fault timer out of range");
}

static void rings_image(UbUmmu *u, CoreImage *im)
{
    ring_image(im, &u->evtq);
    core_image_check(im, !(u->cr0 & UBM_CR0_EVTQ) ||
                     (u->evtq.base & 0x1f) <= UBM_EVTQ_LOG2_MAX,
                     "UMMU event queue of a size that does not exist");
    for (unsigned i = 0; i < UBM_CMDQS; i++) {
        UmmuRing *q = &u->cmdq[i];

        ring_image(im, q);
        core_image_check(im, !(q->prod & UBM_Q_ENABLE) ||
                         (q->base & 0x1f) <= UBM_CMDQ_LOG2_MAX,
                         "UMMU command queue of a size that does not exist");
    }
    for (unsigned i = 0; i < UBM_UQS; i++) {
        UmmuUserQueue *q = &u->user[i];

        core_image_int(im, &q->cmd_pi);
        core_image_int(im, &q->cmd_ci);
        core_image_int(im, &q->cpl_pi);
        core_image_int(im, &q->cpl_ci);
        core_image_flag(im, &q->ringing);
    }
}

static void map_save(UbUmmu *u, CoreImage *im)
{
    GHashTableIter it;
    gpointer eid, tag;

    g_hash_table_iter_init(&it, u->map);
    while (g_hash_table_iter_next(&it, &eid, &tag)) {
        uint16_t value = GPOINTER_TO_UINT(tag) - 1;

        core_image_bytes(im, eid, 16);
        core_image_int(im, &value);
    }
}

static void map_image(UbUmmu *u, CoreImage *im)
{
    uint32_t n = g_hash_table_size(u->map);
    uint8_t eid[16];
    uint16_t tag;

    core_image_count(im, &n, UBM_MAPPINGS, "more EIDs than the UMMU maps");
    if (!core_image_loading(im)) {
        map_save(u, im);
        return;
    }
    while (n-- && !core_image_error(im)) {
        core_image_bytes(im, eid, 16);
        core_image_int(im, &tag);
        ummu_map_set(u, eid, tag);
    }
}

static void stall_image(UbUmmu *u, CoreImage *im, UmmuStall *s)
{
    core_image_flag(im, &s->waits);
    core_image_int(im, &s->kind);
    core_image_flag(im, &s->tee);
    core_image_int(im, &s->tag);
    core_image_int(im, &s->token_id);
    core_image_int(im, &s->page);
    core_image_check(im, s->kind < UB_UMMU_KINDS,
                     "stall of the UMMU out of range");
    if (core_image_loading(im) && s->waits) {
        u->stalls++;
    }
}

void ub_ummu_image(UbUmmu *u, CoreImage *im)
{
    if (core_image_loading(im)) {
        ub_ummu_reset(u);
    }
    core_image_check(im, core_image_begin(im, UB_UMMU_TAG, UMMU_VERSION) ==
                     UMMU_VERSION, OTHER "version of the UMMU");
    core_image_same(im, u->cfg.strict, OTHER "rule for the UMMU's caches");
    core_image_same(im, u->cfg.positive, OTHER "rule for TokenValues");
    core_image_same(im, u->cfg.lenient, OTHER "rule for the UMMU's tables");
    core_image_same(im, u->cfg.stage2, OTHER "number of stages");
    core_image_same(im, u->cfg.mapt_physical,
                    OTHER "rule for permission tables");
    regs_image(u, im);
    rings_image(u, im);
    map_image(u, im);
    for (unsigned i = 0; i < UMMU_STALLS; i++) {
        stall_image(u, im, &u->stall[i]);
    }
    for (unsigned i = 0; i < UBM_MTMS; i++) {
        core_image_int(im, &u->mtm[i][0]);
        core_image_int(im, &u->mtm[i][1]);
    }
    core_image_end(im);
}
