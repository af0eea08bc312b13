/*
 * RC Link: the engine of a port.  TYPE1 (reliable unicast), TYPE2 (multicast)
 * and TYPE3 (Ethernet), rate and flow control, registers, host rings.
 *
 * Time is an argument, in nanoseconds; guest memory, wire and interrupts are
 * callbacks.  Not for several threads at once.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef RCLINK_RCLINK_H
#define RCLINK_RCLINK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/fault.h"
#include "rclink/format.h"
#include "rclink/rclink_hw.h"

enum {
    RCL_QPS_MAX = 1024,
    RCL_BANKS = 4,
    RCL_OST1_MAX = 512,
    RCL_OST2_MAX = 16,
    RCL_PAYLOAD = 1344,         /* as the document has it */
    RCL_PAYLOAD_MIN = 64,
    RCL_TIME_SCALE_MAX = 1000000,
    /* Bytes in front of each frame that the op wire_tx gets, for its length. */
    RCL_WIRE_PREFIX = 4,
    /* Longest frame that is handed over or taken, without FCS. */
    RCL_WIRE_MAX = 9216,
};

typedef struct Rclink Rclink;

typedef struct RclCounters {
#define RCL_COUNTER_FIELD(name, text) uint64_t name;
    RCL_COUNTERS(RCL_COUNTER_FIELD)
#undef RCL_COUNTER_FIELD
} RclCounters;

typedef struct RclinkOps {
    /* Guest memory; false: the access failed. */
    bool (*read)(void *opaque, uint64_t addr, void *buf, size_t len);
    bool (*write)(void *opaque, uint64_t addr, const void *buf, size_t len);
    /* Call @fn with @len bytes of guest memory where they lie, to be read or, with
     * @write, written before it returns; others may do so as well.  False: @fn was
     * not called, and the two above are to be tried.  May be NULL. */
    bool (*reach)(void *opaque, uint64_t addr, size_t len, bool write,
                  void (*fn)(void *ctx, void *data), void *ctx);
    /* Frames leave: each behind its length (32 bits, big-endian). */
    void (*wire_tx)(void *opaque, const uint8_t *data, size_t len);
    /* Send the message of an MSI-X vector. */
    void (*msix)(void *opaque, unsigned vector);
    /* rclink_run() is to be called soon. */
    void (*kick)(void *opaque);
    /* The driver broke rule @rule: @text, about @value. */
    void (*guest_error)(void *opaque, const char *rule, const char *text,
                        uint64_t value);
    /* Each frame as the wire has it, without FCS, for captures; may be NULL. */
    void (*frame)(void *opaque, bool tx, const uint8_t *frame, size_t len);
} RclinkOps;

typedef struct RclinkConfig {
    const RclinkOps *ops;
    void *opaque;
    uint8_t mac[6];
    uint32_t qps;               /* power of two, 4 to RCL_QPS_MAX */
    uint32_t vcs;               /* TYPE1_VC_NUM: 1, 2, 4 */
    uint32_t ost1, ost2;
    uint32_t speed;             /* 200 or 400 Gb/s */
    uint32_t payload;           /* limit of TYPE1 and TYPE2 */
    uint32_t rx2_bytes;         /* TYPE2's receive buffer */
    uint32_t time_scale;
    RclRhOrder rh_order;
    bool slap, lite_high, icrc_roce, udp_csum_ffff;
    bool cfg_packed;            /* AFH_CFG_EN in layout B */
} RclinkConfig;

/* Faults that are no damage to single frames. */
typedef struct RclinkFaults {
    bool lose_credits;          /* CBFC frames that arrive are lost */
    uint8_t pause_storm;        /* classes that this port always stops */
    bool dma;                   /* every access to guest memory fails */
    bool fcs;                   /* every frame that arrives has a bad FCS */
} RclinkFaults;

/* The document's values. */
void rclink_config_init(RclinkConfig *cfg);
/* What is wrong with a configuration, or NULL. */
const char *rclink_config_check(const RclinkConfig *cfg);

/* A port after reset, with the link down.  @cfg has been checked. */
Rclink *rclink_new(const RclinkConfig *cfg);
/* Give it up.  NULL is ignored. */
void rclink_free(Rclink *d);
/* Reset of the function: everything but faults, counters and the link. */
void rclink_reset(Rclink *d);

/* Registers below RCL_BAR_MSIX_TABLE: aligned accesses of 4 or 8 bytes. */
uint64_t rclink_read(Rclink *d, uint64_t addr, unsigned size, int64_t now);
void rclink_write(Rclink *d, uint64_t addr, uint64_t val, unsigned size,
                  int64_t now);

/* A frame came in.  The op kick follows, unless rclink_run() is running. */
void rclink_rx(Rclink *d, const uint8_t *frame, size_t len, int64_t now);
/*
 * Do what there is to do, sending @packets at most.  When to call again: a
 * time, @now for at once, INT64_MAX for never.
 */
int64_t rclink_run(Rclink *d, int64_t now, unsigned packets);

/* The wire takes no more, or does again; the op kick follows. */
void rclink_wire_stop(Rclink *d, bool stop);
/* The peer came or went. */
void rclink_link(Rclink *d, bool up);
/* The MAC was reset: credits and pauses.  The port goes on with VCs set up anew from
 * their registers, and the driver is told (vector 7, event 8). */
void rclink_mac_reset(Rclink *d);

RclCounters *rclink_counters(Rclink *d);
/* Faults of single frames, at this end of the wire. */
void rclink_fault_set(Rclink *d, bool out, const CoreFaultPlan *plan);
void rclink_fault_get(Rclink *d, bool out, CoreFaultPlan *plan);
/* The others, to be read and written; then rclink_faults_changed(). */
RclinkFaults *rclink_faults(Rclink *d);
void rclink_faults_changed(Rclink *d);

/* ---- for monitors ---- */

typedef struct RclQpInfo {
    bool enabled, fatal, rate_masked, rnr;
    uint16_t tx_psn, una, epsn;
    uint32_t outstanding, rate;
    uint8_t retries;
} RclQpInfo;

typedef struct RclVcInfo {
    bool ready;
    uint32_t size, limit, left;
    bool paused, stopping;      /* PFC class of the same number */
} RclVcInfo;

/* A ring of the driver: the four of ours, then TYPE3's of descriptors. */
enum { RCL_RING_INFOS = RCL_RINGS + 2 };

typedef struct RclRingInfo {
    const char *name;
    bool enabled, stopped;      /* by an error, until it is set up anew */
    uint64_t base;
    uint32_t entries, head, tail;
} RclRingInfo;

typedef struct RclInfo {
    bool link, enabled, wire_stopped;
    RclFormat format;
    uint32_t free1, free2, multicast_left;
    RclVcInfo vc[8];
    RclRingInfo ring[RCL_RING_INFOS];
} RclInfo;

void rclink_info(Rclink *d, RclInfo *info);
/* False: there is no such QP. */
bool rclink_qp_info(Rclink *d, uint32_t qp, RclQpInfo *info);

/* ---- migration ---- */

/* The machine stops: entries of rings that are done and not yet in guest memory
 * go there.  To be called before that memory is saved. */
void rclink_settle(Rclink *d);
/* The state, to be freed with g_free(). */
uint8_t *rclink_save(Rclink *d, int64_t now, size_t *len);
/* NULL, or what is wrong; then the port is as after a reset. */
const char *rclink_load(Rclink *d, int64_t now, const uint8_t *data,
                        size_t len);

#endif
