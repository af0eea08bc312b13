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
	const struct ub_entity_info *coming;	/* is about to be lent, or NULL */
	u32 root;			/* number of the controller */
	struct mutex change;		/* whoever adds and drops entities */
	struct delayed_work scan;
	struct ub_msg_client *pool;	/* registrations that wait */
	struct work_struct pool_work;
};

/* bus.c */
int ub_bus_init(void);
void ub_bus_exit(void);
int ub_fabric_add(struct ub_core *core);
/* After ub_msgs_del(). */
void ub_fabric_del(struct ub_core *core);
void ub_fabric_rescan_all(void);
/* Of each fabric; it stays there meanwhile. */
void ub_fabrics_each(void (*fn)(struct ub_fabric *fabric, void *opaque),
		     void *opaque);
/* Soon. */
void ub_fabric_look(struct ub_fabric *fabric);
/* An Entity of a fabric, whose fields may be set until it is added; NULL: there
 * are too many. */
struct ub_entity *ub_entity_new(struct ub_fabric *fabric,
				const struct ub_entity_info *info);
/* With fabric->change: make it known, or let it go and return an error. */
int ub_entity_add(struct ub_entity *e);
/* With fabric->change: nothing finds it any more; it ends when nobody holds it. */
void ub_entity_drop(struct ub_entity *e);
/* With fabric->change. */
struct ub_entity *ub_entity_find(struct ub_fabric *fabric, const u32 *guid,
				 unsigned int index);

/* pool.c: Entities that are lent to us. */
int ub_pool_init(struct ub_fabric *fabric);
/* After ub_msgs_del(). */
void ub_pool_exit(struct ub_fabric *fabric);
/* Where what is lent to us with an EID (most significant byte first) is, or
 * -ENOENT.  A part calls it, which ends before the fabric does. */
int ub_lent_cna(struct ub_core *core, const u8 eid[16], u32 *cna);

/* instance.c: the attribute "instance" of the bus */
ssize_t ub_instances_show(char *buf);
ssize_t ub_instances_store(const char *buf, size_t count);

/* attr.c */
extern const struct attribute_group *ub_entity_groups[];
extern const struct attribute_group *ub_bus_groups[];

/* scan.c: a list of nodes, the own one first, and their Entities 0. */
int ub_scan_nodes(struct ub_fabric *fabric, struct list_head *nodes);
void ub_scan_free(struct list_head *nodes);
/* A dword of an Entity of the node at @cna, 0: our own. */
int ub_scan_config(struct ub_fabric *fabric, u32 cna, unsigned int entity,
		   u32 dw, bool write, u8 bytes, u32 *value);
/* The same of an Entity that is lent to us: as its User. */
int ub_scan_lent(struct ub_fabric *fabric, const struct ub_entity_info *info,
		 u32 dw, bool write, u8 bytes, u32 *value);

#endif
