/*
 * Life and states of queues (§8.2.2.3).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "internal.h"

#define Q_FLAGS (UBQ_Q_IN_ORDER | UBQ_Q_SUSPEND | UBQ_Q_TOKEN | UBQ_Q_BOUND | \
                 UBQ_Q_DONE | UBQ_Q_TRANSLATE)
#define RNR_TIMER_MAX 19
#define RQ_STRIDE_MAX 4

/* From state to state, by software. */
static const bool may_go[UBQ_STATES][UBQ_STATES] = {
    [UBQ_STATE_RESET] = { [UBQ_STATE_RESET] = true, [UBQ_STATE_READY] = true },
    [UBQ_STATE_READY] = { [UBQ_STATE_RESET] = true, [UBQ_STATE_READY] = true,
                          [UBQ_STATE_ERROR] = true },
    [UBQ_STATE_SUSPENDED] = { [UBQ_STATE_RESET] = true,
                              [UBQ_STATE_READY] = true,
                              [UBQ_STATE_ERROR] = true },
    [UBQ_STATE_ERROR] = { [UBQ_STATE_RESET] = true,
                          [UBQ_STATE_ERROR] = true },
};

UrmaQueue *urma_queue(UbUrma *u, uint32_t id)
{
    return id < URMA_IDS ? core_table_get(&u->queues, id) : NULL;
}

unsigned urma_number(const CoreTable *t, uint32_t from, uint32_t end,
                     uint32_t *hint, uint32_t *id)
{
    if (*id != UBQ_NEW) {
        return *id >= end ? UBQ_RESULT_PARAMETER :
               core_table_get(t, *id) ? UBQ_RESULT_IN_USE : UBQ_RESULT_OK;
    }
    for (uint32_t n = 0, at = MAX(*hint, from); n < end - from; n++) {
        if (at >= end) {
            at = from;
        }
        if (!core_table_get(t, at)) {
            *id = at;
            *hint = at + 1;
            return UBQ_RESULT_OK;
        }
        at++;
    }
    return UBQ_RESULT_FULL;
}

const char *urma_queue_check(UbUrma *u, const UrmaQueue *q)
{
    bool shared = q->rq_shared != UBQ_NEW;
    UrmaQueue *rq = shared ? urma_queue(u, q->rq_shared) : NULL;

    if (q->flags & ~Q_FLAGS || q->mode >= UB_TA_MODES ||
        q->state >= UBQ_STATES || q->rnr_timer > RNR_TIMER_MAX ||
        q->patience > UB_TA_GEARS) {
        return "queue with a flag, mode, state or timer that does not exist";
    }
    if (q->flags & UBQ_Q_TRANSLATE && (!u->ummu || q->local >= URMA_IDS)) {
        return "queue with a local TokenID that does not exist";
    }
    if (q->sq_log2 > URMA_LOG2_MAX || q->rq_log2 > URMA_LOG2_MAX ||
        q->rq_stride > RQ_STRIDE_MAX) {
        return "queue of a size that does not exist";
    }
    if ((q->sq_log2 && q->sq_base % UBQ_BLOCK) ||
        (q->rq_log2 && q->rq_base % UBQ_ELEMENT) || q->record % 8) {
        return "queue with an unaligned base or record";
    }
    if (q->page >= u->cfg.pages || q->eq >= u->cfg.eqs ||
        !urma_entity_there(u, q->entity)) {
        return "queue of a doorbell page, event queue or Entity that does not "
               "exist";
    }
    if (q->sq_log2 && !urma_cq(u, q->send_cq)) {
        return "queue whose completion queue for sends does not exist";
    }
    if ((q->rq_log2 || shared) && !urma_cq(u, q->recv_cq)) {
        return "queue whose completion queue for receives does not exist";
    }
    if (shared && (q->rq_log2 || !rq || !rq->rq_log2)) {
        return "queue that shares receive entries which are not there";
    }
    if ((uint16_t)(q->sq_pi - urma_sq_ci(q)) > 1u << q->sq_log2 ||
        (uint16_t)(q->rq_pi - q->rq_ci) > 1u << q->rq_log2) {
        return "queue with more entries than it has";
    }
    return q->sq_log2 || q->rq_log2 || shared ? NULL
           : "queue that neither sends nor receives";
}

void urma_queue_users(UrmaQueue *q, int step)
{
    UrmaQueue *rq = urma_queue(q->urma, q->rq_shared);

    if (q->sq_log2) {
        urma_cq(q->urma, q->send_cq)->users += step;
    }
    if (q->rq_log2 || rq) {
        urma_cq(q->urma, q->recv_cq)->users += step;
    }
    if (rq) {
        rq->users += step;
    }
}

unsigned urma_queue_create(UbUrma *u, uint32_t *id, uint8_t *cmd)
{
    UrmaQueue q = {
        .urma = u,
        .sq_base = get_le64(cmd + UBQ_Q_SQ_BASE),
        .rq_base = get_le64(cmd + UBQ_Q_RQ_BASE),
        .sq_log2 = cmd[UBQ_Q_SQ_LOG2],
        .rq_log2 = cmd[UBQ_Q_RQ_LOG2],
        .rq_stride = cmd[UBQ_Q_RQ_STRIDE],
        .mode = cmd[UBQ_Q_MODE],
        .send_cq = get_le32(cmd + UBQ_Q_SEND_CQ),
        .recv_cq = get_le32(cmd + UBQ_Q_RECV_CQ),
        .rq_shared = get_le32(cmd + UBQ_Q_RQ_SHARED),
        .page = get_le16(cmd + UBQ_Q_PAGE),
        .entity = get_le16(cmd + UBQ_Q_ENTITY),
        .flags = get_le32(cmd + UBQ_Q_FLAGS),
        .token = get_le32(cmd + UBQ_Q_TOKEN_VALUE),
        .local = get_le32(cmd + UBQ_Q_LOCAL),
        .rnr_timer = cmd[UBQ_Q_RNR_TIMER],
        .tries = cmd[UBQ_Q_TRIES],
        .patience = cmd[UBQ_Q_ACK_TIMEOUT],
        .eq = get_le16(cmd + UBQ_Q_EQ),
        .rq_limit = get_le16(cmd + UBQ_Q_RQ_LIMIT),
        .remote = get_le32(cmd + UBQ_Q_REMOTE),
        .record = get_le64(cmd + UBQ_Q_RECORD),
    };
    const char *broken = urma_queue_check(u, &q);
    unsigned result;
    UrmaQueue *made;

    if (broken) {
        urma_guest_error(u, broken);
        return UBQ_RESULT_PARAMETER;
    }
    if (u->n_queues >= u->cfg.queues) {
        return UBQ_RESULT_FULL;
    }
    result = urma_number(&u->queues, URMA_WELL_KNOWN, UB_URMA_QUEUE_IDS,
                         &u->hint_queue, id);
    if (result != UBQ_RESULT_OK) {
        return result;
    }
    q.id = *id;
    memcpy(q.remote_eid.b, cmd + UBQ_Q_REMOTE_EID, UB_EID_LEN);
    made = g_memdup2(&q, sizeof(q));
    core_table_set(&u->queues, made->id, made);
    u->n_queues++;
    urma_bells_queue(u->bells, made->id, made->page);
    urma_queue_users(made, 1);
    return UBQ_RESULT_OK;
}

/* It says anew that it is done, but for staying where it is. */
static void queue_enter(UrmaQueue *q, unsigned state)
{
    urma_trace(q->urma, UB_URMA_TRACE_STATE, q->id, q->state, state);
    q->told = q->told && q->state == state;
    q->state = state;
}

/* Its requests come back and are forgotten with it. */
static void queue_quiet(UrmaQueue *q, UrmaTell tell)
{
    UbTaQueue *ta = q->ta;

    q->ta = NULL;
    if (ta) {
        ub_ta_queue_free(ta);   /* gives back what it has, see urma_done() */
    }
    urma_sq_drop(q);
    urma_rq_drop(q, tell);
    q->sq_pi = q->sq_fetch = q->rq_pi = q->rq_ci = 0;
    q->rq_low = false;
}

static void queue_event(UrmaQueue *q)
{
    ub_urma_event(q->urma, q->eq, UBQ_EVENT_QUEUE_STATE, q->id, q->entity,
                  q->state);
}

/* What is under way comes back as flushed; entries that are only posted follow in
 * the queue's turns. */
static void queue_flush(UrmaQueue *q)
{
    if (q->ta) {
        ub_ta_queue_stop(q->ta, true);
        ub_ta_queue_flush(q->ta, true);
    }
    urma_rq_drop(q, URMA_TELL_ALL);
    urma_queue_ring(q);
    urma_group_watch(q->urma, q);
}

UbTaQueueConfig urma_queue_ta(const UrmaQueue *q)
{
    return (UbTaQueueConfig) {
        .rcid = q->id,
        .mode = q->mode,
        .in_order = q->flags & UBQ_Q_IN_ORDER,
        .stop_on_error = q->flags & UBQ_Q_SUSPEND,
        .entity = q->entity,
        .tries = q->tries,
        .patience = q->patience,
    };
}

static unsigned queue_start(UrmaQueue *q)
{
    UbTaQueueConfig cfg = urma_queue_ta(q);

    if (q->sq_log2 && !q->ta) {
        q->ta = ub_ta_queue_new(q->urma->ta, &cfg);
        if (!q->ta) {
            return UBQ_RESULT_FULL;
        }
    }
    if (q->ta) {
        ub_ta_queue_stop(q->ta, false);
        urma_queue_ring(q);
    }
    return UBQ_RESULT_OK;
}

/* False: not all, for entries that have begun hold too many. */
static bool queue_drain(UrmaQueue *q)
{
    bool all = !q->ta || urma_sq_drain(q);

    urma_rq_flush(q, UINT_MAX);
    return all;
}

static unsigned queue_go(UrmaQueue *q, unsigned state)
{
    unsigned result = UBQ_RESULT_OK;

    if (!may_go[q->state][state]) {
        return UBQ_RESULT_STATE;
    }
    if (state == UBQ_STATE_READY) {
        result = queue_start(q);
    }
    if (q->state == UBQ_STATE_ERROR) {
        queue_drain(q);     /* all must have had their completions before */
    }
    if (result == UBQ_RESULT_OK) {
        queue_enter(q, state);
        if (state == UBQ_STATE_RESET) {
            queue_quiet(q, URMA_TELL_OTHERS);
        } else if (state == UBQ_STATE_ERROR) {
            queue_flush(q);
        }
    }
    return result;
}

static void flag_set(UrmaQueue *q, uint32_t flag, uint32_t from)
{
    q->flags = (q->flags & ~flag) | (from & flag);
}

static void queue_tries(UrmaQueue *q, uint8_t tries, uint8_t patience)
{
    q->tries = tries;
    q->patience = patience;
    if (q->ta) {
        ub_ta_queue_set_tries(q->ta, tries, patience);
    }
}

unsigned urma_queue_modify(UbUrma *u, uint32_t *id, uint8_t *cmd)
{
    UrmaQueue *q = urma_queue(u, *id);
    uint32_t mask = get_le32(cmd + UBQ_CMD_MASK);
    uint32_t flags = get_le32(cmd + UBQ_Q_FLAGS);

    if (!q) {
        return UBQ_RESULT_NO_OBJECT;
    }
    if (mask & ~UBQ_QM_ALL ||
        (mask & UBQ_QM_STATE && cmd[UBQ_Q_STATE] >= UBQ_STATES) ||
        (mask & UBQ_QM_RNR_TIMER && cmd[UBQ_Q_RNR_TIMER] > RNR_TIMER_MAX) ||
        (mask & UBQ_QM_TRIES && cmd[UBQ_Q_ACK_TIMEOUT] > UB_TA_GEARS)) {
        urma_guest_error(u, "queue modified by a mask, state or timer that "
                         "does not exist");
        return UBQ_RESULT_PARAMETER;
    }
    if (mask & UBQ_QM_BOUND && flags & UBQ_Q_BOUND && q->group) {
        urma_guest_error(u, "member of a group of queues bound to one sender");
        return UBQ_RESULT_PARAMETER;
    }
    if (mask & UBQ_QM_DRAIN && q->state != UBQ_STATE_SUSPENDED &&
        q->state != UBQ_STATE_ERROR) {
        return UBQ_RESULT_STATE;
    }
    if (mask & UBQ_QM_STATE && !may_go[q->state][cmd[UBQ_Q_STATE]]) {
        return UBQ_RESULT_STATE;
    }
    if (mask & UBQ_QM_DRAIN && !queue_drain(q)) {
        return UBQ_RESULT_FULL;
    }
    if (mask & UBQ_QM_RQ_LIMIT) {
        q->rq_limit = get_le16(cmd + UBQ_Q_RQ_LIMIT);
        q->rq_low = false;
        if (!urma_queue_deaf(q)) {
            urma_rq_watch(u, q);
        }
    }
    if (mask & UBQ_QM_RNR_TIMER) {
        q->rnr_timer = cmd[UBQ_Q_RNR_TIMER];
    }
    if (mask & UBQ_QM_TRIES) {
        queue_tries(q, cmd[UBQ_Q_TRIES], cmd[UBQ_Q_ACK_TIMEOUT]);
    }
    if (mask & UBQ_QM_TOKEN) {
        q->token = get_le32(cmd + UBQ_Q_TOKEN_VALUE);
        flag_set(q, UBQ_Q_TOKEN, flags);
    }
    if (mask & UBQ_QM_BOUND) {
        q->remote = get_le32(cmd + UBQ_Q_REMOTE);
        memcpy(q->remote_eid.b, cmd + UBQ_Q_REMOTE_EID, UB_EID_LEN);
        flag_set(q, UBQ_Q_BOUND, flags);
    }
    return mask & UBQ_QM_STATE ? queue_go(q, cmd[UBQ_Q_STATE])
                               : UBQ_RESULT_OK;
}

void urma_queue_free(UrmaQueue *q, UrmaTell tell)
{
    UbUrma *u = q->urma;

    queue_quiet(q, tell);
    urma_group_remove(q);
    urma_queue_unlist(q);
    urma_bells_queue(u->bells, q->id, -1);
    core_table_set(&u->queues, q->id, NULL);
    u->n_queues--;
    g_free(q);
}

unsigned urma_queue_destroy(UbUrma *u, uint32_t *id, uint8_t *cmd)
{
    UrmaQueue *q = urma_queue(u, *id);

    if (!q) {
        return UBQ_RESULT_NO_OBJECT;
    }
    if (q->users) {
        return UBQ_RESULT_IN_USE;
    }
    urma_queue_users(q, -1);
    urma_queue_free(q, URMA_TELL_OTHERS);
    return UBQ_RESULT_OK;
}

unsigned urma_queue_query(UbUrma *u, uint32_t *id, uint8_t *cmd)
{
    UrmaQueue *q = urma_queue(u, *id);

    if (!q) {
        return UBQ_RESULT_NO_OBJECT;
    }
    urma_record_read(q);
    put_le64(cmd + UBQ_Q_SQ_BASE, q->sq_base);
    put_le64(cmd + UBQ_Q_RQ_BASE, q->rq_base);
    cmd[UBQ_Q_SQ_LOG2] = q->sq_log2;
    cmd[UBQ_Q_RQ_LOG2] = q->rq_log2;
    cmd[UBQ_Q_RQ_STRIDE] = q->rq_stride;
    cmd[UBQ_Q_MODE] = q->mode;
    put_le32(cmd + UBQ_Q_SEND_CQ, q->send_cq);
    put_le32(cmd + UBQ_Q_RECV_CQ, q->recv_cq);
    put_le32(cmd + UBQ_Q_RQ_SHARED, q->rq_shared);
    put_le16(cmd + UBQ_Q_PAGE, q->page);
    put_le16(cmd + UBQ_Q_ENTITY, q->entity);
    put_le32(cmd + UBQ_Q_FLAGS, q->flags);
    put_le32(cmd + UBQ_Q_LOCAL, q->local);
    cmd[UBQ_Q_RNR_TIMER] = q->rnr_timer;
    cmd[UBQ_Q_TRIES] = q->tries;
    cmd[UBQ_Q_ACK_TIMEOUT] = q->patience;
    put_le16(cmd + UBQ_Q_EQ, q->eq);
    put_le16(cmd + UBQ_Q_RQ_LIMIT, q->rq_limit);
    cmd[UBQ_Q_STATE] = q->state;
    put_le32(cmd + UBQ_Q_REMOTE, q->remote);
    memcpy(cmd + UBQ_Q_REMOTE_EID, q->remote_eid.b, UB_EID_LEN);
    put_le16(cmd + UBQ_Q_SQ_PI, q->sq_pi);
    put_le16(cmd + UBQ_Q_SQ_CI, urma_sq_ci(q));
    put_le16(cmd + UBQ_Q_RQ_PI, q->rq_pi);
    put_le16(cmd + UBQ_Q_RQ_CI, q->rq_ci);
    put_le64(cmd + UBQ_Q_RECORD, q->record);
    put_le32(cmd + UBQ_Q_GROUP, q->group ? q->group->id : UBQ_NEW);
    return UBQ_RESULT_OK;
}

void urma_queue_failed(UrmaQueue *q)
{
    if (q->flags & UBQ_Q_SUSPEND && q->state == UBQ_STATE_READY) {
        queue_enter(q, UBQ_STATE_SUSPENDED);
        ub_ta_queue_stop(q->ta, true);
        queue_event(q);
        urma_queue_settled(q);
    }
}

void urma_queue_error(UrmaQueue *q, unsigned why)
{
    if (q->state != UBQ_STATE_ERROR) {
        queue_enter(q, UBQ_STATE_ERROR);
        ub_urma_event(q->urma, q->eq, why, q->id, q->entity, 0);
        queue_event(q);
        queue_flush(q);
    }
}
