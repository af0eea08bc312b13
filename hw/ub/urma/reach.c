/*
 * Which memory peers and queues reach: what plain segments or the UMMU let them.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "internal.h"

/* Pages that the UMMU is asked for at once. */
#define PIECE (15 * 4096u)

/* @poison: as of urma_list_copy().  Where bad data cannot be marked they are not put
 * down; good ones in the middle of a bad piece that cannot become two stay marked. */
static bool move(UbUrma *u, uint64_t addr, void *buf, uint32_t len, bool write,
                 bool *poison)
{
    if (!write) {
        *poison = *poison || urma_poisoned(u, addr, len);
        return urma_read(u, addr, buf, len);
    }
    if (*poison && !urma_taint(u, addr, len)) {
        u->counter[UB_URMA_POISON_FULL]++;
        return false;
    }
    if (!urma_write(u, addr, buf, len)) {
        return false;       /* what was bad there still is */
    }
    if (!*poison) {
        urma_heal(u, addr, len);
    }
    return true;
}

bool urma_bus(void *opaque, uint64_t addr, void *buf, uint32_t len, bool write)
{
    UbUrma *u = opaque;
    bool poison = u->tainting;

    return move(u, addr, buf, len, write, &poison);
}

bool urma_exchange(void *opaque, uint64_t addr, void *was, const void *now,
                   uint32_t len, bool *same)
{
    UbUrma *u = opaque;

    if (u->tainting && !urma_taint(u, addr, len)) {
        u->counter[UB_URMA_POISON_FULL]++;
        return false;
    }
    if (!u->ops.exchange(u->opaque, addr, was, now, len, same)) {
        u->counter[UB_URMA_DMA_ERRORS]++;
        return false;
    }
    if (*same && !u->tainting) {
        urma_heal(u, addr, len);
    }
    return true;
}

/* ---- Peers ------------------------------------------------------------------------ */

static UbAccessResult ummu_access(UbUrma *u, UbAccess *a, UbSpan *out,
                                  unsigned max, unsigned *n)
{
    static const UbAccessResult results[] = {
        [UB_UMMU_OK] = UB_ACCESS_OK,
        [UB_UMMU_UNSUPPORTED] = UB_ACCESS_UNSUPPORTED,
        [UB_UMMU_ABORT] = UB_ACCESS_DENIED,
        [UB_UMMU_FAULT] = UB_ACCESS_FAULT,
        [UB_UMMU_LATER] = UB_ACCESS_LATER,
    };
    static const uint8_t kinds[] = {
        [UB_ACCESS_READ] = UB_UMMU_READ,
        [UB_ACCESS_WRITE] = UB_UMMU_WRITE,
        [UB_ACCESS_ATOMIC] = UB_UMMU_ATOMIC,
    };
    UbUmmuAccess ask = {
        .kind = kinds[a->kind],
        .token_en = a->token_en,
        .e_bit = a->e_bit,
        .bare = a->bare,
        .ahead = a->ahead,
        .ee = a->ee,
        .entity = a->entity,
        .token_id = a->token_id,
        .token = a->token,
        .addr = a->addr,
        .len = a->len,
    };
    UbUmmuSpan span[UB_TA_SPANS];
    UbUmmuResult r = ub_ummu_access(u->ummu, &ask, span,
                                    MIN(max, UB_TA_SPANS), n);

    for (unsigned i = 0; r == UB_UMMU_OK && i < *n; i++) {
        out[i] = (UbSpan){ .bus = span[i].addr, .len = span[i].len };
    }
    u->counter[UB_URMA_SEGMENT_DENIED] += r == UB_UMMU_UNSUPPORTED ||
                                          r == UB_UMMU_ABORT;
    a->timer = ask.timer;
    a->ticket = ask.stall;
    return results[r];
}

UbAccessResult urma_access(void *opaque, UbAccess *a, UbSpan *out,
                           unsigned max, unsigned *n)
{
    UbUrma *u = opaque;
    UbAccessResult r;

    if (!urma_may_access(u, a->entity)) {
        u->counter[UB_URMA_SEGMENT_DENIED]++;
        return UB_ACCESS_DENIED;
    }
    r = u->ummu && ub_ummu_decides(u->ummu)
        ? ummu_access(u, a, out, max, n)
        : urma_segment_access(u, a, out, max, n);
    u->tainting = a->kind == UB_ACCESS_WRITE && a->poison;
    for (unsigned i = 0; r == UB_ACCESS_OK && a->kind != UB_ACCESS_WRITE &&
                         i < *n; i++) {
        if (urma_poisoned(u, out[i].bus, out[i].len)) {
            /* What an atomic makes of bad data is bad. */
            u->tainting = a->kind == UB_ACCESS_ATOMIC;
            return UB_ACCESS_POISON;
        }
    }
    return r;
}

/* ---- Queues ------------------------------------------------------------------------ */

/* Memory at an address of the queue's TokenID. */
static bool local_copy(UrmaQueue *q, uint64_t addr, uint8_t *buf, uint32_t len,
                       bool write, bool *poison)
{
    UbUmmuAccess ask = {
        .kind = write ? UB_UMMU_WRITE : UB_UMMU_READ,
        .local = true,
        .entity = q->entity,
        .token_id = q->local,
    };
    UbUmmuSpan span[UB_TA_SPANS];
    unsigned n;

    for (uint32_t done = 0; done < len; done += ask.len) {
        uint8_t *p = buf + done;

        ask.addr = addr + done;
        ask.len = MIN(len - done, PIECE);
        if (ub_ummu_access(q->urma->ummu, &ask, span, UB_TA_SPANS, &n) !=
            UB_UMMU_OK) {
            return false;
        }
        for (unsigned i = 0; i < n; p += span[i++].len) {
            if (!move(q->urma, span[i].addr, p, span[i].len, write, poison)) {
                return false;
            }
        }
    }
    return true;
}

static bool element_copy(UrmaQueue *q, uint64_t addr, uint8_t *buf,
                         uint32_t len, bool write, bool *poison)
{
    return q->flags & UBQ_Q_TRANSLATE
           ? local_copy(q, addr, buf, len, write, poison)
           : move(q->urma, addr, buf, len, write, poison);
}

bool urma_list_copy(UrmaQueue *q, const UrmaElement *list, unsigned n,
                    uint32_t off, void *buf, uint32_t len, bool write,
                    bool *poison)
{
    uint8_t *p = buf;

    if (len && !urma_may_access(q->urma, q->entity)) {
        return false;
    }
    for (unsigned i = 0; i < n && len; i++) {
        uint32_t part;

        if (off >= list[i].len) {
            off -= list[i].len;
            continue;
        }
        part = MIN(len, list[i].len - off);
        if (!element_copy(q, list[i].addr + off, p, part, write, poison)) {
            return false;
        }
        p += part;
        len -= part;
        off = 0;
    }
    return !len;
}
