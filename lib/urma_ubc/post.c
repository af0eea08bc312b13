/*
 * Provider of liburma: requests into queues, without a system call.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "core/bytes.h"
#include "ubc.h"

/* Blocks from index @pi on, over the end of the ring. */
static void blocks_copy(UbcRing *r, const uint8_t *e, unsigned blocks)
{
    unsigned first = r->pi & ubc_ring_mask(r);
    unsigned part = (1u << r->log2) - first;

    part = part < blocks ? part : blocks;
    memcpy(r->at + first * UBQ_BLOCK, e, part * UBQ_BLOCK);
    memcpy(r->at, e + part * UBQ_BLOCK, (blocks - part) * UBQ_BLOCK);
}

static int send_put(UbcRing *r, const urma_jfs_wr *wr, const UbcTarget *t)
{
    uint8_t e[UBQ_SQE_BLOCKS_MAX * UBQ_BLOCK];
    uint32_t bytes, owner;
    unsigned blocks;
    int err = ubc_sqe_build(e, wr, t, &blocks, &bytes);

    if (err) {
        return err;
    }
    if (blocks > (1u << r->log2) - (uint16_t)(r->pi - r->ci)) {
        return ENOMEM;
    }
    owner = r->pi >> r->log2 & 1 ? 0 : UBQ_SQE_OWNER;
    put_le32(e, get_le32(e) | owner);
    blocks_copy(r, e, blocks);
    r->slot[r->pi & ubc_ring_mask(r)] = (UbcSlot) {
        .user_ctx = wr->user_ctx, .bytes = bytes, .blocks = blocks,
    };
    r->pi += blocks;
    return 0;
}

static int send_post(const urma_context *ctx, UbcRing *r,
                     urma_target_jetty *bound, urma_jfs_wr *wr,
                     urma_jfs_wr **bad)
{
    uint16_t before;
    int err = 0;

    ubc_ring_lock(r);
    before = r->pi;
    for (; wr && !err; wr = err ? wr : wr->next) {
        err = send_put(r, wr, (UbcTarget *)(wr->tjetty ? wr->tjetty : bound));
    }
    if (r->pi != before) {
        ubc_sent_tell(ctx, r);
    }
    ubc_ring_unlock(r);
    if (err && bad) {
        *bad = wr;
    }
    return err;
}

int ubc_post_jfs_wr(urma_jfs *jfs, urma_jfs_wr *wr, urma_jfs_wr **bad)
{
    return send_post(jfs->urma_ctx, &((UbcJfs *)jfs)->sq, NULL, wr, bad);
}

int ubc_post_jetty_send_wr(urma_jetty *jetty, urma_jfs_wr *wr,
                           urma_jfs_wr **bad)
{
    return send_post(jetty->urma_ctx, &((UbcJetty *)jetty)->sq,
                     jetty->remote_jetty, wr, bad);
}

static int recv_put(UbcRing *r, const urma_jfr_wr *wr)
{
    uint32_t index = r->pi & ubc_ring_mask(r), max = 1u << r->stride;
    uint8_t *e = r->at + ((size_t)index << r->stride) * UBQ_ELEMENT;
    uint32_t n = wr->src.num_sge;

    if (n > max) {
        return EINVAL;
    }
    if ((uint16_t)(r->pi - r->ci) >= 1u << r->log2) {
        return ENOMEM;
    }
    for (uint32_t i = 0; i < max; i++, e += UBQ_ELEMENT) {
        put_le64(e, i < n ? wr->src.sge[i].addr : 0);
        put_le32(e + 8, i < n ? wr->src.sge[i].len : 0);
        put_le32(e + 12, 0);
    }
    r->slot[index] = (UbcSlot) { .user_ctx = wr->user_ctx };
    r->pi++;
    return 0;
}

int ubc_post_jfr_wr(urma_jfr *jfr, urma_jfr_wr *wr, urma_jfr_wr **bad)
{
    UbcRing *r = &((UbcJfr *)jfr)->rq;
    uint16_t before;
    int err = 0;

    ubc_ring_lock(r);
    before = r->pi;
    for (; wr && !err; wr = err ? wr : wr->next) {
        err = recv_put(r, wr);
    }
    if (r->pi != before) {
        ubc_recv_tell(jfr->urma_ctx, r);
    }
    ubc_ring_unlock(r);
    if (err && bad) {
        *bad = wr;
    }
    return err;
}

int ubc_post_jetty_recv_wr(urma_jetty *jetty, urma_jfr_wr *wr,
                           urma_jfr_wr **bad)
{
    return ubc_post_jfr_wr(jetty->cfg.jfr, wr, bad);
}
