/*
 * The room between transport and transaction layer: sec.c has headers and
 * Entities and stands on cip.c, which stands on gcm.c.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef HW_UB_SEC_INTERNAL_H
#define HW_UB_SEC_INTERNAL_H

#include "ub/cip.h"

/* CIPH.NLP. */
enum {
    CIP_NLP_WIDE = 0,
    CIP_NLP_SHORT = 1,
    CIP_NLP_TAH = 2,
};

typedef enum CipSealed { CIP_PLAIN, CIP_SEALED, CIP_REFUSED } CipSealed;

/*
 * @entity: who sends, or whom it is for; < 0: nobody of here.  @body: bytes of UPIH
 * and EIDH.  @cip NULL: there is none.
 */

/* Put a CIPH in front of a packet that begins with its UPIH and EIDH, and an ICV
 * behind it, if its sender has to. */
CipSealed cip_seal(UbCip *cip, int entity, const UbSecHead *h, uint32_t body,
                   CorePacket *pkt);
/* A packet without CIPH, from its TAH on, should have had one. */
bool cip_expects(UbCip *cip, int entity, const UbSecHead *h,
                 CorePacket *pkt);
/* Open a packet from its CIPH on, which stays; the ICV goes. */
UbSecFault cip_open(UbCip *cip, int entity, const UbSecHead *h, uint32_t body,
                    CorePacket *pkt);

#endif
