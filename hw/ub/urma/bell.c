/*
 * Doorbells that ring without a lock.
 *
 * Each queue has a word for each of its doorbells, of which only the last value
 * counts (a completion queue stays armed, if it was); bits say which words have
 * rung, bits of bits where to look.  A word is written before its bit, a bit
 * before that above it, and they are taken from above: nothing is lost, nothing is
 * ever full, and many doorbells of a turn are one.
 *
 * A context's doorbell may not disturb another's, so who owns a number is looked up
 * before its word is written.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "internal.h"

#define WORD_BITS 64u
#define LOW_WORDS (URMA_IDS / WORD_BITS)
#define MID_WORDS (LOW_WORDS / WORD_BITS)
#define TOP_WORDS (MID_WORDS / WORD_BITS)

/* A word: the value without the number, the page in its place. */
#define RUNG (1ull << 63)
#define NUMBER (URMA_IDS - 1ull)

enum { BELL_SQ, BELL_RQ, BELL_CQ, BELLS };

struct UrmaBells {
    uint64_t word[BELLS][URMA_IDS];
    uint64_t low[BELLS][LOW_WORDS], mid[BELLS][MID_WORDS],
             top[BELLS][TOP_WORDS];
    uint32_t any;               /* kinds that have rung, or BAD */
    uint32_t bad;               /* that nobody owns */
    uint16_t queue_page[URMA_IDS], cq_page[URMA_IDS];   /* + 1; 0: no object */
};

#define BAD (1u << BELLS)

UrmaBells *urma_bells_new(void)
{
    /* Large, and mostly never touched: of the system, zero, without memory until
     * it is. */
    return g_new0(UrmaBells, 1);
}

void urma_bells_free(UrmaBells *b)
{
    g_free(b);
}

void urma_bells_queue(UrmaBells *b, uint32_t id, int page)
{
    __atomic_store_n(&b->queue_page[id], page + 1, __ATOMIC_RELAXED);
}

void urma_bells_cq(UrmaBells *b, uint32_t id, int page)
{
    __atomic_store_n(&b->cq_page[id], page + 1, __ATOMIC_RELAXED);
}

static void mark(UrmaBells *b, unsigned kind, uint32_t id)
{
    const uint32_t low = id / WORD_BITS, mid = low / WORD_BITS,
                   top = mid / WORD_BITS;

    __atomic_fetch_or(&b->low[kind][low], 1ull << id % WORD_BITS,
                      __ATOMIC_SEQ_CST);
    __atomic_fetch_or(&b->mid[kind][mid], 1ull << low % WORD_BITS,
                      __ATOMIC_SEQ_CST);
    __atomic_fetch_or(&b->top[kind][top], 1ull << mid % WORD_BITS,
                      __ATOMIC_SEQ_CST);
    __atomic_fetch_or(&b->any, 1u << kind, __ATOMIC_SEQ_CST);
}

static void ring_bad(UrmaBells *b)
{
    __atomic_fetch_add(&b->bad, 1, __ATOMIC_SEQ_CST);
    __atomic_fetch_or(&b->any, BAD, __ATOMIC_SEQ_CST);
}

void ub_urma_ring(UbUrma *u, uint32_t page, uint32_t offset, uint64_t value)
{
    UrmaBells *b = u->bells;
    uint32_t id = value & NUMBER;
    unsigned kind = offset / 8;
    uint64_t old, next;
    const uint16_t *owner = kind == BELL_CQ ? b->cq_page : b->queue_page;

    if (offset % 8 || kind >= BELLS ||
        __atomic_load_n(&owner[id], __ATOMIC_RELAXED) != page + 1) {
        ring_bad(b);
        return;
    }
    value = RUNG | (value & ~NUMBER) | page;
    old = __atomic_load_n(&b->word[kind][id], __ATOMIC_RELAXED);
    do {
        next = value;
        if (kind == BELL_CQ && old & RUNG && !(value & UBQ_BELL_ARM)) {
            next |= old & UBQ_BELL_ARM;
        }
    } while (!__atomic_compare_exchange_n(&b->word[kind][id], &old, next, true,
                                          __ATOMIC_SEQ_CST, __ATOMIC_RELAXED));
    mark(b, kind, id);
}

static void word_take(UbUrma *u, unsigned kind, uint32_t id)
{
    uint64_t value = __atomic_exchange_n(&u->bells->word[kind][id], 0,
                                         __ATOMIC_SEQ_CST);

    if (value & RUNG) {
        ub_urma_bell(u, value & NUMBER, kind * 8,
                     (value & ~(RUNG | NUMBER)) | id);
    }
}

static void waiting_take(UbUrma *u, unsigned kind, uint32_t id)
{
    if (__atomic_load_n(&u->bells->word[kind][id], __ATOMIC_RELAXED)) {
        word_take(u, kind, id);
    }
}

void urma_bell_take_rq(UbUrma *u, uint32_t id)
{
    waiting_take(u, BELL_RQ, id);
}

void urma_bell_take_cq(UbUrma *u, uint32_t id)
{
    waiting_take(u, BELL_CQ, id);
}

static unsigned first_bit(uint64_t *bits)
{
    unsigned bit = __builtin_ctzll(*bits);

    *bits &= *bits - 1;
    return bit;
}

static uint64_t bits_take(uint64_t *bits)
{
    return __atomic_exchange_n(bits, 0, __ATOMIC_SEQ_CST);
}

static void kind_take(UbUrma *u, unsigned kind)
{
    UrmaBells *b = u->bells;

    for (uint32_t t = 0; t < TOP_WORDS; t++) {
        for (uint64_t top = bits_take(&b->top[kind][t]); top;) {
            uint32_t m = t * WORD_BITS + first_bit(&top);

            for (uint64_t mid = bits_take(&b->mid[kind][m]); mid;) {
                uint32_t l = m * WORD_BITS + first_bit(&mid);

                for (uint64_t low = bits_take(&b->low[kind][l]); low;) {
                    word_take(u, kind, l * WORD_BITS + first_bit(&low));
                }
            }
        }
    }
}

void ub_urma_rung(UbUrma *u)
{
    UrmaBells *b = u->bells;
    uint32_t any = __atomic_load_n(&b->any, __ATOMIC_RELAXED);

    if (!any) {
        return;
    }
    any = __atomic_exchange_n(&b->any, 0, __ATOMIC_SEQ_CST);
    for (unsigned kind = 0; kind < BELLS; kind++) {
        if (any & 1u << kind) {
            kind_take(u, kind);
        }
    }
    if (any & BAD) {
        u->counter[UB_URMA_BELLS_BAD] +=
            __atomic_exchange_n(&b->bad, 0, __ATOMIC_SEQ_CST);
        urma_guest_error(u, "doorbell of a queue that is not of the page, or "
                         "that does not exist");
    }
}
