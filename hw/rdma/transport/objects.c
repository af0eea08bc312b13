/*
 * Completion queues and shared receive queues: numbers with a private area.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "internal.h"

static void *object_new(CoreTable *t, uint32_t num, size_t priv)
{
    Numbered *o;

    if (core_table_get(t, num)) {
        return NULL;
    }
    o = g_malloc0(sizeof(*o) + priv);
    o->num = num;
    core_table_set(t, num, o);
    return o;
}

static void object_free(CoreTable *t, void *object)
{
    core_table_set(t, ((Numbered *)object)->num, NULL);
    g_free(object);
}

static void *object_get(const CoreTable *t, uint32_t num)
{
    Numbered *o = core_table_get(t, num);

    return o && o->num == num ? o : NULL;
}

RdmaCq *rdma_cq_create(RdmaDev *dev, uint32_t cqn)
{
    return object_new(&dev->cqs, cqn, dev->cfg.pers->cq_priv);
}

void rdma_cq_destroy(RdmaDev *dev, RdmaCq *cq)
{
    object_free(&dev->cqs, cq);
}

RdmaCq *rdma_cq_get(RdmaDev *dev, uint32_t cqn)
{
    return object_get(&dev->cqs, cqn);
}

uint32_t rdma_cq_num(const RdmaCq *cq)
{
    return ((const Numbered *)cq)->num;
}

void *rdma_cq_priv(RdmaCq *cq)
{
    return ((Numbered *)cq)->priv;
}

RdmaSrq *rdma_srq_create(RdmaDev *dev, uint32_t srqn)
{
    return object_new(&dev->srqs, srqn, dev->cfg.pers->srq_priv);
}

void rdma_srq_destroy(RdmaDev *dev, RdmaSrq *srq)
{
    object_free(&dev->srqs, srq);
}

RdmaSrq *rdma_srq_get(RdmaDev *dev, uint32_t srqn)
{
    return object_get(&dev->srqs, srqn);
}

uint32_t rdma_srq_num(const RdmaSrq *srq)
{
    return ((const Numbered *)srq)->num;
}

void *rdma_srq_priv(RdmaSrq *srq)
{
    return ((Numbered *)srq)->priv;
}
