/*
 * Load and store: the decoder's registers and its command queue.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "internal.h"

/* Commands of a turn. */
#define BUDGET 64

typedef enum Outcome { CMD_DONE, CMD_WAITS, CMD_ILLEGAL, CMD_ABORT } Outcome;

/* ---- Commands -------------------------------------------------------------------------- */

/* Accesses by entries that were invalidated are over: those that their owner takes
 * back are nobody's any more.  Those of others, to a peer that is silent perhaps, hold
 * nobody up. */
static Outcome sync_do(UbLds *l, uint64_t q0, uint64_t q1)
{
    uint8_t data[4];

    /* Others go on combining, as often as it is looked at. */
    if (l->line.epoch != l->epoch) {
        lds_line_push(l);
    }
    if (lds_ops_before(l, l->epoch)) {
        return CMD_WAITS;
    }
    if ((q0 >> UB_LDS_SYNC_HOW_SHIFT & 3) == UB_LDS_SYNC_WRITE) {
        put_le32(data, q0 >> 32);
        if (!l->ops.write(l->opaque, q1 & 0x000ffffffffffffcull, data,
                          sizeof(data))) {
            return CMD_ABORT;
        }
    }
    return CMD_DONE;
}

static Outcome command_do(UbLds *l, uint64_t q0, uint64_t q1)
{
    switch (q0 & 0xff) {
    case UB_LDS_CMD_SYNC:
        return sync_do(l, q0, q1);
    case UB_LDS_CMD_INVALIDATE_ALL:
        lds_invalidate(l, 0, UINT32_MAX);
        return CMD_DONE;
    case UB_LDS_CMD_INVALIDATE:
        lds_invalidate(l, q0 >> 32 & 0xfffffff, q1 & 0xfffffff);
        return CMD_DONE;
    default:
        return CMD_ILLEGAL;
    }
}

/* The error bit differs from its acknowledgement until software makes them the
 * same. */
static void command_failed(UbLds *l, unsigned reason)
{
    bool resp = lds_reg(l, UB_DECODER_CMDQ_PROD) &
                UB_DECODER_CMDQ_PROD__CMDQ_ERR_RESP;

    ub_slice_set(l->decoder, UB_DECODER_CMDQ_CONS,
                 UB_DECODER_CMDQ_CONS__CMDQ_ERR |
                 UB_DECODER_CMDQ_CONS__CMDQ_ERR_REASON,
                 (resp ? 0 : UB_DECODER_CMDQ_CONS__CMDQ_ERR) |
                 UB_SPACE_PUT(UB_DECODER_CMDQ_CONS__CMDQ_ERR_REASON, reason));
}

static Outcome command_at(UbLds *l, uint32_t index)
{
    uint8_t e[UB_LDS_QUEUE_ENTRY];
    Outcome outcome;

    if (!lds_read(l, lds_reg64(l, UB_DECODER_CMDQ_BASE_ADDR) +
                  index * UB_LDS_QUEUE_ENTRY, e, sizeof(e))) {
        return CMD_ABORT;
    }
    outcome = command_do(l, get_le64(e), get_le64(e + 8));
    if (outcome == CMD_ILLEGAL) {
        lds_guest_error(l, "decoder command that does not exist");
        lds_bad_command(l, e[0]);
    }
    return outcome;
}

static uint32_t index_mask(uint32_t log2)
{
    return (2u << CLAMP(log2, 1, UB_LDS_QUEUE_LOG2_MAX)) - 1;
}

static uint32_t cmdq_mask(const UbLds *l)
{
    return index_mask(UB_SPACE_GET(UB_DECODER_CMDQ_CFG__CMDQ_DEPTH_USE,
                                   lds_reg(l, UB_DECODER_CMDQ_CFG)));
}

/* The next is taken; false: there is none, or it cannot be. */
static bool command_next(UbLds *l)
{
    uint32_t mask = cmdq_mask(l);
    uint32_t prod = lds_reg(l, UB_DECODER_CMDQ_PROD);
    uint32_t cons = lds_reg(l, UB_DECODER_CMDQ_CONS);

    if (!(lds_reg(l, UB_DECODER_CMDQ_CFG) & UB_DECODER_CMDQ_CFG__CMDQ_EN) ||
        (prod ^ cons) & UB_DECODER_CMDQ_CONS__CMDQ_ERR ||
        !((prod ^ cons) & mask)) {
        return false;
    }
    switch (command_at(l, cons & mask >> 1)) {
    case CMD_DONE:
        l->counter[UB_LDS_QUEUE_COMMANDS_COUNT]++;
        ub_slice_set(l->decoder, UB_DECODER_CMDQ_CONS,
                     UB_DECODER_CMDQ_CONS__CMDQ_RD_IDX |
                     UB_DECODER_CMDQ_CONS__CMDQ_ERR_REASON, (cons + 1) & mask);
        return true;
    case CMD_WAITS:
        return false;
    case CMD_ILLEGAL:
        command_failed(l, UB_LDS_ERR_ILLEGAL);
        return false;
    default:
        command_failed(l, UB_LDS_ERR_ABORT);
        return false;
    }
}

bool lds_commands_serve(UbLds *l)
{
    for (unsigned i = 0; i < BUDGET; i++) {
        if (!command_next(l)) {
            return false;
        }
    }
    return true;
}

/* ---- Registers --------------------------------------------------------------------------- */

static void put_back(UbSlice *s, const UbSliceWrite *w)
{
    ub_slice_set(s, w->dw, ~0u, w->value ^ w->changed);
}

static void prod_written(UbLds *l, UbSlice *s, const UbSliceWrite *w)
{
    uint32_t mask = cmdq_mask(l);
    uint32_t more = (w->value - lds_reg(l, UB_DECODER_CMDQ_CONS)) & mask;

    if (more > (mask + 1) / 2) {
        put_back(s, w);
        lds_guest_error(l, "more decoder commands than the queue has entries");
        return;
    }
    l->ops.kick(l->opaque);
}

/* What may be written while its queue is disabled only; the rest of CFG is the
 * bit that enables. */
static void written_still(UbLds *l, UbSlice *s, const UbSliceWrite *w,
                          uint32_t was, uint32_t enable)
{
    uint32_t fixed = w->dw == UB_DECODER_CMDQ_CFG ||
                     w->dw == UB_DECODER_EVENTQ_CFG ? w->changed & ~enable
                                                    : w->changed;

    if (was & enable && fixed) {
        ub_slice_set(s, w->dw, fixed, ~w->value);
        lds_guest_error(l, "decoder queue changed while it is enabled");
    }
}

static void decoder_written(void *opaque, UbSlice *s, const UbSliceWrite *w)
{
    UbLds *l = opaque;
    uint32_t old = w->value ^ w->changed;

    switch (w->dw) {
    case UB_DECODER_CTRL:
    case UB_DECODER_MATT_BA:
    case UB_DECODER_MATT_BA + 1:
        lds_invalidate(l, 0, UINT32_MAX);
        break;
    case UB_DECODER_CMDQ_CFG:
        written_still(l, s, w, old, UB_DECODER_CMDQ_CFG__CMDQ_EN);
        l->ops.kick(l->opaque);
        break;
    case UB_DECODER_CMDQ_PROD:
        prod_written(l, s, w);
        break;
    case UB_DECODER_CMDQ_CONS:
    case UB_DECODER_CMDQ_BASE_ADDR:
    case UB_DECODER_CMDQ_BASE_ADDR + 1:
        written_still(l, s, w, lds_reg(l, UB_DECODER_CMDQ_CFG),
                      UB_DECODER_CMDQ_CFG__CMDQ_EN);
        break;
    case UB_DECODER_EVENTQ_CFG:
        written_still(l, s, w, old, UB_DECODER_EVENTQ_CFG__EVENTQ_EN);
        break;
    case UB_DECODER_EVENTQ_PROD:
    case UB_DECODER_EVENTQ_BASE_ADDR:
    case UB_DECODER_EVENTQ_BASE_ADDR + 1:
        written_still(l, s, w, lds_reg(l, UB_DECODER_EVENTQ_CFG),
                      UB_DECODER_EVENTQ_CFG__EVENTQ_EN);
        break;
    }
}

static void vendor_written(void *opaque, UbSlice *s, const UbSliceWrite *w)
{
    UbLds *l = opaque;

    if (w->dw == UB_LDS_VD_VECTOR && w->value >= l->cfg.vectors) {
        put_back(s, w);
        lds_guest_error(l, "vector beyond the MSI-X table");
    }
    ub_slice_set(l->decoder, UB_DECODER_USI_IDX, ~0u,
                 ub_slice_get(s, UB_LDS_VD_VECTOR));
    ub_slice_set(l->mem, UB_UB_MEM_MEM, ~0u,
                 ub_slice_get(s, UB_LDS_VD_VECTOR));
}

const UbSliceOps lds_decoder_ops = { decoder_written, NULL };
const UbSliceOps lds_vendor_ops = { vendor_written, NULL };

static const UbSpaceDword vendor_dwords[] = {
    { .dw = 0, .reset = UB_LDS_VD_USED << 4, .name = "Slice Header" },
    { .dw = UB_LDS_VD_WINDOW, .name = "WINDOW" },
    { .dw = UB_LDS_VD_WINDOW + 1, .name = "WINDOW" },
    { .dw = UB_LDS_VD_CONTROL, .name = "CONTROL" },
    { .dw = UB_LDS_VD_CONTROL + 1, .name = "CONTROL" },
    { .dw = UB_LDS_VD_VECTOR, .rw = ~0u, .name = "VECTOR" },
};

const UbSpaceSlice lds_vendor_slice = {
    "CFG1_CAP240_VD", UB_SPACE_CFG1, UB_LDS_CAP, UB_LDS_VD_USED,
    vendor_dwords, G_N_ELEMENTS(vendor_dwords),
};
