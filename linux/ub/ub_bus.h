/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The bus "ub": a device for each Entity of a fabric that a controller of ours is
 * in, and drivers that bind to them by vendor and device.
 */
#ifndef UB_BUS_H
#define UB_BUS_H

#include <linux/device.h>
#include <linux/list.h>
#include <linux/types.h>

#define UB_ANY_ID 0xffff

struct ub_fabric;

struct ub_id {
	u16 vendor;
	u16 device;		/* or UB_ANY_ID */
};

struct ub_link {
	bool up;
	bool boundary;
	u16 peer_port;
	u32 peer_guid[4];
};

/* What is known of an Entity.  GUID and EID: bits 31:0 first. */
struct ub_entity_info {
	u32 guid[4];
	u32 eid[4];
	u32 cna;		/* 0: it has none */
	u16 upi;
	u16 class_code;
	u16 index;		/* in its node; 0 has the ports */
	u16 entities;		/* of the node, with index 0 */
	u16 ports;
};

struct ub_entity {
	struct device dev;
	struct list_head list;
	struct ub_fabric *fabric;
	u32 number;		/* its name: five hexadecimal digits */
	u32 primary;		/* number of Entity 0 of the node */
	bool local;		/* of our own controller */
	bool lent;		/* to us, by the UBFM */
	struct ub_entity_info info;
	struct ub_link *link;	/* of info.ports */
};

struct ub_driver {
	struct device_driver driver;
	const struct ub_id *ids;	/* the last one is 0 */
	int (*probe)(struct ub_entity *entity);
	void (*remove)(struct ub_entity *entity);
};

#define to_ub_entity(d) container_of(d, struct ub_entity, dev)

static inline u16 ub_entity_vendor(const struct ub_entity *e)
{
	return e->info.guid[3] >> 16;
}

static inline u16 ub_entity_device(const struct ub_entity *e)
{
	return e->info.guid[3] & 0xffff;
}

int ub_driver_register(struct ub_driver *driver);
void ub_driver_unregister(struct ub_driver *driver);

/* A dword of an Entity's configuration space, by message where it is remote;
 * bit i of @bytes: byte i is written.  May sleep.  0 or an error. */
int ub_entity_read(struct ub_entity *e, u32 dw, u32 *value);
int ub_entity_write(struct ub_entity *e, u32 dw, u32 value, u8 bytes);

#endif
