/*
 * NCIC Ethernet engine: what every part of it may tell: broken rules, drops,
 * interrupts.  Nothing here calls back into the engine.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "internal.h"

#define TEXT(id, bit, text) [bit] = text,
static const char *const error_text[] = { NCIC_GUEST_ERRORS(TEXT) };

void ncic_eth_guest_error(NcicEth *e, unsigned error, uint64_t a, uint64_t b)
{
    e->ncsr[NCIC_R_ERR_STATUS] |= 1u << error;
    e->counter[NCIC_C_GUEST_ERR]++;
    e->ops->guest_error(e->opaque, error, error_text[error], a, b);
}

void ncic_eth_drop(NcicEth *e, unsigned counter, size_t len)
{
    e->counter[counter]++;
    if (e->ops->dropped) {
        e->ops->dropped(e->opaque, counter, len);
    }
}

void ncic_eth_rx_drop(NcicEth *e, unsigned counter, size_t len)
{
    e->counter[NCIC_C_MAC_DROP]++;
    ncic_eth_drop(e, counter, len);
}

bool ncic_eth_msix(NcicEth *e, unsigned vector)
{
    /* A message is a write to memory. */
    if (!(e->ncsr[NCIC_R_MSIX_ENABLE] & 1) || !e->ops->dma_ok(e->opaque)) {
        return false;
    }
    if (vector >= e->cfg.vectors) {
        ncic_eth_guest_error(e, NCIC_E_INDEX, vector, e->cfg.vectors);
        return false;
    }
    e->ops->msix(e->opaque, vector);
    return true;
}

void ncic_eth_link_irq(NcicEth *e)
{
    uint32_t irq = e->ncsr[NCIC_R_LINK_IRQ];

    e->link_irq_due = irq & NCIC_LINK_IRQ_ENABLE &&
                      !ncic_eth_msix(e, irq & NCIC_Q_INDEX_MASK);
}
