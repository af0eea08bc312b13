/*
 * NCIC NIC: where the Ethernet engine meets an RDMA engine of the same function
 * (ETH 5.4.3 - 5.4.5).
 *
 * The RDMA engine makes and takes whole frames, because the ICRC covers their
 * headers; all of them pass here, so that the MTU, the link, the checks and the
 * counters are those of the one port.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef NCIC_ROCE_H
#define NCIC_ROCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Ethernet, IPv4 and UDP headers. */
#define NCIC_ROCE_HEADERS 42u

struct NcicEth;

/* What an RDMA engine gives the Ethernet engine. */
typedef struct NcicRoceSink {
    /*
     * A RoCE frame that passed ncic_roce_check(), with its padding; valid
     * during the call.  False: the engine's port is down, the frame counts as
     * dropped.
     */
    bool (*frame)(void *opaque, const uint8_t *frame, size_t len);
    /* An ARP frame, once; it also goes its ordinary way. */
    void (*arp)(void *opaque, const uint8_t *frame, size_t len);
    /*
     * After ncic_roce_waits(): the wire is the engine's until it calls
     * ncic_roce_turn_over(), which it does not do from in here.
     */
    void (*tx_ready)(void *opaque);
} NcicRoceSink;

/* Attaches (or with NULL detaches) the RDMA engine.  Without one, RoCE frames
 * are ordinary Ethernet frames. */
void ncic_roce_attach(struct NcicEth *e, const NcicRoceSink *sink,
                      void *opaque);

/*
 * Sends one frame of at least 14 bytes, which is padded to 60.  What is above
 * the MTU, or more than a wire that is full can keep, is dropped and counted.
 * False: so is this one, for the link is down.
 */
bool ncic_roce_tx(struct NcicEth *e, const uint8_t *frame, size_t len);

/* The wire is full: the RDMA engine is to send no more before tx_ready. */
bool ncic_roce_waits(const struct NcicEth *e);

/* The RDMA engine has sent what it had, or what the wire took. */
void ncic_roce_turn_over(struct NcicEth *e);

/*
 * Is this frame the arbiter's (ETH 5.4.5): IPv4 without tag, options or
 * fragmentation, UDP, both ports 4791?  @dest_only: the destination port alone
 * decides, for peers whose source port is a flow's hash (IB 1.3 A17.4.5.2).
 */
bool ncic_roce_match(const uint8_t *frame, size_t len, bool dest_only);

/* Lengths and checksums of a matching frame (ETH 5.4.4).  @need_csum: a UDP
 * checksum of 0 is wrong. */
bool ncic_roce_check(const uint8_t *frame, size_t len, bool need_csum);

#endif
