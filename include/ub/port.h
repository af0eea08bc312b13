/*
 * One link end: physical layer, data link layer and wire joined.
 *
 * Whoever has ports (a controller, a switch) gives each one the packets that
 * it shall carry, a byte stream and time, and gets packets and events back.  A
 * port knows nothing of who that is.  Its registers are the PORT slices of a
 * configuration space.
 *
 * A turn of the owner: ub_port_wire_receive() with what the stream brought,
 * ub_port_send(), then ub_port_run(), which does the work and says when to come
 * again.  Every other call only notes work, and says so by ops->kick.
 *
 * A port belongs to one thread at a time.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef UB_PORT_H
#define UB_PORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/image.h"
#include "ub/dll.h"
#include "ub/errors.h"
#include "ub/packet.h"
#include "ub/phy.h"
#include "ub/space.h"
#include "ub/wire.h"

typedef struct UbPort UbPort;

typedef enum UbPortEvent {
    UB_PORT_LINK,      /* LinkUp, the data link layer's status or its
                        * back-pressure may have changed */
    UB_PORT_DLL_ERROR, /* an exception of §4.8 */
    UB_PORT_RETRAIN,   /* the LMSM entered Retrain */
    UB_PORT_WIDTH,     /* width or rate changed */
    UB_PORT_PARAM,     /* Param_Exchg of the neighbour arrived */
    UB_PORT_LANE,      /* Lane_Manage message */
    UB_PORT_ERROR,     /* an error in PORT_ERR_RECORD that is not masked */
    UB_PORT_RESET,     /* Port Reset was written: what waits above is void */
} UbPortEvent;

/* Who broke a rule. */
typedef enum UbBreaker {
    UB_BROKEN_BY_SOFTWARE, /* by a register */
    UB_BROKEN_BY_PEER,
} UbBreaker;

/* A state machine of a port, for traces. */
typedef enum UbMachine {
    UB_MACHINE_LMSM,
    UB_MACHINE_DLL,
    UB_MACHINE_RETRY_REQ,
    UB_MACHINE_RETRY_ACK,
    UB_MACHINE_BMC,
} UbMachine;

/* A packet at the upper edge of the data link layer, and a block or training
 * set at the lower one.  Members may be NULL. */
typedef struct UbCaptureOps {
    void (*packet)(void *opaque, bool sent, unsigned cfg, unsigned vl,
                   const uint8_t *data, size_t len);
    void (*block)(void *opaque, bool sent, const uint8_t *block,
                  unsigned flits);
    void (*training)(void *opaque, bool sent, unsigned lane,
                     const uint8_t ltb[UB_LTB], unsigned n);
} UbCaptureOps;

/* The outside.  Callbacks must not free, reset or run the port. */
typedef struct UbPortOps {
    /* A received packet; ownership moves.  It takes Receive Buffer space until
     * it is freed, by whomever: that is how an owner holds a VL's sender back. */
    void (*rx)(void *opaque, CorePacket *pkt);
    void (*event)(void *opaque, UbPortEvent event);
    /* There is room on a VL that ub_port_send() found full. */
    void (*tx_space)(void *opaque, unsigned vl);
    /* ub_port_run() has something to do. */
    void (*kick)(void *opaque);
    /* Put bytes on the stream.  Returns how many were taken; fewer than `len`:
     * ub_port_wire_room() follows when it takes more. */
    size_t (*wire_send)(void *opaque, const uint8_t *data, size_t len);
    /* Close the byte stream, but not from in here; ub_port_wire_disconnected()
     * follows. */
    void (*wire_close)(void *opaque);
    /* Somebody broke the rule `text`. */
    void (*rule)(void *opaque, UbBreaker who, const char *text);
    /* For traces; may be NULL. */
    void (*transition)(void *opaque, UbMachine machine, const char *from,
                       const char *to, const char *cause);
    const UbCaptureOps *capture; /* outlives the port; NULL: none */
} UbPortOps;

typedef struct UbPortConfig {
    unsigned index;      /* of the port in its controller and space */
    uint8_t guid[16];    /* of its controller; most significant byte first */
    uint64_t session;    /* of HELLO: different at each start */
    uint16_t features;   /* of HELLO: UB_WIRE_… */
    uint32_t cna;        /* power-on value of Port CNA */
    UbPhyConfig phy;
    UbDllConfig dll;
    /* Factor of the timers that wait for an answer of the peer: its host may
     * take milliseconds where a port takes nanoseconds.  >= 1. */
    uint32_t dll_time_scale;
    /* Power-on value of Port Correctable Error Severity: bit n set: C.(n + 1) is
     * correctable.  Table 10-14 and the register's reset value differ. */
    uint32_t err_severity;
} UbPortConfig;

/* Defaults of an emulated link: x8, Mode-2 up to 106.25 Gb/s, FEC T=4
 * interleaved, usable credits, auto negotiation. */
void ub_port_config_init(UbPortConfig *cfg);

/* NULL, or the rule that is broken. */
const char *ub_port_config_check(const UbPortConfig *cfg);

/*
 * A port that is disabled, its wire not connected.  It takes its slices in
 * `space`, and the values of `cfg` become their power-on values; received
 * packets come from `pool`.  Space and pool are the caller's and outlive the
 * port.  NULL and a sentence in *why when the configuration cannot be.
 */
UbPort *ub_port_new(const UbPortConfig *cfg, UbSpace *space,
                    CorePacketPool *pool, const UbPortOps *ops, void *opaque,
                    const char **why);
void ub_port_free(UbPort *p);

/* Leave Link_Idle and train, or end the link (both layers start anew). */
void ub_port_enable(UbPort *p, int64_t now, bool on);
bool ub_port_enabled(const UbPort *p);
/* Power of the hot-plug slot that it is in (ub/shp.h): without, it does not train
 * though it is enabled.  It is there from the start, and no reset changes it. */
void ub_port_power(UbPort *p, int64_t now, bool on);

/* Enumeration Boundary of Port Info, which is hardware's to set: where a manager's
 * fabric ends (UB 2.0 §D.5.3). */
void ub_port_set_boundary(UbPort *p, bool on);
bool ub_port_boundary(const UbPort *p);

/* Both layers as after power-on, with the settings that the registers have;
 * trains again if enabled.  What was queued or under way is lost. */
void ub_port_restart(UbPort *p, int64_t now);
/* The same, and disabled.  The wire stays connected. */
void ub_port_reset(UbPort *p, int64_t now);

/* Do what is to be done; when to call again at the latest, or INT64_MAX. */
int64_t ub_port_run(UbPort *p, int64_t now);

typedef enum UbPortSent {
    UB_PORT_SENT,    /* ownership moved */
    UB_PORT_FULL,    /* ops->tx_space follows */
    UB_PORT_DOWN,    /* the link does not carry packets now */
    UB_PORT_REFUSED, /* a VL, CFG or length that it does not carry */
} UbPortSent;

/* Send on pkt->vl; all but UB_PORT_SENT: the caller keeps the packet. */
UbPortSent ub_port_send(UbPort *p, int64_t now, CorePacket *pkt);
/* What ub_port_send() would say of a VL that is carried: full, down or sent. */
UbPortSent ub_port_room(UbPort *p, unsigned vl);

/* The byte stream: there, gone, brought bytes, takes more. */
void ub_port_wire_connected(UbPort *p, int64_t now);
void ub_port_wire_disconnected(UbPort *p, int64_t now);
void ub_port_wire_receive(UbPort *p, int64_t now, const uint8_t *data,
                          size_t len);
void ub_port_wire_room(UbPort *p, int64_t now);

/*
 * Param_Exchg (§4.3.3.6): send 1 to 32 words; false: the link does not carry them
 * now.  What came last since the link came up, and how many words.
 */
bool ub_port_send_param(UbPort *p, int64_t now, const uint32_t *words,
                        unsigned n);
unsigned ub_port_param(const UbPort *p, const uint32_t **words);

/* Fault injection on what this end sends.  A run is asked for, which tells the far end
 * of cables that are cut or mended then. */
UbInject *ub_port_inject(UbPort *p);

typedef struct UbPortStatus {
    bool connected, link_up, dll_up, back_pressure;
    const UbWireHello *peer; /* NULL unless connected */
    UbPhyStatus phy;
    UbDllStatus dll;
} UbPortStatus;

void ub_port_status(const UbPort *p, UbPortStatus *st);
bool ub_port_link_up(const UbPort *p);
bool ub_port_dll_up(const UbPort *p);
bool ub_port_back_pressure(const UbPort *p);
/* Bit v: packets may go on VL v now. */
uint32_t ub_port_vls(const UbPort *p);
/* Packets with pkt->error go out, marked (MarkErr Cfg); else they are dropped. */
bool ub_port_marks_errors(const UbPort *p);
/* Errors that set a bit of PORT_ERR_RECORD which is not masked, since the last
 * call: what is set already says nothing new until software clears it. */
UbErrors ub_port_take_errors(UbPort *p);

/* A floor above found an error of what the port received: record it in
 * PORT_ERR_RECORD, by its bit (C.(bit + 1) of table 10-14). */
void ub_port_record(UbPort *p, unsigned bit);
/* Longest packet, bytes. */
uint32_t ub_port_mtu(const UbPort *p);

/* Since ub_port_new(). */
typedef struct UbPortStats {
    uint64_t link_downs, link_restarts, retrains, dll_errors;
    UbPhyStats phy;
    const UbDllStats *dll;
    const UbWireStats *wire;
} UbPortStats;

void ub_port_stats(const UbPort *p, UbPortStats *stats);

/* How the floor above wants VLs served (§5.3.4): bit v of @strict, VL v before those with
 * weights; shares of the others, 0 counts as 1.  What UbPortConfig.dll says besides, stays:
 * a VL is strict by either, and shares multiply. */
void ub_port_schedule(UbPort *p, uint16_t strict, const uint16_t weight[UB_VLS]);

/* Another identity from the next HELLO and Param_Exchg on. */
void ub_port_set_guid(UbPort *p, const uint8_t guid[16]);

/* Migration: whether the port is enabled, and a Retrain that waits.  The slices
 * of the space are its owner's to migrate, before; when all was right so far the
 * port is restarted with what they say. */
void ub_port_image(UbPort *p, CoreImage *im);

#endif
