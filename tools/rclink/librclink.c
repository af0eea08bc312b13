// SPDX-License-Identifier: GPL-2.0-or-later OR MIT
/*
 * librclink: a port, its QPs and its registers.
 */
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "internal.h"

#define MASK48 0xffffffffffffull

/* ---- registers ---- */

static int lib_ioctl(int fd, unsigned long cmd, void *arg)
{
	return ioctl(fd, cmd, arg) ? -errno : 0;
}

int rclink_get(struct rclink *rc, uint32_t reg, unsigned qp, uint64_t *value)
{
	struct rclink_reg r = { .reg = reg, .qp = qp };
	int err = lib_ioctl(rc->fd, RCLINK_IOC_GET, &r);

	*value = r.value;
	return err;
}

int rclink_set(struct rclink *rc, uint32_t reg, unsigned qp, uint64_t value)
{
	struct rclink_reg r = { .reg = reg, .qp = qp, .value = value };

	return lib_ioctl(rc->fd, RCLINK_IOC_SET, &r);
}

struct setting {
	uint32_t reg;
	uint64_t value;
};

static int set_all(struct rclink *rc, unsigned qp, const struct setting *s,
		   size_t n)
{
	int err = 0;

	for (; n-- && !err; s++)
		err = rclink_set(rc, s->reg, qp, s->value);
	return err;
}
#define SET_ALL(rc, qp, s) set_all(rc, qp, s, sizeof(s) / sizeof((s)[0]))

#define STAT_NAME(name, text) #name,
static const char *const stat_name[] = { RCL_COUNTERS(STAT_NAME) };
#undef STAT_NAME

const char *rclink_stat_name(unsigned n)
{
	return n < sizeof(stat_name) / sizeof(stat_name[0]) ? stat_name[n] : NULL;
}

int rclink_stat(struct rclink *rc, unsigned n, uint64_t *value)
{
	return rclink_get(rc, RCL_COUNTER(n), 0, value);
}

/* ---- open, close ---- */

static int open_first(void)
{
	int fd = -ENOENT;
	glob_t found;

	if (glob("/dev/rclink-*", 0, NULL, &found))
		return -ENOENT;
	for (size_t i = 0; i < found.gl_pathc && fd < 0; i++) {
		fd = open(found.gl_pathv[i], O_RDWR | O_CLOEXEC);
		fd = fd < 0 ? -errno : fd;
	}
	globfree(&found);
	return fd;
}

static void *map_piece(int fd, unsigned long off, size_t bytes)
{
	void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, off);

	return p == MAP_FAILED ? NULL : p;
}

static int map_all(struct rclink *rc)
{
	rc->regs_bytes = sysconf(_SC_PAGESIZE);
	rc->regs = map_piece(rc->fd, RCLINK_MAP_REGS, rc->regs_bytes);
	rc->rings = map_piece(rc->fd, RCLINK_MAP(RCLINK_PIECE_RINGS),
			      RCLINK_RINGS_BYTES);
	for (int i = 0; i < 3; i++)
		rc->buffers[i] = map_piece(rc->fd, RCLINK_MAP(RCLINK_PIECE_TX + i),
					   RCLINK_BUFFERS_BYTES);
	return rc->regs && rc->rings && rc->buffers[0] && rc->buffers[1] &&
	       rc->buffers[2] ? 0 : -errno;
}

static int open_port(struct rclink *rc, const char *path)
{
	struct rclink_info info;
	int err;

	rc->fd = path ? open(path, O_RDWR | O_CLOEXEC) : open_first();
	if (rc->fd < 0)
		return path ? -errno : rc->fd;
	err = lib_ioctl(rc->fd, RCLINK_IOC_INFO, &info);
	if (!err)
		err = map_all(rc);
	if (err)
		return err;
	rc->limits = info.limits;
	rc->mac = info.mac;
	lib_rings_init(rc, &info);
	return 0;
}

int rclink_open(const char *path, struct rclink **out)
{
	struct rclink *rc = calloc(1, sizeof(*rc));
	int err;

	*out = NULL;
	if (!rc)
		return -ENOMEM;
	err = open_port(rc, path);
	if (err) {
		rclink_close(rc);
		return err;
	}
	*out = rc;
	return 0;
}

void rclink_close(struct rclink *rc)
{
	if (!rc)
		return;
	for (int i = 0; i < 3; i++)
		if (rc->buffers[i])
			munmap(rc->buffers[i], RCLINK_BUFFERS_BYTES);
	if (rc->rings)
		munmap(rc->rings, RCLINK_RINGS_BYTES);
	if (rc->regs)
		munmap((void *)rc->regs, rc->regs_bytes);
	if (rc->fd >= 0)
		close(rc->fd);
	free(rc);
}

int rclink_fd(const struct rclink *rc)
{
	return rc->fd;
}

/* ---- the port ---- */

unsigned rclink_qps(const struct rclink *rc)
{
	return rc->limits & 0xffff;
}

unsigned rclink_packets(const struct rclink *rc)
{
	return rc->limits >> 24 & 0xfff;
}

unsigned rclink_bytes(const struct rclink *rc)
{
	return rc->limits >> 48;
}

uint32_t rclink_ip_of(uint64_t mac)
{
	return 10u << 24 | (mac & 0xffffff);
}

void rclink_port_init(const struct rclink *rc, struct rclink_port *port)
{
	*port = (struct rclink_port) {
		.mac = rc->mac, .ip = rclink_ip_of(rc->mac),
		.ethertype1 = 0x88b5, .ethertype2 = 0x88b6,	/* experimental */
		.retry_us = 100, .retries = 15, .ecn = 1,
		.group_ip = 0xe0000101, .group_mac = 0x030000000100ull,
	};
}

/* Flows in the order of the map: banks 0 to 3, answers, TYPE2, TYPE3; each has
 * the VC and the class of its place. */
enum { BANKS = 0xf, ANSWERS = 1 << 4, TYPE2 = 1 << 5, TYPE3 = 1 << 6, FLOWS = 7 };

static uint64_t port_config(const struct rclink_port *port)
{
	static const uint64_t format[] = {
		[RCLINK_STANDARD] = 1u << RCL_CFG_STANDARD,
		[RCLINK_GEN1] = 1u << RCL_CFG_GEN1 | 1u << RCL_CFG_GEN1_TC,
		[RCLINK_GEN2] = 1u << RCL_CFG_GEN2,
		[RCLINK_LITE] = 1u << RCL_CFG_LITE,
	};
	uint64_t v = format[port->format];

	for (unsigned f = 0; f < FLOWS; f++)
		v |= (uint64_t)f << (RCL_CFG_VC_MAP + 3 * f);
	for (unsigned n = 0; n < 4; n++)
		v |= 1ull << (RCL_CFG_UF_TYPE1 + 3 * n);
	v |= 0xffull << RCL_CFG_VC_OPEN;
	if (port->flow == RCLINK_CBFC)
		return v | 0xfull << RCL_CFG_CBFC_BANK0 |
		       1ull << RCL_CFG_CBFC_ACK | 1ull << RCL_CFG_CBFC_TYPE2 |
		       1ull << RCL_CFG_CBFC_TYPE3;
	return v | 1ull << RCL_CFG_STOP_CBFC;
}

/* Classes of banks 0 to 3, answers and TYPE2: each shows its flow's VC (RC Link
 * §12.14.4); its low bits are those of a local, individual address in AFH_GEN2_16b and
 * AFH_Lite, and ECN's that a packet may be marked in Standard. */
static uint64_t port_classes(void)
{
	uint64_t v = 0;

	for (unsigned f = 0; f < FLOWS - 1; f++)
		v |= (uint64_t)(f << 2 | 2) << 8 * f;
	return v;
}

/* XON and XOFF of the banks; and of TYPE3, whose buffer, 64 entries of 128 bytes, is
 * in use only where the network's driver is late. */
static const uint64_t marks_rdma = 512 | 768u << 16;
static const uint64_t marks_type3 = 0 | 1u << 16;

/* Marks and enables of PFC; with CBFC, what holds credits back. */
static uint64_t port_marks(const struct rclink_port *port)
{
	uint64_t flows = BANKS | TYPE2 | TYPE3;

	return marks_rdma | (port->flow == RCLINK_NO_FLOW ? 0 : flows << 32) |
	       (port->flow == RCLINK_PFC ? flows << 39 : 0);
}

/* As many credits as the receive buffers have entries, of as many bytes. */
static int credits_set(struct rclink *rc)
{
	int err = 0;

	for (unsigned v = 0; v < FLOWS && !err; v++) {
		int type3 = TYPE3 >> v & 1;

		err = rclink_set(rc, RCL_MAC_CBFC_CFG(v), 0,
				 (type3 ? 128 : 64) << RCL_CBFC_SIZE_SHIFT |
				 (type3 ? 64ull : 1024) << RCL_CBFC_LIMIT_SHIFT);
	}
	return err ? err : rclink_set(rc, RCL_CBFC_RST, 0,
				      BANKS | ANSWERS | TYPE2 | TYPE3);
}

static int port_write(struct rclink *rc, const struct rclink_port *port)
{
	const struct setting all[] = {
		/* The marks may be of another flow control, and want a format. */
		{ RCL_AFH_CFG_EN, port_config(port) |
				  1ull << RCL_CFG_STOP_CBFC },
		{ RCL_MAC_ADDR, (port->mac & MASK48) |
				(uint64_t)port->ethertype1 << 48 },
		{ RCL_DEST_MAC_MEM2, (uint64_t)port->ethertype2 << 48 },
		{ RCL_IP_ADDR, port->ip | 64ull << 48 },
		{ RCL_DEST_IP_MEM2, port->group_ip },
		{ RCL_UDP_PORT_MEM2, 0xc100 | 4792u << 16 },
		{ RCL_RETRY_TIMER_CFG, (port->retry_us & 0x1fff) |
				       (uint64_t)(port->retries & 0xf) << 13 },
		{ RCL_TRAFFIC_CLASS, port_classes() },
		{ RCL_CTRL, port->ecn ? RCL_CTRL_ECN : 0 },
		{ RCL_XON_THR_NON_RDMA, marks_type3 },
		{ RCL_XON_THR_RDMA, port_marks(port) },
		{ RCL_AFH_CFG_EN, port_config(port) },
		{ RCL_RDMA_EN, 1 },
	};

	return SET_ALL(rc, 0, all);
}

int rclink_port_set(struct rclink *rc, const struct rclink_port *port)
{
	int err = 0;

	if (port->format > RCLINK_LITE || port->flow > RCLINK_CBFC)
		return -EINVAL;
	for (unsigned g = 0; g < 8 && !err; g++)
		err = rclink_set(rc, RCL_TYPE2_DA(g), 0,
				 (port->group_mac + g) & MASK48);
	if (!err)
		err = port_write(rc, port);
	if (!err && port->flow == RCLINK_CBFC)
		err = credits_set(rc);
	return err;
}

/* ---- QPs ---- */

int rclink_connect(struct rclink *rc, unsigned qp,
		   const struct rclink_peer *peer)
{
	uint16_t before = (peer->psn_tx - 1) & 0xfff;
	uint16_t tx = peer->psn_tx & 0xfff, rx = peer->psn_rx & 0xfff;
	const struct setting all[] = {
		{ RCL_QP_CONTROL_STATUS, RCL_QP_FREE_BUF },
		{ RCL_TX_EXPECT_PSN, tx },
		{ RCL_EXPECT_RESP_PSN, tx },
		{ RCL_TX_LAST_PSN, before },
		{ RCL_MAX_FORWARD_PSN, before },
		{ RCL_RX_REQ_EPSN, rx },
		{ RCL_TX_EPSN, rx },
		{ RCL_TX_SPEED_MEM, 0x320000 },	/* 400 Gb/s in the widest window */
		{ RCL_DEST_IP_MEM, peer->ip | (uint64_t)peer->qp << 32 },
		{ RCL_UDP_SRC_PORT_MEM, peer->udp_port |
					(uint32_t)peer->pkey << 16 },
		{ RCL_DEST_MAC_MEM, peer->mac & MASK48 },
		{ RCL_BTH_QP_CFG_MEM, peer->pkey },
		{ RCL_RETRY_CNT_MEM, 0 },
		{ RCL_QP_CONTROL_STATUS, RCL_QP_EN },
	};

	return qp >= rclink_qps(rc) ? -EINVAL : SET_ALL(rc, qp, all);
}

int rclink_disconnect(struct rclink *rc, unsigned qp)
{
	return qp >= rclink_qps(rc) ? -EINVAL :
	       rclink_set(rc, RCL_QP_CONTROL_STATUS, qp, RCL_QP_FREE_BUF);
}

static int set_window(struct rclink *rc, unsigned window_ns)
{
	for (unsigned i = 0; i < 5; i++)
		if (window_ns == 4096u << i)
			return rclink_set(rc, RCL_CC_WINDOW, 0, i);
	return -EINVAL;
}

int rclink_rate(struct rclink *rc, unsigned qp, unsigned window_ns,
		uint32_t bytes)
{
	int err;

	if (qp >= rclink_qps(rc) || bytes >> 22)
		return -EINVAL;
	err = set_window(rc, window_ns);
	return err ? err : rclink_set(rc, RCL_TX_SPEED_MEM, qp, bytes);
}

int rclink_group_rate(struct rclink *rc, unsigned window_ns, uint32_t bytes)
{
	int err = bytes >> 22 ? -EINVAL : set_window(rc, window_ns);

	return err ? err : rclink_set(rc, RCL_TYPE2_RATE, 0, bytes);
}
