/*
 * The monitor's view of RC Link devices.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "qemu/osdep.h"
#include "monitor/monitor.h"
#include "qapi/qapi-commands-rclink.h"
#include "qapi/qapi-events-rclink.h"
#include "qapi/type-helpers.h"
#include "qemu/module.h"
#include "qemu/queue.h"
#include "rclink/qmp.h"

struct RclinkQmp {
    Object *dev;
    Rclink *core;
    bool link;
    QTAILQ_ENTRY(RclinkQmp) next;
};

static QTAILQ_HEAD(, RclinkQmp) devices = QTAILQ_HEAD_INITIALIZER(devices);

static bool core_link(Rclink *core)
{
    RclInfo info;

    rclink_info(core, &info);
    return info.link;
}

RclinkQmp *rclink_qmp_add(Object *dev, Rclink *core)
{
    RclinkQmp *q = g_new0(RclinkQmp, 1);

    *q = (RclinkQmp) { .dev = dev, .core = core, .link = core_link(core) };
    QTAILQ_INSERT_TAIL(&devices, q, next);
    return q;
}

void rclink_qmp_remove(RclinkQmp *q)
{
    if (q) {
        QTAILQ_REMOVE(&devices, q, next);
        g_free(q);
    }
}

void rclink_qmp_link(RclinkQmp *q)
{
    g_autofree char *path = NULL;

    if (q && core_link(q->core) != q->link) {
        q->link = !q->link;
        path = object_get_canonical_path(q->dev);
        qapi_event_send_rclink_link_changed(path, q->link);
    }
}

static const char *const action_name[CORE_FAULT_NUM] = {
    "none", "drop", "duplicate", "reorder", "corrupt", "delay",
};

static void add_faults(Rclink *core, bool out, RclinkFaultList ***tail)
{
    CoreFaultPlan plan;

    rclink_fault_get(core, out, &plan);
    for (int a = CORE_FAULT_DROP; a < CORE_FAULT_NUM; a++) {
        RclinkFault *f;

        if (!plan.ppm[a]) {
            continue;
        }
        f = g_new0(RclinkFault, 1);
        f->outgoing = out;
        f->action = g_strdup(action_name[a]);
        f->ppm = plan.ppm[a];
        QAPI_LIST_APPEND(*tail, f);
    }
}

static void add_vcs(const RclInfo *info, RclinkVcList ***tail)
{
    for (unsigned v = 0; v < ARRAY_SIZE(info->vc); v++) {
        RclinkVc *vc = g_new0(RclinkVc, 1);

        vc->vc = v;
        vc->ready = info->vc[v].ready;
        vc->limit = info->vc[v].limit;
        vc->left = info->vc[v].left;
        vc->paused = info->vc[v].paused;
        vc->stopping = info->vc[v].stopping;
        QAPI_LIST_APPEND(*tail, vc);
    }
}

static void add_rings(const RclInfo *info, RclinkRingList ***tail)
{
    for (unsigned n = 0; n < ARRAY_SIZE(info->ring); n++) {
        RclinkRing *r = g_new0(RclinkRing, 1);

        r->name = g_strdup(info->ring[n].name);
        r->enabled = info->ring[n].enabled;
        r->stopped = info->ring[n].stopped;
        r->base = info->ring[n].base;
        r->entries = info->ring[n].entries;
        r->head = info->ring[n].head;
        r->tail = info->ring[n].tail;
        QAPI_LIST_APPEND(*tail, r);
    }
}

static void add_qps(Rclink *core, RclinkQpList ***tail)
{
    RclQpInfo info;

    for (unsigned n = 0; rclink_qp_info(core, n, &info); n++) {
        RclinkQp *qp;

        if (!info.enabled) {
            continue;
        }
        qp = g_new0(RclinkQp, 1);
        qp->qp = n;
        qp->fatal = info.fatal;
        qp->rate_masked = info.rate_masked;
        qp->rnr = info.rnr;
        qp->outstanding = info.outstanding;
        qp->tx_psn = info.tx_psn;
        qp->una = info.una;
        qp->epsn = info.epsn;
        qp->rate = info.rate;
        qp->retries = info.retries;
        QAPI_LIST_APPEND(*tail, qp);
    }
}

static RclinkInfo *device_info(RclinkQmp *q)
{
    RclinkInfo *i = g_new0(RclinkInfo, 1);
    RclinkVcList **vcs = &i->vcs;
    RclinkRingList **rings = &i->rings;
    RclinkQpList **qps = &i->qps;
    RclinkFaultList **faults = &i->faults;
    RclinkCounterList **counters = &i->counters;
    const RclCounters *cnt = rclink_counters(q->core);
    RclInfo info;

    QEMU_BUILD_BUG_ON((int)RCLINK_FORMAT__MAX != RCL_FORMATS);
    rclink_info(q->core, &info);
    i->device = object_get_canonical_path(q->dev);
    i->link_up = info.link;
    i->enabled = info.enabled;
    i->format = (RclinkFormat)info.format;
    i->wire_stopped = info.wire_stopped;
    i->free_type1 = info.free1;
    i->free_type2 = info.free2;
    i->multicast_left = info.multicast_left;
    add_vcs(&info, &vcs);
    add_rings(&info, &rings);
    add_qps(q->core, &qps);
    add_faults(q->core, false, &faults);
    add_faults(q->core, true, &faults);
#define ADD(counter, text)                                                  \
    do {                                                                    \
        RclinkCounter *n = g_new0(RclinkCounter, 1);                        \
                                                                            \
        n->name = g_strdup(#counter);                                       \
        n->value = cnt->counter;                                            \
        QAPI_LIST_APPEND(counters, n);                                      \
    } while (0);
    RCL_COUNTERS(ADD)
#undef ADD
    return i;
}

RclinkInfoList *qmp_query_rclink(Error **errp)
{
    RclinkInfoList *list = NULL, **tail = &list;
    RclinkQmp *q;

    QTAILQ_FOREACH(q, &devices, next) {
        QAPI_LIST_APPEND(tail, device_info(q));
    }
    return list;
}

static void print_device(GString *buf, const RclinkInfo *i)
{
    g_string_append_printf(
        buf, "%s: link %s, TYPE1/2 %s, format %s%s, free buffers %u/%u, "
        "cells %u\n", i->device, i->link_up ? "up" : "down",
        i->enabled ? "on" : "off", RclinkFormat_str(i->format),
        i->wire_stopped ? ", wire stopped" : "", i->free_type1,
        i->free_type2, i->multicast_left);
    for (RclinkVcList *l = i->vcs; l; l = l->next) {
        const RclinkVc *v = l->value;

        if (v->ready || v->paused || v->stopping) {
            g_string_append_printf(buf, "  VC %u: %u of %u credits%s%s\n",
                                   v->vc, v->left, v->limit,
                                   v->paused ? ", paused" : "",
                                   v->stopping ? ", stopping" : "");
        }
    }
    for (RclinkRingList *l = i->rings; l; l = l->next) {
        const RclinkRing *r = l->value;

        if (r->enabled || r->stopped) {
            g_string_append_printf(
                buf, "  ring %s: %u at 0x%" PRIx64 ", head %u, tail %u%s\n",
                r->name, r->entries, r->base, r->head, r->tail,
                r->stopped ? ", stopped" : "");
        }
    }
    for (RclinkQpList *l = i->qps; l; l = l->next) {
        const RclinkQp *q = l->value;

        g_string_append_printf(
            buf, "  QP %u: out %u, PSN %03x, una %03x, expects %03x, "
            "rate %u%s%s%s\n", q->qp, q->outstanding, q->tx_psn, q->una,
            q->epsn, q->rate, q->rate_masked ? ", masked" : "",
            q->rnr ? ", RNR" : "", q->fatal ? ", fatal" : "");
    }
    for (RclinkFaultList *l = i->faults; l; l = l->next) {
        g_string_append_printf(buf, "  fault %s %s: %u ppm\n",
                               l->value->outgoing ? "out" : "in",
                               l->value->action, l->value->ppm);
    }
    for (RclinkCounterList *l = i->counters; l; l = l->next) {
        if (l->value->value) {
            g_string_append_printf(buf, "  %s %" PRIu64 "\n", l->value->name,
                                   l->value->value);
        }
    }
}

HumanReadableText *qmp_x_query_rclink(Error **errp)
{
    g_autoptr(GString) buf = g_string_new("");
    RclinkInfoList *list = qmp_query_rclink(errp);

    for (RclinkInfoList *l = list; l; l = l->next) {
        print_device(buf, l->value);
    }
    qapi_free_RclinkInfoList(list);
    return human_readable_text_from_str(buf);
}

static void rclink_qmp_register_hmp(void)
{
    monitor_register_hmp_info_hrt("rclink", qmp_x_query_rclink);
}

type_init(rclink_qmp_register_hmp);
