// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * UB memory: the event queue of our completions (docs/specs/ub-urma.rst), by whose
 * interrupt those who wait for pages are woken: who has a queue, by its events alone.
 */
#include <linux/dma-mapping.h>
#include <linux/interrupt.h>

#include "ub_mem.h"

#define EQ_LOG2		8
#define EQ_BYTES	(UBQ_EQE << EQ_LOG2)

static void eq_wr(struct mem_dev *dev, unsigned int reg, u32 value)
{
	ub_wr(dev->core->bar, UBQ_EQ(MEM_EQ) + reg, value);
}

static u32 eq_lost(struct mem_dev *dev)
{
	return ub_rd(dev->core->bar, UBQ_EQ(MEM_EQ) + UBQ_EQ_LOST);
}

/* The device moved a queue, or a completion queue takes no more. */
static bool stops(u32 event)
{
	static const u16 events[] = { UBQ_EVENT_QUEUE_STATE,
				      UBQ_EVENT_JFS_CHECK, UBQ_EVENT_JFC_CHECK };
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(events); i++)
		if (event == events[i])
			return true;
	return false;
}

static void wake(struct mem_queue *q)
{
	atomic_inc(&q->events);
	wake_up(&q->wait);
}

/* Of the queue that has its object.  One that is told late, of an object before with
 * that number, costs a queue that is made anew. */
static void event_take(struct mem_dev *dev, u32 event, u32 object)
{
	bool cq = event == UBQ_EVENT_COMPLETION || event == UBQ_EVENT_JFC_CHECK;
	struct mem_queue *q;

	for (q = dev->queues; q < dev->queues + MEM_QUEUES; q++) {
		if (object != (cq ? READ_ONCE(q->cq_id) : READ_ONCE(q->id)))
			continue;
		if (stops(event))
			WRITE_ONCE(q->stopped, true);
		wake(q);
	}
}

static bool eq_next(struct mem_dev *dev)
{
	struct mem_eq *eq = &dev->eq;
	const __le32 *e = (const __le32 *)(eq->ring +
		(eq->ci & ((1 << EQ_LOG2) - 1)) * UBQ_EQE);
	u32 want = eq->ci >> EQ_LOG2 & 1 ? 0 : UBQ_EQE_OWNER;
	u32 w0 = le32_to_cpu(READ_ONCE(e[0]));

	if ((w0 ^ want) & UBQ_EQE_OWNER)
		return false;
	dma_rmb();
	event_take(dev, (w0 & UBQ_EQE_TYPE) << 8 | (w0 & UBQ_EQE_SUB) >> 8,
		   le32_to_cpu(e[1]));
	eq->ci++;
	return true;
}

/* Who waits looks itself for what has completed; what was lost may have been any
 * queue's. */
static void events_lost(struct mem_dev *dev)
{
	struct mem_queue *q;

	for (q = dev->queues; q < dev->queues + MEM_QUEUES; q++) {
		WRITE_ONCE(q->doubtful, true);
		wake(q);
	}
}

/* Others share the vector. */
static irqreturn_t eq_irq(int irq, void *opaque)
{
	struct mem_dev *dev = opaque;
	struct mem_eq *eq = &dev->eq;
	bool any = false;
	u32 lost;

	while (eq_next(dev))
		any = true;
	if (!any)
		return IRQ_NONE;
	eq_wr(dev, UBQ_EQ_CI, eq->ci);
	/* After CI: what found no room until then is in it, and nothing might follow. */
	lost = eq_lost(dev);
	if (lost != eq->lost)
		events_lost(dev);
	eq->lost = lost;
	atomic_inc(&eq->events);
	eq_wr(dev, UBQ_EQ_ARM, eq->ci);
	return IRQ_HANDLED;
}

int mem_eq_start(struct mem_dev *dev)
{
	u32 vector = ub_core_engine_vector(dev->core, UB_MEM);
	struct mem_eq *eq = &dev->eq;
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
	err = request_irq(irq, eq_irq, IRQF_SHARED, KBUILD_MODNAME, dev);
	if (err)
		return err;
	eq->irq = irq;
	eq_wr(dev, UBQ_EQ_ARM, 0);
	return 0;
}

void mem_eq_stop(struct mem_dev *dev)
{
	struct mem_eq *eq = &dev->eq;

	if (eq->irq)
		free_irq(eq->irq, dev);
	eq->irq = 0;
	if (!eq->ring)
		return;
	eq_wr(dev, UBQ_EQ_CTRL, 0);
	/* The device does not write to the ring after this. */
	ub_rd(dev->core->bar, UBQ_EQ(MEM_EQ) + UBQ_EQ_CTRL);
}

void mem_eq_free(struct mem_dev *dev)
{
	struct mem_eq *eq = &dev->eq;

	if (eq->ring)
		dma_free_coherent(dev->dma, EQ_BYTES, eq->ring, eq->dma);
	eq->ring = NULL;
}
