/*
 * Completion queues (JFC and JFCE): entries, arming, moderation.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "internal.h"

#define NS_PER_US 1000ll

/* What a completion queue waits for, in the order of their weight. */
enum { ARM_OFF, ARM_SOLICITED, ARM_NEXT };

UrmaCq *urma_cq(UbUrma *u, uint32_t id)
{
    return id < URMA_IDS ? core_table_get(&u->cqs, id) : NULL;
}

static unsigned cq_entries(const UrmaCq *cq)
{
    return 1u << cq->log2;
}

const char *urma_cq_check(const UbUrma *u, const UrmaCq *cq)
{
    if (cq->log2 < URMA_CQ_LOG2_MIN || cq->log2 > URMA_LOG2_MAX) {
        return "completion queue of a size that does not exist";
    }
    if (cq->base % UBQ_CQE) {
        return "completion queue with an unaligned base";
    }
    if (cq->eq >= u->cfg.eqs) {
        return "completion queue with an event queue that does not exist";
    }
    if (cq->page >= u->cfg.pages) {
        return "completion queue of a doorbell page that does not exist";
    }
    if ((uint16_t)(cq->pi - cq->ci) > cq_entries(cq)) {
        return "completion queue with more entries than it has";
    }
    return cq->arm > ARM_NEXT ? "completion queue armed for nothing known"
                              : NULL;
}

static void moderation_get(UrmaCq *cq, const uint8_t *cmd)
{
    cq->count = get_le16(cmd + UBQ_CQ_COUNT);
    cq->period = get_le32(cmd + UBQ_CQ_PERIOD);
}

unsigned urma_cq_create(UbUrma *u, uint32_t *id, uint8_t *cmd)
{
    UrmaCq cq = {
        .base = get_le64(cmd + UBQ_CQ_BASE),
        .log2 = cmd[UBQ_CQ_LOG2],
        .eq = get_le16(cmd + UBQ_CQ_EQ),
        .page = get_le16(cmd + UBQ_CQ_PAGE),
    };
    const char *broken = urma_cq_check(u, &cq);
    unsigned result;

    if (broken) {
        urma_guest_error(u, broken);
        return UBQ_RESULT_PARAMETER;
    }
    if (u->n_cqs >= u->cfg.cqs) {
        return UBQ_RESULT_FULL;
    }
    result = urma_number(&u->cqs, 0, URMA_IDS, &u->hint_cq, id);
    if (result == UBQ_RESULT_OK) {
        cq.id = *id;
        moderation_get(&cq, cmd);
        core_table_set(&u->cqs, cq.id, g_memdup2(&cq, sizeof(cq)));
        u->n_cqs++;
        urma_bells_cq(u->bells, cq.id, cq.page);
    }
    return result;
}

unsigned urma_cq_modify(UbUrma *u, uint32_t *id, uint8_t *cmd)
{
    UrmaCq *cq = urma_cq(u, *id);

    if (!cq) {
        return UBQ_RESULT_NO_OBJECT;
    }
    moderation_get(cq, cmd);
    return UBQ_RESULT_OK;
}

void urma_cq_free(UbUrma *u, UrmaCq *cq)
{
    core_timer_cancel(&u->timers, &cq->timer);
    urma_bells_cq(u->bells, cq->id, -1);
    core_table_set(&u->cqs, cq->id, NULL);
    u->n_cqs--;
    g_free(cq);
}

unsigned urma_cq_destroy(UbUrma *u, uint32_t *id, uint8_t *cmd)
{
    UrmaCq *cq = urma_cq(u, *id);

    if (!cq) {
        return UBQ_RESULT_NO_OBJECT;
    }
    if (cq->users) {
        return UBQ_RESULT_IN_USE;
    }
    urma_cq_free(u, cq);
    return UBQ_RESULT_OK;
}

unsigned urma_cq_query(UbUrma *u, uint32_t *id, uint8_t *cmd)
{
    UrmaCq *cq = urma_cq(u, *id);

    if (!cq) {
        return UBQ_RESULT_NO_OBJECT;
    }
    put_le64(cmd + UBQ_CQ_BASE, cq->base);
    cmd[UBQ_CQ_LOG2] = cq->log2;
    put_le16(cmd + UBQ_CQ_EQ, cq->eq);
    put_le16(cmd + UBQ_CQ_PAGE, cq->page);
    put_le16(cmd + UBQ_CQ_COUNT, cq->count);
    put_le32(cmd + UBQ_CQ_PERIOD, cq->period);
    put_le32(cmd + UBQ_CQ_PI, cq->pi);
    put_le32(cmd + UBQ_CQ_CI, cq->ci);
    cmd[UBQ_CQ_STATE] = cq->error;
    return UBQ_RESULT_OK;
}

static void cq_event(UbUrma *u, UrmaCq *cq)
{
    cq->arm = ARM_OFF;
    core_timer_cancel(&u->timers, &cq->timer);
    ub_urma_event(u, cq->eq, UBQ_EVENT_COMPLETION, cq->id, 0, cq->pi);
}

void urma_cq_expired(UbUrma *u, CoreTimer *timer)
{
    UrmaCq *cq = (UrmaCq *)timer;

    if (cq->arm != ARM_OFF) {
        cq_event(u, cq);
    }
}

/* An armed queue has something: now, or when moderation allows. */
static void moderate(UrmaCq *cq, UbUrma *u, bool solicited)
{
    if (solicited || ++cq->since >= MAX(cq->count, 1)) {
        cq_event(u, cq);
    } else if (cq->period && !cq->timer.place) {
        core_timer_set(&u->timers, &cq->timer,
                       u->now + cq->period * NS_PER_US);
        urma_kick(u);
    }
}

void urma_cq_bell(UbUrma *u, uint32_t page, uint64_t value)
{
    UrmaCq *cq = urma_cq(u, value & (URMA_IDS - 1));
    uint16_t ci = value >> 32, unread;
    unsigned arm = value >> 48 & 3;

    if (!cq || cq->page != page || arm > ARM_NEXT ||
        (uint16_t)(cq->pi - ci) > (uint16_t)(cq->pi - cq->ci)) {
        u->counter[UB_URMA_BELLS_BAD]++;
        urma_guest_error(u, "doorbell of a completion queue that is not of "
                         "the page, or reads what is not there");
        return;
    }
    cq->ci = ci;
    if (arm == ARM_OFF) {
        return;
    }
    cq->arm = arm;
    cq->since = 0;
    unread = cq->pi - ci;
    if (cq->any_solicited && (uint16_t)(cq->solicited - ci - 1) < unread) {
        cq_event(u, cq);
    } else {
        cq->any_solicited = false;
        while (unread-- && cq->arm == ARM_NEXT) {
            moderate(cq, u, false);
        }
    }
}

static void cqe_put(const UrmaCq *cq, uint8_t e[UBQ_CQE], const UrmaDone *d)
{
    bool odd = cq->pi >> cq->log2 & 1;

    memset(e, 0, UBQ_CQE);
    put_le32(e + UBQ_CQE_W0,
             d->opcode | (d->status & 0xffu) << 8 | (d->status >> 8) << 16 |
             (d->receive ? UBQ_CQE_RECEIVE : 0) |
             (d->imm_valid ? UBQ_CQE_IMM : 0) |
             (d->solicited ? UBQ_CQE_SOLICITED : 0) |
             (odd ? 0 : UBQ_CQE_OWNER));
    put_le32(e + UBQ_CQE_QUEUE, d->queue);
    put_le32(e + UBQ_CQE_INDEX, d->index);
    put_le32(e + UBQ_CQE_BYTES, d->bytes);
    put_le64(e + UBQ_CQE_IMMEDIATE, d->imm);
    put_le32(e + UBQ_CQE_REMOTE, d->remote);
    put_le32(e + UBQ_CQE_RQ, d->rq);
    memcpy(e + UBQ_CQE_EID, d->eid.b, UB_EID_LEN);
}

static bool cq_full(const UrmaCq *cq)
{
    return (uint16_t)(cq->pi - cq->ci) >= cq_entries(cq);
}

/* Whether there is room; the doorbell that tells of it may still wait for its turn. */
static bool cq_room(UbUrma *u, UrmaCq *cq)
{
    if (cq_full(cq)) {
        urma_bell_take_cq(u, cq->id);
    }
    return !cq_full(cq);
}

void urma_complete(UbUrma *u, uint32_t id, const UrmaDone *d)
{
    UrmaCq *cq = urma_cq(u, id);
    bool bad = d->status != UB_TAS_OK;
    uint8_t e[UBQ_CQE];
    uint64_t at;

    if (!cq || cq->error) {
        u->counter[UB_URMA_CQES_LOST]++;
        return;
    }
    cqe_put(cq, e, d);
    at = cq->base + (uint64_t)(cq->pi & (cq_entries(cq) - 1)) * UBQ_CQE;
    if (!cq_room(u, cq) || !urma_write(u, at + 8, e + 8, UBQ_CQE - 8) ||
        !urma_write(u, at, e, 8)) {
        cq->error = true;
        u->counter[UB_URMA_CQES_LOST]++;
        urma_guest_error(u, "completion queue full, or not in memory");
        ub_urma_event(u, cq->eq, UBQ_EVENT_JFC_CHECK, cq->id, 0, 0);
        return;
    }
    cq->pi++;
    u->counter[UB_URMA_CQES]++;
    u->counter[UB_URMA_CQES_BAD] += bad;
    cq->bad += bad;
    urma_trace(u, UB_URMA_TRACE_COMPLETE, d->queue, id, d->status);
    if (d->solicited || bad) {
        cq->solicited = cq->pi;
        cq->any_solicited = true;
    }
    if (cq->arm == ARM_NEXT ||
        (cq->arm == ARM_SOLICITED && cq->any_solicited)) {
        /* Whoever waits for the rest of a batch would wait in vain. */
        moderate(cq, u, d->solicited || bad);
    }
}
