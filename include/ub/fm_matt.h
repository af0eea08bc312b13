/*
 * A fabric manager and the decoders that are its to administer: where loads and stores
 * of a node go (UB 2.0 §10.4.7, ub/lds_hw.h).
 *
 * The table is in the node, so that a manager that starts anew finds what the one
 * before it has written.
 *
 * libc only.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef UB_FM_MATT_H
#define UB_FM_MATT_H

#include "ub/fm.h"

/* MiBs of a decoder's input that are memory of a node. */
typedef struct UbFmMap {
    uint32_t first, last;
    uint32_t cna;           /* of the node that has the memory */
    UbId eid;               /* of its Entity */
    uint64_t uba;
    uint32_t token_id, token;
    bool check;             /* the token counts */
} UbFmMap;

/*
 * These return a UbMgmtStatus, or something negative: nobody answered.  NO_PERMISSION:
 * the decoder is its driver's, or the node has another UBFM.
 */

/* How many entries the table of @node has; 0: it is none that is known here. */
int ub_fm_map_size(UbFm *fm, unsigned node, unsigned *entries);
/* Entry @i.  ABSENT: it is empty. */
int ub_fm_map_get(UbFm *fm, unsigned node, unsigned i, UbFmMap *map);
/* One more.  EXISTS: an entry has some of these MiBs; NO_RESOURCE: there is no room;
 * BAD_PARAMETER: it leads nowhere. */
int ub_fm_map_add(UbFm *fm, unsigned node, const UbFmMap *map);
/* The one that begins with MiB @first is no more, and its token is forgotten.
 * ABSENT: there is none. */
int ub_fm_map_remove(UbFm *fm, unsigned node, uint32_t first);

/*
 * Entries of all nodes that lead to one that is gone are no more, for its CNA and EID
 * become another's: to a CNA that nobody has, or another than in the fabric @settled,
 * or one that was given it since; and once all entries of a node that was not there, or
 * not admitted, for its table was not looked at meanwhile.  The last is all that is done
 * while somebody does not say who it is.
 * @settled is what was there when this returned 0 last, or what was there first, or
 * NULL: this is the first.  ub_fm_bring_up() gives CNAs of UbFm.held, which is to be the
 * same, to nobody else, so that no entry leads to who came in the same turn.
 * Returns how many entries it could not look at or remove, or who said nothing.
 */
unsigned ub_fm_maps_drop(UbFm *fm, const UbFm *settled);

/* All of @node's, as text and as JSON.  Returns as above. */
int ub_fm_maps_text(UbFm *fm, unsigned node, FILE *out);
int ub_fm_maps_json(UbFm *fm, unsigned node, FILE *out);

#endif
