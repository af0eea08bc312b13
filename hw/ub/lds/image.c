/*
 * Load and store: migration.  No processor waits then, who still does gets all ones;
 * and what the decoder remembers of its tables stays behind.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "internal.h"

#define LDS_TAG CORE_TAG('L', 'D', 'S', ' ')
#define LDS_VERSION 2

/* What the transaction layer saves of those that it has, it saves again. */
static void request_image(CoreImage *im, UbTaRequest *r)
{
    core_image_int(im, &r->id);
    core_image_int(im, &r->dest);
    core_image_int(im, &r->opcode);
    core_image_int(im, &r->order);
    core_image_int(im, &r->ee);
    core_image_int(im, &r->sub);
    core_image_flag(im, &r->token_en);
    core_image_int(im, &r->token);
    core_image_int(im, &r->token_id);
    core_image_int(im, &r->addr);
    core_image_int(im, &r->len);
    core_image_bytes(im, r->be, sizeof(r->be));
}

static bool row_of_entry(const UbLds *l, uint32_t row)
{
    return l->matt && row >= LDS_MATT_ROW(0) &&
           row < LDS_MATT_ROW(UB_LDS_MATT_ENTRIES);
}

/* Rows of the UBFM's entries are in no image: those that are used are made anew.  An
 * entry that is no more has none, and its accesses fail. */
static void make_rows(UbLds *l)
{
    for (const LdsOp *op = l->first; op; op = op->next) {
        LdsMattEntry e;
        LdsTarget to = { 0 };
        unsigned i = op->req.dest - LDS_MATT_ROW(0);

        if (row_of_entry(l, op->req.dest) && lds_matt_entry(l, i, &e) &&
            !lds_matt_target(l, i, &e, e.first, &to)) {
            lds_target_check(l, &to);
        }
    }
}

/* NULL, or the rule that an operation breaks. */
static const char *op_check(const UbLds *l, const LdsOp *op)
{
    static const uint32_t longest[LDS_KINDS] = {
        [LDS_STORE] = LDS_LINE, [LDS_COMMAND] = LDS_SLOT_BYTES,
    };
    const UbTaRequest *r = &op->req;
    uint32_t need = op->kind == LDS_COMMAND ? 2 * r->len : r->len;
    bool right;

    if (op->kind == LDS_STORE) {
        right = r->opcode == UB_TA_WRITE || r->opcode == UB_TA_WRITE_BE;
    } else {
        right = op->kind == LDS_COMMAND &&
                (r->opcode == UB_TA_WRITE || r->opcode == UB_TA_READ ||
                 ub_ta_op(r->opcode)->kind == UB_TA_ATOMIC);
    }
    if (!right || !r->len || r->len > longest[op->kind] || need > op->room) {
        return "access of a kind or length that does not exist";
    }
    right = l->matt ? row_of_entry(l, r->dest) : op->posted || r->dest < UB_TA_DESTS;
    return right ? NULL : "access to a destination that does not exist";
}

/* What is left of it, by our clock; at most what one has that begins now. */
static void deadline_image(UbLds *l, CoreImage *im, int64_t *deadline)
{
    int64_t ahead = core_image_now(im) - l->now;
    int64_t at = *deadline + ahead;

    core_image_deadline(im, &at);
    if (core_image_loading(im)) {
        *deadline = MIN(at - ahead, l->now + l->cfg.timeout);
    }
}

static void op_image(UbLds *l, CoreImage *im, LdsOp *op)
{
    uint32_t room = op ? op->room : 0;
    bool fresh = !op;

    core_image_count(im, &room, LDS_LINE, "access that is too long");
    if (core_image_error(im)) {
        return;
    }
    if (fresh) {
        op = g_malloc0(sizeof(*op) + MAX(room, sizeof(uint64_t)));
        op->room = room;
    }
    request_image(im, &op->req);
    core_image_int(im, &op->kind);
    core_image_flag(im, &op->posted);
    core_image_flag(im, &op->barrier);
    core_image_int(im, &op->slot);
    core_image_int(im, &op->pa);
    core_image_int(im, &op->serial);
    core_image_int(im, &op->epoch);
    deadline_image(l, im, &op->deadline);
    core_image_bytes(im, op->data, room);
    if (!core_image_check(im, op->kind < LDS_KINDS &&
                          op->slot < UB_LDS_SLOTS &&
                          (!l->last || !fresh ||
                           op->serial > l->last->serial) &&
                          op->serial < l->next_serial &&
                          op->req.id == op->serial,
                          "access that cannot be")) {
        if (fresh) {
            g_free(op);
        }
    } else if (fresh) {
        lds_op_link(l, op);
    }
}

static void slot_image(CoreImage *im, LdsSlot *s)
{
    core_image_bytes(im, s->data, sizeof(s->data));
    core_image_bytes(im, s->result, sizeof(s->result));
    core_image_int(im, &s->addr);
    core_image_int(im, &s->status);
}

void ub_lds_image(UbLds *l, CoreImage *im)
{
    uint32_t n;
    LdsOp *op;

    if (core_image_loading(im)) {
        ub_lds_reset(l, core_image_now(im));
    } else {
        ub_lds_cancel_all(l, core_image_now(im));
        lds_matt_sweep(l);
        lds_line_push(l);
    }
    core_image_begin(im, LDS_TAG, LDS_VERSION);
    core_image_same(im, l->cfg.window, "another size of the window");
    core_image_same(im, l->cfg.mode, "another service mode of the window");
    core_image_int(im, &l->next_serial);
    core_image_int(im, &l->epoch);
    core_image_flag(im, &l->barrier);
    core_image_int(im, &l->failed_stores);
    for (unsigned i = 0; i < UB_LDS_SLOTS; i++) {
        slot_image(im, &l->slot[i]);
    }
    n = l->all;
    /* The line that was open is one store more. */
    core_image_count(im, &n, l->cfg.loads + lds_stores_most(l) + 1,
                     "more accesses under way than there may be");
    for (op = l->first; n-- && !core_image_error(im);) {
        LdsOp *next = op ? op->next : NULL;

        op_image(l, im, op);
        op = next;
    }
    core_image_end(im);
    if (core_image_error(im)) {
        ub_lds_reset(l, core_image_now(im));
    }
}

UbTaRequest *ub_lds_adopt(UbLds *l, uint64_t id)
{
    for (LdsOp *op = l->first; op; op = op->next) {
        if (op->req.id == id && op->posted && !op->adopted) {
            op->adopted = true;
            return &op->req;
        }
    }
    return NULL;
}

const char *ub_lds_loaded(UbLds *l)
{
    UbTaQueueConfig cfg = lds_queue_config(l);
    UbTaQueue *q = ub_ta_queue(l->ta, cfg.rcid);
    uint64_t busy = 0;
    const char *why;

    if (q && !ub_ta_queue_fits(q, &cfg, false)) {
        return "accesses by a queue that is not the window's";
    }
    /* Registers come as they are, with those of all others. */
    if (ub_slice_get(l->vendor, UB_LDS_VD_VECTOR) >= l->cfg.vectors) {
        return "events of the window have a vector beyond the MSI-X table";
    }
    for (LdsOp *op = l->first; op; op = op->next) {
        op->req.user = l;
        why = op_check(l, op);
        if (why) {
            return why;
        }
        if (op->posted && !op->adopted) {
            return "access that the transaction layer does not know";
        }
        if (op->kind == LDS_COMMAND) {
            busy |= UINT64_C(1) << op->slot;
        }
    }
    for (unsigned i = 0; i < UB_LDS_SLOTS; i++) {
        if (!!(l->slot[i].status & UB_LDS_SLOT_BUSY) != (busy >> i & 1)) {
            return "a slot is busy without a command, or has one and is not";
        }
    }
    make_rows(l);
    lds_ops_pump(l);
    return NULL;
}
