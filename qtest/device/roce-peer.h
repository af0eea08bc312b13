/*
 * A RoCEv2 node that is the test itself: makes and takes packets one by one,
 * and answers ARP for its address.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef QTEST_ROCE_PEER_H
#define QTEST_ROCE_PEER_H

#include "libncic.h"

/* MAC addresses are 48-bit numbers, IPv4 addresses are in host order. */
typedef struct RocePeer {
    QNcicWire *wire;
    uint64_t mac, dev_mac;
    uint32_t ip, dev_ip;
    uint16_t sport;             /* UDP source port; 0 = 4791 */
} RocePeer;

/* Offsets into a frame */
enum { ROCE_PEER_IP = 14, ROCE_PEER_BTH = 42, ROCE_PEER_EXT = 54 };

/* The ICRC of @len bytes from an IPv4 header on, one bit at a time: not the
 * engine's way. */
uint32_t roce_peer_icrc(const uint8_t *ip, size_t len);
/* Sends a packet with @ext behind the BTH (a multiple of four bytes); @flip
 * damages the ICRC. */
void roce_peer_send(RocePeer *p, uint8_t opcode, uint32_t qpn, uint32_t psn,
                    const void *ext, size_t len, uint32_t flip);
/* An acknowledgement up to @psn. */
void roce_peer_ack(RocePeer *p, uint32_t qpn, uint32_t psn);
/* The next RoCE frame, at most QNCIC_FRAME bytes; its length, 0 = none within
 * @ms milliseconds. */
size_t roce_peer_recv(RocePeer *p, uint8_t *frame, int ms);

#endif
