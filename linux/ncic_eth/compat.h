/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * NCIC NIC Ethernet driver: what differs between kernels 6.1 and later ones.
 */
#ifndef NCIC_COMPAT_H
#define NCIC_COMPAT_H

#include <linux/version.h>

#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 6, 0)
#include <net/page_pool/helpers.h>
#else
#include <net/page_pool.h>
#endif

/* Since 6.7 every pool can give fragments. */
#ifndef PP_FLAG_PAGE_FRAG
#define PP_FLAG_PAGE_FRAG	0
#endif

/* Since 6.8 get_rxfh takes its arguments in a structure. */
#define NCIC_RXFH_PARAM	(LINUX_VERSION_CODE >= KERNEL_VERSION(6, 8, 0))
/* Since 6.17 the fields of the hash, and since 6.18 the number of rings, are asked for
 * each by its own function, not by get_rxnfc. */
#define NCIC_RXFH_FIELDS (LINUX_VERSION_CODE >= KERNEL_VERSION(6, 17, 0))
#define NCIC_RX_RING_COUNT (LINUX_VERSION_CODE >= KERNEL_VERSION(6, 18, 0))

#endif
