/*
 * The UMMU: queues of unprivileged software, which invalidate permissions of the
 * one TokenID that their context names.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "internal.h"

/* Indexes have a wrap bit. */
typedef struct UserContext {
    uint64_t cmd, cpl;          /* bases */
    uint32_t cmd_size, cpl_size;
    uint16_t tag;
    uint32_t token_id;
} UserContext;

static bool ring_get(uint64_t q, uint64_t *base, uint32_t *size)
{
    *base = q & UBM_MASK(51, 12);
    *size = 1u << ummu_get(q, UBM_MASK(5, 2));
    /* A context of zeroes is none. */
    return *base && *size <= 1u << UBM_UQ_LOG2_MAX;
}

static bool user_context(UbUmmu *u, unsigned id, UserContext *c)
{
    uint8_t raw[UBM_UCTX];

    if (id >> (u->user_ctx & 0x1f) ||
        !ummu_read(u, (u->user_ctx & UBM_MASK(51, 6)) + id * UBM_UCTX, raw,
                   sizeof(raw)) ||
        !ring_get(get_le64(raw + UBM_UCTX_CMD), &c->cmd, &c->cmd_size) ||
        !ring_get(get_le64(raw + UBM_UCTX_CPL), &c->cpl, &c->cpl_size)) {
        return false;
    }
    c->tag = get_le32(raw + UBM_UCTX_TAG);
    c->token_id = get_le32(raw + UBM_UCTX_TOKEN) & 0xfffff;
    return true;
}

static uint32_t behind(uint16_t pi, uint16_t ci, uint32_t size)
{
    return (pi - ci) & (2 * size - 1);
}

/* Returns the status to complete with, or 0: none; *@cost is what it cost. */
static unsigned user_command(UbUmmu *u, const UserContext *c, uint64_t at,
                             unsigned *cost)
{
    UmmuKey key = {
        .which = UMMU_BY_TAG | UMMU_BY_TOKEN,
        .tag = c->tag, .tag_last = c->tag,
        .token_id = c->token_id,
    };
    uint8_t raw[UBM_UCMD];
    unsigned range;

    *cost = 1;
    if (!ummu_read(u, at, raw, sizeof(raw))) {
        return UBM_UCPL_PROCESS;
    }
    u->counter[UB_UMMU_CNT_USER_COMMANDS]++;
    switch (raw[0]) {
    case UBM_UCMD_PSYNC:
        return UBM_UCPL_OK;
    case UBM_UCMD_PLBI_VA:
        range = ummu_get(get_le64(raw), UBM_CMD_RANGE);
        key.which |= UMMU_BY_PAGE;
        key.page = ummu_get(get_le64(raw + 8), UBM_CMD_ADDR);
        key.last = key.page + ((1ull << MIN(range, 52)) - 1);
        /* fall through */
    case UBM_UCMD_PLBI_ALL:
        *cost = ummu_plb_invalidate(u, &key);
        return 0;
    default:
        return UBM_UCPL_TYPE;
    }
}

static bool user_complete(UbUmmu *u, UmmuUserQueue *q, const UserContext *c,
                          unsigned status)
{
    uint8_t raw[UBM_UCPL];

    put_le32(raw, status | (uint32_t)q->cmd_ci << 16);
    if (!ummu_write(u, c->cpl + (q->cpl_pi & (c->cpl_size - 1)) * UBM_UCPL,
                    raw, sizeof(raw))) {
        return false;
    }
    q->cpl_pi = (q->cpl_pi + 1) & (2 * c->cpl_size - 1);
    return true;
}

/* One queue; what it cost. */
static unsigned user_serve(UbUmmu *u, unsigned id, unsigned budget)
{
    UmmuUserQueue *q = &u->user[id];
    UserContext c;
    unsigned spent = 0, cost, status;

    if (!user_context(u, id, &c) ||
        behind(q->cmd_pi, q->cmd_ci, c.cmd_size) > c.cmd_size ||
        behind(q->cpl_pi, q->cpl_ci, c.cpl_size) > c.cpl_size) {
        ummu_guest_error(u, "queue of unprivileged software without a context, "
                         "or with more entries than it has");
        q->ringing = false;
        return 1;
    }
    while (behind(q->cmd_pi, q->cmd_ci, c.cmd_size) &&
           behind(q->cpl_pi, q->cpl_ci, c.cpl_size) < c.cpl_size) {
        if (spent >= budget) {
            return spent;
        }
        status = user_command(u, &c, c.cmd +
                              (q->cmd_ci & (c.cmd_size - 1)) * UBM_UCMD,
                              &cost);
        spent += cost;
        q->cmd_ci = (q->cmd_ci + 1) & (2 * c.cmd_size - 1);
        if (status && !user_complete(u, q, &c, status)) {
            ummu_guest_error(u, "completions of unprivileged software in memory "
                             "that is not there");
            break;
        }
    }
    /* Rung again by a new command, or by room for completions. */
    q->ringing = false;
    return MAX(spent, 1);
}

void ummu_user_serve(UbUmmu *u, unsigned budget)
{
    unsigned spent = 0, first = u->next_user++;

    for (unsigned i = 0; i < UBM_UQS && spent < budget; i++) {
        unsigned id = (first + i) % UBM_UQS;

        if (u->user[id].ringing) {
            spent += user_serve(u, id, budget - spent);
        }
    }
}

bool ummu_user_waiting(const UbUmmu *u)
{
    for (unsigned i = 0; i < UBM_UQS; i++) {
        if (u->user[i].ringing) {
            return true;
        }
    }
    return false;
}

void ummu_user_release(UbUmmu *u, uint32_t id)
{
    if (id < UBM_UQS) {
        u->user[id] = (UmmuUserQueue){ 0 };
    }
}

/* The queue whose page @at is in, which becomes the offset there. */
static UmmuUserQueue *user_at(const UbUmmu *u, uint32_t *at)
{
    uint32_t n = (*at - UBM_UQ(0)) / (UBM_UQ(1) - UBM_UQ(0));

    *at = (*at - UBM_UQ(0)) % (UBM_UQ(1) - UBM_UQ(0));
    return n < UBM_UQS ? (UmmuUserQueue *)&u->user[n] : NULL;
}

uint32_t ummu_user_read(const UbUmmu *u, uint32_t at)
{
    const UmmuUserQueue *q = user_at(u, &at);

    if (!q) {
        return 0;
    }
    switch (at) {
    case UBM_UQ_CMD_PI:
        return q->cmd_pi;
    case UBM_UQ_CMD_CI:
        return q->cmd_ci;
    case UBM_UQ_CPL_PI:
        return q->cpl_pi;
    case UBM_UQ_CPL_CI:
        return q->cpl_ci;
    default:
        return 0;
    }
}

void ummu_user_write(UbUmmu *u, uint32_t at, uint32_t value)
{
    UmmuUserQueue *q = user_at(u, &at);

    if (q && at == UBM_UQ_CMD_PI) {
        q->cmd_pi = value;
    } else if (q && at == UBM_UQ_CPL_CI) {
        q->cpl_ci = value;
    } else {
        ummu_guest_error(u, "register of the UMMU that is not there");
        return;
    }
    q->ringing = true;
    ummu_kick(u);
}
