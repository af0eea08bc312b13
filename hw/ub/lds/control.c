/*
 * Load and store: the control page, with the fence and the command slots.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "internal.h"

#define SLOT_BYTES 0x100u
#define SLOTS_AT UB_LDS_SLOT(0)

/* ---- Slots --------------------------------------------------------------------------- */

/* NULL: not in a slot. */
static LdsSlot *slot_at(UbLds *l, uint32_t at)
{
    uint32_t n = (at - SLOTS_AT) / SLOT_BYTES;

    return at >= SLOTS_AT && n < UB_LDS_SLOTS ? &l->slot[n] : NULL;
}

static void slot_refuse(UbLds *l, LdsSlot *s, unsigned event, uint64_t pa,
                        bool store)
{
    UbTaStatus status = event == UB_LDS_EVENT_REMOTE ? UB_TAS_OPCODE
                                                     : UB_TAS_OK;

    memset(s->result, 0xff, sizeof(s->result));
    s->status = UB_LDS_SLOT_DONE |
                (uint64_t)event << UB_LDS_SLOT_EVENT_SHIFT |
                (uint64_t)status << UB_LDS_SLOT_STATUS_SHIFT;
    lds_failed(l, event, pa, store, status);
}

/* How many operands of @len bytes an opcode sends; -1: none of a slot. */
static int operands(uint8_t opcode)
{
    return opcode == UB_TA_READ ? 0 : opcode == UB_TA_WRITE ? 1 :
           ub_ta_op(opcode)->kind == UB_TA_ATOMIC ? 2 : -1;
}

static unsigned slot_target(UbLds *l, LdsSlot *s, uint64_t pa, uint32_t len,
                            LdsTarget *to)
{
    uint64_t end = (pa & ((1u << UB_LDS_PAGE_BITS) - 1)) + len;
    unsigned event;

    if (s->addr >= l->cfg.window - UB_LDS_CONTROL) {
        return UB_LDS_EVENT_RANGE;
    }
    if (!lds_room(l, LDS_COMMAND)) {
        return UB_LDS_EVENT_REFUSED;
    }
    if (end > 1u << UB_LDS_PAGE_BITS) {
        return UB_LDS_EVENT_RANGE;
    }
    event = lds_decode(l, pa, to);
    return event ? event : lds_target_check(l, to);
}

static void slot_go(UbLds *l, LdsSlot *s, uint64_t go)
{
    uint8_t opcode = go;
    uint32_t len = go >> 8 & 0xff;
    int n = operands(opcode);
    uint64_t pa = lds_pa(l, s->addr);
    LdsTarget to = { 0 };
    unsigned event;
    LdsOp *op;

    if (s->status & UB_LDS_SLOT_BUSY) {
        lds_guest_error(l, "command in a slot whose last is not done");
        return;
    }
    l->counter[UB_LDS_COMMANDS_COUNT]++;
    lds_line_push(l);
    event = n < 0 || !len || len > LDS_SLOT_BYTES
            ? UB_LDS_EVENT_REMOTE : slot_target(l, s, pa, len, &to);
    if (event) {
        slot_refuse(l, s, event, pa, opcode != UB_TA_READ);
        return;
    }
    op = lds_op_new(l, LDS_COMMAND, &to, pa, opcode, len, 2 * len);
    op->slot = s - l->slot;
    op->req.sub = go >> 16 & 0xf;
    if (n) {
        memcpy(op->data, s->data, len);
        memcpy(op->data + len, s->data + LDS_SLOT_BYTES, len);
    }
    s->status = UB_LDS_SLOT_BUSY;
    lds_op_begin(l, op);
}

static uint64_t slot_load(const LdsSlot *s, uint32_t at, unsigned len)
{
    uint8_t b[8] = { 0 };

    if (at < UB_LDS_SLOT_RESULT) {
        memcpy(b, s->data + at, len);
    } else if (at < UB_LDS_SLOT_ADDR) {
        memcpy(b, s->result + (at - UB_LDS_SLOT_RESULT), len);
    } else {
        put_le64(b, at == UB_LDS_SLOT_ADDR ? s->addr :
                    at == UB_LDS_SLOT_STATUS || at == UB_LDS_SLOT_WAIT
                    ? s->status : 0);
    }
    return get_le64(b);
}

static bool slot_store(UbLds *l, LdsSlot *s, uint32_t at, unsigned len,
                       uint64_t value)
{
    uint8_t b[8];

    if (at < UB_LDS_SLOT_RESULT) {
        put_le64(b, value);
        memcpy(s->data + at, b, len);
        return true;
    }
    if (len != 8 || (at != UB_LDS_SLOT_ADDR && at != UB_LDS_SLOT_GO)) {
        return false;
    }
    if (at == UB_LDS_SLOT_ADDR) {
        s->addr = value;
    } else {
        slot_go(l, s, value);
    }
    return true;
}

/* ---- The page -------------------------------------------------------------------------- */

static void fence(UbLds *l)
{
    l->counter[UB_LDS_FENCES_COUNT]++;
    lds_line_push(l);
}

/* False: @w waits until the requests so far are done. */
static bool fence_load(UbLds *l, UbLdsWait *w, uint64_t *value)
{
    fence(l);
    if (lds_fenced(l, l->next_serial)) {
        *value = lds_fence_value(l);
        return true;
    }
    if (!w) {
        lds_failed(l, UB_LDS_EVENT_REFUSED, 0, false, UB_TAS_OK);
        *value = UINT64_MAX;
        return true;
    }
    w->serial = l->next_serial;
    lds_wait_add(l, w, LDS_WAIT_FENCE);
    return false;
}

static uint64_t register_load(UbLds *l, uint32_t at)
{
    switch (at) {
    case UB_LDS_MADE:
        lds_line_push(l);
        return l->next_serial;
    case UB_LDS_OLDEST:
        return lds_oldest(l, l->asked_first, l->asked_last);
    case UB_LDS_PENDING:
        return l->all + l->line.open;
    case UB_LDS_FAILED:
        return lds_all_failed(l);
    default:
        return 0;
    }
}

static bool register_store(UbLds *l, uint32_t at, unsigned len, uint64_t value)
{
    switch (at) {
    case UB_LDS_FENCE:
        fence(l);
        l->barrier = true;
        return true;
    case UB_LDS_OLDEST:
        if (len == 8) {
            l->asked_first = value & 0xfffffff;
            l->asked_last = value >> 32 & 0xfffffff;
        }
        return len == 8;
    default:
        return false;
    }
}

bool lds_control_load(UbLds *l, uint32_t at, unsigned len, UbLdsWait *w,
                      uint64_t *value)
{
    LdsSlot *s = slot_at(l, at);
    uint32_t in = at % SLOT_BYTES;

    if (!s && at == UB_LDS_FENCE) {
        return fence_load(l, w, value);
    }
    if (s && in == UB_LDS_SLOT_WAIT && s->status & UB_LDS_SLOT_BUSY && w) {
        w->slot = s - l->slot;
        lds_wait_add(l, w, LDS_WAIT_SLOT);
        return false;
    }
    *value = s ? slot_load(s, in, len) : register_load(l, at);
    return true;
}

void lds_control_store(UbLds *l, uint32_t at, unsigned len, uint64_t value)
{
    LdsSlot *s = slot_at(l, at);

    if (!(s ? slot_store(l, s, at % SLOT_BYTES, len, value)
            : register_store(l, at, len, value))) {
        lds_guest_error(l, "store to the control page where nothing can be stored");
    }
}
