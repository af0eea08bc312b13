// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * UB ports as network devices: ethtool.
 */
#include <linux/bitfield.h>
#include <linux/ethtool.h>

#include "ub/cfg_regs.h"
#include "ub_net.h"

static const char ubc_counter_names[][ETH_GSTRING_LEN] = {
#define UBC_X(id, name) name,
	UBC_COUNTERS(UBC_X)
#undef UBC_X
	"rx_foreign",
};

#define UBC_NUM_STATS	ARRAY_SIZE(ubc_counter_names)

static int ubc_get_sset_count(struct net_device *netdev, int set)
{
	return set == ETH_SS_STATS ? UBC_NUM_STATS : -EOPNOTSUPP;
}

static void ubc_get_strings(struct net_device *netdev, u32 set, u8 *data)
{
	if (set == ETH_SS_STATS)
		memcpy(data, ubc_counter_names, sizeof(ubc_counter_names));
}

static void ubc_get_ethtool_stats(struct net_device *netdev,
				  struct ethtool_stats *stats, u64 *data)
{
	struct ubc_port *port = netdev_priv(netdev);
	unsigned int i;

	for (i = 0; i < UBC_CNT_NUM; i++) {
		u32 lo = ub_rd(port->regs, UBC_COUNTER(i));

		data[i] = (u64)ub_rd(port->regs, UBC_COUNTER(i) + 4) << 32 |
			  lo;
	}
	data[i] = port->rx_foreign;
}

static void ubc_get_drvinfo(struct net_device *netdev,
			    struct ethtool_drvinfo *info)
{
	struct ubc_port *port = netdev_priv(netdev);

	strscpy(info->driver, KBUILD_MODNAME, sizeof(info->driver));
	strscpy(info->bus_info, pci_name(port->core->pdev),
		sizeof(info->bus_info));
	info->n_stats = UBC_NUM_STATS;
}

static void ubc_get_ringparam(struct net_device *netdev,
			      struct ethtool_ringparam *ring,
			      struct kernel_ethtool_ringparam *kernel_ring,
			      struct netlink_ext_ack *extack)
{
	ring->rx_max_pending = UBC_SLOTS;
	ring->rx_pending = UBC_SLOTS;
	ring->tx_max_pending = UBC_SLOTS;
	ring->tx_pending = UBC_SLOTS;
}

/* Mb/s per lane of Data Rate 0 … 8 in PHY Mode-2 and Mode-1 (UB 2.0 §3.1). */
static u32 ubc_lane_rate(unsigned int rate, bool mode1)
{
	static const u32 mode2_mbps[] = {
		2578, 0, 25781, 0, 53125, 0, 0, 0, 106250
	};

	if (mode1)
		return rate ? 0 : 4000;
	return rate < ARRAY_SIZE(mode2_mbps) ? mode2_mbps[rate] : 0;
}

static int ubc_get_link_ksettings(struct net_device *netdev,
				  struct ethtool_link_ksettings *cmd)
{
	struct ubc_port *port = netdev_priv(netdev);
	u32 base = UB_CFG_PORT_CAP(port->index, UB_CAP_LINK);
	u32 status = ub_config_read(port->core,
				base + UB_LINK_PHY_STATUS_1);
	u32 control = ub_config_read(port->core,
				 base + UB_LINK_PHY_CTL_1);
	bool mode1 = !FIELD_GET(UB_LINK_PHY_CTL_1__PHY_MODE_CTL,
				control);
	u32 lane = ubc_lane_rate(FIELD_GET(UB_LINK_PHY_STATUS_1__CUR_LINK_SPEED,
					   status), mode1);
	u32 width = FIELD_GET(UB_LINK_PHY_STATUS_1__CUR_TX_LINK_WIDTH,
			      status);

	cmd->base.port = PORT_OTHER;
	cmd->base.autoneg = AUTONEG_ENABLE;
	cmd->base.duplex = DUPLEX_FULL;
	cmd->base.speed = SPEED_UNKNOWN;
	if (netif_carrier_ok(netdev) && lane) {
		cmd->base.speed = lane * width;
		cmd->lanes = width;
	}
	return 0;
}

const struct ethtool_ops ubc_ethtool_ops = {
	.get_drvinfo = ubc_get_drvinfo,
	.get_link = ethtool_op_get_link,
	.get_link_ksettings = ubc_get_link_ksettings,
	.get_ringparam = ubc_get_ringparam,
	.get_sset_count = ubc_get_sset_count,
	.get_strings = ubc_get_strings,
	.get_ethtool_stats = ubc_get_ethtool_stats,
	.get_ts_info = ethtool_op_get_ts_info,
};
