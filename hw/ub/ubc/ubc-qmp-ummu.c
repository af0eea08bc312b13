/*
 * The monitor's view of the UMMUs of UB controllers: their state, and what they would
 * say to an access.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "qemu/osdep.h"
#include "qemu/module.h"
#include "qapi/error.h"
#include "qapi/qapi-commands-ub.h"
#include "qapi/util.h"
#include "monitor/hmp.h"
#include "monitor/monitor.h"
#include "qobject/qdict.h"
#include "ubc-pci.h"

#define TRANSLATE_MAX 65536u    /* bytes, and … */
#define SPANS_MAX 64            /* … pieces that they may be in */
#define EE_NORMAL 1
#define EE_TEE 3

/* The monitor's enumerations are numbered as the core's are. */
#define SAME(a, b) QEMU_BUILD_BUG_ON((int)(a) != (int)(b))
SAME(UB_MEMORY_ACCESS_READ, UB_UMMU_READ);
SAME(UB_MEMORY_ACCESS_WRITE, UB_UMMU_WRITE);
SAME(UB_MEMORY_ACCESS_ATOMIC, UB_UMMU_ATOMIC);
SAME(UB_MEMORY_ANSWER_UNSUPPORTED_REQUEST, UB_UMMU_UNSUPPORTED);
SAME(UB_MEMORY_ANSWER_REMOTE_ABORT, UB_UMMU_ABORT);
SAME(UB_MEMORY_ANSWER_PAGE_FAULT, UB_UMMU_FAULT);
SAME(UB_MEMORY_ANSWER_STALL, UB_UMMU_LATER);
SAME(UB_UMMU_REASON_ABORT, UBM_REASON_ABORT);
#undef SAME

/* ---- State --------------------------------------------------------------------------- */

static UbUmmuQueueInfo *queue_info(const UbUmmuQueue *q, unsigned number)
{
    UbUmmuQueueInfo *info = g_new0(UbUmmuQueueInfo, 1);

    info->number = number;
    info->enabled = q->enabled;
    info->failed = q->failed;
    info->reason = MIN(q->reason, UBM_REASON_ABORT);
    info->base = q->base;
    info->size = q->size;
    info->produced = q->prod;
    info->consumed = q->cons;
    return info;
}

static void add_counters(UbUmmuInfo *info, const UbUmmu *u)
{
    UbcCounterList **counters = &info->counters;
    UbUmmuDecisionList **refused = &info->refused;

    for (unsigned i = 0; i < UB_UMMU_COUNTERS_NUM; i++) {
        if (ub_ummu_counter(u, i)) {
            UbcCounter *c = g_new0(UbcCounter, 1);

            c->name = g_strdup(ub_ummu_counter_name(i));
            c->value = ub_ummu_counter(u, i);
            QAPI_LIST_APPEND(counters, c);
        }
    }
    for (unsigned why = 0; why <= UINT8_MAX; why++) {
        if (ub_ummu_refused(u, why)) {
            UbUmmuDecision *d = g_new0(UbUmmuDecision, 1);

            d->decision = why;
            d->reason = g_strdup(ub_ummu_why(why));
            d->count = ub_ummu_refused(u, why);
            QAPI_LIST_APPEND(refused, d);
        }
    }
}

static UbUmmuInfo *ummu_info(UbcPci *s)
{
    UbUmmuInfo *info = g_new0(UbUmmuInfo, 1);
    UbUmmuQueueInfoList **queues = &info->queues;
    UbUmmuState state;

    info->device = object_get_canonical_path(OBJECT(s));
    ubc_pci_lock(s);
    ub_ummu_state(ubc_ummu(s->ubc), &state);
    add_counters(info, ubc_ummu(s->ubc));
    qemu_mutex_unlock(&s->lock);
    info->enabled = state.enabled;
    info->refuses_all = !state.enabled && state.abort;
    info->events = state.events;
    info->permission_tables = state.mapt;
    info->strict = s->cfg.ummu.strict;
    info->positive = s->cfg.ummu.positive;
    info->table = state.tect;
    info->table_config = state.tect_cfg;
    info->tee_table = state.tee_tect;
    info->tee_table_config = state.tee_cfg;
    info->q_default = state.fallback;
    info->pending_errors = state.gerror;
    info->mappings = state.mappings;
    info->stalls = state.stalls;
    info->contexts = state.contexts;
    info->translations = state.translations;
    info->permissions = state.permissions;
    for (unsigned i = 0; i < UBM_CMDQS; i++) {
        if (state.cmdq[i].enabled) {
            QAPI_LIST_APPEND(queues, queue_info(&state.cmdq[i], i));
        }
    }
    info->event_queue = queue_info(&state.evtq, 0);
    info->events_lost = state.lost;
    info->events_merged = state.merged;
    return info;
}

static void add_ummu(UbcPci *s, void *opaque)
{
    UbUmmuInfoList ***tail = opaque;

    QAPI_LIST_APPEND(*tail, ummu_info(s));
}

UbUmmuInfoList *qmp_query_ub_ummu(Error **errp)
{
    UbUmmuInfoList *list = NULL, **tail = &list;

    ubc_pci_foreach(add_ummu, &tail);
    return list;
}

/* ---- An access ------------------------------------------------------------------------- */

/* Whose TECTE it is; false: *errp says why there is none. */
static bool who_asks(UbUmmu *u, UbUmmuAccess *a, const char *eid, bool has_tag,
                     uint16_t tag, Error **errp)
{
    uint8_t bytes[16];

    if ((eid != NULL) + has_tag + a->bare > 1) {
        error_setg(errp, "eid, tag and bare exclude each other");
        return false;
    }
    if (eid && !ubc_pci_parse_guid(eid, bytes)) {
        error_setg(errp, "eid must have 32 hexadecimal digits");
        return false;
    }
    a->tag_en = has_tag;
    a->tag = tag;
    if (eid) {
        a->tag_en = ub_ummu_tag(u, bytes, &a->tag);
        a->entity = UINT_MAX;   /* nobody, unless it has a tag */
    }
    return true;
}

static UbTranslation *translation(const UbUmmuAccess *a, UbUmmuResult r,
                                  const UbUmmuSpan *span, unsigned n)
{
    UbTranslation *t = g_new0(UbTranslation, 1);
    UbMemorySpanList **spans = &t->spans;

    t->answer = (UbMemoryAnswer)r;
    for (unsigned i = 0; i < n; i++) {
        UbMemorySpan *m = g_new0(UbMemorySpan, 1);

        m->address = span[i].addr;
        m->length = span[i].len;
        QAPI_LIST_APPEND(spans, m);
    }
    if (r != UB_UMMU_OK) {
        t->has_decision = true;
        t->decision = a->why;
        t->reason = g_strdup(ub_ummu_why(a->why));
        t->has_stage = a->why >= UBM_WHY_MATTWD &&
                       a->why <= UBM_WHY_PERMISSION;
        t->stage = a->s2 ? 2 : 1;
    }
    return t;
}

UbTranslation *qmp_ub_translate(const char *device, uint64_t address,
                                bool has_length, uint32_t length,
                                bool has_access, UbMemoryAccess access,
                                bool has_token_id, uint32_t token_id,
                                bool has_token_value, uint32_t token_value,
                                const char *eid, bool has_tag, uint16_t tag,
                                bool has_bare, bool bare, bool has_exclusive,
                                bool exclusive, bool has_tee, bool tee,
                                bool has_local, bool local, Error **errp)
{
    UbUmmuAccess a = {
        .kind = has_access ? access : UB_MEMORY_ACCESS_READ,
        .token_en = has_token_value,
        .token = token_value,
        .token_id = has_token_id ? token_id : 0,
        .e_bit = has_exclusive && exclusive,
        .bare = has_bare && bare,
        .local = has_local && local,
        .ee = has_tee && tee ? EE_TEE : EE_NORMAL,
        .addr = address,
        .len = has_length ? length : 1,
    };
    UbcPci *s = ubc_pci_find(device, errp);
    g_autofree UbUmmuSpan *span = g_new(UbUmmuSpan, SPANS_MAX);
    UbTranslation *t = NULL;
    UbUmmuResult r;
    unsigned n;

    if (!s) {
        return NULL;
    }
    if (!a.len || a.len > TRANSLATE_MAX || a.token_id >> 20 ||
        address + a.len - 1 < address) {
        error_setg(errp, "length is 1 to %u, token-id has 20 bits, and an "
                   "access ends with the addresses", TRANSLATE_MAX);
        return NULL;
    }
    ubc_pci_lock(s);
    if (!ub_ummu_decides(ubc_ummu(s->ubc))) {
        error_setg(errp, "the UMMU of %s is off: plain segments decide",
                   device);
    } else if (who_asks(ubc_ummu(s->ubc), &a, eid, has_tag, tag, errp)) {
        r = ub_ummu_probe(ubc_ummu(s->ubc), &a, span, SPANS_MAX, &n);
        t = translation(&a, r, span, n);
    }
    qemu_mutex_unlock(&s->lock);
    return t;
}

/* ---- In words ---------------------------------------------------------------------------- */

static void queue_text(GString *buf, const char *name,
                       const UbUmmuQueueInfo *q)
{
    g_string_append_printf(buf, "  %s %u: at 0x%" PRIx64 ", %u entries, "
                           "produced %u, consumed %u%s%s\n", name, q->number,
                           q->base, q->size, q->produced, q->consumed,
                           q->failed ? ", waits for software: " : "",
                           q->failed ? UbUmmuReason_str(q->reason) : "");
}

static void ummu_text(GString *buf, const UbUmmuInfo *i)
{
    g_string_append_printf(
        buf, "%s UMMU: %s, permission tables %s, events %s%s%s\n"
        "  TECT at 0x%" PRIx64 " config 0x%x, %u EIDs mapped, default 0x%x\n"
        "  cached: %u contexts, %u translations, %u permissions; %u stalls\n",
        i->device, i->enabled ? "on" : i->refuses_all ? "refuses all" : "off",
        i->permission_tables ? "on" : "off", i->events ? "on" : "off",
        i->strict ? ", strict" : "", i->positive ? ", Positive PLB" : "",
        i->table, i->table_config, i->mappings, i->q_default, i->contexts,
        i->translations, i->permissions, i->stalls);
    for (UbUmmuQueueInfoList *q = i->queues; q; q = q->next) {
        queue_text(buf, "command queue", q->value);
    }
    if (i->event_queue->enabled) {
        queue_text(buf, "event queue", i->event_queue);
    }
    for (UbcCounterList *c = i->counters; c; c = c->next) {
        g_string_append_printf(buf, "  %s %" PRIu64 "\n", c->value->name,
                               c->value->value);
    }
    for (UbUmmuDecisionList *d = i->refused; d; d = d->next) {
        g_string_append_printf(buf, "  refused by %u (%s): %" PRIu64 "\n",
                               d->value->decision, d->value->reason,
                               d->value->count);
    }
}

/* info ub-ummu [device] */
static void hmp_info_ub_ummu(Monitor *mon, const QDict *args)
{
    const char *device = qdict_get_try_str(args, "device");
    UbUmmuInfoList *list = NULL, **tail = &list;
    g_autoptr(GString) buf = g_string_new("");
    Error *err = NULL;
    UbcPci *s;

    if (!device) {
        ubc_pci_foreach(add_ummu, &tail);
    } else if ((s = ubc_pci_find(device, &err))) {
        add_ummu(s, &tail);
    }
    for (UbUmmuInfoList *e = list; e; e = e->next) {
        ummu_text(buf, e->value);
    }
    qapi_free_UbUmmuInfoList(list);
    if (!hmp_handle_error(mon, err)) {
        monitor_puts(mon, buf->str);
    }
}

static void translation_text(GString *buf, const UbTranslation *t)
{
    for (UbMemorySpanList *m = t->spans; m; m = m->next) {
        g_string_append_printf(buf, "%u bytes at 0x%" PRIx64 "\n",
                               m->value->length, m->value->address);
    }
    if (t->has_decision) {
        g_string_append_printf(buf, "%s by decision %u: %s\n",
                               UbMemoryAnswer_str(t->answer), t->decision,
                               t->reason);
    }
    if (t->has_stage) {
        g_string_append_printf(buf, "of stage %u\n", t->stage);
    }
}

/* info ub-translate device token-id address [length [access [value [tag]]]] */
static void hmp_info_ub_translate(Monitor *mon, const QDict *args)
{
    const char *kind = qdict_get_try_str(args, "access");
    g_autoptr(GString) buf = g_string_new("");
    Error *err = NULL;
    UbTranslation *t = NULL;
    int access = UB_MEMORY_ACCESS_READ;

    if (kind) {
        access = qapi_enum_parse(&UbMemoryAccess_lookup, kind, -1, &err);
    }
    if (!err) {
        t = qmp_ub_translate(
            qdict_get_str(args, "device"), qdict_get_int(args, "address"),
            true, qdict_get_try_int(args, "length", 1), true, access, true,
            qdict_get_int(args, "token_id"), qdict_haskey(args, "token_value"),
            qdict_get_try_int(args, "token_value", 0), NULL,
            qdict_haskey(args, "tag"), qdict_get_try_int(args, "tag", 0),
            false, false, false, false, false, false, false, false, &err);
    }
    if (t) {
        translation_text(buf, t);
        qapi_free_UbTranslation(t);
    }
    if (!hmp_handle_error(mon, err)) {
        monitor_puts(mon, buf->str);
    }
}

static void ubc_ummu_register_hmp(void)
{
    monitor_register_hmp("ub-ummu", true, hmp_info_ub_ummu);
    monitor_register_hmp("ub-translate", true, hmp_info_ub_translate);
}

type_init(ubc_ummu_register_hmp);
