/*
 * Load and store: the table that the UBFM has in the device (UB 2.0 §10.4.7), in the
 * place of those that a driver has in memory.
 *
 * It is a slice of CFG1 that configuration messages of the UBFM write, entry by entry.
 * An entry is a range of MiBs and names the peer itself, so that the host has no say in
 * where its accesses go: no row of destinations of the driver's is looked at.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "internal.h"

#define ENTRY_DWORDS (UB_LDS_ENTRY / 4)

/* What may be written of an entry's dwords; what is not named is reserved. */
static const uint32_t entry_rw[ENTRY_DWORDS] = {
    UB_LDS_TYPE | UB_LDS_TOKEN_VLD, 0,          /* Q0 */
    UB_LDS_MATT_MIB, UB_LDS_MATT_MIB,           /* Q1 */
    (uint32_t)UB_LDS_UBA, ~0u,                  /* Q2 */
    UB_LDS_MATT_CNA, 3u << (UB_LDS_ORDER_SHIFT - 32) | 3u << (UB_LDS_EE_SHIFT - 32),
    ~0u, ~0u, ~0u, ~0u,                         /* Q4, Q5: DEID */
    UB_TA_IDS - 1, ~0u,                         /* Q6 */
    0xffff, 0,                                  /* Q7 */
};

#define TOKEN_DWORD 13  /* TokenValue, in Q6 */

static void matt_written(void *opaque, UbSlice *s, const UbSliceWrite *w)
{
    UbLds *l = opaque;

    l->counter[UB_LDS_TABLE_WRITES_COUNT]++;
    l->matt->changed |= UINT64_C(1) << (w->dw / ENTRY_DWORDS - 1);
    lds_invalidate(l, 0, UINT32_MAX);
    l->ops.kick(l->opaque);
}

static const UbSliceOps matt_ops = { matt_written, NULL };

static void describe(LdsMatt *m)
{
    unsigned n = 0;

    m->dword[n++] = (UbSpaceDword){
        .dw = 0, .reset = UB_LDS_MATT_USED << 4, .name = "Slice Header" };
    m->dword[n++] = (UbSpaceDword){
        .dw = UB_LDS_MATT_SIZE, .reset = UB_LDS_MATT_ENTRIES, .name = "MATT_SIZE" };
    for (unsigned i = 0; i < UB_LDS_MATT_ENTRIES; i++) {
        for (unsigned k = 0; k < ENTRY_DWORDS; k++) {
            m->dword[n++] = (UbSpaceDword){
                .dw = UB_LDS_MATT_ENTRY(i) + k, .rw = entry_rw[k], .name = "MATT" };
        }
    }
    m->table = (UbSpaceSlice){ "CFG1_CAP242_VD", UB_SPACE_CFG1, UB_LDS_MATT_CAP,
                               UB_LDS_MATT_USED, m->dword, n };
}

void lds_matt_attach(UbLds *l, UbSpace *space)
{
    l->matt = g_new0(LdsMatt, 1);
    describe(l->matt);
    l->matt->slice =
        ub_space_attach_at(space, UB_CFG_CAP(UB_CFG1_BASE, UB_LDS_MATT_CAP),
                           &l->matt->table, &matt_ops, l);
    ub_slice_manage(l->matt->slice);
    for (unsigned i = 0; i < UB_LDS_MATT_ENTRIES; i++) {
        ub_slice_hide(l->matt->slice, UB_LDS_MATT_ENTRY(i) + TOKEN_DWORD, ~0u);
    }
    /* There is no table in memory. */
    ub_slice_fix(l->decoder, UB_DECODER_MATT_BA, ~0u, 0);
    ub_slice_fix(l->decoder, UB_DECODER_MATT_BA + 1, ~0u, 0);
}

bool lds_matt_entry(const UbLds *l, unsigned i, LdsMattEntry *e)
{
    const UbSlice *s = l->matt->slice;
    unsigned at = UB_LDS_MATT_ENTRY(i);

    /* A migration stream may have put there what no write can. */
    for (unsigned k = 0; k < ENTRY_DWORDS; k++) {
        put_le32(e->bytes + 4 * k, ub_slice_get(s, at + k) & entry_rw[k]);
    }
    e->first = get_le32(e->bytes + 8);
    e->last = get_le32(e->bytes + 12);
    e->cna = get_le32(e->bytes + 24);
    return get_le32(e->bytes) & UB_LDS_TYPE;
}

int lds_matt_find(const UbLds *l, uint32_t mib, LdsMattEntry *e)
{
    for (unsigned i = 0; i < UB_LDS_MATT_ENTRIES; i++) {
        if (lds_matt_entry(l, i, e) && e->first <= mib && mib <= e->last) {
            return i;
        }
    }
    return -1;
}
