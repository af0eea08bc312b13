/*
 * Pooling: Entities of one node that another one uses (UB 2.0 §10.4.5).
 *
 * Who uses an Entity stands in its own registers (UCNA, UEID), so that a manager
 * that starts anew knows what the one before it has lent, wherever that was
 * interrupted: an Entity with a UCNA is lent, or is to be taken back.
 *
 * libc only.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef UB_FM_POOL_H
#define UB_FM_POOL_H

#include "ub/fm.h"

/* Nobody answered; else what these functions return is a UbMgmtStatus. */
#define UB_FM_SILENT (-1)

/* Why an Entity is taken back (Table of §10.4.3.3). */
typedef enum UbFmReason {
    UB_FM_NORMAL,
    UB_FM_DEVICE_ERROR,
    UB_FM_LINK_ERROR,
} UbFmReason;

/* An Entity as its registers are. */
typedef struct UbFmEntity {
    UbId guid, eid, ueid;
    uint32_t ucna;      /* of its User, 0: nobody's */
    uint16_t upi, class_code;
} UbFmEntity;

/* What the pool's manager does with an Entity, and in what order it happened:
 * for logs.  May be NULL. */
typedef void UbFmStep(void *opaque, const char *what, int status);

typedef struct UbFmPool {
    UbFm *fm;           /* brought up; with ops->message */
    UbId eid_prefix;    /* of the EIDs that are given: entity, CNA in 20 bits */
    UbFmStep *step;
    void *opaque;
} UbFmPool;

/* Entity @entity of node @node. */
int ub_fm_pool_look(UbFmPool *p, unsigned node, unsigned entity,
                    UbFmEntity *e);

/*
 * Lend Entity @entity of @node to the node @user, in the partition @upi: it gets an
 * EID, the User is told and answers once; only then it is the User's.  If the User
 * refuses or is silent the Entity is taken back, and the answer returned.
 * Entity 0 is never lent: NO_PERMISSION; one that is somebody's, or whose EID what
 * has replaced it still has: EXISTS.
 */
int ub_fm_pool_lend(UbFmPool *p, unsigned node, unsigned entity, unsigned user,
                    uint16_t upi);

/*
 * Take it back: the User is told and answers once, then the Entity is out of every
 * partition and reset.  Whatever the User says the Entity is taken back; what it
 * said is returned, unless the Entity itself refuses.  ABSENT: it is nobody's.
 */
int ub_fm_pool_take_back(UbFmPool *p, unsigned node, unsigned entity,
                         UbFmReason reason);

/*
 * Another Entity for one that failed: it gets the EID and partition of the old one,
 * whose User is told of both.  If the new one cannot be had the old one stays taken
 * back.
 */
int ub_fm_pool_replace(UbFmPool *p, unsigned node, unsigned entity,
                       unsigned new_node, unsigned new_entity);

/*
 * After a manager that ended in the middle, or a User that began anew or is gone:
 * what is lent whole is registered with its User once more, who may have it or not.
 * It is reclaimed if the User's answer is no or the User is not in the fabric any
 * more, and so is what is not lent whole.  If the User says nothing, or somebody in
 * the fabric does not say who it is and the User is not found, or the Entity's own
 * node refuses, it is left as it is.  Two that are lent by one EID are both left and
 * not registered: "conflict", EXISTS.
 *
 * @lent: whether it is somebody's then.  0, or why it is not free, or not known to be
 * its User's, though it should be.
 */
int ub_fm_pool_recover(UbFmPool *p, unsigned node, unsigned entity, bool *lent);
/* The same of all Entities that can be lent.  Returns how many did not get what they
 * should; @reclaimed: how many are free now. */
unsigned ub_fm_pool_recover_all(UbFmPool *p, unsigned *reclaimed);

/*
 * Nodes that @leaves marks are about to leave: what is lent by them or to them is taken
 * back.  @gone: they are out already, and say nothing any more: who else is there is
 * told that it has lost the Entities that they would have lent by their own names.
 * Returns how many were not taken back in order.
 */
unsigned ub_fm_pool_release(UbFmPool *p, const bool *leaves, bool gone);

/* A bus instance at a node, with a GUID of type 0; the end of it (§10.5.1, instance.c). */
int ub_fm_instance_create(UbFmPool *p, unsigned node, UbId guid, UbId eid,
                          uint16_t upi);
int ub_fm_instance_destroy(UbFmPool *p, unsigned node, UbId guid);
/* Trust_EN of a node: whether it may send as one of another partition.
 * UB_MGMT_BAD_PARAMETER: it has none. */
int ub_fm_trust(UbFmPool *p, unsigned node, bool trusted);

/* Entities of a node that can be lent are 1 to this less one. */
unsigned ub_fm_pool_entities(const UbFm *fm, unsigned node);

/* All of them and whose they are (pool-report.c), as text and as JSON.  Returns how
 * many did not say. */
unsigned ub_fm_pool_text(UbFmPool *p, FILE *out);
unsigned ub_fm_pool_json(UbFmPool *p, FILE *out);

#endif
