/*
 * NCIC NIC: the one register table of the Ethernet engine.
 *
 * Offset, reset value and access of every register are stated here once.  The
 * engine, the device tests and the state dump expand these lists.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef NCIC_REGS_H
#define NCIC_REGS_H

#include "ncic/ncic_hw.h"

#define NCIC_NO_OFFSET 0xffffu          /* not in this layout */

/*
 * NCSR: X(id, document offset, RTL offset, reset, writable bits, W1C bits)
 *
 * Reset values are those of a device with default properties (32 queue pairs,
 * MTU 1500).  The document offsets from 0x50 on, and 0x180.. in both layouts,
 * exist with property eth-ext only.
 */
#define NCIC_NCSR_REGS(X)                                                   \
    X(FW_ID,         0x000, 0x000, 0x0000ffff, 0, 0)                        \
    X(FW_VER,        NCIC_NO_OFFSET, 0x004, 0x0000eeee, 0, 0)               \
    X(IF_FEATURE,    0x004, 0x008, 0x00000f01, 0, 0)                        \
    X(TX_QUEUES,     0x010, 0x00c, 0x00000020, 0, 0)                        \
    X(TX_QM_BASE,    0x014, 0x010, 0x00002000, 0, 0)                        \
    X(TX_CPL_QUEUES, 0x018, 0x014, 0x00000020, 0, 0)                        \
    X(TX_CQM_BASE,   0x01c, 0x018, 0x00002000, 0, 0)                        \
    X(RX_QUEUES,     0x020, 0x01c, 0x00000020, 0, 0)                        \
    X(RX_QM_BASE,    0x024, 0x020, 0x00001000, 0, 0)                        \
    X(RX_CPL_QUEUES, 0x028, 0x028, 0x00000020, 0, 0)                        \
    X(RX_CQM_BASE,   0x02c, 0x02c, 0x00001000, 0, 0)                        \
    X(RSS_MASK,      0x030, NCIC_NO_OFFSET, 0xffffffff, 0xffffffff, 0)      \
    X(TX_MTU,        0x034, 0x03c, 0x000005dc, 0, 0)                        \
    X(RX_MTU,        0x038, 0x040, 0x000005dc, 0, 0)                        \
    X(TX_START,      0x050, 0x050, 0x00000001, 0x00000001, 0)               \
    X(MSIX_ENABLE,   0x054, 0x054, 0x00000001, 0x00000001, 0)               \
    X(EXT_ID,        0x180, 0x180, NCIC_EXT_MAGIC, 0, 0)                    \
    X(LINK_STATUS,   0x184, 0x184, 0x00000001, 0, 0)                        \
    X(LINK_IRQ,      0x188, 0x188, 0x00000000, 0x8000ffff, 0)               \
    X(ERR_STATUS,    0x18c, 0x18c, 0x00000000, 0, 0xffffffff)               \
    X(MAC_LO,        0x190, 0x190, 0x00000000, 0, 0)                        \
    X(MAC_HI,        0x194, 0x194, 0x00000000, 0, 0)

/* Counters, read-only, reset 0: X(id, offset in both layouts, name) */
#define NCIC_COUNTERS(X)                                                    \
    X(TX_REQ,           0x100, "tx-requests")                               \
    X(TX_FRAMES,        0x104, "tx-frames")                                 \
    X(TX_CPL,           0x108, "tx-completions")                            \
    X(TX_IRQ,           0x10c, "tx-interrupts")                             \
    X(RX_FRAMES,        0x110, "rx-frames")                                 \
    X(RX_DESC,          0x114, "rx-descriptors")                            \
    X(RX_CPL,           0x118, "rx-completions")                            \
    X(RX_IRQ,           0x11c, "rx-interrupts")                             \
    X(RX_ERR,           0x120, "rx-no-descriptor")                          \
    X(MAC_RX,           0x124, "mac-rx-frames")                             \
    X(MAC_DMA,          0x128, "mac-rx-written")                            \
    X(MAC_DROP,         0x12c, "mac-rx-dropped")                            \
    X(TX_DESC_REQ,      0x130, "tx-desc-requests")                          \
    X(TX_DESC_RSP,      0x134, "tx-desc-responses")                         \
    X(TX_DESC_REFUSED,  0x138, "tx-desc-refused")                           \
    X(RX_DESC_REQ,      0x13c, "rx-desc-requests")                          \
    X(RX_DESC_RSP,      0x140, "rx-desc-responses")                         \
    X(RX_DESC_REFUSED,  0x144, "rx-desc-refused")                           \
    X(TX_DROP_LEN,      0x1a0, "tx-drop-length")                            \
    X(TX_DROP_MTU,      0x1a4, "tx-drop-mtu")                               \
    X(TX_DROP_DMA,      0x1a8, "tx-drop-dma")                               \
    X(TX_DROP_LINK,     0x1ac, "tx-drop-link")                              \
    X(RX_DROP_RUNT,     0x1b0, "rx-drop-runt")                              \
    X(RX_DROP_MTU,      0x1b4, "rx-drop-mtu")                               \
    X(RX_DROP_INACTIVE, 0x1b8, "rx-drop-inactive")                          \
    X(RX_DROP_DMA,      0x1bc, "rx-drop-dma")                               \
    X(RX_DROP_ROCE,     0x1c0, "rx-drop-roce")                              \
    X(RX_HELD,          0x1c4, "rx-held")                                   \
    X(RX_TRUNCATED,     0x1c8, "rx-truncated")                              \
    X(CPL_ERR,          0x1cc, "completion-errors")                         \
    X(GUEST_ERR,        0x1d0, "guest-errors")                              \
    X(ROCE_TX,          0x1d4, "roce-tx-frames")                            \
    X(ROCE_RX,          0x1d8, "roce-rx-frames")                            \
    X(TX_DROP_WIRE,     0x1dc, "tx-drop-wire")                              \
    X(RX_DROP_FULL,     0x1e0, "rx-drop-full")

/*
 * Queue registers, at every queue's stride in the RX and the TX window:
 * X(id, offset, writable bits, bits locked while active, ring of the lock)
 * All reset to 0.  Ring: DESC or CPL.
 */
#define NCIC_QUEUE_REGS(X)                                                  \
    X(BASE_LO,      0x00, 0xffffffff, 0xffffffff, DESC)                     \
    X(BASE_HI,      0x04, 0xffffffff, 0xffffffff, DESC)                     \
    X(LOG_SIZE,     0x08, 0x8000000f, 0x0000000f, DESC)                     \
    X(CPL_INDEX,    0x0c, 0x0000ffff, 0x0000ffff, DESC)                     \
    X(HEAD,         0x10, 0x0000ffff, 0x00000000, DESC)                     \
    X(TAIL,         0x18, 0x0000ffff, 0x0000ffff, DESC)                     \
    X(CPL_BASE_LO,  0x20, 0xffffffff, 0xffffffff, CPL)                      \
    X(CPL_BASE_HI,  0x24, 0xffffffff, 0xffffffff, CPL)                      \
    X(CPL_LOG_SIZE, 0x28, 0x8000000f, 0x0000000f, CPL)                      \
    X(CPL_INTR,     0x2c, 0x8000ffff, 0x00000000, CPL)                      \
    X(CPL_HEAD,     0x30, 0x0000ffff, 0x0000ffff, CPL)                      \
    X(CPL_TAIL,     0x38, 0x0000ffff, 0x00000000, CPL)

/* Rules a driver can break, NCIC_ERR_* bits: X(id, bit, text) */
#define NCIC_GUEST_ERRORS(X)                                                \
    X(RING_ALIGN,  0, "ring base is not aligned to its entries")            \
    X(INDEX,       1, "queue, completion queue or vector does not exist")   \
    X(HEAD,        2, "head is more than the ring size past tail")          \
    X(DESC_DMA,    3, "descriptor cannot be read from memory")              \
    X(DATA_DMA,    4, "frame buffer is not accessible memory")              \
    X(CPL_DMA,     5, "completion cannot be written to memory")             \
    X(LENGTH,      6, "frame length is zero or above the MTU")              \
    X(ACTIVE,      7, "register is locked while the ring is active")        \
    X(BUS_MASTER,  8, "work was given while bus mastering is disabled")     \
    X(ACCESS,      9, "register is read-only or does not exist")            \
    X(CSUM,       10, "checksum start or offset is out of range")

#define NCIC_X_REG(id, ...)      NCIC_R_##id,
#define NCIC_X_CNT(id, ...)      NCIC_C_##id,
#define NCIC_X_QREG(id, ...)     NCIC_QR_##id,
#define NCIC_X_ERR(id, bit, ...) NCIC_E_##id = bit,

enum { NCIC_NCSR_REGS(NCIC_X_REG) NCIC_R_COUNT };
enum { NCIC_COUNTERS(NCIC_X_CNT) NCIC_C_COUNT };
enum { NCIC_QUEUE_REGS(NCIC_X_QREG) NCIC_QR_COUNT };
enum { NCIC_GUEST_ERRORS(NCIC_X_ERR) };

#undef NCIC_X_REG
#undef NCIC_X_CNT
#undef NCIC_X_QREG
#undef NCIC_X_ERR

#endif
