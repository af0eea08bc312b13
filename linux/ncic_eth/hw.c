// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * NCIC NIC Ethernet driver: registers, ring set-up, link.
 */
#include <linux/iopoll.h>

#include "ncic_eth.h"

bool ncic_hw_present(struct ncic_priv *priv)
{
	return ncic_rd(priv->ncsr, NCIC_NCSR_IF_FEATURE) != ~0u;
}

/*
 * Resets the Ethernet and the RDMA engine.  The device keeps configuration
 * space and the MSI-X table, so interrupts stay set up.
 */
void ncic_hw_reset(struct ncic_priv *priv)
{
	ncic_wr(priv->bar, NCIC_RESET, NCIC_RESET_START);
	ncic_rd(priv->bar, NCIC_RESET);
}

static u8 __iomem *ncic_window(struct ncic_priv *priv, unsigned int reg,
			       unsigned int queues)
{
	u32 off = ncic_rd(priv->ncsr, reg);

	if (!off || off % NCIC_QUEUE_STRIDE ||
	    off > NCIC_BAR_CSR_SIZE - NCIC_NCSR - queues * NCIC_QUEUE_STRIDE) {
		dev_err(&priv->pdev->dev, "queue window %#x out of range\n",
			off);
		return NULL;
	}
	return priv->ncsr + off;
}

static void ncic_read_mac(struct ncic_priv *priv)
{
	struct net_device *ndev = priv->ndev;
	u8 addr[ETH_ALEN];
	u32 lo, hi;

	if (priv->ext) {
		hi = ncic_rd(priv->ncsr, NCIC_NCSR_MAC_HI);
		lo = ncic_rd(priv->ncsr, NCIC_NCSR_MAC_LO);
		addr[0] = lo;
		addr[1] = lo >> 8;
		addr[2] = lo >> 16;
		addr[3] = lo >> 24;
		addr[4] = hi;
		addr[5] = hi >> 8;
		if ((hi & NCIC_MAC_VALID) && is_valid_ether_addr(addr)) {
			eth_hw_addr_set(ndev, addr);
			return;
		}
	}
	/* The documented registers hold no address. */
	if (!device_get_ethdev_address(&priv->pdev->dev, ndev))
		return;
	eth_hw_addr_random(ndev);
	dev_info(&priv->pdev->dev, "no address in the device, using %pM\n",
		 ndev->dev_addr);
}

int ncic_hw_probe(struct ncic_priv *priv)
{
	struct device *dev = &priv->pdev->dev;
	u32 tx, rx, txc, rxc, mtu;

	priv->ncsr = priv->bar + NCIC_NCSR;
	if (!ncic_hw_present(priv)) {
		dev_err(dev, "device does not answer\n");
		return -EIO;
	}
	ncic_hw_reset(priv);

	priv->features = ncic_rd(priv->ncsr, NCIC_NCSR_IF_FEATURE);
	priv->ext = ncic_rd(priv->ncsr, NCIC_NCSR_EXT_ID) == NCIC_EXT_MAGIC;

	tx = ncic_rd(priv->ncsr, NCIC_NCSR_TX_QUEUES);
	txc = ncic_rd(priv->ncsr, NCIC_NCSR_TX_CPL_QUEUES);
	rx = ncic_rd(priv->ncsr, NCIC_NCSR_RX_QUEUES);
	rxc = ncic_rd(priv->ncsr, NCIC_NCSR_RX_CPL_QUEUES);
	priv->hw_queues = min_t(u32, min(min(tx, txc), min(rx, rxc)),
				NCIC_QUEUES_MAX);
	if (!priv->hw_queues) {
		dev_err(dev, "device has no queues\n");
		return -EIO;
	}
	priv->txq = ncic_window(priv, NCIC_NCSR_TX_QM_BASE, priv->hw_queues);
	priv->rxq = ncic_window(priv, NCIC_NCSR_RX_QM_BASE, priv->hw_queues);
	priv->tx_cplq = ncic_window(priv, NCIC_NCSR_TX_CQM_BASE,
				    priv->hw_queues);
	priv->rx_cplq = ncic_window(priv, NCIC_NCSR_RX_CQM_BASE,
				    priv->hw_queues);
	if (!priv->txq || !priv->rxq || !priv->tx_cplq || !priv->rx_cplq)
		return -EIO;

	mtu = min(ncic_rd(priv->ncsr, NCIC_NCSR_TX_MTU),
		  ncic_rd(priv->ncsr, NCIC_NCSR_RX_MTU));
	/* The descriptor has 16 bits for the length of the whole frame. */
	mtu = min_t(u32, mtu, U16_MAX - VLAN_ETH_HLEN);
	if (mtu < ETH_MIN_MTU) {
		dev_err(dev, "MTU %u is too small\n", mtu);
		return -EIO;
	}
	priv->ndev->min_mtu = ETH_MIN_MTU;
	priv->ndev->max_mtu = mtu;
	priv->ndev->mtu = min_t(u32, mtu, ETH_DATA_LEN);

	ncic_read_mac(priv);
	return 0;
}

/*
 * Without a link register the link counts as up, as in the documents.
 */
void ncic_link_update(struct ncic_priv *priv)
{
	bool up = true;

	if (priv->ext)
		up = ncic_rd(priv->ncsr, NCIC_NCSR_LINK_STATUS) & NCIC_LINK_UP;
	if (up)
		netif_carrier_on(priv->ndev);
	else
		netif_carrier_off(priv->ndev);
}

void ncic_link_irq_enable(struct ncic_priv *priv, bool on)
{
	if (!priv->ext)
		return;
	ncic_wr(priv->ncsr, NCIC_NCSR_LINK_IRQ,
		on ? NCIC_LINK_IRQ_ENABLE | (priv->num_vectors - 1) : 0);
	if (!on)
		ncic_rd(priv->ncsr, NCIC_NCSR_LINK_IRQ);
}

/*
 * The completion ring has twice the entries of the descriptor ring, so that
 * the device never lacks a slot while CPL tail is written only now and then.
 */
int ncic_ring_alloc(struct ncic_priv *priv, struct ncic_ring *r,
		    unsigned int entries)
{
	struct device *dev = &priv->pdev->dev;

	r->mask = entries - 1;
	r->cpl_mask = 2 * entries - 1;
	r->desc = dma_alloc_coherent(dev, entries * sizeof(*r->desc),
				     &r->desc_dma, GFP_KERNEL);
	r->cpl = dma_alloc_coherent(dev, 2 * entries * sizeof(*r->cpl),
				    &r->cpl_dma, GFP_KERNEL);
	if (!r->desc || !r->cpl) {
		ncic_ring_free(priv, r);
		return -ENOMEM;
	}
	memset(r->cpl, 0xff, 2 * entries * sizeof(*r->cpl));
	r->cpl_tail = 0;
	r->cpl_tail_hw = 0;
	return 0;
}

void ncic_ring_free(struct ncic_priv *priv, struct ncic_ring *r)
{
	struct device *dev = &priv->pdev->dev;
	unsigned int entries = r->mask + 1;

	if (r->desc)
		dma_free_coherent(dev, entries * sizeof(*r->desc), r->desc,
				  r->desc_dma);
	if (r->cpl)
		dma_free_coherent(dev, 2 * entries * sizeof(*r->cpl), r->cpl,
				  r->cpl_dma);
	r->desc = NULL;
	r->cpl = NULL;
}

/*
 * Completion ring first: a descriptor is taken only while its completion ring
 * is active and armed.  Both rings start empty with all counters zero.
 */
void ncic_ring_start(struct ncic_ring *r)
{
	u8 __iomem *regs = r->regs, *cpl = r->cpl_regs;
	u16 index = r->index;

	ncic_wr(cpl, NCIC_Q_CPL_BASE_LO, lower_32_bits(r->cpl_dma));
	ncic_wr(cpl, NCIC_Q_CPL_BASE_HI, upper_32_bits(r->cpl_dma));
	ncic_wr(cpl, NCIC_Q_CPL_HEAD, 0);
	ncic_wr(cpl, NCIC_Q_CPL_TAIL, 0);
	ncic_wr(cpl, NCIC_Q_CPL_LOG_SIZE,
		NCIC_Q_ACTIVE | ilog2(r->cpl_mask + 1));
	ncic_wr(cpl, NCIC_Q_CPL_INTR, NCIC_Q_CPL_ARMED | r->vector);

	ncic_wr(regs, NCIC_Q_BASE_LO, lower_32_bits(r->desc_dma));
	ncic_wr(regs, NCIC_Q_BASE_HI, upper_32_bits(r->desc_dma));
	ncic_wr(regs, NCIC_Q_CPL_INDEX, index);
	ncic_wr(regs, NCIC_Q_HEAD, 0);
	ncic_wr(regs, NCIC_Q_TAIL, 0);
	ncic_wr(regs, NCIC_Q_LOG_SIZE, NCIC_Q_ACTIVE | ilog2(r->mask + 1));
}

/*
 * An inactive ring takes no further descriptor; what it has taken is done when
 * the completion head has caught up with the tail.  Returns 0, or -ETIMEDOUT
 * if the device still holds buffers, which must then not be reused before a
 * reset.
 */
int ncic_ring_stop(struct ncic_ring *r)
{
	u32 tail, head;
	int err;

	ncic_wr(r->regs, NCIC_Q_LOG_SIZE, ilog2(r->mask + 1));
	tail = ncic_rd(r->regs, NCIC_Q_TAIL) & NCIC_Q_INDEX_MASK;
	err = read_poll_timeout(ncic_rd, head,
				(head & NCIC_Q_INDEX_MASK) == tail,
				20, 50 * USEC_PER_MSEC, false,
				r->cpl_regs, NCIC_Q_CPL_HEAD);
	ncic_wr(r->cpl_regs, NCIC_Q_CPL_LOG_SIZE, ilog2(r->cpl_mask + 1));
	ncic_wr(r->cpl_regs, NCIC_Q_CPL_INTR, r->vector);
	ncic_rd(r->cpl_regs, NCIC_Q_CPL_LOG_SIZE);
	return err;
}
