/*
 * NCIC Ethernet engine: what its own files share
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef HW_NET_NCIC_ETH_INTERNAL_H
#define HW_NET_NCIC_ETH_INTERNAL_H

#include <string.h>
#include "core/bytes.h"
#include "core/inet.h"
#include "ncic/eth.h"
#include "ncic/rss.h"

/* The longest frame a 16-bit length can name. */
#define NCIC_SCRATCH_SIZE 0x10000u

#define ETHERTYPE_OFF    12
#define ETHERTYPE_IPV4   0x0800
#define ETHERTYPE_ARP    0x0806
#define ETHERTYPE_IPV6   0x86dd
#define ETHERTYPE_VLAN   0x8100

#define IP_HLEN_MIN      20
#define IP6_HLEN         40
#define UDP_CSUM_OFF     6

#define PROTO_TCP        6
#define PROTO_UDP        17

/* ---- event.c: the cellar ---------------------------------------------------- */

/* Counts a dropped frame; the second one also as one of the MAC's. */
void ncic_eth_drop(NcicEth *e, unsigned counter, size_t len);
void ncic_eth_rx_drop(NcicEth *e, unsigned counter, size_t len);
/* Sends a vector's message if it exists and can be sent. */
bool ncic_eth_msix(NcicEth *e, unsigned vector);
/* That of the link, if it has one; else it is due. */
void ncic_eth_link_irq(NcicEth *e);

/* ---- queue.c ------------------------------------------------------------------ */

/* What the write of a queue register asks for. */
typedef enum NcicWake {
    NCIC_WAKE_NONE,
    NCIC_WAKE_RX,               /* a held frame may have its descriptor now */
    NCIC_WAKE_TX,               /* the scheduler must look again */
    NCIC_WAKE_DOORBELL,         /* the same, for a transmit doorbell */
} NcicWake;

uint32_t ncic_queue_read(const NcicEth *e, NcicDir dir, uint32_t off);
NcicWake ncic_queue_write(NcicEth *e, NcicDir dir, uint32_t off,
                          uint32_t val);
/* Writes the completion of the oldest reserved slot, moves CPL head and sends
 * the interrupt. */
void ncic_queue_complete(NcicEth *e, NcicDir dir, unsigned q,
                         const uint8_t cpl[NCIC_CPL_SIZE]);
/* Messages can be sent (again): sends those that are due, of the link and of completions
 * that none was sent for. */
void ncic_queue_announce(NcicEth *e);
/* Operation table callbacks. */
extern const NcicFetchOps ncic_rx_fetch_ops;
extern const NcicFetchOps ncic_tx_fetch_ops;

/* ---- mac.c --------------------------------------------------------------------- */

typedef enum NcicMacResult {
    NCIC_MAC_TAKEN,             /* the wire has it; it may now owe frames */
    NCIC_MAC_TOO_LONG,          /* dropped and counted, as is the next */
    NCIC_MAC_LINK_DOWN,
} NcicMacResult;

/* Does the wire keep frames, so that there is no sending? */
bool ncic_mac_full(const NcicEth *e);
/* The way of every frame to the wire; at least NCIC_ETH_MIN_FRAME bytes. */
NcicMacResult ncic_mac_send(NcicEth *e, NcicSource src, const uint8_t *frame,
                            size_t len);
/* Lets an engine send that has something, if the wire owes nothing. */
void ncic_mac_next(NcicEth *e);

/* Queues that rang and may be served. */
static inline uint32_t ready_queues(const NcicEth *e)
{
    return e->tx_pending & ~e->fault[NCIC_FAULT_TX_STALL];
}

/* ---- regs.c, rx.c -------------------------------------------------------------- */

void ncic_regs_init(NcicEth *e);
void ncic_regs_reset(NcicEth *e);
/* Bits of an NCSR register that can change: what migrates of it. */
uint32_t ncic_regs_mutable(unsigned reg);
/* Delivers deferred frames whose descriptors have arrived. */
void ncic_rx_drain(NcicEth *e);

/* ---- Frames and descriptors ------------------------------------------------------ */


/* The longest frame an MTU register allows: L2 header and one tag come on
 * top. */
static inline size_t frame_limit(uint32_t mtu, const uint8_t *frame, size_t len)
{
    bool tagged = len >= NCIC_ETH_HLEN &&
                  get_be16(frame + ETHERTYPE_OFF) == ETHERTYPE_VLAN;

    return mtu + NCIC_ETH_HLEN + (tagged ? NCIC_VLAN_HLEN : 0);
}

static inline uint64_t desc_addr(const uint8_t *desc)
{
    return get_le64(desc + NCIC_DESC_ADDR);
}

static inline uint16_t desc_length(const uint8_t *desc)
{
    return get_le16(desc + NCIC_DESC_LENGTH);
}

/* The fields that both directions fill in; @cpl is zeroed. */
static inline void cpl_init(uint8_t *cpl, const NcicFetchOp *op,
                            uint32_t status, uint16_t length)
{
    put_le32(cpl + NCIC_CPL_STATUS, status);
    put_le16(cpl + NCIC_CPL_QUEUE, op->queue);
    put_le16(cpl + NCIC_CPL_INDEX, op->index);
    put_le16(cpl + NCIC_CPL_LENGTH, length);
}

#endif
