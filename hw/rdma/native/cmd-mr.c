/*
 * Memory regions and their pages (interface document, section 3.2.4).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "internal.h"

uint32_t native_key_index(void *p, uint32_t key)
{
    NativeRdma *n = p;

    return key & (nicm_count(n, ICM_MPT) - 1);
}

static uint32_t region_rights(uint32_t flags)
{
    return RDMA_ACC_LOCAL_READ |
           (flags & NRM_LOCAL_WRITE ? RDMA_ACC_LOCAL_WRITE : 0) |
           (flags & NRM_REMOTE_WRITE ? RDMA_ACC_REMOTE_WRITE : 0) |
           (flags & NRM_REMOTE_READ ? RDMA_ACC_REMOTE_READ : 0) |
           (flags & NRM_REMOTE_ATOMIC ? RDMA_ACC_REMOTE_ATOMIC : 0);
}

uint8_t native_sw2hw_mpt(NativeRdma *n, NativeCmd *c)
{
    uint32_t flags = get_be32(c->in + NR_MPT_FLAGS);
    RdmaMr mr = {
        .key = get_be32(c->in + NR_MPT_KEY),
        .pd = get_be32(c->in + NR_MPT_PD),
        .access = region_rights(flags),
        .page_shift = 12,
        .physical = n->cfg.mpt_phys && (flags & NRM_PHYSICAL),
        .start = get_be64(c->in + NR_MPT_START),
        .length = get_be64(c->in + NR_MPT_LENGTH),
        .mtt = get_be64(c->in + NR_MPT_MTT),
    };
    const RdmaMr *old = rdma_mr_get(n->dev, c->in_mod);

    if (n->cfg.strict_cmd) {
        if (native_key_index(n, mr.key) != c->in_mod) {
            native_rule(n, mr.key, "SW2HW_MPT", "key does not fit the index");
            return NRS_BAD_PARAM;
        }
        if (old && old->valid) {
            native_rule(n, c->in_mod, "SW2HW_MPT", "entry in use");
            return NRS_BAD_PARAM;
        }
    }
    if (!nicm_write(n, ICM_MPT, c->in_mod, NR_MPT_BYTES, 0, c->in,
                   NR_MPT_BYTES) && n->cfg.strict_cmd) {
        native_rule(n, c->in_mod, "SW2HW_MPT", "ICM page not mapped");
        return NRS_BAD_PARAM;
    }
    rdma_mr_set(n->dev, c->in_mod, &mr);
    return NRS_OK;
}

uint8_t native_hw2sw_mpt(NativeRdma *n, NativeCmd *c)
{
    static const uint8_t zero[NR_MPT_BYTES];
    const RdmaMr *old = rdma_mr_get(n->dev, c->in_mod);

    if (n->cfg.strict_cmd && !(old && old->valid)) {
        native_rule(n, c->in_mod, "HW2SW_MPT", "no such region");
        return NRS_BAD_PARAM;
    }
    rdma_mr_clear(n->dev, c->in_mod);
    nicm_write(n, ICM_MPT, c->in_mod, NR_MPT_BYTES, 0, zero, sizeof(zero));
    return NRS_OK;
}

uint8_t native_write_mtt(NativeRdma *n, NativeCmd *c)
{
    uint64_t first = get_be64(c->in + NR_MTT_START);
    uint32_t num = MIN(c->in_mod, (NR_MAILBOX_BYTES - NR_MTT_LIST) / 8);
    uint32_t i;

    for (i = 0; i < num; i++) {
        /* Groups of four are stored backwards (table 3-2-22). */
        const uint8_t *e = c->in + NR_MTT_LIST + (i & ~3u) * 8 +
                           (3 - (i & 3)) * 8;
        uint64_t index = first + i;

        if (index < first || index >= nicm_count(n, ICM_MTT)) {
            if (n->cfg.strict_cmd) {
                native_rule(n, index, "WRITE_MTT", "index out of range");
                return NRS_BAD_PARAM;
            }
            index &= nicm_count(n, ICM_MTT) - 1;
        }
        if (!nicm_write(n, ICM_MTT, index, NR_MTT_BYTES, 0, e, 8) &&
            n->cfg.strict_cmd) {
            native_rule(n, index, "WRITE_MTT", "ICM page not mapped");
            return NRS_BAD_PARAM;
        }
    }
    return NRS_OK;
}

bool native_mtt_read(void *p, const RdmaMr *mr, uint64_t first, unsigned num,
                     uint64_t *phys)
{
    NativeRdma *n = p;
    uint64_t index = mr->mtt + first;
    unsigned i = 0;

    if (index < first || index + num > nicm_count(n, ICM_MTT)) {
        return false;
    }
    while (i < num) {
        unsigned run = MIN(num - i, PAGE / NR_MTT_BYTES -
                                    (index + i) % (PAGE / NR_MTT_BYTES));

        if (!nicm_read(n, ICM_MTT, index + i, NR_MTT_BYTES, 0, phys + i,
                      run * NR_MTT_BYTES)) {
            return false;
        }
        for (unsigned k = 0; k < run; k++, i++) {
            phys[i] = get_be64(&phys[i]) & ~UINT64_C(0xfff);
        }
    }
    return true;
}
