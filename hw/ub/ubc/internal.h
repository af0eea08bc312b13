/*
 * The UB controller: what its files share.  The cellar first: each file may
 * call those above it in this list, and none below.
 *
 *   event.c    errors, events, kicks, counters
 *   errinfo.c  headers of packets that were dropped for an error
 *   ring.c     descriptor rings
 *   pair.c     ring pairs: which port and which packets they carry
 *   usi.c      interrupts of Entities, and those of others that are for this host
 *   engine.c   the transaction engine: queues of the guest
 *   ummu.c     the UMMU
 *   resource.c resource spaces of Entities
 *   window.c   loads and stores; whose requests of the transaction layer are
 *   net.c      the floors from the network layer up, above the ports
 *   ethernet.c the port that is UB over Ethernet
 *   raw.c      packets between a port and its ring pairs
 *   manage.c   management, message queues
 *   cip.c      CIP of Entities
 *   space.c    the part of the configuration space that no port owns
 *   ubc.c      life
 *   regs.c     the map of BAR0
 *   save.c     migration
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef HW_UB_UBC_INTERNAL_H
#define HW_UB_UBC_INTERNAL_H

#include "ring.h"
#include "ub/mgmt.h"
#include "ub/msgq.h"
#include "ub/net.h"
#include "ub/port.h"
#include "ub/resource_hw.h"
#include "ub/responder.h"
#include "ub/ubc.h"

/* LPH.CFG values. */
#define UBC_CFGS 16
#define UBC_NO_PAIR UBC_PAIRS
#define UBC_PAIR_WORDS (UBC_PAIRS / 32)

typedef struct UbcEnd UbcEnd;
typedef struct UbcCip UbcCip;

typedef struct UbcPair {
    Ubc *ubc;
    unsigned index;
    uint32_t port, vls, cfgs, rt; /* registers */
    UbRing tx, rx;
    bool touched;   /* a register was written since reset */
    bool rx_bound;  /* the port's packets find it */
    bool tx_full;   /* the port refused the next packet of the ring … */
    uint8_t tx_vl;  /* … on this VL */
    /* Packets that wait for a receive descriptor, oldest first. */
    CorePacket *held, **held_tail;
} UbcPair;

/* What the controller has of one port: the link end, its events, and which ring
 * pairs it has. */
struct UbcEnd {
    Ubc *ubc;
    unsigned index;
    UbPort *port;
    uint32_t pairs[UBC_PAIR_WORDS]; /* those with a ring that is enabled */
    uint16_t claim[UB_VLS][UBC_CFGS]; /* whose a packet is, or UBC_NO_PAIR */
    uint32_t event, event_mask, vector;
    uint32_t status;   /* UBC_PORT_STATUS as last reported by an event */
    uint64_t counter[UBC_CNT_NUM]; /* those that no floor below counts */
    uint64_t base[UBC_CNT_NUM]; /* what they show beside what was counted: they
                                 * begin anew, or go on from another machine */
    uint32_t counter_hi;           /* latched by a read of a low half */
    uint32_t param[UBC_PORT_PARAM_MAX]; /* Param_Exchg to be sent */
    CorePacket *came, **came_tail; /* for the network layer, oldest first */
    uint32_t room;     /* VLs that it is to be told have room */
    uint32_t net_vls;  /* VLs of a link that is up, as it was told */
    bool told_up;      /* link as the UBFM was told */
    bool told_vls;     /* and as event queues were */
    bool erred;        /* PORT_ERR_RECORD may have something new for it */
};

/* The pairs of @e, from the first on; the set may shrink meanwhile. */
#define UBC_FOR_PAIRS(e, p)                                                  \
    for (unsigned w_ = 0; w_ < UBC_PAIR_WORDS; w_++)                         \
        for (uint32_t left_ = (e)->pairs[w_];                                \
             left_ && ((p) = &(e)->ubc->pair[32 * w_ +                       \
                                             __builtin_ctz(left_)]);         \
             left_ &= left_ - 1)

/* Another Entity than 0. */
typedef struct UbcEntity {
    Ubc *ubc;
    unsigned index;
    UbSpace *space;
    UbSlice *cfg0, *cfg1;
} UbcEntity;

/* What an Entity's interrupts are made of (§10.3.4). */
typedef struct UbcUsi {
    UbSlice *type1, *type2; /* one at most; NULL: it has no interrupts */
    uint8_t vector[UB_USI_VECTORS * UB_USI_VECTOR_SIZE];     /* of Type 2 */
    uint8_t address[UB_USI_ADDRESSES * UB_USI_ADDRESS_SIZE];
    uint32_t pending;       /* vectors that are to be told */
    uint32_t sent, lost;
    uint8_t tries;          /* of the one under way, in vain */
    bool flying;            /* @which is told by @req, whose data are @pdu */
    uint8_t which;
    uint8_t pdu[UB_USI_SIZE];
    UbTaRequest req;
} UbcUsi;

/* The interrupts of others that this host takes: registers. */
typedef struct UbcUsiHost {
    uint32_t ctrl, token_id, first, count, addr_lo, addr_hi;
    uint32_t received, refused;
} UbcUsiHost;

/* Headers of faulty packets (§D.2.3). */
typedef struct UbcErrorInfo {
    UbSlice *slice;     /* NULL: there are none */
    uint32_t ci, pi;
    bool overflow;      /* since CI moved last */
    uint32_t *entry;
} UbcErrorInfo;

struct Ubc {
    UbcConfig conf;
    UbcOps ops;
    UbCaptureOps capture;
    void *opaque;
    unsigned ports;
    UbcEnd end[UBC_MAX_PORTS];
    UbcPair pair[UBC_PAIRS];
    CorePacketPool *pool;
    UbSpace *space;     /* Entity 0's */
    UbSlice *cfg0, *cfg1;
    UbcEntity *entity;  /* of conf.entities; 0 is not in use */
    UbcCip *cip;        /* of conf.entities; NULL: there is none */
    UbcUsi *usi;        /* of conf.entities */
    UbcUsiHost usi_host;
    UbErrorRecord errors; /* of no port */
    bool erred;         /* it may have something new for the UBFM */
    UbcErrorInfo error_info;
    UbUrma *urma;
    UbUmmu *ummu;
    UbLds *lds;         /* NULL: no window */
    UbNode *node;
    UbNet *net;         /* the node's */
    UbUboe *uboe;       /* its last port; NULL: there is none */
    UbEid eid_told;     /* who Entity 0 is, as event queues were told … */
    uint32_t upi_told;
    bool identity_told; /* … if they were */
    uint32_t instances; /* bus instances that the manager has made, by place */
    bool made_up;       /* software may have made up Entities */
    uint32_t net_cfgs;  /* its LPH.CFGs, unless a ring pair names them … */
    uint32_t net_rest;  /* … and those of what no ring pair has */
    UbMgmt *mgmt;
    UbShp *shp;
    UbResponder *responder; /* NULL: there is none */
    UbMsgqs *msgqs;
    bool pci_master;    /* bus mastering is on … */
    bool master;        /* … and Entity 0 may access, by BUS_EN */
    bool running;       /* inside ubc_run() */
    bool kicked;        /* there: something came up behind its back */
    bool above_kicked;  /* there: engine or management have more to do */
    bool reset_pending; /* DEV_RST was written */
    int64_t now;
    uint32_t event, event_mask, vector, cfg_addr, cfg_entity;
    uint32_t guest_errors, dma_errors;
};

/* ---- event.c ---- */
void ubc_kick(Ubc *ubc);
/* The guest broke the rule `what`; port is -1 where it names none. */
void ubc_guest_error(Ubc *ubc, int port, const char *what);
/* What the cores above ask for; @opaque: the Ubc. */
void ubc_above_interrupt(void *opaque, unsigned vector);
void ubc_above_kick(void *opaque);
void ubc_above_error(void *opaque, const char *what);
/* Note events of a port (UBC_PORT_EVENT_*) and interrupt if enabled. */
void ubc_end_event(UbcEnd *e, uint32_t events);
/* UBC_PORT_STATUS now; an event when it is another than before. */
uint32_t ubc_end_status(const UbcEnd *e);
void ubc_end_link_event(UbcEnd *e);
/* Ports with an enabled event, as UBC_EVENT has them. */
uint32_t ubc_events_of_ports(const Ubc *ubc);
/* A counter of a port, wherever it is counted. */
uint64_t ubc_end_counter(const UbcEnd *e, unsigned counter);
void ubc_end_counter_set(UbcEnd *e, unsigned counter, uint64_t value);
/* Guest memory; a failure is counted and false. */
bool ubc_dma_read(Ubc *ubc, uint64_t addr, void *buf, uint32_t len);
bool ubc_dma_write(Ubc *ubc, uint64_t addr, const void *buf, uint32_t len);
bool ubc_dma_exchange(Ubc *ubc, uint64_t addr, void *was, const void *now,
                      uint32_t len, bool *same);
/* Unmasked: what was noted while masked interrupts now. */
void ubc_event_mask(Ubc *ubc, uint32_t mask);
void ubc_end_event_mask(UbcEnd *e, uint32_t mask);

/* ---- partition.c ---- */
/* NULL, or why there cannot be such a table. */
const char *ubc_partition_check(const UbcConfig *conf);
/* With the configuration space; false: there is no table. */
bool ubc_partition_init(Ubc *ubc);
/* Whether a packet says the UPI of the UBFM, whatever is in front of its UPIH. */
bool ubc_partition_is_manager(CorePacket *pkt);
/* Of a packet that software wrote whole: NULL, or the rule that its UPI breaks. */
const char *ubc_partition_tx(Ubc *ubc, CorePacket *pkt);
/* Whether software may make up an Entity of this name. */
bool ubc_partition_may_be(Ubc *ubc, const UbEid *eid, uint32_t upi);
/* Whether a bus instance has this EID, as 20 bits show it. */
bool ubc_partition_is_instance(Ubc *ubc, const UbEid *eid);
/* The bus instance at place @i has come or gone. */
void ubc_partition_instance(Ubc *ubc, unsigned i);
/* Bus instances are as Trust_EN and the UPIs of Entities are. */
void ubc_partition_follow(Ubc *ubc);
/* Whether that at place @i is there for packets; UBQ_OP_INSTANCE_QUERY. */
bool ubc_partition_is_there(Ubc *ubc, unsigned i);
unsigned ubc_partition_query(Ubc *ubc, uint8_t *cmd);
/* An image was loaded. */
void ubc_partition_loaded(Ubc *ubc);
void ubc_partition_image(Ubc *ubc, CoreImage *im);

/* ---- errinfo.c ---- */
/* NULL, or why there cannot be such a queue. */
const char *ubc_error_info_check(const UbcConfig *conf);
/* With the configuration space. */
void ubc_error_info_init(Ubc *ubc);
void ubc_error_info_free(Ubc *ubc);
void ubc_error_info_reset(Ubc *ubc);
/* The errors @bits happened to a packet of a port (-1: of none), which is as it came. */
void ubc_error_info_note(Ubc *ubc, uint32_t bits, int port, CorePacket *pkt);
void ubc_error_info_image(Ubc *ubc, CoreImage *im);

/* ---- pair.c ---- */
void ubc_pair_init(UbcPair *p, Ubc *ubc, unsigned index);
/* Rings disabled, registers as after power-on, nothing waits. */
void ubc_pair_reset(UbcPair *p);
/* Fill in whose the packets of a port are. */
void ubc_pair_claims(UbcEnd *e);
/* A ring may have been enabled, disabled or stopped: the port's tables follow.
 * What waits for a receive ring that is not enabled any more is let go. */
void ubc_pair_settle(UbcPair *p);
/* Another value of PORT, VLS, CFGS or RT; refused while a ring is enabled. */
void ubc_pair_bind(UbcPair *p, uint32_t *reg, uint32_t value);
/* A packet waits for a buffer, behind the others; all of them are dropped, and
 * counted (drop-flushed). */
void ubc_pair_hold(UbcPair *p, CorePacket *pkt);
void ubc_pair_flush(UbcPair *p);
/* The first pair that has packets like this one, or NULL. */
UbcPair *ubc_pair_claim(UbcEnd *e, const CorePacket *pkt);

/* ---- raw.c ---- */
/* What waits above the port is void. */
void ubc_raw_drop(UbcEnd *e);
/* A packet of the port: into a buffer, or it waits for one. */
void ubc_raw_rx(UbcEnd *e, CorePacket *pkt);
/* The port takes packets on @vl again; on all. */
void ubc_raw_room(UbcEnd *e, unsigned vl);
void ubc_raw_down(UbcEnd *e);
/* Before the port runs: true, there is more than the budget allowed. */
bool ubc_raw_serve(UbcEnd *e);
/* Behind it. */
void ubc_raw_finish(UbcEnd *e);

/* ---- usi.c ---- */
/* An EID that registers from @dw on have, the least dword first. */
UbEid ubc_eid(const UbSlice *s, unsigned dw);
/* A row that leads from an Entity to another node by CTP; false: one of them has no
 * address yet. */
bool ubc_way(Ubc *ubc, unsigned entity, uint32_t cna, const UbEid *deid, UbTaDest *d);
/* Whether Entities have interrupts. */
bool ubc_usi_there(const Ubc *ubc);
/* The slices of an Entity for interrupts, if it has any. */
void ubc_usi_init(Ubc *ubc, unsigned entity);
/* A vector of an Entity is raised: told when it may be. */
void ubc_usi_raise(Ubc *ubc, unsigned entity, unsigned vector);
/* ERS0 of an Entity: @len bytes at @at of its tables. */
void ubc_usi_table(Ubc *ubc, unsigned entity, uint64_t at, void *buf,
                   uint32_t len, bool write);
/* Whether an access is for the interrupts of this host, and what comes of it. */
bool ubc_usi_access(Ubc *ubc, const UbAccess *a, UbSpan *out, unsigned *n,
                    UbAccessResult *result);
/* A USI that came; false: this host does not take it. */
bool ubc_usi_take(Ubc *ubc, const uint8_t pdu[UB_USI_SIZE]);
/* Requests of ours, for the transaction layer. */
bool ubc_usi_owns(const Ubc *ubc, const UbTaRequest *req);
void ubc_usi_gather(const UbTaRequest *req, uint32_t off, void *buf,
                    uint32_t len);
void ubc_usi_done(Ubc *ubc, UbTaRequest *req, UbTaStatus status);
/* Tell what is pending. */
void ubc_usi_run(Ubc *ubc);
/* Behind the floors below: all as after power-on. */
void ubc_usi_reset(Ubc *ubc);
void ubc_usi_reset_entity(Ubc *ubc, unsigned entity);
/* Before an image is made: what is under way is pending again. */
void ubc_usi_rest(Ubc *ubc);
void ubc_usi_image(Ubc *ubc, CoreImage *im);
/* What is wrong with its queue of the transaction layer, or NULL; how many it has. */
const char *ubc_usi_loaded(Ubc *ubc, uint32_t *queues);

/* ---- engine.c ---- */
/* Before the floors below it. */
void ubc_engine_init(Ubc *ubc);
void ubc_engine_free(Ubc *ubc);
void ubc_engine_reset(Ubc *ubc);
/* When to come again. */
int64_t ubc_engine_run(Ubc *ubc);
/* Registers by their offset in BAR0. */
uint32_t ubc_engine_read(Ubc *ubc, uint32_t at);
void ubc_engine_write(Ubc *ubc, uint32_t at, uint32_t value);
/* What the node tells of channels; @opaque is the Ubc. */
void ubc_engine_channel_error(void *opaque, uint32_t tpn, UbTpError error);
void ubc_engine_channel_up(void *opaque, uint32_t tpn, UbTpResult result);
void ubc_engine_imported(void *opaque, uint32_t row, unsigned result);
/* With the floors below. */
void ubc_engine_image(Ubc *ubc, CoreImage *im);

/* ---- ummu.c ---- */
/* Behind the engine. */
void ubc_ummu_init(Ubc *ubc);
void ubc_ummu_free(Ubc *ubc);
/* When to come again. */
int64_t ubc_ummu_run(Ubc *ubc);
/* Registers by their offset in BAR0. */
uint32_t ubc_ummu_read(Ubc *ubc, uint32_t at);
void ubc_ummu_write(Ubc *ubc, uint32_t at, uint32_t value);

/* ---- resource.c ---- */
/* Regions of ubc_ta_ops: the interrupts of this host, and space @s of an Entity. */
#define UBC_REGION_USI 1u
#define UBC_REGION_ERS(entity, s) (2u + (entity) * UB_ERS_SPACES + (s))
/* NULL, or why there cannot be such spaces. */
const char *ubc_resource_check(const UbcConfig *conf);
/* Whether Entities have resource spaces. */
bool ubc_resource_there(const Ubc *ubc);
/* What CFG1_BASIC of an Entity says of its spaces; before a register is read. */
void ubc_resource_init(Ubc *ubc, unsigned entity);
void ubc_resource_refresh(Ubc *ubc, unsigned entity, unsigned dw);
/* Whether an access is to a resource space, and what comes of it. */
bool ubc_resource_access(Ubc *ubc, const UbAccess *a, UbSpan *out, unsigned *n,
                         UbAccessResult *result);
/* Bytes of a region; false: they cannot be accessed so. */
bool ubc_resource_region(Ubc *ubc, uint32_t region, uint64_t at, void *buf,
                         uint32_t len, bool write);

/* ---- window.c ---- */
/* What the transaction layer has above it; @opaque is the Ubc. */
extern const UbTaOps ubc_ta_ops;
UbTaRequest *ubc_ta_adopt(void *opaque, uint32_t rcid, uint64_t id);
/* After the space.  False, and a sentence in *why: the configuration cannot be. */
bool ubc_window_init(Ubc *ubc, const char **why);
/* The floors below are there. */
void ubc_window_bind(Ubc *ubc);
void ubc_window_free(Ubc *ubc);
/* Behind the floors below. */
void ubc_window_reset(Ubc *ubc);
void ubc_window_reset_entity(Ubc *ubc, unsigned entity);
/* Bus mastering is off or on. */
void ubc_window_pause(Ubc *ubc);
/* The link of a port may have come or gone. */
void ubc_window_link(UbcEnd *e);
/* When to come again. */
int64_t ubc_window_run(Ubc *ubc);
/* Before the engine's and the floors below; what is wrong with all of it. */
void ubc_window_image(Ubc *ubc, CoreImage *im);
const char *ubc_window_loaded(Ubc *ubc);

/* ---- net.c ---- */
/* Which packets are its: before ring pairs are made. */
void ubc_net_claim(Ubc *ubc);
/* After the space and the ports; addresses are those of the registers.  False, and
 * a sentence in *why: the configuration cannot be. */
bool ubc_net_init(Ubc *ubc, const char **why);
void ubc_net_free(Ubc *ubc);
void ubc_net_reset(Ubc *ubc);
/* A packet that no ring pair has; room on a VL; what came is void. */
void ubc_net_rx(UbcEnd *e, CorePacket *pkt);
void ubc_net_room(UbcEnd *e, unsigned vl);
void ubc_net_drop(UbcEnd *e);
/* Its addresses and Entity 0 are those of the registers: before anything is
 * sent. */
void ubc_net_follow(Ubc *ubc);
/* When to come again. */
int64_t ubc_net_run(Ubc *ubc);

/* A packet at the Ethernet port, for the capture. */
void ubc_ethernet_capture(Ubc *ubc, bool sent, CorePacket *pkt);

/* ---- ethernet.c ---- */
/* Before the network layer.  False, and a sentence in *why: it cannot be. */
bool ubc_ethernet_init(Ubc *ubc, const char **why);
void ubc_ethernet_reset(Ubc *ubc);
/* In each turn, behind the network layer; when to come again. */
int64_t ubc_ethernet_run(Ubc *ubc);
void ubc_ethernet_image(Ubc *ubc, CoreImage *im);

/* ---- manage.c ---- */
void ubc_manage_init(Ubc *ubc);
void ubc_manage_free(Ubc *ubc);
void ubc_manage_reset(Ubc *ubc);
uint32_t ubc_manage_read(Ubc *ubc, uint32_t at);
void ubc_manage_write(Ubc *ubc, uint32_t at, uint32_t value);
/* There may be an error in PORT_ERR_RECORD. */
void ubc_manage_error(UbcEnd *e);
/* Errors of class C that are no port's, by their bits. */
void ubc_manage_device_errors(Ubc *ubc, uint32_t bits);
int64_t ubc_manage_run(Ubc *ubc);
void ubc_manage_image(Ubc *ubc, CoreImage *im);

/* ---- cip.c ---- */
/* After the configuration spaces: their slices for CIP, if there are to be any. */
void ubc_cip_init(Ubc *ubc);
void ubc_cip_free(Ubc *ubc);
/* What is staged is forgotten; keys go with the node's reset. */
void ubc_cip_reset(Ubc *ubc);
/* Keys and policies of an Entity go. */
void ubc_cip_reset_entity(Ubc *ubc, unsigned entity);
/* After an image: NULL, or what of it does not fit together. */
const char *ubc_cip_loaded(Ubc *ubc);

/* BASIC slices of an Entity. */
static inline UbSlice *ubc_cfg0(const Ubc *ubc, unsigned entity)
{
    return entity ? ubc->entity[entity].cfg0 : ubc->cfg0;
}

static inline UbSlice *ubc_cfg1(const Ubc *ubc, unsigned entity)
{
    return entity ? ubc->entity[entity].cfg1 : ubc->cfg1;
}

/* Whether an Entity's own BUS_EN lets it access memory. */
static inline bool ubc_entity_may_access(const Ubc *ubc, unsigned entity)
{
    return ub_slice_get(ubc_cfg1(ubc, entity), UB_CFG1_BUS_EN) &
           UB_CFG1_BUS_EN__BUS_ACCESS_EN;
}

/* ---- space.c ---- */
/* The configuration spaces of the controller and its Entities, what is fixed filled
 * in. */
void ubc_space_init(Ubc *ubc);
void ubc_space_free(Ubc *ubc);
/* Whether MTU_CFG cannot be @code. */
bool ubc_wrong_mtu(const Ubc *ubc, uint32_t code);
/* All of them as after power-on. */
void ubc_space_reset(Ubc *ubc);
/* That of an Entity, or NULL. */
UbSpace *ubc_space_of(Ubc *ubc, unsigned entity);
/* An access of the guest by BAR0, with the rights that it has. */
uint32_t ubc_space_read(Ubc *ubc, unsigned entity, uint32_t dw);
void ubc_space_write(Ubc *ubc, unsigned entity, uint32_t dw, uint32_t value);
/* The registers of the Entities but 0. */
void ubc_space_image(Ubc *ubc, CoreImage *im);
/* Another identity, for registers and ports. */
void ubc_set_guid(Ubc *ubc, const uint8_t guid[16]);

#endif
