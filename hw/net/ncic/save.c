/*
 * NCIC Ethernet engine: migration
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "internal.h"

static void image_config(NcicEth *e, CoreImage *im)
{
    const NcicEthConfig *c = &e->cfg;

    core_image_begin(im, CORE_TAG('C', 'O', 'N', 'F'), 1);
    core_image_same(im, c->queues, "property 'queues' differs");
    core_image_same(im, c->vectors, "property 'msix-vectors' differs");
    core_image_same(im, c->mtu, "property 'mtu' differs");
    core_image_same(im, (uint64_t)get_be16(c->mac) << 32 |
                        get_be32(c->mac + 2), "property 'mac' differs");
    core_image_same(im, c->ext, "property 'eth-ext' differs");
    core_image_same(im, c->tx_start, "property 'layout' differs");
    core_image_same(im, c->doc_flags, "property 'eth-flags' differs");
    core_image_same(im, c->arm_oneshot, "property 'eth-arm' differs");
    core_image_same(im, c->irq_coalesce, "property 'irq-coalesce' differs");
    core_image_same(im, c->roce_csum, "property 'roce-csum' differs");
    core_image_same(im, c->roce_dest_only, "property 'roce-ports' differs");
    core_image_same(im, c->rx_drop, "property 'rx-drop' differs");
    core_image_end(im);
}

static void image_ncsr(NcicEth *e, CoreImage *im)
{
    static const uint8_t regs[] = {
        NCIC_R_RSS_MASK, NCIC_R_TX_START, NCIC_R_MSIX_ENABLE,
        NCIC_R_LINK_STATUS, NCIC_R_LINK_IRQ, NCIC_R_ERR_STATUS,
    };
    uint32_t counters = NCIC_C_COUNT;

    core_image_begin(im, CORE_TAG('N', 'C', 'S', 'R'), 1);
    for (unsigned i = 0; i < sizeof(regs); i++) {
        uint32_t *reg = &e->ncsr[regs[i]];

        core_image_int(im, reg);
        *reg &= ncic_regs_mutable(regs[i]);
    }
    core_image_flag(im, &e->link_irq_due);
    /* Counters are only ever added at the end of their table. */
    core_image_count(im, &counters, NCIC_C_COUNT, "counters that nobody knows");
    for (unsigned i = 0; i < counters; i++) {
        core_image_int(im, &e->counter[i]);
    }
    core_image_end(im);
}

static void image_ring(CoreImage *im, NcicRing *r, uint32_t entry)
{
    core_image_int(im, &r->base);
    core_image_int(im, &r->log_size);
    core_image_int(im, &r->active);
    core_image_int(im, &r->head);
    core_image_int(im, &r->tail);
    core_image_check(im, r->log_size <= NCIC_Q_LOG_SIZE_MAX &&
                         r->active <= 1 && r->head <= NCIC_Q_INDEX_MASK &&
                         r->tail <= NCIC_Q_INDEX_MASK,
                     "a ring that cannot be");
    core_image_check(im, !r->active || !(r->base & (entry - 1)),
                     "an active ring that is not aligned");
}

static void image_queue(CoreImage *im, NcicQueue *k)
{
    image_ring(im, &k->desc, NCIC_DESC_SIZE);
    image_ring(im, &k->cpl, NCIC_CPL_SIZE);
    core_image_int(im, &k->cpl_index);
    core_image_int(im, &k->intr);
    core_image_int(im, &k->cpl_reserved);
    core_image_int(im, &k->irq_sent);
    core_image_check(im, k->cpl_index <= NCIC_Q_INDEX_MASK &&
                         !(k->intr & ~(NCIC_Q_CPL_ARMED |
                                       NCIC_Q_INDEX_MASK)) &&
                         k->cpl_reserved <= NCIC_Q_INDEX_MASK &&
                         k->irq_sent <= 1,
                     "a completion queue that cannot be");
}

/* A descriptor that was taken and is not sent; no read of it is under way. */
static void image_op(NcicEth *e, CoreImage *im, NcicFetchOp *op)
{
    core_image_int(im, &op->queue);
    core_image_int(im, &op->index);
    core_image_int(im, &op->status);
    core_image_bytes(im, op->desc, sizeof(op->desc));
    core_image_check(im, op->queue < e->cfg.queues &&
                         op->status > NCIC_FETCH_WAIT &&
                         op->status <= NCIC_FETCH_FAILED,
                     "a descriptor that cannot be");
}

static void image_fetch(NcicEth *e, CoreImage *im)
{
    NcicFetch *f = &e->fetch[NCIC_TX];
    uint32_t n = ncic_fetch_count(f);

    core_image_begin(im, CORE_TAG('F', 'T', 'C', 'H'), 1);
    core_image_count(im, &n, NCIC_FETCH_SLOTS, "too many descriptors");
    if (core_image_loading(im)) {
        ncic_fetch_reset(f);
        for (uint32_t i = 0; i < n; i++) {
            ncic_fetch_request(f, 0);
        }
    }
    for (uint32_t i = 0; i < n; i++) {
        NcicFetchOp *op = &f->op[(f->finish + i) & (NCIC_FETCH_SLOTS - 1)];
        bool taken = i < f->read - f->finish;

        if (!core_image_loading(im) && op->status == NCIC_FETCH_WAIT) {
            NcicFetchOp lost = *op;

            lost.status = taken ? NCIC_FETCH_FAILED : NCIC_FETCH_REFUSED;
            image_op(e, im, &lost);
        } else {
            image_op(e, im, op);
        }
    }
    if (core_image_loading(im)) {
        f->read = f->dma = f->start;
    }
    core_image_end(im);
}

void ncic_eth_image(NcicEth *e, CoreImage *im)
{
    core_image_begin(im, CORE_TAG('N', 'E', 'T', 'H'), 1);
    image_config(e, im);
    image_ncsr(e, im);
    for (unsigned dir = 0; dir < NCIC_DIRS; dir++) {
        for (unsigned q = 0; q < e->cfg.queues; q++) {
            image_queue(im, &e->queue[dir][q]);
        }
    }
    image_fetch(e, im);
    core_image_int(im, &e->tx_next);
    core_image_check(im, e->tx_next < e->cfg.queues,
                     "a queue that does not exist");
    core_image_end(im);
    if (core_image_loading(im)) {
        /* The wire of this side owes nothing, and holds no frame back. */
        e->tx_pending = 0;
        e->rx_blocked = 0;
        e->fifo.get = e->fifo.put;
        ncic_fetch_reset(&e->fetch[NCIC_RX]);
    }
}
