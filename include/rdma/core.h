/*
 * RDMA engine: the transport core (RDMA chapters 2-5).
 *
 * One RdmaDev is one engine with one port.  Outside world: RdmaOps (guest
 * memory, wire, log) given by the shell.  Guest interface: RdmaPersOps given
 * by a personality.  The core never reads a clock: rdma_rx_frame() and
 * rdma_poll() take the time in nanoseconds, rdma_poll() returns the next
 * deadline.  It is not re-entrant: one thread at a time, and no call of the
 * API below out of an op unless the op says so.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef RDMA_CORE_H
#define RDMA_CORE_H

#include <string.h>
#include <sys/uio.h>

#include "core/image.h"
#include "rdma/types.h"

typedef struct RdmaDev RdmaDev;
typedef struct RdmaQp RdmaQp;
typedef struct RdmaCq RdmaCq;
typedef struct RdmaSrq RdmaSrq;
typedef struct RdmaMr RdmaMr;

/* Free bytes in front of each frame given to wire_tx. */
#define RDMA_TX_HEADROOM 4

/* Given by the shell; @opaque is RdmaConfig.ops_opaque. */
typedef struct RdmaOps {
    /*
     * Copy @len bytes from / to guest physical (bus) memory.  False when any
     * byte is not accessible; bytes copied before that are undefined.  Four
     * bytes written at a multiple of four are one store, after all before
     * them: an owner byte among them must not change twice.
     */
    bool (*read)(void *opaque, uint64_t addr, void *buf, size_t len);
    bool (*write)(void *opaque, uint64_t addr, const void *buf, size_t len);
    /*
     * Optional: a host pointer to guest memory, valid until unmap.  *@len is
     * shortened if less is contiguous.  NULL = not mappable.  The core uses
     * it where an access must be atomic towards guest CPUs.
     */
    void *(*map)(void *opaque, uint64_t addr, size_t *len, bool write);
    void (*unmap)(void *opaque, void *p, size_t len, bool write);
    /*
     * Send @n complete Ethernet frames (no FCS, at least 14 bytes, not padded
     * to 60), one iovec each.  The memory is the core's and is reused after
     * the call.  The frames lie behind each other in one buffer, each after
     * RDMA_TX_HEADROOM bytes that the shell may write (a length, so that the
     * whole batch is one write to a stream).  False = the wire is down: the
     * frames are lost.  May call rdma_wire_stop().
     */
    bool (*wire_tx)(void *opaque, const struct iovec *frames, unsigned n);
    /* Optional: work was queued, call rdma_poll() soon (bottom half). */
    void (*kick)(void *opaque);
    /* Optional: a guest or the peer broke @rule ("RDMA §2.4.3.1.2", ...) at
     * object @number, mostly a QP. */
    void (*log)(void *opaque, uint32_t number, const char *rule,
                const char *text);
    /* Optional trace hook: a QP changed state. */
    void (*qp_state)(void *opaque, uint32_t qpn, RdmaQpState from,
                     RdmaQpState to, const char *cause);
    /* Optional trace hook: a packet was sent (@tx) or accepted. */
    void (*packet)(void *opaque, bool tx, uint8_t opcode, uint32_t dqpn,
                   uint32_t psn, uint32_t payload);
} RdmaOps;

/* Pages of a region that are asked for at a time. */
enum { RDMA_MTT_MOST = 16 };

/* Given by the personality; @p is RdmaConfig.pers_opaque. */
typedef struct RdmaPersOps {
    const char *name;
    /*
     * Zeroed bytes the core keeps with each object, rdma_{qp,cq,srq}_priv();
     * no pointers in them.
     */
    size_t qp_priv, cq_priv, srq_priv;
    /*
     * Migration: describe the private area of an object, within the section
     * of that object and behind what the core has of it (attributes, state,
     * work).  All CQs come before all SRQs, these before all QPs.  NULL where
     * there is no such area.
     */
    void (*qp_image)(void *p, RdmaQp *qp, CoreImage *im);
    void (*cq_image)(void *p, RdmaCq *cq, CoreImage *im);
    void (*srq_image)(void *p, RdmaSrq *srq, CoreImage *im);
    /*
     * Decode the next send WQE of @qp.  Called when the requester has room
     * for it, in order, once per WQE; in state ERR until RDMA_FETCH_NONE, to
     * flush (only @id, @opcode and @flags are then used).
     */
    RdmaFetch (*fetch_send)(void *p, RdmaQp *qp, RdmaWqe *wqe);
    /*
     * Take the next receive WQE, of the QP's SRQ if it has one.  Called when
     * a message that needs one begins, and to flush a QP without SRQ.
     */
    RdmaFetch (*fetch_recv)(void *p, RdmaQp *qp, RdmaRecvWqe *wqe);
    /*
     * Write a completion (body, barrier, owner byte) and raise its event.
     * False when it could not be written (bad CQ memory or overrun): the core
     * moves the QP to ERR; the personality raises CQ_ERROR itself.
     */
    bool (*write_cqe)(void *p, RdmaCq *cq, const RdmaCqe *cqe);
    /* Asynchronous event about object @number (QPN, SRQN, port). */
    void (*event)(void *p, RdmaEvent ev, uint32_t number);
    /* Index of a key in the region table (a number < 2^log_mrs). */
    uint32_t (*key_index)(void *p, uint32_t key);
    /*
     * Bus addresses of @n pages of @mr starting with page @first of the
     * region (page 0 holds mr->start), at most RDMA_MTT_MOST.  False = not
     * present.  Not called for physical regions.
     */
    bool (*mtt_read)(void *p, const RdmaMr *mr, uint64_t first, unsigned n,
                     uint64_t *phys);
    /* Optional: the core changed the state of @qp (error, SQ drained). */
    void (*qp_changed)(void *p, RdmaQp *qp);
} RdmaPersOps;

typedef enum RdmaAckReq {
    RDMA_ACKREQ_ALL,        /* every packet (RDMA §3.4.1.1.3.2.1) */
    RDMA_ACKREQ_PERIODIC,   /* last of a message and each 32nd packet */
} RdmaAckReq;

typedef enum RdmaGrh {
    RDMA_GRH_NONE,          /* datagrams begin at the first segment */
    RDMA_GRH_IB,            /* 40 bytes, an IB global route header */
    RDMA_GRH_IPV4,          /* 40 bytes, the IPv4 header in the last 20 */
} RdmaGrh;

/*
 * Settings.  rdma_config_init() gives the defaults named here; the shell may
 * change them before rdma_new(), and those marked (live) later through
 * rdma_config().  See docs/decisions/rdma-transport.rst for the reasons.
 */
typedef struct RdmaConfig {
    const RdmaOps *ops;
    void *ops_opaque;
    const RdmaPersOps *pers;
    void *pers_opaque;

    /* Table sizes, log2. */
    uint8_t log_qps, log_cqs, log_srqs, log_mrs;
    bool qpn_wrap;          /* compare packet QPNs modulo the table size */

    /* Packet buffers of the requester (RDMA table 3.19), in use up to: */
    uint32_t swpb_packets;  /* 512 Send/Write packets unacknowledged */
    uint32_t swpb_units;    /* 4096 units of 32 bytes of their payload */
    uint32_t rpb_packets;   /* 512 Read/atomic requests */
    uint32_t reb_entries;   /* 16384 scatter entries of Reads */
    bool shared_buffers;    /* (live) one set for the device, as documented,
                             * where a QP without answers stops the others;
                             * false: one for each QP */
    uint32_t max_wqes;      /* decoded WQEs in flight, 8192; a QP that has
                             * none may always have one */

    RdmaAckReq ack_req;     /* (live) ALL */
    bool ack_coalesce;      /* (live) one ACK per burst of input; true */
    bool retx_one;          /* (live) time-out repeats one packet; false */
    bool retx_range;        /* (live) repeat only up to the PSN answered */
    bool nak_fatal;         /* (live) invalid request/access NAK ends QP */
    bool nak_counts;        /* (live) sequence NAK uses up a retry */
    bool resp_fatal;        /* (live) responder goes to ERR on fatal NAK */
    bool send_se_always;    /* (live) SolicitedEvent always 1; false */
    bool sqe;               /* (live) UC/UD send errors go to SQE; true */
    bool atomics;           /* (live) true */
    bool qkey_check;        /* (live) true */
    bool qkey_zero_any;     /* (live) a QP with Q_Key 0 takes any; false */
    bool pkey_check;        /* (live) compare incoming P_Keys; true */
    bool accept_any_ip;     /* (live) take packets for any address; false */
    bool source_check;      /* (live) a connected QP takes packets from the
                             * address of its peer alone; true */
    bool len_nak_op;        /* (live) Send too long: NAK remote operational
                             * (document), else invalid request (IB); true */
    RdmaGrh ud_grh;         /* area in front of a received datagram; IB */
    bool icrc_check;        /* (live) drop frames whose ICRC is wrong; true */
    bool icrc;              /* (live) frames have an ICRC; true (document: no) */
    bool udp_csum;          /* (live) UDP checksum on sent frames; true */
    bool udp_csum_need;     /* (live) drop frames with UDP checksum 0; false */
    uint16_t udp_sport;     /* (live) 4791; 0 = hash of the flow */
    uint32_t loss_timeout_us;   /* (live) for QPs with timeout code 0; 0 = no
                                 * timer */
    uint32_t lid_net;       /* (live) IPv4 network of LIDs, 10.76.0.0 */
    uint32_t err_repoll_us; /* (live) QPs in ERR with a receive queue of
                             * their own: look again for posted WQEs, ever
                             * more seldom, until a second has passed without
                             * one; 0 = only when kicked */
    uint32_t time_scale;    /* (live) multiplies all transport timers, to 11
                             * days at most; 1 */
} RdmaConfig;

/* The longest timer there is (code 31), so long, fits in 63 bits of ns. */
#define RDMA_TIME_SCALE_MAX 100000u

void rdma_config_init(RdmaConfig *cfg);

/* Never fails (GLib allocation).  @cfg is copied. */
RdmaDev *rdma_new(const RdmaConfig *cfg);
void rdma_free(RdmaDev *dev);
/* Drop all objects, frames in delay queues and timers; keep the port. */
void rdma_reset(RdmaDev *dev);
/* The live settings. */
RdmaConfig *rdma_config(RdmaDev *dev);

/*
 * An Ethernet frame came in: RoCEv2 (IPv4, UDP 4791) or ARP for one of our
 * addresses; others are ignored.  @frame may be padded.  Returns true if the
 * frame was one of these two kinds and so belongs to the engine (an ARP frame
 * may interest others too).  Answers go out in the next rdma_poll() at the
 * latest, which must follow without delay: rdma_rx_frame() calls ops->kick.
 */
bool rdma_rx_frame(RdmaDev *dev, const uint8_t *frame, size_t len,
                   int64_t now);

/*
 * Do the work that is due: timers, queues, answers.  Bounded; returns the
 * next deadline, @now if there is more to do at once, INT64_MAX if nothing
 * is pending.
 */
int64_t rdma_poll(RdmaDev *dev, int64_t now);
/* The same, but at most about @packets packets (rdma_poll: 256). */
int64_t rdma_poll_some(RdmaDev *dev, int64_t now, unsigned packets);

/*
 * Is an acknowledgement of one queue pair all that waits to be sent?  A shell
 * may then let a processor go first: a request that it posts takes the
 * acknowledgement along, and the peer is woken once.
 */
bool rdma_only_ack(const RdmaDev *dev);

/*
 * Back-pressure: while the wire is stopped, queue pairs whose packets would
 * leave through it keep them back; timers, loopback, flushing and input go
 * on.  A few frames (the rest of a batch, ARP) may still come to wire_tx.
 * Starting it again calls ops->kick.  Not migrated: a loaded device's wire
 * runs.
 */
void rdma_wire_stop(RdmaDev *dev, bool stop);

/* ---- the port ---- */

#define RDMA_MAX_GIDS  32
#define RDMA_MAX_PKEYS 64

typedef struct RdmaPort {
    uint8_t mac[6];
    bool link_up;
    uint16_t lid;           /* 0 = not assigned */
    uint8_t lmc;
    uint32_t ip;            /* own IPv4, host order; 0 = only the LID's */
    uint8_t gid[RDMA_MAX_GIDS][16];
    uint16_t pkey[RDMA_MAX_PKEYS];
    uint16_t num_pkeys;
} RdmaPort;

/* Read the port; owned by the core. */
const RdmaPort *rdma_port(const RdmaDev *dev);
/* Replace it.  A change of addresses is announced by gratuitous ARP. */
void rdma_port_set(RdmaDev *dev, const RdmaPort *port);
/* Link down drops everything both ways; up announces the addresses. */
void rdma_link_set(RdmaDev *dev, bool up);

/*
 * LID <-> IPv4: lid_net | LID for unicast LIDs; the permissive LID is
 * 255.255.255.255 (from 0.0.0.0 while the port has no LID).
 */
uint32_t rdma_lid_to_ip(const RdmaDev *dev, uint16_t lid);
/* LID of an address; RDMA_LID_PERMISSIVE for 0.0.0.0, 0 if outside. */
uint16_t rdma_ip_to_lid(const RdmaDev *dev, uint32_t ip);
/*
 * IPv4 multicast group of a multicast GID: the low 32 bits if the GID is
 * ff..::ffff:a.b.c.d with a.b.c.d multicast; otherwise 239.0.0.0 | low 24 bits
 * of the CRC32 of the GID.
 */
uint32_t rdma_mgid_to_ip(const uint8_t mgid[16]);

/* ---- multicast: QPs attached to a group (UD) ---- */
/* False: the group table is full or the QP does not exist / is attached. */
bool rdma_mcast_attach(RdmaDev *dev, const uint8_t mgid[16], uint32_t qpn);
bool rdma_mcast_detach(RdmaDev *dev, const uint8_t mgid[16], uint32_t qpn);

/* ---- counters ---- */
#define RDMA_COUNTERS(X)                                                \
    X(tx_frames) X(tx_bytes) X(rx_frames) X(rx_bytes)                   \
    X(tx_dropped) X(rx_short) X(rx_bad_ip) X(rx_bad_udp)                \
    X(rx_bad_icrc) X(rx_bad_bth) X(rx_not_ours) X(rx_no_qp)             \
    X(rx_qp_state) X(rx_opcode) X(rx_pkey) X(rx_qkey) X(rx_no_wqe)      \
    X(rx_source)                                                        \
    X(rx_duplicate) X(rx_out_of_sequence) X(rx_ghost) X(rx_length)      \
    X(ack_tx) X(ack_rx) X(nak_seq_tx) X(nak_seq_rx) X(nak_inv_tx)       \
    X(nak_inv_rx) X(nak_access_tx) X(nak_access_rx) X(nak_op_tx)        \
    X(nak_op_rx) X(rnr_tx) X(rnr_rx) X(retransmits) X(timeouts)         \
    X(rnr_timeouts) X(retry_exceeded) X(stall_swpb) X(stall_rpb)        \
    X(stall_reb) X(stall_wqe) X(stall_neigh) X(stall_wire)              \
    X(arp_tx) X(arp_rx)                                                 \
    X(local_errors) X(flushed) X(completions) X(cqe_failed)             \
    X(mcast_rx) X(loopback) X(loopback_full) X(broken_rules)            \
    X(fault_drop) X(fault_duplicate) X(fault_reorder)                   \
    X(fault_corrupt) X(fault_delay)

typedef struct RdmaCounters {
#define RDMA_COUNTER_FIELD(name) uint64_t name;
    RDMA_COUNTERS(RDMA_COUNTER_FIELD)
#undef RDMA_COUNTER_FIELD
} RdmaCounters;

RdmaCounters *rdma_counters(RdmaDev *dev);

/*
 * ---- migration ----
 * The whole state of the engine (objects with their private areas, which
 * therefore must hold no pointers, outstanding work, port, counters) as one
 * block.  Deadlines are stored relative to @now.  rdma_save() returns memory
 * to be freed with g_free(); rdma_load() replaces the state of a device with
 * the same configuration and returns false, with the device reset, if the
 * block is damaged or does not fit.
 */
uint8_t *rdma_save(RdmaDev *dev, int64_t now, size_t *len);
/*
 * The same as a section of a greater image, both ways: a personality calls it
 * in its own, after the state that its *_image operations rely on.  Loading
 * first resets the device, and resets it again if the image is found wrong
 * (core_image_error()).
 */
void rdma_image(RdmaDev *dev, CoreImage *im);
bool rdma_load(RdmaDev *dev, int64_t now, const uint8_t *data, size_t len);

#endif
