/*
 * The monitor's view of the transaction engines of UB controllers, and the faults
 * between their floors.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "qemu/osdep.h"
#include "qapi/error.h"
#include "qapi/qapi-commands-ub.h"
#include "qapi/type-helpers.h"
#include "ubc-pci.h"

/* ---- What there is --------------------------------------------------------------- */

static void add_count(UbcCounterList ***tail, const char *name,
                      uint64_t value)
{
    UbcCounter *c;

    if (value) {
        c = g_new0(UbcCounter, 1);
        c->name = g_strdup(name);
        c->value = value;
        QAPI_LIST_APPEND(*tail, c);
    }
}

typedef struct Channels {
    UbTp *tp;
    UbChannelInfoList **tail;
} Channels;

static void add_channel(void *opaque, uint32_t tpn)
{
    Channels *list = opaque;
    UbChannelInfo *c = g_new0(UbChannelInfo, 1);
    UbTpAttr attr;
    UbTpInfo info;

    ub_tp_query(list->tp, tpn, &attr, &info);
    c->number = tpn;
    c->peer = attr.dst_tpn;
    c->state = (UbChannelState)info.state;
    c->has_group = info.group != UB_TP_NONE;
    c->group = c->has_group ? info.group : 0;
    c->unacknowledged = info.una;
    c->next = info.next;
    c->expected = info.epsn;
    c->in_flight = info.in_flight;
    c->in_flight_bytes = info.in_flight_bytes;
    c->held = info.held;
    c->withheld = info.withheld;
    c->timeouts = info.timeouts;
    c->window = info.cw;
    c->rate = info.rate;
    QAPI_LIST_APPEND(list->tail, c);
}

static void add_queue(void *opaque, const UbUrmaQueueInfo *info)
{
    UbQueueInfoList ***tail = opaque;
    UbQueueInfo *q = g_new0(UbQueueInfo, 1);

    q->number = info->id;
    q->entity = info->entity;
    q->state = (UbQueueState)info->state;
    q->mode = (UbServiceMode)info->mode;
    q->sends = info->sq_depth;
    q->receives = info->rq_depth;
    q->send_posted = info->sq_pi;
    q->send_done = info->sq_ci;
    q->receive_posted = info->rq_pi;
    q->receive_done = info->rq_ci;
    q->requests = info->requests;
    QAPI_LIST_APPEND(*tail, q);
}

static void put_plan(UbPacketFaultPlan *to, const UbFaultPlan *f)
{
    const CoreFaultPlan *p = &f->plan;

    to->has_kind = f->kind != UB_FAULT_ANY;
    to->kind = to->has_kind ? (UbPacketKind)f->kind : 0;
    to->has_tp_opcode = f->tp_opcode != UB_FAULT_ANY;
    to->tp_opcode = f->tp_opcode;
    to->has_ta_opcode = f->ta_opcode != UB_FAULT_ANY;
    to->ta_opcode = f->ta_opcode;
    to->has_psn = f->psn != UB_FAULT_NO_PSN;
    to->psn = f->psn;
    to->has_psn_last = f->psn_last != UB_FAULT_NO_PSN;
    to->psn_last = f->psn_last;
    to->has_queue = f->queue != UB_FAULT_NO_QUEUE;
    to->queue = f->queue;
    to->has_target_queue = f->target_queue != UB_FAULT_NO_QUEUE;
    to->target_queue = f->target_queue;
#define PUT_PPM(name, action) \
    to->has_##name##_ppm = p->ppm[CORE_FAULT_##action] != 0; \
    to->name##_ppm = p->ppm[CORE_FAULT_##action]
    PUT_PPM(drop, DROP);
    PUT_PPM(duplicate, DUPLICATE);
    PUT_PPM(reorder, REORDER);
    PUT_PPM(corrupt, CORRUPT);
    PUT_PPM(delay, DELAY);
#undef PUT_PPM
    to->has_seed = true;
    to->seed = p->seed;
    to->has_nth = to->has_every = to->has_action = p->nth != 0;
    to->nth = p->nth;
    to->every = p->every;
    to->action = (UbFaultAction)p->nth_action;
    to->has_reorder_depth = to->has_delay_us = true;
    to->reorder_depth = p->reorder_depth;
    to->delay_us = p->delay_us;
}

static void add_faults(UbNode *node, UbPacketFaultsList ***tail)
{
    static const char *const names[] = {
        "none", "drop", "duplicate", "reorder", "corrupt", "delay",
    };
    uint64_t done[CORE_FAULT_NUM];
    UbFaultPlan plan;

    for (unsigned out = 0; out < 2; out++) {
        UbcCounterList **counts;
        UbPacketFaults *f;

        if (!ub_node_fault(node, out, &plan, done)) {
            continue;
        }
        f = g_new0(UbPacketFaults, 1);
        f->plan = g_new0(UbPacketFaultPlan, 1);
        f->out = out;
        put_plan(f->plan, &plan);
        counts = &f->done;
        for (unsigned i = CORE_FAULT_DROP; i < CORE_FAULT_NUM; i++) {
            add_count(&counts, names[i], done[i]);
        }
        QAPI_LIST_APPEND(*tail, f);
    }
}

static void add_window(const UbLds *l, UbcCounterList ***tail)
{
    UbLdsState s;

    for (unsigned i = 0; i < UB_LDS_COUNTERS_NUM; i++) {
        add_count(tail, ub_lds_counter_name(i), ub_lds_counter(l, i));
    }
    ub_lds_state(l, &s);
    add_count(tail, "waiting", s.waiting);
    add_count(tail, "under-way", s.under_way);
    add_count(tail, "table-entries", s.maps);
}

static UbCipPolicyInfo *policy_info(const UbCipView *v, unsigned entity,
                                    unsigned number)
{
    UbCipPolicyInfo *p = g_new0(UbCipPolicyInfo, 1);
    uint8List **slots = &p->receives_by;
    GString *eid = g_string_new("");

    for (unsigned i = 0; i < UB_EID_LEN; i++) {
        g_string_append_printf(eid, "%02x", v->policy.peer.b[i]);
    }
    p->entity = entity;
    p->number = number;
    p->peer = g_string_free(eid, false);
    p->peer_policy = v->policy.peer_policy;
    p->suite = g_strdup(ub_cip_suite_name(v->policy.suite));
    p->hides = v->policy.hide;
    p->clear = v->policy.clear;
    for (unsigned i = 0; i < UB_CIP_SLOTS; i++) {
        if (v->keyed[UB_CIP_RX][i]) {
            QAPI_LIST_APPEND(slots, i);
        }
    }
    p->has_sends_by = p->has_sn = v->use >= 0;
    if (v->use >= 0) {
        p->sends_by = v->use;
        p->sn = v->sn[UB_CIP_TX][v->use];
    }
    return p;
}

static void add_cip(const UbCip *cip, UbEngineInfo *e)
{
    UbCipPolicyInfoList **policies = &e->policies;
    UbcCounterList **counters = &e->cip;
    UbCipView v;

    for (unsigned i = 0; i < UB_CIP_COUNTERS; i++) {
        add_count(&counters, ub_cip_counter_name(i), ub_cip_counter(cip, i));
    }
    for (unsigned i = 0; i < UBC_MAX_ENTITIES; i++) {
        for (unsigned n = 0; n < UB_CIP_POLICIES; n++) {
            if (ub_cip_view(cip, i, n, &v)) {
                QAPI_LIST_APPEND(policies, policy_info(&v, i, n));
            }
        }
    }
}

static void add_inline(const UbcPci *s, UbcCounterList ***tail)
{
    add_count(tail, "turns", s->inline_turns);
    add_count(tail, "looks", s->look.looks);
    add_count(tail, "looks-alone", s->look.begun);
    add_count(tail, "look-turns", s->look_turns);
    add_count(tail, "thread-turns", s->thread_turns);
}

/* The monitor's enumerations are numbered as the cores' are. */
#define SAME(a, b) QEMU_BUILD_BUG_ON((int)(a) != (int)(b))
SAME(UB_FAULT_ACTION_DELAY, CORE_FAULT_DELAY);
SAME(UB_FAULT_ACTION_CORRUPT, CORE_FAULT_CORRUPT);
SAME(UB_PACKET_KIND_BYPASS, UB_FAULT_BYPASS);
SAME(UB_PACKET_KIND__MAX, UB_FAULT_KINDS);
SAME(UB_CHANNEL_STATE_ERROR, UB_TP_ERROR);
SAME(UB_QUEUE_STATE_ERROR, UBQ_STATE_ERROR);
SAME(UB_SERVICE_MODE_UNO, UB_UNO);
#undef SAME

static UbEngineInfo *engine_info(UbcPci *s)
{
    UbEngineInfo *e = g_new0(UbEngineInfo, 1);
    UbcCounterList **network = &e->network, **transport = &e->transport,
                   **transaction = &e->transaction, **work = &e->work,
                   **window = &e->window, **turns = &e->q_inline;
    UbQueueInfoList **queues = &e->queues;
    UbPacketFaultsList **faults = &e->faults;
    Channels channels = { .tail = &e->channels };
    const char *name;
    uint64_t value;
    UbNode *node;

    e->device = object_get_canonical_path(OBJECT(s));
    qemu_mutex_lock(&s->lock);
    node = ubc_node(s->ubc);
    channels.tp = ub_node_tp(node);
    ub_tp_foreach(channels.tp, add_channel, &channels);
    ub_urma_foreach(ubc_urma(s->ubc), add_queue, &queues);
    for (unsigned i = 0; i < UB_NET_COUNTERS_NUM; i++) {
        add_count(&network, ub_net_counter_name(i),
                  ub_net_total(ub_node_net(node), i));
    }
    for (unsigned i = 0; (name = ub_tp_counter(channels.tp, i, &value)); i++) {
        add_count(&transport, name, value);
    }
    for (unsigned i = 0; i < UB_TA_COUNTERS_NUM; i++) {
        add_count(&transaction, ub_ta_counter_name(i),
                  ub_ta_counter(ub_node_ta(node), i));
    }
    for (unsigned i = 0; i < UB_URMA_COUNTERS_NUM; i++) {
        add_count(&work, ub_urma_counter_name(i),
                  ub_urma_counter(ubc_urma(s->ubc), i));
    }
    add_inline(s, &turns);
    if (ubc_window(s->ubc)) {
        add_window(ubc_window(s->ubc), &window);
    }
    if (ub_sec_cip(ub_node_sec(node))) {
        add_cip(ub_sec_cip(ub_node_sec(node)), e);
    }
    add_faults(node, &faults);
    qemu_mutex_unlock(&s->lock);
    return e;
}

static void add_engine(UbcPci *s, void *opaque)
{
    UbEngineInfoList ***tail = opaque;

    QAPI_LIST_APPEND(*tail, engine_info(s));
}

UbEngineInfoList *qmp_query_ub_engines(Error **errp)
{
    UbEngineInfoList *list = NULL, **tail = &list;

    ubc_pci_foreach(add_engine, &tail);
    return list;
}

/* ---- In words ----------------------------------------------------------------------- */

static void counters_text(GString *buf, const char *floor,
                          const UbcCounterList *c)
{
    for (; c; c = c->next) {
        g_string_append_printf(buf, "  %s %s %" PRIu64 "\n", floor,
                               c->value->name, c->value->value);
    }
}

static void engine_text(GString *buf, const UbEngineInfo *e)
{
    g_string_append_printf(buf, "%s engine\n", e->device);
    for (UbChannelInfoList *l = e->channels; l; l = l->next) {
        const UbChannelInfo *c = l->value;

        g_string_append_printf(
            buf, "  channel %u to %u: %s, sent %u to %u, expects %u, "
            "%u packets in flight\n", c->number, c->peer,
            UbChannelState_str(c->state), c->unacknowledged, c->next,
            c->expected, c->in_flight);
    }
    for (UbQueueInfoList *l = e->queues; l; l = l->next) {
        const UbQueueInfo *q = l->value;

        g_string_append_printf(
            buf, "  queue %u (%s): %s, send %u of %u, receive %u of %u, %u "
            "requests\n", q->number, UbServiceMode_str(q->mode),
            UbQueueState_str(q->state), q->send_done, q->send_posted,
            q->receive_done, q->receive_posted, q->requests);
    }
    for (UbPacketFaultsList *l = e->faults; l; l = l->next) {
        g_string_append_printf(buf, "  faults of packets that %s\n",
                               l->value->out ? "leave" : "come");
        counters_text(buf, "  done:", l->value->done);
    }
    counters_text(buf, "network", e->network);
    counters_text(buf, "transport", e->transport);
    counters_text(buf, "transaction", e->transaction);
    counters_text(buf, "queues", e->work);
    counters_text(buf, "inline", e->q_inline);
    counters_text(buf, "window", e->window);
    counters_text(buf, "CIP", e->cip);
    for (UbCipPolicyInfoList *l = e->policies; l; l = l->next) {
        const UbCipPolicyInfo *p = l->value;

        g_string_append_printf(buf, "  policy %u of Entity %u: %s to %s, ",
                               p->number, p->entity, p->suite, p->peer);
        g_string_append_printf(buf, p->has_sends_by ? "sends by slot %u\n"
                                                    : "cold\n", p->sends_by);
    }
}

void ubc_pci_engine_text(UbcPci *s, GString *buf)
{
    UbEngineInfo *e = engine_info(s);

    engine_text(buf, e);
    qapi_free_UbEngineInfo(e);
}

HumanReadableText *qmp_x_query_ub_engines(Error **errp)
{
    g_autoptr(GString) buf = g_string_new("");
    UbEngineInfoList *list = qmp_query_ub_engines(errp);

    for (UbEngineInfoList *e = list; e; e = e->next) {
        engine_text(buf, e->value);
    }
    qapi_free_UbEngineInfoList(list);
    return human_readable_text_from_str(buf);
}

/* ---- Faults --------------------------------------------------------------------------- */

static void get_plan(UbFaultPlan *f, const UbPacketFaultPlan *from)
{
    CoreFaultPlan *p = &f->plan;

    ub_fault_plan_init(f);
#define GET(field, to) \
    if (from->has_##field) { \
        to = from->field; \
    }
    GET(kind, f->kind)
    GET(tp_opcode, f->tp_opcode)
    GET(ta_opcode, f->ta_opcode)
    GET(psn, f->psn)
    GET(psn_last, f->psn_last)
    GET(queue, f->queue)
    GET(target_queue, f->target_queue)
    GET(drop_ppm, p->ppm[CORE_FAULT_DROP])
    GET(duplicate_ppm, p->ppm[CORE_FAULT_DUPLICATE])
    GET(reorder_ppm, p->ppm[CORE_FAULT_REORDER])
    GET(corrupt_ppm, p->ppm[CORE_FAULT_CORRUPT])
    GET(delay_ppm, p->ppm[CORE_FAULT_DELAY])
    GET(seed, p->seed)
    GET(nth, p->nth)
    GET(every, p->every)
    GET(action, p->nth_action)
    GET(reorder_depth, p->reorder_depth)
    GET(delay_us, p->delay_us)
#undef GET
}

void qmp_ub_packet_faults(const char *device, bool out,
                          UbPacketFaultPlan *plan, Error **errp)
{
    UbcPci *s = ubc_pci_find(device, errp);
    const char *broken;
    UbFaultPlan f;

    if (!s) {
        return;
    }
    get_plan(&f, plan);
    broken = ub_fault_plan_check(&f);
    if (broken) {
        error_setg(errp, "%s", broken);
        return;
    }
    s->engine.fault[out] = f;
    ubc_pci_fault_apply(s, out);
}

/* ---- Routes --------------------------------------------------------------------------- */

void qmp_ub_route_shortest(const char *device, uint32_t cna, uint64_t ports,
                           Error **errp)
{
    UbcPci *s = ubc_pci_find(device, errp);
    const char *broken;

    if (!s) {
        return;
    }
    ubc_pci_lock(s);
    broken = ubc_route_shortest(s->ubc, cna, ports);
    qemu_mutex_unlock(&s->lock);
    if (broken) {
        error_setg(errp, "%s", broken);
    }
}
