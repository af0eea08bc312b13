// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * NCIC NIC Ethernet driver: ethtool.
 *
 * No coalescing parameters: the hardware has none to set.
 */
#include <linux/ethtool.h>

#include "ncic_eth.h"

struct ncic_stat {
	char name[24];
	u16 off;
};

#define NCIC_TX_STAT(m)	{ #m, offsetof(struct ncic_tx_stats, m) }
#define NCIC_RX_STAT(m)	{ #m, offsetof(struct ncic_rx_stats, m) }

static const struct ncic_stat ncic_tx_stats[] = {
	NCIC_TX_STAT(packets),
	NCIC_TX_STAT(bytes),
	NCIC_TX_STAT(copied),
	NCIC_TX_STAT(tso),
	NCIC_TX_STAT(csum_sw),
	NCIC_TX_STAT(stopped),
	NCIC_TX_STAT(doorbells),
	NCIC_TX_STAT(dropped),
};

static const struct ncic_stat ncic_rx_stats[] = {
	NCIC_RX_STAT(packets),
	NCIC_RX_STAT(bytes),
	NCIC_RX_STAT(csum_good),
	NCIC_RX_STAT(csum_none),
	NCIC_RX_STAT(alloc_failed),
	NCIC_RX_STAT(errors),
	NCIC_RX_STAT(polls),
};

static const struct ncic_stat ncic_priv_stats[] = {
	{ "tx_timeouts", offsetof(struct ncic_priv, tx_timeouts) },
	{ "device_resets", offsetof(struct ncic_priv, resets) },
};

/* Counters of the device, where it has them; 32 bits, offsets in the NCSR. */
static const struct ncic_stat ncic_hw_stats[] = {
	{ "hw_tx_frames", NCIC_NCSR_CNT_TX_FRAMES },
	{ "hw_tx_completions", NCIC_NCSR_CNT_TX_CPL },
	{ "hw_tx_interrupts", NCIC_NCSR_CNT_TX_IRQ },
	{ "hw_rx_frames", NCIC_NCSR_CNT_RX_FRAMES },
	{ "hw_rx_completions", NCIC_NCSR_CNT_RX_CPL },
	{ "hw_rx_interrupts", NCIC_NCSR_CNT_RX_IRQ },
	{ "hw_rx_refused", NCIC_NCSR_CNT_RX_ERR },
	{ "hw_rx_held", NCIC_NCSR_CNT_RX_HELD },
	{ "hw_mac_dropped", NCIC_NCSR_CNT_MAC_DROP },
	{ "hw_tx_drop_length", NCIC_NCSR_CNT_TX_DROP_LEN },
	{ "hw_tx_drop_mtu", NCIC_NCSR_CNT_TX_DROP_MTU },
	{ "hw_tx_drop_dma", NCIC_NCSR_CNT_TX_DROP_DMA },
	{ "hw_tx_drop_link", NCIC_NCSR_CNT_TX_DROP_LINK },
	{ "hw_tx_drop_wire", NCIC_NCSR_CNT_TX_DROP_WIRE },
	{ "hw_rx_drop_runt", NCIC_NCSR_CNT_RX_DROP_RUNT },
	{ "hw_rx_drop_mtu", NCIC_NCSR_CNT_RX_DROP_MTU },
	{ "hw_rx_drop_inactive", NCIC_NCSR_CNT_RX_DROP_INACTIVE },
	{ "hw_rx_drop_dma", NCIC_NCSR_CNT_RX_DROP_DMA },
	{ "hw_rx_drop_roce", NCIC_NCSR_CNT_RX_DROP_ROCE },
	{ "hw_rx_drop_full", NCIC_NCSR_CNT_RX_DROP_FULL },
	{ "hw_rx_truncated", NCIC_NCSR_CNT_RX_TRUNCATED },
	{ "hw_cpl_errors", NCIC_NCSR_CNT_CPL_ERR },
	{ "hw_driver_errors", NCIC_NCSR_CNT_GUEST_ERR },
};

static void ncic_get_drvinfo(struct net_device *ndev,
			     struct ethtool_drvinfo *info)
{
	struct ncic_priv *priv = netdev_priv(ndev);

	strscpy(info->driver, NCIC_DRV_NAME, sizeof(info->driver));
	strscpy(info->bus_info, pci_name(priv->pdev), sizeof(info->bus_info));
	snprintf(info->fw_version, sizeof(info->fw_version), "%04x",
		 ncic_rd(priv->ncsr, NCIC_NCSR_FW_ID) & 0xffff);
}

static int ncic_get_link_ksettings(struct net_device *ndev,
				   struct ethtool_link_ksettings *ks)
{
	/* No register tells the speed, and nothing negotiates. */
	ethtool_link_ksettings_zero_link_mode(ks, supported);
	ethtool_link_ksettings_zero_link_mode(ks, advertising);
	ks->base.autoneg = AUTONEG_DISABLE;
	ks->base.duplex = DUPLEX_FULL;
	ks->base.speed = SPEED_UNKNOWN;
	ks->base.port = PORT_OTHER;
	return 0;
}

static void ncic_get_ringparam(struct net_device *ndev,
			       struct ethtool_ringparam *ring,
			       struct kernel_ethtool_ringparam *kring,
			       struct netlink_ext_ack *extack)
{
	struct ncic_priv *priv = netdev_priv(ndev);

	ring->rx_max_pending = NCIC_RING_MAX;
	ring->tx_max_pending = NCIC_RING_MAX;
	ring->rx_pending = priv->size.rx_ring;
	ring->tx_pending = priv->size.tx_ring;
}

static int ncic_set_ringparam(struct net_device *ndev,
			      struct ethtool_ringparam *ring,
			      struct kernel_ethtool_ringparam *kring,
			      struct netlink_ext_ack *extack)
{
	struct ncic_priv *priv = netdev_priv(ndev);
	u32 tx = ring->tx_pending, rx = ring->rx_pending;

	if (ring->rx_mini_pending || ring->rx_jumbo_pending)
		return -EINVAL;
	tx = roundup_pow_of_two(max_t(u32, tx, NCIC_RING_MIN));
	rx = roundup_pow_of_two(max_t(u32, rx, NCIC_RING_MIN));
	if (tx == priv->size.tx_ring && rx == priv->size.rx_ring)
		return 0;
	return ncic_reconfigure(priv, priv->size.num_qps, tx, rx, ndev->mtu);
}

static void ncic_get_channels(struct net_device *ndev,
			      struct ethtool_channels *ch)
{
	struct ncic_priv *priv = netdev_priv(ndev);

	ch->max_combined = priv->max_qps;
	ch->combined_count = priv->size.num_qps;
}

static int ncic_set_channels(struct net_device *ndev,
			     struct ethtool_channels *ch)
{
	struct ncic_priv *priv = netdev_priv(ndev);

	if (ch->rx_count || ch->tx_count || ch->other_count)
		return -EINVAL;
	/* The RSS mask selects among a power of two of queues. */
	if (!is_power_of_2(ch->combined_count))
		return -EINVAL;
	if (ch->combined_count == priv->size.num_qps)
		return 0;
	return ncic_reconfigure(priv, ch->combined_count, priv->size.tx_ring,
				priv->size.rx_ring, ndev->mtu);
}

static u32 ncic_get_msglevel(struct net_device *ndev)
{
	struct ncic_priv *priv = netdev_priv(ndev);

	return priv->msg_enable;
}

static void ncic_set_msglevel(struct net_device *ndev, u32 level)
{
	struct ncic_priv *priv = netdev_priv(ndev);

	priv->msg_enable = level;
}

/*
 * The key is a constant of the hardware and the queue is the hash under a
 * mask: an indirection table that counts up, which cannot be changed.
 */
static u32 ncic_get_rxfh_key_size(struct net_device *ndev)
{
	return NCIC_RSS_KEY_SIZE;
}

static u32 ncic_get_rxfh_indir_size(struct net_device *ndev)
{
	struct ncic_priv *priv = netdev_priv(ndev);

	return priv->size.num_qps;
}

static void ncic_fill_rxfh(struct ncic_priv *priv, u32 *indir, u8 *key)
{
	static const u8 rss_key[NCIC_RSS_KEY_SIZE] = { NCIC_RSS_KEY_BYTES };
	u32 i;

	if (key)
		memcpy(key, rss_key, sizeof(rss_key));
	if (indir)
		for (i = 0; i < priv->size.num_qps; i++)
			indir[i] = i;
}

#if NCIC_RXFH_PARAM
static int ncic_get_rxfh(struct net_device *ndev,
			 struct ethtool_rxfh_param *rxfh)
{
	rxfh->hfunc = ETH_RSS_HASH_TOP;
	ncic_fill_rxfh(netdev_priv(ndev), rxfh->indir, rxfh->key);
	return 0;
}
#else
static int ncic_get_rxfh(struct net_device *ndev, u32 *indir, u8 *key, u8 *func)
{
	if (func)
		*func = ETH_RSS_HASH_TOP;
	ncic_fill_rxfh(netdev_priv(ndev), indir, key);
	return 0;
}
#endif

/* What of a packet goes into its hash. */
static u32 ncic_hash_fields(u32 flow_type)
{
	switch (flow_type) {
	case TCP_V4_FLOW:
	case UDP_V4_FLOW:
		return RXH_L4_B_0_1 | RXH_L4_B_2_3 | RXH_IP_SRC | RXH_IP_DST;
	case SCTP_V4_FLOW:
	case AH_ESP_V4_FLOW:
	case AH_V4_FLOW:
	case ESP_V4_FLOW:
	case IPV4_FLOW:
		return RXH_IP_SRC | RXH_IP_DST;
	}
	return 0;
}

#if NCIC_RXFH_FIELDS
static int ncic_get_rxfh_fields(struct net_device *ndev,
				struct ethtool_rxfh_fields *fields)
{
	fields->data = ncic_hash_fields(fields->flow_type);
	return 0;
}
#endif

#if NCIC_RX_RING_COUNT
static u32 ncic_get_rx_ring_count(struct net_device *ndev)
{
	struct ncic_priv *priv = netdev_priv(ndev);

	return priv->size.num_qps;
}
#else
static int ncic_get_rxnfc(struct net_device *ndev, struct ethtool_rxnfc *nfc,
			  u32 *rules)
{
	struct ncic_priv *priv = netdev_priv(ndev);

	switch (nfc->cmd) {
	case ETHTOOL_GRXRINGS:
		nfc->data = priv->size.num_qps;
		return 0;
	case ETHTOOL_GRXFH:
		nfc->data = ncic_hash_fields(nfc->flow_type);
		return 0;
	}
	return -EOPNOTSUPP;
}
#endif

static unsigned int ncic_num_hw_stats(struct ncic_priv *priv)
{
	return priv->ext ? ARRAY_SIZE(ncic_hw_stats) : 0;
}

static int ncic_get_sset_count(struct net_device *ndev, int set)
{
	struct ncic_priv *priv = netdev_priv(ndev);

	switch (set) {
	case ETH_SS_STATS:
		return ARRAY_SIZE(ncic_priv_stats) + ncic_num_hw_stats(priv) +
		       priv->max_qps * (ARRAY_SIZE(ncic_tx_stats) +
					ARRAY_SIZE(ncic_rx_stats));
	case ETH_SS_TEST:
		return ncic_selftest_count();
	}
	return -EOPNOTSUPP;
}

static void ncic_get_strings(struct net_device *ndev, u32 set, u8 *data)
{
	struct ncic_priv *priv = netdev_priv(ndev);
	unsigned int i, k;

	if (set == ETH_SS_TEST) {
		ncic_selftest_strings(data);
		return;
	}
	if (set != ETH_SS_STATS)
		return;
	for (i = 0; i < ARRAY_SIZE(ncic_priv_stats); i++)
		ethtool_sprintf(&data, "%s", ncic_priv_stats[i].name);
	for (i = 0; i < ncic_num_hw_stats(priv); i++)
		ethtool_sprintf(&data, "%s", ncic_hw_stats[i].name);
	for (i = 0; i < priv->max_qps; i++) {
		for (k = 0; k < ARRAY_SIZE(ncic_tx_stats); k++)
			ethtool_sprintf(&data, "tx%u_%s", i,
					ncic_tx_stats[k].name);
		for (k = 0; k < ARRAY_SIZE(ncic_rx_stats); k++)
			ethtool_sprintf(&data, "rx%u_%s", i,
					ncic_rx_stats[k].name);
	}
}

static void ncic_get_ethtool_stats(struct net_device *ndev,
				   struct ethtool_stats *stats, u64 *data)
{
	struct ncic_priv *priv = netdev_priv(ndev);
	struct ncic_rx_stats rx;
	struct ncic_tx_stats tx;
	unsigned int i, k, start;

	for (i = 0; i < ARRAY_SIZE(ncic_priv_stats); i++)
		*data++ = *(u64 *)((u8 *)priv + ncic_priv_stats[i].off);
	for (i = 0; i < ncic_num_hw_stats(priv); i++)
		*data++ = ncic_rd(priv->ncsr, ncic_hw_stats[i].off);
	for (i = 0; i < priv->max_qps; i++) {
		struct ncic_qp *qp = priv->qp[i];

		do {
			start = u64_stats_fetch_begin(&qp->tx.syncp);
			tx = qp->tx.stats;
		} while (u64_stats_fetch_retry(&qp->tx.syncp, start));
		do {
			start = u64_stats_fetch_begin(&qp->rx.syncp);
			rx = qp->rx.stats;
		} while (u64_stats_fetch_retry(&qp->rx.syncp, start));
		for (k = 0; k < ARRAY_SIZE(ncic_tx_stats); k++)
			*data++ = *(u64 *)((u8 *)&tx + ncic_tx_stats[k].off);
		for (k = 0; k < ARRAY_SIZE(ncic_rx_stats); k++)
			*data++ = *(u64 *)((u8 *)&rx + ncic_rx_stats[k].off);
	}
}

/* Documented NCSR registers, then the RX and the TX window of each pair. */
#define NCIC_DUMP_NCSR	(NCIC_NCSR_RX_MTU + 4)

static int ncic_get_regs_len(struct net_device *ndev)
{
	struct ncic_priv *priv = netdev_priv(ndev);

	return NCIC_DUMP_NCSR + 2 * priv->hw_queues * NCIC_QUEUE_STRIDE;
}

static void ncic_get_regs(struct net_device *ndev, struct ethtool_regs *regs,
			  void *data)
{
	struct ncic_priv *priv = netdev_priv(ndev);
	unsigned int len = priv->hw_queues * NCIC_QUEUE_STRIDE;
	u32 *out = data;
	unsigned int i;

	regs->version = 1;
	for (i = 0; i < NCIC_DUMP_NCSR; i += 4)
		*out++ = ncic_rd(priv->ncsr, i);
	for (i = 0; i < len; i += 4)
		*out++ = ncic_rd(priv->rxq, i);
	for (i = 0; i < len; i += 4)
		*out++ = ncic_rd(priv->txq, i);
}

const struct ethtool_ops ncic_ethtool_ops = {
	.get_drvinfo		= ncic_get_drvinfo,
	.get_link		= ethtool_op_get_link,
	.get_link_ksettings	= ncic_get_link_ksettings,
	.get_ringparam		= ncic_get_ringparam,
	.set_ringparam		= ncic_set_ringparam,
	.get_channels		= ncic_get_channels,
	.set_channels		= ncic_set_channels,
	.get_msglevel		= ncic_get_msglevel,
	.set_msglevel		= ncic_set_msglevel,
	.get_rxfh_key_size	= ncic_get_rxfh_key_size,
	.get_rxfh_indir_size	= ncic_get_rxfh_indir_size,
	.get_rxfh		= ncic_get_rxfh,
#if NCIC_RXFH_FIELDS
	.get_rxfh_fields	= ncic_get_rxfh_fields,
#endif
#if NCIC_RX_RING_COUNT
	.get_rx_ring_count	= ncic_get_rx_ring_count,
#else
	.get_rxnfc		= ncic_get_rxnfc,
#endif
	.get_sset_count		= ncic_get_sset_count,
	.get_strings		= ncic_get_strings,
	.get_ethtool_stats	= ncic_get_ethtool_stats,
	.get_regs_len		= ncic_get_regs_len,
	.get_regs		= ncic_get_regs,
	.get_ts_info		= ethtool_op_get_ts_info,
	.self_test		= ncic_selftest,
};
