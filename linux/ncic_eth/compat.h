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

#endif
