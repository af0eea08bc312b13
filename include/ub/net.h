/*
 * The UB network layer of one UBPU (UB 2.0 chapter 5): over 1 to
 * UB_NET_MAX_PORTS ports, below the transport layer.
 *
 * Downward: ub_net_send() takes a packet that begins with its TPH (or with what
 * NTH.NLP says) and puts the NTH or the UDP, IP, CCI and NPI in front and the
 * ICRC behind, chooses port and VL and hands it to the port, or keeps it in the
 * egress queue of that port and VL until the port has room.
 *
 * Upward: ub_net_rx() takes a packet from a port, checks length, ICRC and NPI
 * and hands it, without network headers and ICRC, to the upper that LPH.CFG and
 * NTH.NLP name, with a UbFlow that says where it came from.  ub_flow_reply()
 * makes of it the flow of an answer.  What is for another node is forwarded if
 * this one forwards (a switch, a controller with Switch Supported).
 *
 * Whatever is thrown away has a counter that names the reason (UB_NET_COUNTERS).
 *
 * Ports are a table of functions (UbNetOps), so that links, a bench or another
 * net may be below.  One thread at a time; no clock: `now` is in nanoseconds.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef UB_NET_H
#define UB_NET_H

#include "core/fault.h"
#include "core/image.h"
#include "core/option.h"
#include "ub/net_format.h"
#include "ub/packet.h"
#include "ub/space.h"

#define UB_NET_MAX_PORTS 64
#define UB_NET_VLS 16
/* UbFlow.port, .vl: as the net chooses. */
#define UB_NET_ANY 0xff
/* UbFlow.npi: the device's own. */
#define UB_NET_OWN_NPI 0u

/*
 * The network parameters of a packet.  To be sent, begin with ub_flow_init().
 */
typedef struct UbFlow {
    uint8_t cfg;  /* UbLphCfg */
    uint8_t rt;   /* UbRt */
    uint8_t sl;   /* 0 to 15; with IP: by the map of SL and DSCP */
    uint8_t nlp;  /* CFG 6, 7, 9 */
    bool mgmt;    /* CFG 6: sent by the UBFM */
    /* Received: the port and VL that it came by.  Sent: where it shall go, or
     * UB_NET_ANY. */
    uint8_t port, vl;
    uint16_t cci;
    /* CNAs.  To be sent: scna 0 is the CNA of the port it leaves by, or else
     * the Primary CNA; the latter first where packets of one sender leave by several
     * ports, by RT or because they are @steady: the peer knows him by it. */
    uint32_t scna, dcna;
    bool steady;  /* to be sent: sprayed, or of a group of channels */
    uint16_t lbf; /* LBF (8 bits), with IP the UDP source port */
    uint32_t npi; /* with IP: 25 bits; to be sent: or UB_NET_OWN_NPI */
    UbIpPath ip;  /* with IP; to be sent: a source of zeroes is the first address
                   * of that version in the table of local ones */
} UbFlow;

/* A flow to be sent: zeroes, and port and VL as the net chooses. */
void ub_flow_init(UbFlow *flow, UbLphCfg cfg);
/*
 * The flow of an answer to a packet that came with @rx (§5.3.2.2): the same CFG,
 * NLP, SL, LBF, RT and NPI, to the source and from the address that it was sent
 * to; no congestion control, port and VL as the net chooses.  A Mgmt bit is not
 * answered with one.
 */
void ub_flow_reply(UbFlow *tx, const UbFlow *rx);
/* Migration of a flow; one whose CFG, RT or SL cannot be is refused. */
void ub_flow_image(UbFlow *flow, CoreImage *im);

typedef enum UbSend {
    UB_SENT, /* ownership moved */
    UB_BUSY, /* the egress queue is full: the caller keeps the packet, which is
              * unchanged; the op room of its upper follows */
    UB_LOST, /* counted and freed, as a network loses: no way, no NPI ... */
} UbSend;

/* Reasons and occasions that are counted, for each port (of what has none yet:
 * for port 0). */
#define UB_NET_COUNTERS(X) \
    X(TX_PACKETS, "tx-packets") \
    X(TX_BYTES, "tx-bytes") \
    X(RX_PACKETS, "rx-packets") /* from the port, good or not */ \
    X(RX_BYTES, "rx-bytes") \
    X(RX_UP, "rx-up")           /* handed to an upper */ \
    X(FORWARDED, "forwarded") \
    X(LOOPED, "looped")         /* sent to ourselves */ \
    X(MARKED, "fecn-marked") \
    X(CAQM_MARKED, "caqm-marked") \
    X(CAQM_DENIED, "caqm-denied") \
    X(BUSY, "tx-busy") \
    X(NPI_REPLACED, "npi-replaced") \
    X(NPIC, "npic")             /* NPIC messages obeyed */ \
    /* What follows is lost packets. */ \
    X(DROP_SHORT, "drop-short")         /* C.24, shorter than its headers */ \
    X(DROP_LONG, "drop-long")           /* C.24, longer than the protocol has */ \
    X(DROP_ICRC, "drop-icrc")           /* C.28 */ \
    X(DROP_ERROR_FLAG, "drop-error-flag") /* ERROR_FLAG of the LPH */ \
    X(DROP_CFG, "drop-cfg")             /* LPH.CFG reserved or not supported */ \
    X(DROP_NLP, "drop-nlp")             /* NTH.NLP reserved */ \
    X(DROP_MGMT, "drop-mgmt")           /* Mgmt in CFG 9 */ \
    X(DROP_IP, "drop-ip")               /* IP or UDP header breaks a rule */ \
    X(DROP_NPI_INVALID, "drop-npi-invalid") /* ID 0 */ \
    X(DROP_NPI, "drop-npi")             /* does not match */ \
    X(DROP_SPOOF, "drop-spoof")         /* own sender with a foreign address, or
                                         * without any */ \
    X(DROP_NOT_OURS, "drop-not-ours")   /* for another node, and no forwarding */ \
    X(DROP_WRONG_PORT, "drop-wrong-port") /* for a Port CNA of another port */ \
    X(DROP_NO_ROUTE, "drop-no-route") \
    X(DROP_PORT_DOWN, "drop-port-down") /* no port of the route is up */ \
    X(DROP_HOPS, "drop-hops")           /* TTL or Hop Limit used up */ \
    X(DROP_RETURN, "drop-return")       /* would go back the way it came */ \
    X(DROP_QUEUE_FULL, "drop-queue-full") \
    X(DROP_WATCHDOG, "drop-watchdog")   /* §5.3.6: the queue was stuck */ \
    X(DROP_FLUSHED, "drop-flushed")     /* in a queue of a port that went down,
                                         * of a reset, of who migrates */ \
    X(DROP_REFUSED, "drop-refused")     /* the link does not carry VL or length */ \
    X(DROP_NO_UPPER, "drop-no-upper")   /* nobody takes such packets */ \
    X(DROP_NO_ROOM, "drop-no-room")     /* no headroom for the headers */ \
    X(DROP_CONTROL, "drop-control")     /* CFG 5 that breaks a rule */ \
    X(DROP_FAULT, "drop-fault")         /* an injected fault */ \
    X(DROP_BORDER, "drop-border")       /* may not enter the Domain */ \
    X(DROP_NOT_PASSED, "drop-not-passed") /* CFG 5 for this node, which does
                                           * nothing with it */

typedef enum UbNetCounter {
#define UB_NET_X(id, name) UB_NET_##id,
    UB_NET_COUNTERS(UB_NET_X)
#undef UB_NET_X
    UB_NET_COUNTERS_NUM
} UbNetCounter;

/* Its name in the list above, or NULL. */
const char *ub_net_counter_name(unsigned counter);

/* Errors of a port that the record of errors has (table 10-14); the value is the
 * bit in its registers. */
typedef enum UbNetError {
    UB_NET_ERROR_LENGTH = 23, /* C.24 Packet Length Error */
    UB_NET_ERROR_ICRC = 27,   /* C.28 ICRC Check Error */
} UbNetError;

typedef enum UbNpiMode {
    UB_NPI_OPEN,   /* neither stamped nor checked: a transit node */
    UB_NPI_STRICT, /* Model-S: one NPI, put on all that is sent, all that is
                    * received is checked against it */
    UB_NPI_LOOSE,  /* Model-L: the sender's NPI if it is one of the allowed, the
                    * receiver checks; others are filtered here if there is a list
                    * of allowed ones */
} UbNpiMode;

/* The outside below. */
typedef struct UbNetOps {
    /* Whether the port takes a packet on the VL now.  If not, ub_net_room()
     * follows. */
    bool (*room)(void *opaque, unsigned port, unsigned vl);
    /* Send on ub_meta(pkt)->vl, after room() said yes; ownership moves.  False:
     * the link cannot carry it, the caller keeps it.  It must not call back into
     * the net. */
    bool (*send)(void *opaque, unsigned port, CorePacket *pkt);
    /* ub_net_run() has something to do. */
    void (*kick)(void *opaque);
    /* An error to record, of the port that the packet came by or was to leave
     * by, or UB_NET_ANY: of none.  @pkt is there during the call alone; NULL: one of
     * our own that never was whole.  May be NULL. */
    void (*error)(void *opaque, unsigned port, UbNetError error,
                  CorePacket *pkt);
    /* A peer (@own: our own software) broke the rule @text.  May be NULL. */
    void (*rule)(void *opaque, unsigned port, bool own, const char *text);
    /* The VL has no credits of the peer: with UbNetConfig.root_cause its queue is
     * a victim, not a cause.  May be NULL. */
    bool (*starved)(void *opaque, unsigned port, unsigned vl);
    /* The NPI was changed by NPIC.  May be NULL. */
    void (*npi)(void *opaque, uint32_t npi);
    /* What ub_border_judge() says (ub/border.h): NULL, or why a packet may not enter the
     * Domain.  May be NULL: then no UB packet enters by a port with a border. */
    const char *(*border)(const uint8_t *p, uint32_t len);
} UbNetOps;

/* Who takes packets, by LPH.CFG and NTH.NLP. */
typedef enum UbNetTo {
    UB_NET_TP,      /* CFG 3, 4 to UDP port 4792; CFG 6 NLP 0; CFG 7 NLP 0, 2:
                     * begins with TPH (RTPH, UTPH, CTPH) */
    UB_NET_TA,      /* CFG 9: begins with TAH */
    UB_NET_SCAN,    /* CFG 6 NLP 1: begins with UPIH; of any DCNA */
    UB_NET_CONTROL, /* CFG 5: begins with Protocol */
    UB_NET_IP,      /* CFG 3, 4, all else: begins with CCI and NPI */
    UB_NET_UPPERS
} UbNetTo;

typedef struct UbNetUpper {
    /* A packet; ownership moves.  It occupies the receive buffer of its port
     * until it is freed.  ub_net_send() may be called from within. */
    void (*rx)(void *opaque, int64_t now, CorePacket *pkt,
               const UbFlow *flow);
    /* There is room again on a port and VL that ub_net_send() said UB_BUSY of (to
     * whomever).  It may send from within.  May be NULL. */
    void (*room)(void *opaque, int64_t now, unsigned port, unsigned vl);
} UbNetUpper;

#define UB_NET_CONF_NPIS 16

/* Thresholds and bounds are bytes in the egress queue of a port and VL. */
typedef struct UbNetConfig {
    unsigned ports;       /* 1 to UB_NET_MAX_PORTS */
    unsigned ethernet;    /* the last ones of them carry CFG 3 and 4 alone, as UB over
                           * Ethernet (appendix E): CNAs do not lead there, and the
                           * registers do not know them; fewer than all */
    bool forward;         /* Switch Supported */
    bool icrc;            /* §5.3.7; default on */
    bool icrc_scan;       /* the same of enumeration messages (§10.4.3.1) */
    bool icrc_transit;    /* check it of what is forwarded too */
    uint32_t mtu;         /* transport MTU: 1024, 4096, 8192 */
    /* QoS (§5.3.4). */
    uint8_t sl_vl[16];    /* SL to VL */
    uint8_t dscp_sl[64];  /* DSCP to SL */
    uint8_t sl_dscp[16];
    uint16_t vl_strict;   /* bit v: VL v goes before all that are weighted, higher
                           * ones first */
    uint16_t vl_weight[UB_NET_VLS]; /* 0 counts as 1 */
    /* §5.3.6: what came by VL v leaves by vl_out[v]; default the same.  A manager may
     * have other maps for groups of ports (ub/net_hw.h). */
    uint8_t vl_out[UB_NET_VLS];
    int64_t watchdog;     /* ns after which a queue that was not served is thrown
                           * away; 0: never */
    uint32_t queue_limit;   /* of what this node sends; then UB_BUSY */
    uint32_t transit_limit; /* of what it forwards; then lost; 0: the credits of
                             * the UB links bound it, and queue_limit what comes
                             * or leaves by an Ethernet port */
    /* Congestion (§5.3.5). */
    bool fecn, caqm;      /* mark what is forwarded */
    bool root_cause;      /* mark only where congestion begins */
    uint32_t fecn_light, fecn_heavy;
    uint32_t caqm_congested; /* C from here on */
    uint32_t caqm_unit;   /* bytes of one Hint */
    uint64_t edge_ports;  /* bit p: a controller is behind port p (Loc) */
    bool ecn_copy;        /* of IP: ECN to FECN when sent, back when received */
    /* Isolation (§5.3.3). */
    UbNpiMode npi_mode;
    uint32_t npi;         /* own, power-on */
    /* Power-on list of ub_net_npi_allow() for UB_NET_ANY. */
    uint32_t npis[UB_NET_CONF_NPIS];
    unsigned npis_len;
    bool npic;            /* NPIC of the neighbour ends here and is obeyed */
    bool anti_spoof;      /* own senders have only own addresses */
    /* Power-on ports with a border, whether plain IP enters by them, too. */
    uint64_t border_ports;
    bool border_plain;
    uint8_t guid[16];     /* for NPIC; most significant byte first */
    /* Routes (§D.7). */
    uint32_t route_entries; /* N + 1; 0: no ROUTE_TABLE */
    bool exact_supported;
    uint64_t route_default; /* power-on value of the default entry */
    bool hops;            /* forwarding counts TTL and Hop Limit down */
    uint32_t seed;        /* of the hash that spreads flows */
} UbNetConfig;

/* Defaults of a controller with one port. */
void ub_net_config_init(UbNetConfig *cfg);
/* NULL, or the rule that is broken. */
const char *ub_net_config_check(const UbNetConfig *cfg);
/* Its members by name. */
const CoreOption *ub_net_options(unsigned *n);

typedef struct UbNet UbNet;

/* A net whose ports are down and which has no address.  NULL: ub_net_config_
 * check() says why. */
UbNet *ub_net_new(const UbNetConfig *cfg, const UbNetOps *ops, void *opaque);
/* Give up everything, queued packets too.  NULL is ignored. */
void ub_net_free(UbNet *net);
/* Who takes packets of a kind; NULL: nobody. */
void ub_net_set_upper(UbNet *net, UbNetTo to, const UbNetUpper *upper,
                      void *opaque);
/* As after ub_net_new() but for uppers, states of ports and counters: queues
 * are emptied, addresses, IP tables and NPI as configured. */
void ub_net_reset(UbNet *net, int64_t now);

/* ---- Packets --------------------------------------------------------------- */

/*
 * Send a packet (see the head).  It must have UB_PACKET_HEADROOM - 64 less what
 * it has taken in front, and 4 bytes behind: core_packet_alloc() sees to both.
 *
 * A caller may keep a reference to send the same bytes again.  While others have
 * one, the packet is still below and must not be sent again; afterwards it has
 * the network headers in front and the ICRC behind, and the caller sets off and
 * len as they were.
 */
UbSend ub_net_send(UbNet *net, int64_t now, const UbFlow *flow,
                   CorePacket *pkt);
/*
 * Send what is whole but for the ICRC, as software writes it: CFG, RT, VL (or
 * UB_NET_ANY: by SL) in ub_meta(pkt), by @port or UB_NET_ANY.  NPI and anti-spoof
 * rules apply.  CFG 5 goes out by the port, or by the first that is up.
 */
UbSend ub_net_send_raw(UbNet *net, int64_t now, unsigned port,
                       CorePacket *pkt);
/*
 * For packets that pass between software and a port beside the net, as software
 * wrote them and as they came: the rules of isolation (UB 2.0 §5.3.3) hold.
 *
 * ub_net_guard_tx(): CNAs and IP addresses of the sender must be own ones, the NPI
 * of IP forms is put in or checked.  NULL, or the rule that it breaks: then the
 * packet is counted, and is gone.
 * ub_net_guard_rx(): false: the packet's NPI is not accepted, or it was an NPIC,
 * which ends here; it is gone.  ub_net_npic_rx(): true: it was one, and is gone.
 */
const char *ub_net_guard_tx(UbNet *net, unsigned port, CorePacket *pkt);
bool ub_net_guard_rx(UbNet *net, unsigned port, CorePacket *pkt);
bool ub_net_npic_rx(UbNet *net, unsigned port, CorePacket *pkt);
/* The same of the border of the Domain.  False: it does not enter, and is gone. */
bool ub_net_border_rx(UbNet *net, unsigned port, CorePacket *pkt);
/* With ecn_copy, of packets of IP: ECN to the FECN of what is sent (@tx), FECN to
 * the ECN of what came (UB 2.0 §5.3.5.1). */
void ub_net_copy_ecn(const UbNet *net, bool tx, CorePacket *pkt);
/* A packet of a port that somebody above has no use for: it is counted, and is gone. */
void ub_net_refuse(UbNet *net, unsigned port, UbNetCounter why, CorePacket *pkt);
/* What ub_net_send() would say of a flow now: UB_LOST without a way. */
UbSend ub_net_ready(UbNet *net, const UbFlow *flow);

/* A packet from a port, whole; ownership moves. */
void ub_net_rx(UbNet *net, int64_t now, unsigned port, CorePacket *pkt);
/* There is room on a port's VL that the op room said no of. */
void ub_net_room(UbNet *net, int64_t now, unsigned port, unsigned vl);
/* A port came up (with the VLs of the mask) or went down (no VL): then it leaves
 * every route at once, and what waits for it is lost. */
void ub_net_port_state(UbNet *net, int64_t now, unsigned port, uint32_t vls);
uint64_t ub_net_ports_up(const UbNet *net);

/* Work that waits: looped packets, queues, the watchdog.  At most @budget packets
 * are moved.  When to call again, or INT64_MAX. */
int64_t ub_net_run(UbNet *net, int64_t now, unsigned budget);

/* While it rests, nothing that waits here (packets to ourselves, those that a fault
 * delays) goes up: the memory of a machine that stands must not change. */
void ub_net_rest(UbNet *net, bool rest);

/* Faults of packets that come from the ports or leave by them (core/fault.h), in
 * front of every check and behind every header. */
typedef struct UbNetFault {
    CoreFaultPlan plan;
    uint16_t cfgs;        /* bit c: packets of LPH.CFG c count; 0: all */
    /* Whether a packet counts, too; @p from the network header on.  NULL: yes. */
    bool (*match)(void *opaque, unsigned cfg, const uint8_t *p, uint32_t len);
    void *opaque;
} UbNetFault;

/* From now on; what former ones held is lost. */
void ub_net_set_fault(UbNet *net, bool out, const UbNetFault *set);
/* What is set, and how often each kind was done since.  False: there are none. */
bool ub_net_fault(const UbNet *net, bool out, UbNetFault *set,
                  uint64_t done[CORE_FAULT_NUM]);

/* ---- Addresses and routes ----------------------------------------------------- */

/* CNA 0 is none.  With neither, every DCNA is ours (a node that nobody has
 * configured yet). */
void ub_net_set_primary(UbNet *net, uint32_t cna);
/* The transport MTU (MTU_CFG): 1024, 4096 or 8192; others are ignored. */
void ub_net_set_mtu(UbNet *net, uint32_t mtu);
void ub_net_set_port_cna(UbNet *net, unsigned port, uint32_t cna);
uint32_t ub_net_primary(const UbNet *net);
uint32_t ub_net_port_cna(const UbNet *net, unsigned port);
/* Whether a CNA is one of this node's. */
bool ub_net_is_own(const UbNet *net, uint32_t cna);

/* Local IP addresses, of version @cfg.  False: the table is full, or it is not
 * there. */
#define UB_NET_MAX_IPS 64
bool ub_net_ip_add(UbNet *net, unsigned cfg, const uint8_t *ip);
bool ub_net_ip_remove(UbNet *net, unsigned cfg, const uint8_t *ip);
/* The @i-th of them, oldest first: its version, and @ip has 16 bytes.  False: there
 * are fewer. */
bool ub_net_ip_at(const UbNet *net, unsigned i, unsigned *cfg, uint8_t *ip);
/* Whether an address is one of them. */
bool ub_net_ip_is_local(const UbNet *net, unsigned cfg, const uint8_t *ip);
/* Whether a packet from a port is for the transport at one of these addresses:
 * what of CFG 3 and 4 is not the business of other software. */
bool ub_net_ip_is_ours(const UbNet *net, CorePacket *pkt);

/* The entry of a DCNA: bit p: it may leave by port p.  False: beyond the table
 * (of route_entries). */
bool ub_net_route_set(UbNet *net, uint32_t dcna, uint64_t ports);
uint64_t ub_net_route_get(const UbNet *net, uint32_t dcna);
void ub_net_route_default(UbNet *net, uint64_t ports);
void ub_net_route_exact(UbNet *net, bool on);
/* Ports of a DCNA that are on shortest paths: RT[1] (the registers do not say it;
 * 0: all of the entry). */
bool ub_net_route_shortest(UbNet *net, uint32_t dcna, uint64_t ports);
/* Routes of IP prefixes, the longest wins; no ports: it goes away. */
#define UB_NET_MAX_IP_ROUTES 4096
bool ub_net_ip_route(UbNet *net, unsigned cfg, const uint8_t *ip,
                     unsigned prefix, uint64_t ports);
/* The @i-th of them, the longest prefixes first.  False: there are fewer. */
typedef struct UbIpRoute {
    uint8_t cfg, prefix;
    uint8_t ip[16];
    uint64_t ports;
} UbIpRoute;
bool ub_net_ip_route_at(const UbNet *net, unsigned i, UbIpRoute *route);
/* Ports of the longest prefix that has an address; 0: no route has it. */
uint64_t ub_net_ip_ports(const UbNet *net, unsigned cfg, const uint8_t *ip);
uint64_t ub_net_shortest_get(const UbNet *net, uint32_t dcna);
uint64_t ub_net_default_get(const UbNet *net);
bool ub_net_exact_get(const UbNet *net);
/* Grows with each change of routes and ports: who caches a choice asks again. */
uint32_t ub_net_route_gen(const UbNet *net);

/* The registers of ROUTE_TABLE in @space, if there are entries; they are the
 * net's from now on.  False: the space has no place for them. */
bool ub_net_attach(UbNet *net, UbSpace *space);
/* CFG0_CAP242 in @space (ub/net_hw.h): partitions and maps of VLs for a manager. */
bool ub_net_attach_policy(UbNet *net, UbSpace *space);

/* ---- Isolation ------------------------------------------------------------------ */

void ub_net_set_npi(UbNet *net, uint32_t npi);
/* The same by somebody who may: NPIC, a manager.  The op npi is called. */
void ub_net_change_npi(UbNet *net, uint32_t npi);
uint32_t ub_net_npi(const UbNet *net);
/* NPIs that may pass a port (edge check of a switch), or in loose mode with
 * UB_NET_ANY that own senders may use; none: all. */
#define UB_NET_MAX_NPIS 256
bool ub_net_npi_allow(UbNet *net, unsigned port, uint32_t npi);
void ub_net_npi_clear(UbNet *net, unsigned port);
/* One of them no more.  False: it was none. */
bool ub_net_npi_disallow(UbNet *net, unsigned port, uint32_t npi);
/* An empty list of a port lets all pass, or nothing where it is closed. */
void ub_net_npi_close(UbNet *net, unsigned port, bool closed);
bool ub_net_npi_closed(const UbNet *net, unsigned port);
/* The list of a port or of own senders, which stays the net's; how long it is. */
unsigned ub_net_npi_list(const UbNet *net, unsigned port,
                         const uint32_t **npis);
uint32_t ub_net_npi_replaced(const UbNet *net, unsigned port);
/* What comes in by a port gets this NPI; 0: it keeps its own. */
void ub_net_npi_replace(UbNet *net, unsigned port, uint32_t npi);
/*
 * Border of the UB Domain (§11.4.2): with UB_NET_BORDER, of packets of IP only those
 * enter by the port that the op border lets in; with UB_NET_BORDER_PLAIN besides, IP that
 * is no UB packet does, too.  The rest is counted (drop-border).
 */
#define UB_NET_BORDER 1u
#define UB_NET_BORDER_PLAIN 2u
void ub_net_set_border(UbNet *net, unsigned port, unsigned border);
unsigned ub_net_border(const UbNet *net, unsigned port);

/* ---- Views ------------------------------------------------------------------------ */

uint64_t ub_net_counter(const UbNet *net, unsigned port, UbNetCounter counter);
/* Over all ports. */
uint64_t ub_net_total(const UbNet *net, UbNetCounter counter);
/* Bytes in the egress queue. */
uint32_t ub_net_queued(const UbNet *net, unsigned port, unsigned vl);
const UbNetConfig *ub_net_config(const UbNet *net);
/* Other settings: all but ports, route_entries and forward may change. */
const char *ub_net_configure(UbNet *net, const UbNetConfig *cfg);

/* Migration: addresses, IP tables, routes, NPI, counters; what is queued is lost
 * with the links, and counted so (drop-flushed).  Registers are the space's, which is
 * loaded before. */
void ub_net_image(UbNet *net, CoreImage *im);

#endif
