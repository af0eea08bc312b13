/* SPDX-License-Identifier: GPL-2.0-or-later WITH Linux-syscall-note */
/*
 * /dev/ubmsgN: management messages and scans of a UB controller (UB 2.0 §10.4.3).
 *
 * A write is a struct ub_msg with the bytes that follow it: MGMTETAH and PDU, or
 * Scan Header and Scan PDU, as they are on the wire.  A request or scan is
 * answered once: a read gives a struct ub_msg with the MSN of the request, and
 * the response behind it, or UB_MSG_FAILED and nothing.  An opener has
 * UB_MSG_PENDING requests at most that are not answered, or whose answer is not
 * read: then it waits, or gets EAGAIN, and poll() does not say POLLOUT.
 *
 * Each opener has MSNs of its own.  Source, UPI, Mgmt and queue of a request are
 * what the device makes of them (docs/specs/ub-mgmt.rst).
 *
 * What nobody asked for is read after UB_MSG_IOC_LISTEN.  An event goes to all who
 * listen; a request that software has to answer to the one opener that asked for
 * requests, who writes the response with MSN and queue of the request.
 *
 * Errors: EINVAL (lengths), ENETDOWN (the function is being reset or sleeps),
 * ENODEV (the controller is gone; what has arrived can still be read), EMSGSIZE
 * (read with less room than the next needs; it stays).
 */
#ifndef UB_MSG_UAPI_H
#define UB_MSG_UAPI_H

#include <linux/ioctl.h>
#include <linux/types.h>

#define UB_MSG_MESSAGE	0	/* MGMTETAH and PDU */
#define UB_MSG_SCAN	1	/* Scan Header and Scan PDU */

#define UB_MSG_MGMT	0x01	/* NTH.Mgmt: as the UBFM */
#define UB_MSG_LOCAL	0x02	/* it does not leave the controller */
#define UB_MSG_FAILED	0x04	/* read: refused, or no answer came */

#define UB_MSG_MAX	1028	/* bytes behind struct ub_msg */
#define UB_MSG_PENDING	32	/* requests of an opener */
#define UB_MSG_BACKLOG	64	/* events and requests that wait to be read */

struct ub_msg {
	__u8 kind;
	__u8 flags;
	__u16 msn;
	__u16 len;		/* bytes that follow */
	__u16 upi;
	__u32 scna;
	__u32 dcna;
	__u32 seid;		/* 20 bits */
	__u32 deid;
	__u32 queue;		/* of a request to be answered, and its response */
	__u8 sl;
	__u8 lbf;
	__u16 lost;		/* read: what was thrown away before this one */
};

#define UB_MSG_EVENTS	0x1	/* errors, links, hot plug */
#define UB_MSG_REQUESTS	0x2	/* one opener at a time: EBUSY */

#define UB_MSG_IOC_LISTEN	_IOW('U', 0x40, __u32)

#endif
