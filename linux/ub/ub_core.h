/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * UB controllers: what ub_core offers to the drivers of their parts.
 *
 * ub_core owns the PCI function: its BAR, its vectors and its configuration
 * space.  Each part is a device on the auxiliary bus, so that a driver binds to
 * it by name: a port is "ub_core.net"; of the transaction engine "ub_core.urma" is
 * queues, with their event queue 0 and doorbells (BAR2), and "ub_core.mem" the
 * window (BAR4), with event queue 1.  What both of them need is in ub_engine.h.
 */
#ifndef UB_CORE_H
#define UB_CORE_H

#include <linux/auxiliary_bus.h>
#include <linux/io.h>
#include <linux/pci.h>
#include <linux/spinlock.h>

#include "ub/ubc_hw.h"

struct ub_cmdq;
struct ub_fabric;
struct ub_msgs;
struct ub_port;
struct ub_refusals;
struct ub_ummu;

enum ub_engine_part { UB_URMA, UB_MEM, UB_ENGINE_PARTS };

struct ub_core {
	struct pci_dev *pdev;
	void __iomem *bar;
	unsigned int ports;
	unsigned int vectors;		/* one is enough */
	spinlock_t config_lock;		/* read, change, write of a dword */
	struct ub_port *port[UBC_MAX_PORTS];
	struct ub_msgs *msgs;		/* NULL: it has no message queues */
	struct ub_fabric *fabric;	/* NULL, too */
	struct ub_cmdq *cmdq;		/* NULL: there is no engine */
	struct ub_ummu *ummu;		/* NULL, too */
	struct ub_refusals *refusals;	/* and that */
	struct ub_engine *engine[UB_ENGINE_PARTS];	/* NULL: there is none */
};

/* A port as the auxiliary bus has it. */
struct ub_port {
	struct auxiliary_device adev;
	struct ub_core *core;
	unsigned int index;
	unsigned int pair;		/* its ring pair */
};

/* A part of the transaction engine, as the auxiliary bus has it. */
struct ub_engine {
	struct auxiliary_device adev;
	struct ub_core *core;
};

/* Sources of interrupts: of the controller, and of a port in this order. */
enum ub_source { UB_EVENT, UB_RX, UB_TX, UB_PORT_SOURCES };

static inline struct ub_port *to_ub_port(struct auxiliary_device *adev)
{
	return container_of(adev, struct ub_port, adev);
}

static inline struct ub_engine *to_ub_engine(struct auxiliary_device *adev)
{
	return container_of(adev, struct ub_engine, adev);
}

static inline u32 ub_rd(void __iomem *regs, u32 reg)
{
	return ioread32(regs + reg);
}

static inline void ub_wr(void __iomem *regs, u32 reg, u32 value)
{
	iowrite32(value, regs + reg);
}

/* The entry of the MSI-X table that a source of a port uses, for its VECTOR
 * register; with few vectors sources share them. */
unsigned int ub_core_vector(struct ub_core *core, unsigned int port,
			    enum ub_source source);
/* The entry of a part of the transaction engine. */
unsigned int ub_core_engine_vector(struct ub_core *core,
				   enum ub_engine_part part);
/* The Linux interrupt of an entry; request it as shared. */
int ub_core_irq(struct ub_core *core, unsigned int vector);

/* part.c: for drivers of parts, whose suspend and resume are what it does. */
extern const struct dev_pm_ops ub_part_pm_ops;

/* Dwords of the configuration space, by their address in dwords; what is not
 * defined reads 0.  Any context. */
u32 ub_config_read(struct ub_core *core, u32 dw);
void ub_config_write(struct ub_core *core, u32 dw, u32 value);
/* The bits of @mask become those of @value, nobody else's change is lost. */
void ub_config_update(struct ub_core *core, u32 dw, u32 mask, u32 value);

/* A port's link as it trained last: Mb/s of a lane (0: no rate that is known), and
 * how many lanes send.  Any context. */
void ub_core_link(struct ub_core *core, unsigned int port, u32 *lane_mbps,
		  u32 *lanes);

/* config.c */
extern const struct attribute_group ub_config_group;

#endif
