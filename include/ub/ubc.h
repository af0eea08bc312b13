/*
 * The UB controller: ports with PHY, data link layer and wire, the
 * configuration space and the host interface of ubc_hw.h, without PCI.
 *
 * The shell gives it guest memory, interrupts, byte streams and time, and
 * calls it from one thread at a time.  Register accesses and received bytes
 * only note work; ubc_run() does it.  A call that made work says so by
 * ops->kick, so that the shell may run it later (a bottom half).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef UB_UBC_H
#define UB_UBC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ub/lds.h"
#include "ub/node.h"
#include "ub/port.h"
#include "ub/responder.h"
#include "ub/shp.h"
#include "ub/ubc_hw.h"
#include "ub/uboe.h"
#include "ub/ummu.h"
#include "ub/urma.h"

typedef struct Ubc Ubc;

typedef struct UbcOps {
    /* Guest memory; false where there is none.  Four or eight bytes, aligned to
     * their number, are written by one store, after all before them. */
    bool (*dma_read)(void *opaque, uint64_t addr, void *buf, uint32_t len);
    /* The same for what the monitor asks, without a log of failures; may be NULL. */
    bool (*dma_peek)(void *opaque, uint64_t addr, void *buf, uint32_t len);
    bool (*dma_write)(void *opaque, uint64_t addr, const void *buf,
                      uint32_t len);
    /* 1, 2, 4 or 8 bytes, aligned to their number, in one step for processors, too:
     * where they are as @was they become @now, *@same; otherwise @was becomes what
     * they are.  May be NULL where nobody else writes them. */
    bool (*dma_exchange)(void *opaque, uint64_t addr, void *was, const void *now,
                         uint32_t len, bool *same);
    /* Memory of an Entity, within its entity_mem bytes.  May be NULL where there
     * is none. */
    void (*memory)(void *opaque, unsigned entity, uint64_t at, void *buf,
                   uint32_t len, bool write);
    /* Send the interrupt of an MSI-X vector of ubc_hw.h. */
    void (*interrupt)(void *opaque, unsigned vector);
    /* ubc_run() has something to do. */
    void (*kick)(void *opaque);
    /* Put bytes on the stream of the port.  Returns how many were taken; fewer
     * than `len`: ubc_wire_room() follows when it takes more. */
    size_t (*wire_send)(void *opaque, unsigned port, const uint8_t *data,
                        size_t len);
    /* Close the byte stream of the port, but not from in here; _disconnected
     * follows. */
    void (*wire_close)(void *opaque, unsigned port);
    /* Send a frame of the Ethernet port; false: it is lost. */
    bool (*ethernet_send)(void *opaque, const uint8_t *frame, uint32_t len);
    /* Whether it takes packets now; if not, ubc_ethernet_room() follows.  Both may
     * be NULL without such a port. */
    bool (*ethernet_room)(void *opaque);
    /* The guest broke the rule `what`; port is -1 where it names none. */
    void (*guest_error)(void *opaque, int port, const char *what);
    /* The peer of a port did. */
    void (*peer_error)(void *opaque, unsigned port, const char *what);
    /* LinkUp, whether packets pass, rate or width of a port may have changed;
     * may be NULL. */
    void (*changed)(void *opaque, unsigned port);
    /* What a hot-plug slot shows is another; may be NULL. */
    void (*slot)(void *opaque, unsigned slot);
    /* There are frames for the responder (ub/responder.h); may be NULL. */
    void (*responder)(void *opaque);
    /* An access to the window that waited has ended; may be NULL. */
    void (*window_ended)(void *opaque, UbLdsWait *w);
    /* Traces; may be NULL. */
    void (*transition)(void *opaque, unsigned port, UbMachine machine,
                       const char *from, const char *to, const char *cause);
    /* As UbUrmaOps.trace. */
    void (*queue_trace)(void *opaque, UbUrmaTrace what, uint32_t id,
                        uint32_t a, uint32_t b);
    /* A packet at the upper edge of the data link layer, and a block or
     * training set at the lower one, for capture; may be NULL. */
    void (*capture_packet)(void *opaque, unsigned port, bool sent,
                           unsigned cfg, unsigned vl, const uint8_t *data,
                           size_t len);
    void (*capture_block)(void *opaque, unsigned port, bool sent,
                          const uint8_t *block, unsigned flits);
    void (*capture_training)(void *opaque, unsigned port, bool sent,
                             unsigned lane, const uint8_t ltb[UB_LTB],
                             unsigned n);
} UbcOps;

#define UBC_MAX_ROUTES 65536
#define UBC_MAX_ENTITIES 16
#define UBC_MAX_ERR_INFO 1024
#define UBC_MAX_EID_UPI 1024

/* How Entities tell their Users of interrupts (UB 2.0 §10.3.4). */
typedef enum UbcUsiType {
    UBC_USI_NONE,
    UBC_USI_TYPE1,    /* registers of CFG1 */
    UBC_USI_TYPE2,    /* tables in ERS0; the bus controller has Type 1 (§D.4.3) */
    UBC_USI_TYPES
} UbcUsiType;

/* What an Entity is for: its Class Code, and the capabilities of its CFG1.  Images
 * have these numbers. */
typedef enum UbcEntityKind {
    UBC_ENTITY_BUS,   /* Entity 0: the controller itself */
    UBC_ENTITY_URMA,  /* queues of software */
    UBC_ENTITY_OTHER, /* of unknown function */
    UBC_ENTITY_MEM,   /* memory of its own, in ERS1 */
} UbcEntityKind;

/* The port that is UB over Ethernet (UB 2.0 appendix E), behind the UB links. */
#define UBC_ETHERNET_VLANS 64
typedef struct UbcEthernet {
    bool on;               /* there is one */
    UbUboeConfig uboe;     /* icrc, plain, vlans and npi are filled in */
    unsigned vlans;        /* 0: frames have no tag */
    struct {
        uint16_t vlan;
        uint32_t npi;
    } vlan[UBC_ETHERNET_VLANS];
    unsigned routes;       /* prefixes behind a router, or on the link */
    UbUboeRoute route[UB_UBOE_ROUTES];
} UbcEthernet;

typedef struct UbcConfig {
    unsigned ports;        /* 1-8 */
    uint8_t guid[16];      /* most significant byte first */
    /* Power-on values of registers of that name: who the controller is until a
     * manager says otherwise. */
    uint8_t eid[16], fm_eid[16]; /* most significant byte first */
    uint32_t cna, fm_cna;  /* 24 bits */
    uint32_t port_cna;     /* of port 0, the next ones follow; 0: none */
    uint16_t upi;          /* 15 bits */
    /* Entity 0 is the bus controller; the others have a GUID with the next
     * sequence numbers. */
    uint32_t entities;     /* 1 to UBC_MAX_ENTITIES */
    uint8_t entity[UBC_MAX_ENTITIES]; /* UbcEntityKind */
    uint64_t entity_mem[UBC_MAX_ENTITIES]; /* bytes of a UBC_ENTITY_MEM */
    uint8_t usi;           /* UbcUsiType, where there are other Entities than 0 */
    bool read_only;        /* BAR0 has the rights of a User: CFG0 is read only */
    bool bus_en;           /* power-on value of BUS_EN of each Entity */
    uint16_t wire_features; /* of HELLO: UB_WIRE_… */
    uint64_t session;      /* of HELLO: different at each start */
    bool manager;          /* the guest is the UBFM: it has Mgmt */
    uint32_t mgmt_timeout; /* ms for the answer to a management message, >= 1 */
    /* Packets for other nodes go on, by the routes (Switch Supported); entries of
     * ROUTE_TABLE, 0: none, all routes lead everywhere. */
    bool forward;
    uint32_t route_entries; /* at most UBC_MAX_ROUTES */
    /* Isolation (UB 2.0 §5.3.3) holds for packets of ring pairs too; without, they
     * pass as they are. */
    bool guard;
    bool channels_managed;  /* with whom there may be channels is the UBFM's to say */
    UbShpConfig shp;       /* hot-plug slots */
    uint32_t responder;    /* what a program beside us may speak, 1 << UbResponderKind;
                            * 0: there is none */
    UbPhyConfig phy;
    UbDllConfig dll;
    /* Factor of the timers that wait for an answer of the peer: its host may
     * take milliseconds where a port takes nanoseconds.  >= 1. */
    uint32_t dll_time_scale;
    /* Power-on value of Port Correctable Error Severity: bit n set: C.(n + 1) is
     * correctable.  Table 10-14 and the register's reset value differ. */
    uint32_t err_severity;
    uint32_t err_info;     /* headers of faulty packets that are kept: depth of the
                            * queue, 2 to UBC_MAX_ERR_INFO; 0: there is none */
    uint32_t eid_upi;      /* entries of the table of (EID, UPI) of virtual machines,
                            * UBC_MAX_EID_UPI at most; 0: there is none, and UPIs
                            * of packets that software writes are not looked at */
    /* The transaction engine; what follows from ports, GUID and interface is
     * filled in. */
    UbNodeConfig node;
    UbUrmaConfig urma;
    UbUmmuConfig ummu;
    bool cip;              /* Entities have CFG1_CAP241, for CIP */
    /* The window for loads and stores; size 0: there is none. */
    UbLdsConfig lds;
    UbcEthernet ethernet;
} UbcConfig;

/* Documented defaults: one port, x8, Mode-2 up to 106.25 Gb/s, FEC T=4
 * interleaved, usable credits. */
void ubc_config_init(UbcConfig *cfg);

/* NULL and a sentence in *why when the configuration cannot be. */
Ubc *ubc_new(const UbcConfig *cfg, const UbcOps *ops, void *opaque,
                  const char **why);
void ubc_free(Ubc *ubc);

/* Power-on and device reset.  Wires stay connected. */
void ubc_reset(Ubc *ubc, int64_t now);

/* Registers of BAR0 (offsets of ubc_hw.h), 32 bits. */
uint32_t ubc_read(Ubc *ubc, uint32_t offset, int64_t now);
void ubc_write(Ubc *ubc, uint32_t offset, uint32_t value, int64_t now);

/* Whether what is written there now is part of a key, and to be shown nowhere. */
bool ubc_secret(const Ubc *ubc, uint32_t offset);

/* A doorbell of the transaction engine: 8 bytes at @offset of @page of BAR2.  From
 * any thread, without a lock; ubc_rung() takes those that rang. */
void ubc_ring(Ubc *ubc, uint32_t page, uint32_t offset, uint64_t value);
void ubc_rung(Ubc *ubc, int64_t now);
/* No request of this node waits for an answer. */
bool ubc_resting(const Ubc *ubc);

/*
 * The window: NULL if there is none.  Loads and stores of it are those of lds.h, by
 * these functions.
 */
UbLds *ubc_window(Ubc *ubc);
bool ubc_window_load(Ubc *ubc, uint64_t offset, unsigned len, UbLdsWait *w,
                     uint64_t *value, int64_t now);
bool ubc_window_store(Ubc *ubc, uint64_t offset, unsigned len, uint64_t value,
                      UbLdsWait *w, int64_t now);

/* The engine's floors, for views. */
UbNode *ubc_node(Ubc *ubc);
UbUrma *ubc_urma(Ubc *ubc);
UbUmmu *ubc_ummu(Ubc *ubc);

/* Do what is to be done; when to call again at the latest, or INT64_MAX. */
int64_t ubc_run(Ubc *ubc, int64_t now);

/* The byte stream of a port: there, gone, brought bytes, takes more. */
void ubc_wire_connected(Ubc *ubc, unsigned port, int64_t now);
void ubc_wire_disconnected(Ubc *ubc, unsigned port, int64_t now);
void ubc_wire_receive(Ubc *ubc, unsigned port, const uint8_t *data,
                         size_t len, int64_t now);
void ubc_wire_room(Ubc *ubc, unsigned port, int64_t now);

/* The Ethernet port, if there is one: its link, a frame that came, room for more.  It
 * is port ubc_ports() of the network layer; NULL: there is none. */
void ubc_ethernet_link(Ubc *ubc, bool up, int64_t now);
void ubc_ethernet_rx(Ubc *ubc, const uint8_t *frame, uint32_t len, int64_t now);
void ubc_ethernet_room(Ubc *ubc, int64_t now);
UbUboe *ubc_ethernet(Ubc *ubc);

/* Bus mastering: rings rest while it is off. */
void ubc_bus_master(Ubc *ubc, bool on);

/* Hot-plug slots; what somebody in front of the machine does to them is theirs. */
UbShp *ubc_shp(Ubc *ubc);

/* Management of the node, for views; who speaks for it, or NULL. */
UbMgmt *ubc_mgmt(Ubc *ubc);
UbResponder *ubc_responder(Ubc *ubc);
/* Ports of a CNA's entry that are on shortest paths, bit i for port i, until a reset; 0:
 * all of it.  NULL, or why that cannot be. */
const char *ubc_route_shortest(Ubc *ubc, uint32_t cna, uint64_t ports);

/* Fault injection of a port; NULL if there is no such port. */
UbInject *ubc_inject(Ubc *ubc, unsigned port);

/* What a monitor shows of a port. */
typedef struct UbcPortInfo {
    bool connected, link_up, primary, crc;
    const char *lmsm, *dll, *retry_req, *retry_ack, *fec;
    unsigned rate, tx_width, rx_width, codecs;
    const UbWireHello *peer; /* NULL unless connected */
    UbDllStatus status;
    uint64_t counter[UBC_CNT_NUM];
    uint64_t net[UB_NET_COUNTERS_NUM]; /* of the network layer at the port */
} UbcPortInfo;

bool ubc_port_info(Ubc *ubc, unsigned port, UbcPortInfo *info);
unsigned ubc_ports(const Ubc *ubc);
const char *ubc_counter_name(unsigned counter);

/*
 * Migration: the whole state as one versioned byte string (owned by the
 * caller, g_free).  The wires do not migrate: the peer sees its connection
 * come again and the link retrains; what the data link layer had not had
 * acknowledged is sent again.  Load returns NULL, or what is wrong.
 */
uint8_t *ubc_save(Ubc *ubc, int64_t now, size_t *len);
const char *ubc_load(Ubc *ubc, int64_t now, const uint8_t *data,
                        size_t len);

#endif
