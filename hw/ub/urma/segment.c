/*
 * Plain segments of a device: pieces of the guest's memory that peers may reach by
 * TokenID, made by commands, where the UMMU is off.  Those of programs without a device
 * are in ub/host_segment.h, which says why they are others.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "internal.h"

#define SEG_ALL (UBQ_SEG_READ | UBQ_SEG_WRITE | UBQ_SEG_ATOMIC | \
                 UBQ_SEG_TOKEN | UBQ_SEG_EXCLUSIVE)

/* What each kind of access needs. */
static const uint32_t right_of[] = {
    [UB_ACCESS_READ] = UBQ_SEG_READ,
    [UB_ACCESS_WRITE] = UBQ_SEG_WRITE,
    [UB_ACCESS_ATOMIC] = UBQ_SEG_ATOMIC,
};

static bool token_good(const UrmaSegment *s, const UbAccess *a)
{
    return !(s->access & UBQ_SEG_TOKEN) ||
           (a->token_en && (a->token == s->token || a->token == s->token_old));
}

static bool range_good(const UrmaSegment *s, const UbAccess *a)
{
    uint64_t off = a->addr - s->uba;

    return off <= s->length && a->len <= s->length - off;
}

UbAccessResult urma_segment_access(UbUrma *u, UbAccess *a, UbSpan *out,
                                   unsigned max, unsigned *n)
{
    UrmaSegment *s = a->token_id < URMA_IDS ?
                     core_table_get(&u->segments, a->token_id) : NULL;

    if (!s || s->entity != a->entity || !(s->access & right_of[a->kind]) ||
        (s->access & UBQ_SEG_EXCLUSIVE && !a->e_bit) ||
        !token_good(s, a) || !range_good(s, a)) {
        u->counter[UB_URMA_SEGMENT_DENIED]++;
        return UB_ACCESS_DENIED;
    }
    out[0] = (UbSpan){ .bus = s->base + (a->addr - s->uba), .len = a->len };
    *n = 1;
    return UB_ACCESS_OK;
}

const char *urma_segment_check(const UbUrma *u, const UrmaSegment *s)
{
    if (s->access & ~SEG_ALL) {
        return "segment with rights that do not exist";
    }
    if (!s->length || s->uba + s->length - 1 < s->uba ||
        s->base + s->length - 1 < s->base) {
        return "segment that is empty or wraps";
    }
    return urma_entity_there(u, s->entity) ?
           NULL : "segment of an Entity that does not exist";
}

unsigned urma_segment_set(UbUrma *u, uint32_t *id, uint8_t *cmd)
{
    UrmaSegment s = {
        .token_id = *id,
        .uba = get_le64(cmd + UBQ_SEG_UBA),
        .base = get_le64(cmd + UBQ_SEG_BASE),
        .length = get_le64(cmd + UBQ_SEG_LENGTH),
        .access = get_le32(cmd + UBQ_SEG_ACCESS),
        .token = get_le32(cmd + UBQ_SEG_TOKEN_VALUE),
        .token_old = get_le32(cmd + UBQ_SEG_TOKEN_OLD),
        .entity = get_le16(cmd + UBQ_SEG_ENTITY),
    };
    const char *broken = urma_segment_check(u, &s);
    UrmaSegment *old;

    if (*id >= URMA_IDS) {
        return UBQ_RESULT_PARAMETER;
    }
    if (broken) {
        urma_guest_error(u, broken);
        return UBQ_RESULT_PARAMETER;
    }
    old = core_table_get(&u->segments, *id);
    if (!old && u->n_segments >= u->cfg.segments) {
        return UBQ_RESULT_FULL;
    }
    u->n_segments += !old;
    g_free(old);
    core_table_set(&u->segments, *id, g_memdup2(&s, sizeof(s)));
    return UBQ_RESULT_OK;
}

unsigned urma_segment_clear(UbUrma *u, uint32_t *id, uint8_t *cmd)
{
    UrmaSegment *s = *id < URMA_IDS ? core_table_get(&u->segments, *id) : NULL;

    if (!s) {
        return UBQ_RESULT_NO_OBJECT;
    }
    /* Nobody is let in any more; what came before is drained (§8.2.1).  It stays,
     * without rights, for whoever asks again. */
    s->access = 0;
    if (!ub_ta_target_idle(u->ta, s->entity, *id)) {
        return UBQ_RESULT_STATE;
    }
    core_table_set(&u->segments, *id, NULL);
    u->n_segments--;
    g_free(s);
    return UBQ_RESULT_OK;
}
