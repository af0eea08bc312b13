/*
 * The monitor's view of queues, completion queues and groups of queues.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "qemu/osdep.h"
#include "monitor/hmp.h"
#include "monitor/monitor.h"
#include "qapi/error.h"
#include "qapi/qapi-commands-ub.h"
#include "qobject/qdict.h"
#include "ubc-pci.h"

/* ---- What there is --------------------------------------------------------------- */

/* Which objects are asked for, and where those found go. */
typedef struct Search {
    bool one;
    uint32_t number;            /* the only one */
    UbJettyInfoList **jettys;
    UbJfcInfoList **jfcs;
    UbJettyGroupInfoList **groups;
} Search;

static bool asked_for(const Search *s, uint32_t number)
{
    return !s->one || s->number == number;
}

/* A member that is only there if it is one. */
#define PUT_NUMBER(to, name, value) \
    do { \
        (to)->has_##name = (value) != UBQ_NEW; \
        (to)->name = (to)->has_##name ? (value) : 0; \
    } while (0)

static char *eid_text(const UbEid *eid)
{
    GString *text = g_string_new("");

    for (unsigned i = 0; i < UB_EID_LEN; i++) {
        g_string_append_printf(text, "%02x", eid->b[i]);
    }
    return g_string_free(text, FALSE);
}

static void add_jetty(void *opaque, const UbUrmaQueueInfo *info)
{
    Search *search = opaque;
    UbJettyInfo *q;

    if (!asked_for(search, info->id)) {
        return;
    }
    q = g_new0(UbJettyInfo, 1);
    q->number = info->id;
    q->entity = info->entity;
    q->page = info->page;
    q->event_queue = info->eq;
    q->state = (UbQueueState)info->state;
    q->mode = (UbServiceMode)info->mode;
    q->suspends = info->flags & UBQ_Q_SUSPEND;
    q->translates = info->flags & UBQ_Q_TRANSLATE;
    q->record = info->record;
    q->send_depth = info->sq_depth;
    q->send_posted = info->sq_pi;
    q->send_done = info->sq_ci;
    q->requests = info->requests;
    PUT_NUMBER(q, send_jfc, info->send_cq);
    q->tries = info->tries;
    q->ack_timeout = info->patience
        ? ub_ta_gear(info->patience - 1) / SCALE_MS : 0;
    q->receive_depth = info->rq_depth;
    q->receive_posted = info->rq_pi;
    q->receive_done = info->rq_ci;
    q->receive_limit = info->rq_limit;
    q->receive_low = info->rq_low;
    PUT_NUMBER(q, receive_jfc, info->recv_cq);
    PUT_NUMBER(q, shared_jfr, info->rq_shared);
    PUT_NUMBER(q, group, info->group);
    if (info->flags & UBQ_Q_BOUND) {
        q->has_remote = true;
        q->remote = info->remote;
        q->remote_eid = eid_text(&info->remote_eid);
    }
    q->done = info->counts.done;
    q->failed = info->counts.failed;
    q->flushed = info->counts.flushed;
    q->denied = info->counts.denied;
    q->empty = info->counts.empty;
    QAPI_LIST_APPEND(search->jettys, q);
}

static void add_jfc(void *opaque, const UbUrmaCqInfo *info)
{
    Search *search = opaque;
    UbJfcInfo *c;

    if (!asked_for(search, info->id)) {
        return;
    }
    c = g_new0(UbJfcInfo, 1);
    c->number = info->id;
    c->page = info->page;
    c->event_queue = info->eq;
    c->depth = info->depth;
    c->written = info->pi;
    c->read = info->ci;
    c->stopped = info->error;
    c->armed = (UbJfcArmed)info->arm;
    c->event_count = MAX(info->count, 1);
    c->event_period = info->period;
    c->users = info->users;
    c->failed = info->bad;
    QAPI_LIST_APPEND(search->jfcs, c);
}

static void add_group(void *opaque, const UbUrmaGroupInfo *info)
{
    Search *search = opaque;
    UbJettyGroupInfo *g;
    uint32List **members;

    if (!asked_for(search, info->id)) {
        return;
    }
    g = g_new0(UbJettyGroupInfo, 1);
    g->number = info->id;
    g->entity = info->entity;
    g->event_queue = info->eq;
    g->policy = (UbJettyPolicy)info->policy;
    g->token = info->flags & UBQ_Q_TOKEN;
    g->live = info->live;
    members = &g->members;
    for (uint32_t i = 0; i < info->n; i++) {
        QAPI_LIST_APPEND(members, info->member[i]);
    }
    QAPI_LIST_APPEND(search->groups, g);
}

/* The monitor's enumerations are numbered as the header's are. */
#define SAME(a, b) QEMU_BUILD_BUG_ON((int)(a) != (int)(b))
SAME(UB_JETTY_POLICY_HINT, UBQ_JG_HINT);
SAME(UB_JETTY_POLICY__MAX, UBQ_JG_POLICIES);
SAME(UB_QUEUE_STATE__MAX, UBQ_STATES);
#undef SAME

typedef struct Controllers {
    Search what;
    UbJettysInfoList **tail;
} Controllers;

static void add_controller(UbcPci *s, void *opaque)
{
    Controllers *list = opaque;
    UbJettysInfo *j = g_new0(UbJettysInfo, 1);
    Search search = list->what;
    UbUrma *urma;

    search.jettys = &j->jettys;
    search.jfcs = &j->jfcs;
    search.groups = &j->groups;
    j->device = object_get_canonical_path(OBJECT(s));
    ubc_pci_lock(s);
    urma = ubc_urma(s->ubc);
    ub_urma_foreach(urma, add_jetty, &search);
    ub_urma_foreach_cq(urma, add_jfc, &search);
    ub_urma_foreach_group(urma, add_group, &search);
    qemu_mutex_unlock(&s->lock);
    QAPI_LIST_APPEND(list->tail, j);
}

UbJettysInfoList *qmp_query_ub_jettys(const char *device, bool has_number,
                                      uint32_t number, Error **errp)
{
    UbJettysInfoList *result = NULL;
    Controllers list = {
        .what = { .one = has_number, .number = number },
        .tail = &result,
    };
    UbcPci *s;

    if (!device) {
        ubc_pci_foreach(add_controller, &list);
    } else if ((s = ubc_pci_find(device, errp))) {
        add_controller(s, &list);
    }
    return result;
}

/* ---- In words ----------------------------------------------------------------------- */

static void number_text(GString *buf, const char *what, bool is,
                        uint32_t number)
{
    if (is) {
        g_string_append_printf(buf, ", %s %u", what, number);
    }
}

static void jetty_text(GString *buf, const UbJettyInfo *q)
{
    g_string_append_printf(buf, "  jetty %u (%s): %s", q->number,
                           UbServiceMode_str(q->mode),
                           UbQueueState_str(q->state));
    if (q->send_depth) {
        g_string_append_printf(buf, ", send %u of %u (depth %u), %u requests",
                               q->send_done, q->send_posted, q->send_depth,
                               q->requests);
    }
    if (q->receive_depth) {
        g_string_append_printf(buf, ", receive %u of %u (depth %u, limit %u)",
                               q->receive_done, q->receive_posted,
                               q->receive_depth, q->receive_limit);
    }
    number_text(buf, "send jfc", q->has_send_jfc, q->send_jfc);
    number_text(buf, "receive jfc", q->has_receive_jfc, q->receive_jfc);
    number_text(buf, "shared jfr", q->has_shared_jfr, q->shared_jfr);
    number_text(buf, "group", q->has_group, q->group);
    number_text(buf, "bound to", q->has_remote, q->remote);
    g_string_append_printf(buf, "\n    done %" PRIu64 ", failed %" PRIu64
                           ", flushed %" PRIu64 ", denied %" PRIu64
                           ", empty %" PRIu64 "\n", q->done, q->failed,
                           q->flushed, q->denied, q->empty);
}

static void jfc_text(GString *buf, const UbJfcInfo *c)
{
    g_string_append_printf(buf, "  jfc %u: read %u of %u (depth %u), armed %s, "
                           "failed %" PRIu64 "%s\n", c->number, c->read,
                           c->written, c->depth, UbJfcArmed_str(c->armed),
                           c->failed, c->stopped ? ", stopped" : "");
}

static void group_text(GString *buf, const UbJettyGroupInfo *g)
{
    g_string_append_printf(buf, "  group %u (%s): %u live of", g->number,
                           UbJettyPolicy_str(g->policy), g->live);
    for (const uint32List *m = g->members; m; m = m->next) {
        g_string_append_printf(buf, " %u", m->value);
    }
    g_string_append(buf, "\n");
}

static void controller_text(GString *buf, const UbJettysInfo *j)
{
    g_string_append_printf(buf, "%s\n", j->device);
    for (const UbJettyInfoList *l = j->jettys; l; l = l->next) {
        jetty_text(buf, l->value);
    }
    for (const UbJfcInfoList *l = j->jfcs; l; l = l->next) {
        jfc_text(buf, l->value);
    }
    for (const UbJettyGroupInfoList *l = j->groups; l; l = l->next) {
        group_text(buf, l->value);
    }
}

static void hmp_info_ub_jettys(Monitor *mon, const QDict *args)
{
    g_autoptr(GString) buf = g_string_new("");
    int64_t number = qdict_get_try_int(args, "number", -1);
    Error *err = NULL;
    UbJettysInfoList *list = qmp_query_ub_jettys(
        qdict_get_try_str(args, "device"), number >= 0, number, &err);

    for (UbJettysInfoList *l = list; l; l = l->next) {
        controller_text(buf, l->value);
    }
    qapi_free_UbJettysInfoList(list);
    if (!hmp_handle_error(mon, err)) {
        monitor_puts(mon, buf->str);
    }
}

static void register_hmp(void)
{
    monitor_register_hmp("ub-jettys", true, hmp_info_ub_jettys);
}

type_init(register_hmp);
