/*
 * Load and store: the decoder's event queue, errors, counters, guest memory.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "internal.h"

static const char *const names[] = {
#define UB_LDS_X(id, name) name,
    UB_LDS_COUNTERS(UB_LDS_X)
#undef UB_LDS_X
};

/* What a failed access is counted as. */
static const struct {
    uint8_t event, counter;
} reasons[] = {
    { UB_LDS_EVENT_RANGE, UB_LDS_RANGE_COUNT },
    { UB_LDS_EVENT_TABLE, UB_LDS_TABLE_COUNT },
    { UB_LDS_EVENT_ENTRY, UB_LDS_ENTRY_COUNT },
    { UB_LDS_EVENT_REMOTE, UB_LDS_REMOTE_COUNT },
    { UB_LDS_EVENT_TIMEOUT, UB_LDS_TIMEOUT_COUNT },
    { UB_LDS_EVENT_LINK, UB_LDS_LINK_COUNT },
    { UB_LDS_EVENT_STOPPED, UB_LDS_STOPPED_COUNT },
    { UB_LDS_EVENT_REFUSED, UB_LDS_REFUSED_COUNT },
};

const char *ub_lds_counter_name(unsigned counter)
{
    return counter < UB_LDS_COUNTERS_NUM ? names[counter] : NULL;
}

uint64_t ub_lds_counter(const UbLds *l, UbLdsCounter counter)
{
    return l->counter[counter];
}

uint64_t lds_all_failed(const UbLds *l)
{
    uint64_t sum = 0;

    for (unsigned i = 0; i < G_N_ELEMENTS(reasons); i++) {
        sum += l->counter[reasons[i].counter];
    }
    return sum;
}

bool lds_read(UbLds *l, uint64_t addr, void *buf, uint32_t len)
{
    return l->ops.read(l->opaque, addr, buf, len);
}

void lds_guest_error(UbLds *l, const char *what)
{
    l->ops.guest_error(l->opaque, what);
}

uint32_t lds_reg(const UbLds *l, unsigned dw)
{
    return ub_slice_get(l->decoder, dw);
}

uint64_t lds_reg64(const UbLds *l, unsigned dw)
{
    return lds_reg(l, dw) | (uint64_t)lds_reg(l, dw + 1) << 32;
}

/* ---- The queue --------------------------------------------------------------------- */

/* It has no room: said once, until software has acknowledged (§D.4.1). */
static void overflow(UbLds *l)
{
    bool resp = lds_reg(l, UB_DECODER_EVENTQ_CONS) &
                UB_DECODER_EVENTQ_CONS__EVENTQ_OVFL_ERR_RESP;

    l->counter[UB_LDS_EVENTS_LOST_COUNT]++;
    ub_slice_set(l->decoder, UB_DECODER_EVENTQ_PROD,
                 UB_DECODER_EVENTQ_PROD__EVENTQ_OVFL_ERR,
                 resp ? 0 : UB_DECODER_EVENTQ_PROD__EVENTQ_OVFL_ERR);
}

static void event_put(UbLds *l, uint64_t q0, uint64_t q1)
{
    uint32_t cfg = lds_reg(l, UB_DECODER_EVENTQ_CFG);
    unsigned log2 = UB_SPACE_GET(UB_DECODER_EVENTQ_CFG__EVENTQ_DEPTH_USE, cfg);
    uint32_t wr = lds_reg(l, UB_DECODER_EVENTQ_PROD) &
                  UB_DECODER_EVENTQ_PROD__EVENTQ_WR_IDX;
    uint32_t rd = lds_reg(l, UB_DECODER_EVENTQ_CONS) &
                  UB_DECODER_EVENTQ_CONS__EVENTQ_RD_IDX;
    uint8_t e[UB_LDS_QUEUE_ENTRY];
    uint32_t mask;

    if (!(cfg & UB_DECODER_EVENTQ_CFG__EVENTQ_EN)) {
        l->counter[UB_LDS_EVENTS_LOST_COUNT]++;
        return;
    }
    log2 = CLAMP(log2, 1, UB_LDS_QUEUE_LOG2_MAX);
    mask = (2u << log2) - 1;
    put_le64(e, q0);
    put_le64(e + 8, q1);
    if (((wr ^ rd) & mask) == 1u << log2 ||
        !l->ops.write(l->opaque,
                      lds_reg64(l, UB_DECODER_EVENTQ_BASE_ADDR) +
                      (wr & mask >> 1) * UB_LDS_QUEUE_ENTRY, e, sizeof(e))) {
        overflow(l);
        return;
    }
    l->counter[UB_LDS_EVENTS_COUNT]++;
    ub_slice_set(l->decoder, UB_DECODER_EVENTQ_PROD,
                 UB_DECODER_EVENTQ_PROD__EVENTQ_WR_IDX, (wr + 1) & mask);
    l->ops.interrupt(l->opaque, ub_slice_get(l->vendor, UB_LDS_VD_VECTOR));
}

void lds_failed(UbLds *l, unsigned event, uint64_t pa, bool store,
                UbTaStatus status)
{
    for (unsigned i = 0; i < G_N_ELEMENTS(reasons); i++) {
        if (reasons[i].event == event) {
            l->counter[reasons[i].counter]++;
        }
    }
    if (store) {
        l->failed_stores += l->failed_stores != UINT32_MAX;
    }
    event_put(l, event | (pa >> UB_LDS_PAGE_BITS & 0xfffffff) << 32,
              status | (store ? UB_LDS_EVENT_STORE : 0) |
              (pa & ((1u << UB_LDS_PAGE_BITS) - 1)) << 32);
}

void lds_bad_command(UbLds *l, unsigned opcode)
{
    l->counter[UB_LDS_QUEUE_ERRORS_COUNT]++;
    event_put(l, UB_LDS_EVENT_COMMAND | (uint64_t)opcode << 32, 0);
}
