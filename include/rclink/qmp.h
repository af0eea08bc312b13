/*
 * RC Link devices in the monitor: query-rclink, info rclink,
 * RCLINK_LINK_CHANGED.  QEMU only.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef RCLINK_QMP_H
#define RCLINK_QMP_H

#include "qom/object.h"
#include "rclink/rclink.h"

typedef struct RclinkQmp RclinkQmp;

/* Show @dev from now on, until rclink_qmp_remove(). */
RclinkQmp *rclink_qmp_add(Object *dev, Rclink *core);
/* NULL is ignored. */
void rclink_qmp_remove(RclinkQmp *q);
/* Tell of the link, if it is another than last. */
void rclink_qmp_link(RclinkQmp *q);

#endif
