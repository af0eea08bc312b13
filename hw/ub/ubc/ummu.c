/*
 * The UMMU in the controller: whose memory, interrupts and Entities it has.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <glib.h>

#include "internal.h"

/* Commands of one turn. */
#define UMMU_BUDGET 256

static bool ummu_read(void *opaque, uint64_t addr, void *buf, uint32_t len)
{
    return ubc_dma_read(opaque, addr, buf, len);
}

/* For a monitor's question: neither counted nor told. */
static bool ummu_peek(void *opaque, uint64_t addr, void *buf, uint32_t len)
{
    Ubc *ubc = opaque;

    return ubc->ops.dma_peek ? ubc->ops.dma_peek(ubc->opaque, addr, buf, len)
                             : ubc->ops.dma_read(ubc->opaque, addr, buf, len);
}

static bool ummu_write(void *opaque, uint64_t addr, const void *buf,
                       uint32_t len)
{
    return ubc_dma_write(opaque, addr, buf, len);
}

static bool ummu_exchange(void *opaque, uint64_t addr, void *was, const void *now,
                          uint32_t len, bool *same)
{
    return ubc_dma_exchange(opaque, addr, was, now, len, same);
}

static bool ummu_eid(void *opaque, unsigned entity, uint8_t eid[16])
{
    Ubc *ubc = opaque;
    const UbEid *found = ub_sec_entity(ub_node_sec(ubc->node), entity, NULL);

    if (found) {
        memcpy(eid, found->b, sizeof(found->b));
    }
    return found;
}

static void ummu_resolved(void *opaque, uint32_t stall, bool abort)
{
    Ubc *ubc = opaque;

    ub_ta_resolve(ub_node_ta(ubc->node), stall, abort);
}

static const UbUmmuOps ummu_ops = {
    .read = ummu_read,
    .peek = ummu_peek,
    .write = ummu_write,
    .exchange = ummu_exchange,
    .eid = ummu_eid,
    .interrupt = ubc_above_interrupt,
    .kick = ubc_above_kick,
    .resolved = ummu_resolved,
    .guest_error = ubc_above_error,
};

void ubc_ummu_init(Ubc *ubc)
{
    UbUmmuConfig conf = ubc->conf.ummu;

    conf.vectors = UBC_VECTORS;
    ubc->ummu = ub_ummu_new(&conf, &ummu_ops, ubc);
    ub_urma_set_ummu(ubc->urma, ubc->ummu);
}

void ubc_ummu_free(Ubc *ubc)
{
    ub_ummu_free(ubc->ummu);
}

int64_t ubc_ummu_run(Ubc *ubc)
{
    if (!ubc->master) {
        return INT64_MAX;
    }
    ub_ummu_turn(ubc->ummu);
    return ub_ummu_run(ubc->ummu, UMMU_BUDGET) ? ubc->now : INT64_MAX;
}

uint32_t ubc_ummu_read(Ubc *ubc, uint32_t at)
{
    return ub_ummu_reg_read(ubc->ummu, at - UBM_WINDOW);
}

void ubc_ummu_write(Ubc *ubc, uint32_t at, uint32_t value)
{
    ub_ummu_reg_write(ubc->ummu, at - UBM_WINDOW, value);
}
