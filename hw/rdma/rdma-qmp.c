/*
 * The monitor's view of RDMA engines: query-rdma, info rdma, the event
 * RDMA_PORT_CHANGED.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "qemu/osdep.h"
#include "monitor/monitor.h"
#include "qapi/qapi-commands-rdma.h"
#include "qapi/qapi-events-rdma.h"
#include "qapi/type-helpers.h"
#include "qemu/module.h"
#include "qemu/queue.h"
#include "rdma/fault.h"
#include "rdma/objects.h"
#include "rdma/qmp.h"

struct RdmaQmp {
    Object *dev;
    RdmaDev *rdma;
    const char *interface;
    RdmaQmpPort (*port)(Object *dev);
    RdmaQmpPort told;
    QTAILQ_ENTRY(RdmaQmp) next;
};

static QTAILQ_HEAD(, RdmaQmp) engines = QTAILQ_HEAD_INITIALIZER(engines);

static RdmaEnginePort port_state(const RdmaQmpPort *p)
{
    return CLAMP(p->state, 1, 4) - 1;
}

RdmaQmp *rdma_qmp_add(Object *dev, RdmaDev *rdma, const char *interface,
                      RdmaQmpPort (*port)(Object *dev))
{
    RdmaQmp *q = g_new0(RdmaQmp, 1);

    *q = (RdmaQmp) {
        .dev = dev, .rdma = rdma, .interface = interface, .port = port,
        .told = port(dev),
    };
    QTAILQ_INSERT_TAIL(&engines, q, next);
    return q;
}

void rdma_qmp_remove(RdmaQmp *q)
{
    if (q) {
        QTAILQ_REMOVE(&engines, q, next);
        g_free(q);
    }
}

void rdma_qmp_port(RdmaQmp *q)
{
    g_autofree char *path = NULL;
    RdmaQmpPort now;

    if (!q) {
        return;
    }
    now = q->port(q->dev);
    if (now.link_up == q->told.link_up && now.state == q->told.state &&
        now.lid == q->told.lid) {
        return;
    }
    q->told = now;
    path = object_get_canonical_path(q->dev);
    qapi_event_send_rdma_port_changed(path, now.link_up, port_state(&now),
                                      now.lid);
}

static void count_qp(void *opaque, RdmaQp *qp)
{
    RdmaEngineQps *n = opaque;
    uint32_t *const by_state[] = {
        [RDMA_QPS_RESET] = &n->reset, [RDMA_QPS_INIT] = &n->init,
        [RDMA_QPS_RTR] = &n->rtr, [RDMA_QPS_RTS] = &n->rts,
        [RDMA_QPS_SQE] = &n->sqe, [RDMA_QPS_SQD] = &n->sqd,
        [RDMA_QPS_ERR] = &n->err,
    };

    (*by_state[rdma_qp_attr(qp)->state])++;
}

static void add_faults(RdmaDev *rdma, bool out, RdmaEngineFaultList ***tail)
{
    CoreFaultPlan plan;

    rdma_fault_get(rdma, out, &plan);
    for (int a = RDMA_ENGINE_ACTION_DROP; a < RDMA_ENGINE_ACTION__MAX; a++) {
        bool nth = plan.nth_action == (int)a && (plan.nth || plan.every);
        RdmaEngineFault *f;

        if (!plan.ppm[a] && !nth) {
            continue;
        }
        f = g_new0(RdmaEngineFault, 1);
        f->outgoing = out;
        f->action = a;
        f->has_ppm = plan.ppm[a];
        f->ppm = plan.ppm[a];
        f->has_nth = f->has_every = nth;
        f->nth = plan.nth;
        f->every = plan.every;
        QAPI_LIST_APPEND(*tail, f);
    }
}

static RdmaEngineInfo *engine_info(RdmaQmp *q)
{
    RdmaEngineInfo *e = g_new0(RdmaEngineInfo, 1);
    RdmaEngineFaultList **faults = &e->faults;
    RdmaEngineCounterList **counters = &e->counters;
    const RdmaCounters *c = rdma_counters(q->rdma);
    const RdmaPort *p = rdma_port(q->rdma);
    RdmaQmpPort port = q->port(q->dev);

    e->device = object_get_canonical_path(q->dev);
    e->interface = g_strdup(q->interface);
    e->link_up = port.link_up;
    e->port_state = port_state(&port);
    e->lid = port.lid;
    e->mac = g_strdup_printf("%02x:%02x:%02x:%02x:%02x:%02x", p->mac[0],
                             p->mac[1], p->mac[2], p->mac[3], p->mac[4],
                             p->mac[5]);
    e->address = g_strdup_printf("%u.%u.%u.%u", p->ip >> 24,
                                 p->ip >> 16 & 0xff, p->ip >> 8 & 0xff,
                                 p->ip & 0xff);
    e->qps = g_new0(RdmaEngineQps, 1);
    rdma_qp_foreach(q->rdma, count_qp, e->qps);
    add_faults(q->rdma, false, &faults);
    add_faults(q->rdma, true, &faults);
#define ADD(counter)                                                        \
    do {                                                                    \
        RdmaEngineCounter *n = g_new0(RdmaEngineCounter, 1);                \
                                                                            \
        n->name = g_strdup(#counter);                                       \
        n->value = c->counter;                                              \
        QAPI_LIST_APPEND(counters, n);                                      \
    } while (0);
    RDMA_COUNTERS(ADD)
#undef ADD
    return e;
}

RdmaEngineInfoList *qmp_query_rdma(Error **errp)
{
    RdmaEngineInfoList *list = NULL, **tail = &list;
    RdmaQmp *q;

    QTAILQ_FOREACH(q, &engines, next) {
        QAPI_LIST_APPEND(tail, engine_info(q));
    }
    return list;
}

HumanReadableText *qmp_x_query_rdma(Error **errp)
{
    g_autoptr(GString) buf = g_string_new("");
    RdmaEngineInfoList *list = qmp_query_rdma(errp);

    for (RdmaEngineInfoList *l = list; l; l = l->next) {
        const RdmaEngineInfo *e = l->value;
        const RdmaEngineQps *n = e->qps;

        g_string_append_printf(
            buf, "%s (%s): link %s, port %s, LID %u, %s, %s\n"
            "  QPs: reset %u, init %u, RTR %u, RTS %u, SQE %u, SQD %u, "
            "error %u\n", e->device, e->interface, e->link_up ? "up" : "down",
            RdmaEnginePort_str(e->port_state), e->lid, e->mac, e->address,
            n->reset, n->init, n->rtr, n->rts, n->sqe, n->sqd, n->err);
        for (RdmaEngineFaultList *f = e->faults; f; f = f->next) {
            g_string_append_printf(
                buf, "  fault %s %s: %u ppm, nth %" PRIu64 ", every %" PRIu64
                "\n", f->value->outgoing ? "out" : "in",
                RdmaEngineAction_str(f->value->action), f->value->ppm,
                f->value->nth, f->value->every);
        }
        for (RdmaEngineCounterList *c = e->counters; c; c = c->next) {
            if (c->value->value) {
                g_string_append_printf(buf, "  %s %" PRIu64 "\n",
                                       c->value->name, c->value->value);
            }
        }
    }
    qapi_free_RdmaEngineInfoList(list);
    return human_readable_text_from_str(buf);
}

static void rdma_qmp_register_hmp(void)
{
    monitor_register_hmp_info_hrt("rdma", qmp_x_query_rdma);
}

type_init(rdma_qmp_register_hmp);
