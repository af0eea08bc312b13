// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * NCIC NIC Ethernet driver: ethtool -t.
 */
#include <linux/completion.h>
#include <linux/delay.h>
#include <linux/ethtool.h>

#include "ncic_eth.h"

enum ncic_test {
	NCIC_TEST_LINK,
	NCIC_TEST_REGS,
	NCIC_TEST_TRANSMIT,
	NCIC_TEST_IRQ,
	NCIC_TESTS
};

static const char ncic_test_names[NCIC_TESTS][ETH_GSTRING_LEN] = {
	[NCIC_TEST_LINK]	= "link       (online) ",
	[NCIC_TEST_REGS]	= "registers  (offline)",
	[NCIC_TEST_TRANSMIT]	= "transmit   (offline)",
	[NCIC_TEST_IRQ]		= "interrupt  (offline)",
};

int ncic_selftest_count(void)
{
	return NCIC_TESTS;
}

void ncic_selftest_strings(u8 *data)
{
	memcpy(data, ncic_test_names, sizeof(ncic_test_names));
}

static const struct {
	u16 off;
	u32 mask;
} ncic_test_regs[] = {
	{ NCIC_Q_BASE_LO, 0xfffffff0 },
	{ NCIC_Q_BASE_HI, 0xffffffff },
	{ NCIC_Q_LOG_SIZE, NCIC_Q_LOG_SIZE_MASK },
	{ NCIC_Q_HEAD, NCIC_Q_INDEX_MASK },
	{ NCIC_Q_CPL_BASE_LO, 0xffffffe0 },
	{ NCIC_Q_CPL_BASE_HI, 0xffffffff },
	{ NCIC_Q_CPL_LOG_SIZE, NCIC_Q_LOG_SIZE_MASK },
	{ NCIC_Q_CPL_TAIL, NCIC_Q_INDEX_MASK },
};

/* Registers of inactive queues keep what is written to them. */
static u64 ncic_test_window(u8 __iomem *window, unsigned int queues)
{
	static const u32 patterns[] = { 0xa5a5a5a5, 0x5a5a5a5a, 0 };
	unsigned int q, r, p;
	u64 bad = 0;

	for (q = 0; q < queues; q++) {
		u8 __iomem *regs = window + q * NCIC_QUEUE_STRIDE;

		for (p = 0; p < ARRAY_SIZE(patterns); p++) {
			for (r = 0; r < ARRAY_SIZE(ncic_test_regs); r++)
				ncic_wr(regs, ncic_test_regs[r].off,
					patterns[p] & ncic_test_regs[r].mask);
			for (r = 0; r < ARRAY_SIZE(ncic_test_regs); r++)
				bad += ncic_rd(regs, ncic_test_regs[r].off) !=
				       (patterns[p] & ncic_test_regs[r].mask);
		}
	}
	return bad;
}

static irqreturn_t ncic_test_irq(int irq, void *data)
{
	complete(data);
	return IRQ_HANDLED;
}

/* A frame to ourselves that no station answers. */
static unsigned int ncic_test_frame(struct ncic_priv *priv, u8 *frame)
{
	struct ethhdr *eth = (struct ethhdr *)frame;

	memset(frame, 0, ETH_ZLEN);
	ether_addr_copy(eth->h_dest, priv->ndev->dev_addr);
	ether_addr_copy(eth->h_source, priv->ndev->dev_addr);
	eth->h_proto = htons(ETH_P_LOOPBACK);
	return ETH_ZLEN;
}

static bool ncic_test_completion_ok(struct ncic_ring *r, unsigned int len)
{
	unsigned long end = jiffies + HZ;
	struct ncic_cpl *cpl;

	while (!(cpl = ncic_cpl_peek(r))) {
		if (time_after(jiffies, end))
			return false;
		usleep_range(100, 200);
	}
	return le16_to_cpu(cpl->queue) == r->index &&
	       le16_to_cpu(cpl->index) == 0 && le16_to_cpu(cpl->length) == len &&
	       ncic_rd(r->regs, NCIC_Q_TAIL) == 1 &&
	       ncic_rd(r->cpl_regs, NCIC_Q_CPL_HEAD) == 1;
}

/* Send one frame through the first queue, with an interrupt of its own. */
static void ncic_test_transmit(struct ncic_priv *priv, u64 *data)
{
	struct device *dev = &priv->pdev->dev;
	struct ncic_ring *r = &priv->qp[0]->tx.r;
	DECLARE_COMPLETION_ONSTACK(done);
	int irq = pci_irq_vector(priv->pdev, r->vector);
	unsigned int len;
	dma_addr_t dma;
	u8 *frame;

	frame = dma_alloc_coherent(dev, PAGE_SIZE, &dma, GFP_KERNEL);
	if (!frame)
		return;
	if (ncic_ring_alloc(priv, r, NCIC_RING_MIN))
		goto free_frame;
	if (request_irq(irq, ncic_test_irq, 0, NCIC_DRV_NAME "-test", &done))
		goto free_ring;

	len = ncic_test_frame(priv, frame);
	ncic_ring_start(r);
	memset(&r->desc[0], 0, sizeof(r->desc[0]));
	r->desc[0].length = cpu_to_le16(len);
	r->desc[0].addr = cpu_to_le64(dma);
	ncic_wr(r->regs, NCIC_Q_HEAD, 1);

	data[NCIC_TEST_IRQ] = !wait_for_completion_timeout(&done, HZ);
	data[NCIC_TEST_TRANSMIT] = !ncic_test_completion_ok(r, len);
	if (ncic_ring_stop(r))
		ncic_hw_reset(priv);
	free_irq(irq, &done);
free_ring:
	ncic_ring_free(priv, r);
free_frame:
	dma_free_coherent(dev, PAGE_SIZE, frame, dma);
}

void ncic_selftest(struct net_device *ndev, struct ethtool_test *test,
		   u64 *data)
{
	struct ncic_priv *priv = netdev_priv(ndev);
	bool running = netif_running(ndev);
	unsigned int i;

	memset(data, 0, NCIC_TESTS * sizeof(*data));
	data[NCIC_TEST_LINK] = running && !netif_carrier_ok(ndev);

	if (test->flags & ETH_TEST_FL_OFFLINE) {
		/* Failed until shown otherwise. */
		data[NCIC_TEST_TRANSMIT] = 1;
		data[NCIC_TEST_IRQ] = 1;
		if (running)
			ncic_down(priv);
		ncic_test_transmit(priv, data);
		data[NCIC_TEST_REGS] =
			ncic_test_window(priv->rxq, priv->hw_queues) +
			ncic_test_window(priv->txq, priv->hw_queues);
		ncic_hw_reset(priv);
		if (running && ncic_up(priv)) {
			netdev_err(ndev, "cannot restart after the test\n");
			dev_close(ndev);
		}
	}
	for (i = 0; i < NCIC_TESTS; i++)
		if (data[i])
			test->flags |= ETH_TEST_FL_FAILED;
}
