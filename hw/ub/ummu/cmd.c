/*
 * The UMMU: command queues.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "internal.h"

#define CMD_WORDS (UBM_CMD / 8)
#define RANGE_ALL 31            /* of CFGI_TECT_RANGE */
#define TERM_MAX 16             /* stalls that end at once */
/* Of a command's cost: it is not done yet. */
#define AGAIN (1u << 31)

static bool queue_on(const UmmuRing *q)
{
    return q->prod & UBM_Q_ENABLE;
}

static uint32_t queue_len(const UmmuRing *q)
{
    return (q->prod - q->cons) & ummu_ring_mask(q);
}

static bool queue_ready(const UmmuRing *q)
{
    return queue_on(q) && !((q->prod ^ q->cons) & UBM_Q_ERROR) &&
           queue_len(q);
}

/* ---- Commands ---------------------------------------------------------------------------- */

/* What a command that invalidates names: the parts @which, UMMU_BY_*. */
static UmmuKey key_of(const uint64_t *q, unsigned which)
{
    UmmuKey key = { .which = which };

    if (which & UMMU_BY_TAG) {
        key.tag = key.tag_last = ummu_get(q[2], UBM_CMD_TAG);
    }
    if (which & UMMU_BY_TOKEN) {
        key.token_id = ummu_get(q[0], UBM_CMD_TOKEN);
    }
    if (which & UMMU_BY_VMID) {
        key.vmid = ummu_get(q[0], UBM_CMD_VMID);
    }
    if (which & UMMU_BY_PAGE) {
        unsigned range = ummu_get(q[0], UBM_CMD_RANGE);

        key.page = ummu_get(q[1], UBM_CMD_ADDR);
        key.last = key.page + ((1ull << MIN(range, 52)) - 1);
    }
    return key;
}

static unsigned do_nothing(UbUmmu *u, UmmuRing *r, const uint64_t *q)
{
    return 1;
}

static unsigned sync_all(UbUmmu *u, UmmuRing *r, const uint64_t *q)
{
    uint8_t word[4];

    if (ummu_get(q[0], UBM_SYNC_CM) == 1) {
        put_le32(word, ummu_get(q[0], UBM_SYNC_DATA));
        if (!ummu_write(u, q[1] & UBM_SYNC_ADDR, word, sizeof(word))) {
            ummu_gerror(u, UBM_GERROR_SYNC);
        }
    }
    return 1;
}

static unsigned stall_resume(UbUmmu *u, UmmuRing *r, const uint64_t *q)
{
    ummu_stall_resume(u, ummu_get(q[1], UBM_RESUME_STAG),
                      ummu_get(q[2], UBM_CMD_TAG),
                      q[0] & UBM_RESUME_RETRY && !(q[0] & UBM_RESUME_ABORT));
    return UMMU_COST_STALL;
}

static unsigned stall_term(UbUmmu *u, UmmuRing *r, const uint64_t *q)
{
    unsigned n = ummu_stall_end(u, ummu_get(q[2], UBM_CMD_TAG), &r->done, TERM_MAX);

    return n * UMMU_COST_STALL + (r->done == UMMU_STALLS ? 1 : AGAIN);
}

static unsigned cfgi_range(UbUmmu *u, UmmuRing *r, const uint64_t *q)
{
    unsigned n = ummu_get(q[0], UBM_CFGI_RANGE);
    uint32_t low = n < 16 ? (2u << n) - 1 : 0xffff;
    UmmuKey key = key_of(q, UMMU_BY_TAG);

    if (n == RANGE_ALL) {
        ummu_drop_contexts(u);
        return 1;
    }
    key.tag &= ~low;
    key.tag_last |= low;
    return ummu_context_invalidate(u, &key);
}

static unsigned tlbi_all(UbUmmu *u, UmmuRing *r, const uint64_t *q)
{
    ummu_drop_tlb(u);
    return 1;
}

static unsigned plbi_all(UbUmmu *u, UmmuRing *r, const uint64_t *q)
{
    ummu_drop_plb(u);
    return 1;
}

static void eid_get(uint8_t eid[16], const uint64_t *q)
{
    put_be64(eid, q[3]);
    put_be64(eid + 8, q[2]);
}

static unsigned eid_map(UbUmmu *u, UmmuRing *r, const uint64_t *q)
{
    uint32_t tag = ummu_get(q[0], UBM_MAP_TAG);
    uint8_t eid[16];

    eid_get(eid, q);
    if (!ummu_map_set(u, eid, tag)) {
        ummu_event_map(u, UBM_EVT_MAPPED, tag, eid);
    }
    return 1;
}

static unsigned eid_unmap(UbUmmu *u, UmmuRing *r, const uint64_t *q)
{
    uint8_t eid[16];

    eid_get(eid, q);
    if (!ummu_map_remove(u, eid)) {
        ummu_event_map(u, UBM_EVT_UNMAPPED, ummu_get(q[0], UBM_MAP_TAG), eid);
    }
    return 1;
}

/* A command, which tells what it cost: its own, or one of those that take out of
 * a cache what some parts of the command name. */
typedef struct Command {
    unsigned (*run)(UbUmmu *u, UmmuRing *r, const uint64_t *q);
    unsigned (*invalidate)(UbUmmu *u, const UmmuKey *key);
    unsigned by;
} Command;

#define CONTEXT(parts) { .invalidate = ummu_context_invalidate, .by = parts }
#define TLB(parts)     { .invalidate = ummu_tlb_invalidate, .by = parts }
#define PLB(parts)     { .invalidate = ummu_plb_invalidate, .by = parts }
#define TAG            UMMU_BY_TAG
#define TOKEN          UMMU_BY_TOKEN
#define VMID           UMMU_BY_VMID
#define PAGE           UMMU_BY_PAGE

static const Command commands[256] = {
    [UBM_CMD_SYNC] = { sync_all },
    [UBM_CMD_STALL_RESUME] = { stall_resume },
    [UBM_CMD_STALL_TERM] = { stall_term },
    [UBM_CMD_PREFETCH] = { do_nothing },
    [UBM_CMD_CFGI_TECT] = CONTEXT(TAG),
    [UBM_CMD_CFGI_TECT_RANGE] = { cfgi_range },
    [UBM_CMD_CFGI_TCT] = CONTEXT(TAG | TOKEN),
    [UBM_CMD_CFGI_TCT_ALL] = CONTEXT(TAG),
    [UBM_CMD_TLBI_OS_ALL] = TLB(VMID),
    [UBM_CMD_TLBI_OS_TID] = TLB(TOKEN),
    [UBM_CMD_TLBI_OS_VA] = TLB(TOKEN | PAGE),
    [UBM_CMD_TLBI_OS_VAA] = TLB(PAGE),
    [UBM_CMD_PLBI_EID] = PLB(TAG),
    [UBM_CMD_PLBI_EID_TID] = PLB(TAG | TOKEN),
    [UBM_CMD_PLBI_VA] = PLB(TAG | TOKEN | PAGE),
    [UBM_CMD_TLBI_HYP_ALL] = TLB(VMID),
    [UBM_CMD_TLBI_HYP_TID] = TLB(TOKEN),
    [UBM_CMD_TLBI_HYP_VA] = TLB(TOKEN | PAGE),
    [UBM_CMD_TLBI_HYP_VAA] = TLB(PAGE),
    [UBM_CMD_TLBI_S1S2_VMALL] = TLB(VMID),
    [UBM_CMD_TLBI_S2_IPA] = TLB(VMID),
    [UBM_CMD_TLBI_NS_ALL] = { tlbi_all },
    [UBM_CMD_MAP] = { eid_map },
    [UBM_CMD_UNMAP] = { eid_unmap },
    [UBM_CMD_NULL] = { do_nothing },
    [UBM_CMD_PLBI_ALL] = { plbi_all },
    [0x90] = { tlbi_all }, [0x91] = { tlbi_all }, [0x92] = { tlbi_all },
    [0x93] = { tlbi_all }, [0x99] = { tlbi_all }, [0x9a] = { tlbi_all },
    [0x9b] = { tlbi_all }, [0xa8] = { tlbi_all }, [0xaa] = { tlbi_all },
};
#undef CONTEXT
#undef TLB
#undef PLB
#undef TAG
#undef TOKEN
#undef VMID
#undef PAGE

/* ---- Queues ---------------------------------------------------------------------------------- */

static void queue_error(UbUmmu *u, UmmuRing *q, unsigned reason)
{
    q->cons = ((q->cons ^ UBM_Q_ERROR) & ~UBM_CONS_REASON) | reason << 24;
    u->counter[UB_UMMU_CNT_COMMANDS_BAD]++;
    ummu_guest_error(u, reason == UBM_REASON_ILLEGAL
                     ? "UMMU command that does not exist"
                     : "UMMU command queue in memory that is not there");
    ummu_gerror(u, UBM_GERROR_CMDQ);
}

/* Answer one; what it cost, or 0: the queue waits for software. */
static unsigned command_run(UbUmmu *u, UmmuRing *q)
{
    uint64_t at = (q->base & UBM_MASK(51, 5)) +
                  (uint64_t)(q->cons & (ummu_ring_size(q) - 1)) * UBM_CMD;
    uint64_t words[CMD_WORDS];
    uint8_t raw[UBM_CMD];
    const Command *c;
    unsigned cost;
    UmmuKey key;

    if (!ummu_read(u, at, raw, sizeof(raw))) {
        queue_error(u, q, UBM_REASON_ABORT);
        return 0;
    }
    for (unsigned i = 0; i < CMD_WORDS; i++) {
        words[i] = get_le64(raw + 8 * i);
    }
    c = &commands[words[0] & UBM_CMD_OP];
    if (!c->run && !c->invalidate) {
        queue_error(u, q, UBM_REASON_ILLEGAL);
        return 0;
    }
    if (c->run) {
        cost = c->run(u, q, words);
    } else {
        key = key_of(words, c->by);
        cost = c->invalidate(u, &key);
    }
    if (cost & AGAIN) {
        return cost & ~AGAIN;
    }
    u->counter[UB_UMMU_CNT_COMMANDS]++;
    q->done = 0;
    q->cons = (q->cons & ~UBM_Q_INDEX) |
              ((q->cons + 1) & ummu_ring_mask(q));
    return cost;
}

void ummu_cmd_serve(UbUmmu *u, unsigned budget)
{
    unsigned spent = 0, first = u->next_queue++;

    for (unsigned i = 0; i < UBM_CMDQS; i++) {
        UmmuRing *q = &u->cmdq[(first + i) % UBM_CMDQS];

        while (spent < budget && queue_ready(q)) {
            unsigned cost = command_run(u, q);

            if (!cost) {
                break;
            }
            spent += cost;
        }
    }
}

bool ummu_cmd_waiting(const UbUmmu *u)
{
    for (unsigned i = 0; i < UBM_CMDQS; i++) {
        if (queue_ready(&u->cmdq[i])) {
            return true;
        }
    }
    return false;
}

/* ---- Registers --------------------------------------------------------------------------------- */

uint32_t ummu_cmdq_read(const UbUmmu *u, unsigned n, uint32_t reg)
{
    const UmmuRing *q = &u->cmdq[n];
    const uint32_t words[] = { q->base, q->base >> 32, q->prod, q->cons };

    return words[reg / 4];
}

static void prod_write(UbUmmu *u, UmmuRing *q, uint32_t value)
{
    bool on = value & UBM_Q_ENABLE, was = queue_on(q);
    uint32_t old = q->prod;

    if (on && !was && (q->base & 0x1f) > UBM_CMDQ_LOG2_MAX) {
        ummu_guest_error(u, "UMMU command queue of a size that does not exist");
        return;
    }
    q->prod = value & (UBM_Q_ENABLE | UBM_Q_ERROR | UBM_Q_INDEX);
    if (on && !was) {
        q->cons = (q->cons & UBM_Q_INDEX) | (q->prod & UBM_Q_ERROR);
        q->done = 0;
    }
    if (on && queue_len(q) > ummu_ring_size(q)) {
        ummu_guest_error(u, "more UMMU commands than the queue has");
        q->prod = (q->prod & ~UBM_Q_INDEX) | ((was ? old : q->cons) &
                                              UBM_Q_INDEX);
    }
    q->cons = (q->cons & ~UBM_Q_ENABLE) | (q->prod & UBM_Q_ENABLE);
    if (!((q->prod ^ q->cons) & UBM_Q_ERROR)) {
        q->cons &= ~UBM_CONS_REASON;
    }
    if (queue_ready(q)) {
        ummu_kick(u);
    }
}

void ummu_cmdq_write(UbUmmu *u, unsigned n, uint32_t reg, uint32_t value)
{
    UmmuRing *q = &u->cmdq[n];

    if (reg == UBM_CMDQ_PROD) {
        prod_write(u, q, value);
    } else if (queue_on(q)) {
        ummu_guest_error(u, "place of an enabled UMMU command queue written");
    } else if (reg == UBM_CMDQ_CONS) {
        q->cons = value & UBM_Q_INDEX;
    } else if (reg == UBM_CMDQ_BASE) {
        q->base = (q->base & ~0xffffffffull) | value;
    } else {
        q->base = (uint32_t)q->base | (uint64_t)(value & 0xfffff) << 32;
    }
}
