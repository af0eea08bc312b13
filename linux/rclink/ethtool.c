// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * RC Link driver: what ethtool shows.
 */
#include <linux/ethtool.h>

#include "rclink.h"

#define RCLINK_NAME_OF(name, text) #name,
static const char rclink_stat[][ETH_GSTRING_LEN] = {
	RCL_COUNTERS(RCLINK_NAME_OF)
	"restarts", "held",	/* the driver's own, the last */
};
#undef RCLINK_NAME_OF

static void rclink_drvinfo(struct net_device *ndev,
			   struct ethtool_drvinfo *info)
{
	struct rclink *rc = netdev_priv(ndev);

	strscpy(info->driver, RCLINK_NAME, sizeof(info->driver));
	strscpy(info->bus_info, pci_name(rc->pdev), sizeof(info->bus_info));
}

static int rclink_sset_count(struct net_device *ndev, int set)
{
	return set == ETH_SS_STATS ? ARRAY_SIZE(rclink_stat) : -EOPNOTSUPP;
}

static void rclink_strings(struct net_device *ndev, u32 set, u8 *data)
{
	if (set == ETH_SS_STATS)
		memcpy(data, rclink_stat, sizeof(rclink_stat));
}

static void rclink_stats(struct net_device *ndev, struct ethtool_stats *stats,
			 u64 *data)
{
	struct rclink *rc = netdev_priv(ndev);
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(rclink_stat) - 2; i++)
		data[i] = rclink_get(rc, RCL_COUNTER(i));
	data[i++] = rc->restarts;
	data[i] = rc->held;
}

static int rclink_link_ksettings(struct net_device *ndev,
				 struct ethtool_link_ksettings *cmd)
{
	struct rclink *rc = netdev_priv(ndev);

	ethtool_link_ksettings_zero_link_mode(cmd, supported);
	ethtool_link_ksettings_zero_link_mode(cmd, advertising);
	cmd->base.autoneg = AUTONEG_DISABLE;
	cmd->base.port = PORT_OTHER;
	cmd->base.speed = SPEED_UNKNOWN;
	cmd->base.duplex = DUPLEX_UNKNOWN;
	if (netif_carrier_ok(ndev)) {
		cmd->base.speed = rclink_get(rc, RCL_SPEED) * 1000;
		cmd->base.duplex = DUPLEX_FULL;
	}
	return 0;
}

const struct ethtool_ops rclink_ethtool_ops = {
	.get_drvinfo = rclink_drvinfo,
	.get_link = ethtool_op_get_link,
	.get_link_ksettings = rclink_link_ksettings,
	.get_sset_count = rclink_sset_count,
	.get_strings = rclink_strings,
	.get_ethtool_stats = rclink_stats,
};
