/*
 * Guest-visible interface of `ubc`, the UB controller as a PCIe function.
 *
 * Shared by the model, its tests and the Linux driver: constants only.  All
 * registers and descriptors are little-endian; registers are 32 bits wide and
 * are accessed as such, 64-bit pairs low half first.  docs/specs/ubc.rst is
 * the programming guide.
 *
 * UB 2.0 defines the configuration space but no host interface; everything
 * in BAR0 outside the configuration window is this model's own.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef UB_UBC_HW_H
#define UB_UBC_HW_H

#include "ub/cfg_regs.h"

#define UBC_VENDOR_ID 0x1234 /* property vendor-id */
#define UBC_DEVICE_ID 0x0b01 /* property device-id */
#define UBC_CLASS 0x0280     /* network controller, other */

#define UBC_INTERFACE 2 /* version of this interface, and PCI revision */

#define UBC_MAX_PORTS 8
#define UBC_PAIRS 256    /* ring pairs */
#define UBC_VECTORS 1024 /* entries of the MSI-X table */

/* ------------------------------------------------------------------ BAR0
 *
 *   000000  the controller
 *   001000  ports, 400h each
 *   008000  MSI-X table, 00c000 its pending bits
 *   010000  ring pairs, 100h each
 *   020000  message queues, 1000h each
 *   100000  configuration window
 *
 *   030000  event queues, 40h each, and
 *   040000  the command queue of the transaction engine (urma_hw.h), whose
 *           doorbells are BAR2
 *   400000  UMMU (ummu_hw.h)
 *
 * Kept for later, and 0 until then: 050000 destination table.  A
 * window that works has its bit in UBC_CAPS.
 */

#define UBC_BAR_SIZE 0x1000000u

#define UBC_ID 0x000        /* RO: UBC_ID_VALUE */
#define UBC_ID_VALUE 0x31434255u /* "UBC1" */
#define UBC_VERSION 0x004   /* RO: UBC_INTERFACE */
#define UBC_PORTS 0x008     /* RO: number of ports, 1-8 */
#define UBC_CTRL 0x00c
#define UBC_CTRL_RESET (1u << 0) /* W1: device reset, reads 0 */
#define UBC_EVENT 0x010     /* W1C: controller events */
#define UBC_EVENT_MASK 0x014 /* RW: events that interrupt; 0 after reset */
#define UBC_EVENT_PORT(p) (1u << (p)) /* RO: port p has an enabled event */
#define UBC_EVENT_GUEST_ERROR (1u << 8) /* a rule of this interface broken */
#define UBC_EVENT_DMA_ERROR (1u << 9)   /* a DMA failed */
#define UBC_GUEST_ERRORS 0x018 /* RO: rules broken, saturating */
#define UBC_DMA_ERRORS 0x01c   /* RO: failed DMAs, saturating */
/* Any dword of the configuration space, for what the window does not reach. */
#define UBC_CFG_ADDR 0x020 /* RW: address in dwords */
#define UBC_CFG_DATA 0x024 /* RW: the dword at UBC_CFG_ADDR */
#define UBC_CAPS 0x028     /* RO: windows of this BAR that work */
#define UBC_CAPS_PAIRS (1u << 0)
#define UBC_CAPS_MSGQS (1u << 1)
#define UBC_CAPS_EVENTS (1u << 2)   /* event queues */
#define UBC_CAPS_COMMANDS (1u << 3) /* command queue and BAR2 */
#define UBC_CAPS_CONFIG (1u << 5)
#define UBC_CAPS_UMMU (1u << 6)
#define UBC_CAPS_USI (1u << 7)      /* UBC_USI_… */
/* The NPI of IP packets is the controller's: it puts its own in the place of 0, and
 * what comes to a ring pair has one that it accepts. */
#define UBC_CAPS_GUARD (1u << 8)
/*
 * Every source of interrupts has a VECTOR register: the entry of the MSI-X table
 * whose message it sends.  All are 0 after reset, so one vector is enough.
 */
#define UBC_VECTOR 0x02c   /* RW: of the controller's events */
#define UBC_CFG_ENTITY 0x030 /* RW: Entity that UBC_CFG_ADDR is an address of */

/*
 * Interrupts of Entities that this host uses, its own or others' (UB 2.0 §10.3.4):
 * a Write of a USI to the address of these registers, with their TokenID, sends the
 * message of the MSI-X entry that its Interrupt Data names.
 */
#define UBC_USI_CTRL 0x034     /* RW, 0 after reset, as all of these */
#define UBC_USI_ENABLE (1u << 0)
#define UBC_USI_TOKEN_ID 0x038 /* RW: 20 bits */
#define UBC_USI_FIRST 0x03c    /* RW: the first entry that may be named … */
#define UBC_USI_COUNT 0x040    /* RW: … and how many from there on */
#define UBC_USI_ADDR_LO 0x048  /* RW: UBA, a multiple of 8 */
#define UBC_USI_ADDR_HI 0x04c
#define UBC_USI_RECEIVED 0x050 /* RO: taken, saturating */
#define UBC_USI_REFUSED 0x054  /* RO: not taken, saturating */

#define UBC_MSIX_TABLE 0x8000u
#define UBC_MSIX_PBA 0xc000u

/*
 * The configuration window: byte addresses 0 to UBC_CFG_WINDOW_SIZE - 1 of the
 * configuration space (Table 10-6 times 4), which is CFG0, CFG1 and the slices
 * of eight ports.
 */
#define UBC_CFG_WINDOW 0x100000u
#define UBC_CFG_WINDOW_SIZE 0x280000u

/* ---------------------------------------------------------- port registers */

#define UBC_PORT(p) (0x1000u + (p) * 0x400u)

#define UBC_PORT_STATUS 0x000 /* RO */
#define UBC_PORT_STATUS_PHY_UP (1u << 0)    /* LinkUp (§3.4.3) */
#define UBC_PORT_STATUS_DLL_UP (1u << 1)    /* DLL_Normal: packets pass */
#define UBC_PORT_STATUS_BACKPRESSURE (1u << 2)
#define UBC_PORT_CTRL 0x004   /* RW, 0 after reset */
#define UBC_PORT_CTRL_ENABLE (1u << 0) /* leave Link_Idle and train */
#define UBC_PORT_EVENT 0x008  /* W1C */
#define UBC_PORT_EVENT_MASK 0x00c /* RW: events that interrupt */
#define UBC_PORT_EVENT_LINK (1u << 0)    /* UBC_PORT_STATUS changed */
#define UBC_PORT_EVENT_DLL_ERROR (1u << 1) /* exception of §4.8 */
#define UBC_PORT_EVENT_RETRAIN (1u << 2) /* LMSM entered Retrain */
#define UBC_PORT_EVENT_WIDTH (1u << 3)   /* width or rate changed */
#define UBC_PORT_EVENT_PARAM (1u << 4)   /* neighbour's Param_Exchg arrived */
#define UBC_PORT_EVENT_LANE (1u << 5)    /* Lane_Manage message */
#define UBC_PORT_EVENT_ERROR (1u << 6)   /* unmasked error in PORT_ERR_RECORD */
#define UBC_PORT_EVENT_ALL 0x7fu
#define UBC_PORT_MTU 0x010    /* RO: longest packet of a ring, bytes */
#define UBC_PORT_VLS 0x014    /* RO: bit v: VL v is usable now */
#define UBC_PORT_VECTOR 0x018 /* RW: of the port's events */
/*
 * Param_Exchg, 1 to 32 words: writing n to PARAMS sends the n that were written to
 * PARAM before; PARAMS and PARAM read as what came last since the link came up.
 */
#define UBC_PORT_PARAMS 0x01c
#define UBC_PORT_PARAM(i) (0x020 + 4 * (i))
#define UBC_PORT_PARAM_MAX 32

/* ---------------------------------------------------------- message queues
 *
 * Registers and entries are those of ub/msgq.h (docs/specs/ub-mgmt.rst).
 */
#define UBC_MSGQ(n) (0x20000u + (n) * 0x1000u)
#define UBC_MSGQS 16

/* -------------------------------------------------------------- ring pairs
 *
 * A pair of rings carries packets of one port: those on the VLs and with the
 * LPH.CFGs of its masks, both ways.  A received packet goes to the first pair
 * whose receive ring is enabled and whose masks have it; one that no pair has
 * is counted (RX_UNCLAIMED) and dropped.  So several pairs with a VL each keep
 * a VL that is full from blocking the others.
 *
 * PORT, VLS, CFGS and RT are writable while neither ring is enabled.
 */
#define UBC_PAIR(n) (0x10000u + (n) * 0x100u)
#define UBC_PAIR_PORT 0x00 /* RW: the port; 0 after reset */
#define UBC_PAIR_VLS 0x04  /* RW: bit v: VL v; all after reset */
/* RW: bit c: LPH.CFG c.  After reset all but those that the device deals with
 * itself: 6, 7 and 9, and 5 where it forwards. */
#define UBC_PAIR_CFGS 0x08
/* RW: Routing Type of what is sent, or that each descriptor names its own,
 * which is so after reset. */
#define UBC_PAIR_RT 0x0c
#define UBC_PAIR_RT_DESC (1u << 2)

/*
 * Rings.  2^log2 descriptors of 16 bytes at a 16-byte aligned base, 16 ≤ size ≤
 * 4096.  HEAD and TAIL are free-running 16-bit counts: the driver adds
 * descriptors and writes HEAD (the doorbell), the device consumes them in
 * order and advances TAIL.  BASE and SIZE are writable while not enabled.
 * HEAD - TAIL greater than the size is an error: the ring stops (ERROR), until
 * it is enabled again.
 */
#define UBC_RING_TX 0x040
#define UBC_RING_RX 0x080
#define UBC_RING_BASE_LO 0x00
#define UBC_RING_BASE_HI 0x04
#define UBC_RING_SIZE 0x08  /* RW: log2 of the descriptors, 4-12 */
#define UBC_RING_CTRL 0x0c  /* RW */
#define UBC_RING_ENABLE (1u << 0) /* 0 → 1: HEAD = TAIL = 0 */
#define UBC_RING_ERROR (1u << 31) /* RO: stopped by an error */
#define UBC_RING_HEAD 0x10  /* RW: driver's count */
#define UBC_RING_TAIL 0x14  /* RO: device's count */
/*
 * Writing n arms one interrupt: it is sent as soon as TAIL differs from n (at
 * once, if it does already) and disarms itself.  So a driver that polled up
 * to n and writes n misses nothing and is not interrupted twice.  UBC_RING_ARM
 * reads as n | UBC_RING_ARMED while armed.
 */
#define UBC_RING_ARM 0x18
#define UBC_RING_ARMED (1u << 31)
#define UBC_RING_VECTOR 0x1c /* RW */

/*
 * Counters of a port, 64 bits each, RO; reading the low half latches the high one.
 * The list below is also that of ethtool -S and of the QMP counters.
 */
#define UBC_COUNTER(n) (0x100 + 8 * (n))
#define UBC_COUNTERS(X)                                                     \
    X(TX_PACKETS, "tx_packets")                                             \
    X(TX_BYTES, "tx_bytes")                                                 \
    X(TX_ERRORS, "tx_errors")              /* descriptor refused */         \
    X(RX_PACKETS, "rx_packets")                                             \
    X(RX_BYTES, "rx_bytes")                                                 \
    X(RX_TRUNCATED, "rx_truncated")        /* buffer too short */           \
    X(RX_NO_BUFFER, "rx_no_buffer")        /* times the ring was empty */   \
    X(TX_FLITS, "tx_flits")                                                 \
    X(RX_FLITS, "rx_flits")                                                 \
    X(FEC_CORRECTED, "fec_corrected")      /* symbols */                    \
    X(FEC_FAILED, "fec_failed")            /* code words */                 \
    X(CRC_ERRORS, "crc_errors")            /* blocks */                     \
    X(RETRIES_SENT, "retries_sent")        /* Retry Requests sent */        \
    X(RETRIES_SERVED, "retries_served")    /* Retry Requests answered */    \
    X(FLITS_RESENT, "flits_resent")                                         \
    X(CRD_ACKS, "crd_acks")                /* Crd_Ack blocks sent */        \
    X(CREDIT_STALLS, "credit_stalls")                                       \
    X(RETRAINS, "retrains")                                                 \
    X(LINK_DOWNS, "link_downs")                                             \
    X(DLL_ERRORS, "dll_errors")                                             \
    X(PEER_ERRORS, "peer_errors")          /* rules broken by the peer */   \
    X(AMCTL_MISSED, "amctl_missed")                                         \
    X(LINK_BAD_RECORDS, "link_bad_records") /* of the emulated wire */      \
    X(LINK_OVERFLOWS, "link_overflows")    /* wires that a peer let fill */ \
    X(LINK_RESTARTS, "link_restarts")      /* new sessions of a peer */     \
    X(RX_UNCLAIMED, "rx_unclaimed")        /* packets that no ring has */

enum {
#define UBC_X(id, name) UBC_CNT_##id,
    UBC_COUNTERS(UBC_X)
#undef UBC_X
    UBC_CNT_NUM
};

/* -------------------------------------------------------------- descriptor
 *
 *   0  le64 address of the packet buffer
 *   8  le32 length: TX bytes to send; RX bytes of room, then bytes received
 *  12  le16 flags: [3:0] LPH.CFG, [7:4] VL, [9:8] RT, others 0
 *  14  le16 status: 0 from the driver; the device writes DONE, last of all
 *
 * A packet is what follows the LPH: the network-layer header of the given
 * LPH.CFG and its payload.  The device builds and checks the LPH.
 */
#define UBC_DESC_SIZE 16
#define UBC_DESC_CFG 0x000f
#define UBC_DESC_VL 0x00f0
#define UBC_DESC_VL_SHIFT 4
#define UBC_DESC_RT 0x0300
#define UBC_DESC_RT_SHIFT 8
#define UBC_DESC_DONE 0x8000
#define UBC_DESC_ERROR 0x4000     /* TX: not sent; RX: marked ERROR_FLAG */
#define UBC_DESC_TRUNCATED 0x2000 /* RX: longer than the buffer */

/*
 * The table that EID_UPI_TAB points to (UB 2.0 §D.3.16): as many entries as
 * EID_UPI_TEN says, one for each virtual machine.  Its format is ours:
 *
 *   0  EID, most significant byte first
 *  16  le32 UPI
 *  20  le32 flags: [0] VALID, others 0
 *  24  8 bytes of 0
 */
#define UBC_EID_UPI_ENTRY 32
#define UBC_EID_UPI_EID 0
#define UBC_EID_UPI_UPI 16
#define UBC_EID_UPI_FLAGS 20
#define UBC_EID_UPI_VALID 0x00000001u

#endif
