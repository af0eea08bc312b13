/*
 * Headers between transport and transaction layer: UPIH and EIDH (UB 2.0 §B.3,
 * §B.4) and CIPH (§11.5.2.3), and the rules of partitions: a packet is for one of
 * the local Entities only if its UPI is that Entity's.
 *
 * Confidentiality and integrity (cip.h) have their place here: a packet is sealed
 * after its headers are in front, and opened after the partition was checked
 * (§11.5.2.4).  Where CIP is off, packets with a CIPH are dropped (§11.5.2.5).
 *
 * Packets of UPI 7fff are the UBFM's (NTH.Mgmt) or answers to it; they pass to
 * every Entity, and it is the reader's to give rights only to those with Mgmt.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef UB_SEC_H
#define UB_SEC_H

#include "core/bytes.h"
#include "core/image.h"
#include "core/packet.h"

enum {
    UB_EID_LEN = 16,
    UB_UPI_MANAGER = 0x7fff,    /* UBFM, in 16 bits (§10.3.2) */
    UB_SEC_OP_MANAGEMENT = 0x10, /* opcode of its messages (tah.h) */
    UB_UPIH16_LEN = 2,
    UB_UPIH32_LEN = 4,
    UB_EIDH40_LEN = 5,
    UB_EIDH256_LEN = 32,
    UB_CIPH_LEN = 8,
    UB_SEC_UPI_MASK = 0xffffff, /* of the 32 bits of UPIH32 */
    UB_SEC_ENTITIES = 64,
    UB_SEC_INSTANCES = 16,      /* bus instances (§10.5.1), behind the Entities */
    UB_SEC_TARGETS = UB_SEC_ENTITIES + UB_SEC_INSTANCES,
};

/* The number that a bus instance has where an Entity is named. */
#define UB_SEC_INSTANCE(i) (UB_SEC_ENTITIES + (i))

static inline bool ub_sec_is_instance(unsigned index)
{
    return index >= UB_SEC_ENTITIES && index < UB_SEC_TARGETS;
}

/* EIDs are most significant byte first; the short form has the last 20 bits. */
typedef struct UbEid {
    uint8_t b[UB_EID_LEN];
} UbEid;

/* What stands between TPH and TAH; the values are those of TPH.NLP but CIPH,
 * which may come before each. */
typedef enum UbSecForm {
    UB_SEC_NONE = 0,
    UB_SEC_WIDE = 1,            /* UPIH32, EIDH256 */
    UB_SEC_SHORT = 2,           /* UPIH16, EIDH40 */
    UB_SEC_CIPH = 3,            /* TPH.NLP only */
} UbSecForm;

typedef struct UbSecHead {
    uint8_t form;               /* UbSecForm, not CIPH */
    bool mgmt;                  /* NTH.Mgmt: of the UBFM, or to be sent as its */
    bool no_ciph;               /* goes by what has no place for one (CFG 9) */
    bool cip;                   /* came with a CIPH */
    uint32_t cip_id, sn;        /* which had these */
    uint8_t from;               /* whose it is to be sent as, or was received by:
                                 * 1 + number of an Entity or bus instance; 0:
                                 * nobody asks */
    uint32_t upi;
    UbEid seid, deid;
} UbSecHead;

/* Why a packet was not let in. */
typedef enum UbSecFault {
    UB_SEC_GOOD,
    UB_SEC_SHORT_PACKET,        /* ends within a header */
    UB_SEC_NLP,                 /* reserved, or not of this TPH */
    UB_SEC_NO_ENTITY,           /* DEID is nobody's here */
    UB_SEC_UPI,                 /* not that of the Entity, or 0 */
    UB_SEC_MANAGER,             /* Mgmt without UPI 7fff */
    UB_SEC_CIP_OFF,             /* a CIPH where CIP is off, or none where it is on */
    UB_SEC_CIP,                 /* ICV, replay, unknown CIP ID */
    UB_SEC_FAULTS
} UbSecFault;

const char *ub_sec_fault_name(UbSecFault fault);

typedef struct UbCip UbCip;
typedef struct UbSec UbSec;

/* No Entities, no CIP.  @bare: requests without EIDH are for Entity 0. */
UbSec *ub_sec_new(bool bare);
void ub_sec_free(UbSec *sec);
/* Of its Entities; NULL: the library of ciphers is not usable. */
UbCip *ub_sec_cip(UbSec *sec);
/* Entity @index, or bus instance, has this EID and UPI; UPI 0: it hears nothing.
 * NULL: it is gone. */
void ub_sec_set_entity(UbSec *sec, unsigned index, const UbEid *eid,
                       uint32_t upi);
/* The EID and UPI of an Entity; NULL: there is none. */
const UbEid *ub_sec_entity(const UbSec *sec, unsigned index, uint32_t *upi);

/* Entities say their own UPI and no other (§D.1.15), as bus instances always do. */
void ub_sec_guard(UbSec *sec, bool on);
/* Whether who is to send (UbSecHead.from) is there, and has this SEID and UPI. */
bool ub_sec_may_send(const UbSec *sec, const UbSecHead *head);

/* Bytes in front of the TAH. */
uint32_t ub_sec_size(const UbSecHead *head);
/* Put the headers in front of a TAH, and seal it if its Entity has to; returns
 * TPH.NLP, or -1: no room, or it cannot be sealed and must not go, or its sender
 * may not send it. */
int ub_sec_push(UbSec *sec, const UbSecHead *head, CorePacket *pkt);
/* The same without sealing and whoever sends, for what has nothing to say and ends an
 * operation below: a peer that expects a CIPH drops it. */
int ub_sec_push_plain(UbSec *sec, const UbSecHead *head, CorePacket *pkt);
/*
 * Take them off.  @nlp is TPH.NLP, @ctp that it was a CTPH, @mgmt NTH.Mgmt.
 * Good: @entity is the Entity that the packet is for.
 */
UbSecFault ub_sec_pull(UbSec *sec, unsigned nlp, bool ctp, bool mgmt,
                       CorePacket *pkt, UbSecHead *head, unsigned *entity);
/* The same for what was opened and kept, from behind its CIPH on, which had this
 * form. */
UbSecFault ub_sec_pull_opened(UbSec *sec, unsigned form, bool ctp, bool mgmt,
                              CorePacket *pkt, UbSecHead *head,
                              unsigned *entity);
/* What the headers at @p say, of a packet that goes out as software wrote it: form, UPI
 * and EIDs; false: they are not there, or not whole. */
bool ub_sec_peek(unsigned nlp, bool ctp, const uint8_t *p, uint32_t len,
                 UbSecHead *head);
/* The head of an answer to a packet that came with @rx. */
void ub_sec_reply(UbSecHead *tx, const UbSecHead *rx);

static inline bool ub_eid_same(const UbEid *a, const UbEid *b)
{
    return !__builtin_memcmp(a, b, sizeof(*a));
}

/* The short form of an EID, and an EID of zeroes but for it. */
static inline uint32_t ub_eid_short(const UbEid *e)
{
    return (e->b[13] & 0xfu) << 16 | e->b[14] << 8 | e->b[15];
}

static inline UbEid ub_eid_of_short(uint32_t v)
{
    UbEid e = { { 0 } };

    put_be64(e.b + 8, v & 0xfffff);     /* whole, as it is copied */
    return e;
}

void ub_sec_image(UbSec *sec, CoreImage *im);

#endif
