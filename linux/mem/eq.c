// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * UB memory: the event queue of our completions (docs/specs/ub-urma.rst), by whose
 * interrupt those who wait for pages are woken.
 */
#include <linux/dma-mapping.h>
#include <linux/interrupt.h>

#include "ub_mem.h"

#define EQ_LOG2		6
#define EQ_BYTES	(UBQ_EQE << EQ_LOG2)

static void eq_wr(struct mem_dev *dev, unsigned int reg, u32 value)
{
	ub_wr(dev->core->bar, UBQ_EQ(MEM_EQ) + reg, value);
}

static u32 eq_lost(struct mem_dev *dev)
{
	return ub_rd(dev->core->bar, UBQ_EQ(MEM_EQ) + UBQ_EQ_LOST);
}

/* The device moved the queue, or its completion queue takes no more.  All of them are
 * ours; one that is told late, of a queue before, costs us one that is made anew. */
static bool stops(u32 w0)
{
	static const u16 events[] = { UBQ_EVENT_QUEUE_STATE,
				      UBQ_EVENT_JFS_CHECK, UBQ_EVENT_JFC_CHECK };
	u32 event = (w0 & UBQ_EQE_TYPE) << 8 | (w0 & UBQ_EQE_SUB) >> 8;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(events); i++)
		if (event == events[i])
			return true;
	return false;
}

static bool eq_next(struct mem_eq *eq)
{
	const __le32 *e = (const __le32 *)(eq->ring +
		(eq->ci & ((1 << EQ_LOG2) - 1)) * UBQ_EQE);
	u32 want = eq->ci >> EQ_LOG2 & 1 ? 0 : UBQ_EQE_OWNER;
	u32 w0 = le32_to_cpu(READ_ONCE(e[0]));

	if ((w0 ^ want) & UBQ_EQE_OWNER)
		return false;
	if (stops(w0))
		WRITE_ONCE(eq->stopped, true);
	eq->ci++;
	return true;
}

/* Others share the vector.  Who waits looks itself for what has completed. */
static irqreturn_t eq_irq(int irq, void *opaque)
{
	struct mem_eq *eq = opaque;
	struct mem_dev *dev = container_of(eq, struct mem_dev, queue.eq);
	bool any = false;
	u32 lost;

	while (eq_next(eq))
		any = true;
	if (!any)
		return IRQ_NONE;
	eq_wr(dev, UBQ_EQ_CI, eq->ci);
	/* After CI: what found no room until then is in it, and nothing might follow. */
	lost = eq_lost(dev);
	if (lost != eq->lost)
		WRITE_ONCE(eq->doubtful, true);
	eq->lost = lost;
	atomic_inc(&eq->events);
	wake_up(&eq->wait);
	eq_wr(dev, UBQ_EQ_ARM, eq->ci);
	return IRQ_HANDLED;
}

int mem_eq_start(struct mem_dev *dev)
{
	u32 vector = ub_core_engine_vector(dev->core, UB_MEM);
	struct mem_eq *eq = &dev->queue.eq;
	int irq = ub_core_irq(dev->core, vector);
	int err;

	if (!eq->ring)
		eq->ring = dma_alloc_coherent(dev->dma, EQ_BYTES, &eq->dma,
					      GFP_KERNEL);
	if (!eq->ring)
		return -ENOMEM;
	memset(eq->ring, 0, EQ_BYTES);
	eq->ci = 0;
	eq_wr(dev, UBQ_EQ_CTRL, 0);
	eq->lost = eq_lost(dev);
	eq_wr(dev, UBQ_EQ_BASE_LO, lower_32_bits(eq->dma));
	eq_wr(dev, UBQ_EQ_BASE_HI, upper_32_bits(eq->dma));
	eq_wr(dev, UBQ_EQ_SIZE, EQ_LOG2);
	eq_wr(dev, UBQ_EQ_VECTOR, vector);
	eq_wr(dev, UBQ_EQ_CTRL, UBQ_EQ_ENABLE);
	err = request_irq(irq, eq_irq, IRQF_SHARED, KBUILD_MODNAME, eq);
	if (err)
		return err;
	eq->irq = irq;
	eq_wr(dev, UBQ_EQ_ARM, 0);
	return 0;
}

void mem_eq_stop(struct mem_dev *dev)
{
	struct mem_eq *eq = &dev->queue.eq;

	if (eq->irq)
		free_irq(eq->irq, eq);
	eq->irq = 0;
	if (!eq->ring)
		return;
	eq_wr(dev, UBQ_EQ_CTRL, 0);
	/* The device does not write to the ring after this. */
	ub_rd(dev->core->bar, UBQ_EQ(MEM_EQ) + UBQ_EQ_CTRL);
}

void mem_eq_free(struct mem_dev *dev)
{
	struct mem_eq *eq = &dev->queue.eq;

	if (eq->ring)
		dma_free_coherent(dev->dma, EQ_BYTES, eq->ring, eq->dma);
	eq->ring = NULL;
}
