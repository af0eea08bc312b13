/*
 * UB over Ethernet: what its files share.  Each file may call those above it in
 * this list, and none below.
 *
 *   ether.c      frames, ARP, Neighbour Discovery
 *   neighbour.c  who has an address, and what waits for that
 *   uboe.c       packets and frames, life
 *   image.c      migration
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef HW_UB_UBOE_INTERNAL_H
#define HW_UB_UBOE_INTERNAL_H

#include <glib.h>

#include "ub/uboe.h"

/* ---- ether.c ---- */

enum { ETHER_IPV4 = 0x0800, ETHER_ARP = 0x0806, ETHER_VLAN = 0x8100,
       ETHER_IPV6 = 0x86dd };
#define ETHER_SIZE 14
#define ETHER_TAG 4
#define ETHER_LEAST 60

typedef struct EtherHead {
    uint8_t dst[UB_ETHER_MAC], src[UB_ETHER_MAC];
    uint16_t vlan;    /* 0: no tag, or one of priority alone */
    uint8_t pcp;
    uint16_t type;
} EtherHead;

static inline bool ether_is_group(const uint8_t *mac)
{
    return mac[0] & 1;
}

/* Bytes put; a tag only with a VLAN. */
uint32_t ether_put(uint8_t *p, const EtherHead *h);
/* Bytes taken; 0: it is cut short. */
uint32_t ether_get(const uint8_t *p, uint32_t len, EtherHead *h);

/* "Who has @target?" or "@target is at …": ARP or Neighbour Discovery. */
typedef struct EtherTalk {
    uint8_t cfg;
    bool answer;
    bool probe;       /* asked by nobody yet (RFC 4862): the answer goes to all */
    uint8_t ip[16];   /* of the sender */
    uint8_t mac[UB_ETHER_MAC]; /* the same; zeroes: it does not say */
    uint8_t target[16]; /* what is asked for; of an answer who is told */
    uint8_t to[UB_ETHER_MAC];  /* of an answer: the same */
} EtherTalk;
/* The longest of those frames. */
#define ETHER_TALK_MAX 96
/* A whole frame of @mac on a VLAN; its length. */
uint32_t ether_talk_put(uint8_t *p, const EtherTalk *t, const uint8_t *mac,
                        unsigned vlan);
/* NULL, or the rule that ARP (@p behind the frame's head) breaks. */
const char *ether_arp_get(const uint8_t *p, uint32_t len, EtherTalk *t);
/* The same of an IPv6 packet; *is: it is one of Neighbour Discovery at all. */
const char *ether_nd_get(const uint8_t *p, uint32_t len, bool *is,
                         EtherTalk *t);

/* ---- neighbour.c ---- */

/* Packets that wait for one answer; for all of them. */
#define HELD_MAX 16
#define HELD_ALL 256
/* Questions. */
#define ASK_MAX 3

typedef struct NeighbourKey {
    uint16_t vlan;
    uint8_t cfg, pad;
    uint8_t ip[16];
} NeighbourKey;

typedef struct Neighbour {
    NeighbourKey key;
    uint8_t mac[UB_ETHER_MAC];
    bool known, fixed, used;
    uint8_t asked;    /* questions without an answer */
    int64_t due;      /* the next one, or when it is not sure any more */
    uint8_t asker[16]; /* in whose name */
    CorePacket *held, **held_tail;
    unsigned helds;
} Neighbour;

struct UbUboe {
    UbUboeConfig conf;
    UbUboeOps ops;
    void *opaque;
    CorePacketPool *pool;
    bool up;
    uint32_t npi[UB_UBOE_VLAN_MAX + 1]; /* of each VLAN; 0: none */
    GHashTable *vlan_of;                /* NPI to VLAN ID */
    GHashTable *neighbours;             /* of NeighbourKey */
    int64_t due;                        /* the first of them, at the latest */
    unsigned helds;
    UbUboeRoute route[UB_UBOE_ROUTES];
    unsigned routes;
    uint64_t count[UB_UBOE_COUNTERS_NUM];
    CoreFault fault[2];                 /* of frames that come, that leave */
    int64_t now;                        /* of the last call */
    uint8_t frame[UB_UBOE_FRAME_MAX];   /* that is being made */
};

static inline void uboe_count(UbUboe *u, UbUboeCounter c)
{
    u->count[c]++;
}
void neighbours_init(UbUboe *u);
/* All that are not fixed; all. */
void neighbours_forget(UbUboe *u, bool fixed_too);
/* Known or asked for now; NULL: there is no place. */
Neighbour *neighbour_need(UbUboe *u, int64_t now, const NeighbourKey *key,
                          const uint8_t *asker);
/* It waits, as a copy, until the neighbour is known. */
void neighbour_hold(UbUboe *u, Neighbour *n, CorePacket *pkt);
/* Somebody says where it is; @make: it is worth to be remembered.  What waited for
 * it, the caller's, or NULL. */
CorePacket *neighbour_tells(UbUboe *u, int64_t now, const NeighbourKey *key,
                            const uint8_t *mac, bool make);
/* NULL, or what is wrong.  *held is what waited for the MAC, the caller's. */
const char *neighbour_set(UbUboe *u, const NeighbourKey *key,
                          const uint8_t *mac, CorePacket **held);
const char *neighbour_remove(UbUboe *u, const NeighbourKey *key);
int64_t neighbours_run(UbUboe *u, int64_t now);
/* Known, for good or until @due; for an image.  False: there is no place. */
bool neighbour_restore(UbUboe *u, const UbUboeNeighbour *n, int64_t due);
/* A frame goes out. */
void uboe_frame(UbUboe *u, const uint8_t *frame, uint32_t len);

#endif
