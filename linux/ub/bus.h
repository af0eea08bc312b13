/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The bus "ub": what its files share.
 */
#ifndef BUS_H
#define BUS_H

#include <linux/mutex.h>
#include <linux/workqueue.h>

#include "msg.h"
#include "ub_bus.h"

#define UB_MAX_HOPS 16

/* A node that a scan has found. */
struct ub_node {
	struct list_head list;
	struct ub_entity_info info;
	u8 hops;
	u8 forward[UB_MAX_HOPS], back[UB_MAX_HOPS];
	struct ub_link *link;
};

/* The fabric of a controller. */
struct ub_fabric {
	struct list_head list;
	struct ub_core *core;
	struct ub_msg_client *client;
	struct mutex lock;		/* the list, and what is in it */
	struct list_head entities;
	unsigned int count;		/* of entities */
	u32 root;			/* number of the controller */
	struct delayed_work scan;
};

/* bus.c */
int ub_bus_init(void);
void ub_bus_exit(void);
int ub_fabric_add(struct ub_core *core);
/* After ub_msgs_del(). */
void ub_fabric_del(struct ub_core *core);
void ub_fabric_rescan_all(void);

/* attr.c */
extern const struct attribute_group *ub_entity_groups[];
extern const struct attribute_group *ub_bus_groups[];

/* scan.c: a list of nodes, the own one first, and their Entities 0. */
int ub_scan_nodes(struct ub_fabric *fabric, struct list_head *nodes);
void ub_scan_free(struct list_head *nodes);
/* A dword of an Entity of the node at @cna, 0: our own. */
int ub_scan_config(struct ub_fabric *fabric, u32 cna, unsigned int entity,
		   u32 dw, bool write, u8 bytes, u32 *value);

#endif
