/*
 * Provider of liburma: completions, without a system call.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "core/bytes.h"
#include "ubc.h"

#define NO_TPN UINT32_MAX
/* Empty polls from one doorbell that says so to the next. */
#define LOOK_AFTER 8

static const struct {
    uint16_t from;
    uint8_t to;
} statuses[] = {
    { UBQ_STATUS_OK, URMA_CR_SUCCESS },
    { UBQ_STATUS_OPCODE, URMA_CR_OPCODE },
    { UBQ_STATUS_LOCAL_LENGTH, URMA_CR_LOCAL_LENGTH },
    { UBQ_STATUS_LOCAL_ACCESS, URMA_CR_LOCAL_ACCESS },
    { UBQ_STATUS_REMOTE_LENGTH, URMA_CR_REMOTE_LENGTH },
    { UBQ_STATUS_LOCAL_POISON, URMA_CR_LOCAL_POISON },
    { UBQ_STATUS_UNSUPPORTED, URMA_CR_REMOTE_UNSUPPORTED },
    { UBQ_STATUS_ABORT, URMA_CR_REMOTE_ABORT },
    { UBQ_STATUS_REMOTE_POISON, URMA_CR_REMOTE_POISON },
    { UBQ_STATUS_RNR, URMA_CR_RNR },
    { UBQ_STATUS_TIMEOUT, URMA_CR_ACK_TIMEOUT },
    { UBQ_STATUS_FLUSHED, URMA_CR_FLUSHED },
    { UBQ_STATUS_FLUSH_DONE, URMA_CR_FLUSH_DONE },
    { UBQ_STATUS_SUSPEND_DONE, URMA_CR_SUSPEND_DONE },
};

static uint32_t status_of(uint32_t w0)
{
    unsigned status = (w0 & UBQ_CQE_STATUS) >> 16 << 8 |
                      (w0 & UBQ_CQE_SUB_STATUS) >> 8;

    for (unsigned i = 0; i < ARRAY_SIZE(statuses); i++) {
        if (statuses[i].from == status) {
            return statuses[i].to;
        }
    }
    return URMA_CR_UNHANDLED;
}

static uint8_t *entry_at(const UbcJfc *j, uint16_t i)
{
    return j->at + (size_t)(i & ((1u << j->log2) - 1)) * UBQ_CQE;
}

/* The entry of index @i if the engine has written it, or NULL. */
static uint8_t *entry_ready(const UbcJfc *j, uint16_t i)
{
    uint8_t *e = entry_at(j, i);
    uint32_t want = i >> j->log2 & 1 ? 0 : UBQ_CQE_OWNER;
    uint32_t w0 = __atomic_load_n((const uint32_t *)e, __ATOMIC_ACQUIRE);

    return (get_le32((const uint8_t *)&w0) ^ want) & UBQ_CQE_OWNER ? NULL : e;
}

/* ---- Whose it is ---------------------------------------------------------------- */

/* All up to this one have ended, since completions are in order. */
static bool send_end(UbcRing *r, uint16_t index, urma_cr *cr)
{
    UbcSlot *slot = &r->slot[index & ubc_ring_mask(r)];

    ubc_ring_lock(r);
    cr->user_ctx = slot->user_ctx;
    cr->completion_len = slot->bytes;
    r->ci = index + slot->blocks;
    ubc_ring_unlock(r);
    return true;
}

static bool recv_end(UbcRing *r, uint16_t index, urma_cr *cr)
{
    uint32_t mask = ubc_ring_mask(r);

    ubc_ring_lock(r);
    cr->user_ctx = r->slot[index & mask].user_ctx;
    r->slot[index & mask].done = true;
    while (r->ci != r->pi && r->slot[r->ci & mask].done) {
        r->slot[r->ci & mask].done = false;
        r->ci++;
    }
    ubc_ring_unlock(r);
    return true;
}

/* The message is not told of, but its entry is free again. */
static void recv_drop(UbcCtx *ctx, const uint8_t *e)
{
    UbcOwner *rq = ubc_owner(ctx, get_le32(e + UBQ_CQE_RQ));
    urma_cr unused;

    if (get_le32(e) & UBQ_CQE_RECEIVE && rq && rq->rq) {
        recv_end(rq->rq, get_le32(e + UBQ_CQE_INDEX), &unused);
    }
}

static uint32_t recv_opcode(uint32_t w0)
{
    switch (w0 & UBQ_CQE_OPCODE) {
    case 0x01:
        return URMA_CR_SEND_IMM;
    case 0x04:
        return URMA_CR_WRITE_IMM;
    default:
        return URMA_CR_SEND;
    }
}

static bool recv_get(UbcCtx *ctx, const uint8_t *e, uint32_t w0, urma_cr *cr)
{
    UbcOwner *rq = ubc_owner(ctx, get_le32(e + UBQ_CQE_RQ));

    if (!rq || !rq->rq) {
        return false;
    }
    cr->flag |= URMA_CR_RECEIVE;
    cr->opcode = recv_opcode(w0);
    cr->completion_len = get_le32(e + UBQ_CQE_BYTES);
    cr->imm_data = w0 & UBQ_CQE_IMM ? get_le64(e + UBQ_CQE_IMMEDIATE) : 0;
    cr->remote_id.id = get_le32(e + UBQ_CQE_REMOTE);
    memcpy(cr->remote_id.eid.raw, e + UBQ_CQE_EID, sizeof(cr->remote_id.eid));
    return recv_end(rq->rq, get_le32(e + UBQ_CQE_INDEX), cr);
}

/* False: it is nobody's any more. */
static bool cr_get(UbcCtx *ctx, const uint8_t *e, urma_cr *cr)
{
    uint32_t w0 = get_le32(e), id = get_le32(e + UBQ_CQE_QUEUE);
    UbcOwner *owner = ubc_owner(ctx, id);

    if (!owner) {
        recv_drop(ctx, e);
        return false;
    }
    *cr = (urma_cr) {
        .status = status_of(w0),
        .local_id = id,
        .flag = owner->jetty ? URMA_CR_JETTY : 0,
        .tpn = NO_TPN,
        .user_data = (uintptr_t)owner->object,
    };
    if (cr->status == URMA_CR_FLUSH_DONE ||
        cr->status == URMA_CR_SUSPEND_DONE) {
        cr->flag |= cr->status == URMA_CR_FLUSH_DONE ? URMA_CR_FLUSH_ENDED
                                                     : URMA_CR_SUSPENDED;
        if (cr->status == URMA_CR_FLUSH_DONE && owner->rq) {
            ubc_recv_stop(&ctx->base, owner->rq);
        }
        return true;
    }
    if (w0 & UBQ_CQE_RECEIVE) {
        return recv_get(ctx, e, w0, cr);
    }
    return owner->sq && send_end(owner->sq, get_le32(e + UBQ_CQE_INDEX), cr);
}

/* ---- JFCs -------------------------------------------------------------------------- */

static void jfc_lock(UbcJfc *j)
{
    if (!j->lock_free) {
        pthread_mutex_lock(&j->lock);
    }
}

static void jfc_unlock(UbcJfc *j)
{
    if (!j->lock_free) {
        pthread_mutex_unlock(&j->lock);
    }
}

static void jfc_tell(UbcJfc *j, unsigned arm)
{
    const UbcCtx *ctx = (const UbcCtx *)j->base.urma_ctx;

    j->told = j->ci;
    ubc_os_bell(ctx->bells, UBQ_BELL_CQ,
                j->base.jfc_id.id | (uint64_t)j->ci << 32 |
                (uint64_t)arm << 48);
}

/* Who polls in vain has time that the engine can use. */
static void poll_on(UbcJfc *j)
{
    if (__atomic_add_fetch(&j->vain, 1, __ATOMIC_RELAXED) % LOOK_AFTER == 0) {
        jfc_lock(j);
        jfc_tell(j, 0);
        jfc_unlock(j);
    }
}

int ubc_poll_jfc(urma_jfc *jfc, int cr_cnt, urma_cr *cr)
{
    UbcJfc *j = (UbcJfc *)jfc;
    UbcCtx *ctx = (UbcCtx *)jfc->urma_ctx;
    const uint8_t *e;
    int n = 0;

    if (!entry_ready(j, __atomic_load_n(&j->ci, __ATOMIC_RELAXED))) {
        poll_on(j);
        return 0;
    }
    jfc_lock(j);
    while (n < cr_cnt && (e = entry_ready(j, j->ci))) {
        n += cr_get(ctx, e, &cr[n]);
        __atomic_store_n(&j->ci, j->ci + 1, __ATOMIC_RELAXED);
    }
    /* Not for each: the engine stops only when it is full. */
    if ((uint16_t)(j->ci - j->told) >= j->late) {
        jfc_tell(j, 0);
    }
    jfc_unlock(j);
    return n;
}

int ubc_rearm_jfc(urma_jfc *jfc, bool solicited_only)
{
    UbcJfc *j = (UbcJfc *)jfc;

    jfc_lock(j);
    jfc_tell(j, solicited_only ? 1 : 2);
    jfc_unlock(j);
    return 0;
}

static bool entry_is_of(const uint8_t *e, uint32_t id, UbcForget which)
{
    bool receive = get_le32(e) & UBQ_CQE_RECEIVE;
    bool queue = get_le32(e + UBQ_CQE_QUEUE) == id;

    switch (which) {
    case UBC_FORGET_SENT:
        return queue && !receive;
    case UBC_FORGET_RQ:
        return queue || (receive && get_le32(e + UBQ_CQE_RQ) == id);
    default:
        return queue;
    }
}

/* The first of them from *@i on that was not read, or NULL. */
static uint8_t *entry_of(const UbcJfc *j, uint32_t id, UbcForget which,
                         uint16_t *i)
{
    uint8_t *e;

    for (; (e = entry_ready(j, *i)) &&
           (uint16_t)(*i - j->ci) < 1u << j->log2; ++*i) {
        if (entry_is_of(e, id, which)) {
            return e;
        }
    }
    return NULL;
}

static void entry_forget(uint8_t *e)
{
    put_le32(e + UBQ_CQE_QUEUE, UINT32_MAX);
    put_le32(e + UBQ_CQE_RQ, UINT32_MAX);
}

int ubc_jfc_flushed(urma_jfc *jfc, uint32_t id, int n, urma_cr *cr)
{
    UbcJfc *j = (UbcJfc *)jfc;
    uint16_t i;
    uint8_t *e;
    int done = 0;

    jfc_lock(j);
    for (i = j->ci;
         done < n && (e = entry_of(j, id, UBC_FORGET_SENT, &i)); i++) {
        if (status_of(get_le32(e)) == URMA_CR_FLUSHED) {
            done += cr_get((UbcCtx *)jfc->urma_ctx, e, &cr[done]);
            entry_forget(e);
        }
    }
    jfc_unlock(j);
    return done;
}

void ubc_jfc_forget(urma_jfc *jfc, uint32_t id, UbcForget which)
{
    UbcJfc *j = (UbcJfc *)jfc;
    uint16_t i;
    uint8_t *e;

    jfc_lock(j);
    for (i = j->ci; (e = entry_of(j, id, which, &i)); i++) {
        if (which == UBC_FORGET_QUEUE) {
            recv_drop((UbcCtx *)jfc->urma_ctx, e);
        }
        entry_forget(e);
    }
    jfc_unlock(j);
}
