/*
 * Memory whose contents are known to be bad: what the guest or a peer's poisoned data
 * made so (UB 2.0 §7.2.1, BTAH.Poison and ATAH.Poison).
 *
 * A hardware that has such memory keeps a mark beside each word; here it is a list of
 * pieces, by address on the bus.  Whoever reads of it gets poisoned data; what the
 * device writes heals, byte by byte, unless it is itself poisoned.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "internal.h"

typedef struct Piece {
    uint64_t from, last;
} Piece;

static Piece *piece(const UbUrma *u, unsigned i)
{
    return &g_array_index(u->poison, Piece, i);
}

/* The piece with the lowest address that has bytes of [@from, @last], or NULL. */
static const Piece *lowest(const UbUrma *u, uint64_t from, uint64_t last)
{
    const Piece *found = NULL;

    for (unsigned i = 0; i < u->poison->len; i++) {
        const Piece *p = piece(u, i);

        if (p->from <= last && from <= p->last &&
            (!found || p->from < found->from)) {
            found = p;
        }
    }
    return found;
}

bool urma_poisoned(const UbUrma *u, uint64_t addr, uint64_t len)
{
    /* What goes beyond the last address is no memory, and no piece either. */
    return len && u->poison->len && addr + len - 1 >= addr &&
           lowest(u, addr, addr + len - 1);
}

/* Pieces that there would be without [@from, @last]. */
static unsigned pieces_without(const UbUrma *u, uint64_t from, uint64_t last)
{
    unsigned n = u->poison->len;

    for (unsigned i = 0; i < u->poison->len; i++) {
        const Piece *p = piece(u, i);

        if (p->from <= last && from <= p->last) {
            n += (p->from < from) + (p->last > last) - 1;
        }
    }
    return n;
}

static void cut(UbUrma *u, uint64_t from, uint64_t last)
{
    for (unsigned i = 0; i < u->poison->len;) {
        Piece p = *piece(u, i);

        if (p.from > last || from > p.last) {
            i++;
            continue;
        }
        g_array_remove_index_fast(u->poison, i);
        if (p.from < from) {
            Piece head = { p.from, from - 1 };

            g_array_append_val(u->poison, head);
        }
        if (p.last > last) {
            Piece tail = { last + 1, p.last };

            g_array_append_val(u->poison, tail);
        }
    }
}

bool urma_heal(UbUrma *u, uint64_t addr, uint64_t len)
{
    if (!urma_poisoned(u, addr, len)) {
        return true;
    }
    if (pieces_without(u, addr, addr + len - 1) > UBQ_POISON_PIECES) {
        return false;
    }
    cut(u, addr, addr + len - 1);
    return true;
}

bool urma_taint(UbUrma *u, uint64_t addr, uint64_t len)
{
    uint64_t last = addr + len - 1;
    Piece p = { addr, last };

    if (!len || last < addr) {
        return !len;
    }
    /* One that already covers it, or ends where it begins, is not another one. */
    for (unsigned i = 0; i < u->poison->len; i++) {
        Piece *old = piece(u, i);

        if (old->from <= addr && last <= old->last) {
            return true;
        }
        if (old->last + 1 == addr && old->last < addr &&
            !urma_poisoned(u, addr, len)) {
            old->last = last;
            return true;
        }
    }
    if (pieces_without(u, addr, last) >= UBQ_POISON_PIECES) {
        return false;
    }
    cut(u, addr, last);
    g_array_append_val(u->poison, p);
    return true;
}

/* What the guest asks for: a piece of memory is bad, is good again, is there a bad
 * one. */
unsigned urma_poison_command(UbUrma *u, uint32_t *id, uint8_t *cmd)
{
    uint64_t base = get_le64(cmd + UBQ_POISON_BASE),
             len = get_le64(cmd + UBQ_POISON_LENGTH);
    const Piece *p;

    if (*id || !len || base + len - 1 < base) {
        return UBQ_RESULT_PARAMETER;
    }
    switch (get_le32(cmd + UBQ_POISON_ACTION)) {
    case UBQ_POISON_SET:
        return urma_taint(u, base, len) ? UBQ_RESULT_OK : UBQ_RESULT_FULL;
    case UBQ_POISON_CLEAR:
        return urma_heal(u, base, len) ? UBQ_RESULT_OK : UBQ_RESULT_FULL;
    case UBQ_POISON_QUERY:
        p = lowest(u, base, base + len - 1);
        put_le64(cmd + UBQ_POISON_BASE, p ? MAX(p->from, base) : 0);
        put_le64(cmd + UBQ_POISON_LENGTH,
                 p ? MIN(p->last, base + len - 1) - MAX(p->from, base) + 1 : 0);
        return UBQ_RESULT_OK;
    default:
        return UBQ_RESULT_PARAMETER;
    }
}

void urma_poison_image(UbUrma *u, CoreImage *im)
{
    uint32_t n = u->poison->len;

    core_image_count(im, &n, UBQ_POISON_PIECES, "more poisoned pieces than may be");
    for (uint32_t i = 0; i < n && !core_image_error(im); i++) {
        Piece p = core_image_loading(im) ? (Piece) { 0 } : *piece(u, i);

        core_image_int(im, &p.from);
        core_image_int(im, &p.last);
        if (core_image_loading(im) &&
            core_image_check(im, p.from <= p.last && !lowest(u, p.from, p.last),
                             "poisoned pieces that overlap or end before they "
                             "begin")) {
            g_array_append_val(u->poison, p);
        }
    }
}

void urma_poison_init(UbUrma *u)
{
    u->poison = g_array_new(false, false, sizeof(Piece));
}
