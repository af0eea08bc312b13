/*
 * ncic-mthca: memory protection and translation tables.
 *
 * Protection entries live in the model; translation entries are read out of
 * guest memory when they are used, because drivers write them there directly.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "internal.h"

/* Keys are entry numbers rotated left by eight bits. */
uint32_t mthca_key_index(void *p, uint32_t key)
{
    Mthca *m = p;

    return (key << 24 | key >> 8) & ((1u << m->log_mpts) - 1);
}

bool mthca_mtt_read(void *p, const RdmaMr *mr, uint64_t first, unsigned n,
                    uint64_t *phys)
{
    Mthca *m = p;
    uint8_t buf[RDMA_MTT_MOST * 8];

    if (!mthca_icm_read(m, mr->mtt + first * 8, buf, n * 8)) {
        return false;
    }
    for (unsigned i = 0; i < n; i++) {
        uint64_t e = get_be64(buf + i * 8);

        if (!(e & MTHCA_MTT_PRESENT)) {
            return false;
        }
        phys[i] = e & ~0xfffull;
    }
    return true;
}

static uint8_t mthca_mpt_index(Mthca *m, const MthcaCmd *c, uint32_t *idx)
{
    if (c->mod >> m->log_mpts) {
        return MTHCA_ST_BAD_INDEX;
    }
    *idx = c->mod;
    return MTHCA_ST_OK;
}

static uint32_t mthca_mpt_access(uint32_t flags)
{
    return (flags & MTHCA_MPT_LOCAL_READ ? RDMA_ACC_LOCAL_READ : 0) |
           (flags & MTHCA_MPT_LOCAL_WRITE ? RDMA_ACC_LOCAL_WRITE : 0) |
           (flags & MTHCA_MPT_REMOTE_READ ? RDMA_ACC_REMOTE_READ : 0) |
           (flags & MTHCA_MPT_REMOTE_WRITE ? RDMA_ACC_REMOTE_WRITE : 0) |
           (flags & MTHCA_MPT_ATOMIC ? RDMA_ACC_REMOTE_ATOMIC : 0);
}

uint8_t mthca_sw2hw_mpt(Mthca *m, MthcaCmd *c)
{
    uint32_t idx, flags = get_be32(c->in + MTHCA_MPE_FLAGS);
    uint32_t key = get_be32(c->in + MTHCA_MPE_KEY);
    uint8_t st = mthca_mpt_index(m, c, &idx);
    RdmaMr mr = { 0 };

    if (st != MTHCA_ST_OK) {
        return st;
    }
    if (m->mpt[idx]) {
        return MTHCA_ST_BAD_RES_STATE;
    }
    if (!(flags & MTHCA_MPT_REGION)) {
        return MTHCA_ST_BAD_PARAM;      /* windows are not supported */
    }
    mr.page_shift = (get_be32(c->in + MTHCA_MPE_PAGE) & 0x1f) + 12;
    if (mr.page_shift > 31 || (key & ((1u << m->log_mpts) - 1)) != idx) {
        return MTHCA_ST_BAD_PARAM;
    }
    /* The entry holds the key as a number; software uses it rotated. */
    mr.key = key << 8 | key >> 24;
    mr.pd = get_be32(c->in + MTHCA_MPE_PD) & 0xffffff;
    mr.access = mthca_mpt_access(flags);
    mr.physical = flags & MTHCA_MPT_PHYSICAL;
    mr.start = get_be64(c->in + MTHCA_MPE_START);
    mr.length = get_be64(c->in + MTHCA_MPE_LENGTH);
    mr.mtt = get_be64(c->in + MTHCA_MPE_MTT);
    m->mpt[idx] = g_malloc(sizeof(**m->mpt));
    memcpy(m->mpt[idx], c->in, sizeof(**m->mpt));
    rdma_mr_set(m->rdma, idx, &mr);
    return MTHCA_ST_OK;
}

uint8_t mthca_query_mpt(Mthca *m, MthcaCmd *c)
{
    uint32_t idx;
    uint8_t st = mthca_mpt_index(m, c, &idx);

    if (st != MTHCA_ST_OK) {
        return st;
    }
    if (!m->mpt[idx]) {
        return MTHCA_ST_BAD_RES_STATE;
    }
    memcpy(c->out, m->mpt[idx], sizeof(**m->mpt));
    c->out[0] &= 0x0f;      /* hardware owns it */
    return MTHCA_ST_OK;
}

uint8_t mthca_hw2sw_mpt(Mthca *m, MthcaCmd *c)
{
    uint32_t idx;
    uint8_t st = mthca_mpt_index(m, c, &idx);

    if (st != MTHCA_ST_OK) {
        return st;
    }
    if (!m->mpt[idx]) {
        return MTHCA_ST_BAD_RES_STATE;
    }
    memcpy(c->out, m->mpt[idx], sizeof(**m->mpt));
    c->out[0] |= 0xf0;
    g_free(m->mpt[idx]);
    m->mpt[idx] = NULL;
    rdma_mr_clear(m->rdma, idx);
    return MTHCA_ST_OK;
}

/* Up to 508 entries of a WRITE_MTT mailbox, 512 of READ_MTT. */
uint8_t mthca_read_mtt(Mthca *m, MthcaCmd *c)
{
    if (!c->mod || c->mod > MTHCA_MAILBOX_SIZE / 8) {
        return MTHCA_ST_BAD_SIZE;
    }
    return mthca_icm_read(m, c->in_param, c->out, c->mod * 8) ?
           MTHCA_ST_OK : MTHCA_ST_BAD_PARAM;
}

uint8_t mthca_write_mtt(Mthca *m, MthcaCmd *c)
{
    uint64_t virt = get_be64(c->in);

    if (!c->mod || c->mod > MTHCA_MAILBOX_SIZE / 8 - 2) {
        return MTHCA_ST_BAD_SIZE;
    }
    for (uint32_t i = 0; i < c->mod; i++) {
        uint64_t phys, len = 8;

        if (!icm_lookup(&m->icm, virt + i * 8, &phys, &len) || len < 8 ||
            !mthca_dma_write(m, phys, c->in + 16 + i * 8, 8)) {
            return MTHCA_ST_BAD_PARAM;
        }
    }
    return MTHCA_ST_OK;
}
