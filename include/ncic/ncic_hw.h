/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * NCIC NIC: what a driver sees of the PCIe function and its Ethernet engine.
 *
 * Constants and memory formats only, so that drivers, device code and tests
 * share one statement of the interface.  Compiles in the Linux kernel and in
 * user space.  BAR registers, descriptors and completions are little-endian;
 * every register is 32 bits wide and must be accessed with 32-bit reads and
 * writes (ETH 3.3.1.1).
 *
 * "ETH" is the Ethernet engine design document V1.2.  Registers marked (ext)
 * are outside its table 3-3: NCSR offsets 050..144 are those of the published
 * hardware sources, 180.. are this model's own and are announced by
 * NCIC_NCSR_EXT_ID.  A driver works without any (ext) register.
 */
#ifndef NCIC_NCIC_HW_H
#define NCIC_NCIC_HW_H

#ifdef __KERNEL__
#include <linux/types.h>
#define NCIC_PACKED __packed
typedef __le16 ncic_le16;
typedef __le32 ncic_le32;
typedef __le64 ncic_le64;
#else
#include <stdint.h>
#define NCIC_PACKED __attribute__((packed))
typedef uint16_t ncic_le16;             /* stored little-endian */
typedef uint32_t ncic_le32;
typedef uint64_t ncic_le64;
#endif

/* ---- PCI identity and configuration space (ETH figures 3-6, 3-7) -------- */

#define NCIC_PCI_VENDOR_ID              0x10ee
#define NCIC_PCI_DEVICE_ID              0x7028
#define NCIC_PCI_SUBSYSTEM_VENDOR_ID    0x10ee
#define NCIC_PCI_SUBSYSTEM_ID           0x0007
#define NCIC_PCI_CLASS                  0x0280  /* network controller, other */

#define NCIC_PCI_CAP_PM                 0x80
#define NCIC_PCI_CAP_MSI                0x90
#define NCIC_PCI_CAP_MSIX               0xb0
#define NCIC_PCI_CAP_EXP                0xc0
#define NCIC_PCI_ECAP_AER               0x100

#define NCIC_BAR_CSR                    0       /* 64-bit, 1 MiB */
#define NCIC_BAR_CSR_SIZE               0x100000
#define NCIC_BAR_UAR                    2       /* 64-bit, 8 MiB */
#define NCIC_BAR_UAR_SIZE               0x800000
#define NCIC_UAR_PAGE_SIZE              0x1000

#define NCIC_MSIX_VECTORS               64      /* default */
#define NCIC_MSIX_VECTORS_MAX           2048

/* ---- BAR0 windows, document layout (ETH table 3-3; interface 3-1-2) ------ */

#define NCIC_NCSR                       0x10000 /* NIC information registers */
#define NCIC_RXQ                        0x11000 /* receive queue pair q at */
#define NCIC_TXQ                        0x12000 /*   window + q * stride */
#define NCIC_QUEUE_STRIDE               0x40
#define NCIC_QUEUES_MAX                 32
#define NCIC_MSIX_TABLE                 0x20000
#define NCIC_MSIX_PBA                   0x30000
#define NCIC_HCR                        0x80000 /* RDMA command registers */
#define NCIC_HCR_SIZE                   0x1c
#define NCIC_RESET                      0xf0010 /* write 1: reset; reads 0 */
#define NCIC_RESET_START                0x00000001

/* Aliases of the same registers, layout of the published hardware sources. */
#define NCIC_RTL_HCR                    0x00000
#define NCIC_RTL_RESET                  0x00f10 /* b0 */
#define NCIC_RTL_INIT_DONE              0x00f20 /* RO, b0 */
#define NCIC_RTL_NCSR                   0x01000 /* NCIC_RTL_* offsets below */
#define NCIC_RTL_RXQ                    0x02000
#define NCIC_RTL_TXQ                    0x03000
#define NCIC_RTL_MSIX_TABLE             0x05000 /* only with layout=rtl */
#define NCIC_RTL_MSIX_PBA               0x05c00

/* ---- NCSR, offsets from NCIC_NCSR (ETH table 3-3) ------------------------ */

#define NCIC_NCSR_FW_ID                 0x000   /* RO 0000ffff */
#define NCIC_NCSR_IF_FEATURE            0x004   /* RO NCIC_FEATURE_* */
#define NCIC_NCSR_TX_QUEUES             0x010   /* RO plain number, not log2 */
#define NCIC_NCSR_TX_QM_BASE            0x014   /* RO window offset from NCSR */
#define NCIC_NCSR_TX_CPL_QUEUES         0x018   /* RO */
#define NCIC_NCSR_TX_CQM_BASE           0x01c   /* RO */
#define NCIC_NCSR_RX_QUEUES             0x020   /* RO */
#define NCIC_NCSR_RX_QM_BASE            0x024   /* RO */
#define NCIC_NCSR_RX_CPL_QUEUES         0x028   /* RO */
#define NCIC_NCSR_RX_CQM_BASE           0x02c   /* RO */
#define NCIC_NCSR_RSS_MASK              0x030   /* RW and-mask on the hash */
#define NCIC_NCSR_TX_MTU                0x034   /* RO bytes, without L2 header */
#define NCIC_NCSR_RX_MTU                0x038   /* RO */

#define NCIC_FEATURE_RSS                (1u << 0)
#define NCIC_FEATURE_TX_CSUM            (1u << 8)
#define NCIC_FEATURE_RX_CSUM            (1u << 9)
#define NCIC_FEATURE_RX_HASH            (1u << 10)
#define NCIC_FEATURE_RX_VLAN            (1u << 11)      /* 802.1Q strip */

/* (ext) control, in both layouts at the same offsets */
#define NCIC_NCSR_TX_START              0x050   /* RW b0: scheduler runs */
#define NCIC_NCSR_MSIX_ENABLE           0x054   /* RW b0, reset 1 */

/* (ext) event counters, RO, 32 bits, free-running, cleared by reset only */
#define NCIC_NCSR_CNT_TX_REQ            0x100   /* TX requests taken */
#define NCIC_NCSR_CNT_TX_FRAMES         0x104   /* frames given to the MAC */
#define NCIC_NCSR_CNT_TX_CPL            0x108
#define NCIC_NCSR_CNT_TX_IRQ            0x10c
#define NCIC_NCSR_CNT_RX_FRAMES         0x110   /* Ethernet frames seen */
#define NCIC_NCSR_CNT_RX_DESC           0x114   /* descriptors obtained */
#define NCIC_NCSR_CNT_RX_CPL            0x118
#define NCIC_NCSR_CNT_RX_IRQ            0x11c
#define NCIC_NCSR_CNT_RX_ERR            0x120   /* refused: no descriptor */
#define NCIC_NCSR_CNT_MAC_RX            0x124   /* frames from the wire */
#define NCIC_NCSR_CNT_MAC_DMA           0x128   /* frames written to memory */
#define NCIC_NCSR_CNT_MAC_DROP          0x12c   /* frames dropped, all causes */
#define NCIC_NCSR_CNT_TX_DESC_REQ       0x130
#define NCIC_NCSR_CNT_TX_DESC_RSP       0x134
#define NCIC_NCSR_CNT_TX_DESC_REFUSED   0x138
#define NCIC_NCSR_CNT_RX_DESC_REQ       0x13c
#define NCIC_NCSR_CNT_RX_DESC_RSP       0x140
#define NCIC_NCSR_CNT_RX_DESC_REFUSED   0x144

/* (ext) this model's own */
#define NCIC_NCSR_EXT_ID                0x180   /* RO NCIC_EXT_MAGIC */
#define NCIC_EXT_MAGIC                  0x3158434e      /* "NCX1" in memory */
#define NCIC_NCSR_LINK_STATUS           0x184   /* RO b0: link up */
#define NCIC_LINK_UP                    (1u << 0)
#define NCIC_NCSR_LINK_IRQ              0x188   /* RW [15:0] vector, b31 on */
#define NCIC_LINK_IRQ_ENABLE            (1u << 31)
#define NCIC_NCSR_ERR_STATUS            0x18c   /* W1C NCIC_ERR_* */
#define NCIC_NCSR_MAC_LO                0x190   /* RO address bytes 0..3, byte 0 in [7:0] */
#define NCIC_NCSR_MAC_HI                0x194   /* RO bytes 4..5; b31: valid */
#define NCIC_MAC_VALID                  (1u << 31)
#define NCIC_NCSR_CNT_TX_DROP_LEN       0x1a0   /* length 0 */
#define NCIC_NCSR_CNT_TX_DROP_MTU       0x1a4   /* longer than the TX MTU */
#define NCIC_NCSR_CNT_TX_DROP_DMA       0x1a8   /* descriptor or buffer unreadable */
#define NCIC_NCSR_CNT_TX_DROP_LINK      0x1ac   /* link down */
#define NCIC_NCSR_CNT_RX_DROP_RUNT      0x1b0   /* shorter than 14 bytes */
#define NCIC_NCSR_CNT_RX_DROP_MTU       0x1b4   /* longer than the RX MTU */
#define NCIC_NCSR_CNT_RX_DROP_INACTIVE  0x1b8   /* queue or CPL queue inactive */
#define NCIC_NCSR_CNT_RX_DROP_DMA       0x1bc   /* descriptor or buffer not accessible */
#define NCIC_NCSR_CNT_RX_DROP_ROCE      0x1c0   /* RoCE: checksum, length, port down */
#define NCIC_NCSR_CNT_RX_HELD           0x1c4   /* times reception was held back */
#define NCIC_NCSR_CNT_RX_TRUNCATED      0x1c8   /* descriptor shorter than frame */
#define NCIC_NCSR_CNT_CPL_ERR           0x1cc   /* completion not writable */
#define NCIC_NCSR_CNT_GUEST_ERR         0x1d0   /* rules broken by the driver */
#define NCIC_NCSR_CNT_ROCE_TX           0x1d4
#define NCIC_NCSR_CNT_ROCE_RX           0x1d8
#define NCIC_NCSR_CNT_TX_DROP_WIRE      0x1dc   /* the wire did not send it */
#define NCIC_NCSR_CNT_RX_DROP_FULL      0x1e0   /* no descriptor, queue drops */

/* NCIC_NCSR_ERR_STATUS: which rule was broken since the bit was cleared */
#define NCIC_ERR_RING_ALIGN             (1u << 0) /* base not entry-aligned; queue stays inactive */
#define NCIC_ERR_INDEX                  (1u << 1) /* no such queue, CPL queue or vector */
#define NCIC_ERR_HEAD                   (1u << 2) /* head - tail exceeds the ring */
#define NCIC_ERR_DESC_DMA               (1u << 3)
#define NCIC_ERR_DATA_DMA               (1u << 4)
#define NCIC_ERR_CPL_DMA                (1u << 5)
#define NCIC_ERR_LENGTH                 (1u << 6) /* zero or above the MTU */
#define NCIC_ERR_ACTIVE                 (1u << 7) /* write to a locked register */
#define NCIC_ERR_BUS_MASTER             (1u << 8) /* work while bus mastering is off */
#define NCIC_ERR_ACCESS                 (1u << 9) /* read-only or unknown register written */
#define NCIC_ERR_CSUM                   (1u << 10) /* csum_start or csum_offset out of range: not inserted */

/* NCSR offsets of the RTL layout that differ from the document's */
#define NCIC_RTL_NCSR_FW_ID             0x000
#define NCIC_RTL_NCSR_FW_VER            0x004
#define NCIC_RTL_NCSR_FEATURE           0x008
#define NCIC_RTL_NCSR_TX_QUEUES         0x00c
#define NCIC_RTL_NCSR_TX_QM_BASE        0x010
#define NCIC_RTL_NCSR_TX_CPL_QUEUES     0x014
#define NCIC_RTL_NCSR_TX_CQM_BASE       0x018
#define NCIC_RTL_NCSR_RX_QUEUES         0x01c
#define NCIC_RTL_NCSR_RX_QM_BASE        0x020
#define NCIC_RTL_NCSR_RX_CPL_QUEUES     0x028
#define NCIC_RTL_NCSR_RX_CQM_BASE       0x02c
#define NCIC_RTL_NCSR_TX_MTU            0x03c
#define NCIC_RTL_NCSR_RX_MTU            0x040

/* ---- Queue registers, offsets in one queue's stride (ETH table 3-3) ------ */
/*
 * Head is the producer, tail the consumer; both are free-running 16-bit
 * counters and entry = counter modulo ring size.  Descriptors: the host writes
 * head, the device tail.  Completions: the device writes head, the host tail.
 * A register marked [i] is writable only while its ring is inactive.
 */
#define NCIC_Q_BASE_LO                  0x00    /* [i] 16-byte aligned */
#define NCIC_Q_BASE_HI                  0x04    /* [i] */
#define NCIC_Q_LOG_SIZE                 0x08    /* [i] [3:0]; b31 active, always */
#define NCIC_Q_CPL_INDEX                0x0c    /* [i] [15:0] must be q */
#define NCIC_Q_HEAD                     0x10    /* RW [15:0]; doorbell when active */
#define NCIC_Q_TAIL                     0x18    /* [i] [15:0]; RO while active */
#define NCIC_Q_CPL_BASE_LO              0x20    /* [i] 32-byte aligned */
#define NCIC_Q_CPL_BASE_HI              0x24    /* [i] */
#define NCIC_Q_CPL_LOG_SIZE             0x28    /* [i] [3:0]; b31 active, always */
#define NCIC_Q_CPL_INTR                 0x2c    /* RW [15:0] vector; b31 armed */
#define NCIC_Q_CPL_HEAD                 0x30    /* [i] [15:0]; RO while active */
#define NCIC_Q_CPL_TAIL                 0x38    /* RW [15:0] */

#define NCIC_Q_ACTIVE                   (1u << 31)
#define NCIC_Q_LOG_SIZE_MASK            0x0000000fu
#define NCIC_Q_LOG_SIZE_MAX             15
#define NCIC_Q_CPL_ARMED                (1u << 31)
#define NCIC_Q_INDEX_MASK               0x0000ffffu

/*
 * Interrupts.  A completion sends the MSI-X message of its queue's vector.
 * Further completions of the same CPL queue send no second message until the
 * host has written that queue's CPL tail; if completions beyond that tail are
 * there, the write itself sends one.  (Property irq-coalesce=off: one message
 * for each completion.)  So a NAPI poll that ends by writing CPL tail needs no
 * other way to silence or re-enable the queue, and loses no event.
 *
 * "Armed" is a permission, not a one-shot: while a CPL queue is not armed its
 * ring takes no descriptor; the device does not clear the bit.
 */

/* ---- Formats in host memory (ETH table 5-1, 5.4) -------------------------- */

/*
 * Descriptor, 16 bytes; one descriptor is one whole frame.
 * TX: the ones-complement sum of bytes [csum_start, length) is inserted,
 *     complemented and big-endian, at byte csum_offset of the frame; none if
 *     csum_offset is 0.  Both count from the first byte of the frame; the host
 *     leaves the pseudo-header sum in the field.
 * RX: length of the buffer, 0 = large enough for any frame.
 */
struct ncic_desc {
    ncic_le16 reserved0;
    uint8_t   csum_start;
    uint8_t   csum_offset;
    ncic_le16 length;
    ncic_le16 reserved1;
    ncic_le64 addr;
} NCIC_PACKED;

#define NCIC_DESC_SIZE                  16
#define NCIC_DESC_CSUM_START            0x02
#define NCIC_DESC_CSUM_OFFSET           0x03
#define NCIC_DESC_LENGTH                0x04
#define NCIC_DESC_ADDR                  0x08

/* Range in which csum_start and csum_offset are defined. */
#define NCIC_CSUM_POS_MIN               32
#define NCIC_CSUM_POS_MAX               95

/*
 * Completion, 32 bytes, fields unaligned on purpose.  No phase bit: what is
 * new follows from CPL head.  The device stores the last dword (bytes 1c..1f,
 * always 0) after all others, so a driver that fills it with ones beforehand
 * may watch it turn to zero instead of reading the register.
 */
struct ncic_cpl {
    ncic_le32 status;           /* NCIC_CPL_* */
    ncic_le16 queue;
    ncic_le16 index;            /* free-running index of the descriptor */
    ncic_le16 length;           /* RX: bytes in memory; TX: frame length */
    ncic_le32 hash;             /* RX: Toeplitz hash, 0 when not IPv4 */
    ncic_le16 csum;             /* RX: complemented residual sum, 0 = good */
    ncic_le16 vlan_tci;         /* RX: valid with NCIC_CPL_VLAN */
    uint8_t   reserved[10];
    ncic_le32 last;             /* written last, 0 */
} NCIC_PACKED;

#define NCIC_CPL_SIZE                   32
#define NCIC_CPL_STATUS                 0x00
#define NCIC_CPL_QUEUE                  0x04
#define NCIC_CPL_INDEX                  0x06
#define NCIC_CPL_LENGTH                 0x08
#define NCIC_CPL_HASH                   0x0a
#define NCIC_CPL_CSUM                   0x0e
#define NCIC_CPL_VLAN_TCI               0x10
#define NCIC_CPL_LAST                   0x1c

#define NCIC_CPL_ERROR                  (1u << 0)  /* (ext) not sent / truncated / not written */
#define NCIC_CPL_VLAN                   (1u << 15) /* tag removed */
#define NCIC_CPL_IPV4                   (1u << 16)
#define NCIC_CPL_UDP                    (1u << 17)
#define NCIC_CPL_TCP                    (1u << 18)
#define NCIC_CPL_UDP_BAD                (1u << 19)
#define NCIC_CPL_TCP_BAD                (1u << 20)

/* RSS: 40-byte Toeplitz key, constant in the hardware. */
#define NCIC_RSS_KEY_SIZE               40
#define NCIC_RSS_KEY_BYTES                                              \
    0x6d, 0x5a, 0x56, 0xda, 0x25, 0x5b, 0x0e, 0xc2, 0x41, 0x67,         \
    0x25, 0x3d, 0x43, 0xa3, 0x8f, 0xb0, 0xd0, 0xca, 0x2b, 0xcb,         \
    0xae, 0x7b, 0x30, 0xb4, 0x77, 0xcb, 0x2d, 0xa3, 0x80, 0x30,         \
    0xf2, 0x0c, 0x6a, 0x42, 0xb7, 0x3b, 0xbe, 0xac, 0x01, 0xfa

/* RoCE (ETH 5.4.3, 5.4.5) */
#define NCIC_ROCE_UDP_PORT              4791

#endif
