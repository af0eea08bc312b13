/* SPDX-License-Identifier: GPL-2.0-or-later OR MIT */
/*
 * librclink: reliable messages (TYPE1) and multicast (TYPE2) of an RC Link port
 * for a Linux program, over the character device of the driver rclink.
 *
 * A port belongs to one program at a time, which needs CAP_SYS_RAWIO.  Messages
 * are copied into and out of memory that device and program share; but for
 * opening, connecting, registers and waiting there are no system calls.  One
 * thread at a time may use a port.
 *
 * Functions return 0 or a number that is not negative, or a negative errno
 * value; -EIO after the device has gone.
 */
#ifndef LIBRCLINK_H
#define LIBRCLINK_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct rclink;

/* ---- a port ---- */

/* Open @path, or, if it is NULL, the first /dev/rclink-* that can be.  -EBUSY:
 * another program has it. */
int rclink_open(const char *path, struct rclink **rc);
/* Give it up, with all its QPs.  NULL is ignored. */
void rclink_close(struct rclink *rc);
/* To be waited for with others: see rclink_arm(). */
int rclink_fd(const struct rclink *rc);

enum rclink_format {
	RCLINK_STANDARD,	/* IPv4, UDP */
	RCLINK_GEN1,		/* AFH_GEN1 with traffic class */
	RCLINK_GEN2,		/* AFH_GEN2_16b */
	RCLINK_LITE,		/* AFH_Lite: TYPE1 is unreliable */
};

/* Flow control; both ends alike: with CBFC nothing passes otherwise, with PFC a peer that
 * has none loses what comes too fast.  It is the port's: the network's frames (TYPE3) wait
 * for the peer as well. */
enum rclink_flow { RCLINK_NO_FLOW, RCLINK_PFC, RCLINK_CBFC };

struct rclink_port {
	enum rclink_format format;
	enum rclink_flow flow;
	uint64_t mac;		/* own address, 48 bits, first octet on top */
	uint32_t ip;		/* own address */
	uint16_t ethertype1, ethertype2;	/* of TYPE1, TYPE2: not Standard */
	uint16_t retry_us;	/* time-out, document's time, to 8191; 0: none */
	uint8_t retries;	/* a QP fails at this time-out in a row, 0 to 15; 0 is 1 */
	uint8_t ecn;		/* answer marked packets with CNPs */
	uint32_t group_ip;	/* destination of TYPE2 */
	uint64_t group_mac;	/* address of group 0; group n has n added */
};

/* What suits two or more ports that have nothing else on their wire: the port's
 * own MAC, 10.x.y.z made of its last three octets, Standard. */
void rclink_port_init(const struct rclink *rc, struct rclink_port *port);
/* The address that rclink_port_init() makes of @mac. */
uint32_t rclink_ip_of(uint64_t mac);
/* Set the port up and turn it on; no QP may be connected yet. */
int rclink_port_set(struct rclink *rc, const struct rclink_port *port);

/* Limits of the port: QPs, packets in flight, bytes of a message. */
unsigned rclink_qps(const struct rclink *rc);
unsigned rclink_packets(const struct rclink *rc);
unsigned rclink_bytes(const struct rclink *rc);
/* Bytes that a message must have at least. */
#define RCLINK_BYTES_MIN 64

/* ---- QPs ---- */

struct rclink_peer {
	uint64_t mac;
	uint32_t ip;
	uint16_t qp;		/* whose number modulo 4 is that of ours */
	uint16_t psn_tx, psn_rx;	/* first PSNs, 12 bits, the peer's mirrored */
	uint16_t udp_port;	/* our source port */
	uint8_t pkey;		/* the same at both ends */
};

/* Connect QP @qp; the peer does the same with its own. */
int rclink_connect(struct rclink *rc, unsigned qp,
		   const struct rclink_peer *peer);
/* Disconnect it: what was not acknowledged is dropped. */
int rclink_disconnect(struct rclink *rc, unsigned qp);
/* Let it send @bytes of payload in each window of @window_ns (4096, 8192 ...
 * 65536 of the document's time; one for the whole port). */
int rclink_rate(struct rclink *rc, unsigned qp, unsigned window_ns,
		uint32_t bytes);
/* The same for all of TYPE2; 0 bytes: no limit. */
int rclink_group_rate(struct rclink *rc, unsigned window_ns, uint32_t bytes);

/* ---- sending ---- */

#define RCLINK_ACK_NOW	1	/* the peer acknowledges at once, with its time */
#define RCLINK_MORE	2	/* another one follows: do not ring yet */

/* Send @len bytes; they may be changed afterwards.  RCLINK_SENT with @cookie
 * tells when the peer has them.  -EAGAIN: no room now. */
int rclink_send(struct rclink *rc, unsigned qp, const void *data, size_t len,
		unsigned flags, uint16_t cookie);
/* To all members of a group, 0 to 7. */
int rclink_send_group(struct rclink *rc, unsigned group, const void *data,
		      size_t len, unsigned flags, uint16_t cookie);
/* Ring for what was sent with RCLINK_MORE. */
void rclink_ring(struct rclink *rc);

/* ---- receiving ---- */

struct rclink_message {
	const void *data;	/* valid until the next call for its kind */
	size_t len;
	unsigned qp;		/* TYPE1: our QP */
	int truncated;
};

/* The next message of TYPE1 or, with @group, of TYPE2 (all groups: a port has no
 * filter).  1, or 0: none is there. */
int rclink_recv(struct rclink *rc, int group, struct rclink_message *msg);

/* ---- events ---- */

enum rclink_event_type {
	RCLINK_IRQ = 1,		/* @value: IRQ_INFO of the document */
	RCLINK_SENT,		/* a message is done; @error: it was dropped */
	RCLINK_CONGESTED,	/* a CNP came for @qp */
	RCLINK_ACKED,		/* @value packets, with a round trip of @rtt */
	RCLINK_TIMEOUT,		/* @qp sends again */
	RCLINK_UNCONGESTED,	/* @value bytes of @qp without a CNP */
	RCLINK_RATE,		/* rate control stopped @qp, or @on let it go on */
	RCLINK_MAC_RESET,	/* the MAC was reset, and the port goes on: frames of that
				 * time may be lost */
};

struct rclink_event {
	enum rclink_event_type type;
	unsigned qp;
	int group;		/* RCLINK_SENT: of TYPE2 */
	unsigned error;		/* RCLINK_SENT: reason of docs/specs/rclink.rst */
	uint16_t cookie;
	uint32_t rtt;		/* in the document's ns */
	uint64_t value;
	int on;
};

/* The next event: 1, or 0: none is there.  They wait in a ring of 1024, of
 * which 63 may be taken by those read last; those that find it full are lost (and
 * counted), and others than RCLINK_SENT where 128 wait.  So a program with no more
 * than 768 messages under way is told of each of them. */
int rclink_poll(struct rclink *rc, struct rclink_event *ev);

/* ---- waiting ---- */

#define RCLINK_WAIT_ROOM	1	/* for rclink_send() */
#define RCLINK_WAIT_MESSAGE	2	/* TYPE1 */
#define RCLINK_WAIT_GROUP	4	/* TYPE2 */
#define RCLINK_WAIT_EVENT	8

/* Have the descriptor become readable when one of @what happens.  1: it has
 * already happened. */
int rclink_arm(struct rclink *rc, unsigned what);
/* Take back that it is readable. */
int rclink_disarm(struct rclink *rc);
/* rclink_arm(), poll(2) and rclink_disarm(): 1, or 0 after @ms milliseconds; -1
 * is for ever. */
int rclink_wait(struct rclink *rc, unsigned what, int ms);

/* ---- statistics, registers ---- */

/* The n-th counter of the port: its name, NULL behind the last, and value. */
const char *rclink_stat_name(unsigned n);
int rclink_stat(struct rclink *rc, unsigned n, uint64_t *value);
/* Registers of docs/specs/rclink.rst below 4000, but TYPE3's; @qp is for those
 * of QPs. */
int rclink_get(struct rclink *rc, uint32_t reg, unsigned qp, uint64_t *value);
int rclink_set(struct rclink *rc, uint32_t reg, unsigned qp, uint64_t value);

#ifdef __cplusplus
}
#endif
#endif
