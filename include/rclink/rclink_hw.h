/*
 * RC Link: what a driver sees (docs/specs/rclink.rst).  Constants only; shared
 * by device, drivers and tests.  Registers are 64 bits wide and little-endian.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later OR MIT
 */
#ifndef RCLINK_HW_H
#define RCLINK_HW_H

#define RCL_PCI_VENDOR          0x1234
#define RCL_PCI_DEVICE          0x0b02
#define RCL_PCI_CLASS           0x0280
#define RCL_BAR_SIZE            0x10000
#define RCL_BAR_MSIX_TABLE      0x8000
#define RCL_BAR_MSIX_PBA        0xc000

/* ---- MSI-X vectors ---- */
#define RCL_VEC_INTR            0       /* INTR_STATUS */
#define RCL_VEC_NONR            1       /* DMA_INTR_ST0 */
#define RCL_VEC_FAULT           2       /* DMA_INTR_ST1 */
#define RCL_VEC_EVENT           3
#define RCL_VEC_TX              4
#define RCL_VEC_RX1             5
#define RCL_VEC_RX2             6
#define RCL_VEC_MAC             7
#define RCL_VECTORS             8

/* ---- port registers (RC Link, appendix) ---- */
#define RCL_RDMA_EN             0x0000
#define RCL_XON_THR_RDMA        0x0008
#define RCL_MAC_ADDR            0x0010
#define RCL_XON_THR_NON_RDMA    0x0018
#define RCL_IP_ADDR             0x0020
#define RCL_VLAN_CTRL           0x0028
#define RCL_RETRY_TIMER_CFG     0x0040
#define RCL_INTR_STATUS         0x00a0
#define RCL_DEST_IP_MEM2        0x0110
#define RCL_DEST_MAC_MEM2       0x0118
#define RCL_UDP_PORT_MEM2       0x0120
#define RCL_AFH_CFG_EN          0x0160
#define RCL_TYPE2_DA(n)         (0x0168 + 8 * (n))
#define RCL_TRAFFIC_CLASS       0x0220

/* AFH_CFG_EN; the VC map and TYPE2's enable as printed (layout A). */
#define RCL_CFG_STANDARD        0
#define RCL_CFG_GEN1            1
#define RCL_CFG_GEN1_TC         2
#define RCL_CFG_GEN2            3
#define RCL_CFG_LITE            4
#define RCL_CFG_STOP_CBFC       5
#define RCL_CFG_CBFC_BANK0      6
#define RCL_CFG_CBFC_ACK        10
#define RCL_CFG_CBFC_TYPE3      11
#define RCL_CFG_VC_MAP          12
#define RCL_CFG_CBFC_TYPE2      33
#define RCL_CFG_VLAN_PRI        34
#define RCL_CFG_UF_TYPE1        36
#define RCL_CFG_DYNAMIC         48
#define RCL_CFG_VC_OPEN         52
#define RCL_CFG_RNR             60

/* INTR_STATUS */
#define RCL_INTR_TX1_OVERSIZE   0
#define RCL_INTR_TX1_CREDIT     1
#define RCL_INTR_RETRY          3
#define RCL_INTR_TX2_OVERSIZE   6
#define RCL_INTR_TX2_CREDIT     9
#define RCL_INTR_RX2_OVERSIZE   12
#define RCL_INTR_TX_DISABLED    14
#define RCL_INTR_RX_DISABLED    15

/* ---- TYPE3 (RC Link §12.2, §12.12.3, §12.14.3) ---- */
#define RCL_TX_MD_HEAD_PTR      0x1000
#define RCL_RX_MD_HEAD_PTR      0x1020
#define RCL_TX_MD_TAIL_PTR      0x1040
#define RCL_RX_MD_TAIL_PTR      0x1060
#define RCL_TX_MDQ_BA           0x1080
#define RCL_RX_MDQ_BA           0x10c0
#define RCL_TX_MDQ_SIZE         0x1100
#define RCL_RX_MDQ_SIZE         0x1120
#define RCL_NONR_DMA_CTRL       0x1140
#define RCL_DMA_INTR_ST0        0x1150
#define RCL_DMA_INTR_ST1        0x1170
#define RCL_DMA_INT_MASK        0x1178
#define RCL_TAIL_UP_CFG         0x1190

#define RCL_NONR_TX_EN          (1u << 0)
#define RCL_NONR_RX_EN          (1u << 8)
#define RCL_NONR_TX_RESET       (1u << 16)
#define RCL_NONR_RX_RESET       (1u << 31)

#define RCL_ST0_RX_EMPTY        0
#define RCL_ST0_TX_EMPTY        1
#define RCL_ST0_RX_TAIL         2
#define RCL_ST0_TX_TAIL         3
#define RCL_ST0_ABNORMAL        4

#define RCL_ST1_RX_OVERFLOW     0
#define RCL_ST1_TX_UNDERFLOW    1
#define RCL_ST1_MD_WRITE        2
#define RCL_ST1_MD_READ         3
#define RCL_ST1_DATA            4
#define RCL_ST1_TWO_SOP         5
#define RCL_ST1_TWO_EOP         6
#define RCL_ST1_TX_OVERSIZE     7
#define RCL_ST1_RX_OVERSIZE     8
#define RCL_ST1_TX_ZERO         9
#define RCL_ST1_RX_ZERO         10

/* A memory descriptor, 16 bytes. */
#define RCL_MD_BYTES            16
#define RCL_MD_SIZE_SHIFT       4       /* data size [19:4] */
#define RCL_MD_SF               (1u << 20)
#define RCL_MD_LF               (1u << 21)
#define RCL_MD_CRC              (1u << 22)
#define RCL_MD_LENGTH           (1u << 23)
#define RCL_MD_BUFFER_SHIFT     48      /* buffer size [63:48] */
#define RCL_TX_FRAME_MAX        4096
#define RCL_RX_FRAME_MAX        8192

/* ---- per QP, through QP_ID_SET (RC Link §12.14.1) ---- */
#define RCL_DEST_IP_MEM         0x2008
#define RCL_DEST_MAC_MEM        0x2010
#define RCL_UDP_SRC_PORT_MEM    0x2018
#define RCL_QP_CONTROL_STATUS   0x2028
#define RCL_EXPECT_RESP_PSN     0x2030
#define RCL_TX_LAST_PSN         0x2038
#define RCL_TX_EPSN             0x2040
#define RCL_TX_SPEED_MEM        0x2048
#define RCL_TX_CC_BYTE_CNT_MEM  0x2050
#define RCL_TX_EXPECT_PSN       0x2058
#define RCL_RETRY_CNT_MEM       0x2060
#define RCL_BTH_QP_CFG_MEM      0x2070
#define RCL_RX_REQ_EPSN         0x2078
#define RCL_MAX_FORWARD_PSN     0x2080
#define RCL_QP_ID_SET           0x2088

#define RCL_QP_EN               (1u << 0)
#define RCL_QP_FREE_BUF         (1u << 15)

/* ---- our own: what the document gives no place (docs/specs/rclink.rst) ---- */
#define RCL_ID                  0x3000
#define RCL_ID_VALUE            0x314c4352      /* "RCL1" */
#define RCL_VERSION             0x3008
#define RCL_VERSION_VALUE       1
#define RCL_CTRL                0x3010
#define RCL_CC_WINDOW           0x3018
#define RCL_CNP_THR             0x3020
#define RCL_NOCNP               0x3028
#define RCL_RNR_CODE            0x3030
#define RCL_TYPE2_RATE          0x3038
#define RCL_SOFT_RESET          0x3040
#define RCL_INTR_MASK           0x3048
#define RCL_STATUS              0x3050
#define RCL_OST_FREE            0x3058
#define RCL_CBFC_LEVEL0         0x3060
#define RCL_CBFC_LEVEL1         0x3068
#define RCL_FLOW_STOP           0x3070
#define RCL_ERR_STATUS          0x3078
#define RCL_EVENT_MASK          0x3080
#define RCL_LIMITS              0x3088
#define RCL_SPEED               0x3090
#define RCL_IRQ_INFO            0x3098
#define RCL_MAC_CBFC_CFG(v)     (0x3100 + 8 * (v))
#define RCL_CBFC_RST            0x3140
#define RCL_CBFC_RESET          0x3148
#define RCL_MULTI_CREDIT        0x3150
#define RCL_COUNTER(n)          (0x3200 + 8 * (n))

#define RCL_CTRL_REMOVE_ICRC    (1u << 0)
#define RCL_CTRL_BANK_RR        (1u << 1)
#define RCL_CTRL_ACK_TIME       (1u << 2)
#define RCL_CTRL_MULTI_CREDIT   (1u << 3)
#define RCL_CTRL_CNP_MERGE      (1u << 4)
#define RCL_CTRL_ECN            (1u << 5)
#define RCL_CTRL_TXS_OVERRUN    (1u << 6)

#define RCL_RESET_TYPE1         (1u << 0)
#define RCL_RESET_TYPE2         (1u << 1)
#define RCL_RESET_TYPE3         (1u << 2)
#define RCL_RESET_MAC           (1u << 3)
#define RCL_RESET_ALL           (1u << 31)

#define RCL_STATUS_RX_IDLE      (1u << 0)
#define RCL_STATUS_TX_IDLE      (1u << 1)
#define RCL_STATUS_WAIT_MAC     (1u << 2)       /* TX_WAIT_MAC_CRD_O */
#define RCL_STATUS_LINK         (1u << 3)
#define RCL_STATUS_MAC_FREE     (1u << 4)       /* TX_MAC_FREE_O */
#define RCL_STATUS_PFC_TX_SHIFT 8               /* classes asked to stop */
#define RCL_STATUS_PFC_RX_SHIFT 16              /* classes that are stopped */
/* Flows that credits or a pause hold back: banks 0 to 3, ACK, TYPE2, TYPE3. */
#define RCL_STATUS_HELD_SHIFT   24
#define RCL_STATUS_HELD_TYPE3   (1u << 30)

/* FLOW_STOP: the client's pins. */
#define RCL_STOP_BANK0          (1u << 0)       /* TYPE1_FLOW_STOP_I */
#define RCL_STOP_TYPE2          (1u << 4)       /* TYPE2_PFC_REQ_I */

/* ERR_STATUS: [3:0] rings that stopped */
#define RCL_ERR_RX2_OVERFLOW    (1u << 4)       /* TYPE2's receive buffer */

/* MAC_CBFC_CFG */
#define RCL_CBFC_SIZE_SHIFT     0       /* [11:0] */
#define RCL_CBFC_OVHD_SHIFT     12      /* [21:12] */
#define RCL_CBFC_LIMIT_SHIFT    22      /* [41:22] */

/* ---- host rings ---- */
#define RCL_RING(n)             (0x4000 + 0x40 * (n))
#define RCL_RING_TX             0
#define RCL_RING_RX1            1
#define RCL_RING_RX2            2
#define RCL_RING_EVENT          3
#define RCL_RINGS               4

#define RCL_RING_BASE_LO        0x00
#define RCL_RING_BASE_HI        0x04
#define RCL_RING_SIZE           0x08    /* log2 of entries, 4 to 12 */
#define RCL_RING_CTRL           0x0c
#define RCL_RING_HEAD           0x10    /* producer */
#define RCL_RING_TAIL           0x14    /* consumer */
#define RCL_RING_ARM            0x18
#define RCL_RING_SHADOW_LO      0x20
#define RCL_RING_SHADOW_HI      0x24
#define RCL_RING_BLOCK          0x28

#define RCL_RING_EN             (1u << 0)
#define RCL_RING_SHADOW         (1u << 1)       /* the device writes its index */
#define RCL_RING_ERROR          (1u << 31)      /* stopped; read only */

#define RCL_RING_LOG_MIN        4
#define RCL_RING_LOG_MAX        12
#define RCL_RING_ENTRY          16

/* Entry: address at 0, then */
#define RCL_E_LEN               8       /* 16 bits */
#define RCL_E_QP                10      /* 16 bits */
#define RCL_E_FLAGS             12
#define RCL_E_COOKIE            14      /* TX: 16 bits; RX: SA[9:0] */
#define RCL_E_TYPE              0x03    /* etype code: 0 TYPE1, 3 TYPE2 */
#define RCL_E_FACK              0x04    /* TX */
#define RCL_E_GROUP_SHIFT       5       /* TX */
#define RCL_E_TRUNCATED         0x80    /* RX */
#define RCL_ETYPE1              0
#define RCL_ETYPE2              3

/* Event: type at 0, flags at 1, QPID at 2, a at 4 (32 bits), b at 8 (64). */
#define RCL_EV_IRQ              1
#define RCL_EV_CREDIT           2
#define RCL_EV_CNP              3
#define RCL_EV_ACK              4
#define RCL_EV_RETRY_TMO        5
#define RCL_EV_NOCNP            6
#define RCL_EV_QP_EN            7
#define RCL_EV_MAC              8       /* the MAC was reset */
#define RCL_EV_PHASE            0x80    /* flags: turns with each round */
#define RCL_EV_NAK              0x01    /* flags of RCL_EV_ACK */
#define RCL_EV_SET              0x01    /* flags of RCL_EV_QP_EN; 0 = clear */
/* a of RCL_EV_CREDIT: etype, or this plus the reason of a drop */
#define RCL_EV_DROPPED          0x100

/* IRQ_INFO */
#define RCL_IRQ_TYPE_SHIFT      31
#define RCL_IRQ1_OVERSIZE       1
#define RCL_IRQ1_RETRY          2
#define RCL_IRQ1_CREDIT         3
#define RCL_IRQ1_TX_DISABLED    4
#define RCL_IRQ1_RX_DISABLED    5
#define RCL_IRQ2_TX             1
#define RCL_IRQ2_RX_OVERSIZE    2
#define RCL_IRQ2_RX_OVERFLOW    4
/* More reasons of RCL_EV_DROPPED, which have no interrupt */
#define RCL_DROP_ENTRY          0x10    /* type, QP or length out of range */
#define RCL_DROP_DMA            0x11
#define RCL_DROP_FATAL          0x12    /* retries of the QP are exhausted */
#define RCL_DROP_RESET          0x13

/* ---- counters: 64 bits each, from RCL_COUNTER(0) on: X(name, meaning) ---- */
#define RCL_COUNTERS(X)                                                     \
    X(tx_type1, "TYPE1 packets sent, first time")                           \
    X(tx_type1_again, "TYPE1 packets sent again")                           \
    X(tx_type2, "TYPE2 packets sent")                                       \
    X(tx_type3, "TYPE3 frames sent")                                        \
    X(tx_ack, "ACKs sent")                                                  \
    X(tx_nak, "NAKs sent")                                                  \
    X(tx_rnr, "RNR NAKs sent")                                              \
    X(tx_cnp, "CNPs sent")                                                  \
    X(rx_type1, "TYPE1 packets accepted")                                   \
    X(rx_type2, "TYPE2 packets accepted")                                   \
    X(rx_type3, "TYPE3 frames accepted")                                    \
    X(rx_ack, "ACKs that acknowledged something")                           \
    X(rx_ack_stale, "ACKs that acknowledged nothing new")                   \
    X(rx_nak, "NAKs received")                                              \
    X(rx_rnr, "RNR NAKs received")                                          \
    X(rx_cnp, "CNPs received")                                              \
    X(rx_cnp_merged, "CNPs suppressed by merging")                          \
    X(rx_gap, "TYPE1 packets after a gap, dropped")                         \
    X(rx_duplicate, "TYPE1 packets received again")                         \
    X(ack_merged, "ACKs that another one made needless")                    \
    X(timeouts, "retry timers that ran out")                                \
    X(qp_fatal, "QPs whose retries were exhausted")                         \
    X(drop_short, "frames whose lengths contradict each other")             \
    X(drop_ip_csum, "bad IP header checksums")                              \
    X(drop_key, "Key_words without W")                                      \
    X(drop_opcode, "RH.Opcode 11")                                          \
    X(drop_icrc, "bad ICRCs")                                               \
    X(drop_da, "TYPE1 frames for another address")                          \
    X(drop_pkey, "P_keys that do not match")                                \
    X(drop_qp, "Dest_QP out of range")                                      \
    X(drop_disabled, "packets for or from QPs that are not enabled")        \
    X(drop_oversize, "received payloads beyond the limit")                  \
    X(drop_off, "TYPE1 and TYPE2 frames while RDMA_EN is 0")                \
    X(drop_psn, "acknowledgements outside the window")                      \
    X(drop_syndrome, "reserved syndromes")                                  \
    X(drop_rx1, "TYPE1 receive buffer full")                                \
    X(drop_rx2, "TYPE2 receive buffer full")                                \
    X(drop_rx3, "TYPE3 receive FIFO full")                                  \
    X(drop_rx3_off, "TYPE3 frames while reception is off")                  \
    X(drop_tx, "entries of TX_S that were dropped")                         \
    X(drop_control, "MAC control frames that are not understood")           \
    X(rx_truncated, "packets longer than the driver's buffer")              \
    X(events_lost, "events without room in the event ring, or while off")    \
    X(dma_errors, "accesses to guest memory that failed")                   \
    X(guest_errors, "rules that the driver broke")                          \
    X(cc_masked, "times that rate control stopped a QP or TYPE2")           \
    X(cbfc_blocked, "times that a VC ran out of credits")                   \
    X(cbfc_tx, "CBFC frames sent")                                          \
    X(cbfc_rx, "CBFC frames received")                                      \
    X(cbfc_healed, "credits that an update brought back")                   \
    X(cbfc_over, "credits returned that were never used")                   \
    X(pfc_tx, "PFC frames sent")                                            \
    X(pfc_rx, "PFC frames received")                                        \
    X(wire_bytes_tx, "bytes of frames sent")                                \
    X(wire_bytes_rx, "bytes of frames received")                            \
    X(fault_drop, "frames dropped on purpose")                              \
    X(fault_duplicate, "frames doubled on purpose")                         \
    X(fault_reorder, "frames reordered on purpose")                         \
    X(fault_corrupt, "frames corrupted on purpose")                         \
    X(fault_delay, "frames delayed on purpose")                             \
    X(fault_credit, "CBFC frames lost on purpose")                          \
    X(bad_fcs, "frames with a bad FCS; TYPE3's are delivered")              \
    X(pfc_storms, "classes that the peer kept stopped for eight longest pauses")

#endif
