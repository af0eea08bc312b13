/*
 * Load and store: stores that wait for neighbours, to leave as one Write.
 *
 * A line is an aligned piece of memory; stores into it are gathered until one goes
 * elsewhere, a load or a fence comes, it is full, or its time is over.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "internal.h"

/* The byte enables of @len bytes from @at on, which one byte of them holds. */
static uint8_t enables(uint32_t at, uint32_t len)
{
    return ((1u << len) - 1) << at % 8;
}

static bool whole(const LdsLine *n)
{
    uint32_t len;

    for (uint32_t at = n->from; at < n->end; at += len) {
        len = MIN(8 - at % 8, n->end - at);
        if (enables(at, len) & ~n->be[at / 8]) {
            return false;
        }
    }
    return true;
}

/* The smallest aligned block that Write_with_be can have around what is stored. */
static uint32_t block_around(const LdsLine *n, uint32_t *from)
{
    uint32_t size = 64;

    while ((n->from & ~(size - 1)) + size < n->end) {
        size *= 2;
    }
    *from = n->from & ~(size - 1);
    return size;
}

/* Whether one packet takes it as a plain Write: those of CFG 9 are blocks
 * (§7.2.3). */
static bool plain(UbLds *l, const LdsLine *n)
{
    const UbTaDest *row = ub_ta_dest(l->ta, n->to.dest);
    uint32_t len = n->end - n->from;
    bool block = len >= 64 && !(len & (len - 1)) && !(n->from & (len - 1));

    return whole(n) && (block || (row && row->tp.flow.cfg != UB_LPH_BYPASS));
}

void lds_line_push(UbLds *l)
{
    LdsLine *n = &l->line;
    uint32_t from = n->from, len = n->end - n->from;
    uint8_t opcode = UB_TA_WRITE;
    LdsTarget to = n->to;
    LdsOp *op;

    if (!n->open) {
        return;
    }
    n->open = false;
    if (!plain(l, n)) {
        opcode = UB_TA_WRITE_BE;
        len = block_around(n, &from);
    }
    to.uba += from;
    op = lds_op_new(l, LDS_STORE, &to, n->pa + n->from, opcode, len, len);
    op->epoch = n->epoch;
    memcpy(op->data, n->data + from, len);
    if (opcode == UB_TA_WRITE_BE) {
        memcpy(op->req.be, n->be + from / 8, len / 8);
    }
    l->counter[UB_LDS_WRITES_COUNT]++;
    lds_op_begin(l, op);
}

static void merge(LdsLine *n, uint32_t at, const uint8_t *data, unsigned len)
{
    memcpy(n->data + at, data, len);
    n->be[at / 8] |= enables(at, len); /* a store is aligned, of 8 bytes at most */
    n->from = MIN(n->from, at);
    n->end = MAX(n->end, at + len);
}

unsigned lds_line_put(UbLds *l, uint64_t pa, const uint8_t *data, unsigned len)
{
    LdsLine *n = &l->line;
    uint64_t piece = pa & ~(uint64_t)(LDS_LINE - 1);
    unsigned event;

    if (n->open && (n->pa != piece || n->epoch != l->epoch)) {
        lds_line_push(l);
    }
    if (!n->open) {
        LdsTarget to;

        event = lds_decode(l, piece, &to);
        event = event ? event : lds_target_check(l, &to);
        if (event) {
            return event;
        }
        *n = (LdsLine){
            .open = true, .pa = piece, .to = to, .epoch = l->epoch,
            .from = LDS_LINE, .due = l->now + l->cfg.combine,
        };
        l->ops.kick(l->opaque);
    } else {
        l->counter[UB_LDS_COMBINED_COUNT]++;
    }
    merge(n, pa - piece, data, len);
    if (!l->cfg.combine || (n->end - n->from == LDS_LINE && whole(n))) {
        lds_line_push(l);
    }
    return 0;
}
