/*
 * NCIC NIC: the Ethernet engine (ETH V1.2).
 *
 * The engine owns the registers of table 3-3, the queue managers, descriptor
 * fetch, transmission, reception and the RoCE arbiters.  It reaches guest memory,
 * the wire and interrupts through NcicEthOps only and has no thread of its own:
 * every function runs on the caller's, one at a time.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef NCIC_ETH_H
#define NCIC_ETH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "core/image.h"
#include "ncic/fetch.h"
#include "ncic/regs.h"
#include "ncic/roce.h"

#define NCIC_ETH_HLEN       14u
#define NCIC_VLAN_HLEN      4u
#define NCIC_ETH_MIN_FRAME  60u         /* the MAC pads shorter ones, no FCS */
#define NCIC_MTU_MIN        68u
#define NCIC_MTU_MAX        65517u      /* 16-bit length, L2 header and tag */
#define NCIC_MTU_DEFAULT    1500u

typedef enum NcicDir { NCIC_RX, NCIC_TX, NCIC_DIRS } NcicDir;

/* Whose frame the wire is given. */
typedef enum NcicSource { NCIC_SRC_ETH, NCIC_SRC_ROCE } NcicSource;

typedef enum NcicRxResult {
    NCIC_RX_TAKEN,              /* consumed: delivered, or dropped and counted */
    NCIC_RX_HELD,               /* not consumed: offer it again after kick_rx */
} NcicRxResult;

/*
 * The outside.  All addresses are guest bus addresses.  Functions return true
 * for success.  desc_read, msix and kick_* may be called from any engine function.
 */
typedef struct NcicEthOps {
    /* May DMA be issued (bus mastering enabled)? */
    bool (*dma_ok)(void *opaque);
    bool (*read)(void *opaque, uint64_t addr, void *buf, size_t len);
    bool (*write)(void *opaque, uint64_t addr, const void *buf, size_t len);
    /* Host view of the whole range for reading, or NULL (then read is used);
     * released by unmap before the engine function returns.  Optional. */
    const void *(*map)(void *opaque, uint64_t addr, size_t len);
    void (*unmap)(void *opaque, const void *p, size_t len);
    /* Reads the descriptor at @addr, entry @slot of the ring of queue @q;
     * answers by ncic_eth_desc_done(@tag), at once or later. */
    void (*desc_read)(void *opaque, NcicDir dir, unsigned q, unsigned slot,
                      uint64_t addr, uint32_t tag);
    /* Writes NCIC_CPL_SIZE bytes to entry @slot of the completion ring; the
     * dword NCIC_CPL_LAST becomes visible after all others. */
    bool (*cpl_write)(void *opaque, NcicDir dir, unsigned q, unsigned slot,
                      uint64_t addr, const void *cpl);
    /* Base, size or activity of a ring of queue @q has changed.  Optional. */
    void (*ring_changed)(void *opaque, NcicDir dir, unsigned q);
    /* A whole frame for the wire, at least NCIC_ETH_MIN_FRAME bytes.  False:
     * the wire keeps it and one ncic_eth_tx_done() with @src will follow. */
    bool (*tx)(void *opaque, NcicSource src, const void *frame, size_t len);
    /* Sends the message of MSI-X vector @vector, which is in range. */
    void (*msix)(void *opaque, unsigned vector);
    /* ncic_eth_tx_run() has work; the shell batches it. */
    void (*kick_tx)(void *opaque);
    /* The same from a transmit doorbell, as the last act of a register write:
     * ncic_eth_tx_run() may be called before this returns.  Optional (then
     * kick_tx is called). */
    void (*doorbell_tx)(void *opaque);
    /* A frame that was NCIC_RX_HELD, or kept back by the shell, may be
     * offered again. */
    void (*kick_rx)(void *opaque);
    /* The driver broke rule @error (NCIC_E_*); @a and @b are details. */
    void (*guest_error)(void *opaque, unsigned error, const char *text,
                        uint64_t a, uint64_t b);
    /* A frame was dropped for the reason that counter @counter counts.
     * Optional. */
    void (*dropped)(void *opaque, unsigned counter, size_t len);
} NcicEthOps;

typedef struct NcicEthConfig {
    unsigned queues;            /* queue pairs, 1..NCIC_QUEUES_MAX */
    unsigned vectors;           /* MSI-X vectors that exist */
    unsigned mtu;               /* both MTU registers */
    uint8_t mac[6];             /* shown in MAC_LO/HI (ext) */
    bool ext;                   /* (ext) registers exist in document layout */
    bool tx_start;              /* reset value of TX_START */
    bool doc_flags;             /* no active and armed bits: active when base
                                 * and size were written, always armed */
    bool irq_coalesce;          /* see "Interrupts" in ncic_hw.h */
    bool arm_oneshot;           /* armed is cleared by the interrupt and does
                                 * not hold the ring */
    bool roce_csum;             /* also drop RoCE frames with UDP checksum 0 */
    bool roce_dest_only;        /* RoCE is known by the destination port */
    uint32_t rx_drop;           /* queues (bits) whose frames are dropped when
                                 * there is no descriptor, not held back */
} NcicEthConfig;

/* A ring of descriptors or completions. */
typedef struct NcicRing {
    uint64_t base;
    uint32_t log_size;          /* 0..15 */
    uint32_t active;            /* 0 or 1 */
    uint32_t head;              /* 16-bit free-running, producer */
    uint32_t tail;              /* 16-bit free-running, consumer */
} NcicRing;

/* One queue pair half: descriptor ring and its completion ring. */
typedef struct NcicQueue {
    NcicRing desc;
    NcicRing cpl;
    uint32_t cpl_index;
    uint32_t intr;              /* vector, NCIC_Q_CPL_ARMED */
    uint32_t cpl_reserved;      /* 16-bit: cpl.head plus slots reserved */
    uint32_t irq_sent;          /* message sent, CPL tail not yet written */
} NcicQueue;

/* What the pipeline finds out about a received frame. */
typedef struct NcicRxMeta {
    uint32_t status;            /* NCIC_CPL_* */
    uint32_t hash;
    uint16_t csum;
    uint16_t vlan_tci;
    uint16_t queue;
    uint16_t strip;             /* bytes removed at offset 12 */
} NcicRxMeta;

#define NCIC_RX_FIFO_SLOTS 16u

/* Frames whose descriptor has not arrived yet, in order. */
typedef struct NcicRxFifo {
    uint32_t put, get;          /* free-running */
    NcicRxMeta meta[NCIC_RX_FIFO_SLOTS];
    uint32_t len[NCIC_RX_FIFO_SLOTS];
    uint8_t *data;              /* slots of slot_size bytes, made when needed */
    uint32_t slot_size;
} NcicRxFifo;

/* Faults on demand, each a mask of queues (bit q).  A reset ends them, as it
 * would a real hang; they do not migrate. */
typedef enum NcicFault {
    NCIC_FAULT_TX_STALL,        /* no further descriptor is taken */
    NCIC_FAULT_TX_MUTE,         /* frames are sent, and never completed */
    NCIC_FAULTS
} NcicFault;

typedef struct NcicEth {
    const NcicEthOps *ops;
    void *opaque;
    NcicEthConfig cfg;

    uint32_t ncsr[NCIC_R_COUNT];
    uint64_t counter[NCIC_C_COUNT];
    NcicQueue queue[NCIC_DIRS][NCIC_QUEUES_MAX];
    NcicFetch fetch[NCIC_DIRS];

    uint32_t tx_pending;        /* bit per queue: the scheduler must look */
    uint32_t tx_next;           /* round robin */
    uint32_t tx_owed;           /* frames that the wire keeps */
    bool roce_waits;            /* the RDMA engine has more to send ... */
    bool roce_first;            /* ... and comes before us */
    bool roce_turn;             /* it is sending now */
    uint32_t rx_blocked;        /* a frame was held back ... */
    uint32_t rx_blocked_queue;  /* ... for this queue, or NCIC_BLOCKED_* */
    bool link_irq_due;          /* the link interrupt could not be sent */
    uint32_t fault[NCIC_FAULTS];

    NcicRxFifo fifo;
    uint8_t *scratch;           /* one frame */
    const NcicRoceSink *roce;
    void *roce_opaque;
    uint8_t map[2][128];        /* layout, dword -> table index + 1 */
} NcicEth;

#define NCIC_BLOCKED_DMA    0x101u      /* bus mastering is off */
#define NCIC_BLOCKED_FIFO   0x102u      /* descriptors are outstanding */

/* ---- Life ---------------------------------------------------------------- */

/* Sets up a zeroed @e; @ops and @opaque must outlive it. */
void ncic_eth_init(NcicEth *e, const NcicEthConfig *cfg,
                   const NcicEthOps *ops, void *opaque);
/* Frees what the engine allocated. */
void ncic_eth_fini(NcicEth *e);
/* All queues inactive, registers at reset values, counters 0 (A.4). */
void ncic_eth_reset(NcicEth *e);
/*
 * The state as a section of a migration image (save.c).  Saving: nothing is to
 * be under way but transmissions, whose descriptors go along.  Loading: into an
 * engine of the same configuration; what is wrong is the image's error, and the
 * engine must then be reset.  Follow with ncic_eth_restart().
 */
void ncic_eth_image(NcicEth *e, CoreImage *im);
/* DMA has become possible, or the machine runs again: retry all held work. */
void ncic_eth_restart(NcicEth *e);
/* Sets fault @fault on the queues of mask @queues and ends it on all others. */
void ncic_eth_set_fault(NcicEth *e, NcicFault fault, uint32_t queues);
/* Records that the driver broke rule NCIC_E_*: status bit, counter, log; @a and
 * @b are details (event.c). */
void ncic_eth_guest_error(NcicEth *e, unsigned error, uint64_t a, uint64_t b);
/* Link state of the port; sends the link interrupt when it changes. */
void ncic_eth_set_link(NcicEth *e, bool up);

/* ---- Registers (regs.c) --------------------------------------------------- */

typedef enum NcicWindow {
    NCIC_WIN_NONE,
    NCIC_WIN_NCSR,              /* document offsets */
    NCIC_WIN_NCSR_RTL,
    NCIC_WIN_RXQ,
    NCIC_WIN_TXQ,
    NCIC_WIN_HCR,
    NCIC_WIN_RESET,
    NCIC_WIN_INIT_DONE,
} NcicWindow;

typedef enum NcicLayout {
    NCIC_LAYOUT_DOC  = 1,
    NCIC_LAYOUT_RTL  = 2,
    NCIC_LAYOUT_BOTH = 3,       /* document windows plus RTL aliases */
} NcicLayout;

/* Which window BAR0 offset @addr falls in; *@off becomes the offset in it. */
NcicWindow ncic_bar0_decode(NcicLayout layout, uint32_t addr, uint32_t *off);

/* 32-bit access to the Ethernet windows; @off is a multiple of 4.  Unknown
 * registers read 0, writes to them are a guest error. */
uint32_t ncic_eth_reg_read(NcicEth *e, NcicWindow win, uint32_t off);
void ncic_eth_reg_write(NcicEth *e, NcicWindow win, uint32_t off,
                        uint32_t val);

/* Name of a counter as shown to people. */
const char *ncic_counter_name(unsigned counter);

/* ---- Queue managers (queue.c) ---------------------------------------------- */

typedef enum NcicTake {
    NCIC_TAKE_OK,
    NCIC_TAKE_INACTIVE,         /* ring or completion ring not active */
    NCIC_TAKE_EMPTY,
    NCIC_TAKE_CPL_FULL,
    NCIC_TAKE_UNARMED,
    NCIC_TAKE_OVERRUN,          /* head - tail exceeds the ring */
} NcicTake;

/* Would the take rule give a descriptor of this queue now? */
NcicTake ncic_queue_check(const NcicEth *e, NcicDir dir, unsigned q);
/* Answer to NcicEthOps.desc_read: 16 bytes, or NULL when memory failed. */
void ncic_eth_desc_done(NcicEth *e, NcicDir dir, uint32_t tag,
                        const void *desc);

/* ---- Data path (tx.c, rx.c) ------------------------------------------------ */

/* Sends up to @budget frames, round robin over the queues; true if there is
 * more to do at once. */
bool ncic_eth_tx_run(NcicEth *e, unsigned budget);
/* The wire has sent, or (@sent false) given up, one frame that it kept. */
void ncic_eth_tx_done(NcicEth *e, NcicSource src, bool sent);
/* Is there anything for ncic_eth_tx_run() to do? */
bool ncic_eth_tx_work(const NcicEth *e);

/* A frame from the wire, without FCS. */
NcicRxResult ncic_eth_rx(NcicEth *e, const uint8_t *frame, size_t len);
/* False while a frame is held back; cheap. */
static inline bool ncic_eth_can_rx(const NcicEth *e)
{
    return !e->rx_blocked;
}
/* Tries again if the reason for holding back is gone. */
void ncic_eth_rx_retry(NcicEth *e);
/* Hash, checksum verdict, VLAN and queue of a frame of at least 14 bytes. */
void ncic_rx_parse(const NcicEth *e, const uint8_t *frame, size_t len,
                   NcicRxMeta *m);

static inline uint32_t ncic_ring_size(const NcicRing *r)
{
    return 1u << r->log_size;
}

static inline uint32_t ncic_ring_used(const NcicRing *r)
{
    return (r->head - r->tail) & NCIC_Q_INDEX_MASK;
}

#endif
