/*
 * UB over Ethernet (UB 2.0 appendix E): the end of an Ethernet link that packets of
 * LPH.CFG 3 and 4 leave by and come by, a port of a UB2E Switch.
 *
 * Downward: ub_uboe_send() takes a packet as the network layer hands it to a port,
 * CCI and NPI in front.  They go; IP and what is behind it stay, in a frame to the
 * station that has the address or to the router of its prefix.  NPI names the VLAN,
 * FECN becomes ECN.  Upward: ub_uboe_rx() takes a frame and makes such a packet.
 *
 * Who has an address is asked by ARP and Neighbour Discovery, with the packet's own
 * source; who asks for an address that the owner says is behind it is answered.
 * Both may be replaced by neighbours that are set.
 *
 * What is no packet of UB (UDP port 4792) may pass too; on Ethernet it has no ICRC.
 *
 * Faults may be injected into the frames of either direction (core/fault.h).
 *
 * A core: no clock, no sockets, one thread at a time; `now` is in nanoseconds.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef UB_UBOE_H
#define UB_UBOE_H

#include "core/fault.h"
#include "core/image.h"
#include "ub/net_format.h"
#include "ub/packet.h"

#define UB_ETHER_MAC 6
/* The longest IP packet that may be asked for, and its frame with a VLAN tag. */
#define UB_UBOE_MTU_MAX 9216
#define UB_UBOE_FRAME_MAX (UB_UBOE_MTU_MAX + 18)
#define UB_UBOE_VLAN_MAX 4094

/* A MAC of six pairs of hexadecimal digits with : between; false: it is none. */
bool ub_ether_mac(const char *text, uint8_t mac[UB_ETHER_MAC]);
/* An address of many, of none or of a node itself: no neighbour has it.  @cfg is
 * UB_LPH_IPV4 or _IPV6. */
bool ub_ether_ip_is_group(unsigned cfg, const uint8_t *ip);

typedef struct UbUboe UbUboe;

typedef struct UbUboeConfig {
    uint8_t mac[UB_ETHER_MAC];
    uint32_t mtu;     /* the longest IP packet, 1280 to UB_UBOE_MTU_MAX */
    bool ecn;         /* FECN to ECN and back; else ECN stays, and there is no CCI */
    bool vlans;       /* NPI to VLAN ID and back; else nothing has a tag */
    uint32_t npi;     /* of frames without a tag; 0: there are to be none */
    bool plain;       /* what is not UB's passes too */
    bool icrc;        /* on UB links it has an ICRC */
    bool answer;      /* who asks for an address behind us is answered */
    int64_t retry;    /* from one question to the next; there are three */
    int64_t age;      /* after which a neighbour is asked again */
} UbUboeConfig;

/* Occasions that are counted, and reasons of what is lost. */
#define UB_UBOE_COUNTERS(X) \
    X(TX_FRAMES, "tx-frames") \
    X(TX_BYTES, "tx-bytes") \
    X(RX_FRAMES, "rx-frames")           /* good or not */ \
    X(RX_BYTES, "rx-bytes") \
    X(RX_PACKETS, "rx-packets")         /* handed on */ \
    X(ASKED, "asked")                   /* ARP and ND: sent … */ \
    X(ANSWERED, "answered")             /* … and answered */ \
    X(LEARNED, "learned")               /* neighbours, new or with another MAC */ \
    X(ECN, "ecn-to-fecn")               /* congestion met on Ethernet */ \
    X(FECN, "fecn-to-ecn")              /* and on UB */ \
    /* What follows is lost. */ \
    X(DROP_DOWN, "drop-down")           /* no Ethernet link */ \
    X(DROP_CFG, "drop-cfg")             /* not CFG 3 or 4 */ \
    X(DROP_IP, "drop-ip")               /* IP or UDP header breaks a rule */ \
    X(DROP_ICRC, "drop-icrc")           /* of what is not UB's, as it leaves UB */ \
    X(DROP_PLAIN, "drop-plain")         /* not UB's, and that is not to pass */ \
    X(DROP_LONG, "drop-long")           /* longer than the MTU */ \
    X(DROP_GROUP, "drop-group")         /* to many: UB has no such routes */ \
    X(DROP_NPI, "drop-npi")             /* an NPI that no VLAN has */ \
    X(DROP_VLAN, "drop-vlan")           /* a VLAN that no NPI has */ \
    X(DROP_UNRESOLVED, "drop-unresolved") /* nobody has the address */ \
    X(DROP_HELD, "drop-held")           /* too many wait for an answer */ \
    X(DROP_BUSY, "drop-busy")           /* Ethernet took no frame */ \
    X(DROP_SHORT, "drop-short")         /* a frame shorter than its headers */ \
    X(DROP_MAC, "drop-mac")             /* for another station, or from many */ \
    X(DROP_TYPE, "drop-type")           /* another EtherType */ \
    X(DROP_SPOOF, "drop-spoof")         /* from an address that is behind us */ \
    X(DROP_QUESTION, "drop-question")   /* ARP or ND that breaks a rule */ \
    X(DROP_NO_ROOM, "drop-no-room")     /* no buffer */ \
    X(DROP_RESTING, "drop-resting")     /* the node takes nothing now */ \
    X(DROP_FAULT, "drop-fault")         /* an injected fault */

typedef enum UbUboeCounter {
#define UB_UBOE_X(id, name) UB_UBOE_##id,
    UB_UBOE_COUNTERS(UB_UBOE_X)
#undef UB_UBOE_X
    UB_UBOE_COUNTERS_NUM
} UbUboeCounter;

/* Its name in the list above, or NULL. */
const char *ub_uboe_counter_name(unsigned counter);

/* The outside.  Callbacks must not call the link. */
typedef struct UbUboeOps {
    /* Send a frame without FCS, 60 bytes or more.  False: it is lost. */
    bool (*send)(void *opaque, const uint8_t *frame, uint32_t len);
    /* A packet for the network layer, CCI and NPI in front, CFG in ub_meta(pkt);
     * ownership moves.  @dscp is that of its IP header. */
    void (*rx)(void *opaque, int64_t now, CorePacket *pkt, unsigned dscp);
    /* Whether an address is behind us. */
    bool (*ours)(void *opaque, unsigned cfg, const uint8_t *ip);
    /* ub_uboe_run() has something to do. */
    void (*kick)(void *opaque);
    /* Somebody on Ethernet broke a rule.  May be NULL. */
    void (*rule)(void *opaque, const char *text);
    /* Whether the node takes no packets now: they are lost, but questions are
     * answered.  May be NULL: never. */
    bool (*rests)(void *opaque);
} UbUboeOps;

/* Defaults: MTU 9216, FECN to ECN, no VLANs, NPI UB_NPI_DEFAULT, all passes and is
 * answered.  The MAC is zeroes: it must be set. */
void ub_uboe_config_init(UbUboeConfig *cfg);
/* NULL, or the rule that is broken. */
const char *ub_uboe_config_check(const UbUboeConfig *cfg);

/* A link that is down.  Packets come of @pool, which outlives it.  NULL: ub_uboe_
 * config_check() says why. */
UbUboe *ub_uboe_new(const UbUboeConfig *cfg, CorePacketPool *pool,
                    const UbUboeOps *ops, void *opaque);
/* NULL is ignored. */
void ub_uboe_free(UbUboe *u);
/* Neighbours that were learned are forgotten, and what waits for them is lost;
 * counters begin anew. */
void ub_uboe_reset(UbUboe *u);
const UbUboeConfig *ub_uboe_config(const UbUboe *u);
/* NULL, or the rule that is broken: then nothing changed. */
const char *ub_uboe_configure(UbUboe *u, const UbUboeConfig *cfg);

/* The Ethernet link came up or went down. */
void ub_uboe_link(UbUboe *u, bool up);
/* A packet for Ethernet; ownership moves. */
void ub_uboe_send(UbUboe *u, int64_t now, CorePacket *pkt);
/* A frame of Ethernet, without FCS. */
void ub_uboe_rx(UbUboe *u, int64_t now, const uint8_t *frame, uint32_t len);
/* Ask again, forget, let go what a fault delays; when to call again, or
 * INT64_MAX. */
int64_t ub_uboe_run(UbUboe *u, int64_t now);

/* ---- Faults ----------------------------------------------------------------------- */

/* Of frames that leave (@out) or come, in front of every check, from now on; what
 * former ones held is lost. */
void ub_uboe_set_fault(UbUboe *u, bool out, const CoreFaultPlan *plan);
/* What is set, and how often it was done. */
const CoreFault *ub_uboe_fault(const UbUboe *u, bool out);

/* ---- Tables ---------------------------------------------------------------------- */

/* The VLAN of an NPI; each has one of the other.  NPI 0: the VLAN has none any more.
 * NULL, or what is wrong. */
const char *ub_uboe_vlan_set(UbUboe *u, unsigned vlan, uint32_t npi);
/* The NPI of a VLAN ID (0: of frames without a tag), or 0. */
uint32_t ub_uboe_vlan_npi(const UbUboe *u, unsigned vlan);

/* Neighbours, those that were set and those that were learned. */
#define UB_UBOE_NEIGHBOURS 1024
typedef struct UbUboeNeighbour {
    uint16_t vlan;
    uint8_t cfg;      /* UB_LPH_IPV4 or _IPV6 */
    uint8_t ip[16];
    uint8_t mac[UB_ETHER_MAC];
    bool fixed;       /* it was set */
    bool known;       /* it has a MAC */
    uint32_t held;    /* packets that wait for it */
} UbUboeNeighbour;
/* A neighbour that needs no question, and what waited for it goes; @mac NULL: forget
 * it.  NULL, or what is wrong. */
const char *ub_uboe_neighbour_set(UbUboe *u, int64_t now, unsigned vlan,
                                  unsigned cfg, const uint8_t *ip,
                                  const uint8_t *mac);
void ub_uboe_neighbours(UbUboe *u,
                        void (*fn)(void *opaque, const UbUboeNeighbour *n),
                        void *opaque);

/* Prefixes behind a router; the longest wins, what none has is on the link.  @via
 * NULL: the prefix is on the link as well; @on false: the row goes. */
#define UB_UBOE_ROUTES 64
typedef struct UbUboeRoute {
    uint8_t cfg, prefix;
    bool direct;
    uint8_t ip[16], via[16];
} UbUboeRoute;
const char *ub_uboe_route_set(UbUboe *u, unsigned cfg, const uint8_t *ip,
                              unsigned prefix, const uint8_t *via, bool on);
/* The @i-th; false: there are fewer. */
bool ub_uboe_route_at(const UbUboe *u, unsigned i, UbUboeRoute *r);

/* ---- Views ----------------------------------------------------------------------- */

uint64_t ub_uboe_counter(const UbUboe *u, UbUboeCounter counter);
bool ub_uboe_up(const UbUboe *u);

/* ---- Migration -------------------------------------------------------------------- */

#define UB_UBOE_TAG CORE_TAG('U', 'B', 'O', 'E')
/* One section: neighbours that have a MAC, prefixes, VLANs, counters; settings must be the same.
 * Questions under way and what waits for them are lost.  Whether the link is up, and
 * faults, stay those of here.  An image that is refused leaves the tables empty. */
void ub_uboe_image(UbUboe *u, CoreImage *im);

#endif
