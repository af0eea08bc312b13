/*
 * NCIC NIC: what QMP and HMP show of it
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "qemu/osdep.h"
#include "qemu/module.h"
#include "qapi/error.h"
#include "qapi/qapi-commands-ncic.h"
#include "qapi/type-helpers.h"
#include "monitor/monitor.h"
#include "ncic-pci.h"
#include "core/qemu_qdev.h"

static const char *const take_name[] = {
    [NCIC_TAKE_OK] = "ready",
    [NCIC_TAKE_INACTIVE] = "inactive",
    [NCIC_TAKE_EMPTY] = "empty",
    [NCIC_TAKE_CPL_FULL] = "completions-full",
    [NCIC_TAKE_UNARMED] = "unarmed",
    [NCIC_TAKE_OVERRUN] = "overrun",
};

static bool is_touched(const NcicQueue *k)
{
    static const NcicQueue zero;

    return memcmp(k, &zero, sizeof(zero));
}

static NcicQueueInfo *queue_info(const NcicEth *e, NcicDir dir, unsigned q)
{
    const NcicQueue *k = &e->queue[dir][q];
    NcicQueueInfo *i = g_new0(NcicQueueInfo, 1);

    i->direction = g_strdup(dir == NCIC_TX ? "tx" : "rx");
    i->queue = q;
    i->active = k->desc.active && k->cpl.active;
    i->state = g_strdup(take_name[ncic_queue_check(e, dir, q)]);
    i->size = ncic_ring_size(&k->desc);
    i->head = k->desc.head;
    i->tail = k->desc.tail;
    i->completion_size = ncic_ring_size(&k->cpl);
    i->completion_head = k->cpl.head;
    i->completion_tail = k->cpl.tail;
    i->vector = k->intr & NCIC_Q_INDEX_MASK;
    i->interrupt_sent = k->irq_sent;
    return i;
}

static NcicCounter *counter_info(const char *name, uint64_t value)
{
    NcicCounter *c = g_new0(NcicCounter, 1);

    c->name = g_strdup(name);
    c->value = value;
    return c;
}

static char *held_by(const NcicEth *e)
{
    switch (e->rx_blocked_queue) {
    case NCIC_BLOCKED_DMA:
        return g_strdup("dma");
    case NCIC_BLOCKED_FIFO:
        return g_strdup("descriptors");
    default:
        return g_strdup_printf("%" PRIu32, e->rx_blocked_queue);
    }
}

static NcicInfo *device_info(NcicState *s)
{
    const NcicEth *e = &s->eth;
    NcicInfo *n = g_new0(NcicInfo, 1);
    NcicCounterList **faults = &n->faults, **counters = &n->counters;
    NcicQueueInfoList **queues = &n->queues;

    n->device = object_get_canonical_path(OBJECT(s));
    n->link_up = e->ncsr[NCIC_R_LINK_STATUS] & NCIC_LINK_UP;
    n->rdma = s->rdma != NULL;
    n->wire_full = e->tx_owed;
    n->rx_held = e->rx_blocked ? held_by(e) : NULL;
    n->error_status = e->ncsr[NCIC_R_ERR_STATUS];
    for (unsigned f = 0; f < NCIC_FAULTS; f++) {
        if (e->fault[f]) {
            QAPI_LIST_APPEND(faults, counter_info(ncic_fault_name(f),
                                                  e->fault[f]));
        }
    }
    for (unsigned q = 0; q < s->queues; q++) {
        for (unsigned dir = 0; dir < NCIC_DIRS; dir++) {
            if (is_touched(&e->queue[dir][q])) {
                QAPI_LIST_APPEND(queues, queue_info(e, dir, q));
            }
        }
    }
    for (unsigned c = 0; c < NCIC_C_COUNT; c++) {
        QAPI_LIST_APPEND(counters, counter_info(ncic_counter_name(c),
                                                e->counter[c]));
    }
    return n;
}

static int add_device(Object *obj, void *opaque)
{
    NcicInfoList ***tail = opaque;
    NcicState *s = (NcicState *)object_dynamic_cast(obj, TYPE_NCIC_NIC);

    if (s && DEVICE(s)->realized) {
        QAPI_LIST_APPEND(*tail, device_info(s));
    }
    return 0;
}

NcicInfoList *qmp_query_ncic(Error **errp)
{
    NcicInfoList *list = NULL, **tail = &list;

    object_child_foreach_recursive(object_get_root(), add_device, &tail);
    return list;
}

static void print_device(GString *buf, const NcicInfo *n)
{
    g_string_append_printf(buf, "%s: link %s, RDMA engine %s", n->device,
                           n->link_up ? "up" : "down", n->rdma ? "yes" : "no");
    if (n->wire_full) {
        g_string_append_printf(buf, ", wire keeps %" PRIu32 " frames",
                               n->wire_full);
    }
    if (n->rx_held) {
        g_string_append_printf(buf, ", reception waits for %s", n->rx_held);
    }
    g_string_append_printf(buf, ", error status 0x%" PRIx32 "\n",
                           n->error_status);
    for (NcicCounterList *f = n->faults; f; f = f->next) {
        g_string_append_printf(buf, "  %s 0x%" PRIx64 "\n", f->value->name,
                               f->value->value);
    }
    for (NcicQueueInfoList *l = n->queues; l; l = l->next) {
        const NcicQueueInfo *q = l->value;

        g_string_append_printf(
            buf, "  %s %u: %s, head %u tail %u of %" PRIu32
            ", completions head %u tail %u of %" PRIu32 ", vector %u%s\n",
            q->direction, q->queue, q->state, q->head, q->tail, q->size,
            q->completion_head, q->completion_tail, q->completion_size,
            q->vector, q->interrupt_sent ? " sent" : "");
    }
    for (NcicCounterList *c = n->counters; c; c = c->next) {
        if (c->value->value) {
            g_string_append_printf(buf, "  %s %" PRIu64 "\n", c->value->name,
                                   c->value->value);
        }
    }
}

HumanReadableText *qmp_x_query_ncic(Error **errp)
{
    g_autoptr(GString) buf = g_string_new("");
    NcicInfoList *list = qmp_query_ncic(errp);

    for (NcicInfoList *l = list; l; l = l->next) {
        print_device(buf, l->value);
    }
    qapi_free_NcicInfoList(list);
    return human_readable_text_from_str(buf);
}

static void ncic_register_hmp(void)
{
    monitor_register_hmp_info_hrt("ncic", qmp_x_query_ncic);
}

type_init(ncic_register_hmp);
