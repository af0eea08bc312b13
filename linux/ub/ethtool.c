// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * UB ports as network devices: ethtool.
 */
#include <linux/ethtool.h>

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

static int ubc_get_link_ksettings(struct net_device *netdev,
				  struct ethtool_link_ksettings *cmd)
{
	struct ubc_port *port = netdev_priv(netdev);
	u32 lane, width;

	cmd->base.port = PORT_OTHER;
	cmd->base.autoneg = AUTONEG_ENABLE;
	cmd->base.duplex = DUPLEX_FULL;
	cmd->base.speed = SPEED_UNKNOWN;
	ub_core_link(port->core, port->index, &lane, &width);
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
