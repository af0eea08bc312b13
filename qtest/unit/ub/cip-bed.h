/*
 * Two Entities that speak through CIP: fixture of its tests.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef TEST_CIP_BED_H
#define TEST_CIP_BED_H

#include <glib.h>

#include "core/bytes.h"
#include "gcm.h"

enum { ME = 3, POLICY = 5, UPI = 0x123456 };
enum { BODY = 20 };

/* One that speaks ("you") and one that hears ("me"), of EIDs that test-sec has. */
typedef struct World {
    CorePacketPool *pool;
    UbSec *you, *me;
    UbEid your_eid, my_eid;
    UbCipConfig cfg;
    UbCipPolicy policy;         /* yours for me; mine is the same but the peer */
    /* By slot, of what you say, and of what I say. */
    uint8_t key[2][UB_CIP_KEY_MAX], back[2][UB_CIP_KEY_MAX];
    uint8_t iv[UB_CIP_IV_LEN];
} World;

/* Bytes of hexadecimal digits; blanks are passed over. */
size_t unhex(const char *hex, uint8_t *out);

UbCip *cip_of(UbSec *sec);
uint64_t count(UbSec *sec, UbCipCounter c);
void put_policies(World *w);
void put_keys(World *w, unsigned slot);
void use(World *w, unsigned slot);
void world_init(World *w);
/* Policies, both slots keyed, slot 1 in use. */
void world_up(World *w);
/* ... of so large a window. */
void world_up_with(World *w, uint32_t window);
void world_free(World *w);

UbSecHead head_of(const World *w, unsigned form);
/* TAH and data: bytes from 80 on. */
CorePacket *body(World *w);
/* One of the UBFM: all that a CIPH is not asked of. */
CorePacket *message(World *w);
void same_body(CorePacket *pkt);
CorePacket *copy(World *w, CorePacket *pkt);
/* A packet of yours, as @nlp says. */
CorePacket *say(World *w, unsigned form, int nlp);
CorePacket *say_sealed(World *w);
/* I hear it; it is taken. */
UbSecFault hear(World *w, unsigned nlp, CorePacket *pkt);
/* ... and it is dropped for this reason. */
void dropped(World *w, unsigned nlp, CorePacket *pkt, UbSecFault fault,
             UbCipCounter why);
void heard(World *w, CorePacket *pkt);

#endif
