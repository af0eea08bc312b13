/*
 * The commands of ubfm that lend Entities and take them back, and others of single nodes.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef UBFM_POOL_H
#define UBFM_POOL_H

#include "ub/fm_pool.h"
#include "ubmsg.h"

#define UBFM_POOL_USAGE \
    "  pool                              nothing but that\n" \
    "  lend NODE ENTITY USER             Entity 1 to 15 of a node to another node\n" \
    "  take-back NODE ENTITY             its User is told, then it is reset\n" \
    "  replace NODE ENTITY NODE ENTITY   the second one takes the place of the first\n" \
    "  reclaim                           what was left in the middle, or whose User\n" \
    "                                    is gone; --service does that by itself\n" \
    "  instance NODE GUID EID UPI        a bus instance, the entry of a virtual\n" \
    "                                    machine; EID: 32 digits, or the last 20 bits\n" \
    "  end-instance NODE GUID            it is no more\n" \
    "  trust NODE 0|1                    Trust_EN: whether the node may send as\n" \
    "                                    instances of other partitions than its own\n" \
    "  maps NODE                         the table of its decoder, if it is the UBFM's\n" \
    "  map NODE MIB MIBS HOME EID UBA TOKENID TOKEN\n" \
    "                                    so many MiBs of its window, from MIB on, are\n" \
    "                                    memory of HOME's Entity EID; TOKEN: or -\n" \
    "  unmap NODE MIB                    those from MIB on lead nowhere\n"

typedef struct UbfmPool {
    unsigned timeout;   /* seconds that a User has for its answer */
    uint16_t upi;       /* of what is lent, 0: its User's */
    UbId eid_prefix;    /* 0: that of our own EID */
    bool json;
} UbfmPool;

/* The pool of a fabric, with a log of its steps. */
UbFmPool ubfm_pool_start(UbmsgDev *d, UbFm *fm, const UbfmPool *pool);
/* They are a command. */
bool ubfm_pool_knows(int words, char *const *word);
/* Do what they say in a fabric that has addresses.  Returns an exit status. */
int ubfm_pool_command(UbmsgDev *d, UbFm *fm, const UbfmPool *pool, int words,
                      char *const *word);
/* What other managers, or Users that are gone, have left.  Returns how many
 * Entities are not free though they should be. */
unsigned ubfm_pool_recover(UbmsgDev *d, UbFm *fm, const UbfmPool *pool);

#endif
