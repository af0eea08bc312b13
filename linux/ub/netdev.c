// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * UB ports as network devices.
 *
 * A UB link joins two ports, so the device is point-to-point and has no
 * address resolution; a switch at the other end learns our addresses by IP
 * notify.  Its hardware address is the controller's GUID (ARP hardware type 38).
 */
#include <linux/interrupt.h>
#include <linux/module.h>
#include <linux/rtnetlink.h>

#include "ub/cfg_regs.h"
#include "compat.h"
#include "ub_net.h"

#define UBC_EVENTS_WANTED	(UBC_PORT_EVENT_LINK | \
				 UBC_PORT_EVENT_DLL_ERROR | \
				 UBC_PORT_EVENT_WIDTH)

void ubc_port_link(struct ubc_port *port)
{
	struct net_device *netdev = port->netdev;
	unsigned long flags;
	bool up;

	/* Or an interrupt that sees the link come is undone by who read before. */
	spin_lock_irqsave(&port->link_lock, flags);
	up = ub_rd(port->regs, UBC_PORT_STATUS) & UBC_PORT_STATUS_DLL_UP;
	if (up == netif_carrier_ok(netdev)) {
		spin_unlock_irqrestore(&port->link_lock, flags);
		return;
	}
	if (up) {
		netif_carrier_on(netdev);
		/* Else what frees a slot wakes it. */
		if (ubc_tx_room(&port->tx))
			netif_wake_queue(netdev);
	} else {
		netif_carrier_off(netdev);
	}
	spin_unlock_irqrestore(&port->link_lock, flags);
	netdev_info(netdev, "link %s\n", up ? "up" : "down");
}

static irqreturn_t ubc_event_irq(int irq, void *data)
{
	struct ubc_port *port = ((struct ubc_irq *)data)->port;
	u32 events;

	/* The vector may be others', too. */
	if (!READ_ONCE(port->running))
		return IRQ_NONE;
	events = ub_rd(port->regs, UBC_PORT_EVENT);
	if (!events)
		return IRQ_NONE;
	ub_wr(port->regs, UBC_PORT_EVENT, events);
	if (events & UBC_PORT_EVENT_DLL_ERROR) {
		net_warn_ratelimited("%s: data link layer error\n",
				     port->netdev->name);
		schedule_delayed_work(&port->check, HZ);
	}
	ubc_port_link(port);
	return IRQ_HANDLED;
}

static irqreturn_t ubc_ring_irq(int irq, void *data)
{
	struct ubc_port *port = ((struct ubc_irq *)data)->port;

	napi_schedule_irqoff(&port->napi);
	return IRQ_HANDLED;
}

static int ubc_irq(struct ubc_port *port, enum ub_source i)
{
	return ub_core_irq(port->core,
			   ub_core_vector(port->core, port->index, i));
}

static void ubc_free_irqs(struct ubc_port *port, unsigned int n)
{
	while (n--)
		free_irq(ubc_irq(port, n), &port->irq[n]);
}

static int ubc_request_irqs(struct ubc_port *port)
{
	static const char *const names[] = { "event", "rx", "tx" };
	unsigned int i;
	int err;

	for (i = 0; i < UB_PORT_SOURCES; i++) {
		struct ubc_irq *irq = &port->irq[i];

		irq->port = port;
		snprintf(irq->name, sizeof(irq->name), "%s-%s",
			 port->netdev->name, names[i]);
		err = request_irq(ubc_irq(port, i),
				  i == UB_EVENT ? ubc_event_irq : ubc_ring_irq,
				  IRQF_SHARED, irq->name, irq);
		if (err) {
			ubc_free_irqs(port, i);
			return err;
		}
	}
	return 0;
}

/* The ring pair is the port's, and every source has its vector. */
static void ubc_bind(struct ubc_port *port)
{
	struct ub_core *core = port->core;

	ub_wr(port->pair, UBC_PAIR_PORT, port->index);
	ub_wr(port->regs, UBC_PORT_VECTOR,
	      ub_core_vector(core, port->index, UB_EVENT));
	ub_wr(port->rx.regs, UBC_RING_VECTOR,
	      ub_core_vector(core, port->index, UB_RX));
	ub_wr(port->tx.regs, UBC_RING_VECTOR,
	      ub_core_vector(core, port->index, UB_TX));
}

/* From rings at rest to a port that trains; cannot fail.  NAPI comes after the receive
 * ring was filled: another's interrupt by the same vector, or one on its way from
 * before, would fill the same ring on another processor.
 */
static void ubc_start(struct ubc_port *port)
{
	struct net_device *netdev = port->netdev;

	port->rx_room = netdev->mtu + UBC_HLEN;
	port->guarded = ub_rd(port->core->bar, UBC_CAPS) & UBC_CAPS_GUARD;
	port->stalled = false;
	ubc_bind(port);
	ubc_ring_start(&port->tx);
	ubc_ring_start(&port->rx);
	port->started = true;
	ubc_rx_refill(port, GFP_KERNEL);
	napi_enable(&port->napi);
	/* It arms the rings, and tries again where there was no memory. */
	local_bh_disable();
	napi_schedule(&port->napi);
	local_bh_enable();
	ub_wr(port->regs, UBC_PORT_EVENT, ~0u);
	WRITE_ONCE(port->running, true);
	ub_wr(port->regs, UBC_PORT_EVENT_MASK, UBC_EVENTS_WANTED);
	ub_wr(port->regs, UBC_PORT_CTRL, UBC_PORT_CTRL_ENABLE);
	netif_start_queue(netdev);
	ubc_port_link(port);
}

/* And back: nobody sends, nobody polls, then the device lets go of memory.  A port
 * that a reset has halted may be stopped before it starts again. */
static void ubc_halt(struct ubc_port *port)
{
	struct net_device *netdev = port->netdev;

	if (!port->started)
		return;
	port->started = false;
	WRITE_ONCE(port->running, false);
	ub_wr(port->regs, UBC_PORT_EVENT_MASK, 0);
	synchronize_irq(ubc_irq(port, UB_EVENT));
	cancel_delayed_work_sync(&port->check);
	netif_carrier_off(netdev);
	/* The poll wakes the queue, so it ends first. */
	napi_disable(&port->napi);
	netif_tx_disable(netdev);
	timer_delete_sync(&port->refill);
	ub_wr(port->regs, UBC_PORT_CTRL, 0);
	ubc_ring_stop(&port->rx);
	ubc_ring_stop(&port->tx);
	ubc_tx_drop_all(port);
	ubc_rx_drop_all(port);
}

static int ubc_open(struct net_device *netdev)
{
	struct ubc_port *port = netdev_priv(netdev);
	struct device *dev = &port->core->pdev->dev;
	int err;

	err = ubc_ring_alloc(&port->tx, dev, port->pair + UBC_RING_TX);
	if (err)
		return err;
	err = ubc_ring_alloc(&port->rx, dev, port->pair + UBC_RING_RX);
	if (err)
		goto free_tx;
	err = ubc_request_irqs(port);
	if (err)
		goto free_rx;
	ubc_start(port);
	return 0;

free_rx:
	ubc_ring_free(&port->rx);
free_tx:
	ubc_ring_free(&port->tx);
	return err;
}

static int ubc_stop(struct net_device *netdev)
{
	struct ubc_port *port = netdev_priv(netdev);

	ubc_halt(port);
	ubc_free_irqs(port, UB_PORT_SOURCES);
	ubc_ring_free(&port->rx);
	ubc_ring_free(&port->tx);
	return 0;
}

/* Rings and interrupts stay, so that nothing can fail on the way. */
static int ubc_change_mtu(struct net_device *netdev, int mtu)
{
	struct ubc_port *port = netdev_priv(netdev);
	bool running = netif_running(netdev) && netif_device_present(netdev);

	if (running)
		ubc_halt(port);
	WRITE_ONCE(netdev->mtu, mtu);
	if (running)
		ubc_start(port);
	return 0;
}

static void ubc_refill_timer(struct timer_list *t)
{
	struct ubc_port *port = container_of(t, struct ubc_port, refill);

	napi_schedule(&port->napi);
}

/* A data link layer that has not come back by itself is started anew. */
static void ubc_check(struct work_struct *work)
{
	struct ubc_port *port = container_of(work, struct ubc_port, check.work);
	u32 status = ub_rd(port->regs, UBC_PORT_STATUS);

	if ((status & UBC_PORT_STATUS_PHY_UP) &&
	    !(status & UBC_PORT_STATUS_DLL_UP)) {
		netdev_warn(port->netdev, "link does not recover, restarting\n");
		ub_wr(port->regs, UBC_PORT_CTRL, 0);
		ub_wr(port->regs, UBC_PORT_CTRL, UBC_PORT_CTRL_ENABLE);
	}
}

static void ubc_restart(struct work_struct *work)
{
	struct ubc_port *port = container_of(work, struct ubc_port, restart);

	rtnl_lock();
	if (netif_running(port->netdev) && netif_device_present(port->netdev)) {
		ubc_halt(port);
		ubc_start(port);
	}
	rtnl_unlock();
}

/* Credits may be withheld for long by the peer: look first, and restart the
 * port when nothing at all has moved until the next time. */
static void ubc_tx_timeout(struct net_device *netdev, unsigned int queue)
{
	struct ubc_port *port = netdev_priv(netdev);
	u16 tail = ub_rd(port->tx.regs, UBC_RING_TAIL);

	netdev_warn(netdev, "transmit stalled: head %u, tail %u, status %#x\n",
		    port->tx.head, tail, ub_rd(port->regs, UBC_PORT_STATUS));
	if (port->stalled && port->stalled_at == tail) {
		schedule_work(&port->restart);
		return;
	}
	port->stalled = true;
	port->stalled_at = tail;
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

/* lockdep has classes by hardware types that the kernel knows, and takes each other
 * one for a mistake: ours comes when those are given, and with it classes of ours. */
static int ubc_init(struct net_device *netdev)
{
	netdev->type = ARPHRD_UB;
	netdev_lockdep_set_classes(netdev);
	return 0;
}

const struct net_device_ops ubc_netdev_ops = {
	.ndo_init = ubc_init,
	.ndo_open = ubc_open,
	.ndo_stop = ubc_stop,
	.ndo_start_xmit = ubc_xmit,
	.ndo_change_mtu = ubc_change_mtu,
	.ndo_tx_timeout = ubc_tx_timeout,
	.ndo_get_stats64 = ubc_get_stats64,
};

static void ubc_setup(struct net_device *netdev)
{
	netdev->addr_len = UBC_GUID_LEN;
	netdev->hard_header_len = UBC_FRAME_HLEN;
	netdev->min_header_len = UBC_FRAME_HLEN;
	netdev->header_ops = &ubc_header_ops;
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
static void ubc_guid(struct ub_core *core, u8 guid[UBC_GUID_LEN])
{
	unsigned int i;

	for (i = 0; i < UBC_GUID_LEN / 4; i++)
		*(__be32 *)(guid + UBC_GUID_LEN - 4 - 4 * i) =
			cpu_to_be32(ub_config_read(core, UB_CFG0_GUID + i));
}

static int ubc_net_probe(struct auxiliary_device *adev,
			 const struct auxiliary_device_id *id)
{
	struct ub_port *part = to_ub_port(adev);
	u8 guid[UBC_GUID_LEN] __aligned(4);
	struct net_device *netdev;
	struct ubc_port *port;
	int err;

	netdev = alloc_netdev(sizeof(*port), "ub%d", NET_NAME_ENUM, ubc_setup);
	if (!netdev)
		return -ENOMEM;
	SET_NETDEV_DEV(netdev, &adev->dev);
	netdev->dev_port = part->index;
	port = netdev_priv(netdev);
	port->core = part->core;
	port->netdev = netdev;
	port->index = part->index;
	port->regs = part->core->bar + UBC_PORT(part->index);
	port->pair = part->core->bar + UBC_PAIR(part->pair);
	u64_stats_init(&port->tx_stats.sync);
	u64_stats_init(&port->rx_stats.sync);
	timer_setup(&port->refill, ubc_refill_timer, 0);
	INIT_DELAYED_WORK(&port->check, ubc_check);
	INIT_WORK(&port->restart, ubc_restart);
	INIT_WORK(&port->notify, ubc_notify);
	spin_lock_init(&port->link_lock);
	ubc_guid(port->core, guid);
	dev_addr_set(netdev, guid);
	memset(netdev->broadcast, 0xff, UBC_GUID_LEN);
	netdev->max_mtu = ub_rd(port->regs, UBC_PORT_MTU) - UBC_HLEN;
	netdev->mtu = min_t(unsigned int, netdev->max_mtu, 9000);
	netif_napi_add(netdev, &port->napi, ubc_poll);
	netif_carrier_off(netdev);
	err = register_netdev(netdev);
	if (err) {
		netif_napi_del(&port->napi);
		free_netdev(netdev);
		return err;
	}
	auxiliary_set_drvdata(adev, port);
	return 0;
}

static void ubc_net_remove(struct auxiliary_device *adev)
{
	struct ubc_port *port = auxiliary_get_drvdata(adev);

	unregister_netdev(port->netdev);
	cancel_work_sync(&port->restart);
	cancel_work_sync(&port->notify);
	netif_napi_del(&port->napi);
	free_netdev(port->netdev);
}

/* The function is about to be reset. */
static int ubc_net_suspend(struct auxiliary_device *adev, pm_message_t state)
{
	struct ubc_port *port = auxiliary_get_drvdata(adev);

	rtnl_lock();
	netif_device_detach(port->netdev);
	if (netif_running(port->netdev))
		ubc_halt(port);
	rtnl_unlock();
	return 0;
}

static int ubc_net_resume(struct auxiliary_device *adev)
{
	struct ubc_port *port = auxiliary_get_drvdata(adev);

	rtnl_lock();
	if (netif_running(port->netdev))
		ubc_start(port);
	netif_device_attach(port->netdev);
	rtnl_unlock();
	return 0;
}

static const struct auxiliary_device_id ubc_net_ids[] = {
	{ .name = "ub_core.net" },
	{ }
};
MODULE_DEVICE_TABLE(auxiliary, ubc_net_ids);

static struct auxiliary_driver ubc_net_driver = {
	.id_table = ubc_net_ids,
	.probe = ubc_net_probe,
	.remove = ubc_net_remove,
	.suspend = ubc_net_suspend,
	.resume = ubc_net_resume,
	.driver.pm = pm_sleep_ptr(&ub_part_pm_ops),
};

static int __init ubc_net_init(void)
{
	int err = ubc_notify_init();

	if (err)
		return err;
	err = auxiliary_driver_register(&ubc_net_driver);
	if (err)
		ubc_notify_exit();
	return err;
}
module_init(ubc_net_init);

static void __exit ubc_net_exit(void)
{
	auxiliary_driver_unregister(&ubc_net_driver);
	ubc_notify_exit();
}
module_exit(ubc_net_exit);

MODULE_DESCRIPTION("UnifiedBus ports as network devices");
MODULE_LICENSE("GPL");
