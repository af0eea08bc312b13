// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * UB ports as network devices: IP notify (UB 2.0 §F.2.3).
 *
 * The neighbour is told our addresses when the link comes up and when there is
 * another one; a switch makes its routes from that.
 */
#include <linux/if_ether.h>
#include <linux/inetdevice.h>
#include <net/addrconf.h>
#include <net/if_inet6.h>

#include "ub_net.h"

#define UBC_IP_NOTIFY		0x0102
#define UBC_IP_NOTIFY_LEN	18

/* One more frame that says @ip, of @len bytes; version 1 is IPv4, 2 is IPv6. */
static void ubc_notify_add(struct net_device *netdev, struct sk_buff_head *list,
			   u8 version, u8 prefix, const void *ip, size_t len)
{
	const unsigned int size = UBC_FRAME_CFG + UBC_CONTROL_LEN +
				  UBC_IP_NOTIFY_LEN;
	const __be16 protocol = htons(UBC_IP_NOTIFY);
	struct sk_buff *skb = alloc_skb(LL_RESERVED_SPACE(netdev) + size,
					GFP_ATOMIC);
	u8 *p;

	if (!skb)
		return;
	skb_reserve(skb, LL_RESERVED_SPACE(netdev));
	p = skb_put_zero(skb, size);
	*p++ = UBC_CFG_CONTROL;
	memcpy(p, &protocol, 2);
	/* The group of those who take the protocol. */
	memset(p + 2, 0xff, UBC_GUID_LEN);
	memcpy(p + UBC_GUID_LEN, &protocol, 2);
	memcpy(p + 2 + UBC_GUID_LEN, netdev->dev_addr, UBC_GUID_LEN);
	p += UBC_CONTROL_LEN;
	p[0] = version << 4;
	p[1] = prefix;
	memcpy(p + 2, ip, len);
	skb->dev = netdev;
	skb->protocol = htons(ETH_P_UB);
	skb_reset_mac_header(skb);
	__skb_queue_tail(list, skb);
}

static void ubc_notify_ipv4(struct net_device *netdev,
			    struct sk_buff_head *list)
{
	const struct in_ifaddr *ifa;
	struct in_device *in_dev;

	rcu_read_lock();
	in_dev = __in_dev_get_rcu(netdev);
	if (in_dev) {
		in_dev_for_each_ifa_rcu(ifa, in_dev)
			ubc_notify_add(netdev, list, 1, ifa->ifa_prefixlen,
				       &ifa->ifa_local, 4);
	}
	rcu_read_unlock();
}

static void ubc_notify_ipv6(struct net_device *netdev,
			    struct sk_buff_head *list)
{
#if IS_ENABLED(CONFIG_IPV6)
	struct inet6_ifaddr *ifp;
	struct inet6_dev *idev;

	rcu_read_lock();
	idev = __in6_dev_get(netdev);
	if (idev) {
		read_lock_bh(&idev->lock);
		list_for_each_entry(ifp, &idev->addr_list, if_list)
			ubc_notify_add(netdev, list, 2, ifp->prefix_len,
				       &ifp->addr, 16);
		read_unlock_bh(&idev->lock);
	}
	rcu_read_unlock();
#endif
}

void ubc_notify(struct work_struct *work)
{
	struct ubc_port *port = container_of(work, struct ubc_port, notify);
	struct sk_buff_head list;
	struct sk_buff *skb;

	__skb_queue_head_init(&list);
	ubc_notify_ipv4(port->netdev, &list);
	ubc_notify_ipv6(port->netdev, &list);
	while ((skb = __skb_dequeue(&list)))
		dev_queue_xmit(skb);
}

static void ubc_notify_soon(struct net_device *netdev)
{
	struct ubc_port *port = netdev_priv(netdev);

	if (netdev->netdev_ops == &ubc_netdev_ops)
		schedule_work(&port->notify);
}

/*
 * Not when the carrier comes, but when the network stack has seen that it came:
 * before, it has no queue for the device and drops what is sent.
 */
static int ubc_netdev_event(struct notifier_block *nb, unsigned long event,
			    void *data)
{
	struct net_device *netdev = netdev_notifier_info_to_dev(data);

	if ((event == NETDEV_UP || event == NETDEV_CHANGE) &&
	    netif_carrier_ok(netdev))
		ubc_notify_soon(netdev);
	return NOTIFY_DONE;
}

static struct notifier_block ubc_netdev_nb = {
	.notifier_call = ubc_netdev_event,
};

static int ubc_inetaddr_event(struct notifier_block *nb, unsigned long event,
			      void *data)
{
	struct in_ifaddr *ifa = data;

	if (event == NETDEV_UP)
		ubc_notify_soon(ifa->ifa_dev->dev);
	return NOTIFY_DONE;
}

static struct notifier_block ubc_inetaddr_nb = {
	.notifier_call = ubc_inetaddr_event,
};

#if IS_ENABLED(CONFIG_IPV6)
static int ubc_inet6addr_event(struct notifier_block *nb, unsigned long event,
			       void *data)
{
	struct inet6_ifaddr *ifp = data;

	if (event == NETDEV_UP)
		ubc_notify_soon(ifp->idev->dev);
	return NOTIFY_DONE;
}

static struct notifier_block ubc_inet6addr_nb = {
	.notifier_call = ubc_inet6addr_event,
};
#endif

int ubc_notify_init(void)
{
	int err = register_netdevice_notifier(&ubc_netdev_nb);

	if (err)
		return err;
	err = register_inetaddr_notifier(&ubc_inetaddr_nb);
	if (err)
		goto netdev;
#if IS_ENABLED(CONFIG_IPV6)
	err = register_inet6addr_notifier(&ubc_inet6addr_nb);
	if (err)
		goto inetaddr;
#endif
	return 0;

#if IS_ENABLED(CONFIG_IPV6)
inetaddr:
	unregister_inetaddr_notifier(&ubc_inetaddr_nb);
#endif
netdev:
	unregister_netdevice_notifier(&ubc_netdev_nb);
	return err;
}

void ubc_notify_exit(void)
{
#if IS_ENABLED(CONFIG_IPV6)
	unregister_inet6addr_notifier(&ubc_inet6addr_nb);
#endif
	unregister_inetaddr_notifier(&ubc_inetaddr_nb);
	unregister_netdevice_notifier(&ubc_netdev_nb);
}
