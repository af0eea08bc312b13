/*
 * A UB switch: ports, and a network layer that forwards between them.
 *
 * It has no clock, no sockets and no threads: whoever runs it gives it byte
 * streams and time.  A turn: ub_switch_wire_receive() with what the streams
 * brought, then ub_switch_run(), whose work follows the ports that have any.
 *
 * Behind its UB links it may have Ethernet ports, by which packets of IP leave as UB
 * over Ethernet and come (ub/uboe.h): then it is a UB2E Switch (appendix E).
 *
 * Of packets of CFG 5 the switch takes IP notify, which makes routes, and passes
 * DHCP to other controllers.  Scans pass
 * through it or end in it, and configuration messages to its Primary CNA read and
 * write its registers, ROUTE_TABLE among them (ub/mgmt.h).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef UB_SWITCH_H
#define UB_SWITCH_H

#include "core/fault.h"
#include "core/option.h"
#include "ub/mgmt.h"
#include "ub/net.h"
#include "ub/port.h"
#include "ub/shp.h"
#include "ub/uboe.h"

#define UB_SWITCH_MIN_PORTS 2
#define UB_SWITCH_MAX_PORTS 64

typedef struct UbSwitch UbSwitch;

typedef struct UbSwitchConfig {
    unsigned ports;      /* UB_SWITCH_MIN_PORTS to _MAX_PORTS; with an Ethernet port
                          * one is enough */
    unsigned ethernet;   /* Ethernet ports, numbered on from there */
    UbUboeConfig uboe;   /* of each; the last byte of the MAC counts on, icrc is
                          * filled in */
    uint8_t guid[16];    /* most significant byte first */
    UbPortConfig port;   /* of each; index and guid are filled in */
    UbNetConfig net;     /* the same; forward is set */
    UbShpConfig shp;     /* hot-plug slots */
    bool edge_auto;      /* neighbours that are controllers make edge ports */
    bool ip_notify;      /* IP notify makes routes to hosts */
    bool pass_dhcp;      /* DHCP goes to all edge ports */
} UbSwitchConfig;

/* The outside.  Callbacks must not call the switch. */
typedef struct UbSwitchOps {
    /* ub_switch_run() has something to do. */
    void (*kick)(void *opaque);
    /* As in UbPortOps. */
    size_t (*wire_send)(void *opaque, unsigned port, const uint8_t *data,
                        size_t len);
    void (*wire_close)(void *opaque, unsigned port);
    /* A peer broke a rule.  May be NULL. */
    void (*rule)(void *opaque, unsigned port, const char *text);
    /* A port's link changed its state.  May be NULL. */
    void (*link)(void *opaque, unsigned port);
    /* What a hot-plug slot shows is another.  May be NULL. */
    void (*slot)(void *opaque, unsigned slot);
    /* A frame for an Ethernet port; false: it is lost.  Whether there is room for
     * one more: if not, ub_switch_ethernet_room() follows.  NULL without such
     * ports. */
    bool (*ethernet_send)(void *opaque, unsigned port, const uint8_t *frame,
                          uint32_t len);
    bool (*ethernet_has_room)(void *opaque, unsigned port);
    /* A packet at the upper edge of a port.  May be NULL. */
    void (*capture)(void *opaque, unsigned port, bool sent, unsigned cfg,
                    unsigned vl, const uint8_t *data, size_t len);
} UbSwitchOps;

/* Settings by name that are not the network layer's: members of UbSwitchConfig. */
const CoreOption *ub_switch_options(unsigned *n);

/* Defaults: two ports, routes of 4096 CNAs, nothing routed, no NPI checked. */
void ub_switch_config_init(UbSwitchConfig *cfg);
/* NULL and a sentence in *why when the configuration cannot be.  All ports are
 * enabled, none is connected. */
UbSwitch *ub_switch_new(const UbSwitchConfig *cfg, const UbSwitchOps *ops,
                        void *opaque, const char **why);
void ub_switch_free(UbSwitch *sw);

/* Do what is to be done; when to call again at the latest, or INT64_MAX. */
int64_t ub_switch_run(UbSwitch *sw, int64_t now);

/* What it is set to now, the network layer too; and set what settings name, which are
 * its own and those of the network layer: NULL, or why nothing has changed. */
UbSwitchConfig ub_switch_settings(const UbSwitch *sw);
const char *ub_switch_configure(UbSwitch *sw, const UbSwitchConfig *cfg);

/* The byte stream of a port: there, gone, brought bytes, takes more. */
void ub_switch_wire_connected(UbSwitch *sw, int64_t now, unsigned port);
void ub_switch_wire_disconnected(UbSwitch *sw, int64_t now, unsigned port);
void ub_switch_wire_receive(UbSwitch *sw, int64_t now, unsigned port,
                            const uint8_t *data, size_t len);
void ub_switch_wire_room(UbSwitch *sw, int64_t now, unsigned port);

/* An Ethernet port: its link is there or not, brought a frame, takes more. */
void ub_switch_ethernet_link(UbSwitch *sw, int64_t now, unsigned port, bool up);
void ub_switch_ethernet_rx(UbSwitch *sw, int64_t now, unsigned port,
                           const uint8_t *frame, size_t len);
void ub_switch_ethernet_room(UbSwitch *sw, int64_t now, unsigned port);

/* Train the link of a port, or end it. */
void ub_switch_enable(UbSwitch *sw, int64_t now, unsigned port, bool on);

/* Faults in what a port receives, packet by packet; of an Ethernet port frame by
 * frame, and @out: in what it sends. */
void ub_switch_fault(UbSwitch *sw, unsigned port, bool out,
                     const CoreFaultPlan *plan);
const CoreFault *ub_switch_faults(UbSwitch *sw, unsigned port, bool out);

/* Tell the controller behind a port its NPI (NPIC, §F.2.5); 0 takes it away.
 * False: the port is down. */
bool ub_switch_npic(UbSwitch *sw, int64_t now, unsigned port,
                    const uint8_t guid[16], uint32_t npi);

/* Ports that are UB links; Ethernet ports behind them. */
unsigned ub_switch_ports(const UbSwitch *sw);
unsigned ub_switch_ethernet_ports(const UbSwitch *sw);
UbUboe *ub_switch_ethernet_port(UbSwitch *sw, unsigned port);
const uint8_t *ub_switch_guid(const UbSwitch *sw);
UbNet *ub_switch_net(UbSwitch *sw);
UbPort *ub_switch_port(UbSwitch *sw, unsigned port);
UbSpace *ub_switch_space(UbSwitch *sw);
UbMgmt *ub_switch_mgmt(UbSwitch *sw);
UbShp *ub_switch_shp(UbSwitch *sw);
/* Runs of ports so far: what the work of turns follows. */
uint64_t ub_switch_port_runs(const UbSwitch *sw);

#endif
