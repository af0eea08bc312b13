/*
 * Atomic operations (UB 2.0 §7.4.2.3, table 7-16): integers of 1 to 64 bytes,
 * least significant byte first.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "core/bytes.h"
#include "internal.h"

enum { WORDS = UB_TA_ATOMIC_MAX / 8 };

/* UDETAH[23:20] of Atomic_store and _load. */
enum { SUB_ADD, SUB_CLR, SUB_EOR, SUB_SET, SUB_SMAX, SUB_SMIN, SUB_UMAX,
       SUB_UMIN, SUBS };

typedef struct Big {
    uint64_t w[WORDS];          /* least significant first */
} Big;

static Big load_big(const uint8_t *p, uint32_t len)
{
    uint8_t b[UB_TA_ATOMIC_MAX] = { 0 };
    Big v;

    memcpy(b, p, len);
    for (unsigned i = 0; i < WORDS; i++) {
        v.w[i] = get_le64(b + 8 * i);
    }
    return v;
}

static void store_big(uint8_t *p, uint32_t len, const Big *v)
{
    uint8_t b[UB_TA_ATOMIC_MAX];

    for (unsigned i = 0; i < WORDS; i++) {
        put_le64(b + 8 * i, v->w[i]);
    }
    memcpy(p, b, len);
}

static Big add_big(const Big *a, const Big *b, bool negate)
{
    uint64_t carry = negate;
    Big r;

    for (unsigned i = 0; i < WORDS; i++) {
        uint64_t x = negate ? ~b->w[i] : b->w[i];
        uint64_t sum = a->w[i] + x;
        uint64_t out = sum < x;

        r.w[i] = sum + carry;
        carry = out | (r.w[i] < sum);
    }
    return r;
}

/* -1, 0, 1.  @len bytes count; of signed ones the highest bit is turned. */
static int compare_big(const Big *a, const Big *b, uint32_t len, bool sign)
{
    unsigned top = (len - 1) / 8;
    uint64_t flip = sign ? UINT64_C(1) << ((len * 8 - 1) % 64) : 0;

    for (unsigned i = top + 1; i-- > 0;) {
        uint64_t x = a->w[i] ^ (i == top ? flip : 0);
        uint64_t y = b->w[i] ^ (i == top ? flip : 0);

        if (x != y) {
            return x < y ? -1 : 1;
        }
    }
    return 0;
}

static Big sub_operation(const UbTaConfig *cfg, unsigned sub, const Big *mem,
                         const Big *op, uint32_t len)
{
    Big r = *mem;
    bool pick = false;

    /* The names of 1 and 2 and their descriptions are each other's. */
    if (cfg->clr_text && (sub == SUB_CLR || sub == SUB_EOR)) {
        sub = SUB_CLR + SUB_EOR - sub;
    }
    switch (sub) {
    case SUB_ADD:
        return add_big(mem, op, false);
    case SUB_SMAX:
        pick = compare_big(op, mem, len, true) > 0;
        break;
    case SUB_SMIN:
        pick = compare_big(op, mem, len, true) < 0;
        break;
    case SUB_UMAX:
        pick = compare_big(op, mem, len, false) > 0;
        break;
    case SUB_UMIN:
        pick = compare_big(op, mem, len, false) < 0;
        break;
    default:
        for (unsigned i = 0; i < WORDS; i++) {
            r.w[i] = sub == SUB_CLR ? mem->w[i] & ~op->w[i]
                     : sub == SUB_EOR ? mem->w[i] ^ op->w[i]
                     : mem->w[i] | op->w[i];
        }
    }
    return pick ? *op : r;
}

static unsigned sub_of(const UbTah *tah)
{
    return tah->ud_flag ? tah->ud >> 20 & 15 : SUB_ADD;
}

bool ta_atomic_valid(const UbTaConfig *cfg, const UbTah *tah)
{
    if (tah->opcode != UB_TA_ATOMIC_STORE && tah->opcode != UB_TA_ATOMIC_LOAD) {
        return true;
    }
    return (tah->ud_flag || cfg->store_default_add) && sub_of(tah) < SUBS;
}

void ta_atomic(const UbTaConfig *cfg, const UbTah *tah, uint8_t *mem,
               const uint8_t *op, uint8_t *old, uint32_t len)
{
    Big m = load_big(mem, len), a = load_big(op, len);
    Big b = load_big(op + len, len), r = m;
    const Big *want = cfg->cas_swapped ? &b : &a;
    const Big *put = cfg->cas_swapped ? &a : &b;

    memcpy(old, mem, len);
    switch (tah->opcode) {
    case UB_TA_ATOMIC_CAS:
        r = compare_big(&m, want, len, false) ? m : *put;
        break;
    case UB_TA_ATOMIC_SWAP:
        r = a;
        break;
    case UB_TA_ATOMIC_STORE:
    case UB_TA_ATOMIC_LOAD:
        r = sub_operation(cfg, sub_of(tah), &m, &a, len);
        break;
    case UB_TA_FETCH_ADD:
    case UB_TA_FETCH_SUB:
        r = add_big(&m, &a, tah->opcode == UB_TA_FETCH_SUB);
        break;
    default:
        for (unsigned i = 0; i < WORDS; i++) {
            r.w[i] = tah->opcode == UB_TA_FETCH_AND ? m.w[i] & a.w[i]
                     : tah->opcode == UB_TA_FETCH_OR ? m.w[i] | a.w[i]
                     : m.w[i] ^ a.w[i];
        }
    }
    store_big(mem, len, &r);
}
