/*
 * The network layer: what its files share.  Each file may call those above it
 * in this list, and none below.
 *
 *   count.c    counters, errors
 *   address.c  CNAs and IP addresses of this node
 *   route.c    routes and the choice of a port
 *   npi.c      isolation
 *   mark.c     congestion marks
 *   queue.c    egress queues
 *   fault.c    injected faults
 *   tx.c       downward
 *   control.c  what of CFG 5 ends here
 *   border.c   what of IP enters the Domain
 *   rx.c       upward, forwarding
 *   regs.c     ROUTE_TABLE
 *   policy.c   CFG0_CAP242: partitions, borders and maps of VLs
 *   net.c      life, work
 *   image.c    migration
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef HW_UB_NET_INTERNAL_H
#define HW_UB_NET_INTERNAL_H

#include "ub/net.h"

/* Packets that may wait in the loop. */
#define NET_LOOP_MAX 1024
/* All headers above the network layer, and what stands behind the payload:
 * RTPH, CETPH and SAETPH, CIPH, UPIH, EIDH, TAH, byte enables, padding, ICV. */
#define NET_UPPER_HEADERS 512

typedef struct NetQueue {
    CorePacket *head, **tail;
    uint32_t bytes;
    uint32_t deficit; /* of the weighted turn */
    int64_t served;   /* when it was last served, or was empty */
    bool refused;     /* somebody was told UB_BUSY */
} NetQueue;

typedef struct NetNpis {
    uint32_t *npi;
    unsigned n;
} NetNpis;

typedef struct NetPort {
    uint32_t vls;    /* 0: down */
    uint32_t queued; /* bit v: queue v is not empty */
    uint32_t cna;
    unsigned turn;   /* VL whose weighted turn it is */
    uint32_t npi_replace;
    bool npi_closed; /* an empty list lets nothing pass */
    uint8_t border;  /* UB_NET_BORDER... */
    NetNpis allowed;
    NetQueue queue[UB_NET_VLS];
    uint64_t count[UB_NET_COUNTERS_NUM];
} NetPort;

typedef struct NetIp {
    uint8_t cfg;
    uint8_t prefix; /* bits; of a local address all */
    uint8_t ip[16];
    uint64_t ports;
} NetIp;

typedef struct NetRoutes {
    uint64_t *entry;    /* of route_entries */
    uint64_t *shortest; /* the same; NULL: none was ever set */
    uint64_t all;       /* the default entry */
    bool exact;
    NetIp *ip;          /* the longest prefixes first */
    unsigned ips;
    uint32_t gen, spray;
    UbSpaceSlice table; /* of the registers */
    UbSlice *slice;     /* NULL: not attached */
} NetRoutes;

/* Maps of VLs by groups of ports: bits 1:0 of a port's are the in-group, 3:2 the
 * out-group. */
#define NET_VL_GROUPS 4
typedef struct NetVlMaps {
    uint8_t group[UB_NET_MAX_PORTS];
    uint8_t out[NET_VL_GROUPS][NET_VL_GROUPS][UB_NET_VLS];
} NetVlMaps;

typedef struct NetFault NetFault;

struct UbNet {
    UbNetConfig conf;
    UbNetOps ops;
    void *opaque;
    struct {
        const UbNetUpper *ops;
        void *opaque;
    } upper[UB_NET_UPPERS];
    NetPort *port;
    uint64_t up, busy; /* ports: up; with queued packets */
    uint32_t primary;
    uint64_t cna_ports; /* those with a Port CNA */
    NetIp local[UB_NET_MAX_IPS];
    unsigned locals;
    NetRoutes routes;
    uint32_t npi;
    NetNpis allowed;   /* of own senders */
    NetVlMaps vl;
    CorePacket *loop, **loop_tail;
    unsigned looped;
    bool loop_refused;  /* somebody was told UB_BUSY of the loop */
    bool running;
    bool resting;      /* nothing that waits here goes up */
    NetFault *fault[2]; /* of what comes, of what leaves; NULL: none was set */
};

/* ---- count.c ---- */
static inline void net_count(UbNet *net, unsigned port, UbNetCounter c)
{
    net->port[port].count[c]++;
}
/* Count a packet that is lost, for a reason, and free it. */
void net_drop(UbNet *net, unsigned port, UbNetCounter why, CorePacket *pkt);
/* The same with the rule that was broken. */
void net_drop_rule(UbNet *net, unsigned port, bool own, UbNetCounter why,
                   CorePacket *pkt, const char *rule);
void net_error(UbNet *net, unsigned port, UbNetError error, CorePacket *pkt);
void net_kick(UbNet *net);

/* ---- address.c ---- */
/* How CNAs of a CFG compare. */
static inline uint32_t net_cna_mask(unsigned cfg)
{
    return cfg == UB_LPH_CNA24 ? 0xffffff : 0xffff;
}
typedef enum NetOwn { NET_FOREIGN, NET_OWN, NET_OWN_ELSEWHERE } NetOwn;
/* Whose a DCNA is that came by a port. */
NetOwn net_own_cna(const UbNet *net, unsigned cfg, unsigned port,
                   uint32_t dcna);
/* A sender's address: one of ours, or there are none. */
bool net_may_be_source(const UbNet *net, unsigned cfg, uint32_t scna);
/* The first local address of a version, or NULL. */
const NetIp *net_first_ip(const UbNet *net, unsigned cfg);

/* ---- route.c ---- */
/* What the choice of a port depends on. */
typedef struct NetKey {
    unsigned cfg, rt, vl;
    uint32_t dcna;
    const uint8_t *ip; /* destination */
    uint32_t hash;     /* of the flow */
} NetKey;
uint32_t net_hash(const UbNet *net, const void *bytes, unsigned n,
                  uint32_t hash);
/* Ports that lead to a destination, whether up or not. */
uint64_t net_route_ports(const UbNet *net, const NetKey *key);
/* One of @ports, which is not 0. */
unsigned net_route_choose(UbNet *net, const NetKey *key, uint64_t ports);
uint64_t net_all_ports(const UbNet *net);
/* Those that are UB links, and how many: what a CNA may lead to. */
static inline unsigned net_links(const UbNet *net)
{
    return net->conf.ports - net->conf.ethernet;
}
uint64_t net_link_ports(const UbNet *net);

/* The VL by which what came by a port and VL leaves by another port. */
static inline unsigned net_vl_out(const UbNet *net, unsigned in, unsigned out,
                                  unsigned vl)
{
    return net->vl.out[net->vl.group[in] & 3][net->vl.group[out] >> 2 & 3]
                      [vl & 15];
}

/* ---- npi.c ---- */
bool net_npi_listed(const NetNpis *list, uint32_t npi);
/* Whether a port lets an NPI pass, which way ever. */
bool net_npi_passes(const NetPort *port, uint32_t npi);
/* Own NPI and list as configured. */
void net_npi_power_on(UbNet *net);
/* The NPI of what an own sender sends with @npi, or 0: not allowed, *why. */
uint32_t net_npi_stamp(const UbNet *net, uint32_t npi, UbNetCounter *why);
/* Whether an own receiver takes what came with @npi. */
bool net_npi_accepts(const UbNet *net, uint32_t npi, UbNetCounter *why);

/* ---- mark.c ---- */
/* Mark a packet that is forwarded by a port on a VL. */
void net_mark(UbNet *net, unsigned port, unsigned vl, CorePacket *pkt);

/* ---- queue.c ---- */
void net_queues_init(NetPort *p);
/* Whether one more packet of own senders fits; else room is told. */
bool net_queue_room(UbNet *net, unsigned port, unsigned vl);
/* All above may send again on a VL of a port. */
void net_tell_room(UbNet *net, int64_t now, unsigned port, unsigned vl);
/* Out by the port or into its queue. */
void net_queue_put(UbNet *net, int64_t now, unsigned port, unsigned vl,
                   CorePacket *pkt);
/* Send what there is room for, @budget packets at most; those that are left. */
unsigned net_queue_drain(UbNet *net, int64_t now, unsigned port,
                         unsigned budget);
/* How many wait for a port. */
uint32_t net_queue_packets(const UbNet *net, unsigned port);
/* Throw away what waits for a port. */
void net_queue_flush(UbNet *net, int64_t now, unsigned port, UbNetCounter why);
/* Throw away queues that are stuck; when to look again. */
int64_t net_queue_watch(UbNet *net, int64_t now);
/* The VL of the port for one that was asked for. */
unsigned net_queue_vl(const UbNet *net, unsigned port, unsigned vl);

/* ---- fault.c ---- */
/* Where a packet goes on to. */
typedef void NetFaultSink(UbNet *net, int64_t now, unsigned port, unsigned vl,
                          CorePacket *pkt);
void net_fault_set(UbNet *net, bool out, const UbNetFault *set,
                   NetFaultSink *sink);
/* Faults end; what they hold is lost. */
void net_fault_free(UbNet *net);
/* What they hold is lost. */
void net_fault_drop(UbNet *net);
/* How many of a port they hold. */
uint32_t net_fault_held(const UbNet *net, unsigned port);
/* True: the packet is theirs, and goes on to the sink or nowhere. */
bool net_fault_takes(UbNet *net, bool out, int64_t now, unsigned port,
                     unsigned vl, CorePacket *pkt);
/* Let go what is due; when to call again. */
int64_t net_fault_run(UbNet *net, bool out, int64_t now);

/* ---- tx.c ---- */
/* A packet leaves by a port and VL. */
void net_leave(UbNet *net, int64_t now, unsigned port, unsigned vl,
               CorePacket *pkt);
/* The same, behind the faults. */
NetFaultSink net_leave_sound;
/* Put ICRC behind a packet whose network header is in front; false: no room. */
bool net_seal(const UbNet *net, unsigned cfg, bool scan, CorePacket *pkt);
/* Whether packets of this kind carry an ICRC here. */
static inline bool net_sealed(const UbNet *net, unsigned cfg, bool scan)
{
    return ub_has_icrc(cfg) && (scan ? net->conf.icrc_scan : net->conf.icrc);
}

/* ---- control.c ---- */
/* A packet of CFG 5: true, it ended here. */
bool net_control(UbNet *net, unsigned port, CorePacket *pkt);

/* ---- rx.c ---- */
/* A packet of a port, behind the faults. */
NetFaultSink net_rx_sound;
/* A packet that was looped: checks of a wire are left out. */
void net_rx_loop(UbNet *net, int64_t now, CorePacket *pkt);

/* ---- regs.c ---- */
/* Routes are what the registers say. */
void net_regs_load(UbNet *net);
/* An entry (-1: the default one) was changed from within. */
void net_regs_entry(UbNet *net, int64_t entry);
void net_regs_exact(UbNet *net);
void net_regs_free(UbNet *net);

/* ---- border.c ---- */
/* Whether a packet of IP, which begins with CCI and NPI, enters by a port; else *rule. */
bool net_border_admits(const UbNet *net, unsigned port, CorePacket *pkt,
                       const UbIpInfo *info, const char **rule);
/* Borders as configured. */
void net_border_power_on(UbNet *net);

/* ---- policy.c ---- */
/* Maps of VLs as configured, all ports in one group. */
void net_vl_power_on(UbNet *net);

#endif
