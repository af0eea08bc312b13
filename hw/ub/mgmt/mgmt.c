/*
 * A node's management: life, reset, migration.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "internal.h"

void ub_mgmt_config_init(UbMgmtConfig *cfg)
{
    *cfg = (UbMgmtConfig) {
        .ports = 1, .port_cna = true, .manager = true,
        .slice_ports = UB_MGMT_SLICE_PORTS, .outstanding = 256,
        .timeout = 1000000000, .tries = 3, .emq_depth = 64, .mues = 1,
    };
}

const char *ub_mgmt_config_check(const UbMgmtConfig *cfg)
{
    if (cfg->ports < 1 || cfg->ports > UB_MGMT_MAX_PORTS) {
        return "a node has 1 to 64 ports";
    }
    if (cfg->slice_ports < 1 || cfg->slice_ports > UB_MGMT_SLICE_PORTS) {
        return "a slice has 1 to 16 ports";
    }
    if (cfg->outstanding < 1 || cfg->outstanding > UB_MGMT_OUTSTANDING) {
        return "1 to 1024 requests may wait for an answer";
    }
    if (cfg->timeout < 1) {
        return "an answer needs time";
    }
    if (cfg->tries < 1 || cfg->tries > 255) {
        return "a request is tried 1 to 255 times";
    }
    if (cfg->emq_depth && (cfg->emq_depth < 2 || cfg->emq_depth > 4096)) {
        return "an error message queue has 2 to 4096 entries";
    }
    if (cfg->mues < 1 || cfg->mues > UB_MGMT_MUES) {
        return "a node has 1 to 16 management UEs";
    }
    return NULL;
}

UbMgmt *ub_mgmt_new(const UbMgmtConfig *cfg, UbSpace *space,
                    const UbMgmtOps *ops, void *opaque)
{
    UbMgmt *m;

    if (ub_mgmt_config_check(cfg)) {
        return NULL;
    }
    m = g_new0(UbMgmt, 1);
    m->cfg = *cfg;
    m->space = space;
    m->ops = ops;
    m->opaque = opaque;
    m->wait = g_new0(UbMgmtWait, cfg->outstanding);
    m->random = cfg->seed;
    if (!ub_mgmt_emq_new(m)) {
        ub_mgmt_free(m);
        return NULL;
    }
    return m;
}

void ub_mgmt_free(UbMgmt *m)
{
    if (m) {
        ub_mgmt_wait_all_end(m);
        ub_mgmt_emq_free(m);
        g_free(m->wait);
        g_free(m);
    }
}

void ub_mgmt_reset(UbMgmt *m)
{
    ub_mgmt_wait_all_end(m);
    ub_mgmt_emq_reset(m);
    memset(m->instance, 0, sizeof(m->instance));
    memset(m->token, 0, sizeof(m->token));
    m->msn = 0;
}

/* ---- Migration ---- */

static void image_id(CoreImage *im, UbId *id)
{
    for (unsigned i = 0; i < 4; i++) {
        core_image_int(im, &id->w[i]);
    }
}

static void image_waits(UbMgmt *m, CoreImage *im)
{
    uint32_t n = 0;

    for (unsigned i = 0; i < m->waiting; i++) {
        n += !m->wait[i].done;
    }
    core_image_count(im, &n, m->cfg.outstanding,
                     "more without an answer than may be");
    if (core_image_loading(im)) {
        ub_mgmt_wait_all_end(m);
        m->waiting = n;
        memset(m->wait, 0, n * sizeof(m->wait[0]));
    }
    for (unsigned i = 0; i < m->waiting; i++) {
        UbMgmtWait *w = &m->wait[i];
        bool scan = w->kind == UB_MGMT_KIND_SCAN;

        if (w->done) {
            continue;
        }
        core_image_flag(im, &scan);
        w->kind = scan ? UB_MGMT_KIND_SCAN : UB_MGMT_KIND_MESSAGE;
        core_image_int(im, &w->queue);
        core_image_int(im, &w->msn);
        core_image_int(im, &w->code);
        core_image_int(im, &w->to.dcna);
        core_image_flag(im, &w->silent);
        core_image_flag(im, &w->over);
        core_image_deadline(im, &w->at);
    }
}

static void image_rings(UbMgmt *m, CoreImage *im)
{
    core_image_same(im, m->cfg.emq_depth, "another depth of error message queues");
    for (unsigned i = 0; m->emq && i < G_N_ELEMENTS(m->ring); i++) {
        UbMgmtRing *r = &m->ring[i];

        core_image_int(im, &r->pi);
        core_image_int(im, &r->ci);
        if (!core_image_check(im, r->pi < m->cfg.emq_depth &&
                              r->ci < m->cfg.emq_depth,
                              "an error message queue's index beyond its end")) {
            r->pi = r->ci = 0;
        }
        for (unsigned n = r->ci; n != r->pi; n = (n + 1) % m->cfg.emq_depth) {
            core_image_int(im, &r->entry[2 * n]);
            core_image_int(im, &r->entry[2 * n + 1]);
        }
    }
}

static void image_token(UbMgmt *m, CoreImage *im, unsigned entity)
{
    core_image_flag(im, &m->token[entity].check);
    core_image_int(im, &m->token[entity].value);
}

/* Whether another has its GUID, or its EID as 20 bits show it. */
static bool is_known(const UbMgmt *m, const UbBusInstance *is)
{
    for (unsigned i = 0; i < UB_MGMT_BUS_INSTANCES; i++) {
        if (ub_id_same(m->instance[i].guid, is->guid)) {
            return true;
        }
    }
    return ub_mgmt_instance_of(m, is->eid.w[0] & UB_MGMT_EID_SHORT);
}

/* As far as the last of them; what has gone in their midst has GUID 0. */
static void image_instances(UbMgmt *m, CoreImage *im)
{
    uint32_t n = UB_MGMT_BUS_INSTANCES;

    while (n && ub_id_zero(m->instance[n - 1].guid)) {
        n--;
    }
    core_image_count(im, &n, UB_MGMT_BUS_INSTANCES,
                     "more bus instances than there can be");
    if (core_image_loading(im)) {
        memset(m->instance, 0, sizeof(m->instance));
    }
    for (unsigned i = 0; i < n; i++) {
        UbBusInstance *b = &m->instance[i], is;

        image_id(im, &b->guid);
        image_id(im, &b->eid);
        core_image_int(im, &b->upi);
        if (!core_image_loading(im) || ub_id_zero(b->guid)) {
            continue;
        }
        is = *b;
        *b = (UbBusInstance) { 0 };
        if (core_image_check(im, m->ops->instance &&
                             ub_mgmt_instance_good(&is) && !is_known(m, &is),
                             "a bus instance that cannot be")) {
            *b = is;
        }
    }
}

void ub_mgmt_image(UbMgmt *m, CoreImage *im)
{
    unsigned version = core_image_begin(im, CORE_TAG('M', 'G', 'M', 'T'), 2);

    core_image_int(im, &m->msn);
    image_token(m, im, 0);
    core_image_int(im, &m->random);
    image_instances(m, im);
    image_waits(m, im);
    image_rings(m, im);
    for (unsigned i = 1; version >= 2 && i < UB_MGMT_TOKENS; i++) {
        image_token(m, im, i);
    }
    core_image_end(im);
}
