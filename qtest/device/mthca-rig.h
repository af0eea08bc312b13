/*
 * A machine with one ncic-mthca, a peer at its wire that is the test itself, and a queue
 * pair.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef QTEST_MTHCA_RIG_H
#define QTEST_MTHCA_RIG_H

#include "libmthca.h"

enum {
    PREFIX = 4, ARP = 42, MAX_FRAME = 4096 + 65536,
    ETH = 14, BTH = ETH + 20 + 8,
    PORT_DOWN = 1, PORT_ACTIVE = 4,
    SECONDS = 20,
};

/* ---- the peer ----------------------------------------------------------- */

gint64 rig_deadline(void);
int peer_connect(const char *path);
void peer_write(int fd, const void *data, size_t len);
/* Reads @len bytes; false at the end of the stream. */
bool peer_read(int fd, void *buf, size_t len);
/* The next frame; 0 at the end of the stream, even in the middle of a frame. */
size_t peer_frame(int fd, uint8_t *frame);
/* Has the emulator taken all that was written? */
bool peer_consumed(int fd);
void peer_flush(int fd);
/* Length and frame: node @n asks for the adapter's address. */
void put_arp(uint8_t *p, uint32_t n);
void send_arp(int fd, uint32_t n);
/* The answer to node @n is next, apart from the adapter's announcements. */
void expect_answer(int fd, uint32_t n);

/* ---- the machine -------------------------------------------------------- */

typedef struct Rig {
    Hca *h;
    char *dir, *path;
    int fd;
} Rig;

Fixture *rig_start(const char *path, const char *props, const char *more);
void wait_port(Fixture *f, unsigned state);
Rig rig_begin(const char *props);
/* On a netdev whose far end is the test; nobody listens any more.  @more goes
 * behind the device's properties. */
Rig rig_begin_netdev(const char *more);
void rig_free(Rig *r);
void rig_end(Rig *r);

/* ---- a queue pair ------------------------------------------------------- */

/* Offsets in a block of guest memory. */
enum { DB = 0, CQ = 0x1000, SQ = 0x2000, RQ = 0x3000, DATA = 0x4000,
       DATA_BYTES = 1 << 20 };
enum { UAR = 2, CQN = 5, QPN = 0x15, KEY = 0x1000, MTU = 2048,
       LOG_STRIDE = 7 };

typedef struct Qp {
    uint64_t base;
    uint16_t head;
} Qp;

/* RC, ready to send to node 2, which never answers: the clock stands still. */
Qp qp_new(Hca *h);
/* Post a Write of @packets packets and ring. */
void qp_write(Hca *h, Qp *q, unsigned packets);
/*
 * Request packets in order from @psn on until there are @count or the stream
 * ends; returns the PSN behind the last.
 */
uint32_t expect_packets(int fd, uint32_t psn, uint32_t count);

#endif
