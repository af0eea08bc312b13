// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * UB controller driver: the network device of a port.
 *
 * A UB link joins two ports, so the device is point-to-point and has no
 * address resolution.  Its hardware address is the controller's GUID
 * (ARP hardware type 38).
 */
#include <linux/if_arp.h>
#include <linux/interrupt.h>
#include <linux/module.h>

#include "ubc.h"

#ifndef ARPHRD_UB
#define ARPHRD_UB	38
#endif

#define UBC_EVENTS_WANTED	(UBC_PORT_EVENT_LINK | \
				 UBC_PORT_EVENT_DLL_ERROR | \
				 UBC_PORT_EVENT_WIDTH)

void ubc_port_link(struct ubc_port *port)
{
	struct net_device *netdev = port->netdev;
	bool up = ubc_rd(port->regs, UBC_PORT_STATUS) & UBC_PORT_STATUS_DLL_UP;

	if (up == netif_carrier_ok(netdev))
		return;
	if (up) {
		netif_carrier_on(netdev);
		netif_wake_queue(netdev);
	} else {
		netif_carrier_off(netdev);
	}
	netdev_info(netdev, "link %s\n", up ? "up" : "down");
}

static irqreturn_t ubc_event_irq(int irq, void *data)
{
	struct ubc_port *port = data;
	u32 events = ubc_rd(port->regs, UBC_PORT_EVENT);

	if (!events)
		return IRQ_NONE;
	ubc_wr(port->regs, UBC_PORT_EVENT, events);
	if (events & UBC_PORT_EVENT_DLL_ERROR)
		net_warn_ratelimited("%s: data link layer error\n",
				     port->netdev->name);
	ubc_port_link(port);
	return IRQ_HANDLED;
}

static irqreturn_t ubc_ring_irq(int irq, void *data)
{
	struct ubc_port *port = data;

	napi_schedule_irqoff(&port->napi);
	return IRQ_HANDLED;
}

static int ubc_request_irqs(struct ubc_port *port)
{
	const struct {
		unsigned int vector;
		irq_handler_t handler;
	} irqs[] = {
		{ UBC_VECTOR_EVENT(port->index), ubc_event_irq },
		{ UBC_VECTOR_RX(port->index), ubc_ring_irq },
		{ UBC_VECTOR_TX(port->index), ubc_ring_irq },
	};
	unsigned int i;
	int err;

	for (i = 0; i < ARRAY_SIZE(irqs); i++) {
		err = request_irq(ubc_vector(port->ubc, irqs[i].vector),
				  irqs[i].handler, 0, port->netdev->name,
				  port);
		if (err)
			goto undo;
	}
	return 0;

undo:
	while (i--)
		free_irq(ubc_vector(port->ubc, irqs[i].vector), port);
	return err;
}

static void ubc_free_irqs(struct ubc_port *port)
{
	free_irq(ubc_vector(port->ubc, UBC_VECTOR_EVENT(port->index)), port);
	free_irq(ubc_vector(port->ubc, UBC_VECTOR_RX(port->index)), port);
	free_irq(ubc_vector(port->ubc, UBC_VECTOR_TX(port->index)), port);
}

static int ubc_open(struct net_device *netdev)
{
	struct ubc_port *port = netdev_priv(netdev);
	struct device *dev = &port->ubc->pdev->dev;
	int err;

	port->rx_room = netdev->mtu + UBC_HLEN;
	err = ubc_ring_alloc(&port->tx, dev, port->regs + UBC_RING_TX);
	if (err)
		return err;
	err = ubc_ring_alloc(&port->rx, dev, port->regs + UBC_RING_RX);
	if (err)
		goto free_tx;
	err = ubc_request_irqs(port);
	if (err)
		goto free_rx;

	ubc_ring_start(&port->tx);
	ubc_ring_start(&port->rx);
	ubc_rx_refill(port, GFP_KERNEL);
	if (port->rx.head == 0) {
		err = -ENOMEM;
		goto stop;
	}
	napi_enable(&port->napi);
	ubc_wr(port->tx.regs, UBC_RING_ARM, 0);
	ubc_wr(port->rx.regs, UBC_RING_ARM, 0);
	ubc_wr(port->regs, UBC_PORT_EVENT, ~0u);
	ubc_wr(port->regs, UBC_PORT_EVENT_MASK, UBC_EVENTS_WANTED);
	ubc_wr(port->regs, UBC_PORT_CTRL, UBC_PORT_CTRL_ENABLE);
	netif_start_queue(netdev);
	ubc_port_link(port);
	return 0;

stop:
	ubc_ring_stop(&port->rx);
	ubc_ring_stop(&port->tx);
	ubc_free_irqs(port);
free_rx:
	ubc_ring_free(&port->rx);
free_tx:
	ubc_ring_free(&port->tx);
	return err;
}

static int ubc_stop(struct net_device *netdev)
{
	struct ubc_port *port = netdev_priv(netdev);

	ubc_wr(port->regs, UBC_PORT_EVENT_MASK, 0);
	ubc_wr(port->regs, UBC_PORT_CTRL, 0);
	ubc_ring_stop(&port->rx);
	ubc_ring_stop(&port->tx);
	ubc_free_irqs(port);
	netif_carrier_off(netdev);
	netif_tx_disable(netdev);
	napi_disable(&port->napi);
	ubc_tx_drop_all(port);
	ubc_rx_drop_all(port);
	ubc_ring_free(&port->rx);
	ubc_ring_free(&port->tx);
	return 0;
}

static int ubc_change_mtu(struct net_device *netdev, int mtu)
{
	bool running = netif_running(netdev);
	int err = 0;

	if (running)
		ubc_stop(netdev);
	netdev->mtu = mtu;
	if (running)
		err = ubc_open(netdev);
	return err;
}

static void ubc_tx_timeout(struct net_device *netdev, unsigned int queue)
{
	struct ubc_port *port = netdev_priv(netdev);

	/* Credits may be withheld for long by the peer: look, do not reset. */
	netdev_warn(netdev, "transmit stalled: head %u, tail %u, status %#x\n",
		    port->tx.head, ubc_rd(port->tx.regs, UBC_RING_TAIL),
		    ubc_rd(port->regs, UBC_PORT_STATUS));
	napi_schedule(&port->napi);
	netif_trans_update(netdev);
}

static void ubc_fetch(struct ubc_stats *stats, u64 *packets, u64 *bytes)
{
	unsigned int start;

	do {
		start = u64_stats_fetch_begin(&stats->sync);
		*packets = u64_stats_read(&stats->packets);
		*bytes = u64_stats_read(&stats->bytes);
	} while (u64_stats_fetch_retry(&stats->sync, start));
}

static void ubc_get_stats64(struct net_device *netdev,
			    struct rtnl_link_stats64 *stats)
{
	struct ubc_port *port = netdev_priv(netdev);

	netdev_stats_to_stats64(stats, &netdev->stats);
	ubc_fetch(&port->tx_stats, &stats->tx_packets, &stats->tx_bytes);
	ubc_fetch(&port->rx_stats, &stats->rx_packets, &stats->rx_bytes);
}

static const struct net_device_ops ubc_netdev_ops = {
	.ndo_open = ubc_open,
	.ndo_stop = ubc_stop,
	.ndo_start_xmit = ubc_xmit,
	.ndo_change_mtu = ubc_change_mtu,
	.ndo_tx_timeout = ubc_tx_timeout,
	.ndo_get_stats64 = ubc_get_stats64,
};

static void ubc_setup(struct net_device *netdev)
{
	netdev->type = ARPHRD_UB;
	netdev->addr_len = UBC_GUID_LEN;
	netdev->hard_header_len = 0;
	netdev->needed_headroom = UBC_HLEN;
	netdev->flags = IFF_POINTOPOINT | IFF_NOARP;
	netdev->tx_queue_len = 1000;
	netdev->watchdog_timeo = 10 * HZ;
	netdev->netdev_ops = &ubc_netdev_ops;
	netdev->ethtool_ops = &ubc_ethtool_ops;
	/* Frames are copied by the device: no scatter lists, any address. */
	netdev->features = NETIF_F_HIGHDMA;
	netdev->min_mtu = ETH_MIN_MTU;
}

/* The GUID of Entity 0, most significant byte first. */
static void ubc_guid(struct ubc_dev *ubc, u8 guid[UBC_GUID_LEN])
{
	unsigned int i;

	for (i = 0; i < UBC_GUID_LEN / 4; i++)
		*(__be32 *)(guid + UBC_GUID_LEN - 4 - 4 * i) =
			cpu_to_be32(ubc_cfg_rd(ubc, UB_CFG0_GUID + i));
}

int ubc_port_add(struct ubc_dev *ubc, unsigned int index)
{
	u8 guid[UBC_GUID_LEN] __aligned(4);
	struct net_device *netdev;
	struct ubc_port *port;
	int err;

	netdev = alloc_netdev(sizeof(*port), "ub%d", NET_NAME_ENUM, ubc_setup);
	if (!netdev)
		return -ENOMEM;
	SET_NETDEV_DEV(netdev, &ubc->pdev->dev);
	netdev->dev_port = index;
	port = netdev_priv(netdev);
	port->ubc = ubc;
	port->netdev = netdev;
	port->index = index;
	port->regs = ubc->bar + UBC_PORT(index);
	u64_stats_init(&port->tx_stats.sync);
	u64_stats_init(&port->rx_stats.sync);
	ubc_guid(ubc, guid);
	dev_addr_set(netdev, guid);
	memset(netdev->broadcast, 0xff, UBC_GUID_LEN);
	netdev->max_mtu = ubc_rd(port->regs, UBC_PORT_MTU) - UBC_HLEN;
	netdev->mtu = min_t(unsigned int, netdev->max_mtu, 9000);
	netif_napi_add(netdev, &port->napi, ubc_poll);
	netif_carrier_off(netdev);
	err = register_netdev(netdev);
	if (err) {
		free_netdev(netdev);
		return err;
	}
	ubc->port[index] = port;
	return 0;
}

void ubc_port_del(struct ubc_port *port)
{
	unregister_netdev(port->netdev);
	netif_napi_del(&port->napi);
	free_netdev(port->netdev);
}
